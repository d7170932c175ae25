"""Generated transitions between gaits: a walk that becomes a jog, and the reverse.

Walks and jogs share no poses, so a fat graph of both falls into two parts. However, their steps
occur in the same order. The *phase* of a take counts strides: it is a whole number when the left
foot lands and a half when the right foot lands. A transition plays a walk and a jog at the same
phase for about one stride and blends the poses, speed and pace of the first into those of the
second. It starts in a base pose of one take and ends in a base pose of the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.smoothing import smooth_step

Array = NDArray[np.float64]

_SHORTEST = 0.8  # minimum length of a transition, in strides


@dataclass(frozen=True, eq=False)
class Strides:
    """A take and the phase of its steps.

    Attributes
    ----------
    motion : Motion
    phase : ndarray, shape (T,)
        Number of strides since a landing of the left foot; increases with time.

    Examples
    --------
    >>> import motionloom as ml
    >>> strides = Strides.of(ml.demo.clip("walk"))
    >>> bool(np.all(np.diff(strides.phase) > 0.0))
    True
    """

    motion: Motion
    phase: Array

    @classmethod
    def of(cls, motion: Motion) -> Strides | None:
        """Detect the strides of a take, or return None if the feet alternate too rarely.

        The feet must alternate at least three times.
        """
        contacts = motion.contacts()
        landings = sorted(
            (int(frame), 0.5 * number)
            for number, side in enumerate(("left", "right"))
            for frame in np.flatnonzero(np.diff(contacts.standing(side).astype(np.int8)) > 0) + 1
        )
        kept = [
            landing
            for k, landing in enumerate(landings)
            if k == 0 or landing[1] != landings[k - 1][1]
        ]
        if len(kept) < 3:
            return None
        frames = np.array([frame for frame, _ in kept], np.float64)
        phases = kept[0][1] + 0.5 * np.arange(len(kept))
        if np.diff(frames).max() > 2.0 * np.median(np.diff(frames)):  # a pause
            return None
        times = np.arange(len(motion), dtype=np.float64)
        inside = np.interp(times, frames, phases)
        first, last = 0.5 / np.diff(frames)[[0, -1]]
        inside += np.minimum(times - frames[0], 0.0) * first
        inside += np.maximum(times - frames[-1], 0.0) * last
        return cls(motion, inside)

    def times(self, phase: Array) -> Array:
        """Return the frames at some phases, shifted by whole strides if the take is too short."""
        low, high = float(self.phase[0]), float(self.phase[-1])
        inside = phase - np.maximum(np.ceil(phase - high), 0.0)
        inside = inside + np.maximum(np.ceil(low - inside), 0.0)
        return np.interp(inside, self.phase, np.arange(len(self.phase)))

    @property
    def pace(self) -> float:
        """Mean number of strides per frame."""
        return float((self.phase[-1] - self.phase[0]) / (len(self.phase) - 1))


def gait_transition(
    before: Strides, start: int, after: Strides, end: int, *, lead: float = 0.0, name: str = ""
) -> Motion:
    """Build a motion from frame `start` of one take to frame `end` of another, in step with both.

    `lead` is the number of strides of the first take to play before the transition, and of the
    second take to play after it.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk, jog = (Strides.of(ml.demo.clip(kind)) for kind in ("walk", "jog"))
    >>> made = gait_transition(walk, 40, jog, 30)
    >>> speed = np.linalg.norm(np.diff(made.root[:, [0, 2]], axis=0), axis=1) * made.fps
    >>> bool(speed[0] < 1.6 < 2.0 < speed[-1])
    True
    """
    first, last = float(before.phase[start]), float(after.phase[end])
    strides = (last - first) % 1.0
    strides += 1.0 if strides < _SHORTEST else 0.0
    count = _frames(strides, before.pace, after.pace)
    gone = _progress(count, before.pace, after.pace) * strides
    ahead, behind = (max(round(lead / pace), 0) for pace in (before.pace, after.pace))
    gone = np.concatenate([
        -before.pace * np.arange(ahead, 0, -1), gone,
        strides + after.pace * np.arange(1, behind + 1),
    ])  # fmt: skip
    weight = np.asarray(smooth_step(np.clip(gone / strides, 0.0, 1.0)), np.float64)
    parts = [
        _Sampled.of(take, take.times(phase), pace)
        for take, phase, pace in (
            (before, first + gone, np.gradient(gone) / before.pace),
            (after, last - strides + gone, np.gradient(gone) / after.pace),
        )
    ]
    mixed = rot.slerp(parts[0].rotations, parts[1].rotations, weight[:, None])
    way, turn, height = (
        (1.0 - weight) * getattr(parts[0], part) + weight * getattr(parts[1], part)
        for part in ("way", "turn", "height")
    )
    heading = np.concatenate([[0.0], np.cumsum(turn[:-1])])
    floor = np.concatenate([[0.0], np.cumsum((way * np.exp(1j * heading))[:-1])])
    mixed[:, 0] = rot.multiply(rot.yaw(heading), mixed[:, 0])
    root = np.column_stack([floor.imag, height, floor.real])
    motion = before.motion
    made = Motion(motion.skeleton, rot.unroll(mixed), root, motion.fps, name=name)
    return made.clean_feet()


def _frames(strides: float, *paces: float) -> int:
    return max(round(strides / float(np.mean(paces))), 4) + 1


def _progress(count: int, first: float, last: float) -> Array:
    """Return `count` values from 0 to 1 whose rate changes smoothly from `first` to `last`."""
    share = np.asarray(smooth_step((np.arange(count - 1) + 0.5) / (count - 1)), np.float64)
    steps = (1.0 - share) * first + share * last
    return np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()


@dataclass(frozen=True, eq=False)
class _Sampled:
    """Poses of a take at n times, facing +Z, and the movement of its root per frame."""

    rotations: Array  # (n, J, 4)
    height: Array
    way: NDArray[np.complex128]  # z + ix, relative to the heading
    turn: Array

    @classmethod
    def of(cls, strides: Strides, times: Array, pace: Array) -> _Sampled:
        motion = strides.motion
        poses = motion.rotations.astype(np.float64)
        heading = motion.headings()
        poses[:, 0] = rot.multiply(rot.yaw(-heading), poses[:, 0])
        low = np.minimum(np.floor(times).astype(np.int64), len(motion) - 2)
        share = times - low
        rotations = rot.slerp(poses[low], poses[low + 1], share[:, None])
        root = motion.root.astype(np.float64)
        floor = root[:, 2] + 1j * root[:, 0]
        way = np.gradient(floor) * np.exp(-1j * heading)
        turn = np.gradient(np.unwrap(heading))
        frames = np.arange(len(motion))
        sampled = np.interp(times, frames, way.real) + 1j * np.interp(times, frames, way.imag)
        return cls(
            rotations,
            np.interp(times, frames, root[:, 1]),
            sampled * pace,
            np.interp(times, frames, turn) * pace,
        )
