// Exact nearest rows of a table: buckets of similar rows, visited in order of the distance to their bounding boxes.
//
// Rows are rotated into their principal axes, which preserves distances and concentrates them in the first columns: most
// rows are ruled out after a few of them. Buckets are halves of halves of the rows, always split across the axis of the
// largest spread. A heap holds boxes of groups and of buckets; the search ends at the first box that is farther than the
// limit, which starts at the cost of going on and shrinks to the k-th row found. Rotated rows are in single precision, so
// what they do not rule out is measured again from the original rows: the answers are those of a plain search.

import { bucketOrder, principalAxes } from "./buckets";

const BUCKET = 32; // rows
const GROUP = 16; // buckets

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

  /** The `k` rows nearest to a point, not farther than `radius`, among those that are searchable and `allowed`. */
  nearest(point: ArrayLike<number>, k = 1, radius = Infinity, allowed: Uint8Array = this.searchable): Found {
    const { columns, rows, points, slots, buckets, groups, turned, query, far, boxes } = this;
    const found: Found = { rows: [], costs: [] };
    const squares: number[] = [];
    query.set(point);
    this.turn(query);
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
          const square = away(buckets, bucket, turned, reach);
          if (square <= reach) push(far, boxes, size++, square, bucket);
        }
        continue;
      }
      const last = Math.min((box + 1) * BUCKET, slots.length);
      for (let slot = box * BUCKET; slot < last; slot++) {
        const row = slots[slot];
        if (allowed[row] === 0) continue;
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
        let at = squares.length;
        while (at > 0 && (found.costs[at - 1] > cost || (found.costs[at - 1] === cost && found.rows[at - 1] > row)))
          at--;
        if (at >= k) continue;
        if (squares.length === k) {
          found.rows.pop();
          found.costs.pop();
          squares.pop();
        }
        found.rows.splice(at, 0, row);
        found.costs.splice(at, 0, cost);
        squares.splice(at, 0, square);
        if (squares.length === k) {
          limit = Math.min(limit, squares[k - 1] * (1 + 1e-12));
          reach = this.reached(limit);
        }
      }
    }
    return found;
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
  const columns = point.length;
  let square = 0;
  let at = box * columns * 2;
  for (let c = 0; c < columns && square <= limit; c++, at += 2) {
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
