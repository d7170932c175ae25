// State shared by all views: stage, live connection, library rows, route, selected segment.

import { fetchMotion, clearMotionCache } from "../motion/motion";
import { StreamedMotion } from "../motion/streamed";
import { getJson, send, type Answer } from "../net/api";
import { Live } from "../net/live";
import { pendingCount } from "../net/pending";
import { TurnEnded } from "../net/turns";
import { OwnCharacter } from "../stage/own-character";
import type { Character, CharacterSpec, Stage } from "../stage/stage";
import { address, replaceRoute, readRoute, pushRoute, type Route } from "./route";
import { Requests, Store } from "./store";
import { segmentSubject, type Subject } from "./subject-bar";

export type LibraryRows = Answer<"get", "library">;
export type Row = LibraryRows["motions"][number];
export interface Segment {
  motion: string;
  start: number;
  end: number;
} // frames [start, end)

const NOTICE_LEAST = 6000; // milliseconds
const NOTICE_PER_LETTER = 60;

declare global {
  interface Window {
    studio: Studio;
  }
}

/** State that parts of the page watch. */
export interface PageState {
  /** The open library, with its rows. */
  library: LibraryRows;
  /** The view, and its state in the address. */
  route: Route;
  /** Grows when the user goes to an address; not when a view stores its state there. */
  visits: number;
  /** What the stage shows: a take that is on the timeline, or a subject that a view has made. */
  shown: Shown;
  selection: Segment | null;
  /** Takes and segments that are selected together. */
  picked: Picked;
  notice: Notice;
  /** Whether the list of keyboard shortcuts is open. */
  help: boolean;
  /** Whether the tour is shown. */
  tour: boolean;
  connection: "connecting" | "connected" | "lost";
  /** A song or film that was dropped on the page, until the view that it opens takes it. */
  song: File | null;
  film: File | null;
  /** Numbers that grow when something on the server may have changed: frames of takes, saved artifacts, jobs, and
   * everything, after the connection was lost. */
  frames: number;
  artifacts: number;
  jobs: number;
  restored: number;
}

export interface Shown {
  /** Name of the take on the timeline; null while a synthesized motion is shown. */
  take: string | null;
  /** The subject on the stage, unless it is a take. */
  made: Subject | null;
}

export interface Picked {
  /** NAME of a take, or NAME:START-END of a segment. */
  names: ReadonlySet<string>;
  /** A name for these takes, if they are a cluster. */
  name: string;
}

export interface Notice {
  text: string;
  /** True if it reports a change that can be undone. */
  undo: boolean;
}

/** Requests of one part of the page to another, with their details. */
export interface PageRequests {
  /** Leave a mode, or close an open panel. */
  escape: null;
  /** Undo the latest change within a view. */
  undo: null;
  /** Open or close the list of commands. */
  palette: null;
  /** Open the dialog to import files, or a folder. */
  import: { folder: boolean };
  /** Show a time on the timeline. */
  reveal: { time: number };
}

export class Studio extends Store<PageState> {
  readonly live = new Live();
  readonly requests = new Requests<PageRequests>();
  /** The user's character, if takes are shown on one. */
  readonly own = new OwnCharacter(this);
  /** Class for motion that is synthesized while it plays; here for use from the console. */
  readonly streamed = StreamedMotion;
  stage!: Stage;
  /** When this window changed the library last, milliseconds. */
  changedAt = 0;
  /** Names of all views in the address. */
  views: ReadonlySet<string> = new Set();
  /** The last route of each view. */
  readonly visited = new Map<string, Route>();
  private openings = 0;
  private lastTake: string | null = null; // the take that was open last
  private noticeTimer = 0;
  private framed = ""; // subject that the camera was framed for
  private shownBy = ""; // the view that filled the stage
  private handledHash = location.hash;
  private filling = false; // a new library, which is shown when takes have been imported into it
  private next = "#/library"; // address after another library was opened

  constructor() {
    super({
      library: { id: "", name: "", path: "", fps: null, motions: [] },
      route: readRoute(),
      visits: 0,
      shown: { take: null, made: null },
      selection: null,
      picked: { names: new Set(), name: "" },
      notice: { text: "", undo: false },
      help: false,
      tour: false,
      connection: "connecting",
      song: null,
      film: null,
      frames: 0,
      artifacts: 0,
      jobs: 0,
      restored: 0,
    });
  }

  get library(): LibraryRows {
    return this.state.library;
  }
  get route(): Route {
    return this.state.route;
  }
  get selection(): Segment | null {
    return this.state.selection;
  }
  /** Name of the take on the timeline; null while a synthesized motion is shown. */
  get take(): string | null {
    return this.state.shown.take;
  }
  get picked(): ReadonlySet<string> {
    return this.state.picked.names;
  }

  async start(): Promise<void> {
    window.addEventListener("hashchange", () => {
      const before = this.route;
      this.visited.delete(before.view); // the latest is the last
      this.visited.set(before.view, before);
      this.handledHash = location.hash;
      const route = readRoute();
      if (route.view !== before.view) this.enter(route.view);
      this.set({ route, visits: this.state.visits + 1 });
    });
    this.live.addEventListener("disconnected", () => this.set({ connection: "lost" }));
    this.live.addEventListener("refused", (event) => this.notify((event as CustomEvent<string>).detail));
    this.live.addEventListener("connected", () => {
      const again = this.state.connection === "lost";
      this.set({ connection: "connected" });
      if (!again || this.filling) return;
      // Anything may have changed in the meantime.
      void this.refresh();
      this.set({ artifacts: this.state.artifacts + 1, restored: this.state.restored + 1 });
    });
    this.live.addEventListener("changed", (event) => this.changed((event as CustomEvent<string>).detail));
    this.live.connect();
    this.own.restore();
    await this.refresh();
  }

  /** True if all requests are answered and the address is handled; for tests. */
  get idle(): boolean {
    return pendingCount() === 0 && this.handledHash === location.hash;
  }

  /** The library has been changed, in this window or another. */
  private changed(what: string): void {
    if (what === "jobs") this.set({ jobs: this.state.jobs + 1 });
    else if (this.filling)
      return; // the page still shows the previous library
    else if (what === "library") this.follow();
    else if (what === "kept") this.set({ artifacts: this.state.artifacts + 1 });
    else void this.refresh(what === "motions");
  }

  /** Reload the library's rows; with `motions`, also drop cached frames. */
  async refresh(motions = true): Promise<void> {
    if (this.filling) return;
    try {
      const library = await getJson("library");
      if (this.filling) return; // since the request
      if (this.library.id && library.id !== this.library.id) this.follow(); // the server was started with another
      if (motions) clearMotionCache();
      const names = new Set(library.motions.map((row) => row.name));
      if (this.lastTake !== null && !names.has(this.lastTake)) this.lastTake = null;
      if (this.take !== null && !names.has(this.take)) this.show([]); // removed or renamed
      const picked = [...this.picked];
      const held = (place: string) => names.has(place) || names.has(parseSegment(place)?.motion ?? "");
      this.set({
        library,
        ...(motions && { frames: this.state.frames + 1 }),
        ...(picked.some((place) => !held(place)) && { picked: { names: new Set(picked.filter(held)), name: "" } }),
      });
    } catch (error) {
      this.notify(error);
    }
  }

  /** Open another library, by its id, in all windows. */
  async openLibrary(id: string): Promise<void> {
    this.next = "#/library";
    await send("post", "libraries/open", { body: { id } });
    this.follow();
  }

  /** Create a library that this window fills, before all windows show it. Returns its name, which was unused. */
  async fillLibrary(wanted: string): Promise<string> {
    const { libraries } = await getJson("libraries");
    const taken = new Set(libraries.map((one) => one.name));
    const base =
      wanted
        .replace(/[/\\:*?"<>|]+/g, "_")
        .replace(/^[.\s]+|[.\s]+$/g, "")
        .slice(0, 60) || "takes";
    let name = base;
    for (let number = 2; taken.has(name); number++) name = `${base} ${number}`;
    this.filling = true;
    try {
      await send("post", "libraries", { body: { name } });
    } catch (error) {
      this.filling = false;
      throw error;
    }
    return name;
  }

  /** Show the library that this window has filled. */
  showFilled(take: string | undefined): void {
    this.next = address({ view: "library", query: { take } });
    this.follow();
  }

  /** Create a library in the folder of the server and open it in all windows. */
  async makeLibrary(name: string, query: Record<string, string> = {}): Promise<void> {
    this.next = address({ view: "library", query });
    await send("post", "libraries", { body: { name } });
    this.follow();
  }

  /** Show the current library of the server, and discard everything from the previous one. */
  private follow(): void {
    history.replaceState(null, "", this.next);
    location.reload();
  }

  /** All labels in alphabetical order, with the number of takes of each. */
  get labels(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const row of this.library.motions)
      for (const label of row.labels) counts.set(label, (counts.get(label) ?? 0) + 1);
    return new Map([...counts].sort(([a], [b]) => a.localeCompare(b)));
  }

  /** Set the labels of a take, here in the page. */
  relabel(name: string, labels: string[]): void {
    const motions = this.library.motions.map((row) => (row.name === name ? { ...row, labels } : row));
    this.set({ library: { ...this.library, motions } });
  }

  /** Select several takes; `name` is a suggested name for them. */
  pick(names: Iterable<string>, name = ""): void {
    this.set({ picked: { names: new Set(names), name } });
  }

  /** Go to a view, with its state as a query. */
  go(view: string, query: Record<string, string | number | undefined> = {}): void {
    const before = location.hash;
    pushRoute({ view, query });
    if (location.hash === before) this.set({ visits: this.state.visits + 1 }); // the stage may show something else by now
  }

  /** Another view is entered: its predecessor's subject stays on the stage until it shows its own, with its timeline. A
   * motion that is synthesized while it plays ends with its view; the take that was open before comes back. */
  private enter(view: string): void {
    if (this.shownBy === view || !this.stage.characters.some((one) => one.streamed)) return;
    if (this.lastTake !== null) void this.open(this.lastTake);
    else this.show([]);
  }

  /** Dance to a song that was dropped anywhere on the page. */
  danceTo(song: File): void {
    this.set({ song });
    this.go("dance", this.route.view === "dance" ? this.route.query : (this.visited.get("dance")?.query ?? {}));
  }

  /** Search for the action in a film that was dropped anywhere on the page. */
  searchFilm(film: File): void {
    this.set({ film });
    this.go("show");
  }

  /** Open the dialog to import files or a folder. */
  openImportDialog(folder: boolean): void {
    this.requests.request("import", { folder });
  }

  /** Store the state of the open view in its address, without a new entry in the history. */
  replaceQuery(query: Record<string, string | number | undefined>): void {
    const route = replaceRoute({ view: this.route.view, query });
    this.handledHash = location.hash;
    this.set({ route });
  }

  /** Show a take on the stage and the timeline, with others overlaid. */
  async open(name: string, over: string[] = []): Promise<void> {
    const opening = ++this.openings;
    try {
      await this.own.ready;
      const motions = await Promise.all([name, ...over].map(fetchMotion));
      if (opening !== this.openings) return; // another take was opened in the meantime
      const again = this.take === name;
      this.show(
        motions.map((motion) => ({ motion })),
        name,
      );
      if (!again) this.stage.clock.seek(0);
      if (this.selection && this.selection.motion !== name) this.select(null);
    } catch (error) {
      if (opening === this.openings) this.notify(error);
    }
  }

  /** Show motions on the stage; `take` is the take on the timeline, `subject` describes other motions. */
  show(specs: CharacterSpec[], take: string | null = null, subject: Subject | null = null): Character[] {
    this.openings++;
    if (take !== null) this.lastTake = take;
    this.shownBy = this.route.view;
    const framed = take ?? `${this.route.view}: ${specs.length} characters`;
    const fresh = specs.length > 0 && framed !== this.framed;
    if (specs.length) this.framed = framed;
    const characters = this.stage.show(specs, fresh);
    this.set({ shown: { take, made: subject } });
    this.loopSelection();
    return characters;
  }

  /** The subject on the stage: the selected segment, the take, or the result of a view; null if the stage is empty. */
  get subject(): Subject | null {
    const { take, selection, lead } = this;
    if (take === null) return this.state.shown.made;
    if (selection?.motion === take) return segmentSubject(selection, this.library.path);
    return lead && segmentSubject({ motion: take, start: 0, end: lead.motion.frames }, this.library.path, true);
  }

  /** The character that the timeline refers to: that of the take, or the first. */
  get lead(): Character | null {
    const { characters } = this.stage;
    return characters.find((one) => this.take !== null && one.motion.name === this.take) ?? characters[0] ?? null;
  }

  select(selection: Segment | null): void {
    this.set({ selection });
    this.loopSelection();
  }

  /** Set the start or the end of the selected segment to the current frame. */
  mark(side: "in" | "out"): void {
    const one = this.lead;
    if (!one || this.take === null) return;
    const held = this.selection?.motion === this.take ? this.selection : null;
    const frame = one.frameAt(this.stage.clock.time);
    const start = side === "in" ? frame : held && held.start <= frame ? held.start : 0;
    const end = side === "out" ? frame + 1 : held && held.end > frame ? held.end : one.motion.frames;
    this.select({ motion: this.take, start, end });
  }

  /** Show a time on the timeline, with a few seconds around it. */
  reveal(time: number): void {
    this.requests.request("reveal", { time });
  }

  showTour(shown: boolean): void {
    this.set({ tour: shown });
  }

  showHelp(shown: boolean): void {
    this.set({ help: shown });
  }

  /** Playback loops within the selected segment once it is inside it. */
  private loopSelection(): void {
    const one = this.lead;
    const { selection } = this;
    const held = one && selection && selection.motion === this.take;
    this.stage.clock.setLoop(held ? [one.timeOf(selection.start), one.timeOf(selection.end)] : null);
  }

  /** Run a request and show its error, if any; return true on success. */
  async attempt(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!(error instanceof TurnEnded)) this.notify(error);
      return false;
    }
  }

  /** Show a message or an error, which disappears after some time. An empty message closes it. */
  notify(message: unknown, undo = false): void {
    const text = message instanceof Error ? message.message : String(message);
    clearTimeout(this.noticeTimer);
    const reading = NOTICE_LEAST + NOTICE_PER_LETTER * text.length;
    if (text) this.noticeTimer = window.setTimeout(() => this.notify(""), reading);
    this.set({ notice: { text, undo } });
  }

  /** Report a change of the library, with an undo button. */
  did(message: string): void {
    this.changedAt = Date.now();
    this.notify(message, true);
  }

  /** Undo the latest change of the view, or of the library. */
  async undo(): Promise<void> {
    if (this.requests.request("undo", null)) return;
    await this.exchange("library/undo", "Undone");
  }

  /** Redo the change that was undone last. */
  async redo(): Promise<void> {
    await this.exchange("library/redo", "Redone");
  }

  private async exchange(path: "library/undo" | "library/redo", done: string): Promise<void> {
    await this.attempt(async () => {
      const { text } = await send("post", path);
      this.changedAt = Date.now();
      this.notify(`${done}: ${text}`);
      await this.refresh();
    });
  }

  /** Keep the message while the pointer or the focus is on it. */
  keepNotice(): void {
    clearTimeout(this.noticeTimer);
  }

  /** Handle Esc: leave a mode of a view, close a menu, or clear the selection. */
  escape(): void {
    if (this.state.help) this.showHelp(false);
    else if (!this.requests.request("escape", null)) this.select(null);
  }
}

/** A segment as the command line writes it: NAME:START-END. */
export function segmentText(segment: Segment): string {
  return `${segment.motion}:${segment.start}-${segment.end}`;
}

/** Parse NAME:START-END; null if the text is not a segment. */
export function parseSegment(text: string): Segment | null {
  const parts = /^(.+):(\d+)-(\d+)$/.exec(text);
  return parts && { motion: parts[1], start: Number(parts[2]), end: Number(parts[3]) };
}
