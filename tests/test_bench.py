"""Benchmarks: timing, rows of results, the command and its errors."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tarfile
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import (
    BENCHMARKS,
    Settings,
    benchmark_module,
    cost_model,
    report,
    rivals,
    web,
    whole_web,
)
from benchmarks import takes as where
from benchmarks.__main__ import app
from benchmarks.headlines import HEADLINES, fallen, not_compared, slower
from benchmarks.process import yardstick
from benchmarks.report import keep, kept
from benchmarks.rivals import Package
from benchmarks.rivals.numpy_kinematics import by_components, by_matrices
from benchmarks.takes import takes
from benchmarks.timing import Clocks, Contestant, Missing, compare, timings
from motionloom import Library, demo
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.motion.kinematics.forward import joint_positions


class Stage:
    """Contestants of given durations, on a simulated clock."""

    def __init__(self):
        self.now = 0.0
        self.played = []
        self.clocks = Clocks(wall=lambda: self.now, cpu=lambda: self.now / 2)

    def contestant(self, name, *durations, note=""):
        calls = iter([*durations] * 1000)

        def run():
            self.played.append(name)
            self.now += next(calls)

        return Contestant(name, run, note)


def test_each_round_starts_with_another_contestant():
    stage = Stage()
    timings([stage.contestant(name, 1.0) for name in "abc"], rounds=4, clocks=stage.clocks)
    assert "".join(stage.played) == "aabbcc" + "abc" + "bca" + "cab" + "abc"


def test_the_figure_is_the_median_over_the_rounds():
    stage = Stage()
    warm_up_and_trial = (4.0, 4.0)
    slow_round = stage.contestant("a", *warm_up_and_trial, 1.0, 50.0, 2.0)
    (timing,) = timings([slow_round], rounds=3, clocks=stage.clocks)
    assert (timing.wall_s, timing.cpu_s, timing.rounds) == (2.0, 1.0, 3)


def test_quick_contestants_are_called_often_enough_for_the_clock():
    stage = Stage()
    (timing,) = timings([stage.contestant("a", 0.001)], rounds=2, clocks=stage.clocks)
    assert len(stage.played) == 2 + 2 * 20
    assert timing.wall_s == pytest.approx(0.001)


def test_slow_contestants_run_in_fewer_rounds_but_at_least_in_one():
    stage = Stage()
    field = [stage.contestant("quick", 1.0), stage.contestant("slow", 4.0)]
    quick, slow = timings(field, rounds=5, budget_s=10.0, clocks=stage.clocks)
    assert (quick.rounds, slow.rounds) == (5, 2)
    (endless,) = timings([stage.contestant("c", 99.0)], budget_s=10.0, clocks=stage.clocks)
    assert endless.rounds == 1


def test_compilation_time_is_not_counted():
    stage = Stage()
    (timing,) = timings([stage.contestant("a", 40.0, 15.0)], budget_s=20.0, clocks=stage.clocks)
    assert (timing.wall_s, timing.rounds) == (15.0, 1)


def test_rounds_must_be_positive():
    with pytest.raises(InvalidInput, match="rounds must be at least 1; got 0"):
        timings([], rounds=0)


def test_the_ratio_is_how_many_times_faster_ours_is():
    stage = Stage()
    rows = compare(
        "reading",
        stage.contestant("ours", 2.0, note="float32"),
        [stage.contestant("theirs", 5.0, note="float64"), Missing("gone", "does not install")],
        rounds=3,
        clocks=stage.clocks,
    )
    assert [row.rival for row in rows] == ["theirs", "gone"]
    assert (rows[0].ours_s, rows[0].rival_s, rows[0].ratio) == (2.0, 5.0, 2.5)
    assert (rows[0].cpu_ratio, rows[0].note) == (2.5, "float32; float64")


def test_a_missing_rival_keeps_its_row_with_the_reason():
    stage = Stage()
    ours = stage.contestant("ours", 2.0)
    (row,) = compare("reading", ours, [Missing("gone", "why")], rounds=1, clocks=stage.clocks)
    assert row.as_dict() | {"what": "reading", "note": "why"} == row.as_dict()
    assert (row.ours_s, row.rival_s, row.ratio) == (2.0, None, None)


# --- rivals -----------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path / "motionloom" / "rivals"


def test_a_rival_that_is_not_there_is_reported_with_the_command_that_installs_it(cache):
    missing = rivals.absence(Package("no-such-rival", "no_such_rival.bvh"), "load")
    assert missing == Missing(
        "no-such-rival",
        "not installed; `python -m benchmarks load --install-rivals` installs it",
    )


def test_a_rival_that_breaks_on_import_is_reported_with_its_error(cache):
    folder = cache / "broken-rival"
    folder.mkdir(parents=True)
    (folder / "broken_rival_a.py").write_text("import a_module_nobody_has\n")
    (folder / "broken_rival_b.py").write_text("raise RuntimeError('needs a display')\n")
    first, second = (Package("broken-rival", f"broken_rival_{x}") for x in "ab")
    rivals.open_cache([first])
    assert "it needs a_module_nobody_has" in rivals.absence(first, "load").reason
    assert "RuntimeError: needs a display" in rivals.absence(second, "load").reason


def test_a_cached_rival_can_be_imported_but_comes_last_on_the_path(cache):
    (cache / "some-rival").mkdir(parents=True)
    (cache / "some-rival" / "some_rival.py").write_text("")
    package = Package("some-rival", "some_rival")
    rivals.open_cache([package])
    assert sys.path[-1] == str(cache / "some-rival")
    assert rivals.absence(package, "load") is None


def test_an_installation_is_complete_or_absent(cache, monkeypatch):
    def half_done(name, target):
        (target / "half.py").write_text("")
        return "no matching distribution" if name == "bad" else None

    monkeypatch.setattr(rivals, "pip_install", half_done)
    said = []
    failures = rivals.install([Package("bad", "bad"), Package("good", "good")], log=said.append)
    assert failures == {"bad": "no matching distribution"}
    assert [path.name for path in cache.iterdir()] == ["good"]
    assert len(said) == 2
    rivals.install([Package("good", "good")], log=said.append)
    assert len(said) == 2, "installed packages are not installed again"


# --- the parts of `load` ----------------------------------------------------------------


@pytest.mark.parametrize("way", [by_components, by_matrices])
@pytest.mark.parametrize("frames", [1, 40])
def test_the_numpy_rivals_are_correct_and_do_not_change_their_input(rng, way, frames):
    parents = [-1, 0, 1, 1, 0]
    turns = rng.normal(size=(frames, 5, 4))
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    root, offsets = rng.normal(size=(frames, 3)), rng.normal(size=(5, 3))
    before = turns.copy()
    expected = joint_positions(turns, root, parents, offsets)
    np.testing.assert_allclose(way(turns, root, parents, offsets), expected, atol=1e-5)
    np.testing.assert_array_equal(turns, before)


BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT Chest
  {
    OFFSET 0 50 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    End Site
    {
      OFFSET 0 40 0
    }
  }
}
MOTION
Frames: %d
Frame Time: 0.0333333
"""


@pytest.fixture
def folder(tmp_path, rng):
    place = tmp_path / "takes"
    place.mkdir()
    for frames in (3, 30):
        rows = rng.normal(size=(frames, 9)).round(4)
        lines = "\n".join(" ".join(map(str, row)) for row in rows.tolist())
        (place / f"take_{frames}.bvh").write_text(BVH % frames + lines + "\n")
    return place


def test_the_files_are_chosen_by_the_seed_one_per_size(folder, tmp_path):
    for number in range(20):
        (folder / f"more_{number}.bvh").write_text("x" * 100 * number)

    def choose(seed):
        return takes(Settings(data=folder, files=5, seed=seed), tmp_path, log=print).paths

    assert choose(1) == choose(1) != choose(2)
    sizes = [path.stat().st_size for path in choose(1)]
    assert sizes == sorted(sizes)
    assert len(sizes) == 5


def test_without_any_data_the_built_in_corpus_is_written_and_used(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("MOTIONLOOM_DATA", raising=False)
    monkeypatch.setattr(where, "data_folder", lambda: None)
    monkeypatch.setattr(demo, "write", lambda place: shutil.copytree(folder, place))
    chosen = takes(Settings(), tmp_path / "scratch", log=print)
    assert chosen.source == "the built-in corpus"
    assert [path.name for path in chosen.paths] == ["take_3.bvh", "take_30.bvh"]


def test_the_cmu_archive_is_unpacked_once_and_credited(folder, cache, monkeypatch):
    data = folder.parent / "data"
    data.mkdir()
    with tarfile.open(data / "cmu30.tar.xz", "w:xz") as tar:
        tar.add(folder, "cmu30")
    monkeypatch.setenv("MOTIONLOOM_DATA", str(data))
    said = []
    for _ in range(2):
        chosen = takes(Settings(), folder, log=said.append)
        assert [path.name for path in chosen.paths] == ["take_3.bvh", "take_30.bvh"]
        assert "mocap.cs.cmu.edu" in chosen.credit
    assert len(said) == 1


def test_query_expansion_costs_about_a_search_per_member():
    assert web.expansion_cost(2.4, 99, 0.024) == pytest.approx(1.0)  # as in the paper
    with pytest.raises(MotionloomError, match=r"18\.\d times as long.*webs opened again"):
        web.expansion_cost(6.1, 100, 0.0033)


def test_the_library_of_a_whole_web_is_a_copy_of_files_or_of_a_library(folder, tmp_path):
    kept = Library.create(tmp_path / "kept.loom")
    kept.add(folder, workers=1)
    for data in (folder, kept.path):
        with whole_web._copy(Settings(data=data), lambda line: None) as whole:
            assert whole.library.names == kept.names and whole.library.path != kept.path
            assert whole.library.store.damage() == []


def test_a_folder_without_motion_is_refused(tmp_path):
    with pytest.raises(
        InvalidInput, match=r"data must be a folder with \.bvh files; there are none in"
    ):
        takes(Settings(data=tmp_path), tmp_path, log=print)
    with pytest.raises(InvalidInput, match=r"data must be a folder with \.bvh files"):
        takes(Settings(data=tmp_path / "none"), tmp_path, log=print)


# --- the report and the command ---------------------------------------------------------


REPORT = {
    "name": "load",
    "command": "python -m benchmarks load",
    "data": "2 files",
    "credit": "Thanks.",
    "machine": {
        "cpu": "Z80", "cores": 1, "system": "CP/M", "python": "3.11", "numpy": "2.0",
        "numba": "0.61", "load_average": 0.5, "date": "2026-01-01",
    },
    "results": [
        {"what": "reading", "ours_s": 0.002, "rival": "a", "rival_s": 0.05, "ratio": 25.0,
         "cpu_ratio": 24.0, "note": "x | y"},
        {"what": "reading", "ours_s": 0.002, "rival": "b", "rival_s": None, "ratio": None,
         "cpu_ratio": None, "note": "not installed"},
    ],
}  # fmt: skip


def test_markdown_contains_command_date_machine_credit_and_every_row():
    text = report.markdown(REPORT)
    assert "`python -m benchmarks load` on 2026-01-01: 2 files." in text
    assert "Z80" in text and "Thanks." in text
    assert "| reading | 2.00 ms | a | 50.0 ms | 25.0 | 24.0 | x \\| y |" in text
    assert "| reading | 2.00 ms | b | - | - | - | not installed |" in text


def test_only_the_section_of_the_benchmark_is_rewritten(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Head\n<!-- bench load -->\nold\n<!-- end load -->\ntail\n")
    report.write_section(page, "load", "new\n")
    assert page.read_text() == ("# Head\n<!-- bench load -->\n\nnew\n\n<!-- end load -->\ntail\n")
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]
    with pytest.raises(InvalidInput, match="must have the lines <!-- bench blend -->"):
        report.write_section(page, "blend", "new\n")


def test_the_page_is_written_from_stored_reports(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- bench load -->\n<!-- end load -->\n<!-- bench all -->\n<!-- end all -->\n"
    )
    assert keep({**REPORT, "seconds": 90.0}, tmp_path / "kept").name == "load.json"
    words = ["page", "--results", str(tmp_path / "kept"), "--markdown", str(page)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert "| reading | 2.00 ms | a | 50.0 ms |" in text
    assert "| `python -m benchmarks load` | reading BVH and forward kinematics | 90.0 s |" in text
    assert "All benchmarks together take 2 min." in text


@pytest.mark.parametrize("content", ["no JSON", "{}", '{"results": []}', "[]"])
def test_a_file_that_is_not_a_report_is_refused(tmp_path, content):
    with pytest.raises(
        InvalidInput, match=r"has no reports\. To create them, run: python -m benchmarks all"
    ):
        kept(tmp_path)
    (tmp_path / "load.json").write_text(content)
    with pytest.raises(InvalidInput, match=r"load\.json is not a report of python -m benchmarks"):
        kept(tmp_path)
    with pytest.raises(InvalidInput, match="page requires --results DIR and --markdown FILE"):
        CliRunner().invoke(app, ["page"], catch_exceptions=False)


def test_a_failing_benchmark_does_not_stop_the_others(tmp_path, monkeypatch):
    def measured(name, options):
        if name == "dtw":
            raise MotionloomError("the benchmark process exited with code 1")
        return {**REPORT, "name": name, "seconds": 1.0, "rounds": options["rounds"]}

    monkeypatch.setattr("benchmarks.__main__.measured", measured)
    done = CliRunner().invoke(app, ["all", "--results", str(tmp_path)])
    assert done.exit_code == 1 and "could not be measured: dtw" in done.stderr
    reports = kept(tmp_path)
    assert [each["name"] for each in reports] == sorted(set(BENCHMARKS) - {"dtw"})
    assert {each["name"]: each["rounds"] for each in reports}["load"] == 7
    assert all("--rounds" not in each["command"] for each in reports)


def test_sections_can_be_in_pages_of_the_folder(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Head\n<!-- bench all -->\n<!-- end all -->\n")
    (tmp_path / "page").mkdir()
    other = tmp_path / "page" / "library.md"
    other.write_text("<!-- bench load -->\nold\n<!-- end load -->\n")
    report.write_pages(page, [{**REPORT, "seconds": 90.0}])
    assert "| reading | 2.00 ms | a | 50.0 ms |" in other.read_text()
    assert "old" not in other.read_text()
    assert "`python -m benchmarks load`" in page.read_text()
    page.write_text(page.read_text() + "<!-- bench load -->\n<!-- end load -->\n")
    with pytest.raises(InvalidInput, match="once each"):
        report.write_section(page, "load", "new\n")


def test_figures_are_only_in_generated_sections():
    page = Path(__file__).parents[1] / "docs" / "evidence" / "benchmarks.md"
    pages = "".join(path.read_text(encoding="utf-8") for path in report.pages(page))
    for name in [*BENCHMARKS, "all"]:
        assert pages.count(f"<!-- bench {name} -->") == pages.count(f"<!-- end {name} -->") == 1
    prose = re.sub(r"<!-- bench (\w+) -->.*?<!-- end \1 -->", "", pages, flags=re.DOTALL)
    typed = re.findall(r"\d[\d.,]* ?(?:ns|µs|ms|s|min|MB|GB|%|cm|times)\b.*", prose)
    assert not typed


def test_stored_results_write_the_same_pages(tmp_path):
    docs = Path(__file__).parents[1] / "docs" / "evidence"
    stored = Path(__file__).parents[1] / "benchmarks" / "results"
    shutil.copytree(docs / "benchmarks", tmp_path / "benchmarks")
    for name in ("benchmarks.md", "scale.md"):
        shutil.copy(docs / name, tmp_path)
    report.write_pages(tmp_path / "benchmarks.md", kept(stored))
    cost_model.main(str(stored), str(tmp_path / "scale.md"))
    for path in tmp_path.rglob("*.md"):
        committed = (docs / path.relative_to(tmp_path)).read_text(encoding="utf-8")
        assert path.read_text(encoding="utf-8") == committed, (
            f"{path.name} is out of date: python -m benchmarks page --results benchmarks/results "
            "--markdown docs/evidence/benchmarks.md"
        )


def test_all_runs_the_options_of_the_published_figures(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    names = [*BENCHMARKS, "all"]
    page.write_text("".join(f"<!-- bench {n} -->\n<!-- end {n} -->\n" for n in names))
    monkeypatch.setattr(
        "benchmarks.__main__.measured",
        lambda name, options: {**REPORT, "name": name, "seconds": 60.0},
    )
    words = ["all", "--results", str(tmp_path / "kept"), "--markdown", str(page), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    commands = {each["name"]: each["command"] for each in json.loads(done.stdout)}
    stored = Path(__file__).parents[1] / "benchmarks" / "results"
    for each in kept(stored):
        assert each["command"].replace(" --before PROGRAM", "") == commands[each["name"]]
    assert f"All benchmarks together take {len(BENCHMARKS)} min." in page.read_text()
    done = CliRunner().invoke(app, [*words[:1], "--seed", "5", *words[1:]])
    commands = {each["name"]: each["command"] for each in json.loads(done.stdout)}
    assert commands["repair"] == "python -m benchmarks repair --files 25 --seed 5"


def test_a_benchmark_without_a_stored_report_says_so(tmp_path):
    page = tmp_path / "page.md"
    names = ("load", "clean", "all")
    page.write_text("".join(f"<!-- bench {n} -->\n<!-- end {n} -->\n" for n in names))
    report.write_pages(page, [{**REPORT, "seconds": 90.0}])
    assert "No report is stored. `python -m benchmarks clean` measures it." in page.read_text()


def test_an_unknown_name_lists_all_benchmarks():
    with pytest.raises(InvalidInput, match="unknown benchmark 'lod'; .* dtw, .*knn, lazy, load"):
        benchmark_module("lod")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_has_a_summary_and_names_its_rivals(name):
    module = benchmark_module(name)
    assert module.SUMMARY
    assert all(isinstance(package, Package) for package in module.PACKAGES)
    assert callable(module.run)


def test_the_command_prints_only_json(folder, cache):
    done = CliRunner().invoke(
        app, ["load", "--data", str(folder), "--files", "2", "--rounds", "1", "--json"]
    )
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["name"] == "load"
    assert result["command"] == f"python -m benchmarks load --data {folder} --files 2 --rounds 1"
    assert {"cpu", "cores", "python", "numpy", "numba", "date"} <= result["machine"].keys()
    assert "2 files" in result["data"] and "33 frames" in result["data"]
    rows = result["results"]
    keys = {"what", "ours_s", "rival", "rival_s", "ratio", "note"}
    assert all(keys <= row.keys() for row in rows)
    reading = {row["rival"]: row for row in rows if row["what"] == "file to joint positions"}
    assert len(reading) == 4
    for row in reading.values():
        assert row["ours_s"] > 0
        assert (row["ratio"] is None) == (row["rival_s"] is None)
        assert row["rival_s"] is not None or row["note"]
    numpy_rows = [row for row in rows if row["rival"].startswith("NumPy")]
    assert numpy_rows
    assert all("agrees" in row["note"] for row in numpy_rows)


def test_a_wrong_folder_is_reported_by_the_command(tmp_path):
    done = CliRunner().invoke(app, ["load", "--data", str(tmp_path), "--json"])
    assert isinstance(done.exception, InvalidInput)
    assert "there are none in" in str(done.exception)


def measured_report(*rows, yardstick=0.1, name="dtw", **more):
    """Report of tasks, each a name, our time and the rival's time."""
    columns = ("what", "ours_cpu_s", "rival_s")
    results = [dict(zip(columns, row, strict=True)) for row in rows]
    for row in results:
        row["rival"], row["ours_s"] = "a" if row["rival_s"] else "", row["ours_cpu_s"]
        row["ratio"] = row["rival_s"] and row["rival_s"] / row["ours_s"]
        row["cpu_ratio"], row["note"] = row["ratio"], ""
    machine = {**REPORT["machine"], "yardstick_s": yardstick}
    return {**REPORT, "name": name, "machine": machine, "seconds": 1.0,
            "command": f"python -m benchmarks {name}", "results": results, **more}  # fmt: skip


HEADLINE = "90 frames against all, slope steps"


def test_a_task_that_is_much_slower_than_in_the_stored_report_is_reported(tmp_path):
    new = measured_report(("search", 2.0, None), ("knn", 1.0, 5.0), ("new", 9.0, None))
    assert slower(new, tmp_path) == []
    keep(measured_report(("search", 1.0, None), ("knn", 1.0, 10.1)), tmp_path)
    assert slower(new, tmp_path) == [
        "search: 2.0 times slower than the stored result",
        "knn: 2.0 times slower than the stored result",
    ]
    assert slower(measured_report(("search", 1.2, None), ("knn", 1.0, 8.2)), tmp_path) == []
    assert slower({**new, "data": "3 files"}, tmp_path) == []


def test_a_busy_machine_slows_the_rivals_as_well(tmp_path):
    keep(measured_report(("knn", 1.0, 10.0), ("search", 1.0, None)), tmp_path)
    assert slower(measured_report(("knn", 3.0, 29.0), ("search", 3.0, None)), tmp_path) == [
        "search: 3.0 times slower than the stored result"
    ]
    busy = measured_report(("knn", 3.0, 29.0), ("search", 3.0, None), yardstick=0.3)
    assert slower(busy, tmp_path) == []


def test_times_of_papers_are_not_measured_again(tmp_path):
    keep(measured_report(("web", 1.0, 50.0)), tmp_path)
    assert slower(measured_report(("web", 2.0, 50.0), yardstick=0.2), tmp_path) == []
    assert slower(measured_report(("web", 2.0, 50.0)), tmp_path) != []


def test_the_median_over_several_rivals_counts(tmp_path):
    def row(rival, ratio):
        return {"what": HEADLINE, "rival": rival, "ours_cpu_s": 1.0, "ours_s": 1.0,
                "rival_s": ratio, "ratio": ratio, "cpu_ratio": ratio}  # fmt: skip

    keep(measured_report(results=[row(each, 10.0) for each in "abc"]), tmp_path)
    one_rival_faster = [row("a", 1.0), row("b", 9.9), row("c", 9.9)]
    assert fallen(measured_report(results=one_rival_faster), tmp_path) == []
    all_faster = [row("a", 1.0), row("b", 5.0), row("c", 5.1)]
    assert fallen(measured_report(results=all_faster), tmp_path) == [
        f"search: {HEADLINE}: 50 % lower than the stored result"
    ]


def test_a_headline_may_fall_by_a_fifth_and_not_be_missing(tmp_path):
    stored = measured_report((HEADLINE, 1.0, 10.0), ("another", 1.0, 10.0))
    keep(stored, tmp_path)
    assert fallen(measured_report((HEADLINE, 1.0, 8.1), ("another", 1.0, 1.0)), tmp_path) == []
    assert len(fallen(measured_report((HEADLINE, 1.0, 7.9)), tmp_path)) == 1
    assert fallen(measured_report(("another", 1.0, 10.0)), tmp_path) == [
        f"search: {HEADLINE}: not measured"
    ]


@pytest.mark.parametrize(("second", "code"), [(9.0, 0), (5.0, 1)])
def test_a_headline_that_falls_twice_fails_and_the_stored_report_stays(
    tmp_path, monkeypatch, second, code
):
    page = tmp_path / "page.md"
    page.write_text("<!-- bench dtw -->\nthe old table\n<!-- end dtw -->\n")
    before = keep(measured_report((HEADLINE, 1.0, 10.0)), tmp_path).read_text()
    runs = iter([5.0, second])
    monkeypatch.setattr(
        "benchmarks.__main__.measured",
        lambda name, options: measured_report((HEADLINE, 1.0, next(runs))),
    )
    done = CliRunner().invoke(
        app, ["dtw", "--results", str(tmp_path), "--markdown", str(page), "--json"]
    )
    assert done.exit_code == code and "measuring again" in done.stderr
    assert ("50 % lower than the stored result" in done.stderr) is bool(code)
    assert ((tmp_path / "dtw.json").read_text() == before) is bool(code)
    assert ("the old table" in page.read_text()) is bool(code)
    assert json.loads(done.stdout)["results"][0]["ratio"] == second


def test_times_of_another_processor_are_not_compared_without_a_yardstick(tmp_path):
    keep(measured_report((HEADLINE, 1.0, 10.0), yardstick=None), tmp_path)
    other = measured_report((HEADLINE, 9.0, None))
    other["machine"]["cpu"] = "6502"
    assert fallen(other, tmp_path) == []
    assert not_compared(other, tmp_path) == [
        f"search: {HEADLINE}: not compared: no rival was measured, and the stored report is of "
        "another processor"
    ]
    same = measured_report((HEADLINE, 9.0, None), yardstick=None)
    assert len(fallen(same, tmp_path)) == 1
    assert not_compared(same, tmp_path) == []
    assert not_compared({**same, "data": "3 files"}, tmp_path) == [
        "search: not compared: no report of the same data"
    ]


@pytest.mark.parametrize(
    ("ours", "rival", "yardstick", "falls"),
    [
        (1.0, 5.0, 0.1, False),  # only the rival is faster there
        (2.0, 10.0, 0.1, True),
        (0.5, 2.5, 0.05, False),  # a machine that is twice as fast helps the rival more
        (1.0, 5.0, 0.05, True),
        (1.0, 5.0, None, True),  # without a yardstick, the ratio alone decides
    ],
)
def test_on_another_processor_the_ratio_and_the_time_must_both_be_worse(
    tmp_path, ours, rival, yardstick, falls
):
    keep(measured_report((HEADLINE, 1.0, 10.0)), tmp_path)
    other = measured_report((HEADLINE, ours, rival), yardstick=yardstick)
    other["machine"]["cpu"] = "6502"
    assert bool(fallen(other, tmp_path)) is falls
    other["machine"]["cpu"] = REPORT["machine"]["cpu"]
    assert fallen(other, tmp_path)


@pytest.mark.parametrize(
    ("load", "rival", "reason"),
    [(0.9, 10.0, None), (9.5, 10.0, "the load was 9.5 on 1 cores"), (0.9, None, "no rival was")],
)
def test_a_worse_report_does_not_replace_the_stored_one(tmp_path, monkeypatch, load, rival, reason):
    page = tmp_path / "page.md"
    page.write_text("<!-- bench dtw -->\nthe old table\n<!-- end dtw -->\n")
    before = keep(measured_report((HEADLINE, 1.0, 10.0)), tmp_path).read_text()
    new = measured_report((HEADLINE, 1.1, rival))
    new["machine"]["load_average"] = load
    monkeypatch.setattr("benchmarks.__main__.measured", lambda name, options: new)
    words = ["dtw", "--results", str(tmp_path), "--markdown", str(page), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert ((tmp_path / "dtw.json").read_text() == before) is bool(reason)
    assert ("the old table" in page.read_text()) is bool(reason)
    assert reason is None or f"dtw.json ({reason}" in done.stderr


def test_every_headline_is_in_the_stored_results():
    stored = {each["name"]: each for each in kept(Path(__file__).parents[1] / "benchmarks/results")}
    for name, (benchmark, pattern) in HEADLINES.items():
        rows = [row for row in stored[benchmark]["results"] if fnmatchcase(row["what"], pattern)]
        assert rows and all(row["ours_s"] for row in rows), name


def test_headlines_are_a_choice_of_benchmarks(tmp_path, monkeypatch):
    names = []

    def measured(name, options):
        names.append(name)
        return measured_report(name=name)

    monkeypatch.setattr("benchmarks.__main__.measured", measured)
    assert CliRunner().invoke(app, ["headlines"]).exit_code == 0
    assert names == sorted({benchmark for benchmark, _ in HEADLINES.values()})


def test_the_yardstick_is_a_time():
    assert 0.0 < yardstick() < 60.0


def test_the_waits_name_motions_of_the_corpus_and_commands_that_exist():
    from benchmarks.waits import WAITS, WALKS, WHOLE, _names
    from motionloom import demo
    from motionloom.cli import COMMANDS

    names = list(_names())
    assert len(names) == len(set(names)) == 100 and set(names) <= {*demo.names()}
    lines = [
        line for wait in (*WAITS, *WALKS, *WHOLE) for line in (wait.words, wait.prepared) if line
    ]
    assert {line.split()[0] for line in lines} <= {*COMMANDS}


def test_a_wait_that_seems_longer_than_before_is_measured_again(tmp_path, monkeypatch):
    from benchmarks.waits import OURS, Program, Trial, Wait, too_slow

    earlier = Program("motionloom 0.1.0", ("earlier",))
    runs = {
        OURS: iter([1.5, 1.0, 1.0, 1.2, 1.1, 1.2, 1.1, 1.2]),  # cold, warm, cold, ...
        earlier: iter([1.0] * 8),
    }
    monkeypatch.setattr(Program, "seconds", lambda self, *_, **__: next(runs[self]))
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    trial = Trial(tmp_path, {OURS: tmp_path / "ours", earlier: tmp_path / "theirs"})
    rows = [row.as_dict() for row in trial.rows(Wait("search", "search LIB", "1 s"), print)]
    assert [(row["what"], row["ours_s"], row["rival_s"]) for row in rows] == [
        ("search, cold", 1.0, 1.0),  # slower only by accident
        ("search, warm", 1.0, 1.0),
    ]
    assert next(runs[OURS]) == 1.1  # and not measured a third time
    assert too_slow({"results": rows}) == []
    rows[1]["ours_s"] = 1.06
    assert too_slow({"results": rows}) == ["search, warm: 6 % slower than motionloom 0.1.0"]


@pytest.mark.parametrize("fails", [True, False])
def test_a_wait_that_cannot_be_measured_costs_no_other_figure(fails, tmp_path, monkeypatch):
    from benchmarks.waits import OURS, Program, Trial, Wait, too_slow

    earlier = Program("motionloom 0.1.0", ("earlier",))

    def seconds(self, words, *_, **__):
        if (self is OURS) == fails:
            raise InvalidInput(f"{self.name}: no such option")
        return 1.0

    monkeypatch.setattr(Program, "seconds", seconds)
    (tmp_path / "takes").mkdir()
    trial = Trial(tmp_path, {OURS: tmp_path / "takes", earlier: tmp_path / "takes"})
    rows = [row.as_dict() for row in trial.rows(Wait("search", "search LIB", "1 s"), print)]
    assert [row["ours_s"] for row in rows] == ([None] if fails else [1.0, 1.0])
    assert all(row["rival_s"] is None and "no such option" in row["note"] for row in rows)
    assert too_slow({"results": rows}) == []


def test_waits_are_compared_with_a_motionloom_program_only(tmp_path):
    done = CliRunner().invoke(app, ["waits", "--before", str(tmp_path / "motionloom")])
    assert isinstance(done.exception, InvalidInput)
    assert "--before must be a motionloom program" in str(done.exception)
