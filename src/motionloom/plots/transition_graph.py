"""A picture of a movement transition graph: nodes on a ring, arrows as wide as likely."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from motionloom.plots.page import FAINT, TEXT, picture_path, write_picture
from motionloom.rhythm.transition_graph import TransitionGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NODE, _START, _EDGE = "#3a6ea5", "#c8553d", "#39434f"


def transition_figure(graph: TransitionGraph, *, title: str = "") -> Figure:
    """Nodes with their number of movements; red ones may begin a dance."""
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(7.6, 7.6), layout="constrained", facecolor="white")
    axes = sheet.add_subplot(aspect="equal")
    axes.set_axis_off()
    order = _ring_order(graph.transitions)
    angle = np.empty(len(graph))
    angle[order] = np.pi / 2 - 2.0 * np.pi * np.arange(len(graph)) / len(graph)
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    _draw_edges(axes, graph, places)
    counts = np.array([len(group) for group in graph.members])
    sizes = 60.0 + 900.0 * counts / counts.max() / max(len(graph) / 12.0, 1.0)
    colours = [_START if chance > 0.0 else _NODE for chance in graph.start]
    axes.scatter(places[:, 0], places[:, 1], s=sizes, c=colours, zorder=3, lw=0)
    small = 9 if len(graph) <= 24 else 6
    for (x, y), name, count in zip(places, graph.names, counts, strict=True):
        axes.text(1.14 * x, 1.14 * y, f"{name}\n{count}", size=small, color=TEXT, ha="center",
                  va="center", parse_math=False)  # fmt: skip
    facts = (
        f"{len(graph)} nodes, {counts.sum()} movements ({graph.movements_per_node:.1f} a node), "
        f"{len(graph.edges)} transitions"
    )
    axes.set_title(f"{title + ': ' if title else ''}{facts}", size=10, color=TEXT,
                   loc="left", parse_math=False)  # fmt: skip
    axes.text(0.0, -1.34, "red: a dance may begin here; below each name its movements",
              size=8, color=FAINT, ha="center")  # fmt: skip
    axes.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.3))
    return sheet


def write_transition_graph(
    graph: TransitionGraph, path: str | Path, *, title: str = "", dpi: float = 110
) -> Path:
    """Draw a graph to ``.png``, ``.svg`` or ``.pdf``."""
    path = picture_path(path)
    return write_picture(transition_figure(graph, title=title), path, dpi=dpi)


def _ring_order(transitions: np.ndarray) -> list[int]:
    """From each node to the likeliest that is left, so that most arrows are short."""
    left = set(range(len(transitions)))
    here = 0
    order = []
    while left:
        if here not in left:
            here = min(left)
        order.append(here)
        left.remove(here)
        ways = [(transitions[here, k] + transitions[k, here], -k) for k in left]
        here = -max(ways)[1] if ways else here
    return order


def _draw_edges(axes: Axes, graph: TransitionGraph, places: np.ndarray) -> None:
    from matplotlib.patches import FancyArrowPatch

    for i, j in zip(*np.nonzero(graph.transitions), strict=True):
        chance = float(graph.transitions[i, j])
        how: dict[str, Any] = {"color": _EDGE, "alpha": 0.15 + 0.75 * chance}
        how["lw"] = 0.4 + 2.6 * chance
        if i == j:
            x, y = 1.045 * places[i]
            axes.plot(*_loop(x, y), zorder=1, **how)
            continue
        axes.add_patch(
            FancyArrowPatch(
                tuple(places[i]),
                tuple(places[j]),
                connectionstyle="arc3,rad=0.14",
                shrinkA=9,
                shrinkB=9,
                arrowstyle="-|>",
                mutation_scale=7 + 5 * chance,
                zorder=1,
                **how,
            )  # fmt: skip
        )


def _loop(x: float, y: float) -> tuple[np.ndarray, np.ndarray]:
    turn = np.linspace(0.0, 2.0 * np.pi, 40)
    return x + 0.045 * np.cos(turn), y + 0.045 * np.sin(turn)
