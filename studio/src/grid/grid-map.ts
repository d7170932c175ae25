// The distance grid: heat map, lines over it, axes, cross-hair.

import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomTransform } from "d3-zoom";
import { LitElement, css, html } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import type { GridSide } from "../net/types";
import { sharedStyles } from "../page/style";
import { HeatMap, type Seen } from "./heat-map";
import { color } from "../page/theme";

/** Lines over the cells: (row, column) pairs, split by `offsets`; lines [from, to) are drawn. */
export interface Lines {
  cells: Float32Array;
  offsets: Int32Array;
  from: number;
  to: number;
}
export interface Layer {
  lines: Lines;
  color: string;
  width: number;
  glow?: boolean;
  thin?: boolean;
}
export interface GridData {
  cells: Uint8Array;
  rows: number;
  columns: number;
  high: number;
  low: number;
  unit: string;
  rate: number;
  step: number;
  sides: { rows: GridSide; columns: GridSide };
}
export interface Cell {
  row: number;
  column: number;
}

const LEFT = 46; // pixels of the axes
const BOTTOM = 26;
const NEAREST = 60; // pixels per cell at the highest zoom

@customElement("loom-grid-map")
export class GridMap extends LitElement {
  @property({ attribute: false }) data: GridData | null = null;
  @property({ attribute: false }) marks: Uint8Array | null = null;
  @property({ attribute: false }) layers: Layer[] = [];
  /** Distances above it are darkened. */
  @property({ type: Number }) threshold = Infinity;
  /** Marks to show, as bits: 1 minima, 2 valid region. */
  @property({ type: Number }) shown = 0;
  @property({ attribute: false }) chosen: Cell | null = null;
  seen: Seen = { column: 0, row: 0, columns: 1, rows: 1 };
  /** Visible cells at scale 1; the transform of d3-zoom is relative to them. */
  private base: Seen = this.seen;
  private readonly zooming = zoom<GridMap, unknown>()
    .filter((event) => !event.button && !(event.type === "wheel" && event.shiftKey))
    .clickDistance(4)
    .on("zoom", ({ transform }: D3ZoomEvent<GridMap, unknown>) => this.zoomed(transform));
  private map?: HeatMap;
  private pointer: { x: number; y: number } | null = null;
  private waiting = false;
  private readonly sized = new ResizeObserver(() => this.see(this.seen));
  private readonly paths = new WeakMap<Lines, Path2D>();

  @query("#heat") private heat!: HTMLCanvasElement;
  @query("#lines") private sheet!: HTMLCanvasElement;
  @query(".caption") private caption!: HTMLElement;

  static styles = [
    sharedStyles,
    css`
    :host { display: block; position: relative; background: var(--stage); border: 1px solid var(--line); border-radius: 7px; overflow: hidden;
      touch-action: none; cursor: crosshair; }
    canvas { position: absolute; }
    #heat { left: ${LEFT}px; top: 0; width: calc(100% - ${LEFT}px); height: calc(100% - ${BOTTOM}px); }
    #lines { inset: 0; width: 100%; height: 100%; }
    .caption { position: absolute; right: 8px; top: 8px; background: color-mix(in srgb, var(--stage) 86%, transparent); padding: 4px 9px; border-radius: 5px;
      font-size: 12px; pointer-events: none; font-variant-numeric: tabular-nums; }
  `,
  ];

  firstUpdated(): void {
    this.map = new HeatMap(this.heat);
    this.sized.observe(this);
    select<GridMap, unknown>(this).call(this.zooming).on("dblclick.zoom", null);
    this.addEventListener("wheel", (event) => this.zoomColumns(event), { passive: false });
    this.addEventListener("pointermove", (event) => this.move(event));
    this.addEventListener("click", (event) => {
      const cell = this.cellAt(event.clientX, event.clientY);
      if (cell) this.dispatchEvent(new CustomEvent("cell", { detail: cell }));
    });
    this.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.redraw();
    });
    this.addEventListener("dblclick", () => this.home());
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.sized.disconnect();
    this.map?.dispose();
    this.map = undefined;
  }

  updated(changed: Map<string, unknown>): void {
    if (!this.map) return;
    if (changed.has("data") && this.data) {
      this.map.setCells(this.data.cells, this.data.rows, this.data.columns);
      this.home();
    }
    if (changed.has("data") || changed.has("marks"))
      this.map.setMarks(this.data && this.marks?.length === this.data.cells.length ? this.marks : null);
    this.redraw();
  }

  /** Show the whole grid. */
  home(): void {
    if (!this.data) return;
    this.see({ column: 0, row: 0, columns: this.data.columns, rows: this.data.rows });
  }

  /** Show the cells from `first` to `last`, with a margin. */
  look(first: Cell, last: Cell): void {
    const margin = 0.5;
    const rows = Math.max(last.row - first.row, 4);
    const columns = Math.max(last.column - first.column, 4);
    this.see({
      row: first.row - margin * rows,
      column: first.column - margin * columns,
      rows: rows * (1 + 2 * margin),
      columns: columns * (1 + 2 * margin),
    });
  }

  /** The cell under a point of the page; null outside of the grid. */
  cellAt(clientX: number, clientY: number): Cell | null {
    if (!this.data) return null;
    const box = this.getBoundingClientRect();
    const column = Math.floor(this.seen.column + ((clientX - box.left - LEFT) / this.inner.width) * this.seen.columns);
    const row = Math.floor(this.seen.row + (1 - (clientY - box.top) / this.inner.height) * this.seen.rows);
    return row >= 0 && column >= 0 && row < this.data.rows && column < this.data.columns ? { row, column } : null;
  }

  /** The center of a cell, in pixels of this element. */
  positionOf({ row, column }: Cell): { x: number; y: number } {
    const { width, height } = this.inner;
    return {
      x: LEFT + ((column + 0.5 - this.seen.column) / this.seen.columns) * width,
      y: (1 - (row + 0.5 - this.seen.row) / this.seen.rows) * height,
    };
  }

  distance({ row, column }: Cell): number | null {
    const byte = this.data!.cells[row * this.data!.columns + column];
    return byte === 255 ? null : (byte / 254) * this.data!.high;
  }

  private get inner() {
    return { width: Math.max(this.clientWidth - LEFT, 1), height: Math.max(this.clientHeight - BOTTOM, 1) };
  }

  /** Show these cells; zooming starts from here. */
  private see(seen: Seen): void {
    this.base = seen;
    if (this.data) {
      const { width, height } = this.inner;
      const least = (all: number, pixels: number) => 1.3 * Math.max(all, pixels / NEAREST);
      this.zooming.scaleExtent([
        Math.min(seen.columns / least(this.data.columns, width), seen.rows / least(this.data.rows, height), 1),
        Math.max((seen.columns * NEAREST) / width, (seen.rows * NEAREST) / height, 1),
      ]);
    }
    select<GridMap, unknown>(this).call(this.zooming.transform, zoomIdentity);
  }

  private zoomed(transform: ZoomTransform): void {
    this.seen = visibleCells(this.base, transform, this.inner);
    this.redraw();
  }

  /** Shift + wheel zooms the columns only, which d3-zoom cannot do. */
  private zoomColumns(event: WheelEvent): void {
    if (!event.shiftKey || !this.data) return;
    event.preventDefault();
    const { width } = this.inner;
    const part = (event.clientX - this.getBoundingClientRect().left - LEFT) / width;
    const most = 1.3 * Math.max(this.data.columns, width / NEAREST);
    const factor = 2 ** ((event.deltaY || event.deltaX) * 0.002);
    const columns = Math.min(Math.max(this.seen.columns * factor, width / NEAREST), most);
    this.see({ ...this.seen, columns, column: this.seen.column + part * (this.seen.columns - columns) });
  }

  private move(event: PointerEvent): void {
    this.pointer = { x: event.clientX, y: event.clientY };
    const cell = event.buttons ? null : this.cellAt(event.clientX, event.clientY);
    if (cell) this.dispatchEvent(new CustomEvent("hover", { detail: cell }));
    this.redraw();
  }

  /** Draw once, at the next animation frame. */
  redraw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  private draw(): void {
    const { heat, sheet } = this;
    if (!this.map || !heat || !sheet || !this.clientWidth) return;
    const ratio = Math.min(devicePixelRatio, 2);
    const { width, height } = this.inner;
    for (const [canvas, w, h] of [
      [heat, width, height],
      [sheet, this.clientWidth, this.clientHeight],
    ] as const)
      if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
        canvas.width = Math.round(w * ratio);
        canvas.height = Math.round(h * ratio);
      }
    const context = sheet.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.clientWidth, this.clientHeight);
    if (!this.data) return;
    this.map.draw(
      this.seen,
      Number.isFinite(this.threshold) ? (this.threshold / this.data.high) * (254 / 255) : 2,
      this.marks ? this.shown : 0,
    );
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, width, height);
    context.clip();
    for (const layer of this.layers) this.strokes(context, layer);
    if (this.chosen) this.cross(context, this.chosen, "rgba(255, 255, 255, 0.85)", true);
    context.restore();
    this.axes(context);
    const cell = this.pointer && this.cellAt(this.pointer.x, this.pointer.y);
    if (cell) this.cross(context, cell, "rgba(255, 255, 255, 0.35)", false);
    this.showCaption(cell ?? this.chosen);
  }

  private strokes(context: CanvasRenderingContext2D, { lines, color, width, glow, thin }: Layer): void {
    let path = this.paths.get(lines);
    if (!path) {
      path = new Path2D();
      for (let line = lines.from; line < lines.to; line++) {
        const [start, end] = [lines.offsets[line], lines.offsets[line + 1]];
        for (let at = start; at < end; at++) {
          const x = lines.cells[at * 2 + 1] + 0.5;
          const y = lines.cells[at * 2] + 0.5;
          if (at === start) path.moveTo(x, y);
          else path.lineTo(x, y);
        }
      }
      this.paths.set(lines, path);
    }
    const { width: w, height: h } = this.inner;
    const { seen } = this;
    const placed = new Path2D();
    placed.addPath(
      path,
      new DOMMatrix([
        w / seen.columns,
        0,
        0,
        -h / seen.rows,
        LEFT - (seen.column * w) / seen.columns,
        h + (seen.row * h) / seen.rows,
      ]),
    );
    context.lineJoin = context.lineCap = "round";
    context.strokeStyle = "rgba(0, 0, 0, 0.55)"; // an outline, visible on any color
    context.lineWidth = width + 2;
    if (!thin) context.stroke(placed);
    context.strokeStyle = color;
    context.globalAlpha = glow || thin ? 0.8 : 1;
    context.lineWidth = width;
    context.stroke(placed);
    context.globalAlpha = 1;
  }

  private cross(context: CanvasRenderingContext2D, cell: Cell, color: string, ring: boolean): void {
    const { x, y } = this.positionOf(cell);
    const { width, height } = this.inner;
    context.strokeStyle = color;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(LEFT, y);
    context.lineTo(LEFT + width, y);
    context.moveTo(x, 0);
    context.lineTo(x, height);
    context.stroke();
    if (!ring) return;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 6, 0, 2 * Math.PI);
    context.stroke();
  }

  /** The frame of a row or column, in the stored motion. */
  frame(side: "rows" | "columns", cell: number): number {
    const { rate, step, sides } = this.data!;
    const { first, fps, frames } = sides[side];
    return Math.min(Math.round(((first + cell * step) * fps) / rate), frames - 1);
  }

  private axes(context: CanvasRenderingContext2D): void {
    const { width, height } = this.inner;
    const { seen, data } = this;
    const { rate, step, sides } = data!;
    context.fillStyle = color("faint");
    context.strokeStyle = color("edge");
    context.font = "11px system-ui, sans-serif";
    context.lineWidth = 1;
    for (const side of ["columns", "rows"] as const) {
      const { first, fps } = sides[side];
      const long = side === "columns";
      const from = ((first + (long ? seen.column : seen.row) * step) * fps) / rate;
      const count = ((long ? seen.columns : seen.rows) * step * fps) / rate;
      const pixels = long ? width : height;
      const every = niceStep((count * (long ? 70 : 40)) / pixels);
      for (let frame = Math.ceil(Math.max(from, 0) / every) * every; frame < from + count; frame += every) {
        const at = ((frame - from) / count) * pixels;
        context.beginPath();
        if (long) {
          context.moveTo(LEFT + at, height);
          context.lineTo(LEFT + at, height + 5);
        } else {
          context.moveTo(LEFT - 5, height - at);
          context.lineTo(LEFT, height - at);
        }
        context.stroke();
        context.textAlign = long ? "center" : "right";
        context.textBaseline = long ? "top" : "middle";
        if (long && at > 14 && at < width - 14) context.fillText(String(frame), LEFT + at, height + 8);
        if (!long && at > 8 && at < height - 8) context.fillText(String(frame), LEFT - 8, height - at);
      }
    }
  }

  private showCaption(cell: Cell | null): void {
    const { caption } = this;
    caption.hidden = !cell;
    if (!cell) return;
    const far = this.distance(cell);
    const { high, unit } = this.data!;
    caption.textContent = `frame ${this.frame("rows", cell.row)} – ${this.frame("columns", cell.column)}: ${far === null ? `over ${high.toFixed(3)}` : far.toFixed(3)} ${unit}`;
  }

  render() {
    return html`<canvas id="heat"></canvas><canvas id="lines"></canvas><div class="caption" hidden></div>`;
  }
}

/** The visible cells after a transform of d3-zoom, in pixels of the element; `base`: the visible cells before. */
export function visibleCells(
  base: Seen,
  { k, x, y }: Pick<ZoomTransform, "k" | "x" | "y">,
  { width, height }: { width: number; height: number },
): Seen {
  return {
    column: base.column + (((LEFT - x) / k - LEFT) / width) * base.columns,
    row: base.row + (1 - (height - y) / k / height) * base.rows,
    columns: base.columns / k,
    rows: base.rows / k,
  };
}

/** The smallest of 1, 2, 5 times a power of ten that is not below `least`. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return power * (least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10);
}
