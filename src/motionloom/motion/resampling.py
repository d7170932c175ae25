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
    # A frame that would land on the last one but for rounding still counts.
    count = int(np.floor((len(motion) - 1) * fps / motion.fps + 1e-6)) + 1
    place = np.minimum(np.arange(count) * (motion.fps / fps), len(motion) - 1.0)
    nearest = np.rint(place)
    place = np.where(np.abs(place - nearest) < 1e-6, nearest, place)
    before = np.minimum(place.astype(np.intp), max(len(motion) - 2, 0))
    after = np.minimum(before + 1, len(motion) - 1)
    share = place - before
    moved = motion.translations
    return replace(
        motion,
        rotations=rot.slerp(motion.rotations[before], motion.rotations[after], share[:, None]),
        root=_between(motion.root, before, after, share[:, None]),
        translations=None
        if moved is None
        else _between(moved, before, after, share[:, None, None]),
        fps=float(fps),
    )


def _between(values, before, after, share):
    a, b = values[before].astype(np.float64), values[after].astype(np.float64)
    return a + share * (b - a)
