// Flat ribbons on the floor along a line of points.

import * as THREE from "three";

type Point = readonly [number, number]; // x, z in meters

const PART = 0.04; // meters between points of a smooth line

/** A smooth line through points: Catmull-Rom, with points a few centimeters apart. */
export function smoothed(points: readonly Point[]): Point[] {
  if (points.length < 3) return [...points];
  const line: Point[] = [];
  for (let k = 0; k + 1 < points.length; k++) {
    const [a, b, c, d] = [k - 1, k, k + 1, k + 2].map((at) => points[Math.min(Math.max(at, 0), points.length - 1)]);
    const parts = Math.max(1, Math.ceil(Math.hypot(c[0] - b[0], c[1] - b[1]) / PART));
    for (let part = 0; part < parts; part++) {
      const t = part / parts;
      const at = (axis: 0 | 1) =>
        0.5 *
        (2 * b[axis] +
          (c[axis] - a[axis]) * t +
          (2 * a[axis] - 5 * b[axis] + 4 * c[axis] - d[axis]) * t * t +
          (3 * b[axis] - a[axis] - 3 * c[axis] + d[axis]) * t * t * t);
      line.push([at(0), at(1)]);
    }
  }
  return [...line, points[points.length - 1]];
}

/** Mean of the points within `reach` places of each; the ends stay where they are. */
export function averaged(points: readonly Point[], reach: number): Point[] {
  return points.map((_, at): Point => {
    const half = Math.min(reach, at, points.length - 1 - at);
    let [x, z] = [0, 0];
    for (let k = at - half; k <= at + half; k++) {
      x += points[k][0];
      z += points[k][1];
    }
    return [x / (2 * half + 1), z / (2 * half + 1)];
  });
}

/** A flat ribbon along a line, at a height in meters. */
export function ribbon(line: readonly Point[], half: number, height: number): THREE.BufferGeometry {
  const places: number[] = [];
  const index: number[] = [];
  line.forEach(([x, z], at) => {
    const [ax, az] = line[Math.max(at - 1, 0)];
    const [bx, bz] = line[Math.min(at + 1, line.length - 1)];
    const long = Math.hypot(bx - ax, bz - az) || 1;
    const [nx, nz] = [(-(bz - az) / long) * half, ((bx - ax) / long) * half];
    places.push(x + nx, height, z + nz, x - nx, height, z - nz);
    if (at > 0) {
      const k = 2 * at;
      index.push(k - 2, k, k - 1, k - 1, k, k + 1);
    }
  });
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(places, 3));
  geometry.setIndex(index);
  return geometry;
}

/** A mesh for ribbons, which does not hide anything. */
export function ribbonMesh(color: THREE.ColorRepresentation, opacity: number): THREE.Mesh {
  const mesh = new THREE.Mesh(
    new THREE.BufferGeometry(),
    new THREE.MeshBasicMaterial({
      color,
      transparent: true,
      opacity,
      side: THREE.DoubleSide,
      forceSinglePass: true,
      depthWrite: false,
    }),
  );
  mesh.renderOrder = -4;
  mesh.frustumCulled = false;
  return mesh;
}
