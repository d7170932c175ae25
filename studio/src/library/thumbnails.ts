// Small moving figures of the library's takes: fetched when seen, a sheet at a time.

import { getArrays } from "../net/api";

export interface Thumbnail {
  places: Uint8Array;
  parents: number[];
  frames: number;
  fps: number;
}

const SHEET = 16; // figures of one request
const KEPT = 3000; // about a kilobyte each

/** Fires "arrived" when figures have come. */
export class ThumbnailStore extends EventTarget {
  private readonly held = new Map<string, Thumbnail | null>(); // null: cannot be drawn
  private wanted: string[] = [];
  private asking = false;

  /** The figure, if it is here; else it is asked for, before those wanted earlier. */
  get(name: string): Thumbnail | null {
    const found = this.held.get(name);
    if (found === undefined && !this.wanted.includes(name)) {
      this.wanted.push(name);
      void this.fetch();
    }
    return found ?? null;
  }

  /** What is no longer in sight need not come. */
  onlyWant(names: ReadonlySet<string>): void {
    this.wanted = this.wanted.filter((name) => names.has(name));
  }

  forget(): void {
    this.held.clear();
  }

  private async fetch(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    await Promise.resolve(); // those asked for in the same breath go together
    while (this.wanted.length) {
      const names = this.wanted.splice(0, SHEET);
      try {
        const { meta, arrays, shapes } = await getArrays("thumbnails", { query: { names } });
        meta.motions.forEach((row, index) => {
          const places = arrays[index] as Uint8Array | undefined;
          this.held.set(
            row.name,
            places && row.parents
              ? { places, parents: row.parents, frames: shapes[index][0], fps: row.fps ?? 12.5 }
              : null,
          );
        });
      } catch {
        // The server has gone; what is still in sight is asked for again when it is back.
        await new Promise((resolve) => setTimeout(resolve, 1000));
        continue;
      }
      while (this.held.size > KEPT) this.held.delete(this.held.keys().next().value!);
      this.dispatchEvent(new Event("arrived"));
    }
    this.asking = false;
  }
}

/** Draw one picture of a figure into a square of `size` pixels. */
export function drawThumbnail(
  pen: CanvasRenderingContext2D,
  figure: Thumbnail,
  seconds: number,
  size: number,
  colour: string,
): void {
  const { places, parents, frames, fps } = figure;
  const scale = size / 256;
  const start = (Math.floor(seconds * fps) % frames) * parents.length * 2;
  pen.clearRect(0, 0, size, size);
  pen.lineCap = pen.lineJoin = "round";
  // The far side first and fainter, so that left and right can be told apart.
  pen.lineWidth = Math.max(size / 42, 1.5);
  pen.strokeStyle = colour;
  const half = parents.length >= 18 ? 11 : parents.length;
  for (const [from, to, alpha] of [
    [half, parents.length, 0.5],
    [1, half, 1],
  ] as const) {
    pen.globalAlpha = alpha;
    pen.beginPath();
    for (let joint = from; joint < to; joint++) {
      if (parents[joint] < 0) continue;
      const a = start + joint * 2;
      const b = start + parents[joint] * 2;
      pen.moveTo(places[b] * scale, places[b + 1] * scale);
      pen.lineTo(places[a] * scale, places[a + 1] * scale);
    }
    pen.stroke();
  }
  pen.globalAlpha = 1;
  if (half === parents.length) return;
  const neck = start + 2 * 2;
  const top = start + 3 * 2;
  pen.fillStyle = colour;
  pen.beginPath();
  pen.arc(
    ((places[neck] + 2 * places[top]) / 3) * scale,
    ((places[neck + 1] + 2 * places[top + 1]) / 3) * scale,
    size / 24,
    0,
    7,
  );
  pen.fill();
}
