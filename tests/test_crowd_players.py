"""Crowds as players: the frames of all characters, read, steered and recorded."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.blending.player import ScenePlayer
from motionloom.crowd.ballroom import BallroomPlayer, ballroom
from motionloom.crowd.built_in import march_steps, waltz_steps
from motionloom.crowd.dance_floor import DanceFloorPlayer, dance_floor
from motionloom.crowd.march import MarchPlayer, march
from motionloom.crowd.settings import BallroomSettings, DanceFloorSettings, Formation, MarchSettings
from motionloom.errors import InvalidInput

FLOOR = DanceFloorSettings(count=2, seconds=5)
GROOVE = [ml.demo.clip("dance_groove")]
BALL = BallroomSettings(couples=2, tempo_bpm=90, seconds=5)
PARADE = MarchSettings(
    points=((0, 0), (0, 9)), tempo_bpm=96, seconds=4, formation=Formation(ranks=2, files=2)
)


@pytest.mark.parametrize(
    ("player", "whole"),
    [
        (lambda: BallroomPlayer(BALL, waltz_steps()), lambda: ballroom(BALL, waltz_steps())),
        (lambda: MarchPlayer(PARADE, march_steps()), lambda: march(PARADE, march_steps())),
        (lambda: DanceFloorPlayer(GROOVE, FLOOR), lambda: dance_floor(GROOVE, FLOOR)),
    ],
)
def test_a_crowd_read_in_pieces_is_the_same(player, whole):
    made, playing = whole().scene, player()
    assert isinstance(playing, ScenePlayer) and playing.names == made.names
    pieces = [playing.read(count) for count in (1, 40, 0, 7, 500)]
    for n, motion in enumerate(made):
        root = np.concatenate([piece[n].root for piece in pieces])
        np.testing.assert_array_equal(root, motion.root)
        assert tuple(s for piece in pieces for s in piece[n].seams) == motion.provenance.seams
        assert piece_contacts(pieces, n).any()
        assert playing.quality(n, motion).line() == motion.quality.line()
    assert all(not len(block) for block in playing.read(10))  # it has ended


def piece_contacts(pieces, n):
    return np.concatenate([piece[n].contacts for piece in pieces])


def test_a_crowd_is_recorded_as_a_scene_with_provenance():
    scene = BallroomPlayer(BALL, waltz_steps()).record(seconds=3.0)
    whole = ballroom(BALL, waltz_steps()).scene
    assert scene.names == whole.names and scene.frames == 90
    for motion, other in zip(scene, whole, strict=True):
        assert motion.sources[0] == other.sources[0]
        np.testing.assert_array_equal(motion.rotations, other.rotations[:90])


def test_a_ballroom_is_steered_while_it_plays():
    faster = BallroomPlayer(BALL, waltz_steps())
    usual = BallroomPlayer(BALL, waltz_steps())
    faster.read(30)
    faster.steer(speed=0.0, facing=90.0)
    end, other = faster.read(120)[0].root, usual.read(150)[0].root[30:]
    assert not np.array_equal(end, other)
    with pytest.raises(
        InvalidInput, match="has no control 'tempo'; its controls are: speed, facing"
    ):
        faster.steer(tempo=100.0)
    with pytest.raises(InvalidInput, match="speed must be a finite number; got 'fast'"):
        faster.steer(speed="fast")
    with pytest.raises(
        InvalidInput, match="MarchPlayer has no control 'speed'; its controls are: none"
    ):
        MarchPlayer(PARADE, march_steps()).steer(speed=1.0)
    with pytest.raises(InvalidInput, match="count must be zero or more; got -1"):
        faster.read(-1)
