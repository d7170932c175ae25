"""Searching a match web: the fast search finds the same as the plain search."""

from dataclasses import replace

import numpy as np
import pytest
from naive import web_search as naive

import motionloom as ml
from motionloom.features import frame_distance
from motionloom.search.candidates import Limits
from motionloom.search.match_web.networks import web_index
from motionloom.search.match_web.sequences import web_matches
from motionloom.search.match_web.web import Web, build_web


def plain(web: Web, way: int = 0):
    """A web as lists, for the plain search."""

    def path(p):
        values = web.values[web.offsets[p] : web.offsets[p + 1]].tolist()
        pairs = web.path(p)[:, ::-1] if way else web.path(p)
        return [(i, j, value) for (i, j), value in zip(pairs.tolist(), values, strict=True)]

    chains = [path(c) for c in range(web.chain_count)]
    bridges = []
    for b in range(web.bridge_count):
        ends = []
        for cell in (web.leaves[b], web.arrives[b]):
            chain = int(np.searchsorted(web.offsets[: web.chain_count + 1], cell, "right")) - 1
            ends.append((chain, int(cell - web.offsets[chain])))
        bridges.append((*ends[0], path(web.chain_count + b), *ends[1]))
    return chains, bridges


SLOPE = 3


def random_web(seed: int, shape=(60, 80), n_chains=9, n_bridges=30) -> Web:
    """Chains and bridges anywhere, none of them degenerate; values at random."""
    rng = np.random.default_rng(seed)
    chains = []
    for _ in range(n_chains):
        path = [(int(rng.integers(0, shape[0] - 30)), int(rng.integers(0, shape[1] - 40)))]
        for _ in range(int(rng.integers(5, 40))):
            i, j = path[-1]
            step = [(1, 1), (1, 0), (0, 1)][int(rng.choice(3, p=[0.4, 0.3, 0.3]))]
            longer = [*path, (i + step[0], j + step[1])]
            if longer[-1][0] < shape[0] and longer[-1][1] < shape[1]:
                path = longer if naive.is_non_degenerate(longer, SLOPE) else path
        chains.append(path)
    offsets = np.cumsum([0] + [len(path) for path in chains])
    leaves, arrives, between = [], [], []
    while len(leaves) < n_bridges:
        c, d = rng.choice(n_chains, 2, replace=False)
        x, y = int(rng.integers(len(chains[c]))), int(rng.integers(len(chains[d])))
        here, there = np.array(chains[c][x]), np.array(chains[d][y])
        gap = there - here
        if gap.min() < 0 or gap.max() == 0 or gap.max() > 20:
            continue
        way = np.rint(np.linspace(here, there, gap.max() + 1)).astype(int)
        if not naive.is_non_degenerate(way.tolist(), SLOPE):
            continue
        way = way[1:-1]
        leaves.append(offsets[c] + x)
        arrives.append(offsets[d] + y)
        between.append([tuple(cell) for cell in way])
    paths = chains + between
    cells = np.array([cell for path in paths for cell in path], np.int32)
    return Web(
        shape, 15.0, cells, rng.random(len(cells)).astype(np.float32),
        np.cumsum([0] + [len(path) for path in paths]), n_chains,
        np.array(leaves), np.array(arrives),
    )  # fmt: skip


def taken_grid(a: str, b: str):
    distance = frame_distance("pc11")
    motions = [ml.demo.clip(name)[100:500] for name in (a, b)]
    return distance.matrix(*(distance.prepare(motion) for motion in motions))


def built(matrix) -> Web:
    return build_web(np.asarray(matrix, np.float64), rate=30.0)


WEBS = {
    **{f"any {seed}": lambda seed=seed: random_web(seed) for seed in range(6)},
    "steps": lambda: built(taken_grid("take_locomotion_p0", "take_reaches_p1")),
    "strikes": lambda: built(taken_grid("take_strikes_p0", "take_strikes_p2")),
}


@pytest.mark.parametrize("name", WEBS)
@pytest.mark.parametrize("way", [0, 1])
def test_results_equal_those_of_the_plain_search(name, way):
    web = WEBS[name]()
    assert web.chain_count > 2 and web.bridge_count > 2
    height, width = web.shape
    starts = np.array([0, height, height + width])
    index = web_index([(0, height, web)], starts, max_slope=SLOPE)
    chains, bridges = plain(web, way)
    shift = 0 if way == 0 else height
    offset = height - shift
    rng = np.random.default_rng(0)
    levels = np.quantile(web.values, [0.1, 0.4, 1.0])
    compared, degenerate = 0, 0
    for _ in range(25):
        length = int(rng.integers(4, 30))
        a = int(rng.integers(0, web.shape[way] - length))
        every = naive.match_sequences(chains, bridges, a, a + length - 1)
        degenerate += sum(not naive.is_non_degenerate(cells, SLOPE) for cells in every)
        for level in levels:
            for overlap in (0.2, 0.8):
                wanted = naive.web_matches(
                    chains, bridges, a, a + length - 1, level, overlap, SLOPE
                )
                limits = Limits(max_distance=level, max_overlap=overlap)
                matches = web_matches(index, shift + a, shift + a + length, limits)
                assert [(match.start - offset, match.end - 1 - offset) for match in matches] == [
                    match[:2] for match in wanted
                ]
                for match, (_, _, mean, cells) in zip(matches, wanted, strict=True):
                    assert match.distance == pytest.approx(mean, rel=1e-6)
                    np.testing.assert_array_equal(
                        match.path + (a, -offset), [cell[:2] for cell in cells]
                    )
                    compared += 1
    assert compared > 20
    assert degenerate > 0 or name in ("any 1", "any 2", "any 5")


def test_means_of_squares_rank_and_limit_as_in_the_paper():
    """The same sequences; the distance is the root of the mean square."""
    web = WEBS["strikes"]()
    squared = replace(web, values=web.values**2)
    height, width = web.shape
    starts = np.array([0, height, height + width])
    index = web_index([(0, height, web)], starts, squares=True)
    chains, bridges = plain(squared)
    compared = 0
    for a in range(0, height - 30, 20):
        limit = 0.3
        wanted = naive.web_matches(chains, bridges, a, a + 29, limit**2, 0.8, SLOPE)
        matches = web_matches(index, a, a + 30, Limits(max_distance=limit, max_overlap=0.8))
        assert [match.start - height for match in matches] == [first for first, *_ in wanted]
        for match, (_, _, mean, _) in zip(matches, wanted, strict=True):
            assert match.distance**2 == pytest.approx(mean, rel=1e-5)
            compared += 1
    assert compared > 10


def three_motions():
    """A web of motion 0 (20 frames) with itself, and with 1 and 2: straight chains."""
    starts = np.array([0, 20, 60, 100])

    def chain(row, column, length, value):
        steps = np.arange(length, dtype=np.int32)
        cells = np.column_stack([row + steps, column + steps]).astype(np.int32)
        return cells, np.full(length, value, np.float32)

    def web(shape, *chains):
        cells, values = (np.concatenate(part) for part in zip(*chains, strict=True))
        offsets = np.cumsum([0] + [len(item) for item, _ in chains])
        none = np.empty(0, np.int64)
        return Web(shape, 30.0, cells, values, offsets, len(chains), none, none)

    pieces = [
        (0, 20, web((20, 40), chain(0, 0, 20, 0.3), chain(0, 5, 20, 0.1), chain(0, 19, 20, 0.2))),
        (0, 60, web((20, 40), chain(2, 3, 10, 0.1))),
        (0, 0, web((20, 20), chain(0, 8, 12, 0.4))),
    ]
    return web_index(pieces, starts)


def ranges(index, start, end, **options):
    allowed = options.pop("allowed", None)
    limits = Limits(**{"max_distance": 1.0, "max_overlap": 0.5} | options)
    matches = web_matches(index, start, end, limits, allowed=allowed)
    return [(match.start, match.end) for match in matches]


def test_the_nearest_of_those_that_overlap_is_kept():
    index = three_motions()
    assert ranges(index, 0, 20) == [(25, 45), (39, 59)]
    assert ranges(index, 0, 20, max_overlap=0.8) == [(25, 45), (39, 59), (20, 40)]
    assert ranges(index, 0, 20, max_distance=0.15) == [(25, 45)]
    assert ranges(index, 0, 20, max_matches=1) == [(25, 45)]
    assert ranges(index, 0, 20, occupied=[(24, 50)]) == []
    assert ranges(index, 0, 20, max_distance=0.0) == []


def test_a_pair_of_motions_is_read_both_ways():
    index = three_motions()
    assert ranges(index, 2, 10) == [(27, 35), (63, 71), (41, 49), (22, 30), (10, 18)]
    assert ranges(index, 63, 71) == [(2, 10)]
    assert ranges(index, 10, 18) == [(35, 43), (49, 57), (30, 38), (2, 10)]


def test_only_allowed_motions_and_lengths_are_searched():
    index = three_motions()
    assert ranges(index, 2, 10, allowed=np.array([False, False, True])) == [(63, 71)]
    assert ranges(index, 2, 10, allowed=np.array([True, False, False])) == [(10, 18)]
    assert ranges(index, 2, 10, durations=(0.0, 0.9)) == []


def test_a_query_that_no_path_spans_has_no_match():
    index = three_motions()
    assert ranges(index, 63, 80) == []
    empty = web_index([], np.array([0, 50]))
    assert ranges(empty, 0, 20) == []
