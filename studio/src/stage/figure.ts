// A pose drawn with capsules: bones and joints.

import * as THREE from "three";
import type { Bones } from "../net/types";
import type { Capsules } from "./capsules";

const STANDS = new THREE.Color(0x4f9fd8); // as the feet on the timeline
const GLOW = 0.12;
const LEG = 0.86; // meters from hip to ankle of the body with the radii below

/** How a skeleton is drawn; computed once. */
export interface Plan {
  size: number;
  parents: number[];
  foot: Int8Array; // per joint: its column of the contacts, or -1
  root: number;
}

export function planOf(bones: Bones, positions: Float32Array): Plan {
  const { parents, roles } = bones;
  const foot = new Int8Array(parents.length).fill(-1);
  ["left_ankle", "left_foot", "right_ankle", "right_foot"].forEach((role, column) => {
    if (role in roles) foot[roles[role]] = column;
  });
  if ("left_toe" in roles && foot[roles.left_toe] < 0) foot[roles.left_toe] = 1;
  if ("right_toe" in roles && foot[roles.right_toe] < 0) foot[roles.right_toe] = 3;
  const size = sizeOf(bones, positions);
  return { size, parents, foot, root: roles.hips ?? 0 };
}

function sizeOf({ parents, roles }: Bones, positions: Float32Array): number {
  const far = (a: number, b: number) =>
    Math.hypot(
      positions[a * 3] - positions[b * 3],
      positions[a * 3 + 1] - positions[b * 3 + 1],
      positions[a * 3 + 2] - positions[b * 3 + 2],
    );
  const chain = ["left_hip", "left_knee", "left_ankle"].map((role) => roles[role]);
  if (chain.every((joint) => joint !== undefined)) {
    const leg = far(chain[0], chain[1]) + far(chain[1], chain[2]);
    if (leg > 0) return leg / LEG;
  }
  const bonesLong = parents.map((parent, joint) => (parent < 0 ? 0 : far(parent, joint)));
  return Math.max(...bonesLong, 1e-3) / 0.43;
}

const paint = new THREE.Color();

function lit(color: THREE.Color, contacts: Uint8Array | null, row: number, column: number): boolean {
  const stands = contacts !== null && column >= 0 && contacts[row * 4 + column] > 0;
  paint.copy(color);
  if (stands) paint.lerp(STANDS, 0.75);
  return stands;
}

/** Draw points (P, 3) as bones and joints. `row` is the frame's row in `contacts`. */
export function drawSkeleton(
  capsules: Capsules,
  plan: Plan,
  points: Float32Array,
  color: THREE.Color,
  alpha: number,
  contacts: Uint8Array | null,
  row: number,
  balls = true,
): void {
  const { parents, foot, size } = plan;
  for (let joint = 0; joint < parents.length; joint++) {
    const parent = parents[joint];
    const at = joint * 3;
    const glow = lit(color, contacts, row, foot[joint]) ? GLOW : 0;
    const x = points[at];
    const y = points[at + 1];
    const z = points[at + 2];
    if (balls) capsules.add(x, y, z, x, y, z, 0.027 * size, 0.027 * size, paint, alpha, glow);
    if (parent < 0) continue;
    const from = parent * 3;
    const along = foot[parent] >= 0 && glow > 0;
    if (!along) paint.copy(color);
    capsules.add(
      points[from],
      points[from + 1],
      points[from + 2],
      x,
      y,
      z,
      0.024 * size,
      0.014 * size,
      paint,
      alpha,
      along ? glow : 0,
    );
  }
}
