// A line that does the same from a terminal or a notebook, with a button to copy it.

import { LitElement, css, html } from "lit";
import { look } from "./look";

class CodeLine extends LitElement {
  static properties = { cli: {}, python: {}, copied: { state: true } };
  declare cli: string;
  declare python: string;
  declare copied: string;

  static styles = [look, css`
    div { display: flex; gap: 6px; align-items: start; margin: 4px 0; }
    code { flex: 1; font: 12px/1.4 ui-monospace, monospace; background: #12151a; padding: 5px 7px;
      border-radius: 5px; overflow-x: auto; white-space: pre; user-select: all; }
  `];

  constructor() { super(); this.cli = this.python = this.copied = ""; }

  private line(text: string) {
    if (!text) return "";
    return html`<div><code>${text}</code>
      <button title="Copy" @click=${() => this.copy(text)}>${this.copied === text ? "copied" : "copy"}</button></div>`;
  }

  private async copy(text: string) {
    await navigator.clipboard.writeText(text);
    this.copied = text;
    setTimeout(() => { this.copied = ""; }, 1500);
  }

  render() { return html`${this.line(this.cli)}${this.line(this.python)}`; }
}
customElements.define("loom-code", CodeLine);
