"""Quality report: the figures of a synthesized motion, as data and as one line of text.

The report holds what was measured on the motion itself and, where the verb that made the motion
knows them, the fit to a path, the takes used, the speeds that can be had and the fit to music.
Every limit stands in this module; a limit that is passed becomes a warning that says what to try.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.motion.provenance import Source

# Limits; a figure beyond its limit is a warning.
MAX_FOOT_SLIDE = 0.03  # metres per contact
MAX_FLOOR_PENETRATION = 0.01  # metres, mean over frames
MAX_SEAM_RATIO = 1.5  # of the sources' 99.9th percentile
MAX_PATH_MEAN = 0.25  # metres
MAX_PATH_WORST = 1.0  # metres: about one step
MAX_DETOUR = 1.3  # length walked over length of the path
MAX_GOAL = 0.25  # metres
MIN_BEATS = 0.8  # share of the beats met by landings

_TAKES_NAMED = 4  # takes named in the line, those with most seconds first


@dataclass(frozen=True)
class Seam:
    """A seam between two takes.

    Attributes
    ----------
    frame : int
        Middle of the transition.
    second : float
        The same as a time.
    before, after : str
        Names of the takes that meet; empty where they are not known.
    ratio : float
        Largest joint acceleration within 0.25 s, over the 99.9th percentile of the sources.

    Examples
    --------
    >>> str(Seam(60, 2.0, "walk", "jog", 1.25))
    '1.25 at 2.00 s (walk to jog)'
    """

    frame: int
    second: float
    before: str
    after: str
    ratio: float

    def __str__(self) -> str:
        takes = f" ({self.before} to {self.after})" if self.before or self.after else ""
        return f"{self.ratio:.2f} at {self.second:.2f} s{takes}"


@dataclass(frozen=True)
class PathFit:
    """How well a motion keeps to a path on the floor, or reaches a goal.

    Attributes
    ----------
    mean_m, worst_m : float or None
        Distance of the hips from the nearest point of the path, over the floor, mean and largest
        over all frames; None for a goal without a path.
    length_m : float
        Length of the way of the hips over the floor, summed from frame to frame.
    path_length_m : float or None
        Length of the path.
    goal_m : float or None
        Distance of the hips from the goal, or from the end of the path, in the last frame.

    Examples
    --------
    >>> fit = PathFit.of([[0, 0.1], [1, 0.1], [2, -0.3]], path=[[0, 0], [2, 0]])
    >>> round(fit.mean_m, 3), round(fit.worst_m, 3), round(fit.goal_m, 3), fit.path_length_m
    (0.167, 0.3, 0.3, 2.0)
    """

    mean_m: float | None = None
    worst_m: float | None = None
    length_m: float = 0.0
    path_length_m: float | None = None
    goal_m: float | None = None

    @classmethod
    def of(
        cls, track: ArrayLike, *, path: ArrayLike | None = None, goal: ArrayLike | None = None
    ) -> PathFit:
        """Fit of a way over the floor (T, 2) to a path (n, 2), a goal (2,), or both; x, z."""
        way = np.asarray(track, np.float64)
        length = float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())
        off, long = None, None
        if path is not None:
            line = np.asarray(path, np.float64)
            off = _distances_to_line(way, line)
            long = float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())
            goal = line[-1] if goal is None else goal
        return cls(
            None if off is None else float(off.mean()),
            None if off is None else float(off.max()),
            length,
            long,
            None if goal is None else float(np.linalg.norm(way[-1] - np.asarray(goal)[:2])),
        )

    def __str__(self) -> str:
        parts = []
        if self.mean_m is not None and self.worst_m is not None:
            parts.append(f"path {self.mean_m:.2f} m off on average, {self.worst_m:.2f} m at worst")
        if self.path_length_m is not None:
            parts.append(f"{self.length_m:.1f} m walked for {self.path_length_m:.1f} m")
        if self.goal_m is not None:
            parts.append(f"end {self.goal_m:.2f} m off")
        return ", ".join(parts)


@dataclass(frozen=True)
class TakesUsed:
    """Takes that a motion is made of, and those that were offered but not used.

    Attributes
    ----------
    used : dict of str to float
        Seconds of each take, the longest first; blended takes by their weights.
    unused : dict of str to str
        Reason for each take that was offered: ``"not drawn"``, ``"cut off"``, ...

    Examples
    --------
    >>> str(TakesUsed({"walk": 12.0, "jog": 3.5}, {"hop": "cut off"}))
    'takes walk 12.0 s, jog 3.5 s; unused: 1 cut off (hop)'
    """

    used: Mapping[str, float] = field(default_factory=dict)
    unused: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, sources: Iterable[Source], fps: float, unused: Mapping[str, str] | None = None
    ) -> TakesUsed:
        """Seconds of each take of a motion; of `unused`, those are kept that are not used."""
        seconds: dict[str, float] = {}
        for source in sources:
            time = (source.end - source.start) * source.weight / fps
            seconds[source.motion] = seconds.get(source.motion, 0.0) + time
        used = dict(sorted(seconds.items(), key=lambda item: -item[1]))
        left = {name: why for name, why in (unused or {}).items() if name not in used}
        return cls(used, left)

    def __str__(self) -> str:
        named = [f"{name} {time:.1f} s" for name, time in list(self.used.items())[:_TAKES_NAMED]]
        more = len(self.used) - len(named)
        text = "takes " + (", ".join(named) or "none") + (f" and {more} more" if more else "")
        reasons: dict[str, list[str]] = {}
        for name, why in self.unused.items():
            reasons.setdefault(why, []).append(name)
        parts = [
            f"{len(names)} {why}" + (f" ({', '.join(names)})" if len(names) <= 2 else "")
            for why, names in reasons.items()
        ]
        return text + (f"; unused: {', '.join(parts)}" if parts else "")


@dataclass(frozen=True)
class BeatFit:
    """How well a dance meets its music.

    Attributes
    ----------
    total : int
        Beats of the music.
    within_one_frame : int
        Of these, beats with a beat of the motion within one frame.
    landings_on_beat, landings_total : int or None
        Beats on which a foot lands, and beats on which one could.
    landing_coherence : float or None
        Coherence of the landings with the music, 0 to 1.

    Examples
    --------
    >>> str(BeatFit(62, 61, 50, 60, 0.9))
    '61 of 62 beats within a frame, feet land on 50 of 60 beats, coherence 0.90'
    """

    total: int
    within_one_frame: int
    landings_on_beat: int | None = None
    landings_total: int | None = None
    landing_coherence: float | None = None

    def __str__(self) -> str:
        text = f"{self.within_one_frame} of {self.total} beats within a frame"
        if self.landings_on_beat is not None:
            text += f", feet land on {self.landings_on_beat} of {self.landings_total} beats"
        if self.landing_coherence is not None:
            text += f", coherence {self.landing_coherence:.2f}"
        return text


@dataclass(frozen=True)
class QualityReport:
    """Quality of a synthesized or edited motion.

    Attributes
    ----------
    foot_slide_m : float or None
        Horizontal travel of heel and ball within a contact, mean over contacts; None where no
        contacts are found.
    floor_penetration_m : float or None
        Depth of the balls below the ground, mean over frames; None where no contacts are found.
    seam_acceleration_ratio : float or None
        Largest joint acceleration near a seam, over the 99.9th percentile of those of the
        sources; None for a motion without seams.
    worst_seam : Seam or None
        The seam with that acceleration.
    path : PathFit or None
        Distance from the path or goal, for motions that have one.
    takes : TakesUsed or None
        Takes used and unused.
    speeds_m_s : (float, float) or None
        Least and largest speed that the sources can give.
    beats : BeatFit or None
        Fit to the music, for dances.
    warnings : tuple of str
        One sentence for each limit that is passed, and what to try.

    Examples
    --------
    >>> QualityReport(0.004, 0.0).line()
    'feet slide 0.4 cm per contact; floor penetration 0.0 cm'
    """

    foot_slide_m: float | None
    floor_penetration_m: float | None
    seam_acceleration_ratio: float | None = None
    worst_seam: Seam | None = None
    path: PathFit | None = None
    takes: TakesUsed | None = None
    speeds_m_s: tuple[float, float] | None = None
    beats: BeatFit | None = None
    warnings: tuple[str, ...] = ()

    def with_parts(self, *, warnings: Sequence[str] = (), **parts: Any) -> QualityReport:
        """The report with further parts (`path`, `takes`, `speeds_m_s`, `beats`) and warnings.

        Warnings of limits are derived again; `warnings` are added to them.

        Examples
        --------
        >>> report = QualityReport(0.004, 0.0).with_parts(path=PathFit(0.1, 0.2, 50.0, 10.0, 0.0))
        >>> report.warnings[0].split(":")[0]
        'the motion is 5.0 times as long as the path'
        """
        own = [text for text in self.warnings if text not in limits_passed(self)]
        changed = replace(self, **parts)
        every = [*limits_passed(changed), *own, *warnings]
        return replace(changed, warnings=tuple(dict.fromkeys(every)))

    @classmethod
    def worst_of(cls, reports: Sequence[QualityReport]) -> QualityReport:
        """The worst of each figure over several motions; at least one.

        Examples
        --------
        >>> worst = QualityReport.worst_of(
        ...     [QualityReport(0.01, 0.0, 0.9), QualityReport(None, 0.002)])
        >>> worst.foot_slide_m, worst.floor_penetration_m, worst.seam_acceleration_ratio
        (0.01, 0.002, 0.9)
        """
        seams = [report.worst_seam for report in reports if report.worst_seam is not None]
        paths = [report.path for report in reports if report.path is not None]
        summed = replace(
            cls._summed_up(reports, max),
            worst_seam=max(seams, key=lambda seam: seam.ratio, default=None),
            path=max(paths, key=lambda fit: fit.worst_m or fit.goal_m or 0.0, default=None),
        )
        own = [w for one in reports for w in one.warnings if w not in limits_passed(one)]
        return summed.with_parts(warnings=own)

    @classmethod
    def mean_of(cls, reports: Sequence[QualityReport]) -> QualityReport:
        """The mean of each figure over several motions; at least one."""
        return cls._summed_up(reports, lambda figures: float(np.mean(figures)))

    @classmethod
    def _summed_up(
        cls, reports: Sequence[QualityReport], measure: Callable[[list[float]], float]
    ) -> QualityReport:
        def over(name: str) -> float | None:
            known = [figure for one in reports if (figure := getattr(one, name)) is not None]
            return measure(known) if known else None

        return cls(
            over("foot_slide_m"), over("floor_penetration_m"), over("seam_acceleration_ratio")
        )

    def line(self) -> str:
        """The report as one line for people, without its warnings."""
        if self.foot_slide_m is None:
            parts = ["no foot contacts found"]
        else:
            parts = [f"feet slide {100 * self.foot_slide_m:.1f} cm per contact"]
        if self.floor_penetration_m is not None:
            parts.append(f"floor penetration {100 * self.floor_penetration_m:.1f} cm")
        if self.worst_seam is not None:
            parts.append(f"worst seam {self.worst_seam}")
        elif self.seam_acceleration_ratio is not None:
            parts.append(f"worst seam {self.seam_acceleration_ratio:.2f}")
        if self.speeds_m_s is not None:
            parts.append("speeds {:.1f} to {:.1f} m/s can be had".format(*self.speeds_m_s))
        parts += [str(part) for part in (self.path, self.beats, self.takes) if part is not None]
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)


def limits_passed(report: QualityReport) -> list[str]:
    """One sentence for each figure of a report that is beyond its limit."""
    found = []
    if (report.foot_slide_m or 0.0) > MAX_FOOT_SLIDE:
        found.append(
            f"feet slide {100 * (report.foot_slide_m or 0.0):.1f} cm per contact: "
            "try motionloom clean, or leave out takes that slide themselves"
        )
    if (report.floor_penetration_m or 0.0) > MAX_FLOOR_PENETRATION:
        found.append(
            f"feet are {100 * (report.floor_penetration_m or 0.0):.1f} cm below the floor on "
            "average: try motionloom clean on the takes, or takes on one level floor"
        )
    seam = report.worst_seam
    if (report.seam_acceleration_ratio or 0.0) > MAX_SEAM_RATIO:
        where = f" at {seam.second:.1f} s" if seam is not None else ""
        found.append(
            f"the seam{where} accelerates {report.seam_acceleration_ratio:.1f} times as much as "
            "the takes: try a longer blend, more takes, or another seed"
        )
    if report.path is not None:
        found += _path_limits(report.path)
    beats = report.beats
    if (
        beats is not None
        and beats.landings_on_beat is not None
        and beats.landings_total
        and beats.landings_on_beat < MIN_BEATS * beats.landings_total
    ):
        found.append(
            f"feet land on {beats.landings_on_beat} of {beats.landings_total} beats: try takes "
            "with clear steps, music nearer to their tempo, or give tempo and first beat"
        )
    return found


def _path_limits(fit: PathFit) -> list[str]:
    found = []
    if fit.path_length_m and fit.length_m > MAX_DETOUR * fit.path_length_m:
        found.append(
            f"the motion is {fit.length_m / fit.path_length_m:.1f} times as long as the path: "
            "try a smoother path, or add takes that turn"
        )
    if (fit.mean_m or 0.0) > MAX_PATH_MEAN or (fit.worst_m or 0.0) > MAX_PATH_WORST:
        found.append(
            f"the path is missed by {fit.mean_m:.2f} m on average and {fit.worst_m:.2f} m at "
            "worst: try a smoother path, or add takes that turn"
        )
    if (fit.goal_m or 0.0) > MAX_GOAL:
        found.append(
            f"the end is {fit.goal_m:.2f} m away from the goal: try more seconds, another seed, "
            "or more takes"
        )
    return found


def _distances_to_line(
    points: NDArray[np.float64], line: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Distance of each point (T, 2) from the nearest point of a line through points (n, 2)."""
    nearest = np.full(len(points), np.inf)
    for a, b in zip(line[:-1], line[1:], strict=True):
        along = b - a
        squared = float(along @ along)
        share = np.clip((points - a) @ along / squared, 0.0, 1.0) if squared else np.zeros(1)
        off = np.linalg.norm(points - (a + share[:, None] * along), axis=1)
        nearest = np.minimum(nearest, off)
    return nearest
