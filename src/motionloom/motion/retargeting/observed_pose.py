"""Neutral pose estimated from a motion, for skeletons without a usable rest pose.

The elbow and the knee are hinges, so the normal of the plane in which they bend gives the twist of
a bone. In the neutral pose, elbows bend forward and knees backward. For collars, wrists and trunk,
the neutral rotation is the average over the motion; for feet, it is the average while they stand
flat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.feet.contacts import SIDES, FootContacts
from motionloom.motion.retargeting.neutral_pose import (
    ARM,
    LEFT,
    LEG,
    UP,
    NeutralPose,
    RestDirections,
    angle,
    assumed_foot,
    bone_direction,
    facing_turn,
    global_rest_rotations,
    onto,
)
from motionloom.motion.rotations import quaternions as rot

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion
    from motionloom.motion.skeleton import Skeleton

Array = NDArray[np.float64]

# The assumed neutral rotation of a joint is used unless it is farther than this from the mean.
_PLAUSIBLE = np.radians(45.0)
_COLLAR_RANGE = np.radians(60.0)  # angle between the mean collar and the lateral direction
# A limb shows its hinge if it is bent at least this much on average, always about the same axis.
_LEAST_BEND = np.sin(np.radians(6.0))
_LEAST_AGREEMENT = 0.5
_LEAST_FLAT_FRAMES = 3
# Range of changes in shoulder width from rest that are attributed to the rig.
_HABIT = (0.03, 0.06)
_ALIKE = np.radians(20.0)  # bones whose directions in their joint's axes differ by less are equal


def observed_pose(
    motion: Motion, pose: NeutralPose, contacts: FootContacts | None = None
) -> NeutralPose:
    """Complete the unknown roles of `pose` with rotations estimated from a motion.

    Parameters
    ----------
    motion : Motion
    pose : NeutralPose
        Neutral pose of the motion's skeleton.
    contacts : FootContacts, optional
        Contacts of the motion; without them, feet keep the assumed slope.
    """
    if not pose.unknown:
        return pose
    seen = _Seen(motion, pose)
    seen.take_chest()
    for role in ("spine", "neck", "head"):
        seen.take_mean(role, "chest")
    for side, sign in (("left", 1.0), ("right", -1.0)):
        seen.take_collar(side, sign)
        seen.take_hinge(side, ARM, -sign * UP)
        seen.take_mean(f"{side}_wrist", f"{side}_elbow")
        if f"{side}_hand" in pose.unknown:
            seen.take(f"{side}_hand", seen.turns[f"{side}_wrist"])
        seen.take_hinge(side, LEG, LEFT)
        seen.take_foot(side, contacts)
    return NeutralPose(seen.turns, pose.unknown, pose.assumed - seen.shown)


def shared_pose(
    skeleton: Skeleton, pose: NeutralPose, other: Skeleton, other_pose: NeutralPose
) -> NeutralPose:
    """Complete the unknown roles of `pose` from another skeleton with the same rig.

    Takes of one data set share joint names and joint axes, and therefore also the twist that their
    rest poses do not show.
    """
    if skeleton.names != other.names or not pose.unknown:
        return pose
    turns, shared = dict(pose.turns), set()
    rest, rest_other = global_rest_rotations(skeleton), global_rest_rotations(other)
    bones, bones_other = RestDirections(skeleton), RestDirections(other)
    for role in pose.unknown & other_pose.unknown & skeleton.roles.keys():
        joint = skeleton.point(role)
        if skeleton.roles[role] != other.roles.get(role) or joint >= len(skeleton):
            continue
        into = rot.inverse(rest[joint]), rot.inverse(rest_other[joint])
        bone, bone_other = bones.of(role), bones_other.of(role)
        if bone is not None and bone_other is not None:
            if angle(rot.rotate(into[0], bone), rot.rotate(into[1], bone_other)) > _ALIKE:
                continue
        turn = rot.multiply(rot.multiply(other_pose.turns[role], rest_other[joint]), into[0])
        turns[role] = onto(turn, bone, bone_direction(role))
        shared.add(role)
    return NeutralPose(turns, pose.unknown, (pose.assumed - shared) | (shared & other_pose.assumed))


def settled_collars(motion: Motion, pose: NeutralPose) -> NeutralPose:
    """Adjust the collars of `pose` to the motion if its shoulders differ from the rest pose.

    Every rig raises or draws back the collars differently in its rest pose. If the shoulders stay
    narrower or wider than at rest throughout a motion, the difference is a property of the rig and
    not a shrug. If it were transferred, another rig would shrug permanently.
    """
    at_rest = pose.shoulder_width(motion.skeleton)
    seen = _Seen(motion, NeutralPose(pose.turns, frozenset(f"{s}_collar" for s in SIDES)))
    ends = [seen.place.get(f"{side}_shoulder") for side in SIDES]
    if not at_rest or ends[0] is None or ends[1] is None or not len(ends[0]):
        return pose
    width = float(np.median(np.linalg.norm(ends[0] - ends[1], axis=-1)))
    lowest, highest = _HABIT
    share = np.clip((abs(width / at_rest - 1.0) - lowest) / (highest - lowest), 0.0, 1.0)
    turns = dict(pose.turns)
    for side in SIDES:
        mean = seen.mean_turn(f"{side}_collar", "chest")
        if share > 0.0 and mean is not None:
            turns[f"{side}_collar"] = rot.slerp(turns[f"{side}_collar"], mean, share)
    return NeutralPose(turns, pose.unknown, pose.assumed)


class _Seen:
    """World rotations and positions of a motion by role, and the neutral rotations found so far."""

    def __init__(self, motion: Motion, pose: NeutralPose) -> None:
        skeleton = motion.skeleton
        place = motion.positions(end_sites=True).astype(np.float64)
        world = motion.global_rotations().astype(np.float64)
        finite = np.isfinite(place).all(axis=(1, 2)) & np.isfinite(world).all(axis=(1, 2))
        whole = np.flatnonzero(finite)
        rest = global_rest_rotations(skeleton)
        point = {role: skeleton.point(role) for role in skeleton.roles}
        joint = {role: p for role, p in point.items() if p < len(skeleton)}
        self.frames = whole
        self.place = {role: place[whole, p] for role, p in point.items()}
        self.world = {role: world[whole, j] for role, j in joint.items()}
        self.rest = {role: rest[j] for role, j in joint.items()}
        self.bones = RestDirections(skeleton)
        self.turns: dict[str, Array] = dict(pose.turns)
        self.shown: set[str] = set()
        self.unknown = pose.unknown if len(whole) else frozenset()

    def take(self, role: str, turn: Array) -> None:
        """Set the neutral rotation of a role from the motion."""
        self.turns[role] = turn
        self.shown.add(role)

    def take_chest(self) -> None:
        """Set the chest's left axis from the shoulder line if it differs from the assumed one."""
        shoulders = [f"{side}_shoulder" for side in SIDES]
        up = self.bones.chest_up()
        if "left_collar" not in self.unknown or "chest" not in self.world or up is None:
            return
        if not all(role in self.place for role in shoulders):
            return
        line = self.place[shoulders[0]] - self.place[shoulders[1]]
        in_axes = rot.rotate(rot.inverse(self.world["chest"]), line).mean(axis=0)
        turn = facing_turn(up, rot.rotate(self.rest["chest"], in_axes))
        if rot.angle_between(turn, self.turns["chest"]) < _PLAUSIBLE:
            self.shown |= {"spine", "chest", "neck", "head", "head_top"}
            return
        for role in ("spine", "chest", "neck", "head", "head_top"):
            self.take(role, turn)

    def take_mean(self, role: str, base: str) -> None:
        """Set the mean rotation relative to another role if it is far from the assumed one."""
        mean = self.mean_turn(role, base)
        if mean is None:
            return
        choices = [self.turns[role], self.turns["hips"]] if role == "spine" else [self.turns[role]]
        nearest = min(choices, key=lambda turn: float(rot.angle_between(turn, mean)))
        near = rot.angle_between(nearest, mean) < _PLAUSIBLE
        self.take(role, nearest if near else mean)

    def take_collar(self, side: str, sign: float) -> None:
        """Set a collar to its mean rotation relative to the chest if it points sideways."""
        role = f"{side}_collar"
        bone, mean = self.bones.of(role), self.mean_turn(role, "chest")
        if mean is not None and bone is not None:
            if angle(rot.rotate(mean, bone), sign * LEFT) < _COLLAR_RANGE:
                self.take(role, mean)

    def take_hinge(self, side: str, chain: tuple[str, ...], normal: Array) -> None:
        """Set the twist of both bones of a limb whose middle joint bends about `normal`."""
        roles = [f"{side}_{part}" for part in chain]
        if roles[0] not in self.unknown or not all(role in self.world for role in roles[:2]):
            return
        if roles[2] not in self.place:
            return
        upper = _directions(self.place[roles[1]] - self.place[roles[0]])
        lower = _directions(self.place[roles[2]] - self.place[roles[1]])
        bend = np.cross(upper, lower)
        size = np.linalg.norm(bend, axis=-1).mean()
        for role, bone in zip(roles[:2], (upper, lower), strict=True):
            back = rot.inverse(self.world[role])
            axis = rot.rotate(back, bend).mean(axis=0)
            along = rot.rotate(back, bone).mean(axis=0)
            if size > _LEAST_BEND and np.linalg.norm(axis) > _LEAST_AGREEMENT * size:
                neutral = _frame(bone_direction(role), normal) @ _frame(along, axis).T
                turn = rot.multiply(rot.from_matrix(neutral), rot.inverse(self.rest[role]))
                self.take(role, onto(turn, self.bones.of(role), bone_direction(role)))
        if f"{side}_{chain[2]}" in self.unknown:
            self.turns[f"{side}_{chain[2]}"] = self.turns[roles[1]]

    def take_foot(self, side: str, contacts: FootContacts | None) -> None:
        """Set a foot's rotation to its mean while it stands flat, relative to its direction."""
        ankle, ball = f"{side}_ankle", f"{side}_foot"
        if ankle not in self.unknown or ankle not in self.world or ball not in self.place:
            return
        self.turns |= assumed_foot(self.bones, side, self.turns[ankle])
        if contacts is None:
            return
        flat = (contacts[f"{side}_heel"] & contacts[f"{side}_ball"])[self.frames]
        if flat.sum() < _LEAST_FLAT_FRAMES:
            return
        line = (self.place[ball] - self.place[ankle])[flat]
        back = rot.yaw(-np.arctan2(line[:, 0], line[:, 2]))
        for role in (ankle, ball, f"{side}_toe"):
            if role in self.world:
                mean = mean_rotation(rot.multiply(back, self.world[role][flat]))
                self.take(role, rot.multiply(mean, rot.inverse(self.rest[role])))

    def mean_turn(self, role: str, base: str) -> Array | None:
        """Return the neutral rotation of a role, from its mean relative to `base`, or None."""
        if role not in self.unknown or role not in self.world or base not in self.world:
            return None
        mean = mean_rotation(rot.multiply(rot.inverse(self.world[base]), self.world[role]))
        neutral = rot.multiply(rot.multiply(self.turns[base], self.rest[base]), mean)
        return rot.multiply(neutral, rot.inverse(self.rest[role]))


def mean_rotation(rotations: Array) -> Array:
    """Return the mean (4,) of rotations (T, 4): the main eigenvector of their outer products."""
    return np.linalg.eigh(rotations.T @ rotations)[1][:, -1]


def _directions(lines: Array) -> Array:
    return lines / np.maximum(np.linalg.norm(lines, axis=-1, keepdims=True), 1e-9)


def _frame(along: Array | None, normal: Array) -> Array:
    """Return a rotation matrix with columns along a bone, along its hinge, and across both."""
    along = LEFT if along is None else along / np.linalg.norm(along)
    normal = normal - (normal @ along) * along
    normal = normal / np.linalg.norm(normal)
    return np.stack([along, normal, np.cross(along, normal)], axis=-1)
