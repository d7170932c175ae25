"""Steered dances: asked speed, direction, facing and target are obtained."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.dance.beat_clock import MusicClock, TempoClock
from motionloom.dance.choreography import Choreography
from motionloom.dance.dancing.dance_player import DancePlayer
from motionloom.dance.dancing.nodes import FAR_COST, travel_weights
from motionloom.dance.music import Music
from motionloom.dance.settings import ChoreographySettings
from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.quality import foot_slide
from tests.naive.travel import best_blend


@pytest.fixture(scope="module")
def groove():
    takes = [ml.demo.clip("dance_groove", seed=seed) for seed in (0, 1)]
    return Choreography.from_takes(takes, ChoreographySettings(meter=4))


@pytest.fixture(scope="module")
def walk():
    takes = [ml.demo.clip("walk", performer=p, seed=s) for p in (0, 1) for s in (0, 1)]
    return Choreography.from_takes(takes, ChoreographySettings(meter=2))


def traveled(steps, tempo, seconds=40.0, **controls):
    """Velocity over the last five sixths of a steered dance: speed and direction."""
    player = steps.player(float(tempo), seed=1)
    player.steer(**controls)
    root = player.read(int(seconds * steps.fps)).root[:, [0, 2]].astype(float)
    begin = len(root) // 6
    x, z = (root[-1] - root[begin]) * steps.fps / (len(root) - 1 - begin)
    return np.hypot(x, z), np.arctan2(x, z)


def turned(angle):
    return abs((angle + np.pi) % (2.0 * np.pi) - np.pi)


@pytest.mark.parametrize("tempo", [60, 90, 120])
@pytest.mark.parametrize("speed", [0.1, 0.2, 0.3])
def test_a_dance_on_the_spot_travels_as_requested(groove, tempo, speed):
    for direction in (0.0, np.pi / 2.0, -2.5):
        got, way = traveled(groove, tempo, direction=direction, speed=speed)
        assert got == pytest.approx(speed, rel=0.15)
        assert turned(way - direction) < np.deg2rad(12.0)


@pytest.mark.parametrize("tempo", [60, 90, 120])
def test_a_walk_reaches_any_speed_within_the_range_of_its_takes(walk, tempo):
    strides = np.concatenate([node.travel[:, 1] for node in walk.dance_nodes])
    slowest, fastest = (length * tempo / 60.0 / 2.0 for length in (strides.min(), strides.max()))
    for speed in (slowest, 0.5 * (slowest + fastest), fastest):
        got, way = traveled(walk, tempo, direction=1.0, speed=speed)
        assert got == pytest.approx(speed, rel=0.05)
        assert turned(way - 1.0) < np.deg2rad(5.0)


def test_beyond_the_range_a_walk_keeps_its_direction(walk):
    for speed in (0.3, 3.0):
        got, way = traveled(walk, 120, direction=1.0, speed=speed)
        assert turned(way - 1.0) < np.deg2rad(10.0) and 0.7 < got < 1.7


def test_speed_alone_goes_straight_ahead_and_direction_alone_at_the_pace_of_the_takes(walk):
    got, way = traveled(walk, 90, speed=0.9)
    assert got == pytest.approx(0.9, rel=0.05) and turned(way) < 0.1
    got, _ = traveled(walk, 120, direction=1.0)
    assert got == pytest.approx(1.25, rel=0.08)


def test_a_distant_target_is_not_a_dead_end(groove, walk):
    player = groove.player(100.0, seed=1)
    player.steer(target=(400.0, 0.0))
    root = player.read(900).root
    assert root[-1, 0] - root[0, 0] > 3.0 and abs(root[-1, 2]) < 2.0
    got, way = traveled(walk, 120, target=(0.0, 1e5), speed=1.2)
    assert got == pytest.approx(1.2, rel=0.05) and turned(way) < 0.05


def test_a_target_is_reached_and_kept(walk, groove):
    player = groove.player(100.0, seed=1)
    player.steer(target=(1.5, 1.0))
    root = player.read(1200).root[:, [0, 2]]
    assert np.hypot(*(root[-300:] - [1.5, 1.0]).T).max() < 0.8


def test_the_body_faces_the_requested_direction(groove):
    for facing in (0.0, 2.0):
        player = groove.player(100.0, seed=1)
        player.steer(facing=facing, direction=0.5, speed=0.15)
        block = player.read(1200)
        motion = ml.Motion(player.skeleton, block.rotations, block.root, player.fps)
        off = motion.headings()[300:] - facing
        assert np.median(np.abs((off + np.pi) % (2.0 * np.pi) - np.pi)) < np.deg2rad(20.0)
        x, z = motion.root[-1, [0, 2]] - motion.root[300, [0, 2]]
        assert np.hypot(x, z) / 30.0 == pytest.approx(0.15, rel=0.25)


def test_the_desired_travel_follows_the_tempo_of_the_music(groove):
    player = groove.player(60.0)
    assert player.movement_seconds == pytest.approx(4.0)
    player.steer(tempo=120.0)
    assert player.movement_seconds == pytest.approx(2.0)
    song = Music(np.concatenate([np.arange(0, 10, 0.5), np.arange(10, 30, 1.0)]), 4,
                 np.arange(0, 40, 4), 30.0)  # fmt: skip
    clock = MusicClock(song)
    assert clock.period_at(4.0) == pytest.approx(0.5, rel=0.01)
    assert clock.period_at(20.0) == pytest.approx(1.0, rel=0.01)
    assert TempoClock(75.0).period_at(3.0) == pytest.approx(0.8)
    assert groove.player().movement_seconds == pytest.approx(4 * groove.period)


def test_feet_stand_while_the_dance_is_bent(groove):
    player = groove.player(100.0, seed=1)
    player.steer(direction=1.0, speed=0.3)
    block = player.read(900)
    motion = ml.Motion(player.skeleton, block.rotations, block.root, player.fps)
    assert foot_slide(motion).per_contact_m < 0.015
    assert np.linalg.norm(np.diff(motion.root, 2, axis=0), axis=1).max() * 900.0 < 25.0


def test_blocks_of_any_size_give_the_same_steered_dance(groove):
    def read(sizes):
        player = groove.player(100.0, seed=4)
        player.steer(direction=1.0, speed=0.2)
        return np.concatenate([player.read(size).root for size in sizes])

    np.testing.assert_allclose(read([200]), read([1, 3, 50, 46, 100]), atol=2e-4)


def test_cardinal_weights_are_those_of_the_movement_at_its_travel(groove):
    node = max(groove.dance_nodes, key=len)
    rows = node.weights_for(node.travel, method="cardinal")
    np.testing.assert_allclose(rows, np.eye(len(node)), atol=1e-5)
    far = node.weights_for(np.array([[40.0, 0.0, 0.0]]), method="cardinal")
    assert np.abs(far).max() < 5.0 and far.sum() == pytest.approx(1.0)
    player = DancePlayer(groove, TempoClock(100.0), blend="cardinal")
    player.steer(direction=0.0, speed=0.2)
    assert np.all(np.isfinite(player.read(300).root))


def test_weights_match_an_exhaustive_search(rng):
    travels = rng.normal(0.0, 0.4, (8, 3))
    targets = np.concatenate([rng.normal(0.0, 0.3, (12, 3)), travels[:2]])
    ours = travel_weights(travels, targets)
    assert np.all(ours >= 0.0)
    np.testing.assert_allclose(ours.sum(axis=1), 1.0)
    for target, weights in zip(targets, ours, strict=True):
        away = travels - target
        cost = np.sum((weights @ away) ** 2) + FAR_COST * weights @ np.sum(away**2, axis=1)
        _, least = best_blend(travels, target, FAR_COST)
        assert cost <= 1.03 * least + 1e-4  # tiny weights are dropped
    np.testing.assert_allclose(ours[-2:], np.eye(8)[:2], atol=1e-6)
    with pytest.raises(
        InvalidInput, match=r"the same number of columns.* got shapes \(8, 3\) and \(1, 2\)"
    ):
        travel_weights(travels, [[0.0, 1.0]])
