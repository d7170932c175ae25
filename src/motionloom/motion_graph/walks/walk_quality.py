"""Quality of a walk through a motion graph: path, takes and speeds, with advice in warnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion, Source
from motionloom.motion.diagnostics.quality import PathFit, TakesUsed
from motionloom.motion.smoothing import gaussian_smooth
from motionloom.motion_graph.walks.paths import Floor, distances, hips_path, rounded

if TYPE_CHECKING:
    from motionloom.motion_graph.graph import MotionGraph
    from motionloom.motion_graph.settings import WalkSettings

MOVING = 0.3  # m/s: slower bodies stand
_SPEEDS = (1.0, 99.0)  # percentiles of the speeds that are used as minimum and maximum
# Warn if a walk is at least this long (s) and at least this fraction of it comes from one take.
_LONG, _SHARE = 10.0, 0.6
_CORNER = 0.1  # meters: corners that are cut by less are not reported
_STEP_SECONDS = 0.55  # seconds per walking step


def walk_parts(
    graph: MotionGraph,
    track: NDArray[np.float32],
    sources: Iterable[Source],
    goals: WalkSettings | None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the parts of the quality report of a walk.

    Parameters
    ----------
    graph : MotionGraph
    track : ndarray, shape (T, 2)
        Floor positions x, z of the hips.
    sources : iterable of Source
        Provenance of the frames.
    goals : WalkSettings, optional
        Path or goal of the walk.
    notes : sequence of str
        Adjustments made to reach the path or goal; they become warnings.
    """
    takes = TakesUsed.of(sources, graph.fps, graph.unused)
    fit = path_fit(track, goals)
    warnings = [*notes, *_too_far(graph, fit, goals), *_one_take(graph, takes)]
    return {
        "path": fit,
        "takes": takes,
        "speeds_m_s": graph.speeds,
        "warnings": warnings,
    }


def path_fit(track: NDArray[np.float32], goals: WalkSettings | None) -> PathFit | None:
    """Compare the hips (T, 2) with the path or goal of a walk; return None if it has neither."""
    if goals is None or (goals.path is None and goals.goal is None):
        return None
    return PathFit.of(track, path=goals.floor_path(), goal=goals.goal_values())


def _too_far(graph: MotionGraph, fit: PathFit | None, goals: WalkSettings | None) -> list[str]:
    """Return a warning if the goal cannot be reached in time even at the graph's highest speed."""
    if fit is None or goals is None or goals.goal is None or not goals.seconds:
        return []
    away, fastest = float(np.hypot(*goals.goal_values()[:2])), graph.speeds[1]
    if not fastest or away <= fastest * goals.seconds:
        return []
    return [
        f"the goal is {away:.1f} m away, which takes {away / fastest:.0f} s at the highest speed "
        f"in the graph ({fastest:.1f} m/s). Set seconds to more than {goals.seconds:g}"
    ]


def moving_speeds(motions: Sequence[Motion]) -> tuple[float, float]:
    """Return the minimum and maximum speed of motions while they move, in m/s; zero if none moves.

    Speeds are averaged over one second.
    """
    measured = []
    for motion in motions:
        hips = hips_path(motion)
        both = gaussian_smooth(np.column_stack([hips.real, hips.imag]), 0.25 * motion.fps)
        measured.append(np.linalg.norm(np.diff(both, axis=0), axis=1) * motion.fps)
    speeds = np.concatenate(measured)
    moving = speeds[speeds > MOVING]
    if not len(moving):
        return 0.0, 0.0
    low, high = np.percentile(moving, _SPEEDS)
    return float(low), float(high)


def path_notes(
    path: Floor, radius: float, turns: NDArray[np.float64], graph: MotionGraph
) -> list[str]:
    """Return notes about rounded corners and about turning the body.

    Parameters
    ----------
    path : ndarray of complex, shape (n,)
        Samples of the requested path.
    radius : float
        Minimum radius of the bends in the walked path, in meters; 0 if the path was not rounded.
    turns : ndarray, shape (T,)
        Angle in radians by which the body is turned in each frame.
    graph : MotionGraph
    """
    notes: list[str] = []
    if radius:
        away = distances(path, rounded(path, radius))
        corners = _corners(path, away)
        if corners:
            named = ", ".join(f"({place.imag:.1f}, {place.real:.1f})" for place in corners[:4])
            more = f" and {len(corners) - 4} more" if len(corners) > 4 else ""
            single = len(corners) == 1
            mirrored = any(name.endswith("_mirrored") for name in graph.names)
            notes.append(
                f"{len(corners)} {'corner' if single else 'corners'} of the path at {named}{more} "
                f"{'is' if single else 'are'} rounded to a radius of {radius:g} m and cut by up to "
                f"{away.max():.2f} m, because the takes do not turn that sharply. Add takes "
                "that turn" + ("" if mirrored else ", or mirror them (mirror)")
            )
    return notes + turn_notes(turns, graph.fps, "follow the path")


def turn_notes(turns: NDArray[np.float64], fps: float, what: str) -> list[str]:
    """Return a note if the body is turned visibly by `turns` (T,), in radians, to do `what`."""
    rate = np.degrees(np.abs(turns) * fps)
    strong = rate > 22.0  # degrees/s; a turn a little faster than GENTLE_TURN is visible
    if not strong.any():
        return []
    return [
        f"the body is turned by up to {rate.max():.0f} degrees per second "
        f"({rate.max() * _STEP_SECONDS:.0f} per step) for {strong.sum() / fps:.1f} s to {what}, "
        "with the feet held in place"
    ]


def _corners(path: Floor, away: NDArray[np.float64]) -> list[complex]:
    """Return the point of each cut corner that is farthest from the rounded path."""
    from motionloom.motion.segment import intervals

    return [path[a + int(np.argmax(away[a:b]))] for a, b in intervals(away > _CORNER)]


def _one_take(graph: MotionGraph, takes: TakesUsed) -> list[str]:
    """Return a warning if a long walk mostly uses one take although there are others."""
    total = sum(takes.used.values())
    if len(graph.motions) < 3 or total < _LONG:
        return []
    name, seconds = max(takes.used.items(), key=lambda item: item[1])
    if seconds <= _SHARE * total:
        return []
    return [
        f"{seconds:.0f} of {total:.0f} s come from one take ({name}). Try another seed, exclude "
        "the take (exclude), or allow more transitions (per_minute)"
    ]
