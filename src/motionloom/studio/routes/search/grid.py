"""Routes for the distance matrix of two segments: heat map, minima, match web, DTW paths."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response
from numpy.typing import NDArray
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput
from motionloom.library.settings import WebOptions
from motionloom.motion.segment import intervals
from motionloom.studio.requests import CodeLines, flags, python_arguments
from motionloom.studio.responses import ArrayResponse, MatchRow, NoHead, array_response
from motionloom.studio.state.app_state import State

if TYPE_CHECKING:
    from motionloom.library import Comparison

router = APIRouter(prefix="/grid", tags=["grid"])

SegmentText = Annotated[str, Query(max_length=300, description="NAME or NAME:START-END, in frames")]
Distance = Annotated[str, Query(max_length=60, description="Distance between frames")]

USUAL = WebOptions().distance
MAX_SIDE = 4000  # rows or columns that are shown
MAX_CELLS = 36_000_000  # cells for which a match web is built, or minima are computed, on request
_STRIP = 256  # rows computed at once
_LEVELS = 255  # 255 means beyond the color range, or unknown
_PROBED_ROWS, _PROBED_COLUMNS = 40, 500  # sampled to determine the color range
_LONGEST_QUERY = 900  # maximum rows of a query: half a minute


class GridSide(TypedDict):
    """The motion segment along one side of a matrix; `first` is its first row or column."""

    motion: str
    start_frame: int
    end_frame: int
    frames: int
    fps: float
    first: int


class GridHead(TypedDict):
    """A heat map: the range of its color scale, and the segments along its sides."""

    high: float
    low: float
    unit: str
    rate: float
    step: int
    rows: GridSide
    columns: GridSide
    lines: CodeLines


class WebSize(TypedDict):
    """Size of a complete match web."""

    chains: int
    bridges: int
    cells: int


class GridWebHead(TypedDict):
    """Number of polylines of each kind in the response, and the size of the complete web."""

    chains: int
    bridges: int
    matches: int
    whole: WebSize


class GridPathsHead(TypedDict):
    """DTW matches of the row segment within the column segment."""

    matches: list[MatchRow]


@router.get("", response_model=GridHead, response_class=ArrayResponse)
def heat_map(state: State, a: SegmentText, b: SegmentText, distance: Distance = USUAL) -> Response:
    """Return distances as bytes: ``cells`` (rows, columns), 254 at ``high`` and 255 above it."""
    pair = state.library.compare(a, b, WebOptions(distance=distance))
    step = _step(pair)
    high = _color_range(pair)
    rows, columns = _shown_shape(pair, step)
    cells = np.empty((rows, columns), np.uint8)
    lowest = np.inf
    for top in range(0, rows, _STRIP):
        count = min(_STRIP, rows - top)
        first = top * step
        block = pair.matrix(slice(first, first + (count - 1) * step + 1))[::step, ::step]
        lowest = min(lowest, float(np.nanmin(block))) if np.isfinite(block).any() else lowest
        levels = np.nan_to_num(block * ((_LEVELS - 1) / high), nan=_LEVELS, posinf=_LEVELS)
        cells[top : top + count] = np.minimum(np.rint(levels), _LEVELS)
    head: GridHead = {
        "high": high,
        "low": lowest if np.isfinite(lowest) else 0.0,
        "unit": pair.distance.unit,
        "rate": pair.rate,
        "step": step,
        "rows": _side(pair.a, pair.first_row),
        "columns": _side(pair.b, pair.first_column),
        "lines": _lines(state.library.path, pair, a, b),
    }
    return array_response(head, cells=cells)


@router.get("/lines")
def lines(
    state: State,
    a: SegmentText,
    b: SegmentText,
    distance: Distance = USUAL,
    max_distance: float | None = None,
) -> CodeLines:
    """Return a command that draws the matrix, and Python code that computes it."""
    pair = state.library.compare(a, b, WebOptions(distance=distance))
    return _lines(state.library.path, pair, a, b, max_distance)


@router.get("/marks", response_model=NoHead, response_class=ArrayResponse)
def marks(state: State, a: SegmentText, b: SegmentText, distance: Distance = USUAL) -> Response:
    """Return minima (bit 1) and valid region (bit 2) as ``marks`` (rows, columns).

    The minima are one-dimensional and computed at the full rate. If the shown matrix is coarser, a
    cell combines the bits of all cells that it represents.
    """
    pair = state.library.compare(a, b, WebOptions(distance=distance))
    if pair.shape[0] * pair.shape[1] > MAX_CELLS:
        raise InvalidInput(
            f"minima of {pair.shape[0]:,} x {pair.shape[1]:,} cells take too long to compute; "
            f"choose shorter segments"
        )
    minima, region = pair.minima()
    bits = (minima.astype(np.uint8) | (region.astype(np.uint8) << 1)).astype(np.uint8)
    step = _step(pair)
    return array_response({}, marks=bits if step == 1 else _pooled(bits, step))


@router.get("/web", response_model=GridWebHead, response_class=ArrayResponse)
def web(state: State, a: SegmentText, b: SegmentText, distance: Distance = USUAL) -> Response:
    """Return chains, bridges and match sequences as polylines of cells.

    ``cells`` (C, 2) contains row and column indices of the displayed matrix. ``offsets`` (paths +
    1) separates the paths: chains, then bridges, then match sequences, which also have
    ``distances``.
    """
    pair = state.library.compare(a, b, WebOptions(distance=distance))
    web = pair.web(max_cells=MAX_CELLS)
    first = np.array([pair.first_row, pair.first_column])
    chains = [web.path(number) for number in range(web.chain_count)]
    bridges = []
    for number in range(web.bridge_count):
        ends = web.cells[[web.leaves[number], web.arrives[number]]]
        bridges.append(np.vstack([ends[:1], web.path(web.chain_count + number), ends[1:]]))
    shown = [
        [part for path in paths for part in _inside(path - first, pair.shape)]
        for paths in (chains, bridges)
    ]
    # Longer segments are not searched: the number of paths would explode. Within the color range,
    # smaller thresholds only filter the result.
    matches = []
    if pair.shape[0] <= _LONGEST_QUERY:
        matches = pair.sequences(web, max_distance=_color_range(pair))
    sequences = [match.path - (0, pair.first_column) for match in matches]
    head: GridWebHead = {
        "chains": len(shown[0]),
        "bridges": len(shown[1]),
        "matches": len(sequences),
        "whole": {
            "chains": web.chain_count,
            "bridges": web.bridge_count,
            "cells": len(web.cells),
        },
    }
    return _polylines(
        head, [*shown[0], *shown[1], *sequences], [match.distance for match in matches], _step(pair)
    )


@router.get("/paths", response_model=GridPathsHead, response_class=ArrayResponse)
def paths(state: State, a: SegmentText, b: SegmentText, distance: Distance = USUAL) -> Response:
    """Return DTW matches of the row segment: ``cells`` (C, 2), ``offsets``, ``distances``."""
    pair = state.library.compare(a, b, WebOptions(distance=distance))
    matches = pair.dtw_matches()
    scales = np.array([pair.rate / pair.a.motion.fps, pair.rate / pair.b.motion.fps])
    lines = [(match.alignment - (0, pair.b.start_frame)) * scales for match in matches]
    rows: Any = [match.as_dict() for match in matches]
    head: GridPathsHead = {"matches": rows}
    return _polylines(head, lines, [match.distance for match in matches], _step(pair))


def _polylines(
    head: GridWebHead | GridPathsHead, lines: list[NDArray], distances: list[float], step: int
) -> Response:
    return array_response(
        head,
        cells=np.concatenate([np.empty((0, 2)), *lines]) / step,
        offsets=np.cumsum([0, *(len(line) for line in lines)]).astype(np.int32),
        distances=np.array(distances),
    )


def _step(pair: Comparison) -> int:
    """Return the frame step that keeps both sides within `MAX_SIDE`."""
    return max(1, -(-max(pair.shape) // MAX_SIDE))


def _shown_shape(pair: Comparison, step: int) -> tuple[int, int]:
    return -(-pair.shape[0] // step), -(-pair.shape[1] // step)


def _inside(path: NDArray, shape: tuple[int, int]) -> list[NDArray]:
    """Return the parts of a path that are inside a matrix."""
    kept = np.all((path >= 0) & (path < shape), axis=1)
    if kept.all():
        return [path] if len(path) else []
    return [path[i:j] for i, j in intervals(kept) if j - i > 1]


def _color_range(pair: Comparison) -> float:
    """Return the distance at the top of the color scale: the 0.9 quantile of sampled cells."""
    rows = np.unique(np.linspace(0, pair.shape[0] - 1, _PROBED_ROWS).astype(int))
    step = 1 + pair.shape[1] // _PROBED_COLUMNS
    sample = np.concatenate([pair.matrix(slice(row, row + 1))[:, ::step] for row in rows])
    finite = sample[np.isfinite(sample)]
    return max(float(np.quantile(finite, 0.9)), 1e-6) if len(finite) else 1.0


def _pooled(bits: NDArray[np.uint8], step: int) -> NDArray[np.uint8]:
    rows = np.bitwise_or.reduceat(bits, np.arange(0, bits.shape[0], step), axis=0)
    return np.bitwise_or.reduceat(rows, np.arange(0, bits.shape[1], step), axis=1)


def _side(segment, first: int) -> GridSide:
    return {
        "motion": segment.name,
        "start_frame": segment.start_frame,
        "end_frame": segment.end_frame,
        "frames": len(segment.motion),
        "fps": segment.motion.fps,
        "first": first,
    }


def _lines(
    path: Path, pair: Comparison, a: str, b: str, max_distance: float | None = None
) -> CodeLines:
    options = WebOptions(distance=pair.distance.name)
    words = ["motionloom", "web", str(path), str(pair.a.name), str(pair.b.name)]
    words += ["--output", "grid.png", *flags(options)]
    if (pair.a.start_frame, pair.a.end_frame) != (0, len(pair.a.motion)):
        words += ["--query", f"{pair.a.start_frame}-{pair.a.end_frame}"]
        words += [] if max_distance is None else ["--max-distance", f"{max_distance:g}"]
    chosen = f", ml.WebOptions({python_arguments(options)})" if options.changed() else ""
    call = f"compare({a!r}, {b!r}{chosen}).matrix()"
    python = f"import motionloom as ml; grid = ml.Library({str(path)!r}).{call}"
    return CodeLines(cli=shlex.join(words), python=python)
