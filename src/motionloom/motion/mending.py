"""Mending what an examination found and can be put right without asking.

Short flips are replaced by what lies between their neighbours; feet that stand above or
below the floor are set down on it. Units, axes and rates are for the user to decide.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import rotations as rot
from motionloom.motion.examination import Body, examine
from motionloom.motion.motion import Motion

_LONGEST_FLIP = 0.2  # seconds; a longer one is no glitch, and what to put there a guess
_BALL_HEIGHT = 0.02  # metres from the sole to the joint at the ball of the foot


def mend(motion: Motion) -> tuple[Motion, tuple[str, ...]]:
    """The motion with flips and floor put right, and what was done, a sentence each.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk").transform(shift=(0, 0.3, 0))
    >>> mended, done = mend(walk)
    >>> done
    ('set down by 0.30 m on the floor',)
    """
    codes = {finding.code for finding in examine(motion)}
    done: list[str] = []
    if codes & {"jumps", "twists"}:
        motion, frames = _without_flips(motion)
        if frames:
            done.append(f"{frames} flipped frames replaced by what lies between their neighbours")
    if "floor" in codes:
        contacts = Body(motion).contacts
        assert contacts is not None  # the finding speaks of it
        drop = contacts.floor - _BALL_HEIGHT
        motion = motion.transform(shift=(0.0, -drop, 0.0))
        done.append(f"set {'down' if drop > 0 else 'up'} by {abs(drop):.2f} m on the floor")
    return motion, tuple(done)


def _without_flips(motion: Motion) -> tuple[Motion, int]:
    body = Body(motion)
    rotations = motion.rotations.astype(np.float64)
    root = motion.root.astype(np.float64)
    longest = max(1, round(_LONGEST_FLIP * motion.fps))
    changed: set[int] = set()
    for role, frames in body.jump_frames.items():
        for start, end in _flips(frames, longest, len(motion)):
            share = (np.arange(start, end) - (start - 1)) / (end - start + 1)
            if role == "root path":
                between = root[start - 1] + share[:, None] * (root[end] - root[start - 1])
                root[start:end] = between
            else:
                joint = motion.skeleton.joint(body.roles[role])
                before, after = rotations[start - 1, joint], rotations[end, joint]
                rotations[start:end, joint] = rot.slerp(before, after, share)
            changed.update(range(start, end))
    return replace(motion, rotations=rotations, root=root), len(changed)


def _flips(frames: NDArray[np.intp], longest: int, total: int) -> list[tuple[int, int]]:
    """Ranges [start, end) between a jump away and the next jump back, if it comes soon."""
    ranges = []
    k = 0
    while k + 1 < len(frames):
        start, end = int(frames[k]), int(frames[k + 1])
        if end - start <= longest and end < total:
            ranges.append((start, end))
            k += 2
        else:
            k += 1
    return ranges
