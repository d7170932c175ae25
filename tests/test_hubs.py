"""Correction for hubs, and the direction of travel in ``statistics``."""

import numpy as np
import pytest
from naive import clips as naive

import motionloom as ml
from motionloom.search.clips import hubs
from motionloom.search.clips.measures import clip_distances, clip_measure
from motionloom.search.clips.retrieval import clip_scales, clip_table
from motionloom.search.clips.statistics import StatisticsMeasure, clip_statistics, statistic_rows


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    """Twelve clips of several actions and performers."""
    library = ml.Library.create(tmp_path_factory.mktemp("hubs") / "takes.loom")
    names = [name for name in ml.demo.names() if "_p" in name and not name.startswith("take")]
    for name in names[:: len(names) // 12][:12]:
        clip, performer = name.rsplit("_p", 1)
        library.add_motion(ml.demo.clip(clip, performer=int(performer)), name=name)
    return library


@pytest.fixture
def correct_few(monkeypatch):
    monkeypatch.setattr(hubs, "FEWEST", 10)


def test_the_correction_is_that_of_the_paper():
    points = np.random.default_rng(3).normal(size=(40, 6))
    far = np.linalg.norm(points[:, None] - points, axis=2)
    assert hubs.corrected(far) == pytest.approx(np.array(naive.contextual_dissimilarity(far)))


def test_a_hub_is_no_longer_everywhere():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(120, 20))
    points[0] = 0.0  # the center is nearer to every point than the points are to each other
    far = np.linalg.norm(points[:, None] - points, axis=2)
    seen = [np.sum(np.argsort(d, axis=1)[:, 1:6] == 0) for d in (far, hubs.corrected(far))]
    assert seen[0] > 90
    assert seen[1] < 30


def test_copies_stay_at_distance_zero_and_scales_positive():
    far = np.abs(np.subtract.outer([0.0] * 25 + [1.0, 2.0], [0.0] * 25 + [1.0, 2.0]))
    result = hubs.corrected(far)
    assert np.isfinite(result).all()
    assert (result[:25, :25] == 0.0).all()


def test_few_clips_are_not_corrected():
    far = np.ones((hubs.FEWEST - 1, hubs.FEWEST - 1))
    assert hubs.corrected(far) is far


@pytest.mark.parametrize("method", ["statistics", "dtw-clip", "emd"])
def test_a_search_ranks_like_the_corrected_matrix(lib, method, correct_few):
    table = clip_table(lib.store, clip_measure(method))
    expected = hubs.corrected(clip_distances(table.measure, table.clips))
    query = table.names[5]
    hits = lib.search(query, method=method, max=8)
    order = np.argsort(expected[5], kind="stable")[:8]
    assert [hit.motion for hit in hits] == [table.names[c] for c in order]
    assert [hit.distance for hit in hits] == pytest.approx(expected[5, order], rel=1e-4, abs=1e-4)


def test_the_correction_can_be_switched_off(lib, correct_few):
    table = clip_table(lib.store, clip_measure("statistics"))
    plain = clip_distances(table.measure, table.clips)
    hits = lib.search(table.names[5], method=ml.ClipStatistics(hub_correction=False), max=3)
    assert [hit.distance for hit in hits] == pytest.approx(np.sort(plain[5])[:3], abs=1e-4)


def test_scales_of_unchanged_clips_are_kept(lib, tmp_path, monkeypatch):
    copy = ml.Library.create(tmp_path / "copy.loom")
    for name in lib.names:
        copy.add_motion(lib[name], name=name)
    table = clip_table(copy.store, clip_measure("statistics"))
    before = clip_scales(copy.store, table)
    monkeypatch.setattr(hubs, "SAMPLE", 12)
    names = [f"new{n}" for n in range(200)]
    last = sorted([*copy.names, *names], key=lambda n: hubs.sha256(n.encode()).digest())[-1]
    copy.add_motion(ml.demo.clip("walk"), name=last if last in names else "new")
    counted = []
    measured = hubs.scale_to
    monkeypatch.setattr(hubs, "scale_to", lambda *a, **k: counted.append(1) or measured(*a, **k))
    after = clip_scales(copy.store, clip_table(copy.store, clip_measure("statistics")))
    assert len(after) == len(before) + 1
    assert len(counted) == 1


def test_statistics_know_the_direction_of_travel():
    walk = ml.demo.clip("walk")
    back = ml.Motion(walk.skeleton, walk.rotations[::-1], walk.root[::-1], walk.fps)
    ahead, behind = (clip_statistics(statistic_rows(each))[-1] for each in (walk, back))
    assert ahead > 1.0
    assert behind == pytest.approx(-ahead, abs=0.1)


def test_the_alignment_is_the_distance_dtw_clip(lib):
    measure = StatisticsMeasure(
        covariance_weight=0, spectrum_weight=0, trend_weight=0, length_weight=0, turn_weight=0,
        travel_weight=0, alignment_weight=1.0,
    )  # fmt: skip
    table, other = (clip_table(lib.store, m) for m in (measure, clip_measure("dtw-clip")))
    ours, theirs = (clip_distances(t.measure, t.clips) for t in (table, other))
    assert ours == pytest.approx(theirs, abs=0.03)  # durations are rounded to 30 Hz


@pytest.mark.parametrize("weight", [0.0, 0.4, 3.0])
def test_the_nearest_clips_are_those_of_the_matrix(lib, weight):
    table = clip_table(lib.store, StatisticsMeasure(alignment_weight=weight))
    expected = clip_distances(table.measure, table.clips)
    starts = table.clips.starts
    near = table.measure.nearest(table.clips.rows[starts[3] : starts[4]], table.clips, k=6)
    assert near.clips.tolist() == np.argsort(expected[3], kind="stable")[:6].tolist()
    assert near.distances == pytest.approx(np.sort(expected[3])[:6], abs=1e-4)
