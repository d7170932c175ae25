// An endless walk in a motion graph: read a little ahead of the clock, steered, and remembered.

import { Feed, StreamedMotion } from "../motion/streamed";
import type { Studio } from "../page/studio";
import type { LiveHeads, PlayedSource } from "../net/answers";
import type { Message } from "../net/message";

export interface Steered {
  frame: number;
  controls: { transition?: boolean; automatic?: boolean };
}

const LEAD = 0.4; // seconds held ready: little, so that "now" is soon
const KEPT = 200; // sources that are remembered

/** Fires "told" when something about it has changed, and "ended". */
export class Walker extends EventTarget {
  readonly steered: Steered[] = [];
  taken = 0;
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
    private readonly start?: string,
  ) {
    super();
  }

  async begin(): Promise<void> {
    const { live, stage } = this.studio;
    const begun = await live.ask("graph/start", { graph: this.graph, seed: this.seed, start: this.start ?? null });
    if (this.stopped) {
      live.ask("player/close", { player: begun.meta.player }).catch(() => {});
      return;
    }
    this.motion = new StreamedMotion("walk", begun.meta.fps, begun.meta);
    this.feed = new Feed(live, begun.meta.player, [this.motion], stage.clock, {
      kind: "player/read",
      lead: LEAD,
      steered: () => ({ controls: this.due() }),
      heard: (message) => this.heard(message),
      failed: (error) => {
        if (!this.stopped) {
          this.studio.say(error);
          this.stop();
        }
      },
    });
    await this.feed.read();
    if (this.stopped) return;
    this.studio.cast([{ motion: this.motion }]);
    stage.clock.seek(0);
    stage.clock.play();
    stage.addEventListener("frame", this.feed.pump);
  }

  /** Tell the player something, before the next frames that it makes. */
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

  /** Where in which take the walk is now on the stage. */
  place(): { name: string; frame: number } | null {
    const frame = this.shownFrame;
    const found = this.sources.find((one) => frame >= one.start && frame < one.end);
    return found ? { name: found.motion, frame: found.start_frame + frame - found.start } : null;
  }

  /** Frames that were seen so far. */
  get shownFrame(): number {
    return this.motion ? Math.floor(this.studio.stage.clock.time * this.motion.fps + 1e-4) : 0;
  }

  /** Transitions that were seen so far. */
  get seen(): number {
    return this.taken - this.seams.filter((seam) => seam > this.shownFrame).length;
  }

  private due(): object {
    const controls = this.next;
    if (!controls) return {};
    this.next = null;
    this.steered.push({ frame: this.motion!.frames, controls });
    return controls;
  }

  private heard(message: Message<LiveHeads["player/read"]>): void {
    this.sources = [...this.sources, ...message.meta.sources].slice(-KEPT);
    this.taken += message.meta.seams.length;
    this.seams = [...this.seams, ...message.meta.seams].slice(-KEPT);
    this.dispatchEvent(new Event("told"));
  }
}
