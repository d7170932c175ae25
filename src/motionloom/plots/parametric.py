"""Figures of blends and parameter spaces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.kinematics.body import hips_path
from motionloom.plots.figures.drawing import camera_for, grid_step
from motionloom.plots.figures.stick_figure import COLORS, StickFigure, stick_figure
from motionloom.plots.pages.page import FAINT, TEXT, checked_picture_path, meters, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SCALE = "viridis"


def draw_overlay(
    axes: Axes,
    motions: Sequence[Motion],
    *,
    frames: Sequence[int] | None = None,
    trace: str | None = None,
    view: str = "three-quarter",
    title: str = "",
    thick: Sequence[int] = (0, -1),
) -> None:
    """Overlay motions with the same skeleton, with colors from a color scale.

    Parameters
    ----------
    axes : matplotlib Axes
    motions : sequence of Motion
        Motions in world coordinates.
    frames : sequence of int, optional
        For each motion, the frame whose pose is drawn. Default: draw only paths, no poses.
    trace : str, optional
        Role whose path is drawn. Default: the root, on the floor.
    view : str
        As in `film_strip`; use ``top`` for floor paths.
    title : str
    thick : sequence of int
        Indices of motions to draw with thick lines, such as the examples among blends.

    Examples
    --------
    >>> import motionloom as ml
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> draw_overlay(axes, [ml.demo.clip("walk"), ml.demo.clip("walk_left")], view="top")
    """
    from matplotlib import colormaps

    if not motions:
        raise InvalidInput("there are no motions to draw")
    if frames is not None and len(frames) != len(motions):
        raise InvalidInput(
            f"frames must have one entry per motion; got {len(frames)} for {len(motions)} motions"
        )
    figure = stick_figure(motions[0])
    camera = camera_for(motions[0], figure, hips_path(motions[0]), view=view)
    strong = {n % len(motions) for n in thick}
    colors = colormaps[_SCALE](np.linspace(0.08, 0.92, len(motions)))
    seen = []
    for n, motion in enumerate(motions):
        width = 2.2 if n in strong else 1.0
        line = camera.project(_path(motion, trace, figure))[:, :2]
        axes.plot(*line.T, color=colors[n], lw=0.6 * width, alpha=0.9, zorder=2)
        seen.append(line)
        if frames is not None:
            seen.append(_draw_pose(axes, motion, frames[n], figure, camera, colors[n], width))
    _finish(axes, np.concatenate(seen), title)


def _path(motion: Motion, trace: str | None, figure: StickFigure) -> NDArray[np.float64]:
    if trace is not None:
        return motion.role_positions([trace])[:, 0].astype(np.float64)
    floor = hips_path(motion).astype(np.float64)
    floor[:, 1] = figure.ground
    return floor


def _draw_pose(axes, motion, frame, figure, camera, color, width) -> NDArray[np.float64]:
    from matplotlib.collections import LineCollection

    pose = camera.project(figure.positions(motion[int(frame)])[0])[:, :2]
    bones = pose[figure.bones]
    axes.add_collection(
        LineCollection(list(bones), colors=[color], linewidths=width, capstyle="round", zorder=3)
    )
    if figure.head is not None:
        base, top = pose[list(figure.head)]
        axes.plot(*(base + 0.6 * (top - base)), "o", color=color, ms=3.0 + 1.5 * width, zorder=3)
    return bones.reshape(-1, 2)


def _finish(axes: Axes, seen: NDArray[np.float64], title: str) -> None:
    low, high = np.nanmin(seen, axis=0), np.nanmax(seen, axis=0)
    room = 0.06 * float(np.max(high - low))
    axes.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - 2.5 * room, high[1] + room))
    axes.set_aspect("equal")
    axes.set_axis_off()
    length = grid_step(float(high[0] - low[0]))
    corner = np.array([low[0], low[1] - 1.2 * room])
    axes.plot([corner[0], corner[0] + length], [corner[1]] * 2, color=FAINT, lw=0.9)
    axes.text(corner[0] + 0.5 * length, corner[1] - 0.2 * room, meters(length), size=7,
              color=FAINT, ha="center", va="top")  # fmt: skip
    if title:
        axes.set_title(title, size=9, color=TEXT, loc="left")


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
    """Draw the parameters of examples and sampled blends.

    Large red markers are examples, and small gray markers are samples, as in figure 14 of Kovar &
    Gleicher (2004). Targets are rings, each joined by a line to the parameters that were reached.

    Parameters
    ----------
    path : str or Path
        ``.png``, ``.svg`` or ``.pdf``.
    axes : sequence of str
        Names of the d parameters. The parameters x, y, z are drawn from the side, the front and
        above; x and z are drawn from above; other parameters are drawn in consecutive pairs.
    examples : array_like, shape (N, d)
    samples : array_like, shape (S, d)
    targets, reached : array_like, shape (M, d), optional
        Requested parameters, and parameters of the resulting motions.
    poses : sequence of Motion
        Motions whose first frame is drawn behind the dots, if the parameters are positions.
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

    path = checked_picture_path(path)
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
    return write_figure(figure, path, dpi=dpi)


def _views(axes: tuple[str, ...]) -> list[tuple[int, int, str]]:
    """Return pairs of parameters to plot (-1 for none), and the names of the views."""
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
            place.plot(points[[a, b], across], points[[a, b], up], color=COLORS[int(side)],
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
