"""Mirroring of motions, which swaps left and right.

Motions are mirrored in the plane x = 0. Corresponding left and right joints are found by role, and
joints without a role (twist bones) by name. Their local axes may differ, so global
rotations are mirrored relative to the rest pose and converted back to local rotations.

The skeleton may be symmetric about a plane other than x = 0: some exporters lay the bones along x
and put left and right on z. Let M be the reflection of the world, R the reflection of the skeleton,
and W the rotation of a joint relative to its rest pose. The counterpart then has the rotation
``M W R``, which is the reflection of W combined with the half turn ``M R``.

Some rigs have an anatomically impossible rest pose, and their axes are already mirrored (all axes
of the right arm point back along the bone). In these rigs, the child offsets show how the axes of
two counterparts correspond. If several correspondences fit, the mean rotation of the joint decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError
from motionloom.motion.retargeting.neutral_pose import global_rest_rotations
from motionloom.motion.retargeting.observed_pose import mean_rotation
from motionloom.motion.roles.fingers import finger_roles
from motionloom.motion.roles.joint_names import side_and_rest
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

_REFLECT = np.array([1.0, 1.0, -1.0, -1.0])  # reflection of a rotation in x = 0
_MIRROR = np.array([-1.0, 1.0, 1.0])  # reflection of a vector in x = 0
_HALF_TURN = np.array([[1.0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])  # M R if R reflects x, y or z
_TURNS = np.concatenate([_HALF_TURN, [[0.0, 1, 0, 0]]])  # ... or all three
_WRONG = 0.5  # relative error of the offsets above which the rest pose is not usable

Array = NDArray[np.float64]


def mirror(motion: Motion) -> Motion:
    """Return `motion` with left and right swapped; see `Motion.mirror`.

    Raises
    ------
    RoleError
        If the skeleton has no left and right joints.
    """
    skeleton = motion.skeleton
    twin = twin_joints(skeleton)
    rest = global_rest_rotations(skeleton)
    axis = _symmetry_axis(skeleton, twin, rest)
    turned = motion.global_rotations().astype(np.float64)
    # The mirrored joint has the reflected rotation of its counterpart, converted to its axes.
    axes = rot.multiply((rot.inverse(rest) * _REFLECT)[twin], rot.multiply(_HALF_TURN[axis], rest))
    axes = _fitting_axes(motion, twin, axes)
    mirrored = rot.multiply((turned * _REFLECT)[:, twin], axes)
    local = mirrored.copy()
    for joint in range(1, len(skeleton)):
        parent = skeleton.parents[joint]
        local[:, joint] = rot.multiply(rot.inverse(mirrored[:, parent]), mirrored[:, joint])
    moved = motion.translations
    if moved is not None:
        moved = _mirrored_translations(skeleton, moved, twin, axes)
    origin = motion.origin
    if origin.carrier is not None and origin.carrier.path is not None:
        origin = replace(origin, carrier=replace(origin.carrier, path=None))
    return replace(
        motion,
        rotations=rot.unroll(local),
        root=motion.root * [-1.0, 1.0, 1.0],
        translations=moved,
        origin=origin,
    )


def twin_joints(skeleton: Skeleton) -> NDArray[np.intp]:
    """Return each joint's counterpart as an index (J,); joints on the midline map to themselves."""
    twin = np.arange(len(skeleton))
    index = {name: joint for joint, name in enumerate(skeleton.names)}
    for role, name in skeleton.roles.items():
        if role.startswith("left_"):
            other = skeleton.roles.get("right_" + role.removeprefix("left_"))
            if other in index and name in index:
                twin[index[name]], twin[index[other]] = index[other], index[name]
    fingers = finger_roles(skeleton)
    for role, joint in fingers.items():
        opposite = fingers.get("right_" + role.removeprefix("left_"))
        if role.startswith("left_") and opposite is not None:
            twin[joint], twin[opposite] = opposite, joint
    for left, right in _named_twins(skeleton.names):
        if twin[left] == left and twin[right] == right:
            twin[left], twin[right] = right, left
    if np.all(twin == np.arange(len(skeleton))):
        raise RoleError(
            f"cannot mirror: no left and right joints found among {', '.join(skeleton.names)}. "
            "Assign roles in a mapping file"
        )
    return twin


def _named_twins(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Return the (left, right) pairs of joints whose names differ only in the side.

    If several names are equal except for punctuation (``__Eye_L``, ``Eye_L``), the first of the
    left joints is paired with the first of the right joints.
    """
    pairs: dict[str, tuple[list[int], list[int]]] = {}
    for joint, name in enumerate(names):
        side, rest = side_and_rest(name)
        if side is not None:
            pairs.setdefault(rest, ([], []))[side == "right"].append(joint)
    for left, right in pairs.values():
        yield from zip(left, right, strict=False)


def _symmetry_axis(skeleton: Skeleton, twin: NDArray[np.intp], rest: NDArray[np.float64]) -> int:
    """Return the axis (0, 1, 2) of the rest pose along which left and right bones are mirrored."""
    bones = rot.rotate(rest[skeleton.parents[1:]], skeleton.offsets[1:])
    twins = rot.rotate(rest[skeleton.parents[twin[1:]]], skeleton.offsets[twin[1:]])
    flips = 1.0 - 2.0 * np.eye(3)
    return int(np.argmin([np.sum((bones * flip - twins) ** 2) for flip in flips]))


def _fitting_axes(motion: Motion, twin: NDArray[np.intp], axes: Array) -> Array:
    """Return rotations (J, 4) from each joint's axes to its counterpart's, given a first guess.

    The guess from the rest pose is kept if it maps the offsets of every joint's children to those
    of its counterpart. Otherwise one of four correspondences is chosen for each joint.
    """
    skeleton, joints = motion.skeleton, range(len(motion.skeleton))
    children = [np.flatnonzero(skeleton.parents == joint) for joint in joints]
    if max(_offset_error(skeleton, children[j], twin, axes[j]) for j in joints) < _WRONG:
        return axes
    fitting = axes.copy()
    for joint in joints:
        errors = [_offset_error(skeleton, children[joint], twin, turn) for turn in _TURNS]
        likely = [k for k, error in enumerate(errors) if error < min(errors) + 0.1]
        own = mean_rotation(motion.rotations[:, joint].astype(np.float64))
        other = mean_rotation(motion.rotations[:, twin[joint]].astype(np.float64)) * _REFLECT
        if joint > 0:
            other = rot.multiply(rot.inverse(fitting[skeleton.parents[joint]]), other)
        alike = [abs(float(rot.multiply(other, _TURNS[k]) @ own)) for k in likely]
        fitting[joint] = _TURNS[likely[int(np.argmax(alike))]]
    return fitting


def _offset_error(
    skeleton: Skeleton, children: NDArray[np.intp], twin: NDArray[np.intp], turn: Array
) -> float:
    """Return the error between rotated and reflected child offsets and the counterparts' offsets.

    The result is relative to the length of the offsets, or 0 if there are no children.
    """
    own, there = skeleton.offsets[children], skeleton.offsets[twin[children]]
    size = float(np.linalg.norm(own))
    off = float(np.linalg.norm(rot.rotate(turn, own) * _MIRROR - there)) if len(children) else 0.0
    return off / size if size > 1e-6 else 0.0


def _mirrored_translations(skeleton, moved, twin, axes):
    """Return each counterpart's reflected offsets in the mirrored axes of the parent."""
    out = moved.astype(np.float64)
    for joint in range(1, len(skeleton)):
        reflected = moved[:, twin[joint]].astype(np.float64) * _MIRROR
        out[:, joint] = rot.rotate(rot.inverse(axes[skeleton.parents[joint]]), reflected)
    return out
