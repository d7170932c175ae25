// Library view: one search box; takes, segments and groups of similar takes as the same cards, to show, label and use.

import { LitElement, css, html, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { finished, send, type Job } from "../net/api";
import { TurnEnded } from "../net/turns";
import type { Cluster } from "../net/types";
import { counted, durationText } from "../page/counts";
import { inputValue } from "../page/form-input";
import "../page/progress-line";
import { segmentText, type Row, type Studio } from "../page/studio";
import { sharedStyles } from "../page/style";
import { color } from "../page/theme";
import { View } from "../page/view";
import { markedText } from "../search/marked-text";
import { byName, countText, placesOf, segmentCard, takeCard, type Card, type Section } from "./card";
import "./cards";
import type { Cards, Pick, Verb } from "./cards";
import { UNNAMED, byNames, differences, merged, namedLike, renamed, split } from "./groups";
import "./search-box";
import "./selection-bar";
import { labelTakes, likePart, type Form, type SelectionBar } from "./selection-bar";
import { ThumbnailStore } from "./thumbnails";
import { WordSearch, type FoundSegment } from "./word-search";

const SORTS = {
  name: { title: "by name", order: (a: Row, b: Row) => byName(a.name, b.name) },
  long: { title: "longest first", order: (a: Row, b: Row) => b.seconds - a.seconds },
  short: { title: "shortest first", order: (a: Row, b: Row) => a.seconds - b.seconds },
  label: {
    title: "by label",
    order: (a: Row, b: Row) => byName(a.labels[0] ?? "\uffff", b.labels[0] ?? "\uffff") || byName(a.name, b.name),
  },
};
type Sort = keyof typeof SORTS;

/** Sizes of groups: the largest distance within one, as a fraction of the median distance; null: the server's. */
const SIZES = { finer: 0.5, usual: null, coarser: 1.0 };
type Size = keyof typeof SIZES;

interface LibraryState {
  take: string;
  over: string[];
  find: string;
  label: string;
  sort: Sort;
  segment: string;
  /** Takes, or groups of similar takes; empty: groups, once they are known, if labels do not distinguish takes. */
  show: "takes" | "groups" | "";
  /** Most typical take of the group whose takes are listed. */
  group: string;
  size: Size;
}

const FEW = 6; // number of takes up to which groups are not needed
const SPLIT = 0.5; // fineness within a group that is split

/** Groups of a library, with the changes that the user has made to them; they outlive the view. */
const kept = new Map<string, Cluster[]>();
let keptNames = ""; // key of the groups that have names

@customElement("loom-library-view")
export class LibraryView extends View {
  @state() private state: LibraryState = parseState({});
  private readonly store = new ThumbnailStore();
  private readonly words = new WordSearch(() => this.requestUpdate());
  @state() private sampling = false;
  @state() private groupsKey = ""; // of the groups that are shown
  @state() private job: Job | null = null;
  @state() private failed = "";
  @state() private named = true;
  private opened = "";
  private greeted = false; // a first take was shown
  private touched = false; // the list was used, so it is not replaced by groups

  @query("loom-cards") private cards!: Cards | null;
  @query("loom-selection-bar") private bar!: SelectionBar | null;

  static styles = [
    sharedStyles,
    css`
    :host { display: flex; flex-direction: column; height: 100%; gap: 8px; min-height: 0; }
    select { max-width: 150px; }
    .facts { display: flex; justify-content: space-between; align-items: center; font-size: 12px; gap: 4px 8px; flex-wrap: wrap; }
    .facts :is(select, button) { font-size: 12px; padding: 2px 7px; }
    .facts .row { gap: 4px; }
    loom-cards { flex: 1; min-height: 160px; } loom-progress { font-size: 12px; }
    .crumb { display: flex; gap: 8px; align-items: center; font-size: 12px; }
    .crumb b { overflow-wrap: anywhere; } .crumb button { font-size: 12px; padding: 2px 7px; }
    .open { border-top: 1px solid var(--line); padding-top: 6px; display: flex; flex-wrap: wrap; gap: 4px 10px; align-items: center; font-size: 12px; }
    .open b { overflow-wrap: anywhere; }
    .said { font-size: 12px; }
    @media (max-width: 860px) { :host { height: auto; } loom-cards { flex: none; height: max(420px, 76dvh); } }
    .tour { text-align: left; margin: 14px 0 0; padding-left: 20px; display: grid; gap: 4px; }
    .hint { display: grid; place-content: center; justify-items: center; text-align: center; flex: 1; padding: 20px; gap: 8px; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["selection"], () => this.storeSegment());
    this.watch(["frames"], () => this.store.clear());
    this.watch(["library"], () => {
      this.words.forget();
      this.follow();
    });
    this.watch(["picked"]);
    this.listen(this.studio.stage, "characters", () => this.requestUpdate());
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.words.end();
    this.groupsKey = "";
  }

  protected routeChanged(query: Record<string, string>): void {
    this.state = parseState(query);
    if (query.samples) {
      // a library that was made for them
      this.studio.replaceQuery(queryOf(this.state));
      if (!this.studio.library.motions.length && !this.sampling) void this.addSamples();
    }
    this.follow();
    void this.show();
  }

  /** Search for the words, and group takes, as the state demands. */
  private follow(now = false): void {
    const { find, label } = this.state;
    this.words.ask(find, label, now);
    if (this.state.show === "groups" || this.state.group || this.undescribed) void this.group();
    if (!this.greeted) void this.greet();
  }

  /** Play the first take, so that something moves before anything was chosen. */
  private async greet(): Promise<void> {
    const { studio } = this;
    const [first] = [...studio.library.motions].sort(SORTS.name.order);
    if (!first) return;
    this.greeted = true;
    if (!this.state.take && studio.take === null && !studio.stage.characters.length) await studio.open(first.name);
  }

  private async show(): Promise<void> {
    const { take, over, segment } = this.state;
    const wanted = [take, ...over].join("\n");
    if (take && (wanted !== this.opened || this.studio.take !== take)) {
      this.opened = wanted;
      await this.studio.open(take, over);
    }
    const frames = /^(\d+)-(\d+)$/.exec(segment);
    if (take && frames && this.studio.take === take) {
      const { selection, lead, stage } = this.studio;
      const [start, end] = [Number(frames[1]), Number(frames[2])];
      if (selection?.motion !== take || selection.start !== start || selection.end !== end) {
        this.studio.select({ motion: take, start, end });
        if (lead) stage.clock.seek(lead.timeOf(start));
      }
    }
    await this.updateComplete;
    if (take) this.cards?.reveal(`${take}:${segment}`, take);
  }

  /** Store the selected segment in the address, so that a link restores it. */
  private storeSegment(): void {
    const { selection } = this.studio;
    const segment = selection && selection.motion === this.state.take ? `${selection.start}-${selection.end}` : "";
    if (segment === this.state.segment || this.studio.route.view !== this.viewPath) return;
    this.state = { ...this.state, segment };
    this.studio.replaceQuery(queryOf(this.state));
  }

  private change(changes: Partial<LibraryState>, replace = false): void {
    const state = { ...this.state, ...changes };
    this.touched = true;
    this.state = state; // at once: another change may come before the address is read again
    if (replace) {
      this.studio.replaceQuery(queryOf(state));
      this.follow();
    } else this.studio.go(this.viewPath, queryOf(state));
  }

  private readonly pick = (event: CustomEvent<Pick>): void => {
    const { card, overlay } = event.detail;
    const { take, over: others } = this.state;
    if (card.takes) {
      this.studio.pick(card.takes, this.cluster(card.place)?.name ?? "");
      this.change({ show: "takes", group: card.place, take: card.place, over: [], segment: "", find: "", label: "" });
      return;
    }
    const name = card.segment?.motion ?? card.place;
    const segment = card.segment ? `${card.segment.start}-${card.segment.end}` : "";
    if (!overlay || !take || take === name) this.change({ take: name, over: [], segment });
    else this.change({ over: others.includes(name) ? others.filter((one) => one !== name) : [...others, name] });
  };

  // --- takes and segments ---

  private rows(): Row[] {
    const { find, label, sort, group } = this.state;
    const words = find.toLowerCase().split(/\s+/).filter(Boolean);
    const members = group ? this.cluster(group)?.motions : undefined;
    const rows = this.studio.library.motions.filter(
      (row) =>
        (!label || row.labels.includes(label)) &&
        words.every(
          (word) => row.name.toLowerCase().includes(word) || row.labels.some((one) => one.toLowerCase().includes(word)),
        ),
    );
    if (members) {
      const place = new Map(members.map((name, index) => [name, index]));
      return rows.filter((row) => place.has(row.name)).sort((a, b) => place.get(a.name)! - place.get(b.name)!);
    }
    return rows.sort(SORTS[sort].order);
  }

  /** Segments that answer the words; whole takes are among the takes already if their names or labels match. */
  private segments(rows: readonly Row[]): Card[] {
    const { found, text } = this.words.state;
    if (!found || text !== this.state.find) return [];
    const listed = new Set(rows.map((row) => row.name));
    const known = new Map(this.studio.library.motions.map((row) => [row.name, row]));
    // Whole takes match by some of the words, or resemble other takes: listed only if there is nothing better.
    const exact = found.matches.filter((one) => !one.whole);
    const matches = exact.length || rows.length ? exact : found.matches;
    return matches.flatMap((one: FoundSegment) => {
      const row = known.get(one.motion);
      if (!row || (one.whole && listed.has(one.motion))) return [];
      const words = markedText(one.text, one.spans) || one.labels.join(", ");
      if (one.whole) return [{ ...takeCard(row), chip: undefined, text: words || undefined }];
      const segment = { motion: one.motion, start: one.start_frame, end: one.end_frame };
      return [segmentCard(segment, one.fps, words)];
    });
  }

  // --- groups of similar takes ---

  /** True if labels do not distinguish takes: there are none, or all takes have the same. */
  private get undescribed(): boolean {
    const { library, labels } = this.studio;
    const count = library.motions.length;
    return count >= FEW && ![...labels.values()].some((takes) => takes < count);
  }

  private get clusters(): Cluster[] | null {
    return kept.get(this.groupsKey) ?? null;
  }

  private cluster(head: string): Cluster | undefined {
    return this.clusters?.find((one) => one.motions[0] === head);
  }

  private get clustered(): boolean {
    const { show, take, find, label, group } = this.state;
    if (group || find || label) return false;
    if (show) return show === "groups" && this.clusters !== null; // takes are shown until then
    return !take && !this.touched && this.undescribed && this.clusters !== null;
  }

  /** Group all takes, unless that was already done; the server does it once for the same takes. */
  private async group(): Promise<void> {
    const { library } = this.studio;
    const { size } = this.state;
    const names = library.motions.map((row) => row.name);
    const key = JSON.stringify([library.id, size, names]);
    if (names.length < 2 || key === this.groupsKey) return;
    this.groupsKey = key;
    this.failed = "";
    this.turns.end("group", "left"); // others may wait for the same groups
    this.named = keptNames === key && kept.has(key);
    if (this.named) return;
    const turn = this.turns.begin("group");
    try {
      const fineness = SIZES[size];
      // Names take most of the time, the first time, so the groups are shown before.
      let shown = kept.get(key);
      for (const names of shown ? [true] : [false, true]) {
        const body = { settings: { ...(fineness !== null && { fineness }), ...(!names && { names }) } };
        const job = await send("post", "clusters", { body, signal: turn.signal });
        const clusters = (await finished(job, (now) => (this.job = now), turn.signal)) as Cluster[];
        const edited = kept.get(key);
        kept.clear(); // other sizes are computed quickly again
        kept.set(key, edited && edited !== shown ? namedLike(edited, clusters) : clusters);
        shown = kept.get(key);
        this.named = names;
        if (names) keptNames = key;
        this.requestUpdate();
      }
    } catch (error) {
      if (error instanceof TurnEnded || !turn.current) return;
      this.groupsKey = "";
      this.failed = (error as Error).message;
    }
  }

  private edit(clusters: Cluster[]): void {
    kept.set(this.groupsKey, clusters);
    this.requestUpdate();
  }

  private async split(card: Card): Promise<void> {
    await this.studio.attempt(async () => {
      const only = [...card.takes!];
      const job = await send("post", "clusters", { body: { settings: { only, fineness: SPLIT } } });
      const parts = (await finished(job, (now) => (this.job = now))) as Cluster[];
      if (parts.length < 2) this.studio.notify("These takes are too similar to be split");
      else if (this.clusters) this.edit(split(this.clusters, card.place, parts));
    });
  }

  /** Heads of the groups all of whose takes are selected. */
  private get pickedGroups(): ReadonlySet<string> {
    const { picked } = this.studio;
    const all = this.clusters?.filter((one) => one.motions.every((name) => picked.has(name))) ?? [];
    return new Set(all.map((one) => one.motions[0]));
  }

  private readonly merge = (): void => {
    if (this.clusters) this.edit(merged(this.clusters, this.pickedGroups));
  };

  private groupSections(): Section[] {
    return byNames(this.clusters ?? []).map(({ name, groups, takes }) => ({
      key: name,
      head: () => this.groupHead(name, groups, takes),
      cards: groups.map((cluster): Card => {
        const said = differences(cluster, groups);
        return {
          place: cluster.motions[0],
          title: said.join(", ") || name || cluster.motions[0],
          facts: `${counted(cluster.motions.length, "take")}, ${durationText(cluster.seconds)}`,
          chip: cluster.rhythmic ? "rhythm" : undefined,
          takes: cluster.motions,
          group: name || UNNAMED,
        };
      }),
    }));
  }

  private groupHead(name: string, groups: readonly Cluster[], takes: number) {
    const names = groups.flatMap((one) => one.motions);
    const labels = new Map(this.studio.library.motions.map((row) => [row.name, row.labels]));
    const labeled = name && names.every((one) => labels.get(one)?.includes(name));
    const count = counted(takes, "take");
    return html`<input aria-label="Name of ${count}" placeholder=${UNNAMED} .value=${name}
        @change=${(event: Event) => this.edit(renamed(this.clusters!, name, inputValue(event).trim()))} />
      <span class="faint">${count}</span>
      ${
        labeled
          ? html`<span class="faint">labeled</span>`
          : name
            ? html`<button class="label" aria-label="Label all: ${name}, ${count}" @click=${() => void this.studio.attempt(() => labelTakes(this.studio, names, name))}>Label all</button>`
            : nothing
      }
      <button class="select" aria-label="Select ${count}: ${name || UNNAMED}" @click=${() => this.studio.pick(names, name)}>Select</button>`;
  }

  // --- verbs of a card ---

  private readonly verbs = (card: Card): readonly Verb[] => {
    const part = () => this.partOf(card);
    const form = (open: Form) => () => this.openForm(card, open);
    if (card.takes)
      return [
        { id: "label", sign: "label", title: "Label these takes", act: form("label") },
        { id: "split", sign: "split", title: "Split into smaller groups", act: () => void this.split(card) },
        { id: "export", sign: "⤓", title: "Export these takes", act: form("export") },
      ];
    return [
      { id: "like", sign: "≈", title: "Search for segments like this one", act: () => likePart(this.studio, part()) },
      { id: "label", sign: "label", title: "Label", act: form("label") },
      ...(card.segment ? [{ id: "keep", sign: "+", title: "Keep as a take", act: form("keep") }] : []),
      { id: "export", sign: "⤓", title: "Export", act: form("export") },
    ];
  };

  private partOf(card: Card) {
    const row = this.studio.library.motions.find((one) => one.name === card.place);
    return card.segment ?? { motion: card.place, start: 0, end: row?.frames ?? 1 };
  }

  private async openForm(card: Card, form: Form): Promise<void> {
    const name = card.takes ? (this.cluster(card.place)?.name ?? "") : "";
    this.studio.pick(card.takes ?? [card.place], name);
    await this.updateComplete;
    await this.bar?.updateComplete;
    this.bar?.open(form);
  }

  /** Add a few generated takes, to try the studio. */
  private async addSamples(): Promise<void> {
    this.sampling = true;
    await this.studio.attempt(async () => {
      const { added } = await finished(await send("post", "library/samples"), () => undefined);
      await this.studio.refresh();
      this.studio.did(`Added ${counted(added, "sample")}`);
    });
    this.sampling = false;
  }

  private colors(): Map<string, string> {
    if (this.studio.take === null) return new Map();
    const { characters } = this.studio.stage;
    if (characters.length === 1) return new Map([[characters[0].motion.name, color("accent")]]); // neutral on the stage
    return new Map(characters.map((one) => [one.motion.name, `#${one.color.getHexString()}`]));
  }

  // --- rendering ---

  private box() {
    return html`<loom-search-box .studio=${this.studio} .text=${this.state.find}
      @typed=${(event: CustomEvent<string>) => this.change({ find: event.detail, group: "" }, true)}
      @submit=${(event: CustomEvent<string>) => {
        this.change({ find: event.detail, group: "" }, true);
        this.follow(true);
      }}></loom-search-box>`;
  }

  private facts(count: string, cards: readonly Card[]) {
    const { labels, library, picked } = this.studio;
    const { clustered } = this;
    const takes = cards.filter((card) => !card.segment).flatMap(placesOf);
    const segments = cards.filter((card) => card.segment).flatMap(placesOf);
    const name = this.state.find || this.cluster(this.state.group)?.name || this.state.label;
    const select = (id: string, title: string, places: string[]) =>
      places.length
        ? html`<button id=${id} ?disabled=${places.every((one) => picked.has(one))} @click=${() => this.studio.pick(places, name)}>${title}</button>`
        : nothing;
    const menu = <Value extends string>(
      label: string,
      entries: [Value, string][],
      value: Value,
      set: (one: Value) => void,
    ) =>
      html`<select aria-label=${label} id=${label.toLowerCase()} @change=${(event: Event) => set(inputValue(event) as Value)}>
        ${entries.map(([one, words]) => html`<option value=${one} ?selected=${one === value}>${words}</option>`)}</select>`;
    const choice = (show: "takes" | "groups", words: string) =>
      html`<button id=${show} aria-pressed=${(show === "groups") === (clustered || this.state.show === "groups")}
        @click=${() => this.change({ show, find: "", label: "", group: "", take: show === "groups" ? "" : this.state.take })}>${words}</button>`;
    return html`<div class="facts"><span class="row">
        ${library.motions.length > 1 ? html`<span class="row" role="group" aria-label="Show">${choice("takes", "Takes")}${choice("groups", "Groups")}</span>` : nothing}
        <span class="faint" id="count" role="status">${count}</span>
        ${select("select-all", segments.length ? "Select takes" : "Select all", takes)}${select("select-segments", "Select segments", segments)}</span>
      <span class="row">${
        labels.size && !clustered
          ? menu(
              "Label",
              [["", "all labels"], ...[...labels].map(([one, takes]): [string, string] => [one, `${one} (${takes})`])],
              this.state.label,
              (label) => this.change({ label }, true),
            )
          : nothing
      }${
        clustered
          ? menu(
              "Size",
              Object.keys(SIZES).map((one): [Size, string] => [one as Size, `${one} groups`]),
              this.state.size,
              (size) => this.change({ size }, true),
            )
          : menu(
              "Order",
              Object.entries(SORTS).map(([one, { title }]): [Sort, string] => [one as Sort, title]),
              this.state.sort,
              (sort) => this.change({ sort }, true),
            )
      }<button id="import" title="Import files, or drop them anywhere on the page" @click=${() => this.studio.openImportDialog(false)}>Import…</button>
      <button title="Import a folder with its subfolders; folder names become labels" @click=${() => this.studio.openImportDialog(true)}>Folder…</button></span></div>`;
  }

  /** What the words mean, and why nothing was found. */
  private answer(cards: readonly Card[]) {
    const { find } = this.state;
    const { found, failed, job, busy } = this.words.state;
    if (!find) return nothing;
    const unknown = Object.entries(found?.unknown ?? {}).map(
      ([word, near]) =>
        html`<div class="faint said unknown">No motion is described by “${word}”${near ? html`; “${near}” was used instead` : nothing}.</div>`,
    );
    return html`${job ? html`<loom-progress .job=${job}></loom-progress>${cards.length ? nothing : html`<div class="hint faint">Takes are described once. Segments appear when this is done.</div>`}` : nothing}${cards.length ? unknown : nothing}
      ${
        cards.length || (busy && !failed)
          ? nothing
          : html`<div class="hint faint empty" role="status">${failed ? html`<p>${failed}</p>` : unknown}<p>No take or segment matches “${find}”.</p>
        <p>The search uses names, labels and captions, which describe walking, turning, kicking, jumping,<br>sitting, waving and similar actions. To search by example, select a segment on the timeline.</p></div>`
      }`;
  }

  private open(labels: ReadonlyMap<string, number>) {
    const { library, take } = this.studio;
    const row = library.motions.find((one) => one.name === take);
    if (!row) return nothing;
    return html`<div class="open"><b>${row.name}</b> <span class="faint">${row.frames} frames, ${row.fps} fps, ${row.seconds.toFixed(2)} s</span>
      <loom-take-labels .studio=${this.studio} .row=${row} .known=${[...labels.keys()]}></loom-take-labels></div>`;
  }

  private crumb() {
    const { group } = this.state;
    const cluster = group ? this.cluster(group) : undefined;
    if (!cluster) return nothing;
    return html`<div class="crumb"><button id="all-groups" @click=${() => this.change({ show: "groups", group: "", take: "" })}>← All groups</button>
      <b>${cluster.name || UNNAMED}</b>${
        cluster.name
          ? html`<button class="label" @click=${() => void this.studio.attempt(() => labelTakes(this.studio, [...cluster.motions], cluster.name))}>Label all</button>`
          : nothing
      }</div>`;
  }

  private empty() {
    return html`<div class="hint faint"><p>This library is empty.</p>
      <p>Drop motion files (BVH, FBX, glTF, Acclaim AMC with ASF, AMASS, video) or a folder anywhere on this page.</p>
      <div class="row"><button class="main" @click=${() => this.studio.openImportDialog(false)}>Import files…</button>
        <button @click=${() => this.studio.openImportDialog(true)}>Import a folder…</button>
        <button id="samples" ?disabled=${this.sampling} @click=${() => void this.addSamples()}>${this.sampling ? "adding samples…" : "Add samples"}</button></div>
      <ol class="tour"><li>Import takes; they do not need labels.</li><li>Open a group of similar takes, and label all of them at once.</li>
        <li>Walk, dance or parametrize the selected takes; save or download the result on the stage.</li><li>Press <kbd>?</kbd> for keyboard shortcuts, <kbd>Ctrl+Z</kbd> to undo any change.</li></ol></div>`;
  }

  render() {
    const { studio, clustered } = this;
    const { library, labels, picked, selection } = studio;
    if (library.name && !library.motions.length) return this.empty();
    const rows = clustered ? [] : this.rows();
    const segments = clustered ? [] : this.segments(rows);
    const sections = clustered ? this.groupSections() : [{ key: "takes", cards: [...rows.map(takeCard), ...segments] }];
    const cards = sections.flatMap((section) => section.cards);
    const seconds = rows.reduce((sum, row) => sum + row.seconds, 0);
    const wholes = segments.filter((card) => !card.segment).length;
    const searching = this.state.find && this.words.state.busy;
    const count = clustered
      ? this.clusters
        ? `${counted(this.clusters.length, "group")} of similar takes${this.named ? "" : "; their names follow"}`
        : ""
      : segments.length
        ? countText(rows.length + wholes, segments.length - wholes)
        : `${counted(rows.length, "take")}, ${durationText(seconds)}`;
    const waiting = (this.state.show === "groups" || this.undescribed) && (!this.clusters || !this.named);
    return html`${this.box()}${this.facts(searching && !cards.length ? "searching…" : count, cards)}
      ${waiting && this.job ? html`<loom-progress .job=${this.job}></loom-progress>` : nothing}
      ${this.failed && this.state.show === "groups" ? html`<div class="hint faint" role="status"><p>${this.failed}</p><button @click=${() => void this.group()}>Try again</button></div>` : nothing}
      ${this.crumb()}${this.answer(cards)}
      ${
        cards.length
          ? html`<loom-cards .sections=${sections} .marked=${picked} ?marking=${picked.size > 0} .colors=${this.colors()} .store=${this.store} .verbs=${this.verbs}
          .current=${selection ? segmentText(selection) : ""} name=${clustered ? "Groups of similar takes" : "Takes"}
          @scroll=${() => (this.touched = true)} @mark=${(event: CustomEvent<string[]>) => studio.pick(event.detail, studio.state.picked.name)} @pick=${this.pick}></loom-cards>`
          : nothing
      }
      ${picked.size ? html`<loom-selection-bar .studio=${studio} .merge=${clustered && this.pickedGroups.size > 1 ? this.merge : null}></loom-selection-bar>` : nothing}
      ${clustered ? nothing : this.open(labels)}`;
  }
}

function parseState(query: Record<string, string>): LibraryState {
  const over = query.with ? query.with.split("|") : [];
  return {
    take: query.take ?? "",
    over,
    find: query.find ?? "",
    label: query.label ?? "",
    sort: query.sort && query.sort in SORTS ? (query.sort as Sort) : "name",
    segment: query.range ?? "",
    show: query.show === "groups" || query.show === "takes" ? query.show : "",
    group: query.group ?? "",
    size: query.size && query.size in SIZES ? (query.size as Size) : "usual",
  };
}

function queryOf({ take, over, find, label, sort, segment, show, group, size }: LibraryState): Record<string, string> {
  const usual = { sort: sort === "name" ? "" : sort, size: size === "usual" ? "" : size };
  return { take, with: over.join("|"), find, label, range: segment, show, group, ...usual };
}

/** The labels of a take, editable. */
@customElement("loom-take-labels")
export class TakeLabels extends LitElement {
  @property({ attribute: false }) studio!: Studio;
  @property({ attribute: false }) row!: Row;
  @property({ attribute: false }) known!: string[];

  static styles = [
    sharedStyles,
    css`
    :host { display: flex; flex-wrap: wrap; gap: 5px; align-items: center; font-size: 12px; }
    .chip { display: inline-flex; align-items: center; background: var(--chip); border-radius: 10px; padding: 1px 3px 1px 9px; }
    .chip button { border: 0; background: none; padding: 0 5px; color: var(--faint); }
    .chip button:hover { color: var(--bad); }
    input { width: 110px; padding: 2px 8px; border-radius: 10px; font-size: 12px; }
  `,
  ];

  private async save(labels: string[]): Promise<void> {
    await this.studio.attempt(async () => {
      const saved = await send("put", "library/labels/{name}", { path: { name: this.row.name }, body: { labels } });
      this.studio.relabel(this.row.name, saved.labels);
      this.studio.did(`Labels of ${this.row.name}: ${saved.labels.join(", ") || "none"}`);
    });
  }

  private readonly add = (event: Event): void => {
    const input = event.target as HTMLInputElement;
    const label = input.value.trim();
    input.value = "";
    if (label && !this.row.labels.includes(label)) void this.save([...this.row.labels, label]);
  };

  render() {
    return html`${this.row.labels.map(
      (label) => html`<span class="chip">${label}<button aria-label="Remove the label ${label}"
        @click=${() => this.save(this.row.labels.filter((one) => one !== label))}>×</button></span>`,
    )}
      <input list="known" placeholder="add a label" aria-label="Add a label" @change=${this.add} />
      <datalist id="known">${this.known.map((label) => html`<option value=${label}></option>`)}</datalist>`;
  }
}
