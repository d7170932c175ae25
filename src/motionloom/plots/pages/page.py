"""Matplotlib pages in meters with a heading, and reproducible figure files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.motion import Motion
from motionloom.plots.figures import drawing as ink
from motionloom.plots.figures.stick_figure import COLORS, LEFT, RIGHT, StickFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from motionloom.plots.figures.drawing import Triangles


TEXT, FAINT = "#2b323c", "#7b8494"

# Height of a standing figure, which is larger for short strips and smaller if the page would be too
# wide.
_FIGURE_INCHES = (1.95, 2.7)
_WIDE_INCHES, _WIDEST_INCHES = 11.0, 17.0


def page(
    motion: Motion, figure: StickFigure, extent: tuple[float, float, float, float]
) -> tuple[Figure, Axes, float]:
    """Create a page for `extent` in meters; return figure, axes and points per meter."""
    from matplotlib.figure import Figure

    left, bottom, right, top = extent
    wide, tall = right - left, top - bottom
    small, large = (high / figure.size for high in _FIGURE_INCHES)
    inches = min(max(small, min(large, _WIDE_INCHES / wide)), _WIDEST_INCHES / wide)
    width, height = max(wide * inches + 0.5, 4.6), tall * inches
    sheet = Figure(figsize=(width, height + 0.75), dpi=150, facecolor=ink.PAPER)
    middle, half = 0.5 * (left + right), 0.5 * width / inches
    axes = sheet.add_axes((0.0, 0.1 / (height + 0.75), 1.0, height / (height + 0.75)))
    axes.set(xlim=(middle - half, middle + half), ylim=(bottom, top), aspect="equal")
    axes.set_axis_off()
    _heading(sheet, motion, figure, width, height + 0.75)
    return sheet, axes, 72.0 * inches


def _heading(
    sheet: Figure, motion: Motion, figure: StickFigure, width: float, height: float
) -> None:
    room = int((width - 1.8) * 9)
    name = "".join(c if c.isprintable() else " " for c in motion.name) or "motion"
    if len(name) > room:
        name = name[: room // 2] + "…" + name[-(room // 2 - 1) :]
    frames = "1 frame" if len(motion) == 1 else f"{len(motion):,} frames"
    facts = f"{frames} at {motion.fps:.5g} fps · {motion.duration:.2f} s"
    lines = [(0.14, name, 12, TEXT, "bold"), (0.40, facts, 8, FAINT, "normal")]
    for down, words, size, color, weight in lines:
        sheet.text(0.25 / width, 1 - down / height, words, size=size, color=color,
                   weight=weight, va="top", parse_math=False)  # fmt: skip
    if np.any(figure.sides):
        for x, word, side in ((1.0, "left", LEFT), (0.52, "right", RIGHT)):
            sheet.text(1 - x / width, 1 - 0.17 / height, f"● {word}", size=8,
                       color=COLORS[side], va="top")  # fmt: skip


def time_label(axes: Axes, frame: int, fps: float, at: tuple[float, float], size: float) -> None:
    """Draw the time and frame number, centered below `at`; `size` is the stick figure's size."""
    x, y = at
    axes.text(x, y, f"{frame / fps:.2f} s", size=8, color=TEXT, ha="center", va="top")
    axes.text(x, y - 0.085 * size, f"frame {frame}", size=6.5, color=FAINT,
              ha="center", va="top")  # fmt: skip


def paint(axes: Axes, strokes: ink.Strokes, scale: float, *, zorder: int) -> None:
    """Draw strokes onto the page; `scale` is points per meter."""
    from matplotlib.collections import LineCollection

    if not len(strokes):
        return
    ends = strokes.ends.copy()
    # A line of zero length would not be drawn; a tiny length gives a dot.
    ends[:, 1, 0] += np.where(np.ptp(ends, axis=1).max(axis=1) == 0.0, 0.25 / scale, 0.0)
    lines = LineCollection(
        list(ends), linewidths=strokes.widths * scale, colors=strokes.colors,
        capstyle="round", zorder=zorder,
    )  # fmt: skip
    lines.set_snap(False)  # snapping to pixels would remove the tiny length
    axes.add_collection(lines, autolim=False)


def paint_triangles(axes: Axes, triangles: Triangles, *, zorder: int) -> None:
    """Draw triangles onto the page; in vector files, they become one image."""
    from matplotlib.collections import PolyCollection

    faces = PolyCollection(
        list(triangles.corners), facecolors=triangles.colors, edgecolors=triangles.colors,
        linewidths=0.25, zorder=zorder, rasterized=True,
    )  # fmt: skip
    axes.add_collection(faces, autolim=False)


def floor_lines(ends: NDArray[np.float64], width: float) -> ink.Strokes:
    """Return strokes for floor lines with `ends` (N, 2, 2), in the grid color."""
    colors = np.tile(ink.rgb(ink.GRID), (len(ends), 1))
    return ink.Strokes(ends, np.full(len(ends), width), colors)


def meters(length: float) -> str:
    """Format a length with its unit: ``0.5 m``, ``20 mm``, ``2 km``."""
    for unit, name in ((1e3, "km"), (1.0, "m"), (1e-3, "mm")):
        if abs(length) >= 0.999 * unit or (name == "m" and abs(length) >= 0.05) or length == 0.0:
            return f"{length / unit:.4g} {name}" if length else "0 m"
    return f"{length * 1e3:.3g} mm"


def scale_bar(axes: Axes, at: tuple[float, float], zoom: float, longest: float, size: float):
    """Draw a scale bar for a round number of meters, at most `longest`."""
    length = ink.grid_step(longest / zoom / 0.45)
    half = 0.5 * zoom * length
    x = [at[0] - half, at[0] - half, at[0] + half, at[0] + half]
    y = np.array([0.02, 0.0, 0.0, 0.02]) * size + at[1]
    axes.plot(x, y, color=FAINT, lw=0.9, zorder=4)
    axes.text(at[0], at[1] - 0.02 * size, meters(length), size=7, color=FAINT,
              ha="center", va="top")  # fmt: skip


# File types, with metadata to omit so that the same figure gives the same bytes.
_OMITTED: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


def checked_picture_path(path: str | Path) -> Path:
    """Check the path of a figure file before drawing, and return it.

    Raises
    ------
    InvalidInput
        If the suffix is not ``.png``, ``.svg`` or ``.pdf``.

    Examples
    --------
    >>> checked_picture_path("walk.PNG").name
    'walk.PNG'
    """
    path = Path(path)
    if path.suffix.lower() not in _OMITTED:
        suffixes = ", ".join(_OMITTED)
        raise InvalidInput(f"cannot draw to {path}: the suffix must be one of {suffixes}")
    return path


def write_figure(figure: Figure, path: str | Path, *, dpi: float | None = None) -> Path:
    """Write a figure atomically to a ``.png``, ``.svg`` or ``.pdf`` file.

    Parameters
    ----------
    figure : matplotlib Figure
    path : str or Path
    dpi : float, optional
        Resolution of a PNG file, in dots per inch. Default: the figure's resolution.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_figure(Figure(), f"{folder}/empty.svg").name
    'empty.svg'
    """
    path = checked_picture_path(path)
    kind = path.suffix.lower()
    with atomic_write(path) as scratch, warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes, so the warning is not needed.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        figure.savefig(scratch, format=kind[1:], dpi=dpi or "figure", metadata=_OMITTED[kind])
    return path
