// Progress of a job, with a button to stop it.

import { LitElement, css, html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { send, type Job } from "../net/api";
import { sharedStyles } from "./style";

@customElement("loom-progress")
export class ProgressLine extends LitElement {
  @property({ attribute: false }) job: Job | null = null;

  static styles = [
    sharedStyles,
    css`
    progress { width: 100%; accent-color: var(--accent); height: 5px; display: block; } button { font-size: var(--text-small); padding: 1px 8px; }
    div { display: flex; gap: 8px; align-items: center; }
    span { flex: 1; }
  `,
  ];

  render() {
    const { job } = this;
    if (job?.state !== "running") return "";
    const count = job.total ? ` ${Math.round((100 * job.done) / job.total)} %` : "";
    return html`<div role="status"><span class="faint" title=${job.total ? `${job.done} of ${job.total}` : nothing}>${job.title}…${count}</span>
      <button @click=${() => send("delete", "jobs/{number}", { path: { number: job.id } }).catch(() => {})}>stop</button></div>
      ${job.total ? html`<progress max=${job.total} .value=${job.done}></progress>` : html`<progress></progress>`}`;
  }
}
