// Settings of a motion graph: its takes, the distance, and the threshold of transitions.

import { LitElement, css, html } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { getJson, type Answer } from "../net/api";
import { settingsFields } from "../net/settings-schema";
import type { Schema } from "../net/types";
import { measureName } from "../page/measure-names";
import type { Studio } from "../page/studio";
import { sharedStyles } from "../page/style";
import type { TakePicker } from "../page/take-picker";
import "../page/take-picker";
import { bodyOf, fromAddress, toAddress } from "../settings/fields";
import type { SettingsForm } from "../settings/settings-form";
import "../settings/settings-form";

const SHOWN = ["distance", "per_minute", "max_distance", "rules.blend_seconds"];
const LABELS = {
  per_minute: "transitions per minute",
  max_distance: "or maximum distance",
  "rules.blend_seconds": "blend",
};

export type GraphQuery = Record<string, string | undefined>;

/** The settings of a graph, from the query of the address. */
export function graphSettings(query: GraphQuery): Schema["GraphSettings"] {
  const fields = settingsFields("graph");
  const given = fromAddress(fields, query);
  if (given.max_distance) delete given.per_minute;
  return bodyOf(fields, given);
}

/** Fires "build" with `detail: GraphQuery`. */
@customElement("loom-graph-form")
export class GraphForm extends LitElement {
  @property({ attribute: false }) studio!: Studio;
  @property({ attribute: false }) query: GraphQuery = {};
  @property({ type: Boolean }) busy = false;
  /** False if the takes are chosen elsewhere. */
  @property({ attribute: false }) takes = true;
  @state() private menu: Answer<"get", "graphs/menu"> | null = null;

  static styles = [
    sharedStyles,
    css`
    form { display: flex; gap: 8px 10px; align-items: end; flex-wrap: wrap; }
    label { font-size: 12px; color: var(--faint); }
    select { width: 144px; padding: 4px 6px; } loom-take-picker { flex: 1 1 100%; }
  `,
  ];

  async connectedCallback(): Promise<void> {
    super.connectedCallback();
    await this.studio.attempt(async () => (this.menu = await getJson("graphs/menu")));
  }

  /** The takes in the form. */
  private chosen(): GraphQuery {
    const only = this.renderRoot.querySelector<TakePicker>("loom-take-picker")!.value.join(",") || undefined;
    const label = this.renderRoot.querySelector<HTMLSelectElement>("#label")!.value || undefined;
    return { label, only, all: label || only ? undefined : "1" };
  }

  private submit(event: Event): void {
    event.preventDefault();
    const form = this.renderRoot.querySelector<SettingsForm>("loom-settings-form")!;
    if (!form.reportValidity()) return;
    const { label, only, all } = this.takes ? this.chosen() : this.query;
    this.dispatchEvent(new CustomEvent("build", { detail: { label, only, all, ...toAddress(form.given) } }));
  }

  render() {
    const { query, menu } = this;
    const fields = settingsFields("graph", SHOWN);
    const distances = Object.keys(menu?.distances ?? {}).map((one) => [one, measureName(one)]);
    return html`<form @submit=${this.submit}>
      ${
        this.takes
          ? html`<label>takes with the label <select id="label"><option value="">any (all takes)</option>
        ${Object.entries(menu?.labels ?? {}).map(([label, count]) => html`<option value=${label} ?selected=${label === query.label}>${label} (${count})</option>`)}</select></label>
      <loom-take-picker .studio=${this.studio} .names=${query.only ?? ""} label="or chosen takes"></loom-take-picker>`
          : ""
      }
      <loom-settings-form .fields=${fields} .given=${fromAddress(fields, query)} .labels=${LABELS}
        .choices=${menu ? { distance: Object.fromEntries(distances) } : {}}></loom-settings-form>
      <button class="main" id="build" ?disabled=${this.busy}>Find transitions</button></form>`;
  }
}
