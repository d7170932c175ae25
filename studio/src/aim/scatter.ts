// A pad: accessible parameters as dots in a plane (or on a line), with a target to drag or to move by arrow keys.

import { LitElement, css, html, svg } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import { guard } from "lit/directives/guard.js";
import { sharedStyles } from "../page/style";
import { bounds } from "./target";

const WIDTH = 360;
const MARGIN = 26;
const STEP = 0.02; // of the range, by an arrow key; with Shift a fifth of it

/** Fires "aim" with the new values of the shown parameters as `detail`, and "drop" when the target is released. */
@customElement("loom-scatter")
export class Scatter extends LitElement {
  /** Names of all parameters. */
  @property({ attribute: false }) names!: string[];
  /** The parameters that are shown: one, or two. */
  @property({ attribute: false }) columns!: number[];
  /** Rows of all parameters, flat. */
  @property({ attribute: false }) samples!: Float32Array;
  @property({ attribute: false }) examples!: Float32Array;
  @property({ attribute: false }) target!: number[];
  @property({ attribute: false }) reached!: number[];
  /** A target that was out of reach. */
  @property({ attribute: false }) refused: number[] = [];
  @property({ type: Boolean }) outside = false;
  private dragging = false;
  private ranges: [number, number][] = [];

  @query("svg") private picture!: SVGSVGElement;

  static styles = [
    sharedStyles,
    css`
    svg { width: 100%; display: block; background: var(--well); border-radius: 6px; touch-action: none; cursor: crosshair; }
    text { fill: var(--faint); font-size: 10px; }
    .sample { fill: var(--cool); opacity: 0.5; } .example { fill: var(--accent); }
    .target { fill: none; stroke: var(--good); stroke-width: 2; } .reached { fill: var(--mark); }
    .outside .target { stroke: var(--bad); stroke-dasharray: 3 2; }
    .gap, .refused { stroke: var(--bad); stroke-width: 1.5; fill: none; } .gap { stroke-dasharray: 4 3; }
  `,
  ];

  private get height(): number {
    return this.columns.length > 1 ? 240 : 70;
  }

  protected willUpdate(changed: Map<string, unknown>): void {
    if (!["samples", "names", "columns"].some((name) => changed.has(name))) return; // fixed while a target is dragged
    this.ranges = this.columns.map((column) => {
      const [low, high] = bounds(this.samples, column, this.names.length);
      const margin = 0.06 * (high - low || 1);
      return [low - margin, high + margin];
    });
  }

  private x(values: ArrayLike<number>, row = 0): number {
    const [low, high] = this.ranges[0];
    const value = values[row * this.names.length + this.columns[0]];
    return MARGIN + ((value - low) / (high - low)) * (WIDTH - 2 * MARGIN);
  }

  private y(values: ArrayLike<number>, row = 0): number {
    if (this.columns.length < 2) return 30;
    const [low, high] = this.ranges[1];
    const value = values[row * this.names.length + this.columns[1]];
    return this.height - MARGIN - ((value - low) / (high - low)) * (this.height - 2 * MARGIN);
  }

  private aim(event: PointerEvent): void {
    const box = this.picture.getBoundingClientRect();
    const part = ((event.clientX - box.left) / box.width) * WIDTH;
    const [low, high] = this.ranges[0];
    const aimed = [low + ((part - MARGIN) / (WIDTH - 2 * MARGIN)) * (high - low)];
    if (this.columns.length > 1) {
      const [bottom, top] = this.ranges[1];
      const down = ((event.clientY - box.top) / box.height) * this.height;
      aimed.push(bottom + ((this.height - MARGIN - down) / (this.height - 2 * MARGIN)) * (top - bottom));
    }
    this.dispatchEvent(new CustomEvent("aim", { detail: aimed }));
  }

  private readonly key = (event: KeyboardEvent): void => {
    const steps: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowDown: [0, -1],
      ArrowUp: [0, 1],
    };
    const step = steps[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const long = STEP * (event.shiftKey ? 0.2 : 1);
    const aimed = this.columns.map((column, at) => {
      const [low, high] = this.ranges[at];
      return this.target[column] + step[at] * long * (high - low);
    });
    this.dispatchEvent(new CustomEvent("aim", { detail: aimed }));
    this.dispatchEvent(new Event("drop"));
  };

  private dots(values: Float32Array, kind: string, radius: number) {
    return Array.from(
      { length: values.length / this.names.length },
      (_, row) => svg`<circle class=${kind} r=${radius} cx=${this.x(values, row)} cy=${this.y(values, row)} />`,
    );
  }

  private description(): string {
    const shown = this.columns.map((column) => `${this.names[column]} ${this.target[column].toFixed(2)}`).join(", ");
    return `Target: ${shown}${this.outside ? ", out of reach" : ""}. Arrow keys move it`;
  }

  render() {
    const [low, high] = this.ranges[0];
    const { refused, reached, target } = this;
    const drop = () => {
      if (this.dragging) this.dispatchEvent(new Event("drop"));
      this.dragging = false;
    };
    return html`<svg class=${this.outside ? "outside" : ""} viewBox="0 0 ${WIDTH} ${this.height}" tabindex="0" role="application" aria-roledescription="pad"
      aria-label=${this.description()} @keydown=${this.key}
      @pointerdown=${(event: PointerEvent) => {
        this.dragging = true;
        (event.target as Element).setPointerCapture(event.pointerId);
        this.aim(event);
      }}
      @pointermove=${(event: PointerEvent) => {
        if (this.dragging) this.aim(event);
      }}
      @pointerup=${drop} @pointercancel=${drop}>
      ${guard([this.samples, this.examples, this.names, this.columns.join()], () => [this.dots(this.samples, "sample", 2), this.dots(this.examples, "example", 3)])}
      <text x=${MARGIN} y=${this.height - 8}>${low.toFixed(2)}</text>
      <text x=${WIDTH / 2} y=${this.height - 8} text-anchor="middle">${this.names[this.columns[0]]}</text>
      <text x=${WIDTH - MARGIN} y=${this.height - 8} text-anchor="end">${high.toFixed(2)}</text>
      ${this.columns.length > 1 ? svg`<text x="6" y=${this.height / 2}>${this.names[this.columns[1]]}</text>` : ""}
      ${this.outside && reached.length ? svg`<line class="gap" x1=${this.x(target)} y1=${this.y(target)} x2=${this.x(reached)} y2=${this.y(reached)} />` : ""}
      ${refused.length ? svg`<path class="refused" d=${`M${this.x(refused) - 5} ${this.y(refused) - 5}l10 10m0 -10l-10 10`} />` : ""}
      ${reached.length ? svg`<circle class="reached" r="3.5" cx=${this.x(reached)} cy=${this.y(reached)} />` : ""}
      <circle class="target" r="8" cx=${this.x(target)} cy=${this.y(target)} /></svg>`;
  }
}
