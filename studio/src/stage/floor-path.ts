// A path drawn on the floor of the stage with the mouse.

import * as THREE from "three";
import type { Stage } from "./stage";

const APART = 0.12; // metres between the points that are kept
const LIFT = 0.012;

/** Fires "drawn" when the mouse is let go. */
export class FloorPath extends EventTarget {
  points: [number, number][] = []; // x, z in metres
  private drawing = false;
  private on = false;
  private readonly line = new THREE.Line(
    new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0x7cb85c }),
  );
  private readonly beads = new THREE.Points(
    new THREE.BufferGeometry(),
    new THREE.PointsMaterial({ color: 0x7cb85c, size: 5 * Math.min(devicePixelRatio, 2), sizeAttenuation: false }),
  );

  constructor(private readonly stage: Stage) {
    super();
    this.line.frustumCulled = this.beads.frustumCulled = false;
    stage.scene.add(this.line, this.beads);
    const { domElement } = stage.renderer;
    domElement.addEventListener("pointerdown", this.down);
    domElement.addEventListener("pointermove", this.move);
    domElement.addEventListener("pointerup", this.up);
  }

  /** Whether the mouse draws now, instead of turning the camera. */
  get active(): boolean { return this.on; }
  set active(on: boolean) {
    this.on = on;
    this.stage.controls.enabled = !on;
    this.stage.renderer.domElement.style.cursor = on ? "crosshair" : "";
  }

  show(points: [number, number][]): void {
    this.points = points;
    const places = points.map(([x, z]) => new THREE.Vector3(x, LIFT, z));
    for (const one of [this.line, this.beads]) {
      one.geometry.dispose();
      one.geometry = new THREE.BufferGeometry().setFromPoints(places);
    }
    this.stage.wake();
  }

  dispose(): void {
    this.active = false;
    const { domElement } = this.stage.renderer;
    domElement.removeEventListener("pointerdown", this.down);
    domElement.removeEventListener("pointermove", this.move);
    domElement.removeEventListener("pointerup", this.up);
    for (const one of [this.line, this.beads]) { this.stage.scene.remove(one); one.geometry.dispose(); (one.material as THREE.Material).dispose(); }
    this.stage.wake();
  }

  private readonly down = (event: PointerEvent): void => {
    if (!this.on || event.button !== 0) return;
    this.drawing = true;
    this.stage.renderer.domElement.setPointerCapture(event.pointerId);
    this.show([]);
    this.add(event);
  };

  private readonly move = (event: PointerEvent): void => { if (this.drawing) this.add(event); };

  private readonly up = (): void => {
    if (!this.drawing) return;
    this.drawing = false;
    if (this.points.length > 1) this.dispatchEvent(new Event("drawn"));
  };

  private add(event: PointerEvent): void {
    const place = this.stage.floorAt(event.clientX, event.clientY);
    if (!place || place.length() > 60) return; // towards the horizon a pixel is a street
    const point: [number, number] = [Math.round(place.x * 100) / 100, Math.round(place.z * 100) / 100];
    const last = this.points.at(-1);
    if (last && Math.hypot(point[0] - last[0], point[1] - last[1]) < APART) return;
    this.show([...this.points, point]);
  }
}

/** Mean distance of a way over the floor from a path, in metres. */
export function strays(path: [number, number][], way: [number, number][]): number {
  let total = 0;
  for (const [x, z] of way) {
    let best = Infinity;
    for (let k = 1; k < path.length; k++) {
      const [ax, az] = path[k - 1], [bx, bz] = path[k];
      const length = (bx - ax) ** 2 + (bz - az) ** 2 || 1;
      const t = Math.min(Math.max(((x - ax) * (bx - ax) + (z - az) * (bz - az)) / length, 0), 1);
      best = Math.min(best, Math.hypot(x - ax - t * (bx - ax), z - az - t * (bz - az)));
    }
    total += best;
  }
  return total / Math.max(way.length, 1);
}
