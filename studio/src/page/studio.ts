// What all views share: the stage, the live line, the library's rows, the route, the selection.

import { getJson, type Answer } from "../net/api";
import { Live } from "../net/live";
import { fetchMotion, forgetMotions } from "../motion/motion";
import { noteRoute, readRoute, writeRoute, type Route } from "./route";
import type { Character, CharacterSpec, Stage } from "../stage/stage";
import { StreamedMotion } from "../motion/streamed";

export type LibraryRows = Answer<"get", "library">;
export type Row = LibraryRows["motions"][number];
export interface Selection {
  motion: string;
  start: number;
  end: number;
} // frames [start, end)

declare global {
  interface Window {
    studio: Studio;
  }
}

/** Fires "library" (its rows), "motions" (they may be others now), "kept" (parametric motions or dances), "route", "take",
 * "selection", "notice", "help", "import" (somebody wants to), "lost", "found". */
export class Studio extends EventTarget {
  readonly live = new Live();
  /** For motion that is made while it plays; here so that the console has it too. */
  readonly streamed = StreamedMotion;
  stage!: Stage;
  library: LibraryRows = { name: "", path: "", fps: null, motions: [] };
  route: Route = readRoute();
  selection: Selection | null = null;
  notice = "";
  /** Name of the take that the timeline belongs to; null while made motion is shown. */
  take: string | null = null;
  /** Whether the keys are shown. */
  helping = false;
  /** What each view showed when it was left. */
  readonly visited = new Map<string, Route>();
  private asked = 0;
  private gone = false;

  async start(): Promise<void> {
    window.addEventListener("hashchange", () => {
      this.visited.set(this.route.view, this.route);
      this.route = readRoute();
      this.fire("route");
    });
    this.live.addEventListener("lost", () => {
      this.gone = true;
      this.fire("lost");
    });
    this.live.addEventListener("refused", (event) => this.say((event as CustomEvent<string>).detail));
    this.live.addEventListener("found", () => {
      this.fire("found");
      if (this.gone) {
        void this.refresh();
        this.fire("kept");
      } // what has happened meanwhile
      this.gone = false;
    });
    this.live.addEventListener("changed", (event) => this.changed((event as CustomEvent<string>).detail));
    this.live.connect();
    await this.refresh();
  }

  /** A window, this one or another, has changed the library. */
  private changed(what: string): void {
    if (what === "kept") this.fire("kept");
    else void this.refresh(what === "motions");
  }

  /** Ask for the library's rows; `motions`: what is held of its motions may be out of date. */
  async refresh(motions = true): Promise<void> {
    try {
      this.library = await getJson("library");
      if (motions) {
        forgetMotions();
        this.fire("motions");
      }
      this.fire("library");
    } catch (error) {
      this.say(error);
    }
  }

  /** All labels in order, each with how many takes have it. */
  get labels(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const row of this.library.motions)
      for (const label of row.labels) counts.set(label, (counts.get(label) ?? 0) + 1);
    return new Map([...counts].sort(([a], [b]) => a.localeCompare(b)));
  }

  /** A take has other labels now. */
  relabel(name: string, labels: string[]): void {
    const motions = this.library.motions.map((row) => (row.name === name ? { ...row, labels } : row));
    this.library = { ...this.library, motions };
    this.fire("library");
  }

  /** Change the address: a view, and what it needs to show the same again. */
  go(view: string, query: Record<string, string | number | undefined> = {}): void {
    const before = location.hash;
    writeRoute({ view, query });
    if (location.hash === before) this.fire("route"); // the same again: something else may be on the stage
  }

  /** Ask the person for files, or for a folder, to import. */
  wantFiles(folder: boolean): void {
    this.dispatchEvent(new CustomEvent("import", { detail: folder }));
  }

  /** The same, without a new entry in the browser's history and without a "route". */
  note(query: Record<string, string | number | undefined>): void {
    this.route = noteRoute({ view: this.route.view, query });
  }

  /** Put one take of the library on the stage, and on the timeline; others laid over it. */
  async open(name: string, over: string[] = []): Promise<void> {
    const asked = ++this.asked;
    try {
      const motions = await Promise.all([name, ...over].map(fetchMotion));
      if (asked !== this.asked) return; // something else was opened meanwhile
      const again = this.take === name;
      this.cast(
        motions.map((motion) => ({ motion })),
        name,
      );
      if (!again) this.stage.clock.seek(0);
      if (this.selection && this.selection.motion !== name) this.select(null);
    } catch (error) {
      if (asked === this.asked) this.say(error);
    }
  }

  /** Put motions on the stage; `take` names the library's take that the timeline shows. */
  cast(specs: CharacterSpec[], take: string | null = null): Character[] {
    this.asked++;
    this.take = take;
    const characters = this.stage.show(specs);
    this.repeatSelection();
    this.fire("take");
    return characters;
  }

  /** The character that the timeline counts: the take's, or the first. */
  get lead(): Character | null {
    const { characters } = this.stage;
    return characters.find((one) => this.take !== null && one.motion.name === this.take) ?? characters[0] ?? null;
  }

  select(selection: Selection | null): void {
    this.selection = selection;
    this.repeatSelection();
    this.fire("selection");
  }

  /** Begin or end the selected range at the frame that is shown. */
  mark(side: "in" | "out"): void {
    const one = this.lead;
    if (!one || this.take === null) return;
    const held = this.selection?.motion === this.take ? this.selection : null;
    const frame = one.frameAt(this.stage.clock.time);
    const start = side === "in" ? frame : held && held.start <= frame ? held.start : 0;
    const end = side === "out" ? frame + 1 : held && held.end > frame ? held.end : one.motion.frames;
    this.select({ motion: this.take, start, end });
  }

  help(shown: boolean): void {
    this.helping = shown;
    this.fire("help");
  }

  /** A selected range is repeated once the time is inside it. */
  private repeatSelection(): void {
    const one = this.lead;
    const { selection } = this;
    const held = one && selection && selection.motion === this.take;
    this.stage.clock.setInner(held ? [one.timeOf(selection.start), one.timeOf(selection.end)] : null);
  }

  /** Tell the person something; an error in its own words. */
  say(words: unknown): void {
    this.notice = words instanceof Error ? words.message : String(words);
    this.fire("notice");
  }

  private fire(name: string): void {
    this.dispatchEvent(new Event(name));
  }
}

/** A selection as the command line writes it: NAME:START-END. */
export function asText(selection: Selection): string {
  return `${selection.motion}:${selection.start}-${selection.end}`;
}

/** The other way round; null if it is no range. */
export function asSelection(text: string): Selection | null {
  const found = /^(.+):(\d+)-(\d+)$/.exec(text);
  return found && { motion: found[1], start: Number(found[2]), end: Number(found[3]) };
}
