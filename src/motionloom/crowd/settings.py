"""Scenes: who moves where to which music.

A scene is checked as it is made, before any work: a room in which the couples do not fit, a
street that folds on itself or no music are errors here. `motionloom.crowd.settings_file`
reads scenes from files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.crowd import description_values as values
from motionloom.crowd.street import Street
from motionloom.errors import InvalidInput
from motionloom.rhythm.music.music import AUDIO_SUFFIXES, MIDI_SUFFIXES, Music, load_music
from motionloom.rhythm.music.tunes import TUNE, tune

Array = NDArray[np.float64]

_SPACE = 1.06  # of touching, how far apart couples stand at first
SWAY = 0.15  # metres by which held feet may shift the middle of a couple
_CADENCE = 96.0  # steps a minute of the built-in soldiers
PACE = (0.3, 1.5)  # m/s between which they march
_CREEP = 0.24  # m/s below the slowest take that soldiers still manage, carried by their file
_USUAL_TEMPO = 90.0
_MOST = 10_000  # couples, ranks, files
_SHORTEST, _LONGEST = 0.2, 36_000.0  # seconds


@dataclass(frozen=True, kw_only=True)
class CrowdSettings:
    """What all scenes have.

    Attributes
    ----------
    music : str, optional
        A MIDI or sound file, or ``"tune"``: one made by code; or else
    tempo_bpm : float, optional
        beats a minute, and no file. With ``"tune"``, its tempo.
    seconds : float, optional
        How long. Default: as the music is; without, 30.
    seed : int
    fps : float
        Frames per second of what is made.
    library, takes, within : optional
        Whose movements: names in a library (or files, without one), and labels. Default: the
        built-in takes. Commands and the studio read them; `ballroom` and `march` are given
        the choreography.
    meter : int, optional
        Beats per movement of those takes. Default: estimated.
    """

    music: str | None = None
    tempo_bpm: float | None = None
    seconds: float | None = None
    seed: int = 0
    fps: float = 30.0
    library: str | None = None
    takes: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    meter: int | None = None

    def _check_common(self) -> None:
        if self.tempo_bpm is not None:
            values.number("tempo_bpm", self.tempo_bpm, 40.0, 240.0)
        if self.music is not None:
            self._check_file()
        elif self.tempo_bpm is None:
            raise InvalidInput(
                "the scene has no music; give a file (music), beats a minute (tempo_bpm), or "
                f'music = "{TUNE}"'
            )
        values.number("fps", self.fps, 10.0, 240.0)
        if self.seconds is not None:
            values.number("seconds", self.seconds, _SHORTEST, _LONGEST, "s")
        values.whole("seed", self.seed, 0, 2**63 - 1)
        if self.library is not None and (not isinstance(self.library, str) or not self.library):
            raise InvalidInput(f"library must be the path of one; got {self.library!r}")
        values.words("takes", self.takes)
        values.words("within", self.within)
        if self.within and self.library is None:
            raise InvalidInput("within names labels of a library; name the library, too")
        if self.meter is not None:
            values.whole("meter", self.meter, 1, 32)

    def _check_file(self) -> None:
        if self.music == TUNE:
            return
        if not isinstance(self.music, str) or not self.music:
            raise InvalidInput(f"music must be the name of a file; got {self.music!r}")
        if self.tempo_bpm is not None:
            raise InvalidInput(f"{self.music} has its own tempo: give music or tempo_bpm, not both")
        known = (*MIDI_SUFFIXES, *AUDIO_SUFFIXES)
        if Path(self.music).suffix.lower() not in known:
            raise InvalidInput(f"{self.music}: music is read from {', '.join(known)}")
        if not Path(self.music).is_file():
            raise InvalidInput(f"{self.music}: there is no such music file")

    @property
    def own(self) -> bool:
        """Whether the scene names takes of its own."""
        return bool(self.library or self.takes)

    def heard(self, meter: int, default_seconds: float = 30.0) -> Music:
        """The music: the file's, a made-up tune's, or a steady beat."""
        tempo = float(self.tempo_bpm or _USUAL_TEMPO)
        seconds = self.seconds or default_seconds
        if self.music == TUNE:
            bars = int(np.ceil(seconds * tempo / 60.0 / meter)) + 1
            made = tune(bars=bars, meter=meter, tempo_bpm=tempo, seed=self.seed)
            return replace(made, seconds=seconds, name=TUNE)
        if self.music is not None:
            # A score says how many beats a bar has; of sound nobody knows.
            asked = meter if Path(self.music).suffix.lower() in AUDIO_SUFFIXES else None
            music = _read_music(self.music, Path(self.music).stat().st_mtime, asked)
            if len(music.beats) < 2:
                raise InvalidInput(f"{self.music}: it has no beats to move to")
            return music
        beats = np.arange(0.0, seconds + 60.0 / tempo, 60.0 / tempo)
        return Music(beats, meter, np.arange(0, len(beats), meter), seconds, name="steady beat")


@dataclass(frozen=True, kw_only=True)
class BallroomSettings(CrowdSettings):
    """Couples in a room.

    Attributes
    ----------
    room : pair of float, optional
        Width (x) and depth (z) in metres, the origin in its middle; None: an open field.
    columns : sequence of (x, z, radius)
    couples : int
    radius : float
        Of the disc that a couple fills, around the middle between the partners.
    speed : float
        m/s at which couples go around.

    Examples
    --------
    >>> BallroomSettings(couples=20, tempo_bpm=90.0).starts().shape
    (20, 2)
    """

    room: tuple[float, float] | None = (14.0, 10.0)
    columns: tuple[tuple[float, float, float], ...] = ()
    couples: int = 20
    radius: float = 0.5
    speed: float = 0.3

    def __post_init__(self) -> None:
        self._check_common()
        values.whole("couples", self.couples, 1, _MOST)
        values.number("radius", self.radius, 0.3, 3.0, "m")
        values.number("speed", self.speed, 0.0, 0.6, "m/s")
        self._check_room()
        places = len(self._lattice)
        if places < self.couples:
            raise InvalidInput(
                f"{self.couples} couples of radius {self.radius:g} m do not fit into the room; "
                f"there are places for {places}. Take fewer, or a bigger room"
            )

    def _check_room(self) -> None:
        if self.room is not None:
            room = values.row("room", self.room, "width and depth in metres", 2)
            if min(room) <= 0.0 or max(room) > 1000.0:
                raise InvalidInput(
                    f"room must be width and depth, above 0 and up to 1000 m; got {list(self.room)}"
                )
        for x, z, size in values.rows("columns", self.columns, "x, z and radius", 3):
            if size <= 0.0:
                raise InvalidInput(f"a column is x, z and a radius above 0; got {[x, z, size]}")
            if self.room is not None and np.any(
                np.abs([x, z]) - size >= 0.5 * np.asarray(self.room)
            ):
                wide, deep = self.room
                raise InvalidInput(
                    f"the column at {x:g}, {z:g} stands outside the room, which reaches to "
                    f"{0.5 * wide:g}, {0.5 * deep:g} from its middle"
                )

    @cached_property
    def _lattice(self) -> Array:
        """Places (M, 2) where couples may stand at first."""
        size = self.radius + SWAY
        gap = 2.0 * size * _SPACE
        if self.room is None:
            side = 2.0 * gap * (int(np.ceil(np.sqrt(self.couples))) + 1)
            half, gap = np.array([side, side]), 2.0 * gap
        else:
            half = 0.5 * np.asarray(self.room) - size * _SPACE
        if np.any(half < 0.0):
            return np.empty((0, 2))
        rise = gap * np.sqrt(0.75)
        rows = int(2.0 * half[1] / rise) + 1
        spots = [
            (x, -half[1] + k * rise)
            for k in range(rows)
            for x in np.arange(-half[0] + 0.5 * gap * (k % 2), half[0] + 1e-9, gap)
        ]
        places = np.array(spots).reshape(-1, 2)
        for x, z, thick in self.columns:
            clear = np.hypot(places[:, 0] - x, places[:, 1] - z) >= (size + thick) * _SPACE
            places = places[clear]
        if self.room is None:
            places = places[np.argsort(np.hypot(*places.T))[: 2 * self.couples]]
        return places

    def starts(self) -> Array:
        """Where couples stand at first, (A, 2)."""
        rng = np.random.default_rng([self.seed, 1])
        return self._lattice[rng.permutation(len(self._lattice))[: self.couples]]


@dataclass(frozen=True, kw_only=True)
class MarchSettings(CrowdSettings):
    """Soldiers on a street.

    Attributes
    ----------
    points : sequence of (x, z)
        Control points of the cubic B-spline in the middle of the street; two make it straight.
    ranks, files : int
        Soldiers one behind the other, and side by side.
    spacing : float
        Metres between them.
    speed : float
        m/s in the middle.

    Examples
    --------
    >>> corner = ((0, 0), (0, 12), (0, 24), (12, 24), (24, 24))
    >>> MarchSettings(points=corner, ranks=10, files=4, tempo_bpm=96.0).street.length > 35.0
    True
    """

    points: tuple[tuple[float, float], ...] = ()
    ranks: int = 10
    files: int = 4
    spacing: float = 1.2
    speed: float = 0.9

    def __post_init__(self) -> None:
        self._check_common()
        values.whole("ranks", self.ranks, 1, _MOST)
        values.whole("files", self.files, 1, _MOST)
        values.number("spacing", self.spacing, 0.5, 10.0, "m")
        values.number("speed", self.speed, 0.1, 4.0, "m/s")
        values.rows("points", self.points, "x and z", 2)
        self.street.check_files(self.offsets)
        if self.seconds_on_street < _SHORTEST:
            raise InvalidInput(
                f"the street is {self.street.length:.1f} m long, the formation "
                f"{(self.ranks - 1) * self.spacing:.1f} m: no way is left to march"
            )
        if not self.own and self.music in (None, TUNE):
            tempo = (self.tempo_bpm or _USUAL_TEMPO) / _CADENCE
            self.check_pace(tempo * PACE[0], tempo * PACE[1])

    def check_pace(self, slowest: float, fastest: float, *, spare: float = 0.0) -> None:
        """Refuse files that are slower or, by more than `spare`, faster than soldiers, m/s."""
        slow, fast = (self.speed * stretch for stretch in self.street.stretch(self.offsets))
        if fast > fastest + spare + 1e-9 or slow < slowest - _CREEP - 1e-9:
            where = "on its straight street" if fast - slow < 1e-6 else "in the sharpest corner"
            raise InvalidInput(
                f"{where} files would march at {slow:.2f} to {fast:.2f} m/s; the takes march at "
                f"{slowest:.2f} to {fastest:.2f} at this tempo. Take another speed, rounder "
                "corners or fewer files"
            )

    @cached_property
    def street(self) -> Street:
        """The middle of the street."""
        return Street.through(self.points)

    @property
    def offsets(self) -> Array:
        """How far to the left of the middle each file marches, (files,)."""
        return np.asarray(
            self.spacing * (np.arange(self.files) - 0.5 * (self.files - 1)), np.float64
        )

    @property
    def seconds_on_street(self) -> float:
        """Until the first rank is at the end."""
        way = self.street.length - (self.ranks - 1) * self.spacing
        return float(way / self.speed)


@lru_cache(maxsize=4)
def _read_music(path: str, changed: float, meter: int | None) -> Music:
    """The music of a file; listened to again only if it has `changed`."""
    return load_music(path, meter=meter)
