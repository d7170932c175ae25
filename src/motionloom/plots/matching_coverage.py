"""Coverage report of a matching database as an HTML page."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motionloom.files import atomic_write
from motionloom.motion_matching.coverage import SPEEDS, TURNS, Coverage
from motionloom.motion_matching.features import RootMotion
from motionloom.motion_matching.steering_courses import CourseResult
from motionloom.plots.figures.top_view import TopView, floor_bodies, packed_view
from motionloom.plots.pages.page import FAINT, TEXT, write_figure
from motionloom.plots.pages.player import page_html, player_element

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  color: #2b323c; } h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .9rem .15rem 0; text-align: right;
  border-bottom: 1px solid #dfe3ea; font-weight: normal; } th { color: #667080; }
td:first-child, th:first-child { text-align: left; } img { max-width: 100%; }
.courses { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: 1rem;
  grid-auto-rows: 22rem; margin-bottom: 1rem; }
"""
_SHOWN = 40  # maximum number of takes in the table


def write_coverage(report: Coverage, path: str | Path) -> Path:
    """Write a coverage report as one HTML file with a picture and players of the courses.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> from motionloom.motion_matching import MatchingSettings, matching_database
    >>> walks = [ml.demo.clip(kind) for kind in ("walk", "walk_left", "walk_right")]
    >>> report = matching_database(walks, MatchingSettings()).coverage()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_coverage(report, f"{folder}/coverage.html").name
    'coverage.html'
    """
    path = Path(path)
    with tempfile.TemporaryDirectory() as folder:
        picture = write_figure(
            coverage_figure(report, courses=False), Path(folder) / "coverage.png"
        )
        coded = base64.b64encode(picture.read_bytes()).decode()
    with atomic_write(path) as scratch:
        scratch.write_text(_html(report, coded), encoding="utf-8")
    return path


def coverage_figure(report: Coverage, *, courses: bool = True) -> Figure:
    """Plot the available seconds and gaps by speed and turn rate, and the steering courses."""
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(13.0, 7.6 if courses else 4.4), dpi=110, facecolor="white")
    bottom, height = (0.52, 0.40) if courses else (0.14, 0.74)
    left = sheet.add_axes((0.05, bottom, 0.41, height))
    right = sheet.add_axes((0.54, bottom, 0.41, height))
    seconds = np.where(report.seconds > 0.0, report.seconds, np.nan)
    _grid(
        left,
        np.log10(np.maximum(seconds, 0.05)),
        report.seconds,
        "{:.0f}",
        "seconds in the takes",
        "Greens",
    )
    gaps = np.where(report.reach, report.gaps, np.nan)
    _grid(right, np.minimum(gaps, 1.0), gaps, "{:.2f}", "meters to the nearest take", "RdYlGn_r")
    for number, course in enumerate(report.courses if courses else ()):
        axes = sheet.add_axes((0.03 + 0.16 * number, 0.05, 0.14, 0.34))
        way = RootMotion.of(course.motion).floor
        if course.path is not None:
            axes.plot(course.path[:, 0], course.path[:, 1], color="#c9d1dc", lw=4.0, zorder=1)
        axes.plot(way.imag, way.real, color="#2e7d4f", lw=1.2, zorder=2)
        seams = _jumps(course)
        axes.plot(way.imag[seams], way.real[seams], ".", color="#d1495b", ms=3.0, zorder=3)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_axis_off()
        axes.set_title(f"{course.course}\n{_said(course)}", size=9, color=TEXT)
    return sheet


def _jumps(course: CourseResult) -> list[int]:
    """Return the frames at which playback jumps to another take."""
    provenance = course.motion.provenance
    return [jump for jump in (provenance.seams if provenance else ()) if jump < len(course.motion)]


def _said(course: CourseResult) -> str:
    figures = course.to_dict()
    off, half = figures["path_error_m"], figures["response_s"]
    return f"{100 * off:.1f} cm off" if off is not None else f"responds in {half or 0.0:.2f} s"


def _course(course: CourseResult) -> str:
    """Return a player that shows a course from above, with the requested path and the jumps."""
    motion, name = course.motion, f"{course.course}: {_said(course)}"
    view = TopView(floor_bodies([[motion]]), motion.fps, 0.0, line=course.path)
    clip = packed_view(view, name=name, trail=0.0, marks=_jumps(course))
    return f"<div>{player_element(clip, f'<p>{escape(name)}</p>', 'fill still')}</div>"


def _grid(axes: Axes, colors, values, form: str, title: str, palette: str) -> None:
    image = axes.imshow(colors, cmap=palette, aspect="auto", origin="lower")
    for s in range(len(SPEEDS)):
        for t in range(len(TURNS)):
            if np.isfinite(values[s, t]) and values[s, t] > 0.0:
                text = form.format(values[s, t])
                cell = image.cmap(image.norm(colors[s, t]))[:3]
                ink = "white" if np.mean(cell) < 0.45 else TEXT  # readable on dark cells
                axes.text(t, s, text, ha="center", va="center", size=7, color=ink)
    axes.set_xticks(range(len(TURNS)), [f"{angle:.0f}" for angle in np.degrees(TURNS)], size=8)
    axes.set_yticks(range(len(SPEEDS)), [f"{speed:g}" for speed in SPEEDS], size=8)
    axes.set_xlabel("turn, degrees per second (left is positive)", size=8, color=FAINT)
    axes.set_ylabel("speed, m/s", size=8, color=FAINT)
    axes.set_title(title, size=10, color=TEXT)


def _html(report: Coverage, picture: str) -> str:
    database = report.database
    takes = [
        [name, f"{report.played.get(name, 0.0):.1f}", "spare" if name in report.spare else ""]
        for name in sorted(database.takes, key=lambda name: -report.played.get(name, 0.0))
    ]
    more = f"<p>and {len(takes) - _SHOWN} more</p>" if len(takes) > _SHOWN else ""
    courses = [_course_row(course.to_dict()) for course in report.courses]
    quality = report.session.quality
    warnings = [] if quality is None else quality.warnings
    parts = [
        f"<main><h1>Coverage of {len(database.takes)} takes</h1>",
        f'<p><img alt="Coverage by speed and turn" src="data:image/png;base64,{picture}"></p>',
        "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in report.sentences()) + "</ul>",
        "<h2>Courses</h2>",
        "<p>Each course is seen from above. Orange points are jumps from one take to another.</p>",
        f'<div class="courses">{"".join(map(_course, report.courses))}</div>',
        _table(["course", "path error", "response", "feet slide", "worst seam", "jumps"], courses),
        "<h2>Random steering</h2>",
        "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in warnings) + "</ul>"
        if warnings
        else "<p>No limit was exceeded.</p>",
        "<h2>Takes</h2>",
        _table(["take", "seconds played", ""], takes[:_SHOWN]) + more + "</main>",
    ]
    return page_html("Coverage", "\n".join(parts), _STYLE)


def _course_row(row: dict) -> list[str]:
    def cell(value, form: str) -> str:
        return "" if value is None else form.format(value)

    slide = row["foot_slide_m"]
    off = row["path_error_m"]
    return [
        row["course"],
        cell(None if off is None else 100.0 * off, "{:.1f} cm"),
        cell(row["response_s"], "{:.2f} s"),
        cell(None if slide is None else 100.0 * slide, "{:.1f} cm"),
        cell(row["seam_acceleration_ratio"], "{:.2f}"),
        str(row["jumps"]),
    ]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line(heads, "th") + "".join(line(row, "td") for row in rows) + "</table>"
