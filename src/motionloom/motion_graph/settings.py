"""Settings for finding the transitions of a motion graph and for planning walks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import radians
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.files import csv_rows
from motionloom.settings import MotionChoice, Settings, preset, setting

if TYPE_CHECKING:
    from motionloom.features import FrameDistance


@dataclass(frozen=True, kw_only=True)
class Sectors(Settings):
    """Settings for using the smallest error in each sector of the error function as candidates."""

    NAME: ClassVar[str] = "sectors"

    sector_seconds: float = setting(
        0.5, "Side length of a sector. Sectors are never shorter than a blend.", unit="s", above=0.0
    )


@dataclass(frozen=True, kw_only=True)
class Minima(Settings):
    """Settings for using local minima of the error function as candidates (Kovar et al. 2002)."""

    NAME: ClassVar[str] = "minima"


@dataclass(frozen=True, kw_only=True)
class TransitionRules(Settings):
    """Rules for accepting and blending transition candidates."""

    blend_seconds: float = setting(
        0.4, "Duration of a transition.", unit="s", above=0.0, option="--blend"
    )
    apart_seconds: float = setting(
        0.6,
        "Minimum time between the two frames of a transition, if both frames are in the same "
        "motion.",
        unit="s",
        least=0.0,
        expert=True,
    )
    match_feet: bool = setting(
        True, "Require the same feet to be in contact on both sides of a transition."
    )
    connect: float = setting(
        3.0,
        "Multiply the maximum frame distance by up to this factor for motions that would otherwise "
        "be cut off; 1 turns this off. It does not apply if max_distance is set.",
        expert=True,
    )
    smooth: float | None = setting(
        1.2,
        "Maximum joint acceleration during a transition, relative to the 99.9th percentile in the "
        "motions.",
        above=0.0,
        expert=True,
    )
    bridge: bool = setting(
        False,
        "Connect parts that would otherwise be cut off, such as walks and runs, at their most "
        "similar poses, if steps alternate and accelerations stay within the limit.",
    )
    window: Literal["centered", "kr14", "directed"] | None = setting(
        None,
        "Frames that are blended at a transition (i, j): the frames around i and around j "
        "(centered), or the k frames starting at i and the k frames up to j, as in Kravcevich 2014 "
        "(kr14). A .mogra file can also use directed, which is kr14 without the transitions back. "
        "[centered; kr14 for a file]",
        expert=True,
    )
    skip_ends: bool = setting(
        True,
        "Ignore frames too close to the ends of a motion for a blend when candidates are chosen. "
        "Otherwise, such candidates are dropped afterwards.",
        expert=True,
    )
    root_path: Literal["aligned", "differences"] = setting(
        "aligned",
        "Align motions on the floor at a transition, with priority for feet in contact (aligned), "
        "or keep their headings and blend the frame-to-frame differences of the root, as in "
        "Kravcevich 2014 (differences).",
        expert=True,
    )
    unroll: bool = setting(
        True,
        "Repeat short clips that are loops until they last three seconds.",
        expert=True,
    )
    dead_ends: bool = setting(
        False, "Keep transitions that lead to dead ends, where a walk stops early.", expert=True
    )

    def check(self) -> None:
        """Check that the numbers are finite."""
        for name in ("blend_seconds", "smooth"):
            _check_finite(name, getattr(self, name))


def _check_finite(name: str, value: float | None) -> None:
    if value is not None and not value < float("inf"):
        raise InvalidInput(f"{name} must be finite; got {value}")


@dataclass(frozen=True, kw_only=True)
class TransitionSettings(Settings):
    """Settings for finding transitions between motions.

    Examples
    --------
    >>> TransitionSettings(per_minute=30.0).rules.blend_seconds
    0.4
    """

    distance: str | Any = setting(
        "jrd",
        "Name of a frame distance (jrd, pc11, ...), or a file of joint pair weights for jrd, as "
        "written by `learn`.",
    )
    method: Sectors | Minima = setting(
        Sectors(),
        "Pairs of frames to consider for transitions: the smallest error in each sector (sectors), "
        "or local minima (minima).",
        methods={"sectors": Sectors, "minima": Minima},
    )
    max_distance: float | None = setting(
        None,
        "Maximum frame distance at a transition, in the unit of the distance. [set by per-minute]",
        above=0.0,
    )
    per_minute: float = setting(
        60.0,
        "Number of transitions per minute of motion, counting both directions as one. It "
        "determines the maximum frame distance unless max-distance is set.",
        above=0.0,
    )
    rules: TransitionRules = setting(
        TransitionRules(), "Rules for accepting and blending candidates."
    )

    @property
    def sector_seconds(self) -> float:
        """Side length of a sector, in seconds; with minima, sectors are only used for counting."""
        return getattr(self.method, "sector_seconds", Sectors().sector_seconds)

    def frame_distance(self) -> FrameDistance:
        """Return the frame distance; if `distance` names a file, read its weights from the file."""
        if isinstance(self.distance, Path) or str(self.distance).endswith(".json"):
            from motionloom.features.joint_weights import load_weights

            return load_weights(self.distance)
        from motionloom.features import frame_distance

        return frame_distance(self.distance)

    def check(self) -> None:
        """Check that the numbers are finite."""
        for name in ("max_distance", "per_minute"):
            _check_finite(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class GraphSettings(TransitionSettings, MotionChoice):
    """Settings for building a motion graph; see `motionloom.Library.motion_graph`.

    Examples
    --------
    >>> GraphSettings.kr14(max_distance=20.0).max_distance
    20.0
    """

    transitions: str | Any = setting(
        None,
        "Read the transitions from this .mogra file instead of searching for them. Motions in the "
        "file are numbered in the order of `only` or, without it, in library order.",
        metavar="FILE",
    )
    mirror: bool = setting(
        False, "Also use a mirrored copy of each motion, so that walks can turn to either side."
    )

    @preset
    def kr14(cls: Any) -> GraphSettings:
        """Kravcevich 2014: sectors of 50 x 50 frames, k = 30, threshold 15 (section 5.3), 30 Hz."""
        return cls(
            method=Sectors(sector_seconds=50.0 / 30.0),
            max_distance=15.0,
            rules=TransitionRules(
                blend_seconds=1.0, apart_seconds=0.0, match_feet=False, connect=1.0, smooth=None,
                bridge=False, window="kr14", skip_ends=False, root_path="differences",
                unroll=False, dead_ends=True,
            ),
        )  # fmt: skip

    def check(self) -> None:
        """Check that numbers are finite, and that mirror is off if transitions come from a file."""
        super().check()
        if self.mirror and self.transitions is not None:
            raise InvalidInput(
                "a transition file cannot refer to mirrored motions; turn mirror off"
            )


@dataclass(frozen=True, kw_only=True)
class WalkSettings(Settings):
    """Settings of a walk through a motion graph; see `MotionGraph.walk`."""

    seconds: float | None = setting(
        None,
        "Duration of the walk. Walks along a path, or only to an end pose, take as long as they "
        "need.",
        unit="s",
    )
    seed: int | Any = setting(0, "Random seed; different seeds give different walks.", least=0)
    start: str | Any = setting(None, "First pose.", metavar="NAME:FRAME")
    end: str | Any = setting(None, "Last pose.", metavar="NAME:FRAME")
    path: str | Any = setting(
        None,
        "Walk along the path in this CSV file, which has x and z in meters in each row.",
        metavar="FILE",
    )
    goal: str | Any = setting(
        None,
        "Target position in meters, and optional heading in degrees, for the last frame.",
        metavar="X,Z[,DEGREES]",
    )
    labels: tuple[str, ...] | Any = setting(
        None,
        "Labels to perform, with their durations in seconds, for example walk:4,jog:3; may be "
        "repeated.",
        metavar="LABEL[:SECONDS],...",
        option="--timeline",
    )
    lock_feet: bool = setting(
        True, "Keep feet that are in contact with the floor in place.", command=False
    )
    variety: bool = setting(
        True,
        "Prefer transitions that were rarely played, and motions that were not played for long.",
        command=False,
    )

    @preset
    def kr14(cls: Any) -> WalkSettings:
        """Kravcevich 2014: transitions are equally likely, and feet are not locked."""
        return cls(lock_feet=False, variety=False)

    def check(self) -> None:
        """Check that the duration is positive and that strings can be parsed."""
        if self.seconds is not None and not 0.0 < self.seconds < float("inf"):
            raise InvalidInput(f"seconds must be positive; got {self.seconds:g}")
        self.floor_path()
        self.goal_values()
        self.timeline()

    def floor_path(self) -> Any:
        """Return the path as rows of x and z; if `path` names a file, read them from it."""
        return _path_file(self.path) if isinstance(self.path, str | Path) else self.path

    def goal_values(self) -> Any:
        """Return the goal as x, z and, if it was set, the heading in radians."""
        return _goal_text(self.goal) if isinstance(self.goal, str) else self.goal

    def timeline(self) -> Any:
        """Return the labels as (label, seconds) pairs."""
        if self.labels is None:
            return None
        labels = [self.labels] if isinstance(self.labels, str) else list(self.labels)
        labels = [part for item in labels for part in _timeline_parts(item)]
        alone = self.seconds if len(labels) == 1 else None
        return [_label_text(item, alone) if isinstance(item, str) else item for item in labels]

    @property
    def random(self) -> bool:
        """True if the walk has no goal, so that transitions are drawn at random."""
        return all(goal is None for goal in (self.end, self.path, self.goal, self.labels))


def _path_file(file: str | Path) -> list[tuple[float, float]]:
    """Read rows of x and z from a CSV file; a header line and extra columns are ignored."""
    rows: list[tuple[float, float]] = []
    if not Path(file).is_file():
        raise InvalidInput(
            f"{file}: no such file. A path must be a CSV file with x and z in meters in each row"
        )
    for number, row in csv_rows(file):
        if not row:
            continue
        try:
            rows.append((float(row[0]), float(row[1])))
        except (ValueError, IndexError):
            if number == 1:
                continue
            raise MotionFormatError(
                f"expected x, z in meters; got {','.join(row)[:40]!r}", path=file, line=number
            ) from None
    if len(rows) < 2:
        raise MotionFormatError(
            "a path needs at least two rows of x and z in meters; there "
            + ("is one" if rows else "are none"),
            path=file,
        )
    return rows


def _goal_text(text: str) -> tuple[float, ...]:
    """Parse ``X,Z`` or ``X,Z,DEGREES``, and return the heading in radians."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in (2, 3):
        raise InvalidInput(f"goal must be X,Z or X,Z,DEGREES; got {text}")
    return (values[0], values[1], *(radians(value) for value in values[2:]))


def _timeline_parts(given: Any) -> list[Any]:
    """Split ``walk:4,jog:3`` at commas; keep other strings whole, as labels may contain commas."""
    parts = given.split(",") if isinstance(given, str) else []
    timed = len(parts) > 1 and all(re.fullmatch(r"\s*[^:]+:[\d.]+s?\s*", part) for part in parts)
    return [part.strip() for part in parts] if timed else [given]


def _label_text(text: str, seconds: float | None) -> tuple[str, float]:
    """Parse ``LABEL:SECONDS``, or ``LABEL`` for the whole walk, and return label and duration."""
    name, colon, length = text.rpartition(":")
    if not colon and seconds is not None:
        return text, seconds
    try:
        return name, float(length.removesuffix("s") if colon else "")
    except ValueError:
        raise InvalidInput(f"a timeline must have the form LABEL:SECONDS,...; got {text}") from None
