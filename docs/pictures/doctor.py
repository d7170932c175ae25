"""Draw convert.png: ``python docs/pictures/doctor.py``.

This module also contains the page that doctor.png shows, for browser.py.
"""

from dataclasses import replace
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import motionloom as ml
from motionloom.formats.presets import PRESETS, apply_preset
from motionloom.formats.report import diagnostic_report
from motionloom.motion.rotations import quaternions as rot
from motionloom.plots.pages.html_pages import doctor_section, write_doctor_page

HERE = Path(__file__).parent
INK, FAINT, BONE = "#2b303a", "#8a93a1", "#3b82c4"
AXES = {"x": "#c0392b", "y": "#2e9e5b", "z": "#2f6fd0"}
PROGRAMS = ("blender", "unreal", "unity", "maya")


def draw_convert():
    walk = ml.demo.clip("walk")
    figure, axes = plt.subplots(1, 4, figsize=(11, 3.4))
    for axis, name in zip(axes, PROGRAMS, strict=True):
        preset = PRESETS[name]
        ready = apply_preset(walk, name)
        places = ready.positions(end_sites=True)[12]
        skeleton = ready.skeleton
        turn = np.radians(35.0)
        flat = places @ np.array([[np.cos(turn), 0], [0, 1], [-np.sin(turn), 0]])
        flat[:, 0] -= flat[skeleton.point("hips"), 0]
        for point, parent in enumerate([*skeleton.parents, *skeleton.end_parents]):
            if parent >= 0 and not (preset.ground_root and parent == 0):
                axis.plot(*flat[[point, parent]].T, color=BONE, lw=3, solid_capstyle="round")
        for role in ("head", "left_shoulder", "hips", "left_knee", "left_ankle"):
            x, y = flat[skeleton.point(role)]
            line = {"arrowstyle": "-", "color": "#d5dae2", "lw": 0.6}
            axis.annotate(skeleton.roles[role], (x, y), (0.42, y), color=FAINT, size=7, va="center",
                          arrowprops=line)  # fmt: skip
        if preset.ground_root:
            axis.plot(0, 0, "s", color=INK, ms=5)
            axis.text(0.06, -0.09, "root", color=FAINT, size=7)
        axis.axhline(0.0, color="#d5dae2", lw=1, zorder=0)
        up = preset.up
        axis.annotate("", (-0.6, 0.42), (-0.6, 0.0),
                      arrowprops={"arrowstyle": "->", "color": AXES[up], "lw": 1.6})  # fmt: skip
        axis.text(-0.56, 0.38, f"{up} up, {preset.unit}", color=AXES[up], size=8)
        axis.set(xlim=(-0.75, 1.0), ylim=(-0.15, 1.85), aspect="equal", title=name)
        axis.set_axis_off()
    figure.tight_layout()
    figure.savefig(HERE / "convert.png", dpi=130, facecolor="white")


def write_page(path):
    walk = ml.demo.clip("walk")
    rotations = walk.rotations.astype(np.float64)
    rotations[40:42, 0] = rot.multiply(rot.yaw(np.pi), rotations[40:42, 0])
    flipped = replace(walk, rotations=rotations).transform(shift=(0.0, 0.2, 0.0))
    kick = ml.demo.clip("kick_front_high_right")
    hasty = replace(ml.demo.clip("jump_far"), fps=60.0)
    takes = [("takes/walk.bvh", flipped), ("takes/jump.bvh", hasty), ("takes/kick.bvh", kick)]
    pages = [doctor_section(m, diagnostic_report(m, name)) for name, m in takes]
    write_doctor_page(pages, path)


if __name__ == "__main__":
    draw_convert()
