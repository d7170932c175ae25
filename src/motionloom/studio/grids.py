"""The distance grid of two takes as the page shows it: one byte per cell, and what lies on it.

Rows are frames of a query (or a whole take), columns those of another take, both at the rate
of the library. A grid is made strip by strip and never held in more than one byte per cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment import matrix_minima, valid_region
from motionloom.distance.feature_table import at_rate
from motionloom.distance.matrix import DistanceMatrix, PreparedFrames, prepared_frames
from motionloom.errors import InvalidInput, LibraryError
from motionloom.motion.segment import intervals
from motionloom.ragged import offsets_of
from motionloom.search.candidates import Limits
from motionloom.search.match_web.build import motion_web
from motionloom.search.match_web.library_web import WEB_DURATIONS
from motionloom.search.match_web.match_sequences import web_matches
from motionloom.search.match_web.web import Web
from motionloom.search.match_web.web_index import web_index
from motionloom.search.match_web.web_store import WebStore
from motionloom.search.query import Query, library_query

MOST_SIDE = 4000  # rows and columns that are shown
_STRIP = 256
_LEVELS = 255  # 255 is farther than the farthest shown, or unknown
_PROBES, _PROBED = 40, 500  # rows, and columns at least, that the range of colours is taken from
LONGEST_QUERY = 900  # rows that are searched for: half a minute
_MOST_WEB = 36_000_000  # cells of a pair of takes whose web is built while somebody waits


@dataclass(frozen=True, eq=False)
class Compared:
    """Two stretches made ready: rows, columns, and how their frames are counted."""

    a: Query
    b: Query
    store: WebStore
    rows: PreparedFrames
    columns: PreparedFrames
    first_row: int
    first_column: int
    whole: tuple[int, int]  # frames of both takes, at the grid's rate
    step: int  # every so many frames are shown, where there are too many

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns that are shown."""
        return -(-len(self.rows) // self.step), -(-len(self.columns) // self.step)


def compared(library, a: str, b: str, distance: str) -> Compared:
    """Make ready what `grid_answer` and the overlays need."""
    store = WebStore(library, distance)
    rows, columns = (_ready(library_query(library, text), store) for text in (a, b))
    step = max(1, -(-max(len(rows.frames), len(columns.frames)) // MOST_SIDE))
    return Compared(
        rows.query,
        columns.query,
        store,
        rows.frames,
        columns.frames,
        rows.first,
        columns.first,
        (rows.whole, columns.whole),
        step,
    )


class _Ready(NamedTuple):
    """One side of a grid: its frames, where they begin, and how many the take has."""

    query: Query
    frames: PreparedFrames
    first: int
    whole: int


def _ready(query: Query, store: WebStore) -> _Ready:
    whole = prepared_frames(at_rate(query.motion, store.rate), store.distance)
    first, last = query.row_span(store.rate, len(whole))
    return _Ready(query, whole.part(first, last), first, len(whole))


def grid_answer(pair: Compared) -> tuple[dict[str, Any], dict[str, Any]]:
    """Head and cells of the heat map.

    ``cells`` (rows, columns) of bytes: 0 for no distance, 254 for ``high``, 255 for beyond.
    """
    grid = DistanceMatrix(pair.rows, [pair.columns])
    high = _high(pair)
    rows, columns = pair.shape
    cells = np.empty((rows, columns), np.uint8)
    lowest = np.inf
    for top in range(0, rows, _STRIP):
        count = min(_STRIP, rows - top)
        first = top * pair.step
        block = grid.block(slice(first, first + (count - 1) * pair.step + 1))
        block = block[:: pair.step, :: pair.step]
        lowest = min(lowest, float(np.nanmin(block))) if np.isfinite(block).any() else lowest
        levels = np.nan_to_num(block * ((_LEVELS - 1) / high), nan=_LEVELS, posinf=_LEVELS)
        cells[top : top + count] = np.minimum(np.rint(levels), _LEVELS)
    head = {
        "high": high,
        "low": lowest if np.isfinite(lowest) else 0.0,
        "unit": pair.store.distance.unit,
        "rate": pair.store.rate,
        "step": pair.step,
        "rows": _side(pair.a, pair.first_row),
        "columns": _side(pair.b, pair.first_column),
    }
    return head, {"cells": cells}


def marks(pair: Compared) -> NDArray[np.uint8]:
    """One-dimensional minima (bit 1) and the valid region around them (bit 2), per cell shown.

    Judged at the full rate; of the cells that one shown cell stands for, any counts.
    """
    if len(pair.rows) * len(pair.columns) > _MOST_WEB:
        raise InvalidInput(
            f"minima of {len(pair.rows):,} x {len(pair.columns):,} cells are too many to look at; "
            "choose shorter stretches"
        )
    grid = DistanceMatrix(pair.rows, [pair.columns]).block()
    bits = (matrix_minima(grid) > 0).astype(np.uint8)
    bits |= valid_region(grid, alpha=pair.store.limits.alpha).astype(np.uint8) << 1
    return bits if pair.step == 1 else _pooled(bits, pair.step)


def web_of(library, pair: Compared) -> Web:
    """The web of both takes, whole: as it was built, or built now."""
    a, b = str(pair.a.name), str(pair.b.name)
    try:
        return pair.store.web(a, b)
    except LibraryError:
        sides = [
            prepared_frames(at_rate(query.motion, pair.store.rate), pair.store.distance)
            for query in (pair.a, pair.b)
        ]
        if len(sides[0]) * len(sides[1]) > _MOST_WEB:
            raise InvalidInput(
                f"the web of {a} and {b} is too large to be built while you wait; build it with "
                f"motionloom web {library.path} build"
            ) from None
        return motion_web(
            sides[0],
            [sides[1]],
            rate=pair.store.rate,
            itself=0 if a == b else None,
            limits=pair.store.limits,
        )


def web_answer(library, pair: Compared) -> tuple[dict[str, Any], dict[str, Any]]:
    """Chains, bridges and match sequences as lines: cells (row, column) of the stretches shown.

    ``cells`` (C, 2) float, counted as shown; ``offsets`` (paths + 1): first chains, then
    bridges, then match sequences. ``distances`` of the latter.
    """
    web = web_of(library, pair)
    first = np.array([pair.first_row, pair.first_column])
    chains = [web.path(number) for number in range(web.chain_count)]
    bridges = []
    for number in range(web.bridge_count):
        ends = web.cells[[web.leaves[number], web.arrives[number]]]
        bridges.append(np.vstack([ends[:1], web.path(web.chain_count + number), ends[1:]]))
    found = _sequences(web, pair)
    inside = [[cut for path in paths for cut in _inside(path - first, pair)]
              for paths in (chains, bridges)]  # fmt: skip
    sequences = [one.path - (0, pair.first_column) for one in found]
    lines = [*inside[0], *inside[1], *sequences]
    sizes = [len(line) for line in lines]
    head = {
        "chains": len(inside[0]),
        "bridges": len(inside[1]),
        "matches": len(sequences),
        "whole": {
            "chains": web.chain_count,
            "bridges": web.bridge_count,
            "cells": len(web.cells),
        },
    }
    cells = np.concatenate([np.empty((0, 2)), *lines]) / pair.step
    arrays = {
        "cells": cells,
        "offsets": offsets_of(sizes).astype(np.int32),
        "distances": np.array([one.distance for one in found]),
    }
    return head, arrays


def _sequences(web: Web, pair: Compared):
    """What the rows find among the columns, as far as colours go; nearer thresholds only filter.

    Nothing for rows that are no query: so long a sequence has too many ways.
    """
    if len(pair.rows) > LONGEST_QUERY:
        return []
    start = pair.first_row
    index = web_index([(0, 0, web)], np.array([0, web.shape[1]]), ways=1)
    end = start + len(pair.rows)
    limits = Limits(
        max_distance=_high(pair),
        durations=WEB_DURATIONS,
        occupied=[(start, end)] if pair.a.name == pair.b.name else [],
    )
    found = web_matches(index, start, end, limits)
    low, high = pair.first_column, pair.first_column + len(pair.columns)
    return [one for one in found if low <= one.start and one.end <= high]


def _inside(path: NDArray, pair: Compared) -> list[NDArray]:
    """The parts of a path that lie within the stretches shown."""
    size = (len(pair.rows), len(pair.columns))
    kept = np.all((path >= 0) & (path < size), axis=1)
    if kept.all():
        return [path] if len(path) else []
    return [path[i:j] for i, j in intervals(kept) if j - i > 1]


def _high(pair: Compared) -> float:
    """Where colours end: what nine cells of ten are nearer than."""
    rows = np.unique(np.linspace(0, len(pair.rows) - 1, _PROBES).astype(int))
    step = 1 + len(pair.columns) // _PROBED
    grid = DistanceMatrix(pair.rows, [pair.columns])
    sample = np.concatenate([grid.block(slice(row, row + 1))[:, ::step] for row in rows])
    known = sample[np.isfinite(sample)]
    return max(float(np.quantile(known, 0.9)), 1e-6) if len(known) else 1.0


def _pooled(bits: NDArray[np.uint8], step: int) -> NDArray[np.uint8]:
    rows = np.bitwise_or.reduceat(bits, np.arange(0, bits.shape[0], step), axis=0)
    return np.bitwise_or.reduceat(rows, np.arange(0, bits.shape[1], step), axis=1)


def _side(query: Query, first: int) -> dict[str, Any]:
    return {
        "motion": query.name,
        "start_frame": query.start_frame,
        "end_frame": query.end_frame,
        "frames": len(query.motion),
        "fps": query.motion.fps,
        "first": first,
    }
