// A border between two panels that can be dragged, or moved by the arrow keys.

import { LitElement, css, html } from "lit";
import { customElement, property } from "lit/decorators.js";
import { limited, limits, type Part } from "./layout";

const STEP = 16; // pixels of an arrow key
const LEAP = 96; // with Shift

/** Fires "resize" with a size in pixels, or with null to reset it. */
@customElement("loom-splitter")
export class Splitter extends LitElement {
  @property({ attribute: false }) panel: Part = "panel";
  /** Current size of the adjacent part, in pixels. */
  @property({ attribute: false }) measure: () => number = () => 0;
  /** Name of the resized part, for screen readers. */
  @property() name = "";
  private grabbed: { at: number; size: number } | null = null;

  static styles = css`
    :host { display: block; position: relative; z-index: 2; }
    :host([hidden]) { display: none; }
    div { position: absolute; touch-action: none; }
    div[aria-orientation="vertical"] { inset: 0 auto 0 -4px; width: 8px; cursor: col-resize; }
    div[aria-orientation="horizontal"] { inset: -4px 0 auto 0; height: 8px; cursor: row-resize; }
    div:hover, div:focus-visible, div.held { background: color-mix(in srgb, var(--accent) 55%, transparent); outline: none; }
    div:focus-visible { outline: 2px solid var(--cool); }
    @media (max-width: 860px) { :host { display: none; } }
  `;

  private get upright(): boolean {
    return this.panel !== "timeline";
  }

  private get whole(): number {
    return this.upright ? innerWidth : innerHeight;
  }

  private resize(size: number | null): void {
    const detail = size === null ? null : limited(this.panel, size, this.whole);
    this.dispatchEvent(new CustomEvent("resize", { detail }));
    requestAnimationFrame(() => this.requestUpdate()); // aria-valuenow, when it is laid out
  }

  private readonly down = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    (event.target as HTMLElement).setPointerCapture(event.pointerId);
    this.grabbed = { at: this.upright ? event.clientX : event.clientY, size: this.measure() };
    this.requestUpdate();
  };

  private readonly move = (event: PointerEvent): void => {
    const { grabbed } = this;
    if (!grabbed) return;
    const gone = (this.upright ? event.clientX : event.clientY) - grabbed.at;
    if (gone) this.resize(grabbed.size + (this.upright ? gone : -gone)); // a click without dragging has no effect
  };

  private readonly up = (): void => {
    this.grabbed = null;
    this.requestUpdate();
  };

  private readonly key = (event: KeyboardEvent): void => {
    const [smaller, larger] = this.upright ? ["ArrowLeft", "ArrowRight"] : ["ArrowDown", "ArrowUp"];
    const step = event.shiftKey ? LEAP : STEP;
    const [low, high] = limits(this.panel, this.whole);
    if (event.key === smaller) this.resize(this.measure() - step);
    else if (event.key === larger) this.resize(this.measure() + step);
    else if (event.key === "Home") this.resize(low);
    else if (event.key === "End") this.resize(high);
    else if (event.key === "Enter") this.resize(null);
    else return;
    event.preventDefault();
  };

  protected firstUpdated(): void {
    addEventListener("resize", () => this.requestUpdate());
    requestAnimationFrame(() => this.requestUpdate());
  }

  render() {
    const [low, high] = limits(this.panel, this.whole);
    const now = Math.min(Math.max(Math.round(this.measure()), low), high);
    return html`<div role="separator" tabindex="0" class=${this.grabbed ? "held" : ""} aria-orientation=${this.upright ? "vertical" : "horizontal"}
      aria-label=${this.name} aria-valuemin=${low} aria-valuemax=${high} aria-valuenow=${now} aria-valuetext="${now} pixels"
      title="Drag or use the arrow keys; double-click or Enter resets the size"
      @pointerdown=${this.down} @pointermove=${this.move} @pointerup=${this.up} @pointercancel=${this.up}
      @dblclick=${() => this.resize(null)} @keydown=${this.key}></div>`;
  }
}
