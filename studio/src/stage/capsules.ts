// Bones, joints, limbs and trails as instanced capsules: two points, a radius at each, one color. The shader builds the
// shape from the points, so that a frame needs one draw call, no matrices and no allocation.

import * as THREE from "three";
import { ShadowLayers } from "./shadows";

const FLOATS = 3 + 3 + 3 + 4 + 4;

/** Two hemispheres of `rings` rings; `capsuleEnd` is the point (0 or 1) a vertex belongs to. */
function capsuleGeometry(around: number, rings: number): THREE.InstancedBufferGeometry {
  const normals: number[] = [];
  const ends: number[] = [];
  const index: number[] = [];
  for (const end of [0, 1]) {
    for (let ring = 0; ring <= rings; ring++) {
      const angle = (end === 0 ? -1 + ring / rings : ring / rings) * (Math.PI / 2);
      for (let spoke = 0; spoke < around; spoke++) {
        const turn = (2 * Math.PI * spoke) / around;
        normals.push(Math.cos(angle) * Math.cos(turn), Math.sin(angle), Math.cos(angle) * Math.sin(turn));
        ends.push(end);
      }
    }
  }
  const rows = 2 * (rings + 1);
  for (let row = 0; row + 1 < rows; row++) {
    for (let spoke = 0; spoke < around; spoke++) {
      const a = row * around + spoke;
      const b = row * around + ((spoke + 1) % around);
      index.push(a, a + around, b, b, a + around, b + around);
    }
  }
  const geometry = new THREE.InstancedBufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(normals, 3));
  geometry.setAttribute("normal", new THREE.Float32BufferAttribute(normals, 3));
  geometry.setAttribute("capsuleEnd", new THREE.Float32BufferAttribute(ends, 1));
  geometry.setIndex(index);
  return geometry;
}

const DECLARED = /* glsl */ `
  attribute float capsuleEnd;
  attribute vec3 capsuleFrom, capsuleTo, capsuleShape;
  attribute vec4 capsuleSide;
`;

// capsuleShape: radius at each end, glow. capsuleSide: direction of the width, depth as a fraction of it.
const BUILT = /* glsl */ `
  vec3 along = capsuleTo - capsuleFrom;
  float reach = length(along);
  vec3 capsuleY = reach > 1e-6 ? along / reach : vec3(0.0, 1.0, 0.0);
  vec3 capsuleX = capsuleSide.xyz - capsuleY * dot(capsuleSide.xyz, capsuleY);
  if (dot(capsuleX, capsuleX) < 1e-6)
    capsuleX = abs(capsuleY.y) < 0.9 ? cross(capsuleY, vec3(0.0, 1.0, 0.0)) : cross(capsuleY, vec3(1.0, 0.0, 0.0));
  capsuleX = normalize(capsuleX);
  vec3 capsuleZ = cross(capsuleX, capsuleY);
  vec3 capsulePoint = mix(capsuleFrom, capsuleTo, capsuleEnd) + mix(capsuleShape.x, capsuleShape.y, capsuleEnd)
    * (capsuleX * position.x + capsuleY * position.y + capsuleZ * position.z * capsuleSide.w);
`;

function bodyMaterial(transparent: boolean): THREE.Material {
  const material = new THREE.MeshLambertMaterial({ transparent: transparent });
  material.onBeforeCompile = (shader) => {
    shader.vertexShader =
      `${DECLARED} attribute vec4 capsuleColor; varying vec4 vCapsuleColor; varying float vCapsuleGlow;
      ${shader.vertexShader}`
        .replace(
          "#include <beginnormal_vertex>",
          `${BUILT}
        vec3 objectNormal = normalize(capsuleX * position.x + capsuleY * position.y + capsuleZ * position.z / capsuleSide.w);
        vCapsuleColor = capsuleColor; vCapsuleGlow = capsuleShape.z;`,
        )
        .replace("#include <begin_vertex>", "vec3 transformed = capsulePoint;");
    shader.fragmentShader = `varying vec4 vCapsuleColor; varying float vCapsuleGlow;
      ${shader.fragmentShader}`
      .replace("#include <color_fragment>", "diffuseColor *= vCapsuleColor;")
      .replace("#include <emissivemap_fragment>", "totalEmissiveRadiance += vCapsuleColor.rgb * vCapsuleGlow;");
  };
  return material;
}

export class Capsules {
  readonly group = new THREE.Group();
  count = 0;
  private data!: Float32Array;
  private buffer!: THREE.InstancedInterleavedBuffer;
  private readonly fine = capsuleGeometry(12, 4);
  private readonly coarse = capsuleGeometry(8, 2);
  private readonly flat = capsuleGeometry(6, 1); // for shadows, which are not shaded
  private readonly meshes: THREE.Mesh[];
  private readonly shadow?: ShadowLayers;

  constructor(options: { transparent?: boolean; shadows?: boolean } = {}) {
    const body = new THREE.Mesh(this.fine, bodyMaterial(options.transparent ?? false));
    body.renderOrder = options.transparent ? 2 : 0;
    this.meshes = [body];
    if (options.shadows) {
      this.shadow = new ShadowLayers(this.flat, DECLARED, `${BUILT} vec3 place = capsulePoint;`);
      this.meshes.push(...this.shadow.meshes);
    }
    for (const mesh of this.meshes) mesh.frustumCulled = false;
    this.group.add(...this.meshes);
    this.group.visible = false;
    this.grow(256);
  }

  begin(): void {
    this.count = 0;
  }

  /** Add a capsule from a to b. */
  add(
    ax: number,
    ay: number,
    az: number,
    bx: number,
    by: number,
    bz: number,
    ra: number,
    rb: number,
    color: THREE.Color,
    alpha = 1,
    glow = 0,
    sx = 0,
    sy = 0,
    sz = 0,
    depth = 1,
  ): void {
    if ((this.count + 1) * FLOATS > this.data.length) this.grow(this.count * 2);
    const { data } = this;
    let at = this.count++ * FLOATS;
    data[at++] = ax;
    data[at++] = ay;
    data[at++] = az;
    data[at++] = bx;
    data[at++] = by;
    data[at++] = bz;
    data[at++] = ra;
    data[at++] = rb;
    data[at++] = glow;
    data[at++] = sx;
    data[at++] = sy;
    data[at++] = sz;
    data[at++] = depth;
    data[at++] = color.r;
    data[at++] = color.g;
    data[at++] = color.b;
    data[at] = alpha;
  }

  /** Upload the capsules; `coarse` geometry for crowds, where each is small. */
  end(coarse = false): void {
    this.meshes[0].geometry = coarse ? this.coarse : this.fine;
    for (const geometry of this.geometries) geometry.instanceCount = this.count;
    this.buffer.clearUpdateRanges();
    this.buffer.addUpdateRange(0, this.count * FLOATS);
    this.buffer.needsUpdate = true;
    this.group.visible = this.count > 0;
  }

  /** Show or hide shadows; those of a crowd are hard. */
  shadows(shown: boolean, crowd: boolean): void {
    this.shadow?.show(shown, crowd);
  }

  private get geometries() {
    return [this.fine, this.coarse, this.flat];
  }

  private grow(capsules: number): void {
    const data = new Float32Array(capsules * FLOATS);
    if (this.data) data.set(this.data);
    this.data = data;
    for (const geometry of this.geometries) geometry.dispose();
    this.buffer = new THREE.InstancedInterleavedBuffer(data, FLOATS);
    this.buffer.setUsage(THREE.DynamicDrawUsage);
    const parts: [string, number, number][] = [
      ["capsuleFrom", 3, 0],
      ["capsuleTo", 3, 3],
      ["capsuleShape", 3, 6],
      ["capsuleSide", 4, 9],
      ["capsuleColor", 4, 13],
    ];
    for (const geometry of this.geometries)
      for (const [name, size, offset] of parts)
        geometry.setAttribute(name, new THREE.InterleavedBufferAttribute(this.buffer, size, offset));
  }
}
