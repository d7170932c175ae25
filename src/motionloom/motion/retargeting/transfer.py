"""Transfer of body rotations from one skeleton to another.

Relative to the neutral pose (`motionloom.motion.retargeting.neutral_pose`), body parts rotate in
the world as in the source. The bones of arms and legs have exactly the same directions as in the
source, and so does the line from pelvis to neck, after a rotation of the spine. Collars swing
about the target's shoulder shape. Spine joints between two joints with a role are interpolated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.feet.contacts import SIDES, FootContacts, foot_contacts
from motionloom.motion.kinematics.body import leg_length
from motionloom.motion.retargeting.fingers import transfer_fingers
from motionloom.motion.retargeting.neutral_pose import (
    ARM,
    LEG,
    TRUNK,
    NeutralPose,
    RestDirections,
    global_rest_rotations,
    neutral_pose,
    relative_turns,
)
from motionloom.motion.retargeting.observed_pose import (
    mean_rotation,
    observed_pose,
    settled_collars,
    shared_pose,
)
from motionloom.motion.roles.fingers import finger_roles
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import BodyTree, Skeleton

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]

_MOST_LEAN = np.radians(
    20.0
)  # correction of the trunk; at most 9 degrees between CMU and Bandai-Namco
_LEAN_STEPS = 3
_SAME_SHAPE = 0.02  # leg lengths by which joints of the same shape may differ


def transfer_rotations(
    motion: Motion,
    skeleton: Skeleton,
    poses: tuple[NeutralPose, NeutralPose] | None = None,
    *,
    example: Motion | None = None,
) -> Motion:
    """Transfer the rotations of `motion` to another `skeleton`, with the root at the origin.

    The caller places the root and the feet. `poses` are the neutral poses of both skeletons; by
    default, `neutral_poses` computes them. `example` is a motion on `skeleton`.
    """
    source = motion.skeleton
    # World rotation of every source joint relative to rest.
    since_rest = rot.multiply(
        motion.global_rotations().astype(np.float64), rot.inverse(global_rest_rotations(source))
    )
    from_pose, to_pose = neutral_poses(motion, skeleton) if poses is None else poses
    from_turns, to_turns = from_pose.turns, to_pose.turns
    postures = relative_turns(from_turns, to_turns)
    joint_of = {name: joint for joint, name in enumerate(source.names)}
    world_turn: dict[int, Array] = {}
    turn_of_role: dict[str, Array] = {}
    target_joint = {name: joint for joint, name in enumerate(skeleton.names)}
    for role, name in skeleton.roles.items():
        origin = joint_of.get(source.roles.get(role, ""))
        if name in target_joint and origin is not None:
            turn_of_role[role] = rot.multiply(since_rest[:, origin], postures[role])
            world_turn[target_joint[name]] = turn_of_role[role]
    _copy_by_name(source, skeleton, since_rest, postures, world_turn)
    _swing_collars(motion.skeleton, skeleton, from_turns, to_turns, turn_of_role, world_turn)
    _spread_over_trunk(skeleton, turn_of_role, world_turn)
    _carry_to_root(skeleton, world_turn)
    _point_limbs(motion, skeleton, world_turn)
    transfer_fingers(source, skeleton, since_rest, world_turn)
    neutral = _neutral_local_rotations(skeleton, to_turns, example)
    turned = replace(
        motion,
        skeleton=skeleton,
        rotations=_local_rotations(skeleton, world_turn, neutral),
        root=np.zeros((len(motion), 3)),
        translations=None,
        origin=replace(motion.origin, carrier=None),  # the carrier belongs to the other rig
    )
    _lean_trunk(motion, turned, world_turn)
    return replace(turned, rotations=_local_rotations(skeleton, world_turn, neutral))


def _local_rotations(skeleton: Skeleton, world_turn: Mapping[int, Array], neutral: Array) -> Array:
    """Return local rotations (T, J, 4); joints without a world rotation keep `neutral`."""
    rest = global_rest_rotations(skeleton)
    frames = len(next(iter(world_turn.values())))
    local = np.empty((frames, len(skeleton), 4))
    world = np.empty_like(local)
    for joint, parent in enumerate(skeleton.parents):
        above = np.tile(rot.IDENTITY, (frames, 1)) if parent < 0 else world[:, parent]
        if joint in world_turn:
            world[:, joint] = rot.multiply(world_turn[joint], rest[joint])
        else:
            world[:, joint] = rot.multiply(above, neutral[joint])
        local[:, joint] = rot.multiply(rot.inverse(above), world[:, joint])
    return rot.unroll(rot.normalize(local))


def neutral_poses(
    motion: Motion,
    skeleton: Skeleton,
    *,
    example: Motion | None = None,
    contacts: FootContacts | None = None,
) -> tuple[NeutralPose, NeutralPose]:
    """Return the neutral poses of the motion's skeleton and of another skeleton.

    `example` is a motion on `skeleton`, and `contacts` are the foot contacts of `motion`. Both are
    used only if a rest pose is not usable.
    """
    source = observed_pose(motion, neutral_pose(motion.skeleton), contacts)
    if motion.skeleton.key == skeleton.key:
        return source, source
    target = neutral_pose(skeleton)
    if example is not None and len(example) and target.unknown:
        seen = foot_contacts(example) if has_feet(skeleton) else None
        target = observed_pose(example, target, seen)
    else:
        target = shared_pose(skeleton, target, motion.skeleton, source)
    if motion.skeleton.names != skeleton.names:
        source = settled_collars(motion, source)
        target = target if example is None else settled_collars(example, target)
    return source, target


def _neutral_local_rotations(
    skeleton: Skeleton, turns: Mapping[str, Array], example: Motion | None
) -> Array:
    """Return the local rotations (J, 4) of the neutral pose.

    Joints without a role keep their rest pose. If they carry joints with a role, they take their
    mean rotation from `example`, a motion on the skeleton, if there is one.
    """
    rest, local = global_rest_rotations(skeleton), skeleton.rest_rotations.copy()
    role_of = {name: role for role, name in reversed(skeleton.roles.items())}
    world = np.empty_like(rest)
    if example is not None and len(example):
        for joint in _carriers(skeleton):
            local[joint] = mean_rotation(example.rotations[:, joint].astype(np.float64))
    for joint, parent in enumerate(skeleton.parents):
        above = rot.IDENTITY if parent < 0 else world[parent]
        world[joint] = rot.multiply(above, local[joint])
        role = role_of.get(skeleton.names[joint])
        if role is not None and role in turns:
            world[joint] = rot.multiply(turns[role], rest[joint])
            local[joint] = rot.multiply(rot.inverse(above), world[joint])
    return local


def _swing_collars(
    source: Skeleton,
    skeleton: Skeleton,
    from_turns: Mapping[str, Array],
    to_turns: Mapping[str, Array],
    turn_of_role: dict[str, Array],
    world_turn: dict[int, Array],
) -> None:
    """Reduce the swing of collars that are longer than the source's, relative to shoulder width.

    As a result, shoulders rise and draw together by the same fraction of their width as in the
    source.
    """
    here, there = _collar_share(skeleton, to_turns), _collar_share(source, from_turns)
    if here is None or there is None or there >= here or "chest" not in turn_of_role:
        return
    share = there / here
    for side in SIDES:
        role = f"{side}_collar"
        if role not in turn_of_role:
            continue
        chest = rot.multiply(turn_of_role["chest"], rot.inverse(to_turns["chest"]))
        collar = rot.multiply(turn_of_role[role], rot.inverse(to_turns[role]))
        swing = rot.log(rot.multiply(rot.inverse(chest), collar))
        collar = rot.multiply(chest, rot.exp(share * swing))
        turn_of_role[role] = rot.multiply(collar, to_turns[role])
        world_turn[int(skeleton.point(role))] = turn_of_role[role]


def _collar_share(skeleton: Skeleton, turns: Mapping[str, Array]) -> float | None:
    """Return the collar length divided by the shoulder width in the neutral pose."""
    rest = RestDirections(skeleton)
    width, length = 0.0, 0.0
    for side, sign in (("left", 1.0), ("right", -1.0)):
        collar = rest.line(f"{side}_collar", f"{side}_shoulder")
        base = rest.line("chest", f"{side}_collar")
        if collar is None or base is None:
            return None
        width += sign * rot.rotate(turns["chest"], base)[0]
        width += sign * rot.rotate(turns[f"{side}_collar"], collar)[0]
        length += float(np.linalg.norm(collar))
    return length / width if width > 0.0 and length > 0.0 else None


def _lean_trunk(motion: Motion, turned: Motion, world_turn: dict[int, Array]) -> None:
    """Rotate the trunk above the pelvis so that the line from pelvis to neck matches the motion.

    Rigs place hips and neck differently in the same body, by up to 6 degrees, and spines bend at
    different heights. Viewers judge limbs relative to this line.
    """
    skeleton, tree = turned.skeleton, BodyTree(turned.skeleton)
    wanted, line = _trunk_line(motion), _trunk_line(turned)
    if wanted is None or line is None:
        return
    hips, neck = (int(point) for point in skeleton.points(["hips", "neck"]))
    spine = tree.between(hips, neck)[:-1]
    if not spine or not tree.is_above(hips, neck):
        return
    above = turned.positions()[:, neck].astype(np.float64)
    above -= turned.positions()[:, spine[0]].astype(np.float64)
    lean = np.tile(rot.IDENTITY, (len(line), 1))
    for _ in range(_LEAN_STEPS):
        now = line - above + rot.rotate(lean, above)
        lean = rot.multiply(rot.between(now, wanted), lean)
    vector = rot.log(lean)
    size = np.maximum(np.linalg.norm(vector, axis=-1, keepdims=True), 1e-9)
    lean = rot.exp(vector * np.minimum(1.0, _MOST_LEAN / size))
    collars = [role for side in SIDES if (role := f"{side}_collar") in skeleton.roles]
    for joint in (*spine, *(int(skeleton.point(role)) for role in collars)):
        if joint in world_turn:
            world_turn[joint] = rot.multiply(lean, world_turn[joint])


def _trunk_line(motion: Motion) -> Array | None:
    """Return the line (T, 3) from the pelvis, between hips and hip joints, to the neck."""
    if "neck" not in motion.skeleton.roles:
        return None
    place = motion.role_positions(["neck", "hips", "left_hip", "right_hip"]).astype(np.float64)
    line = place[:, 0] - 0.5 * place[:, 1] - 0.25 * (place[:, 2] + place[:, 3])
    return line if np.all(np.linalg.norm(line, axis=-1) > 1e-6) else None


def _point_limbs(motion: Motion, skeleton: Skeleton, world_turn: dict[int, Array]) -> None:
    """Rotate the bones of arms and legs into the directions they have in the motion.

    The bones already have these directions, unless joints between two roles move in the source.
    """
    place = motion.positions(end_sites=True).astype(np.float64)
    tree = BodyTree(skeleton)
    rest = tree.rest_positions()
    bones = [
        (f"{side}_{first}", f"{side}_{second}")
        for side in SIDES
        for chain in (ARM, LEG)
        for first, second in zip(chain, chain[1:], strict=False)
    ]
    for bone in bones:
        if not all(role in s.roles for role in bone for s in (motion.skeleton, skeleton)):
            continue
        (start, end), (joint, tip) = motion.skeleton.points(bone), skeleton.points(bone)
        moving = [p for p in tree.between(int(joint), int(tip))[:-1] if p in world_turn]
        line, at_rest = place[:, end] - place[:, start], rest[tip] - rest[joint]
        long = np.linalg.norm(line, axis=-1) > 1e-6
        if int(joint) not in world_turn or moving or not long.all() or not at_rest.any():
            continue
        turn = world_turn[int(joint)]
        world_turn[int(joint)] = rot.multiply(rot.between(rot.rotate(turn, at_rest), line), turn)


def _copy_by_name(
    source: Skeleton,
    target: Skeleton,
    since_rest: Array,
    postures: Mapping[str, Array],
    world_turn: dict[int, Array],
) -> None:
    """Copy the rotation of joints without a role that have the same name in both skeletons.

    Joints that carry joints with a role are copied only if both skeletons have the same shape,
    because the axis about which such joints move depends on the rig.
    """
    with_role = set(source.roles.values()) | set(target.roles.values())
    role_of = {name: role for role, name in target.roles.items()}
    carriers = _carriers(target) if not _same_shape(source, target) else set()
    for joint, name in enumerate(target.names):
        if name in with_role or name not in source.names or joint in carriers:
            continue
        parent = joint
        while parent >= 0 and target.names[parent] not in role_of:
            parent = int(target.parents[parent])
        posture = postures[role_of[target.names[parent]]] if parent >= 0 else postures["hips"]
        world_turn[joint] = rot.multiply(since_rest[:, source.names.index(name)], posture)


def transferred_joints(source: Skeleton, target: Skeleton) -> set[int]:
    """Return the joints of `target` that follow a joint of `source`, by role or by name."""
    fingers = finger_roles(source)
    by_finger = {joint for role, joint in finger_roles(target).items() if role in fingers}
    joints = {name: joint for joint, name in enumerate(target.names)}
    roles = {
        joints[name]
        for role, name in target.roles.items()
        if name in joints and source.roles.get(role, "") in source.names
    }
    with_role = set(source.roles.values()) | set(target.roles.values())
    return (
        roles
        | by_finger
        | {
            joint
            for name, joint in joints.items()
            if name in source.names and name not in with_role
        }
    )


def _carriers(skeleton: Skeleton) -> set[int]:
    """Return the joints without a role above a joint with a role."""
    tree = BodyTree(skeleton)
    points = [skeleton.point_names.index(name) for name in skeleton.roles.values()]
    above = {joint for point in points for joint in tree.path_up(point)}
    return above - set(points)


def _same_shape(a: Skeleton, other: Skeleton) -> bool:
    """Return whether two skeletons differ only in size."""
    if a.names != other.names or not np.array_equal(a.parents, other.parents):
        return False
    size = np.linalg.norm(other.offsets) / max(float(np.linalg.norm(a.offsets)), 1e-9)
    return bool(np.abs(size * a.offsets - other.offsets).max() < _SAME_SHAPE * leg_length(other))


def _spread_over_trunk(
    skeleton: Skeleton, turn_of_role: Mapping[str, Array], world_turn: dict[int, Array]
) -> None:
    """Interpolate trunk joints between two known joints, by bone length."""
    roles = [role for role in TRUNK if role in turn_of_role]
    for low, high in zip(roles, roles[1:], strict=False):
        bottom, top = skeleton.points([low, high])
        chain, joint = [], int(top)
        while joint >= 0 and joint != bottom:
            chain.append(joint)
            joint = int(skeleton.point_parents[joint])
        if joint != bottom or len(chain) < 2:
            continue
        bones = [float(np.linalg.norm(skeleton.offsets[j])) for j in chain[::-1]]
        share = np.cumsum(bones) / max(sum(bones), 1e-9)
        for between, part in zip(chain[:0:-1], share, strict=False):
            if between not in world_turn:
                world_turn[between] = rot.slerp(
                    turn_of_role[low], turn_of_role[high], np.asarray(part)
                )


def _carry_to_root(skeleton: Skeleton, world_turn: dict[int, Array]) -> None:
    """Rotate the joints above the hips along with the hips."""
    hips = int(skeleton.point("hips"))
    joint = hips
    while skeleton.parents[joint] >= 0:
        joint = int(skeleton.parents[joint])
        world_turn.setdefault(joint, world_turn[hips])


def has_feet(skeleton: Skeleton) -> bool:
    """Return whether a skeleton has an ankle and a ball of the foot on each side."""
    return all(f"{side}_{part}" in skeleton.roles for side in SIDES for part in ("ankle", "foot"))
