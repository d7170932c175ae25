"""A dance floor from above: where each character goes, and how it stands at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from motionloom.motion import Motion
from motionloom.plots.paper import FAINT, TEXT
from motionloom.plots.picture_file import picture_path, write_picture

_COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#7a6a00", "#555555",
)  # fmt: skip
_MARGIN = 0.6  # metres


def write_floor(
    motions: Sequence[Motion], path: str | Path, *, frame: int = 0, dpi: float = 110
) -> Path:
    """Draw characters from above.

    Parameters
    ----------
    motions : sequence of Motion
        Where they dance.
    path : str or Path
        ``.png``, ``.svg`` or ``.pdf``.
    frame : int
        The moment at which bodies are drawn; over all frames, what each was above is tinted.
    dpi : float

    Returns
    -------
    path : Path
    """
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    path = picture_path(path)
    places = [motion.positions(end_sites=True)[..., [0, 2]] for motion in motions]
    every = np.concatenate([place.reshape(-1, 2) for place in places])
    low, high = every.min(axis=0) - _MARGIN, every.max(axis=0) + _MARGIN
    wide, deep = high - low
    inches = 8.0 / max(wide, deep)
    sheet = Figure(figsize=(wide * inches, deep * inches), dpi=dpi, facecolor="white")
    axes = sheet.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]), aspect="equal")
    axes.set_axis_off()
    for number, (motion, place) in enumerate(zip(motions, places, strict=True)):
        colour = _COLOURS[number % len(_COLOURS)]
        seen = np.unique(np.round(place.reshape(-1, 2), 2), axis=0)
        axes.plot(*seen.T, ",", color=colour, alpha=0.25, zorder=1, rasterized=True)
        root = motion.root[:, [0, 2]]
        axes.plot(*root.T, color=colour, linewidth=0.8, alpha=0.8, zorder=2)
        now = min(max(frame, 0), len(motion) - 1)
        parents = motion.skeleton.parents
        bones = [place[now, [j, p]] for j, p in enumerate(parents) if p >= 0]
        axes.add_collection(LineCollection(bones, colors=TEXT, linewidths=2.0, zorder=3))
        x, z = place[now, 0]
        axes.text(x, z, f"  {number + 1}", color=colour, size=11, weight="bold", zorder=4)
    axes.plot([low[0] + 0.2, low[0] + 1.2], [high[1] - 0.15] * 2, color=FAINT, linewidth=2)
    axes.text(low[0] + 0.7, high[1] - 0.2, "1 m", color=FAINT, size=9, ha="center")
    return write_picture(sheet, path)
