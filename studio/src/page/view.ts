// Base class of the views: an element that shows the state in the address.

import { property } from "lit/decorators.js";
import { StudioElement } from "./studio-element";

export abstract class View extends StudioElement {
  /** The view's name in the address. */
  @property({ attribute: false }) viewPath!: string;

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["visits"], () => {
      if (this.studio.route.view === this.viewPath) this.routeChanged(this.studio.route.query);
    });
    this.watch(["library", "selection"]);
    this.listen(this.studio.own, "change", () => this.wear());
    void this.updateComplete.then(() => this.isConnected && this.routeChanged(this.studio.route.query));
  }

  private wear(): void {
    if (this.studio.take === null && this.studio.stage.characters.length) this.characterChanged();
  }

  /** Called when the user's character was chosen or cleared while a synthesized motion is on the stage. */
  protected characterChanged(): void {}

  /** Called when the address has changed, with its query. */
  protected routeChanged(_query: Record<string, string>): void {}
}
