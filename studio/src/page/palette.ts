// The command palette (Ctrl+K): every verb, view, take, label and setting, found by typing.

import { css, html, nothing } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { settingsFields, type SettingsName } from "../net/settings-schema";
import type { Field } from "../settings/fields";
import { inputValue } from "./form-input";
import { matching, type Entry } from "./palette-entries";
import { SHORTCUTS } from "./shortcuts";
import { StudioElement } from "./studio-element";
import { sharedStyles } from "./style";
import { TABS } from "./views";

const SHOWN = 40;
/** Views with a form for settings, and fields that the form has. */
const FORMS: [view: string, settings: SettingsName][] = [
  ["search", "search"],
  ["aim", "parametrize"],
  ["walk", "graph"],
  ["play", "matching"],
  ["dance", "dance"],
  ["family", "family"],
];
const WAIT = 40; // frames that a view may take to appear

@customElement("loom-palette")
export class Palette extends StudioElement {
  @state() private open = false;
  @state() private text = "";
  @state() private at = 0;
  private entries: Entry[] = [];
  private focused: HTMLElement | null = null; // had the focus before

  @query("input") private input!: HTMLInputElement | null;

  static styles = [
    sharedStyles,
    css`
    .veil { position: fixed; inset: 0; z-index: 50; background: #0007; }
    [role="dialog"] { position: absolute; left: 50%; top: 12vh; transform: translateX(-50%); width: min(560px, calc(100vw - 24px)); max-height: 70vh; display: grid;
      grid-template-rows: auto minmax(0, 1fr); background: var(--panel); border: 1px solid var(--edge); border-radius: var(--round-large); box-shadow: var(--shadow); overflow: hidden; }
    input { border: 0; border-bottom: 1px solid var(--line); border-radius: 0; padding: var(--space-3) var(--space-4); font-size: var(--text-title); width: 100%; background: none; outline: none; }
    ul { list-style: none; margin: 0; padding: var(--space-1); overflow-y: auto; }
    li { display: flex; justify-content: space-between; gap: var(--space-3); padding: var(--space-1) var(--space-3); border-radius: var(--round); cursor: pointer; }
    li span:first-child { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
    li[aria-selected="true"] { background: var(--chip); }
    p { padding: var(--space-3) var(--space-4); margin: 0; }
  `,
  ];

  connectedCallback(): void {
    super.connectedCallback();
    this.answers("palette", () => {
      this.show(!this.open);
      return true;
    });
  }

  private show(open: boolean): void {
    if (open === this.open) return;
    this.open = open;
    if (open) {
      this.focused = deepFocus();
      this.entries = this.collect();
      this.text = "";
      this.at = 0;
      void this.updateComplete.then(() => this.input?.focus());
    } else this.focused?.focus();
  }

  private run(entry: Entry | undefined): void {
    if (!entry) return;
    this.show(false);
    entry.run();
  }

  private collect(): Entry[] {
    const { studio } = this;
    const root = (this.getRootNode() as ShadowRoot).host as HTMLElement;
    return [
      ...TABS.flatMap((tab) =>
        tab.views.map(({ path, title }): Entry => ({
          title: title === tab.title ? title : `${tab.title}: ${title}`,
          kind: "view",
          also: tab.does,
          run: () => studio.go(path),
        })),
      ),
      ...buttons(root),
      ...SHORTCUTS.filter((one) => one.shown && one.keys[0] !== "ctrl+k").map((one): Entry => ({
        title: one.does.split(/[;,]/)[0],
        kind: one.shown,
        also: `key ${one.does}`,
        run: () => one.act(studio, new KeyboardEvent("keydown")),
      })),
      ...[...studio.labels].map(([label, count]): Entry => ({
        title: label,
        kind: `label (${count})`,
        run: () => studio.go("library", { label, show: "takes" }),
      })),
      ...studio.library.motions.map(({ name, labels }): Entry => ({
        title: name,
        kind: "take",
        also: labels.join(" "),
        run: () => studio.go("library", { take: name }),
      })),
      ...FORMS.flatMap(([view, settings]) =>
        fieldsOf(settingsFields(settings)).map((field): Entry => ({
          title: `${view}: ${field.label}`,
          kind: "setting",
          also: field.help,
          run: () => {
            studio.go(view, studio.visited.get(view)?.query ?? {});
            void focusInput(root, field.name.split(".").at(-1)!);
          },
        })),
      ),
    ];
  }

  private readonly key = (event: KeyboardEvent): void => {
    const found = matching(this.entries, this.text, SHOWN);
    if (event.key === "ArrowDown") this.at = Math.min(this.at + 1, found.length - 1);
    else if (event.key === "ArrowUp") this.at = Math.max(this.at - 1, 0);
    else if (event.key === "Enter") this.run(found[this.at]);
    else if (event.key === "Escape" || event.key === "Tab") this.show(false);
    else if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) this.show(false);
    else {
      event.stopPropagation(); // not a shortcut of the page
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }),
    );
  };

  render() {
    if (!this.open) return nothing;
    const found = matching(this.entries, this.text, SHOWN);
    return html`<div class="veil" @pointerdown=${(event: Event) => event.target === event.currentTarget && this.show(false)}>
      <div role="dialog" aria-label="Commands">
        <input role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant=${found.length ? `entry-${this.at}` : nothing}
          aria-label="Find a verb, take, label or setting" placeholder="verb, take, label or setting" autocomplete="off" spellcheck="false" .value=${this.text}
          @keydown=${this.key} @input=${(event: Event) => {
            this.text = inputValue(event);
            this.at = 0;
          }} />
        ${
          found.length
            ? html`<ul id="found" role="listbox" aria-label="Commands">${found.map(
                (entry, at) => html`<li id="entry-${at}" role="option" aria-selected=${at === this.at}
                  @click=${() => this.run(entry)}><span>${entry.title}</span><span class="faint">${entry.kind}</span></li>`,
              )}</ul>`
            : html`<p class="faint" id="found" role="status">Nothing matches “${this.text}”.</p>`
        }</div></div>`;
  }
}

/** Buttons that can be pressed now, once by each name, except those of cards and of the palette itself. */
function buttons(root: HTMLElement): Entry[] {
  const found = new Map<string, Entry>();
  for (const button of deepAll<HTMLButtonElement>(root, "button")) {
    if (button.disabled || button.closest('[role="list"], [role="option"], li, [role="dialog"]')) continue;
    const title = titleOf(button);
    if (title.length < 2 || found.has(title)) continue;
    found.set(title, { title, kind: "verb", also: button.title, run: () => button.click() });
  }
  return [...found.values()];
}

/** Its name, after that of the menu that it is in: "Download: FBX". */
function titleOf(button: HTMLButtonElement): string {
  const text = [...button.childNodes]
    .filter((node) => !["KBD", "#comment"].includes(node.nodeName))
    .map((node) => node.textContent);
  const name = (button.getAttribute("aria-label") ?? text.join("")).replace(/\s+/g, " ").trim();
  const menu = button.closest("details.menu")?.querySelector("summary")?.textContent?.trim();
  return menu && name ? `${menu}: ${name}` : name;
}

/** Elements in an element and in the shadow roots inside it, but not in long lists. */
function* deepAll<Kind extends HTMLElement>(root: HTMLElement | ShadowRoot, selector: string): Generator<Kind> {
  if (root instanceof HTMLElement && ["LOOM-TAKE-CARDS", "LOOM-PALETTE"].includes(root.tagName)) return;
  const inside = root instanceof HTMLElement ? (root.shadowRoot ?? root) : root;
  yield* inside.querySelectorAll<Kind>(selector);
  for (const element of inside.querySelectorAll<HTMLElement>("*"))
    if (element.shadowRoot) yield* deepAll<Kind>(element, selector);
}

/** All fields, also those of groups and of methods. */
function fieldsOf(fields: readonly Field[]): Field[] {
  const all = fields.flatMap((field) =>
    field.kind === "group"
      ? fieldsOf(field.fields)
      : [field, ...fieldsOf(field.variants.flatMap((variant) => variant.fields))],
  );
  return all.filter((field, at) => all.findIndex((one) => one.name === field.name) === at);
}

/** Focus the input of a setting, once its view is there; what hides it is opened. */
async function focusInput(root: HTMLElement, id: string): Promise<void> {
  for (let frame = 0; frame < WAIT; frame++) {
    await new Promise(requestAnimationFrame);
    const aside = root.shadowRoot!.querySelector("aside")!;
    for (const input of deepAll<HTMLElement>(aside, `#${CSS.escape(id)}`)) {
      for (let part: Element | null = input; part; part = part.parentElement ?? hostOf(part))
        if (part instanceof HTMLDetailsElement) part.open = true;
      input.scrollIntoView({ block: "center" });
      input.focus();
      return;
    }
  }
  // The form of the chosen method does not have it: show the others at least.
  for (const details of deepAll<HTMLDetailsElement>(root, "details.expert")) details.open = true;
}

function hostOf(element: Element): Element | null {
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}

function deepFocus(): HTMLElement | null {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element instanceof HTMLElement ? element : null;
}
