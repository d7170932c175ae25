// A small animated figure over a ghost, drawn only while visible.

import { LitElement, css, html } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import type { Figure } from "../motion/aligned";
import { reducedMotion } from "../page/theme";

const AZIMUTH = (38 * Math.PI) / 180; // three-quarter view; all figures start with the same heading
const TILT = 0.18;
const TALL = 2.02; // height of the canvas in meters
const HOLD = 0.35; // seconds for which the last pose is held
const TICK = 33; // milliseconds between draws

const seen = new Set<FigureLoop>();
let last = 0;

function tick(now: number): void {
  if (seen.size) requestAnimationFrame(tick);
  if (now - last < TICK) return;
  last = now;
  for (const one of seen) one.draw(now / 1000);
}

const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const one = target as FigureLoop;
      if (!isIntersecting) {
        seen.delete(one);
        continue;
      }
      if (!seen.size) requestAnimationFrame(tick);
      seen.add(one);
    }
  },
  { rootMargin: "80px" },
);

/** Projection of the points of a frame: meters to the right of a floor point, and up from it. */
export function viewOf(figure: Figure, frame: number, center: [number, number]): (point: number) => [number, number] {
  const { points, positions } = figure;
  const cos = Math.cos(AZIMUTH);
  const sin = Math.sin(AZIMUTH);
  const whole = Math.min(Math.floor(frame), figure.frames - 1);
  const part = frame - whole;
  const from = whole * points * 3;
  const to = Math.min(whole + 1, figure.frames - 1) * points * 3;
  return (point) => {
    const at = point * 3;
    const mix = (k: number) => positions[from + at + k] + part * (positions[to + at + k] - positions[from + at + k]);
    const dx = mix(0) - center[0];
    const dz = mix(2) - center[1];
    return [dx * cos - dz * sin, mix(1) - TILT * (dx * sin + dz * cos)];
  };
}

/** Draw a pose; `center` of the floor is drawn at `x`, `y`. */
function paintFigure(
  context: CanvasRenderingContext2D,
  figure: Figure,
  frame: number,
  center: [number, number],
  x: number,
  y: number,
  scale: number,
  colors: [string, string, string],
): void {
  const { body } = figure;
  const view = viewOf(figure, frame, center);
  const place = (point: number): [number, number] => {
    const [right, up] = view(point);
    return [x + scale * right, y - scale * up];
  };
  context.lineCap = "round";
  body.bones.forEach(([a, b], number) => {
    const [ax, ay] = place(a);
    const [bx, by] = place(b);
    context.strokeStyle = colors[body.sides[number] + 1];
    context.lineWidth = Math.max(1.4, body.widths[number] * scale * 1.35);
    context.beginPath();
    context.moveTo(ax, ay);
    context.lineTo(bx, by);
    context.stroke();
  });
  if (body.head) {
    const [ax, ay] = place(body.head[0]);
    const [bx, by] = place(body.head[1]);
    context.fillStyle = colors[1];
    context.beginPath();
    context.arc(ax + 0.6 * (bx - ax), ay + 0.6 * (by - ay), 0.085 * scale, 0, 2 * Math.PI);
    context.fill();
  }
}

/** Floor position of the figure's hips. */
export function anchorOf(figure: Figure, frame: number): [number, number] {
  const at = (Math.min(Math.floor(frame), figure.frames - 1) * figure.points + figure.body.anchor) * 3;
  return [figure.positions[at], figure.positions[at + 2]];
}

// Right, middle, left: the sides differ in lightness.
export const WARM: [string, string, string] = ["#c2662a", "#e0823d", "#f3ad79"];
export const COOL: [string, string, string] = ["#3f7fae", "#4f9fd8", "#7fbdea"];

@customElement("loom-figure")
export class FigureLoop extends LitElement {
  @property({ attribute: false }) figure: Figure | null = null;
  @property({ attribute: false }) ghost: Figure | null = null;
  @property({ type: Number }) seconds = 1;
  @property({ attribute: false }) colors: [string, string, string] = WARM;
  private held: number | null = null;

  @query("canvas") private canvas!: HTMLCanvasElement | null;

  static styles = css`:host { display: block; } canvas { width: 100%; height: 100%; display: block; }`;

  connectedCallback(): void {
    super.connectedCallback();
    watcher.observe(this);
  }
  disconnectedCallback(): void {
    super.disconnectedCallback();
    watcher.unobserve(this);
    seen.delete(this);
  }

  /** Freeze at a fraction of the motion, 0 to 1, as for a screenshot. */
  hold(part: number | null): void {
    this.held = part;
    this.draw(0);
  }

  draw(now: number): void {
    const { canvas } = this;
    if (!canvas || !this.clientWidth) return;
    const ratio = Math.min(devicePixelRatio, 2);
    const width = Math.round(this.clientWidth * ratio);
    const height = Math.round(this.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const context = canvas.getContext("2d")!;
    context.clearRect(0, 0, width, height);
    const { figure, ghost } = this;
    if (!figure) return;
    const phase =
      this.held ?? (reducedMotion() ? 0.5 : null) ?? Math.min((now % (this.seconds + HOLD)) / this.seconds, 1);
    const scale = height / TALL;
    const floor = height * 0.92;
    const frame = phase * (figure.frames - 1);
    const other = ghost ? phase * (ghost.frames - 1) : 0;
    const own = anchorOf(figure, frame);
    const theirs = ghost ? anchorOf(ghost, other) : own;
    const center: [number, number] = [(own[0] + theirs[0]) / 2, (own[1] + theirs[1]) / 2];
    context.fillStyle = "rgba(140, 150, 170, 0.13)";
    context.beginPath();
    context.ellipse(width / 2, floor, 0.42 * scale, 0.1 * scale, 0, 0, 2 * Math.PI);
    context.fill();
    if (ghost) {
      context.globalAlpha = 0.42;
      paintFigure(context, ghost, other, center, width / 2, floor, scale, COOL);
      context.globalAlpha = 1;
    }
    paintFigure(context, figure, frame, center, width / 2, floor, scale, this.colors);
  }

  render() {
    return html`<canvas></canvas>`;
  }
}
