"""Selected frames of takes, aligned on the floor plane with a reference pose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.kinematics.body import facing
from motionloom.motion.rotations.planar_transform import PlanarTransform


def frames_of(take: Motion, frames: Sequence[int], name: str) -> Motion:
    """Return a motion with the chosen frames of a take, in the order listed."""
    chosen = np.asarray(frames, np.int64)
    if chosen.max() >= len(take):
        raise InvalidInput(f"{name} has frames 0 to {len(take) - 1}; got {chosen.max()}")
    return replace(
        take,
        rotations=take.rotations[chosen],
        root=take.root[chosen],
        translations=None if take.translations is None else take.translations[chosen],
        provenance=None,
    )


def to_origin(pose: Motion) -> PlanarTransform:
    """Return the transform that moves a pose to the origin, facing +Z."""
    points = pose.positions(end_sites=True)
    hips = pose.skeleton.points(["hips"])[0] if "hips" in pose.skeleton.roles else 0
    position, heading = points[0, hips], np.angle(facing(pose, points)[0])
    here = PlanarTransform(position[0], position[2], heading)
    return here.inverse() if np.isfinite(here.to_array()).all() else PlanarTransform.identity()


def alignment(reference: Motion, pose: Motion) -> PlanarTransform:
    """Return the transform that aligns a pose with the reference, using their shared roles."""
    roles = [role for role in reference.skeleton.roles if role in pose.skeleton.roles]
    if roles:
        a, b = (each.role_positions(roles)[0] for each in (reference, pose))
        finite = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)
        if finite.sum() >= 3:
            return PlanarTransform.aligning(a[finite], b[finite])
    return PlanarTransform.between(to_origin(reference), to_origin(pose))
