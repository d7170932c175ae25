// Panes: the stage seen from several sides at once, or each character by itself, with one clock and one renderer.

import * as THREE from "three";
import type { Character } from "./character";
import { viewDirection } from "./facing";
import type { CameraRig } from "./camera-rig";

/** One view; two views at 90 degrees; four, including one from behind and one from above; one view per character. */
export const SPLITS = ["one", "two", "four", "each"] as const;
export type Split = (typeof SPLITS)[number];

const MOST = 4;

/** A part of the canvas, as shares of its width and height from the top left. */
export interface Pane {
  x: number;
  y: number;
  width: number;
  height: number;
  title: string;
  /** Turn of its camera about the vertical from the first pane's; "top": from above. */
  turn: number | "top";
  /** The only character that it shows; null: all. */
  character: number | null;
}

/** Number of panes of a split for a number of characters; `each` has separate panes for up to four. */
export function paneCount(split: Split, characters: number): number {
  if (split === "each") return characters >= 2 && characters <= MOST ? characters : 1;
  return split === "two" ? 2 : split === "four" ? 4 : 1;
}

/** The panes of a canvas: two lie along its longer side, more in rows of two. */
export function panesOf(split: Split, titles: readonly string[], aspect: number): Pane[] {
  const count = paneCount(split, titles.length);
  const columns = count === 1 ? 1 : count === 2 ? (aspect >= 1 ? 2 : 1) : 2;
  const rows = Math.ceil(count / columns);
  const turns: [string, Pane["turn"]][] = [
    ["", 0],
    ["turned by 90°", -Math.PI / 2],
    ["turned by 180°", Math.PI],
    ["from above", "top"],
  ];
  return Array.from({ length: count }, (_, number) => {
    const row = Math.floor(number / columns);
    const last = row === rows - 1 ? count - row * columns : columns; // of three, the third has a row of its own
    const alone = split === "each" && count > 1;
    return {
      x: (number - row * columns) / last,
      y: row / rows,
      width: 1 / last,
      height: 1 / rows,
      title: alone ? titles[number] : turns[number][0],
      turn: alone ? 0 : turns[number][1],
      character: alone ? number : null,
    };
  });
}

const UP = new THREE.Vector3(0, 1, 0);
const offset = new THREE.Vector3();
const target = new THREE.Vector3();

/** Put the camera of a pane where the rig's is, turned, and moved to the pane's character. */
export function aimPane(camera: THREE.PerspectiveCamera, pane: Pane, rig: CameraRig, shown: Character[]): void {
  const main = rig.camera;
  target.copy(rig.controls.target);
  offset.subVectors(main.position, target);
  if (pane.turn === "top") {
    // The viewing direction of the first camera points to the top of the picture.
    const yaw = Math.atan2(-offset.x, -offset.z);
    offset.set(...viewDirection("top", yaw)).multiplyScalar(rig.distance);
  } else offset.applyAxisAngle(UP, pane.turn);
  if (pane.character !== null) {
    const middle = rig.centerOf([shown[pane.character]]);
    if (middle) target.set(middle.x, target.y, middle.z);
  }
  camera.fov = main.fov;
  camera.near = main.near;
  camera.far = main.far;
  camera.aspect = main.aspect;
  camera.position.addVectors(target, offset);
  camera.up.copy(main.up);
  camera.lookAt(target);
  camera.updateProjectionMatrix();
  camera.updateMatrixWorld();
}
