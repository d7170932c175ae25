// One clock for all pictures of a page, and one observer that reports which of them are visible.

export interface Ticking {
  /** Move on by `seconds`; `busy`: this frame has no time left for small pictures. */
  advance(seconds: number, busy: boolean): void;
  sight(visible: boolean): void;
}

const TURN = 16; // milliseconds of drawing; the remaining small pictures wait for the next frame

const running = new Set<Ticking>();
let before = 0;

function tick(now: number): void {
  const passed = Math.min((now - before) / 1000, 0.1);
  before = now;
  const until = performance.now() + TURN;
  for (const one of [...running]) one.advance(passed, performance.now() > until);
  if (running.size) requestAnimationFrame(tick);
}

/** Add to the end of the queue. */
export function run(one: Ticking): void {
  if (!running.size) {
    before = performance.now();
    requestAnimationFrame(tick);
  }
  running.delete(one);
  running.add(one);
}

export const rest = (one: Ticking): boolean => running.delete(one);

export const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) (target as Element & Ticking).sight(isIntersecting);
  },
  { rootMargin: "80px" },
);
