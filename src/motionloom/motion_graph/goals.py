"""What a walk shall do: keep to a path, be somewhere at a time, do what labels say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.motion_graph.graph import MotionGraph

STEP = 0.05  # metres between the points of a path
_MOVING = 0.3  # m/s
_LONGEST = 3.0  # a detour is at most so many times the way

Floor = NDArray[np.complex128]


def _none() -> Floor:
    return np.zeros(0, np.complex128)


@dataclass(frozen=True, eq=False)
class Wish:
    """What is wanted, as arrays; floor positions are ``z + ix``.

    Attributes
    ----------
    path : ndarray of complex
        Points every `STEP` metres; none: no path.
    guide : ndarray of complex, shape (frames,)
        Where to be about when; none: anywhere.
    frames : int
        How long; 0: as long as the path takes.
    goal : complex or None
        Where to be at the end.
    heading : float or None
        Which way to face there.
    unfit : ndarray of bool, shape (S, motions)
        Motions that do not have the label of each stretch of time.
    stretches : ndarray of int64, shape (S,)
        The frame at which each of them ends.
    """

    path: Floor = field(default_factory=_none)
    guide: Floor = field(default_factory=_none)
    frames: int = 0
    goal: complex | None = None
    heading: float | None = None
    unfit: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0), bool))
    stretches: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


def path_wish(path: Any, seconds: float | None) -> Wish:
    """Along floor positions (n, 2), x and z in metres."""
    if seconds is not None:
        raise InvalidInput("a walk along a path lasts as long as the path takes; leave out seconds")
    points = _numbers(path)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 2:
        raise InvalidInput(
            f"path must have shape (n, 2), at least two floor positions x, z; got {points.shape}"
        )
    if not np.isfinite(points).all():
        raise InvalidInput("path must be finite")
    floor = points[:, 1] + 1j * points[:, 0]
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(floor)))])
    if along[-1] < 2 * STEP:
        raise InvalidInput(f"path must be longer than {2 * STEP} m; got {along[-1]:.3f} m")
    at = np.linspace(0.0, along[-1], int(np.ceil(along[-1] / STEP)) + 1)
    return Wish(path=np.interp(at, along, floor.real) + 1j * np.interp(at, along, floor.imag))


def goal_wish(goal: Any, seconds: float | None, graph: MotionGraph) -> Wish:
    """To x, z (and a heading) at a time, from the origin, facing +Z."""
    values = _numbers(goal)
    if values.shape not in ((2,), (3,)) or not np.isfinite(values).all():
        raise InvalidInput(f"goal must be x, z or x, z, heading; got {goal!r}")
    if seconds is None:
        raise InvalidInput("say after how many seconds the goal shall be reached")
    frames = max(round(seconds * graph.fps), 1)
    there = complex(values[1], values[0])
    heading = float(values[2]) if len(values) == 3 else None
    # A curve from here to there that begins and ends in the directions faced (Hermite).
    u = np.linspace(0.0, 1.0, frames)
    first = abs(there)
    last = abs(there) * (np.exp(1j * heading) if heading is not None else there / (first or 1.0))
    guide = (u**3 - 2 * u**2 + u) * first + (3 * u**2 - 2 * u**3) * there + (u**3 - u**2) * last
    guide = _lengthened(guide, there, usual_speed(graph) * seconds)
    return Wish(guide=guide, frames=frames, goal=there, heading=heading)


def _numbers(given: Any) -> NDArray[np.float64]:
    """What was given as an array; an empty one where it is not made of numbers."""
    try:
        return np.asarray(given, np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


def usual_speed(graph: MotionGraph) -> float:
    """Metres per second at which the graph's motions get along where they do, on average."""
    steps = np.concatenate([np.diff(motion.root[:, [0, 2]], axis=0) for motion in graph.motions])
    speeds = np.linalg.norm(steps, axis=1) * graph.fps
    moving = speeds[speeds > _MOVING]
    return float(np.median(moving)) if len(moving) else 0.0


def _lengthened(guide: Floor, there: complex, length: float) -> Floor:
    """The guide with bends to both sides, so that there is something to walk all the time."""
    if abs(there) < 1e-6 or length > _LONGEST * abs(there):
        return guide
    u = np.linspace(0.0, np.pi, len(guide))  # level at both ends: there the guide knows better
    aside = 1j * there / abs(there) * np.sin(2.0 * u) * np.sin(u) ** 2
    low, high = 0.0, length
    for _ in range(30):
        middle = 0.5 * (low + high)
        long = np.abs(np.diff(guide + middle * aside)).sum() > length
        low, high = (low, middle) if long else (middle, high)
    return guide + low * aside


def label_wish(
    wish: Wish,
    labels: Sequence[tuple[str, float]],
    seconds: float | None,
    graph: MotionGraph,
) -> Wish:
    """The same, doing what each label says for so many seconds, one after the other."""
    known = sorted({one for name in graph.names for one in graph.labels.get(name, ())})
    unfit, ends, at = [], [], 0.0
    for item in labels:
        try:
            label, length = item
            length = float(length)
        except (TypeError, ValueError):
            raise InvalidInput(f"labels must be pairs of label and seconds; got {item!r}") from None
        if label not in known:
            raise InvalidInput(
                f"no motion of the graph has the label {label!r}; there are: "
                f"{', '.join(known) or '-'}"
            )
        if not (np.isfinite(length) and length > 0.0):
            raise InvalidInput(f"label {label!r} must last for some time; got {length} s")
        at += length
        unfit.append([label not in graph.labels.get(name, ()) for name in graph.names])
        ends.append(round(at * graph.fps))
    if not unfit:
        raise InvalidInput("labels must hold at least one pair of label and seconds; got none")
    frames = wish.frames
    if not len(wish.path) and not frames:
        frames = ends[-1] if seconds is None else max(round(seconds * graph.fps), 1)
    return replace(wish, frames=frames, unfit=np.array(unfit), stretches=np.array(ends, np.int64))
