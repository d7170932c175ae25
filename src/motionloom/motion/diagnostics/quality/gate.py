"""Quality gate: all measures of a finished motion in one report.

Clean-up, retargeting and every kind of synthesis use the same report, which makes their figures
comparable. Normal values depend on the takes: crossed legs are not a fault in a dance. Seams,
limbs, balance, slide, steps and flights are therefore compared with `SourceStatistics` if the
sources are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import RoleError
from motionloom.motion.diagnostics.anatomy import joint_angles
from motionloom.motion.diagnostics.quality.measures import (
    acceleration_between_seams,
    contact_slides,
    contacts_of,
    floor_depths,
    joint_jumps,
    seam_accelerations,
    seam_rotations,
    toe_drags,
    usual_acceleration,
    usual_angular_acceleration,
)
from motionloom.motion.diagnostics.quality.parts import Seam, WorstFrame
from motionloom.motion.diagnostics.quality.posture import (
    Capsules,
    flight_errors,
    imbalance,
    limb_overlaps,
    repeated_steps,
    steps,
)
from motionloom.motion.diagnostics.quality.report import QualityReport, worst_frames
from motionloom.motion.feet.contacts import FootContacts

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion
    from motionloom.motion.provenance import Provenance, Source

Array = NDArray[np.float64]

# Limits. The second value of a pair applies if the sources are unknown: 99 % of CMU's takes are
# below it.
MAX_SLIDE = 0.03  # meters per contact, or 1.5 times the value of the sources
MAX_SLIDE_SPEED = 0.15  # m/s: feet whose contacts slide at least this fast skate
MAX_FLOOR = (0.01, 0.03)  # meters, mean over frames; or 1.5 times the value of the sources
MAX_SEAM = 1.5  # of the sources' 99.9th percentile
MAX_REPEATED_STEPS = 0.05  # share of steps
MAX_JUMP = 0.1  # meters in one frame
MAX_OVERLAP = (0.04, 0.095)  # meters
MAX_IMBALANCE = (0.05, 0.15)  # meters
MAX_RANGE = 10.0  # degrees beyond the range of a joint, or beyond the largest excess of the sources
MAX_SEAM_ROTATION = 3.0  # of the sources' 99.9th percentile of angular accelerations
MAX_DRAG = (0.05, 0.35)  # meters per lift-off, or 1.5 times the value of the sources
MAX_HEIGHT = 0.03  # meters above or below the floors of the sources
MAX_FLIGHT = 0.2  # g; blends of built-in jumps exceed their sources by 0.11 at most
_FREE_FALL = 0.5  # g: with a larger error, a body without ground contact does not fall freely

_NEAR = 2.0  # seconds of a take on either side of a seam
_SAME_STEP = 0.2  # maximum seconds between a repeated step and its counterpart
_LEAST_STEPS = 4
_JUDGED = 3  # steps that a block leaves to the next one: the last two and the one between them


@dataclass(frozen=True, eq=False)
class SourceStatistics:
    """Typical values, measured from the source takes of a motion.

    Attributes
    ----------
    acceleration : float
        99.9th percentile of joint accelerations over all frames, in m/s^2.
    slide, floor : float
        Foot slide per contact and floor penetration, both in meters.
    overlaps : ndarray, shape (pairs,)
        Depth in meters by which each pair of limbs overlaps, as the maximum over all frames.
    imbalance : float
        Distance of the center of mass outside the feet while the body stands, in meters; the
        maximum over all frames.
    repeated_steps : mapping of str to ndarray
        For each take, the frames of steps made by the same foot as the step before.
    flight : float or None
        Largest error of gravity in flight, in g. None if no source flies, or if one of them is
        carried by something other than its feet, because its parts in the air are then unknown.
    takes : mapping of str to Motion
        The takes by name, with which seams between them are compared; see `acceleration_near`.
    turning : float
        99.9th percentile of angular accelerations over all frames, in rad/s^2.
    drag : float
        Travel of the toes over the ground after a contact, averaged over all lift-offs, in meters.
    excess : mapping of str to float
        Largest angle beyond the range of each joint in degrees, keyed by role.
    floors : tuple of float or None
        Lowest and highest floor of the sources in meters.

    Examples
    --------
    >>> import motionloom as ml
    >>> SourceStatistics.of([ml.demo.clip("walk")]).slide < 0.02
    True
    """

    acceleration: float
    slide: float = 0.0
    floor: float = 0.0
    overlaps: Array = field(default_factory=lambda: np.zeros(0))
    imbalance: float = 0.0
    repeated_steps: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    flight: float | None = None
    takes: Mapping[str, Motion] = field(default_factory=dict, repr=False)
    turning: float = 0.0
    drag: float = 0.0
    excess: Mapping[str, float] = field(default_factory=dict)
    floors: tuple[float, float] | None = None

    def acceleration_near(self, source: Source, frame: int) -> float:
        """Return the 99.9th percentile of joint accelerations around a played frame.

        A library also contains leaps and flips. A seam between two walks is compared with `_NEAR`
        seconds of the walks on either side of the frame that is played, or with a typical take if
        it moves more.
        """
        take = self.takes.get(source.motion)
        if take is None or source.end <= source.start:
            return self.acceleration
        rate = (source.end_frame - source.start_frame) / (source.end - source.start)
        at = round((source.start_frame / max(rate, 1e-6)) + frame - source.start)
        reach = round(_NEAR * take.fps)
        first = min(max(at - reach, 0), max(len(take) - 2 * reach, 0))
        part = usual_acceleration([take[first : max(at, first) + reach]])
        return min(max(part, self.typical), self.acceleration)

    @cached_property
    def typical(self) -> float:
        """Median over all takes of the 99.9th percentile of joint accelerations, in m/s^2."""
        levels = [usual_acceleration([take]) for take in self.takes.values()]
        return float(np.median(levels)) if levels else self.acceleration

    @classmethod
    def of(cls, sources: Iterable[Motion], *, whole_takes: bool = True) -> SourceStatistics:
        """Return the statistics of motions that share a skeleton and a frame rate.

        With `whole_takes`, the motions are complete takes. The frame numbers in the result's
        provenance then refer to them, so the steps of the result can be compared with those in the
        takes. This is not possible with clips that were cut out of takes.
        """
        motions = list(sources)
        slides: list[float] = []
        depths, overlaps, off = [0.0], [], [0.0]
        repeated = {}
        falls: list[float] = []
        drags: list[float] = []
        excess: dict[str, float] = {}
        floors: list[float] = []
        for motion in motions:
            for role, beyond in _range_excess(motion).items():
                excess[role] = max(excess.get(role, 0.0), float(beyond.max(initial=0.0)))
            depth = limb_overlaps(motion)
            if depth.size:
                overlaps.append(depth.max(axis=0))
            contacts = _contacts(motion, None)
            if contacts is None or not len(motion):
                continue
            slides += [slide.distance_m for slide in contact_slides(motion, contacts)]
            falls += [error for _, _, error in _flights(motion)]
            drags += [drag.distance_m for drag in toe_drags(motion, contacts)]
            floors.append(contacts.floor)
            depths.append(float(floor_depths(motion, contacts).mean()))
            standing = _imbalance(motion, contacts)
            if standing is not None:
                off.append(float(np.nanmax(standing)))
            if whole_takes:
                repeated[motion.name] = repeated_steps(motion, contacts)
        return cls(
            usual_acceleration(motions),
            float(np.mean(slides)) if slides else 0.0,
            max(depths),
            np.max(overlaps, axis=0) if overlaps else np.zeros(0),
            max(off),
            repeated,
            max(falls) if falls and max(falls) < _FREE_FALL else None,
            {motion.name: motion for motion in motions} if whole_takes else {},
            usual_angular_acceleration(motions),
            float(np.mean(drags)) if drags else 0.0,
            excess,
            (min(floors), max(floors)) if floors else None,
        )


def quality_report(
    motion: Motion,
    contacts: FootContacts | None = None,
    *,
    sources: Iterable[Motion] | None = None,
    usual: SourceStatistics | None = None,
) -> QualityReport:
    """Measure the quality of a motion; measures that require missing joints are None.

    Parameters
    ----------
    motion : Motion
    contacts : FootContacts, optional
        Default: the contacts found in the motion.
    sources : iterable of Motion, optional
        The takes from which the motion was synthesized, with the same skeleton and frame rate. The
        motion is compared with them. Without them, the report has no figures for seams and steps.
    usual : SourceStatistics, optional
        The statistics of the sources, if already computed.

    Examples
    --------
    >>> import motionloom as ml
    >>> quality_report(ml.demo.clip("walk")).foot_slide_m < 0.05
    True
    """
    if usual is None and sources is not None:
        usual = SourceStatistics.of(sources)
    meter = QualityMeter(usual)
    meter.add(motion, contacts)
    return meter.report()


class QualityMeter:
    """Quality of a motion, measured all at once or, for hours of motion, block by block.

    Parameters
    ----------
    usual : SourceStatistics, optional
        Normal values to compare the motion with.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> meter = QualityMeter()
    >>> meter.add(walk[:80])
    >>> meter.add(walk[60:], start=60, seen=20)
    >>> meter.report().jumps
    0
    """

    def __init__(self, usual: SourceStatistics | None = None) -> None:
        self._usual = usual
        self._slide = self._contact_seconds = self._depth = 0.0
        self._drag, self._lifts = 0.0, 0
        self._contacts = self._frames = self._steps = self._repeats = self._jumps = 0
        self._seam: Seam | None = None
        self._rough: dict[int, Seam] = {}  # by frame, because blocks overlap
        self._peaks: dict[str, WorstFrame] = {}  # value: the largest so far

    def add(
        self, motion: Motion, contacts: FootContacts | None = None, *, start: int = 0, seen: int = 0
    ) -> None:
        """Measure a block that starts at frame `start` of the whole motion.

        The first `seen` frames were already part of the previous block and only provide
        continuity.
        """
        checked = _contacts(motion, contacts)
        if checked is not None and len(motion):
            self._add_feet(motion, checked, start, seen)
            self._add_steps(motion, checked, start, seen)
            self._add_balance(motion, checked, start)
            self._add_flight(motion, start)
        self._add_seams(motion, start)
        self._add_ranges(motion, start)
        each = joint_jumps(motion)
        sizes = each.max(axis=1, initial=0.0)
        self._jumps += int(np.count_nonzero(sizes[max(seen - _JUDGED, 0) :]))
        if sizes.any():
            frame = int(np.argmax(sizes))
            part = _jumping_part(motion, each[frame])
            self._note(motion, start, "jump", float(sizes[frame]), frame + 1, part)
        self._add_limbs(motion, start)

    def _note(
        self, motion: Motion, start: int, measure: str, value: float, frame: int, detail: str = ""
    ) -> None:
        """Record a value if it is the largest so far for its measure."""
        if measure in self._peaks and value <= self._peaks[measure].value:
            return
        take = "" if motion.provenance is None else motion.provenance.take_at(frame)
        at = start + frame
        self._peaks[measure] = WorstFrame(measure, value, 1.0, at, at / motion.fps, detail, take)

    def _add_feet(self, motion: Motion, contacts: FootContacts, start: int, seen: int) -> None:
        for slide in contact_slides(motion, contacts):
            if slide.start_frame < seen:
                continue
            self._contacts += 1
            self._slide += slide.distance_m
            self._contact_seconds += (slide.end_frame - 1 - slide.start_frame) / motion.fps
            middle = (slide.start_frame + slide.end_frame) // 2
            part = slide.part.replace("_", " ")
            self._note(motion, start, "slide", slide.distance_m, middle, f"the {part}")
        for drag in toe_drags(motion, contacts):
            if drag.start_frame < seen:
                continue
            self._lifts += 1
            self._drag += drag.distance_m
            middle = (drag.start_frame + drag.end_frame) // 2
            self._note(motion, start, "drag", drag.distance_m, middle, f"the {drag.side} toe")
        floors = None if self._usual is None else self._usual.floors
        if floors is not None and any(contacts.plants.values()):
            off = max(floors[0] - contacts.floor, contacts.floor - floors[1], 0.0)
            self._note(motion, start, "height", off, 0)
        depths = floor_depths(motion, contacts)
        self._depth += float(depths[seen:].sum())
        self._frames += len(depths) - seen
        deepest = int(np.argmax(depths))
        self._note(motion, start, "floor", float(depths[deepest]), deepest)

    def _add_steps(self, motion: Motion, contacts: FootContacts, start: int, seen: int) -> None:
        usual, provenance = self._usual, motion.provenance
        if usual is None or provenance is None or not usual.repeated_steps:
            return
        self._steps += sum(frame >= seen for frame, _ in steps(motion, contacts))
        for frame in repeated_steps(motion, contacts):
            if frame < seen or _repeats_in_take(provenance, int(frame), motion.fps, usual):
                continue
            self._repeats += 1
            if "steps" not in self._peaks:
                self._note(motion, start, "steps", 1.0, int(frame))

    def _add_balance(self, motion: Motion, contacts: FootContacts, start: int) -> None:
        off = _imbalance(motion, contacts)
        if off is not None:
            frame = int(np.nanargmax(off))
            own = 0.0 if self._usual is None else self._usual.imbalance
            self._note(motion, start, "balance", max(float(off[frame]) - own, 0.0), frame)

    def _add_flight(self, motion: Motion, start: int) -> None:
        own = None if self._usual is None else self._usual.flight
        if own is None:
            return
        for first, end, error in _flights(motion):
            middle = (first + end) // 2
            self._note(motion, start, "flight", max(error - own, 0.0), middle)

    def _add_ranges(self, motion: Motion, start: int) -> None:
        own = {} if self._usual is None else self._usual.excess
        for role, beyond in _range_excess(motion).items():
            frame = int(np.argmax(beyond))
            value = max(float(beyond[frame]) - own.get(role, 0.0), 0.0)
            self._note(motion, start, "range", value, frame, role.replace("_", " "))

    def _add_turns(self, motion: Motion, start: int) -> None:
        usual = 0.0 if self._usual is None else self._usual.turning
        turns = seam_rotations(motion)
        if motion.provenance is None or not len(turns) or not usual > 0.0:
            return
        worst = int(np.argmax(turns))
        seam = motion.provenance.seams[worst]
        before, after = motion.provenance.take_at(seam - 1), motion.provenance.take_at(seam)
        value = float(turns[worst]) / usual
        self._note(motion, start, "turn", value, seam, f"{before} to {after}")

    def _add_seams(self, motion: Motion, start: int) -> None:
        self._add_turns(motion, start)
        for rough in () if self._usual is None else rough_seams(motion, self._usual):
            at = start + rough.frame
            self._rough[at] = replace(rough, frame=at, second=at / motion.fps)
        seam = None if self._usual is None else worst_seam(motion, self._usual)
        if seam is None or (self._seam is not None and seam.ratio <= self._seam.ratio):
            return
        self._seam = replace(
            seam, frame=start + seam.frame, second=seam.second + start / motion.fps
        )
        self._note(motion, start, "seam", seam.ratio, seam.frame, f"{seam.before} to {seam.after}")

    def _add_limbs(self, motion: Motion, start: int) -> None:
        depth = limb_overlaps(motion)
        if not depth.size:
            return
        own = None if self._usual is None else self._usual.overlaps
        if own is not None and len(own) == depth.shape[1]:
            depth = np.maximum(depth - own, 0.0)
        frame, pair = np.unravel_index(int(np.argmax(depth)), depth.shape)
        parts = Capsules.of(motion.skeleton).pair_name(int(pair))
        self._note(motion, start, "limbs", float(depth[frame, pair]), int(frame), parts)

    def report(self) -> QualityReport:
        """Return a report on all blocks added so far."""
        slide = self._slide / self._contacts if self._contacts else None
        depth = self._depth / self._frames if self._contacts else None
        repeated = self._repeats / self._steps if self._steps >= _LEAST_STEPS else None
        drag = self._drag / self._lifts if self._lifts else None
        values = {"slide": slide, "floor": depth, "steps": repeated, "drag": drag}
        limits = self._limits()
        worst = [
            replace(peak, value=float(value), limit=limits[measure])
            for measure, peak in self._peaks.items()
            if (value := values.get(measure, peak.value)) is not None
        ]
        return QualityReport(
            slide,
            depth,
            None if self._seam is None else self._seam.ratio,
            self._seam,
            None if repeated is None else 1.0 - repeated,
            self._jumps,
            self._peaks["limbs"].value if "limbs" in self._peaks else None,
            self._peaks["balance"].value if "balance" in self._peaks else None,
            worst_frames(worst),
            flight_error_g=self._peak("flight"),
            joint_range_deg=self._peak("range"),
            seam_rotation_ratio=self._peak("turn"),
            toe_drag_m=drag,
            floor_offset_m=self._peak("height"),
            rough_seams=tuple(self._rough[frame] for frame in sorted(self._rough)),
        ).with_parts()

    def _peak(self, measure: str) -> float | None:
        return self._peaks[measure].value if measure in self._peaks else None

    def _limits(self) -> dict[str, float]:
        """Return, for each measure, the largest value that does not trigger a warning."""
        usual = self._usual
        mean_seconds = self._contact_seconds / max(self._contacts, 1)
        skating = max(MAX_SLIDE, MAX_SLIDE_SPEED * mean_seconds)
        alone = usual is None
        return {
            "slide": skating if usual is None else min(skating, max(MAX_SLIDE, 1.5 * usual.slide)),
            "floor": MAX_FLOOR[1] if usual is None else max(MAX_FLOOR[0], 1.5 * usual.floor),
            "seam": MAX_SEAM,
            "steps": MAX_REPEATED_STEPS,
            "jump": MAX_JUMP,
            "limbs": MAX_OVERLAP[alone],
            "balance": MAX_IMBALANCE[alone],
            "flight": MAX_FLIGHT,
            "range": MAX_RANGE,
            "turn": MAX_SEAM_ROTATION,
            "drag": MAX_DRAG[1] if usual is None else max(MAX_DRAG[0], 1.5 * usual.drag),
            "height": MAX_HEIGHT,
        }


def worst_seam(motion: Motion, usual: SourceStatistics) -> Seam | None:
    """Return the seam with the largest acceleration relative to the takes around it.

    The result is None if the motion has no seams or the sources do not move.
    """
    largest, provenance = seam_accelerations(motion), motion.provenance
    if provenance is None or not len(largest) or not usual.acceleration > 0.0:
        return None
    # The result between its seams also counts, because blends may be faster than their takes. Seams
    # that are smooth even for a typical take are skipped.
    worst, ratio = -1, -1.0
    for number in np.argsort(-largest):
        if largest[number] / max(usual.typical, 1e-9) <= ratio:
            break
        value = float(largest[number]) / _level_near(motion, usual, provenance, int(number))
        if value > ratio:
            worst, ratio = int(number), value
    return _seam(motion, provenance, worst, ratio)


def rough_seams(motion: Motion, usual: SourceStatistics) -> list[Seam]:
    """Return all seams that accelerate more than `MAX_SEAM` allows, in order of time."""
    largest, provenance = seam_accelerations(motion), motion.provenance
    if provenance is None or not len(largest) or not usual.acceleration > 0.0:
        return []
    rough = []
    for number in np.flatnonzero(largest > MAX_SEAM * usual.typical):  # the others are smooth
        ratio = float(largest[number]) / _level_near(motion, usual, provenance, int(number))
        if ratio > MAX_SEAM:
            rough.append(_seam(motion, provenance, int(number), ratio))
    return rough


def _level_near(
    motion: Motion, usual: SourceStatistics, provenance: Provenance, number: int
) -> float:
    """Return the acceleration that is normal around a seam, in m/s^2."""
    frame = provenance.seams[number]
    near = [
        usual.acceleration_near(source, frame)
        for source in provenance.sources
        if source.start <= frame + 1 and frame - 1 < source.end
    ]
    level = max(near, default=usual.acceleration)
    between = acceleration_between_seams(motion, frame, _NEAR)
    return max(level, min(between, usual.acceleration))


def _seam(motion: Motion, provenance: Provenance, number: int, ratio: float) -> Seam:
    frame = provenance.seams[number]
    before, after = provenance.take_at(frame - 1), provenance.take_at(frame)
    return Seam(frame, frame / motion.fps, before, after, ratio)


def _contacts(motion: Motion, contacts: FootContacts | None) -> FootContacts | None:
    """Return the foot contacts of a motion, or None if the skeleton has no feet."""
    try:
        return contacts_of(motion, contacts)
    except RoleError:
        return None


def _imbalance(motion: Motion, contacts: FootContacts) -> Array | None:
    """Return `imbalance`, or None if the body never stands still or too few joints are known."""
    try:
        off = imbalance(motion, contacts)
    except RoleError:
        return None
    return off if np.isfinite(off).any() else None


def _flights(motion: Motion) -> list[tuple[int, int, float]]:
    """Return `flight_errors`, or no flights if too few joints are known."""
    try:
        return flight_errors(motion)
    except RoleError:
        return []


def _range_excess(motion: Motion) -> dict[str, Array]:
    """Return the angle in degrees by which each joint exceeds its range (T,), keyed by role."""
    if not len(motion) or not np.isfinite(motion.rotations).all():
        return {}
    excess: dict[str, Array] = {}
    for angles in joint_angles(motion):
        role = angles.limits.role
        excess[role] = np.maximum(excess.get(role, 0.0), np.degrees(angles.excess))
    return excess


def _jumping_part(motion: Motion, jumps: Array) -> str:
    """Return the joint with the largest jump (J,); if it is the hips, return "the whole body"."""
    names = motion.skeleton.names
    hips = motion.skeleton.roles.get("hips")
    if hips in names and jumps[names.index(hips)] > 0.0:
        return "the whole body"
    return names[int(np.argmax(jumps))]


def _repeats_in_take(
    provenance: Provenance, frame: int, fps: float, usual: SourceStatistics
) -> bool:
    """Return True if the take also repeats a foot at this step, or if the take is unknown."""
    for source in provenance.sources:
        if source.start <= frame < source.end:
            own = usual.repeated_steps.get(source.motion)
            if own is None:
                return True
            rate = (source.end_frame - source.start_frame) / (source.end - source.start)
            there = source.start_frame + rate * (frame - source.start)
            if np.any(np.abs(own - there) <= _SAME_STEP * fps):
                return True
    return False
