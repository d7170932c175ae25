"""Foot support: which feet are in contact, and which foot strikes next.

Two poses may be similar although their foot contacts differ. For example, one walker is about to
put down the left foot, and the other has just done so. A transition between these poses would skip
a step. Two frames may therefore be connected only if the same feet are in contact in both, and if
the last foot strike before one frame and the next foot strike after the other are by different
feet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.segment import intervals

Mask = NDArray[np.bool_]

_GAP = 0.15  # seconds: a shorter lift of a foot does not count as a step
_SHARE = 0.17  # maximum fraction of the blended frames in which contacts may differ


@dataclass(frozen=True, eq=False)
class FootSupport:
    """Foot contacts of a motion with T frames.

    Attributes
    ----------
    parts : ndarray of bool, shape (T, 4)
        Contacts in the order of `motionloom.motion.feet.contacts.FOOT_PARTS`.
    standing : ndarray of bool, shape (T, 2)
        True where the left and the right foot are in contact.
    last, next : ndarray of int8, shape (T,)
        Foot (0 left, 1 right) of the last strike up to and including a frame, and of the next
        strike after it; -1 if there is none.
    """

    parts: Mask
    standing: Mask
    last: NDArray[np.int8]
    next: NDArray[np.int8]

    @classmethod
    def of(cls, motion: Motion) -> FootSupport:
        """Detect the foot contacts and foot strikes of a motion.

        Examples
        --------
        >>> import motionloom as ml
        >>> support = FootSupport.of(ml.demo.clip("walk"))
        >>> bool((support.last != support.next)[20:40].all())
        True
        """
        contacts = motion.contacts()
        parts = contacts.standing_parts()
        standing = np.stack(
            [_without_gaps(contacts.standing(side), _GAP * motion.fps) for side in SIDES], axis=1
        )
        last = np.full(len(motion), -1, np.int8)
        following = np.full(len(motion), -1, np.int8)
        strikes = sorted(
            (start, foot) for foot in (0, 1) for start, _ in intervals(standing[:, foot])
        )
        for start, foot in strikes:
            last[start:] = foot
        for start, foot in reversed(strikes):
            following[:start] = foot
        return cls(parts, standing, last, following)


def agreement(a: FootSupport, b: FootSupport, frames: NDArray[np.int64], blend: int) -> Mask:
    """Return a mask (n,): True if a transition at `frames` preserves the sequence of steps.

    Both directions are checked.

    Parameters
    ----------
    a, b : FootSupport
    frames : ndarray of int64, shape (n, 2)
    blend : int
        Number of frames that are blended around each frame.
    """
    i, j = frames[:, 0], frames[:, 1]
    same = np.all(a.standing[i] == b.standing[j], axis=1)
    same &= alternates(a.last[i], b.next[j]) & alternates(b.last[j], a.next[i])
    steps = np.arange(-(blend // 2), blend - blend // 2)
    differ = a.standing[i[:, None] + steps] != b.standing[j[:, None] + steps]
    return same & np.all(differ.mean(axis=1) <= _SHARE, axis=1)


def alternates(last: NDArray[np.int8], following: NDArray[np.int8]) -> Mask:
    """Return whether the last and the next foot strike are by different feet."""
    return (last != following) | (last < 0)


def _without_gaps(mask: Mask, shortest: float) -> Mask:
    """Close gaps of fewer than `shortest` frames in a mask."""
    closed = mask.copy()
    for start, end in intervals(~mask):
        if 0 < start and end < len(mask) and end - start < shortest:
            closed[start:end] = True
    return closed
