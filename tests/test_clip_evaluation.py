"""Measures of whole clips, scored: the figures, the report, the command."""

import csv
import json
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from commands import MOTIONLOOM, error_lines, run
from fewer_joints import without_joints

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.evaluation.clips import precision_at_recalls
from motionloom.evaluation.retrieval import ranked_precision
from motionloom.search.methods import Emd, UniformScaling

ACTIONS = ("walk", "kick_front_high_right", "jump_up")


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("evaluate") / "clips.loom")
    for action in ACTIONS:
        for performer in range(3):
            motion = ml.demo.clip(action, performer=performer)
            lib.add_motion(motion, labels=[action.split("_")[0]])
    lib.add_motion(ml.demo.clip("cartwheel_left"), labels=["cartwheel"])
    lib.add_motion(ml.demo.clip("sit_stand"))
    return lib


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "labels.csv"
    rows = [f"{action}_p{p}.bvh,{action.split('_')[0]}" for action in ACTIONS for p in range(3)]
    path.write_text("\n".join(["clip,label", *rows, "nobody.bvh,walk"]), encoding="utf-8")
    return path


def test_precision_at_recalls_is_the_best_from_there_on():
    # ranks: right, wrong, right, right, wrong
    result = precision_at_recalls([1, 2, 3, 4, 5], [True, False, True, True, False])
    expected = {0.0: 1.0, 0.3: 1.0, 0.4: 0.75, 0.6: 0.75, 0.7: 0.75, 1.0: 0.75}
    for recall, precision in expected.items():
        assert result[round(10 * recall)] == pytest.approx(precision)
    with pytest.raises(InvalidInput, match="at least one True"):
        precision_at_recalls([1.0], [False])


def test_scores_are_those_of_the_distances(lib):
    evaluation = lib.evaluate(methods=["dtw-clip", "dtw"])
    assert evaluation.label_counts == {"cartwheel": 1, "jump": 3, "kick": 3, "walk": 3}
    assert evaluation.unlabeled == 1 and not evaluation.left_out
    for score in evaluation.methods.values():
        labels = np.array(evaluation.labels)
        precisions, right = [], []
        for q in range(len(labels)):
            order = [c for c in np.argsort(score.distances[q], kind="stable") if c != q]
            hits = [labels[c] == labels[q] for c in order]
            if any(hits):
                ranks = [k + 1 for k, hit in enumerate(hits) if hit]
                precisions.append(np.mean([(n + 1) / rank for n, rank in enumerate(ranks)]))
                right.append(hits[0])
        assert len(precisions) == 9  # the cartwheel is not a query
        assert score.mean_average_precision == pytest.approx(np.mean(precisions))
        assert score.nearest_neighbour == pytest.approx(np.mean(right))
        assert set(score.by_label) == {"jump", "kick", "walk"}
        assert np.mean([value for value, _ in score.by_label.values()]) == pytest.approx(
            score.mean_average_precision
        )
        assert (np.diff(score.precision_at_recall) <= 1e-12).all()
        assert score.seconds > 0.0 and score.pairs == 45
    assert evaluation.methods["dtw-clip"].mean_average_precision == 1.0
    assert evaluation.methods["dtw"].measure.name == "dtw-angles"


def test_the_report_holds_everything(lib, table, tmp_path):
    out = tmp_path / "report"
    result = run(
        "evaluate", lib.path, "--labels", table, "--methods", "emd,scaling", "-o", out, "--json"
    )
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert set(answer["methods"]) == {"emd", "scaling"}
    for score in answer["methods"].values():
        assert {
            "map", "nearest_neighbour", "precision_at_recall", "seconds", "seconds_per_pair",
        } <= set(score)  # fmt: skip
        assert len(score["precision_at_recall"]) == 11 and 0.0 < score["map"] <= 1.0
    assert (
        answer["clips"] == 9 and answer["unmatched"] == ["nobody.bvh"] and answer["unlabeled"] == 2
    )
    for name in ("precision_recall", "precision_recall_by_label", "similarity_emd"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with (out / "precision_recall.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 4 * 11
    all_emd = [row for row in rows if row["method"] == "emd" and row["label"] == "(all)"]
    assert [float(row["precision"]) for row in all_emd] == pytest.approx(
        answer["methods"]["emd"]["precision_at_recall"], abs=1e-6
    )
    with (out / "scores.csv").open(encoding="utf-8") as file:
        scores = {(row["method"], row["label"]): row for row in csv.DictReader(file)}
    assert len(scores) == 2 * 4 and scores["emd", "(all)"]["clips"] == "9"
    for name, score in answer["methods"].items():
        results = float(scores[name, "(all)"]["mean_average_precision"])
        assert results == pytest.approx(score["map"], abs=1e-6)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<img") == 4 and "data:image/png;base64," in page and "emd" in page
    text = (out / "report.md").read_text(encoding="utf-8")
    assert f"| emd | {answer['methods']['emd']['map']:.3f} |" in text
    assert "![similarity_emd](similarity_emd.png)" in text and "nobody.bvh" in text
    with np.load(out / "distances.npz") as kept:
        assert kept["emd"].shape == (9, 9) and kept["labels"].tolist() == sorted(kept["labels"])
        row = kept["emd"][0, 1:]
        assert ranked_precision(row, kept["labels"][1:] == kept["labels"][0]) <= 1.0


def test_options_go_to_the_methods_that_have_them(lib):
    some = {
        "emd": Emd(joint_weights="equal", time_weight=0.5),
        "scaling": UniformScaling(joint_weights="equal", stretch_only=True),
    }
    evaluation = lib.evaluate(methods=[*some.values(), Emd(curve_threshold=3.0)])
    assert list(evaluation.methods) == [
        "emd:time_weight=0.5:joint_weights=equal",
        "scaling:stretch_only=True:joint_weights=equal",
        "emd:curve_threshold=3.0",
    ]
    emd, scaling, third = (score.measure for score in evaluation.methods.values())
    assert (emd.joint_weights, emd.time_weight) == ("equal", 0.5)
    assert (scaling.joint_weights, scaling.stretch_only) == ("equal", True)
    assert (third.joint_weights, third.time_weight, third.threshold) == ("importance", 1.0, 3.0)
    emd_ = "emd:time_weight=0.5:joint_weights=equal"
    scaling_ = "scaling:joint_weights=equal:stretch_only=true"
    result = run("evaluate", lib.path, "--methods", f"{emd_},{scaling_}", "--json")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)["methods"]
    named = lib.evaluate(methods=some).methods
    assert list(named) == ["emd", "scaling"]
    for text, score in zip((emd_, scaling_), named.values(), strict=True):
        assert printed[text]["map"] == score.mean_average_precision
    assert [score.mean_average_precision for score in named.values()] == [
        score.mean_average_precision for score in evaluation.methods.values()
    ][:2]
    for text in ("emd:stretch_only=true", "dtw-clip:stretch_only=true"):
        with pytest.raises(InvalidInput, match="has no stretch_only; its fields are"):
            lib.evaluate(methods=[text])


def test_a_preset_compares_as_the_paper_does(lib):
    evaluation = lib.evaluate(ml.EvaluateSettings.tz07()).methods
    assert list(evaluation) == ["emd", "dtw", "scaling"]
    assert evaluation["emd"].measure.line_distance == "perpendicular"
    assert (
        evaluation["scaling"].measure.stretch_only and evaluation["scaling"].measure.factor == 1.2
    )
    literal = Emd(line_distance="perpendicular", whole_turns=False)
    again = next(iter(lib.evaluate(methods=[literal]).methods.values()))
    assert np.array_equal(again.distances, evaluation["emd"].distances)
    (other,) = lib.evaluate(
        ml.EvaluateSettings.tz07(methods=["emd:time_weight=0"])
    ).methods.values()
    assert other.measure.time_weight == 0.0 and other.measure.line_distance == "perpendicular"
    hits = lib.search("walk_p0", ml.SearchSettings.tz07(k=3))
    usual = lib.search("walk_p0", method=replace(literal, k=3))
    assert [hit.distance for hit in hits] == [hit.distance for hit in usual]


def test_the_command_prints_a_table(lib):
    result = run("evaluate", lib.path, "--methods", "dtw-clip")
    assert result.exit_code == 0
    assert "dtw-clip" in result.stdout and "1.000" in result.stdout


def test_joints_that_some_clips_lack_are_reported(tmp_path, table):
    lib = ml.Library.create(tmp_path / "odd.loom")
    for performer in range(2):
        walk = ml.demo.clip("walk", performer=performer)
        lib.add_motion(walk, name=f"walk_p{performer}")
        lib.add_motion(
            without_joints(walk, "left_elbow"), name=f"kick_front_high_right_p{performer}"
        )
    out = tmp_path / "report"
    result = run("evaluate", lib.path, "--labels", table, "--methods", "emd", "-o", out)
    assert result.exit_code == 0, result.output
    assert re.search(r"emd\b.*\bhips, spine", result.stderr) and "left_elbow" not in result.stderr
    text = (out / "report.md").read_text(encoding="utf-8")
    assert re.search(r"emd\b.*\bleft_elbow\b.*\bkick_front_high_right_p0 and 1 more", text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--methods", "emd,odd"], "there is no clip measure 'odd'; choose from statistics"),
        (["--methods", ","], "methods must contain at least one"),
        (["--labels", "nothing.csv"], "there is no file 'nothing.csv'"),
        (["--label-column", "kind", "--labels", "TABLE"], "no column 'kind'"),
        (["-o", "TABLE"], "exists and is not a table of scores; choose another"),
        (["-o", "page.html"], "a report is a folder with tables and pictures, not a file"),
    ],
)
def test_bad_input_is_reported_in_one_line(lib, table, words, message):
    result = run("evaluate", lib.path, *[table if word == "TABLE" else word for word in words])
    assert result.exit_code != 0
    assert message in str(result.exception)


def test_labels_without_a_second_clip_cannot_be_evaluated(tmp_path):
    lib = ml.Library.create(tmp_path / "two.loom")
    lib.add_motion(ml.demo.clip("walk"), labels=["walk"])
    lib.add_motion(ml.demo.clip("jump_up"), labels=["jump"])
    done = subprocess.run(
        [*MOTIONLOOM, "evaluate", str(lib.path), "--methods", "dtw-e15"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(
        "motionloom: an evaluation requires at least two clips with the same"
    )
    assert len(error_lines(done.stderr)) == 1


@pytest.mark.slow
@pytest.mark.cmu
def test_the_measures_on_the_cmu_clips(cmu_clips, cmu_data, tmp_path):
    lib = ml.Library.create(tmp_path / "clips.loom")
    lib.add(cmu_clips)
    labels = cmu_data / "cmu-clips-labels.csv"
    evaluation = lib.evaluate(labels=labels, methods=["dtw-clip", "emd", "dtw", "dtw-e15"])
    assert len(evaluation.clips) == 115
    scores = {name: score.uncorrected for name, score in evaluation.methods.items()}
    print({name: round(value, 4) for name, value in scores.items()})
    for name in ("emd", "dtw", "dtw-e15"):  # the correction helps where there is room
        assert evaluation.methods[name].mean_average_precision > scores[name]
    assert scores["dtw-clip"] > 0.98 and evaluation.methods["dtw-clip"].nearest_neighbour == 1.0
    assert scores["dtw-clip"] > scores["dtw-e15"] + 0.08
    assert scores["emd"] > scores["dtw"] > 0.75
