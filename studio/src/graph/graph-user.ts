// Base of the views that use a motion graph: builds the graph in the address, and starts and stops walks through it.

import { state } from "lit/decorators.js";
import { finished, send, sendForArrays, type Body, type Job } from "../net/api";
import type { GraphHead, Schema } from "../net/types";
import type { Subject } from "../page/subject-bar";
import { View } from "../page/view";
import { Walker } from "../walk/walker";
import type { DrawnGraph } from "./arcs";
import { graphSettings, type GraphQuery } from "./graph-form";

export abstract class GraphUser extends View {
  @state() protected drawn: DrawnGraph | null = null;
  @state() protected job: Job | null = null;
  @state() protected walker: Walker | null = null;
  @state() protected seed = 1;
  @state() protected automatic = true;
  @state() protected busy = "";
  protected head: GraphHead | null = null;
  protected last: { steered: Walker["steered"]; frames: number } | null = null;
  private shown = "";
  /** Settled when the graph in the address is there, or has failed. */
  protected building: Promise<void> = Promise.resolve();

  connectedCallback(): void {
    super.connectedCallback();
    this.listen(this.studio.stage, "frame", () => this.walker && this.walking(this.walker));
    this.watch(["restored"], () => {
      this.shown = "";
      this.halt();
      this.routeChanged(this.query);
    });
  }

  disconnectedCallback(): void {
    super.disconnectedCallback();
    this.halt();
    this.shown = "";
  }

  protected get query(): GraphQuery {
    return this.studio.route.query;
  }
  protected get settings(): Schema["GraphSettings"] {
    return graphSettings(this.query);
  }

  /** Query: label, only, all, distance, per_minute, max_distance, ... of the graph, and seed. */
  protected routeChanged(query: GraphQuery): void {
    this.seed = Number(query.seed ?? this.seed);
    const wanted = JSON.stringify(graphSettings(query));
    if ((!query.label && !query.only && !query.all) || wanted === this.shown) {
      this.requestUpdate();
      return;
    }
    this.shown = wanted;
    this.halt();
    this.drawn = this.head = null;
    this.building = this.build(query);
  }

  private async build(query: GraphQuery): Promise<void> {
    const turn = this.turns.begin("graph");
    const { signal } = turn;
    await this.studio.attempt(async () => {
      try {
        const job = await send("post", "graphs", { body: { settings: this.settings }, signal });
        await finished(job, (now) => (this.job = now), signal);
        await this.fetch(signal);
      } catch (error) {
        if (turn.current) this.shown = ""; // allows another attempt
        throw error;
      }
      this.built(query);
    });
  }

  /** Called when the graph of the address is there. */
  protected built(_query: GraphQuery): void {}

  /** Called for every drawn frame of a walk. */
  protected walking(_walker: Walker): void {}

  /** Run requests that replace those of the same kind, and show that the view is busy. */
  protected async work(kind: string, busy: string, requests: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const turn = this.turns.begin(kind);
    this.busy = busy;
    await this.studio.attempt(() => requests(turn.signal));
    if (turn.current) this.busy = "";
  }

  protected async fetch(signal?: AbortSignal): Promise<void> {
    const { meta, arrays } = await sendForArrays("graphs/drawn", { body: { settings: this.settings }, signal });
    this.head = meta;
    this.drawn = {
      ...meta,
      source: arrays.source as Int32Array,
      target: arrays.target as Int32Array,
      errors: arrays.errors as Float32Array,
      state: arrays.states as Uint8Array,
    };
  }

  /** Stop a walk that has no end. */
  protected halt(): void {
    if (!this.walker) return;
    this.last = { steered: this.walker.steered, frames: this.walker.shownFrame };
    this.walker.stop();
    this.walker = null;
  }

  /** Start a random walk that has no end. */
  protected async wander(subject: Subject): Promise<void> {
    const walker = new Walker(this.studio, this.settings, this.seed, undefined, subject);
    walker.addEventListener("ended", () => {
      if (this.walker === walker) this.halt();
    });
    walker.addEventListener("change", () => this.requestUpdate());
    this.walker = walker;
    if (!this.automatic) walker.steer({ automatic: false });
    await this.studio.attempt(() => walker.start());
  }

  /** The request that repeats the last random walk. */
  protected wandered(): Body<"graphs/walk"> {
    const { settings: graph, seed } = this;
    const { steered, frames } = this.walker
      ? { steered: this.walker.steered, frames: this.walker.shownFrame }
      : (this.last ?? { steered: [], frames: 0 });
    const seconds = frames > 1 ? frames / this.drawn!.fps : 20;
    return { graph, settings: { seed, seconds }, steered: steered.filter((one) => one.frame < frames) };
  }
}
