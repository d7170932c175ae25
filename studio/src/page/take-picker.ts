// Picker for takes: selected takes, open takes, or any takes found by name or label.

import { css, html, nothing, type PropertyValues } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { counted } from "./counts";
import { inputValue } from "./form-input";
import { StudioElement } from "./studio-element";
import { sharedStyles } from "./style";

const SHOWN = 200; // takes of the list
const CHIPS = 8;

/** Fires "takes" with `detail: string[]`, the names that are chosen now. */
@customElement("loom-take-picker")
export class TakePicker extends StudioElement {
  /** Initial names, separated by commas, from the address. */
  @property({ attribute: false }) names = "";
  @property() label = "takes";
  /** True to choose a single take, which is shown elsewhere, instead of several. */
  @property({ type: Boolean }) one = false;
  /** The names that are chosen now. */
  @state() value: readonly string[] = [];
  @state() private choosing = false;
  @state() private find = "";

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; gap: 5px; font-size: 12px; min-width: 0; }
    button, input, select { font-size: 12px; padding: 3px 8px; }
    .row { gap: 4px; }
    .chip { display: inline-flex; align-items: center; background: var(--chip); border-radius: 10px; padding: 0 2px 0 8px; overflow-wrap: anywhere; }
    .chip button { border: 0; background: none; padding: 0 5px; color: var(--faint); } .chip button:hover { color: var(--bad); }
    .panel { display: grid; gap: 5px; padding: 6px; border: 1px solid var(--line); border-radius: 6px; background: var(--well); }
    select { width: 100%; padding: 2px; } option { padding: 2px 6px; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["picked", "library"]);
  }

  protected willUpdate(changed: PropertyValues): void {
    if (changed.has("names")) this.value = namesOf(this.names);
  }

  private choose(names: Iterable<string>): void {
    this.value = [...new Set(names)];
    if (this.one) this.choosing = false;
    this.dispatchEvent(new CustomEvent("takes", { detail: [...this.value] }));
  }

  /** Takes that match every word of the search and are not chosen yet. */
  private get found(): string[] {
    const words = this.find.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = new Set(this.value);
    const has = (text: string, word: string) => text.toLowerCase().includes(word);
    return this.studio.library.motions
      .filter(({ name, labels }) => words.every((word) => has(name, word) || labels.some((one) => has(one, word))))
      .map((row) => row.name)
      .filter((name) => !chosen.has(name));
  }

  private readonly add = (): void => {
    const list = this.renderRoot.querySelector<HTMLSelectElement>("#found")!;
    const at = list.selectedIndex;
    if (at < 0) return;
    this.choose(this.one ? [list.value] : [...this.value, list.value]);
    if (this.one) return this.renderRoot.querySelector<HTMLButtonElement>("#choose")!.focus();
    void this.updateComplete.then(() => (list.selectedIndex = Math.min(at, list.options.length - 1)));
  };

  private open(): void {
    this.choosing = !this.choosing;
    if (this.choosing)
      void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLInputElement>("#find")!.focus());
  }

  private panel() {
    const { found } = this;
    const key = (event: KeyboardEvent) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.add();
    };
    return html`<div class="panel"><input id="find" type="search" aria-label="Find takes by name or label" placeholder="name or label" .value=${this.find}
        @input=${(event: Event) => (this.find = inputValue(event))} />
      <select id="found" size="6" aria-label="Takes: Enter or a click ${this.one ? "chooses" : "adds"} one" @click=${this.add} @keydown=${key}>
        ${found.slice(0, SHOWN).map((name) => html`<option value=${name}>${name}</option>`)}</select>
      <div class="row">${this.one ? nothing : html`<button type="button" id="add-all" ?disabled=${!found.length} @click=${() => this.choose([...this.value, ...found])}>add all ${found.length.toLocaleString("en")}</button>`}
        ${found.length > SHOWN ? html`<span class="faint">only the first ${SHOWN} are listed</span>` : nothing}</div></div>`;
  }

  render() {
    const { value, studio } = this;
    if (this.one)
      return html`<div class="row"><button type="button" id="choose" aria-expanded=${this.choosing} @click=${() => this.open()}>Choose ${this.label}…</button></div>
        ${this.choosing ? this.panel() : nothing}`;
    const picked = [...studio.picked];
    const { take = "", with: over = "" } = studio.visited.get("library")?.query ?? {};
    const open = [take, ...over.split("|")].filter(Boolean);
    const others = (id: string, names: string[], what: string) =>
      names.length && names.some((name) => !value.includes(name))
        ? html`<button type="button" id=${id} @click=${() => this.choose(names)}>${counted(names.length, what)}</button>`
        : nothing;
    return html`<div class="row" role="group" aria-label=${this.label}>
        <span class="faint">${value.length ? counted(value.length, "take") : this.label}</span>
        ${value.slice(0, CHIPS).map((name) => html`<span class="chip">${name}<button type="button" aria-label="Remove ${name}" @click=${() => this.choose(value.filter((one) => one !== name))}>×</button></span>`)}
        ${value.length > CHIPS ? html`<span class="faint">and ${value.length - CHIPS} more</span>` : nothing}</div>
      <div class="row"><button type="button" id="choose" aria-expanded=${this.choosing} @click=${() => this.open()}>Choose takes…</button>
        ${others("use-picked", picked, "selected take")}${others("open-takes", open, "open take")}
        ${value.length ? html`<button type="button" id="none" @click=${() => this.choose([])}>none</button>` : nothing}</div>
      ${this.choosing ? this.panel() : nothing}`;
  }
}

/** Names in an address, separated by commas. */
export function namesOf(text: string | undefined): string[] {
  return (text ?? "")
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
}
