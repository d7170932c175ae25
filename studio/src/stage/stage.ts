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
import { drawTrails, pathMesh } from "./traces";
import { colour, theme } from "../page/theme";

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
};
const KEY = "motionloom.stage";

function storedDisplay(): DisplaySettings {
  try {
    return { ...DEFAULT_DISPLAY, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
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

const COLOURS = [0xe0823d, 0x4f9fd8, 0x7cb85c, 0xc56ac0, 0xd8c14f, 0x5cc4b8, 0xd86464, 0x9a86e0];
const CROWD = 8; // characters from which figures are drawn with less detail
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
  /** While something on the stage is dragged or drawn, the camera stands still: why, or "". */
  private still = "";
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
      this.scene.background = new THREE.Color(colour("stage"));
      this.ground.ink = colour("faint");
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

  /** Replace the characters; the clock is set to their duration. */
  show(specs: CharacterSpec[]): Character[] {
    for (const one of this.characters) this.scene.remove(one.group);
    this.characters = specs.map((spec, index) => new Character(spec, spec.colour ?? COLOURS[index % COLOURS.length]));
    for (const one of this.characters) this.scene.add(one.group);
    const endless = this.characters.some((one) => one.streamed);
    const end = endless ? Infinity : Math.max(0, ...this.characters.map((one) => one.end));
    this.clock.limit = endless ? this.streamedEnd() : Infinity;
    this.clock.setRange(Math.min(0, ...this.characters.map((one) => one.start)), end);
    this.rebuildPaths();
    this.pose();
    this.unseen = this.characters.length > 0 && this.characters.every((one) => one.motion.frames === 0);
    this.aim();
    this.wake();
    if (specs.length) this.start();
    this.dispatchEvent(new Event("characters"));
    return this.characters;
  }

  /** Point the camera at new characters; it stays where the user has put it. */
  private aim(): void {
    if (!this.rig.touched) this.rig.frame(this.characters);
    else if (this.follows) this.rig.follow(this.characters, Infinity);
  }

  /** Whether the camera follows the characters now. */
  get follows(): boolean {
    return this.display.follow && !this.still;
  }
  /** Why the camera does not follow although that is switched on, or "". */
  get stillBecause(): string {
    return this.still;
  }

  /** Let the camera stand still for a reason, or follow again ("") as the display settings say. */
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
    this.wake();
    this.dispatchEvent(new Event("display"));
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
    this.rig.view(name);
    this.wake();
  }

  /** Position of a joint in the canvas, in CSS pixels. */
  project(character: number, joint: number): { x: number; y: number } {
    this.camera.updateMatrixWorld();
    const point = this.characters[character].world(joint).project(this.camera);
    const { width, height } = this.canvas.getBoundingClientRect();
    return { x: ((point.x + 1) / 2) * width, y: ((1 - point.y) / 2) * height };
  }

  /** The floor position under a point of the page; null above the horizon. */
  floorAt(clientX: number, clientY: number): THREE.Vector3 | null {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const eye = new THREE.Raycaster();
    eye.setFromCamera(
      new THREE.Vector2(((clientX - left) / width) * 2 - 1, 1 - ((clientY - top) / height) * 2),
      this.camera,
    );
    return eye.ray.intersectPlane(new THREE.Plane(new THREE.Vector3(0, 1, 0), 0), new THREE.Vector3());
  }

  /** Pause at a time and draw at once; for tests. */
  freeze(time: number): void {
    this.clock.pause();
    this.clock.seek(time);
    this.pose();
    if (this.follows) this.rig.follow(this.characters, Infinity);
    this.draw();
  }

  /** Draw at full rate for a moment, after a change. */
  wake(): void {
    this.awake = performance.now() + 500;
  }

  draw(): void {
    const began = performance.now();
    this.pose();
    this.fill();
    this.controls.update();
    this.ground.lines = this.display.grid;
    this.ground.follow(this.controls.target, this.rig.distance);
    this.dispatchEvent(new Event("frame"));
    this.renderer.render(this.scene, this.camera);
    this.drawn = performance.now();
    this.cost = this.drawn - began;
  }

  private pose(): void {
    for (const one of this.characters) if (one.motion.frames > 0) one.pose(one.exactFrameAt(this.clock.time));
  }

  /** Fill the capsule buffers from the current poses. */
  private fill(): void {
    const { display, characters } = this;
    const crowd = characters.length >= CROWD;
    this.solid.begin();
    this.transparent.begin();
    this.bodies.begin(characters.length);
    for (const one of characters) {
      if (!one.visible || one.motion.frames === 0) continue;
      const capsules = one.opacity < 1 ? this.transparent : this.solid;
      const contacts = display.contacts && one.opacity >= 1 ? one.motion.contacts : null;
      const row = rowOf(one.motion, one.frame);
      if (!display.body || !this.bodies.add(one, contacts, row))
        drawSkeleton(capsules, one.plan, one.points, one.colour, one.opacity, contacts, row, !crowd);
      if (display.trails.length) drawTrails(this.transparent, one, display.trails, one.frame + one.fraction);
      if (display.ghosts && !crowd && one.opacity >= 1) this.drawGhosts(one);
    }
    this.solid.end(crowd);
    this.transparent.end(crowd);
    this.bodies.end(display.shadows);
    this.solid.shadows(display.shadows, crowd);
  }

  /** Ghosts: bones only, since transparent bodies behind each other are hard to tell apart. */
  private drawGhosts(one: Character): void {
    if (this.ghost.length < one.points.length) this.ghost = new Float32Array(one.points.length);
    for (let step = -GHOSTS; step <= GHOSTS; step++) {
      const frame = one.frame + one.fraction + step * this.display.spacing;
      if (step === 0 || frame < one.firstFrame || frame > one.endFrame - 1) continue;
      one.sample(frame, this.ghost);
      const alpha = 0.3 * (1 - (Math.abs(step) - 1) / (GHOSTS + 0.5));
      drawSkeleton(this.transparent, one.plan, this.ghost, one.colour, alpha, null, 0, false);
    }
  }

  private readonly tick = (now: number): void => {
    if (this.gone.signal.aborted) return;
    const seconds = Math.min((now - this.last) / 1000, 0.25);
    this.last = now;
    if (this.clock.end === Infinity) this.clock.limit = this.streamedEnd();
    if (this.unseen && this.characters.some((one) => one.motion.frames > 0)) {
      this.unseen = false;
      this.pose();
      this.aim();
    }
    this.clock.advance(seconds);
    const moving = this.clock.playing && this.characters.length > 0;
    if (moving || now < this.awake || now - this.drawn > IDLE) {
      if (this.follows) {
        this.pose();
        this.rig.follow(this.characters, seconds);
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
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (!this.rig.touched) this.rig.frame(this.characters);
    if (this.drawn) this.draw(); // at once, or the picture is distorted for a moment
  }
}
