"""Resampling of motions to another frame rate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.segment import positive_rate

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

_MOST_PER_FRAME = 250.0  # frames for each original frame: from 1 to 250 fps


def resample(motion: Motion, fps: float) -> Motion:
    """Return `motion` at `fps` frames per second; see `Motion.resample`."""
    fps = positive_rate(fps)
    if abs(fps - motion.fps) <= 1e-9 * fps or len(motion) == 0:
        return replace(motion, fps=fps)
    before, after, share = frames_around(len(motion), motion.fps, fps)
    between = np.flatnonzero(share)  # all other frames coincide with frames of the original
    rotations, root = motion.rotations[before], motion.root[before]
    rotations[between] = rot.slerp(
        rotations[between], motion.rotations[after[between]], share[between, None]
    )
    root[between] = _mixed(root[between], motion.root[after[between]], share[between, None])
    moved = motion.translations
    if moved is not None:
        here, next_ = moved[before], moved[after[between]]
        here[between] = _mixed(here[between], next_, share[between, None, None])
        moved = here
    made_of, origin = motion.provenance, motion.origin
    if origin.carrier is not None:
        origin = replace(origin, carrier=origin.carrier.resampled(before, after, share))
    return replace(
        motion,
        rotations=rotations,
        root=root,
        translations=moved,
        fps=fps,
        origin=origin,
        provenance=None if made_of is None else made_of.resampled(fps / motion.fps),
    )


def resampled_length(frames: int, fps: float, wanted_fps: float) -> int:
    """Return the number of frames after resampling `frames` frames from `fps` to `wanted_fps`.

    Examples
    --------
    >>> resampled_length(121, 120, 30), resampled_length(120, 120, 30)
    (31, 30)
    """
    if frames == 0:
        return 0
    if wanted_fps > _MOST_PER_FRAME * fps:
        raise InvalidInput(
            f"frames at {fps:g} fps cannot be resampled to {wanted_fps:g} fps: at most "
            f"{_MOST_PER_FRAME:g} frames can be made of one"
        )
    # A frame that misses the end only by rounding still counts.
    return int(np.floor((frames - 1) * wanted_fps / fps + 1e-6)) + 1


def frames_around(
    frames: int, fps: float, wanted_fps: float
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return the frames at `fps` around each frame at `wanted_fps`, and their weights.

    Returns
    -------
    before, after : ndarray of int, shape (N,)
        The neighboring frames; they are equal where a frame coincides with an original frame.
    share : ndarray, shape (N,)
        Weight of `after`, at least 0 and below 1.

    Examples
    --------
    >>> frames_around(3, 30.0, 60.0)
    (array([0, 0, 1, 1, 2]), array([0, 1, 1, 2, 2]), array([0. , 0.5, 0. , 0.5, 0. ]))
    """
    count = resampled_length(frames, fps, wanted_fps)
    place = np.minimum(np.arange(count) * (fps / wanted_fps), frames - 1.0)
    nearest = np.rint(place)
    place = np.where(np.abs(place - nearest) < 1e-6, nearest, place)
    before = place.astype(np.intp)
    share = place - before
    return before, before + (share > 0.0), share


def _mixed(a, b, share):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return a + share * (b - a)
