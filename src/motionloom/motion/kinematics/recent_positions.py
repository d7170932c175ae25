"""Positions of the points of the motions used last.

Analyses of a take ask for its feet, then for its hands, then for its head, and each answer needs
forward kinematics of the whole body. The positions of the last few short motions are therefore
kept. Motions are immutable, so they stay valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.kinematics.forward import joint_positions

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

_MOTIONS = 4  # a motion, its copy on another skeleton, and two that they are compared with
_MOST_VALUES = 1_000_000  # of all points of a motion: about five minutes at 30 frames per second

_recent: tuple[tuple[ReferenceType[Motion], NDArray[np.float32]], ...] = ()


def recent_positions(motion: Motion) -> NDArray[np.float32]:
    """Return the positions of joints and end sites, shape (T, J + E, 3), read-only.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> recent_positions(walk) is recent_positions(walk)
    True
    """
    global _recent
    for reference, places in _recent:
        if reference() is motion:
            return places
    skeleton = motion.skeleton
    places = joint_positions(
        motion.rotations,
        motion.root,
        skeleton.parents,
        skeleton.offsets,
        translations=motion.translations,
        end_parents=skeleton.end_parents,
        end_offsets=skeleton.end_offsets,
    )
    places.setflags(write=False)
    if places.size <= _MOST_VALUES:
        # One assignment of a new tuple, so that threads need no lock.
        _recent = ((ref(motion), places), *_recent[: _MOTIONS - 1])
    return places
