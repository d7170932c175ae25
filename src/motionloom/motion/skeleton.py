"""The `Skeleton` type: a tree of joints with offsets, end sites, a rest pose and joint roles.

Parents are numbered before their children. End sites (the tips a BVH file calls ``End Site``) have
a position but no rotation. *Points* are all joints followed by all end sites.

A `BodyTree` stores the tree as plain lists, because it is queried many thousands of times and lists
are faster than arrays of 31 numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput, RoleError
from motionloom.motion.rotations import quaternions as rot

_SAME_REST = np.cos(
    0.5 * np.radians(0.1)
)  # of half an angle: rest poses that differ by at most 0.1 degrees are equal
_KEPT = 64  # skeletons for which `once_per_skeleton` keeps a result
_COINCIDENT = 1e-3  # of the longest reach of the skeleton: joints closer than this coincide


Result = TypeVar("Result")


class FrozenArrays:
    """Base class of immutable types whose arrays stay read-only after unpickling."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(state)


@dataclass(frozen=True, eq=False, repr=False)
class Skeleton(FrozenArrays):
    """An immutable skeleton: joint names, parents and offsets, and end sites.

    Parameters
    ----------
    names : sequence of str, length J
        Unique joint names.
    parents : array_like of int, shape (J,)
        Index of each joint's parent, which must come before the joint; -1 for the only root.
    offsets : array_like, shape (J, 3)
        Position of each joint in its parent's frame, in meters.
    end_names, end_parents, end_offsets : optional, length E, (E,), (E, 3)
        Names, parent joints and offsets of the end sites.
    rest : array_like, shape (J, 4), optional
        Local rotations ``wxyz`` of the rest pose. Default: identity.
    role_map : mapping, optional
        Roles given by the user, as a map from role to point name. They override the roles found by
        name; None or an empty name removes a role.

    Examples
    --------
    >>> arm = Skeleton(["shoulder", "elbow"], [-1, 0], [[0, 0, 0], [0.3, 0, 0]],
    ...                end_names=["fist"], end_parents=[1], end_offsets=[[0.25, 0, 0]])
    >>> len(arm), arm.point_names
    (2, ('shoulder', 'elbow', 'fist'))
    """

    names: tuple[str, ...]
    parents: NDArray[Any]
    offsets: NDArray[Any]
    end_names: tuple[str, ...] = ()
    end_parents: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.int32))
    end_offsets: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 3)))
    rest: NDArray[Any] | None = None
    role_map: Mapping[str, str | None] | None = None

    def __post_init__(self) -> None:
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        put("names", tuple(str(name) for name in self.names))
        put("end_names", tuple(str(name) for name in self.end_names))
        joints, ends = len(self.names), len(self.end_names)
        put("parents", _array("parents", self.parents, (joints,), np.int32))
        put("offsets", _array("offsets", self.offsets, (joints, 3), np.float64))
        put("end_parents", _array("end_parents", self.end_parents, (ends,), np.int32))
        put("end_offsets", _array("end_offsets", self.end_offsets, (ends, 3), np.float64))
        if self.rest is not None:
            put("rest", _array("rest", self.rest, (joints, 4), np.float64))
        if joints == 0:
            raise InvalidInput("names must contain at least one joint; got none")
        _check_unique(self.names + self.end_names)
        if self.parents[0] != -1 or np.any(self.parents[1:] < 0):
            raise InvalidInput("parents must be -1 for joint 0 (the root) and for no other joint")
        late = np.flatnonzero(self.parents >= np.arange(joints))
        if late.size:
            raise InvalidInput(
                f"a parent must come before its child; joint {late[0]} "
                f"({self.names[late[0]]!r}) has parent {self.parents[late[0]]}"
            )
        if ends and not np.all((self.end_parents >= 0) & (self.end_parents < joints)):
            raise InvalidInput(f"end_parents must lie in 0..{joints - 1}; got {self.end_parents}")
        if self.role_map is not None:
            put("role_map", dict(self.role_map))

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Skeleton({len(self)} joints, {len(self.end_names)} end sites)"

    @property
    def rest_rotations(self) -> NDArray[np.float64]:
        """Local rotations ``wxyz`` of the rest pose, shape (J, 4); identity by default.

        Examples
        --------
        >>> Skeleton(["hips"], [-1], [[0, 0, 0]]).rest_rotations
        array([[1., 0., 0., 0.]])
        """
        return self.rest if self.rest is not None else np.tile(rot.IDENTITY, (len(self), 1))

    @property
    def point_names(self) -> tuple[str, ...]:
        """Names of all joints, followed by those of all end sites, length J + E."""
        return self.names + self.end_names

    @property
    def point_parents(self) -> NDArray[np.int32]:
        """Parent joint of every point, shape (J + E,)."""
        return np.concatenate([self.parents, self.end_parents])

    @property
    def point_offsets(self) -> NDArray[np.float64]:
        """Offset of every point in its parent's frame, shape (J + E, 3)."""
        return np.concatenate([self.offsets, self.end_offsets])

    @cached_property
    def key(self) -> str:
        """Digest of names, tree, offsets, rest pose and role map; equal for equal skeletons."""
        import hashlib

        digest = hashlib.blake2b(digest_size=12)
        given = sorted((self.role_map or {}).items())
        digest.update(repr((self.names, self.end_names, given)).encode())
        for array in (
            self.parents,
            self.offsets,
            self.end_parents,
            self.end_offsets,
            self.rest,
        ):
            digest.update(b"-" if array is None else array.tobytes())
        return digest.hexdigest()

    def is_same_body(self, other: Skeleton, *, tolerance: float = 0.001) -> bool:
        """Return whether two skeletons represent the same body, apart from rounding in their files.

        Names, tree and role maps must be equal, and rest poses must agree within a tenth of a
        degree. The differences of all bones from the root to any point must add up to at most
        `tolerance` meters, so that no point is farther than this from its counterpart in any pose.

        Examples
        --------
        >>> import motionloom as ml
        >>> skeleton = ml.demo.clip("walk").skeleton
        >>> skeleton.is_same_body(skeleton.scaled(1.0001)), skeleton.is_same_body(
        ...     skeleton.scaled(1.01))
        (True, False)
        """
        if self is other or self.key == other.key:
            return True
        if self.point_names != other.point_names or dict(self.role_map or {}) != dict(
            other.role_map or {}
        ):
            return False
        parents = self.point_parents
        if not np.array_equal(parents, other.point_parents):
            return False
        apart = np.linalg.norm(self.point_offsets - other.point_offsets, axis=1)
        apart[0] = 0.0  # the position of the root is not a bone
        for point in range(1, len(parents)):
            apart[point] += apart[parents[point]]
        if apart.max() > tolerance:
            return False
        cosines = np.abs(np.sum(self.rest_rotations * other.rest_rotations, axis=1))
        return bool(cosines.min() >= _SAME_REST)

    @property
    def roles(self) -> dict[str, str]:
        """Mapping from role to point name, for every role this skeleton has.

        See `motionloom.motion.roles.assignment`.
        """
        return self.role_assignment.roles

    @cached_property
    def role_assignment(self):
        """Roles with their naming scheme, confidence and missing roles (`RoleAssignment`)."""
        from motionloom.motion.roles.assignment import assign_roles

        return assign_roles(self)

    def point(self, role: str) -> int:
        """Return the index of the point (joint or end site) with this role.

        Raises
        ------
        RoleError
            If no point has this role. The message lists the joints of the skeleton.

        Examples
        --------
        >>> import motionloom as ml
        >>> skeleton = ml.demo.clip("walk").skeleton
        >>> skeleton.names[skeleton.point("left_knee")]
        'LeftLeg'
        """
        name = self.roles.get(role)
        if name is None:
            self.role_assignment.require([role])
        return self.point_names.index(name or "")

    def points(self, roles: Sequence[str]) -> NDArray[np.intp]:
        """Return the indices of the points with the given roles, shape (len(roles),).

        Examples
        --------
        >>> import motionloom as ml
        >>> ml.demo.clip("walk").skeleton.points(["hips", "head"]).shape
        (2,)
        """
        self.role_assignment.require(roles)
        names = self.point_names
        return np.array([names.index(self.roles[role]) for role in roles], dtype=np.intp)

    def with_roles(self, role_map: Mapping[str, str | None]) -> Skeleton:
        """Return the skeleton with user-defined roles, which override roles found by name.

        Raises
        ------
        RoleError
            If the mapping names a role or a point that does not exist.

        Examples
        --------
        >>> ape = Skeleton(["Becken", "Schwanz"], [-1, 0], [[0, 0, 0], [0, 0, -0.3]])
        >>> ape.with_roles({"hips": "Becken"}).roles
        {'hips': 'Becken'}
        """
        given = replace(self, role_map=role_map)
        _ = given.role_assignment  # report a wrong mapping here and not on first use
        return given

    def scaled(self, factor: float) -> Skeleton:
        """Return the skeleton with all offsets multiplied by `factor`.

        Examples
        --------
        >>> import motionloom as ml, numpy as np
        >>> skeleton = ml.demo.clip("walk").skeleton
        >>> bool(np.allclose(skeleton.scaled(2.0).offsets, 2 * skeleton.offsets))
        True
        """
        scaled = replace(self, offsets=self.offsets * factor, end_offsets=self.end_offsets * factor)
        if factor > 0.0 and "role_assignment" in self.__dict__:
            scaled.__dict__["role_assignment"] = self.role_assignment  # it compares lengths only
        return scaled

    def joint(self, name: str) -> int:
        """Return the index of the joint named `name`.

        Examples
        --------
        >>> import motionloom as ml
        >>> ml.demo.clip("walk").skeleton.joint("Hips")
        0
        """
        try:
            return self.names.index(name)
        except ValueError:
            names = ", ".join(self.names)
            raise RoleError(f"no joint is called {name!r}; the joints are: {names}") from None


def _array(name: str, value: ArrayLike, shape: tuple[int, ...], dtype) -> NDArray:
    array = np.array(value, dtype=dtype)
    if not array.size and 0 in shape:
        array = array.reshape(shape)  # an empty list has no width
    if array.shape != shape:
        raise InvalidInput(f"{name} must have shape {shape}; got {array.shape}")
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise InvalidInput(f"{name} must contain only finite numbers")
    array.setflags(write=False)
    return array


def _check_unique(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidInput(f"point names must be unique; {name!r} occurs twice")
        seen.add(name)


class BodyTree:
    """Points (joints, then end sites) with parents, children and distance from the root."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton
        self.joints = len(skeleton)
        self.parents: list[int] = skeleton.point_parents.tolist()
        self.children: list[list[int]] = [[] for _ in self.parents]
        offsets = skeleton.point_offsets
        lengths = np.sqrt(np.einsum("pc,pc->p", offsets, offsets)).tolist()
        # The offset of the root is a position in the world, not a bone.
        self.reach: list[float] = [0.0] * len(self.parents)
        for point, parent in enumerate(self.parents):
            if parent >= 0:
                self.children[parent].append(point)
                self.reach[point] = self.reach[parent] + lengths[point]
        self.near = _COINCIDENT * max(self.reach)

    def path_up(self, point: int) -> list[int]:
        """Return `point` and its ancestors, ending at the root."""
        path = []
        while point >= 0:
            path.append(point)
            point = self.parents[point]
        return path

    def is_above(self, ancestor: int, point: int) -> bool:
        """Return whether `ancestor` is `point` or one of its ancestors."""
        while point > ancestor and point >= 0:
            point = self.parents[point]
        return point == ancestor

    def meeting(self, a: int, b: int) -> int:
        """Return the deepest common ancestor of two points."""
        above = set(self.path_up(a))
        while b not in above:
            b = self.parents[b]
        return b

    def between(self, top: int, bottom: int) -> list[int]:
        """Return the points on the path from `top` (exclusive) down to `bottom` (inclusive)."""
        meet = self.meeting(top, bottom)
        path = []
        while bottom != meet:
            path.append(bottom)
            bottom = self.parents[bottom]
        return path[::-1]

    def length(self, a: int, b: int) -> float:
        """Return the length along the bones from one point to another."""
        meet = self.meeting(a, b)
        return self.reach[a] + self.reach[b] - 2.0 * self.reach[meet]

    def apart(self, a: int, b: int) -> bool:
        """Return whether two points on a chain are at different positions."""
        return self.length(a, b) > self.near

    def below(self, point: int) -> list[int]:
        """Return all descendants of `point`, nearest generation first."""
        points = list(self.children[point])
        for child in points:
            points.extend(self.children[child])
        return points

    def rest_positions(self) -> NDArray[np.float64]:
        """Positions (P, 3) of all points in the rest pose, with the root at the origin."""
        skeleton = self.skeleton
        offsets = skeleton.point_offsets
        places = np.zeros_like(offsets)
        turns = None if skeleton.rest is None else skeleton.rest.copy()
        for point, parent in enumerate(self.parents):
            if parent < 0:
                continue
            bone = offsets[point] if turns is None else rot.rotate(turns[parent], offsets[point])
            places[point] = places[parent] + bone
            if turns is not None and point < self.joints:
                turns[point] = rot.multiply(turns[parent], turns[point])
        return places

    def is_end_site(self, point: int) -> bool:
        """Return whether the point is an end site and not a joint."""
        return point >= self.joints


class _Content:
    """A skeleton that is equal to every skeleton with the same content."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton

    def __hash__(self) -> int:
        return hash(self.skeleton.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self.skeleton.key == other.skeleton.key


def once_per_skeleton(function: Callable[[Skeleton], Result]) -> Callable[[Skeleton], Result]:
    """Decorate a function so that its results for the latest skeletons are kept.

    The takes of a library share a few skeletons. Skeletons with the same content (`Skeleton.key`)
    get the same object, so callers must not modify it.

    Examples
    --------
    >>> @once_per_skeleton
    ... def joints(skeleton):
    ...     return list(skeleton.names)
    >>> import motionloom as ml
    >>> joints(ml.demo.clip("walk").skeleton) is joints(ml.demo.clip("walk_left").skeleton)
    True
    """
    kept = lru_cache(maxsize=_KEPT)(lambda content: function(content.skeleton))

    @wraps(function)
    def result(skeleton: Skeleton) -> Result:
        return kept(_Content(skeleton))

    return result
