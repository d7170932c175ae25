"""Draw features.png: ``python docs/pictures/features.py``."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import motionloom as ml
from motionloom.features import FEATURES, distance_matrix, frame_distance
from motionloom.features.body_frame import body_positions

HERE = Path(__file__).parent
NEW = {"e15": "#e0662f", "e30": "#3b82c4", "e39": "#4c9a5b"}
SHOWN = ["e15", "e15x3", "pc11", "quat"]


def draw_body(axes, motion, frame):
    """One pose in the body frame, with the joints that each feature set adds."""
    skeleton = motion.skeleton
    names = [role for role in skeleton.roles]
    places = body_positions(motion[frame], names)[0]
    at = dict(zip(names, places, strict=True))
    chains = [
        ["hips", "spine", "chest", "head"],
        *(["chest", f"{s}_shoulder", f"{s}_elbow", f"{s}_wrist"] for s in ("left", "right")),
        *(["hips", f"{s}_hip", f"{s}_knee", f"{s}_ankle"] for s in ("left", "right")),
    ]
    side = lambda p: (0.8 * p[2] - 0.6 * p[0], p[1])  # noqa: E731, three-quarter view
    for chain in chains:
        line = np.array([side(at[role]) for role in chain])
        axes.plot(line[:, 0], line[:, 1], color="#9aa3b0", lw=3, solid_capstyle="round", zorder=1)
    drawn = set()
    for name, color in NEW.items():
        added = [role for role in FEATURES[name].roles if role not in drawn]
        drawn.update(added)
        dots = np.array([side(at[role]) for role in added])
        label = name if not len(drawn) > len(added) else f"{name} adds"
        axes.scatter(dots[:, 0], dots[:, 1], s=60, color=color, zorder=2, label=label)
    axes.axhline(0.0, color="#c5cad2", lw=0.8, zorder=0)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.legend(frameon=False, fontsize=8, loc="lower right")


def main():
    kick, walk = ml.demo.clip("kick_front_high_right"), ml.demo.clip("walk")
    other = ml.demo.clip("walk", performer=1)
    figure, panels = plt.subplots(
        1, 1 + len(SHOWN), figsize=(14, 3.3), width_ratios=[1.1, 1, 1, 1, 1]
    )
    peak = int(np.argmax(kick.role_positions(["right_ankle"])[:, 0, 1]))
    draw_body(panels[0], kick, peak)
    for axes, name in zip(panels[1:], SHOWN, strict=True):
        matrix = distance_matrix(walk, other, name)
        image = axes.imshow(matrix, origin="lower", cmap="YlGnBu_r")
        axes.set_title(f"{name}, {frame_distance(name).unit}", loc="left", fontsize=10)
        axes.set(xlabel="frame of one walk")
        figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03).ax.tick_params(labelsize=7)
        axes.tick_params(labelsize=7)
    panels[1].set_ylabel("frame of another")
    figure.tight_layout()
    figure.savefig(HERE / "features.png", dpi=85)


if __name__ == "__main__":
    main()
