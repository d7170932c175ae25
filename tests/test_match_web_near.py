"""Match webs of near cells: almost all matches of the web of all cells, in a part of its cells."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.features.matrix import prepared_frames
from motionloom.search.match_web import store as web_store
from motionloom.search.match_web.build import motion_web
from motionloom.search.match_web.chains import bridges_between
from motionloom.search.match_web.near_cells import (
    COARSER,
    near_cells,
    window_trends,
    with_neighbors,
)
from motionloom.search.match_web.networks import useful_paths
from motionloom.search.match_web.store import WebStore
from motionloom.search.match_web.web import WebLimits, build_web
from motionloom.search.methods import WebOptions, segments


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("near") / "takes.loom")
    for name in ("walk", "jog", "kick_front_high_right", "reach_front_high_right"):
        for performer in range(2):
            lib.add_motion(ml.demo.clip(name, performer=performer))
    lib.webs.build(web=ml.WebOptions(cells="all"))
    lib.webs.build(web=ml.WebOptions(cells="near"))
    return lib


def paths_to(scores, i, j, max_slope, right=1, down=1):
    """Sums of all paths that end at a cell, straight from the definition; at most `max_slope` of
    their cells in a row or a column of the matrix follow each other."""
    yield scores[i][j]
    ways = []
    if i and j:
        ways.append(paths_to(scores, i - 1, j - 1, max_slope))
    if i and down < max_slope:
        ways.append(paths_to(scores, i - 1, j, max_slope, 1, down + 1))
    if j and right < max_slope:
        ways.append(paths_to(scores, i, j - 1, max_slope, right + 1, 1))
    for way in ways:
        yield from (item + scores[i][j] for item in way)


@pytest.mark.parametrize("max_slope", [1, 3])
def test_near_cells_are_those_of_paths_with_a_small_mean(rng, max_slope):
    seen = set()
    for _ in range(4):
        distances = rng.uniform(0.5, 2.5, size=(5, 9))
        limits = WebLimits(near=1.0 / COARSER, max_slope=max_slope)
        near = near_cells(distances.astype(np.float32), np.array([0, 4, 9]), limits)
        for first, last in ((0, 4), (4, 9)):
            scores = 1.0 - distances[:, first:last]
            turned = scores[::-1, ::-1]
            rows, columns = scores.shape
            for i in range(rows):
                for j in range(columns):
                    ahead = max(paths_to(scores, i, j, max_slope))
                    behind = max(paths_to(turned, rows - 1 - i, columns - 1 - j, max_slope))
                    own, at = scores[i, j], (i, first + j)
                    assert near.before[at] == pytest.approx(ahead - own, abs=1e-5)
                    assert near.after[at] == pytest.approx(behind - own, abs=1e-5)
                    best = ahead + behind - own
                    if abs(best) > 1e-5:
                        assert near.cells[at] == (best > 0.0)
                        seen.add(best > 0.0)
    assert seen == {True, False}


def test_squares_are_compared_with_the_square_of_the_limit(rng):
    distances = rng.uniform(0.5, 2.0, size=(8, 9)).astype(np.float32)
    near = near_cells(distances, np.array([0, 9]), WebLimits(near=1.0 / COARSER, squares=True))
    same = near_cells(distances**2, np.array([0, 9]), WebLimits(near=1.0 / COARSER))
    np.testing.assert_array_equal(near.cells, same.cells)
    assert near.limit == pytest.approx(1.0)


def test_where_nothing_is_near_there_are_no_cells():
    assert near_cells(np.ones((3, 4), np.float32), np.array([0, 4]), WebLimits(near=0.1)) is None


def test_chains_may_go_on_around_near_cells():
    distances = np.ones((32, 31), np.float32)
    distances[14, 14] = 0.0
    around = near_cells(distances, np.array([0, 31]), WebLimits(near=0.1)).around
    assert np.argwhere(around).tolist() == [[step, step] for step in range(4, 25)]


def test_minima_are_distinguished_from_adjacent_cells():
    near = np.zeros((4, 5), np.bool_)
    near[1, 1] = near[3, 4] = True
    assert with_neighbors(near).tolist() == [
        [0, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [0, 1, 0, 0, 1],
        [0, 0, 0, 1, 1],
    ]


def test_bridges_that_no_match_can_use_are_not_computed(rng):
    count = dropped = matches = 0
    for _ in range(6):
        matrix = rng.uniform(0.5, 1.5, size=(30, 28))
        matrix += 0.2 * np.abs(np.subtract.outer(np.arange(30), np.arange(28)))
        limits = WebLimits(chain_seconds=0.2, bridge_seconds=0.9, near=0.95 / COARSER)
        web = build_web(matrix, rate=10.0, limits=limits)
        if not web.chain_count:
            continue
        near = near_cells(matrix.astype(np.float32), np.array([0, 28]), limits)
        chains = (web.cells[: web.offsets[web.chain_count]], web.offsets[: web.chain_count + 1])
        region = np.ones(matrix.shape, np.bool_)
        options = {"max_slope": 3, "reach": 9.0}
        starts = np.array([0, 28])
        every = bridges_between(matrix, region, starts, *chains, **options)
        some = bridges_between(matrix, region, starts, *chains, near=near, **options)
        kept = set(zip(some.leaves.tolist(), some.arrives.tolist(), strict=True))
        for b, ends in enumerate(zip(every.leaves.tolist(), every.arrives.tolist(), strict=True)):
            own = every.cells[every.offsets[b] : every.offsets[b + 1]]
            path = np.concatenate([chains[0][list(ends)], own])
            if matrix[path[:, 0], path[:, 1]].mean() <= 0.95:  # a match by itself
                assert ends in kept
                matches += 1
        count += len(some.leaves)
        dropped += len(every.leaves) - len(some.leaves)
    assert count and dropped and matches


def test_matches_of_all_cells_are_found_among_near_ones(library):
    total = count = 0
    for entry in library.entries():
        for start in range(0, entry.frames - 30, 10):
            query = f"{entry.name}:{start}-{start + 30}"
            options = {"max": None, "max_distance": 0.1, "exclude_query": True}
            near = library.search(query, method=ml.MatchWeb(cells="near"), **options)
            for hit in library.search(query, method=ml.MatchWeb(cells="all"), **options):
                total += 1
                count += any(
                    item.motion == hit.motion
                    and min(item.end_frame, hit.end_frame) - max(item.start_frame, hit.start_frame)
                    >= 0.8 * (hit.end_frame - hit.start_frame)
                    for item in near
                )
    assert total > 50
    assert count / total >= 0.98


def test_a_web_of_near_cells_is_smaller_and_has_no_far_cell(library):
    every, near = (WebStore.of(library.store, WebOptions(cells=cells)) for cells in ("all", "near"))
    assert near.files.size() < 0.5 * every.files.size()
    walk, kick = "walk_p0", "kick_front_high_right_p0"
    assert len(near.web(walk, kick).cells) < 0.2 * len(every.web(walk, kick).cells)
    assert len(near.web(walk, "walk_p1").cells) > 0


def test_long_motions_in_parts_and_several_motions_give_the_same_web(library):
    names = ("walk_p0", "walk_p1", "jog_p0", "kick_front_high_right_p0")
    frames = [window_trends(prepared_frames(library[name])) for name in names]
    limits = WebLimits(near=0.1, network_seconds=0.5)
    options = {"rate": 30.0, "limits": limits}
    together = motion_web(frames[0], frames, itself=0, **options)
    assert together.chain_count
    starts = np.concatenate([[0], np.cumsum([len(frame) for frame in frames])])
    for k in range(len(names)):
        own = 0 if k == 0 else None
        alone = motion_web(frames[0], [frames[k]], itself=own, **options)
        part = together.between(int(starts[k]), int(starts[k + 1]))
        np.testing.assert_array_equal(part.cells, alone.cells)
        np.testing.assert_array_equal(part.leaves, alone.leaves)


def test_networks_are_chains_that_bridges_join():
    matrix = np.abs(np.subtract.outer(np.arange(40.0), np.arange(25.0))) + 1.0
    web = build_web(matrix, rate=10.0)
    assert len(useful_paths(web, 2.0, least=5.0).cells) == len(web.cells)
    assert useful_paths(web, 2.0, least=26.0).chain_count == 0
    assert useful_paths(web, 0.9).chain_count == 0


def paths_of(web):
    """All paths of a small web as lists of cells, from any cell to any later one."""
    after = {}
    n_cells = int(web.offsets[web.chain_count])
    for c in range(web.chain_count):
        for x in range(web.offsets[c], web.offsets[c + 1] - 1):
            after.setdefault(int(x), []).append(int(x) + 1)
    for b, (leave, arrive) in enumerate(zip(web.leaves, web.arrives, strict=True)):
        first, last = web.offsets[web.chain_count + b :][:2]
        steps = [int(leave), *range(first, last), int(arrive)]
        for item, other in zip(steps[:-1], steps[1:], strict=True):
            after.setdefault(item, []).append(other)

    def onward(path):
        yield path
        for x in after.get(path[-1], ()):
            yield from onward([*path, x])

    assert n_cells
    for start in range(len(web.cells)):
        yield from onward([start])


def test_no_match_uses_dropped_cells(rng):
    kept_cells = dropped = 0
    for _ in range(12):
        matrix = rng.uniform(0.5, 1.5, size=(14, 13))
        matrix += 0.4 * np.abs(np.subtract.outer(np.arange(14), np.arange(13)))
        web = build_web(matrix, rate=10.0, limits=WebLimits(chain_seconds=0.2, bridge_seconds=0.9))
        if not web.chain_count:
            continue
        kept = useful_paths(web, 1.1)
        there = {tuple(cell) for cell in kept.cells.tolist()}
        for path in paths_of(web):
            if web.values[path].astype(float).mean() <= 1.1:
                assert {tuple(cell) for cell in web.cells[path].tolist()} <= there
        kept_cells += len(kept.cells)
        dropped += len(web.cells) - len(kept.cells)
        assert set(kept.leaves.tolist()) <= set(range(int(kept.offsets[kept.chain_count])))
    assert kept_cells and dropped


def test_the_web_is_chosen_by_the_size_of_the_library(library, monkeypatch, tmp_path):
    small = ml.Library.create(tmp_path / "small.loom")
    small.add_motion(ml.demo.clip("walk"))
    assert not WebStore.of(small.store, WebOptions()).limits.is_near
    monkeypatch.setattr(web_store, "NEAR_FRAMES", 10)
    assert WebStore.of(small.store, WebOptions()).limits.is_near
    assert not WebStore.of(small.store, WebOptions(rules="paper")).limits.is_near
    assert not WebStore.of(small.store, WebOptions(distance="jrd")).limits.is_near
    small.webs.build(web=ml.WebOptions(cells="all"))
    assert not WebStore.of(small.store, WebOptions()).limits.is_near  # it goes on as it was begun
    with pytest.raises(
        InvalidInput, match="cells must be all with the distance jrd, because near cells"
    ):
        WebStore.of(small.store, WebOptions(distance="jrd", cells="near"))
    assert f"{segments.NEAR_FRAMES:,}" in str(WebOptions.__dataclass_fields__["cells"])


def test_recall_counts_segments_by_overlap(library):
    from benchmarks.recall import Counts, recall, shared

    def match(start, end):
        return library.search(f"walk_p0:{start}-{end}", max=1)[0]

    assert shared(match(0, 20), match(10, 40)) == pytest.approx(0.5)
    assert shared(match(0, 10), match(20, 40)) == 0.0
    counts = Counts()
    for other in (match(2, 22), match(9, 29), match(15, 35)):
        counts.add(match(0, 20), [other])
    assert (counts.matches, counts.matched, counts.same_place) == (3, 1, 2)
    (near,) = recall(library, np.random.default_rng(0), 0.1, queries=12)
    assert near.matches > 5 and 0.9 * near.matches <= near.matched <= near.same_place
