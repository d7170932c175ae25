// The labels of one take, to be changed.

import { LitElement, css, html } from "lit";
import { send } from "../net/api";
import { look } from "../page/style";
import type { Row, Studio } from "../page/studio";

class TakeLabels extends LitElement {
  static properties = { studio: { attribute: false }, row: { attribute: false }, known: { attribute: false } };
  declare studio: Studio;
  declare row: Row;
  declare known: string[];

  static styles = [look, css`
    :host { display: flex; flex-wrap: wrap; gap: 5px; align-items: center; font-size: 12px; }
    .chip { display: inline-flex; align-items: center; background: #303844; border-radius: 10px; padding: 1px 3px 1px 9px; }
    .chip button { border: 0; background: none; padding: 0 5px; color: var(--faint); }
    .chip button:hover { color: var(--bad); }
    input { width: 110px; padding: 2px 8px; border-radius: 10px; font-size: 12px; }
  `];

  private async keep(labels: string[]): Promise<void> {
    try {
      const kept = await send<{ labels: string[] }>("PUT", `library/labels/${encodeURIComponent(this.row.name)}`, { labels });
      this.studio.relabel(this.row.name, kept.labels);
    } catch (error) { this.studio.say(error); }
  }

  private readonly add = (event: Event): void => {
    const input = event.target as HTMLInputElement, label = input.value.trim();
    input.value = "";
    if (label && !this.row.labels.includes(label)) void this.keep([...this.row.labels, label]);
  };

  render() {
    return html`${this.row.labels.map((label) => html`<span class="chip">${label}<button aria-label="Remove the label ${label}"
        @click=${() => this.keep(this.row.labels.filter((one) => one !== label))}>×</button></span>`)}
      <input list="known" placeholder="add a label" aria-label="Add a label" @change=${this.add} />
      <datalist id="known">${this.known.map((label) => html`<option value=${label}></option>`)}</datalist>`;
  }
}
customElements.define("loom-take-labels", TakeLabels);
