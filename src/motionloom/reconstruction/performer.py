"""The performer's skeleton: one of the library's, fitted to the markers.

Hips, head and ankles tell the size of a body. Over time, the hips are as far from an ankle as a
straight leg reaches, and as far from the head as the trunk is long. Rigs put the hips anywhere
between the hip joints and the waist, and the head anywhere between the neck and the crown, so the
two distances are never compared with the library's one by one. The most likely leg is found for
which both the height of the hips above the hip joints and that of the head are near those of a
library's skeleton, which is then scaled, and its hips and head are moved to where the markers are.

Other markers are fitted by their distances: every skeleton of the library is measured in its
motions in the same way, and the one with the best proportions is scaled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Skeleton
from motionloom.motion.kinematics.body import body_proportions
from motionloom.motion.kinematics.root_carrier import body_skeleton
from motionloom.motion.skeleton import BodyTree
from motionloom.reconstruction.control_signal import ControlSignal
from motionloom.store.store import Store

Array = NDArray[np.float64]

_ANKLES = ("left_ankle", "right_ankle")
# Percentiles over time at which legs are straight and the trunk is upright, and what of the
# skeleton's own distance is seen there: medians over 117 takes of six rigs, where the middle half
# of the takes is within 2 and 1 %.
_STRAIGHT_PERCENTILE, _STRAIGHT = 95.0, 1.0
_UPRIGHT_PERCENTILE, _UPRIGHT = 80.0, 0.994
# Heights of the hips and of the head above the hip joints, in lengths of the leg: mean and
# standard deviation over 24 rigs, and standard deviation within one rig (performers of CMU).
_USUAL, _RIG_SPREAD = np.array([0.03, 0.74]), np.array([0.055, 0.085])
_PERFORMER_SPREAD = np.array([0.015, 0.03])
# Twice the logarithm of how much wider the first distribution is.
_OTHER_RIG = 2.0 * float(np.sum(np.log(_RIG_SPREAD / _PERFORMER_SPREAD)))
_HIPS = np.linspace(-0.12, 0.2, 641)  # heights of the hips that are tried

# Metres by which joints are off because the skeleton is fitted; chosen on 40 takes (`confidence`).
_SAME_RIG_ERROR, _OTHER_RIG_ERROR = 0.02, 0.05
_AS_GOOD = 0.3  # standard deviations: skeletons that fit as well as the best
_EXTENT_PERCENTILE = 90.0  # percentile of a distance over time that is its extent
_MOTIONS_EACH = 3  # motions of each skeleton that are measured
_LEAST_SCALE, _MOST_SCALE = 0.4, 2.0  # relative to a skeleton of the library
_MOST_MISFIT = 5.0  # standard deviations
_EXTENT_SPREAD = 0.07  # standard deviation of proportions by extents (logarithm)


@dataclass(frozen=True)
class FittedSkeleton:
    """A performer's skeleton, and the error in metres of joints that it is expected to cause."""

    skeleton: Skeleton
    error: float = 0.0


@dataclass(frozen=True)
class _Fit:
    """A skeleton, its scale, and where its hips and head go, if they are known."""

    skeleton: Skeleton
    scale: float
    misfit: float
    hips: float = 0.0
    to_head: float | None = None
    same_rig: bool = False

    def fitted(self) -> FittedSkeleton:
        scaled = self.skeleton.scaled(self.scale)
        if self.to_head is not None:
            scaled = _moved(scaled, self.hips, self.to_head)
        return FittedSkeleton(scaled, _SAME_RIG_ERROR if self.same_rig else _OTHER_RIG_ERROR)


def fitted_skeleton(library: Store, signal: ControlSignal) -> FittedSkeleton:
    """A skeleton of the library, fitted to the markers.

    Raises
    ------
    InvalidInput
        If no skeleton of the library is near the markers' proportions.
    """
    standing = _standing_distances(signal)
    fits = []
    for skeleton, names in _performers(library):
        if any(role not in skeleton.roles for role in signal.roles):
            continue
        fit = None if standing is None else _standing_fit(skeleton, *standing)
        fits.append((fit or _extent_fit(library, skeleton, names, signal), names))
    if not fits:
        raise RoleError(
            f"no skeleton of the library has joints for {', '.join(signal.roles)}; "
            "give the performer's skeleton"
        )
    least = min(fit.misfit for fit, _ in fits)
    near = [(fit, names) for fit, names in fits if fit.misfit <= least + _AS_GOOD]
    best = near[0][0]
    if len(near) > 1:  # arms decide between skeletons whose legs and trunk fit as well
        arms = [_extent_fit(library, fit.skeleton, names, signal).misfit for fit, names in near]
        best = near[int(np.argmin(arms))][0]
    if not _LEAST_SCALE <= best.scale <= _MOST_SCALE or best.misfit > _MOST_MISFIT:
        raise InvalidInput(
            f"the markers do not fit a skeleton of the library: the nearest would be scaled by "
            f"{best.scale:.2f}, and its proportions are off by {best.misfit:.1f} standard "
            "deviations. Check unit and roles of the markers, or give the performer's skeleton"
        )
    return best.fitted()


def _performers(library: Store) -> list[tuple[Skeleton, list[str]]]:
    """Skeletons of the library, one per performer, and the names of their motions."""
    performers: list[tuple[Skeleton, list[str]]] = []
    names_of: dict[str, list[str]] = {}
    for entry in library.entries():
        if entry.skeleton not in names_of:
            body = body_skeleton(library.skeleton(entry.skeleton))
            same = (names for other, names in performers if other.is_same_body(body))
            names = next(same, None)
            if names is None:
                names = []
                performers.append((body, names))
            names_of[entry.skeleton] = names
        names_of[entry.skeleton].append(entry.name)
    return performers


def check_skeleton(skeleton: Skeleton, signal: ControlSignal) -> None:
    """Raise if markers are much farther apart than the skeleton's bones reach."""
    skeleton.role_assignment.require(signal.roles)
    tree = BodyTree(skeleton)
    points = skeleton.points(signal.roles)
    pairs = list(combinations(range(len(points)), 2))
    reach = np.array([tree.length(int(points[a]), int(points[b])) for a, b in pairs])
    ratios = _extents(signal.points) / np.where(reach > 0.0, reach, np.nan)
    if not np.isfinite(ratios).any():
        return
    widest = float(np.nanmax(ratios))
    typical = float(np.nanmedian(ratios))
    if widest > 1.25 or typical < 0.3:
        a, b = pairs[int(np.nanargmax(ratios))]
        raise InvalidInput(
            f"the skeleton does not fit the markers: {signal.roles[a]} and {signal.roles[b]} are "
            f"{widest:.2f} times as far apart as its bones reach (all pairs: {typical:.2f} times). "
            "Is it another person's, or the unit wrong?"
        )


def _standing_distances(signal: ControlSignal) -> tuple[float, float] | None:
    """Distance of the hips from a straight leg's ankle, and from the head of an upright body."""
    at = {role: signal.points[:, m] for m, role in enumerate(signal.roles)}
    ankles = [at[role] for role in _ANKLES if role in at]
    if "hips" not in at or "head" not in at or not ankles:
        return None
    legs = np.array([np.linalg.norm(at["hips"] - ankle, axis=-1) for ankle in ankles])
    leg = np.fmax.reduce(legs, axis=0)
    trunk = np.linalg.norm(at["hips"] - at["head"], axis=-1)
    if not np.isfinite(leg).any() or not np.isfinite(trunk).any():
        return None
    return (
        float(np.nanpercentile(leg, _STRAIGHT_PERCENTILE)) / _STRAIGHT,
        float(np.nanpercentile(trunk, _UPRIGHT_PERCENTILE)) / _UPRIGHT,
    )


def _standing_fit(skeleton: Skeleton, to_ankle: float, to_head: float) -> _Fit | None:
    """The most likely body: of the skeleton's rig, or of any, with the skeleton's shape."""
    own = body_proportions(skeleton)
    if own is None:
        return None
    leg = to_ankle / np.hypot(1.0 + _HIPS, 0.5 * own.hip_width)
    places = np.stack([_HIPS, to_head / leg + _HIPS], axis=1)
    own_places = np.array([own.hips, own.head])
    same = np.sum(((places - own_places) / _PERFORMER_SPREAD) ** 2, axis=1)
    other = np.sum(((places - _USUAL) / _RIG_SPREAD) ** 2, axis=1) + _OTHER_RIG
    # Of another rig, the skeleton that needs the least change is the best shape.
    other += 0.1 * np.sum(((places - own_places) / _RIG_SPREAD) ** 2, axis=1)
    best = int(np.argmin(np.minimum(same, other)))
    return _Fit(
        skeleton,
        scale=float(leg[best] / own.leg),
        misfit=float(np.sqrt(min(same[best], other[best]))),
        hips=float(places[best, 0]),
        to_head=to_head,
        same_rig=bool(same[best] <= other[best]),
    )


def _moved(skeleton: Skeleton, hips: float, to_head: float) -> Skeleton:
    """A skeleton whose hips are `hips` lengths of the leg above the hip joints.

    The trunk from there to the head becomes `to_head` metres long; all else stays.
    """
    own = body_proportions(skeleton)
    if own is None:
        return skeleton
    points = np.array(skeleton.point_offsets, np.float64)
    joint = skeleton.point("hips")
    points[skeleton.point_parents == joint] -= (hips - own.hips) * own.leg * own.up
    trunk = BodyTree(skeleton).between(joint, skeleton.point("head"))
    length = float(np.sum(np.linalg.norm(points[trunk], axis=-1)))
    points[trunk] *= to_head / max(length, 1e-9)
    joints = len(skeleton)
    return replace(skeleton, offsets=points[:joints], end_offsets=points[joints:])


def _extent_fit(
    library: Store, skeleton: Skeleton, names: list[str], signal: ControlSignal
) -> _Fit:
    """The size at which the extents of the markers are those of the skeleton's motions."""
    some = names[:: max(1, len(names) // _MOTIONS_EACH)][:_MOTIONS_EACH]
    places = [library[name].role_positions(signal.roles)[::4] for name in some]
    extents = _extents(np.concatenate(places).astype(np.float64))
    ratios = np.log(_extents(signal.points) / extents)
    ratios = ratios[np.isfinite(ratios)]
    if not len(ratios):
        return _Fit(skeleton, 1.0, np.inf)
    middle = float(np.median(ratios))
    misfit = float(np.median(np.abs(ratios - middle)))
    return _Fit(skeleton, float(np.exp(middle)), misfit / _EXTENT_SPREAD)


def _extents(points: Array) -> Array:
    """Largest distance of each pair of points over time, without outliers."""
    pairs = combinations(range(points.shape[1]), 2)
    gaps = [np.linalg.norm(points[:, a] - points[:, b], axis=-1) for a, b in pairs]
    with np.errstate(all="ignore"):
        return np.array(
            [
                np.nanpercentile(gap, _EXTENT_PERCENTILE) if np.isfinite(gap).any() else np.nan
                for gap in gaps
            ]
        )
