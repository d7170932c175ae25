"""Skating takes: contacts that speed alone does not find, and clean-up that stops the feet."""

from dataclasses import replace

import numpy as np
import pytest
from skating import drifting, leg_swings, other_legs, scaled_travel, shaken, swaying

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.motion.feet.clean import clean_feet, contact_speed
from motionloom.motion.feet.contacts import FOOT_PARTS, foot_contacts, part_path
from motionloom.motion.feet.skating import supported_parts
from motionloom.motion.rotations import quaternions as rot

# Name of a clip of the corpus and the change applied to it.
CORPUS = {
    "walk": lambda m: scaled_travel(m, 1.3),
    "walk_slow": lambda m: leg_swings(scaled_travel(m, 0.7), 4.0, period=1.3),
    "walk_left": lambda m: drifting(m, 0.4, degrees=60.0, turn=20.0),
    "walk_right": lambda m: drifting(other_legs(scaled_travel(m, 1.2), 1.15), 0.3),
    "jog": lambda m: drifting(m, 0.5, degrees=200.0),
    "march": lambda m: shaken(
        scaled_travel(m, 1.2), degrees=2.0, meters=0.02, seconds=0.15, seed=4
    ),
    "waltz_leader": lambda m: drifting(swaying(m, 0.25, period=3.0), 0.2),
    "dance_sway": lambda m: swaying(m, 0.4, period=1.7),
}
# Take of CMU, its length in frames, and the change applied to it: two walks, a turn, a run, a
# dance on the spot, a salsa, boxing, stairs.
CMU = {
    "007/07_01": (None, CORPUS["walk"]),
    "008/08_01": (None, CORPUS["walk_right"]),
    "016/16_21": (None, CORPUS["walk_left"]),
    "035/35_17": (None, lambda m: scaled_travel(m, 0.8)),
    "005/05_10": (None, lambda m: swaying(m, 0.5, period=1.1)),
    "060/60_05": (400, CORPUS["waltz_leader"]),
    "014/14_21": (None, lambda m: drifting(m, 0.35, turn=12.0)),
    "083/83_28": (None, lambda m: shaken(m, degrees=2.5, meters=0.03, seconds=0.15, seed=1)),
}


def speed_3d(motion, contacts):
    """Median speed of heels and balls in `contacts`, m/s, height included."""
    speeds = []
    for part in FOOT_PARTS:
        step = np.linalg.norm(np.diff(part_path(motion, part), axis=0), axis=-1) * motion.fps
        speeds += [step[a : b - 1] for a, b in contacts.intervals(part)]
    return np.median(np.concatenate(speeds))


def about_hips(motion):
    return motion.positions() - motion.role_positions(["hips"])


def accelerations(motion, roles):
    places = motion.role_positions(roles).astype(np.float64)
    return np.linalg.norm(np.diff(places, 2, axis=0), axis=-1) * motion.fps**2


def check(source, skating):
    """Feet of the cleaned take stand where those of the source stood, and nothing else changes."""
    true = foot_contacts(source, skate=0.0)
    assert contact_speed(skating, true) > 0.2, "does not skate"
    cleaned, report = clean_feet(skating)
    assert contact_speed(cleaned, true) < 0.01
    assert speed_3d(cleaned, true) < 0.03
    assert report.speed_after_m_s < 0.01 < report.speed_before_m_s
    # Poses: nearer to the source than a leg bent by a few degrees.
    before = np.linalg.norm(about_hips(skating) - about_hips(source), axis=-1).mean()
    after = np.linalg.norm(about_hips(cleaned) - about_hips(source), axis=-1).mean()
    assert after < before + 0.01
    # No pops, of the knees or at the edges of contacts.
    for roles in (["left_knee", "right_knee"], ["left_foot", "right_foot"]):
        was = max(accelerations(source, roles).max(), accelerations(skating, roles).max())
        assert accelerations(cleaned, roles).max() < 1.75 * was


@pytest.mark.parametrize("name", CORPUS)
def test_skating_takes_of_the_corpus_stand_still(name):
    source = ml.demo.clip(name)
    check(source, CORPUS[name](source))


@pytest.mark.cmu
@pytest.mark.parametrize("name", CMU)
def test_skating_takes_of_cmu_stand_still(name, cmu30):
    frames, skate = CMU[name]
    source = ml.load(cmu30 / f"{name}.bvh")[:frames]
    check(source, skate(source))


@pytest.mark.parametrize(
    "name",
    ["walk", "jog_fast", "kick_leap_front_left", "jump_far", "cartwheel_left", "dance_groove"],
)
def test_contacts_of_clean_takes_do_not_change(name):
    motion = ml.demo.clip(name)
    assert foot_contacts(motion).plants == foot_contacts(motion, skate=0.0).plants


@pytest.mark.cmu
def test_contacts_of_clean_cmu_takes_hardly_change(cmu30):
    changed = []
    for path in sorted(cmu30.glob("*/*_05.bvh"))[:60]:
        motion = ml.load(path)[:600]
        without = foot_contacts(motion, skate=0.0).standing_parts()
        changed.append(np.mean(foot_contacts(motion).standing_parts() != without))
    assert np.mean(changed) < 0.003
    assert np.mean(np.array(changed) > 0.01) < 0.1


def test_skating_contacts_are_marked():
    walk = ml.demo.clip("walk")
    skating = foot_contacts(scaled_travel(walk, 1.3))
    assert all(plant.skating for plant in skating.plants["left_ball"])
    assert not any(plant.skating for plant in foot_contacts(walk).plants["left_ball"])


def test_a_body_that_drifts_on_standing_feet_is_held_where_it_stands():
    stand = ml.demo.clip("sit_stand")
    cleaned, _ = clean_feet(drifting(stand, 0.2))
    hips = cleaned.role_positions(["hips"])[:, 0, [0, 2]]
    captured = stand.role_positions(["hips"])[:, 0, [0, 2]]
    off = (hips - captured) - (hips - captured).mean(axis=0)
    assert np.abs(off).max() < 0.05  # it drifted by 0.8 m
    assert np.abs(about_hips(cleaned) - about_hips(stand)).max() < 0.05


def test_a_walk_in_place_is_unchanged():
    walk = ml.demo.clip("walk")
    in_place = scaled_travel(walk, 0.0)
    cleaned, report = clean_feet(in_place)
    assert cleaned is in_place
    assert report.slide_before_m is None


def test_sliding_feet_can_be_ignored():
    glide = drifting(ml.demo.clip("walk"), 0.6)
    assert not foot_contacts(glide, skate=0.0).standing_parts().any()
    assert foot_contacts(glide).standing_parts().any()
    with pytest.raises(InvalidInput, match="skate must be a speed in m/s, zero or more"):
        foot_contacts(glide, skate=-1.0)


def test_feet_in_flight_are_not_skating():
    jump = ml.demo.clip("jump_far")
    true = foot_contacts(jump, skate=0.0).standing_parts().any(axis=1)
    contacts = foot_contacts(drifting(jump, 0.3)).standing_parts().any(axis=1)
    flight = slice(*np.flatnonzero(~true)[[0, -1]] + [2, -1])
    assert flight.stop - flight.start > 5
    assert not contacts[flight].any()


def test_a_body_that_is_not_in_flight_stands_on_a_foot():
    walk, jump = ml.demo.clip("walk"), ml.demo.clip("jump_far")
    contacts = walk.contacts()
    gap = slice(60, 66)
    bare = replace(
        contacts,
        plants={
            part: tuple(
                plant for plant in plants if plant.end_frame <= 60 or plant.start_frame >= 66
            )
            for part, plants in contacts.plants.items()
        },
    )
    assert not bare.standing_parts()[gap].any()
    filled = supported_parts(walk, bare)
    assert filled.any(axis=1).all()
    rows = np.flatnonzero(~bare.standing_parts().any(axis=1))
    side = np.argmax(filled[rows], axis=1) // 2
    truth = contacts.standing_parts()[rows].reshape(-1, 2, 2).any(axis=2)
    assert truth[np.arange(len(rows)), side].mean() > 0.9
    before = jump.contacts()
    flight = np.flatnonzero(~before.standing_parts().any(axis=1))
    assert not supported_parts(jump, before)[flight[3:-3]].any()


def test_drift_does_not_depend_on_where_the_body_faces():
    skating = scaled_travel(ml.demo.clip("walk"), 1.3)
    quarter = rot.from_axis_angle([0.0, 1.0, 0.0], np.pi / 2)
    q = skating.rotations.astype(np.float64)
    q[:, 0] = rot.multiply(quarter, q[:, 0])
    turned = replace(skating, rotations=q, root=rot.rotate(quarter, skating.root))
    assert np.array_equal(
        foot_contacts(turned).standing_parts(), foot_contacts(skating).standing_parts()
    )
