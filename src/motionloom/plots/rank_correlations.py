"""Heat maps of rank correlations between measures, for poses and for segments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.plots.paper import FAINT, TEXT
from motionloom.plots.picture_file import picture_path, write_picture
from motionloom.search.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL_INCHES = 0.42
_COLOURS = "YlGnBu"
_LIGHT_FROM = 0.62  # values above stand on dark cells and are written in white


def write_rank_correlations(study: Study, path: str | Path, *, dpi: float = 110) -> Path:
    """Draw a study: two heat maps with their numbers, side by side.

    Parameters
    ----------
    study : Study
        From `motionloom.search.study.study`.
    path : str or Path
        ``.png``, ``.svg`` or ``.pdf``.
    dpi : float
        Dots per inch, for PNG.

    Returns
    -------
    path : Path
    """
    from matplotlib.figure import Figure

    path = picture_path(path)
    side = _CELL_INCHES * len(study.measures)
    figure = Figure(figsize=(2 * side + 2.6, side + 1.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    _heat_map(left, study.poses, study.measures)
    left.set_title(
        f"poses: the {study.neighbours} nearest of {study.queries} frames out of {study.frames}",
        size=9, color=TEXT, loc="left",
    )  # fmt: skip
    _heat_map(right, study.segments, study.measures)
    right.set_title(
        f"segments: the {study.ranked} nearest of {len(study.clips)} clips",
        size=9, color=TEXT, loc="left",
    )  # fmt: skip
    left.set_ylabel("nearest neighbours by", size=9, color=FAINT)
    for axes in (left, right):
        axes.set_xlabel("ranked by", size=9, color=FAINT)
    figure.suptitle("Spearman's rank correlation", size=11, color=TEXT)
    return write_picture(figure, path, dpi=dpi)


def _heat_map(axes: Axes, values: NDArray[np.float64], names: tuple[str, ...]) -> None:
    axes.imshow(values, cmap=_COLOURS, vmin=0.0, vmax=1.0)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            colour = "white" if value > _LIGHT_FROM else TEXT
            text = f"{value:.2f}".replace("0.", ".").replace("1.00", "1")
            axes.text(j, i, text, ha="center", va="center", size=7, color=colour)
    places = np.arange(len(names))
    axes.set_xticks(places, names, rotation=60, ha="right", rotation_mode="anchor", size=8)
    axes.set_yticks(places, names, size=8)
    axes.tick_params(length=0, colors=TEXT)
    axes.spines[:].set_visible(False)
