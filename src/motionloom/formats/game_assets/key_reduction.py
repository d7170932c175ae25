"""Key reduction: drop keys of an animation as long as all points stay within a distance.

A track keeps the first and the last frame, and further frames (greedily, from the start) from which
the others can be interpolated. Programs interpolate rotations differently: glTF and Godot along the
arc (slerp), Blender and Unity per component of the quaternion, FBX per Euler angle. A frame is
dropped only if every interpolation that applies stays within the tolerance.

A rotation by a small angle at a joint moves the points below it by at most the angle times their
distance. The tolerance of a joint is therefore a length divided by its reach. Errors of the joints
along a limb add up, so the length is found by bisection: it is about the greatest for which the
measured distance of every joint and end site in every frame is within the limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.kernels import kernel
from motionloom.motion import Motion
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]
Frames = NDArray[np.int64]

_STEPS = 5  # of the bisection: the length is found to within 3 % of the limit
_SHORTEST_REACH = 0.02  # meters: hands and toes without end sites still have a size
_SAME = 1e-7  # radians or meters: tracks that change less have a single key
SHORT = 32767.0  # steps of normalized 16-bit numbers
_SHORT_ANGLE = 6.2e-5  # rad: error of a quaternion whose components are each off by half a step
# Shares of the limit that the rounding of one joint may use up. A larger share halves the size of
# more keys, but leaves less of the limit for dropping keys. The smallest result is used.
_SHORT_SHARES = (0.0, 0.1, 1.0)


@dataclass(frozen=True, eq=False)
class ReducedKeys:
    """Keys of one motion, and the greatest error of their interpolation.

    Attributes
    ----------
    motion : Motion
        The motion; its rotations have continuous signs, and are rounded where `short` says so.
    turns : list of ndarray of int, length J
        Frames in which the rotation of each joint has a key.
    steps : list of ndarray of int, length J
        Frames in which the translation of each joint has a key; empty if the joint always has its
        offset.
    short : ndarray of bool, shape (J,)
        True where rotations can be stored as normalized 16-bit numbers.
    error : float
        Greatest distance of any joint or end site in any frame from its place, in meters.
    """

    motion: Motion
    turns: list[Frames]
    steps: list[Frames]
    short: NDArray[np.bool_]
    error: float

    @property
    def keys(self) -> int:
        """Total number of keys."""
        return sum(map(len, [*self.turns, *self.steps]))

    @property
    def size(self) -> int:
        """Approximate size of the keys in a glTF file, in bytes."""
        turns = sum(
            min(len(keys) * (4 + width), len(self.motion) * width)
            for keys, width in zip(self.turns, np.where(self.short, 8, 16).tolist(), strict=True)
        )
        return turns + sum(min(16 * len(keys), 12 * len(self.motion)) for keys in self.steps)


def reduce_keys(
    motion: Motion,
    max_error: float,
    *,
    euler: Array | None = None,
    short: bool = True,
    unrounded: int = 0,
) -> ReducedKeys:
    """Drop keys while every joint and end site stays within `max_error` meters of its place.

    Parameters
    ----------
    motion : Motion
    max_error : float
        Greatest distance, in meters. With 0, only tracks that do not change are shortened.
    euler : ndarray, shape (T, J, 3), optional
        Continuous Euler angles x, y, z in degrees, if they will be interpolated (FBX).
    short : bool
        Allow 16-bit rotations where they are exact enough (glTF).
    unrounded : int
        Number of joints, from the root on, whose rotations are not rounded.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> kept = reduce_keys(walk, 0.0002)
    >>> bool(kept.error <= 0.0002), bool(kept.keys < 0.9 * len(walk) * len(walk.skeleton))
    (True, True)
    """
    shares = _SHORT_SHARES if short and max_error > 0.0 else (0.0,)
    tried = [
        _reduced(_Tracks(motion, share * max_error, euler, unrounded), max_error)
        for share in shares
    ]
    return min(tried, key=lambda keys: (keys.error > max_error, keys.size))


def _reduced(tracks: _Tracks, max_error: float) -> ReducedKeys:
    """Search the greatest tolerance for which the measured error is within the limit."""
    best = tracks.reduced(max_error)
    if best.error <= max_error or max_error <= 0.0:
        return best
    best = tracks.reduced(0.0)
    if best.error > max_error:
        return best
    low, high = 0.0, max_error
    for _ in range(_STEPS):
        length = 0.5 * (low + high)
        keys = tracks.reduced(length)
        if keys.error <= max_error:
            best, low = keys, length
        else:
            high = length
    return best


class _Tracks:
    """Rotations and translations of all joints of a motion, before reduction."""

    def __init__(
        self, motion: Motion, rounding: float, euler: Array | None, unrounded: int
    ) -> None:
        self.exact = rot.unroll(motion.rotations.astype(np.float64))
        self.reach = np.maximum(joint_reach(motion), _SHORTEST_REACH)
        self.short = _SHORT_ANGLE * self.reach <= rounding
        self.short[:unrounded] = False
        self.turns = self.exact.copy()
        self.turns[:, self.short] = np.rint(self.exact[:, self.short] * SHORT) / SHORT
        self.angles = None if euler is None else np.radians(euler.astype(np.float64))
        self.places = motion.positions(end_sites=True)
        offsets = motion.skeleton.offsets
        moved = offsets[None] if motion.translations is None else motion.translations
        self.steps = np.broadcast_to(moved, (len(motion), *offsets.shape)).astype(np.float64)
        self.steps[:, 0] = motion.root
        self.motion = replace(motion, rotations=self.turns)

    def reduced(self, length: float) -> ReducedKeys:
        """Return the keys for a tolerance in meters, with their measured error."""
        none = np.zeros((0, 3))
        turns, steps = [], []
        for joint, reach in enumerate(self.reach):
            angles = none if self.angles is None else self.angles[:, joint].copy()
            limit = max(length / float(reach), _SAME)
            exact, keys = self.exact[:, joint].copy(), self.turns[:, joint].copy()
            turns.append(rotation_keys(exact, keys, angles, limit))
            own = self.steps[:, joint].copy()
            still = np.abs(own - self.motion.skeleton.offsets[joint]).max() < 1e-6
            none_needed = joint > 0 and still
            steps.append(
                np.zeros(0, np.int64) if none_needed else linear_keys(own, max(length, _SAME))
            )
        return ReducedKeys(self.motion, turns, steps, self.short, self._error(turns, steps))

    def _error(self, turns: list[Frames], steps: list[Frames]) -> float:
        """Measure the greatest distance of any point from its place, for each interpolation."""
        ways = [np.empty_like(self.turns) for _ in range(2 if self.angles is None else 3)]
        for joint, keys in enumerate(turns):
            first, last, share = _between(keys, len(self.turns))
            a, b = self.turns[first, joint], self.turns[last, joint]
            ways[0][:, joint] = rot.normalize(a + share[:, None] * (b - a))
            ways[1][:, joint] = rot.slerp(a, b, share)
            if self.angles is not None:
                x, y = self.angles[first, joint], self.angles[last, joint]
                mixed = x + share[:, None] * (y - x)
                ways[2][:, joint] = rot.from_euler(mixed[:, ::-1], "ZYX")
        moved = self.steps.copy()
        for joint, keys in enumerate(steps):
            if len(keys):
                first, last, share = _between(keys, len(moved))
                a, b = moved[first, joint], self.steps[last, joint]
                moved[:, joint] = a + share[:, None] * (b - a)
        worst = 0.0
        for rotations in ways:
            played = replace(
                self.motion, rotations=rotations, root=moved[:, 0], translations=moved
            ).positions(end_sites=True)
            worst = max(worst, float(np.linalg.norm(played - self.places, axis=2).max()))
        return worst


def _between(keys: Frames, frames: int) -> tuple[Frames, Frames, Array]:
    """Return the keys before and after each frame, and the share of the later one."""
    where = np.arange(frames)
    number = np.clip(np.searchsorted(keys, where, side="right") - 1, 0, max(len(keys) - 2, 0))
    first, last = keys[number], keys[np.minimum(number + 1, len(keys) - 1)]
    return first, last, (where - first) / np.maximum(last - first, 1) * (last > first)


def joint_reach(motion: Motion) -> Array:
    """Return the greatest distance of each joint to a point below it, in any frame (J,)."""
    skeleton = motion.skeleton
    count = len(skeleton)
    lengths = np.linalg.norm(skeleton.point_offsets, axis=1)
    if motion.translations is not None and len(motion):
        own = np.linalg.norm(motion.translations, axis=2).max(axis=0)
        lengths[1:count] = np.maximum(lengths[1:count], own[1:])
    reach = np.zeros(len(lengths))
    for point in range(len(lengths) - 1, 0, -1):  # children come after their parents
        parent = int(skeleton.point_parents[point])
        reach[parent] = max(reach[parent], lengths[point] + reach[point])
    return reach[:count]


def rotation_keys(exact: Array, keys: Array, angles: Array, limit: float) -> Frames:
    """Return the frames to keep of rotations (T, 4), so that no frame is off by more than `limit`.

    Parameters
    ----------
    exact, keys : ndarray, shape (T, 4)
        Quaternions with continuous signs, and the same as they are stored.
    angles : ndarray, shape (T, 3) or (0, 3)
        Euler angles in radians, if these are also interpolated.
    limit : float
        Angle in radians.
    """
    kept = np.empty(max(len(exact), 2), np.int64)
    return kept[: _rotation_keys(exact, keys, angles, limit, kept)].copy()


def linear_keys(values: Array, limit: float) -> Frames:
    """Return the frames to keep of vectors (T, 3), so that no frame is off by more than `limit`."""
    kept = np.empty(max(len(values), 2), np.int64)
    return kept[: _linear_keys(values, limit, kept)].copy()


@kernel
def _rotation_keys(exact, keys, angles, limit, kept):
    """Write the kept frames to `kept` and return their number.

    From each kept frame, the next one is searched by doubling the distance until the frames between
    can no longer be interpolated, and then by bisection. A track of T frames costs O(T log T).
    """
    frames = len(exact)
    kept[0] = 0
    if frames < 2 or _holds(exact, keys, 0, frames, limit):
        return 1
    count, start = 1, 0
    while start < frames - 1:
        good, bad = start + 1, frames
        step = 2
        while start + step < frames:
            if not _rotations_fit(exact, keys, angles, start, start + step, limit):
                bad = start + step
                break
            good = start + step
            step *= 2
        if bad == frames and good < frames - 1:
            if _rotations_fit(exact, keys, angles, start, frames - 1, limit):
                good = frames - 1
        while good < frames - 1 and bad - good > 1:
            middle = (good + bad) // 2
            if _rotations_fit(exact, keys, angles, start, middle, limit):
                good = middle
            else:
                bad = middle
        kept[count] = good
        count += 1
        start = good
    return count


@kernel
def _holds(exact, keys, first, end, limit):
    """Return whether the key of one frame is within the limit of all frames [first, end)."""
    for frame in range(first, end):
        gap = 0.0
        for axis in range(exact.shape[1]):
            gap += (exact[frame, axis] - keys[first, axis]) ** 2
        # The chord between unit quaternions is half the angle of the rotation between them.
        if 4.0 * gap > limit * limit:
            return False
    return True


@kernel
def _rotations_fit(exact, keys, angles, first, last, limit):
    """Return whether the frames between two keys are within the limit for every interpolation."""
    dot = 0.0
    for axis in range(4):
        dot += keys[first, axis] * keys[last, axis]
    arc = np.arccos(min(max(dot, -1.0), 1.0))
    for frame in range(first + 1, last):
        share = (frame - first) / (last - first)
        if arc > 1e-6:
            near, far = np.sin((1.0 - share) * arc), np.sin(share * arc)
        else:
            near, far = 1.0 - share, share
        # Rounded keys are not exactly of unit length, so both results are normalized.
        along = straight = 0.0
        for axis in range(4):
            a, b = keys[first, axis], keys[last, axis]
            along += (near * a + far * b) ** 2
            straight += ((1.0 - share) * a + share * b) ** 2
        along, straight = np.sqrt(along), np.sqrt(straight)
        if along < 1e-9 or straight < 1e-9:
            return False
        arc_gap = line_gap = 0.0
        for axis in range(4):
            a, b = keys[first, axis], keys[last, axis]
            arc_gap += (exact[frame, axis] - (near * a + far * b) / along) ** 2
            line_gap += (exact[frame, axis] - ((1.0 - share) * a + share * b) / straight) ** 2
        if 4.0 * max(arc_gap, line_gap) > limit * limit:
            return False
        if len(angles):
            # The rotation error is at most the sum of the errors of the three angles.
            gap = 0.0
            for axis in range(3):
                a, b = angles[first, axis], angles[last, axis]
                gap += abs(angles[frame, axis] - (1.0 - share) * a - share * b)
            if gap > limit:
                return False
    return True


@kernel
def _linear_keys(values, limit, kept):
    """Write the kept frames to `kept` and return their number; see `_rotation_keys`."""
    frames = len(values)
    kept[0] = 0
    if frames < 2 or _holds(values, values, 0, frames, 2.0 * limit):
        return 1
    count, start = 1, 0
    while start < frames - 1:
        good, bad = start + 1, frames
        step = 2
        while start + step < frames:
            if not _line_fits(values, start, start + step, limit):
                bad = start + step
                break
            good = start + step
            step *= 2
        if bad == frames and good < frames - 1:
            if _line_fits(values, start, frames - 1, limit):
                good = frames - 1
        while good < frames - 1 and bad - good > 1:
            middle = (good + bad) // 2
            if _line_fits(values, start, middle, limit):
                good = middle
            else:
                bad = middle
        kept[count] = good
        count += 1
        start = good
    return count


@kernel
def _line_fits(values, first, last, limit):
    """Return whether the vectors between two frames are within the limit of a straight line."""
    for frame in range(first + 1, last):
        share = (frame - first) / (last - first)
        gap = 0.0
        for axis in range(values.shape[1]):
            line = (1.0 - share) * values[first, axis] + share * values[last, axis]
            gap += (values[frame, axis] - line) ** 2
        if gap > limit * limit:
            return False
    return True
