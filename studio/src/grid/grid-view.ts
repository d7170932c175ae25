// Grid view: distances between all frames of two motions; a click shows both poses.

import { css, html } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { frameNumbers, fetchAligned } from "../motion/aligned";
import type { CodeLines, Match, SearchMenu } from "../net/types";
import { getArrays, getJson } from "../net/api";
import { Latest } from "../net/live";
import { inputValue } from "../page/form-input";
import { segmentText } from "../page/studio";
import { measureChoices } from "../page/measure-names";
import { sharedStyles } from "../page/style";
import "../page/take-picker";
import { View } from "../page/view";
import { distanceText } from "../search/match-card";
import { MATCH_COLOR, QUERY_COLOR, showMatch } from "../search/match-overlay";
import "./grid-map";
import type { Cell, GridData, GridMap, Layer, Lines } from "./grid-map";
import { colorAt } from "./heat-map";

interface Paths extends Lines {
  distances: Float32Array;
}
interface GridQuery {
  a: string;
  b: string;
  distance: string;
}

const LAYERS = [
  ["minima", "minima", "#7dfaff"],
  ["region", "region", "#4f9fd8"],
  ["chains", "chains", "#3fe0b0"],
  ["bridges", "bridges", "#8fb7ff"],
  ["matches", "matches", "#ff5fc4"],
  ["path", "DTW paths", "#ffffff"],
] as const;
type LayerName = (typeof LAYERS)[number][0];
const AROUND = 15; // frames before and after a clicked one that can be played
const MANY = 300; // number of chains above which lines are thin
const DEFAULT_THRESHOLD = 0.08; // meters per cell, as for families

@customElement("loom-grid-view")
export class GridView extends View {
  @state() private request: GridQuery = { a: "", b: "", distance: "pc11" };
  @state() private menu: SearchMenu | null = null;
  @state() private data: GridData | null = null;
  @state() private marks: Uint8Array | null = null;
  @state() private web: { chains: Lines; bridges: Lines; matches: Paths } | null = null;
  @state() private dtw: Paths | null = null;
  @state() private dtwMatches: Match[] = [];
  @state() private on: ReadonlySet<LayerName> = new Set<LayerName>(["chains", "bridges", "path"]);
  @state() private threshold: number | null = DEFAULT_THRESHOLD;
  @state() private chosen: Cell | null = null;
  @state() private busy = false;
  @state() private lines: CodeLines = { cli: "", python: "" };
  /** Whether the poses follow the pointer. */
  @state() private live = false;
  @state() private whole: { chains: number; bridges: number } | null = null;
  private readonly posing = new Latest<Cell>((cell) => this.pose(cell));
  private readonly describing = new Latest<GridQuery & { max_distance?: number }>(
    async (query) => (this.lines = await getJson("grid/lines", { query, signal: this.turns.begin("lines").signal })),
  );

  @query("loom-grid-map") private map!: GridMap | null;

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; gap: 8px; grid-template-columns: minmax(0, 1fr); min-height: 100%; grid-template-rows: auto auto minmax(300px, 1fr) auto auto; }
    .row { align-items: start; }
    .row > label, .side { flex: 1; min-width: 150px; }
    .side { display: grid; grid-template-columns: minmax(0, 1fr); gap: 4px; }
    details summary { cursor: pointer; color: var(--faint); font-size: 12px; }
    .row label span { font-size: 12px; color: var(--faint); }
    .row input:not([type="range"]), .row select { width: 100%; }
    input.name { font: 13px ui-monospace, monospace; }
    .layers { display: flex; gap: 6px; flex-wrap: wrap; align-items: center; }
    .layers button { padding: 2px 9px; font-size: 12px; }
    .layers i { display: inline-block; width: 12px; height: 4px; border-radius: 2px; margin-right: 6px; vertical-align: middle; }
    .layers .grow { flex: 1; }
    loom-grid-map { min-height: 300px; }
    .legend { display: grid; grid-template-columns: auto 1fr auto; gap: 3px 8px; align-items: center; font-size: 12px; }
    .legend .bar { height: 10px; border-radius: 3px; position: relative; }
    .legend input { grid-column: 2; }
    .chips { display: flex; gap: 5px; overflow-x: auto; padding-bottom: 3px; }
    .chips button { white-space: nowrap; font-size: 12px; padding: 2px 8px; }
    .small { font-size: 12px; margin: 5px 0; }
    .empty { align-self: center; text-align: center; color: var(--faint); line-height: 1.7; }
  `,
  ];

  protected routeChanged(query: Record<string, string>): void {
    const { selection, take } = this.studio;
    const a = query.a || (selection ? segmentText(selection) : "") || take || "";
    const next = { a, b: query.b || a.replace(/:\d+-\d+$/, ""), distance: query.distance || "pc11" };
    if (query.layers !== undefined)
      this.on = new Set(LAYERS.map(([name]) => name).filter((name) => query.layers.split(".").includes(name)));
    if (query.max_distance) this.threshold = query.max_distance === "any" ? null : Number(query.max_distance);
    const at = /^(\d+),(\d+)$/.exec(query.at ?? "");
    this.chosen = at ? { row: Number(at[1]), column: Number(at[2]) } : null;
    if (JSON.stringify(next) === JSON.stringify(this.request) && this.data) return;
    this.request = next;
    if (!a) return;
    if (!query.a) this.storeState(); // so that a reload shows the same
    void this.load();
  }

  private storeState(): void {
    const { chosen, threshold } = this;
    this.studio.replaceQuery({
      ...this.request,
      distance: this.request.distance === "pc11" ? undefined : this.request.distance,
      max_distance:
        threshold === null ? "any" : threshold === DEFAULT_THRESHOLD ? undefined : Number(threshold.toPrecision(4)),
      layers: [...this.on].join(".") || "none",
      at: chosen ? `${chosen.row},${chosen.column}` : undefined,
    });
  }

  private change(changes: Partial<GridQuery>): void {
    this.request = { ...this.request, ...changes };
    this.chosen = null;
    this.storeState();
    if (this.request.a && this.request.b) void this.load();
  }

  private async load(): Promise<void> {
    const turn = this.turns.begin("grid");
    const { signal } = turn;
    this.turns.end("layers"); // of the grid before
    const query = { ...this.request };
    this.busy = true;
    try {
      this.menu ??= await getJson("search/menu", { signal });
      const { meta, arrays, shapes } = await getArrays("grid", { query, signal });
      const [rows, columns] = shapes.cells;
      this.marks = this.web = this.dtw = this.whole = null;
      this.dtwMatches = [];
      this.data = {
        ...meta,
        rows,
        columns,
        cells: arrays.cells as Uint8Array,
        sides: { rows: meta.rows, columns: meta.columns },
      };
      if (this.data.unit !== "m" && this.threshold === DEFAULT_THRESHOLD) this.threshold = null; // the default is in meters
      this.lines = meta.lines;
      this.describe();
      await this.updateComplete;
      if (this.chosen) this.posing.submit(this.chosen);
      await this.loadLayers();
    } catch (error) {
      if (turn.current) this.studio.notify(error);
    } finally {
      if (turn.current) this.busy = false;
    }
  }

  /** Load the data of the visible layers. */
  private async loadLayers(): Promise<void> {
    const { signal } = this.turns.begin("layers");
    const { on, request: query } = this;
    const is = (...names: LayerName[]) => names.some((name) => on.has(name));
    await this.studio.attempt(async () => {
      if (is("path") && !this.dtw) {
        const { meta, arrays } = await getArrays("grid/paths", { query, signal });
        this.dtw = linesFrom(arrays, 0, meta.matches.length);
        this.dtwMatches = meta.matches;
      }
      if (is("minima", "region") && !this.marks) {
        const { arrays } = await getArrays("grid/marks", { query, signal });
        this.marks = arrays.marks as Uint8Array;
      }
      if (is("chains", "bridges", "matches") && !this.web) {
        const { meta, arrays } = await getArrays("grid/web", { query, signal });
        const { chains, bridges, matches } = meta;
        this.whole = meta.whole;
        this.web = {
          chains: linesFrom(arrays, 0, chains),
          bridges: linesFrom(arrays, chains, chains + bridges),
          matches: linesFrom(arrays, chains + bridges, chains + bridges + matches),
        };
      }
    });
  }

  private describe(): void {
    // The command's default is 0.08, so no threshold must be written as the highest distance.
    this.describing.submit({
      ...this.request,
      max_distance: this.threshold === DEFAULT_THRESHOLD ? undefined : (this.threshold ?? this.data!.high),
    });
  }

  private toggle(name: LayerName): void {
    const on = new Set(this.on);
    if (!on.delete(name)) on.add(name);
    this.on = on;
    this.storeState();
    void this.loadLayers();
  }

  private limit(event: Event): void {
    const value = Number(inputValue(event));
    this.threshold = value >= this.data!.high * 0.999 ? null : value;
    this.storeState();
    this.describe();
  }

  /** The lines with a distance within the threshold. */
  private near(paths: Paths): Lines[] {
    const limit = this.threshold ?? Infinity;
    return Array.from(paths.distances, (far, k) => ({ far, k }))
      .filter(({ far }) => far <= limit)
      .map(({ k }) => ({ ...paths, from: paths.from + k, to: paths.from + k + 1 }));
  }

  private get layers(): Layer[] {
    const { web, dtw, on } = this;
    const layers: Layer[] = [];
    const color = (name: LayerName) => LAYERS.find((one) => one[0] === name)![2];
    if (web && on.has("matches"))
      layers.push(...this.near(web.matches).map((lines) => ({ lines, color: color("matches"), width: 6, glow: true })));
    const thin = web !== null && web.chains.to > MANY; // whole takes have many lines
    if (web && on.has("bridges"))
      layers.push({ lines: web.bridges, color: color("bridges"), width: thin ? 0.7 : 1.4, thin });
    if (web && on.has("chains"))
      layers.push({ lines: web.chains, color: color("chains"), width: thin ? 1.3 : 2, thin });
    if (dtw && on.has("path"))
      layers.push(...this.near(dtw).map((lines) => ({ lines, color: color("path"), width: 2.4 })));
    return layers;
  }

  private choose(cell: Cell): void {
    this.chosen = cell;
    this.storeState();
    this.posing.submit(cell);
  }

  /** Show both poses, aligned, with a few frames before and after. */
  private async pose({ row, column }: Cell): Promise<void> {
    const { rows, columns } = this.data!.sides;
    const moments = [
      { motion: rows.motion, frame: this.map!.frame("rows", row), frames: rows.frames, fps: rows.fps },
      { motion: columns.motion, frame: this.map!.frame("columns", column), frames: columns.frames, fps: columns.fps },
    ];
    await this.studio.attempt(async () => {
      const clips = moments.map(({ motion, frame, frames }) => {
        const first = Math.max(frame - AROUND, 0);
        return { motion, frames: frameNumbers(first, Math.min(frame + AROUND + 1, frames)), anchor: frame - first };
      });
      const { signal } = this.turns.begin("pose");
      const onto = { motion: moments[0].motion, frame: moments[0].frame };
      const shown = await fetchAligned(onto, clips, undefined, signal);
      this.studio.show(
        shown.map((motion, k) => ({
          motion,
          color: [QUERY_COLOR, MATCH_COLOR][k],
          title: `${motion.name} ${moments[k].frame}`,
          at: -clips[k].anchor / motion.fps,
        })),
      );
      this.studio.stage.clock.pause();
      this.studio.stage.clock.seek(0);
    });
  }

  /** Play the match of a DTW path in sync with the query, overlaid on it. */
  private play(match: Match, number: number): void {
    const { rows } = this.data!.sides;
    const { cells, offsets, from } = this.dtw!;
    const pairs = Array.from(
      { length: offsets[from + number + 1] - offsets[from + number] },
      (_, k) => (offsets[from + number] + k) * 2,
    );
    const count = this.data!.rows;
    const frames = new Array<number>(count).fill(match.start_frame);
    for (const at of pairs)
      frames[Math.min(Math.round(cells[at]), count - 1)] = this.map!.frame("columns", cells[at + 1]);
    this.map?.look(
      { row: cells[pairs[0]], column: cells[pairs[0] + 1] },
      { row: cells[pairs.at(-1)!], column: cells[pairs.at(-1)! + 1] },
    );
    const first = this.map!.frame("rows", 0);
    const query = {
      motion: rows.motion,
      start_frame: first,
      end_frame: this.map!.frame("rows", count - 1) + 1,
      fps: rows.fps,
    };
    const { signal } = this.turns.begin("pose");
    void this.studio.attempt(() =>
      showMatch(this.studio, query, match, frames, { timing: "query", sideBySide: false }, signal),
    );
  }

  private form() {
    const { request, menu } = this;
    const typed = (key: keyof GridQuery) => (event: Event) => this.change({ [key]: inputValue(event).trim() });
    const side = (key: "a" | "b", title: string, hint: string) => html`<div class="side">
      <label><span>${title}</span><input id=${key} class="name" placeholder=${hint} .value=${request[key]} @change=${typed(key)} /></label>
      <loom-take-picker one .studio=${this.studio} .names=${request[key]} label=${title}
        @takes=${({ detail: [name] }: CustomEvent<string[]>) => this.change({ [key]: name, ...(!request.b && { b: name }) })}></loom-take-picker></div>`;
    const measures = measureChoices(menu?.distances ?? [], menu?.features ?? []);
    return html`<div class="row">
      ${side("a", "rows", "NAME or NAME:START-END")}
      ${side("b", "columns", "any take")}
      <div class="side" style="flex: 0.5; min-width: 90px"><label><span>distance</span><select id="distance" @change=${typed("distance")}>
        ${Object.entries(measures).map(([code, words]) => html`<option .value=${code} ?selected=${code === request.distance}>${words}</option>`)}</select></label></div></div>`;
  }

  private legend() {
    const { data, threshold } = this;
    if (!data) return html`<div></div>`;
    const stops = Array.from({ length: 11 }, (_, k) => `rgb(${colorAt(k / 10).join(" ")}) ${k * 10}%`).join(", ");
    return html`<div class="legend"><span>0</span><div class="bar" style="background: linear-gradient(90deg, ${stops})"></div>
      <span>${distanceText(data.high, data.unit)}</span>
      <span class="faint">within</span><input id="threshold" type="range" min="0" max=${data.high} step=${data.high / 300} aria-label="Threshold"
        .value=${String(threshold ?? data.high)} @input=${this.limit} />
      <span>${threshold === null ? "any" : distanceText(threshold, data.unit)}</span></div>`;
  }

  private foot() {
    const { dtwMatches, whole } = this;
    const near = dtwMatches
      .map((match, number) => ({ match, number }))
      .filter(({ match }) => match.distance <= (this.threshold ?? Infinity));
    return html`<div>${this.legend()}
      ${
        this.on.has("path") && dtwMatches.length
          ? html`<div class="chips" role="list" aria-label="DTW paths">${near.length ? "" : html`<span class="faint">No paths are within this distance.</span>`}
        ${near.map(
          ({ match, number }) => html`<button role="listitem" @click=${() => this.play(match, number)}>
          ▸ ${match.start_frame}–${match.end_frame} · ${distanceText(match.distance, this.data!.unit)}</button>`,
        )}</div>`
          : ""
      }
      <p class="faint small">${
        this.data
          ? html`${this.data.rows} × ${this.data.columns} cells${this.data.step > 1 ? `, every ${this.data.step}th frame` : ""}${whole ? ` · whole takes: ${whole.chains} chains, ${whole.bridges} bridges` : ""}
        · click: show both poses · wheel: zoom · drag: pan`
          : ""
      }</p>
      ${this.data ? html`<loom-code .cli=${this.lines.cli} .python=${this.lines.python}></loom-code>` : ""}</div>`;
  }

  render() {
    return html`${this.form()}
      <div class="layers">${LAYERS.map(
        ([name, title, color]) => html`<button data-layer=${name} aria-pressed=${this.on.has(name)}
          @click=${() => this.toggle(name)}><i style="background: ${color}"></i>${title}</button>`,
      )}
        <span class="grow"></span><span class="faint">${this.busy ? "computing distances…" : ""}</span>
        <button aria-pressed=${this.live} title="Show the poses under the pointer" @click=${() => (this.live = !this.live)}>follow pointer</button></div>
      ${
        this.request.a
          ? html`<loom-grid-map .data=${this.data} .marks=${this.marks} .layers=${this.layers} .chosen=${this.chosen}
          .threshold=${this.threshold ?? Infinity} .shown=${(this.on.has("minima") ? 1 : 0) | (this.on.has("region") ? 2 : 0)}
          @cell=${(event: CustomEvent<Cell>) => this.choose(event.detail)}
          @hover=${(event: CustomEvent<Cell>) => {
            if (this.live) this.choose(event.detail);
          }}></loom-grid-map>`
          : html`<div class="empty">Select a segment on the timeline,<br>choose a take, or enter a segment above: <code>walk_p0:10-60</code></div>`
      }
      ${this.foot()}`;
  }
}

function linesFrom(arrays: Record<string, unknown>, from: number, to: number): Paths {
  return {
    cells: arrays.cells as Float32Array,
    offsets: arrays.offsets as Int32Array,
    distances: arrays.distances as Float32Array,
    from,
    to,
  };
}
