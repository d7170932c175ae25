// <motionloom-player clip="PACKED">: plays a packed clip (packed.ts) without a server. Its children are shown while scripts
// are off or not trusted, so they describe the motion or hold a still picture.
//
//   attributes   clip    the packed clip, or several with spaces between them, of which a menu chooses one:
//                        `player_element` in plots/pages/player.py writes the whole element
//                mini    a picture without controls that moves while it is in sight
//                fill    takes the height of its container
//                still   does not start by itself
//   properties   time (seconds, can be set), duration, playing, speed (can be set)
//   methods      play(), pause()
//   events       "ready" when the clip is unpacked, "change" when playback starts, stops or jumps
//   sound        the notes of a clip, or a child <audio>, play along; the time is then that of the sound
//
// Keys: space plays, arrows step by a frame, Home and End jump, Shift and arrows turn, + and - zoom, < and > change the speed,
// 0 resets the view. Fingers: one turns, or drags the target of a motion that can be aimed; two zoom.

import { Clock } from "../stage/clock";
import { AimScene, type AimHeader } from "./aim";
import { FigureScene, figureOf, type FigureHeader } from "./figure";
import { FloorScene, type FloorHeader } from "./floor";
import { inkOf, onDark } from "./ink";
import { unpack, type Header, type Unpacked } from "./packed";
import { ElementSound, NoteSound, type Sound } from "./sound";
import { rest, run, watcher, type Ticking } from "./ticker";

const HOLD = 0.5; // seconds for which the last pose is shown before the loop restarts
const SMALL = 1 / 31; // seconds between draws of a picture without controls
const SPEEDS = [0.25, 0.5, 1, 2];

const STYLE = `
:host { --paper: #fff; --text: #2b323c; --faint: #667080; --line: #dfe3ea; --accent: #0f7f60; position: relative;
  display: flex; flex-direction: column; max-width: 560px; box-sizing: border-box; overflow: hidden; border: 1px solid var(--line);
  border-radius: 10px; background: var(--paper); color: var(--text); font: 13px/1.4 system-ui, -apple-system, "Segoe UI", sans-serif; }
:host([hidden]) { display: none; }
:host([dark]) { --paper: #15181d; --text: #e3e7ee; --faint: #98a2b3; --line: #2c323b; --accent: #40c99b; }
:host([fill]) { max-width: none; height: 100%; }
:host([mini]) { max-width: none; border: 0; border-radius: 0; background: none; }
canvas { display: block; width: 100%; aspect-ratio: 4 / 3; touch-action: pan-y; min-height: 0; }
:host([fill]) canvas { aspect-ratio: auto; flex: 1; }
:host([mini]) canvas { aspect-ratio: auto; height: 100%; }
.turns { cursor: grab; } .turns:active { cursor: grabbing; }
header { position: absolute; left: 14px; right: 14px; top: 10px; pointer-events: none; overflow-wrap: anywhere; }
b { font-size: 14px; font-weight: 650; } header span { display: block; color: var(--faint); font-size: 12px; }
.bar { display: flex; align-items: center; gap: 10px; padding: 7px 12px; border-top: 1px solid var(--line); }
button { all: unset; box-sizing: border-box; cursor: pointer; min-width: 28px; min-height: 24px; text-align: center; border-radius: 6px;
  padding: 2px 4px; font-size: 12px; line-height: 20px; }
button:hover { background: var(--line); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
input { flex: 1; min-width: 40px; margin: 0; height: 24px; accent-color: var(--accent); }
time { min-width: 56px; text-align: right; color: var(--faint); font-variant-numeric: tabular-nums; }
select { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: 6px; min-height: 24px;
  max-width: 40%; }
.aims { display: grid; grid-template-columns: max-content 1fr 4.5em; gap: 2px 10px; padding: 8px 12px; align-items: center;
  border-top: 1px solid var(--line); }
.aims:empty, select:empty { display: none; } output { text-align: right; color: var(--faint); font-variant-numeric: tabular-nums; }
p { margin: 0; padding: 0 14px 8px; color: var(--faint); font-size: 12px; }
`;
let sheet: CSSStyleSheet | undefined;

/** Whether the system prefers still pictures. */
export const still = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;

interface Scene {
  duration: number;
  /** Width over height of its picture; 0: any. */
  aspect: number;
  draw(pen: CanvasRenderingContext2D, seconds: number, ink: ReturnType<typeof inkOf>): void;
  reset(): void;
  turn(right: number, down: number): void;
  magnify(factor: number): void;
}

function element<K extends keyof HTMLElementTagNameMap>(tag: K, given: object): HTMLElementTagNameMap[K] {
  return Object.assign(document.createElement(tag), given);
}

export class MotionloomPlayer extends HTMLElement implements Ticking {
  static readonly observedAttributes = ["clip"];
  readonly clock = new Clock();
  private readonly canvas = element("canvas", { tabIndex: 0, role: "img", ariaLabel: "Motion" });
  private readonly title_ = element("header", {});
  private readonly button = element("button", { type: "button", title: "Play or pause (space)" });
  private readonly slider = element("input", { type: "range", min: "0", step: "any", ariaLabel: "Time" });
  private readonly shown = element("time", {});
  private readonly pace = element("button", { type: "button", title: "Speed (< and >)" });
  private readonly choice = element("select", { ariaLabel: "Motion" });
  private readonly aims = element("div", { className: "aims" });
  private readonly note = element("p", {});
  private sound: Sound | null = null;
  private scene: Scene | null = null;
  private header: Header | null = null;
  private visible = false;
  private dark = false;
  private late = 0;
  private started = false;
  private drags = false; // the target, instead of turning the view
  private fingers = new Map<number, [number, number]>();
  private readonly sizes = new ResizeObserver(() => this.draw());

  get duration(): number {
    return this.scene?.duration ?? 0;
  }
  get playing(): boolean {
    return this.clock.playing;
  }
  get time(): number {
    return Math.min(this.clock.time, this.duration);
  }
  set time(seconds: number) {
    this.clock.pause();
    this.clock.seek(Math.min(seconds, this.duration));
  }
  get speed(): number {
    return this.clock.speed;
  }
  set speed(speed: number) {
    this.clock.set({ speed });
  }
  play(): void {
    if (this.header && this.header.frames < 2) return;
    if (this.clock.time >= this.duration) this.clock.seek(0);
    this.clock.play();
  }
  pause(): void {
    this.clock.pause();
  }

  connectedCallback(): void {
    if (!this.shadowRoot) this.build();
    this.recolor();
    watcher.observe(this);
    this.sizes.observe(this.canvas);
    darkness.addEventListener("change", this.recolor);
  }

  disconnectedCallback(): void {
    this.sight(false);
    watcher.unobserve(this);
    this.sizes.disconnect();
    darkness.removeEventListener("change", this.recolor);
    this.sound?.stop();
  }

  attributeChangedCallback(): void {
    this.scene = null;
    this.choice.replaceChildren();
    if (this.visible) void this.load();
  }

  private get mini(): boolean {
    return this.hasAttribute("mini");
  }
  private get clips(): string[] {
    return (this.getAttribute("clip") ?? "").split(" ").filter(Boolean);
  }

  private build(): void {
    const root = this.attachShadow({ mode: "open" });
    if (!sheet) (sheet = new CSSStyleSheet()).replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    root.append(this.canvas);
    this.clock.playing = false;
    if (this.mini) {
      this.canvas.tabIndex = -1;
      this.canvas.ariaHidden = "true"; // its card has the words
    } else {
      const bar = element("div", { className: "bar" });
      bar.append(this.button, this.slider, this.shown, this.pace, this.choice);
      root.append(this.title_, this.aims, bar, this.note);
      this.listen();
    }
    this.clock.addEventListener("change", () => this.changed());
  }

  private listen(): void {
    const { canvas, fingers } = this;
    this.button.onclick = () => (this.playing ? this.pause() : this.play());
    this.pace.onclick = () => this.changeSpeed(1);
    this.choice.onchange = () => {
      this.started = false;
      this.clock.pause();
      void this.load();
    };
    this.slider.oninput = () => (this.time = Number(this.slider.value));
    this.addEventListener("keydown", (event) => this.key(event));
    canvas.onpointerdown = (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      canvas.focus({ preventScroll: true });
      const ratio = canvas.width / canvas.clientWidth;
      this.drags = fingers.size === 1 && !!this.aimed?.grab(event.offsetX * ratio, event.offsetY * ratio, ratio);
      if (this.drags) this.time = this.aimed!.moment;
    };
    canvas.onpointerup = canvas.onpointercancel = (event) => {
      fingers.delete(event.pointerId);
      if (!this.drags) return;
      this.drags = false;
      this.aimed?.release();
      this.playOnce();
    };
    // The page must not scroll while a finger drags the target; elsewhere it may.
    canvas.addEventListener("touchmove", (event) => this.drags && event.preventDefault(), { passive: false });
    canvas.onpointermove = (event) => {
      const last = fingers.get(event.pointerId);
      if (!last) return;
      const spread = this.spread();
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      const [dx, dy] = [event.clientX - last[0], event.clientY - last[1]];
      const ratio = canvas.width / canvas.clientWidth;
      if (this.drags) this.aim((scene) => scene.drag(dx * ratio, dy * ratio));
      else if (spread) this.scene?.magnify(this.spread() / spread);
      else this.scene?.turn(dx * 0.01, dy * 0.007);
      this.draw();
    };
    canvas.ondblclick = () => this.reset();
    canvas.addEventListener(
      "wheel",
      (event) => {
        // In a page that scrolls, the wheel zooms only after the player was clicked.
        if (!this.hasAttribute("fill") && !this.matches(":focus-within")) return;
        event.preventDefault();
        this.scene?.magnify(Math.exp(-event.deltaY * 0.0012));
        this.draw();
      },
      { passive: false },
    );
  }

  private get aimed(): AimScene | null {
    return this.scene instanceof AimScene ? this.scene : null;
  }

  /** Change the target of a motion, and show the moment at which it is reached. */
  private aim(change: (scene: AimScene) => void): void {
    const scene = this.aimed;
    if (!scene) return;
    change(scene);
    this.clock.setRange(0, this.duration + HOLD);
    this.slider.max = String(this.duration);
    this.time = scene.moment;
    this.showAim(scene);
  }

  private showAim(scene: AimScene): void {
    this.aims.querySelectorAll("input").forEach((input, c) => {
      input.value = String(scene.target[c]);
      (input.nextElementSibling as HTMLOutputElement).value = scene.target[c].toFixed(2);
    });
    this.note.textContent = scene.status;
    this.note.hidden = false;
  }

  /** Play the aimed motion from its start. */
  private playOnce(): void {
    if (still()) return this.draw();
    this.clock.seek(0);
    this.play();
  }

  /** A slider for each parameter. */
  private buildAims({ axes }: AimHeader, scene: AimScene): void {
    axes.forEach((axis, c) => {
      const [min, max] = [scene.low[c], scene.high[c]].map(String);
      const input = element("input", { type: "range", min, max, step: "any", ariaLabel: axis });
      input.oninput = () =>
        this.aim((now) => now.aimAt(now.target.map((value, k) => (k === c ? Number(input.value) : value))));
      input.onpointerup = () => this.playOnce();
      this.aims.append(element("span", { textContent: axis, ariaHidden: "true" }), input, element("output", {}));
    });
    this.showAim(scene);
  }

  /** Distance of two fingers, in pixels; 0 for another number of fingers. */
  private spread(): number {
    const [a, b, more] = [...this.fingers.values()];
    return a && b && !more ? Math.hypot(a[0] - b[0], a[1] - b[1]) || 1 : 0;
  }

  private reset(): void {
    this.scene?.reset();
    this.draw();
  }

  private changeSpeed(by: number): void {
    const next = SPEEDS.indexOf(this.speed) + by;
    this.speed = SPEEDS[(next + SPEEDS.length) % SPEEDS.length] ?? 1;
  }

  private key(event: KeyboardEvent): void {
    const { key, shiftKey } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const from = event.composedPath()[0];
    const [side, down] = [
      Number(key === "ArrowRight") - Number(key === "ArrowLeft"),
      Number(key === "ArrowDown") - Number(key === "ArrowUp"),
    ];
    if (from instanceof Node && (this.aims.contains(from) || from === this.choice)) return; // they have keys of their own
    if (key === " " && (from === this.button || from === this.pace)) return; // it presses the button
    if (key === " ") this.button.click();
    else if (shiftKey && (side || down)) this.scene?.turn(0.15 * side, 0.1 * down);
    else if (side) this.time = this.time + side / (this.header?.fps ?? 30);
    else if (key === "Home" || key === "End") this.time = key === "Home" ? 0 : this.duration;
    else if (key === "+" || key === "=" || key === "-") this.scene?.magnify(key === "-" ? 1 / 1.15 : 1.15);
    else if (key === "<" || key === ">") this.changeSpeed(key === "<" ? -1 : 1);
    else if (key === "0") this.scene?.reset();
    else return;
    this.draw();
    event.preventDefault();
    event.stopPropagation(); // notebooks use these keys for other purposes
  }

  sight(visible: boolean): void {
    this.visible = visible;
    if (visible) void (this.scene ? this.resume() : this.load());
    else {
      rest(this);
      if (!this.mini) return;
      this.scene = null; // a page has hundreds of them; keep the visible ones
      this.canvas.width = this.canvas.height = 0;
    }
  }

  private async load(): Promise<void> {
    const { clips } = this;
    const coded = clips[Math.max(this.choice.selectedIndex, 0)];
    if (!coded) return;
    const clip = await unpack<Header>(coded);
    if (coded !== this.clips[Math.max(this.choice.selectedIndex, 0)] || !this.visible) return;
    if (clips.length > 1 && !this.choice.length) await this.buildChoice(clips);
    const { header } = clip;
    const floor = header.kind === "floor";
    this.scene = floor
      ? new FloorScene(clip as Unpacked<FloorHeader>)
      : header.kind === "aim"
        ? new AimScene(clip as Unpacked<AimHeader>)
        : new FigureScene(figureOf(clip as Unpacked<FigureHeader>));
    this.header = header;
    this.sound?.stop();
    const audio = this.querySelector("audio");
    this.sound = audio ? new ElementSound(audio) : header.notes?.length ? new NoteSound(header.notes) : null;
    if (this.scene.aspect && !this.mini) this.canvas.style.aspectRatio = String(this.scene.aspect);
    this.canvas.classList.toggle("turns", !floor);
    this.canvas.title = floor || this.mini ? "" : "Drag to turn, wheel to zoom, double-click to reset";
    this.canvas.ariaLabel = `${header.name.trim() || "Motion"}: ${floor ? "seen from above" : "animated figure"}`;
    this.title_.replaceChildren(
      element("b", { textContent: header.name }),
      element("span", { textContent: header.facts }),
    );
    this.title_.hidden = !header.name.trim();
    this.note.textContent = header.note;
    this.note.hidden = !header.note;
    this.aims.replaceChildren();
    if (this.aimed && !this.mini) this.buildAims(header as AimHeader, this.aimed);
    this.slider.max = String(this.duration || 1);
    this.slider.disabled = header.frames < 2;
    const at = this.started ? this.clock.time : this.mini && still() ? 0.35 * this.duration : 0;
    this.clock.master = this.sound ? () => this.sound?.time ?? null : null;
    this.clock.setRange(0, this.duration + (this.sound ? 0 : HOLD));
    this.clock.seek(at);
    const starts = !still() && !this.sound && !this.hasAttribute("still") && header.frames > 1;
    if (!this.started && starts) this.clock.play();
    this.started = true;
    this.dispatchEvent(new Event("ready"));
    this.resume();
  }

  private resume(): void {
    this.draw();
    if (this.playing) run(this);
  }

  advance(seconds: number, busy: boolean): void {
    if (!this.playing || !this.visible || !this.scene) {
      rest(this);
      return;
    }
    this.clock.advance(seconds);
    this.late += seconds;
    if (this.mini && (busy || this.late < SMALL)) return;
    this.late = 0;
    if (this.mini) run(this);
    this.draw();
  }

  private async buildChoice(clips: string[]): Promise<void> {
    const all = await Promise.all(clips.map((one) => unpack<Header>(one)));
    this.choice.replaceChildren(...all.map(({ header }) => new Option(header.name)));
  }

  private changed(): void {
    const { sound, clock } = this;
    sound?.follow(clock);
    if (clock.playing && this.visible) run(this);
    this.draw();
    this.dispatchEvent(new Event("change"));
  }

  private readonly recolor = (): void => {
    this.dark = onDark(this.parentElement);
    this.toggleAttribute("dark", this.dark);
    this.draw();
  };

  private draw(): void {
    const { canvas, scene, time, clock } = this;
    if (!scene || !this.visible) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.round(side * ratio));
    if (!width || !height) return;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const pen = canvas.getContext("2d")!;
    pen.clearRect(0, 0, width, height);
    scene.draw(pen, time, inkOf(this.dark));
    if (this.mini) return;
    this.slider.value = String(time);
    this.slider.ariaValueText = this.shown.textContent = `${time.toFixed(2)} s`;
    this.button.textContent = clock.playing ? "❚❚" : "▶";
    this.button.ariaLabel = clock.playing ? "Pause" : "Play";
    const speed = { 0.25: "¼", 0.5: "½" }[clock.speed] ?? clock.speed;
    this.pace.textContent = `${speed}×`;
    this.pace.ariaLabel = `Speed ${speed}×`;
  }
}

const darkness = matchMedia("(prefers-color-scheme: dark)");
