// Captions and labeled segments of the take, below the strips of the timeline and on the same time axis.

import { LitElement, css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import type { Answer } from "../net/api";
import { sharedStyles } from "../page/style";
import type { TimeAxis } from "./time-axis";

export type MotionWords = Answer<"get", "motions/{name}/words">;

/** A caption or a label of frames [start_frame, end_frame). */
export interface Said {
  start_frame: number;
  end_frame: number;
  text: string;
  kind: "caption" | "label";
}

const LANE = 19; // pixels
const SHOWN = 4; // lanes before they scroll
const GAP = 2; // pixels between neighbors
const READABLE = 44; // pixels from which a caption shows its words; a letter or two say nothing

/** Fires "choose" with the clicked entry. */
@customElement("loom-caption-lanes")
export class CaptionLanes extends LitElement {
  @property({ attribute: false }) words: MotionWords | null = null;
  @property({ attribute: false }) axis!: TimeAxis;
  /** Start and end of the axis; a change triggers a redraw. */
  @property({ attribute: false }) span = "";
  @property({ type: Number }) width = 0;
  @property({ attribute: false }) timeOf: (frame: number) => number = () => 0;
  @property({ attribute: false }) chosen: Said | null = null;
  @state() private stop = 0; // the entry at which the Tab key stops

  static styles = [
    sharedStyles,
    css`
    :host { display: block; position: relative; }
    .lanes { position: relative; overflow: hidden auto; }
    button { position: absolute; height: ${LANE - 2}px; padding: 0 5px; font-size: 11px; line-height: ${LANE - 4}px; text-align: left; overflow: hidden;
      text-overflow: ellipsis; border-radius: 4px; min-width: 3px; background: var(--raised); }
    button:hover, button:focus-visible { z-index: 1; }
    .label { background: color-mix(in srgb, var(--accent) 20%, var(--panel)); border-color: var(--accent); font-weight: 600; }
    .chosen { border-color: var(--cool); box-shadow: 0 0 0 1px var(--cool); }
    .names { position: absolute; left: 0; top: 2px; font-size: 11px; text-align: right; color: var(--faint); }
    .why { font-size: 12px; padding: 2px 0; }
  `,
  ];

  /** Labels first, then captions, each in order of time. */
  private get entries(): Said[] {
    const { labels = [], captions = [] } = this.words ?? {};
    return [
      ...labels.map((one) => ({ ...one, kind: "label" as const })),
      ...captions.map((one) => ({ ...one, kind: "caption" as const })),
    ];
  }

  private readonly key = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    this.stop = Math.min(Math.max(this.stop + step, 0), this.entries.length - 1);
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector<HTMLElement>(`[data-entry="${this.stop}"]`)?.focus(),
    );
  };

  private choose(one: Said, entry: number): void {
    this.stop = entry;
    this.dispatchEvent(new CustomEvent("choose", { detail: one }));
  }

  render() {
    const { words, entries, axis, width } = this;
    if (!words || !width) return nothing;
    if (!entries.length)
      return html`<div class="why faint">${words.reason ? `No captions: ${words.reason}` : "No captions: the rules did not find any events."}</div>`;
    const lanes = lanesOf(entries);
    const count = Math.max(...lanes) + 1;
    return html`<div class="lanes" role="group" aria-label="Captions and labeled segments" @keydown=${this.key}
      style="height:${Math.min(count, SHOWN) * LANE}px"><span class="names" style="width:${axis.gutter - 8}px">words</span>
      ${entries.map((one, entry) => {
        const left = Math.max(axis.x(this.timeOf(one.start_frame), width), axis.gutter);
        const right = Math.min(axis.x(this.timeOf(one.end_frame), width), width);
        if (right <= axis.gutter || left >= width) return nothing; // outside the visible range
        const chosen = this.chosen && same(this.chosen, one);
        return html`<button class="${one.kind} ${chosen ? "chosen" : ""}" data-entry=${entry} tabindex=${entry === this.stop ? 0 : -1}
          aria-pressed=${chosen ? "true" : "false"} aria-label=${one.text} title=${one.text} style="left:${left}px; width:${Math.max(right - left - GAP, 3)}px; top:${lanes[entry] * LANE}px"
          @click=${() => this.choose(one, entry)}>${right - left < READABLE ? "" : one.text}</button>`;
      })}</div>`;
  }
}

function same(a: Said, b: Said): boolean {
  return a.kind === b.kind && a.text === b.text && a.start_frame === b.start_frame && a.end_frame === b.end_frame;
}

/** The lane of each entry: the first that is free, labels above captions. */
export function lanesOf(entries: readonly Pick<Said, "start_frame" | "end_frame" | "kind">[]): number[] {
  const ends: number[] = [];
  let first = 0; // lane of the first caption
  return entries.map(({ start_frame, end_frame, kind }) => {
    if (kind === "label") first = ends.length;
    let lane = kind === "label" ? 0 : first;
    while (lane < ends.length && ends[lane] > start_frame) lane++;
    ends[lane] = end_frame;
    if (kind === "label") first = ends.length;
    return lane;
  });
}
