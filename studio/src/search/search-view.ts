// Search view: matches of the selected segment, as cards to accept or reject.

import { css, html } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { frameNumbers, fetchFigures, subsample, type Figure } from "../motion/aligned";
import type { Clip, CodeLines, Match, MissingWebs, SearchMenu } from "../net/types";
import { finished, getJson, send, sendForArrays, type Head, type Job } from "../net/api";
import { Latest } from "../net/live";
import "../page/progress-line";
import { parseSegment, segmentText } from "../page/studio";
import { sharedStyles } from "../page/style";
import { View } from "../page/view";
import type { Given } from "../settings/fields";
import "../library/search-box";
import "../library/selection-bar";
import { likePart, type Form, type SelectionBar } from "../library/selection-bar";
import { cardStyles, matchCard } from "./match-card";
import { showMatch, showQuery, type Overlay } from "./match-overlay";
import "./search-form";
import {
  addressOf,
  changed,
  filtersOnly,
  listOf,
  requestBody,
  settingsFrom,
  settingsOf,
  type Settings,
} from "./search-settings";
import { clipText, verdicts, type Verdict } from "./verdicts";

type SearchResults = Head<"post", "search"> & { frames: Int32Array; length: number };

const SAMPLES = 40; // poses per card
const CHUNK = 24; // figures per request, so that the first rows appear soon
const PATIENCE = 1500; // milliseconds after which a search is aborted for a newer one
const CACHED = 600; // cached figures

/** Each judged match adds a search. */
const MOST_VERDICTS = 30;

@customElement("loom-search-view")
export class SearchView extends View {
  @state() private menu: SearchMenu | null = null;
  @state() private settings: Settings = settingsFrom("search");
  @state() private results: SearchResults | null = null;
  @state() private lines: CodeLines = { cli: "", python: "" };
  @state() private job: Job | null = null;
  @state() private missing: MissingWebs | null = null;
  @state() private busy = false;
  @state() private current = -1;
  @state() private overlay: Overlay = { timing: "query", sideBySide: false };
  @state() private hidesRejected = false;
  /** Why there are no matches. */
  @state() private failed = "";
  private figures = new Map<string, Figure>();
  private ghost: Figure | null = null;
  private ready = new Set<string>();
  private wanted = ""; // the match of the address that is to be shown
  private began = 0; // when the search that runs was begun
  private readonly searching = new Latest<Settings>((settings) => this.search(settings));
  private readonly describing = new Latest<Settings>((settings) => this.describe(settings));

  @query("loom-selection-bar") private bar!: SelectionBar | null;
  @query(".cards") private grid!: HTMLElement | null;
  @query(".card.chosen .open") private currentCard!: HTMLElement | null;

  static styles = [
    sharedStyles,
    cardStyles,
    css`
    :host { display: grid; gap: 10px; align-content: start; grid-template-columns: minmax(0, 1fr); }
    .query { display: flex; gap: 8px; align-items: center; flex-wrap: wrap; }
    .state { display: flex; gap: 10px; align-items: center; justify-content: space-between; flex-wrap: wrap; min-height: 30px;
      position: sticky; top: -12px; background: var(--panel); padding: 6px 0; z-index: 1; }
    .state b { font-variant-numeric: tabular-nums; }
    .empty { padding: 26px 10px; text-align: center; color: var(--faint); line-height: 1.7; }
    .offer { border: 1px solid var(--accent); border-radius: 7px; padding: 10px; }
    .below { position: sticky; bottom: -12px; background: var(--panel); padding-bottom: 10px; z-index: 1; }
    kbd { font: 11px ui-monospace, monospace; border: 1px solid var(--line); border-radius: 3px; padding: 0 4px; background: var(--raised); }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    void this.loadMenu();
    this.watch(["library"], () => {
      this.openVerdicts();
      this.ready.clear();
      void this.loadMenu();
    });
    this.listen(verdicts, "change", () => {
      this.requestUpdate();
      this.pickAccepted();
    });
    this.watch(["picked"]);
    this.answers("undo", () => verdicts.changedAt >= this.studio.changedAt && verdicts.undo());
    this.watch(["selection"], () => this.selected());
    this.watch(["restored"], () => this.ask());
    this.listen(window, "keydown", (event) => this.key(event as KeyboardEvent), { capture: true });
  }

  /** Load the menu of methods, features, distances and labels. */
  private async loadMenu(): Promise<void> {
    const { signal } = this.turns.begin("menu");
    await this.studio.attempt(async () => (this.menu = await getJson("search/menu", { signal })));
  }

  protected routeChanged(query: Record<string, string>): void {
    const settings = settingsOf("search", this.studio, query);
    const again = JSON.stringify(settings) !== JSON.stringify(this.settings) || !this.results;
    if (settings.query !== this.settings.query) this.forget();
    this.settings = settings;
    this.openVerdicts();
    this.wanted = query.match ?? "";
    if (again) this.ask();
    else this.restore();
  }

  private openVerdicts(): void {
    verdicts.open(this.studio.library.id, this.settings.query);
  }

  /** Drop the matches of another query, and the one on the stage. */
  private forget(): void {
    this.turns.end("figures");
    this.turns.end("match");
    this.results = null;
    this.current = -1;
    if (this.studio.take === null) this.studio.show([]);
  }

  /** Show the match of the address, once matches are there. */
  private restore(): void {
    const place = this.wanted ? this.rows.findIndex(({ row }) => clipText(row) === this.wanted) : -1;
    this.wanted = "";
    if (place >= 0) void this.show(place);
  }

  private storeState(match?: string): void {
    this.studio.replaceQuery({ ...addressOf("search", this.settings), match });
  }

  /** Use the segment selected on the timeline as the query. */
  private selected(): void {
    const { selection } = this.studio;
    const text = selection && segmentText(selection);
    if (selection && selection.end - selection.start > 1 && text !== this.settings.query) this.change({ query: text! });
  }

  private change(changes: Given): void {
    const before = this.settings;
    this.failed = "";
    this.settings = changed("search", before, changes);
    if (this.settings.query !== before.query) this.forget();
    this.openVerdicts();
    this.storeState();
    const only = Object.keys(changes);
    if (
      only.length === 1 &&
      only[0] === "max_distance" &&
      this.results &&
      this.menu &&
      filtersOnly(this.menu, this.settings)
    )
      this.describing.submit(this.settings); // all matches are here: the threshold only filters them
    else this.ask();
  }

  private ask(): void {
    if (!this.settings.query) return;
    // One search at a time, the latest one next; a slow search is aborted for a newer one.
    // The computation of an index goes on, since the newer search needs it as well.
    if (this.busy && performance.now() - this.began > PATIENCE) this.turns.end("search", "left");
    this.searching.submit(this.settings);
  }

  private async search(settings: Settings): Promise<void> {
    if (!this.isConnected) return;
    const turn = this.turns.begin("search");
    const { signal } = turn;
    this.busy = true;
    this.failed = "";
    this.began = performance.now();
    try {
      this.menu ??= await getJson("search/menu", { signal });
      if (!(await this.prepared(settings, signal))) return;
      const wide = filtersOnly(this.menu, settings);
      const request = requestBody("search", wide ? { ...settings, max_distance: null } : settings);
      const { meta, arrays, shapes } = await sendForArrays("search", { body: request, signal });
      if (settings.query !== this.settings.query) return; // the next search is for another query
      this.results = { ...meta, frames: arrays.frames as Int32Array, length: shapes.frames[1] };
      this.lines = this.results.lines;
      if (wide && settings.max_distance !== null) this.describing.submit(settings);
      this.current = Math.min(this.current, this.rows.length - 1);
      void this.loadFigures();
      const { query } = this.results;
      const { selection } = this.studio;
      const selected = { motion: query.motion, start: query.start_frame, end: query.end_frame };
      if (this.wanted) this.restore();
      else if (this.current < 0 && (!selection || segmentText(selection) !== segmentText(selected)))
        void showQuery(this.studio, query);
    } catch (error) {
      if (!turn.current) return;
      if (settings.query === this.settings.query) {
        this.forget();
        this.failed = (error as Error).message;
      }
      this.studio.notify(error);
    } finally {
      this.busy = false;
    }
  }

  private async describe(settings: Settings): Promise<void> {
    const { signal } = this.turns.begin("lines");
    const body = requestBody("search", settings);
    await this.studio.attempt(async () => (this.lines = await send("post", "search/lines", { body, signal })));
  }

  /** Compute the data of the method (features, index) with progress; false if match webs are missing. */
  private async prepared(settings: Settings, signal: AbortSignal): Promise<boolean> {
    const body = requestBody("search", settings);
    const { method, label, only } = body.settings ?? {};
    const key = JSON.stringify([method, label, only]);
    if (this.ready.has(key)) return true;
    const prepared = await send("post", "search/prepare", { body, signal });
    this.missing = prepared.lacking;
    if (prepared.lacking) {
      this.turns.end("figures");
      this.results = null;
      return false;
    }
    if (prepared.job) await finished(prepared.job, (job) => (this.job = job), signal);
    this.ready.add(key);
    return true;
  }

  private async build(): Promise<void> {
    const { signal } = this.turns.begin("web");
    const built = await this.studio.attempt(async () => {
      const job = await send("post", "search/web", { body: requestBody("search", this.settings), signal });
      await finished(job, (now) => (this.job = now), signal);
      this.missing = null;
    });
    if (built) this.ask();
  }

  /** The matches to show: within the threshold, and not rejected if those are hidden. */
  private get rows(): { row: Match; number: number }[] {
    const limit = Number(this.settings.max_distance ?? Infinity);
    return (this.results?.matches ?? [])
      .map((row, number) => ({ row, number }))
      .filter(({ row }) => row.distance <= limit && !(this.hidesRejected && verdicts.verdict(row) === "rejected"));
  }

  private unrejected(): Match[] {
    return this.rows.map(({ row }) => row).filter((row) => verdicts.verdict(row) !== "rejected");
  }

  private framesOf(number: number): Int32Array {
    const { frames, length } = this.results!;
    return frames.subarray(number * length, (number + 1) * length);
  }

  private keyOf(row: Match, number: number): string {
    const frames = this.framesOf(number);
    return `${this.settings.query}|${clipText(row)}|${frames[frames.length >> 1]}`;
  }

  /** Load missing figures, those of the first cards first. */
  private async loadFigures(): Promise<void> {
    const { signal } = this.turns.begin("figures");
    const { query, matches } = this.results!;
    const onto = { motion: query.motion, frame: query.start_frame };
    const unloaded = matches
      .map((row, number) => ({ row, number, key: this.keyOf(row, number) }))
      .filter(({ key }) => !this.figures.has(key));
    const queryClip = {
      motion: query.motion,
      frames: subsample(frameNumbers(query.start_frame, query.end_frame), SAMPLES),
    };
    await this.studio.attempt(async () => {
      [this.ghost] = await fetchFigures(onto, [queryClip], signal);
      for (let at = 0; at < unloaded.length; at += CHUNK) {
        const some = unloaded.slice(at, at + CHUNK);
        const clips = some.map(({ row, number }) => ({
          motion: row.motion,
          frames: subsample(this.framesOf(number), SAMPLES),
        }));
        const figures = await fetchFigures(onto, clips, signal);
        some.forEach(({ key }, k) => this.figures.set(key, figures[k]));
        this.requestUpdate();
      }
      for (const key of this.figures.keys()) {
        if (this.figures.size <= CACHED) break;
        this.figures.delete(key);
      }
      this.requestUpdate();
    });
  }

  private async show(place: number): Promise<void> {
    const chosen = this.rows[place];
    if (!chosen) return;
    this.current = place;
    const { signal } = this.turns.begin("match");
    this.storeState(clipText(chosen.row));
    void this.updateComplete.then(() => this.currentCard?.scrollIntoView({ block: "nearest" }));
    await this.studio.attempt(async () => {
      const frames = this.framesOf(chosen.number);
      await showMatch(this.studio, this.results!.query, chosen.row, frames, this.overlay, signal);
    });
  }

  protected characterChanged(): void {
    if (this.current >= 0) void this.show(this.current);
  }

  /** Accepted matches are selected, so that all verbs of the selection apply to them. */
  private readonly pickAccepted = (): void => this.studio.pick(verdicts.accepted.map(clipText));

  private async openForm(row: Match, form: Form): Promise<void> {
    this.studio.pick([clipText(row)], row.label ?? "");
    await this.updateComplete;
    await this.bar?.updateComplete;
    this.bar?.open(form);
  }

  /** Matches and accepted clips by their places, for the list in a zip. */
  private get knownClips(): Map<string, Clip> {
    const clips = [...verdicts.accepted, ...(this.results?.matches ?? [])];
    return new Map(
      clips.map(({ motion, start_frame, end_frame, distance, tier, label }) => {
        const clip = { motion, start_frame, end_frame, distance, tier, label };
        return [clipText(clip), clip];
      }),
    );
  }

  private judge(place: number, verdict: Verdict): void {
    const chosen = this.rows[place];
    if (chosen) verdicts.judge(chosen.row, verdict);
  }

  /** Search again with the verdicts on these matches, or without them the next time. */
  private useVerdicts(): void {
    const segments = (kind: "accepted" | "rejected") =>
      (this.results?.matches ?? []).filter((row) => verdicts.verdict(row) === kind).map(clipText);
    const accept = listOf(this.settings["feedback.accept"]);
    const reject = listOf(this.settings["feedback.reject"]);
    const some = (list: string[]) => [...new Set(list)].slice(0, MOST_VERDICTS);
    const right = some([...accept, ...segments("accepted")]);
    const wrong = some([...reject, ...segments("rejected")]);
    const isNew = right.length + wrong.length > accept.length + reject.length;
    this.change({ "feedback.accept": isNew ? right : [], "feedback.reject": isNew ? wrong : [] });
  }

  /** Keys: A and R accept and reject the current card, arrows move between cards. */
  private key(event: KeyboardEvent): void {
    const target = event.composedPath()[0] as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName))
      return;
    const inCards = target.closest?.(".cards");
    const columns = this.columns();
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    if (inCards && event.key in steps) {
      const next = Math.min(Math.max(this.current + steps[event.key], 0), this.rows.length - 1);
      this.showAndFocus(next);
    } else if (inCards && event.key === "Enter") void this.show(Math.max(this.current, 0));
    else if (event.key.toLowerCase() === "a" && this.current >= 0) this.verdictKey("accepted");
    else if (event.key.toLowerCase() === "r" && this.current >= 0) this.verdictKey("rejected");
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Accept or reject the current card, and go to the next. */
  private verdictKey(verdict: "accepted" | "rejected"): void {
    const row = this.rows[this.current]?.row;
    if (!row) return;
    const already = verdicts.verdict(row) === verdict;
    this.judge(this.current, already ? null : verdict);
    if (!already) this.showAndFocus(Math.min(this.current + 1, this.rows.length - 1));
  }

  private columns(): number {
    const { grid } = this;
    return grid ? getComputedStyle(grid).gridTemplateColumns.split(" ").length : 1;
  }

  /** Show a match and focus its card immediately, for the next key. */
  private showAndFocus(place: number): void {
    void this.show(place);
    void this.focusCard();
  }

  private async focusCard(): Promise<void> {
    await this.updateComplete;
    this.currentCard?.focus({ preventScroll: true });
  }

  private head() {
    const { query } = this.settings;
    const known = parseSegment(query);
    const search = addressOf("search", this.settings);
    const family = { ...search, max_distance: undefined, rank: undefined, exclude_query: undefined };
    return html`<loom-search-box .studio=${this.studio} .text=${query}
        @typed=${(event: CustomEvent<string>) => {
          if (!event.detail) this.studio.go("library"); // cleared
        }}
        @submit=${(event: CustomEvent<string>) => this.studio.go("library", { find: event.detail })}></loom-search-box>
      <div class="query"><button id="back" title="Back to all takes" @click=${() => this.studio.go("library", this.studio.visited.get("library")?.query)}>← Takes</button>
      <button ?disabled=${!this.results} title="Show the query on the timeline, to change it"
        @click=${() => showQuery(this.studio, this.results!.query)}>on the timeline</button>
      <button ?disabled=${!known} title="Match graph of the query" @click=${() => this.studio.go("family", family)}>family</button>
      <button ?disabled=${!known} title="Distances to a take, frame by frame"
        @click=${() => this.studio.go("grid", { a: query, b: this.rows[this.current]?.row.motion ?? known?.motion })}>grid</button></div>`;
  }

  private stateLine(count: number) {
    const { results } = this;
    const flip = (changes: Partial<Overlay>) => {
      this.overlay = { ...this.overlay, ...changes };
      if (this.current >= 0) void this.show(this.current);
    };
    return html`<div class="state"><span role="status">${
      results
        ? html`<b id="count">${count}</b> ${count === 1 ? "match" : "matches"}
        <span class="faint">in ${(results.seconds * 1000).toFixed(0)} ms${this.busy ? " …" : ""}</span>`
        : this.busy
          ? "searching…"
          : ""
    }</span>
      ${results ? html`<loom-verdict-counts></loom-verdict-counts>` : ""}
      <span class="row"><button aria-pressed=${this.overlay.timing === "own"} title="Play matches at their original speed instead of in sync with the query"
          @click=${() => flip({ timing: this.overlay.timing === "own" ? "query" : "own" })}>original speed</button>
        <button aria-pressed=${this.overlay.sideBySide} title="Show the match next to the query" @click=${() => flip({ sideBySide: !this.overlay.sideBySide })}>side by side</button>
        <button id="accept-all" ?disabled=${!count} title="Accept all visible matches that are not rejected"
          @click=${() => verdicts.judge(this.unrejected(), "accepted")}>accept all shown</button>
        <button id="undo" ?disabled=${!verdicts.undoable} title="Undo the last verdict (Ctrl+Z)" @click=${() => verdicts.undo()}>undo</button>
        <button id="use-verdicts" aria-pressed=${["accept", "reject"].some((one) => listOf(this.settings[`feedback.${one}`]).length)}
          ?disabled=${!verdicts.accepted.length && !verdicts.rejected.length}
          title="Search again: accepted matches become additional queries, and motion similar to rejected ones ranks lower"
          @click=${this.useVerdicts}>use verdicts</button>
        <button id="hide" aria-pressed=${this.hidesRejected} ?disabled=${!verdicts.rejected.length}
          @click=${() => (this.hidesRejected = !this.hidesRejected)}>hide rejected</button></span></div>`;
  }

  render() {
    const { results, settings, missing } = this;
    const rows = this.rows;
    const frames = this.studio.library.motions.reduce((sum, one) => sum + one.frames, 0);
    const seconds = results ? (results.query.end_frame - results.query.start_frame) / results.query.fps : 1;
    const tiers = rows.some(({ row }) => row.tier > 1);
    return html`${this.head()}
      <loom-search-form .studio=${this.studio} .menu=${this.menu} .settings=${settings} .frames=${frames}
        .distances=${results?.matches.map((one) => one.distance) ?? []}
        @settings=${(event: CustomEvent<Given>) => this.change(event.detail)}></loom-search-form>
      ${this.job ? html`<loom-progress .job=${this.job}></loom-progress>` : ""}
      ${
        missing && !this.job
          ? html`<div class="offer">${missing.words}. Once built, searches take milliseconds.
        ${missing.pairs > 20_000 ? "To start with fewer takes, choose labels under “more settings”." : ""}
        <p><button id="build" class="main" @click=${this.build}>Build ${missing.pairs.toLocaleString("en")} webs</button></p></div>`
          : ""
      }
      ${this.stateLine(rows.length)}
      ${this.failed ? html`<div class="empty" role="status"><p>${this.failed}</p><p>Select a segment on the timeline, or enter one: <code>TAKE:10-60</code></p></div>` : ""}
      ${!settings.query ? html`<div class="empty">Describe a motion: <q>kicks high with the right foot</q>,<br>select a segment on the timeline, or enter one: <code>walk_p0:10-60</code></div>` : ""}
      <div class="cards" role="list" aria-label="Matches">${repeat(
        rows,
        ({ row, number }) => this.keyOf(row, number),
        ({ row, number }, place) =>
          matchCard(row, number, {
            figure: this.figures.get(this.keyOf(row, number)) ?? null,
            ghost: this.ghost,
            seconds,
            unit: results!.unit,
            tiers,
            chosen: place === this.current,
            stop: place === Math.max(this.current, 0),
            verdict: verdicts.verdict(row),
            show: () => this.showAndFocus(place),
            judge: (verdict) => this.judge(place, verdict),
            like: () => likePart(this.studio, { motion: row.motion, start: row.start_frame, end: row.end_frame }),
            open: (form) => void this.openForm(row, form),
          }),
      )}</div>
      ${results && !rows.length ? html`<div class="empty">No matches within this distance. Move the threshold to the right.</div>` : ""}
      ${
        this.studio.picked.size && results
          ? html`<loom-selection-bar class="below" .studio=${this.studio} .known=${this.knownClips}
          .origin=${{ search: requestBody("search", settings), unit: results.unit }}></loom-selection-bar>`
          : ""
      }
      ${
        results
          ? html`<div class="faint"><kbd>A</kbd> accept, <kbd>R</kbd> reject, <kbd>Ctrl+Z</kbd> undo, arrow keys to move</div>
        <loom-code .cli=${this.lines.cli} .python=${this.lines.python}></loom-code>`
          : ""
      }`;
  }
}
