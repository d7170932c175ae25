"""The same motion at another frame rate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from motionloom.errors import InvalidInput
from motionloom.motion import rotations as rot

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion


def resample(motion: Motion, fps: float) -> Motion:
    """`motion` at `fps` frames per second; see `Motion.resample`."""
    if not (np.isfinite(fps) and fps > 0.0):
        raise InvalidInput(f"fps must be positive; got {fps}")
    if abs(fps - motion.fps) <= 1e-9 * fps or len(motion) == 0:
        return replace(motion, fps=float(fps))
    count = resampled_length(len(motion), motion.fps, fps)
    place = np.minimum(np.arange(count) * (motion.fps / fps), len(motion) - 1.0)
    nearest = np.rint(place)
    place = np.where(np.abs(place - nearest) < 1e-6, nearest, place)
    before = place.astype(np.intp)
    after = np.minimum(before + 1, len(motion) - 1)
    share = place - before
    between = np.flatnonzero(share)  # all other frames are frames of the original, to the bit
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
    made_of = motion.provenance
    return replace(
        motion,
        rotations=rotations,
        root=root,
        translations=moved,
        fps=float(fps),
        provenance=None if made_of is None else made_of.resampled(fps / motion.fps),
    )


def resampled_length(frames: int, fps: float, wanted_fps: float) -> int:
    """Frames that `frames` at `fps` become at `wanted_fps`.

    Examples
    --------
    >>> resampled_length(121, 120, 30), resampled_length(120, 120, 30)
    (31, 30)
    """
    if frames == 0:
        return 0
    # A frame that would land on the last one but for rounding still counts.
    return int(np.floor((frames - 1) * wanted_fps / fps + 1e-6)) + 1


def _mixed(a, b, share):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return a + share * (b - a)
