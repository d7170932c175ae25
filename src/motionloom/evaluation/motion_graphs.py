"""Motion graph quality: frame distances are compared by the transitions that they find.

The threshold of every distance is set so that it finds the same number of transitions per minute.
The motion graph rules are disabled: foot contacts need not match, abrupt transitions are kept,
and no threshold is relaxed. Each transition is then synthesized and measured:

- *acceleration*: the largest acceleration of any joint during the transition, relative to the
  99.9th percentile in the motions;
- *slide*: how fast feet that are in contact in both motions move along the floor while they are
  blended, without foot lock;
- *skipped steps*: the fraction of transitions for which the last foot strike before and the next
  foot strike after are by the same foot;
- *coverage*: the fraction of all frames from which playback can continue indefinitely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from motionloom.blending.examples import conform
from motionloom.errors import InvalidInput
from motionloom.features import FrameDistance, frame_distance
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import usual_acceleration
from motionloom.motion.feet.contacts import FOOT_PARTS, part_path
from motionloom.motion_graph.build import connected
from motionloom.motion_graph.settings import TransitionRules, TransitionSettings
from motionloom.motion_graph.transitions.foot_support import FootSupport
from motionloom.motion_graph.transitions.transitions import (
    TransitionReport,
    Transitions,
    blended,
    find_transitions,
)

_DISTANCE_ALONE = TransitionSettings(
    rules=TransitionRules(match_feet=False, smooth=None, connect=1.0)
)


@dataclass(frozen=True)
class GraphScore:
    """Quality of the transitions that a distance finds.

    Attributes
    ----------
    distance : str
    transitions : int
        Number of transitions, counting both directions.
    per_minute : float
        Transitions per minute of motion, counting both directions as one.
    acceleration, high_acceleration : float
        Median and 90th percentile of the acceleration over the transitions; see the module
        docstring.
    slide_m_per_s : float
    skipped_steps, coverage : float
        Fractions from 0 to 1.
    """

    distance: str
    transitions: int
    per_minute: float
    acceleration: float
    high_acceleration: float
    slide_m_per_s: float
    skipped_steps: float
    coverage: float


def score_motion_graph(
    motions: Sequence[Motion],
    distance: str | FrameDistance,
    *,
    per_minute: float = 30.0,
    settings: TransitionSettings = _DISTANCE_ALONE,
) -> GraphScore:
    """Measure the quality of the transitions that a frame distance finds between motions.

    Parameters
    ----------
    motions : sequence of Motion
        Motions with any skeletons and frame rates. They are converted to the skeleton and frame
        rate of the first motion.
    distance : str or FrameDistance
    per_minute : float
        Transitions per minute of motion, counting both directions as one.
    settings : TransitionSettings
        Settings for finding transitions. Default: all rules other than the distance are disabled.

    Examples
    --------
    >>> import motionloom as ml
    >>> walks = [ml.demo.clip("walk"), ml.demo.clip("walk_left")]
    >>> score = score_motion_graph(walks, "jrd")
    >>> score.distance, score.acceleration < 2.0
    ('jrd', True)
    """
    chosen = frame_distance(distance)
    ready = conform(motions)
    supports = [FootSupport.of(motion) for motion in ready]
    rule = replace(settings, distance=chosen, per_minute=per_minute)
    report = find_transitions(ready, chosen, rule, supports)
    transitions = report.transitions
    if not len(transitions):
        raise InvalidInput(f"no transitions were found among {len(ready)} motions")
    minutes = sum(len(motion) for motion in ready) / ready[0].fps / 60.0
    ratios = transitions.accelerations / usual_acceleration(ready)
    return GraphScore(
        chosen.name,
        len(transitions),
        0.5 * len(transitions) / minutes,
        float(np.median(ratios)),
        float(np.percentile(ratios, 90.0)),
        _slide(ready, supports, transitions),
        _skipped(supports, transitions),
        _coverage(ready, report),
    )


def _slide(
    motions: Sequence[Motion], supports: Sequence[FootSupport], transitions: Transitions
) -> float:
    """Return the mean floor speed, in m/s, of feet that are in contact in both motions."""
    travel, steps = 0.0, 0
    blend = transitions.blend
    for source, target in zip(transitions.source, transitions.target, strict=True):
        made = blended(motions, supports, source, target, blend, transitions.root_path)
        clip = Motion(motions[0].skeleton, made.rotations, made.root, motions[0].fps)
        in_contact = np.ones((blend, len(FOOT_PARTS)), dtype=bool)
        for number, frame in (source, target):
            first = int(frame) - blend // 2
            in_contact &= supports[int(number)].parts[first : first + blend]
        for k, part in enumerate(FOOT_PARTS):
            moved = np.linalg.norm(np.diff(part_path(clip, part)[:, [0, 2]], axis=0), axis=1)
            still = in_contact[1:, k] & in_contact[:-1, k]
            travel += float(moved[still].sum())
            steps += int(still.sum())
    return travel / steps * motions[0].fps if steps else 0.0


def _skipped(supports: Sequence[FootSupport], transitions: Transitions) -> float:
    """Return the fraction of transitions across which the same foot strikes twice in a row."""
    same, counted = 0, 0
    for (a, i), (b, j) in zip(transitions.source, transitions.target, strict=True):
        last, following = int(supports[a].last[i]), int(supports[b].next[j])
        if last >= 0 and following >= 0:
            counted += 1
            same += last == following
    return same / counted if counted else 0.0


def _coverage(motions: Sequence[Motion], report: TransitionReport) -> float:
    """Return the fraction of frames from which playback can continue indefinitely."""
    try:
        graph = connected(motions, report, "", {})
    except InvalidInput:  # no cycle
        return 0.0
    played = sum(len(motion) for motion in graph.motions) - graph.removed.frames
    return played / sum(len(motion) for motion in motions)
