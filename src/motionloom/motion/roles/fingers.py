"""Roles of finger joints: ``left_thumb_1``, ``left_index_1``, ``left_index_2`` and so on.

Fingers are named by hand, finger and number, counted from the knuckle outward. They are kept apart
from the roles of the body, because most rigs have none, and no algorithm needs them. Retargeting
and mirroring use them.
"""

from __future__ import annotations

from functools import lru_cache

from motionloom.motion.roles.joint_names import Label, labels_of
from motionloom.motion.skeleton import BodyTree, Skeleton

FINGERS = ("thumb", "index", "middle", "ring", "pinky")
_NAMES = {finger: finger for finger in FINGERS} | {"pinkie": "pinky", "little": "pinky"}
_JOINTS = 3  # of a finger; further ones are tips
_LEAST_FINGERS = 3


def finger_roles(skeleton: Skeleton) -> dict[str, int]:
    """Return the joint of each finger role; empty for rigs with fewer than three fingers.

    A hand with one or two named fingers, as in CMU's rig, only shows which way the palm faces.

    Examples
    --------
    >>> import motionloom as ml
    >>> finger_roles(ml.demo.clip("walk").skeleton)
    {}
    """
    return dict(_finger_roles(_Key(skeleton)))


class _Key:
    """Skeleton that hashes by its key."""

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton

    def __hash__(self) -> int:
        return hash(self.skeleton.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.skeleton.key == other.skeleton.key


@lru_cache(maxsize=256)
def _finger_roles(key: _Key) -> tuple[tuple[str, int], ...]:
    skeleton = key.skeleton
    labels = labels_of(skeleton.names)
    tree = BodyTree(skeleton)
    roles: dict[str, int] = {}
    for side in ("left", "right"):
        wrist = skeleton.roles.get(f"{side}_wrist")
        if wrist not in skeleton.names:
            continue
        root = skeleton.joint(wrist)
        chains: dict[str, list[int]] = {}
        for joint, label in enumerate(labels):
            finger = _finger(label)
            above = tree.path_up(joint)
            if label.side == side and finger and root in above[1:] and not label.tip:
                chains.setdefault(finger, []).append(joint)
        if len(chains) < _LEAST_FINGERS:
            continue
        for finger in FINGERS:
            chain = sorted(chains.get(finger, ()), key=lambda joint: len(tree.path_up(joint)))
            for number, joint in enumerate(chain[:_JOINTS], start=1):
                roles[f"{side}_{finger}_{number}"] = joint
    return tuple(roles.items())


def _finger(label: Label) -> str | None:
    """Return the finger that a label names; 3ds Max numbers fingers from the thumb."""
    if label.part == "finger" and label.numbers:
        first = label.numbers[-1][:1]
        return FINGERS[int(first)] if first.isdigit() and int(first) < len(FINGERS) else None
    return None if label.part is None else _NAMES.get(label.part)
