// Roughness of jumps to other frames, estimated for many and rehearsed for a few: the largest acceleration of a joint,
// relative to the 99.9th percentile in the takes.

import type { MatchingDatabase } from "./database";
import type { FootLock } from "./foot-lock";
import { FADE, type Inertializer, type Pose } from "./inertialization";
import { rounded, turnBy, type Floor } from "./numbers";

/** Frames after a jump that a seam needs. */
export const SEEN = 3;
const SECONDS = 0.25; // duration of a rehearsal
const MOST_SLIDE = 0.06; // meters: a slide of a standing foot by this distance counts as a ratio of 1
const LEAST = 1e-6; // m/s^2

/** Estimated ratios for jumps from `frame` to each of `others`. */
export function estimatedSeams(database: MatchingDatabase, frame: number, others: readonly number[]): number[] {
  const here = inRoot(database, frame);
  return others.map((other) => {
    const there = inRoot(database, other);
    let most = 0;
    for (let at = 0; at < here.places.length; at += 3) {
      let square = 0;
      for (let c = at; c < at + 3; c++) {
        const pull = FADE ** 2 * (here.places[c] - there.places[c]) + 2 * FADE * (here.speeds[c] - there.speeds[c]);
        square += pull * pull;
      }
      most = Math.max(most, Math.sqrt(square));
    }
    return most / Math.max(database.acceleration, LEAST);
  });
}

/** Positions and velocities of the joints of a frame in the axes of its root motion: z, x, y each. */
function inRoot(database: MatchingDatabase, frame: number): { places: Float64Array; speeds: Float64Array } {
  const next = Math.min(frame + 1, database.rangeOf(frame).stop - 1);
  const [x, z, facing] = database.places.subarray(frame * 3, frame * 3 + 3);
  const [c, s] = turnBy(-facing);
  const joints = database.skeleton.parents.length;
  const [places, after] = [frame, next].map((row) => {
    const points = database.positions(database.pose(row, [0, 0], 0));
    const out = new Float64Array(joints * 3);
    for (let at = 0; at < out.length; at += 3) {
      const [dz, dx] = [points[at + 2] - z, points[at] - x];
      out[at] = dz * c - dx * s;
      out[at + 1] = dz * s + dx * c;
      out[at + 2] = points[at + 1];
    }
    return out;
  });
  return { places, speeds: after.map((value, n) => (value - places[n]) * database.fps) };
}

/**
 * Rehearse a jump to `frame`, moved by `shift` and `yaw`, and return its ratio; long foot slides also count as rough.
 * `last` are the positions of the joints in the last two frames. The fades and the foot lock do not change.
 */
export function rehearsedSeam(
  database: MatchingDatabase,
  frame: number,
  shift: Floor,
  yaw: number,
  last: readonly Float32Array[],
  inertializer: Inertializer,
  footLock: FootLock | null,
): number {
  const { fps, contacts, skeleton } = database;
  const count = Math.max(rounded(SECONDS * fps), 1) + 2;
  const stop = database.rangeOf(frame).stop;
  const rows = Array.from({ length: Math.max(count, SEEN) }, (_, n) => Math.min(frame + n, stop - 1));
  const poses: Pose[] = rows.map((row) => database.pose(row, shift, yaw));
  const fades = inertializer.copy();
  fades.seam(poses.slice(0, SEEN));
  const played = poses.slice(0, count);
  fades.apply(played);
  const lock = footLock?.copy();
  if (lock) played.forEach((pose, n) => lock.lock(pose, contacts, rows[n] * 4));
  const points = [...last, ...played.map((pose) => database.positions(pose))];
  const joints = skeleton.parents.length;
  let most = 0;
  for (let n = 2; n < points.length; n++) {
    const [a, b, c] = [points[n - 2], points[n - 1], points[n]];
    for (let at = 0; at < joints * 3; at += 3) {
      const x = c[at] - b[at] - (b[at] - a[at]);
      const y = c[at + 1] - b[at + 1] - (b[at + 1] - a[at + 1]);
      const z = c[at + 2] - b[at + 2] - (b[at + 2] - a[at + 2]);
      most = Math.max(most, Math.sqrt(x * x + y * y + z * z));
    }
  }
  let slide = 0;
  const parts = [skeleton.legs[2], joints, skeleton.legs[5], joints + 1]; // heels and balls
  parts.forEach((part, column) => {
    let way = 0;
    for (let n = 1; n < played.length; n++) {
      if (!contacts[rows[n] * 4 + column] || !contacts[rows[n - 1] * 4 + column]) continue;
      const [a, b] = [points[n + 1], points[n + 2]];
      const [x, z] = [b[part * 3] - a[part * 3], b[part * 3 + 2] - a[part * 3 + 2]];
      way += Math.sqrt(x * x + z * z);
    }
    slide = Math.max(slide, way);
  });
  return Math.max((most * fps ** 2) / Math.max(database.acceleration, LEAST), slide / MOST_SLIDE);
}
