"""Match webs of near cells: almost all matches of the web of all cells, in a part of its cells."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.distance.matrix import prepared_frames
from motionloom.errors import InvalidInput
from motionloom.search import settings as search_settings
from motionloom.search.match_web import store as web_store
from motionloom.search.match_web.build import motion_web
from motionloom.search.match_web.near_cells import TILE, near_cells, near_poses
from motionloom.search.match_web.networks import useful_paths
from motionloom.search.match_web.store import WebStore
from motionloom.search.match_web.web import WebLimits, build_web
from motionloom.search.settings import WebOptions


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("near") / "takes.loom")
    for name in ("walk", "jog", "kick_front_high_right", "reach_front_high_right"):
        for performer in range(2):
            lib.add_motion(ml.demo.clip(name, performer=performer))
    lib.build_web(cells="all")
    lib.build_web(cells="near")
    return lib


def test_near_tiles_are_those_of_the_definition(rng):
    a = np.cumsum(rng.normal(size=(70, 2)), axis=0).astype(np.float32)
    b = np.cumsum(rng.normal(size=(101, 2)), axis=0).astype(np.float32)
    near = near_cells(a, [b, None], (70, [101, 7]), 3, radius=1.0)
    coarse = np.linalg.norm(a[::3, None] - b[None, ::3], axis=2) <= 1.0
    height, width = -(-coarse.shape[0] // TILE), -(-coarse.shape[1] // TILE)
    hits = {
        (r, c)
        for r in range(height)
        for c in range(width)
        if coarse[r * TILE : (r + 1) * TILE, c * TILE : (c + 1) * TILE].any()
    }
    around = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)]
    expected = np.zeros_like(near)
    for i in range(coarse.shape[0]):
        for j in range(coarse.shape[1]):
            tile = (i // TILE, j // TILE)
            expected[i, j] = any((tile[0] + r, tile[1] + c) in hits for r, c in around)
    expected[:, coarse.shape[1] :] = 1  # a motion without the joints: everything is near
    np.testing.assert_array_equal(near, expected)
    assert 0 < near[:, : coarse.shape[1]].mean() < 0.9


def test_matches_of_all_cells_are_found_among_near_ones(library):
    total = found = 0
    for entry in library.entries():
        for start in range(0, entry.frames - 30, 10):
            query = f"{entry.name}:{start}-{start + 30}"
            options = {"method": "web", "max": None, "max_distance": 0.1, "exclude_query": True}
            near = library.search(query, cells="near", **options)
            for hit in library.search(query, cells="all", **options):
                total += 1
                found += any(
                    one.motion == hit.motion
                    and min(one.end_frame, hit.end_frame) - max(one.start_frame, hit.start_frame)
                    >= 0.8 * (hit.end_frame - hit.start_frame)
                    for one in near
                )
    assert total > 50
    assert found / total >= 0.98


def test_a_web_of_near_cells_is_smaller_and_has_no_far_cell(library):
    every, near = (WebStore.of(library, WebOptions(cells=cells)) for cells in ("all", "near"))
    assert near.files.size() < 0.5 * every.files.size()
    walk, kick = "walk_p0", "kick_front_high_right_p0"
    assert len(near.web(walk, kick).cells) < 0.2 * len(every.web(walk, kick).cells)
    assert len(near.web(walk, "walk_p1").cells) > 0


def test_long_motions_in_parts_and_several_motions_give_the_same_web(library):
    names = ("walk_p0", "walk_p1", "jog_p0", "kick_front_high_right_p0")
    frames = [prepared_frames(library[name]) for name in names]
    poses = [near_poses(library[name]) for name in names]
    limits = WebLimits(near=0.1, network_seconds=0.5)
    options = {"rate": 30.0, "limits": limits}
    together = motion_web(frames[0], frames, itself=0, poses=(poses[0], poses), **options)
    assert together.chain_count
    starts = np.concatenate([[0], np.cumsum([len(one) for one in frames])])
    for k in range(len(names)):
        own = 0 if k == 0 else None
        alone = motion_web(
            frames[0], [frames[k]], itself=own, poses=(poses[0], [poses[k]]), **options
        )
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
        for one, other in zip(steps[:-1], steps[1:], strict=True):
            after.setdefault(one, []).append(other)

    def onward(path):
        yield path
        for x in after.get(path[-1], ()):
            yield from onward([*path, x])

    assert n_cells
    for start in range(len(web.cells)):
        yield from onward([start])


def test_no_match_uses_what_was_dropped(rng):
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
    assert not WebStore.of(small, WebOptions()).limits.is_near
    monkeypatch.setattr(web_store, "NEAR_FRAMES", 10)
    assert WebStore.of(small, WebOptions()).limits.is_near
    assert not WebStore.of(small, WebOptions(rules="paper")).limits.is_near
    assert not WebStore.of(small, WebOptions(distance="jrd")).limits.is_near
    small.build_web(cells="all")
    assert not WebStore.of(small, WebOptions()).limits.is_near  # it goes on as it was begun
    with pytest.raises(InvalidInput, match="cells must be all for the distance jrd; near cells"):
        WebStore.of(small, WebOptions(distance="jrd", cells="near"))
    assert f"{search_settings.NEAR_FRAMES:,}" in str(WebOptions.__dataclass_fields__["cells"])
