"""Foot-skate clean-up: slide removed, legs neither stretched nor popped."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive.feet import least_bent, naive_contacts, naive_slide

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import floor_penetration, foot_slide
from motionloom.motion.feet.clean import clean_feet, lock_feet, root_shift
from motionloom.motion.feet.contacts import FOOT_PARTS, SIDES, foot_contacts, part_path
from motionloom.motion.feet.foot_lock import raise_toes
from motionloom.motion.kinematics.two_bone import Limb, limb_of, reach_target
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.smoothing import ease_corrections


def skating(motion, size=0.02, seconds=1.1):
    """The whole body drifts to and fro, and a little up and down, by `size` meters."""
    phase = 2 * np.pi * np.arange(len(motion)) / (seconds * motion.fps)
    drift = np.stack([np.sin(phase), 0.1 * np.sin(1.7 * phase), np.cos(1.3 * phase)], axis=-1)
    return replace(motion, root=motion.root + size * drift)


def knee_angles(motion):
    """Bend of both knees, (T, 2) radians."""
    angles = []
    for side in SIDES:
        hip, knee, ankle = np.moveaxis(
            motion.role_positions([f"{side}_{r}" for r in ("hip", "knee", "ankle")]), 1, 0
        ).astype(float)
        thigh, shin = knee - hip, ankle - knee
        across = np.linalg.norm(np.cross(thigh, shin), axis=-1)
        angles.append(np.arctan2(across, np.sum(thigh * shin, axis=-1)))
    return np.stack(angles, axis=-1)


def knee_accelerations(motion):
    """Largest angular (rad/s^2) and linear (m/s^2) acceleration of a knee."""
    places = motion.role_positions(["left_knee", "right_knee"]).astype(float)
    linear = np.linalg.norm(np.diff(places, 2, axis=0), axis=-1)
    angular = np.abs(np.diff(knee_angles(motion), 2, axis=0))
    return angular.max() * motion.fps**2, linear.max() * motion.fps**2


def foot_paths(motion):
    return np.stack([part_path(motion, part) for part in FOOT_PARTS], axis=1)


@pytest.mark.parametrize("name", ["walk_p0", "walk_slow_p2", "walk_left_p1"])
@pytest.mark.parametrize("fps", [30, 120])
def test_skate_added_to_a_walk_is_removed(name, fps):
    made = ml.demo.annotated(name, fps=fps)
    skated = skating(made.motion)
    contacts = foot_contacts(made.motion)
    cleaned, report = clean_feet(skated, contacts=contacts)
    assert report.slide_before_m > 0.015
    assert report.slide_after_m < 0.2 * report.slide_before_m
    assert report.slide_after_m == pytest.approx(foot_slide(cleaned, contacts).per_contact_m)
    # The ball does not travel at all, whatever the heel does.
    for part in ("left_ball", "right_ball"):
        path = part_path(cleaned, part)[:, [0, 2]]
        for start, end in contacts.intervals(part):
            assert np.ptp(path[start:end], axis=0).max() < 1e-4


def test_skate_is_removed_without_given_contacts():
    skated = skating(ml.demo.clip("walk"))
    cleaned = skated.clean_feet()
    before, after = foot_slide(skated), foot_slide(cleaned, skated.contacts())
    assert after.per_contact_m < 0.2 * before.per_contact_m


def test_a_simple_detector_confirms_that_the_slide_is_gone():
    skated = skating(ml.demo.clip("walk"))
    stands = naive_contacts(foot_paths(skated), skated.fps)
    before = naive_slide(foot_paths(skated), stands)
    assert naive_slide(foot_paths(skated.clean_feet()), stands) < 0.4 * before


def test_bones_keep_their_lengths_and_rotations_their_norm():
    cleaned = skating(ml.demo.clip("walk")).clean_feet()
    place = cleaned.positions().astype(float)
    for joint, parent in enumerate(cleaned.skeleton.parents):
        if parent >= 0:
            length = np.linalg.norm(place[:, joint] - place[:, parent], axis=-1)
            expected = np.linalg.norm(cleaned.skeleton.offsets[joint])
            assert length == pytest.approx(expected, abs=1e-5)
    assert np.linalg.norm(cleaned.rotations, axis=-1) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("name", ["walk_p0", "walk_fast_p1", "kick_front_high_right_p0"])
def test_knees_do_not_pop(name):
    skated = skating(ml.demo.clip(name))
    cleaned = skated.clean_feet()
    for after, before in zip(knee_accelerations(cleaned), knee_accelerations(skated), strict=True):
        assert after < 1.2 * before


def test_knees_bend_to_the_front():
    cleaned = skating(ml.demo.clip("walk"), size=0.03).clean_feet()
    ahead = rot.rotate(rot.yaw(cleaned.headings()), [0.0, 0.0, 1.0])
    for side in SIDES:
        _, leg = limb_of(cleaned, (f"{side}_hip", f"{side}_knee", f"{side}_ankle"))
        line = leg.end - leg.start
        share = np.linalg.norm(leg.middle - leg.start, axis=-1) / leg.length
        out = leg.middle - leg.start - share[:, None] * line
        assert np.all(np.sum(out * ahead, axis=-1) > -1e-3)


def test_the_foot_eases_in_and_out():
    skated = skating(ml.demo.clip("walk", fps=120), size=0.03)
    contacts = ml.demo.clip("walk", fps=120).contacts()
    cleaned, _ = clean_feet(skated, contacts=contacts)
    # No frame of 1/120 s changes the velocity of a foot more than landing does anyway, and the
    # correction changes it by less than half of that.
    captured, now = (np.diff(foot_paths(m), 2, axis=0) * 120 for m in (skated, cleaned))
    landing = np.linalg.norm(captured, axis=-1).max()
    assert np.linalg.norm(now, axis=-1).max() < 1.1 * landing
    assert np.linalg.norm(now - captured, axis=-1).max() < 0.45 * landing


def test_frames_far_from_any_contact_keep_their_poses():
    leap = np.zeros((120, 3))
    leap[:, 1] = 2.0 * np.clip(np.sin(np.linspace(-0.6, np.pi + 0.6, 120)), 0, None)
    stand = ml.demo.clip("kick_front_high_right")[0:1]
    still = replace(
        stand,
        rotations=np.repeat(stand.rotations, 120, axis=0),
        root=stand.root + leap,
    )
    drifting = replace(still, root=still.root + np.linspace(0, 0.03, 120)[:, None] * [1, 0, 0])
    cleaned = drifting.clean_feet(contacts=still.contacts())
    aloft = slice(45, 75)
    turned = rot.angle_between(cleaned.rotations[aloft], drifting.rotations[aloft])
    assert turned.max() < np.radians(0.1)
    assert np.abs(cleaned.root[aloft] - drifting.root[aloft]).max() < 2e-3


def test_feet_that_do_not_slide_are_unchanged():
    walk = ml.demo.clip("walk")
    _, report = clean_feet(walk)
    assert report.mean_angle_change < np.radians(1.5)
    assert report.slide_after_m < 1e-3


def test_a_motion_without_contacts_is_unchanged():
    walk = ml.demo.clip("walk")
    flying = replace(walk, root=walk.root + np.arange(len(walk))[:, None] * [0.0, 0.5, 0.0])
    cleaned, report = clean_feet(flying)
    assert cleaned is flying
    assert (report.slide_before_m, report.speed_after_m_s, report.frames_changed) == (None, None, 0)


def test_a_step_out_of_reach_lowers_the_root_and_never_stretches_the_leg():
    walk = ml.demo.clip("walk")
    high = replace(walk, root=walk.root + [0.0, 0.04, 0.0])  # straighter than the legs are long
    contacts = walk.contacts()
    lowered, report = clean_feet(replace(high, root=high.root), contacts=contacts)
    assert report.slide_after_m < 0.01
    assert lowered.root[:, 1].mean() <= high.root[:, 1].mean() + 1e-4


def test_nothing_sinks_deeper_into_the_floor():
    for name in ("walk_p0", "walk_slow_p1"):
        skated = skating(ml.demo.clip(name))
        contacts = skated.contacts()
        cleaned, _ = clean_feet(skated, contacts=contacts)
        assert floor_penetration(cleaned, contacts) < floor_penetration(skated, contacts) + 1e-3


def test_the_motion_given_is_not_changed():
    skated = skating(ml.demo.clip("walk"))
    rotations, root = skated.rotations.copy(), skated.root.copy()
    skated.clean_feet()
    assert np.array_equal(rotations, skated.rotations)
    assert np.array_equal(root, skated.root)


def test_reports_invalid_input():
    walk = ml.demo.clip("walk")
    with pytest.raises(InvalidInput, match="ease must be a positive time in seconds; got 0"):
        walk.clean_feet(ease=0)
    with pytest.raises(InvalidInput, match="contacts must cover the motion's 138 frames; got 20"):
        walk.clean_feet(contacts=walk[:20].contacts())


def test_a_knee_that_is_an_end_site_is_refused():
    stump = Skeleton(
        ["hips", "thigh"], [-1, 0], [[0, 0, 0], [0.1, 0, 0]],
        end_names=["knee", "ankle"], end_parents=[1, 1], end_offsets=[[0, -0.4, 0], [0, -0.8, 0]],
        role_map={"left_hip": "thigh", "left_knee": "knee", "left_ankle": "ankle"},
    )  # fmt: skip
    motion = Motion(stump, np.tile(rot.IDENTITY, (2, 2, 1)), np.zeros((2, 3)), 30)
    with pytest.raises(RoleError, match="left_knee must be a joint; 'knee' is an end site"):
        limb_of(motion, ("left_hip", "left_knee", "left_ankle"))


# --- the parts --------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(6, 60), st.integers(1, 12))
def test_the_curve_of_least_bending_matches_its_definition(seed, frames, reach):
    rng = np.random.default_rng(seed)
    fixed = np.where(rng.random(frames) < 0.25, rng.normal(size=frames), np.nan)
    fixed[rng.integers(frames)] = 1.0
    curve = ease_corrections(fixed[:, None], reach)[:, 0]
    assert curve == pytest.approx(least_bent(fixed, reach), abs=1e-4)
    given_rows = np.isfinite(fixed)
    assert np.array_equal(curve[given_rows], fixed[given_rows])


def test_no_known_values_give_no_correction():
    assert not ease_corrections(np.full((5, 3), np.nan), 2.0).any()


def random_leg(rng, frames=50):
    """A leg turned any way, its knee bent to its own front by 0.2 to 1.5 radians."""
    start = rng.normal(size=(frames, 3))
    upper = rot.normalize(rng.normal(size=(frames, 4)))
    knee = rot.from_axis_angle([1.0, 0.0, 0.0], rng.uniform(0.2, 1.5, frames))
    lower = rot.multiply(upper, knee)
    middle = start + rot.rotate(upper, [0.0, -0.42, 0.0])
    return Limb(upper, lower, start, middle, middle + rot.rotate(lower, [0.0, -0.40, 0.0]))


def test_a_limb_reaches_its_target_without_stretching(rng):
    leg = random_leg(rng)
    target = leg.start + rng.uniform(0.3, 0.9, (50, 1)) * (leg.end - leg.start)
    moved = reach_target(leg, leg.start, target)
    assert moved.end == pytest.approx(target, abs=1e-6)
    for limb in (leg, moved):
        assert np.linalg.norm(limb.middle - limb.start, axis=-1) == pytest.approx(0.42)
        assert np.linalg.norm(limb.end - limb.middle, axis=-1) == pytest.approx(0.40)
    # Rotations and positions agree: each bone is unchanged in the frame of its joint.
    for joint, a, b in (("upper", "start", "middle"), ("lower", "middle", "end")):
        before = rot.rotate(rot.inverse(getattr(leg, joint)), getattr(leg, b) - getattr(leg, a))
        after = rot.rotate(
            rot.inverse(getattr(moved, joint)), getattr(moved, b) - getattr(moved, a)
        )
        assert after == pytest.approx(before, abs=1e-6)


def test_a_limb_that_is_where_it_should_be_hardly_changes(rng):
    leg = random_leg(rng)
    moved = reach_target(leg, leg.start, leg.end)
    assert np.abs(moved.end - leg.end).max() < 1e-6
    assert np.abs(moved.middle - leg.middle).max() < 1e-3


def test_a_target_out_of_reach_gets_the_straight_limb(rng):
    leg = random_leg(rng)
    target = leg.start + 3.0 * (leg.end - leg.start)
    moved = reach_target(leg, leg.start, target)
    assert np.linalg.norm(moved.end - moved.start, axis=-1) == pytest.approx(0.82, abs=1e-6)


def test_the_root_follows_a_straight_leg_and_stays_for_a_bent_one():
    frames = 60
    start = np.tile([0.0, 0.9, 0.0], (frames, 1))
    unturned = np.tile(rot.IDENTITY, (frames, 1))
    straight = Limb(unturned, unturned, start, start - [0, 0.45, 0], start - [0, 0.9, 0])
    bent = Limb(unturned, unturned, start, start + np.array([0, -0.3, 0.33]), start - [0, 0.6, 0])
    root, standing = start.copy(), np.ones(frames, dtype=bool)
    followed = root_shift([straight], [straight.end - [0, 0.02, 0]], root, standing, 30.0)
    assert followed[:, 1] == pytest.approx(-0.02, abs=2e-3)
    stayed = root_shift([bent], [bent.end - [0, 0.02, 0]], root, standing, 30.0)
    assert np.abs(stayed).max() < 0.015


def test_the_root_is_lowered_for_feet_out_of_reach():
    frames = 60
    start = np.tile([0.0, 0.9, 0.0], (frames, 1))
    unturned = np.tile(rot.IDENTITY, (frames, 1))
    knee = start + np.array([0.0, -0.3, 0.33])
    leg = Limb(unturned, unturned, start, knee, start - [0, 0.6, 0])
    deep = leg.end - np.where(np.arange(frames)[:, None] > 30, [0, 0.35, 0], 0.0)
    other = Limb(unturned, unturned, start, start - [0, 0.45, 0], start - [0, 0.9, 0])
    stands = np.ones(frames, dtype=bool)  # on the other leg, straight, which holds the root up
    shift = root_shift([leg, other], [deep, other.end], start, stands, 30.0)
    reach = np.linalg.norm(start + shift - deep, axis=-1)
    assert reach.max() <= leg.length[0] + 1e-9
    assert np.abs(np.diff(shift[:, 1], 2)).max() < 0.1  # for a target that jumps by 0.35


def test_a_knee_bent_slightly_the_wrong_way_bends_the_right_way(rng):
    frames = 40
    bend = np.concatenate([[-0.01] * 5, rng.uniform(0.1, 0.8, frames - 5)])
    upper = np.tile(rot.IDENTITY, (frames, 1))
    lower = rot.from_axis_angle([1.0, 0.0, 0.0], bend)
    start = np.zeros((frames, 3))
    middle = start + [0.0, -0.4, 0.0]
    leg = Limb(upper, lower, start, middle, middle + rot.rotate(lower, [0.0, -0.4, 0.0]))
    assert leg.middle[0, 2] < (leg.start + 0.5 * (leg.end - leg.start))[0, 2]  # behind the line
    moved = reach_target(leg, start, 0.9 * leg.end)
    line = moved.start + 0.5 * (moved.end - moved.start)
    assert np.all(moved.middle[:, 2] > line[:, 2] + 0.05)


def test_toes_bend_up_rather_than_sink():
    walk = ml.demo.clip("walk")
    sunk = replace(walk, root=walk.root - [0.0, 0.02, 0.0])
    ground = np.full(len(walk), walk.contacts().floor)
    tip = walk.skeleton.point("left_toe")
    q = raise_toes(walk, sunk, "left", (ground, ground - 0.005))
    heights = [m.positions(end_sites=True)[:, tip, 1] for m in (walk, replace(sunk, rotations=q))]
    allowed = np.minimum(heights[0] - ground, 0.0)
    assert sunk.positions(end_sites=True)[:, tip, 1].min() < ground[0] - 0.015
    assert np.all(heights[1] - (ground - 0.005) > allowed - 1e-3)


def test_a_foot_in_the_air_stays_above_raised_ground():
    walk = ml.demo.clip("walk_fast")
    contacts = walk.contacts()
    raised = {
        part: np.array([plant.height + 0.13 for plant in contacts.plants[part]])
        for part in ("left_ball", "right_ball")
    }
    lifted = lock_feet(walk, contacts, ease=0.05, heights=raised)
    for side in SIDES:
        part = f"{side}_ball"
        inner = slice(contacts.intervals(part)[0][0], contacts.intervals(part)[-1][1])
        assert part_path(walk, part)[inner, 1].max() < raised[part][0]  # it would not clear it
        assert part_path(lifted, part)[inner, 1].min() > raised[part][0] - 0.01


# --- real takes -------------------------------------------------------------------------------


def cmu_walks(cmu_data, cmu30, count):
    """Files of the first `count` takes described as walks, at most three per subject."""
    taken: dict[str, int] = {}
    with open(cmu_data / "cmu30-metadata.csv", encoding="utf-8") as table:
        for row in csv.DictReader(table):
            subject, text = row["subject"], row["description"].strip().lower()
            path = cmu30 / f"{int(subject):03d}" / f"{row['file']}.bvh"
            if row["duplicate_of"] or not text.startswith("walk") or taken.get(subject, 0) >= 3:
                continue
            if path.exists() and count > 0:
                taken[subject] = taken.get(subject, 0) + 1
                count -= 1
                yield path


def measured(path):
    """Slide before and after, by our and by plain contacts; change of angles; knee ratios."""
    walk = ml.load(path)
    cleaned, report = clean_feet(walk)
    stands = naive_contacts(foot_paths(walk), walk.fps)
    turned = rot.angle_between(walk.rotations, cleaned.rotations)
    ratio = np.divide(knee_accelerations(cleaned), knee_accelerations(walk))
    sinks = [floor_penetration(m, report.contacts) for m in (walk, cleaned)]
    return {
        "before": report.slide_before_m,
        "after": report.slide_after_m,
        "plain_before": naive_slide(foot_paths(walk), stands),
        "plain_after": naive_slide(foot_paths(cleaned), stands),
        "degrees": np.degrees(np.sqrt(np.mean(turned**2))),
        "leg_degrees": np.degrees(report.mean_angle_change),
        "knee": ratio.max(),
        "sunk": sinks[1] - sinks[0],
    }


def check(rows, *, plain_share):
    mean = {key: np.mean([row[key] for row in rows]) for key in rows[0]}
    assert mean["after"] < 0.2 * mean["before"]
    assert mean["plain_after"] < plain_share * mean["plain_before"]
    assert max(row["degrees"] for row in rows) < 3.0
    assert mean["leg_degrees"] < 3.0
    assert max(row["knee"] for row in rows) < 1.2
    assert max(row["sunk"] for row in rows) < 1e-3


@pytest.mark.cmu
def test_captured_walks_stop_sliding(cmu_data, cmu30):
    check(
        [measured(path) for path in list(cmu_walks(cmu_data, cmu30, 40))[5:40:7]], plain_share=0.25
    )


@pytest.mark.cmu
@pytest.mark.parametrize("take", ["35_01", "16_15"])
def test_captured_walks_at_full_rate_do_not_jitter(cmu_raw, take):
    row = measured(cmu_raw / f"{take}.bvh")
    assert row["after"] < 0.1 * row["before"]
    assert row["knee"] < 1.2
    assert row["leg_degrees"] < 3.0


@pytest.mark.cmu
@pytest.mark.slow
def test_fifty_captured_walks_stop_sliding(cmu_data, cmu30):
    rows = [measured(path) for path in cmu_walks(cmu_data, cmu30, 50)]
    assert len(rows) == 50
    check(rows, plain_share=0.2)
