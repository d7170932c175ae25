"""Figure of a family's size over the distance up to which members are joined."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motionloom.plots.pages.page import FAINT, TEXT, checked_picture_path, write_figure
from motionloom.search.match_graph.sweep import LimitSweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CURVE, _CHOICE = "#3a6ea5", "#c8553d"


def sweep_figure(sweep: LimitSweep, *, used: float | None = None) -> Figure:
    """Figure of the sizes of a family for all join distances, and the plateau that was chosen.

    Parameters
    ----------
    sweep : LimitSweep
    used : float, optional
        Join distance that was given, if it is another than the proposed one.

    Examples
    --------
    >>> from motionloom.search import Node
    >>> sweep = LimitSweep.of("kick", [Node("a", 0, 9, 1)], [0.04], 0.2)
    >>> len(sweep_figure(sweep).axes)
    1
    """
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(7.0, 3.6), layout="constrained", facecolor="white", dpi=120)
    axes = sheet.add_subplot()
    low, high = sweep.plateau
    last = max(sweep.largest if np.isfinite(sweep.largest) else 0.0, high, *sweep.limits, 1e-6)
    if sweep.ended and len(sweep.limits):
        last = 1.03 * float(sweep.limits[-1])
    limits = np.concatenate([[0.0], sweep.limits, [last]])
    sizes = np.concatenate([[0], np.arange(1, len(sweep.limits) + 1), [len(sweep.limits)]])
    axes.step(limits, sizes, where="post", color=_CURVE, lw=1.8)
    axes.axvspan(low, min(high, last), color=_CHOICE, alpha=0.12, lw=0)
    count = int(sweep.sizes([sweep.proposed])[0])
    axes.axvline(sweep.proposed, color=_CHOICE, lw=1.6)
    axes.annotate(
        f"{sweep.proposed:.3f} {sweep.unit}: {count} {'member' if count == 1 else 'members'}",
        (sweep.proposed, count), xytext=(6, 16), textcoords="offset points", color=_CHOICE, size=9,
    )  # fmt: skip
    if used is not None and not np.isclose(used, sweep.proposed):
        axes.axvline(used, color=FAINT, lw=1.2, ls="--")
    axes.set(xlim=(0.0, last), ylim=(0, max(1.12 * len(sweep.limits), 1)))
    axes.set_xlabel(f"join distance ({sweep.unit})", color=TEXT)
    axes.set_ylabel("members", color=TEXT)
    axes.set_title(f"Family of {sweep.query}", loc="left", size=11, color=TEXT, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    return sheet


def write_sweep(sweep: LimitSweep, path: str | Path, *, used: float | None = None) -> Path:
    """Write the figure to a .png, .svg or .pdf file; see `sweep_figure`."""
    path = checked_picture_path(path)
    return write_figure(sweep_figure(sweep, used=used), path)
