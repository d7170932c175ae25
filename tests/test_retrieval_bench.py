"""The benchmark in ``benchmark/``: its scorer, rankings, data, result files and pages."""

import ast
import csv
import doctest
import hashlib
import importlib
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from retrieval_bench import agreement, data, poses, rankings, results, scores, sets
from retrieval_bench.__main__ import _parser, main
from retrieval_bench.scores import Result
from retrieval_bench.sets import BenchmarkSet, Place, Query
from retrieval_bench.tables import BenchmarkError, read_bytes

import motionloom as ml
from motionloom.evaluation import outside
from motionloom.evaluation.labeled_sets import CLIP_SETS, KINDS, LabeledSet
from motionloom.evaluation.protocol import bootstrap as bootstrap_of_evaluate
from motionloom.evaluation.retrieval import score as score_of_evaluate

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmark"


MODULES = sorted(path.stem for path in (FOLDER / "retrieval_bench").glob("*.py"))
PAGE = ROOT / "docs" / "evidence" / "leaderboard.md"


def clip_set(labels):
    """A set of clips a, b, c ... with these labels."""
    names = [chr(ord("a") + n) for n in range(len(labels))]
    queries = []
    for name, label in zip(names, labels, strict=True):
        others = tuple(each for each in names if each != name)
        right = frozenset(o for o in others if labels[names.index(o)] == label)
        if right:
            queries.append(Query(name, label, "", others, right))
    items = tuple({"name": name, "file": f"{name}.bvh"} for name in names)
    return BenchmarkSet("letters", "clips", items, tuple(queries))


SEGMENTS = BenchmarkSet(
    "takes",
    "segments",
    ({"name": "t.bvh", "file": "t.bvh"}, {"name": "u.bvh", "file": "u.bvh"}),
    (Query("q0", "kick", "", ("t.bvh",), marks=(Place("t.bvh", 1.0, 2.0),)),),
)


# --- scores ---------------------------------------------------------------------------------------


def orders(distances, correct):
    """Every order of the items in which ties may fall, as lists of correctness."""
    items = list(zip(distances, correct, strict=True))
    for order in itertools.permutations(items):
        if all(a[0] <= b[0] for a, b in itertools.pairwise(order)):
            yield [right for _, right in order]


def naive_precision(order):
    hits = [k for k, right in enumerate(order) if right]
    return sum(Fraction(n + 1, k + 1) for n, k in enumerate(hits)) / len(hits)


@pytest.mark.parametrize("seed", range(12))
def test_scores_with_ties_are_the_mean_over_all_orders(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    distances = rng.integers(0, 3, count).astype(float)
    correct = rng.random(count) < 0.5
    correct[rng.integers(count)] = True
    every = list(orders(distances.tolist(), correct.tolist()))

    def mean(measure):
        return float(sum(Fraction(measure(order)) for order in every) / len(every))

    assert scores.average_precision(distances, correct) == pytest.approx(mean(naive_precision))
    assert scores.first_correct(distances, correct) == pytest.approx(mean(lambda o: o[0]))
    for first in (1, 2, 10):
        wanted = mean(lambda order, first=first: any(order[:first]))
        assert scores.recall(distances, correct, first) == pytest.approx(wanted)
    wanted = mean(lambda order: Fraction(1, order.index(True) + 1))
    assert scores.reciprocal_rank(distances, correct) == pytest.approx(wanted)


def test_a_ranking_without_ties_scores_as_in_the_definition():
    assert scores.average_precision([3.0, 1.0, 2.0], [True, False, True]) == pytest.approx(7 / 12)


@pytest.mark.parametrize("seed", range(8))
def test_segments_score_as_in_evaluate(seed):
    rng = np.random.default_rng(seed)

    def ranges(count, length):
        starts = np.sort(rng.uniform(0.0, 30.0, count))
        return [(float(a), float(a + rng.uniform(0.6, 1.4) * length)) for a in starts]

    marks, optional, listed = ranges(5, 2.0), ranges(2, 2.0), ranges(25, 2.0)
    listed += [(a + 0.1, b + 0.1) for a, b in marks]  # some are right
    order = rng.permutation(len(listed))
    mine = scores.segment_precision(
        [Result("t", float(place), *listed[k]) for place, k in enumerate(order)],
        [Place("t", *each) for each in marks],
        [Place("t", *each) for each in optional],
    )
    wanted = score_of_evaluate([listed[k] for k in order], marks, optional)
    assert mine == pytest.approx(wanted.average_precision)
    assert wanted.average_precision > 0.0


def test_segments_of_another_file_are_never_correct():
    marks = [Place("t", 1.0, 2.0)]
    assert scores.segment_precision([Result("u", 0.0, 1.0, 2.0)], marks) == 0.0
    assert scores.segment_precision([Result("t", 0.0, 1.0, 2.0)], marks) == 1.0


def test_intervals_are_those_of_evaluate():
    values = np.random.default_rng(5).random(40)
    assert scores.bootstrap(values) == bootstrap_of_evaluate(values)


def test_intervals_over_performers_draw_whole_performers():
    values = np.repeat([0.0, 1.0], 50)
    by_query = scores.bootstrap(values)
    by_performer = scores.bootstrap(values, groups=["a"] * 50 + ["b"] * 50)
    assert by_query[0] > 0.35
    assert by_performer == (0.0, 1.0)


def test_a_function_scores_the_same_in_evaluate_and_in_the_benchmark(tmp_path):
    """The same clips and ranking, in both scorers."""
    library = ml.Library.create(tmp_path / "takes.loom")
    labels = ["walk", "walk", "kick", "kick", "walk", "kick"]
    walk = ml.demo.clip("walk")[:4]
    for n in range(len(labels)):
        library.add_motion(walk, name=chr(ord("a") + n))
    labeled = LabeledSet("letters", library.store, library.names, tuple(labels), ("",) * 6)
    given = clip_set(labels)
    rng = np.random.default_rng(3)
    ranked = {q.name: [(n, float(rng.random())) for n in q.items] for q in given.queries}
    checked = outside._checked(ranked, labeled.clips, "mine")
    theirs, first = outside.outside_scores(labeled, checked, range(6))
    mine = scores.score(given, rankings.checked(given, ranked, "mine"))
    assert mine.values.tolist() == pytest.approx(theirs.tolist())
    assert mine.second == pytest.approx(first.mean())
    assert (mine.low, mine.high) == pytest.approx(bootstrap_of_evaluate(theirs))
    assert 0.0 < mine.score < 1.0


# --- rankings -------------------------------------------------------------------------------------

GOOD = "query,item\n" + "".join(
    f"{a},{b}\n" for a in "abcd" for b in "abcd" if a != b and a in "abc"
)


def ranking(tmp_path, text):
    path = tmp_path / "ranking.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the columns query, item; 'query' is missing"),
        ("query,clip\na,b\n", "'item' is missing"),
        ("query,item\na,b\n", r"no results for the query 'b'"),
        (GOOD + "a,b\n", r"'b' is listed twice"),
        (GOOD + "a,z\n", r"no item 'z' to rank"),
        (GOOD + "z,a\n", r"letters has no query 'z'"),
        (GOOD + "a\n", r":11: expected 2 cells, got 1"),
        ("query,item,distance\na,b,nan\n", r":2: expected a finite number, got 'nan'"),
        ("query,item,distance\na,b,near\n", r":2: expected a finite number, got 'near'"),
        (b"query,item\n\xff\xfe,b\n", "is not UTF-8 text"),
        ('query,item\n"a,b\n', r":2: unexpected end of data"),
    ],
)
def test_a_malformed_ranking_is_one_line(tmp_path, text, message):
    given = clip_set(["x", "x", "x", "y"])
    with pytest.raises(BenchmarkError, match=message) as caught:
        rankings.read_ranking(given, ranking(tmp_path, text))
    assert "\n" not in str(caught.value)
    assert rankings.read_ranking(given, ranking(tmp_path, GOOD))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("q0,u.bvh,0,1", "no item 'u.bvh'"),  # this query searches t.bvh only
        ("q0,t.bvh,2,1", "must end after it starts"),
        ("q0,t.bvh,inf,1", "finite number, got 'inf'"),
        ("q0,t.bvh,0,1\nq0,t.bvh,0,1", "'t.bvh' is listed twice"),
    ],
)
def test_a_malformed_ranking_of_segments_is_one_line(tmp_path, row, message):
    path = ranking(tmp_path, f"query,item,start,end\n{row}\n")
    with pytest.raises(BenchmarkError, match=message):
        rankings.read_ranking(SEGMENTS, path)


def test_a_query_has_at_most_a_thousand_segments():
    many = [("t.bvh", float(n), n + 1.0) for n in range(1001)]
    with pytest.raises(BenchmarkError, match="at most 1000 segments are allowed; got 1001"):
        rankings.checked(SEGMENTS, {"q0": many}, "mine")
    assert rankings.checked(SEGMENTS, {"q0": many[:1000]}, "mine")


def test_a_huge_ranking_is_not_read(tmp_path):
    path = tmp_path / "ranking.csv"
    with path.open("wb") as file:
        file.truncate(10**12)  # a terabyte that occupies no space
    with pytest.raises(BenchmarkError, match=r"larger than \d+ bytes"):
        rankings.read_ranking(clip_set(["x", "x"]), path)


def test_pipes_and_folders_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(BenchmarkError, match="is not a file"):
            read_bytes(path)


def test_clips_that_are_not_listed_come_last_in_any_order():
    given = clip_set(["x", "x", "y", "y"])
    listed = {"a": ["c"], "b": ["a"], "c": ["d"], "d": ["c"]}
    scored = scores.score(given, rankings.checked(given, listed, "mine"))
    assert scored.values[0] == pytest.approx((1 / 2 + 1 / 3) / 2)  # b is second or third


def test_equal_distances_are_a_tie_whatever_the_order_of_the_rows(tmp_path):
    given = clip_set(["x", "x", "y"])
    texts = [
        "query,item,distance\n" + "".join(f"{q},{i},1.0\n" for q in "ab" for i in order if i != q)
        for order in ("abc", "cba")
    ]
    for text in texts:
        listed = rankings.read_ranking(given, ranking(tmp_path, text))
        assert scores.score(given, listed).values.tolist() == [0.75, 0.75]


def test_a_written_ranking_reads_as_it_was(tmp_path):
    listed = rankings.checked(SEGMENTS, {"q0": [("t.bvh", 0.1, 1.25, 0.5)]}, "mine")
    rankings.write_ranking(SEGMENTS, listed, tmp_path / "r.csv")
    assert rankings.read_ranking(SEGMENTS, tmp_path / "r.csv") == listed


COMMAND = """
import csv, json, sys
manifest = json.load(open(sys.argv[1]))
names = sorted(clip["name"] for clip in manifest["clips"])
rows = csv.writer(open(sys.argv[2], "w", newline=""))
rows.writerow(["query", "item"])
rows.writerows([q["name"], n] for q in manifest["queries"] for n in names if n != q["name"])
"""
FUNCTION = """
def by_name(manifest):
    names = sorted(clip["name"] for clip in manifest["clips"])
    return {q["name"]: [n for n in names if n != q["name"]] for q in manifest["queries"]}
"""


def test_a_command_and_a_function_give_the_same_ranking(tmp_path):
    (tmp_path / "command.py").write_text(COMMAND, encoding="utf-8")
    (tmp_path / "bench_function.py").write_text(FUNCTION, encoding="utf-8")
    given = clip_set(["x", "x", "y"])
    command = rankings.ranking_by(f"{sys.executable} {tmp_path}/command.py", given, tmp_path)
    function = rankings.ranking_by(f"{tmp_path}/bench_function.py:by_name", given, tmp_path)
    assert {q: [r.item for r in rows] for q, rows in command.items()} == {
        q: [r.item for r in rows] for q, rows in function.items()
    }


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("no.such:function", "cannot be imported"),
        ("no-such-command --fast", "cannot be run"),
        (f"{sys.executable} -c 'print(1)'", r"wrote no ranking \(exit code 0\): 1"),
        ("json:dumps", "must return a mapping"),
    ],
)
def test_a_method_that_fails_is_named(tmp_path, method, message):
    with pytest.raises(BenchmarkError, match=message):
        rankings.ranking_by(method, clip_set(["x", "x"]), tmp_path)


# --- data -----------------------------------------------------------------------------------------

BVH = "HIERARCHY\nROOT Hips\n{\n}\nMOTION\nFrames: 3\nFrame Time: .0083333\n1 0\n2 0\n3 0\n"


def data_file(content, **changed):
    given = {
        "file": "made/a.bvh", "made_from": ("cmu/a.bvh",), "rows": "", "frames": 3, "fps": 30.0,
        "sha256": hashlib.sha256(content).hexdigest(),
    }  # fmt: skip
    return data.DataFile(**{**given, **changed})


def test_files_are_made_verified_and_refused_when_they_differ(tmp_path):
    source, folder = tmp_path / "source", tmp_path / "data"
    source.mkdir()
    (source / "a.bvh").write_text(BVH, encoding="utf-8")
    good = data_file(BVH.encode(), file="x/a.bvh")
    rows = data.cut(BVH.encode(), 1, None, 1)
    part = data_file(rows, file="x/b.bvh", made_from=("made/x/a.bvh",), rows="1:")
    assert b"Frames: 2\n" in rows
    assert data.verify(folder, [good]) == ["x/a.bvh: missing"]
    assert data.prepare(folder, {"cmu": source}, [part, good]) == []
    assert data.verify(folder, [good, part]) == []
    (folder / "x" / "a.bvh").write_text(BVH + "4 0\n", encoding="utf-8")
    assert data.verify(folder, [good]) == ["x/a.bvh: the contents differ from the manifest"]
    other = data_file(b"other", file="x/c.bvh")
    wrong = data.prepare(folder, {"cmu": source}, [other])
    assert wrong == ["x/c.bvh: the contents differ from the manifest; check the source"]
    assert not (folder / "x" / "c.bvh").exists()


@pytest.mark.parametrize("name", ["../a", "/a", "a/../../b", "", "a\\b"])
def test_names_that_lead_out_of_the_folder_are_refused(tmp_path, name):
    with pytest.raises(BenchmarkError, match="not a path in the data folder"):
        data.inside(tmp_path, name)


@pytest.mark.cmu
def test_cmu_files_are_made_byte_for_byte_from_the_public_conversion(cmu_data, tmp_path):
    import tarfile

    with tarfile.open(cmu_data / "raw.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    names = [p.stem for p in (tmp_path / "raw").glob("*_??.bvh") if p.stem[0].isdigit()]
    source = tmp_path / "cmu"
    for name in names:
        folder = source / f"{int(name.split('_')[0]):03d}"
        folder.mkdir(parents=True, exist_ok=True)
        (tmp_path / "raw" / f"{name}.bvh").rename(folder / f"{name}.bvh")
    files = data.data_files()
    wanted = [f for f in files.values() if Path(f.made_from[0]).stem in names
              and f.made_from[0].startswith("cmu/")]  # fmt: skip
    assert len(wanted) > 8
    assert data.prepare(tmp_path / "data", {"cmu": source}, wanted) == []
    assert data.verify(tmp_path / "data", wanted) == []


def test_sentences_are_found_by_their_hashes(tmp_path, monkeypatch):
    from retrieval_bench import sentences

    asked = Query("s0", "01_01", "01", (), shown={"sha256": data.sha256(b"A person jumps.")})
    monkeypatch.setattr(
        sentences, "benchmark_set", lambda name: BenchmarkSet(name, "sentences", (), (asked,))
    )
    archive = tmp_path / "kit"
    archive.mkdir()
    (archive / "00001_annotations.json").write_text('["Somebody runs.", "A person jumps. "]')
    assert sentences.find_sentences(tmp_path / "data", archive) == (1, 1)
    assert list(sentences.sentences(tmp_path / "data").values()) == ["A person jumps."]
    path = tmp_path / "data" / sentences.FILE
    path.write_text(path.read_text().replace("jumps", "leaps"))
    with pytest.raises(BenchmarkError, match="has another hash"):
        sentences.sentences(tmp_path / "data")


# --- manifests ------------------------------------------------------------------------------------


def test_manifests_cover_the_labeled_sets_of_evaluate_except_the_built_in_corpus():
    from motionloom.evaluation.protocol_run import QUERY_SETS

    ours = {*CLIP_SETS, *QUERY_SETS} - {"corpus", "corpus-takes"}
    assert ours < set(sets.set_table())


@pytest.mark.parametrize("name", list(sets.set_table()))
def test_a_method_sees_no_labels(name, tmp_path):
    given = sets.benchmark_set(name)
    shown = given.manifest(tmp_path)
    keys = {key for part in ("clips", "queries") for each in shown[part] for key in each}
    assert not keys & {"label", "performer", "take", "marks", "occurrences", "correct", "original"}
    assert len(shown["queries"]) == len(given.queries) > 0
    assert {query.name for query in given.queries} == {each["name"] for each in shown["queries"]}


def test_every_file_has_a_source_with_a_license_a_hash_and_frames():
    files, sources = data.data_files(), json.loads((FOLDER / "manifests/sets.json").read_text())
    for name in sets.set_table():
        for file in sets.benchmark_set(name).files:
            assert file in files, file
    for each in files.values():
        first = each.made_from[0].split("/")[0]
        assert first == "made" or sources["sources"][first]["license"]
        assert re.fullmatch("[0-9a-f]{64}", each.sha256)
        assert each.frames > 0 or each.file.endswith(".glb")  # several animations
        assert all(name.startswith("made/") is (first == "made") for name in each.made_from)


def test_clips_are_those_of_evaluate():
    given = sets.benchmark_set("cmu-kinds")
    assert {query.label for query in given.queries} <= set(KINDS)
    apart = sets.benchmark_set("bandai-styles").queries[0]
    styles = {name.split("_")[1] for name in apart.items}
    assert apart.performer not in styles
    assert len(styles) == 6


def test_splits_never_divide_a_performer():
    with (FOLDER / "manifests" / "cmu-performers.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len({row["performer"] for row in rows}) == len(rows)
    assert {row["fold"] for row in rows} == set("01234")
    folds = {}
    for query in sets.benchmark_set("kit-cmu").queries:
        assert folds.setdefault(query.performer, query.shown["fold"]) == query.shown["fold"]
        assert query.label in query.items  # the take is ranked
    assert set(folds.values()) == {0, 1}


def test_films_are_described_by_the_options_of_the_renderer():
    from dataclasses import fields

    from benchmarks.films import Shot

    with (FOLDER / "manifests" / "video" / "films.csv").open() as file:
        row = next(csv.DictReader(file))
    assert {field.name for field in fields(Shot)} - {"detail"} < set(row)


def test_poses_are_those_of_motionloom(tmp_path):
    """A file with the joints of CMU, read by both."""
    path = tmp_path / "cmu30" / "a.bvh"
    path.parent.mkdir()
    path.write_text(walker(20), encoding="utf-8")
    mine = poses.joints(tmp_path, {"file": "cmu30/a.bvh"})
    motion = ml.load(path)
    names = list(poses.NAMES["cmu"])
    theirs = motion.positions()[:, [motion.skeleton.names.index(name) for name in names]]
    scale = np.linalg.norm(mine[0, 3] - mine[0, 0]) / np.linalg.norm(theirs[0, 3] - theirs[0, 0])

    def shape(points):
        return points - points[:1, :1]

    np.testing.assert_allclose(shape(mine), scale * shape(theirs.astype(float)), atol=1e-3)
    assert np.ptp(mine[:, 4]) > 1.0
    rows = poses.pose_rows(tmp_path, {"file": "cmu30/a.bvh"})
    assert rows.shape == (20, 15)


def walker(frames, seed=0):
    """A BVH file of a plain body whose joints turn at random."""
    joints = [
        ("Hips", 0, (0, 17, 0)), ("LeftUpLeg", 1, (1.5, -1, 0)), ("LeftLeg", 2, (0, -7, 0)),
        ("LeftFoot", 3, (0, -7, 1)), ("RightUpLeg", 1, (-1.5, -1, 0)), ("RightLeg", 2, (0, -7, 0)),
        ("RightFoot", 3, (0, -7, 1)), ("Spine", 1, (0, 4, 0)), ("Head", 2, (0, 5, 0)),
        ("LeftArm", 2, (3, 2, 0)), ("LeftForeArm", 3, (5, 0, 0)), ("LeftHand", 4, (4, 0, 0)),
        ("RightArm", 2, (-3, 2, 0)), ("RightForeArm", 3, (-5, 0, 0)), ("RightHand", 4, (-4, 0, 0)),
    ]  # fmt: skip
    lines, depth = ["HIERARCHY"], 0
    for k, (name, level, offset) in enumerate(joints):
        lines += ["}"] * (depth - level)
        channels = "6 Xposition Yposition Zposition" if k == 0 else "3"
        offset = (0, 0, 0) if k == 0 else offset
        lines += [
            f"{'ROOT' if k == 0 else 'JOINT'} {name}", "{", "OFFSET " + " ".join(map(str, offset)),
            f"CHANNELS {channels} Zrotation Yrotation Xrotation",
        ]  # fmt: skip
        if k + 1 == len(joints) or joints[k + 1][1] <= level:
            lines += ["End Site", "{", "OFFSET 0 0 1", "}"]
        depth = level + 1
    lines += ["}"] * depth
    turns = np.cumsum(np.random.default_rng(seed).normal(0, 4, (frames, 3 * len(joints))), axis=0)
    rows = [" ".join(f"{x:.4f}" for x in (0, 17, 0, *row)) for row in turns]
    head = ["MOTION", f"Frames: {frames}", "Frame Time: 0.0333333"]
    return "\n".join([*lines, *head, *rows, ""])


# --- documentation, result files and pages --------------------------------------------------------


def test_the_example_of_the_readme_is_a_method_of_at_most_ten_lines(tmp_path):
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    assert len(code.strip().splitlines()) <= 10
    labels = ["x", "x", "y", "y"]
    given = clip_set(labels)
    for n, item in enumerate(given.items):
        path = tmp_path / item["file"]
        path.write_text(walker(12 + n, seed=n // 2), encoding="utf-8")
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    name = re.search(r"^def (\w+)", code, re.MULTILINE)[1]
    assert f"mine.py:{name}" in text
    listed = rankings.ranking_by(f"{tmp_path}/mine.py:{name}", given, tmp_path)
    assert scores.score(given, listed).score == 1.0


def test_the_readme_counts_its_sets_and_its_commands_exist():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    every = [sets.benchmark_set(name) for name in sets.set_table()]
    count = sum(len(each.queries) for each in every)
    assert f"{len(every)} sets of public motion capture, with {count:,} queries" in text
    commands = re.findall(r"python -m retrieval_bench ([^`\n]+)", text)
    assert len(commands) > 6
    for line in commands:
        words = shlex.split(re.sub(r"\bSECONDS\b", "600", line))
        assert callable(_parser().parse_args(words).run)


@pytest.mark.parametrize("module", MODULES)
def test_modules_need_numpy_only(module):
    tree = ast.parse((FOLDER / "retrieval_bench" / f"{module}.py").read_text(encoding="utf-8"))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    assert names <= {*sys.stdlib_module_names, "numpy", "retrieval_bench"}


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__main__"])
def test_examples_of_the_modules_run(module):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    imported = importlib.import_module(f"retrieval_bench.{module}".removesuffix(".__init__"))
    assert doctest.testmod(imported, optionflags=flags).failed == 0


def test_commands_run_from_the_folder_without_motionloom(tmp_path):
    """The scorer, in a process that cannot import motionloom."""
    given = sets.benchmark_set("exercises")
    path = tmp_path / "ranking.csv"
    ranked = {
        q.name: sorted(q.items, key=lambda name, q=q: name not in q.correct) for q in given.queries
    }
    rankings.write_ranking(given, rankings.checked(given, ranked, "best"), path)
    block = "import sys; sys.modules['motionloom'] = None; import runpy;"
    run = f"{block} runpy.run_module('retrieval_bench', run_name='__main__', alter_sys=True)"
    result = tmp_path / "mine.json"
    done = subprocess.run(
        [sys.executable, "-c", run, "score", "exercises", str(path), "--result", str(result),
         "--method", "mine"],
        cwd=FOLDER, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("exercises: 1.0000 (1.0000-1.0000), first 1.0000, 35 queries")
    assert results.read_result(result)["sets"]["exercises"]["score"] == 1.0


def test_errors_of_commands_are_one_line(tmp_path, capsys):
    assert main(["score", "odd", str(tmp_path / "none.csv")]) == 2
    assert main(["score", "exercises", str(tmp_path / "none.csv")]) == 2
    assert main(["verify", str(tmp_path), "exercises"]) == 1
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith("error: there is no set 'odd'")
    assert err[1].endswith("none.csv does not exist")
    assert err[-1] == "... and 25 more"


METHODS = """
def nothing(m): return None
def failing(m): raise KeyError("no pose")
def number(m): return {q["name"]: 3 for q in m["queries"]}
def text(m): return {q["name"]: "walk" for q in m["queries"]}
def numbers(m): return {q["name"]: [1, 2] for q in m["queries"]}
def far(m): return {q["name"]: [("b", float("nan"))] for q in m["queries"]}
constant = 3
"""


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("odd.py:nothing", "must return a mapping"),
        ("odd.py:failing", "failed in .*odd.py:3: KeyError: 'no pose'"),
        ("odd.py:number", "results of 'a' must be a list"),
        ("odd.py:text", "results of 'a' must be a list"),
        ("odd.py:numbers", "expected a name, with or without a distance; got 1"),
        ("odd.py:far", "expected a finite number, got nan"),
        ("odd.py:constant", "is not a function"),
        ("odd.py:missing", "cannot be imported"),
        ("missing.py:odd", "cannot be imported"),
        ("broken.py:odd", "cannot be imported: invalid syntax"),
        ("no-such-command", "cannot be run"),
        ("odd 'quote", "cannot be run: No closing quotation"),
        (f"{sys.executable} -c 'print(3)'", r"wrote no ranking \(exit code 0\): 3"),
    ],
)
def test_a_wrong_method_is_one_line(tmp_path, monkeypatch, method, message):
    (tmp_path / "odd.py").write_text(METHODS)
    (tmp_path / "broken.py").write_text("def odd(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "odd", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(BenchmarkError, match=message) as caught:
        rankings.ranking_by(method, clip_set(["x", "x", "y", "y"]), tmp_path)
    assert "\n" not in str(caught.value)


def test_wrong_words_of_commands_are_one_line(tmp_path, capsys):
    given = sets.benchmark_set("exercises")
    path = tmp_path / "ranking.csv"
    ranked = {query.name: list(query.items) for query in given.queries}
    rankings.write_ranking(given, rankings.checked(given, ranked, "any"), path)
    score = ["score", "exercises", str(path), "--result"]
    wrong = tmp_path / "wrong.json"
    wrong.write_text("[]")
    for words, message in (
        ([*score, str(tmp_path / "none" / "r.json")], "none' of --result does not exist"),
        ([*score, str(wrong)], "is not a result file of this benchmark"),
        (["page", str(tmp_path / "none"), str(PAGE)], "contains no result files"),
        (["prepare", str(tmp_path), "cmo=."], "source: cmu, bandai, kaykit, ase, kit"),
        (["prepare", str(tmp_path), f"cmu={tmp_path}/none"], "none' of the source 'cmu' does not"),
        (["run", "exercises", "m:f", str(tmp_path)], "missing (34 more files are wrong)"),
    ):
        assert main(words) == 2
        out, err = capsys.readouterr()
        assert message in err
        assert err.count("\n") == 1
        assert not out  # nothing is scored in vain


def test_a_method_is_not_run_on_changed_data(tmp_path, capsys):
    for name in sets.benchmark_set("exercises").files:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(walker(20), encoding="utf-8")
    assert main(["run", "exercises", "m:f", str(tmp_path)]) == 2
    assert "the contents differ from the manifest" in capsys.readouterr().err


def test_files_of_sources_that_are_not_given_are_skipped(tmp_path, capsys):
    assert main(["prepare", str(tmp_path / "data"), f"kit={tmp_path}"]) == 1
    assert capsys.readouterr().err == "391 of 391 sentences are not in the KIT archive\n"


@pytest.mark.parametrize("path", sorted((FOLDER / "results").glob("*.json")), ids=lambda p: p.stem)
def test_result_files_are_complete(path):
    kept = results.read_result(path)
    assert kept["method"]
    assert kept["settings"]
    assert path.stat().st_size < 40_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda kept: kept["sets"]["exercises"]["values"].pop(), "must have 35 values"),
        (lambda kept: kept["sets"]["exercises"].update(score=0.99), "not the mean of its values"),
        (lambda kept: kept["sets"].update(odd={}), "no set 'odd'"),
        (lambda kept: kept["sets"]["exercises"].pop("low"), "is not a result file"),
        (lambda kept: kept.update(stopped={"exercises": 0}), "stopped after some seconds"),
        (lambda kept: kept.update(stopped=[3]), "is not a result file"),
    ],
)
def test_a_changed_result_file_is_refused(tmp_path, change, message):
    kept = json.loads((FOLDER / "results" / "statistics.json").read_text())
    change(kept)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(kept))
    with pytest.raises(BenchmarkError, match=message):
        results.read_result(path)


def test_a_method_that_takes_too_long_is_shown_in_the_table(tmp_path, capsys):
    path = tmp_path / "slow.json"
    words = ["--result", str(path), "--method", "slow", "--settings", "all pairs"]
    assert main(["stopped", "exercises", "600", *words]) == 0
    kept = results.read_result(path)
    assert kept["stopped"] == {"exercises": 600.0}
    assert kept["sets"] == {}
    row = next(line for line in results.leaderboard([kept]).splitlines() if "slow" in line)
    assert [cell.strip() for cell in row.split("|")[1:6]] == ["`slow`", "", "", "", "over 600 s"]
    fast = json.loads((FOLDER / "results" / "chance.json").read_text())["sets"]["exercises"]
    results.keep(path, {}, {"exercises": fast})
    kept = results.read_result(path)
    assert "stopped" not in kept
    assert kept["settings"] == "all pairs"
    assert main(["stopped", "exercises", "600", *words]) == 0
    assert "exercises" not in results.read_result(path)["sets"]
    for seconds in ("0", "nan", "inf"):
        assert main(["stopped", "exercises", seconds, *words]) == 2
    capsys.readouterr()


def test_result_files_write_the_same_leaderboard(tmp_path):
    copy = tmp_path / "leaderboard.md"
    text = PAGE.read_text(encoding="utf-8")
    copy.write_text(text, encoding="utf-8")
    assert main(["page", str(FOLDER / "results"), str(copy)]) == 0
    assert copy.read_text(encoding="utf-8") == text


def test_our_results_are_those_of_the_page_on_evaluation():
    """The same numbers from two scorers: rankings of `evaluate`, scored by the benchmark."""
    page = (ROOT / "docs" / "evidence" / "evaluation.md").read_text(encoding="utf-8")
    heads = {}
    compared = 0
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if line.startswith("| | "):
            heads = dict(enumerate(cells))
        name = re.match(r"`([^`]+)`", cells[0]) if cells else None
        stems = {"dtw: default": "dtw", "statistics": "statistics", "dtw-clip": "dtw-clip"}
        if name is None or name[1] not in stems:
            continue
        kept = results.read_result(FOLDER / "results" / f"{stems[name[1]]}.json")["sets"]
        for k, cell in enumerate(cells):
            figure = re.match(r"\**(\d\.\d{3})\** \((\d\.\d\d)-(\d\.\d\d)\)", cell)
            if figure and heads.get(k) in kept:
                each = kept[heads[k]]
                mine = (each["score"], each["low"], each["high"])
                theirs = [float(number) for number in figure.groups()]
                assert mine[0] == pytest.approx(theirs[0], abs=6e-4)
                assert mine[1:] == pytest.approx(theirs[1:], abs=0.0051)
                compared += 1
    assert compared == 2 * 8 + 3


def test_the_page_states_the_agreement_of_both_annotations():
    rows = agreement.agreements()
    text = PAGE.read_text(encoding="utf-8")
    for row in rows:
        assert (
            f"| {row.label} | {row.first} | {row.second} | {row.matched} | {row.iou:.2f} | "
            f"{row.boundary:.2f} | {row.kappa:.2f} |" in text
        )


def test_agreement_counts_what_only_one_annotation_has(tmp_path):
    first = [Place("t", 1.0, 2.0), Place("t", 4.0, 5.0)]
    again = [Place("t", 1.0, 1.8), Place("t", 7.0, 8.0), Place("t", 9.0, 9.9)]
    skipped = [Place("t", 9.0, 10.0)]
    counts = agreement._compared(first, again, skipped, 300)
    assert counts[:3] == (2, 2, [pytest.approx(0.8)])  # the optional segment is not compared
    assert len(counts[4]) == 270
    assert agreement.cohen_kappa([True, False, True], [True, False, True]) == 1.0
