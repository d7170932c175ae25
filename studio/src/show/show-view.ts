// Show it: act in front of the camera, or drop a film, and the library is searched for it. Pictures stay in the
// browser; landmarks go to the studio's server.

import { css, html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { fetchFigures, frameNumbers, subsample, type Figure } from "../motion/aligned";
import { finished, send, type Answer, type Job } from "../net/api";
import { Latest } from "../net/live";
import { TurnEnded, type Turn } from "../net/turns";
import "../page/code-line";
import { counted } from "../page/counts";
import { inputValue } from "../page/form-input";
import "../page/progress-line";
import { sharedStyles } from "../page/style";
import { View } from "../page/view";
import "../search/figure-loop";
import { landmarksOf, seenCount, type ActedPose } from "./acted";
import { loadEstimator, type Estimator, type Pose } from "./estimator";

type Found = Answer<"post", "shown">;
type Phase = "start" | "loading" | "live" | "countdown" | "acting" | "reading" | "acted";

const COUNTDOWN = 3; // seconds
const LONGEST_ACT = 20; // seconds
const LONGEST_FILM = 60; // seconds
const FILM_RATE = 30; // frames per second that are estimated
const STALLED = 20_000; // milliseconds without the next picture of a film
const SHORTEST = 0.3; // seconds
const SAMPLES = 40; // poses per figure
const LEAST_SEEN = 0.5; // visibility of a point that is drawn
const NOBODY = "No person was found. The whole body must be visible, at least a quarter of the picture high.";
// Points that bones connect; left is drawn in one color and right in another one.
const BONES: readonly (readonly [number, number])[] = [
  [11, 12], [11, 13], [13, 15], [12, 14], [14, 16], [11, 23], [12, 24], [23, 24], [23, 25], [25, 27], [24, 26], [26, 28],
  [27, 31], [28, 32], [0, 11], [0, 12],
]; // prettier-ignore

@customElement("loom-show-view")
export class ShowView extends View {
  @state() private phase: Phase = "start";
  @state() private problem = "";
  @state() private left = 0; // seconds of the countdown, or share of a film
  @state() private trim: [number, number] = [0, 0];
  @state() private mirror = false;
  @state() private found: Found | null = null;
  @state() private figures: (Figure | undefined)[] = [];
  @state() private current = -1;
  @state() private job: Job | null = null;
  @state() private name = "";
  /** The performance, from time 0. */
  private acted: ActedPose[] = [];
  private camera: MediaStream | null = null;
  private film = ""; // address of the dropped film
  private readonly searching = new Latest<null>(() => this.search());

  @query("video") private video!: HTMLVideoElement;
  @query("canvas") private canvas!: HTMLCanvasElement;

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; gap: 10px; align-content: start; grid-template-columns: minmax(0, 1fr); }
    .picture { position: relative; background: var(--raised); border: 1px solid var(--line); border-radius: 8px; overflow: hidden; aspect-ratio: 4 / 3; display: grid; }
    .picture > * { grid-area: 1 / 1; width: 100%; height: 100%; min-width: 0; min-height: 0; }
    video { object-fit: contain; background: #000; } canvas { object-fit: contain; pointer-events: none; z-index: 1; }
    .selfie video, .selfie canvas { transform: scaleX(-1); }
    .over { z-index: 2; place-self: center; width: auto; height: auto; font-size: 80px; font-weight: 700; color: #fff; text-shadow: 0 2px 14px #000; }
    .offer { z-index: 2; place-content: center; display: grid; gap: 12px; justify-items: center; text-align: center; padding: 20px; box-sizing: border-box; }
    .hidden { visibility: hidden; }
    .trim { display: grid; gap: 2px; } .trim label { display: grid; grid-template-columns: 44px minmax(0, 1fr) 48px; gap: 8px; align-items: center; }
    ol { list-style: none; margin: 0; padding: 0; display: grid; gap: 6px; grid-template-columns: repeat(auto-fill, minmax(120px, 1fr)); }
    li { background: var(--card); border: 1px solid var(--line); border-radius: 7px; min-width: 0; overflow: hidden; }
    li.chosen { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
    .open { all: unset; box-sizing: border-box; display: block; width: 100%; cursor: pointer; padding: 4px 6px; }
    .open:focus-visible { outline: 2px solid var(--cool); outline-offset: -3px; border-radius: 6px; }
    loom-figure { height: 110px; }
    .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-size: 12px; font-weight: 600; }
    .faint { font-size: 12px; } .problem { color: var(--bad); }
    .keep input { flex: 1; min-width: 90px; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    // A film that is dropped on this view is a query, not a file to import.
    this.listen(this, "drop", (event) => this.dropped(event as DragEvent));
    this.listen(this, "dragover", (event) => event.preventDefault());
    this.watch(["film"], () => this.takeFilm());
    this.takeFilm();
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.closePicture();
    this.phase = "start";
  }

  // --- pictures ---------------------------------------------------------------------------------

  /** Load the networks and prepare the library; both happen once. */
  private async ready(turn: Turn): Promise<Estimator> {
    this.phase = "loading";
    const estimator = await loadEstimator();
    turn.check();
    estimator.restart();
    return estimator;
  }

  private async prepare(turn: Turn): Promise<void> {
    const job = await send("post", "shown/prepare", { signal: turn.signal });
    if (job) await finished(job, (now) => (this.job = now), turn.signal);
    this.job = null;
  }

  /** Run work on pictures; a failure is one line, and everything is closed. */
  private async pictures(work: (turn: Turn) => Promise<void>): Promise<void> {
    const turn = this.turns.begin("pictures");
    this.closePicture();
    this.forget();
    try {
      await work(turn);
    } catch (error) {
      if (!turn.current || error instanceof TurnEnded) return;
      this.closePicture();
      this.phase = "start";
      this.problem = explained(error);
    }
  }

  private readonly useCamera = () =>
    this.pictures(async (turn) => {
      const devices = navigator.mediaDevices as MediaDevices | undefined;
      if (!devices?.getUserMedia)
        throw new Error("This page gets no camera: browsers allow it on localhost and on https only. Drop a film.");
      const camera = await devices.getUserMedia({
        video: { width: { ideal: 640 }, height: { ideal: 480 } },
        audio: false,
      });
      if (!turn.current) {
        for (const track of camera.getTracks()) track.stop();
        return;
      }
      this.camera = camera;
      const preparing = this.prepare(turn);
      preparing.catch(() => undefined); // it is awaited below
      const estimator = await this.ready(turn);
      this.video.srcObject = camera;
      await this.video.play();
      await estimator.pose(this.video); // the first picture takes longest
      await preparing;
      turn.check();
      this.phase = "live";
      await this.follow(estimator, turn);
    });

  /** Estimate the camera's pictures, and keep the poses while acting. */
  private async follow(estimator: Estimator, turn: Turn): Promise<void> {
    const { camera } = this;
    while (turn.current && this.camera === camera) {
      if (!camera?.getVideoTracks().some((track) => track.readyState === "live"))
        throw new Error("The camera was disconnected.");
      const now = performance.now();
      const pose = await estimator.pose(this.video);
      if (!turn.current || this.camera !== camera) return;
      this.draw(pose);
      if (this.phase === "countdown") {
        this.left = Math.ceil(this.begins - now / 1000);
        if (this.left <= 0) this.phase = "acting";
      }
      if (this.phase === "acting") {
        const time = now / 1000 - this.begins;
        if (time >= 0) this.acted.push({ time, pose });
        this.left = time;
        if (time >= LONGEST_ACT) this.stop();
      }
      await pictureShown();
    }
  }

  private begins = 0; // seconds of the clock at which the action begins

  private readonly act = (): void => {
    this.forget();
    this.begins = performance.now() / 1000 + COUNTDOWN;
    this.left = COUNTDOWN;
    this.phase = "countdown";
  };

  private readonly stop = (): void => {
    this.phase = "live";
    this.ended();
  };

  /** Show the performance, and search for it. */
  private ended(): void {
    if (seenCount(this.acted) < 2) {
      this.acted = [];
      this.problem = NOBODY;
      return;
    }
    const times = this.acted.filter(({ pose }) => pose).map(({ time }) => time);
    if (times[times.length - 1] - times[0] < SHORTEST) {
      this.acted = [];
      this.problem = "That was too short. Act for half a second at least.";
      return;
    }
    this.trim = [times[0], times[times.length - 1]];
    this.searching.submit(null);
  }

  private readonly chooseFilm = (event: Event): void => {
    const input = event.target as HTMLInputElement;
    const [file] = input.files ?? [];
    input.value = "";
    if (file) void this.readFilm(file);
  };

  private dropped(event: DragEvent): void {
    const [file] = event.dataTransfer?.files ?? [];
    if (!file) return;
    event.preventDefault();
    event.stopPropagation();
    void this.readFilm(file);
  }

  /** Search with a film that was dropped elsewhere on the page. */
  private takeFilm(): void {
    const { film } = this.studio.state;
    if (!film) return;
    this.studio.set({ film: null });
    void this.updateComplete.then(() => this.readFilm(film));
  }

  private readFilm(file: File): Promise<void> {
    return this.pictures(async (turn) => {
      const preparing = this.prepare(turn);
      preparing.catch(() => undefined); // it is awaited below
      const { video } = this;
      this.film = URL.createObjectURL(file);
      video.srcObject = null;
      this.phase = "loading";
      const opened = eventOf(video, "loadeddata", turn);
      video.src = this.film;
      await opened;
      const { duration } = video;
      if (!Number.isFinite(duration) || duration <= 0 || !video.videoWidth)
        throw new Error(`${file.name} has no pictures.`);
      if (duration > LONGEST_FILM)
        throw new Error(
          `The film is ${lengthText(duration)} long; at most ${LONGEST_FILM} s are read here. Cut out the action.`,
        );
      const estimator = await this.ready(turn);
      this.phase = "reading";
      for (let time = 0; time < duration; time += 1 / FILM_RATE) {
        const sought = eventOf(video, "seeked", turn);
        video.currentTime = time;
        await sought;
        const pose = await estimator.pose(video);
        turn.check();
        this.acted.push({ time, pose });
        this.draw(pose);
        this.left = time / duration;
      }
      await preparing;
      turn.check();
      this.phase = "acted";
      this.name = file.name.replace(/\.[^.]*$/, "");
      this.ended();
      if (this.problem) this.again();
    });
  }

  private draw(pose: Pose | null): void {
    const { canvas, video } = this;
    const [width, height] = [video.videoWidth || 640, video.videoHeight || 480];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d")!;
    context.clearRect(0, 0, width, height);
    if (!pose) return;
    const longer = Math.max(width, height);
    const at = (point: number): [number, number] => [
      pose.image[2 * point] * longer + width / 2,
      pose.image[2 * point + 1] * longer + height / 2,
    ];
    context.lineWidth = longer / 110;
    context.lineCap = "round";
    for (const [a, b] of BONES) {
      if (Math.min(pose.visibility[a], pose.visibility[b]) < LEAST_SEEN) continue;
      context.strokeStyle = b % 2 ? "#4f9fd8" : "#e0823d"; // odd points are on the left
      context.beginPath();
      context.moveTo(...at(a));
      context.lineTo(...at(b));
      context.stroke();
    }
  }

  private closePicture(): void {
    for (const track of this.camera?.getTracks() ?? []) track.stop();
    this.camera = null;
    const video = this.renderRoot?.querySelector("video");
    if (video) {
      video.srcObject = null;
      video.removeAttribute("src");
    }
    if (this.film) URL.revokeObjectURL(this.film);
    this.film = "";
    const canvas = this.renderRoot?.querySelector("canvas");
    canvas?.getContext("2d")?.clearRect(0, 0, canvas.width, canvas.height);
  }

  /** Close camera or film, and forget the performance. */
  private readonly again = (): void => {
    const { problem } = this;
    this.turns.end("pictures");
    this.closePicture();
    this.forget();
    this.problem = problem;
    this.phase = "start";
  };

  private forget(): void {
    this.turns.end("search");
    this.acted = [];
    this.found = null;
    this.figures = [];
    this.current = -1;
    this.problem = "";
  }

  // --- matches ----------------------------------------------------------------------------------

  private landmarks() {
    return landmarksOf(this.acted, this.trim[0], this.trim[1], this.mirror);
  }

  private async search(): Promise<void> {
    const turn = this.turns.begin("search");
    try {
      const found = await send("post", "shown", { body: this.landmarks(), signal: turn.signal });
      turn.check();
      this.problem = "";
      this.found = found;
      this.figures = [];
      const first = found.matches[0];
      if (!first) return;
      void this.show(0);
      const clips = found.matches.map((one) => ({
        motion: one.motion,
        frames: subsample(frameNumbers(one.start_frame, one.end_frame), SAMPLES),
      }));
      const onto = { motion: first.motion, frame: first.start_frame };
      this.figures = await fetchFigures(onto, clips, turn.signal);
    } catch (error) {
      if (turn.current && !(error instanceof TurnEnded)) this.problem = explained(error);
    }
  }

  private async show(place: number): Promise<void> {
    const one = this.found?.matches[place];
    if (!one) return;
    this.current = place;
    await this.studio.attempt(async () => {
      await this.studio.open(one.motion);
      if (this.found?.matches[this.current] !== one || this.studio.take !== one.motion) return;
      this.studio.select({ motion: one.motion, start: one.start_frame, end: one.end_frame });
      this.studio.stage.clock.seek(this.studio.lead!.timeOf(one.start_frame));
      this.studio.stage.clock.play();
    });
  }

  private trimmed(which: 0 | 1, value: number): void {
    const [start, end] = this.trim;
    this.trim = which === 0 ? [Math.min(value, end - SHORTEST), end] : [start, Math.max(value, start + SHORTEST)];
    if (!this.camera) {
      const time = this.trim[which];
      this.video.currentTime = time;
      const near = this.acted.reduce((a, b) => (Math.abs(b.time - time) < Math.abs(a.time - time) ? b : a));
      this.draw(near.pose);
    }
    this.searching.submit(null);
  }

  private readonly keep = (): Promise<unknown> =>
    this.studio.attempt(async () => {
      const name = this.name.trim() || "acted";
      const body = { landmarks: this.landmarks(), name, labels: [] };
      const kept = await send("post", "shown/keep", { body });
      await this.studio.open(kept.name);
    });

  // --- the page ---------------------------------------------------------------------------------

  private offer() {
    return html`<div class="offer">
      <div>Act it, and find it in the library.<br><span class="faint">One person, whole body. Or drop a film here.</span></div>
      <button id="camera" class="main" @click=${this.useCamera}>Use the camera</button>
      <label class="row"><span class="faint">or a film</span><input id="film" type="file" accept="video/*,.mkv" @change=${this.chooseFilm} /></label>
    </div>`;
  }

  private over() {
    const { phase, left } = this;
    if (phase === "start") return this.offer();
    if (phase === "loading") return html`<div class="offer" role="status">loading the pose estimation…</div>`;
    if (phase === "countdown") return html`<div class="over" role="timer">${left}</div>`;
    return nothing;
  }

  private buttons() {
    const { phase, left } = this;
    if (phase === "start" || phase === "loading") return nothing;
    return html`<div class="row">
      ${phase === "live" ? html`<button id="act" class="main" @click=${this.act}>${this.acted.length ? "Act again" : "Act"} <span>(in ${COUNTDOWN} s)</span></button>` : nothing}
      ${phase === "acting" ? html`<button id="stop" class="main" @click=${this.stop}>Stop</button><span role="timer">${left.toFixed(1)} s of at most ${LONGEST_ACT} s</span>` : nothing}
      ${phase === "reading" ? html`<progress max="1" .value=${left}></progress><span class="faint">estimating poses</span>` : nothing}
      <button id="close" @click=${this.again}>${this.camera ? "Close the camera" : "Close"}</button></div>`;
  }

  private handles() {
    const first = this.acted[0].time;
    const last = this.acted[this.acted.length - 1].time;
    const handle = (which: 0 | 1, name: string) =>
      html`<label>${name}<input id=${name} type="range" min=${first} max=${last} step="0.0333" .value=${String(this.trim[which])}
        @input=${(event: Event) => this.trimmed(which, Number(inputValue(event)))} /><span>${this.trim[which].toFixed(2)} s</span></label>`;
    return html`<div class="trim">${handle(0, "start")}${handle(1, "end")}</div>
      <label class="row"><input id="mirror" type="checkbox" .checked=${this.mirror} @change=${(event: Event) => {
        this.mirror = (event.target as HTMLInputElement).checked;
        this.searching.submit(null);
      }} /> also mirrored</label>`;
  }

  private results({ matches, seconds, unit, expected_error_m, use, lines }: Found) {
    return html`<div role="status"><b id="found">${counted(matches.length, "match", "matches")}</b>
        <span class="faint">in ${(seconds * 1000).toFixed(0)} ms · joints to about ${(100 * expected_error_m).toFixed(0)} cm</span></div>
      <ol aria-label="Matches">${matches.map(
        (one, place) => html`<li class=${place === this.current ? "chosen" : ""} data-motion=${one.motion}>
          <button class="open" data-card aria-current=${place === this.current} title="${one.motion}:${one.start_frame}-${one.end_frame}" @click=${() => this.show(place)}>
            <loom-figure aria-hidden="true" .figure=${this.figures[place] ?? null} .ghost=${null} .seconds=${one.end - one.start}></loom-figure>
            <div class="name">${one.motion}</div>
            <div class="faint">${one.start_frame}–${one.end_frame} · ${one.distance.toFixed(3)} ${unit}${one.mirrored ? html` · <b>mirrored</b>` : nothing}</div></button></li>`,
      )}</ol>
      <div class="row keep"><input id="name" aria-label="Name of the take" placeholder="acted" .value=${this.name}
          @change=${(event: Event) => (this.name = inputValue(event))} />
        <button id="keep" title=${use} @click=${this.keep}>Keep as a take</button></div>
      <div class="faint">${use}</div>
      <loom-code .cli=${lines.cli} .python=${lines.python}></loom-code>`;
  }

  render() {
    const { found, phase } = this;
    const acted = this.acted.length > 1 && (phase === "live" || phase === "acted");
    return html`
      <div class="picture ${this.camera ? "selfie" : ""}">
        <video class=${phase === "start" || phase === "loading" ? "hidden" : ""} muted playsinline></video><canvas></canvas>${this.over()}</div>
      ${this.problem ? html`<div class="problem" role="alert">${this.problem}</div>` : nothing}
      ${this.job ? html`<loom-progress .job=${this.job}></loom-progress>` : nothing}
      ${this.buttons()}
      ${acted ? this.handles() : nothing}
      ${acted && found ? this.results(found) : nothing}
      <div class="faint">Pictures stay in this browser and are not stored. The positions of 33 points of the body go to the
        studio's server, which searches with them; they are stored only if you keep them.</div>`;
  }
}

/** One line for the user about what went wrong. */
function explained(error: unknown): string {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotFoundError" || name === "OverconstrainedError")
    return "There is no camera. Connect one, or drop a film.";
  if (name === "NotAllowedError" || name === "SecurityError")
    return "The browser was not allowed to use the camera. Allow it in the address bar, or drop a film.";
  if (name === "NotReadableError" || name === "AbortError") return "The camera is in use by another program.";
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n")[0];
}

/** Wait for an event of a film; throw if it cannot be decoded, or does nothing for long. */
function eventOf(video: HTMLVideoElement, name: string, turn: Turn): Promise<void> {
  return new Promise((done, failed) => {
    const over = new AbortController();
    const end = (error?: Error) => {
      over.abort();
      clearTimeout(timer);
      if (error) failed(error);
      else done();
    };
    const timer = setTimeout(() => end(new Error("The film stopped in the middle; it may be damaged.")), STALLED);
    const unreadable =
      "This browser cannot decode the film. Convert it, for example with ffmpeg -i FILE -c:v libx264 OUT.mp4";
    video.addEventListener(name, () => end(), { signal: over.signal });
    video.addEventListener("error", () => end(new Error(unreadable)), { signal: over.signal });
    turn.signal.addEventListener("abort", () => end(new TurnEnded("replaced")), { signal: over.signal });
  });
}

function lengthText(seconds: number): string {
  return seconds < 120 ? `${seconds.toFixed(0)} s` : `${(seconds / 60).toFixed(0)} minutes`;
}

/** The next picture of the page; also in a hidden window, where there are none. */
function pictureShown(): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, 100);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      done();
    });
  });
}
