"""The distance grid of two stretches: heat map, minima, chains, bridges, paths."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response

from motionloom.ragged import offsets_of
from motionloom.search import Dtw, SearchSettings, search
from motionloom.studio.dependencies import Shop, arrays
from motionloom.studio.grids import Compared, compared, grid_answer, marks, web_answer

router = APIRouter(prefix="/grid", tags=["grid"])

Stretch = Annotated[str, Query(max_length=300, description="NAME or NAME:START-END, in frames.")]
Distance = Annotated[str, Query(max_length=60, description="What frames are compared by.")]
_MOST_PATHS = 20


@router.get("", response_class=Response)
def grid(shop: Shop, a: Stretch, b: Stretch, distance: Distance = "pc11") -> Response:
    """``cells`` (rows, columns): one byte per cell, 254 for the distance ``high``."""
    pair = compared(shop.library, a, b, distance)
    head, values = grid_answer(pair)
    return arrays({**head, "lines": _lines(shop.library.path, pair)}, **values)


@router.get("/lines")
def lines(
    shop: Shop, a: Stretch, b: Stretch, distance: Distance = "pc11", threshold: float | None = None
) -> dict[str, str]:
    """The same picture from a terminal, the same numbers in Python."""
    return _lines(shop.library.path, compared(shop.library, a, b, distance), threshold)


@router.get("/marks", response_class=Response)
def minima(shop: Shop, a: Stretch, b: Stretch, distance: Distance = "pc11") -> Response:
    """``marks`` (rows, columns): bit 1 for minima, bit 2 for the valid region."""
    return arrays({}, marks=marks(compared(shop.library, a, b, distance)))


@router.get("/web", response_class=Response)
def web(shop: Shop, a: Stretch, b: Stretch, distance: Distance = "pc11") -> Response:
    """Chains, bridges and match sequences as lines of cells; see `motionloom.studio.grids`."""
    head, values = web_answer(shop.library, compared(shop.library, a, b, distance))
    return arrays(head, **values)


@router.get("/paths", response_class=Response)
def paths(shop: Shop, a: Stretch, b: Stretch, distance: Distance = "pc11") -> Response:
    """Where DTW finds the rows among the columns: ``cells`` (C, 2), ``offsets``, ``distances``."""
    pair = compared(shop.library, a, b, distance)
    settings = SearchSettings(
        method=Dtw(features=distance, rank="distance", speed_seconds=0.0, weights="equal"),
        only=str(pair.b.name),
        max=_MOST_PATHS,
    )
    found = [
        match
        for match in search(shop.library, pair.a, settings)
        if pair.b.start_frame <= match.start_frame and match.end_frame <= pair.b.end_frame
    ]
    scales = np.array([pair.store.rate / pair.a.motion.fps, pair.store.rate / pair.b.motion.fps])
    lines = [(m.alignment - (0, pair.b.start_frame)) * scales / pair.step for m in found]
    sizes = [len(line) for line in lines]
    head: dict[str, Any] = {"matches": [match.as_dict() for match in found]}
    return arrays(
        head,
        cells=np.concatenate([np.empty((0, 2)), *lines]),
        offsets=offsets_of(sizes).astype(np.int32),
        distances=np.array([match.distance for match in found]),
    )


def _lines(path, pair: Compared, threshold: float | None = None) -> dict[str, str]:
    a, b, name = str(pair.a.name), str(pair.b.name), pair.store.distance.name
    words = ["motionloom", "web", str(path), a, b, "--output", "grid.png"]
    words += [] if name == "pc11" else ["--distance", name]
    part = ""
    if (pair.a.start_frame, pair.a.end_frame) != (0, len(pair.a.motion)):
        words += ["--query", f"{pair.a.start_frame}-{pair.a.end_frame}"]
        words += [] if threshold is None else ["--threshold", f"{threshold:g}"]
    if (len(pair.rows), len(pair.columns)) != pair.whole:
        rows = f"{pair.first_row}:{pair.first_row + len(pair.rows)}"
        part = f"[{rows}, {pair.first_column}:{pair.first_column + len(pair.columns)}]"
    said = "" if name == "pc11" else f", distance={name!r}"
    python = (
        "import motionloom as ml; from motionloom.search.match_web.library_web import web_pair; "
        f"grid = web_pair(ml.Library({str(path)!r}), {a!r}, {b!r}{said}).grid{part}"
    )
    return {"cli": shlex.join(words), "python": python}
