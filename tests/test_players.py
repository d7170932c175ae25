"""All kinds of players: one protocol, one test for each of its promises."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pytest

import motionloom as ml
from motionloom.blending import BlendPlayer, Player, register
from motionloom.dance.choreography import Choreography
from motionloom.dance.dancing.dance_player import DancePlayer
from motionloom.dance.settings import ChoreographySettings
from motionloom.errors import InvalidInput
from motionloom.fat_graph import FatGraphSettings, FatPlayer, fat_graph
from motionloom.motion_graph import GraphPlayer, WalkSettings, motion_graph
from motionloom.motion_graph.walks.routes import plan
from motionloom.motion_matching import MatchingPlayer, MatchingSettings, matching_database
from motionloom.parametric.parametric_motion import ParametricPlayer, parametrize
from motionloom.parametric.settings import ParametrizeSettings
from motionloom.studio.live import RecordedPlayer
from motionloom.studio.routes.synthesis.graph import ReplayPlayer, SteeringEvent
from motionloom.studio.routes.synthesis.matching import Recording


class Kind(NamedTuple):
    """A kind of player: how to make one, always the same; what it takes, and what it refuses."""

    type: type[Player]
    make: Callable[[], Player]
    good: dict[str, Any]
    bad: dict[str, Any]
    message: str


@pytest.fixture(scope="module")
def kinds() -> dict[str, Kind]:
    sides = ("front_mid", "front_high", "outside_mid")
    kicks = register([ml.demo.clip(f"kick_{side}_right") for side in sides])
    kick = parametrize(kicks, "right_ankle@33", ParametrizeSettings(samples=10))
    walks = [ml.demo.clip(name) for name in ("walk", "walk_left", "walk_fast")]
    graph = motion_graph(walks, labels={walk.name: ("walk",) for walk in walks})
    route = plan(graph, WalkSettings(seed=1, path=[(0.0, 0.0), (0.0, 4.0)]))
    fat = fat_graph([*walks, ml.demo.clip("walk_right")], FatGraphSettings(examples=4))
    matched = matching_database(walks, MatchingSettings(mirror=False))
    steps = Choreography.from_takes([ml.demo.clip("dance_groove")], ChoreographySettings(meter=4))
    here, there = kick.accessible[:2]
    answer = [SteeringEvent(frame=5, controls={"transition": True})]
    return {
        "blend": Kind(BlendPlayer, lambda: BlendPlayer(kicks, [1, 0, 0]),
                      {"weights": [0, 0.5, 0.5]}, {"weights": [2, 0, 0]}, "sum to 1"),
        "parametric": Kind(ParametricPlayer, lambda: kick.player(here),
                           {"target": there}, {"target": [np.nan] * 3}, "3 finite numbers"),
        "graph": Kind(GraphPlayer, lambda: graph.player(3), {"transition": True},
                      {"automatic": False, "label": "swim"}, "no motion .* has the label 'swim'"),
        "route": Kind(GraphPlayer, lambda: GraphPlayer(graph, route=route), {},
                      {"transition": True}, "follows a planned route and cannot be steered"),
        "fat graph": Kind(FatPlayer, lambda: fat.player(speed=1.2), {"direction": 1.0},
                          {"direction": 1.0, "speed": -1.0}, "speed must be .* non-negative"),
        "matching": Kind(MatchingPlayer, lambda: matched.player(velocity=(0.0, 1.2)),
                         {"velocity": (1.0, 0.0)}, {"velocity": (1.0, 0.0), "speed": -1.0},
                         "speed must be a number from 0 to"),
        "dance": Kind(DancePlayer, lambda: steps.player(112.0, seed=2), {"target": (1.0, 2.0)},
                      {"tempo": 90.0, "direction": 1.0, "speed": np.nan}, "speed must be 1 finite"),
        "recorded": Kind(RecordedPlayer, lambda: RecordedPlayer(
                             matched.player(velocity=(0.0, 1.2)),
                             Recording(matched.skeleton, matched.fps)),
                         {"velocity": (1.0, 0.0)}, {"velocity": (1.0, 0.0), "speed": -1.0},
                         "speed must be a number from 0 to"),
        "replayed": Kind(ReplayPlayer, lambda: ReplayPlayer(graph.player(3), answer), {},
                         {"faster": True}, "no control 'faster'"),
    }  # fmt: skip


KINDS = (
    "blend", "parametric", "graph", "route", "fat graph", "matching", "dance", "recorded",
    "replayed",
)  # fmt: skip


@pytest.fixture(params=KINDS)
def kind(request, kinds) -> Kind:
    return kinds[request.param]


def test_every_kind_of_player_is_tested(kinds):
    for module in pkgutil.walk_packages(ml.__path__, "motionloom."):
        if ".synthesis." in module.name or ".blend." in module.name or ".studio." in module.name:
            import_module(module.name)
    assert set(kinds) == set(KINDS)
    assert _kinds_of(Player) == {kind.type for kind in kinds.values()}


def test_a_segment_has_its_frames_in_their_shapes(kind):
    player = kind.make()
    assert type(player) is kind.type
    for count in (7, 0, 12):
        segment = player.read(count)
        assert len(segment) == count
        assert segment.rotations.shape == (count, len(player.skeleton), 4)
        assert segment.root.shape == (count, 3) and segment.contacts.shape == (count, 4)
        kinds_of_number = (segment.rotations.dtype, segment.root.dtype, segment.contacts.dtype)
        assert kinds_of_number == (np.float32, np.float32, np.bool_)
    np.testing.assert_allclose(np.linalg.norm(segment.rotations, axis=-1), 1.0, atol=1e-4)


def test_frames_are_numbered_and_each_has_its_provenance(kind):
    player, played = kind.make(), 0
    for count in (5, 30, 1, 24):
        segment = player.read(count)
        assert segment.start == played
        weights = np.zeros(count)
        for source in segment.sources:
            assert played <= source.start < source.end <= played + count
            weights[source.start - played : source.end - played] += source.weight
        np.testing.assert_allclose(weights, 1.0, atol=1e-6)
        assert all(played <= seam < played + count for seam in segment.seams)
        played += count


def test_blocks_and_single_frames_are_the_same_motion(kind):
    block = kind.make().read(60)
    poses = kind.make().frames()
    for k in range(60):
        pose = next(poses)
        np.testing.assert_allclose(pose.rotations, block.rotations[k], atol=1e-6)
        np.testing.assert_allclose(pose.root, block.root[k], atol=1e-6)


def test_controls_change_later_frames_without_a_jump(kind):
    if not kind.good:
        pytest.skip("takes no controls")
    player, other = kind.make(), kind.make()
    before, after = player.read(20), other.read(20)
    np.testing.assert_array_equal(before.root, after.root)
    player.steer(**kind.good)
    answer, left_alone = player.read(40), other.read(40)
    assert not np.array_equal(answer.rotations, left_alone.rotations)
    path = np.concatenate([before.root, answer.root])
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() < 5.0 / player.fps


def test_rejected_controls_change_nothing(kind):
    player, other = kind.make(), kind.make()
    player.read(10), other.read(10)
    with pytest.raises(InvalidInput, match=kind.message):
        player.steer(**kind.bad)
    player.steer()
    np.testing.assert_array_equal(player.read(60).rotations, other.read(60).rotations)


def test_an_unknown_control_and_a_negative_count_are_rejected(kind):
    player = kind.make()
    names = ", ".join(player.controls) or "none"
    with pytest.raises(
        InvalidInput, match=f"{kind.type.__name__} has no control 'dive'; its controls are: {names}"
    ):
        player.steer(dive=1)
    with pytest.raises(InvalidInput, match="count must be zero or more; got -1"):
        player.read(-1)


def _kinds_of(base: type) -> set[type]:
    """Kinds of players that motionloom has; those of tests and examples are not counted."""
    own = {kind for kind in base.__subclasses__() if kind.__module__.startswith("motionloom.")}
    return own.union(*(_kinds_of(kind) for kind in own))
