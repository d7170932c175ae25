"""Neutral pose: the posture in which skeletons from different rigs are compared.

Local rotations of different rigs cannot be compared, because their axes and rest poses differ.
World rotations can be compared if they are relative to a common posture: upright, facing +Z, arms
out to the sides, legs straight, feet flat. The rest pose is rotated into this posture from the
trunk outward. The trunk rotates about the vertical (or freely, if it does not rest upright), arms
and legs follow bone by bone with the shortest rotation, and feet are placed flat on the ground
regardless of their shape.

In many files, the zero pose is impossible for a body: all bones point along one axis, because joint
axes follow the bones and the file has no other rest pose (LAFAN1, Bandai-Namco, most rigs written
without their bind pose). Such a pose is recognized part by part. Its signs are an arm along the
spine, a leg next to the head, collars that do not lead to the side, and sides that are not mirror
images. The bone directions of the neutral pose are the same as for any rig. However, the rest pose
then does not show the twist of each bone or the natural position of collars and feet;
`motionloom.motion.retargeting.observed_pose` takes these from a motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.kinematics.forward import global_rotations
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import BodyTree, Skeleton, once_per_skeleton

Array = NDArray[np.float64]

TRUNK = ("hips", "spine", "chest", "neck", "head")
ARM, LEG = ("shoulder", "elbow", "wrist"), ("hip", "knee", "ankle")
_FOOT = ("ankle", "foot", "toe")
LEFT, UP, AHEAD = np.eye(3)

# Body parts that differ by less than this from the neutral pose differ in shape, not in pose.
_SHAPE = np.radians(40.0)
# A collar bone farther than this from the lateral direction does not lead to the shoulder ...
_COLLAR_RAISED = np.radians(60.0)
# ... if the shoulders at rest are also closer together than this, in leg lengths. Bodies have 0.25
# (Bandai-Namco) to 0.5; zero poses with all bones along one axis have 0.14 or less.
_NARROW_SHOULDERS = 0.2
_NO_SHOULDERS = 0.03  # leg lengths: shoulders closer together do not distinguish left and right
# Collars without a usable rest pose lead to the side and slightly back. Measured on motions: 7
# degrees in LAFAN1, 18 in Bandai-Namco, 3 in CMU.
_COLLAR_BACK = np.radians(10.0)
# They rise to shoulders at this distance below the neck, in leg lengths: 0.065 in LAFAN1, 0.04 in
# Bandai-Namco, 0.06 in the built-in corpus. The rise is limited, because necks begin at different
# heights.
_SHOULDER_DROP = 0.05
_COLLAR_RISE = (np.radians(-5.0), np.radians(40.0))
# Arms closer than this to the direction of the spine are not a rest pose.
_ARM_RAISED = np.radians(40.0)
_LEG_RAISED = np.radians(100.0)
_FOLD = np.radians(50.0)  # limit for a trunk that is not straight at rest; 20 degrees in LAFAN1
_FOLDED = np.radians(120.0)  # an elbow or a knee bent by more than this is folded
# Height of the ankle above the ball of a flat foot, in leg lengths: 0.066 in the built-in corpus,
# 0.07 in CMU, 0.10 in LAFAN1, 0.08 in Bandai-Namco.
_INSTEP = 0.08
_STEEPEST_FOOT = np.radians(50.0)


@dataclass(frozen=True)
class NeutralPose:
    """Neutral pose of a skeleton.

    Attributes
    ----------
    turns : dict of str to ndarray, shape (4,)
        World rotation ``wxyz`` of each role from the rest pose to the neutral pose.
    unknown : frozenset of str
        Roles for which the rest pose is not usable.
    assumed : frozenset of str
        Unknown roles that no motion has shown either. Their limb directions are known, but the
        twist of bones, the rise of collars and the slope of feet are assumed.
    """

    turns: dict[str, Array]
    unknown: frozenset[str] = frozenset()
    assumed: frozenset[str] = frozenset()

    def shoulder_width(self, skeleton: Skeleton) -> float | None:
        """Distance between the shoulders in this pose, or None if the skeleton has no chest."""
        rest = RestDirections(skeleton)
        ends = []
        for side in SIDES:
            carriers = ("chest", f"{side}_collar", f"{side}_shoulder")
            roles = [role for role in carriers if role in rest.place]
            if "chest" not in roles or f"{side}_shoulder" not in roles:
                return None
            bones = zip(roles, roles[1:], strict=False)
            ends.append(
                sum(
                    rot.rotate(self.turns[low], rest.place[high] - rest.place[low])
                    for low, high in bones
                )
            )
        return float(np.linalg.norm(ends[0] - ends[1]))


@once_per_skeleton
def global_rest_rotations(skeleton: Skeleton) -> Array:
    """World rotations ``wxyz`` of the joints at rest, shape (J, 4), read-only.

    Examples
    --------
    >>> import motionloom as ml
    >>> global_rest_rotations(ml.demo.clip("walk").skeleton).shape
    (21, 4)
    """
    turned = global_rotations(skeleton.rest_rotations[None], skeleton.parents)[0].astype(np.float64)
    turned.setflags(write=False)
    return turned


@once_per_skeleton
def neutral_pose(skeleton: Skeleton) -> NeutralPose:
    """Compute the neutral pose of a skeleton from its roles, offsets and rest pose.

    Examples
    --------
    >>> import motionloom as ml
    >>> pose = neutral_pose(ml.demo.PERFORMERS[0].skeleton)  # it rests in a T-pose
    >>> bool(np.allclose(pose.turns["left_knee"], rot.IDENTITY)), sorted(pose.unknown)
    (True, [])
    """
    rest = RestDirections(skeleton)
    pelvis = _trunk_turn(rest)
    upper, usable = _upper_trunk_turn(rest, pelvis)
    turns = {role: upper for role in (*TRUNK, "head_top")}
    turns["hips"] = pelvis
    if not usable:
        turns["head"] = turns["head_top"] = onto(upper, rest.direction("head", "head_top"), UP)
    unknown = set() if usable else {*TRUNK[1:], "head_top"}
    unknown |= _add_arms(rest, upper, turns)
    unknown |= _add_legs(rest, pelvis, turns)
    for turn in turns.values():
        turn.setflags(write=False)
    return NeutralPose(turns, frozenset(unknown), frozenset(unknown & skeleton.roles.keys()))


def bone_direction(role: str) -> Array | None:
    """Return the direction (3,), in the neutral pose, of the bone that starts at a limb joint.

    Examples
    --------
    >>> bone_direction("left_elbow")
    array([1., 0., 0.])
    """
    side, _, part = role.partition("_")
    if part in ARM[:2]:
        return LEFT if side == "left" else -LEFT
    return -UP if part in LEG[:2] else None


def onto(turn: Array, there: Array | None, here: Array | None) -> Array:
    """Compose `turn` (4,) with the shortest rotation from direction `there` (3,) to `here` (3,).

    A limb that points the opposite way is first rotated about the forward axis.
    """
    if there is None or here is None:
        return turn
    carried = rot.rotate(turn, there)
    if angle(carried, here) > np.radians(150.0) and abs(carried @ AHEAD) < 0.7:
        turn = rot.multiply(rot.from_axis_angle(AHEAD, np.pi), turn)
        carried = rot.rotate(turn, there)
    return rot.multiply(rot.between(carried, here), turn)


def assumed_foot(rest: RestDirections, side: str, shank: Array) -> dict[str, Array]:
    """Return the rotations of a flat foot without a usable rest pose, derived from the shank."""
    ankle, ball = f"{side}_ankle", f"{side}_foot"
    sole = onto(shank, rest.of(ankle), rest.sloping(side))
    toes = onto(sole, rest.of(ball) if rest.of(ball) is not None else rest.of(ankle), AHEAD)
    return {ankle: sole, ball: toes, f"{side}_toe": toes}


def facing_turn(up: Array, left: Array) -> Array:
    """Return the rotation (4,) that takes `up` to +Y and the perpendicular part of `left` to +X.

    Examples
    --------
    >>> rot.rotate(facing_turn(np.array([1.0, 0, 0]), np.array([0, 0, 1.0])), [2.0, 0, 0]).round(6)
    array([0., 2., 0.])
    """
    left = left - (left @ up) * up
    left = left / max(float(np.linalg.norm(left)), 1e-9)
    return rot.from_matrix(np.stack([left, up, np.cross(left, up)]))


def angle(a: Array, b: Array) -> float:
    """Return the angle between two unit vectors in radians."""
    return float(np.arccos(np.clip(a @ b, -1.0, 1.0)))


class RestDirections:
    """Directions between a skeleton's roles at rest."""

    def __init__(self, skeleton: Skeleton) -> None:
        tree = BodyTree(skeleton)
        points = tree.rest_positions()
        index = {name: k for k, name in enumerate(skeleton.point_names)}
        self.place = {role: points[index[name]] for role, name in skeleton.roles.items()}
        legs = [
            tree.length(
                index[skeleton.roles[f"{side}_hip"]], index[skeleton.roles[f"{side}_ankle"]]
            )
            for side in SIDES
            if {f"{side}_hip", f"{side}_ankle"} <= skeleton.roles.keys()
        ]
        self.leg = float(np.mean(legs)) if legs else 0.0

    def line(self, first: str, second: str) -> Array | None:
        """Return the vector from one role to another, or None if the skeleton lacks either."""
        if first not in self.place or second not in self.place:
            return None
        return self.place[second] - self.place[first]

    def direction(self, first: str, second: str) -> Array | None:
        """Return the unit vector from one role to another, or None if it is undefined."""
        line = self.line(first, second)
        return None if line is None else _unit(line)

    def of(self, role: str) -> Array | None:
        """Return the direction of the trunk or of the bone that starts at a joint, or None."""
        if role in TRUNK:
            return self.pelvis()[1] if role == "hips" else self.chest_up()
        side, _, part = role.partition("_")
        for chain in (("collar", *ARM, "hand"), (*LEG, "foot", "toe")):
            if part in chain[:-1]:
                return self.direction(role, f"{side}_{chain[chain.index(part) + 1]}")
        return None

    def sloping(self, side: str) -> Array:
        """Return the ankle-to-ball direction of a flat foot with an assumed slope."""
        foot = self.line(f"{side}_ankle", f"{side}_foot")
        length = 0.0 if foot is None else float(np.linalg.norm(foot))
        fall = np.arcsin(min(_INSTEP * self.leg / max(length, 1e-9), np.sin(_STEEPEST_FOOT)))
        return np.cos(fall) * AHEAD - np.sin(fall) * UP

    def pelvis(self) -> tuple[Array | None, Array | None]:
        """Return the left and up directions of the pelvis at rest."""
        left = self.direction("right_hip", "left_hip")
        if left is None:
            left = self.direction("right_shoulder", "left_shoulder")
        up = self._spine("hips")
        return left, up if self.straight else self._bone("hips")

    def chest_up(self) -> Array | None:
        """Return the up direction of the chest at rest."""
        return self._spine("hips") if self.straight else self._bone("chest")

    @cached_property
    def straight(self) -> bool:
        """Return whether the trunk at rest is straight and perpendicular to the hip line.

        The trunk is not straight if the pelvis has world axes while all other axes follow their
        bones (Rokoko), because the spine then points to the side in the zero pose.
        """
        whole = self._spine("hips")
        bones = [self._bone(role) for role in ("hips", "chest")]
        left = self.direction("right_hip", "left_hip")
        if whole is None or any(bone is not None and angle(bone, whole) > _FOLD for bone in bones):
            return whole is None
        return left is None or abs(angle(left, whole) - np.pi / 2) < _SHAPE

    def _spine(self, first: str) -> Array | None:
        """Return the direction from a trunk role to the neck or the highest role that exists."""
        for top in ("neck", "head", "chest", "spine"):
            line = self.direction(first, top)
            if line is not None:
                return line
        return None

    def _bone(self, first: str) -> Array | None:
        """Return the direction from a trunk role to the next one above it."""
        for top in TRUNK[TRUNK.index(first) + 1 :]:
            line = self.direction(first, top)
            if line is not None:
                return line
        return None


def _trunk_turn(rest: RestDirections) -> Array:
    """Return the pelvis rotation, limited to the vertical axis if the pelvis rests upright."""
    left, up = rest.pelvis()
    if left is None or up is None:
        return rot.IDENTITY.copy()
    about = float(np.arctan2(left[2], left[0]))
    turn = rot.yaw(about)
    lean = angle(rot.rotate(turn, up), UP)
    if lean < _SHAPE and angle(rot.rotate(turn, left), LEFT) < _SHAPE:
        return turn if abs(np.sin(0.5 * about)) > 1e-6 else rot.IDENTITY.copy()
    return facing_turn(up, left)


def _upper_trunk_turn(rest: RestDirections, pelvis: Array) -> tuple[Array, bool]:
    """Return the rotation of the upper trunk, and whether trunk and pelvis share axes."""
    up = rest.chest_up()
    if up is None or rest.line("right_shoulder", "left_shoulder") is None:
        return pelvis, rest.straight
    # The chest carries the collars. If they begin at one point, the shoulders show left and right:
    # collars along the spine bring the shoulders together, but not to the other side.
    for part in ("collar", "shoulder"):
        line = rest.line(f"right_{part}", f"left_{part}")
        across = np.zeros(3) if line is None else line - (line @ up) * up
        if np.linalg.norm(across) > _NO_SHOULDERS * rest.leg:
            across = across / np.linalg.norm(across)
            if rest.straight and angle(rot.rotate(pelvis, across), LEFT) < _SHAPE:
                return pelvis, True
            return facing_turn(up, across), False
    return onto(pelvis, up, UP), False


def _add_arms(rest: RestDirections, trunk: Array, turns: dict[str, Array]) -> set[str]:
    """Add the rotations of collars, arms and hands; return the unknown roles."""
    usable = _collars_known(rest, trunk) and _limbs_known(rest, trunk, ARM, UP, _ARM_RAISED)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        turn = trunk
        if not usable:
            turn = onto(
                trunk, rest.of(f"{side}_collar"), _collar_direction(rest, trunk, side, sign)
            )
        turns[f"{side}_collar"] = turn
        _add_chain(rest, side, ARM, turn, turns)
        turns[f"{side}_hand"] = turns[f"{side}_wrist"]
    parts = () if usable else ("collar", *ARM, "hand")
    return {f"{side}_{part}" for side in SIDES for part in parts}


def _add_legs(rest: RestDirections, pelvis: Array, turns: dict[str, Array]) -> set[str]:
    """Add the rotations of legs and feet; return the unknown roles."""
    usable = _limbs_known(rest, pelvis, LEG, -UP, _LEG_RAISED, away=False)
    unknown = set() if usable else {f"{side}_{part}" for side in SIDES for part in LEG[:2]}
    for side in SIDES:
        _add_chain(rest, side, LEG, pelvis, turns)
        flat = _flat_foot(rest, side, pelvis) if usable else None
        if flat is None:
            turns |= assumed_foot(rest, side, turns[f"{side}_ankle"])
            unknown |= {f"{side}_{part}" for part in _FOOT}
        else:
            turns |= {f"{side}_{part}": flat for part in _FOOT}
    return unknown


def _add_chain(
    rest: RestDirections, side: str, chain: tuple[str, ...], turn: Array, turns: dict[str, Array]
) -> None:
    """Add the rotations of a limb, bone by bone, starting from its parent's rotation."""
    for first, second in zip(chain, chain[1:], strict=False):
        bone = (f"{side}_{first}", f"{side}_{second}")
        turn = onto(turn, rest.direction(*bone), bone_direction(bone[0]))
        turns[bone[0]] = turn
    turns[f"{side}_{chain[-1]}"] = turn


def _collar_direction(rest: RestDirections, trunk: Array, side: str, sign: float) -> Array:
    """Return the direction of a collar without a usable rest pose: sideways, at shoulder height."""
    lateral = rot.rotate(rot.yaw(sign * _COLLAR_BACK), sign * LEFT)
    below = rest.line(f"{side}_collar", "neck")
    collar = rest.line(f"{side}_collar", f"{side}_shoulder")
    if below is None or collar is None or not collar.any():
        return lateral
    height = rot.rotate(trunk, below)[1] - _SHOULDER_DROP * rest.leg
    rise = np.arcsin(np.clip(height / np.linalg.norm(collar), -1.0, 1.0))
    rise = np.clip(rise, *_COLLAR_RISE)
    return np.cos(rise) * lateral + np.sin(rise) * UP


def _collars_known(rest: RestDirections, trunk: Array) -> bool:
    """Return whether the collars at rest lead to the shoulders."""
    line = rest.line("right_shoulder", "left_shoulder")
    if line is None or rot.rotate(trunk, line) @ LEFT > _NARROW_SHOULDERS * rest.leg:
        return True
    for side, sign in (("left", 1.0), ("right", -1.0)):
        collar = rest.direction(f"{side}_collar", f"{side}_shoulder")
        if collar is not None and angle(rot.rotate(trunk, collar), sign * LEFT) > _COLLAR_RAISED:
            return False
    return True


def _limbs_known(
    rest: RestDirections,
    trunk: Array,
    chain: tuple[str, ...],
    pole: Array,
    limit: float,
    away: bool = True,
) -> bool:
    """Return whether both limbs at rest are in an anatomically possible posture.

    Their first bones must be mirror images. These bones must be at most `limit` radians from the
    direction `pole`, or at least that far from it if `away` is True. The middle joints must not be
    folded.
    """
    first = []
    for side in SIDES:
        upper = rest.direction(f"{side}_{chain[0]}", f"{side}_{chain[1]}")
        lower = rest.direction(f"{side}_{chain[1]}", f"{side}_{chain[2]}")
        if upper is None:
            return True
        upper = rot.rotate(trunk, upper)
        if (angle(upper, pole) > limit) != away:
            return False
        if lower is not None and angle(upper, rot.rotate(trunk, lower)) > _FOLDED:
            return False
        first.append(upper)
    return angle(first[0] * [-1.0, 1.0, 1.0], first[1]) < _SHAPE


def _flat_foot(rest: RestDirections, side: str, trunk: Array) -> Array | None:
    """Return the yaw rotation for a foot that is level at rest, or None if it is not level."""
    bone = rest.direction(f"{side}_ankle", f"{side}_foot")
    if bone is None:
        return trunk
    carried = rot.rotate(trunk, bone)
    if abs(np.arcsin(np.clip(carried[1], -1.0, 1.0)) + np.radians(21.0)) > _SHAPE:
        return None
    about = -np.arctan2(carried[0], carried[2])
    if abs(np.sin(0.5 * about)) < 1e-6:
        return trunk
    return rot.multiply(rot.yaw(about), trunk)


def _unit(line: Array) -> Array | None:
    length = float(np.linalg.norm(line))
    return line / length if length > 1e-6 else None


def relative_turns(source: Mapping[str, Array], target: Mapping[str, Array]) -> dict[str, Array]:
    """Map roles to world rotations from the target's rest pose to the source's posture."""
    return {role: rot.multiply(rot.inverse(source[role]), turn) for role, turn in target.items()}
