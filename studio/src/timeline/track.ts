// A short timeline: where the motion is, and which frames are selected. Mouse and keyboard.

export const TRACK_STYLE = `
  .loom-track { position: relative; height: 20px; margin: 6px 8px 0; background: var(--well); border-radius: 4px; cursor: pointer; touch-action: none; }
  .loom-track i { position: absolute; top: 0; bottom: 0; pointer-events: none; }
  .loom-track .range { background: color-mix(in srgb, var(--cool) 45%, transparent); }
  .loom-track .now { width: 2px; margin-left: -1px; background: var(--accent); }
`;
const DRAG = 4; // pixels before a press selects instead of seeking

/** Fires "seek" (frame) and "select" (selection) on user input. */
export class Track extends EventTarget {
  readonly element = document.createElement("div");
  private readonly range = document.createElement("i");
  private readonly now = document.createElement("i");
  private shownFrame = 0;
  private shownFrames = 1;
  private chosen: [number, number] | null = null;
  private pressed: { x: number; frame: number } | null = null;

  constructor() {
    super();
    this.element.className = "loom-track";
    this.range.className = "range";
    this.now.className = "now";
    this.element.append(this.range, this.now);
    this.element.tabIndex = 0;
    this.element.role = "slider";
    this.element.ariaLabel = "Frame";
    this.element.title =
      "Click to seek, drag to select; arrow keys step, I and O set the ends of a segment, Esc clears it";
    this.element.onpointerdown = (event) => {
      this.element.setPointerCapture(event.pointerId);
      this.pressed = { x: event.clientX, frame: this.at(event) };
    };
    this.element.onpointermove = (event) => {
      if (!this.pressed || Math.abs(event.clientX - this.pressed.x) < DRAG) return;
      const [a, b] = [this.pressed.frame, this.at(event)];
      this.select([Math.min(a, b), Math.max(a, b) + 1]);
    };
    this.element.onpointerup = (event) => {
      if (this.pressed && Math.abs(event.clientX - this.pressed.x) < DRAG) this.seek(this.pressed.frame);
      this.pressed = null;
    };
    this.element.onkeydown = (event) => this.key(event);
  }

  get frame(): number {
    return this.shownFrame;
  }
  set frame(frame: number) {
    this.shownFrame = frame;
    this.draw();
  }
  get frames(): number {
    return this.shownFrames;
  }
  set frames(frames: number) {
    this.shownFrames = Math.max(frames, 1);
    this.draw();
  }
  get selection(): [number, number] | null {
    return this.chosen;
  }
  set selection(selection: [number, number] | null) {
    this.chosen = selection;
    this.draw();
  }

  private at(event: PointerEvent): number {
    const { left, width } = this.element.getBoundingClientRect();
    const share = (event.clientX - left) / (width || 1);
    return Math.min(Math.max(Math.floor(share * this.frames), 0), this.frames - 1);
  }

  private key(event: KeyboardEvent): void {
    const steps: Record<string, number> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      PageDown: -10,
      PageUp: 10,
      Home: -Infinity,
      End: Infinity,
    };
    const end = this.chosen?.[1] ?? this.frames;
    const start = this.chosen?.[0] ?? 0;
    if (event.key in steps) this.seek(Math.min(Math.max(this.frame + steps[event.key], 0), this.frames - 1));
    else if (event.key === "i") this.select([this.frame, Math.max(end, this.frame + 1)]);
    else if (event.key === "o") this.select([Math.min(start, this.frame), this.frame + 1]);
    else if (event.key === "Escape" && this.chosen) this.select(null);
    else return;
    event.preventDefault();
    event.stopPropagation(); // a notebook has shortcuts of its own
  }

  private seek(frame: number): void {
    this.frame = frame;
    this.dispatchEvent(new Event("seek"));
  }

  private select(selection: [number, number] | null): void {
    this.selection = selection;
    this.dispatchEvent(new Event("select"));
  }

  private draw(): void {
    const share = (frame: number) => `${(100 * frame) / this.frames}%`;
    this.now.style.left = share(this.frame + 0.5);
    const [start, end] = this.chosen ?? [0, 0];
    this.range.style.left = share(start);
    this.range.style.width = share(end - start);
    this.element.ariaValueNow = String(this.frame);
    this.element.ariaValueMin = "0";
    this.element.ariaValueMax = String(this.frames - 1);
    this.element.ariaValueText = this.chosen
      ? `frame ${this.frame}, ${start} to ${end} selected`
      : `frame ${this.frame}`;
  }
}
