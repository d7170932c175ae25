"""One self-contained page with what the doctor found, a live figure beside each report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from motionloom.atomic_write import atomic_write
from motionloom.motion import Motion
from motionloom.plots.player import Budget, clip_attribute, clip_data, page_part

_BUDGET = Budget(fps=15.0, frames=120, seconds=8.0, points=40)
_STYLE = """
:root { --ink: #2b303a; --faint: #7b8494; --paper: #fff; --line: #dfe3ea;
  --fault: #c0392b; --doubt: #b9770e; --well: #2e7d4f; }
@media (prefers-color-scheme: dark) { :root { --ink: #d8dce4; --faint: #8b94a5;
  --paper: #16181d; --line: #2c313b; --fault: #ff7b6b; --doubt: #f0b14a; --well: #6fcf97; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 66rem;
  padding: 0 1rem; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
article { border-top: 1px solid var(--line); padding: 1.2rem 0; display: grid;
  grid-template-columns: minmax(0, 1fr) 20rem; gap: 1rem 2rem; }
@media (max-width: 50rem) { article { grid-template-columns: minmax(0, 1fr); } }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .6rem 0; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
ul { list-style: none; padding: 0; margin: .4rem 0; } li { margin: .3rem 0; padding-left: .8rem;
  border-left: 3px solid var(--line); }
li.fault { border-color: var(--fault); } li.fault b { color: var(--fault); }
li.doubt { border-color: var(--doubt); } li.doubt b { color: var(--doubt); }
li.well { border-color: var(--well); } li.well b { color: var(--well); }
small { color: var(--faint); display: block; }
table { border-collapse: collapse; font-size: .85rem; margin: .4rem 0; }
td, th { text-align: left; padding: 0 .9rem 0 0; font-weight: normal; } th { color: var(--faint); }
summary { cursor: pointer; color: var(--faint); }
nav a { display: inline-block; margin: 0 .8rem .2rem 0; color: var(--ink); }
nav a.fault { color: var(--fault); } nav a.doubt { color: var(--doubt); }
"""


@dataclass(frozen=True)
class Article:
    """One report as HTML: its title, the worst it found, and the fragment itself."""

    title: str
    worst: str
    html: str


def doctor_article(motion: Motion, report: Mapping[str, Any]) -> Article:
    """What ``motionloom doctor --json`` says of a motion, as a fragment of a page."""
    worst = next(
        (kind for kind in ("fault", "doubt") if kind in _kinds(report)),
        "doubt" if report["warnings"] else "well",
    )
    figure = ""
    if len(motion):
        clip = clip_attribute(clip_data(motion, _BUDGET, name=" "))
        figure = f'<div class="motionloom-player" data-clip="{clip}"></div>'
    html = (
        f"<div><h2>{escape(str(report['file']))}</h2>{_findings(report)}{_facts(report)}"
        f"{_joint_map(report)}</div><div>{figure}</div>"
    )
    return Article(str(report["file"]), worst, html)


def write_doctor_page(
    articles: Sequence[Article], path: str | Path, *, failed: Sequence[Mapping[str, str]] = ()
) -> Path:
    """Write reports as one HTML page, the worst first; nothing on it comes from elsewhere.

    Parameters
    ----------
    articles : sequence of Article
        From `doctor_article`.
    path : str or Path
        Written under a temporary name and renamed.
    failed : sequence of mapping
        ``file`` and ``reason`` of what could not be read at all.
    """
    rank = {"fault": 0, "doubt": 1, "well": 2}
    ordered = sorted(articles, key=lambda article: rank[article.worst])
    counts = {kind: sum(a.worst == kind for a in articles) for kind in rank}
    unread = "".join(
        f"<li class='fault'><b>unreadable</b> {escape(f['reason'])}</li>" for f in failed
    )
    links = "".join(
        f"<a class='{a.worst}' href='#m{k}'>{escape(a.title)}</a>" for k, a in enumerate(ordered)
    )
    bodies = "".join(f"<article id='m{k}'>{a.html}</article>" for k, a in enumerate(ordered))
    with atomic_write(path) as scratch:
        scratch.write_text(
            "<!doctype html><html lang='en'><meta charset='utf-8'>"
            "<meta name='viewport' content='width=device-width'><title>motionloom doctor</title>"
            f"<style>{page_part('player.css')}{_STYLE}</style><h1>Examination</h1>"
            f"<p>{len(articles)} motions: {counts['fault']} with faults, {counts['doubt']} in "
            f"doubt, {counts['well']} healthy.</p><ul>{unread}</ul>"
            f"<nav>{links if len(ordered) > 1 else ''}</nav>{bodies}"
            f"<script>(function () {{\n{page_part('player.js')}\n"
            "MotionloomPlayer.mountAll(document);\n})();</script></html>",
            encoding="utf-8",
        )
    return Path(path)


def _kinds(report: Mapping[str, Any]) -> set[str]:
    return {finding["severity"] for finding in report["findings"]}


def _findings(report: Mapping[str, Any]) -> str:
    items = [
        f"<li class='{finding['severity']}'><b>{finding['severity']}</b> "
        f"{escape(finding['message'])}<small>{escape(finding['advice'])}</small></li>"
        for finding in report["findings"]
    ]
    told = {finding["message"] for finding in report["findings"]}
    items += [
        f"<li class='doubt'><b>doubt</b> {escape(warning)}</li>"
        for warning in report["warnings"]
        if warning not in told
    ]
    if not report["warnings"]:
        items.insert(0, "<li class='well'><b>healthy</b></li>")
    return f"<ul>{''.join(items)}</ul>"


def _facts(report: Mapping[str, Any]) -> str:
    facts = {
        "frames": f"{report['frames']} at {report['fps']:g} fps = {report['seconds']:.2f} s",
        "unit": f"1 = {report['unit_m']:g} m ({report['unit_reason'] or 'metres'})",
        "height": f"{report['height_m']:.2f} m" if report["height_m"] else "unknown",
        "axes": f"up {report['up']}, at rest facing {report['facing'] or 'unknown'}",
        "T-pose": "frame 0, kept as the rest pose" if report["tpose_frame"] == 0 else "none",
        "position channels": report["position_channels"],
    }
    if report["contacts"] is not None:
        facts["floor"] = f"balls of the feet stand at {100 * report['floor_m']:.1f} cm"
        facts["contacts"] = "; ".join(
            f"{side} {foot['contacts']}, {100 * foot['standing_share']:.0f} % of the time"
            for side, foot in report["contacts"].items()
        )
        facts["slide"] = f"{100 * report['foot_slide_m']:.1f} cm per contact"
    jumps = report["jump_frames"]
    more = ", ..." if len(jumps) > 12 else ""
    facts["jumps"] = (", ".join(map(str, jumps[:12])) + more) or "none"
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    return f"<dl>{rows}</dl>"


def _joint_map(report: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(role)}<td>{escape(name)}<td>{report['role_confidence'][role]:.2f}"
        for role, name in report["roles"].items()
    )
    missing = ", ".join(report["missing_roles"]) or "none"
    return (
        f"<details><summary>joints: names by {escape(report['role_scheme'])}, "
        f"{len(report['roles'])} roles</summary><table><tr><th>role<th>joint<th>sure{rows}"
        f"</table><p>missing: {escape(missing)}</p></details>"
    )
