"""Marker trajectories: labeled points over time, with gaps, from optical motion capture."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.motion import Origin, TimeSeries
from motionloom.motion.resampling import frames_around
from motionloom.motion.segment import frame_slice, positive_rate


@dataclass(frozen=True, eq=False, repr=False)
class Markers(TimeSeries):
    """Trajectories of M labeled points; immutable.

    Parameters
    ----------
    labels : sequence of str, length M
        Unique labels, prefixed with the subject (``"Anna:LFHD"``) if a take has several subjects.
    positions : array_like, shape (T, M, 3)
        Positions in meters, y up; NaN where a marker was not visible. Stored in double precision,
        so that values read from a file are written back unchanged.
    fps : float
        Frames per second.
    name : str
    first_frame : int
        Frame number of frame 0 in the source file.

    Examples
    --------
    >>> seen = [[[0.0, 1.7, 0.0]], [[np.nan] * 3], [[0.2, 1.7, 0.0]]]
    >>> markers = Markers(["head"], seen, 120.0)
    >>> len(markers), markers.present[:, 0]
    (3, array([ True, False,  True]))
    >>> markers["head"][2]
    array([0.2, 1.7, 0. ])
    """

    labels: tuple[str, ...]
    positions: NDArray[Any]
    fps: float
    name: str = ""
    first_frame: int = 1
    origin: Origin = field(default_factory=Origin)

    def __post_init__(self) -> None:
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        put("labels", tuple(str(label) for label in self.labels))
        positions = np.asarray(self.positions, dtype=np.float64)
        if positions.ndim != 3 or positions.shape[1:] != (len(self.labels), 3):
            raise InvalidInput(
                f"positions must have shape (frames, {len(self.labels)}, 3), one point per "
                f"label; got {positions.shape}"
            )
        positions = positions.view()
        positions.setflags(write=False)
        put("positions", positions)
        if len(set(self.labels)) < len(self.labels):
            twice = next(label for label in self.labels if self.labels.count(label) > 1)
            raise InvalidInput(f"labels must be unique; {twice!r} occurs twice")
        put("fps", positive_rate(self.fps))

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        return self.described(f"{len(self.labels)} markers")

    @property
    def present(self) -> NDArray[np.bool_]:
        """Mask of the markers visible in each frame, shape (T, M)."""
        return ~np.isnan(self.positions).any(axis=-1)

    @overload
    def __getitem__(self, key: str) -> NDArray[np.float64]: ...
    @overload
    def __getitem__(self, key: slice | int | list[str] | tuple[str, ...]) -> Markers: ...
    def __getitem__(self, key):
        """Return one label's trajectory (T, 3), or `Markers` selected by frame, slice or labels.

        The subject may be omitted from a label if the rest is unambiguous.
        """
        if isinstance(key, str):
            return self.positions[:, self._column(key)]
        if isinstance(key, (int, np.integer, slice)):
            part = frame_slice(key, len(self), "take")
            return replace(
                self,
                positions=self.positions[part],
                fps=self.fps / part.step,
                first_frame=self.first_frame + part.start,
            )
        columns = [self._column(label) for label in key]
        return replace(
            self,
            labels=tuple(self.labels[column] for column in columns),
            positions=self.positions[:, columns],
        )

    def resample(self, fps: float) -> Markers:
        """Return the trajectories at another rate, linearly interpolated; gaps are preserved."""
        fps = positive_rate(fps)
        if len(self) == 0 or abs(fps - self.fps) <= 1e-9 * fps:
            return replace(self, fps=fps)
        before, after, share = frames_around(len(self), self.fps, fps)
        share = share[:, None, None]
        positions = self.positions[before] * (1.0 - share) + self.positions[after] * share
        return replace(self, positions=positions, fps=fps)

    def save(
        self,
        path: str | Path,
        *,
        unit: str | float | None = None,
        up: str | None = None,
        decimals: int = 6,
    ) -> Path:
        """Write to a file, in the format given by its extension (see `motionloom.formats.save`)."""
        from motionloom.formats import save

        return save(self, path, unit=unit, up=up, decimals=decimals)

    def _column(self, label: str) -> int:
        if label in self.labels:
            return self.labels.index(label)
        ends = [k for k, full in enumerate(self.labels) if full.rpartition(":")[2] == label]
        if len(ends) == 1:
            return ends[0]
        if ends:
            several = ", ".join(self.labels[k] for k in ends)
            raise InvalidInput(f"label {label!r} is ambiguous; it matches {several}")
        shown = ", ".join(self.labels[:40])
        raise InvalidInput(f"no marker is labeled {label!r}; the labels are: {shown}")
