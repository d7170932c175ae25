// Numbers of the run-time: complex floor positions z + ix, quaternions wxyz, and springs. All in double precision; only
// poses are stored in single precision, rounded where the Python player rounds them.

/** A floor position or direction as a complex number: [z, x]. A rotation by an angle multiplies it by `turnBy(angle)`. */
export type Floor = readonly [z: number, x: number];

/** Any array of numbers. */
export type Numbers = Float32Array | Float64Array | number[];

export const turnBy = (angle: number): Floor => [Math.cos(angle), Math.sin(angle)];
export const times = (a: Floor, b: Floor): Floor => [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
export const scaled = (a: Floor, by: number): Floor => [a[0] * by, a[1] * by];
export const plus = (a: Floor, b: Floor): Floor => [a[0] + b[0], a[1] + b[1]];
export const minus = (a: Floor, b: Floor): Floor => [a[0] - b[0], a[1] - b[1]];
export const sizeOf = (a: Floor): number => Math.hypot(a[0], a[1]);
export const angleOf = (a: Floor): number => Math.atan2(a[1], a[0]);

/** An angle wrapped to (-pi, pi]. */
export const wrapped = (angle: number): number => Math.atan2(Math.sin(angle), Math.cos(angle));

/** A number limited to [-most, most]. */
export const limited = (value: number, most: number): number => Math.min(Math.max(value, -most), most);

/** The nearest whole number; halves go to the even one, as in Python. */
export function rounded(value: number): number {
  const low = Math.floor(value);
  const over = value - low;
  if (over !== 0.5) return over < 0.5 ? low : low + 1;
  return low % 2 === 0 ? low : low + 1;
}

/** Offset and velocity of a critically damped spring after some time. */
export function springOf(away: number, speed: number, rate: number, time: number): [away: number, speed: number] {
  const pull = speed + rate * away;
  const left = Math.exp(-rate * time);
  return [(away + pull * time) * left, (speed - rate * pull * time) * left];
}

/** out[o..] = a[i..] * b[j..]: first b, then a. */
export function multiplyInto(a: Numbers, i: number, b: Numbers, j: number, out: Numbers, o: number): void {
  const w = a[i] * b[j] - a[i + 1] * b[j + 1] - a[i + 2] * b[j + 2] - a[i + 3] * b[j + 3];
  const x = a[i] * b[j + 1] + a[i + 1] * b[j] + a[i + 2] * b[j + 3] - a[i + 3] * b[j + 2];
  const y = a[i] * b[j + 2] - a[i + 1] * b[j + 3] + a[i + 2] * b[j] + a[i + 3] * b[j + 1];
  const z = a[i] * b[j + 3] + a[i + 1] * b[j + 2] - a[i + 2] * b[j + 1] + a[i + 3] * b[j];
  out[o] = w;
  out[o + 1] = x;
  out[o + 2] = y;
  out[o + 3] = z;
}

/** out[o..] = the vector v[j..] rotated by the quaternion q[i..]. */
export function rotateInto(q: Numbers, i: number, v: Numbers, j: number, out: Numbers, o: number): void {
  const [w, a, b, c] = [q[i], q[i + 1], q[i + 2], q[i + 3]];
  const tx = 2 * (b * v[j + 2] - c * v[j + 1]);
  const ty = 2 * (c * v[j] - a * v[j + 2]);
  const tz = 2 * (a * v[j + 1] - b * v[j]);
  const x = v[j] + w * tx + b * tz - c * ty;
  const y = v[j + 1] + w * ty + c * tx - a * tz;
  const z = v[j + 2] + w * tz + a * ty - b * tx;
  out[o] = x;
  out[o + 1] = y;
  out[o + 2] = z;
}

/** The rotation vector of a quaternion, with an angle of at most pi. */
export function logOf(w: number, x: number, y: number, z: number): [number, number, number] {
  if (w < 0) [w, x, y, z] = [-w, -x, -y, -z];
  const sine = Math.sqrt(x * x + y * y + z * z);
  const factor = sine < 1e-9 ? 2 : (2 * Math.atan2(sine, w)) / sine;
  return [factor * x, factor * y, factor * z];
}

/** The quaternion of a rotation vector. */
export function expOf(x: number, y: number, z: number): [number, number, number, number] {
  const half = 0.5 * Math.sqrt(x * x + y * y + z * z);
  const factor = half === 0 ? 0.5 : (0.5 * Math.sin(half)) / half;
  return [Math.cos(half), factor * x, factor * y, factor * z];
}
