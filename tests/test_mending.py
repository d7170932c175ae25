"""What is mended is sound afterwards, and nothing else is touched."""

from dataclasses import replace

import numpy as np
import planted_faults as faults
import pytest

import motionloom as ml
from motionloom.motion.diagnostics.check import examine
from motionloom.motion.diagnostics.repair import mend


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


def far(a, b):
    return np.linalg.norm(a.positions() - b.positions(), axis=-1).max()


def test_a_sound_motion_is_left_as_it_is(walk):
    mended, done = mend(walk)
    assert done == ()
    assert mended is walk


@pytest.mark.parametrize(("start", "end"), [(40, 41), (40, 43), (0, 1), (1, 2), (137, 138)])
@pytest.mark.parametrize("role", ["hips", "left_shoulder"])
def test_short_flips_are_filled_from_both_sides(walk, start, end, role):
    end = min(end, len(walk))
    axis = (0.0, 1.0, 0.0) if role == "hips" else (1.0, 0.0, 0.0)
    broken = faults.flipped(walk, start, end, role=role, axis=axis)
    mended, (said,) = mend(broken)
    assert said.startswith(f"{end - start} flipped frames")
    assert examine(mended) == ()
    assert far(mended, walk) < 0.06 < 0.2 < far(broken, walk)


def test_several_flips_are_mended_each(walk):
    broken = faults.flipped(faults.flipped(walk, 20, 22), 60, 61)
    mended, (said,) = mend(broken)
    assert said.startswith("3 flipped frames")
    assert far(mended, walk) < 0.06


def test_a_leap_of_the_root_and_back_is_mended(walk):
    root = walk.root.copy()
    root[50:52] += [2.0, 0.0, 0.0]
    mended, done = mend(replace(walk, root=root))
    assert far(mended, walk) < 0.03
    assert len(done) == 1


def test_a_cut_that_never_comes_back_is_no_flip(walk):
    """What to put there would be a guess."""
    root = walk.root.copy()
    root[60:] += [2.0, 0.0, 0.0]
    cut = replace(walk, root=root)
    mended, done = mend(cut)
    assert done == ()
    assert far(mended, cut) == 0.0
    assert "jumps" in {finding.code for finding in examine(mended)}


@pytest.mark.parametrize("metres", [0.25, -0.25])
def test_feet_are_set_on_the_floor(walk, metres):
    mended, (said,) = mend(faults.raised(walk, metres))
    assert ("down" if metres > 0 else "up") in said
    assert abs(mended.positions(end_sites=True)[:, :, 1].min()) < 0.06
    assert examine(mended) == ()


def test_flips_and_floor_are_mended_together(walk):
    mended, done = mend(faults.raised(faults.flipped(walk, 40, 41), 0.3))
    assert len(done) == 2
    assert examine(mended) == ()
