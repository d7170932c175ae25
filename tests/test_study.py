"""The study: rank correlations between measures, on poses and on segments."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from commands import run
from naive import distance as naive
from plain_motions import snake

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.evaluation import rank_correlation as parts
from motionloom.features import DISTANCES, FEATURES, FeatureSet, frame_distance, register_distance
from motionloom.plots.pages.evaluation_report import write_rank_correlations

QUICK = {"seconds": 1.0, "queries": 40, "neighbors": 30, "ranked": 5}
SOME = ["e15", "e30", "pca8", "pc1", "quat", "wb"]


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("study") / "takes.loom")
    for performer in (0, 1):
        for action in ("walk", "kick_front_high_right", "punch_mid_right"):
            lib.add_motion(ml.demo.clip(action, performer=performer), name=f"{action}{performer}")
    lib.add_motion(snake(), name="adder")
    return lib


@pytest.fixture(scope="module")
def outcome(lib):
    return lib.study(measures=SOME, **QUICK)


def test_correlations_match_the_definition(rng):
    matrices = [rng.integers(0, 12, size=(6, 9)).astype(float) for _ in range(3)]  # with ties
    actual = parts.mean_correlations(matrices, 5)
    for a, by in enumerate(matrices):
        near = np.argpartition(by, 4, axis=1)[:, :5]
        for b, other in enumerate(matrices):
            if not all(np.ptp(matrix[i, near[i]]) for i in range(6) for matrix in (by, other)):
                continue
            expected = [naive.spearman(by[i, near[i]], other[i, near[i]]) for i in range(6)]
            assert actual[a, b] == pytest.approx(np.mean(expected), abs=1e-12)


def test_distances_without_order_correlate_with_nothing():
    flat, sloped = np.ones((2, 6)), np.tile(np.arange(6.0), (2, 1))
    np.testing.assert_allclose(parts.mean_correlations([flat, sloped], 4), [[0, 0], [0, 1]])


def test_segments_are_compared_by_warping(rng):
    measure = frame_distance("e15")
    lengths = np.array([4, 6, 3])
    table = rng.normal(size=(13, 15))
    clips = np.split(table, np.cumsum(lengths)[:-1])
    actual = parts.warped_distances(measure, table, lengths)
    for i, first in enumerate(clips):
        for j, second in enumerate(clips):
            expected = naive.dtw(measure.matrix(first, second)) if i != j else 0.0
            assert actual[i, j] == pytest.approx(expected, abs=1e-9)


def test_poses_are_ranked_among_all_frames_but_themselves(lib, outcome):
    measures = [frame_distance("e15"), frame_distance("pc1")]
    rng = np.random.default_rng(0)
    segments, rows = parts.prepared_segments(lib.store, measures, 76, 1.0, rng)
    tables = [np.concatenate(clips) for clips in rows]
    queries = np.array([17, 60, 120, 200])
    actual = parts.pose_correlations(measures, tables, queries, 30)
    matrices = [m.matrix(t[queries], t) for m, t in zip(measures, tables, strict=True)]
    expected = []
    for k, query in enumerate(queries):
        order = [near for near in np.argsort(matrices[0][k]) if near != query][:30]
        expected.append(naive.spearman(matrices[0][k, order], matrices[1][k, order]))
    assert actual[0, 1] == pytest.approx(np.mean(expected), abs=1e-9)


def test_a_measure_agrees_with_itself_and_more_with_its_like(outcome):
    assert outcome.measures == tuple(SOME)
    for table in (outcome.poses, outcome.segments):
        assert table.shape == (6, 6)
        np.testing.assert_allclose(table.diagonal(), 1.0, atol=1e-9)
        assert (np.abs(table) <= 1.0 + 1e-9).all()
    e15, e30, quat = SOME.index("e15"), SOME.index("e30"), SOME.index("quat")
    assert outcome.poses[e15, e30] > 0.7
    assert outcome.poses[e15, e30] > outcome.poses[e15, quat]


def test_the_seed_decides(lib, outcome):
    again = lib.study(measures=SOME, **QUICK)
    np.testing.assert_array_equal(again.poses, outcome.poses)
    np.testing.assert_array_equal(again.segments, outcome.segments)
    other = lib.study(measures=SOME, seed=1, **QUICK)
    assert not np.array_equal(other.poses, outcome.poses)
    assert other.clips != outcome.clips


def test_clips_are_parts_of_usable_motions(lib, outcome):
    assert all(clip.motion != "adder" for clip in outcome.clips)  # no wrists
    for clip in outcome.clips:
        assert 0 <= clip.start_frame < clip.end_frame <= len(lib[clip.motion])
        assert 0.5 < (clip.end_frame - clip.start_frame) / lib[clip.motion].fps < 1.6
    assert abs(outcome.frames - sum(c.end_frame - c.start_frame for c in outcome.clips)) <= 2
    assert len(lib.study(measures=["e15", "pc1"], clips=5, **QUICK).clips) == 5


def test_windows_look_beyond_the_edges_of_a_clip(lib):
    motion = lib["walk0"]
    segment = parts.Segment("walk0", 30, 60)
    whole = FEATURES["e15x3"].prepare(motion)[30:60]
    (rows,) = parts.segment_features(motion, segment, [FEATURES["e15x3"]])
    np.testing.assert_array_equal(rows, whole)


def test_clips_of_other_rates_are_taken_at_the_common_one():
    fast = ml.demo.clip("walk", fps=120)
    (rows,) = parts.segment_features(fast, parts.Segment("walk", 120, 240), [FEATURES["e15"]])
    np.testing.assert_allclose(rows, FEATURES["e15"].prepare(fast)[120:240:4], atol=1e-5)


class HipHeight:
    name, unit = "hip-height", "m"

    def prepare(self, motion):
        return motion.role_positions(["hips"])[:, 0, 1:2]

    def matrix(self, a, b):
        return np.abs(a - b.T)


def test_measures_of_ones_own_take_part(lib):
    register_distance(HipHeight())
    try:
        legs = FeatureSet("legs", ("left_knee", "right_knee"))
        outcome = lib.study(measures=["e15", "hip-height", legs], **QUICK)
    finally:
        del DISTANCES["hip-height"]
    assert outcome.measures == ("e15", "hip-height", "legs")


def test_table_and_picture(outcome, tmp_path):
    with open(outcome.save_csv(tmp_path / "new" / "study.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(SOME) ** 2
    assert rows[1] == {
        "compared": "poses",
        "neighbors_by": "e15",
        "ranked_by": "e30",
        "spearman": f"{outcome.poses[0, 1]:.4f}",
    }
    picture = write_rank_correlations(outcome, tmp_path / "study.png")
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert write_rank_correlations(outcome, tmp_path / "study.svg").stat().st_size > 5000


def test_the_command_writes_picture_and_table(lib, tmp_path):
    words = ["study", lib.path, "-o", tmp_path / "s.png", "--measures", "e15, pc1", "--clips", 6]
    words += ["--seconds", 1, "--queries", 10, "--neighbors", 20, "--ranked", 4]
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["measures"] == ["e15", "pc1"]
    assert np.array(answer["poses"]).shape == (2, 2)
    assert (answer["queries"], answer["neighbors"], answer["ranked"]) == (10, 20, 4)
    assert len(answer["clips"]) == 6
    for key in ("picture", "csv"):
        assert (tmp_path / answer[key]).exists()
    result = run(*words)
    assert "pc1" in result.stderr
    assert result.stdout.split() == [str(tmp_path / "s.png"), str(tmp_path / "s.csv")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measures": ["e15"]}, "at least two measures; got 1"),
        ({"measures": ["e15", "pc2"]}, "no distance is called 'pc2'"),
        ({"clips": 0}, "clips must be at least 1; got 0"),
        ({"queries": 0}, "queries must be at least 1; got 0"),
        ({"neighbors": 2}, "neighbors must be at least 3; got 2"),
        ({"seconds": 0.1}, "seconds must be at least 0.3; got 0.1"),
        ({"clips": 3}, "at least 4 clips of 1 s; got 3"),
    ],
)
def test_mistakes_are_explained(lib, options, message):
    with pytest.raises(InvalidInput, match=message):
        lib.study(**{"measures": ["e15", "pc1"], **QUICK, **options})


def test_the_command_explains_mistakes(lib, tmp_path):
    for words, message in (
        (["study", tmp_path / "nowhere.loom"], "nowhere.loom"),
        (["study", lib.path, "-o", "s.txt"], "s.txt: the suffix must be one of .png, .svg, .pdf"),
        (["study", lib.path, "--measures", "e15,zzz"], "no distance is called 'zzz'"),
    ):
        result = run(*words)
        assert isinstance(result.exception, ml.MotionloomError)
        assert message in str(result.exception)


@pytest.mark.slow
@pytest.mark.cmu
def test_findings_of_the_paper_hold_on_captured_clips(cmu_clips, tmp_path):
    lib = ml.Library.create(tmp_path / "clips.loom")
    lib.add(cmu_clips)
    names = ["e15", "e30", "e39", "e15x3", "e15x5", "pca8", "pca16", "pca25", "pc1", "pc11"]
    outcome = lib.study(measures=names, clips=40, seconds=30.0, queries=150)
    at = {name: k for k, name in enumerate(names)}
    poses, segments = outcome.poses, outcome.segments
    assert poses[at["e15x3"], at["e15x5"]] > 0.95  # "very highly correlated"
    assert poses[at["e30"], at["e39"]] > 0.9
    assert poses[at["pca16"], at["pca25"]] > 0.95
    assert poses[at["e15"], at["e30"]] > 0.8  # "highly"
    assert poses[at["pca8"], at["pca25"]] < poses[at["pca16"], at["pca25"]] - 0.05  # "strong loss"
    # Frames alike over a window are alike; the other way round less so.
    assert poses[at["e15x3"], at["e15"]] > poses[at["e15"], at["e15x3"]]
    # On segments frame-based sets and windowed ones agree more than on poses.
    assert segments[at["e15"], at["e15x3"]] > poses[at["e15"], at["e15x3"]]
