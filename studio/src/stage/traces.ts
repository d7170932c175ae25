// Traces of a motion: the path of the root on the floor, and trails of joints.

import * as THREE from "three";
import { rowOf } from "../motion/motion";
import type { Capsules } from "./capsules";
import type { Character } from "./character";

const STEP = 0.02; // meters between points of the path
const HALF_WIDTH = 0.009;
const TRAIL_SECONDS = 0.8;
const TRAIL_PARTS = 24;

/** A ribbon on the floor under the root, wider at every full second. */
export function pathMesh(character: Character): THREE.Mesh {
  const line = floorLine(character);
  const places: number[] = [];
  const index: number[] = [];
  line.forEach(([x, z, wide], at) => {
    const [ax, az] = line[Math.max(at - 1, 0)];
    const [bx, bz] = line[Math.min(at + 1, line.length - 1)];
    const long = Math.hypot(bx - ax, bz - az) || 1;
    const half = wide ? HALF_WIDTH * 3 : HALF_WIDTH;
    const nx = (-(bz - az) / long) * half;
    const nz = ((bx - ax) / long) * half;
    places.push(x + nx, 0.006, z + nz, x - nx, 0.006, z - nz);
    if (at > 0) {
      const k = 2 * at;
      index.push(k - 2, k, k - 1, k - 1, k, k + 1);
    }
  });
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(places, 3));
  geometry.setIndex(index);
  const mesh = new THREE.Mesh(
    geometry,
    new THREE.MeshBasicMaterial({
      color: character.color,
      transparent: true,
      opacity: 0.75,
      side: THREE.DoubleSide,
      forceSinglePass: true,
      depthWrite: false,
    }),
  );
  mesh.renderOrder = -4;
  return mesh;
}

/** Floor points [x, z, whether a full second] of the shown frames, before the planar transform. */
function floorLine(character: Character): [number, number, boolean][] {
  const { motion } = character;
  const point = new THREE.Vector3();
  const line: [number, number, boolean][] = [];
  for (let frame = character.firstFrame; frame < character.endFrame; frame++) {
    character.joint(frame, character.plan.root, point);
    const last = line.at(-1);
    const second = Math.floor(frame / motion.fps) !== Math.floor((frame - 1) / motion.fps);
    if (last && !second && Math.hypot(point.x - last[0], point.z - last[1]) < STEP) continue;
    line.push([point.x, point.z, second && frame > character.firstFrame]);
  }
  return line;
}

/** The recent path of some joints, thinner with age. */
export function drawTrails(capsules: Capsules, character: Character, roles: string[], exact: number): void {
  const { motion, plan, group } = character;
  const m = group.matrixWorld.elements;
  const width = motion.parents.length;
  const span = TRAIL_SECONDS * motion.fps;
  for (const role of roles) {
    const joint = motion.roles[role];
    if (joint === undefined) continue;
    let bx = character.points[joint * 3];
    let by = character.points[joint * 3 + 1];
    let bz = character.points[joint * 3 + 2];
    for (let part = 1; part <= TRAIL_PARTS; part++) {
      const frame = exact - (span * part) / TRAIL_PARTS;
      if (frame < character.firstFrame) break;
      const whole = Math.floor(frame);
      const mix = frame - whole;
      const a = (rowOf(motion, whole) * width + joint) * 3;
      const b = (rowOf(motion, Math.min(whole + 1, character.endFrame - 1)) * width + joint) * 3;
      const x = motion.positions[a] + mix * (motion.positions[b] - motion.positions[a]);
      const y = motion.positions[a + 1] + mix * (motion.positions[b + 1] - motion.positions[a + 1]);
      const z = motion.positions[a + 2] + mix * (motion.positions[b + 2] - motion.positions[a + 2]);
      const ax = m[0] * x + m[4] * y + m[8] * z + m[12];
      const ay = m[1] * x + m[5] * y + m[9] * z + m[13];
      const az = m[2] * x + m[6] * y + m[10] * z + m[14];
      const old = 1 - (part - 0.5) / TRAIL_PARTS;
      const thick = 0.013 * plan.size * old;
      capsules.add(ax, ay, az, bx, by, bz, thick, thick, character.color, 0.85 * old, 0.5);
      bx = ax;
      by = ay;
      bz = az;
    }
  }
}
