// Verdicts of a query in numbers, and the export of segments as a zip.

import { LitElement, css, html } from "lit";
import { customElement } from "lit/decorators.js";
import type { Clip } from "../net/types";
import { downloadZip, type Body } from "../net/api";
import { sharedStyles } from "../page/style";
import { verdicts } from "./verdicts";

export type FileFormat = NonNullable<Body<"export">["format"]>;
/** Formats of files in a zip. */
export const FORMATS: FileFormat[] = ["bvh", "glb", "fbx", "usd"];

@customElement("loom-verdict-counts")
export class VerdictCounts extends LitElement {
  static styles = [
    sharedStyles,
    css`:host { display: flex; gap: 8px; align-items: center; } b { color: var(--good); } .counts { font-variant-numeric: tabular-nums; }`,
  ];

  private readonly again = () => this.requestUpdate();
  connectedCallback(): void {
    super.connectedCallback();
    verdicts.addEventListener("change", this.again);
  }
  disconnectedCallback(): void {
    super.disconnectedCallback();
    verdicts.removeEventListener("change", this.again);
  }

  render() {
    const count = verdicts.accepted.length;
    return html`<span class="counts"><b>${count}</b> accepted, ${verdicts.rejected.length} rejected</span>
      <button id="clear" ?disabled=${!count && !verdicts.rejected.length} @click=${() => verdicts.clear()}>clear</button>`;
  }
}

/** Download segments as a zip, with the settings of their search or family. */
export async function exportClips(
  clips: readonly Clip[],
  format: FileFormat,
  unit: string,
  from: Pick<Body<"export">, "search" | "family">,
): Promise<void> {
  const query = (from.search ?? from.family)?.query ?? "accepted";
  const name = `like_${query.replace(/[^\w.-]+/g, "_")}.zip`;
  await downloadZip(name, { clips: [...clips], format, unit, ...from });
}
