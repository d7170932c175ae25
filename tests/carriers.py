"""Motions under joints above the hips: fixed, on the floor below the body, or moving with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import motionloom as ml
from motionloom.motion.rotations import quaternions as rot

REFERENCE = (0.3, 0.1, -0.8)  # meters: where the fixed carrier stands
KINDS = ("fixed", "tilted", "traveling", "rigid")


def under_a_carrier(motion, kind, *, props=False, name="Reference"):
    """The same motion below a joint called `name`.

    Parameters
    ----------
    motion : Motion
        Of any root; a second call adds a second joint above the first.
    kind : {"fixed", "tilted", "traveling", "rigid"}
        The carrier stands still; stands still and turns a body that lies along z upright, as
        Blender's armatures do; travels below the body on the floor with its heading; moves and
        turns with the hips.
    props : bool
        Add a camera and an IK target that are children of the carrier.
    """
    old, frames = motion.skeleton, len(motion)
    place, turn = _path(motion, kind)
    hips, hips_turn = motion.root.astype(float), motion.rotations[:, 0].astype(float)
    back = rot.inverse(turn)
    step, local = rot.rotate(back, hips - place), rot.multiply(back, hips_turn)
    names = [name, *old.names]
    parents = [-1, 0, *(parent + 1 for parent in old.parents[1:])]
    offsets = np.concatenate([np.zeros((1, 3)), step[:1], old.offsets[1:]])
    rotations = np.concatenate([turn[:, None], local[:, None], motion.rotations[:, 1:]], axis=1)
    moved = np.broadcast_to(offsets, (frames, *offsets.shape)).copy()
    moved[:, 1] = step
    if motion.translations is not None:
        moved[:, 2:] = motion.translations[:, 1:]
    if props:
        names += ["Camera", "ik_target"]
        parents += [0, 0]
        offsets = np.concatenate([offsets, [[2.0, 1.0, 2.0], [0.1, 0.0, 0.3]]])
        still = np.tile([1.0, 0.0, 0.0, 0.0], (frames, 2, 1))
        rotations = np.concatenate([rotations, still], axis=1)
        moved = np.concatenate([moved, np.broadcast_to(offsets[-2:], (frames, 2, 3))], axis=1)
        moved[:, -1] += hips * [0.5, 0.0, 0.5]
    skeleton = ml.Skeleton(
        names, parents, offsets,
        end_names=old.end_names,
        end_parents=[parent + 1 for parent in old.end_parents],
        end_offsets=old.end_offsets,
        role_map=old.role_map,
    )  # fmt: skip
    return replace(
        motion,
        skeleton=skeleton,
        rotations=rotations,
        root=place,
        translations=moved,
    )


def _path(motion, kind):
    """World positions (T, 3) and rotations (T, 4) of the carrier."""
    frames = len(motion)
    if kind == "traveling":
        return motion.root * np.array([1.0, 0.0, 1.0]), rot.yaw(motion.headings())
    if kind == "rigid":
        turn = motion.rotations[:, 0].astype(float)
        return motion.root - rot.rotate(turn, np.array([0.1, 0.05, 0.02])), turn
    still = rot.IDENTITY if kind == "fixed" else rot.between([0.0, 0.0, 1.0], [0.0, 1.0, 0.0])
    return np.tile(REFERENCE, (frames, 1)), np.tile(still, (frames, 1))
