"""Repair of swapped sides: joints with the names, or with the rotations, of the other side."""

from __future__ import annotations

from dataclasses import replace

from motionloom.errors import RoleError
from motionloom.motion.mirroring import twin_joints
from motionloom.motion.motion import Motion
from motionloom.motion.skeleton import Skeleton


def candidates(motion: Motion) -> list[Motion]:
    """Return `motion` with the names, and with the rotations, of both sides swapped.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> hip = walk.skeleton.joint("LeftUpLeg")
    >>> [other.skeleton.names[hip] for other in candidates(walk)]
    ['RightUpLeg', 'LeftUpLeg']
    """
    try:
        twin = twin_joints(motion.skeleton)
    except RoleError:
        return []
    return [
        replace(motion, skeleton=_renamed(motion.skeleton, twin)),
        replace(motion, rotations=motion.rotations[:, twin]),
    ]


def _renamed(skeleton: Skeleton, twin) -> Skeleton:
    """Return the skeleton with the names of twin joints, and of their end sites, swapped."""
    names = [skeleton.names[k] for k in twin]
    ends: dict[int, list[str]] = {}
    for parent, name in zip(skeleton.end_parents, skeleton.end_names, strict=True):
        ends.setdefault(int(parent), []).append(name)
    end_names, used = [], {parent: 0 for parent in ends}
    for parent in skeleton.end_parents:
        other = ends.get(int(twin[parent]), ends[int(parent)])
        place = used[int(parent)]
        used[int(parent)] += 1
        end_names.append(other[min(place, len(other) - 1)])
    if len(set(end_names)) < len(end_names):
        end_names = list(skeleton.end_names)
    return replace(skeleton, names=tuple(names), end_names=tuple(end_names), role_map={})
