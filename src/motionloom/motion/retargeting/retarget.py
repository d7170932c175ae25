"""Retargeting: a motion transferred to a skeleton with other proportions, joints and rest pose.

Body parts rotate in the world as in the source, relative to a posture that both skeletons share
(see `motionloom.motion.retargeting.rest_alignment`), so joint angles are kept. The path is scaled
by the length of the legs, the hips are placed where legs of the new length carry them, and feet
are locked to the ground in the contacts of the source. Hands that touch something keep touching
it, as far as the arms reach (see `motionloom.motion.retargeting.end_effectors`); otherwise the
arms keep their angles [1]_.

References
----------
.. [1] H. J. Shin, J. Lee, S. Y. Shin, M. Gleicher. Computer puppetry: an importance-based
   approach. ACM Transactions on Graphics 20(2), 2001.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput, RoleError
from motionloom.motion.carrier import body_skeleton, hips_as_root
from motionloom.motion.feet.clean import lock_feet
from motionloom.motion.feet.contacts import SIDES, FootContacts, Plant, foot_contacts, part_path
from motionloom.motion.kinematics.body import leg_length
from motionloom.motion.retargeting.end_effectors import place_hands
from motionloom.motion.retargeting.neutral_pose import (
    ARM,
    LEG,
    TRUNK,
    RestDirections,
    global_rest_rotations,
    neutral_pose,
    relative_turns,
)
from motionloom.motion.retargeting.observed_pose import observed_pose, shared_pose
from motionloom.motion.roles.body_tree import BodyTree
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.smoothing import gaussian_smooth
from motionloom.ragged import Ragged

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion
    from motionloom.motion.skeleton import Skeleton

Array = NDArray[np.float64]

_NEEDED = ("hips", *(f"{side}_{part}" for side in SIDES for part in ("hip", "knee", "ankle")))
# Contacts whose sorted heights differ by less than this (metres) are on one level ...
_SAME_LEVEL = 0.04
# ... unless their range exceeds what a tilted floor can explain.
_MAX_TILT = 0.12
_TILT_SECONDS = 0.3
_MOST_LEAN = np.radians(20.0)  # correction of the trunk; 9 degrees at most between CMU and Bandai
_LEAN_STEPS = 3


def retarget(
    motion: Motion,
    skeleton: Skeleton,
    *,
    importance: Mapping[str, ArrayLike] | None = None,
    keep_contacts: bool = True,
    contacts: FootContacts | None = None,
) -> Motion:
    """Transfer a motion to another skeleton.

    Parameters
    ----------
    motion : Motion
        T frames. Needs hips and legs; with `keep_contacts` also feet.
    skeleton : Skeleton
        Needs the same roles. Roles that the source lacks, and joints without a role, keep
        their rest pose relative to their parent; joints without a role that have the same
        name in both skeletons (fingers, for example) are copied.
    importance : mapping, optional
        Weight of the position of a hand against the angles of its arm, 0 to 1, a number or
        one per frame (T,), for ``left_hand`` and ``right_hand``. 1 keeps the hand at its
        position in the world, scaled like the path. Default: from its distance to the floor,
        the other hand and the body.
    keep_contacts : bool
        Lock the feet to the ground in the contacts of the source.
    contacts : FootContacts, optional
        Contacts of the source. Default: `foot_contacts` of the motion.

    Returns
    -------
    moved : Motion
        The same number of frames at the same rate; the height of the floor is scaled.

    Raises
    ------
    RoleError
        If the source or the target lacks a required role.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> small = retarget(walk, walk.skeleton.scaled(0.5))
    >>> bool(abs(small.root[:, 1].mean() / walk.root[:, 1].mean() - 0.5) < 0.01)
    True
    """
    needed = [*_NEEDED, *(f"{side}_foot" for side in SIDES if keep_contacts)]
    _require("the motion's skeleton", motion.skeleton, needed)
    _require("the target skeleton", skeleton, needed)
    if not len(motion):
        raise InvalidInput("cannot retarget a motion without frames")
    if contacts is not None and contacts.frames != len(motion):
        raise InvalidInput(
            f"contacts must be those of the motion's {len(motion)} frames; "
            f"got contacts of {contacts.frames}"
        )
    if contacts is None and _has_feet(motion.skeleton) and _has_feet(skeleton):
        contacts = foot_contacts(motion)
    scale = leg_length(skeleton) / leg_length(motion.skeleton)
    turned = transfer_rotations(motion, skeleton, contacts=contacts)
    levels = _levels(contacts) if contacts is not None else {}
    moved = _on_scaled_path(motion, turned, scale, contacts, levels)
    if contacts is not None and keep_contacts:
        heights = {part: scale * level for part, level in levels.items()}
        moved = lock_feet(moved, _contacts_on(moved, contacts), heights=heights)
    floor = contacts.floor if contacts is not None else None
    return place_hands(motion, moved, scale=scale, floor=floor, importance=importance)


def conformed(motion: Motion, skeleton: Skeleton | None, fps: float) -> Motion:
    """`motion` at `fps` and on `skeleton`, if given; the same object if nothing changes.

    The root of the result is the hips: joints above them are left out.

    Examples
    --------
    >>> import motionloom as ml
    >>> tall, short = ml.demo.clip("walk", performer=2), ml.demo.clip("walk", performer=3)
    >>> conformed(tall, short.skeleton, 60.0).fps
    60.0
    >>> conformed(short, short.skeleton, 30.0) is short
    True
    """
    motion = hips_as_root(motion)
    if abs(motion.fps - fps) > 1e-6 * fps:
        motion = motion.resample(fps)
    if skeleton is not None:
        skeleton = body_skeleton(skeleton)
        if motion.skeleton.key != skeleton.key:
            motion = retarget(motion, skeleton)
    return motion


def _has_feet(skeleton: Skeleton) -> bool:
    return all(f"{side}_{part}" in skeleton.roles for side in SIDES for part in ("ankle", "foot"))


def _require(whose: str, skeleton: Skeleton, roles: list[str]) -> None:
    try:
        skeleton.role_assignment.require(roles)
    except RoleError as error:
        raise RoleError(f"cannot retarget: in {whose} {error}") from None
    if leg_length(skeleton) <= 0.0:
        raise InvalidInput(f"cannot retarget: the legs of {whose} have no length")


def transfer_rotations(
    motion: Motion,
    skeleton: Skeleton,
    *,
    example: Motion | None = None,
    contacts: FootContacts | None = None,
) -> Motion:
    """Rotations of `motion` transferred to another `skeleton`, with the root at the origin.

    Only the rotations: the caller places the root and the feet. `example` is a motion on
    `skeleton`, `contacts` are those of `motion`; both are used where a rest pose tells nothing.
    """
    source = motion.skeleton
    # World rotation of every source joint since rest.
    since_rest = rot.multiply(
        motion.global_rotations().astype(np.float64), rot.inverse(global_rest_rotations(source))
    )
    from_turns, to_turns = _neutral_turns(motion, skeleton, example, contacts)
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
    neutral = _neutral_local_rotations(skeleton, to_turns)
    turned = replace(
        motion,
        skeleton=skeleton,
        rotations=_local_rotations(skeleton, world_turn, neutral),
        root=np.zeros((len(motion), 3)),
        translations=None,
        origin=replace(motion.origin, carrier=None),  # that of the other rig
    )
    _lean_trunk(motion, turned, world_turn)
    return replace(turned, rotations=_local_rotations(skeleton, world_turn, neutral))


def _local_rotations(
    skeleton: Skeleton, world_turn: Mapping[int, Array], neutral: Array
) -> Array:
    """Local rotations (T, J, 4) of joints turned in the world since rest, others `neutral`."""
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


def _neutral_turns(
    motion: Motion, skeleton: Skeleton, example: Motion | None, contacts: FootContacts | None
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Turns per role from rest to the neutral pose, of the motion's skeleton and of the other."""
    source = observed_pose(motion, neutral_pose(motion.skeleton), contacts)
    target = neutral_pose(skeleton)
    if motion.skeleton.key == skeleton.key:
        target = source
    elif example is not None and target.unknown:
        seen = foot_contacts(example) if _has_feet(skeleton) else None
        target = observed_pose(example, target, seen)
    elif target.unknown:
        target = shared_pose(skeleton, target, motion.skeleton, source)
    return source.turns, target.turns


def _neutral_local_rotations(skeleton: Skeleton, turns: Mapping[str, Array]) -> Array:
    """Local rotations (J, 4) of the neutral pose; joints without a role keep their rest pose."""
    rest, local = global_rest_rotations(skeleton), skeleton.rest_rotations.copy()
    role_of = {name: role for role, name in reversed(skeleton.roles.items())}
    world = np.empty_like(rest)
    for joint, parent in enumerate(skeleton.parents):
        above = rot.IDENTITY if parent < 0 else world[parent]
        world[joint] = rot.multiply(above, local[joint])
        role = role_of.get(skeleton.names[joint])
        if role in turns:
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
    """Swing collars that are longer for the width of the shoulders less than the source's.

    So shoulders are raised and drawn together by the same fraction of their width.
    """
    lengths = [_collar_share(source, from_turns), _collar_share(skeleton, to_turns)]
    for side in SIDES:
        role = f"{side}_collar"
        if role not in turn_of_role or "chest" not in turn_of_role or None in lengths:
            continue
        share = lengths[0] / lengths[1]
        if share >= 1.0:
            continue
        chest = rot.multiply(turn_of_role["chest"], rot.inverse(to_turns["chest"]))
        collar = rot.multiply(turn_of_role[role], rot.inverse(to_turns[role]))
        swing = rot.log(rot.multiply(rot.inverse(chest), collar))
        collar = rot.multiply(chest, rot.exp(share * swing))
        turn_of_role[role] = rot.multiply(collar, to_turns[role])
        world_turn[int(skeleton.point(role))] = turn_of_role[role]


def _collar_share(skeleton: Skeleton, turns: Mapping[str, Array]) -> float | None:
    """Length of the collars over the width of the shoulders in the neutral pose."""
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
    """Rotate the trunk above the pelvis so that the line from pelvis to neck is as in the motion.

    Rigs place hips and neck differently in one body, by up to 6 degrees, and spines bend at other
    heights; limbs are seen against the line.
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
    """Line (T, 3) from the pelvis, between hips and hip joints, to the neck."""
    if "neck" not in motion.skeleton.roles:
        return None
    place = motion.role_positions(["neck", "hips", "left_hip", "right_hip"]).astype(np.float64)
    line = place[:, 0] - 0.5 * place[:, 1] - 0.25 * (place[:, 2] + place[:, 3])
    return line if np.all(np.linalg.norm(line, axis=-1) > 1e-6) else None


def _point_limbs(motion: Motion, skeleton: Skeleton, world_turn: dict[int, Array]) -> None:
    """Rotate the bones of arms and legs into the directions that they have in the motion.

    They are there already, unless joints between two roles move in the source.
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
    """Copy the rotation of joints without a role that have the same name in both skeletons."""
    with_role = set(source.roles.values()) | set(target.roles.values())
    role_of = {name: role for role, name in target.roles.items()}
    for joint, name in enumerate(target.names):
        if name in with_role or name not in source.names:
            continue
        parent = joint
        while parent >= 0 and target.names[parent] not in role_of:
            parent = int(target.parents[parent])
        posture = postures[role_of[target.names[parent]]] if parent >= 0 else postures["hips"]
        world_turn[joint] = rot.multiply(since_rest[:, source.names.index(name)], posture)


def _spread_over_trunk(
    skeleton: Skeleton, turn_of_role: Mapping[str, Array], world_turn: dict[int, Array]
) -> None:
    """Interpolate the joints of the trunk between two known ones, by bone length."""
    known = [role for role in TRUNK if role in turn_of_role]
    for low, high in zip(known, known[1:], strict=False):
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
    """Joints above the hips rotate with them."""
    hips = int(skeleton.point("hips"))
    joint = hips
    while skeleton.parents[joint] >= 0:
        joint = int(skeleton.parents[joint])
        world_turn.setdefault(joint, world_turn[hips])


def _on_scaled_path(
    motion: Motion,
    turned: Motion,
    scale: float,
    contacts: FootContacts | None,
    levels: Mapping[str, Array],
) -> Motion:
    """`turned` with its hip joints on the scaled path of the source's.

    Heights are measured from the ankle of a flat foot, because feet do not scale like legs.
    """
    hips = ["left_hip", "right_hip"]
    middle = motion.role_positions(hips).astype(np.float64).mean(axis=1)
    goal = scale * middle
    if contacts is not None:
        goal[:, 1] -= scale * _tilt(contacts, levels)
        instep = _instep(motion, contacts)
        goal[:, 1] += _instep(turned, contacts) - scale * instep
    carried = turned.role_positions(hips).astype(np.float64).mean(axis=1)
    return replace(turned, root=goal - carried)


def _instep(motion: Motion, contacts: FootContacts) -> float:
    """Height in metres of the ankle above the ball of a flat foot."""
    rises = []
    for side in SIDES:
        flat = contacts[f"{side}_heel"] & contacts[f"{side}_ball"]
        foot = motion.role_positions([f"{side}_ankle", f"{side}_foot"]).astype(np.float64)
        rises.append((foot[:, 0, 1] - foot[:, 1, 1])[flat])
    rise = np.concatenate(rises)
    return float(np.median(rise)) if len(rise) else 0.0


def _levels(contacts: FootContacts) -> dict[str, Array]:
    """Height of the level ground under each contact of each ball.

    Captured floors tilt slightly; contacts that differ by no more than that are on one level.
    Stairs and uneven ground keep their heights.
    """
    parts = [f"{side}_ball" for side in SIDES]
    heights = np.array([plant.height for part in parts for plant in contacts.plants[part]])
    order = np.argsort(heights)
    level = heights.copy()
    cuts = np.flatnonzero(np.diff(heights[order]) > _SAME_LEVEL) + 1
    for group in np.split(order, cuts):
        if len(group) and np.ptp(heights[group]) <= _MAX_TILT:
            here = heights[group]
            on_floor = here.min() <= contacts.floor <= here.max()
            level[group] = contacts.floor if on_floor else np.median(here)
    levels = Ragged.from_lengths(level, [len(contacts.plants[part]) for part in parts])
    return dict(zip(parts, levels, strict=True))


def _tilt(contacts: FootContacts, levels: Mapping[str, Array]) -> Array:
    """Height (T,) of the captured ground above the level ground."""
    rows = [
        (0.5 * (plant.start_frame + plant.end_frame - 1), plant.height - level)
        for part, part_levels in levels.items()
        for plant, level in zip(contacts.plants[part], part_levels, strict=True)
    ]
    if not rows:
        return np.zeros(contacts.frames)
    times, rises = np.array(sorted(rows)).T
    tilt = np.interp(np.arange(contacts.frames), times, rises)
    return gaussian_smooth(tilt, _TILT_SECONDS * contacts.fps)


def _contacts_on(motion: Motion, contacts: FootContacts) -> FootContacts:
    """The same contacts with the heights of the feet of this motion."""
    plants = {}
    for part, rows in contacts.plants.items():
        height = part_path(motion, part)[:, 1]
        plants[part] = tuple(
            Plant(p.start_frame, p.end_frame, float(np.median(height[p.start_frame : p.end_frame])))
            for p in rows
        )
    return replace(contacts, plants=plants)
