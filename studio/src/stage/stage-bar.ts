// Controls over the stage: display, camera, legend of the characters, help.

import { css, html, nothing } from "lit";
import { customElement } from "lit/decorators.js";
import { isChecked } from "../page/form-input";
import { SHORTCUTS } from "../page/shortcuts";
import { StudioElement } from "../page/studio-element";
import { sharedStyles } from "../page/style";
import type { CameraView } from "./camera-rig";
import { paneCount, type Split } from "./panes";
import type { Stage } from "./stage";
import type { DisplaySettings } from "./stage";

const TRAILED: [string, string[]][] = [
  ["hands", ["left_hand", "right_hand"]],
  ["feet", ["left_toe", "right_toe"]],
  ["knees", ["left_knee", "right_knee"]],
  ["elbows", ["left_elbow", "right_elbow"]],
  ["head", ["head"]],
  ["hips", ["hips"]],
];
const SIDES: [CameraView, string, string][] = [
  ["front", "front", "1"],
  ["back", "behind", "Ctrl 1"],
  ["right", "right side", "3"],
  ["left", "left side", "Ctrl 3"],
  ["top", "top", "7"],
];
const SPLIT_NAMES: [Split, string][] = [
  ["one", "one view"],
  ["two", "two views"],
  ["four", "four views"],
  ["each", "one view per character"],
];
const SHOWN = 8; // names in the legend before "and N more"

@customElement("loom-stage-bar")
export class StageBar extends StudioElement {
  static styles = [
    sharedStyles,
    css`
    :host { position: absolute; inset: 0; pointer-events: none; z-index: 1; }
    /* Names next to the tools, or below them if there is no room. */
    .top { position: absolute; inset: 8px 8px auto 12px; display: flex; flex-wrap: wrap-reverse; gap: 6px; justify-content: space-between;
      align-items: start; }
    .tools { margin-left: auto; display: flex; flex-wrap: wrap; gap: 4px; justify-content: end; pointer-events: auto; }
    .group { display: flex; border-radius: 6px; overflow: clip; background: color-mix(in srgb, var(--panel) 80%, transparent); border: 1px solid var(--line); }
    .group button { border: 0; border-radius: 0; background: none; padding: 4px 8px; font-size: 12px; color: var(--faint); }
    .group button + button { border-left: 1px solid var(--line); }
    .group button:hover { color: var(--ink); }
    .group button[aria-pressed="true"] { color: var(--accent); background: color-mix(in srgb, var(--accent) 11%, transparent); }
    details { position: relative; font-size: 12px; }
    summary { list-style: none; padding: 4px 8px; cursor: pointer; color: var(--faint); border-left: 1px solid var(--line); }
    summary.on { color: var(--accent); background: color-mix(in srgb, var(--accent) 11%, transparent); }
    .group:has(details[open]) { overflow: visible; }
    details .entries { position: absolute; right: 0; top: 28px; background: var(--raised); border: 1px solid var(--line);
      border-radius: 6px; padding: 6px 10px; display: grid; gap: 3px; z-index: 3; }
    details label { display: flex; gap: 6px; align-items: center; white-space: nowrap; }
    .legend { display: grid; gap: 2px; padding-top: 4px; font-size: 12px; text-shadow: 0 1px 3px var(--stage); }
    .legend i { display: inline-block; width: 9px; height: 9px; border-radius: 50%; margin-right: 7px; }
    .empty { position: absolute; inset: 0; display: grid; place-content: center; color: var(--faint); }
    details button { text-align: left; border: 0; background: none; padding: 2px 4px; font-size: 12px; }
    .group .entries button + button { border: 0; }
    details hr { width: 100%; border: 0; border-top: 1px solid var(--line); margin: 2px 0; }
    .entries kbd { color: var(--faint); margin-left: 10px; }
    .entries fieldset { border: 0; padding: 0; margin: 0; display: grid; gap: 3px; }
    .entries legend { color: var(--faint); padding: 0; }
    .pane { position: absolute; padding: 0 0 6px 10px; display: flex; align-items: end; font-size: 12px; color: var(--faint);
      text-shadow: 0 1px 3px var(--stage); }
    .pane.bottom { padding-bottom: 44px; } /* above the name of the subject */
    @media (max-width: 860px) { .pane.bottom { padding-bottom: 72px; } }
    .keys { position: absolute; inset: 0; margin: auto; width: min(560px, 92%); height: fit-content; max-height: 92%; overflow: auto;
      pointer-events: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 16px 20px; z-index: 4;
      box-shadow: 0 12px 40px #0008; }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: 5px 16px; margin: 8px 0 12px; }
    dt { color: var(--accent); } dd { margin: 0; }
    kbd { font: inherit; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    const again = () => this.requestUpdate();
    for (const kind of ["characters", "display"]) this.studio.stage.addEventListener(kind, again);
    this.watch(["help", "library"]);
    this.studio.own.addEventListener("change", again);
    this.closeMenusOutside();
  }

  private get stage(): Stage {
    return this.studio.stage;
  }

  private toggle(
    key: "body" | "contacts" | "ghosts" | "path" | "grid" | "follow" | "shadows",
    text: string,
    title: string,
  ) {
    const on = this.stage.display[key];
    const held = key === "follow" ? this.stage.stillBecause : "";
    return html`<button aria-pressed=${on && !held ? "true" : "false"} title=${held || title} data-display=${key} ?disabled=${Boolean(held)}
      @click=${() => this.stage.set({ [key]: !on } as Partial<DisplaySettings>)}>${text}</button>`;
  }

  private trails() {
    const { trails } = this.stage.display;
    const change = (roles: string[], on: boolean) =>
      this.stage.set({
        trails: on ? [...new Set([...trails, ...roles])] : trails.filter((role) => !roles.includes(role)),
      });
    return html`<details class="menu"><summary class=${trails.length ? "on" : ""} title="Trails of joints through the air">Trails</summary>
      <div class="entries">${TRAILED.map(
        ([name, roles]) => html`<label><input type="checkbox"
        .checked=${roles.every((role) => trails.includes(role))}
        @change=${(event: Event) => change(roles, isChecked(event))} />${name}</label>`,
      )}</div></details>`;
  }

  /** The user's character: a button to choose its file, or its name and a button to clear it. */
  private character() {
    const { own } = this.studio;
    const chosen = (event: Event) => {
      const input = event.target as HTMLInputElement;
      const file = input.files?.[0];
      input.value = "";
      if (file) void own.load(file);
    };
    const choose = () => this.renderRoot.querySelector<HTMLInputElement>("#character-file")!.click();
    return html`<div class="group" role="group" aria-label="Character">
      <input id="character-file" type="file" accept=".glb,.xml,.urdf" hidden aria-label="File of a character" @change=${chosen} />
      <button id="character" title="Show motions on your character, a skinned mesh in a GLB file. You can also drop the file on the stage. Couples and crowds keep the neutral body." @click=${choose}>${own.current ? own.current.name : "Character…"}</button>
      ${own.current ? html`<button id="clear-character" title="Show the neutral body again" aria-label="Clear the character" @click=${() => void own.clear()}>×</button>` : nothing}</div>`;
  }

  private views() {
    const { stage } = this;
    const { turn, worldViews } = stage.display;
    const what = worldViews ? "the world" : "the character";
    return html`<details class="menu"><summary class=${turn ? "on" : ""} title="Front, side, top; stay behind the character">View</summary>
      <div class="entries">${SIDES.map(
        ([view, name, key]) =>
          html`<button data-view=${view} title="${name} of ${what} (${key})" @click=${() => stage.view(view)}>${name}<kbd>${key}</kbd></button>`,
      )}<hr />
        <label title="Stay behind the character as it turns (0)"><input type="checkbox" id="stay-behind" .checked=${turn}
          @change=${(event: Event) => stage.stayBehind(isChecked(event))} />stay behind<kbd>0</kbd></label>
        <label title="Views along the world axes, independent of the facing direction (W)"><input type="checkbox" id="world-views" .checked=${worldViews}
          @change=${(event: Event) => stage.set({ worldViews: isChecked(event) })} />world axes<kbd>W</kbd></label></div></details>`;
  }

  private splits() {
    const { stage } = this;
    const { split } = stage.display;
    return html`<details class="menu"><summary class=${stage.panes.length > 1 ? "on" : ""} title="Several views side by side (V)">Split</summary>
      <div class="entries"><fieldset><legend>Views (V)</legend>${SPLIT_NAMES.map(
        ([name, text]) => html`<label><input type="radio" name="split" value=${name} .checked=${split === name}
          ?disabled=${name === "each" && paneCount("each", stage.characters.length) < 2}
          @change=${() => stage.set({ split: name })} />${text}</label>`,
      )}</fieldset></div></details>`;
  }

  /** Names of the views, in the corner of each. */
  private panes() {
    const { panes } = this.stage;
    if (panes.length < 2) return nothing;
    return panes.map(
      ({ x, y, width, height, title }) =>
        html`<span class="pane ${y + height > 0.99 ? "bottom" : ""}" style="left:${100 * x}%; top:${100 * y}%; width:${100 * width}%; height:${100 * height}%">${title}</span>`,
    );
  }

  private legend() {
    const { characters } = this.stage;
    const shown = characters.slice(0, SHOWN);
    return html`<div class="legend">${shown.map((one) => html`<span><i style="background:#${one.color.getHexString()}"></i>${one.spec.title ?? one.motion.name}</span>`)}
      ${characters.length > SHOWN ? html`<span class="faint">and ${characters.length - SHOWN} more</span>` : nothing}</div>`;
  }

  private help() {
    if (!this.studio.state.help) return nothing;
    return html`<div class="keys" role="dialog" aria-label="Keyboard shortcuts">
      <h2>Keyboard shortcuts</h2>
      <dl>${SHORTCUTS.filter((one) => one.shown).map((one) => html`<dt><kbd>${one.shown}</kbd></dt><dd>${one.does}</dd>`)}
        <dt>mouse</dt><dd>drag to orbit, wheel to zoom, right button to pan</dd>
        <dt>timeline</dt><dd>drag on the ruler to scrub, on the strips to select; wheel to zoom, Shift + wheel to pan; double click to clear</dd>
        <dt>library</dt><dd>Shift + click overlays a take</dd></dl>
      <button @click=${() => this.studio.showHelp(false)}>Close</button></div>`;
  }

  protected firstUpdated(): void {
    const tools = this.renderRoot.querySelector(".tools")!;
    this.watchSize(tools, () =>
      this.stage.cover("above", tools.getBoundingClientRect().bottom - this.getBoundingClientRect().top),
    );
  }

  render() {
    const { stage } = this;
    const empty = !stage.characters.length;
    return html`
      ${empty && this.studio.library.motions.length ? html`<div class="empty">Choose a take in the library to show it here.</div>` : nothing}
      ${this.panes()}
      <div class="top">${this.legend()}<div class="tools">
        <div class="group" role="group" aria-label="Figure">
          ${this.toggle("body", "Body", "Draw the body instead of bones (B)")}
          ${this.toggle("contacts", "Contacts", "Highlight feet in contact with the floor")}</div>
        ${this.character()}
        <div class="group" role="group" aria-label="Traces">
          ${this.toggle("ghosts", "Ghosts", "Poses before and after the current one (G)")}
          ${this.toggle("path", "Path", "Path of the hips on the floor (P)")}${this.trails()}</div>
        <div class="group" role="group" aria-label="Camera">
          ${this.toggle("grid", "Grid", "Grid of half meters on the floor")}
          ${this.toggle("follow", "Follow", "The camera follows the character (Shift F)")}
          <button title="Frame the character (F)" @click=${() => stage.frame()}>Frame</button>
          ${this.views()}${this.splits()}
          <button title="Keyboard shortcuts (?)" aria-label="Keyboard shortcuts" @click=${() => this.studio.showHelp(!this.studio.state.help)}>?</button></div>
      </div></div>
      ${this.help()}`;
  }
}
