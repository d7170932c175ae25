// Actions for selected takes: label, rename, delete, download, and use them in other views.

import { css, html, nothing } from "lit";
import { customElement, state } from "lit/decorators.js";
import { downloadZip, send } from "../net/api";
import { counted } from "../page/counts";
import type { Studio } from "../page/studio";
import { StudioElement } from "../page/studio-element";
import { sharedStyles } from "../page/style";
import { FORMATS, type FileFormat } from "../search/export-bar";

/** Views that can use several takes. */
export const MAKES = [
  {
    id: "walk-these",
    title: "Walk these",
    short: "Walk",
    does: "Build a motion graph from these takes, to walk along a path",
    go: (studio: Studio, only: string) => studio.go("walk", { only }),
  },
  {
    id: "dance-these",
    title: "Dance these",
    short: "Dance",
    does: "Learn a choreography from these takes, to dance to a song",
    go: (studio: Studio, takes: string) => studio.go("dance", { takes }),
  },
  {
    id: "parametrize-these",
    title: "Parametrize these",
    short: "Parametrize",
    does: "Learn a parametric motion with these takes as examples",
    go: (studio: Studio, takes: string) => studio.go("aim", { new: "1", takes }),
  },
  {
    id: "controller-of-these",
    title: "Build a controller",
    short: "Controller",
    does: "Build a motion matching controller from these takes, to steer a character",
    go: (studio: Studio, only: string) => studio.go("play", { only }),
  },
];

@customElement("loom-selection-bar")
export class SelectionBar extends StudioElement {
  @state() private form: "label" | "rename" | "" = "";
  @state() private busy = "";

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; gap: 6px; border-top: 1px solid var(--line); padding-top: 8px; font-size: 12px; }
    .row { gap: 4px; }
    button, select, input { font-size: 12px; padding: 3px 8px; }
    form { display: flex; gap: 4px; } form input { flex: 1; min-width: 0; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["picked"], () => {
      this.form = "";
      this.requestUpdate();
    });
  }

  private get names(): string[] {
    return [...this.studio.picked]; // for a cluster, most typical first
  }

  private async attempt(busy: string, work: () => Promise<unknown>): Promise<void> {
    this.busy = busy;
    await this.studio.attempt(work);
    this.busy = "";
  }

  private open(form: "label" | "rename"): void {
    this.form = this.form === form ? "" : form;
    void this.updateComplete.then(() => {
      const input = this.renderRoot.querySelector<HTMLInputElement>("form input");
      input?.focus();
      input?.select();
    });
  }

  private submit(event: Event): void {
    event.preventDefault();
    const text = this.renderRoot.querySelector<HTMLInputElement>("form input")!.value.trim();
    const { form, studio, names } = this;
    if (!text) return;
    this.form = "";
    if (form === "label") void this.attempt("labeling", () => labelTakes(studio, names, text));
    else
      void this.attempt("renaming", async () => {
        await send("post", "library/rename", { body: { name: names[0], new: text } });
        const shown = studio.take === names[0];
        await studio.refresh();
        studio.pick([text]);
        studio.did(`Renamed ${names[0]} to ${text}`);
        if (shown) studio.go("library", { take: text });
      });
  }

  private removeTakes(): void {
    const { studio, names } = this;
    void this.attempt("deleting", async () => {
      await send("post", "library/remove", { body: { names } });
      studio.pick([]);
      await studio.refresh();
      studio.did(`Deleted ${counted(names.length, "take")}; moved to the trash of the library`);
    });
  }

  private download(event: Event): void {
    const menu = event.target as HTMLSelectElement;
    const format = menu.value as FileFormat | "";
    menu.value = "";
    if (!format) return;
    const frames = new Map(this.studio.library.motions.map((row) => [row.name, row.frames]));
    const clips = this.names.map((motion) => ({ motion, start_frame: 0, end_frame: frames.get(motion) ?? 1 }));
    const name = `${(this.studio.state.picked.name || "takes").replace(/[^\w.-]+/g, "_")}.zip`;
    void this.attempt("packing", () =>
      downloadZip(name, { clips, format, unit: "m" }, (job) => {
        if (job) this.busy = `packing ${job.done} of ${job.total ?? clips.length}`;
      }),
    );
  }

  render() {
    const { studio, names } = this;
    const only = names.join(",");
    const asked = this.form === "rename" ? "new name" : "label for all";
    return html`<div class="row" role="toolbar" aria-label="Selected takes"><b id="picked">${counted(names.length, "take")} selected</b>
        <button id="label-all" aria-expanded=${this.form === "label"} @click=${() => this.open("label")}>Label…</button>
        ${names.length === 1 ? html`<button id="rename" aria-expanded=${this.form === "rename"} @click=${() => this.open("rename")}>Rename…</button>` : nothing}
        <button id="delete" @click=${() => this.removeTakes()}>Delete</button>
        <select id="download" aria-label="Download the selected takes" @change=${this.download}><option value="">Download…</option>
          ${FORMATS.map((one) => html`<option value=${one}>${one.toUpperCase()} (zip)</option>`)}</select>
        <button id="unpick" @click=${() => studio.pick([])}>clear</button></div>
      ${
        this.form
          ? html`<form @submit=${this.submit}><input aria-label=${asked} placeholder=${asked}
          .value=${this.form === "rename" ? names[0] : this.studio.state.picked.name} /><button class="main">${this.form === "rename" ? "Rename" : "Label"}</button></form>`
          : nothing
      }
      <div class="row"><span class="faint">Use these takes</span>
        ${MAKES.map((one) => html`<button id=${one.id} title=${one.does} @click=${() => one.go(studio, only)}>${one.title}</button>`)}
        <span role="status" class="faint">${this.busy && `${this.busy}…`}</span></div>`;
  }
}

/** Add a label to takes, as one change. */
export async function labelTakes(studio: Studio, names: string[], label: string): Promise<void> {
  await send("post", "library/labels", { body: { places: names, label } });
  await studio.refresh(false);
  studio.did(`Labeled ${counted(names.length, "take")}: ${label}`);
}
