# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of bones between the studio and Blender, with NumPy only.

In the studio, joints have the world axes (meters, y up) in the rest pose, and rotations are
relative to that pose. In Blender, every bone has its axes and a roll, in the space of an object
that may be moved, turned and scaled (z up). Let `K` be the rotation from the armature's space to
the studio's space. A bone with rest orientation `B` whose joint is turned by `G` then has the
orientation `K^-1 G K B` in the armature's space.

The studio's origin is the origin of the object, and its +Z axis is the heading of the object's -Y
axis, so a character starts where the object was placed and turned. Quaternions are `wxyz`; T is the
number of frames, J of joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Y_UP = np.array([np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0])  # (x, y, z) in Blender to (x, z, -y)


class UnusableArmature(ValueError):
    """Error for an armature that cannot receive motion, with a one-line message."""


@dataclass(frozen=True)
class Placement:
    """Placement of an armature object: position (3,), rotation (4,), uniform scale."""

    position: np.ndarray
    rotation: np.ndarray
    scale: float

    @classmethod
    def from_matrix(cls, matrix: np.ndarray, name: str) -> Placement:
        """Placement from a world matrix (4, 4); raises if bones cannot follow it."""
        matrix = np.asarray(matrix, np.float64)
        scales = np.linalg.norm(matrix[:3, :3], axis=0)
        scale = float(scales.mean())
        turn = matrix[:3, :3] / np.maximum(scales, 1e-12)
        rigid = np.allclose(turn.T @ turn, np.eye(3), atol=1e-4) and np.linalg.det(turn) > 0.0
        if scale < 1e-9 or np.ptp(scales) > 1e-3 * scale or not rigid:
            shown = ", ".join(f"{value:.3g}" for value in scales)
            raise UnusableArmature(
                f"{name} is scaled unevenly, mirrored or sheared (scale {shown}); apply its "
                f"scale first (Object > Apply > Scale)"
            )
        return cls(matrix[:3, 3], quaternion(turn), scale)

    @property
    def heading(self) -> np.ndarray:
        """Part (4,) of the rotation about the vertical axis."""
        w, _, _, z = self.rotation
        size = np.hypot(w, z)
        return np.array([w, 0.0, 0.0, z]) / size if size > 1e-9 else np.array([1.0, 0, 0, 0])

    @property
    def to_studio(self) -> np.ndarray:
        """Rotation (4,) `K` from the armature's space to the studio's space."""
        return multiply(Y_UP, multiply(inverse(self.heading), self.rotation))

    def points_to_studio(self, points: np.ndarray) -> np.ndarray:
        """Convert points (..., 3) from the armature's space to the studio's space, in meters."""
        return self.scale * rotate(self.to_studio, points)

    def points_from_studio(self, points: np.ndarray) -> np.ndarray:
        """Inverse of `points_to_studio`."""
        return rotate(inverse(self.to_studio), points) / self.scale

    def world_to_studio(self, points: np.ndarray) -> np.ndarray:
        """Convert points (..., 3) from Blender's world space to the studio's space."""
        return rotate(multiply(Y_UP, inverse(self.heading)), np.asarray(points) - self.position)


@dataclass(frozen=True)
class RestPose:
    """Joints of an armature at rest, parents first.

    ``heads``, ``tails`` (J, 3) and ``rotations`` (J, 4) are in the armature's space.
    """

    names: tuple[str, ...]
    parents: np.ndarray
    heads: np.ndarray
    tails: np.ndarray
    rotations: np.ndarray
    placement: Placement

    def skeleton(self) -> dict:
        """Skeleton of a request; the tails of bones without children become end sites."""
        heads = self.placement.points_to_studio(self.heads)
        offsets = heads - np.where(self.parents[:, None] < 0, 0.0, heads[self.parents])
        leaves = [joint for joint in range(len(self.names)) if joint not in set(self.parents)]
        tips = self.placement.points_to_studio(self.tails)[leaves] - heads[leaves]
        return {
            "names": list(self.names),
            "parents": self.parents.tolist(),
            "offsets": offsets.tolist(),
            "end_names": [f"{self.names[joint]} tip" for joint in leaves],
            "end_parents": leaves,
            "end_offsets": tips.tolist(),
        }

    def bone_poses(
        self, joints: Sequence[str], parents: Sequence[int], turns: np.ndarray, root: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Orientations (T, n, 4) of the bones in a response, and heads (T, 3) of the first.

        Both in the armature's space; `turns` (T, n, 4) are local, `root` is (T, 3).
        """
        into = self.placement.to_studio
        turned = multiply(inverse(into), multiply(global_rotations(turns, parents), into))
        rest = self.rotations[[self.names.index(name) for name in joints]]
        return multiply(turned, rest), self.placement.points_from_studio(np.asarray(root))

    def points(
        self, joints: Sequence[str], parents: Sequence[int], turns: np.ndarray, root: np.ndarray
    ) -> tuple[np.ndarray, list[int]]:
        """Joints and tips of a response in the studio's space, (T, P, 3), with their parents."""
        rows = [self.names.index(name) for name in joints]
        heads = self.placement.points_to_studio(self.heads)[rows]
        tips = self.placement.points_to_studio(self.tails)[rows]
        turned = global_rotations(turns, parents)
        places = np.empty((len(turned), len(rows), 3))
        places[:, 0] = root
        for joint, parent in enumerate(parents):
            if parent >= 0:
                step = rotate(turned[:, parent], heads[joint] - heads[parent])
                places[:, joint] = places[:, parent] + step
        leaves = [joint for joint in range(len(rows)) if joint not in set(parents)]
        ends = places[:, leaves] + rotate(turned[:, leaves], (tips - heads)[leaves])
        return np.concatenate([places, ends], axis=1), [*parents, *leaves]

    def studio_poses(
        self, orientations: np.ndarray, heads: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Local rotations (T, J, 4) and root (T, 3) of bones, in studio conventions.

        `orientations` (T, J, 4) and `heads` (T, 3) of the first are in the armature's space.
        """
        into = self.placement.to_studio
        turned = multiply(orientations, inverse(self.rotations))
        turned = multiply(into, multiply(turned, inverse(into)))
        local = turned.copy()
        for joint, parent in enumerate(self.parents):
            if parent >= 0:
                local[:, joint] = multiply(inverse(turned[:, parent]), turned[:, joint])
        return local, self.placement.points_to_studio(heads)


def pose_bases(
    orientations: np.ndarray, rest: np.ndarray, parents: Sequence[int], hinges: Sequence[bool]
) -> np.ndarray:
    """Rotations (T, n, 4) of pose bones relative to their rest pose, for keyframes.

    `orientations` (T, n, 4) and `rest` (n, 4) are in the armature's space; a parent of -1 is a
    bone at rest, or none. `hinges` are bones that do not inherit rotation.
    """
    bases = np.empty_like(orientations)
    for bone, parent in enumerate(parents):
        turned = orientations[:, bone]
        if parent >= 0 and not hinges[bone]:
            carried = multiply(orientations[:, parent], inverse(rest[parent]))
            turned = multiply(inverse(carried), turned)
        bases[:, bone] = multiply(inverse(rest[bone]), turned)
    return continuous(bases)


def global_rotations(turns: np.ndarray, parents: Sequence[int]) -> np.ndarray:
    """World rotations (T, n, 4) from local rotations, parents first."""
    rotations = np.array(turns, np.float64)
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    for joint, parent in enumerate(parents):
        if parent >= 0:
            rotations[:, joint] = multiply(rotations[:, parent], rotations[:, joint])
    return rotations


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of quaternions: `b` first, then `a`."""
    aw, ax, ay, az = np.moveaxis(np.asarray(a, np.float64), -1, 0)
    bw, bx, by, bz = np.moveaxis(np.asarray(b, np.float64), -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def inverse(turns: np.ndarray) -> np.ndarray:
    """Inverses of unit quaternions."""
    return np.asarray(turns, np.float64) * [1.0, -1.0, -1.0, -1.0]


def rotate(turns: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points (..., 3) turned by quaternions."""
    points = np.asarray(points, np.float64)
    pure = np.concatenate([np.zeros((*points.shape[:-1], 1)), points], axis=-1)
    return multiply(multiply(turns, pure), inverse(turns))[..., 1:]


def quaternion(matrix: np.ndarray) -> np.ndarray:
    """Quaternion of a rotation matrix (3, 3), as an eigenvector of Bar-Itzhack's matrix."""
    (a, b, c), (d, e, f), (g, h, i) = np.asarray(matrix, np.float64)
    symmetric = np.array(
        [
            [a + e + i, h - f, c - g, d - b],
            [h - f, a - e - i, b + d, c + g],
            [c - g, b + d, e - a - i, f + h],
            [d - b, c + g, f + h, i - a - e],
        ]
    )
    turn = np.linalg.eigh(symmetric)[1][:, -1]
    return turn if turn[0] >= 0.0 else -turn


def continuous(turns: np.ndarray) -> np.ndarray:
    """Choose the signs of quaternions (T, ...) so that consecutive ones are close."""
    if len(turns) < 2:
        return turns
    flips = np.sum(turns[1:] * turns[:-1], axis=-1) < 0.0
    signs = np.concatenate([np.ones((1, *flips.shape[1:])), np.where(flips, -1.0, 1.0)])
    return turns * np.cumprod(signs, axis=0)[..., None]
