"""Skin weights, with which each vertex follows its nearest bone, blended smoothly across joints.

A vertex belongs to the body part on which it lies, and within that part to the nearest bone. These
assignments are then diffused over the surface, so that they change gradually around a joint, over a
distance that grows with the local thickness of the body. Parts that are close but not connected,
such as the two thighs, do not mix, because the diffusion follows the surface.

A mesh from a file already has weights, but its space and scale are arbitrary. In the file, a joint
moves a vertex by its world matrix times its inverse bind matrix. Both matrices may contain a scale,
as for a character in centimeters below a node that scales by 0.01. The joints of a `Skeleton` do
not scale, so the scale is applied to the vertices, and a rigid bind pose remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.character.implicit_surface import Loft
from motionloom.character.skinned_mesh import Material, SkinnedMesh, rest_pose, vertex_normals

if TYPE_CHECKING:
    from motionloom.character.skinned_mesh import BindPose
    from motionloom.motion import Skeleton

Array = NDArray[np.float64]

INFLUENCES = 4  # maximum number of joints per vertex, as in game engines
_SPREAD = 0.4  # standard deviation of the diffusion, as a fraction of the thickness
_THINNEST, _THICKEST = 0.03, 0.065  # meters


def skin_weights(
    skeleton: Skeleton,
    bind: BindPose,
    parts: Sequence[Loft],
    vertices: Array,
    triangles: NDArray[np.int64],
) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
    """Return the joints (V, 4) and weights (V, 4) of vertices (V, 3)."""
    nearest, thickness = _nearest_joints(skeleton, bind, parts, vertices)
    weights = np.zeros((len(vertices), len(skeleton)))
    weights[np.arange(len(vertices)), nearest] = 1.0
    used = np.flatnonzero(weights.any(axis=0))
    weights = _diffused(weights[:, used], vertices, triangles, thickness)
    count = min(INFLUENCES, len(used))
    order = np.argsort(-weights, axis=1, kind="stable")[:, :count]
    joints = np.zeros((len(vertices), INFLUENCES), np.uint16)
    shares = np.zeros((len(vertices), INFLUENCES))
    joints[:, :count] = used[order]
    shares[:, :count] = np.take_along_axis(weights, order, axis=1)
    shares[shares < 0.01] = 0.0
    shares /= shares.sum(axis=1, keepdims=True)
    joints[shares == 0.0] = 0
    return joints, shares.astype(np.float32)


def _nearest_joints(
    skeleton: Skeleton, bind: BindPose, parts: Sequence[Loft], vertices: Array
) -> tuple[NDArray[np.intp], Array]:
    """Return the joint (V,) with the nearest bone in the vertex's part, and the thickness there."""
    away = np.stack([part.distances(vertices) for part in parts], axis=1)
    owner = np.argmin(away, axis=1)
    nearest = np.zeros(len(vertices), np.intp)
    thickness = np.zeros(len(vertices))
    for number, part in enumerate(parts):
        mine = np.flatnonzero(owner == number)
        if len(mine):
            nearest[mine] = _nearest_bone(skeleton, bind, part.joints, vertices[mine])
            thickness[mine] = part.sections[:, 1:3].mean()
    return nearest, np.clip(thickness, _THINNEST, _THICKEST)


def _nearest_bone(
    skeleton: Skeleton, bind: BindPose, joints: Sequence[int], points: Array
) -> NDArray[np.intp]:
    if len(joints) == 1:
        return np.full(len(points), joints[0], np.intp)
    parents = skeleton.point_parents
    best, nearest = np.full(len(points), np.inf), np.full(len(points), joints[0], np.intp)
    for joint in joints:
        start = bind.positions[joint]
        below: list[int] = np.flatnonzero(parents == joint).tolist()
        ends = [point for point in below if point in joints] or below
        for end in ends or [joint]:
            bone = bind.positions[end] - start
            length = max(float(bone @ bone), 1e-12)
            along = np.clip((points - start) @ bone / length, 0.0, 1.0)
            gap = np.linalg.norm(points - start - along[:, None] * bone, axis=1)
            closer = gap < best - 1e-9
            best[closer], nearest[closer] = gap[closer], joint
    return nearest


def _diffused(
    weights: Array, vertices: Array, triangles: NDArray[np.int64], thickness: Array
) -> Array:
    """Diffuse `weights` over the surface by `_SPREAD` times the thickness."""
    from scipy import sparse

    a = np.concatenate([triangles[:, k] for k in range(3)])
    b = np.concatenate([triangles[:, (k + 1) % 3] for k in range(3)])
    edge = float(np.mean(np.linalg.norm(vertices[a] - vertices[b], axis=1)))
    count = len(vertices)
    # `a`, `b` contain every edge of a closed mesh once in each direction.
    graph = sparse.csr_array((np.ones(len(a)), (a, b)), shape=(count, count))
    mean = sparse.diags_array(1.0 / graph.sum(axis=1)) @ graph
    # A step that replaces half of a value with the mean of its neighbors has variance edge^2 / 4
    # along each direction of the surface.
    wanted = (_SPREAD * thickness) ** 2 / (0.25 * edge * edge)
    steps = int(np.ceil(wanted.max()))
    rate = (0.5 * wanted / max(steps, 1))[:, None]
    for _ in range(steps):
        weights = weights + rate * (mean @ weights - weights)
    return weights


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
    """Bind a mesh to a skeleton.

    Parameters
    ----------
    skeleton : Skeleton
    vertices : ndarray, shape (V, 3)
        Positions in the space of the mesh.
    triangles : ndarray, shape (F, 3)
    joints, weights : ndarray, shape (V, K)
        Indices into the N joints of the skin, and their weights.
    inverse_binds : ndarray, shape (N, 4, 4)
        Matrices from the space of the mesh to the space of each joint.
    sizes : ndarray, shape (N,)
        World scale of each joint in the file.
    points : ndarray of int, shape (N,)
        The point of the skeleton that represents each joint of the skin.
    exact : ndarray of bool, shape (N,)
        True if the point is the same joint, False if it is a joint above.
    """
    to_joint = inverse_binds.astype(np.float64).copy()
    to_joint[:, :3] *= sizes[:, None, None]
    size = float(np.median(np.cbrt(np.abs(np.linalg.det(to_joint[:, :3, :3])))))
    to_joint[:, :3, :3] /= size
    rest = rest_pose(skeleton).matrices()
    binds = {int(p): np.linalg.inv(m) for p, m, e in zip(points, to_joint, exact, strict=True) if e}
    if not binds:
        binds = {int(points[0]): np.linalg.inv(to_joint[0])}
    parents = skeleton.point_parents
    bind = np.empty_like(rest)
    usual = next(iter(binds))
    for point in range(len(rest)):
        above = point
        while above >= 0 and above not in binds:
            above = int(parents[above])
        above = above if above >= 0 else usual
        bind[point] = binds[above] @ np.linalg.inv(rest[above]) @ rest[point]
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
