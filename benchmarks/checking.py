"""Cost of verifying the files of a library: processor time of searches with and without it.

    python benchmarks/checking.py LIBRARY [--rounds 9] [--queries 4] [--cold]

A library is verified when a process first reads it, so every search runs in a separate process. It
is forked after all modules are imported and all kernels are loaded: only opening the library and
searching are measured. Both variants alternate, and medians are printed. "Then" is another search
in the same process, which does not verify anything again. With ``--cold``, every process behaves
like the first one of a day, which reads all of a large artifact to verify it; without it, the
user's cache records that the artifact was verified.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from typing import Any
from unittest import mock

import motionloom as ml
from motionloom.store import artifacts, frames
from motionloom.store.artifacts import folders
from motionloom.store.catalogue import Catalogue

_SECONDS = 3.0  # seconds of a query
METHODS = ("dtw", "lazy", "statistics")


def main() -> int:
    """Measure and print one row per method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--queries", type=int, default=4)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    options = parser.parse_args()
    with ml.Library(options.library) as library:
        names = [e.name for e in library.entries() if e.frames > 2 * _SECONDS * e.fps]
        step = max(1, len(names) // options.queries)
        queries = [
            f"{name}:0-{round(_SECONDS * library.store.entry(name).fps)}"
            for name in names[::step][: options.queries]
        ]
    print(f"{'method':12} {'first':>8} {'unchecked':>10} {'cost':>7} {'then':>8} {'cost':>7}")
    for method in options.methods:
        with ml.Library(options.library) as library:
            # build the artifacts and load the kernels
            library.search(queries[0], method=method, max=20)
        _forget()
        times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        for turn in range(options.rounds * len(queries)):
            query = queries[turn % len(queries)]
            for checked in (True, False) if turn % 2 else (False, True):
                times[checked].append(
                    _in_a_process(_searches, options.library, query, method, checked, options.cold)
                )
        first, then = (
            [median(row[column] for row in times[checked]) for checked in (True, False)]
            for column in (0, 1)
        )
        print(
            f"{method:12} {first[0]:7.3f}s {first[1]:9.3f}s {100 * (first[0] / first[1] - 1):6.1f}%"
            f" {then[0]:7.3f}s {100 * (then[0] / then[1] - 1):6.1f}%"
        )
    return 0


def _searches(path: str, query: str, method: str, checked: bool, cold: bool) -> tuple[float, float]:
    """Processor time of opening a library and searching it, and of a second search."""
    places = [(artifacts, "check_folder"), (frames, "_verify_once"), (Catalogue, "_verify")]
    with ExitStack() as changed:
        if cold:
            changed.enter_context(mock.patch.object(folders, "_is_recent", lambda stamp: False))
        for place, name in () if checked else places:
            changed.enter_context(mock.patch.object(place, name))
        began = time.process_time()
        library = ml.Library(path)
        library.search(query, method=method, max=20)
        middle = time.process_time()
        library.search(query, method=method, max=20)
        return middle - began, time.process_time() - middle


def _in_a_process(work: Callable[..., Any], *values: Any) -> Any:
    """Return the result of `work`, run in a forked process."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, pickle.dumps(work(*values)))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as out:
        answer = out.read()
    os.waitpid(child, 0)
    return pickle.loads(answer)


def _forget() -> None:
    """Make this process verify everything again."""
    frames._verified.clear()
    folders._verified.clear()


if __name__ == "__main__":
    sys.exit(main())
