"""Strides of captured walks, and the transition phase of movements.

In a march the beats are the footfalls: a stride lasts from one landing of the left foot to the
next. Strides that begin and end similarly can follow each other; a few that differ in speed and
turn are kept, and blended towards the next position of each soldier.

The *transition phase* is the time after a beat at which movements begin and end. On the beat itself
a foot lands, and a seam there, which continues velocities, would push the foot into the floor. All
movements may start a little later instead, where poses are most similar and accelerations least:
in a waltz while both feet are on the floor, in a march while one leg passes the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.feet.contacts import SIDES, landings
from motionloom.motion.retargeting.retarget import conformed
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.rhythm.choreography import Choreography
from motionloom.rhythm.movements import Movement, transition_differences, warped_movement
from motionloom.rhythm.transition_graph import TransitionGraph

Array = NDArray[np.float64]

_AHEAD = 0.1  # seconds: weight of velocities; squared, of accelerations
_TRIED = 20  # phases within a beat


def best_transition_phase(cuts: Sequence[Sequence[tuple[tuple[Motion, ...], Array]]]) -> float:
    """The phase in [0, 1) beats at which transitions between movements are smoothest.

    Parameters
    ----------
    cuts : sequence of groups
        Starts and ends of movements between which transitions occur; for each the motions,
        and the beat and the next one in frames, shape (2,).

    Returns
    -------
    transition_phase : float
        Minimizes the deviation of joint positions and velocities within the groups, and the
        accelerations, weighted by `_AHEAD`.
    """
    phases = np.arange(_TRIED) / _TRIED
    gaps = np.zeros(_TRIED)
    for group in cuts:
        states = [_state(motions, beats[0] + phases * (beats[1] - beats[0]))
                  for motions, beats in group]  # fmt: skip
        places, speeds, pushes = (np.stack(part) for part in zip(*states, strict=True))
        gaps += _spread(places) + _AHEAD * _spread(speeds)
        gaps += _AHEAD**2 * np.linalg.norm(pushes, axis=-1).mean(axis=(0, 2))
    return float(phases[int(gaps.argmin())])


def _spread(values: Array) -> Array:
    """Standard deviation (L,) of values (N, L, P, 3) over N."""
    return np.asarray(np.sqrt(values.var(axis=0).sum(axis=-1).mean(axis=-1)))


def _state(motions: tuple[Motion, ...], frames: Array) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of joints (L, P, 3) relative to the leader."""
    leader, fps = motions[0], motions[0].fps
    here = np.clip(np.rint(frames).astype(np.intp), 1, len(leader) - 2)
    turn = rot.yaw(-leader.headings()[here])[:, None]
    origin = leader.root[here, None].astype(np.float64) * [1.0, 0.0, 1.0]
    before, now, after = (
        rot.rotate(
            turn,
            np.concatenate([motion.positions()[here + k] for motion in motions], axis=1) - origin,
        )
        for k in (-1, 0, 1)
    )
    return now, 0.5 * fps * (after - before), fps**2 * (after - 2.0 * now + before)


METER = 2  # left, right
_SHORTEST, _LONGEST = 0.28, 1.2  # seconds from footfall to footfall
_UNEVEN = 0.2  # largest difference of the two steps of a stride, as a fraction of the stride
_LEAST_WAY = 0.15  # metres: shortest stride ahead
_SIDEWAYS = 0.5  # largest sideways travel, as a fraction of the travel ahead
_ODD = 2.5  # strides with a median difference above this multiple of the least are dropped
_MOST = 16  # strides that are kept


def marching_steps(
    walks: Sequence[Motion],
    *,
    fps: float = 30.0,
    mirror: bool = True,
    kind: str = "march",
    progress: Callable[[int], None] | None = None,
) -> Choreography:
    """Learn a choreography for a march from captured walks.

    Parameters
    ----------
    walks : sequence of Motion
        Walks or marches; other parts of the takes are ignored.
    fps : float
        Frames per second of the choreography.
    mirror : bool
        Use every walk mirrored, too, for turns to both sides.
    kind : str
    progress : callable, optional
        Called with 1 for every analysed walk.

    Returns
    -------
    choreography : Choreography
        One node of strides, two beats each, the left foot on the downbeat.

    Raises
    ------
    InvalidInput
        If there are fewer than two usable strides.

    Examples
    --------
    >>> import motionloom as ml
    >>> steps = marching_steps([ml.demo.clip("walk"), ml.demo.clip("walk", performer=1)])
    >>> steps.meter, len(steps.graph)
    (2, 1)
    """
    strides: list[tuple[Motion, Array, bool]] = []
    like: Motion | None = None
    counts: dict[str, int] = {}
    for walk in walks:
        walk = conformed(walk, None if like is None else like.skeleton, fps)
        like = like or walk
        counts[walk.name] = 0
        for mirrored in (False, True)[: 1 + mirror]:
            shown = walk.mirror() if mirrored else walk
            found = _strides(shown)
            counts[walk.name] += len(found)
            strides += [(shown, frames, mirrored) for frames in found]
        if progress is not None:
            progress(1)
    if len(strides) < 2:
        counted = ", ".join(f"{name}: {count}" for name, count in list(counts.items())[:8])
        raise InvalidInput(
            "there are too few strides (left, right, left, at an even pace and ahead) in the "
            f"takes: {counted or 'none'}"
        )
    left_out = {name: "no even stride ahead" for name, count in counts.items() if not count}
    movements = _alike_strides(_movements(strides, fps))
    chosen = _varied(movements)
    graph = TransitionGraph(("stride",), (tuple(range(len(chosen))),), np.ones(1), np.ones((1, 1)))
    return Choreography(tuple(chosen), graph, kind, left_out)


def pace(choreography: Choreography, bpm: float) -> tuple[float, float]:
    """Slowest and fastest stride at a tempo, m/s."""
    travel = choreography.dance_nodes[0].travel
    speeds = np.hypot(travel[:, 0], travel[:, 1]) / (choreography.meter * 60.0 / bpm)
    return float(speeds.min()), float(speeds.max())


def _strides(walk: Motion) -> list[Array]:
    """Frames (4,) of the landings left, right, left, right of every even stride ahead."""
    contacts = walk.contacts()
    falls = sorted((frame, side) for side in SIDES for frame in landings(contacts.standing(side)))
    frames = np.array([frame for frame, _ in falls], np.float64)
    sides = [side for _, side in falls]
    found = []
    for k in range(len(falls) - 3):
        if sides[k : k + 4] != ["left", "right", "left", "right"]:
            continue
        steps = np.diff(frames[k : k + 4]) / walk.fps
        even = np.ptp(steps) < _UNEVEN * 2.0 * steps.mean()
        if even and _SHORTEST < steps.min() and steps.max() < _LONGEST:
            x, z, turn = _travel(walk, int(frames[k]), int(frames[k + 2]))
            if z > _LEAST_WAY and abs(x) < _SIDEWAYS * z and abs(turn) < 0.5 * np.pi:
                found.append(frames[k : k + 4])
    return found


def _travel(walk: Motion, start: int, stop: int) -> Array:
    """Travel of a stride relative to its start: x, z, turn."""
    root, headings = walk.root.astype(np.float64), walk.headings()
    first, last = (PlanarTransform(root[k, 0], root[k, 2], headings[k]) for k in (start, stop))
    return PlanarTransform.between(first, last).to_array()


def _movements(strides: Sequence[tuple[Motion, Array, bool]], fps: float) -> list[Movement]:
    every = max(round(float(np.median([np.diff(at).mean() for _, at, _ in strides]))), 2)
    few = strides[:: max(len(strides) // 40, 1)]
    transition_phase = best_transition_phase(
        [[((walk,), at[k : k + 2]) for walk, at, _ in few for k in (0, METER)]]
    )
    return [
        warped_movement(
            (walk,),
            (walk.name,),
            at if transition_phase > 0.0 else at[:-1],
            every,
            mirrored,
            transition_phase=transition_phase,
        )
        for walk, at, mirrored in strides
    ]


def _alike_strides(movements: list[Movement]) -> list[Movement]:
    """Strides whose start and end are similar to those of the others."""
    gaps = transition_differences(movements)
    medians = 0.5 * (np.median(gaps, axis=0) + np.median(gaps, axis=1))
    return [one for one, gap in zip(movements, medians, strict=True) if gap <= _ODD * medians.min()]


def _varied(movements: list[Movement]) -> list[Movement]:
    """Strides that differ most in travel, by farthest-point sampling."""
    ways = np.array([_travel(one.motion, 0, len(one.motion) - 1) for one in movements])
    middle = int(np.linalg.norm(ways - np.median(ways, axis=0), axis=1).argmin())
    taken = [middle]
    nearest = np.linalg.norm(ways - ways[middle], axis=1)
    while len(taken) < min(_MOST, len(movements)) and nearest.max() > 0.02:
        taken.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.linalg.norm(ways - ways[taken[-1]], axis=1))
    return [movements[k] for k in sorted(taken)]
