"""Pictures of `reproduction.kp03`: Figures 2, 3, 5, 6 and 7."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom import demo
from motionloom.dance.choreography import Choreography
from motionloom.dance.dancing.dance import Dance
from motionloom.dance.motion_beats.beats import beats
from motionloom.dance.motion_beats.period import periodogram, superposed
from motionloom.dance.settings import (
    BeatSettings,
)
from motionloom.motion import Motion
from motionloom.plots.pages.page import FAINT, TEXT
from reproduction.claims import Data
from reproduction.kp03_motions import RATE, WAYS, beat_errors, constant_phase, study, walk_study

Array = NDArray[np.float64]

BLUE, RED, GOLD = "#3a6ea5", "#c8553d", "#d8a657"


def draw_periods(data: Data, motion: Motion) -> None:
    """Figures 2 and 3: cosines of one joint and of all joints, reference beats, and spectra."""
    from matplotlib.figure import Figure

    every = beats(motion, BeatSettings.kp03())
    joint = motion.skeleton.joint(motion.skeleton.roles["left_elbow"])
    mine = every.candidates.signals // 3 == joint
    elbow = replace(
        every.candidates, times=every.candidates.times[mine], sizes=every.candidates.sizes[mine],
        weights=every.candidates.weights[mine], signals=every.candidates.signals[mine],
    )  # fmt: skip
    sheet = Figure(figsize=(11.0, 4.0), layout="constrained")
    panels = sheet.subplots(2, 2, width_ratios=(3.0, 1.0))
    for row, (name, candidates) in enumerate(
        {"left elbow": elbow, "all joints": every.candidates}.items()
    ):
        signal = superposed(candidates)
        at = np.arange(len(signal)) / 60.0
        left, right = panels[row]
        left.plot(at, signal, color=BLUE, lw=0.9)
        for beat in every.reference:
            left.axvline(beat, color=RED, lw=0.7)
        left.set_xlim(0.0, 8.0)
        left.set_title(f"cosines of the candidates: {name}", loc="left", size=9, color=TEXT)
        frequencies, power = periodogram(signal)
        right.plot(frequencies, power, color=BLUE, lw=0.9)
        right.axvline(1.0 / every.period, color=RED, lw=0.7)
        right.set_xlim(0.0, 6.0)
        right.set_title("power", loc="left", size=9, color=TEXT)
        for axes in (left, right):
            axes.set_yticks([])
            axes.tick_params(labelsize=7, colors=FAINT)
            axes.spines[["top", "right", "left"]].set_visible(False)
    panels[1][0].set_xlabel("seconds; red: reference beats", size=8, color=FAINT)
    panels[1][1].set_xlabel("hertz", size=8, color=FAINT)
    sheet.savefig(data.figure("papers-kp03-periods.png"), dpi=85)


def draw_figure_6(data: Data) -> None:
    """Figure 6: errors of the beats of a walk, a perturbed walk and a dance."""
    from matplotlib.figure import Figure

    walk = demo.clip("walk", performer=0) if data.cmu is None else data.cmu["35_01"]
    shown = {
        "regular walk": (*walk_study(walk), True),
        "perturbed walk": (*walk_study(walk, jitter=0.075), True),
        "dance": (*study("dance", 0), False),
    }
    sheet = Figure(figsize=(12.0, 4.4), layout="constrained")
    panels = sheet.subplots(2, 3, sharey=True)
    for column, (name, (motion, truth, free)) in enumerate(shown.items()):
        for row, way in enumerate(("paper", "ours")):
            detected = beats(motion, WAYS[way][1]).times
            detected = detected - (constant_phase(detected, np.array(truth)) if free else 0.0)
            off = beat_errors(detected, np.array(truth[1:-1] if free else truth))
            axes = panels[row][column]
            axes.bar(np.arange(1, len(off) + 1), off, color=BLUE)
            axes.axhline(0.0, color=TEXT, lw=0.8)
            axes.set_ylim(-2.0, 2.0)
            text = (
                f"{name}, {WAYS[way][0]}\n"
                f"mean error {np.abs(off).mean():.2f}, variance {off.var():.2f}"
            )
            axes.set_title(text, loc="left", size=8, color=TEXT)
            axes.tick_params(labelsize=7, colors=FAINT)
            axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel("error (frames)", size=8)
    panels[1][0].set_ylabel("error (frames)", size=8)
    sheet.savefig(data.figure("papers-kp03-beats.png"), dpi=85)


def draw_graph(data: Data, steps: Choreography) -> None:
    """Draw a movement transition graph."""
    from motionloom.plots.rhythm import write_transition_graph

    write_transition_graph(steps.graph, data.figure("papers-kp03-graph.png"), dpi=70)


def draw_takes(data: Data, steps: Choreography, labels: NDArray[np.int64]) -> None:
    """Figure 5: movements of each take over time, colored by group."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(movement.source[0] for movement in steps.movements))
    colors = colormaps["tab20"]
    sheet = Figure(figsize=(9.0, 0.6 + 0.45 * len(names)), layout="constrained")
    axes = sheet.subplots()
    for movement, label in zip(steps.movements, labels.tolist(), strict=True):
        first, last = movement.beats[0] / RATE, movement.beats[steps.meter] / RATE
        row = names.index(movement.source[0])
        axes.barh(row, last - first, left=first, color=colors(label % 20), ec="white", height=0.8)
        axes.text(0.5 * (first + last), row, str(label + 1), ha="center", va="center", size=7)
    axes.set_yticks(range(len(names)), names, size=8, color=TEXT)
    axes.invert_yaxis()
    axes.set_xlabel("seconds; numbers and colors: groups", size=8, color=FAINT)
    axes.tick_params(labelsize=7, colors=FAINT)
    axes.spines[["top", "right", "left"]].set_visible(False)
    sheet.savefig(data.figure("papers-kp03-takes.png"), dpi=85)


def draw_synced(data: Data, synced: Dance, free: Dance) -> None:
    """Figure 7: distances of the beats of two dances from those of the music."""
    from matplotlib.figure import Figure

    song = synced.music
    sheet = Figure(figsize=(9.0, 2.6), layout="constrained")
    axes = sheet.subplots()
    for made, color, name in ((free, GOLD, "not aligned"), (synced, BLUE, "aligned")):
        detected = made.found_beats()
        off = beat_errors(detected, song.beats)
        axes.plot(song.beats, off, "o-", ms=3.5, lw=0.8, color=color, label=name)
    axes.axhline(0.0, color=TEXT, lw=0.6)
    axes.set_xlabel("seconds", size=8, color=TEXT)
    axes.set_ylabel("frames from the\nbeat of the music", size=8, color=TEXT)
    axes.legend(frameon=False, ncols=2, fontsize=8, loc="lower left")
    axes.spines[["top", "right"]].set_visible(False)
    sheet.savefig(data.figure("papers-kp03-synced.png"), dpi=85)
