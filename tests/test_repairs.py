"""Repaired motions have no issues, and nothing else is changed."""

from dataclasses import replace

import numpy as np
import pytest
import seeded_issues as seeded

import motionloom as ml
from motionloom.motion.diagnostics.issues import find_issues, repair


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


def far(a, b):
    return np.linalg.norm(a.positions() - b.positions(), axis=-1).max()


def test_a_motion_without_issues_is_unchanged(walk):
    repaired, done = repair(walk)
    assert done == ()
    assert repaired is walk


@pytest.mark.parametrize(("start", "end"), [(40, 41), (40, 43), (0, 1), (1, 2), (137, 138)])
@pytest.mark.parametrize("role", ["hips", "left_shoulder"])
def test_short_flips_are_filled_from_both_sides(walk, start, end, role):
    end = min(end, len(walk))
    axis = (0.0, 1.0, 0.0) if role == "hips" else (1.0, 0.0, 0.0)
    broken = seeded.flipped(walk, start, end, role=role, axis=axis)
    repaired, (said,) = repair(broken)
    assert said.startswith(f"{end - start} flipped frames")
    assert find_issues(repaired) == ()
    assert far(repaired, walk) < 0.06 < 0.2 < far(broken, walk)


def test_several_flips_are_each_repaired(walk):
    broken = seeded.flipped(seeded.flipped(walk, 20, 22), 60, 61)
    repaired, (said,) = repair(broken)
    assert said.startswith("3 flipped frames")
    assert far(repaired, walk) < 0.06


def test_a_leap_of_the_root_and_back_is_repaired(walk):
    root = walk.root.copy()
    root[50:52] += [2.0, 0.0, 0.0]
    repaired, done = repair(replace(walk, root=root))
    assert far(repaired, walk) < 0.03
    assert len(done) == 1


def test_a_cut_that_never_comes_back_is_not_a_flip(walk):
    """Any replacement would be a guess."""
    root = walk.root.copy()
    root[60:] += [2.0, 0.0, 0.0]
    cut = replace(walk, root=root)
    repaired, done = repair(cut)
    assert done == ()
    assert far(repaired, cut) == 0.0
    assert "jumps" in {issue.code for issue in find_issues(repaired)}


@pytest.mark.parametrize("meters", [0.25, -0.25])
def test_feet_are_set_on_the_floor(walk, meters):
    repaired, (said,) = repair(seeded.raised(walk, meters))
    assert ("down" if meters > 0 else "up") in said
    assert abs(repaired.positions(end_sites=True)[:, :, 1].min()) < 0.06
    assert find_issues(repaired) == ()


def test_flips_and_floor_are_repaired_together(walk):
    repaired, done = repair(seeded.raised(seeded.flipped(walk, 40, 41), 0.3))
    assert len(done) == 2
    assert find_issues(repaired) == ()
