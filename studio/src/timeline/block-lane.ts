// The parts of a synthesized motion as blocks on the time axis. Blocks of a script can be dragged, trimmed and exchanged.

import { LitElement, css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { sharedStyles } from "../page/style";
import type { TimeAxis } from "./time-axis";

/** Beats in seconds, for the timeline. */
export interface Score {
  music: readonly number[];
  /** Numbers of the beats that begin a bar. */
  downbeats: readonly number[];
  motion: readonly number[];
  /** Seconds within which a beat of the motion is on a beat of the music. */
  tolerance: number;
}

/** A part of a motion, in seconds. */
export interface Block {
  text: string;
  start: number;
  end: number;
  /** A bridge between phrases cannot be edited. */
  bridge?: boolean;
  /** Segments that can replace it, with a description. */
  options?: { value: string; text: string }[];
  /** The segment that is used now. */
  chosen?: string;
}

/** Changes that the user makes to blocks, by their index. */
export interface BlockEdits {
  move: (block: number, before: number) => void;
  trim: (block: number, start: number, end: number) => void;
  exchange: (block: number, value: string) => void;
}

const EDGE = 7; // pixels of a block that trim it
const CLICK = 4;
const STEP = 0.1; // seconds that a key trims
const SHORTEST = 0.2; // seconds

interface Drag {
  block: number;
  part: "start" | "end" | "whole";
  x: number;
  /** Seconds moved so far. */
  by: number;
  moved: boolean;
}

/** Fires "seek" with the start of a clicked block as `detail`. */
@customElement("loom-block-lane")
export class BlockLane extends LitElement {
  @property({ attribute: false }) blocks: readonly Block[] = [];
  @property({ attribute: false }) edits: BlockEdits | null = null;
  @property({ attribute: false }) axis!: TimeAxis;
  /** Start and end of the axis; a change triggers a redraw. */
  @property({ attribute: false }) span = "";
  @property({ type: Number }) width = 0;
  @property({ type: Number }) time = 0;
  @state() private drag: Drag | null = null;
  @state() private open = -1; // block whose options are shown
  @state() private stop = 0; // block at which the Tab key stops

  static styles = [
    sharedStyles,
    css`
    :host { display: block; position: relative; margin-top: 3px; }
    .lane { position: relative; height: 26px; }
    .names { position: absolute; left: 0; top: 5px; font-size: var(--text-tiny); text-align: right; color: var(--faint); }
    .block { position: absolute; top: 0; height: 24px; padding: 0 var(--space-2); font-size: var(--text-small); line-height: 22px; text-align: left; overflow: hidden;
      text-overflow: ellipsis; border-radius: var(--round); min-width: 4px; background: var(--chip); border-color: var(--edge); touch-action: none; }
    .block.now { border-color: var(--accent); }
    .block.bridge { background: none; border-style: dotted; color: var(--faint); }
    .block.dragged { opacity: 0.8; z-index: 2; cursor: grabbing; box-shadow: var(--shadow); }
    .edits .block:not(.bridge) { cursor: grab; }
    .block i { position: absolute; top: 0; bottom: 0; width: ${EDGE}px; cursor: ew-resize; }
    .block i.left { left: 0; } .block i.right { right: 0; }
    .block:is(:hover, :focus-visible) i { background: color-mix(in srgb, var(--accent) 55%, transparent); }
    .drop { position: absolute; top: -3px; height: 30px; width: 2px; background: var(--accent); pointer-events: none; z-index: 3; }
    .options { position: fixed; z-index: 12; /* the timeline scrolls, and would clip it */ max-height: 260px; overflow: auto; width: max-content; max-width: min(460px, 90vw); display: grid; gap: 2px;
      padding: var(--space-1); background: var(--raised); border: 1px solid var(--line); border-radius: var(--round-large); box-shadow: var(--shadow); }
    .options button { text-align: left; border: 0; font-size: var(--text-small); white-space: normal; background: none; }
    .options button[aria-pressed="true"] { color: var(--accent); }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    addEventListener("pointerdown", this.outside);
  }
  disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("pointerdown", this.outside);
  }
  private readonly outside = (event: Event): void => {
    if (this.open >= 0 && !event.composedPath().includes(this)) this.open = -1;
  };

  private get secondsPerPixel(): number {
    return (this.axis.end - this.axis.start) / Math.max(this.width - this.axis.gutter, 1);
  }

  private readonly down = (event: PointerEvent): void => {
    const button = event.currentTarget as HTMLElement;
    const block = Number(button.dataset.block);
    if (event.button !== 0) return;
    this.stop = block;
    const edge = (event.target as HTMLElement).className;
    const part = edge === "left" ? "start" : edge === "right" ? "end" : "whole";
    if (this.edits && !this.blocks[block].bridge) button.setPointerCapture(event.pointerId);
    this.drag = { block, part, x: event.clientX, by: 0, moved: false };
  };

  private readonly move = (event: PointerEvent): void => {
    const { drag } = this;
    if (!drag || !this.edits || this.blocks[drag.block].bridge) return;
    const pixels = event.clientX - drag.x;
    if (!drag.moved && Math.abs(pixels) < CLICK) return;
    this.drag = { ...drag, by: pixels * this.secondsPerPixel, moved: true };
  };

  private readonly up = (): void => {
    const { drag, edits } = this;
    this.drag = null;
    if (!drag) return;
    const block = this.blocks[drag.block];
    if (!drag.moved || !edits) {
      this.dispatchEvent(new CustomEvent("seek", { detail: block.start }));
      this.open = edits && block.options?.length && this.open !== drag.block ? drag.block : -1;
      return;
    }
    const [start, end] = placed(block, drag);
    if (drag.part !== "whole") edits.trim(drag.block, start, end);
    else {
      const before = droppedBefore(this.blocks, drag.block, (start + end) / 2);
      if (before !== drag.block && before !== drag.block + 1) edits.move(drag.block, before);
    }
  };

  private readonly key = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const { edits, stop } = this;
    const block = this.blocks[stop];
    if (event.key === "Escape" && this.open >= 0) this.open = -1;
    else if (!step) return;
    else if (edits && !block.bridge && event.altKey) {
      const phrases = this.blocks.map((one, at) => (one.bridge ? -1 : at)).filter((at) => at >= 0);
      const next = phrases[phrases.indexOf(stop) + step];
      if (next !== undefined) edits.move(stop, step > 0 ? next + 1 : next);
    } else if (edits && !block.bridge && event.shiftKey)
      edits.trim(stop, block.start, Math.max(block.end + step * STEP, block.start + SHORTEST));
    else {
      this.stop = Math.min(Math.max(stop + step, 0), this.blocks.length - 1);
      void this.updateComplete.then(() =>
        this.renderRoot.querySelector<HTMLElement>(`[data-block="${this.stop}"]`)?.focus(),
      );
    }
    event.preventDefault();
    event.stopPropagation();
  };

  /** A click by the keyboard. */
  private readonly pressed = (event: MouseEvent): void => {
    if (event.detail > 0) return; // by the pointer: see up
    const at = Number((event.currentTarget as HTMLElement).dataset.block);
    this.dispatchEvent(new CustomEvent("seek", { detail: this.blocks[at].start }));
    this.open = this.edits && this.blocks[at].options?.length && this.open !== at ? at : -1;
  };

  private exchange(block: number, value: string): void {
    this.open = -1;
    this.edits?.exchange(block, value);
  }

  private x(time: number): number {
    return Math.min(Math.max(this.axis.x(time, this.width), this.axis.gutter), this.width);
  }

  private block(block: Block, at: number) {
    const { drag } = this;
    const dragged = drag?.block === at && drag.moved;
    const [start, end] = dragged ? placed(block, drag) : [block.start, block.end];
    const [left, right] = [this.x(start), this.x(end)];
    if (right - left < 0.5) return nothing; // outside the visible range
    const now = this.time >= block.start && this.time < block.end;
    const editable = this.edits && !block.bridge;
    const seconds = `${(end - start).toFixed(1)} s`;
    const how = editable ? "; drag to move, drag an edge to trim, click to exchange" : "";
    return html`<button class="block ${block.bridge ? "bridge" : ""} ${now ? "now" : ""} ${dragged ? "dragged" : ""}" data-block=${at}
      tabindex=${at === this.stop ? 0 : -1} title="${block.text}, ${seconds}${how}" aria-label="${block.text}, ${seconds}" aria-expanded=${editable && block.options?.length ? this.open === at : nothing}
      style="left:${left}px; width:${Math.max(right - left - 2, 4)}px" @pointerdown=${this.down} @pointermove=${this.move} @pointerup=${this.up} @click=${this.pressed}
      >${dragged && drag.part !== "whole" ? seconds : block.text}${editable ? html`<i class="left"></i><i class="right"></i>` : nothing}</button>`;
  }

  /** Where a dragged block would be dropped. */
  private mark() {
    const { drag, blocks } = this;
    if (!drag?.moved || drag.part !== "whole") return nothing;
    const [start, end] = placed(blocks[drag.block], drag);
    const before = droppedBefore(blocks, drag.block, (start + end) / 2);
    const time = before < blocks.length ? blocks[before].start : blocks[blocks.length - 1].end;
    return html`<span class="drop" style="left:${this.x(time) - 2}px"></span>`;
  }

  private options(at: number) {
    const { options = [], chosen, start } = this.blocks[at];
    const lane = this.getBoundingClientRect();
    const left = lane.left + Math.min(this.x(start), this.width - 200);
    return html`<div class="options" role="group" aria-label="Other segments" style="left:${left}px; bottom:${innerHeight - lane.top + 4}px">
      ${options.map((one) => html`<button aria-pressed=${one.value === chosen} @click=${() => this.exchange(at, one.value)}>${one.text}</button>`)}</div>`;
  }

  render() {
    if (!this.width || !this.blocks.length) return nothing;
    return html`<div class="lane ${this.edits ? "edits" : ""}" role="group" aria-label="Parts of the motion" @keydown=${this.key}>
      <span class="names" style="width:${this.axis.gutter - 8}px">parts</span>
      ${this.blocks.map((one, at) => this.block(one, at))}${this.mark()}</div>
      ${this.open >= 0 && this.open < this.blocks.length ? this.options(this.open) : nothing}`;
  }
}

/** Start and end of a block while it is dragged. */
export function placed(block: Pick<Block, "start" | "end">, drag: Pick<Drag, "part" | "by">): [number, number] {
  const { start, end } = block;
  if (drag.part === "start") return [Math.min(start + drag.by, end - SHORTEST), end];
  if (drag.part === "end") return [start, Math.max(end + drag.by, start + SHORTEST)];
  return [start + drag.by, end + drag.by];
}

/** The block before which a block is dropped whose middle is at a time; bridges are passed over. */
export function droppedBefore(blocks: readonly Block[], block: number, middle: number): number {
  for (let at = 0; at < blocks.length; at++) {
    if (blocks[at].bridge) continue;
    if (middle < (blocks[at].start + blocks[at].end) / 2) return at === block + 1 ? block : at;
  }
  return blocks.length;
}
