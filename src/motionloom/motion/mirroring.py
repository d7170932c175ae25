"""Left and right exchanged.

A mirrored pose has every point of the left side where the right side's stood, seen in a
mirror at x = 0. Twin joints are found by role first and by name for the rest (fingers,
twist bones). Twins need not have the same local axes, so global rotations are mirrored
relative to the rest pose and brought back to local ones.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError
from motionloom.motion import rotations as rot
from motionloom.motion.skeleton import Skeleton

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

_REFLECT = np.array([1.0, 1.0, -1.0, -1.0])  # a rotation seen in the mirror x = 0


def mirror(motion: Motion) -> Motion:
    """`motion` with left and right exchanged; see `Motion.mirror`.

    Raises
    ------
    RoleError
        If the skeleton has no left and right limbs that can be told apart.
    """
    skeleton = motion.skeleton
    twin = twin_joints(skeleton)
    rest = _rest_globals(skeleton)
    # Rotation since rest, in the world, is what the mirror acts on: G = W * rest.
    world = rot.multiply(motion.global_rotations().astype(np.float64), rot.inverse(rest))
    mirrored = rot.multiply((world * _REFLECT)[:, twin], rest)
    local = mirrored.copy()
    for joint in range(1, len(skeleton)):
        parent = skeleton.parents[joint]
        local[:, joint] = rot.multiply(rot.inverse(mirrored[:, parent]), mirrored[:, joint])
    moved = motion.translations
    if moved is not None:
        moved = _mirrored_translations(skeleton, moved, twin, rest)
    return replace(
        motion,
        rotations=rot.unroll(local),
        root=motion.root * [-1.0, 1.0, 1.0],
        translations=moved,
    )


def twin_joints(skeleton: Skeleton) -> NDArray[np.intp]:
    """Index of each joint's twin on the other side, shape (J,); its own on the middle line."""
    twin = np.arange(len(skeleton))
    index = {name: joint for joint, name in enumerate(skeleton.names)}
    for role, name in skeleton.roles.items():
        if role.startswith("left_"):
            other = skeleton.roles.get("right_" + role.removeprefix("left_"))
            if other in index and name in index:
                twin[index[name]], twin[index[other]] = index[other], index[name]
    for name, joint in index.items():
        for swapped in _other_side(name):
            if swapped in index and twin[joint] == joint:
                twin[joint], twin[index[swapped]] = index[swapped], joint
    if np.all(twin == np.arange(len(skeleton))):
        raise RoleError(
            "cannot mirror: no left and right joints found among "
            f"{', '.join(skeleton.names)}. Give the roles with a mapping file"
        )
    return twin


def _other_side(name: str):
    """Spellings of `name` for the other side."""
    for left, right in (("Left", "Right"), ("left", "right"), ("LEFT", "RIGHT")):
        if left in name:
            yield name.replace(left, right)
        if right in name:
            yield name.replace(right, left)
    for a, b in (("L", "R"), ("R", "L"), ("l", "r"), ("r", "l")):
        yield re.sub(rf"(^|[^A-Za-z0-9]){a}(?=[^a-z0-9]|$)", rf"\g<1>{b}", name)
        if name[:1] == a and name[1:2].isupper():
            yield b + name[1:]


def _rest_globals(skeleton: Skeleton) -> NDArray[np.float64]:
    from motionloom.motion.kinematics import global_rotations

    rest = skeleton.rest
    if rest is None:
        return np.tile(rot.IDENTITY, (len(skeleton), 1))
    return global_rotations(rest[None], skeleton.parents)[0].astype(np.float64)


def _mirrored_translations(skeleton, moved, twin, rest):
    """Offsets of the twin, reflected in the parent's rest frame."""
    out = moved.astype(np.float64).copy()
    for joint in range(1, len(skeleton)):
        other = twin[joint]
        in_rest = rot.rotate(rest[skeleton.parents[other]], moved[:, other].astype(np.float64))
        in_rest[:, 0] *= -1.0
        out[:, joint] = rot.rotate(rot.inverse(rest[skeleton.parents[joint]]), in_rest)
    return out
