"""Segments: frames ``[start, end)`` of a motion, as in ``kick:30-90`` or ``kick:1s-3s``.

The module also contains small functions for frame numbers and frame rates, shared by motions and
markers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput

SLOWEST, FASTEST = 1.0, 10_000.0  # frame rates of captured motion
_RANGE = re.compile(r"^(.*):(\d+(?:\.\d+)?s?)-(\d+(?:\.\d+)?s?)$")

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion


@dataclass(frozen=True)
class Segment:
    """Frames ``[start_frame, end_frame)`` of a motion.

    Attributes
    ----------
    motion : str
        Name of the motion in its library, or its file name.
    start_frame, end_frame : int
        Frame numbers in the stored motion.
    fps : float, optional
        Frame rate of the motion; needed for times in seconds.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> part = Segment.parse("walk:1s-45", walk)
    >>> part, str(part), part.start, part.end
    (Segment(motion='walk', start_frame=30, end_frame=45, fps=30.0), 'walk:30-45', 1.0, 1.5)
    >>> len(part), len(part.cut(walk))
    (15, 15)
    """

    motion: str
    start_frame: int
    end_frame: int
    fps: float | None = None

    @classmethod
    def parse(cls, text: str, motion: Motion) -> Segment:
        """Parse a segment written as ``NAME:START-END`` or ``NAME``.

        Parameters
        ----------
        text : str
            START and END are frames (``86_01:1480-1610``), or seconds with an ``s``
            (``86_01:12.5s-14s``).
        motion : Motion
            The motion called NAME; `split_segment` returns the name.

        Raises
        ------
        InvalidInput
            If the frames are not whole numbers or lie outside the motion.
        """
        name, written = split_segment(text)
        if written is None:
            return cls(name, 0, len(motion), motion.fps)
        start, end = (_frame(text, each, motion.fps) for each in written)
        if not 0 <= start < end <= len(motion):
            order = "; the start must come before the end" if start >= end else ""
            raise InvalidInput(
                f"{text}: the range must lie within the motion's {len(motion)} frames "
                f"({motion.duration:.2f} s); got {start} to {end}{order}"
            )
        return cls(name, start, end, motion.fps)

    def __len__(self) -> int:
        return self.end_frame - self.start_frame

    def __str__(self) -> str:
        return f"{self.motion}:{self.start_frame}-{self.end_frame}"

    @property
    def start(self) -> float:
        """Start time in seconds."""
        return self.start_frame / self._rate()

    @property
    def end(self) -> float:
        """End time in seconds."""
        return self.end_frame / self._rate()

    def cut(self, motion: Motion) -> Motion:
        """Cut this segment out of the whole motion."""
        return motion[self.start_frame : self.end_frame]

    def _rate(self) -> float:
        if self.fps is None:
            raise InvalidInput(
                f"{self}: times in seconds need a frame rate, but the segment has no fps"
            )
        return self.fps


def split_segment(text: str) -> tuple[str, tuple[str, str] | None]:
    """Split a segment into its name and its start and end, or None if there is only a name.

    Examples
    --------
    >>> split_segment("86_01:12.5s-14s")
    ('86_01', ('12.5s', '14s'))
    >>> split_segment("86_01")
    ('86_01', None)
    """
    match = _RANGE.match(text)
    return (text, None) if match is None else (match[1], (match[2], match[3]))


def _frame(text: str, written: str, fps: float) -> int:
    if written.endswith("s"):
        return round(float(written[:-1]) * fps)
    if "." in written:
        raise InvalidInput(
            f"{text}: frames must be whole numbers; for seconds, append an s, as in 1.5s-3s"
        )
    return int(written)


def positive_rate(fps: float) -> float:
    """Return `fps` as a float; raise `InvalidInput` if it is not a positive rate.

    Examples
    --------
    >>> positive_rate(120)
    120.0
    """
    rate = float(fps)
    if not 0.0 < rate < float("inf"):
        raise InvalidInput(f"fps must be positive; got {fps}")
    return rate


def plausible_rate(fps: float) -> float:
    """Return `fps` as a float; raise `InvalidInput` if no motion is captured at this rate.

    Files and libraries state a rate, and motions are resampled from it. A few frames that claim to
    last hours would become millions.

    Examples
    --------
    >>> plausible_rate(120)
    120.0
    """
    rate = positive_rate(fps)
    if not SLOWEST <= rate <= FASTEST:
        raise InvalidInput(f"fps must be from {SLOWEST:g} to {FASTEST:g}; got {rate:g}")
    return rate


def frame_slice(key: Any, frames: int, whole: str) -> slice:
    """Convert a slice or frame number to a slice over `frames` frames with a positive step.

    Parameters
    ----------
    key : int or slice
    frames : int
        Total number of frames.
    whole : str
        Name of the sliced object for error messages, such as ``"motion"``.

    Examples
    --------
    >>> frame_slice(-1, 30, "motion"), frame_slice(slice(None, 10), 30, "motion")
    (slice(29, 30, 1), slice(0, 10, 1))
    """
    if isinstance(key, (int, np.integer)):
        index = int(key)
        if not -frames <= index < frames:
            raise IndexError(f"frame {index} is out of range: this {whole} has {frames} frames")
        index %= frames
        return slice(index, index + 1, 1)
    if not isinstance(key, slice):
        raise InvalidInput(f"a {whole} must be indexed with a frame number or a slice; got {key!r}")
    start, stop, step = key.indices(frames)
    if step < 0:
        raise InvalidInput(f"a {whole} cannot be sliced backwards; the step must be positive")
    return slice(start, stop, step)


def intervals(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the half-open ranges in which a mask (T,) is True.

    Examples
    --------
    >>> intervals(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    padded = np.zeros(len(mask) + 2, bool)
    padded[1:-1] = mask
    edges = np.flatnonzero(padded[1:] != padded[:-1]).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))
