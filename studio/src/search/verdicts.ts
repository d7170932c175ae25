// Accepted and rejected matches, stored in the browser per library.

import type { Clip } from "../net/answers";

export type Verdict = "accepted" | "rejected" | null;
type Judged = Record<"accepted" | "rejected", Clip[]>;

const SAME = 0.8; // overlap from which two segments count as the same match

export function clipText({ motion, start_frame, end_frame }: Clip): string {
  return `${motion}:${start_frame}-${end_frame}`;
}

/** Fires "change", also for changes in another window of this browser. */
export class Verdicts extends EventTarget {
  private judged: Judged = { accepted: [], rejected: [] };
  private key = "";

  constructor() {
    super();
    addEventListener("storage", (event) => {
      if (event.key === this.key) this.load();
    });
  }

  /** Load the verdicts of a library. */
  open(library: string): void {
    const key = `motionloom:verdicts:${library}`;
    if (!library || key === this.key) return;
    this.key = key;
    this.load();
  }

  get accepted(): readonly Clip[] {
    return this.judged.accepted;
  }
  get rejected(): readonly Clip[] {
    return this.judged.rejected;
  }

  verdict(clip: Clip): Verdict {
    if (this.judged.accepted.some((one) => same(one, clip))) return "accepted";
    return this.judged.rejected.some((one) => same(one, clip)) ? "rejected" : null;
  }

  judge(clip: Clip, verdict: Verdict): void {
    for (const kind of ["accepted", "rejected"] as const)
      this.judged[kind] = this.judged[kind].filter((one) => !same(one, clip));
    const { motion, start_frame, end_frame, distance, tier, label } = clip;
    if (verdict) this.judged[verdict].push({ motion, start_frame, end_frame, distance, tier, label });
    this.save();
  }

  clear(): void {
    this.judged = { accepted: [], rejected: [] };
    this.save();
  }

  private load(): void {
    try {
      const stored = JSON.parse(localStorage.getItem(this.key) ?? "{}");
      this.judged = { accepted: stored.accepted ?? [], rejected: stored.rejected ?? [] };
    } catch {
      this.judged = { accepted: [], rejected: [] };
    }
    this.dispatchEvent(new Event("change"));
  }

  private save(): void {
    localStorage.setItem(this.key, JSON.stringify(this.judged));
    this.dispatchEvent(new Event("change"));
  }
}

function same(a: Clip, b: Clip): boolean {
  if (a.motion !== b.motion) return false;
  const shared = Math.min(a.end_frame, b.end_frame) - Math.max(a.start_frame, b.start_frame);
  return shared >= SAME * Math.max(a.end_frame - a.start_frame, b.end_frame - b.start_frame);
}

/** The verdicts, shared by all views. */
export const verdicts = new Verdicts();
