// Time on the stage: seconds, playing or not, how fast, and within which range.

export class Clock extends EventTarget {
  time = 0;
  playing = true;
  speed = 1;
  loop = true;
  start = 0;
  end = 1;
  /** Where there is sound the ear has the time: what it hears now, or null while nothing plays. */
  master: (() => number | null) | null = null;

  /** What is played: [start, end) in seconds. */
  setRange(start: number, end: number): void {
    this.start = start;
    this.end = Math.max(end, start + 1e-3);
    if (this.time < start || this.time >= this.end) this.time = start;
    this.changed();
  }

  seek(time: number): void {
    this.time = Math.min(Math.max(time, this.start), this.end);
    this.changed();
  }

  toggle(): void {
    this.playing = !this.playing;
    if (this.playing && !this.loop && this.time >= this.end) this.time = this.start;
    this.changed();
  }

  pause(): void { this.playing = false; this.changed(); }
  play(): void { this.playing = true; this.changed(); }

  /** Let `seconds` of real time pass. */
  advance(seconds: number): void {
    if (!this.playing) return;
    this.time = this.master?.() ?? this.time + seconds * this.speed;
    const length = this.end - this.start;
    if (this.time >= this.end) {
      if (this.loop) {
        this.time = this.start + ((this.time - this.start) % length);
        if (this.master) this.changed(); // the sound must begin anew
      }
      else { this.time = this.end; this.playing = false; this.changed(); }
    }
  }

  private changed(): void { this.dispatchEvent(new Event("change")); }
}
