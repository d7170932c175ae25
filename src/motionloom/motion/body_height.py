"""How tall a skeleton stands, from the lengths of its bones.

Bones are added up along the leg and the trunk, so the answer does not depend on the rest
pose or on which way the file's axes point. What no bone measures (below the ankle, above
the head joint where no end site marks the top) is a fixed share of the stature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motionloom.motion.roles.body_tree import BodyTree
from motionloom.motion.roles.joint_names import split_words

if TYPE_CHECKING:
    from motionloom.motion.skeleton import Skeleton

# Shares of the stature. The ankle joint's height above the sole is from Winter, Biomechanics
# and Motor Control of Human Movement (2009), figure 4.1; skull base to crown as in SMPL's mean.
_BELOW_ANKLE = 0.039
_ABOVE_HEAD = 0.10


def standing_height(skeleton: Skeleton) -> float | None:
    """Standing height in the skeleton's own unit, or None where roles are missing.

    Needs the roles ``hips``, ``head`` and one whole leg.

    Examples
    --------
    >>> from motionloom.motion import Skeleton
    >>> names = ["Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "Spine", "Neck", "Head"]
    >>> bones = [[0, 0, 0], [9, -8, 0], [0, -42, 0], [0, -43, 0], [0, 20, 0], [0, 30, 0], [0, 9, 0]]
    >>> round(standing_height(Skeleton(names, [-1, 0, 1, 2, 0, 4, 5], bones)))
    177
    """
    roles = skeleton.roles
    point = {name: index for index, name in enumerate(skeleton.point_names)}
    at = {role: point[name] for role, name in roles.items()}
    tree = BodyTree(skeleton)
    legs = [
        tree.length(at[f"{side}_hip"], at[f"{side}_ankle"])
        for side in ("left", "right")
        if {f"{side}_hip", f"{side}_knee", f"{side}_ankle"} <= at.keys()
    ]
    if not legs or "hips" not in at or "head" not in at:
        return None
    measured = sum(legs) / len(legs) + _trunk(skeleton, tree, at)
    measured += _hip_drop(skeleton, tree, at) + _dropped_chest(skeleton, tree, at)
    if measured <= 0.0:
        return None
    top = tree.length(at["head"], at["head_top"]) if "head_top" in at else 0.0
    unmeasured = _BELOW_ANKLE
    if 0.03 * measured < top < 0.25 * measured:
        measured += top
    else:  # no end site on the head, or one that is a mere formality
        unmeasured += _ABOVE_HEAD
    return float(measured / (1.0 - unmeasured))


def leg_length(skeleton: Skeleton) -> float:
    """Length of the legs, hip to ankle along the bones, mean of both sides.

    Raises
    ------
    RoleError
        If a hip or an ankle is missing.

    Examples
    --------
    >>> import motionloom as ml
    >>> skeleton = ml.demo.clip("walk").skeleton
    >>> round(leg_length(skeleton.scaled(2.0)) / leg_length(skeleton), 6)
    2.0
    """
    tree = BodyTree(skeleton)
    legs = [skeleton.points([f"{side}_hip", f"{side}_ankle"]) for side in ("left", "right")]
    return float(np.mean([tree.length(int(hip), int(ankle)) for hip, ankle in legs]))


def _trunk(skeleton: Skeleton, tree: BodyTree, at: dict[str, int]) -> float:
    """Length along the bones from hips to head, without detours.

    Second Life's spine goes up and comes back twice, for bones that older bodies lack.
    """
    places, lengths = [np.zeros(3)], [0.0]
    for point in tree.between(at["hips"], at["head"]):
        offset = skeleton.point_offsets[point]
        place, length = places[-1] + offset, lengths[-1] + float(np.linalg.norm(offset))
        back = [n for n, old in enumerate(places) if np.linalg.norm(place - old) <= tree.near]
        if back:
            del places[back[0] + 1 :], lengths[back[0] + 1 :]
        else:
            places.append(place)
            lengths.append(length)
    return lengths[-1] or tree.length(at["hips"], at["head"])


def _hip_drop(skeleton: Skeleton, tree: BodyTree, at: dict[str, int]) -> float:
    """How far the hip joints lie below the hips, against the direction of the spine."""
    hips = at["hips"]
    spine = _offset(skeleton, tree, hips, at.get("spine", at["head"]))
    if np.linalg.norm(spine) <= tree.near:
        spine = _offset(skeleton, tree, hips, at["head"])
    length = float(np.linalg.norm(spine))
    sides = [at[role] for role in ("left_hip", "right_hip") if role in at]
    if length <= tree.near:
        return 0.0
    middle = np.mean([_offset(skeleton, tree, hips, joint) for joint in sides], axis=0)
    return float(-(middle @ spine) / length)


def _dropped_chest(skeleton: Skeleton, tree: BodyTree, at: dict[str, int]) -> float:
    """Length of the chest where a file puts the neck at the chest's own place.

    CMU's conversion drops the bone of the thorax, which is as long as each of the spine
    bones below it: on subject 1 2.065, 2.050 and 2.045 units in the Acclaim original.
    """
    if "chest" not in at:
        return 0.0
    above = tree.between(at["chest"], at["head"])[:-1]
    if not above or tree.apart(at["chest"], above[0]):
        return 0.0
    if "neck" not in split_words(skeleton.point_names[above[0]]):
        return 0.0
    way = tree.between(at["hips"], at["chest"])
    bones = [tree.reach[p] - tree.reach[tree.parents[p]] for p in way]
    bones = [bone for bone in bones if bone > tree.near]
    return sum(bones) / len(bones) if bones else 0.0


def _offset(skeleton: Skeleton, tree: BodyTree, top: int, bottom: int):
    """Offset from one point down to another, bones laid end to end in their own frames."""
    return sum((skeleton.point_offsets[p] for p in tree.between(top, bottom)), np.zeros(3))
