"""Strokes: lines with round ends in the image plane, in painting order.

Film strips paint them with Matplotlib, animations with Pillow. Lengths are metres in the image
plane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.plots.figures.camera import Camera, floor_direction
from motionloom.plots.figures.stick_figure import COLOURS, PATH_COLOUR, StickFigure

PAPER = "#ffffff"
FLOOR = "#f3f4f7"
GRID = "#d0d5dd"
SHADOW = "#d7dbe2"

_HAZE = 0.38  # share of the background colour in the farthest bone of a pose


@dataclass(frozen=True)
class Strokes:
    """N lines with round ends: `ends` (N, 2, 2), `widths` (N,), `colours` (N, 3) in 0..1."""

    ends: NDArray[np.float64]
    widths: NDArray[np.float64]
    colours: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.widths)

    def shifted(self, by: ArrayLike) -> Strokes:
        """The same strokes, translated by `by` (2,)."""
        return Strokes(self.ends + np.asarray(by, np.float64), self.widths, self.colours)

    def __add__(self, other: Strokes) -> Strokes:
        """These strokes, with `other` painted over them."""
        return Strokes(
            np.concatenate([self.ends, other.ends]),
            np.concatenate([self.widths, other.widths]),
            np.concatenate([self.colours, other.colours]),
        )


NOTHING = Strokes(np.zeros((0, 2, 2)), np.zeros(0), np.zeros((0, 3)))


def figure_strokes(figure: StickFigure, pose: ArrayLike, camera: Camera) -> Strokes:
    """Bones of a pose (P, 3), far ones first, each with an outline in the background colour.

    The outline separates a limb in front from what is behind it. Bones with a missing end are
    omitted.
    """
    seen = camera.project(pose)
    a, b = seen[figure.bones[:, 0]], seen[figure.bones[:, 1]]
    widths, sides = figure.widths, figure.sides
    if figure.head is not None:
        base, top = seen[figure.head[0]], seen[figure.head[1]]
        length = float(np.linalg.norm(np.subtract(*(np.asarray(pose)[i] for i in figure.head))))
        middle = base + 0.55 * (top - base)
        a, b = np.vstack([a, middle]), np.vstack([b, middle + 0.12 * (top - base)])
        widths = np.append(widths, max(0.85 * length, figure.head_width))
        sides = np.append(sides, 0)
    nearness = 0.5 * (a[:, 2] + b[:, 2])
    whole = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)
    order = np.flatnonzero(whole)[np.argsort(nearness[whole], kind="stable")]
    a, b, widths, sides = a[order], b[order], widths[order], sides[order]
    ends = np.stack([a[:, :2], b[:, :2]], axis=1)
    edge = 0.008 * figure.size
    strokes = np.repeat(ends, 2, axis=0)
    strokes[0::2] = _shortened(ends, 0.5 * widths + edge)
    both = np.repeat(widths, 2)
    both[0::2] += 2.0 * edge
    colours = np.ones((2 * len(order), 3)) * rgb(PAPER)
    colours[1::2] = _hazed(sides, nearness[order], figure.size)
    return Strokes(strokes, both, colours)


def shadow_strokes(figure: StickFigure, pose: ArrayLike, camera: Camera) -> Strokes:
    """Shadow of the pose on the floor, with light from straight above."""
    flat = np.array(pose, dtype=np.float64)
    flat[:, 1] = figure.ground
    seen = camera.project(flat)[:, :2]
    ends = seen[figure.bones]
    whole = np.isfinite(ends).all(axis=(1, 2))
    return _plain(ends[whole], 0.8 * figure.widths[whole], SHADOW)


def path_strokes(
    figure: StickFigure, path: NDArray[np.floating], camera: Camera, *, now: int | None = None
) -> Strokes:
    """Path (T, 3) projected to the floor, fading towards its start.

    With `now`, the part after that frame is thin and pale.
    """
    if len(path) < 2:
        return NOTHING
    floor = np.array(path, dtype=np.float64)
    floor[:, 1] = figure.ground
    seen = camera.project(floor)[:, :2]
    ends = np.stack([seen[:-1], seen[1:]], axis=1)
    until = len(ends) if now is None else now
    age = np.clip(1.0 - np.arange(len(ends)) / max(until, 1), 0.0, 1.0)
    fade = 0.75 * age
    fade[until:] = 0.68
    widths = np.full(len(ends), 0.016 * figure.size)
    widths[until:] *= 0.45
    colours = mix(PATH_COLOUR, FLOOR, fade)
    whole = np.isfinite(ends).all(axis=(1, 2))
    return Strokes(ends[whole], widths[whole], colours[whole])


def grid_strokes(
    figure: StickFigure, camera: Camera, centre: ArrayLike, radius: float, *, step: float
) -> Strokes:
    """Grid lines every `step` metres on a disc of floor around `centre` (3,)."""
    centre = np.asarray(centre, dtype=np.float64)
    axes = camera.axes
    along = floor_direction(camera.direction)
    across = np.array([along[2], 0.0, -along[0]])
    lines = []
    for one, other in ((along, across), (across, along)):
        at = float(centre @ one)
        first, last = np.ceil((at - radius) / step), np.floor((at + radius) / step)
        for place in step * np.arange(first, last + 1):
            reach = np.sqrt(max(radius**2 - (place - at) ** 2, 0.0))
            middle = one * place + other * float(centre @ other)
            middle[1] = figure.ground
            lines.append([middle - reach * other, middle + reach * other])
    if not lines:
        return NOTHING
    ends = (np.array(lines) @ axes.T)[..., :2]
    return _plain(ends, np.full(len(ends), 0.005 * figure.size), GRID)


def disc(figure: StickFigure, camera: Camera, centre: ArrayLike, radius: float):
    """Outline (72, 2), in the image, of a disc of floor around `centre` (3,)."""
    angle = np.linspace(0.0, 2.0 * np.pi, 72, endpoint=False)
    ring = np.stack([np.sin(angle), np.zeros(72), np.cos(angle)], axis=1) * radius
    ring += np.asarray(centre, dtype=np.float64)
    ring[:, 1] = figure.ground
    return camera.project(ring)[:, :2]


def grid_step(size: float) -> float:
    """A round step in metres (1, 2 or 5 times a power of ten): 0.5 for a person."""
    power = 10.0 ** np.floor(np.log10(0.45 * size))
    return float(max(f * power for f in (1.0, 2.0, 5.0) if f * power <= 0.45 * size))


def rgb(colour: str) -> NDArray[np.float64]:
    """``#rrggbb`` as three numbers in 0..1."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0


def mix(colour: str, other: str, share: ArrayLike) -> NDArray[np.float64]:
    """Colours (N, 3): `share` (N,) of `other` in `colour`."""
    part = np.asarray(share, dtype=np.float64)[:, None]
    return (1.0 - part) * rgb(colour) + part * rgb(other)


def _hazed(sides, nearness, size):
    own = np.stack([rgb(COLOURS[int(side)]) for side in sides]) if len(sides) else np.zeros((0, 3))
    if not len(own):
        return own
    haze = _HAZE * np.clip((nearness.max() - nearness) / (0.5 * size), 0.0, 1.0)[:, None]
    return (1.0 - haze) * own + haze * rgb(PAPER)


def _shortened(ends, by):
    """Lines shortened by `by` (N,) at both ends; those too short shrink to their middle."""
    line = ends[:, 1] - ends[:, 0]
    length = np.linalg.norm(line, axis=1)
    share = np.minimum(by / np.maximum(length, 1e-12), 0.5)[:, None]
    return np.stack([ends[:, 0] + share * line, ends[:, 1] - share * line], axis=1)


def _plain(ends, widths, colour: str) -> Strokes:
    return Strokes(ends, widths, np.tile(rgb(colour), (len(ends), 1)))
