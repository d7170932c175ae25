// Clusters of similar takes, computed by the server, each with a proposed name.

import { css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { finished, send, type Job } from "../net/api";
import type { Cluster } from "../net/types";
import { counted, durationText } from "../page/counts";
import "../page/progress-line";
import { StudioElement } from "../page/studio-element";
import { sharedStyles } from "../page/style";
import { color, reducedMotion } from "../page/theme";
import { MAKES, labelTakes } from "./selection-bar";
import { drawThumbnail, type ThumbnailStore } from "./thumbnails";

const PICTURE = 84;
const INTERVAL = 80; // milliseconds between frames
const FINENESS = { finer: 0.5, usual: 0.7, coarser: 1.0 };
type Fineness = keyof typeof FINENESS;

/** Fires "cluster" with a `Cluster` that was opened. */
@customElement("loom-clusters")
export class Clusters extends StudioElement {
  @property({ attribute: false }) store!: ThumbnailStore;
  @state() private clusters: Cluster[] | null = null;
  @state() private named = false;
  @state() private job: Job | null = null;
  @state() private fineness: Fineness = "usual";
  private timer = 0;
  private of = ""; // the grouped takes

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
    this.watch(["library"], this.sort);
    this.sort();
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.timer);
  }

  /** Group all takes, unless that was already done. */
  private readonly sort = (): void => {
    const { motions } = this.studio.library;
    const of = `${this.fineness}: ${motions.map((row) => row.name).join("\n")}`;
    if (of === this.of || motions.length < 2) return;
    this.of = of;
    void this.studio.attempt(async () => {
      this.named = false;
      // Names take most of the time, the first time, so the clusters are shown before.
      for (const names of [false, true]) {
        const job = await send("post", "clusters", {
          body: { settings: { fineness: FINENESS[this.fineness], names } },
        });
        const clusters = await finished(job, (now) => (this.job = now));
        if (of !== this.of) return;
        [this.clusters, this.named] = [clusters, names];
      }
    });
  };

  private draw(): void {
    if (document.hidden) return;
    const seconds = reducedMotion() ? 0 : performance.now() / 1000;
    for (const canvas of this.renderRoot.querySelectorAll("canvas")) {
      const figure = this.store.get(canvas.dataset.name!);
      if (figure) drawThumbnail(canvas.getContext("2d")!, figure, seconds, canvas.width, color("figure"));
    }
  }

  private open(cluster: Cluster): void {
    this.studio.pick(cluster.motions, cluster.name);
    this.dispatchEvent(new CustomEvent<Cluster>("cluster", { detail: cluster }));
  }

  private cluster(cluster: Cluster) {
    const { library } = this.studio;
    const held = new Set(cluster.motions);
    const rows = library.motions.filter((row) => held.has(row.name));
    const labeled = cluster.name && rows.every((row) => row.labels.includes(cluster.name));
    const title = cluster.name || cluster.motions[0];
    return html`<li><canvas data-name=${cluster.motions[0]} width=${PICTURE * 2} height=${PICTURE * 2} aria-hidden="true"></canvas>
      <button class="open" aria-label="Open the cluster ${title}, ${counted(cluster.motions.length, "take")}" @click=${() => this.open(cluster)}>${title}</button>
      <div class="row"><span class="faint facts">${counted(cluster.motions.length, "take")}, ${durationText(cluster.seconds)}${cluster.kind && `, ${cluster.kind}`}${cluster.rhythmic ? ", with a rhythm" : ""}</span>
        ${
          labeled
            ? html`<span class="faint facts">labeled</span>`
            : cluster.name
              ? html`<button class="label" aria-label="Label all: ${cluster.name}, ${counted(cluster.motions.length, "take")}" @click=${() => void this.studio.attempt(() => labelTakes(this.studio, cluster.motions, cluster.name))}>Label all</button>`
              : nothing
        }</div>
      <div class="row make" role="group" aria-label="Create from ${title}">${MAKES.map(
        ({ id, short, does, go }) =>
          html`<button class=${id} title=${does} aria-label="${short} these: ${title}" @click=${() => {
            this.studio.pick(cluster.motions, cluster.name);
            go(this.studio, cluster.motions.join(","));
          }}>${short}</button>`,
      )}</div></li>`;
  }

  render() {
    const { clusters } = this;
    return html`<div class="row"><span class="faint" role="status" id="cluster-count">${clusters ? `${counted(clusters.length, "cluster")} of similar takes${this.named ? ", named after their captions" : "; their names follow"}` : this.job ? "" : "grouping takes…"}</span>
        <select aria-label="Size of the clusters" @change=${(event: Event) => {
          this.fineness = (event.target as HTMLSelectElement).value as Fineness;
          this.sort();
        }}>${Object.keys(FINENESS).map((one) => html`<option ?selected=${one === this.fineness}>${one}</option>`)}</select></div>
      <loom-progress .job=${this.job}></loom-progress>
      <ul aria-label="Clusters">${clusters?.map((one) => this.cluster(one))}</ul>`;
  }
}
