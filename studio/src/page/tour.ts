// The first-run tour: a few steps in a corner of the page. It is shown once and can be closed at any time.

import { css, html } from "lit";
import { customElement, state } from "lit/decorators.js";
import { StudioElement } from "./studio-element";
import { sharedStyles } from "./style";

const SEEN = "motionloom.tour"; // in the browser's storage: the tour was shown or closed

interface Step {
  title: string;
  text: string;
  /** The part of the page that the step is about, in the shadow root of the page. */
  of: string;
}

const STEPS: Step[] = [
  {
    title: "Takes",
    of: "aside",
    text: "Drop motion files or a folder anywhere on the page; they do not need labels. Type in the search box to find takes and segments by name, label or words. Similar takes are grouped, and you can label a whole group at once.",
  },
  {
    title: "The stage",
    of: "main",
    text: "This is where takes are shown. Drag to turn, scroll to zoom, press F to frame the character and Space to play. With the buttons below the character, you can save, label and download the motion.",
  },
  {
    title: "The timeline",
    of: "footer",
    text: "Drag to select a segment (or press I and O), then choose “Find like this” to search all takes for similar motion.",
  },
  {
    title: "Jobs",
    of: "nav",
    text: "Aim a motion at a target, walk along a path that you draw, dance to a song, or steer a character. The views use the takes that you selected in the library.",
  },
  {
    title: "Nothing is lost",
    of: "header",
    text: "Ctrl+Z undoes every change, even after a restart. Long computations are listed under Jobs and can be stopped. Press ? for all keyboard shortcuts. To see this tour again, open the menu with the name of the library.",
  },
];

/** True if the tour was not yet shown in this browser. */
export function tourIsNew(): boolean {
  return localStorage.getItem(SEEN) === null;
}

@customElement("loom-tour")
export class Tour extends StudioElement {
  @state() private at = 0;
  private marked: HTMLElement | null = null;
  private focused: Element | null = null; // had the focus

  static styles = [
    sharedStyles,
    css`
    :host { position: fixed; right: 18px; bottom: 18px; z-index: 40; width: min(360px, calc(100vw - 36px)); }
    div[role="dialog"] { background: var(--panel); border: 1px solid var(--accent); border-radius: 10px; padding: 14px 16px; box-shadow: 0 12px 40px #0008; }
    h2 { margin: 0 0 6px; } p { margin: 0 0 12px; }
    .row { justify-content: space-between; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.focused = document.activeElement;
    this.answers("escape", () => {
      this.leave();
      return true;
    });
    void this.updateComplete.then(() => this.show(0));
  }
  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.mark(null);
    if (this.focused instanceof HTMLElement) this.focused.focus();
  }

  private leave(): void {
    localStorage.setItem(SEEN, "seen");
    this.studio.showTour(false);
  }

  private mark(part: HTMLElement | null): void {
    if (this.marked) this.marked.style.outline = this.marked.style.outlineOffset = "";
    this.marked = part;
    if (part) Object.assign(part.style, { outline: "2px solid var(--accent)", outlineOffset: "-2px" });
  }

  private show(at: number): void {
    this.at = at;
    const root = this.getRootNode() as ShadowRoot;
    this.mark(root.querySelector<HTMLElement>(STEPS[at].of));
    this.renderRoot.querySelector<HTMLButtonElement>("#tour-next")?.focus();
  }

  render() {
    const step = STEPS[this.at];
    const last = this.at === STEPS.length - 1;
    return html`<div role="dialog" aria-labelledby="tour-title" aria-describedby="tour-text"><h2 id="tour-title">${step.title}</h2>
      <p id="tour-text" aria-live="polite">${step.text}</p>
      <div class="row"><span class="faint">${this.at + 1} of ${STEPS.length}</span><span class="row">
        <button id="tour-skip" title="Esc" @click=${() => this.leave()}>${last ? "Close" : "Skip"}</button>
        ${this.at ? html`<button id="tour-back" @click=${() => this.show(this.at - 1)}>Back</button>` : ""}
        <button id="tour-next" class="main" @click=${() => (last ? this.leave() : this.show(this.at + 1))}>${last ? "Done" : "Next"}</button></span></div></div>`;
  }
}
