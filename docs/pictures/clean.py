"""Draw clean.png, a take before and after its repair: ``python docs/pictures/clean.py [TAKE]``.

TAKE is a file whose head is upside down, such as 60_06 of the CMU database. By default, the head of
a built-in walk is turned.
"""

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import motionloom as ml
from motionloom.motion.rotations import quaternions as rot
from motionloom.plots.figures.filmstrip import write_strip

HERE = Path(__file__).parent


def upside_down(motion):
    """Motion whose head is turned by half a turn."""
    joint = motion.skeleton.joint(motion.skeleton.roles["head"])
    rotations = motion.rotations.astype(np.float64)
    half_turn = rot.from_axis_angle([1.0, 0.0, 0.0], np.pi)
    rotations[:, joint] = rot.multiply(rotations[:, joint], half_turn)
    return replace(motion, rotations=rotations)


def draw_clean():
    take = ml.load(sys.argv[1]) if sys.argv[1:] else upside_down(ml.demo.clip("walk"))
    figure, rows = plt.subplots(2, 1, figsize=(11, 5.2))
    with TemporaryDirectory() as scratch:
        for axes, motion, name in zip(rows, (take, take.clean()), ("before", "after"), strict=True):
            strip = Path(scratch) / f"{name}.png"
            write_strip(motion, strip, frames=6, body=True, layout="stages")
            axes.imshow(plt.imread(strip))
            axes.set_title(name, loc="left")
            axes.axis("off")
    figure.tight_layout()
    figure.savefig(HERE / "clean.png", dpi=80)


if __name__ == "__main__":
    draw_clean()
