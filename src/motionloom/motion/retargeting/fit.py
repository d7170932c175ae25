"""Checks of a retargeted motion: widths, limb directions, height and feet.

All figures are computed from joint positions and therefore reveal errors in the transfer of
rotations. A result that is no longer a plausible body raises an error; smaller deviations become
warnings in the quality report (`motionloom.motion.diagnostics.quality.report`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.quality.parts import RetargetFit
from motionloom.motion.feet.contacts import SIDES, FootContacts
from motionloom.motion.kinematics.body import leg_length
from motionloom.motion.retargeting.neutral_pose import ARM, LEG, NeutralPose
from motionloom.motion.retargeting.transfer import transferred_joints
from motionloom.motion.rotations.directions import unit
from motionloom.motion.skeleton import BodyTree, Skeleton

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]

# Limits beyond which an error is raised: widths relative to the target's, and angles in degrees.
_HOPELESS_WIDTH = (0.5, 2.0)
_HOPELESS_ANGLE = 60.0
_FINGER_BENT = np.radians(15.0)
_FEWEST_FINGERS = 4  # joints; coarse rigs have a thumb and one finger, which hardly move
_FOUR_LEGS = (("hip", "ankle"), ("shoulder", "wrist"))
_TRUNK_UP, _LIMB_DOWN = np.radians(50.0), np.radians(40.0)
_PARTS = {
    "shoulders": ("collar", "chest"),
    "arms": ARM[:2],
    "legs": LEG[:2],
    "feet": ("ankle",),
}


def retarget_fit(
    source: Motion,
    moved: Motion,
    pose: NeutralPose,
    *,
    scale: float,
    example: Motion | None = None,
    contacts: FootContacts | None = None,
    grounds: Mapping[str, Array] | None = None,
) -> RetargetFit:
    """Compare a retargeted motion with its source and with the shape of the target.

    Parameters
    ----------
    source, moved : Motion
        The original and the retargeted motion, with T frames each.
    pose : NeutralPose
        Neutral pose of the target.
    scale : float
        Leg length of `moved` divided by that of `source`.
    example : Motion, optional
        A motion on the target's skeleton that shows its normal widths. Default: the widths of the
        neutral pose.
    contacts : FootContacts, optional
        Contacts of the source.
    grounds : mapping, optional
        Ground height in meters under each contact of ``left_ball`` and ``right_ball``.

    Raises
    ------
    InvalidInput
        If shoulders or hips have collapsed, or limbs point in entirely different directions.
    """
    there, here = _places(source), _places(moved)
    own = _places(example) if example is not None and len(example) else None
    rest = _places(moved.rest_pose())  # the distance between the hip joints is the same in any pose
    widths = {
        "shoulder": pose.shoulder_width(moved.skeleton) if own is None else _width(own, "shoulder"),
        "hip": _width(rest if own is None else own, "hip"),
    }
    ratios = {}
    for part, usual in widths.items():
        got = _width(here, part)
        ratios[part] = got / usual if got is not None and usual else None
    limb, typical, most = _limb_angles(there, here)
    _refuse_hopeless(moved, ratios, limb, typical)
    return RetargetFit(
        ratios["shoulder"],
        ratios["hip"],
        most,
        limb,
        _height(source, moved, there, here, contacts, scale),
        _foot_height(here, contacts, grounds),
        tuple(
            name
            for name, parts in _PARTS.items()
            if any(role.split("_")[-1] in parts for role in pose.assumed)
        ),
        lost_fingers(source, moved.skeleton),
    )


def lost_fingers(source: Motion, target: Skeleton) -> tuple[str, ...]:
    """Return the hands of `target` whose fingers stay still although those of the source move.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> lost_fingers(walk, walk.skeleton)
    ()
    """
    skeleton, followed = source.skeleton, transferred_joints(source.skeleton, target)
    lost = []
    for side in SIDES:
        if not all(f"{side}_wrist" in body.roles for body in (skeleton, target)):
            continue
        theirs, ours = _finger_joints(skeleton, side), _finger_joints(target, side)
        bent = _bent(source, theirs)
        if bent < _FEWEST_FINGERS or len(ours) < _FEWEST_FINGERS:
            continue
        if sum(joint in followed for joint in ours) < 0.5 * len(ours):
            lost.append(f"{side} fingers")
    return tuple(lost)


def _finger_joints(skeleton: Skeleton, side: str) -> list[int]:
    """Return the joints below a wrist that have children, which excludes the tips of fingers."""
    tree = BodyTree(skeleton)
    below = tree.below(int(skeleton.point(f"{side}_wrist")))
    return [point for point in below if point < len(skeleton) and tree.children[point]]


def _bent(motion: Motion, joints: list[int]) -> int:
    """Return how many joints differ from the rest pose, in most frames, by more than a little."""
    if not joints:
        return 0
    rest = motion.skeleton.rest_rotations[joints]
    cosines = np.abs(np.einsum("tjc,jc->tj", motion.rotations[:, joints].astype(np.float64), rest))
    angles = 2.0 * np.arccos(np.clip(cosines, 0.0, 1.0))
    return int(np.sum(np.percentile(angles, 75, axis=0) > _FINGER_BENT))


def refuse_four_legs(source: Skeleton, target: Skeleton) -> None:
    """Raise an error if one of two bodies stands on four legs and the other on two."""
    four = [stands_on_four_legs(skeleton) for skeleton in (source, target)]
    if four[0] != four[1]:
        raise InvalidInput(
            f"cannot retarget: the {'source' if four[0] else 'target'} stands on four legs and the "
            f"{'target' if four[0] else 'source'} on two. If that is wrong, correct the roles in "
            "a mapping file"
        )


def stands_on_four_legs(skeleton: Skeleton) -> bool:
    """Return whether arms and legs point down at rest and the trunk does not point up.

    Examples
    --------
    >>> import motionloom as ml
    >>> bool(stands_on_four_legs(ml.demo.clip("walk").skeleton))
    False
    """
    limbs = [f"{side}_{part}" for side in SIDES for part in ("hip", "ankle", "shoulder", "wrist")]
    if not {"hips", "neck", *limbs} <= skeleton.roles.keys():
        return False
    rest = BodyTree(skeleton).rest_positions()
    place = {role: rest[skeleton.point(role)] for role in ("hips", "neck", *limbs)}
    lines = [place["neck"] - place["hips"]]
    for side in SIDES:
        lines += [place[f"{side}_{end}"] - place[f"{side}_{start}"] for start, end in _FOUR_LEGS]
    cosines = [line[1] / max(float(np.linalg.norm(line)), 1e-9) for line in lines]
    return cosines[0] < np.cos(_TRUNK_UP) and max(cosines[1:]) < -np.cos(_LIMB_DOWN)


def _refuse_hopeless(
    moved: Motion, widths: Mapping[str, float | None], limb: str, angle: float
) -> None:
    least, most = _HOPELESS_WIDTH
    for part, width in widths.items():
        if width is not None and not least <= width <= most:
            raise InvalidInput(
                f"cannot retarget {moved.name!r}: its {part}s would be {100 * width:.0f} % as "
                f"wide as the target's. The roles of one of the two skeletons are probably wrong: "
                f"check them with motionloom doctor, and correct them in a mapping file"
            )
    if angle > _HOPELESS_ANGLE:
        raise InvalidInput(
            f"cannot retarget {moved.name!r}: the bone that begins at the {limb.replace('_', ' ')} "
            f"would be {angle:.0f} degrees off its direction in the source. The roles of one of "
            f"the two skeletons are probably wrong: check them with motionloom doctor, and "
            f"correct them in a mapping file"
        )


def _places(motion: Motion) -> dict[str, Array]:
    """Return world positions (T, 3) by role."""
    roles = list(motion.skeleton.roles)
    places = motion.role_positions(roles).astype(np.float64)
    return {role: places[:, k] for k, role in enumerate(roles)}


def _width(places: Mapping[str, Array], part: str) -> float | None:
    """Return the median distance between the left and right joints of a part."""
    ends = [places.get(f"{side}_{part}") for side in SIDES]
    if ends[0] is None or ends[1] is None:
        return None
    return float(np.nanmedian(np.linalg.norm(ends[0] - ends[1], axis=-1)))


def _limb_angles(there: Mapping[str, Array], here: Mapping[str, Array]) -> tuple[str, float, float]:
    """Return the bone that differs most, and its median and 95th percentile angle in degrees."""
    worst = ("", 0.0, 0.0)
    trunk_there, trunk_here = _trunk(there), _trunk(here)
    if trunk_there is None or trunk_here is None:
        return worst
    bodies = ((trunk_there, there), (trunk_here, here))
    for side in SIDES:
        for chain in (ARM, LEG):
            for first, second in zip(chain, chain[1:], strict=False):
                bone = (f"{side}_{first}", f"{side}_{second}")
                if not all(role in places for role in bone for places in (there, here)):
                    continue
                seen = [
                    np.einsum("tij,ti->tj", trunk, unit(places[bone[1]] - places[bone[0]]))
                    for trunk, places in bodies
                ]
                cosine = np.clip(np.sum(seen[0] * seen[1], axis=-1), -1.0, 1.0)
                angles = np.degrees(np.arccos(cosine))
                if not np.all(np.isnan(angles)):
                    most = float(np.nanpercentile(angles, 95))
                    if most > worst[2] or not worst[0]:
                        worst = (bone[0], float(np.nanmedian(angles)), most)
    return worst


def _trunk(places: Mapping[str, Array]) -> Array | None:
    """Return the trunk's left, up and forward axes (T, 3, 3); None if hips or neck are missing."""
    if not {"hips", "neck", "left_hip", "right_hip"} <= places.keys():
        return None
    up = unit(places["neck"] - places["hips"])
    across = unit(places["left_hip"] - places["right_hip"])
    if {"left_shoulder", "right_shoulder"} <= places.keys():
        across = across + unit(places["left_shoulder"] - places["right_shoulder"])
    left = unit(across - np.sum(across * up, axis=-1, keepdims=True) * up)
    return np.stack([left, up, np.cross(left, up)], axis=-1)


def _height(
    source: Motion,
    moved: Motion,
    there: Mapping[str, Array],
    here: Mapping[str, Array],
    contacts: FootContacts | None,
    scale: float,
) -> float | None:
    """Return the head height divided by leg and trunk length, relative to the source."""
    if contacts is None or not all("head" in places for places in (there, here)):
        return None
    tall = [
        leg_length(skeleton)
        + BodyTree(skeleton).length(*map(int, skeleton.points(["hips", "head"])))
        for skeleton in (source.skeleton, moved.skeleton)
    ]
    heights = [float(np.nanmedian(places["head"][:, 1])) for places in (there, here)]
    floors = contacts.floor, scale * contacts.floor
    if heights[0] - floors[0] < 0.5 * tall[0]:  # lying and crouching bodies are not compared
        return None
    return (heights[1] - floors[1]) / tall[1] / ((heights[0] - floors[0]) / tall[0])


def _foot_height(
    here: Mapping[str, Array],
    contacts: FootContacts | None,
    grounds: Mapping[str, Array] | None,
) -> float | None:
    """Return the maximum distance between a foot's ball in contact and the ground below it."""
    if contacts is None or grounds is None:
        return None
    off = [
        float(np.nanmax(np.abs(here[f"{side}_foot"][start:end, 1] - ground)))
        for side in SIDES
        for (start, end), ground in zip(
            contacts.intervals(f"{side}_ball"), grounds[f"{side}_ball"], strict=True
        )
    ]
    return max(off, default=None)
