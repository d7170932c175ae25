// Library view: takes as animated cards, filtered by name and label, to show or overlay.

import { LitElement, css, html, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { live } from "lit/directives/live.js";
import { finished, send } from "../net/api";
import { pythonLiteral, shellWord } from "../page/command-line";
import { counted, durationText } from "../page/counts";
import { inputValue } from "../page/form-input";
import { segmentText, type Row, type Studio } from "../page/studio";
import { sharedStyles } from "../page/style";
import { color } from "../page/theme";
import { View } from "../page/view";
import "./clusters";
import type { Cluster } from "../net/types";
import "./selection-bar";
import "./take-cards";
import type { Pick, TakeCards } from "./take-cards";
import { ThumbnailStore } from "./thumbnails";

const SORTS = {
  name: { title: "by name", order: null },
  long: { title: "longest first", order: (a: Row, b: Row) => b.seconds - a.seconds },
  short: { title: "shortest first", order: (a: Row, b: Row) => a.seconds - b.seconds },
  label: {
    title: "by label",
    order: (a: Row, b: Row) => (a.labels[0] ?? "\uffff").localeCompare(b.labels[0] ?? "\uffff"),
  },
};
type Sort = keyof typeof SORTS;

interface LibraryState {
  take: string;
  over: string[];
  find: string;
  label: string;
  sort: Sort;
  segment: string;
  /** Takes, or clusters of similar takes; empty: clusters if no take is labeled. */
  show: "takes" | "clusters" | "";
}

const FEW = 6; // number of takes up to which clusters are not needed

@customElement("loom-library-view")
export class LibraryView extends View {
  @state() private state: LibraryState = parseState({});
  private readonly store = new ThumbnailStore();
  @state() private sampling = false;
  private opened = "";

  @query("loom-take-cards") private cards!: TakeCards | null;

  static styles = [
    sharedStyles,
    css`
    :host { display: flex; flex-direction: column; height: 100%; gap: 8px; min-height: 0; }
    .find { display: flex; gap: 6px; }
    .find input { flex: 1; min-width: 0; }
    select { max-width: 150px; }
    .facts { display: flex; justify-content: space-between; align-items: center; font-size: 12px; gap: 8px; }
    .facts select, .facts button { font-size: 12px; padding: 2px 6px; }
    .facts .row { flex-wrap: nowrap; gap: 4px; }
    loom-take-cards, loom-clusters { flex: 1; }
    .tabs { gap: 4px; } .tabs button { font-size: 12px; padding: 2px 10px; }
    .open { border-top: 1px solid var(--line); padding-top: 8px; display: grid; grid-template-columns: minmax(0, 1fr); gap: 5px; }
    .open b { overflow-wrap: anywhere; }
    @media (max-width: 860px) { :host { height: auto; } loom-take-cards { flex: none; height: max(340px, 60dvh); } }
    .tour { text-align: left; margin: 14px 0 0; padding-left: 20px; display: grid; gap: 4px; }
    .hint { display: grid; place-content: center; justify-items: center; text-align: center; flex: 1; padding: 20px; gap: 8px; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["selection"], () => this.storeSegment());
    this.watch(["frames"], () => this.store.clear());
    this.watch(["picked"]);
    this.listen(this.studio.stage, "characters", () => this.requestUpdate());
  }

  protected routeChanged(query: Record<string, string>): void {
    this.state = parseState(query);
    if (query.samples) {
      // a library that was made for them
      this.studio.replaceQuery(queryOf(this.state));
      if (!this.studio.library.motions.length && !this.sampling) void this.addSamples();
    }
    void this.show();
  }

  private async show(): Promise<void> {
    const { take, over, segment } = this.state;
    const wanted = [take, ...over].join("\n");
    if (take && (wanted !== this.opened || this.studio.take !== take)) {
      this.opened = wanted;
      await this.studio.open(take, over);
    }
    const frames = /^(\d+)-(\d+)$/.exec(segment);
    if (take && frames && this.studio.take === take)
      this.studio.select({ motion: take, start: Number(frames[1]), end: Number(frames[2]) });
    await this.updateComplete;
    if (take) this.cards?.reveal(take);
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
    if (replace) {
      this.state = state;
      this.studio.replaceQuery(queryOf(state));
    } else this.studio.go(this.viewPath, queryOf(state));
  }

  private readonly pick = (event: CustomEvent<Pick>): void => {
    const { name, overlay } = event.detail;
    const { take, over: others } = this.state;
    if (!overlay || !take || take === name) this.change({ take: name, over: [], segment: "" });
    else this.change({ over: others.includes(name) ? others.filter((one) => one !== name) : [...others, name] });
  };

  private rows(): Row[] {
    const { find, label, sort } = this.state;
    const words = find.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = this.studio.library.motions.filter(
      (row) =>
        (!label || row.labels.includes(label)) &&
        words.every(
          (word) => row.name.toLowerCase().includes(word) || row.labels.some((one) => one.toLowerCase().includes(word)),
        ),
    );
    const { order } = SORTS[sort];
    return order ? rows.sort(order) : rows;
  }

  private get clustered(): boolean {
    const { show, take, find, label } = this.state;
    if (show) return show === "clusters";
    const { library, labels } = this.studio;
    return !take && !find && !label && labels.size < 2 && library.motions.length >= FEW;
  }

  private readonly openCluster = (event: CustomEvent<Cluster>): void => {
    this.change({ take: event.detail.motions[0], over: [], segment: "", show: "takes", find: "", label: "" });
  };

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

  private finder(labels: ReadonlyMap<string, number>) {
    return html`<div class="find">
      <input id="find" type="search" placeholder="name or label" aria-label="Find takes" .value=${live(this.state.find)}
        @input=${(event: Event) => this.change({ find: inputValue(event) }, true)} />
      ${
        labels.size
          ? html`<select id="label" aria-label="Label" @change=${(event: Event) => this.change({ label: inputValue(event) }, true)}>
        <option value="" ?selected=${!this.state.label}>all labels</option>
        ${[...labels].map(([label, count]) => html`<option value=${label} ?selected=${label === this.state.label}>${label} (${count})</option>`)}</select>`
          : nothing
      }</div>`;
  }

  private facts(rows: Row[]) {
    const seconds = rows.reduce((sum, row) => sum + row.seconds, 0);
    return html`<div class="facts"><span class="faint" id="count">${counted(rows.length, "take")}, ${durationText(seconds)}</span>
      <span class="row"><select aria-label="Order" @change=${(event: Event) => this.change({ sort: inputValue(event) as Sort }, true)}>
        ${Object.entries(SORTS).map(([key, { title }]) => html`<option value=${key} ?selected=${key === this.state.sort}>${title}</option>`)}</select>
      <button id="import" title="Import files, or drop them anywhere on the page" @click=${() => this.studio.openImportDialog(false)}>Import…</button>
      <button title="Import a folder with its subfolders; folder names become labels" @click=${() => this.studio.openImportDialog(true)}>Folder…</button></span></div>`;
  }

  private open(labels: ReadonlyMap<string, number>) {
    const { library, take, selection } = this.studio;
    const row = library.motions.find((one) => one.name === take);
    if (!row) return nothing;
    const segment = selection?.motion === take ? selection : null;
    const name = `${library.path}:${segment ? segmentText(segment) : row.name}`;
    return html`<div class="open">
      <div><b>${row.name}</b> <span class="faint">${row.frames} frames, ${row.fps} fps, ${row.seconds.toFixed(2)} s</span></div>
      <loom-take-labels .studio=${this.studio} .row=${row} .known=${[...labels.keys()]}></loom-take-labels>
      <loom-code .cli=${`motionloom show ${shellWord(name)}`}
        .python=${`ml.Library(${pythonLiteral(library.path)})[${pythonLiteral(row.name)}]${segment ? `[${segment.start}:${segment.end}]` : ""}`}></loom-code></div>`;
  }

  render() {
    const { library } = this.studio;
    if (library.name && !library.motions.length)
      return html`<div class="hint faint"><p>This library is empty.</p>
      <p>Drop motion files (BVH, glTF, Acclaim AMC with ASF, AMASS) or a folder anywhere on this page.</p>
      <div class="row"><button class="main" @click=${() => this.studio.openImportDialog(false)}>Import files…</button>
        <button @click=${() => this.studio.openImportDialog(true)}>Import a folder…</button>
        <button id="samples" ?disabled=${this.sampling} @click=${() => void this.addSamples()}>${this.sampling ? "adding samples…" : "Add samples"}</button></div>
      <ol class="tour"><li>Import takes; they do not need labels.</li><li>Open a cluster of similar takes, and label all of them at once.</li>
        <li>Walk, dance or parametrize the selected takes; save or download the result on the stage.</li><li>Press <kbd>?</kbd> for keyboard shortcuts, <kbd>Ctrl+Z</kbd> to undo any change.</li></ol></div>`;
    const { labels } = this.studio;
    const rows = this.rows();
    const clustered = this.clustered;
    const choice = (show: "takes" | "clusters", words: string) =>
      html`<button id=${show} aria-pressed=${(show === "clusters") === clustered} @click=${() => this.change({ show, take: show === "clusters" ? "" : this.state.take })}>${words}</button>`;
    const bar = this.studio.picked.size
      ? html`<loom-selection-bar .studio=${this.studio}></loom-selection-bar>`
      : nothing;
    const tabs =
      library.motions.length > 1
        ? html`<div class="row tabs" role="group" aria-label="Show">${choice("takes", "Takes")}${choice("clusters", "Clusters")}</div>`
        : nothing;
    if (clustered)
      return html`${tabs}${this.facts(rows)}<loom-clusters .studio=${this.studio} .store=${this.store} @cluster=${this.openCluster}></loom-clusters>${bar}`;
    return html`${tabs}${this.finder(labels)}${this.facts(rows)}
      ${
        rows.length || !library.name
          ? html`<loom-take-cards .marked=${this.studio.picked} ?marking=${this.studio.picked.size > 0}
          @mark=${(event: CustomEvent<string[]>) => this.studio.pick(event.detail)} .rows=${rows} .colors=${this.colors()} .store=${this.store} @pick=${this.pick}></loom-take-cards>`
          : html`<div class="hint faint">No takes match.</div>`
      }
      ${bar}${this.open(labels)}`;
  }
}

function parseState(query: Record<string, string>): LibraryState {
  const over = query.with ? query.with.split("|") : [];
  const sort = query.sort && query.sort in SORTS ? (query.sort as Sort) : "name";
  return {
    take: query.take ?? "",
    over,
    find: query.find ?? "",
    label: query.label ?? "",
    sort,
    segment: query.range ?? "",
    show: query.show === "clusters" || query.show === "takes" ? query.show : "",
  };
}

function queryOf({ take, over, find, label, sort, segment, show }: LibraryState): Record<string, string> {
  return { take, with: over.join("|"), find, label, sort: sort === "name" ? "" : sort, range: segment, show };
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
