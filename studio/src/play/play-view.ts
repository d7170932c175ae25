// Controller view: a character steered by keyboard, mouse or gamepad, with motion matching on chosen takes.

import { css, html, nothing, svg } from "lit";
import { customElement, state } from "lit/decorators.js";
import type { MatchingInfo, Schema } from "../net/types";
import { finished, send, type Job } from "../net/api";
import { settingsFields } from "../net/settings-schema";
import "../page/code-line";
import { counted, durationText } from "../page/counts";
import { inputValue, isChecked } from "../page/form-input";
import "../page/progress-line";
import { sharedStyles } from "../page/style";
import "../page/takes-choice";
import { takesToBegin, type ChosenTakes } from "../page/takes-choice";
import { View } from "../page/view";
import { bodyOf, fromAddress, toAddress, type Given } from "../settings/fields";
import "../settings/settings-form";
import { Pilot } from "./pilot";

const SHOWN = 10; // seconds of the cost curve
const WIDTH = 360;
const HEIGHT = 84;
const UPDATE_INTERVAL = 120; // milliseconds between updates of the figures

@customElement("loom-play-view")
export class PlayView extends View {
  @state() private info: MatchingInfo | null = null;
  @state() private job: Job | null = null;
  @state() private pilot: Pilot | null = null;
  @state() private walkSpeed = 1.3;
  @state() private runSpeed = 3;
  @state() private gait = "";
  @state() private strafe = false;
  @state() private follow = false;
  @state() private behind = true;
  @state() private report: { id: string; sentences: string[] } | null = null;
  private built = "";
  private updatedAt = 0;

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; gap: 12px; align-content: start; grid-template-columns: minmax(0, 1fr); }
    h3 { font-size: 13px; margin: 0 0 4px; }
    form { display: grid; gap: 8px; }
    select, input:not([type="checkbox"]) { width: 100%; min-width: 0; }
    label.check { display: flex; gap: 6px; align-items: center; } label.check input { width: auto; }
    label > span { display: flex; justify-content: space-between; }
    dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 12px; margin: 0; background: var(--well); border-radius: 6px; padding: 8px 10px; }
    dt { color: var(--faint); } dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
    svg { width: 100%; display: block; background: var(--well); border-radius: 6px; }
    svg text { fill: var(--faint); font-size: 10px; }
    .going { fill: none; stroke: var(--cool); stroke-width: 1.5; } .jump { stroke: var(--accent); stroke-width: 1.5; }
    kbd { font: 11px ui-monospace, monospace; border: 1px solid var(--line); border-radius: 3px; padding: 0 4px; background: var(--raised); }
    ul { margin: 4px 0; padding-left: 18px; } .warning { color: var(--warn); }
    #play { justify-self: start; } details > * + * { margin-top: var(--space-2); }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["library"], () => this.routeChanged(this.studio.route.query)); // the labels are known
    this.listen(this.studio.stage, "frame", () => this.updateFigures());
    this.watch(["restored"], () => {
      this.built = "";
      this.routeChanged(this.studio.route.query);
    });
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.stop();
  }

  /** Query: label, only (names with commas), all ("1"), mirror ("0"). */
  protected characterChanged(): void {
    this.studio.notify("The controller will use the character the next time it starts.");
  }

  protected routeChanged(given: Record<string, string>): void {
    const query = takesToBegin(this.studio, given);
    const wanted = JSON.stringify(query);
    if (wanted === this.built || !(query.label || query.only || query.all)) return;
    this.built = wanted;
    this.stop();
    this.info = this.report = null;
    const turn = this.turns.begin("controller");
    void this.studio.attempt(async () => {
      try {
        const { signal } = turn;
        const job = await send("post", "matching", { body: { settings: this.settings }, signal });
        const info = await finished(job, (now) => (this.job = now), signal);
        this.info = info;
        const [slow, fast] = info.speeds;
        this.walkSpeed = Math.min(Math.max(1.3, slow), fast);
        this.runSpeed = Math.max(fast, this.walkSpeed);
        this.gait = "";
      } catch (error) {
        if (turn.current) this.built = ""; // allows a rebuild
        throw error;
      }
    });
  }

  /** The settings of the address. */
  private get settings(): Schema["MatchingSettings"] {
    const fields = settingsFields("matching");
    return bodyOf(fields, fromAddress(fields, this.studio.route.query));
  }

  private stop(): void {
    this.pilot?.stop();
    this.pilot = null;
  }

  private play(): void {
    if (this.pilot) {
      this.stop();
      return;
    }
    const pilot = new Pilot(this.studio, this.settings);
    this.pilot = pilot;
    this.steer();
    pilot.addEventListener("ended", () => {
      if (this.pilot === pilot) this.pilot = null;
    });
    void this.studio.attempt(async () => {
      try {
        await pilot.start();
      } catch (error) {
        pilot.stop();
        throw error;
      }
    });
  }

  /** Pass the settings of the form to the character. */
  private steer(): void {
    const { walkSpeed, runSpeed, strafe, follow, behind } = this;
    if (this.pilot) Object.assign(this.pilot, { walkSpeed, runSpeed, strafe, follow, behind, gait: this.gait || null });
  }

  protected updated(): void {
    this.steer();
  }

  private updateFigures(): void {
    const now = performance.now();
    if (!this.pilot || now - this.updatedAt < UPDATE_INTERVAL) return;
    this.updatedAt = now;
    this.requestUpdate();
  }

  private readonly choose = ({ detail }: CustomEvent<ChosenTakes>): void => {
    const { label, only, all } = detail;
    this.studio.go("play", { ...this.studio.route.query, label, only, all });
  };

  private async measure(): Promise<void> {
    const { signal } = this.turns.begin("coverage");
    await this.studio.attempt(async () => {
      const job = await send("post", "matching/coverage", { body: { settings: this.settings }, signal });
      this.report = await finished(job, (now) => (this.job = now), signal);
    });
  }

  private expert() {
    const fields = settingsFields("matching", ["mirror"]);
    const { query } = this.studio.route;
    const { info } = this;
    return html`<details class="expert"><summary>Expert</summary>
      <loom-settings-form .fields=${fields} .given=${fromAddress(fields, query)} .labels=${{ mirror: "also mirrored" }}
        @settings=${(event: CustomEvent<Given>) => this.studio.go("play", { ...query, mirror: undefined, ...toAddress(event.detail) })}></loom-settings-form>
      ${info ? this.facts(info) : nothing}
      ${this.pilot ? this.live(this.pilot) : nothing}
      ${info ? this.coverage() : nothing}</details>`;
  }

  private facts(info: MatchingInfo) {
    const skipped = Object.entries(info.skipped);
    const tags = Object.entries(info.tags).map(([tag, seconds]) => `${tag} ${durationText(seconds)}`);
    return html`<p>${counted(info.takes, "take")}, ${counted(info.frames, "frame")} at ${info.fps} fps;
      ${info.speeds[0].toFixed(1)} to ${info.speeds[1].toFixed(1)} m/s. <span class="faint">${tags.join(", ")}.</span>
      ${info.made ? html`<span class="faint">No take shows a person standing still, so standing, starting and stopping are synthesized from steps.</span>` : nothing}
      ${skipped.length ? html`<span class="faint">Not used: ${skipped.map(([name, why]) => `${name} (${why})`).join("; ")}</span>` : nothing}</p>`;
  }

  private speed(id: "walkSpeed" | "runSpeed", title: string) {
    const most = Math.max(this.info!.speeds[1] * 1.25, 2);
    return html`<label><span class="faint">${title}<b>${this[id].toFixed(1)} m/s</b></span>
      <input id=${id} type="range" min="0.4" max=${most.toFixed(1)} step="0.1" .value=${String(this[id])} @input=${(event: Event) => (this[id] = Number(inputValue(event)))} /></label>`;
  }

  private switches(info: MatchingInfo) {
    const check = (id: "strafe" | "follow" | "behind", text: string, title: string) =>
      html`<label class="check" title=${title}><input id=${id} type="checkbox" .checked=${this[id]} @change=${(event: Event) => (this[id] = isChecked(event))} />${text}</label>`;
    return html`<section><button id="play" class=${this.pilot ? "" : "main"} aria-pressed=${Boolean(this.pilot)} @click=${() => this.play()}>${this.pilot ? "Stop" : "Play"}</button>
      <p class="faint"><kbd>W</kbd> <kbd>A</kbd> <kbd>S</kbd> <kbd>D</kbd> or arrow keys: walk, faster with <kbd>Shift</kbd>. Drag to turn the camera.
        Gamepad: left stick walks, right stick turns the camera, RT runs, LB strafes.</p>
      <div class="row">
        <label><span class="faint">gait</span><select id="gait" @change=${(event: Event) => (this.gait = inputValue(event))}>
          <option value="" ?selected=${!this.gait}>any</option>
          ${Object.keys(info.tags).map((tag) => html`<option value=${tag} ?selected=${tag === this.gait}>${tag}</option>`)}</select></label>
        ${check("strafe", "strafe", "Keep the current facing direction")}
        ${check("follow", "follow the pointer", "Walk to the floor position under the pointer")}
        ${check("behind", "camera behind", "The camera turns with the character")}</div>
      ${this.speed("walkSpeed", "walking speed")}${this.speed("runSpeed", "with Shift")}</section>`;
  }

  private live(pilot: Pilot) {
    const moment = pilot.shown;
    if (!moment) return nothing;
    const { state } = moment;
    const speed = Math.hypot(...state.velocity);
    const wanted = Math.hypot(...state.desired);
    return html`<section><h3>Now playing</h3>
      <dl id="live"><dt>take</dt><dd id="matched">${state.take}, frame ${state.frame}${state.mirrored ? ", mirrored" : ""}</dd>
        <dt>gait</dt><dd>${state.tag || "none"}</dd>
        <dt>speed</dt><dd>${speed.toFixed(2)} of ${wanted.toFixed(2)} m/s</dd>
        <dt>cost</dt><dd>${state.cost.toFixed(2)} m at the last jump, ${state.going_on.toFixed(2)} m to continue; ${counted(state.jumps, "jump")}</dd>
        <dt>latency</dt><dd id="latency">${pilot.latency === null ? "–" : `${pilot.latency.toFixed(0)} ms`} from key press to display;
          responses in ${pilot.answer.toFixed(0)} ms (${pilot.server.toFixed(1)} ms on the server)</dd>
        <dt>frame rate</dt><dd>${pilot.rate} per second</dd></dl>
      ${this.curve(pilot)}</section>`;
  }

  /** Cost of continuing over the last seconds; marks show the cost of jumps. */
  private curve(pilot: Pilot) {
    const fps = pilot.motion?.fps ?? 30;
    const end = pilot.moments.at(-1)!.frame;
    const shown = pilot.moments.filter((one) => one.frame > end - SHOWN * fps);
    const high = Math.max(0.5, ...shown.map((one) => one.state.going_on));
    const x = (frame: number) => (WIDTH * (1 - (end - frame) / (SHOWN * fps))).toFixed(1);
    const y = (cost: number) => (HEIGHT - 6 - (HEIGHT - 22) * Math.min(cost / high, 1)).toFixed(1);
    const line = shown.map((one) => `${x(one.frame)},${y(one.state.going_on)}`).join(" ");
    return html`<svg id="cost" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Cost of continuing in the last ${SHOWN} seconds, up to ${high.toFixed(1)} meters; jumps are marked">
      <polyline class="going" points=${line}></polyline>
      ${shown.filter((one) => one.jumped).map((one) => svg`<line class="jump" x1=${x(one.frame)} x2=${x(one.frame)} y1=${y(one.state.cost)} y2=${HEIGHT - 4}></line>`)}
      <text x="4" y="11">cost of continuing (blue), jumps (orange); ${high.toFixed(1)} m, ${SHOWN} s</text></svg>`;
  }

  private coverage() {
    const { report } = this;
    return html`<section><h3>Coverage of the takes</h3>
      <div class="row"><button id="coverage" ?disabled=${this.job !== null} title="Runs steering courses and two minutes of random steering; takes about a minute" @click=${() => this.measure()}>Measure</button>
        ${report ? html`<a id="report" href=${`api/matching/coverage/${report.id}`} target="_blank" rel="noopener">open the report</a>` : html`<span class="faint">shows the covered speeds, turns, starts and stops, and which captures to add</span>`}</div>
      ${report ? html`<ul>${report.sentences.map((one) => html`<li>${one}</li>`)}</ul>` : nothing}</section>`;
  }

  render() {
    const { info } = this;
    return html`<h2>Steer a character</h2>
      <loom-takes-choice .studio=${this.studio} .chosen=${this.studio.route.query} verb="Play with" every @choose=${this.choose}></loom-takes-choice>
      ${this.job ? html`<loom-progress .job=${this.job}></loom-progress>` : nothing}
      ${info ? this.switches(info) : this.job ? nothing : html`<p class="faint">Choose takes that walk, run, turn, start and stop.</p>`}
      ${this.expert()}
      ${info ? html`<loom-code .cli=${info.lines.cli} .python=${info.lines.python}></loom-code>` : nothing}`;
  }
}
