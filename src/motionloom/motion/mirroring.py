"""Mirroring: left and right exchanged.

Motions are mirrored in the plane x = 0. Corresponding left and right joints are found by role,
and by name for the rest (fingers, twist bones). They need not have the same local axes, so global
rotations are mirrored relative to the rest pose and converted back to local ones.

The skeleton may be symmetric about another plane than x = 0: some exporters lay the bones along
x and put left and right on z. With M the reflection of the world, R that of the skeleton, and W
the rotation of a joint since rest, the mirrored joint has the rotation ``M W R`` of its
counterpart: W reflected, then the half turn ``M R``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError
from motionloom.motion.retargeting.neutral_pose import global_rest_rotations
from motionloom.motion.roles.joint_names import side_and_rest
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

_REFLECT = np.array([1.0, 1.0, -1.0, -1.0])  # reflection of a rotation in x = 0
_HALF_TURN = np.array([[1.0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])  # M R for R on x, y, z


def mirror(motion: Motion) -> Motion:
    """`motion` with left and right exchanged; see `Motion.mirror`.

    Raises
    ------
    RoleError
        If the skeleton has no left and right joints.
    """
    skeleton = motion.skeleton
    twin = twin_joints(skeleton)
    rest = global_rest_rotations(skeleton)
    axis = _symmetry_axis(skeleton, twin, rest)
    # Rotation since rest, in the world, is what the mirror acts on: G = W * rest.
    world = rot.multiply(motion.global_rotations().astype(np.float64), rot.inverse(rest))
    reflected = rot.multiply((world * _REFLECT)[:, twin], _HALF_TURN[axis])
    mirrored = rot.multiply(reflected, rest)
    local = mirrored.copy()
    for joint in range(1, len(skeleton)):
        parent = skeleton.parents[joint]
        local[:, joint] = rot.multiply(rot.inverse(mirrored[:, parent]), mirrored[:, joint])
    moved = motion.translations
    if moved is not None:
        moved = _mirrored_translations(skeleton, moved, twin, rest, axis)
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
    """Index of each joint's counterpart on the other side, shape (J,); its own on the mid-line."""
    twin = np.arange(len(skeleton))
    index = {name: joint for joint, name in enumerate(skeleton.names)}
    for role, name in skeleton.roles.items():
        if role.startswith("left_"):
            other = skeleton.roles.get("right_" + role.removeprefix("left_"))
            if other in index and name in index:
                twin[index[name]], twin[index[other]] = index[other], index[name]
    for left, right in _named_twins(skeleton.names):
        if twin[left] == left and twin[right] == right:
            twin[left], twin[right] = right, left
    if np.all(twin == np.arange(len(skeleton))):
        raise RoleError(
            "cannot mirror: no left and right joints found among "
            f"{', '.join(skeleton.names)}. Give the roles with a mapping file"
        )
    return twin


def _named_twins(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of joints (left, right) whose names differ only in the side.

    Of several with the same name but for punctuation (``__Eye_L``, ``Eye_L``), the first left one
    belongs to the first right one.
    """
    pairs: dict[str, tuple[list[int], list[int]]] = {}
    for joint, name in enumerate(names):
        side, rest = side_and_rest(name)
        if side is not None:
            pairs.setdefault(rest, ([], []))[side == "right"].append(joint)
    for left, right in pairs.values():
        yield from zip(left, right, strict=False)


def _symmetry_axis(skeleton: Skeleton, twin: NDArray[np.intp], rest: NDArray[np.float64]) -> int:
    """Axis (0, 1, 2) of the rest pose along which left and right bones are mirrored."""
    bones = rot.rotate(rest[skeleton.parents[1:]], skeleton.offsets[1:])
    twins = rot.rotate(rest[skeleton.parents[twin[1:]]], skeleton.offsets[twin[1:]])
    flips = 1.0 - 2.0 * np.eye(3)
    return int(np.argmin([np.sum((bones * flip - twins) ** 2) for flip in flips]))


def _mirrored_translations(skeleton, moved, twin, rest, axis):
    """Offsets of the counterpart, reflected in the rest frame of the parent."""
    out = moved.astype(np.float64)
    for joint in range(1, len(skeleton)):
        other = twin[joint]
        in_rest = rot.rotate(rest[skeleton.parents[other]], moved[:, other].astype(np.float64))
        in_rest[:, axis] *= -1.0
        out[:, joint] = rot.rotate(rot.inverse(rest[skeleton.parents[joint]]), in_rest)
    return out
