// The character of an exported page: its meshes on bones, or lines between joints if it has none.

import * as THREE from "three";
import type { MatchingDatabase, Mesh } from "../runtime/database";
import type { Pose } from "../runtime/inertialization";

const BODY = 0x9aa6b8;
const FLOATS = 0.1; // meters; characters farther from the floor are meant to be there

export class Figure {
  readonly group = new THREE.Group();
  private readonly bones: THREE.Bone[];
  private readonly lines?: THREE.BufferAttribute;
  private readonly turn = new THREE.Quaternion();
  private readonly next = new THREE.Quaternion();
  private readonly place = new THREE.Vector3();

  constructor(private readonly database: MatchingDatabase) {
    const { parents, offsets, names } = database.skeleton;
    this.bones = parents.map((_, joint) => {
      const bone = new THREE.Bone();
      bone.name = names[joint];
      bone.position.fromArray(offsets, joint * 3);
      return bone;
    });
    parents.forEach((parent, joint) => (parent < 0 ? this.group : this.bones[parent]).add(this.bones[joint]));
    for (const mesh of database.meshes) this.group.add(this.skinned(mesh));
    if (database.meshes.length) return;
    this.lines = new THREE.BufferAttribute(new Float32Array(parents.length * 6), 3);
    const geometry = new THREE.BufferGeometry().setAttribute("position", this.lines);
    const drawn = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: BODY }));
    drawn.frustumCulled = false;
    this.group.add(drawn);
  }

  /** Move the character up or down until its soles touch the floor in a standing pose; joints of feet are above the soles. */
  putOnFloor(standing: Pose): void {
    this.show(standing, standing, 0);
    this.group.updateMatrixWorld(true);
    let lowest = Infinity;
    this.group.traverse((part) => {
      if (!(part instanceof THREE.SkinnedMesh)) return;
      part.computeBoundingBox();
      lowest = Math.min(lowest, part.boundingBox!.min.y);
    });
    if (Math.abs(lowest) < FLOATS) this.group.position.y = -lowest;
  }

  /** Show the pose between two frames. */
  show(before: Pose, after: Pose, share: number): void {
    const { bones, turn, next } = this;
    bones.forEach((bone, joint) => {
      read(turn, before.rotations, joint * 4);
      read(next, after.rotations, joint * 4);
      bone.quaternion.slerpQuaternions(turn, next, share);
    });
    const root = bones[this.database.skeleton.parents.indexOf(-1)];
    root.position.fromArray(before.root).lerp(this.place.fromArray(after.root), share);
    if (this.lines) this.drawLines(this.lines);
  }

  private drawLines(lines: THREE.BufferAttribute): void {
    this.group.updateMatrixWorld(true);
    this.bones.forEach((bone, joint) => {
      const end = this.place.setFromMatrixPosition(bone.matrixWorld);
      lines.setXYZ(2 * joint, end.x, end.y, end.z);
      const parent = this.database.skeleton.parents[joint];
      if (parent >= 0) end.setFromMatrixPosition(this.bones[parent].matrixWorld);
      lines.setXYZ(2 * joint + 1, end.x, end.y, end.z);
    });
    lines.needsUpdate = true;
  }

  private skinned(mesh: Mesh): THREE.SkinnedMesh {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(mesh.positions, 3));
    geometry.setAttribute("normal", new THREE.BufferAttribute(mesh.normals, 3));
    geometry.setAttribute("skinIndex", new THREE.Uint16BufferAttribute(mesh.joints, 4));
    geometry.setAttribute("skinWeight", new THREE.BufferAttribute(mesh.weights, 4));
    geometry.setIndex(new THREE.BufferAttribute(mesh.triangles, 1));
    const material = new THREE.MeshStandardMaterial({ roughness: 0.75, metalness: 0 });
    if (mesh.color) material.color.setRGB(...mesh.color);
    else material.color.set(BODY);
    if (mesh.uvs && mesh.texture) {
      geometry.setAttribute("uv", new THREE.BufferAttribute(mesh.uvs, 2));
      material.map = textureOf(mesh.texture);
    }
    const drawn = new THREE.SkinnedMesh(geometry, material);
    const inverses = this.bones.map((_, joint) =>
      new THREE.Matrix4()
        .fromArray(mesh.bind, joint * 16)
        .transpose()
        .invert(),
    );
    drawn.bind(new THREE.Skeleton(this.bones, inverses), new THREE.Matrix4());
    drawn.normalizeSkinWeights();
    drawn.castShadow = true;
    drawn.frustumCulled = false;
    return drawn;
  }
}

function read(into: THREE.Quaternion, rotations: Float32Array, at: number): void {
  into.set(rotations[at + 1], rotations[at + 2], rotations[at + 3], rotations[at]);
}

function textureOf(image: Uint8Array<ArrayBuffer>): THREE.Texture {
  const address = URL.createObjectURL(new Blob([image]));
  const texture = new THREE.TextureLoader().load(address, () => URL.revokeObjectURL(address));
  texture.flipY = false;
  texture.colorSpace = THREE.SRGBColorSpace;
  return texture;
}
