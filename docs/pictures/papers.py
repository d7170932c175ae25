"""Reproduced figures for docs/papers.md: ``python docs/pictures/papers.py``.

papers-beats.png is figure 6 of Kim, Park and Shin (2003), on motions whose beats are known.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import motionloom as ml
from motionloom.demo.actions.dances import beat_study

HERE = Path(__file__).parent


def beat_errors():
    """Errors of detected beats, in frames of 1/30 s."""
    figure, panels = plt.subplots(1, 3, figsize=(12, 2.4), sharey=True)
    for axes, kind in zip(panels, ("regular", "perturbed", "dance"), strict=True):
        motion, truth = beat_study(kind)
        found = np.asarray(ml.beats(motion).times)
        off = [30.0 * (found[np.abs(found - beat).argmin()] - beat) for beat in truth]
        axes.bar(np.arange(1, len(off) + 1), off, color="#2f7ed8")
        axes.axhline(0.0, color="#3d4653", lw=0.8)
        axes.set(ylim=(-1.5, 1.5), xlabel="beat")
        axes.set_title(f"{kind}: mean {np.abs(off).mean():.2f} frames", loc="left", fontsize=10)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    panels[0].set_ylabel("error (frames)")
    figure.tight_layout()
    figure.savefig(HERE / "papers-beats.png", dpi=85)


if __name__ == "__main__":
    beat_errors()
