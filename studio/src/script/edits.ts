// Changes to a script by its blocks on the timeline: phrases are moved, trimmed, and shown by other segments.

import type { ActedScript, PlannedPhrase } from "../net/types";
import { parseSegment, segmentText } from "../page/studio";
import type { Block } from "../timeline/block-lane";

/** Phrases in order, and the segments chosen for some of them, by their numbers. */
export interface Script {
  phrases: readonly string[];
  instead: Readonly<Record<number, string>>;
}

/** A block of the timeline, with the phrase that it shows; -1 for a bridge. */
export interface PhraseBlock extends Block {
  number: number;
  rows: readonly PlannedPhrase[];
}

const SECONDS = /\b(\d+(?:\.\d+)?)(\s*(?:s|secs?|seconds?)\b)/i;
const SHORTEST = 0.2; // seconds, as in scripts

/** One block for each phrase and each bridge. */
export function blocksOf({ plan, phrases }: ActedScript, instead: Script["instead"]): PhraseBlock[] {
  const blocks: PhraseBlock[] = [];
  for (const row of plan) {
    const last = blocks.at(-1);
    const phrase = phrases[row.number];
    if (phrase && last?.number === row.number) {
      blocks[blocks.length - 1] = { ...last, end: row.end, rows: [...last.rows, row] };
      continue;
    }
    const options = phrase?.options.map((one) => ({ value: one.segment, text: `${one.segment}: ${one.text}` }));
    blocks.push({
      number: phrase ? row.number : -1,
      rows: [row],
      text: phrase?.text ?? `bridge: ${row.text}`,
      start: row.start,
      end: row.end,
      bridge: !phrase,
      options,
      chosen: phrase && (instead[row.number] ?? row.segment),
    });
  }
  return blocks;
}

/** The script with a phrase moved before another; `before` may be the number of phrases. */
export function moved({ phrases, instead }: Script, number: number, before: number): Script {
  const order = phrases.map((_, at) => at).filter((at) => at !== number);
  order.splice(before > number ? before - 1 : before, 0, number);
  const chosen = order.flatMap((from, to) => (from in instead ? [[to, instead[from]] as const] : []));
  return { phrases: order.map((at) => phrases[at]), instead: Object.fromEntries(chosen) };
}

/** The script with the block of a phrase trimmed to other times. A phrase with a duration gets another one; the segment
 * of another phrase is cut, or extended as far as its take goes. `frames`: number of frames of a take. */
export function trimmed(
  { phrases, instead }: Script,
  block: PhraseBlock,
  [start, end]: [number, number],
  frames: (take: string) => number,
): Script {
  const { number } = block;
  const seconds = Math.max(end - start, SHORTEST).toFixed(1);
  const segment = parseSegment(instead[number] ?? block.rows[0].segment);
  const timed = SECONDS.test(phrases[number]) && !(number in instead);
  if (timed || block.rows.length > 1 || !segment) {
    const text = phrases[number];
    const changed = timed ? text.replace(SECONDS, (_, __, unit) => `${seconds}${unit}`) : `${text} ${seconds} s`;
    const others = Object.fromEntries(Object.entries(instead).filter(([at]) => Number(at) !== number));
    return { phrases: phrases.with(number, changed), instead: others };
  }
  const perSecond = (segment.end - segment.start) / (block.end - block.start);
  const first = Math.max(Math.round(segment.start + (start - block.start) * perSecond), 0);
  const last = Math.min(Math.round(segment.end + (end - block.end) * perSecond), frames(segment.motion));
  return { phrases, instead: { ...instead, [number]: segmentText({ ...segment, start: first, end: last }) } };
}
