// The timeline below the stage: play, scrub, and select a segment of the take.

import { css, html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { live } from "lit/directives/live.js";
import { getArrays, getJson, send } from "../net/api";
import { copyText } from "../page/code-line";
import { inputValue } from "../page/form-input";
import { step } from "../page/shortcuts";
import { segmentText } from "../page/studio";
import { StudioElement } from "../page/studio-element";
import { sharedStyles } from "../page/style";
import { problemsOf } from "../page/verdict";
import { theme } from "../page/theme";
import { HEIGHT, RULER, drawPlayhead, drawStrips, speedOf, type Strips } from "./strips";
import "./block-lane";
import "./caption-lanes";
import type { BlockLane } from "./block-lane";
import { CurveTracks } from "./curve-tracks";
import { ABOUT, KINDS, choices, storeTracks, storedTracks, type CurveKind, type Track } from "./curves";
import type { MotionWords, Said } from "./caption-lanes";
import { TimeAxis } from "./time-axis";
import { TIME_UNITS, parseTime, timeText, type TimeUnit } from "./time-code";

const NEAR = 6; // pixels within which a handle is grabbed
const CLICK = 3; // pixels that the mouse may move in a click
const LIVE_SECONDS = 12; // shown of streamed motion
const UNIT_KEY = "motionloom.time-unit";

function storedUnit(): TimeUnit {
  try {
    return TIME_UNITS.find((one) => one === localStorage.getItem(UNIT_KEY)) ?? "frames";
  } catch {
    return "frames";
  }
}

type Drag =
  | { kind: "scrub" }
  | { kind: "select"; from: number; x: number; moved: boolean }
  | { kind: "pan"; x: number }
  | { kind: "beat"; index: number };

@customElement("loom-timeline")
export class Timeline extends StudioElement {
  @state() private copied = false;
  /** True if dragging moves beats instead of selecting segments. */
  @state() private editing = false;
  /** Captions and labeled segments of the take. */
  @state() private words: MotionWords | null = null;
  /** The caption or label that is selected. */
  @state() private said: Said | null = null;
  /** Curves of joints below the strips. */
  @state() private tracks = storedTracks();
  @state() private unit = storedUnit();
  private readonly axis = new TimeAxis(58);
  private strips: Strips | null = null;
  private drag: Drag | null = null;
  private width = 0;
  private height = HEIGHT;
  private shown = "";

  @query(".strips") private box!: HTMLElement;
  @query("#strips") private stripCanvas!: HTMLCanvasElement;
  @query("#head") private headCanvas!: HTMLCanvasElement;
  @query(".where") private position!: HTMLElement;
  @query("#now") private now!: HTMLInputElement;
  @query("loom-curve-tracks") private curves!: CurveTracks | null;
  @query("loom-block-lane") private lane!: BlockLane | null;

  static styles = [
    sharedStyles,
    css`
    :host { display: flex; flex-direction: column; min-height: 100%; padding: 6px 10px 8px; user-select: none; }
    .bar { display: flex; gap: 6px; align-items: center; flex-wrap: wrap; margin-bottom: 5px; min-height: 30px; }
    .bar button { padding: 3px 8px; }
    #play { width: 66px; }
    .time { display: flex; gap: 4px; align-items: center; margin-left: 6px; font-size: 12px; }
    #now { width: 9ch; font-variant-numeric: tabular-nums; padding: 3px 6px; text-align: right; user-select: text; }
    .time select { padding: 3px 4px; font-size: 12px; }
    .where { font-variant-numeric: tabular-nums; white-space: nowrap; min-width: 12ch; }
    details { position: relative; }
    summary { list-style: none; cursor: pointer; background: var(--raised); border: 1px solid var(--line); border-radius: 5px; padding: 3px 8px; }
    summary:hover, summary.on { border-color: var(--accent); }
    summary.on { color: var(--accent); }
    .entries { position: fixed; margin-top: -4px; transform: translateY(calc(-100% - 30px)); display: grid; gap: 6px; padding: 8px 10px;
      background: var(--raised); border: 1px solid var(--line); border-radius: 6px; z-index: 4; font-size: 12px; }
    .entries select { font-size: 12px; max-width: 26ch; background: var(--panel); }
    .speed { display: flex; gap: 6px; align-items: center; font-size: 12px; color: var(--faint); }
    .speed input { width: 90px; }
    .speed output { width: 34px; font-variant-numeric: tabular-nums; }
    .selection { margin-left: auto; display: flex; gap: 6px; align-items: center; font-size: 12px; min-width: 0; }
    .selection code { font: 12px ui-monospace, monospace; color: var(--accent); user-select: all; white-space: nowrap;
      overflow: hidden; text-overflow: ellipsis; }
    .selection span { white-space: nowrap; }
    .selection form { display: flex; gap: 4px; }
    .selection form input { width: 20ch; font-size: 12px; padding: 3px 7px; user-select: text; }
    loom-caption-lanes { margin-top: 3px; }
    @media (max-width: 860px) { .selection { margin-left: 0; flex-wrap: wrap; } }
    .strips { position: relative; flex: 1 0 ${HEIGHT}px; outline-offset: 2px; }
    loom-curve-tracks { flex: 1 0 auto; margin-top: 3px; }
    canvas { position: absolute; inset: 0; width: 100%; height: 100%; touch-action: none; }
    #head { cursor: crosshair; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    const { stage } = this.studio;
    const again = () => this.requestUpdate();
    stage.clock.addEventListener("change", again);
    stage.addEventListener("frame", () => this.follow());
    this.watch(["shown", "artifacts"], () => void this.reload()); // beats may be saved in another window
    this.watch(["selection"], () => {
      const { selection } = this.studio;
      if (this.said && (selection?.start !== this.said.start_frame || selection.end !== this.said.end_frame))
        this.said = null; // another segment was drawn
      this.requestUpdate();
    });
    this.answers("reveal", ({ time }) => {
      this.axis.around(time);
      this.requestUpdate();
      return true;
    });
    this.watch(["library"], () => void this.loadWords());
    theme.addEventListener("change", again);
    this.closeMenusOutside();
    this.answers("escape", () => {
      const { editing } = this;
      this.editing = false;
      return editing;
    });
  }

  protected firstUpdated(): void {
    new ResizeObserver(() => this.resize()).observe(this.box);
    this.resize();
  }

  protected updated(): void {
    this.shown = "";
    this.draw();
    this.follow();
  }

  /** Other characters are on the stage: fit the time axis, and load the strips. */
  private async reload(): Promise<void> {
    const { studio } = this;
    const one = studio.lead;
    const take = studio.take;
    const fresh = this.strips?.motion.name !== one?.motion.name;
    const { subject } = studio;
    this.strips = one && {
      motion: one.motion,
      timeOf: (frame) => one.timeOf(frame),
      beats: [],
      sure: false,
      score: subject?.score,
      problems: problemsOf(subject?.quality ?? null).flatMap((problem) => problem.times),
      speed: take === null ? speedOf(one.motion) : fresh ? null : this.strips!.speed,
    };
    const { clock } = studio.stage;
    this.axis.fit(clock.start, clock.end === Infinity ? clock.start + LIVE_SECONDS : clock.end, fresh);
    this.requestUpdate();
    const mine = this.strips;
    if (fresh || take === null) this.words = this.said = null;
    if (!mine || take === null || one?.motion.name !== take) return;
    void this.loadWords();
    const request = { path: { name: take } };
    const current = () => this.strips === mine;
    try {
      const message = await getArrays("motions/{name}/strips", request);
      if (!current()) return;
      mine.speed = message.arrays.speed as Float32Array;
      this.requestUpdate();
      const answer = await getJson("motions/{name}/beats", request);
      if (!current()) return;
      mine.beats = answer.beats;
      mine.sure = answer.rhythmic;
      this.requestUpdate();
    } catch {
      /* too short for a rhythm, or removed in the meantime: the strip stays empty */
    }
  }

  /** Load captions and labeled segments of the take; labels may have changed. */
  private async loadWords(): Promise<void> {
    const { take } = this.studio;
    if (take === null) return;
    const words = await getJson("motions/{name}/words", { path: { name: take } }).catch(() => null); // removed meanwhile
    if (this.studio.take === take) this.words = words;
  }

  /** Play a caption or label, and select its frames. */
  private choose(one: Said): void {
    const { studio } = this;
    if (studio.take === null) return;
    this.said = one;
    studio.select({ motion: studio.take, start: one.start_frame, end: one.end_frame });
    if (studio.lead) studio.stage.clock.seek(studio.lead.timeOf(one.start_frame));
  }

  /** Add a label to the selected segment, or remove it. */
  private async label(text: string, remove = false): Promise<void> {
    const { selection } = this.studio;
    if (!selection || !text.trim()) return;
    await this.studio.attempt(async () => {
      const body = { places: [segmentText(selection)], label: text.trim(), remove };
      await send("post", "library/labels", { body });
      this.said = null;
      await this.loadWords();
    });
  }

  private resize(): void {
    this.width = this.box.clientWidth;
    this.height = this.box.clientHeight;
    for (const canvas of [this.stripCanvas, this.headCanvas]) {
      const fine = Math.min(devicePixelRatio, 2);
      canvas.width = this.width * fine;
      canvas.height = this.height * fine;
      canvas.getContext("2d")!.setTransform(fine, 0, 0, fine, 0, 0);
    }
    this.requestUpdate();
    this.draw(); // immediately; otherwise the canvas is empty for a moment
  }

  private get selected(): readonly [number, number] | null {
    const { selection, take, lead } = this.studio;
    return selection && lead && selection.motion === take
      ? [lead.timeOf(selection.start), lead.timeOf(selection.end)]
      : null;
  }

  private draw(): void {
    if (!this.width) return;
    const { width, height, axis } = this;
    drawStrips(this.stripCanvas.getContext("2d")!, width, height, axis, this.strips, this.selected);
    const head = this.headCanvas.getContext("2d")!;
    if (this.strips) drawPlayhead(head, width, height, axis, this.studio.stage.clock.time);
    else head.clearRect(0, 0, width, height);
  }

  /** Update the playhead and the numbers; called for every drawn frame. */
  private follow(): void {
    const { clock } = this.studio.stage;
    if (!this.width || !this.hasUpdated) return;
    if (this.strips && this.strips.motion !== this.studio.lead?.motion) void this.reload(); // as while a target is dragged
    if (clock.end === Infinity) {
      this.axis.fit(
        Math.max(clock.time - LIVE_SECONDS + 1, clock.start),
        Math.max(clock.time + 1, clock.start + LIVE_SECONDS),
      );
      this.draw();
    } else if (clock.playing && this.axis.zoomed && this.drag === null) {
      const before = this.axis.start;
      this.axis.reveal(clock.time);
      if (before !== this.axis.start) this.requestUpdate();
    }
    const text = this.where();
    if (text === this.shown) return;
    this.shown = text;
    if (this.lane) this.lane.time = clock.time;
    const head = this.headCanvas.getContext("2d")!;
    if (this.strips) drawPlayhead(head, this.width, this.height, this.axis, clock.time);
    else head.clearRect(0, 0, this.width, this.height); // nothing moves on an empty stage
    const [now, all] = this.timeText();
    if (!this.now.matches(":focus")) this.now.value = now; // do not overwrite user input
    this.position.textContent = all;
    const one = this.studio.lead;
    if (one) this.curves?.follow(clock.time, one.frameAt(clock.time));
    this.headCanvas.setAttribute("aria-valuenow", clock.time.toFixed(2));
  }

  /** Changes whenever the playhead or the numbers do. */
  private where(): string {
    const { clock } = this.studio.stage;
    return `${this.timeText().join(" ")} ${clock.time.toFixed(3)}`;
  }

  /** The time, and the end with the rate, in the chosen unit. */
  private timeText(): [string, string] {
    const { clock } = this.studio.stage;
    const one = this.studio.lead;
    if (!one || !one.motion.frames) return ["", ""];
    const { fps } = one.motion;
    const rate = `${Number(fps.toFixed(2))} fps`;
    const now = timeText(one.frameAt(clock.time), fps, this.unit);
    return [now, clock.end === Infinity ? rate : `/ ${timeText(one.endFrame, fps, this.unit)} · ${rate}`];
  }

  /** Go to the time that was typed: a frame, seconds or a time code. */
  private jump(): void {
    const one = this.studio.lead;
    if (!one) return;
    const frame = parseTime(this.now.value, one.motion.fps, this.unit);
    if (frame === null) {
      this.studio.notify(
        `${this.now.value || "nothing"} is not a valid time; enter a frame (123), seconds (4.1 s) or a time code (00:04:03)`,
      );
      return;
    }
    const { clock } = this.studio.stage;
    clock.pause();
    clock.seek(one.timeOf(Math.min(Math.max(frame, one.firstFrame), one.endFrame - 1)));
    this.axis.reveal(clock.time);
    this.now.blur();
    this.requestUpdate();
  }

  private readonly typed = (event: KeyboardEvent): void => {
    if (event.key === "Enter") this.jump();
    else if (event.key === "Escape") this.now.blur();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  private setUnit(unit: TimeUnit): void {
    this.unit = unit;
    try {
      localStorage.setItem(UNIT_KEY, unit);
    } catch {
      // private window: not stored
    }
  }

  private setTracks(tracks: Track[]): void {
    this.tracks = tracks;
    storeTracks(tracks);
  }

  /** Time as numbers, to read and to type. */
  private timeField() {
    return html`<span class="time"><input id="now" autocomplete="off" spellcheck="false" aria-label="Time: enter a frame, seconds or a time code"
        title="Enter a frame (123), seconds (4.1 s) or a time code (00:04:03)" @keydown=${this.typed}
        @focus=${() => this.now.select()} @blur=${() => (this.shown = "")} />
      <select id="time-unit" aria-label="Time unit" @change=${(event: Event) => this.setUnit(inputValue(event) as TimeUnit)}>
        ${TIME_UNITS.map((one) => html`<option ?selected=${one === this.unit}>${one}</option>`)}</select>
      <span class="where faint"></span></span>`;
  }

  /** The menu that adds curves of joints. */
  private curveMenu() {
    const { strips, tracks } = this;
    if (!strips) return nothing;
    const add = (event: Event) => {
      event.preventDefault();
      const chosen = (name: string) => this.renderRoot.querySelector<HTMLSelectElement>(`#${name}`)!.value;
      const track = { kind: chosen("curve-kind") as CurveKind, of: chosen("curve-of") };
      if (!tracks.some((one) => one.kind === track.kind && one.of === track.of)) this.setTracks([...tracks, track]);
    };
    return html`<details class="menu" id="curves"><summary class=${tracks.length ? "on" : ""} title="Show joint curves below the strips">Curves</summary>
      <form class="entries" @submit=${add}>
        <label>joints<select id="curve-of">${choices(strips.motion).map(
          ([group, names]) =>
            html`<optgroup label=${group}>${names.map(([of, name]) => html`<option value=${of} ?selected=${of === "pair:ankle"}>${name}</option>`)}</optgroup>`,
        )}</select></label>
        <label>curve<select id="curve-kind">${KINDS.map((kind) => html`<option value=${kind} title=${ABOUT[kind]}>${kind}</option>`)}</select></label>
        <span class="row"><button class="main" id="add-curve">Add</button>
          ${tracks.length ? html`<button type="button" id="no-curves" @click=${() => this.setTracks([])}>Remove all</button>` : nothing}</span></form></details>`;
  }

  private frameAt(x: number): number {
    const one = this.studio.lead!;
    const frame = Math.round((this.axis.time(x, this.width) - one.timeOf(0)) * one.motion.fps);
    return Math.min(Math.max(frame, one.firstFrame), one.endFrame);
  }

  private readonly down = (event: PointerEvent): void => {
    if (!this.studio.lead) return;
    const { offsetX: x, offsetY: y } = event;
    (event.target as HTMLElement).setPointerCapture(event.pointerId);
    if (event.button === 1) this.drag = { kind: "pan", x };
    else if (event.button !== 0) return;
    else if (y < RULER || this.studio.take === null) {
      this.drag = { kind: "scrub" };
      this.move(event);
    } else if (this.editing) {
      const index = this.beatAt(x);
      if (index !== null) this.drag = { kind: "beat", index };
    } else this.drag = { kind: "select", from: this.held(x) ?? this.frameAt(x), x, moved: this.held(x) !== null };
  };

  /** The beat near a place on the time axis. */
  private beatAt(x: number): number | null {
    const { strips } = this;
    if (!strips) return null;
    const far = strips.beats.map((beat) => Math.abs(this.axis.x(strips.timeOf(0) + beat, this.width) - x));
    const nearest = far.indexOf(Math.min(...far));
    return nearest >= 0 && far[nearest] <= NEAR ? nearest : null;
  }

  /** The time in the take at a place on the axis. */
  private takeTime(x: number): number {
    const one = this.studio.lead!;
    return Math.min(Math.max(this.axis.time(x, this.width) - one.timeOf(0), 0), one.motion.frames / one.motion.fps);
  }

  /** Save the beats in the library; an empty list deletes beats set by hand and detects them again. */
  private async keepBeats(beats: number[]): Promise<void> {
    const { strips, studio } = this;
    const { take } = studio;
    if (!strips || take === null) return;
    strips.beats = [...beats].sort((a, b) => a - b);
    this.requestUpdate();
    await studio.attempt(async () => {
      const kept = await send("put", "motions/{name}/beats", { path: { name: take }, body: { times: strips.beats } });
      studio.did(`Beats of ${take} changed`);
      if (this.strips !== strips) return;
      strips.beats = kept.beats;
      strips.sure = kept.rhythmic || kept.given;
      this.requestUpdate();
    });
  }

  /** At a handle of the selection: the frame of its other end, which stays. */
  private held(x: number): number | null {
    const { selected } = this;
    const selection = this.studio.selection;
    if (!selected || !selection) return null;
    if (Math.abs(x - this.axis.x(selected[0], this.width)) <= NEAR) return selection.end;
    if (Math.abs(x - this.axis.x(selected[1], this.width)) <= NEAR) return selection.start;
    return null;
  }

  private readonly move = (event: PointerEvent): void => {
    const { offsetX: x } = event;
    const { drag, studio } = this;
    const { clock } = studio.stage;
    if (!drag) {
      const near = event.offsetY >= RULER && (this.editing ? this.beatAt(x) : this.held(x)) !== null;
      (event.target as HTMLElement).style.cursor = near ? "ew-resize" : event.offsetY < RULER ? "pointer" : "crosshair";
    } else if (drag.kind === "scrub") {
      clock.seek(Math.min(this.axis.time(x, this.width), clock.end - 1e-3));
    } else if (drag.kind === "beat") {
      this.strips!.beats[drag.index] = this.takeTime(x);
      this.draw();
    } else if (drag.kind === "pan") {
      this.axis.pan(((drag.x - x) / (this.width - this.axis.gutter)) * (this.axis.end - this.axis.start));
      drag.x = x;
      this.requestUpdate();
    } else {
      if (!drag.moved && Math.abs(x - drag.x) < CLICK) return;
      drag.moved = true;
      const frame = this.frameAt(x);
      const start = Math.min(frame, drag.from);
      const end = Math.max(frame, drag.from);
      if (end > start) studio.select({ motion: studio.take!, start, end });
    }
  };

  private readonly up = (event: PointerEvent): void => {
    const { drag, studio } = this;
    this.drag = null;
    if (drag?.kind === "beat") void this.keepBeats(this.strips!.beats);
    else if (drag?.kind === "select" && !drag.moved) studio.stage.clock.seek(this.axis.time(event.offsetX, this.width));
    else if (drag?.kind === "select" && studio.selection && studio.lead) {
      // Play from the start of a new selection.
      const { clock } = studio.stage;
      const [start, end] = clock.loopSegment ?? [0, 0];
      if (clock.time < start || clock.time >= end) clock.seek(start);
    }
  };

  private readonly wheel = (event: WheelEvent): void => {
    event.preventDefault();
    const length = this.axis.end - this.axis.start;
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (sideways) this.axis.pan((sideways / (this.width - this.axis.gutter)) * length);
    else this.axis.zoom(this.axis.time(event.offsetX, this.width), Math.exp(event.deltaY * 0.002));
    this.requestUpdate();
  };

  private readonly clear = (event: MouseEvent): void => {
    if (event.offsetY < RULER) return;
    if (!this.editing) {
      this.studio.select(null);
      return;
    }
    const index = this.beatAt(event.offsetX);
    const beats = this.strips?.beats ?? [];
    void this.keepBeats(
      index === null ? [...beats, this.takeTime(event.offsetX)] : beats.filter((_, beat) => beat !== index),
    );
  };

  private fit(): void {
    const { clock } = this.studio.stage;
    this.axis.fit(clock.start, clock.end);
    this.requestUpdate();
  }

  private async copy(text: string): Promise<void> {
    await copyText(text);
    this.copied = true;
    setTimeout(() => (this.copied = false), 1500);
  }

  private selectionBar() {
    const { selection, take, lead } = this.studio;
    if (!lead || take === null) return nothing;
    if (this.editing)
      return html`<span class="faint">drag a beat to move it, double-click to add or remove one</span>
        <button id="forget-beats" title="Delete the beats set by hand, and detect beats again" @click=${() => void this.keepBeats([])}>detect again</button>`;
    if (!selection || selection.motion !== take)
      return html`<span class="faint">drag on the strips to select a segment</span>`;
    const text = segmentText(selection);
    const frames = selection.end - selection.start;
    const { said } = this;
    const add = (event: Event) => {
      event.preventDefault();
      void this.label(this.renderRoot.querySelector<HTMLInputElement>("#segment-label")!.value);
    };
    return html`${said ? html`<button id="find-words" title="Find motions with this description: ${said.text}" @click=${() => this.studio.go("library", { find: said.text })}>find these words</button>` : nothing}
      ${
        said?.kind === "label"
          ? html`<button id="remove-label" title="Remove this label from the segment" @click=${() => void this.label(said.text, true)}>remove label</button>`
          : html`<form @submit=${add}><input id="segment-label" aria-label="Label of the selected segment" placeholder="label this segment" .value=${live(said?.text ?? "")} />
            <button>label</button></form>`
      }
      <span>${frames} frames, ${(frames / lead.motion.fps).toFixed(2)} s</span><code id="segment">${text}</code>
      <button title="Copy the segment in command-line notation" @click=${() => this.copy(text)}>${this.copied ? "copied" : "copy"}</button>
      <button title="Clear the selection (Esc)" @click=${() => this.studio.select(null)}>clear</button>`;
  }

  render() {
    const { clock } = this.studio.stage;
    const rate = Math.log2(clock.speed);
    const setSpeed = (event: Event) => {
      const speed = 2 ** Number(inputValue(event));
      clock.set({ speed: Math.abs(speed - 1) < 0.06 ? 1 : speed });
    };
    return html`
      <div class="bar">
        <button title="To the start (↑)" aria-label="To the start" @click=${() => clock.seek(clock.start)}>|◂</button>
        <button title="Previous frame (←)" aria-label="Previous frame" @click=${() => step(this.studio, -1)}>◂</button>
        <button id="play" class="main" title="Space" @click=${() => clock.toggle()}>${clock.playing ? "Pause" : "Play"}</button>
        <button title="Next frame (→)" aria-label="Next frame" @click=${() => step(this.studio, 1)}>▸</button>
        <button id="loop" aria-pressed=${clock.loop ? "true" : "false"} title="Repeat when playback reaches the end" @click=${() => clock.set({ loop: !clock.loop })}>Loop</button>
        <label class="speed" title="Speed (+ and −)"><span class="faint">speed</span><input type="range" id="speed" min="-3" max="2" step="0.05" .value=${String(rate)} @input=${setSpeed}
          @dblclick=${() => clock.set({ speed: 1 })} /><output>${clock.speed.toFixed(2)}×</output></label>
        ${this.timeField()}
        ${this.axis.zoomed ? html`<button title="Show the whole take" @click=${() => this.fit()}>Whole</button>` : nothing}
        ${
          this.studio.take === null
            ? nothing
            : html`<button id="edit-beats" aria-pressed=${this.editing} title="Move, add and remove beats; they are saved in the library"
          @click=${() => (this.editing = !this.editing)}>Beats</button>`
        }
        ${this.curveMenu()}
        <div class="selection">${this.selectionBar()}</div>
      </div>
      <div class="strips">
        <canvas id="strips"></canvas>
        <canvas id="head" tabindex="0" role="slider" aria-label="Time" aria-valuemin=${clock.start}
          aria-valuemax=${clock.end === Infinity ? nothing : clock.end.toFixed(2)} aria-valuenow=${clock.time.toFixed(2)}
          @pointerdown=${this.down} @pointermove=${this.move} @pointerup=${this.up} @pointercancel=${this.up}
          @wheel=${this.wheel} @dblclick=${this.clear}></canvas>
      </div>
      ${
        this.strips && this.studio.subject?.blocks?.length
          ? html`<loom-block-lane .blocks=${this.studio.subject.blocks} .edits=${this.studio.subject.edit ?? null} .axis=${this.axis}
          .span=${`${this.axis.start} ${this.axis.end}`} .width=${this.width} @wheel=${this.wheel}
          @seek=${(event: CustomEvent<number>) => clock.seek(event.detail)}></loom-block-lane>`
          : nothing
      }
      ${
        this.tracks.length && this.strips
          ? html`<loom-curve-tracks style="flex-basis:${CurveTracks.height(this.tracks.length)}px" .tracks=${this.tracks} .motion=${this.strips.motion} .axis=${this.axis}
          .span=${`${this.axis.start} ${this.axis.end}`} .width=${this.width} .timeOf=${this.strips.timeOf} @wheel=${this.wheel}
          @scrub=${(event: CustomEvent<number>) => clock.seek(Math.min(this.axis.time(event.detail, this.width), clock.end - 1e-3))}
          @remove=${(event: CustomEvent<number>) => this.setTracks(this.tracks.filter((_, one) => one !== event.detail))}></loom-curve-tracks>`
          : nothing
      }
      ${
        this.studio.take !== null && this.strips
          ? html`<loom-caption-lanes .words=${this.words} .axis=${this.axis} .span=${`${this.axis.start} ${this.axis.end}`} .width=${this.width}
          .timeOf=${this.strips.timeOf} .chosen=${this.said} @choose=${(event: CustomEvent<Said>) => this.choose(event.detail)}></loom-caption-lanes>`
          : nothing
      }`;
  }
}
