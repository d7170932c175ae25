"""The truth table of the built-in corpus agrees with the motions."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import motionloom as ml
from motionloom import demo
from motionloom.demo import corpus


def points(performance: demo.AnnotatedMotion, *names: str) -> np.ndarray:
    motion = performance.motion
    index = [motion.skeleton.point_names.index(name) for name in names]
    return motion.positions(end_sites=True)[:, index].astype(np.float64)


def speed_of(path: np.ndarray, fps: float) -> np.ndarray:
    return np.linalg.norm(np.gradient(path, 1.0 / fps, axis=0), axis=-1)


@pytest.mark.parametrize("name", ["walk_p0", "walk_slow_p1", "walk_left_p2", "walk_fast_p3",
                                  "march_p1", "jog_p2", "jog_right_p0"])  # fmt: skip
def test_gaits_have_the_speed_turn_and_steps_of_their_truth(name):
    made = demo.annotated(name)
    truth, motion = made.truth.parameters, made.motion
    path = motion.root[:, [0, 2]].astype(np.float64)
    length = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
    # In a bend the pelvis leans in and goes a shorter way than the feet.
    share = 0.05 if not truth["turn"] else 0.08
    assert length / ((len(path) - 1) / motion.fps) == pytest.approx(truth["speed"], rel=share)
    turn = np.polyfit(np.arange(len(path)) / motion.fps, motion.headings(), 1)[0]
    assert turn == pytest.approx(truth["turn"], abs=0.06)
    landings = np.sort([a for side in ("left", "right") for a, _ in made.truth.contacts[side]])
    landings = landings[landings > 0]
    period = np.median(np.diff(landings)) / motion.fps
    assert period == pytest.approx(truth["step_period"], abs=1.0 / motion.fps)


def test_a_spiral_turns_ever_tighter():
    made = demo.annotated("spiral_walk")
    heading = made.motion.headings()
    third = len(heading) // 3
    turned = np.diff(heading[[0, third, 2 * third, len(heading) - 1]])
    assert turned[0] < turned[1] < turned[2]
    assert heading[-1] - heading[0] > np.pi


TARGETED = [
    name
    for name in demo.names()
    if name.startswith(("kick_", "punch_", "reach_")) and name.endswith(("_p0", "_p3"))
][::3]


def test_targets_are_met_at_the_frame_of_the_truth():
    assert len(TARGETED) > 40
    for name in TARGETED:
        made = demo.annotated(name)
        truth = made.truth.parameters
        path = points(made, truth["point"])[:, 0]
        away = np.linalg.norm(path - truth["target"], axis=1)
        hit = truth["hit_frame"]
        assert away[hit] < 1e-3, name
        assert away[hit] <= away.min() + 1e-3, name
        assert speed_of(path, made.motion.fps)[hit] < 1.6, name  # the turning point
        assert speed_of(path, made.motion.fps).max() > 0.8, name


def test_a_kick_reaches_furthest_at_its_hit():
    for name in ("kick_front_high_left_p0", "kick_side_high_right_p1", "kick_leap_front_left_p2"):
        made = demo.annotated(name)
        side = made.truth.parameters["leg"].title()
        place = points(made, f"{side}UpLeg", f"{side}Foot")
        hit = made.truth.parameters["hit_frame"]
        lifted = place[:, 1, 1]
        assert abs(int(lifted.argmax()) - hit) <= 2, name
        stretched = np.linalg.norm(place[:, 1] - place[:, 0], axis=1)
        assert stretched[hit] > 0.9 * stretched.max(), name


def test_sitting_standing_and_stepping_up_have_their_heights():
    made = demo.annotated("sit_stand_p2")
    truth = made.truth.parameters
    hips = points(made, "LeftUpLeg", "RightUpLeg")[..., 1].mean(axis=1)
    seated = hips[truth["seated_frame"] : truth["rising_frame"]]
    assert np.allclose(seated, truth["seat_height"] + 0.09, atol=0.02)
    assert hips[0] > 0.8
    up = demo.annotated("step_up_left_p1")
    ball = points(up, "LeftToeBase", "RightToeBase")[..., 1]
    assert ball.min(axis=1).max() - ball[0].min() == pytest.approx(
        up.truth.parameters["step_height"], abs=2e-3
    )


def test_jumps_rise_travel_and_turn_as_planned():
    for name in ("jump_up_p0", "jump_far_p3", "jump_turn_left_p1", "jump_turn_right_p2"):
        made = demo.annotated(name, fps=120)
        truth, motion = made.truth.parameters, made.motion
        off, on = truth["takeoff_frame"], truth["landing_frame"]
        height = motion.root[:, 1]
        assert height[off:on].max() - height[off] == pytest.approx(truth["rise"], abs=0.015)
        feet = points(made, "LeftFoot", "RightFoot").mean(axis=1)
        assert np.linalg.norm((feet[-1] - feet[0])[[0, 2]]) == pytest.approx(
            truth["forward"], abs=0.01 if not truth["turn"] else 0.2
        )
        turned = motion.headings()[-1] - motion.headings()[0]
        assert turned == pytest.approx(truth["turn"], abs=0.1)
        assert made.truth.flights[0][0] == pytest.approx(off, abs=1)


def test_a_cartwheel_goes_over_both_hands():
    for name in ("cartwheel_left_p0", "cartwheel_right_p3"):
        made = demo.annotated(name)
        truth = made.truth.parameters
        side = truth["side"].title()
        far = {"Left": "Right", "Right": "Left"}[side]
        place = points(made, "Head_End", "Hips", f"{side}Hand_End", f"{far}Hand_End")
        middle = truth["inverted_frame"]
        assert place[middle, 0, 1] < place[middle, 1, 1] - 0.3
        for hand, down, up in zip(
            (2, 3), truth["hand_down_frames"], truth["hand_up_frames"], strict=True
        ):
            planted = place[down + 1 : up, hand]
            assert len(planted) >= 5
            assert np.ptp(planted, axis=0).max() < 0.02
            assert planted[:, 1].max() < 0.05
        assert place[..., 1].min() > 0.0


def test_dances_turn_or_stop_on_their_beats():
    names = ("LeftArm", "RightArm", "LeftForeArm", "RightForeArm", "Spine", "Spine1",
             "LeftUpLeg", "RightUpLeg", "LeftLeg", "RightLeg")  # fmt: skip
    for name in ("dance_groove_p0", "dance_groove_p3", "dance_sway_p1", "dance_sway_p2"):
        made = demo.annotated(name, fps=120)
        motion = made.motion
        joints = [motion.skeleton.joint(joint) for joint in names]
        activity = np.linalg.norm(motion.angular_velocities()[:, joints], axis=-1).sum(axis=1)
        beats = np.rint(np.array(made.truth.beats) * 120).astype(int)
        typical = np.median(activity[beats[0] : beats[-1]])
        for beat in beats[1:-1]:
            around = activity[beat - 18 : beat + 19]
            assert abs(int(around.argmin()) - 18) <= 6, (name, beat)  # 50 ms
            assert activity[beat] < 0.45 * typical, (name, beat)


def test_feet_land_on_the_beats_of_dances_and_waltzes():
    for name in ("dance_groove_p1", "dance_sway_p0", "waltz_leader_p0", "waltz_follower_p3"):
        made = demo.annotated(name)
        landings = np.array(
            [a for side in ("left", "right") for a, _ in made.truth.contacts[side] if a > 0]
        )
        beats = np.array(made.truth.beats[1:]) * made.motion.fps
        assert len(landings) == len(beats)
        assert np.abs(np.sort(landings) - beats).max() <= 1.0, name


def test_one_dance_is_regular_and_the_other_is_not():
    regular, loose = demo.annotated("dance_groove"), demo.annotated("dance_sway")
    gaps = np.diff(regular.truth.beats)
    assert np.allclose(gaps, 60.0 / regular.truth.tempo_bpm, atol=1e-5)
    gaps = np.diff(loose.truth.beats) / (60.0 / loose.truth.tempo_bpm)
    assert np.abs(gaps - 1.0).max() < 0.15 + 1e-6
    assert np.abs(gaps - 1.0).max() > 0.08


@pytest.mark.parametrize("leader", [0, 3])
def test_a_couple_dances_in_closed_hold_on_one_clock(leader):
    lead, follow = demo.couple(performer=leader)
    assert lead.truth.parameters["partner"] == follow.name
    assert follow.truth.parameters["partner"] == lead.name
    assert lead.truth.beats == follow.truth.beats
    joined = points(lead, "LeftHand_End") - points(follow, "RightHand_End")
    assert np.linalg.norm(joined, axis=-1).max() < 0.02
    on_back = points(lead, "RightHand_End") - points(follow, "Spine1")
    assert np.linalg.norm(on_back, axis=-1).max() < 0.25
    apart = points(lead, "Hips") - points(follow, "Hips")
    assert 0.3 < np.linalg.norm(apart[..., [0, 2]], axis=-1).min()
    assert np.linalg.norm(apart[..., [0, 2]], axis=-1).max() < 0.75
    facing = lead.motion.headings() - follow.motion.headings()
    assert np.cos(facing).max() < -0.9
    assert np.array_equal(
        demo.clip(follow.name).rotations, follow.motion.rotations
    )  # alone or together, the same dance


@pytest.fixture(scope="module")
def takes() -> list[demo.AnnotatedMotion]:
    return [
        demo.annotated(name)
        for name in ("take_locomotion_p1", "take_strikes_p2", "take_reaches_p0", "take_dances_p3")
    ]


def test_rows_of_a_take_are_in_order_and_do_not_overlap(takes):
    for take in takes:
        rows = take.truth.actions
        assert len(rows) >= 6
        assert rows[0].start_frame == 0
        for row, after in zip(rows, [*rows[1:], None], strict=True):
            assert row.start_frame < row.end_frame <= len(take.motion)
            if after is not None:
                assert row.end_frame <= after.start_frame


def test_rows_of_a_take_match_what_happens_in_their_frames(takes):
    seen = set()
    for take in takes:
        for row in take.truth.actions:
            seen.add(row.action)
            truth, frames = row.parameters, slice(row.start_frame, row.end_frame)
            if "hit_frame" in truth:
                assert row.start_frame < truth["hit_frame"] < row.end_frame
                at = points(take, truth["point"])[truth["hit_frame"], 0]
                assert np.linalg.norm(at - truth["target"]) < 1e-3
            if row.action in ("walk", "jog"):
                pace = speed_of(take.motion.root[frames][:, [0, 2]].astype(float), 30.0)
                middle = pace[len(pace) // 3 : -len(pace) // 3]
                assert middle.mean() == pytest.approx(truth["speed"], rel=0.15)
            if row.action == "jump":
                assert any(row.start_frame < a < b < row.end_frame for a, b in take.truth.flights)
            for beat in row.beats:
                assert row.start_frame <= beat * 30.0 <= row.end_frame
    assert {"walk", "jog", "jump", "kick", "punch", "reach", "dance_groove"} <= seen


def test_between_actions_the_performer_stands_still_and_the_take_has_no_jumps(takes):
    for take in takes:
        step = np.linalg.norm(np.diff(take.motion.positions(), axis=0), axis=-1)
        assert step.max() < 0.45  # meters in a thirtieth of a second: the fastest foot
        for row, after in zip(take.truth.actions, take.truth.actions[1:], strict=False):
            gap = slice(row.end_frame, max(after.start_frame, row.end_frame + 1))
            assert step[gap].max() < 0.03


def test_the_corpus_is_written_as_files_and_tables(tmp_path, monkeypatch):
    some = ("walk_p1", "kick_front_low_left_p0", "dance_sway_p2", "take_strikes_p3")
    monkeypatch.setattr(corpus, "names", lambda: some)
    answer: list[str] = []
    folder = demo.write(tmp_path / "corpus", progress=answer.append)
    assert sorted(answer) == sorted(some)
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [*(f"{name}.bvh" for name in answer), "contacts.csv", "labels.csv", "truth.csv"]
    )
    with (folder / "truth.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    strikes = demo.annotated("take_strikes_p3").truth.actions
    assert len(rows) == 3 + len(strikes)
    kick = next(row for row in rows if row["file"] == "kick_front_low_left_p0.bvh")
    truth = json.loads(kick["parameters"])
    motion = ml.load(folder / kick["file"])
    ankle = motion.positions()[truth["hit_frame"], motion.skeleton.joint(truth["point"])]
    assert np.linalg.norm(ankle - truth["target"]) < 2e-3
    dance = next(row for row in rows if row["action"] == "dance_sway")
    assert len(json.loads(dance["beats"])) > 20
    with (folder / "labels.csv").open(newline="") as file:
        labels = {row["file"]: row["label"] for row in csv.DictReader(file)}
    assert labels["kick_front_low_left_p0.bvh"] == "kick"
    assert labels["take_strikes_p3.bvh"] == "take"
    with (folder / "contacts.csv").open(newline="") as file:
        contacts = list(csv.DictReader(file))
    assert {row["foot"] for row in contacts} == {"left", "right", "left_heel", "right_heel"}
