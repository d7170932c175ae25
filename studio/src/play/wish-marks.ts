// Arrows and points on the floor: the desired velocity, the actual velocity, and the query trajectory.

import * as THREE from "three";
import type { MatchState } from "../net/types";
import type { Stage } from "../stage/stage";

const LIFT = 0.02;
const DESIRED = 0xe0823d;
const ACTUAL = 0x4f9fd8;
const AHEAD = 0x7cb85c;
const LEAST = 0.05; // m/s; shorter arrows are not drawn

export class WishMarks {
  private readonly group = new THREE.Group();
  private readonly desired = arrow(DESIRED);
  private readonly actual = arrow(ACTUAL);
  private readonly line = new THREE.Line(
    new THREE.BufferGeometry(),
    new THREE.LineBasicMaterial({ color: AHEAD, transparent: true, opacity: 0.9 }),
  );
  private readonly points: THREE.ArrowHelper[] = [];

  constructor(private readonly stage: Stage) {
    this.line.frustumCulled = false;
    this.group.add(this.desired, this.actual, this.line);
    stage.scene.add(this.group);
  }

  show(state: MatchState): void {
    const [x, z] = state.place;
    const from = new THREE.Vector3(x, LIFT, z);
    point(this.desired, from, state.desired);
    point(this.actual, from, state.velocity);
    const places = state.trajectory.map(([px, pz]) => new THREE.Vector3(px, LIFT, pz));
    this.line.geometry.setFromPoints([from, ...places]);
    state.trajectory.forEach(([, , facing], k) => {
      const mark = (this.points[k] ??= this.added());
      mark.position.copy(places[k]);
      mark.setDirection(new THREE.Vector3(Math.sin(facing), 0, Math.cos(facing)));
    });
  }

  dispose(): void {
    this.stage.scene.remove(this.group);
    this.line.geometry.dispose();
    this.line.material.dispose();
    for (const one of [this.desired, this.actual, ...this.points]) one.dispose();
    this.stage.wake();
  }

  private added(): THREE.ArrowHelper {
    const made = arrow(AHEAD, 0.22);
    this.group.add(made);
    return made;
  }
}

function arrow(color: number, length = 1): THREE.ArrowHelper {
  const made = new THREE.ArrowHelper(new THREE.Vector3(0, 0, 1), new THREE.Vector3(), length, color, 0.12, 0.09);
  made.traverse((one) => (one.frustumCulled = false));
  return made;
}

function point(arrow: THREE.ArrowHelper, from: THREE.Vector3, velocity: readonly number[]): void {
  const speed = Math.hypot(velocity[0], velocity[1]);
  arrow.visible = speed > LEAST;
  if (!arrow.visible) return;
  arrow.position.copy(from);
  arrow.setDirection(new THREE.Vector3(velocity[0] / speed, 0, velocity[1] / speed));
  arrow.setLength(0.25 + 0.6 * speed, 0.16, 0.11);
}
