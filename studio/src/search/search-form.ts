// The form of search settings, from their schema. Fires "settings" with changes.

import { css, html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { settingsFields } from "../net/settings-schema";
import type { SearchMenu } from "../net/types";
import { measureChoices } from "../page/measure-names";
import { StudioElement } from "../page/studio-element";
import { sharedStyles } from "../page/style";
import "../page/take-picker";
import { restricted, valuesOf, withValues, type Field, type Given } from "../settings/fields";
import type { Choices } from "../settings/settings-form";
import "../settings/settings-form";
import type { Slider } from "../settings/slider";
import { listOf, methodOf, unitOf, type Settings, type Verb } from "./search-settings";

const SHOWN = ["method", "features", "distance", "k", "radius", "rank", "max"];
const MORE = ["label", "exclude_query"];
const MORE_OF_METHODS = ["steps", "weights"];
const LABELS = {
  k: "neighbors k",
  max: "max matches",
  max_distance: "maximum distance",
  "expansion.join_distance": "maximum distance",
  rank: "order by",
  mirror: "also mirrored",
  steps: "alignment steps",
  weights: "joint weights",
  label: "only these labels",
  exclude_query: "exclude the query itself",
};
const LARGE = 150_000; // number of frames from which a search without features is slow
const TYPICAL: Record<string, number> = { m: 0.3 }; // greatest distance of the slider without matches, by unit
const TYPICAL_OTHER = 30;

@customElement("loom-search-form")
export class SearchForm extends StudioElement {
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
    :host { display: grid; gap: var(--space-2); grid-template-columns: minmax(0, 1fr); }
    p { margin: 0; } summary { color: var(--faint); } details > * { margin-top: var(--space-2); }
    .takes { display: grid; gap: var(--space-2); }
    .warn { color: var(--warn); font-size: var(--text-small); }
  `,
  ];

  private set(changes: Given): void {
    this.dispatchEvent(new CustomEvent("settings", { detail: changes }));
  }

  private get verb(): Verb {
    return this.family ? "family" : "search";
  }

  /** Setting of the threshold: maximum distance of matches, or between members. */
  private get limited(): string {
    return this.family ? "expansion.join_distance" : "max_distance";
  }

  /** These fields, with those options of the methods that the form shows. */
  private fields(names: readonly string[]): Field[] {
    const methods = new Map(this.menu!.methods.map((one) => [one.name, one]));
    return restricted(settingsFields(this.verb), names)
      .filter((field) => field.name !== "mirror" || methodOf(this.menu!, this.settings).mirrors)
      .map((field) => ({
        ...field,
        variants: field.variants
          .filter(({ name }) => !this.family || !methods.get(name)?.whole_clips)
          .map((one) => ({
            ...one,
            fields: one.fields.filter((f) => f.name !== "k" || !methods.get(one.name)?.whole_clips),
          })),
      }));
  }

  /** The options of the chosen method with these names. */
  private options(names: readonly string[]): Field[] {
    const [method] = this.fields(["method", ...names]);
    return method?.variants.find((one) => one.name === this.settings.method)?.fields ?? [];
  }

  /** Maximum of the threshold: beyond all matches. */
  private get farthest(): number {
    const typical = TYPICAL[unitOf(this.menu!, this.settings)] ?? TYPICAL_OTHER;
    const least = this.family || !this.distances.length ? typical : 0.01 * typical;
    const far = Math.max(least, Number(this.settings[this.limited] ?? 0), ...(this.family ? [] : this.distances));
    const step = 10 ** Math.floor(Math.log10(far)) / 5;
    return Math.ceil(far / step + 1e-9) * step;
  }

  private get sliders(): Record<string, Slider> {
    const unit = unitOf(this.menu!, this.settings);
    const far = this.farthest;
    const chosen = this.chosen === null ? "chosen" : `${this.chosen.toPrecision(3)} ${unit} (chosen)`;
    return {
      k: {
        least: 4,
        most: 4096,
        ratios: true,
        usual: this.menu!.defaults.k,
        text: (k) => String(k ?? this.menu!.defaults.k),
      },
      max: { least: 1, most: 500, ratios: true, usual: 100, text: (count) => String(count ?? "all") },
      radius: {
        least: 0.005,
        most: 0.4,
        step: 0.005,
        open: true,
        text: (far) => (far === null ? "any" : `${far.toFixed(3)} m`),
      },
      [this.limited]: {
        least: 0,
        most: far,
        open: !this.family,
        usual: this.family ? (this.chosen ?? 0.08) : far,
        text: (limit) => (limit === null ? (this.family ? chosen : "any") : `${limit.toPrecision(3)} ${unit}`),
        marks: this.family ? undefined : this.distances,
      },
    };
  }

  private get choices(): Choices {
    const { features, distances, labels } = this.menu!;
    return {
      features: measureChoices(features, this.settings.method === "dtw" ? distances : []),
      distance: measureChoices(distances),
      label: Object.fromEntries(labels.map((one) => [one.name, ""])),
    };
  }

  private form(fields: Field[]) {
    const labels = this.family ? { ...LABELS, max: "max members" } : LABELS;
    const read = ({ detail }: CustomEvent<Given>) => {
      const values = Object.entries(valuesOf(fields, detail));
      const changes: Given = Object.fromEntries(
        values.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(this.settings[name])),
      );
      const other = "method" in changes; // with other distances
      const { mirrors } = methodOf(this.menu!, { ...this.settings, ...changes });
      this.set({
        ...changes,
        ...(other && { [this.limited]: null }),
        ...(!mirrors && this.settings.mirror && { mirror: false }),
      });
    };
    return html`<loom-settings-form .fields=${fields} .given=${withValues(fields, {}, this.settings)} .labels=${labels}
      .choices=${this.choices} .sliders=${this.sliders} @settings=${read}></loom-settings-form>`;
  }

  private takes(name: "only" | "exclude", title: string) {
    return html`<loom-take-picker .studio=${this.studio} .names=${listOf(this.settings[name]).join(",")} label=${title}
      @takes=${(event: CustomEvent<string[]>) => this.set({ [name]: event.detail })}></loom-take-picker>`;
  }

  render() {
    const { menu, settings } = this;
    if (!menu) return html`<span class="faint">loading the search methods…</span>`;
    const slow =
      settings.method === "dtw" && !menu.features.some((one) => one.name === settings.features) && this.frames > LARGE;
    return html`${this.form(this.fields([...SHOWN, this.limited, "mirror"]))}
      ${slow ? html`<p class="warn">A frame distance compares all frames for every query, which is slow in a library of this size.</p>` : nothing}
      <details ?open=${[settings.label, settings.only, settings.exclude].some((one) => listOf(one).length)}>
        <summary>more settings</summary>${this.form([...this.fields(MORE), ...this.options(MORE_OF_METHODS)])}
        <div class="takes">${this.takes("only", "only these takes (default: all)")}${this.takes("exclude", "exclude these takes (default: none)")}</div></details>`;
  }
}
