// Base class of the parts of the page: their watches, answers and listeners end when they leave the page.

import { LitElement } from "lit";
import { property } from "lit/decorators.js";
import { Turns } from "../net/turns";
import type { PageRequests, PageState, Studio } from "./studio";

export abstract class StudioElement extends LitElement {
  @property({ attribute: false }) studio!: Studio;
  /** Work of this part, which ends when it leaves the page. */
  protected readonly turns = new Turns();
  private endings: (() => void)[] = [];

  disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const end of this.endings) end();
    this.endings = [];
    this.turns.leave();
  }

  /** Call a function, or render, after any of the keys has changed. */
  protected watch(keys: readonly (keyof PageState)[], call: () => void = () => this.requestUpdate()): void {
    this.endings.push(this.studio.watch(keys, call));
  }

  /** Answer a request of the page; `answer` returns true if it did. */
  protected answers<Kind extends keyof PageRequests>(
    kind: Kind,
    answer: (detail: PageRequests[Kind]) => boolean,
  ): void {
    this.endings.push(this.studio.requests.answer(kind, answer));
  }

  /** Listen to the stage, the window, ... */
  protected listen(
    target: EventTarget,
    name: string,
    handler: (event: Event) => void,
    options: AddEventListenerOptions = {},
  ): void {
    target.addEventListener(name, handler, options);
    this.endings.push(() => target.removeEventListener(name, handler, options));
  }

  /** Call a function now and when the size of an element changes. */
  protected watchSize(element: Element, call: () => void): void {
    const sizes = new ResizeObserver(call);
    sizes.observe(element);
    this.endings.push(() => sizes.disconnect());
  }

  /** The menus of this part, `<details class="menu">`, close on a click elsewhere and on Esc. */
  protected closeMenusOutside(): void {
    this.listen(window, "pointerdown", (event) => {
      const path = event.composedPath();
      this.closeMenus((menu) => !path.includes(menu));
    });
    this.answers("escape", () => this.closeMenus());
  }

  /** Close open menus; true if there were any. */
  protected closeMenus(which: (menu: HTMLDetailsElement) => boolean = () => true): boolean {
    const open = [...this.renderRoot.querySelectorAll<HTMLDetailsElement>("details.menu[open]")].filter(which);
    for (const menu of open) {
      const focused = menu.contains((this.renderRoot as ShadowRoot).activeElement);
      menu.open = false;
      if (focused) menu.querySelector("summary")?.focus();
    }
    return open.length > 0;
  }
}
