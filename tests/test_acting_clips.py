"""Scripts on short clips of games: names of takes, loops, and results that are refused."""

from dataclasses import replace

import numpy as np
import pytest
from commands import ran
from test_loops import cycle

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.motion.rotations import quaternions as rot


@pytest.fixture
def clips(lib):
    for clip, name in (
        (cycle("jog"), "knight.glb/Run_A"),
        (cycle("walk"), "knight.glb/Walking"),
        (ml.demo.clip("punch_high_right"), "knight.glb/Cheering"),
        (ml.demo.clip("sit_stand_low")[:50], "knight.glb/Fall_Down"),
        (ml.demo.clip("march"), "knight.glb/Take 7"),
    ):
        lib.add_motion(replace(clip, name=name))
    return lib


def test_a_loop_is_played_for_as_long_as_the_script_says(clips):
    acted = clips.act("run 3 s")
    assert [row.motion for row in acted.plan] == ["knight.glb/Run_A"]
    assert acted.motion.duration == pytest.approx(3.0, abs=0.2)
    travel = np.linalg.norm(acted.motion.root[-1] - acted.motion.root[0])
    assert travel > 3.0  # it runs on, and does not jump back
    steps = np.linalg.norm(np.diff(acted.motion.root[:, [0, 2]], axis=0), axis=1)
    assert steps.max() < 2.0 * np.median(steps)
    again = clips.act(str(acted.plan[0]))  # a printed plan is a script
    assert again.motion.duration == pytest.approx(3.0, abs=0.5)


def test_names_of_takes_count(clips):
    """Nothing in these clips is captioned as cheering or falling."""
    assert clips.act("cheer").plan[0].motion == "knight.glb/Cheering"
    assert clips.act("fall down").plan[0].motion == "knight.glb/Fall_Down"
    with pytest.raises(InvalidInput, match="no motion in this library shows 'raise both arms'"):
        clips.act("raise both arms")  # raised knees are not arms


def test_the_verdict_is_always_printed(clips, tmp_path):
    done = ran("act", clips.path, "run 3 s, walk 2 s", "-o", tmp_path / "a.bvh")
    assert done.returncode == 0, done.stderr
    assert "quality: " in done.stderr + done.stdout
    assert len(ml.load(tmp_path / "a.bvh")) > 100


def test_a_few_frames_are_not_repeated_many_times(lib):
    lib.add_motion(replace(ml.demo.clip("jog")[20:34], name="Run"))
    lib.add_motion(replace(ml.demo.clip("walk"), name="Take 2"))
    with pytest.raises(InvalidInput, match="no motion in this library shows 'run 3 s'"):
        lib.act("run 3 s")


def test_segments_that_do_not_fit_are_refused_unless_they_are_named(lib):
    walk = ml.demo.clip("walk")
    upside = walk.rotations.astype(np.float64).copy()
    upside[:, 0] = rot.multiply(upside[:, 0], rot.from_axis_angle([0.0, 0.0, 1.0], np.pi))
    lib.add_motion(replace(walk, name="Walk"))
    lib.add_motion(
        replace(walk, rotations=upside, root=walk.root + [0.0, 1.2, 0.0], name="Handstand")
    )
    with pytest.raises(InvalidInput, match="no segments of this library fit together"):
        lib.act("Walk:20-60, handstand")
    assert len(lib.act("Walk:20-60, Handstand:20-60").motion) > 60
