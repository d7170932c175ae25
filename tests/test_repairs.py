"""Repaired motions have no issues, and nothing else is changed."""

from dataclasses import replace

import numpy as np
import pytest
import seeded_issues as seeded

import motionloom as ml
from motionloom.blending.examples import without_faults
from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.anatomy import joint_angles
from motionloom.motion.diagnostics.issues import find_issues
from motionloom.motion.diagnostics.measurements import BallHeights, Measurements
from motionloom.motion.repairs.clean import REPAIRS, clean
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion_matching.build import matching_database
from motionloom.motion_matching.settings import MatchingSettings


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


def repair(motion):
    repaired, report = clean(motion)
    return repaired, report.steps


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
    assert said.name == "flips" and said.after == 0.0
    assert find_issues(repaired) == ()
    assert far(repaired, walk) < 0.06 < 0.2 < far(broken, walk)


def test_several_flips_are_each_repaired(walk):
    broken = seeded.flipped(seeded.flipped(walk, 20, 22), 60, 61)
    repaired, (said,) = repair(broken)
    assert said.frames_changed == 3
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
    assert said.name == "floor" and said.before == pytest.approx(25.0, abs=5.0)
    assert abs(repaired.positions(end_sites=True)[:, :, 1].min()) < 0.06
    assert find_issues(repaired) == ()


def test_flips_and_floor_are_repaired_together(walk):
    repaired, done = repair(seeded.raised(seeded.flipped(walk, 40, 41), 0.3))
    assert len(done) == 2
    assert find_issues(repaired) == ()


def head_upside_down(motion, frames=slice(None)):
    """The head turned by half a turn about the line between the ears."""
    joint = motion.skeleton.joint(motion.skeleton.roles["head"])
    rotations = motion.rotations.astype(np.float64)
    half_turn = rot.from_axis_angle([1.0, 0.0, 0.0], np.pi)
    rotations[frames, joint] = rot.multiply(rotations[frames, joint], half_turn)
    return replace(motion, rotations=rotations)


@pytest.mark.parametrize("frames", [slice(None), slice(30, 80)])
def test_a_head_upside_down_is_found_and_turned_back(walk, frames):
    broken = head_upside_down(walk, frames)
    issue = {issue.code: issue for issue in find_issues(broken)}["range"]
    assert issue.message.startswith("head: beyond the range")
    repaired, (step,) = repair(broken)
    assert step.name == "range" and step.after == 0.0 < step.before
    assert far_ends(repaired, walk) < 0.01 < 0.1 < far_ends(broken, walk)


def far_ends(a, b):
    return np.linalg.norm(a.positions(end_sites=True) - b.positions(end_sites=True), axis=-1).max()


def test_a_knee_bent_the_wrong_way_is_straightened(walk):
    joint = walk.skeleton.joint(walk.skeleton.roles["left_knee"])
    rotations = walk.rotations.astype(np.float64)
    rotations[40:60, joint] = rot.from_axis_angle([1.0, 0.0, 0.0], np.radians(-40.0))
    broken = replace(walk, rotations=rotations)
    angles = {each.limits.role: each for each in joint_angles(broken)}
    assert angles["left_knee"].flexion[50] == pytest.approx(np.radians(-40.0), abs=0.05)
    repaired, _ = clean(broken, skip=["flips", "feet", "floor"])
    angles = {each.limits.role: each for each in joint_angles(repaired)}
    assert angles["left_knee"].excess.max() == 0.0
    assert np.degrees(angles["left_knee"].flexion[50]) > -10.0


def test_swapped_sides_are_swapped_back(walk):
    repaired, steps = repair(seeded.with_swapped_names(walk))
    assert [step.name for step in steps] == ["sides"]
    assert far(repaired, walk) == 0.0
    assert repaired.skeleton.names == walk.skeleton.names
    assert repaired.skeleton.end_names == walk.skeleton.end_names


def test_jitter_is_smoothed_without_a_lag(walk, rng):
    noise = rot.exp(rng.normal(scale=0.02, size=(*walk.rotations.shape[:2], 3)))
    root = walk.root + rng.normal(scale=0.004, size=walk.root.shape)
    noisy = replace(walk, rotations=rot.multiply(walk.rotations, noise), root=root)
    repaired, steps = repair(noisy)
    assert [step.name for step in steps] == ["jitter"]

    def error(motion):
        return np.linalg.norm(motion.positions() - walk.positions(), axis=-1).mean()

    assert error(repaired) < 0.65 * error(noisy)
    # The nearest frames of the true motion are those at the same time.
    hand = repaired.role_positions(["left_wrist"])[5:-5, 0]
    lags = [
        np.linalg.norm(hand - walk.role_positions(["left_wrist"])[5 + k : len(walk) - 5 + k, 0])
        for k in (-1, 0, 1)
    ]
    assert np.argmin(lags) == 1


def test_missing_frames_are_filled(walk):
    rotations, root = walk.rotations.copy(), walk.root.copy()
    rotations[50:56], root[50:56] = np.nan, np.nan
    repaired, steps = repair(replace(walk, rotations=rotations, root=root))
    assert [(step.name, step.before, step.after) for step in steps] == [("gaps", 6.0, 0.0)]
    assert far(repaired, walk) < 0.05
    kept = np.r_[0:50, 56 : len(walk)]
    np.testing.assert_allclose(repaired.positions()[kept], walk.positions()[kept], atol=1e-5)


def test_a_steady_drift_is_removed_and_stairs_are_kept():
    walk = ml.demo.clip("walk_slow")
    seconds = np.arange(len(walk))[:, None] / walk.fps
    drifting = replace(walk, root=walk.root + seconds * [0.1, 0.0, 0.05])
    repaired, steps = repair(drifting)
    assert "drift" in [step.name for step in steps]
    apart = (repaired.root - walk.root)[:, [0, 2]]
    assert np.ptp(apart, axis=0).max() < 0.3 * np.ptp((drifting.root - walk.root), axis=0).max()
    step_up = ml.demo.clip("step_up_left")
    assert clean(step_up)[0] is step_up


def test_a_take_is_set_to_the_usual_height_of_its_rig(walk):
    heights = BallHeights()
    assert heights.of(walk) is None
    for name in ("walk", "walk_slow", "walk_fast"):
        heights.add(Measurements(ml.demo.clip(name)))
    sunk = seeded.raised(walk, -0.03)
    repaired, report = clean(sunk, ball_height=heights.of(sunk))
    assert [step.name for step in report.steps] == ["floor"]
    assert far(repaired, walk) < 0.01
    assert clean(walk, ball_height=heights.of(walk))[0] is walk


def test_repairs_can_be_chosen_and_skipped(walk):
    broken = seeded.raised(head_upside_down(walk), 0.3)
    assert [s.name for s in clean(broken)[1].steps] == ["range", "floor"]
    assert [s.name for s in clean(broken, skip=["floor"])[1].steps] == ["range"]
    assert [s.name for s in clean(broken, repairs=["floor"])[1].steps] == ["floor"]
    assert [s.name for s in clean(walk, repairs=["feet"])[1].steps] == ["feet"]
    with pytest.raises(InvalidInput, match="a repair must be one of sides, gaps, .* got 'polish'"):
        walk.clean(repairs=["polish"])


def test_an_import_repairs_takes_and_remembers_it(walk, tmp_path):
    head_upside_down(walk).save(tmp_path / "walk.bvh")
    library = ml.Library.create(tmp_path / "takes.loom")
    library.add(tmp_path / "walk.bvh", clean=True)
    assert far_ends(library["walk"], walk) < 0.02
    assert any("joint ranges" in line for line in library["walk"].origin.repairs)


@pytest.mark.parametrize("frames", [0, 1, 2, 6])
def test_very_short_motions_are_repaired_too(walk, frames):
    assert len(clean(walk[:frames], repairs=REPAIRS)[0]) == frames


def test_faulty_takes_are_not_used_for_synthesis_and_the_reason_is_given(walk):
    takes = [walk, replace(head_upside_down(ml.demo.clip("walk_slow")), name="twisted")]
    assert "motionloom clean" in without_faults(takes)["twisted"]
    database = matching_database(takes, MatchingSettings(mirror=False))
    assert "head" in database.skipped["twisted"]
    named = MatchingSettings(mirror=False, only=("walk_p0", "twisted"))
    assert "twisted" not in matching_database(takes, named).skipped
    assert without_faults(takes[1:]) == {}  # nothing else to use


def test_a_graph_of_a_library_skips_faulty_takes(walk, tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    library.add_motion(walk, name="walk")
    library.add_motion(head_upside_down(ml.demo.clip("walk_slow")), name="twisted")
    with pytest.warns(UserWarning, match="excluded twisted: head: beyond the range"):
        assert [motion.name for motion in library.motion_graph().motions] == ["walk"]
    used = library.motion_graph(only=["walk", "twisted"]).motions
    assert "twisted" in [motion.name for motion in used]
