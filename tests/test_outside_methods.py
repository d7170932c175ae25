"""Methods from outside: a function or a command that ranks the clips of a manifest."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.evaluation.labeled_sets import LabeledSet
from motionloom.evaluation.outside import (
    check_outside,
    outside_scores,
    ranking_by,
    score_outside,
    write_manifest,
)
from motionloom.motion import Motion

COMMAND = """
import csv, json, sys
manifest = json.load(open(sys.argv[1]))
assert "label" not in json.dumps(manifest)
names = [clip["name"] for clip in manifest["clips"]]
by = {clip["name"]: clip["frames"] for clip in manifest["clips"]}
rows = csv.writer(open(sys.argv[2], "w", newline=""))
rows.writerow(["query", "item", "distance"])
rows.writerows([n, o, abs(by[o] - by[n])] for n in names for o in names if o != n)
"""


@pytest.fixture(scope="module")
def labeled(tmp_path_factory):
    """Two classes that differ in their number of frames."""
    library = ml.Library.create(tmp_path_factory.mktemp("outside") / "takes.loom")
    walk = ml.demo.clip("walk")
    names, labels = [], []
    for label, length in (("short", 10), ("long", 25)):
        for n in range(3):
            part = walk[: length + n]
            library.add_motion(
                Motion(part.skeleton, part.rotations, part.root, part.fps), name=f"{label}{n}"
            )
            names.append(f"{label}{n}")
            labels.append(label)
    return LabeledSet("lengths", library.store, tuple(names), tuple(labels), ("",) * 6)


def by_name(manifest):
    """Rank by name: a function as a user would write it."""
    names = [clip["name"] for clip in manifest["clips"]]
    assert all(len(ml.load(Path(manifest["folder"]) / clip["file"])) == clip["frames"]
               for clip in manifest["clips"][:1])  # fmt: skip
    return {n: sorted((o for o in names if o != n), key=lambda o: o[0] != n[0]) for n in names}


def nothing(manifest):
    return {}


def no_number(manifest):
    names = [clip["name"] for clip in manifest["clips"]]
    return {name: [(other, float("nan")) for other in names if other != name] for name in names}


def test_a_command_and_a_function_are_scored(labeled, tmp_path):
    script = tmp_path / "rank.py"
    script.write_text(COMMAND, encoding="utf-8")
    methods = (f"{sys.executable} {script}", f"{__name__}:by_name")
    scores = score_outside(labeled, methods, range(6))
    assert list(scores) == list(methods)
    for precisions, first in scores.values():
        assert precisions.tolist() == [1.0] * 6
        assert first.tolist() == [1.0] * 6


def test_clips_that_are_not_listed_come_last(labeled):
    ranking = {name: [] for name in labeled.clips} | {"short0": ["long0"]}
    precisions, _ = outside_scores(labeled, ranking, [0])
    assert precisions[0] == pytest.approx((1 / 2 + 2 / 3) / 2)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("no.such:function", "cannot be imported"),
        (f"{__name__}:nothing", "must map every clip"),
        ("no-such-command --fast", "cannot be run"),
        (f"{sys.executable} -c 'print(1)'", "wrote no ranking"),
        (f"{__name__}:no_number", "a finite distance"),
        (
            f'{sys.executable} -c \'import sys; open(sys.argv[2], "w").write("a,b\\n1,2\\n")\'',
            "with the columns query, item",
        ),
    ],
)
def test_a_method_that_fails_is_named(labeled, tmp_path, method, message):
    manifest = tmp_path / "manifest.json"
    clips = [{"name": name, "file": "x.bvh"} for name in labeled.clips]
    manifest.write_text(json.dumps({"folder": str(tmp_path), "clips": clips}), encoding="utf-8")
    with pytest.raises(InvalidInput, match=message):
        ranking_by(method, manifest)


def test_the_manifest_lists_every_clip_without_labels(labeled, tmp_path):
    content = json.loads(write_manifest(labeled, tmp_path).read_text(encoding="utf-8"))
    assert sorted(clip["name"] for clip in content["clips"]) == sorted(labeled.clips)
    assert np.all([(tmp_path / clip["file"]).is_file() for clip in content["clips"]])
    assert "labels" not in json.dumps(content)


def test_methods_are_checked_before_the_slow_work(labeled, tmp_path):
    (tmp_path / "mine.py").write_text("def rank(manifest):\n    return {}\n")
    check_outside([f"{__name__}:by_name", f"{tmp_path}/mine.py:rank", f"{sys.executable} rank.py"])
    for method, message in [
        ("no.such:function", "cannot be imported"),
        (f"{tmp_path}/mine.py:other", "has no 'other'; it has rank"),
        ("no-such-command --fast", "neither MODULE:FUNCTION, FILE.py:FUNCTION nor a command"),
        ("python 'rank.py", "No closing quotation"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            check_outside([method])
