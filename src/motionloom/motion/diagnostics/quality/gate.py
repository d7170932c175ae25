"""Quality gate: all measures of a finished motion in one report.

Clean-up, retargeting and all synthesis use the same report, so that their figures compare.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from motionloom.errors import RoleError
from motionloom.motion.diagnostics.quality.measures import (
    contacts_of,
    floor_penetration,
    foot_slide,
    seam_accelerations,
    usual_acceleration,
)
from motionloom.motion.diagnostics.quality.report import QualityReport, Seam
from motionloom.motion.feet.contacts import FootContacts

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion


def quality_report(
    motion: Motion,
    contacts: FootContacts | None = None,
    *,
    sources: Iterable[Motion] | None = None,
    usual: float | None = None,
) -> QualityReport:
    """Slide per contact, floor penetration and smoothness of the seams of a motion.

    Parameters
    ----------
    motion : Motion
        Figures of the feet are None where the skeleton has no ankles or feet.
    contacts : FootContacts, optional
        Default: those of the motion.
    sources : iterable of Motion, optional
        Its sources, on the same skeleton and at the same rate, with which the accelerations at
        seams are compared. Default: no comparison.
    usual : float, optional
        Their `usual_acceleration`, if already computed.

    Examples
    --------
    >>> import motionloom as ml
    >>> quality_report(ml.demo.clip("walk")).foot_slide_m < 0.05
    True
    """
    has_seams = motion.provenance is not None and bool(motion.provenance.seams)
    if usual is None and sources is not None and has_seams:
        usual = usual_acceleration(sources)
    slide, depth = _feet(motion, contacts)
    seam = None if usual is None else worst_seam(motion, usual)
    ratio = None if seam is None else seam.ratio
    return QualityReport(slide, depth, ratio, seam).with_parts()


def worst_seam(motion: Motion, usual: float) -> Seam | None:
    """The seam with the largest acceleration, relative to the sources' `usual_acceleration`.

    None for a motion without seams, or if the sources do not move.
    """
    largest = seam_accelerations(motion)
    if motion.provenance is None or not len(largest) or not usual > 0.0:
        return None
    worst = int(np.argmax(largest))
    frame = motion.provenance.seams[worst]
    before, after = motion.provenance.take_at(frame - 1), motion.provenance.take_at(frame)
    return Seam(frame, frame / motion.fps, before, after, float(largest[worst]) / usual)


def _feet(motion: Motion, contacts: FootContacts | None) -> tuple[float | None, float | None]:
    """Slide per contact and floor penetration; None where there are no feet or no contacts."""
    try:
        found = contacts_of(motion, contacts)
    except RoleError:
        return None, None
    slide = foot_slide(motion, found)
    if not slide.contacts:
        return None, None
    return slide.per_contact_m, floor_penetration(motion, found)
