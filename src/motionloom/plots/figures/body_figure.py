"""The neutral body in film strips and films: shaded triangles, far ones first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.character import body_mesh, has_body
from motionloom.plots.figures.stick_figure import COLOURS, LEFT, MIDDLE, RIGHT
from motionloom.plots.figures.strokes import rgb

if TYPE_CHECKING:
    from motionloom.character import SkinnedMesh
    from motionloom.motion import Motion
    from motionloom.plots.figures.camera import Camera

_LIGHT = np.array([-0.35, 0.6, 0.72]) / np.linalg.norm([-0.35, 0.6, 0.72])  # right, up, near
_AMBIENT = 0.42  # brightness of a triangle that the light does not reach
_PALE = 0.45  # share of white in the colours of the sides, so that shading can be seen


@dataclass(frozen=True)
class Triangles:
    """N triangles in painting order: `corners` (N, 3, 2) in metres, `colours` (N, 3) in 0..1."""

    corners: NDArray[np.float64]
    colours: NDArray[np.float64]

    def shifted(self, by: ArrayLike) -> Triangles:
        """The same triangles, translated by `by` (2,)."""
        return Triangles(self.corners + np.asarray(by, np.float64), self.colours)


@dataclass(frozen=True, eq=False)
class BodyFigure:
    """The body of a skeleton, its left side blue and its right side orange as in stick figures.

    Attributes
    ----------
    mesh : SkinnedMesh
    colours : ndarray, shape (F, 3)
        Of each triangle, before shading.
    """

    mesh: SkinnedMesh
    colours: NDArray[np.float64]

    def triangles(self, motion: Motion, frame: int, camera: Camera) -> Triangles:
        """Triangles of one frame that face the camera, far ones first, shaded."""
        corners = camera.project(self.mesh.posed(motion, frame))[self.mesh.triangles]
        return shaded_triangles(corners, self.colours)


def shaded_triangles(corners: NDArray[np.float64], colours: NDArray[np.float64]) -> Triangles:
    """The triangles that face the camera, far ones first, shaded.

    Parameters
    ----------
    corners : ndarray, shape (F, 3, 3)
        In the axes of the camera: right, up, near.
    colours : ndarray, shape (F, 3)
        Of each triangle, before shading.
    """
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    seen = np.flatnonzero((normals[:, 2] > 0.0) & np.isfinite(corners).all(axis=(1, 2)))
    seen = seen[np.argsort(corners[seen, :, 2].mean(axis=1), kind="stable")]
    shade = _AMBIENT + (1.0 - _AMBIENT) * np.clip(normals[seen] @ _LIGHT, 0.0, 1.0)
    return Triangles(corners[seen, :, :2], shade[:, None] * colours[seen])


def body_figure(motion: Motion, *, detail: str = "high") -> BodyFigure | None:
    """The body of a motion's skeleton; None if it has too few roles for one.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.plots.figures.camera import Camera
    >>> walk = ml.demo.clip("walk")
    >>> seen = body_figure(walk, detail="low").triangles(walk, 0, Camera(view="side"))
    >>> seen.corners.shape[1:], bool((seen.colours <= 1.0).all())
    ((3, 2), True)
    """
    skeleton = motion.skeleton
    if not has_body(skeleton):
        return None
    mesh = body_mesh(skeleton, detail=detail, example=motion)
    side = np.full(len(skeleton.parents) + len(skeleton.end_parents), MIDDLE)
    for role in skeleton.roles:
        if role.startswith(("left_", "right_")):
            side[skeleton.points([role])[0]] = LEFT if role.startswith("left_") else RIGHT
    parents = np.concatenate([skeleton.parents, skeleton.end_parents])
    for point, parent in enumerate(parents):  # joints without a role belong to their parent
        if side[point] == MIDDLE and parent >= 0:
            side[point] = side[parent]
    tones = {one: (1.0 - _PALE) * rgb(COLOURS[one]) + _PALE for one in (LEFT, MIDDLE, RIGHT)}
    of_joint = np.array([tones[int(one)] for one in side])
    of_vertex = np.einsum("vk,vkc->vc", mesh.weights, of_joint[mesh.joints])
    return BodyFigure(mesh, of_vertex[mesh.triangles].mean(axis=1))
