// What all views share: the stage, the live line, the library's rows, the route, the selection.

import { getJson } from "./api";
import { Live } from "./live";
import { fetchMotion, forgetMotions } from "./motion";
import { readRoute, writeRoute, type Route } from "./route";
import type { CharacterSpec, Stage } from "./stage";

export interface Row { name: string; frames: number; fps: number; seconds: number; labels: string[] }
export interface LibraryRows { name: string; path: string; fps: number | null; motions: Row[] }
export interface Selection { motion: string; start: number; end: number } // frames [start, end)

/** Fires "library", "route", "selection", "notice", "lost", "found". */
export class Studio extends EventTarget {
  readonly live = new Live();
  stage!: Stage;
  library: LibraryRows = { name: "", path: "", fps: null, motions: [] };
  route: Route = readRoute();
  selection: Selection | null = null;
  notice = "";
  /** Name of the take that the timeline belongs to; null while made motion is shown. */
  take: string | null = null;

  async start(): Promise<void> {
    window.addEventListener("hashchange", () => {
      this.route = readRoute();
      this.fire("route");
    });
    this.live.addEventListener("lost", () => this.fire("lost"));
    this.live.addEventListener("found", () => { this.fire("found"); void this.refresh(); });
    this.live.connect();
    await this.refresh();
  }

  async refresh(): Promise<void> {
    try {
      this.library = await getJson<LibraryRows>("library");
      forgetMotions();
      this.fire("library");
    } catch (error) { this.say(error); }
  }

  /** Change the address: a view, and what it needs to show the same again. */
  go(view: string, query: Record<string, string | number | undefined> = {}): void {
    writeRoute({ view, query });
  }

  /** Put one take of the library on the stage, and on the timeline. */
  async open(name: string): Promise<void> {
    try {
      const motion = await fetchMotion(name);
      this.cast([{ motion }], name);
      if (this.selection?.motion !== name) this.select(null);
    } catch (error) { this.say(error); }
  }

  /** Put motions on the stage; `take` names the library's take that the timeline shows. */
  cast(specs: CharacterSpec[], take: string | null = null): void {
    this.take = take;
    this.stage.show(specs);
  }

  select(selection: Selection | null): void {
    this.selection = selection;
    this.fire("selection");
  }

  /** Tell the person something; an error in its own words. */
  say(words: unknown): void {
    this.notice = words instanceof Error ? words.message : String(words);
    this.fire("notice");
  }

  private fire(name: string): void { this.dispatchEvent(new Event(name)); }
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
