"""``python -m benchmarks waits``: everything that a person waits for, cold and warm.

Each row is one command in a process of its own. *Cold* is the first time in a library without
artifacts, *warm* is the same command again. Times are processor seconds of the process and its
children, so they hardly depend on the load of the machine. Kernels are compiled before, as they are
in a wheel; one row compiles them first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import Settings
from benchmarks.takes import CREDIT, data_folder, everything
from benchmarks.timing import CLOCKS, Log, Result
from motionloom import demo
from motionloom.errors import InvalidInput
from motionloom.library import Library

SUMMARY = "commands that people wait for, the first time and again"
PACKAGES = ()
_TAKES = 100  # built-in motions, of the library for the first rows
_SECONDS = 5.0  # goal for the first time on that library
_PATH = "x,z\n0,0\n0,3\n2,5\n4,5\n5,8\n3,10\n"


@dataclass(frozen=True)
class Wait:
    """A command to measure; `prepared` runs before it, without being measured."""

    what: str
    words: str
    goal: str
    prepared: str = ""


_KICK, _DANCES = "kick_front_mid_right_p0", "dance_groove_p0,dance_sway_p0"
WAITS = (
    Wait("search", f"search LIB {_KICK}", f"cold {_SECONDS:g} s"),
    Wait("family", f"family LIB {_KICK}", f"cold {_SECONDS:g} s"),
    Wait("walk of 20 s", "walk LIB --label walk --seconds 20 -o OUT.bvh", f"cold {_SECONDS:g} s"),
    Wait(
        "walk along a path", "walk LIB --label walk --path PATH -o OUT.bvh", f"cold {_SECONDS:g} s",
        prepared="graph LIB build --label walk",
    ),
    Wait("dance of 20 s", f"dance LIB tune --takes {_DANCES} --seconds 20 -o OUT.glb",
         f"cold {_SECONDS:g} s"),
    Wait("parametrize", f"parametrize LIB {_KICK} --by right_ankle@33 --name kick --samples 200",
         "cold 10 s"),
    Wait("synthesize", "synthesize LIB kick --at 0.1,0.9,0.6 -o OUT.bvh", f"cold {_SECONDS:g} s",
         prepared=f"parametrize LIB {_KICK} --by right_ankle@33 --name kick --samples 200"),
    Wait("find", "find LIB kicks", "cold 10 s"),
    Wait("clusters", "clusters LIB", "cold 20 s"),
)  # fmt: skip
WHOLE = (
    Wait("find in all of CMU", "find LIB kicks", "warm 1 s"),
    Wait("clusters of all of CMU", "clusters LIB", "warm 5 s"),
)


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    rows: list[Result] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        library = _library(folder / "takes.loom")
        (folder / "path.csv").write_text(_PATH)
        for wait in WAITS:
            rows += _measured(wait, library, folder, log)
        log("compiling")
        cold = {"NUMBA_CACHE_DIR": str(folder / "kernels")}
        seconds = _seconds(f"search LIB {_KICK}", library, folder, cold)
        rows.append(_row("search that first compiles its kernels", seconds, "without a wheel"))
        place = settings.data or data_folder()
        data = f"{_TAKES} motions of the built-in corpus"
        if place is not None:
            files, source, _ = everything(settings, folder / "files", log=log)
            log(f"importing {files}")
            whole = folder / "whole.loom"
            with Library.create(whole) as lib:
                lib.add(files)
                data += f"; {len(lib)} motions ({source}), {lib.store.frames} frames"
            for wait in WHOLE:
                rows += _measured(wait, whole, folder, log)
    return {"data": data, "credit": CREDIT, "results": [row.as_dict() for row in rows]}


def _library(path: Path) -> Path:
    with Library.create(path) as library:
        for name in _names():
            made = demo.annotated(name)
            library.add_motion(made.motion, labels=[made.truth.action])
    return path


def _names() -> Iterator[str]:
    """Names of motions: those that the commands need, then others."""
    first = [f"kick_front_mid_right_p{k}" for k in range(3)]
    first += [f"{name}_p0" for name in ("walk", "walk_left", "walk_right", "walk_fast")]
    first += ["dance_groove_p0", "dance_sway_p0"]
    others = [name for name in demo.names() if not name.startswith("take_")]
    yield from list(dict.fromkeys([*first, *others]))[:_TAKES]


def _measured(wait: Wait, library: Path, folder: Path, log: Log) -> Iterator[Result]:
    log(wait.what)
    fresh = folder / "fresh.loom"
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(library, fresh)
    shutil.rmtree(fresh / "derived", ignore_errors=True)
    if wait.prepared:
        _seconds(wait.prepared, fresh, folder)
    yield _row(f"{wait.what}, cold", _seconds(wait.words, fresh, folder), f"goal: {wait.goal}")
    yield _row(f"{wait.what}, warm", _seconds(wait.words, fresh, folder), f"goal: {wait.goal}")
    shutil.rmtree(fresh)


def _seconds(
    words: str, library: Path, folder: Path, environment: dict[str, str] | None = None
) -> float:
    """Processor time of a command and its children, in seconds."""
    places = {"LIB": str(library), "PATH": str(folder / "path.csv")}
    given = [places.get(word, word.replace("OUT", str(folder / "out"))) for word in words.split()]
    command = [sys.executable, "-c", "from motionloom.cli import main; main()", *given]
    before = CLOCKS.cpu()
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **(environment or {})}
    )
    if done.returncode:
        raise InvalidInput(f"{words}: {done.stderr.strip()}")
    return CLOCKS.cpu() - before


def _row(what: str, cpu_s: float, note: str) -> Result:
    return Result(what, cpu_s, "", None, None, f"processor time; {note}", ours_cpu_s=cpu_s)
