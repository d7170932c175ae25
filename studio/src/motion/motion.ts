// A motion as the page holds it: sent once, played here.

import { getArrays } from "../net/api";
import type { Bones, CrowdHead, MotionHead } from "../net/answers";
import type { Message } from "../net/message";

export interface MotionData extends Bones {
  name: string;
  fps: number;
  /** End of what there is: frames [first, frames). */
  frames: number;
  /** Oldest frame still held; only streamed motion forgets any. */
  first?: number;
  /** Frames the arrays hold, where new ones overwrite old ones; default: all of them. */
  capacity?: number;
  positions: Float32Array; // (frames, joints, 3)
  contacts: Uint8Array; // (frames, 4): left heel, left ball, right heel, right ball
}

export function motionFrom(message: Message<MotionHead>): MotionData {
  const { name, fps, frames, joints, parents, roles } = message.meta;
  return {
    name,
    fps,
    frames,
    joints,
    parents,
    roles,
    positions: message.arrays.positions as Float32Array,
    contacts: message.arrays.contacts as Uint8Array,
  };
}

/** The motions of several characters in one message. */
export function motionsFrom(message: Message<CrowdHead>): MotionData[] {
  const { fps, frames, characters } = message.meta;
  return characters.map((one, number) => ({
    ...one,
    fps,
    frames,
    positions: message.arrays[`positions_${number}`] as Float32Array,
    contacts: message.arrays[`contacts_${number}`] as Uint8Array,
  }));
}

/** Which row of the arrays holds a frame. */
export function rowOf(motion: MotionData, frame: number): number {
  return motion.capacity ? frame % motion.capacity : frame;
}

const CACHE = new Map<string, Promise<MotionData>>();
const CACHED = 40;

/** A motion of the library; asked for once while it is among the latest few. */
export function fetchMotion(name: string): Promise<MotionData> {
  const known = CACHE.get(name);
  if (known) return known;
  const wanted = getArrays("motions/{name}/frames", { path: { name } }).then(motionFrom);
  wanted.catch(() => CACHE.delete(name));
  CACHE.set(name, wanted);
  if (CACHE.size > CACHED) CACHE.delete(CACHE.keys().next().value!);
  return wanted;
}

/** Drop what is held of the library's motions, as after an import. */
export function forgetMotions(): void {
  CACHE.clear();
}
