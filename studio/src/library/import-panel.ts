// Import of dropped or chosen files and folders, with progress and failures.

import { css, html, nothing } from "lit";
import { customElement, state } from "lit/decorators.js";
import type { ImportResult } from "../net/types";
import { finished, send, type Job } from "../net/api";
import { counted } from "../page/counts";
import { StudioElement } from "../page/studio-element";
import { sharedStyles } from "../page/style";

const NOTHING: ImportResult = { added: 0, replaced: 0, skipped: 0, failed: [], frames: 0, seconds: 0, names: [] };

interface LocalFile {
  path: string;
  file: File;
}
type Failure = ImportResult["failed"][number];
type State =
  { kind: "sending" | "importing"; done: number; total: number; job?: Job } | { kind: "done"; outcome: ImportResult };

const PARALLEL = 4; // parallel uploads
const REPORT = 8000; // milliseconds for which an import without failures is reported
const CHARACTER = /\.(glb|xml|urdf)$/i; // dropped on the stage, it becomes the character for takes
const FILM = /\.(mp4|mov|webm|mkv|avi|m4v)$/i;
const SONG = /\.(midi?|kar|wav|mp3|ogg|flac)$/i;

@customElement("loom-import-panel")
export class ImportPanel extends StudioElement {
  @state() private over = false;
  @state() private state: State | null = null;
  private stopped = false;
  private timer = 0;

  static styles = [
    sharedStyles,
    css`
    .veil { position: fixed; inset: 8px; z-index: 20; display: grid; place-content: center; background: color-mix(in srgb, var(--panel) 87%, transparent); pointer-events: none;
      border: 2px dashed var(--accent); border-radius: 12px; font-size: 20px; }
    /* Over the stage: never over the panel or the timeline. */
    .panel { position: fixed; right: 14px; top: 92px; width: min(380px, calc(100vw - 28px)); max-height: 40vh; overflow: auto; z-index: 10; background: var(--raised);
      border: 1px solid var(--line); border-radius: 9px; padding: 12px 14px; box-shadow: 0 10px 30px #0007; }
    progress { width: 100%; height: 8px; accent-color: var(--accent); }
    .panel .row { justify-content: space-between; }
    ul { margin: 6px 0; padding-left: 18px; font-size: 12px; }
    li b { overflow-wrap: anywhere; } li span { color: var(--bad); }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    addEventListener("dragover", (event) => {
      if (hasFiles(event)) {
        event.preventDefault();
        this.over = true;
      }
    });
    addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) this.over = false;
    });
    addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.over = false;
      const onStage = event.composedPath().some((one) => (one as HTMLElement).tagName === "MAIN");
      void this.dropped(event.dataTransfer!, onStage);
    });
    this.answers("import", ({ folder }) => {
      this.renderRoot.querySelector<HTMLInputElement>(folder ? "#folder" : "#files")!.click();
      return true;
    });
  }

  private async dropped(given: DataTransfer, onStage: boolean): Promise<void> {
    const [first] = given.files;
    if (onStage && given.files.length === 1 && CHARACTER.test(first.name)) {
      await this.studio.own.load(first);
      return;
    }
    const entries = [...given.items]
      .map((item) => item.webkitGetAsEntry?.())
      .filter((one) => one !== null && one !== undefined);
    const plain = [...given.files];
    await this.studio.attempt(async () => {
      const files = entries.length
        ? (await Promise.all(entries.map((entry) => walk(entry, "")))).flat()
        : plain.map((file) => ({ path: file.name, file }));
      const film = this.studio.library.name ? files.find(({ path }) => FILM.test(path)) : undefined;
      if (film && files.length === 1) return this.studio.searchFilm(film.file);
      const songs = files.filter(({ path }) => SONG.test(path));
      const folder = entries.some((entry) => entry.isDirectory);
      if (songs.length && !folder) {
        this.studio.danceTo(songs[0].file);
        if (songs.length > 1) this.studio.notify(`Only one song can be used at a time; ${songs[0].path} is used`);
      }
      await this.importFiles(folder ? files : files.filter((one) => !songs.includes(one)), folder);
    });
  }

  private readonly chosen = (event: Event): void => {
    const input = event.target as HTMLInputElement;
    const files = [...(input.files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
    const folder = input.id === "folder";
    input.value = "";
    void this.importFiles(files, folder);
  };

  /** Upload all files, then import them; a failed file does not stop the others. */
  private async importFiles(files: LocalFile[], folders: boolean): Promise<void> {
    const wanted = files.filter(({ path }) => !path.split("/").some((part) => part.startsWith(".")));
    if (!wanted.length || this.busy) return;
    this.stopped = false;
    clearTimeout(this.timer);
    const starting = this.studio.route.view === "start" || !this.studio.library.name;
    try {
      if (starting) await this.studio.fillLibrary(titleOf(wanted));
      const batch = await send("post", "uploads");
      const failed = await this.sendAll(batch.id, wanted);
      if (this.stopped || failed.length === wanted.length) {
        await send("delete", "uploads/{id}", { path: { id: batch.id } });
        if (this.stopped) this.state = null;
        else this.report({ ...NOTHING, failed });
        if (starting) this.studio.showFilled(undefined);
        return;
      }
      const job = await send("post", "uploads/{id}/import", {
        path: { id: batch.id },
        body: { label_by_folder: folders },
      });
      const outcome = await finished(
        job,
        (now) =>
          now && (this.state = { kind: "importing", done: now.done, total: now.total ?? wanted.length, job: now }),
      );
      this.report({ ...outcome, failed: [...failed, ...outcome.failed] });
      if (starting) return this.studio.showFilled(outcome.names[0]);
      await this.studio.refresh();
      if (outcome.added) this.studio.did(`Imported ${counted(outcome.added, "take")}`);
      if (outcome.names.length) this.studio.go("library", { take: outcome.names[0] });
    } catch (error) {
      this.state = null;
      this.studio.notify(error);
      await this.studio.refresh(); // some may have been imported
    }
  }

  /** Report an import: until it is closed if files failed, otherwise for a while. */
  private report(outcome: ImportResult): void {
    this.state = { kind: "done", outcome };
    if (!outcome.failed.length) this.timer = window.setTimeout(() => (this.state = null), REPORT);
  }

  private async sendAll(batch: string, wanted: LocalFile[]): Promise<Failure[]> {
    const failed: Failure[] = [];
    const waiting = [...wanted];
    let done = 0;
    this.state = { kind: "sending", done, total: wanted.length };
    const one = async () => {
      for (let next = waiting.shift(); next && !this.stopped; next = waiting.shift()) {
        try {
          await send("put", "uploads/{id}/files/{name}", { path: { id: batch, name: next.path }, body: next.file });
        } catch (error) {
          failed.push({ file: next.path, reason: (error as Error).message });
        }
        this.state = { kind: "sending", done: ++done, total: wanted.length };
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, one));
    return failed;
  }

  private get busy(): boolean {
    return this.state !== null && this.state.kind !== "done";
  }

  private readonly stop = (): void => {
    this.stopped = true;
    if (this.state?.kind === "importing" && this.state.job)
      void send("delete", "jobs/{number}", { path: { number: this.state.job.id } }).catch(() => {});
  };

  private outcome({ added, replaced, skipped, failed }: ImportResult) {
    const counts = [
      [added, "added"],
      [replaced, "replaced"],
      [skipped, "already in the library"],
      [failed.length, "failed"],
    ] as const;
    return html`<div class="row"><b>${
      counts
        .filter(([count]) => count)
        .map(([count, what]) => `${count} ${what}`)
        .join(", ") || "nothing to import"
    }</b>
        <button @click=${() => (this.state = null)}>close</button></div>
      ${failed.length ? html`<ul>${failed.slice(0, 200).map((one) => html`<li><b>${one.file}</b>: <span>${one.reason}</span></li>`)}</ul>` : nothing}`;
  }

  private panel(state: State) {
    if (state.kind === "done") return this.outcome(state.outcome);
    const { kind, done, total } = state;
    return html`<div class="row"><span>${kind === "sending" ? "Sending" : "Importing"} ${done} of ${total}</span>
      <button @click=${this.stop}>stop</button></div><progress max=${total} .value=${done}></progress>`;
  }

  render() {
    return html`<input id="files" type="file" multiple hidden aria-label="Files to import" @change=${this.chosen} />
      <input id="folder" type="file" webkitdirectory hidden aria-label="Folder to import" @change=${this.chosen} />
      ${this.over ? html`<div class="veil">${this.studio.library.name && this.studio.route.view !== "start" ? `Drop takes to import them into ${this.studio.library.name}` : "Drop takes or a folder to make a library of them"}, a song to dance to,<br>a film to search for its action, or a GLB file on the stage to use it as the character</div>` : nothing}
      ${this.state ? html`<div class="panel" role="status">${this.panel(this.state)}</div>` : nothing}`;
  }
}

/** A name for a library of files: their common folder, or the first file. */
function titleOf(files: readonly LocalFile[]): string {
  const [first] = files[0].path.split("/");
  if (files.every(({ path }) => path.startsWith(`${first}/`))) return first;
  return files.length === 1 ? first.replace(/\.[^.]*$/, "") : "takes";
}

/** All files of a dropped entry, with their paths. */
async function walk(entry: FileSystemEntry, folder: string): Promise<LocalFile[]> {
  const path = folder ? `${folder}/${entry.name}` : entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [{ path, file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const files: LocalFile[] = [];
  for (;;) {
    // a reader returns at most a hundred entries at a time, and none at the end
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return files;
    for (const one of some) files.push(...(await walk(one, path)));
  }
}
