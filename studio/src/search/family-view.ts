// Family view: the match graph of a query.

import { css, html } from "lit";
import { customElement, state } from "lit/decorators.js";
import { fetchFigures, subsample, type Figure } from "../motion/aligned";
import type { CodeLines, Family, QuerySegment, SearchMenu } from "../net/types";
import { finished, getJson, send, type Job } from "../net/api";
import { inputValue } from "../page/form-input";
import "../page/progress-line";
import { segmentText } from "../page/studio";
import { sharedStyles } from "../page/style";
import "../page/take-picker";
import { View } from "../page/view";
import type { Given } from "../settings/fields";
import { exportClips } from "./export-bar";
import "./family-graph";
import { showMatch } from "./match-overlay";
import "./search-form";
import { addressOf, changed, requestBody, settingsFrom, settingsOf, type Settings } from "./search-settings";
import { verdicts } from "./verdicts";

const SAMPLES = 24;
const CHUNK = 40;

@customElement("loom-family-view")
export class FamilyView extends View {
  @state() private menu: SearchMenu | null = null;
  @state() private settings: Settings = settingsFrom("family");
  @state() private family: Family | null = null;
  @state() private job: Job | null = null;
  @state() private current = 0;
  @state() private excluded: ReadonlySet<number> = new Set();
  @state() private figures: (Figure | null)[] = [];
  @state() private moment = 0.5;
  @state() private lines: CodeLines = { cli: "", python: "" };
  /** Whether the settings have changed since the family was computed. */
  @state() private stale = false;
  private computed = "";

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; gap: 10px; grid-template-columns: minmax(0, 1fr); min-height: 100%; grid-template-rows: auto auto auto auto minmax(300px, 1fr) auto; }
    .query { display: flex; gap: 8px; align-items: center; flex-wrap: wrap; }
    .query input { flex: 1; font: 13px ui-monospace, monospace; min-width: 200px; }
    loom-family-graph { min-height: 300px; height: 100%; }
    .bar { display: flex; gap: 10px; align-items: center; flex-wrap: wrap; }
    .bar .grow { flex: 1; }
    .empty { padding: 26px 10px; text-align: center; color: var(--faint); align-self: center; line-height: 1.7; }
    .moment { width: 90px; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["library"], () => void this.loadMenu());
    void this.loadMenu();
  }

  /** Load the menu of methods, features, distances and labels. */
  private async loadMenu(): Promise<void> {
    const { signal } = this.turns.begin("menu");
    await this.studio.attempt(async () => (this.menu = await getJson("search/menu", { signal })));
  }

  protected routeChanged(query: Record<string, string>): void {
    const settings = (this.settings = settingsOf("family", this.studio, query));
    if (settings.query && JSON.stringify(settings) !== this.computed) void this.compute();
  }

  private change(changes: Given): void {
    this.settings = changed("family", this.settings, changes);
    this.stale = JSON.stringify(this.settings) !== this.computed;
    this.studio.replaceQuery(addressOf("family", this.settings));
  }

  private async compute(): Promise<void> {
    const settings = this.settings;
    this.computed = JSON.stringify(settings);
    this.stale = false;
    const turn = this.turns.begin("family");
    const { signal } = turn;
    this.turns.end("match"); // of the family before
    await this.studio.attempt(async () => {
      const body = requestBody("family", settings);
      const began = performance.now();
      try {
        await finished(await send("post", "families/grow", { body, signal }), (job) => (this.job = job), signal);
      } catch (error) {
        if (turn.current) this.computed = ""; // allows another attempt
        throw error;
      }
      const family = await send("post", "families", { body, signal });
      verdicts.open(this.studio.library.id, settings.query);
      this.family = { ...family, seconds: Math.max((performance.now() - began) / 1000, family.seconds) };
      this.lines = family.lines;
      this.current = 0;
      this.figures = [];
      this.excluded = new Set(
        family.nodes.flatMap((node, number) => (number && verdicts.verdict(node) === "rejected" ? [number] : [])),
      );
      if (this.excluded.size) void this.describe();
      await this.draw(signal);
    });
  }

  private get querySegment(): QuerySegment {
    const { nodes, fps } = this.family!;
    return { ...nodes[0], fps };
  }

  private async draw(signal: AbortSignal): Promise<void> {
    const { nodes } = this.family!;
    const onto = { motion: nodes[0].motion, frame: nodes[0].start_frame };
    for (let at = 0; at < nodes.length; at += CHUNK) {
      const clips = nodes
        .slice(at, at + CHUNK)
        .map((node) => ({ motion: node.motion, frames: subsample(node.frames, SAMPLES) }));
      const figures = await fetchFigures(onto, clips, signal);
      this.figures = [...this.figures.slice(0, at), ...figures];
    }
  }

  private async choose(number: number): Promise<void> {
    this.current = number;
    const node = this.family!.nodes[number];
    const { signal } = this.turns.begin("match");
    await this.studio.attempt(() =>
      showMatch(this.studio, this.querySegment, node, node.frames, { timing: "query", sideBySide: false }, signal),
    );
  }

  private toggle(number: number): void {
    if (!number) return; // the query is always a member
    const excluded = new Set(this.excluded);
    if (!excluded.delete(number)) excluded.add(number);
    this.excluded = excluded;
    void this.describe();
  }

  private get members(): number[] | undefined {
    return this.excluded.size
      ? this.family!.nodes.map((_, number) => number).filter((number) => !this.excluded.has(number))
      : undefined;
  }

  private get body() {
    return { ...requestBody("family", this.settings), members: this.members };
  }

  private async describe(): Promise<void> {
    const { signal } = this.turns.begin("lines");
    await this.studio.attempt(async () => {
      this.lines = (await send("post", "families/lines", { body: this.body, signal })).lines;
    });
  }

  private async parametrize(): Promise<void> {
    const { signal } = this.turns.begin("aim");
    await this.studio.attempt(async () => {
      const { id } = await send("post", "families", { body: this.body, signal });
      this.studio.go("aim", { family: id });
    });
  }

  private async export(): Promise<void> {
    const { nodes, unit } = this.family!;
    const chosen = nodes.filter((_, number) => !this.excluded.has(number));
    const clips = chosen.map(({ motion, start_frame, end_frame, tier, label, distance_to_query: distance }) => ({
      motion,
      start_frame,
      end_frame,
      tier,
      label,
      distance,
    }));
    await this.studio.attempt(() => exportClips(clips, "bvh", unit, { family: this.body }));
  }

  private bar() {
    const { family, excluded, current } = this;
    if (!family) return html`<div></div>`;
    const count = family.nodes.length - 1 - excluded.size;
    return html`<div class="bar"><span role="status"><b id="count">${count}</b> ${count === 1 ? "member" : "members"},
        ${family.edges.length} edges <span class="faint">in ${family.seconds.toFixed(1)} s</span></span>
      <span class="grow"></span>
      <label class="row moment" title="Moment shown by the figures"><input id="moment" type="range" min="0" max="1" step="0.02" .value=${String(this.moment)}
        @input=${(event: Event) => (this.moment = Number(inputValue(event)))} /></label>
      <button id="leave-out" ?disabled=${!current} aria-pressed=${excluded.has(current)} @click=${() => this.toggle(current)}>
        ${excluded.has(current) ? "include again" : "exclude"}</button>
      <button id="export" @click=${this.export}>Export zip</button>
      <button id="parametrize" class="main" ?disabled=${count < 1} title="Make a parametric motion from these members" @click=${this.parametrize}>Aim →</button></div>`;
  }

  render() {
    const { settings, family } = this;
    const read = (event: Event) => {
      this.change({ query: inputValue(event).trim() });
      void this.compute();
    };
    const pick = ({ detail: [name] }: CustomEvent<string[]>) => {
      const { frames } = this.studio.library.motions.find((row) => row.name === name)!;
      this.change({ query: segmentText({ motion: name, start: 0, end: frames }) });
      void this.compute();
    };
    return html`<div class="query"><label for="query" class="faint">family of</label>
        <input id="query" placeholder="NAME:START-END, or select on the timeline" .value=${settings.query} @change=${read} />
        <button id="grow" class=${this.stale || !family ? "main" : ""} ?disabled=${!settings.query || !!this.job} @click=${this.compute}>Find family</button></div>
      <loom-take-picker one .studio=${this.studio} .names=${settings.query} label="a whole take" @takes=${pick}></loom-take-picker>
      <loom-search-form .studio=${this.studio} .menu=${this.menu} .settings=${settings} family .chosen=${family?.sweep ? family.join_distance : null} .distances=${family?.nodes.slice(1).map((node) => node.distance_to_query) ?? []}
        @settings=${(event: CustomEvent<Given>) => this.change(event.detail)}></loom-search-form>
      <div><loom-progress .job=${this.job}></loom-progress>${this.bar()}</div>
      ${
        family
          ? html`<loom-family-graph .nodes=${family.nodes} .edges=${family.edges} .figures=${this.figures} .colors=${family.tier_colors}
          .unit=${family.unit} .current=${this.current} .excluded=${this.excluded} .moment=${this.moment}
          @node=${(event: CustomEvent<number>) => this.choose(event.detail)}></loom-family-graph>`
          : html`<div class="empty">${settings.query ? "" : html`Select a segment on the timeline,<br>choose a whole take, or enter a segment: <code>kick_front_mid_right_p0:0-70</code>`}</div>`
      }
      ${
        family
          ? html`<div>${
              family.nodes.length < 4
                ? html`<p class="faint">This family is small: its members are within
          ${(family.join_distance ?? 0.08).toPrecision(2)} ${family.unit} of each other. Increase the maximum distance to include other performers and less similar actions.</p>`
                : ""
            }
        <loom-code .cli=${this.lines.cli} .python=${this.lines.python}></loom-code></div>`
          : html`<div></div>`
      }`;
  }
}
