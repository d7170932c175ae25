// Traces of a motion: the path of the root on the floor, and trails of joints.

import * as THREE from "three";
import { rowOf } from "../motion/motion";
import type { Capsules } from "./capsules";
import type { Character } from "./character";
import { averaged, ribbon, ribbonMesh } from "./ribbon";

const STEP = 0.02; // meters between points of the path
const HALF_WIDTH = 0.014;
const SWAY = 0.4; // seconds on either side over which the sway of the hips is averaged
const TRAIL_SECONDS = 0.8;
const TRAIL_PARTS = 24;

/** A smooth ribbon on the floor under the root: the way of the body, without its sway. */
export function pathMesh(character: Character): THREE.Mesh {
  const { motion } = character;
  const point = new THREE.Vector3();
  const all: [number, number][] = [];
  for (let frame = character.firstFrame; frame < character.endFrame; frame++) {
    character.joint(frame, character.plan.root, point);
    all.push([point.x, point.z]);
  }
  const line: (readonly [number, number])[] = [];
  for (const one of averaged(all, Math.round(SWAY * motion.fps))) {
    const last = line.at(-1);
    if (!last || Math.hypot(one[0] - last[0], one[1] - last[1]) >= STEP) line.push(one);
  }
  const mesh = ribbonMesh(character.color, 0.6);
  mesh.geometry = ribbon(line, HALF_WIDTH, 0.006);
  return mesh;
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
