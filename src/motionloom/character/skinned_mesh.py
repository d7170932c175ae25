"""Skinned meshes, whose triangles follow the joints of a skeleton."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.rotations import quaternions as rot

if TYPE_CHECKING:
    from motionloom.motion import Motion, Skeleton

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BindPose:
    """Pose in which a mesh is bound to a skeleton, standing on the floor at the origin.

    Attributes
    ----------
    positions : ndarray, shape (J + E, 3)
        World positions of joints, then of end sites, in meters.
    rotations : ndarray, shape (J + E, 4)
        World rotations ``wxyz``; an end site has the rotation of its parent.
    """

    positions: Array
    rotations: Array

    def matrices(self) -> Array:
        """World matrices for column vectors, shape (J + E, 4, 4)."""
        return transform_matrices(self.positions, self.rotations)


@dataclass(frozen=True)
class Material:
    """Appearance of a mesh.

    Attributes
    ----------
    name : str
    color : tuple of 3 floats
        Linear red, green and blue, from 0 to 1, which are multiplied by the texture.
    texture : bytes or None
        An image file (PNG or JPEG).
    """

    name: str = "body"
    color: tuple[float, float, float] = (0.62, 0.66, 0.72)
    texture: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class SkinnedMesh:
    """Triangles in the bind pose, and the weights with which joints move the vertices.

    Attributes
    ----------
    vertices, normals : ndarray of float32, shape (V, 3)
        Positions in meters and unit normals, in the world space of the bind pose.
    triangles : ndarray of uint32, shape (F, 3)
        Vertex indices, counterclockwise when seen from outside.
    joints : ndarray of uint16, shape (V, 4)
        The joints that move each vertex.
    weights : ndarray of float32, shape (V, 4)
        Weights of these joints, non-negative and with a sum of 1 per vertex.
    bind : ndarray, shape (J + E, 4, 4)
        World matrices, for column vectors, of joints and end sites in the bind pose.
    name : str
    uvs : ndarray of float32, shape (V, 2), or None
        Texture coordinates; (0, 0) is the upper left corner of the image.
    material : Material or None
        Appearance of the mesh. If None, the viewer chooses a color.
    """

    vertices: NDArray[np.float32]
    normals: NDArray[np.float32]
    triangles: NDArray[np.uint32]
    joints: NDArray[np.uint16]
    weights: NDArray[np.float32]
    bind: Array
    name: str = "body"
    uvs: NDArray[np.float32] | None = None
    material: Material | None = None

    def posed(self, motion: Motion, frame: int = 0) -> Array:
        """Return the world positions (V, 3) of the vertices in one frame of a motion."""
        pose = motion[frame : frame + 1] if frame >= 0 else motion[frame:][:1]
        turns = pose.global_rotations()[0].astype(np.float64)
        places = pose.positions(end_sites=True)[0].astype(np.float64)
        turns = np.concatenate([turns, turns[motion.skeleton.end_parents]])
        since = transform_matrices(places, turns) @ np.linalg.inv(self.bind)
        moved = np.zeros((len(self.vertices), 3))
        for column in range(self.joints.shape[1]):
            joint = self.joints[:, column]
            there = np.einsum("vij,vj->vi", since[joint, :3, :3], self.vertices)
            moved += self.weights[:, column, None] * (there + since[joint, :3, 3])
        return moved

    def volume(self, vertices: Array | None = None) -> float:
        """Return the volume in cubic meters, in the bind pose or with other vertices (V, 3)."""
        points = np.asarray(self.vertices if vertices is None else vertices, np.float64)
        a, b, c = (points[self.triangles[:, corner]] for corner in range(3))
        return float(np.einsum("fc,fc->", a, np.cross(b, c)) / 6.0)


def vertex_normals(vertices: Array, triangles: NDArray) -> NDArray[np.float32]:
    """Return unit normals (V, 3): the area-weighted mean of the triangles around each vertex."""
    a, b, c = (vertices[triangles[:, corner]] for corner in range(3))
    sides = np.cross(b - a, c - a)
    normals = np.zeros_like(vertices)
    for corner in range(3):
        for axis in range(3):
            normals[:, axis] += np.bincount(
                triangles[:, corner], sides[:, axis], minlength=len(vertices)
            )
    return (normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)).astype(
        np.float32
    )


def transform_matrices(positions: Array, rotations: Array) -> Array:
    """Build matrices (N, 4, 4) for column vectors from positions (N, 3) and rotations (N, 4)."""
    matrices = np.zeros((len(positions), 4, 4))
    matrices[:, :3, :3] = rot.to_matrix(rotations)
    matrices[:, :3, 3] = positions
    matrices[:, 3, 3] = 1.0
    return matrices


def rest_pose(skeleton: Skeleton) -> BindPose:
    """Return world positions and rotations of all points at rest, standing on the floor."""
    return bind_pose(skeleton, skeleton.rest_rotations)


def bind_pose(skeleton: Skeleton, local: Array) -> BindPose:
    """Return world transforms for a pose with local rotations (J, 4), standing on the floor."""
    from motionloom.motion import Motion

    pose = Motion(skeleton, local[None], np.zeros((1, 3)), 1.0)
    places = pose.positions(end_sites=True)[0].astype(np.float64)
    turns = pose.global_rotations()[0].astype(np.float64)
    places[:, 1] -= places[:, 1].min()
    return BindPose(places, np.concatenate([turns, turns[skeleton.end_parents]]))
