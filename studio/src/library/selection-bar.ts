// Actions for selected takes and segments: like this, label, keep, export, and use them in other views.

import { css, html, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { downloadZip, send, type Body } from "../net/api";
import type { Clip } from "../net/types";
import { counted } from "../page/counts";
import { inputValue } from "../page/form-input";
import { parseSegment, type Studio } from "../page/studio";
import { StudioElement } from "../page/studio-element";
import { sharedStyles } from "../page/style";
import "../search/export-bar";
import { FORMATS, type FileFormat } from "../search/export-bar";
import { countText } from "./card";

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

export type Form = "label" | "keep" | "rename" | "export" | "";
type Export = Omit<Body<"exports">, "clips" | "search" | "family" | "unit">;

const CHOICES = "motionloom.export"; // in the browser's storage: how takes were exported last
const RATES = [24, 25, 30, 60, 120];

/** How takes were exported last. */
function lastExport(): Export {
  try {
    return { format: "bvh", ...(JSON.parse(localStorage.getItem(CHOICES) ?? "{}") as Export) };
  } catch {
    return { format: "bvh" };
  }
}

/** The selected places, each with its take and its frames. */
export interface PickedPart {
  place: string;
  motion: string;
  start: number;
  end: number;
  whole: boolean;
  label?: string;
}

export function pickedParts(studio: Studio): PickedPart[] {
  const rows = new Map(studio.library.motions.map((row) => [row.name, row]));
  return [...studio.picked].flatMap((place): PickedPart[] => {
    const row = rows.get(place);
    const [label] = row?.labels ?? [];
    if (row) return [{ place, motion: place, start: 0, end: row.frames, whole: true, label }];
    const segment = parseSegment(place);
    return segment && rows.has(segment.motion) ? [{ place, ...segment, whole: false }] : [];
  });
}

@customElement("loom-selection-bar")
export class SelectionBar extends StudioElement {
  /** The search or family that the selected places come from, for the list in the zip. */
  @property({ attribute: false }) origin: Pick<Body<"exports">, "search" | "family" | "unit"> | null = null;
  /** Merges the selected groups; null unless several groups are selected. */
  @property({ attribute: false }) merge: (() => void) | null = null;
  /** What is known about places that are matches, for the list in the zip. */
  @property({ attribute: false }) known: ReadonlyMap<string, Clip> = new Map();
  @state() private form: Form = "";
  @state() private busy = "";
  @state() private choices: Export = lastExport();

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; gap: 6px; border-top: 1px solid var(--line); padding-top: 8px; font-size: 12px; }
    .row { gap: 4px; }
    button, select, input { font-size: 12px; padding: 3px 8px; }
    form { display: flex; flex-wrap: wrap; gap: 4px 8px; align-items: end; } form > input { flex: 1; min-width: 12ch; }
    form label { font-size: 11px; color: var(--faint); } form label :is(select, input) { color: var(--ink); }
    form label.check { display: flex; gap: 4px; align-items: center; padding-bottom: 4px; }
    form input[type="number"] { width: 8ch; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["picked"], () => {
      this.form = "";
      this.requestUpdate();
    });
    this.answers("escape", () => {
      const open = this.form !== "";
      this.form = "";
      return open;
    });
  }

  private get parts(): PickedPart[] {
    return pickedParts(this.studio); // for a cluster, most typical first
  }

  private async attempt(busy: string, work: () => Promise<unknown>): Promise<void> {
    this.busy = busy;
    await this.studio.attempt(work);
    this.busy = "";
  }

  /** Open a form, or close it. */
  open(form: Form): void {
    this.form = this.form === form ? "" : form;
    void this.updateComplete.then(() => {
      const input = this.renderRoot.querySelector<HTMLElement>("form :is(input, select)");
      input?.focus();
      if (input instanceof HTMLInputElement) input.select();
    });
  }

  private submit(event: Event): void {
    event.preventDefault();
    const { form, studio, parts } = this;
    if (form === "export") return this.export(parts);
    const text = this.renderRoot.querySelector<HTMLInputElement>("form input")!.value.trim();
    if (!text) return;
    this.form = "";
    if (form === "label") void this.attempt("labeling", () => labelTakes(studio, [...studio.picked], text));
    else if (form === "keep") void this.attempt("keeping", () => keepParts(studio, parts, text));
    else
      void this.attempt("renaming", async () => {
        const [{ motion }] = parts;
        await send("post", "library/rename", { body: { name: motion, new: text } });
        const shown = studio.take === motion;
        await studio.refresh();
        studio.pick([text]);
        studio.did(`Renamed ${motion} to ${text}`);
        if (shown) studio.go("library", { take: text });
      });
  }

  private removeTakes(): void {
    const { studio } = this;
    const names = [...studio.picked];
    void this.attempt("deleting", async () => {
      await send("post", "library/remove", { body: { names } });
      studio.pick([]);
      await studio.refresh();
      studio.did(`Deleted ${counted(names.length, "take")}; moved to the trash of the library`);
    });
  }

  private export(parts: readonly PickedPart[]): void {
    this.form = "";
    localStorage.setItem(CHOICES, JSON.stringify({ ...this.choices, character: null }));
    const clips = parts.map(
      (one) =>
        this.known.get(one.place) ?? {
          motion: one.motion,
          start_frame: one.start,
          end_frame: one.end,
          label: this.studio.state.picked.name || one.label,
        },
    );
    const query = this.origin?.search?.query;
    const title = query ? `like_${query}` : this.studio.state.picked.name || "takes";
    const body = { ...this.choices, clips, unit: "m", ...this.origin };
    void this.attempt("packing", () =>
      downloadZip(`${title.replace(/[^\w.-]+/g, "_")}.zip`, body, (job) => {
        if (job) this.busy = `packing ${job.done} of ${job.total ?? clips.length}`;
      }),
    );
  }

  private choose(changes: Partial<Export>): void {
    this.choices = { ...this.choices, ...changes };
  }

  private exportForm(parts: readonly PickedPart[]) {
    const { choices, studio } = this;
    const menu = <Value>(
      id: string,
      title: string,
      value: Value,
      entries: [Value, string][],
      set: (one: Value) => void,
    ) =>
      html`<label>${title}<select id=${id} @change=${(event: Event) => set(entries[(event.target as HTMLSelectElement).selectedIndex][0])}>
        ${entries.map(([one, words]) => html`<option ?selected=${one === value}>${words}</option>`)}</select></label>`;
    const own = studio.own.current;
    return html`<form @submit=${(event: Event) => this.submit(event)} aria-label="Export">
      ${menu<FileFormat>(
        "format",
        "Format",
        choices.format ?? "bvh",
        FORMATS.map((one) => [one, one.toUpperCase()]),
        (format) => this.choose({ format }),
      )}
      ${
        parts.some((one) => !one.whole)
          ? html`<label>Padding, s<input id="padding" type="number" min="0" max="60" step="0.1" .value=${String(choices.padding ?? 0)}
          @change=${(event: Event) => this.choose({ padding: Math.min(Math.max(Number(inputValue(event)) || 0, 0), 60) })} /></label>`
          : nothing
      }
      ${menu<Export["naming"]>(
        "naming",
        "File names",
        choices.naming ?? "numbered",
        [
          ["numbered", "001_take_frames"],
          ["take", "take_frames"],
          ["label", "label_001"],
        ],
        (naming) => this.choose({ naming }),
      )}
      ${menu<Export["root"]>(
        "root",
        "Travel",
        choices.root ?? null,
        [
          [null, "in the hips"],
          ["bone", "in a root bone"],
          ["in-place", "in place"],
        ],
        (root) => this.choose({ root }),
      )}
      ${menu<number | null>(
        "rate",
        "Frame rate",
        choices.fps ?? null,
        [[null, "as captured"], ...RATES.map((rate): [number, string] => [rate, `${rate} fps`])],
        (fps) => this.choose({ fps }),
      )}
      ${own ? html`<label class="check"><input id="on-character" type="checkbox" .checked=${Boolean(choices.character)} @change=${(event: Event) => this.choose({ character: (event.target as HTMLInputElement).checked ? own.id : null })} />on ${own.name}</label>` : nothing}
      <button class="main" id="export">Export ${counted(parts.length, "file")}</button></form>`;
  }

  private textForm(parts: readonly PickedPart[]) {
    const { form, studio } = this;
    const asked = { label: "label", keep: "name of the new take", rename: "new name" }[form as "label"];
    const value =
      form === "label"
        ? studio.state.picked.name
        : form === "rename"
          ? parts[0].motion
          : freeName(studio, parts[0].motion);
    return html`<form @submit=${(event: Event) => this.submit(event)}><input aria-label=${asked} placeholder=${asked} .value=${value} />
      <button class="main">${{ label: "Label", keep: "Keep", rename: "Rename" }[form as "label"]}</button></form>`;
  }

  render() {
    const { studio, parts, form } = this;
    const segments = parts.filter((one) => !one.whole).length;
    const takes = parts.length - segments;
    const [first] = parts;
    const only = [...new Set(parts.map((one) => one.motion))].join(",");
    const button = (id: string, title: string, opens: Form, does = "") =>
      html`<button id=${id} title=${does} aria-expanded=${form === opens} @click=${() => this.open(opens)}>${title}</button>`;
    return html`<div class="row" role="toolbar" aria-label="Selected takes"><b id="picked">${countText(takes, segments)} selected</b>
        ${parts.length === 1 ? html`<button id="like" title="Search for segments like this one" @click=${() => likePart(studio, first)}>Like this</button>` : nothing}
        ${button("label-all", "Label…", "label")}
        ${segments ? button("keep", "Keep…", "keep", "Add the segments to the library as takes") : nothing}
        ${button("export-all", "Export…", "export", "Format, padding, file names, frame rate, character")}
        ${this.merge ? html`<button id="merge" title="Join the selected groups into one" @click=${() => this.merge!()}>Merge</button>` : nothing}
        ${parts.length === 1 && takes ? button("rename", "Rename…", "rename") : nothing}
        ${segments ? nothing : html`<button id="delete" @click=${() => this.removeTakes()}>Delete</button>`}
        <button id="unpick" @click=${() => studio.pick([])}>clear</button></div>
      ${form === "export" ? this.exportForm(parts) : form && first ? this.textForm(parts) : nothing}
      <div class="row"><span class="faint">Use these takes</span>
        ${MAKES.map((one) => html`<button id=${one.id} title=${one.does} @click=${() => one.go(studio, only)}>${one.title}</button>`)}
        <span role="status" class="faint">${this.busy && `${this.busy}…`}</span></div>`;
  }
}

/** Search for segments like a part. */
export function likePart(studio: Studio, part: Pick<PickedPart, "motion" | "start" | "end">): void {
  studio.go("search", { query: `${part.motion}:${part.start}-${part.end}` });
}

/** An unused name of a take: that of another with a number. */
export function freeName(studio: Studio, base: string): string {
  const names = new Set(studio.library.motions.map((row) => row.name));
  for (let number = 1; ; number++) if (!names.has(`${base} ${number}`)) return `${base} ${number}`;
}

/** Add segments to the library as takes: NAME, or NAME 1, NAME 2, ... for several. */
async function keepParts(studio: Studio, parts: readonly PickedPart[], name: string): Promise<void> {
  const segments = parts.filter((one) => !one.whole);
  for (const [index, { motion, start, end }] of segments.entries())
    await send("post", "subjects/keep", {
      body: {
        subject: { kind: "segment", motion, start_frame: start, end_frame: end },
        name: segments.length === 1 ? name : `${name} ${index + 1}`,
      },
    });
  await studio.refresh();
  studio.did(segments.length === 1 ? `Saved as ${name}` : `Saved ${counted(segments.length, "take")} as ${name}`);
}

/** Add a label to takes and segments, as one change. */
export async function labelTakes(studio: Studio, places: string[], label: string): Promise<void> {
  await send("post", "library/labels", { body: { places, label } });
  await studio.refresh(false);
  const names = new Set(studio.library.motions.map((row) => row.name));
  const takes = places.filter((one) => names.has(one)).length;
  studio.did(`Labeled ${countText(takes, places.length - takes)}: ${label}`);
}
