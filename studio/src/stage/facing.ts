// Where a character faces, and the directions from which it is seen.

import type { Character } from "./character";

const SIDES = ["hip", "shoulder"];

/** Standard views: from the front, from behind, from the right or left side, from above. */
export const VIEWS = ["front", "back", "right", "left", "top"] as const;
export type CameraView = (typeof VIEWS)[number];

/** Turn of a standard view about the vertical, from the direction that is faced; radians. */
const TURNS: Record<CameraView, number> = { front: 0, back: Math.PI, right: -Math.PI / 2, left: Math.PI / 2, top: 0 };
const RISE = 0.08; // of the camera over the horizon, as a slope

/** Direction that a body faces on the floor, radians from +Z toward +X, from points (P, 3); null if it has no sides. */
export function facingOf(points: ArrayLike<number>, roles: Readonly<Record<string, number>>): number | null {
  let x = 0;
  let z = 0;
  for (const side of SIDES) {
    const left = roles[`left_${side}`];
    const right = roles[`right_${side}`];
    if (left === undefined || right === undefined) continue;
    x += points[3 * left] - points[3 * right];
    z += points[3 * left + 2] - points[3 * right + 2];
  }
  // From right to left, times up: forwards.
  return Math.hypot(x, z) > 1e-4 ? Math.atan2(-z, x) : null;
}

/** The mean direction that characters face; null if none has a direction, or they cancel out. */
export function meanFacing(characters: readonly Character[]): number | null {
  let x = 0;
  let z = 0;
  for (const one of characters) {
    if (!one.visible || one.motion.frames === 0) continue;
    const facing = facingOf(one.points, one.motion.roles);
    if (facing === null) continue;
    x += Math.sin(facing);
    z += Math.cos(facing);
  }
  return Math.hypot(x, z) > 1e-3 ? Math.atan2(x, z) : null;
}

/** Unit vector from the subject to the camera, for a view of a subject that faces `facing`. */
export function viewDirection(view: CameraView, facing: number): [number, number, number] {
  // From above, the facing direction points to the top of the picture: the camera is slightly behind.
  if (view === "top") return [-1e-3 * Math.sin(facing), 1, -1e-3 * Math.cos(facing)];
  const turn = facing + TURNS[view];
  const long = Math.hypot(1, RISE);
  return [Math.sin(turn) / long, RISE / long, Math.cos(turn) / long];
}

/** The difference of two angles, -pi to pi. */
export function turnBetween(from: number, to: number): number {
  return Math.atan2(Math.sin(to - from), Math.cos(to - from));
}
