// Command line and Python code for the current view, under "Copy".

import { LitElement, css, html, nothing } from "lit";
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
    :host { display: block; min-width: 0; margin-top: var(--space-2); }
    summary { color: var(--faint); cursor: pointer; font-size: var(--text-small); }
    div { display: flex; gap: var(--space-1); align-items: start; margin: var(--space-1) 0; }
    code { flex: 1; min-width: 0; font: var(--text-code); background: var(--well); padding: 5px 7px;
      border-radius: var(--round); white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; }
    button { font-size: var(--text-small); padding: 2px 8px; }
  `,
  ];

  private line(what: string, text: string) {
    if (!text) return nothing;
    return html`<div><code>${text}</code>
      <button title="Copy the ${what}" @click=${() => this.copy(text)}>${this.copied === text ? "copied" : "copy"}</button></div>`;
  }

  private async copy(text: string) {
    await copyText(text);
    this.copied = text;
    setTimeout(() => (this.copied = ""), 1500);
  }

  render() {
    if (!this.cli && !this.python) return nothing;
    return html`<details><summary>Copy as a command or Python</summary>${this.line("command", this.cli)}${this.line("Python code", this.python)}</details>`;
  }
}
