"""Draw dance.png: ``python docs/pictures/dance.py``."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import motionloom as ml
from motionloom.dance.choreography import Choreography
from motionloom.dance.music import Music
from motionloom.dance.settings import ChoreographySettings
from motionloom.plots.figures.filmstrip import write_match_strip
from motionloom.plots.pages.page import FAINT, TEXT

HERE = Path(__file__).parent


def main():
    takes = [ml.demo.clip("dance_groove", seed=seed) for seed in (0, 1, 2)]
    steps = Choreography.from_takes(takes, ChoreographySettings(meter=4))
    slow, quick = 60.0 / 112.0, 60.0 / 128.0
    first = 0.4 + slow * np.arange(32)
    beats = np.concatenate([first, first[-1] + quick * np.arange(1, 33)])
    song = Music(beats, 4, np.arange(0, len(beats), 4), float(beats[-1] + 0.5))
    figure = Figure(figsize=(9.0, 2.8), layout="constrained")
    axes = figure.subplots()
    for synced, color, name in (
        (False, "#e8672c", "without music"),
        (True, "#12946f", "on the beat"),
    ):
        motion = steps.dance_to(song, seed=3, synced=synced).motions[0]
        detected = ml.beats(motion).times
        off = [detected[np.abs(detected - beat).argmin()] - beat for beat in beats]
        axes.plot(beats, np.array(off) * motion.fps, "o-", ms=4, lw=0.8, color=color, label=name)
    axes.axvline(first[-1], color=FAINT, lw=0.8, ls=":")
    axes.text(first[-1] + 0.2, 7.5, "112 → 128 beats per minute", size=8, color=FAINT)
    axes.set_xlabel("seconds", color=TEXT)
    axes.set_ylabel("frames from the\nbeat of the music", color=TEXT)
    axes.legend(frameon=False, loc="lower left", ncols=2, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "dance_beats.png", dpi=100)
    write_match_strip(
        [("a dance", steps.dance_to(song, seed=3).motions[0][:96])], HERE / "dance.png", frames=9
    )


if __name__ == "__main__":
    main()
