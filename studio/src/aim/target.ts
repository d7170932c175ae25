// A target on the stage that is dragged with the mouse, and the accessible targets around it.

import * as THREE from "three";
import { TransformControls } from "three/examples/jsm/controls/TransformControls.js";
import type { Stage } from "../stage/stage";

const NEAR = 0x7cb85c;
const FAR = 0xd86464;
const REACHED = 0xffffff;

/** Fires "move" while it is dragged, and "drop" at the end. */
export class Target extends EventTarget {
  readonly ball = new THREE.Mesh(
    new THREE.SphereGeometry(0.035, 24, 16),
    new THREE.MeshBasicMaterial({ color: NEAR, transparent: true, opacity: 0.9, depthTest: false }),
  );
  dragging = false;
  private readonly reached = new THREE.Mesh(
    new THREE.TorusGeometry(0.055, 0.006, 8, 40),
    new THREE.MeshBasicMaterial({ color: REACHED, depthTest: false, transparent: true }),
  );
  private readonly gap = new THREE.Line(
    new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(), new THREE.Vector3()]),
    new THREE.LineBasicMaterial({ color: FAR, depthTest: false, transparent: true }),
  );
  private readonly controls: TransformControls;

  /** With `floor`, the target stays on the floor. */
  constructor(
    private readonly stage: Stage,
    floor = false,
  ) {
    super();
    this.controls = new TransformControls(stage.camera, stage.renderer.domElement);
    this.controls.size = 0.75;
    this.controls.showY = !floor;
    this.controls.attach(this.ball);
    this.controls.addEventListener("dragging-changed", (event) => {
      this.dragging = Boolean(event.value);
      stage.controls.enabled = !this.dragging; // otherwise the camera would also move
      if (!this.dragging) this.dispatchEvent(new Event("drop"));
    });
    this.controls.addEventListener("objectChange", () => this.dispatchEvent(new Event("move")));
    for (const one of [this.ball, this.reached, this.gap]) {
      one.renderOrder = 5;
      one.frustumCulled = false;
    }
    stage.scene.add(this.ball, this.reached, this.gap, this.controls.getHelper());
    stage.addEventListener("frame", this.face);
  }

  get place(): [number, number, number] {
    return this.ball.position.toArray();
  }

  put(x: number, y: number, z: number): void {
    this.ball.position.set(x, y, z);
    this.stage.wake();
  }

  /** Show the position that the motion reaches, and whether the target is out of reach. */
  arrived(x: number, y: number, z: number, outside: boolean): void {
    this.reached.position.set(x, y, z);
    this.gap.geometry.setFromPoints([this.ball.position, this.reached.position]);
    this.gap.visible = outside;
    this.ball.material.color.set(outside ? FAR : NEAR);
    this.stage.wake();
  }

  dispose(): void {
    this.stage.removeEventListener("frame", this.face);
    this.stage.controls.enabled = true;
    this.stage.scene.remove(this.ball, this.reached, this.gap, this.controls.getHelper());
    this.controls.dispose();
    for (const one of [this.ball, this.reached, this.gap]) {
      one.geometry.dispose();
      (one.material as THREE.Material).dispose();
    }
    this.stage.wake();
  }

  private readonly face = (): void => {
    this.reached.quaternion.copy(this.stage.camera.quaternion);
    this.controls.viewport = this.stage.viewport; // with several views, dragging works in the first
  };
}

/** Accessible targets as dots: samples small and blue, examples larger and orange. */
export class Region {
  private readonly clouds: THREE.Points[];

  constructor(
    private readonly stage: Stage,
    samples: Float32Array,
    examples: Float32Array,
  ) {
    this.clouds = [cloud(samples, 0x7fb4dc, 4, 0.55), cloud(examples, 0xf0a36b, 8, 1)];
    stage.scene.add(...this.clouds);
    stage.wake();
  }

  set visible(shown: boolean) {
    for (const one of this.clouds) one.visible = shown;
    this.stage.wake();
  }

  dispose(): void {
    this.stage.scene.remove(...this.clouds);
    for (const one of this.clouds) {
      one.geometry.dispose();
      (one.material as THREE.Material).dispose();
    }
    this.stage.wake();
  }
}

function cloud(points: Float32Array, color: number, pixels: number, opacity: number): THREE.Points {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(points, 3));
  const paint = new THREE.PointsMaterial({
    color: color,
    size: pixels * Math.min(devicePixelRatio, 2),
    sizeAttenuation: false,
    map: disc(),
    alphaTest: 0.4,
    transparent: true,
    opacity,
    depthWrite: false,
  });
  const made = new THREE.Points(geometry, paint);
  made.frustumCulled = false;
  made.renderOrder = 4;
  return made;
}

let DISC: THREE.Texture | undefined;

/** A texture that makes points round. */
function disc(): THREE.Texture {
  if (DISC) return DISC;
  const size = 32;
  const data = new Uint8Array(size * size * 4).fill(255);
  for (let row = 0; row < size; row++)
    for (let column = 0; column < size; column++) {
      const far = Math.hypot(row - size / 2 + 0.5, column - size / 2 + 0.5) / (size / 2);
      data[(row * size + column) * 4 + 3] = far < 1 ? 255 : 0;
    }
  DISC = new THREE.DataTexture(data, size, size);
  DISC.needsUpdate = true;
  return DISC;
}

/** Least and greatest value of a column of `values`, a flat array of rows of `width` numbers. */
export function bounds(values: ArrayLike<number>, column: number, width: number): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (let at = column; at < values.length; at += width) {
    low = Math.min(low, values[at]);
    high = Math.max(high, values[at]);
  }
  return [low, high];
}
