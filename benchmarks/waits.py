"""``python -m benchmarks waits``: everything that a person waits for, cold and warm.

Each row is one command in a process of its own. *Cold* is the first time in a library without
artifacts, *warm* is the same command again. Times are processor seconds of the process and its
children, so they hardly depend on the load of the machine. Kernels are compiled before, as they are
in a wheel; one row compiles them first.

With ``--before PROGRAM``, the ``motionloom`` program of an earlier release runs the same commands
on the same files, in turns with this one. Commands that are slower than before by more than 5 % are
measured again, and reported if the second run is slower too.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Settings
from benchmarks.process import THREAD_VARIABLES
from benchmarks.takes import CREDIT, data_folder, everything
from benchmarks.timing import CLOCKS, Log, Result
from motionloom import demo
from motionloom.errors import InvalidInput
from motionloom.library import Library
from motionloom.search.match_web.store import WebStore
from motionloom.search.methods import WebOptions

SUMMARY = "commands that people wait for, the first time and again"
PACKAGES = ()
_TAKES = 100  # built-in motions, of the library for the first rows
_SECONDS = 5.0  # goal for the first time on that library
_PATH = "x,z\n0,0\n0,3\n2,5\n4,5\n5,8\n3,10\n"
_MOST_SLOWER = 1.05  # times the earlier release
_AGAIN = 2  # number of further runs of a command that seems slower
_LONG_S = 16.0  # commands that take longer are not run again
_WEB_FRAMES = 100_000  # of the sample for the web of near cells
_WORKERS = 2
_WALKERS = ("007", "008", "035", "039")  # CMU subjects with walks, for a family


@dataclass(frozen=True)
class Wait:
    """A command to measure.

    Attributes
    ----------
    what : str
    words : str
        The command; ``LIB``, ``PATH`` and ``OUT`` stand for files.
    goal : str
    prepared : str
        A command that runs before it, without being measured.
    again : bool
        False if a second run takes the same time.
    refused : bool
        True if the command must fail.
    """

    what: str
    words: str
    goal: str
    prepared: str = ""
    again: bool = True
    refused: bool = False


_KICK, _DANCES = "kick_front_mid_right_p0", "dance_groove_p0,dance_sway_p0"
_SAMPLED = f"parametrize LIB {_KICK} --by right_ankle@33 --name kick --samples 200"
_COLD = f"cold {_SECONDS:g} s"
WAITS = (
    Wait("search", f"search LIB {_KICK}", _COLD),
    Wait("family", f"family LIB {_KICK}", _COLD),
    Wait("motion graph", "graph LIB build", _COLD),
    Wait("walk of 20 s", "walk LIB --label walk --seconds 20 -o OUT.bvh", _COLD),
    Wait("walk along a path", "walk LIB --label walk --path PATH -o OUT.bvh", _COLD,
         prepared="graph LIB build --label walk"),
    Wait("dance of 20 s from two takes",
         f"dance LIB tune --takes {_DANCES} --seconds 20 -o OUT.glb", _COLD),
    Wait("dance of 20 s from all takes", "dance LIB tune --seconds 20 -o OUT.glb", _COLD),
    Wait("parametrize", _SAMPLED, "cold 10 s"),
    Wait("synthesize", "synthesize LIB kick --at 0.1,0.9,0.6 -o OUT.bvh", _COLD, prepared=_SAMPLED),
    Wait("find", "find LIB kicks", "cold 10 s"),
    Wait("clusters", "clusters LIB", "cold 20 s"),
    Wait("refusal of a format", "walk LIB --label walk --seconds 20 -o OUT.xyz", "1 s",
         again=False, refused=True),
    Wait("refusal of a joint", f"parametrize LIB {_KICK} --by right_ankel@33 --name kick", "1 s",
         again=False, refused=True),
)  # fmt: skip
WHOLE = (
    Wait("library of all of CMU is opened", "info LIB", "1 s", again=False),
    Wait("search for a segment in all of CMU", "search LIB 02_01:10-70", _COLD),
    Wait("search for a take in all of CMU", "search LIB 02_01", _COLD),
    Wait("lazy search in all of CMU", "search LIB 02_01:10-70 --method lazy", _COLD),
    Wait("find in all of CMU", "find LIB kicks", "warm 1 s"),
    Wait("clusters of all of CMU", "clusters LIB", "warm 5 s"),
)
WALKS = (
    Wait("family of walks by match web", "family LIB 35_04:20-75 --method web", "2 s",
         prepared="web LIB build"),
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A version of motionloom: the start of its command lines."""

    name: str
    command: tuple[str, ...]

    def seconds(
        self,
        words: str,
        library: Path,
        folder: Path,
        environment: dict[str, str] | None = None,
        *,
        refused: bool = False,
    ) -> float:
        """Processor time of a command and its children, in seconds."""
        places = {"LIB": str(library), "PATH": str(folder / "path.csv")}
        given = [
            places.get(word, word.replace("OUT", str(folder / "out"))) for word in words.split()
        ]
        # As many threads as for a user, not one as in other benchmarks.
        usual = {key: text for key, text in os.environ.items() if key not in THREAD_VARIABLES}
        before = CLOCKS.cpu()
        done = subprocess.run(
            [*self.command, *given],
            capture_output=True,
            text=True,
            env={**usual, **(environment or {})},
        )
        if bool(done.returncode) != refused:
            raise InvalidInput(f"{self.name}: {words}: {done.stderr.strip()}")
        return CLOCKS.cpu() - before


OURS = Program("motionloom", (sys.executable, "-c", "from motionloom.cli import main; main()"))


@dataclass(frozen=True)
class Trial:
    """The programs to compare, each with a library of the same files."""

    folder: Path
    libraries: dict[Program, Path]

    @classmethod
    def of(cls, folder: Path, name: str, programs: list[Program], *files: str | Path) -> Trial:
        """Let every program import the files; an earlier release that cannot is skipped."""
        libraries = {}
        for number, program in enumerate(programs):
            place = folder / f"{name}-{number}.loom"
            try:
                program.seconds(" ".join(["import", str(place), *map(str, files)]), place, folder)
                libraries[program] = place
            except InvalidInput:
                if program is OURS:
                    raise
        return cls(folder, libraries)

    def rows(self, wait: Wait, log: Log) -> Iterator[Result]:
        """Measure a command, the first time and again."""
        log(wait.what)
        times, failed = {}, {}
        for program in self.libraries:
            try:
                times[program] = self._times(program, wait)
            except InvalidInput as error:  # one command must not cost all other figures
                failed[program] = str(error)
        note = "; ".join([f"goal: {wait.goal}", *failed.values()])
        ours, *others = self.libraries
        if ours not in times:
            yield Result(wait.what, None, "", None, None, note)
            return
        others = [program for program in others if program in times]
        slowest = max(sum(each) for each in times.values())
        for _ in range(_AGAIN if slowest < _LONG_S else 0):
            if not any(
                own > _MOST_SLOWER * old
                for other in others
                for own, old in zip(times[ours], times[other], strict=True)
            ):
                break
            for program in times:
                pairs = zip(times[program], self._times(program, wait), strict=True)
                times[program] = [min(pair) for pair in pairs]
        parts = (", cold", ", warm") if wait.again else ("",)
        for number, part in enumerate(parts):
            own = times[ours][number]
            other, old = next(((each, times[each][number]) for each in others), (None, None))
            yield _row(wait.what + part, own, note, other, old)

    def _times(self, program: Program, wait: Wait) -> list[float]:
        fresh = self.folder / "fresh.loom"
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(self.libraries[program], fresh)
        shutil.rmtree(fresh / "derived", ignore_errors=True)
        if wait.prepared:
            program.seconds(wait.prepared, fresh, self.folder)
        times = [
            program.seconds(wait.words, fresh, self.folder, refused=wait.refused)
            for _ in range(2 if wait.again else 1)
        ]
        shutil.rmtree(fresh)
        return times


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    programs = [OURS]
    if settings.before is not None:
        programs.append(_earlier(settings.before))
        log(f"compiling the kernels of {programs[-1].name}")
        programs[-1].seconds("warm-up", Path(), Path())
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "path.csv").write_text(_PATH)
        files, labels = _files(folder)
        takes = Trial.of(folder, "takes", programs, files, "--labels", labels)
        rows = [row for wait in WAITS for row in takes.rows(wait, log)]
        log("compiling")
        cold = {"NUMBA_CACHE_DIR": str(folder / "kernels")}
        seconds = OURS.seconds(f"search LIB {_KICK}", takes.libraries[OURS], folder, cold)
        rows.append(_row("search that first compiles its kernels", seconds, "without a wheel"))
        rows += _studio_rows(takes.libraries[OURS], log)
        data = f"{_TAKES} motions of the built-in corpus"
        if (settings.data or data_folder()) is not None:
            every, source, _ = everything(settings, folder / "files", log=log)
            subjects = [every / name for name in _WALKERS if (every / name).is_dir()]
            if subjects:
                walks = Trial.of(folder, "walks", programs, *subjects)
                rows += [row for wait in WALKS for row in walks.rows(wait, log)]
            log(f"importing {every}")
            whole = Trial.of(folder, "whole", programs, every)
            rows += [row for wait in WHOLE for row in whole.rows(wait, log)]
            with Library(whole.libraries[OURS]) as library:
                data += f"; {len(library)} motions ({source}), {library.store.frames} frames"
                rows += _facts_rows(library, log)
                rows.append(_web_row(library, settings, log))
    return {"data": data, "credit": CREDIT, "results": [row.as_dict() for row in rows]}


def too_slow(report: dict[str, Any]) -> list[str]:
    """Lines about commands that are slower than in the earlier release by more than 5 %.

    Examples
    --------
    >>> rows = [{"what": "search", "rival": "motionloom 0.2.0", "ours_s": own, "rival_s": 1.0}
    ...         for own in (1.04, 1.10)]
    >>> too_slow({"results": rows})
    ['search: 10 % slower than motionloom 0.2.0']
    """
    return [
        f"{row['what']}: {100 * (row['ours_s'] / row['rival_s'] - 1):.0f} % slower than "
        f"{row['rival']}"
        for row in report["results"]
        if row["ours_s"] and row["rival_s"] and row["ours_s"] > _MOST_SLOWER * row["rival_s"]
    ]


def _earlier(path: Path) -> Program:
    if not os.access(path, os.X_OK) or path.is_dir():
        raise InvalidInput(f"--before must be a motionloom program; {path} is not one")
    # The path of this checkout must not reach the other program.
    command = ("env", "-u", "PYTHONPATH", str(path.absolute()))
    done = subprocess.run([*command, "--version"], capture_output=True, text=True)
    if done.returncode or not done.stdout.startswith("motionloom"):
        raise InvalidInput(f"--before must be a motionloom program; {path} is not one")
    return Program(done.stdout.strip(), command)


def _files(folder: Path) -> tuple[Path, Path]:
    """Write the built-in motions; return their folder and a table of their labels."""
    files, labels = folder / "built-in", folder / "labels.csv"
    files.mkdir()
    with open(labels, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["file", "label"])
        for name in _names():
            made = demo.annotated(name)
            made.motion.save(files / f"{name}.bvh")
            table.writerow([f"{name}.bvh", made.truth.action])
    return files, labels


def _names() -> Iterator[str]:
    """Names of motions: those that the commands need, then others."""
    first = [f"kick_front_mid_right_p{k}" for k in range(3)]
    first += [f"{name}_p0" for name in ("walk", "walk_left", "walk_right", "walk_fast")]
    first += ["dance_groove_p0", "dance_sway_p0"]
    others = [name for name in demo.names() if not name.startswith("take_")]
    yield from list(dict.fromkeys([*first, *others]))[:_TAKES]


def _studio_rows(library: Path, log: Log) -> Iterator[Result]:
    """A dance in the studio, from choosing the takes to the download of its GLB file."""
    from fastapi.testclient import TestClient

    from motionloom.studio import create_app

    log("a dance in the studio")
    with Library(library) as opened:
        client = TestClient(create_app(opened), base_url="http://localhost")

        def answer(address: str, body: dict[str, Any]) -> Any:
            return client.post(address, json=body).raise_for_status()

        cpu = CLOCKS.cpu()
        job = answer("/api/dance/choreographies", {"takes": [[t] for t in _DANCES.split(",")]})
        ended = client.app.state.studio.jobs.wait(job.json()["id"])  # type: ignore[attr-defined]
        if ended.state != "done":
            raise InvalidInput(f"a dance in the studio: {ended.error}")
        music = answer("/api/dance/tunes", {"meter": 4, "tempo_bpm": 105, "bars": 16}).json()
        dance = {"choreography": ended.result["id"], "music": music["id"]}
        answer("/api/dance/performances", dance)
        yield _row("dance in the studio", CLOCKS.cpu() - cpu, f"goal: {_COLD}; in a running studio")
        for part in ("first", "second"):
            cpu = CLOCKS.cpu()
            answer("/api/subjects/file", {"subject": {"kind": "dance", **dance}, "suffix": "glb"})
            yield _row(f"{part} GLB of that dance", CLOCKS.cpu() - cpu, "in a running studio")


def _facts_rows(library: Library, log: Log) -> Iterator[Result]:
    """The rhythms of 141 takes, as in the studio's list of takes."""
    names = [entry.name for entry in library.entries()]
    chosen = names[:: max(len(names) // 141, 1)][:141]
    for part in ("cold", "warm"):
        log(f"rhythms, {part}")
        cpu = CLOCKS.cpu()
        library.beats.tempos(chosen)
        what = f"which of {len(chosen)} takes have a rhythm, {part}"
        yield _row(what, CLOCKS.cpu() - cpu, "in a running studio")


def _web_row(library: Library, settings: Settings, log: Log) -> Result:
    """Processor time of the web of near cells of all takes, from that of a random sample."""
    log("web of near cells")
    entries = library.entries()
    names, frames = [], 0
    for k in np.random.default_rng(settings.seed).permutation(len(entries)):
        if frames < _WEB_FRAMES:
            names.append(entries[k].name)
            frames += entries[k].frames
    store = WebStore.of(library.store, WebOptions(cells="near"))
    cells = store.left_to_build(only=[entry.name for entry in entries]).cells
    sample = store.left_to_build(only=names).cells
    cpu = CLOCKS.cpu()
    store.build(only=names, workers=_WORKERS)
    cpu = CLOCKS.cpu() - cpu
    whole = cpu * cells / sample
    return _row(
        "web of near cells of all takes", whole,
        f"goal: {_WORKERS * 1800} s; from the time per cell of a sample of {frames} frames, "
        f"{1e9 * cpu / sample:.1f} ns; {whole / 60.0 / _WORKERS:.0f} min of {_WORKERS} cores",
    )  # fmt: skip


def _row(
    what: str, cpu_s: float, note: str, other: Program | None = None, old_s: float | None = None
) -> Result:
    ratio = old_s / cpu_s if old_s is not None else None
    name = other.name if other is not None else ""
    return Result(
        what, cpu_s, name, old_s, ratio, f"processor time; {note}", ours_cpu_s=cpu_s,
        rival_cpu_s=old_s, cpu_ratio=ratio,
    )  # fmt: skip
