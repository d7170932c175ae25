// Piles: takes that are alike, found by the server, with a name proposed for each.

import { LitElement, css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { finished, send, type Job } from "../net/api";
import { counted, durationText } from "../page/counts";
import "../page/progress-line";
import type { Studio } from "../page/studio";
import { sharedStyles } from "../page/style";
import { colour, reducedMotion } from "../page/theme";
import { MAKES, labelTakes } from "./selection-bar";
import { drawThumbnail, type ThumbnailStore } from "./thumbnails";

export interface Pile {
  name: string;
  kind: "locomotion" | "rest" | "action";
  rhythmic: boolean;
  motions: string[];
  seconds: number;
  spread: number;
}

const PICTURE = 84;
const INTERVAL = 80; // milliseconds between frames
const FINENESS = { finer: 0.5, usual: 0.7, coarser: 1.0 };
type Fineness = keyof typeof FINENESS;

/** Fires "pile" with a `Pile` that was opened. */
@customElement("loom-piles")
export class Piles extends LitElement {
  @property({ attribute: false }) studio!: Studio;
  @property({ attribute: false }) store!: ThumbnailStore;
  @state() private piles: Pile[] | null = null;
  @state() private job: Job | null = null;
  @state() private fineness: Fineness = "usual";
  private timer = 0;
  private of = ""; // the takes that were sorted

  static styles = [
    sharedStyles,
    css`
    :host { display: flex; flex-direction: column; gap: 8px; min-height: 0; overflow-y: auto; }
    ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 6px; }
    li { display: grid; grid-template-columns: ${PICTURE}px minmax(0, 1fr); gap: 2px 10px; align-items: center; background: var(--card);
      border: 1px solid var(--line); border-radius: 7px; padding: 6px 8px; }
    canvas { grid-row: 1 / span 2; width: ${PICTURE}px; height: ${PICTURE}px; }
    .open { border: 0; background: none; padding: 2px 0; text-align: left; white-space: normal; font-weight: 600; overflow-wrap: anywhere; }
    .make { grid-column: 1 / -1; gap: 4px; font-size: 12px; }
    .facts { font-size: 12px; } .row button { font-size: 12px; padding: 3px 8px; }
    select { font-size: 12px; padding: 2px 6px; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.timer = window.setInterval(() => this.draw(), INTERVAL);
    this.studio.addEventListener("library", this.sort);
    this.sort();
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.timer);
    this.studio.removeEventListener("library", this.sort);
  }

  /** Sort all takes, unless these were sorted before. */
  private readonly sort = (): void => {
    const { motions } = this.studio.library;
    const of = `${this.fineness}: ${motions.map((row) => row.name).join("\n")}`;
    if (of === this.of || motions.length < 2) return;
    this.of = of;
    void this.studio.attempt(async () => {
      const job = await send("post", "clusters", { body: { fineness: FINENESS[this.fineness] } });
      const piles = await finished(job as Job<Pile[]>, (now) => (this.job = now));
      if (of === this.of) this.piles = piles;
    });
  };

  private draw(): void {
    if (document.hidden) return;
    const seconds = reducedMotion() ? 0 : performance.now() / 1000;
    for (const canvas of this.renderRoot.querySelectorAll("canvas")) {
      const figure = this.store.get(canvas.dataset.name!);
      if (figure) drawThumbnail(canvas.getContext("2d")!, figure, seconds, canvas.width, colour("figure"));
    }
  }

  private open(pile: Pile): void {
    this.studio.pick(pile.motions, pile.name);
    this.dispatchEvent(new CustomEvent<Pile>("pile", { detail: pile }));
  }

  private pile(pile: Pile) {
    const { library } = this.studio;
    const held = new Set(pile.motions);
    const rows = library.motions.filter((row) => held.has(row.name));
    const labelled = pile.name && rows.every((row) => row.labels.includes(pile.name));
    const title = pile.name || pile.motions[0];
    return html`<li><canvas data-name=${pile.motions[0]} width=${PICTURE * 2} height=${PICTURE * 2} aria-hidden="true"></canvas>
      <button class="open" aria-label="Open the pile ${title}, ${counted(pile.motions.length, "take")}" @click=${() => this.open(pile)}>${title}</button>
      <div class="row"><span class="faint facts">${counted(pile.motions.length, "take")}, ${durationText(pile.seconds)}, ${pile.kind}${pile.rhythmic ? ", with a rhythm" : ""}</span>
        ${
          labelled
            ? html`<span class="faint facts">labelled</span>`
            : pile.name
              ? html`<button class="label" aria-label="Label all: ${pile.name}, ${counted(pile.motions.length, "take")}" @click=${() => void this.studio.attempt(() => labelTakes(this.studio, pile.motions, pile.name))}>Label all</button>`
              : nothing
        }</div>
      <div class="row make" role="group" aria-label="Make of ${title}">${MAKES.map(
        ({ id, short, does, go }) =>
          html`<button class=${id} title=${does} aria-label="${short} these: ${title}" @click=${() => {
            this.studio.pick(pile.motions, pile.name);
            go(this.studio, pile.motions.join(","));
          }}>${short}</button>`,
      )}</div></li>`;
  }

  render() {
    const { piles } = this;
    return html`<div class="row"><span class="faint" role="status" id="pile-count">${piles ? `${counted(piles.length, "pile")} of takes that are alike; names from what they show` : this.job ? "" : "sorting takes…"}</span>
        <select aria-label="Size of the piles" @change=${(event: Event) => {
          this.fineness = (event.target as HTMLSelectElement).value as Fineness;
          this.sort();
        }}>${Object.keys(FINENESS).map((one) => html`<option ?selected=${one === this.fineness}>${one}</option>`)}</select></div>
      <loom-progress .job=${this.job}></loom-progress>
      <ul aria-label="Piles">${piles?.map((one) => this.pile(one))}</ul>`;
  }
}
