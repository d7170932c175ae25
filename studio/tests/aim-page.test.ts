import { describe, expect, test } from "vitest";
import { nearestIn } from "../src/player/aim";

const CORNERS = [
  [0, 0, 0],
  [1, 0.1, 0],
  [0.2, 1.2, 0.1],
  [0.1, 0.3, 0.9],
];
const ALL = [0, 1, 2, 3];

function random(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

/** Shares that sum to 1. */
function shares(next: () => number, count: number): number[] {
  const drawn = Array.from({ length: count }, () => -Math.log(next()));
  const sum = drawn.reduce((a, b) => a + b, 0);
  return drawn.map((value) => value / sum);
}

const mixed = (own: number[], samples: number[][]): number[] =>
  samples[0].map((_, c) => own.reduce((sum, share, k) => sum + share * samples[k][c], 0));
const apart = (a: number[], b: number[]): number => Math.hypot(...a.map((value, c) => value - b[c]));

describe("the nearest point of a cell", () => {
  test("is the target itself, inside", () => {
    const next = random(1);
    for (let n = 0; n < 50; n++) {
      const own = shares(next, 4);
      const found = nearestIn(CORNERS, ALL, mixed(own, CORNERS));
      expect(found.distance).toBeLessThan(1e-9);
      found.shares.forEach((share, k) => expect(share).toBeCloseTo(own[found.corners.indexOf(k)], 8));
    }
  });

  test("is nearer than every other point of the cell, outside", () => {
    const next = random(2);
    for (let n = 0; n < 40; n++) {
      const target = [0, 1, 2].map(() => 6 * next() - 3);
      const { distance, place, shares: own, corners } = nearestIn(CORNERS, ALL, target);
      expect(own.every((share) => share > -1e-9)).toBe(true);
      expect(own.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 9);
      expect(
        apart(
          mixed(
            own,
            corners.map((corner) => CORNERS[corner]),
          ),
          place,
        ),
      ).toBeLessThan(1e-9);
      expect(apart(place, target)).toBeCloseTo(distance, 9);
      for (let k = 0; k < 400; k++)
        expect(apart(mixed(shares(next, 4), CORNERS), target)).toBeGreaterThan(distance - 1e-9);
    }
  });

  test("is found in flat cells, pairs and single samples", () => {
    const flat = [
      [0, 0],
      [1, 0],
      [2, 0],
    ];
    expect(nearestIn(flat, [0, 1, 2], [1.5, 1]).distance).toBeCloseTo(1, 9);
    expect(nearestIn([[1], [3]], [0, 1], [2.5]).shares).toEqual([0.25, 0.75]);
    expect(nearestIn([[1], [3]], [1], [2.5]).place).toEqual([3]);
  });
});
