// The run-time plays the frames that Python played (golden.py records them before these tests run).

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FEATURES, MatchingPlayer, readDatabase, Search, type Controls } from "../src/runtime";

const FOLDER = process.env.GOLDEN ?? "generated/golden";
const bytes = (name: string) => new Uint8Array(readFileSync(`${FOLDER}/${name}`));
const trace = JSON.parse(readFileSync(`${FOLDER}/trace.json`, "utf8")) as {
  count: number;
  jumps: number;
  frames: number;
  changes: Record<string, Controls>;
};

test("the run-time plays the frames and poses of the Python player", async () => {
  const database = await readDatabase(bytes("controller.bin"));
  const frames = new Int32Array(bytes("frames.bin").buffer);
  const poses = new Float32Array(bytes("poses.bin").buffer);
  const player = new MatchingPlayer(database);
  const size = database.skeleton.parents.length * 4 + 3;
  let worst = 0;
  for (let n = 0; n < trace.count; n++) {
    player.steer(trace.changes[n] ?? {});
    const { frame, rotations, root } = player.next();
    expect(frame, `frame ${n} of the trace`).toBe(frames[n]);
    const pose = [...rotations, ...root];
    for (let k = 0; k < size; k++) worst = Math.max(worst, Math.abs(pose[k] - poses[n * size + k]));
  }
  console.log(`${trace.count} frames, ${player.jumps} jumps, largest difference ${worst}`);
  expect(worst).toBeLessThan(1e-4);
  expect(player.jumps).toBe(trace.jumps);
  expect(trace.jumps).toBeGreaterThan(trace.count / 100); // the trace does jump
});

test("the search finds the rows of a plain search, in the same order", async () => {
  const database = await readDatabase(bytes("controller.bin"));
  const { rows, count } = database;
  for (let n = 0; n < 40; n++) {
    const [a, b] = [(n * 131) % count, (n * 577 + 41) % count];
    const point = Float32Array.from(
      { length: FEATURES },
      (_, c) => 0.5 * (rows[a * FEATURES + c] + rows[b * FEATURES + c]),
    );
    const allowed = Uint8Array.from({ length: count }, (_, row) => Number((row + n) % 3 > 0));
    const radius = n % 2 ? Infinity : 1.5;
    const plain = Array.from({ length: count }, (_, row) => row)
      .filter((row) => allowed[row] && database.searchable[row] && (row < a || row >= a + 20))
      .map((row) => {
        let square = 0;
        for (let c = 0; c < FEATURES; c++) square += (point[c] - rows[row * FEATURES + c]) ** 2;
        return [row, Math.sqrt(square)];
      })
      .filter(([, cost]) => cost <= radius)
      .sort((x, y) => x[1] - y[1] || x[0] - y[0])
      .slice(0, 16);
    const found = database.search.nearest(point, 16, radius, allowed, a, a + 20);
    expect(found.rows).toEqual(plain.map(([row]) => row));
    expect(found.costs).toEqual(plain.map(([, cost]) => cost));
  }
});

test("ties are in the order of the rows", () => {
  const search = new Search(new Float32Array([1, 0, 0, 1, 1, 0, 5, 5]), 2, new Uint8Array([1, 1, 1, 1]));
  expect(search.nearest([1, 0], 3)).toEqual({ rows: [0, 2, 1], costs: [0, 0, Math.SQRT2] });
});

test("damaged controllers are refused", async () => {
  await expect(readDatabase(new Uint8Array([1, 2, 3]))).rejects.toThrow();
  const packed = bytes("controller.bin");
  await expect(readDatabase(packed.slice(0, packed.length / 2))).rejects.toThrow();
});

test("controls that are no numbers are refused and change nothing", async () => {
  const player = new MatchingPlayer(await readDatabase(bytes("controller.bin")));
  expect(() => player.steer({ velocity: [NaN, 0] })).toThrow(/velocity/);
  expect(() => player.steer({ facing: Infinity })).toThrow(/facing/);
  expect(() => player.steer({ gait: "flying", velocity: [0, 1] })).toThrow(/available tags/);
  expect(player.trajectory.at(-1)![1]).toBe(0);
});
