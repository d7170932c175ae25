"""Draw blending.png, blends of kicks and of walks: ``python docs/pictures/blending.py``."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import motionloom as ml
from motionloom.blending import Blend, register
from motionloom.plots.parametric import draw_overlay

KINDS = ("front_mid", "outside_mid", "side_mid")


def kicks():
    """Blends from a front kick to a side kick, and the frames in which they hit."""
    blend = Blend(register([ml.demo.clip(f"kick_{kind}_right") for kind in KINDS]))
    hit = ml.demo.annotated(f"kick_{KINDS[0]}_right").truth.parameters["hit_frame"]
    steps = [(1, 0, 0), (0.5, 0.5, 0), (0, 1, 0), (0, 0.5, 0.5), (0, 0, 1)]
    return [blend(w) for w in steps], [round(blend.frame_at(hit, w)) for w in steps]


def walks():
    """Blends of walks to the left, straight ahead and to the right, two strides each."""
    clips = []
    for name in ("walk", "walk_left_tight", "walk_right_tight"):
        motion = ml.demo.clip(name)
        landings = [start for start, _ in motion.contacts().intervals("left_ball")]
        clips.append(motion[landings[1] : landings[3]])
    blend = Blend(register(clips))
    left = [(1 - s, s, 0) for s in np.linspace(1, 0, 5)]
    right = [(1 - s, 0, s) for s in np.linspace(0, 1, 5)[1:]]
    return [blend(w) for w in (*left, *right)]


if __name__ == "__main__":
    sheet = Figure(figsize=(8.0, 3.9), dpi=110, facecolor="white")
    made, frames = kicks()
    draw_overlay(
        sheet.add_axes((0.0, 0.0, 0.52, 0.9)), made, frames=frames, trace="right_ankle",
        thick=(0, 2, 4), title="Three kicks (thick), two blends between them",
    )  # fmt: skip
    paths = walks()
    draw_overlay(
        sheet.add_axes((0.56, 0.0, 0.42, 0.9)), paths, view="top",
        thick=(0, 4, 8), title="Three walks (thick) from above, six blends",
    )  # fmt: skip
    sheet.savefig(Path(__file__).with_suffix(".png"))
