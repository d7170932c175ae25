// Command line and Python code for the current view, with copy buttons.

import { LitElement, css, html } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { sharedStyles } from "./style";

/** Copy to the clipboard; without a secure context (HTTPS or localhost) by execCommand. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

@customElement("loom-code")
export class CodeLine extends LitElement {
  @property() cli = "";
  @property() python = "";
  @state() private copied = "";

  static styles = [
    sharedStyles,
    css`
    :host { display: block; min-width: 0; }
    div { display: flex; gap: 6px; align-items: start; margin: 4px 0; }
    code { flex: 1; min-width: 0; font: 12px/1.4 ui-monospace, monospace; background: var(--well); padding: 5px 7px;
      border-radius: 5px; white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; }
    button { font-size: 12px; padding: 2px 8px; }
  `,
  ];

  private line(text: string) {
    if (!text) return "";
    return html`<div><code>${text}</code>
      <button title="Copy" @click=${() => this.copy(text)}>${this.copied === text ? "copied" : "copy"}</button></div>`;
  }

  private async copy(text: string) {
    await copyText(text);
    this.copied = text;
    setTimeout(() => (this.copied = ""), 1500);
  }

  render() {
    return html`${this.line(this.cli)}${this.line(this.python)}`;
  }
}
