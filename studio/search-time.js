/* global console, performance, process */
// Time of the search in the built run-time, on the queries of a player that is steered: sharp turns, changes of speed and
// gait. In Node: node search-time.js FOLDER, with a folder written by golden.py; benchmarks/browser_search.py imports
// it in Chromium. Each query is timed in three passes over all of them, and the fastest counts: other programs run too.

const PASSES = 3;
const MOST = 1500; // queries

export async function searchTimes({ MatchingPlayer, readDatabase }, packed, trace) {
  const started = performance.now();
  const database = await readDatabase(packed);
  const loaded = performance.now() - started;
  const { search } = database;
  const queries = [];
  const nearest = search.nearest.bind(search);
  search.nearest = (point, ...rest) => {
    queries.push([point.slice(), ...rest]);
    if (queries.length > 2 * MOST) for (let n = queries.length - 2; n > 0; n -= 2) queries.splice(n, 1);
    return nearest(point, ...rest);
  };
  const player = new MatchingPlayer(database);
  for (let n = 0; n < trace.count; n++) {
    player.steer(trace.changes[n] ?? {});
    player.next();
  }
  const times = (find) => {
    const best = queries.map(() => Infinity);
    for (let pass = 0; pass < PASSES; pass++)
      queries.forEach((query, n) => {
        const start = performance.now();
        find(...query);
        best[n] = Math.min(best[n], performance.now() - start);
      });
    best.sort((a, b) => a - b);
    const at = (share) => best[Math.min(Math.floor(share * best.length), best.length - 1)];
    return { median: at(0.5), p90: at(0.9), p99: at(0.99), worst: at(1) };
  };
  return {
    frames: database.count,
    columns: search.columns,
    queries: queries.length,
    loaded,
    ours: times(nearest),
    plain: times((...query) => plainSearch(database, ...query)),
  };
}

/** All rows in turn, with a limit that shrinks: a search without an index. */
function plainSearch(
  { rows, count, searchable },
  point,
  k = 1,
  radius = Infinity,
  allowed = searchable,
  first = 0,
  end = 0,
) {
  const columns = point.length;
  const found = [];
  let limit = radius * radius;
  for (let row = 0, at = 0; row < count; row++, at += columns) {
    if (!allowed[row] || !searchable[row] || (row >= first && row < end)) continue;
    let square = 0;
    for (let c = 0; c < columns && square <= limit; c++) square += (point[c] - rows[at + c]) ** 2;
    if (square > limit) continue;
    found.push([square, row]);
    found.sort((a, b) => a[0] - b[0]);
    if (found.length > k) found.pop();
    if (found.length === k) limit = found[k - 1][0];
  }
  return found;
}

if (typeof process !== "undefined" && process.argv?.[2]) {
  const { readFileSync } = await import("node:fs");
  const runtime = await import("../src/motionloom/studio/static/runtime/index.js");
  const folder = process.argv[2];
  const trace = JSON.parse(readFileSync(`${folder}/trace.json`, "utf8"));
  console.log(await searchTimes(runtime, new Uint8Array(readFileSync(`${folder}/controller.bin`)), trace));
}
