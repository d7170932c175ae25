// Parametric view: drag the target of a parametric motion, and the blend follows.

import { css, html } from "lit";
import { customElement, state } from "lit/decorators.js";
import { type MotionData, wornQuery } from "../motion/motion";
import type { ParametricEntry, ParametricHead, ReachHead } from "../net/types";
import { download, getArrays, getJson } from "../net/api";
import { Latest } from "../net/live";
import type { Message } from "../net/message";
import { pythonLiteral, shellWord } from "../page/command-line";
import { inputValue, isChecked } from "../page/form-input";
import { sharedStyles } from "../page/style";
import type { Subject } from "../page/subject-bar";
import { View } from "../page/view";
import "./aim-form";
import "./scatter";
import { bounds, Region, Target } from "./target";

const SHOWN_WEIGHTS = 8;

@customElement("loom-aim-view")
export class AimView extends View {
  @state() private saved: ParametricEntry[] = [];
  @state() private opened: ParametricHead | null = null;
  @state() private target: number[] = [];
  @state() private answer: ReachHead | null = null;
  @state() private weights: Float32Array = new Float32Array(0);
  @state() private hold = true;
  @state() private dots = true;
  @state() private making = false;
  /** The axes that the pad shows, horizontally and vertically. */
  @state() private pad: [number, number] = [0, 1];
  /** A target that was out of reach, and its distance; it was moved to the nearest accessible target. */
  @state() private refused: { target: number[]; off: number } | null = null;
  private accessible: Float32Array = new Float32Array(0);
  private examples: Float32Array = new Float32Array(0);
  private aim?: Target;
  private region?: Region;
  private opening = "";
  private readonly drag = new Latest<number[]>((target) => this.reach(target));

  static styles = [
    sharedStyles,
    css`
    section { margin-bottom: 14px; }
    .readout { display: grid; grid-template-columns: auto 1fr; gap: 2px 12px; align-items: baseline;
      background: var(--well); border-radius: 6px; padding: 10px 12px; }
    .readout b { font-size: 22px; font-variant-numeric: tabular-nums; } .near { color: var(--good); } .far { color: var(--bad); }
    .axis { display: grid; grid-template-columns: 34px 1fr 74px; gap: 8px; align-items: center; margin: 3px 0; }
    .axis input[type="number"] { width: 74px; padding: 2px 6px; }
    .weight { display: grid; grid-template-columns: 1fr 110px 46px; gap: 8px; align-items: center; font-size: 12px; }
    .weight span:first-child { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    .bar { position: relative; height: 8px; background: var(--well); border-radius: 4px; overflow: hidden; }
    .bar i { position: absolute; inset: 0 auto 0 0; background: var(--accent); border-radius: 4px; } .bar i.minus { background: var(--cool); }
    .number { text-align: right; font-variant-numeric: tabular-nums; }
    .check { display: flex; gap: 6px; align-items: center; } .check input { width: auto; }
    select { min-width: 0; flex: 1; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.studio.stage.holdCamera("The camera is fixed, so that the target does not move under the pointer");
    this.watch(["connection"], () => {
      if (this.studio.state.connection !== "connected") return;
      this.opening = "";
      this.routeChanged(this.studio.route.query);
    });
    this.watch(["artifacts"], () => void this.list());
    void this.list();
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.clear();
    this.studio.stage.holdCamera("");
  }

  private async list(): Promise<void> {
    const { signal } = this.turns.begin("list");
    await this.studio.attempt(async () => (this.saved = await getJson("parametric", { signal })));
  }

  /** Query: name, target (numbers with commas), hold ("no" to play), family (for a new parametric motion). */
  protected routeChanged(query: Record<string, string>): void {
    this.hold = query.hold !== "no";
    this.making = Boolean(query.family || query.new);
    const target = (query.target ?? "").split(",").filter(Boolean).map(Number);
    if (!query.name) {
      this.clear();
      return;
    }
    if (query.name !== this.opening) void this.open(query.name, target);
    else if (
      this.opened &&
      target.length === this.opened.axes.length &&
      String(target) !== String(this.target.map(rounded))
    )
      this.move(target);
    this.applyHold();
  }

  protected characterChanged(): void {
    if (this.opened) void this.open(this.opened.name, this.target);
  }

  private clear(): void {
    this.aim?.dispose();
    this.region?.dispose();
    this.aim = this.region = undefined;
    this.opened = this.answer = null;
    this.opening = "";
    this.turns.end("open");
  }

  private async open(name: string, target: number[]): Promise<void> {
    this.clear();
    this.opening = name;
    const turn = this.turns.begin("open");
    const { signal } = turn;
    try {
      const message = await getArrays("parametric/{name}", { path: { name }, query: wornQuery(), signal });
      this.accessible = message.arrays.accessible as Float32Array;
      this.examples = message.arrays.examples as Float32Array;
      this.opened = message.meta;
      this.target =
        target.length === message.meta.axes.length ? target : [...this.examples.slice(0, message.meta.axes.length)];
      const { axes } = message.meta;
      this.pad = axes.length === 3 ? [0, axes.join() === "x,y,z" ? 1 : 2] : [0, 1];
      this.refused = null;
      this.place();
      await this.reach(this.target);
    } catch (error) {
      if (!turn.current) return;
      this.clear();
      this.studio.notify(error);
    }
  }

  /** Whether the parameters are a position in space or on the floor, to show them on the stage. */
  private get spatial(): "space" | "floor" | null {
    const axes = this.opened?.axes.join();
    return axes === "x,y,z" ? "space" : axes === "x,z" ? "floor" : null;
  }

  private place(): void {
    if (!this.spatial) return;
    const { stage } = this.studio;
    const lifted = (values: Float32Array) =>
      this.spatial === "space"
        ? values
        : Float32Array.from({ length: (values.length / 2) * 3 }, (_, at) =>
            at % 3 === 1 ? 0.01 : values[Math.floor(at / 3) * 2 + (at % 3) / 2],
          );
    this.region = new Region(stage, lifted(this.accessible), lifted(this.examples));
    this.region.visible = this.dots;
    this.aim = new Target(stage, this.spatial === "floor");
    this.aim.put(...this.inSpace(this.target));
    this.aim.addEventListener("move", () => {
      const [x, y, z] = this.aim!.place;
      this.target = this.spatial === "space" ? [x, y, z] : [x, z];
      this.refused = null;
      this.drag.submit(this.target);
    });
    this.aim.addEventListener("drop", () => this.dropped());
  }

  private inSpace(values: number[]): [number, number, number] {
    return this.spatial === "floor" ? [values[0], 0.01, values[1]] : [values[0], values[1], values[2]];
  }

  /** After dragging: move a target out of reach to the nearest accessible one. */
  private dropped(): void {
    this.drag.whenDone().then(
      () => {
        if (this.answer?.outside) {
          this.refused = { target: [...this.target], off: this.answer.off };
          this.move(this.answer.reached);
        }
        this.link();
      },
      () => {},
    );
  }

  private move(target: number[]): void {
    this.target = [...target];
    if (this.spatial) this.aim?.put(...this.inSpace(this.target));
    this.drag.submit(this.target);
  }

  private async reach(target: number[]): Promise<void> {
    const { opened } = this;
    if (!opened) return;
    await this.studio.attempt(async () => {
      const message = await this.studio.live.request("parametric/reach", { name: opened.name, target, ...wornQuery() });
      if (this.opened === opened) this.show(message);
    });
  }

  private show(message: Message<ReachHead>): void {
    const { opened } = this;
    const { stage } = this.studio;
    this.answer = message.meta;
    this.weights = message.arrays.weights as Float32Array;
    const motion: MotionData = {
      name: opened!.name,
      fps: opened!.fps,
      frames: this.answer.frames,
      joints: opened!.joints,
      parents: opened!.parents,
      roles: opened!.roles,
      body: opened!.body,
      size: opened!.size,
      orientations: message.arrays.orientations as Float32Array,
      positions: message.arrays.positions as Float32Array,
      contacts: message.arrays.contacts as Uint8Array,
    };
    const [shown] = stage.characters;
    if (stage.characters.length === 1 && shown.motion.name === motion.name && shown.motion.joints === motion.joints) {
      shown.motion = motion;
      stage.clock.setRange(0, motion.frames / motion.fps);
      stage.rebuildPaths();
    } else this.studio.show([{ motion }], null, this.subject());
    if (this.spatial) this.aim?.arrived(...this.inSpace(this.answer.reached), this.answer.outside);
    this.applyHold();
  }

  /** Pause at the frame where the parameter is measured, or play. */
  private applyHold(): void {
    const { clock } = this.studio.stage;
    const key = this.answer?.keys.find((one) => one !== null) ?? null;
    if (!this.opened || !this.answer) return;
    if (this.hold && key !== null) {
      clock.pause();
      clock.seek(key / this.opened.fps);
    } else if (!this.hold && !clock.playing && !this.aim?.dragging) clock.play();
    this.studio.stage.wake();
  }

  /** Store the state in the address. */
  private link(values: Record<string, string | undefined> = {}): void {
    this.studio.go("aim", {
      name: this.opened?.name,
      target: this.target.map(rounded).join(","),
      hold: this.hold ? undefined : "no",
      ...values,
    });
  }

  private subject(): Subject {
    const { name } = this.opened!;
    return { title: name, body: () => ({ kind: "parametric", name, target: this.target.map(rounded) }) };
  }

  private save(suffix: "bvh" | "glb"): void {
    const { title, body } = this.subject();
    void this.studio.attempt(() =>
      download(`${title}.${suffix}`, "subjects/file", { body: { subject: body(), suffix } }),
    );
  }

  private unit(): string {
    return this.spatial || this.opened!.axes.every((axis) => axis === "y") ? "cm" : this.opened!.axes.join(", ");
  }

  private readout() {
    const { answer } = this;
    if (!answer) return html`<p class="faint">…</p>`;
    const centimeters = this.unit() === "cm";
    const far = (off: number) => (centimeters ? `${(100 * off).toFixed(1)} cm` : `${off.toFixed(3)} ${this.unit()}`);
    const off = far(answer.off);
    const { refused } = this;
    return html`<div class="readout" role="status">
      <b id="error" class=${answer.outside ? "far" : "near"}>${off}</b>
      <span>${answer.outside ? html`<span class="far">out of reach: this is the nearest accessible target</span>` : "from the target"}</span>
      <span class="faint number" id="milliseconds">${answer.milliseconds.toFixed(0)} ms</span>
      <span class="faint">on the server, for ${answer.frames} frames</span>
      ${
        refused
          ? html`<span class="far" id="refused" style="grid-column: 1 / -1">${refused.target.map(rounded).join(", ")} is out of reach by ${far(refused.off)};
        the target was moved to the nearest accessible position.</span>`
          : ""
      }</div>`;
  }

  private axis(index: number) {
    const { opened } = this;
    const [low, high] = bounds(this.accessible, index, opened!.axes.length);
    const set = (event: Event, done: boolean) => {
      const values = [...this.target];
      values[index] = Number(inputValue(event));
      this.refused = null;
      this.move(values);
      if (done) this.dropped();
    };
    const value = this.target[index].toFixed(3);
    return html`<div class="axis"><span class="faint">${opened!.axes[index]}</span>
      <input type="range" aria-label=${`Target ${opened!.axes[index]}`} min=${low} max=${high} step="0.001" .value=${value}
        @input=${(e: Event) => set(e, false)} @change=${(e: Event) => set(e, true)} />
      <input type="number" aria-label=${`Target ${opened!.axes[index]} (number)`} step="0.01" .value=${value} @change=${(e: Event) => set(e, true)} /></div>`;
  }

  /** A pad for two of the parameters, or a line for one. */
  private padOf({ axes }: ParametricHead) {
    const shown = axes.length > 1 ? this.pad : [0];
    const choose = (side: 0 | 1) => (event: Event) => {
      const chosen = Number(inputValue(event));
      const other = this.pad[1 - side] === chosen ? this.pad[side] : this.pad[1 - side]; // they change places
      this.pad = side === 0 ? [chosen, other] : [other, chosen];
    };
    const menu = (side: 0 | 1, title: string) =>
      html`<select aria-label=${title} @change=${choose(side)}>${axes.map((axis, at) => html`<option value=${at} ?selected=${at === this.pad[side]}>${axis}</option>`)}</select>`;
    const aim = (event: CustomEvent<number[]>) => {
      const values = [...this.target];
      shown.forEach((axis, at) => (values[axis] = event.detail[at]));
      this.refused = null;
      this.move(values);
    };
    return html`<section>${axes.length > 2 ? html`<div class="row">${menu(0, "Parameter across")}<span class="faint">across,</span>${menu(1, "Parameter upwards")}<span class="faint">upwards</span></div>` : ""}
      <loom-scatter .names=${axes} .columns=${shown} .samples=${this.accessible} .examples=${this.examples} .target=${this.target}
        .reached=${this.answer?.reached ?? []} .refused=${this.refused?.target ?? []} ?outside=${this.answer?.outside ?? false}
        @aim=${aim} @drop=${() => this.dropped()}></loom-scatter></section>`;
  }

  private bars() {
    const rows = [...this.weights]
      .map((weight, index) => ({ weight, name: this.opened!.examples[index] }))
      .filter((row) => Math.abs(row.weight) > 5e-4)
      .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
    return html`<section><h2>Blend weights</h2>${rows.slice(0, SHOWN_WEIGHTS).map(
      (row) => html`<div class="weight">
      <span title=${row.name}>${row.name}</span>
      <span class="bar"><i class=${row.weight < 0 ? "minus" : ""} style="width:${Math.min(100 * Math.abs(row.weight), 100)}%"></i></span>
      <span class="number">${row.weight.toFixed(2)}</span></div>`,
    )}
      ${rows.length > SHOWN_WEIGHTS ? html`<div class="faint">and ${rows.length - SHOWN_WEIGHTS} smaller ones</div>` : ""}</section>`;
  }

  private lines() {
    const { name } = this.opened!;
    const lib = this.studio.library.path;
    const at = this.target.map(rounded).join(",");
    return html`<loom-code cli=${`motionloom synthesize ${shellWord(lib)} ${shellWord(name)} --at=${at} -o ${shellWord(`${name}.bvh`)}`}
      python=${`import motionloom as ml; ml.Library(${pythonLiteral(lib)}).parametric[${pythonLiteral(name)}]([${at.replaceAll(",", ", ")}]).save(${pythonLiteral(`${name}.bvh`)})`}></loom-code>`;
  }

  private controls() {
    const opened = this.opened!;
    return html`
      <p>${opened.examples.length} examples, parameter <b>${opened.by.join(", ")}</b>.
        <span class="faint">${this.spatial ? "Drag the ball on the stage, or the ring below: blue dots are accessible targets, orange dots are examples." : "Drag the ring."}</span></p>
      ${this.padOf(opened)}
      <section>${opened.axes.map((_, index) => this.axis(index))}</section>
      <section>${this.readout()}</section>
      <section class="row">
        <label class="check"><input id="hold" type="checkbox" .checked=${this.hold}
          @change=${(e: Event) => {
            this.hold = isChecked(e);
            this.applyHold();
            this.link();
          }} />hold at the key frame</label>
        ${
          this.spatial
            ? html`<label class="check"><input type="checkbox" .checked=${this.dots}
          @change=${(e: Event) => {
            this.dots = isChecked(e);
            this.region!.visible = this.dots;
          }} />dots</label>`
            : ""
        }
      </section>
      <section class="row"><button id="bvh" @click=${() => this.save("bvh")}>Save BVH</button><button @click=${() => this.save("glb")}>Save GLB</button></section>
      ${this.bars()}${this.lines()}`;
  }

  render() {
    const choose = (event: Event) => this.studio.go("aim", { name: inputValue(event) || undefined });
    const form = this.making || !this.opened;
    return html`<h2>Aim a motion</h2>
      <div class="row"><select aria-label="Saved parametric motions" id="artifacts" @change=${choose}>
        <option value="">${this.saved.length ? "choose a saved parametric motion" : "no saved parametric motions"}</option>
        ${this.saved.map((one) => html`<option value=${one.name} ?selected=${one.name === this.opened?.name}>${one.name}: ${one.by.join(", ")} (${one.examples})</option>`)}</select>
        <button aria-pressed=${form} @click=${() => (this.making = !this.making)}>make new</button></div>
      ${
        form
          ? html`<section style="margin-top:10px"><loom-aim-form .studio=${this.studio} .saved=${this.saved.map((one) => one.name)} family=${this.studio.route.query.family ?? ""}
        .takes=${(this.studio.route.query.takes ?? "").split(",").filter(Boolean)}
        @made=${(e: CustomEvent<string>) => {
          this.making = false;
          void this.list();
          void this.open(e.detail, []);
          this.studio.go("aim", { name: e.detail });
        }}></loom-aim-form></section>`
          : ""
      }
      ${this.opened && !this.making ? this.controls() : ""}`;
  }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
