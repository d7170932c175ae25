"""A crowd from above: where everybody is, and the way they came."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.whole_file import whole_file

Array = NDArray[np.float64]
_TRAIL = 4.0  # seconds of way that are shown
_SIZE = 5.6  # inches


def write_top_view(
    centres: ArrayLike,
    path: str | Path,
    *,
    fps: float,
    radius: float = 0.3,
    room: Sequence[float] | None = None,
    columns: Sequence[Sequence[float]] = (),
    line: ArrayLike | None = None,
    seconds: float | None = 20.0,
) -> Path:
    """Write a picture (PNG, SVG, PDF) of the last frame, or a GIF of all.

    Parameters
    ----------
    centres : array_like, shape (A, T, 2)
        Places of everybody, ``x, z`` in metres.
    path : str or Path
    fps : float
    radius : float
        Of the discs, metres.
    room : (width, depth), optional
    columns : sequence of (x, z, radius)
    line : array_like, shape (S, 2), optional
        The middle of a street.
    seconds : float or None
        Of a GIF at most.
    """
    path, at = Path(path), np.asarray(centres, np.float64)
    if at.ndim != 3 or at.shape[2] != 2 or at.shape[1] == 0:
        raise InvalidInput(f"centres must have shape (agents, frames, 2); got {at.shape}")
    known = (".png", ".svg", ".pdf", ".gif")
    if path.suffix.lower() not in known:
        raise InvalidInput(f"{path}: a top view is written to {', '.join(known)}")
    figure, axes, discs, trails = _stage(at, radius, room, columns, line)
    back = round(_TRAIL * fps)

    def show(frame: int) -> None:
        for i, disc in enumerate(discs):
            disc.center = tuple(at[i, frame])
            trails[i].set_data(*at[i, max(0, frame - back) : frame + 1].T)

    with whole_file(path) as scratch:
        kind = path.suffix.lower()[1:]
        if kind != "gif":
            show(at.shape[1] - 1)
            figure.savefig(scratch, format=kind, dpi=110)
            return path
        from matplotlib.animation import FuncAnimation, PillowWriter

        stop = at.shape[1] if seconds is None else min(at.shape[1], round(seconds * fps))
        step = max(round(fps / 10.0), 1)
        film = FuncAnimation(figure, lambda k: show(int(k)) or [], frames=range(0, stop, step))  # type: ignore[func-returns-value]
        named = scratch.with_suffix(".gif")
        film.save(named, writer=PillowWriter(fps=round(fps / step)), dpi=60)
        named.replace(scratch)
    return path


def _stage(at: Array, radius: float, room, columns, line) -> tuple[Any, Any, list, list]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle, Rectangle

    low, high = at.reshape(-1, 2).min(axis=0) - 1.0, at.reshape(-1, 2).max(axis=0) + 1.0
    if room is not None:
        high = 0.5 * np.asarray(room, np.float64) + 0.3
        low = -high
    wide, deep = high - low
    scale = _SIZE / max(wide, deep)
    figure = Figure(figsize=(max(scale * wide, 1.0), max(scale * deep, 1.0)))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    # Seen from above with x to the right, z points down the page.
    axes.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]), aspect="equal")
    if room is not None:
        corner = (-0.5 * room[0], -0.5 * room[1])
        axes.add_patch(Rectangle(corner, room[0], room[1], fill=False, lw=2, ec="0.3"))
    for x, z, size in columns:
        axes.add_patch(Circle((x, z), size, fc="0.55", ec="0.3"))
    if line is not None:
        axes.plot(*np.asarray(line).T, color="0.8", lw=1, ls="--")
    colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
    discs, trails = [], []
    for i in range(len(at)):
        colour = colours[i % len(colours)]
        trails += axes.plot([], [], color=colour, lw=1.2, alpha=0.6)
        discs.append(axes.add_patch(Circle((0, 0), radius, fc=colour, ec="white", alpha=0.85)))
    return figure, axes, discs, trails
