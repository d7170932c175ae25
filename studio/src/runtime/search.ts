// Exact nearest rows of a table: buckets of similar rows, visited in order of the distance to their bounding boxes.
//
// Rows are rotated into their principal axes, which preserves distances and concentrates them in the first columns: most
// rows are ruled out after a few of them. Buckets are halves of halves of the rows, always split across the axis of the
// largest spread. A heap holds boxes of groups and of buckets; the search ends at the first box that is farther than the
// limit, which starts at the cost of going on and shrinks to the k-th row found. Rotated rows are in single
// precision, so the remaining rows are measured again before rotation: the answers are those of a plain
// search.

import { bucketOrder, principalAxes } from "./buckets";

const BUCKET = 16; // rows
const GROUP = 8; // buckets

/** The rows found, nearest first; ties are in the order of the rows. */
export interface Found {
  rows: number[];
  costs: number[];
}

export class Search {
  readonly count: number;
  private readonly slots: Uint32Array; // the row of each place in the buckets
  private readonly points: Float32Array; // rotated rows, in that order
  private readonly buckets: Float32Array; // lower and upper end of each axis, per box
  private readonly groups: Float32Array;
  private readonly center: Float64Array;
  private readonly axes: Float64Array;
  private readonly error: number; // largest distance of a rotated row from its place before rounding
  private readonly turned: Float64Array; // the rotated query
  private readonly query: Float64Array;
  private readonly masks = new WeakMap<Uint8Array, Uint8Array>(); // whether each bucket has an allowed row
  private readonly far: Float64Array; // heap of boxes: squared distance, and number (groups are negative)
  private readonly boxes: Int32Array;

  /** `rows` has `columns` numbers per row. Rows where `searchable` is 0 are never found. */
  constructor(
    readonly rows: Float32Array,
    readonly columns: number,
    private readonly searchable: Uint8Array,
  ) {
    this.count = rows.length / columns;
    const kept = Uint32Array.from(searchable.keys()).filter((row) => searchable[row]);
    const { center, axes } = principalAxes(rows, columns, kept);
    this.center = center;
    this.axes = axes;
    this.turned = new Float64Array(columns);
    this.query = new Float64Array(columns);
    const rotated = new Float32Array(kept.length * columns);
    let largest = 0;
    kept.forEach((row, n) => {
      let square = 0;
      this.turn(rows.subarray(row * columns, (row + 1) * columns));
      for (let c = 0; c < columns; c++) square += this.turned[c] ** 2;
      rotated.set(this.turned, n * columns);
      largest = Math.max(largest, square);
    });
    this.error = 2 ** -23 * Math.sqrt(largest); // twice that of rounding to 24 bits
    const order = bucketOrder(rotated, columns, BUCKET, BUCKET * GROUP);
    this.slots = order.map((n) => kept[n]);
    this.points = new Float32Array(rotated.length);
    order.forEach((n, slot) => {
      this.points.set(rotated.subarray(n * columns, (n + 1) * columns), slot * columns);
    });
    this.buckets = this.boxesOf(BUCKET);
    this.groups = this.boxesOf(BUCKET * GROUP);
    const most = (this.buckets.length + this.groups.length) / (2 * columns);
    this.far = new Float64Array(most);
    this.boxes = new Int32Array(most);
  }

  /**
   * The `k` rows nearest to a point, not farther than `radius`, among those that are searchable and `allowed` (a mask that
   * must not change after its first use), without those from `skipped` to `skippedEnd`.
   */
  nearest(
    point: ArrayLike<number>,
    k = 1,
    radius = Infinity,
    allowed: Uint8Array = this.searchable,
    skipped = 0,
    skippedEnd = 0,
  ): Found {
    const { columns, rows, points, slots, buckets, groups, turned, query, far, boxes } = this;
    const best = new Float64Array(k);
    const squares = new Float64Array(k);
    const numbers = new Int32Array(k);
    let count = 0;
    query.set(point);
    this.turn(query);
    const filled = this.filled(allowed);
    // Squares are compared with a margin, because the radius itself is compared after the square root.
    let limit = radius * radius * (1 + 1e-12);
    let reach = this.reached(limit); // the limit for rotated rows
    const nGroups = groups.length / (2 * columns);
    const nBuckets = buckets.length / (2 * columns);
    let size = 0;
    for (let group = 0; group < nGroups; group++) {
      const square = away(groups, group, turned, reach);
      if (square <= reach) push(far, boxes, size++, square, -1 - group);
    }
    while (size > 0 && far[0] <= reach) {
      const box = boxes[0];
      pop(far, boxes, --size);
      if (box < 0) {
        const first = (-1 - box) * GROUP;
        const last = Math.min(first + GROUP, nBuckets);
        for (let bucket = first; bucket < last; bucket++) {
          if (filled[bucket] === 0) continue;
          const square = away(buckets, bucket, turned, reach);
          if (square <= reach) push(far, boxes, size++, square, bucket);
        }
        continue;
      }
      const last = Math.min((box + 1) * BUCKET, slots.length);
      for (let slot = box * BUCKET; slot < last; slot++) {
        const row = slots[slot];
        if (allowed[row] === 0 || (row >= skipped && row < skippedEnd)) continue;
        let square = 0;
        const start = slot * columns;
        for (let c = 0; c < columns && square <= reach; c++) {
          const difference = turned[c] - points[start + c];
          square += difference * difference;
        }
        if (square > reach) continue;
        square = 0;
        for (let c = 0, at = row * columns; c < columns; c++, at++) {
          const difference = query[c] - rows[at];
          square += difference * difference;
        }
        const cost = Math.sqrt(square);
        if (square > limit || cost > radius) continue;
        if (count === k && (cost > best[k - 1] || (cost === best[k - 1] && row > numbers[k - 1]))) continue;
        let at = count < k ? count++ : k - 1;
        for (; at > 0 && (best[at - 1] > cost || (best[at - 1] === cost && numbers[at - 1] > row)); at--) {
          best[at] = best[at - 1];
          squares[at] = squares[at - 1];
          numbers[at] = numbers[at - 1];
        }
        best[at] = cost;
        squares[at] = square;
        numbers[at] = row;
        if (count === k) {
          limit = Math.min(limit, squares[k - 1] * (1 + 1e-12));
          reach = this.reached(limit);
        }
      }
    }
    return { rows: Array.from(numbers.subarray(0, count)), costs: Array.from(best.subarray(0, count)) };
  }

  /** Whether each bucket has an allowed row. */
  private filled(allowed: Uint8Array): Uint8Array {
    let filled = this.masks.get(allowed);
    if (!filled) {
      filled = new Uint8Array(Math.ceil(this.slots.length / BUCKET));
      for (let slot = 0; slot < this.slots.length; slot++) filled[(slot / BUCKET) | 0] |= allowed[this.slots[slot]];
      this.masks.set(allowed, filled);
    }
    return filled;
  }

  /** The squared limit for rotated rows, which rules out no row within the limit. */
  private reached(limit: number): number {
    return (Math.sqrt(limit) + this.error) ** 2 * (1 + 1e-9);
  }

  /** Rotate a row into the principal axes. */
  private turn(row: ArrayLike<number>): void {
    const { columns, center, axes, turned } = this;
    turned.fill(0);
    for (let c = 0; c < columns; c++) {
      const value = row[c] - center[c];
      for (let axis = 0, at = c * columns; axis < columns; axis++, at++) turned[axis] += value * axes[at];
    }
  }

  /** Bounding boxes of successive rows, `size` each. */
  private boxesOf(size: number): Float32Array {
    const { columns, points } = this;
    const count = points.length / columns;
    const boxes = new Float32Array(Math.ceil(count / size) * columns * 2);
    for (let box = 0; box * size < count; box++) {
      const last = Math.min((box + 1) * size, count);
      for (let c = 0; c < columns; c++) {
        let low = Infinity;
        let high = -Infinity;
        for (let slot = box * size; slot < last; slot++) {
          const value = points[slot * columns + c];
          if (value < low) low = value;
          if (value > high) high = value;
        }
        boxes[(box * columns + c) * 2] = low;
        boxes[(box * columns + c) * 2 + 1] = high;
      }
    }
    return boxes;
  }
}

/** Squared distance of a point to a box, or a larger number than `limit` as soon as that is certain. */
function away(boxes: Float32Array, box: number, point: Float64Array, limit: number): number {
  const axes = point.length;
  let square = 0;
  let at = box * axes * 2;
  for (let c = 0; c < axes && square <= limit; c++, at += 2) {
    const value = point[c];
    const below = boxes[at] - value;
    const above = value - boxes[at + 1];
    const gap = below > 0 ? below : above > 0 ? above : 0;
    square += gap * gap;
  }
  return square;
}

/** Add an entry to a heap of `size` entries, the smallest first. */
function push(keys: Float64Array, values: Int32Array, size: number, key: number, value: number): void {
  let at = size;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (keys[parent] <= key) break;
    keys[at] = keys[parent];
    values[at] = values[parent];
    at = parent;
  }
  keys[at] = key;
  values[at] = value;
}

/** Remove the first entry of a heap; `size` is the number of entries that remain. */
function pop(keys: Float64Array, values: Int32Array, size: number): void {
  const key = keys[size];
  const value = values[size];
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && keys[child + 1] < keys[child]) child += 1;
    if (keys[child] >= key) break;
    keys[at] = keys[child];
    values[at] = values[child];
    at = child;
  }
  keys[at] = key;
  values[at] = value;
}
