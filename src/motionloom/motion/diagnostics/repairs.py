"""Automatic repairs of issues that have one solution.

Short flips are replaced by interpolation between their neighbours; a body above or below the
floor is moved to it. Units, axes and rates are for the user to decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.diagnostics.measurements import Measurements
from motionloom.motion.motion import Motion
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_LONGEST_FLIP = 0.2  # seconds; what a longer flip hides cannot be interpolated


def repair(motion: Motion) -> tuple[Motion, tuple[str, ...]]:
    """The motion with flips and floor repaired, and one sentence for each repair.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk").transform(shift=(0, 0.3, 0))
    >>> repaired, done = repair(walk)
    >>> done
    ('set down by 0.30 m on the floor',)
    """
    done: list[str] = []
    measured = Measurements(motion)
    if len(measured.jump_frames):
        motion, frames = _without_flips(measured)
        if frames:
            done.append(f"{frames} flipped frames replaced by what lies between their neighbours")
            measured = Measurements(motion)
    ground = measured.ground_offset
    if ground is not None:
        motion = motion.transform(shift=(0.0, -ground, 0.0))
        done.append(f"set {'down' if ground > 0 else 'up'} by {abs(ground):.2f} m on the floor")
    return motion, tuple(done)


def _without_flips(measured: Measurements) -> tuple[Motion, int]:
    motion = measured.motion
    rotations = motion.rotations.astype(np.float64)
    root = motion.root.astype(np.float64)
    longest = max(1, round(_LONGEST_FLIP * motion.fps))
    changed: set[int] = set()
    for role, frames in measured.turns.items():
        for start, end in _flips(frames, longest, len(motion)):
            if not np.isin([start, end], measured.jump_frames).any():
                continue  # invisible: a joint below rotates back
            if role == "root path":
                root[start:end] = _between(root, start, end, _straight)
            else:
                joint = motion.skeleton.joint(measured.roles[role])
                rotations[start:end, joint] = _between(rotations[:, joint], start, end, rot.slerp)
            changed.update(range(start, end))
    return replace(motion, rotations=rotations, root=root), len(changed)


def _flips(frames: NDArray[np.intp], longest: int, total: int) -> list[tuple[int, int]]:
    """Ranges [start, end) between a jump away and the next jump back, if it comes soon.

    Both ends of the motion count as jumps: a take may begin or end with a bad frame.
    """
    marks = [0, *(int(frame) for frame in frames), total]
    ranges: list[tuple[int, int]] = []
    # A short piece at the start is bad only if a long one follows, not if the next is the flip.
    k = 0 if marks[2] - marks[1] > longest else 1
    while k + 1 < len(marks):
        start, end = marks[k], marks[k + 1]
        if end - start <= longest:
            ranges.append((start, end))
            k += 2
        else:
            k += 1
    return ranges


def _between(values: Array, start: int, end: int, mix: Callable[..., Array]) -> Array:
    """Interpolation from frame ``start - 1`` to frame `end`; constant where one is missing."""
    before = values[start - 1] if start > 0 else values[end]
    after = values[end] if end < len(values) else before
    share = (np.arange(start, end) - (start - 1)) / (end - start + 1)
    return mix(before, after, share)


def _straight(before: Array, after: Array, share: Array) -> Array:
    return before + share[:, None] * (after - before)
