// A form for settings: one labeled input per field of their schema. Fires "settings" with the values that differ from
// the defaults.

import { LitElement, css, html, nothing, svg, type TemplateResult } from "lit";
import { customElement, property } from "lit/decorators.js";
import { inputValue, isChecked } from "../page/form-input";
import { sharedStyles } from "../page/style";
import { parsed, textOf, variantOf, withValues, type Field, type Given, type Value } from "./fields";
import { ends, placeOf, valueAt, type Slider } from "./slider";

/** Values that depend on the library, such as labels and distances, with a description of each. */
export type Choices = Record<string, Record<string, string>>;

/** Id of the input of a field: its name, without that of its group. */
const idOf = ({ name }: Field) => name.split(".").at(-1)!;

@customElement("loom-settings-form")
export class SettingsForm extends LitElement {
  @property({ attribute: false }) fields: Field[] = [];
  @property({ attribute: false }) given: Given = {};
  @property({ attribute: false }) choices: Choices = {};
  /** Numbers that are chosen with sliders. */
  @property({ attribute: false }) sliders: Record<string, Slider> = {};
  /** Labels that are shorter or clearer here than those of the schema. */
  @property({ attribute: false }) labels: Record<string, string> = {};

  static styles = [
    sharedStyles,
    css`
    :host { display: flex; gap: 8px 10px; align-items: end; flex-wrap: wrap; }
    label { font-size: 12px; color: var(--faint); }
    label.check { display: flex; align-items: center; gap: 6px; padding-bottom: 5px; }
    input, select { padding: 4px 6px; } select { max-width: 170px; } input[type="number"] { width: 76px; }
    fieldset { border: 1px solid var(--line); border-radius: 6px; display: flex; gap: 8px 10px; flex-wrap: wrap; }
    legend { color: var(--faint); }
    .slider { flex: 1 1 138px; min-width: 0; } .slider.marked { flex-basis: 260px; }
    .slider span { display: flex; justify-content: space-between; gap: 8px; }
    .slider b { color: var(--ink); font-weight: 500; font-variant-numeric: tabular-nums; }
    svg { width: 100%; height: 16px; display: block; }
  `,
  ];

  /** True if all inputs are valid; otherwise the browser reports the problem. */
  reportValidity(): boolean {
    return [...this.renderRoot.querySelectorAll("input")].every((input) => input.reportValidity());
  }

  private set(field: Field, value: Value | undefined): void {
    if (value === undefined) return;
    this.given = withValues(this.fields, this.given, { [field.name]: value });
    this.dispatchEvent(new CustomEvent<Given>("settings", { detail: this.given }));
  }

  private readonly read = (field: Field) => (event: Event) => this.set(field, parsed(field, inputValue(event)));

  private select(field: Field, options: [string, string][]) {
    const value = textOf(this.given[field.name] ?? field.default);
    const all = field.optional ? [["", "–"] as const, ...options] : options;
    return html`<select id=${idOf(field)} @change=${this.read(field)}>
      ${all.map(([name, words]) => html`<option value=${name} title=${name} ?selected=${name === value}>${words}</option>`)}</select>`;
  }

  private slider(field: Field, label: string, slider: Slider) {
    const given = this.given[field.name] ?? field.default;
    const value = given === null ? null : Number(given);
    const { low, high, step } = ends(slider);
    const read = (event: Event) => this.set(field, valueAt(slider, field, Number(inputValue(event))));
    const shown = slider.text?.(value) ?? (value === null ? "any" : `${value} ${field.unit}`);
    const marks = slider.marks?.map((one) => {
      const x = ((one / slider.most) * 100).toFixed(2);
      return svg`<svg x="${x}%" width="1.5" height="16" overflow="visible"><rect width="1.5" height="16" y="4"
        fill=${value === null || one <= value ? "var(--accent)" : "var(--edge)"} opacity="0.75"></rect></svg>`;
    });
    return html`<label class="slider ${marks ? "marked" : ""}" title=${field.help}><span>${label}<b>${shown}</b></span>
      ${marks ? html`<svg aria-hidden="true">${marks}</svg>` : nothing}
      <input id=${idOf(field)} type="range" min=${low} max=${high} step=${step}
        .value=${String(placeOf(slider, value))} @input=${read} /></label>`;
  }

  private input(field: Field) {
    const value = textOf(this.given[field.name] ?? field.default);
    const known = this.choices[field.name];
    if (known && field.kind !== "list") return this.select(field, Object.entries(known));
    if (field.kind === "choice")
      return this.select(
        field,
        field.choices.map((one) => [one, one]),
      );
    if (field.kind === "method")
      return this.select(
        field,
        field.variants.map((one) => [one.name, one.help ? `${one.name} – ${one.help}` : one.name]),
      );
    if (field.kind === "integer" || field.kind === "number")
      return html`<input id=${idOf(field)} type="number" min=${field.least ?? field.above ?? nothing} max=${field.most ?? nothing}
        step=${field.kind === "integer" ? 1 : "any"} ?required=${!field.optional} placeholder="–" .value=${value} @change=${this.read(field)} />`;
    const key = idOf(field);
    const list = known ?? Object.fromEntries(field.choices.map((one) => [one, one]));
    return html`<input id=${key} list=${`${key}-known`} .value=${value} @change=${this.read(field)} />
      <datalist id=${`${key}-known`}>${Object.keys(list).map((one) => html`<option value=${one}></option>`)}</datalist>`;
  }

  private field(field: Field): TemplateResult {
    const label = this.labels[field.name] ?? field.label;
    if (field.kind === "group")
      return html`<fieldset title=${field.help}><legend>${label}</legend>${field.fields.map((one) => this.field(one))}</fieldset>`;
    const slider = this.sliders[field.name];
    if (slider) return this.slider(field, label, slider);
    if (field.kind === "check")
      return html`<label class="check" title=${field.help}><input id=${idOf(field)} type="checkbox"
        .checked=${Boolean(this.given[field.name] ?? field.default)}
        @change=${(event: Event) => this.set(field, isChecked(event))} />${label}</label>`;
    return html`<label title=${field.help}>${label}${field.unit ? `, ${field.unit}` : ""} ${this.input(field)}</label>
      ${field.kind === "method" ? variantOf(field, this.given).fields.map((one) => this.field(one)) : nothing}`;
  }

  render() {
    return this.fields.map((one) => this.field(one));
  }
}
