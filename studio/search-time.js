/* global console, performance, process */
// Time of the search in the built run-time: node search-time.js CONTROLLER.bin
// Each query is the pose of one frame with the trajectory of another, as after a change of the controls; the limit on the
// cost is that of the player. Prints the median in milliseconds.
import { readFileSync } from "node:fs";
import { FEATURES, readDatabase } from "../src/motionloom/studio/static/runtime/index.js";

const database = await readDatabase(new Uint8Array(readFileSync(process.argv[2])));
const { rows, count, search } = database;
const allowed = database.allowed();
const times = [];
for (let n = 0; n < 1200; n++) {
  const [a, b] = [(n * 7919) % count, (n * 104729 + 17) % count];
  const point = rows.slice(a * FEATURES, (a + 1) * FEATURES);
  point.set(rows.subarray(b * FEATURES + 15, (b + 1) * FEATURES), 15);
  let square = 0;
  for (let c = 0; c < FEATURES; c++) square += (point[c] - rows[a * FEATURES + c]) ** 2;
  const most = 0.9 * Math.sqrt(square) - 0.2;
  if (most <= 0) continue;
  const start = performance.now();
  search.nearest(point, 16, most, allowed);
  times.push(performance.now() - start);
}
const timed = times.slice(200).sort((x, y) => x - y); // the first ones are compiled
const at = (share) => timed[Math.floor(share * timed.length)].toFixed(3);
console.log(`${count} frames: median ${at(0.5)} ms, 90 % ${at(0.9)} ms, 99 % ${at(0.99)} ms`);
