"""Experiments on Tam et al. 2007 agree with the definitions and with the package."""

import numpy as np
import pytest
from naive import clips as naive

from motionloom.features.earth_mover import transport
from motionloom.search.clips.emd_signature import EmdSignatures, emd_matrix_rows
from reproduction.tz07_experiments import (
    best_flow,
    jointly_kept,
    limited_distances,
    scalar_dtw,
    synchronized_distances,
)


@pytest.fixture
def curves(rng):
    return np.cumsum(rng.normal(scale=5.0, size=(3, 24, 2, 3)), axis=1)


def test_plain_dtw_is_that_of_the_definition(curves):
    weights = np.array([0.7, 0.3])
    made = scalar_dtw(curves, weights, 3)
    rows = (curves * np.sqrt(weights)[:, None]).reshape(3, 24, 6)
    for a, b in ((1, 0), (2, 0), (2, 1)):
        truth = naive.banded_dtw(rows[a].tolist(), rows[b].tolist(), 3) / np.sqrt(24)
        assert made[a, b] == made[b, a] == pytest.approx(truth)


def test_a_single_joint_is_always_synchronized(curves):
    one = np.ascontiguousarray(curves[:, :, :1])
    made = synchronized_distances(one, np.ones(1))
    for other in (1, 2):
        first, second = (one[c].transpose(1, 0, 2).tolist() for c in (0, other))
        assert made[0, other] == pytest.approx(naive.energy(first, second, [1.0], 10.0))


def test_synchronized_joints_keep_the_same_frames_and_cost_more(curves):
    kept = jointly_kept(curves[0], 10.0)
    for joint in range(2):
        assert len(kept) >= len(naive.douglas_peucker(curves[0, :, joint].tolist(), 10.0))
    weights = np.array([0.5, 0.5])
    both = synchronized_distances(curves, weights, threshold=0.0)
    alone = emd_matrix_rows(
        EmdSignatures.of(curves, threshold=0.0, perpendicular=True), weights, 0, 3,
        whole_turns=False,
    )  # fmt: skip
    lower = np.tril_indices(3, -1)
    assert (both[lower] >= alone[lower] - 1e-9).all() and (both[lower] > alone[lower]).any()


def test_a_wide_limit_changes_nothing(curves):
    weights = np.array([0.7, 0.3])
    signatures = EmdSignatures.of(curves, perpendicular=True)
    plain = emd_matrix_rows(signatures, weights, 0, 3, whole_turns=False)
    lower = np.tril_indices(3, -1)
    assert limited_distances(signatures, weights, 24)[lower] == pytest.approx(plain[lower])
    assert (limited_distances(signatures, weights, 2)[lower] >= plain[lower]).all()


def test_the_best_flow_balances_and_costs_least(rng):
    costs, supply, demand = rng.uniform(size=(4, 5)), np.full(4, 0.25), np.full(5, 0.2)
    flow = best_flow(costs, supply, demand)
    assert flow.sum(axis=1) == pytest.approx(supply) and flow.sum(axis=0) == pytest.approx(demand)
    assert (flow * costs).sum() == pytest.approx(transport(costs, supply, demand))
