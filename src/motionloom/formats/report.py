"""Reports on a motion as plain data, for ``motionloom info`` and ``motionloom doctor``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from motionloom.formats.inference import facing
from motionloom.motion import Motion
from motionloom.motion.kinematics.body import body_height
from motionloom.motion.roles.fingers import finger_roles

if TYPE_CHECKING:
    from motionloom.motion.diagnostics.measurements import BallHeights


def motion_facts(motion: Motion) -> dict[str, Any]:
    """Return a motion's size, frame rate, unit, axes, joints, roles, and repairs made on reading.

    Examples
    --------
    >>> import motionloom as ml
    >>> motion_facts(ml.demo.clip("walk"))["joints"]
    21
    """
    origin, assignment = motion.origin, motion.skeleton.role_assignment
    return {
        "name": motion.name,
        "joints": len(motion.skeleton),
        "frames": len(motion),
        "fps": motion.fps,
        "seconds": motion.duration,
        "unit_m": origin.unit_m,
        "unit_reason": origin.unit_reason,
        "height_m": body_height(motion.skeleton),
        "up": origin.up,
        "layout": origin.layout or None,
        "scene": origin.scene or None,
        "facing": facing(motion),
        "tpose_frame": origin.tpose_frame,
        "carrier": None if origin.carrier is None else origin.carrier.to_json(),
        "joint_names": list(motion.skeleton.names),
        "end_sites": list(motion.skeleton.end_names),
        "roles": assignment.roles,
        "fingers": {
            role: motion.skeleton.names[joint]
            for role, joint in finger_roles(motion.skeleton).items()
        },
        "role_scheme": assignment.scheme,
        "role_confidence": dict(assignment.confidence),
        "missing_roles": list(assignment.missing),
        "expected_error_m": float(np.median(origin.expected_error))
        if origin.expected_error
        else None,
        "repairs": list(origin.repairs),
        "warnings": list(origin.warnings),
    }


def diagnostic_report(
    motion: Motion, file: str, *, heights: BallHeights | None = None
) -> dict[str, Any]:
    """Return facts about a motion: measurements, foot contacts and issues.

    Parameters
    ----------
    motion : Motion
        Motion to examine.
    file : str
        Name of the motion in the report.
    heights : BallHeights, optional
        Collects at which height feet stand; see `add_height_errors`.

    Examples
    --------
    >>> import motionloom as ml
    >>> diagnostic_report(ml.demo.clip("walk"), "walk.bvh")["healthy"]
    True
    """
    from motionloom.motion.diagnostics.issues import find_issues
    from motionloom.motion.diagnostics.measurements import Measurements
    from motionloom.motion.diagnostics.quality import foot_slide

    facts = motion_facts(motion)
    measured = Measurements(motion)
    issues = find_issues(motion, measured=measured)
    contacts = measured.contacts
    stands = contacts is not None and measured.on_feet
    if heights is not None:
        heights.add(measured)
    slide = foot_slide(motion, contacts) if contacts else None
    alarms = [issue.message for issue in issues if issue.severity != "info"]
    return {
        "file": file,
        **facts,
        "position_channels": _position_channels(motion),
        "floor_m": contacts.floor if contacts else None,
        "ball_height_m": measured.ball_level if stands else None,
        "foot_slide_m": slide.per_contact_m if slide else None,
        "contacts": _contacts(contacts) if contacts else None,
        "jump_frames": measured.jump_frames.tolist(),
        "healthy": not alarms,
        "warnings": alarms + [w for w in facts["warnings"] if w not in alarms],
        "findings": [vars(issue) for issue in issues],
    }


def add_height_errors(
    reports: Sequence[dict[str, Any]], motions: Sequence[Motion], heights: BallHeights
) -> None:
    """Add an issue to the reports of motions that float or sink compared with others of their rig.

    The motions need no frames.
    """
    from motionloom.motion.diagnostics.issues import off_the_floor
    from motionloom.motion.diagnostics.measurements import height_error

    for report, motion in zip(reports, motions, strict=True):
        usual, own = heights.of(motion), report["ball_height_m"]
        report["findings"] = [f for f in report["findings"] if not _mild(f) or usual is None]
        reported = any(finding["code"] == "floor" for finding in report["findings"])
        error = None if own is None or usual is None else height_error(own, usual)
        if error is not None and not reported:
            report["findings"].append(vars(off_the_floor(error)))


def _mild(finding: dict[str, Any]) -> bool:
    return bool(finding["code"] == "floor" and finding["severity"] == "info")


def _position_channels(motion: Motion) -> str:
    if motion.translations is None:
        return "only the root has position channels, so bones keep their length"
    moving = int((np.ptp(motion.translations, axis=0).max(axis=-1) > 1e-5).sum())
    return f"the root and {moving} more joints have position channels, which replace their offsets"


def _contacts(contacts) -> dict[str, Any]:
    """Return the number of contacts and the fraction of time in contact for each foot."""
    return {
        side: {
            "contacts": len(contacts.intervals(f"{side}_ball")),
            "standing_share": float(contacts.standing(side).mean()) if contacts.frames else 0.0,
        }
        for side in ("left", "right")
    }
