// Motions in the page: joint positions and contacts of every frame, cached by name.

import type { Bones, CrowdHead, MotionHead } from "../net/types";
import { getArrays } from "../net/api";
import type { Message } from "../net/message";

export interface MotionData extends Bones {
  name: string;
  fps: number;
  /** Number of frames so far; the arrays hold frames [first, frames). */
  frames: number;
  /** First frame in the arrays; 0 unless the motion is streamed. */
  first?: number;
  /** Size of the ring buffer of a streamed motion; undefined if the arrays hold all frames. */
  capacity?: number;
  positions: Float32Array; // (frames, joints, 3)
  orientations?: Float32Array; // (frames, joints without end sites, 4): world rotations wxyz
  contacts: Uint8Array; // (frames, 4): left heel, left ball, right heel, right ball
}

export function motionFrom(message: Message<MotionHead>): MotionData {
  const { name, fps, frames, joints, parents, roles, body, size } = message.meta;
  return {
    name,
    fps,
    frames,
    joints,
    parents,
    roles,
    body,
    size,
    positions: message.arrays.positions as Float32Array,
    orientations: message.arrays.orientations as Float32Array,
    contacts: message.arrays.contacts as Uint8Array,
  };
}

/** The motions of several characters in one message. */
export function crowdMotions(message: Message<Pick<CrowdHead, "characters" | "fps" | "frames">>): MotionData[] {
  const { fps, frames, characters } = message.meta;
  return characters.map((one, number) => ({
    ...one,
    fps,
    frames,
    positions: message.arrays[`positions_${number}`] as Float32Array,
    orientations: message.arrays[`orientations_${number}`] as Float32Array,
    contacts: message.arrays[`contacts_${number}`] as Uint8Array,
  }));
}

/** The row of a frame in the arrays. */
export function rowOf(motion: MotionData, frame: number): number {
  return motion.capacity ? frame % motion.capacity : frame;
}

const CACHE = new Map<string, Promise<MotionData>>();
const CACHED = 40;

let worn = ""; // id of the character on which takes are shown

/** Show motions on a character of the user, or with "" on their original skeletons. */
export function wearCharacter(id: string): void {
  worn = id;
}

/** Query of a request for a motion: the character that shows it. */
export function wornQuery(): { character?: string } {
  return worn ? { character: worn } : {};
}

/** A motion of the library, from the cache or from the server. */
export function fetchMotion(name: string): Promise<MotionData> {
  const key = `${worn}\n${name}`;
  const cached = CACHE.get(key);
  if (cached) return cached;
  const request = getArrays("motions/{name}/frames", { path: { name }, query: wornQuery() }).then(motionFrom);
  request.catch(() => CACHE.delete(key));
  CACHE.set(key, request);
  if (CACHE.size > CACHED) CACHE.delete(CACHE.keys().next().value!);
  return request;
}

/** Empty the cache, as after an import. */
export function clearMotionCache(): void {
  CACHE.clear();
}
