"""Joint roles derived from the shape of the tree alone, for joints with meaningless names.

A standing person has two joints with a pair of similar branches each: the hips with the legs, and
above them, on a third branch, the chest with the arms. Legs point away from the chest, and the
branch that continues the trunk above the chest is the neck. The toes give the forward direction,
and with it left and right. Everything is measured relative to the body, so the axes of the file do
not matter. Quadrupeds (legs perpendicular to the trunk), spiders (more than one pair of legs) and
chains are not assigned any roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from motionloom.motion.roles.from_names import RolePoints
from motionloom.motion.roles.joint_names import Label
from motionloom.motion.skeleton import BodyTree

_SURE = 0.6  # forward direction from the toes, or sides from the names
_GUESSED = 0.4  # no toes: assumed to face +Z, by convention
_UPRIGHT = -0.6  # cosine between trunk and legs: about 127 degrees apart or more
_SIMILAR = 0.8  # minimum ratio of the lengths of a left and a right limb
_LIMB_RATIO = 2.0  # upper and lower half of a limb: neither twice as long as the other


@dataclass(frozen=True)
class _TreeBranch:
    """Main line of a branch: points at distinct positions, from the trunk outward."""

    points: list[int]
    bones: list[float]  # length of the bone that ends at each point
    length: float


def shape_roles(tree: BodyTree, labels: Sequence[Label]) -> RolePoints:
    """Return the roles of an upright tree with two legs and two arms; empty for any other tree."""
    places = tree.rest_positions()
    if not tree.near > 0.0:
        return {}
    farthest = _farthest(tree)
    for hips in range(tree.joints):
        legs = _twins(tree, farthest, hips, least_bones=2)
        if legs is None:
            continue
        below_legs = {leg.points[0] for leg in legs}
        for chest in tree.below(hips):
            if tree.is_end_site(chest) or any(tree.is_above(top, chest) for top in below_legs):
                continue
            arms = _twins(tree, farthest, chest, least_bones=2)
            if arms is None or arms[0].length < 0.3 * legs[0].length:
                continue
            body = _body(tree, labels, places, farthest, hips, legs, chest, arms)
            if body:
                return body
    return {}


def _body(tree, labels, places, farthest, hips, legs, chest, arms) -> RolePoints:
    up = places[chest] - places[hips]
    trunk = float(np.linalg.norm(up))
    leg_parts = [part for part in map(_limb, legs) if part]
    arm_parts = [part for part in map(_limb, arms) if part]
    if trunk <= tree.near or len(leg_parts) < 2 or len(arm_parts) < 2:
        return {}
    up = up / trunk
    ankles = [leg.points[part[2]] for leg, part in zip(legs, leg_parts, strict=True)]
    down = np.mean([places[ankle] for ankle in ankles], axis=0) - places[hips]
    if float(up @ down) > _UPRIGHT * float(np.linalg.norm(down)):
        return {}
    left, sure = _left_direction(places, up, legs, ankles)
    roles: RolePoints = {"hips": (hips, sure), "chest": (chest, sure)}
    by_label = _labeled_sides(labels, tree, legs, arms)
    for pair, parts, read in ((legs, leg_parts, _leg_roles), (arms, arm_parts, _arm_roles)):
        order = by_label or _by_place(places, pair, left)
        for side, which in zip(("left", "right"), order, strict=True):
            for part, point in read(pair[which], parts[which]).items():
                roles[f"{side}_{part}"] = (point, max(sure, _SURE if by_label else 0.0))
    way = [p for p in tree.between(hips, chest) if tree.apart(hips, p)]
    if way:
        roles["spine"] = (way[0], sure)
    for side in ("left", "right"):
        first = tree.between(chest, roles[f"{side}_shoulder"][0])[0]
        if first != roles[f"{side}_shoulder"][0]:
            roles[f"{side}_collar"] = (first, sure)
    _head_roles(tree, places, farthest, chest, arms, up, sure, roles)
    return roles


# --- pairs of branches --------------------------------------------------------------------


def _farthest(tree: BodyTree) -> list[int]:
    """Return, for each point, the tip below it that is farthest along the bones."""
    tips = list(range(len(tree.parents)))
    for point in sorted(range(len(tips)), key=lambda p: -len(tree.path_up(p))):
        parent = tree.parents[point]
        if parent >= 0 and tree.reach[tips[point]] > tree.reach[tips[parent]]:
            tips[parent] = tips[point]
    return tips


def _branch(tree: BodyTree, farthest: list[int], parent: int, child: int) -> _TreeBranch:
    points, bones = [], []
    last = parent
    for point in tree.between(parent, farthest[child]):
        bone = tree.reach[point] - tree.reach[last]
        if bone > tree.near:
            points.append(point)
            bones.append(bone)
            last = point
    return _TreeBranch(points, bones, sum(bones))


def _twins(tree, farthest, joint, *, least_bones) -> tuple[_TreeBranch, _TreeBranch] | None:
    """Return a joint's longest pair of similar branches, or None if three are similar."""
    branches = [_branch(tree, farthest, joint, child) for child in tree.children[joint]]
    branches = [branch for branch in branches if len(branch.bones) > least_bones]
    branches.sort(key=lambda branch: -branch.length)
    for place, first in enumerate(branches[:-1]):
        alike = [branch for branch in branches[place + 1 :] if _alike(first, branch)]
        if len(alike) == 1:
            return first, alike[0]
        if alike:  # three or more similar limbs: a spider, a hand, a table
            return None
    return None


def _alike(a: _TreeBranch, b: _TreeBranch) -> bool:
    if abs(len(a.bones) - len(b.bones)) > 1:
        return False
    return min(a.length, b.length) >= _SIMILAR * max(a.length, b.length)


def _limb(branch: _TreeBranch) -> tuple[int, int, int] | None:
    """Return the branch indices of (hip, knee, ankle) or (shoulder, elbow, wrist).

    Thigh and shin, or upper arm and forearm, are the longest two neighboring bones.
    """
    starts = range(1, len(branch.bones) - 1)  # bone 0 leads from the trunk to the limb
    if not starts:
        return None
    upper = max(starts, key=lambda bone: branch.bones[bone] + branch.bones[bone + 1])
    a, b = branch.bones[upper], branch.bones[upper + 1]
    if max(a, b) > _LIMB_RATIO * min(a, b):
        return None
    return upper - 1, upper, upper + 1


# --- left and right -----------------------------------------------------------------------


def _left_direction(places, up, legs, ankles):
    """Return the direction to the character's left, and its confidence."""
    feet = [places[leg.points[-1]] - places[ankle] for leg, ankle in zip(legs, ankles, strict=True)]
    forward = np.mean(feet, axis=0)
    forward = forward - (forward @ up) * up
    if float(np.linalg.norm(forward)) > 0.05 * legs[0].length:
        return np.cross(up, forward), _SURE
    return np.array([1.0, 0.0, 0.0]), _GUESSED


def _by_place(places, pair, left) -> tuple[int, int]:
    ahead = [float(places[branch.points].mean(axis=0) @ left) for branch in pair]
    return (0, 1) if ahead[0] >= ahead[1] else (1, 0)


_ORDERS: dict[tuple[str | None, str | None], tuple[int, int]] = {
    ("left", "right"): (0, 1),
    ("right", "left"): (1, 0),
}


def _labeled_sides(labels, tree, legs, arms) -> tuple[int, int] | None:
    """Return the sides according to the joint names, if legs and arms agree."""
    orders = []
    for pair in (legs, arms):
        sides = []
        for branch in pair:
            said = [labels[p].side for p in branch.points if not tree.is_end_site(p)]
            named = {side for side in said if side}
            sides.append(named.pop() if len(named) == 1 else None)
        orders.append(_ORDERS.get((sides[0], sides[1])))
    return orders[0] if orders[0] == orders[1] else None


# --- roles along a branch -----------------------------------------------------------------


def _leg_roles(leg: _TreeBranch, part: tuple[int, int, int]) -> dict[str, int]:
    hip, knee, ankle = part
    roles = {"hip": leg.points[hip], "knee": leg.points[knee], "ankle": leg.points[ankle]}
    if ankle + 1 < len(leg.points):
        roles["foot"] = leg.points[ankle + 1]
        roles["toe"] = leg.points[-1]
    return roles


def _arm_roles(arm: _TreeBranch, part: tuple[int, int, int]) -> dict[str, int]:
    shoulder, elbow, wrist = part
    roles = {
        "shoulder": arm.points[shoulder],
        "elbow": arm.points[elbow],
        "wrist": arm.points[wrist],
    }
    if wrist + 1 < len(arm.points):
        roles["hand"] = arm.points[wrist + 1]
    return roles


def _head_roles(tree, places, farthest, chest, arms, up, sure, roles) -> None:
    """Return the neck and head from the branch of the chest that continues the trunk."""
    taken = {point for arm in arms for point in arm.points}
    best: list[int] = []
    height = 0.0
    for child in tree.children[chest]:
        branch = _branch(tree, farthest, chest, child)
        if not branch.points or taken.intersection(branch.points):
            continue
        rise = float((places[branch.points[-1]] - places[chest]) @ up)
        if rise > max(height, 0.3 * branch.length):
            best, height = branch.points, rise
    joints = [point for point in best if not tree.is_end_site(point)]
    if joints:
        roles["head"] = (joints[-1], sure)
        if len(joints) > 1:
            roles["neck"] = (joints[0], sure)
        if best[-1] != joints[-1]:
            roles["head_top"] = (best[-1], sure)
