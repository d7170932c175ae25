"""Measures of the quality gate: against their definitions, and against faults put into takes."""

from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.blending import Blend, register
from motionloom.motion.diagnostics.quality import (
    QualityMeter,
    SourceStatistics,
    flight_errors,
    imbalance,
    jump_sizes,
    limb_overlaps,
    quality_report,
    repeated_steps,
)
from motionloom.motion.diagnostics.quality.measures import toe_drags
from motionloom.motion.diagnostics.quality.posture import Capsules, segment_distances
from motionloom.motion.kinematics.body import center_of_mass
from motionloom.motion.provenance import Provenance, Source
from motionloom.motion.rotations import quaternions as rot
from tests.naive import quality as naive


@pytest.fixture(scope="module")
def walk():
    return as_made(ml.demo.clip("walk"))


@pytest.fixture(scope="module")
def standing():
    return as_made(ml.demo.clip("reach_side_high_left"))


def as_made(take, seams=()):
    """The take as if it had been synthesized of itself."""
    return replace(
        take, provenance=Provenance((Source(take.name, 0, len(take), 0, len(take)),), tuple(seams))
    )


def passed(motion, take):
    return {frame.measure for frame in quality_report(motion, sources=[take]).worst if frame.passed}


def hump(frames, start, end, ease=4):
    """One between two frames, zero elsewhere, with soft edges."""
    k = np.arange(frames)
    return np.clip((k - start + ease) / ease, 0, 1) * np.clip((end + ease - k) / ease, 0, 1)


def turned(motion, role, axis, angles):
    """Local rotation of a joint turned by angles (T,) about an axis of its parent."""
    joint = motion.skeleton.names.index(motion.skeleton.roles[role])
    half = 0.5 * np.asarray(angles)[:, None]
    turn = np.concatenate([np.cos(half), np.sin(half) * np.asarray(axis, float)], axis=1)
    rotations = motion.rotations.astype(np.float64)
    rotations[:, joint] = rot.multiply(turn, rotations[:, joint])
    return replace(motion, rotations=rotations)


def leaning(motion, angle):
    """The whole body turned forwards about its ankles, feet included."""
    pivot = motion.role_positions(["left_ankle", "right_ankle"])[0].mean(axis=0)
    turn = np.array([np.cos(0.5 * angle), np.sin(0.5 * angle), 0.0, 0.0])
    rotations = motion.rotations.astype(np.float64)
    rotations[:, 0] = rot.multiply(turn, rotations[:, 0])
    root = rot.rotate(turn, (motion.root - pivot).astype(np.float64)) + pivot
    return replace(motion, rotations=rotations, root=root)


# --- faults ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["walk", "standing"])
def test_a_clean_take_exceeds_no_limit(kind, request):
    take = request.getfixturevalue(kind)
    report = quality_report(take, sources=[take])
    assert report.warnings == ()
    assert report.jumps == 0 and report.limb_intersection_m == 0.0


def test_feet_that_drift_are_a_slide_and_nothing_else(walk):
    root = walk.root + np.arange(len(walk))[:, None] / walk.fps * np.float32([0.12, 0.0, 0.0])
    assert passed(replace(walk, root=root), walk) == {"slide"}


def test_a_body_that_dips_goes_below_the_floor_and_drags_its_toes(walk):
    contacts = walk.contacts()
    middle = [sum(contacts.intervals("left_ball")[k]) // 2 for k in range(1, 4)]
    root = walk.root.copy()
    for frame in middle:
        root[:, 1] -= 0.12 * hump(len(walk), frame + 8, frame + 12, ease=5)
    assert passed(replace(walk, root=root), walk) == {"floor", "drag"}


def test_an_abrupt_seam_is_the_only_issue_reported(walk):
    root = walk.root.copy()
    root[60, 0] += 0.08
    torn = replace(as_made(walk, seams=[60]), root=root)
    assert passed(torn, walk) == {"seam"}
    assert passed(as_made(walk, seams=[60]), walk) == set()


def test_a_skipped_step_is_the_only_issue_reported(walk):
    start, end = walk.contacts().intervals("left_ball")[1]
    lifted = turned(walk, "left_knee", [1, 0, 0], 1.0 * hump(len(walk), start - 4, end, ease=6))
    assert passed(lifted, walk) == {"steps"}
    report = quality_report(lifted, sources=[walk])
    assert 0.5 < report.foot_alternation < 1.0
    assert quality_report(walk, sources=[walk]).foot_alternation == 1.0


def test_steps_that_the_take_itself_repeats_are_not_reported(walk):
    start, end = walk.contacts().intervals("left_ball")[1]
    hopping = turned(walk, "left_knee", [1, 0, 0], 1.0 * hump(len(walk), start - 4, end, ease=6))
    assert len(repeated_steps(hopping, hopping.contacts())) == 1
    assert quality_report(hopping, sources=[hopping]).foot_alternation == 1.0


@pytest.mark.parametrize("size", [0.15, 0.4])
def test_a_body_that_jumps_in_one_frame_is_the_only_issue_reported(walk, size):
    root = walk.root.copy()
    root[60:, 0] += size
    assert passed(replace(walk, root=root), walk) == {"jump"}
    report = quality_report(replace(walk, root=root), sources=[walk])
    assert report.jumps == 1
    (worst,) = (frame for frame in report.worst if frame.measure == "jump")
    assert worst.frame == 60 and worst.detail == "the whole body" and worst.take == walk.name


def test_an_arm_that_flips_for_one_frame_jumps_away_and_back(walk):
    angles = np.zeros(len(walk))
    angles[50] = 1.5
    flipped = turned(walk, "right_shoulder", [1, 0, 0], angles)
    assert np.count_nonzero(jump_sizes(flipped)) == 2
    assert passed(flipped, walk) == {"jump"}


def test_a_fast_kick_is_not_a_jump():
    kick = ml.demo.clip("kick_front_high_right")
    assert not jump_sizes(kick).any()
    assert np.linalg.norm(np.diff(kick.positions(), axis=0), axis=-1).max() > 0.1


def test_an_arm_through_the_trunk_is_the_only_issue_reported(standing):
    bend = 0.7 * hump(len(standing), 30, 60, ease=15)
    crossed = standing
    for role, axis, by in (("right_shoulder", [0, 0, 1], 1.3), ("right_elbow", [0, 1, 0], 2.6)):
        crossed = turned(crossed, role, axis, by * bend / 0.7)
    depth = limb_overlaps(crossed).max()
    assert depth > 0.04, depth
    assert passed(crossed, standing) == {"limbs"}
    assert quality_report(crossed, sources=[crossed]).limb_intersection_m == 0.0


def test_a_body_that_leans_too_far_is_out_of_balance_and_leaves_the_floor(standing):
    lean = leaning(standing, 0.3)
    assert passed(lean, standing) == {"balance", "height"}
    assert quality_report(lean, sources=[lean]).balance_m == 0.0


# --- definitions ----------------------------------------------------------------------


def test_segment_distances_match_their_definition():
    rng = np.random.default_rng(3)
    ends = rng.normal(size=(4, 60, 3))
    ends[1, :5] = ends[0, :5]  # a point
    ends[3, 5:10] = ends[2, 5:10] + (ends[1, 5:10] - ends[0, 5:10])  # parallel
    ends[2, 10:15] = 0.3 * ends[0, 10:15] + 0.7 * ends[1, 10:15]  # touching
    expected = [naive.segment_distance(*each) for each in ends.transpose(1, 0, 2)]
    np.testing.assert_allclose(segment_distances(*ends), expected, atol=1e-4)


def test_overlaps_of_limbs_match_their_definition(walk):
    capsules = Capsules.of(walk.skeleton)
    squeezed = turned(walk, "left_hip", [0, 0, 1], -0.3 * np.ones(len(walk)))
    points = squeezed.positions(end_sites=True).astype(float)
    measured = limb_overlaps(squeezed)
    assert measured.max() > 0.01
    for frame in (0, 40, 90):
        for number, (a, b) in enumerate(capsules.pairs):
            ends = [points[frame, k] for part in (a, b) for k in capsules.ends[part]]
            apart = naive.segment_distance(*ends)
            expected = max(capsules.radii[a] + capsules.radii[b] - apart, 0.0)
            assert measured[frame, number] == pytest.approx(expected, abs=1e-4)


def test_radii_grow_with_the_body(walk):
    small, large = (Capsules.of(walk.skeleton.scaled(factor)) for factor in (0.6, 1.2))
    np.testing.assert_allclose(np.array(large.radii) / np.array(small.radii), 2.0)


def test_imbalance_matches_its_definition(standing):
    lean = leaning(standing, 0.3)
    contacts = lean.contacts()
    measured = imbalance(lean, contacts)
    judged = np.flatnonzero(np.isfinite(measured))
    assert len(judged) and np.nanmax(measured) > 0.0
    center = center_of_mass(lean)[:, [0, 2]]
    roles = [f"{side}_{part}" for side in ("left", "right") for part in ("ankle", "foot", "toe")]
    feet = lean.role_positions(roles)[..., [0, 2]].astype(float)
    both = contacts.standing("left") & contacts.standing("right")
    for frame in judged[both[judged]][::20]:
        expected = naive.distance_outside(center[frame], list(feet[frame]))
        assert measured[frame] == pytest.approx(max(expected - 0.06, 0.0), abs=2e-3)


def test_balance_is_not_measured_while_walking(walk):
    assert np.isnan(imbalance(walk, walk.contacts())).all()
    assert quality_report(walk).balance_m is None


@pytest.mark.parametrize("frames", [0, 1, 2, 4, 6])
def test_short_motions_have_a_report(walk, frames):
    report = quality_report(walk[:frames], sources=[walk[: max(frames, 1)]])
    assert report.jumps == 0 and report.warnings == ()


def test_a_skeleton_of_one_joint_has_a_report():
    skeleton = ml.Skeleton(["hips"], [-1], [[0, 0, 0]])
    still = ml.Motion(skeleton, np.tile([1.0, 0, 0, 0], (10, 1, 1)), np.zeros((10, 3)), 30)
    assert quality_report(still, sources=[still]).line() == "no foot contacts found"


def test_missing_frames_do_not_spoil_the_figures(walk):
    root = walk.root.copy()
    root[70:73] = np.nan
    report = quality_report(as_made(replace(walk, root=root), seams=[30, 71]), sources=[walk])
    assert np.isfinite(report.floor_penetration_m) and np.isfinite(report.foot_slide_m)
    assert report.seam_acceleration_ratio < 1.5 and report.limb_intersection_m == 0.0


def test_measured_in_blocks_the_report_is_the_same(walk):
    root = walk.root.copy()
    root[70:, 0] += 0.3
    torn = replace(as_made(walk, seams=[70]), root=root)
    usual = SourceStatistics.of([walk])
    meter = QualityMeter(usual)
    meter.add(torn[:72])
    meter.add(torn[42:], start=42, seen=30)
    whole, parts = quality_report(torn, usual=usual), meter.report()
    assert parts.worst_seam == whole.worst_seam and parts.jumps == whole.jumps == 1
    assert parts.limb_intersection_m == pytest.approx(whole.limb_intersection_m)
    assert parts.foot_slide_m == pytest.approx(whole.foot_slide_m, abs=0.005)
    assert [entry.frame for entry in parts.worst[:2]] == [entry.frame for entry in whole.worst[:2]]


def test_the_error_of_gravity_matches_its_definition():
    jump = ml.demo.clip("jump_far", performer=2)
    [(start, end, error)] = flight_errors(jump)
    path = center_of_mass(jump)[start:end]
    assert error == pytest.approx(naive.gravity_error(path, jump.fps), rel=1e-6)
    assert error < 0.2
    [(_, _, slow)] = flight_errors(replace(jump, fps=0.5 * jump.fps))
    assert slow == pytest.approx(0.75, abs=0.1)  # at half the speed, bodies fall at 0.25 g


def test_a_blend_that_floats_is_the_only_issue_reported():
    """A leaping and a standing kick: halfway, the body hangs in the air at half of gravity."""
    clips = [
        ml.demo.clip(f"kick_{kind}_right", performer=2) for kind in ("front_mid", "leap_front")
    ]
    blend = Blend(register(clips, drop_unmatched=True))
    report = blend([0.5, 0.5]).quality
    assert report.flight_error_g > 0.25 and [w.measure for w in report.worst if w.passed] == [
        "flight"
    ]
    (warning,) = [text for text in report.warnings if "gravity" in text]
    assert "larger than in the takes: blend only jumps of similar height" in warning
    assert blend([0.0, 1.0]).quality.flight_error_g == pytest.approx(0.0, abs=0.02)


def test_blends_of_jumps_fall_like_jumps():
    clips = [ml.demo.clip(name, performer=p) for p, name in enumerate(("jump_up", "jump_far"))]
    report = Blend(register(clips, drop_unmatched=True))([0.5, 0.5]).quality
    assert report.flight_error_g < 0.15
    assert quality_report(clips[0], sources=[ml.demo.clip("walk")]).flight_error_g is None


# --- joint ranges, toes and floors ------------------------------------------------------------


def test_the_drag_of_toes_matches_its_definition(walk):
    """From the end of a contact until the toe is 12 mm higher than it was during the contact."""
    toes = {
        side: walk.role_positions([f"{side}_toe"])[:, 0].astype(float) for side in ("left", "right")
    }
    contacts = walk.contacts()
    drags = toe_drags(walk, contacts)
    assert len(drags) > 4
    for drag in drags:
        toe = toes[drag.side]
        start = next(a for a, b in contacts.intervals(f"{drag.side}_ball") if b == drag.start_frame)
        height = sorted(toe[start : drag.start_frame, 1])[(drag.start_frame - start) // 2]
        frame, way = drag.start_frame, 0.0
        while toe[frame, 1] <= height + 0.012:
            way += float(np.hypot(*(toe[frame] - toe[frame - 1])[[0, 2]]))
            frame += 1
        assert (drag.end_frame, drag.distance_m) == (frame, pytest.approx(way, abs=0.01))
    march = quality_report(ml.demo.clip("march"))
    assert march.toe_drag_m > 0.08 > 0.04 > quality_report(walk).toe_drag_m


def test_a_twisted_head_is_beyond_its_range():
    walk = ml.demo.clip("walk")
    joint = walk.skeleton.joint(walk.skeleton.roles["head"])
    rotations = walk.rotations.astype(np.float64)
    half_turn = rot.from_axis_angle([1.0, 0.0, 0.0], np.pi)
    rotations[60:70, joint] = rot.multiply(rotations[60:70, joint], half_turn)
    twisted = replace(walk, rotations=rotations)
    report = quality_report(twisted)
    assert report.joint_range_deg > 60.0
    assert any(warning.startswith("the head is") for warning in report.warnings)
    assert quality_report(walk).joint_range_deg == 0.0
    assert quality_report(twisted, sources=[twisted]).joint_range_deg == 0.0


def test_a_limb_that_turns_about_its_bone_at_a_seam_is_found():
    """Positions do not show it."""
    walk = ml.demo.clip("walk")
    joint = walk.skeleton.joint(walk.skeleton.roles["head"])
    rotations = walk.rotations.astype(np.float64)
    turn = rot.from_axis_angle([0.0, 1.0, 0.0], 1.0)
    rotations[60:, joint] = rot.multiply(rotations[60:, joint], turn)
    made = as_made(replace(walk, rotations=rotations), [60])
    report = quality_report(made, sources=[walk])
    assert report.seam_acceleration_ratio < 1.5 < 3.0 < report.seam_rotation_ratio


def test_a_body_off_the_floor_of_its_sources_is_found():
    walk = ml.demo.clip("walk")
    report = quality_report(walk.transform(shift=(0.0, 0.04, 0.0)), sources=[walk])
    assert report.floor_offset_m == pytest.approx(0.04, abs=0.005)
    assert any("above or below the floors" in warning for warning in report.warnings)
    assert quality_report(walk, sources=[walk]).floor_offset_m == pytest.approx(0.0, abs=1e-6)


def test_a_seam_is_compared_with_its_takes_not_with_leaps_elsewhere():
    """A toe that jerks between two walks is rough, however wild other takes are."""
    walk, leap = ml.demo.clip("walk"), ml.demo.clip("jump_far")
    spin = rot.from_axis_angle([1.0, 0.0, 0.0], np.linspace(0.0, 12.0 * np.pi, len(leap)))
    turned = leap.rotations.astype(np.float64).copy()
    turned[:, 0] = rot.multiply(turned[:, 0], spin)
    wild = replace(leap, rotations=turned, name="flip")
    q = walk.rotations.copy().astype(np.float64)
    toe = walk.skeleton.names.index("LeftFoot")
    q[70, toe] = rot.multiply(q[70, toe], rot.from_axis_angle([1.0, 0.0, 0.0], np.radians(35.0)))
    sources = (Source("walk", 0, 70, 0, 70), Source("walk", 70, len(walk), 70, len(walk)))
    made = replace(walk, rotations=q, name="made", provenance=Provenance(sources, (70,)))
    calm = [replace(walk, name="walk"), replace(walk, name="again")]
    alone, among = (quality_report(made, sources=takes) for takes in (calm, [*calm, wild]))
    assert SourceStatistics.of([wild]).acceleration > 3 * SourceStatistics.of([walk]).acceleration
    assert alone.seam_acceleration_ratio > 1.5
    assert among.seam_acceleration_ratio == pytest.approx(alone.seam_acceleration_ratio, rel=0.01)
    assert "seam" in {frame.measure for frame in among.worst if frame.passed}
