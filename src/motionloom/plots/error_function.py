"""The error function of motions as a grey picture, with the transitions on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.distance import FrameDistance, frame_distance
from motionloom.errors import InvalidInput
from motionloom.motion_graph.candidates import error_function
from motionloom.plots.page import FAINT, TEXT, picture_path, write_picture
from motionloom.plots.strokes import rgb

if TYPE_CHECKING:
    from motionloom.motion_graph import MotionGraph

_MARK, _BELOW = "#e3342f", "#f5c518"
_WIDEST = 1600  # pixels of error function along one side


def write_error_function(
    graph: MotionGraph,
    path: str | Path,
    *,
    names: tuple[str, str] | None = None,
    distance: str | FrameDistance | None = None,
    dpi: float = 130,
) -> Path:
    """Draw an error function: dark where frames are alike, transitions in red.

    Cells below the graph's threshold are tinted yellow.

    Parameters
    ----------
    graph : MotionGraph
    path : str or Path
        ``.png``, ``.svg`` or ``.pdf``.
    names : (str, str), optional
        The first motion from left to right, the second from top to bottom. Default: all
        motions of the graph, both ways.
    distance : str or FrameDistance, optional
        Default: the graph's.
    dpi : float

    Returns
    -------
    path : Path
    """
    from matplotlib.figure import Figure

    path = picture_path(path)
    across, down = ([graph.locate((name, 0))[0]] for name in names) if names else (None, None)
    numbers = list(range(len(graph.motions)))
    across, down = across or numbers, down or numbers
    chosen = frame_distance(graph.distance if distance is None else distance)
    longest = max(sum(len(graph.motions[n]) for n in side) for side in (across, down))
    step = max(-(-longest // _WIDEST), 1)
    rows = {n: chosen.prepare(graph.motions[n])[::step] for n in {*across, *down}}
    cells = error_function(
        chosen,
        np.concatenate([rows[n] for n in down]),
        np.concatenate([rows[n] for n in across]),
    )
    if not cells.size:
        raise InvalidInput("there are no frames to draw")
    figure = Figure(figsize=(7.0, 7.0 * max(cells.shape[0] / cells.shape[1], 0.3) + 0.9))
    axes = figure.add_axes((0.1, 0.06, 0.86, 0.84))
    axes.imshow(_tinted(cells, graph.threshold), interpolation="nearest", aspect="auto")
    edges = {side: _edges(rows, numbers) for side, numbers in (("x", across), ("y", down))}
    _mark(axes, graph, across, down, edges, step)
    for side, numbers in (("x", across), ("y", down)):
        _ticks(axes, side, [graph.names[n] for n in numbers], edges[side])
    axes.set_title(
        f"{chosen.name}, threshold {graph.threshold:.3g}, {len(graph)} transitions",
        size=9, color=TEXT, loc="left",
    )  # fmt: skip
    return write_picture(figure, path, dpi=dpi)


def _tinted(cells: NDArray[np.float32], threshold: float) -> NDArray[np.float32]:
    """Grey from 0 (alike) to 1, shape (M, N, 3); yellow below the threshold."""
    low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
    grey = np.nan_to_num((cells - low) / max(high - low, 1e-12), nan=1.0)
    image = np.repeat(grey[..., None], 3, axis=2)
    below = cells < threshold
    image[below] = 0.45 * image[below] + 0.55 * rgb(_BELOW)
    return image


def _edges(rows, numbers) -> NDArray[np.int64]:
    return np.cumsum([0, *(len(rows[n]) for n in numbers)])


def _mark(axes, graph, across, down, edges, step) -> None:
    (a, i), (b, j) = graph.transitions.source.T, graph.transitions.target.T
    places = []
    for k in range(len(graph)):
        if a[k] in across and b[k] in down:
            x = edges["x"][across.index(a[k])] + i[k] / step
            y = edges["y"][down.index(b[k])] + j[k] / step
            places.append((x, y))
    if places:
        x, y = np.array(places).T
        axes.plot(x, y, "o", color=_MARK, markersize=3.2, markeredgewidth=0)


def _ticks(axes, side: str, names: list[str], edges) -> None:
    line, ticks = (
        (axes.axvline, axes.set_xticks) if side == "x" else (axes.axhline, axes.set_yticks)
    )
    for edge in edges[1:-1]:
        line(edge - 0.5, color="white", linewidth=0.8)
    middles = 0.5 * (edges[1:] + edges[:-1])
    short = len(names) <= 12
    turn = {"rotation": 90, "va": "center"} if side == "y" else {}
    ticks(middles, names if short else [""] * len(names), size=7, color=FAINT, **turn)
    axes.tick_params(length=0)
