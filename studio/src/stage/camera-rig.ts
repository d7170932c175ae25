// The camera: orbit controls, following of characters, views from the front, the side, behind and above.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Character } from "./character";
import { meanFacing, turnBetween, viewDirection, type CameraView } from "./facing";

export type { CameraView } from "./facing";

const SOFT = 7; // per second; rate at which the camera catches up with the characters
const HOME = new THREE.Vector3(0.5, 0.2, 1).normalize();
const TURN = 4; // per second; rate at which it turns with them
const FILLS = 0.2; // minimum height of a figure, as a fraction of the picture
const UP = new THREE.Vector3(0, 1, 0);

export class CameraRig {
  readonly camera = new THREE.PerspectiveCamera(35, 1, 0.05, 300);
  readonly controls: OrbitControls;
  /** True if the user has moved the camera; then its distance is not changed. */
  touched = false;
  /** True if each character has a separate view; then the distance between characters does not matter. */
  alone = false;
  /** Parts of the picture's height that tools cover above and below; figures are framed between them. */
  private covered = [0, 0];
  private readonly around = new THREE.Vector3();
  private heading: number | null = null; // of the characters, when the camera last turned with them
  private readonly middle = new THREE.Vector3();
  private readonly step = new THREE.Vector3();

  constructor(canvas: HTMLElement) {
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.maxPolarAngle = Math.PI * 0.55;
    this.controls.minDistance = 0.3;
    this.controls.maxDistance = 120;
    this.controls.target.set(0, 0.9, 0);
    this.camera.position.copy(HOME).multiplyScalar(4.6).add(this.controls.target);
    this.controls.addEventListener("start", () => (this.touched = true));
    this.controls.update();
  }

  /** Set the shape of the picture, and which parts of its height tools cover above and below. */
  shape(aspect: number, above = 0, below = 0): void {
    this.covered = [above, below];
    // The middle of the picture is moved to the middle of the free part.
    this.camera.setViewOffset(aspect, 1, 0, (below - above) / 2, aspect, 1);
  }

  get distance(): number {
    return this.camera.position.distanceTo(this.controls.target);
  }

  /** Follow the characters; `seconds` Infinity: at once. */
  follow(characters: Character[], seconds: number): void {
    if (!this.middleOf(characters)) return;
    const { target } = this.controls;
    this.step.subVectors(this.middle, target);
    // At loops and new takes, the camera also jumps instead of sweeping across the stage.
    if (this.step.length() < 1.5) this.step.multiplyScalar(1 - Math.exp(-SOFT * seconds));
    target.add(this.step);
    this.camera.position.add(this.step);
  }

  /** Frame all characters in their current poses, from the current direction. */
  frame(characters: Character[]): void {
    if (!this.middleOf(characters)) return;
    let reach = 1.02;
    for (const one of characters) {
      const at = one.plan.root * 3;
      const apart = this.alone ? 0 : Math.hypot(one.points[at] - this.middle.x, one.points[at + 2] - this.middle.z);
      reach = Math.max(reach, apart + 0.75 * one.plan.size);
    }
    this.look(this.step.subVectors(this.camera.position, this.controls.target).normalize(), reach);
  }

  /** Reset: a three-quarter view of all characters. */
  home(characters: Character[]): void {
    this.touched = false;
    this.camera.position.copy(HOME).add(this.controls.target);
    this.frame(characters);
  }

  /** A standard view of the characters, relative to where they face, or along an axis of the world. */
  view(name: CameraView, characters: readonly Character[], world = false): void {
    const far = this.distance;
    this.touched = true;
    this.heading = null;
    this.camera.position
      .set(...viewDirection(name, world ? 0 : (meanFacing(characters) ?? 0)))
      .multiplyScalar(far)
      .add(this.controls.target);
    this.controls.update();
  }

  /** Look straight down on the floor, with `reach` meters around the middle in the picture; returns a function that
   * restores the camera. */
  above(reach: number): () => void {
    const { camera, controls } = this;
    const { touched } = this;
    const [position, target] = [camera.position.clone(), controls.target.clone()];
    controls.target.set(target.x, 0, target.z);
    const half = (camera.fov / 2) * (Math.PI / 180);
    const narrow = Math.min(half, Math.atan(Math.tan(half) * camera.aspect));
    camera.position
      .set(...viewDirection("top", 0))
      .multiplyScalar(reach / Math.tan(narrow))
      .add(controls.target);
    controls.update();
    return () => {
      camera.position.copy(position);
      controls.target.copy(target);
      this.touched = touched;
      controls.update();
    };
  }

  /** Turn with the characters, so that the same side of them is seen; `seconds` Infinity: at once. */
  turn(characters: readonly Character[], seconds: number): void {
    const facing = meanFacing(characters);
    if (facing === null || this.heading === null) {
      this.heading = facing;
      return;
    }
    const step = turnBetween(this.heading, facing) * (1 - Math.exp(-TURN * seconds));
    this.heading += step;
    this.around.subVectors(this.camera.position, this.controls.target).applyAxisAngle(UP, step);
    this.camera.position.addVectors(this.controls.target, this.around);
    this.camera.lookAt(this.controls.target);
  }

  /** Discard the facing directions, for example when other characters are shown. */
  stopTurning(): void {
    this.heading = null;
  }

  /** Whether all characters are in the picture, and large enough to be seen. */
  sees(characters: readonly Character[]): boolean {
    this.camera.updateMatrixWorld();
    return characters
      .filter((one) => one.visible && one.motion.frames > 0)
      .every((one) => {
        const low = [Infinity, Infinity];
        const high = [-Infinity, -Infinity];
        for (let at = 0; at < one.points.length; at += 3) {
          const { x, y, z } = this.step.fromArray(one.points, at).project(this.camera);
          if (Math.abs(x) > 1 || Math.abs(y) > 1 || z > 1) return false;
          [x * this.camera.aspect, y].forEach((place, axis) => {
            low[axis] = Math.min(low[axis], place);
            high[axis] = Math.max(high[axis], place);
          });
        }
        return Math.max(high[0] - low[0], high[1] - low[1]) / 2 >= FILLS;
      });
  }

  private look(direction: THREE.Vector3, reach: number): void {
    const half = (this.camera.fov / 2) * (Math.PI / 180);
    const high = Math.atan(Math.tan(half) * (1 - this.covered[0] - this.covered[1]));
    const narrow = Math.min(high, Math.atan(Math.tan(half) * this.camera.aspect));
    this.controls.target.copy(this.middle);
    this.camera.position.copy(this.middle).addScaledVector(direction, (reach / Math.sin(narrow)) * 1.12);
    this.controls.update();
  }

  /** The center of characters, for a camera of their own; null without any. The vector is used again. */
  centerOf(characters: Character[]): THREE.Vector3 | null {
    return this.middleOf(characters) ? this.middle : null;
  }

  /** Set `middle` to the center of the opaque characters, or of all if none is opaque; false without characters. */
  private middleOf(characters: Character[]): boolean {
    const shown = characters.filter((one) => one.visible && one.motion.frames > 0);
    const solid = shown.filter((one) => one.opacity >= 1);
    const those = solid.length ? solid : shown;
    if (!those.length) return false;
    this.middle.set(0, 0, 0);
    let height = 0;
    for (const one of those) {
      const at = one.plan.root * 3;
      this.middle.x += one.points[at] / those.length;
      this.middle.z += one.points[at + 2] / those.length;
      height += (0.92 * one.plan.size) / those.length;
    }
    this.middle.y = height;
    return true;
  }
}
