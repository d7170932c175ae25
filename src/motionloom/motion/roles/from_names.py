"""Joint roles derived from names, which are interpreted in the context of the tree.

The same name means different joints in different rigs: HumanIK's ``LeftShoulder`` is the collar
bone because its child is ``LeftArm``, whereas Xsens' ``LeftShoulder`` is the upper arm because its
child is ``LeftElbow``. Limbs are therefore read as chains from the trunk outward, and ambiguous
names are resolved by their neighbors in the chain. The hips are where the legs meet, the chest
where the arms meet.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from motionloom.motion.roles.joint_names import ARM, LEG, Label
from motionloom.motion.skeleton import BodyTree

# Confidence of a role, depending on how it was found.
NAMED = 1.0  # the name and the tree agree
DECIDED = 0.95  # the name is ambiguous and its neighbors decide
INFERRED = 0.8  # the tree and the names of neighbors decide
SHARED = 0.6  # the skeleton is coarse, and the role shares a point with another

RolePoints = dict[str, tuple[int, float]]  # role -> point, confidence

_KNUCKLES = ("middle", "index", "finger", "hand", "ring", "pinky", "pinkie", "little", "palm")


def named_roles(tree: BodyTree, labels: Sequence[Label]) -> RolePoints:
    """Derive roles from joint labels; return a mapping from role to (point, confidence)."""
    roles: RolePoints = {}
    for side in ("left", "right"):
        limbs = _leg(tree, labels, side) | _arm(tree, labels, side)
        roles |= {f"{side}_{part}": place for part, place in limbs.items()}
    _trunk(tree, labels, roles)
    return roles


# --- limbs --------------------------------------------------------------------------------


class _Chain:
    """Joints of one limb from the trunk outward, with the body part that each one names."""

    def __init__(self, tree, labels, side, parts) -> None:
        wanted = [
            joint
            for joint, label in enumerate(labels)
            if label.side == side and label.part in parts and not label.tip
        ]
        members = set(wanted)
        best: list[int] = []
        richest = 0
        for joint in wanted:
            chain = [j for j in reversed(tree.path_up(joint)) if j in members]
            richness = len({labels[j].part for j in chain})
            if richness > richest:
                best, richest = chain, richness
        self.joints = best
        self.parts = [labels[joint].part for joint in best]
        self.roles: RolePoints = {}

    def take(self, role: str, place: int | None, sure: float) -> int | None:
        """Assign a role to the joint at an index of the chain, if it exists; return the index."""
        if place is not None:
            self.roles[role] = (self.joints[place], sure)
        return place

    def first(self, parts: Collection[str], after: int = -1) -> int | None:
        """Return the index in the chain of the first joint that names one of `parts`."""
        for place in range(after + 1, len(self.parts)):
            if self.parts[place] in parts:
                return place
        return None


def _leg(tree: BodyTree, labels: Sequence[Label], side: str) -> RolePoints:
    chain = _Chain(tree, labels, side, LEG)
    roles, take = chain.roles, chain.take
    hip = take("hip", chain.first({"thigh"}), NAMED)
    if hip is None:
        hip = take("hip", chain.first({"hip"}), DECIDED)
    if hip is None and chain.first({"shin", "foot", "ankle"}) is not None:
        hip = take("hip", chain.first({"leg"}), DECIDED)
    last = -1 if hip is None else hip
    knee = take("knee", chain.first({"shin"}, last), NAMED)
    if knee is None and hip is not None:
        knee = take("knee", chain.first({"leg"}, last), DECIDED)
    last = last if knee is None else knee
    ankle = take("ankle", chain.first({"ankle"}, last), NAMED)
    if ankle is None:
        ankle = take("ankle", chain.first({"foot"}, last), DECIDED)
    if ankle is None:
        tip = None if knee is None else _end_site(tree, chain.joints[knee])
        return roles if tip is None else roles | {"ankle": (tip, INFERRED)}
    foot = take("foot", chain.first({"ball"}, ankle), NAMED)
    if foot is None:
        foot = take("foot", chain.first({"foot", "toe"}, ankle), DECIDED)
    if foot is not None:
        ball = chain.joints[foot]
        tip = _tip(tree, labels, ball)
        roles["toe"] = (tip, INFERRED) if tip != ball else (ball, SHARED)
    else:
        tip = _tip(tree, labels, chain.joints[ankle])
        if tip != chain.joints[ankle]:
            roles["foot"] = roles["toe"] = (tip, SHARED)
    return roles


def _arm(tree: BodyTree, labels: Sequence[Label], side: str) -> RolePoints:
    chain = _Chain(tree, labels, side, ARM)
    roles, take = chain.roles, chain.take
    elbow = take("elbow", chain.first({"forearm"}), NAMED)
    upper = chain.first({"upperarm"})
    if elbow is None:
        start = upper if upper is not None else chain.first({"arm"})
        if start is not None:
            elbow = take("elbow", chain.first({"arm"}, start), DECIDED)
    end = len(chain.parts) if elbow is None else elbow
    shoulder = upper if upper is not None and upper < end else chain.first({"arm"})
    if shoulder is not None and shoulder < end:
        take("shoulder", shoulder, NAMED if shoulder == upper else DECIDED)
    else:  # no name for the upper arm: use the last "shoulder" before the elbow
        places = [place for place in range(end) if chain.parts[place] == "shoulder"]
        shoulder = take("shoulder", places[-1] if places else None, DECIDED)
    if shoulder is not None:
        collar = chain.first({"collar"})
        if collar is None:
            collar = chain.first({"shoulder"})
        if collar is not None and collar < shoulder:
            take("collar", collar, NAMED if chain.parts[collar] == "collar" else DECIDED)
    last = max((place for place in (shoulder, elbow) if place is not None), default=-1)
    wrist = take("wrist", chain.first({"wrist"}, last), NAMED)
    if wrist is None:
        wrist = take("wrist", chain.first({"hand"}, last), DECIDED)
    if wrist is not None:
        hand = _knuckles(tree, labels, chain.joints[wrist], side)
        if hand is not None:
            roles["hand"] = hand
    elif elbow is not None:  # an arm without a hand ends at the wrist
        tip = _end_site(tree, chain.joints[elbow])
        palms = [
            joint
            for joint in tree.below(chain.joints[elbow])
            if not tree.is_end_site(joint) and labels[joint].part == "palm"
        ]
        if tip is not None:
            roles["wrist"] = (tip, INFERRED)
        elif palms:  # the bones of the palm begin at the wrist
            roles["wrist"] = (palms[0], INFERRED)
    return roles


def _end_site(tree: BodyTree, joint: int) -> int | None:
    """Return the end site of a joint without other children, if it is at a different position."""
    below = tree.children[joint]
    if len(below) == 1 and tree.is_end_site(below[0]) and tree.apart(joint, below[0]):
        return below[0]
    return None


def _knuckles(
    tree: BodyTree, labels: Sequence[Label], wrist: int, side: str
) -> tuple[int, float] | None:
    """Return the point for the knuckles: the middle finger, or the tip of the hand."""
    by_part: dict[str, list[int]] = {}
    under = tree.below(wrist)
    for point in under:
        if not tree.is_end_site(point):
            label = labels[point]
            if label.part in _KNUCKLES and label.side in (side, None) and not label.tip:
                by_part.setdefault(label.part or "", []).append(point)
    for part in _KNUCKLES:
        joints = by_part.get(part, [])
        if part == "finger":
            joints = _middle_finger(labels, joints)
        distinct = [joint for joint in joints if tree.apart(wrist, joint)]
        if distinct:
            return distinct[0], NAMED if part != "palm" else INFERRED
    wrong = {
        joint
        for joint in under
        if not tree.is_end_site(joint) and (labels[joint].part == "thumb" or labels[joint].aside)
    }
    tips = [
        point
        for point in under
        if (not tree.children[point] or labels[point].tip)
        and not wrong.intersection(tree.path_up(point))
    ]
    # A tip at the wrist itself is useless; without lengths, all tips are equally good.
    tips.sort(key=lambda point: not tree.apart(wrist, point))
    return (tips[0], INFERRED) if tips else None


def _middle_finger(labels: Sequence[Label], joints: list[int]) -> list[int]:
    """Return the joints of the middle numbered finger (``Finger0`` or ``finger1`` is the thumb)."""
    groups = sorted({labels[joint].numbers[0][0] for joint in joints if labels[joint].numbers})
    if not groups:
        return joints
    middle = groups[len(groups) // 2]
    return [j for j in joints if labels[j].numbers and labels[j].numbers[0][0] == middle]


def _tip(tree: BodyTree, labels: Sequence[Label], point: int) -> int:
    """Return the end of the chain below `point`: a joint named as a tip, an end site or a leaf."""
    while True:
        children = [
            child
            for child in tree.children[point]
            if tree.is_end_site(child) or not labels[child].aside
        ]
        if not children:
            return point
        joints = [child for child in children if not tree.is_end_site(child)]
        if joints:
            # The big toe comes first in every known rig.
            point = joints[0]
            if labels[point].tip:
                return point
        else:
            return max(children, key=lambda child: tree.reach[child])


# --- trunk --------------------------------------------------------------------------------


def _trunk(tree: BodyTree, labels: Sequence[Label], roles: RolePoints) -> None:
    named: dict[str, list[int]] = {}
    for joint, label in enumerate(labels):
        if label.side is None and label.part and not label.tip:
            named.setdefault(label.part, []).append(joint)
    legs = _meeting(tree, roles, ("hip",))
    arms = _meeting(tree, roles, ("collar", "shoulder"))

    hips = _hips(tree, named, legs, arms)
    if hips:
        roles["hips"] = hips
    chest = _chest(tree, labels, named, arms, hips[0] if hips else None)
    if chest:
        roles["chest"] = chest
    head = _head(tree, labels, named, chest, hips[0] if hips else None, roles)
    if head:
        roles["head"] = head
        top = _head_top(tree, labels, head[0]) if head[1] > SHARED else None
        if top:
            roles["head_top"] = top
    neck = _neck(tree, named, chest, head)
    if neck:
        roles["neck"] = neck
    spine = _spine(tree, labels, named, hips, chest)
    if spine:
        roles["spine"] = spine


def _meeting(tree: BodyTree, assigned: RolePoints, parts: Sequence[str]) -> int | None:
    """Return the common ancestor of the left and right limbs, from the first part that exists."""
    starts = []
    for side in ("left", "right"):
        roles = [f"{side}_{part}" for part in parts if f"{side}_{part}" in assigned]
        if not roles:
            return None
        starts.append(assigned[roles[0]][0])
    return tree.meeting(*starts)


def _hips(tree, named, legs, arms) -> tuple[int, float] | None:
    candidates = named.get("hips", [])
    if legs is None:
        return (candidates[0], INFERRED) if candidates else None
    above = [joint for joint in candidates if tree.is_above(joint, legs)]
    both = [joint for joint in above if arms is None or tree.is_above(joint, arms)]
    if both or above:
        return (both or above)[-1], NAMED
    siblings = [joint for joint in candidates if tree.parents[joint] == legs]
    inside = tree.parents[legs] >= 0  # a joint of the body carries both, as in Quaternius' rigs
    if siblings and not inside and arms is not None and tree.is_above(siblings[0], arms):
        return siblings[0], DECIDED  # the legs have a separate root next to the pelvis
    return legs, INFERRED


def _chest(tree, labels, named, arms, hips) -> tuple[int, float] | None:
    trunk = named.get("chest", []) + named.get("spine", [])
    if arms is not None and arms != hips and (hips is None or not tree.is_above(arms, hips)):
        if labels[arms].part in ("chest", "spine"):
            return arms, NAMED
        if labels[arms].part != "neck":
            return arms, INFERRED
        # Collar bones that hang on the neck (3ds Max): the chest is the joint below it.
        for joint in tree.path_up(arms)[1:]:
            if joint == hips:
                break
            if joint in trunk:
                return joint, DECIDED
        return arms, SHARED
    chests = [j for j in named.get("chest", []) if hips is None or tree.is_above(hips, j)]
    if chests:
        return chests[-1], INFERRED
    above = set(tree.path_up(hips)[1:]) if hips is not None else set()
    hanging = [joint for joint in named.get("chest", []) if joint in above]
    if hanging:  # a tree with the head as root (headsets): the chest is nearest to the head
        return hanging[0], INFERRED
    neck = named.get("neck", []) + named.get("head", [])
    for joint in tree.path_up(neck[0])[1:] if neck else []:
        if joint in trunk and joint != hips:
            return joint, INFERRED
    return None


def _head(tree, labels, named, chest, hips, roles) -> tuple[int, float] | None:
    trunk = chest[0] if chest else hips
    for part, sure in (("head", NAMED), ("nose", SHARED)):
        for joint in named.get(part, []):
            if trunk is None:
                return joint, min(sure, INFERRED)
            if tree.is_above(trunk, joint):
                return joint, sure
            if part == "head" and tree.is_above(joint, trunk):
                return joint, DECIDED
    if chest is None or (hips is not None and chest[0] == hips):
        return None
    # No name for the head: the last joint of the longest branch of the chest without arms.
    limbs = {point for role, (point, _) in roles.items() if role.startswith(("left", "right"))}
    taken = {joint for point in limbs for joint in tree.path_up(point)}
    chains = []
    for joint in tree.below(chest[0]):
        if tree.is_end_site(joint) or labels[joint].aside or labels[joint].tip:
            continue
        if labels[joint].side is None and joint not in taken:
            chains.append(joint)
    if not chains:
        return None
    head = max(chains, key=lambda joint: (len(tree.path_up(joint)), -joint))
    if head not in named.get("neck", []):
        return head, INFERRED
    # Only a neck: the head begins where the neck ends, at an end site or a joint of the face.
    ends = [p for p in tree.children[head] if tree.is_end_site(p) or labels[p].side is None]
    ends = [point for point in ends if tree.apart(head, point)]
    return (max(ends, key=lambda point: tree.reach[point]), SHARED) if ends else None


def _head_top(tree, labels, head) -> tuple[int, float] | None:
    below = tree.below(head)
    for point in below:
        if not tree.is_end_site(point):
            label = labels[point]
            if label.part == "headtop" or (label.tip and label.part in ("head", None)):
                if label.side is None and not label.aside:
                    return point, NAMED
    sites = [point for point in tree.children[head] if tree.is_end_site(point)]
    if not sites:
        # "Head" is continued by a joint of the same name, whose end is the top.
        heads = [c for c in tree.children[head] if c < tree.joints and labels[c].part == "head"]
        if heads:
            tip = _tip(tree, labels, heads[-1])
            return tip, INFERRED
        return None
    return max(sites, key=lambda point: tree.reach[point]), INFERRED


def _neck(tree, named, chest, head) -> tuple[int, float] | None:
    necks = named.get("neck", [])
    if head is not None:
        on_path = set(tree.path_up(head[0])[1:])
        if chest is not None and tree.is_above(head[0], chest[0]):
            on_path = set(tree.between(head[0], chest[0])[:-1])
        necks = [joint for joint in necks if joint in on_path]
        if not necks and chest is not None:
            way = tree.between(chest[0], head[0])[:-1]
            necks_by_place = [joint for joint in way if tree.apart(chest[0], joint)] or way
            return (necks_by_place[0], INFERRED) if necks_by_place else None
    if not necks:
        return None
    if chest is not None:  # a neck joint at the position of the chest is not the neck
        distinct = [joint for joint in necks if tree.apart(chest[0], joint)]
        if distinct and distinct[0] != necks[0]:
            return distinct[0], DECIDED
    return necks[0], NAMED


def _spine(tree, labels, named, hips, chest) -> tuple[int, float] | None:
    if hips is None:
        return None
    if chest is None:
        spines = [j for j in named.get("spine", []) if tree.is_above(hips[0], j) and j != hips[0]]
        return (spines[0], INFERRED) if spines else None
    way = tree.between(hips[0], chest[0]) or tree.between(chest[0], hips[0])[-2::-1]
    if not way or labels[chest[0]].part == "neck":
        return None
    spoken = [joint for joint in way if labels[joint].part in ("spine", "chest")] or way
    distinct = [joint for joint in spoken if tree.apart(hips[0], joint)] or spoken
    spine = distinct[0]
    if spine == chest[0]:
        return spine, SHARED
    sure = NAMED if labels[spine].part == "spine" and spine == spoken[0] else DECIDED
    return spine, sure
