"""Blends that are steered while they play."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.blending import Blend, BlendPlayer, register
from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.quality import foot_slide, joint_accelerations


@pytest.fixture(scope="module")
def kicks():
    kinds = ("front_mid", "front_high", "outside_mid", "inside_mid")
    return register([ml.demo.clip(f"kick_{kind}_right") for kind in kinds])


def test_an_undisturbed_player_plays_the_blend(kicks):
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    whole = Blend(kicks)(weights, lock_feet=False)
    played = BlendPlayer(kicks, weights, lock_feet=False).record(frames=1000)
    assert abs(len(played) - len(whole)) <= 1
    count = min(len(played), len(whole))
    gap = np.linalg.norm(played[:count].positions() - whole[:count].positions(), axis=-1)
    assert gap.max() < 0.05 and gap.mean() < 0.01


def test_one_example_alone_is_that_example(kicks):
    played = BlendPlayer(kicks, [1.0, 0.0, 0.0, 0.0], lock_feet=False).record(frames=1000)
    example = kicks.placed(0)
    assert len(played) == len(example)
    assert np.abs(played.positions() - example.positions()).max() < 1e-3


def test_changing_weights_in_the_middle_does_not_jump(kicks):
    player = BlendPlayer(kicks, [1.0, 0.0, 0.0, 0.0])
    first = player.record(frames=15)
    player.steer(weights=[0.0, 0.0, 0.5, 0.5])
    rest = player.record(frames=1000)
    steered = first + rest
    usual = max(joint_accelerations(example.motion).max() for example in kicks.examples)
    assert joint_accelerations(steered).max() < 1.5 * usual
    assert foot_slide(steered).per_contact_m < 0.01
    apex = int(Blend(kicks).frame_at(33, [0.0, 0.0, 0.5, 0.5]))
    wanted = BlendPlayer(kicks, [0.0, 0.0, 0.5, 0.5]).record(frames=1000)
    arrived = steered.role_positions(["right_ankle"])[apex, 0]
    assert np.linalg.norm(arrived - wanted.role_positions(["right_ankle"])[apex, 0]) < 0.15


def test_blocks_and_single_frames_are_the_same(kicks):
    weights = [0.5, 0.5, 0.0, 0.0]
    block = BlendPlayer(kicks, weights).read(40)
    poses = BlendPlayer(kicks, weights).frames()
    for k in range(40):
        pose = next(poses)
        np.testing.assert_array_equal(pose.rotations, block.rotations[k])
        np.testing.assert_array_equal(pose.root, block.root[k])


def test_a_played_blend_knows_its_sources(kicks):
    made = BlendPlayer(kicks, [0.5, 0.5, 0.0, 0.0]).record(frames=1000)
    assert [source.weight for source in made.provenance.sources] == pytest.approx([0.5, 0.5])
    assert all(source.end == len(made) for source in made.provenance.sources)
    assert made.provenance.sources[1].end_frame == pytest.approx(len(kicks.examples[1]), abs=0.6)


def test_weights_stay_valid_while_they_change(kicks):
    random = np.random.default_rng(3)
    player = BlendPlayer(kicks, [1.0, 0.0, 0.0, 0.0])
    while len(player.read(1)):
        weights = player.weights
        assert weights.sum() == pytest.approx(1.0)
        assert weights.min() > -0.15 and weights.max() < 1.15
        player.steer(weights=random.dirichlet(np.ones(4)))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"weights must have shape \(4,\), one per example; got \(1,\)"),
        ([0.5, 0.5, 0.5, 0.5], "weights must be finite and sum to 1; they sum to 2"),
        ([np.nan, 1, 0, 0], "weights must be finite and sum to 1; they sum to nan"),
        ([np.inf, -np.inf, 1, 0], "weights must be finite and sum to 1; they sum to nan"),
        ("half", "weights must contain one number per example; got 'half'"),
    ],
)
def test_invalid_weights_are_rejected(kicks, weights, message):
    with pytest.raises(InvalidInput, match=message):
        BlendPlayer(kicks, weights)
    player = BlendPlayer(kicks, [1.0, 0.0, 0.0, 0.0])
    with pytest.raises(InvalidInput, match=message):
        player.steer(weights=weights)


def test_an_invalid_place_is_rejected(kicks):
    with pytest.raises(InvalidInput, match="place must be three finite numbers"):
        BlendPlayer(kicks, [1.0, 0.0, 0.0, 0.0], place=(1.0, 2.0))


def test_an_ease_of_zero_is_rejected(kicks):
    with pytest.raises(InvalidInput, match="ease must be a positive time in seconds"):
        BlendPlayer(kicks, [1.0, 0.0, 0.0, 0.0], ease=0.0)
