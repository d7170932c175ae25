"""Settings of motion graphs: how transitions are found, and how a walk is planned."""

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
    """The least error in every sector of the error function, pruned by three conditions."""

    NAME: ClassVar[str] = "sectors"

    sector_seconds: float = setting(
        0.5, "Side of a sector; at least the blend.", unit="s", above=0.0
    )


@dataclass(frozen=True, kw_only=True)
class Minima(Settings):
    """Every local minimum of the error function (Kovar, Gleicher & Pighin 2002)."""

    NAME: ClassVar[str] = "minima"


@dataclass(frozen=True, kw_only=True)
class TransitionRules(Settings):
    """Which transition candidates are used, and how they are blended."""

    blend_seconds: float = setting(
        0.4, "Duration of a transition.", unit="s", above=0.0, option="--blend"
    )
    apart_seconds: float = setting(
        0.6, "Least time between two frames of one motion.", unit="s", least=0.0, expert=True
    )
    match_feet: bool = setting(
        True, "Require the same feet to be in contact on both sides of a transition."
    )
    connect: float = setting(
        3.0,
        "Relax the frame distance up to this factor for motions that would be cut off; 1: never. A "
        "maximum distance that is given is never relaxed.",
        expert=True,
    )
    smooth: float | None = setting(
        1.2,
        "Largest acceleration of a transition, relative to the 99.9th percentile of the motions.",
        above=0.0,
        expert=True,
    )
    bridge: bool = setting(
        False,
        "Join parts that would be cut off, such as walks and runs, at their most similar poses, if "
        "steps alternate and accelerations stay within the limit.",
    )
    window: Literal["centered", "kr14", "directed"] | None = setting(
        None,
        "Frames that are blended at a transition (i, j): those around i and j (centered), or k "
        "frames from i on and the k frames up to j, as in Kravcevich 2014 (kr14). Of a .mogra file "
        "also directed: like kr14, without the transitions back. [centered; of a file kr14]",
        expert=True,
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
    """How transitions between motions are found.

    Examples
    --------
    >>> TransitionSettings(per_minute=30.0).rules.blend_seconds
    0.4
    """

    distance: str | Any = setting(
        "jrd",
        "Frame distance: jrd, pc11, ...; or a file with weights of joint pairs for jrd, as `learn` "
        "writes it.",
    )
    method: Sectors | Minima = setting(
        Sectors(),
        "Transition candidates: sectors (least error of each sector) or minima (local).",
        methods={"sectors": Sectors, "minima": Minima},
    )
    max_distance: float | None = setting(
        None,
        "Largest frame distance at a transition, in the unit of the distance. [by per-minute]",
        above=0.0,
    )
    per_minute: float = setting(
        60.0,
        "Transitions per minute of motion, counting both directions as one; sets the largest "
        "frame distance if none is given.",
        above=0.0,
    )
    rules: TransitionRules = setting(TransitionRules(), "Which candidates are used, and the blend.")

    @property
    def sector_seconds(self) -> float:
        """Side of a sector; minima are only counted by sectors."""
        return getattr(self.method, "sector_seconds", Sectors().sector_seconds)

    def frame_distance(self) -> FrameDistance:
        """The frame distance itself, read from its file if `distance` names one."""
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
    """Which motions a graph is built of, and how; see `motionloom.Library.motion_graph`.

    Examples
    --------
    >>> GraphSettings.kr14(max_distance=20.0).max_distance
    20.0
    """

    transitions: str | Any = setting(
        None,
        "Take the transitions of this .mogra file; none are searched. Its motions are numbered in "
        "the order of `only`, or in that of the library.",
        metavar="FILE",
    )
    mirror: bool = setting(
        False, "Also use each motion mirrored, left and right exchanged: turns to both sides."
    )

    @preset
    def kr14(cls: Any) -> GraphSettings:
        """Kravcevich 2014, section 5.3: sectors of 50 by 50 frames, k = 30, threshold 15, 30 Hz."""
        return cls(
            method=Sectors(sector_seconds=50.0 / 30.0),
            max_distance=15.0,
            rules=TransitionRules(
                blend_seconds=1.0, apart_seconds=0.0, match_feet=False, connect=1.0, smooth=None,
                window="kr14",
            ),
        )  # fmt: skip

    def check(self) -> None:
        """Check the numbers, and that a file of transitions is used alone."""
        super().check()
        if self.mirror and self.transitions is not None:
            raise InvalidInput("transitions of a file do not know mirrored motions: mirror is off")


@dataclass(frozen=True, kw_only=True)
class WalkSettings(Settings):
    """What a walk through a motion graph does; see `motionloom.motion_graph.MotionGraph.walk`."""

    seconds: float | None = setting(
        None,
        "Duration. A walk along a path, or to an end pose alone, is as long as it takes.",
        unit="s",
    )
    seed: int | Any = setting(0, "Random seed; another seed gives another walk.", least=0)
    start: str | Any = setting(None, "First pose.", metavar="NAME:FRAME")
    end: str | Any = setting(None, "Last pose.", metavar="NAME:FRAME")
    path: str | Any = setting(
        None, "Walk along a path: a CSV file with x and z in meters per row.", metavar="FILE"
    )
    goal: str | Any = setting(
        None, "Position, and heading if given, in the last frame.", metavar="X,Z[,DEGREES]"
    )
    labels: tuple[str, ...] | Any = setting(
        None,
        "Perform motions with this label for this time: walk:4,jog:3; may be repeated.",
        metavar="LABEL[:SECONDS],...",
        option="--timeline",
    )
    lock_feet: bool = setting(True, "Hold feet that are in contact in place.", command=False)

    def check(self) -> None:
        """Check that the duration is positive and that texts can be read."""
        if self.seconds is not None and not 0.0 < self.seconds < float("inf"):
            raise InvalidInput(f"seconds must be positive; got {self.seconds:g}")
        self.floor_path()
        self.goal_values()
        self.timeline()

    def floor_path(self) -> Any:
        """The path as rows of x and z, read from its file if `path` names one."""
        return _path_file(self.path) if isinstance(self.path, str | Path) else self.path

    def goal_values(self) -> Any:
        """The goal as numbers x, z and, if given, heading in radians."""
        return _goal_text(self.goal) if isinstance(self.goal, str) else self.goal

    def timeline(self) -> Any:
        """The labels as pairs of label and seconds."""
        if self.labels is None:
            return None
        labels = [self.labels] if isinstance(self.labels, str) else list(self.labels)
        labels = [part for one in labels for part in _timeline_parts(one)]
        alone = self.seconds if len(labels) == 1 else None
        return [_label_text(one, alone) if isinstance(one, str) else one for one in labels]

    @property
    def random(self) -> bool:
        """Whether the walk has no goal: transitions are drawn at random."""
        return all(one is None for one in (self.end, self.path, self.goal, self.labels))


def _path_file(file: str | Path) -> list[tuple[float, float]]:
    """Rows of x and z of a CSV file; a header line and further columns are ignored."""
    rows: list[tuple[float, float]] = []
    if not Path(file).is_file():
        raise InvalidInput(
            f"{file}: no such file; a path is a CSV file with x and z in meters per row"
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
    """The goal that ``X,Z`` or ``X,Z,DEGREES`` describes, heading in radians."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in (2, 3):
        raise InvalidInput(f"goal must be X,Z or X,Z,DEGREES; got {text}")
    return (values[0], values[1], *(radians(value) for value in values[2:]))


def _timeline_parts(given: Any) -> list[Any]:
    """The parts of ``walk:4,jog:3``; anything else alone, as labels may hold commas."""
    parts = given.split(",") if isinstance(given, str) else []
    timed = len(parts) > 1 and all(re.fullmatch(r"\s*[^:]+:[\d.]+s?\s*", part) for part in parts)
    return [part.strip() for part in parts] if timed else [given]


def _label_text(text: str, seconds: float | None) -> tuple[str, float]:
    """Label and duration of ``LABEL:SECONDS``, or of ``LABEL`` for the whole walk."""
    name, colon, length = text.rpartition(":")
    if not colon and seconds is not None:
        return text, seconds
    try:
        return name, float(length.removesuffix("s") if colon else "")
    except ValueError:
        raise InvalidInput(f"a timeline must be LABEL:SECONDS,...; got {text}") from None
