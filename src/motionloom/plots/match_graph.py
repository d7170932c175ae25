"""Figure of a match graph, with a stick figure at every node and the cost at every edge.

All figures are seen from the same side and show corresponding frames, chosen at the most extreme
pose of the query. Edges on the shortest paths to the query are emphasized. An edge is dashed and
red if it is the only connection to several members.

Nodes are laid out by stress majorization (Gansner, Koren & North 2004), initialized by classical
scaling; then overlapping boxes are pushed apart.

`sweep_figure` plots the size of a family against the join distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.plots.figures import drawing as ink
from motionloom.plots.figures.drawing import Camera, camera_for
from motionloom.plots.figures.stick_figure import stick_figure
from motionloom.plots.pages.page import FAINT, TEXT, checked_picture_path, paint, write_figure
from motionloom.search import Family
from motionloom.search.match_graph.sweep import LimitSweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NEARER = 0.7
_SMALLEST = 1e-3  # typical distance between nearest neighbors, relative to the largest distance
_ROUNDS = 300
_PUSHES = 400


def graph_layout(distances: ArrayLike, box: tuple[float, float]) -> NDArray[np.float64]:
    """Compute positions of N nodes in the plane.

    Parameters
    ----------
    distances : array_like, shape (N, N)
        Distances between all nodes along the graph, symmetric and finite.
    box : (width, height)
        Size of each node.

    Returns
    -------
    places : ndarray, shape (N, 2)
        Centers of the boxes, which do not overlap. The first is at the origin.

    Examples
    --------
    >>> chain = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> places = graph_layout(chain, (1.0, 1.0))
    >>> gaps = np.linalg.norm(places[:, None] - places, axis=2)
    >>> bool(gaps[0, 2] > 1.5 * gaps[0, 1] > 1.5)
    True
    """
    target = np.asarray(distances, np.float64)
    connected = np.isfinite(target)
    # Nodes without a path between them are far apart.
    target = np.where(connected, target, 1.5 * target[connected].max(initial=0.0) + 1e-9)
    count = len(target)
    if count == 1:
        return np.zeros((1, 2))
    size = max(box)
    off = ~np.eye(count, dtype=bool)
    least = np.median(np.where(off, target, np.inf).min(axis=1))
    # Long distances are compressed so that the typical nearest neighbor is one box away.
    # Copies of a motion have no distance at all, so the scale is that of the others.
    least = max(least, _SMALLEST * target.max(), 1e-12)
    ratio = np.maximum(target, 0.05 * least) / least
    target = np.where(off, 1.35 * size * ratio**_NEARER, 0.0)
    places = _majorized(target, _scaled(target))
    places = _apart(_wide(places), box)
    return places - places[0]


def _scaled(target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project distances to the plane by classical multidimensional scaling."""
    squares = target**2
    squares -= squares.mean(axis=0)
    squares -= squares.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-0.5 * squares)
    plane = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    # Coincident nodes would never separate, so they are moved apart in a small spiral.
    turn = np.arange(len(target)) * 2.399963
    reach = 1e-3 * target.max() * np.sqrt(np.arange(1, len(target) + 1))
    return plane + reach[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)


def _majorized(target: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.where(target > 0.0, 1.0 / np.where(target > 0.0, target, 1.0) ** 2, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_ROUNDS):
        gaps = np.linalg.norm(places[:, None] - places, axis=2)
        pull = -weights * target / np.where(gaps > 1e-9, gaps, np.inf)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        moved = inverse @ (pull @ places)
        if np.abs(moved - places).max() < 1e-4 * target.max():
            return moved
        places = moved
    return places


def _wide(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotate positions so that the largest extent is horizontal."""
    centered = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    return centered @ axes.T


def _apart(places: NDArray[np.float64], box: tuple[float, float]) -> NDArray[np.float64]:
    """Push overlapping boxes apart, each pair along the axis with the smaller overlap."""
    places = places.copy()
    room = np.asarray(box)
    for _ in range(_PUSHES):
        gaps = places[:, None] - places
        depth = room - np.abs(gaps)
        over = (depth > 1e-3 * room).all(axis=2) & ~np.eye(len(places), dtype=bool)
        if not over.any():
            break
        along_x = depth[..., 0] < depth[..., 1]
        side = np.where(gaps >= 0.0, 1.0, -1.0)
        push = 0.5 * side * depth
        push[..., 0] *= over & along_x
        push[..., 1] *= over & ~along_x
        crowd = np.maximum(over.sum(axis=1, keepdims=True), 1)
        places += 1.02 * push.sum(axis=1) / np.sqrt(crowd)
    return places


# Ring colors by step from the query: the query, its matches, their matches, ...
TIER_COLORS = ("#12946f", "#2f7ed8", "#7b5cd6", "#c2478f", "#e8672c", "#9a6b00")

_BOX = (1.85, 2.3)  # size in meters for a figure that is 1.7 m tall, including the label
_MOST_INCHES = 24.0
_LABELED_EDGES = 60
_HINGE = "#c8553d"  # an edge that is the only connection of several members
_PLATE = {"boxstyle": "round,pad=0.12", "fc": ink.PAPER, "ec": "none", "alpha": 0.8}


def match_graph_figure(family: Family, clips: Sequence[Motion]) -> Figure:
    """Draw a family as a graph of stick figures.

    Parameters
    ----------
    family : Family
    clips : sequence of Motion
        Frames of each node, in the order of ``family.nodes``.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Raises
    ------
    InvalidInput
        If the number of clips differs from the number of nodes.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.search import Matches, Node
    >>> kick = ml.demo.clip("kick_front_high_right")
    >>> alone = Family("kick", (Node("kick", 0, len(kick), 0),), (), Matches([]))
    >>> len(match_graph_figure(alone, [kick]).axes)
    1
    """
    from matplotlib.figure import Figure

    if len(clips) != len(family.nodes):
        raise InvalidInput(
            f"clips must contain one clip for each of the {len(family.nodes)} nodes of the match "
            f"graph; got {len(clips)}"
        )
    places = graph_layout(family_distances(family), _BOX)
    low = places.min(axis=0) - 0.5 * np.array(_BOX) - 0.1
    high = places.max(axis=0) + 0.5 * np.array(_BOX) + 0.1
    extent = high - low
    inches = min(0.75, _MOST_INCHES / extent.max())
    width, height = max(extent[0] * inches, 4.6), extent[1] * inches + 0.6
    sheet = Figure(figsize=(width, height), dpi=150, facecolor=ink.PAPER)
    axes = sheet.add_axes((0.0, 0.0, 1.0, 1.0 - 0.6 / height))
    middle, half = 0.5 * (low[0] + high[0]), 0.5 * width / inches
    axes.set(xlim=(middle - half, middle + half), ylim=(low[1], high[1]), aspect="equal")
    axes.set_axis_off()
    _heading(sheet, family, width, height)
    _draw_edges(axes, family, places, inches)
    moments = _moments(family, clips)
    camera = _camera(clips[0], moments[0])
    for number, (clip, moment) in enumerate(zip(clips, moments, strict=True)):
        _draw_node(axes, family, number, clip, moment, camera, places[number], inches)
    return sheet


def write_match_graph(family: Family, clips: Sequence[Motion], path: str | Path) -> Path:
    """Write a family to a .png, .svg or .pdf file; see `match_graph_figure`."""
    path = checked_picture_path(path)
    return write_figure(match_graph_figure(family, clips), path)


def family_distances(family: Family) -> NDArray[np.float64]:
    """Return the distances between all nodes along the graph, shape (N, N)."""
    from scipy.sparse.csgraph import shortest_path

    count = len(family.nodes)
    costs = np.full((count, count), np.inf)
    for edge in family.edges:
        costs[edge.a, edge.b] = costs[edge.b, edge.a] = max(edge.cost, 1e-9)
    return shortest_path(costs, directed=False)


def _moments(family: Family, clips: Sequence[Motion]) -> list[int]:
    """Return the corresponding frames at which the clips differ most from their end poses."""
    times = np.arange(len(clips[0]))
    frames = [times]
    by_segment = {
        (match.motion, match.start_frame, match.end_frame): match for match in family.matches
    }
    for node, clip in zip(family.nodes[1:], clips[1:], strict=True):
        match = by_segment.get((node.motion, node.start_frame, node.end_frame))
        if match is not None:
            own = match.corresponding_frames(len(times)) - node.start_frame
        else:
            own = np.linspace(0, len(clip) - 1, len(times))
        frames.append(np.clip(np.rint(own).astype(int), 0, len(clip) - 1))
    extremity = sum(_extremity(clip)[own] for clip, own in zip(clips, frames, strict=True))
    most = int(np.argmax(extremity))
    return [int(own[most]) for own in frames]


def _extremity(clip: Motion) -> NDArray[np.float64]:
    """Return the squared difference (T,) between each pose and the mean of the end poses."""
    figure = stick_figure(clip)
    poses = figure.positions(clip).astype(np.float64)
    poses -= poses[:, figure.anchor, None]
    return np.nan_to_num(((poses - 0.5 * (poses[0] + poses[-1])) ** 2).sum(axis=(1, 2)))


def _camera(clip: Motion, moment: int) -> float:
    """Return the camera direction relative to the facing direction of the query, in radians."""
    figure = stick_figure(clip)
    path = figure.positions(clip)[:, figure.anchor]
    return camera_for(clip, figure, path, view="three-quarter").direction - _facing(clip, moment)


def _facing(clip: Motion, moment: int) -> float:
    around = clip[max(moment - 8, 0) : moment + 9].headings()
    around = around[np.isfinite(around)]
    return float(np.angle(np.exp(1j * around).mean())) if len(around) else 0.0


def _draw_node(axes, family: Family, number: int, clip, moment, turn, place, inches) -> None:
    figure = stick_figure(clip)
    pose = figure.positions(clip)[moment].astype(np.float64)
    camera = Camera(_facing(clip, moment) + turn, "three-quarter")
    zoom = 1.5 / figure.size
    at = pose[figure.anchor].copy()
    at[1] = figure.ground
    center = camera.project(at)[:2]
    foot = place - (0.0, 0.5 * _BOX[1] - 0.5)
    rim = zoom * (ink.disc(figure, camera, at, 0.3 * figure.size) - center) + foot
    tier = family.nodes[number].tier
    color = TIER_COLORS[min(tier, len(TIER_COLORS) - 1)]
    axes.fill(*rim.T, facecolor=ink.FLOOR, edgecolor=color, lw=1.4 * inches, zorder=4)
    body = ink.shadow_strokes(figure, pose, camera) + ink.figure_strokes(figure, pose, camera)
    drawn = ink.Strokes(zoom * (body.ends - center) + foot, zoom * body.widths, body.colors)
    paint(axes, drawn, 72.0 * inches, zorder=5)
    node = family.nodes[number]
    name = node.motion if len(node.motion) <= 26 else f"{node.motion[:16]}…{node.motion[-9:]}"
    size = 8.0 * inches
    bottom = place[1] - 0.5 * _BOX[1]
    for up, words, ink_color in (
        (0.19, name, TEXT),
        (0.06, f"{node.start_frame}-{node.end_frame}", FAINT),
    ):
        axes.text(place[0], bottom + up, words, size=size, color=ink_color, ha="center",
                  va="center", zorder=6, parse_math=False, bbox=_PLATE)  # fmt: skip
    if number == 0:
        from matplotlib.patches import Rectangle

        corner = place - 0.5 * np.array(_BOX) + 0.02
        axes.add_patch(
            Rectangle(
                tuple(corner), _BOX[0] - 0.04, _BOX[1] - 0.04, fill=False, ls=(0, (3, 3)),
                lw=2.2 * inches, ec=TIER_COLORS[0], zorder=6,
            )
        )  # fmt: skip
        axes.text(corner[0] + 0.06, corner[1] + _BOX[1] - 0.1, "query", size=size, weight="bold",
                  color=TIER_COLORS[0], va="top", zorder=6)  # fmt: skip


def _draw_edges(axes, family: Family, places, inches: float) -> None:
    from matplotlib.collections import LineCollection

    used = set()
    for number in range(1, len(family.nodes)):
        route = family.path_to_query(number)
        used |= {frozenset(step) for step in zip(route, route[1:], strict=False)}
    strong = [edge for edge in family.edges if frozenset((edge.a, edge.b)) in used]
    weak = [edge for edge in family.edges if frozenset((edge.a, edge.b)) not in used]
    faint = float(np.clip(12.0 * len(family.nodes) / max(len(weak), 1) ** 1.3, 0.04, 0.55))
    for edges, color, width, alpha in (
        (weak, FAINT, 1.2, faint), (strong, TEXT, 2.2, 0.8),
    ):  # fmt: skip
        lines = [(places[edge.a], places[edge.b]) for edge in edges]
        axes.add_collection(
            LineCollection(lines, colors=color, linewidths=width * inches, alpha=alpha, zorder=2),
            autolim=False,
        )
    hinges = [edge for edge in family.edges if edge.cuts_off > 1]
    axes.add_collection(
        LineCollection(
            [(places[edge.a], places[edge.b]) for edge in hinges],
            colors=_HINGE, linewidths=3.0 * inches, linestyles="--", zorder=2,
        ),
        autolim=False,
    )  # fmt: skip
    labeled = strong if len(family.edges) > _LABELED_EDGES else strong + weak
    for edge in labeled:
        middle = 0.5 * (places[edge.a] + places[edge.b])
        axes.text(*middle, f"{edge.cost:.3f}", size=8.0 * inches, color=TEXT, ha="center",
                  va="center", zorder=3, bbox=_PLATE)  # fmt: skip


def _heading(sheet: Figure, family: Family, width: float, height: float) -> None:
    count = len(family.nodes) - 1
    last = max(node.tier for node in family.nodes)
    facts = (
        f"{count} {'match' if count == 1 else 'matches'}, {len(family.edges)} "
        f"{'edge' if len(family.edges) == 1 else 'edges'}; costs in meters"
    )
    sheet.text(0.2 / width, 1 - 0.12 / height, f"Family of {family.query}", size=12,
               weight="bold", color=TEXT, va="top", parse_math=False)  # fmt: skip
    sheet.text(0.2 / width, 1 - 0.38 / height, facts, size=8, color=FAINT, va="top")
    for tier in range(1, min(last, len(TIER_COLORS) - 1) + 1):
        more = "+" if tier == len(TIER_COLORS) - 1 < last else ""
        sheet.text(3.4 / width + 0.55 * (tier - 1) / width, 1 - 0.38 / height,
                   f"● tier {tier}{more}", size=8, color=TIER_COLORS[tier], va="top")  # fmt: skip


_CURVE, _CHOICE = "#3a6ea5", "#c8553d"


def sweep_figure(sweep: LimitSweep, *, used: float | None = None) -> Figure:
    """Plot the family size against the join distance, and mark the chosen plateau.

    Parameters
    ----------
    sweep : LimitSweep
    used : float, optional
        Join distance that was used, if it differs from the proposed distance.

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
    """Write the figure of a sweep to a .png, .svg or .pdf file; see `sweep_figure`."""
    path = checked_picture_path(path)
    return write_figure(sweep_figure(sweep, used=used), path)
