"""Ranges as people write them behind a name: ``kick:30-90``, or ``kick:1s-3s`` in seconds.

Frames by number and by rate: what motions and markers are cut by, and runs of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput

_RANGE = re.compile(r"^(.*):(\d+(?:\.\d+)?)(s?)-(\d+(?:\.\d+)?)(s?)$")

if TYPE_CHECKING:
    from motionloom.motion.motion import Motion


@dataclass(frozen=True)
class WrittenRange:
    """A range that has not met its motion yet.

    Attributes
    ----------
    text : str
        All that was written, the name in front included.
    start, end : str
        Frames, or seconds with an ``s``.
    """

    text: str
    start: str
    end: str

    def frames(self, motion: Motion) -> tuple[int, int]:
        """First frame, and the one after the last.

        Raises
        ------
        InvalidInput
            If they do not lie within the motion, or are no whole numbers.

        Examples
        --------
        >>> import motionloom as ml
        >>> split_range("walk:1s-45")[1].frames(ml.demo.clip("walk"))
        (30, 45)
        """
        start, end = (self._frame(written, motion.fps) for written in (self.start, self.end))
        if not 0 <= start < end <= len(motion):
            raise InvalidInput(
                f"{self.text}: the range must lie within the motion's {len(motion)} frames "
                f"({motion.duration:.2f} s); got {start} to {end}"
            )
        return start, end

    def _frame(self, written: str, fps: float) -> int:
        if written.endswith("s"):
            return round(float(written[:-1]) * fps)
        if "." in written:
            raise InvalidInput(
                f"{self.text}: frames are whole numbers; write seconds with an s, 1.5s-3s"
            )
        return int(written)


def split_range(text: str) -> tuple[str, WrittenRange | None]:
    """Name and range; None if there is no range.

    Examples
    --------
    >>> split_range("86_01:12.5s-14s")
    ('86_01', WrittenRange(text='86_01:12.5s-14s', start='12.5s', end='14s'))
    >>> split_range("86_01")
    ('86_01', None)
    """
    found = _RANGE.match(text)
    if found is None:
        return text, None
    name, start, start_s, end, end_s = found.groups()
    return name, WrittenRange(text, start + start_s, end + end_s)


def positive_rate(fps: float) -> float:
    """`fps` as a float, if it is a rate; else `InvalidInput`.

    Examples
    --------
    >>> positive_rate(120)
    120.0
    """
    rate = float(fps)
    if not 0.0 < rate < float("inf"):
        raise InvalidInput(f"fps must be positive; got {fps}")
    return rate


def frame_slice(key: Any, frames: int, whole: str) -> slice:
    """A slice of `frames` frames, with a positive step, from a slice or a frame number.

    Parameters
    ----------
    key : int or slice
    frames : int
        How many there are.
    whole : str
        What is cut, for messages: ``"motion"``.

    Examples
    --------
    >>> frame_slice(-1, 30, "motion"), frame_slice(slice(None, 10), 30, "motion")
    (slice(29, 30, 1), slice(0, 10, 1))
    """
    if isinstance(key, (int, np.integer)):
        index = int(key)
        if not -frames <= index < frames:
            raise IndexError(f"frame {index} is outside this {whole} of {frames} frames")
        index %= frames
        return slice(index, index + 1, 1)
    if not isinstance(key, slice):
        raise InvalidInput(f"a {whole} is cut with frame numbers or slices; got {key!r}")
    start, stop, step = key.indices(frames)
    if step < 0:
        raise InvalidInput(f"a {whole} cannot be cut backwards; the step must be positive")
    return slice(start, stop, step)


def intervals(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Half-open ranges in which a mask (T,) is true.

    Examples
    --------
    >>> intervals(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
