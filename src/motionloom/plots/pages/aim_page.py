"""Page on which a parametric motion is aimed by dragging its target, without a server.

The page cannot compute blends, so it contains blends for many targets. They are brought to the same
number of frames, with key frames at the same place, and joined to cells (triangles or tetrahedra)
in the space of the parameters. Inside a cell, positions of joints are mixed linearly, which reaches
the target exactly and shortens bones only a little. Cells in which a bone would become visibly
shorter are dropped, so the page never shows a body that is not the performer's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.plots.figures.stick_figure import StickFigure, stick_figure
from motionloom.plots.pages.html_pages import write_clip_page
from motionloom.plots.pages.player import (
    along_bones,
    figure_header,
    packed_clip,
    quantize_positions,
)

if TYPE_CHECKING:
    from motionloom.parametric.parametric_motion import ParametricMotion, SynthesisResult

Array = NDArray[np.float64]

_SAMPLES = 140  # about 250 kB for two seconds of motion
_FPS = 15.0
_POINTS = 40
_SHORTER = 0.03  # share of its length by which a bone may become shorter inside a cell
_MOST_AXES = 3


def packed_aim(motion: ParametricMotion, *, samples: int = _SAMPLES) -> str:
    """Pack a parametric motion for the attribute ``clip`` of a player.

    Parameters
    ----------
    motion : ParametricMotion
        With at most three parameters.
    samples : int
        Maximum number of blends in the page. The examples come first, followed by the samples that
        are farthest from all others.

    Raises
    ------
    InvalidInput
        If there are more than three parameters.
    """
    axes = list(motion.axes)
    if len(axes) > _MOST_AXES:
        raise InvalidInput(
            f"a page can aim at most {_MOST_AXES} parameters; {motion.name or 'this motion'} has "
            f"{len(axes)}: {', '.join(axes)}"
        )
    rows = _spread(motion.accessible, len(motion.space.examples), max(samples, 1))
    blends = [motion.reach(motion.accessible[row], refine=False) for row in rows]
    figure = stick_figure(blends[0].motion, max_points=_POINTS)
    times = np.array([_knots(blend) for blend in blends])
    knots = np.append(0, np.cumsum(np.maximum(np.rint(np.diff(times.mean(axis=0)) * _FPS), 1)))
    poses = np.stack([_at_knots(blend, knots, figure) for blend in blends])
    reached = np.array([blend.reached for blend in blends])
    codes, origin, scale = quantize_positions(poses.reshape(-1, *poses.shape[2:]), figure.size)
    codes = along_bones(codes.reshape(poses.shape), figure)
    header = {
        **figure_header(blends[0].motion, figure, poses[0]),
        "kind": "aim",
        "name": motion.name or "motion",
        "facts": f"{len(motion.examples)} examples, {len(motion.accessible)} samples. "
        "Drag the ring.",
        "note": "",
        "fps": _FPS,
        "origin": origin.tolist(),
        "scale": scale,
        "axes": axes,
        "samples": np.round(reached, 4).tolist(),
        "cells": _cells(reached, poses, figure),
        "knots": knots.astype(int).tolist(),
        "times": np.round(times, 4).tolist(),
        "start": np.round(reached[0], 4).tolist(),
        "space": ["xyz".index(axis) for axis in axes] if _is_position(axes) else [],
    }
    series = np.moveaxis(codes, 1, -1)  # (samples, points, 3, frames)
    return packed_clip(header, series.reshape(-1, series.shape[-1]))


def write_aim_page(motion: ParametricMotion, path: str | Path) -> Path:
    """Write a page on which a parametric motion is aimed by dragging, without a server.

    Parameters
    ----------
    motion : ParametricMotion
        With at most three parameters.
    path : str or Path
        Output file, written atomically.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> from motionloom.blending import register
    >>> from motionloom.parametric.parametric_motion import parametrize
    >>> from motionloom.parametric.settings import ParametrizeSettings
    >>> kicks = [ml.demo.clip(f"kick_{side}_right") for side in ("front_mid", "front_high")]
    >>> settings = ParametrizeSettings(samples=10)
    >>> kick = parametrize(register(kicks), "height(right_ankle)@33", settings)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_aim_page(kick, f"{folder}/kick.html").stat().st_size < 100_000
    True
    """
    return write_clip_page(packed_aim(motion), motion.name or "motion", path)


def _is_position(axes: Sequence[str]) -> bool:
    return len(axes) > 1 and set(axes) <= set("xyz") and len(set(axes)) == len(axes)


def _spread(points: Array, first: int, count: int) -> list[int]:
    """Return the first rows, followed by rows that are each farthest from those before it."""
    scaled = (points - points.min(axis=0)) / np.maximum(np.ptp(points, axis=0), 1e-9)
    rows = list(range(min(first, count)))
    gaps = np.full(len(points), np.inf)
    for row in rows:
        gaps = np.minimum(gaps, np.linalg.norm(scaled - scaled[row], axis=1))
    while len(rows) < min(count, len(points)) and gaps.max() > 1e-6:
        rows.append(int(gaps.argmax()))
        gaps = np.minimum(gaps, np.linalg.norm(scaled - scaled[rows[-1]], axis=1))
    return rows


def _knots(blend: SynthesisResult) -> list[float]:
    """Return the times of the start, of the key frames, and of the end, in seconds."""
    frames = {frame for frame in blend.frames if frame is not None}
    last = len(blend.motion) - 1
    return [frame / blend.motion.fps for frame in sorted({0, *frames, last})]


def _at_knots(blend: SynthesisResult, knots: Array, figure: StickFigure) -> Array:
    """Return positions (T, P, 3) resampled so that the key frames are at the knots."""
    positions = figure.positions(blend.motion).astype(np.float64)
    frames = np.array(_knots(blend)) * blend.motion.fps
    wanted = np.interp(np.arange(knots[-1] + 1), knots, frames)
    before = np.minimum(wanted.astype(np.intp), max(len(positions) - 2, 0))
    share = (wanted - before)[:, None, None]
    after = np.minimum(before + 1, len(positions) - 1)
    return np.asarray((1.0 - share) * positions[before] + share * positions[after])


def _cells(points: Array, poses: Array, figure: StickFigure) -> list[list[int]]:
    """Return the corners of the cells between samples whose poses can be mixed."""
    count, size = points.shape
    if count <= size:
        return [list(range(count))]
    cells: NDArray[np.integer]
    if size == 1:
        order = np.argsort(points[:, 0], kind="stable")
        cells = np.stack([order[:-1], order[1:]], axis=1)
    else:
        from scipy.spatial import Delaunay

        scaled = points / np.maximum(np.ptp(points, axis=0), 1e-9)
        cells = Delaunay(scaled, qhull_options="Qbb Qc QJ").simplices
    shorter = np.array([_shorter(poses[cell], figure) for cell in cells])
    kept = shorter <= _SHORTER
    for sample in set(range(count)) - set(cells[kept].ravel().tolist()):
        around = np.flatnonzero((cells == sample).any(axis=1))
        if len(around):  # every sample must remain in reach
            kept[around[shorter[around].argmin()]] = True
    return [sorted(cell) for cell in cells[kept].tolist()]


def _shorter(corners: Array, figure: StickFigure) -> float:
    """Return the share of its length that a bone loses in the middle of a cell, at worst."""
    bones = corners[:, :, figure.bones[:, 1]] - corners[:, :, figure.bones[:, 0]]
    whole = np.linalg.norm(bones, axis=-1).mean(axis=0)
    mixed = np.linalg.norm(bones.mean(axis=0), axis=-1)
    long = whole > 0.05 * figure.size  # shorter bones are covered by their neighbors
    return float((1.0 - mixed[long] / whole[long]).max(initial=0.0))
