// Base class of the views: an element that shows the state in the address.

import { LitElement } from "lit";
import { property } from "lit/decorators.js";
import { Turns } from "../net/turns";
import type { Studio } from "./studio";

export abstract class View extends LitElement {
  @property({ attribute: false }) studio!: Studio;
  /** The view's name in the address. */
  @property({ attribute: false }) viewPath!: string;
  /** Work of this view, which ends when the view is left. */
  protected readonly turns = new Turns();
  private cleanups: (() => void)[] = [];

  connectedCallback(): void {
    super.connectedCallback();
    this.listen("route", () => {
      if (this.studio.route.view === this.viewPath) this.routeChanged(this.studio.route.query);
    });
    this.listen("library", () => this.requestUpdate());
    this.listen("selection", () => this.requestUpdate());
    this.listen("change", () => this.wear(), this.studio.own);
    void this.updateComplete.then(() => this.routeChanged(this.studio.route.query));
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const cleanup of this.cleanups) cleanup();
    this.cleanups = [];
    this.turns.leave();
  }

  /** Listen to the studio (or another target) while the view is connected. */
  protected listen(
    name: string,
    handler: (event: Event) => void,
    target: EventTarget = this.studio,
    options: AddEventListenerOptions = {},
  ): void {
    target.addEventListener(name, handler, options);
    this.cleanups.push(() => target.removeEventListener(name, handler, options));
  }

  private wear(): void {
    if (this.studio.take === null && this.studio.stage.characters.length) this.characterChanged();
  }

  /** Called when the user's character was chosen or cleared while a synthesized motion is on the stage. */
  protected characterChanged(): void {}

  /** Called when the address has changed, with its query. */
  protected routeChanged(_query: Record<string, string>): void {}
}
