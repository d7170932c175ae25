"""A light mesh that shows a skeleton in any viewer: one octahedron per bone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot

COLOURS = [  # of characters in one file; Okabe and Ito: told apart by everyone
    (0.9, 0.6, 0.0), (0.35, 0.7, 0.9), (0.0, 0.6, 0.5), (0.95, 0.9, 0.25),
    (0.0, 0.45, 0.7), (0.8, 0.4, 0.0), (0.8, 0.6, 0.7),
]  # fmt: skip
_WAIST = 0.2  # where the octahedron is widest, as a part of the bone
_SLIMNESS = 0.11  # half width per length
_THINNEST, _THICKEST = 0.008, 0.045  # half widths in metres
_SHORTEST = 1e-4  # metres; shorter bones are not drawn


@dataclass(frozen=True)
class RestFrames:
    """The rest pose in the world: the figure stands on the floor at the origin.

    Attributes
    ----------
    positions : ndarray, shape (J + E, 3)
        Joints, then end sites.
    rotations : ndarray, shape (J + E, 4)
        World rotations ``wxyz``; an end site has its parent's.
    """

    positions: NDArray[np.float64]
    rotations: NDArray[np.float64]

    def matrices(self) -> NDArray[np.float64]:
        """World matrices for column vectors, shape (J + E, 4, 4)."""
        return transform_matrices(self.positions, self.rotations)


@dataclass(frozen=True)
class StickMesh:
    """Flat-shaded triangles in the rest pose, each bound to one joint.

    Attributes
    ----------
    vertices, normals : ndarray of float32, shape (V, 3)
    joints : ndarray of int, shape (V,)
        The joint each vertex moves with. Every three vertices are a triangle.
    """

    vertices: NDArray[np.float32]
    normals: NDArray[np.float32]
    joints: NDArray[np.int64]


def rest_frames(skeleton: Skeleton) -> RestFrames:
    """World positions and rotations of all points in the rest pose."""
    pose = Motion(skeleton, skeleton.rest_rotations[None], np.zeros((1, 3)), 1.0).rest_pose()
    turns = pose.global_rotations()[0].astype(np.float64)
    return RestFrames(
        pose.positions(end_sites=True)[0].astype(np.float64),
        np.concatenate([turns, turns[skeleton.end_parents]]),
    )


def stick_mesh(skeleton: Skeleton) -> StickMesh:
    """Bones as slim octahedra in the rest pose.

    Examples
    --------
    >>> bone = Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    >>> stick_mesh(bone).vertices.shape  # 8 triangles
    (24, 3)
    """
    points = rest_frames(skeleton).positions
    parents = skeleton.point_parents
    bones = [
        (points[parent], points[point], int(parent))
        for point, parent in enumerate(parents)
        if parent >= 0 and np.linalg.norm(points[point] - points[parent]) > _SHORTEST
    ]
    if not bones:  # a lone point is drawn, too
        bones = [(points[0], points[0] + [0.0, 0.1, 0.0], 0)]
    corners = np.concatenate([_octahedron(start, end) for start, end, _ in bones])
    sides = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = sides / np.linalg.norm(sides, axis=1, keepdims=True)
    return StickMesh(
        corners.reshape(-1, 3).astype(np.float32),
        np.repeat(normals, 3, axis=0).astype(np.float32),
        np.repeat([joint for _, _, joint in bones], 24),
    )


def transform_matrices(
    positions: NDArray[np.float64], rotations: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Matrices (N, 4, 4) for column vectors of positions (N, 3) and rotations (N, 4)."""
    matrices = np.zeros((len(positions), 4, 4))
    matrices[:, :3, :3] = np.swapaxes(rot.rotate(rotations[:, None], np.eye(3)), 1, 2)
    matrices[:, :3, 3] = positions
    matrices[:, 3, 3] = 1.0
    return matrices


def _octahedron(start: NDArray, end: NDArray) -> NDArray:
    """Eight triangles (8, 3, 3) from start to end, seen from outside counter-clockwise."""
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
