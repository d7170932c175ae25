// The start page: recent libraries, libraries in the folder, a new one, samples. Requests never contain a path.

import { css, html, nothing } from "lit";
import { customElement, state } from "lit/decorators.js";
import { getJson, type Answer } from "../net/api";
import { StudioElement } from "./studio-element";
import { sharedStyles } from "./style";

type Libraries = Answer<"get", "libraries">;
type Known = Libraries["libraries"][number];

@customElement("loom-start")
export class StartPage extends StudioElement {
  @state() private known: Libraries | null = null;
  @state() private busy = "";

  static styles = [
    sharedStyles,
    css`
    :host { display: block; overflow: auto; background: var(--stage); padding: 28px 16px; }
    .sheet { max-width: 720px; margin: 0 auto; display: grid; gap: 22px; }
    h2 { font-size: 20px; margin: 0; } h3 { font-size: 14px; margin: 0 0 8px; }
    ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 6px; }
    li button { width: 100%; display: grid; gap: 2px; text-align: left; padding: 9px 12px; background: var(--card); white-space: normal; overflow-wrap: anywhere; }
    li b { font-size: 14px; } li span { font-size: 12px; }
    form { display: flex; gap: 8px; flex-wrap: wrap; } form input { flex: 1 1 200px; min-width: 0; padding: 7px 10px; }
    section { background: var(--panel); border: 1px solid var(--line); border-radius: 9px; padding: 14px 16px; }
    code { font: 12px ui-monospace, monospace; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.watch(["library", "restored"], this.look);
    void this.look();
  }

  private readonly look = async (): Promise<void> => {
    await this.studio.attempt(async () => (this.known = await getJson("libraries")));
  };

  private async attempt(busy: string, work: () => Promise<unknown>): Promise<void> {
    this.busy = busy;
    if (!(await this.studio.attempt(work))) this.busy = "";
  }

  private readonly make = (event: Event): void => {
    event.preventDefault();
    const name = this.renderRoot.querySelector<HTMLInputElement>("#new-name")!.value.trim();
    if (name) void this.attempt(`creating ${name}`, () => this.studio.makeLibrary(name));
  };

  /** Create a sample library under an unused name. */
  private samples(): void {
    const taken = new Set(this.known?.libraries.map((one) => one.name));
    let name = "samples";
    for (let number = 2; taken.has(name); number++) name = `samples ${number}`;
    void this.attempt(`creating ${name}`, () => this.studio.makeLibrary(name, { samples: "1" }));
  }

  private list(title: string, rows: Known[]) {
    if (!rows.length) return nothing;
    return html`<section><h3>${title}</h3><ul aria-label=${title}>${rows.map(
      (one) =>
        html`<li><button data-library=${one.name} ?disabled=${Boolean(this.busy)} @click=${() =>
          one.open
            ? this.studio.go("library")
            : void this.attempt(`opening ${one.name}`, () => this.studio.openLibrary(one.id))}>
          <b>${one.name}</b><span class="faint">${one.folder}${one.open ? ", open now" : ""}</span></button></li>`,
    )}</ul></section>`;
  }

  render() {
    const { known, busy } = this;
    const { name } = this.studio.library;
    const back = name
      ? html`<div><button id="back" @click=${() => this.studio.go("library")}>Back to ${name}</button></div>`
      : nothing;
    if (!known) return html`<div class="sheet">${back}</div>`;
    if (!known.allowed)
      return html`<div class="sheet"><h2>Libraries</h2><p>This server shows only one library, because other users can access it. Open another library with
        <code>motionloom studio LIB</code>.</p>${back}</div>`;
    const rows = (place: Known["place"]) => known.libraries.filter((one) => one.place === place);
    return html`<div class="sheet"><h2>${name ? "Open another library" : "Open a library"}</h2>${back}
      ${this.list("Recent", rows("recent"))}${this.list(`In ${known.folder}`, rows("folder"))}
      <section><h3>New</h3>
        <form @submit=${this.make}><input id="new-name" aria-label="Name of the new library" placeholder="name of the new library" maxlength="80" required />
          <button class="main" id="make" ?disabled=${Boolean(busy)}>Create a library</button></form>
        <p class="faint">The library is created in ${known.folder}. Then drop files or folders with takes on the page.</p></section>
      <section><h3>Try it</h3><div class="row"><button id="samples" ?disabled=${Boolean(busy)} @click=${() => this.samples()}>Create a sample library</button>
        <span class="faint">16 generated takes: walks, kicks, punches, dances</span></div></section>
      <p class="faint">To add a library from another folder to this list, open it once with <code>motionloom studio LIB</code>.</p>
      <p role="status">${busy && `${busy}…`}</p></div>`;
  }
}
