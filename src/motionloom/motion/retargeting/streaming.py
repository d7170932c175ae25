"""Retargeting of frames as they are made: a few at a time, without knowing those that follow.

What `retarget` takes from the whole motion, the neutral pose of its skeleton and the height of a
standing ankle, is taken once from an example. Every frame is then transferred by itself: angles are
kept, and the path is scaled by the length of the legs. Feet are not locked to the ground and hands
keep no contact; that needs the frames to come.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.motion.feet.contacts import foot_contacts
from motionloom.motion.kinematics.body import leg_length
from motionloom.motion.retargeting.retarget import instep_height, require_roles
from motionloom.motion.retargeting.transfer import has_feet, neutral_poses, transfer_rotations

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

_NEEDED = ["hips", *(f"{side}_{part}" for side in ("left", "right") for part in ("hip", "knee"))]


class StreamRetargeter:
    """Transfers frames of one skeleton to another, block by block.

    Parameters
    ----------
    source : Motion
        Any motion on the skeleton of the frames, at best a few seconds with both feet on the
        ground at times.
    target : Motion
        A motion on the other skeleton, or its rest pose.

    Attributes
    ----------
    scale : float
        Leg length of the target over that of the source: the path is scaled by it.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk, child = ml.demo.clip("walk"), ml.demo.clip("walk", performer=2)
    >>> stream = StreamRetargeter(walk, child)
    >>> rotations, root = stream.frames(walk.rotations[:4], walk.root[:4])
    >>> rotations.shape == (4, len(child.skeleton), 4), root.shape
    (True, (4, 3))
    """

    def __init__(self, source: Motion, target: Motion) -> None:
        self.skeleton = target.skeleton
        require_roles("the motion's skeleton", source.skeleton, _NEEDED)
        require_roles("the target skeleton", self.skeleton, _NEEDED)
        self._source, self._target = source, target
        self.scale = leg_length(self.skeleton) / leg_length(source.skeleton)
        feet = has_feet(source.skeleton) and has_feet(self.skeleton)
        contacts = foot_contacts(source) if feet else None
        self._poses = neutral_poses(source, self.skeleton, example=target, contacts=contacts)
        self._rise = 0.0  # of the hips: feet do not scale like legs
        if contacts is not None:
            turned = transfer_rotations(source, self.skeleton, self._poses, example=target)
            self._rise = instep_height(turned, contacts) - self.scale * instep_height(
                source, contacts
            )

    def frames(
        self, rotations: ArrayLike, root: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Rotations (T, J, 4) and root (T, 3) of frames, on the target."""
        given = replace(
            self._source,
            rotations=np.asarray(rotations),
            root=np.asarray(root),
            translations=None,
            provenance=None,
        )
        turned = transfer_rotations(given, self.skeleton, self._poses, example=self._target)
        hips = ["left_hip", "right_hip"]
        goal = self.scale * given.role_positions(hips).astype(np.float64).mean(axis=1)
        goal[:, 1] += self._rise
        moved = goal - turned.role_positions(hips).astype(np.float64).mean(axis=1)
        return turned.rotations.astype(np.float32), moved.astype(np.float32)
