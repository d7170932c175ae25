"""Quality report: figures about a synthesized motion, as data and as one line of text.

The report contains measures of the motion itself. Depending on the command that synthesized the
motion, it also contains the fit to a path, the takes used, the available speeds or the fit to
music. A figure that exceeds its limit becomes a warning that suggests a remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from motionloom.motion.diagnostics.quality.parts import (
    MAX_DETOUR,
    MAX_FOOT_HEIGHT,
    MAX_GOAL,
    MAX_HEIGHT_CHANGE,
    MAX_LIMB_ANGLE,
    MAX_WIDTH_CHANGE,
    BeatFit,
    PathFit,
    RetargetFit,
    Seam,
    TakesUsed,
    WorstFrame,
)
from motionloom.motion.diagnostics.quality.robot_fit import RobotFit

# For each measure, the warning and the suggested remedy.
_ADVICE: dict[str, tuple[str, str]] = {
    "slide": (
        "feet slide {cm:.1f} cm per contact, {detail} worst at {at}",
        "try motionloom clean, or exclude takes in which the feet already slide",
    ),
    "floor": (
        "feet are {cm:.1f} cm below the floor on average, worst at {at}",
        "try motionloom clean on the takes, or use takes recorded on one level floor",
    ),
    "seam": (
        "the seam at {at} accelerates {value:.1f} times as much as the takes ({detail})",
        "try a longer blend, more takes, or another seed",
    ),
    "steps": (
        "{percent:.0f} % of the steps repeat a foot although the takes alternate, first at {at}",
        "try more takes, or match feet at transitions",
    ),
    "jump": (
        "{detail} jumps {cm:.0f} cm in one frame at {at}{take}",
        "try another seed, or exclude the take if motionloom doctor also finds the jump there",
    ),
    "limbs": (
        "{detail} overlap {cm:.1f} cm deeper than in the takes at {at}",
        "try another seed, or exclude takes with a different posture",
    ),
    "balance": (
        "the body is {cm:.0f} cm out of balance while standing at {at}",
        "try another seed or target, or more takes",
    ),
    "range": (
        "the {detail} is {value:.0f} degrees beyond its range at {at}{take}",
        "repair the take with motionloom clean, or exclude it",
    ),
    "turn": (
        "joints turn {value:.1f} times as suddenly as in the takes at the seam at {at} ({detail})",
        "try a longer blend, or repair the takes with motionloom clean",
    ),
    "drag": (
        "toes drag {cm:.1f} cm over the floor before they lift, {detail} worst at {at}",
        "try another seed, or takes in which the feet lift",
    ),
    "height": (
        "the body stands {cm:.1f} cm above or below the floors of the takes",
        "use takes recorded on one level floor, or level them with motionloom clean",
    ),
    "robot": (
        "{detail}; worst at {at}",
        "try motionloom clean on the source, a slower take, or look at it with --inspect",
    ),
    "flight": (
        "in the flight at {at}, the error of gravity is {value:.1f} g larger than in the takes",
        "blend only jumps of similar height, or move the target toward an example",
    ),
}


@dataclass(frozen=True)
class QualityReport:
    """Quality of a synthesized or edited motion.

    Attributes
    ----------
    foot_slide_m : float or None
        Horizontal distance in meters that a heel (ankle) or ball travels during a contact, summed
        from frame to frame and averaged over all contacts; None if there are no contacts.
    floor_penetration_m : float or None
        Depth in meters of the deeper ball below its height in the nearest contact, averaged over
        all frames; None if there are no contacts.
    seam_acceleration_ratio : float or None
        Largest joint acceleration (second difference of world positions) within 0.25 s of a seam,
        divided by the 99.9th percentile over all joints and frames of the sources; None if the
        motion has no seams.
    worst_seam : Seam or None
        The seam with the largest acceleration.
    foot_alternation : float or None
        Fraction of the steps that alternate feet, or that repeat a foot where the take also repeats
        it; None if there are fewer than four steps or the takes are unknown.
    jumps : int or None
        Frames in which a joint jumps by at least 0.1 m; see `jump_sizes`.
    limb_intersection_m : float or None
        Depth in meters by which two body parts, modeled as capsules, overlap more than in the
        sources; the maximum over all frames and pairs of parts.
    balance_m : float or None
        Distance in meters of the center of mass outside the feet while the body stands still,
        beyond that in the sources; the maximum over all frames. None if the body never stands
        still.
    worst : tuple of WorstFrame
        Worst frame of each measure; the most severe comes first.
    path : PathFit or None
        Distance from the path or goal, for motions that have one.
    takes : TakesUsed or None
        Takes that were used, and available takes that were not.
    speeds_m_s : (float, float) or None
        Lowest and highest speed in m/s that can be synthesized from the sources.
    beats : BeatFit or None
        Fit to the music, for dances.
    retarget : RetargetFit or None
        Fit to the target skeleton and to the source, for retargeted motions.
    robot : RobotFit or None
        Feasibility and fit to the source, for motions that were retargeted to a robot.
    flight_error_g : float or None
        How much more the acceleration of the center of mass in flight differs from gravity than in
        the sources, in g; the maximum over all flights. None if the sources do not fly freely.
    joint_range_deg : float or None
        Largest angle in degrees by which a joint exceeds its range, beyond that in the sources.
    seam_rotation_ratio : float or None
        Largest angular acceleration of a joint within 0.25 s of a seam, divided by the 99.9th
        percentile in the sources; None if the motion has no seams.
    toe_drag_m : float or None
        Horizontal travel of a toe over the floor in meters between the end of a contact and the
        moment it lifts, averaged over all lift-offs; None if no foot lifts.
    floor_offset_m : float or None
        Distance in meters of the floor from the range of the sources' floors.
    rough_seams : tuple of Seam
        All seams that accelerate more than the limit, in order of time.
    warnings : tuple of str
        One sentence for each exceeded limit, with a suggested remedy.

    Examples
    --------
    >>> QualityReport(0.004, 0.0).line()
    'within limits: slide 0.4 cm'
    >>> QualityReport(0.004, 0.0).details()
    ['feet slide 0.4 cm per contact, floor penetration 0.0 cm']
    """

    foot_slide_m: float | None
    floor_penetration_m: float | None
    seam_acceleration_ratio: float | None = None
    worst_seam: Seam | None = None
    foot_alternation: float | None = None
    jumps: int | None = None
    limb_intersection_m: float | None = None
    balance_m: float | None = None
    worst: tuple[WorstFrame, ...] = ()
    path: PathFit | None = None
    takes: TakesUsed | None = None
    speeds_m_s: tuple[float, float] | None = None
    beats: BeatFit | None = None
    retarget: RetargetFit | None = None
    robot: RobotFit | None = None
    flight_error_g: float | None = None
    joint_range_deg: float | None = None
    seam_rotation_ratio: float | None = None
    toe_drag_m: float | None = None
    floor_offset_m: float | None = None
    rough_seams: tuple[Seam, ...] = ()
    warnings: tuple[str, ...] = ()

    def with_parts(self, *, warnings: Sequence[str] = (), **parts: Any) -> QualityReport:
        """Return the report with further parts (`path`, `takes`, `speeds_m_s`, ...) and warnings.

        The warnings about limits are recomputed; `warnings` are added to them.

        Examples
        --------
        >>> report = QualityReport(0.004, 0.0).with_parts(path=PathFit(0.1, 0.2, 50.0, 10.0, 0.0))
        >>> report.warnings[0].split(":")[0]
        'the motion is 5.0 times as long as the path'
        """
        changed = replace(self, **parts)
        every = [*limits_passed(changed), *self._notes(), *warnings]
        return replace(changed, warnings=tuple(dict.fromkeys(every)))

    def _notes(self) -> list[str]:
        """Return the warnings that the command added to the warnings about limits."""
        limits = limits_passed(self)
        return [text for text in self.warnings if text not in limits]

    @classmethod
    def worst_of(cls, reports: Sequence[QualityReport]) -> QualityReport:
        """Return the worst value of each figure across reports, with the takes from all reports.

        Examples
        --------
        >>> worst = QualityReport.worst_of(
        ...     [QualityReport(0.01, 0.0, 0.9), QualityReport(None, 0.002)])
        >>> worst.foot_slide_m, worst.floor_penetration_m, worst.seam_acceleration_ratio
        (0.01, 0.002, 0.9)
        """
        seams = [report.worst_seam for report in reports if report.worst_seam is not None]
        paths = [report.path for report in reports if report.path is not None]
        steps = [
            report.foot_alternation for report in reports if report.foot_alternation is not None
        ]
        summed = replace(
            cls._summed_up(reports, max),
            worst_seam=max(seams, key=lambda seam: seam.ratio, default=None),
            foot_alternation=min(steps, default=None),
            worst=worst_frames(frame for report in reports for frame in report.worst),
            path=max(paths, key=lambda fit: fit.worst_m or fit.goal_m or 0.0, default=None),
            takes=TakesUsed.joined(
                [report.takes for report in reports if report.takes is not None]
            ),
            speeds_m_s=next((report.speeds_m_s for report in reports if report.speeds_m_s), None),
            beats=next((report.beats for report in reports if report.beats is not None), None),
            rough_seams=tuple(
                sorted(
                    (seam for report in reports for seam in report.rough_seams),
                    key=lambda seam: seam.frame,
                )
            ),
        )
        return summed.with_parts(warnings=[text for report in reports for text in report._notes()])

    @classmethod
    def mean_of(cls, reports: Sequence[QualityReport]) -> QualityReport:
        """Return the mean of each figure across reports."""
        return cls._summed_up(reports, lambda figures: float(np.mean(figures)))

    @classmethod
    def _summed_up(
        cls, reports: Sequence[QualityReport], measure: Callable[[list[float]], Any]
    ) -> QualityReport:
        names = (
            "foot_slide_m", "floor_penetration_m", "seam_acceleration_ratio", "foot_alternation",
            "jumps", "limb_intersection_m", "balance_m", "flight_error_g", "joint_range_deg",
            "seam_rotation_ratio", "toe_drag_m", "floor_offset_m",
        )  # fmt: skip
        summary: dict[str, Any] = {}
        for name in names:
            figures = [
                figure for report in reports if (figure := getattr(report, name)) is not None
            ]
            summary[name] = measure(figures) if figures else None
        return cls(**summary)

    def __str__(self) -> str:
        return self.line()

    def line(self) -> str:
        """Return the report as one line of text, with exceeded limits before the main figures.

        Examples
        --------
        >>> seam = WorstFrame("seam", 1.8, 1.5, 90, 3.0, "walk to jog")
        >>> QualityReport(0.004, 0.0, 1.8, worst=(seam,), jumps=0).line()
        'beyond limits: seam 1.80; slide 0.4 cm'
        """
        figures = list(self._short_figures())
        passed = [text for text, beyond, _ in figures if beyond]
        others = [text for text, beyond, main in figures if main and not beyond]
        parts = [f"beyond limits: {', '.join(passed)}"] if passed else []
        if others:
            parts.append(("" if passed else "within limits: ") + ", ".join(others))
        if self.foot_slide_m is None:
            parts.append("no foot contacts found")
        return "; ".join(parts)

    def details(self) -> list[str]:
        """Return all figures as text without warnings, one line per part."""
        parts = [", ".join(self._figures())]
        if self.speeds_m_s is not None:
            parts.append("available speeds {:.1f} to {:.1f} m/s".format(*self.speeds_m_s))
        further = (self.path, self.beats, self.takes, self.retarget, self.robot)
        parts += [str(part) for part in further if part is not None]
        return parts

    def _short_figures(self) -> Iterator[tuple[str, bool, bool]]:
        """Yield each figure as short text, whether it exceeds its limit, and whether it is main.

        Main figures are shown even if they are within their limits.
        """
        beyond = {frame.measure for frame in self.worst if frame.passed}
        if self.seam_acceleration_ratio is not None:
            yield f"seam {self.seam_acceleration_ratio:.2f}", "seam" in beyond, True
        if self.foot_slide_m is not None:
            yield f"slide {100 * self.foot_slide_m:.1f} cm", "slide" in beyond, True
        for part in (self.path, self.beats, self.retarget, self.robot):
            if part is not None:
                for text, passed in part.short_figures():
                    yield text, passed, True
        for measure, text in (
            ("jump", f"{self.jumps} jump{'' if self.jumps == 1 else 's'}"),
            ("steps", f"{100 * (self.foot_alternation or 0.0):.0f} % of steps alternate"),
            ("limbs", f"limbs overlap {100 * (self.limb_intersection_m or 0.0):.0f} cm"),
            ("balance", f"{100 * (self.balance_m or 0.0):.0f} cm out of balance"),
            ("flight", f"gravity off by {self.flight_error_g or 0.0:.1f} g"),
            ("floor", f"{100 * (self.floor_penetration_m or 0.0):.1f} cm below the floor"),
            ("range", f"joints {self.joint_range_deg or 0.0:.0f} degrees beyond their range"),
            ("turn", f"seam turns {self.seam_rotation_ratio or 0.0:.1f}"),
            ("drag", f"toes drag {100 * (self.toe_drag_m or 0.0):.1f} cm"),
            ("height", f"{100 * (self.floor_offset_m or 0.0):.1f} cm off the floor"),
        ):
            yield text, measure in beyond, False

    def _figures(self) -> list[str]:
        """Return the measures of the motion itself as text."""
        if self.foot_slide_m is None:
            figures = ["no foot contacts found"]
        else:
            figures = [f"feet slide {100 * self.foot_slide_m:.1f} cm per contact"]
        if self.floor_penetration_m is not None:
            figures.append(f"floor penetration {100 * self.floor_penetration_m:.1f} cm")
        if self.worst_seam is not None:
            figures.append(f"worst seam {self.worst_seam}")
        elif self.seam_acceleration_ratio is not None:
            figures.append(f"worst seam {self.seam_acceleration_ratio:.2f}")
        if self.foot_alternation is not None:
            figures.append(f"{100 * self.foot_alternation:.0f} % of steps alternate")
        if self.jumps is not None:
            plural = "" if self.jumps == 1 else "s"
            figures.append(f"{self.jumps:.0f} jump{plural}" if self.jumps else "no jumps")
        if self.limb_intersection_m is not None:
            figures.append(f"limbs overlap {100 * self.limb_intersection_m:.1f} cm")
        if self.balance_m is not None:
            figures.append(f"out of balance {100 * self.balance_m:.1f} cm")
        if self.flight_error_g is not None:
            figures.append(f"gravity off by {self.flight_error_g:.2f} g in flight")
        if self.toe_drag_m is not None:
            figures.append(f"toes drag {100 * self.toe_drag_m:.1f} cm before they lift")
        if self.seam_rotation_ratio is not None:
            figures.append(f"seams turn {self.seam_rotation_ratio:.2f}")
        if self.joint_range_deg:
            figures.append(f"joints {self.joint_range_deg:.0f} degrees beyond their range")
        return figures

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON-compatible data."""
        return asdict(self)


def worst_frames(frames: Iterable[WorstFrame]) -> tuple[WorstFrame, ...]:
    """Return the most severe frame of each measure, most severe first."""
    worst: dict[str, WorstFrame] = {}
    for frame in frames:
        if frame.measure not in worst or frame.severity > worst[frame.measure].severity:
            worst[frame.measure] = frame
    return tuple(sorted(worst.values(), key=lambda frame: -frame.severity))


def limits_passed(report: QualityReport) -> list[str]:
    """Return one sentence for each figure in a report that exceeds its limit."""
    sentences = [_sentence(frame) for frame in report.worst if frame.passed]
    if report.path is not None:
        sentences += _path_limits(report.path)
    if report.retarget is not None:
        sentences += _retarget_limits(report.retarget)
    beats = report.beats
    if beats is not None and beats.landings_missed:
        sentences.append(
            f"{beats.landings_on_beat} of {beats.landings_total} foot landings are on a beat: try "
            "takes with clear steps or music closer to their tempo, or set the beats of the takes "
            "(motionloom beats --save)"
        )
    return sentences


def _sentence(worst: WorstFrame) -> str:
    what, advice = _ADVICE[worst.measure]
    text = what.format(
        value=worst.value,
        cm=100 * worst.value,
        percent=100 * worst.value,
        at=f"{worst.second:.1f} s",
        detail=worst.detail,
        take=f" ({worst.take})" if worst.take else "",
    )
    return f"{text}: {advice}"


def _path_limits(fit: PathFit) -> list[str]:
    sentences = []
    if fit.path_length_m and fit.detour > MAX_DETOUR:
        sentences.append(
            f"the motion is {fit.detour:.1f} times as long as the path: "
            "try a smoother path, or add takes that turn"
        )
    if fit.path_missed:
        sentences.append(
            f"the path is missed by {fit.mean_m:.2f} m on average and {fit.worst_m:.2f} m at "
            "worst: try a smoother path, or add takes that turn"
        )
    if (fit.goal_m or 0.0) > MAX_GOAL:
        sentences.append(
            f"the end is {fit.goal_m:.2f} m away from the goal: try a longer motion, another "
            f"seed, or more takes"
        )
    return sentences


def _retarget_limits(fit: RetargetFit) -> list[str]:
    sentences = []
    for name, width in (("shoulders", fit.shoulder_width), ("hips", fit.hip_width)):
        if width is not None and abs(width - 1.0) > MAX_WIDTH_CHANGE:
            sentences.append(
                f"the {name} are {100 * width:.0f} % as wide as the target's: check the roles of "
                "both skeletons with motionloom doctor"
            )
    if fit.limb_angle_deg > MAX_LIMB_ANGLE:
        leg = fit.limb.endswith(("hip", "knee"))
        sentences.append(
            f"the bone that begins at the {fit.limb.replace('_', ' ')} is "
            f"{fit.limb_angle_deg:.0f} degrees off its direction in the source: "
            + (
                "locking the feet bends the legs; turn off keep_contacts, or clean the source"
                if leg
                else "the arm bends to keep the hand in place; try importance 0 for this hand"
            )
        )
    if fit.height is not None and abs(fit.height - 1.0) > MAX_HEIGHT_CHANGE:
        sentences.append(
            f"the head is at {100 * fit.height:.0f} % of the height expected from the source: "
            f"check the roles of the legs with motionloom doctor"
        )
    if (fit.foot_height_m or 0.0) > MAX_FOOT_HEIGHT:
        sentences.append(
            f"feet in contact are up to {100 * (fit.foot_height_m or 0.0):.1f} cm away from the "
            "ground because the legs do not reach it: try a take with lower feet"
        )
    if fit.lost:
        sentences.append(
            f"the {' and the '.join(fit.lost)} move in the source but not on the target: their "
            "joints have other names and no roles, so they keep their rest pose"
        )
    if fit.assumed:
        sentences.append(
            f"the rest pose does not show how the target holds its {', '.join(fit.assumed)}, so "
            f"a pose is assumed: pass a motion of the target, with bent limbs and flat feet, as "
            f"the target"
        )
    return sentences
