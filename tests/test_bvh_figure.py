"""Channels to rotations: the fast kernel against products of matrices."""

from __future__ import annotations

from itertools import permutations, product

import naive.rotations as naive
import numpy as np
import pytest

from motionloom.formats.bvh_figure import Figure
from motionloom.formats.bvh_hierarchy import Node
from motionloom.formats.bvh_layout import Layout
from motionloom.formats.repairs import Repairs
from motionloom.motion import rotations as rot

ORDERS = ["".join(axes) for axes in permutations("XYZ")] + ["ZXZ", "XY", "Z", ""]


def rotations(order, degrees):
    """Local rotations of a figure of one joint whose channels are turns."""
    channels = [f"{axis}rotation" for axis in order]
    node = Node("root", "hips", -1, 1, (0.0, 0.0, 0.0), channels, True)
    table = np.asarray(degrees, float).reshape(len(degrees), len(order))
    return Figure(Layout([node]), table, "x.bvh", Repairs("x.bvh", strict=False)).rotations()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("turns", [1, 1000])
def test_rotations_are_the_product_of_the_turns(rng, order, turns):
    degrees = rng.uniform(-360 * turns, 360 * turns, size=(50, len(order)))
    found = rot.to_matrix(rotations(order, degrees)[:, 0].astype(float))
    for matrix, angles in zip(found, degrees, strict=True):
        np.testing.assert_allclose(matrix, naive.euler_matrix(np.radians(angles), order), atol=1e-6)


def test_eighths_of_a_turn_fall_on_the_right_side():
    degrees = np.array(list(product(np.arange(-720.0, 721.0, 45.0), repeat=2)))
    found = rot.to_matrix(rotations("ZX", degrees)[:, 0].astype(float))
    for matrix, angles in zip(found, degrees, strict=True):
        np.testing.assert_allclose(matrix, naive.euler_matrix(np.radians(angles), "ZX"), atol=1e-6)


def test_rotations_are_of_unit_length(rng):
    q = rotations("ZYX", rng.uniform(-180, 180, size=(1000, 3))).astype(float)
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1.0, atol=3e-7)
