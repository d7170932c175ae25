// One verdict on a synthesized motion: "clean", or its problems and their times. Figures are under Expert.

import { LitElement, css, html, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import type { Quality } from "../net/types";
import type { Studio } from "./studio";
import { sharedStyles } from "./style";

/** Something that is wrong with a motion, and the times at which it shows; none if it is about the whole motion. */
export interface Problem {
  words: string;
  times: number[];
  /** The sentence of the report, with a remedy. */
  help: string;
}

const WORDS: Record<string, string> = {
  slide: "sliding feet",
  floor: "feet below the floor",
  seam: "a rough join",
  steps: "repeated steps",
  jump: "a jump",
  limbs: "overlapping limbs",
  balance: "out of balance",
  range: "a joint beyond its range",
  turn: "a sudden turn",
  drag: "dragging toes",
  height: "off the floor",
  flight: "an odd flight",
};
const SHOWN = 2; // problems outside of Expert
const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/** The problems that a report names. */
export function problemsOf(quality: Quality | null): Problem[] {
  if (!quality) return [];
  const passed = quality.worst.filter((one) => one.value > one.limit);
  const about = passed.map((one, at): Problem => {
    const help = quality.warnings[at] ?? "";
    const rough = quality.rough_seams;
    if (one.measure === "seam" && rough.length > 1) {
      const count = NUMBERS[rough.length] ?? String(rough.length);
      return { words: `${count} rough joins`, times: rough.map((seam) => seam.second), help };
    }
    return { words: WORDS[one.measure] ?? one.measure, times: [one.second], help };
  });
  // The sentences after those about frames are about the whole motion: its path, its beats.
  const whole = quality.warnings.slice(passed.length);
  return [...about, ...whole.map((help) => ({ words: help.split(":")[0], times: [], help }))];
}

/** The verdict in a few words. */
export function verdictText(quality: Quality | null): string {
  const problems = problemsOf(quality);
  return problems.length ? problems.map((one) => one.words).join(", ") : "clean";
}

@customElement("loom-verdict")
export class Verdict extends LitElement {
  @property({ attribute: false }) studio!: Studio;
  @property({ attribute: false }) quality: Quality | null = null;
  private shown = -1; // of the times of a problem

  static styles = [
    sharedStyles,
    css`
    :host { display: block; }
    .verdict { display: flex; flex-wrap: wrap; gap: var(--space-1); align-items: center; margin: 0; }
    .clean { color: var(--good); font-weight: 600; }
    .rough, .whole { color: var(--warn); border-color: color-mix(in srgb, var(--warn) 50%, var(--line)); }
    .whole { border: 0; padding: 0; white-space: normal; }
    details { font-size: var(--text-small); margin-top: var(--space-1); } summary { color: var(--faint); cursor: pointer; }
    details p { margin: var(--space-1) 0 0; } .warning { color: var(--warn); }
  `,
  ];

  /** Show the next place of a problem: at its time, paused, with the timeline around it. */
  private look(problem: Problem): void {
    this.shown = (this.shown + 1) % problem.times.length;
    const time = problem.times[this.shown];
    const { clock } = this.studio.stage;
    clock.pause();
    clock.seek(time);
    this.studio.reveal(time);
  }

  render() {
    const { quality } = this;
    if (!quality) return nothing;
    const all = problemsOf(quality);
    const problems = all.slice(0, SHOWN);
    const more = all.length - problems.length;
    return html`<p class="verdict" role="status">${
      problems.length
        ? problems.map((one) =>
            one.times.length
              ? html`<button class="rough" title="Show on the timeline. ${one.help}" @click=${() => this.look(one)}>${one.words}</button>`
              : html`<span class="whole" title=${one.help}>${one.words}</span>`,
          )
        : html`<span class="clean">clean</span>`
    }${more ? html`<span class="faint">and ${more} more</span>` : nothing}</p>
      <details class="expert"><summary>Expert: figures</summary><p class="quality faint">${quality.line}</p>
        ${quality.warnings.map((warning) => html`<p class="quality warning">${warning}</p>`)}<slot></slot></details>`;
  }
}
