// The page: tabs at the top, the panel of a view beside the stage, the timeline at the bottom.

import { LitElement, css, html, type PropertyValues } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { html as staticHtml, unsafeStatic } from "lit/static-html.js";
import "./dance/crowd-view";
import "./dance/dance-view";
import "./graph/graph-view";
import "./grid/grid-view";
import "./library/import-panel";
import "./library/library-view";
import "./page/code-line";
import { address } from "./page/route";
import { listenToKeys } from "./page/shortcuts";
import { Studio } from "./page/studio";
import { sharedStyles } from "./page/style";
import "./parametric/parametric-view";
import "./search/family-view";
import "./search/search-view";
import { Stage } from "./stage/stage";
import "./stage/stage-bar";
import "./timeline/timeline";

interface ViewEntry {
  path: string;
  title: string;
  tag: string;
  wide?: boolean;
}

const VIEWS: ViewEntry[] = [
  { path: "library", title: "Library", tag: "loom-library-view" },
  { path: "search", title: "Search", tag: "loom-search-view", wide: true },
  { path: "family", title: "Family", tag: "loom-family-view", wide: true },
  { path: "grid", title: "Distance grid", tag: "loom-grid-view", wide: true },
  { path: "parametric", title: "Parametric", tag: "loom-parametric-view" },
  { path: "graph", title: "Graph", tag: "loom-graph-view", wide: true },
  { path: "dance", title: "Dance", tag: "loom-dance-view" },
  { path: "crowd", title: "Crowd", tag: "loom-crowd-view" },
];

@customElement("loom-app")
export class App extends LitElement {
  @state() private ready = false;
  @state() private disconnected = false;
  readonly studio = new Studio();

  @query("#stage") private stageHost!: HTMLElement;

  static styles = [
    sharedStyles,
    css`
    :host { display: grid; height: 100vh; grid: auto minmax(0, 1fr) auto / var(--panel-width) minmax(0, 1fr); }
    header { grid-column: 1 / -1; display: flex; gap: 0 4px; align-items: center; flex-wrap: wrap; padding: 6px 10px; white-space: nowrap;
      background: var(--panel); border-bottom: 1px solid var(--line); }
    header b { margin-right: 14px; }
    header a { color: var(--ink); text-decoration: none; padding: 4px 10px; border-radius: 5px; }
    header a[aria-current="page"] { background: var(--raised); color: var(--accent); }
    header .state { margin-left: auto; }
    aside { overflow: auto; padding: 12px; background: var(--panel); border-right: 1px solid var(--line); }
    main { position: relative; overflow: hidden; }
    #stage { position: absolute; inset: 0; }
    footer { grid-column: 1 / -1; min-width: 0; background: var(--panel); border-top: 1px solid var(--line); }
    .notice { position: absolute; left: 12px; bottom: 12px; max-width: 70%; padding: 8px 12px; overflow-wrap: anywhere;
      background: var(--raised); border-left: 3px solid var(--bad); border-radius: 4px; z-index: 2; }
    .disconnected { color: var(--bad); }
  `,
  ];

  protected firstUpdated(): void {
    const again = () => this.requestUpdate();
    for (const name of ["route", "library", "notice"]) this.studio.addEventListener(name, again);
    this.studio.addEventListener("disconnected", () => (this.disconnected = true));
    this.studio.addEventListener("connected", () => (this.disconnected = false));
    void this.studio.start();
    const stage = (this.studio.stage = new Stage(this.stageHost));
    stage.addEventListener("no-webgl", (event) =>
      this.studio.notify(
        `This browser cannot draw in 3D (${(event as CustomEvent<string>).detail}). Is WebGL switched off?`,
      ),
    );
    const painted = () => requestAnimationFrame(() => setTimeout(() => stage.start()));
    this.studio.addEventListener("library", painted, { once: true });
    this.studio.addEventListener("disconnected", painted, { once: true }); // show an empty stage at least
    listenToKeys(this.studio);
    window.studio = this.studio; // for the console and the tests
    this.ready = true;
  }

  protected updated(_changed: PropertyValues): void {
    this.style.setProperty("--panel-width", this.view.wide ? "56vw" : "min(400px, 56vw)");
  }

  private get view() {
    return VIEWS.find((one) => one.path === this.studio.route.view) ?? VIEWS[0];
  }

  /** The library returns to its last state; other views start from the current selection. */
  private link(path: string): string {
    const left = path === "library" && this.view.path !== path ? this.studio.visited.get(path) : undefined;
    return left ? address(left) : `#/${path}`;
  }

  private notice() {
    if (!this.studio.notice) return "";
    const close = () => {
      this.studio.notice = "";
      this.requestUpdate();
    };
    return html`<div class="notice" role="alert">${this.studio.notice} <button @click=${close}>close</button></div>`;
  }

  render() {
    const tag = unsafeStatic(this.view.tag);
    return html`
      <header><b>motionloom</b>
        ${VIEWS.map((one) => html`<a href=${this.link(one.path)} aria-current=${one === this.view ? "page" : "false"}>${one.title}</a>`)}
        <span class="state ${this.disconnected ? "disconnected" : "faint"}" role="status">
          ${this.disconnected ? "Connection to the server lost; reconnecting…" : this.studio.library.name}</span></header>
      <aside>${this.ready ? staticHtml`<${tag} .studio=${this.studio} .viewPath=${this.studio.route.view}></${tag}>` : ""}</aside>
      <main><div id="stage"></div>
        ${this.ready ? html`<loom-stage-bar .studio=${this.studio}></loom-stage-bar>` : ""}${this.notice()}</main>
      ${this.ready ? html`<loom-import-panel .studio=${this.studio}></loom-import-panel>` : ""}
      <footer>${this.ready ? html`<loom-timeline .studio=${this.studio}></loom-timeline>` : ""}</footer>`;
  }
}
