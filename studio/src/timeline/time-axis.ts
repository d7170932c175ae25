// The time axis of the timeline: the visible seconds, and their pixels.

const LEAST = 0.2; // visible seconds at the highest zoom
const AROUND = 6; // seconds shown around a place that was asked for

export class TimeAxis {
  start = 0;
  end = 1;
  private least = 0;
  private most = 1;

  constructor(readonly gutter: number) {}

  /** Set the limits. With `again`, or if all was visible before, all is visible after. */
  fit(least: number, most: number, again = true): void {
    const whole = this.start <= this.least && this.end >= this.most;
    this.least = least;
    this.most = Math.max(most, least + LEAST);
    if (again || whole) [this.start, this.end] = [this.least, this.most];
  }

  get zoomed(): boolean {
    return this.start > this.least + 1e-9 || this.end < this.most - 1e-9;
  }

  x(time: number, width: number): number {
    return this.gutter + ((time - this.start) / (this.end - this.start)) * (width - this.gutter);
  }

  time(x: number, width: number): number {
    return this.start + ((x - this.gutter) / (width - this.gutter)) * (this.end - this.start);
  }

  /** Zoom around a time; a `factor` below one zooms in. */
  zoom(around: number, factor: number): void {
    const length = Math.min(Math.max((this.end - this.start) * factor, LEAST), this.most - this.least);
    const part = (around - this.start) / (this.end - this.start);
    this.move(around - part * length, length);
  }

  pan(seconds: number): void {
    this.move(this.start + seconds, this.end - this.start);
  }

  /** Show a few seconds around a time, unless fewer are visible. */
  around(time: number): void {
    const length = Math.min(AROUND, this.end - this.start);
    this.move(time - length / 2, length);
  }

  /** Scroll so that a time is visible. */
  reveal(time: number): void {
    const length = this.end - this.start;
    if (time < this.start || time > this.end) this.move(time - 0.1 * length, length);
  }

  private move(start: number, length: number): void {
    this.start = Math.min(Math.max(start, this.least), this.most - length);
    this.end = this.start + length;
  }
}
