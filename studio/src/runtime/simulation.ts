// The desired trajectory for the next second: the velocity approaches the desired one like a spring, or with a limited
// acceleration. Both are solved in closed form.

import { angleOf, minus, plus, scaled, sizeOf, springOf, wrapped, type Floor } from "./numbers";

/** Seconds ahead at which a trajectory is compared. */
export const HORIZONS = [1 / 3, 2 / 3, 1];

export type Dynamics = "sprung" | "clamped";

const RATE = 9; // 1/s
const ACCELERATION = 8; // m/s^2, limit for clamped velocities
const TURNING = 6; // rad/s, limit for clamped facing
const MOVING = 0.25; // m/s: slower characters keep their facing

/** Positions relative to the character, and facings, at the horizons. */
export interface Ahead {
  places: Floor[];
  facings: number[];
}

/** Velocity and facing that approach their desired values. */
export class Simulation {
  velocity: Floor = [0, 0];
  acceleration: Floor = [0, 0];
  facing = 0;
  turning = 0;

  constructor(readonly dynamics: Dynamics = "sprung") {}

  step(velocity: Floor, facing: number, dt: number): void {
    if (this.dynamics === "sprung") {
      const z = springOf(this.velocity[0] - velocity[0], this.acceleration[0], RATE, dt);
      const x = springOf(this.velocity[1] - velocity[1], this.acceleration[1], RATE, dt);
      this.velocity = [velocity[0] + z[0], velocity[1] + x[0]];
      this.acceleration = [z[1], x[1]];
      const [off, turning] = springOf(wrapped(this.facing - facing), this.turning, RATE, dt);
      this.facing = facing + off;
      this.turning = turning;
      return;
    }
    const missing = minus(velocity, this.velocity);
    const most = ACCELERATION * dt;
    const size = sizeOf(missing);
    this.velocity = plus(this.velocity, size <= most ? missing : scaled(missing, most / size));
    this.facing += Math.max(-TURNING * dt, Math.min(TURNING * dt, wrapped(facing - this.facing)));
  }

  ahead(velocity: Floor, facing: number): Ahead {
    const turn = wrapped(this.facing - facing);
    const places: Floor[] = [];
    const facings: number[] = [];
    const missing = minus(velocity, this.velocity);
    const needed = sizeOf(missing) / ACCELERATION;
    for (const time of HORIZONS) {
      if (this.dynamics === "sprung") {
        const left = Math.exp(-RATE * time);
        const place = [0, 1].map((c) => {
          const away = this.velocity[c] - velocity[c];
          const pull = this.acceleration[c] + RATE * away;
          const near = velocity[c] * time + (away * (1 - left)) / RATE;
          return near + (pull * (1 - left * (1 + RATE * time))) / RATE ** 2;
        });
        places.push([place[0], place[1]]);
        facings.push(facing + (turn + (this.turning + RATE * turn) * time) * left);
        continue;
      }
      const speeding = Math.min(time, needed);
      const gained = needed > 0 ? speeding ** 2 / (2 * needed) + (time - speeding) : 0;
      const from = needed > 0 ? this.velocity : velocity;
      places.push(plus(scaled(from, time), scaled(missing, gained)));
      facings.push(facing + Math.sign(turn) * Math.max(Math.abs(turn) - TURNING * time, 0));
    }
    return { places, facings };
  }
}

/** The desired facing: the given one, or the direction of travel or, at low speed, the current facing. */
export function desiredFacing(velocity: Floor, facing: number | null, now: number): number {
  if (facing !== null) return facing;
  return sizeOf(velocity) > MOVING ? angleOf(velocity) : now;
}
