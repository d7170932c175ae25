// Curves of joints over time: height, speed, bend and rotation, from the positions and orientations that the page has.

import { rowOf, type MotionData } from "../motion/motion";

export const KINDS = ["height", "speed", "bend", "rotation"] as const;
export type CurveKind = (typeof KINDS)[number];
export const UNITS: Record<CurveKind, string> = { height: "m", speed: "m/s", bend: "°", rotation: "°" };
export const ABOUT: Record<CurveKind, string> = {
  height: "height above the floor",
  speed: "speed",
  bend: "angle between the bones that meet at the joint; 0 is straight",
  rotation: "angle of the joint relative to its parent; 0 is the zero pose of the skeleton",
};

/** A track: a curve of a pair (`pair:ankle`), a role (`role:hips`) or a joint (`joint:Spine1`). */
export interface Track {
  kind: CurveKind;
  of: string;
}

const KEY = "motionloom.tracks";

/** The points of a track in a motion: left and right of a pair; none if the skeleton lacks them. */
export function pointsOf(track: Track, { joints, roles }: Pick<MotionData, "joints" | "roles">): number[] {
  const [how, name] = split(track.of);
  const found =
    how === "pair"
      ? [roles[`left_${name}`], roles[`right_${name}`]]
      : how === "role"
        ? [roles[name]]
        : [joints.indexOf(name)];
  return found.every((point) => point !== undefined && point >= 0) ? found : [];
}

export function trackName(track: Track): string {
  const [how, name] = split(track.of);
  return how === "pair" ? plural(name) : how === "role" ? name.replaceAll("_", " ") : name;
}

/** Choices for a motion: pairs of roles, roles, and joints without a role. */
export function choices({ joints, roles }: Pick<MotionData, "joints" | "roles">): [string, [string, string][]][] {
  const named = (of: string): [string, string] => [of, trackName({ kind: "height", of })];
  const pairs = Object.keys(roles).filter(
    (role) => role.startsWith("left_") && role.replace("left_", "right_") in roles,
  );
  const taken = new Set(Object.values(roles));
  return [
    ["left and right", pairs.map((role) => named(`pair:${role.slice("left_".length)}`))],
    ["one", Object.keys(roles).map((role) => named(`role:${role}`))],
    ["other joints", joints.filter((_, point) => !taken.has(point)).map((name) => named(`joint:${name}`))],
  ];
}

/** A value of a point in every frame of [first, end); NaN where it has none. */
export function curveOf(motion: MotionData, kind: CurveKind, point: number): Float32Array {
  const first = motion.first ?? 0;
  const value = VALUES[kind](motion, point);
  return Float32Array.from({ length: Math.max(motion.frames - first, 0) }, (_, k) => value(first + k, first));
}

type Value = (frame: number, first: number) => number;

const VALUES: Record<CurveKind, (motion: MotionData, point: number) => Value> = {
  height: (motion, point) => (frame) => sizeOf(motion) * motion.positions[placeOf(motion, point, frame) + 1],
  speed: (motion, point) => (frame, first) => {
    if (motion.frames - first < 2) return 0;
    const to = placeOf(motion, point, Math.max(frame, first + 1)); // the first frame has that of the second
    const from = placeOf(motion, point, Math.max(frame, first + 1) - 1);
    return Math.hypot(...difference(motion, to, from)) * sizeOf(motion) * motion.fps;
  },
  bend: (motion, point) => {
    const parent = motion.parents[point];
    const child = motion.parents.indexOf(point);
    return (frame) => {
      if (parent < 0 || child < 0) return NaN;
      const here = placeOf(motion, point, frame);
      const into = difference(motion, here, placeOf(motion, parent, frame));
      const out = difference(motion, placeOf(motion, child, frame), here);
      const dot = into[0] * out[0] + into[1] * out[1] + into[2] * out[2];
      const long = Math.hypot(...into) * Math.hypot(...out);
      return long > 0 ? degrees(Math.acos(Math.min(Math.max(dot / long, -1), 1))) : NaN;
    };
  },
  rotation: (motion, point) => {
    const { orientations } = motion;
    const joints = orientations ? orientations.length / 4 / (motion.capacity ?? motion.frames) : 0;
    const parent = motion.parents[point];
    return (frame) => {
      if (!orientations || point >= joints) return NaN; // an end site does not turn
      const at = (rowOf(motion, frame) * joints + point) * 4;
      const above = (rowOf(motion, frame) * joints + parent) * 4;
      // The real part of parent⁻¹ × joint is their scalar product.
      let same = orientations[at];
      if (parent >= 0) {
        same = 0;
        for (let part = 0; part < 4; part++) same += orientations[at + part] * orientations[above + part];
      }
      return degrees(2 * Math.acos(Math.min(Math.abs(same), 1)));
    };
  },
};

function sizeOf(motion: MotionData): number {
  return motion.size ?? 1;
}

function placeOf(motion: MotionData, point: number, frame: number): number {
  return (rowOf(motion, frame) * motion.parents.length + point) * 3;
}

function difference({ positions }: MotionData, to: number, from: number): [number, number, number] {
  return [
    positions[to] - positions[from],
    positions[to + 1] - positions[from + 1],
    positions[to + 2] - positions[from + 2],
  ];
}

function degrees(radians: number): number {
  return (radians * 180) / Math.PI;
}

function plural(name: string): string {
  return name === "foot" ? "feet" : `${name}s`;
}

function split(of: string): [string, string] {
  const at = of.indexOf(":");
  return [of.slice(0, at), of.slice(at + 1)];
}

/** Least and greatest value, with a little room if they are the same; null without values. */
export function rangeOf(curves: readonly Float32Array[]): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  for (const curve of curves)
    for (const value of curve) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  if (low > high) return null;
  return high - low < 1e-3 ? [low - 0.01, high + 0.01] : [low, high];
}

/** The tracks of this browser. */
export function storedTracks(): Track[] {
  try {
    const given = JSON.parse(localStorage.getItem(KEY) ?? "[]") as Track[];
    return given.filter((one) => KINDS.includes(one.kind) && typeof one.of === "string");
  } catch {
    return [];
  }
}

export function storeTracks(tracks: readonly Track[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(tracks));
  } catch {
    // private window: not stored
  }
}
