"""What a parametric motion can reach, drawn as dots around the body that reaches for it.

Large red markers are examples, small grey ones are sampled blends (as in figure 14 of Kovar &
Gleicher 2004). Targets are rings, and a line leads from each to where the motion arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.motion import Motion
from motionloom.plots.page import FAINT, TEXT, picture_path, write_picture
from motionloom.plots.stick_figure import COLOURS, stick_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

_EXAMPLE, _SAMPLE, _TARGET = "#d3222a", "#9aa3b0", "#12946f"
_VIEWS = (("z", "y", "from the side"), ("x", "y", "from the front"), ("x", "z", "from above"))
_AXES = {"x": 0, "y": 1, "z": 2}


def write_parameter_space(
    path: str | Path,
    *,
    axes: Sequence[str],
    examples: ArrayLike,
    samples: ArrayLike,
    targets: ArrayLike | None = None,
    reached: ArrayLike | None = None,
    poses: Sequence[Motion] = (),
    title: str = "",
    dpi: float = 110,
) -> Path:
    """Draw the parameters that examples have and blends of them reach.

    Parameters
    ----------
    path : str or Path
        ``.png``, ``.svg`` or ``.pdf``.
    axes : sequence of str
        Names of the d parameters. Three called x, y, z are drawn from the side, the front
        and above; x and z from above; others as they come.
    examples : array_like, shape (N, d)
    samples : array_like, shape (S, d)
    targets, reached : array_like, shape (M, d), optional
        What was asked for, and what came of it.
    poses : sequence of Motion
        One frame of each is drawn behind the dots, where these are places.
    title : str
    dpi : float

    Examples
    --------
    >>> import tempfile
    >>> points = np.random.default_rng(1).normal(size=(50, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parameter_space(
    ...         f"{folder}/kick.png", axes=("x", "y", "z"), examples=points[:5], samples=points
    ...     ).name
    'kick.png'
    """
    from matplotlib.figure import Figure

    path = picture_path(path)
    views = _views(tuple(axes))
    figure = Figure(figsize=(1.0 + 4.4 * len(views), 5.0), layout="constrained")
    pairs = (targets, reached)
    rows = [np.empty((0, len(axes))) if row is None else np.atleast_2d(row) for row in pairs]
    for place, (across, up, name) in zip(
        figure.subplots(1, len(views), squeeze=False)[0], views, strict=True
    ):
        if name:
            _bodies(place, poses, _AXES[axes[across]], _AXES[axes[up]])
            place.set_aspect("equal")
            place.set_title(name, size=9, color=FAINT)
        _dots(place, np.asarray(samples), np.asarray(examples), rows, across, up)
        place.set_xlabel(axes[across], color=TEXT)
        place.set_ylabel(axes[up] if up >= 0 else "", color=TEXT)
        place.tick_params(colors=TEXT, labelsize=8)
        place.spines[["top", "right"]].set_visible(False)
    figure.axes[0].legend(frameon=False, fontsize=8, labelcolor=TEXT, loc="best")
    if title:
        figure.suptitle(title, size=11, color=TEXT)
    return write_picture(figure, path, dpi=dpi)


def _views(axes: tuple[str, ...]) -> list[tuple[int, int, str]]:
    """Pairs of parameters to draw against each other, -1 for none, and the view's name."""
    places = [
        (axes.index(across), axes.index(up), name)
        for across, up, name in _VIEWS
        if across in axes and up in axes and len(set(axes)) == len(axes)
    ]
    if places:
        return places
    if len(axes) == 1:
        return [(0, -1, "")]
    return [(k, k + 1, "") for k in range(len(axes) - 1)]


def _bodies(place: Axes, poses: Sequence[Motion], across: int, up: int) -> None:
    for motion in poses:
        figure = stick_figure(motion)
        points = motion.positions(end_sites=True)[0, figure.points]
        for (a, b), side in zip(figure.bones, figure.sides, strict=True):
            place.plot(points[[a, b], across], points[[a, b], up], color=COLOURS[int(side)],
                       lw=2.2, alpha=0.55, solid_capstyle="round", zorder=1)  # fmt: skip


def _dots(
    place: Axes, samples: Array, examples: Array, rows: list[Array], across: int, up: int
) -> None:
    def flat(points: Array) -> tuple[Array, Array]:
        return points[:, across], points[:, up] if up >= 0 else np.zeros(len(points))

    place.scatter(*flat(samples), s=5, color=_SAMPLE, linewidths=0, zorder=2,
                  label=f"{len(samples)} samples")  # fmt: skip
    place.scatter(*flat(examples), s=34, marker="s", color=_EXAMPLE, edgecolors="white",
                  linewidths=0.8, zorder=3, label=f"{len(examples)} examples")  # fmt: skip
    targets, reached = rows
    if len(targets):
        place.scatter(*flat(targets), s=80, facecolors="none", edgecolors=_TARGET,
                      linewidths=1.6, zorder=4, label="targets")  # fmt: skip
    if len(reached):
        place.scatter(*flat(reached), s=18, color=_TARGET, zorder=4, label="reached")
        for a, b in zip(
            np.column_stack(flat(targets)), np.column_stack(flat(reached)), strict=True
        ):
            place.plot(*zip(a, b, strict=True), color=_TARGET, lw=1.0, zorder=4)
