// The movement transition graph: nodes of similar movements, edges with their likelihood.

import { css, html, svg } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { motionFrom, wornQuery } from "../motion/motion";
import type { MovementEdge, MovementGraphData, MovementNode } from "../net/types";
import { finished, getJson, send, sendForArrays, type Body, type Job } from "../net/api";
import { shellWord } from "../page/command-line";
import { counted } from "../page/counts";
import { inputValue } from "../page/form-input";
import "../page/progress-line";
import { StudioElement } from "../page/studio-element";
import { sharedStyles } from "../page/style";
import { shortName } from "../search/match-card";

const SIZE = 460;
const RING = 166;

@customElement("loom-movement-graph")
export class MovementGraph extends StudioElement {
  @property() name = "";
  @state() private saved: string[] = [];
  @state() private graph: MovementGraphData | null = null;
  @state() private job: Job | null = null;
  @state() private from = ""; // the chosen node, or the source of the chosen edge
  @state() private to = "";
  /** Whether the chosen node is being renamed. */
  @state() private renaming = false;

  @query("#label") private labelSelect!: HTMLSelectElement;
  @query("#meter") private meterInput!: HTMLInputElement;
  @query("#keep") private nameInput!: HTMLInputElement;
  @query("#renamed") private renameInput!: HTMLInputElement;
  @query("#other") private targetSelect!: HTMLSelectElement;

  static styles = [
    sharedStyles,
    css`
    svg { width: 100%; max-height: 54vh; background: var(--well); border-radius: 6px; display: block; }
    .edge { fill: none; stroke: var(--accent); cursor: pointer; } .edge.chosen { stroke: var(--mark); }
    .hit { fill: none; stroke: transparent; stroke-width: 12; cursor: pointer; }
    .node circle { fill: var(--cool); cursor: pointer; } .node.chosen circle { fill: var(--mark); }
    .node { outline: none; } .node:focus-visible circle { stroke: var(--mark); stroke-width: 3; }
    .node text { fill: var(--on-accent); font-size: 12px; text-anchor: middle; dominant-baseline: central; pointer-events: none; font-weight: 600; }
    .node .count { font-size: 9px; font-weight: 400; }
    .part { display: grid; grid-template-columns: minmax(52px, auto) 1fr 52px; gap: 8px; align-items: center; }
    section { margin: 10px 0; } .box { background: var(--well); border-radius: 6px; padding: 8px 12px; }
    #likely { width: 90px; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    void this.list();
    this.watch(["artifacts"], this.again);
  }

  /** A choreography was saved or edited, here or in another window. */
  private readonly again = (): void => {
    void this.list();
    if (this.name) void this.studio.attempt(() => this.read());
  };

  protected willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("name")) void this.open();
  }

  private list(): Promise<boolean> {
    return this.studio.attempt(async () => (this.saved = await getJson("movements")));
  }

  private async open(): Promise<void> {
    this.from = this.to = "";
    this.renaming = false;
    if (this.name) await this.studio.attempt(() => this.read());
    else this.graph = null;
  }

  private async read(): Promise<void> {
    this.graph = await getJson("movements/{name}", { path: { name: this.name } });
  }

  private go(name: string): void {
    this.studio.go("graph", { ...this.studio.route.query, show: "movements", steps: name || undefined });
  }

  private cut(event: Event): void {
    event.preventDefault();
    const label = this.labelSelect.value;
    const meter = Number(this.meterInput.value) || null;
    const name = this.nameInput.value.trim() || label;
    void this.studio.attempt(async () => {
      const job = await send("post", "movements", { body: { name, settings: { label: [label], meter } } });
      await finished(job, (now) => (this.job = now));
      await this.list();
      if (name === this.name) await this.open();
      else this.go(name);
    });
  }

  private dance(...nodes: string[]): Promise<boolean> {
    return this.studio.attempt(async () => {
      const message = await sendForArrays("movements/{name}/dance", {
        path: { name: this.name },
        body: { nodes },
        query: wornQuery(),
      });
      this.studio.show([{ motion: motionFrom(message) }]);
      this.studio.stage.clock.play();
    });
  }

  private choose(from: string, to = ""): void {
    this.from = from;
    this.to = to;
    this.renaming = false;
    void (to ? this.dance(from, to) : this.dance(from));
  }

  private edit(change: Body<"movements/{name}/edits">): Promise<boolean> {
    return this.studio.attempt(
      async () =>
        (this.graph = await send("post", "movements/{name}/edits", { path: { name: this.name }, body: change })),
    );
  }

  private async rename(event: Event): Promise<void> {
    event.preventDefault();
    const name = this.renameInput.value.trim();
    if (name && name !== this.from) {
      if (!(await this.edit({ action: "rename", source: this.from, target: name }))) return;
      this.from = name;
      this.to = "";
    }
    this.renaming = false;
  }

  /** A button, or the form, to rename the chosen node. */
  private renameForm() {
    if (!this.renaming) return html`<button id="rename" @click=${() => this.startRenaming()}>Rename</button>`;
    const cancel = (event: KeyboardEvent) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        this.renaming = false;
      }
    };
    return html`<form class="row" @submit=${this.rename}><input id="renamed" aria-label="New name of this node" maxlength="60"
      .value=${this.from} @keydown=${cancel} /><button>Rename</button></form>`;
  }

  private async startRenaming(): Promise<void> {
    this.renaming = true;
    await this.updateComplete;
    this.renameInput.select();
  }

  private place(index: number): [number, number] {
    const angle = (index / this.graph!.nodes.length) * 2 * Math.PI - Math.PI / 2;
    return [SIZE / 2 + RING * Math.cos(angle), SIZE / 2 + RING * Math.sin(angle)];
  }

  private radius(node: MovementNode): number {
    return Math.min(14 + 3 * Math.sqrt(node.members.length), 30);
  }

  /** A curve from circle to circle, bent so that both directions are visible. */
  private curve(edge: MovementEdge): string {
    const { nodes } = this.graph!;
    const at = nodes.findIndex((one) => one.name === edge.from);
    const to = nodes.findIndex((one) => one.name === edge.to);
    const [x0, y0] = this.place(at);
    const [x1, y1] = this.place(to);
    if (at === to) {
      const away = Math.hypot(x0 - SIZE / 2, y0 - SIZE / 2);
      const [ux, uy] = [(x0 - SIZE / 2) / away, (y0 - SIZE / 2) / away];
      const r = this.radius(nodes[at]);
      return `M${x0 + ux * r * 0.7 - uy * r * 0.7},${y0 + uy * r * 0.7 + ux * r * 0.7} c${ux * 34 - uy * 20},${uy * 34 + ux * 20} ${ux * 34 + uy * 20 + uy * r * 1.4},${uy * 34 - ux * 20 - ux * r * 1.4} ${uy * r * 1.4},${-ux * r * 1.4}`;
    }
    const length = Math.hypot(x1 - x0, y1 - y0);
    const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
    const bend = 0.14 * length;
    const [mx, my] = [(x0 + x1) / 2 - uy * bend, (y0 + y1) / 2 + ux * bend];
    const end = (x: number, y: number, r: number) => {
      const d = Math.hypot(mx - x, my - y);
      return [x + ((mx - x) / d) * r, y + ((my - y) / d) * r];
    };
    const [ax, ay] = end(x0, y0, this.radius(nodes[at]));
    const [bx, by] = end(x1, y1, this.radius(nodes[to]) + 7);
    return `M${ax},${ay} Q${mx},${my} ${bx},${by}`;
  }

  private picture() {
    const { nodes, edges } = this.graph!;
    return html`<svg viewBox="0 0 ${SIZE} ${SIZE}" role="group" aria-label="Movement transition graph">
      <defs><marker id="tip" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 8,4 0,8z" fill="var(--accent)" /></marker></defs>
      ${edges.map((edge) => {
        const path = this.curve(edge);
        const chosen = edge.from === this.from && edge.to === this.to;
        return svg`
        <path class="edge ${chosen ? "chosen" : ""}" d=${path} stroke-width=${1 + 5 * edge.likelihood} opacity=${this.from && !chosen && edge.from !== this.from ? 0.28 : 0.35 + 0.65 * edge.likelihood} marker-end="url(#tip)" />
        <path class="hit" d=${path} data-edge=${`${edge.from}→${edge.to}`} @click=${() => this.choose(edge.from, edge.to)}><title>${edge.from} → ${edge.to}: ${(100 * edge.likelihood).toFixed(0)} %</title></path>`;
      })}
      ${nodes.map((node, index) => {
        const [x, y] = this.place(index);
        return svg`
        <g class="node ${node.name === this.from && !this.to ? "chosen" : ""}" tabindex="0" role="button" aria-label=${`${node.name}, ${node.members.length} movements`}
          @click=${() => this.choose(node.name)} @keydown=${(event: KeyboardEvent) => this.key(event, node)}>
          <circle cx=${x} cy=${y} r=${this.radius(node)}><title>${[node.name, ...node.members].join("\n")}</title></circle><text x=${x} y=${y - 4}>${shortName(node.name, 9)}</text>
          <text class="count" x=${x} y=${y + 8}>${node.members.length} ×</text></g>`;
      })}</svg>`;
  }

  private key(event: KeyboardEvent, node: MovementNode): void {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(node.name);
  }

  private chosen() {
    const { nodes, edges } = this.graph!;
    if (!this.from)
      return html`<p class="faint">Click a node to play its movement, or an arrow to play both movements in sequence.</p>`;
    const out = edges.filter((edge) => edge.from === this.from).sort((a, b) => b.likelihood - a.likelihood);
    const node = nodes.find((one) => one.name === this.from);
    const likely = edges.find((edge) => edge.from === this.from && edge.to === this.to)?.likelihood;
    const set = (target: string, likelihood: number) =>
      this.edit({ action: "connect", source: this.from, target, likelihood });
    const lib = this.studio.library.path;
    return html`<div class="box"><b>${this.from}</b> <span class="faint">${counted(node?.members.length ?? 0, "movement")}; followed by</span>
      ${out.map(
        (
          edge,
        ) => html`<div class="part"><button aria-pressed=${edge.to === this.to} @click=${() => this.choose(edge.from, edge.to)}>${edge.to}</button>
        <input type="range" min="0.01" max="1" step="0.01" .value=${String(edge.likelihood)} aria-label=${`Likelihood of ${edge.to} after ${edge.from}`}
          @change=${(e: Event) => set(edge.to, Number(inputValue(e)))} />
        <span>${(100 * edge.likelihood).toFixed(0)} %</span></div>`,
      )}
      <div class="row" style="margin-top:8px">
        <button id="remove-edge" ?disabled=${likely === undefined} @click=${() => this.edit({ action: "remove", source: this.from, target: this.to })}>Remove ${this.from} → ${this.to || "…"}</button>
        <select id="other" aria-label="Node to connect">${nodes.map((one) => html`<option ?selected=${one.name === this.to}>${one.name}</option>`)}</select>
        <button id="connect" @click=${() => {
          const target = this.targetSelect.value;
          this.to = target;
          void set(target, 0.25);
        }}>Connect</button>
        ${this.renameForm()}</div></div>
      ${
        this.to
          ? html`<loom-code
        cli=${likely !== undefined ? `motionloom movements ${shellWord(lib)} --saved ${shellWord(this.name)} --add ${shellWord(`${this.from}:${this.to}:${likely.toFixed(3)}`)} --name ${shellWord(this.name)}` : `motionloom movements ${shellWord(lib)} --saved ${shellWord(this.name)} --remove ${shellWord(`${this.from}:${this.to}`)} --name ${shellWord(this.name)}`}></loom-code>`
          : ""
      }`;
  }

  render() {
    const labels = [...this.studio.labels.keys()];
    const first = labels.find((one) => /dance|waltz/.test(one));
    return html`<form class="row" @submit=${this.cut}>
        <select id="steps" aria-label="Saved choreographies" @change=${(e: Event) => this.go(inputValue(e))}>
          <option value="">${this.saved.length ? "choose a saved choreography" : "no saved choreographies"}</option>${this.saved.map((one) => html`<option ?selected=${one === this.name}>${one}</option>`)}</select>
        <span class="faint">or cut takes with the label</span><select id="label" aria-label="Label">${labels.map((one) => html`<option ?selected=${one === first}>${one}</option>`)}</select>
        <input id="meter" type="number" min="1" max="16" placeholder="beats" style="width:76px" aria-label="Beats per movement" />
        <input id="keep" placeholder="name" style="width:110px" aria-label="Name of the choreography" />
        <button class="main" ?disabled=${this.job !== null}>Cut movements</button></form>
      <loom-progress .job=${this.job}></loom-progress>
      ${
        this.graph
          ? html`<p><b>${this.graph.nodes.reduce((sum, node) => sum + node.members.length, 0)}</b> movements of ${this.graph.meter} beats in <b>${this.graph.nodes.length}</b> nodes,
          ${this.graph.edges.length} transitions</p>${this.picture()}<section>${this.chosen()}</section>`
          : html`<p class="faint">Dances are cut into movements at their beats. Here you can edit which movements may follow each other.</p>`
      }`;
  }
}
