"""Benchmarks: measure motionloom and other libraries side by side, in one run.

``python -m benchmarks NAME [--json] [--install-rivals]`` measures on this machine and prints the
ratios. A benchmark is a module with ``SUMMARY`` (one line), ``PACKAGES`` (packages of the rivals)
and ``run(settings, log)``, which returns rows created by `benchmarks.timing`; it is listed in
`BENCHMARKS`. The folder is not part of the wheel; run it from a clone of the repository.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from motionloom.errors import InvalidInput

# Name on the command line -> module.
BENCHMARKS = {
    "act": "benchmarks.act",
    "blend": "benchmarks.blend",
    "browser": "benchmarks.browser",
    "clean": "benchmarks.clean",
    "clips": "benchmarks.clips",
    "crowd": "benchmarks.crowd",
    "dtw": "benchmarks.dtw",
    "engine": "benchmarks.engine",
    "graph": "benchmarks.graph",
    "keyframes": "benchmarks.keyframes",
    "knn": "benchmarks.knn",
    "lazy": "benchmarks.lazy",
    "load": "benchmarks.load",
    "matching": "benchmarks.matching",
    "parametric": "benchmarks.parametric",
    "recall": "benchmarks.recall",
    "reconstruct": "benchmarks.reconstruct",
    "repair": "benchmarks.repair",
    "rhythm": "benchmarks.rhythm",
    "robot": "benchmarks.robot",
    "scale": "benchmarks.scale",
    "steering": "benchmarks.steering",
    "video": "benchmarks.video",
    "waits": "benchmarks.waits",
    "web": "benchmarks.web",
    "whole_web": "benchmarks.whole_web",
    "words": "benchmarks.words",
}

# Default number of rounds, enough for a stable median.
ROUNDS = {
    "act": 1, "blend": 9, "browser": 1, "clean": 1, "clips": 3, "crowd": 3, "dtw": 3, "engine": 2,
    "graph": 3,
    "keyframes": 1, "knn": 3, "lazy": 3, "matching": 5, "parametric": 3, "recall": 3,
    "reconstruct": 3, "repair": 1, "rhythm": 3, "robot": 1, "scale": 1, "steering": 1,
    "video": 1, "waits": 1, "web": 3,
    "whole_web": 1,
}  # fmt: skip
DEFAULT_ROUNDS = 7
# Options of the published figures, where they differ from the defaults; ``all`` uses them.
PUBLISHED = {"repair": {"files": 25, "seed": 2}, "scale": {"frames": 1e8}}


@dataclass(frozen=True)
class Settings:
    """Settings of a benchmark run.

    Parameters
    ----------
    data : Path, optional
        Folder with motion files. Default: the CMU data set if it is available, otherwise the
        built-in corpus.
    files : int
        Number of files to use.
    rounds : int
        Number of rounds; medians are reported.
    seed : int
        Random seed for the choice of files.
    budget_s : float
        Time limit in seconds for all rounds of a contestant; slower ones run in fewer rounds.
    frames : float, optional
        Number of frames: synthetic ones, or those of a set, depending on the benchmark.
    before : Path, optional
        The ``motionloom`` program of an earlier release, to compare with.
    """

    data: Path | None = None
    files: int = 20
    rounds: int = DEFAULT_ROUNDS
    seed: int = 1
    budget_s: float = 20.0
    frames: float | None = None
    before: Path | None = None


def benchmark_module(name: str) -> ModuleType:
    """Return the module of a benchmark.

    Examples
    --------
    >>> benchmark_module("speed")
    Traceback (most recent call last):
    ...
    motionloom.errors.InvalidInput: unknown benchmark 'speed'; choose from: act, blend, ...
    """
    if name not in BENCHMARKS:
        names = ", ".join(sorted(BENCHMARKS))
        raise InvalidInput(f"unknown benchmark {name!r}; choose from: {names}")
    return importlib.import_module(BENCHMARKS[name])
