// What was accepted and what was rejected: kept by the browser, for each library.

import type { Clip } from "../net/answers";

export type Verdict = "accepted" | "rejected" | null;
type Kept = Record<"accepted" | "rejected", Clip[]>;

const SAME = 0.8; // overlap from which a stretch is the same one, found with other settings

export function clipText({ motion, start_frame, end_frame }: Clip): string {
  return `${motion}:${start_frame}-${end_frame}`;
}

/** Fires "change", also when another window of this browser has judged. */
export class Verdicts extends EventTarget {
  private kept: Kept = { accepted: [], rejected: [] };
  private key = "";

  constructor() {
    super();
    addEventListener("storage", (event) => {
      if (event.key === this.key) this.load();
    });
  }

  /** Whose verdicts these are. */
  of(library: string): void {
    const key = `motionloom:verdicts:${library}`;
    if (!library || key === this.key) return;
    this.key = key;
    this.load();
  }

  get accepted(): readonly Clip[] {
    return this.kept.accepted;
  }
  get rejected(): readonly Clip[] {
    return this.kept.rejected;
  }

  verdict(clip: Clip): Verdict {
    if (this.kept.accepted.some((one) => same(one, clip))) return "accepted";
    return this.kept.rejected.some((one) => same(one, clip)) ? "rejected" : null;
  }

  judge(clip: Clip, verdict: Verdict): void {
    for (const kind of ["accepted", "rejected"] as const)
      this.kept[kind] = this.kept[kind].filter((one) => !same(one, clip));
    const { motion, start_frame, end_frame, distance, tier, label } = clip;
    if (verdict) this.kept[verdict].push({ motion, start_frame, end_frame, distance, tier, label });
    this.save();
  }

  clear(): void {
    this.kept = { accepted: [], rejected: [] };
    this.save();
  }

  private load(): void {
    try {
      const held = JSON.parse(localStorage.getItem(this.key) ?? "{}");
      this.kept = { accepted: held.accepted ?? [], rejected: held.rejected ?? [] };
    } catch {
      this.kept = { accepted: [], rejected: [] };
    }
    this.dispatchEvent(new Event("change"));
  }

  private save(): void {
    localStorage.setItem(this.key, JSON.stringify(this.kept));
    this.dispatchEvent(new Event("change"));
  }
}

function same(a: Clip, b: Clip): boolean {
  if (a.motion !== b.motion) return false;
  const shared = Math.min(a.end_frame, b.end_frame) - Math.max(a.start_frame, b.start_frame);
  return shared >= SAME * Math.max(a.end_frame - a.start_frame, b.end_frame - b.start_frame);
}

/** One for all views. */
export const verdicts = new Verdicts();
