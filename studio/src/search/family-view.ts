// Family: what is like the query, what is like that, and so on, as a graph to be clicked.

import { css, html } from "lit";
import { customElement, state } from "lit/decorators.js";
import { finished, getJson, send, type Job } from "../net/api";
import { exportClips } from "./export-bar";
import type { CodeLines, Family, QuerySegment, SearchMenu } from "../net/answers";
import "./family-graph";
import { look } from "../page/style";
import { showMatch } from "./match-overlay";
import "../page/progress-line";
import "./search-form";
import { addressOf, familyBody, settingsOf, DEFAULTS, type Settings } from "./search-settings";
import { fetchFigures, thinned, type Figure } from "../motion/aligned";
import { verdicts } from "./verdicts";
import { View } from "../page/view";

const SAMPLES = 24;
const CHUNK = 40;

@customElement("loom-family-view")
export class FamilyView extends View {
  @state() private menu: SearchMenu | null = null;
  @state() private settings: Settings = { ...DEFAULTS };
  @state() private family: Family | null = null;
  @state() private job: Job | null = null;
  @state() private current = 0;
  @state() private out: ReadonlySet<number> = new Set();
  @state() private figures: (Figure | null)[] = [];
  @state() private moment = 0.5;
  @state() private lines: CodeLines = { cli: "", python: "" };
  /** The settings have changed since the family was grown. */
  @state() private stale = false;
  private grown = "";

  static styles = [
    look,
    css`
    :host { display: grid; gap: 10px; grid-template-columns: minmax(0, 1fr); min-height: 100%; grid-template-rows: auto auto auto minmax(300px, 1fr) auto; }
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
    verdicts.of(this.studio.library.path);
    this.follow("library", () => {
      verdicts.of(this.studio.library.path);
      void this.learn();
    });
    void this.learn();
  }

  /** What can be asked for; labels come and go. */
  private async learn(): Promise<void> {
    try {
      this.menu = await getJson("search/menu");
    } catch (error) {
      this.studio.say(error);
    }
  }

  protected routed(query: Record<string, string>): void {
    const settings = (this.settings = settingsOf(this.studio, query));
    if (settings.query && JSON.stringify(settings) !== this.grown) void this.grow();
  }

  private change(changes: Partial<Settings>): void {
    this.settings = { ...this.settings, ...changes };
    this.stale = JSON.stringify(this.settings) !== this.grown;
    this.studio.note(addressOf(this.settings));
  }

  private async grow(): Promise<void> {
    const settings = this.settings;
    this.grown = JSON.stringify(settings);
    this.stale = false;
    try {
      this.menu ??= await getJson("search/menu");
      const body = familyBody(this.menu, settings);
      const began = performance.now();
      await finished(await send("post", "families/grow", { body }), (job) => (this.job = job));
      const family = await send("post", "families", { body });
      if (JSON.stringify(settings) !== this.grown) return;
      this.family = { ...family, seconds: Math.max((performance.now() - began) / 1000, family.seconds) };
      this.lines = family.lines;
      this.current = 0;
      this.figures = [];
      this.out = new Set(
        family.nodes.flatMap((node, number) => (number && verdicts.verdict(node) === "rejected" ? [number] : [])),
      );
      if (this.out.size) void this.describe();
      await this.draw();
    } catch (error) {
      this.grown = "";
      this.studio.say(error);
    } finally {
      this.job = null;
    }
  }

  private get place(): QuerySegment {
    const { nodes, fps } = this.family!;
    return { ...nodes[0], fps };
  }

  private async draw(): Promise<void> {
    const { nodes } = this.family!;
    const of = this.family;
    const onto = { motion: nodes[0].motion, frame: nodes[0].start_frame };
    for (let at = 0; at < nodes.length; at += CHUNK) {
      const clips = nodes
        .slice(at, at + CHUNK)
        .map((node) => ({ motion: node.motion, frames: thinned(node.frames, SAMPLES) }));
      const figures = await fetchFigures(onto, clips);
      if (of !== this.family) return;
      this.figures = [...this.figures.slice(0, at), ...figures];
    }
  }

  private async choose(number: number): Promise<void> {
    this.current = number;
    const node = this.family!.nodes[number];
    try {
      await showMatch(
        this.studio,
        this.place,
        node,
        node.frames,
        { timing: "query", beside: false },
        () => this.current === number,
      );
    } catch (error) {
      this.studio.say(error);
    }
  }

  private toggle(number: number): void {
    if (!number) return; // the query is always a member
    const out = new Set(this.out);
    if (!out.delete(number)) out.add(number);
    this.out = out;
    void this.describe();
  }

  private get members(): number[] | undefined {
    return this.out.size
      ? this.family!.nodes.map((_, number) => number).filter((number) => !this.out.has(number))
      : undefined;
  }

  private get body() {
    return { ...familyBody(this.menu!, this.settings), members: this.members };
  }

  private async describe(): Promise<void> {
    try {
      this.lines = (await send("post", "families/lines", { body: this.body })).lines;
    } catch (error) {
      this.studio.say(error);
    }
  }

  private async parametrize(): Promise<void> {
    try {
      const { id } = await send("post", "families", { body: this.body });
      this.studio.go("parametric", { family: id });
    } catch (error) {
      this.studio.say(error);
    }
  }

  private async export(): Promise<void> {
    const { nodes, unit } = this.family!;
    const chosen = nodes.filter((_, number) => !this.out.has(number));
    const clips = chosen.map(({ motion, start_frame, end_frame, tier, label, distance_to_query: distance }) => ({
      motion,
      start_frame,
      end_frame,
      tier,
      label,
      distance,
    }));
    try {
      await exportClips(clips, "bvh", unit, { family: this.body });
    } catch (error) {
      this.studio.say(error);
    }
  }

  private bar() {
    const { family, out, current } = this;
    if (!family) return html`<div></div>`;
    const count = family.nodes.length - 1 - out.size;
    return html`<div class="bar"><span role="status"><b id="count">${count}</b> ${count === 1 ? "member" : "members"},
        ${family.edges.length} edges <span class="faint">in ${family.seconds.toFixed(1)} s</span></span>
      <span class="grow"></span>
      <label class="row moment" title="Which moment the figures show"><input id="moment" type="range" min="0" max="1" step="0.02" .value=${String(this.moment)}
        @input=${(event: Event) => (this.moment = Number((event.target as HTMLInputElement).value))} /></label>
      <button id="leave-out" ?disabled=${!current} aria-pressed=${out.has(current)} @click=${() => this.toggle(current)}>
        ${out.has(current) ? "take in again" : "leave out"}</button>
      <button id="export" @click=${this.export}>Export zip</button>
      <button id="parametrize" class="main" ?disabled=${count < 1} title="Make a parametric motion of these members" @click=${this.parametrize}>Parametric →</button></div>`;
  }

  render() {
    const { settings, family } = this;
    const read = (event: Event) => {
      this.change({ query: (event.target as HTMLInputElement).value.trim() });
      void this.grow();
    };
    return html`<div class="query"><label for="query" class="faint">family of</label>
        <input id="query" placeholder="NAME:START-END, or select on the timeline" .value=${settings.query} @change=${read} />
        <button id="grow" class=${this.stale || !family ? "main" : ""} ?disabled=${!settings.query || !!this.job} @click=${this.grow}>Grow</button></div>
      <loom-search-form .menu=${this.menu} .settings=${settings} family .distances=${family?.nodes.slice(1).map((node) => node.distance_to_query) ?? []}
        @settings=${(event: CustomEvent<Partial<Settings>>) => this.change(event.detail)}></loom-search-form>
      <div><loom-progress .job=${this.job}></loom-progress>${this.bar()}</div>
      ${
        family
          ? html`<loom-family-graph .nodes=${family.nodes} .edges=${family.edges} .figures=${this.figures} .colours=${family.tier_colours}
          .unit=${family.unit} .current=${this.current} .out=${this.out} .moment=${this.moment}
          @node=${(event: CustomEvent<number>) => this.choose(event.detail)}></loom-family-graph>`
          : html`<div class="empty">${settings.query ? "" : html`Select a range on the timeline below a take,<br>or type one: <code>kick_front_mid_right_p0:0-70</code>`}</div>`
      }
      ${
        family
          ? html`<div>${
              family.nodes.length < 4
                ? html`<p class="faint">A small family: members must be within
          ${(settings.max_distance ?? 0.08).toPrecision(2)} ${family.unit} of each other. Other performers and freer actions need more.</p>`
                : ""
            }
        <loom-code .cli=${this.lines.cli} .python=${this.lines.python}></loom-code></div>`
          : html`<div></div>`
      }`;
  }
}
