// A card: a take, a segment of one, or a group of takes. Sections of cards, and their places on a scrolling sheet.

import type { TemplateResult } from "lit";
import { counted } from "../page/counts";
import { parseSegment, segmentText, type Row, type Segment } from "../page/studio";

export interface Card {
  /** Its identity, which also names the thumbnail: NAME, or NAME:START-END. */
  place: string;
  title: string;
  /** Duration, frames or number of takes. */
  facts: string;
  chip?: string;
  /** More about it: the words that a segment answers, or how a group differs from others. */
  text?: string | TemplateResult;
  /** The segment, unless the card is a whole take. */
  segment?: Segment;
  /** The takes of a group; undefined for a take or a segment. */
  takes?: readonly string[];
  /** The name of the group. */
  group?: string;
}

export interface Section {
  key: string;
  /** Drawn above the cards of the section. */
  head?: () => TemplateResult;
  cards: readonly Card[];
}

const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Order of names as people count: 13 before 135. */
export function byName(a: string, b: string): number {
  return order.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

export function takeCard(row: Row): Card {
  const [chip, ...more] = row.labels;
  return {
    place: row.name,
    title: row.name,
    facts: `${row.seconds.toFixed(1)} s${more.length ? ` +${more.length}` : ""}`,
    chip,
  };
}

export function segmentCard(segment: Segment, fps: number, text: string | TemplateResult): Card {
  const seconds = (segment.end - segment.start) / fps;
  return {
    place: segmentText(segment),
    title: segment.motion,
    facts: `${segment.start}–${segment.end}, ${seconds.toFixed(1)} s`,
    text,
    segment,
  };
}

/** The take of NAME or NAME:START-END. */
export function takeOf(place: string, names: ReadonlySet<string>): string {
  return names.has(place) ? place : (parseSegment(place)?.motion ?? place);
}

/** `3 takes`, `12 segments` or both. */
export function countText(takes: number, segments: number): string {
  const parts = [takes || !segments ? counted(takes, "take") : "", segments ? counted(segments, "segment") : ""];
  return parts.filter(Boolean).join(" and ");
}

/** What a card stands for when it is selected: its takes, or its own place. */
export function placesOf(card: Card): readonly string[] {
  return card.takes ?? [card.place];
}

/** The position of a card on the sheet, in pixels and columns. */
export interface Spot {
  card: Card;
  column: number;
  top: number;
}

/** The position of a section's head, and the number of columns below it. */
export interface Head {
  section: Section;
  column: number;
  span: number;
  top: number;
}

export interface Sheet {
  /** In reading order. */
  spots: readonly Spot[];
  heads: readonly Head[];
  height: number;
}

const HEAD_SPAN = 2; // least number of columns of a section with a head

/** Lay out sections in columns of cards of one height. Small sections with a head lie next to each other. */
export function sheetOf(sections: readonly Section[], columns: number, tall: number, head: number): Sheet {
  const spots: Spot[] = [];
  const heads: Head[] = [];
  let left = 0; // first free column of the shelf
  let top = 0; // of the shelf
  let below = 0; // first pixel below the shelf
  for (const section of sections) {
    const count = section.cards.length;
    const span = section.head ? Math.min(Math.max(count, HEAD_SPAN), columns) : columns;
    if (left + span > columns) [left, top] = [0, below];
    if (section.head) heads.push({ section, column: left, span, top });
    const first = top + (section.head ? head : 0);
    section.cards.forEach((card, index) => {
      spots.push({ card, column: left + (index % span), top: first + Math.floor(index / span) * tall });
    });
    below = Math.max(below, first + Math.ceil(count / span) * tall);
    left += span;
  }
  spots.sort((a, b) => a.top - b.top || a.column - b.column);
  return { spots, heads, height: below };
}

/** Index of the card that a key leads to, from the card at `at`; -1 if the key does not move. */
export function stepTo(sheet: Sheet, at: number, key: string): number {
  const { spots } = sheet;
  const last = spots.length - 1;
  const from = spots[at];
  if (key === "Home" || key === "End") return key === "Home" ? 0 : last;
  if (!from) return key.startsWith("Arrow") ? Math.min(0, last) : -1;
  if (key === "ArrowRight") return Math.min(at + 1, last);
  if (key === "ArrowLeft") return Math.max(at - 1, 0);
  const down = key === "ArrowDown";
  if (!down && key !== "ArrowUp") return -1;
  const rows = down ? spots.slice(at).filter((spot) => spot.top > from.top) : spots.slice(0, at).reverse();
  const row = rows.find((spot) => spot.top !== from.top)?.top;
  const candidates = spots.map((spot, index) => ({ spot, index })).filter(({ spot }) => spot.top === row);
  if (!candidates.length) return at;
  return candidates.findLast(({ spot }) => spot.column <= from.column)?.index ?? candidates[0].index;
}
