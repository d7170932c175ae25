"""How well the feet of a motion behave: slide in contact, depth below the floor.

One report for clean-up, retargeting and everything synthesised later, so that their figures
can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.contacts import FOOT_PARTS, FootContacts, foot_contacts

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

_ROLE_OF = {"heel": "ankle", "ball": "foot"}


@dataclass(frozen=True)
class FootSlide:
    """How far feet travel over the floor while they should stand.

    Attributes
    ----------
    per_contact_m : float
        Horizontal way travelled within a contact, mean over contacts of heels and balls.
    speed_m_s : float
        Horizontal speed, mean over all frames in contact.
    worst_m : float
        Way of the contact that slides most.
    contacts : int
        How many contacts were measured.
    """

    per_contact_m: float
    speed_m_s: float
    worst_m: float
    contacts: int


@dataclass(frozen=True)
class QualityReport:
    """What is measured on every motion that comes out of motionloom."""

    foot_slide_m: float
    floor_penetration_m: float


def foot_slide(motion: Motion, contacts: FootContacts | None = None) -> FootSlide:
    """Horizontal travel of heels and balls during contact.

    Parameters
    ----------
    motion : Motion
        Needs ankles and feet.
    contacts : FootContacts, optional
        When the feet should stand. Give the contacts of the source to measure what was made
        from it. Default: the motion's own.

    Returns
    -------
    slide : FootSlide
        All zero where there are no contacts.

    Examples
    --------
    >>> import motionloom as ml
    >>> slide = foot_slide(ml.demo.clip("walk"))
    >>> slide.per_contact_m < 0.05
    True
    """
    contacts = _contacts_of(motion, contacts)
    ways, steps, still = [], 0, 0.0
    for part in FOOT_PARTS:
        path = part_path(motion, part)[:, [0, 2]]
        step = np.linalg.norm(np.diff(path, axis=0), axis=-1)
        for start, end in contacts.intervals(part):
            ways.append(float(step[start : end - 1].sum()))
            steps += end - 1 - start
            still += ways[-1]
    if not ways:
        return FootSlide(0.0, 0.0, 0.0, 0)
    speed = still * motion.fps / max(steps, 1)
    return FootSlide(float(np.mean(ways)), speed, max(ways), len(ways))


def floor_penetration(motion: Motion, contacts: FootContacts | None = None) -> float:
    """How far balls and toes sink below the ground they stand on: mean over frames, metres.

    The ground under a foot is the height of its ball in the nearest contact; a toe joint
    may lie lower than the ball as long as it is no lower than it is in that contact.

    Examples
    --------
    >>> import motionloom as ml
    >>> floor_penetration(ml.demo.clip("walk")) < 0.005
    True
    """
    contacts = _contacts_of(motion, contacts)
    depth = np.zeros((len(motion), 2))
    for k, side in enumerate(("left", "right")):
        plants = contacts.plants.get(f"{side}_ball", ())
        if not plants:
            continue
        ball = part_path(motion, f"{side}_ball")[:, 1]
        middles = np.array([(p.start_frame + p.end_frame) / 2.0 for p in plants])
        ground = np.array([p.height for p in plants])
        nearest = np.argmin(np.abs(np.arange(len(motion))[:, None] - middles), axis=1)
        depth[:, k] = np.maximum(ground[nearest] - ball, 0.0)
    return float(depth.max(axis=1).mean()) if len(motion) else 0.0


def quality_report(motion: Motion, contacts: FootContacts | None = None) -> QualityReport:
    """Slide per contact and floor penetration of a motion.

    Examples
    --------
    >>> import motionloom as ml
    >>> quality_report(ml.demo.clip("walk")).foot_slide_m < 0.05
    True
    """
    contacts = _contacts_of(motion, contacts)
    return QualityReport(
        foot_slide(motion, contacts).per_contact_m, floor_penetration(motion, contacts)
    )


def part_path(motion: Motion, part: str) -> NDArray[np.float64]:
    """World path (T, 3) of a foot part, ``left_heel`` (the ankle), ``left_ball``, ..."""
    side, kind = part.split("_")
    return motion.role_positions([f"{side}_{_ROLE_OF[kind]}"])[:, 0].astype(np.float64)


def _contacts_of(motion: Motion, contacts: FootContacts | None) -> FootContacts:
    if contacts is None:
        return foot_contacts(motion)
    if contacts.frames != len(motion):
        raise InvalidInput(
            f"contacts must be those of {len(motion)} frames; got contacts of {contacts.frames}. "
            "Resample first, then find the contacts"
        )
    return contacts
