// Streamed motion: frames arrive while earlier ones are played.

import type { Bones, LiveHeads } from "../net/types";
import type { Live } from "../net/live";
import type { Message } from "../net/message";
import type { Clock } from "../stage/clock";
import type { MotionData } from "./motion";

const BUFFER_SECONDS = 30;

type ReadKind = "player/read" | "dance/read" | "match/read";

/** A motion that grows, in a ring buffer of the latest frames. */
export class StreamedMotion implements MotionData {
  readonly joints: string[];
  readonly parents: number[];
  readonly roles: Record<string, number>;
  readonly capacity: number;
  readonly body: string | null | undefined;
  readonly size: number | undefined;
  readonly positions: Float32Array;
  orientations?: Float32Array;
  readonly contacts: Uint8Array;
  frames = 0;
  first = 0;

  constructor(
    readonly name: string,
    readonly fps: number,
    bones: Bones,
    seconds = BUFFER_SECONDS,
  ) {
    this.joints = bones.joints;
    this.parents = bones.parents;
    this.roles = bones.roles;
    this.body = bones.body;
    this.size = bones.size;
    this.capacity = Math.ceil(seconds * fps);
    this.positions = new Float32Array(this.capacity * this.parents.length * 3);
    this.contacts = new Uint8Array(this.capacity * 4);
  }

  /** Append frames: positions (N, joints, 3) and contacts (N, 4); the suffix selects one of several characters. */
  push(message: Pick<Message, "arrays">, suffix = ""): void {
    const positions = message.arrays[`positions${suffix}`] as Float32Array;
    const contacts = message.arrays[`contacts${suffix}`] as Uint8Array | undefined;
    const turns = message.arrays[`orientations${suffix}`] as Float32Array | undefined;
    const width = this.parents.length * 3;
    const count = Math.floor(positions.length / width);
    const turned = turns && count ? turns.length / count : 0; // numbers per frame
    if (turned) this.orientations ??= new Float32Array(this.capacity * turned);
    for (let index = Math.max(0, count - this.capacity); index < count; index++) {
      const row = (this.frames + index) % this.capacity;
      this.positions.set(positions.subarray(index * width, (index + 1) * width), row * width);
      if (turned) this.orientations!.set(turns!.subarray(index * turned, (index + 1) * turned), row * turned);
      if (contacts) this.contacts.set(contacts.subarray(index * 4, index * 4 + 4), row * 4);
      else this.contacts.fill(0, row * 4, row * 4 + 4);
    }
    this.frames += count;
    this.first = Math.max(0, this.frames - this.capacity);
  }

  /** Seconds of motion after a time on the clock; `at` is the time of frame 0. */
  ahead(time: number, at = 0): number {
    return (this.frames - 1) / this.fps - (time - at);
  }
}

export interface FeedOptions<Kind extends ReadKind> {
  /** Kind of the live request that reads the player. */
  kind: Kind;
  /** Seconds to buffer; short, so that steering takes effect quickly. */
  lead?: number;
  /** Frames per request, or as many as are missing. */
  count?: number | (() => number);
  /** Values sent with every request, such as controls of the player. */
  controls?: () => object;
  /** Called with every answer. */
  onRead?: (message: Message<LiveHeads[Kind]>) => void;
  /** Called with an error, which ends the feed. */
  onError?: (error: unknown) => void;
}

/** Keep the streamed motions of a player ahead of the clock. */
export class Feed<Kind extends ReadKind> {
  private reading = false;
  private ended = false;

  constructor(
    private readonly live: Live,
    private readonly player: number,
    readonly motions: StreamedMotion[],
    private readonly clock: Clock,
    private readonly options: FeedOptions<Kind>,
  ) {}

  /** Request frames if the buffer is short; called for every drawn frame. */
  readonly pump = (): void => {
    const { lead = 0.3 } = this.options;
    if (this.ended || this.reading || !this.live.connected) return;
    if (this.motions[0].ahead(this.clock.time) < lead) void this.read();
  };

  async read(): Promise<void> {
    const { kind, count = 6, controls, onRead, onError } = this.options;
    this.reading = true;
    try {
      const message = await this.live.request(kind, {
        player: this.player,
        count: typeof count === "number" ? count : count(),
        ...controls?.(),
      });
      if (this.ended) return;
      const alone = "positions" in message.arrays;
      this.motions.forEach((motion, number) => motion.push(message, alone ? "" : `_${number}`));
      onRead?.(message);
    } catch (error) {
      this.ended = true;
      onError?.(error);
    } finally {
      this.reading = false;
    }
  }

  /** Stop reading, and close the player. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.live.request("player/close", { player: this.player }).catch(() => {});
  }
}
