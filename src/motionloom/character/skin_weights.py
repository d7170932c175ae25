"""Skin weights: each vertex follows its nearest bone, blended smoothly across the joints.

A vertex belongs to the body part it lies on, and within it to the nearest bone. These choices are
then diffused over the surface, so that they change gradually around a joint, over a distance that
grows with the thickness of the body there. Parts that are near each other but not connected (the
two thighs) do not mix, because the diffusion follows the surface.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.character.implicit_surface import Loft

if TYPE_CHECKING:
    from motionloom.character.skinned_mesh import BindPose
    from motionloom.motion import Skeleton

Array = NDArray[np.float64]

INFLUENCES = 4  # joints per vertex, as game engines allow
_SPREAD = 0.4  # of the thickness: standard deviation of the diffusion
_THINNEST, _THICKEST = 0.03, 0.065  # metres


def skin_weights(
    skeleton: Skeleton,
    bind: BindPose,
    parts: Sequence[Loft],
    vertices: Array,
    triangles: NDArray[np.int64],
) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
    """Joints (V, 4) and weights (V, 4) of vertices (V, 3)."""
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
    """The joint (V,) whose bone is nearest within the part of a vertex, and the thickness there."""
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
    best, found = np.full(len(points), np.inf), np.full(len(points), joints[0], np.intp)
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
            best[closer], found[closer] = gap[closer], joint
    return found


def _diffused(
    weights: Array, vertices: Array, triangles: NDArray[np.int64], thickness: Array
) -> Array:
    """`weights` after diffusion over the surface by `_SPREAD` times the thickness."""
    from scipy import sparse

    a = np.concatenate([triangles[:, k] for k in range(3)])
    b = np.concatenate([triangles[:, (k + 1) % 3] for k in range(3)])
    edge = float(np.mean(np.linalg.norm(vertices[a] - vertices[b], axis=1)))
    count = len(vertices)
    # Every edge of a closed mesh is in `a`, `b` once in each direction.
    graph = sparse.csr_array((np.ones(len(a)), (a, b)), shape=(count, count))
    mean = sparse.diags_array(1.0 / graph.sum(axis=1)) @ graph
    # A step that replaces half of a value by the mean of its neighbours has variance edge^2 / 4
    # along each direction of the surface.
    wanted = (_SPREAD * thickness) ** 2 / (0.25 * edge * edge)
    steps = int(np.ceil(wanted.max()))
    rate = (0.5 * wanted / max(steps, 1))[:, None]
    for _ in range(steps):
        weights = weights + rate * (mean @ weights - weights)
    return weights
