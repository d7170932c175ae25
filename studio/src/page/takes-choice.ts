// Choice of the takes that a job uses: a label, chosen takes, or all of them.

import { css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { counted } from "./counts";
import { inputValue } from "./form-input";
import type { Studio } from "./studio";
import { StudioElement } from "./studio-element";
import { sharedStyles } from "./style";
import { namesOf } from "./take-picker";
import "./take-picker";

/** Takes as an address names them. */
export interface ChosenTakes {
  label?: string;
  /** Names with commas. */
  only?: string;
  /** "1": all takes. */
  all?: string;
}

const ALL = "\n"; // no label has a line break
const WALKS = /walk|gait|locomotion|stroll/i; // labels of takes to begin with

/** The query of the address; if it names no takes, with a label of takes that walk, if the library has one. */
export function takesToBegin(studio: Studio, query: Record<string, string>): Record<string, string> {
  if (query.label || query.only || query.all) return query;
  const label = [...studio.labels.keys()].find((one) => WALKS.test(one));
  if (!label) return query;
  studio.replaceQuery({ ...query, label });
  return studio.route.query;
}

/** Fires "choose" with `detail: ChosenTakes`. */
@customElement("loom-takes-choice")
export class TakesChoice extends StudioElement {
  @property({ attribute: false }) chosen: ChosenTakes = {};
  /** The button for chosen takes, such as "Walk with". */
  @property() verb = "Use";
  /** True if all takes of the library are a sensible choice. */
  @property({ type: Boolean }) every = false;
  @state() private picked = "";

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; gap: var(--space-2); min-width: 0; }
    select { width: 100%; min-width: 0; }
    label { font-size: var(--text-small); color: var(--faint); }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["library"]);
  }

  private choose(detail: ChosenTakes): void {
    this.dispatchEvent(new CustomEvent("choose", { detail }));
  }

  private readonly labeled = (event: Event): void => {
    const value = inputValue(event);
    if (value) this.choose(value === ALL ? { all: "1" } : { label: value });
  };

  render() {
    const { label = "", only = "", all } = this.chosen;
    const count = this.studio.library.motions.length;
    return html`<label>Takes <select id="label" @change=${this.labeled}>
        <option value="" ?selected=${!label && !all} ?disabled=${Boolean(label || all || only)}>${only ? "chosen takes" : "choose a label…"}</option>
        ${[...this.studio.labels].map(([one, number]) => html`<option value=${one} ?selected=${one === label}>${one} (${number})</option>`)}
        ${this.every ? html`<option value=${ALL} ?selected=${Boolean(all)}>all ${counted(count, "take")}</option>` : nothing}</select></label>
      <loom-take-picker .studio=${this.studio} .names=${only} label="or chosen takes"
        @takes=${(event: CustomEvent<string[]>) => (this.picked = event.detail.join(","))}></loom-take-picker>
      ${this.picked && this.picked !== only ? html`<button type="button" id="use-chosen" class="main" @click=${() => this.choose({ only: this.picked })}>${this.verb} ${counted(namesOf(this.picked).length, "take")}</button>` : nothing}`;
  }
}
