// The camera: orbit controls, following of characters, standard views.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Character } from "./character";

const SOFT = 7; // per second: rate at which the camera catches up with the characters
const HOME = new THREE.Vector3(0.5, 0.2, 1).normalize();
const VIEWS = {
  front: new THREE.Vector3(0, 0.08, 1),
  back: new THREE.Vector3(0, 0.08, -1),
  right: new THREE.Vector3(-1, 0.08, 0),
  left: new THREE.Vector3(1, 0.08, 0),
  top: new THREE.Vector3(0, 1, 0.001),
};
export type CameraView = keyof typeof VIEWS;

export class CameraRig {
  readonly camera = new THREE.PerspectiveCamera(35, 1, 0.05, 300);
  readonly controls: OrbitControls;
  /** Whether the user has moved the camera; then its distance is left alone. */
  touched = false;
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

  get distance(): number {
    return this.camera.position.distanceTo(this.controls.target);
  }

  /** Follow the characters; `seconds` Infinity: at once. */
  follow(characters: Character[], seconds: number): void {
    if (!this.middleOf(characters)) return;
    const { target } = this.controls;
    this.step.subVectors(this.middle, target);
    // At loops and new takes the camera jumps too, instead of sweeping across.
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
      const apart = Math.hypot(one.points[at] - this.middle.x, one.points[at + 2] - this.middle.z);
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

  /** View along a world axis. */
  view(name: CameraView): void {
    const far = this.distance;
    this.touched = true;
    this.camera.position.copy(VIEWS[name]).normalize().multiplyScalar(far).add(this.controls.target);
    this.controls.update();
  }

  private look(direction: THREE.Vector3, reach: number): void {
    const half = (this.camera.fov / 2) * (Math.PI / 180);
    const narrow = Math.min(half, Math.atan(Math.tan(half) * this.camera.aspect));
    this.controls.target.copy(this.middle);
    this.camera.position.copy(this.middle).addScaledVector(direction, (reach / Math.sin(narrow)) * 1.12);
    this.controls.update();
  }

  /** Set `middle` to the centre of the opaque characters, or of all if none is opaque; false without characters. */
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
