// The stage: characters as bones and joints in one scene, moved by one clock.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { Clock } from "./clock";
import type { MotionData } from "./motion";

export interface CharacterSpec {
  motion: MotionData;
  colour?: number;
  /** Seconds on the clock at which its first shown frame stands. */
  at?: number;
  /** Frames [start, end) that are shown; default: all. */
  range?: [number, number];
  /** Where it is put: turn about the vertical (radians), then shift. */
  place?: { yaw: number; shift: [number, number, number] };
  opacity?: number;
}

const COLOURS = [0xe0823d, 0x4f9fd8, 0x7cb85c, 0xc56ac0, 0xd8c14f, 0x5cc4b8, 0xd86464, 0x9a86e0];
const UP = new THREE.Vector3(0, 1, 0);

export class Character {
  readonly group = new THREE.Group();
  frame = 0;
  private readonly bones: THREE.InstancedMesh;
  private readonly balls: THREE.InstancedMesh;
  private readonly links: number[];

  constructor(readonly spec: CharacterSpec, colour: number) {
    const { motion } = spec;
    this.links = motion.parents.map((_, joint) => joint).filter((joint) => motion.parents[joint] >= 0);
    const paint = new THREE.MeshLambertMaterial({
      color: colour, transparent: (spec.opacity ?? 1) < 1, opacity: spec.opacity ?? 1,
    });
    this.bones = new THREE.InstancedMesh(new THREE.CapsuleGeometry(0.022, 1, 3, 8), paint, this.links.length);
    this.balls = new THREE.InstancedMesh(new THREE.SphereGeometry(0.03, 10, 8), paint, motion.parents.length);
    for (const mesh of [this.bones, this.balls]) mesh.frustumCulled = false;
    this.group.add(this.bones, this.balls);
    if (spec.place) {
      this.group.rotation.y = spec.place.yaw;
      this.group.position.set(...spec.place.shift);
    }
  }

  get firstFrame(): number { return this.spec.range?.[0] ?? 0; }
  get endFrame(): number { return this.spec.range?.[1] ?? this.spec.motion.frames; }
  get start(): number { return this.spec.at ?? 0; }
  get end(): number { return this.start + (this.endFrame - this.firstFrame) / this.spec.motion.fps; }

  /** The frame that stands at a time, held at both ends. */
  frameAt(time: number): number {
    const frame = this.firstFrame + Math.floor((time - this.start) * this.spec.motion.fps + 1e-6);
    return Math.min(Math.max(frame, this.firstFrame), this.endFrame - 1);
  }

  joint(frame: number, joint: number, out = new THREE.Vector3()): THREE.Vector3 {
    const { positions, parents } = this.spec.motion;
    return out.fromArray(positions, (frame * parents.length + joint) * 3);
  }

  pose(frame: number): void {
    this.frame = frame;
    const { parents } = this.spec.motion;
    const matrix = new THREE.Matrix4(), turn = new THREE.Quaternion();
    const a = new THREE.Vector3(), b = new THREE.Vector3(), middle = new THREE.Vector3();
    const size = new THREE.Vector3(1, 1, 1), along = new THREE.Vector3();
    parents.forEach((_, joint) => {
      this.joint(frame, joint, a);
      this.balls.setMatrixAt(joint, matrix.makeTranslation(a.x, a.y, a.z));
    });
    this.links.forEach((joint, index) => {
      this.joint(frame, joint, a);
      this.joint(frame, parents[joint], b);
      along.subVectors(a, b);
      size.y = Math.max(along.length(), 1e-6);
      turn.setFromUnitVectors(UP, along.normalize());
      this.bones.setMatrixAt(index, matrix.compose(middle.addVectors(a, b).multiplyScalar(0.5), turn, size));
    });
    this.bones.instanceMatrix.needsUpdate = this.balls.instanceMatrix.needsUpdate = true;
  }

  dispose(): void {
    for (const mesh of [this.bones, this.balls]) { mesh.geometry.dispose(); mesh.dispose(); }
    (this.bones.material as THREE.Material).dispose();
  }
}

export class Stage extends EventTarget {
  readonly clock = new Clock();
  readonly scene = new THREE.Scene();
  readonly camera = new THREE.PerspectiveCamera(40, 1, 0.05, 200);
  readonly renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
  readonly controls: OrbitControls;
  characters: Character[] = [];
  private last = performance.now();

  constructor(readonly host: HTMLElement) {
    super();
    host.append(this.renderer.domElement);
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.scene.background = new THREE.Color(0x1b1f26);
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x404858, 2.2), new THREE.GridHelper(20, 40, 0x4a5261, 0x2c323c));
    const sun = new THREE.DirectionalLight(0xffffff, 1.6);
    sun.position.set(3, 6, 4);
    this.scene.add(sun);
    this.camera.position.set(2.6, 1.8, 4.2);
    this.controls = new OrbitControls(this.camera, this.renderer.domElement);
    this.controls.target.set(0, 0.9, 0);
    this.controls.update();
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
    requestAnimationFrame(this.tick);
  }

  /** Replace what is on the stage; the clock is set to what they last. */
  show(specs: CharacterSpec[]): Character[] {
    for (const one of this.characters) { this.scene.remove(one.group); one.dispose(); }
    this.characters = specs.map((spec, index) => new Character(spec, spec.colour ?? COLOURS[index % COLOURS.length]));
    for (const one of this.characters) this.scene.add(one.group);
    const end = Math.max(0, ...this.characters.map((one) => one.end));
    this.clock.setRange(Math.min(0, ...this.characters.map((one) => one.start)), end);
    this.draw();
    this.frame();
    this.dispatchEvent(new Event("cast"));
    return this.characters;
  }

  /** Look at where the characters stand now, from the side the camera is on. */
  frame(): void {
    if (!this.characters.length) return;
    const middle = new THREE.Vector3(), point = new THREE.Vector3();
    for (const one of this.characters) {
      one.group.updateMatrixWorld();
      middle.add(one.joint(one.frame, 0, point).applyMatrix4(one.group.matrixWorld));
    }
    middle.divideScalar(this.characters.length).setY(0.9);
    this.camera.position.add(middle.clone().sub(this.controls.target));
    this.controls.target.copy(middle);
    this.controls.update();
  }

  /** Where a joint is drawn now: pixels within the canvas, as the page counts them. */
  project(character: number, joint: number): { x: number; y: number } {
    const one = this.characters[character];
    one.group.updateMatrixWorld();
    const point = one.joint(one.frame, joint).applyMatrix4(one.group.matrixWorld).project(this.camera);
    const { width, height } = this.renderer.domElement.getBoundingClientRect();
    return { x: ((point.x + 1) / 2) * width, y: ((1 - point.y) / 2) * height };
  }

  /** The place on the floor under a point of the page; null above the horizon. */
  floorAt(clientX: number, clientY: number): THREE.Vector3 | null {
    const { left, top, width, height } = this.renderer.domElement.getBoundingClientRect();
    const eye = new THREE.Raycaster();
    eye.setFromCamera(
      new THREE.Vector2(((clientX - left) / width) * 2 - 1, 1 - ((clientY - top) / height) * 2), this.camera);
    return eye.ray.intersectPlane(new THREE.Plane(new THREE.Vector3(0, 1, 0), 0), new THREE.Vector3());
  }

  /** Stop at a time and draw it at once; what tests look at. */
  freeze(time: number): void {
    this.clock.pause();
    this.clock.seek(time);
    this.draw();
  }

  draw(): void {
    for (const one of this.characters) one.pose(one.frameAt(this.clock.time));
    this.dispatchEvent(new Event("frame"));
    this.renderer.render(this.scene, this.camera);
  }

  private readonly tick = (now: number): void => {
    this.clock.advance(Math.min((now - this.last) / 1000, 0.25));
    this.last = now;
    this.controls.update();
    this.draw();
    requestAnimationFrame(this.tick);
  };

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width || !height) return;
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
  }
}
