"""Foot contacts: against known truth, under noise, at any rate, on stairs."""

from dataclasses import replace

import numpy as np
import pytest
from naive.feet import naive_contacts, naive_slide
from scipy.ndimage import binary_dilation

import motionloom as ml
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import floor_penetration, foot_slide, quality_report
from motionloom.motion.feet.contacts import (
    FOOT_PARTS,
    FootContacts,
    Plant,
    foot_contacts,
    part_path,
)
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.segment import intervals

CLIPS = ["walk_p0", "walk_slow_p2", "walk_left_p1", "kick_front_high_right_p0"]


def true_contacts(truth, part, frames):
    """Mask (T,) of a foot part from the corpus' truth."""
    side, kind = part.split("_")
    mask = np.zeros(frames, dtype=bool)
    for start, end in truth.contacts[side if kind == "ball" else part]:
        mask[start:end] = True
    return mask


def scores(contacts, truth, part, slack):
    """Precision and recall, forgiving `slack` frames at the ends of contacts."""
    result, true = contacts[part], true_contacts(truth, part, contacts.frames)
    wide = np.ones(2 * slack + 1, dtype=bool)
    precision = np.sum(result & binary_dilation(true, wide)) / max(result.sum(), 1)
    recall = np.sum(true & binary_dilation(result, wide)) / max(true.sum(), 1)
    return precision, recall


def with_noise(motion, rng, size=0.001):
    root = motion.root + rng.normal(scale=size, size=motion.root.shape)
    jitter = rot.exp(rng.normal(scale=0.004, size=(*motion.rotations.shape[:2], 3)))
    return replace(motion, rotations=rot.multiply(jitter, motion.rotations), root=root)


@pytest.mark.parametrize("name", CLIPS)
def test_finds_the_known_contacts_of_a_clip(name):
    made = ml.demo.annotated(name)
    contacts = made.motion.contacts()
    for part in FOOT_PARTS:
        precision, recall = scores(contacts, made.truth, part, slack=2)
        assert recall > 0.98, part
        assert precision > (0.92 if part.endswith("ball") else 0.85), part


def test_finds_the_known_contacts_of_the_corpus():
    rows = []
    for name in ml.demo.names()[::9]:
        made = ml.demo.annotated(name)
        contacts = made.motion.contacts()
        for part in ("left_ball", "right_ball"):
            result, true = contacts[part], true_contacts(made.truth, part, contacts.frames)
            precision, recall = scores(contacts, made.truth, part, slack=2)
            rows.append([precision * result.sum(), result.sum(), recall * true.sum(), true.sum()])
    right, result, hit, true = np.sum(rows, axis=0)
    assert right / result > 0.98
    assert hit / true > 0.99


@pytest.mark.parametrize("fps", [30, 60, 120])
def test_contacts_are_the_same_at_any_rate(fps):
    made = ml.demo.annotated("walk", fps=fps)
    slow = ml.demo.annotated("walk", fps=30).motion.contacts()
    contacts = made.motion.contacts()
    for part in ("left_ball", "right_ball"):
        here = np.array(contacts.intervals(part)) / fps
        there = np.array(slow.intervals(part)) / 30
        inner = slice(1, -1)  # the first and last may be cut differently by the clip
        assert len(here) == len(there)
        assert np.all(np.abs(here[inner] - there[inner]) < 0.05)


@pytest.mark.parametrize("fps", [30, 120])
def test_noise_does_not_split_contacts(fps, rng):
    made = ml.demo.annotated("walk", fps=fps)
    contacts = with_noise(made.motion, rng).contacts()
    for part in ("left_ball", "right_ball"):
        assert len(contacts.intervals(part)) == len(made.truth.contacts[part.split("_")[0]])
        precision, recall = scores(contacts, made.truth, part, slack=round(fps / 15))
        assert precision > 0.9
        assert recall > 0.9


def stepper(left, right, fps=30):
    """A body of sticks whose feet are at the given places, (T, 3) each."""
    names = ["Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase"]
    names += ["RightUpLeg", "RightLeg", "RightFoot", "RightToeBase"]
    parents = [-1, 0, 1, 2, 3, 0, 5, 6, 7]
    offsets = np.array(
        [[0, 0, 0], [0.1, 0, 0], [0, -0.4, 0], [0, -0.4, 0], [0, -0.05, 0.12]]
        + [[-0.1, 0, 0], [0, -0.4, 0], [0, -0.4, 0], [0, -0.05, 0.12]]
    )
    left, right = np.asarray(left, float), np.asarray(right, float)
    moved = np.tile(offsets, (len(left), 1, 1))
    root = np.tile([0.0, 0.85, 0.0], (len(left), 1))
    for hip, foot in ((1, left), (5, right)):
        moved[:, hip] = foot + [0, 0.85, 0] - root  # the whole leg goes with the foot
    skeleton = Skeleton(names, parents, offsets)
    turned = np.tile(rot.IDENTITY, (len(left), len(names), 1))
    return Motion(skeleton, turned, root, fps, translations=moved)


def halting_path(*places, frames=15, moving=10):
    """A path that stays `frames` at each place and glides to the next."""
    rows = [np.tile(places[0], (frames, 1))]
    for a, b in zip(places, places[1:], strict=False):
        share = np.linspace(0, 1, moving + 2)[1:-1, None]
        rows += [np.array(a) + share * (np.array(b) - np.array(a)), np.tile(b, (frames, 1))]
    return np.concatenate(rows)


def test_every_tread_of_a_stair_has_its_own_ground():
    left = halting_path([0.1, 0, 0], [0.1, 0.3, 0.6], [0.1, 0.6, 1.2])
    right = halting_path([-0.1, 0, 0], [-0.1, 0.15, 0.3], [-0.1, 0.45, 0.9])
    right = np.concatenate([np.tile(right[0], (12, 1)), right])[: len(left)]
    contacts = foot_contacts(stepper(left, right))
    heights = [round(plant.height, 2) for plant in contacts.plants["left_ball"]]
    assert heights[:2] == [0.0, 0.3]
    assert contacts.floor == pytest.approx(0.0, abs=0.01)


def test_a_foot_held_still_in_the_air_does_not_stand():
    left = np.tile([0.1, 0.0, 0.0], (60, 1))
    right = halting_path([-0.1, 0, 0], [-0.1, 0.4, 0.2], frames=25)
    contacts = foot_contacts(stepper(left[: len(right)], right))
    assert contacts.intervals("left_ball") == ((0, len(right)),)
    assert len(contacts.intervals("right_ball")) == 1
    assert contacts.intervals("right_ball")[0][1] < 30


def test_short_gaps_are_closed_and_short_contacts_dropped():
    left = halting_path([0.1, 0, 0], [0.1, 0, 0.8], frames=20, moving=20)
    left[10] += [0, 0, 0.02]  # one frame slips by 2 cm: 0.3 m/s on both sides
    right = np.tile([-0.1, 0.0, 0.0], (len(left), 1))
    contacts = foot_contacts(stepper(left, right))
    assert len(contacts.intervals("left_ball")) == 2
    none = foot_contacts(stepper(left, right), shortest=10.0)
    assert not none["left_ball"].any()


def test_empty_and_single_frame_motions_have_contacts():
    still = stepper(np.zeros((1, 3)), np.zeros((1, 3)))
    assert foot_contacts(still, shortest=0.0)["left_ball"].tolist() == [True]
    assert foot_contacts(still[:0]).frames == 0


def test_needs_feet():
    bare = Skeleton(["Hips", "Spine"], [-1, 0], [[0, 0, 0], [0, 0.2, 0]])
    with pytest.raises(RoleError, match="left_ankle"):
        foot_contacts(Motion(bare, np.tile(rot.IDENTITY, (3, 2, 1)), np.zeros((3, 3)), 30))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slow": 0.0}, "slow must be positive and at most fast; got slow 0.0 and fast"),
        ({"slow": 0.5, "fast": 0.4}, "at most fast"),
        ({"rise": -1.0}, "rise must be a positive height in meters; got -1.0"),
        ({"above_floor": 0.0}, "above_floor must be a positive height"),
        ({"shortest": -0.1}, "shortest must be a time in seconds, zero or more; got -0.1"),
        ({"gap": float("nan")}, "gap must be a time in seconds"),
    ],
)
def test_reports_errors_in_a_threshold(options, message):
    with pytest.raises(InvalidInput, match=message):
        foot_contacts(ml.demo.clip("walk"), **options)


def test_an_unknown_foot_part_is_reported_with_the_valid_ones():
    contacts = FootContacts({}, floor=0.0, frames=3, fps=30.0)
    with pytest.raises(InvalidInput, match="left_heel, left_ball"):
        contacts["left_toe"]


def test_intervals_and_masks_agree():
    plants = {"left_heel": (Plant(0, 2, 0.1),), "left_ball": (Plant(1, 4, 0.0),)}
    contacts = FootContacts(plants, floor=0.0, frames=5, fps=30.0)
    assert contacts.standing("left").tolist() == [True, True, True, True, False]
    assert intervals(contacts["left_ball"]) == [(1, 4)]
    assert not contacts["right_ball"].any()


# --- quality ----------------------------------------------------------------------------------


def sliding(speed):
    """Both feet glide at `speed` m/s for a second at 30 fps."""
    way = np.arange(30) * speed / 30
    path = np.stack([0 * way, 0 * way, way], axis=-1)
    return stepper(path + [0.1, 0, 0], path - [0.1, 0, 0])


def test_slide_is_the_distance_over_the_floor():
    slide = foot_slide(sliding(0.12))
    assert slide.per_contact_m == pytest.approx(0.12 * 29 / 30, rel=1e-3)
    assert slide.worst_m == pytest.approx(slide.per_contact_m, rel=1e-3)
    assert slide.speed_m_s == pytest.approx(0.12, rel=1e-3)
    assert slide.contacts == 4


def test_slide_is_unknown_without_contacts():
    slide = foot_slide(sliding(2.0))
    assert (slide.per_contact_m, slide.speed_m_s, slide.worst_m, slide.contacts) == (None,) * 3 + (
        0,
    )


def test_slide_agrees_with_the_naive_reference_on_its_contacts():
    walk = ml.demo.clip("walk_slow")
    paths = np.stack([part_path(walk, part) for part in FOOT_PARTS], axis=1)
    stands = naive_contacts(paths, walk.fps)
    plants = {
        part: tuple(Plant(a, b, 0.0) for a, b in intervals(stands[:, k]))
        for k, part in enumerate(FOOT_PARTS)
    }
    contacts = FootContacts(plants, floor=0.0, frames=len(walk), fps=walk.fps)
    assert foot_slide(walk, contacts).per_contact_m == pytest.approx(naive_slide(paths, stands))


def test_penetration_is_depth_below_the_ground_of_the_nearest_contact():
    left = halting_path([0.1, 0.0, 0.0], [0.1, -0.05, 0.8], [0.1, 0.0, 1.6], frames=20, moving=12)
    sunk = left.copy()
    contacts = foot_contacts(stepper(left, left - [0.2, 0, 0]))
    sunk[3:6, 1] -= 0.04
    deeper = stepper(sunk, left - [0.2, 0, 0])
    plain = stepper(left, left - [0.2, 0, 0])
    added = floor_penetration(deeper, contacts) - floor_penetration(plain, contacts)
    assert added == pytest.approx(3 * 0.04 / len(left), rel=0.05)
    assert quality_report(plain, contacts).floor_penetration_m == floor_penetration(plain, contacts)


def test_contacts_of_another_length_are_refused():
    walk = ml.demo.clip("walk")
    with pytest.raises(InvalidInput, match="contacts must cover the motion's 138 frames; got 30"):
        foot_slide(walk, walk[:30].contacts())


# --- real takes -------------------------------------------------------------------------------


@pytest.mark.cmu
@pytest.mark.parametrize("take", ["02_01", "35_01", "12_03"])
def test_a_captured_walker_always_stands_on_a_foot(cmu30, take):
    walk = ml.load(cmu30 / f"{int(take.split('_')[0]):03d}" / f"{take}.bvh")
    contacts = walk.contacts()
    assert np.mean(contacts.standing("left") | contacts.standing("right")) > 0.9
    steps = [len(contacts.intervals(part)) for part in ("left_ball", "right_ball")]
    assert abs(steps[0] - steps[1]) <= 1
    lengths = [b - a for part in ("left_ball", "right_ball") for a, b in contacts.intervals(part)]
    assert 0.3 < np.median(lengths) / walk.fps < 0.9


@pytest.mark.cmu
def test_stairs_are_found_tread_by_tread(cmu30):
    climb = ml.load(cmu30 / "114" / "114_07.bvh")
    heights = [plant.height for plant in climb.contacts().plants["left_ball"]]
    levels = np.unique(np.round(np.array(heights) / 0.16))
    assert max(heights) - min(heights) > 0.4
    assert len(levels) == 4  # the floor and three treads of 16 cm under the left foot
