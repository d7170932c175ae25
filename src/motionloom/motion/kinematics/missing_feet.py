"""Feet of skeletons that lack toes, or whose feet are not part of the legs.

Game characters often end at the ankles, and in some rigs (Quaternius, for example) the feet are
controls below the root that the legs reach by inverse kinematics. Contacts, retargeting and gait
need an ankle and the ball of a foot. `with_feet` attaches such feet to the shins, which leaves all
joints at their positions, and adds an end site at the assumed ball of each foot.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.roles.joint_names import labels_of
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import BodyTree, Skeleton

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion


_SIDES = ("left", "right")
# Distance from the ankle to the ball, forward and down, in leg lengths: 0.14 to 0.18 and 0.066 to
# 0.10 in CMU, LAFAN1, Bandai-Namco and the built-in corpus.
_AHEAD, _BELOW = 0.16, 0.08
_BALL = 0.03  # height of the ball above the floor, in leg lengths
_HIGHEST_ANKLE = 0.25  # leg lengths above a root on the floor
_SHIN = (0.4, 2.0)  # plausible lengths of the shin, relative to the thigh
_STILL = 1e-5  # meters: smaller changes of bone length are rounding errors
MARK = "_ball"
# Trees of names to which nothing is added. Libraries have thousands of files with few structures,
# and assigning roles takes a third as long as reading a file.
_COMPLETE: set[tuple] = set()
_MOST_STRUCTURES = 256


def with_feet(motion: Motion) -> Motion:
    """Return the motion with ankles and balls of the feet, or the same object if nothing is added.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> with_feet(walk) is walk
    True
    """
    structure = _structure(motion.skeleton)
    if structure in _COMPLETE:
        return motion
    attached = attach_feet(motion)
    skeleton = assume_balls(attached.skeleton)
    warnings = []
    if attached is not motion:
        warnings.append("the feet are not below the shins in the file; they were attached to them")
    if skeleton is not attached.skeleton:
        warnings.append("the skeleton has no toes, so the balls of the feet are assumed")
    if not warnings:
        if len(_COMPLETE) < _MOST_STRUCTURES:
            _COMPLETE.add(structure)
        return motion
    origin = replace(attached.origin, warnings=(*attached.origin.warnings, *warnings))
    return replace(attached, skeleton=skeleton, origin=origin)


def _structure(skeleton: Skeleton) -> tuple:
    given = None if skeleton.role_map is None else tuple(sorted(skeleton.role_map.items(), key=str))
    return skeleton.names, skeleton.end_names, skeleton.parents.tobytes(), given


def assume_balls(skeleton: Skeleton) -> Skeleton:
    """Return the skeleton with an end site at the ball of each foot that ends at the ankle."""
    from motionloom.motion.retargeting.neutral_pose import global_rest_rotations, neutral_pose

    roles, given = skeleton.roles, skeleton.role_map or {}
    lacking = [
        side
        for side in _SIDES
        if f"{side}_foot" not in roles
        and f"{side}_foot" not in given
        and {f"{side}_hip", f"{side}_knee", f"{side}_ankle"} <= roles.keys()
        and roles[f"{side}_ankle"] in skeleton.names
    ]
    if not lacking or "hips" not in roles:
        return skeleton
    tree = BodyTree(skeleton)
    pose, rest = neutral_pose(skeleton), global_rest_rotations(skeleton)
    names, parents, offsets = [], [], []
    for side in lacking:
        hip, ankle = (int(point) for point in skeleton.points([f"{side}_hip", f"{side}_ankle"]))
        leg = tree.length(hip, ankle)
        below = _ankle_height(skeleton, tree, ankle, leg)
        ball = np.array([0.0, (_BALL - below) * leg, _AHEAD * leg])
        ball = rot.rotate(rot.inverse(pose.turns[f"{side}_ankle"]), ball)
        names.append(_free(f"{skeleton.names[ankle]}{MARK}", skeleton.point_names))
        parents.append(ankle)
        offsets.append(rot.rotate(rot.inverse(rest[ankle]), ball))
    return replace(
        skeleton,
        end_names=(*skeleton.end_names, *names),
        end_parents=np.concatenate([skeleton.end_parents, parents]),
        end_offsets=np.concatenate([skeleton.end_offsets, offsets]),
    )


def _ankle_height(skeleton: Skeleton, tree: BodyTree, ankle: int, leg: float) -> float:
    """Return the height of an ankle at rest above the floor, in leg lengths.

    A root below the body lies on the floor. Otherwise, the height of a typical foot is assumed.
    """
    rest = tree.rest_positions()
    height = float(rest[ankle, 1] - rest[0, 1]) / max(leg, 1e-9)
    on_floor = skeleton.roles["hips"] != skeleton.names[0]
    return height if on_floor and -0.05 < height < _HIGHEST_ANKLE else _BELOW + _BALL


def attach_feet(motion: Motion) -> Motion:
    """Return the motion with feet that are not below the shins attached to them.

    All joints keep their positions and directions in the world. Nothing changes unless both feet
    have names, both shins end at the knees, and both feet are at the distance of a shin.
    """
    skeleton = motion.skeleton
    roles = skeleton.roles
    if any(f"{side}_ankle" in roles or f"{side}_knee" not in roles for side in _SIDES):
        return motion
    labels = labels_of(skeleton.names)
    places = motion.positions().astype(np.float64)
    tree = BodyTree(skeleton)
    above: dict[int, int] = {}
    for side in _SIDES:
        hip, knee = (int(point) for point in skeleton.points([f"{side}_hip", f"{side}_knee"]))
        for part in ("ankle", "foot"):
            feet = [
                joint
                for joint, label in enumerate(labels)
                if (label.side, label.part, label.tip) == (side, part, False)
                and not tree.is_above(joint, knee)
            ]
            if feet and knee < len(skeleton):
                thigh = float(np.linalg.norm(skeleton.offsets[knee]))
                gap = np.median(np.linalg.norm(places[:, feet[0]] - places[:, knee], axis=1))
                if thigh > 0 and _SHIN[0] < gap / thigh < _SHIN[1] and hip != knee:
                    above[feet[0]] = knee
                break
    return _moved_below(motion, above) if len(above) == len(_SIDES) else motion


def _moved_below(motion: Motion, above: dict[int, int]) -> Motion:
    """Return the motion with new parents for some joints, which keep their world transforms."""
    skeleton = motion.skeleton
    parents = skeleton.parents.copy()
    for joint, parent in above.items():
        parents[joint] = parent
    order = _parents_first(parents)
    number = {joint: place for place, joint in enumerate(order)}
    places = motion.positions().astype(np.float64)
    world = motion.global_rotations().astype(np.float64)
    rotations = motion.rotations.astype(np.float64)
    translations = np.tile(skeleton.offsets, (len(motion), 1, 1))
    if motion.translations is not None:
        translations = motion.translations.astype(np.float64)
    offsets, rest = skeleton.offsets.copy(), skeleton.rest_rotations.copy()
    from motionloom.motion.retargeting.neutral_pose import global_rest_rotations

    resting = global_rest_rotations(skeleton)
    for joint, parent in above.items():
        back = rot.inverse(world[:, parent])
        rotations[:, joint] = rot.multiply(back, world[:, joint])
        translations[:, joint] = rot.rotate(back, places[:, joint] - places[:, parent])
        offsets[joint] = np.median(translations[:, joint], axis=0)
        rest[joint] = rot.multiply(rot.inverse(resting[parent]), resting[joint])
    varies = motion.translations is not None or any(
        np.abs(translations[:, joint] - offsets[joint]).max() > _STILL for joint in above
    )
    body = replace(
        skeleton,
        names=tuple(skeleton.names[joint] for joint in order),
        parents=np.array([-1 if parents[j] < 0 else number[int(parents[j])] for j in order]),
        offsets=offsets[order],
        end_parents=np.array([number[int(joint)] for joint in skeleton.end_parents], np.int32),
        rest=None if skeleton.rest is None and np.allclose(rest, rot.IDENTITY) else rest[order],
    )
    return replace(
        motion,
        skeleton=body,
        rotations=rotations[:, order],
        translations=translations[:, order] if varies else None,
    )


def _parents_first(parents: NDArray) -> list[int]:
    """Return all joints, each after its parent, in their order as far as possible."""
    order: list[int] = []
    placed: set[int] = set()
    for joint in range(len(parents)):
        path = []
        while joint >= 0 and joint not in placed:
            path.append(joint)
            joint = int(parents[joint])
        order += path[::-1]
        placed.update(path)
    return order


def _free(name: str, taken: tuple[str, ...]) -> str:
    while name in taken:
        name += "_"
    return name
