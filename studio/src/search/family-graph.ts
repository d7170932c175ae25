// The match graph: a figure at every node, strong lines on the shortest paths to the query.

import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent } from "d3-zoom";
import { LitElement, css, html, svg, type PropertyValues } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import type { Figure } from "../motion/aligned";
import type { FamilyEdge, FamilyNode } from "../net/types";
import { sharedStyles } from "../page/style";
import { COOL, WARM, anchorOf, viewOf } from "./figure-loop";
import { shortName } from "./match-card";

const SIZE = 100; // units of the picture per unit of the layout
const RADIUS = 46;
const METER = 39; // units per meter of a figure
const FEET = 35; // units from the center of a node down to the feet
const READABLE = 0.7; // pixels per unit from which names fit next to each other
const LEAST_SCALE = 0.05; // pixels per unit
const MOST_SCALE = 8;
const MOST_WEAK = 400; // maximum number of other edges drawn, lowest cost first

@customElement("loom-family-graph")
export class FamilyGraph extends LitElement {
  @property({ attribute: false }) nodes: FamilyNode[] = [];
  @property({ attribute: false }) edges: FamilyEdge[] = [];
  @property({ attribute: false }) figures: (Figure | null)[] = [];
  /** Colors of the tiers, from the query on. */
  @property({ attribute: false }) colors: string[] = [];
  @property({ type: Number }) current = 0;
  /** Numbers of the excluded nodes. */
  @property({ attribute: false }) excluded: ReadonlySet<number> = new Set();
  @property() unit = "m";
  @state() private hovered = -1;
  /** Moment shown by the figures, 0 to 1. */
  @property({ type: Number }) moment = 0.5;
  /** Zoom and pan on top of the view that shows all nodes. */
  @state() private transform = zoomIdentity;
  @query("svg") private picture!: SVGSVGElement;
  private readonly zooming = zoom<SVGSVGElement, unknown>()
    .clickDistance(4)
    .on("zoom", ({ transform }: D3ZoomEvent<SVGSVGElement, unknown>) => (this.transform = transform));

  static styles = [
    sharedStyles,
    css`
    :host { display: block; position: relative; background: var(--stage); border: 1px solid var(--line); border-radius: 7px; overflow: hidden; }
    svg { position: absolute; inset: 26px 0 28px; width: 100%; height: calc(100% - 54px); overflow: visible; display: block;
      touch-action: none; cursor: grab; } /* room for caption and legend */
    .node { cursor: pointer; outline: none; }
    .node circle { fill: var(--panel); stroke-width: 2.5; }
    .node:hover circle, .node:focus-visible circle { fill: var(--raised); }
    .node.current circle { stroke: var(--mark); stroke-width: 4; fill: var(--raised); }
    .node.out { opacity: 0.28; }
    .node text { fill: var(--ink); text-anchor: middle; paint-order: stroke; stroke: var(--stage); stroke-width: 3px; }
    .node text.far { fill: var(--faint); font-variant-numeric: tabular-nums; }
    .edge { stroke: var(--edge); }
    .edge.way { stroke: var(--faint); }
    .tiers { position: absolute; left: 10px; bottom: 8px; display: flex; gap: 12px; font-size: 12px; pointer-events: none; }
    .tiers i { display: inline-block; width: 9px; height: 9px; border-radius: 50%; margin-right: 5px; }
    .caption { position: absolute; left: 10px; top: 8px; font-size: 12px; pointer-events: none; background: color-mix(in srgb, var(--stage) 80%, transparent); padding: 1px 5px; border-radius: 4px; }
    .home { position: absolute; right: 8px; top: 8px; }
  `,
  ];

  willUpdate(changed: PropertyValues): void {
    if (changed.has("nodes")) this.transform = zoomIdentity;
  }

  updated(changed: PropertyValues): void {
    if (!this.picture || !changed.has("nodes")) return;
    const fit = this.scale;
    this.zooming.scaleExtent([Math.min(LEAST_SCALE / fit, 1), Math.max(MOST_SCALE / fit, 1)]);
    select(this.picture).call(this.zooming).on("dblclick.zoom", null);
    this.showAll();
  }

  private showAll(): void {
    select(this.picture).call(this.zooming.transform, zoomIdentity);
  }

  private at(node: number): [number, number] {
    const [x, y] = this.nodes[node].place;
    return [x * SIZE, -y * SIZE];
  }

  /** The view box that shows all nodes: x, y, width, height. */
  private get box(): [number, number, number, number] {
    const places = this.nodes.map((_, number) => this.at(number));
    const margin = RADIUS + 20;
    const low = [0, 1].map((axis) => Math.min(...places.map((one) => one[axis])) - margin);
    const high = [0, 1].map((axis) => Math.max(...places.map((one) => one[axis])) + margin);
    return [low[0], low[1], high[0] - low[0], high[1] - low[1]];
  }

  private choose(node: number): void {
    this.dispatchEvent(new CustomEvent("node", { detail: node }));
  }

  private figure(number: number) {
    const figure = this.figures[number];
    if (!figure) return "";
    const { body } = figure;
    const frame = Math.round(this.moment * (figure.frames - 1));
    const view = viewOf(figure, frame, anchorOf(figure, frame));
    const place = (point: number) => {
      const [right, up] = view(point);
      return [METER * right, FEET - METER * up];
    };
    const colors = number === 0 ? COOL : WARM;
    const bones = body.bones.map(([a, b], bone) => {
      const [ax, ay] = place(a);
      const [bx, by] = place(b);
      return svg`<line x1=${ax} y1=${ay} x2=${bx} y2=${by} stroke=${colors[body.sides[bone] + 1]} stroke-width=${Math.max(1.4, body.widths[bone] * 50)} stroke-linecap="round"></line>`;
    });
    if (!body.head) return bones;
    const [ax, ay] = place(body.head[0]);
    const [bx, by] = place(body.head[1]);
    return [
      ...bones,
      svg`<circle style="fill: ${colors[1]}; stroke: none" cx=${ax + 0.6 * (bx - ax)} cy=${ay + 0.6 * (by - ay)} r="3.6"></circle>`,
    ];
  }

  private line(edge: FamilyEdge, highest: number) {
    const [ax, ay] = this.at(edge.a);
    const [bx, by] = this.at(edge.b);
    const near = 1 - edge.cost / highest;
    return svg`<line class="edge ${edge.way ? "way" : ""}" x1=${ax} y1=${ay} x2=${bx} y2=${by}
      stroke-width=${edge.way ? 1.5 + 2.5 * near : 0.8} opacity=${edge.way ? 0.9 : 0.16 + 0.3 * near}>
      <title>${edge.cost.toFixed(3)} ${this.unit}</title></line>`;
  }

  /** Pixels per unit of the picture. */
  private get scale(): number {
    const [, , width, height] = this.box;
    return this.transform.k * Math.min(this.clientWidth / width, this.clientHeight / height);
  }

  private node(one: FamilyNode, number: number) {
    const [x, y] = this.at(number);
    const color = this.colors[Math.min(one.tier, this.colors.length - 1)];
    const name = shortName(one.motion, 16);
    const words = Math.min(11 / Math.min(this.scale, 1), 17); // legible even when zoomed out
    const act = (event: KeyboardEvent) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      this.choose(number);
    };
    return svg`<g class="node ${number === this.current ? "current" : ""} ${this.excluded.has(number) ? "out" : ""}" data-node=${number}
      transform="translate(${x} ${y})" tabindex="0" role="button"
      @click=${() => this.choose(number)} @keydown=${act}
      @pointerenter=${() => (this.hovered = number)} @pointerleave=${() => (this.hovered = -1)}>
      <circle r=${RADIUS} stroke=${color}></circle>${this.figure(number)}
      ${number === 0 || this.scale > READABLE || number === this.current ? svg`<text y=${RADIUS + 14} font-size=${words}>${number === 0 ? "query" : name}</text>` : ""}
      ${number && this.scale > READABLE ? svg`<text class="far" y=${RADIUS + 26} font-size="10">${one.distance_to_query.toFixed(3)} ${this.unit}</text>` : ""}
      <title>${one.motion}:${one.start_frame}-${one.end_frame}, tier ${one.tier}</title></g>`;
  }

  private caption() {
    const number = this.hovered >= 0 ? this.hovered : this.current;
    const node = this.nodes[number];
    if (!node) return "";
    const far = number
      ? `· tier ${node.tier} · ${node.distance_to_query.toFixed(3)} ${this.unit} from the query`
      : "· the query";
    return `${node.motion}:${node.start_frame}–${node.end_frame} ${far}`;
  }

  render() {
    if (!this.nodes.length) return "";
    const highest = Math.max(1e-9, ...this.edges.map((edge) => edge.cost));
    const weak = this.edges
      .filter((edge) => !edge.way)
      .sort((a, b) => a.cost - b.cost)
      .slice(0, MOST_WEAK);
    const tiers = Math.max(...this.nodes.map((node) => node.tier));
    const edges = [...weak, ...this.edges.filter((edge) => edge.way)];
    return html`<svg viewBox=${this.box.join(" ")}><g transform=${this.transform.toString()}>
        ${edges.map((edge) => this.line(edge, highest))}
        ${this.nodes.map((one, number) => this.node(one, number))}</g></svg>
      <div class="caption">${this.caption()}</div>
      <div class="tiers">${Array.from(
        { length: Math.min(tiers, this.colors.length - 1) + 1 },
        (_, tier) => html`<span>
        <i style="background: ${this.colors[tier]}"></i>${tier ? `tier ${tier}` : "query"}</span>`,
      )}</div>
      ${this.transform === zoomIdentity ? "" : html`<button class="home" @click=${this.showAll}>show all</button>`}`;
  }
}
