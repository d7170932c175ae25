"""Registration curves: corresponding times and planar transforms for a family of motions.

Every point `u` of the curve gives a frame of each example, ``t_1(u) .. t_N(u)``, and a planar
transform of each, ``G_1(u) .. G_N(u)``. Once these transforms are undone, the examples have the
same position and heading. Between the knots ``u = 0, 1, 2, ...`` times are strictly increasing
cubics and transforms are linear.

For weights `w`, time passes at the weighted mean of the examples' speeds, so point `u` corresponds
to frame ``w_1 t_1(u) + ... + w_N t_N(u)`` of the blend. The blend's transform moves by the weighted
mean of the examples' twists. A walk to the left and a walk straight ahead thus become a walk along
a bent path, not along a sheared one.

The transforms between two similar motions align their poses as closely as possible at each time.
Feet that are in contact in both motions have the highest weight, so that the feet of a blend stay
in place; legs and trunk have more weight than arms. The transforms are smoothed in time.

References
----------
.. [1] L. Kovar, M. Gleicher. Flexible automatic motion blending with registration curves.
   Symposium on Computer Animation 2003, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.examples import Example
from motionloom.kernels import kernel
from motionloom.motion.feet.contacts import FOOT_PARTS, FOOT_ROLES
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.motion.smoothing import gaussian_smooth

Array = NDArray[np.float64]

_SLOWEST = 0.1  # minimum speed of time in a blend; only extrapolation comes near it


@dataclass(frozen=True, eq=False)
class RegistrationCurve:
    """Times and planar transforms of N examples at K knots.

    Attributes
    ----------
    times : ndarray, shape (K, N)
        Corresponding frames; the first column is 0, 1, 2, ...
    speeds : ndarray, shape (K, N)
        Derivatives of the times, all positive.
    transforms : ndarray, shape (K, N, 3)
        Planar transforms, ``x, z, yaw``.
    twists : ndarray, shape (K - 1, N, 3)
        Twists between the transforms at consecutive knots.
    """

    times: Array
    speeds: Array
    transforms: Array
    twists: Array

    @classmethod
    def through(cls, times: Array, speeds: Array, transforms: Array) -> RegistrationCurve:
        """Fit the curve through `times` (K, N) with planar transforms (K, N, 3)."""
        steps = np.diff(times, axis=0)
        # A cubic stays monotone if its slopes are at most three times those of the chords.
        most = 3.0 * np.minimum(
            np.concatenate([steps[:1], steps]), np.concatenate([steps, steps[-1:]])
        )
        places = PlanarTransform.from_array(transforms)
        between = PlanarTransform.between(places[:-1], places[1:])
        return cls(
            np.ascontiguousarray(times),
            np.ascontiguousarray(np.minimum(speeds, most)),
            np.ascontiguousarray(transforms),
            np.ascontiguousarray(between.twist()),
        )

    def __len__(self) -> int:
        return len(self.times)

    def only(self, numbers: Sequence[int]) -> RegistrationCurve:
        """Return the curve of only the examples in `numbers`, in this order."""
        parts = (self.times, self.speeds, self.transforms, self.twists)
        return RegistrationCurve(*(np.ascontiguousarray(part[:, numbers]) for part in parts))

    def at(self, active: NDArray[np.int64], point: float) -> tuple[Array, Array]:
        """Return frames (n,) and transforms (n, 3) of `active` examples at a curve point."""
        count = len(active)
        times, transforms, place = np.empty((1, count)), np.empty((1, count, 3)), np.empty((1, 3))
        knots = np.ascontiguousarray(self.transforms[:, 0])
        _states(
            self.times, self.speeds, self.transforms, active, knots, np.array([point]),
            times, transforms, place,
        )  # fmt: skip
        return times[0], transforms[0]

    def track(self, active: NDArray[np.int64], weights: Array) -> Track:
        """Return the track of a blend of `active` examples (n,) with `weights` (n,)."""
        knots = len(self.times)
        time, speed, place = np.empty(knots), np.empty(knots), np.empty((knots, 3))
        curve = (self.times, self.speeds, self.transforms, self.twists)
        _blended(*curve, active, weights, time, speed, place)
        return Track(self, active, weights, time, speed, place)


@dataclass(frozen=True, eq=False)
class Track:
    """Time (K,), speed of time (K,) and transform (K, 3) of one blend at the knots of a curve."""

    curve: RegistrationCurve
    active: NDArray[np.int64]
    weights: Array
    time: Array
    speed: Array
    place: Array

    def points(self, moments: Array) -> Array:
        """Return the curve points `u` (F,) that correspond to blend frames `moments` (F,)."""
        return _points(self.time, self.speed, np.ascontiguousarray(moments, np.float64))

    def moments(self, points: Array) -> Array:
        """Return the blend frames (F,) that correspond to curve points `u` (F,)."""
        return _moments(self.time, self.speed, np.ascontiguousarray(points, np.float64))

    def states(self, points: Array) -> tuple[Array, Array, Array]:
        """Return example frames (F, n) and transforms (F, n, 3), and blend transforms (F, 3)."""
        points = np.ascontiguousarray(points, np.float64)
        frames, count = len(points), len(self.active)
        times, transforms = np.empty((frames, count)), np.empty((frames, count, 3))
        place = np.empty((frames, 3))
        curve = (self.curve.times, self.curve.speeds, self.curve.transforms)
        _states(*curve, self.active, self.place, points, times, transforms, place)
        return times, transforms, place


@kernel(error_model="numpy")
def _blended(times, speeds, transforms, twists, active, weights, time, speed, place):
    """Kernel of `RegistrationCurve.track`; fills time (K,), speed (K,) and place (K, 3).

    Inputs for N examples at K knots: times and speeds (K, N), transforms (K, N, 3), twists
    (K - 1, N, 3); active and weights (n,).
    """
    for k in range(len(time)):
        t, s = 0.0, 0.0
        for i in range(len(active)):
            t += weights[i] * times[k, active[i]]
            s += weights[i] * speeds[k, active[i]]
        time[k], speed[k] = t, s
    # Negative weights may make time run backward. Times are therefore forced to increase, and
    # slopes are limited to three times the nearer chord (Fritsch and Carlson 1980), so that the
    # cubics between knots also increase.
    for k in range(1, len(time)):
        time[k] = max(time[k], time[k - 1] + _SLOWEST)
    for k in range(len(time)):
        before = time[k] - time[k - 1] if k > 0 else time[1] - time[0]
        after = time[k + 1] - time[k] if k + 1 < len(time) else before
        speed[k] = min(max(speed[k], 0.0), 3.0 * min(before, after))
    for c in range(3):
        place[0, c] = transforms[0, 0, c]
    for k in range(len(time) - 1):
        x, z, yaw = 0.0, 0.0, 0.0
        for i in range(len(active)):
            x += weights[i] * twists[k, active[i], 0]
            z += weights[i] * twists[k, active[i], 1]
            yaw += weights[i] * twists[k, active[i], 2]
        # Move along an arc: the chord is shorter by a sinc factor and turned by half the angle.
        half = 0.5 * yaw
        chord = np.sin(half) / half if abs(half) > 1e-6 else 1.0 - half * half / 6.0
        angle = place[k, 2] + half
        c, s = chord * np.cos(angle), chord * np.sin(angle)
        place[k + 1, 0] = place[k, 0] + c * x + s * z
        place[k + 1, 1] = place[k, 1] + c * z - s * x
        place[k + 1, 2] = place[k, 2] + yaw


@kernel
def _cubic(a, b, da, db, f):
    """Evaluate at `f` the unit cubic from value `a` and slope `da` to `b` and `db`."""
    g = 1.0 - f
    return g * g * ((1.0 + 2.0 * f) * a + f * da) + f * f * ((1.0 + 2.0 * g) * b - g * db)


@kernel(error_model="numpy")
def _points(time, speed, moments):
    """Return the points (F,) at which time (K,) with slopes `speed` (K,) equals `moments` (F,).

    This uses Newton's method, with bisection wherever a step leaves the bracket or the slope
    vanishes. Moments mostly increase, so each search starts in the interval of the previous moment.
    """
    out = np.empty(len(moments))
    k, last = 0, len(time) - 2
    for n in range(len(moments)):
        t = min(max(moments[n], time[0]), time[-1])
        while k > 0 and time[k] > t:
            k -= 1
        while k < last and time[k + 1] <= t:
            k += 1
        low, high = 0.0, 1.0
        f = (t - time[k]) / (time[k + 1] - time[k])
        for _ in range(60):
            error = _cubic(time[k], time[k + 1], speed[k], speed[k + 1], f) - t
            if abs(error) < 1e-10:
                break
            if error > 0.0:
                high = f
            else:
                low = f
            g = 1.0 - f
            slope = 6.0 * f * g * (time[k + 1] - time[k])
            slope += g * (1.0 - 3.0 * f) * speed[k] + f * (3.0 * f - 2.0) * speed[k + 1]
            step = f - error / slope if slope > 1e-9 else -1.0
            f = step if low < step < high else 0.5 * (low + high)
        out[n] = k + f
    return out


@kernel(error_model="numpy")
def _moments(time, speed, points):
    """Evaluate the cubics with values `time` (K,) and slopes `speed` (K,) at `points` (F,)."""
    out = np.empty(len(points))
    for n in range(len(points)):
        u = min(max(points[n], 0.0), len(time) - 1.0)
        k = min(int(u), len(time) - 2)
        out[n] = _cubic(time[k], time[k + 1], speed[k], speed[k + 1], u - k)
    return out


@kernel(error_model="numpy")
def _states(times, speeds, transforms, active, knots, points, out_times, out_transforms, out_place):
    """Kernel of `Track.states`; examples as in `_blended`, blend transforms in `knots` (K, 3).

    The kernel fills times (F, n), transforms (F, n, 3) and place (F, 3) at `points` (F,).
    """
    last = len(knots) - 2
    for n in range(len(points)):
        u = min(max(points[n], 0.0), last + 1.0)
        k = min(int(u), last)
        f = u - k
        for i in range(len(active)):
            j = active[i]
            out_times[n, i] = _cubic(
                times[k, j], times[k + 1, j], speeds[k, j], speeds[k + 1, j], f
            )
            for c in range(3):
                a, b = transforms[k, j, c], transforms[k + 1, j, c]
                out_transforms[n, i, c] = a + f * (b - a)
        for c in range(3):
            out_place[n, c] = knots[k, c] + f * (knots[k + 1, c] - knots[k, c])


_SMOOTHING = 0.1  # seconds
_HELD = 20.0  # weight of a foot part in contact in both examples; a joint has weight 1
_ARM = 0.2
_ARM_PARTS = ("shoulder", "elbow", "wrist", "hand")


def edge_transforms(
    onto: Example, other: Example, times_onto: Array, times_other: Array
) -> PlanarTransform:
    """Return the planar transforms that move `other` onto `onto`.

    Parameters
    ----------
    onto, other : Example
        The two examples, which share a skeleton.
    times_onto, times_other : ndarray, shape (K,)
        Corresponding frames.

    Returns
    -------
    transforms : PlanarTransform, shape (K,)
        Transforms whose yaw does not jump by full turns.
    """
    places = [
        at_times(example.motion.positions(end_sites=True).astype(np.float64), times)
        for example, times in ((onto, times_onto), (other, times_other))
    ]
    weights = _weights(onto, other, times_onto, times_other)
    raw = PlanarTransform.aligning(places[0], places[1], weights)
    # Smooth around the body, not around the origin: far from the body, translation and rotation
    # mix.
    roots = [place[:, 0] for place in places]
    offset = raw.apply(roots[1]) - roots[0]
    width = _SMOOTHING * onto.motion.fps
    yaw = gaussian_smooth(np.unwrap(raw.yaw), width)
    offset = gaussian_smooth(offset, width)
    turned = PlanarTransform(0.0, 0.0, yaw).apply(roots[1])
    shift = roots[0] + offset - turned
    return PlanarTransform(shift[:, 0], shift[:, 2], yaw)


def at_times(values: Array, times: Array) -> Array:
    """Interpolate values (T, ...) linearly at times (K,); the result has shape (K, ...)."""
    times = np.clip(times, 0.0, len(values) - 1.0)
    before = np.minimum(times.astype(np.intp), max(len(values) - 2, 0))
    after = np.minimum(before + 1, len(values) - 1)
    share = (times - before).reshape(-1, *(1,) * (values.ndim - 1))
    return values[before] + share * (values[after] - values[before])


def _weights(onto: Example, other: Example, times_onto: Array, times_other: Array) -> Array:
    """Return the weight of each point at each time, (K, J + E)."""
    skeleton = onto.motion.skeleton
    names = skeleton.point_names
    base = np.ones(len(names))
    for role, name in skeleton.roles.items():
        if role.split("_")[-1] in _ARM_PARTS:
            base[names.index(name)] = _ARM
    weights = np.tile(base, (len(times_onto), 1))
    for part in FOOT_PARTS:
        if part not in onto.contacts.plants or part not in other.contacts.plants:
            continue
        stands = [
            at_times(example.contacts[part].astype(np.float64), times)
            for example, times in ((onto, times_onto), (other, times_other))
        ]
        weights[:, skeleton.point(FOOT_ROLES[part])] += _HELD * stands[0] * stands[1]
    return weights
