// The distance grid to look at: heat map, lines upon it, scales at its sides, a cross-hair.

import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomTransform } from "d3-zoom";
import { LitElement, css, html } from "lit";
import { customElement, property } from "lit/decorators.js";
import { HeatMap, type Seen } from "./heat-map";
import type { GridSide } from "../net/answers";
import { look } from "../page/style";

/** Lines upon the cells: (row, column) pairs, one line after the other. */
export interface Lines {
  cells: Float32Array;
  offsets: Int32Array;
  from: number;
  to: number;
}
export interface Layer {
  lines: Lines;
  colour: string;
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

const LEFT = 46;
const BOTTOM = 26; // pixels of the scales
const NEAREST = 60; // pixels per cell, at most

@customElement("loom-grid-map")
export class GridMap extends LitElement {
  @property({ attribute: false }) data: GridData | null = null;
  @property({ attribute: false }) marks: Uint8Array | null = null;
  @property({ attribute: false }) layers: Layer[] = [];
  /** In the unit of the distances. */
  @property({ type: Number }) threshold = Infinity;
  /** 1 minima, 2 the valid region. */
  @property({ type: Number }) shown = 0;
  @property({ attribute: false }) chosen: Cell | null = null;
  seen: Seen = { column: 0, row: 0, columns: 1, rows: 1 };
  /** What is seen without zoom; the transform of d3-zoom is relative to it. */
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

  static styles = [
    look,
    css`
    :host { display: block; position: relative; background: #171a20; border: 1px solid var(--line); border-radius: 7px; overflow: hidden;
      touch-action: none; cursor: crosshair; }
    canvas { position: absolute; }
    #heat { left: ${LEFT}px; top: 0; width: calc(100% - ${LEFT}px); height: calc(100% - ${BOTTOM}px); }
    #lines { inset: 0; width: 100%; height: 100%; }
    .told { position: absolute; right: 8px; top: 8px; background: rgba(23, 26, 32, 0.86); padding: 4px 9px; border-radius: 5px;
      font-size: 12px; pointer-events: none; font-variant-numeric: tabular-nums; }
  `,
  ];

  firstUpdated(): void {
    this.map = new HeatMap(this.renderRoot.querySelector("#heat")!);
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
      this.again();
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
    this.again();
  }

  /** All of it. */
  home(): void {
    if (!this.data) return;
    this.see({ column: 0, row: 0, columns: this.data.columns, rows: this.data.rows });
  }

  /** Bring some cells into view. */
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

  /** The cell under a point of the page; null beside the grid. */
  cellAt(clientX: number, clientY: number): Cell | null {
    if (!this.data) return null;
    const box = this.getBoundingClientRect();
    const column = Math.floor(this.seen.column + ((clientX - box.left - LEFT) / this.inner.width) * this.seen.columns);
    const row = Math.floor(this.seen.row + (1 - (clientY - box.top) / this.inner.height) * this.seen.rows);
    return row >= 0 && column >= 0 && row < this.data.rows && column < this.data.columns ? { row, column } : null;
  }

  /** Where a cell's middle is drawn: pixels within this element. */
  placeOf({ row, column }: Cell): { x: number; y: number } {
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

  private zoomed({ k, x, y }: ZoomTransform): void {
    const { base } = this;
    const { width, height } = this.inner;
    this.seen = {
      column: base.column + (((LEFT - x) / k - LEFT) / width) * base.columns,
      row: base.row + (1 - (height - y) / k / height) * base.rows,
      columns: base.columns / k,
      rows: base.rows / k,
    };
    this.again();
  }

  /** Shift + wheel: zoom along the columns alone, which d3-zoom cannot. */
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
    this.again();
  }

  /** Draw at the next frame, once. */
  again(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  private draw(): void {
    const heat = this.renderRoot.querySelector<HTMLCanvasElement>("#heat");
    const sheet = this.renderRoot.querySelector<HTMLCanvasElement>("#lines");
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
    const pen = sheet.getContext("2d")!;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.clientWidth, this.clientHeight);
    if (!this.data) return;
    this.map.draw(
      this.seen,
      Number.isFinite(this.threshold) ? (this.threshold / this.data.high) * (254 / 255) : 2,
      this.marks ? this.shown : 0,
    );
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, 0, width, height);
    pen.clip();
    for (const layer of this.layers) this.strokes(pen, layer);
    if (this.chosen) this.cross(pen, this.chosen, "rgba(255, 255, 255, 0.85)", true);
    pen.restore();
    this.scales(pen);
    const cell = this.pointer && this.cellAt(this.pointer.x, this.pointer.y);
    if (cell) this.cross(pen, cell, "rgba(255, 255, 255, 0.35)", false);
    this.tell(cell ?? this.chosen);
  }

  private strokes(pen: CanvasRenderingContext2D, { lines, colour, width, glow, thin }: Layer): void {
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
    pen.lineJoin = pen.lineCap = "round";
    pen.strokeStyle = "rgba(0, 0, 0, 0.55)"; // around lines, so that they show on anything
    pen.lineWidth = width + 2;
    if (!thin) pen.stroke(placed);
    pen.strokeStyle = colour;
    pen.globalAlpha = glow || thin ? 0.8 : 1;
    pen.lineWidth = width;
    pen.stroke(placed);
    pen.globalAlpha = 1;
  }

  private cross(pen: CanvasRenderingContext2D, cell: Cell, colour: string, ring: boolean): void {
    const { x, y } = this.placeOf(cell);
    const { width, height } = this.inner;
    pen.strokeStyle = colour;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(LEFT, y);
    pen.lineTo(LEFT + width, y);
    pen.moveTo(x, 0);
    pen.lineTo(x, height);
    pen.stroke();
    if (!ring) return;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(x, y, 6, 0, 2 * Math.PI);
    pen.stroke();
  }

  /** The frame, as stored, that a row or column stands for. */
  frame(side: "rows" | "columns", cell: number): number {
    const { rate, step, sides } = this.data!;
    const { first, fps, frames } = sides[side];
    return Math.min(Math.round(((first + cell * step) * fps) / rate), frames - 1);
  }

  private scales(pen: CanvasRenderingContext2D): void {
    const { width, height } = this.inner;
    const { seen, data } = this;
    const { rate, step, sides } = data!;
    pen.fillStyle = "#9aa3b2";
    pen.strokeStyle = "#3a424e";
    pen.font = "11px system-ui, sans-serif";
    pen.lineWidth = 1;
    for (const side of ["columns", "rows"] as const) {
      const { first, fps } = sides[side];
      const long = side === "columns";
      const from = ((first + (long ? seen.column : seen.row) * step) * fps) / rate;
      const count = ((long ? seen.columns : seen.rows) * step * fps) / rate;
      const pixels = long ? width : height;
      const every = nice((count * (long ? 70 : 40)) / pixels);
      for (let frame = Math.ceil(Math.max(from, 0) / every) * every; frame < from + count; frame += every) {
        const at = ((frame - from) / count) * pixels;
        pen.beginPath();
        if (long) {
          pen.moveTo(LEFT + at, height);
          pen.lineTo(LEFT + at, height + 5);
        } else {
          pen.moveTo(LEFT - 5, height - at);
          pen.lineTo(LEFT, height - at);
        }
        pen.stroke();
        pen.textAlign = long ? "center" : "right";
        pen.textBaseline = long ? "top" : "middle";
        if (long && at > 14 && at < width - 14) pen.fillText(String(frame), LEFT + at, height + 8);
        if (!long && at > 8 && at < height - 8) pen.fillText(String(frame), LEFT - 8, height - at);
      }
    }
  }

  private tell(cell: Cell | null): void {
    const words = this.renderRoot.querySelector<HTMLElement>(".told")!;
    words.hidden = !cell;
    if (!cell) return;
    const far = this.distance(cell);
    const { high, unit } = this.data!;
    words.textContent = `frame ${this.frame("rows", cell.row)} – ${this.frame("columns", cell.column)}: ${far === null ? `over ${high.toFixed(3)}` : far.toFixed(3)} ${unit}`;
  }

  render() {
    return html`<canvas id="heat"></canvas><canvas id="lines"></canvas><div class="told" hidden></div>`;
  }
}

/** 1, 2 or 5 times a power of ten, at least so much. */
function nice(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return power * (least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10);
}
