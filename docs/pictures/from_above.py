"""Draw dance-floor.png and fat-graphs.png: ``python docs/pictures/from_above.py``."""

import tempfile
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from matplotlib.figure import Figure
from PIL import Image

import motionloom as ml
from motionloom.cli import app

HERE = Path(__file__).parent
WALKS = ("walk", "walk_slow", "walk_fast", "walk_left", "walk_right", "walk_left_tight",
         "walk_right_tight")  # fmt: skip
CONTROLS = [(0, 1.2), (90, 1.2), (180, 1.5), (270, 0.9)]  # degrees, meters per second
INKS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
DARK = "#22262e"


def main():
    with tempfile.TemporaryDirectory() as folder:
        draw_floor(folder)
        draw_fat_walk(folder)


def draw_floor(folder):
    """Draw twelve dancers over a minute."""
    lib = ml.Library.create(f"{folder}/dances.loom")
    for performer in range(4):
        for seed in (0, 1):
            clip = ml.demo.clip("dance_groove", performer=performer, seed=seed)
            lib.add_motion(clip, name=f"groove_{performer}_{seed}", labels=["dance_groove"])
    picture = HERE / "dance-floor.png"
    words = ["dancefloor", str(lib.path), "-n", "12", "--seconds", "60", "--seed", "1",
             "-o", f"{folder}/floor.glb", "--top-view", str(picture)]  # fmt: skip
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    with Image.open(picture) as drawn:
        small = drawn.convert("RGB").quantize(128)
    small.save(picture, optimize=True)


def draw_fat_walk(folder):
    """Draw one walk, steered in four directions and at four speeds."""
    lib = ml.Library.create(f"{folder}/walks.loom")
    for name in WALKS:
        for performer in (0, 1):
            lib.add_motion(ml.demo.clip(name, performer=performer), labels=["walk"])
    player = lib.fat_graph(label="walk").player(direction=0.0, speed=CONTROLS[0][1])
    figure = Figure(figsize=(6.5, 4.6), layout="constrained")
    axes = figure.subplots()
    for (degrees, speed), ink in zip(CONTROLS, INKS, strict=True):
        player.steer(direction=np.radians(degrees), speed=speed)
        part = player.record(seconds=5.0)
        x, z = part.root[:, 0], part.root[:, 2]
        axes.plot(x, z, color=ink, lw=2.0, zorder=3)
        axes.annotate(f"{degrees}°, {speed:g} m/s", (x[75], z[75]), (8, 8), color=ink,
                      textcoords="offset points", weight="bold", fontsize=9)  # fmt: skip
        places = part.positions()
        for frame in range(0, len(part), 15):
            for child, parent in enumerate(part.skeleton.parents):
                if parent >= 0:
                    bone = places[frame, [parent, child]]
                    axes.plot(bone[:, 0], bone[:, 2], color=DARK, lw=0.7, zorder=2)
    axes.set_aspect("equal")
    axes.invert_xaxis()  # seen from above, +X is to the left of +Z
    axes.set_axis_off()
    figure.savefig(HERE / "fat-graphs.png", dpi=100)
    with Image.open(HERE / "fat-graphs.png") as drawn:
        small = drawn.convert("RGB").quantize(64)
    small.save(HERE / "fat-graphs.png", optimize=True)


if __name__ == "__main__":
    main()
