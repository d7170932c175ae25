"""Signals: per-frame values of a motion, from which parameters are computed.

A parameter is a signal at one frame, a signal at an extreme frame (for example where a joint is
highest), or the minimum, maximum or mean of a signal over an interval; see
`motionloom.parametric.parameters`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.kinematics.body import center_of_mass as centers_of_mass
from motionloom.motion.kinematics.body import hips_path

Array = NDArray[np.float64]

_SLOW = 0.05  # m/s: slower paths have no clear direction, so their curvature is bounded


@dataclass(frozen=True)
class Signal:
    """Function of a motion with one row per frame.

    Attributes
    ----------
    text : str
        Name such as ``joint_speed(right_wrist)`` or ``center_of_mass``.
    axes : tuple of str
        Names of the m columns.
    rows : callable
        ``rows(motion)`` has shape (T, m).
    """

    text: str
    axes: tuple[str, ...]
    rows: Callable[[Motion], Array]


def joint_path(motion: Motion, joint: str) -> Array:
    """Return the world path (T, 3) of a role, joint or end site."""
    skeleton = motion.skeleton
    if joint in skeleton.roles:
        point = skeleton.point(joint)
    elif joint in skeleton.point_names:
        point = skeleton.point_names.index(joint)
    else:
        point = skeleton.point(joint)  # raises an error that lists the joints
    return motion.positions(end_sites=True)[:, point].astype(np.float64)


def joint_speeds(motion: Motion, joint: str) -> Array:
    """Return the speed of a joint in m/s, shape (T,), by central differences."""
    return np.linalg.norm(_derivative(joint_path(motion, joint), motion.fps), axis=1)


def angular_speeds(motion: Motion, joint: str) -> Array:
    """Return the angular speed (T,) of a joint relative to its parent, in rad/s.

    Examples
    --------
    >>> import motionloom as ml
    >>> kick = ml.demo.clip("kick_front_mid_right")
    >>> bool(angular_speeds(kick, "right_knee").max() > angular_speeds(kick, "left_knee").max())
    True
    """
    skeleton = motion.skeleton
    name = skeleton.roles.get(joint, joint)
    if name not in skeleton.names:
        if name not in skeleton.point_names:
            skeleton.point(joint)  # raises an error that lists the joints
        raise InvalidInput(f"{joint} is an end site, which does not rotate; name a joint instead")
    spins = motion.angular_velocities()[:, skeleton.names.index(name)]
    return np.linalg.norm(spins, axis=1)


def path_curvatures(motion: Motion, joint: str) -> Array:
    """Return the curvature (T,) of a joint's path, in 1/m.

    The curvature is ``|v x a| / |v|^3``, where the speed is taken as at least 5 cm/s.
    """
    velocity = _derivative(joint_path(motion, joint), motion.fps)
    acceleration = _derivative(velocity, motion.fps)
    speed = np.maximum(np.linalg.norm(velocity, axis=1), _SLOW)
    return np.linalg.norm(np.cross(velocity, acceleration), axis=1) / speed**3


def floor_steps(motion: Motion) -> Array:
    """Return the steps (T - 1, 2) of the hips on the floor, in meters.

    The root is used only if there are no hips, because the root stands still in some rigs.
    """
    return np.diff(hips_path(motion).astype(np.float64)[:, [0, 2]], axis=0)


def floor_curvature(motion: Motion) -> float:
    """Return the curvature of the body's path on the floor, in 1/m; positive to the left.

    This is the least-squares slope of the direction of travel against the distance traveled, which
    is hardly affected by the sway of the hips within a step. It is zero if the hips move less than
    5 cm.

    Examples
    --------
    >>> import motionloom as ml
    >>> left, straight = (ml.demo.clip(name) for name in ("walk_left", "walk"))
    >>> bool(floor_curvature(left) > abs(floor_curvature(straight)) + 0.1)
    True
    """
    steps = floor_steps(motion)
    lengths = np.linalg.norm(steps, axis=1)
    moved = lengths > 1e-9
    steps, lengths = steps[moved], lengths[moved]
    if lengths.sum() < _SLOW:
        return 0.0
    directions = np.unwrap(np.arctan2(steps[:, 0], steps[:, 1]))
    along = np.cumsum(lengths) - 0.5 * lengths
    centered = along - np.average(along, weights=lengths)
    spread = float(lengths @ centered**2)
    return float(lengths @ (centered * directions)) / spread if spread > 0.0 else 0.0


SIGNALS: dict[str, tuple[tuple[str, ...], Callable[..., Array]]] = {
    "position": (("x", "y", "z"), joint_path),
    "height": (("height (m)",), lambda motion, joint: joint_path(motion, joint)[:, 1:2]),
    "joint_speed": (("speed (m/s)",), lambda motion, joint: joint_speeds(motion, joint)[:, None]),
    "angular_velocity": (
        ("angular velocity (rad/s)",),
        lambda motion, joint: angular_speeds(motion, joint)[:, None],
    ),
    "curvature": (
        ("curvature (1/m)",),
        lambda motion, joint: path_curvatures(motion, joint)[:, None],
    ),
    "center_of_mass": (("x", "y", "z"), centers_of_mass),
}
"""Column names and function of each signal. All functions but the last also take a joint."""

EXTREMES: dict[str, Callable[[Motion, str], int]] = {
    "highest": lambda motion, joint: int(joint_path(motion, joint)[:, 1].argmax()),
    "lowest": lambda motion, joint: int(joint_path(motion, joint)[:, 1].argmin()),
    "fastest": lambda motion, joint: int(joint_speeds(motion, joint).argmax()),
    "farthest": lambda motion, joint: int(_from_hips(motion, joint).argmax()),
    "apex": lambda motion, joint: int(away(motion, joint).argmax()),
}
"""Functions, by name, that find the frame of a motion in which a joint is extreme."""


def signal(name: str, joint: str | None = None) -> Signal:
    """Return a signal by name; all signals except ``center_of_mass`` need a joint.

    Examples
    --------
    >>> signal("joint_speed", "right_wrist").axes
    ('speed (m/s)',)
    """
    axes, rows = SIGNALS[name]
    if joint is None:
        return Signal(name, axes, rows)
    return Signal(f"{name}({joint})", axes, lambda motion: rows(motion, joint))


def _from_hips(motion: Motion, joint: str) -> Array:
    """Return the distance (T,) between a joint and the hips."""
    return np.linalg.norm(joint_path(motion, joint) - hips_path(motion), axis=1)


def away(motion: Motion, joint: str) -> Array:
    """Return how far a joint is from where it begins and ends, shape (T,), in meters.

    Positions are relative to the hips, so that a step forward does not count; those of the hips
    themselves are positions in the world. The maximum is the apex of a kick, punch, reach or jump.
    """
    path, hips = joint_path(motion, joint), hips_path(motion)
    if not np.allclose(path, hips):
        path = path - hips
    ends = np.linalg.norm(path[:, None] - path[[0, -1]], axis=2)
    return np.asarray(ends.sum(axis=1) / 2.0)


def _derivative(rows: Array, fps: float) -> Array:
    """Differentiate `rows` (T, m) by central differences, one-sided at the ends."""
    if len(rows) < 2:
        return np.zeros_like(rows)
    return np.gradient(rows, 1.0 / fps, axis=0)
