// A match as a card: figure over the query's ghost, distance, tier, motion and frames.

import { css, html } from "lit";
import type { Figure } from "../motion/aligned";
import type { Match } from "../net/types";
import type { Form } from "../library/selection-bar";
import "./figure-loop";
import type { Verdict } from "./verdicts";

export const cardStyles = css`
  .cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(132px, 1fr)); gap: 8px; }
  .card { position: relative; background: var(--card); border: 1px solid var(--line); border-radius: 7px; cursor: pointer; outline-offset: -2px;
    overflow: hidden; user-select: none; }
  .card:hover { border-color: var(--edge); }
  .card.chosen { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
  .card.accepted { border-color: var(--good); }
  .card.accepted.chosen { box-shadow: 0 0 0 1px var(--good); }
  .card.rejected { border-style: dashed; }
  .card.rejected loom-figure { opacity: 0.25; filter: grayscale(1); }
  .card.rejected .name { text-decoration: line-through; }
  .card .open { all: unset; display: block; width: 100%; cursor: pointer; }
  .card .open:focus-visible { outline: 2px solid var(--cool); outline-offset: -3px; border-radius: 6px; }
  .card loom-figure { height: 118px; }
  .card .rank { position: absolute; left: 6px; top: 4px; font-size: 11px; color: var(--faint); }
  .card .far { position: absolute; right: 6px; top: 4px; font-size: 12px; font-variant-numeric: tabular-nums; }
  .card .about { padding: 3px 7px 6px; font-size: 11px; line-height: 1.35; }
  .card .name { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; font-size: 12px; }
  .card .judge { position: absolute; right: 4px; top: 94px; display: flex; gap: 3px; opacity: 0; }
  .card:hover .judge, .card:focus-within .judge, .card.chosen .judge,
  .card.accepted .judge, .card.rejected .judge { opacity: 1; }
  .card .verbs { position: absolute; left: 4px; top: 24px; display: none; flex-direction: column; gap: 3px; }
  .card:hover .verbs { display: flex; }
  .card .verbs button { padding: 0 5px; height: 20px; min-width: 22px; line-height: 1; font-size: 11px; background: var(--panel); }
  @media (pointer: coarse) { .card:hover .verbs { display: none; } .card .judge { opacity: 1; } }
  .card .judge button { padding: 0; width: 22px; height: 20px; line-height: 1; font-size: 12px; }
  .card .judge .yes[aria-pressed="true"] { background: var(--good); color: var(--on-accent); border-color: var(--good); }
  .card .judge .no[aria-pressed="true"] { background: var(--bad); color: var(--on-accent); border-color: var(--bad); }
`;

/** A long name without its middle: names of takes differ at start and end. */
export function shortName(name: string, most = 20): string {
  const half = (most - 1) / 2;
  return name.length <= most ? name : `${name.slice(0, Math.floor(half))}…${name.slice(-Math.ceil(half))}`;
}

export function distanceText(distance: number, unit: string): string {
  const digits = unit === "m" ? 3 : unit === "degrees" ? 1 : 2;
  return `${distance.toFixed(digits)}${unit === "degrees" ? "°" : ` ${unit}`}`;
}

export function matchCard(
  row: Match,
  number: number,
  given: {
    figure: Figure | null;
    ghost: Figure | null;
    seconds: number;
    unit: string;
    chosen: boolean;
    /** Whether the Tab key stops at this card. */
    stop: boolean;
    verdict: Verdict;
    tiers: boolean;
    show: () => void;
    judge: (verdict: Verdict) => void;
    like: () => void;
    open: (form: Form) => void;
  },
) {
  const { verdict } = given;
  const judge = (wanted: Verdict) => (event: Event) => {
    event.stopPropagation();
    given.judge(verdict === wanted ? null : wanted);
  };
  const which = `match ${number + 1}`;
  return html`<div class=${["card", verdict, given.chosen && "chosen"].filter(Boolean).join(" ")} role="listitem" data-number=${number}
      title="${row.motion}:${row.start_frame}-${row.end_frame}${row.label ? ` · ${row.label}` : ""}">
    <button class="open" data-card tabindex=${given.stop ? 0 : -1} aria-current=${given.chosen} @click=${given.show}>
      <loom-figure aria-hidden="true" .figure=${given.figure} .ghost=${given.ghost} .seconds=${given.seconds}></loom-figure>
      <span class="rank">${number + 1}</span><span class="far">${distanceText(row.distance, given.unit)}</span>
      <div class="about"><div class="name">${shortName(row.motion)}</div>
        <div class="faint">${row.start_frame}–${row.end_frame}${row.label ? ` · ${row.label}` : ""}${given.tiers ? ` · tier ${row.tier}` : ""}${row.mirrored ? html` · <b>mirrored</b>` : ""}</div></div></button>
    <span class="verbs">
      <button class="like" tabindex="-1" title="Search for segments like this one" aria-label="Search for segments like ${which}" @click=${given.like}>≈</button>
      <button class="label" tabindex="-1" title="Label" aria-label="Label ${which}" @click=${() => given.open("label")}>label</button>
      <button class="keep" tabindex="-1" title="Keep as a take" aria-label="Keep ${which} as a take" @click=${() => given.open("keep")}>+</button>
      <button class="export" tabindex="-1" title="Export" aria-label="Export ${which}" @click=${() => given.open("export")}>⤓</button></span>
    <span class="judge">
      <button class="yes" tabindex=${given.stop ? 0 : -1} aria-label="Accept ${which}" aria-pressed=${verdict === "accepted"} title="Accept (A)" @click=${judge("accepted")}>✓</button>
      <button class="no" tabindex=${given.stop ? 0 : -1} aria-label="Reject ${which}" aria-pressed=${verdict === "rejected"} title="Reject (R)" @click=${judge("rejected")}>✕</button></span>
  </div>`;
}
