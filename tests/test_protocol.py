"""The evaluation protocol with held-out sets: its sets, page and command."""

import csv
import io
import json
import pickle
from importlib import resources

import numpy as np
import pytest
from commands import ran

import motionloom as ml
from motionloom.errors import InvalidInput, LibraryError
from motionloom.evaluation import labeled_sets
from motionloom.evaluation import protocol_run as query_sets
from motionloom.evaluation.labeled_sets import (
    ClipSetSource,
    DataFolder,
    LabeledClip,
    LabeledSet,
    clip_set,
)
from motionloom.evaluation.protocol import (
    CLIP_CANDIDATES,
    SetScores,
    bootstrap,
    chosen_elsewhere,
    each_setting,
    judged,
    score_clips,
)
from motionloom.evaluation.protocol_run import (
    MarkedQuery,
    marked_places,
    query_set,
    score_queries,
)
from motionloom.search.methods import ClipStatistics, Dtw, Emd

FEW = {"statistics": (ClipStatistics(), ClipStatistics(trend_weight=0.0)), "emd": (Emd(),)}


def scored(
    name, good, bad, labels=("a", "a", "b", "b"), performers=("x", "y", "x", "y"), source=""
):
    """A set where setting `one` has `good` and the default `bad`."""
    values = {"default": np.array(bad), "one": np.array(good)}
    other = {"default": np.full(len(labels), 0.5)}
    both = {"method": values, "other": other}
    return SetScores(name, labels, performers, both, both, len(labels), source or name)


def test_a_set_never_chooses_its_own_setting():
    likes = scored("likes", [1.0] * 4, [0.5] * 4)
    hates = scored("hates", [0.2] * 4, [0.6] * 4)
    third = scored("third", [0.9] * 4, [0.8] * 4)
    sets = [likes, hates, third]
    assert chosen_elsewhere(sets, "method", "likes") == "default"  # 0.55 and 0.7
    assert chosen_elsewhere(sets, "method", "hates") == "one"
    results = judged(sets, default="method")
    assert results.scores["likes"]["method"].score == 0.5
    assert results.scores["likes"]["method"].best_here == 1.0
    assert results.scores["hates"]["method"].score == pytest.approx(0.2)
    assert results.scores["hates"]["method"].setting == "one"
    assert results.mean("other") == 0.5
    assert not results.may_be_default("method") and not results.may_be_default("other")
    json.dumps(results.to_json())


def test_sets_of_the_same_clips_are_held_out_together():
    first = scored("first", [1.0] * 4, [0.5] * 4, source="clips")
    second = scored("second", [1.0] * 4, [0.5] * 4, source="clips")
    other = scored("other", [0.1] * 4, [0.9] * 4)
    assert chosen_elsewhere([first, second, other], "method", "first") == "default"
    assert chosen_elsewhere([first, second, other], "method", "other") == "one"


def test_performers_and_classes_are_held_out_within_the_set():
    # The setting is good for class a and bad for class b; for performers it makes no difference.
    only = scored("only", [1.0, 1.0, 0.0, 0.0], [0.4] * 4)
    outcome = judged([only], default="method").scores["only"]["method"]
    assert outcome.setting == "default" and outcome.score == pytest.approx(
        0.4
    )  # nothing to choose on
    assert outcome.without_class == pytest.approx(0.2)  # b chooses for a: 0.4; a for b: 0.0
    assert outcome.without_performer == pytest.approx(0.5)
    assert outcome.worst == pytest.approx(0.4)


def test_a_method_within_the_interval_may_be_the_default():
    rng = np.random.default_rng(1)
    near, far = rng.uniform(0.8, 1.0, (2, 200))
    labels, performers = ("a",) * 200, ("x",) * 200
    both = {
        "best": {"default": near + 0.001},
        "near": {"default": near},
        "far": {"default": far - 0.1},
    }
    results = judged([SetScores("s", labels, performers, both, both, 200, "s")], default="near")
    assert results.may_be_default("best") and results.may_be_default("near")
    assert not results.may_be_default("far")
    low, high = bootstrap(near)
    assert low < near.mean() < high and high - low < 0.03
    spread = each_setting(scored("s", [1.0] * 4, [0.5] * 4), "method")
    assert list(spread.precisions) == ["method", "method: default", "method: one"]


# --- sets --------------------------------------------------------------------------------------


def small(data):
    for action in ("walk", "kick_front_high_right", "jump_up"):
        for performer in range(3):
            motion = ml.demo.clip(action, performer=performer)
            yield LabeledClip(motion.name, motion, action.split("_")[0], str(performer))


@pytest.fixture
def sets(monkeypatch):
    """Two small sets in addition to the built-in ones, and one of queries."""
    monkeypatch.setitem(labeled_sets.CLIP_SETS, "small", ClipSetSource(small, "small"))
    apart = ClipSetSource(small, "small", apart=True)
    monkeypatch.setitem(labeled_sets.CLIP_SETS, "small-apart", apart)

    def kicks(data):
        motions = [ml.demo.clip("kick_front_high_right", performer=p) for p in (0, 1)]
        places = tuple((m.name, 10 / 30, 40 / 30) for m in motions)
        return motions, [MarkedQuery(place, "kick", "0", places) for place in places]

    monkeypatch.setitem(query_sets.QUERY_SETS, "kicks", kicks)


def test_a_set_is_made_once_and_scored(sets, tmp_path):
    data = DataFolder(None, tmp_path)
    labeled = clip_set("small", data)
    assert len(labeled.clips) == 9 and set(labeled.labels) == {"walk", "kick", "jump"}
    made = (tmp_path / "small.loom").stat().st_mtime_ns
    apart = clip_set("small-apart", data)
    assert (tmp_path / "small.loom").stat().st_mtime_ns == made
    first = apart.performers[0]
    assert [apart.performers[c] for c in np.flatnonzero(~apart.answers(0))] == [first] * 3
    results = score_clips(labeled, FEW)
    assert results.precisions["statistics"]["default"] == pytest.approx(np.ones(9))
    assert set(results.precisions["statistics"]) == {"default", "trend_weight=0.0"}
    usual = clip_set("small", data).library
    again = ml.Library(usual.path).evaluate(
        labels=dict(zip(labeled.clips, labeled.labels, strict=True)), methods=["emd"]
    )
    assert results.precisions["emd"]["default"].mean() == pytest.approx(
        again.methods["emd"].mean_average_precision
    )


def test_queries_are_searched_and_scored(sets, tmp_path):
    given = query_set("kicks", DataFolder(None, tmp_path))
    results = score_queries(given, {"dtw": (Dtw(), Dtw(rank="distance"))})
    assert results.precisions["dtw"]["default"].tolist() == [1.0, 1.0]
    assert results.labels == ("kick", "kick") and results.items == 2


def test_the_marks_of_cmu_takes_are_whole():
    with resources.files("motionloom.evaluation").joinpath("cmu_marks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60 and len({(row["take"], row["action"]) for row in rows}) == 60
    for row in rows:
        places = marked_places(row["take"], row["occurrences"])
        others = marked_places(row["take"], row["optional"])
        assert len(places) >= 2 and row["action"]
        assert all(start < end for _, start, end in places + others)
        # Repetitions share their ends, or a little before and after them.
        for (_, *place), (_, *other) in zip(places[:-1], places[1:], strict=True):
            assert place[1] - other[0] < 0.5 * (place[1] - place[0])


@pytest.mark.slow
@pytest.mark.cmu
def test_marked_actions_of_cmu_takes_are_found(cmu_data, cmu30, tmp_path):
    """Nothing of the search was chosen on these takes but that movements are searched nearby."""
    (tmp_path / "cmu30").symlink_to(cmu30)
    given = query_set("cmu-marks", DataFolder(cmu_data, tmp_path))
    results = score_queries(given, {"dtw": (Dtw(), Dtw(rank="distance"))}).precisions["dtw"]
    assert len(results["default"]) == len(given.queries) > 200
    assert results["default"].mean() > 0.98 > results["rank=distance"].mean()
    assert np.mean(results["default"] < 0.8) < 0.02


def test_the_command_judges_and_writes_a_page(sets, tmp_path):
    keep, page = tmp_path / "keep", tmp_path / "evaluation.md"
    words = ["evaluate", "--sets", "small,kicks", "--keep", keep, "--methods", "statistics,dtw"]
    done = ran(*words, "--workers", "1", "-o", page, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["clips"]["default"] == "statistics" and answer["page"] == str(page)
    score = answer["clips"]["sets"]["small"]["methods"]["statistics"]
    assert score["score"] == 1.0 and score["setting"] == "default"
    names = {"statistics", "dtw-angles"}
    assert set(answer["clips"]["mean"]) == names | {f"{name} (plain)" for name in names}
    assert answer["queries"]["sets"]["kicks"]["items"] == 2
    text = page.read_text(encoding="utf-8")
    assert "| `statistics` (the default) | **1.000** (1.00-1.00) |" in text
    page.write_text(f"# Mine\n\n{text[text.index('<!--') :]}\nafter\n", encoding="utf-8")
    done = ran(*words, "--workers", "1", "-o", page)
    assert "statistics" in done.stdout and "may be the" in done.stdout
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Mine") and text.endswith("after\n")


@pytest.mark.slow
def test_a_library_of_the_users_own_is_one_more_set(sets, tmp_path):
    lib = ml.Library.create(tmp_path / "own.loom")
    for name in ("walk", "march"):
        for performer in (0, 1):
            lib.add_motion(ml.demo.clip(name, performer=performer), labels=[name])
    done = ran(
        "evaluate", lib.path, "--sets", "small", "--keep", tmp_path, "--methods", "statistics",
        "--workers", "1", "--json",
    )  # fmt: skip
    assert list(json.loads(done.stdout)["clips"]["sets"]) == ["small", "own"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "evaluate needs a library or labeled sets (--sets)"),
        (["--sets", "odd"], "there is no labeled set 'odd'; choose from corpus, cmu-groups"),
        (["--sets", "cmu-groups"], "is required; set its folder with --data"),
        (
            ["--sets", "bandai", "--data", "."],
            "bandai.tar.xz is required, but the folder . does not contain it",
        ),
        (["--sets", "corpus", "-o", "report"], "with --sets, the output must be a .md file"),
        (["--sets", "corpus", "--methods", "odd"], "there is no clip measure 'odd'"),
    ],
)
def test_bad_input_is_reported_in_one_line(words, message, tmp_path):
    done = ran("evaluate", *words, "--keep", tmp_path / "keep")
    assert done.returncode == 2 and message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_page_without_marks_and_a_set_without_performers_are_refused(sets, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Mine\n", encoding="utf-8")
    done = ran("evaluate", "--sets", "kicks", "--keep", tmp_path, "-o", page)
    assert (
        done.returncode == 2
        and "the page must contain the markers <!-- protocol -->" in done.stderr
    )
    assert page.read_text(encoding="utf-8") == "# Mine\n"
    lib = ml.Library.create(tmp_path / "small.loom")
    lib.add_motion(ml.demo.clip("walk"), labels=["walk"])
    with pytest.raises(
        LibraryError, match="every motion of a labeled set must have a class and a perf"
    ):
        clip_set("small", DataFolder(None, tmp_path))
    single = LabeledSet("one", lib, lib.names, ("walk",), ("0",))
    with pytest.raises(
        InvalidInput, match="one: an evaluation requires at least two clips with the same label"
    ):
        score_clips(single, FEW)


# --- what must hold ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.cmu
def test_the_default_is_the_best_or_near_it_on_every_set(cmu_data, cmu30, cmu_clips, tmp_path):
    """About five minutes: all measures but the slow two, settings chosen without the set."""
    (tmp_path / "cmu30").symlink_to(cmu30)
    (tmp_path / "cmu-clips").symlink_to(cmu_clips)
    data = DataFolder(cmu_data, tmp_path)
    quick = {n: CLIP_CANDIDATES[n] for n in ("statistics", "dtw-clip", "emd", "dtw-e15")}
    names = ("corpus", "cmu-groups", "cmu-kinds", "exercises", "bandai", "bandai-styles")
    results = judged([score_clips(clip_set(n, data), quick) for n in names], default="statistics")
    print({n: round(each["statistics"].score, 3) for n, each in results.scores.items()})
    assert results.mean("statistics") > 0.85 and results.may_be_default("statistics")
    for each in results.scores.values():
        assert each["statistics"].behind[0] > -0.02


def test_changed_data_and_code_in_data_are_refused(tmp_path):
    data = DataFolder(None, tmp_path)
    with pytest.raises(InvalidInput, match="required"):
        data.files("kaykit", "*.glb")
    (tmp_path / "kaykit").mkdir()
    with pytest.raises(InvalidInput, match="is missing; kaykit has 7 files"):
        data.files("kaykit", "*.glb")
    for name in labeled_sets.manifest("kaykit"):
        (tmp_path / "kaykit" / name).write_bytes(b"other")
    with pytest.raises(InvalidInput, match=r"differ from the evaluated data.*kaykit\.sha256"):
        data.files("kaykit", "*.glb")
    harmful = io.BytesIO(pickle.dumps(print))
    with pytest.raises(pickle.UnpicklingError, match="is not an array"):
        labeled_sets._Arrays(harmful).load()


def test_every_new_set_names_its_source_and_license():
    for path in labeled_sets._MANIFESTS.glob("*.sha256"):
        head = [line for line in path.read_text(encoding="utf-8").splitlines() if line[0] == "#"]
        assert any("https://" in line for line in head), path
        assert any("commit" in line for line in head), path
        assert all(len(digest) == 64 for digest in labeled_sets.manifest(path.stem).values())
