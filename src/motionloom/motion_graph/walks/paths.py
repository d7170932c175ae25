"""Paths on the floor: sample them, round their corners, and measure distances to them.

If all takes walk straight ahead, the walker cannot turn a sharp corner and would make a lap to get
back onto the path. To prevent this, corners are rounded to the smallest radius that can be walked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.kinematics import body
from motionloom.motion.rotations.planar_transform import floor_complex

STEP = 0.05  # meters between the points of a path
LONGEST = 20_000.0  # maximum length of a path in meters, about four hours of walking

Floor = NDArray[np.complex128]

_TOLERANCE = 0.05  # relative tolerance of the radius of a rounded corner
_ROUNDS = 20_000  # maximum iterations for rounding corners; a radius of 3 m takes 12,000


def hips_path(motion: Motion) -> Floor:
    """Return the floor positions (T,) of the hips, or of the root if the skeleton has no hips."""
    return floor_complex(body.hips_path(motion))


def sampled_path(path: Any) -> Floor:
    """Resample floor positions x, z (n, 2) in meters to points ``z + ix`` every `STEP` meters.

    Raises
    ------
    InvalidInput
        If the path does not have shape (n, 2), is not finite, is too short, or is too long.
    """
    points = as_numbers(path)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 2:
        raise InvalidInput(
            f"path must have shape (n, 2), at least two floor positions x, z; got {points.shape}"
        )
    if not np.isfinite(points).all():
        raise InvalidInput("path must contain only finite numbers")
    floor = points[:, 1] + 1j * points[:, 0]
    with np.errstate(over="ignore", invalid="ignore"):  # rejected below: the path is too long
        length = float(np.abs(np.diff(floor)).sum())
    if length < 2 * STEP:
        raise InvalidInput(f"path must be longer than {2 * STEP} m; got {length:.3f} m")
    if not length <= LONGEST:
        raise InvalidInput(f"path must be shorter than {LONGEST:g} m; got {length:.3g} m")
    return _resampled(floor)


def as_numbers(given: Any) -> NDArray[np.float64]:
    """Convert `given` to an array, or return an empty array if it does not consist of numbers."""
    try:
        return np.asarray(given, np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


def _resampled(floor: Floor, step: float = STEP) -> Floor:
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(floor)))])
    at = np.linspace(0.0, along[-1], int(np.ceil(along[-1] / step)) + 1)
    return np.interp(at, along, floor.real) + 1j * np.interp(at, along, floor.imag)


def rounded(path: Floor, radius: float) -> Floor:
    """Round a path so that no bend is tighter than `radius` in meters; both ends are kept.

    Points at tighter bends are moved toward their neighbors until no tight bend remains. A corner
    becomes an arc with this radius, and the rest of the path does not change.

    Examples
    --------
    >>> corner = sampled_path([(0.0, 0.0), (0.0, 4.0), (4.0, 4.0)])
    >>> cut = np.abs(rounded(corner, 1.0) - (4.0 + 0.0j)).min()
    >>> round(float(cut), 1)  # an arc of 1 m cuts the corner by 0.41 m
    0.4
    """
    points = path.copy()
    for _ in range(_ROUNDS):
        steps = np.abs(points[1:] - points[:-1])
        spacing = np.maximum(0.5 * (steps[1:] + steps[:-1]), 1e-6)
        pull = points[:-2] - 2.0 * points[1:-1] + points[2:]
        curvature = np.abs(pull) / spacing**2
        if curvature.max(initial=0.0) <= (1.0 + _TOLERANCE) / radius:
            break
        excess = 1.0 - 1.0 / (radius * np.maximum(curvature, 1e-9))
        points[1:-1] += 0.45 * pull * np.minimum(np.maximum(excess, 0.0), 1.0)
    return _resampled(points)


def distances(points: Floor, path: Floor) -> NDArray[np.float64]:
    """Return the distance (T,) from each point (T,) to the nearest point of a path, in meters.

    Examples
    --------
    >>> path = sampled_path([(0.0, 0.0), (0.0, 4.0)])
    >>> float(distances(path[:1] + 0.1j, path)[0])
    0.1
    """
    from scipy.spatial import cKDTree

    fine = _resampled(path, 0.2 * STEP)
    here, there = (np.column_stack([floor.real, floor.imag]) for floor in (points, fine))
    return np.asarray(cKDTree(there).query(here)[0])
