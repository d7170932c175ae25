// A performance: poses at times, trimmed and brought to an even rate for the server.

import type { Body } from "../net/api";
import type { Pose } from "./estimator";

export type Landmarks = Body<"shown">;

export interface ActedPose {
  /** Seconds. */
  time: number;
  pose: Pose | null;
}

export const RATE = 30; // frames per second that are sent
const GAP = 0.5; // seconds without a person that are not filled
const KEYS = ["world", "image", "visibility"] as const;
const WIDTHS = { world: 99, image: 66, visibility: 33 };

/** The poses from `start` to `end` seconds, at an even rate; null where no person was seen. */
export function landmarksOf(acted: readonly ActedPose[], start: number, end: number, mirror: boolean): Landmarks {
  const seen = acted.filter(({ pose }) => pose !== null) as { time: number; pose: Pose }[];
  const out: Landmarks = { fps: RATE, world: [], image: [], visibility: [], mirror };
  const count = Math.max(0, Math.floor((end - start) * RATE + 1e-6) + 1);
  let next = 0;
  for (let frame = 0; frame < count; frame++) {
    const time = start + frame / RATE;
    while (next < seen.length && seen[next].time < time) next++;
    const after = seen[next];
    const before = next > 0 ? seen[next - 1] : after;
    const last = after ?? before;
    const gone = !last || !before || last.time - before.time > GAP || distanceTo(time, before, last) > 1.5 / RATE;
    for (const key of KEYS) {
      const values = out[key] as (number | null)[];
      if (gone) values.push(...Array<null>(WIDTHS[key]).fill(null));
      else values.push(...between(before.pose[key], last.pose[key], share(time, before.time, last.time)));
    }
  }
  return out;
}

/** Number of poses with a person. */
export function seenCount(acted: readonly ActedPose[]): number {
  return acted.filter(({ pose }) => pose !== null).length;
}

/** Seconds by which a time is outside of a range. */
function distanceTo(time: number, before: ActedPose, after: ActedPose): number {
  return Math.max(before.time - time, time - after.time, 0);
}

function share(time: number, before: number, after: number): number {
  return after > before ? Math.min(Math.max((time - before) / (after - before), 0), 1) : 0;
}

function between(a: readonly number[], b: readonly number[], part: number): number[] {
  return a.map((value, k) => Math.round((value + part * (b[k] - value)) * 1e4) / 1e4);
}
