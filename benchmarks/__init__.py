"""Benchmarks: motionloom and its rivals measured side by side in one run.

``python -m benchmarks NAME [--json] [--install-rivals]`` measures on this machine and prints the
ratios. A benchmark is a module with ``SUMMARY`` (one line), ``PACKAGES`` (packages of the rivals)
and ``run(settings, say)``, which returns rows made by `benchmarks.measuring`; it is entered in
`BENCHES`. The folder is not part of the wheel; it runs from a clone of the repository.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from motionloom.errors import InvalidInput

# Name on the command line -> module that holds the bench.
BENCHES = {
    "blend": "benchmarks.blend",
    "clips": "benchmarks.clips",
    "crowd": "benchmarks.crowd",
    "dtw": "benchmarks.dtw",
    "engine": "benchmarks.engine",
    "graph": "benchmarks.graph",
    "knn": "benchmarks.knn",
    "lazy": "benchmarks.lazy",
    "load": "benchmarks.load",
    "parametric": "benchmarks.parametric",
    "reconstruct": "benchmarks.reconstruct",
    "rhythm": "benchmarks.rhythm",
    "web": "benchmarks.web",
}

# Rounds where neither a user nor the default says otherwise: as many as give a steady median.
ROUNDS = {
    "blend": 9, "clips": 3, "crowd": 3, "dtw": 3, "engine": 2, "graph": 3, "knn": 3, "lazy": 3,
    "parametric": 3, "reconstruct": 3, "rhythm": 3, "web": 3,
}  # fmt: skip
USUAL_ROUNDS = 7


@dataclass(frozen=True)
class Settings:
    """What a user may change about a bench.

    Parameters
    ----------
    data : Path, optional
        Folder with motion files to use. Default: the CMU data set where it is found, else
        the built-in corpus.
    files : int
        How many files to use.
    rounds : int
        How often everything is measured; medians are reported.
    seed : int
        Chooses the files.
    budget_s : float
        A contestant that would need longer than this for all rounds runs fewer of them.
    """

    data: Path | None = None
    files: int = 20
    rounds: int = USUAL_ROUNDS
    seed: int = 1
    budget_s: float = 20.0


def bench_module(name: str) -> ModuleType:
    """Module of the bench called `name`.

    Examples
    --------
    >>> bench_module("speed")
    Traceback (most recent call last):
    ...
    motionloom.errors.InvalidInput: no bench is called 'speed'; the benches are: blend, clips, ...
    """
    if name not in BENCHES:
        known = ", ".join(sorted(BENCHES))
        raise InvalidInput(f"no bench is called {name!r}; the benches are: {known}")
    return importlib.import_module(BENCHES[name])
