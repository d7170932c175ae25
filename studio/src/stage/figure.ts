// A pose drawn with capsules: the skeleton, or a simple body with limbs by role.

import * as THREE from "three";
import type { Bones } from "../net/answers";
import type { Capsules } from "./capsules";

const WHITE = new THREE.Color(0xffffff);
const GLOW = 0.75;
const LEG = 0.86; // metres from hip to ankle of the body with the radii below

// From, to, radius at each end, depth as a fraction of the width (1: round). Of several roles the first one present.
const LIMBS: [string[], string[], number, number, number][] = [
  [["hips"], ["spine", "chest"], 0.128, 0.122, 0.74],
  [["spine", "hips"], ["chest", "neck"], 0.122, 0.142, 0.7],
  [["chest", "spine"], ["neck"], 0.142, 0.078, 0.7],
  [["neck"], ["head"], 0.05, 0.046, 1],
  ...["left", "right"].flatMap((side): [string[], string[], number, number, number][] => [
    [[`${side}_collar`, "neck", "chest"], [`${side}_shoulder`], 0.062, 0.058, 1],
    [[`${side}_shoulder`], [`${side}_elbow`], 0.056, 0.041, 1],
    [[`${side}_elbow`], [`${side}_wrist`], 0.041, 0.028, 1],
    [[`${side}_wrist`], [`${side}_hand`], 0.034, 0.026, 0.6],
    [["hips"], [`${side}_hip`], 0.11, 0.098, 0.85],
    [[`${side}_hip`], [`${side}_knee`], 0.09, 0.058, 1],
    [[`${side}_knee`], [`${side}_ankle`], 0.056, 0.038, 1],
    [[`${side}_ankle`], [`${side}_foot`, `${side}_toe`], 0.044, 0.04, 1],
    [[`${side}_foot`], [`${side}_toe`], 0.04, 0.024, 0.8],
  ]),
];
const SIDES: [string, string][] = [
  ["left_shoulder", "right_shoulder"],
  ["left_hip", "right_hip"],
];

interface Limb {
  from: number;
  to: number;
  a: number;
  b: number;
  depth: number;
  across: [number, number] | null;
  foot: number;
}

/** How a skeleton is drawn; computed once. */
export interface Plan {
  size: number;
  parents: number[];
  foot: Int8Array; // per joint: its column of the contacts, or -1
  limbs: Limb[];
  head: [number, number] | null;
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
  return { size, parents, foot, limbs: limbsOf(bones, foot, size), head: headOf(roles), root: roles.hips ?? 0 };
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

function limbsOf({ roles, parents }: Bones, foot: Int8Array, size: number): Limb[] {
  const first = (names: string[]) => roles[names.find((name) => name in roles) ?? ""];
  const side = SIDES.find((pair) => pair.every((role) => role in roles));
  const across: [number, number] | null = side ? [roles[side[0]], roles[side[1]]] : null;
  const limbs: Limb[] = [];
  for (const [froms, tos, a, b, depth] of LIMBS) {
    const from = first(froms);
    const to = first(tos);
    if (from === undefined || to === undefined || from === to) continue;
    limbs.push({ from, to, a: a * size, b: b * size, depth, across, foot: foot[from] >= 0 ? foot[to] : -1 });
  }
  if (limbs.length >= 6) return limbs;
  // Too few roles: every bone is a limb.
  return parents.flatMap((parent, joint) =>
    parent < 0 ? [] : [{ from: parent, to: joint, a: 0.045 * size, b: 0.035 * size, depth: 1, across: null, foot: -1 }],
  );
}

function headOf(roles: Record<string, number>): [number, number] | null {
  return "head" in roles && "head_top" in roles ? [roles.head, roles.head_top] : null;
}

const paint = new THREE.Color();

function lit(colour: THREE.Color, contacts: Uint8Array | null, row: number, column: number): boolean {
  const stands = contacts !== null && column >= 0 && contacts[row * 4 + column] > 0;
  paint.copy(colour);
  if (stands) paint.lerp(WHITE, 0.8);
  return stands;
}

/** Draw points (P, 3) as bones and joints. `row` is the frame's row in `contacts`. */
export function drawSkeleton(
  capsules: Capsules,
  plan: Plan,
  points: Float32Array,
  colour: THREE.Color,
  alpha: number,
  contacts: Uint8Array | null,
  row: number,
  balls = true,
): void {
  const { parents, foot, size } = plan;
  for (let joint = 0; joint < parents.length; joint++) {
    const parent = parents[joint];
    const at = joint * 3;
    const glow = lit(colour, contacts, row, foot[joint]) ? GLOW : 0;
    const x = points[at];
    const y = points[at + 1];
    const z = points[at + 2];
    if (balls) capsules.add(x, y, z, x, y, z, 0.027 * size, 0.027 * size, paint, alpha, glow);
    if (parent < 0) continue;
    const from = parent * 3;
    const along = foot[parent] >= 0 && glow > 0;
    if (!along) paint.copy(colour);
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

/** Draw points (P, 3) as a simple body. */
export function drawBody(
  capsules: Capsules,
  plan: Plan,
  points: Float32Array,
  colour: THREE.Color,
  alpha: number,
  contacts: Uint8Array | null,
  row: number,
): void {
  for (const limb of plan.limbs) {
    const a = limb.from * 3;
    const b = limb.to * 3;
    const glow = lit(colour, contacts, row, limb.foot) ? GLOW : 0;
    let sx = 0;
    let sy = 0;
    let sz = 0;
    if (limb.across && limb.depth < 1) {
      const left = limb.across[0] * 3;
      const right = limb.across[1] * 3;
      sx = points[left] - points[right];
      sy = points[left + 1] - points[right + 1];
      sz = points[left + 2] - points[right + 2];
    }
    capsules.add(
      points[a],
      points[a + 1],
      points[a + 2],
      points[b],
      points[b + 1],
      points[b + 2],
      limb.a,
      limb.b,
      paint,
      alpha,
      glow,
      sx,
      sy,
      sz,
      limb.depth,
    );
  }
  if (plan.head) drawHead(capsules, plan, points, colour, alpha);
}

/** The skull, from the head joint to its top. */
function drawHead(capsules: Capsules, plan: Plan, points: Float32Array, colour: THREE.Color, alpha: number): void {
  const a = plan.head![0] * 3;
  const b = plan.head![1] * 3;
  const dx = points[b] - points[a];
  const dy = points[b + 1] - points[a + 1];
  const dz = points[b + 2] - points[a + 2];
  const long = Math.hypot(dx, dy, dz) || 1;
  const round = 0.094 * plan.size;
  const low = Math.min(0.8 * round, long / 2) / long;
  const high = 1 - Math.min(round, long / 2) / long;
  capsules.add(
    points[a] + dx * low,
    points[a + 1] + dy * low,
    points[a + 2] + dz * low,
    points[a] + dx * high,
    points[a + 1] + dy * high,
    points[a + 2] + dz * high,
    round,
    round,
    colour,
    alpha,
  );
}
