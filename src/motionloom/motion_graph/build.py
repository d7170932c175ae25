"""Build a motion graph: conform the motions, find transitions, remove dead ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.examples import conform
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import usual_acceleration
from motionloom.motion.loops import unrolled
from motionloom.motion_graph.components import endless
from motionloom.motion_graph.graph import MotionGraph, Removed
from motionloom.motion_graph.settings import TransitionSettings
from motionloom.motion_graph.transitions.foot_support import FootSupport
from motionloom.motion_graph.transitions.pair_candidates import LibraryMotions
from motionloom.motion_graph.transitions.transitions import (
    TransitionReport,
    Transitions,
    find_transitions,
)
from motionloom.parallel import Progress


def motion_graph(
    motions: Sequence[Motion],
    settings: TransitionSettings | None = None,
    *,
    labels: Mapping[str, tuple[str, ...]] | None = None,
    stored: LibraryMotions | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> MotionGraph:
    """Build a motion graph from motions.

    Parameters
    ----------
    motions : sequence of Motion
        Motions with any skeletons and frame rates. They are retargeted to the skeleton of the first
        motion and resampled to its frame rate.
    settings : TransitionSettings, optional
        How transitions are found. Default: ``TransitionSettings()``.
    labels : mapping of str to tuple of str, optional
        Labels of the motions, by name.
    stored : LibraryMotions, optional
        Where worker processes find the same motions. Without it, all work is done in this process.
    workers : int, optional
        Number of worker processes. Default: one per core, or none for small jobs.
    progress : callable, optional
        Called with the number of motion pairs compared since the last call.

    Raises
    ------
    InvalidInput
        If no transitions are found, or if they form no cycle.

    Examples
    --------
    >>> import motionloom as ml
    >>> graph = motion_graph([ml.demo.clip("walk"), ml.demo.clip("walk_left")])
    >>> len(graph) > 0
    True
    """
    settings = settings or TransitionSettings()
    distance = settings.frame_distance()
    ready = conform([unrolled(motion) for motion in motions] if settings.rules.unroll else motions)
    foot_supports = [FootSupport.of(motion) for motion in ready]
    report = find_transitions(
        ready, distance, settings, foot_supports, stored=stored, workers=workers, progress=progress
    )
    return connected(ready, report, distance.name, labels or {})


def connected(
    motions: Sequence[Motion],
    report: TransitionReport,
    distance: str,
    labels: Mapping[str, tuple[str, ...]],
) -> MotionGraph:
    """Return the graph of the transitions found.

    Dead ends and unreachable parts are removed, unless the report asks to keep them.
    """
    transitions = report.transitions
    if not len(transitions):
        raise InvalidInput(
            f"no transitions were found among {len(motions)} motions at threshold "
            f"{report.threshold:g}. Raise max_distance or per_minute, add more similar motions, or "
            "allow any foot contacts (match_feet off)"
        )
    find = _all if report.dead_ends else endless
    kept = find(transitions.leave, transitions.enter)
    abrupt = 0
    while kept.any() and report.smooth is not None:
        # The remaining motions may have lower peak accelerations than all motions together.
        used = np.unique(transitions.source[kept, 0])
        limit = report.smooth * usual_acceleration([motions[number] for number in used])
        rough = transitions.accelerations > limit
        if not np.any(kept & rough):
            break
        abrupt += int(rough.sum())
        transitions = transitions.select(~rough)
        kept = find(transitions.leave, transitions.enter)
    if not kept.any():
        raise InvalidInput(
            f"the {len(report.transitions)} transitions found form no cycle, so every route ends. "
            "Raise max_distance or per_minute, or add longer motions"
        )
    left = transitions.select(kept)
    used = np.unique(np.concatenate([left.source[:, 0], left.target[:, 0]]))
    renumbered = np.full(len(motions), -1, np.int64)
    renumbered[used] = np.arange(len(used))
    source, target = left.source.copy(), left.target.copy()
    source[:, 0], target[:, 0] = renumbered[source[:, 0]], renumbered[target[:, 0]]
    left = replace(left, source=source, target=target)
    remaining = tuple(motions[number] for number in used)
    removed = Removed(
        int(np.sum(~kept)),
        tuple(motion.name for n, motion in enumerate(motions) if renumbered[n] < 0),
        report.foot_support,
        report.abrupt + abrupt,
        _idle_frames(remaining, left),
        reasons={
            motion.name: _reason(n, transitions, report)
            for n, motion in enumerate(motions)
            if renumbered[n] < 0
        },
    )
    prunings = {
        (motions[a].name, motions[b].name): counts for (a, b), counts in report.prunings.items()
    }
    return MotionGraph(
        remaining, left, distance, report.threshold, removed, prunings, dict(labels),
        dead_ends=report.dead_ends,
    )  # fmt: skip


def _all(leave: NDArray[np.int64], enter: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.ones(len(leave), dtype=bool)


def _reason(motion: int, transitions: Transitions, report: TransitionReport) -> str:
    """Return the reason why a motion is not part of the graph."""
    others = transitions.source[:, 0] != transitions.target[:, 0]
    leads_there = bool(np.any(others & (transitions.target[:, 0] == motion)))
    leads_away = bool(np.any(others & (transitions.source[:, 0] == motion)))
    if leads_there and leads_away:
        return "its transitions lead only to other motions that are cut off, or return too early"
    if leads_there or leads_away:
        return f"transitions only lead {'to' if leads_there else 'away from'} it"
    similar = sum(
        counts.below_threshold
        for pair, counts in report.prunings.items()
        if motion in pair and pair[0] != pair[1]
    )
    if similar:
        return "transitions would be too abrupt, or different feet would be in contact"
    return "none of its poses is similar enough to a pose of another motion"


def _idle_frames(motions: Sequence[Motion], transitions: Transitions) -> int:
    """Count the frames before the first arrival and after the last departure of each motion."""
    idle = 0
    for number, motion in enumerate(motions):
        first = transitions.target[transitions.target[:, 0] == number, 1].min(initial=len(motion))
        last = transitions.source[transitions.source[:, 0] == number, 1].max(initial=0)
        idle += len(motion) - max(int(last) - int(first), 0)
    return idle
