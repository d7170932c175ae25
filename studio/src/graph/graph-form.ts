// Settings of a motion graph: its takes, the distance, and the threshold of transitions.

import { LitElement, css, html } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { getJson, type Answer, type Body } from "../net/api";
import { measureName } from "../page/measure-names";
import type { Studio } from "../page/studio";
import { sharedStyles } from "../page/style";
import { namesOf, type TakePicker } from "../page/take-picker";
import "../page/take-picker";

export type GraphQuery = Record<string, string | undefined>;

/** The body of a graph request, from the query of the address. */
export function graphSettings(query: GraphQuery): Body<"graphs"> {
  return {
    ...(query.within && { within: namesOf(query.within) }),
    ...(query.only && { only: namesOf(query.only) }),
    ...(query.distance && { distance: query.distance }),
    ...(query.threshold
      ? { threshold: Number(query.threshold) }
      : query.per_minute && { per_minute: Number(query.per_minute) }),
    ...(query.blend && { blend_seconds: Number(query.blend) }),
  };
}

/** Fires "build" with `detail: GraphQuery`. */
@customElement("loom-graph-form")
export class GraphForm extends LitElement {
  @property({ attribute: false }) studio!: Studio;
  @property({ attribute: false }) query: GraphQuery = {};
  @property({ type: Boolean }) busy = false;
  @state() private menu: Answer<"get", "graphs/menu"> | null = null;

  static styles = [
    sharedStyles,
    css`
    form { display: flex; gap: 8px 10px; align-items: end; flex-wrap: wrap; }
    label { font-size: 12px; color: var(--faint); }
    input, select { padding: 4px 6px; } select { width: 112px; } #distance { width: 170px; }
    input[type="number"] { width: 66px; } loom-take-picker { flex: 1 1 100%; }
  `,
  ];

  async connectedCallback(): Promise<void> {
    super.connectedCallback();
    await this.studio.attempt(async () => (this.menu = await getJson("graphs/menu")));
  }

  private submit(event: Event): void {
    event.preventDefault();
    const only = this.renderRoot.querySelector<TakePicker>("loom-take-picker")!.value.join(",") || undefined;
    const value = (id: string) => this.renderRoot.querySelector<HTMLInputElement>(`#${id}`)!.value.trim() || undefined;
    const changed = (id: string, text: string) => (value(id) === text ? undefined : value(id));
    this.dispatchEvent(
      new CustomEvent("build", {
        detail: {
          within: value("within"),
          only,
          all: value("within") || only ? undefined : "1",
          distance: changed("distance", "jrd"),
          threshold: value("threshold"),
          per_minute: changed("per_minute", "60"),
          blend: changed("blend", "0.4"),
        },
      }),
    );
  }

  render() {
    const { query, menu } = this;
    return html`<form @submit=${this.submit}>
      <label>takes with label <select id="within"><option value="">any (all takes)</option>
        ${Object.entries(menu?.labels ?? {}).map(([label, count]) => html`<option value=${label} ?selected=${label === query.within}>${label} (${count})</option>`)}</select></label>
      <loom-take-picker .studio=${this.studio} .names=${query.only ?? ""} label="or chosen takes"></loom-take-picker>
      <label>distance <select id="distance">
        ${Object.keys(menu?.distances ?? { jrd: "" }).map((one) => html`<option value=${one} title=${one} ?selected=${one === (query.distance ?? "jrd")}>${measureName(one)}</option>`)}</select></label>
      <label title="Transitions per minute of motion">per minute <input id="per_minute" type="number" min="1" step="1" .value=${query.per_minute ?? "60"} /></label>
      <label>or threshold <input id="threshold" type="number" min="0" step="any" placeholder="–" .value=${query.threshold ?? ""} /></label>
      <label>blend, s <input id="blend" type="number" min="0.1" max="5" step="0.1" .value=${query.blend ?? "0.4"} /></label>
      <button class="main" id="build" ?disabled=${this.busy}>Find transitions</button></form>`;
  }
}
