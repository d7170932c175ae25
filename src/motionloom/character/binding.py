"""Binding of a mesh from a file: whatever the file's mesh space and scales, in metres.

In a file, a joint moves a vertex by its world matrix times its inverse bind matrix, and both may
scale (a character in centimetres below a node that scales by 0.01). Our joints do not scale, so the
scale moves into the vertices, and what is left is a rigid bind pose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.character.skin_weights import INFLUENCES
from motionloom.character.skinned_mesh import Material, SkinnedMesh, rest_pose, vertex_normals

if TYPE_CHECKING:
    from motionloom.motion import Skeleton

Array = NDArray[np.float64]


def bound_mesh(
    skeleton: Skeleton,
    vertices: Array,
    triangles: NDArray,
    joints: NDArray,
    weights: Array,
    *,
    inverse_binds: Array,
    sizes: Array,
    points: NDArray,
    exact: NDArray,
    normals: Array | None = None,
    uvs: NDArray | None = None,
    name: str = "mesh",
    material: Material | None = None,
) -> SkinnedMesh:
    """A mesh bound to a skeleton.

    Parameters
    ----------
    skeleton : Skeleton
    vertices : ndarray, shape (V, 3)
        In the space of the mesh.
    triangles : ndarray, shape (F, 3)
    joints, weights : ndarray, shape (V, K)
        Rows of the N joints of the skin, and their weights.
    inverse_binds : ndarray, shape (N, 4, 4)
        From the space of the mesh to that of each joint.
    sizes : ndarray, shape (N,)
        World scale of each joint in the file.
    points : ndarray of int, shape (N,)
        The point of the skeleton that stands for each joint of the skin.
    exact : ndarray of bool, shape (N,)
        Whether it is the same joint; otherwise it is one above it.
    """
    to_joint = inverse_binds.astype(np.float64).copy()
    to_joint[:, :3] *= sizes[:, None, None]
    size = float(np.median(np.cbrt(np.abs(np.linalg.det(to_joint[:, :3, :3])))))
    to_joint[:, :3, :3] /= size
    rest = rest_pose(skeleton).matrices()
    known = {int(p): np.linalg.inv(m) for p, m, e in zip(points, to_joint, exact, strict=True) if e}
    if not known:
        known = {int(points[0]): np.linalg.inv(to_joint[0])}
    parents = skeleton.point_parents
    bind = np.empty_like(rest)
    usual = next(iter(known))
    for point in range(len(rest)):
        above = point
        while above >= 0 and above not in known:
            above = int(parents[above])
        above = above if above >= 0 else usual
        bind[point] = known[above] @ np.linalg.inv(rest[above]) @ rest[point]
    order = np.argsort(-weights, axis=1, kind="stable")[:, :INFLUENCES]
    shares = np.maximum(np.take_along_axis(weights, order, axis=1), 0.0)
    moved_by = points[np.take_along_axis(joints, order, axis=1)]
    total = shares.sum(axis=1, keepdims=True)
    shares = np.where(
        total > 1e-9, shares / np.maximum(total, 1e-9), [1.0] + [0.0] * (shares.shape[1] - 1)
    )
    places = size * np.asarray(vertices, np.float64)
    facing = vertex_normals(places, triangles) if normals is None else normals
    missing = INFLUENCES - shares.shape[1]
    return SkinnedMesh(
        places.astype(np.float32),
        np.asarray(facing, np.float32),
        triangles.astype(np.uint32),
        np.pad(moved_by, ((0, 0), (0, missing))).astype(np.uint16),
        np.pad(shares, ((0, 0), (0, missing))).astype(np.float32),
        bind,
        name,
        None if uvs is None else np.asarray(uvs, np.float32),
        material,
    )
