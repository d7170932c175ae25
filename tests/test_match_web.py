"""The match web of a matrix: chains and bridges, coarse and fine, as arrays and as bytes."""

from dataclasses import replace

import numpy as np
import pytest
from naive import alignment as naive_alignment
from naive import web as naive
from naive import web_departures as departures

import motionloom as ml
from motionloom.alignment import align_in_region, valid_region
from motionloom.errors import InvalidInput, LibraryError
from motionloom.features import distance_matrix
from motionloom.features.matrix import DistanceMatrix, prepared_frames
from motionloom.search.match_web import build as web_building
from motionloom.search.match_web.build import motion_web
from motionloom.search.match_web.encoding import decoded, encoded
from motionloom.search.match_web.refinement import corridor, refined, strides
from motionloom.search.match_web.web import WebLimits, build_web, joined
from motionloom.search.methods import WebOptions

KICKS = ("kick_front_high_right", "kick_front_low_right", "kick_side_mid_right")


def smooth(rng, shape, rounds):
    """Random matrices with ridges and basins, all values different."""
    matrix = rng.random(shape)
    for _ in range(rounds):
        matrix = (
            matrix + np.roll(matrix, 1, 0) + np.roll(matrix, 1, 1) + np.roll(matrix, (1, 1), (0, 1))
        ) / 4
    return 0.05 + (matrix - matrix.min()) / np.ptp(matrix)


# Rules of the paper; without these, the rules of docs/explanation/match-webs.md, "Departures".
PAPER = {
    "squares": True, "shared_cells": True, "second_pass": False, "extended_chains": False,
}  # fmt: skip


def naive_web(matrix, limits, rate, allowed):
    """Chains and bridges of the paper, with the departures that `limits` asks for."""
    squares = (matrix**2).tolist()
    in_row, in_column = naive_alignment.local_minima(squares, ends=limits.edge_minima)
    region = naive_alignment.valid_region(squares, in_row, in_column, limits.alpha)
    minima = {cell for cell in in_row | in_column if allowed(*cell)}
    options = {"max_slope": limits.max_slope, "least_length": limits.chain_seconds * rate}
    if limits.shared_cells:
        assert not limits.second_pass
        chains = naive.chains(squares, minima, **options)
    else:
        chains = departures.chains(squares, minima, second_pass=limits.second_pass, **options)
    bridges = naive.bridges(
        squares if limits.squares else matrix.tolist(),
        {cell for cell in region if allowed(*cell)},
        chains,
        max_slope=limits.max_slope,
        reach=limits.bridge_seconds * rate,
    )
    return chains, bridges


def assert_agrees(matrix, *, rate=10.0, itself=None, **options):
    chosen = WebLimits(**options)
    web = build_web(matrix, rate=rate, itself=itself, limits=chosen)
    least = int(chosen.chain_seconds * rate)
    allowed = (lambda i, j: True) if itself is None else (lambda i, j: j - i > least)
    chains, bridges = naive_web(matrix, chosen, rate, allowed)
    ours = [[tuple(cell) for cell in web.path(c).tolist()] for c in range(web.chain_count)]
    assert ours == chains
    results = {}
    for b in range(web.bridge_count):
        ends = [int(np.searchsorted(web.offsets[: web.chain_count + 1], end, side="right")) - 1
                for end in (web.leaves[b], web.arrives[b])]  # fmt: skip
        inner = web.path(web.chain_count + b).tolist()
        path = [web.cells[web.leaves[b]].tolist(), *inner, web.cells[web.arrives[b]].tolist()]
        results[tuple(ends)] = [tuple(cell) for cell in path]
    assert results == bridges
    assert np.array_equal(web.values, matrix[tuple(web.cells.T)].astype(np.float32))
    return web


def test_the_papers_rules_are_the_papers_web(rng):
    """All switches at the paper's side, against the reference that knows nothing else."""
    counts = np.zeros(2, int)
    for rounds in (0, 1, 2):
        matrix = smooth(rng, (13, 15), rounds)
        web = assert_agrees(matrix, bridge_seconds=0.8, chain_seconds=0.2, **PAPER)
        chains, bridges = naive.web(
            (matrix**2).tolist(), alpha=0.15, max_slope=3, least_length=2.0, reach=8.0
        )
        assert (web.chain_count, web.bridge_count) == (len(chains), len(bridges))
        counts += [web.chain_count, web.bridge_count]
    assert counts.min() > 20


@pytest.mark.parametrize("max_slope", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_random_grids_have_the_web_of_the_reference(rng, max_slope):
    counts = np.zeros(2, int)
    for rounds in (0, 1, 2, 3):
        for shape in ((12, 17), (18, 14)):
            matrix = smooth(rng, shape, rounds)
            web = assert_agrees(matrix, max_slope=max_slope, bridge_seconds=0.9, chain_seconds=0.2)
            counts += [web.chain_count, web.bridge_count]
    assert counts.min() > 20  # or else nothing was compared


@pytest.mark.parametrize("rule", ["squares", "edge_minima", "shared_cells", "second_pass"])
def test_each_departure_can_be_switched(rng, rule):
    """With the other side of one rule the web differs, and is still that of the reference."""
    options = {"bridge_seconds": 0.8, "chain_seconds": 0.15, "max_slope": 3}
    if rule == "shared_cells":
        options["second_pass"] = False  # the reference has no second pass over shared cells
    differ = 0
    for rounds in (0, 1, 2, 3, 1, 2):
        matrix = smooth(rng, (20, 20), rounds)
        ours = assert_agrees(matrix, **options)
        other = {rule: PAPER.get(rule, True)}
        papers = assert_agrees(matrix, **options | other)
        differ += ours.cells.tolist() != papers.cells.tolist()
    assert differ > 0


def test_the_preset_of_the_paper_has_none_of_our_rules():
    """And each name in `rules` adds one of them, or the open question of the borders."""
    usual, paper = (WebLimits.of(options) for options in (WebOptions(), WebOptions.kg04()))
    assert paper == replace(usual, **PAPER) and not paper.edge_minima and not usual.edge_minima
    added = {
        "separate-chains": {"shared_cells": False}, "second-pass": {"second_pass": True},
        "extended-chains": {"extended_chains": True}, "border-minima": {"edge_minima": True},
    }  # fmt: skip
    for name, rule in added.items():
        assert WebLimits.of(WebOptions.kg04(rules=name)) == replace(paper, **rule)
    whole = ml.FamilySettings.kg04()
    assert whole.max is None and whole.method == ml.MatchWeb.kg04()
    assert whole.expansion == ml.Expansion.kg04() and whole.expansion.rounds is None


def test_refined_chains_are_extended_along_minima_or_not():
    """The rule `extended_chains`: the same chains, with minima before their start and end."""
    a, b = (ml.demo.clip(name).resample(30) for name in ("walk", "jog"))
    fine = distance_matrix(a, b)
    coarse = build_web(np.ascontiguousarray(fine[::3, ::3]), rate=10.0)
    columns = [np.array([0, n]) for n in (coarse.shape[1], fine.shape[1])]
    levels = (coarse, columns[0], fine, columns[1])
    webs = [
        refined(*levels, ratio=3, limits=WebLimits(extended_chains=own)) for own in (True, False)
    ]
    in_row, in_column = naive_alignment.local_minima(fine.tolist(), ends=True)
    assert webs[0].chain_count == webs[1].chain_count > 3
    added = []
    for c in range(webs[0].chain_count):
        ours, papers = ([tuple(cell) for cell in web.path(c).tolist()] for web in webs)
        start = ours.index(papers[0])
        assert ours[start : start + len(papers)] == papers
        ends = ours[:start], ours[start + len(papers) :]
        assert max(len(end) for end in ends) <= 6
        added += ends[0] + ends[1]
    assert added
    assert set(added) <= in_row | in_column


def test_bridges_have_the_smallest_mean_over_all_pairs_of_cells():
    """A bridge may leave its chain early, and pass over third chains."""
    a, b = (ml.demo.clip(name).resample(10) for name in ("kick_front_high_right", "jog"))
    matrix = distance_matrix(a, b)
    web = build_web(matrix, rate=10.0)
    region = valid_region(matrix)
    assert web.bridge_count > 5
    for n in range(web.bridge_count):
        ends = [int(np.searchsorted(web.offsets[: web.chain_count + 1], end, side="right")) - 1
                for end in (web.leaves[n], web.arrives[n])]  # fmt: skip
        means = [
            result.mean_cost
            for start in web.path(ends[0]).tolist()
            for end in web.path(ends[1]).tolist()
            if naive.is_near(start, end, 20.0)
            and (result := align_in_region(matrix, region, start=start, end=end)) is not None
        ]
        path = [web.leaves[n], *range(*web.offsets[web.chain_count + n :][:2]), web.arrives[n]]
        assert web.values[path].mean() == pytest.approx(min(means), rel=1e-5)


@pytest.mark.parametrize("alpha", [0.05, 0.15])
def test_kicks_have_the_web_of_the_reference(alpha):
    a, b = (ml.demo.clip(name).resample(10) for name in KICKS[:2])
    web = assert_agrees(distance_matrix(a, b), alpha=alpha, bridge_seconds=1.2)
    longest = np.diff(web.offsets[: web.chain_count + 1]).max()
    assert longest > 0.6 * min(len(a), len(b))


def test_a_motion_with_itself_has_the_web_of_the_reference():
    walk = ml.demo.clip("walk")[:80].resample(10)
    web = assert_agrees(distance_matrix(walk, walk), itself=0, bridge_seconds=1.0)
    assert web.chain_count > 0
    assert np.all(web.cells[:, 1] - web.cells[:, 0] > 2)  # not the trivial diagonal


@pytest.mark.cmu
def test_captured_takes_have_the_web_of_the_paper(cmu_clips):
    takes = [ml.load(path).resample(10)[:40] for path in sorted(cmu_clips.glob("*.bvh"))[:6:2]]
    chains = 0
    for a, b in [(0, 1), (1, 2), (0, 2)]:
        matrix = distance_matrix(takes[a], takes[b])
        chains += assert_agrees(matrix, bridge_seconds=0.8).chain_count
        chains += assert_agrees(matrix, bridge_seconds=0.8, **PAPER).chain_count
    assert chains > 0


def test_paths_are_time_alignments(rng):
    web = build_web(smooth(rng, (60, 70), 2), rate=10.0)
    assert web.chain_count > 50 and web.bridge_count > 50
    for p in range(len(web.offsets) - 1):
        path = web.path(p)
        if p >= web.chain_count:
            b = p - web.chain_count
            path = np.vstack([web.cells[web.leaves[b]], path, web.cells[web.arrives[b]]])
            assert np.abs(path[-1] - path[0]).sum() < 20  # two seconds
        steps = np.diff(path, axis=0)
        assert ((steps >= 0) & (steps <= 1)).all() and steps.any(axis=1).all()
        for axis in (0, 1):
            _, counts = np.unique(path[:, axis], return_counts=True)
            assert counts.max() <= 3


def test_motions_side_by_side_keep_apart():
    kick, *others = (prepared_frames(ml.demo.clip(name)) for name in (*KICKS, "walk"))
    together = motion_web(kick, others, rate=30.0)
    places = np.cumsum([0, *(len(other) for other in others)])
    alone = [motion_web(kick, [other], rate=30.0) for other in others]
    for first, last, web in zip(places, places[1:], alone, strict=False):
        assert_same(together.between(first, last), web)
    assert_same(joined(list(zip(alone, places, strict=False)), together.shape, 30.0), together)
    in_chunks = motion_web(kick, others, rate=30.0, most_cells=8000)
    assert_same(in_chunks, together)


@pytest.mark.parametrize("is_same", [True, False])
def test_long_motions_are_taken_in_parts_that_overlap(is_same, monkeypatch):
    monkeypatch.setattr(web_building, "OVERLAP_SECONDS", 1.0)
    a, b = (prepared_frames(ml.demo.clip("walk", performer=number)) for number in (0, 1))
    others, itself = ([a], 0) if is_same else ([b], None)
    whole = motion_web(a, others, rate=30.0, itself=itself)
    parts = motion_web(a, others, rate=30.0, itself=itself, most_cells=70 * 70)
    assert parts.shape == whole.shape and parts.cells.max(axis=0).max() < max(whole.shape)
    reached = np.zeros(whole.shape, bool)
    reached[tuple(parts.cells.T)] = True
    covered = []
    for c in range(whole.chain_count):
        path = whole.path(c)
        value = whole.values[whole.offsets[c] : whole.offsets[c + 1]].mean()
        if len(path) > 15 and value < 0.1:
            covered.append(reached[tuple(path.T)].mean())
    assert len(covered) > 1 and np.mean(covered) > 0.9
    if is_same:
        assert (parts.cells[:, 1] > parts.cells[:, 0]).all()
    matrix = DistanceMatrix(a, others).block()
    assert np.allclose(matrix[tuple(parts.cells.T)], parts.values, atol=1e-6)


def assert_same(a, b):
    assert (a.shape, a.rate, a.chain_count) == (b.shape, b.rate, b.chain_count)
    for name in ("cells", "values", "offsets", "leaves", "arrives"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def test_rows_and_columns_can_be_exchanged():
    a, b = (prepared_frames(ml.demo.clip(name)) for name in KICKS[:2])
    web = motion_web(a, [b], rate=30.0)
    turned = web.transposed()
    assert turned.shape == web.shape[::-1]
    assert_same(turned.transposed(), web)


# --- coarse to fine -------------------------------------------------------------------------


def test_strides_lead_from_ten_frames_a_second_to_all():
    assert strides(60.0) == (6, 3, 1)
    assert strides(120.0) == (12, 6, 3, 1)
    assert strides(30.0) == (3, 1)
    assert strides(20.0) == strides(8.0) == (1,)


@pytest.mark.parametrize("fps", [30.0, 60.0])
def test_refined_webs_are_close_to_direct_ones(fps):
    names = (*KICKS, "walk", "jog")
    frames = [prepared_frames(ml.demo.clip(name, fps=fps)) for name in names]
    covered = []
    for a in range(len(frames)):
        fine = motion_web(frames[a], frames, rate=fps, itself=a)
        direct = motion_web(frames[a], frames, rate=fps, itself=a, direct=True)
        assert fine.shape == direct.shape and fine.rate == direct.rate == fps
        reached = np.zeros(fine.shape, bool)
        for i, j in fine.cells.tolist():  # within two frames, a fifteenth of a second at most
            reached[max(i - 2, 0) : i + 3, max(j - 2, 0) : j + 3] = True
        for c in range(direct.chain_count):
            path = direct.path(c)
            value = direct.values[direct.offsets[c] : direct.offsets[c + 1]].mean()
            if len(path) < 0.5 * fps or value > 0.1:
                continue  # what matters: chains of alike motion that last
            covered.append(reached[tuple(path.T)].mean())
    assert len(covered) >= 8
    assert np.mean(covered) > 0.9 and np.min(covered) > 0.7


def test_refining_follows_a_valley_between_the_frames():
    i, j = np.mgrid[0:60, 0:90]
    matrix = 0.1 + np.abs(j - 1.4 * i - 3.7)  # a crease that no coarse cell lies on
    web = build_web(np.ascontiguousarray(matrix[::6, ::6]), rate=10.0)
    for coarse, fine in ((6, 3), (3, 1)):
        starts = [np.array([0, 90 // stride]) for stride in (coarse, fine)]
        values = np.ascontiguousarray(matrix[::fine, ::fine])  # as callers give it: one kernel
        web = refined(web, starts[0], values, starts[1], ratio=coarse // fine, limits=WebLimits())
    longest = int(np.argmax(np.diff(web.offsets[: web.chain_count + 1])))
    path = web.path(longest)
    assert len(path) > 70
    assert np.abs(path[:, 1] - 1.4 * path[:, 0] - 3.7).max() < 1.0
    assert web.rate == 60.0


@pytest.mark.parametrize("distance", ["pc11", "e15"])
def test_refining_reads_only_the_corridor(distance):
    frames = [prepared_frames(ml.demo.clip(name, fps=60.0), distance) for name in (*KICKS, "walk")]
    matrix = DistanceMatrix(frames[0], frames[1:])
    starts = {stride: matrix.sampled_starts(stride) for stride in (6, 3, 1)}
    web = build_web(matrix.sampled(6), rate=10.0, starts=starts[6])
    share = 1.0
    for coarse, fine in ((6, 3), (3, 1)):
        values = matrix.sampled(fine)
        options = {"ratio": coarse // fine, "limits": WebLimits()}
        where = corridor(web, starts[coarse], values.shape, starts[fine], **options)
        webs = []
        for unknown in (np.nan, 0.0):
            some = np.where(where, values, unknown)
            first = refined(web, starts[coarse], some, starts[fine], **options)
            webs.append(first)
        web = refined(web, starts[coarse], values, starts[fine], **options)
        assert web.chain_count > 10 and web.bridge_count > 3
        assert_same(webs[0], web)
        assert_same(webs[1], web)
        share = where.mean()
    assert share < 0.4  # of the cells at the full rate


# --- as bytes -------------------------------------------------------------------------------


def test_bytes_give_the_web_back():
    walk = prepared_frames(ml.demo.clip("walk"))
    kick = prepared_frames(ml.demo.clip(KICKS[0]))
    web = motion_web(walk, [walk, kick], rate=30.0, itself=0)
    data = encoded(web, {"row": "walk"})
    back = decoded(data)
    for name in ("cells", "offsets", "leaves", "arrives"):
        assert np.array_equal(getattr(back, name), getattr(web, name)), name
    assert np.abs(back.values - web.values).max() <= 2.51e-4
    assert len(data) < 3 * len(web.cells) + 500


def test_an_empty_web_and_large_values_have_bytes_too(rng):
    nothing = build_web(np.ones((5, 6)), rate=10.0)
    assert decoded(encoded(nothing, {})).shape == (5, 6)
    large = build_web(1e4 * smooth(rng, (30, 30), 2), rate=10.0)
    back = decoded(encoded(large, {}))
    assert np.allclose(back.values, large.values, atol=0.2)


def test_damaged_bytes_are_reported():
    data = encoded(build_web(np.ones((5, 6)), rate=10.0), {})
    for bad in (b"", b"x" * 40, data[:20], data[:-3], data[:30] + b"?" * 9 + data[39:]):
        with pytest.raises(LibraryError, match="damaged web"):
            decoded(bad)


# --- invalid input --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -0.1}, "alpha must not be negative; got -0.1"),
        ({"max_slope": 0}, "max_slope must be at least 1; got 0"),
        ({"chain_seconds": -1}, "chain_seconds must not be negative; got -1"),
        ({"bridge_seconds": float("nan")}, "bridge_seconds must not be negative; got nan"),
    ],
)
def test_invalid_options_are_reported(options, message):
    with pytest.raises(InvalidInput, match=message):
        WebLimits(**options)


def test_invalid_grids_are_reported():
    with pytest.raises(InvalidInput, match="rate must be positive; got 0"):
        build_web(np.ones((4, 4)), rate=0)
    with pytest.raises(InvalidInput, match="matrix must have at least one row"):
        build_web(np.ones(4), rate=10)
