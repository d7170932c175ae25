"""Inference of properties that files do not state: unit, up axis, facing and T-pose frame.

BVH files do not state a unit. A person is 1.4 to 2.1 m tall, and the common units differ so much
that at most one of them makes a skeleton that tall.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.body import body_height
from motionloom.motion.kinematics.forward import joint_positions
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.motion.rotations import quaternions as rot

UNITS = {
    "m": 1.0,
    "dm": 0.1,
    "cm": 0.01,
    "mm": 0.001,
    "inch": 0.0254,
    "foot": 0.3048,
    "cmu": 0.0254 / 0.45,  # the CMU database: 1 unit = 1/0.45 inch = 5.6444 cm
}
PERSON = (1.4, 2.1)  # meters: height of an adult
CHILD = 0.8  # meters: height of the smallest child
TYPICAL = 1.72  # meters: height of a body whose unit is unknown


@dataclass(frozen=True)
class Unit:
    """Meters per unit, the evidence for it, and a warning if the evidence is weak."""

    meters: float
    reason: str
    warning: str = ""


def unit_from(value: str | float) -> float:
    """Return the meters per unit for a name (``"cm"``, ``"inch"``, ``"cmu"``, ...) or number.

    Examples
    --------
    >>> unit_from("cm"), unit_from("0.3048")
    (0.01, 0.3048)
    """
    if isinstance(value, str) and value.lower() in UNITS:
        return UNITS[value.lower()]
    try:
        meters = float(value)
    except (TypeError, ValueError):
        meters = float("nan")
    if not (np.isfinite(meters) and meters > 0.0):
        raise InvalidInput(
            f"unit must be one of {', '.join(UNITS)} or meters per unit; got {value!r}"
        )
    return meters


@lru_cache(maxsize=64)  # cached, because many motions share one skeleton
def infer_unit(skeleton: Skeleton) -> Unit:
    """Find the unit that makes a skeleton in file units as tall as a person.

    Examples
    --------
    >>> import motionloom as ml
    >>> infer_unit(ml.demo.clip("walk").skeleton.scaled(100.0)).meters
    0.01
    """
    height = body_height(skeleton)
    if height is not None and height > 0.0:
        for name, meters in UNITS.items():
            if PERSON[0] <= height * meters <= PERSON[1]:
                return Unit(
                    meters, f"{name}: in this unit, the skeleton is {height * meters:.2f} m tall"
                )
        name = _nearest(height)
        meters = UNITS[name]
        return Unit(
            meters,
            f"{name}: this unit comes closest to the height of a person, {height * meters:.2f} m",
            f"no common unit makes this skeleton 1.4 to 2.1 m tall; assuming {name} "
            f"({height * meters:.2f} m). Set unit to change it",
        )
    return _by_extent(skeleton)


def _nearest(height: float) -> str:
    """Choose the most plausible unit; a child in meters is likelier than a giant in inches."""
    for name in ("m", "cm", "mm"):
        if CHILD <= height * UNITS[name] < PERSON[0]:
            return name
    return min(UNITS, key=lambda unit: abs(np.log(height * UNITS[unit] / TYPICAL)))


def _by_extent(skeleton: Skeleton) -> Unit:
    """Choose meters, centimeters or millimeters by order of magnitude, for nonhuman skeletons."""
    reach = np.zeros((len(skeleton), 3))
    for joint in range(1, len(skeleton)):
        reach[joint] = reach[skeleton.parents[joint]] + skeleton.offsets[joint]
    tips = reach[skeleton.end_parents] + skeleton.end_offsets
    points = np.concatenate([reach, tips])
    extent = float(np.ptp(points, axis=0).max())
    name = "m" if extent < 10.0 else "cm" if extent < 1000.0 else "mm"
    return Unit(
        UNITS[name],
        f"{name}: guessed from the extent of the skeleton, {extent * UNITS[name]:.2f} m",
        f"this is not the skeleton of a person; the unit {name} was guessed from its extent. Set "
        f"unit to change it",
    )


UP_AXES = {
    "y": np.array([0.0, 1.0, 0.0]),
    "z": np.array([0.0, 0.0, 1.0]),
    "x": np.array([1.0, 0.0, 0.0]),
    "-y": np.array([0.0, -1.0, 0.0]),
    "-z": np.array([0.0, 0.0, -1.0]),
    "-x": np.array([-1.0, 0.0, 0.0]),
}
_LOOKS = 50  # number of evenly spaced frames; their median is robust and fast to compute
# In body lengths. Nobody lies deeper in the floor than this, and CMU's swimmers on their bench do
# not lie higher above it.
_SUNK, _FLOATING = -0.13, 0.3
UPRIGHT = 0.8  # minimum cosine, which means that the body is within 37 degrees of an axis

_SIDES = ("left", "right")
_LIMBS = tuple(
    f"{side}_{part}"
    for parts in (("shoulder", "elbow", "wrist"), ("hip", "knee", "ankle"))
    for side in _SIDES
    for part in parts
)


def infer_up(motion: Motion) -> tuple[str, str]:
    """Return the up axis of a file ("y", "z", ...), and a warning if the evidence conflicts.

    A figure stands upright in its rest pose and most of the time when it moves. An axis other than
    y is inferred if rest pose and motion agree on it. It is also inferred if the rest pose is not
    upright along y (LAFAN1 and Bandai-Namco rest along x) and the lowest points of the motion fit a
    floor along that axis. If only the motion points along another axis, the figure may be a
    swimmer. A warning is then returned if, unlike a swimmer, the figure would stand on a floor
    along that axis, or if it lies where no floor can be.
    """
    roles = motion.skeleton.roles
    feet = [role for role in ("left_ankle", "right_ankle") if role in roles]
    top = _top(roles)
    if top is None or not feet:
        return "y", ""
    step = max(1, len(motion) // _LOOKS)
    upward = _upward(_sampled(motion, step)[:, motion.skeleton.points([top, *feet])])
    in_motion = _axis_of(np.sort(upward, axis=0)[len(upward) // 2])
    if in_motion == "y":
        return "y", ""
    in_rest = _axis_of(_uprightness(motion.rest_pose(), top, feet))
    if in_motion is None:
        if in_rest in ("y", None):
            return "y", ""
        return "y", (
            f"the rest pose points along {in_rest}, but the motion is not upright along any axis. "
            f"If the file's up axis is {in_rest}, set up to {in_rest}"
        )
    stands = _would_stand(motion[::step], in_motion)
    if in_motion == in_rest or (in_rest != "y" and stands):
        return in_motion, ""
    if not stands and in_rest == "y":
        return "y", ""
    resting = f"its rest pose points along {in_rest}" if in_rest else "its rest pose is not upright"
    return "y", (
        f"the figure lies along {in_motion} most of the time, although {resting}. Either it is "
        f"lying down, or the file's up axis is {in_motion}. In the second case, set up to "
        f"{in_motion}"
    )


def _would_stand(motion: Motion, up: str) -> bool:
    """Return whether the lowest points fit a floor along `up` better than a floor along y.

    Lengths are relative to the height of the body, about 1.7 m for an adult.
    """
    points = hips_as_root(motion).positions(end_sites=True).astype(np.float64)
    size = max(float(_median(np.ptp(points @ UP_AXES[up], axis=1))), 1e-9)
    standing = np.percentile((points @ UP_AXES[up]).min(axis=1) / size, [25.0, 50.0, 75.0])
    lying = np.percentile(points[:, :, 1].min(axis=1) / size, [25.0, 50.0, 75.0])
    if not _SUNK < lying[0] < _FLOATING:
        return True
    spread = standing[2] - standing[0]
    better = abs(standing[1]) + 2.0 * spread < abs(lying[1]) + 2.0 * (lying[2] - lying[0])
    return bool(better and abs(standing[1]) < 0.13 and spread < 0.15)


def rotation_to_y_up(up: str) -> NDArray[np.float64]:
    """Return the rotation ``wxyz`` from an up axis to +Y. For z up, x stays and y becomes -z."""
    return rot.between(UP_AXES[up], UP_AXES["y"])


def facing(motion: Motion) -> str | None:
    """Return the axis that the figure faces in its rest pose, such as "+z", or None if unknown.

    A rest pose that does not stand upright does not face any direction. In LAFAN1, for example,
    every bone points along X.
    """
    roles = motion.skeleton.roles
    if not {"left_hip", "right_hip"} <= roles.keys():
        return None
    rest = motion.rest_pose()
    feet = [role for role in ("left_ankle", "right_ankle") if role in roles]
    top = _top(roles)
    if top and feet and _axis_of(_uprightness(rest, top, feet)) != "y":
        return None
    angle = float(rest.headings()[0])
    names = ("+z", "+x", "-z", "-x")
    return names[int(np.round(angle / (np.pi / 2))) % 4]


def is_tpose_frame(motion: Motion) -> bool:
    """Return whether frame 0 is a T-pose prepended to the capture, as in converted CMU files.

    The figure must stand upright on the floor with straight horizontal arms, and the change from
    frame 0 to frame 1 must be far larger than the changes that follow.
    """
    roles = motion.skeleton.roles
    if len(motion) < 3 or not roles.keys() >= set(_LIMBS):
        return False
    start = motion.rotations[:7].astype(np.float64)
    # The median over joints is used, because hands and toes may flip in single captured frames.
    half_cosines = np.abs(np.einsum("tjc,tjc->tj", start[1:], start[:-1]))
    steps = 2.0 * np.arccos(np.minimum(_median(half_cosines), 1.0))
    drop = _arms_drop(motion.skeleton, half_cosines)
    if not drop and steps[0] <= max(4.0 * _median(steps[1:]), 1e-3):
        return False  # nearly every take returns here, because it has no jump
    if not (_stands_like_a_t(motion[0]) and _stands_on_the_floor_of_the_rest(motion)):
        return False
    # The first captured frame may also be close to a T-pose. An added T-pose is exact, so most of
    # its joints are not rotated at all.
    exact = (rot.angle_between(start[:2], rot.IDENTITY) < 1e-4).mean(axis=1)
    return bool(
        drop or steps[0] > np.radians(3.0) or (exact[0] > 0.5 and exact[1] < 0.5 * exact[0])
    )


def _median(values: NDArray) -> NDArray:
    """Return the median along the last axis. NumPy's version would first import masked arrays."""
    ordered, size = np.sort(values, axis=-1), values.shape[-1]
    return 0.5 * (ordered[..., (size - 1) // 2] + ordered[..., size // 2])


def _arms_drop(skeleton: Skeleton, half_cosines: NDArray[np.float64]) -> bool:
    """Return whether both upper arms rotate by 25 degrees after frame 0, and far less later."""
    joints = [skeleton.names.index(skeleton.roles[f"{side}_shoulder"]) for side in _SIDES]
    turns = 2.0 * np.arccos(np.minimum(half_cosines[:, joints], 1.0)).min(axis=1)
    return bool(turns[0] > max(np.radians(25.0), 4.0 * turns[1:].max()))


def _stands_on_the_floor_of_the_rest(motion: Motion) -> bool:
    """Return whether the feet in frame 0 are about as high as in the frames that follow.

    In damaged takes, the first row contains only zeros, so the figure sinks to its hips.
    """
    ankles = motion[:200].role_positions(["left_ankle", "right_ankle"])[:, :, 1].min(axis=1)
    hips = motion.role_positions(["left_hip", "left_ankle"])[0]
    leg = float(np.linalg.norm(hips[0] - hips[1]))
    return bool(abs(ankles[0] - ankles[1:].min()) < 0.5 * leg)


def _stands_like_a_t(pose: Motion) -> bool:
    points = pose.role_positions(_LIMBS)[0].astype(np.float64).reshape(4, 3, 3)
    bones = points[:, 1:] - points[:, :-1]
    bones /= np.maximum(np.sqrt((bones * bones).sum(axis=2, keepdims=True)), 1e-9)
    upward = bones[:, 0, 1]
    if np.abs(upward[:2]).max() >= 0.5 or upward[2:].max() >= -0.9:
        return False  # arms level within 30 degrees, and legs down; this rejects nearly all poses
    straight = (bones[:, 0] * bones[:, 1]).sum(axis=1).min() > 0.94  # within 20 degrees
    apart = bones[0, 0] @ bones[1, 0] < -0.5
    return bool(straight and apart)


def _top(roles: Mapping[str, str]) -> str | None:
    """Return the role of the topmost available joint, because some rigs have no head."""
    return next(
        (role for role in ("head", "neck", "chest", "spine", "hips") if role in roles), None
    )


def _uprightness(motion: Motion, top: str, feet: Sequence[str]) -> NDArray[np.float64]:
    """Return unit vectors from the feet to the role `top`, shape (T, 3)."""
    return _upward(motion.role_positions([top, *feet]))


def _sampled(motion: Motion, step: int) -> NDArray[np.float32]:
    """Return the positions of all points in every `step`-th frame, without making a motion."""
    skeleton, moved = motion.skeleton, motion.translations
    return joint_positions(
        motion.rotations[::step],
        motion.root[::step],
        skeleton.parents,
        skeleton.offsets,
        translations=None if moved is None else moved[::step],
        end_parents=skeleton.end_parents,
        end_offsets=skeleton.end_offsets,
    )


def _upward(points: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return unit vectors (T, 3) from the feet to the top; points (T, P, 3), the top first."""
    places = points.astype(np.float64)
    upward = places[:, 0] - places[:, 1:].mean(axis=1)
    return upward / np.maximum(np.sqrt((upward * upward).sum(axis=1, keepdims=True)), 1e-9)


def _axis_of(direction: NDArray[np.float64]) -> str | None:
    direction = np.atleast_2d(direction)[0]
    for name, axis in UP_AXES.items():
        if direction @ axis > UPRIGHT:
            return name
    return None


# Labels of Plug-in Gait and Helen Hayes (LFHD, LHEE, LTOE, LANK), and plain words.
_HEAD = re.compile(r"HD[FB]?\d?$|HEAD|ARIEL|TEMPLE|VERTEX")
_FOOT = re.compile(r"TOE|HEE|ANK|MT[1-6]|MTP|FOOT|FT$|MALL|(^|[ _])MET$|_F(CC|AL|M[1-6])$")
_CLEAR = 0.8  # minimum cosine, which means that the head is above the feet within 37 degrees
_TALLER = 1.3  # minimum upward extent of a standing body relative to the other directions
_LIKELY_EXTENT = 1.5  # meters between the highest and the lowest marker on a person


def infer_marker_up(
    labels: Sequence[str], positions: NDArray[np.float64], screen: str
) -> tuple[str, str]:
    """Infer the up axis of marker trajectories, and return it with the evidence.

    Parameters
    ----------
    labels : sequence of str, length M
        Marker labels.
    positions : ndarray, shape (T, M, 3)
        Positions in the file's axes, with NaN in gaps.
    screen : str
        POINT:Y_SCREEN in the file, which is the axis that points up on a screen. May be empty.
    """
    bare = [label.rpartition(":")[2].upper() for label in labels]
    head = [k for k, label in enumerate(bare) if _HEAD.search(label)]
    feet = [k for k, label in enumerate(bare) if _FOOT.search(label) and k not in head]
    if head and feet:
        with warnings.catch_warnings():  # in frames in which all these markers are missing
            warnings.simplefilter("ignore", RuntimeWarning)
            upward = np.nanmedian(
                np.nanmean(positions[:, head], axis=1) - np.nanmean(positions[:, feet], axis=1),
                axis=0,
            )
        length = np.linalg.norm(upward)
        if np.isfinite(length) and length > 0.0:
            for name, axis in UP_AXES.items():
                if upward @ axis > _CLEAR * length:
                    return name, "the head markers are above the foot markers"
    stated = screen.strip().lower().lstrip("+")
    standing = _standing_axis(positions)
    if stated in UP_AXES:
        if standing and standing[-1] == stated[-1] and standing != stated:
            return standing, "the markers stand on a floor along this axis"
        return stated, "stated by POINT:Y_SCREEN"
    if standing:
        return standing, "the markers extend the most along this axis and stand on the floor"
    return "z", "as in most C3D files; this file does not state it"


def _standing_axis(positions: NDArray[np.float64]) -> str | None:
    """Return the axis along which markers extend the most and stay positive, or None if unclear.

    A body is taller than wide unless the arms are stretched out, and the origin is on the floor.
    """
    if positions.shape[1] < 5:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        low, high = np.nanmin(positions, axis=1), np.nanmax(positions, axis=1)
        extents = np.nanmedian(high - low, axis=0)
        bottom, top = np.nanpercentile(low, 2.0, axis=0), np.nanpercentile(high, 98.0, axis=0)
    axis = int(np.argmax(extents))
    if not np.isfinite(extents).all() or extents[axis] < _TALLER * np.delete(extents, axis).max():
        return None
    slack = 0.15 * extents[axis]
    if bottom[axis] > -slack:
        return "xyz"[axis]
    return "-" + "xyz"[axis] if top[axis] < slack else None


def marker_extent(positions: NDArray[np.float64]) -> float:
    """Return the median diagonal of the bounding box around all markers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        extents = np.nanmax(positions, axis=1) - np.nanmin(positions, axis=1)
        return float(np.nanmedian(np.linalg.norm(extents, axis=1)))


def infer_marker_unit(positions: NDArray[np.float64], up: str) -> Unit:
    """Infer the unit (m, cm or mm) from the vertical extent of the markers."""
    height = positions @ UP_AXES[up]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        extent = float(np.nanmedian(np.nanmax(height, axis=1) - np.nanmin(height, axis=1)))
    if not (np.isfinite(extent) and extent > 0.0):
        return Unit(0.001, "mm: this file does not state its unit, and most C3D files are in mm")
    name = min(
        ("m", "cm", "mm"), key=lambda unit: abs(np.log(extent * UNITS[unit] / _LIKELY_EXTENT))
    )
    return Unit(
        UNITS[name],
        f"{name}: in this unit, the markers extend {extent * UNITS[name]:.2f} m from top to bottom",
        f"POINT:UNITS is missing; assuming {name}. Set unit to change it",
    )


def positions_to_y_up(positions: NDArray[np.float64], up: str) -> NDArray[np.float64]:
    """Rotate positions (..., 3) from `up` to +Y exactly, by swapping and negating axes."""
    return _turned(positions, np.rint(rot.rotate(rotation_to_y_up(up), np.eye(3)).T))


def positions_from_y_up(positions: NDArray[np.float64], up: str) -> NDArray[np.float64]:
    """Rotate positions (..., 3) from +Y to `up`. This is the inverse of `positions_to_y_up`."""
    return _turned(positions, np.rint(rot.rotate(rotation_to_y_up(up), np.eye(3))))


def _turned(positions: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Apply a signed permutation matrix without rounding."""
    source = np.argmax(np.abs(matrix), axis=1)
    return positions[..., source] * matrix[np.arange(3), source]
