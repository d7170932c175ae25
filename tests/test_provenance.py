"""Provenance of synthesized motion, and accelerations at its seams."""

from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.motion.diagnostics.quality import (
    QualityReport,
    SourceStatistics,
    joint_accelerations,
    quality_report,
    seam_accelerations,
    usual_acceleration,
)
from motionloom.motion.provenance import Provenance, Source, joined_provenance, merged


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


def made_of(motion, *sources, seams=()):
    return replace(motion, provenance=Provenance(tuple(sources), tuple(seams)))


def test_captured_motion_has_no_provenance(walk):
    assert walk.provenance is None
    assert walk[5:20].provenance is None
    assert walk.resample(60).provenance is None
    assert (walk + walk).provenance is None


def test_a_cut_keeps_the_frames_of_the_sources(walk):
    made = made_of(walk, Source("a", 100, 120, 0, 20), Source("b", 40, 60, 10, 30), seams=(15,))
    cut = made[12:18].provenance
    assert cut.sources == (Source("a", 112.0, 118.0, 0, 6), Source("b", 42.0, 48.0, 0, 6))
    assert cut.seams == (3,)
    assert made[25:28].provenance.sources == (Source("b", 55.0, 58.0, 0, 3),)


def test_every_second_frame_of_a_motion_still_covers_the_same_source(walk):
    made = made_of(walk, Source("a", 100, 120, 0, 20), seams=(10,))
    assert made[0:20:2].provenance.sources == (Source("a", 100.0, 120.0, 0, 10),)
    assert made[0:20:2].provenance.seams == (5,)
    assert made.resample(2 * walk.fps).provenance.sources == (Source("a", 100, 120, 0, 40),)


def test_joined_motions_have_the_sources_of_both(walk):
    a = made_of(walk[:10], Source("a", 0, 10, 0, 10))
    b = made_of(walk[10:20], Source("a", 10, 20, 0, 10), seams=(4,))
    both = (a + b).provenance
    assert both.sources == (Source("a", 0, 20, 0, 20),)
    assert both.seams == (14,)
    plain_first = joined_provenance([(None, 7), (b.provenance, 10)])
    assert plain_first.sources[0].start == 7


def test_sources_of_other_weights_or_with_a_gap_are_not_merged():
    gap = [Source("a", 0, 10, 0, 10), Source("a", 11, 15, 10, 14)]
    lighter = [Source("a", 0, 10, 0, 10), Source("a", 10, 15, 10, 15, 0.5)]
    assert merged(gap) == tuple(gap)
    assert merged(lighter) == tuple(lighter)


def test_accelerations_are_second_differences_of_positions(walk):
    places = walk.positions().astype(float)
    frame, joint = 7, 3
    second = places[frame + 1, joint] - 2 * places[frame, joint] + places[frame - 1, joint]
    expected = np.linalg.norm(second) * walk.fps**2
    assert joint_accelerations(walk)[frame - 1, joint] == pytest.approx(expected, rel=1e-9)


def test_a_jump_at_a_seam_is_seen_and_one_far_away_is_not(walk):
    root = walk.root.copy()
    root[40:, 0] += 0.3
    torn = replace(walk, root=root)
    usual = usual_acceleration([walk])
    assert seam_accelerations(made_of(torn, Source("a", 0, 60, 0, 60), seams=(40,)))[0] > 200.0
    assert seam_accelerations(made_of(torn, Source("a", 0, 60, 0, 60), seams=(20,)))[0] < 2 * usual
    report = quality_report(made_of(torn, Source("a", 0, 60, 0, 60), seams=(40,)), sources=[walk])
    assert report.seam_acceleration_ratio > 3.0
    assert report.to_json().keys() >= {
        "foot_slide_m",
        "floor_penetration_m",
        "seam_acceleration_ratio",
    }
    assert report.worst_seam.frame == 40 and report.worst_seam.before == "a"
    assert report.worst_seam.ratio == report.seam_acceleration_ratio
    assert any(text.startswith("the seam at 1.3 s accelerates") for text in report.warnings)


def test_without_seams_or_sources_there_is_no_ratio(walk):
    assert quality_report(walk, sources=[walk]).seam_acceleration_ratio is None
    made = made_of(walk, Source("a", 0, 60, 0, 60), seams=(20,))
    assert quality_report(made).seam_acceleration_ratio is None


def test_several_motions_are_reported_as_one_by_the_worst_or_the_mean_of_each_figure(walk):
    reports = [QualityReport(0.02, 0.0, 0.5), QualityReport(0.0, 0.004), QualityReport(0.01, 0.002)]
    assert QualityReport.worst_of(reports) == QualityReport(0.02, 0.004, 0.5)
    mean = QualityReport.mean_of(reports)
    assert mean.foot_slide_m == pytest.approx(0.01)
    assert mean.floor_penetration_m == pytest.approx(0.002)
    assert mean.seam_acceleration_ratio == 0.5
    assert QualityReport.worst_of(reports[1:]).seam_acceleration_ratio is None


def test_source_statistics_may_be_precomputed(walk):
    made = made_of(walk, Source("a", 0, 60, 0, 60), seams=(20,))
    answer = quality_report(made, usual=SourceStatistics.of([walk]))
    assert answer == quality_report(made, sources=[walk])
    assert answer.seam_acceleration_ratio > 0.0
    assert quality_report(made, usual=SourceStatistics(0.0)).seam_acceleration_ratio is None
