// Accessible parameters as dots in a plane (or on a line), with a target to drag.

import { LitElement, css, html, svg } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import { guard } from "lit/directives/guard.js";
import { sharedStyles } from "../page/style";
import { bounds } from "./target";

const WIDTH = 360;
const MARGIN = 26;

/** Fires "aim" with the new target as `detail`. */
@customElement("loom-scatter")
export class Scatter extends LitElement {
  @property({ attribute: false }) axes!: string[];
  @property({ attribute: false }) samples!: Float32Array;
  @property({ attribute: false }) examples!: Float32Array;
  @property({ attribute: false }) target!: number[];
  @property({ attribute: false }) reached!: number[];
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
  `,
  ];

  private get height(): number {
    return this.axes.length > 1 ? 240 : 70;
  }

  protected willUpdate(changed: Map<string, unknown>): void {
    if (!changed.has("samples") && !changed.has("axes")) return; // while a target is dragged they stay
    this.ranges = this.axes.map((_, axis) => {
      const [low, high] = bounds(this.samples, axis, this.axes.length);
      const margin = 0.06 * (high - low || 1);
      return [low - margin, high + margin];
    });
  }

  private x(value: number): number {
    const [low, high] = this.ranges[0];
    return MARGIN + ((value - low) / (high - low)) * (WIDTH - 2 * MARGIN);
  }

  private y(value: number | undefined): number {
    if (value === undefined) return 30;
    const [low, high] = this.ranges[1];
    return this.height - MARGIN - ((value - low) / (high - low)) * (this.height - 2 * MARGIN);
  }

  private aim(event: PointerEvent): void {
    const box = this.picture.getBoundingClientRect();
    const part = ((event.clientX - box.left) / box.width) * WIDTH;
    const [low, high] = this.ranges[0];
    const aimed = [low + ((part - MARGIN) / (WIDTH - 2 * MARGIN)) * (high - low)];
    if (this.axes.length > 1) {
      const [bottom, top] = this.ranges[1];
      const down = ((event.clientY - box.top) / box.height) * this.height;
      aimed.push(bottom + ((this.height - MARGIN - down) / (this.height - 2 * MARGIN)) * (top - bottom));
    }
    this.dispatchEvent(new CustomEvent("aim", { detail: aimed }));
  }

  private dots(values: Float32Array, kind: string, radius: number) {
    const width = this.axes.length;
    return Array.from(
      { length: values.length / width },
      (_, row) =>
        svg`<circle class=${kind} r=${radius} cx=${this.x(values[row * width])} cy=${this.y(width > 1 ? values[row * width + 1] : undefined)} />`,
    );
  }

  render() {
    const [low, high] = this.ranges[0];
    return html`<svg viewBox="0 0 ${WIDTH} ${this.height}" role="img" aria-label="Accessible parameters"
      @pointerdown=${(event: PointerEvent) => {
        this.dragging = true;
        (event.target as Element).setPointerCapture(event.pointerId);
        this.aim(event);
      }}
      @pointermove=${(event: PointerEvent) => {
        if (this.dragging) this.aim(event);
      }}
      @pointerup=${() => (this.dragging = false)}>
      ${guard([this.samples, this.examples, this.axes], () => [this.dots(this.samples, "sample", 2), this.dots(this.examples, "example", 3)])}
      <text x=${MARGIN} y=${this.height - 8}>${low.toFixed(2)}</text>
      <text x=${WIDTH / 2} y=${this.height - 8} text-anchor="middle">${this.axes[0]}</text>
      <text x=${WIDTH - MARGIN} y=${this.height - 8} text-anchor="end">${high.toFixed(2)}</text>
      ${this.axes.length > 1 ? svg`<text x="6" y=${this.height / 2}>${this.axes[1]}</text>` : ""}
      ${this.reached.length ? svg`<circle class="reached" r="3.5" cx=${this.x(this.reached[0])} cy=${this.y(this.reached[1])} />` : ""}
      <circle class="target" r="8" cx=${this.x(this.target[0])} cy=${this.y(this.target[1])} /></svg>`;
  }
}
