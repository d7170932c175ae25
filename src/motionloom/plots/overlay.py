"""Several motions on top of each other: examples, and the blends between them.

Every motion is one colour, from the first to the last along a scale. It is drawn in one pose,
with the way of a joint through the air, or seen from above with the way of its root alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.plots.camera import camera_for
from motionloom.plots.page import FAINT, TEXT, metres, picture_path, write_picture
from motionloom.plots.stick_figure import StickFigure, stick_figure
from motionloom.plots.strokes import PAPER, grid_step

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SCALE = "viridis"
_INCHES = 4.2


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
    """Draw motions of one skeleton on top of each other.

    Parameters
    ----------
    axes : matplotlib Axes
    motions : sequence of Motion
        As they stand in the world.
    frames : sequence of int, optional
        The frame of each that is drawn. Default: none, only ways.
    trace : str, optional
        Role whose way is drawn. Default: the root, on the floor.
    view : str
        As in `film_strip`; ``top`` for ways over the floor.
    title : str
    thick : sequence of int
        Motions drawn with thick lines: the examples among blends.

    Examples
    --------
    >>> import motionloom as ml
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> draw_overlay(axes, [ml.demo.clip("walk"), ml.demo.clip("walk_left")], view="top")
    """
    from matplotlib import colormaps

    if not motions:
        raise InvalidInput("there are no motions to draw; got an empty sequence")
    if frames is not None and len(frames) != len(motions):
        raise InvalidInput(
            f"frames must be one per motion; got {len(frames)} for {len(motions)} motions"
        )
    figure = stick_figure(motions[0])
    camera = camera_for(motions[0], figure, motions[0].root, view=view)
    strong = {n % len(motions) for n in thick}
    colours = colormaps[_SCALE](np.linspace(0.08, 0.92, len(motions)))
    seen = []
    for n, motion in enumerate(motions):
        width = 2.2 if n in strong else 1.0
        way = _way(motion, trace, figure)
        line = camera.project(way)[:, :2]
        axes.plot(*line.T, color=colours[n], lw=0.6 * width, alpha=0.9, zorder=2)
        seen.append(line)
        if frames is not None:
            seen.append(_draw_pose(axes, motion, frames[n], figure, camera, colours[n], width))
    _finish(axes, np.concatenate(seen), title)


def write_overlay(motions: Sequence[Motion], path: str | Path, **options) -> Path:
    """Write motions on top of each other to a picture; options as for `draw_overlay`."""
    from matplotlib.figure import Figure

    path = picture_path(path)
    sheet = Figure(figsize=(_INCHES, _INCHES), dpi=150, facecolor=PAPER)
    draw_overlay(sheet.add_axes((0.02, 0.02, 0.96, 0.9)), motions, **options)
    return write_picture(sheet, path)


def _way(motion: Motion, trace: str | None, figure: StickFigure) -> NDArray[np.float64]:
    if trace is not None:
        return motion.role_positions([trace])[:, 0].astype(np.float64)
    floor = motion.root.astype(np.float64)
    floor[:, 1] = figure.ground
    return floor


def _draw_pose(axes, motion, frame, figure, camera, colour, width) -> NDArray[np.float64]:
    from matplotlib.collections import LineCollection

    pose = camera.project(figure.positions(motion[int(frame)])[0])[:, :2]
    bones = pose[figure.bones]
    axes.add_collection(
        LineCollection(list(bones), colors=[colour], linewidths=width, capstyle="round", zorder=3)
    )
    if figure.head is not None:
        base, top = pose[list(figure.head)]
        axes.plot(*(base + 0.6 * (top - base)), "o", color=colour, ms=3.0 + 1.5 * width, zorder=3)
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
    axes.text(corner[0] + 0.5 * length, corner[1] - 0.2 * room, metres(length), size=7,
              color=FAINT, ha="center", va="top")  # fmt: skip
    if title:
        axes.set_title(title, size=9, color=TEXT, loc="left")
