// The clock of the stage: time in seconds, speed, direction, loop.

/** Fires "change" on every change except the passing of time. */
export class Clock extends EventTarget {
  time = 0;
  playing = true;
  speed = 1;
  loop = true;
  /** 1: forwards, -1: backwards. */
  direction: 1 | -1 = 1;
  start = 0;
  /** Infinity while motion is streamed. */
  end = 1;
  /** A segment, in seconds, that is looped once the time is inside it. */
  loopSegment: readonly [number, number] | null = null;
  /** Time cannot pass this: the end of streamed motion so far. */
  limit = Infinity;
  /** With sound, the time comes from it: the audible time, or null while nothing plays. */
  master: (() => number | null) | null = null;

  /** Set the playback range [start, end) in seconds. */
  setRange(start: number, end: number): void {
    this.start = start;
    this.end = Math.max(end, start + 1e-3);
    if (this.time < start || this.time >= this.end) this.time = start;
    this.changed();
  }

  setLoop(loopSegment: readonly [number, number] | null): void {
    this.loopSegment = loopSegment;
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

  /** Advance by `seconds` of real time. */
  advance(seconds: number): void {
    if (!this.playing) return;
    const before = this.time;
    this.time = this.audibleTime() ?? before + seconds * this.speed * this.direction;
    if (this.time > this.limit) this.time = Math.max(this.limit, this.start);
    const [start, end] = this.currentSegment(before);
    if (this.direction > 0 ? this.time < end : this.time >= start) return;
    const length = end - start;
    if (this.loop) {
      this.time = start + ((((this.time - start) % length) + length) % length);
      if (this.master) this.changed(); // the sound must restart
    } else {
      this.time = this.direction > 0 ? end : start;
      this.playing = false;
      this.changed();
    }
  }

  private audibleTime(): number | null {
    return this.master && this.direction > 0 ? this.master() : null;
  }

  private currentSegment(time: number): readonly [number, number] {
    const { loopSegment } = this;
    return loopSegment && this.loop && time >= loopSegment[0] && time < loopSegment[1]
      ? loopSegment
      : [this.start, this.end];
  }

  private changed(): void {
    this.dispatchEvent(new Event("change"));
  }
}
