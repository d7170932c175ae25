// Accepted and rejected matches of a query, stored in the browser per library.

import type { Clip } from "../net/types";

export type Verdict = "accepted" | "rejected" | null;
type Judged = Record<"accepted" | "rejected", Clip[]>;
type Stored = Partial<Judged> & { before?: Judged[] };

const SAME = 0.8; // overlap from which two segments count as the same match
const REMEMBERED = 50; // queries of a library
const UNDONE = 20; // changes that can be undone

export function clipText({ motion, start_frame, end_frame }: Clip): string {
  return `${motion}:${start_frame}-${end_frame}`;
}

/** Fires "change", also for changes in another window of this browser. */
export class Verdicts extends EventTarget {
  private judged: Judged = { accepted: [], rejected: [] };
  private key = "";
  private query = "";
  private before: Judged[] = []; // for undo
  /** Time of the last verdict in this window, in milliseconds. */
  changedAt = 0;

  constructor() {
    super();
    addEventListener("storage", (event) => {
      if (event.key === this.key) this.load();
    });
  }

  /** Load the verdicts of a query; `library` is the identifier of the library. */
  open(library: string, query: string): void {
    const key = `motionloom:verdicts:${library}`;
    if (!library || (key === this.key && query === this.query)) return;
    this.key = key;
    this.query = query;
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

  /** Set the verdict of matches; null removes it. */
  judge(clips: Clip | readonly Clip[], verdict: Verdict): void {
    const all = Array.isArray(clips) ? (clips as readonly Clip[]) : [clips as Clip];
    const others = (kind: "accepted" | "rejected") =>
      this.judged[kind].filter((one) => !all.some((clip) => same(one, clip)));
    const judged = { accepted: others("accepted"), rejected: others("rejected") };
    if (verdict)
      for (const { motion, start_frame, end_frame, distance, tier, label } of all)
        judged[verdict].push({ motion, start_frame, end_frame, distance, tier, label });
    this.change(judged);
  }

  clear(): void {
    this.change({ accepted: [], rejected: [] });
  }

  get undoable(): boolean {
    return this.before.length > 0;
  }

  /** Undo the last change; false if there is none. */
  undo(): boolean {
    const last = this.before.pop();
    if (!last) return false;
    this.judged = last;
    this.save();
    return true;
  }

  private change(judged: Judged): void {
    this.before = [...this.before, this.judged].slice(-UNDONE);
    this.changedAt = Date.now();
    this.judged = judged;
    this.save();
  }

  private load(): void {
    const { accepted = [], rejected = [], before = [] } = this.stored()[this.query] ?? {};
    this.judged = { accepted, rejected };
    this.before = before;
    this.dispatchEvent(new Event("change"));
  }

  private save(): void {
    const stored = new Map(Object.entries(this.stored()));
    stored.delete(this.query); // the last judged query is the last
    if (this.judged.accepted.length || this.judged.rejected.length || this.before.length)
      stored.set(this.query, { ...this.judged, before: this.before });
    const latest = [...stored].slice(-REMEMBERED);
    localStorage.setItem(this.key, JSON.stringify(Object.fromEntries(latest)));
    this.dispatchEvent(new Event("change"));
  }

  /** The verdicts of all queries, the last judged one last. */
  private stored(): Record<string, Stored> {
    try {
      return JSON.parse(localStorage.getItem(this.key) ?? "{}") ?? {};
    } catch {
      return {};
    }
  }
}

function same(a: Clip, b: Clip): boolean {
  if (a.motion !== b.motion) return false;
  const shared = Math.min(a.end_frame, b.end_frame) - Math.max(a.start_frame, b.start_frame);
  return shared >= SAME * Math.max(a.end_frame - a.start_frame, b.end_frame - b.start_frame);
}

/** The verdicts, shared by all views. */
export const verdicts = new Verdicts();
