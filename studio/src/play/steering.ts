// User input from keyboard, gamepad and pointer as a velocity on the floor.

/** Forward and to the right, each -1 to 1, and whether to run or to strafe. */
export interface Stick {
  forward: number;
  right: number;
  run: boolean;
  strafe: boolean;
  /** Turn of the camera, -1 to 1. */
  look: number;
}

export const REST: Stick = { forward: 0, right: 0, run: false, strafe: false, look: 0 };

const KEYS: Record<string, [forward: number, right: number]> = {
  KeyW: [1, 0],
  ArrowUp: [1, 0],
  KeyS: [-1, 0],
  ArrowDown: [-1, 0],
  KeyA: [0, -1],
  ArrowLeft: [0, -1],
  KeyD: [0, 1],
  ArrowRight: [0, 1],
};
const RUN = ["ShiftLeft", "ShiftRight"];
const DEAD = 0.18; // of a stick; smaller values are ignored
const ARRIVED = 0.35; // meters from the pointer
const SLOWING = 1.2; // distance from the pointer at which it slows down, in meters

/** Whether a key steers. */
export function steers(code: string): boolean {
  return code in KEYS || RUN.includes(code);
}

/** The pressed keys, as a stick. */
export function stickOfKeys(held: ReadonlySet<string>): Stick {
  let forward = 0;
  let right = 0;
  for (const code of held) {
    forward += KEYS[code]?.[0] ?? 0;
    right += KEYS[code]?.[1] ?? 0;
  }
  forward = Math.sign(forward);
  right = Math.sign(right);
  const long = Math.hypot(forward, right) || 1;
  return { ...REST, forward: forward / long, right: right / long, run: RUN.some((code) => held.has(code)) };
}

/** A gamepad in the standard layout: left stick walks, right stick turns the camera, RT runs, LB strafes. */
export function stickOfPad(pad: Pick<Gamepad, "axes" | "buttons"> | null | undefined): Stick {
  if (!pad) return REST;
  const [x = 0, y = 0, look = 0] = pad.axes;
  const tilt = Math.hypot(x, y);
  const live = tilt < DEAD ? 0 : Math.min((tilt - DEAD) / (1 - DEAD), 1) / tilt;
  const pressed = (button: number) => (pad.buttons[button]?.value ?? 0) > 0.4;
  return {
    forward: -y * live,
    right: x * live,
    run: pressed(7) || pressed(0),
    strafe: pressed(4),
    look: Math.abs(look) < DEAD ? 0 : look,
  };
}

/** Velocity [x, z] of a stick; the camera looks along `yaw`, radians from +Z toward +X. */
export function velocityOf({ forward, right }: Stick, yaw: number, speed: number): [number, number] {
  const [sin, cos] = [Math.sin(yaw), Math.cos(yaw)];
  return [speed * (forward * sin - right * cos) + 0, speed * (forward * cos + right * sin) + 0];
}

/** Velocity [x, z] from a place toward a point, slower near it. */
export function velocityToward(
  place: readonly number[],
  point: readonly [number, number],
  speed: number,
): [number, number] {
  const [x, z] = [point[0] - place[0], point[1] - place[1]];
  const far = Math.hypot(x, z);
  if (far < ARRIVED) return [0, 0];
  const fast = speed * Math.min(1, Math.max(far / SLOWING, 0.4));
  return [(fast * x) / far, (fast * z) / far];
}
