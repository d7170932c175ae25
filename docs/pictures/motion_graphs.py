"""Draw motion-graphs.png: ``python docs/pictures/motion_graphs.py``."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import motionloom as ml
from motionloom.motion.diagnostics.quality import part_path
from motionloom.motion.feet.contacts import FOOT_PARTS, intervals
from motionloom.motion_graph import motion_graph
from motionloom.plots.distance_matrix import write_error_function

HERE = Path(__file__).parent
WALKS = ("walk", "walk_slow", "walk_left", "walk_right", "walk_left_tight", "walk_right_tight")


def main():
    graph = motion_graph([ml.demo.clip(name) for name in WALKS])
    write_error_function(graph, HERE / "motion-graphs.png", dpi=90)
    picture = (
        Image.open(HERE / "motion-graphs.png")
        .convert("RGB")
        .quantize(64, Image.Quantize.FASTOCTREE)
    )
    picture.save(HERE / "motion-graphs.png", optimize=True)
    s = np.linspace(0.0, 1.0, 300)
    path = np.stack([2.0 * np.sin(2 * np.pi * s), 16.0 * s], axis=1)
    walk = graph.walk(path=path, seed=1)
    draw_path(walk, path, HERE / "motion-graph-path.png")


def draw_path(walk, path, target):
    """Draw a top view: the path, the trajectory of the hips, and all footprints."""
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(path[:, 1], path[:, 0], color="#c9ced6", linewidth=6, label="path")
    axes.plot(walk.root[:, 2], walk.root[:, 0], color="#1d9a6c", linewidth=1.5, label="walked")
    contacts = walk.contacts()
    for part, color in (("left_ball", "#2f7fd6"), ("right_ball", "#e8662e")):
        assert part in FOOT_PARTS
        places = part_path(walk, part)
        prints = [places[a:b].mean(axis=0) for a, b in intervals(contacts[part])]
        x, z = np.array(prints)[:, [0, 2]].T
        axes.plot(z, x, "o", color=color, markersize=4, label=part.split("_")[0])
    for seam in walk.provenance.seams:
        axes.plot(walk.root[seam, 2], walk.root[seam, 0], "|", color="#2b323c", markersize=9)
    axes.set(aspect="equal", xlabel="meters", ylabel="meters")
    axes.legend(ncols=4, fontsize=8, frameon=False)
    figure.savefig(target, dpi=100)


if __name__ == "__main__":
    main()
