// Dance view: takes danced to music, or live dancers that follow the pointer.

import { css, html, nothing } from "lit";
import { customElement, state } from "lit/decorators.js";
import { crowdMotions, wornQuery } from "../motion/motion";
import type { Choreography, DanceHead, Music } from "../net/types";
import { finished, getBytes, getJson, send, sendForArrays, type Job } from "../net/api";
import type { Turn } from "../net/turns";
import { settingsFields } from "../net/settings-schema";
import { pythonLiteral, shellWord } from "../page/command-line";
import "../page/code-line";
import { counted } from "../page/counts";
import { inputValue } from "../page/form-input";
import "../page/progress-line";
import { sharedStyles } from "../page/style";
import { namesOf } from "../page/take-picker";
import "../page/takes-choice";
import type { ChosenTakes } from "../page/takes-choice";
import "../page/verdict";
import { View } from "../page/view";
import { bodyOf, fromAddress, toAddress, type Given } from "../settings/fields";
import "../settings/settings-form";
import { LiveDance } from "./live-dance";
import { SoundTrack } from "./sound";

const SHOWN = ["seed", "synced"];
const SLOWEST = 40;
const FASTEST = 200;
const FEWEST_STEPS = 8; // below this, the steps say little
const ON_TIME = 0.8; // as in the quality report

@customElement("loom-dance-view")
export class DanceView extends View {
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
  private cutFrom = ""; // request of the choreography

  static styles = [
    sharedStyles,
    css`
    section { border-bottom: 1px solid var(--line); padding-bottom: 10px; margin-bottom: 10px; }
    section > * + * { margin-top: 8px; }
    details > * + * { margin-top: var(--space-2); } details input { width: 100%; }
    .good { color: var(--good); } .off { color: var(--warn); }
    .path { font: 12px ui-monospace, monospace; overflow-wrap: anywhere; max-height: 54px; overflow: auto; }
    .drop input { width: 100%; }
    .drop { border: 1px dashed var(--line); border-radius: 6px; padding: 8px; text-align: center; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["restored"], () => {
      this.shown = "";
      this.routeChanged(this.query);
    });
    this.watch(["song"], () => this.takeSong());
    this.takeSong();
  }

  /** Use a song dropped on the page. */
  private takeSong(): void {
    const { song } = this.studio.state;
    if (!song) return;
    this.studio.set({ song: null });
    void this.updateComplete.then(() => this.useSong(song));
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

  /** Synthesize the dance in the address: takes, music, seed. */
  protected routeChanged(query: Record<string, string>): void {
    const wanted = JSON.stringify(query);
    if (wanted === this.shown) return;
    this.shown = wanted;
    const turn = this.turns.begin("dance"); // ends the one before, and its jobs
    this.job = null;
    if (!query.label && !query.takes) {
      this.choreography = this.dance = null;
      this.busy = "";
      return;
    }
    void this.attempt(turn, async () => {
      try {
        await this.cut(query, turn);
        if (query.music) await this.perform(query, turn);
      } catch (error) {
        if (turn.current) this.shown = ""; // allows another attempt
        throw error;
      }
    });
  }

  protected characterChanged(): void {
    if (!this.dance) return;
    this.shown = "";
    this.routeChanged(this.studio.route.query);
  }

  private async attempt(turn: Turn, work: () => Promise<unknown>): Promise<void> {
    await this.studio.attempt(work);
    if (turn.current) this.busy = "";
  }

  private async cut(query: Record<string, string>, { signal }: Turn): Promise<void> {
    this.busy = "cutting movements";
    const takes = namesOf(query.takes).map((take) => take.split("+"));
    const label = query.label && !takes.length ? [query.label] : [];
    const settings = { label, ...(query.meter ? { meter: Number(query.meter) } : {}) };
    const wanted = JSON.stringify([takes, settings, this.studio.library.id]);
    if (this.choreography && wanted === this.cutFrom) return; // only the music has changed
    this.choreography = this.dance = null; // of other takes
    const job = await send("post", "dance/choreographies", { body: { takes, settings }, signal });
    this.choreography = await finished(job, (now) => (this.job = now), signal);
    this.cutFrom = wanted;
    this.tempo = Number(query.tempo_bpm) || Math.round(Math.min(Math.max(this.choreography!.tempo, SLOWEST), FASTEST));
  }

  private async perform(query: Record<string, string>, turn: Turn): Promise<void> {
    const { signal } = turn;
    this.busy = "dancing";
    this.stopSound();
    const music = await this.musicOf(query);
    turn.check();
    this.music = music;
    const body = this.performance(query);
    const job = await send("post", "dance/rehearsals", { body, signal });
    await finished(job, (now) => (this.job = now), signal);
    const message = await sendForArrays("dance/performances", { body, query: wornQuery(), signal });
    this.dance = message.meta;
    const { clock } = this.studio.stage;
    clock.pause();
    const motions = crowdMotions(message);
    this.studio.show(
      motions.map((motion) => ({ motion })),
      null,
      {
        title: `dance to ${music.name}`,
        several: motions.length > 1,
        body: () => this.subject(query),
        quality: this.dance.quality,
        score: {
          music: this.dance.music_beats,
          downbeats: music.downbeats,
          motion: this.dance.motion_beats,
          tolerance: 1 / this.dance.fps,
        },
        blocks: this.dance.movements.map(({ motion, start, end }) => ({ text: motion, start, end })),
        ...this.lines(),
      },
    );
    clock.seek(0);
    const sound = getBytes("dance/music/{key}/sound", { path: { key: music.id }, signal });
    this.track =
      (await SoundTrack.start(
        clock,
        sound,
        () => this.muted,
        () => turn.current,
      )) ?? this.track;
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

  private async useSong(file: File | undefined): Promise<void> {
    if (!file) return;
    const turn = this.turns.begin("song");
    await this.attempt(turn, async () => {
      this.busy = "analyzing the music";
      const music = await this.upload(file);
      turn.check();
      this.music = music;
      this.songs.set(music.id, file);
      this.change({ music: music.id, tempo_bpm: undefined });
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
    void this.studio.attempt(async () => {
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

  /** The command line and the Python code of the dance. */
  private lines(): { cli: string; python: string } {
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
    return {
      cli: `motionloom dance ${shellWord(lib)} ${tune ? `tune --tempo ${this.tempo}` : shellWord(song)} ${who}${bars} --seed ${shellWord(seed)}${loose ? " --unsynced" : ""} -o dance.glb`,
      python: `import motionloom as ml; ${tune ? "from motionloom.dance.music import tune; " : ""}dance = ml.Library(${pythonLiteral(lib)}).choreography(${steps.join(", ")}).dance(${musicCode}, seed=${Number(seed)}${loose ? ", synced=False" : ""})`,
    };
  }

  /** Dance with all takes that have a rhythm. */
  private async chooseRhythmic(): Promise<void> {
    const turn = this.turns.begin("dance"); // instead of the dance that is being made
    this.shown = "";
    await this.attempt(turn, async () => {
      const { signal } = turn;
      const names = Object.keys(
        await finished(await send("post", "rhythms", { signal }), (now) => (this.job = now), signal),
      );
      if (names.length) this.change({ takes: names.join(","), label: undefined });
      else this.studio.notify("No takes in this library have a rhythm.");
    });
  }

  private readonly choose = ({ detail }: CustomEvent<ChosenTakes>): void =>
    this.change({ label: detail.label, takes: detail.only });

  private takesSection() {
    const { label, takes = "" } = this.query;
    const { choreography } = this;
    const unused = Object.entries(choreography?.left_out ?? {});
    return html`<section><h2>Dance to music</h2>
      <loom-takes-choice .studio=${this.studio} .chosen=${{ label, only: takes }} verb="Dance with" @choose=${this.choose}></loom-takes-choice>
      <div class="row"><button id="rhythmic" title="Use all takes with a rhythm" @click=${() => void this.chooseRhythmic()}>All takes with a rhythm</button></div>
      ${
        choreography
          ? html`<p id="movements">${counted(choreography.movements, "movement")} of ${choreography.meter} beats from ${counted(this.takeCount, "take")}${
              unused.length
                ? html`; <span class="faint" title=${unused.map(([name, why]) => `${name}: ${why}`).join("\n")}>${counted(unused.length, "take")} not used</span>`
                : nothing
            }</p>`
          : nothing
      }</section>`;
  }

  /** Number of takes that the movements come from. */
  private get takeCount(): number {
    const named = this.choreography!.nodes.flatMap((node) => node.members.map((one) => one.replace(/:[^:]*$/, "")));
    return new Set(named).size;
  }

  private expert() {
    const { takes = "" } = this.query;
    const fields = settingsFields("dance", SHOWN);
    const { choreography, dance } = this;
    const unused = Object.entries(choreography?.left_out ?? {});
    return html`<details class="expert"><summary>Expert</summary>
      <label class="faint">Couples: NAME+NAME joins takes that were danced together
        <input id="takes" placeholder="leader_1+follower_1, leader_2+follower_2" .value=${takes}
          @change=${(event: Event) => this.change({ takes: inputValue(event), label: undefined })} /></label>
      <loom-settings-form .fields=${fields} .given=${fromAddress(fields, this.query)} .labels=${{ synced: "on the beat" }}
          @settings=${(event: CustomEvent<Given>) => this.change({ seed: undefined, synced: undefined, ...toAddress(event.detail) })}></loom-settings-form>
      ${choreography ? html`<p class="faint">${counted(choreography.nodes.length, "node")}, ${choreography.tempo.toFixed(0)} beats per minute in the takes.</p>` : nothing}
      ${unused.length ? html`<p class="faint">Not used: ${unused.map(([name, why]) => `${name} (${why})`).join("; ")}</p>` : nothing}
      ${dance ? html`<p class="path faint">${dance.nodes.join(" → ")}</p>` : nothing}</details>`;
  }

  private musicSection() {
    const set = (event: Event) => this.setTempo(Number(inputValue(event)));
    const settled = () => {
      if (!this.live && this.query.music === "tune") this.change({ tempo_bpm: this.tempo });
    };
    return html`<section>
      <div class="drop" @dragover=${(event: DragEvent) => event.preventDefault()}
        @drop=${(event: DragEvent) => {
          event.preventDefault();
          event.stopPropagation();
          void this.useSong(event.dataTransfer?.files[0]);
        }}>
        <label>Drop a MIDI or audio file here, or choose one
          <input id="song" type="file" accept=".mid,.midi,.kar,.wav,.mp3,.ogg,.flac"
            @change=${(event: Event) => this.useSong((event.target as HTMLInputElement).files?.[0])} /></label></div>
      ${
        this.music && this.query.music !== "tune"
          ? html`<p>${this.music.name}: ${this.music.bpm.toFixed(0)} beats per minute,
        ${this.music.meter} in a bar, ${this.music.seconds.toFixed(0)} s</p>`
          : ""
      }
      <label>Tempo of the generated tune and of the live dance: ${this.tempo} beats per minute
        <input id="tempo" type="range" min=${SLOWEST} max=${FASTEST} .value=${String(this.tempo)} @input=${set} @change=${settled} /></label>
      <div class="row">
        <button id="dance" class="main" ?disabled=${!this.choreography} @click=${() => this.danceToTune()}>Dance to a tune</button>
        <button id="follow" ?disabled=${!this.choreography} aria-pressed=${Boolean(this.live)} @click=${() => this.followPointer()}>
          ${this.live ? "Stop following" : "Follow the pointer"}</button>
        <button aria-pressed=${this.muted} @click=${() => this.mute()}>${this.muted ? "Muted" : "Sound on"}</button>
      </div></section>`;
  }

  /** One figure about the beats: of the steps, or of the whole body if there are few steps. */
  private onTime(dance: DanceHead) {
    const { landings_on_beat: steps, landings_total: all } = dance.beat_fit;
    const [on, total, what] =
      steps !== null && all !== null && all >= FEWEST_STEPS
        ? [steps, all, "steps land on a beat"]
        : [dance.beats_within_one_frame, dance.beats_total, "beats have a movement within one frame"];
    const share = Math.round((100 * on) / Math.max(total, 1));
    return html`<p id="on-time" title="${on} of ${total}"><b class=${on >= ON_TIME * total ? "good" : "off"}>${share} %</b> of ${total} ${what}</p>`;
  }

  private result() {
    const { dance } = this;
    if (!dance || !this.music) return nothing;
    return html`<section><h2>The dance</h2>
      ${this.onTime(dance)}
      <loom-verdict .studio=${this.studio} .quality=${dance.quality}>
        <p class="faint">${dance.beats_within_one_frame} of ${dance.beats_total} beats have a movement of the whole body within one frame.</p></loom-verdict>
      <p class="faint">Beats and movements are on the timeline; download the dance below the stage.</p>
    </section>`;
  }

  render() {
    return html`${this.takesSection()}
      ${
        this.choreography
          ? this.musicSection()
          : html`<p class="faint">${this.music ? html`<b>${this.music.name}</b> is ready. ` : nothing}Choose takes with dances, which are then cut into movements at their beats.</p>`
      }
      ${this.job ? html`<loom-progress .job=${this.job}></loom-progress>` : this.busy ? html`<p role="status">${this.busy}…</p>` : nothing}
      ${this.live ? html`<p class="faint">Move the pointer over the floor, and the dancers follow it. The tempo slider takes effect immediately.</p>` : nothing}
      ${this.result()}${this.expert()}
      ${this.choreography && this.query.music ? html`<loom-code cli=${this.lines().cli} python=${this.lines().python}></loom-code>` : nothing}`;
  }
}
