"""Candidate beats: the moments at which joints evidently change direction, and feet land.

A joint that turns back passes zero angular velocity. Every rotation component of every joint
is one signal; each of its evident turns is a candidate, with the size of the turn in radians
as its weight. A foot that is put down changes direction, too. Most candidates of a rhythmic
motion gather around its beats, the others fall anywhere (Kim, Park and Shin 2003, section 3.1).

The paper takes the zero crossings of the angular acceleration; those are where a swing is
fastest or has come to rest, so a plain swing crosses half a swing away from where it turns.
They can be had with ``kind="acceleration"``.

Where between its samples a curve turns: the parabola through a sample and its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput, RoleError
from motionloom.motion.feet.contacts import SIDES, landings
from motionloom.motion.rotations import quaternions as rot

if TYPE_CHECKING:
    from motionloom.motion import Motion, Skeleton


def peak_offset(before: ArrayLike, here: ArrayLike, after: ArrayLike) -> NDArray[np.float64]:
    """How far from a sample, half a sample at most, its parabola is highest or lowest.

    Zero where the three lie on a line. Arguments broadcast.

    Examples
    --------
    >>> peak_offset([1.0, 0.0], [2.0, 1.0], [2.0, 2.0])
    array([0.5, 0. ])
    """
    first, middle, last = (np.asarray(one, np.float64) for one in (before, here, after))
    bend = first - 2.0 * middle + last
    slope = 0.5 * (first - last)
    shift = np.divide(slope, bend, out=np.zeros_like(bend), where=bend != 0.0)
    return np.asarray(np.clip(shift, -0.5, 0.5))


Array = NDArray[np.float64]
Kind = Literal["turns", "acceleration"]

# Seconds of Gaussian smoothing: a turn keeps its place, the noise of markers does not. Where
# neighbouring frames differ by more than `_NOISY` radians for no reason, more is needed.
SMOOTHING, _SMOOTHING_NOISY, _NOISY = 0.04, 0.06, 0.02
# Radians a component must turn back by. Smaller turns are involuntary: 3.4 degrees.
EVIDENT = 0.06
# ... and so many deviations of what noise is left after smoothing.
_ABOVE_NOISE = 4.0
_LARGEST = 1.0  # radians that count; one glitch is not a rhythm
# What a foot that is put down counts for in the period (radians), and for where beats are:
# of a waltz, the rest of the body turns as much between the beats as on them.
_LANDING, _LANDING_WEIGHT = 0.5, 1.0
_AROUND = 0.75  # seconds; the usual speed is told from so much to either side


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of all signals, in order of time.

    Attributes
    ----------
    times : ndarray, shape (N,)
        Seconds from the start of the motion.
    sizes : ndarray, shape (N,)
        How far the component turns back, radians.
    weights : ndarray, shape (N,)
        The same, less where the rest of the body is fast.
    signals : ndarray of int, shape (N,)
        Which signal each belongs to: ``3 * joint + axis``, behind them the landings of the
        feet; the second of two characters counts on from the first.
    seconds : float
        Duration of the motion, from the first to the last frame.
    landings : ndarray, shape (M,)
        When a foot is put down, seconds; in no order where several move together.
    """

    times: Array
    sizes: Array
    weights: Array
    signals: NDArray[np.int64]
    seconds: float
    landings: Array = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        return len(self.times)


def candidate_beats(
    motions: Sequence[Motion],
    *,
    weights: Mapping[str, float] | None = None,
    kind: Kind = "turns",
) -> Candidates:
    """Candidates of one character, or of several that move together.

    Parameters
    ----------
    motions : sequence of Motion
        At the same rate and of the same length.
    weights : dict, optional
        Role or joint name to a factor on its candidates' weights; 0 leaves a joint out.
    kind : {"turns", "acceleration"}
        Where a component turns back and where feet land, or where a component's acceleration
        changes sign (the paper).

    Returns
    -------
    candidates : Candidates

    Examples
    --------
    >>> import motionloom as ml
    >>> found = candidate_beats([ml.demo.clip("dance_groove")])
    >>> bool(len(found) > 300), found.times.shape == found.sizes.shape
    (True, True)
    """
    if kind not in ("turns", "acceleration"):
        raise InvalidInput(f"kind must be 'turns' or 'acceleration'; got {kind!r}")
    still = stillness(motions)
    parts, feet, offset = [], [np.zeros(0)], 0
    for motion in motions:
        angles = smooth_angles(motion)
        noise = _noise(motion)
        factors = _factors(motion, weights)
        for column in range(angles.shape[1]):
            least = max(EVIDENT, _ABOVE_NOISE * noise[column])
            factor = factors[column // 3]
            if factor <= 0.0 or np.ptp(angles[:, column]) < least:
                continue
            where, size = _turns(angles[:, column], least)
            if kind == "acceleration":
                where, size = _inflections(angles[:, column], where, size)
            size = factor * np.minimum(size, _LARGEST)
            weight = size if kind == "acceleration" else size * _at(still, where)
            parts.append((where / motion.fps, size, weight, offset + column))
        if kind == "turns":
            landed = _landings(motion)
            feet.append(landed)
            sizes = np.full(len(landed), _LANDING)
            weight = np.full(len(landed), _LANDING_WEIGHT)
            parts.append((landed, sizes, weight, offset + angles.shape[1]))
        offset += angles.shape[1] + 1
    return _in_order(parts, (len(motions[0]) - 1) / motions[0].fps, np.concatenate(feet))


def stillness(motions: Sequence[Motion]) -> Array:
    """Near 1 where the bodies are much slower than around, near 0 where faster, shape (T,).

    A knee that bends most in the middle of a step turns back, too, but the body does not.
    """
    from scipy.ndimage import gaussian_filter1d

    speed = np.zeros(len(motions[0]))
    for motion in motions:
        turned = np.gradient(smooth_angles(motion), axis=0).reshape(len(motion), -1, 3)
        speed += np.linalg.norm(turned, axis=2) @ _reaches(motion.skeleton)
    usual = gaussian_filter1d(speed, _AROUND * motions[0].fps, mode="nearest")
    return 1.0 / (1.0 + (speed / np.maximum(usual, 1e-12)) ** 2)


def smooth_angles(motion: Motion) -> Array:
    """Rotation components summed up from the first frame and smoothed, shape (T, 3 J)."""
    from scipy.ndimage import gaussian_filter1d

    angles = _angles(motion)
    return gaussian_filter1d(angles, _smoothing(angles) * motion.fps, axis=0, mode="nearest")


def angular_velocities(motion: Motion) -> Array:
    """Equation (1) for all joints, shape (T - 1, 3 J), rad/s; row i lies between i and i + 1."""
    q = motion.rotations.astype(np.float64)
    turned = rot.log(rot.multiply(rot.inverse(q[:-1]), q[1:])) * motion.fps
    return np.nan_to_num(turned.reshape(len(turned), -1))


def _angles(motion: Motion) -> Array:
    steps = angular_velocities(motion) / motion.fps
    return np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])


def _smoothing(angles: Array) -> float:
    return _SMOOTHING_NOISY if float(np.median(_roughness(angles))) > _NOISY else SMOOTHING


def _roughness(angles: Array) -> Array:
    """Deviation of white noise in each component, from neighbours alone, radians, (3 J,).

    Second differences hold next to nothing of what a body does on purpose.
    """
    if len(angles) < 3:
        return np.zeros(angles.shape[1])
    return 1.4826 * np.median(np.abs(np.diff(angles, 2, axis=0)), axis=0) / np.sqrt(6.0)


def _noise(motion: Motion) -> Array:
    """Deviation that noise leaves in each smoothed component, radians, shape (3 J,)."""
    angles = _angles(motion)
    width = max(_smoothing(angles) * motion.fps, 0.5)
    left = _roughness(angles - smooth_angles(motion))
    return left / np.sqrt(2.0 * np.sqrt(np.pi) * width)


def _reaches(skeleton: Skeleton) -> Array:
    """How far the body reaches below each joint, metres, shape (J,): what its turns move."""
    parents, offsets = skeleton.point_parents, skeleton.point_offsets
    reach = np.zeros(len(parents))
    for point in range(len(parents) - 1, 0, -1):
        if parents[point] >= 0:
            length = float(np.linalg.norm(offsets[point])) + reach[point]
            reach[parents[point]] = max(reach[parents[point]], length)
    return reach[: len(skeleton)]


def _landings(motion: Motion) -> Array:
    """Moments at which a foot is put down, seconds; none where there are no feet."""
    try:
        contacts = motion.contacts()
    except RoleError:
        return np.zeros(0)
    down = [landings(contacts.standing(side)) for side in SIDES]
    return np.sort(np.concatenate(down)) / motion.fps


def _at(values: Array, places: Array) -> Array:
    return np.interp(places, np.arange(len(values)), values)


def _in_order(
    parts: list[tuple[Array, Array, Array, int]], seconds: float, feet: Array
) -> Candidates:
    if not parts:
        none = np.zeros(0)
        return Candidates(none, none, none, np.zeros(0, np.int64), seconds, feet)
    times, sizes, weights = (np.concatenate([part[k] for part in parts]) for k in range(3))
    signals = np.concatenate([np.full(len(part[0]), part[3], np.int64) for part in parts])
    order = np.lexsort((signals, times))
    return Candidates(times[order], sizes[order], weights[order], signals[order], seconds, feet)


def _factors(motion: Motion, weights: Mapping[str, float] | None) -> Array:
    factors = np.ones(len(motion.skeleton))
    for name, factor in (weights or {}).items():
        if name in motion.skeleton.roles:
            joint = motion.skeleton.joint(motion.skeleton.roles[name])
        else:
            joint = motion.skeleton.joint(name)
        if not (np.isfinite(factor) and factor >= 0.0):
            raise InvalidInput(f"weights must not be negative; got {factor} for {name!r}")
        factors[joint] = factor
    return factors


def _turns(angle: Array, least: float) -> tuple[Array, Array]:
    """Places (in frames, between them where the parabola says so) and sizes of evident turns."""
    from scipy.signal import find_peaks

    places, sizes = [], []
    for sign in (1.0, -1.0):
        peaks, about = find_peaks(sign * angle, prominence=least)
        places.append(peaks + peak_offset(angle[peaks - 1], angle[peaks], angle[peaks + 1]))
        sizes.append(about["prominences"])
    where, size = np.concatenate(places), np.concatenate(sizes)
    order = np.argsort(where, kind="stable")
    return where[order], size[order]


def _inflections(angle: Array, turns: Array, sizes: Array) -> tuple[Array, Array]:
    """Where the second difference changes sign within evident swings; sizes of the swings."""
    bend = np.diff(angle, 2)
    cross = np.flatnonzero(np.signbit(bend[1:]) != np.signbit(bend[:-1]))
    a, b = bend[cross], bend[cross + 1]
    where = 1.0 + cross + np.abs(a) / np.maximum(np.abs(a) + np.abs(b), 1e-300)
    if not len(turns):
        return np.zeros(0), np.zeros(0)
    nearest = np.clip(np.searchsorted(turns, where), 0, len(turns) - 1)
    return where, sizes[nearest]
