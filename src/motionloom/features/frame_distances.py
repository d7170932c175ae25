"""Frame distances: their protocol and registry.

=========== ============================================================== ==========
``pc1``     point cloud of one pose (Kovar, Gleicher & Pighin 2002)          meters
``pc11``    point cloud of 11 poses, a third of a second                     meters
``quat``    joint angles as quaternions                                      radians
``euler``   joint angles as Euler angles                                     radians
``lee``     transition cost of Lee et al. (2002), angles and velocities      rad^2
``wb``      the same with the weights of Wang & Bodenheimer (2003)           rad^2
``jrd``     joint relative distance of Tang et al. (2008)                    weighted m
=========== ============================================================== ==========

Every feature set (see `motionloom.features.feature_sets`) is also a frame distance. To add a frame
distance, write a class with a name, a unit and two methods, and register it:

>>> import numpy as np
>>> from motionloom.features import register_distance, distance_matrix, DISTANCES
>>> class HipHeight:
...     name, unit = "hip-height", "m"
...     def prepare(self, motion):
...         return motion.role_positions(["hips"])[:, 0, 1:2]
...     def matrix(self, a, b):
...         return np.abs(a - b.T)
>>> _ = register_distance(HipHeight())
>>> import motionloom as ml
>>> walk = ml.demo.clip("walk")
>>> distance_matrix(walk, walk, "hip-height").shape == (len(walk), len(walk))
True
>>> del DISTANCES["hip-height"]
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.features.feature_sets import FEATURES, not_registered
from motionloom.features.joint_angles import (
    LEE_WEIGHTS,
    WANG_WEIGHTS,
    EulerDistance,
    QuaternionDistance,
    TransitionCost,
)
from motionloom.features.joint_relative import JointRelativeDistance
from motionloom.features.point_cloud import PointCloud
from motionloom.motion import Motion


@runtime_checkable
class FrameDistance(Protocol):
    """Protocol for a distance between the frames of two motions.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.features import distance_matrix
    >>> walk = ml.demo.clip("walk")
    >>> distance_matrix(walk[:5], walk[:8], "pc11").shape
    (5, 8)
    """

    @property
    def name(self) -> str:
        """Name of the distance."""

    @property
    def unit(self) -> str:
        """Unit of the distances."""

    def prepare(self, motion: Motion) -> NDArray[Any]:
        """Convert a motion to the input of `matrix`: one row per frame, shape (T, D)."""

    def matrix(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
        """Return the distances (M, N) between all frames of two prepared motions (M, D), (N, D)."""


Distance = TypeVar("Distance", bound=FrameDistance)

DISTANCES: dict[str, FrameDistance] = {
    distance.name: distance
    for distance in (
        PointCloud("pc1"),
        PointCloud("pc11", samples=11),
        QuaternionDistance(),
        EulerDistance(),
        TransitionCost("lee", LEE_WEIGHTS),
        TransitionCost("wb", WANG_WEIGHTS),
        JointRelativeDistance(),
    )
}
"""Frame distances by name; `FEATURES` contains the feature sets."""


def register_distance(distance: Distance, *, replace: bool = False) -> Distance:
    """Register a frame distance, so that it can be used by name everywhere.

    Parameters
    ----------
    distance : FrameDistance
        The distance to register. It replaces a distance with the same class and name.
    replace : bool
        Also replace a distance of another class with the same name.

    Examples
    --------
    >>> from motionloom.features import frame_distance, register_distance
    >>> cloud = frame_distance("pc11")
    >>> register_distance(cloud) is cloud  # one per class and name
    True
    """
    missing = [
        part for part in ("name", "unit", "prepare", "matrix") if not hasattr(distance, part)
    ]
    if missing:
        raise InvalidInput(
            f"a frame distance must have name, unit, prepare and matrix; {distance!r} has no "
            f"{missing[0]}"
        )
    registered = DISTANCES.get(distance.name)
    if (
        distance.name in FEATURES or (registered and not _same_kind(registered, distance))
    ) and not replace:
        raise InvalidInput(
            f"there is already a different distance called {distance.name!r}; choose another name, "
            f"or set replace=True"
        )
    DISTANCES[distance.name] = distance
    return distance


def _same_kind(a: FrameDistance, b: FrameDistance) -> bool:
    """Return whether two objects have the same class, possibly redefined in a notebook."""
    kinds = [(type(x).__module__, type(x).__qualname__) for x in (a, b)]
    return kinds[0] == kinds[1]


def frame_distance(distance: str | FrameDistance) -> FrameDistance:
    """Return the frame distance or feature set called `distance`.

    Raises
    ------
    InvalidInput
        If no distance has this name. The message lists the available distances.

    Examples
    --------
    >>> frame_distance("pc11").unit, frame_distance("e15").unit
    ('m', 'm')
    """
    if not isinstance(distance, str):
        if not isinstance(distance, FrameDistance):
            raise InvalidInput(
                f"distance must be a name or have name, unit, prepare and matrix; got {distance!r}"
            )
        return distance
    distances: dict[str, Any] = {**FEATURES, **DISTANCES}
    if distance not in distances:
        raise not_registered("distance", distance, distances)
    return distances[distance]


def distance_key(distance: FrameDistance) -> str:
    """Return a string that identifies a frame distance and its parameters in artifact keys.

    The keys of stored webs and graphs contain this string. If it changes, they are rebuilt.

    Examples
    --------
    >>> distance_key(frame_distance("quat"))[:40]
    "QuaternionDistance(name='quat', joints=("
    """
    if not is_dataclass(distance):
        return distance.name
    values = (
        f"{each.name}={getattr(distance, each.name)!r}" for each in fields(distance) if each.repr
    )
    return f"{type(distance).__name__}({', '.join(values)})"


def distance_matrix(
    a: Motion, b: Motion, distance: str | FrameDistance = "pc11"
) -> NDArray[np.float64]:
    """Return the distance between every frame of `a` and every frame of `b`.

    Parameters
    ----------
    a, b : Motion
        Motions with M and N frames, and with any rates and skeletons.
    distance : str or FrameDistance
        A name in `DISTANCES` or `FEATURES`, or any `FrameDistance`.

    Returns
    -------
    matrix : ndarray, shape (M, N)
        Distances in the unit of the frame distance.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> matrix = distance_matrix(walk, walk.transform(yaw=1.0), "pc11")
    >>> bool(matrix.diagonal().max() < 1e-5)
    True
    """
    chosen = frame_distance(distance)
    return chosen.matrix(chosen.prepare(a), chosen.prepare(b))
