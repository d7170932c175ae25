// The floor: its grid, lines marked on it, and a path drawn on it with the mouse.

import * as THREE from "three";
import { ribbon, ribbonMesh, smoothed } from "./ribbon";
import type { Stage } from "./stage";

const REACH = 14; // meters from the center to where the floor has faded

export class FloorGrid {
  readonly mesh: THREE.Mesh;

  constructor() {
    const material = new THREE.ShaderMaterial({
      transparent: true,
      depthWrite: false,
      uniforms: { reach: { value: REACH }, grid: { value: 1 }, ink: { value: new THREE.Color() } },
      vertexShader: /* glsl */ `
        varying vec3 place; varying vec2 local;
        void main() {
          vec4 world = modelMatrix * vec4(position, 1.0);
          place = world.xyz; local = position.xz;
          gl_Position = projectionMatrix * viewMatrix * world;
        }`,
      fragmentShader: /* glsl */ `
        varying vec3 place; varying vec2 local; uniform float reach, grid; uniform vec3 ink;
        float lines(vec2 at, float width) {
          vec2 thin = fwidth(at) * width;
          vec2 near = abs(fract(at - 0.5) - 0.5) / max(thin, vec2(1e-6));
          // Lines closer than a pixel would flicker: fade them out.
          float coarse = 1.0 - smoothstep(0.25, 0.7, max(thin.x, thin.y));
          return (1.0 - min(min(near.x, near.y), 1.0)) * coarse;
        }
        void main() {
          float fade = 1.0 - smoothstep(0.15, 1.0, length(local) / reach);
          float half_meters = lines(place.xz * 2.0, 1.0) * 0.10;
          float meters = lines(place.xz, 1.2) * 0.22;
          float line = max(half_meters, meters) * grid;
          gl_FragColor = vec4(ink, (0.075 + 1.3 * line) * fade);
        }`,
    });
    this.mesh = new THREE.Mesh(new THREE.PlaneGeometry(2 * REACH, 2 * REACH).rotateX(-Math.PI / 2), material);
    this.mesh.renderOrder = -10;
  }

  /** Center the lit area on a point; the lines stay fixed in the world. */
  follow(middle: THREE.Vector3, distance: number): void {
    const size = Math.max(1, distance / 6);
    this.mesh.position.set(middle.x, 0, middle.z);
    this.mesh.scale.set(size, 1, size);
  }

  set ink(color: string) {
    (this.mesh.material as THREE.ShaderMaterial).uniforms.ink.value.set(color);
  }

  set lines(shown: boolean) {
    (this.mesh.material as THREE.ShaderMaterial).uniforms.grid.value = shown ? 1 : 0;
  }
}

const SPACING = 0.12; // meters between points of the path
const LIFT = 0.012;
const PATH_COLOR = 0x7cb85c;
const PATH_HALF_WIDTH = 0.035; // meters

/** A place on the floor: x and z in meters. */
export type FloorPoint = [number, number];

/** Parse the points of a path, "x,z x,z ..."; invalid points are skipped. */
export function parsePath(text: string): FloorPoint[] {
  return text
    .split(/[\s;]+/)
    .map((point) => point.split(",").map(Number))
    .filter((point): point is FloorPoint => point.length === 2 && point.every(Number.isFinite));
}

export function pathText(path: FloorPoint[]): string {
  return path.map((point) => point.join(",")).join(" ");
}

/** A path drawn on the floor with the mouse. Fires "drawn" when the button is released. */
export class FloorPath extends EventTarget {
  points: FloorPoint[] = [];
  private drawing = false;
  private on = false;
  private readonly line = ribbonMesh(PATH_COLOR, 0.55);

  constructor(private readonly stage: Stage) {
    super();
    stage.scene.add(this.line);
    const { domElement } = stage.renderer;
    domElement.addEventListener("pointerdown", this.down);
    domElement.addEventListener("pointermove", this.move);
    domElement.addEventListener("pointerup", this.up);
  }

  /** Whether the mouse draws, instead of moving the camera. */
  get active(): boolean {
    return this.on;
  }
  set active(on: boolean) {
    this.on = on;
    this.stage.controls.enableRotate = !on; // the wheel still zooms, and the right button moves the view
    this.stage.renderer.domElement.style.cursor = on ? "crosshair" : "";
  }

  show(points: FloorPoint[]): void {
    this.points = points;
    this.line.geometry.dispose();
    this.line.geometry = ribbon(smoothed(points), PATH_HALF_WIDTH, LIFT);
    this.stage.wake();
  }

  dispose(): void {
    this.active = false;
    const { domElement } = this.stage.renderer;
    domElement.removeEventListener("pointerdown", this.down);
    domElement.removeEventListener("pointermove", this.move);
    domElement.removeEventListener("pointerup", this.up);
    this.stage.scene.remove(this.line);
    this.line.geometry.dispose();
    (this.line.material as THREE.Material).dispose();
    this.stage.wake();
  }

  private readonly down = (event: PointerEvent): void => {
    if (!this.on || event.button !== 0 || !event.isPrimary) return;
    this.drawing = true;
    this.stage.renderer.domElement.setPointerCapture(event.pointerId);
    this.show([]);
    this.add(event);
  };

  private readonly move = (event: PointerEvent): void => {
    if (this.drawing && event.isPrimary) this.add(event);
  };

  private readonly up = (): void => {
    if (!this.drawing) return;
    this.drawing = false;
    if (this.points.length > 1) this.dispatchEvent(new Event("drawn"));
  };

  private add(event: PointerEvent): void {
    const place = this.stage.floorAt(event.clientX, event.clientY);
    if (!place || place.length() > 60) return; // near the horizon a pixel covers meters
    const point: FloorPoint = [Math.round(place.x * 100) / 100, Math.round(place.z * 100) / 100];
    const last = this.points.at(-1);
    if (last && Math.hypot(point[0] - last[0], point[1] - last[1]) < SPACING) return;
    this.show([...this.points, point]);
  }
}

/** Mean distance of points on the floor from a path, in meters. */
export function meanDistanceToPath(path: FloorPoint[], points: FloorPoint[]): number {
  let total = 0;
  for (const [x, z] of points) {
    let best = Infinity;
    for (let k = 1; k < path.length; k++) {
      const [ax, az] = path[k - 1];
      const [bx, bz] = path[k];
      const length = (bx - ax) ** 2 + (bz - az) ** 2 || 1;
      const t = Math.min(Math.max(((x - ax) * (bx - ax) + (z - az) * (bz - az)) / length, 0), 1);
      best = Math.min(best, Math.hypot(x - ax - t * (bx - ax), z - az - t * (bz - az)));
    }
    total += best;
  }
  return total / Math.max(points.length, 1);
}

export class FloorLines {
  private readonly lines: THREE.Line[] = [];

  constructor(private readonly stage: Stage) {}

  /** The outline of a room (width, depth), or a street (x, z alternating). */
  show(room: [number, number] | null | undefined, street?: Float32Array): void {
    this.clear();
    if (room) {
      const [x, z] = [room[0] / 2, room[1] / 2];
      this.draw([
        [-x, -z],
        [x, -z],
        [x, z],
        [-x, z],
        [-x, -z],
      ]);
    }
    if (street) {
      const places: [number, number][] = [];
      for (let at = 0; at + 1 < street.length; at += 2) places.push([street[at], street[at + 1]]);
      this.draw(places);
    }
  }

  clear(): void {
    for (const line of this.lines) {
      line.removeFromParent();
      line.geometry.dispose();
      (line.material as THREE.Material).dispose();
    }
    this.lines.length = 0;
  }

  private draw(places: [number, number][]): void {
    const geometry = new THREE.BufferGeometry().setFromPoints(places.map(([x, z]) => new THREE.Vector3(x, LIFT, z)));
    const line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: 0x8a93a3 }));
    this.lines.push(line);
    this.stage.scene.add(line);
  }
}
