"""Shared by the scene formats glTF and USD: motions from nodes, and a stick-figure mesh.

In a scene, a skeleton is a child of other nodes, which may be rotated, scaled and animated, too.
A skeleton has no scales: they become lengths. The mesh has one octahedron per bone, so that any
viewer shows the skeleton.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.formats.conventions import Repairs
from motionloom.motion import Motion, Skeleton
from motionloom.motion.carrier import body_root
from motionloom.motion.roles.body_tree import BodyTree
from motionloom.motion.rotations import quaternions as rot

_STILL = 1e-5  # of the largest offset: smaller changes of bone length are ignored
_EVEN = 0.01  # scales that differ by less are uniform
_FARTHEST = 1e7  # file units


@dataclass(frozen=True)
class NodeTrajectory:
    """Local transforms of one node over N frames; N may be 1.

    Attributes
    ----------
    translations : ndarray, shape (N, 3)
    rotations : ndarray, shape (N, 4)
        Rotations ``wxyz``.
    scales : ndarray, shape (N,)
    rest : ndarray, shape (4,)
        Rotation in the rest pose.
    """

    translations: NDArray[np.float64]
    rotations: NDArray[np.float64]
    scales: NDArray[np.float64]
    rest: NDArray[np.float64]


def uniform_scale(scales: NDArray[np.float64], repairs: Repairs) -> NDArray[np.float64]:
    """Uniform scales (...) for scales per axis (..., 3)."""
    mean = scales.mean(axis=-1)
    if np.abs(scales - mean[..., None]).max() > _EVEN * mean.max():
        repairs.add("scales that differ between the axes, read as their mean")
    return mean


def motion_from_nodes(
    above: Sequence[NodeTrajectory],
    joints: Iterable[NodeTrajectory],
    *,
    names: Sequence[str],
    parents: Sequence[int],
    end_names: Sequence[str],
    end_parents: Sequence[int],
    end_offsets: Sequence[NDArray[np.float64]],
    frames: int,
    fps: float,
    refuse: Callable[[str], NoReturn],
) -> Motion:
    """A motion of J joints (parents first) and E end sites, in the file's unit.

    Parameters
    ----------
    above : sequence of NodeTrajectory
        Nodes above the root, topmost first; they become part of the root's path.
    joints : iterable of NodeTrajectory, length J
    names, parents, end_names, end_parents : sequences
    end_offsets : sequence of ndarray, shape (3,)
        Translation of each end site.
    frames : int
    fps : float
    refuse : callable
        Called with a problem; raises.
    """
    place, turn, size = np.zeros((1, 3)), rot.IDENTITY[None], np.ones(1)
    rest_turn = rot.IDENTITY
    for node in above:
        place = place + rot.rotate(turn, size[:, None] * node.translations)
        turn, size = rot.multiply(turn, node.rotations), size * node.scales
        rest_turn = rot.multiply(rest_turn, node.rest)
    rotations = np.empty((frames, len(names), 4), np.float32)
    offsets = np.zeros((frames, len(names), 3), np.float32)
    rests = np.empty((len(names), 4))
    root = np.zeros((frames, 3))
    sizes: list[NDArray[np.float64]] = []
    for joint, node in enumerate(joints):
        outer = size if joint == 0 else sizes[parents[joint]]
        translations = outer[:, None] * node.translations
        if not np.all(np.abs(translations) < _FARTHEST):
            refuse(f"a joint lies farther than {_FARTHEST:g} units away")
        if joint == 0:
            root[:] = place + rot.rotate(turn, translations)
            rotations[:, 0] = rot.multiply(turn, node.rotations)
            rests[0] = rot.multiply(rest_turn, node.rest)
        else:
            offsets[:, joint] = translations
            rotations[:, joint] = node.rotations
            rests[joint] = node.rest
        sizes.append(outer * node.scales)
    tips = np.zeros((len(end_names), 3))
    for end, step in enumerate(end_offsets):
        tips[end] = float(np.median(sizes[end_parents[end]])) * step
    for lengths in (root, tips):
        if not np.all(np.abs(lengths) < _FARTHEST):
            refuse(f"a joint lies farther than {_FARTHEST:g} units away")
    steady = np.median(offsets, axis=0).astype(np.float64)
    wobble = float(np.abs(offsets - steady).max(initial=0.0))
    bends = wobble > _STILL * max(float(np.abs(steady).max()), 1e-6)
    is_plain = np.abs(np.abs(rests[:, 0]) - 1.0).max() < 1e-7
    skeleton = Skeleton(
        tuple(names),
        np.array(parents),
        steady,
        tuple(end_names),
        np.array(end_parents, np.int32),
        tips,
        None if is_plain else rests,
    )
    return Motion(skeleton, rotations, root, fps, "", offsets if bends else None)


COLOURS = [  # of characters in one file: the colour-blind safe palette of Okabe and Ito
    (0.9, 0.6, 0.0), (0.35, 0.7, 0.9), (0.0, 0.6, 0.5), (0.95, 0.9, 0.25),
    (0.0, 0.45, 0.7), (0.8, 0.4, 0.0), (0.8, 0.6, 0.7),
]  # fmt: skip
_WAIST = 0.2  # position of the widest point, as a fraction of the bone
_SLIMNESS = 0.11  # half width per length
_THINNEST, _THICKEST = 0.008, 0.045  # half widths in metres
_SHORTEST = 1e-4  # metres; shorter bones are not drawn


@dataclass(frozen=True)
class RestPoseTransforms:
    """World transforms of the rest pose, standing on the floor at the origin.

    Attributes
    ----------
    positions : ndarray, shape (J + E, 3)
        Joints, then end sites.
    rotations : ndarray, shape (J + E, 4)
        World rotations ``wxyz``; an end site has that of its parent.
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
        The joint each vertex is bound to. Every three vertices are a triangle.
    """

    vertices: NDArray[np.float32]
    normals: NDArray[np.float32]
    joints: NDArray[np.int64]


def rest_pose_transforms(skeleton: Skeleton) -> RestPoseTransforms:
    """World positions and rotations of all points in the rest pose."""
    pose = Motion(skeleton, skeleton.rest_rotations[None], np.zeros((1, 3)), 1.0).rest_pose()
    turns = pose.global_rotations()[0].astype(np.float64)
    return RestPoseTransforms(
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
    points = rest_pose_transforms(skeleton).positions
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
