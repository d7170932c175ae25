"""Scripts in words that become motions."""

import json

import pytest
from commands import ran

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.words.captions import captions
from motionloom.words.script import parse_script

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
    found = [
        event.name
        for event in captions(acted.motion)
        for _ in range(event.count)
        if event.name in set(shown)
    ]
    assert found == shown
    quality = acted.motion.quality
    assert quality.foot_slide_m < 0.01 and quality.seam_acceleration_ratio < 1.5
    sources = acted.motion.sources
    assert sources[0].start == 0 and {source.motion for source in sources} <= set(lib.names)
    assert acted.plan[-1].end == pytest.approx(acted.motion.duration, abs=0.1)


def test_durations_are_obeyed(lib):
    for seconds in (2.0, 5.0):
        assert lib.act(f"walk {seconds:g} s").motion.duration == pytest.approx(seconds, abs=0.7)


def test_a_plan_can_be_changed_and_acted(lib):
    row = lib.plan("kick with the left foot")[0]
    again = lib.plan(f"{row}, walk 1 s")[0]
    assert (again.motion, again.start_frame) == (row.motion, row.start_frame)


def test_scripts_are_parsed():
    rows = parse_script("Walk 3.5 s, then wave twice while sitting; jump 3 times\nand stand up")
    assert [(r.action, r.seconds, r.times, r.along) for r in rows] == [
        ("Walk", 3.5, 1, ""), ("wave", None, 2, "sitting"), ("jump", None, 3, ""),
        ("stand up", None, 1, ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("", "a script must have at least one phrase"),
        ("walk, " * 2000, "at most 2000 characters"),
        ("walk, " * 50, "at most 40 phrases; got 50"),
        ("walk, swim across the lake", "no motion of the library shows 'swim across the lake'"),
        ("walk for 9000 s", "a duration must be 0.2 to 120 seconds"),
        ("kick 99 times", "repetitions must be 1 to 20"),
        ("3 s", "a phrase must say what is done"),
        ("geh nach links", "no motion of the library shows"),
        ("kick while sitting", "no motion of the library shows 'kick while sitting'"),
    ],
)
def test_impossible_scripts_are_one_clear_line(lib, tmp_path, script, message):
    done = ran("act", lib.path, script, "-o", tmp_path / "out.bvh")
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "out.bvh").exists()


def test_the_command_writes_and_plans(lib, tmp_path):
    out = tmp_path / "out.bvh"
    held = json.loads(ran("act", lib.path, "walk 2 s, jump up", "-o", out, "--json").stdout)
    assert held["frames"] == len(ml.load(out)) and len(held["plan"]) >= 2
    shown = ran("act", lib.path, "walk 2 s, jump up", "--plan").stdout
    assert "jump up  take_" in shown
    with pytest.raises(InvalidInput, match="at least one phrase"):
        lib.act(" ")
    assert "-o FILE, or give --plan" in ran("act", lib.path, "walk").stderr


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
        pytest.param(
            "jog 4 s, jump forward, sit down",
            ["jog", "jump", "sit_down"],
            marks=pytest.mark.xfail(reason="a jump right after jogging is captioned as running"),
        ),
        ("march 3 s, punch with the right hand twice", ["march", "punch", "punch"]),
        pytest.param(
            "hop on the right leg, walk 3 s",
            ["hop", "hop", "hop", "walk"],
            marks=pytest.mark.xfail(reason="the steps of hops and of the walk are one caption"),
        ),
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
