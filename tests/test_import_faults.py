"""Imports that are killed, watched, doubled, or run out of room."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from commands import finished, started
from small_takes import contents, needs_fork, write_take, write_takes
from waiting import random_pause, wait_until

from motionloom import Library
from motionloom.store.ingest import importing


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
        assert tries < 25 * kills, "the imports end before they can be killed"
        process = started("import", library, takes, "--labels", "folder", "--workers", "2")
        goal = _frame_files(library) + rng.randint(1, files // kills)
        wait_until(partial(_reached, process, library, goal), "files are read")
        random_pause(rng, 0.05)
        process.kill()
        _, answer = process.communicate()
        if process.returncode == -signal.SIGKILL:
            done += 1
        else:
            assert process.returncode == 0, answer
            shutil.rmtree(library)


def _reached(process: subprocess.Popen, library: Path, goal: int) -> bool:
    return process.poll() is not None or _frame_files(library) >= goal


def _frame_files(library: Path) -> int:
    return len(list((library / "frames").glob("[!.]*.npy")))


def check_after_kills(tmp_path: Path, *, files: int, kills: int, frames: int) -> None:
    takes = write_takes(tmp_path / "takes", files, frames=frames)
    clean = Library.create(tmp_path / "clean.loom")
    clean.add(takes, labels="folder")
    killed_imports(takes, tmp_path / "killed.loom", files=files, kills=kills, seed=1)
    done = finished("import", tmp_path / "killed.loom", takes, "--labels", "folder", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["added"] + report["skipped"] == files
    killed = Library(tmp_path / "killed.loom")
    assert killed.store.digest() == clean.store.digest() and killed.store.damage() == []
    assert contents(killed.path) == contents(clean.path)
    names = {path.name for path in killed.path.iterdir()} - {"trash"}
    assert names == {"catalogue.sqlite", "frames", "lock", "queue"}


@needs_fork
def test_a_killed_import_is_continued_by_the_next(tmp_path):
    check_after_kills(tmp_path, files=40, kills=2, frames=600)


@pytest.mark.slow
def test_twenty_kills_leave_three_hundred_files_as_if_nothing_had_been(tmp_path):
    check_after_kills(tmp_path, files=300, kills=20, frames=800)


def test_rows_reach_the_library_while_the_import_goes_on(takes, lib, monkeypatch):
    monkeypatch.setattr(importing, "BATCH_ROWS", 2)
    seen = []
    lib.add(takes, workers=1, progress=lambda steps: seen.append(len(Library(lib.path))))
    assert seen[-1] >= 11 and seen == sorted(seen) and seen[5] >= 4


def test_an_interrupted_import_keeps_finished_work(takes, lib):
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
        assert len(lib) >= 5 and lib.store.damage() == []
    stored = len(lib)
    report = lib.add(takes)
    assert (report.skipped, report.added) == (stored, 12 - stored)


@pytest.mark.slow
def test_readers_see_whole_motions_while_another_process_writes(tmp_path):
    takes = write_takes(tmp_path / "takes", 40, frames=200)
    library = tmp_path / "l.loom"
    Library.create(library)
    reader = (
        "import sys\n"
        "from motionloom import Library\n"
        "from motionloom.store.frames import frame_table, table_digest\n"
        "lib, seen, reads = Library(sys.argv[1]), 0, 0\n"
        "count = lib.path.parent / sys.argv[2]\n"
        "print('ready', flush=True)\n"
        "while not (lib.path.parent / 'stop').exists():\n"
        "    names = lib.names\n"
        "    assert len(names) >= seen, 'motions vanished'\n"
        "    seen = len(names)\n"
        "    for name in names[::5]:\n"
        "        before, motion, after = lib.store.entry(name), lib[name], lib.store.entry(name)\n"
        "        digest = table_digest(frame_table(motion))\n"
        "        assert before != after or digest == after.digest, name\n"
        "        assert lib.labels[name]\n"
        "        reads += 1\n"
        "    count.write_text(str(reads))\n"
        "print(seen, reads)\n"
    )
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", reader, library, name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("first", "second")
    ]

    def reads() -> list[int]:
        counts = [tmp_path / name for name in ("first", "second")]
        return [int(count.read_text() or 0) if count.exists() else 0 for count in counts]

    for process in readers:
        assert process.stdout.readline() == "ready\n"
    for round_ in range(3):  # the second and third time, every file replaces its motion
        for number, file in enumerate(sorted(takes.rglob("*.bvh"))):
            write_take(file, seed=100 * round_ + number, frames=100 + round_)
        before = reads()
        assert Library(library).add(takes, labels="folder", workers=1).added == 40
        # Each reader goes on from where it was, and reads all that is there now.
        wait_until(
            lambda before=before: all(
                now >= then + 16 for now, then in zip(reads(), before, strict=True)
            ),
            "both readers read on",
        )
    (tmp_path / "stop").touch()
    for process in readers:
        out, err = process.communicate()
        assert process.returncode == 0, err
        seen, read = map(int, out.split())
        assert seen == 40 and read > 40
    assert len(list((library / "frames").iterdir())) == 40


def test_two_imports_at_once_both_end_well(tmp_path):
    takes = write_takes(tmp_path / "takes", 24)
    library = tmp_path / "l.loom"
    both = [
        started("import", library, takes / "walk", takes / part, "--json")
        for part in ("run", "sit")
    ]
    reports = [json.loads(process.communicate()[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum(report["added"] for report in reports) == 18
    assert sum(report["skipped"] for report in reports) == 6
    lib = Library(library)
    assert len(lib) == 18 and lib.store.damage() == []


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
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    message = "motionloom: l.loom: cannot write to this library: File too large. Motions added"
    assert message in done.stderr and "Traceback" not in done.stderr
    lib = Library(tmp_path / "l.loom")
    assert lib.store.damage() == [] and len(contents(lib.path)) == len(lib) + 7
    report = lib.add(takes)
    assert report.added + report.skipped == 9 and not report.failed
