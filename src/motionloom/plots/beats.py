"""A picture of motion beats: what turns when, where the beats are, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motionloom.motion import Motion
from motionloom.plots.page import FAINT, TEXT, picture_path, write_picture
from motionloom.rhythm.beats.motion_beats import LONGEST, SHORTEST, Beats
from motionloom.rhythm.beats.period import periodogram, superposed
from motionloom.rhythm.beats.tracking import density

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_BEAT, _TURN, _OTHER = "#c8553d", "#3a6ea5", "#d8a657"
_PER_SECOND = 0.55  # inches


def beats_figure(motion: Motion | Sequence[Motion], beats: Beats, *, title: str = "") -> Figure:
    """Candidates joint by joint, their density, the beats, and the periodogram.

    Parameters
    ----------
    motion : Motion, or several
        What `beats` were found from.
    beats : Beats
    title : str
        Default: the motion's name.
    """
    from matplotlib.figure import Figure

    motions = [motion] if isinstance(motion, Motion) else list(motion)
    wide = float(np.clip(_PER_SECOND * beats.seconds, 8.0, 22.0))
    sheet = Figure(figsize=(wide, 6.4), layout="constrained", facecolor="white")
    grid = sheet.add_gridspec(3, 1, height_ratios=(3.0, 1.2, 1.2))
    turns = sheet.add_subplot(grid[0])
    heard = sheet.add_subplot(grid[1], sharex=turns)
    power = sheet.add_subplot(grid[2])
    _draw_turns(turns, motions, beats)
    _draw_density(heard, beats)
    _draw_power(power, beats)
    name = title or " + ".join(one.name for one in motions if one.name) or "motion"
    how = f"{beats.bpm:.1f} beats a minute, confidence {beats.confidence:.2f}"
    if not beats.rhythmic:
        how = f"no rhythm to speak of (confidence {beats.confidence:.2f})"
    turns.set_title(f"{name}: {how}", loc="left", size=11, color=TEXT, parse_math=False)
    return sheet


def write_beats(
    motion: Motion | Sequence[Motion], beats: Beats, path: str | Path, *, dpi: float = 110
) -> Path:
    """Draw beats to ``.png``, ``.svg`` or ``.pdf``."""
    path = picture_path(path)
    return write_picture(beats_figure(motion, beats), path, dpi=dpi)


def _draw_turns(axes: Axes, motions: list[Motion], beats: Beats) -> None:
    rows, offset = {}, 0
    for who, motion in enumerate(motions):
        mark = f" {who + 1}" if len(motions) > 1 else ""
        for joint, name in enumerate(motion.skeleton.names):
            for axis in range(3):
                rows[offset + 3 * joint + axis] = name + mark
        rows[offset + 3 * len(motion.skeleton)] = "feet land" + mark
        offset += 3 * len(motion.skeleton) + 1
    found = beats.candidates
    labels = [rows[int(signal)] for signal in found.signals]
    shown = [name for name in dict.fromkeys(rows.values()) if name in set(labels)]
    place = {name: k for k, name in enumerate(shown)}
    for time in beats.times:
        axes.axvline(time, color=_BEAT, lw=1.1, alpha=0.75)
    axes.scatter(
        found.times, [place[name] for name in labels], s=4.0 + 46.0 * found.weights,
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
    axes.set_xlabel("beats a minute; dotted: what else it might be", size=8, color=FAINT)
    axes.tick_params(length=2, colors=FAINT, labelsize=7)
    axes.spines[["top", "right", "left"]].set_visible(False)
