"""A method of the user: as a function, a frame distance or a file, in every place."""

import csv
import importlib.util
import json
import re

import commands
import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, MissingExtra
from motionloom.features import DISTANCES
from motionloom.plots.pages.evaluation_report import write_clip_output

NAMES = ("walk_p0", "walk_p1", "reach_front_high_right_p0", "reach_front_high_right_p1")
FILE = """
import numpy as np

def distance(a, b):
    return abs(np.ptp(a.root[:, 2]) - np.ptp(b.root[:, 2]))

distance.symmetric = True
"""


class HandHeight:
    """Difference in the height of the hands."""

    name, unit = "own-hand-height", "m"

    def prepare(self, motion):
        return motion.role_positions(["left_wrist", "right_wrist"])[:, :, 1]

    def matrix(self, a, b):
        return np.abs(a[:, None] - b[None]).mean(axis=2)


def travel(a, b):
    """Difference of the travel along z."""
    return abs(float(np.ptp(a.root[:, 2]) - np.ptp(b.root[:, 2])))


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    library = ml.Library.create(tmp_path_factory.mktemp("own") / "takes.loom")
    for name in NAMES:
        library.add_motion(ml.demo.clip(name), labels=[name.split("_")[0]])
    yield library
    DISTANCES.pop(HandHeight.name, None)


def test_a_function_of_two_motions_searches_whole_clips(lib):
    hits = lib.search("walk_p0", method=travel)
    expected = sorted(NAMES, key=lambda name: travel(lib["walk_p0"], lib[name]))
    assert [hit.motion for hit in hits] == expected
    assert hits[1].distance == pytest.approx(travel(lib["walk_p0"], lib[expected[1]]))
    assert (hits[0].start_frame, hits[0].end_frame) == (0, len(lib["walk_p0"]))
    assert lib.search("walk_p0", method=travel, max=2, exclude_query=True)[0].motion == "walk_p1"
    assert not [
        hit for hit in lib.search("walk_p0", method=travel, label="reach", max_distance=0.1)
    ]


def test_a_frame_distance_is_a_method_and_works_in_webs_families_and_graphs(lib):
    hits = lib.search("reach_front_high_right_p0:10-50", method=HandHeight(), max=2)
    assert hits[0].motion == "reach_front_high_right_p0" and hits.unit == "m"
    again = lib.search("reach_front_high_right_p0:10-50", method=HandHeight.name, max=2)
    assert [hit.motion for hit in again] == [hit.motion for hit in hits]
    family = lib.family("reach_front_high_right_p0:10-50", method=HandHeight())
    assert len(family.nodes) >= 1
    web = ml.WebOptions(distance=HandHeight.name)
    assert lib.webs.build(web=web, only="reach*").built
    assert len(lib.motion_graph(distance=HandHeight(), only="walk*").motions) == 2


def test_own_methods_are_scored_with_others(lib, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(FILE)
    methods = ["dtw-e15", travel, HandHeight(), f"{file}:distance"]
    result = lib.evaluate(methods=methods)
    assert list(result.methods) == ["dtw-e15", "travel", HandHeight.name, "distance"]
    own, same = result.methods["travel"], result.methods["distance"]
    np.testing.assert_allclose(own.distances, same.distances)
    walks = [result.clips.index(name) for name in ("walk_p0", "walk_p1")]
    assert own.distances[walks[0], walks[1]] == pytest.approx(
        travel(lib["walk_p0"], lib["walk_p1"])
    )
    assert own.mean_average_precision == 1.0
    assert (own.pairs, own.measure.name) == (6, "travel")
    with pytest.raises(InvalidInput, match="a function of two motions, or FILE.py:NAME"):
        lib.evaluate(methods=["mine"])


def test_values_that_are_not_numbers_are_one_clear_line(lib):
    with pytest.raises(
        InvalidInput, match="the method 'lambda' must return a finite number .* nan"
    ):
        lib.evaluate(methods=[lambda a, b: float("nan")])
    with pytest.raises(InvalidInput, match="got None"):
        lib.search("walk_p0", method=lambda a, b: None)


def test_a_method_that_fails_is_one_clear_line(lib, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def ratio(a, b):\n    return 1 / 0\n\n\ndef alone(a):\n    return 0.0\n")
    with pytest.raises(InvalidInput, match=r"'ratio' failed for .* in .*mine.py:2: ZeroDivision"):
        lib.evaluate(methods=[f"{file}:ratio"])
    with pytest.raises(
        InvalidInput, match=r"'alone' failed for \w+ and \w+: TypeError: .* takes 1"
    ):
        lib.evaluate(methods=[f"{file}:alone"])


def test_a_report_is_not_written_into_a_library(lib):
    done = commands.ran("evaluate", lib.path, "--methods", "statistics", "-o", lib.path)
    assert done.returncode == 2 and "is a library; choose another folder" in done.stderr
    assert not list(lib.path.glob("report*"))


def test_clips_of_the_same_performer_can_be_excluded(lib):
    result = lib.evaluate(methods=[travel], performer=r"_p(\d+)$")
    assert result.methods["travel"].nearest_neighbour == 1.0
    alone = {name: name.split("_")[0] for name in NAMES if name.endswith("p0")}
    with pytest.raises(InvalidInput, match="at least two clips with the same label"):
        lib.evaluate(methods=[travel], labels=alone)
    with pytest.raises(InvalidInput, match="no clip has .* by another performer"):
        lib.evaluate(methods=[travel], performer=r"(_p)")
    with pytest.raises(InvalidInput, match="performer must match the name of every clip"):
        lib.evaluate(methods=[travel], performer=r"x(\d+)")


def test_results_are_tables_and_figures(lib, tmp_path):
    result = lib.evaluate(methods=[travel, "dtw-e15"])
    if importlib.util.find_spec("pandas") is None:
        with pytest.raises(MissingExtra, match="pip install pandas"):
            result.to_frame()
    else:
        assert result.to_frame().loc["travel", "map"] == 1.0
    text = result.to_latex()
    assert text.count(r" \\") == 3 and r"\textbf{1.000}" in text
    for suffix, start in ((".pdf", b"%PDF"), (".svg", b"<?xml"), (".png", b"\x89PNG")):
        file = write_clip_output(result, tmp_path / f"figure{suffix}")
        assert file.read_bytes().startswith(start)
    assert write_clip_output(result, tmp_path / "table.tex").read_text() == text


def test_the_command_scores_a_file_and_writes_a_figure(lib, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(FILE)
    words = ["evaluate", str(lib.path), "--methods", f"dtw-e15,{file}:distance", "--json"]
    result = commands.run(*words, "-o", str(tmp_path / "fig.pdf"))
    scores = json.loads(result.stdout)
    assert scores["methods"]["distance"]["map"] == 1.0
    assert scores["files"] == [str(tmp_path / "fig.pdf")]
    assert (tmp_path / "fig.pdf").read_bytes().startswith(b"%PDF")
    commands.run(*words, "-o", str(tmp_path / "scores.csv"))
    rows = list(csv.DictReader((tmp_path / "scores.csv").open()))
    assert {row["method"] for row in rows} == {"dtw-e15", "distance"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("missing.py:distance", "there is no file missing.py"),
        ("{file}:other", "has no 'other'; it has distance"),
        ("{broken}:f", "broken.py: ZeroDivisionError"),
        ("{file}:np", "mine.py:np must be a function of two motions, a frame distance or a"),
    ],
)
def test_files_without_the_method_are_named(lib, tmp_path, text, message):
    (tmp_path / "mine.py").write_text(FILE)
    (tmp_path / "broken.py").write_text("1 / 0")
    text = text.format(file=tmp_path / "mine.py", broken=tmp_path / "broken.py")
    with pytest.raises(InvalidInput, match=re.escape(message)):
        lib.evaluate(methods=[text])


# --- check_method ---------------------------------------------------------------------------


def test_built_in_and_own_methods_pass():
    assert "symmetric" in ml.check_method(travel).notes[0]
    assert ml.check_method("dtw-e15").name == "dtw-e15"
    assert ml.check_method(HandHeight()).name == HandHeight.name
    DISTANCES.pop(HandHeight.name, None)


def changing(a, b):
    a.rotations.setflags(write=True)
    a.rotations[0] = 0.0
    return travel(a, b)


def copied(clip):
    """A motion with arrays of its own; those of the corpus are shared by all tests."""
    return ml.Motion(clip.skeleton, clip.rotations.copy(), clip.root.copy(), clip.fps)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (lambda a, b: -travel(a, b), "distances are at least 0"),
        (lambda a, b: 1.0 / (1.0 + travel(a, b)), "return a distance, not a similarity"),
        (lambda a, b: travel(a, b) + np.random.default_rng().random(), "fix the seed"),
        (lambda a, b: float(np.abs(a.root - b.root).sum()), "raised ValueError"),
        (changing, "motions are not changed"),
    ],
)
def test_violated_rules_are_named(method, message):
    clips = [ml.demo.clip(name)[:40] for name in ("walk_p0", "walk_p1")] + [
        ml.demo.clip("reach_front_high_right_p0")[:30]
    ]
    with pytest.raises(InvalidInput, match=message):
        ml.check_method(method, [copied(clip) for clip in clips])
