// The motion matching player: a character that follows controls.
//
// The state is a frame of the database and the position of the root on the floor. A few times a second, and when controls
// change, a search finds the frame that best matches the current pose and the desired trajectory. If it is better than
// the next frame of the take, playback jumps to it: the offset of the pose fades, and feet in contact stay in place.

import { FEATURES, type MatchingDatabase, type Range } from "./database";
import { FootLock } from "./foot-lock";
import { Inertializer, type Pose } from "./inertialization";
import * as floor from "./numbers";
import { limited, rounded, turnBy, wrapped, type Floor } from "./numbers";
import { estimatedSeams, rehearsedSeam, SEEN } from "./seams";
import { desiredFacing, Simulation, type Ahead, type Dynamics } from "./simulation";

const SEARCH_SECONDS = 0.1;
const STAY_SECONDS = 0.3; // seconds without a search after a jump
const STUCK_SECONDS = 1; // seconds without a search after a jump if the character makes no progress
const WATCHED_SECONDS = 1.5; // seconds in which a character must make progress
const GETS_ON = 0.3; // minimum share of the desired distance that counts as progress
const LEAST_WAY = 0.3; // m desired in that time; less is nearly standing and is not checked
const LAGS = 0.6; // if a smaller share of the desired distance is covered, the trajectory is scaled up
const MOST_EAGER = 2; // maximum factor by which the desired trajectory is scaled up
const WAITS_SECONDS = 0.5; // a character that stands still for this long may start in an arc
const WAITS_WAY = 0.05; // m in that time: less counts as standing still
const WAITS_TURN = 0.3; // rad/s
const ARC = Math.PI / 4; // rad: in an arc, maximum angle between facing and desired trajectory
const JUMP_COST = 0.2; // m: a jump must cost less than staying in the take by this amount
const JUMP_SHARE = 0.9; // a jump must cost less than this multiple of staying in the take
const APART_SECONDS = 0.3; // frames closer than this to the current frame are not jump targets
const END_SECONDS = 0.3; // seconds before the end of a range in which any smooth jump is taken
const BEND = 2; // rad/s: maximum extra turn of the root while walking
const BEND_GAIN = 5; // 1/s
const STILL = 0.15; // m/s of feet and hips: slower poses can be frozen
const REST_WAY = 0.1; // m in the next second: less counts as standing
const REST_TURN = 0.15; // rad
const REST_LEAVES = 0.03; // m in the next third of a second: more means that the take starts to move
const ROUGH_SECONDS = 0.25;
const CANDIDATES = 16; // number of best frames from which the one with the smoothest seam is chosen
const SEAM_COST = 0.3; // m: cost of a seam that is as rough as the roughest frames of the takes
const REHEARSED = 6; // maximum number of candidates that are rehearsed
const ROUGHEST = 1.2; // jumps with a rougher seam are postponed
const ASIDE = 0.1; // m: maximum shift of the root at a jump
const CHANGED = 0.3; // m/s: larger changes of the desired velocity start a search at once
const MOST = 1e6; // largest value of a control, in m/s or rad
const LONG_AGO = 10_000; // frames

/** What a player is asked to do; a control that is missing does not change. */
export interface Controls {
  /** Desired velocity x, z in m/s. */
  velocity?: readonly [x: number, z: number];
  /** Direction that the body faces, in radians from +Z toward +X; null is the direction of travel. */
  facing?: number | null;
  /** Keep the current facing for any velocity. */
  strafe?: boolean;
  /** Tags (gaits or labels), of which frames must have at least one; null allows any gait. */
  gait?: string | readonly string[] | null;
}

/** A pose to draw, and where it comes from. */
export interface Played extends Pose {
  /** Frame of the database. */
  frame: number;
  jumped: boolean;
  /** Contacts of heel and ball, left and right. */
  contacts: Uint8Array;
}

export class MatchingPlayer {
  readonly fps: number;
  jumps = 0;
  /** Cost of the frame of the last jump, and of continuing the take in the last search, in meters. */
  cost = 0;
  goingOn = 0;
  private readonly inertializer: Inertializer;
  private readonly footLock: FootLock | null;
  private readonly simulation: Simulation;
  private readonly steps: Float64Array; // shift z, x and turn to each frame, in the axes of the frame before
  private desired: Floor = [0, 0];
  private facing: number | null = null;
  private allowed: Uint8Array;
  private frame: number;
  private place: Floor = [0, 0];
  private heading = 0;
  private played = 0;
  private share = 1;
  private way: Floor[] = [];
  private arcs = false; // whether the character turns by walking in an arc
  private shown: Float32Array[] = [];
  private sinceSearch = LONG_AGO;
  private sinceJump = LONG_AGO;

  constructor(
    readonly database: MatchingDatabase,
    { dynamics = "sprung", lockFeet = true }: { dynamics?: Dynamics; lockFeet?: boolean } = {},
  ) {
    this.fps = database.fps;
    this.inertializer = new Inertializer(database.skeleton.parents.length, this.fps);
    this.footLock = lockFeet ? new FootLock(database.skeleton, this.fps) : null;
    this.simulation = new Simulation(dynamics);
    this.allowed = database.allowed();
    this.frame = database.standing;
    this.steps = rootSteps(database);
    this.sinceSearch = LONG_AGO;
  }

  /** Change controls; all are checked before any is applied. */
  steer({ velocity, facing, strafe, gait }: Controls): void {
    if (velocity && !(Math.abs(velocity[0]) <= MOST && Math.abs(velocity[1]) <= MOST))
      throw new RangeError(`velocity must be two numbers from ${-MOST} to ${MOST} m/s; got ${String(velocity)}`);
    if (facing !== undefined && facing !== null && !(Math.abs(facing) <= MOST))
      throw new RangeError(`facing must be a number from ${-MOST} to ${MOST}; got ${facing}`);
    if (gait !== undefined)
      this.allowed = this.database.allowed(gait === null ? [] : typeof gait === "string" ? [gait] : gait);
    if (velocity) {
      const wanted: Floor = [velocity[1], velocity[0]];
      if (floor.sizeOf(floor.minus(wanted, this.desired)) > CHANGED) {
        this.sinceSearch = LONG_AGO;
        this.way = [];
      }
      this.desired = wanted;
    }
    if (facing !== undefined) this.facing = facing;
    if (strafe) this.facing ??= this.heading;
    else if (strafe === false && facing === undefined) this.facing = null;
    if (gait !== undefined || facing !== undefined) this.sinceSearch = LONG_AGO;
  }

  /** Play one frame, 1 / fps seconds. */
  next(): Played {
    const { database, footLock, inertializer } = this;
    const jumped = this.played > 0 && this.advance();
    if (jumped) inertializer.seam(this.firstFrames());
    const frame = this.frame;
    const pose = database.pose(frame, ...this.transform(frame, this.place, this.heading));
    inertializer.apply([pose]);
    if (footLock) {
      footLock.lock(pose, database.contacts, frame * 4);
      const shift = footLock.rebase();
      inertializer.rebase(shift);
      this.place = [this.place[0] + shift[2], this.place[1] + shift[0]];
    }
    const joints = database.positions(pose);
    this.shown = this.shown.length ? [this.shown[1], joints] : [joints, joints];
    this.played += 1;
    return { ...pose, frame, jumped, contacts: database.contacts.slice(frame * 4, frame * 4 + 4) };
  }

  /** Position x, z and facing of the root on the floor. */
  get position(): [x: number, z: number, facing: number] {
    return [this.place[1], this.place[0], this.heading];
  }

  /** Velocity x, z of the root in the current frame, in m/s. */
  get velocity(): [x: number, z: number] {
    const [z, x] = floor.times(this.step(this.frame), turnBy(this.heading));
    return [x * this.fps, z * this.fps];
  }

  /** The take that is played, and the tag of the current frame. */
  get range(): Range {
    return this.database.rangeOf(this.frame);
  }

  get gait(): string {
    return this.database.gaitNames[this.database.gaits[this.frame] - 1] ?? "";
  }

  /** The desired positions x, z and facings at the horizons, in the world. */
  get trajectory(): [x: number, z: number, facing: number][] {
    const { places, facings } = this.ahead();
    return places.map(([z, x], n) => [x + this.place[1], z + this.place[0], facings[n]]);
  }

  private firstFrames(): Pose[] {
    const { stop } = this.range;
    const [shift, yaw] = this.transform(this.frame, this.place, this.heading);
    return Array.from({ length: SEEN }, (_, n) => this.database.pose(Math.min(this.frame + n, stop - 1), shift, yaw));
  }

  private advance(): boolean {
    this.simulation.step(this.desired, this.desiredFacing(), 1 / this.fps);
    this.watch();
    this.sinceSearch += 1;
    this.sinceJump += 1;
    if (this.mayHold()) return false;
    const left = this.database.lastFrame(this.frame) - this.frame;
    // A character that makes no progress stays in a take longer, so that it does not loop over a few frames.
    const stay = this.share < GETS_ON ? STUCK_SECONDS : STAY_SECONDS;
    const ready = this.sinceJump >= stay * this.fps && !this.wasRough();
    let jumped = false;
    if (left <= Math.max(rounded(END_SECONDS * this.fps), 1))
      jumped = (ready || left <= 1) && this.search(true, left <= 1);
    else if (ready && this.sinceSearch >= SEARCH_SECONDS * this.fps) jumped = this.search(false, false);
    if (!jumped) this.frame += 1;
    this.move();
    return jumped;
  }

  /** Update the share of the desired distance that was covered recently. */
  private watch(): void {
    this.way.push(this.place);
    this.arcs = this.turnsInArc();
    const count = rounded(WATCHED_SECONDS * this.fps);
    this.share = 1;
    if (this.way.length <= count) return;
    this.way = this.way.slice(-count);
    const wanted = (floor.sizeOf(this.desired) * count) / this.fps;
    const gone = floor.sizeOf(floor.minus(this.place, this.way[0]));
    if (wanted >= LEAST_WAY) this.share = Math.min(gone / wanted, 1);
  }

  /**
   * Whether to request a trajectory that starts forward and bends. If no take turns in place, every frame that moves leads
   * farther away from a position behind the character than standing does, so the character would stand forever.
   */
  private turnsInArc(): boolean {
    const { database, desired, fps, frame, way } = this;
    if (this.facing !== null || floor.sizeOf(desired) * WATCHED_SECONDS < LEAST_WAY) return false;
    if (Math.abs(floor.angleOf(floor.times(desired, turnBy(-this.heading)))) <= ARC) return false;
    const count = rounded(WAITS_SECONDS * fps);
    if (this.arcs || way.length <= count || database.gaits[frame] !== 1) return this.arcs;
    const turns = Math.abs(this.steps[frame * 3 + 2]) * fps > WAITS_TURN;
    return !turns && floor.sizeOf(floor.minus(way.at(-1)!, way.at(-1 - count)!)) < WAITS_WAY;
  }

  /** The trajectory, turned and bent until it leads forward from the facing. */
  private arc({ places, facings }: Ahead): Ahead {
    const straight = turnBy(-this.heading);
    const off = floor.angleOf(floor.times(places.at(-1)!, straight));
    const back = turnBy(limited(off, ARC) - off);
    return {
      places: places.map((place) => floor.times(place, back)),
      facings: facings.map((facing) => this.heading + limited(wrapped(facing - this.heading), ARC)),
    };
  }

  /** Whether to freeze the pose, so that a standing character does not move. */
  private mayHold(): boolean {
    const { database, frame } = this;
    if (database.gaits[frame] !== 1 || this.largest(6, 15) > STILL) return false;
    const { places, facings } = this.ahead();
    const turn = wrapped(facings.at(-1)! - this.heading);
    if (Math.max(...places.map(floor.sizeOf)) > REST_WAY || Math.abs(turn) > REST_TURN) return false;
    return frame + 1 >= this.range.stop || this.largest(15, 17) > REST_LEAVES;
  }

  /** The largest absolute value of some features of the current frame. */
  private largest(start: number, stop: number): number {
    const at = this.frame * FEATURES;
    return Math.max(...this.database.features.subarray(at + start, at + stop).map(Math.abs));
  }

  private wasRough(): boolean {
    const first = Math.max(this.frame - rounded(ROUGH_SECONDS * this.fps), 0);
    return this.database.rough.subarray(first, this.frame + 1).includes(1);
  }

  private desiredFacing(): number {
    return desiredFacing(this.desired, this.facing, this.simulation.facing);
  }

  /** The desired positions, relative to the root, and facings at the horizons. */
  private ahead(): Ahead {
    const straight = this.simulation.ahead(this.desired, this.desiredFacing());
    const { places, facings } = this.arcs ? this.arc(straight) : straight;
    const eager = this.share < LAGS ? Math.min(MOST_EAGER, 1 / Math.max(this.share, 1e-3)) : 1;
    return { places: places.map((place) => floor.scaled(place, eager)), facings };
  }

  /** Normalized features of the current pose and the desired trajectory. */
  private query(): Float32Array {
    const { places, facings } = this.ahead();
    const straight = turnBy(-this.heading);
    const wanted = new Float64Array(FEATURES);
    wanted.set(this.database.features.subarray(this.frame * FEATURES, this.frame * FEATURES + 15));
    places.forEach((place, n) => {
      const [z, x] = floor.times(place, straight);
      const [dz, dx] = floor.times(turnBy(facings[n]), straight);
      wanted.set([x, z], 15 + 2 * n);
      wanted.set([dx, dz], 21 + 2 * n);
    });
    return this.database.normalized(wanted);
  }

  /** Jump to a better frame if there is one; if `due`, to any with a smooth seam; if `forced`, in any case. */
  private search(due: boolean, forced: boolean): boolean {
    const { database, frame } = this;
    this.sinceSearch = 0;
    const point = this.query();
    let square = 0;
    for (let c = 0; c < FEATURES; c++) square += (point[c] - database.rows[frame * FEATURES + c]) ** 2;
    this.goingOn = Math.sqrt(square);
    const stands = database.gaits[frame] === 1; // a standing character can start at any time
    const most = due ? Infinity : JUMP_SHARE * this.goingOn - (stands ? 0 : JUMP_COST);
    if (most <= 0) return false;
    const apart = rounded(APART_SECONDS * this.fps);
    const near: [number, number] = [frame - apart, frame + apart + 1];
    let { rows, costs } = database.search.nearest(point, CANDIDATES, most, this.allowed, ...near);
    if (this.share < GETS_ON && !due) {
      const own = this.leads(frame);
      const farther = rows.map((row) => this.leads(row) > own);
      rows = rows.filter((_, n) => farther[n]);
      costs = costs.filter((_, n) => farther[n]);
    }
    if (!rows.length && forced) ({ rows, costs } = database.search.nearest(point));
    if (!rows.length) return false;
    const best = this.smoothest(rows, costs, forced);
    if (best === null) return false;
    this.cost = costs[best];
    this.frame = rows[best];
    this.place = floor.plus(this.place, this.stepAside(frame, this.frame));
    this.sinceJump = 0;
    this.jumps += 1;
    return true;
  }

  /** How far a frame travels in the desired direction within a second, in meters. */
  private leads(frame: number): number {
    const wanted = floor.times(this.ahead().places.at(-1)!, turnBy(-this.heading));
    const [x, z] = this.database.features.subarray(frame * FEATURES + 19, frame * FEATURES + 21);
    return (z * wanted[0] + x * wanted[1]) / Math.max(floor.sizeOf(wanted), 1e-6);
  }

  /** The best candidate whose rehearsed seam is smooth; else null or, if forced, the smoothest. */
  private smoothest(rows: number[], costs: number[], forced: boolean): number | null {
    const seams = estimatedSeams(this.database, this.frame, rows);
    const total = costs.map((cost, n) => cost + SEAM_COST * seams[n]);
    const order = [...rows.keys()].sort((a, b) => total[a] - total[b] || a - b);
    const rough: [ratio: number, number: number][] = [];
    for (const number of order.slice(0, REHEARSED)) {
      const ratio = this.rehearsed(rows[number]);
      if (ratio <= ROUGHEST) return number;
      rough.push([ratio, number]);
    }
    return forced ? rough.sort((a, b) => a[0] - b[0] || a[1] - b[1])[0][1] : null;
  }

  private rehearsed(frame: number): number {
    if (!this.shown.length) return 0;
    const aside = floor.plus(this.place, this.stepAside(this.frame, frame));
    const place = floor.plus(aside, floor.times(this.step(frame), turnBy(this.heading)));
    const [shift, yaw] = this.transform(frame, place, this.heading + this.steps[frame * 3 + 2]);
    return rehearsedSeam(this.database, frame, shift, yaw, this.shown, this.inertializer, this.footLock);
  }

  private step(frame: number): Floor {
    return [this.steps[frame * 3], this.steps[frame * 3 + 1]];
  }

  /** Move the root by its step to the current frame, and bend its path. */
  private move(): void {
    const step = this.step(this.frame);
    this.place = floor.plus(this.place, floor.times(step, turnBy(this.heading)));
    this.heading += this.steps[this.frame * 3 + 2];
    const bend = BEND * Math.min(floor.sizeOf(step) * this.fps, 1);
    const { places, facings } = this.ahead();
    const own = this.database.features.subarray(this.frame * FEATURES + 15, (this.frame + 1) * FEATURES);
    const leads: Floor = [own[1], own[0]];
    let missing: number;
    if (floor.sizeOf(leads) > 0.1 && floor.sizeOf(places[0]) > 0.1 && this.facing === null) {
      const [z, x] = floor.times(leads, turnBy(this.heading));
      missing = floor.angleOf(floor.times(places[0], [z, -x]));
    } else missing = floor.angleOf(floor.times(turnBy(facings[0] - this.heading), [own[7], -own[6]]));
    this.turn(Math.max(-bend, Math.min(bend, BEND_GAIN * missing)) / this.fps);
  }

  /** The root shift that keeps feet in contact from moving at a jump. */
  private stepAside(before: number, after: number): Floor {
    const { features, contacts } = this.database;
    const sides = [0, 1].filter((side) =>
      [0, 1].some((part) => contacts[before * 4 + 2 * side + part] && contacts[after * 4 + 2 * side + part]),
    );
    if (!sides.length) return [0, 0];
    const off = (c: number): number => {
      const parts = sides.map((side) =>
        Math.fround(features[before * FEATURES + 3 * side + c] - features[after * FEATURES + 3 * side + c]),
      );
      return parts.length === 1 ? parts[0] : Math.fround(Math.fround(parts[0] + parts[1]) / 2);
    };
    const aside = floor.times([off(2), off(0)], turnBy(this.heading));
    const size = floor.sizeOf(aside);
    return size <= ASIDE ? aside : floor.scaled(aside, ASIDE / size);
  }

  /** Rotate the root about the foot in contact, so that this foot does not slide. */
  private turn(angle: number): void {
    const { contacts, features } = this.database;
    const at = this.frame * FEATURES;
    const ankles: Floor[] = [0, 1]
      .filter((side) => contacts[this.frame * 4 + 2 * side] || contacts[this.frame * 4 + 2 * side + 1])
      .map((side) => [features[at + 3 * side + 2], features[at + 3 * side]]);
    let pivot: Floor = [0, 0];
    for (const ankle of ankles) pivot = floor.plus(pivot, floor.scaled(ankle, 1 / ankles.length));
    pivot = floor.times(pivot, turnBy(this.heading));
    this.place = floor.plus(this.place, floor.minus(pivot, floor.times(pivot, turnBy(angle))));
    this.heading += angle;
  }

  /** The shift and the yaw that move the root of a frame to a place and a heading. */
  private transform(frame: number, place: Floor, heading: number): [shift: Floor, yaw: number] {
    const [x, z, facing] = this.database.places.subarray(frame * 3, frame * 3 + 3);
    const yaw = heading - facing;
    return [floor.minus(place, floor.times(turnBy(yaw), [z, x])), yaw];
  }
}

/** The root's shift and turn to each frame, in the axes of the frame before. */
function rootSteps({ places, count, ranges }: MatchingDatabase): Float64Array {
  const steps = new Float64Array(count * 3);
  for (let n = 1; n < count; n++) {
    const [at, last] = [n * 3, n * 3 - 3];
    const shift: Floor = [places[at + 1] - places[last + 1], places[at] - places[last]];
    steps.set(floor.times(shift, turnBy(-places[last + 2])), at);
    steps[at + 2] = places[at + 2] - places[last + 2];
  }
  for (const { start } of ranges)
    steps.copyWithin(start * 3, Math.min(start + 1, count - 1) * 3, Math.min(start + 1, count - 1) * 3 + 3);
  return steps;
}
