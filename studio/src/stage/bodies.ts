// Skinned bodies: one mesh per skeleton, all its characters in one draw call. The bones of every character are a row of a
// texture; the shader moves the vertices.

import * as THREE from "three";
import { getArrays } from "../net/api";
import type { Character } from "./character";
import { ShadowLayers } from "./shadows";

const DETAILED = 4; // characters up to which bodies have many triangles
const TEXELS = 3; // per bone: the rows of its matrix

export interface BodyMesh {
  vertices: Float32Array;
  normals: Float32Array;
  triangles: Int32Array;
  joints: Int32Array;
  weights: Float32Array;
  unbind: Float32Array; // (P, 3, 4)
  /** Linear colors (V, 3) of a user's character; the neutral body has the color of its motion. */
  colors?: Float32Array;
}

export type Detail = "high" | "low";
/** Where the bodies of skeletons come from. */
export type BodySource = (key: string, detail: Detail) => Promise<BodyMesh>;

const MESHES = new Map<string, Promise<BodyMesh>>();

/** The body of a skeleton from the server, once per page. */
function fetchBody(key: string, detail: Detail): Promise<BodyMesh> {
  const name = `${key} ${detail}`;
  let request = MESHES.get(name);
  if (!request) {
    request = getArrays("bodies/{key}", { path: { key }, query: { detail } }).then(
      ({ arrays }) => arrays as unknown as BodyMesh,
    );
    request.catch(() => MESHES.delete(name));
    MESHES.set(name, request);
  }
  return request;
}

const DECLARED = /* glsl */ `
  attribute vec4 skinBones, skinShare;
  attribute vec3 skinColor;
  attribute float skinFoot;
  attribute vec4 bodyColor, bodyStands;
  attribute float bodyRow;
  uniform highp sampler2D bones;
  mat4 boneAt(float bone) {
    ivec2 at = ivec2(int(bone) * ${TEXELS}, int(bodyRow));
    vec4 x = texelFetch(bones, at, 0), y = texelFetch(bones, at + ivec2(1, 0), 0), z = texelFetch(bones, at + ivec2(2, 0), 0);
    return mat4(x.x, y.x, z.x, 0.0, x.y, y.y, z.y, 0.0, x.z, y.z, z.z, 0.0, x.w, y.w, z.w, 1.0);
  }
`;
const SKINNED = /* glsl */ `
  mat4 skin = skinShare.x * boneAt(skinBones.x) + skinShare.y * boneAt(skinBones.y)
    + skinShare.z * boneAt(skinBones.z) + skinShare.w * boneAt(skinBones.w);
`;

type Bones = { value: THREE.DataTexture | null };

function bodyMaterial(bones: Bones, transparent: boolean, painted: boolean): THREE.Material {
  const material = new THREE.MeshStandardMaterial({ transparent, roughness: 0.72, metalness: 0 });
  // three.js shares programs by the source of the next function, which is the same for all kinds of paint.
  material.customProgramCacheKey = () => `body ${painted}`;
  material.onBeforeCompile = (shader) => {
    shader.uniforms.bones = bones;
    shader.vertexShader = `${DECLARED} varying vec4 vBodyColor; varying float vBodyGlow;
      ${shader.vertexShader}`
      .replace(
        "#include <beginnormal_vertex>",
        `${SKINNED}
        vec3 objectNormal = normalize(mat3(skin) * normal);
        float stands = skinFoot < 0.0 ? 0.0 : bodyStands[int(skinFoot)];
        vBodyColor = vec4(mix(${painted ? "skinColor" : "bodyColor.rgb"}, vec3(0.078, 0.348, 0.686), ${painted ? "0.25" : "0.6"} * stands), bodyColor.a);
        vBodyGlow = ${painted ? "0.0" : "0.1 * stands"};`,
      )
      .replace("#include <begin_vertex>", "vec3 transformed = (skin * vec4(position, 1.0)).xyz;");
    // A light from behind on the edges, so that figures stand out from the floor and from each other.
    shader.fragmentShader = `varying vec4 vBodyColor; varying float vBodyGlow;
      ${shader.fragmentShader}`
      .replace("#include <color_fragment>", "diffuseColor *= vBodyColor;")
      .replace(
        "#include <emissivemap_fragment>",
        `float rim = pow(1.0 - abs(dot(normalize(vNormal), normalize(vViewPosition))), 3.0);
        totalEmissiveRadiance += vBodyColor.rgb * (vBodyGlow + 0.45 * rim);`,
      );
  };
  return material;
}

/** All characters of one skeleton. */
class BodyGroup {
  readonly group = new THREE.Group();
  private count = 0;
  private rows = 0;
  private matrices = new Float32Array(0);
  private readonly bones: Bones = { value: null };
  private readonly geometry = new THREE.InstancedBufferGeometry();
  private readonly shadow: ShadowLayers;
  private readonly width: number; // bones
  private colors = new Float32Array(0);
  private stands = new Float32Array(0);

  constructor(
    private readonly mesh: BodyMesh,
    feet: Int8Array,
    transparent: boolean,
  ) {
    this.width = mesh.unbind.length / 12;
    const { geometry } = this;
    const attribute = (name: string, values: ArrayLike<number>, size: number) =>
      geometry.setAttribute(name, new THREE.Float32BufferAttribute(values, size));
    attribute("position", mesh.vertices, 3);
    attribute("normal", mesh.normals, 3);
    attribute("skinBones", mesh.joints, 4);
    attribute("skinShare", mesh.weights, 4);
    if (mesh.colors) attribute("skinColor", mesh.colors, 3);
    attribute(
      "skinFoot",
      Float32Array.from({ length: mesh.joints.length / 4 }, (_, v) => feet[mesh.joints[4 * v]]),
      1,
    );
    geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(mesh.triangles), 1));
    const body = new THREE.Mesh(geometry, bodyMaterial(this.bones, transparent, Boolean(mesh.colors)));
    body.renderOrder = transparent ? 2 : 0;
    this.shadow = new ShadowLayers(geometry, DECLARED, `${SKINNED} vec3 place = (skin * vec4(position, 1.0)).xyz;`, {
      bones: this.bones,
    });
    body.frustumCulled = false;
    this.group.add(body);
    if (!transparent) this.group.add(...this.shadow.meshes);
    this.grow(1);
  }

  begin(): void {
    this.count = 0;
  }

  add(one: Character, stands: Uint8Array | null, row: number): void {
    if (this.count === this.rows) this.grow(2 * this.rows);
    const at = 4 * this.count;
    this.colors[at] = one.color.r;
    this.colors[at + 1] = one.color.g;
    this.colors[at + 2] = one.color.b;
    this.colors[at + 3] = one.opacity;
    for (let part = 0; part < 4; part++) this.stands[at + part] = stands && stands[4 * row + part] ? 1 : 0;
    one.boneMatrices(this.mesh.unbind, this.matrices, this.count * this.width * 12);
    this.count++;
  }

  end(shadows: boolean): void {
    this.group.visible = this.count > 0;
    if (!this.count) return;
    this.geometry.instanceCount = this.count;
    this.bones.value!.needsUpdate = true;
    for (const name of ["bodyColor", "bodyStands"]) this.geometry.getAttribute(name).needsUpdate = true;
    this.shadow.show(shadows, this.count > DETAILED);
  }

  dispose(): void {
    this.geometry.dispose();
    this.bones.value?.dispose();
    this.group.removeFromParent();
  }

  private grow(rows: number): void {
    const { geometry, width } = this;
    const longer = (values: Float32Array, length: number) => {
      const grown = new Float32Array(length);
      grown.set(values);
      return grown;
    };
    this.rows = rows;
    this.matrices = longer(this.matrices, rows * width * 12);
    this.bones.value?.dispose();
    this.bones.value = new THREE.DataTexture(this.matrices, width * TEXELS, rows, THREE.RGBAFormat, THREE.FloatType);
    this.colors = longer(this.colors, 4 * rows);
    this.stands = longer(this.stands, 4 * rows);
    geometry.dispose();
    geometry.setAttribute("bodyColor", new THREE.InstancedBufferAttribute(this.colors, 4));
    geometry.setAttribute("bodyStands", new THREE.InstancedBufferAttribute(this.stands, 4));
    const numbers = Float32Array.from({ length: rows }, (_, row) => row);
    geometry.setAttribute("bodyRow", new THREE.InstancedBufferAttribute(numbers, 1));
  }
}

/** Draws characters whose motion has orientations and whose skeleton has a body. */
export class Bodies {
  readonly group = new THREE.Group();
  private readonly groups = new Map<string, BodyGroup | null>(); // null: on its way
  private detail: Detail = "high";

  /** `loaded` is called when a body has arrived, to draw again. */
  constructor(
    private readonly loaded: () => void,
    private readonly source: BodySource = fetchBody,
  ) {}

  begin(characters: number): void {
    this.detail = characters > DETAILED ? "low" : "high";
    for (const one of this.groups.values()) one?.begin();
  }

  /** Draw a character; false if it has no body, or none yet. */
  add(one: Character, stands: Uint8Array | null, row: number): boolean {
    const { body, orientations } = one.motion;
    if (!body || !orientations) return false;
    const transparent = one.opacity < 1;
    const name = `${body} ${this.detail} ${transparent}`;
    const group = this.groups.get(name);
    if (group === undefined) {
      this.groups.set(name, null);
      const { foot } = one.plan;
      this.source(body, this.detail).then(
        (mesh) => {
          const made = new BodyGroup(mesh, foot, transparent);
          this.groups.set(name, made);
          this.group.add(made.group);
          this.loaded();
        },
        () => {}, // bones are drawn instead
      );
    }
    group?.add(one, stands, row);
    return Boolean(group);
  }

  end(shadows: boolean): void {
    for (const one of this.groups.values()) one?.end(shadows);
  }

  /** Discard all bodies, for example after a restart of the server. */
  clear(): void {
    for (const one of this.groups.values()) one?.dispose();
    this.groups.clear();
  }
}
