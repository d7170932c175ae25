"""Figures of distance matrices, such as motion graph error functions and match webs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment import ALPHA, matrix_minima, valid_region
from motionloom.errors import InvalidInput
from motionloom.features import FrameDistance, frame_distance
from motionloom.motion_graph.transitions.candidates import error_function
from motionloom.plots.figures.drawing import PAPER, rgb
from motionloom.plots.pages.page import FAINT, TEXT, checked_picture_path, write_figure
from motionloom.ragged import offsets_of
from motionloom.search.candidates import Candidate
from motionloom.search.match_web.web import Web

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from motionloom.motion_graph import MotionGraph


_MARK, _BELOW = "#e3342f", "#f5c518"
_WIDEST = 1600  # maximum number of cells along one side


def write_error_function(
    graph: MotionGraph,
    path: str | Path,
    *,
    names: tuple[str, str] | None = None,
    distance: str | FrameDistance | None = None,
    dpi: float = 130,
) -> Path:
    """Draw a graph's error function, with similar frames in dark shades and transitions in red.

    Cells below the graph's threshold are tinted yellow.

    Parameters
    ----------
    graph : MotionGraph
    path : str or Path
        Output file with the suffix ``.png``, ``.svg`` or ``.pdf``.
    names : (str, str), optional
        Motions on the horizontal and the vertical axis. Default: all motions of the graph on both
        axes.
    distance : str or FrameDistance, optional
        Frame distance. Default: the graph's distance.
    dpi : float
    """
    from matplotlib.figure import Figure

    path = checked_picture_path(path)
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
        raise InvalidInput("the motions have no frames to draw")
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
    return write_figure(figure, path, dpi=dpi)


def _tinted(cells: NDArray[np.float32], threshold: float) -> NDArray[np.float32]:
    """Return colors (M, N, 3): gray from 0 (nearest) to 1, and yellow below the threshold."""
    low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
    gray = np.nan_to_num((cells - low) / max(high - low, 1e-12), nan=1.0)
    image = np.repeat(gray[..., None], 3, axis=2)
    below = cells < threshold
    image[below] = 0.45 * image[below] + 0.55 * rgb(_BELOW)
    return image


def _edges(rows, numbers) -> NDArray[np.int64]:
    return offsets_of([len(rows[n]) for n in numbers])


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


MINIMA, REGION = "#ffd21f", "#2f7ed8"
CHAIN, BRIDGE, MATCH = "#12946f", "#e8672c", "#d6247f"

_INCHES = 5.2


def match_web_figure(
    matrix: NDArray[np.float64],
    web: Web,
    *,
    names: tuple[str, str] = ("rows", "columns"),
    query: tuple[int, int] | None = None,
    matches: Sequence[Candidate] = (),
    alpha: float = ALPHA,
) -> Figure:
    """Draw a figure of the distance matrix and the match web between two motions.

    The left panel shows one-dimensional minima and the valid region around them. The right panel
    shows chains, bridges and, for a query, its match sequences. Time runs to the right for columns
    and upward for rows, as in Kovar & Gleicher (2004).

    Parameters
    ----------
    matrix : ndarray, shape (M, N)
    web : Web
        Match web that was built from `matrix`.
    names : (str, str)
        Names of the motions in the rows and columns.
    query : (start, end), optional
        Rows ``[start, end)`` of the query.
    matches : sequence of Candidate
        Match sequences, each a list of pairs of a row (relative to the start of the query) and a
        column.
    alpha : float
        Tolerance of the valid region.

    Examples
    --------
    >>> from motionloom.search.match_web.web import build_web
    >>> frames = np.arange(40.0)
    >>> matrix = np.abs(np.subtract.outer(frames, frames[5:25]))
    >>> len(match_web_figure(matrix, build_web(matrix, rate=10.0)).axes)
    2
    """
    from matplotlib.figure import Figure

    if matrix.shape != web.shape:
        raise InvalidInput(
            f"matrix and web must have the same shape; got {matrix.shape} and {web.shape}"
        )
    ratio = float(np.clip(web.shape[0] / max(web.shape[1], 1), 0.25, 2.5))
    wide = _INCHES if ratio <= 1.0 else _INCHES / ratio**0.5
    sheet = Figure(figsize=(2 * wide + 1.6, wide * ratio + 1.25), dpi=150, facecolor=PAPER)
    left, right = sheet.subplots(1, 2, sharex=True, sharey=True)
    for axes in (left, right):
        _draw_grid(axes, matrix, web.rate)
        axes.set_xlabel(f"{names[1]}, s", color=TEXT, size=9, parse_math=False)
    left.set_ylabel(f"{names[0]}, s", color=TEXT, size=9, parse_math=False)
    _draw_region(left, matrix, alpha, web.rate)
    _draw_paths(right, web)
    counts = [(web.chain_count, "chain", "s"), (web.bridge_count, "bridge", "s")]
    if query is not None:
        counts.append((len(matches), "match", "es"))
    words = (f"{n} {word}{'' if n == 1 else more}" for n, word, more in counts)
    right.set_title(", ".join(words), size=9, color=TEXT)
    left.set_title("minima and valid region", size=9, color=TEXT)
    if query is not None:
        _draw_query(right, web, query, matches)
    sheet.tight_layout()
    return sheet


def write_match_web(
    matrix: NDArray[np.float64],
    web: Web,
    path: str | Path,
    *,
    names: tuple[str, str] = ("rows", "columns"),
    query: tuple[int, int] | None = None,
    matches: Sequence[Candidate] = (),
    alpha: float = ALPHA,
) -> Path:
    """Write a match web to a .png, .svg or .pdf file; see `match_web_figure`."""
    path = checked_picture_path(path)
    figure = match_web_figure(matrix, web, names=names, query=query, matches=matches, alpha=alpha)
    return write_figure(figure, path)


def _extent(shape: tuple[int, int], rate: float) -> tuple[float, float, float, float]:
    """Return the extent of the axes in seconds; each cell is centered on the time of its frame."""
    return (-0.5 / rate, (shape[1] - 0.5) / rate, -0.5 / rate, (shape[0] - 0.5) / rate)


def _draw_grid(axes: Axes, matrix: NDArray[np.float64], rate: float) -> None:
    finite = matrix[np.isfinite(matrix)]
    high = float(np.quantile(finite, 0.9)) if len(finite) else 1.0
    # Similar frames are darker, but never as dark as the lines drawn on top.
    axes.imshow(matrix, origin="lower", extent=_extent(matrix.shape, rate), cmap="gray",
                vmin=-0.6 * high, vmax=high, interpolation="nearest", aspect="auto")  # fmt: skip
    axes.tick_params(labelsize=8, colors=FAINT)
    for side in axes.spines.values():
        side.set_color(FAINT)


def _draw_region(axes: Axes, matrix: NDArray[np.float64], alpha: float, rate: float) -> None:
    from matplotlib.colors import to_rgba

    layer = np.zeros((*matrix.shape, 4))
    layer[valid_region(matrix, alpha=alpha)] = to_rgba(REGION, 0.45)
    layer[matrix_minima(matrix) > 0] = to_rgba(MINIMA)
    axes.imshow(layer, origin="lower", extent=_extent(matrix.shape, rate), interpolation="nearest",
                aspect="auto")  # fmt: skip


def _draw_paths(axes: Axes, web: Web) -> None:
    from matplotlib.collections import LineCollection

    chains = [web.path(c) for c in range(web.chain_count)]
    bridges = []
    for b in range(web.bridge_count):
        ends = web.cells[[web.leaves[b], web.arrives[b]]]
        bridges.append(np.vstack([ends[:1], web.path(web.chain_count + b), ends[1:]]))
    for paths, color, width in ((bridges, BRIDGE, 0.8), (chains, CHAIN, 1.6)):
        lines = [path[:, ::-1] / web.rate for path in paths]
        axes.add_collection(LineCollection(lines, colors=color, linewidths=width), autolim=False)


def _draw_query(axes: Axes, web: Web, query: tuple[int, int], matches: Sequence[Candidate]) -> None:
    first, last = query[0] / web.rate, (query[1] - 1) / web.rate
    axes.axhspan(first, last, color=MATCH, alpha=0.12, lw=0)
    for match in matches:
        rows, columns = (match.path[:, 0] + query[0]) / web.rate, match.path[:, 1] / web.rate
        axes.plot(columns, rows, color=MATCH, lw=4.5, alpha=0.6, zorder=1.5)
        axes.text(columns[-1], rows[-1], f" {match.distance:.3f}", color=MATCH, size=7.5,
                  va="bottom", clip_on=True)  # fmt: skip
