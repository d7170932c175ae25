// Segments of takes, aligned by the server in position, heading and time.

import type { Bones, FigureBody } from "../net/types";
import { sendForArrays, type Body } from "../net/api";
import { wornQuery, type MotionData } from "./motion";

type Moment = Body<"poses">["onto"];
type FrameList = Body<"poses">["clips"][number];

/** A few frames of a small figure, (frames, points, 3). */
export interface Figure {
  body: FigureBody;
  frames: number;
  points: number;
  positions: Float32Array;
}

/** Small figures for cards. */
export async function fetchFigures(onto: Moment, clips: FrameList[], signal?: AbortSignal): Promise<Figure[]> {
  const { meta, arrays } = await sendForArrays("poses", { body: { onto, clips, small: true }, signal });
  const all = arrays.positions as Float32Array;
  let at = 0;
  return meta.clips.map(({ frames, points, body }) => {
    const positions = all.subarray(at, (at += frames * points * 3));
    return { body: meta.bodies[body] as FigureBody, frames, points, positions };
  });
}

/** Motions for the stage; `fps` overrides their frame rates, to play all of them in sync. */
export async function fetchAligned(
  onto: Moment,
  clips: FrameList[],
  fps?: number,
  signal?: AbortSignal,
): Promise<MotionData[]> {
  const { meta, arrays } = await sendForArrays("poses", { body: { onto, clips }, query: wornQuery(), signal });
  const all = arrays.positions as Float32Array;
  const feet = arrays.contacts as Uint8Array;
  const turns = arrays.orientations as Float32Array;
  let at = 0;
  let turn = 0;
  let row = 0;
  return meta.clips.map((clip) => {
    const positions = all.subarray(at, (at += clip.frames * clip.points * 3));
    const contacts = feet.subarray(row * 4, (row += clip.frames) * 4);
    const orientations = turns.subarray(turn, (turn += clip.frames * clip.joints * 4));
    const arrays = { positions, orientations, contacts };
    return {
      ...(meta.bodies[clip.body] as Bones),
      name: clip.name,
      fps: fps ?? clip.fps,
      frames: clip.frames,
      ...arrays,
    };
  });
}

/** At most `most` of the frames, evenly spaced, with the first and the last. */
export function subsample(frames: ArrayLike<number>, most: number): number[] {
  const count = Math.min(frames.length, most);
  if (count === 1) return [frames[0]];
  return Array.from({ length: count }, (_, k) => frames[Math.round((k * (frames.length - 1)) / (count - 1))]);
}

/** start, start + 1, ..., end - 1 */
export function frameNumbers(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, k) => start + k);
}
