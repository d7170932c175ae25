"""One self-contained page with what the doctor found, a live figure beside each report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from motionloom.motion import Motion
from motionloom.plots.clipdata import Budget
from motionloom.plots.player import player_html
from motionloom.whole_file import whole_file

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #2b303a; background: #fff; }
article { border-top: 1px solid #d9dde5; padding: 1.2rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; }
dt { color: #7b8494; } dd { margin: 0; }
li.fault::marker { color: #c0392b; } li.doubt::marker { color: #d68910; }
li.fault b { color: #c0392b; } li.doubt b { color: #b9770e; }
li small { color: #7b8494; display: block; }
@media (prefers-color-scheme: dark) { body { color: #d8dce4; background: #16181d; } }
"""


def write_doctor_page(
    reports: Iterable[tuple[Motion, Mapping[str, Any]]], path: str | Path
) -> Path:
    """Write reports as one HTML page; nothing on it comes from elsewhere.

    Parameters
    ----------
    reports : iterable of (Motion, mapping)
        Each motion with what ``motionloom doctor --json`` says of it.
    path : str or Path
    """
    articles = [_article(motion, report) for motion, report in reports]
    faults = sum("class='fault'" in article for article in articles)
    with whole_file(path) as scratch:
        scratch.write_text(
            "<!doctype html><meta charset='utf-8'><title>motionloom doctor</title>"
            f"<style>{_STYLE}</style><h1>Examination</h1>"
            f"<p>{len(articles)} motions, {faults} with faults.</p>{''.join(articles)}",
            encoding="utf-8",
        )
    return Path(path)


def _article(motion: Motion, report: Mapping[str, Any]) -> str:
    height = f"{report['height_m']:.2f} m" if report["height_m"] else "unknown"
    floor = "unknown" if report["floor_m"] is None else f"{100 * report['floor_m']:.1f} cm"
    facts = {
        "frames": f"{report['frames']} at {report['fps']:g} fps = {report['seconds']:.2f} s",
        "unit": f"1 = {report['unit_m']:g} m ({report['unit_reason']})",
        "height": height,
        "axes": f"up {report['up']}, at rest facing {report['facing'] or 'unknown'}",
        "balls of the feet stand at": floor,
        "joint names": report["role_scheme"],
        "missing roles": ", ".join(report["missing_roles"]) or "none",
    }
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    found = "".join(
        f"<li class='{finding['severity']}'><b>{finding['severity']}</b> "
        f"{escape(finding['message'])}<small>{escape(finding['advice'])}</small></li>"
        for finding in report["findings"]
    )
    figure = player_html(motion, budget=Budget(fps=15.0, frames=120, seconds=8.0))
    return (
        f"<article><h2>{escape(str(report['file']))}</h2><dl>{rows}</dl>"
        f"<ul>{found or '<li>healthy</li>'}</ul>{figure}</article>"
    )
