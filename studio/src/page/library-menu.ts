// Menu of the library: recent libraries, the start page, the tour, keyboard shortcuts.

import { css, html, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { getJson, type Answer } from "../net/api";
import { StudioElement } from "./studio-element";
import { sharedStyles } from "./style";

const SHOWN = 6;

@customElement("loom-library-menu")
export class LibraryMenu extends StudioElement {
  @property() name = "";
  @state() private known: Answer<"get", "libraries"> | null = null;
  @query("details") private menu!: HTMLDetailsElement;

  static styles = [
    sharedStyles,
    css`
    :host { position: relative; }
    summary { list-style: none; cursor: pointer; padding: 3px 9px; border-radius: 5px; border: 1px solid var(--line); max-width: 24ch; overflow: hidden; text-overflow: ellipsis; }
    summary::after { content: " ▾"; color: var(--faint); }
    summary:hover { border-color: var(--accent); }
    .entries { position: absolute; right: 0; top: 32px; z-index: 30; min-width: 220px; max-width: min(340px, 90vw); display: grid; gap: 2px; padding: 6px;
      background: var(--raised); border: 1px solid var(--line); border-radius: 7px; box-shadow: 0 10px 30px #0007; }
    .entries button { text-align: left; border: 0; overflow: hidden; text-overflow: ellipsis; }
    .entries button:hover, .entries button:focus-visible { background: var(--chip); }
    h3 { font-size: 12px; margin: 4px 9px 2px; font-weight: 400; }
    hr { width: 100%; border: 0; border-top: 1px solid var(--line); margin: 3px 0; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.closeMenusOutside();
  }

  private readonly toggled = (): void => {
    if (this.menu.open) void this.studio.attempt(async () => (this.known = await getJson("libraries")));
  };

  private act(work: () => unknown): void {
    this.menu.open = false;
    work();
  }

  private others() {
    const others = this.known?.libraries.filter((one) => one.place === "recent" && !one.open).slice(0, SHOWN) ?? [];
    if (!others.length) return nothing;
    return html`<h3 class="faint">Recent libraries</h3>${others.map(
      (one) =>
        html`<button data-library=${one.name} title=${one.folder} @click=${() => this.act(() => this.studio.attempt(() => this.studio.openLibrary(one.id)))}>${one.name}</button>`,
    )}<hr />`;
  }

  render() {
    return html`<details class="menu" @toggle=${this.toggled}><summary id="library" aria-label="Library ${this.name}: menu">${this.name}</summary>
      <div class="entries">${this.others()}
        ${this.known?.allowed ? html`<button id="open-another" @click=${() => this.act(() => this.studio.go("start"))}>Open or create another…</button><hr />` : nothing}
        <button id="show-tour" @click=${() => this.act(() => this.studio.showTour(true))}>Tour of the studio</button>
        <button id="show-keys" @click=${() => this.act(() => this.studio.showHelp(true))}>Keyboard shortcuts</button></div></details>`;
  }
}
