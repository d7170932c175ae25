// The joint that a motion is about: the hand or foot that moves farthest from where it begins and ends.

import type { MotionData } from "../motion/motion";

const JOINTS = ["right_ankle", "left_ankle", "right_wrist", "left_wrist"];

type Poses = Pick<MotionData, "positions" | "parents" | "roles">;

/** The role of this joint within frames [start, end) of a motion. */
export function movingJoint({ positions, parents, roles }: Poses, start: number, end: number): string {
  const hips = roles.hips ?? 0;
  const at = (frame: number, joint: number) =>
    [0, 1, 2].map(
      (axis) =>
        positions[(frame * parents.length + joint) * 3 + axis] - positions[(frame * parents.length + hips) * 3 + axis],
    );
  const far = (a: number[], b: number[]) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
  let [best, most] = [JOINTS[0], -1];
  for (const role of JOINTS.filter((one) => one in roles)) {
    const [first, last] = [at(start, roles[role]), at(end - 1, roles[role])];
    for (let frame = start; frame < end; frame++) {
      const place = at(frame, roles[role]);
      const away = far(place, first) + far(place, last);
      if (away > most) [best, most] = [role, away];
    }
  }
  return best;
}
