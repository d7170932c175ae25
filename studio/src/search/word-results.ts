// Segments found by a description, with the words that matched; one is shown on the stage and the timeline.

import { LitElement, css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { fetchFigures, frameNumbers, subsample, type Figure } from "../motion/aligned";
import { finished, send, type Answer, type Job } from "../net/api";
import "../page/code-line";
import { counted } from "../page/counts";
import "../page/progress-line";
import { segmentText, type Segment, type Studio } from "../page/studio";
import { sharedStyles } from "../page/style";
import "./figure-loop";

type Found = Answer<"post", "find">;
type FoundSegment = Found["matches"][number];

const SAMPLES = 40; // poses per figure
const CHUNK = 12; // figures per request
const LONGEST = 240; // frames of a figure
const ORIGIN: Record<string, string> = {
  name: "in the name",
  label: "a label",
  caption: "seen in the motion",
  learned: "similar motions",
};

/** Fires "pick" with the segment that is about to be shown. */
@customElement("loom-word-results")
export class WordResults extends LitElement {
  @property({ attribute: false }) studio!: Studio;
  @property() text = "";
  @state() private found: Found | null = null;
  @state() private job: Job | null = null;
  @state() private busy = false;
  @state() private current = -1;
  @state() private figures: (Figure | undefined)[] = [];
  private turn = 0;

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; gap: 8px; grid-template-columns: minmax(0, 1fr); }
    ol { list-style: none; margin: 0; padding: 0; display: grid; gap: 6px; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); }
    @media (max-width: 400px) { ol { grid-template-columns: minmax(0, 1fr); } }
    li { position: relative; background: var(--card); border: 1px solid var(--line); border-radius: 7px; min-width: 0; }
    li.chosen { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
    .open { all: unset; box-sizing: border-box; display: grid; grid-template-columns: 84px minmax(0, 1fr); gap: 8px; width: 100%; cursor: pointer; padding: 4px; }
    .open:focus-visible { outline: 2px solid var(--cool); outline-offset: -3px; border-radius: 6px; }
    loom-figure { height: 92px; }
    .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-weight: 600; padding-right: 74px; }
    .said { overflow-wrap: anywhere; margin: 2px 0; }
    mark { background: color-mix(in srgb, var(--accent) 26%, transparent); color: inherit; border-radius: 3px; padding: 0 1px; font-weight: 600; }
    .like { position: absolute; right: 5px; top: 4px; font-size: 11px; padding: 1px 7px; }
    .faint { font-size: 12px; }
    .empty { padding: 26px 10px; text-align: center; color: var(--faint); line-height: 1.7; }
  `,
  ];

  protected willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("text") && this.text) void this.search();
  }

  private async search(): Promise<void> {
    const turn = ++this.turn;
    const { text } = this;
    this.busy = true;
    this.found = null;
    this.figures = [];
    this.current = -1;
    await this.studio.attempt(async () => {
      try {
        const prepared = await send("post", "find/prepare");
        if (prepared.job) await finished(prepared.job, (job) => turn === this.turn && (this.job = job));
        const found = await send("post", "find", { body: { text } });
        if (turn !== this.turn) return;
        this.found = found;
        if (found.matches.length) await this.loadFigures(found, turn);
      } finally {
        if (turn === this.turn) this.busy = false;
      }
    });
  }

  private async loadFigures({ matches }: Found, turn: number): Promise<void> {
    const onto = { motion: matches[0].motion, frame: matches[0].start_frame };
    for (let at = 0; at < matches.length && turn === this.turn; at += CHUNK) {
      const clips = matches
        .slice(at, at + CHUNK)
        .map((one) => ({
          motion: one.motion,
          frames: subsample(frameNumbers(one.start_frame, Math.min(one.end_frame, one.start_frame + LONGEST)), SAMPLES),
        }));
      const some = await fetchFigures(onto, clips).catch(() => clips.map(() => undefined)); // the text says enough
      if (turn === this.turn) this.figures = [...this.figures, ...some];
    }
  }

  private async show(place: number): Promise<void> {
    const one = this.found?.matches[place];
    if (!one) return;
    const { studio } = this;
    this.current = place;
    await studio.open(one.motion);
    if (this.found?.matches[this.current] !== one || studio.take !== one.motion) return; // another was chosen meanwhile
    this.dispatchEvent(new CustomEvent("pick", { detail: segmentOf(one) }));
    studio.select(segmentOf(one));
    studio.stage.clock.seek(studio.lead!.timeOf(one.start_frame));
    studio.stage.clock.play();
  }

  private readonly key = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
    const last = (this.found?.matches.length ?? 0) - 1;
    const step = steps[event.key];
    if (!step || last < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Math.min(Math.max(this.current + step, 0), last);
    void this.show(next);
    void this.updateComplete.then(() => this.renderRoot.querySelectorAll<HTMLElement>(".open")[next]?.focus());
  };

  private row(one: FoundSegment, place: number) {
    const chosen = place === this.current;
    const origin = one.sources.map((source) => ORIGIN[source] ?? source).join(", ");
    const seconds = (one.end_frame - one.start_frame) / one.fps;
    return html`<li class=${chosen ? "chosen" : ""} data-segment=${segmentText(segmentOf(one))}>
      <button class="open" data-card tabindex=${place === Math.max(this.current, 0) ? 0 : -1} aria-current=${chosen} @click=${() => this.show(place)}>
        <loom-figure aria-hidden="true" .figure=${this.figures[place] ?? null} .ghost=${null} .seconds=${Math.min(seconds, LONGEST / one.fps)}></loom-figure>
        <span><span class="name" style="display:block" title=${one.motion}>${one.motion}</span>
          <span class="faint">${one.whole ? "whole take" : `${one.start_frame}–${one.end_frame}`}, ${seconds.toFixed(1)} s${origin ? ` · ${origin}` : ""}</span>
          <span class="said" style="display:block">${markedText(one.text, one.spans) || one.labels.join(", ")}</span></span></button>
      <button class="like" tabindex=${place === Math.max(this.current, 0) ? 0 : -1} title="Search for segments that move like this one"
        aria-label=${`Search like ${one.motion}`} @click=${() => this.studio.go("search", { query: segmentText(segmentOf(one)) })}>like this</button></li>`;
  }

  render() {
    const { found } = this;
    return html`
      ${this.job ? html`<loom-progress .job=${this.job}></loom-progress>` : nothing}
      <div role="status">${
        found
          ? html`<b id="found">${counted(found.matches.length, "segment")}</b> <span class="faint">in ${(found.seconds * 1000).toFixed(0)} ms</span>`
          : this.busy
            ? "looking…"
            : nothing
      }
        ${Object.entries(found?.unknown ?? {}).map(
          ([word, near]) =>
            html`<div class="faint unknown">No motion is described by “${word}”${near ? html`; “${near}” was used instead` : nothing}.</div>`,
        )}</div>
      <ol aria-label="Found segments" @keydown=${this.key}>${found?.matches.map((one, place) => this.row(one, place))}</ol>
      ${found && !found.matches.length ? html`<div class="empty">No motion matches these words. The search uses names, labels and captions;<br>captions describe walking, turning, kicking, jumping, sitting, waving and similar actions.</div>` : nothing}
      ${found ? html`<loom-code .cli=${found.lines.cli} .python=${found.lines.python}></loom-code>` : nothing}`;
  }
}

function segmentOf(one: FoundSegment): Segment {
  return { motion: one.motion, start: one.start_frame, end: one.end_frame };
}

/** Mark some characters of a string. */
export function markedText(text: string, spans: readonly (readonly number[])[]) {
  if (!text) return "";
  const parts: unknown[] = [];
  let at = 0;
  for (const [start, end] of spans) {
    parts.push(text.slice(at, start), html`<mark>${text.slice(start, end)}</mark>`);
    at = end;
  }
  parts.push(text.slice(at));
  return parts;
}
