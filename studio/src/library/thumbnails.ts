// Animated thumbnails of takes, loaded when visible, several per request.

import { getArrays } from "../net/api";

export interface Thumbnail {
  places: Uint8Array;
  parents: number[];
  frames: number;
  fps: number;
}

const SHEET = 16; // thumbnails per request
const CACHED = 3000; // cached thumbnails, about a kilobyte each

/** Fires "arrived" when thumbnails have been loaded. */
export class ThumbnailStore extends EventTarget {
  private readonly cache = new Map<string, Thumbnail | null>(); // null: cannot be drawn
  private wanted: string[] = [];
  private loading = false;

  /** Return a thumbnail from the cache, or request it. */
  get(name: string): Thumbnail | null {
    const cached = this.cache.get(name);
    if (cached === undefined && !this.wanted.includes(name)) {
      this.wanted.push(name);
      void this.fetch();
    }
    return cached ?? null;
  }

  /** Drop requests for thumbnails that are no longer visible. */
  keepRequests(names: ReadonlySet<string>): void {
    this.wanted = this.wanted.filter((name) => names.has(name));
  }

  clear(): void {
    this.cache.clear();
  }

  private async fetch(): Promise<void> {
    if (this.loading) return;
    this.loading = true;
    await Promise.resolve(); // collect requests of the same task
    while (this.wanted.length) {
      const names = this.wanted.splice(0, SHEET);
      try {
        const { meta, arrays, shapes } = await getArrays("thumbnails", { query: { names } });
        meta.motions.forEach((row, index) => {
          const places = arrays[index] as Uint8Array | undefined;
          this.cache.set(
            row.name,
            places && row.parents
              ? { places, parents: row.parents, frames: shapes[index][0], fps: row.fps ?? 12.5 }
              : null,
          );
        });
      } catch {
        // Disconnected: visible thumbnails are requested again later.
        await new Promise((resolve) => setTimeout(resolve, 1000));
        continue;
      }
      while (this.cache.size > CACHED) this.cache.delete(this.cache.keys().next().value!);
      this.dispatchEvent(new Event("arrived"));
    }
    this.loading = false;
  }
}

/** Draw a frame of a thumbnail into a square of `size` pixels. */
export function drawThumbnail(
  context: CanvasRenderingContext2D,
  figure: Thumbnail,
  seconds: number,
  size: number,
  color: string,
): void {
  const { places, parents, frames, fps } = figure;
  const scale = size / 256;
  const start = (Math.floor(seconds * fps) % frames) * parents.length * 2;
  context.clearRect(0, 0, size, size);
  context.lineCap = context.lineJoin = "round";
  // The far side first and fainter, to distinguish left and right.
  context.lineWidth = Math.max(size / 42, 1.5);
  context.strokeStyle = color;
  const half = parents.length >= 18 ? 11 : parents.length;
  for (const [from, to, alpha] of [
    [half, parents.length, 0.5],
    [1, half, 1],
  ] as const) {
    context.globalAlpha = alpha;
    context.beginPath();
    for (let joint = from; joint < to; joint++) {
      if (parents[joint] < 0) continue;
      const a = start + joint * 2;
      const b = start + parents[joint] * 2;
      context.moveTo(places[b] * scale, places[b + 1] * scale);
      context.lineTo(places[a] * scale, places[a + 1] * scale);
    }
    context.stroke();
  }
  context.globalAlpha = 1;
  if (half === parents.length) return;
  const neck = start + 2 * 2;
  const top = start + 3 * 2;
  context.fillStyle = color;
  context.beginPath();
  context.arc(
    ((places[neck] + 2 * places[top]) / 3) * scale,
    ((places[neck + 1] + 2 * places[top + 1]) / 3) * scale,
    size / 24,
    0,
    7,
  );
  context.fill();
}
