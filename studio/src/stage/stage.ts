// The stage: characters in one scene, moved by one clock.

import * as THREE from "three";
import { rowOf } from "../motion/motion";
import { Bodies, type BodySource } from "./bodies";
import { CameraRig, type CameraView } from "./camera-rig";
import { Capsules } from "./capsules";
import { Character, type CharacterSpec } from "./character";
import { Clock } from "./clock";
import { drawSkeleton } from "./figure";
import { FloorGrid } from "./floor";
import { SPLITS, aimPane, paneCount, panesOf, type Pane, type Split } from "./panes";
import { drawTrails, pathMesh } from "./traces";
import { color, theme } from "../page/theme";

export interface DisplaySettings {
  body: boolean;
  contacts: boolean;
  ghosts: boolean;
  /** Frames between ghosts. */
  spacing: number;
  path: boolean;
  /** Roles whose trails are drawn. */
  trails: string[];
  grid: boolean;
  shadows: boolean;
  follow: boolean;
  /** The camera turns with the characters, so that a view from behind stays behind. */
  turn: boolean;
  /** Standard views use the world axes instead of the facing directions of the characters. */
  worldViews: boolean;
  /** Views side by side. */
  split: Split;
}

const DEFAULT_DISPLAY: DisplaySettings = {
  body: true,
  contacts: true,
  ghosts: false,
  spacing: 6,
  path: true,
  trails: [],
  grid: true,
  shadows: true,
  follow: true,
  turn: false,
  worldViews: false,
  split: "one",
};
const KEY = "motionloom.stage";

function storedDisplay(): DisplaySettings {
  try {
    const stored = { ...DEFAULT_DISPLAY, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
    return SPLITS.includes(stored.split) ? stored : { ...stored, split: DEFAULT_DISPLAY.split };
  } catch {
    return { ...DEFAULT_DISPLAY };
  }
}

function storeDisplay(display: DisplaySettings): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(display));
  } catch {
    // private window: not stored
  }
}

export { Character, type CharacterSpec } from "./character";

// The first is neutral: orange means that something is selected.
const COLORS = [0xa3abb8, 0x4f9fd8, 0x7cb85c, 0xc56ac0, 0xd8c14f, 0x5cc4b8, 0xd86464, 0x9a86e0];
const CROWD = 8; // number of characters from which figures have less detail
const MOST = 0.2; // of the stage's height that tools may cover before figures are drawn behind them
const GHOSTS = 3; // before and after the current pose
const IDLE = 200; // milliseconds between draws while nothing moves

/** Fires "characters" (replaced), "frame" (drawn), "display" (settings changed), "no-webgl" (cannot draw). */
export class Stage extends EventTarget {
  readonly clock = new Clock();
  readonly scene = new THREE.Scene();
  readonly canvas = document.createElement("canvas");
  readonly rig: CameraRig;
  characters: Character[] = [];
  display: DisplaySettings = storedDisplay();
  /** Reason why the camera is fixed while something is dragged or drawn, or "". */
  private still = "";
  /** True while a film is drawn frame by frame; nothing else is drawn then. */
  filming = false;
  /** CPU time of the last draw, in milliseconds. */
  cost = 0;
  private readonly solid = new Capsules({ shadows: true });
  private readonly transparent = new Capsules({ transparent: true });
  private readonly bodies: Bodies;
  private readonly ground = new FloorGrid();
  private readonly paths: THREE.Mesh[] = [];
  private created?: THREE.WebGLRenderer;
  private started = false;
  private ghost = new Float32Array(0);
  private last = performance.now();
  private drawn = 0;
  private awake = 0;
  private readonly paneCamera = new THREE.PerspectiveCamera();
  /** The parts of the canvas that show the stage; one without a split. */
  panes: Pane[] = panesOf("one", [], 1);
  private readonly covered = [0, 0]; // pixels above and below
  private fresh = false; // another subject, not framed yet
  private unseen = false; // streamed motion without a first frame yet

  private readonly gone = new AbortController();

  /** `bodies`: where skinned bodies come from; default: the server. */
  constructor(
    readonly host: HTMLElement,
    bodies?: BodySource,
  ) {
    super();
    this.bodies = new Bodies(() => this.wake(), bodies);
    host.append(this.canvas);
    const { signal } = this.gone;
    const paint = () => {
      this.scene.background = new THREE.Color(color("stage"));
      this.ground.ink = color("faint");
      this.wake();
    };
    theme.addEventListener("change", paint, { signal });
    paint();
    const sun = new THREE.DirectionalLight(0xfff4e6, 2.4);
    sun.position.set(3.5, 10, 4.5);
    this.scene.add(new THREE.HemisphereLight(0xdfe8ff, 0x3a3430, 1.7), sun);
    this.scene.add(this.ground.mesh, this.solid.group, this.transparent.group, this.bodies.group);
    this.rig = new CameraRig(this.canvas);
    this.clock.addEventListener("change", () => this.wake());
    for (const kind of ["pointerdown", "keydown"])
      addEventListener(kind, () => this.wake(), { passive: true, capture: true, signal });
    for (const kind of ["pointermove", "wheel"]) host.addEventListener(kind, () => this.wake(), { passive: true });
    const sizes = new ResizeObserver(() => this.resize());
    sizes.observe(host);
    signal.addEventListener("abort", () => sizes.disconnect());
    this.resize();
  }

  /** Stop drawing and free the graphics memory, as when a notebook cell is closed. */
  dispose(): void {
    this.gone.abort();
    this.show([]);
    this.bodies.clear();
    this.controls.dispose();
    this.created?.dispose();
    this.created?.forceContextLoss(); // a page has few contexts
    this.canvas.remove();
  }

  /** Start drawing. An empty stage can wait until the rest of the page is shown. */
  start(): void {
    if (this.started) return;
    this.started = true;
    this.last = performance.now();
    requestAnimationFrame(this.tick);
  }

  /** Created with the first frame: starting WebGL takes longer than everything else. */
  get renderer(): THREE.WebGLRenderer {
    if (!this.created) {
      this.created = new THREE.WebGLRenderer({
        canvas: this.canvas,
        antialias: true,
        stencil: true,
        preserveDrawingBuffer: true,
      });
      this.created.setPixelRatio(Math.min(devicePixelRatio, 2));
      this.created.setSize(this.host.clientWidth || 1, this.host.clientHeight || 1);
    }
    return this.created;
  }

  get camera(): THREE.PerspectiveCamera {
    return this.rig.camera;
  }
  get controls() {
    return this.rig.controls;
  }

  /** Replace the characters and set the clock to their duration. `fresh`: they are another subject, which is framed
   * unless the camera already sees it. */
  show(specs: CharacterSpec[], fresh = false): Character[] {
    for (const one of this.characters) this.scene.remove(one.group);
    this.characters = specs.map((spec, index) => new Character(spec, spec.color ?? COLORS[index % COLORS.length]));
    for (const one of this.characters) this.scene.add(one.group);
    const endless = this.characters.some((one) => one.streamed);
    const end = endless ? Infinity : Math.max(0, ...this.characters.map((one) => one.end));
    this.clock.limit = endless ? this.streamedEnd() : Infinity;
    this.clock.setRange(Math.min(0, ...this.characters.map((one) => one.start)), end);
    this.rebuildPaths();
    this.arrange();
    this.pose();
    this.rig.stopTurning();
    this.fresh = fresh;
    this.unseen = this.characters.length > 0 && this.characters.every((one) => one.motion.frames === 0);
    this.aim();
    this.wake();
    if (specs.length) this.start();
    this.dispatchEvent(new Event("characters"));
    return this.characters;
  }

  /** Point the camera at new characters, unless the user has moved it and it already sees them. */
  private aim(): void {
    const { rig, characters } = this;
    if (rig.touched && this.follows) rig.follow(characters, Infinity);
    if (rig.touched && this.fresh && !rig.sees(characters)) rig.touched = false;
    if (!rig.touched) rig.frame(characters);
    this.fresh = false;
  }

  /** Whether the camera follows the characters now. */
  get follows(): boolean {
    return this.display.follow && !this.still;
  }
  /** Why the camera does not follow although that is switched on, or "". */
  get stillBecause(): string {
    return this.still;
  }

  /** Fix the camera for a reason, or with "" follow again according to the display settings. */
  holdCamera(reason: string): void {
    this.still = reason;
    this.wake();
    this.dispatchEvent(new Event("display"));
  }

  /** Rebuild the paths on the floor, as when a character's motion was replaced. */
  rebuildPaths(): void {
    for (const mesh of this.paths) {
      mesh.removeFromParent();
      mesh.geometry.dispose();
      (mesh.material as THREE.Material).dispose();
    }
    this.paths.length = 0;
    if (!this.display.path || this.characters.length >= CROWD) return;
    for (const one of this.characters) {
      if (one.streamed || one.motion.frames === 0) continue;
      const mesh = pathMesh(one);
      one.group.add(mesh);
      this.paths.push(mesh);
    }
  }

  /** Change display settings; stored for the next visit. */
  set(display: Partial<DisplaySettings>): void {
    const path = display.path !== undefined && display.path !== this.display.path;
    this.display = { ...this.display, ...display };
    storeDisplay(this.display);
    if (path) this.rebuildPaths();
    if (display.split !== undefined) this.arrange();
    if (display.turn !== undefined) this.rig.stopTurning();
    this.wake();
    this.dispatchEvent(new Event("display"));
  }

  /** Cycle through one, two and four views, and one view per character if there are only a few. */
  nextSplit(): void {
    const possible = SPLITS.filter((one) => one === "one" || paneCount(one, this.characters.length) > 1);
    this.set({ split: possible[(possible.indexOf(this.display.split) + 1) % possible.length] });
  }

  /** The panes for the present characters and size; the camera has the shape of one of them. */
  private arrange(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    const titles = this.characters.map((one) => one.spec.title ?? one.motion.name);
    const { alone } = this.rig;
    const before = this.camera.aspect;
    this.panes = panesOf(this.display.split, titles, (width || 1) / (height || 1));
    const [first] = this.panes;
    const [above, below] =
      this.panes.length > 1 ? [0, 0] : this.covered.map((part) => Math.min(part / (height || 1), MOST));
    this.rig.shape(((width || 1) * first.width) / ((height || 1) * first.height), above, below);
    this.rig.alone = first.character !== null;
    const other = this.camera.aspect !== before || this.rig.alone !== alone;
    if (!this.rig.touched && other) this.rig.frame(this.characters);
  }

  /** Note how many pixels of the stage the tools cover above or below, where no part of a figure should be. */
  cover(part: "above" | "below", pixels: number): void {
    const place = part === "above" ? 0 : 1;
    if (this.covered[place] === pixels) return;
    this.covered[place] = pixels;
    this.resize();
  }

  /** A pane in CSS pixels of the canvas. */
  private box({ x, y, width, height }: Pane): { left: number; top: number; width: number; height: number } {
    const { clientWidth, clientHeight } = this.canvas;
    return { left: x * clientWidth, top: y * clientHeight, width: width * clientWidth, height: height * clientHeight };
  }

  /** The first pane, which the rig's camera draws, as three.js writes it: from the bottom left of the canvas. */
  get viewport(): THREE.Vector4 {
    const { left, top, width, height } = this.box(this.panes[0]);
    return new THREE.Vector4(left, this.canvas.clientHeight - top - height, width, height);
  }

  /** Frame the characters in their current poses. */
  frame(): void {
    this.pose();
    this.rig.frame(this.characters);
    this.wake();
  }
  home(): void {
    this.pose();
    this.rig.home(this.characters);
    this.wake();
  }
  view(name: CameraView): void {
    this.pose();
    this.rig.view(name, this.characters, this.display.worldViews);
    this.wake();
  }

  /** Keep the camera behind the characters as they turn, or stop turning with them. */
  stayBehind(on: boolean): void {
    if (on) {
      this.pose();
      this.rig.view("back", this.characters);
      if (!this.display.follow) this.set({ follow: true });
    }
    this.set({ turn: on });
  }

  /** Position of a joint in the canvas, in CSS pixels: in the character's own pane, or the first. */
  project(character: number, joint: number): { x: number; y: number } {
    this.camera.updateMatrixWorld();
    const own = this.panes.findIndex((pane) => pane.character === character);
    const number = Math.max(own, 0);
    const point = this.characters[character].world(joint).project(this.cameraOf(number));
    const { left, top, width, height } = this.box(this.panes[number]);
    return { x: left + ((point.x + 1) / 2) * width, y: top + ((1 - point.y) / 2) * height };
  }

  /** The floor position under a point of the page, in whichever pane it is; null above the horizon. */
  floorAt(clientX: number, clientY: number): THREE.Vector3 | null {
    const canvas = this.canvas.getBoundingClientRect();
    const [x, y] = [clientX - canvas.left, clientY - canvas.top];
    const inside = (one: Pane) => {
      const { left, top, width, height } = this.box(one);
      return x >= left && x < left + width && y >= top && y < top + height;
    };
    const number = Math.max(this.panes.findIndex(inside), 0);
    const { left, top, width, height } = this.box(this.panes[number]);
    const eye = new THREE.Raycaster();
    eye.setFromCamera(
      new THREE.Vector2(((x - left) / width) * 2 - 1, 1 - ((y - top) / height) * 2),
      this.cameraOf(number),
    );
    return eye.ray.intersectPlane(new THREE.Plane(new THREE.Vector3(0, 1, 0), 0), new THREE.Vector3());
  }

  /** The camera of a pane; that of all but the first is used again by the next call. */
  private cameraOf(number: number): THREE.PerspectiveCamera {
    const pane = this.panes[number];
    if (pane.turn === 0 && pane.character === null) return this.camera;
    aimPane(this.paneCamera, pane, this.rig, this.characters);
    return this.paneCamera;
  }

  /** Pause at a time and draw at once; for tests. */
  freeze(time: number): void {
    this.clock.pause();
    this.clock.seek(time);
    this.pose();
    if (this.follows) this.followCharacters(Infinity);
    this.draw();
  }

  /** Draw a picture of a film: `seconds` after the one before, for the camera; Infinity: the first. */
  drawFilm(time: number, seconds: number): void {
    this.clock.seek(time);
    this.pose();
    if (this.follows) this.followCharacters(seconds);
    this.draw();
  }

  /** Draw at full rate for a moment, after a change. */
  wake(): void {
    this.awake = performance.now() + 500;
  }

  draw(): void {
    const began = performance.now();
    this.pose();
    this.controls.update();
    this.ground.lines = this.display.grid;
    this.ground.follow(this.controls.target, this.rig.distance);
    this.dispatchEvent(new Event("frame"));
    this.render();
    this.drawn = performance.now();
    this.cost = this.drawn - began;
  }

  private followCharacters(seconds: number): void {
    this.rig.follow(this.characters, seconds);
    if (this.display.turn) this.rig.turn(this.characters, seconds);
  }

  private pose(): void {
    for (const one of this.characters) if (one.motion.frames > 0) one.pose(one.exactFrameAt(this.clock.time));
  }

  /** Render every pane. A pane of one character hides the others while it is drawn. */
  private render(): void {
    const { renderer, panes, characters } = this;
    const split = panes.length > 1;
    renderer.setScissorTest(split);
    if (!split) renderer.setViewport(0, 0, this.host.clientWidth || 1, this.host.clientHeight || 1);
    else this.clearBetweenPanes();
    const visible = characters.map((one) => one.visible);
    panes.forEach((pane, number) => {
      if (split) {
        const { left, top, width, height } = this.box(pane);
        const below = this.canvas.clientHeight - top - height;
        // A gap of one pixel separates the panes.
        renderer.setViewport(left, below, width, height);
        const [across, down] = [pane.x > 0 ? 1 : 0, pane.y > 0 ? 1 : 0];
        renderer.setScissor(left + across, below, width - across, height - down);
      }
      if (pane.character !== null)
        characters.forEach((one, other) => (one.visible = other === pane.character && visible[other]));
      if (number === 0 || pane.character !== null) this.fill(pane.character !== null);
      renderer.render(this.scene, this.cameraOf(number));
    });
    characters.forEach((one, number) => {
      one.visible = visible[number];
      one.alone = false;
    });
  }

  private clearBetweenPanes(): void {
    const { renderer } = this;
    renderer.setScissorTest(false);
    renderer.setClearColor(color("edge"));
    renderer.clear();
    renderer.setScissorTest(true);
  }

  /** Fill the capsule buffers from the current poses; `alone`: draw translucent characters as opaque. */
  private fill(alone = false): void {
    const { display, characters } = this;
    const crowd = characters.length >= CROWD;
    this.solid.begin();
    this.transparent.begin();
    this.bodies.begin(characters.length);
    for (const one of characters) {
      if (!one.visible || one.motion.frames === 0) continue;
      one.alone = alone;
      const capsules = one.opacity < 1 ? this.transparent : this.solid;
      const contacts = display.contacts && one.opacity >= 1 ? one.motion.contacts : null;
      const row = rowOf(one.motion, one.frame);
      if (!display.body || !this.bodies.add(one, contacts, row))
        drawSkeleton(capsules, one.plan, one.points, one.color, one.opacity, contacts, row, !crowd);
      if (display.trails.length) drawTrails(this.transparent, one, display.trails, one.frame + one.fraction);
      if (display.ghosts && !crowd && one.opacity >= 1) this.drawGhosts(one);
    }
    this.solid.end(crowd);
    this.transparent.end(crowd);
    this.bodies.end(display.shadows);
    this.solid.shadows(display.shadows, crowd);
  }

  /** Ghosts: bones only, because overlapping transparent bodies are hard to distinguish. */
  private drawGhosts(one: Character): void {
    if (this.ghost.length < one.points.length) this.ghost = new Float32Array(one.points.length);
    for (let step = -GHOSTS; step <= GHOSTS; step++) {
      const frame = one.frame + one.fraction + step * this.display.spacing;
      if (step === 0 || frame < one.firstFrame || frame > one.endFrame - 1) continue;
      one.sample(frame, this.ghost);
      const alpha = 0.3 * (1 - (Math.abs(step) - 1) / (GHOSTS + 0.5));
      drawSkeleton(this.transparent, one.plan, this.ghost, one.color, alpha, null, 0, false);
    }
  }

  private readonly tick = (now: number): void => {
    if (this.gone.signal.aborted) return;
    const seconds = Math.min((now - this.last) / 1000, 0.25);
    this.last = now;
    if (this.filming) {
      requestAnimationFrame(this.tick);
      return;
    }
    if (this.clock.end === Infinity) this.clock.limit = this.streamedEnd();
    if (this.unseen && this.characters.some((one) => one.motion.frames > 0)) {
      this.unseen = false;
      this.pose();
      this.aim();
    }
    if (this.characters.length) this.clock.advance(seconds); // time stands still on an empty stage
    const moving = this.clock.playing && this.characters.length > 0;
    if (moving || now < this.awake || now - this.drawn > IDLE) {
      if (this.follows) {
        this.pose();
        this.followCharacters(seconds);
      }
      try {
        this.draw();
      } catch (error) {
        if (this.created) throw error;
        this.dispatchEvent(new CustomEvent("no-webgl", { detail: (error as Error).message }));
        return;
      }
    }
    requestAnimationFrame(this.tick);
  };

  /** Time of the last frame of all streamed motions. */
  private streamedEnd(): number {
    let end = Infinity;
    for (const one of this.characters)
      if (one.streamed) end = Math.min(end, one.start + Math.max(one.motion.frames - 1, 0) / one.motion.fps);
    return end;
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width || !height) return;
    this.created?.setSize(width, height);
    this.arrange();
    if (!this.rig.touched) this.rig.frame(this.characters);
    if (this.drawn) this.draw(); // immediately; otherwise the picture is distorted for a moment
  }
}
