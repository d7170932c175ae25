"""The built-in corpus looks right: measured on the motions themselves, not on their plans."""

from __future__ import annotations

import numpy as np
import pytest

from motionloom import demo
from motionloom.errors import InvalidInput
from motionloom.motion.rotations import quaternions as rot

FOOT_POINTS = ("Foot", "ToeBase", "ToeBase_End")


@pytest.fixture(scope="module")
def corpus() -> dict[str, demo.AnnotatedMotion]:
    """A quarter of the corpus: every clip and take once, the performers taking turns."""
    bases = dict.fromkeys(name.rpartition("_p")[0] for name in demo.names())
    made = [
        demo.annotated(base, performer=(k + k // 4) % len(demo.PERFORMERS))
        for k, base in enumerate(bases)
    ]
    return {performance.name: performance for performance in made}


def points(performance: demo.AnnotatedMotion, *names: str) -> np.ndarray:
    """World positions (T, len(names), 3) of named points."""
    motion = performance.motion
    index = [motion.skeleton.point_names.index(name) for name in names]
    return motion.positions(end_sites=True)[:, index].astype(np.float64)


def starting_with(corpus, *prefixes):
    return [made for name, made in corpus.items() if name.startswith(prefixes)]


# --- what there is ----------------------------------------------------------------------


@pytest.mark.slow
def test_a_quarter_of_the_corpus_is_more_than_ten_minutes(corpus):
    assert len(demo.names()) == 4 * len(corpus)
    assert sum(made.motion.duration for made in corpus.values()) > 600.0


def test_the_corpus_contains_every_promised_action(corpus):
    actions = {action.action for made in corpus.values() for action in made.truth.actions}
    assert actions == {
        "walk", "march", "spiral_walk", "jog", "step_up", "kick", "punch", "reach", "sit_stand",
        "jump", "hop", "cartwheel", "dance_groove", "dance_sway", "waltz", "pick_up", "put_back",
    }  # fmt: skip


def test_kicks_spread_over_both_legs_and_from_low_to_leaping():
    kicks = [name for name in demo.names() if name.startswith("kick_") and name.endswith("_p0")]
    assert len(kicks) >= 24
    targets = np.array([demo.annotated(k).truth.parameters["target"] for k in kicks[:12]])
    assert np.ptp(targets[:, 0]) > 0.5
    assert np.ptp(targets[:, 1]) > 0.6


def test_the_arm_is_bent_after_picking_up_and_before_putting_back():
    def bend(name, frame):
        arm = points(demo.annotated(name), "RightArm", "RightForeArm", "RightHand")[frame]
        upper, lower = arm[1] - arm[0], arm[2] - arm[1]
        return np.arccos(upper @ lower / np.linalg.norm(upper) / np.linalg.norm(lower))

    for height in ("low", "mid", "high"):
        picked, put = f"pick_up_{height}_p1", f"put_back_{height}_p1"
        assert bend(picked, 0) < 0.7 < 1.2 < bend(picked, -1)
        assert bend(put, -1) < 0.7 < 1.2 < bend(put, 0)
        ends = [demo.annotated(name).truth.parameters["target"] for name in (picked, put)]
        assert np.linalg.norm(np.subtract(*ends)) < 0.3


def test_performers_differ_in_size_and_keep_their_own(corpus):
    heights = [who.height for who in demo.PERFORMERS]
    assert min(heights) >= 1.5
    assert max(heights) <= 2.0
    assert len(set(heights)) == len(heights)
    for who in demo.PERFORMERS:
        rest = demo.clip("walk", performer=int(who.name[1:])).rest_pose()
        tall = np.ptp(rest.positions(end_sites=True)[0, :, 1])
        assert tall == pytest.approx(who.height, abs=0.03)


# --- how it moves -----------------------------------------------------------------------


def test_feet_in_contact_do_not_slide(corpus):
    for made in corpus.values():
        for side in ("left", "right"):
            label = side.title()
            parts = {side: ("ToeBase", "ToeBase_End"), f"{side}_heel": ("Foot",)}
            for contact, names in parts.items():
                place = points(made, *(label + name for name in names))
                for start, end in made.truth.contacts[contact]:
                    slide = np.ptp(place[start:end], axis=0).max()
                    assert slide < 1e-4, (made.name, contact, start, slide)


def test_feet_stand_on_the_floor_for_a_good_part_of_every_motion(corpus):
    for made in corpus.values():
        down = np.zeros(len(made.motion), bool)
        for side in ("left", "right"):
            for start, end in made.truth.contacts[side]:
                down[start:end] = True
        assert down.mean() > 0.35, made.name  # least in a fast jog


def test_no_foot_sinks_into_the_floor(corpus):
    for made in corpus.values():
        feet = points(made, *(side + part for side in ("Left", "Right") for part in FOOT_POINTS))
        assert feet[..., 1].min() > 0.0, made.name


def test_knees_and_elbows_bend_one_way_and_within_limits(corpus):
    for made in corpus.values():
        skeleton, local = made.motion.skeleton, made.motion.rotations.astype(np.float64)
        for side, sign in (("Left", 1.0), ("Right", -1.0)):
            shin = rot.rotate(local[:, skeleton.joint(f"{side}Leg")], np.array([0.0, -1.0, 0.0]))
            assert shin[:, 2].max() < 1e-3, made.name  # never in front of the thigh's line
            assert shin[:, 1].max() < np.cos(np.radians(40)), made.name
            bone = rot.rotate(
                local[:, skeleton.joint(f"{side}ForeArm")], np.array([sign, 0.0, 0.0])
            )
            assert bone[:, 2].min() > -0.06, made.name
            assert (bone[:, 0] * sign).min() > np.cos(np.radians(145)), made.name
            foot = rot.to_euler(local[:, skeleton.joint(f"{side}Foot")], "XYZ")
            assert np.degrees(foot[:, 0]).min() > -60.0, made.name
            assert np.degrees(foot[:, 0]).max() < 60.0, made.name
        turned = rot.angle_between(local[:, [1, 2, 3, 4]], rot.IDENTITY)
        assert np.degrees(turned).max() < 45.0, made.name


def test_joint_accelerations_are_those_of_a_person(corpus):
    # CMU's walks and runs at 30 Hz reach 70 to 95 m/s^2 at knees and toes; kicks more.
    for made in corpus.values():
        place = made.motion.positions(end_sites=True).astype(np.float64)
        size = np.linalg.norm(np.diff(place, 2, axis=0), axis=-1) * made.motion.fps**2
        assert size.max() < 160.0, (made.name, size.max())
        assert size[:, 0].max() < 40.0, made.name  # the pelvis is calmer


@pytest.mark.parametrize(
    "name",
    ["walk_fast_p1", "jog_fast_p0", "jump_up_p2", "hop_right_p3", "kick_leap_front_left_p0",
     "march_p1", "dance_groove_p3", "waltz_leader_p2", "punch_cross_left_p0"],
)  # fmt: skip
def test_no_joint_pops_between_frames_either(name):
    # Sampled four times as fine, a knee that snaps straight would show as thousands.
    motion = demo.clip(name, fps=120)
    place = motion.positions(end_sites=True).astype(np.float64)
    size = np.linalg.norm(np.diff(place, 2, axis=0), axis=-1) * 120.0**2
    assert size.max() < 220.0, size.max()


def test_the_body_faces_where_its_feet_and_its_eyes_point(corpus):
    for made in corpus.values():
        if made.truth.action == "cartwheel" or "locomotion" in made.name:
            continue
        heading = made.motion.headings()
        ahead = np.stack([np.sin(heading), np.zeros_like(heading), np.cos(heading)], axis=-1)
        turned = made.motion.global_rotations().astype(np.float64)
        eyes = rot.rotate(turned[:, made.motion.skeleton.joint("Head")], np.array([0, 0, 1.0]))
        assert np.sum(eyes * ahead, axis=-1).min() > -0.1, made.name
        for side in ("left", "right"):
            joint = made.motion.skeleton.joint(f"{side.title()}Foot")
            toes = rot.rotate(turned[:, joint], np.array([0.0, 0.0, 1.0]))
            for start, end in made.truth.contacts[f"{side}_heel"]:
                assert np.sum(toes * ahead, axis=-1)[start:end].min() > 0.0, made.name


def test_the_weight_is_over_the_standing_foot_when_the_other_one_lifts(corpus):
    checked = 0
    for made in starting_with(corpus, "kick_front", "kick_inside", "hop_"):
        leg = made.truth.parameters["leg"]
        # Hops stand on their leg, kicks on the other one.
        stands = leg if made.truth.action == "hop" else {"left": "right", "right": "left"}[leg]
        swings = {"left": "right", "right": "left"}[stands]
        lift = made.truth.contacts[swings][0][1] - 1
        place = points(made, "Hips", f"{stands.title()}Foot", f"{swings.title()}Foot")
        hips, standing, swinging = place[lift][:, [0, 2]]
        across = swinging - standing
        share = (hips - standing) @ across / (across @ across)
        assert share < 0.35, made.name
        checked += 1
    assert checked >= 14


# --- flight ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["jog_p0", "jog_fast_p3", "jump_up_p1", "hop_left_p2",
                                  "jump_far_p2", "kick_leap_front_right_p0"])  # fmt: skip
def test_in_flight_the_pelvis_falls_freely(name):
    made = demo.annotated(name, fps=240)
    height = made.motion.root[:, 1].astype(np.float64)
    flights = [(a, b) for a, b in made.truth.flights if b - a > 15]
    assert flights
    for start, end in flights:
        t = np.arange(end - start) / 240.0
        fit = np.polyfit(t, height[start:end], 2)
        assert 2.0 * fit[0] == pytest.approx(-9.81, abs=0.25), name
        assert np.abs(np.polyval(fit, t) - height[start:end]).max() < 1e-4


def test_in_flight_a_hop_neither_speeds_up_nor_slows_down():
    # The chest keeps still in a hop, so the pelvis goes where the center of mass goes.
    made = demo.annotated("hop_right_p1", fps=240)
    for start, end in made.truth.flights:
        path = made.motion.root[start:end, [0, 2]].astype(np.float64)
        t = np.arange(end - start)[:, None] / 240.0
        design = np.concatenate([np.ones_like(t), t, t**2], axis=1)
        fit = np.linalg.lstsq(design, path, rcond=None)[0]
        assert np.abs(2.0 * fit[2]).max() < 0.02  # m/s^2


def test_only_jumps_hops_jogs_leaps_and_cartwheels_leave_the_floor(corpus):
    for made in corpus.values():
        flies = made.truth.action in ("jog", "jump", "hop", "cartwheel") or "leap" in made.name
        if not made.name.startswith("take_"):
            assert bool(made.truth.flights) == flies, made.name


# --- the same again ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["walk_fast_p2", "dance_sway_p1", "waltz_follower_p1"])
def test_the_same_seed_gives_the_same_bytes_and_another_seed_different_ones(name):
    first, again, other = (demo.annotated(name, seed=seed) for seed in (3, 3, 4))
    assert first.motion.rotations.tobytes() == again.motion.rotations.tobytes()
    assert first.motion.root.tobytes() == again.motion.root.tobytes()
    assert first.truth == again.truth
    assert first.motion.rotations.tobytes() != other.motion.rotations.tobytes()


def test_another_frame_rate_samples_the_same_motion():
    slow, fast = (demo.clip("kick_side_mid_left_p1", fps=fps) for fps in (30, 90))
    assert fast.fps == 90.0
    gap = slow.positions() - fast.positions()[::3][: len(slow)]
    assert np.abs(gap).max() < 1e-5


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: demo.clip("moonwalk"), "no motion called 'moonwalk'; did you mean walk"),
        (lambda: demo.clip("walk", performer=4), "performer must be a number from 0 to 3; got 4"),
        (lambda: demo.clip("walk_p9"), "performer must be a number from 0 to 3; got 9"),
        (lambda: demo.clip("waltz_leader_p7"), "from 0 to 3; got 7"),
        (lambda: demo.clip("walk", fps=0), "fps must be positive; got 0"),
        (lambda: demo.couple(fps=0), "fps must be positive; got 0"),
        (lambda: demo.clip("walk", performer=1.5), "from 0 to 3; got 1.5"),
        (lambda: demo.clip("walk", seed=-1), "seed must be a whole number, zero or more; got -1"),
        (lambda: demo.couple(seed="a"), "seed must be a whole number, zero or more; got 'a'"),
    ],
)
def test_reports_invalid_input(ask, message):
    with pytest.raises(InvalidInput, match=message):
        ask()
