// The stage: characters in one scene, moved by one clock.

import * as THREE from "three";
import { CameraRig, type CameraView } from "./camera-rig";
import { Character, type CharacterSpec } from "./character";
import { Clock } from "./clock";
import { drawBody, drawSkeleton } from "./figure";
import { FloorGrid } from "./floor";
import { rowOf } from "../motion/motion";
import { Pills } from "./capsules";
import { drawTrails, pathMesh } from "./traces";

export interface StageLook {
  body: boolean;
  contacts: boolean;
  ghosts: boolean;
  /** Frames between two ghosts. */
  spacing: number;
  path: boolean;
  /** Roles whose way through the air is drawn. */
  trails: string[];
  grid: boolean;
  shadows: boolean;
  follow: boolean;
}

export const FIRST_LOOK: StageLook = {
  body: false,
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

export function keptLook(): StageLook {
  try {
    return { ...FIRST_LOOK, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
  } catch {
    return { ...FIRST_LOOK };
  }
}

export function keepLook(look: StageLook): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(look));
  } catch {
    /* private window: not kept */
  }
}

export { Character, type CharacterSpec } from "./character";

export const COLOURS = [0xe0823d, 0x4f9fd8, 0x7cb85c, 0xc56ac0, 0xd8c14f, 0x5cc4b8, 0xd86464, 0x9a86e0];
const CROWD = 8; // from here on the figures are drawn with fewer corners
const GHOSTS = 3; // of an onion skin, before and after
const IDLE = 200; // milliseconds between drawings while nothing moves

/** Fires "cast" (who is on it), "frame" (drawn), "look" (how it is drawn), "blind" (there is no WebGL). */
export class Stage extends EventTarget {
  readonly clock = new Clock();
  readonly scene = new THREE.Scene();
  readonly canvas = document.createElement("canvas");
  readonly rig: CameraRig;
  characters: Character[] = [];
  look: StageLook = keptLook();
  /** Milliseconds the page spent on the last drawing, without the graphics card. */
  cost = 0;
  private readonly solid = new Pills({ shadows: true });
  private readonly sheer = new Pills({ ghostly: true });
  private readonly ground = new FloorGrid();
  private readonly paths: THREE.Mesh[] = [];
  private made?: THREE.WebGLRenderer;
  private begun = false;
  private ghost = new Float32Array(0);
  private last = performance.now();
  private drawn = 0;
  private awake = 0;
  private unseen = false; // streamed motion whose first frame has not come yet

  constructor(readonly host: HTMLElement) {
    super();
    host.append(this.canvas);
    this.scene.background = new THREE.Color(0x171a20);
    const sun = new THREE.DirectionalLight(0xfff4e6, 2.4);
    sun.position.set(3.5, 10, 4.5);
    this.scene.add(new THREE.HemisphereLight(0xdfe8ff, 0x3a3430, 1.7), sun);
    this.scene.add(this.ground.mesh, this.solid.group, this.sheer.group);
    this.rig = new CameraRig(this.canvas);
    this.clock.addEventListener("change", () => this.wake());
    for (const kind of ["pointerdown", "keydown"])
      addEventListener(kind, () => this.wake(), { passive: true, capture: true });
    for (const kind of ["pointermove", "wheel"]) host.addEventListener(kind, () => this.wake(), { passive: true });
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
  }

  /** Draw from now on. A stage with nobody on it can wait until the rest of the page is there. */
  begin(): void {
    if (this.begun) return;
    this.begun = true;
    this.last = performance.now();
    requestAnimationFrame(this.tick);
  }

  /** Made when the first picture is: waking the graphics card takes longer than all else. */
  get renderer(): THREE.WebGLRenderer {
    if (!this.made) {
      this.made = new THREE.WebGLRenderer({
        canvas: this.canvas,
        antialias: true,
        stencil: true,
        preserveDrawingBuffer: true,
      });
      this.made.setPixelRatio(Math.min(devicePixelRatio, 2));
      this.made.setSize(this.host.clientWidth || 1, this.host.clientHeight || 1);
    }
    return this.made;
  }

  get camera(): THREE.PerspectiveCamera {
    return this.rig.camera;
  }
  get controls() {
    return this.rig.controls;
  }

  /** Replace what is on the stage; the clock is set to what they last. */
  show(specs: CharacterSpec[]): Character[] {
    for (const one of this.characters) this.scene.remove(one.group);
    this.characters = specs.map((spec, index) => new Character(spec, spec.colour ?? COLOURS[index % COLOURS.length]));
    for (const one of this.characters) this.scene.add(one.group);
    const endless = this.characters.some((one) => one.streamed);
    const end = endless ? Infinity : Math.max(0, ...this.characters.map((one) => one.end));
    this.clock.limit = endless ? this.streamedEnd() : Infinity;
    this.clock.setRange(Math.min(0, ...this.characters.map((one) => one.start)), end);
    this.layPaths();
    this.pose();
    this.unseen = this.characters.length > 0 && this.characters.every((one) => one.motion.frames === 0);
    this.aim();
    this.wake();
    if (specs.length) this.begin();
    this.dispatchEvent(new Event("cast"));
    return this.characters;
  }

  /** Look at newcomers: from where the person has put the camera, or so that all are in sight. */
  private aim(): void {
    if (!this.rig.touched) this.rig.frame(this.characters);
    else if (this.look.follow) this.rig.follow(this.characters, Infinity);
  }

  /** Lay the paths on the floor anew, as when a character's motion was replaced. */
  layPaths(): void {
    for (const mesh of this.paths) {
      mesh.removeFromParent();
      mesh.geometry.dispose();
      (mesh.material as THREE.Material).dispose();
    }
    this.paths.length = 0;
    if (!this.look.path || this.characters.length >= CROWD) return;
    for (const one of this.characters) {
      if (one.streamed || one.motion.frames === 0) continue;
      const mesh = pathMesh(one);
      one.group.add(mesh);
      this.paths.push(mesh);
    }
  }

  /** Change how things are drawn; kept for the next visit. */
  set(look: Partial<StageLook>): void {
    const path = look.path !== undefined && look.path !== this.look.path;
    this.look = { ...this.look, ...look };
    keepLook(this.look);
    if (path) this.layPaths();
    this.wake();
    this.dispatchEvent(new Event("look"));
  }

  /** Look at the characters where they are now. */
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

  /** Where a joint is drawn now: pixels within the canvas, as the page counts them. */
  project(character: number, joint: number): { x: number; y: number } {
    this.camera.updateMatrixWorld();
    const point = this.characters[character].world(joint).project(this.camera);
    const { width, height } = this.canvas.getBoundingClientRect();
    return { x: ((point.x + 1) / 2) * width, y: ((1 - point.y) / 2) * height };
  }

  /** The place on the floor under a point of the page; null above the horizon. */
  floorAt(clientX: number, clientY: number): THREE.Vector3 | null {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const eye = new THREE.Raycaster();
    eye.setFromCamera(
      new THREE.Vector2(((clientX - left) / width) * 2 - 1, 1 - ((clientY - top) / height) * 2),
      this.camera,
    );
    return eye.ray.intersectPlane(new THREE.Plane(new THREE.Vector3(0, 1, 0), 0), new THREE.Vector3());
  }

  /** Stop at a time and draw it at once; what tests look at. */
  freeze(time: number): void {
    this.clock.pause();
    this.clock.seek(time);
    this.pose();
    if (this.look.follow) this.rig.follow(this.characters, Infinity);
    this.draw();
  }

  /** Something has changed: draw at full rate for a moment. */
  wake(): void {
    this.awake = performance.now() + 500;
  }

  draw(): void {
    const began = performance.now();
    this.pose();
    this.fill();
    this.controls.update();
    this.ground.lines = this.look.grid;
    this.ground.follow(this.controls.target, this.rig.distance);
    this.dispatchEvent(new Event("frame"));
    this.renderer.render(this.scene, this.camera);
    this.drawn = performance.now();
    this.cost = this.drawn - began;
  }

  private pose(): void {
    for (const one of this.characters) if (one.motion.frames > 0) one.pose(one.exactFrameAt(this.clock.time));
  }

  /** Turn all poses into pills. */
  private fill(): void {
    const { look, characters } = this;
    const crowd = characters.length >= CROWD;
    this.solid.begin();
    this.sheer.begin();
    for (const one of characters) {
      if (!one.visible || one.motion.frames === 0) continue;
      const pills = one.opacity < 1 ? this.sheer : this.solid;
      const contacts = look.contacts && one.opacity >= 1 ? one.motion.contacts : null;
      const row = rowOf(one.motion, one.frame);
      if (look.body) drawBody(pills, one.plan, one.points, one.colour, one.opacity, contacts, row);
      else drawSkeleton(pills, one.plan, one.points, one.colour, one.opacity, contacts, row, !crowd);
      if (look.trails.length) drawTrails(this.sheer, one, look.trails, one.frame + one.fraction);
      if (look.ghosts && !crowd && one.opacity >= 1) this.onion(one);
    }
    this.solid.end(crowd);
    this.sheer.end(crowd);
    this.solid.shadows = look.shadows;
  }

  /** Bones only: sheer bodies behind each other are hard to tell apart. */
  private onion(one: Character): void {
    if (this.ghost.length < one.points.length) this.ghost = new Float32Array(one.points.length);
    for (let step = -GHOSTS; step <= GHOSTS; step++) {
      const frame = one.frame + one.fraction + step * this.look.spacing;
      if (step === 0 || frame < one.firstFrame || frame > one.endFrame - 1) continue;
      one.sample(frame, this.ghost);
      const alpha = 0.3 * (1 - (Math.abs(step) - 1) / (GHOSTS + 0.5));
      drawSkeleton(this.sheer, one.plan, this.ghost, one.colour, alpha, null, 0, false);
    }
  }

  private readonly tick = (now: number): void => {
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
      if (this.look.follow) {
        this.pose();
        this.rig.follow(this.characters, seconds);
      }
      try {
        this.draw();
      } catch (error) {
        if (this.made) throw error;
        this.dispatchEvent(new CustomEvent("blind", { detail: (error as Error).message }));
        return;
      }
    }
    requestAnimationFrame(this.tick);
  };

  /** How far streamed motion has come: the last frame of who is furthest behind. */
  private streamedEnd(): number {
    let end = Infinity;
    for (const one of this.characters)
      if (one.streamed) end = Math.min(end, one.start + Math.max(one.motion.frames - 1, 0) / one.motion.fps);
    return end;
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width || !height) return;
    this.made?.setSize(width, height);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (!this.rig.touched) this.rig.frame(this.characters);
    if (this.drawn) this.draw(); // at once, or a stretched picture is seen
  }
}
