// Time on the stage: seconds, playing or not, how fast, and within which range.

/** Fires "change" when anything but the passing of time has changed. */
export class Clock extends EventTarget {
  time = 0;
  playing = true;
  speed = 1;
  loop = true;
  /** -1 plays backwards. */
  direction: 1 | -1 = 1;
  start = 0;
  /** Infinity while motion is still being made. */
  end = 1;
  /** A stretch that is repeated once the time is inside it, as a selected range. */
  inner: readonly [number, number] | null = null;
  /** Time cannot pass this: how far streamed motion has come. */
  limit = Infinity;
  /** Where there is sound the ear has the time: what it hears now, or null while nothing plays. */
  master: (() => number | null) | null = null;

  /** What is played: [start, end) in seconds. */
  setRange(start: number, end: number): void {
    this.start = start;
    this.end = Math.max(end, start + 1e-3);
    if (this.time < start || this.time >= this.end) this.time = start;
    this.changed();
  }

  setInner(inner: readonly [number, number] | null): void {
    this.inner = inner;
    this.changed();
  }

  seek(time: number): void {
    this.time = Math.min(Math.max(time, this.start), this.end, this.limit);
    this.changed();
  }

  toggle(): void {
    if (this.playing) this.pause();
    else this.play();
  }

  pause(): void {
    this.playing = false;
    this.changed();
  }

  play(direction: 1 | -1 = 1): void {
    this.direction = direction;
    this.playing = true;
    if (!this.loop && direction > 0 && this.time >= this.end) this.time = this.start;
    if (!this.loop && direction < 0 && this.time <= this.start) this.time = this.end;
    this.changed();
  }

  set(given: { speed?: number; loop?: boolean }): void {
    Object.assign(this, given);
    this.changed();
  }

  /** Let `seconds` of real time pass. */
  advance(seconds: number): void {
    if (!this.playing) return;
    const before = this.time;
    this.time = this.heard() ?? before + seconds * this.speed * this.direction;
    if (this.time > this.limit) this.time = Math.max(this.limit, this.start);
    const [start, end] = this.stretch(before);
    if (this.direction > 0 ? this.time < end : this.time >= start) return;
    const length = end - start;
    if (this.loop) {
      this.time = start + ((((this.time - start) % length) + length) % length);
      if (this.master) this.changed(); // the sound must begin anew
    } else {
      this.time = this.direction > 0 ? end : start;
      this.playing = false;
      this.changed();
    }
  }

  private heard(): number | null {
    return this.master && this.direction > 0 ? this.master() : null;
  }

  private stretch(time: number): readonly [number, number] {
    const { inner } = this;
    return inner && this.loop && time >= inner[0] && time < inner[1] ? inner : [this.start, this.end];
  }

  private changed(): void {
    this.dispatchEvent(new Event("change"));
  }
}
