// An endless walk along a motion graph: streamed, steered, and recorded.

import { wornQuery } from "../motion/motion";
import { Feed, StreamedMotion } from "../motion/streamed";
import type { LiveHeads, PlayedSource } from "../net/types";
import type { Message } from "../net/message";
import type { Studio } from "../page/studio";
import type { Subject } from "../page/subject-bar";

export interface Steered {
  frame: number;
  controls: { transition?: boolean; automatic?: boolean };
}

const LEAD = 0.4; // seconds buffered; short, so that controls take effect quickly
const RECORDED = 200; // maximum number of recorded sources and seams

/** Fires "change" when frames were read, and "ended". */
export class Walker extends EventTarget {
  readonly steered: Steered[] = [];
  transitions = 0;
  motion?: StreamedMotion;
  private feed?: Feed<"player/read">;
  private next: Steered["controls"] | null = null;
  private sources: PlayedSource[] = [];
  private seams: number[] = [];
  private stopped = false;

  constructor(
    private readonly studio: Studio,
    private readonly graph: object,
    readonly seed: number,
    private readonly startAt?: string,
    private readonly subject: Subject | null = null,
  ) {
    super();
  }

  async start(): Promise<void> {
    const { live, stage } = this.studio;
    const answer = await live.request("graph/start", {
      graph: this.graph,
      seed: this.seed,
      start: this.startAt ?? null,
      ...wornQuery(),
    });
    if (this.stopped) {
      live.request("player/close", { player: answer.meta.player }).catch(() => {});
      return;
    }
    this.motion = new StreamedMotion("walk", answer.meta.fps, answer.meta);
    this.feed = new Feed(live, answer.meta.player, [this.motion], stage.clock, {
      kind: "player/read",
      lead: LEAD,
      controls: () => ({ controls: this.takeControls() }),
      onRead: (message) => this.onRead(message),
      onError: (error) => {
        if (!this.stopped) {
          this.studio.notify(error);
          this.stop();
        }
      },
    });
    await this.feed.read();
    if (this.stopped) return;
    this.studio.show([{ motion: this.motion }], null, this.subject);
    stage.clock.seek(0);
    stage.clock.play();
    stage.addEventListener("frame", this.feed.pump);
  }

  /** Set controls for the next frames of the player. */
  steer(controls: Steered["controls"]): void {
    this.next = { ...this.next, ...controls };
  }

  stop(): void {
    if (this.stopped) return;
    this.stopped = true;
    if (this.feed) {
      this.studio.stage.removeEventListener("frame", this.feed.pump);
      this.feed.end();
    }
    this.dispatchEvent(new Event("ended"));
  }

  /** The take and its frame on the stage now. */
  position(): { name: string; frame: number } | null {
    const frame = this.shownFrame;
    const source = this.sources.find((one) => frame >= one.start && frame < one.end);
    return source ? { name: source.motion, frame: source.start_frame + frame - source.start } : null;
  }

  /** Frames shown so far. */
  get shownFrame(): number {
    return this.motion ? Math.floor(this.studio.stage.clock.time * this.motion.fps + 1e-4) : 0;
  }

  /** Transitions shown so far. */
  get shownTransitions(): number {
    return this.transitions - this.seams.filter((seam) => seam > this.shownFrame).length;
  }

  private takeControls(): object {
    const controls = this.next;
    if (!controls) return {};
    this.next = null;
    this.steered.push({ frame: this.motion!.frames, controls });
    return controls;
  }

  private onRead(message: Message<LiveHeads["player/read"]>): void {
    this.sources = [...this.sources, ...message.meta.sources].slice(-RECORDED);
    this.transitions += message.meta.seams.length;
    this.seams = [...this.seams, ...message.meta.seams].slice(-RECORDED);
    this.dispatchEvent(new Event("change"));
  }
}
