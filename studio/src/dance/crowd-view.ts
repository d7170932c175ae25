// Crowds: couples in a ballroom or soldiers on a street, all of them on the stage at once.

import { css, html } from "lit";
import { customElement, state } from "lit/decorators.js";
import { download, finished, getArrays, getBytes, send, type Body } from "../net/api";
import type { CrowdResult } from "../net/answers";
import { FloorLines } from "../stage/floor";
import { look } from "../page/style";
import { SoundTrack } from "./sound";
import { motionsFrom } from "../motion/motion";
import { View } from "../page/view";

type Query = Record<string, string>;

/** A slider: its key in the address, its words, its bounds and what it is at first. */
interface Slider {
  key: string;
  words: string;
  min: number;
  max: number;
  step?: number;
  at: number;
}

const BALLROOM: Slider[] = [
  { key: "couples", words: "couples", min: 1, max: 40, at: 20 },
  { key: "width", words: "m wide", min: 5, max: 30, at: 14 },
  { key: "depth", words: "m deep", min: 5, max: 30, at: 10 },
  { key: "tempo", words: "beats a minute", min: 60, max: 180, at: 90 },
];
const MARCH: Slider[] = [
  { key: "ranks", words: "ranks", min: 1, max: 20, at: 10 },
  { key: "files", words: "files", min: 1, max: 8, at: 4 },
  { key: "tempo", words: "beats a minute", min: 60, max: 150, at: 96 },
];
const BOTH: Slider[] = [{ key: "seconds", words: "seconds", min: 5, max: 60, at: 20 }];
const LEADER = 0x4f9fd8;
const FOLLOWER = 0xe0823d;
const FILES = [0x7cb85c, 0x4f9fd8, 0xd8c14f, 0xc56ac0, 0x5cc4b8, 0xe0823d, 0xd86464, 0x9a86e0];

@customElement("loom-crowd-view")
export class CrowdView extends View {
  @state() private told: CrowdResult | null = null;
  @state() private busy = "";
  @state() private quiet = false;
  /** Values of sliders that are still being dragged. */
  @state() private held: Query = {};
  private track: SoundTrack | null = null;
  private floor: FloorLines | null = null;
  private shown = "";

  static styles = [
    look,
    css`
    section { border-bottom: 1px solid var(--line); padding-bottom: 10px; margin-bottom: 10px; }
    .kinds { display: grid; grid-template-columns: 1fr 1fr; gap: 6px; margin-bottom: 10px; }
    .kinds button { padding: 8px; }
    label { margin: 6px 0; }
    label b { font-weight: 600; }
    input[type="number"] { width: 90px; }
    .good { color: var(--good); } .off { color: var(--bad); }
    .figures { display: grid; grid-template-columns: auto 1fr; gap: 2px 10px; margin: 6px 0; }
    .figures b { text-align: right; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.floor = new FloorLines(this.studio.stage);
    this.follow("found", () => {
      this.shown = "";
      this.routed(this.query);
    });
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.silence();
    this.floor?.clear();
  }

  private get query(): Query {
    return this.studio.route.query;
  }
  private get kind(): "ballroom" | "march" {
    return this.query.kind === "march" ? "march" : "ballroom";
  }
  private get sliders(): Slider[] {
    return [...(this.kind === "march" ? MARCH : BALLROOM), ...BOTH];
  }

  private silence(): void {
    this.track?.release();
    this.track = null;
  }

  private settings(query: Query): Body<"crowds"> {
    const numbers = this.sliders.map((one) => [one.key, Number(query[one.key] ?? one.at)]);
    return {
      kind: this.kind,
      ...Object.fromEntries(numbers),
      seed: Number(query.seed ?? 0),
      within: query.within || null,
    };
  }

  /** The address says which crowd; without a kind nothing is made yet. */
  protected routed(query: Query): void {
    const wanted = JSON.stringify(query);
    if (!query.kind || wanted === this.shown) return;
    this.shown = wanted;
    void this.make(query, wanted);
  }

  private async make(query: Query, wanted: string): Promise<void> {
    this.busy = "moving the crowd";
    try {
      const job = await send("post", "crowds", { body: this.settings(query) });
      const told = await finished(job, (one) => (this.busy = one.title));
      if (wanted !== this.shown) return; // something else is wanted by now
      const message = await getArrays("crowds/{id}", { path: { id: told.id } });
      if (wanted !== this.shown || !this.isConnected) return;
      this.told = told;
      this.silence();
      const { clock } = this.studio.stage;
      clock.pause();
      const { bodies } = message.meta;
      const files = Number(query.files ?? 4);
      this.studio.cast(
        motionsFrom(message).map((motion, number) => ({
          motion,
          colour: bodies === 2 ? (number % 2 ? FOLLOWER : LEADER) : FILES[(number % files) % FILES.length],
        })),
      );
      this.floor!.show(message.meta.room, message.arrays.street as Float32Array | undefined);
      clock.seek(0);
      const track = await SoundTrack.load(clock, getBytes("crowds/{id}/sound", { path: { id: told.id } }));
      if (wanted !== this.shown || !this.isConnected) {
        track.release();
        return;
      }
      this.track = track;
      track.muted = this.quiet;
      track.bind();
      clock.play();
    } catch (error) {
      if (wanted === this.shown) {
        this.shown = "";
        this.told = null;
      }
      this.studio.say(error);
    } finally {
      if (wanted === this.shown || !this.shown) this.busy = "";
    }
  }

  private change(values: Record<string, string | number | undefined>): void {
    this.held = {};
    this.studio.go("crowd", { ...this.query, kind: this.kind, ...values });
  }

  private choose(kind: "ballroom" | "march"): void {
    this.studio.go("crowd", { kind, seed: this.query.seed, seconds: this.query.seconds });
  }

  private mute(): void {
    this.quiet = !this.quiet;
    if (this.track) this.track.muted = this.quiet;
  }

  private slider(one: Slider) {
    const value = this.held[one.key] ?? this.query[one.key] ?? String(one.at);
    const show = (event: Event) => (this.held = { [one.key]: (event.target as HTMLInputElement).value });
    return html`<label><span><b>${value}</b> ${one.words}</span>
      <input id=${one.key} type="range" min=${one.min} max=${one.max} step=${one.step ?? 1} .value=${value}
        @input=${show} @change=${(event: Event) => this.change({ [one.key]: (event.target as HTMLInputElement).value })} /></label>`;
  }

  private result() {
    if (!this.told) return "";
    const { characters, beats_total: total, beats_within_one_frame: on } = this.told;
    const cm = (metres: number) => `${(100 * metres).toFixed(1)} cm`;
    return html`<section><h2>${characters} characters</h2>
      <div class="figures" id="figures">
        <b class=${on >= 0.95 * total ? "good" : "off"}>${((100 * on) / Math.max(total, 1)).toFixed(1)} %</b>
        <span>of ${total} beats, a foot lands within a frame</span>
        ${
          this.told.clearance_m !== undefined
            ? html`<b class=${this.told.clearance_m >= 0 ? "good" : "off"}>${cm(this.told.clearance_m)}</b>
          <span>between the nearest couples, ever</span>`
            : ""
        }
        ${
          this.told.left_feet_in_step !== undefined
            ? html`<b>${(100 * this.told.left_feet_in_step).toFixed(1)} %</b><span>of the left feet are in step</span>
          <b>${cm(this.told.misplacement_m!)}</b><span>from the place in the formation, on average</span>`
            : ""
        }
      </div>
      <div class="row"><button id="export" @click=${() => this.export()}>Export GLB</button>
        <button aria-pressed=${this.quiet} @click=${() => this.mute()}>${this.quiet ? "Muted" : "Sound on"}</button></div></section>
      <loom-code cli=${this.told.cli} python=${this.told.python}></loom-code>`;
  }

  private export(): void {
    void download(`${this.kind}.glb`, "crowds/{id}/file", { path: { id: this.told!.id } }).catch((error) =>
      this.studio.say(error),
    );
  }

  render() {
    const kind = this.kind;
    const made = Boolean(this.query.kind);
    const within = this.query.within ?? "";
    return html`<section><h2>A crowd that moves to one music</h2>
      <div class="kinds" role="group" aria-label="Scene">
        <button id="ballroom" aria-pressed=${made && kind === "ballroom"} @click=${() => this.choose("ballroom")}>Ballroom</button>
        <button id="march" aria-pressed=${made && kind === "march"} @click=${() => this.choose("march")}>March</button></div>
      ${this.sliders.map((one) => this.slider(one))}
      <div class="row"><label>Seed <input id="seed" type="number" min="0" .value=${this.query.seed ?? "0"}
          @change=${(event: Event) => this.change({ seed: (event.target as HTMLInputElement).value })} /></label>
        <label>They move as <select id="within" @change=${(event: Event) => this.change({ within: (event.target as HTMLSelectElement).value })}>
          <option value="" ?selected=${!within}>${kind === "march" ? "built-in soldiers" : "a built-in waltz"}</option>
          ${[...this.studio.labels.keys()].map((label) => html`<option value=${label} ?selected=${label === within}>takes labelled ${label}</option>`)}</select></label></div>
    </section>
    ${this.busy ? html`<p role="status">${this.busy}…</p>` : ""}
    ${
      made
        ? this.result()
        : html`<p class="faint">Choose a ballroom, where couples waltz around each other, or a march along a street.
      Everybody's steps fall on the beats, and nobody bumps into anybody.</p>`
    }`;
  }
}
