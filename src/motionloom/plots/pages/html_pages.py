"""Self-contained HTML pages with animated figures: contact sheets and diagnostics reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from motionloom.files import atomic_write
from motionloom.motion import Motion
from motionloom.plots.pages.player import (
    Budget,
    asset_text,
    packed_motion,
    page_html,
    page_parts,
    player_element,
)

# 12 interpolated frames per second look smooth at this size; six seconds take about 7 kB.
SHEET_BUDGET = Budget(fps=12.0, frames=72, seconds=6.0, points=40)


class SheetClip(NamedTuple):
    """A clip on a contact sheet, with its title, motion and labels.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.plots import SheetClip
    >>> SheetClip("a walk", ml.demo.clip("walk"), "walk, calm").title
    'a walk'
    """

    title: str
    motion: Motion
    labels: Sequence[str] | str = ()  # a string with labels separated by commas, or a sequence


@dataclass(frozen=True)
class Sheet:
    """Summary of a contact sheet: path, number of clips, file size, and number of cut clips."""

    path: Path
    clips: int
    bytes: int
    cut: int


def contact_sheet(
    clips: Iterable[SheetClip | tuple[str, Motion, Sequence[str] | str] | Motion],
    path: str | Path,
    *,
    title: str = "Motions",
    seconds: float = SHEET_BUDGET.seconds,
    fps: float = SHEET_BUDGET.fps,
) -> Sheet:
    """Write an HTML page with a small animated figure for every clip.

    The page works without a server or an internet connection. Clips are read one at a time, so the
    iterable may be larger than memory.

    Parameters
    ----------
    clips : iterable of Motion, or of (title, motion, labels)
        Clips in display order.
    path : str or Path
        Output file, written atomically.
    title : str
    seconds : float
        Maximum length in seconds. Only the beginning of longer clips is shown.
    fps : float
        Frames per second in the file. The page interpolates between them.

    Returns
    -------
    sheet : Sheet

    Raises
    ------
    InvalidInput
        If a clip has no frames, or `seconds` or `fps` is not positive.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sheet = contact_sheet([ml.demo.clip("walk")], f"{folder}/sheet.html")
    ...     sheet.clips, sheet.bytes < 100_000
    (1, True)
    """
    budget = Budget(
        fps=fps, frames=max(int(fps * seconds), 2), seconds=seconds, points=SHEET_BUDGET.points
    )
    before, after = _page(title, budget)
    count = cut = 0
    with atomic_write(path) as scratch:
        # Titles may contain undecodable bytes from file names.
        with scratch.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(before)
            for clip in clips:
                card = SheetClip("", clip) if isinstance(clip, Motion) else SheetClip(*clip)
                file.write(_card(card, budget))
                count += 1
                cut += card.motion.duration > budget.seconds + 1e-6
            file.write(after)
        size = scratch.stat().st_size
    return Sheet(Path(path), count, size, cut)


def _page(title: str, budget: Budget) -> tuple[str, str]:
    """Return the HTML before and after the clips."""
    note = (
        f"Only the first {budget.seconds:g} s of longer clips are shown. Click a clip to turn "
        f"and scrub it."
    )
    before, after = page_parts(title, asset_text("sheet.css"))
    words = {"title": escape(title), "note": escape(note)}
    head, foot = asset_text("sheet.html").split("{{clips}}")
    return before + _filled(head, words), _filled(foot, words) + after


def _filled(template: str, parts: dict[str, str]) -> str:
    """Fill all placeholders in one pass, so that text in a title cannot act as a placeholder."""
    return re.sub(r"\{\{([a-z.]+)\}\}", lambda match: parts[match[1]], template)


def _card(clip: SheetClip, budget: Budget) -> str:
    title = clip.title or clip.motion.name or "motion"
    player = player_element(packed_motion(clip.motion, budget, name=title), attributes="mini")
    labels = clip.labels
    if isinstance(labels, str):
        labels = [label.strip() for label in labels.split(",") if label.strip()]
    chips = "".join(
        f'<button type="button" class="chip">{escape(str(label))}</button>' for label in labels
    )
    seconds = f"{clip.motion.duration:.1f} s"
    if clip.motion.duration > budget.seconds + 1e-6:
        seconds = f"first {budget.seconds:g} of {seconds}"
    return (
        f'<article class="clip">{player}<div class="words"><h2 title="{escape(title)}">'
        f'<button type="button" class="open">{escape(title)}</button></h2>'
        f"<p>{seconds}</p>{chips}</div></article>\n"
    )


_PLAYER_STYLE = """
:root { color-scheme: light dark; --paper: #fff; } body { margin: 0; background: var(--paper); }
@media (prefers-color-scheme: dark) { :root { --paper: #15181d; } }
h1 { position: absolute; clip-path: inset(50%); }
main, motionloom-player { height: 100vh; } motionloom-player { border: 0; border-radius: 0; }
"""


def write_player_page(
    motion: Motion, path: str | Path, *, budget: Budget | None = None, notes: ArrayLike = ()
) -> Path:
    """Write a page that plays one motion, without a server or an internet connection.

    Parameters
    ----------
    motion : Motion
        At least one frame.
    path : str or Path
        Output file, written atomically.
    budget : Budget, optional
        Limits for long motions.
    notes : array_like, shape (N, 4)
        Notes to play with the motion, as in `motionloom.dance.Music`.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_player_page(ml.demo.clip("walk"), f"{folder}/walk.html")
    ...     page.stat().st_size < 30_000
    True
    """
    clip = packed_motion(motion, budget or Budget(), notes=notes)
    return write_clip_page(clip, motion.name or "motion", path)


def write_clip_page(clip: str, title: str, path: str | Path) -> Path:
    """Write a page that is filled by a packed clip, or by several with spaces between them."""
    words = f"<p>{escape(title)} is played with JavaScript, which is switched off.</p>"
    player = player_element(clip, words, "fill")
    body = f"<main><h1>{escape(title)}</h1>{player}</main>"
    with atomic_write(path) as scratch:
        with scratch.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(page_html(title, body, _PLAYER_STYLE))
    return Path(path)


_BUDGET = Budget(fps=15.0, frames=120, seconds=8.0, points=40)
_STYLE = """
:root { --ink: #2b303a; --faint: #667080; --paper: #fff; --line: #dfe3ea;
  --error: #c0392b; --warning: #8a5a08; --healthy: #2e7d4f; }
@media (prefers-color-scheme: dark) { :root { --ink: #d8dce4; --faint: #8b94a5;
  --paper: #16181d; --line: #2c313b; --error: #ff7b6b; --warning: #f0b14a; --healthy: #6fcf97; } }
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
li.error { border-color: var(--error); } li.error b { color: var(--error); }
li.warning { border-color: var(--warning); } li.warning b { color: var(--warning); }
li.healthy { border-color: var(--healthy); } li.healthy b { color: var(--healthy); }
small { color: var(--faint); display: block; }
table { border-collapse: collapse; font-size: .85rem; margin: .4rem 0; }
td, th { text-align: left; padding: 0 .9rem 0 0; font-weight: normal; } th { color: var(--faint); }
summary { cursor: pointer; color: var(--faint); }
nav a { display: inline-block; margin: 0 .8rem .2rem 0; color: var(--ink); }
nav a.error { color: var(--error); } nav a.warning { color: var(--warning); }
"""


@dataclass(frozen=True)
class ReportSection:
    """A diagnostics report: its title, its highest severity, and an HTML fragment."""

    title: str
    worst: str
    html: str


def doctor_section(motion: Motion, report: Mapping[str, Any]) -> ReportSection:
    """Convert a report from ``motionloom doctor --json`` to a section of a page."""
    worst = next(
        (kind for kind in ("error", "warning") if kind in _kinds(report)),
        "warning" if report["warnings"] else "healthy",
    )
    figure = ""
    if len(motion):
        figure = player_element(packed_motion(motion, _BUDGET, name=" "))
    html = (
        f"<div><h2>{escape(str(report['file']))}</h2>{_issues(report)}{_facts(report)}"
        f"{_joint_map(report)}</div><div>{figure}</div>"
    )
    return ReportSection(str(report["file"]), worst, html)


def write_doctor_page(
    sections: Sequence[ReportSection], path: str | Path, *, failed: Sequence[Mapping[str, str]] = ()
) -> Path:
    """Write reports as one HTML page without external references, most severe first.

    Parameters
    ----------
    sections : sequence of ReportSection
        From `doctor_section`.
    path : str or Path
        Output file, written atomically.
    failed : sequence of mapping
        ``file`` and ``reason`` of files that could not be read.
    """
    rank = {"error": 0, "warning": 1, "healthy": 2}
    ordered = sorted(sections, key=lambda section: rank[section.worst])
    counts = {kind: sum(a.worst == kind for a in sections) for kind in rank}
    unread = "".join(
        f"<li class='error'><b>unreadable</b> {escape(f['reason'])}</li>" for f in failed
    )
    links = "".join(
        f"<a class='{a.worst}' href='#m{k}'>{escape(a.title)}</a>" for k, a in enumerate(ordered)
    )
    bodies = "".join(f"<article id='m{k}'>{a.html}</article>" for k, a in enumerate(ordered))
    body = (
        f"<main><h1>Diagnostics</h1><p>{len(sections)} motions: {counts['error']} with errors, "
        f"{counts['warning']} with warnings, {counts['healthy']} healthy.</p><ul>{unread}</ul>"
        f"<nav>{links if len(ordered) > 1 else ''}</nav>{bodies}</main>"
    )
    with atomic_write(path) as scratch:
        scratch.write_text(page_html("motionloom doctor", body, _STYLE), encoding="utf-8")
    return Path(path)


def _kinds(report: Mapping[str, Any]) -> set[str]:
    return {issue["severity"] for issue in report["findings"]}


def _issues(report: Mapping[str, Any]) -> str:
    items = [
        f"<li class='{issue['severity']}'><b>{issue['severity']}</b> "
        f"{escape(issue['message'])}<small>{escape(issue['advice'])}</small></li>"
        for issue in report["findings"]
    ]
    listed = {issue["message"] for issue in report["findings"]}
    items += [
        f"<li class='warning'><b>warning</b> {escape(warning)}</li>"
        for warning in report["warnings"]
        if warning not in listed
    ]
    if not report["warnings"]:
        items.insert(0, "<li class='healthy'><b>healthy</b></li>")
    return f"<ul>{''.join(items)}</ul>"


def _facts(report: Mapping[str, Any]) -> str:
    facts = {
        "frames": f"{report['frames']} at {report['fps']:g} fps = {report['seconds']:.2f} s",
        "unit": f"1 = {report['unit_m']:g} m ({report['unit_reason'] or 'meters'})",
        "height": f"{report['height_m']:.2f} m" if report["height_m"] else "unknown",
        "axes": f"up {report['up']}, at rest facing {report['facing'] or 'unknown'}",
        "T-pose": "frame 0, used as the rest pose" if report["tpose_frame"] == 0 else "none",
        "position channels": report["position_channels"],
    }
    if report["contacts"] is not None:
        facts["floor"] = f"balls of the feet stand at {100 * report['floor_m']:.1f} cm"
        facts["contacts"] = "; ".join(
            f"{side} {foot['contacts']}, {100 * foot['standing_share']:.0f} % of the time"
            for side, foot in report["contacts"].items()
        )
        slide = report["foot_slide_m"]
        facts["slide"] = (
            "no foot contact found" if slide is None else f"{100 * slide:.1f} cm per contact"
        )
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
