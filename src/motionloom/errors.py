"""Exceptions that motionloom raises deliberately.

All of them derive from `MotionloomError` and from `ValueError`, so callers can catch
them without importing anything. The command line prints only the message and exits with code 2.
"""

from __future__ import annotations

from pathlib import Path


class MotionloomError(ValueError):
    """Base class of all exceptions that motionloom raises deliberately.

    Examples
    --------
    >>> import motionloom as ml
    >>> issubclass(ml.InvalidInput, ml.MotionloomError)
    True
    """


class InvalidInput(MotionloomError):
    """An argument has the wrong shape, range or type.

    Examples
    --------
    >>> import motionloom as ml
    >>> try:
    ...     ml.demo.clip("walk").resample(-1)
    ... except ml.InvalidInput as error:
    ...     print(error)
    fps must be positive; got -1
    """


class MotionFormatError(MotionloomError):
    """A file cannot be read, or its content is ambiguous.

    The message starts with ``file:line:``, or with ``file:`` if the problem is not in one line.

    Examples
    --------
    >>> print(MotionFormatError("expected 96 channels, got 95", path="walk.bvh", line=214))
    walk.bvh:214: expected 96 channels, got 95
    """

    def __init__(
        self, problem: str, *, path: str | Path = "<memory>", line: int | None = None
    ) -> None:
        self.problem = problem
        self.path = str(path)
        self.line = line
        place = f"{self.path}:{line}" if line is not None else self.path
        super().__init__(f"{place}: {problem}")

    def __reduce__(self):
        # Exceptions cross process boundaries in parallel imports; keyword arguments do not survive
        # the default pickling.
        return (_format_error, (self.problem, self.path, self.line))


class RoleError(MotionloomError):
    """A skeleton lacks a joint role that an operation needs.

    Examples
    --------
    >>> import motionloom as ml
    >>> try:
    ...     ml.demo.clip("walk").skeleton.point("tail")
    ... except ml.RoleError as error:
    ...     print(str(error)[:20])
    there is no role 'ta
    """


class LibraryError(MotionloomError):
    """A library is missing, damaged or busy, or does not contain the requested item.

    Examples
    --------
    >>> import motionloom as ml
    >>> try:
    ...     lib["wlak"]
    ... except ml.LibraryError as error:
    ...     print(str(error).split(": ")[-1])
    no motion 'wlak'; did you mean walk?
    """


class MissingExtra(MotionloomError, ImportError):
    """An optional dependency is not installed."""


def _format_error(problem: str, path: str, line: int | None) -> MotionFormatError:
    return MotionFormatError(problem, path=path, line=line)
