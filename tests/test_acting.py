"""Scripts in words that become motions."""

import json

import numpy as np
import pytest
from commands import ran

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.text.captions import captions
from motionloom.text.scripts.candidates import _turn
from motionloom.text.scripts.layers import active_arms, unclean
from motionloom.text.scripts.script import Phrase, parse_script

CLIPS = ("walk", "kick_front_high_right", "kick_side_high_left", "punch_mid_left", "sit_stand",
         "jump_up", "hop_right", "take_strikes", "take_locomotion")  # fmt: skip


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    library = ml.Library.create(tmp_path_factory.mktemp("act") / "takes.loom")
    for n, name in enumerate(CLIPS):
        library.add_motion(ml.demo.clip(name), name=f"take_{n}")
    return library


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ("walk forward 3 s, sit down, stand up", ["walk", "sit_down", "stand_up"]),
        ("jump up twice, punch with the left hand", ["jump", "jump", "punch"]),
        ("kick with the right foot then jog", ["kick", "jog"]),
    ],
)
def test_a_script_is_acted_in_order(lib, script, shown):
    acted = lib.act(script)
    events = [
        event.name
        for event in captions(acted.motion, least_confidence=0.0)
        for _ in range(event.count)
        if event.name in set(shown)
    ]
    assert events == shown
    quality = acted.motion.quality
    assert quality.foot_slide_m < 0.01 and quality.seam_acceleration_ratio < 1.5
    sources = acted.motion.sources
    assert sources[0].start == 0 and {source.motion for source in sources} <= set(lib.names)
    assert acted.plan[-1].end == pytest.approx(acted.motion.duration, abs=0.1)


def test_durations_and_distances_are_obeyed(lib):
    for seconds in (2.0, 5.0):
        assert lib.act(f"walk {seconds:g} s").motion.duration == pytest.approx(seconds, abs=0.4)
    path = lib.act("walk 3 m").motion.root[:, [0, 2]]
    assert np.linalg.norm(path[-1] - path[0]) == pytest.approx(3.0, abs=0.4)


def test_a_plan_can_be_changed_and_acted(lib):
    rows = lib.act("punch with the left hand while walking 3 s, kick with the left foot").plan
    assert rows[0].arms and all(row.shown for row in rows)
    again = lib.act(", ".join(map(str, rows)))
    assert [str(row) for row in again.plan] == [str(row) for row in rows]
    assert [row.phrase for row in lib.act(f"{rows[1]}, walk 1 s").plan][1] == "walk 1 s"


def test_arms_are_put_on_legs_that_keep_their_path(lib):
    acted = lib.act("punch with the left hand while walking 3 s")
    row = acted.plan[0]
    assert acted.motion.duration == pytest.approx(3.0, abs=0.3)
    walk = lib[row.motion][row.start_frame : row.end_frame]
    moved = (np.linalg.norm(m.root[-1, [0, 2]] - m.root[0, [0, 2]]) for m in (acted.motion, walk))
    assert next(moved) == pytest.approx(next(moved), abs=0.02)
    events = [(event.name, event.side) for event in captions(acted.motion, least_confidence=0.0)]
    assert ("punch", "left") in events and ("walk", "") in events
    whole, arm = acted.motion.sources
    assert (whole.part, arm.part) == ("", "left arm") and arm.motion != whole.motion
    assert 0 <= arm.start < arm.end <= len(acted.motion)
    assert "part" not in whole.as_dict() and arm.as_dict()["part"] == "left arm"
    assert acted.motion.provenance.take_at(45) == row.motion
    # The right arm, the legs and the trunk are those of the walk.
    same = [n for n in range(len(walk.skeleton)) if not walk.skeleton.names[n].startswith("Left")]
    apart = np.abs(acted.motion.rotations[3:80, same] - walk.rotations[3:80, same])
    assert np.median(apart) < 1e-5
    quality = acted.motion.quality
    assert quality.seam_acceleration_ratio < 1.5 and quality.foot_slide_m < 0.01


def test_arms_of_a_body_that_is_not_upright_are_refused(lib):
    cartwheel = ml.demo.clip("cartwheel_left")
    assert unclean(ml.demo.clip("walk"), 0, 60) == ""
    assert "the trunk leans by" in unclean(cartwheel, 0, len(cartwheel))
    assert unclean(ml.demo.clip("sit_stand"), 45, 65) == "the body is not upright"
    with pytest.raises(
        InvalidInput, match="the arms cannot be combined with other legs, because the body is not"
    ):
        lib.act("take_4:45-65 while take_0:10-100")


def test_only_arms_that_move_are_taken():
    assert active_arms(ml.demo.clip("punch_mid_left")[20:40]) == ("left",)
    assert active_arms(ml.demo.clip("jump_up")) == ("left", "right")


def test_what_only_the_other_side_shows_is_mirrored(lib):
    acted = lib.act("hop on the left leg")
    assert acted.plan[0].mirrored and str(acted.plan[0]).endswith(" mirrored")
    assert {
        event.side for event in captions(acted.motion, least_confidence=0.0) if event.name == "hop"
    } == {"left"}
    assert acted.motion.sources[0].as_dict()["mirrored"] is True
    again = lib.act(str(acted.plan[0]))
    np.testing.assert_allclose(again.motion.rotations, acted.motion.rotations, atol=1e-4)


def test_a_turn_is_a_quarter_turn_if_no_number_is_said():
    ask = {text: Phrase(text, text) for text in ("turn left", "turn around", "turn by 45 degrees")}
    assert [_turn("turns left by 180 degrees", each) for each in ask.values()] == [90.0, 0.0, 135.0]
    assert _turn("jumps up", ask["turn left"]) is None
    assert _turn("turns left by 90 degrees", Phrase("walk", "walk")) is None


def test_scripts_are_parsed():
    rows = parse_script("Walk 3.5 s, then wave twice while sitting; jump 3 times\nand run 4 m")
    assert [(r.action, r.seconds, r.times, r.along, r.meters) for r in rows] == [
        ("Walk", 3.5, 1, "", None), ("wave", None, 2, "sitting", None), ("jump", None, 3, "", None),
        ("run", None, 1, "", 4.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("", "a script must have at least one phrase"),
        ("walk, " * 2000, "at most 2000 characters"),
        ("walk, " * 50, "at most 40 phrases; got 50"),
        ("walk, swim across the lake", "no motion in this library shows 'swim across the lake'"),
        ("walk for 9000 s", "a duration must be between 0.2 and 120 seconds"),
        ("walk 900 m", "a distance must be between 0.3 and 100 meters"),
        ("walk 3 s 4 m", "must not have both a duration and a distance"),
        ("walk\x1b[31m", r"a script must not have control characters; got '\x1b'"),
        ("walk\x00, jump", "a script must not have control characters"),
        ("прыжок вверх", "no motion in this library shows 'прыжок вверх'"),
        (",;. \n", "a script must have at least one phrase"),
        ("kick 99 times", "repetitions must be between 1 and 20"),
        ("3 s", "a phrase must contain an action"),
        ("geh nach links", "no motion in this library shows"),
        ("kick while sitting", "no motion in this library shows 'kick while sitting'"),
    ],
)
def test_impossible_scripts_are_one_clear_line(lib, tmp_path, script, message):
    done = ran("act", lib.path, script, "-o", tmp_path / "out.bvh")
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "out.bvh").exists()


def test_the_command_writes_and_plans(lib, tmp_path):
    out = tmp_path / "out.bvh"
    report = json.loads(ran("act", lib.path, "walk 2 s, jump up", "-o", out, "--json").stdout)
    assert report["frames"] == len(ml.load(out)) and len(report["plan"]) >= 2
    shown = ran("act", lib.path, "walk 2 s, jump up", "--plan").stdout
    assert "jump up  take_" in shown
    with pytest.raises(InvalidInput, match="at least one phrase"):
        lib.act(" ")
    assert "-o FILE, or use --plan" in ran("act", lib.path, "walk").stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "shown"),
    [
        (
            "sit down, stand up, jump up with a turn, jog 3 s",
            ["sit_down", "stand_up", "jump", "jog"],
        ),
        ("do a cartwheel, walk 2 s", ["cartwheel", "walk"]),
        ("punch with the left hand, kick forward with the right foot", ["punch", "kick"]),
        ("kick with the right foot three times", ["kick", "kick", "kick"]),
        ("walk 4 s, kick sideways with the left foot, walk 2 s", ["walk", "kick", "walk"]),
        ("jog 4 s, jump forward, sit down", ["jog", "jump", "sit_down"]),
        ("march 3 s, punch with the right hand twice", ["march", "punch", "punch"]),
        ("hop on the right leg, walk 3 s", ["hop", "hop", "hop", "walk"]),
        ("step up, step down, walk 2 s", ["step_up", "step_down", "walk"]),
        ("sit down, stand up, sit down, stand up", ["sit_down", "stand_up"] * 2),
    ],
)
def test_more_scripts_over_the_corpus(tmp_path_factory, script, shown):
    folder = tmp_path_factory.getbasetemp() / "corpus.loom"
    library = ml.Library.create(folder, exist_ok=True)
    if not len(library):
        for name in ml.demo.names():
            if name.endswith(("_p0", "_p1")):
                library.add_motion(ml.demo.clip(name), name=name)
    test_a_script_is_acted_in_order(library, script, shown)
