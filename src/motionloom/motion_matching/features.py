"""Matching features: 27 numbers per frame that describe its pose and trajectory.

=====================  =====  ===========================================================
group                  count  in the frame of the root motion
=====================  =====  ===========================================================
left, right foot       3 + 3  position of the ankle, m
their velocities       3 + 3  m/s
hips                   3      velocity, m/s
trajectory             6      position of the root 1/3, 2/3 and 1 s ahead: x, z each, m
facing                 6      direction there, a unit vector: x, z each
=====================  =====  ===========================================================

The order is the same as in orangeduck's Motion-Matching, so that files can be exchanged. Beyond the
end of a take, the trajectory continues with the velocity and the turn of its last frames.

The *root motion* is the path and the facing of a smoothed point under the body. Engines call this
point the simulation bone: a game moves it, and the pose is relative to it. The hips sway with
every step and twist with every stride, so both are smoothed over about half a stride. Beyond the
ends of a take, the hips continue with their last velocity. If they stood still there, as with most
filters, a walk would seem to stop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError
from motionloom.motion import Motion
from motionloom.motion.rotations.planar_transform import PlanarTransform, floor_complex
from motionloom.motion.smoothing import gaussian_smooth
from motionloom.motion_matching.settings import HORIZONS, MatchingSettings

Array = NDArray[np.float64]

_LEGS = tuple(
    f"{side}_{part}" for side in ("left", "right") for part in ("hip", "knee", "ankle", "foot")
)
NEEDED = ("hips", *_LEGS)
# Columns of each group, and the index of its weight in `MatchingSettings.weights`.
GROUPS = {
    "left foot position": (slice(0, 3), 0),
    "right foot position": (slice(3, 6), 0),
    "left foot velocity": (slice(6, 9), 1),
    "right foot velocity": (slice(9, 12), 1),
    "hip velocity": (slice(12, 15), 2),
    "trajectory positions": (slice(15, 21), 3),
    "trajectory directions": (slice(21, 27), 4),
}
COUNT = 27
POSE, TRAJECTORY = slice(0, 15), slice(15, 27)

_LEAST_SPREAD = 1e-3  # m or m/s: features that vary less than this are not scaled


@dataclass(frozen=True, eq=False)
class Normalization:
    """Normalization ``(features - offset) / scale``; a weight of zero means an infinite scale.

    Examples
    --------
    >>> float(Normalization.of(np.zeros((4, 27)), MatchingSettings()).scale[15])
    1.0
    """

    offset: Array
    scale: Array

    @classmethod
    def of(cls, features: NDArray, settings: MatchingSettings) -> Normalization:
        """Return the normalization for the weights and, with ``spread``, for features (N, 27)."""
        offset, scale = features.mean(axis=0, dtype=np.float64), np.ones(COUNT)
        for part, number in GROUPS.values():
            weight = settings.weights.values[number]
            spread = 1.0
            if settings.weights.normalize == "spread":
                spread = float(features[:, part].std(axis=0, dtype=np.float64).mean())
                spread = spread if spread > _LEAST_SPREAD else 1.0
            scale[part] = spread / weight if weight > 0.0 else np.inf
        return cls(offset, scale)

    def apply(self, features: NDArray) -> NDArray[np.float32]:
        """Return normalized features in float32."""
        return ((features - self.offset) / self.scale).astype(np.float32)


def matching_features(motion: Motion, root: RootMotion | None = None) -> Array:
    """Return the features (T, 27) of each frame, not normalized.

    Examples
    --------
    >>> import motionloom as ml
    >>> matching_features(ml.demo.clip("walk")).shape[1]
    27
    """
    check_roles(motion)
    root = RootMotion.of(motion) if root is None else root
    points = motion.role_positions(["left_ankle", "right_ankle", "hips"]).astype(np.float64)
    speeds = np.gradient(points, axis=0) * motion.fps if len(motion) > 1 else np.zeros_like(points)
    local = _rotated(points, root)
    moving = _rotated(speeds, root, place=False)
    ahead, facing = trajectory(root, motion.fps)
    out = np.empty((len(motion), COUNT))
    out[:, 0:6] = local[:, :2].reshape(-1, 6)
    out[:, 6:15] = moving.reshape(-1, 9)
    out[:, 15:21] = xz(ahead).reshape(-1, 6)
    out[:, 21:27] = xz(facing).reshape(-1, 6)
    return out


def check_roles(motion: Motion) -> None:
    """Raise `RoleError` if a motion has no hips or feet."""
    missing = [role for role in NEEDED if role not in motion.skeleton.roles]
    if missing:
        raise RoleError(
            f"{motion.name or 'the motion'}: motion matching needs the roles {', '.join(NEEDED)}, "
            f"but no joint has the role {', '.join(missing)}. Assign it in a mapping file. Joints: "
            f"{', '.join(motion.skeleton.names)}"
        )


def trajectory(
    root: RootMotion, fps: float
) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Return future positions and directions (T, 3) at the horizons, relative to each frame."""
    last = len(root) - 1
    back = max(last - max(round(0.25 * fps), 1), 0)
    steps = max(last - back, 1)
    velocity = (root.floor[last] - root.floor[back]) / steps  # per frame
    turn = (root.facing[last] - root.facing[back]) / steps
    times = np.arange(len(root))[:, None] + np.array(HORIZONS) * fps
    inside = np.minimum(times, last)
    low = np.floor(inside).astype(np.int64)
    high = np.minimum(low + 1, last)
    share = inside - low
    beyond = times - inside
    places = (1.0 - share) * root.floor[low] + share * root.floor[high]
    places = places + velocity * _arc_length(beyond, turn)
    facing = (1.0 - share) * root.facing[low] + share * root.facing[high] + turn * beyond
    straight = np.exp(-1j * root.facing)[:, None]
    return (places - root.floor[:, None]) * straight, np.exp(1j * facing) * straight


def xz(floor: NDArray[np.complex128]) -> Array:
    """Convert floor positions ``z + ix`` (...) to x, z (..., 2)."""
    return np.stack([floor.imag, floor.real], axis=-1)


def _arc_length(frames: Array, turn: float) -> NDArray[np.complex128]:
    """Return the displacement after `frames` at speed 1 and a constant turn per frame."""
    if abs(turn) < 1e-9:
        return frames.astype(np.complex128)
    return (np.exp(1j * turn * frames) - 1.0) / (1j * turn)


def _rotated(vectors: Array, root: RootMotion, *, place: bool = True) -> Array:
    """Rotate vectors (T, P, 3) into the frame of the root; positions are also shifted."""
    floor = vectors[..., 2] + 1j * vectors[..., 0]
    if place:
        floor = floor - root.floor[:, None]
    floor = floor * np.exp(-1j * root.facing)[:, None]
    return np.stack([floor.imag, vectors[..., 1], floor.real], axis=-1)


Complex = NDArray[np.complex128]

_PLACE_SECONDS = 0.15  # standard deviation for smoothing positions, in seconds
_FACING_SECONDS = 0.2  # standard deviation for smoothing the facing, in seconds
_END_SECONDS = 0.3  # seconds over which the velocity at an end is measured


@dataclass(frozen=True, eq=False)
class RootMotion:
    """Root motion of T frames: the path and facing of the simulation bone.

    Attributes
    ----------
    floor : ndarray of complex, shape (T,)
        Position ``z + ix`` in meters.
    facing : ndarray, shape (T,)
        Facing in radians from +Z toward +X, unwrapped.

    Examples
    --------
    >>> import motionloom as ml
    >>> root = RootMotion.of(ml.demo.clip("walk"))
    >>> bool(abs(root.facing).max() < 0.2), bool(root.floor[-1].real > 2.0)
    (True, True)
    """

    floor: Complex
    facing: Array

    def __len__(self) -> int:
        return len(self.floor)

    @classmethod
    def of(cls, motion: Motion) -> RootMotion:
        """Compute the root motion from the hips; the facing is computed from hips and shoulders."""
        hips = floor_complex(motion.role_positions(["hips"])[:, 0].astype(np.float64))
        heading = motion.headings()
        floor = _smoothed(hips, motion.fps, _PLACE_SECONDS)
        return cls(floor, _smoothed(heading, motion.fps, _FACING_SECONDS))

    def transforms(self) -> PlanarTransform:
        """Return the transform of each frame from the root to the world."""
        return PlanarTransform.from_complex(self.floor, self.facing)


def _smoothed(values: NDArray, fps: float, seconds: float) -> NDArray:
    """Smooth values (T,), which continue beyond the ends with their last velocity."""
    width = seconds * fps
    reach = int(4.0 * width + 1.5)
    last = min(max(round(_END_SECONDS * fps), 1), len(values) - 1)
    if last < 1:
        return values.copy()
    steps = np.arange(1, reach + 1)
    before = values[0] - steps[::-1] * (values[last] - values[0]) / last
    after = values[-1] + steps * (values[-1] - values[-1 - last]) / last
    return gaussian_smooth(np.concatenate([before, values, after]), width)[reach:-reach]
