// The page: tabs at the top, the panel of a view next to the stage, the timeline at the bottom.

import { LitElement, css, html, type PropertyValues } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { html as staticHtml, unsafeStatic } from "lit/static-html.js";
import "./aim/aim-view";
import "./dance/crowd-view";
import "./dance/dance-view";
import "./graph/graph-view";
import "./grid/grid-view";
import "./library/import-panel";
import "./library/library-view";
import "./page/code-line";
import { analyzeTakes } from "./page/analysis";
import { loadSettings } from "./net/settings-schema";
import { address } from "./page/route";
import "./page/jobs-list";
import { Layout, limited, type Part } from "./page/layout";
import "./page/library-menu";
import "./page/palette";
import { listenToKeys } from "./page/shortcuts";
import "./page/splitter";
import { Studio, segmentText } from "./page/studio";
import "./page/start-page";
import { sharedStyles } from "./page/style";
import "./page/subject-bar";
import "./play/play-view";
import "./script/script-view";
import "./search/family-view";
import "./search/search-view";
import { applyTheme } from "./page/theme";
import "./page/tour";
import { TABS, VIEWS, tabOf } from "./page/views";
import { tourIsNew } from "./page/tour";
import { Stage } from "./stage/stage";
import "./stage/stage-bar";
import "./timeline/timeline";
import "./walk/walk-view";

const OF_A_QUERY = new Set(["search", "family", "grid"]);

@customElement("loom-app")
export class App extends LitElement {
  @state() private ready = false;
  @state() private loaded = false; // the open library is known
  @state() private settings = false; // the fields of all settings are known
  readonly studio = new Studio();

  private readonly layout = new Layout();

  @query("#stage") private stageHost!: HTMLElement;
  @query("aside") private aside!: HTMLElement;
  @query("footer") private footer!: HTMLElement;

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; height: 100vh; height: 100dvh; grid: auto minmax(0, 1fr) auto / var(--panel-width) minmax(0, 1fr); }
    header { grid-column: 1 / -1; display: flex; gap: 0 4px; align-items: center; flex-wrap: wrap; padding: 6px 10px; white-space: nowrap;
      background: var(--panel); border-bottom: 1px solid var(--line); }
    h1 { font-size: 14px; margin: 0 14px 0 0; }
    nav { display: flex; gap: 0 4px; flex-wrap: wrap; }
    nav a { color: var(--ink); text-decoration: none; padding: 4px 10px; border-radius: 5px; }
    nav a:is([aria-current="page"], [aria-current="true"]) { background: var(--raised); color: var(--accent); }
    aside nav { margin: -2px 0 10px; font-size: 12px; } aside nav a { padding: 2px 10px; border: 1px solid var(--line); }
    #commands { margin-left: auto; font-size: var(--text-small); color: var(--faint); padding: 3px 8px; background: none; }
    loom-jobs { margin-left: 4px; }
    header .state { margin-left: 10px; }
    aside { grid-area: 2 / 1; overflow: auto; padding: 12px; background: var(--panel); border-right: 1px solid var(--line); }
    main { grid-area: 2 / 2; position: relative; overflow: hidden; }
    /* On the borders of the panel and of the timeline. */
    loom-splitter { grid-area: 2 / 2; width: 0; }
    loom-splitter.timeline { grid-area: 3 / 1 / auto / -1; width: auto; height: 0; }
    #stage { position: absolute; inset: 0; }
    footer { grid-area: 3 / 1 / auto / -1; min-width: 0; height: var(--timeline-height, auto); overflow: hidden auto; background: var(--panel); border-top: 1px solid var(--line); }
    .notice { position: absolute; left: 12px; bottom: 44px; max-width: 70%; padding: 8px 12px; overflow-wrap: anywhere;
      background: var(--raised); border-left: 3px solid var(--bad); border-radius: 4px; z-index: 2; }
    .notice.done { border-left-color: var(--good); }
    :host([starting]) { height: 100dvh; grid: auto minmax(0, 1fr) / minmax(0, 1fr); }
    :host([starting]) :is(aside, footer) { display: none; }
    :host([starting]) main { grid-area: 2 / 1; visibility: hidden; }
    loom-start { grid-area: 2 / 1; position: relative; z-index: 4; }
    loom-start ~ .notice { position: fixed; z-index: 5; }
    .disconnected { color: var(--bad); }
    /* Narrow windows, phones, large zoom: the panel below the stage, then the timeline, and the page scrolls. An empty
       stage takes no room, so that the content of a view is on the first screen. */
    @media (max-width: 860px) {
      :host { height: auto; min-height: 100dvh; grid: auto 36dvh 1fr auto / minmax(0, 1fr); } /* short panels do not stretch the header */
      :host([empty]) { grid-template-rows: auto 0 1fr auto; } :host([empty]) :is(main, footer) { display: none; }
      main { grid-area: 2 / 1; } aside { grid-area: 3 / 1; border-right: 0; overflow: visible; }
      footer { grid-area: 4 / 1; height: auto; }
      nav { flex-wrap: nowrap; overflow-x: auto; max-width: 100%; }
    }
    @media (max-width: 480px) { header nav { gap: 0; } header nav a { padding: 4px 7px; } } /* all tabs fit on a phone */
    @media (max-width: 860px) and (max-height: 500px) { :host { grid-template-rows: auto 50dvh 1fr auto; } }
  `,
  ];

  protected firstUpdated(): void {
    applyTheme();
    const again = () => this.requestUpdate();
    this.studio.watch(["visits", "library", "notice", "shown", "selection", "tour", "connection"], again);
    this.studio.watch(["library"], () => {
      this.loaded = true;
      if (this.studio.library.name && !this.starting && tourIsNew()) this.studio.showTour(true);
    });
    analyzeTakes(this.studio);
    this.studio.views = new Set(VIEWS.map((one) => one.path));
    this.loadLate();
    this.studio.watch(["visits"], () => this.loadLate());
    void this.studio.start();
    void this.studio.attempt(loadSettings).then(() => (this.settings = true));
    const stage = (this.studio.stage = new Stage(this.stageHost));
    stage.addEventListener("no-webgl", (event) =>
      this.studio.notify(
        `This browser cannot draw in 3D (${(event as CustomEvent<string>).detail}). Is WebGL disabled?`,
      ),
    );
    const painted = () => requestAnimationFrame(() => setTimeout(() => stage.start()));
    const first = this.studio.watch(["library", "connection"], () => {
      if (!this.loaded && this.studio.state.connection !== "lost") return; // show an empty stage at least
      first();
      painted();
    });
    listenToKeys(this.studio);
    addEventListener("resize", this.size);
    window.studio = this.studio; // for the console and the tests
    this.ready = true;
  }

  /** Load views that are not part of the first load. */
  private loadLate(): void {
    if (this.studio.route.view !== "show" || customElements.get("loom-show-view")) return;
    void this.studio.attempt(async () => {
      await import("./show/show-view");
      this.requestUpdate();
    });
  }

  protected updated(_changed: PropertyValues): void {
    document.title = this.windowTitle();
    this.toggleAttribute("starting", this.starting);
    this.toggleAttribute("empty", !this.studio.stage?.characters.length);
    this.size();
  }

  /** Set the sizes of panel and timeline, limited by the current window. */
  private readonly size = (): void => {
    const own = (part: Part, whole: number) => {
      const size = this.layout.get(part);
      return size === null ? null : `${limited(part, size, whole)}px`;
    };
    const usual = this.view.wide ? "56vw" : "min(400px, 56vw)";
    this.style.setProperty("--panel-width", own(this.panel, innerWidth) ?? usual);
    this.style.setProperty("--timeline-height", own("timeline", innerHeight));
  };

  private get panel(): Part {
    return this.view.wide ? "wide" : "panel";
  }

  private resized(part: Part, { detail }: CustomEvent<number | null>): void {
    this.layout.set(part, detail);
    this.size();
  }

  /** True if the start page is shown: on request, or because no library is open. */
  private get starting(): boolean {
    return this.studio.route.view === "start" || (this.loaded && !this.studio.library.name);
  }

  private get view() {
    return VIEWS.find((one) => one.path === this.studio.route.view) ?? VIEWS[0];
  }

  /** Link to the tab's view that was open last. */
  private tabLink(views: readonly { path: string }[]): string {
    if (tabOf(this.view.path).views === views) return this.link(views[0].path);
    const open = views.filter(({ path }) => this.studio.visited.has(path));
    const latest = [...this.studio.visited.keys()].findLast((path) => open.some((one) => one.path === path));
    return this.link(latest ?? views[0].path);
  }

  /** Link to a view in its last state; views with a query start from the selected segment, if it has changed. */
  private link(path: string): string {
    const left = this.view.path === path ? undefined : this.studio.visited.get(path);
    const { selection } = this.studio;
    const asked = left?.query.query ?? left?.query.a;
    const other = selection && OF_A_QUERY.has(path) && segmentText(selection) !== asked;
    return left && !other ? address(left) : `#/${path}`;
  }

  private notice() {
    const { studio } = this;
    const { text, undo } = studio.state.notice;
    if (!text) return "";
    const keep = () => studio.keepNotice();
    return html`<div class="notice ${undo ? "done" : ""}" role=${undo ? "status" : "alert"}
      @pointerenter=${keep} @focusin=${keep}>${text}
      ${undo ? html`<button id="undo-notice" title="Ctrl+Z" @click=${() => void studio.undo()}>Undo</button>` : ""}
      <button @click=${() => studio.notify("")}>close</button></div>`;
  }

  /** Title of the window: the subject on the stage, the view, the library. */
  private windowTitle(): string {
    const { studio } = this;
    if (this.starting) return "Libraries · motionloom studio";
    const { title } = tabOf(this.view.path);
    const view = this.view.title === title ? title : `${title}: ${this.view.title}`;
    return [studio.stage && studio.subject?.title, view, studio.library.name || "motionloom studio"]
      .filter(Boolean)
      .join(" · ");
  }

  render() {
    const tag = unsafeStatic(this.view.tag);
    const { ready, starting } = this;
    const name = this.studio.library.name;
    const tab = tabOf(this.view.path);
    const shown = tab.views.filter((one) => !one.inner);
    return html`
      <header><h1>motionloom</h1>
        ${starting ? "" : html`<nav aria-label="Views">${TABS.map((one) => html`<a href=${this.tabLink(one.views)} title=${one.does} aria-current=${one === tab ? (one.views[0] === this.view ? "page" : "true") : "false"}>${one.title}</a>`)}</nav>`}
        ${ready && !starting ? html`<button id="commands" title="Find a verb, take, label or setting (Ctrl+K)" @click=${() => this.studio.requests.request("palette", null)}>Ctrl+K</button>` : ""}
        ${ready ? html`<loom-jobs .studio=${this.studio}></loom-jobs>` : ""}
        <span class="state ${this.studio.state.connection === "lost" ? "disconnected" : "faint"}" role="status">${this.studio.state.connection === "lost" ? "Connection to the server lost; reconnecting…" : ""}</span>
        ${ready && name ? html`<loom-library-menu .studio=${this.studio} .name=${name}></loom-library-menu>` : ""}</header>
      ${starting && ready ? html`<loom-start .studio=${this.studio}></loom-start>` : ""}
      <aside ?inert=${starting}>${shown.length > 1 && !starting ? html`<nav aria-label=${tab.title}>${shown.map((one) => html`<a href=${this.link(one.path)} aria-current=${one === this.view ? "page" : "false"}>${one.title}</a>`)}</nav>` : ""}
        ${ready && !starting && (this.settings || this.view === VIEWS[0]) && customElements.get(this.view.tag) ? staticHtml`<${tag} .studio=${this.studio} .viewPath=${this.studio.route.view}></${tag}>` : ""}</aside>
      <loom-splitter name="Width of the panel" ?hidden=${starting} .panel=${this.panel} .measure=${() => this.aside.offsetWidth}
        @resize=${(event: CustomEvent<number | null>) => this.resized(this.panel, event)}></loom-splitter>
      <main ?inert=${starting}><div id="stage"></div>
        ${ready ? html`<loom-stage-bar .studio=${this.studio}></loom-stage-bar><loom-subject-bar .studio=${this.studio}></loom-subject-bar>` : ""}${starting ? "" : this.notice()}</main>
      ${ready ? html`<loom-import-panel .studio=${this.studio}></loom-import-panel>` : ""}
      <loom-splitter class="timeline" name="Height of the timeline" ?hidden=${starting} .panel=${"timeline"} .measure=${() => this.footer.offsetHeight}
        @resize=${(event: CustomEvent<number | null>) => this.resized("timeline", event)}></loom-splitter>
      <footer ?inert=${starting}>${ready ? html`<loom-timeline .studio=${this.studio}></loom-timeline>` : ""}</footer>
      ${ready && !starting ? html`<loom-palette .studio=${this.studio}></loom-palette>` : ""}
      ${starting ? this.notice() : ""}
      ${ready && this.studio.state.tour && !starting ? html`<loom-tour .studio=${this.studio}></loom-tour>` : ""}`;
  }
}
