"""Skeleton tree as lists: children, ancestors and lengths along the bones.

The tree is queried many thousand times; plain lists are faster here than arrays of 31 numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.rotations import quaternions as rot

if TYPE_CHECKING:
    from motionloom.motion.skeleton import Skeleton

_COINCIDENT = 1e-3  # of the longest reach of the skeleton: joints nearer than this coincide


class BodyTree:
    """Points (joints, then end sites) with parents, children and distance from the root."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton
        self.joints = len(skeleton)
        self.parents: list[int] = skeleton.point_parents.tolist()
        self.children: list[list[int]] = [[] for _ in self.parents]
        offsets = skeleton.point_offsets
        lengths = np.sqrt(np.einsum("pc,pc->p", offsets, offsets)).tolist()
        # The offset of the root is a position in the world, not a bone.
        self.reach: list[float] = [0.0] * len(self.parents)
        for point, parent in enumerate(self.parents):
            if parent >= 0:
                self.children[parent].append(point)
                self.reach[point] = self.reach[parent] + lengths[point]
        self.near = _COINCIDENT * max(self.reach)

    def path_up(self, point: int) -> list[int]:
        """`point` and its ancestors, the root last."""
        path = []
        while point >= 0:
            path.append(point)
            point = self.parents[point]
        return path

    def is_above(self, ancestor: int, point: int) -> bool:
        """Whether `ancestor` is `point` or one of its ancestors."""
        while point > ancestor and point >= 0:
            point = self.parents[point]
        return point == ancestor

    def meeting(self, a: int, b: int) -> int:
        """The deepest joint that is above both points."""
        above = set(self.path_up(a))
        while b not in above:
            b = self.parents[b]
        return b

    def between(self, top: int, bottom: int) -> list[int]:
        """Points on the path from `top` (excluded) down to `bottom` (included)."""
        meet = self.meeting(top, bottom)
        path = []
        while bottom != meet:
            path.append(bottom)
            bottom = self.parents[bottom]
        return path[::-1]

    def length(self, a: int, b: int) -> float:
        """Length along the bones from one point to another."""
        meet = self.meeting(a, b)
        return self.reach[a] + self.reach[b] - 2.0 * self.reach[meet]

    def apart(self, a: int, b: int) -> bool:
        """Whether two points of one chain are at different positions."""
        return self.length(a, b) > self.near

    def below(self, point: int) -> list[int]:
        """All descendants of `point`, nearest generations first."""
        found = list(self.children[point])
        for child in found:
            found.extend(self.children[child])
        return found

    def rest_positions(self) -> NDArray[np.float64]:
        """Positions (P, 3) of all points in the rest pose, the root at the origin."""
        skeleton = self.skeleton
        offsets = skeleton.point_offsets
        places = np.zeros_like(offsets)
        turns = None if skeleton.rest is None else skeleton.rest.copy()
        for point, parent in enumerate(self.parents):
            if parent < 0:
                continue
            bone = offsets[point] if turns is None else rot.rotate(turns[parent], offsets[point])
            places[point] = places[parent] + bone
            if turns is not None and point < self.joints:
                turns[point] = rot.multiply(turns[parent], turns[point])
        return places

    def is_end_site(self, point: int) -> bool:
        """Whether the point is an end site rather than a joint."""
        return point >= self.joints
