"""The `Robot` type: the kinematic tree, joint limits and shapes of a robot model.

A robot is a tree of *nodes*. A node has a frame in its parent's frame and, if it is driven, a hinge
about an axis through its origin. Bodies with several hinges, or with a hinge away from their
origin, are several nodes. Node 0 is the floating base. Coordinates are motionloom's (meters, y up,
forward along z); robot files, whose z axis is up and whose x axis is forward, are converted.

The skeleton of a robot's motions has one joint per node, so a take of a robot is a motion like any
other. Each rotation is the rest rotation times a rotation about the axis of the hinge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import FrozenArrays, Skeleton

if TYPE_CHECKING:
    from motionloom.motion import Motion

Array = NDArray[np.float64]

DEFAULT_VELOCITY = 20.0  # rad/s, for models that state no velocity limit
_OFF_HINGE = np.radians(0.2)  # rotations farther than this from their hinge are not the robot's


def to_y_up(vectors: ArrayLike) -> Array:
    """Turn vectors (..., 3) of a robot file (x forward, z up) into motionloom's coordinates.

    Examples
    --------
    >>> to_y_up([1.0, 0.0, 0.0])
    array([0., 0., 1.])
    """
    return np.asarray(vectors, np.float64)[..., [1, 2, 0]]


def to_z_up(vectors: ArrayLike) -> Array:
    """Turn vectors (..., 3) in motionloom's coordinates into those of robot files."""
    return np.asarray(vectors, np.float64)[..., [2, 0, 1]]


def quaternions_to_y_up(q: ArrayLike) -> Array:
    """Turn quaternions ``wxyz`` of a robot file into motionloom's coordinates."""
    return np.asarray(q, np.float64)[..., [0, 2, 3, 1]]


def quaternions_to_z_up(q: ArrayLike) -> Array:
    """Turn quaternions ``wxyz`` in motionloom's coordinates into those of robot files."""
    return np.asarray(q, np.float64)[..., [0, 3, 1, 2]]


@dataclass(frozen=True, eq=False)
class Shape:
    """A part of a robot's surface, in the frame of its node.

    Attributes
    ----------
    node : int
    kind : {"sphere", "capsule", "cylinder", "box", "mesh"}
        Capsules and cylinders lie along the y axis of the shape, which is z in robot files.
    size : tuple of float
        Radius; radius and half length; or half extents.
    position, rotation : ndarray, shapes (3,), (4,)
    mesh : callable or None
        Function that reads the vertices (V, 3) of a mesh in the frame of the shape and, if its
        argument is True, the triangles (F, 3). Meshes are read on first use.
    visual, collides : bool
        Whether the shape is shown, and whether it collides.
    color : tuple of 3 floats
    """

    node: int
    kind: str
    size: tuple[float, ...]
    position: Array
    rotation: Array
    mesh: Callable[[bool], tuple[Array, NDArray[np.uint32]]] | None = None
    visual: bool = True
    collides: bool = True
    color: tuple[float, float, float] = (0.62, 0.66, 0.72)

    @cached_property
    def triangles(self) -> tuple[Array, NDArray[np.uint32]]:
        """Vertices (V, 3) and triangles (F, 3) of a mesh; empty for other shapes."""
        if self.mesh is None:
            return np.zeros((0, 3)), np.zeros((0, 3), np.uint32)
        return self.mesh(True)

    @cached_property
    def corners(self) -> Array:
        """Vertices of a mesh (M, 3) that lie on its hull, in the frame of the shape."""
        return np.zeros((0, 3)) if self.mesh is None else extreme_points(self.mesh(False)[0])

    def placed(self, points: ArrayLike) -> Array:
        """Return points (N, 3) of the shape in the frame of its node."""
        return rot.rotate(self.rotation, np.asarray(points, np.float64)) + self.position


@dataclass(frozen=True, eq=False, repr=False)
class Robot(FrozenArrays):
    """A humanoid robot, read by `motionloom.formats.robot.load_robot`.

    Attributes
    ----------
    name, path : str
    names : tuple of str, length N
        Names of the nodes. The first node of a body has the name of the body.
    parents, offsets, rest, axes : ndarray, shapes (N,), (N, 3), (N, 4), (N, 3)
        Parent, place and rotation of each node in its parent's frame, and the axis of its hinge in
        its own frame. The axis is zero if the node does not move.
    joint_names : tuple of str, length D
        Names of the hinges in the order of the file, which is the order of the columns of robot
        files.
    joint_nodes, lower, upper, velocity : ndarray, shape (D,)
        Node of each hinge, its limits in radians, and its maximum speed in rad/s.
    bodies : ndarray, shape (B,)
        Node of each body of the file, in the order of the file.
    shapes : tuple of Shape
    role_map : mapping of str to str
        Roles given by the user (see `motionloom.motion.roles.assignment`).
    warnings : tuple of str
        Parts of the file that were missing or ignored.
    """

    name: str
    path: str
    names: tuple[str, ...]
    parents: NDArray[np.int32]
    offsets: Array
    rest: Array
    axes: Array
    joint_names: tuple[str, ...]
    joint_nodes: NDArray[np.int32]
    lower: Array
    upper: Array
    velocity: Array
    bodies: NDArray[np.int32]
    shapes: tuple[Shape, ...] = ()
    role_map: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Robot({self.name!r}, {len(self.joint_names)} hinges, {len(self.bodies)} bodies)"

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, in the order of the file."""
        return tuple(self.names[node] for node in self.bodies)

    @cached_property
    def node_hinges(self) -> NDArray[np.int32]:
        """Hinge of each node, or -1, shape (N,)."""
        hinges = np.full(len(self.names), -1, np.int32)
        hinges[self.joint_nodes] = np.arange(len(self.joint_nodes))
        return hinges

    @cached_property
    def anatomy(self):
        """Legs, arms, trunk and head of the robot (`Anatomy`)."""
        from motionloom.character.robot.anatomy import find_anatomy

        return find_anatomy(self)

    @cached_property
    def skeleton(self) -> Skeleton:
        """Skeleton of the robot's motions: one joint per node, and end sites of hands and feet."""
        anatomy = self.anatomy
        return Skeleton(
            self.names,
            self.parents,
            self.offsets,
            tuple(site.name for site in anatomy.sites),
            np.array([site.node for site in anatomy.sites]),
            np.array([site.offset for site in anatomy.sites]),
            self.rest,
            anatomy.roles,
        )

    def zero_frames(self, angles: Array | None = None) -> tuple[Array, Array]:
        """Return rotations (N, 4) and positions (N, 3) of all nodes with the base at the origin."""
        turns, places = np.zeros((len(self.names), 4)), np.zeros((len(self.names), 3))
        for node, parent in enumerate(self.parents):
            turn = self.rest[node]
            hinge = self.node_hinges[node]
            if angles is not None and hinge >= 0:
                turn = rot.multiply(turn, rot.from_axis_angle(self.axes[node], angles[hinge]))
            if parent < 0:
                turns[node] = rot.IDENTITY
                continue
            turns[node] = rot.multiply(turns[parent], turn)
            places[node] = places[parent] + rot.rotate(turns[parent], self.offsets[node])
        return turns, places

    def motion(self, root: ArrayLike, base: ArrayLike, angles: ArrayLike, fps: float) -> Motion:
        """Return the motion with these poses.

        Parameters
        ----------
        root, base, angles : array_like, shapes (T, 3), (T, 4), (T, D)
            Path and rotation ``wxyz`` of the floating base, and hinge angles in radians.
        fps : float
        """
        from motionloom.motion import Motion, Origin

        angles = np.asarray(angles, np.float64)
        local = np.tile(self.rest, (len(angles), 1, 1))
        local[:, 0] = base
        nodes = self.joint_nodes
        turns = rot.from_axis_angle(self.axes[nodes], angles)
        local[:, nodes] = rot.multiply(self.rest[nodes], turns)
        return Motion(
            self.skeleton,
            local,
            np.asarray(root, np.float64),
            fps,
            origin=Origin(format="robot", character=self.path, warnings=self.warnings),
        )

    def is_mine(self, motion: Motion) -> bool:
        """Return whether a motion is on this robot's skeleton and moves about its hinges only."""
        return motion.skeleton.names == self.names and self._off_hinge(motion) < _OFF_HINGE

    def poses(self, motion: Motion) -> tuple[Array, Array, Array]:
        """Return the path (T, 3), base rotations (T, 4) and angles (T, D) of the robot's motion.

        Angles are clipped to the limits of the hinges.

        Raises
        ------
        InvalidInput
            If joints of the motion do not rotate about the hinges of this robot.
        """
        if motion.skeleton.names != self.names:
            raise InvalidInput(
                f"the motion is not on the skeleton of {self.name}; retarget it to {self.path}"
            )
        if self._off_hinge(motion) > _OFF_HINGE:
            raise InvalidInput(
                f"joints of the motion turn about more than the hinges of {self.name}; "
                f"retarget it to {self.path}"
            )
        q = motion.rotations.astype(np.float64)
        nodes = self.joint_nodes
        turn = rot.multiply(rot.inverse(self.rest[nodes]), q[:, nodes])
        along = np.einsum("tdc,dc->td", turn[..., 1:], self.axes[nodes])
        angles = 2.0 * np.arctan2(along, turn[..., 0])
        middle = 0.5 * (self.lower + self.upper)
        middle = np.where(np.isfinite(middle), middle, 0.0)
        angles += 2.0 * np.pi * np.round((middle - angles) / (2.0 * np.pi))
        return (
            motion.root.astype(np.float64),
            q[:, 0],
            np.clip(angles, self.lower, self.upper),
        )

    def _off_hinge(self, motion: Motion) -> float:
        """Return the largest rotation, in radians, of any node that is not about its hinge."""
        q = motion.rotations.astype(np.float64)[:, 1:]
        turn = rot.multiply(rot.inverse(self.rest[1:]), q)
        along = np.einsum("tnc,nc->tn", turn[..., 1:], self.axes[1:])
        across = turn[..., 1:] - along[..., None] * self.axes[1:]
        return float(2.0 * np.linalg.norm(across, axis=-1).max(initial=0.0))


def rigid_points(shape: Shape) -> tuple[Array, float]:
    """Return points (N, 3) in the node's frame, and a radius, whose hull contains a shape."""
    size = shape.size
    if shape.kind == "sphere":
        return shape.placed(np.zeros((1, 3))), size[0]
    if shape.kind == "capsule":
        ends = np.array([[0.0, -size[1], 0.0], [0.0, size[1], 0.0]])
        return shape.placed(ends), size[0]
    if shape.kind == "cylinder":
        turn = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
        ring = np.stack([np.cos(turn) * size[0], np.zeros(12), np.sin(turn) * size[0]], axis=1)
        rise = np.array([0.0, size[1], 0.0])
        return shape.placed(np.concatenate([ring - rise, ring + rise])), 0.0
    if shape.kind == "box":
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return shape.placed(signs * np.array(size)), 0.0
    return shape.placed(shape.corners), 0.0


def extreme_points(points: Array) -> Array:
    """Return the points (M, 3) that lie farthest in 98 directions; their hull is nearly the same.

    Examples
    --------
    >>> extreme_points(np.array([[0.0, 0, 0], [1, 0, 0], [0.5, 0, 0]])).shape
    (2, 3)
    """
    if not len(points):
        return points
    grid = np.array(
        [
            [x, y, z]
            for x in range(-2, 3)
            for y in range(-2, 3)
            for z in range(-2, 3)
            if max(abs(x), abs(y), abs(z)) == 2
        ],
        np.float64,
    )
    rows = np.unique(np.argmax(points @ grid.T, axis=0))
    return points[rows]


def fixed_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return unique, non-empty names."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        name = name or "body"
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(result)
