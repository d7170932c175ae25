// A match on the stage, over its query: in the query's time or in its own, on top or beside it.

import type { Studio } from "../page/studio";
import { counted, fetchTogether } from "../motion/aligned";
import type { Clip, QuerySegment } from "../net/answers";

export interface Overlay {
  timing: "query" | "own";
  beside: boolean;
}

export const QUERY_COLOUR = 0x4f9fd8;
export const MATCH_COLOUR = 0xe0823d;

export async function showMatch(
  studio: Studio,
  query: QuerySegment,
  clip: Clip,
  frames: ArrayLike<number>,
  overlay: Overlay,
  still: () => boolean = () => true,
): Promise<void> {
  const onto = { motion: query.motion, frame: query.start_frame };
  const own = overlay.timing === "own";
  const [asked, found] = await fetchTogether(
    onto,
    [
      { motion: query.motion, frames: counted(query.start_frame, query.end_frame) },
      { motion: clip.motion, frames: own ? counted(clip.start_frame, clip.end_frame) : Array.from(frames) },
    ],
    own ? undefined : query.fps,
  );
  if (!still()) return; // another one was clicked meanwhile
  studio.cast([
    { motion: asked, colour: QUERY_COLOUR, title: `query ${query.motion}` },
    {
      motion: found,
      colour: MATCH_COLOUR,
      title: clip.motion,
      place: overlay.beside ? { yaw: 0, shift: [1.3, 0, 0] } : undefined,
    },
  ]);
  studio.stage.clock.play();
}

/** The query alone, on its take's timeline, selected. */
export async function showQuery(studio: Studio, query: QuerySegment): Promise<void> {
  await studio.open(query.motion);
  studio.select({ motion: query.motion, start: query.start_frame, end: query.end_frame });
  const lead = studio.lead;
  if (lead) studio.stage.clock.seek(lead.timeOf(query.start_frame));
}
