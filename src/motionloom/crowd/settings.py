"""Settings for crowds: characters, floor and music.

Settings are checked when they are created, so that a room that is too small for its couples, a
street that folds on itself or missing music is reported before any motion is generated. Settings
can be read from a crowd description, a TOML or JSON file written by hand (`load_crowd_settings`).

The command line imports this module at every start, so it avoids slow imports.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from motionloom.dance.settings import MAX_SEAM, TUNE
from motionloom.errors import InvalidInput
from motionloom.files import parse_json, parse_toml, read_regular_text
from motionloom.settings import LABEL, MotionChoice, Names, Settings, described, preset, setting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from motionloom.crowd.floor_plan import Street
    from motionloom.dance.music import Music

    Array = NDArray[np.float64]

OPEN = "open"  # value of `room` that means a floor without walls
SWAY = 0.15  # maximum shift of the center of a couple by locked feet, in meters
BODY_WIDTH = 0.5  # meters, shoulder to shoulder
SPEED, CADENCE = 0.9, 96.0  # speed of a march in m/s at this tempo in beats per minute
RADIUS = 0.5  # radius of a couple of the built-in waltz, in meters
PACE = (0.3, 1.5)  # speed of the slowest and fastest built-in marches, in m/s
# Control points of the default street, with a left and a right corner.
STREET = ((0, 0), (0, 8), (0, 16), (0, 24), (8, 24), (16, 24), (24, 24), (24, 32), (24, 40),
          (24, 48))  # fmt: skip
DEFAULT_TEMPO = 90.0  # beats per minute
_BELOW_PACE = 0.24  # m/s: a drift can make files slower than the slowest take by this amount
_SHORTEST, _LONGEST = 0.2, 36_000.0  # seconds


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _row(name: str, value: Any, parts: str, count: int) -> tuple[float, ...]:
    """Check that `value` has `count` finite numbers; `parts` describes them."""
    if not _is_list(value) or len(value) != count:
        raise InvalidInput(f"{name} must be {parts}; got {value!r}")
    for number in value:
        if (
            isinstance(number, bool)
            or not isinstance(number, int | float)
            or not abs(number) <= 1e6
        ):
            raise InvalidInput(
                f"{name} must be {parts}, each a number from -1e6 to 1e6; got {number!r}"
            )
    return tuple(value)


def _rows(name: str, value: Any, parts: str, count: int) -> list[tuple[float, ...]]:
    """Check that `value` is a list of rows of `count` finite numbers."""
    if not _is_list(value):
        raise InvalidInput(f"{name} must be a list of {parts}; got {value!r}")
    return [_row(f"{name}[{k}]", row, parts, count) for k, row in enumerate(value)]


@dataclass(frozen=True, kw_only=True)
class CrowdMovements(Settings):
    """Settings for the movements of a crowd: their source and their transitions."""

    library: str | None = setting(
        None, "Path of the library that contains the takes.", command=False
    )
    takes: tuple[str, ...] = setting(
        (),
        "Names of takes in the library or, without a library, motion files.",
        metavar="NAME,...",
        commas=True,
    )
    label: Names = setting(None, LABEL)
    meter: int | None = setting(
        None, "Number of beats per movement. [estimated from the takes]", least=1, greatest=32
    )
    graph: Literal["learned", "built-in"] = setting(
        "learned",
        "Transition graph: learned from the movements, as in the paper (learned), or built by "
        "fixed rules (built-in).",
    )
    groups: int | None = setting(
        None,
        "Number of nodes of a learned graph. [ballroom: 5 or more, march: 2]",
        least=1,
        greatest=1000,
    )
    transition_phase: float | None = setting(
        None,
        "Time from a beat to the start of a movement, in beats. With 0, movements start on the "
        "beat, as in the paper. [where transitions are smoothest]",
        least=0.0,
        greatest=0.95,
    )
    max_seam: float | None = setting(
        MAX_SEAM,
        "Drop transitions in which joints accelerate more than this multiple of the usual maximum "
        "in the takes. Also drop transitions that move a standing foot or make the body jump.",
        above=0.0,
    )

    align: Literal["landings", "beats"] = setting(
        "landings",
        "Events in the takes that are aligned with the beats of the music: foot landings "
        "(landings), or motion beats, as in the paper (beats).",
        expert=True,
    )

    def __post_init__(self) -> None:
        for name in ("takes", "label"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        super().__post_init__()

    def check(self) -> None:
        """Check the library path and the lists of takes and labels."""
        if self.library == "":
            raise InvalidInput("library must be the path of a library; got an empty string")
        for name in ("takes", "label"):
            given = getattr(self, name) or ()
            if not _is_list(given) or not all(isinstance(each, str) and each for each in given):
                raise InvalidInput(f"{name} must be a list of names; got {given!r}")

    def __bool__(self) -> bool:
        """Return whether the movements come from the user's takes, not the built-in ones."""
        return bool(self.library or self.takes)


@dataclass(frozen=True, kw_only=True)
class CrowdSettings(Settings):
    """Settings shared by all crowds."""

    STEADY_TEMPO: ClassVar[float] = DEFAULT_TEMPO  # usual tempo, in beats per minute

    music: str | None = setting(
        None, f"MIDI or audio file, or {TUNE} for a generated tune.", metavar="FILE"
    )
    tempo_bpm: float | None = setting(
        None,
        f"Tempo in beats per minute, without a music file or for a generated {TUNE}.",
        least=40.0,
        greatest=240.0,
        option="--tempo",
        metavar="BPM",
    )
    seconds: float | None = setting(
        None,
        "Duration of the motion. [duration of the music]",
        unit="s",
        least=_SHORTEST,
        greatest=_LONGEST,
    )
    seed: int = setting(0, "Random seed.", least=0)
    fps: float = setting(30.0, "Frames per second.", least=10.0, greatest=240.0)
    movements: CrowdMovements = setting(
        CrowdMovements(), "Where the movements come from, and which may follow each other."
    )

    def check(self) -> None:
        """Check the music and the takes."""
        if self.music is not None:
            self._check_music()
        if self.movements.label and self.movements.library is None:
            raise InvalidInput(
                "label selects takes in a library, but no library is set; also set library"
            )

    def _check_music(self) -> None:
        from motionloom.dance.music import AUDIO_SUFFIXES, MIDI_SUFFIXES

        if self.music == TUNE:
            return
        if not self.music:
            raise InvalidInput("music must be the name of a file; got an empty string")
        if self.tempo_bpm is not None:
            raise InvalidInput(
                f"tempo_bpm cannot be set for {self.music}, because a music file has a tempo; "
                "set either music or tempo_bpm"
            )
        suffixes = (*MIDI_SUFFIXES, *AUDIO_SUFFIXES)
        if Path(self.music).suffix.lower() not in suffixes:
            raise InvalidInput(
                f"{self.music}: the file extension of music must be one of {', '.join(suffixes)}"
            )
        if not Path(self.music).is_file():
            raise InvalidInput(f"{self.music}: the music file does not exist")

    @property
    def tempo(self) -> float:
        """Beats per minute of a generated tune or a steady beat."""
        return float(self.tempo_bpm or self.STEADY_TEMPO)

    @property
    def has_takes(self) -> bool:
        """True if the movements come from the user's takes rather than the built-in ones."""
        return bool(self.movements)

    def loaded_music(self, meter: int, default_seconds: float = 30.0) -> Music:
        """Return the music: from the file, a generated tune, or a steady beat."""
        import numpy as np

        from motionloom.dance.music import AUDIO_SUFFIXES, Music, tune

        tempo = self.tempo
        seconds = self.seconds or default_seconds
        if self.music == TUNE:
            made = tune(meter=meter, tempo_bpm=tempo, seed=self.seed, seconds=seconds)
            return replace(made, name=TUNE)
        if self.music is not None:
            # A score defines its beats per bar; audio does not.
            audio = Path(self.music).suffix.lower() in AUDIO_SUFFIXES
            changed = Path(self.music).stat().st_mtime
            music = _read_music(self.music, changed, meter if audio else None)
            if len(music.beats) < 2:
                raise InvalidInput(
                    f"{self.music}: music must have at least two beats; detected {len(music.beats)}"
                )
            return music
        beats = np.arange(0.0, seconds + 60.0 / tempo, 60.0 / tempo)
        return Music(beats, meter, np.arange(0, len(beats), meter), seconds, name="steady beat")


@dataclass(frozen=True, kw_only=True)
class Ballfloor(Settings):
    """Settings for a room with columns and for the couples that dance in it."""

    room: tuple[float, float] | None = setting(
        (14.0, 10.0), "Width (x) and depth (z) of the room; None means no walls.", unit="m",
        command=False,
    )  # fmt: skip
    columns: tuple[tuple[float, float, float], ...] = setting(
        (), "Position x, z and radius of each column in the room.", unit="m", command=False
    )
    radius: float | None = setting(
        None, f"Radius of the disc that a couple needs. [{RADIUS:g}, or measured in the takes]",
        unit="m",
        least=0.3, greatest=3.0,
    )  # fmt: skip
    speed: float = setting(
        0.3, "Speed of the couples around the room.", unit="m/s", least=0.0, greatest=0.6
    )
    facing: float | None = setting(
        None,
        "Direction that leaders face, measured to the left from the direction of travel; 180 is "
        "backward. [decided by the movements]",
        unit="degrees", least=-180.0, greatest=180.0,
    )  # fmt: skip

    def check(self) -> None:
        """Check the room and its columns."""
        if self.room is not None:
            width, depth = _row("room", self.room, "width and depth in meters", 2)
            if min(width, depth) <= 0.0 or max(width, depth) > 1000.0:
                raise InvalidInput(
                    f"room must be a positive width and depth up to 1000 m; got {list(self.room)}"
                )
        for x, z, size in _rows("columns", self.columns, "x, z and radius", 3):
            if size <= 0.0:
                raise InvalidInput(
                    f"the radius of a column must be positive; got x, z, radius = {[x, z, size]}"
                )
            if self.room is not None and (
                abs(x) - size >= 0.5 * width or abs(z) - size >= 0.5 * depth
            ):
                raise InvalidInput(
                    f"the column at x = {x:g}, z = {z:g} is outside the room; x must be within "
                    f"{0.5 * width:g} m and z within {0.5 * depth:g} m of the center"
                )

    @property
    def disc_radius(self) -> float:
        """Radius of the disc that a couple occupies, in meters."""
        return RADIUS if self.radius is None else self.radius


@dataclass(frozen=True, kw_only=True)
class BallroomSettings(CrowdSettings):
    """Settings for couples in a room; see `motionloom.Library.ballroom`.

    The origin is the center of the room. Each couple occupies a disc around its center.

    Examples
    --------
    >>> BallroomSettings(couples=20, tempo_bpm=90.0).starts().shape
    (20, 2)
    """

    couples: int = setting(20, "Number of couples.", least=1, greatest=10_000)
    floor: Ballfloor = setting(Ballfloor(), "The room, its columns, and how couples move in it.")

    @preset
    def kp03(cls: Any) -> BallroomSettings:
        """Settings of Kim, Park and Shin (2003)."""
        return cls(
            movements=CrowdMovements(groups=5, transition_phase=0.0, max_seam=None, align="beats"),
            floor=Ballfloor(facing=0.0),
        )

    def check(self) -> None:
        """Check that the couples fit into the room."""
        super().check()
        places = len(self._places)
        if places < self.couples:
            raise InvalidInput(
                f"{self.couples} couples of radius {self.floor.disc_radius:g} m do not fit into "
                f"the room, which has space for {places}. Use fewer couples or a larger room"
            )

    @cached_property
    def _places(self) -> Array:
        from motionloom.crowd.floor_plan import couple_places

        return couple_places(
            self.floor.room, self.floor.columns, self.floor.disc_radius + SWAY, self.couples
        )

    def starts(self) -> Array:
        """Return the start positions (A, 2) of the couples."""
        import numpy as np

        rng = np.random.default_rng([self.seed, 1])
        return self._places[rng.permutation(len(self._places))[: self.couples]]


@dataclass(frozen=True, kw_only=True)
class Formation(Settings):
    """Settings for a formation of soldiers in ranks and files."""

    ranks: int = setting(
        10, "Number of ranks: soldiers one behind the other.", least=1, greatest=10_000
    )
    files: int = setting(4, "Number of soldiers side by side (files).", least=1, greatest=10_000)
    spacing: float = setting(
        1.2, "Distance between neighboring soldiers.", unit="m", least=0.5, greatest=10.0
    )
    speed: float | None = setting(
        None, f"Speed along the street. [measured from the takes; built-in march: {SPEED:g}]",
        unit="m/s", least=0.1, greatest=4.0,
    )  # fmt: skip

    @property
    def pace(self) -> float:
        """Speed along the street, in m/s."""
        return SPEED if self.speed is None else self.speed

    @property
    def depth(self) -> float:
        """Distance from the first rank to the last, in meters."""
        return (self.ranks - 1) * self.spacing

    @property
    def offsets(self) -> Array:
        """Offset (files,) of each file from the middle of the street, in m; left is positive."""
        import numpy as np

        return np.asarray(
            self.spacing * (np.arange(self.files) - 0.5 * (self.files - 1)), np.float64
        )


@dataclass(frozen=True, kw_only=True)
class MarchSettings(CrowdSettings):
    """Settings for soldiers in formation on a street; see `motionloom.Library.march`.

    Examples
    --------
    >>> corner = ((0, 0), (0, 12), (0, 24), (12, 24), (24, 24))
    >>> MarchSettings(points=corner, tempo_bpm=96.0).street.length > 35.0
    True
    """

    STEADY_TEMPO: ClassVar[float] = CADENCE

    points: tuple[tuple[float, float], ...] = setting(
        STREET,
        "Control points (x, z) of the cubic B-spline that is the middle of the street.",
        unit="m",
        command=False,
    )
    formation: Formation = setting(Formation(), "Number of soldiers, their spacing and speed.")

    @preset
    def kp03(cls: Any) -> MarchSettings:
        """Settings of Kim, Park and Shin (2003)."""
        return cls(
            movements=CrowdMovements(groups=2, transition_phase=0.0, max_seam=None),
        )

    def check(self) -> None:
        """Check the street and the formation."""
        super().check()
        _rows("points", self.points, "x and z", 2)
        self.street.check_files(self.formation.offsets)
        if self.seconds_on_street < _SHORTEST:
            raise InvalidInput(
                f"the street is too short: it is {self.street.length:.1f} m long, and the "
                f"formation is {self.formation.depth:.1f} m long. Use a longer street or fewer "
                "ranks"
            )
        if not self.has_takes and self.music in (None, TUNE):
            tempo = self.tempo / CADENCE
            self.check_pace(tempo * PACE[0], tempo * PACE[1])

    def check_pace(self, slowest: float, fastest: float, *, spare: float = 0.0) -> None:
        """Raise if a file must march slower than the takes, or faster by more than `spare` m/s."""
        slow, fast = (
            self.formation.pace * scale for scale in self.street.speed_range(self.formation.offsets)
        )
        if fast > fastest + spare + 1e-9 or slow < slowest - _BELOW_PACE - 1e-9:
            where = "on the straight street" if fast - slow < 1e-6 else "in the sharpest corner"
            raise InvalidInput(
                f"{where}, soldiers would have to march at {slow:.2f} to {fast:.2f} m/s, but the "
                f"takes only allow {slowest:.2f} to {fastest:.2f} m/s at this tempo. Use another "
                "speed, rounder corners or fewer files"
            )

    @cached_property
    def street(self) -> Street:
        """Middle line of the street through its control points."""
        from motionloom.crowd.floor_plan import Street

        return Street.through(self.points)

    @property
    def seconds_on_street(self) -> float:
        """Seconds until the first rank reaches the end of the street."""
        way = self.street.length - self.formation.depth
        return float(way / self.formation.pace)


@dataclass(frozen=True, kw_only=True)
class DanceFloorSettings(MotionChoice):
    """Settings for characters that dance side by side; see `motionloom.Library.dance_floor`."""

    count: int = setting(12, "Number of characters.", least=1)
    seconds: float = setting(60.0, "Duration of the dance.", unit="s")
    seed: int = setting(0, "Random seed.", least=0)
    method: Literal["auto", "choreography", "graph"] = setting(
        "auto",
        "How dances are generated: from a choreography of rhythmic takes (choreography), from a "
        "motion graph (graph), or from a choreography if any take is rhythmic (auto).",
    )
    floor: tuple[float, float] | None = setting(
        None, "Width and depth of the floor. [as large as needed]", unit="m", command=False
    )
    width: float = setting(
        BODY_WIDTH, "Minimum distance between two characters.", unit="m", above=0.0
    )

    def check(self) -> None:
        """Check the size of the floor."""
        if self.floor is not None and not all(math.isfinite(s) and s > 0.0 for s in self.floor):
            raise InvalidInput(
                f"floor must be a positive width and depth in meters; got {self.floor}"
            )
        if not math.isfinite(self.width):
            raise InvalidInput(f"width must be a finite distance in meters; got {self.width}")


CROWDS: dict[str, type[BallroomSettings] | type[MarchSettings]] = {
    "ballroom": BallroomSettings,
    "march": MarchSettings,
}


def load_crowd_settings(path: str | Path) -> BallroomSettings | MarchSettings:
    """Read a crowd description; its ``kind`` must be "ballroom" or "march".

    Raises
    ------
    InvalidInput
        If the file cannot be read, has unknown keys or has invalid values.

    Examples
    --------
    >>> import tempfile
    >>> from motionloom.crowd import load_crowd_settings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "ball.json"
    ...     _ = file.write_text('{"kind": "ballroom", "couples": 6, "tempo_bpm": 90}')
    ...     load_crowd_settings(file).couples
    6
    """
    given = file_values(path)
    kind = given.pop("kind", None)
    if not isinstance(kind, str) or kind not in CROWDS:
        raise InvalidInput(f"{path}: kind must be one of {', '.join(CROWDS)}; got {kind!r}")
    return settings_from(kind, given, path)


def file_values(path: str | Path) -> dict[str, Any]:
    """Return the unchecked values of a crowd description, with its relative file names resolved."""
    path = Path(path)
    if path.suffix.lower() not in (".toml", ".json"):
        raise InvalidInput(f"{path}: a crowd description must be a .toml or .json file")
    try:
        text = read_regular_text(path, encoding="utf-8-sig")
        given: Any = parse_toml(text) if path.suffix.lower() == ".toml" else parse_json(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidInput(f"{path}: not a valid crowd description: {reason}") from None
    if not isinstance(given, dict):
        raise InvalidInput(f"{path}: a crowd description must be a table of names and values")
    for name in ("music", "library"):
        file = given.get(name)
        if isinstance(file, str) and file and not (name == "music" and file == TUNE):
            given[name] = str(path.parent / file)
    if isinstance(given.get("takes"), list | str) and "library" not in given:
        takes = [given["takes"]] if isinstance(given["takes"], str) else given["takes"]
        given["takes"] = [
            _relative(path, take) if isinstance(take, str) else take for take in takes
        ]
    return given


def settings_from(
    kind: str, given: Mapping[str, Any], path: str | Path | None = None
) -> BallroomSettings | MarchSettings:
    """Build settings from plain values; errors name `path`."""
    values = {name: _frozen(value) for name, value in given.items()}
    if values.get("room") == OPEN:
        values["room"] = None
    paper = values.pop("preset", None)
    cls = CROWDS[kind]
    prefix = "" if path is None else f"{path}: "
    names = sorted(_flat_names(cls))
    unknown = sorted(set(values) - {*names, *described(cls)})
    if unknown:
        raise InvalidInput(
            f"{prefix}unknown keys for a {kind}: {', '.join(unknown)}. "
            f"Valid keys: {', '.join(names)}"
        )
    try:
        if path is not None and values.get("music") is None and values.get("tempo_bpm") is None:
            raise InvalidInput(
                "the description has no music. Set music to a file name or to "
                f'"{TUNE}", or set tempo_bpm to the beats per minute'
            )
        if path is not None and kind == "march":
            values.setdefault("points", ())
        return cls.of(values) if paper is None else cls.from_preset(paper, **values)
    except InvalidInput as error:
        raise InvalidInput(f"{prefix}{error}") from None


def _flat_names(cls: type[Settings]) -> list[str]:
    """Return the names of the fields of a settings class, with groups replaced by their fields."""
    names: list[str] = []
    for each in fields(cls):
        default = each.default
        names += _flat_names(type(default)) if isinstance(default, Settings) else [each.name]
    return names


@lru_cache(maxsize=4)
def _read_music(path: str, changed: float, meter: int | None) -> Music:
    """Read a music file, or return the cached result if the file has not changed."""
    from motionloom.dance.music import load_music

    return load_music(path, meter=meter)


def _relative(path: Path, take: str) -> str:
    """Resolve the file names in a take (``LEADER+FOLLOWER``) relative to the crowd description."""
    return "+".join(str(path.parent / name) for name in take.split("+"))
