"""Find candidate beats: times at which joints change direction or feet land.

The angular velocity of a joint is zero when the joint changes direction. Every rotation component
of every joint is one signal. Each of its significant extrema is a candidate, weighted by its
prominence in radians. Foot landings are also candidates. Most candidates of a rhythmic motion
gather around its beats; the others are scattered (Kim, Park and Shin 2003, section 3.1).

The paper describes candidates as changes of direction. All zero crossings of the angular velocity
are selected by ``kind="velocity"``, with ``smoothing=0`` and ``min_turn=0``. Its equation (2),
however, is the angular acceleration, which is zero where a swing is fastest, half a swing away from
the change of direction. ``kind="acceleration"`` selects these zero crossings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.dance.motion_beats.landings import side_landings
from motionloom.dance.settings import MIN_TURN
from motionloom.errors import InvalidInput
from motionloom.kernels import kernel
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.smoothing import gaussian_smooth

if TYPE_CHECKING:
    from motionloom.motion import Motion, Skeleton


Array = NDArray[np.float64]
Kind = Literal["turns", "velocity", "acceleration"]

# Width of the Gaussian smoothing in seconds, which removes marker noise and keeps extrema in place.
# The larger width is used if the noise between neighboring frames exceeds `_NOISY` radians.
SMOOTHING, _SMOOTHING_NOISY, _NOISY = 0.04, 0.06, 0.02
# Minimum prominence in standard deviations of the noise that remains after smoothing.
_ABOVE_NOISE = 4.0
_LARGEST = 1.0  # radians: limits the weight of a single glitch
# Size (radians) and weight of a landing. In a waltz, the rest of the body changes direction as
# often between the beats as on them.
_LANDING, _LANDING_WEIGHT = 0.5, 1.0
_AROUND = 0.75  # seconds: standard deviation of the window over which the speed is averaged


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidate beats of all signals, sorted by time.

    Attributes
    ----------
    times : ndarray, shape (N,)
        Seconds from the start of the motion.
    sizes : ndarray, shape (N,)
        Prominence of the extremum, in radians.
    weights : ndarray, shape (N,)
        Weight of each candidate: its size, reduced while the body moves fast.
    signals : ndarray of int, shape (N,)
        Number of the signal that each candidate comes from: ``3 * joint + axis`` for rotations,
        followed by the feet for landings. The numbers of a second character continue those of the
        first.
    seconds : float
        Duration of the motion, from the first to the last frame.
    feet : tuple of (ndarray, ndarray)
        Landings of the left and the right foot of each character, in seconds.
    """

    times: Array
    sizes: Array
    weights: Array
    signals: NDArray[np.int64]
    seconds: float
    feet: tuple[tuple[Array, Array], ...] = ()

    def __len__(self) -> int:
        return len(self.times)

    @property
    def landings(self) -> Array:
        """Sorted landings of all feet, in seconds."""
        return np.sort(
            np.concatenate([np.zeros(0), *(side for sides in self.feet for side in sides)])
        )


def candidate_beats(
    motions: Sequence[Motion],
    *,
    weights: Mapping[str, float] | None = None,
    kind: Kind = "turns",
    weighted: bool = True,
    smoothing: float | None = None,
    min_turn: float = MIN_TURN,
) -> Candidates:
    """Find the candidate beats of one character, or of several that move together.

    Parameters
    ----------
    motions : sequence of Motion
        Motions with the same frame rate and length.
    weights : dict, optional
        Maps a role or joint name to a factor for the weights of its candidates; 0 ignores a joint.
    kind : {"turns", "velocity", "acceleration"}
        ``"turns"`` finds changes of direction and landings; ``"velocity"`` finds only changes of
        direction, as in the paper; ``"acceleration"`` finds sign changes of the angular
        acceleration, as in equation (2) of the paper.
    weighted : bool
        If False, all candidates have the same weight, as in the paper.
    smoothing : float, optional
        Standard deviation of the Gaussian that smooths the angles, in seconds; 0 turns smoothing
        off, as in the paper. Default: 0.04, or 0.06 in noisy takes.
    min_turn : float
        Minimum prominence of an extremum and minimum range of a signal, in radians. With 0, as in
        the paper, joints that hardly move also count.

    Returns
    -------
    candidates : Candidates

    Examples
    --------
    >>> import motionloom as ml
    >>> candidates = candidate_beats([ml.demo.clip("dance_groove")])
    >>> bool(len(candidates) > 300), candidates.times.shape == candidates.sizes.shape
    (True, True)
    """
    still = stillness(motions)
    parts, feet, offset = [], [], 0
    for motion in motions:
        angles = smooth_angles(motion, *([] if smoothing is None else [smoothing]))
        noise = _noise(motion)
        factors = _factors(motion, weights)
        for column in range(angles.shape[1]):
            least = max(min_turn, _ABOVE_NOISE * noise[column]) if min_turn > 0.0 else 0.0
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
            feet.append(side_landings(motion))
            landed = np.sort(np.concatenate(feet[-1]))
            sizes = np.full(len(landed), _LANDING)
            weight = np.full(len(landed), _LANDING_WEIGHT)
            parts.append((landed, sizes, weight, offset + angles.shape[1]))
        offset += angles.shape[1] + 1
    candidates = _in_order(parts, (len(motions[0]) - 1) / motions[0].fps, tuple(feet))
    if weighted:
        return candidates
    equal = np.ones(len(candidates))
    return replace(candidates, sizes=equal, weights=equal)


def stillness(motions: Sequence[Motion]) -> Array:
    """Return the stillness (T,), near 1 where bodies are slower than on average and 0 elsewhere.

    It is used to suppress extrema of single joints, such as a knee in mid-step, while the body
    moves.
    """
    speed = np.zeros(len(motions[0]))
    for motion in motions:
        turned = np.gradient(smooth_angles(motion), axis=0).reshape(len(motion), -1, 3)
        speed += np.linalg.norm(turned, axis=2) @ _reaches(motion.skeleton)
    average = gaussian_smooth(speed, _AROUND * motions[0].fps)
    return 1.0 / (1.0 + (speed / np.maximum(average, 1e-12)) ** 2)


@lru_cache(maxsize=2)  # several steps of the analysis of a couple need them
def smooth_angles(motion: Motion, seconds: float | None = None) -> Array:
    """Return smoothed rotation components (T, 3 J), accumulated from the first frame."""
    angles = _angles(motion)
    width = _smoothing(angles) if seconds is None else seconds
    smooth = gaussian_smooth(angles, width * motion.fps) if width > 0.0 else angles
    smooth.flags.writeable = False
    return smooth


def angular_velocities(motion: Motion) -> Array:
    """Return the angular velocities (T - 1, 3 J) of all joints after each frame, equation (1)."""
    q = motion.rotations.astype(np.float64)
    turned = rot.log(rot.multiply(rot.inverse(q[:-1]), q[1:])) * motion.fps
    return np.nan_to_num(turned.reshape(len(turned), -1))


@lru_cache(maxsize=2)
def _angles(motion: Motion) -> Array:
    steps = angular_velocities(motion) / motion.fps
    angles = np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])
    angles.flags.writeable = False
    return angles


def _smoothing(angles: Array) -> float:
    return _SMOOTHING_NOISY if float(np.median(_roughness(angles))) > _NOISY else SMOOTHING


def _roughness(angles: Array) -> Array:
    """Return the standard deviation (3 J,) of white noise in each component, in radians.

    The estimate uses second differences, which contain almost no voluntary movement.
    """
    if len(angles) < 3:
        return np.zeros(angles.shape[1])
    return 1.4826 * np.median(np.abs(np.diff(angles, 2, axis=0)), axis=0) / np.sqrt(6.0)


def _noise(motion: Motion) -> Array:
    """Return the standard deviation (3 J,) of the noise in each smoothed component, in rad."""
    angles = _angles(motion)
    width = max(_smoothing(angles) * motion.fps, 0.5)
    left = _roughness(angles - smooth_angles(motion))
    return left / np.sqrt(2.0 * np.sqrt(np.pi) * width)


def _reaches(skeleton: Skeleton) -> Array:
    """Return the length (J,) of the longest chain of bones below each joint, in meters."""
    parents, offsets = skeleton.point_parents, skeleton.point_offsets
    reach = np.zeros(len(parents))
    for point in range(len(parents) - 1, 0, -1):
        if parents[point] >= 0:
            length = float(np.linalg.norm(offsets[point])) + reach[point]
            reach[parents[point]] = max(reach[parents[point]], length)
    return reach[: len(skeleton)]


def _at(values: Array, places: Array) -> Array:
    return np.interp(places, np.arange(len(values)), values)


def _in_order(
    parts: list[tuple[Array, Array, Array, int]],
    seconds: float,
    feet: tuple[tuple[Array, Array], ...],
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
            raise InvalidInput(f"weights must be at least 0; got {factor} for {name!r}")
        factors[joint] = factor
    return factors


def _turns(angle: Array, least: float) -> tuple[Array, Array]:
    """Find extrema; return their fractional frames, by parabolic interpolation, and their sizes."""
    places, sizes = [], []
    for sign in (1.0, -1.0):
        peaks, prominences = prominent_maxima(sign * angle, float(least))
        places.append(peaks + peak_offset(angle[peaks - 1], angle[peaks], angle[peaks + 1]))
        sizes.append(prominences)
    where, size = np.concatenate(places), np.concatenate(sizes)
    order = np.argsort(where, kind="stable")
    return where[order], size[order]


@kernel
def prominent_maxima(values, least):
    """Return the places and the prominences of local maxima, as `scipy.signal.find_peaks` does.

    Importing that function takes longer than finding the maxima of a hundred takes. The place of a
    plateau is its middle. Maxima with a prominence below `least` are omitted.
    """
    last, count = len(values) - 1, 0
    places, prominences = np.empty(len(values), np.int64), np.empty(len(values))
    i = 1
    while i < last:
        if values[i - 1] < values[i]:
            ahead = i + 1
            while ahead < last and values[ahead] == values[i]:
                ahead += 1
            if values[ahead] < values[i]:
                middle, height = (i + ahead - 1) // 2, values[i]
                left, right = height, height
                k = middle
                while k >= 0 and values[k] <= height:
                    left = min(left, values[k])
                    k -= 1
                k = middle
                while k <= last and values[k] <= height:
                    right = min(right, values[k])
                    k += 1
                if height - max(left, right) >= least:
                    places[count], prominences[count] = middle, height - max(left, right)
                    count += 1
                i = ahead
        i += 1
    return places[:count].copy(), prominences[:count].copy()


def _inflections(angle: Array, turns: Array, sizes: Array) -> tuple[Array, Array]:
    """Find sign changes of the second difference; return them with sizes of the nearest extrema."""
    bend = np.diff(angle, 2)
    cross = np.flatnonzero(np.signbit(bend[1:]) != np.signbit(bend[:-1]))
    a, b = bend[cross], bend[cross + 1]
    where = 1.0 + cross + np.abs(a) / np.maximum(np.abs(a) + np.abs(b), 1e-300)
    if not len(turns):
        return np.zeros(0), np.zeros(0)
    nearest = np.clip(np.searchsorted(turns, where), 0, len(turns) - 1)
    return where, sizes[nearest]


def peak_offset(before: ArrayLike, here: ArrayLike, after: ArrayLike) -> NDArray[np.float64]:
    """Return the offset of the extremum of the parabola through three samples, in [-0.5, 0.5].

    The offset is zero if the three samples lie on a line. Arguments broadcast.

    Examples
    --------
    >>> peak_offset([1.0, 0.0], [2.0, 1.0], [2.0, 2.0])
    array([0.5, 0. ])
    """
    first, middle, last = (np.asarray(value, np.float64) for value in (before, here, after))
    bend = first - 2.0 * middle + last
    slope = 0.5 * (first - last)
    shift = np.divide(slope, bend, out=np.zeros_like(bend), where=bend != 0.0)
    return np.asarray(np.clip(shift, -0.5, 0.5))
