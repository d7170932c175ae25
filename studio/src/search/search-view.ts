// Search: everything that looks like the selected stretch, as cards to accept or reject.

import { css, html } from "lit";
import { customElement, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { finished, getJson, send, sendForArrays, type Body, type Job } from "../net/api";
import "./export-bar";
import type { CodeLines, Heads, Match, MissingWebs, SearchMenu } from "../net/answers";
import { Latest } from "../net/live";
import { look } from "../page/style";
import { cardLook, matchCard } from "./match-card";
import { showMatch, showQuery, type Overlay } from "./match-overlay";
import "../page/progress-line";
import "./search-form";
import { addressOf, searchBody, filtersOnly, settingsOf, DEFAULTS, type Settings } from "./search-settings";
import { asSelection, asText } from "../page/studio";
import { counted, fetchFigures, thinned, type Figure } from "../motion/aligned";
import { clipText, verdicts, type Verdict } from "./verdicts";
import { View } from "../page/view";

type Found = Heads["search"] & { frames: Int32Array; length: number };

const SAMPLES = 40; // poses of a card
const CHUNK = 24; // figures per request: the first rows are there soon
const PATIENCE = 1500; // milliseconds
const HELD = 600; // figures kept

@customElement("loom-search-view")
export class SearchView extends View {
  @state() private menu: SearchMenu | null = null;
  @state() private settings: Settings = { ...DEFAULTS };
  @state() private found: Found | null = null;
  @state() private lines: CodeLines = { cli: "", python: "" };
  @state() private job: Job | null = null;
  @state() private lacking: MissingWebs | null = null;
  @state() private busy = false;
  @state() private current = -1;
  @state() private overlay: Overlay = { timing: "query", beside: false };
  @state() private hidesRejected = false;
  private figures = new Map<string, Figure>();
  private ghost: Figure | null = null;
  private ready = new Set<string>();
  private figuring?: AbortController;
  private shown = 0;
  private asking: { began: number; give: AbortController } | null = null;
  private readonly searching = new Latest<Settings>((settings) => this.search(settings));
  private readonly describing = new Latest<Settings>(
    async (settings) => (this.lines = await send("post", "search/lines", { body: searchBody(this.menu!, settings) })),
  );

  static styles = [
    look,
    cardLook,
    css`
    :host { display: grid; gap: 10px; align-content: start; grid-template-columns: minmax(0, 1fr); }
    .query { display: flex; gap: 8px; align-items: center; flex-wrap: wrap; }
    .query input { flex: 1; font: 13px ui-monospace, monospace; min-width: 200px; }
    .state { display: flex; gap: 10px; align-items: center; justify-content: space-between; flex-wrap: wrap; min-height: 30px;
      position: sticky; top: -12px; background: var(--panel); padding: 6px 0; z-index: 1; }
    .state b { font-variant-numeric: tabular-nums; }
    .empty { padding: 26px 10px; text-align: center; color: var(--faint); line-height: 1.7; }
    .offer { border: 1px solid var(--accent); border-radius: 7px; padding: 10px; }
    kbd { font: 11px ui-monospace, monospace; border: 1px solid var(--line); border-radius: 3px; padding: 0 4px; background: var(--raised); }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    verdicts.of(this.studio.library.path);
    void this.learn();
    this.follow("library", () => {
      verdicts.of(this.studio.library.path);
      this.ready.clear();
      void this.learn();
    });
    this.follow("change", () => this.requestUpdate(), verdicts);
    this.follow("selection", () => this.selected());
    this.follow("found", () => this.ask());
    this.follow("keydown", (event) => this.key(event as KeyboardEvent), window, { capture: true });
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.figuring?.abort();
  }

  /** What can be asked for; labels come and go. */
  private async learn(): Promise<void> {
    try {
      this.menu = await getJson("search/menu");
    } catch (error) {
      this.studio.say(error);
    }
  }

  protected routed(query: Record<string, string>): void {
    const settings = settingsOf(this.studio, query);
    const again = JSON.stringify(settings) !== JSON.stringify(this.settings) || !this.found;
    this.settings = settings;
    if (again) this.ask();
  }

  /** The timeline's selection is the query. */
  private selected(): void {
    const { selection } = this.studio;
    if (selection && selection.end - selection.start > 1 && asText(selection) !== this.settings.query)
      this.change({ query: asText(selection) });
  }

  private change(changes: Partial<Settings>): void {
    const before = this.settings;
    this.settings = { ...before, ...changes };
    this.studio.note(addressOf(this.settings));
    const only = Object.keys(changes);
    if (
      only.length === 1 &&
      only[0] === "max_distance" &&
      this.found &&
      this.menu &&
      filtersOnly(this.menu, this.settings)
    )
      this.describing.ask(this.settings); // all that can be found is here: the slider only leaves out
    else this.ask();
  }

  private ask(): void {
    if (!this.settings.query) return;
    // One in flight, the latest wins; what takes long is not waited for once something else is wanted.
    if (this.asking && performance.now() - this.asking.began > PATIENCE) this.asking.give.abort();
    this.searching.ask(this.settings);
  }

  private async search(settings: Settings): Promise<void> {
    this.busy = true;
    const give = new AbortController();
    try {
      this.menu ??= await getJson("search/menu");
      const body = searchBody(this.menu, settings);
      if (!(await this.prepared(settings, body))) return;
      const wide = filtersOnly(this.menu, settings);
      this.asking = { began: performance.now(), give };
      const asked = wide ? { ...body, max_distance: undefined } : body;
      const { meta, arrays, shapes } = await sendForArrays("search", { body: asked, signal: give.signal });
      this.found = { ...meta, frames: arrays.frames as Int32Array, length: shapes.frames[1] };
      this.lines = this.found.lines;
      if (wide && settings.max_distance !== null) this.describing.ask(settings);
      this.current = Math.min(this.current, this.rows.length - 1);
      void this.figure();
      if (!this.studio.stage.characters.length) void showQuery(this.studio, this.found.query);
    } catch (error) {
      if (!give.signal.aborted) this.studio.say(error);
    } finally {
      this.busy = false;
      this.asking = null;
    }
  }

  /** Is all there that the method reads? What takes long is made first, and shown. */
  private async prepared(settings: Settings, body: Body<"search">): Promise<boolean> {
    const key = JSON.stringify([settings.method, settings.features, settings.distance, settings.within, settings.only]);
    if (this.ready.has(key)) return true;
    const told = await send("post", "search/prepare", { body });
    this.lacking = told.lacking;
    if (told.lacking) {
      this.figuring?.abort();
      this.found = null;
      return false;
    }
    if (told.job) await this.watch(told.job);
    this.ready.add(key);
    return true;
  }

  private async watch(job: Job): Promise<void> {
    try {
      await finished(job, (now) => (this.job = now));
    } finally {
      this.job = null;
    }
  }

  private async build(): Promise<void> {
    try {
      await this.watch(await send("post", "search/web", { body: searchBody(this.menu!, this.settings) }));
      this.lacking = null;
    } catch (error) {
      this.studio.say(error);
    }
    this.ask();
  }

  /** What is shown of what was found: within the threshold, and not rejected if that is wished. */
  private get rows(): { row: Match; number: number }[] {
    const limit = this.settings.max_distance ?? Infinity;
    return (this.found?.matches ?? [])
      .map((row, number) => ({ row, number }))
      .filter(({ row }) => row.distance <= limit && !(this.hidesRejected && verdicts.verdict(row) === "rejected"));
  }

  private framesOf(number: number): Int32Array {
    const { frames, length } = this.found!;
    return frames.subarray(number * length, (number + 1) * length);
  }

  private keyOf(row: Match, number: number): string {
    const frames = this.framesOf(number);
    return `${this.settings.query}|${clipText(row)}|${frames[frames.length >> 1]}`;
  }

  /** Ask for the figures that are not there yet, the first cards first. */
  private async figure(): Promise<void> {
    this.figuring?.abort();
    const { signal } = (this.figuring = new AbortController());
    const { query, matches } = this.found!;
    const onto = { motion: query.motion, frame: query.start_frame };
    const missing = matches
      .map((row, number) => ({ row, number, key: this.keyOf(row, number) }))
      .filter(({ key }) => !this.figures.has(key));
    const asked = { motion: query.motion, frames: thinned(counted(query.start_frame, query.end_frame), SAMPLES) };
    try {
      [this.ghost] = await fetchFigures(onto, [asked], signal);
      for (let at = 0; at < missing.length; at += CHUNK) {
        const some = missing.slice(at, at + CHUNK);
        const clips = some.map(({ row, number }) => ({
          motion: row.motion,
          frames: thinned(this.framesOf(number), SAMPLES),
        }));
        const figures = await fetchFigures(onto, clips, signal);
        if (signal.aborted) return;
        some.forEach(({ key }, k) => this.figures.set(key, figures[k]));
        this.requestUpdate();
      }
      for (const key of this.figures.keys()) {
        if (this.figures.size <= HELD) break;
        this.figures.delete(key);
      }
      this.requestUpdate();
    } catch (error) {
      if (!signal.aborted) this.studio.say(error);
    }
  }

  private async show(place: number): Promise<void> {
    const chosen = this.rows[place];
    if (!chosen) return;
    this.current = place;
    const asked = ++this.shown;
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector<HTMLElement>(`.card[aria-selected="true"]`)?.scrollIntoView({ block: "nearest" }),
    );
    try {
      const frames = this.framesOf(chosen.number);
      await showMatch(this.studio, this.found!.query, chosen.row, frames, this.overlay, () => asked === this.shown);
    } catch (error) {
      this.studio.say(error);
    }
  }

  private judge(place: number, verdict: Verdict): void {
    const chosen = this.rows[place];
    if (chosen) verdicts.judge(chosen.row, verdict);
  }

  /** A and R judge the chosen card, arrows go from card to card. */
  private key(event: KeyboardEvent): void {
    const target = event.composedPath()[0] as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName))
      return;
    const inCards = target.closest?.(".cards");
    const columns = this.columns();
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    if (inCards && event.key in steps) {
      const next = Math.min(Math.max(this.current + steps[event.key], 0), this.rows.length - 1);
      void this.show(next).then(() => this.focusCard());
    } else if (inCards && event.key === "Enter") void this.show(Math.max(this.current, 0));
    else if (event.key.toLowerCase() === "a" && this.current >= 0) this.verdictKey("accepted");
    else if (event.key.toLowerCase() === "r" && this.current >= 0) this.verdictKey("rejected");
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Judge, and go on to the next: a hundred cards are a hundred keys. */
  private verdictKey(verdict: "accepted" | "rejected"): void {
    const row = this.rows[this.current]?.row;
    if (!row) return;
    const taken = verdicts.verdict(row) === verdict;
    this.judge(this.current, taken ? null : verdict);
    if (!taken) void this.show(Math.min(this.current + 1, this.rows.length - 1)).then(() => this.focusCard());
  }

  private columns(): number {
    const grid = this.renderRoot.querySelector(".cards");
    return grid ? getComputedStyle(grid).gridTemplateColumns.split(" ").length : 1;
  }

  private async focusCard(): Promise<void> {
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>(`.card[aria-selected="true"]`)?.focus({ preventScroll: true });
  }

  private head() {
    const { query } = this.settings;
    const known = asSelection(query);
    const family = { ...addressOf(this.settings), max_distance: undefined, rank: undefined, exclude_query: undefined };
    return html`<div class="query"><label for="query" class="faint">like</label>
      <input id="query" placeholder="NAME:START-END, or select on the timeline" .value=${query}
        @change=${(event: Event) => this.change({ query: (event.target as HTMLInputElement).value.trim() })} />
      <button ?disabled=${!this.found} title="Show the query on its timeline, to change it"
        @click=${() => showQuery(this.studio, this.found!.query)}>on the timeline</button>
      <button ?disabled=${!known} title="What is like it, and what is like that" @click=${() => this.studio.go("family", family)}>family</button>
      <button ?disabled=${!known} title="Distances to any take, frame by frame"
        @click=${() => this.studio.go("grid", { a: query, b: this.rows[this.current]?.row.motion ?? known?.motion })}>grid</button></div>`;
  }

  private stateLine(count: number) {
    const { found } = this;
    const flip = (changes: Partial<Overlay>) => {
      this.overlay = { ...this.overlay, ...changes };
      if (this.current >= 0) void this.show(this.current);
    };
    return html`<div class="state"><span role="status">${
      found
        ? html`<b id="count">${count}</b> ${count === 1 ? "match" : "matches"}
        <span class="faint">in ${(found.seconds * 1000).toFixed(0)} ms${this.busy ? " …" : ""}</span>`
        : this.busy
          ? "searching…"
          : ""
    }</span>
      ${found ? html`<loom-basket .studio=${this.studio} .search=${searchBody(this.menu!, this.settings)} .unit=${found.unit}></loom-basket>` : ""}
      <span class="row"><button aria-pressed=${this.overlay.timing === "own"} title="Play matches at their own speed instead of in the query's time"
          @click=${() => flip({ timing: this.overlay.timing === "own" ? "query" : "own" })}>own speed</button>
        <button aria-pressed=${this.overlay.beside} @click=${() => flip({ beside: !this.overlay.beside })}>beside</button>
        ${
          verdicts.rejected.length
            ? html`<button aria-pressed=${this.hidesRejected}
          @click=${() => (this.hidesRejected = !this.hidesRejected)}>hide rejected</button>`
            : ""
        }</span></div>`;
  }

  render() {
    const { found, settings, lacking } = this;
    const rows = this.rows;
    const frames = this.studio.library.motions.reduce((sum, one) => sum + one.frames, 0);
    const seconds = found ? (found.query.end_frame - found.query.start_frame) / found.query.fps : 1;
    const tiers = rows.some(({ row }) => row.tier > 1);
    return html`${this.head()}
      <loom-search-form .menu=${this.menu} .settings=${settings} .frames=${frames}
        .distances=${found?.matches.map((one) => one.distance) ?? []}
        @settings=${(event: CustomEvent<Partial<Settings>>) => this.change(event.detail)}></loom-search-form>
      ${this.job ? html`<loom-progress .job=${this.job}></loom-progress>` : ""}
      ${
        lacking && !this.job
          ? html`<div class="offer">${lacking.words}. Built once, they answer like a slider.
        ${lacking.pairs > 20_000 ? "For a first try choose some labels under “finer settings”." : ""}
        <p><button id="build" class="main" @click=${this.build}>Build ${lacking.pairs.toLocaleString("en")} webs</button></p></div>`
          : ""
      }
      ${this.stateLine(rows.length)}
      ${!settings.query ? html`<div class="empty">Select a range on the timeline below a take,<br>or type one: <code>walk_p0:10-60</code></div>` : ""}
      <div class="cards" role="listbox" aria-label="Matches">${repeat(
        rows,
        ({ row, number }) => this.keyOf(row, number),
        ({ row, number }, place) =>
          matchCard(row, number, {
            figure: this.figures.get(this.keyOf(row, number)) ?? null,
            ghost: this.ghost,
            seconds,
            unit: found!.unit,
            tiers,
            chosen: place === this.current,
            verdict: verdicts.verdict(row),
            show: () => void this.show(place).then(() => this.focusCard()),
            judge: (verdict) => this.judge(place, verdict),
          }),
      )}</div>
      ${found && !rows.length ? html`<div class="empty">Nothing within this distance. Move the threshold to the right.</div>` : ""}
      ${
        found
          ? html`<div class="faint"><kbd>A</kbd> accept, <kbd>R</kbd> reject, arrows to go on</div>
        <loom-code .cli=${this.lines.cli} .python=${this.lines.python}></loom-code>`
          : ""
      }`;
  }
}
