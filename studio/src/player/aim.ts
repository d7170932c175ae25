// A parametric motion that is aimed by dragging: `packed_aim` in plots/parametric.py blends it for many targets.
//
// Cells (triangles, tetrahedra) join the samples whose parameters are next to each other. A target in a cell blends the samples
// at its corners, so the blend reaches the target exactly; a target outside is moved to the nearest point of a cell. Knots are
// the times of the key frames in every sample, and all samples have them at the same stored frames.

import { FigureScene, figureOf, type Figure, type FigureHeader } from "./figure";
import type { Ink } from "./ink";
import type { Unpacked } from "./packed";

const HANDLE = 8; // pixels: radius of the target
const GRASP = 26; // pixels: distance from which a finger takes hold of the target
const CLOSE = 0.005; // of the range of a parameter; a target that is missed by less counts as reached

export interface AimHeader extends FigureHeader {
  axes: string[];
  /** Parameters of each sample. */
  samples: number[][];
  cells: number[][];
  /** Stored frames of the knots, and their times in each sample. */
  knots: number[];
  times: number[][];
  start: number[];
  /** Axes of space (0, 1, 2) that the parameters are; empty if they are not a position. */
  space: number[];
}

export interface Reached {
  corners: number[];
  shares: number[];
  place: number[];
  distance: number;
}

const dot = (a: number[], b: number[]): number => a.reduce((sum, value, k) => sum + value * b[k], 0);
const minus = (a: number[], b: number[]): number[] => a.map((value, k) => value - b[k]);

/** Solve a symmetric system of one to three equations; null if it is singular. */
function solved(matrix: number[][], right: number[]): number[] | null {
  const rows = matrix.map((row, k) => [...row, right[k]]);
  const size = rows.length;
  for (let k = 0; k < size; k++) {
    const best = rows.reduce((at, row, i) => (i >= k && Math.abs(row[k]) > Math.abs(rows[at][k]) ? i : at), k);
    [rows[k], rows[best]] = [rows[best], rows[k]];
    if (Math.abs(rows[k][k]) < 1e-14) return null;
    for (let i = 0; i < size; i++) {
      if (i === k) continue;
      const factor = rows[i][k] / rows[k][k];
      for (let c = k; c <= size; c++) rows[i][c] -= factor * rows[k][c];
    }
  }
  return rows.map((row, k) => row[size] / row[k]);
}

/** The point of a cell that is nearest to the target, as shares of its corners. */
export function nearestIn(samples: number[][], corners: number[], target: number[]): Reached {
  const [first, ...others] = corners.map((corner) => samples[corner]);
  const edges = others.map((other) => minus(other, first));
  const away = minus(target, first);
  const shares = solved(
    edges.map((edge) => edges.map((other) => dot(edge, other))),
    edges.map((edge) => dot(edge, away)),
  );
  const all = shares && [1 - shares.reduce((sum, share) => sum + share, 0), ...shares];
  if (all?.every((share) => share >= -1e-9)) {
    const place = target.map((_, c) => all.reduce((sum, share, k) => sum + share * samples[corners[k]][c], 0));
    return { corners, shares: all, place, distance: Math.hypot(...minus(target, place)) };
  }
  // The nearest point lies on a face opposite to a corner whose share is negative.
  return corners
    .filter((_, k) => !all || all[k] < 0)
    .map((corner) =>
      nearestIn(
        samples,
        corners.filter((other) => other !== corner),
        target,
      ),
    )
    .reduce((best, one) => (one.distance < best.distance ? one : best));
}

export class AimScene extends FigureScene {
  readonly low: number[];
  readonly high: number[];
  target: number[];
  reached!: Reached;
  private readonly header: AimHeader;
  private readonly values: Int32Array; // (samples, points, 3, frames)
  private readonly scaled: number[][]; // parameters in units of their range
  private readonly sizes: number[];
  private readonly balls: { middle: number[]; radius: number }[]; // around the cells
  private times: number[] = [];
  private held = false;

  constructor({ header, values }: Unpacked<AimHeader>) {
    const first = figureOf({ header, values: values.slice(0, values.length / header.samples.length), gaps: null });
    super({ ...first, reach: Math.min(Math.max(first.reach, 0.62 * header.size), 1.2 * header.size) });
    this.header = header;
    this.values = values;
    const { samples } = header;
    const range = (c: number, pick: (...all: number[]) => number) => pick(...samples.map((one) => one[c]));
    this.low = header.axes.map((_, c) => range(c, Math.min));
    this.high = header.axes.map((_, c) => range(c, Math.max));
    // Lengths are compared as they are; parameters with different units, in units of their range.
    this.sizes = header.axes.map((_, c) => (header.space.length ? 1 : this.high[c] - this.low[c] || 1));
    this.scaled = samples.map((one) => one.map((value, c) => value / this.sizes[c]));
    this.balls = header.cells.map((corners) => {
      const places = corners.map((corner) => this.scaled[corner]);
      const middle = places[0].map((_, c) => places.reduce((sum, place) => sum + place[c] / places.length, 0));
      return { middle, radius: Math.max(...places.map((place) => Math.hypot(...minus(place, middle)))) };
    });
    this.target = header.start;
    this.aimAt(header.start);
  }

  /** Blend the motion for a target, or for the reachable point that is nearest to it. */
  aimAt(target: number[]): void {
    const { header, values, figure } = this;
    this.target = target.map((value, c) => Math.min(Math.max(value, this.low[c]), this.high[c]));
    const wanted = this.target.map((value, c) => value / this.sizes[c]);
    const reached = this.nearest(wanted);
    this.reached = { ...reached, place: reached.place.map((value, c) => value * this.sizes[c]) };
    const length = values.length / header.samples.length;
    const mixed = new Float64Array(length);
    reached.corners.forEach((corner, k) => {
      for (let i = 0; i < length; i++) mixed[i] += reached.shares[k] * values[corner * length + i];
    });
    const blend: Figure = figureOf({ header, values: mixed, gaps: null });
    [figure.positions, figure.path] = [blend.positions, blend.path];
    this.times = header.knots.map((_, k) =>
      reached.corners.reduce((sum, corner, n) => sum + reached.shares[n] * header.times[corner][k], 0),
    );
    this.duration = this.times.at(-1)!;
  }

  private nearest(wanted: number[]): Reached {
    const least = this.balls.map(({ middle, radius }) => Math.hypot(...minus(wanted, middle)) - radius);
    const order = [...least.keys()].sort((a, b) => least[a] - least[b]);
    let best: Reached | null = null;
    for (const cell of order) {
      if (best && least[cell] >= best.distance) break; // all other cells are farther away
      const one = nearestIn(this.scaled, this.header.cells[cell], wanted);
      if (!best || one.distance < best.distance) best = one;
      if (best.distance < 1e-9) break;
    }
    return best!;
  }

  /** The time at which the target is reached, or the end. */
  get moment(): number {
    return this.times.length > 2 ? this.times[1] : this.duration;
  }

  get status(): string {
    const { reached, header } = this;
    const far = Math.max(
      ...reached.place.map((v, c) => Math.abs(v - this.target[c]) / (this.high[c] - this.low[c] || 1)),
    );
    if (far < CLOSE) return "The target is reached.";
    return header.space.length
      ? `Out of reach: the motion ends ${(100 * reached.distance).toFixed(0)} cm from the target.`
      : "Out of reach: this is the nearest motion.";
  }

  protected override frameAt(seconds: number): number {
    const { knots } = this.header;
    const { times } = this;
    let k = 0;
    while (k < knots.length - 2 && seconds > times[k + 1]) k++;
    const share = (seconds - times[k]) / Math.max(times[k + 1] - times[k], 1e-9);
    return knots[k] + Math.min(Math.max(share, 0), 1) * (knots[k + 1] - knots[k]);
  }

  private inSpace(target: number[]): [number, number, number] {
    const point: [number, number, number] = [0, this.figure.ground, 0];
    this.header.space.forEach((axis, c) => (point[axis] = target[c]));
    return point;
  }

  override draw(pen: CanvasRenderingContext2D, seconds: number, ink: Ink): void {
    super.draw(pen, seconds, ink);
    if (!this.header.space.length) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    pen.fillStyle = `rgba(${ink.grid},0.55)`;
    for (const sample of this.header.samples) {
      const [x, y, away] = this.see(...this.inSpace(sample));
      if (away > 0) pen.fillRect(x - ratio, y - ratio, 2 * ratio, 2 * ratio);
    }
    const target = this.inSpace(this.target);
    const [x, y, away] = this.see(...target);
    if (away < 0) return;
    const floor = this.see(target[0], this.figure.ground, target[2]);
    this.stroke(`rgba(${ink.path},0.5)`, ratio, () => this.line([x, y, away], floor));
    const place = this.see(...this.inSpace(this.reached.place));
    this.stroke(`rgb(${ink.path})`, 1.5 * ratio, () => this.line([x, y, away], [place[0] + 0.01, place[1], place[2]]));
    this.stroke(`rgb(${ink.path})`, 2.5 * ratio, () => pen.arc(x, y, HANDLE * ratio, 0, 2 * Math.PI));
    pen.fillStyle = `rgba(${ink.path},${this.held ? 0.7 : 0.3})`;
    pen.fill();
  }

  /** Take hold of the target if it is near (x, y), in pixels of the canvas. */
  grab(x: number, y: number, ratio: number): boolean {
    if (!this.header.space.length) return false;
    const [across, down, away] = this.see(...this.inSpace(this.target));
    return (this.held = away > 0 && Math.hypot(across - x, down - y) < GRASP * ratio);
  }

  release(): void {
    this.held = false;
  }

  /** Move the target with a finger, in the plane that faces the camera. */
  drag(dx: number, dy: number): void {
    const point = this.inSpace(this.target);
    const moved = this.shifted(point, dx, dy);
    this.aimAt(this.header.space.map((axis) => moved[axis]));
  }
}
