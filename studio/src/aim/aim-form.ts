// The form for a new parametric motion: examples, parameter, name.

import { css, html } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { fetchMotion, type MotionData } from "../motion/motion";
import type { CodeLines, ParameterKind } from "../net/types";
import { finished, getJson, send, type Job } from "../net/api";
import { settingsFields } from "../net/settings-schema";
import { pythonLiteral, shellWord } from "../page/command-line";
import { counted } from "../page/counts";
import { inputValue } from "../page/form-input";
import "../page/progress-line";
import { movingJoint } from "./moving-joint";
import { parseSegment, segmentText } from "../page/studio";
import { StudioElement } from "../page/studio-element";
import { sharedStyles } from "../page/style";
import { bodyOf, valuesOf, type Given } from "../settings/fields";
import "../settings/settings-form";

type Source = "selection" | "label" | "family" | "takes";

const TITLES: Record<string, string> = {
  at: "position of a joint at a frame",
  final_root_position: "final position on the floor",
  lowest: "lowest position of a joint",
  highest: "highest position of a joint",
  average_speed: "average speed of the body",
  turn: "turning angle of the body",
  joint_speed: "speed of a joint at a frame",
  center_of_mass: "center of mass at a frame",
};

const fields = () => settingsFields("parametrize", ["samples"]);

/** Fires "made" with the name of the new parametric motion as `detail`. */
@customElement("loom-aim-form")
export class AimForm extends StudioElement {
  @property() family = ""; // id of a family, from the family view
  /** Takes selected in the library, each used as a whole. */
  @property({ attribute: false, hasChanged: (now: string[], old?: string[]) => now.join() !== old?.join() })
  takes: string[] = [];
  /** Names that are in use. */
  @property({ attribute: false }) saved: readonly string[] = [];
  @state() private kinds: ParameterKind[] = [];
  @state() private source: Source = "selection";
  @state() private label = "";
  @state() private kind = "at";
  @state() private joint = ""; // empty: the one that moves most
  @state() private frame: number | null = null; // null: the apex of the joint
  @state() private name = "";
  @state() private given: Given = {};
  @state() private distance = "";
  @state() private job: Job | null = null;
  @state() private starting = false;
  @state() private first: MotionData | null = null; // motion of the first example
  private familyQuery = "";
  private familyLine = ""; // Python code that computes it

  static styles = [
    sharedStyles,
    css`
    form { display: grid; gap: 10px; }
    fieldset { border: 1px solid var(--line); border-radius: 6px; padding: 8px 10px; display: grid; gap: 8px; margin: 0; }
    legend { color: var(--faint); padding: 0 4px; }
    .row label { flex: 1; min-width: 0; } select, input { width: 100%; min-width: 0; }
    .choice { display: flex; flex-wrap: wrap; gap: 6px; } .choice button { flex: 1 1 120px; white-space: normal; }
    fieldset, form > * { min-width: 0; }
  `,
  ];

  async connectedCallback(): Promise<void> {
    super.connectedCallback();
    this.watch(["selection", "library"], this.again);
    await this.studio.attempt(async () => (this.kinds = await getJson("parametric/kinds")));
  }

  private readonly again = (): void => {
    void this.loadFirst();
    this.requestUpdate();
  };

  protected willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("family")) {
      this.familyQuery = this.familyLine = "";
      if (this.family) this.source = "family";
    }
    if (changed.has("takes") && this.takes.length) this.source = "takes";
    if (["family", "source", "label", "takes"].some((name) => changed.has(name))) void this.loadFirst();
  }

  /** Load the motion of the first example. */
  private async loadFirst(): Promise<void> {
    if (this.source === "family" && this.family && !this.familyQuery) {
      await this.studio.attempt(async () => {
        const family = await getJson("families/{id}", { path: { id: this.family } });
        this.familyQuery = family.query;
        this.familyLine = family.lines?.python ?? "";
      });
    }
    const name = parseSegment(this.query())?.motion ?? this.query();
    if (!name) {
      this.first = null;
      return;
    }
    const { signal } = this.turns.begin("first");
    await this.studio.attempt(async () => {
      const first = await fetchMotion(name);
      signal.throwIfAborted(); // another example was chosen in the meantime
      this.first = first;
    });
  }

  private labels(): string[] {
    return [...this.studio.labels.keys()];
  }

  /** The first example: NAME:START-END, or the NAME of a whole take. */
  private query(): string {
    if (this.source === "family") return this.familyQuery;
    if (this.source === "takes") return this.takes[0] ?? "";
    if (this.source === "selection") return this.studio.selection ? segmentText(this.studio.selection) : "";
    const label = this.label || this.labels()[0];
    const rows = this.studio.library.motions.filter((row) => row.labels.includes(label));
    return (rows.find((row) => row.name === this.studio.take) ?? rows[0])?.name ?? "";
  }

  /** First and last frame at which a parameter can be measured. */
  private range(): [number, number] {
    const chosen = parseSegment(this.query());
    return chosen ? [chosen.start, chosen.end - 1] : [0, Math.max((this.first?.frames ?? 1) - 1, 0)];
  }

  private stageFrame(): number {
    const [low, high] = this.range();
    const { stage, take } = this.studio;
    if (!this.first || take !== this.first.name || !stage.characters.length) return Math.round((low + high) / 2);
    return Math.min(Math.max(stage.characters[0].frameAt(stage.clock.time), low), high);
  }

  private chosenJoint(): string {
    if (this.joint || !this.first) return this.joint || "right_ankle";
    const [low, high] = this.range();
    return movingJoint(this.first, low, high + 1);
  }

  private by(): string {
    const kind = this.kinds.find((one) => one.name === this.kind);
    const at = kind?.frame ? `@${this.frame ?? (kind.joint ? "apex" : this.stageFrame())}` : "";
    if (this.kind === "at") return `${this.chosenJoint()}${at}`;
    return `${this.kind}${kind?.joint ? `(${this.chosenJoint()})` : ""}${at}`;
  }

  /** The typed name, or one that is not in use. */
  private savedName(): string {
    const base = this.query()
      .split(":")[0]
      .replace(/_p\d+$/, "");
    return this.name.trim() || freeName(base, this.saved);
  }

  private body() {
    const whole = this.source === "label" || this.source === "takes";
    const label = this.label || (whole ? this.labels()[0] : "");
    return {
      ...(this.source === "family"
        ? { family: this.family }
        : whole
          ? { takes: this.query() }
          : { query: this.query() }),
      search: {
        ...(this.source === "takes" ? { only: this.takes } : label ? { label: [label] } : {}),
        ...(this.distance && !whole ? { expansion: { join_distance: Number(this.distance) } } : {}),
      },
      by: [this.by()],
      name: this.savedName(),
      settings: { ...bodyOf(fields(), this.given), examples: { drop_unmatched: true } },
    };
  }

  /** The command line and the Python code of this form. */
  private lines(): CodeLines {
    const lib = this.studio.library.path;
    const body = this.body();
    const { samples } = valuesOf(fields(), this.given);
    const { label: [label] = [], expansion } = body.search as {
      label?: string[];
      expansion?: { join_distance: number };
    };
    const labeled = label ? ` --label ${shellWord(label)}` : "";
    const far = expansion ? ` --join-distance ${expansion.join_distance}` : "";
    const whole = this.source === "label" || this.source === "takes";
    const only = this.source === "takes" ? ` --only ${shellWord(this.takes.join(","))}` : "";
    const options = `by=${pythonLiteral(this.by())}, samples=${samples}, examples=ml.ExampleRules(drop_unmatched=True), name=${pythonLiteral(body.name)}`;
    if (this.source === "family") {
      return {
        cli: "",
        python: `${this.familyLine}; ml.Library(${pythonLiteral(lib)}).parametrize(family, ${options})`,
      };
    }
    const family = whole
      ? `lib.select(first=${pythonLiteral(this.query())}, ${only ? `only=[${this.takes.map(pythonLiteral).join(", ")}]` : `label=${pythonLiteral(label ?? "")}`})`
      : `lib.family(${pythonLiteral(this.query())}${expansion ? `, expansion=ml.Expansion(join_distance=${expansion.join_distance})` : ""}${label ? `, label=${pythonLiteral(label)}` : ""})`;
    return {
      cli: `motionloom parametrize ${shellWord(lib)} ${shellWord(this.query())}${whole ? " --whole" : ""}${labeled}${only}${far} --by ${shellWord(this.by())} --samples ${samples} --drop-unmatched --name ${shellWord(body.name)}`,
      python: `import motionloom as ml; lib = ml.Library(${pythonLiteral(lib)}); lib.parametrize(${family}, ${options})`,
    };
  }

  private async build(event: Event): Promise<void> {
    event.preventDefault();
    if (this.starting || this.job) return;
    this.starting = true;
    const { signal } = this.turns.begin("make");
    await this.studio.attempt(async () => {
      const job = await send("post", "parametric", { body: this.body(), signal });
      const made = await finished(job, (now) => (this.job = now), signal);
      if (made.left_out.length)
        this.studio.notify(
          `${made.left_out.length} examples were excluded, because their foot contacts differ from those of the first example.`,
        );
      this.dispatchEvent(new CustomEvent("made", { detail: made.name }));
    });
    this.starting = false;
  }

  private exampleFields() {
    const button = (source: Source, words: string) => html`<button type="button" aria-pressed=${this.source === source}
      @click=${() => (this.source = source)}>${words}</button>`;
    const labels = this.labels();
    const menu = html`<label>label <select id="label" @change=${(e: Event) => (this.label = inputValue(e))}>
      ${this.source === "label" ? "" : html`<option value="">any</option>`}
      ${labels.map((one) => html`<option ?selected=${one === this.label}>${one}</option>`)}</select></label>`;
    const near = html`<label>maximum distance <input type="number" step="0.01" min="0.01" placeholder="0.08 m" .value=${this.distance}
      @input=${(e: Event) => (this.distance = inputValue(e))} /></label>`;
    return html`<fieldset><legend>examples</legend>
      <div class="choice">${button("selection", "matches of the selection")}${button("label", "whole takes with a label")}
        ${this.family ? button("family", "the family") : ""}
        ${this.takes.length ? button("takes", `${counted(this.takes.length, "selected take")}`) : ""}</div>
      ${
        this.query()
          ? html`<div><b>${this.query()}</b> <span class="faint">is the first example</span></div>`
          : html`<div class="faint">First select a segment: open a take in the library and drag on the timeline.</div>`
      }
      ${this.source === "family" || this.source === "takes" ? "" : html`<div class="row">${menu}${this.source === "selection" ? near : ""}</div>`}</fieldset>`;
  }

  private parameterFields() {
    const kind = this.kinds.find((one) => one.name === this.kind);
    const [low, high] = this.range();
    const joints = Object.keys(this.first?.roles ?? { right_ankle: 0 });
    return html`<fieldset><legend>parameter</legend>
      <select aria-label="Parameter" id="kind" @change=${(e: Event) => (this.kind = inputValue(e))}>
        ${this.kinds.map((one) => html`<option value=${one.name} ?selected=${one.name === this.kind} title=${one.words}>${TITLES[one.name] ?? one.words}</option>`)}</select>
      <div class="row">
        ${
          kind?.joint
            ? html`<label>joint <select id="joint" @change=${(e: Event) => (this.joint = inputValue(e))}>
          ${joints.map((one) => html`<option ?selected=${one === this.chosenJoint()}>${one}</option>`)}</select></label>`
            : ""
        }
        ${
          kind?.frame
            ? html`<label>moment <select id="moment" @change=${(e: Event) => (this.frame = inputValue(e) ? this.stageFrame() : null)}>
            ${kind.joint ? html`<option value="" ?selected=${this.frame === null}>where it is farthest out</option>` : ""}
            <option value="frame" ?selected=${this.frame !== null || !kind.joint}>at a frame…</option></select></label>
          ${
            this.frame !== null || !kind.joint
              ? html`<label>frame <input id="frame" type="number" min=${low} max=${high} .value=${String(this.frame ?? this.stageFrame())}
            @input=${(e: Event) => (this.frame = inputValue(e) ? Number(inputValue(e)) : this.stageFrame())} /></label>`
              : ""
          }`
            : ""
        }
      </div></fieldset>`;
  }

  render() {
    const lines = this.lines();
    return html`<form @submit=${this.build}>${this.exampleFields()}${this.parameterFields()}
      <div class="row"><label>name <input id="name" placeholder=${this.savedName()} .value=${this.name}
          @input=${(e: Event) => (this.name = inputValue(e))} /></label>
        <loom-settings-form .fields=${fields()} .given=${this.given}
          @settings=${(event: CustomEvent<Given>) => (this.given = event.detail)}></loom-settings-form></div>
      <button class="main" id="build" ?disabled=${!this.query() || this.job !== null || this.starting}>${this.saved.includes(this.savedName()) ? `Replace ${this.savedName()}` : "Make"}</button>
      <loom-progress .job=${this.job}></loom-progress>
      ${this.query() ? html`<loom-code cli=${lines.cli} python=${lines.python}></loom-code>` : ""}</form>`;
  }
}

/** The name, or the name with the first number that makes it unused. */
export function freeName(base: string, used: readonly string[]): string {
  if (!used.includes(base)) return base;
  for (let number = 2; ; number++) if (!used.includes(`${base} ${number}`)) return `${base} ${number}`;
}
