"""Quality of motion graphs: figures of known transitions."""

from __future__ import annotations

import numpy as np
import pytest

import motionloom as ml
from motionloom.evaluation.motion_graphs import score_motion_graph
from motionloom.features import frame_distance
from motionloom.motion_graph import motion_graph
from motionloom.motion_graph.settings import TransitionRules, TransitionSettings
from motionloom.motion_graph.transitions.foot_support import FootSupport


@pytest.fixture(scope="module")
def walks():
    return [ml.demo.clip(name) for name in ("walk", "walk_left", "walk_right", "walk_fast")]


class Blind:
    """A frame distance by which all frames are alike but for chance."""

    name, unit = "blind", ""

    def prepare(self, motion):
        rng = np.random.default_rng(len(motion))
        return rng.random((len(motion), 1))

    def matrix(self, a, b):
        return np.abs(a - b.T)


def test_every_distance_has_the_same_number_of_transitions(walks):
    for name in ("jrd", "pc11", "e15"):
        score = score_motion_graph(walks, name, per_minute=40.0)
        minutes = sum(len(walk) for walk in walks) / 30.0 / 60.0
        assert score.distance == name
        assert -1.0 < score.transitions / 2 - 40.0 * minutes < 2.0
        assert score.per_minute == pytest.approx(0.5 * score.transitions / minutes)


def test_random_transitions_are_worse(walks):
    good, blind = score_motion_graph(walks, "jrd"), score_motion_graph(walks, Blind())
    assert good.acceleration < 0.8 * blind.acceleration
    assert good.high_acceleration < 0.8 * blind.high_acceleration
    assert good.slide_m_per_s < 0.2 * blind.slide_m_per_s
    assert good.skipped_steps < 0.1 < 0.3 < blind.skipped_steps


def test_coverage_alone_does_not_measure_quality(walks):
    """Transitions drawn by chance lead everywhere."""
    good, blind = score_motion_graph(walks, "jrd"), score_motion_graph(walks, Blind())
    assert blind.coverage > good.coverage


def test_figures_are_those_of_the_transitions(walks):
    settings = TransitionSettings(rules=TransitionRules(match_feet=False, smooth=None, connect=1.0))
    score = score_motion_graph(walks, "jrd", per_minute=60.0, settings=settings)
    graph = motion_graph(
        walks,
        TransitionSettings(
            distance=frame_distance("jrd"),
            rules=TransitionRules(match_feet=False, smooth=None, connect=1.0),
        ),
    )
    frames = sum(len(walk) for walk in walks)
    played = sum(len(motion) for motion in graph.motions) - graph.removed.frames
    assert score.coverage == pytest.approx(played / frames)
    assert 0.0 < score.coverage <= 1.0
    assert len(graph) <= score.transitions


def test_no_step_is_skipped_where_feet_must_agree(walks):
    assert score_motion_graph(walks, "jrd", settings=TransitionSettings()).skipped_steps == 0.0
    support = FootSupport.of(walks[0])
    assert support.last.max() == 1


def test_a_graph_without_transitions_is_rejected(walks):
    class Far(Blind):
        def matrix(self, a, b):
            return np.full((len(a), len(b)), np.nan)

    with pytest.raises(ml.InvalidInput, match="no transitions were found among 4 motions"):
        score_motion_graph(walks, Far())
