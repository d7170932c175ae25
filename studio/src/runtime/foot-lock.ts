// The streaming foot lock: a foot is held where its contact begins, and a spring releases it afterwards. The root follows
// held feet through another spring and is lowered where a leg is too short.

import type { Skeleton } from "./database";
import type { Pose } from "./inertialization";
import { multiplyInto, rotateInto, springOf, type Numbers } from "./numbers";
import {
  apart,
  bendForGoal,
  bendTwoBone,
  dot,
  lengthOf,
  MAX_EXTENSION,
  shortestRotation,
  type Vector,
} from "./two-bone";

const RELEASE_RATE = 12; // 1/s: a correction is gone about 0.4 s after its contact
const RELEASE_PULL = 10; // m/s^2: maximum acceleration with which a released foot is pulled back to its path
const FOLLOW_RATE = 9; // 1/s: rate at which the root follows held feet
const ROOT_SHARE = 0.7; // fraction of the correction of held feet that the root takes over
const LOWER_RATE = 18; // 1/s: rate at which the root is lowered for legs that cannot reach
const MAX_LOWERING = 0.08; // meters
const MAX_CORRECTION = 0.35; // meters: a foot that would be held farther from its path is released
const LEAST_LEFT = 0.05; // meters over which a released foot turns around
const CAUGHT_AGAIN = 0.1; // meters from its path at which a released foot may be held again
const CATCH_SPEED = 0.6; // m/s: slower feet are held at once
const SKATE_SPEED = 1.5; // m/s: faster feet do not skate, they travel
const SLOWS = 0.95; // a foot slower than this fraction of its last speed slows down
const RISES = 0.3; // m/s: feet that rise faster are not held, ...
const RISEN = 0.6; // ... and held feet that rise faster are released
const KNEE_RATE = 20; // 1/s for a straight knee
const KNEE_BENT = 0.25; // radians at which the rate is twice as high

// Rows of the state: ankle and ball of each foot, then the root. Columns: 0-2 correction, 3-5 its velocity, 6-8 held
// position, 9 phase (free 0, held 1, released 2), 10-11 last position, 12 last speed, 13-14 bend of the knee and its
// velocity, 15 last height.
const COLUMNS = 16;
const POINTS = 4;

export class FootLock {
  private readonly dt: number;
  private readonly chain: number[];
  private readonly turn: Float64Array;
  private readonly place: Float64Array;
  private state = new Float64Array((POINTS + 1) * COLUMNS);

  constructor(
    private readonly skeleton: Skeleton,
    fps: number,
  ) {
    this.dt = 1 / fps;
    const chain = new Set<number>();
    for (const start of skeleton.ballParents)
      for (let joint = start; joint >= 0; joint = skeleton.parents[joint]) chain.add(joint);
    this.chain = [...chain].sort((a, b) => a - b);
    this.turn = new Float64Array(skeleton.parents.length * 4);
    this.place = new Float64Array(skeleton.parents.length * 3);
  }

  /** A copy in the same state. */
  copy(): FootLock {
    const other = new FootLock(this.skeleton, 1 / this.dt);
    other.state = this.state.slice();
    return other;
  }

  /** The shift of the root since the last call, subtracted from the state; add it to the root of all later frames. */
  rebase(): Vector {
    const [x, z] = [this.state[POINTS * COLUMNS], this.state[POINTS * COLUMNS + 2]];
    for (let row = 0; row <= POINTS; row++) {
      this.state[row * COLUMNS] -= x;
      this.state[row * COLUMNS + 2] -= z;
    }
    return [x, 0, z];
  }

  /** Lock the feet of the next frame, in place. `contacts`: heel and ball, left and right, from `at`. */
  lock({ rotations, root }: Pose, contacts: Uint8Array, at = 0): void {
    const { skeleton, turn, place, dt } = this;
    const { parents, offsets, legs, ballParents, ballOffsets } = skeleton;
    const points = Array.from({ length: POINTS + 1 }, (_, row) =>
      this.state.subarray(row * COLUMNS, (row + 1) * COLUMNS),
    );
    const pelvis = points[POINTS];
    const bone = [0, 0, 0];
    for (const joint of this.chain) {
      const parent = parents[joint];
      if (parent < 0) {
        for (let c = 0; c < 4; c++) turn[joint * 4 + c] = rotations[joint * 4 + c];
        for (let c = 0; c < 3; c++) place[joint * 3 + c] = root[c];
      } else {
        multiplyInto(turn, parent * 4, rotations, joint * 4, turn, joint * 4);
        rotateInto(turn, parent * 4, offsets, joint * 3, bone, 0);
        for (let c = 0; c < 3; c++) place[joint * 3 + c] = place[parent * 3 + c] + bone[c];
      }
    }
    const placeOf = (joint: number): Vector => [place[joint * 3], place[joint * 3 + 1], place[joint * 3 + 2]];
    const first = pelvis[9] === 0;
    const balls: Vector[] = [];
    const goals: Vector[] = [];
    const wanted = [0, 0, 0];
    let held = 0;
    for (let side = 0; side < 2; side++) {
      const ankle = placeOf(legs[side * 3 + 2]);
      rotateInto(turn, ballParents[side] * 4, ballOffsets, side * 3, bone, 0);
      const from = placeOf(ballParents[side]);
      const ball: Vector = [from[0] + bone[0], from[1] + bone[1], from[2] + bone[2]];
      const heelState = points[2 * side];
      const ballState = points[2 * side + 1];
      // The ball comes first: a free heel then follows it in the same frame.
      holdPoint(ballState, ball, contacts[at + 2 * side + 1] > 0, heelState, first, dt);
      holdPoint(heelState, ankle, contacts[at + 2 * side] > 0, ballState, first, dt);
      ballState[1] = heelState[1] = 0;
      for (const point of [heelState, ballState]) {
        if (point[9] !== 1) continue;
        held += 1;
        wanted[0] += point[0];
        wanted[2] += point[2];
      }
      // The foot keeps its length; the ball takes precedence unless the heel alone is held.
      const lever = apart(ball, ankle);
      const aim = [0, 1, 2].map((c) => ball[c] + ballState[c] - (ankle[c] + heelState[c])) as Vector;
      const longer = Math.sqrt(dot(lever, lever) / Math.max(dot(aim, aim), 1e-12));
      for (let c = 0; c < 3; c++) aim[c] *= longer;
      if (heelState[9] === 1 && ballState[9] !== 1) {
        for (const c of [0, 2]) {
          ballState[c] = ankle[c] + heelState[c] + aim[c] - ball[c];
          ballState[10 + c / 2] = ball[c] + ballState[c];
        }
      }
      const goal = [0, 1, 2].map((c) => ball[c] + ballState[c] - aim[c]) as Vector;
      if (heelState[9] !== 1) {
        for (const c of [0, 2]) {
          heelState[c] = goal[c] - ankle[c];
          heelState[10 + c / 2] = goal[c];
        }
      }
      balls.push(ball);
      goals.push(goal);
    }
    const share = held > 0 ? ROOT_SHARE / held : 0;
    for (const c of [0, 2]) springStep(pelvis, c, share * wanted[c], held > 0 ? FOLLOW_RATE : RELEASE_RATE, dt);
    this.lower(pelvis, goals, placeOf, first);
    pelvis[9] = 1; // the first frame is over
    for (let c = 0; c < 3; c++) root[c] += pelvis[c];
    for (let side = 0; side < 2; side++) {
      const [h, k, f] = legs.slice(side * 3, side * 3 + 3);
      const moved = (joint: number): Vector => {
        const [x, y, z] = placeOf(joint);
        return [x + pelvis[0], y + pelvis[1], z + pelvis[2]];
      };
      const [hip, knee, ankle] = [moved(h), moved(k), moved(f)];
      const [more, bend] = bendForGoal(hip, knee, ankle, goals[side]);
      const heelState = points[2 * side];
      bendKnee(heelState, more, bend, first, dt);
      const before = placeOf(f);
      // A leg that needs no change keeps its rotations bit for bit.
      const changes = Math.max(Math.abs(pelvis[0]), Math.abs(pelvis[1]), Math.abs(pelvis[2]), Math.abs(heelState[13]));
      if (changes < 1e-7 && Math.max(...apart(goals[side], before).map(Math.abs)) < 1e-7) continue;
      const lever = apart(balls[side], before);
      const size = lengthOf(lever) + 1e-12;
      const ahead: Vector = [lever[0] / size, lever[1] / size, lever[2] / size];
      const { upper, lower, arrived } = bendTwoBone(hip, knee, ankle, goals[side], ahead, heelState[13]);
      const target = [0, 1, 2].map((c) => balls[side][c] + points[2 * side + 1][c]);
      const sole = shortestRotation(lever, apart(target, arrived));
      setGlobal(rotations, h, turn, parents, upper, [1, 0, 0, 0]);
      setGlobal(rotations, k, turn, parents, lower, upper);
      setGlobal(rotations, f, turn, parents, sole, lower);
    }
  }

  /** Lower the root so far that both legs reach their goals. */
  private lower(pelvis: Float64Array, goals: Vector[], placeOf: (joint: number) => Vector, first: boolean): void {
    const { legs } = this.skeleton;
    let short = 0;
    for (let side = 0; side < 2; side++) {
      const [a, b, c] = [0, 1, 2].map((k) => placeOf(legs[side * 3 + k]));
      const bones = lengthOf(apart(b, a)) + lengthOf(apart(c, b));
      const length = Math.max(MAX_EXTENSION * bones, lengthOf(apart(c, a)));
      const aside = (goals[side][0] - (a[0] + pelvis[0])) ** 2 + (goals[side][2] - (a[2] + pelvis[2])) ** 2;
      if (aside >= length * length) continue;
      const most = goals[side][1] + Math.sqrt(length * length - aside);
      short = Math.min(short, most - (a[1] + pelvis[1] - pelvis[1]));
    }
    if (first) pelvis[1] = Math.max(short, -MAX_LOWERING);
    else springStep(pelvis, 1, Math.max(short, -MAX_LOWERING), LOWER_RATE, this.dt);
  }
}

function springStep(state: Float64Array, c: number, target: number, rate: number, dt: number): void {
  const [away, speed] = springOf(state[c] - target, state[3 + c], rate, dt);
  state[c] = target + away;
  state[3 + c] = speed;
}

/** The rate of the spring that releases a correction: lower where the foot would be pulled too hard. */
function releaseRate(state: Float64Array): number {
  const away = Math.hypot(state[0], state[2]);
  if (away < 1e-6) return RELEASE_RATE;
  const speed = (state[0] * state[3] + state[2] * state[5]) / away;
  const gentle = (Math.sqrt(speed * speed + RELEASE_PULL * away) - speed) / away;
  const left = Math.max(MAX_CORRECTION - away, LEAST_LEFT);
  return Math.min(RELEASE_RATE, Math.max(gentle, speed / (Math.E * left)));
}

/** Advance the correction of a point at `place` by one frame; `other` is the other point of the foot. */
function holdPoint(
  state: Float64Array,
  place: Vector,
  stands: boolean,
  other: Float64Array,
  first: boolean,
  dt: number,
): void {
  const otherHeld = other[9] === 1;
  const here = place[0] + state[0];
  const there = place[2] + state[2];
  const speed = first ? 0 : Math.hypot(here - state[10], there - state[11]) / dt;
  const rises = first ? 0 : (place[1] - state[15]) / dt;
  const travels = speed > SKATE_SPEED || (speed > CATCH_SPEED && speed < SLOWS * state[12]) || rises > RISES;
  if (stands && !travels && state[9] === 0) {
    state[9] = 1;
    state[6] = here;
    state[8] = there;
  } else if (!stands || (state[9] === 2 && Math.hypot(state[0], state[2]) < CAUGHT_AGAIN)) {
    state[9] = 0;
  }
  if (state[9] === 1) {
    const far = Math.hypot(state[6] - place[0], state[8] - place[2]);
    if (far > MAX_CORRECTION || rises > RISEN) state[9] = 2;
  }
  const rate = otherHeld ? RELEASE_RATE : releaseRate(state);
  for (const c of [0, 2]) {
    if (state[9] === 1) {
      // The velocity is updated so that the spring takes over without a jerk.
      const correction = state[6 + c] - place[c];
      state[3 + c] = (correction - state[c]) / dt;
      state[c] = correction;
    } else springStep(state, c, otherHeld ? other[c] : 0, rate, dt);
  }
  state[10] = place[0] + state[0];
  state[11] = place[2] + state[2];
  state[12] = speed;
  state[15] = place[1];
}

/** Move the bend of the knee toward `more`; the more the knee is bent, the stiffer the spring. */
function bendKnee(state: Float64Array, more: number, bend: number, first: boolean, dt: number): void {
  if (first) {
    state[13] = more;
    return;
  }
  const [away, speed] = springOf(state[13] - more, state[14], KNEE_RATE * (1 + (bend / KNEE_BENT) ** 2), dt);
  state[13] = more + away;
  state[14] = speed;
}

/** Set a joint's local rotation after the world rotations `change` of itself and `above` of its parent. */
function setGlobal(
  rotations: Float32Array,
  joint: number,
  turn: Float64Array,
  parents: ArrayLike<number>,
  change: Numbers,
  above: Numbers,
): void {
  const world = [0, 0, 0, 0];
  multiplyInto(change, 0, turn, joint * 4, world, 0);
  if (parents[joint] >= 0) {
    const around = [0, 0, 0, 0];
    multiplyInto(above, 0, turn, parents[joint] * 4, around, 0);
    multiplyInto([around[0], -around[1], -around[2], -around[3]], 0, world, 0, world, 0);
  }
  let sum = 0;
  for (let c = 0; c < 4; c++) sum += world[c] * rotations[joint * 4 + c];
  const sign = sum >= 0 ? 1 : -1;
  for (let c = 0; c < 4; c++) rotations[joint * 4 + c] = sign * world[c];
}
