// Accepted matches: count, export as a zip, clear.

import { LitElement, css, html } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import type { Clip } from "../net/types";
import { downloadZip, type Body } from "../net/api";
import { inputValue } from "../page/form-input";
import type { Studio } from "../page/studio";
import { sharedStyles } from "../page/style";
import { verdicts } from "./verdicts";

export type FileFormat = NonNullable<Body<"export">["format"]>;
/** Formats of files in a zip. */
export const FORMATS: FileFormat[] = ["bvh", "glb", "fbx", "usd"];

@customElement("loom-export-bar")
export class ExportBar extends LitElement {
  @property({ attribute: false }) studio!: Studio;
  /** Settings of the search, for the list in the zip. */
  @property({ attribute: false }) search: Body<"search"> | null = null;
  @property() unit = "m";
  @state() private format: FileFormat = "bvh";
  @state() private busy = false;

  static styles = [
    sharedStyles,
    css`:host { display: flex; gap: 8px; align-items: center; flex-wrap: wrap; } b { color: var(--good); } .counts { font-variant-numeric: tabular-nums; }`,
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

  private async export(): Promise<void> {
    this.busy = true;
    await this.studio.attempt(() => exportClips(verdicts.accepted, this.format, this.unit, { search: this.search }));
    this.busy = false;
  }

  render() {
    const count = verdicts.accepted.length;
    return html`<span class="counts"><b>${count}</b> accepted, ${verdicts.rejected.length} rejected</span>
      <select id="format" aria-label="File format" @change=${(event: Event) => (this.format = inputValue(event) as FileFormat)}>
        ${FORMATS.map((one) => html`<option value=${one}>${one.toUpperCase()}</option>`)}</select>
      <button id="export" class="main" ?disabled=${!count || this.busy} @click=${this.export}>${this.busy ? "packing…" : "Export zip"}</button>
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
