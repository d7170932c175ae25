"""Ranges as people write them behind a name: ``kick:30-90``, or ``kick:1s-3s`` in seconds."""

from __future__ import annotations

import re
from dataclasses import dataclass

from motionloom.errors import InvalidInput
from motionloom.motion.motion import Motion

_RANGE = re.compile(r"^(.*):(\d+(?:\.\d+)?)(s?)-(\d+(?:\.\d+)?)(s?)$")


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
