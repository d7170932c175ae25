"""The commands ballroom and march: one file with everybody, views from above, own takes."""

import json
from functools import partial

import numpy as np
import pytest
from commands import invoked

import motionloom as ml
from motionloom.cli import app
from motionloom.demo.tunes import write_tune
from motionloom.errors import InvalidInput

run = partial(invoked, app)


def answer(*words):
    return json.loads(run(*words, "--json").stdout)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("own") / "takes.loom")
    for dancer in ml.demo.couple():
        lib.add_motion(dancer.motion, name=dancer.motion.name, labels=["waltz"])
    for k in range(2):
        lib.add_motion(ml.demo.clip("walk", seed=k), name=f"walk_{k}", labels=["walk"])
    return lib.path


def test_json_keeps_the_contract(tmp_path):
    facts = answer("ballroom", "--couples", 2, "--seconds", 4, "-o", tmp_path / "b.glb")
    assert set(facts["quality"]) >= {
        "foot_slide_m", "floor_penetration_m", "seam_acceleration_ratio",
    }  # fmt: skip
    assert facts["file"] == str(tmp_path / "b.glb") and facts["files"] == [facts["file"]]
    assert (facts["frames"], facts["fps"], facts["characters"]) == (120, 30.0, 4)
    assert facts["quality"]["seam_acceleration_ratio"] > 0.0
    assert facts["beats_within_one_frame"] <= facts["beats_total"]
    assert {"motion", "start_frame", "end_frame", "start", "end", "weight", "characters"} == set(
        facts["sources"][0]
    )


@pytest.mark.parametrize("suffix", [pytest.param(".usda", marks=pytest.mark.slow), ".usdc"])
def test_usd_contains_all_characters(tmp_path, suffix):
    pytest.importorskip("pxr", reason="the extra usd is not installed")
    place = tmp_path / f"m{suffix}"
    facts = answer("march", "--ranks", 2, "--files", 2, "--seconds", 2, "-o", place,
                 "--bvh", tmp_path / "each")  # fmt: skip
    assert facts["characters"] == facts["soldiers"] == 4
    for k in (1, 4):
        loaded = ml.load(place, skeleton=f"soldier {k}")
        alone = ml.load(tmp_path / "each" / f"soldier_{k}.bvh")
        assert len(loaded) == len(alone) == facts["frames"]
        apart = np.linalg.norm(loaded.positions() - alone.positions(), axis=-1)
        assert apart.max() < 2e-3  # BVH keeps a few digits


def test_glb_and_bvh_agree(tmp_path):
    place = tmp_path / "b.glb"
    run("ballroom", "--couples", 1, "--seconds", 2, "-o", place, "--bvh", tmp_path / "each")
    for role in ("leader", "follower"):
        loaded = ml.load(place, skeleton=f"couple 1 {role}")
        alone = ml.load(tmp_path / "each" / f"couple_1_{role}.bvh")
        assert np.linalg.norm(loaded.positions() - alone.positions(), axis=-1).max() < 2e-3


@pytest.mark.parametrize("fps", [24, pytest.param(120, marks=pytest.mark.slow)])
def test_any_frame_rate_works(tmp_path, fps):
    facts = answer("march", "--ranks", 1, "--files", 1, "--seconds", 3, "--fps", fps,
                 "-o", tmp_path / "m.glb")  # fmt: skip
    assert (facts["frames"], facts["fps"]) == (3 * fps, fps)
    assert facts["beats_within_one_frame"] == facts["beats_total"] > 0
    assert ml.load(tmp_path / "m.glb").fps == fps


def test_less_than_one_bar_works(tmp_path):
    assert answer("ballroom", "--couples", 1, "--seconds", 0.2, "-o", tmp_path / "b.glb")[
        "frames"] == 6  # fmt: skip
    assert answer("march", "--ranks", 1, "--files", 1, "--seconds", 0.2, "-o", tmp_path / "m.glb")[
        "frames"] == 6  # fmt: skip


def test_music_from_a_file_a_tune_and_a_scene(tmp_path):
    song = write_tune(tmp_path / "song.mid", meter=3, tempo_bpm=110, bars=6)
    scene = tmp_path / "ball.toml"
    scene.write_text('couples = 2\nmusic = "song.mid"\nroom = [6, 6]\n')  # no kind: the command's
    facts = answer("ballroom", scene, "-o", tmp_path / "b.glb")
    assert facts["tempo_bpm"] == pytest.approx(110.0)
    assert facts["frames"] == pytest.approx(30 * 6 * 3 * 60 / 110, abs=20)
    words = ["--seconds", 3, "-o", tmp_path / "b.glb"]
    assert answer("ballroom", scene, "--tempo", 80, *words)["tempo_bpm"] == pytest.approx(80.0)
    assert answer("ballroom", scene, "--music", "tune", "--tempo", 70, *words)["tempo_bpm"] == (
        pytest.approx(70.0)
    )
    four = write_tune(tmp_path / "four.mid", meter=4, tempo_bpm=100, bars=3)
    done = run("ballroom", "--couples", 1, "--music", four, "--seconds", 3, "-o",
               tmp_path / "b.glb")  # fmt: skip
    assert "has 4 beats per bar but the movements have 3" in done.stderr
    assert song.exists()


def test_marches_go_as_fast_as_their_tempo(tmp_path):
    facts = answer("march", "--ranks", 1, "--files", 2, "--seconds", 4, "--tempo", 60,
                 "-o", tmp_path / "m.glb")  # fmt: skip
    assert facts["misplacement_m"] < 0.15 and facts["left_feet_in_step"] == 1.0
    with pytest.raises(InvalidInput, match="would have to march .* at this tempo"):
        run("march", "--tempo", 60, "--speed", 1.4, "-o", tmp_path / "m.glb")


@pytest.mark.slow
def test_couples_of_a_library_dance_their_own_dance(tmp_path, library):
    place = tmp_path / "own.glb"
    done = run("ballroom", library, "--couples", 2, "--seconds", 5, "-o", place)
    assert "1 couple of takes: " in done.stderr  # found among four takes
    facts = answer("ballroom", library, "--takes", "waltz_leader_*+waltz_follower_p1",
                 "--couples", 2, "--seconds", 5, "-o", place)  # fmt: skip
    assert facts["tempo_bpm"] == pytest.approx(87.0, abs=4.0)
    assert facts["clearance_m"] >= 0.0 and facts["radius_m"] >= 0.5
    assert {source["motion"] for source in facts["sources"]} == {
        "waltz_leader_p0", "waltz_follower_p1",
    }  # fmt: skip
    scene = tmp_path / "scene.json"
    scene.write_text(json.dumps({"library": str(library), "label": ["waltz"], "couples": 1,
                                 "tempo_bpm": 100, "meter": 3, "seconds": 3}))  # fmt: skip
    assert answer("ballroom", scene, "-o", place)["tempo_bpm"] == pytest.approx(100.0)


def test_walks_of_a_library_and_of_files_march(tmp_path, library):
    place = tmp_path / "own.glb"
    words = ["--ranks", 2, "--files", 2, "--seconds", 4, "-o", place]
    facts = answer("march", library, "--label", "walk", *words)
    assert facts["misplacement_m"] < 0.25
    assert {source["motion"] for source in facts["sources"]} <= {"walk_0", "walk_1"}
    files = [ml.demo.clip("walk", seed=k).save(tmp_path / f"w{k}.bvh") for k in range(2)]
    facts = answer("march", "--takes", ",".join(map(str, files)), *words)
    assert {source["motion"] for source in facts["sources"]} <= {"w0", "w1"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["ballroom", "--label", "walk"],
            "no couple was detected among 2 .*LEADER.FOLLOWER",
        ),
        (
            ["ballroom", "--label", "tango"],
            "no motion is labeled 'tango'; labels in this library: walk, waltz",
        ),
        (
            ["ballroom", "--takes", "walk_0+walk_1"],
            "must have the same length|at least 4 movements",
        ),
        (["ballroom", "--takes", "a+b+c"], "a couple must be written LEADER.FOLLOWER"),
        (["march", "--takes", "walk_9"], "no motion 'walk_9'"),
        (["march", "--takes", "waltz_leader_p0+walk_0"], "each soldier needs a single take"),
        (["march", "a.toml", "b.toml"], "LIB must come before the crowd description; got a.toml"),
    ],
)
def test_a_library_with_too_few_movements_is_reported(tmp_path, library, words, message):
    with pytest.raises(ValueError, match=message):
        place = [] if words[-1].endswith(".toml") else [library]
        run(words[0], *place, *words[1:], "-o", tmp_path / "x.glb")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_five_hundred_couples_on_an_open_field(tmp_path):
    facts = answer("ballroom", "--couples", 500, "--room", "open", "--seconds", 3,
                 "-o", tmp_path / "field.glb")  # fmt: skip
    assert facts["characters"] == 1000 and facts["clearance_m"] >= 0.0
    assert len(ml.load(tmp_path / "field.glb", skeleton="couple 500 follower")) == 90
