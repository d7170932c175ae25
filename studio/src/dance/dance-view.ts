// Dance: movements of some takes, music, and both together; or live, after the pointer.

import { css, html } from "lit";
import { customElement, state } from "lit/decorators.js";
import { download, finished, getBytes, getJson, send, sendForArrays } from "../net/api";
import type { Choreography, DanceHead, Music } from "../net/answers";
import "./beat-strip";
import { LiveDance } from "./live-dance";
import { look } from "../page/style";
import { literal, word } from "../page/command-line";
import { SoundTrack } from "./sound";
import { motionsFrom } from "../motion/motion";
import { View } from "../page/view";

const SLOWEST = 40;
const FASTEST = 200;

@customElement("loom-dance-view")
export class DanceView extends View {
  @state() private steps: Choreography | null = null;
  @state() private music: Music | null = null;
  @state() private danced: DanceHead | null = null;
  @state() private busy = "";
  @state() private tempo = 0;
  @state() private quiet = false;
  @state() private live: LiveDance | null = null;
  private track: SoundTrack | null = null;
  /** Songs of this machine by the ids that the server gave them: it forgets them when it restarts. */
  private readonly songs = new Map<string, File>();
  private shown = "";

  static styles = [
    look,
    css`
    section { border-bottom: 1px solid var(--line); padding-bottom: 10px; margin-bottom: 10px; }
    section > * + * { margin-top: 8px; }
    .grow { flex: 1; min-width: 0; }
    input[type="number"] { width: 76px; }
    .good { color: var(--good); } .off { color: var(--bad); }
    .path { font: 12px ui-monospace, monospace; overflow-wrap: anywhere; max-height: 54px; overflow: auto; }
    .drop input { width: 100%; }
    .drop { border: 1px dashed var(--line); border-radius: 6px; padding: 8px; text-align: center; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.follow("frame", () => this.tick(), this.studio.stage);
    this.follow("found", () => {
      this.shown = "";
      this.routed(this.query);
    });
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.silence();
  }

  private get query() {
    return this.studio.route.query;
  }

  private silence(): void {
    this.track?.release();
    this.live?.stop();
    this.track = this.live = null;
  }

  private tick(): void {
    const strip = this.renderRoot.querySelector<HTMLElement & { time: number }>("loom-beats");
    if (strip) strip.time = this.studio.stage.clock.time;
  }

  /** The address says what is danced, to which music, with which seed. */
  protected routed(query: Record<string, string>): void {
    const wanted = JSON.stringify(query);
    if (wanted === this.shown || (!query.within && !query.takes)) return;
    this.shown = wanted;
    const current = () => wanted === this.shown && this.isConnected; // or something else is wanted by now
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

  private async attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.studio.say(error);
    } finally {
      this.busy = "";
    }
  }

  private async cut(query: Record<string, string>): Promise<void> {
    this.busy = "cutting movements";
    const takes = (query.takes ?? "")
      .split(",")
      .filter(Boolean)
      .map((take) => take.trim().split("+"));
    const within = query.within && !takes.length ? [query.within] : [];
    const job = await send("post", "dance/choreographies", {
      body: { takes, within, meter: query.meter ? Number(query.meter) : null },
    });
    this.steps = await finished(job, (one) => (this.busy = `${one.title}: ${one.done} of ${one.total}`));
    this.tempo = Number(query.tempo) || Math.round(Math.min(Math.max(this.steps!.tempo, SLOWEST), FASTEST));
  }

  private async perform(query: Record<string, string>, current: () => boolean): Promise<void> {
    this.busy = "dancing";
    this.silence();
    const music = await this.musicOf(query);
    if (!current()) return;
    this.music = music;
    const message = await sendForArrays("dance/performances", { body: this.asked(query) });
    if (!current()) return;
    this.danced = message.meta;
    const { clock } = this.studio.stage;
    clock.pause();
    this.studio.cast(motionsFrom(message).map((motion) => ({ motion })));
    clock.seek(0);
    const track = await SoundTrack.load(clock, getBytes("dance/music/{key}/sound", { path: { key: music.id } }));
    if (!current()) {
      track.release();
      return;
    }
    this.track = track;
    track.muted = this.quiet;
    track.bind();
    clock.play();
  }

  private asked(query: Record<string, string>) {
    return {
      choreography: this.steps!.id,
      music: this.music!.id,
      seed: Number(query.seed ?? 0),
      synced: query.synced !== "no",
    };
  }

  private async musicOf(query: Record<string, string>): Promise<Music> {
    if (query.music === "tune") {
      return send("post", "dance/tunes", { body: { meter: this.steps!.meter, tempo: this.tempo } });
    }
    const song = this.songs.get(query.music);
    return song ? this.listened(song) : getJson("dance/music/{key}", { path: { key: query.music } });
  }

  private listened(song: File): Promise<Music> {
    return send("put", "dance/music/{filename}", { path: { filename: song.name }, body: song });
  }

  // --- what people do -----------------------------------------------------------------

  private change(values: Record<string, string | number | undefined>): void {
    this.studio.go("dance", { ...this.query, ...values });
  }

  private async choose(file: File | undefined): Promise<void> {
    if (!file) return;
    await this.attempt(async () => {
      this.busy = "listening to the music";
      this.music = await this.listened(file);
      this.songs.set(this.music.id, file);
      this.change({ music: this.music.id, tempo: undefined });
    });
  }

  private danceToTune(): void {
    this.shown = ""; // also if the address stays the same: from the beginning
    this.change({ music: "tune", tempo: this.tempo });
    this.routed(this.query);
  }

  private followPointer(): void {
    if (this.live) {
      this.silence();
      this.studio.stage.clock.pause();
      return;
    }
    this.silence();
    this.danced = null;
    const live = new LiveDance(
      this.studio,
      this.steps!.id,
      this.steps!.meter,
      this.tempo,
      Number(this.query.seed ?? 0),
    );
    live.muted = this.quiet;
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
    this.quiet = !this.quiet;
    if (this.track) this.track.muted = this.quiet;
    if (this.live) this.live.muted = this.quiet;
  }

  // --- what they see ------------------------------------------------------------------

  private codeLines() {
    const { within = "", takes, meter, music, seed = "0", synced } = this.query;
    const lib = this.studio.library.path;
    const tune = music === "tune";
    const loose = synced === "no";
    const names = (takes ?? "")
      .split(",")
      .filter(Boolean)
      .map((take) => take.trim());
    const song = this.songs.get(music)?.name ?? this.music?.name ?? "song.mid";
    const who = names.length ? `--takes ${word(names.join(","))}` : `--within ${word(within)}`;
    const bars = meter ? ` --meter ${word(meter)}` : "";
    const take = (name: string) =>
      name.includes("+") ? `[${name.split("+").map(literal).join(", ")}]` : literal(name);
    const steps = [
      names.length ? `takes=[${names.map(take).join(", ")}]` : `within=${literal(within)}`,
      ...(meter ? [`meter=${Number(meter)}`] : []),
    ];
    const heard = tune ? `tune(meter=${this.steps!.meter}, tempo_bpm=${this.tempo})` : literal(song);
    return html`<loom-code
      cli=${`motionloom dance ${word(lib)} ${tune ? `tune --tempo ${this.tempo}` : word(song)} ${who}${bars} --seed ${word(seed)}${loose ? " --unsynced" : ""} -o dance.glb`}
      python=${`import motionloom as ml; ${tune ? "from motionloom.rhythm.music.tunes import tune; " : ""}dance = ml.Library(${literal(lib)}).choreography(${steps.join(", ")}).dance(${heard}, seed=${Number(seed)}${loose ? ", synced=False" : ""})`}></loom-code>`;
  }

  private chosen() {
    const { within = "", takes = "" } = this.query;
    return html`<section><h2>Who dances</h2>
      <div class="row">
        <select id="label" class="grow" aria-label="Label of the takes" .value=${within}
          @change=${(event: Event) => this.change({ within: (event.target as HTMLSelectElement).value, takes: undefined })}>
          <option value="">takes with the label…</option>
          ${[...this.studio.labels.keys()].map((label) => html`<option ?selected=${label === within}>${label}</option>`)}</select>
      </div>
      <label class="faint">or takes by name; NAME+NAME dance together
        <input id="takes" placeholder="leader_1+follower_1, leader_2+follower_2" .value=${takes}
          @change=${(event: Event) => this.change({ takes: (event.target as HTMLInputElement).value, within: undefined })} /></label>
      ${
        this.steps
          ? html`<p>${this.steps.movements} movements of ${this.steps.meter} beats in ${this.steps.nodes.length} nodes,
        ${this.steps.tempo.toFixed(0)} beats a minute.
        ${
          Object.keys(this.steps.left_out).length
            ? html`<span class="faint">Left out: ${Object.entries(this.steps.left_out)
                .map(([name, why]) => `${name} (${why})`)
                .join("; ")}</span>`
            : ""
        }</p>`
          : ""
      }</section>`;
  }

  private musical() {
    const set = (event: Event) => this.setTempo(Number((event.target as HTMLInputElement).value));
    const settled = () => {
      if (!this.live && this.query.music === "tune") this.change({ tempo: this.tempo });
    };
    return html`<section><h2>Music</h2>
      <div class="drop" @dragover=${(event: DragEvent) => event.preventDefault()}
        @drop=${(event: DragEvent) => {
          event.preventDefault();
          event.stopPropagation();
          void this.choose(event.dataTransfer?.files[0]);
        }}>
        <label>Drop a MIDI or sound file here, or choose one
          <input id="song" type="file" accept=".mid,.midi,.kar,.wav,.mp3,.ogg,.flac"
            @change=${(event: Event) => this.choose((event.target as HTMLInputElement).files?.[0])} /></label></div>
      ${
        this.music && this.query.music !== "tune"
          ? html`<p>${this.music.name}: ${this.music.bpm.toFixed(0)} beats a minute,
        ${this.music.meter} in a bar, ${this.music.seconds.toFixed(0)} s</p>`
          : ""
      }
      <label>Tempo of the made-up tune, and of the live dance: ${this.tempo} beats a minute
        <input id="tempo" type="range" min=${SLOWEST} max=${FASTEST} .value=${String(this.tempo)} @input=${set} @change=${settled} /></label>
      <div class="row">
        <label>Seed <input id="seed" type="number" min="0" .value=${this.query.seed ?? "0"}
          @change=${(event: Event) => this.change({ seed: (event.target as HTMLInputElement).value })} /></label>
        <label><span>On the beat</span><input type="checkbox" ?checked=${this.query.synced !== "no"}
          @change=${(event: Event) => this.change({ synced: (event.target as HTMLInputElement).checked ? undefined : "no" })} /></label>
        <button aria-pressed=${this.quiet} @click=${() => this.mute()}>${this.quiet ? "Muted" : "Sound on"}</button>
      </div>
      <div class="row">
        <button id="dance" class="main" ?disabled=${!this.steps} @click=${() => this.danceToTune()}>Dance to a tune</button>
        <button id="follow" ?disabled=${!this.steps} aria-pressed=${Boolean(this.live)} @click=${() => this.followPointer()}>
          ${this.live ? "Stop following" : "Follow the pointer"}</button>
      </div></section>`;
  }

  private result() {
    if (!this.danced || !this.music) return "";
    const { beats_total: total, beats_within_one_frame: on } = this.danced;
    return html`<section><h2>The dance</h2>
      <p id="on-time"><b class=${on >= 0.95 * total ? "good" : "off"}>${on} of ${total}</b> beats of the music are danced within a frame.</p>
      <loom-beats .music=${this.danced.music_beats} .motion=${this.danced.motion_beats} .downbeats=${this.music.downbeats}
        .tolerance=${1 / this.danced.fps} .seconds=${this.music.seconds}></loom-beats>
      <p class="path faint">${this.danced.nodes.join(" → ")}</p>
      <button @click=${() => this.attempt(() => download("dance.glb", "dance/performances/file", { body: this.asked(this.query) }))}>Export GLB</button>
    </section>`;
  }

  render() {
    return html`${this.chosen()}
      ${this.steps ? this.musical() : html`<p class="faint">Choose takes that dance; their beats are found, and they are cut into movements.</p>`}
      ${this.busy ? html`<p role="status">${this.busy}…</p>` : ""}
      ${this.live ? html`<p class="faint">Move the pointer over the floor: the dance goes after it. The tempo slider acts at once.</p>` : ""}
      ${this.result()}
      ${this.steps && this.query.music ? this.codeLines() : ""}`;
  }
}
