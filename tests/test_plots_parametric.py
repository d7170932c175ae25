"""Motions drawn on top of each other."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from plain_motions import snake, walker

from motionloom.errors import InvalidInput
from motionloom.plots.parametric import draw_overlay


def test_every_motion_is_drawn_in_a_color_of_its_own():
    axes = Figure().add_subplot()
    motions = [walker(speed) for speed in (0.8, 1.2, 1.6)]
    draw_overlay(axes, motions, frames=[0, 10, 20], trace="right_ankle", title="walkers")
    poses = [part for part in axes.collections if isinstance(part, LineCollection)]
    assert len(poses) == 3 and axes.get_title(loc="left") == "walkers"
    assert len({tuple(pose.get_colors()[0]) for pose in poses}) == 3
    widths = [pose.get_linewidths()[0] for pose in poses]
    assert widths[0] == widths[2] > widths[1]  # the examples are thick


def test_from_above_ways_over_the_floor_are_those_of_the_roots():
    axes = Figure().add_subplot()
    motion = walker(1.2)
    draw_overlay(axes, [motion, motion.transform(yaw=0.5)], view="top")
    drawn = [line.get_xydata() for line in axes.lines[:2]]
    gone = np.linalg.norm(np.diff(motion.root[[0, -1]][:, [0, 2]], axis=0))
    for way in drawn:
        assert np.linalg.norm(way[-1] - way[0]) == pytest.approx(gone, rel=1e-3)


def test_mistakes_are_explained():
    axes = Figure().add_subplot()
    with pytest.raises(InvalidInput, match="no motions to draw"):
        draw_overlay(axes, [])
    with pytest.raises(InvalidInput, match="one entry per motion; got 1 for 2 motions"):
        draw_overlay(axes, [snake(), snake()], frames=[0])
