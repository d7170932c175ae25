// What every view is: an element that is given the studio and follows its route.

import { LitElement } from "lit";
import { property } from "lit/decorators.js";
import type { Studio } from "./studio";

export abstract class View extends LitElement {
  @property({ attribute: false }) studio!: Studio;
  /** Its name in the address; the page gives it. */
  @property({ attribute: false }) viewPath!: string;
  private undo: (() => void)[] = [];

  connectedCallback(): void {
    super.connectedCallback();
    this.follow("route", () => {
      if (this.studio.route.view === this.viewPath) this.routed(this.studio.route.query);
    });
    this.follow("library", () => this.requestUpdate());
    this.follow("selection", () => this.requestUpdate());
    void this.updateComplete.then(() => this.routed(this.studio.route.query));
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const one of this.undo) one();
    this.undo = [];
  }

  /** Listen to the studio (or another target) for as long as the view is shown. */
  protected follow(
    name: string,
    act: (event: Event) => void,
    target: EventTarget = this.studio,
    options: AddEventListenerOptions = {},
  ): void {
    target.addEventListener(name, act, options);
    this.undo.push(() => target.removeEventListener(name, act, options));
  }

  /** The address has changed: show what it says. */
  protected routed(_query: Record<string, string>): void {}
}
