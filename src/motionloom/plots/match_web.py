"""A match web as a picture: the distance matrix, where it is clear what corresponds, and paths.

On the left the matrix with its one-dimensional minima and the valid region around them, on the
right the chains and bridges of the web and, for a query, its match sequences. Time runs to
the right for the columns and upwards for the rows, as in the figures of Kovar & Gleicher
(2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment import ALPHA, matrix_minima, valid_region
from motionloom.errors import InvalidInput
from motionloom.plots.page import FAINT, TEXT, picture_path, write_picture
from motionloom.plots.strokes import PAPER
from motionloom.search.candidates import Candidate
from motionloom.search.match_web.web import Web

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MINIMA, REGION = "#ffd21f", "#2f7ed8"
CHAIN, BRIDGE, MATCH = "#12946f", "#e8672c", "#d6247f"

_INCHES = 5.2


def web_picture(
    matrix: NDArray[np.float64],
    web: Web,
    *,
    names: tuple[str, str] = ("rows", "columns"),
    query: tuple[int, int] | None = None,
    found: Sequence[Candidate] = (),
    alpha: float = ALPHA,
) -> Figure:
    """Draw the matrix and the web of two motions.

    Parameters
    ----------
    matrix : ndarray, shape (M, N)
    web : Web
        Of the same matrix.
    names : (str, str)
        Of the motions of rows and columns.
    query : (start, end), optional
        Rows that were searched for.
    found : sequence of Candidate
        Match sequences: columns, and pairs of row (counted from the query's start) and
        column.
    alpha : float
        Of the valid region.

    Examples
    --------
    >>> from motionloom.search.match_web.web import build_web
    >>> frames = np.arange(40.0)
    >>> matrix = np.abs(np.subtract.outer(frames, frames[5:25]))
    >>> len(web_picture(matrix, build_web(matrix, rate=10.0)).axes)
    2
    """
    from matplotlib.figure import Figure

    if matrix.shape != web.shape:
        raise InvalidInput(
            f"matrix and web must have one shape; got {matrix.shape} and {web.shape}"
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
        counts.append((len(found), "match", "es"))
    words = (f"{n} {word}{'' if n == 1 else more}" for n, word, more in counts)
    right.set_title(", ".join(words), size=9, color=TEXT)
    left.set_title("minima and valid region", size=9, color=TEXT)
    if query is not None:
        _draw_query(right, web, query, found)
    sheet.tight_layout()
    return sheet


def write_web_picture(
    matrix: NDArray[np.float64],
    web: Web,
    path: str | Path,
    *,
    names: tuple[str, str] = ("rows", "columns"),
    query: tuple[int, int] | None = None,
    found: Sequence[Candidate] = (),
    alpha: float = ALPHA,
) -> Path:
    """Draw a web into a .png, .svg or .pdf file; see `web_picture`."""
    path = picture_path(path)
    figure = web_picture(matrix, web, names=names, query=query, found=found, alpha=alpha)
    return write_picture(figure, path)


def _extent(shape: tuple[int, int], rate: float) -> tuple[float, float, float, float]:
    """Cells are centred on their frames' times."""
    return (-0.5 / rate, (shape[1] - 0.5) / rate, -0.5 / rate, (shape[0] - 0.5) / rate)


def _draw_grid(axes: Axes, matrix: NDArray[np.float64], rate: float) -> None:
    known = matrix[np.isfinite(matrix)]
    high = float(np.quantile(known, 0.9)) if len(known) else 1.0
    # Darker is nearer, but never as dark as what is drawn upon it.
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
    for paths, colour, width in ((bridges, BRIDGE, 0.8), (chains, CHAIN, 1.6)):
        lines = [path[:, ::-1] / web.rate for path in paths]
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=width), autolim=False)


def _draw_query(axes: Axes, web: Web, query: tuple[int, int], found: Sequence[Candidate]) -> None:
    first, last = query[0] / web.rate, (query[1] - 1) / web.rate
    axes.axhspan(first, last, color=MATCH, alpha=0.12, lw=0)
    for one in found:
        rows, columns = (one.path[:, 0] + query[0]) / web.rate, one.path[:, 1] / web.rate
        axes.plot(columns, rows, color=MATCH, lw=4.5, alpha=0.6, zorder=1.5)
        axes.text(columns[-1], rows[-1], f" {one.distance:.3f}", color=MATCH, size=7.5,
                  va="bottom", clip_on=True)  # fmt: skip
