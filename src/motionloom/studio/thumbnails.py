"""Thumbnails: a few seconds of a motion as a flat stick figure, small enough for thousands.

The liveliest stretch is shown, from half in front, with the hips held in the middle: what a
body does tells a take from another, where it goes does not. Places are bytes, 0 to 255 of a
square picture with y downwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.kinematics.body import body_height, facing

if TYPE_CHECKING:
    from motionloom.motion import Motion, Skeleton

SECONDS = 3.0
FPS = 12.5
_ASIDE = 0.6  # radians that the figure is turned away from the eye
_TILT = 0.15  # radians that the eye looks down
_FLOOR = 236.0  # row of the picture where the floor is
_STANDING = 196.0  # rows from the floor to the top of a body that stands
_TALL = 1.7  # metres, where the skeleton does not say

# The points of the figure, each with the roles that may give it and the point it hangs on.
_FIGURE: tuple[tuple[tuple[str, ...], int], ...] = (
    (("hips",), -1),
    (("chest", "spine"), 0),
    (("neck", "head"), 1),
    (("head_top", "head", "neck"), 2),
    *(
        limb
        for number, side in enumerate(("left", "right"))
        for limb in (
            ((f"{side}_shoulder",), 2),
            ((f"{side}_elbow",), 4 + 7 * number),
            ((f"{side}_hand", f"{side}_wrist", f"{side}_elbow"), 5 + 7 * number),
            ((f"{side}_hip",), 0),
            ((f"{side}_knee",), 7 + 7 * number),
            ((f"{side}_ankle",), 8 + 7 * number),
            ((f"{side}_toe", f"{side}_foot", f"{side}_ankle"), 9 + 7 * number),
        )
    ),
)


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """A small moving picture.

    Attributes
    ----------
    places : ndarray of uint8, shape (F, P, 2)
        x to the right, y downwards.
    parents : tuple of int
        The point that each hangs on; -1 for none.
    fps : float
        Pictures per second.
    """

    places: NDArray[np.uint8]
    parents: tuple[int, ...]
    fps: float


def thumbnail(motion: Motion) -> Thumbnail:
    """The liveliest seconds of a motion as a flat figure.

    Examples
    --------
    >>> import motionloom as ml
    >>> small = thumbnail(ml.demo.clip("walk"))
    >>> small.places.shape[1:], small.places.dtype
    ((18, 2), dtype('uint8'))
    """
    points, parents = _figure(motion.skeleton)
    positions = motion.positions(end_sites=True)
    root = positions[:, 0].copy()
    root[:, 1] = 0.0
    shown = positions[:, points] - root[:, None]
    start, end = liveliest(shown, round(SECONDS * motion.fps))
    floor = np.nanmin(shown[start:end, :, 1], initial=np.inf)  # who climbs stays in the picture
    shown[..., 1] -= floor if np.isfinite(floor) else 0.0
    count = max(int(round((end - start) / motion.fps * FPS)), 1)
    frames = start + np.arange(count) * (end - start) // count
    turned = shown[frames] @ _towards_eye(motion, positions, (start + end) // 2).T
    places = np.stack([turned[..., 0], -turned[..., 1]], axis=-1) * _rows_per_metre(motion.skeleton)
    places += (127.5, _FLOOR)
    filled = np.nan_to_num(places, nan=127.5)
    return Thumbnail(np.clip(np.rint(filled), 0, 255).astype(np.uint8), parents, FPS)


def liveliest(points: NDArray[np.floating], length: int) -> tuple[int, int]:
    """Frames [start, end) of the stretch of `length` in which points (T, P, 3) move most.

    Examples
    --------
    >>> still = np.zeros((10, 1, 3)); still[6:, 0, 1] = 1.0
    >>> liveliest(still, 3)
    (4, 7)
    """
    frames = len(points)
    if frames <= length:
        return 0, frames
    speed = np.nan_to_num(np.linalg.norm(np.diff(points, axis=0), axis=-1).mean(axis=1))
    gone = np.concatenate([[0.0], np.cumsum(speed)])
    start = int(np.argmax(gone[length - 1 :] - gone[: frames - length + 1]))
    return start, start + length


def _figure(skeleton: Skeleton) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Points of the figure and what each hangs on; all joints where roles are missing."""
    roles = skeleton.roles
    named = [next((role for role in choice if role in roles), "") for choice, _ in _FIGURE]
    if "" in named:
        return np.arange(len(skeleton)), tuple(int(parent) for parent in skeleton.parents)
    return np.asarray(skeleton.points(named)), tuple(parent for _, parent in _FIGURE)


def _rows_per_metre(skeleton: Skeleton) -> float:
    return _STANDING / (body_height(skeleton) or _TALL)


def _towards_eye(motion: Motion, positions: NDArray[np.float32], frame: int) -> NDArray[np.float64]:
    """Turns the body of a frame half towards the eye, shape (3, 3): right, up, nearer."""
    direction = facing(motion, positions)[frame]
    angle = (np.angle(direction) if np.isfinite(direction) else 0.0) + _ASIDE
    right = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    near = np.array([np.sin(angle), 0.0, np.cos(angle)])
    up = np.array([0.0, 1.0, 0.0])
    return np.stack(
        [
            right,
            np.cos(_TILT) * up - np.sin(_TILT) * near,
            np.sin(_TILT) * up + np.cos(_TILT) * near,
        ]
    )
