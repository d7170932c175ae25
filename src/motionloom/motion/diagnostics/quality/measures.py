"""Quality measures for motions: foot slide, toe drag, floor penetration, accelerations at seams."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.feet.contacts import (
    FOOT_PARTS,
    SIDES,
    FootContacts,
    foot_contacts,
    part_path,
)
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.motion.rotations import quaternions as rot

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

_SEAM_REACH = 0.25  # seconds on either side of a seam that belong to it
_CLEAR = 0.012  # meters: height at which a toe has left the ground
_LOOSE = ("wrist", "hand", "foot", "toe", "ankle", "collar", "_top")
_JUMP = 0.1  # meters
_JUMP_RATIO = 3.0
_AROUND = (2, 3, 4)  # frames before and after
_BESIDE, _BACK = 0.4, 0.8  # neighboring steps relative to a jump, and the step of a jump back
_USUAL = 99.9  # percentile of the sources' accelerations to which a seam is compared


@dataclass(frozen=True)
class FootSlide:
    """Horizontal travel of feet in contact.

    Attributes
    ----------
    per_contact_m : float or None
        Horizontal distance in meters that a heel or ball travels during a contact, averaged over
        all contacts; None if there are no contacts.
    speed_m_s : float or None
        Mean horizontal speed in m/s over all frames in contact.
    worst_m : float or None
        Largest distance in meters traveled during any contact.
    contacts : int
        Number of contacts.
    """

    per_contact_m: float | None
    speed_m_s: float | None
    worst_m: float | None
    contacts: int


def foot_slide(motion: Motion, contacts: FootContacts | None = None) -> FootSlide:
    """Measure the horizontal travel of heels and balls during contact.

    Parameters
    ----------
    motion : Motion
        A motion whose skeleton has ankles and feet.
    contacts : FootContacts, optional
        Pass the contacts of the source to measure an edited motion. Default: the contacts of the
        motion.

    Returns
    -------
    slide : FootSlide
        If there are no contacts, the figures are None, because it is unknown whether the feet
        slide.

    Examples
    --------
    >>> import motionloom as ml
    >>> slide = foot_slide(ml.demo.clip("walk"))
    >>> slide.per_contact_m < 0.05
    True
    """
    slides = contact_slides(motion, contacts)
    if not slides:
        return FootSlide(None, None, None, 0)
    ways = [slide.distance_m for slide in slides]
    steps = sum(slide.end_frame - 1 - slide.start_frame for slide in slides)
    speed = sum(ways) * motion.fps / max(steps, 1)
    return FootSlide(float(np.mean(ways)), speed, max(ways), len(ways))


@dataclass(frozen=True)
class ContactSlide:
    """Travel of a foot part during one contact, frames ``[start_frame, end_frame)``."""

    part: str
    start_frame: int
    end_frame: int
    distance_m: float


def contact_slides(motion: Motion, contacts: FootContacts | None = None) -> list[ContactSlide]:
    """Return the horizontal travel during each contact of a heel or ball, summed over frames."""
    contacts = contacts_of(motion, contacts)
    slides = []
    for part in FOOT_PARTS:
        path = part_path(motion, part)[:, [0, 2]]
        step = np.linalg.norm(np.diff(path, axis=0), axis=-1)
        for start, end in contacts.intervals(part):
            slides.append(ContactSlide(part, start, end, float(step[start : end - 1].sum())))
    return slides


@dataclass(frozen=True)
class ToeDrag:
    """Travel of a toe over the ground after a contact, frames ``[start_frame, end_frame)``."""

    side: str
    start_frame: int
    end_frame: int
    distance_m: float


def toe_drags(motion: Motion, contacts: FootContacts | None = None) -> list[ToeDrag]:
    """Return how far each toe travels over the floor between the end of a contact and its lift.

    A toe lifts when it is 1.2 cm higher than during the contact. Contacts that end with the motion
    do not count.

    Examples
    --------
    >>> import motionloom as ml
    >>> max(drag.distance_m for drag in toe_drags(ml.demo.clip("walk"))) < 0.06
    True
    """
    contacts = contacts_of(motion, contacts)
    drags = []
    for side in SIDES:
        role = f"{side}_toe" if f"{side}_toe" in motion.skeleton.roles else f"{side}_foot"
        toe = motion.role_positions([role])[:, 0].astype(np.float64)
        step = np.linalg.norm(np.diff(toe[:, [0, 2]], axis=0), axis=-1)
        runs = contacts.intervals(f"{side}_ball")
        nexts = [*(start for start, _ in runs[1:]), len(motion)][: len(runs)]
        for (start, end), following in zip(runs, nexts, strict=True):
            high = toe[end:following, 1] > np.median(toe[start:end, 1]) + _CLEAR
            if high.any():
                lift = end + int(np.argmax(high))
                drags.append(ToeDrag(side, end, lift, float(step[end - 1 : lift - 1].sum())))
    return drags


def floor_penetration(motion: Motion, contacts: FootContacts | None = None) -> float:
    """Return the mean of `floor_depths` over all frames, in meters.

    Examples
    --------
    >>> import motionloom as ml
    >>> floor_penetration(ml.demo.clip("walk")) < 0.005
    True
    """
    return float(floor_depths(motion, contacts).mean()) if len(motion) else 0.0


def floor_depths(motion: Motion, contacts: FootContacts | None = None) -> NDArray[np.float64]:
    """Return the depth of the balls of the feet below the ground in meters, shape (T,).

    The ground under a foot is the height of its ball in the nearest contact. In each frame, the
    deeper foot counts.
    """
    contacts = contacts_of(motion, contacts)
    depth = np.zeros((len(motion), 2))
    for k, side in enumerate(SIDES):
        plants = contacts.plants.get(f"{side}_ball", ())
        if not plants:
            continue
        ball = part_path(motion, f"{side}_ball")[:, 1]
        middles = np.array([(p.start_frame + p.end_frame) / 2.0 for p in plants])
        ground = np.array([p.height for p in plants])
        nearest = np.argmin(np.abs(np.arange(len(motion))[:, None] - middles), axis=1)
        depth[:, k] = np.maximum(ground[nearest] - ball, 0.0)
    return np.nan_to_num(depth).max(axis=1)  # NaN: an unknown frame


def joint_accelerations(motion: Motion) -> NDArray[np.float64]:
    """Return the magnitudes of the joints' world accelerations in m/s^2, shape (T - 2, J).

    Row k belongs to frame k + 1.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> joint_accelerations(walk).shape == (len(walk) - 2, len(walk.skeleton))
    True
    """
    places = hips_as_root(motion).positions().astype(np.float64)
    return np.linalg.norm(np.diff(places, n=2, axis=0), axis=-1) * motion.fps**2


def seam_accelerations(motion: Motion) -> NDArray[np.float64]:
    """Return the largest joint acceleration within 0.25 s of each seam in m/s^2, shape (seams,)."""
    seams = () if motion.provenance is None else motion.provenance.seams
    largest = np.nan_to_num(joint_accelerations(motion)).max(axis=1, initial=0.0)
    reach = max(1, round(_SEAM_REACH * motion.fps))
    near = (largest[max(seam - 1 - reach, 0) : max(seam + reach, 0)] for seam in seams)
    return np.array([window.max(initial=0.0) for window in near])


def angular_accelerations(motion: Motion) -> NDArray[np.float64]:
    """Return the magnitudes of the joints' angular accelerations in rad/s^2, shape (T - 2, J).

    They are those of the local rotations of body parts, without hands and feet, whose rotations
    are noisy in captured motion. Positions do not show a limb that turns about its bone.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> len(angular_accelerations(walk)) == len(walk) - 2
    True
    """
    skeleton = motion.skeleton
    joints = [
        skeleton.joint(name)
        for role, name in skeleton.roles.items()
        if name in skeleton.names and not role.endswith(_LOOSE)
    ]
    q = motion.rotations[:, joints].astype(np.float64)
    if len(q) < 3:
        return np.zeros((0, len(joints)))
    turn = rot.log(rot.multiply(rot.inverse(q[:-1]), q[1:]))
    return np.linalg.norm(np.diff(turn, axis=0), axis=-1) * motion.fps**2


def usual_angular_acceleration(motions: Iterable[Motion]) -> float:
    """Return the 99.9th percentile of angular accelerations in rad/s^2, or 0 without frames."""
    every = np.concatenate([np.zeros(0), *(angular_accelerations(m).ravel() for m in motions)])
    finite = every[np.isfinite(every)]
    return float(np.percentile(finite, _USUAL)) if len(finite) else 0.0


def seam_rotations(motion: Motion) -> NDArray[np.float64]:
    """Return the largest angular acceleration next to each seam in rad/s^2, shape (seams,)."""
    seams = () if motion.provenance is None else motion.provenance.seams
    largest = np.nan_to_num(angular_accelerations(motion)).max(axis=1, initial=0.0)
    reach = max(1, round(_SEAM_REACH * motion.fps))
    near = (largest[max(seam - 1 - reach, 0) : max(seam + reach, 0)] for seam in seams)
    return np.array([window.max(initial=0.0) for window in near])


def acceleration_between_seams(motion: Motion, frame: int, seconds: float) -> float:
    """Return the 99.9th percentile of joint accelerations around a frame, except near seams."""
    reach, near = round(seconds * motion.fps), max(1, round(_SEAM_REACH * motion.fps))
    first = max(frame - reach, 0)
    rows = joint_accelerations(replace(motion, provenance=None)[first : frame + reach])
    away = np.ones(len(rows), bool)
    for seam in () if motion.provenance is None else motion.provenance.seams:
        away[max(seam - first - 1 - near, 0) : max(seam - first + near, 0)] = False
    return float(np.percentile(rows[away], _USUAL)) if away.any() else 0.0


def usual_acceleration(motions: Iterable[Motion]) -> float:
    """Return the 99.9th percentile of all joint accelerations in m/s^2, or 0 if there are none."""
    every = np.concatenate([np.zeros(0), *(joint_accelerations(m).ravel() for m in motions)])
    finite = every[np.isfinite(every)]
    return float(np.percentile(finite, _USUAL)) if len(finite) else 0.0


def jump_sizes(motion: Motion) -> NDArray[np.float64]:
    """Return the largest joint jump between consecutive frames in meters, shape (T - 1,).

    Row k describes the step from frame k to frame k + 1. A jump is a step of at least 0.1 m. It is
    more than three times as long as all steps of the same joint two to four frames before and
    after. It is also much longer than the adjacent steps or, for a joint that jumps away and back,
    as long as one of them. An arm that is merely fast speeds up and slows down over several frames.
    Zero means that no joint jumps. The first and last two steps are not judged, because too few
    frames surround them.

    With this definition, 17 of 300 takes from the CMU database have jumps, all of which are capture
    errors.

    Examples
    --------
    >>> import motionloom as ml
    >>> bool(jump_sizes(ml.demo.clip("walk")).any())
    False
    """
    return joint_jumps(motion).max(axis=1, initial=0.0)


def joint_jumps(motion: Motion) -> NDArray[np.float64]:
    """Return the jump of each joint in each step, shape (T - 1, J); see `jump_sizes`."""
    places = motion.positions().astype(np.float64)
    sizes = np.linalg.norm(np.diff(places, axis=0), axis=-1)  # (T - 1, J)
    around = np.zeros_like(sizes)
    for apart in _AROUND:
        around[apart:] = np.maximum(around[apart:], sizes[:-apart])
        around[:-apart] = np.maximum(around[:-apart], sizes[apart:])
    jumps = np.zeros(sizes.shape)
    if len(sizes) <= 2 * _AROUND[0]:
        return jumps
    inner = slice(_AROUND[0], -_AROUND[0])
    sides = np.sort(np.stack([sizes[:-2], sizes[2:]]) / np.maximum(sizes[1:-1], 1e-9), axis=0)
    sudden = np.zeros(sizes.shape, bool)
    sudden[1:-1] = (sides[1] < _BESIDE) | ((sides[0] < _BESIDE) & (sides[1] > _BACK))
    sudden &= (sizes >= _JUMP) & (sizes > _JUMP_RATIO * around)
    jumps[inner] = np.where(sudden, sizes, 0.0)[inner]
    return jumps


def contacts_of(motion: Motion, contacts: FootContacts | None) -> FootContacts:
    """Validate and return the given contacts, or detect the contacts of the motion."""
    if contacts is None:
        return foot_contacts(motion)
    if contacts.frames != len(motion):
        raise InvalidInput(
            f"contacts must cover the motion's {len(motion)} frames; got {contacts.frames}. "
            f"Resample the motion before computing its contacts"
        )
    return contacts
