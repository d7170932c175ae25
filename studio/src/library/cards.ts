// A scrolling sheet of cards, for takes, segments and groups; only visible cards are rendered.

import { LitElement, css, html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { sharedStyles } from "../page/style";
import { color, reducedMotion } from "../page/theme";
import { placesOf, sheetOf, stepTo, type Card, type Section, type Sheet } from "./card";
import { drawThumbnail, type ThumbnailStore } from "./thumbnails";

const WIDE = 112; // minimum width of a card, in pixels
const TALL = 152;
const HEAD = 40;
const PICTURE = 82;
const FINE = 2; // canvas pixels per pixel
const INTERVAL = 80; // milliseconds between frames

export interface Pick {
  card: Card;
  /** True if the take is added to those on the stage. */
  overlay: boolean;
}

/** Something to do with one card, offered while the pointer is on it. The selection bar offers the same by keyboard. */
export interface Verb {
  id: string;
  sign: string;
  title: string;
  act: (card: Card) => void;
}

/** Fires "pick" with a `Pick`, and "mark" with the places of all cards that are selected together. */
@customElement("loom-cards")
export class Cards extends LitElement {
  @property({ attribute: false }) sections: readonly Section[] = [];
  /** Colors of the takes on the stage, by name. */
  @property({ attribute: false }) colors: ReadonlyMap<string, string> = new Map();
  /** Place of the segment on the stage. */
  @property() current = "";
  @property({ attribute: false }) store!: ThumbnailStore;
  /** Places that are selected together. */
  @property({ attribute: false }) marked: ReadonlySet<string> = new Set();
  @property({ attribute: false }) verbs: (card: Card) => readonly Verb[] = () => [];
  @property() name = "Takes";
  private sheet: Sheet = { spots: [], heads: [], height: 0 };
  private timer = 0;
  private focused = ""; // place of the card with the tab stop
  private awaited: string[] = []; // places to scroll to once there are cards
  private width = 0;
  private height = 0;
  private observer?: ResizeObserver;

  static styles = [
    sharedStyles,
    css`
    :host { display: block; overflow-y: auto; overflow-x: hidden; position: relative; min-height: 0; contain: strict; }
    .all { position: relative; }
    .head { position: absolute; height: ${HEAD}px; padding: 6px 0 4px; overflow: hidden; display: flex; gap: 5px; align-items: center; font-size: 12px; white-space: nowrap; }
    .head input { font-weight: 600; flex: 0 1 20ch; width: 20ch; min-width: 6ch; padding: 2px 5px; font-size: 13px; background: transparent; border-color: transparent; text-overflow: ellipsis; }
    .head input:is(:hover, :focus) { border-color: var(--line); background: var(--well); }
    .head button { font-size: 11px; padding: 2px 6px; }
    .slot { position: absolute; }
    button.card { position: absolute; inset: 0; display: flex; flex-direction: column; gap: 1px; padding: 3px 6px 4px; text-align: left; width: 100%;
      background: var(--card); border: 1px solid var(--line); border-radius: 7px; overflow: hidden; line-height: 1.25; white-space: normal; }
    button.card:hover { border-color: var(--edge); background: var(--raised); }
    button.card[aria-pressed="true"] { border-color: var(--own); color: var(--ink); box-shadow: inset 0 0 0 1px var(--own); }
    button.card.marked { background: color-mix(in srgb, var(--accent) 18%, var(--card)); border-color: var(--accent); }
    .group button.card { box-shadow: 2px 2px 0 -1px var(--card), 3px 3px 0 -1px var(--line); }
    .mark { position: absolute; right: 6px; top: 6px; width: 18px; height: 18px; margin: 0; cursor: pointer; opacity: 0; z-index: 1; }
    .slot:hover .mark, .mark:checked, .mark:focus-visible, :host([marking]) .mark { opacity: 1; }
    .verbs { position: absolute; inset: auto 2px 2px; padding: 1px 2px; display: none; gap: 3px; justify-content: center; z-index: 1;
      background: var(--raised); border-radius: 5px; }
    .slot:hover .verbs { display: flex; }
    .slot:hover .described .text { -webkit-line-clamp: 1; max-height: 13px; } /* room for the verbs */
    .verbs button { padding: 0 5px; height: 22px; min-width: 22px; font-size: 11px; line-height: 1; background: var(--panel); }
    @media (pointer: coarse) { .mark { opacity: 1; } .slot:hover .verbs { display: none; } }
    canvas { width: ${PICTURE}px; height: ${PICTURE}px; align-self: center; pointer-events: none; flex: none; }
    .name { font-size: 11.5px; line-height: 14px; max-height: 28px; overflow: hidden; overflow-wrap: anywhere; width: 100%;
      display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
    .text { font-size: 11px; line-height: 13px; max-height: 26px; overflow: hidden; width: 100%; color: var(--faint);
      display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
    .described .name { -webkit-line-clamp: 1; }
    mark { background: color-mix(in srgb, var(--accent) 26%, transparent); color: var(--ink); border-radius: 3px; font-weight: 600; }
    .facts { font-size: 11px; line-height: 15px; height: 15px; color: var(--faint); display: flex; flex-wrap: wrap; gap: 4px; width: 100%; overflow: hidden; white-space: nowrap; }
    .chip { flex: 1 1 5ch; min-width: 0; max-width: max-content; background: var(--chip); color: var(--ink); border-radius: 8px; padding: 0 6px; overflow: hidden; text-overflow: ellipsis; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.timer = window.setInterval(() => this.drawAll(), INTERVAL);
    this.addEventListener("scroll", this.scrolled, { passive: true });
    this.observer = new ResizeObserver(() => {
      if (this.clientWidth === this.width && this.clientHeight === this.height) return;
      [this.width, this.height] = [this.clientWidth, this.clientHeight];
      this.requestUpdate();
    });
    this.observer.observe(this);
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.timer);
    this.removeEventListener("scroll", this.scrolled);
    this.observer?.disconnect();
  }

  private readonly scrolled = () => this.requestUpdate();

  private get columns(): number {
    return Math.max(Math.floor(this.width / WIDE), 1);
  }

  private indexOf(place: string): number {
    return this.sheet.spots.findIndex((spot) => spot.card.place === place);
  }

  /** Scroll to the first of the places that has a card; as soon as there are cards. */
  reveal(...places: string[]): void {
    this.awaited = this.sheet.spots.length ? [] : places;
    const spot = places.map((place) => this.sheet.spots[this.indexOf(place)]).find(Boolean);
    if (!spot) return;
    if (spot.top < this.scrollTop || spot.top + TALL > this.scrollTop + this.clientHeight)
      this.scrollTop = Math.max(spot.top - (this.clientHeight - TALL) / 2, 0);
  }

  private drawAll(): void {
    if (document.hidden) return;
    const still = reducedMotion();
    const now = performance.now() / 1000;
    for (const canvas of this.renderRoot.querySelectorAll("canvas")) {
      const place = canvas.dataset.place!;
      const figure = this.store.get(place);
      const context = canvas.getContext("2d")!;
      const seconds = still && !canvas.parentElement!.matches(":hover, :focus-visible") ? 0 : now;
      const own = this.colors.get(canvas.dataset.take!);
      if (figure) drawThumbnail(context, figure, seconds, PICTURE * FINE, own ?? color("figure"));
      else context.clearRect(0, 0, canvas.width, canvas.height);
    }
  }

  protected updated(): void {
    this.store.keepRequests(new Set([...this.renderRoot.querySelectorAll("canvas")].map((one) => one.dataset.place!)));
    this.drawAll();
    if (this.awaited.length && this.sheet.spots.length) this.reveal(...this.awaited);
  }

  private pick(card: Card, event: MouseEvent): void {
    if (event.ctrlKey || event.metaKey) this.mark(card);
    else this.dispatchEvent(new CustomEvent<Pick>("pick", { detail: { card, overlay: event.shiftKey } }));
  }

  /** Add cards to the selection, or remove them if all of them are in it. */
  private mark(...cards: Card[]): void {
    const places = cards.flatMap(placesOf);
    const marked = new Set(this.marked);
    const on = !places.every((place) => marked.has(place));
    for (const place of places)
      if (on) marked.add(place);
      else marked.delete(place);
    this.dispatchEvent(new CustomEvent<string[]>("mark", { detail: [...marked] }));
  }

  private isMarked(card: Card): boolean {
    return this.marked.size > 0 && placesOf(card).every((place) => this.marked.has(place));
  }

  /** One card is a tab stop; arrow keys, Home and End move between cards, X selects, Ctrl+A selects all. */
  private readonly key = (event: KeyboardEvent): void => {
    if (!(event.target as HTMLElement).matches(".card, .mark")) return;
    const { spots } = this.sheet;
    const at = this.indexOf(this.focused);
    const letter = event.key.toLowerCase();
    const all = letter === "a" && (event.ctrlKey || event.metaKey);
    if (all || (letter === "x" && !event.ctrlKey && !event.altKey && !event.metaKey && at >= 0)) {
      event.preventDefault();
      event.stopPropagation();
      this.mark(...(all ? spots.map((spot) => spot.card) : [spots[at].card]));
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const next = spots[stepTo(this.sheet, at, event.key)];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    this.focused = next.card.place;
    this.reveal(this.focused);
    this.requestUpdate();
    void this.updateComplete.then(() =>
      this.renderRoot
        .querySelector<HTMLElement>(`.card[data-place="${CSS.escape(next.card.place)}"]`)
        ?.focus({ preventScroll: true }),
    );
  };

  protected willUpdate(): void {
    if (!this.width) return;
    this.sheet = sheetOf(this.sections, this.columns, TALL, HEAD);
    if (this.indexOf(this.focused) < 0) {
      const { spots } = this.sheet;
      this.focused = (spots.find((spot) => this.colors.has(spot.card.place)) ?? spots[0])?.card.place ?? "";
    }
  }

  private card(card: Card, column: number, top: number, stop: string) {
    const wide = this.width / this.columns;
    const where = `left:${column * wide}px;top:${top}px;width:${wide - 6}px;height:${TALL - 6}px`;
    const take = card.segment?.motion ?? card.place;
    const own = card.takes ? undefined : this.colors.get(take);
    const shown = own !== undefined && (card.segment ? this.current === card.place : true);
    const marked = this.isMarked(card);
    const hint = card.takes
      ? `${card.group}: ${card.facts}. Click to see its takes, Ctrl-click to select.`
      : `${card.place}: ${card.facts}. Shift-click to overlay, Ctrl-click to select.`;
    return html`<div class="slot ${card.takes ? "group" : ""}" style=${where}>
      <input type="checkbox" class="mark" tabindex="-1" aria-label="Select ${card.title}" title="Select (X)" .checked=${marked} @click=${() => this.mark(card)} />
      <button class="card ${marked ? "marked" : ""} ${card.text ? "described" : ""}" data-place=${card.place} data-group=${card.group ?? nothing} aria-pressed=${shown ? "true" : "false"}
      tabindex=${card.place === stop ? 0 : -1} @focus=${() => (this.focused = card.place)} style="--own:${own ?? "transparent"}" title=${hint}
      @click=${(event: MouseEvent) => this.pick(card, event)}>
      <canvas data-place=${card.place} data-take=${take} width=${PICTURE * FINE} height=${PICTURE * FINE}></canvas>
      <span class="name">${card.title.split(/(?<=[_./ -])/).map((part) => html`${part}<wbr>`)}</span>
      ${card.text ? html`<span class="text">${card.text}</span>` : nothing}
      <span class="facts"><span>${card.facts}</span>${card.chip ? html`<span class="chip">${card.chip}</span>` : nothing}</span></button>
      <span class="verbs">${this.verbs(card).map(
        (verb) =>
          html`<button class=${verb.id} tabindex="-1" title=${verb.title} aria-label="${verb.title}: ${card.title}" @click=${() => verb.act(card)}>${verb.sign}</button>`,
      )}</span></div>`;
  }

  render() {
    if (!this.width) return nothing;
    const from = this.scrollTop - TALL;
    const to = this.scrollTop + this.height + TALL;
    const seen = (top: number) => top > from - TALL && top < to;
    const wide = this.width / this.columns;
    const shown = this.sheet.spots.filter((spot) => seen(spot.top));
    const stop = shown.some(({ card }) => card.place === this.focused) ? this.focused : (shown[0]?.card.place ?? "");
    return html`<div class="all" role="group" aria-label=${this.name} @keydown=${this.key} style="height:${this.sheet.height}px">
      ${repeat(
        this.sheet.heads.filter((head) => seen(head.top)),
        (head) => head.section.key,
        (head) =>
          html`<div class="head" style="top:${head.top}px;left:${head.column * wide}px;width:${head.span * wide - 6}px">${head.section.head!()}</div>`,
      )}
      ${repeat(
        shown,
        (spot) => spot.card.place,
        (spot) => this.card(spot.card, spot.column, spot.top, stop),
      )}</div>`;
  }
}
