// The exported database of a controller: poses, root motion, contacts and features of all frames.
//
// A file is a zlib stream of: the length of the header as uint32, the header as JSON, and the arrays that it lists. A
// packed array holds multiples of a step, column by column: differences along the rows, in zigzag order, split into byte
// planes. All numbers are little-endian.

import type { Pose } from "./inertialization";
import { multiplyInto, turnBy, type Floor } from "./numbers";
import { Search } from "./search";

export const FEATURES = 27;
const VERSION = 1;
const MOST = 512 * 2 ** 20; // bytes of an unpacked file

/** The skeleton, with the joints that the foot lock needs. */
export interface Skeleton {
  names: string[];
  parents: number[];
  /** Position of each joint relative to its parent, in the parent's axes (J, 3), in meters. */
  offsets: Float64Array;
  roles: Record<string, number>;
  /** Hip, knee and ankle of the left and the right leg. */
  legs: number[];
  ballParents: number[];
  ballOffsets: Float64Array;
}

/** Frames [start, stop): one take or its mirrored copy. */
export interface Range {
  name: string;
  take: string;
  start: number;
  stop: number;
  mirrored: boolean;
  /** The last frame that is played. */
  last: number;
}

/** A mesh in the bind pose; `bind` holds the world matrices of the joints there, row by row. */
export interface Mesh {
  name: string;
  color: [number, number, number] | null;
  positions: Float32Array;
  normals: Float32Array;
  triangles: Uint32Array;
  joints: Uint16Array;
  weights: Float32Array;
  bind: number[];
  /** Texture coordinates, and an image file, if the mesh has a texture. */
  uvs: Float32Array | null;
  texture: Uint8Array<ArrayBuffer> | null;
}

interface Stored {
  name: string;
  type: "packed" | "bytes";
  rows: number;
  columns: number;
  /** Bytes per number. */
  bytes: number;
  scale: number;
  /** How often differences were taken along the rows. */
  order: number;
}

interface Header {
  format: string;
  version: number;
  title: string;
  fps: number;
  acceleration: number;
  standing: number;
  speeds: [number, number];
  skeleton: { names: string[]; parents: number[]; offsets: number[]; roles: Record<string, number> } & {
    legs: number[];
    ballParents: number[];
    ballOffsets: number[];
  };
  ranges: Range[];
  gaits: string[];
  labels: Record<string, [number, number][]>;
  offset: number[];
  scale: (number | null)[];
  meshes: { name: string; color: [number, number, number] | null; textured: boolean; bind: number[] }[];
  arrays: Stored[];
}

export class MatchingDatabase {
  readonly title: string;
  readonly fps: number;
  readonly count: number;
  readonly skeleton: Skeleton;
  readonly ranges: Range[];
  /** Lowest and highest travel speed of the takes, in m/s. */
  readonly speeds: [number, number];
  /** 99.9th percentile of the accelerations of all joints, in m/s^2. */
  readonly acceleration: number;
  readonly standing: number;
  readonly gaitNames: string[];
  readonly rotations: Float32Array;
  readonly root: Float32Array;
  readonly places: Float64Array;
  readonly features: Float32Array;
  readonly contacts: Uint8Array;
  readonly gaits: Uint8Array;
  readonly rough: Uint8Array;
  readonly searchable: Uint8Array;
  /** Normalized features. */
  readonly rows: Float32Array;
  readonly search: Search;
  readonly meshes: Mesh[];
  private readonly offset: number[];
  private readonly scale: number[];
  private readonly labels: Record<string, [number, number][]>;

  /** Read a file that is already unpacked; see `readDatabase`. */
  constructor(data: ArrayBuffer) {
    const { header, arrays } = contentOf(data);
    const { skeleton } = header;
    this.title = header.title;
    this.fps = header.fps;
    this.acceleration = header.acceleration;
    this.standing = header.standing;
    this.speeds = header.speeds;
    this.ranges = header.ranges;
    this.gaitNames = header.gaits;
    this.labels = header.labels;
    this.skeleton = {
      ...skeleton,
      offsets: Float64Array.from(skeleton.offsets),
      ballOffsets: Float64Array.from(skeleton.ballOffsets),
    };
    const joints = skeleton.parents.length;
    this.root = Float32Array.from(arrays.root);
    this.places = Float64Array.from(arrays.places);
    this.features = Float32Array.from(arrays.features);
    this.count = this.root.length / 3;
    this.rotations = unitRotations(arrays.rotations);
    this.contacts = arrays.contacts as Uint8Array;
    this.gaits = arrays.gaits as Uint8Array;
    this.rough = arrays.rough as Uint8Array;
    this.searchable = arrays.searchable as Uint8Array;
    this.offset = header.offset;
    this.scale = header.scale.map((value) => value ?? Infinity);
    const sizes = [
      this.rotations.length === this.count * joints * 4,
      this.places.length === this.count * 3,
      this.features.length === this.count * FEATURES,
      this.contacts.length === this.count * 4,
      [this.gaits, this.rough, this.searchable].every((array) => array.length === this.count),
      this.ranges.length > 0 && this.ranges.at(-1)!.stop === this.count,
    ];
    if (!sizes.every(Boolean)) throw new Error("the arrays of the controller do not fit together");
    this.rows = new Float32Array(this.features.length);
    for (let n = 0; n < this.count; n++)
      this.rows.set(this.normalized(this.features.subarray(n * FEATURES, (n + 1) * FEATURES)), n * FEATURES);
    this.search = new Search(this.rows, FEATURES, this.searchable);
    this.meshes = header.meshes.map((mesh, n) => ({
      ...mesh,
      positions: Float32Array.from(arrays[`mesh${n}.positions`]),
      normals: Float32Array.from(arrays[`mesh${n}.normals`]),
      triangles: Uint32Array.from(arrays[`mesh${n}.triangles`]),
      joints: Uint16Array.from(arrays[`mesh${n}.joints`]),
      weights: Float32Array.from(arrays[`mesh${n}.weights`]),
      uvs: mesh.textured ? Float32Array.from(arrays[`mesh${n}.uvs`]) : null,
      texture: mesh.textured ? (arrays[`mesh${n}.texture`] as Uint8Array<ArrayBuffer>) : null,
    }));
  }

  /** Normalized features of a point. */
  normalized(features: ArrayLike<number>): Float32Array {
    return Float32Array.from(features, (value, c) => (value - this.offset[c]) / this.scale[c]);
  }

  /** The range that a frame belongs to. */
  rangeOf(frame: number): Range {
    let low = 0;
    let high = this.ranges.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.ranges[middle].start <= frame) low = middle;
      else high = middle;
    }
    return this.ranges[low];
  }

  /** The last playable frame in the range of a frame. */
  lastFrame(frame: number): number {
    const { last, stop } = this.rangeOf(frame);
    return frame <= last ? last : stop - 1;
  }

  /** Tags to select: the gaits that occur, and the labels that not every take has. */
  get tags(): string[] {
    const there = this.gaitNames.filter((_, k) => this.gaits.includes(k + 1));
    const frames = (sum: number, [start, stop]: [number, number]) => sum + stop - start;
    const captured = this.ranges
      .filter(({ name }) => !/\(made\)/.test(name))
      .reduce((sum, { start, stop }) => frames(sum, [start, stop]), 0);
    const everywhere = (label: string) => this.labels[label].reduce(frames, 0) >= captured;
    return [...there, ...Object.keys(this.labels).filter((label) => !there.includes(label) && !everywhere(label))];
  }

  /** Frames that may be jumped to: those with any of the tags, and standing ones; without tags, those of any gait. */
  allowed(tags: readonly string[] = []): Uint8Array {
    for (const tag of tags)
      if (!this.tags.includes(tag))
        throw new Error(`no frame has the tag ${tag}; available tags: ${this.tags.join(", ")}`);
    const mask = new Uint8Array(this.count);
    for (let n = 0; n < this.count; n++) {
      const gait = this.gaits[n];
      const wanted = tags.length ? gait === 1 || (gait > 0 && tags.includes(this.gaitNames[gait - 1])) : gait > 0;
      mask[n] = wanted ? 1 : 0;
    }
    for (const tag of tags) for (const [start, stop] of this.labels[tag] ?? []) mask.fill(1, start, stop);
    let any = false;
    for (let n = 0; n < this.count; n++) {
      mask[n] &= this.searchable[n];
      any ||= mask[n] > 0;
    }
    return any ? mask : this.searchable.slice();
  }

  /** The pose of a frame, rotated by `yaw` about the vertical and then moved by `shift`. */
  pose(frame: number, shift: Floor, yaw: number): Pose {
    const joints = this.skeleton.parents.length;
    const rotations = this.rotations.slice(frame * joints * 4, (frame + 1) * joints * 4);
    multiplyInto([Math.cos(0.5 * yaw), 0, Math.sin(0.5 * yaw), 0], 0, rotations, 0, rotations, 0);
    const [c, s] = turnBy(yaw);
    const [x, y, z] = this.root.subarray(frame * 3, frame * 3 + 3);
    const root = new Float32Array([shift[1] + (c * x + s * z), y, shift[0] + (c * z - s * x)]);
    return { rotations, root };
  }

  /** World positions of the joints (J, 3), and of the two balls, in single precision. */
  positions({ rotations, root }: Pose): Float32Array {
    const { parents, offsets, ballParents, ballOffsets } = this.skeleton;
    const joints = parents.length;
    const turns = new Float32Array(joints * 4);
    const out = new Float32Array((joints + 2) * 3);
    for (let p = 0; p < joints + 2; p++) {
      const parent = p < joints ? parents[p] : ballParents[p - joints];
      if (parent < 0) {
        out.set(root, p * 3);
        turns.set(rotations.subarray(p * 4, p * 4 + 4), p * 4);
        continue;
      }
      const [bones, at] = p < joints ? [offsets, p * 3] : [ballOffsets, (p - joints) * 3];
      placePoint(turns, parent * 4, out, parent * 3, bones, at, p * 3);
      if (p < joints) multiplySingle(turns, parent * 4, rotations, p * 4, p * 4);
    }
    return out;
  }
}

/** Read a controller, packed as `match export --to web` writes it. */
export async function readDatabase(packed: ArrayBuffer | Uint8Array<ArrayBuffer>): Promise<MatchingDatabase> {
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    if (size > MOST) throw new Error("the controller is too large");
  }
  const data = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    data.set(part, at);
    at += part.length;
  }
  return new MatchingDatabase(data.buffer);
}

function contentOf(data: ArrayBuffer): { header: Header; arrays: Record<string, ArrayLike<number>> } {
  const size = data.byteLength < 4 ? Infinity : new DataView(data).getUint32(0, true);
  if (size > data.byteLength - 4) throw new Error("this file is not a controller of motionloom");
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size))) as Header;
  if (header.format !== "motionloom controller" || header.version !== VERSION)
    throw new Error(`expected a motionloom controller of version ${VERSION}; got ${header.format} ${header.version}`);
  const arrays: Record<string, ArrayLike<number>> = {};
  let at = 4 + size;
  for (const spec of header.arrays) {
    const { name, type, rows, columns, bytes } = spec;
    const count = rows * columns;
    if (at + count * bytes > data.byteLength) throw new Error(`the controller ends within its array ${name}`);
    const raw = data.slice(at, at + count * bytes);
    at += count * bytes;
    arrays[name] = type === "packed" ? unpacked(new Uint8Array(raw), spec) : new Uint8Array(raw);
  }
  return { header, arrays };
}

function unpacked(raw: Uint8Array, { rows, columns, bytes, scale, order }: Stored): Float64Array {
  const out = new Float64Array(rows * columns);
  const plane = rows * columns;
  for (let c = 0; c < columns; c++) {
    let slope = 0;
    let last = 0;
    for (let r = 0; r < rows; r++) {
      let code = 0;
      for (let b = bytes - 1; b >= 0; b--) code = code * 256 + raw[b * plane + c * rows + r];
      const rest = code % 2 ? -(code + 1) / 2 : code / 2;
      slope = order === 2 ? slope + rest : rest;
      last = order === 0 ? rest : last + slope;
      out[r * columns + c] = last * scale;
    }
  }
  return out;
}

function unitRotations(values: ArrayLike<number>): Float32Array {
  const out = new Float32Array(values.length);
  for (let at = 0; at < out.length; at += 4) {
    const [w, x, y, z] = [values[at], values[at + 1], values[at + 2], values[at + 3]];
    const size = Math.sqrt(w * w + x * x + y * y + z * z) || 1;
    out[at] = w / size;
    out[at + 1] = x / size;
    out[at + 2] = y / size;
    out[at + 3] = z / size;
  }
  return out;
}

// Forward kinematics in single precision, rounded after every operation as in Python, so that both find the same seams.
const f = Math.fround;

function placePoint(
  turns: Float32Array,
  i: number,
  places: Float32Array,
  from: number,
  bones: Float64Array,
  at: number,
  to: number,
): void {
  const [w, x, y, z] = [turns[i], turns[i + 1], turns[i + 2], turns[i + 3]];
  const [ox, oy, oz] = [f(bones[at]), f(bones[at + 1]), f(bones[at + 2])];
  const tx = 2 * f(f(y * oz) - f(z * oy));
  const ty = 2 * f(f(z * ox) - f(x * oz));
  const tz = 2 * f(f(x * oy) - f(y * ox));
  places[to] = f(f(f(places[from] + ox) + f(w * tx)) + f(y * tz)) - f(z * ty);
  places[to + 1] = f(f(f(places[from + 1] + oy) + f(w * ty)) + f(z * tx)) - f(x * tz);
  places[to + 2] = f(f(f(places[from + 2] + oz) + f(w * tz)) + f(x * ty)) - f(y * tx);
}

function multiplySingle(turns: Float32Array, i: number, q: Float32Array, j: number, to: number): void {
  const [w, x, y, z] = [turns[i], turns[i + 1], turns[i + 2], turns[i + 3]];
  const [a, b, c, d] = [q[j], q[j + 1], q[j + 2], q[j + 3]];
  turns[to] = f(f(f(w * a) - f(x * b)) - f(y * c)) - f(z * d);
  turns[to + 1] = f(f(f(w * b) + f(x * a)) + f(y * d)) - f(z * c);
  turns[to + 2] = f(f(f(w * c) - f(x * d)) + f(y * a)) + f(z * b);
  turns[to + 3] = f(f(f(w * d) + f(x * c)) - f(y * b)) + f(z * a);
}
