"""Reproduced figures for docs/papers.md: ``python docs/pictures/papers.py``.

papers-neighbours.png is figure 1 of Krüger et al. (2010), on motions of the built-in corpus;
papers-beats.png is figure 6 of Kim, Park and Shin (2003), on motions whose beats are known.
"""

import tempfile
from functools import cache
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import motionloom as ml
from motionloom.demo.actions.dances import beat_study
from motionloom.distance.body_frame import body_positions
from motionloom.plots.camera import Camera

HERE = Path(__file__).parent
ENDS = ["left_wrist", "right_wrist", "left_ankle", "right_ankle", "head"]
COLOURS = ["#2f7ed8", "#e8672c", "#7db3ec", "#f2a57e", "#3d4653"]
CHAINS = [
    ["hips", "chest", "head"],
    *(["chest", f"{s}_shoulder", f"{s}_elbow", f"{s}_wrist"] for s in ("left", "right")),
    *(["hips", f"{s}_hip", f"{s}_knee", f"{s}_ankle"] for s in ("left", "right")),
]
POSES = [
    "walk_p0:20-22", "jog_p1:12-14", "kick_front_high_right_p0:34-36", "punch_mid_right_p0:28-30",
    "jump_up_p0:34-36", "cartwheel_left_p0:66-68", "sit_stand_p0:40-42",
    "reach_side_high_right_p0:33-35", "dance_groove_p0:60-62",
]  # fmt: skip


def nearest_poses(lib):
    """Nine poses, each with wrists, ankles and head of its 256 nearest poses."""
    camera = Camera(view="three-quarter")
    ends = cache(lambda name: camera.project(body_positions(lib[name], ENDS)))
    figure, panels = plt.subplots(1, len(POSES), figsize=(14, 2.6), sharey=True)
    for axes, pose in zip(panels, POSES, strict=True):
        near, _ = lib.neighbours(pose, k=256)
        for match in reversed(near):  # nearest on top
            dots = ends(match.motion)[match.start_frame]
            faded = 0.05 + 0.4 * (1.0 - match.distance / near[-1].distance)
            axes.scatter(dots[:, 0], dots[:, 1], s=7, c=COLOURS, alpha=faded, lw=0)
        name, frame = pose.split(":")[0], int(pose.split(":")[1].split("-")[0])
        for chain in CHAINS:
            line = camera.project(body_positions(lib[name][frame : frame + 1], chain)[0])
            axes.plot(line[:, 0], line[:, 1], color="#3d4653", lw=1.6, solid_capstyle="round")
        axes.set(xlim=(-0.95, 0.95), ylim=(-0.15, 2.1), aspect="equal")
        axes.set_title(f"{100 * near[-1].distance:.0f} cm", fontsize=9, color="#66707d")
        axes.set_axis_off()
    figure.subplots_adjust(0, 0, 1, 0.93, wspace=0)
    figure.savefig(HERE / "papers-neighbours.png", dpi=85)


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


def main():
    with tempfile.TemporaryDirectory() as folder:
        lib = ml.Library.create(f"{folder}/poses.loom")
        for performance in ml.demo.clips():
            lib.add_motion(performance.motion, name=performance.name)
        nearest_poses(lib)
    beat_errors()


if __name__ == "__main__":
    main()
