"""Figures of motion beats and movement transition graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from motionloom.dance.motion_beats.beats import Beats
from motionloom.dance.motion_beats.period import periodogram, superposed
from motionloom.dance.motion_beats.tracking import density
from motionloom.dance.settings import LONGEST, SHORTEST
from motionloom.dance.transitions.movement_graph import TransitionGraph
from motionloom.motion import Motion
from motionloom.plots.pages.page import FAINT, TEXT, checked_picture_path, write_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_BEAT, _TURN, _OTHER = "#c8553d", "#3a6ea5", "#d8a657"
_PER_SECOND = 0.55  # inches


def beats_figure(motion: Motion | Sequence[Motion], beats: Beats, *, title: str = "") -> Figure:
    """Draw the beat candidates of each joint, their density, the beats, and the periodogram.

    Parameters
    ----------
    motion : Motion, or several
        The motion or motions to which `beats` belong.
    beats : Beats
    title : str
        Default: the name of the motion.
    """
    from matplotlib.figure import Figure

    motions = [motion] if isinstance(motion, Motion) else list(motion)
    wide = float(np.clip(_PER_SECOND * beats.seconds, 8.0, 22.0))
    sheet = Figure(figsize=(wide, 6.4), layout="constrained", facecolor="white")
    grid = sheet.add_gridspec(3, 1, height_ratios=(3.0, 1.2, 1.2))
    turns = sheet.add_subplot(grid[0])
    heard = sheet.add_subplot(grid[1], sharex=turns)
    power = sheet.add_subplot(grid[2])
    _draw_candidates(turns, motions, beats)
    _draw_density(heard, beats)
    _draw_power(power, beats)
    name = title or " + ".join(each.name for each in motions if each.name) or "motion"
    how = f"{beats.bpm:.1f} beats per minute, confidence {beats.confidence:.2f}"
    if not beats.rhythmic:
        how = f"no clear rhythm (confidence {beats.confidence:.2f})"
    turns.set_title(f"{name}: {how}", loc="left", size=11, color=TEXT, parse_math=False)
    return sheet


def write_beats(
    motion: Motion | Sequence[Motion], beats: Beats, path: str | Path, *, dpi: float = 110
) -> Path:
    """Write a figure of beats to a ``.png``, ``.svg`` or ``.pdf`` file; see `beats_figure`."""
    path = checked_picture_path(path)
    return write_figure(beats_figure(motion, beats), path, dpi=dpi)


def _draw_candidates(axes: Axes, motions: list[Motion], beats: Beats) -> None:
    rows, offset = {}, 0
    for who, motion in enumerate(motions):
        mark = f" {who + 1}" if len(motions) > 1 else ""
        for joint, name in enumerate(motion.skeleton.names):
            for axis in range(3):
                rows[offset + 3 * joint + axis] = name + mark
        rows[offset + 3 * len(motion.skeleton)] = "feet land" + mark
        offset += 3 * len(motion.skeleton) + 1
    marks = beats.candidates
    drawn = np.isin(marks.signals, list(rows))  # the beats may include signals of dance partners
    labels = [rows[int(signal)] for signal in marks.signals[drawn]]
    shown = [name for name in dict.fromkeys(rows.values()) if name in set(labels)]
    place = {name: k for k, name in enumerate(shown)}
    for time in beats.times:
        axes.axvline(time, color=_BEAT, lw=1.1, alpha=0.75)
    axes.scatter(
        marks.times[drawn], [place[name] for name in labels],
        s=4.0 + 46.0 * marks.weights[drawn],
        color=_TURN, alpha=0.55, lw=0, zorder=3,
    )  # fmt: skip
    axes.set_yticks(range(len(shown)), shown, size=6 if len(shown) < 32 else 4)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(0.0, beats.seconds)
    axes.tick_params(labelbottom=False, length=0, colors=FAINT)
    axes.spines[:].set_visible(False)


def _draw_density(axes: Axes, beats: Beats) -> None:
    turning = density(beats.candidates)
    moments = np.linspace(0.0, beats.candidates.seconds, len(turning))
    axes.fill_between(moments, turning, color=_TURN, alpha=0.35, lw=0)
    for time in beats.times:
        axes.axvline(time, color=_BEAT, lw=1.1)
    axes.set_yticks([])
    axes.set_ylabel("turning", size=8, color=FAINT)
    axes.set_xlabel("seconds; red lines are the beats", size=8, color=FAINT)
    axes.tick_params(length=2, colors=FAINT, labelsize=7)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _draw_power(axes: Axes, beats: Beats) -> None:
    frequencies, power = periodogram(superposed(beats.candidates))
    inside = (frequencies > 1.0 / LONGEST) & (frequencies < 1.0 / SHORTEST)
    axes.plot(60.0 * frequencies[inside], power[inside], color=_TURN, lw=1.1)
    axes.axvline(beats.bpm, color=_BEAT, lw=1.4)
    top = float(power[inside].max()) if inside.any() else 1.0
    axes.text(beats.bpm, top, f" {beats.bpm:.1f}", color=_BEAT, size=8, va="top")
    for other in beats.alternatives:
        axes.axvline(60.0 / other.seconds, color=_OTHER, lw=1.0, ls=":")
        if other.ratio:
            axes.text(60.0 / other.seconds, 0.8 * top, f" {other.ratio}", size=7, color=_OTHER)
    axes.set_yticks([])
    axes.set_ylabel("power", size=8, color=FAINT)
    axes.set_xlabel("beats per minute; dotted: alternatives", size=8, color=FAINT)
    axes.tick_params(length=2, colors=FAINT, labelsize=7)
    axes.spines[["top", "right", "left"]].set_visible(False)


_NODE, _START, _EDGE = "#3a6ea5", "#c8553d", "#39434f"


def transition_graph_figure(graph: TransitionGraph, *, title: str = "") -> Figure:
    """Draw a graph's nodes with their movement counts; possible first nodes are red."""
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
    colors = [_START if chance > 0.0 else _NODE for chance in graph.start]
    axes.scatter(places[:, 0], places[:, 1], s=sizes, c=colors, zorder=3, lw=0)
    small = 9 if len(graph) <= 24 else 6
    for (x, y), name, count in zip(places, graph.names, counts, strict=True):
        axes.text(1.14 * x, 1.14 * y, f"{name}\n{count}", size=small, color=TEXT, ha="center",
                  va="center", parse_math=False)  # fmt: skip
    facts = (
        f"{len(graph)} nodes, {counts.sum()} movements ({graph.movements_per_node:.1f} per "
        f"node), {len(graph.edges)} transitions"
    )
    axes.set_title(f"{title + ': ' if title else ''}{facts}", size=10, color=TEXT,
                   loc="left", parse_math=False)  # fmt: skip
    axes.text(0.0, -1.34, "red: a dance may begin here; the number of movements is below each name",
              size=8, color=FAINT, ha="center")  # fmt: skip
    axes.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.3))
    return sheet


def write_transition_graph(
    graph: TransitionGraph, path: str | Path, *, title: str = "", dpi: float = 110
) -> Path:
    """Write a figure of a transition graph to a ``.png``, ``.svg`` or ``.pdf`` file."""
    path = checked_picture_path(path)
    return write_figure(transition_graph_figure(graph, title=title), path, dpi=dpi)


def _ring_order(transitions: np.ndarray) -> list[int]:
    """Order nodes greedily: each node is followed by its likeliest remaining successor."""
    left = set(range(len(transitions)))
    here = 0
    order = []
    while left:
        if here not in left:
            here = min(left)
        order.append(here)
        left.remove(here)
        scores = [(transitions[here, k] + transitions[k, here], -k) for k in left]
        here = -max(scores)[1] if scores else here
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
