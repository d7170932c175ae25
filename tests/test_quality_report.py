"""The quality report: its types, its one line, its limits, and where motions keep it."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.motion.diagnostics.quality import (
    BeatFit,
    PathFit,
    QualityReport,
    RetargetFit,
    Seam,
    TakesUsed,
    WorstFrame,
    quality_report,
)
from motionloom.motion.provenance import Source

CLEAN = QualityReport(0.004, 0.001)


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


def test_a_motion_keeps_its_report_until_it_is_changed(walk):
    made = walk.with_quality(CLEAN)
    assert walk.quality is None
    assert made.quality is CLEAN
    assert made[5:].quality is None and made.resample(60).quality is None
    assert made.transform(yaw=1.0).quality is None
    assert pickle.loads(pickle.dumps(made)).quality == CLEAN


def test_a_report_is_computed_once_and_only_when_it_is_read(walk):
    calls = []

    def measure(motion):
        calls.append(len(motion))
        return CLEAN

    made = walk.with_quality(measure)
    assert calls == []
    assert made.quality is CLEAN and made.quality is CLEAN
    assert calls == [len(walk)]
    assert pickle.loads(pickle.dumps(walk.with_quality(measure))).quality == CLEAN


def test_missing_contacts_are_none_and_not_zero(walk):
    flying = replace(walk, root=walk.root + np.linspace(0, 60, len(walk))[:, None] * [1, 0, 0])
    report = quality_report(flying)
    assert report.foot_slide_m is None and report.floor_penetration_m is None
    assert report.to_json()["foot_slide_m"] is None
    assert report.line().endswith("no foot contacts found")


def test_a_skeleton_without_feet_still_has_a_report(walk):
    blind = replace(walk.skeleton, role_map={"left_foot": None, "right_foot": None})
    assert quality_report(replace(walk, skeleton=blind)).foot_slide_m is None


def test_distance_from_a_path_is_to_its_nearest_point():
    corner = [[0.0, 0.0], [0.0, 4.0], [3.0, 4.0]]
    fit = PathFit.of([[0.1, 1.0], [0.0, 5.0], [2.0, 3.5], [3.0, 4.0]], path=corner)
    assert fit.mean_m == pytest.approx((0.1 + 1.0 + 0.5 + 0.0) / 4)
    assert fit.worst_m == pytest.approx(1.0)
    assert fit.path_length_m == 7.0 and fit.goal_m == 0.0
    assert PathFit.of([[0, 0], [3, 0], [3, 4]], goal=[3, 0, 1.5]).goal_m == 4.0
    assert PathFit.of([[0, 0], [3, 0], [3, 4]], goal=[3, 0]).length_m == 7.0


def test_takes_are_counted_in_seconds_by_their_weights():
    sources = (Source("a", 0, 60, 0, 60), Source("b", 0, 60, 60, 120, 0.5))
    takes = TakesUsed.of(sources, 30.0, {"a": "not needed", "c": "cut off"})
    assert takes == TakesUsed({"a": 2.0, "b": 1.0}, {"c": "cut off"})


def beyond(measure, value, limit):
    return replace(CLEAN, worst=(WorstFrame(measure, value, limit, 60, 2.0, "here", "walk"),))


@pytest.mark.parametrize(
    ("report", "warning"),
    [
        (beyond("slide", 0.05, 0.03), "feet slide 5.0 cm per contact"),
        (beyond("floor", 0.02, 0.01), "feet are 2.0 cm below the floor"),
        (beyond("seam", 1.8, 1.5), "the seam at 2.0 s accelerates 1.8 times"),
        (beyond("steps", 0.2, 0.05), "20 % of the steps repeat a foot"),
        (beyond("jump", 0.45, 0.1), "here jumps 45 cm in one frame at 2.0 s (walk)"),
        (beyond("limbs", 0.06, 0.04), "here overlap 6.0 cm deeper"),
        (beyond("balance", 0.2, 0.05), "20 cm out of balance"),
        (replace(CLEAN, path=PathFit(0.1, 0.2, 32.0, 10.0, 0.0)), "3.2 times as long"),
        (replace(CLEAN, path=PathFit(0.1, 1.6, 10.0, 10.0, 0.0)), "missed by 0.10 m"),
        (replace(CLEAN, path=PathFit(goal_m=1.5)), "1.50 m away from the goal"),
        (
            replace(CLEAN, beats=BeatFit(222, 222, 125, 222)),
            "125 of 222 foot landings are on a beat",
        ),
    ],
)
def test_each_limit_has_a_separate_warning(report, warning):
    (said,) = report.with_parts().warnings
    assert warning in said and "try" in said
    assert CLEAN.with_parts().warnings == ()


def test_a_few_landings_give_no_warning():
    assert replace(CLEAN, beats=BeatFit(62, 61, 0, 7)).with_parts().warnings == ()
    assert len(replace(CLEAN, beats=BeatFit(62, 61, 0, 8)).with_parts().warnings) == 1


def test_parts_are_added_without_losing_warnings():
    said = beyond("slide", 0.05, 0.03).with_parts(warnings=["the music is slow"])
    both = said.with_parts(path=PathFit(goal_m=1.5))
    assert len(said.warnings) == 2 and len(both.warnings) == 3
    assert "the music is slow" in both.warnings
    assert QualityReport.worst_of([both, CLEAN]).warnings == both.warnings


def test_jumps_are_described_with_their_number():
    lines = [replace(CLEAN, jumps=count).details()[0] for count in (0, 1, 2)]
    assert [line.rsplit(", ", 1)[1] for line in lines] == ["no jumps", "1 jump", "2 jumps"]


def test_one_short_line_has_the_main_figures_and_details_have_all():
    report = QualityReport(0.004, 0.001, 1.2, Seam(60, 2.0, "a", "b", 1.2)).with_parts(
        path=PathFit(0.1, 0.2, 11.0, 10.0, 0.05),
        takes=TakesUsed({"a": 3.0}, {"c": "cut off", "d": "cut off", "e": "cut off"}),
        speeds_m_s=(0.6, 1.4),
        beats=BeatFit(62, 61, 50, 60, 0.9),
    )
    assert (
        report.line()
        == str(report)
        == (
            "within limits: seam 1.20, slide 0.4 cm, path 0.20 m off at worst, end 0.05 m off, "
            "83 % of landings on a beat"
        )
    )
    assert report.details() == [
        "feet slide 0.4 cm per contact, floor penetration 0.1 cm, "
        "worst seam 1.20 at 2.00 s (a to b)",
        "available speeds 0.6 to 1.4 m/s",
        "path 0.10 m off on average, 0.20 m at worst, 11.0 m walked for 10.0 m, end 0.05 m off",
        "61 of 62 beats within a frame, 50 of 60 foot landings on a beat, coherence 0.90",
        "takes a 3.0 s; unused: 3 cut off",
    ]


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (beyond("seam", 1.8, 1.5), "beyond limits: seam 1.80; slide"),
        (beyond("slide", 0.05, 0.03), "beyond limits: slide"),
        (beyond("jump", 0.45, 0.1), "beyond limits: 2 jumps"),
        (beyond("steps", 0.2, 0.05), "beyond limits: 80 % of steps alternate"),
        (beyond("limbs", 0.06, 0.04), "beyond limits: limbs overlap 6 cm"),
        (beyond("balance", 0.2, 0.05), "beyond limits: 20 cm out of balance"),
        (beyond("floor", 0.02, 0.01), "beyond limits: 2.0 cm below the floor"),
        (
            replace(CLEAN, path=PathFit(0.1, 1.6, 32.0, 10.0, 1.5)),
            "beyond limits: path 1.60 m off at worst, 3.2 times its length, end 1.50 m off;",
        ),
        (replace(CLEAN, path=PathFit(goal_m=0.1)), "within limits: "),
        (
            replace(CLEAN, beats=BeatFit(222, 222, 125, 222)),
            "beyond limits: 56 % of landings on a beat",
        ),
        (replace(CLEAN, beats=BeatFit(222, 220)), "220 of 222 beats met"),
        (replace(CLEAN, beats=BeatFit(62, 61, 0, 3)), "0 of 3 landings on a beat"),
        (
            replace(CLEAN, retarget=RetargetFit(0.4, 1.0, 12.0, "left_knee")),
            "beyond limits: shoulders 40 %, limbs 12 degrees off; ",
        ),
    ],
)
def test_exceeded_limits_come_first(report, line):
    figures = {"seam_acceleration_ratio": 1.8, "jumps": 2, "foot_alternation": 0.8}
    figures |= {"limb_intersection_m": 0.06, "balance_m": 0.2, "floor_penetration_m": 0.02}
    assert line in replace(report, **figures).line()


def test_the_line_is_short_whatever_is_wrong():
    measures = ("slide", "floor", "seam", "steps", "jump", "limbs", "balance")
    worst = tuple(WorstFrame(measure, 2.0, 1.0, 60, 2.0) for measure in measures)
    report = QualityReport(0.1, 0.1, 2.0, None, 0.5, 12, 0.1, 0.1, worst)
    report = replace(report, path=PathFit(1.0, 2.0, 50.0, 10.0, 3.0), beats=BeatFit(62, 61, 5, 60))
    assert len(report.line()) < 240 and len(replace(report, worst=()).line()) < 140


def test_reasons_that_differ_in_a_figure_are_one_group() -> None:
    unused = {f"take_{k}": f"no rhythm (confidence 0.0{k} < 0.25)" for k in range(5)}
    unused["05_01"] = "without a smooth transition"
    assert str(TakesUsed({"a": 1.0}, unused)) == (
        "takes a 1.0 s; unused: 5 no rhythm (confidence 0.00 to 0.04 < 0.25), "
        "1 without a smooth transition (05_01)"
    )
    named = {"a": "longer than take_1", "b": "longer than take_2"}  # names are not figures
    assert str(TakesUsed({}, named)).endswith("1 longer than take_1 (a), 1 longer than take_2 (b)")
