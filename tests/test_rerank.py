"""Where matches begin and end, and how alike they move."""

import numpy as np
import pytest

from motionloom.search.candidates import Candidate, Limits
from motionloom.search.subsequence.dtw import dtw_matches
from motionloom.search.subsequence.rerank import rerank, speeds
from tests.naive.settling import movement_distance

RATE = 30.0


def wave(count, cycles, size=1.0):
    """A cosine that begins and ends at `size`, and one that lags behind it."""
    t = np.linspace(0.0, 2 * np.pi * cycles, count)
    return np.stack([size * np.cos(t), 0.5 * size * np.sin(t), np.zeros(count)], axis=1)


def between_rests(*parts, rest=20):
    """Parts, each from standing at one place to standing there again."""
    stand = np.tile(wave(2, 1)[:1], (rest, 1))
    return np.concatenate([stand, *(piece for part in parts for piece in (part, stand))])


def second_pass(
    candidates, query, rows, rank="movement", scale=1.0, weights=None, whole=None, starts=None
):
    source, first = (query, 0) if whole is None else whole
    return rerank(
        candidates,
        query,
        rows,
        np.array([0, len(rows)]) if starts is None else starts,
        weights=weights,
        query_speed=speeds(source, first, first + len(query), 0, len(source), RATE),
        rate=RATE,
        scale=scale,
        rank=rank,
    )


def test_distances_are_those_of_the_definition(rng):
    rows = np.cumsum(rng.normal(size=(400, 6)), axis=0).astype(np.float32)
    query = rows[20:50]
    weights = rng.uniform(0.2, 2.0, 6).astype(np.float32)
    matches = dtw_matches(
        query, rows, np.array([0, 400]), weights=weights, limits=Limits(max_overlap=0.6)
    )
    better = second_pass(matches, query, rows, scale=0.7, weights=weights, whole=(rows, 20))
    assert len(better) > 2
    assert better[0].distance == pytest.approx(0.0, abs=1e-6)
    assert [match.distance for match in better] == sorted(match.distance for match in better)
    every = speeds(rows, 0, 400, 0, 400, RATE)
    for match in better:
        given = movement_distance(
            match.path.tolist(), query.tolist(), rows.tolist(), every[20:50].tolist(),
            every.tolist(), weights.tolist(), (0.15, 0.3, 0.03 / 0.7),
        )  # fmt: skip
        assert match.distance == pytest.approx(given, rel=1e-9, abs=1e-9)


def test_the_same_movement_in_another_stance_comes_before_standing_in_the_same(rng):
    move = wave(40, 1.0)
    still = np.tile(move.mean(axis=0), (40, 1)) + 0.001 * rng.normal(size=(40, 3))
    apart = move + [0.0, 0.0, 1.5]  # farther in pose than standing still is
    rows = np.concatenate([still, apart]).astype(np.float32)
    starts = np.array([0, 40, 80])
    query = move.astype(np.float32)
    plain = dtw_matches(query, rows, starts, limits=Limits(max_overlap=0.5))
    assert plain[0].start < 40
    assert second_pass(plain, query, rows, starts=starts)[0].start >= 40
    kept = second_pass(plain, query, rows, rank="distance", starts=starts)
    assert [match.distance for match in kept] == [match.distance for match in plain]


def test_repetitions_in_a_stance_that_drifts_are_found_by_their_movement():
    """Their poses have no minimum of their own."""
    waves = np.concatenate([wave(13, 1.0)[:-1]] * 8)
    rows = (waves + np.linspace(0.0, 6.0, 96)[:, None] * [0.0, 0.0, 1.0]).astype(np.float32)
    query = rows[:12]
    plain = dtw_matches(query, rows, np.array([0, 96]), limits=Limits(max_overlap=0.5))

    def found(matches):
        return sum(any(abs(match.start - at) <= 2 for match in matches) for at in range(0, 96, 12))

    assert found(plain) == 2
    assert found(second_pass(plain, query, rows, whole=(rows, 0))) == 8


def test_a_pose_held_still_is_searched_for_as_a_pose():
    query = np.zeros((20, 3), np.float32)
    near, far = np.full((30, 3), 0.05), np.full((30, 3), 0.3)
    lively = 0.2 * wave(30, 2.0)
    rows = np.concatenate([far, lively, near]).astype(np.float32)
    starts = np.array([0, 30, 60, 90])
    results = [
        Candidate(at, at + 20, 0.0, np.stack([np.arange(20), np.arange(at, at + 20)], 1))
        for at in (5, 35, 65)
    ]
    order = [match.start // 30 for match in second_pass(results, query, rows, starts=starts)]
    assert order == [2, 1, 0]


def test_matches_go_from_rest_to_rest_however_often_they_repeat():
    rows = between_rests(wave(60, 2), wave(120, 4), wave(75, 2)).astype(np.float32)
    borders = [(20, 80), (100, 220), (240, 315)]
    query = rows[10:90]  # ten frames of rest at either end
    matches = dtw_matches(
        query, rows, np.array([0, len(rows)]), limits=Limits(max_matches=6, max_overlap=0.5)
    )
    better = second_pass(matches, query, rows, whole=(rows, 10))
    for start, end in borders:
        assert any(
            abs(match.start - (start - 10)) <= 2 and abs(match.end - (end + 10)) <= 2
            for match in better
        ), (start, end)


def test_a_query_without_rest_is_not_stretched_to_rests():
    rows = between_rests(wave(240, 8)).astype(np.float32)
    query = rows[80:110]  # one wave out of eight
    matches = dtw_matches(query, rows, np.array([0, len(rows)]), limits=Limits(max_matches=8))
    better = second_pass(matches, query, rows, whole=(rows, 80))
    assert len(better) >= 6
    assert all(20 <= match.end - match.start <= 40 for match in better[:6])


def test_paths_run_on_and_from_start_to_end():
    rows = between_rests(wave(60, 2), wave(120, 4), wave(40, 2), rest=8).astype(np.float32)
    query = rows[2:74]
    matches = dtw_matches(
        query, rows, np.array([0, len(rows)]), limits=Limits(max_matches=9, max_overlap=0.5)
    )
    for match in second_pass(matches, query, rows, whole=(rows, 2)):
        assert (np.diff(match.path, axis=0) >= 0).all()
        assert sorted(set(match.path[:, 0].tolist())) == list(range(len(query)))
        assert (match.path[0, 1], match.path[-1, 1] + 1) == (match.start, match.end)
        assert 0 <= match.start < match.end <= len(rows)


def test_standing_still_leaves_no_play():
    """Where nothing happens a match keeps the query's time."""
    rows = between_rests(wave(60, 2), wave(60, 2), rest=40).astype(np.float32)
    rows += np.random.default_rng(1).normal(scale=1e-3, size=rows.shape).astype(np.float32)
    query = rows[38:102]
    matches = dtw_matches(query, rows, np.array([0, len(rows)]), limits=Limits(max_matches=2))
    better = second_pass(matches, query, rows, whole=(rows, 38))
    assert [(match.start, match.end) for match in better[:2]] == [(38, 102), (138, 202)]


def test_missing_frames_are_kept_away_from():
    rows = between_rests(wave(60, 2), wave(60, 2)).astype(np.float32)
    query = rows[20:80].copy()
    rows[125] = np.nan
    matches = dtw_matches(query, rows, np.array([0, len(rows)]), limits=Limits(max_matches=3))
    better = second_pass(matches, query, rows)
    assert all(np.isfinite(match.distance) for match in better)
    assert all(125 not in match.path[:, 1] for match in better)


@pytest.mark.parametrize("count", [2, 3, 20])
def test_short_still_and_gap_adjacent_queries_find_themselves(count):
    rows = between_rests(wave(60, 2)).astype(np.float32)
    rows[39] = np.nan
    for first in (0, 40):
        query = rows[first : first + count]
        matches = dtw_matches(query, rows, np.array([0, len(rows)]), limits=Limits(max_matches=1))
        best = second_pass(matches, query, rows, whole=(rows, first))[0]
        assert best.distance == pytest.approx(0.0, abs=1e-6)
