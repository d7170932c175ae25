"""Quality measures of a motion: foot slide, floor penetration, accelerations at seams."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.carrier import hips_as_root
from motionloom.motion.feet.contacts import (
    FOOT_PARTS,
    SIDES,
    FootContacts,
    foot_contacts,
    part_path,
)

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion

_SEAM_REACH = 0.25  # seconds on either side of a seam that belong to it
_USUAL = 99.9  # percentile of the sources' accelerations that a seam is compared with


@dataclass(frozen=True)
class FootSlide:
    """Horizontal travel of feet in contact.

    Attributes
    ----------
    per_contact_m : float
        Horizontal distance travelled within a contact, mean over contacts of heels and balls.
    speed_m_s : float
        Horizontal speed, mean over all frames in contact.
    worst_m : float
        Distance of the contact that slides most.
    contacts : int
        Number of contacts.
    """

    per_contact_m: float
    speed_m_s: float
    worst_m: float
    contacts: int


def foot_slide(motion: Motion, contacts: FootContacts | None = None) -> FootSlide:
    """Horizontal travel of heels and balls during contact.

    Parameters
    ----------
    motion : Motion
        Needs ankles and feet.
    contacts : FootContacts, optional
        Give the contacts of the source to measure an edited motion. Default: those of the
        motion.

    Returns
    -------
    slide : FootSlide
        All zero without contacts.

    Examples
    --------
    >>> import motionloom as ml
    >>> slide = foot_slide(ml.demo.clip("walk"))
    >>> slide.per_contact_m < 0.05
    True
    """
    contacts = contacts_of(motion, contacts)
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
    """Mean depth of the balls below the ground over all frames, metres.

    The ground under a foot is the height of its ball in the nearest contact; the deeper foot
    counts.

    Examples
    --------
    >>> import motionloom as ml
    >>> floor_penetration(ml.demo.clip("walk")) < 0.005
    True
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
    return float(depth.max(axis=1).mean()) if len(motion) else 0.0


def joint_accelerations(motion: Motion) -> NDArray[np.float64]:
    """Magnitudes of the world accelerations of the joints in m/s^2, shape (T - 2, J).

    Row k is frame k + 1.

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
    """Largest joint acceleration within 0.25 s of each seam in m/s^2, shape (seams,)."""
    seams = () if motion.provenance is None else motion.provenance.seams
    largest = joint_accelerations(motion).max(axis=1, initial=0.0)
    reach = max(1, round(_SEAM_REACH * motion.fps))
    near = (largest[max(seam - 1 - reach, 0) : max(seam + reach, 0)] for seam in seams)
    return np.array([window.max(initial=0.0) for window in near])


def usual_acceleration(motions: Iterable[Motion]) -> float:
    """99.9th percentile of the accelerations of all joints and frames, m/s^2."""
    sizes = [joint_accelerations(motion).ravel() for motion in motions]
    return float(np.percentile(np.concatenate(sizes), _USUAL)) if sizes else 0.0


def contacts_of(motion: Motion, contacts: FootContacts | None) -> FootContacts:
    """The contacts given, checked, or those of the motion."""
    if contacts is None:
        return foot_contacts(motion)
    if contacts.frames != len(motion):
        raise InvalidInput(
            f"contacts must be those of {len(motion)} frames; got contacts of {contacts.frames}. "
            "Resample first, then find the contacts"
        )
    return contacts
