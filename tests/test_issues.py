"""Issues inserted into motions are found; regular motions have none."""

from dataclasses import replace

import numpy as np
import pytest
import seeded_issues as seeded

import motionloom as ml
from motionloom.formats.inference import facing
from motionloom.motion import Skeleton
from motionloom.motion.diagnostics.issues import find_issues
from motionloom.motion.diagnostics.measurements import Measurements
from motionloom.motion.rotations import quaternions as rot


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


@pytest.fixture(scope="module")
def jump():
    return ml.demo.clip("jump_up")


def alarms(motion):
    return {issue.code for issue in find_issues(motion) if issue.severity != "info"}


def only(motion, code):
    (issue,) = [issue for issue in find_issues(motion) if issue.code == code]
    return issue


def saved(motion, path, **options):
    return ml.load(motion.save(path, **options))


ACTIONS = sorted({name.rsplit("_p", 1)[0] for name in ml.demo.names()})


@pytest.mark.parametrize("third", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_the_built_in_corpus_is_healthy(third):
    for number, action in enumerate(ACTIONS[third::3]):
        motion = ml.demo.clip(action, performer=number % 4)
        assert find_issues(motion) == (), motion.name


@pytest.mark.parametrize("meters", [0.2, -0.2, 1.0])
def test_a_wrong_floor_is_reported_with_its_height(walk, meters):
    issue = only(seeded.raised(walk, meters), "floor")
    assert issue.severity == "error"
    where = "above" if meters > 0 else "below"
    assert where in issue.message
    answer = float(issue.message.split(" cm")[0].rsplit(" ", 1)[1]) / 100
    assert answer == pytest.approx(abs(meters), abs=0.05)


def test_someone_on_a_step_still_has_a_floor():
    assert alarms(ml.demo.clip("step_up_left")) == set()


def test_free_fall_shows_a_doubled_rate(jump):
    issue = only(seeded.twice_as_fast(jump), "rate")
    assert "falls at" in issue.message
    assert f"--fps {jump.fps:g}" in issue.advice


def test_rates_are_judged_the_same_at_any_true_rate(jump):
    for fps in (24.0, 60.0, 120.0):
        true = jump.resample(fps)
        assert "rate" not in alarms(true)
        assert "rate" in alarms(seeded.twice_as_fast(true)), fps


def test_a_flight_at_one_g_proves_the_rate(jump):
    """Pushed to and fro harder than shoes can hold: an alarm only where the body never flies."""
    seconds = np.arange(len(jump)) / jump.fps
    shaken = jump.root.astype(np.float64)
    shaken[:, 0] += 0.07 * np.sin(2.0 * np.pi * 2.5 * seconds) * (jump.root[:, 1] < 1.0)
    shaken = replace(jump, root=shaken)
    measured = Measurements(shaken)
    assert measured.flight_gravity == pytest.approx(1.0, abs=0.35)
    assert "rate" not in alarms(shaken)
    walk = ml.demo.clip("walk")
    seconds = np.arange(len(walk)) / walk.fps
    root = walk.root.astype(np.float64)
    root[:, 0] += 0.07 * np.sin(2.0 * np.pi * 2.5 * seconds)
    issue = only(replace(walk, root=root), "rate")
    assert issue.severity == "warning"
    assert "too fast, or it jitters" in issue.message
    assert issue.advice.endswith("set its true rate with --fps")


@pytest.mark.parametrize("factor", [2.0, 3.0, 4.0])
def test_the_true_rate_is_advised(jump, factor):
    true = jump.resample(120.0)
    issue = only(replace(true, fps=factor * 120.0), "rate")
    assert issue.severity == "error"
    assert issue.advice.endswith("--fps 120")


@pytest.mark.slow
def test_runs_cause_no_alarm_about_rate_or_sides():
    for name in [name for name in ml.demo.names() if "run" in name or "jog" in name]:
        run = ml.demo.clip(name)
        for motion in (run, with_bones_along_x(run)):
            assert not {"rate", "sides"} & alarms(motion), name


def test_swapped_names_are_seen_by_the_toes(walk):
    issue = only(seeded.with_swapped_names(walk), "sides")
    assert "toes point backward" in issue.message


def test_a_rest_pose_that_does_not_stand_is_not_an_issue(walk):
    """LAFAN1's rest pose has its legs along X; names may also be swapped there."""
    lying = with_bones_along_x(walk)
    hip, ankle = lying.rest_pose().role_positions(["left_hip", "left_ankle"])[0]
    assert ankle[0] - hip[0] > 0.7
    np.testing.assert_allclose(lying.positions(), walk.positions(), atol=1e-5)
    assert "sides" not in alarms(lying)
    assert facing(lying) is None
    assert facing(walk) == "+z"
    swapped = only(seeded.with_swapped_names(lying), "sides")
    assert "toes point backward in half of the frames" in swapped.message


@pytest.mark.parametrize("up", ["z", "-z"])
def test_the_up_axis_of_a_rest_pose_along_x_follows_from_the_motion(walk, tmp_path, up):
    """Its rest pose is not upright along any axis: only the motion shows the up axis."""
    lying = with_bones_along_x(walk)
    again = ml.load(lying.save(tmp_path / "walk.bvh", up=up))
    assert again.origin.up == up
    assert not again.origin.warnings
    np.testing.assert_allclose(again.positions(), lying.positions(), atol=2e-4)


def test_unit_and_up_axis_need_no_head(walk, tmp_path):
    skeleton = walk.skeleton
    gone = {skeleton.roles[role] for role in ("neck", "head")}
    for joint in range(len(skeleton)):
        if skeleton.parents[joint] >= 0 and skeleton.names[skeleton.parents[joint]] in gone:
            gone.add(skeleton.names[joint])
    kept = [joint for joint, name in enumerate(skeleton.names) if name not in gone]
    number = {joint: place for place, joint in enumerate(kept)}
    ends = [k for k, parent in enumerate(skeleton.end_parents) if int(parent) in number]
    bones = Skeleton(
        [skeleton.names[joint] for joint in kept],
        [number.get(int(skeleton.parents[joint]), -1) for joint in kept],
        skeleton.offsets[kept],
        end_names=[skeleton.end_names[k] for k in ends],
        end_parents=[number[int(skeleton.end_parents[k])] for k in ends],
        end_offsets=skeleton.end_offsets[ends],
    )
    headless = replace(walk, skeleton=bones, rotations=walk.rotations[:, kept], translations=None)
    again = ml.load(headless.save(tmp_path / "walk.bvh", unit="inch", up="z"))
    assert "head" not in again.skeleton.roles
    assert again.origin.unit_m == 0.0254
    assert again.origin.up == "z"
    assert not again.origin.warnings


def with_bones_along_x(motion):
    """The same motion on joints whose own frames are a quarter turn away from the root's."""
    turn = rot.from_axis_angle([0.0, 0.0, 1.0], -0.5 * np.pi)
    back = rot.inverse(turn)
    skeleton = motion.skeleton
    offsets = skeleton.offsets.copy()
    rotations = motion.rotations.astype(np.float64)
    for joint in range(1, len(skeleton)):
        rotations[:, joint] = rot.multiply(rotations[:, joint], turn)
        if skeleton.parents[joint] > 0:
            offsets[joint] = rot.rotate(back, offsets[joint])
            rotations[:, joint] = rot.multiply(back, rotations[:, joint])
    ends = rot.rotate(back, skeleton.end_offsets.astype(np.float64))
    bones = replace(skeleton, offsets=offsets, end_offsets=ends, rest=None)
    return replace(motion, skeleton=bones, rotations=rotations)


def test_swapped_angles_are_seen_by_the_splayed_legs(walk):
    rotations = walk.rotations.astype(np.float64)
    skeleton = walk.skeleton
    for side, sign in (("left", 1.0), ("right", -1.0)):
        joint = skeleton.joint(skeleton.roles[f"{side}_hip"])
        splay = rot.from_axis_angle([0.0, 0.0, 1.0], sign * np.radians(28.0))
        rotations[:, joint] = rot.multiply(splay, rotations[:, joint])
    issue = only(replace(walk, rotations=rotations), "sides")
    assert "leg lengths farther apart than the hips" in issue.message


@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("role", ["hips", "left_shoulder", "right_hip"])
def test_flipped_frames_are_named(walk, length, role):
    axis = (0.0, 1.0, 0.0) if role == "hips" else (1.0, 0.0, 0.0)
    issue = only(seeded.flipped(walk, 40, 40 + length, role=role, axis=axis), "jumps")
    assert issue.severity == "error"
    assert "40" in issue.message
    assert role in issue.message


def test_flips_at_both_ends_are_found(walk):
    assert "jumps" in alarms(seeded.flipped(walk, 0, 1))
    assert "jumps" in alarms(seeded.flipped(walk, len(walk) - 1, len(walk)))


def test_a_root_that_leaps_is_found(walk):
    root = walk.root.copy()
    root[50:] += [3.0, 0.0, 0.0]
    assert "root path" in only(replace(walk, root=root), "jumps").message


def test_an_invisible_flip_is_info_only(walk):
    """Twisting a forearm about itself turns the hand, yet moves no joint far."""
    skeleton = walk.skeleton
    joint = skeleton.joint(skeleton.roles["left_elbow"])
    along = skeleton.offsets[skeleton.joint(skeleton.roles["left_wrist"])]
    from motionloom.motion.rotations import quaternions as rot

    rotations = walk.rotations.astype(np.float64)
    half = rot.from_axis_angle(along / np.linalg.norm(along), np.pi)
    rotations[40, joint] = rot.multiply(rotations[40, joint], half)
    issue = only(replace(walk, rotations=rotations), "twists")
    assert issue.severity == "info"


@pytest.mark.parametrize("factor", [100.0, 0.01])
def test_a_scaled_file_is_understood_or_reported(walk, tmp_path, factor):
    text = walk.save(tmp_path / "walk.bvh", unit="cmu").read_text()
    (tmp_path / "scaled.bvh").write_text(seeded.scaled_text(text, factor))
    motion = ml.load(tmp_path / "scaled.bvh")
    right = motion.origin.unit_m * factor == pytest.approx(0.0254 / 0.45, rel=0.05)
    assert right or "unit" in alarms(motion)


def test_a_giant_is_an_error_and_a_child_a_warning(walk):
    scaled = lambda factor: replace(  # noqa: E731
        walk, skeleton=walk.skeleton.scaled(factor), root=walk.root * factor
    )
    assert only(scaled(10.0), "unit").severity == "error"
    assert only(scaled(0.7), "unit").severity == "warning"
    assert "unit" not in alarms(scaled(0.9))


def test_a_file_that_stands_on_z_is_rotated_and_reported(walk, tmp_path):
    motion = saved(walk, tmp_path / "walk.bvh", up="z")
    assert motion.origin.up == "z"
    assert only(motion, "up").severity == "info"
    assert alarms(motion) == set()


def test_a_root_rotated_to_z_up_is_a_warning(walk, tmp_path):
    motion = saved(seeded.with_turned_root(walk), tmp_path / "walk.bvh")
    issue = only(motion, "up")
    assert issue.severity == "warning"
    assert "set up to z" in issue.message


def test_a_body_lying_on_the_floor_is_not_an_issue(walk, tmp_path):
    lying = seeded.with_turned_root(walk[10:11])
    still = replace(
        lying,
        rotations=np.repeat(lying.rotations, 60, axis=0),
        root=np.repeat(np.array([[2.0, 0.15, 4.0]]), 60, axis=0),
    )
    assert "up" not in alarms(saved(still, tmp_path / "asleep.bvh"))


def test_a_tpose_frame_in_front_is_reported(walk, tmp_path):
    motion = saved(walk, tmp_path / "walk.bvh", rest_frame=True)
    assert motion.origin.tpose_frame == 0
    assert only(motion, "tpose").severity == "info"
    assert alarms(motion) == set()


def test_errors_come_first(walk):
    bad = seeded.raised(seeded.flipped(walk, 30, 31), 0.5)
    kinds = [issue.severity for issue in find_issues(bad)]
    assert kinds == sorted(kinds, key=["error", "warning", "info"].index)
    assert {"jumps", "floor"} <= alarms(bad)


def test_missing_limbs_are_a_warning_and_other_checks_are_skipped():
    skeleton = ml.Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    motion = ml.Motion(skeleton, np.tile([1.0, 0, 0, 0], (20, 2, 1)), np.zeros((20, 3)), 30)
    assert only(motion, "roles").severity == "warning"
    assert alarms(motion) == {"roles"}


@pytest.mark.parametrize("frames", [0, 1, 2, 6])
def test_very_short_motions_are_checked_too(walk, frames):
    assert alarms(walk[:frames]) == set()


def test_sliding_feet_are_info():
    reach = ml.demo.clip("reach_front_mid_left")
    drift = np.linspace(0.0, 0.3, len(reach))[:, None] * [1.0, 0.0, 0.0]
    issue = only(replace(reach, root=reach.root + drift), "slide")
    assert issue.severity == "info"
    assert "motionloom clean" in issue.advice


def test_jitter_is_not_mistaken_for_a_wrong_rate(jump, rng):
    """The noise of a video-based capture; the body seemed to fall at several g."""
    noisy = replace(jump, root=jump.root + rng.normal(scale=0.01, size=jump.root.shape))
    assert alarms(noisy) == {"jitter"}
    shaken = float(only(noisy, "jitter").message.split(" mm")[0].rsplit(" ", 1)[1])
    assert 7 <= shaken <= 13
    turns = rot.exp(rng.normal(scale=0.02, size=(*jump.rotations.shape[:2], 3)))
    trembling = replace(jump, rotations=rot.multiply(jump.rotations.astype(np.float64), turns))
    assert "jitter" in alarms(trembling) and "rate" not in alarms(trembling)


def test_a_smooth_motion_at_a_wrong_rate_does_not_jitter(jump):
    assert alarms(seeded.twice_as_fast(jump)) == {"rate"}


def test_floating_feet_are_a_warning(walk):
    issue = only(seeded.raised(walk, 0.12), "floor")
    assert issue.severity == "warning" and "12 cm above" in issue.message


@pytest.mark.parametrize("meters", [0.25, -0.25])
def test_a_drifting_ground_is_reported(walk, meters):
    root = walk.root.astype(np.float64)
    root[:, 1] += np.linspace(0.0, meters, len(root))
    issue = only(replace(walk, root=root), "drift")
    assert issue.severity == "warning"
    assert f"{'rises' if meters > 0 else 'sinks'} by 25 cm" in issue.message


def test_short_legs_are_not_swapped_sides(walk):
    """As of a mascot: the ankles are farther apart than the legs are long."""
    skeleton = walk.skeleton
    offsets = skeleton.offsets.copy()
    for side in ("left", "right"):
        names = [skeleton.roles[f"{side}_{part}"] for part in ("hip", "knee", "ankle")]
        hip, knee, ankle = (skeleton.joint(name) for name in names)
        offsets[hip, 0] *= 1.6
        offsets[[knee, ankle]] *= 0.2
    mascot = replace(walk, skeleton=replace(skeleton, offsets=offsets), root=walk.root * 0.3)
    assert "sides" not in alarms(mascot)
    assert "sides" in alarms(seeded.with_swapped_channels(mascot)) or "sides" in alarms(
        seeded.with_swapped_names(mascot)
    )
