// The form of search settings: method, features, neighbors, threshold, labels. Fires "settings" with changes.

import { LitElement, css, html } from "lit";
import { customElement, property } from "lit/decorators.js";
import { settingsFields } from "../net/settings-schema";
import type { SearchMenu } from "../net/types";
import { codeChoice, measureName } from "../page/measure-names";
import { inputValue } from "../page/form-input";
import type { Studio } from "../page/studio";
import { sharedStyles } from "../page/style";
import "../page/take-picker";
import { pick, valuesOf, withValues, type Given } from "../settings/fields";
import "../settings/settings-form";
import { listOf, methodOf, unitOf, type Settings, type Verb } from "./search-settings";

const LABELS = {
  rank: "order by",
  mirror: "also mirrored",
  steps: "alignment steps",
  weights: "joint weights",
  exclude_query: "exclude the query itself",
};
const LARGE = 150_000; // number of frames from which a search without features is slow

@customElement("loom-search-form")
export class SearchForm extends LitElement {
  @property({ attribute: false }) studio!: Studio;
  @property({ attribute: false }) menu: SearchMenu | null = null;
  @property({ attribute: false }) settings!: Settings;
  /** Distances of the matches, for the marks above the threshold. */
  @property({ attribute: false }) distances: number[] = [];
  /** Whether the form is for a family. */
  @property({ type: Boolean }) family = false;
  /** Join distance that was chosen for the family, if none was given. */
  @property({ attribute: false }) chosen: number | null = null;
  /** Number of frames in the library. */
  @property({ type: Number }) frames = 0;

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; grid-template-columns: repeat(auto-fill, minmax(138px, 1fr)); gap: 8px 12px; align-items: end; }
    label > span { display: flex; justify-content: space-between; font-size: 12px; color: var(--faint); }
    label b { color: var(--ink); font-weight: 500; font-variant-numeric: tabular-nums; }
    select, input:not([type="range"]):not([type="checkbox"]) { width: 100%; }
    .two { grid-column: span 2; }
    .all { grid-column: 1 / -1; margin: 0; }
    loom-settings-form { grid-column: span 2; }
    svg { width: 100%; height: 16px; display: block; }
    details { align-self: end; padding-bottom: 4px; }
    details[open] { grid-column: 1 / -1; }
    details > div { display: grid; grid-template-columns: repeat(auto-fill, minmax(138px, 1fr)); gap: 8px 12px; padding-top: 6px; align-items: end; }
    summary { cursor: pointer; color: var(--faint); }
    .warn { color: var(--warn); font-size: 12px; }
  `,
  ];

  private set(changes: Given): void {
    this.dispatchEvent(new CustomEvent("settings", { detail: changes }));
  }

  private get verb(): Verb {
    return this.family ? "family" : "search";
  }

  /** Setting of the slider: maximum distance of matches, or between members. */
  private get limited(): string {
    return this.family ? "expansion.join_distance" : "max_distance";
  }

  /** True if the method has this option of the form; methods for whole clips do not. */
  private has(option: string): boolean {
    const method = methodOf(this.menu!, this.settings);
    if (option === "mirror" && !method.mirrors) return false;
    const own = settingsFields(this.verb).some((one) => one.name === option);
    return own || (!method.whole_clips && option in this.settings);
  }

  /** Maximum of the threshold: beyond all matches. */
  private get maxThreshold(): number {
    const unit = unitOf(this.menu!, this.settings);
    const typical = unit === "m" ? 0.3 : 30;
    const least = this.family || !this.distances.length ? typical : 0.01 * typical;
    const far = Math.max(least, Number(this.settings[this.limited] ?? 0), ...(this.family ? [] : this.distances));
    const step = 10 ** Math.floor(Math.log10(far)) / 5;
    return Math.ceil(far / step + 1e-9) * step;
  }

  private choice(name: "features" | "distance", title: string) {
    const { menu, settings } = this;
    const options = (list: { name: string }[]) =>
      list.map(
        (one) =>
          html`<option .value=${one.name} title=${one.name} ?selected=${one.name === settings[name]}>${measureName(one.name)}</option>`,
      );
    const anyDistance = name === "distance" || settings.method === "dtw";
    return html`<label><span>${title}</span><select id=${name} .value=${String(settings[name])}
      @change=${(event: Event) => this.set({ [name]: inputValue(event) })}>
      ${name === "features" ? html`<optgroup label="features, stored with the library">${options(menu!.features)}</optgroup>` : ""}
      ${anyDistance ? html`<optgroup label="frame distances">${options(menu!.distances)}</optgroup>` : ""}
    </select></label>`;
  }

  /** Plain settings of the method, as described by their schema. */
  private plain(names: string[]) {
    const shown = names.filter((name) => this.has(name));
    const fields = pick(settingsFields(this.verb), shown, this.settings);
    const given = withValues(fields, {}, this.settings);
    const read = ({ detail }: CustomEvent<Given>) => this.set(valuesOf(fields, detail));
    return html`<loom-settings-form .fields=${fields} .given=${given} .labels=${LABELS} @settings=${read}></loom-settings-form>`;
  }

  /** A slider of whole numbers on a logarithmic scale. */
  private logSlider(name: "k" | "max", title: string, least: number, most: number, fallback: number) {
    const value = Number(this.settings[name] ?? fallback);
    const place = Math.log(value / least) / Math.log(most / least);
    const read = (event: Event) => {
      const part = Number(inputValue(event));
      this.set({ [name]: Math.round(least * (most / least) ** part) });
    };
    return html`<label><span>${title}<b>${value}</b></span>
      <input id=${name} type="range" min="0" max="1" step="0.005" .value=${String(place)} @input=${read} /></label>`;
  }

  private radius() {
    const radius = this.settings.radius === null ? null : Number(this.settings.radius);
    const read = (event: Event) => {
      const value = Number(inputValue(event));
      this.set({ radius: value >= 0.4 ? null : value });
    };
    return html`<label><span>radius<b>${radius === null ? "any" : `${radius.toFixed(3)} m`}</b></span>
      <input id="radius" type="range" min="0.005" max="0.4" step="0.005" .value=${String(radius ?? 0.4)} @input=${read} /></label>`;
  }

  private threshold() {
    const given = this.settings[this.limited];
    const limit = given === null || given === undefined ? null : Number(given);
    const far = this.maxThreshold;
    const unit = unitOf(this.menu!, this.settings);
    const chosen = this.chosen === null ? "chosen" : `${this.chosen.toPrecision(3)} ${unit} (chosen)`;
    const shown = limit === null ? (this.family ? chosen : "any") : `${limit.toPrecision(3)} ${unit}`;
    const fallback = this.family ? (this.chosen ?? 0.08) : far;
    const read = (event: Event) => {
      const value = Number(inputValue(event));
      this.set({ [this.limited]: !this.family && value >= far * 0.9999 ? null : value });
    };
    const ticks = this.distances.map((one) => {
      const x = ((one / far) * 100).toFixed(2);
      return html`<svg x="${x}%" width="1.5" height="16" overflow="visible"><rect width="1.5" height="16" y="4"
        fill=${limit === null || one <= limit ? "var(--accent)" : "var(--edge)"} opacity="0.75"></rect></svg>`;
    });
    return html`<label class="two"><span>${this.family ? "maximum distance of members" : "maximum distance"}<b>${shown}</b></span>
      ${this.family ? "" : html`<svg aria-hidden="true">${ticks}</svg>`}
      <input id="max_distance" type="range" min="0" max=${far} step=${far / 200} .value=${String(limit ?? fallback)} @input=${read} /></label>`;
  }

  private takes(name: "only" | "exclude", title: string) {
    return html`<loom-take-picker class="all" .studio=${this.studio} .names=${listOf(this.settings[name]).join(",")} label=${title}
      @takes=${(event: CustomEvent<string[]>) => this.set({ [name]: event.detail })}></loom-take-picker>`;
  }

  private choose(method: string): void {
    const mirrors = this.menu!.methods.find((one) => one.name === method)?.mirrors;
    this.set({ method, [this.limited]: null, ...(mirrors ? {} : { mirror: false }) });
  }

  /** Description of a method from its schema. */
  private about(method: string): string {
    const [field] = settingsFields(this.verb, ["method"]);
    const help = field?.variants.find((one) => one.name === method)?.help ?? "";
    return help.replace(/\.$/, "");
  }

  /** The measures by their codes. */
  private codes() {
    const { menu, settings } = this;
    const names = (list: { name: string }[]) => list.map((one) => one.name);
    const change = (name: "features" | "distance") => (event: Event) => this.set({ [name]: inputValue(event) });
    const features = [...names(menu!.features), ...(settings.method === "dtw" ? names(menu!.distances) : [])];
    return html`<details id="expert"><summary>expert</summary><div>
      ${this.has("features") ? codeChoice("features", "features", features, String(settings.features), change("features")) : ""}
      ${this.has("distance") ? codeChoice("distance", "distance of the match web", names(menu!.distances), String(settings.distance), change("distance")) : ""}
    </div></details>`;
  }

  private list(name: "label", title: string, known: string[], hint: string) {
    const read = (event: Event) => {
      const typed = inputValue(event)
        .split(",")
        .map((word) => word.trim());
      this.set({ [name]: typed.filter(Boolean) });
    };
    return html`<label><span>${title}</span><input id=${name} list=${`${name}-known`} placeholder=${hint}
        .value=${listOf(this.settings[name]).join(", ")} @change=${read} />
      <datalist id=${`${name}-known`}>${known.map((one) => html`<option value=${one}></option>`)}</datalist></label>`;
  }

  render() {
    const { menu, settings } = this;
    if (!menu) return html`<span class="faint">loading the search methods…</span>`;
    const method = methodOf(menu, settings);
    const slow =
      method.name === "dtw" && !menu.features.some((one) => one.name === settings.features) && this.frames > LARGE;
    return html`
      <label class="two"><span>method</span><select id="method"
        @change=${(event: Event) => this.choose(inputValue(event))}>
        ${menu.methods
          .filter((one) => !this.family || !one.whole_clips)
          .map(
            (one) =>
              html`<option .value=${one.name} ?selected=${one.name === settings.method}>${one.name} – ${this.about(one.name)}</option>`,
          )}
      </select></label>
      ${this.has("features") ? this.choice("features", "features") : ""}
      ${this.has("distance") ? this.choice("distance", "distance of the match web") : ""}
      ${this.has("k") ? this.logSlider("k", "neighbors k", 4, 4096, menu.defaults.k) : ""}
      ${this.has("radius") ? this.radius() : ""}
      ${this.logSlider("max", this.family ? "max members" : "max matches", 1, 500, 100)}
      ${this.threshold()}
      ${this.plain(["rank", "mirror"])}
      ${slow ? html`<p class="all warn">A frame distance compares all frames for every query, which is slow in a library of this size.</p>` : ""}
      <details ?open=${[settings.label, settings.only, settings.exclude].some((one) => listOf(one).length)}>
        <summary>more settings</summary><div>
        ${this.list(
          "label",
          "only these labels",
          menu.labels.map((one) => one.name),
          "all labels",
        )}
        ${this.takes("only", "only these takes (default: all)")}
        ${this.takes("exclude", "exclude these takes (default: none)")}
        ${this.plain(["steps", "weights", "exclude_query"])}
      </div></details>
      ${this.has("features") || this.has("distance") ? this.codes() : ""}`;
  }
}
