"""Legs, arms, trunk and head of a robot, found from the shape of its tree of hinges.

Names of robots follow no rule (``left_hip_pitch_link``, ``Hip_Pitch_Left``, ``AL1``), but their
trees do. With all hinges at zero, limbs are pairs of chains that mirror each other. The lowest pair
are the legs. The pair that hangs from the trunk above the hips are the arms. The knee and the elbow
are the hinges across the limb that divide it best. The user's roles override them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.character.robot.model import Robot, rigid_points
from motionloom.errors import MotionFormatError
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

SIDES = ("left", "right")
_LEG, _ARM = ("hip", "knee", "ankle"), ("shoulder", "elbow", "wrist")
_MIDLINE = 0.02  # meters: bodies closer to the middle plane belong to both sides
_MIRRORED = 0.03  # meters: tolerance of mirrored limbs
_NEAR_JOINT = 0.25  # of the upper limb: hinges closer than this to the first form one joint
_UPPER = 0.3  # of a limb: the knee or elbow is farther than this from the trunk
_ACROSS = 0.6  # sine of the angle between a hinge and the limb that it bends


@dataclass(frozen=True, eq=False)
class Site:
    """A named point of a node, in the frame of the node."""

    name: str
    node: int
    offset: Array


@dataclass(frozen=True)
class RobotLimb:
    """Nodes of one leg or arm.

    `root` is the shoulder or hip, `middle` the knee or elbow, `end` the ankle or wrist, and `last`
    the last node, which carries the foot or hand. `tip` is the farthest point of the last node, in
    its frame; of a foot, it is the middle of the front edge of the sole. `heel` is the middle of
    its rear edge. `chain` lists the hinged nodes from the trunk outward.
    """

    root: int
    middle: int
    end: int
    last: int
    tip: Array
    heel: Array
    chain: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Anatomy:
    """Parts of a humanoid robot.

    Attributes
    ----------
    pelvis, chest : int
        Nodes at which the legs and the arms meet.
    neck, head : int or None
        First and last node of a head that moves.
    legs, arms : tuple of RobotLimb
        Left and right.
    head_top : Site
    sites : tuple of Site
        End sites of the robot's skeleton.
    roles : dict of str to str
        Role -> name of a node or site.
    """

    pelvis: int
    chest: int
    neck: int | None
    head: int | None
    legs: tuple[RobotLimb, RobotLimb]
    arms: tuple[RobotLimb, RobotLimb]
    head_top: Site
    sites: tuple[Site, ...]
    roles: dict[str, str]


class _Finder:
    """Zero pose and tree of hinges of a robot."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.turns, self.places = robot.zero_frames()
        count = len(robot.names)
        self.mover = np.zeros(count, int)  # nearest node above, or itself, that has a hinge
        for node in range(1, count):
            hinged = robot.node_hinges[node] >= 0
            self.mover[node] = node if hinged else self.mover[robot.parents[node]]
        self._hulls: dict[int, Array] = {}
        self.children: dict[int, list[int]] = {0: []}
        for node in robot.joint_nodes:
            above = self.mover[robot.parents[node]]
            self.children.setdefault(int(above), []).append(int(node))
            self.children.setdefault(int(node), [])

    def refuse(self, problem: str) -> NoReturn:
        raise MotionFormatError(
            f"{problem}. The model must be a humanoid with two legs and two arms",
            path=self.robot.path,
        )

    def hull(self, mover: int) -> Array:
        """Return points of the surface that a hinge carries, in the world of the zero pose."""
        if mover not in self._hulls:
            shapes = [s for s in self.robot.shapes if self.mover[s.node] == mover]
            points = [self.places[self.mover == mover]]
            for shape in [s for s in shapes if s.collides] or shapes:
                corners, radius = rigid_points(shape)
                world = rot.rotate(self.turns[shape.node], corners) + self.places[shape.node]
                grow = radius * np.concatenate([np.eye(3), -np.eye(3)])
                points.append((world[:, None] + grow).reshape(-1, 3) if radius else world)
            self._hulls[mover] = np.concatenate(points)
        return self._hulls[mover]

    def path(self, node: int) -> list[int]:
        """Return the hinged nodes from the base (exclusive) to a node."""
        path = []
        while node > 0:
            path.append(node)
            node = int(self.mover[self.robot.parents[node]])
        return path[::-1]

    def limbs(self) -> list[tuple[list[int], list[int]]]:
        """Return pairs (left, right) of chains of hinges that mirror each other."""
        ends = [n for n in self.children if n and not self.children[n]]
        cut = set()
        for node, below in self.children.items():  # fingers: a hand ends where they branch
            if len(below) > 1 and abs(self.places[node][0]) > 0.05:
                cut.add(node)
        ends = [self._until(end, cut) for end in ends]
        ends = sorted(set(ends))
        pairs = []
        for left in ends:
            place = self.places[left]
            if place[0] < _MIDLINE:
                continue
            mirrored = place * np.array([-1.0, 1.0, 1.0])
            for right in ends:
                if np.linalg.norm(self.places[right] - mirrored) < _MIRRORED:
                    pairs.append((self.path(left), self.path(right)))
                    break
        return pairs

    def _until(self, end: int, cut: set[int]) -> int:
        for node in self.path(end):
            if node in cut:
                return node
        return end


def find_anatomy(robot: Robot) -> Anatomy:
    """Find the parts of a humanoid robot.

    Raises
    ------
    MotionFormatError
        If the robot does not have two legs below two arms.
    """
    finder = _Finder(robot)
    pairs = [pair for pair in finder.limbs() if _own(pair[0], pair[1])]
    if not pairs:
        finder.refuse("the model has no pair of limbs")
    if len(pairs) < 2:
        finder.refuse("the model has only one pair of limbs")
    low = lambda pair: float(finder.hull(pair[0][-1])[:, 1].min())  # noqa: E731
    pairs.sort(key=low)
    legs = pairs[0]
    joint = finder.places[_own(*legs)[0]]
    others = [p for p in pairs[1:] if len(_own(*p)) >= 2]
    arms = max(others, key=lambda p: float(finder.places[_own(*p)[0]][1]), default=None)
    reach = float(joint[1] - low(legs))
    if arms is None or reach <= 0.0:
        finder.refuse("the model has no legs below its hips")
    if finder.places[_own(*arms)[0]][1] - joint[1] < 0.15 * reach:
        finder.refuse("the limbs hang at one height, as in an animal")
    if len(_own(*legs)) < 3:
        finder.refuse(f"the legs have only {len(_own(*legs))} hinges")
    pelvis, chest = _meeting(legs), _meeting(arms)
    given = {r: robot.names.index(n) for r, n in robot.role_map.items() if n in robot.names}
    chest = given.get("chest", chest)
    limbs = [
        _given(given, side, parts, _limb(finder, chain, foot=parts is _LEG))
        for pair, parts in ((legs, _LEG), (arms, _ARM))
        for side, chain in zip(SIDES, _sides(pair), strict=True)
    ]
    left_leg, right_leg, left_arm, right_arm = limbs
    neck, head = _head(finder, chest, set(legs[0] + legs[1] + arms[0] + arms[1]))
    top = _head_top(finder, chest, head)
    sites = _sites(finder, (left_leg, right_leg), (left_arm, right_arm), chest, head, top)
    roles = _roles(finder, (left_leg, right_leg), (left_arm, right_arm), chest, neck, head, sites)
    return Anatomy(
        pelvis, chest, neck, head, (left_leg, right_leg), (left_arm, right_arm), top, sites, roles
    )


def _own(left: list[int], right: list[int]) -> list[int]:
    """Return the nodes of the left chain that the right chain does not share."""
    shared = set(left) & set(right)
    return [node for node in left if node not in shared]


def _sides(pair: tuple[list[int], list[int]]) -> tuple[list[int], list[int]]:
    left, right = pair
    return _own(left, right), _own(right, left)


def _meeting(pair: tuple[list[int], list[int]]) -> int:
    shared = [node for node in pair[0] if node in set(pair[1])]
    return shared[-1] if shared else 0


def _limb(finder: _Finder, chain: list[int], *, foot: bool) -> RobotLimb:
    robot, places = finder.robot, finder.places
    last = chain[-1]
    hull = finder.hull(last)
    start = places[chain[0]]
    if foot:
        sole = hull[:, 1].min()
        ground = hull[hull[:, 1] < sole + 0.02]
        middle = 0.5 * (ground[:, 0].min() + ground[:, 0].max())
        tip = np.array([middle, sole, ground[:, 2].max()])
        heel = np.array([middle, sole, ground[:, 2].min()])
        if tip[2] - heel[2] < 0.03:
            finder.refuse(
                f"the foot {robot.names[last]!r} has no shape; its mesh is missing or too small"
            )
    else:
        far = hull[np.argmax(np.linalg.norm(hull - places[last], axis=1))]
        tip = heel = far
    goal = places[last] if foot else tip
    stops = [places[node] for node in chain] + [goal]
    steps = [float(np.linalg.norm(stops[k + 1] - stops[k])) for k in range(len(chain))]
    total, passed = sum(steps), np.cumsum([0.0, *steps])

    def bends(k: int) -> bool:
        """Return whether a hinge is across the limb and far enough from both ends."""
        axis = rot.rotate(finder.turns[chain[k]], robot.axes[chain[k]])
        line = goal - places[chain[k]]
        across = np.linalg.norm(np.cross(axis, line)) / max(float(np.linalg.norm(line)), 1e-9)
        came = places[chain[k]] - stops[max(k - 1, 0)]
        twists = abs(float(axis @ came)) > 0.8 * float(np.linalg.norm(came)) > 0.0
        inside = _UPPER * total < passed[k] < (1.0 - 0.5 * _UPPER) * total
        return bool(across > _ACROSS and inside and not twists)

    middle_node = next((node for k, node in enumerate(chain) if bends(k)), None)
    if middle_node is None:
        finder.refuse(f"the limb that ends in {robot.names[last]!r} has no knee or elbow")
    rank = chain.index(middle_node)
    upper = places[middle_node] - start
    length = float(upper @ upper)
    root = chain[0]
    for node in chain[:rank]:
        if abs(float((places[node] - start) @ upper)) < _NEAR_JOINT * length:
            root = node
    end = last
    for node in chain[rank + 1 :]:
        axis = rot.rotate(finder.turns[node], robot.axes[node])
        line = places[node] - places[middle_node]
        size = float(np.linalg.norm(line))
        twist = size < 0.03 or abs(float(axis @ line)) / size > 0.8
        if not twist or foot:
            end = node
            break
    local = lambda point: rot.rotate(rot.inverse(finder.turns[last]), point - places[last])  # noqa: E731
    return RobotLimb(root, middle_node, end, last, local(tip), local(heel), tuple(chain))


def _given(given: dict[str, int], side: str, parts: tuple[str, ...], limb: RobotLimb) -> RobotLimb:
    """Return the limb with the user's joints."""
    root, middle, end = (
        given.get(f"{side}_{part}", node)
        for part, node in zip(parts, (limb.root, limb.middle, limb.end), strict=True)
    )
    return replace(limb, root=root, middle=middle, end=end)


def _head(finder: _Finder, chest: int, limbs: set[int]) -> tuple[int | None, int | None]:
    """Return the first and last node of the longest chain on the midline above the chest."""
    best: list[int] = []
    for node in finder.children:
        path = finder.path(node)
        above = path[path.index(chest) + 1 :] if chest in path else path if not chest else []
        middle = all(abs(finder.places[n][0]) < _MIDLINE and n not in limbs for n in above)
        high = above and finder.places[above[0]][1] > finder.places[chest][1]
        if high and middle and len(above) > len(best):
            best = above
    return (best[0], best[-1]) if best else (None, None)


def _head_top(finder: _Finder, chest: int, head: int | None) -> Site:
    node = chest if head is None else head
    hull = finder.hull(node)
    central = hull[np.abs(hull[:, 0]) < 0.12]
    top = (central if len(central) else hull)[:, 1].max()
    place = np.array([finder.places[node][0], top, finder.places[node][2]])
    local = rot.rotate(rot.inverse(finder.turns[node]), place - finder.places[node])
    return Site("head_top", node, local)


def _sites(finder, legs, arms, chest, head, top) -> tuple[Site, ...]:
    sites = [top]
    if head is None:  # the head is part of the trunk: the neck begins between the shoulders
        shoulders = np.mean([finder.places[arm.root] for arm in arms], axis=0)
        crown = rot.rotate(finder.turns[chest], top.offset) + finder.places[chest]
        back = rot.inverse(finder.turns[chest])
        for name, share in (("neck", 0.25), ("head", 0.6)):
            place = shoulders + share * (crown - shoulders)
            sites.append(Site(name, chest, rot.rotate(back, place - finder.places[chest])))
    for side, leg, arm in zip(SIDES, legs, arms, strict=True):
        sites += [
            Site(f"{side}_toe_tip", leg.last, leg.tip),
            Site(f"{side}_heel", leg.last, leg.heel),
            Site(f"{side}_hand_tip", arm.last, arm.tip),
        ]
    taken = set(finder.robot.names)
    return tuple(
        Site(s.name if s.name not in taken else f"{s.name}_site", s.node, s.offset) for s in sites
    )


def _roles(finder, legs, arms, chest, neck, head, sites) -> dict[str, str]:
    names = finder.robot.names
    site = {each.name.removesuffix("_site"): each.name for each in sites}
    roles = {"hips": names[0], "head_top": site["head_top"]}
    if chest > 0:
        path = finder.path(chest)
        roles["spine"], roles["chest"] = names[path[0]], names[chest]
    roles["neck"] = site["neck"] if neck is None else names[neck]
    roles["head"] = site["head"] if head is None else names[head]
    for side, leg, arm in zip(SIDES, legs, arms, strict=True):
        roles |= {
            f"{side}_hip": names[leg.root],
            f"{side}_knee": names[leg.middle],
            f"{side}_ankle": names[leg.end],
            f"{side}_foot": site[f"{side}_toe_tip"],
            f"{side}_toe": site[f"{side}_toe_tip"],
            f"{side}_shoulder": names[arm.root],
            f"{side}_elbow": names[arm.middle],
            f"{side}_wrist": names[arm.end] if arm.end != arm.middle else site[f"{side}_hand_tip"],
            f"{side}_hand": site[f"{side}_hand_tip"],
        }
    # Roles that are not found must be removed, or they would be guessed from the names.
    from motionloom.motion.roles.assignment import ROLES

    return {role: roles.get(role, "") for role in ROLES} | dict(finder.robot.role_map)
