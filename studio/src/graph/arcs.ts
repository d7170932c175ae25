// Takes as bars, with arcs for the transitions between them.

import { LitElement, css, html, type PropertyValues } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { sharedStyles } from "../page/style";
import { color } from "../page/theme";

/** Two similar frames, and the transitions between them in one or both directions. */
export interface TransitionPair {
  a: number;
  i: number;
  b: number;
  j: number;
  error: number;
  forward: number;
  backward: number;
}
export interface DrawnGraph {
  names: string[];
  frames: number[];
  fps: number;
  playable: string[];
  states: string[];
  source: Int32Array;
  target: Int32Array;
  errors: Float32Array;
  state: Uint8Array;
}

const LABEL = 130;
const MARGIN = 14;
const BAR = 7;
const STEPS = 24;
const NEAR = 7;
const INK = { played: "accent", locked: "good", removed: "bad", "cut off": "faint" } as const;
const inkOf = (state: string) => color(INK[state as keyof typeof INK] ?? "accent");

/** The transitions of a graph, both directions of a pair together. */
export function transitionPairs(drawn: DrawnGraph): TransitionPair[] {
  const pairs = new Map<string, TransitionPair>();
  for (let k = 0; k < drawn.errors.length; k++) {
    const [a, i, b, j] = [drawn.source[2 * k], drawn.source[2 * k + 1], drawn.target[2 * k], drawn.target[2 * k + 1]];
    const forward = a < b || (a === b && i <= j);
    const key = forward ? `${a},${i},${b},${j}` : `${b},${j},${a},${i}`;
    const pair =
      pairs.get(key) ??
      (forward
        ? { a, i, b, j, error: drawn.errors[k], forward: -1, backward: -1 }
        : { a: b, i: j, b: a, j: i, error: drawn.errors[k], forward: -1, backward: -1 });
    if (forward) pair.forward = k;
    else pair.backward = k;
    pairs.set(key, pair);
  }
  return [...pairs.values()].sort((x, y) => x.a - y.a || x.i - y.i || x.b - y.b || x.j - y.j);
}

/** A transition as the command line writes it. */
export function transitionText(drawn: DrawnGraph, number: number): string {
  const at = (places: Int32Array) => `${drawn.names[places[2 * number]]}:${places[2 * number + 1]}`;
  return `${at(drawn.source)},${at(drawn.target)}`;
}

/** Fires "pick" (a pair was chosen) and "act" (a key for it: "play", "remove", "lock"). */
@customElement("loom-arcs")
export class Arcs extends LitElement {
  @property({ attribute: false }) drawn: DrawnGraph | null = null;
  @property({ attribute: false }) picked: TransitionPair | null = null;
  @state() private hovered: TransitionPair | null = null;
  @state() private take = -1; // only arcs of this take are drawn; -1: all
  pairs: TransitionPair[] = [];
  private lines: Float32Array[] = [];
  private width = 0;
  private readonly watcher = new ResizeObserver(() => this.resized());

  @query("#arcs") private canvas!: HTMLCanvasElement;
  @query("#head") private head!: HTMLCanvasElement;

  static styles = [
    sharedStyles,
    css`
    :host { display: block; position: relative; }
    canvas { display: block; width: 100%; border-radius: 6px; background: var(--well); }
    #head { position: absolute; inset: 0; background: none; pointer-events: none; }
    #legend { display: flex; gap: 14px; font-size: 12px; margin-top: 4px; flex-wrap: wrap; }
    #legend i { display: inline-block; width: 16px; height: 0; border-top: 2px solid; vertical-align: middle; margin-right: 4px; }
  `,
  ];

  protected firstUpdated(): void {
    this.watcher.observe(this);
  }
  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.watcher.disconnect();
  }

  private resized(): void {
    if (Math.abs(this.clientWidth - this.width) < 2) return;
    this.width = this.clientWidth;
    this.layOut();
    this.paint();
  }

  protected updated(changed: PropertyValues): void {
    if (changed.has("drawn") && this.drawn) {
      this.pairs = transitionPairs(this.drawn);
      this.take = -1;
      this.layOut();
    }
    this.paint();
  }

  private get row(): number {
    return Math.min(Math.max(290 / Math.max(this.drawn?.names.length ?? 1, 1), 26), 74);
  }
  private get height(): number {
    return MARGIN * 2 + this.row * (this.drawn?.names.length ?? 0);
  }
  private x(frame: number): number {
    const longest = Math.max(...this.drawn!.frames, 1);
    return LABEL + (frame / longest) * (this.width - LABEL - MARGIN);
  }
  private y(take: number): number {
    return MARGIN + this.row * (take + 0.72);
  }

  private layOut(): void {
    if (!this.drawn || !this.width) return;
    this.lines = this.pairs.map((pair) => this.arc(pair));
  }

  private arc({ a, i, b, j }: TransitionPair): Float32Array {
    const [x0, y0, x3, y3] = [this.x(i), this.y(a), this.x(j), this.y(b)];
    const lift = Math.min(this.row * 0.62, 8 + Math.abs(x0 - x3) * 0.2);
    const [y1, y2] = a === b ? [y0 - lift * 1.33, y3 - lift * 1.33] : [y0 + (y3 - y0) * 0.5, y0 + (y3 - y0) * 0.5];
    const out = new Float32Array(2 * (STEPS + 1));
    for (let k = 0; k <= STEPS; k++) {
      const t = k / STEPS;
      const u = 1 - t;
      out[2 * k] = u * u * u * x0 + 3 * u * u * t * x0 + 3 * u * t * t * x3 + t * t * t * x3;
      out[2 * k + 1] = u * u * u * y0 + 3 * u * u * t * y1 + 3 * u * t * t * y2 + t * t * t * y3;
    }
    return out;
  }

  /** The state of a pair: the better one of its directions. */
  stateOf(pair: TransitionPair): string {
    const states = [pair.forward, pair.backward]
      .filter((k) => k >= 0)
      .map((k) => this.drawn!.states[this.drawn!.state[k]]);
    return ["locked", "played", "cut off", "removed"].find((one) => states.includes(one)) ?? "played";
  }

  private context(canvas: HTMLCanvasElement | null): CanvasRenderingContext2D | null {
    if (!canvas || !this.width) return null;
    const scale = devicePixelRatio;
    if (canvas.width !== Math.round(this.width * scale) || canvas.height !== Math.round(this.height * scale)) {
      canvas.width = Math.round(this.width * scale);
      canvas.height = Math.round(this.height * scale);
      canvas.style.height = `${this.height}px`;
    }
    const context = canvas.getContext("2d")!;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    return context;
  }

  private paint(): void {
    const context = this.drawn && this.context(this.canvas);
    if (!context) return;
    const { names, frames, playable } = this.drawn!;
    const worst = Math.max(...this.drawn!.errors, 1e-9);
    const crowded = Math.min(1, 60 / Math.max(this.pairs.length, 1));
    this.pairs.forEach((pair, index) => {
      if (this.take >= 0 && pair.a !== this.take && pair.b !== this.take) return;
      const state = this.stateOf(pair);
      const similarity = 1 - 0.7 * (pair.error / worst);
      const alpha =
        this.take >= 0 ? 0.75 : state === "played" ? Math.max(0.16, crowded * 0.8) * similarity + 0.05 : 0.7;
      this.stroke(
        context,
        this.lines[index],
        inkOf(state),
        alpha,
        state === "locked" ? 2 : 1.1,
        state === "removed" ? [4, 4] : state === "cut off" ? [1, 3] : [],
      );
    });
    names.forEach((name, take) => {
      const y = this.y(take);
      const here = playable.includes(name);
      context.fillStyle = color(here ? "cool" : "edge");
      context.beginPath();
      context.roundRect(this.x(0), y - BAR / 2, this.x(frames[take]) - this.x(0), BAR, 3);
      context.fill();
      context.fillStyle = color(take === this.take ? "accent" : here ? "ink" : "faint");
      context.font = "12px system-ui, sans-serif";
      context.textBaseline = "middle";
      context.fillText(fitted(context, name, LABEL - 16), 8, y);
    });
    for (const [pair, ink] of [
      [this.hovered, color("mark")],
      [this.picked, color("mark")],
    ] as const) {
      const index = pair ? this.pairs.indexOf(pair) : -1;
      if (index < 0) continue;
      this.stroke(context, this.lines[index], ink, 1, pair === this.picked ? 3 : 2, []);
      for (const at of [0, STEPS]) {
        context.fillStyle = ink;
        context.beginPath();
        context.arc(this.lines[index][2 * at], this.lines[index][2 * at + 1], 4, 0, 7);
        context.fill();
      }
    }
  }

  private stroke(
    context: CanvasRenderingContext2D,
    line: Float32Array,
    ink: string,
    alpha: number,
    width: number,
    dash: number[],
  ): void {
    context.globalAlpha = alpha;
    context.strokeStyle = ink;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    for (let k = 0; k <= STEPS; k++) context.lineTo(line[2 * k], line[2 * k + 1]);
    context.stroke();
    context.globalAlpha = 1;
    context.setLineDash([]);
  }

  /** Mark the position of a walk, or null to clear the mark. */
  showPosition(position: { name: string; frame: number } | null): void {
    const context = this.drawn && this.context(this.head);
    if (!context || !position) return;
    const take = this.drawn!.names.indexOf(position.name);
    if (take < 0) return;
    const x = this.x(position.frame);
    const y = this.y(take);
    context.fillStyle = color("mark");
    context.shadowColor = color("accent");
    context.shadowBlur = 10;
    context.beginPath();
    context.arc(x, y, 6, 0, 7);
    context.fill();
  }

  /** The middle of the arc of a pair, in pixels of the page. */
  middleOf(pair: TransitionPair): { x: number; y: number } {
    const box = this.canvas.getBoundingClientRect();
    const line = this.lines[this.pairs.indexOf(pair)];
    return { x: box.left + line[STEPS], y: box.top + line[STEPS + 1] };
  }

  private under(event: MouseEvent): { pair: TransitionPair | null; take: number } {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (x < LABEL - 8) {
      const take = Math.floor((y - MARGIN) / this.row);
      return { pair: null, take: take < (this.drawn?.names.length ?? 0) ? take : -1 };
    }
    let best = NEAR;
    let nearest: TransitionPair | null = null;
    this.lines.forEach((line, index) => {
      const pair = this.pairs[index];
      if (this.take >= 0 && pair.a !== this.take && pair.b !== this.take) return;
      for (let k = 0; k <= STEPS; k++) {
        const far = Math.hypot(line[2 * k] - x, line[2 * k + 1] - y);
        if (far < best) {
          best = far;
          nearest = pair;
        }
      }
    });
    return { pair: nearest, take: -1 };
  }

  private clicked(event: MouseEvent): void {
    const { pair, take } = this.under(event);
    if (take >= 0) this.take = take === this.take ? -1 : take;
    else this.choose(pair);
  }

  private choose(pair: TransitionPair | null): void {
    this.dispatchEvent(new CustomEvent("pick", { detail: pair }));
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const act = { Enter: "play", Delete: "remove", l: "lock" }[event.key];
    if (step) {
      const at = this.picked ? this.pairs.indexOf(this.picked) : step > 0 ? -1 : 0;
      this.choose(this.pairs[(at + step + this.pairs.length) % this.pairs.length]);
    } else if (act && this.picked) this.dispatchEvent(new CustomEvent("act", { detail: act }));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  render() {
    return html`<canvas id="arcs" tabindex="0" role="application"
      aria-label="Transitions between takes: arrow keys select, Enter plays, Delete removes, L locks"
      style="cursor:${this.hovered ? "pointer" : "default"}"
      @click=${this.clicked} @keydown=${this.key} @mouseleave=${() => (this.hovered = null)}
      @mousemove=${(event: MouseEvent) => (this.hovered = this.under(event).pair)}></canvas><canvas id="head"></canvas>
      <div id="legend" class="faint">${Object.keys(INK).map((state) => html`<span><i style="border-color:${inkOf(state)};border-top-style:${state === "removed" ? "dashed" : state === "cut off" ? "dotted" : "solid"}"></i>${state}</span>`)}
        <span>click a name to show only its arcs</span></div>`;
  }
}

/** Shorten a string to a width in pixels. */
function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let short = text;
  while (short.length > 3 && context.measureText(`${short}…`).width > width) short = short.slice(0, -1);
  return `${short}…`;
}
