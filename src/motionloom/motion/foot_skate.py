"""Feet that stay where they stand.

During every contact the ball of the foot is held at one point, and while the heel is down
too the foot keeps one orientation, so that neither slides. What is added to the captured
foot to hold it there is a correction that is known inside the contacts; between them it
follows the least bent curve through what is known, and is gone a short time away from any
contact. So the foot eases in and out, and everything else of its path is kept.

Legs do not stretch. A leg that stands straight would have to bend by many degrees for a few
millimetres, so the root goes along with the planted feet first (Kovar, Schreiner and
Gleicher 2002 move the root for the same reason), and is lowered where a foot is still out
of reach. Both are smooth. The rest is done by the knee, in closed form.

References
----------
L. Kovar, J. Schreiner, M. Gleicher. Footskate cleanup for motion capture editing. Symposium
on Computer Animation, 2002.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion import rotations as rot
from motionloom.motion.contacts import SIDES, FootContacts, foot_contacts
from motionloom.motion.foot_planting import (
    foot_of,
    ground_under,
    held_path,
    held_sole,
    relieved,
    stood_spots,
    toes_above,
)
from motionloom.motion.quality import foot_slide
from motionloom.motion.reaching import reaching, with_world_rotations
from motionloom.motion.root_shift import root_shift

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

Array = NDArray[np.float64]

_FLAT = 0.004  # metres by which a ball may rise at most where its height is prescribed


@dataclass(frozen=True)
class CleanReport:
    """What a clean-up did.

    Attributes
    ----------
    slide_before_m, slide_after_m : float
        Mean horizontal travel per contact, in the contacts of the original.
    frames_changed : int
        Frames in which a joint turned by more than 0.1 degrees or the root moved by more
        than 1 mm.
    mean_angle_change, max_angle_change : float
        Root mean square and largest change of the legs' joint angles, radians.
    contacts : FootContacts
        The contacts that were held.
    """

    slide_before_m: float
    slide_after_m: float
    frames_changed: int
    mean_angle_change: float
    max_angle_change: float
    contacts: FootContacts


def clean_feet(
    motion: Motion, *, contacts: FootContacts | None = None, ease: float = 0.25
) -> tuple[Motion, CleanReport]:
    """The motion with feet that do not slide while they stand, and what was done.

    Parameters
    ----------
    motion : Motion
        Needs hips, knees, ankles and feet on both sides.
    contacts : FootContacts, optional
        When the feet stand. Default: `foot_contacts` of the motion.
    ease : float
        Seconds before and after a contact over which the foot comes from and returns to
        its own path.

    Returns
    -------
    cleaned : Motion
    report : CleanReport

    Examples
    --------
    >>> import motionloom as ml
    >>> cleaned, report = clean_feet(ml.demo.clip("walk"))
    >>> report.slide_after_m < 0.001
    True
    """
    if contacts is None:
        contacts = foot_contacts(motion)
    before = foot_slide(motion, contacts).per_contact_m  # also checks the contacts' length
    cleaned = planted(motion, contacts, ease=ease)
    change = _angle_changes(motion, cleaned)
    moved = np.linalg.norm(cleaned.root - motion.root, axis=-1) > 1e-3
    report = CleanReport(
        slide_before_m=before,
        slide_after_m=foot_slide(cleaned, contacts).per_contact_m,
        frames_changed=int(np.sum(moved | (change.max(axis=1) > np.radians(0.1)))),
        mean_angle_change=float(np.sqrt(np.mean(change**2))) if change.size else 0.0,
        max_angle_change=float(change.max()) if change.size else 0.0,
        contacts=contacts,
    )
    return cleaned, report


def planted(
    motion: Motion,
    contacts: FootContacts,
    *,
    ease: float = 0.25,
    heights: Mapping[str, Array] | None = None,
) -> Motion:
    """`motion` with its feet held in `contacts`; see `clean_feet`.

    Parameters
    ----------
    motion : Motion
    contacts : FootContacts
    ease : float
        Seconds.
    heights : mapping, optional
        For ``left_ball`` and ``right_ball`` the height in metres for each contact. Default:
        the height the ball has in it.
    """
    if not ease > 0.0:
        raise InvalidInput(f"ease must be a time in seconds above zero; got {ease}")
    if not len(motion) or not any(contacts.plants.values()):
        return motion
    feet = {side: foot_of(motion, side, contacts) for side in SIDES}
    reach = max(ease * motion.fps, 1.0)
    frames = len(motion)
    paths, spots, grounds = {}, {}, {}
    for side, foot in feet.items():
        plants = contacts.plants.get(f"{side}_ball", ())
        found = np.array([plant.height for plant in plants])
        given = found if heights is None else np.asarray(heights[f"{side}_ball"], np.float64)
        spots[side] = stood_spots(foot, plants, given, most=None if heights is None else _FLAT)
        paths[side] = held_path(foot, held_sole(foot, reach, motion.fps), spots[side], reach)
        grounds[side] = (ground_under(plants, found, frames), ground_under(plants, given, frames))
    shift = root_shift(
        [foot.limb for foot in feet.values()],
        [path.ankle for path in paths.values()],
        motion.root.astype(np.float64),
        contacts.standing("left") | contacts.standing("right"),
        motion.fps,
    )
    for side, foot in feet.items():
        paths[side] = relieved(
            foot, paths[side], spots[side], shift, grounds[side], reach, motion.fps
        )
    q = motion.rotations.astype(np.float64)
    for side, foot in feet.items():
        leg = reaching(foot.limb, foot.limb.start + shift, paths[side].ankle)
        turned = (leg.upper, leg.lower, paths[side].sole)
        q = with_world_rotations(q, motion.skeleton, dict(zip(foot.joints, turned, strict=True)))
    held = replace(motion, rotations=q, root=motion.root + shift)
    for side in SIDES:
        held = replace(held, rotations=toes_above(motion, held, side, grounds[side]))
    return replace(held, rotations=rot.unroll(held.rotations))


def _angle_changes(before: Motion, after: Motion) -> Array:
    """Change (T, 6) in radians of hip, knee and ankle rotations of both legs."""
    roles = [f"{side}_{joint}" for side in SIDES for joint in ("hip", "knee", "ankle")]
    joints = before.skeleton.points(roles)
    return rot.angle_between(before.rotations[:, joints], after.rotations[:, joints])
