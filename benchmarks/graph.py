"""``python -m benchmarks graph``: motion graph of three dances: error functions, build, walk.

Three takes of about 4,000 frames have six error functions: each take with itself, of which half is
computed, and each pair of takes. SciPy computes the same with `pdist` and `cdist` on the same rows;
it has no counterpart for the other steps.
"""

from __future__ import annotations

import tempfile
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Settings
from benchmarks.takes import everything
from benchmarks.timing import Contestant, Log, Result, compare, timings
from motionloom.features import frame_distance
from motionloom.motion import Motion
from motionloom.motion_graph import motion_graph
from motionloom.motion_graph.transitions.candidates import error_bands

SUMMARY = "motion graphs: error functions, transitions, endless motion"
PACKAGES = ()
_DANCES = ("60_01", "60_02", "60_08")  # salsa
_FRAMES = 4_000
_PLAYED = 9_000
_SINGLE = 1_000
_PAPER = "Kravcevich 2014, 2.67 GHz Xeon, 20 threads, three dances of 4,000 frames"
_PAPER_SECONDS = 498.3  # the whole construction


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as scratch:
        motions, source, credit = _dances(settings, Path(scratch) / "files", log)
        options: dict[str, Any] = {"rounds": settings.rounds, "budget_s": settings.budget_s}
        jrd = frame_distance("jrd")
        rows = [jrd.prepare(motion) for motion in motions]
        wide = [np.asarray(row, np.float64) for row in rows]
        log("comparing with scipy")
        gap = _gap(jrd, rows[0][:500], rows[1][:500])
        six = Contestant("motionloom", partial(_six, jrd, rows))
        theirs = Contestant(
            "scipy cdist and pdist, cityblock",
            partial(_six_scipy, wide),
            f"agrees: within {gap:.1g}",
        )
        results += compare("six error functions, jrd", six, [theirs], log=log, **options)
        cloud = frame_distance("pc11")
        clouds = [cloud.prepare(motion) for motion in motions]
        graph = motion_graph(motions)
        target = Path(scratch) / "dance.bvh"
        transitions = f"{len(graph)} transitions"
        for what, act, paper, note in (
            ("six error functions, jrd", partial(_six, jrd, rows), "", ""),
            ("six error functions, pc11", partial(_six, cloud, clouds), "", ""),
            (
                "motion graph: find, build and check transitions",
                partial(motion_graph, motions),
                _PAPER,
                transitions,
            ),
            (
                f"play {_PLAYED} frames with foot lock, measure quality, write BVH",
                lambda: graph.player(1).save(target, _PLAYED),
                "",
                "",
            ),
        ):
            results.append(_alone(what, act, paper, note, options, log))
        player = graph.player(1)
        results.append(
            _alone(
                f"{_SINGLE} frames of a player, read one at a time",
                lambda: [player.read(1) for _ in range(_SINGLE)],
                "",
                "",
                options,
                log,
            )
        )
    frames = " + ".join(str(len(motion)) for motion in motions)
    return {
        "data": f"{source}, {frames} frames",
        "credit": credit,
        "results": [row.as_dict() for row in results],
    }


def _alone(what: str, act, paper: str, note: str, options: dict[str, Any], log: Log) -> Result:
    """A row without a rival, compared with the figure of the paper if there is one."""
    (own,) = timings([Contestant(what, act)], log=log, **options)
    notes = "; ".join(text for text in (note, f"{own.cpu_s:.2f} s of one core") if text)
    paper_s = _PAPER_SECONDS if paper else None
    ratio = paper_s / own.wall_s if paper_s else None
    return Result(what, own.wall_s, paper, paper_s, ratio, notes, own.cpu_s, rounds=own.rounds)


def _dances(settings: Settings, scratch: Path, log: Log) -> tuple[list[Motion], str, str]:
    """Three dances, each resampled to about 4,000 frames."""
    from motionloom import demo
    from motionloom.formats import load

    folder, _, credit = everything(settings, scratch, log=log)
    files = {path.stem: path for path in folder.rglob("*.bvh")}
    if set(_DANCES) <= set(files):
        takes, source = [load(files[name]) for name in _DANCES], "three CMU salsas"
    else:
        takes = [demo.clip("take_dances", performer=n) for n in range(3)]
        source, credit = "three built-in dances", ""
    rate = _FRAMES / (sum(take.duration for take in takes) / len(takes))
    return [take.resample(rate) for take in takes], source, credit


def _six(distance, rows) -> None:
    for a in rows:
        for _ in error_bands(distance, a):
            pass
    for a, b in combinations(rows, 2):
        for _ in error_bands(distance, a, b):
            pass


def _six_scipy(rows) -> None:
    from scipy.spatial.distance import cdist, pdist

    for a in rows:
        pdist(a, "cityblock")
    for a, b in combinations(rows, 2):
        cdist(a, b, "cityblock")


def _gap(distance, a, b) -> float:
    from scipy.spatial.distance import cdist

    theirs = cdist(a.astype(np.float64), b.astype(np.float64), "cityblock")
    return float(np.max(np.abs(distance.matrix(a, b) - theirs)))
