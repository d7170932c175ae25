"""Motion graphs: found as defined, never a dead end, smooth, and on the right foot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import motion_graph as naive

import motionloom as ml
from motionloom.errors import InvalidInput, LibraryError, MotionFormatError
from motionloom.features import frame_distance
from motionloom.motion.diagnostics.quality import foot_slide
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.segment import intervals
from motionloom.motion_graph import TransitionSettings, motion_graph
from motionloom.motion_graph.artifact import read_graph
from motionloom.motion_graph.components import endless
from motionloom.motion_graph.mogra import graph_from_mogra, read_mogra, write_mogra
from motionloom.motion_graph.settings import TransitionRules
from motionloom.motion_graph.transitions.candidates import (
    TransitionCandidates,
    error_bands,
    error_function,
    pruned,
    transition_candidates,
)
from motionloom.motion_graph.transitions.foot_support import FootSupport, agreement
from motionloom.motion_graph.transitions.transitions import find_transitions, window_centers
from reproduction.kr14 import FIGURE_4_12

WALKS = ("walk", "walk_left", "walk_right", "walk_fast")


class Cells:
    """A frame distance whose grid is given."""

    name, unit = "cells", "-"

    def __init__(self, grid):
        self.table = np.asarray(grid, float)

    def matrix(self, a, b):
        return self.table[np.ix_(a[:, 0].astype(int), b[:, 0].astype(int))]


def numbers(count):
    return np.arange(count)[:, None]


@pytest.fixture(scope="module")
def walks():
    return [ml.demo.clip(name) for name in WALKS]


@pytest.fixture(scope="module")
def graph(walks):
    labels = {motion.name: ("turn" if "_l" in motion.name else "walk",) for motion in walks}
    return motion_graph(walks, labels=labels)


# --- transition candidates ----------------------------------------------------------------


def test_bands_put_together_are_the_whole(rng, monkeypatch):
    from motionloom.motion_graph.transitions import candidates as module

    grid = rng.uniform(size=(50, 50))
    grid += grid.T
    cells = Cells(grid)
    monkeypatch.setattr(module, "BAND_CELLS", 300)
    assert len(list(error_bands(cells, numbers(50), multiple=3))) > 5
    np.testing.assert_allclose(error_function(cells, numbers(50)), grid, rtol=1e-6)
    np.testing.assert_allclose(
        error_function(cells, numbers(50), numbers(40)), grid[:, :40], rtol=1e-6
    )


@pytest.mark.parametrize("size", [300, 10**6])
@pytest.mark.parametrize("method", ["sectors", "minima"])
def test_candidates_match_the_definition(rng, monkeypatch, method, size):
    from motionloom.motion_graph.transitions import candidates as module

    monkeypatch.setattr(module, "BAND_CELLS", size)
    grid = rng.uniform(size=(41, 53))
    blend, sector = 6, 7
    candidates = transition_candidates(
        Cells(grid), numbers(41), numbers(53), method=method, sector=sector, blend=blend
    )

    def allowed(i, j):
        return 3 <= i <= 41 - 3 and 3 <= j <= 53 - 3

    rule = naive.local_minima if method == "minima" else naive.sector_minima
    expected = rule(grid, allowed) if method == "minima" else rule(grid, sector, allowed)
    assert [(int(i), int(j)) for i, j in candidates.frames] == [(i, j) for i, j, _ in expected]
    assert candidates.errors == pytest.approx([error for _, _, error in expected])
    means = [naive.window_mean(grid, i, j, blend) for i, j, _ in expected]
    assert candidates.means == pytest.approx(means)


def test_a_motion_against_itself_has_no_candidates_near_the_diagonal(rng):
    grid = rng.uniform(size=(60, 60))
    grid += grid.T
    candidates = transition_candidates(Cells(grid), numbers(60), sector=10, blend=4, apart=12)
    assert len(candidates) and np.all(candidates.frames[:, 1] - candidates.frames[:, 0] >= 12)
    assert candidates.examined == 21


def test_the_three_prunings_keep_the_expected_candidates():
    frames = np.array([[10, 10], [18, 12], [40, 40], [70, 70]])
    points = TransitionCandidates(
        frames,
        np.array([1.0, 2.0, 9.0, 1.0]),
        np.array([2.0, 2.0, 9.0, 8.0]),
        frames // 15,
        examined=25,
    )
    left, counts = pruned(points, 5.0, blend=12)
    assert (counts.sectors, counts.below_threshold) == (25, 3)
    assert (counts.not_doubled, counts.alike_around) == (2, 1)
    assert left.frames.tolist() == [[10, 10]]  # of two neighbors, the one on the left
    everything, _ = pruned(points, 5.0, method="minima", blend=12)
    assert everything.frames.tolist() == [[10, 10], [18, 12]]


@pytest.mark.parametrize("seed", range(5))
def test_prunings_are_those_of_the_dissertation(seed):
    rng = np.random.default_rng(seed)
    grid = rng.uniform(size=(60, 75))
    blend, sector, threshold = 6, 8, 0.5
    candidates = transition_candidates(
        Cells(grid), numbers(60), numbers(75), sector=sector, blend=blend
    )
    minima = {
        (i // sector, j // sector): (i, j, error)
        for i, j, error in naive.sector_minima(
            grid, sector, lambda i, j: 3 <= i <= 60 - 3 and 3 <= j <= 75 - 3
        )
    }
    left, counts = pruned(candidates, threshold, blend=blend)
    steps = naive.pruned(
        minima, lambda i, j: naive.window_mean(grid, i, j, blend), threshold, blend
    )
    assert (counts.below_threshold, counts.not_doubled, counts.alike_around) == tuple(
        map(len, steps)
    )
    assert {tuple(spot) for spot in left.frames.tolist()} == {(i, j) for i, j, _ in steps[2]}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("own", [False, True])
def test_the_preset_judges_all_cells_by_the_frames_it_blends(seed, own):
    rng = np.random.default_rng(seed)
    grid = rng.uniform(size=(60, 60 if own else 75))
    grid = grid + grid.T if own else 2.0 * grid
    k, sector, threshold = 6, 8, 1.0
    second = None if own else numbers(75)
    candidates = transition_candidates(
        Cells(grid), numbers(60), second,
        sector=sector, blend=k, apart=0, window="kr14", skip_ends=False,
    )  # fmt: skip
    minima = {
        (i // sector, j // sector): (i, j, error)
        for i, j, error in naive.sector_minima(grid, sector, lambda i, j: True)
    }
    steps = naive.pruned(minima, lambda i, j: naive.blended_mean(grid, i, j, k), threshold, k)
    left, counts = pruned(candidates, threshold, blend=k)
    assert counts.sectors == 64 if own else 80
    assert (counts.below_threshold, counts.not_doubled, counts.alike_around) == tuple(
        map(len, steps)
    )
    assert {tuple(spot) for spot in left.frames.tolist()} == {(i, j) for i, j, _ in steps[2]}
    back = [naive.blended_mean(grid.T, j, i, k) for i, j in left.frames.tolist()]
    assert left.back == pytest.approx(back)


@pytest.mark.parametrize(("window", "first", "last"), [("centered", 3, 57), ("kr14", 0, 54)])
def test_ends_are_skipped_before_candidates_are_chosen(rng, window, first, last):
    grid = rng.uniform(size=(60, 75))
    some, every = (
        transition_candidates(
            Cells(grid), numbers(60), numbers(75),
            sector=8, blend=6, window=window, skip_ends=skip,
        )
        for skip in (True, False)
    )  # fmt: skip
    assert np.isfinite(some.means).all() and np.isinf(every.means).any()
    assert some.frames[:, 0].min() >= first and some.frames[:, 0].max() <= last
    assert len(every) == 80


def test_no_transition_of_the_preset_blends_frames_above_the_threshold(walks):
    jrd = frame_distance("jrd")
    settings = ml.GraphSettings.kr14(max_distance=25.0, blend_seconds=0.4, sector_seconds=0.5)
    graph = motion_graph(walks, settings)
    rows = {motion.name: jrd.prepare(motion) for motion in graph.motions}
    k, ways = graph.transitions.blend, set()
    for a, i, b, j in played(graph):
        matrix = jrd.matrix(rows[a][i : i + k], rows[b][j : j + k])
        assert np.trace(matrix) / k <= 25.0
        ways.add(a <= b)
    assert ways == {False, True}


def test_a_requested_number_of_transitions_sets_the_threshold(walks):
    foot_supports = [FootSupport.of(motion) for motion in walks]
    counts = []
    for wanted in (20.0, 60.0, 120.0):
        finding = TransitionSettings(
            per_minute=wanted, rules=TransitionRules(connect=1.0, smooth=None)
        )
        report = find_transitions(walks, frame_distance("jrd"), finding, foot_supports)
        minutes = sum(motion.duration for motion in walks) / 60.0
        counts.append(len(report.transitions) / 2 / minutes)
        assert counts[-1] >= wanted - 1.0 / minutes
    assert counts == sorted(counts)
    assert counts[0] < 40.0


# --- feet -----------------------------------------------------------------------------------


def test_feet_must_agree_and_alternate():
    def support(left, right):
        standing = np.stack([np.array(left, bool), np.array(right, bool)], axis=1)
        count = len(standing)
        strikes = sorted((a, f) for f in (0, 1) for a, _ in intervals(standing[:, f]))
        last, following = np.full(count, -1, np.int8), np.full(count, -1, np.int8)
        for start, foot in strikes:
            last[start:] = foot
        for start, foot in reversed(strikes):
            following[:start] = foot
        return FootSupport(np.repeat(standing, 2, axis=1), standing, last, following)

    walk = support([1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1])
    same, other = np.array([[1, 7], [2, 8]]), np.array([[1, 4], [4, 1]])
    assert agreement(walk, walk, same, 2).all()
    assert not agreement(walk, walk, other, 2).any()  # other feet stand
    flight = support([1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0, 0])
    assert not agreement(flight, flight, np.array([[2, 6]]), 2).any()  # in the air, wrong foot


# --- no dead ends ---------------------------------------------------------------------------

places = st.lists(
    st.tuples(
        st.tuples(st.integers(0, 3), st.integers(0, 40)),
        st.tuples(st.integers(0, 3), st.integers(0, 40)),
    ),
    max_size=25,
)


@given(places, st.integers(0, 2**31))
def test_walks_in_the_largest_component_never_end(ways, seed):
    leave = np.array([way[0] for way in ways], np.int64).reshape(-1, 2)
    enter = np.array([way[1] for way in ways], np.int64).reshape(-1, 2)
    kept = endless(leave, enter)
    size, sets = naive.endless(leave.tolist(), enter.tolist())
    assert kept.sum() == size
    if not size:
        return
    assert frozenset(np.flatnonzero(kept).tolist()) in sets
    rng = np.random.default_rng(seed)
    here = int(rng.choice(np.flatnonzero(kept)))
    for _ in range(100):
        on = kept & (leave[:, 0] == enter[here, 0]) & (leave[:, 1] >= enter[here, 1])
        assert on.any()
        here = int(rng.choice(np.flatnonzero(on)))


def test_a_graph_is_strongly_connected_and_reports_removed_motions(graph):
    transitions = graph.transitions
    assert endless(transitions.leave, transitions.enter).all()
    info = graph.info()
    assert info["motions"] == len(graph.motions)
    assert info["transitions"] == len(graph)
    assert info["nodes"] == 2 * len(graph)
    left_out = {"transitions", "motions", "footing", "abrupt", "frames", "by_hand"}
    assert set(info["removed"]) == left_out
    assert set(graph.names) | set(graph.removed.motions) == {f"{name}_p0" for name in WALKS}


# --- playing --------------------------------------------------------------------------------


def test_a_walk_is_smooth_and_its_feet_stand(graph):
    walk = graph.walk(seconds=60, seed=1)
    assert len(walk) == 1800
    quality = graph.quality(walk)
    assert len(walk.provenance.seams) > 10
    assert quality.seam_acceleration_ratio < 1.5
    assert quality.foot_slide_m < 0.015


def test_the_same_seed_gives_the_same_bytes_however_it_is_read(graph):
    whole = graph.walk(seconds=20, seed=5)
    player = graph.player(5)
    parts = [player.read(count) for count in (1, 7, 250, 42, 300)]
    pieces = np.concatenate([part.rotations for part in parts])
    np.testing.assert_array_equal(pieces, whole.rotations)
    assert not np.array_equal(graph.walk(seconds=20, seed=6).rotations, whole.rotations)


def test_provenance_names_the_frames_that_are_played(graph):
    walk = graph.player(2, lock_feet=False).record(frames=600)
    covered = np.zeros(600, int)
    for source in walk.provenance.sources:
        covered[source.start : source.end] += 1
        motion = graph.motions[graph.names.index(source.motion)]
        middle = (source.start + source.end) // 2
        if min(abs(middle - seam) for seam in walk.provenance.seams) > graph.transitions.blend:
            frame = int(source.start_frame) + middle - source.start
            same = np.abs(walk.rotations[middle, 1:] - motion.rotations[frame, 1:]).max()
            assert same < 1e-6
    assert np.all(covered == 1)


def test_the_trigger_takes_the_next_possible_transition(graph):
    calm = graph.player(3, automatic=False)
    start = calm.read(5)
    motion, frame = calm.position
    ahead = graph.departures(motion, frame)[0][0] - frame
    calm.steer(transition=True)
    after = calm.read(int(ahead) + graph.transitions.blend)
    assert len(after.seams) == 1 and len(start.seams) == 0
    assert calm.log[-1].frame == after.seams[0]


def test_without_controls_a_player_leaves_each_motion_at_the_last_departure(graph):
    player = graph.player(3, automatic=False)
    for transition_count in [None] * 5:
        while player.transition_count < 1:
            player.read(1)
        transition_count = player.log[-1]
        motion = graph.names.index(transition_count.source)
        last = graph.departures(motion, 0)[0][-1] + graph.transitions.blend // 2
        assert transition_count.source_frame == last
        player.log.clear()
        player.transition_count = 0


def test_a_label_leads_there_and_stays(graph):
    player = graph.player(1)
    player.steer(label="turn")
    player.read(300)
    sources = player.read(300).sources
    labels = [graph.labels[source.motion][0] for source in sources]
    shares = {
        label: sum(
            s.end - s.start for s, name in zip(sources, labels, strict=True) if name == label
        )
        for label in ("turn", "walk")
    }
    assert shares["turn"] > shares["walk"]
    with pytest.raises(InvalidInput, match="no motion of the graph has the label 'fly'"):
        player.steer(label="fly")
    with pytest.raises(InvalidInput, match="label must be a string; got"):
        player.steer(label=["turn"])
    with pytest.raises(InvalidInput, match="no control 'speed'"):
        player.steer(speed=2)


# --- routes ---------------------------------------------------------------------------------


def distances(walk, path):
    a, b = path[:-1], path[1:]
    way = b - a
    out = []
    for place in walk.root[:, [0, 2]].astype(float):
        share = np.clip(((place - a) * way).sum(1) / (way**2).sum(1), 0, 1)
        out.append(np.linalg.norm(a + share[:, None] * way - place, axis=1).min())
    return np.array(out)


def s_curve(length):
    s = np.linspace(0.0, 1.0, 300)
    path = np.stack([0.1 * np.sin(2 * np.pi * s), s], axis=1)
    return path * length / np.linalg.norm(np.diff(path, axis=0), axis=1).sum()


def test_a_path_is_followed(graph):
    path = s_curve(10.0)
    walk = graph.walk(path=path, seed=1)
    assert distances(walk, path).mean() < 0.1
    assert np.linalg.norm(walk.root[-1, [0, 2]] - path[-1]) < 0.3
    quality = graph.quality(walk)
    assert quality.seam_acceleration_ratio < 1.5 and quality.foot_slide_m < 0.015


@pytest.mark.slow
def test_straight_walks_are_bent_along_a_path(walks):
    straight = motion_graph([walks[0], walks[3]])
    path = s_curve(20.0)
    walk = straight.walk(path=path, seed=1)
    assert distances(walk, path).mean() < 0.15
    assert straight.quality(walk).foot_slide_m < 0.015
    turned = np.diff(walk.headings()) * walk.fps
    assert np.abs(np.convolve(turned, np.ones(30) / 30, "valid")).max() < 0.6  # never on the spot


@pytest.mark.slow
def test_a_route_that_cannot_be_walked_is_reported(walks):
    still = replace(walks[0], root=walks[0].root * np.float32([0.0, 1.0, 0.0]))
    graph = motion_graph([still])
    with pytest.raises(InvalidInput, match="no route through the graph follows the path"):
        graph.walk(path=[(0.0, 0.0), (0.0, 8.0)])


@pytest.mark.slow
def test_a_goal_is_reached_in_time(graph):
    walk = graph.walk(seconds=8.0, goal=(3.0, 8.0), seed=1)
    assert len(walk) == 240
    assert np.linalg.norm(walk.root[-1, [0, 2]] - [3.0, 8.0]) < 0.8


@pytest.mark.slow
def test_labels_along_a_timeline_are_kept(graph):
    walk = graph.walk(labels=[("turn", 4.0), ("walk", 4.0)], seed=1)
    assert len(walk) == 240
    fit = 0
    for source in walk.provenance.sources:
        wanted = "turn" if (source.start + source.end) / 2 < 120 else "walk"
        if graph.labels[source.motion][0] == wanted:
            fit += source.end - source.start
    assert fit > 0.7 * 240


def test_a_walk_starts_and_ends_with_the_requested_poses(graph):
    target = graph.transitions.target[3]
    end = (graph.names[target[0]], int(target[1]) + graph.transitions.blend)
    first = graph.transitions.source[5]
    start = (graph.names[first[0]], int(first[1]) - graph.transitions.blend)
    for seconds in (None, 12.0):
        walk = graph.walk(seconds=seconds, seed=2, start=start, end=end)
        sources = walk.provenance.sources
        assert (sources[0].motion, sources[0].start_frame) == start
        assert (sources[-1].motion, sources[-1].end_frame - 1) == end
        if seconds is not None:
            assert 6.0 < walk.duration <= 12.5


@pytest.mark.parametrize(
    ("goals", "message"),
    [
        ({"path": [[0, 0]]}, r"path must have shape \(n, 2\)"),
        ({"path": [[0, 0], [1]]}, r"path must have shape \(n, 2\)"),
        ({"path": [[0, 0], [0, 0.01]]}, "path must be longer"),
        ({"path": [[0, 0], [0, np.nan]]}, "path must contain only finite numbers"),
        ({"path": [[0, 0], [0, 5]], "seconds": 3.0}, "a walk along a path cannot have seconds"),
        (
            {"path": [[0, 0], [0, 5]], "goal": (1, 1)},
            "a path, a goal or an end pose, but only one of them",
        ),
        ({"goal": (1, 1)}, "needs a duration"),
        ({"goal": (1,), "seconds": 3.0}, "goal must be x, z"),
        ({"goal": "there", "seconds": 3.0}, "goal must be X,Z"),
        ({"goal": (1, 1), "seconds": -3.0}, "seconds must be positive; got -3"),
        ({"end": ("walk_p0", 60), "labels": [("walk", 2.0)]}, "to an end pose cannot have labels"),
        ({"end": ("walk_p0", 60), "start": ("walk_left_p0", 10**9)}, "walk_left_p0 has frames"),
        ({"end": ("walk_p0", 1)}, "no transition leads to frame 1 of walk_p0; choose a later"),
        ({"labels": [("fly", 2.0)]}, "no motion of the graph has the label 'fly'"),
        ({"labels": [("walk", -1.0)]}, "must be positive; got -1"),
        ({"labels": ["walk"]}, "a timeline must have the form LABEL:SECONDS"),
        ({"labels": []}, "at least one pair"),
        ({"start": ("fly", 3), "seconds": 3.0}, "has no motion 'fly'"),
        ({"start": "walk_p0", "seconds": 3.0}, "a frame must be written as NAME:FRAME"),
        ({"start": "walk_p0:²", "seconds": 3.0}, "a frame must be written as NAME:FRAME"),
        ({"start": "walk_p0:" + 5000 * "9", "seconds": 3.0}, "must be written as NAME:FRAME"),
        ({"start": 7, "seconds": 3.0}, "a frame must be given as \\(name, frame\\)"),
        ({"start": ("walk_p0", 10**6), "seconds": 3.0}, "walk_p0 has frames 0 to"),
        ({}, r"needs a duration; set seconds"),
        ({"seconds": -1.0}, "seconds must be positive"),
    ],
)
def test_invalid_goals_are_rejected(graph, goals, message):
    with pytest.raises(InvalidInput, match=message):
        graph.walk(**goals)


def test_a_start_pose_without_a_later_departure_is_reported(graph):
    late = len(graph.motions[1]) - 1
    with pytest.raises(InvalidInput, match=f"no route leads from {graph.names[1]}:{late}"):
        graph.walk(start=(graph.names[1], late), end=(graph.names[0], 60))


def test_a_route_search_reports_progress_and_can_be_stopped(graph):
    steps = []
    graph.walk(path=[[0, 0], [0, 5]], seed=1, progress=steps.append)
    assert len(steps) > 10 and min(steps) >= 0 and sum(steps) > 0

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graph.walk(seconds=4.0, goal=(0, 5), progress=stop)


# --- files ----------------------------------------------------------------------------------


def played(graph):
    """Motions and first blended frames of the transitions of a graph."""
    transitions, names = graph.transitions, graph.names
    start = transitions.blend // 2
    return {
        (names[a], int(i) - start, names[b], int(j) - start)
        for (a, i), (b, j) in zip(transitions.source, transitions.target, strict=True)
    }


@pytest.mark.parametrize("window", ["directed", "centered"])
def test_a_transition_file_reproduces_the_graph(graph, tmp_path, window):
    write_mogra(graph, tmp_path / "walks.mogra", window=window)
    again = graph_from_mogra(tmp_path / "walks.mogra", graph.motions, window=window)
    if window == "directed":
        assert played(again) == played(graph)
    else:  # a transition that the graph has in one direction is read in both
        assert played(graph) <= played(again)
    assert len(again.walk(seconds=5, seed=1)) == 150


def test_a_file_determines_the_blended_frames(graph, tmp_path):
    """A program that follows section 4.6 blends the same frames as the graph."""
    graph.save(tmp_path / "walks.mogra")
    k = graph.transitions.blend
    theirs = {
        (graph.names[a], *naive.blended_frames(i, j, k)[0], graph.names[b])
        for (a, b), rows in read_mogra(tmp_path / "walks.mogra").items()
        for i, j in rows.tolist()
    }
    assert {(a, i, b, j) for a, i, j, b in theirs} == played(graph)


def test_frames_are_blended_as_in_the_dissertation(walks, tmp_path):
    options = {"match_feet": False, "smooth": None, "connect": 1.0}
    graph = motion_graph(walks, TransitionSettings.of({"window": "kr14", **options}))
    graph.save(tmp_path / "walks.mogra")
    rows = read_mogra(tmp_path / "walks.mogra")
    k = graph.transitions.blend
    pairs = naive.loaded([(a, b, lines.tolist()) for (a, b), lines in rows.items()])
    names, frames = (
        graph.names,
        {name: len(m) for name, m in zip(graph.names, graph.motions, strict=True)},
    )
    expected = set()
    for a, b, i, j in pairs:
        blended = naive.blended_frames(i, j, k)
        if blended[0][1] >= 0 and blended[-1][0] < frames[names[a]]:
            expected.add((names[a], blended[0][0], names[b], blended[0][1]))
    assert played(graph) <= expected  # without dead ends
    again = graph_from_mogra(tmp_path / "walks.mogra", graph.motions)
    assert played(graph) <= played(again) <= expected
    centered = motion_graph(walks, TransitionSettings.of(options))
    assert played(centered) != played(graph)


def test_the_published_sample_is_read(tmp_path):
    """It announces eight transitions and has six."""
    (tmp_path / "sample.mogra").write_text(FIGURE_4_12)
    with pytest.warns(
        UserWarning, match="sample.mogra:1: the header announces 8 transitions, but 6"
    ):
        rows = read_mogra(tmp_path / "sample.mogra", [600, 3600, 3600])
    assert {pair: len(lines) for pair, lines in rows.items()} == {(0, 1): 6, (1, 2): 4}
    there, back = window_centers(rows[0, 1][:1], 30, "kr14")
    first = naive.blended_frames(357, 211, 30)
    assert (there[0] - 15).tolist() == list(first[0]) == [357, 182]
    assert (there[0] + 14).tolist() == list(first[-1]) == [386, 211]
    assert (back[0] - 15).tolist() == list(naive.blended_frames(211, 357, 30)[0])


def test_a_graph_with_dead_ends_plays_to_the_end_of_a_motion(walks, tmp_path):
    (tmp_path / "one.mogra").write_text("Transitions: 1 0 1\n20 30\n")
    options = {"window": "directed", "dead_ends": True}
    graph = graph_from_mogra(tmp_path / "one.mogra", walks[:2], **options)
    assert graph.dead_ends and len(graph.motions) == 2
    player = graph.player(start=(graph.names[0], 0))
    walk = player.record(seconds=60.0)
    assert len(walk) == 20 + len(walks[1]) - 19  # B_19 is the first blended frame
    report = graph.player(start=(graph.names[0], 0)).save(tmp_path / "walk.bvh", 1800)
    assert report.frames == len(ml.load(tmp_path / "walk.bvh")) == len(walk)
    with pytest.raises(InvalidInput, match="no transition leaves walk_left"):
        graph.player(start=(graph.names[1], 0))


def test_the_dissertation_draws_transitions_with_equal_chances(graph):
    chosen = []
    for variety in (True, False):
        player = graph.player(5, lock_feet=False, variety=variety)
        player._uses[:] = 10_000
        player._uses[player._next] = 0
        chosen.append({player._choice() for _ in range(30)})
    assert len(chosen[0]) == 1 < len(chosen[1])
    settings = ml.WalkSettings.kr14(seconds=3, seed=5)
    walk = graph.walk(settings)
    same = graph.player(5, lock_feet=False, variety=False).record(frames=90)
    assert np.array_equal(walk.root, same.root)


def test_a_transition_file_is_read_as_written(tmp_path):
    (tmp_path / "a.mogra").write_text(
        "Transitions: 2 0 1\n357 211\n199 365\nTransitions: 1 1 2\n5 6\n"
    )
    points = read_mogra(tmp_path / "a.mogra")
    assert {pair: rows.tolist() for pair, rows in points.items()} == {
        (0, 1): [[357, 211], [199, 365]],
        (1, 2): [[5, 6]],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file has no transitions"),
        ("hello\n", ":1: expected 'Transitions: COUNT MOTION MOTION'; got 'hello'"),
        ("Transitions: 1 0 1\n3 4 5\n", ":2: expected two frames; got '3 4 5'"),
        ("3 4\n", ":1: expected 'Transitions:"),
        ("Transitions: 1 0\n3 4\n", ":1: expected Transitions: COUNT MOTION MOTION"),
        ("Transitions: 1 0 1\n3 x\n", ":2: expected two frames; got '3 x'"),
        ("Transitions: 1 0 1\n3 -4\n", ":2: expected two frames"),
        ("Transitions: 1 0 7\n3 4\n", ":1: motion 7 does not exist; the graph has 2"),
        ("Transitions: 1 0 1\n3 90\n", ":2: frame 90 is beyond the end of motion 1"),
        ("Transitions: 99999999999999999999 0 1\n", ":1: expected"),
        (f"Transitions: 1 0 1\n{5000 * '9'} 4\n", ":2: expected two frames"),
    ],
)
def test_errors_in_transition_files_name_the_line(tmp_path, text, message):
    (tmp_path / "bad.mogra").write_text(text)
    with pytest.raises(MotionFormatError, match=f"bad.mogra.*{message}"):
        read_mogra(tmp_path / "bad.mogra", [100, 90])


def test_a_binary_file_is_rejected(tmp_path):
    (tmp_path / "bad.mogra").write_bytes(b"\x00\xff\xfe")
    with pytest.raises(MotionFormatError, match="not plain text"):
        read_mogra(tmp_path / "bad.mogra")


def test_a_graph_without_a_cycle_is_rejected(walks, tmp_path):
    short = [walk[:40] for walk in walks[:2]]
    (tmp_path / "one.mogra").write_text("Transitions: 1 0 1\n20 18\n")
    with pytest.raises(InvalidInput, match="1 transitions.*have no cycle|no cycle"):
        graph_from_mogra(tmp_path / "one.mogra", short)


@pytest.mark.parametrize(
    ("motions", "options", "message"),
    [
        (0, {}, "at least one motion; got none"),
        (1, {"max_distance": 1e-9}, "no transitions were found among 1 motions"),
        (2, {"per_minute": -1.0}, "per_minute must be greater than 0"),
        (2, {"window": "kr14"}, "window=kr14 requires match_feet to be off"),
        (2, {"window": "directed"}, "window=directed requires transitions from a file"),
        (2, {"blend_seconds": 0.0}, "blend_seconds must be greater than 0"),
        (2, {"distance": "magic"}, "no distance is called 'magic'"),
    ],
)
def test_invalid_graph_settings_are_rejected(walks, motions, options, message):
    with pytest.raises(InvalidInput, match=message):
        motion_graph(walks[:motions], TransitionSettings.of(options))


def test_a_motion_of_one_frame_has_no_transitions(walks):
    with pytest.raises(InvalidInput, match="no transitions were found among 1 motions"):
        motion_graph([walks[0][:1]])
    assert motion_graph([walks[0], replace(walks[1][:1], name="still")]).names == ("walk_p0",)


def test_motions_need_unique_names(walks):
    with pytest.raises(InvalidInput, match="'walk_p0' occurs twice"):
        motion_graph([walks[0], walks[0]])


def test_other_skeletons_and_rates_are_conformed():
    other = ml.demo.clip("walk", performer=2).resample(60)
    graph = motion_graph([ml.demo.clip("walk"), replace(other, name="other")])
    assert graph.fps == 30.0
    assert all(motion.skeleton is graph.skeleton for motion in graph.motions)


# --- with a library -------------------------------------------------------------------------


def test_a_library_keeps_its_graph_and_follows_changes(tmp_path, walks):
    import sqlite3

    lib = ml.Library.create(tmp_path / "walks.loom")
    for motion in walks[:2]:
        lib.add_motion(motion, labels=["walk"])
    graph = lib.motion_graph()
    (file,) = (tmp_path / "walks.loom" / "derived").glob("motion-graph.*/graph.sqlite")
    stamp = file.stat().st_mtime_ns
    again = lib.motion_graph()
    assert file.stat().st_mtime_ns == stamp
    np.testing.assert_array_equal(again.transitions.source, graph.transitions.source)
    np.testing.assert_allclose(again.transitions.transforms, graph.transitions.transforms)
    assert again.info() == graph.info() and again.prunings == graph.prunings
    assert again.labels[again.names[0]] == ("walk",)
    with sqlite3.connect(file) as db:
        kinds = dict(db.execute("SELECT kind, count(*) FROM edges GROUP BY kind"))
    assert kinds["blend"] == len(graph)
    lib.add_motion(walks[2])
    assert len(lib.motion_graph().prunings) == 6
    assert len(lib.motion_graph(only="walk_p0").motions) == 1
    with pytest.raises(InvalidInput, match="no motion is labeled"):
        lib.motion_graph(label="dance")


def test_a_damaged_file_of_a_graph_is_named(tmp_path, walks):
    (tmp_path / "graph.sqlite").write_text("no tables at all")
    with pytest.raises(LibraryError, match="graph.sqlite: damaged: file is not a database"):
        read_graph(tmp_path / "graph.sqlite", walks, {})


def test_a_damaged_graph_is_rebuilt(tmp_path, walks):
    lib = ml.Library.create(tmp_path / "walks.loom")
    lib.add_motion(walks[0])
    count = len(lib.motion_graph())
    (file,) = (tmp_path / "walks.loom" / "derived").glob("motion-graph.*/graph.sqlite")
    file.write_bytes(b"not a database")
    assert len(lib.motion_graph()) == count


# --- captured motion ------------------------------------------------------------------------


def strikes(standing):
    """Frames at which feet come down, and which: 0 left, 1 right; `standing` has shape (T, 2)."""
    return sorted((start, foot) for foot in (0, 1) for start, _ in intervals(standing[:, foot]))


def doubled(down, seams):
    """Steps of one foot behind the other at a seam."""
    return [
        (start, end)
        for (start, foot), (end, other) in zip(down, down[1:], strict=False)
        if foot == other and any(start - 6 <= seam <= end + 6 for seam in seams)
    ]


@pytest.mark.slow
@pytest.mark.cmu
@pytest.mark.parametrize(
    ("subject", "takes", "distance"),
    [
        ("035", ["35_01", "35_02", "35_03", "35_04"], "jrd"),
        ("035", ["35_17", "35_18", "35_19", "35_20", "35_22", "35_23"], "jrd"),
        ("007", ["07_01", "07_02", "07_03", "07_06"], "pc11"),
    ],
)
def test_no_step_is_skipped_in_captured_walks_and_jogs(cmu30, subject, takes, distance):
    graph = motion_graph(
        [ml.load(cmu30 / subject / f"{take}.bvh") for take in takes],
        TransitionSettings(distance=distance),
    )
    player = graph.player(3)
    blocks = [player.read(600) for _ in range(6)]
    planned = np.concatenate([block.contacts for block in blocks])
    seams = [seam for block in blocks for seam in block.seams]
    assert len(seams) > 50
    assert doubled(strikes(planned[:, [0, 2]] | planned[:, [1, 3]]), seams) == []
    walk = graph.walk(seconds=120, seed=3)
    quality = graph.quality(walk)
    assert quality.seam_acceleration_ratio < 1.5
    assert quality.foot_slide_m < 0.015
    assert foot_slide(walk).contacts > 100
    if takes[0] != "35_17":  # runs stand for three frames only: too few to be certain
        contacts = walk.contacts()
        seen = np.stack([contacts.standing(side) for side in SIDES], axis=1)
        assert doubled(strikes(seen), walk.provenance.seams) == []


@pytest.mark.cmu
@pytest.mark.slow
def test_a_path_of_twenty_meters_is_followed_with_captured_walks(cmu30):
    takes = [ml.load(cmu30 / "016" / f"16_{number}.bvh") for number in range(11, 33)]
    graph = motion_graph(takes)
    path = s_curve(20.0)
    walk = graph.walk(path=path, seed=1)
    assert distances(walk, path).mean() < 0.1
    quality = graph.quality(walk)
    assert quality.seam_acceleration_ratio < 1.5 and quality.foot_slide_m < 0.015


def test_a_graph_without_transitions_cannot_be_played(graph, monkeypatch):
    monkeypatch.setattr(type(graph), "__len__", lambda self: 0)
    with pytest.raises(InvalidInput, match="the motion graph has no transitions; rebuild it"):
        graph.player(1)
