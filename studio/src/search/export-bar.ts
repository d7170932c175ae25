// What was accepted: how much, export, and away with it.

import { LitElement, css, html } from "lit";
import { download } from "../net/api";
import { look } from "../page/style";
import type { Studio } from "../page/studio";
import { verdicts, type Clip } from "./verdicts";

class Basket extends LitElement {
  static properties = { studio: { attribute: false }, search: { attribute: false }, unit: {}, format: { state: true }, busy: { state: true } };
  declare studio: Studio;
  /** Settings of the search, for the list that goes into the zip. */
  declare search: Record<string, unknown> | null;
  declare unit: string;
  declare format: "bvh" | "glb";
  declare busy: boolean;

  static styles = [look, css`:host { display: flex; gap: 8px; align-items: center; flex-wrap: wrap; } b { color: var(--good); }`];

  constructor() { super(); this.search = null; this.unit = "m"; this.format = "bvh"; this.busy = false; }

  private readonly again = () => this.requestUpdate();
  connectedCallback(): void { super.connectedCallback(); verdicts.addEventListener("change", this.again); }
  disconnectedCallback(): void { super.disconnectedCallback(); verdicts.removeEventListener("change", this.again); }

  private async export(): Promise<void> {
    this.busy = true;
    try { await exportClips(verdicts.accepted, this.format, this.unit, { search: this.search }); }
    catch (error) { this.studio.say(error); }
    this.busy = false;
  }

  render() {
    const count = verdicts.accepted.length;
    return html`<span><b>${count}</b> accepted${verdicts.rejected.length ? html`, ${verdicts.rejected.length} rejected` : ""}</span>
      <select id="format" aria-label="File format" @change=${(event: Event) => { this.format = (event.target as HTMLSelectElement).value as "bvh" | "glb"; }}>
        <option value="bvh">BVH</option><option value="glb">GLB</option></select>
      <button id="export" class="main" ?disabled=${!count || this.busy} @click=${this.export}>${this.busy ? "packing…" : "Export zip"}</button>
      <button id="clear" ?disabled=${!count && !verdicts.rejected.length} @click=${() => verdicts.clear()}>clear</button>`;
  }
}
customElements.define("loom-basket", Basket);

/** Stretches as a zip, with the search or the family that they come from. */
export async function exportClips(
  clips: readonly Clip[], format: "bvh" | "glb", unit: string, from: { search?: unknown; family?: unknown },
): Promise<void> {
  const query = ((from.search ?? from.family) as { query?: string } | null)?.query ?? "accepted";
  const name = `like_${query.replace(/[^\w.-]+/g, "_")}.zip`;
  await download("export", { clips, format, unit, ...from }, name);
}
