"""Neutral body: a smooth skinned figure for any skeleton with the necessary roles.

The figure is an implicit surface around the bones (`motionloom.character.figure`). It is meshed
once for each skeleton, in a pose with arms and legs apart, and skinned by distance. It is generated
from the bone lengths of the skeleton, without a template.

Skeletons without the necessary roles get a stick figure with one octahedron per bone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.character.figure import REQUIRED, body_parts
from motionloom.character.implicit_surface import onto_surface, surface_distances, surface_mesh
from motionloom.character.skin_weights import skin_weights
from motionloom.character.skinned_mesh import SkinnedMesh, bind_pose, rest_pose, vertex_normals
from motionloom.errors import InvalidInput
from motionloom.motion.kinematics.root_carrier import body_root
from motionloom.motion.kinematics.two_bone import with_global_rotations
from motionloom.motion.retargeting.neutral_pose import (
    NeutralPose,
    global_rest_rotations,
    neutral_pose,
)
from motionloom.motion.retargeting.observed_pose import observed_pose
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import BodyTree

if TYPE_CHECKING:
    from motionloom.motion import Motion, Skeleton

Array = NDArray[np.float64]

# Side length of a grid cell, relative to the height of the figure's legs and trunk.
DETAILS = {"high": 0.0085, "low": 0.0165}
FIGURES = ("body", "low", "sticks", "none")
_ARMS_DOWN = np.radians(42.0)  # from the T-pose; the middle of the shoulders' range of motion
_LEGS_APART = np.radians(7.0)
_THINNEST = 0.7  # in cells; thinner parts would fall through the grid
_WAIST = 0.2  # position of the widest point, as a fraction of the bone
_SLIMNESS = 0.11  # half width divided by length
_THINNEST_STICK, _THICKEST_STICK = 0.008, 0.045  # half widths in meters
_SHORTEST = 1e-4  # meters; shorter bones are not drawn


def has_body(skeleton: Skeleton) -> bool:
    """Return whether a skeleton has the roles required for a body: hips, legs and arms."""
    return all(role in skeleton.roles for role in REQUIRED)


def body_mesh(
    skeleton: Skeleton, *, detail: str = "high", example: Motion | None = None
) -> SkinnedMesh:
    """Return the neutral body for a skeleton; repeated calls return the same object.

    Parameters
    ----------
    skeleton : Skeleton
        Skeleton that has the roles for hips, legs and arms.
    detail : {"high", "low"}
        About 14,000 vertices (high) or 3,000 (low).
    example : Motion, optional
        A motion on the skeleton. It is required if all bones lie along one axis, as in LAFAN1,
        because such a rest pose does not show how bones are twisted and how feet are oriented.

    Raises
    ------
    InvalidInput
        If roles are missing, or if the detail is unknown.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> body = body_mesh(walk.skeleton, detail="low")
    >>> body.posed(walk, 10).shape == body.vertices.shape
    True
    """
    if detail not in DETAILS:
        raise InvalidInput(f"detail must be one of {', '.join(DETAILS)}; got {detail!r}")
    missing = [role for role in REQUIRED if role not in skeleton.roles]
    if missing:
        raise InvalidInput(
            f"a body requires the roles {', '.join(missing)}, which the skeleton lacks"
        )
    return _cached(_Wanted(skeleton, detail, example))


class _Wanted:
    """Input for `body_mesh`, used as a cache key; equality considers only skeleton and detail."""

    def __init__(self, skeleton: Skeleton, detail: str, example: Motion | None) -> None:
        self.skeleton, self.detail, self.example = skeleton, detail, example
        self.key = (skeleton.key, detail)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Wanted) and other.key == self.key


@lru_cache(maxsize=32)
def _cached(wanted: _Wanted) -> SkinnedMesh:
    skeleton = wanted.skeleton
    bind = bind_pose(skeleton, _apart(skeleton, t_pose(skeleton, wanted.example)))
    cell = DETAILS[wanted.detail] * float(np.ptp(bind.positions[:, 1]))
    parts = body_parts(skeleton, bind, thinnest=_THINNEST * cell)
    corners = np.stack([part.bounds for part in parts])
    bounds = np.stack([corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)])
    vertices, triangles = surface_mesh(
        lambda points, reach: surface_distances(parts, points, reach=reach), bounds, cell
    )
    vertices = onto_surface(parts, vertices, farthest=0.5 * cell)
    normals = vertex_normals(vertices, triangles)
    joints, weights = skin_weights(skeleton, bind, parts, vertices, triangles)
    return SkinnedMesh(
        vertices.astype(np.float32),
        normals,
        triangles.astype(np.uint32),
        joints,
        weights,
        bind.matrices(),
    )


def figure_mesh(
    skeleton: Skeleton, *, kind: str = "body", example: Motion | None = None
) -> SkinnedMesh | None:
    """Return the figure for a skeleton: the neutral body, sticks for the bones, or None.

    Parameters
    ----------
    skeleton : Skeleton
    kind : {"body", "low", "sticks", "none"}
        ``"low"`` is the body with few triangles. A skeleton without the roles that a body requires
        gets sticks.
    example : Motion, optional
        See `body_mesh`.
    """
    if kind not in FIGURES:
        raise InvalidInput(f"mesh must be one of {', '.join(FIGURES)}; got {kind!r}")
    if kind == "none":
        return None
    if kind == "sticks" or not has_body(skeleton):
        return stick_mesh(skeleton)
    return body_mesh(skeleton, detail="low" if kind == "low" else "high", example=example)


def t_pose(skeleton: Skeleton, example: Motion | None = None) -> Array:
    """Return local rotations (J, 4) of a T-pose that faces +Z; see `body_mesh`."""
    pose: NeutralPose = neutral_pose(skeleton)
    if pose.unknown and example is not None and len(example):
        pose = observed_pose(example, pose, None)
    rest = global_rest_rotations(skeleton)
    turned = {}
    for role, name in reversed(skeleton.roles.items()):
        if name in skeleton.names and role in pose.turns:
            joint = skeleton.names.index(name)
            turned[joint] = rot.multiply(pose.turns[role], rest[joint])
    local = skeleton.rest_rotations.copy()
    world = np.empty_like(rest)
    for joint, parent in enumerate(skeleton.parents):
        above = rot.IDENTITY if parent < 0 else world[parent]
        world[joint] = turned.get(joint, rot.multiply(above, local[joint]))
        local[joint] = rot.multiply(rot.inverse(above), world[joint])
    return local


def _apart(skeleton: Skeleton, local: Array) -> Array:
    """Return a pose with arms lowered and legs apart, so that body parts do not touch."""
    from motionloom.motion.kinematics.forward import global_rotations

    for role, angle in (("shoulder", _ARMS_DOWN), ("hip", -_LEGS_APART)):
        for side, sign in (("left", -1.0), ("right", 1.0)):
            joint = skeleton.point(f"{side}_{role}")
            world = global_rotations(local[None], skeleton.parents)[0].astype(np.float64)
            turn = rot.from_axis_angle(np.array([0.0, 0.0, 1.0]), sign * angle)
            changed = {joint: rot.multiply(turn, world[joint])[None]}
            local = with_global_rotations(local[None], skeleton, changed)[0]
    return local


def stick_mesh(skeleton: Skeleton) -> SkinnedMesh:
    """Return the bones as slim, flat-shaded octahedra in the rest pose, each bound to its joint.

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
    body = {root, *tree.below(root)}  # joints above the hips get no stick
    bones = [
        (points[parent], points[point], int(parent))
        for point, parent in enumerate(parents)
        if parent in body and np.linalg.norm(points[point] - points[parent]) > _SHORTEST
    ]
    if not bones:  # a single joint is also drawn
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
    """Return eight triangles (8, 3, 3) from start to end, counterclockwise seen from outside."""
    bone = end - start
    length = float(np.linalg.norm(bone))
    width = min(max(_SLIMNESS * length, _THINNEST_STICK), _THICKEST_STICK)
    turn = rot.between([0.0, 1.0, 0.0], bone)
    across = width * rot.rotate(turn, np.array([[1, 0, 0], [0, 0, -1], [-1, 0, 0], [0, 0, 1.0]]))
    ring = start + _WAIST * bone + across
    following = np.roll(ring, -1, axis=0)
    upper = np.stack([ring, following, np.broadcast_to(end, (4, 3))], axis=1)
    lower = np.stack([following, ring, np.broadcast_to(start, (4, 3))], axis=1)
    return np.concatenate([upper, lower])
