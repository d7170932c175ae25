// Exact nearest rows of a table. Consecutive frames are similar, so the bounding boxes of 64 and of 16 consecutive rows
// rule out most of them: boxes are visited in order of their distance until the next one is farther than the rows found.

const LARGE = 64; // rows of a box
const SMALL = 16; // rows of a box inside it

/** The rows found, nearest first; ties are in the order of the rows. */
export interface Found {
  rows: number[];
  costs: number[];
}

export class Search {
  readonly count: number;
  private readonly large: Float64Array; // lower and upper end of each column, per box
  private readonly small: Float64Array;
  private readonly far: Float64Array;
  private readonly order: Uint32Array;

  /** `rows` has `columns` numbers per row. Rows where `searchable` is 0 are never found. */
  constructor(
    readonly rows: Float32Array,
    readonly columns: number,
    private readonly searchable: Uint8Array,
  ) {
    this.count = rows.length / columns;
    this.large = this.boxes(LARGE);
    this.small = this.boxes(SMALL);
    this.far = new Float64Array(Math.ceil(this.count / LARGE));
    this.order = new Uint32Array(this.far.length);
  }

  /** The `k` rows nearest to a point, not farther than `radius`, among those that are searchable and `allowed`. */
  nearest(point: ArrayLike<number>, k = 1, radius = Infinity, allowed: Uint8Array = this.searchable): Found {
    const { far, order, columns, rows, searchable, count } = this;
    const found: Found = { rows: [], costs: [] };
    const squares: number[] = [];
    // Squares are compared with a margin, because the limit itself is compared after the square root.
    let limit = radius === Infinity ? Infinity : radius * radius * (1 + 1e-12);
    let boxes = 0;
    for (let box = 0; box < far.length; box++) {
      const square = this.away(this.large, box, point, limit);
      if (square > limit) continue;
      far[box] = square;
      order[boxes++] = box;
    }
    const near = order.subarray(0, boxes).sort((a, b) => far[a] - far[b]);
    for (const box of near) {
      if (far[box] > limit) break;
      const end = Math.min(((box + 1) * LARGE) / SMALL, Math.ceil(count / SMALL));
      for (let part = (box * LARGE) / SMALL; part < end; part++) {
        if (this.away(this.small, part, point, limit) > limit) continue;
        const last = Math.min((part + 1) * SMALL, count);
        for (let row = part * SMALL; row < last; row++) {
          if (!allowed[row] || !searchable[row]) continue;
          let square = 0;
          const start = row * columns;
          for (let c = 0; c < columns; c++) {
            const difference = point[c] - rows[start + c];
            square += difference * difference;
            if (square > limit) break;
          }
          if (square > limit) continue;
          const cost = Math.sqrt(square);
          if (cost > radius) continue;
          let at = found.rows.length;
          while (at > 0 && (found.costs[at - 1] > cost || (found.costs[at - 1] === cost && found.rows[at - 1] > row)))
            at--;
          if (at >= k) continue;
          found.rows.splice(at, 0, row);
          found.costs.splice(at, 0, cost);
          squares.splice(at, 0, square);
          if (found.rows.length > k) {
            found.rows.pop();
            found.costs.pop();
            squares.pop();
          }
          if (found.rows.length === k) limit = Math.min(limit, squares[k - 1] * (1 + 1e-12));
        }
      }
    }
    return found;
  }

  private boxes(size: number): Float64Array {
    const { columns, rows, count, searchable } = this;
    const boxes = new Float64Array(Math.ceil(count / size) * columns * 2);
    for (let box = 0; box * size < count; box++) {
      for (let c = 0; c < columns; c++) {
        let low = Infinity;
        let high = -Infinity;
        for (let row = box * size; row < Math.min((box + 1) * size, count); row++) {
          if (!searchable[row]) continue;
          low = Math.min(low, rows[row * columns + c]);
          high = Math.max(high, rows[row * columns + c]);
        }
        boxes[(box * columns + c) * 2] = low;
        boxes[(box * columns + c) * 2 + 1] = high;
      }
    }
    return boxes;
  }

  /** Squared distance of a point to a box, or a larger number than `limit` as soon as that is certain. */
  private away(boxes: Float64Array, box: number, point: ArrayLike<number>, limit: number): number {
    const { columns } = this;
    let square = 0;
    let at = box * columns * 2;
    for (let c = 0; c < columns; c++) {
      const value = point[c];
      const low = boxes[at++];
      const high = boxes[at++];
      const gap = value < low ? low - value : value > high ? value - high : 0;
      square += gap * gap;
      if (square > limit) break;
    }
    return square;
  }
}
