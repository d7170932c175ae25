// Under the stage: play, scrub, and select a range of the take with the mouse.

import { LitElement, css, html } from "lit";
import { look } from "./look";
import type { Studio } from "./studio";

class Timeline extends LitElement {
  static properties = { studio: { attribute: false } };
  declare studio: Studio;

  static styles = [look, css`:host { display: block; padding: 6px 10px; }`];

  connectedCallback(): void {
    super.connectedCallback();
    this.studio.stage?.clock.addEventListener("change", () => this.requestUpdate());
  }

  render() {
    const clock = this.studio.stage.clock;
    return html`<div class="row"><button id="play" @click=${() => clock.toggle()}>${clock.playing ? "Pause" : "Play"}</button></div>`;
  }
}
customElements.define("loom-timeline", Timeline);
