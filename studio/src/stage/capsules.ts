// Everything round on the stage - bones, joints, limbs, trails - is a pill: two points, a radius
// at each, one colour. All pills of a kind are one draw; the shader builds them from the points,
// so that a frame costs the page no matrices and no allocation.

import * as THREE from "three";

const FLOATS = 3 + 3 + 3 + 4 + 4;

/** Two hemispheres, `rings` each; `pillEnd` says to which point a vertex belongs. */
function pillGeometry(around: number, rings: number): THREE.InstancedBufferGeometry {
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
  geometry.setAttribute("pillEnd", new THREE.Float32BufferAttribute(ends, 1));
  geometry.setIndex(index);
  return geometry;
}

const DECLARED = /* glsl */ `
  attribute float pillEnd;
  attribute vec3 pillFrom, pillTo, pillShape;
  attribute vec4 pillSide;
`;

// pillShape: radius at each end, glow. pillSide: direction of the width, depth as part of it.
const BUILT = /* glsl */ `
  vec3 along = pillTo - pillFrom;
  float reach = length(along);
  vec3 pillY = reach > 1e-6 ? along / reach : vec3(0.0, 1.0, 0.0);
  vec3 pillX = pillSide.xyz - pillY * dot(pillSide.xyz, pillY);
  if (dot(pillX, pillX) < 1e-6)
    pillX = abs(pillY.y) < 0.9 ? cross(pillY, vec3(0.0, 1.0, 0.0)) : cross(pillY, vec3(1.0, 0.0, 0.0));
  pillX = normalize(pillX);
  vec3 pillZ = cross(pillX, pillY);
  vec3 pillPoint = mix(pillFrom, pillTo, pillEnd) + mix(pillShape.x, pillShape.y, pillEnd)
    * (pillX * position.x + pillY * position.y + pillZ * position.z * pillSide.w);
`;

function bodyMaterial(ghostly: boolean): THREE.Material {
  const material = new THREE.MeshLambertMaterial({ transparent: ghostly });
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = `${DECLARED} attribute vec4 pillColour; varying vec4 vPillColour; varying float vPillGlow;
      ${shader.vertexShader}`
      .replace(
        "#include <beginnormal_vertex>",
        `${BUILT}
        vec3 objectNormal = normalize(pillX * position.x + pillY * position.y + pillZ * position.z / pillSide.w);
        vPillColour = pillColour; vPillGlow = pillShape.z;`,
      )
      .replace("#include <begin_vertex>", "vec3 transformed = pillPoint;");
    shader.fragmentShader = `varying vec4 vPillColour; varying float vPillGlow;
      ${shader.fragmentShader}`
      .replace("#include <color_fragment>", "diffuseColor *= vPillColour;")
      .replace("#include <emissivemap_fragment>", "totalEmissiveRadiance += vPillColour.rgb * vPillGlow;");
  };
  return material;
}

/** Shadows on the floor: the same pills, laid flat along the light; each pixel darkened once. */
function shadowMaterial(): THREE.Material {
  return new THREE.ShaderMaterial({
    transparent: true,
    depthWrite: false,
    depthTest: true,
    stencilWrite: true,
    stencilRef: 0,
    stencilFunc: THREE.EqualStencilFunc,
    stencilZPass: THREE.IncrementStencilOp,
    vertexShader: `${DECLARED}
      void main() {
        ${BUILT}
        pillPoint.xz -= vec2(0.35, 0.45) * pillPoint.y;
        pillPoint.y = 0.004;
        gl_Position = projectionMatrix * viewMatrix * vec4(pillPoint, 1.0);
      }`,
    fragmentShader: "void main() { gl_FragColor = vec4(0.0, 0.0, 0.0, 0.32); }",
  });
}

export class Pills {
  readonly group = new THREE.Group();
  count = 0;
  private data!: Float32Array;
  private buffer!: THREE.InstancedInterleavedBuffer;
  private readonly fine = pillGeometry(12, 4);
  private readonly coarse = pillGeometry(8, 2);
  private readonly flat = pillGeometry(6, 1); // of shadows, where no shading shows
  private readonly meshes: THREE.Mesh[];

  constructor(options: { ghostly?: boolean; shadows?: boolean } = {}) {
    const body = new THREE.Mesh(this.fine, bodyMaterial(options.ghostly ?? false));
    body.renderOrder = options.ghostly ? 2 : 0;
    this.meshes = [body];
    if (options.shadows) {
      const shadow = new THREE.Mesh(this.flat, shadowMaterial());
      shadow.renderOrder = -5;
      this.meshes.push(shadow);
    }
    for (const mesh of this.meshes) mesh.frustumCulled = false;
    this.group.add(...this.meshes);
    this.group.visible = false;
    this.grow(256);
  }

  begin(): void {
    this.count = 0;
  }

  /** One pill from a to b; returns nothing, allocates nothing. */
  add(
    ax: number,
    ay: number,
    az: number,
    bx: number,
    by: number,
    bz: number,
    ra: number,
    rb: number,
    colour: THREE.Color,
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
    data[at++] = colour.r;
    data[at++] = colour.g;
    data[at++] = colour.b;
    data[at] = alpha;
  }

  /** Hand the pills to the graphics card; `coarse` for crowds, where each is small. */
  end(coarse = false): void {
    this.meshes[0].geometry = coarse ? this.coarse : this.fine;
    for (const geometry of this.geometries) geometry.instanceCount = this.count;
    this.buffer.clearUpdateRanges();
    this.buffer.addUpdateRange(0, this.count * FLOATS);
    this.buffer.needsUpdate = true;
    this.group.visible = this.count > 0;
  }

  set shadows(shown: boolean) {
    if (this.meshes[1]) this.meshes[1].visible = shown;
  }

  private get geometries() {
    return [this.fine, this.coarse, this.flat];
  }

  private grow(pills: number): void {
    const data = new Float32Array(pills * FLOATS);
    if (this.data) data.set(this.data);
    this.data = data;
    for (const geometry of this.geometries) geometry.dispose();
    this.buffer = new THREE.InstancedInterleavedBuffer(data, FLOATS);
    this.buffer.setUsage(THREE.DynamicDrawUsage);
    const parts: [string, number, number][] = [
      ["pillFrom", 3, 0],
      ["pillTo", 3, 3],
      ["pillShape", 3, 6],
      ["pillSide", 4, 9],
      ["pillColour", 4, 13],
    ];
    for (const geometry of this.geometries)
      for (const [name, size, offset] of parts)
        geometry.setAttribute(name, new THREE.InterleavedBufferAttribute(this.buffer, size, offset));
  }
}
