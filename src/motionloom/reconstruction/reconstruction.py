"""Reconstruction of a motion from markers, and estimation of its confidence.

*The performer's skeleton* is a library skeleton, fitted to the markers. Hips, head and ankles
reveal the size of a body. Over time, the largest distance between hips and ankle is the length of a
straight leg, and the largest distance between hips and head is the length of the trunk. Rigs put
the hips anywhere between the hip joints and the waist, and the head anywhere between the neck and
the crown, so the two distances cannot be compared with the library separately. Instead, the most
likely leg length is chosen, for which the heights of the hips and head above the hip joints are
both near those of a library skeleton. That skeleton is then scaled, and its hips and head are moved
to the markers.

Other markers are fitted by the distances between them. The same distances are measured in the
motions of every library skeleton, and the skeleton with the best matching proportions is scaled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, RoleError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import quality_report
from motionloom.motion.kinematics.body import body_proportions
from motionloom.motion.kinematics.root_carrier import body_skeleton
from motionloom.motion.markers import Markers
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import BodyTree
from motionloom.parallel import Progress, one_thread
from motionloom.reconstruction.control_signal import ControlSignal, control_signal
from motionloom.reconstruction.local_model import confidence
from motionloom.reconstruction.offline import solve_sequence
from motionloom.reconstruction.online import Stream, solve_frames
from motionloom.reconstruction.prior import Prior
from motionloom.reconstruction.settings import ReconstructionRules, ReconstructSettings
from motionloom.store.store import Store


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction(Motion):
    """Reconstructed motion with its confidence.

    Attributes
    ----------
    confidence : ndarray, shape (T,), or None
        Confidence per frame, 0 to 1. It is near 1 if the library has similar poses and no marker is
        missing, and it is 0.5 if the expected error is 5 cm. It is None if the frames were changed
        after the reconstruction.
    expected_error : ndarray, shape (T,), or None
        Expected error of the joints without markers, in meters.
    markers : dict of str to str
        Tracked roles and the labels of their markers.
    lost : tuple of str
        Roles whose markers never appear.

    Examples
    --------
    >>> body = lib.reconstruct(ml.demo.clip("walk", performer=1)[:10])
    >>> body.confidence.shape, list(body.markers)[:2], body.lost
    ((10,), ['hips', 'left_wrist'], ())
    """

    confidence: NDArray[Any] | None = None
    expected_error: NDArray[Any] | None = None
    markers: Mapping[str, str] | None = None
    lost: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("confidence", "expected_error"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.rotations):
                object.__setattr__(self, name, None)

    def __getitem__(self, frames: slice | int) -> Motion:
        cut = super().__getitem__(frames)
        part = frames if isinstance(frames, slice) else slice(frames, frames + 1 or None)
        kept = {name: getattr(self, name) for name in ("confidence", "expected_error")}
        kept = {name: values[part] for name, values in kept.items() if values is not None}
        return replace(cut, **kept) if kept else cut


def reconstruct(
    library: Store,
    markers: Markers | Motion,
    settings: ReconstructSettings | None = None,
    *,
    progress: Progress | None = None,
) -> Reconstruction:
    """Reconstruct a whole body from a few markers; see `motionloom.Library.reconstruct`.

    Examples
    --------
    >>> from motionloom.reconstruction import ReconstructSettings, reconstruct, tracked
    >>> six = tracked(ml.demo.clip("walk", performer=1)[:10])
    >>> reconstruct(lib.store, six, ReconstructSettings(mode="online"))
    Reconstruction('walk_p1', 10 frames at 30 fps = 0.33 s, 21 joints)
    """
    settings = settings or ReconstructSettings()
    signal = control_signal(markers, settings.roles)
    performer = _performer(library, signal, settings.skeleton)
    prior = Prior(library, performer.skeleton, searched_roles(signal), settings)
    with one_thread():  # a second thread makes operations on such small matrices ten times slower
        if settings.mode == "offline":
            solved = solve_sequence(prior, signal, rules=settings.rules, progress=progress)
        else:
            stream = _stream(prior, signal.roles, signal.fps, settings.rules)
            solved = solve_frames(stream, signal, progress=progress)
    seen = np.isfinite(signal.points[..., 0]).mean(axis=1)
    errors = np.hypot(solved.errors, performer.error)
    return Reconstruction(
        performer.skeleton,
        rot.unroll(rot.normalize(solved.rotations)),
        solved.root,
        signal.fps,
        name=signal.name,
        confidence=confidence(errors, seen),
        expected_error=errors,
        markers=dict(zip(signal.roles, signal.labels, strict=True)),
        lost=signal.lost,
    ).with_quality(quality_report)


def reconstruction_stream(
    library: Store,
    roles: tuple[str, ...],
    skeleton: Skeleton,
    *,
    fps: float,
    settings: ReconstructSettings | None = None,
) -> Stream:
    """Return a stream that reconstructs a body as markers arrive, with ``stream.step(points)``.

    Parameters
    ----------
    library : Library
    roles : tuple of str
        Roles of the markers, at least three; the hips come first if they are tracked.
    skeleton : Skeleton
        Skeleton of the performer.
    fps : float
        Frame rate of the markers.
    settings : ReconstructSettings, optional
        Features, number of neighbors and motions of the prior.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> from motionloom.reconstruction import SIX, reconstruction_stream, tracked
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> lib.add_motion(ml.demo.clip("walk"))
    >>> walk = ml.demo.clip("walk", performer=1)
    >>> stream = reconstruction_stream(lib.store, SIX, walk.skeleton, fps=30)
    >>> rotations, root, distance = stream.step(tracked(walk).positions[0])
    >>> rotations.shape == (len(walk.skeleton), 4)
    True
    """
    if len(roles) < 3:
        raise InvalidInput(f"roles must name at least 3 markers; got {len(roles)}")
    skeleton.role_assignment.require(roles)
    settings = settings or ReconstructSettings()
    prior = Prior(library, body_skeleton(skeleton), tuple(roles), settings)
    return _stream(prior, tuple(roles), fps, settings.rules)


def _stream(prior: Prior, roles: tuple[str, ...], fps: float, rules: ReconstructionRules) -> Stream:
    if prior.by_pose is not None:
        raise InvalidInput(
            "online mode needs features that consist of joint positions of one frame; "
            f"{prior.by_pose.name} contains other features. Use e15 or mode offline"
        )
    return Stream(prior, roles, fps, rules=rules)


def _performer(library: Store, signal: ControlSignal, skeleton: Any) -> FittedSkeleton:
    if skeleton is None:
        return fitted_skeleton(library, signal)
    if isinstance(skeleton, Motion):
        skeleton = skeleton.skeleton
    check_skeleton(skeleton, signal)
    return FittedSkeleton(body_skeleton(skeleton))


def searched_roles(signal: ControlSignal) -> tuple[str, ...]:
    """Return the roles used for the search: those usually present, or all if these are too few."""
    steady = signal.steady
    return steady if len([role for role in steady if role != "hips"]) >= 2 else signal.roles


Array = NDArray[np.float64]

_ANKLES = ("left_ankle", "right_ankle")
# Percentiles over time at which legs are straight and the trunk is upright, and the share of the
# skeleton's distance that is observed there: medians over 117 takes of six rigs, where the middle
# half of the takes is within 2 % and 1 %.
_STRAIGHT_PERCENTILE, _STRAIGHT = 95.0, 1.0
_UPRIGHT_PERCENTILE, _UPRIGHT = 80.0, 0.994
# Heights of the hips and of the head above the hip joints, in leg lengths: mean and standard
# deviation over 24 rigs, and standard deviation within one rig (performers of CMU).
_USUAL, _RIG_SPREAD = np.array([0.03, 0.74]), np.array([0.055, 0.085])
_PERFORMER_SPREAD = np.array([0.015, 0.03])
# Twice the logarithm of the ratio of the widths of the two distributions.
_OTHER_RIG = 2.0 * float(np.sum(np.log(_RIG_SPREAD / _PERFORMER_SPREAD)))
_HIPS = np.linspace(-0.12, 0.2, 641)  # heights of the hips to try

# Error of joints caused by fitting the skeleton, in meters; chosen on 40 takes (`confidence`).
_SAME_RIG_ERROR, _OTHER_RIG_ERROR = 0.02, 0.05
_AS_GOOD = 0.3  # standard deviations; within this, a skeleton fits as well as the best one
_EXTENT_PERCENTILE = 90.0  # the extent is this percentile of a distance over time
_MOTIONS_EACH = 3  # number of motions measured per skeleton
_LEAST_SCALE, _MOST_SCALE = 0.4, 2.0  # relative to a skeleton of the library
_MOST_MISFIT = 5.0  # standard deviations
_EXTENT_SPREAD = 0.07  # standard deviation of proportions from extents (logarithm)


@dataclass(frozen=True)
class FittedSkeleton:
    """Skeleton fitted to a performer, and the joint error in meters that the fit may cause."""

    skeleton: Skeleton
    error: float = 0.0


@dataclass(frozen=True)
class _Fit:
    """A candidate skeleton with its scale and, if known, the positions of its hips and head."""

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
    """Fit a library skeleton to the markers.

    Raises
    ------
    InvalidInput
        If no skeleton in the library has proportions similar to those of the markers.
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
            f"no skeleton in the library has joints for {', '.join(signal.roles)}. "
            "Pass the performer's skeleton as the skeleton argument"
        )
    least = min(fit.misfit for fit, _ in fits)
    near = [(fit, names) for fit, names in fits if fit.misfit <= least + _AS_GOOD]
    best = near[0][0]
    if len(near) > 1:  # arms decide between skeletons whose legs and trunk fit equally well
        arms = [_extent_fit(library, fit.skeleton, names, signal).misfit for fit, names in near]
        best = near[int(np.argmin(arms))][0]
    if not _LEAST_SCALE <= best.scale <= _MOST_SCALE or best.misfit > _MOST_MISFIT:
        raise InvalidInput(
            f"the markers do not fit any skeleton in the library: the best one would have to be "
            f"scaled by {best.scale:.2f}, and its proportions differ by {best.misfit:.1f} standard "
            "deviations. Check the unit and roles of the markers, or pass the performer's skeleton "
            "as the skeleton argument"
        )
    return best.fitted()


def _performers(library: Store) -> list[tuple[Skeleton, list[str]]]:
    """Return the library's skeletons, one per performer, and the names of their motions."""
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
    """Raise `InvalidInput` if the distances between markers do not fit the skeleton."""
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
            f"the skeleton does not fit the markers: the distance from {signal.roles[a]} to "
            f"{signal.roles[b]} is {widest:.2f} times the length of the bones between them (median "
            f"of all pairs: {typical:.2f} times). Does the skeleton belong to another person, or "
            "is the unit wrong?"
        )


def _standing_distances(signal: ControlSignal) -> tuple[float, float] | None:
    """Return the distances from the hips to the ankle of a straight leg and to an upright head."""
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
    """Fit a skeleton to standing distances, assuming the same rig or a different one."""
    own = body_proportions(skeleton)
    if own is None:
        return None
    leg = to_ankle / np.hypot(1.0 + _HIPS, 0.5 * own.hip_width)
    places = np.stack([_HIPS, to_head / leg + _HIPS], axis=1)
    own_places = np.array([own.hips, own.head])
    same = np.sum(((places - own_places) / _PERFORMER_SPREAD) ** 2, axis=1)
    other = np.sum(((places - _USUAL) / _RIG_SPREAD) ** 2, axis=1) + _OTHER_RIG
    # For another rig, the skeleton that needs the smallest change has the best shape.
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
    """Move the hips of a skeleton to `hips` leg lengths above the hip joints.

    The trunk from the hips to the head becomes `to_head` meters long. All other bones stay
    unchanged.
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
    """Find the scale at which the marker extents match the skeleton's motions."""
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
    """Return the largest distance over time between each pair of points, excluding outliers."""
    pairs = combinations(range(points.shape[1]), 2)
    gaps = [np.linalg.norm(points[:, a] - points[:, b], axis=-1) for a, b in pairs]
    with np.errstate(all="ignore"):
        return np.array(
            [
                np.nanpercentile(gap, _EXTENT_PERCENTILE) if np.isfinite(gap).any() else np.nan
                for gap in gaps
            ]
        )
