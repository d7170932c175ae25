// The scene of an exported page: a floor that follows the character, lights, and a camera behind it.

import * as THREE from "three";

const TURN = 1.6; // per second; rate at which the camera moves behind the character
const LOOK = 2.2; // radians per second with the right stick fully tilted
const TILE = 1; // meters between lines of the floor
const SIZE = 120; // meters; the fog hides the edges
const HIP = 0.95; // meters above the floor that the camera looks at

export class Scene {
  readonly scene = new THREE.Scene();
  /** Direction in which the camera looks, radians from +Z toward +X. */
  yaw = 0;
  private pitch = 0.22;
  private far = 4.2;
  private readonly renderer: THREE.WebGLRenderer;
  private readonly camera = new THREE.PerspectiveCamera(42, 1, 0.05, 200);
  private readonly target = new THREE.Vector3(0, HIP, 0);
  private readonly floor = new THREE.Group();
  private readonly sun = new THREE.DirectionalLight(0xffffff, 2.4);
  private dragged = 0; // time of the last drag, in milliseconds

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
    this.renderer.shadowMap.enabled = true;
    const { scene, sun } = this;
    scene.background = new THREE.Color(0x1b1f27);
    scene.fog = new THREE.Fog(0x1b1f27, 10, 42);
    scene.add(new THREE.HemisphereLight(0xf2f5ff, 0x6a6058, 2.2), sun, sun.target, this.floor);
    sun.castShadow = true;
    sun.shadow.mapSize.set(1024, 1024);
    Object.assign(sun.shadow.camera, { left: -2.5, right: 2.5, top: 2.5, bottom: -2.5, near: 1, far: 14 });
    const ground = new THREE.Mesh(
      new THREE.PlaneGeometry(SIZE, SIZE).rotateX(-Math.PI / 2),
      new THREE.MeshStandardMaterial({
        color: 0x262c36,
        roughness: 1,
        polygonOffset: true,
        polygonOffsetFactor: 2,
        polygonOffsetUnits: 2,
      }),
    );
    ground.receiveShadow = true;
    this.floor.add(ground, lines(0x8b98b2, 0x5d6980));
    canvas.addEventListener("pointermove", (event) => {
      if (!event.buttons) return;
      this.dragged = performance.now();
      this.yaw -= event.movementX * 0.006;
      this.pitch = Math.min(1.3, Math.max(-0.05, this.pitch + event.movementY * 0.004));
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.far = Math.min(14, Math.max(1.6, this.far * Math.exp(event.deltaY * 0.001)));
      },
      { passive: false },
    );
  }

  /** Move the camera: turned by `look`, or slowly behind a character that walks and faces `facing`. */
  follow(x: number, z: number, facing: number | null, look: number, seconds: number): void {
    this.yaw -= look * LOOK * seconds;
    if (facing !== null && !look && performance.now() - this.dragged > 1500) {
      const missing = facing - this.yaw;
      this.yaw += Math.atan2(Math.sin(missing), Math.cos(missing)) * (1 - Math.exp(-TURN * seconds));
    }
    this.target.set(x, HIP, z);
    const flat = this.far * Math.cos(this.pitch);
    this.camera.position.set(
      x - flat * Math.sin(this.yaw),
      HIP + this.far * Math.sin(this.pitch),
      z - flat * Math.cos(this.yaw),
    );
    this.camera.lookAt(this.target);
    this.floor.position.set(Math.round(x / TILE) * TILE, 0, Math.round(z / TILE) * TILE);
    this.sun.position.set(x + 2.5, 6, z + 1.5);
    this.sun.target.position.set(x, 0, z);
  }

  draw(): void {
    const { canvas, renderer, camera } = this;
    const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
    const ratio = Math.min(devicePixelRatio, 2);
    if (canvas.width !== Math.floor(wide * ratio) || canvas.height !== Math.floor(high * ratio)) {
      renderer.setPixelRatio(ratio);
      renderer.setSize(wide, high, false);
      camera.aspect = wide / Math.max(high, 1);
      camera.updateProjectionMatrix();
    }
    renderer.render(this.scene, camera);
  }
}

/** A grid on the floor. Browsers without a graphics card do not draw lines that pass the camera, so lines are cut at every tile. */
function lines(middle: number, others: number): THREE.LineSegments {
  const half = SIZE / 2 / TILE;
  const [points, colors]: number[][] = [[], []];
  for (let line = -half; line <= half; line++) {
    const color = new THREE.Color(line === 0 ? middle : others).toArray();
    for (let tile = -half; tile < half; tile++) {
      points.push(line, 0, tile, line, 0, tile + 1, tile, 0, line, tile + 1, 0, line);
      colors.push(...color, ...color, ...color, ...color);
    }
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
  geometry.setAttribute("color", new THREE.Float32BufferAttribute(colors, 3));
  const grid = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ vertexColors: true, toneMapped: false }));
  grid.scale.setScalar(TILE);
  grid.position.y = 0.002;
  return grid;
}
