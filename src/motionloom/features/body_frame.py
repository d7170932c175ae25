"""Body frame, which makes joint positions independent of the body's location and heading.

A pose does not depend on where it was captured and which way it faced. With
``normalize="heading"``, every frame is moved so that its hips are over the origin and rotated
about the vertical so that it faces +Z. Heights above the floor remain, which distinguishes
jumping, standing and lying. With ``normalize="full"``, the whole rotation of the pelvis and the
height of the hips are also removed, which leaves positions in the axes of the pelvis.

Krüger et al. (2010), section 3.2, use "normalized root positions and orientations, as is the
standard technique", which can mean either. They cite Kovar and Gleicher (2004), who remove only the
heading and the position on the floor, so the preset ``kt10`` uses ``"heading"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.body import facing, leg_length
from motionloom.motion.retargeting.neutral_pose import global_rest_rotations, neutral_pose
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.planar_transform import floor_complex

Normalize = Literal["heading", "full"]
NORMALIZE: tuple[Normalize, ...] = ("heading", "full")

# Scale-free positions are scaled to a performer with legs of this length, so they remain in meters.
# The length is the mean over the performers of the CMU database (0.73 to 0.90 m).
REFERENCE_LEG = 0.826


def body_positions(
    motion: Motion,
    roles: Sequence[str],
    *,
    normalize: Normalize = "heading",
    scale_free: bool = False,
) -> NDArray[np.float64]:
    """Return joint positions in the body frame, one joint for each of `roles`.

    Parameters
    ----------
    motion : Motion
        T frames.
    roles : sequence of str, length P
    normalize : {"heading", "full"}
        ``"heading"`` removes heading and floor position. ``"full"`` removes the whole rotation and
        position of the pelvis.
    scale_free : bool
        Scale every performer to the same leg length (`REFERENCE_LEG`).

    Returns
    -------
    positions : ndarray, shape (T, P, 3)
        Positions in meters: +Z is forward, +X is left and +Y is up. A frame with missing values is
        all NaN.

    Raises
    ------
    RoleError
        If the skeleton has no hips or no joint for one of the roles.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> wrists = body_positions(walk, ["left_wrist", "right_wrist"])
    >>> bool((wrists[:, 0, 0] > wrists[:, 1, 0]).all())  # left is +X
    True
    """
    check_normalize(normalize)
    skeleton = motion.skeleton
    places = motion.positions(end_sites=True)
    wanted = places[:, skeleton.points(roles)].astype(np.float64)
    hips = places[:, skeleton.points(["hips"])].astype(np.float64)
    if normalize == "heading":
        hips[..., 1] = 0.0
        wanted = _turned_back(wanted - hips, facing(motion, places))
    else:
        turn = rot.inverse(body_rotations(motion, ["hips"]))
        wanted = rot.rotate(turn, wanted - hips)
    if scale_free:
        wanted *= leg_scale(skeleton)
    return wanted


def body_rotations(motion: Motion, roles: Sequence[str]) -> NDArray[np.float64]:
    """Return world rotations ``wxyz`` relative to a common standing posture, shape (T, R, 4).

    The posture is the same for all skeletons: upright, facing +Z, arms out to the sides, legs
    straight. A skeleton with another rest pose is first put into this posture, bone by bone (see
    `motionloom.motion.retargeting.neutral_pose`). Rotations therefore do not depend on the joint
    axes or the rest pose of a file. An end site rotates with its parent joint.
    """
    skeleton = motion.skeleton
    joints = [_joint(skeleton, point) for point in skeleton.points(roles)]
    turned = rot.normalize(motion.global_rotations()[:, joints].astype(np.float64))
    at_rest = rot.normalize(global_rest_rotations(skeleton)[joints])
    turns = neutral_pose(skeleton).turns
    posture = np.stack([turns.get(role, turns["hips"]) for role in roles])
    return rot.multiply(turned, rot.inverse(rot.multiply(posture, at_rest)))


def leg_scale(skeleton: Skeleton) -> float:
    """Return the factor that scales the legs of a skeleton to `REFERENCE_LEG`.

    Examples
    --------
    >>> import motionloom as ml
    >>> skeleton = ml.demo.clip("walk").skeleton
    >>> round(leg_scale(skeleton.scaled(0.5)) / leg_scale(skeleton), 6)
    2.0
    """
    length = leg_length(skeleton)
    if not length > 0.0:
        raise InvalidInput(
            f"scale_free requires the length of the legs, but the distance between hip and ankle "
            f"is {length} m"
        )
    return REFERENCE_LEG / length


def check_normalize(normalize: str) -> None:
    """Raise `InvalidInput` unless `normalize` is in `NORMALIZE`."""
    if normalize not in NORMALIZE:
        raise InvalidInput(f"normalize must be one of {', '.join(NORMALIZE)}; got {normalize!r}")


def _turned_back(places: NDArray[np.float64], facing: NDArray[np.complex128]):
    """Rotate `places` (T, P, 3) about the vertical so that `facing` (T,) becomes +Z."""
    floor = floor_complex(places) * facing.conj()[:, None]
    return np.stack([floor.imag, places[..., 1], floor.real], axis=-1)


def _joint(skeleton: Skeleton, point: int) -> int:
    joints = len(skeleton)
    return int(point) if point < joints else int(skeleton.end_parents[point - joints])
