// Two-bone inverse kinematics of a leg: the knee bends until the ankle is as far from the hip as its goal, then the whole
// leg swings to the goal.

import { multiplyInto, rotateInto, type Numbers } from "./numbers";

/** Maximum extension of a leg, as a fraction of its length. */
export const MAX_EXTENSION = 0.995;
const STRAIGHT_OFFSET = 0.03; // fraction of its length by which a straight leg is bent toward the toes
const CLEARLY_BENT = 0.045; // fraction of its length above which the bend of the leg decides, not the toes
const TOES_AHEAD = 0.3; // toes whose perpendicular part is shorter than this give no direction

export type Vector = [number, number, number];

export const dot = (a: Numbers, b: Numbers): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const apart = (a: Numbers, b: Numbers): Vector => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const lengthOf = (a: Numbers): number => Math.sqrt(dot(a, a));

/** The shortest rotation from direction `a` to direction `b`. */
export function shortestRotation(a: Numbers, b: Numbers): number[] {
  const size = Math.sqrt(dot(a, a) * dot(b, b));
  if (size < 1e-12) return [1, 0, 0, 0];
  const w = size + dot(a, b);
  const x = a[1] * b[2] - a[2] * b[1];
  const y = a[2] * b[0] - a[0] * b[2];
  const z = a[0] * b[1] - a[1] * b[0];
  const norm = Math.sqrt(w * w + x * x + y * y + z * z);
  return norm < 1e-9 * size ? [1, 0, 0, 0] : [w / norm, x / norm, y / norm, z / norm];
}

/** The softly limited extension toward `wanted` of a leg captured at `natural`, in meters. */
function softExtension(wanted: number, natural: number, length: number): number {
  const most = Math.max(MAX_EXTENSION * length, Math.min(natural, 0.9999 * length));
  const soft = 0.97 * length;
  if (wanted <= natural || wanted <= soft) return wanted;
  const start = Math.max(soft, natural);
  const room = most - start;
  return room < 1e-9 ? most : start + room * (1 - Math.exp(-(wanted - start) / room));
}

/** The angle between two bones whose ends are `far` apart; 0 is straight. */
function bendOf(a: number, b: number, far: number): number {
  return Math.acos(Math.min(1, Math.max(-1, (far * far - a * a - b * b) / (2 * a * b))));
}

/** The change of the knee's bend that brings the ankle to `goal`, and the new bend, in radians. */
export function bendForGoal(hip: Numbers, knee: Numbers, ankle: Numbers, goal: Numbers): [more: number, bend: number] {
  const a = lengthOf(apart(knee, hip));
  const b = lengthOf(apart(ankle, knee));
  const natural = lengthOf(apart(ankle, hip));
  const soft = softExtension(lengthOf(apart(goal, hip)), natural, a + b);
  const bend = bendOf(a, b, Math.max(soft, 1.02 * Math.abs(a - b) + 1e-6));
  return [bend - bendOf(a, b, natural), bend];
}

/** The unit vector perpendicular to the leg toward its knee. */
function bendAside(thigh: Numbers, along: Numbers, ahead: Numbers, length: number): Vector {
  const out = dot(thigh, along);
  const aside = [0, 1, 2].map((c) => thigh[c] - out * along[c]) as Vector;
  const onward = dot(ahead, along);
  const toes = [0, 1, 2].map((c) => ahead[c] - onward * along[c]) as Vector;
  const size = lengthOf(toes);
  if (size > 1e-6) {
    for (let c = 0; c < 3; c++) toes[c] /= size;
    const part = dot(aside, toes);
    // A smooth maximum of `part` and 0, and a weight that falls with the fourth power of the bend.
    const kept = 0.5 * (part + Math.hypot(part, STRAIGHT_OFFSET * length));
    const weight = 1 / (1 + (dot(aside, aside) / (CLEARLY_BENT * length) ** 2) ** 2);
    const more = weight * (kept - part) * Math.min(1, size / TOES_AHEAD);
    for (let c = 0; c < 3; c++) aside[c] += more * toes[c];
  }
  const norm = lengthOf(aside) + 1e-12;
  return [aside[0] / norm, aside[1] / norm, aside[2] / norm];
}

/** World rotations of thigh and shank that bend the knee by `more` and aim at `goal`, and the place of the ankle. */
export function bendTwoBone(
  hip: Numbers,
  knee: Numbers,
  ankle: Numbers,
  goal: Numbers,
  ahead: Numbers,
  more: number,
): { upper: number[]; lower: number[]; arrived: Vector } {
  const thigh = apart(knee, hip);
  const shank = apart(ankle, knee);
  const line = apart(ankle, hip);
  const reach = apart(goal, hip);
  const far = lengthOf(line);
  const along: Vector = [line[0] / far, line[1] / far, line[2] / far];
  const aside = bendAside(thigh, along, ahead, lengthOf(thigh) + lengthOf(shank));
  const sine = Math.sin(0.5 * more);
  const turn = [
    Math.cos(0.5 * more),
    sine * (aside[1] * along[2] - aside[2] * along[1]),
    sine * (aside[2] * along[0] - aside[0] * along[2]),
    sine * (aside[0] * along[1] - aside[1] * along[0]),
  ];
  const bent = [0, 0, 0];
  rotateInto(turn, 0, shank, 0, bent, 0);
  for (let c = 0; c < 3; c++) bent[c] += thigh[c];
  const upper = shortestRotation(bent, reach);
  const lower = [0, 0, 0, 0];
  multiplyInto(upper, 0, turn, 0, lower, 0);
  const share = Math.sqrt(dot(bent, bent) / dot(reach, reach));
  return { upper, lower, arrived: [0, 1, 2].map((c) => hip[c] + reach[c] * share) as Vector };
}
