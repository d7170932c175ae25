"""``python -m benchmarks keyframes``: fill gaps in takes with other takes of the same set.

Five takes of a set are held out, and gaps of 5, 15, 30 and 60 frames at 30 Hz are cut into each;
the rest of the set fills them. The set is CMU subject 16, or all files of ``--data``. There are two
rivals. The first interpolates between the two frames next to a gap, with straight lines and slerp.
The second is a motion graph of the same takes: the shortest route from the pose most similar to the
first frame to the pose most similar to the last one, moved to the first frame and played at the
speed of the gap. The figures are the mean distance of joints from the truth, and the speed of feet
that stand still in the truth.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Settings
from benchmarks.takes import everything
from benchmarks.timing import Log, Result
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.formats import load
from motionloom.motion import Motion
from motionloom.motion.feet.contacts import FOOT_ROLES
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.motion.retargeting.retarget import on_skeleton
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion_graph import motion_graph
from motionloom.motion_matching import MatchingSettings, matching_database
from motionloom.motion_matching.database import MatchingDatabase

SUMMARY = "gaps in takes, filled by motion matching, interpolation and a motion graph"
PACKAGES = ()
_GAPS = (5, 15, 30, 60)  # frames
_FPS = 30.0
_LEFT_OUT = 5  # takes
_PER_TAKE = 3  # gaps of each length
_WORDS = ("walk", "jog", "run")

Array = NDArray[np.float64]


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results, all figures, and a description of the data."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, source, credit = everything(settings, Path(scratch), log=log)
        motions = _motions(folder, credit != "")
    long = [k for k, motion in enumerate(motions) if len(motion) > max(_GAPS) + 20]
    if len(long) < 2 or len(motions) < 3:
        raise InvalidInput(f"{source}: not enough takes are longer than {max(_GAPS) + 20} frames")
    rng = np.random.default_rng(settings.seed)
    left_out = rng.choice(long, min(_LEFT_OUT, len(long) // 2), replace=False)
    others = [motion for k, motion in enumerate(motions) if k not in left_out]
    database = matching_database(others, MatchingSettings())
    graph = None
    try:
        graph = motion_graph(others)
    except MotionloomError as error:
        log(f"motion graph: {error}")
    figures: dict[tuple[str, int], list[tuple[float, float, float]]] = defaultdict(list)
    for k in left_out:
        truth = on_skeleton(hips_as_root(motions[k]), database.skeleton)
        for gap in _GAPS:
            for first in rng.integers(8, len(truth) - gap - 8, _PER_TAKE):
                given = np.ones(len(truth), bool)
                given[first : first + gap] = False
                for name in _NAMES:
                    begun = time.process_time()
                    filled = _filled(name, database, graph, truth, given)
                    spent = time.process_time() - begun
                    if filled is not None:
                        figures[name, gap].append((*_errors(filled, truth, given), spent))
        log(f"filled the gaps of {truth.name}")
    rows = {
        name: {
            str(gap): dict(
                zip(("joints_m", "slide_m_s", "seconds"), np.mean(values, axis=0), strict=True)
            )
            for (who, gap), values in figures.items()
            if who == name
        }
        for name in _NAMES
    }
    return {
        "data": f"{source}: {len(motions)} takes, gaps in {len(left_out)} of them",
        "credit": credit,
        "results": [row.as_dict() for row in _results(rows)],
        "figures": rows,
    }


_NAMES = ("motion matching", "interpolation", "motion graph")


def _filled(
    name: str, database: MatchingDatabase, graph: Any, truth: Motion, given: NDArray[np.bool_]
) -> Motion | None:
    """The take with its gap filled by a method; None if the method cannot fill it."""
    if name == _NAMES[0]:
        return database.fill_gaps(truth, given)
    if name == _NAMES[1]:
        return _interpolated(truth, given)
    return None if graph is None else _routed(graph, truth, given)


def _motions(folder: Path, cmu: bool) -> list[Motion]:
    files = sorted(folder.rglob("*.bvh"))
    if cmu:
        files = [file for file in files if file.stem.startswith("16_")]
    elif any(any(word in file.stem for word in _WORDS) for file in files):
        files = [file for file in files if any(word in file.stem for word in _WORDS)]
    return [load(file).resample(_FPS) for file in files]


def _results(rows: dict[str, Any]) -> list[Result]:
    results = []
    for rival in _NAMES[1:]:
        for gap, ours in rows[_NAMES[0]].items():
            theirs = rows[rival].get(gap)
            if theirs is None:
                continue
            note = "; ".join(
                f"{name}: {100.0 * each['joints_m']:.1f} cm, {100.0 * each['slide_m_s']:.0f} cm/s"
                for name, each in ((_NAMES[0], ours), (rival, theirs))
            )
            times = ours["seconds"], max(theirs["seconds"], 1e-9)
            results.append(
                Result(
                    f"gaps of {gap} frames", times[0], rival, times[1], times[1] / times[0], note
                )
            )
    return results


def _interpolated(truth: Motion, given: NDArray[np.bool_]) -> Motion:
    """Interpolate the root linearly and rotations by slerp between the frames next to the gap."""
    gap = np.flatnonzero(~given)
    before, after = gap[0] - 1, gap[-1] + 1
    share = ((gap - before) / (after - before))[:, None]
    rotations, root = truth.rotations.astype(np.float64), truth.root.astype(np.float64)
    rotations[gap] = rot.slerp(rotations[before][None], rotations[after][None], share)
    root[gap] = (1.0 - share) * root[before] + share * root[after]
    return Motion(truth.skeleton, rotations, root, truth.fps, name=truth.name)


def _routed(graph: Any, truth: Motion, given: NDArray[np.bool_]) -> Motion | None:
    """The shortest route of a motion graph, at the speed of the gap; None if there is no route."""
    gap = np.flatnonzero(~given)
    before, after = int(gap[0]) - 1, int(gap[-1]) + 1
    start, end = (_nearest_pose(graph, truth, frame) for frame in (before, after))
    try:
        route = graph.walk(start=start, end=end)
    except MotionloomError:
        return None
    moved = route.transform(yaw=float(truth.headings()[before] - route.headings()[0]))
    shift = truth.root[before] - moved.root[0]
    moved = moved.transform(shift=(float(shift[0]), 0.0, float(shift[2])))
    times = np.linspace(0.0, len(moved) - 1.0, after - before + 1)[1:-1]
    low = np.minimum(times.astype(np.int64), max(len(moved) - 2, 0))
    share = (times - low)[:, None]
    rotations, root = truth.rotations.astype(np.float64), truth.root.astype(np.float64)
    high = np.minimum(low + 1, len(moved) - 1)
    own, way = moved.rotations.astype(np.float64), moved.root.astype(np.float64)
    rotations[gap] = rot.slerp(own[low], own[high], share)
    root[gap] = (1.0 - share) * way[low] + share * way[high]
    return Motion(truth.skeleton, rotations, root, truth.fps, name=truth.name)


def _nearest_pose(graph: Any, truth: Motion, frame: int) -> tuple[str, int]:
    """Frame of the graph whose pose is most similar to a true pose, regardless of heading."""
    pose = truth[frame : frame + 1].without_heading()
    wanted = pose.positions()[0] - pose.root[0]
    best: tuple[float, str, int] = (np.inf, "", 0)
    for clip in graph.motions:
        ahead = clip.without_heading()
        off = np.linalg.norm(ahead.positions() - ahead.root[:, None] - wanted, axis=2).mean(axis=1)
        if off.min() < best[0]:
            best = (float(off.min()), clip.name, int(off.argmin()))
    return best[1], best[2]


def _errors(filled: Motion, truth: Motion, given: NDArray[np.bool_]) -> tuple[float, float]:
    """Mean distance of joints in the gap, and mean speed of feet that stand still in the truth."""
    gap = ~given
    off = np.linalg.norm(filled.positions()[gap] - truth.positions()[gap], axis=2).mean()
    stands = truth.contacts().standing_parts()
    feet = filled.role_positions(list(FOOT_ROLES.values())).astype(np.float64)[:, :, [0, 2]]
    speed = np.linalg.norm(np.diff(feet, axis=0), axis=2) * truth.fps
    both = stands[1:] & stands[:-1] & (gap[1:] | gap[:-1])[:, None]
    return float(off), float(speed[both].mean()) if both.any() else 0.0
