"""Settings of crowds: checks, and crowd descriptions in files."""

import json
import sys
import wave
from types import SimpleNamespace

import numpy as np
import pytest

from motionloom.crowd.floor_plan import Street
from motionloom.crowd.settings import (
    BallroomSettings,
    Formation,
    MarchSettings,
    load_crowd_settings,
    settings_from,
)
from motionloom.dance.music import Music, load_music, write_sound
from motionloom.demo.tunes import write_tune
from motionloom.errors import InvalidInput

NAN, INF = float("nan"), float("inf")
CORNER = [[0, 0], [0, 8], [0, 16], [0, 24], [8, 24], [16, 24], [24, 24]]
BALL = {"tempo_bpm": 90, "couples": 2, "seconds": 1}
MARCH = {"tempo_bpm": 96, "points": CORNER, "ranks": 2, "files": 2, "seconds": 1}

BALLROOMS = [
    ({"couples": 500}, "500 couples of radius 0.5 m do not fit into the room, which has space for"),
    ({"couples": 0}, "couples must be at least 1; got 0"),
    ({"couples": -3}, "couples must be at least 1; got -3"),
    ({"couples": 2.5}, "couples must be a whole number; got 2.5"),
    ({"couples": True}, "couples must be a whole number; got True"),
    ({"couples": "three"}, "couples must be a whole number; got 'three'"),
    ({"couples": 10**9}, "couples must be at most 10000"),
    ({"tempo_bpm": None}, "the description has no music. Set music"),
    ({"tempo_bpm": NAN}, "tempo_bpm must be at least 40; got nan"),
    ({"tempo_bpm": -90}, "tempo_bpm must be at least 40; got -90"),
    ({"tempo_bpm": "fast"}, "tempo_bpm must be a number; got 'fast'"),
    ({"room": [0.5, 9]}, "do not fit into the room, which has space for 0"),
    ({"room": [14]}, "room must be width and depth in meters"),
    ({"room": "big"}, "room must be width and depth in meters; got 'big'"),
    ({"room": [14, NAN]}, "room must be width and depth in meters, each a number .*; got nan"),
    ({"room": [-1, 5]}, "room must be a positive width and depth up to 1000 m"),
    ({"room": [2000, 2000]}, "up to 1000 m"),
    ({"columns": [[20, 0, 0.4]]}, "the column at x = 20, z = 0 is outside the room"),
    ({"columns": [[0, 0, -1]]}, "the radius of a column must be positive"),
    ({"columns": [[0, 0]]}, "columns.0. must be x, z and radius"),
    ({"columns": [[0, 0, INF]]}, "columns.0. must be x, z and radius, each a number .*; got inf"),
    ({"columns": [[0, 0, 20]]}, "do not fit into the room, which has space for 0"),
    ({"radius": 0}, "radius must be at least 0.3; got 0"),
    ({"speed": -1}, "speed must be at least 0; got -1"),
    ({"seed": -1}, "seed must be at least 0"),
    ({"seed": 1.5}, "seed must be a whole number"),
    ({"seconds": 0}, "seconds must be at least 0.2; got 0"),
    ({"seconds": NAN}, "seconds must be at least 0.2; got nan"),
    ({"seconds": 1e9}, "seconds must be at most 36000"),
    ({"fps": 0}, "fps must be at least 10; got 0"),
    ({"music": "no.mid", "tempo_bpm": None}, "no.mid: the music file does not exist"),
    ({"music": "x.txt", "tempo_bpm": None}, "x.txt: the file extension .* must be one of .mid"),
    ({"music": "", "tempo_bpm": None}, "music must be the name of a file"),
    ({"music": "song.mid"}, "tempo_bpm cannot be set for .*song.mid, because"),
    ({"takes": 3}, "takes must be a list of names; got 3"),
    ({"label": ["waltz"]}, "label selects takes in a library"),
    ({"library": 4}, "library must be a string; got 4"),
    ({"meter": 0}, "meter must be at least 1"),
    ({"color": 3}, "unknown keys for a ballroom: color. Valid keys: align, columns, couples"),
    ({"points": CORNER}, "unknown keys for a ballroom: points"),
]  # fmt: skip
MARCHES = [
    ({"points": []}, "points must have at least two rows"),
    ({"points": [[0, 0]]}, "points must have at least two rows"),
    ({"points": [[0, 0], [0, 0]]}, "neighboring points must differ"),
    ({"points": [[0, 0], [0, NAN]]}, "points.1. must be x and z, each a number .*; got nan"),
    ({"points": [[0, 0, 0], [1, 1, 1]]}, "points.0. must be x and z"),
    ({"points": "straight"}, "points must be a list of x and z"),
    ({"points": [[0, 0], [0, 20000]]}, "at most 10000 m long; this one is 20000 m"),
    ({"points": [[0, 0], [0, 20], [1, 20], [1, 0]]}, "the street folds on itself: its corner"),
    ({"points": [[0, 0], [0, 40], [20, 40], [20, 20], [-20, 20]]}, "folds on itself: .* from its"),
    ({"files": 40}, "the street folds on itself"),
    ({"ranks": 1000}, "the street is too short"),
    ({"ranks": 0}, "ranks must be at least 1"),
    ({"files": -1}, "files must be at least 1; got -1"),
    ({"spacing": 0.1}, "spacing must be at least 0.5; got 0.1"),
    ({"speed": 5}, "speed must be at most 4; got 5"),
    ({"speed": 1.4}, "in the sharpest corner, soldiers .* the takes only allow 0.30 to"),
    ({"speed": 2.0, "points": [[0, 0], [0, 30]]}, "on the straight street, soldiers would have to"),
    ({"couples": 3}, "unknown keys for a march: couples"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BALLROOMS)
def test_impossible_ballrooms_are_rejected(change, message):
    with pytest.raises(InvalidInput, match=message):
        settings_from("ballroom", BALL | change, "crowd.toml")


@pytest.mark.parametrize(("change", "message"), MARCHES)
def test_impossible_marches_are_rejected(change, message):
    with pytest.raises(InvalidInput, match=message):
        settings_from("march", MARCH | change, "crowd.toml")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "", "a.json: not a valid crowd description: Expecting value"),
        ("a.json", "[1]", "a crowd description must be a table of names and values"),
        ("a.json", '{"kind": "parade"}', "kind must be one of ballroom, march; got 'parade'"),
        ("a.json", json.dumps({"kind": "ballroom", "couples": -1, "tempo_bpm": 90}),
         "a.json: couples must be at least 1"),
        ("a.toml", 'kind = "ballroom"\ncouples = \n', "a.toml: not a valid .* line 2"),
        ("a.yaml", "kind: ballroom", "a crowd description must be a .toml or .json file"),
        ("none.toml", None, "not a valid crowd description: No such file"),
    ],
)  # fmt: skip
def test_files_without_a_crowd_description_are_rejected_by_name(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=message):
        load_crowd_settings(tmp_path / name)


def test_the_command_line_rejects_invalid_settings_in_one_line(tmp_path, monkeypatch, capsys):
    from motionloom.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text('kind = "ballroom"\ncouples = 500\ntempo_bpm = 90\n')
    for words in (["s.toml"], ["--couples", "-2"], ["--room", "14"], ["--top-view", "a.jpg"],
                  ["--music", "no.mid"], ["--seconds", "nan"], ["--takes", "a+b+c"],
                  ["--seconds", "36000"], ["--bvh", "s.toml"]):  # fmt: skip
        monkeypatch.setattr(sys, "argv", ["motionloom", "ballroom", *words, "-o", "out.glb"])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2, words
        assert len(capsys.readouterr().err.strip().splitlines()) == 1, words
    monkeypatch.setattr(sys, "argv", ["motionloom", "march", "s.toml", "-o", "out.glb"])
    with pytest.raises(SystemExit):
        main()
    assert "does not describe a march" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["motionloom", "march", "-o", "out.fbx"])
    with pytest.raises(SystemExit):
        main()
    assert "the suffix must be one of .glb, .gltf, .usd" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.toml"]


def test_file_names_are_relative_to_the_crowd_description(tmp_path):
    write_tune(tmp_path / "waltz.mid", meter=3, tempo_bpm=100, bars=4)
    place = tmp_path / "ball.toml"
    place.write_text(
        'kind = "ballroom"\nmusic = "waltz.mid"\ncouples = 1\nroom = "open"\n'
        'takes = ["a.bvh+b.bvh"]\n'
    )
    scene = load_crowd_settings(place)
    assert scene.floor.room is None and scene.has_takes
    assert scene.movements.takes == (f"{tmp_path / 'a.bvh'}+{tmp_path / 'b.bvh'}",)
    heard = scene.loaded_music(3)
    assert heard.bpm == pytest.approx(100.0) and heard.meter == 3
    place.write_text(
        'kind = "march"\nmusic = "tune"\npoints = [[0, 0], [0, 40]]\nlibrary = "takes.loom"\n'
        'takes = "walk_*"\n'
    )
    scene = load_crowd_settings(place)
    assert scene.movements.library == str(tmp_path / "takes.loom")
    assert scene.movements.takes == ("walk_*",)


@pytest.mark.parametrize("meter", [2, 3, 4])
def test_a_tune_is_as_long_as_the_scene_and_in_its_meter(meter):
    scene = BallroomSettings(couples=1, music="tune", tempo_bpm=120, seconds=13.0)
    heard = scene.loaded_music(meter)
    assert heard.seconds == 13.0 and heard.meter == meter
    assert heard.beats[-1] >= 13.0 - 0.5
    np.testing.assert_allclose(np.diff(heard.beats), 0.5, atol=1e-6)


def test_two_points_are_a_straight_street_and_a_long_one_is_checked_quickly():
    scene = MarchSettings(
        points=((0, 0), (0, 12)), tempo_bpm=96, formation=Formation(ranks=2, files=1)
    )
    assert scene.street.length == pytest.approx(12.0)
    zigzag = [(40.0 * (k % 2), 60.0 * k) for k in range(100)]
    Street.through(zigzag).check_files(np.array([-1.0, 1.0]))


def wav_samples(path):
    with wave.open(str(path)) as sound:
        return np.frombuffer(sound.readframes(sound.getnframes()), np.int16) / 32768.0


def test_sound_is_counted_in_the_meter_of_the_movements(tmp_path, monkeypatch):
    beats = np.arange(0.0, 9.0, 0.6)  # librosa itself, which compiles for long, is in test_music.py
    librosa = SimpleNamespace(
        load=lambda path, **options: (wav_samples(path), 22_050),
        onset=SimpleNamespace(onset_detect=lambda **options: beats),
        beat=SimpleNamespace(beat_track=lambda **options: (100.0, beats)),
    )
    monkeypatch.setitem(sys.modules, "librosa", librosa)
    song = load_music(write_tune(tmp_path / "t.mid", meter=3, tempo_bpm=100, bars=5))
    place = write_sound(song, tmp_path / "t.wav")
    scene = BallroomSettings(couples=1, music=str(place))
    assert scene.loaded_music(3).meter == 3 and scene.loaded_music(2).meter == 2
    assert scene.loaded_music(3) is scene.loaded_music(3)  # listened to once
    still = write_sound(Music(np.zeros(0), 3, np.zeros(0, int), 2.0), tmp_path / "still.wav")
    with pytest.raises(ValueError, match="still.wav"):
        BallroomSettings(couples=1, music=str(still)).loaded_music(3)
