// The player without the application: one script for contact sheets, reports, exported pages, notebooks and documentation.

import { MotionloomPlayer } from "./player";
import { startSheet } from "./sheet";

// A notebook runs this once per cell.
if (!customElements.get("motionloom-player")) {
  customElements.define("motionloom-player", MotionloomPlayer);
  if (document.getElementById("sheet")?.matches("main")) startSheet();
}
