// Act view: turns a written script into a motion. The plan shows the segment for each phrase; you can choose another.

import { css, html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { motionFrom, wornQuery } from "../motion/motion";
import type { ActedScript, PlannedPhrase, ScriptPhrase } from "../net/types";
import { finished, send, sendForArrays, type Job } from "../net/api";
import "../page/code-line";
import { inputValue } from "../page/form-input";
import "../page/progress-line";
import { sharedStyles } from "../page/style";
import "../page/verdict";
import { View } from "../page/view";
import { shortName } from "../search/match-card";
import type { BlockEdits } from "../timeline/block-lane";
import { blocksOf, moved, trimmed, type PhraseBlock, type Script } from "./edits";

const EXAMPLE = "walk forward 3 s, sit down, stand up, kick twice with the right foot";

@customElement("loom-script-view")
export class ScriptView extends View {
  @state() private acted: ActedScript | null = null;
  @state() private job: Job | null = null;
  @state() private busy = false;
  @state() private playing = -1; // row of the plan that is on the stage now
  private instead: Record<number, string> = {};
  private wanted = "";

  @query("textarea") private script!: HTMLTextAreaElement;

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; gap: 10px; align-content: start; grid-template-columns: minmax(0, 1fr); }
    textarea { font: inherit; width: 100%; min-height: 84px; resize: vertical; color: var(--ink); background: var(--well); border: 1px solid var(--line);
      border-radius: 6px; padding: 7px 9px; }
    ol { list-style: none; margin: 0; padding: 0; display: grid; gap: 6px; }
    li { border: 1px solid var(--line); border-left: 3px solid var(--edge); border-radius: 6px; padding: 5px 8px; display: grid; gap: 4px; min-width: 0; }
    li.now { border-left-color: var(--accent); background: color-mix(in srgb, var(--accent) 9%, transparent); }
    li.bridge { border-style: dotted; color: var(--faint); font-size: 12px; }
    li.missing { border-left-color: var(--bad); }
    .top { display: flex; justify-content: space-between; gap: 8px; align-items: baseline; }
    .top b { overflow-wrap: anywhere; }
    .top button { font-size: 11px; padding: 1px 7px; font-variant-numeric: tabular-nums; }
    select { width: 100%; font-size: 12px; min-width: 0; }
    .said { font-size: 12px; overflow-wrap: anywhere; }
    .warn { color: var(--bad); }
    .near { display: flex; flex-wrap: wrap; gap: 4px; } .near button { font-size: 12px; white-space: normal; text-align: left; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.listen(this.studio.stage, "frame", () => this.follow());
  }

  /** Query: script, and instead: the segments chosen for phrases, as a JSON object by phrase number. */
  protected routeChanged(query: Record<string, string>): void {
    const { script = "", instead = "{}" } = query;
    const wanted = `${script}\n${instead}`;
    const shown = this.studio.stage.characters.length && this.studio.subject?.body().kind === "act";
    if (!script || (wanted === this.wanted && shown)) return;
    this.wanted = wanted;
    this.instead = parsed(instead);
    void this.updateComplete.then(() => (this.script.value = script));
    void this.act(script);
  }

  private async act(script: string): Promise<void> {
    const turn = this.turns.begin("script");
    const { signal } = turn;
    this.busy = true;
    await this.studio.attempt(async () => {
      try {
        const job = await send("post", "act", { body: { script, instead: this.instead }, signal });
        const acted = await finished(job, (now) => (this.job = now), signal);
        this.acted = acted;
        if (acted.plan.length) await this.show(acted, signal);
        else this.studio.show([]);
      } catch (error) {
        if (turn.current) this.wanted = ""; // allows the same script to run again
        throw error;
      }
    });
    if (turn.current) this.busy = false;
  }

  /** What can be done with the blocks on the timeline. */
  private edits(blocks: PhraseBlock[]): BlockEdits {
    const script = (): Script => ({ phrases: this.acted!.phrases.map((one) => one.text), instead: this.instead });
    const frames = (take: string) => this.studio.library.motions.find((row) => row.name === take)?.frames ?? Infinity;
    return {
      move: (block, before) => {
        const next = blocks.slice(before).find((one) => !one.bridge);
        this.edited(moved(script(), blocks[block].number, next?.number ?? this.acted!.phrases.length));
      },
      trim: (block, start, end) => this.edited(trimmed(script(), blocks[block], [start, end], frames)),
      exchange: (block, segment) => this.choose(blocks[block].number, segment),
    };
  }

  /** Act a script that was edited on the timeline. */
  private edited({ phrases, instead }: Script): void {
    this.script.value = phrases.join(", ");
    this.go(instead);
  }

  private async show({ script, lines }: ActedScript, signal: AbortSignal): Promise<void> {
    const motion = motionFrom(await sendForArrays("act/motion", { body: { script }, query: wornQuery(), signal }));
    const blocks = blocksOf(this.acted!, this.instead);
    const { clock } = this.studio.stage;
    const again = this.studio.subject?.body().kind === "act"; // edited: go on where it was
    const time = again ? Math.min(clock.time, motion.frames / motion.fps) : 0;
    this.studio.show([{ motion, title: "script" }], null, {
      title: "acted script",
      body: () => ({ kind: "act", script }),
      quality: this.acted?.quality,
      blocks,
      edit: this.edits(blocks),
      cli: lines.cli,
      python: lines.python,
    });
    clock.seek(time);
    clock.play();
  }

  protected characterChanged(): void {
    const { acted } = this;
    if (acted?.plan.length) void this.studio.attempt(() => this.show(acted, this.turns.begin("script").signal));
  }

  private follow(): void {
    const { time } = this.studio.stage.clock;
    const rows = this.acted?.plan ?? [];
    const now = rows.findIndex((row) => time >= row.start && time < row.end);
    if (now !== this.playing) this.playing = now;
  }

  private go(instead: Script["instead"]): void {
    const script = this.script.value.trim();
    if (!script) return;
    const chosen = Object.keys(instead).length ? JSON.stringify(instead) : undefined;
    this.wanted = ""; // act again even if the address stays the same
    this.studio.go("script", { script, instead: chosen });
  }

  /** Act the current script; choices are only valid for the script they were made for. */
  private readonly submit = (event?: Event): void => {
    event?.preventDefault();
    this.go(this.script.value.trim() === this.studio.route.query.script ? this.instead : {});
  };

  private choose(number: number, segment: string): void {
    const instead = { ...this.instead, [number]: segment };
    if (!segment) delete instead[number];
    this.script.value = this.studio.route.query.script ?? this.script.value; // the script that the plan is of
    this.go(instead);
  }

  /** Replace a phrase that no motion shows with one that the library contains. */
  private replace(text: string, near: string): void {
    this.script.value = this.script.value.replace(text, near.replace(/[,;.]/g, ""));
    this.go({});
  }

  private phraseOf(row: PlannedPhrase): ScriptPhrase | undefined {
    return this.acted!.phrases[row.number];
  }

  private readonly key = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.submit();
  };

  private row(row: PlannedPhrase, place: number) {
    const { clock } = this.studio.stage;
    const phrase = this.phraseOf(row);
    const seek = html`<button title="Play from here" aria-label=${`Play ${phrase?.text ?? "the bridge"}`} @click=${() => {
      clock.seek(row.start);
      clock.play();
    }}>${row.start.toFixed(1)}–${row.end.toFixed(1)} s</button>`;
    const now = place === this.playing ? "now" : "";
    if (!phrase)
      return html`<li class="bridge ${now}"><div class="top"><span>bridge: ${row.text} <span title=${row.segment}>(${shortName(row.segment, 30)})</span></span>${seek}</div></li>`;
    const first = this.acted!.plan.findIndex((one) => one.number === row.number) === place;
    return html`<li class=${now}><div class="top"><b>${phrase.text}</b>${seek}</div>
      ${first ? this.options(row, phrase) : html`<span class="said faint">${row.segment}</span>`}
      <span class="said faint">${row.text}${row.seam > 0 ? ` · seam ${row.seam.toFixed(2)}` : ""}</span></li>`;
  }

  /** Candidate segments for a phrase. */
  private options(row: PlannedPhrase, phrase: ScriptPhrase) {
    const chosen = this.instead[row.number] ?? "";
    return html`<select aria-label=${`Segment for ${phrase.text}`} ?disabled=${this.busy} @change=${(event: Event) => this.choose(row.number, inputValue(event))}>
      <option value="" ?selected=${!chosen}>${chosen ? "chosen automatically" : `${row.segment} (automatic)`}</option>
      ${phrase.options.map((one) => html`<option value=${one.segment} ?selected=${one.segment === chosen}>${one.segment}: ${one.text} (${Math.round(100 * one.match)} %)</option>`)}</select>`;
  }

  private missing(phrase: ScriptPhrase) {
    if (phrase.options.length)
      return html`<li><div class="top"><b>${phrase.text}</b><span class="faint">${phrase.options.length} found</span></div></li>`;
    return html`<li class="missing"><b>${phrase.text}</b><span class="warn">No motion in this library shows this.</span>
      ${
        phrase.near.length
          ? html`<span class="said faint">Similar phrases:</span><span class="near">${phrase.near.map(
              (near) =>
                html`<button title="Use this phrase in the script instead" @click=${() => this.replace(phrase.text, near)}>${near}</button>`,
            )}</span>`
          : html`<span class="said faint">No similar phrases were found. Try other words, or label a segment with these words.</span>`
      }</li>`;
  }

  render() {
    const { acted } = this;
    return html`<h2>Act out a script</h2>
      <form @submit=${this.submit}>
        <label class="faint" for="script">Phrases, separated by commas, such as “walk 3 s”, “wave while walking” or “kick twice”; TAKE:START-END also works.</label>
        <textarea id="script" placeholder=${EXAMPLE} @keydown=${this.key}></textarea>
        <div class="row"><button id="act" class="main" ?disabled=${this.busy} title="Ctrl+Enter">Act</button>
          ${this.script?.value ? nothing : html`<button type="button" id="example" @click=${() => (this.script.value = EXAMPLE)}>example</button>`}
          <span class="faint" role="status">${this.busy && !this.job ? "acting…" : nothing}</span></div></form>
      ${this.job ? html`<loom-progress .job=${this.job}></loom-progress>` : nothing}
      ${
        acted
          ? html`<ol id="plan" aria-label="Plan">${acted.plan.length ? acted.plan.map((row, place) => this.row(row, place)) : acted.phrases.map((phrase) => this.missing(phrase))}</ol>
        <loom-verdict .studio=${this.studio} .quality=${acted.quality}></loom-verdict>
        ${acted.plan.length ? html`<loom-code .cli=${acted.lines.cli} .python=${acted.lines.python}></loom-code>` : nothing}`
          : nothing
      }`;
  }
}

/** Segments by numbers of phrases, from the address. */
function parsed(text: string): Record<number, string> {
  try {
    const given: unknown = JSON.parse(text);
    return Object.fromEntries(
      Object.entries(given as object).filter(
        ([number, segment]) => /^\d+$/.test(number) && typeof segment === "string",
      ),
    );
  } catch {
    return {};
  }
}
