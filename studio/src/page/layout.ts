// Sizes of the panels: dragged by their borders, or by keys; remembered by the browser.

/** Parts with adjustable sizes: the panel next to the stage, the panel of a wide view, the timeline. */
export type Part = "panel" | "wide" | "timeline";
type Sizes = Partial<Record<Part, number>>;

const KEY = "motionloom.layout";
const LEAST: Record<Part, number> = { panel: 240, wide: 320, timeline: 110 };
const STAGE = { panel: 320, wide: 320, timeline: 200 }; // minimum size of the stage, in pixels

/** Limit a size so that every part stays usable. `whole`: pixels of the window. */
export function limited(part: Part, size: number, whole: number): number {
  const [low, high] = limits(part, whole);
  return Math.round(Math.min(Math.max(size, low), high));
}

/** Least and greatest size of a part, in pixels. */
export function limits(part: Part, whole: number): [number, number] {
  return [LEAST[part], Math.max(LEAST[part], whole - STAGE[part])];
}

function stored(): Sizes {
  try {
    const given = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Sizes;
    return Object.fromEntries(Object.entries(given).filter(([, size]) => Number.isFinite(size)));
  } catch {
    return {};
  }
}

/** Sizes set by the user, in pixels; other parts have their default sizes. */
export class Layout {
  private sizes = stored();

  get(part: Part): number | null {
    return this.sizes[part] ?? null;
  }

  /** Set a size; null restores the default. */
  set(part: Part, size: number | null): void {
    this.sizes = { ...this.sizes, [part]: size ?? undefined };
    try {
      localStorage.setItem(KEY, JSON.stringify(this.sizes));
    } catch {
      // private window: not stored
    }
  }
}
