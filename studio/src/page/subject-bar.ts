// The subject on the stage, by name, and its actions: find, label, save, download, copy.

import { css, html, nothing } from "lit";
import { customElement, state } from "lit/decorators.js";
import { download, finished, getBytes, saveFile, send, type Body } from "../net/api";
import type { Quality } from "../net/types";
import { canFilm, canRecord, filmStage, gifOfStage, recordStage, type Progress } from "../stage/recording";
import type { Stage } from "../stage/stage";
import { copyText } from "./code-line";
import { pythonLiteral, shellWord } from "./command-line";
import { segmentText, type Segment, type Studio } from "./studio";
import { StudioElement } from "./studio-element";
import { sharedStyles } from "./style";
import type { Block, BlockEdits, Score } from "../timeline/block-lane";

type SubjectBody = Body<"subjects/file">["subject"];
type Suffix = NonNullable<Body<"subjects/file">["suffix"]>;

/** Subject that a view has put on the stage. */
export interface Subject {
  title: string;
  /** The subject for the server at the time of the call, since a walk continues. */
  body: () => SubjectBody;
  /** Segment of a take on the stage, to search for and to label. */
  segment?: Segment;
  /** True for more than one character, which BVH does not support. */
  several?: boolean;
  cli?: string;
  python?: string;
  /** Its quality; problems are marked on the timeline. */
  quality?: Quality | null;
  /** Beats of music and motion, for the timeline. */
  score?: Score;
  /** The parts it consists of, for the timeline. */
  blocks?: Block[];
  /** What can be done with the blocks; without it, they are only shown. */
  edit?: BlockEdits;
}

/** A take, or the selected segment of it, as a subject. */
export function segmentSubject(segment: Segment, library: string, whole = false): Subject {
  const { motion, start, end } = segment;
  const title = whole ? motion : segmentText(segment);
  const part = whole ? "" : `[${start}:${end}]`;
  return {
    title,
    segment,
    body: () => ({ kind: "segment", motion, start_frame: start, end_frame: end }),
    cli: `motionloom show ${shellWord(`${library}:${title}`)}`,
    python: `import motionloom as ml; ml.Library(${pythonLiteral(library)})[${pythonLiteral(motion)}]${part}`,
  };
}

/** Unused name: that of the subject with a number. */
function freeName(studio: Studio, { title, segment }: Subject): string {
  const taken = new Set(studio.library.motions.map((row) => row.name));
  const base = segment?.motion ?? title;
  for (let number = 1; ; number++) if (!taken.has(`${base} ${number}`)) return `${base} ${number}`;
}

function fileName(subject: Subject, suffix: string): string {
  return `${subject.title.replace(/[^\w.-]+/g, "_")}.${suffix}`;
}

@customElement("loom-subject-bar")
export class SubjectBar extends StudioElement {
  /** The open form. */
  @state() private form: "label" | "keep" | "" = "";
  @state() private busy = "";
  @state() private said = "";
  private stopping: AbortController | null = null; // of a film

  static styles = [
    sharedStyles,
    css`
    :host { position: absolute; inset: auto 8px 8px 12px; pointer-events: none; z-index: 1; }
    .bar { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; font-size: 12px; }
    .bar > * { pointer-events: auto; }
    b { max-width: 34ch; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; text-shadow: 0 1px 3px var(--stage); margin-right: 2px; }
    button, summary { background: color-mix(in srgb, var(--panel) 85%, transparent); border: 1px solid var(--line); border-radius: 5px;
      padding: 3px 7px; font-size: 12px; color: var(--ink); cursor: pointer; list-style: none; }
    summary:hover { border-color: var(--accent); }
    details { position: relative; }
    .entries { position: absolute; left: 0; bottom: 28px; display: grid; gap: 2px; padding: 5px; background: var(--raised);
      border: 1px solid var(--line); border-radius: 6px; z-index: 3; }
    .entries button { text-align: left; border: 0; }
    form { display: flex; gap: 4px; background: var(--panel); padding: 3px; border-radius: 6px; border: 1px solid var(--line); }
    form input { width: 24ch; font-size: 12px; padding: 2px 6px; }
    @media (max-width: 860px) { b { max-width: 20ch; } }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    const again = () => {
      this.form = "";
      this.said = "";
      this.requestUpdate();
    };
    this.watch(["shown", "selection"], again);
    this.watch(["library"]); // keep the message "saved as ...", which belongs to this change
    this.closeMenusOutside();
    this.answers("escape", () => {
      const open = this.form !== "";
      this.form = "";
      return open;
    });
  }

  private async attempt(busy: string, work: () => Promise<unknown>): Promise<void> {
    this.closeMenus();
    this.busy = busy;
    await this.studio.attempt(work);
    this.busy = "";
  }

  private download(subject: Subject, suffix: Suffix): void {
    void this.attempt("writing the file", () =>
      download(fileName(subject, suffix), "subjects/file", { body: { subject: subject.body(), suffix } }),
    );
  }

  /** Let the server draw a film of the figure. */
  private film(subject: Subject): void {
    void this.attempt("drawing a film", async () => {
      const job = await send("post", "subjects/films", { body: { subject: subject.body(), suffix: "gif" } });
      const { id } = await finished(job, () => undefined);
      const content = await getBytes("subjects/films/{id}", { path: { id } });
      saveFile(new Blob([content], { type: "image/gif" }), fileName(subject, "gif"));
    });
  }

  /** Record a film of the stage. */
  private record(
    subject: Subject,
    make: (stage: Stage, progress: Progress, signal: AbortSignal) => Promise<Blob>,
  ): void {
    const stopping = (this.stopping = new AbortController());
    const progress: Progress = (done, total) => (this.busy = `drawing frame ${done} of ${total}`);
    void this.attempt("drawing a film", async () => {
      try {
        const film = await make(this.studio.stage, progress, stopping.signal);
        const kinds = ["gif", "mp4", "webm"];
        saveFile(film, fileName(subject, kinds.find((kind) => film.type.includes(kind)) ?? "webm"));
      } catch (error) {
        if (!stopping.signal.aborted) throw error;
      } finally {
        this.stopping = null;
      }
    });
  }

  /** Films of the stage that this browser can record, each with a description. */
  private films(subject: Subject): [string, () => void][] {
    const endless = this.studio.stage.clock.end === Infinity;
    const films: [string, () => void][] = [];
    if (!endless && canFilm())
      films.push(["Film of the stage, every frame (MP4)", () => this.record(subject, filmStage)]);
    if (!endless) films.push(["Film of the stage, every frame, small (GIF)", () => this.record(subject, gifOfStage)]);
    if (canRecord() && (endless || !canFilm())) {
      const play = (stage: Stage, _: Progress, signal: AbortSignal) => recordStage(stage, signal);
      const kind = MediaRecorder.isTypeSupported("video/mp4;codecs=avc1") ? "MP4" : "WebM";
      films.push([`Film of the stage, recorded as it plays (${kind})`, () => this.record(subject, play)]);
    }
    return films;
  }

  private async copy(what: string, text: string): Promise<void> {
    this.closeMenus();
    await copyText(text);
    this.said = `${what} copied`;
  }

  private submit(subject: Subject, event: Event): void {
    event.preventDefault();
    const text = this.renderRoot.querySelector<HTMLInputElement>("form input")!.value.trim();
    if (!text) return;
    const { form, studio } = this;
    this.form = "";
    if (form === "keep")
      void this.attempt("keeping", async () => {
        const { names } = await send("post", "subjects/keep", { body: { subject: subject.body(), name: text } });
        await studio.refresh();
        studio.did(`Saved as ${names.join(", ")}`);
        this.said = `saved as ${names.join(", ")}`;
      });
    else
      void this.attempt("labeling", async () => {
        const { motion } = subject.segment!;
        const whole = subject.title === motion;
        const place = whole ? motion : segmentText(subject.segment!);
        const saved = await send("post", "library/labels", { body: { places: [place], label: text } });
        studio.relabel(motion, saved.labels[motion]);
        studio.did(`Labeled ${place}: ${text}`);
        this.said = `labeled ${text}`;
      });
  }

  private open(form: "label" | "keep"): void {
    this.form = this.form === form ? "" : form;
    void this.updateComplete.then(() => {
      const input = this.renderRoot.querySelector<HTMLInputElement>("form input");
      input?.focus();
      input?.select();
    });
  }

  private menu(title: string, entries: [string, () => void][]) {
    return html`<details class="menu"><summary>${title}</summary>
      <div class="entries">${entries.map(([name, act]) => html`<button @click=${act}>${name}</button>`)}</div></details>`;
  }

  protected firstUpdated(): void {
    const gap = 8; // pixels between the bar and the bottom of the stage
    this.watchSize(this, () => this.studio.stage.cover("below", this.offsetHeight && this.offsetHeight + gap));
  }

  render() {
    const { subject } = this.studio;
    if (!subject) return nothing;
    const { segment } = subject;
    const formats: [string, Suffix][] = [
      ...(subject.several ? [] : [["BVH", "bvh"] as [string, Suffix]]),
      ["GLB", "glb"],
      ["FBX", "fbx"],
      ["USD", "usd"],
    ];
    const downloads: [string, () => void][] = formats.map(([name, suffix]) => [
      name,
      () => this.download(subject, suffix),
    ]);
    downloads.push(...this.films(subject));
    if (!subject.several)
      downloads.push(["Film of the figure only, drawn by the server (GIF)", () => this.film(subject)]);
    const asked = this.form === "keep" ? "name of the new take" : "label";
    return html`<div class="bar" role="toolbar" aria-label="Subject">
      <b id="subject" title=${subject.title}>${subject.title}</b>
      ${
        segment
          ? html`<button id="like" title="Search for segments like this one"
        @click=${() => this.studio.go("search", { query: segmentText(segment) })}>Find like this</button>
      <button id="label-it" aria-expanded=${this.form === "label"} @click=${() => this.open("label")}>Label…</button>`
          : nothing
      }
      <button id="keep" title="Add this motion to the library as a take" aria-expanded=${this.form === "keep"} @click=${() => this.open("keep")}>Save as take…</button>
      ${this.menu("Download", downloads)}
      ${this.menu("Copy", [
        ["Link", () => void this.copy("link", location.href)],
        ...(subject.cli ? [["Command", () => void this.copy("command", subject.cli!)] as [string, () => void]] : []),
        ...(subject.python
          ? [["Python", () => void this.copy("Python", subject.python!)] as [string, () => void]]
          : []),
      ])}
      ${
        this.form
          ? html`<form @submit=${(event: Event) => this.submit(subject, event)}><input aria-label=${asked} placeholder=${asked}
          .value=${this.form === "keep" ? freeName(this.studio, subject) : ""} />
        <button class="main">${this.form === "keep" ? "Save" : "Add"}</button></form>`
          : nothing
      }
      <span role="status" class="faint">${this.busy ? `${this.busy}…` : this.said}</span>
      ${this.stopping && this.busy ? html`<button id="stop-film" @click=${() => this.stopping?.abort()}>Stop</button>` : nothing}</div>`;
  }
}
