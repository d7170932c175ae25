from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from small_takes import contents, write_take, write_takes

from motionloom import Library, LibraryError, load
from motionloom.errors import InvalidInput
from motionloom.library import importing, intake
from motionloom.library.sources import Source, assign_names, find_sources

ROOT = Path(__file__).parents[1]
needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux")


@pytest.fixture
def takes(tmp_path):
    return write_takes(tmp_path / "takes", 12)


@pytest.fixture
def lib(tmp_path):
    return Library.create(tmp_path / "takes.loom")


def command(*arguments, **options) -> subprocess.Popen:
    """``motionloom ...`` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "from motionloom.cli import main; main()", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        **options,
    )


def run(*arguments) -> tuple[int, str, str]:
    process = command(*arguments)
    out, err = process.communicate()
    return process.returncode, out, err


# --- what an import does ----------------------------------------------------------------


def test_a_folder_comes_in_with_names_and_labels(takes, lib):
    report = lib.add(takes, labels="folder")
    assert (report.added, report.skipped, report.failed) == (12, 0, ())
    assert report.frames == lib.frames == 480 and report.seconds == pytest.approx(16.0)
    assert lib.names[0] == "kick_002" and lib.labels("kick_002") == ("kick",)
    assert lib.with_label("walk") == ("walk_000", "walk_004", "walk_008")
    again = lib["walk_004"]
    file = takes / "walk/walk_004.bvh"
    np.testing.assert_array_equal(again.positions(), load(file).positions())
    assert again.origin.path == str(file) and again.origin.unit_m == load(file).origin.unit_m


def test_unchanged_files_are_skipped_and_changed_ones_replaced(takes, lib):
    lib.add(takes, labels="folder")
    first = contents(lib.path)
    report = lib.add(takes, labels="folder")
    assert (report.added, report.skipped, report.frames) == (0, 12, 0)
    assert contents(lib.path) == first
    os.utime(takes / "run/run_001.bvh")  # touched, not changed
    write_take(takes / "sit/sit_003.bvh", seed=77, frames=50)
    write_take(takes / "sit/sit_new.bvh", seed=78)
    report = lib.add(takes)
    assert (report.added, report.replaced, report.skipped) == (2, 1, 11)
    assert len(lib["sit_003"]) == 50 and lib.labels("sit_003") == ("sit",)
    assert len(contents(lib.path)) == len(first) + 1
    assert lib.add(takes, force=True).added == 13


def test_a_motion_whose_frames_were_lost_is_read_again(takes, lib):
    lib.add(takes)
    before = contents(lib.path)
    (lib.path / "frames" / lib.entry("run_001").file).unlink()
    cut = lib.path / "frames" / lib.entry("run_005").file
    cut.write_bytes(cut.read_bytes()[:-100])
    report = lib.add(takes)
    assert (report.added, report.skipped) == (2, 10)
    assert contents(lib.path) == before


def test_what_is_stored_does_not_depend_on_order_or_processes(takes, tmp_path):
    write_take(takes / "run/walk_000.bvh", seed=50)  # a name that occurs twice
    (takes / "run/bad.bvh").write_text("HIERARCHY")
    files = sorted(takes.rglob("*.bvh"))
    libraries = []
    for number, workers in enumerate([1, 2, 1, 2]):
        paths = [takes] if number == 0 else random.Random(number).sample(files, len(files))
        lib = Library.create(tmp_path / f"{number}.loom")
        report = lib.add(*paths, labels="folder", workers=workers)
        assert report.added == 13 and len(report.failed) == 1
        libraries.append(lib)
    assert len({lib.digest() for lib in libraries}) == 1
    assert all(contents(lib.path) == contents(libraries[0].path) for lib in libraries)


def test_bad_files_are_told_and_the_rest_goes_on(takes, lib, monkeypatch):
    bad = takes / "bad"
    bad.mkdir()
    (bad / "empty.bvh").write_bytes(b"")
    text = (takes / "walk/walk_000.bvh").read_text()
    (bad / "short.bvh").write_text(text.replace("CHANNELS 3", "CHANNELS three", 1))
    (bad / "gone.bvh").symlink_to(bad / "nowhere")
    (bad / "huge.bvh").write_text("huge")
    (bad / "odd.bvh").write_text("odd")
    monkeypatch.setattr(intake, "load", _load_with_accidents)
    report = lib.add(takes, workers=2)
    assert report.added == 12
    reasons = {Path(failure.file).name: failure.reason for failure in report.failed}
    assert list(reasons) == ["empty.bvh", "gone.bvh", "huge.bvh", "odd.bvh", "short.bvh"]
    assert reasons["gone.bvh"] == "No such file or directory"
    assert reasons["huge.bvh"] == "too large for the memory of this machine"
    assert reasons["odd.bvh"] == "unexpected ZeroDivisionError: division by zero"
    assert reasons["short.bvh"].startswith("line 9: ")
    assert str(bad) not in reasons["empty.bvh"]


def _load_with_accidents(path, **options):
    if path.endswith("huge.bvh"):
        raise MemoryError
    if path.endswith("odd.bvh"):
        return 1 / 0
    return load(path, **options)


@needs_fork
def test_a_file_that_kills_its_worker_is_one_failure(takes, lib, monkeypatch):
    monkeypatch.setattr(intake, "load", _load_or_die)
    report = lib.add(takes, workers=2)
    assert report.added == 11
    (failure,) = report.failed
    assert failure.file.endswith("kick_006.bvh") and "died twice" in failure.reason


def _load_or_die(path, **options):
    if path.endswith("kick_006.bvh"):
        os.kill(os.getpid(), signal.SIGKILL)
    return load(path, **options)


def test_a_motion_without_frames_is_a_failure(tmp_path, lib, monkeypatch):
    monkeypatch.setattr(intake, "load", lambda path: load(path)[:0])
    (failure,) = lib.add(write_take(tmp_path / "none.bvh")).failed
    assert failure.reason == "holds no frames" and len(lib) == 0


def test_a_file_that_changes_while_it_is_read_is_a_failure(tmp_path, lib, monkeypatch):
    def load_and_change(path, **options):
        motion = load(path, **options)
        write_take(Path(path), seed=5, frames=99)
        return motion

    monkeypatch.setattr(intake, "load", load_and_change)
    (failure,) = lib.add(write_take(tmp_path / "m.bvh")).failed
    assert failure.reason == "the file changed while it was being read; import it again"


def test_a_library_can_be_kept_at_one_rate(tmp_path):
    write_take(tmp_path / "slow/a.bvh", fps=30, frames=61)
    write_take(tmp_path / "fast/b.bvh", fps=120, frames=241)
    lib = Library.create(tmp_path / "l.loom", fps=60)
    assert lib.add(tmp_path / "slow", tmp_path / "fast").frames == 2 * 121
    assert {lib[name].fps for name in lib} == {60.0}
    with pytest.raises(LibraryError, match="kept at 60 fps, not 30; import without a rate"):
        lib.add(tmp_path / "slow", fps=30)
    mixed = Library.create(tmp_path / "mixed.loom")
    mixed.add(tmp_path / "slow")
    mixed.add(tmp_path / "slow", fps=30)  # nothing in it would have to change
    assert mixed.fps == 30.0
    other = Library.create(tmp_path / "other.loom")
    other.add(tmp_path / "fast")
    with pytest.raises(LibraryError, match="holds motions at 120 fps, .* resampled to 30"):
        other.add(tmp_path / "slow", fps=30)


def test_reader_options_are_part_of_what_is_unchanged(takes, lib):
    lib.add(takes)
    report = lib.add(takes, unit="mm")
    assert (report.added, report.replaced) == (12, 12)
    assert lib["walk_000"].origin.unit_m == 0.001
    with pytest.raises(InvalidInput, match="parsec"):
        lib.add(takes, unit="parsec")
    with pytest.raises(InvalidInput, match="up must be one of y, .*; got 'down'"):
        lib.add(takes, up="down")


def test_a_changed_companion_makes_its_takes_new(tmp_path):
    for name in ("01_01.amc", "01_02.amc", "02_01.amc", "01.asf", "02.asf", "x.gltf", "x.bin"):
        (tmp_path / name).write_text(name)
    before = {file.name: intake.content_hash(str(file)) for file in tmp_path.iterdir()}
    (tmp_path / "01.asf").write_text("another skeleton")
    (tmp_path / "x.bin").write_text("another buffer")
    after = {file.name: intake.content_hash(str(file)) for file in tmp_path.iterdir()}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"01_01.amc", "01_02.amc", "01.asf", "x.gltf", "x.bin"}


def test_says_what_is_wrong_with_the_paths(tmp_path, lib):
    with pytest.raises(InvalidInput, match="add needs at least one file or folder"):
        lib.add()
    with pytest.raises(InvalidInput, match="nowhere: no such file or folder"):
        lib.add(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(InvalidInput, match=r"\.txt files give no motion; one of \.bvh"):
        lib.add(tmp_path / "notes.txt")
    (tmp_path / "bare").mkdir()
    with pytest.raises(InvalidInput, match=r"bare: no motion files here \(looked for \.bvh"):
        lib.add(tmp_path / "bare")


# --- which files, which names -----------------------------------------------------------


def test_each_file_is_found_once_whatever_the_way(tmp_path, monkeypatch):
    takes = tmp_path / "takes"
    write_take(takes / "a/one.bvh")
    write_take(takes / "a/Two.BVH")
    write_take(takes / ".hidden/three.bvh")
    write_take(takes / ".four.bvh")
    (takes / "a/loop").symlink_to(takes)
    (takes / "again").symlink_to(takes / "a")
    Library.create(takes / "inside.loom")
    monkeypatch.chdir(tmp_path)
    given = ["takes", "takes/a/../a/one.bvh", takes / "a", "takes/again/one.bvh"]
    for seed in range(5):
        sources, unreadable = find_sources(random.Random(seed).sample(given, len(given)))
        assert [Path(source.path).name for source in sources] == ["Two.BVH", "one.bvh"]
        assert [source.folders for source in sources] == [("a",), ("a",)]
        assert unreadable == []


def test_rerunning_from_elsewhere_or_in_parts_changes_nothing(takes, lib, monkeypatch):
    monkeypatch.chdir(takes.parent)
    lib.add("takes")
    before = contents(lib.path)
    monkeypatch.chdir(takes)
    assert lib.add(".", "walk", "run/run_001.bvh").skipped == 12
    assert contents(lib.path) == before


def _sources(*paths):
    return [Source(path, path, ()) for path in paths]


@pytest.mark.parametrize(
    ("paths", "held", "names"),
    [
        (["/t/a/walk.bvh", "/t/run.bvh"], {}, ["walk", "run"]),
        (["/t/a/walk.bvh", "/t/b/walk.bvh"], {}, ["a/walk", "b/walk"]),
        (
            ["/x/a/walk.bvh", "/y/a/walk.bvh", "/y/b/walk.bvh"],
            {},
            ["x/a/walk", "y/a/walk", "b/walk"],
        ),
        (["/t/walk.bvh", "/t/walk.glb"], {}, ["walk.bvh", "walk.glb"]),
        (["/walk.bvh", "/t/walk.bvh"], {}, ["/walk", "t/walk"]),
        (["/t/a/walk.bvh"], {"walk": "/t/b/walk.bvh"}, ["a/walk"]),
        (["/t/a/walk.bvh"], {"walk": ""}, ["a/walk"]),
        (["/t/a/walk.bvh", "/t/b/walk.bvh"], {"walk": "/t/b/walk.bvh"}, ["a/walk", "walk"]),
        (["/a/walk.bvh"], {"walk": "/b", "a/walk": "/c"}, ["/a/walk"]),
        (
            ["/walk.bvh"],
            {"walk": "/b", "/walk": "/c", "walk.bvh": "/d", "/walk.bvh": "/e"},
            ["/walk.bvh (2)"],
        ),
    ],
)
def test_names_are_as_short_as_tells_apart(paths, held, names):
    for seed in range(4):
        order = random.Random(seed).sample(paths, len(paths))
        found = assign_names(_sources(*order), held)
        assert [found[path] for path in paths] == names


def test_names_given_so_far_do_not_change_those_still_to_come():
    rng = random.Random(0)
    for _ in range(200):
        paths = {
            "/" + "/".join(rng.choices("ab", k=rng.randint(1, 3))) + f"/{rng.choice('xy')}.bvh"
            for _ in range(6)
        }
        held = {name: f"/other/{name}" for name in rng.sample(["x", "a/x", "y", "b/a/y"], 2)}
        sources = _sources(*paths)
        whole = assign_names(sources, held)
        assert len(set(whole.values())) == len(paths) and not set(whole.values()) & set(held)
        done = rng.sample(sorted(paths), rng.randint(0, len(paths)))
        assert assign_names(sources, {**held, **{whole[p]: p for p in done}}) == whole


def test_a_folder_that_has_moved_is_recognised(takes, lib, tmp_path):
    lib.add(takes, labels="folder")
    digest = lib.digest()
    takes.rename(tmp_path / "moved")
    report = lib.add(tmp_path / "moved")
    assert (report.added, report.skipped) == (0, 12)
    assert lib.digest() == digest
    write_take(tmp_path / "moved/run/run_001.bvh", seed=99)  # from now on it is the source
    assert lib.add(tmp_path / "moved").replaced == 1
    assert len(lib) == 12


def test_another_file_of_the_same_name_does_not_replace_the_first(tmp_path, lib):
    lib.add(write_take(tmp_path / "monday/walk.bvh", seed=1))
    lib.add(write_take(tmp_path / "tuesday/walk.bvh", seed=2))
    assert lib.names == ("tuesday/walk", "walk")
    assert lib.add(tmp_path / "monday", tmp_path / "tuesday").skipped == 2


@needs_fork
def test_file_names_of_any_bytes_are_taken(tmp_path, lib):
    write_take(tmp_path / "takes/ok.bvh")
    odd = os.fsencode(tmp_path / "takes") + b"/caf\xe9 100% [x].bvh"
    Path(os.fsdecode(odd)).write_bytes((tmp_path / "takes/ok.bvh").read_bytes())
    (tmp_path / "takes/\u6b69\u304f.bvh").write_bytes((tmp_path / "takes/ok.bvh").read_bytes())
    lib.add(tmp_path / "takes", labels="folder")
    assert lib.names == ("caf\\udce9 100% [x]", "ok", "\u6b69\u304f")
    assert all(len(lib[name]) == 40 for name in lib)
    assert lib.add(tmp_path / "takes").skipped == 3


# --- labels -----------------------------------------------------------------------------


def test_labels_from_nested_folders(tmp_path, lib):
    write_take(tmp_path / "takes/kick/high/a.bvh", seed=1)
    write_take(tmp_path / "takes/b.bvh", seed=2)
    lib.add(tmp_path / "takes", labels="folder")
    assert lib.labels("a") == ("high", "kick") and lib.labels("b") == ("takes",)


def test_labels_from_file_names(takes, lib):
    lib.add(takes, labels=r"pattern:^(?P<label>[a-z]+)_\d*(?P<label_number>\d)$")
    assert lib.labels("walk_004") == ("4", "walk")
    lib.add(takes, labels=r"pattern:/(w[a-z]+)/")
    assert lib.labels("walk_004") == ("walk",)
    assert lib.labels("run_001") == ("1", "run")  # the second rule said nothing about it


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_labels_from_a_table(takes, lib, tmp_path, encoding, delimiter):
    rows = [
        ["Label", "Clip", "who"],
        ["go", "walk_000.bvh", "Zoë"],
        ["go", "walk/walk_004.BVH", ""],
        ["fast", "takes\\run\\run_001", "Max"],
        ["far", "run_001", ""],
        ["none", "elsewhere", ""],
        ["wrong folder", "run/walk_008", ""],
    ]
    table = tmp_path / "labels.csv"
    table.write_bytes("\r\n".join(map(delimiter.join, rows)).encode(encoding))
    report = lib.add(takes, labels=table)
    assert report.unmatched_labels == ("elsewhere", "run/walk_008")
    assert lib.label_counts() == {"far": 1, "fast": 1, "go": 2}
    assert lib.labels("run_001") == ("far", "fast")
    lib.add(takes, labels=str(table), label_columns=["label", "WHO"])
    assert lib.labels("walk_000") == ("Zoë", "go")


def test_labels_from_a_mapping_and_from_several_rules(takes, lib):
    report = lib.add(takes, labels=["folder", {"walk_000": "first", "run_001": ["a", "b"]}])
    assert lib.labels("walk_000") == ("first", "walk")
    assert lib.labels("run_001") == ("a", "b", "run")
    assert report.unmatched_labels == ()


@pytest.mark.parametrize(
    ("labels", "columns", "message"),
    [
        ("folders", None, "labels must be 'folder', 'pattern:REGEX' or an existing CSV file"),
        ("pattern:(", None, "is not a regular expression"),
        ("pattern:abc", None, "needs a group for the label"),
        ("odd.csv", None, "expected a column called file, .* found a, b"),
        ("empty.csv", None, "found nothing"),
        ("good.csv", "kind", "no column 'kind' .*--label-column.*the columns are file, label"),
    ],
)
def test_says_what_is_wrong_with_labels(takes, lib, monkeypatch, labels, columns, message):
    monkeypatch.chdir(takes)
    Path("odd.csv").write_text("a,b\n1,2\n")
    Path("empty.csv").write_text("")
    Path("good.csv").write_text("file,label\nwalk_000,x\n")
    with pytest.raises(InvalidInput, match=message):
        lib.add(takes, labels=labels, label_columns=columns)
    assert len(lib) == 0


# --- kills, readers, full disks ---------------------------------------------------------


def killed_imports(takes: Path, library: Path, *, files: int, kills: int, seed: int) -> None:
    """Start the import and kill it in mid-work, again and again.

    Each kill comes after a random number of files and a random pause, so that it may hit
    reading, writing, renaming, committing or tidying. An import that was quicker than its
    kill does not count; the next one then starts from nothing.
    """
    rng = random.Random(seed)
    done = tries = 0
    while done < kills:
        tries += 1
        assert tries < 5 * kills, "the imports end before they can be killed"
        process = command("import", library, takes, "--labels", "folder", "--workers", "2")
        goal = _frame_files(library) + rng.randint(1, files // kills)
        while process.poll() is None and _frame_files(library) < goal:
            time.sleep(0.002)
        time.sleep(rng.uniform(0.0, 0.05))
        process.kill()
        process.communicate()
        if process.returncode == -signal.SIGKILL:
            done += 1
        else:
            shutil.rmtree(library)


def _frame_files(library: Path) -> int:
    return len(list((library / "frames").glob("[!.]*.npy")))


def check_after_kills(tmp_path: Path, *, files: int, kills: int, frames: int) -> None:
    takes = write_takes(tmp_path / "takes", files, frames=frames)
    clean = Library.create(tmp_path / "clean.loom")
    clean.add(takes, labels="folder")
    killed_imports(takes, tmp_path / "killed.loom", files=files, kills=kills, seed=1)
    code, out, err = run("import", tmp_path / "killed.loom", takes, "--labels", "folder", "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["added"] + report["skipped"] == files
    killed = Library(tmp_path / "killed.loom")
    assert killed.digest() == clean.digest() and killed.damage() == []
    assert contents(killed.path) == contents(clean.path)
    assert sorted(p.name for p in killed.path.iterdir()) == [
        "catalogue.sqlite",
        "frames",
        "lock",
    ]


@needs_fork
def test_a_killed_import_is_continued_by_the_next(tmp_path):
    check_after_kills(tmp_path, files=60, kills=4, frames=600)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_kills_leave_three_hundred_files_as_if_nothing_had_been(tmp_path):
    check_after_kills(tmp_path, files=300, kills=20, frames=800)


def test_rows_reach_the_library_while_the_import_goes_on(takes, lib, monkeypatch):
    monkeypatch.setattr(importing, "_BATCH_ROWS", 2)
    seen = []
    lib.add(takes, workers=1, progress=lambda steps: seen.append(len(Library(lib.path))))
    assert seen[-1] >= 11 and seen == sorted(seen) and seen[5] >= 4


def test_an_interrupted_import_keeps_what_was_done(takes, lib):
    done = 0

    def interrupt_after_five(steps):
        nonlocal done
        done += steps
        if done == 5:
            raise KeyboardInterrupt

    for workers in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            done = 0
            lib.add(takes, workers=workers, progress=interrupt_after_five)
        assert len(lib) >= 5 and lib.damage() == []
    held = len(lib)
    report = lib.add(takes)
    assert (report.skipped, report.added) == (held, 12 - held)


def test_readers_see_whole_motions_while_another_process_writes(tmp_path):
    takes = write_takes(tmp_path / "takes", 40, frames=200)
    library = tmp_path / "l.loom"
    Library.create(library)
    reader = (
        "import sys, time\n"
        "from motionloom import Library\n"
        "from motionloom.library.frames import frame_table, table_digest\n"
        "lib, seen, reads = Library(sys.argv[1]), 0, 0\n"
        "print('ready', flush=True)\n"
        "while not (lib.path.parent / 'stop').exists():\n"
        "    names = lib.names\n"
        "    assert len(names) >= seen, 'motions vanished'\n"
        "    seen = len(names)\n"
        "    for name in names[::5]:\n"
        "        before, motion, after = lib.entry(name), lib[name], lib.entry(name)\n"
        "        digest = table_digest(frame_table(motion))\n"
        "        assert before != after or digest == after.digest, name\n"
        "        assert lib.labels(name)\n"
        "        reads += 1\n"
        "print(seen, reads)\n"
    )
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", reader, library],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        for _ in range(2)
    ]
    for process in readers:
        assert process.stdout.readline() == "ready\n"
    for round_ in range(3):  # the second and third time, every file replaces its motion
        for number, file in enumerate(sorted(takes.rglob("*.bvh"))):
            write_take(file, seed=100 * round_ + number, frames=100 + round_)
        assert Library(library).add(takes, labels="folder", workers=1).added == 40
        time.sleep(0.1)
    (tmp_path / "stop").touch()
    for process in readers:
        out, err = process.communicate()
        assert process.returncode == 0, err
        seen, reads = map(int, out.split())
        assert seen == 40 and reads > 40
    assert len(list((library / "frames").iterdir())) == 40


def test_two_imports_at_once_both_end_well(tmp_path):
    takes = write_takes(tmp_path / "takes", 24)
    library = tmp_path / "l.loom"
    both = [
        command("import", library, takes / "walk", takes / part, "--json")
        for part in ("run", "sit")
    ]
    reports = [json.loads(process.communicate()[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(report["added"] for report in reports) == 18
    assert sum(report["skipped"] for report in reports) == 6
    lib = Library(library)
    assert len(lib) == 18 and lib.damage() == []


@needs_fork
@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_stops_the_import_and_leaves_the_library_whole(tmp_path, workers):
    takes = write_takes(tmp_path / "takes", 8)
    write_take(takes / "walk/walk_zzz.bvh", frames=20_000)
    script = (
        "import resource, sys\n"
        "from motionloom.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        f"sys.argv[1:] = ['import', 'l.loom', 'takes', '--workers', '{workers}']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    message = "motionloom: l.loom: cannot write to this library: File too large. What was added"
    assert message in done.stderr and "Traceback" not in done.stderr
    lib = Library(tmp_path / "l.loom")
    assert lib.damage() == [] and len(contents(lib.path)) == len(lib) + 4
    report = lib.add(takes)
    assert report.added + report.skipped == 9 and not report.failed


# --- the command ------------------------------------------------------------------------


def test_the_command_prints_json_and_nothing_else(takes, tmp_path):
    code, out, err = run("import", tmp_path / "l.loom", takes, "--labels", "folder", "--json")
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert {"added", "skipped", "failed", "frames", "seconds"} <= set(report)
    assert (report["added"], report["skipped"], report["failed"]) == (12, 0, [])
    assert report["frames"] == 480 and report["seconds"] == pytest.approx(16.0)
    assert report["library"]["motions"] == 12


def test_the_command_lists_bad_files_and_ends_with_code_1(takes, tmp_path):
    (takes / "bad.bvh").write_text("HIERARCHY\nROOT")
    code, out, err = run("import", tmp_path / "l.loom", takes, "--fps", "15")
    assert (code, out) == (1, "")
    assert f"failed   {takes / 'bad.bvh'}: " in err
    assert "added    12 (240 frames)" in err and "failed   1\n" in err
    code, out, _ = run("import", tmp_path / "l.loom", takes, "--json")
    assert code == 1 and json.loads(out)["skipped"] == 12
    (failure,) = json.loads(out)["failed"]
    assert failure["file"] == str(takes / "bad.bvh") and failure["reason"]


def test_the_command_refuses_wrong_input_with_code_2(takes, tmp_path):
    (tmp_path / "bare").mkdir()
    for path, message in [("nowhere", "no such file or folder"), ("bare", "no motion files")]:
        code, _, err = run("import", tmp_path / "l.loom", tmp_path / path)
        assert code == 2 and message in err and "Traceback" not in err
        assert not (tmp_path / "l.loom").exists()
    code, _, err = run("import", tmp_path / "bare" / ".." / "takes", takes)
    assert code == 2 and "holds other things" in err


@needs_fork
def test_ctrl_c_ends_the_command_with_code_130_and_a_whole_library(tmp_path):
    takes = write_takes(tmp_path / "takes", 60, frames=3000)
    process = command(
        "import", tmp_path / "l.loom", takes, "--workers", "2", start_new_session=True
    )
    frames = tmp_path / "l.loom/frames"
    deadline = time.monotonic() + 60
    while not (frames.exists() and len(list(frames.glob("*.npy"))) > 5):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does: to every process of the group
    _, err = process.communicate()
    assert process.returncode == 130 and "Traceback" not in err
    lib = Library(tmp_path / "l.loom")
    assert 0 < len(lib) < 60 and lib.damage() == []
    report = lib.add(takes)
    assert report.added + report.skipped == 60 and report.skipped >= 1


# --- real data --------------------------------------------------------------------------


@pytest.mark.cmu
def test_cmu_clips_come_in_with_their_labels(cmu_clips, cmu_data, tmp_path):
    lib = Library.create(tmp_path / "clips.loom")
    report = lib.add(cmu_clips, labels=cmu_data / "cmu-clips-labels.csv")
    assert (report.added, report.failed, report.unmatched_labels) == (115, (), ())
    counts = {"climb": 10, "jump": 31, "run": 26, "swordplay": 10, "walk": 38}
    assert lib.label_counts() == counts
    assert lib.damage() == []


@pytest.mark.cmu
def test_cmu_takes_get_the_descriptions_of_the_data_set(cmu30, cmu_data, tmp_path):
    subjects = sorted(cmu30.iterdir())[:2]
    lib = Library.create(tmp_path / "takes.loom")
    table = cmu_data / "cmu30-metadata.csv"
    report = lib.add(*subjects, labels=table, label_columns=["description", "category"])
    assert report.added == len(lib) and not report.failed
    assert "playground - climb" in lib.labels("01_02")
    assert len(report.unmatched_labels) == 2425 - len(lib)


def test_a_library_moves_with_its_folder(takes, lib, tmp_path):
    lib.add(takes)
    digest = lib.digest()
    lib.close()
    shutil.move(lib.path, tmp_path / "elsewhere.loom")
    moved = Library(tmp_path / "elsewhere.loom")
    assert moved.digest() == digest and moved.add(takes).skipped == 12
