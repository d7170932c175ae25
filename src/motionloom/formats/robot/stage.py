"""The shapes of a robot as meshes that follow the joints of its motions."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from motionloom.character.robot.model import Robot, Shape
from motionloom.character.skinned_mesh import (
    BindPose,
    Material,
    SkinnedMesh,
    bind_pose,
    vertex_normals,
)
from motionloom.errors import MotionloomError
from motionloom.formats.robot.meshes import simplified
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_CELLS = 32  # along the longest side of a mesh
_ROUND = 16  # corners of a circle


def robot_meshes(robot: Robot) -> list[SkinnedMesh]:
    """Return rigidly skinned meshes of a robot, one per color.

    Plain shapes take the place of meshes that are missing or damaged.
    """
    skeleton = robot.skeleton
    bind = bind_pose(skeleton, skeleton.rest_rotations)
    parts: dict[tuple[float, float, float], list[tuple[Array, NDArray, int]]] = defaultdict(list)
    for shape in _shown(robot):
        try:
            vertices, triangles = shape_triangles(shape)
        except (MotionloomError, OSError):
            continue
        parts[shape.color].append((shape.placed(vertices), triangles, shape.node))
    return [_mesh(bind, robot.name, color, pieces) for color, pieces in parts.items() if pieces]


def _shown(robot: Robot) -> list[Shape]:
    """Return the visual shapes, and for nodes that have none, the shapes that collide."""
    seen = {shape.node for shape in robot.shapes if shape.visual}
    return [shape for shape in robot.shapes if shape.visual or shape.node not in seen]


def _mesh(bind: BindPose, name: str, color, pieces) -> SkinnedMesh:
    vertices, triangles, joints, start = [], [], [], 0
    for points, faces, node in pieces:
        vertices.append(rot.rotate(bind.rotations[node], points) + bind.positions[node])
        triangles.append(faces.astype(np.int64) + start)
        joints.append(np.full(len(points), node))
        start += len(points)
    places, faces = np.concatenate(vertices), np.concatenate(triangles).astype(np.uint32)
    owners = np.zeros((len(places), 4), np.uint16)
    owners[:, 0] = np.concatenate(joints)
    weights = np.zeros((len(places), 4), np.float32)
    weights[:, 0] = 1.0
    return SkinnedMesh(
        places.astype(np.float32),
        vertex_normals(places, faces),
        faces,
        owners,
        weights,
        bind.matrices(),
        name,
        material=Material(f"{name} {len(pieces)}", color),
    )


def shape_triangles(shape: Shape) -> tuple[Array, NDArray[np.uint32]]:
    """Return vertices (V, 3) and triangles (F, 3) of a shape, in its own frame."""
    size = shape.size
    if shape.kind == "mesh":
        return simplified(*shape.triangles, _CELLS)
    if shape.kind == "box":
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
        quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
        # Each side has its own corners, so that edges look sharp.
        corners = signs[np.array(faces)].reshape(-1, 3) * np.array(size)
        return corners, np.arange(len(corners), dtype=np.uint32).reshape(-1, 3)
    half = 0.0 if shape.kind == "sphere" else size[1]
    if shape.kind == "cylinder":
        profile = [(0.0, -half), (size[0], -half), (size[0], half), (0.0, half)]
    else:
        turn = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 9)
        profile = [
            (size[0] * np.cos(a), size[0] * np.sin(a) + (half if a > 0 else -half)) for a in turn
        ]
    return _revolved(np.array(profile))


def _revolved(profile: Array) -> tuple[Array, NDArray[np.uint32]]:
    """Return the surface that a profile (radius, height) describes about the y axis."""
    turn = np.linspace(0.0, 2.0 * np.pi, _ROUND, endpoint=False)
    radius, height = profile[:, 0, None], profile[:, 1, None]
    vertices = np.stack(
        [
            radius * np.sin(turn),
            np.broadcast_to(height, (len(profile), _ROUND)),
            radius * np.cos(turn),
        ],
        axis=-1,
    ).reshape(-1, 3)
    faces = []
    for ring in range(len(profile) - 1):
        for k in range(_ROUND):
            a, b = ring * _ROUND + k, ring * _ROUND + (k + 1) % _ROUND
            faces += [(a, b, b + _ROUND), (a, b + _ROUND, a + _ROUND)]
    return vertices, np.array(faces, np.uint32)
