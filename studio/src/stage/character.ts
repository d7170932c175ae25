// A character: one motion on the stage, with its timing, its placement and its current pose.

import * as THREE from "three";
import { rowOf, type MotionData } from "../motion/motion";
import { planOf, type Plan } from "./figure";

export interface CharacterSpec {
  motion: MotionData;
  color?: number;
  /** Name in the legend; default: the motion's name. */
  title?: string;
  /** Time of its first shown frame on the clock, in seconds. */
  at?: number;
  /** The frames [start, end) to show; default: all. */
  segment?: [number, number];
  /** Planar transform: rotation about the vertical (radians), then a translation. */
  transform?: { yaw: number; translation: [number, number, number] };
  opacity?: number;
}

const turn = new THREE.Quaternion();

export class Character {
  /** Carries the planar transform; objects that move with the character can be added. */
  readonly group = new THREE.Group();
  readonly color: THREE.Color;
  /** The shown frame, and the fraction toward the next. */
  frame = 0;
  fraction = 0;
  /** Current world positions of the joints, (P, 3). */
  points: Float32Array;
  /** Whether it is drawn by itself, and so opaque. */
  alone = false;
  private planned?: Plan;

  constructor(
    readonly spec: CharacterSpec,
    color: number,
  ) {
    this.color = new THREE.Color(color);
    this.points = new Float32Array(spec.motion.parents.length * 3);
    this.group.scale.setScalar(spec.motion.size ?? 1);
    if (spec.transform) {
      this.group.rotation.y = spec.transform.yaw;
      this.group.position.set(...spec.transform.translation);
    }
  }

  get visible(): boolean {
    return this.group.visible;
  }
  set visible(shown: boolean) {
    this.group.visible = shown;
  }

  get motion(): MotionData {
    return this.spec.motion;
  }

  /** Replace the motion by another of the same skeleton, as while a target is dragged. */
  set motion(motion: MotionData) {
    if (motion.parents.length !== this.motion.parents.length) {
      this.points = new Float32Array(motion.parents.length * 3);
      this.planned = undefined;
    }
    this.spec.motion = motion;
    this.group.scale.setScalar(motion.size ?? 1);
  }

  /** How the skeleton is drawn; needs a first frame. */
  get plan(): Plan {
    return (this.planned ??= this.sized(planOf(this.motion, this.motion.positions)));
  }

  private sized(plan: Plan): Plan {
    return { ...plan, size: plan.size * (this.motion.size ?? 1) };
  }

  get streamed(): boolean {
    return this.motion.capacity !== undefined;
  }
  get firstFrame(): number {
    return this.spec.segment?.[0] ?? this.motion.first ?? 0;
  }
  get endFrame(): number {
    return this.spec.segment?.[1] ?? this.motion.frames;
  }
  get start(): number {
    return this.spec.at ?? 0;
  }
  get end(): number {
    return this.start + (this.endFrame - (this.spec.segment?.[0] ?? 0)) / this.motion.fps;
  }
  get opacity(): number {
    return this.alone ? 1 : (this.spec.opacity ?? 1);
  }

  /** The frame at a time, with its fraction; clamped at both ends. */
  exactFrameAt(time: number): number {
    const frame = (this.spec.segment?.[0] ?? 0) + (time - this.start) * this.motion.fps + 1e-4;
    return Math.max(Math.min(Math.max(frame, this.firstFrame), this.endFrame - 1), 0);
  }

  frameAt(time: number): number {
    return Math.floor(this.exactFrameAt(time));
  }

  /** The time of a frame. */
  timeOf(frame: number): number {
    return this.start + (frame - (this.spec.segment?.[0] ?? 0)) / this.motion.fps;
  }

  /** Position of a joint in the motion, before the planar transform. */
  joint(frame: number, joint: number, out = new THREE.Vector3()): THREE.Vector3 {
    const { positions, parents } = this.motion;
    return out.fromArray(positions, (rowOf(this.motion, frame) * parents.length + joint) * 3);
  }

  /** Current world position of a joint. */
  world(joint: number, out = new THREE.Vector3()): THREE.Vector3 {
    return out.fromArray(this.points, joint * 3);
  }

  /** Set the pose to that of a frame, interpolated where it has a fraction. */
  pose(frame: number): void {
    this.frame = Math.floor(frame);
    this.fraction = frame - this.frame;
    this.group.updateMatrixWorld();
    this.sample(frame, this.points);
  }

  /** Matrices of the bones of a body in the current pose: rows of 3 x 4 numbers, from `at` on in `out`.
   * `unbind` are the inverse matrices of the pose in which the body was made. */
  boneMatrices(unbind: Float32Array, out: Float32Array, at: number): void {
    const { motion, points } = this;
    const { parents } = motion;
    const orientations = motion.orientations!;
    const joints = orientations.length / 4 / (motion.capacity ?? motion.frames);
    const from = rowOf(motion, this.frame) * joints * 4;
    const next = this.fraction > 0 && this.frame + 1 < this.endFrame ? this.frame + 1 : this.frame;
    const to = rowOf(motion, next) * joints * 4;
    const group = this.group.quaternion;
    const size = this.group.scale.x;
    for (let point = 0; point < parents.length; point++, at += 12) {
      const joint = point < joints ? point : parents[point]; // an end site turns with its joint
      const a = from + joint * 4;
      const b = to + joint * 4;
      const same =
        orientations[a] * orientations[b] +
          orientations[a + 1] * orientations[b + 1] +
          orientations[a + 2] * orientations[b + 2] +
          orientations[a + 3] * orientations[b + 3] <
        0
          ? -this.fraction
          : this.fraction;
      const rest = 1 - this.fraction;
      turn.set(
        rest * orientations[a + 1] + same * orientations[b + 1],
        rest * orientations[a + 2] + same * orientations[b + 2],
        rest * orientations[a + 3] + same * orientations[b + 3],
        rest * orientations[a] + same * orientations[b],
      );
      turn.normalize().premultiply(group);
      const { x, y, z, w } = turn;
      const r = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
      ];
      const u = point * 12;
      for (let row = 0; row < 3; row++) {
        const [i, j, k] = r[row];
        for (let column = 0; column < 4; column++)
          out[at + 4 * row + column] =
            size * (i * unbind[u + column] + j * unbind[u + 4 + column] + k * unbind[u + 8 + column]);
        out[at + 4 * row + 3] += points[3 * point + row];
      }
    }
  }

  /** World positions (P, 3) at a frame, linearly interpolated; clamped at both ends. */
  sample(frame: number, out: Float32Array): void {
    const { motion } = this;
    const width = motion.parents.length * 3;
    const whole = Math.floor(frame);
    const part = whole + 1 < this.endFrame ? frame - whole : 0;
    const from = rowOf(motion, whole) * width;
    const to = part > 0 ? rowOf(motion, whole + 1) * width : from;
    const { positions } = motion;
    const m = this.group.matrixWorld.elements;
    for (let at = 0; at < width; at += 3) {
      const x = positions[from + at] + part * (positions[to + at] - positions[from + at]);
      const y = positions[from + at + 1] + part * (positions[to + at + 1] - positions[from + at + 1]);
      const z = positions[from + at + 2] + part * (positions[to + at + 2] - positions[from + at + 2]);
      out[at] = m[0] * x + m[4] * y + m[8] * z + m[12];
      out[at + 1] = m[1] * x + m[5] * y + m[9] * z + m[13];
      out[at + 2] = m[2] * x + m[6] * y + m[10] * z + m[14];
    }
  }
}
