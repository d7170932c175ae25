// A match overlaid on its query, in sync with the query or at its original speed, at the same position or next to it.

import { frameNumbers, fetchAligned } from "../motion/aligned";
import type { Clip, QuerySegment } from "../net/types";
import type { Studio } from "../page/studio";
import { segmentSubject } from "../page/subject-bar";

export interface Overlay {
  timing: "query" | "own";
  sideBySide: boolean;
}

export const QUERY_COLOR = 0x4f9fd8;
export const MATCH_COLOR = 0xa3abb8;
const TRANSLUCENT = 0.4;

export async function showMatch(
  studio: Studio,
  query: QuerySegment,
  clip: Clip,
  frames: ArrayLike<number>,
  overlay: Overlay,
  signal?: AbortSignal,
): Promise<void> {
  const onto = { motion: query.motion, frame: query.start_frame };
  const own = overlay.timing === "own";
  const [queryMotion, matchMotion] = await fetchAligned(
    onto,
    [
      { motion: query.motion, frames: frameNumbers(query.start_frame, query.end_frame) },
      { motion: clip.motion, frames: own ? frameNumbers(clip.start_frame, clip.end_frame) : Array.from(frames) },
    ],
    own ? undefined : query.fps,
    signal,
  );
  const segment = { motion: clip.motion, start: clip.start_frame, end: clip.end_frame };
  studio.show(
    [
      {
        motion: queryMotion,
        color: QUERY_COLOR,
        title: `query ${query.motion}`,
        opacity: overlay.sideBySide ? 1 : TRANSLUCENT, // otherwise the two would hide each other
      },
      {
        motion: matchMotion,
        color: MATCH_COLOR,
        title: clip.motion,
        transform: overlay.sideBySide ? { yaw: 0, translation: [1.3, 0, 0] } : undefined,
      },
    ],
    null,
    segmentSubject(segment, studio.library.path),
  );
  studio.stage.clock.play();
}

/** Show the query in its take, selected on the timeline. */
export async function showQuery(studio: Studio, query: QuerySegment): Promise<void> {
  await studio.open(query.motion);
  studio.select({ motion: query.motion, start: query.start_frame, end: query.end_frame });
  const lead = studio.lead;
  if (lead) studio.stage.clock.seek(lead.timeOf(query.start_frame));
}
