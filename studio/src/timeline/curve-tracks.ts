// Tracks of joints below the strips of the timeline, in their time: curves, and their values at the playhead.

import { LitElement, css, html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import type { MotionData } from "../motion/motion";
import { sharedStyles } from "../page/style";
import { color } from "../page/theme";
import { ABOUT, UNITS, curveOf, pointsOf, rangeOf, trackName, type Track } from "./curves";
import type { TimeAxis } from "./time-axis";

const HEIGHT = 46; // pixels of a track, at least
const SHOWN = 3; // tracks before they scroll
const PAINTS = ["cool", "accent"] as const; // left, right

interface Drawn {
  points: number[];
  curves: Float32Array[];
  first: number;
}

/** Fires "remove" with the number of a track, and "scrub" with an x of the axis. */
@customElement("loom-curve-tracks")
export class CurveTracks extends LitElement {
  @property({ attribute: false }) tracks: Track[] = [];
  @property({ attribute: false }) motion: MotionData | null = null;
  @property({ attribute: false }) axis!: TimeAxis;
  /** Start and end of the axis; a change triggers a redraw. */
  @property({ attribute: false }) span = "";
  @property({ type: Number }) width = 0;
  @property({ attribute: false }) timeOf: (frame: number) => number = () => 0;
  private readonly drawn = new Map<string, Drawn>();
  private of: MotionData | null = null;
  private sizes?: ResizeObserver;

  static styles = [
    sharedStyles,
    css`
    :host { display: flex; flex-direction: column; position: relative; min-height: ${HEIGHT}px; overflow: hidden auto; }
    .track { position: relative; flex: 1 0 ${HEIGHT}px; border-top: 1px solid var(--line); }
    canvas { position: absolute; inset: 0; width: 100%; height: 100%; touch-action: none; cursor: pointer; }
    .name { position: absolute; left: 0; top: 3px; width: 50px; font-size: 11px; line-height: 12px; text-align: right; color: var(--faint);
      overflow: hidden; overflow-wrap: anywhere; max-height: 100%; pointer-events: none; }
    .value { position: absolute; right: 4px; top: 3px; display: flex; gap: 8px; align-items: center; font-size: 11px; font-variant-numeric: tabular-nums;
      background: color-mix(in srgb, var(--panel) 80%, transparent); border-radius: 4px; padding: 0 2px 0 6px; }
    .value i { font-style: normal; }
    .value button { padding: 0 5px; font-size: 12px; line-height: 16px; }
    .now { position: absolute; top: 0; bottom: 0; width: 1.5px; background: var(--ink); pointer-events: none; }
    .why { position: absolute; left: 66px; top: 14px; font-size: 12px; }
  `,
  ];

  /** Height of a number of tracks, in pixels. */
  static height(tracks: number): number {
    return Math.min(tracks, SHOWN) * HEIGHT;
  }

  protected firstUpdated(): void {
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(this);
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.sizes?.disconnect();
  }

  protected updated(): void {
    this.draw();
  }

  private curves(track: Track): Drawn {
    const motion = this.motion!;
    const streamed = motion.capacity !== undefined;
    if (this.of !== motion) this.drawn.clear();
    this.of = motion;
    const key = `${track.kind} ${track.of}`;
    let found = this.drawn.get(key);
    if (!found || streamed) {
      const points = pointsOf(track, motion);
      found = { points, curves: points.map((point) => curveOf(motion, track.kind, point)), first: motion.first ?? 0 };
      this.drawn.set(key, found);
    }
    return found;
  }

  private draw(): void {
    if (!this.motion || !this.width) return;
    this.renderRoot.querySelectorAll("canvas").forEach((canvas, number) => {
      if (!this.tracks[number]) return;
      const fine = Math.min(devicePixelRatio, 2);
      const height = canvas.clientHeight;
      if (canvas.width !== Math.round(this.width * fine) || canvas.height !== Math.round(height * fine)) {
        canvas.width = Math.round(this.width * fine);
        canvas.height = Math.round(height * fine);
      }
      const context = canvas.getContext("2d")!;
      context.setTransform(fine, 0, 0, fine, 0, 0);
      context.clearRect(0, 0, this.width, height);
      this.drawTrack(context, height, this.tracks[number]);
    });
  }

  private drawTrack(context: CanvasRenderingContext2D, height: number, track: Track): void {
    const { axis, width } = this;
    const drawn = this.curves(track);
    const range = rangeOf(drawn.curves);
    if (!range) return;
    const [low, high] = range;
    const y = (value: number) => height - 4 - ((value - low) / (high - low)) * (height - 8);
    context.save();
    context.beginPath();
    context.rect(axis.gutter, 0, width - axis.gutter, height);
    context.clip();
    if (low < 0 && high > 0) {
      context.fillStyle = color("line");
      context.fillRect(axis.gutter, y(0), width, 1);
    }
    drawn.curves.forEach((curve, side) => {
      context.strokeStyle = drawn.curves.length > 1 ? color(PAINTS[side]) : color("good");
      context.lineWidth = 1.25;
      context.beginPath();
      this.trace(context, curve, drawn.first, y);
      context.stroke();
    });
    context.fillStyle = color("faint");
    context.font = "10px system-ui, sans-serif";
    context.textBaseline = "top";
    context.fillText(shown(high), axis.gutter + 4, 2);
    context.textBaseline = "bottom";
    context.fillText(shown(low), axis.gutter + 4, height - 1);
    context.restore();
  }

  /** The line of a curve; where many frames share a pixel, from the least to the greatest of them. */
  private trace(
    context: CanvasRenderingContext2D,
    curve: Float32Array,
    first: number,
    y: (value: number) => number,
  ): void {
    const { axis, width } = this;
    const perFrame = Math.max(this.timeOf(1) - this.timeOf(0), 1e-9);
    const frameAt = (x: number) => (axis.time(x, width) - this.timeOf(0)) / perFrame - first;
    const from = Math.max(Math.floor(frameAt(axis.gutter)), 0);
    const to = Math.min(Math.ceil(frameAt(width)), curve.length - 1);
    const step = Math.max((to - from) / Math.max(width - axis.gutter, 1), 1);
    if (step <= 2) {
      for (let frame = from; frame <= to; frame++)
        context.lineTo(axis.x(this.timeOf(first + frame), width), y(curve[frame]));
      return;
    }
    for (let at = from; at <= to; at += step) {
      let low = Infinity;
      let high = -Infinity;
      for (let frame = Math.floor(at); frame < Math.min(at + step, curve.length); frame++) {
        low = Math.min(low, curve[frame]);
        high = Math.max(high, curve[frame]);
      }
      const x = axis.x(this.timeOf(first + at), width);
      context.lineTo(x, y(low));
      context.lineTo(x, y(high));
    }
  }

  /** Move the playhead and show the values there; called for every drawn frame. */
  follow(time: number, frame: number): void {
    if (!this.motion || !this.width || !this.hasUpdated) return;
    if (this.motion.capacity !== undefined) this.draw();
    const x = this.axis.x(time, this.width);
    const inside = x >= this.axis.gutter - 1 && x <= this.width + 1;
    for (const line of this.renderRoot.querySelectorAll<HTMLElement>(".now")) {
      line.style.transform = `translateX(${x}px)`;
      line.hidden = !inside;
    }
    this.renderRoot.querySelectorAll(".value").forEach((box, number) => {
      if (!this.tracks[number]) return; // removed, and not laid out again yet
      const { curves, first } = this.curves(this.tracks[number]);
      box.querySelectorAll("i").forEach((cell, side) => {
        const text = this.valueText(this.tracks[number], curves, side, frame - first);
        if (cell.textContent !== text) cell.textContent = text;
      });
    });
  }

  private valueText(track: Track, curves: Float32Array[], side: number, at: number): string {
    const value = curves[side]?.[at];
    const sided = curves.length > 1 ? `${side ? "R" : "L"} ` : "";
    return value === undefined || Number.isNaN(value) ? `${sided}–` : `${sided}${shown(value)} ${UNITS[track.kind]}`;
  }

  private readonly scrub = (event: PointerEvent): void => {
    if (event.type === "pointerdown") (event.target as HTMLElement).setPointerCapture(event.pointerId);
    if (event.buttons & 1) this.dispatchEvent(new CustomEvent("scrub", { detail: event.offsetX }));
  };

  render() {
    if (!this.motion) return nothing;
    return this.tracks.map((track, number) => {
      const { curves } = this.curves(track);
      const name = trackName(track);
      const paint = (side: number) => (curves.length > 1 ? PAINTS[side] : "good");
      return html`<div class="track" role="group" aria-label="${ABOUT[track.kind]}: ${name}">
        <canvas aria-hidden="true" @pointerdown=${this.scrub} @pointermove=${this.scrub}></canvas><div class="now"></div>
        <span class="name" title=${ABOUT[track.kind]}>${name}<br />${track.kind}</span>
        ${curves.length ? nothing : html`<span class="why faint">${name}: not in this skeleton</span>`}
        <span class="value">${curves.map((_, side) => html`<i style="color:var(--${paint(side)})"></i>`)}
          <button title="Remove this track" aria-label="Remove the track: ${name}, ${track.kind}" @click=${() => this.dispatchEvent(new CustomEvent("remove", { detail: number }))}>×</button></span></div>`;
    });
  }
}

/** A number with the digits that matter. */
function shown(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}
