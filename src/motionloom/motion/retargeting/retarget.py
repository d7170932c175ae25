"""Retargeting to a skeleton with different proportions, joints and rest pose.

Body parts rotate in the world as in the source, relative to a posture that both skeletons share
(see `motionloom.motion.retargeting.transfer`), which preserves joint angles. The path is scaled by
the leg length, the hips are placed at the height that legs of the new length require, and feet are
locked to the ground during the source's contacts. Hands that touch something keep touching it as
far as the arms reach (see `motionloom.motion.retargeting.end_effectors`); other arms keep their
angles [1]_.

A `StreamRetargeter` transfers a few frames at a time without knowing the frames that follow. The
neutral pose of the skeleton and the height of a standing ankle, which `retarget` takes from the
whole motion, come from an example. Feet are not locked to the ground and hands do not keep
contacts, because that requires future frames.

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
from motionloom.motion.diagnostics.quality.gate import quality_report
from motionloom.motion.feet.clean import lock_feet
from motionloom.motion.feet.contacts import SIDES, FootContacts, Plant, foot_contacts, part_path
from motionloom.motion.kinematics.body import leg_length
from motionloom.motion.kinematics.missing_feet import assume_balls, with_feet
from motionloom.motion.kinematics.root_carrier import body_skeleton, hips_as_root
from motionloom.motion.kinematics.two_bone import with_global_rotations
from motionloom.motion.retargeting.end_effectors import place_hands
from motionloom.motion.retargeting.fit import refuse_four_legs, retarget_fit
from motionloom.motion.retargeting.transfer import has_feet, neutral_poses, transfer_rotations
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.skeleton import Skeleton
from motionloom.motion.smoothing import gaussian_smooth
from motionloom.ragged import Ragged

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]

LEGS = ("hips", *(f"{side}_{part}" for side in SIDES for part in ("hip", "knee", "ankle")))
# Contacts whose sorted heights differ by less than this (meters) are on the same level ...
_SAME_LEVEL = 0.04
# ... unless their range exceeds what a tilted floor can explain.
_MAX_TILT = 0.12
_TILT_SECONDS = 0.3
_HEEL_EASE = 0.05  # seconds over which the scaling of a heel's rise by leg length fades in and out
_MAX_HEEL_PITCH = np.radians(30.0)
_NEEDED_TO_STREAM = ["hips", *(f"{side}_{part}" for side in SIDES for part in ("hip", "knee"))]


def retarget(
    motion: Motion,
    skeleton: Skeleton | Motion,
    *,
    importance: Mapping[str, ArrayLike] | None = None,
    keep_contacts: bool = True,
    contacts: FootContacts | None = None,
) -> Motion:
    """Transfer a motion to another skeleton.

    Parameters
    ----------
    motion : Motion
        T frames. The skeleton needs hips and legs, and also feet if `keep_contacts` is set.
    skeleton : Skeleton or Motion
        Target skeleton, which needs the same roles. Roles that the source lacks, and joints without
        a role, keep their rest pose relative to their parent; joints without a role that have the
        same name in both skeletons are copied. Fingers keep their pose relative to the hand. If all
        bones of the rest pose lie along one axis (as in LAFAN1), it does not show how the skeleton
        holds its shoulders and feet or how its bones are twisted. In this case, pass a motion.
    importance : mapping, optional
        Importance of the hand position relative to the arm angles, for ``left_hand`` and
        ``right_hand``: a number from 0 to 1, or one number per frame (T,). With 1, the hand keeps
        its position in the world, scaled like the path. By default, the importance depends on the
        distance of the hand from the floor, the other hand and the body.
    keep_contacts : bool
        Lock the feet to the ground during the source's contacts.
    contacts : FootContacts, optional
        Contacts of the source. Default: the contacts that `foot_contacts` finds.

    Returns
    -------
    moved : Motion
        The same number of frames at the same rate; the height of the floor is scaled.
        ``moved.quality.retarget`` compares it with the source and with the shape of the target;
        ``moved.quality.warnings`` lists exceeded limits.

    Raises
    ------
    RoleError
        If the source or the target lacks a required role.
    InvalidInput
        If the result is not a plausible body, which indicates wrong roles.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> small = retarget(walk, walk.skeleton.scaled(0.5))
    >>> bool(abs(small.root[:, 1].mean() / walk.root[:, 1].mean() - 0.5) < 0.01)
    True
    """
    example = None if isinstance(skeleton, Skeleton) else with_feet(skeleton)
    given = skeleton if isinstance(skeleton, Skeleton) else skeleton.skeleton
    skeleton = assume_balls(given) if example is None else example.skeleton
    motion = with_feet(motion)
    needed = [*LEGS, *(f"{side}_foot" for side in SIDES if keep_contacts)]
    require_roles("the motion's skeleton", motion.skeleton, needed)
    require_roles("the target skeleton", skeleton, needed)
    refuse_four_legs(motion.skeleton, skeleton)
    if not len(motion):
        raise InvalidInput("cannot retarget a motion without frames")
    if contacts is not None and contacts.frames != len(motion):
        raise InvalidInput(
            f"contacts must cover the motion's {len(motion)} frames; got {contacts.frames}"
        )
    if contacts is None and has_feet(motion.skeleton) and has_feet(skeleton):
        contacts = foot_contacts(motion)
    scale = leg_length(skeleton) / leg_length(motion.skeleton)
    poses = neutral_poses(motion, skeleton, example=example, contacts=contacts)
    turned = transfer_rotations(motion, skeleton, poses, example=example)
    if contacts is not None:
        turned = _raise_heels(motion, turned, scale, contacts)
    levels = _levels(contacts) if contacts is not None else {}
    moved = _on_scaled_path(motion, turned, scale, contacts, levels)
    heights = {part: scale * level for part, level in levels.items()}
    plants = contacts if keep_contacts else None
    if plants is not None:
        moved = lock_feet(moved, _contacts_on(moved, plants), heights=heights)
    floor = contacts.floor if contacts is not None else None
    moved = place_hands(motion, moved, scale=scale, floor=floor, importance=importance)
    fit = retarget_fit(
        motion,
        moved,
        poses[1],
        scale=scale,
        example=example,
        contacts=plants,
        grounds=heights or None,
    )
    if skeleton.names == given.names:
        moved = replace(moved, skeleton=given)  # without the assumed balls of the feet
    plants = plants if has_feet(given) else None
    return moved.with_quality(
        lambda result: quality_report(result, plants).with_parts(retarget=fit)
    )


def conformed(motion: Motion, skeleton: Skeleton | None, fps: float) -> Motion:
    """Return `motion` at `fps` and on `skeleton`; the same object if it already conforms.

    The root of the result is the hips, and joints above them are dropped.

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
    return motion if skeleton is None else on_skeleton(motion, body_skeleton(skeleton))


def on_skeleton(motion: Motion, skeleton: Skeleton) -> Motion:
    """Return `motion` on exactly this skeleton, retargeted unless it is the same body.

    If the bones differ only by rounding (`Skeleton.is_same_body`), only the skeleton is replaced.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> same = on_skeleton(walk, walk.skeleton.scaled(1.0001))
    >>> bool(np.array_equal(same.rotations, walk.rotations))
    True
    """
    if motion.skeleton is skeleton or motion.skeleton.key == skeleton.key:
        return motion
    if motion.translations is None and motion.skeleton.is_same_body(skeleton):
        return replace(motion, skeleton=skeleton)
    return retarget(motion, skeleton).with_quality(None)  # takes have no report


def require_roles(whose: str, skeleton: Skeleton, roles: list[str]) -> None:
    """Raise RoleError or, for zero-length legs, InvalidInput if `skeleton` is not usable."""
    try:
        skeleton.role_assignment.require(roles)
    except RoleError as error:
        raise RoleError(f"cannot retarget: in {whose}, {error}") from None
    if leg_length(skeleton) <= 0.0:
        raise InvalidInput(f"cannot retarget: the legs of {whose} have no length")


def _raise_heels(motion: Motion, turned: Motion, scale: float, contacts: FootContacts) -> Motion:
    """Adjust the foot pitch of `turned` so that heels rise in proportion to the leg length.

    The same pitch would lift the ankle of a longer foot higher, and the knee would have to
    compensate. A longer foot therefore pitches less while its ball is in contact. Toes keep their
    direction.
    """
    insteps = [instep_height(motion, contacts), instep_height(turned, contacts)]
    q = turned.rotations.astype(np.float64)
    world = turned.global_rotations().astype(np.float64)
    for side in SIDES:
        roles = [f"{side}_ankle", f"{side}_foot"]
        feet = [m.role_positions(roles).astype(np.float64) for m in (motion, turned)]
        rise = feet[0][:, 0, 1] - feet[0][:, 1, 1] - insteps[0]
        line = feet[1][:, 1] - feet[1][:, 0]
        length = np.maximum(np.linalg.norm(line, axis=-1), 1e-9)
        wanted = np.clip((insteps[1] + scale * rise) / length, -0.95, 0.95)
        pitch = np.arcsin(wanted) - np.arcsin(np.clip(-line[:, 1] / length, -1.0, 1.0))
        weight = gaussian_smooth(contacts[f"{side}_ball"].astype(float), _HEEL_EASE * motion.fps)
        pitch = weight * _MAX_HEEL_PITCH * np.tanh(pitch / _MAX_HEEL_PITCH)
        turn = rot.from_axis_angle(np.cross([0.0, 1.0, 0.0], line), pitch)
        ankle, ball = (int(point) for point in turned.skeleton.points(roles))
        changed = {ankle: rot.multiply(turn, world[:, ankle])}
        if ball < len(turned.skeleton):
            changed[ball] = world[:, ball]
        q = with_global_rotations(q, turned.skeleton, changed)
    return replace(turned, rotations=rot.unroll(q))


def _on_scaled_path(
    motion: Motion,
    turned: Motion,
    scale: float,
    contacts: FootContacts | None,
    levels: Mapping[str, Array],
) -> Motion:
    """Move `turned` so that its hip joints follow the scaled path of the source's hip joints.

    Heights are measured from the ankle of a flat foot, because feet do not scale like legs.
    """
    hips = ["left_hip", "right_hip"]
    middle = motion.role_positions(hips).astype(np.float64).mean(axis=1)
    goal = scale * middle
    if contacts is not None:
        goal[:, 1] -= scale * _tilt(contacts, levels)
        instep = instep_height(motion, contacts)
        goal[:, 1] += instep_height(turned, contacts) - scale * instep
    carried = turned.role_positions(hips).astype(np.float64).mean(axis=1)
    return replace(turned, root=goal - carried)


def instep_height(motion: Motion, contacts: FootContacts) -> float:
    """Return the height of the ankle above the ball of a flat foot, in meters."""
    rises = []
    for side in SIDES:
        flat = contacts[f"{side}_heel"] & contacts[f"{side}_ball"]
        foot = motion.role_positions([f"{side}_ankle", f"{side}_foot"]).astype(np.float64)
        rises.append((foot[:, 0, 1] - foot[:, 1, 1])[flat])
    rise = np.concatenate(rises)
    return float(np.median(rise)) if len(rise) else 0.0


def _levels(contacts: FootContacts) -> dict[str, Array]:
    """Return the height of the level ground under each contact of each foot's ball.

    Captured floors tilt slightly, so contacts whose heights differ by no more than such a tilt are
    on one level. Stairs and uneven ground keep their heights.
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
    """Return the height (T,) of the captured ground above the level ground."""
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
    """Return the same contacts, with heights measured in this motion."""
    plants = {}
    for part, rows in contacts.plants.items():
        height = part_path(motion, part)[:, 1]
        plants[part] = tuple(
            Plant(p.start_frame, p.end_frame, float(np.median(height[p.start_frame : p.end_frame])))
            for p in rows
        )
    return replace(contacts, plants=plants)


class StreamRetargeter:
    """Retargeter that transfers frames from one skeleton to another, block by block.

    Parameters
    ----------
    source : Motion
        Any motion on the source skeleton, ideally a few seconds in which each foot sometimes stands
        on the ground.
    target : Motion
        A motion on the other skeleton, or its rest pose.

    Attributes
    ----------
    scale : float
        Leg length of the target divided by that of the source. The path is scaled by this factor.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk, child = ml.demo.clip("walk"), ml.demo.clip("walk", performer=2)
    >>> stream = StreamRetargeter(walk, child)
    >>> rotations, root = stream.frames(walk.rotations[:4], walk.root[:4])
    >>> rotations.shape == (4, len(child.skeleton), 4), root.shape
    (True, (4, 3))
    """

    def __init__(self, source: Motion, target: Motion) -> None:
        self.skeleton = target.skeleton
        require_roles("the motion's skeleton", source.skeleton, _NEEDED_TO_STREAM)
        require_roles("the target skeleton", self.skeleton, _NEEDED_TO_STREAM)
        self._source, self._target = source, target
        self.scale = leg_length(self.skeleton) / leg_length(source.skeleton)
        feet = has_feet(source.skeleton) and has_feet(self.skeleton)
        contacts = foot_contacts(source) if feet else None
        self._poses = neutral_poses(source, self.skeleton, example=target, contacts=contacts)
        self._rise = 0.0  # height of the hips; feet do not scale like legs
        if contacts is not None:
            turned = transfer_rotations(source, self.skeleton, self._poses, example=target)
            self._rise = instep_height(turned, contacts) - self.scale * instep_height(
                source, contacts
            )

    def frames(
        self, rotations: ArrayLike, root: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Transfer frames; return rotations (T, J, 4) and root (T, 3) on the target."""
        given = replace(
            self._source,
            rotations=np.asarray(rotations),
            root=np.asarray(root),
            translations=None,
            provenance=None,
        )
        turned = transfer_rotations(given, self.skeleton, self._poses, example=self._target)
        hips = ["left_hip", "right_hip"]
        goal = self.scale * given.role_positions(hips).astype(np.float64).mean(axis=1)
        goal[:, 1] += self._rise
        moved = goal - turned.role_positions(hips).astype(np.float64).mean(axis=1)
        return turned.rotations.astype(np.float32), moved.astype(np.float32)
