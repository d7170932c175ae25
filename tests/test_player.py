"""The protocol that everything endless or steerable speaks."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.blending.player import FrameBlock, Player, frame_count
from motionloom.errors import InvalidInput
from motionloom.motion import Source


class ClipPlayer(Player):
    """Plays a motion once, sideways as far as it is steered."""

    controls = ("aside",)

    def __init__(self, motion):
        self.motion, self.skeleton, self.fps = motion, motion.skeleton, motion.fps
        contacts = motion.contacts()
        self.feet = contacts.standing_parts()
        self.at, self.aside, self.reads = 0, 0.0, []

    def _read(self, count):
        self.reads.append(count)
        first, last = self.at, min(self.at + count, len(self.motion))
        self.at = last
        return FrameBlock(
            self.motion.rotations[first:last],
            self.motion.root[first:last] + np.float32([self.aside, 0, 0]),
            self.feet[first:last],
            first,
            (Source("walk", first, last, first, last),) if last > first else (),
            tuple(seam for seam in (12,) if first <= seam < last),
        )

    def _steer(self, aside):
        self.aside = aside


@pytest.fixture
def player():
    return ClipPlayer(ml.demo.clip("walk"))


def test_a_recording_is_the_same_motion_with_its_sources(player):
    motion = player.motion
    made = player.record(frames=20, name="made")
    assert made.name == "made" and len(made) == 20 and made.fps == motion.fps
    np.testing.assert_array_equal(made.rotations, motion.rotations[:20])
    assert made.provenance.sources == (Source("walk", 0, 20, 0, 20),)
    assert made.provenance.seams == (12,)


def test_a_second_recording_continues_and_counts_from_its_first_frame(player):
    player.record(frames=10)
    made = player.record(seconds=10 / player.fps)
    assert made.provenance.sources == (Source("walk", 10, 20, 0, 10),)
    assert made.provenance.seams == (2,)


def test_a_player_that_ends_returns_the_remaining_frames(player):
    assert len(player.record(frames=10_000)) == len(player.motion)
    assert len(player.record(frames=5)) == 0


def test_single_frames_follow_the_controls_between_them(player):
    places = []
    for k, pose in enumerate(player.frames()):
        assert pose.rotations.shape == (len(player.skeleton), 4)
        places.append(pose.root[0] - player.motion.root[k, 0])
        if k == 4:
            player.steer(aside=2.0)
    assert np.allclose(places[:5], 0.0) and np.allclose(places[5:], 2.0)


def test_long_plays_are_read_in_blocks_of_bounded_size(player):
    list(player.blocks(5000))
    assert max(player.reads) <= 1024


def test_an_unknown_control_is_rejected_by_name(player):
    with pytest.raises(
        InvalidInput, match="ClipPlayer has no control 'tempo'; its controls are: aside"
    ):
        player.steer(tempo=2)
    with pytest.raises(InvalidInput, match="ClipPlayer has no control 'self'"):
        player.steer(**{"self": 1})  # as a message to the studio may say


@pytest.mark.parametrize(
    ("seconds", "frames", "message"),
    [
        (None, None, "either seconds or frames"),
        (1.0, 3, "either seconds or frames"),
        (0.0, None, "at least one frame; got 0.0 seconds"),
        (float("nan"), None, "got nan seconds"),
        (float("inf"), None, "got inf seconds"),
        (None, -3, "got -3 frames"),
    ],
)
def test_an_invalid_duration_is_rejected(seconds, frames, message):
    with pytest.raises(InvalidInput, match=message):
        frame_count(seconds, frames, 30.0)
