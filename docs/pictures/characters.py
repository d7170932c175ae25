"""Draw characters.png, the neutral body from four sides in five poses."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection
from PIL import Image

import motionloom as ml
from motionloom.character import body_mesh
from motionloom.plots.figures.drawing import shaded_triangles

HERE = Path(__file__).parent
# Clip of the built-in corpus, and the frame as a share of the clip.
POSES = [
    ("walk_p0", 0.35),
    ("kick_front_high_right_p1", 0.5),
    ("sit_stand_low_p2", 0.5),
    ("pick_up_low_p3", 0.5),
    ("cartwheel_left_p0", 0.55),
]
SIDES = (0.0, 40.0, 90.0, 180.0)  # degrees from the front


def draw(ax, vertices, triangles, turn, color):
    """Triangles that face the viewer, farthest first, shaded by their direction."""
    angle = np.radians(turn)
    axes = np.array(
        [[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]]
    )
    corners = (vertices @ axes.T)[triangles]
    seen = shaded_triangles(corners, np.tile(color, (len(corners), 1)))
    ax.add_collection(
        PolyCollection(seen.corners, facecolors=seen.colors, edgecolors=seen.colors, linewidths=0.2)
    )


def main():
    fig, grid = plt.subplots(len(SIDES), len(POSES), figsize=(8.6, 8.6))
    for column, (name, share) in enumerate(POSES):
        motion = ml.demo.clip(name)
        frame = int(share * (len(motion) - 1))
        pose = motion[frame : frame + 1].starting_at_origin()
        mesh = body_mesh(motion.skeleton, example=motion)
        vertices = mesh.posed(pose)
        vertices[:, [0, 2]] -= 0.5 * (vertices.max(axis=0) + vertices.min(axis=0))[[0, 2]]
        for row, turn in enumerate(SIDES):
            ax = grid[row, column]
            draw(ax, vertices, mesh.triangles, turn, (0.66, 0.72, 0.80))
            ax.set(xlim=(-0.85, 0.85), ylim=(-0.05, 2.0), aspect="equal")
            ax.axis("off")
    fig.subplots_adjust(0, 0, 1, 1, 0, 0)
    fig.savefig(HERE / "characters.png", dpi=110)
    with Image.open(HERE / "characters.png") as drawn:
        small = drawn.convert("RGB").quantize(64)
    small.save(HERE / "characters.png", optimize=True)


if __name__ == "__main__":
    main()
