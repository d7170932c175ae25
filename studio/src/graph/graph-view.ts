// Graph view: play and edit the transitions of a motion graph, and synthesize walks.

import { css, html } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { live } from "lit/directives/live.js";
import { motionFrom, wornQuery } from "../motion/motion";
import type { GraphHead, Quality, Schema } from "../net/types";
import { download, finished, saveFile, send, sendForArrays, type Body, type Job } from "../net/api";
import { pythonLiteral, shellWord } from "../page/command-line";
import { inputValue, isChecked } from "../page/form-input";
import { measureName } from "../page/measure-names";
import "../page/progress-line";
import { qualityLines } from "../page/quality";
import { sharedStyles } from "../page/style";
import type { Subject } from "../page/subject-bar";
import { View } from "../page/view";
import { FloorPath, meanDistanceToPath } from "../stage/floor";
import "./arcs";
import { transitionText, type Arcs, type DrawnGraph, type TransitionPair } from "./arcs";
import "./graph-form";
import { graphSettings, type GraphQuery } from "./graph-form";
import "./movement-graph";
import { Walker } from "./walker";

/** Parse the points of a path, "x,z x,z ..."; invalid points are skipped. */
export function parsePath(text: string): [number, number][] {
  return text
    .split(/[\s;]+/)
    .map((point) => point.split(",").map(Number))
    .filter((point): point is [number, number] => point.length === 2 && point.every(Number.isFinite));
}

function pathText(path: [number, number][]): string {
  return path.map((point) => point.join(",")).join(" ");
}

@customElement("loom-graph-view")
export class GraphView extends View {
  @state() private drawn: DrawnGraph | null = null;
  @state() private picked: TransitionPair | null = null;
  @state() private job: Job | null = null;
  @state() private walker: Walker | null = null;
  @state() private seed = 1;
  @state() private automatic = true;
  @state() private drawing = false;
  @state() private busy = "";
  @state() private pathError: number | null = null; // mean distance of the walk from its path, meters
  private quality: Quality | null = null; // of that walk
  @state() private path: [number, number][] = [];
  private head: GraphHead | null = null;
  private shown = "";
  private floor?: FloorPath;
  private last: { steered: Walker["steered"]; frames: number } | null = null;

  @query("loom-arcs") private arcs!: Arcs | null;
  @query("#position") private status!: HTMLElement | null;

  static styles = [
    sharedStyles,
    css`
    section { margin: 10px 0; }
    nav { display: flex; gap: 6px; margin-bottom: 10px; }
    .directions { display: grid; grid-template-columns: 1fr auto auto; gap: 6px 10px; align-items: center; background: var(--well); border-radius: 6px; padding: 8px 12px; }
    .chip { font-size: 12px; padding: 1px 8px; border-radius: 9px; background: var(--raised); }
    .locked { color: var(--good); } .removed { color: var(--bad); }
    .check { display: flex; gap: 6px; align-items: center; } .check input { width: auto; }
    #seed { width: 70px; } #points { width: 100%; font: 12px ui-monospace, monospace; } .numbers { font-variant-numeric: tabular-nums; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.listen("frame", () => this.tick(), this.studio.stage);
    this.listen("reconnected", () => {
      this.shown = "";
      this.halt();
      this.routeChanged(this.query);
    });
    this.listen("escape", (event) => {
      if (!this.drawing) return;
      this.draw(false);
      event.preventDefault();
    });
    this.floor = new FloorPath(this.studio.stage);
    this.floor.addEventListener("drawn", () => {
      this.draw(false);
      void this.walkAlong(this.floor!.points);
    });
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.halt();
    this.draw(false);
    this.floor?.dispose();
    this.shown = "";
  }

  private get query(): GraphQuery {
    return this.studio.route.query;
  }
  private get settings(): Schema["GraphSettings"] {
    return graphSettings(this.query);
  }

  /** Query: label, only, all, distance, per_minute, max_distance, ... (of the graph), seed, path ("x,z x,z ...") or
   * walk ("1") of the walk, show ("movements"). */
  protected routeChanged(query: GraphQuery): void {
    this.seed = Number(query.seed ?? this.seed);
    const wanted = JSON.stringify(graphSettings(query));
    if (query.show === "movements" || (!query.label && !query.only && !query.all) || wanted === this.shown) {
      this.requestUpdate();
      return;
    }
    this.shown = wanted;
    this.halt();
    this.picked = null;
    void this.attempt("", async () => {
      const job = await send("post", "graphs", { body: { settings: this.settings } });
      await finished(job, (now) => (this.job = now));
      await this.fetch();
      if (wanted !== this.shown || !this.isConnected) return;
      const path = parsePath(query.path ?? "");
      if (path.length > 1) {
        this.floor!.show(path);
        void this.walkAlong(path);
      } else if (query.walk) void this.walk();
    });
  }

  /** Store the walk in the address, so that a reload restores it. */
  private storeWalk(walked: { path?: string; walk?: string }): void {
    if (this.studio.route.view === this.viewPath)
      this.studio.replaceQuery({ ...this.query, path: undefined, walk: undefined, ...walked });
  }

  private async attempt(busy: string, work: () => Promise<unknown>): Promise<void> {
    this.busy = busy;
    await this.studio.attempt(work);
    this.busy = "";
  }

  private async fetch(): Promise<void> {
    const { meta, arrays } = await sendForArrays("graphs/drawn", { body: { settings: this.settings } });
    this.head = meta;
    this.drawn = {
      ...meta,
      source: arrays.source as Int32Array,
      target: arrays.target as Int32Array,
      errors: arrays.errors as Float32Array,
      state: arrays.states as Uint8Array,
    };
  }

  private tick(): void {
    if (!this.walker) return;
    const position = this.walker.position();
    this.arcs?.showPosition(position);
    if (this.status && position)
      // updated every frame, without rendering
      this.status.textContent = `${position.name} at frame ${Math.round(position.frame)}; ${this.walker.shownTransitions} transitions so far`;
  }

  private async pick(pair: TransitionPair | null): Promise<void> {
    this.picked = pair;
    if (pair) await this.watch(pair.forward >= 0 ? pair.forward : pair.backward);
  }

  private async watch(number: number): Promise<void> {
    this.halt();
    await this.attempt("", async () => {
      const message = await sendForArrays("graphs/transition", {
        body: { graph: this.settings, transition: transitionText(this.drawn!, number) },
        query: wornQuery(),
      });
      this.studio.show([{ motion: motionFrom(message), title: "transition" }]);
      this.studio.stage.clock.play();
    });
  }

  private async edit(action: "remove" | "lock" | "restore", number: number): Promise<void> {
    this.halt();
    const { a, i, b, j } = this.picked!;
    await this.attempt("", async () => {
      const transition = transitionText(this.drawn!, number);
      await send("post", "graphs/edits", { body: { action, transition } });
      try {
        await this.fetch();
      } catch (error) {
        // without it, the graph is no longer connected
        await send("post", "graphs/edits", { body: { action: "restore", transition } });
        await this.fetch();
        throw error;
      }
      await this.updateComplete;
      await this.arcs?.updateComplete;
      this.picked = this.arcs?.pairs.find((one) => one.a === a && one.i === i && one.b === b && one.j === j) ?? null;
    });
  }

  private act(what: "play" | "remove" | "lock"): void {
    const number = this.picked!.forward >= 0 ? this.picked!.forward : this.picked!.backward;
    const state = this.drawn!.states[this.drawn!.state[number]];
    if (what === "play") void this.watch(number);
    else void this.edit(state === (what === "remove" ? "removed" : "locked") ? "restore" : what, number);
  }

  private halt(): void {
    if (!this.walker) return;
    this.last = { steered: this.walker.steered, frames: this.walker.shownFrame };
    this.walker.stop();
    this.walker = null;
    this.arcs?.showPosition(null);
  }

  private async walk(): Promise<void> {
    if (this.walker) {
      this.halt();
      this.studio.stage.clock.pause();
      this.storeWalk({});
      return;
    }
    this.draw(false);
    this.clearPath();
    this.storeWalk({ walk: "1" });
    const walker = new Walker(this.studio, this.settings, this.seed, undefined, this.walkSubject());
    walker.addEventListener("ended", () => {
      if (this.walker === walker) this.halt();
    });
    walker.addEventListener("change", () => this.requestUpdate());
    this.walker = walker;
    if (!this.automatic) walker.steer({ automatic: false });
    await this.attempt("", () => walker.start());
  }

  /** Start or stop drawing a path. The view stays fixed meanwhile, because it would distort the path. */
  private draw(on: boolean): void {
    if (on === this.drawing) return;
    const { stage } = this.studio;
    this.drawing = this.floor!.active = on;
    stage.holdCamera(on ? "The camera is fixed while you draw a path" : "");
    if (!on) return;
    this.halt();
    stage.clock.pause();
  }

  /** Walk along a typed path. */
  private typed(text: string): void {
    const path = parsePath(text);
    if (path.length > 1) {
      this.floor!.show(path);
      void this.walkAlong(path);
    } else this.studio.notify("A path needs at least two points x,z in meters, separated by spaces: 0,0 3,0 3,2");
  }

  private clearPath(): void {
    this.floor?.show([]);
    this.path = [];
    this.pathError = null;
  }

  protected characterChanged(): void {
    if (this.path.length) void this.walkAlong(this.path);
    else if (this.walker) this.studio.notify("The walk will use the character the next time it starts.");
  }

  private async walkAlong(path: [number, number][]): Promise<void> {
    this.halt();
    this.last = null;
    this.path = path;
    this.pathError = null;
    this.storeWalk({ path: pathText(path) });
    await this.attempt("searching for the best route along the path", async () => {
      const body = { graph: this.settings, path, settings: { seed: this.seed } };
      const job = await send("post", "graphs/walks", { body });
      let early: Promise<void> | null = null; // a first walk plays while a better one is searched
      await finished(job, (now) => {
        this.job = now;
        if (now?.result) early ??= this.showWalk(path, { ...body, approximate: true }).catch(() => undefined);
      });
      await early;
      await this.showWalk(path, body);
    });
  }

  private async showWalk(path: [number, number][], body: Body<"graphs/walk">): Promise<void> {
    const message = await sendForArrays("graphs/walk", { body, query: wornQuery() });
    const motion = motionFrom(message);
    const hips = motion.roles.hips ?? motion.parents.indexOf(-1);
    const width = motion.parents.length;
    this.studio.show([{ motion }], null, this.walkSubject());
    this.studio.stage.clock.play();
    const route = Array.from({ length: motion.frames }, (_, frame): [number, number] => {
      const at = (frame * width + hips) * 3;
      const size = motion.size ?? 1;
      return [size * motion.positions[at], size * motion.positions[at + 2]];
    });
    this.quality = message.meta.quality;
    this.pathError = meanDistanceToPath(path, route);
  }

  /** The request that repeats the last walk. */
  private walkRequest(): Body<"graphs/walk"> {
    const { settings: graph, seed } = this;
    if (this.path.length) return { graph, path: this.path, settings: { seed } };
    const { steered, frames } = this.walker
      ? { steered: this.walker.steered, frames: this.walker.shownFrame }
      : (this.last ?? { steered: [], frames: 0 });
    const seconds = frames > 1 ? frames / this.drawn!.fps : 20;
    return { graph, settings: { seed, seconds }, steered: steered.filter((one) => one.frame < frames) };
  }

  private walkSubject(): Subject {
    return { title: "walk", body: () => ({ kind: "walk", ...this.walkRequest() }) };
  }

  private save(suffix: "bvh" | "glb"): void {
    void this.attempt("writing the file", () =>
      download(`walk.${suffix}`, "subjects/file", { body: { subject: this.walkSubject().body(), suffix } }),
    );
  }

  private savePath(): void {
    const text = ["x,z", ...this.path.map((point) => point.join(","))].join("\n");
    saveFile(new Blob([`${text}\n`], { type: "text/csv" }), "path.csv");
  }

  private direction(number: number) {
    if (number < 0) return "";
    const drawn = this.drawn!;
    const text = transitionText(drawn, number);
    const state = drawn.states[drawn.state[number]];
    const [from, to] = text.split(/,(?=[^,]*:\d+$)/);
    return html`<span><b>${from}</b> → <b>${to}</b></span><span class="chip ${state}">${state}</span>
      <span class="row"><button @click=${() => this.watch(number)}>Play</button>
        ${
          state === "removed" || state === "locked"
            ? html`<button class="restore" @click=${() => this.edit("restore", number)}>${state === "locked" ? "Unlock" : "Restore"}</button>`
            : html`<button class="remove" @click=${() => this.edit("remove", number)}>Remove</button><button class="lock" @click=${() => this.edit("lock", number)}>Lock</button>`
        }</span>`;
  }

  private chosen() {
    const pair = this.picked;
    if (!pair)
      return html`<p class="faint">Click an arc to play its transition. Then you can remove it, or lock it so that it is kept at any threshold.</p>`;
    const number = pair.forward >= 0 ? pair.forward : pair.backward;
    const text = transitionText(this.drawn!, number);
    const removed = this.drawn!.states[this.drawn!.state[number]] === "removed";
    const lib = this.studio.library.path;
    const action = removed ? "restore" : "remove";
    return html`<div class="directions">${this.direction(pair.forward)}${this.direction(pair.backward)}</div>
      <p class="faint">error ${pair.error.toPrecision(3)}; edits are saved with the library.</p>
      <loom-code cli=${`motionloom graph ${shellWord(lib)} ${action} --transition ${shellWord(text)} ${this.head!.flags.map(shellWord).join(" ")}`}
        python=${`import motionloom as ml; ml.Library(${pythonLiteral(lib)}).graphs.edit("${action}", ${pythonLiteral(text)})`}></loom-code>`;
  }

  private walkPanel() {
    const steer = (controls: { transition?: boolean; automatic?: boolean }) => this.walker?.steer(controls);
    return html`<section><div class="row">
      <button class="main" id="walk" @click=${this.walk}>${this.walker ? "Stop" : "Walk"}</button>
      <button id="now" ?disabled=${!this.walker} @click=${() => steer({ transition: true })}>Transition now</button>
      <label class="check"><input type="checkbox" .checked=${this.automatic} @change=${(e: Event) => {
        this.automatic = isChecked(e);
        steer({ automatic: this.automatic });
      }} />automatic</label>
      <button id="draw" aria-pressed=${this.drawing} @click=${() => this.draw(!this.drawing)}>Draw a path</button>
      <label class="row">seed <input id="seed" type="number" min="0" .value=${String(this.seed)}
        @change=${(e: Event) => {
          const seed = Number(inputValue(e));
          this.halt();
          this.seed = seed;
          this.studio.go("graph", { ...this.query, seed });
          if (this.path.length) void this.walkAlong(this.path);
        }} /></label>
      ${this.path.length ? html`<button @click=${this.savePath}>Save path.csv</button>` : ""}
      <button id="bvh" @click=${() => this.save("bvh")}>Save BVH</button><button @click=${() => this.save("glb")}>Save GLB</button></div>
      <label class="faint">or type a path in meters
        <input id="points" placeholder="0,0 3,0 3,2" .value=${live(pathText(this.path))} @change=${(e: Event) => this.typed(inputValue(e))} /></label>
      <p class="numbers ${this.busy ? "" : "faint"}" id="seen">${this.walker ? html`<span id="position"></span> ` : ""}${
        this.busy
          ? `${this.busy}…`
          : this.drawing
            ? "Draw on the floor of the stage; Esc to stop."
            : this.pathError !== null
              ? `${(100 * this.pathError).toFixed(0)} cm from the path on average`
              : this.walker
                ? ""
                : "Start a random walk, which you can steer with the button, or draw a path to walk along."
      }</p>${this.pathError !== null ? qualityLines(this.quality) : ""}
      </section>`;
  }

  private walkLines() {
    const lib = shellWord(this.studio.library.path);
    const flags = this.head!.flags.map(shellWord).join(" ");
    const { lines } = this.head!;
    if (this.path.length) {
      return html`<loom-code cli=${`motionloom walk ${lib} ${flags} --path path.csv --seed ${this.seed} -o walk.bvh`}
          python=${`${lines.python}; graph.walk(path=[${this.path.map(([x, z]) => `(${x}, ${z})`).join(", ")}], seed=${this.seed}).save("walk.bvh")`}></loom-code>`;
    }
    const steered = (this.walker?.steered ?? this.last?.steered ?? []).length;
    return html`${steered ? html`<p class="faint">Manual transitions are included in saved files, but not in this code.</p>` : ""}
      <loom-code cli=${`motionloom walk ${lib} ${flags} --seconds 20 --seed ${this.seed} -o walk.bvh`}
      python=${`${lines.python}; graph.walk(seconds=20, seed=${this.seed}).save("walk.bvh")`}></loom-code>`;
  }

  private summary() {
    const { info } = this.head!;
    const cut = info.removed.motions.length ? `; cut off: ${info.removed.motions.join(", ")}` : "";
    const edited = info.removed.by_hand ? `; ${info.removed.by_hand} removed by hand` : "";
    return html`<p><b>${info.transitions}</b> transitions between <b>${info.motions}</b> takes, ${info.transitions_per_minute.toFixed(0)} per minute,
      by ${measureName(info.distance)} below ${info.threshold.toPrecision(3)}<span class="faint">${edited}${cut}</span></p>`;
  }

  private takes() {
    const build = (event: CustomEvent<GraphQuery>) =>
      this.studio.go("graph", { ...event.detail, seed: this.query.seed });
    return html`<loom-graph-form .studio=${this.studio} .query=${this.query} ?busy=${this.job !== null} @build=${build}></loom-graph-form>
      <loom-progress .job=${this.job}></loom-progress>
      ${
        this.drawn
          ? html`${this.summary()}${this.walkPanel()}
        <loom-arcs .drawn=${this.drawn} .picked=${this.picked} @pick=${(e: CustomEvent<TransitionPair | null>) => this.pick(e.detail)} @act=${(e: CustomEvent) => this.act(e.detail)}></loom-arcs>
        <section>${this.chosen()}</section>
        <section><h2>Command line and Python</h2>
          <loom-code cli=${this.head!.lines.cli} python=${this.head!.lines.python}></loom-code>${this.walkLines()}</section>`
          : this.job
            ? ""
            : html`<p class="faint">Choose a label, such as walk, or enter names of takes, to find transitions between them.</p>`
      }`;
  }

  render() {
    const movements = this.query.show === "movements";
    const tab = (
      words: string,
      show: string | undefined,
    ) => html`<button aria-pressed=${(show === "movements") === movements}
      @click=${() => {
        this.halt();
        this.studio.go("graph", { ...this.query, show });
      }}>${words}</button>`;
    return html`<nav>${tab("Takes and transitions", undefined)}${tab("Dance movements", "movements")}</nav>
      ${movements ? html`<loom-movement-graph .studio=${this.studio} name=${this.query.steps ?? ""}></loom-movement-graph>` : this.takes()}`;
  }
}
