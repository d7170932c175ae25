"""Alignment of rest poses: two skeletons in one posture.

Local rotations of two rigs cannot be compared: their axes differ, and so do their rest poses.
What can be compared is the world rotation of each body part since a common posture. The rest pose
of the source is that posture; the target is put into it from the trunk outwards: the trunk by a
rotation about the vertical (a full one, if one of the two does not rest upright), arms and legs
bone by bone by the shortest rotation, feet flat on the ground whatever their shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.kinematics.forward import global_rotations
from motionloom.motion.roles.body_tree import BodyTree
from motionloom.motion.rotations import quaternions as rot

if TYPE_CHECKING:
    from motionloom.motion.skeleton import Skeleton

Array = NDArray[np.float64]

TRUNK = ("hips", "spine", "chest", "neck", "head")
# Body parts that differ by less than this between two rest poses differ in shape, not in pose.
_SHAPE = np.radians(40.0)


def global_rest_rotations(skeleton: Skeleton) -> Array:
    """World rotations ``wxyz`` of the joints at rest, shape (J, 4).

    Examples
    --------
    >>> import motionloom as ml
    >>> global_rest_rotations(ml.demo.clip("walk").skeleton).shape
    (21, 4)
    """
    turned = global_rotations(skeleton.rest_rotations[None], skeleton.parents)
    return turned[0].astype(np.float64)


def posture_rotations(target: Skeleton, source: Skeleton) -> dict[str, Array]:
    """World rotation ``wxyz`` (4,) per role from the target's rest pose to the source's.

    Roles that only one of the two has follow their parent.

    Examples
    --------
    >>> import motionloom as ml
    >>> body = ml.demo.PERFORMERS[0].skeleton
    >>> turns = posture_rotations(body, body)
    >>> bool(np.allclose(turns["left_knee"], rot.IDENTITY))
    True
    """
    of_source, of_target = _Rest(source), _Rest(target)
    trunk = _trunk_turn(of_target, of_source)
    turns = {role: trunk for role in (*TRUNK, "head_top")}
    for side in SIDES:
        turns[f"{side}_collar"] = trunk
        for chain in (("shoulder", "elbow", "wrist"), ("hip", "knee", "ankle")):
            turn = trunk
            for first, second in zip(chain, chain[1:], strict=False):
                bone = (f"{side}_{first}", f"{side}_{second}")
                turn = _onto(turn, of_target.direction(*bone), of_source.direction(*bone))
                turns[bone[0]] = turn
            turns[f"{side}_{chain[-1]}"] = turn
        turns[f"{side}_hand"] = turns[f"{side}_wrist"]
        foot = _foot_turn(of_target, of_source, side, trunk, turns[f"{side}_ankle"])
        for role in ("ankle", "foot", "toe"):
            turns[f"{side}_{role}"] = foot
    return turns


class _Rest:
    """Directions between roles of a skeleton at rest."""

    def __init__(self, skeleton: Skeleton) -> None:
        points = BodyTree(skeleton).rest_positions()
        index = {name: k for k, name in enumerate(skeleton.point_names)}
        self.place = {role: points[index[name]] for role, name in skeleton.roles.items()}

    def direction(self, first: str, second: str) -> Array | None:
        """Unit vector from one role to another; None if there is none."""
        if first not in self.place or second not in self.place:
            return None
        line = self.place[second] - self.place[first]
        length = float(np.linalg.norm(line))
        return line / length if length > 1e-6 else None

    def trunk(self) -> tuple[Array | None, Array | None]:
        """Directions to the left, and up along the trunk."""
        left = self.direction("right_hip", "left_hip")
        if left is None:
            left = self.direction("right_shoulder", "left_shoulder")
        up = None
        for top in ("neck", "head", "chest", "spine"):
            up = up if up is not None else self.direction("hips", top)
        return left, up


def _trunk_turn(target: _Rest, source: _Rest) -> Array:
    left_t, up_t = target.trunk()
    left_s, up_s = source.trunk()
    if left_t is None or left_s is None or up_t is None or up_s is None:
        return rot.IDENTITY.copy()
    about = _yaw_of(left_s) - _yaw_of(left_t)
    turn = rot.yaw(about)
    lean = _angle(rot.rotate(turn, up_t), up_s)
    if lean < _SHAPE and _angle(rot.rotate(turn, left_t), left_s) < _SHAPE:
        return turn if abs(np.sin(0.5 * about)) > 1e-6 else rot.IDENTITY.copy()
    return rot.from_matrix(_basis(up_s, left_s) @ _basis(up_t, left_t).T)


def _foot_turn(target: _Rest, source: _Rest, side: str, trunk: Array, shin: Array) -> Array:
    """Rotation of a foot: level feet stay level, only other feet are aligned."""
    bone = (f"{side}_ankle", f"{side}_foot")
    there, here = target.direction(*bone), source.direction(*bone)
    if there is None or here is None:
        return trunk
    carried = rot.rotate(trunk, there)
    if abs(np.arcsin(carried[1]) - np.arcsin(here[1])) > _SHAPE:
        return _onto(shin, there, here)
    about = np.arctan2(here[0], here[2]) - np.arctan2(carried[0], carried[2])
    if abs(np.sin(0.5 * about)) < 1e-6 or max(abs(carried[1]), abs(here[1])) > 0.95:
        return trunk
    return rot.multiply(rot.yaw(about), trunk)


def _onto(turn: Array, there: Array | None, here: Array | None) -> Array:
    """`turn`, then the shortest rotation of the direction `there` to `here`."""
    if there is None or here is None:
        return turn
    return rot.multiply(rot.between(rot.rotate(turn, there), here), turn)


def _yaw_of(left: Array) -> float:
    return float(np.arctan2(-left[2], left[0]))


def _angle(a: Array, b: Array) -> float:
    return float(np.arccos(np.clip(a @ b, -1.0, 1.0)))


def _basis(up: Array, left: Array) -> Array:
    left = left - (left @ up) * up
    left = left / max(float(np.linalg.norm(left)), 1e-9)
    return np.stack([left, up, np.cross(left, up)], axis=-1)
