// Inertialization: at a seam the next motion starts at once, and the difference of pose and velocity fades out.

import { expOf, logOf, multiplyInto, springOf } from "./numbers";

/** 1/s: a tenth of the offset remains after 0.35 s. */
export const FADE = 11;

/** One pose: local rotations wxyz of all joints, and the position of the root. */
export interface Pose {
  rotations: Float32Array;
  root: Float32Array;
}

type Vector = [number, number, number];

export class Inertializer {
  private turns: Float64Array;
  private spins: Float64Array;
  private shift: Vector = [0, 0, 0];
  private drift: Vector = [0, 0, 0];
  private age: number | null = null;
  private last: { rotations: Float32Array; root: Vector }[] = [];
  private readonly dt: number;

  constructor(
    private readonly joints: number,
    fps: number,
  ) {
    this.dt = 1 / fps;
    this.turns = new Float64Array(joints * 3);
    this.spins = new Float64Array(joints * 3);
  }

  /** A copy in the same state; seams and frames of one do not change the other. */
  copy(): Inertializer {
    const other = new Inertializer(this.joints, 1 / this.dt);
    return Object.assign(other, { ...this, last: [...this.last] });
  }

  /** Switch to another motion at the next frame, given its first three frames. */
  seam(next: readonly Pose[]): void {
    if (!this.last.length) return;
    const { joints, dt } = this;
    const [a, b, c] = this.last;
    const turns = new Float64Array(joints * 3);
    const spins = new Float64Array(joints * 3);
    const product = new Float64Array(4);
    for (let joint = 0; joint < joints; joint++) {
      const step = ledOn(turned(a.rotations, b.rotations, joint), turned(b.rotations, c.rotations, joint));
      const own = ledOn(
        turned(next[1].rotations, next[2].rotations, joint),
        turned(next[0].rotations, next[1].rotations, joint),
      );
      multiplyInto(expOf(...step), 0, c.rotations, joint * 4, product, 0);
      const [w, x, y, z] = next[0].rotations.subarray(joint * 4, joint * 4 + 4);
      multiplyInto(product, 0, [w, -x, -y, -z], 0, product, 0);
      const off = logOf(product[0], product[1], product[2], product[3]);
      for (let k = 0; k < 3; k++) {
        turns[joint * 3 + k] = off[k];
        spins[joint * 3 + k] = (step[k] - own[k]) / dt;
      }
    }
    this.turns = turns;
    this.spins = spins;
    const step = ledOn(difference(a.root, b.root), difference(b.root, c.root));
    const coming = ledOn(difference(next[1].root, next[2].root), difference(next[0].root, next[1].root));
    this.shift = [0, 1, 2].map((k) => c.root[k] + step[k] - next[0].root[k]) as Vector;
    this.drift = [0, 1, 2].map((k) => (step[k] - coming[k]) / dt) as Vector;
    this.age = 0;
  }

  /** Shift the remembered frames, as the caller shifts all later frames. */
  rebase(shift: readonly number[]): void {
    this.last = this.last.map(({ rotations, root }) => ({
      rotations,
      root: [root[0] + shift[0], root[1] + shift[1], root[2] + shift[2]],
    }));
  }

  /** Add the remaining offsets to the next frames, in place. */
  apply(frames: readonly Pose[]): void {
    const { joints, dt, turns, spins, shift, drift } = this;
    if (this.age !== null) {
      const start = this.age * dt;
      frames.forEach(({ rotations, root }, n) => {
        const t = start + n * dt;
        for (let c = 0; c < 3; c++) root[c] += springOf(shift[c], drift[c], FADE, t)[0];
        const left = Math.exp(-FADE * t);
        for (let joint = 0; joint < joints; joint++) {
          const at = joint * 3;
          let x = (turns[at] + (spins[at] + FADE * turns[at]) * t) * left;
          let y = (turns[at + 1] + (spins[at + 1] + FADE * turns[at + 1]) * t) * left;
          let z = (turns[at + 2] + (spins[at + 2] + FADE * turns[at + 2]) * t) * left;
          const angle = Math.sqrt(x * x + y * y + z * z);
          if (angle < 1e-9) continue;
          const s = Math.sin(0.5 * angle) / angle;
          const w = Math.cos(0.5 * angle);
          [x, y, z] = [s * x, s * y, s * z];
          multiplyInto([w, x, y, z], 0, rotations, joint * 4, rotations, joint * 4);
        }
      });
      this.age += frames.length;
      if (this.age * dt * FADE > 20) this.age = null; // 2e-9 of the offset remains
    }
    for (const { rotations, root } of frames) {
      const one = { rotations: rotations.slice(), root: [root[0], root[1], root[2]] as Vector };
      this.last = this.last.length ? [...this.last.slice(-2), one] : [one, one, one];
    }
  }
}

/** The rotation vector from a joint's rotation in one frame to that in the next. */
function turned(from: Float32Array, to: Float32Array, joint: number): Vector {
  const at = joint * 4;
  const out = [0, 0, 0, 0];
  multiplyInto(to, at, [from[at], -from[at + 1], -from[at + 2], -from[at + 3]], 0, out, 0);
  return logOf(out[0], out[1], out[2], out[3]);
}

function difference(from: ArrayLike<number>, to: ArrayLike<number>): Vector {
  return [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
}

/** Extrapolate the next step from the last two, continuing half of the change between them. */
function ledOn(before: Vector, last: Vector): Vector {
  return [0, 1, 2].map((k) => last[k] + 0.5 * (last[k] - before[k])) as Vector;
}
