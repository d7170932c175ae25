// The Lab's view of transitions: play and edit the transitions of a motion graph, and walk through it.

import { css, html } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { motionFrom, wornQuery } from "../motion/motion";
import { send, sendForArrays } from "../net/api";
import "../page/code-line";
import { pythonLiteral, shellWord } from "../page/command-line";
import { inputValue, isChecked } from "../page/form-input";
import { measureName } from "../page/measure-names";
import "../page/progress-line";
import { sharedStyles } from "../page/style";
import type { Walker } from "../walk/walker";
import "./arcs";
import { transitionText, type Arcs, type TransitionPair } from "./arcs";
import "./graph-form";
import type { GraphQuery } from "./graph-form";
import { GraphUser } from "./graph-user";
import "./movement-graph";

@customElement("loom-graph-view")
export class GraphView extends GraphUser {
  @state() private picked: TransitionPair | null = null;

  @query("loom-arcs") private arcs!: Arcs | null;
  @query("#position") private status!: HTMLElement | null;

  static styles = [
    sharedStyles,
    css`
    section { margin: 10px 0; }
    nav { display: flex; gap: 6px; margin-bottom: 10px; }
    .directions { display: grid; grid-template-columns: 1fr auto auto; gap: 6px 10px; align-items: center; background: var(--well); border-radius: 6px; padding: 8px 12px; }
    .chip { font-size: var(--text-small); padding: 1px 8px; border-radius: 9px; background: var(--raised); }
    .locked { color: var(--good); } .removed { color: var(--bad); }
    .check { display: flex; gap: 6px; align-items: center; } .check input { width: auto; }
    #seed { width: 70px; } .numbers { font-variant-numeric: tabular-nums; }
  `,
  ];

  /** Query: the graph's, and show ("movements"). */
  protected routeChanged(query: GraphQuery): void {
    if (query.show === "movements") this.requestUpdate();
    else super.routeChanged(query);
  }

  protected built(): void {
    this.picked = null;
  }

  protected walking(walker: Walker): void {
    const position = walker.position();
    this.arcs?.showPosition(position);
    if (this.status && position)
      // updated every frame, without rendering
      this.status.textContent = `${position.name} at frame ${Math.round(position.frame)}; ${walker.shownTransitions} transitions so far`;
  }

  private async pick(pair: TransitionPair | null): Promise<void> {
    this.picked = pair;
    if (pair) await this.playTransition(pair.forward >= 0 ? pair.forward : pair.backward);
  }

  private async playTransition(number: number): Promise<void> {
    this.halt();
    await this.work("watch", "", async (signal) => {
      const message = await sendForArrays("graphs/transition", {
        body: { graph: this.settings, transition: transitionText(this.drawn!, number) },
        query: wornQuery(),
        signal,
      });
      this.studio.show([{ motion: motionFrom(message), title: "transition" }]);
      this.studio.stage.clock.play();
    });
  }

  private async edit(action: "remove" | "lock" | "restore", number: number): Promise<void> {
    this.halt();
    const { a, i, b, j } = this.picked!;
    await this.studio.attempt(async () => {
      const transition = transitionText(this.drawn!, number);
      await send("post", "graphs/edits", { body: { action, transition } });
      try {
        await this.fetch();
      } catch (error) {
        // without it, the graph is no longer connected
        await send("post", "graphs/edits", { body: { action: "restore", transition } });
        await this.fetch();
        throw error;
      }
      await this.updateComplete;
      await this.arcs?.updateComplete;
      this.picked = this.arcs?.pairs.find((one) => one.a === a && one.i === i && one.b === b && one.j === j) ?? null;
    });
  }

  private act(what: "play" | "remove" | "lock"): void {
    const number = this.picked!.forward >= 0 ? this.picked!.forward : this.picked!.backward;
    const state = this.drawn!.states[this.drawn!.state[number]];
    if (what === "play") void this.playTransition(number);
    else void this.edit(state === (what === "remove" ? "removed" : "locked") ? "restore" : what, number);
  }

  protected halt(): void {
    super.halt();
    this.arcs?.showPosition(null);
  }

  private readonly walk = async (): Promise<void> => {
    if (this.walker) {
      this.halt();
      this.studio.stage.clock.pause();
    } else await this.wander({ title: "walk", body: () => ({ kind: "walk", ...this.wandered() }) });
  };

  protected characterChanged(): void {
    if (this.walker) this.studio.notify("The walk will use the character the next time it starts.");
  }

  private direction(number: number) {
    if (number < 0) return "";
    const drawn = this.drawn!;
    const text = transitionText(drawn, number);
    const state = drawn.states[drawn.state[number]];
    const [from, to] = text.split(/,(?=[^,]*:\d+$)/);
    return html`<span><b>${from}</b> → <b>${to}</b></span><span class="chip ${state}">${state}</span>
      <span class="row"><button @click=${() => this.playTransition(number)}>Play</button>
        ${
          state === "removed" || state === "locked"
            ? html`<button class="restore" @click=${() => this.edit("restore", number)}>${state === "locked" ? "Unlock" : "Restore"}</button>`
            : html`<button class="remove" @click=${() => this.edit("remove", number)}>Remove</button><button class="lock" @click=${() => this.edit("lock", number)}>Lock</button>`
        }</span>`;
  }

  private chosen() {
    const pair = this.picked;
    if (!pair)
      return html`<p class="faint">Click an arc to play its transition. Then you can remove it, or lock it so that it is kept at any threshold.</p>`;
    const number = pair.forward >= 0 ? pair.forward : pair.backward;
    const text = transitionText(this.drawn!, number);
    const removed = this.drawn!.states[this.drawn!.state[number]] === "removed";
    const lib = this.studio.library.path;
    const action = removed ? "restore" : "remove";
    return html`<div class="directions">${this.direction(pair.forward)}${this.direction(pair.backward)}</div>
      <p class="faint">error ${pair.error.toPrecision(3)}; edits are saved with the library.</p>
      <loom-code cli=${`motionloom graph ${shellWord(lib)} ${action} --transition ${shellWord(text)} ${this.head!.flags.map(shellWord).join(" ")}`}
        python=${`import motionloom as ml; ml.Library(${pythonLiteral(lib)}).graphs.edit("${action}", ${pythonLiteral(text)})`}></loom-code>`;
  }

  private walkPanel() {
    const steer = (controls: { transition?: boolean; automatic?: boolean }) => this.walker?.steer(controls);
    return html`<section><div class="row">
      <button id="walk" aria-pressed=${Boolean(this.walker)} @click=${this.walk}>${this.walker ? "Stop" : "Walk"}</button>
      <button id="now" ?disabled=${!this.walker} @click=${() => steer({ transition: true })}>Transition now</button>
      <label class="check"><input type="checkbox" .checked=${this.automatic} @change=${(e: Event) => {
        this.automatic = isChecked(e);
        steer({ automatic: this.automatic });
      }} />automatic</label>
      <label class="row">seed <input id="seed" type="number" min="0" .value=${String(this.seed)}
        @change=${(e: Event) => {
          this.halt();
          this.seed = Number(inputValue(e));
          this.studio.replaceQuery({ ...this.query, seed: this.seed });
        }} /></label></div>
      <p class="numbers faint" id="seen">${this.walker ? html`<span id="position"></span>` : "A walk shows which transitions are played."}</p></section>`;
  }

  private summary() {
    const { info } = this.head!;
    const cut = info.removed.motions.length ? `; cut off: ${info.removed.motions.join(", ")}` : "";
    const edited = info.removed.by_hand ? `; ${info.removed.by_hand} removed by hand` : "";
    return html`<p id="summary"><b>${info.transitions.toLocaleString("en")}</b> transitions between <b>${info.motions}</b> takes,
      by ${measureName(info.distance)} below ${info.threshold.toPrecision(3)}<span class="faint">${edited}${cut}.
      The setting per minute chooses this distance; transitions that connect single takes are added to it, in both directions.</span></p>`;
  }

  private takes() {
    const build = (event: CustomEvent<GraphQuery>) =>
      this.studio.go("graph", { ...event.detail, seed: this.query.seed });
    return html`<loom-graph-form .studio=${this.studio} .query=${this.query} ?busy=${this.job !== null} @build=${build}></loom-graph-form>
      <loom-progress .job=${this.job}></loom-progress>
      ${
        this.drawn
          ? html`${this.summary()}${this.walkPanel()}
        <loom-arcs .drawn=${this.drawn} .picked=${this.picked} @pick=${(e: CustomEvent<TransitionPair | null>) => this.pick(e.detail)} @act=${(e: CustomEvent) => this.act(e.detail)}></loom-arcs>
        <section>${this.chosen()}</section>
        <section><loom-code cli=${this.head!.lines.cli} python=${this.head!.lines.python}></loom-code></section>`
          : this.job
            ? ""
            : html`<p class="faint">Choose a label, such as walk, or enter names of takes, to find transitions between them.</p>`
      }`;
  }

  render() {
    const movements = this.query.show === "movements";
    const tab = (
      words: string,
      show: string | undefined,
    ) => html`<button aria-pressed=${(show === "movements") === movements}
      @click=${() => {
        this.halt();
        this.studio.go("graph", { ...this.query, show });
      }}>${words}</button>`;
    return html`<nav>${tab("Takes and transitions", undefined)}${tab("Dance movements", "movements")}</nav>
      ${movements ? html`<loom-movement-graph .studio=${this.studio} name=${this.query.steps ?? ""}></loom-movement-graph>` : this.takes()}`;
  }
}
