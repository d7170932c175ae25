// Search by words: describes the takes first if necessary, and keeps only the answer to the latest text.

import { finished, send, type Answer, type Job } from "../net/api";
import { TurnEnded, Turns } from "../net/turns";

export type Found = Answer<"post", "find">;
export type FoundSegment = Found["matches"][number];

const MOST = 500; // segments
const WAIT = 250; // milliseconds without typing before a search begins

export interface WordState {
  text: string;
  found: Found | null;
  job: Job | null;
  /** Why there is no answer. */
  failed: string;
  busy: boolean;
}

const NONE: WordState = { text: "", found: null, job: null, failed: "", busy: false };

export class WordSearch {
  state: WordState = NONE;
  private readonly turns = new Turns();
  private timer = 0;
  private asked = "";

  /** `changed` is called after each change of the state. */
  constructor(private readonly changed: () => void) {}

  /** Ask for words; soon, or now. Asking again for the same words does nothing. */
  ask(text: string, label = "", now = false): void {
    const key = `${label}\n${text}`;
    if (key === this.asked && !now) return;
    clearTimeout(this.timer);
    if (key !== this.asked) this.turns.end("find", "left"); // takes are still described, for everybody
    if (key === this.asked && this.state.found) return;
    this.asked = key;
    if (!text.trim()) {
      this.set(NONE);
      return;
    }
    this.set({ ...this.state, busy: true });
    if (now) void this.search(text, label);
    else this.timer = window.setTimeout(() => void this.search(text, label), WAIT);
  }

  /** Drop the answer, as when takes or labels have changed. */
  forget(): void {
    this.asked = "";
  }

  /** End all work. */
  end(): void {
    clearTimeout(this.timer);
    this.turns.leave();
    this.asked = "";
  }

  private set(state: WordState): void {
    this.state = state;
    this.changed();
  }

  private async search(text: string, label: string): Promise<void> {
    this.turns.end("find", "left");
    const turn = this.turns.begin("find");
    const { signal } = turn;
    try {
      const { job } = await send("post", "find/prepare", { signal });
      if (job) await finished(job, (now) => turn.current && this.set({ ...this.state, job: now }), signal);
      const settings = { max: MOST, every: true, ...(label && { label: [label] }) };
      const found = await send("post", "find", { body: { text, settings }, signal });
      if (turn.current) this.set({ text, found, job: null, failed: "", busy: false });
    } catch (error) {
      if (turn.current && !(error instanceof TurnEnded))
        this.set({ text, found: null, job: null, failed: (error as Error).message, busy: false });
    }
  }
}
