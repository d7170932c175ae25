"""Stick figures: one octahedron per bone, for skeletons that are not those of a body."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.character.skinned_mesh import SkinnedMesh, rest_pose
from motionloom.motion.roles.body_tree import BodyTree
from motionloom.motion.root_carrier import body_root
from motionloom.motion.rotations import quaternions as rot

if TYPE_CHECKING:
    from motionloom.motion import Skeleton

_WAIST = 0.2  # position of the widest point, as a fraction of the bone
_SLIMNESS = 0.11  # half width per length
_THINNEST, _THICKEST = 0.008, 0.045  # half widths in metres
_SHORTEST = 1e-4  # metres; shorter bones are not drawn


def stick_mesh(skeleton: Skeleton) -> SkinnedMesh:
    """Bones as slim octahedra in the rest pose, flat-shaded, each bound to one joint.

    Examples
    --------
    >>> from motionloom.motion import Skeleton
    >>> bone = Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    >>> stick_mesh(bone).vertices.shape  # 8 triangles
    (24, 3)
    """
    bind = rest_pose(skeleton)
    points = bind.positions
    parents = skeleton.point_parents
    root, tree = body_root(skeleton), BodyTree(skeleton)
    body = {root, *tree.below(root)}  # no bone from a joint above the hips
    bones = [
        (points[parent], points[point], int(parent))
        for point, parent in enumerate(parents)
        if parent in body and np.linalg.norm(points[point] - points[parent]) > _SHORTEST
    ]
    if not bones:  # a single joint is drawn, too
        bones = [(points[0], points[0] + [0.0, 0.1, 0.0], 0)]
    corners = np.concatenate([_octahedron(start, end) for start, end, _ in bones])
    sides = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = sides / np.linalg.norm(sides, axis=1, keepdims=True)
    joints = np.zeros((len(bones) * 24, 4), np.uint16)
    joints[:, 0] = np.repeat([joint for _, _, joint in bones], 24)
    weights = np.zeros((len(joints), 4), np.float32)
    weights[:, 0] = 1.0
    return SkinnedMesh(
        corners.reshape(-1, 3).astype(np.float32),
        np.repeat(normals, 3, axis=0).astype(np.float32),
        np.arange(len(joints), dtype=np.uint32).reshape(-1, 3),
        joints,
        weights,
        bind.matrices(),
        name="sticks",
    )


def _octahedron(start: NDArray, end: NDArray) -> NDArray:
    """Eight triangles (8, 3, 3) from start to end, counter-clockwise from outside."""
    bone = end - start
    length = float(np.linalg.norm(bone))
    width = min(max(_SLIMNESS * length, _THINNEST), _THICKEST)
    turn = rot.between([0.0, 1.0, 0.0], bone)
    across = width * rot.rotate(turn, np.array([[1, 0, 0], [0, 0, -1], [-1, 0, 0], [0, 0, 1.0]]))
    ring = start + _WAIST * bone + across
    following = np.roll(ring, -1, axis=0)
    upper = np.stack([ring, following, np.broadcast_to(end, (4, 3))], axis=1)
    lower = np.stack([following, ring, np.broadcast_to(start, (4, 3))], axis=1)
    return np.concatenate([upper, lower])
