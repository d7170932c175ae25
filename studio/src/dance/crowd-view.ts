// Crowd view: couples in a ballroom, or marching soldiers.

import { css, html } from "lit";
import { customElement, state } from "lit/decorators.js";
import { crowdMotions } from "../motion/motion";
import type { CrowdResult } from "../net/types";
import { finished, getArrays, getBytes, send, type Body, type Job } from "../net/api";
import { settingsFields } from "../net/settings-schema";
import { inputValue } from "../page/form-input";
import "../page/code-line";
import "../page/progress-line";
import { sharedStyles } from "../page/style";
import "../page/verdict";
import { View } from "../page/view";
import { bodyOf, fromAddress, pick, toAddress, valuesOf, type Field, type Given } from "../settings/fields";
import "../settings/settings-form";
import { FloorLines } from "../stage/floor";
import { SoundTrack } from "./sound";

type Query = Record<string, string>;

/** Settings in the form. */
const SHOWN = {
  ballroom: ["couples", "floor.room", "tempo_bpm", "seconds"],
  march: ["formation.ranks", "formation.files", "tempo_bpm", "seconds"],
};
const EXPERT = ["seed"];
const LABELS = { "floor.room": "width and depth", tempo_bpm: "beats per minute", seconds: "duration" };
/** Defaults of the page: with music, and short. */
const USUAL = { music: "tune", seconds: 20 };
const LEADER = 0x4f9fd8;
const FOLLOWER = 0xc8a27c;
const FILE_COLORS = [0x7cb85c, 0x4f9fd8, 0xd8c14f, 0xc56ac0, 0x5cc4b8, 0xc8a27c, 0xd86464, 0x9a86e0];

@customElement("loom-crowd-view")
export class CrowdView extends View {
  @state() private crowd: CrowdResult | null = null;
  @state() private busy = "";
  @state() private job: Job | null = null;
  @state() private muted = false;
  private track: SoundTrack | null = null;
  private floor: FloorLines | null = null;
  private shown = "";

  static styles = [
    sharedStyles,
    css`
    section { border-bottom: 1px solid var(--line); padding-bottom: 10px; margin-bottom: 10px; }
    .kinds { display: grid; grid-template-columns: 1fr 1fr; gap: 6px; margin-bottom: 10px; }
    .kinds button { padding: 8px; }
    label { margin: 6px 0; }
    label b { font-weight: 600; }
    .good { color: var(--good); } .off { color: var(--bad); }
    .figures { display: grid; grid-template-columns: auto 1fr; gap: 2px 10px; margin: 6px 0; }
    .figures b { text-align: right; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.floor = new FloorLines(this.studio.stage);
    this.watch(["restored"], () => {
      this.shown = "";
      this.routeChanged(this.query);
    });
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.stopSound();
    this.floor?.clear();
  }

  private get query(): Query {
    return this.studio.route.query;
  }
  private get kind(): "ballroom" | "march" {
    return this.query.kind === "march" ? "march" : "ballroom";
  }
  private get fields(): Field[] {
    const usual: Given = USUAL;
    return settingsFields(this.kind).map((one) => (one.name in usual ? { ...one, default: usual[one.name] } : one));
  }

  private stopSound(): void {
    this.track?.release();
    this.track = null;
  }

  private body(query: Query): Body<"crowds"> {
    const { fields, kind } = this;
    const settings = { ...USUAL, ...bodyOf(fields, fromAddress(fields, query)) };
    return { kind, label: query.label || null, settings };
  }

  /** Synthesize the crowd in the address, if it has a kind. */
  protected routeChanged(query: Query): void {
    const wanted = JSON.stringify(query);
    if (!query.kind || wanted === this.shown) return;
    this.shown = wanted;
    void this.make(query, wanted);
  }

  private async make(query: Query, wanted: string): Promise<void> {
    const turn = this.turns.begin("crowd");
    const { signal } = turn;
    this.busy = "synthesizing the crowd";
    await this.studio.attempt(async () => {
      try {
        const job = await send("post", "crowds", { body: this.body(query), signal });
        const crowd = await finished(job, (now) => (this.job = now), signal);
        const message = await getArrays("crowds/{id}", { path: { id: crowd.id }, signal });
        this.crowd = crowd;
        this.stopSound();
        const { clock } = this.studio.stage;
        clock.pause();
        const { bodies } = message.meta;
        const files = Number(valuesOf(this.fields, fromAddress(this.fields, query))["formation.files"]);
        this.studio.show(
          crowdMotions(message).map((motion, number) => ({
            motion,
            color: bodies === 2 ? (number % 2 ? FOLLOWER : LEADER) : FILE_COLORS[(number % files) % FILE_COLORS.length],
          })),
          null,
          { title: this.kind, several: true, body: () => this.subject(), quality: crowd.quality, ...crowd.lines },
        );
        this.floor!.show(message.meta.room, message.arrays.street as Float32Array | undefined);
        clock.seek(0);
        const sound = getBytes("crowds/{id}/sound", { path: { id: crowd.id }, signal });
        this.track =
          (await SoundTrack.start(
            clock,
            sound,
            () => this.muted,
            () => turn.current,
          )) ?? this.track;
      } catch (error) {
        if (turn.current && wanted === this.shown) {
          this.shown = "";
          this.crowd = null;
        }
        throw error;
      }
    });
    if (turn.current) this.busy = "";
  }

  private change(values: Record<string, string | number | undefined>): void {
    this.studio.go("crowd", { ...this.query, kind: this.kind, ...values });
  }

  private choose(kind: "ballroom" | "march"): void {
    this.studio.go("crowd", { kind, seed: this.query.seed, seconds: this.query.seconds });
  }

  private mute(): void {
    this.muted = !this.muted;
    if (this.track) this.track.muted = this.muted;
  }

  private result() {
    if (!this.crowd) return "";
    const { characters, beats_total: total, beats_within_one_frame: on } = this.crowd;
    const cm = (meters: number) => `${(100 * meters).toFixed(1)} cm`;
    return html`<section><h2>${characters} characters</h2>
      <div class="figures" id="figures">
        <b class=${on >= 0.95 * total ? "good" : "off"}>${((100 * on) / Math.max(total, 1)).toFixed(1)} %</b>
        <span>of ${total} beats have a footstep within one frame</span>
        ${
          this.crowd.clearance_m !== undefined
            ? html`<b class=${this.crowd.clearance_m >= 0 ? "good" : "off"}>${cm(this.crowd.clearance_m)}</b>
          <span>smallest distance between couples</span>`
            : ""
        }
        ${
          this.crowd.left_feet_in_step !== undefined
            ? html`<b>${(100 * this.crowd.left_feet_in_step).toFixed(1)} %</b><span>of left footsteps are in step</span>
          <b>${cm(this.crowd.misplacement_m!)}</b><span>mean distance from the position in the formation</span>`
            : ""
        }
      </div>
      <loom-verdict .studio=${this.studio} .quality=${this.crowd.quality}></loom-verdict>
      <div class="row"><button aria-pressed=${this.muted} @click=${() => this.mute()}>${this.muted ? "Muted" : "Sound on"}</button></div></section>
      <loom-code cli=${this.crowd.lines.cli} python=${this.crowd.lines.python}></loom-code>`;
  }

  private subject() {
    return { kind: "crowd" as const, id: this.crowd!.id };
  }

  render() {
    const kind = this.kind;
    const made = Boolean(this.query.kind);
    const label = this.query.label ?? "";
    const shown = pick(this.fields, SHOWN[kind]);
    const cleared = Object.fromEntries(shown.map((one) => [one.name, undefined]));
    return html`<section><h2>Crowds that move to music</h2>
      <div class="kinds" role="group" aria-label="Scene">
        <button id="ballroom" aria-pressed=${made && kind === "ballroom"} @click=${() => this.choose("ballroom")}>Ballroom</button>
        <button id="march" aria-pressed=${made && kind === "march"} @click=${() => this.choose("march")}>March</button></div>
      <loom-settings-form .fields=${shown} .given=${fromAddress(shown, this.query)} .labels=${LABELS}
        @settings=${(event: CustomEvent<Given>) => this.change({ ...cleared, ...toAddress(event.detail) })}></loom-settings-form>
      <div class="row">
        <label>Movements <select id="label" @change=${(event: Event) => this.change({ label: inputValue(event) })}>
          <option value="" ?selected=${!label}>${kind === "march" ? "built-in soldiers" : "a built-in waltz"}</option>
          ${[...this.studio.labels.keys()].map((one) => html`<option value=${one} ?selected=${one === label}>takes labeled ${one}</option>`)}</select></label></div>
      <details class="expert"><summary>Expert</summary><loom-settings-form .fields=${pick(this.fields, EXPERT)} .given=${fromAddress(this.fields, this.query)}
        @settings=${(event: CustomEvent<Given>) => this.change({ seed: undefined, ...toAddress(event.detail) })}></loom-settings-form></details>
    </section>
    ${this.job ? html`<loom-progress .job=${this.job}></loom-progress>` : this.busy ? html`<p role="status">${this.busy}…</p>` : ""}
    ${
      made
        ? this.result()
        : html`<p class="faint">Choose a ballroom with waltzing couples, or a march along a street.
      All steps land on the beats, and the characters do not collide.</p>`
    }`;
  }
}
