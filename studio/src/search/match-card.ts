// A match as a card: figure over the query's ghost, distance, tier, motion and frames.

import { css, html } from "lit";
import type { Figure } from "../motion/aligned";
import type { Match } from "../net/answers";
import "./figure-loop";
import type { Verdict } from "./verdicts";

export const cardStyles = css`
  .cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(132px, 1fr)); gap: 8px; }
  .card { position: relative; background: #181c22; border: 1px solid var(--line); border-radius: 7px; cursor: pointer; outline-offset: -2px;
    overflow: hidden; user-select: none; }
  .card:hover { border-color: #4a5261; }
  .card[aria-selected="true"] { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
  .card.accepted { border-color: var(--good); }
  .card.accepted[aria-selected="true"] { box-shadow: 0 0 0 1px var(--good); }
  .card.rejected { opacity: 0.38; }
  .card loom-figure { height: 118px; }
  .card .rank { position: absolute; left: 6px; top: 4px; font-size: 11px; color: var(--faint); }
  .card .far { position: absolute; right: 6px; top: 4px; font-size: 12px; font-variant-numeric: tabular-nums; }
  .card .about { padding: 3px 7px 6px; font-size: 11px; line-height: 1.35; }
  .card .name { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; font-size: 12px; }
  .card .judge { position: absolute; right: 4px; top: 94px; display: flex; gap: 3px; opacity: 0; }
  .card:hover .judge, .card:focus-within .judge, .card[aria-selected="true"] .judge,
  .card.accepted .judge, .card.rejected .judge { opacity: 1; }
  .card .judge button { padding: 0; width: 22px; height: 20px; line-height: 1; font-size: 12px; }
  .card .judge .yes[aria-pressed="true"] { background: var(--good); color: #10150c; border-color: var(--good); }
  .card .judge .no[aria-pressed="true"] { background: var(--bad); color: #180c0c; border-color: var(--bad); }
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
    verdict: Verdict;
    tiers: boolean;
    show: () => void;
    judge: (verdict: Verdict) => void;
  },
) {
  const { verdict } = given;
  const judge = (wanted: Verdict) => (event: Event) => {
    event.stopPropagation();
    given.judge(verdict === wanted ? null : wanted);
  };
  return html`<div class="card ${verdict ?? ""}" role="option" tabindex=${given.chosen ? 0 : -1} data-number=${number}
      aria-selected=${given.chosen} aria-label="${row.motion}, frames ${row.start_frame} to ${row.end_frame}"
      title="${row.motion}:${row.start_frame}-${row.end_frame}${row.label ? ` · ${row.label}` : ""}"
      @click=${given.show}>
    <loom-figure .figure=${given.figure} .ghost=${given.ghost} .seconds=${given.seconds}></loom-figure>
    <span class="rank">${number + 1}</span><span class="far">${distanceText(row.distance, given.unit)}</span>
    <span class="judge">
      <button class="yes" aria-pressed=${verdict === "accepted"} title="Accept (A)" @click=${judge("accepted")}>✓</button>
      <button class="no" aria-pressed=${verdict === "rejected"} title="Reject (R)" @click=${judge("rejected")}>✕</button></span>
    <div class="about"><div class="name">${shortName(row.motion)}</div>
      <div class="faint">${row.start_frame}–${row.end_frame}${row.label ? ` · ${row.label}` : ""}${given.tiers ? ` · tier ${row.tier}` : ""}</div></div>
  </div>`;
}
