"""Repair of a whole take: every fault that `find_issues` finds and that has one solution.

Repairs are made in an order in which no repair hides or causes a fault for a later one: sides
first, because everything else depends on roles; then frames that are missing or flipped, joints
beyond their range and noise, because contacts need smooth feet; then drift, floor and feet. A
repair is made only if the take has the fault, so a clean take stays as it is. If a repair does not
improve its measure, it is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.issues import swapped_sides, without_flips
from motionloom.motion.diagnostics.measurements import Measurements
from motionloom.motion.feet.clean import clean_feet
from motionloom.motion.kinematics.body import hips_path
from motionloom.motion.repairs.ground import on_the_floor, without_drift
from motionloom.motion.repairs.noise import missing_frames, without_gaps, without_noise
from motionloom.motion.repairs.ranges import within_ranges
from motionloom.motion.repairs.sides import candidates

if TYPE_CHECKING:
    from motionloom.motion.feet.contacts import FootContacts
    from motionloom.motion.motion import Motion

_SLIP = 0.07  # meters per contact; as in `find_issues`


@dataclass(frozen=True)
class RepairStep:
    """One repair.

    Attributes
    ----------
    name : str
        One of `REPAIRS`.
    before, after : float
        Measure of the fault before and after the repair, in `unit`.
    unit : str
    frames_changed : int
        Frames in which a joint moved by more than 1 mm.
    largest_change_m : float
        Largest movement of a joint in meters.
    """

    name: str
    before: float
    after: float
    unit: str
    frames_changed: int
    largest_change_m: float

    def __str__(self) -> str:
        figures = f"{self.before:.1f} to {self.after:.1f} {self.unit}"
        return f"{self.name}: {figures}, {self.frames_changed} frames changed"


@dataclass(frozen=True, eq=False)
class RepairReport:
    """The repairs of a take, in the order in which they were made.

    Attributes
    ----------
    steps : tuple of RepairStep
    undone : tuple of str
        Repairs that did not improve their measure and were undone.
    contacts : FootContacts or None
        Foot contacts before feet were locked; None if the skeleton has no feet.
    """

    steps: tuple[RepairStep, ...] = ()
    undone: tuple[str, ...] = ()
    contacts: FootContacts | None = None

    def lines(self) -> list[str]:
        """Return one line of text per repair."""
        return [str(step) for step in self.steps]


def clean(
    motion: Motion,
    *,
    repairs: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    ball_height: float | None = None,
    contacts: Callable[[Motion], FootContacts] | None = None,
    ease: float = 0.25,
) -> tuple[Motion, RepairReport]:
    """Repair the faults of a take; return the repaired motion and a report.

    Parameters
    ----------
    motion : Motion
    repairs : sequence of str, optional
        Repairs to make, from `REPAIRS`; those named here are made even if the take hardly has the
        fault. Default: all repairs, each of them only if the take has the fault.
    skip : sequence of str
        Repairs to skip.
    ball_height : float, optional
        Usual height in meters of the balls of standing feet in takes of this rig; see
        `motionloom.motion.diagnostics.measurements.BallHeights`.
    contacts : callable, optional
        Returns the foot contacts of a motion. Default: `Motion.contacts`.
    ease : float
        Seconds over which feet leave and rejoin their path; see `clean_feet`.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> clean(walk)[0] is walk
    True
    >>> floating = walk.transform(shift=(0, 0.3, 0))
    >>> repaired, report = clean(floating)
    >>> [step.name for step in report.steps]
    ['floor']
    """
    chosen = _chosen(repairs, skip)
    forced = repairs is not None
    steps, undone, planted = [], [], None
    for name in _METHODS:
        job = _Job(motion, ball_height, contacts, ease)
        if name == "feet" and job.measured.contacts is not None:
            planted = job.contacts(job.measured.motion)
        if name not in chosen:
            continue
        repair, measure, unit = _METHODS[name]
        before = measure(job)
        if not (before if not forced else _applies(name, job)):
            continue
        repaired = repair(job)
        if repaired is motion:
            continue
        after = measure(_Job(repaired, ball_height, contacts, ease))
        if not forced and after >= before:
            undone.append(name)
            continue
        moved = _moved(motion, repaired)
        steps.append(RepairStep(name, before, after, unit, *moved))
        motion = repaired
    return motion, RepairReport(tuple(steps), tuple(undone), planted)


def _chosen(repairs: Sequence[str] | None, skip: Sequence[str]) -> list[str]:
    for name in (*(repairs or ()), *skip):
        if name not in _METHODS:
            raise InvalidInput(f"a repair must be one of {', '.join(_METHODS)}; got {name!r}")
    wanted = _METHODS if repairs is None else repairs
    return [name for name in _METHODS if name in wanted and name not in skip]


def _moved(before: Motion, after: Motion) -> tuple[int, float]:
    ends = [motion.positions(end_sites=True) for motion in (before, after)]
    gap = np.linalg.norm(np.nan_to_num(ends[1] - ends[0]), axis=-1)
    largest = gap.max(axis=1, initial=0.0)
    return int(np.count_nonzero(largest > 1e-3)), float(largest.max(initial=0.0))


class _Job:
    """A motion to repair, its measurements, and the settings of the repairs."""

    def __init__(
        self,
        motion: Motion,
        ball_height: float | None,
        contacts: Callable[[Motion], FootContacts] | None,
        ease: float,
    ) -> None:
        self.motion, self.ease = motion, ease
        self.contacts = contacts or (lambda each: each.contacts())
        self.gaps = missing_frames(motion)
        # Measurements need finite values.
        self.measured = Measurements(
            without_gaps(motion) if self.gaps.any() and not self.gaps.all() else motion,
            ball_height=ball_height,
        )


def _applies(name: str, job: _Job) -> bool:
    """Return whether a repair that the user asked for can be made at all."""
    return bool(len(job.motion)) and not (name == "feet" and job.measured.contacts is None)


def _unswapped(job: _Job) -> Motion:
    for other in candidates(job.motion):
        if swapped_sides(Measurements(other)) is None:
            return other
    return job.motion


def _locked(job: _Job) -> Motion:
    stances, hips = job.measured.stances, hips_path(job.motion).astype(np.float64)
    follow = stances is None or stances.follows(hips, job.motion.fps)
    contacts = job.contacts(job.motion)
    return clean_feet(job.motion, contacts=contacts, ease=job.ease, follow=follow)[0]


def _beyond(job: _Job) -> float:
    masks = list(job.measured.beyond_range.values())
    return 100.0 * float(np.mean(np.logical_or.reduce(masks))) if masks else 0.0


def _drift(job: _Job) -> float:
    velocity = job.measured.floor_velocity
    over = 0.0 if velocity is None else float(np.linalg.norm(velocity))
    seconds = len(job.motion) / job.motion.fps
    return 100.0 * (over * seconds + abs(job.measured.ground_drift or 0.0))


def _off_floor(job: _Job) -> float:
    measured = job.measured
    error = measured.ground_offset
    return 100.0 * abs(error if error is not None else measured.height_error or 0.0)


def _slip(job: _Job) -> float:
    slip = job.measured.slip or 0.0
    return 100.0 * slip if slip > _SLIP else 0.0


# Name -> repair, measure (0 if there is no fault), unit of the measure.
_METHODS: dict[str, tuple[Callable[[_Job], Any], Callable[[_Job], float], str]] = {
    "sides": (
        _unswapped, lambda job: float(swapped_sides(job.measured) is not None), "swapped sides",
    ),
    "gaps": (
        lambda job: without_gaps(job.motion), lambda job: float(job.gaps.sum()), "missing frames",
    ),
    "flips": (
        lambda job: without_flips(job.motion, job.measured),
        lambda job: float(len(job.measured.jump_frames)), "jumps",
    ),
    "range": (
        lambda job: within_ranges(job.motion), _beyond, "% of frames beyond joint ranges",
    ),
    "jitter": (
        lambda job: without_noise(job.motion), lambda job: 1000.0 * (job.measured.jitter or 0.0),
        "mm of noise",
    ),
    "drift": (
        lambda job: without_drift(job.motion, job.measured), _drift, "cm of drift",
    ),
    "floor": (
        lambda job: on_the_floor(job.motion, job.measured), _off_floor, "cm off the floor",
    ),
    "feet": (_locked, _slip, "cm of slide per contact"),
}  # fmt: skip
REPAIRS: tuple[str, ...] = tuple(_METHODS)
