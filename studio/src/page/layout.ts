// Sizes of the panels: dragged by their borders, or by keys; remembered by the browser.

/** What has a size of its own: the panel beside the stage, that of a wide view, the timeline. */
export type Part = "panel" | "wide" | "timeline";
type Sizes = Partial<Record<Part, number>>;

const KEY = "motionloom.layout";
const LEAST: Record<Part, number> = { panel: 240, wide: 320, timeline: 110 };
const STAGE = { panel: 320, wide: 320, timeline: 200 }; // pixels that are left for the stage

/** A size within its limits: nothing becomes so small that it cannot be used. `whole`: pixels of the window. */
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

/** The sizes that were set by hand, in pixels; what was not set has its own. */
export class Layout {
  private sizes = stored();

  get(part: Part): number | null {
    return this.sizes[part] ?? null;
  }

  /** Set a size; null: as it is by itself. */
  set(part: Part, size: number | null): void {
    this.sizes = { ...this.sizes, [part]: size ?? undefined };
    try {
      localStorage.setItem(KEY, JSON.stringify(this.sizes));
    } catch {
      // private window: not stored
    }
  }
}
