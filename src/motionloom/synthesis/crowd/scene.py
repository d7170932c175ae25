"""Scenes: who moves where to which music, in a small TOML or JSON file.

A scene is checked as it is made, before any work: a room in which the couples do not fit, a
street that folds on itself or no music are errors here.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.synthesis.crowd.street import Street
from motionloom.synthesis.rhythm.music import Music, load_music

Array = NDArray[np.float64]

_SPACE = 1.06  # of touching, how far apart couples stand at first
SWAY = 0.15  # metres by which held feet may shift the middle of a couple
_STRIDE = (0.3, 1.5)  # m/s between which soldiers march


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What all scenes have.

    Attributes
    ----------
    music : str, optional
        A MIDI or sound file; or else
    tempo_bpm : float, optional
        beats a minute, and no file.
    seconds : float, optional
        How long. Default: as the music is; without, 30.
    seed : int
    """

    music: str | None = None
    tempo_bpm: float | None = None
    seconds: float | None = None
    seed: int = 0

    def _check_music(self) -> None:
        if self.music is None and self.tempo_bpm is None:
            raise InvalidInput(
                "the scene has no music; give a file (music) or beats a minute (tempo_bpm)"
            )
        if self.tempo_bpm is not None and not 40.0 <= self.tempo_bpm <= 240.0:
            raise InvalidInput(f"tempo_bpm must lie in 40 to 240; got {self.tempo_bpm:g}")
        if self.seconds is not None and not 0.0 < self.seconds <= 36000.0:
            raise InvalidInput(f"seconds must be positive, at most ten hours; got {self.seconds:g}")

    def heard(self, meter: int, default_seconds: float = 30.0) -> Music:
        """The music: the file's, or a steady beat."""
        if self.music is not None:
            return load_music(self.music)
        seconds = self.seconds or default_seconds
        beats = np.arange(0.0, seconds + 60.0 / self._tempo, 60.0 / self._tempo)
        return Music(beats, meter, np.arange(0, len(beats), meter), seconds, name="steady beat")

    @property
    def _tempo(self) -> float:
        return float(self.tempo_bpm or 90.0)


@dataclass(frozen=True, kw_only=True)
class BallroomScene(Scene):
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
    >>> BallroomScene(couples=20, tempo_bpm=90.0).starts().shape
    (20, 2)
    """

    room: tuple[float, float] | None = (14.0, 10.0)
    columns: tuple[tuple[float, float, float], ...] = ()
    couples: int = 20
    radius: float = 0.5
    speed: float = 0.3

    def __post_init__(self) -> None:
        self._check_music()
        if self.couples < 1:
            raise InvalidInput(f"couples must be at least 1; got {self.couples}")
        if not 0.3 <= self.radius <= 3.0:
            raise InvalidInput(f"radius must lie in 0.3 to 3 m; got {self.radius:g}")
        if not 0.0 <= self.speed <= 0.6:
            raise InvalidInput(f"speed must lie in 0 to 0.6 m/s; got {self.speed:g}")
        if self.room is not None and (len(self.room) != 2 or min(self.room) <= 0.0):
            raise InvalidInput(f"room must be width and depth in metres; got {self.room}")
        for column in self.columns:
            if len(column) != 3 or column[2] <= 0.0:
                raise InvalidInput(f"a column is x, z and a radius above 0; got {column}")
        places = len(self._lattice)
        if places < self.couples:
            raise InvalidInput(
                f"{self.couples} couples of radius {self.radius:g} m do not fit into the room; "
                f"there are places for {places}. Take fewer, or a bigger room"
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
class MarchScene(Scene):
    """Soldiers on a street.

    Attributes
    ----------
    points : sequence of (x, z)
        Control points of the cubic B-spline in the middle of the street.
    ranks, files : int
        Soldiers one behind the other, and side by side.
    spacing : float
        Metres between them.
    speed : float
        m/s in the middle.

    Examples
    --------
    >>> corner = ((0, 0), (0, 12), (0, 24), (12, 24), (24, 24))
    >>> MarchScene(points=corner, ranks=10, files=4, tempo_bpm=96.0).street.length > 35.0
    True
    """

    points: tuple[tuple[float, float], ...] = ()
    ranks: int = 10
    files: int = 4
    spacing: float = 1.2
    speed: float = 0.9

    def __post_init__(self) -> None:
        self._check_music()
        if self.ranks < 1 or self.files < 1:
            raise InvalidInput(
                f"ranks and files must be at least 1; got {self.ranks} and {self.files}"
            )
        if not 0.5 <= self.spacing <= 10.0:
            raise InvalidInput(f"spacing must lie in 0.5 to 10 m; got {self.spacing:g}")
        if not _STRIDE[0] <= self.speed <= _STRIDE[1]:
            raise InvalidInput(
                f"speed must lie in {_STRIDE[0]:g} to {_STRIDE[1]:g} m/s; got {self.speed:g}"
            )
        self.street.check_files(self.offsets)
        slow, fast = self.street.stretch(self.offsets)
        if self.speed * fast > _STRIDE[1] or self.speed * slow < 0.2 * _STRIDE[0]:
            raise InvalidInput(
                f"in the sharpest corner files would march at {self.speed * slow:.2f} to "
                f"{self.speed * fast:.2f} m/s; soldiers march at {_STRIDE[1]:g} at most. "
                "Round the corner, or take fewer files or less speed"
            )
        if self.seconds_on_street <= 0.0:
            raise InvalidInput(
                f"the street is {self.street.length:.1f} m long, the formation "
                f"{(self.ranks - 1) * self.spacing:.1f} m: no way is left to march"
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


def load_scene(path: str | Path) -> BallroomScene | MarchScene:
    """Read a scene; ``kind`` in the file says which: "ballroom" or "march".

    Raises
    ------
    InvalidInput
        If the file cannot be read, names something unknown, or is impossible.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        given: Any = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path}: cannot be read as a scene: {error}") from None
    kinds: dict[str, type[BallroomScene] | type[MarchScene]] = {
        "ballroom": BallroomScene,
        "march": MarchScene,
    }
    kind = given.pop("kind", None) if isinstance(given, dict) else None
    if kind not in kinds:
        raise InvalidInput(f"{path}: kind must be one of {', '.join(kinds)}; got {kind!r}")
    made = kinds[kind]
    known = {field.name for field in fields(made)}
    strange = sorted(set(given) - known)
    if strange:
        raise InvalidInput(
            f"{path}: a {kind} has no {', '.join(strange)}; it has {', '.join(sorted(known))}"
        )
    if "music" in given and not Path(given["music"]).is_absolute():
        given["music"] = str(path.parent / given["music"])
    try:
        return made(**{name: _frozen(value) for name, value in given.items()})
    except (InvalidInput, TypeError) as error:
        raise InvalidInput(f"{path}: {error}") from None


def _frozen(value: Any) -> Any:
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value
