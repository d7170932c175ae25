"""Scenes: characters by number and name, one frame rate."""

import pytest

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.motion import Scene


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


def test_characters_have_numbers_and_different_names(walk):
    scene = Scene([walk, walk[:40], walk.mirror()])
    assert len(scene) == 3
    assert scene[1] is scene[scene.names[1]]
    assert scene.names == ("walk_p0", "walk_p0_2", "walk_p0_3")
    assert (scene.frames, scene.fps) == (len(walk), 30.0)
    assert [len(motion) for motion in scene] == [len(walk), 40, len(walk)]


def test_reports_invalid_input(walk):
    with pytest.raises(InvalidInput, match="at least one motion"):
        Scene([])
    with pytest.raises(InvalidInput, match="share one frame rate; got .30.0, 60.0."):
        Scene([walk, walk.resample(60)])
    with pytest.raises(InvalidInput, match="2 different names"):
        Scene([walk, walk], names=["a", "a"])
    with pytest.raises(InvalidInput, match="no character 'c'.* it has a, b"):
        Scene([walk, walk], names=["a", "b"])["c"]
