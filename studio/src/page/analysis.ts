// Captions, groups and rhythm of all takes are computed once, in the background, when the page is at rest.

import { send } from "../net/api";
import type { Studio } from "./studio";

const QUIET = 1500; // milliseconds without a change of the library
const FEWEST = 2; // takes

/** Ask the server to analyze the takes, and again after takes have been added, removed or renamed. */
export function analyzeTakes(studio: Studio): void {
  let timer = 0;
  let analyzed = "";
  studio.watch(["library"], () => {
    clearTimeout(timer);
    const { id, motions } = studio.library;
    const takes = [id, ...motions.map((row) => row.name)].join("\n");
    if (motions.length < FEWEST || takes === analyzed) return;
    timer = window.setTimeout(() => {
      analyzed = takes;
      // Nobody waits for it, and views that need a result ask for it themselves.
      void send("post", "library/analysis", { body: {} }).catch(() => (analyzed = ""));
    }, QUIET);
  });
}
