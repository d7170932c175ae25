// The one search box of the library: names, labels, words, or an example; other ways to ask are buttons next to it.

import { css, html } from "lit";
import { customElement, property } from "lit/decorators.js";
import { live } from "lit/directives/live.js";
import { inputValue } from "../page/form-input";
import type { Studio } from "../page/studio";
import { StudioElement } from "../page/studio-element";
import { sharedStyles } from "../page/style";
import { isSegment } from "../search/search-settings";

/** Another way to ask, such as showing a movement to the camera. */
export interface Ask {
  id: string;
  title: string;
  does: string;
  begin: (studio: Studio) => void;
}

/** Ways to ask other than by typing. */
export const ASKS: readonly Ask[] = [
  {
    id: "show-it",
    title: "Show it",
    does: "Show a movement to the camera, or a film, to find takes like it",
    begin: (studio) => studio.go("show"),
  },
];

/** Fires "typed" with the text at each change, and "submit" with it on Enter, unless it is an example. */
@customElement("loom-search-box")
export class SearchBox extends StudioElement {
  @property() text = "";

  static styles = [
    sharedStyles,
    css`
    :host { display: flex; gap: 6px; min-width: 0; }
    form { display: flex; flex: 1; min-width: 0; }
    input { flex: 1; min-width: 0; padding: 7px 10px; }
    button { flex: none; }
  `,
  ];

  private fire(name: "typed" | "submit", text: string): void {
    this.dispatchEvent(new CustomEvent<string>(name, { detail: text }));
  }

  private readonly submitted = (event: Event): void => {
    event.preventDefault();
    const text = this.renderRoot.querySelector("input")!.value.trim();
    if (isSegment(text, [])) this.studio.go("search", { query: text });
    else this.fire("submit", text);
  };

  render() {
    return html`<form role="search" @submit=${this.submitted}><input id="find" type="search" autocomplete="off" spellcheck="false" .value=${live(this.text)}
        placeholder="Search: name, label, “kicks high, then turns left”, or TAKE:10-60" aria-label="Search by name, label, words or example"
        @input=${(event: Event) => this.fire("typed", inputValue(event))} /></form>
      ${ASKS.map((ask) => html`<button type="button" id=${ask.id} title=${ask.does} @click=${() => ask.begin(this.studio)}>${ask.title}</button>`)}
      <slot></slot>`;
  }
}
