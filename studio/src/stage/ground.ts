// The floor: a pool of light with a metre grid that goes wherever the camera looks.

import * as THREE from "three";

const REACH = 14; // metres from the middle to where the floor has faded

export class Ground {
  readonly mesh: THREE.Mesh;

  constructor() {
    const material = new THREE.ShaderMaterial({
      transparent: true, depthWrite: false,
      uniforms: { reach: { value: REACH }, grid: { value: 1 } },
      vertexShader: /* glsl */ `
        varying vec3 place; varying vec2 local;
        void main() {
          vec4 world = modelMatrix * vec4(position, 1.0);
          place = world.xyz; local = position.xz;
          gl_Position = projectionMatrix * viewMatrix * world;
        }`,
      fragmentShader: /* glsl */ `
        varying vec3 place; varying vec2 local; uniform float reach, grid;
        float lines(vec2 at, float width) {
          vec2 thin = fwidth(at) * width;
          vec2 near = abs(fract(at - 0.5) - 0.5) / max(thin, vec2(1e-6));
          // Where lines lie closer than pixels they would flicker: fade them out.
          float coarse = 1.0 - smoothstep(0.25, 0.7, max(thin.x, thin.y));
          return (1.0 - min(min(near.x, near.y), 1.0)) * coarse;
        }
        void main() {
          float fade = 1.0 - smoothstep(0.15, 1.0, length(local) / reach);
          float half_metres = lines(place.xz * 2.0, 1.0) * 0.10;
          float metres = lines(place.xz, 1.2) * 0.22;
          float line = max(half_metres, metres) * grid;
          vec3 colour = mix(vec3(0.46, 0.52, 0.62), vec3(0.72, 0.78, 0.88), step(0.001, line));
          gl_FragColor = vec4(colour, (0.075 + line) * fade);
        }`,
    });
    this.mesh = new THREE.Mesh(new THREE.PlaneGeometry(2 * REACH, 2 * REACH).rotateX(-Math.PI / 2), material);
    this.mesh.renderOrder = -10;
  }

  /** The lines stay where they are in the world; only the pool of light moves. */
  follow(middle: THREE.Vector3, distance: number): void {
    const size = Math.max(1, distance / 6);
    this.mesh.position.set(middle.x, 0, middle.z);
    this.mesh.scale.set(size, 1, size);
  }

  set lines(shown: boolean) { (this.mesh.material as THREE.ShaderMaterial).uniforms.grid.value = shown ? 1 : 0; }
}
