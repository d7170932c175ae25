// All jobs of the server, from every window, with progress and stop buttons.

import { css, html, nothing } from "lit";
import { customElement, state } from "lit/decorators.js";
import { askedAt, getJson, send, type Answer } from "../net/api";
import { counted } from "./counts";
import { StudioElement } from "./studio-element";
import { sharedStyles } from "./style";

type Job = Answer<"get", "jobs">[number];
const INTERVAL = 500; // milliseconds between updates of running jobs
const SHOWN = 12; // jobs that have ended
const ENDS: Record<string, string> = { done: "done", failed: "failed", stopped: "stopped" };

@customElement("loom-jobs")
export class JobsList extends StudioElement {
  @state() private jobs: Job[] = [];
  private timer = 0;

  static styles = [
    sharedStyles,
    css`
    details { position: relative; }
    summary { cursor: pointer; list-style: none; padding: 3px 8px; border: 1px solid var(--line); border-radius: 5px; font-size: 12px; white-space: nowrap; }
    summary:hover { border-color: var(--accent); }
    .busy { color: var(--accent); }
    ul { position: absolute; right: 0; top: 30px; z-index: 5; width: 340px; max-width: 90vw; max-height: 60vh; overflow: auto; margin: 0; padding: 8px 12px;
      list-style: none; display: grid; gap: 8px; background: var(--raised); border: 1px solid var(--line); border-radius: 7px; font-size: 12px; box-shadow: 0 10px 30px #0006; }
    li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 2px 8px; align-items: center; white-space: normal; }
    li span { overflow-wrap: anywhere; }
    progress { grid-column: 1 / -1; width: 100%; height: 5px; accent-color: var(--accent); }
    li button { font-size: 12px; padding: 1px 7px; }
    .failed { color: var(--bad); } a { color: var(--accent); }
    @media (max-width: 860px) { ul { right: auto; left: 0; } }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["jobs", "connection"], () => void this.look());
    this.closeMenusOutside();
    void this.look();
  }

  /** Update the list of jobs, and repeat while one is running. */
  private async look(): Promise<void> {
    clearTimeout(this.timer);
    try {
      this.jobs = await getJson("jobs");
    } catch {
      return; // disconnected; "connected" looks again
    }
    if (this.running.length) this.timer = window.setTimeout(() => void this.look(), INTERVAL);
  }

  private get running(): Job[] {
    return this.jobs.filter((job) => job.state === "running");
  }

  private job(job: Job) {
    const running = job.state === "running";
    const count = job.total ? ` ${Math.floor((100 * job.done) / job.total)} %` : "";
    const view = job.view ? `#/${job.view}` : askedAt.get(job.id);
    return html`<li><span class=${job.state}>${job.title}${running ? `…${count}` : `: ${ENDS[job.state] ?? job.state}`}${job.error ? `: ${job.error}` : ""}</span>
      ${running ? html`<button aria-label="stop ${job.title}" @click=${() => send("delete", "jobs/{number}", { path: { number: job.id } }).catch(() => {})}>stop</button>` : nothing}
      ${job.state === "done" && view ? html`<a href=${view} aria-label="show the result of ${job.title}">show</a>` : nothing}
      ${running ? (job.total ? html`<progress aria-label=${job.title} max=${job.total} .value=${job.done}></progress>` : html`<progress aria-label=${job.title}></progress>`) : nothing}</li>`;
  }

  render() {
    const { jobs, running } = this;
    if (!jobs.length) return nothing;
    const ended = jobs.filter((job) => job.state !== "running").slice(-SHOWN);
    return html`<details class="menu"><summary class=${running.length ? "busy" : ""} id="jobs">${running.length ? `${counted(running.length, "job")}…` : "Jobs"}</summary>
      <ul aria-label="Jobs">${[...running, ...ended.reverse()].map((job) => this.job(job))}</ul></details>`;
  }
}
