// Soft shadows: figures projected onto the floor along several directions of a wide sun. Each layer darkens a pixel once, using
// a bit of the stencil. Shadows are therefore sharp at the feet and softer with height, without a shadow map.

import * as THREE from "three";

const SUN: [number, number] = [0.35, 0.45]; // meters of shadow per meter of height
const WIDE = 0.05; // radius of the sun, in the same unit
const DARK = 0.34;
const LAYERS = 8; // the bits of a stencil

/** Shadow meshes of a geometry; `built` is GLSL that sets `vec3 place`, the world position of a vertex. */
export class ShadowLayers {
  readonly meshes: THREE.Mesh[];

  constructor(
    geometry: THREE.BufferGeometry,
    declared: string,
    built: string,
    uniforms: Record<string, THREE.IUniform> = {},
  ) {
    this.meshes = Array.from({ length: LAYERS }, (_, layer) => {
      const mesh = new THREE.Mesh(geometry, shadowMaterial(layer, declared, built, uniforms));
      mesh.renderOrder = -5;
      mesh.frustumCulled = false;
      return mesh;
    });
  }

  /** Show or hide them; a crowd has one hard layer, for speed. */
  show(shown: boolean, crowd: boolean): void {
    this.meshes.forEach((mesh, layer) => {
      mesh.visible = shown && (layer === 0 || !crowd);
      (mesh.material as THREE.ShaderMaterial).uniforms.dark.value = crowd ? DARK : 1 - (1 - DARK) ** (1 / LAYERS);
    });
  }
}

function shadowMaterial(
  layer: number,
  declared: string,
  built: string,
  uniforms: Record<string, THREE.IUniform>,
): THREE.Material {
  const turn = (2 * Math.PI * layer) / (LAYERS - 1);
  const off = layer === 0 ? 0 : WIDE * (layer % 2 ? 1 : 0.5);
  const sun = new THREE.Vector2(SUN[0] + off * Math.cos(turn), SUN[1] + off * Math.sin(turn));
  const bit = 1 << layer;
  return new THREE.ShaderMaterial({
    transparent: true,
    depthWrite: false,
    stencilWrite: true,
    stencilRef: bit,
    stencilFuncMask: bit,
    stencilWriteMask: bit,
    stencilFunc: THREE.NotEqualStencilFunc,
    stencilZPass: THREE.ReplaceStencilOp,
    uniforms: { ...uniforms, sun: { value: sun }, dark: { value: DARK } },
    vertexShader: `${declared} uniform vec2 sun;
      void main() {
        ${built}
        place.xz -= sun * place.y;
        place.y = 0.004;
        gl_Position = projectionMatrix * viewMatrix * vec4(place, 1.0);
      }`,
    fragmentShader: "uniform float dark; void main() { gl_FragColor = vec4(0.0, 0.0, 0.0, dark); }",
  });
}
