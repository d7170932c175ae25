"""Measures that distinguish clusters with the same name: speed, turning, and other events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from motionloom.store.store import Store
from motionloom.text.captions import Event

if TYPE_CHECKING:
    from motionloom.text.clusters import Cluster

_TYPICAL = 5  # takes of a cluster that are measured, most typical first
_STEP = 0.25  # seconds between the points of the path
_WALKING = 0.2  # meters per second; slower points have no direction
_COMMON = 0.5  # minimum fraction of the takes in which an event occurs
_EVENTS = 3


def with_details(
    library: Store, clusters: Sequence[Cluster], events: Mapping[str, Sequence[Event]]
) -> list[Cluster]:
    """Return the clusters with their speed, turning rate and other common events."""
    detailed = []
    for cluster in clusters:
        travels = []
        for name in cluster.motions[:_TYPICAL]:
            motion = library[name]
            travels.append(travel(motion.root[:, [0, 2]], motion.fps))
        speed, turn = np.median(travels, axis=0).tolist() if travels else (0.0, 0.0)
        detailed.append(
            replace(
                cluster,
                speed=round(speed, 3),
                turn=round(turn, 1),
                events=_common_events(cluster, events),
            )
        )
    return detailed


def travel(path: ArrayLike, fps: float) -> tuple[float, float]:
    """Return the mean speed over the floor (m/s), and the rate of turning to the left (degrees/s).

    Parameters
    ----------
    path : array_like, shape (T, 2)
        x and z of the root.
    fps : float

    Examples
    --------
    A quarter circle to the left in two seconds, of radius 1:

    >>> angle = np.linspace(0.0, np.pi / 2, 61)
    >>> speed, turn = travel(np.column_stack([1 - np.cos(angle), np.sin(angle)]), 30.0)
    >>> round(speed, 1), round(turn)
    (0.8, 45)
    """
    points = np.asarray(path, dtype=float)[:: max(round(_STEP * fps), 1)]
    if len(points) < 3:
        return 0.0, 0.0
    step = max(round(_STEP * fps), 1) / fps
    velocity = np.diff(points, axis=0) / step
    speeds = np.hypot(*velocity.T)
    moving = speeds > _WALKING
    heading = np.arctan2(velocity[:, 0], velocity[:, 1])
    change = (np.diff(heading) + np.pi) % (2 * np.pi) - np.pi
    turning = change[moving[1:] & moving[:-1]]
    rate = float(np.degrees(turning.mean()) / step) if len(turning) else 0.0
    return float(speeds.mean()), rate


def _common_events(cluster: Cluster, events: Mapping[str, Sequence[Event]]) -> tuple[str, ...]:
    """Return names of events in at least half of the takes, most common first; not its own name."""
    counts: Counter[str] = Counter()
    for name in cluster.motions:
        counts.update({event.name.replace("_", " ") for event in events.get(name, ())})
    least = _COMMON * len(cluster.motions)
    common = [word for word, count in counts.most_common() if count >= least]
    return tuple(word for word in common if word not in cluster.name)[:_EVENTS]
