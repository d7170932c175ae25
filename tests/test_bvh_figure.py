"""Channels to rotations: the fast kernel against products of matrices."""

from __future__ import annotations

from itertools import permutations, product

import naive.rotations as naive
import numpy as np
import pytest

from motionloom.formats.bvh.hierarchy import BvhNode
from motionloom.formats.bvh.layout import Layout
from motionloom.formats.bvh.reader import Figure
from motionloom.formats.conventions import Repairs
from motionloom.motion.rotations import quaternions as rot

ORDERS = ["".join(axes) for axes in permutations("XYZ")] + ["ZXZ", "XY", "Z", ""]


def rotations(order, degrees):
    """Local rotations of a figure of one joint whose channels are turns."""
    channels = [f"{axis}rotation" for axis in order]
    node = BvhNode("root", "hips", -1, 1, (0.0, 0.0, 0.0), channels, True)
    table = np.asarray(degrees, float).reshape(len(degrees), len(order))
    return Figure(Layout([node]), table, "x.bvh", Repairs("x.bvh", strict=False)).rotations()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("turns", [1, 1000])
def test_rotations_are_the_product_of_the_turns(rng, order, turns):
    degrees = rng.uniform(-360 * turns, 360 * turns, size=(50, len(order)))
    matrices = rot.to_matrix(rotations(order, degrees)[:, 0].astype(float))
    for matrix, angles in zip(matrices, degrees, strict=True):
        np.testing.assert_allclose(matrix, naive.euler_matrix(np.radians(angles), order), atol=1e-6)


def test_eighths_of_a_turn_fall_on_the_right_side():
    degrees = np.array(list(product(np.arange(-720.0, 721.0, 45.0), repeat=2)))
    matrices = rot.to_matrix(rotations("ZX", degrees)[:, 0].astype(float))
    for matrix, angles in zip(matrices, degrees, strict=True):
        np.testing.assert_allclose(matrix, naive.euler_matrix(np.radians(angles), "ZX"), atol=1e-6)


def test_rotations_are_of_unit_length(rng):
    q = rotations("ZYX", rng.uniform(-180, 180, size=(1000, 3))).astype(float)
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1.0, atol=3e-7)


# --- what position channels say -----------------------------------------------------------

PLACE = ["Xposition", "Yposition", "Zposition"]


def warnings(table):
    """Warnings about a root, hips and a knee that all have three positions and no rotations."""
    nodes = [
        BvhNode("root", "world", -1, 1, (0.0, 0.0, 0.0), PLACE, True),
        BvhNode("joint", "hips", 0, 4, (0.0, 90.0, 0.0), PLACE, True),
        BvhNode("joint", "knee", 1, 7, (0.0, -40.0, 0.0), PLACE, True),
    ]
    table = np.asarray(table, float)
    return Figure(Layout(nodes), table, "x.bvh", Repairs("x.bvh", strict=False)).warnings


def test_positions_that_repeat_the_offsets_cause_no_warning():
    assert warnings([[0, 0, 0, 0, 90, 0, 0, -40, 0], [5, 0, 0, 0, 90, 0, 0, -40, 0]]) == []


def test_hips_that_move_below_a_still_root_cause_no_warning():
    """As in Bandai Namco's takes; that they leave their OFFSET goes without saying."""
    assert warnings([[0, 0, 0, x, 86, 0, 0, -40, 0] for x in (3, 4, 5)]) == []


def test_bones_that_differ_from_their_offset_and_change_are_counted():
    rows = [[x, 0, 0, 0, 80, 0, 0, -40 - x, 0] for x in (1, 2, 3)]
    differ, change = warnings(rows)
    expected = "position channels differ from OFFSET and replace it: 2 joints, starting with 'hips'"
    assert differ == expected
    assert change == "bones change length: 'knee'"
