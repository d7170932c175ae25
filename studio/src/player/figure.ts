// A motion as points and bones, and its picture on a plain canvas: no WebGL, so that a page can hold hundreds of them.

import type { Header, Unpacked } from "./packed";
import { mixed, type Ink, type Rgb } from "./ink";

const FIELD_OF_VIEW = 0.5; // radians, along the shorter edge
const LIGHT = [-0.4, -0.92]; // direction toward the light, on the screen
const SHADED = 5; // pixels; thinner limbs are drawn flat
const TRACE = 6; // seconds of the path that are drawn, before and after
const UP_MOST = 1.5;
const DOWN_MOST = -0.3;

export interface FigureHeader extends Header {
  points: number;
  /** From, to, side (1 left, 0 middle, -1 right), width in meters. */
  bones: [number, number, number, number][];
  /** Base, top, width in meters. */
  head: [number, number, number] | null;
  /** The point whose path is drawn. */
  anchor: number;
  size: number;
  ground: number;
  grid: number;
  /** Direction of the camera, radians. */
  yaw: number;
  /** A path on the floor that the figure is to follow: x and z in meters. */
  line?: [number, number][];
  origin: number[];
  /** Meters per unit. */
  scale: number;
}

export interface Figure extends FigureHeader {
  positions: Float32Array; // (frames, points, 3)
  path: Float32Array; // (frames, 3), of the anchor
  target: Float32Array; // (frames, 3), of the camera
  reach: number;
}

type Codes = { header: FigureHeader; values: Int32Array | Float64Array; gaps: Unpacked["gaps"] };

export function figureOf({ header, values, gaps }: Codes): Figure {
  const { frames, points, bones, scale, origin } = header;
  // A point is stored relative to the upper end of its bone, which comes before it.
  const upper = new Int32Array(points).fill(-1);
  for (const [from, to] of bones) if (from < to) upper[to] = from;
  for (let p = 0; p < points; p++)
    if (upper[p] >= 0)
      for (let k = 0, a = 3 * p * frames, b = 3 * upper[p] * frames; k < 3 * frames; k++)
        values[a + k] += values[b + k];
  const positions = new Float32Array(frames * points * 3);
  const path = new Float32Array(frames * 3);
  for (let t = 0; t < frames; t++)
    for (let p = 0; p < points; p++)
      for (let c = 0; c < 3; c++) {
        const missing = gaps && gaps[t * points + p];
        const value = missing ? NaN : values[(3 * p + c) * frames + t] * scale + origin[c];
        positions[3 * (t * points + p) + c] = value;
        if (p === header.anchor) path[3 * t + c] = value;
      }
  const figure: Figure = { ...header, positions, path, target: new Float32Array(frames * 3), reach: 0 };
  follow(figure);
  figure.reach = reachOf(figure);
  return figure;
}

/** Camera target: the path smoothed over most of a second, or its middle if the path is short. */
function follow({ path, frames, size, ground, fps, target }: Figure): void {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  path.forEach((value, i) => {
    if (!(value === value)) return;
    low[i % 3] = Math.min(low[i % 3], value);
    high[i % 3] = Math.max(high[i % 3], value);
  });
  const stays = !(Math.max(high[0] - low[0], high[2] - low[2]) > 0.5 * size);
  const wide = Math.max(1, Math.round(0.45 * fps));
  for (let t = 0; t < frames; t++)
    for (let c = 0; c < 3; c++) {
      let sum = 0;
      let count = 0;
      for (let k = Math.max(0, t - wide); k <= Math.min(frames - 1, t + wide); k++) {
        const value = path[3 * k + c];
        if (!(value === value)) continue;
        sum += value;
        count++;
      }
      let value = count ? sum / count : 0;
      if (stays && c !== 1) value = low[c] <= high[c] ? (low[c] + high[c]) / 2 : 0;
      if (c === 1) value = Math.max(ground + 0.47 * size, value - 0.15 * size);
      target[3 * t + c] = value;
    }
}

/** Largest distance of the body from the camera target, which must fit into the picture. */
function reachOf({ frames, points, positions, target, size }: Figure): number {
  let farthest = 0;
  for (let t = 0; t < frames; t++)
    for (let p = 0; p < points; p++) {
      const i = 3 * (t * points + p);
      const aside = Math.hypot(positions[i] - target[3 * t], positions[i + 2] - target[3 * t + 2]);
      const above = Math.abs(positions[i + 1] - target[3 * t + 1]);
      // The camera looks slightly down, so points that are to the side and near also appear lower.
      const far = Math.max(0.85 * aside, above + 0.3 * aside);
      if (far > farthest) farthest = far;
    }
  return Math.min(Math.max(farthest, 0.5 * size), 1.2 * size);
}

/** A smooth curve through the stored frames (Catmull-Rom), with `width` numbers per frame. */
export function sample(values: Float32Array, frames: number, width: number, at: number, out: Float32Array): void {
  const i = Math.max(0, Math.min(Math.floor(at), frames - 1));
  const u = at - i;
  const a = Math.max(i - 1, 0) * width;
  const b = i * width;
  const c = Math.min(i + 1, frames - 1) * width;
  const d = Math.min(i + 2, frames - 1) * width;
  const u2 = u * u;
  const u3 = u2 * u;
  const wa = -0.5 * u3 + u2 - 0.5 * u;
  const wb = 1.5 * u3 - 2.5 * u2 + 1;
  const wc = -1.5 * u3 + 2 * u2 + 0.5 * u;
  const wd = 0.5 * u3 - 0.5 * u2;
  for (let k = 0; k < width; k++) {
    const p = values[b + k];
    const q = values[c + k];
    const curved = wa * values[a + k] + wb * p + wc * q + wd * values[d + k];
    out[k] = curved === curved ? curved : p + u * (q - p);
  }
}

/** A point on the screen and its distance, which is negative behind the camera. */
type Seen = [x: number, y: number, away: number];
type Limb = { a: Seen; b: Seen; side: number; width: number; away: number };

const whole = (a: Seen, b: Seen) => a[2] > 0 && b[2] > 0 && a[0] + b[0] === a[0] + b[0];

export class FigureScene {
  duration: number;
  readonly aspect = 0; // as the page likes
  private yaw = 0;
  private pitch = 0;
  private zoom = 1;
  private readonly pose: Float32Array;
  private readonly look = new Float32Array(3);
  private pen!: CanvasRenderingContext2D;
  private ink!: Ink;
  private width = 0;
  private height = 0;
  private focal = 1;
  private distance = 1;
  private axes: [number[], number[], number[]] = [[], [], []]; // right, up, toward the camera

  constructor(protected readonly figure: Figure) {
    this.duration = Math.max(figure.frames - 1, 0) / figure.fps;
    this.pose = new Float32Array(figure.points * 3);
    this.reset();
  }

  reset(): void {
    [this.yaw, this.pitch, this.zoom] = [this.figure.yaw, 0.2, 1];
  }

  turn(right: number, down: number): void {
    this.yaw -= right;
    this.pitch = Math.min(UP_MOST, Math.max(DOWN_MOST, this.pitch + down));
  }

  magnify(factor: number): void {
    this.zoom = Math.min(6, Math.max(0.15, this.zoom * factor));
  }

  draw(pen: CanvasRenderingContext2D, seconds: number, ink: Ink): void {
    const { figure, pose, look } = this;
    [this.pen, this.ink, this.width, this.height] = [pen, ink, pen.canvas.width, pen.canvas.height];
    const at = this.frameAt(Math.min(Math.max(seconds, 0), this.duration));
    sample(figure.positions, figure.frames, figure.points * 3, at, pose);
    sample(figure.target, figure.frames, 3, at, look);
    pen.lineCap = pen.lineJoin = "round";
    this.aim();
    this.drawGrid();
    this.drawLine();
    this.drawShadow();
    this.drawPath(at);
    this.drawLimbs();
  }

  protected frameAt(seconds: number): number {
    return seconds * this.figure.fps;
  }

  private aim(): void {
    const { yaw, pitch } = this;
    const near = [-Math.cos(yaw), Math.sin(yaw)];
    const [cos, sin] = [Math.cos(pitch), Math.sin(pitch)];
    this.axes = [
      [Math.sin(yaw), 0, Math.cos(yaw)],
      [-sin * near[0], cos, -sin * near[1]],
      [cos * near[0], sin, cos * near[1]],
    ];
    const half = Math.tan(FIELD_OF_VIEW / 2);
    this.focal = (0.5 * Math.min(this.width, this.height)) / half;
    this.distance = (1.06 * this.figure.reach) / half / this.zoom;
  }

  protected see(x: number, y: number, z: number): Seen {
    const { look, focal, distance } = this;
    const [dx, dy, dz] = [x - look[0], y - look[1], z - look[2]];
    const [right, up, near] = this.axes.map((axis) => dx * axis[0] + dy * axis[1] + dz * axis[2]);
    const away = distance - near;
    const scale = focal / Math.max(away, 1e-9);
    return [this.width / 2 + scale * right, this.height / 2 - scale * up, away < 0.05 * distance ? -1 : away];
  }

  /** A point moved by pixels in the plane that faces the camera. */
  protected shifted(point: readonly number[], dx: number, dy: number): number[] {
    const [, , away] = this.see(point[0], point[1], point[2]);
    const meters = Math.max(away, 1e-9) / this.focal;
    const [right, up] = this.axes;
    return point.map((value, c) => value + meters * (dx * right[c] - dy * up[c]));
  }

  protected line(a: Seen, b: Seen): void {
    this.pen.moveTo(a[0], a[1]);
    this.pen.lineTo(b[0], b[1]);
  }

  protected stroke(color: string, width: number, path: () => void): void {
    const { pen } = this;
    pen.strokeStyle = color;
    pen.lineWidth = width;
    pen.beginPath();
    path();
    pen.stroke();
  }

  /** Lines on the floor in pieces, fainter with their distance from the figure. */
  private drawGrid(): void {
    const { figure, look } = this;
    const reach = 2.6 * figure.size;
    const pieces = 12;
    const shades: [Seen, Seen][][] = [[], [], [], []];
    for (const axis of [0, 2]) {
      const other = 2 - axis;
      const last = Math.floor((look[axis] + reach) / figure.grid);
      for (let k = Math.ceil((look[axis] - reach) / figure.grid); k <= last; k++)
        for (let s = 0; s < pieces; s++) {
          const from = look[other] - reach + (2 * reach * s) / pieces;
          const to = from + (2 * reach) / pieces;
          const gone = Math.hypot(k * figure.grid - look[axis], (from + to) / 2 - look[other]) / reach;
          const shade = Math.min(Math.floor((1 - gone) * 4), 3);
          if (shade < 0) continue;
          const [a, b] = [from, to].map((along) =>
            axis === 0
              ? this.see(k * figure.grid, figure.ground, along)
              : this.see(along, figure.ground, k * figure.grid),
          );
          if (a[2] > 0 && b[2] > 0) shades[shade].push([a, b]);
        }
    }
    const width = Math.max(1, this.width / 700);
    shades.forEach((lines, shade) =>
      this.stroke(`rgba(${this.ink.grid},${0.05 + 0.08 * shade})`, width, () =>
        lines.forEach((one) => this.line(...one)),
      ),
    );
  }

  private drawLine(): void {
    const { figure, ink } = this;
    const points = (figure.line ?? []).map(([x, z]) => this.see(x, figure.ground, z));
    this.stroke(ink.street, (0.03 * figure.size * this.focal) / this.distance, () => {
      for (let k = 1; k < points.length; k++) if (whole(points[k - 1], points[k])) this.line(points[k - 1], points[k]);
    });
  }

  /** The bones on the floor: a wide faint layer under a narrow dark one, which looks soft. */
  private drawShadow(): void {
    const { figure, pose, ink, focal } = this;
    const pairs = figure.bones.map(([from, to, , width]): [Seen, Seen, number] => [
      this.see(pose[3 * from], figure.ground, pose[3 * from + 2]),
      this.see(pose[3 * to], figure.ground, pose[3 * to + 2]),
      width,
    ]);
    ink.shadow.forEach((color, layer) => {
      for (const [a, b, width] of pairs)
        if (whole(a, b))
          this.stroke(color, ((layer ? 0.8 : 1.5) * width * focal) / a[2], () =>
            this.line(a, [b[0] + 0.01, b[1], b[2]]),
          );
    });
  }

  private drawPath(at: number): void {
    const { figure, ink } = this;
    const now = Math.round(at);
    const memory = Math.max(1, Math.round(TRACE * figure.fps));
    const place = (t: number) => this.see(figure.path[3 * t], figure.ground, figure.path[3 * t + 2]);
    const piece = (t: number) => {
      const [a, b] = [place(t), place(t + 1)];
      if (whole(a, b)) this.line(a, b);
    };
    const width = (figure.size * this.focal) / this.distance;
    this.stroke(`rgba(${ink.path},0.2)`, 0.006 * width, () => {
      for (let t = now; t < Math.min(figure.frames - 1, now + memory); t++) piece(t);
    });
    for (let t = Math.max(0, now - memory); t < now; t++)
      // Colors are mixed because overlapping transparent round ends would look like beads.
      this.stroke(mixed(ink.path, ink.paper, 0.05 + 0.85 * ((now - t) / memory)), 0.014 * width, () => piece(t));
  }

  private drawLimbs(): void {
    const { figure, pose } = this;
    const seen = Array.from({ length: figure.points }, (_, p) =>
      this.see(pose[3 * p], pose[3 * p + 1], pose[3 * p + 2]),
    );
    const limbs = figure.bones.map(([from, to, side, width]): Limb => ({
      a: seen[from],
      b: seen[to],
      side,
      width,
      away: 0,
    }));
    if (figure.head) {
      const [from, to, width] = figure.head;
      const [p, q] = [3 * from, 3 * to];
      const end = (s: number) => {
        const [x, y, z] = [0, 1, 2].map((c) => pose[p + c] + s * (pose[q + c] - pose[p + c]));
        return this.see(x, y, z);
      };
      limbs.push({ a: end(0.55), b: end(0.67), side: 0, width, away: 0 });
    }
    const drawn = limbs.filter(({ a, b }) => whole(a, b));
    for (const one of drawn) one.away = (one.a[2] + one.b[2]) / 2;
    drawn.sort((one, other) => other.away - one.away);
    const nearest = drawn.at(-1)?.away ?? 0;
    for (const one of drawn) this.drawLimb(one, nearest);
  }

  /** A round limb, with an outline in the background color that separates it from parts behind it. */
  private drawLimb({ a, b, side, width, away }: Limb, nearest: number): void {
    const { ink, figure, focal } = this;
    const thick = Math.max((width * focal) / away, 1);
    const edge = (0.009 * figure.size * focal) / away;
    const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    const length = Math.hypot(dx, dy);
    const cut = (thick / 2 + edge) / Math.max(length, 1e-6);
    if (cut < 0.5)
      this.stroke(ink.page, thick + 2 * edge, () =>
        this.line([a[0] + cut * dx, a[1] + cut * dy, 0], [b[0] - cut * dx, b[1] - cut * dy, 0]),
      );
    const own = side > 0 ? ink.left : side < 0 ? ink.right : ink.middle;
    const haze = 0.4 * Math.min(1, (away - nearest) / (0.5 * figure.size));
    const layer = (share: number, shift: number, toward: Rgb, amount: number) => {
      // Shifted toward the light, across the limb.
      let [nx, ny] = length > 0.5 ? [-dy / length, dx / length] : LIGHT;
      const facing = nx * LIGHT[0] + ny * LIGHT[1];
      [nx, ny] = [nx * facing * shift * thick, ny * facing * shift * thick];
      const tone = own.map((value, k) => value + amount * (toward[k] - value)) as Rgb;
      this.stroke(mixed(tone, ink.paper, haze), share * thick, () =>
        this.line([a[0] + nx, a[1] + ny, 0], [b[0] + nx + (length ? 0 : 0.01), b[1] + ny, 0]),
      );
    };
    if (thick < SHADED) return layer(1, 0, own, 0);
    const steps = Math.min(Math.ceil(thick / 4), 6); // from the dark edge to the bright ridge
    for (let k = 0; k <= steps; k++) {
      const share = k / steps;
      const lit = 0.5 * share - 0.2;
      layer(1 - 0.78 * share, 0.24 * share, lit < 0 ? ink.dark : ink.bright, Math.abs(lit));
    }
  }
}
