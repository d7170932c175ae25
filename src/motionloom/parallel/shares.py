"""Progress of work whose amount is not known in advance, such as attempts until one succeeds."""

from __future__ import annotations

from collections.abc import Iterator

from motionloom.parallel.execution import Progress
from motionloom.settings import PLANNED


class Share:
    """A share of a task, which reports how much of it is done, in hundredths of the whole task.

    Progress never goes back. A part that ends early is followed by a jump.

    Parameters
    ----------
    progress : callable, optional
        Called with the number of hundredths since the last call, `PLANNED` in total, and with 0 so
        that it can stop the task with an exception.

    Examples
    --------
    >>> steps = []
    >>> task = Share(steps.append)
    >>> first, second = task.part(0.0, 0.8), task.part(0.8, 1.0)
    >>> for attempt in first.attempts(3):
    ...     attempt.at(1.0)
    >>> second.at(1.0)
    >>> steps, sum(steps)
    ([40, 20, 10, 30], 100)
    """

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._done = progress, 0
        self._first, self._last, self._whole = 0.0, 1.0, self

    def at(self, share: float) -> None:
        """Report that this share of the part is done."""
        whole = self._whole
        there = self._first + (self._last - self._first) * min(share, 1.0)
        if whole._progress is not None:
            steps = max(int(PLANNED * there + 1e-9) - whole._done, 0)
            whole._done += steps
            whole._progress(steps)

    def part(self, first: float, last: float) -> Share:
        """Return a part of this share, from and to a fraction of it."""
        part, size = Share(None), self._last - self._first
        part._whole = self._whole
        part._first, part._last = self._first + first * size, self._first + last * size
        return part

    def attempts(self, count: int) -> Iterator[Share]:
        """Yield one part per attempt; each gets half of the rest, because few are likely."""
        left = 1.0
        for _ in range(count):
            yield self.part(1.0 - left, 1.0 - 0.5 * left)
            left *= 0.5
