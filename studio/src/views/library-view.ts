// The library: its takes, by name and label.

import { css, html } from "lit";
import { look } from "../look";
import { View } from "../view";

class LibraryView extends View {
  static properties = { ...View.properties, wanted: { state: true } };
  declare wanted: string;

  static styles = [look, css`
    ul { list-style: none; padding: 0; margin: 8px 0; }
    li { padding: 5px 6px; border-bottom: 1px solid var(--line); cursor: pointer; }
    li:hover { background: var(--raised); }
  `];

  constructor() { super(); this.wanted = ""; }

  protected routed(query: Record<string, string>): void {
    if (query.take) void this.studio.open(query.take);
  }

  render() {
    const wanted = this.wanted.toLowerCase();
    const rows = this.studio.library.motions.filter((row) =>
      [row.name, ...row.labels].some((text) => text.toLowerCase().includes(wanted)));
    return html`
      <input type="search" placeholder="name or label" aria-label="Find takes"
        @input=${(event: InputEvent) => { this.wanted = (event.target as HTMLInputElement).value; }} />
      <ul>${rows.slice(0, 200).map((row) => html`<li @click=${() => this.studio.go("library", { take: row.name })}>
        ${row.name} <span class="faint">${row.seconds.toFixed(1)} s ${row.labels.join(", ")}</span></li>`)}</ul>`;
  }
}
customElements.define("loom-library-view", LibraryView);
