"""A motion as the page draws it: points in space, bones between them, and what they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from fastapi import Response
from numpy.typing import ArrayLike

from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.forward import joint_positions
from motionloom.studio.dependencies import arrays


def bones(skeleton: Skeleton) -> dict[str, Any]:
    """Names and parents of the points, end sites behind the joints, and who plays which role.

    The same order as `points`.
    """
    names = [*skeleton.names, *skeleton.end_names]
    parents = [*skeleton.parents.tolist(), *skeleton.end_parents.tolist()]
    roles = {role: int(skeleton.points([role])[0]) for role in skeleton.roles}
    return {"joints": names, "parents": parents, "roles": roles}


def points(skeleton: Skeleton, rotations: ArrayLike, root: ArrayLike) -> np.ndarray:
    """World positions of joints and end sites, shape (T, P, 3)."""
    return joint_positions(
        rotations,
        root,
        skeleton.parents,
        skeleton.offsets,
        end_parents=skeleton.end_parents,
        end_offsets=skeleton.end_offsets,
    )


def motion_answer(motion: Motion, **meta: Any) -> Response:
    """All of a motion, sent once and played by the page.

    Arrays: ``positions`` (T, P, 3), ``contacts`` (T, 4) in the order of `FOOT_PARTS`.
    """
    head = {
        "name": motion.name,
        "fps": motion.fps,
        "frames": len(motion),
        **bones(motion.skeleton),
        **meta,
    }
    return arrays(head, positions=motion.positions(end_sites=True), contacts=standing(motion))


def standing(motion: Motion) -> np.ndarray:
    """Which foot parts stand, shape (T, 4); nothing where the motion has no feet."""
    from motionloom.errors import MotionloomError

    try:
        return motion.contacts().standing_parts()
    except MotionloomError:
        return np.zeros((len(motion), 4), dtype=bool)


def troupe(motions: Sequence[Motion]) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Several characters in one answer: who they are, and their arrays.

    ``positions_K`` (T, P, 3) and ``contacts_K`` (T, 4) of character K.
    """
    who = [{"name": motion.name, **bones(motion.skeleton)} for motion in motions]
    values: dict[str, np.ndarray] = {}
    for number, motion in enumerate(motions):
        values[f"positions_{number}"] = motion.positions(end_sites=True)
        values[f"contacts_{number}"] = standing(motion)
    return who, values
