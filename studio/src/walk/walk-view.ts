// Walk: draw a path on the floor, and a character walks along it; or let it wander.

import { css, html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { live } from "lit/directives/live.js";
import { motionFrom, wornQuery } from "../motion/motion";
import { finished, saveFile, send, sendForArrays, type Body } from "../net/api";
import type { Quality } from "../net/types";
import { shellWord } from "../page/command-line";
import "../page/code-line";
import { inputValue, isChecked } from "../page/form-input";
import { measureName } from "../page/measure-names";
import "../page/progress-line";
import { sharedStyles } from "../page/style";
import type { Subject } from "../page/subject-bar";
import "../page/takes-choice";
import { takesToBegin, type ChosenTakes } from "../page/takes-choice";
import "../page/verdict";
import { FloorPath, meanDistanceToPath, parsePath, pathText, type FloorPoint } from "../stage/floor";
import { ScaleBar } from "../stage/scale-bar";
import { GraphUser } from "../graph/graph-user";
import "../graph/graph-form";
import type { GraphQuery } from "../graph/graph-form";
import type { Walker } from "./walker";

const AROUND = 5; // meters of floor around the middle, seen while drawing

@customElement("loom-walk-view")
export class WalkView extends GraphUser {
  @state() private drawing = false;
  @state() private pathError: number | null = null; // mean distance of the walk from its path, meters
  @state() private path: FloorPoint[] = [];
  /** True while the walk on the stage is a first one, and a better one is being planned. */
  @state() private approximate = false;
  @state() private quality: Quality | null = null;
  private floor?: FloorPath;
  private scale?: ScaleBar;
  private back: (() => void) | null = null; // restores the camera

  @query("#position") private status!: HTMLElement | null;

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; gap: var(--space-3); align-content: start; grid-template-columns: minmax(0, 1fr); }
    h2 { margin: 0; } p { margin: 0; }
    .check { display: flex; gap: 6px; align-items: center; } .check input { width: auto; }
    #seed { width: 70px; } #points { width: 100%; font: var(--text-code); } .numbers { font-variant-numeric: tabular-nums; }
    details > * + * { margin-top: var(--space-2); }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["library"], () => this.routeChanged(this.studio.route.query)); // the labels are known
    this.answers("escape", () => {
      const { drawing } = this;
      this.draw(false);
      return drawing;
    });
    const { stage } = this.studio;
    this.scale = new ScaleBar(stage);
    this.floor = new FloorPath(stage);
    this.floor.addEventListener("drawn", () => {
      this.draw(false);
      void this.walkAlong(this.floor!.points);
    });
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.draw(false);
    this.floor?.dispose();
    this.scale?.dispose();
  }

  /** Query: the graph's, and path ("x,z x,z ...") or walk ("1"). */
  protected routeChanged(query: Record<string, string>): void {
    super.routeChanged(takesToBegin(this.studio, query));
  }

  protected built(query: GraphQuery): void {
    const path = parsePath(query.path ?? "");
    if (path.length > 1) {
      this.floor!.show(path);
      void this.walkAlong(path);
    } else if (query.walk) void this.walk();
  }

  protected walking(walker: Walker): void {
    const position = walker.position();
    if (this.status && position)
      // updated every frame, without rendering
      this.status.textContent = `${position.name}, frame ${Math.round(position.frame)}; ${walker.shownTransitions} transitions so far`;
  }

  protected halt(): void {
    super.halt();
    this.quality = null;
  }

  /** Store the walk in the address, so that a reload restores it. */
  private storeWalk(walked: { path?: string; walk?: string }): void {
    if (this.studio.route.view === this.viewPath)
      this.studio.replaceQuery({ ...this.query, path: undefined, walk: undefined, ...walked });
  }

  private readonly walk = async (): Promise<void> => {
    if (this.walker) {
      this.halt();
      this.studio.stage.clock.pause();
      this.storeWalk({});
      return;
    }
    this.draw(false);
    this.turns.end("walk");
    this.busy = "";
    this.clearPath();
    this.storeWalk({ walk: "1" });
    await this.wander(this.subject());
  };

  /** Start or stop drawing a path, seen from above. The wheel zooms, and the right button moves the view. */
  private draw(on: boolean): void {
    if (on === this.drawing) return;
    const { stage } = this.studio;
    this.drawing = this.floor!.active = this.scale!.visible = on;
    stage.holdCamera(on ? "The camera is fixed while you draw a path" : "");
    this.back?.();
    this.back = on ? stage.rig.above(AROUND) : null;
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

  private async walkAlong(path: FloorPoint[]): Promise<void> {
    this.halt();
    this.last = null;
    this.path = path;
    this.pathError = null;
    this.storeWalk({ path: pathText(path) });
    await this.building;
    if (!this.head || !this.isConnected) return;
    const body = { graph: this.settings, path, settings: { seed: this.seed } };
    await this.work("walk", "planning the walk", async (signal) => {
      const job = await send("post", "graphs/walks", { body, signal });
      let early: Promise<void> | null = null; // a first walk plays while a better one is planned
      await finished(
        job,
        (now) => {
          this.job = now;
          if (now?.result) early ??= this.showWalk(path, { ...body, approximate: true }, signal).catch(() => undefined);
        },
        signal,
      );
      await early;
      await this.showWalk(path, body, signal);
    });
  }

  private async showWalk(path: FloorPoint[], body: Body<"graphs/walk">, signal: AbortSignal): Promise<void> {
    const message = await sendForArrays("graphs/walk", { body, query: wornQuery(), signal });
    const motion = motionFrom(message);
    const hips = motion.roles.hips ?? motion.parents.indexOf(-1);
    const width = motion.parents.length;
    const { clock } = this.studio.stage;
    const time = this.approximate ? clock.time : 0; // goes on where the first walk is
    this.approximate = Boolean(body.approximate);
    this.quality = message.meta.quality;
    this.studio.show([{ motion }], null, { ...this.subject(), quality: this.quality });
    clock.seek(time);
    clock.play();
    const route = Array.from({ length: motion.frames }, (_, frame): FloorPoint => {
      const at = (frame * width + hips) * 3;
      const size = motion.size ?? 1;
      return [size * motion.positions[at], size * motion.positions[at + 2]];
    });
    this.pathError = meanDistanceToPath(path, route);
  }

  private subject(): Subject {
    const { path, seed } = this;
    return {
      title: "walk",
      body: () => ({
        kind: "walk",
        ...(this.path.length ? { graph: this.settings, path: this.path, settings: { seed } } : this.wandered()),
      }),
      ...this.lines(path),
    };
  }

  /** The command line and the Python code of the walk. */
  private lines(path: FloorPoint[]): { cli: string; python: string } {
    const lib = shellWord(this.studio.library.path);
    const { flags, lines } = this.head!;
    const graph = flags.map(shellWord).join(" ");
    const along = path.length ? "--path path.csv" : "--seconds 20";
    const points = `path=[${path.map(([x, z]) => `(${x}, ${z})`).join(", ")}]`;
    return {
      cli: `motionloom walk ${lib} ${graph} ${along} --seed ${this.seed} -o walk.bvh`,
      python: `${lines.python}; graph.walk(${path.length ? points : "seconds=20"}, seed=${this.seed}).save("walk.bvh")`,
    };
  }

  private savePath(): void {
    const text = ["x,z", ...this.path.map((point) => point.join(","))].join("\n");
    saveFile(new Blob([`${text}\n`], { type: "text/csv" }), "path.csv");
  }

  private readonly choose = (event: CustomEvent<ChosenTakes>): void => {
    this.draw(false);
    const { label, only, all } = event.detail;
    this.studio.go("walk", { ...this.query, label, only, all, walk: undefined });
  };

  private expert() {
    const build = (event: CustomEvent<GraphQuery>) =>
      this.studio.go("walk", { ...event.detail, seed: this.query.seed, path: this.query.path });
    const steer = (controls: { transition?: boolean; automatic?: boolean }) => this.walker?.steer(controls);
    const { info } = this.head ?? {};
    return html`<details class="expert" id="expert"><summary>Expert</summary>
      <div class="row"><label class="row">seed <input id="seed" type="number" min="0" .value=${String(this.seed)}
        @change=${(e: Event) => {
          this.halt();
          this.seed = Number(inputValue(e));
          this.studio.replaceQuery({ ...this.query, seed: this.seed });
          if (this.path.length) void this.walkAlong(this.path);
        }} /></label>
        <button id="now" ?disabled=${!this.walker} @click=${() => steer({ transition: true })}>Transition now</button>
        <label class="check"><input type="checkbox" .checked=${this.automatic} @change=${(e: Event) => {
          this.automatic = isChecked(e);
          steer({ automatic: this.automatic });
        }} />transitions by itself</label></div>
      <loom-graph-form .studio=${this.studio} .query=${this.query} ?busy=${this.job !== null} .takes=${false} @build=${build}></loom-graph-form>
      ${info ? html`<p class="faint"><b>${info.transitions.toLocaleString("en")}</b> transitions between ${info.motions} takes, by ${measureName(info.distance)} below ${info.threshold.toPrecision(3)}. <a href="#/graph" @click=${this.look}>See them in the Lab</a></p>` : nothing}
      ${this.path.length ? html`<button @click=${() => this.savePath()}>Save path.csv</button>` : nothing}</details>`;
  }

  private readonly look = (event: Event): void => {
    event.preventDefault();
    this.studio.go("graph", { ...this.query, path: undefined, walk: undefined });
  };

  /** What happens now, or what to do next. */
  private said() {
    if (this.drawing) return "Draw on the floor. The wheel zooms, the right button moves the view, Esc stops.";
    if (this.busy) return this.approximate ? "This is a first walk; a better one is being planned…" : `${this.busy}…`;
    if (this.pathError !== null) return `${(100 * this.pathError).toFixed(0)} cm from the path on average`;
    if (this.walker || this.job) return "";
    return this.head ? "Draw a path to walk along, or let the character wander." : "Choose takes that walk.";
  }

  render() {
    const { head } = this;
    const steered = (this.walker?.steered ?? this.last?.steered ?? []).length;
    return html`<h2>Walk along a path</h2>
      <loom-takes-choice .studio=${this.studio} .chosen=${this.query} verb="Walk with" every @choose=${this.choose}></loom-takes-choice>
      <div class="row"><button id="draw" class=${this.drawing ? "" : "main"} ?disabled=${!head && !this.job} aria-pressed=${this.drawing} @click=${() => this.draw(!this.drawing)}>${this.drawing ? "Stop drawing" : "Draw a path"}</button>
        <button id="walk" ?disabled=${!head} aria-pressed=${Boolean(this.walker)} @click=${this.walk}>${this.walker ? "Stop" : "Wander"}</button></div>
      <label class="faint">or type a path in meters
        <input id="points" placeholder="0,0 3,0 3,2" .value=${live(pathText(this.path))} @change=${(e: Event) => this.typed(inputValue(e))} /></label>
      <loom-progress .job=${this.job}></loom-progress>
      <p class="numbers ${this.busy ? "" : "faint"}" id="seen" role="status">${this.walker ? html`<span id="position"></span> ` : nothing}${this.said()}</p>
      ${this.quality && !this.approximate ? html`<loom-verdict .studio=${this.studio} .quality=${this.quality}></loom-verdict>` : nothing}
      ${this.expert()}
      ${
        head
          ? html`${steered ? html`<p class="faint">Manual transitions are included in saved files, but not in this code.</p>` : nothing}
        <loom-code cli=${this.lines(this.path).cli} python=${this.lines(this.path).python}></loom-code>`
          : nothing
      }`;
  }
}
