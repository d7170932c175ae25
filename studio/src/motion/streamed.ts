// Motion that is still being made: frames come in while the earlier ones are played.

import type { Clock } from "../stage/clock";
import type { Live } from "../net/live";
import type { Bones, LiveHeads } from "../net/answers";
import type { MotionData } from "./motion";
import type { Message } from "../net/message";

const KEPT_SECONDS = 30;

type ReadKind = "player/read" | "dance/read";

/** A motion that grows. Put it on the stage like any other; older frames are forgotten. */
export class StreamedMotion implements MotionData {
  readonly joints: string[];
  readonly parents: number[];
  readonly roles: Record<string, number>;
  readonly capacity: number;
  readonly positions: Float32Array;
  readonly contacts: Uint8Array;
  frames = 0;
  first = 0;

  constructor(
    readonly name: string,
    readonly fps: number,
    bones: Bones,
    seconds = KEPT_SECONDS,
  ) {
    this.joints = bones.joints;
    this.parents = bones.parents;
    this.roles = bones.roles;
    this.capacity = Math.ceil(seconds * fps);
    this.positions = new Float32Array(this.capacity * this.parents.length * 3);
    this.contacts = new Uint8Array(this.capacity * 4);
  }

  /** Add the frames of a message: positions (N, joints, 3) and contacts (N, 4), of one among several by its suffix. */
  push(message: Pick<Message, "arrays">, suffix = ""): void {
    const positions = message.arrays[`positions${suffix}`] as Float32Array;
    const contacts = message.arrays[`contacts${suffix}`] as Uint8Array | undefined;
    const width = this.parents.length * 3;
    const count = Math.floor(positions.length / width);
    for (let index = Math.max(0, count - this.capacity); index < count; index++) {
      const row = (this.frames + index) % this.capacity;
      this.positions.set(positions.subarray(index * width, (index + 1) * width), row * width);
      if (contacts) this.contacts.set(contacts.subarray(index * 4, index * 4 + 4), row * 4);
      else this.contacts.fill(0, row * 4, row * 4 + 4);
    }
    this.frames += count;
    this.first = Math.max(0, this.frames - this.capacity);
  }

  /** Seconds that are there beyond a time on the clock (`at`: where its frame 0 stands). */
  ahead(time: number, at = 0): number {
    return (this.frames - 1) / this.fps - (time - at);
  }
}

export interface FeedOptions<Kind extends ReadKind> {
  /** The live request that reads the player. */
  kind: Kind;
  /** Seconds to hold ready; short, so that what is steered answers soon. */
  lead?: number;
  /** Frames asked for at once. */
  count?: number;
  /** What goes along with every request, as what steers the player now. */
  steered?: () => object;
  /** Told of every answer, as for its seams. */
  heard?: (message: Message<LiveHeads[Kind]>) => void;
  /** Told of a mistake; the feed has then ended. */
  failed?: (error: unknown) => void;
}

/** Keeps the streamed motions of one player a little ahead of the clock. */
export class Feed<Kind extends ReadKind> {
  private asking = false;
  private ended = false;

  constructor(
    private readonly live: Live,
    private readonly player: number,
    readonly motions: StreamedMotion[],
    private readonly clock: Clock,
    private readonly options: FeedOptions<Kind>,
  ) {}

  /** Ask for more where that is due; call it for every drawn frame. */
  readonly pump = (): void => {
    const { lead = 0.3 } = this.options;
    if (this.ended || this.asking || !this.live.connected) return;
    if (this.motions[0].ahead(this.clock.time) < lead) void this.read();
  };

  async read(): Promise<void> {
    const { kind, count = 6, steered, heard, failed } = this.options;
    this.asking = true;
    try {
      const message = await this.live.ask(kind, { player: this.player, count, ...steered?.() });
      if (this.ended) return;
      const alone = "positions" in message.arrays;
      this.motions.forEach((motion, number) => motion.push(message, alone ? "" : `_${number}`));
      heard?.(message);
    } catch (error) {
      this.ended = true;
      failed?.(error);
    } finally {
      this.asking = false;
    }
  }

  /** End the player too. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.live.ask("player/close", { player: this.player }).catch(() => {});
  }
}
