"""Draw positions.png: noisy points of a kick with gaps, and the body solved from them."""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection
from PIL import Image

import motionloom as ml
from motionloom.character import body_mesh
from motionloom.motion.positions.layouts import LAYOUTS
from motionloom.plots.figures.drawing import shaded_triangles

HERE = Path(__file__).parent
NOISE, MISSING, WILD = 0.015, 0.12, 0.03
FIGURES = 7
LINKS = [
    (a, b)
    for side in ("left", "right")
    for a, b in (("shoulder", "elbow"), ("elbow", "wrist"), ("hip", "knee"), ("knee", "ankle"))
    for a, b in ((f"{side}_{a}", f"{side}_{b}"),)
]
LINKS += [("left_shoulder", "right_shoulder"), ("left_hip", "right_hip")]
LINKS += [("left_shoulder", "left_hip"), ("right_shoulder", "right_hip")]


def recorded(motion, rng):
    """Positions (T, 17, 3) of Human3.6M, with noise, gaps and outliers."""
    middle = {"hips": "hips", "spine": "spine", "neck": "neck", "head": "head"}
    names = [middle.get(name, name) for name in LAYOUTS["h36m"].points]
    head = motion.role_positions(["head"])[:, 0] + [0.0, 0.2, 0.0]
    points = np.stack(
        [head if n == "head_top" else motion.role_positions([n])[:, 0] for n in names], axis=1
    )
    points = points + rng.normal(0.0, NOISE, points.shape)
    wild = rng.random(points.shape[:2]) < WILD
    points[wild] += rng.normal(0.0, 0.15, (int(wild.sum()), 3))
    points[rng.random(points.shape[:2]) < MISSING] = np.nan
    return points


def turned(points):
    c, s = np.cos(np.radians(55.0)), np.sin(np.radians(55.0))
    return points @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def main():
    motion = ml.demo.clip("kick_front_high_right_p1")
    points = recorded(motion, np.random.default_rng(3))
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/kick.npy", points)
        solved = ml.load(f"{folder}/kick.npy", fps=motion.fps)
    mesh = body_mesh(solved.skeleton, example=solved)
    index = {name: k for k, name in enumerate(LAYOUTS["h36m"].points)}
    fig, rows = plt.subplots(2, 1, figsize=(11.0, 5.6))
    frames = np.linspace(0.15 * len(motion), 0.85 * len(motion), FIGURES).astype(int)
    for place, frame in enumerate(frames):
        center = solved.root[frame] * [1.0, 0.0, 1.0]
        shift = np.array([1.5 * place, 0.0, 0.0])
        seen = turned(points[frame] - center) + shift
        for a, b in LINKS:
            line = seen[[index[a], index[b]]]
            color = "#2f7fd0" if a.startswith("left") else "#e06a2c"
            rows[0].plot(line[:, 0], line[:, 1], color=color, lw=1.0, alpha=0.7)
        rows[0].scatter(seen[:, 0], seen[:, 1], s=14, color="#333a44", zorder=3)
        corners = (turned(mesh.posed(solved[frame : frame + 1]) - center) + shift)[mesh.triangles]
        shown = shaded_triangles(corners, np.tile((0.66, 0.72, 0.80), (len(corners), 1)))
        rows[1].add_collection(
            PolyCollection(
                shown.corners, facecolors=shown.colors, edgecolors=shown.colors, linewidths=0.2
            )
        )
    titles = (
        f"17 points with {1000 * NOISE:.0f} mm of noise, {100 * MISSING:.0f} % missing, "
        f"{100 * WILD:.0f} % outliers",
        "the body solved from them",
    )
    for ax, title in zip(rows, titles, strict=True):
        ax.set(xlim=(-0.9, 1.5 * FIGURES - 0.6), ylim=(-0.05, 2.0), aspect="equal")
        ax.set_title(title, loc="left", fontsize=11)
        ax.axis("off")
    fig.subplots_adjust(0.01, 0.01, 0.99, 0.94, 0.0, 0.08)
    fig.savefig(HERE / "positions.png", dpi=110)
    with Image.open(HERE / "positions.png") as drawn:
        drawn.convert("RGB").quantize(64).save(HERE / "positions.png", optimize=True)


if __name__ == "__main__":
    main()
