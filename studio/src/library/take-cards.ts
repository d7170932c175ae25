// A scrolling grid of take cards; only visible cards are rendered.

import { LitElement, css, html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import type { Row } from "../page/studio";
import { sharedStyles } from "../page/style";
import { drawThumbnail, type ThumbnailStore } from "./thumbnails";
import { color, reducedMotion } from "../page/theme";

const WIDE = 116; // minimum width of a card, in pixels
const TALL = 160;
const PICTURE = 94;
const FINE = 2; // canvas pixels per pixel
const INTERVAL = 80; // milliseconds between frames

export interface Pick {
  name: string;
  /** True if the take is added to those on the stage. */
  overlay: boolean;
}

/** Fires "pick" with a `Pick`, and "mark" with the names of all takes that are selected together. */
@customElement("loom-take-cards")
export class TakeCards extends LitElement {
  @property({ attribute: false }) rows: Row[] = [];
  /** Colors of the takes on the stage, by name. */
  @property({ attribute: false }) colors: ReadonlyMap<string, string> = new Map();
  @property({ attribute: false }) store!: ThumbnailStore;
  /** Takes that are selected together. */
  @property({ attribute: false }) marked: ReadonlySet<string> = new Set();
  private timer = 0;
  private focused = ""; // take with the tab stop
  private width = 0;
  private height = 0;

  static styles = [
    sharedStyles,
    css`
    :host { display: block; overflow-y: auto; overflow-x: hidden; position: relative; min-height: 0; contain: strict; }
    .all { position: relative; }
    button.card { position: absolute; display: flex; flex-direction: column; gap: 1px; padding: 4px 6px 5px; text-align: left;
      background: var(--card); border: 1px solid var(--line); border-radius: 7px; overflow: hidden; line-height: 1.25; }
    button.card:hover { border-color: var(--edge); background: var(--raised); }
    button.card[aria-pressed="true"] { border-color: var(--own); color: var(--ink); box-shadow: inset 0 0 0 1px var(--own); }
    .mark { position: absolute; width: 18px; height: 18px; margin: 0; cursor: pointer; opacity: 0; z-index: 1; }
    .all:hover .mark, .mark:checked, .mark:focus-visible, :host([marking]) .mark { opacity: 1; }
    @media (pointer: coarse) { .mark { opacity: 1; } }
    button.card.marked { background: color-mix(in srgb, var(--accent) 18%, var(--card)); border-color: var(--accent); }
    canvas { width: ${PICTURE}px; height: ${PICTURE}px; align-self: center; pointer-events: none; }
    .name { font-size: 11.5px; line-height: 14px; height: 28px; overflow: hidden; overflow-wrap: anywhere; width: 100%;
      display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
    .facts { font-size: 11px; color: var(--faint); display: flex; gap: 4px; width: 100%; overflow: hidden; white-space: nowrap; }
    .chip { background: var(--chip); color: var(--ink); border-radius: 8px; padding: 0 6px; overflow: hidden; text-overflow: ellipsis; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.timer = window.setInterval(() => this.drawAll(), INTERVAL);
    this.addEventListener("scroll", () => this.requestUpdate(), { passive: true });
    new ResizeObserver(() => {
      if (this.clientWidth === this.width && this.clientHeight === this.height) return;
      [this.width, this.height] = [this.clientWidth, this.clientHeight];
      this.requestUpdate();
    }).observe(this);
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.timer);
  }

  private get columns(): number {
    return Math.max(Math.floor(this.width / WIDE), 1);
  }

  /** Scroll to a take. */
  reveal(name: string): void {
    const index = this.rows.findIndex((row) => row.name === name);
    if (index < 0) return;
    const top = Math.floor(index / this.columns) * TALL;
    if (top < this.scrollTop || top + TALL > this.scrollTop + this.clientHeight)
      this.scrollTop = Math.max(top - (this.clientHeight - TALL) / 2, 0);
  }

  private drawAll(): void {
    if (document.hidden) return;
    const seconds = reducedMotion() ? 0 : performance.now() / 1000;
    for (const canvas of this.renderRoot.querySelectorAll("canvas")) {
      const name = canvas.dataset.name!;
      const figure = this.store.get(name);
      const context = canvas.getContext("2d")!;
      if (figure) drawThumbnail(context, figure, seconds, PICTURE * FINE, this.colors.get(name) ?? color("figure"));
      else context.clearRect(0, 0, canvas.width, canvas.height);
    }
  }

  protected updated(): void {
    this.store.keepRequests(new Set([...this.renderRoot.querySelectorAll("canvas")].map((one) => one.dataset.name!)));
    this.drawAll();
  }

  private pick(name: string, event: MouseEvent): void {
    if (event.ctrlKey || event.metaKey) {
      this.mark(name);
      return;
    }
    const overlay = event.shiftKey;
    this.dispatchEvent(new CustomEvent<Pick>("pick", { detail: { name, overlay } }));
  }

  /** Add a take to the selection, or remove it. */
  private mark(...names: string[]): void {
    const marked = new Set(this.marked);
    const on = !names.every((name) => marked.has(name));
    for (const name of names)
      if (on) marked.add(name);
      else marked.delete(name);
    this.dispatchEvent(new CustomEvent<string[]>("mark", { detail: [...marked] }));
  }

  /** One card is a tab stop; arrow keys, Home and End move between cards, X selects, Ctrl+A selects all. */
  private readonly key = (event: KeyboardEvent): void => {
    const { columns, rows } = this;
    const letter = event.key.toLowerCase();
    const all = letter === "a" && (event.ctrlKey || event.metaKey);
    if (all || (letter === "x" && !event.ctrlKey && !event.altKey && !event.metaKey)) {
      event.preventDefault();
      event.stopPropagation();
      this.mark(...(all ? rows.map((row) => row.name) : [this.focused]));
      return;
    }
    const at = rows.findIndex((row) => row.name === this.focused);
    const steps: Record<string, number> = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at + columns,
      ArrowUp: at - columns,
      Home: 0,
      End: rows.length - 1,
    };
    if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const row = rows[Math.min(Math.max(steps[event.key], 0), rows.length - 1)];
    if (!row) return;
    this.focused = row.name;
    this.reveal(row.name);
    this.requestUpdate();
    void this.updateComplete.then(() =>
      this.renderRoot
        .querySelector<HTMLElement>(`[data-take="${CSS.escape(row.name)}"]`)
        ?.focus({ preventScroll: true }),
    );
  };

  protected willUpdate(): void {
    if (!this.rows.some((row) => row.name === this.focused))
      this.focused = this.rows.find((row) => this.colors.has(row.name))?.name ?? this.rows[0]?.name ?? "";
  }

  private card(row: Row, index: number, stop: string) {
    const { columns } = this;
    const wide = this.width / columns;
    const place = `left:${(index % columns) * wide}px;top:${Math.floor(index / columns) * TALL}px;width:${wide - 6}px;height:${TALL - 6}px`;
    const own = this.colors.get(row.name);
    const marked = this.marked.has(row.name);
    const corner = `left:${(index % columns) * wide + wide - 30}px;top:${Math.floor(index / columns) * TALL + 6}px`;
    return html`<input type="checkbox" class="mark" tabindex="-1" style=${corner} aria-label="Select ${row.name}" title="Select (X)"
      .checked=${marked} @click=${() => this.mark(row.name)} />
      <button class="card ${marked ? "marked" : ""}" data-take=${row.name} aria-pressed=${own ? "true" : "false"}
      tabindex=${row.name === stop ? 0 : -1} @focus=${() => (this.focused = row.name)}
      style="${place};--own:${own ?? "transparent"}" title="${row.name}: ${row.frames} frames, ${row.fps} fps. Shift-click to overlay, Ctrl-click to select."
      @click=${(event: MouseEvent) => this.pick(row.name, event)}>
      <canvas data-name=${row.name} width=${PICTURE * FINE} height=${PICTURE * FINE}></canvas>
      <span class="name">${row.name.split(/(?<=[_./ -])/).map((part) => html`${part}<wbr>`)}</span>
      <span class="facts"><span>${row.seconds.toFixed(1)} s</span>
        ${row.labels.length ? html`<span class="chip">${row.labels[0]}</span>` : nothing}
        ${row.labels.length > 1 ? html`<span>+${row.labels.length - 1}</span>` : nothing}</span></button>`;
  }

  render() {
    if (!this.width) return nothing;
    const { columns } = this;
    const first = Math.max(Math.floor(this.scrollTop / TALL) - 1, 0) * columns;
    const end = (Math.ceil((this.scrollTop + this.height) / TALL) + 1) * columns;
    const shown = this.rows.slice(first, end);
    const stop = shown.some((row) => row.name === this.focused) ? this.focused : (shown[0]?.name ?? "");
    return html`<div class="all" role="group" aria-label="Takes" @keydown=${this.key} style="height:${Math.ceil(this.rows.length / columns) * TALL}px">
      ${repeat(
        shown,
        (row) => row.name,
        (row, index) => this.card(row, first + index, stop),
      )}</div>`;
  }
}
