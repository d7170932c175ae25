// Construction of the search: principal axes of a table, and an order of its rows in which similar rows are neighbors.

const SWEEPS = 30; // of Jacobi rotations; about 8 are needed
const SAMPLED = 1024; // rows that are looked at to find the axis of the largest spread

/** Mean of some rows, and their principal axes: `axes[c * columns + a]` is column c of axis a, largest spread first. */
export function principalAxes(
  rows: Float32Array,
  columns: number,
  kept: Uint32Array,
): { center: Float64Array; axes: Float64Array } {
  const center = new Float64Array(columns);
  for (const row of kept) for (let c = 0; c < columns; c++) center[c] += rows[row * columns + c] / kept.length;
  const spread = new Float64Array(columns * columns);
  const difference = new Float64Array(columns);
  for (const row of kept) {
    for (let c = 0; c < columns; c++) difference[c] = rows[row * columns + c] - center[c];
    for (let c = 0; c < columns; c++)
      for (let d = 0; d <= c; d++) spread[c * columns + d] += difference[c] * difference[d];
  }
  for (let c = 0; c < columns; c++) for (let d = 0; d < c; d++) spread[d * columns + c] = spread[c * columns + d];
  const turned = eigenvectors(spread, columns);
  const order = Array.from({ length: columns }, (_, c) => c);
  order.sort((a, b) => spread[b * columns + b] - spread[a * columns + a]);
  const axes = new Float64Array(columns * columns);
  order.forEach((from, to) => {
    for (let c = 0; c < columns; c++) axes[c * columns + to] = turned[c * columns + from];
  });
  return { center, axes };
}

/** Eigenvectors of a symmetric matrix, in columns, by Jacobi rotations; the matrix becomes diagonal. */
function eigenvectors(matrix: Float64Array, n: number): Float64Array {
  const vectors = new Float64Array(n * n);
  for (let c = 0; c < n; c++) vectors[c * n + c] = 1;
  const rotate = (array: Float64Array, a: number, b: number, cos: number, sin: number) => {
    const [x, y] = [array[a], array[b]];
    array[a] = cos * x - sin * y;
    array[b] = sin * x + cos * y;
  };
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    let turned = false;
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        const off = matrix[p * n + q];
        if (Math.abs(off) <= 1e-14 * Math.sqrt(Math.abs(matrix[p * n + p] * matrix[q * n + q])) || off === 0) continue;
        turned = true;
        const theta = (matrix[q * n + q] - matrix[p * n + p]) / (2 * off);
        const tan = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const cos = 1 / Math.sqrt(tan * tan + 1);
        const sin = tan * cos;
        for (let r = 0; r < n; r++) rotate(matrix, r * n + p, r * n + q, cos, sin);
        for (let r = 0; r < n; r++) rotate(matrix, p * n + r, q * n + r, cos, sin);
        for (let r = 0; r < n; r++) rotate(vectors, r * n + p, r * n + q, cos, sin);
      }
    }
    if (!turned) break;
  }
  return vectors;
}

/** An order that puts similar rows into the same bucket of `bucket` rows, and similar buckets into the same `group`. */
export function bucketOrder(rows: Float32Array, columns: number, bucket: number, group: number): Uint32Array {
  const count = rows.length / columns;
  const order = Uint32Array.from({ length: count }, (_, n) => n);
  const keys = new Float32Array(count);
  const split = (first: number, last: number): void => {
    if (last - first <= bucket) return;
    const axis = widestAxis(rows, columns, order, first, last);
    for (let n = first; n < last; n++) keys[n] = rows[order[n] * columns + axis];
    const size = last - first > group ? group : bucket; // blocks stay whole
    const middle = first + Math.floor(Math.ceil((last - first) / size) / 2) * size;
    select(keys, order, first, last, middle);
    split(first, middle);
    split(middle, last);
  };
  split(0, count);
  return order;
}

function widestAxis(rows: Float32Array, columns: number, order: Uint32Array, first: number, last: number): number {
  const step = Math.max(Math.floor((last - first) / SAMPLED), 1);
  let [widest, axis] = [-1, 0];
  for (let c = 0; c < columns; c++) {
    let [total, squares, count] = [0, 0, 0];
    for (let n = first; n < last; n += step) {
      const value = rows[order[n] * columns + c];
      total += value;
      squares += value * value;
      count += 1;
    }
    const spread = squares / count - (total / count) ** 2;
    if (spread > widest) [widest, axis] = [spread, c];
  }
  return axis;
}

/** Partition keys and their order so that the smallest are before `middle` (Hoare). */
function select(keys: Float32Array, order: Uint32Array, first: number, last: number, middle: number): void {
  let [low, high] = [first, last - 1];
  while (low < high) {
    const [a, b, c] = [keys[low], keys[(low + high) >> 1], keys[high]];
    const pivot = Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
    let [i, j] = [low, high];
    while (i <= j) {
      while (keys[i] < pivot) i += 1;
      while (keys[j] > pivot) j -= 1;
      if (i > j) break;
      const [key, number] = [keys[i], order[i]];
      keys[i] = keys[j];
      order[i] = order[j];
      keys[j] = key;
      order[j] = number;
      i += 1;
      j -= 1;
    }
    if (middle <= j) high = j;
    else if (middle >= i) low = i;
    else return;
  }
}
