"""Parts of a quality report: worst frames, seams, path fit, takes used, and music fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.motion.provenance import Source

MAX_PATH_MEAN = 0.25  # meters
MAX_PATH_WORST = 1.0  # meters: about one step
MAX_DETOUR = 1.3  # length walked divided by the length of the path
MAX_GOAL = 0.25  # meters
MIN_BEATS = 0.8  # fraction of the foot landings that are on a beat
FEWEST_LANDINGS = 8  # with fewer landings, motion beats are judged instead
MAX_WIDTH_CHANGE = 0.05  # relative change of shoulder and hip width by retargeting
MAX_LIMB_ANGLE = 10.0  # degrees between a limb in the source and in the retargeted motion
MAX_HEIGHT_CHANGE = 0.10  # relative change of the head's height
MAX_FOOT_HEIGHT = 0.01  # meters between the balls in contact and the scaled ground

_TAKES_NAMED = 4  # takes named in the line, longest first
_FIGURE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])")  # a number that is not part of a name


@dataclass(frozen=True)
class RetargetFit:
    """How well a retargeted motion preserves the target's shape and the source's poses.

    Attributes
    ----------
    shoulder_width, hip_width : float or None
        Width of the shoulders or hips after retargeting, divided by the target's width in its
        neutral pose or in a motion on the target, as the median over all frames. None if the
        skeleton has no shoulders.
    limb_angle_deg : float
        Angle in degrees between an arm or leg bone in the source and in the result, relative to the
        trunk. The figure is the 95th percentile over all frames for the bone that differs most.
    limb : str
        Role of the joint at which this bone begins.
    height : float or None
        Height of the head above the floor relative to the length of legs and trunk, divided by the
        same ratio in the source, as the median over all frames.
    foot_height_m : float or None
        Largest distance in meters between a ball in contact and the source's ground, scaled to the
        target.
    assumed : tuple of str
        Body parts whose natural pose is assumed, because neither the target's rest pose nor a
        motion shows it.
    lost : tuple of str
        Body parts that move in the source but stay still on the target, although it has them.

    Examples
    --------
    >>> str(RetargetFit(1.01, 1.0, 2.3, "left_knee", 0.99, 0.002))
    'shoulders 101 % and hips 100 % of their width, limbs within 2.3 degrees'
    """

    shoulder_width: float | None
    hip_width: float | None
    limb_angle_deg: float
    limb: str
    height: float | None = None
    foot_height_m: float | None = None
    assumed: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [
            f"{name} {100 * width:.0f} %"
            for name, width in (("shoulders", self.shoulder_width), ("hips", self.hip_width))
            if width is not None
        ]
        widths = [" and ".join(parts) + " of their width"] if parts else []
        return ", ".join([*widths, f"limbs within {self.limb_angle_deg:.1f} degrees"])

    def short_figures(self) -> Iterator[tuple[str, bool]]:
        """Yield each figure as short text with a flag for whether it exceeds its limit."""
        for name, width in (("shoulders", self.shoulder_width), ("hips", self.hip_width)):
            if width is not None:
                yield f"{name} {100 * width:.0f} %", abs(width - 1.0) > MAX_WIDTH_CHANGE
        beyond = self.limb_angle_deg > MAX_LIMB_ANGLE
        yield f"limbs {self.limb_angle_deg:.0f} degrees off", beyond
        if self.lost:
            yield f"{' and '.join(self.lost)} lost", True


@dataclass(frozen=True)
class WorstFrame:
    """The frame with the worst value of a measure.

    Attributes
    ----------
    measure : str
        ``slide, floor, seam, steps, jump, limbs, balance, flight, range, turn, drag`` or
        ``height``.
    value, limit : float
        The measured value, and the largest value without a warning, in the same unit.
    frame : int
    second : float
        Time of the frame in seconds.
    detail : str
        The body part, or the two takes that meet at the seam.
    take : str
        The take used in this frame; empty if unknown.

    Examples
    --------
    >>> WorstFrame("limbs", 0.06, 0.04, 30, 1.0, "left shin and right shin").passed
    True
    """

    measure: str
    value: float
    limit: float
    frame: int
    second: float
    detail: str = ""
    take: str = ""

    @property
    def severity(self) -> float:
        """Value divided by its limit."""
        return self.value / self.limit

    @property
    def passed(self) -> bool:
        """True if the value exceeds the limit."""
        return self.value > self.limit


@dataclass(frozen=True)
class Seam:
    """A seam between two takes.

    Attributes
    ----------
    frame : int
        Frame in the middle of the transition.
    second : float
        Time of this frame in seconds.
    before, after : str
        Names of the takes that meet; empty if unknown.
    ratio : float
        Largest joint acceleration within 0.25 s of the seam, divided by the 99.9th percentile of
        the joint accelerations in the sources.

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
    """How well a motion follows a path on the floor or reaches a goal.

    Attributes
    ----------
    mean_m, worst_m : float or None
        Horizontal distance in meters from the hips to the nearest point of the path, as the mean
        and maximum over all frames; None for a goal without a path.
    length_m : float
        Distance in meters that the hips travel over the floor, summed from frame to frame.
    path_length_m : float or None
        Length of the path in meters.
    goal_m : float or None
        Distance in meters from the hips to the goal, or to the end of the path, in the last frame.

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
        """Compare a floor track (T, 2) with a path (n, 2), a goal (2,), or both, in x and z."""
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

    @property
    def path_missed(self) -> bool:
        """True if the motion misses the path by more than the limits allow."""
        return (self.mean_m or 0.0) > MAX_PATH_MEAN or (self.worst_m or 0.0) > MAX_PATH_WORST

    @property
    def detour(self) -> float:
        """Distance walked divided by the path length, or 0 if there is no path."""
        return self.length_m / self.path_length_m if self.path_length_m else 0.0

    def short_figures(self) -> Iterator[tuple[str, bool]]:
        """Yield each figure as short text with a flag for whether it exceeds its limit."""
        if self.worst_m is not None:
            yield f"path {self.worst_m:.2f} m off at worst", self.path_missed
        if self.detour > MAX_DETOUR:
            yield f"{self.detour:.1f} times its length", True
        if self.goal_m is not None:
            yield f"end {self.goal_m:.2f} m off", self.goal_m > MAX_GOAL


@dataclass(frozen=True)
class TakesUsed:
    """Takes used in a motion, and the takes that were available but not used.

    Attributes
    ----------
    used : dict of str to float
        Seconds of each take, longest first; blended takes count by their weights.
    unused : dict of str to str
        Reason why each of the other available takes was not used: ``"not drawn"``, ``"cut off"``,
        ...

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
        """Return the seconds of each take in a motion, and the `unused` takes it does not use."""
        seconds: dict[str, float] = {}
        for source in sources:
            time = (source.end - source.start) * max(source.weight, 0.0) / fps
            seconds[source.motion] = seconds.get(source.motion, 0.0) + time
        used = dict(sorted(seconds.items(), key=lambda item: -item[1]))
        left = {name: why for name, why in (unused or {}).items() if name not in used}
        return cls(used, left)

    @classmethod
    def joined(cls, parts: Sequence[TakesUsed]) -> TakesUsed | None:
        """Add up the seconds of each take in several motions, and list the unused takes."""
        if not parts:
            return None
        seconds: dict[str, float] = {}
        for name, time in (item for part in parts for item in part.used.items()):
            seconds[name] = seconds.get(name, 0.0) + time
        used = dict(sorted(seconds.items(), key=lambda item: -item[1]))
        offered = {name: why for part in parts for name, why in part.unused.items()}
        return cls(used, {name: why for name, why in offered.items() if name not in used})

    def __str__(self) -> str:
        named = [f"{name} {time:.1f} s" for name, time in list(self.used.items())[:_TAKES_NAMED]]
        more = len(self.used) - len(named)
        text = "takes " + (", ".join(named) or "none") + (f" and {more} more" if more else "")
        return text + (f"; unused: {reasons_text(self.unused)}" if self.unused else "")


@dataclass(frozen=True)
class BeatFit:
    """Agreement between a dance and the music's beats.

    Attributes
    ----------
    total : int
        Number of beats in the music.
    within_one_frame : int
        Number of music beats that have a motion beat within one frame.
    landings_on_beat, landings_total : int or None
        Number of foot landings on a music beat, and total number of foot landings.
    landing_coherence : float or None
        Coherence of the landings with the music, 0 to 1.

    Examples
    --------
    >>> str(BeatFit(62, 61, 50, 60, 0.9))
    '61 of 62 beats within a frame, 50 of 60 foot landings on a beat, coherence 0.90'
    """

    total: int
    within_one_frame: int
    landings_on_beat: int | None = None
    landings_total: int | None = None
    landing_coherence: float | None = None

    def __str__(self) -> str:
        text = f"{self.within_one_frame} of {self.total} beats within a frame"
        if self.landings_on_beat is not None:
            text += f", {self.landings_on_beat} of {self.landings_total} foot landings on a beat"
        if self.landing_coherence is not None:
            text += f", coherence {self.landing_coherence:.2f}"
        return text

    @property
    def landings_missed(self) -> bool:
        """True if there are enough landings to judge, and too few of them are on a beat."""
        on, total = self.landings_on_beat, self.landings_total or 0
        return on is not None and total >= FEWEST_LANDINGS and on < MIN_BEATS * total

    def short_figures(self) -> Iterator[tuple[str, bool]]:
        """Yield each figure as short text with a flag for whether it exceeds its limit."""
        if self.landings_on_beat is not None and self.landings_total:
            share = self.landings_on_beat / self.landings_total
            text = f"{100 * share:.0f} % of landings on a beat"
            if self.landings_total < FEWEST_LANDINGS:
                text = f"{self.landings_on_beat} of {self.landings_total} landings on a beat"
            yield text, self.landings_missed
        else:
            yield f"{self.within_one_frame} of {self.total} beats met", False


def grouped_reasons(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """Group names by reason, merging reasons that differ only in their figures into ranges.

    Examples
    --------
    >>> grouped_reasons({"a": "confidence 0.07 < 0.25", "b": "cut off", "c": "confidence 0 < 0.25"})
    {'confidence 0 to 0.07 < 0.25': ['a', 'c'], 'cut off': ['b']}
    """
    groups: dict[str, dict[str, list[str]]] = {}
    for name, why in reasons.items():
        groups.setdefault(_FIGURE.sub("#", why), {}).setdefault(why, []).append(name)
    grouped = {}
    for texts in groups.values():
        figures = zip(*(_FIGURE.findall(text) for text in texts), strict=True)
        between = _FIGURE.split(next(iter(texts)))
        ranges = [*(_range(column) for column in figures), ""]
        text = "".join(part for pair in zip(between, ranges, strict=True) for part in pair)
        grouped[text] = [name for names in texts.values() for name in names]
    return grouped


def reasons_text(reasons: Mapping[str, str]) -> str:
    """Format the reasons with their counts, naming the takes if there are only one or two.

    Examples
    --------
    >>> reasons_text({"a": "cut off", "b": "too short", "c": "cut off", "d": "cut off"})
    '3 cut off, 1 too short (b)'
    """
    return ", ".join(
        f"{len(names)} {why}" + (f" ({', '.join(names)})" if len(names) <= 2 else "")
        for why, names in grouped_reasons(reasons).items()
    )


def _range(figures: Sequence[str]) -> str:
    low, high = min(figures, key=float), max(figures, key=float)
    return low if low == high else f"{low} to {high}"


def _distances_to_line(
    points: NDArray[np.float64], line: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the distance from each point (T, 2) to a polyline with vertices (n, 2)."""
    nearest = np.full(len(points), np.inf)
    for a, b in zip(line[:-1], line[1:], strict=True):
        along = b - a
        squared = float(along @ along)
        share = np.clip((points - a) @ along / squared, 0.0, 1.0) if squared else np.zeros(1)
        off = np.linalg.norm(points - (a + share[:, None] * along), axis=1)
        nearest = np.minimum(nearest, off)
    return nearest
