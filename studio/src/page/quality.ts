// Quality of a synthesized motion: measurements in one line, and a line for each warning.

import { html } from "lit";
import type { Quality } from "../net/types";

export function qualityLines(quality: Quality | null) {
  if (!quality) return "";
  return html`<p class="quality faint">${quality.line}</p>
    ${quality.warnings.map((warning) => html`<p class="quality warning">${warning}</p>`)}`;
}
