// Dance view: takes danced to music, or live dancers that follow the pointer.

import { css, html } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { crowdMotions, wornQuery } from "../motion/motion";
import type { Choreography, DanceHead, Music } from "../net/types";
import { download, finished, getBytes, getJson, send, sendForArrays, type Job } from "../net/api";
import { settingsFields } from "../net/settings-schema";
import { pythonLiteral, shellWord } from "../page/command-line";
import { counted } from "../page/counts";
import { inputValue } from "../page/form-input";
import "../page/progress-line";
import { qualityLines } from "../page/quality";
import { sharedStyles } from "../page/style";
import { namesOf } from "../page/take-picker";
import "../page/take-picker";
import { View } from "../page/view";
import { bodyOf, fromAddress, toAddress, type Given } from "../settings/fields";
import "../settings/settings-form";
import "./beat-strip";
import type { BeatStrip } from "./beat-strip";
import { LiveDance } from "./live-dance";
import { SoundTrack } from "./sound";

const SHOWN = ["seed", "synced"];
const SLOWEST = 40;
const FASTEST = 200;

@customElement("loom-dance-view")
export class DanceView extends View {
  @state() private chosen = ""; // takes in the picker, with commas
  @state() private choreography: Choreography | null = null;
  @state() private music: Music | null = null;
  @state() private dance: DanceHead | null = null;
  @state() private busy = "";
  @state() private job: Job | null = null;
  @state() private tempo = 0;
  @state() private muted = false;
  @state() private live: LiveDance | null = null;
  private track: SoundTrack | null = null;
  /** Music files by server id, to upload them again after a restart of the server. */
  private readonly songs = new Map<string, File>();
  private shown = "";

  @query("loom-beats") private strip!: BeatStrip | null;

  static styles = [
    sharedStyles,
    css`
    section { border-bottom: 1px solid var(--line); padding-bottom: 10px; margin-bottom: 10px; }
    section > * + * { margin-top: 8px; }
    .grow { flex: 1; min-width: 0; }
    .good { color: var(--good); } .off { color: var(--bad); }
    .path { font: 12px ui-monospace, monospace; overflow-wrap: anywhere; max-height: 54px; overflow: auto; }
    .drop input { width: 100%; }
    .drop { border: 1px dashed var(--line); border-radius: 6px; padding: 8px; text-align: center; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.listen("frame", () => this.tick(), this.studio.stage);
    this.listen("reconnected", () => {
      this.shown = "";
      this.routeChanged(this.query);
    });
    this.listen("song", () => this.takeSong());
    this.takeSong();
  }

  /** Use a song dropped on the page. */
  private takeSong(): void {
    const { song } = this.studio;
    this.studio.song = null;
    if (song) void this.updateComplete.then(() => this.choose(song));
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.stopSound();
  }

  private get query() {
    return this.studio.route.query;
  }

  private stopSound(): void {
    this.track?.release();
    this.live?.stop();
    this.track = this.live = null;
  }

  private tick(): void {
    if (this.strip) this.strip.time = this.studio.stage.clock.time;
  }

  /** Synthesize the dance in the address: takes, music, seed. */
  protected routeChanged(query: Record<string, string>): void {
    const wanted = JSON.stringify(query);
    if (wanted === this.shown || (!query.label && !query.takes)) return;
    this.shown = wanted;
    const current = () => wanted === this.shown && this.isConnected; // the address may change in the meantime
    void this.attempt(async () => {
      try {
        await this.cut(query);
        if (query.music && current()) await this.perform(query, current);
      } catch (error) {
        if (current()) {
          this.shown = "";
          throw error;
        }
      }
    });
  }

  protected characterChanged(): void {
    if (!this.dance) return;
    this.shown = "";
    this.routeChanged(this.studio.route.query);
  }

  private async attempt(work: () => Promise<unknown>): Promise<void> {
    await this.studio.attempt(work);
    this.busy = "";
  }

  private async cut(query: Record<string, string>): Promise<void> {
    this.busy = "cutting movements";
    const takes = namesOf(query.takes).map((take) => take.split("+"));
    const label = query.label && !takes.length ? [query.label] : [];
    const job = await send("post", "dance/choreographies", {
      body: { takes, settings: { label, ...(query.meter ? { meter: Number(query.meter) } : {}) } },
    });
    this.choreography = await finished(job, (now) => now && (this.busy = `${now.title}: ${now.done} of ${now.total}`));
    this.tempo = Number(query.tempo_bpm) || Math.round(Math.min(Math.max(this.choreography!.tempo, SLOWEST), FASTEST));
  }

  private async perform(query: Record<string, string>, current: () => boolean): Promise<void> {
    this.busy = "dancing";
    this.stopSound();
    const music = await this.musicOf(query);
    if (!current()) return;
    this.music = music;
    const body = this.performance(query);
    await finished(await send("post", "dance/rehearsals", { body }), (now) => (this.job = now));
    if (!current()) return;
    const message = await sendForArrays("dance/performances", { body, query: wornQuery() });
    if (!current()) return;
    this.dance = message.meta;
    const { clock } = this.studio.stage;
    clock.pause();
    const motions = crowdMotions(message);
    this.studio.show(
      motions.map((motion) => ({ motion })),
      null,
      { title: `dance to ${music.name}`, several: motions.length > 1, body: () => this.subject(query) },
    );
    clock.seek(0);
    const sound = getBytes("dance/music/{key}/sound", { path: { key: music.id } });
    this.track = (await SoundTrack.start(clock, sound, () => this.muted, current)) ?? this.track;
  }

  private subject(query: Record<string, string>) {
    return { kind: "dance" as const, ...this.performance(query) };
  }

  private performance(query: Record<string, string>) {
    const fields = settingsFields("dance", SHOWN);
    return {
      choreography: this.choreography!.id,
      music: this.music!.id,
      settings: bodyOf(fields, fromAddress(fields, query)),
    };
  }

  private async musicOf(query: Record<string, string>): Promise<Music> {
    if (query.music === "tune") {
      return send("post", "dance/tunes", { body: { meter: this.choreography!.meter, tempo_bpm: this.tempo } });
    }
    const song = this.songs.get(query.music);
    return song ? this.upload(song) : getJson("dance/music/{key}", { path: { key: query.music } });
  }

  private upload(song: File): Promise<Music> {
    return send("put", "dance/music/{filename}", { path: { filename: song.name }, body: song });
  }

  private change(values: Record<string, string | number | undefined>): void {
    this.studio.go("dance", { ...this.query, ...values });
  }

  private async choose(file: File | undefined): Promise<void> {
    if (!file) return;
    await this.attempt(async () => {
      this.busy = "analyzing the music";
      this.music = await this.upload(file);
      this.songs.set(this.music.id, file);
      this.change({ music: this.music.id, tempo_bpm: undefined });
    });
  }

  private danceToTune(): void {
    this.shown = ""; // restart even if the address stays the same
    this.change({ music: "tune", tempo_bpm: this.tempo });
    this.routeChanged(this.query);
  }

  private followPointer(): void {
    if (this.live) {
      this.stopSound();
      this.studio.stage.clock.pause();
      return;
    }
    this.stopSound();
    this.dance = null;
    const live = new LiveDance(
      this.studio,
      this.choreography!.id,
      this.choreography!.meter,
      this.tempo,
      Number(this.query.seed ?? 0),
    );
    live.muted = this.muted;
    live.addEventListener("ended", () => {
      if (this.live === live) this.live = null;
    });
    this.live = live;
    void this.attempt(async () => {
      try {
        await live.start();
      } catch (error) {
        live.stop();
        throw error;
      }
    });
  }

  private setTempo(tempo: number): void {
    this.tempo = tempo;
    if (this.live) this.live.tempo = tempo;
  }

  private mute(): void {
    this.muted = !this.muted;
    if (this.track) this.track.muted = this.muted;
    if (this.live) this.live.muted = this.muted;
  }

  private codeLines() {
    const { label = "", takes, meter, music, seed = "0", synced } = this.query;
    const lib = this.studio.library.path;
    const tune = music === "tune";
    const loose = synced === "0";
    const names = namesOf(takes);
    const song = this.songs.get(music)?.name ?? this.music?.file ?? "song.mid";
    const who = names.length ? `--takes ${shellWord(names.join(","))}` : `--label ${shellWord(label)}`;
    const bars = meter ? ` --meter ${shellWord(meter)}` : "";
    const take = (name: string) =>
      name.includes("+") ? `[${name.split("+").map(pythonLiteral).join(", ")}]` : pythonLiteral(name);
    const steps = [
      names.length ? `takes=[${names.map(take).join(", ")}]` : `label=${pythonLiteral(label)}`,
      ...(meter ? [`meter=${Number(meter)}`] : []),
    ];
    const musicCode = tune ? `tune(meter=${this.choreography!.meter}, tempo_bpm=${this.tempo})` : pythonLiteral(song);
    return html`<loom-code
      cli=${`motionloom dance ${shellWord(lib)} ${tune ? `tune --tempo ${this.tempo}` : shellWord(song)} ${who}${bars} --seed ${shellWord(seed)}${loose ? " --unsynced" : ""} -o dance.glb`}
      python=${`import motionloom as ml; ${tune ? "from motionloom.dance.music import tune; " : ""}dance = ml.Library(${pythonLiteral(lib)}).choreography(${steps.join(", ")}).dance(${musicCode}, seed=${Number(seed)}${loose ? ", synced=False" : ""})`}></loom-code>`;
  }

  /** Dance with all takes that have a rhythm. */
  private async chooseRhythmic(): Promise<void> {
    await this.attempt(async () => {
      const job = await send("post", "rhythms");
      const names = Object.keys(await finished(job, (now) => (this.job = now)));
      if (names.length) this.change({ takes: names.join(","), label: undefined });
      else this.studio.notify("No takes in this library have a rhythm.");
    });
  }

  private takesSection() {
    const { label = "", takes = "" } = this.query;
    return html`<section><h2>Takes</h2>
      <div class="row">
        <select id="label" class="grow" aria-label="Label of the takes" .value=${label}
          @change=${(event: Event) => this.change({ label: inputValue(event), takes: undefined })}>
          <option value="">takes with the label…</option>
          ${[...this.studio.labels.keys()].map((one) => html`<option ?selected=${one === label}>${one}</option>`)}</select>
        <button id="rhythmic" title="Use all takes with a rhythm" @click=${() => void this.chooseRhythmic()}>with a rhythm</button>
      </div>
      <loom-take-picker .studio=${this.studio} .names=${takes} label="or chosen takes"
        @takes=${(event: CustomEvent<string[]>) => (this.chosen = event.detail.join(","))}></loom-take-picker>
      ${this.chosen && this.chosen !== takes ? html`<button id="dance-chosen" class="main" @click=${() => this.change({ takes: this.chosen, label: undefined })}>Dance with ${counted(namesOf(this.chosen).length, "take")}</button>` : ""}
      <details><summary class="faint">Expert: couples</summary><label class="faint">NAME+NAME joins takes that were danced together
        <input id="takes" placeholder="leader_1+follower_1, leader_2+follower_2" .value=${takes}
          @change=${(event: Event) => this.change({ takes: inputValue(event), label: undefined })} /></label></details>
      ${
        this.choreography
          ? html`<p>${this.choreography.movements} movements of ${this.choreography.meter} beats in ${this.choreography.nodes.length} nodes,
        ${this.choreography.tempo.toFixed(0)} beats per minute.
        ${
          Object.keys(this.choreography.left_out).length
            ? html`<span class="faint">Not used: ${Object.entries(this.choreography.left_out)
                .map(([name, why]) => `${name} (${why})`)
                .join("; ")}</span>`
            : ""
        }</p>`
          : ""
      }</section>`;
  }

  private musicSection() {
    const fields = settingsFields("dance", SHOWN);
    const set = (event: Event) => this.setTempo(Number(inputValue(event)));
    const settled = () => {
      if (!this.live && this.query.music === "tune") this.change({ tempo_bpm: this.tempo });
    };
    return html`<section><h2>Music</h2>
      <div class="drop" @dragover=${(event: DragEvent) => event.preventDefault()}
        @drop=${(event: DragEvent) => {
          event.preventDefault();
          event.stopPropagation();
          void this.choose(event.dataTransfer?.files[0]);
        }}>
        <label>Drop a MIDI or audio file here, or choose one
          <input id="song" type="file" accept=".mid,.midi,.kar,.wav,.mp3,.ogg,.flac"
            @change=${(event: Event) => this.choose((event.target as HTMLInputElement).files?.[0])} /></label></div>
      ${
        this.music && this.query.music !== "tune"
          ? html`<p>${this.music.name}: ${this.music.bpm.toFixed(0)} beats per minute,
        ${this.music.meter} in a bar, ${this.music.seconds.toFixed(0)} s</p>`
          : ""
      }
      <label>Tempo of the generated tune and of the live dance: ${this.tempo} beats per minute
        <input id="tempo" type="range" min=${SLOWEST} max=${FASTEST} .value=${String(this.tempo)} @input=${set} @change=${settled} /></label>
      <div class="row">
        <loom-settings-form .fields=${fields} .given=${fromAddress(fields, this.query)} .labels=${{ synced: "on the beat" }}
          @settings=${(event: CustomEvent<Given>) => this.change({ seed: undefined, synced: undefined, ...toAddress(event.detail) })}></loom-settings-form>
        <button aria-pressed=${this.muted} @click=${() => this.mute()}>${this.muted ? "Muted" : "Sound on"}</button>
      </div>
      <div class="row">
        <button id="dance" class="main" ?disabled=${!this.choreography} @click=${() => this.danceToTune()}>Dance to a tune</button>
        <button id="follow" ?disabled=${!this.choreography} aria-pressed=${Boolean(this.live)} @click=${() => this.followPointer()}>
          ${this.live ? "Stop following" : "Follow the pointer"}</button>
      </div></section>`;
  }

  private result() {
    if (!this.dance || !this.music) return "";
    const { beats_total: total, beats_within_one_frame: on } = this.dance;
    return html`<section><h2>The dance</h2>
      <p id="on-time"><b class=${on >= 0.95 * total ? "good" : "off"}>${on} of ${total}</b> music beats have a motion beat within one frame.</p>
      <loom-beats .music=${this.dance.music_beats} .motion=${this.dance.motion_beats} .downbeats=${this.music.downbeats}
        .tolerance=${1 / this.dance.fps} .seconds=${this.music.seconds}></loom-beats>
      ${qualityLines(this.dance.quality)}
      <p class="path faint">${this.dance.nodes.join(" → ")}</p>
      <button @click=${() => this.attempt(() => download("dance.glb", "subjects/file", { body: { subject: this.subject(this.query), suffix: "glb" } }))}>Export GLB</button>
    </section>`;
  }

  render() {
    return html`${this.takesSection()}
      ${
        this.choreography
          ? this.musicSection()
          : html`<p class="faint">${this.music ? html`<b>${this.music.name}</b> is ready. ` : ""}Choose takes with dances, which are then cut into movements at their beats.</p>`
      }
      ${this.job ? html`<loom-progress .job=${this.job}></loom-progress>` : this.busy ? html`<p role="status">${this.busy}…</p>` : ""}
      ${this.live ? html`<p class="faint">Move the pointer over the floor, and the dancers follow it. The tempo slider takes effect immediately.</p>` : ""}
      ${this.result()}
      ${this.choreography && this.query.music ? this.codeLines() : ""}`;
  }
}
