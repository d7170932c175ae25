"""From parameters to blend weights: sampling, interpolation, refinement, cardinal functions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import parameter_space as naive
from naive.parameter_space import interpolated_weights, is_valid
from scipy.optimize import nnls

from motionloom.errors import InvalidInput
from motionloom.parametric.parameter_space import CardinalBasis, sampled_space, valid_weights
from motionloom.parametric.weight_refinement import SAMPLES, needed_examples, refined_weights


def bent_map(examples, bend=0.4, seed=0):
    """Parameters of a blend that are not linear in the weights, but right at the examples."""
    random = np.random.default_rng(seed)
    crossed = random.normal(size=(len(examples), len(examples), examples.shape[1]))
    crossed[np.arange(len(examples)), np.arange(len(examples))] = 0.0

    def measure(weights):
        return weights @ examples + bend * np.einsum("i,j,ijd->d", weights, weights, crossed)

    return measure


@pytest.fixture(scope="module")
def kicks():
    examples = np.random.default_rng(3).uniform(-0.5, 0.5, (9, 3))
    measure = bent_map(examples, 0.1)
    return examples, measure, sampled_space(examples, measure, samples=600, delta=0.1, seed=5)


@given(count=st.integers(1, 9), delta=st.floats(0.0, 1.0), seed=st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_random_weights_are_valid(count, delta, seed):
    weights = valid_weights(count, delta, np.random.default_rng(seed))
    assert is_valid(weights, delta)


def test_samples_are_blends_of_neighbors_and_keep_their_distance(kicks):
    examples, measure, space = kicks
    assert len(space) == 9 + 600
    np.testing.assert_array_equal(space.parameters[:9], examples)
    for sample in (9, 100, 608):
        dense = space.dense([sample])[0]
        assert is_valid(dense, space.delta) and np.count_nonzero(dense) <= 4
        np.testing.assert_allclose(measure(dense), space.parameters[sample], atol=1e-12)
    gaps = np.linalg.norm(space.parameters[:, None] - space.parameters[None], axis=-1)
    assert gaps[np.triu_indices(len(gaps), 1)].min() >= 0.0127


def test_a_full_space_ends_the_sampling():
    corners = np.array([[0.0], [0.1]])
    space = sampled_space(corners, lambda weights: weights @ corners, samples=500, seed=1)
    assert 2 < len(space) < 20
    assert space.shortfall.startswith(f"{len(space) - 2} of 500 samples: the space is full")
    assert f"of {space.tried} blends were within 0.0127 (spacing)" in space.shortfall


def test_no_shortfall_is_reported_if_all_samples_are_kept(kicks):
    _, _, space = kicks
    assert space.shortfall == "" and space.tried >= 600
    alone = sampled_space([[1.0]], lambda weights: np.array([1.0]), samples=5)
    assert "there is only one example" in alone.shortfall


def test_the_nearest_are_sampled_as_in_the_paper(kicks):
    examples, measure, _ = kicks
    space = sampled_space(examples, measure, samples=80, sampling="nearest", seed=3)
    expected = naive.sampled(examples, measure, space.tried, 0.1, 0.0127, np.random.default_rng(3))
    assert len(expected) == len(space)
    np.testing.assert_allclose(space.parameters, [p for p, _ in expected])
    np.testing.assert_allclose(space.dense(np.arange(len(space))), [w for _, w in expected])


def test_similar_examples_span_nothing_unless_those_around_are_also_blended():
    # Four performers of each of two kicks: the nearest three are nearly always of one kick.
    random = np.random.default_rng(2)
    alike = np.concatenate([random.normal(place, 0.005, (4, 2)) for place in (0.0, 1.0)])

    def between(sampling):
        space = sampled_space(
            alike, lambda weights: weights @ alike, samples=200, spacing=0.0, sampling=sampling
        )
        return np.mean(np.abs(space.parameters[:, 0] - 0.5) < 0.4)

    assert between("mixed") > 0.2 and between("nearest") < 0.02


def test_redundant_examples_are_those_of_the_paper():
    rng = np.random.default_rng(6)
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    grid = np.concatenate([[[-2.0, -3.0]], grid + rng.normal(0.0, 0.02, grid.shape)])
    bent = bent_map(grid, 0.02)
    counts = []
    for tolerance in (0.05, 0.2, 0.4):
        kept = needed_examples(grid, bent, tolerance)
        assert kept == naive.needed_examples(grid, bent, tolerance, 12)
        counts.append(len(kept))
    assert counts == sorted(counts, reverse=True) and counts[-1] < counts[0] < len(grid)
    refined = needed_examples(grid, bent, 0.05, rule="refined")
    assert refined[0] == 0 and len(refined) < counts[0]


def test_the_query_is_never_redundant():
    # A departure: registration starts from the query. The paper's rule drops it here.
    line = np.array([[0.5], [0.0], [1.0], [2.5]])

    def linear(weights):
        return weights @ line

    assert naive.needed_examples(line, linear, 0.01, 12) == [1, 2, 3]
    assert needed_examples(line, linear, 0.01)[0] == 0


def test_the_same_seed_gives_the_same_samples(kicks):
    examples, measure, space = kicks
    again = sampled_space(examples, measure, samples=600, delta=0.1, seed=5)
    np.testing.assert_array_equal(again.parameters, space.parameters)


def test_interpolated_weights_are_those_of_the_equations(kicks):
    _, _, space = kicks
    dense = space.dense(np.arange(len(space)))
    for target in np.random.default_rng(1).uniform(-0.4, 0.4, (20, 3)):
        expected = interpolated_weights(target, space.parameters, dense, 12)
        np.testing.assert_allclose(space.weights_for(target), expected, atol=1e-9)


def test_a_sample_gets_its_own_weights(kicks):
    _, _, space = kicks
    np.testing.assert_allclose(space.weights_for(space.parameters[50]), space.dense([50])[0])


def test_sampling_beats_interpolating_the_examples_alone(kicks):
    examples, measure, space = kicks
    alone = sampled_space(examples, measure, samples=0)
    targets = [measure(valid_weights(9, 0.0, np.random.default_rng(s))) for s in range(40)]
    inside = [t for t in targets if np.linalg.norm(space.parameters - t, axis=1).min() < 0.05]
    assert len(inside) > 10
    sampled = [np.linalg.norm(measure(space.weights_for(t)) - t) for t in inside]
    plain = [np.linalg.norm(measure(alone.weights_for(t)) - t) for t in inside]
    assert np.median(sampled) < 0.5 * np.median(plain)


@given(
    target=st.lists(st.floats(-1e4, 1e4), min_size=3, max_size=3),
    refine=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_weights_are_valid_wherever_the_target_lies(kicks, target, refine):
    _, measure, space = kicks
    weights = space.weights_for(target)
    if refine:
        around = space.around(target, samples=SAMPLES)
        weights = refined_weights(around, target, measure).weights
    assert is_valid(weights, space.delta)


def test_refinement_reaches_targets_inside_and_approaches_those_outside(kicks):
    _, measure, space = kicks
    random = np.random.default_rng(8)
    for sample in random.choice(np.arange(9, len(space)), 30, replace=False):
        target = space.parameters[sample] + random.normal(0, 0.004, 3)
        start = space.weights_for(target)
        around = space.around(target, samples=SAMPLES)
        refined = refined_weights(around, target, measure, tolerance=1e-3)
        assert refined.error <= np.linalg.norm(measure(start) - target) + 1e-12
        assert refined.error < 0.01
    away = np.array([3.0, 0.0, 0.0])
    refined = refined_weights(space.around(away, samples=SAMPLES), away, measure)
    assert refined.error <= np.linalg.norm(space.parameters - away, axis=1).min() + 1e-9
    np.testing.assert_allclose(refined.reached, measure(refined.weights))


def test_refined_weights_stay_in_the_convex_hull_of_the_samples(kicks):
    _, measure, space = kicks
    random = np.random.default_rng(9)
    for target in random.uniform(-0.8, 0.8, (40, 3)):
        around = space.around(target, samples=SAMPLES)
        weights = refined_weights(around, target, measure, tolerance=1e-4).weights
        shares, rest = nnls(np.vstack([around.weights.T, np.ones(SAMPLES)]), [*weights, 1.0])
        assert rest < 1e-9 and abs(shares.sum() - 1.0) < 1e-9
        negative = np.minimum(around.weights, 0.0).sum(axis=1).min()
        assert np.minimum(weights, 0.0).sum() >= negative - 1e-9


def test_one_example_has_one_weight():
    space = sampled_space([[1.0, 2.0]], lambda weights: np.array([1.0, 2.0]), samples=10)
    assert len(space) == 1
    assert space.weights_for([9.0, 9.0]).tolist() == [1.0]


def test_invalid_targets_and_options_are_rejected(kicks):
    examples, measure, space = kicks
    with pytest.raises(InvalidInput, match="a target must be 3 finite numbers"):
        space.weights_for([1.0, 2.0])
    with pytest.raises(InvalidInput, match="a target must be 3 finite numbers"):
        space.weights_for([1.0, 2.0, np.nan])
    with pytest.raises(InvalidInput, match=r"delta must be between 0 and 1"):
        sampled_space(examples, measure, delta=-0.1)
    with pytest.raises(InvalidInput, match="samples and spacing must not be negative"):
        sampled_space(examples, measure, samples=-1)


def test_cardinal_functions_are_one_at_their_example_and_zero_at_the_others(kicks):
    examples, _, _ = kicks
    basis = CardinalBasis.of(examples)
    weights = np.array([basis.weights_for(example) for example in examples])
    np.testing.assert_allclose(weights, np.eye(len(examples)), atol=1e-8)
    inside = basis.weights_for(examples.mean(axis=0))
    assert abs(inside.sum() - 1.0) < 1e-9


def test_cardinal_weights_are_unbounded_away_from_the_examples(kicks):
    # Kovar & Gleicher 2004 criticize this scheme for it, so it is not the default.
    examples, _, space = kicks
    far = examples.mean(axis=0) + [2.0, 0.0, 0.0]
    assert np.abs(CardinalBasis.of(examples).weights_for(far)).max() > 1.0 + space.delta
    assert is_valid(space.weights_for(far), space.delta)


def test_examples_with_the_same_parameters_have_no_cardinal_functions():
    with pytest.raises(InvalidInput, match="examples must differ in their parameters"):
        CardinalBasis.of([[0.0, 1.0], [0.0, 1.0]])
    with pytest.raises(InvalidInput, match="a target must be 1 finite numbers"):
        CardinalBasis.of([[0.0], [1.0]]).weights_for([np.inf])


def test_an_example_is_redundant_if_it_lies_between_its_nearest_ones():
    """Blends are linear here, so two parameters are reproduced inside a triangle."""
    rng = np.random.default_rng(5)
    points = rng.uniform(size=(25, 2))
    kept = set(range(25))
    for n in range(1, 25):
        rest = sorted(kept - {n}, key=lambda k: np.linalg.norm(points[k] - points[n]))[:3]
        corners = np.vstack([points[rest].T, np.full(3, 1e3)])
        if nnls(corners, [*points[n], 1e3])[1] <= 1e-3:  # the distance from the triangle
            kept.discard(n)
    made = needed_examples(points, lambda weights: weights @ points, 1e-3, rule="nearest")
    assert made == sorted(kept) and 10 < len(kept) < 24
