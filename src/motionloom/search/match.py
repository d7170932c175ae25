"""Matches, the results of every search, and the timeline that defines their frames and seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment import corresponding
from motionloom.features import LibraryFeatures
from motionloom.features.feature_table import frames_per_row, row_count
from motionloom.files import file_stem
from motionloom.ragged import offsets_of, row_of
from motionloom.search.candidates import Candidate
from motionloom.search.query import Query, row_span
from motionloom.store.records import Entry


@dataclass(frozen=True, eq=False)
class Match:
    """A segment of a motion that is similar to the query.

    Attributes
    ----------
    motion : str
        Name of the motion in the library.
    start_frame, end_frame : int
        Half-open range of frames in the stored motion.
    start, end : float
        The same range in seconds.
    distance : float
        Mean distance per cell of the alignment, in meters. Some clip measures use degrees.
    tier : int
        Round of query expansion: 1 for direct matches of the query, 2 for matches of a match from
        the first round, and so on.
    alignment : ndarray of int, shape (L, 2)
        Pairs of a query frame, counted from the start of the query, and a frame of the motion.
    label : str or None
        Labels of the motion, if it has any.
    mirrored : bool
        True if the segment resembles the mirrored query, such as a left kick for a right-kick
        query.

    Examples
    --------
    >>> hit = lib.search("walk:0-40")[0]
    >>> hit.motion in lib, hit.end_frame > hit.start_frame
    (True, True)
    """

    motion: str
    start_frame: int
    end_frame: int
    start: float
    end: float
    distance: float
    tier: int = 1
    alignment: NDArray[np.int64] = field(
        default_factory=lambda: np.empty((0, 2), np.int64), repr=False
    )
    label: str | None = None
    mirrored: bool = False

    @property
    def text(self) -> str:
        """Query string for the match, ``NAME:START-END``."""
        return f"{self.motion}:{self.start_frame}-{self.end_frame}"

    def file_name(self, rank: int) -> str:
        """Return a file name for this match, without a suffix and valid on every system.

        >>> Match("kicks/86 01", 10, 40, 0.33, 1.33, 0.02).file_name(3)
        '003_kicks_86_01_10-40'
        """
        return clip_name(rank, self.motion, self.start_frame, self.end_frame)

    def corresponding_frames(self, length: int) -> NDArray[np.float64]:
        """Return the frame of the match that corresponds to each of the `length` query frames.

        Without an alignment, frames are spread evenly.

        >>> Match("walk", 10, 40, 0.33, 1.33, 0.02).corresponding_frames(3)
        array([10. , 24.5, 39. ])
        """
        if len(self.alignment):
            return corresponding(self.alignment, np.arange(length))
        return np.linspace(self.start_frame, self.end_frame - 1, length)

    def as_dict(self) -> dict[str, Any]:
        """Return the match as a plain dictionary, without the alignment."""
        return {
            "motion": self.motion,
            "start_frame": self.start_frame,
            "end_frame": self.end_frame,
            "start": round(self.start, 6),
            "end": round(self.end, 6),
            "distance": self.distance,
            "tier": self.tier,
            "label": self.label,
            "mirrored": self.mirrored,
        }


class Matches(Sequence[Match]):
    """Matches by rank, nearest first; `unit` is the unit of their distances.

    Examples
    --------
    >>> matches = Matches([Match("walk", 0, 30, 0.0, 1.0, 0.02)], query="walk:0-30")
    >>> len(matches), matches[0].motion, matches.to_json()[0]["distance"]
    (1, 'walk', 0.02)
    """

    def __init__(self, matches: Sequence[Match], *, query: str = "", unit: str = "m") -> None:
        self._matches = tuple(matches)
        self.query = query
        self.unit = unit

    def __len__(self) -> int:
        return len(self._matches)

    @overload
    def __getitem__(self, index: int) -> Match: ...
    @overload
    def __getitem__(self, index: slice) -> Matches: ...
    def __getitem__(self, index):
        if isinstance(index, slice):
            return Matches(self._matches[index], query=self.query, unit=self.unit)
        return self._matches[index]

    def __iter__(self) -> Iterator[Match]:
        return iter(self._matches)

    def __repr__(self) -> str:
        return f"Matches({len(self)} of {self.query!r})"

    def to_json(self) -> list[dict[str, Any]]:
        """Return the matches as JSON-compatible data, by rank."""
        return [match.as_dict() for match in self._matches]

    def _repr_html_(self) -> str:
        names = ("motion", "start", "end", f"distance ({self.unit})", "tier", "mirrored")
        head = f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"
        rows = "".join(
            f"<tr><td>{escape(match.motion)}</td><td>{match.start:.2f} s</td>"
            f"<td>{match.end:.2f} s</td><td>{match.distance:.4f}</td><td>{match.tier}</td>"
            f"<td>{'yes' if match.mirrored else ''}</td></tr>"
            for match in self._matches
        )
        return f"<table>{head}{rows}</table>"


def clip_name(rank: int, motion: str, start_frame: int, end_frame: int) -> str:
    """Return a file name for a segment, without a suffix; see `Match.file_name`."""
    return f"{rank:03d}_{file_stem(motion)}_{start_frame}-{end_frame}"


@dataclass(frozen=True, eq=False)
class Timeline:
    """Concatenated frames of many motions, resampled to one rate.

    Attributes
    ----------
    names : tuple of str, length M
    starts : ndarray of int64, shape (M + 1,)
        Motion m has frames ``starts[m]`` to ``starts[m + 1]`` of the timeline.
    fps : ndarray, shape (M,)
        Frame rate of each motion as stored.
    frames : ndarray of int64, shape (M,)
        Frames of each motion as stored.
    rate : float
        Frames per second of the timeline.
    """

    names: tuple[str, ...]
    starts: NDArray[np.int64]
    fps: NDArray[np.float64]
    frames: NDArray[np.int64]
    rate: float

    @classmethod
    def of(cls, features: LibraryFeatures) -> Timeline:
        """Return the timeline of a library's features."""
        f = features
        return cls(f.names, f.starts, np.asarray(f.fps), np.asarray(f.frames), f.rate)

    @classmethod
    def at(cls, entries: Sequence[Entry], rate: float) -> Timeline:
        """Return the timeline of a library's motions at `rate`."""
        counts = [row_count(entry, rate) for entry in entries]
        return cls(
            tuple(entry.name for entry in entries),
            offsets_of(counts),
            np.array([entry.fps for entry in entries]),
            np.array([entry.frames for entry in entries], dtype=np.int64),
            float(rate),
        )

    def span(self, name: str, start_frame: int, end_frame: int) -> tuple[int, int]:
        """Convert a frame range of a stored motion to a range on the timeline."""
        m = self.names.index(name)
        first, count = int(self.starts[m]), int(self.starts[m + 1] - self.starts[m])
        start, end = row_span(start_frame, end_frame, float(self.fps[m]), self.rate, count)
        return first + start, first + end

    def match(
        self, candidate: Candidate, query: Query, labels: Callable[[str], tuple[str, ...]]
    ) -> Match:
        """Convert a candidate to a match, in frames and seconds of the stored motion."""
        m = int(row_of(self.starts, candidate.start))
        first = int(self.starts[m])
        count = int(self.starts[m + 1]) - first
        fps, frames, name = float(self.fps[m]), int(self.frames[m]), self.names[m]
        per_row = frames_per_row(fps, self.rate)
        start = min(round((candidate.start - first) * per_row), frames - 1)
        end = frames if candidate.end - first == count else round((candidate.end - first) * per_row)
        end = min(max(end, start + 1), frames)
        length = query.end_frame - query.start_frame
        per_query_row = frames_per_row(query.motion.fps, self.rate)
        alignment = candidate.path - np.array([0, first])
        if not per_row == per_query_row == 1.0:
            steps = np.rint(alignment * [per_query_row, per_row]).astype(np.int64)
            alignment = np.minimum(steps, [length - 1, frames - 1])
        return Match(
            motion=name,
            start_frame=start,
            end_frame=end,
            start=start / fps,
            end=end / fps,
            distance=candidate.distance,
            alignment=alignment,
            label=", ".join(labels(name)) or None,
        )
