// Lines on the floor: the walls of a room, the middle of a street.

import * as THREE from "three";
import type { Stage } from "./stage";

const HEIGHT = 0.012; // metres over the floor, so that it does not swallow them

export class FloorLines {
  private readonly lines: THREE.Line[] = [];

  constructor(private readonly stage: Stage) {}

  /** The outline of a room (width, depth), or a street (x, z in turn). */
  show(room: [number, number] | null | undefined, street?: Float32Array): void {
    this.clear();
    if (room) {
      const [x, z] = [room[0] / 2, room[1] / 2];
      this.draw([[-x, -z], [x, -z], [x, z], [-x, z], [-x, -z]]);
    }
    if (street) {
      const places: [number, number][] = [];
      for (let at = 0; at + 1 < street.length; at += 2) places.push([street[at], street[at + 1]]);
      this.draw(places);
    }
  }

  clear(): void {
    for (const line of this.lines) { line.removeFromParent(); line.geometry.dispose(); (line.material as THREE.Material).dispose(); }
    this.lines.length = 0;
  }

  private draw(places: [number, number][]): void {
    const geometry = new THREE.BufferGeometry().setFromPoints(places.map(([x, z]) => new THREE.Vector3(x, HEIGHT, z)));
    const line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: 0x8a93a3 }));
    this.lines.push(line);
    this.stage.scene.add(line);
  }
}
