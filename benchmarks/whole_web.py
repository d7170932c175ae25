"""``python -m benchmarks whole_web --frames 1e6``: the web of near cells of a whole library.

The library is copied, two processes build its web, and random segments are searched in it. The
expected matches come from the webs of all cells of their takes with all others, which are built for
this purpose. Memory is sampled as in `benchmarks.scale`. `--data` is a folder of files, or a
library.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import motionloom as ml
from benchmarks import Settings
from benchmarks.recall import Counts, random_query
from benchmarks.scale import Memory
from benchmarks.takes import WholeLibrary, whole_library
from benchmarks.timing import CLOCKS, Log, Result
from motionloom import parallel
from motionloom.library import Library
from motionloom.search.match_web.build import web_keys
from motionloom.search.match_web.store import WebStore
from motionloom.search.methods import WebOptions
from motionloom.search.methods.segments import NEAR_MATCHES

SUMMARY = "match webs of near cells: a whole library, its memory and its recall"
PACKAGES = ()
FRAMES = 20_000
WORKERS = 2
QUERIES = 10
_SHORTEST_S = 0.9  # searched motions are longer than this
_COLUMN_FRAMES = 80_000  # cells of one task of the web of all cells
_REPORTS = 50  # number of progress lines of a build


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    rng = np.random.default_rng(settings.seed)
    memory = Memory()
    with _copy(settings, log) as whole, memory.sampled():
        library = whole.library
        names = _chosen(library, int(settings.frames or FRAMES), rng)
        frames = sum(library.store.entry(name).frames for name in names)
        rows = [_build_row(library, names, memory, log)]
        rows += _search_rows(library, names, rng, memory, log)
    return {
        "data": f"{len(names)} motions ({whole.source}), {frames} frames",
        "credit": whole.credit,
        "results": [row.as_dict() for row in rows],
    }


@contextmanager
def _copy(settings: Settings, log: Log) -> Iterator[WholeLibrary]:
    """The library in a scratch folder, without webs."""
    with tempfile.TemporaryDirectory() as scratch:
        with _source(settings, log) as whole:
            log(f"copying {whole.library.path}")
            place = Path(scratch) / "copy.loom"
            shutil.copytree(whole.library.path, place, ignore=shutil.ignore_patterns("derived"))
        library = Library(place)
        yield WholeLibrary(library, whole.source, whole.credit)
        library.close()


@contextmanager
def _source(settings: Settings, log: Log) -> Iterator[WholeLibrary]:
    """The library itself; a library built from files lasts as long as the ``with`` block."""
    if settings.data is not None and (settings.data / "catalogue.sqlite").exists():
        library = Library(settings.data)
        yield WholeLibrary(library, f"library {settings.data.name}", "")
        library.close()
        return
    with whole_library(settings, log=log) as whole:
        yield whole


def _chosen(library: Library, frames: int, rng: np.random.Generator) -> list[str]:
    """Random motions up to a number of frames, in their original order."""
    entries = library.entries()
    chosen, total = [], 0
    for k in rng.permutation(len(entries)):
        if entries[k].frames > 1 and total + entries[k].frames <= frames:
            chosen.append(entries[k].name)
            total += entries[k].frames
    return sorted(chosen)


def _build_row(library: Library, names: list[str], memory: Memory, log: Log) -> Result:
    store = WebStore.of(library.store, WebOptions(cells="near"))
    left = store.left_to_build(only=names)
    wall, cpu = CLOCKS.wall(), CLOCKS.cpu()
    done = 0

    def progress(pairs: int) -> None:
        nonlocal done
        before, done = done, done + pairs
        if done * _REPORTS // left.pairs > before * _REPORTS // left.pairs:
            spent = CLOCKS.wall() - wall
            log(
                f"{done:,} of {left.pairs:,} pairs after {spent:.0f} s; about "
                f"{spent * (left.pairs / done - 1):.0f} s left; {memory.greatest / 1e9:.2f} GB"
            )

    log(f"building {left.pairs:,} pairs, {left.cells:.3g} cells")
    memory.stage("before")
    report = store.build(only=names, workers=WORKERS, progress=progress)
    memory_bytes = memory.stage("build")
    wall, cpu = CLOCKS.wall() - wall, CLOCKS.cpu() - cpu
    note = (
        f"{report.pairs:,} pairs, {report.built:,} built, {left.cells:.3g} cells; {cpu:.0f} s of "
        f"processor time, {1e9 * cpu / left.cells:.1f} ns per cell; {report.bytes / 1e6:.1f} MB on "
        f"disk, {memory_bytes / 1e9:.2f} GB of memory, {WORKERS} processes"
    )
    return Result("build of the web of near cells", wall, "", None, None, note, cpu, rounds=1)


def _search_rows(
    library: Library, names: list[str], rng: np.random.Generator, memory: Memory, log: Log
) -> list[Result]:
    """Searches of the web of near cells, and the same searches of the web of all cells."""
    entries = [entry for entry in map(library.store.entry, names) if entry.seconds > _SHORTEST_S]
    queries = [random_query(entries, rng) for _ in range(QUERIES)]
    near = [_search(library, query, names, "near") for query in queries]
    memory_bytes = memory.stage("searches")
    again = [_search(library, query, names, "near")[1] for query in queries]
    wall, cpu = CLOCKS.wall(), CLOCKS.cpu()
    takes = sorted({query.rpartition(":")[0] for query in queries})
    _build_rows_of(library, takes, names, log)
    counts, each = Counts(), []
    for query, (matches, _) in zip(queries, near, strict=True):
        own = Counts()
        for match in _search(library, query, names, "all")[0]:
            own.add(match, matches)
            counts.add(match, matches)
        each.append(f"{own.matched} of {own.matches}")
        log(f"{query}: {own.text}")
    seconds = sorted(seconds for _, seconds in near)
    searched = Result(
        "a query of 0.8 to 3 s", seconds[len(seconds) // 2], "", None, None,
        f"median of {QUERIES}; slowest {seconds[-1]:.2f} s; second time "
        f"{sorted(again)[QUERIES // 2]:.3f} s; {memory_bytes / 1e9:.2f} GB of memory",
        rounds=QUERIES,
    )  # fmt: skip
    compared = Result(
        f"recall up to {NEAR_MATCHES:g} m", CLOCKS.wall() - wall, "", None, None,
        f"{counts.text}; by query: {', '.join(each)}; time of the webs of all cells of "
        f"{len(takes)} takes", CLOCKS.cpu() - cpu, rounds=1,
    )  # fmt: skip
    return [searched, compared]


def _search(library: Library, query: str, names: list[str], cells: Any) -> tuple[list, float]:
    """Matches up to the distance limit of near webs, and the seconds taken."""
    began = CLOCKS.wall()
    matches = library.search(
        query,
        max=None,
        max_distance=NEAR_MATCHES,
        exclude_query=True,
        only=names,
        method=ml.MatchWeb(cells=cells),
    )
    return list(matches), CLOCKS.wall() - began


def _build_rows_of(library: Library, takes: list[str], names: list[str], log: Log) -> None:
    """Webs of all cells of some motions with all others."""
    store = WebStore.of(library.store, WebOptions(cells="all"))
    store.folder.mkdir(parents=True, exist_ok=True)
    work, _ = store.planned(only=names)
    entries = [library.store.entry(name) for name in names]
    first = {}  # the first of several identical motions represents all of them, plus one for a pair
    for name, key in web_keys(entries).items():
        first[key] = name
    tasks, done = [], set()
    for take in takes:
        own = library.store.entry(take).key
        if own in done:
            continue
        row, part, frames = first[own], [], 0
        for key, name in first.items():
            is_done = key.removeprefix("copy-") in done
            if is_done or (key.startswith("copy-") and key.removeprefix("copy-") != own):
                continue
            part.append(name)
            frames += library.store.entry(name).frames
            if frames > _COLUMN_FRAMES:
                tasks.append(((row, tuple(part)),))
                part, frames = [], 0
        if part:
            tasks.append(((row, tuple(part)),))
        done.add(own)
    log(f"webs of all cells of {len(takes)} takes: {len(tasks)} tasks")
    with parallel.executor(WORKERS, tasks=len(tasks)) as pool:
        for number, built in enumerate(parallel.completed(work, tasks, pool)):
            if built.error is not None:
                raise built.error
            store.files.commit(built.result or ())
            log(f"{number + 1} of {len(tasks)}")
