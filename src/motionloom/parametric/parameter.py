"""A parameter: a named function of a motion, or scores given per example.

Functions of the user are stored by reference, ``MODULE:FUNCTION``: a library stores where a
function is, never its code. It is imported again when the parametric
motion is loaded: only a plain function that its module defines under that name, and none of the
standard library's, so that a library from elsewhere cannot call what it likes.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput, MotionloomError
from motionloom.motion import Motion
from motionloom.parametric.parameter import Scores

Array = NDArray[np.float64]
Moment = int | slice | None
"""Where a parameter is measured in a motion: a frame, frames, or wherever it is up to it."""


@dataclass(frozen=True)
class Parameter:
    """A named function of a motion.

    Attributes
    ----------
    text : str
        As on the command line: ``right_ankle@1545``, ``lowest(hips)``, ``turn``.
    axes : tuple of str
        Names of its numbers.
    function : callable
        ``function(motion, moment)`` returns them. `moment` is the frame that corresponds to the
        query's `frame`, the slice that corresponds to its `interval`, or None.
    frame : int or None
        The frame of the query at which it is measured, as stored in the library.
    interval : (int, int) or None
        The frames ``[start, end)`` of the query over which it is measured.
    ready : bool
        Whether `parameter` can make it again from `text`.
    reference : str
        ``MODULE:FUNCTION`` of a function of the user's; empty where it cannot be imported.
    scores : Scores or None
        Numbers given per example, instead of a function.
    """

    text: str
    axes: tuple[str, ...]
    function: Callable[[Motion, Any], ArrayLike]
    frame: int | None = None
    interval: tuple[int, int] | None = None
    ready: bool = True
    reference: str = ""
    scores: Scores | None = None

    def __len__(self) -> int:
        return len(self.axes)

    def __call__(self, motion: Motion, moment: Moment = None) -> Array:
        """Its value on a motion, shape (len(self),).

        Raises
        ------
        InvalidInput
            If the function fails, or does not return that many finite numbers.
        """
        if not len(motion):
            raise InvalidInput(f"parameter {self.text} needs a motion with frames; it has none")
        value = value_of(self.text, lambda: self.function(motion, moment), motion)
        if value.shape != (len(self),):
            raise InvalidInput(
                f"parameter {self.text} must return {len(self)} numbers on every motion; "
                f"got shape {value.shape} on {motion.name or 'a blend'}"
            )
        if not np.all(np.isfinite(value)):
            raise InvalidInput(
                f"parameter {self.text} must be finite on every motion; "
                f"got {value.tolist()} on {motion.name or 'a blend'}"
            )
        return value


def value_of(name: str, measure: Callable[[], ArrayLike], motion: Motion) -> Array:
    """What a function of a motion returns, as an array of at least one dimension."""
    try:
        value = measure()
    except MotionloomError:
        raise
    except Exception as error:  # any mistake in a function of the user's
        raise InvalidInput(
            f"parameter {name} failed on {motion.name or 'a blend'}: "
            f"{type(error).__name__}: {error}"
        ) from error
    try:
        return np.atleast_1d(np.asarray(value, np.float64))
    except (TypeError, ValueError):
        raise InvalidInput(f"parameter {name} must return numbers; got {value!r}") from None


_REFERENCE = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")


def is_reference(text: str) -> bool:
    """Whether a text is a reference to a function.

    Examples
    --------
    >>> is_reference("gaits.measures:stride"), is_reference("right_ankle@33")
    (True, False)
    """
    return bool(_REFERENCE.match(text))


def reference_of(function: Any) -> str:
    """``MODULE:FUNCTION``, or an empty text if it cannot be imported again from there.

    Examples
    --------
    >>> reference_of(reference_of)
    'motionloom.parametric.parameter:reference_of'
    >>> reference_of(lambda motion: 1.0)
    ''
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    text = f"{module}:{name}"
    if module in (None, "__main__") or not is_reference(text):
        return ""
    try:
        return text if imported_function(text) is function else ""
    except InvalidInput:
        return ""


def imported_function(reference: str) -> Callable[..., Any]:
    """The function that a reference names.

    Raises
    ------
    InvalidInput
        If its module cannot be imported, or defines no such function.
    """
    module, _, name = reference.partition(":")
    if module.partition(".")[0] in sys.stdlib_module_names:
        raise InvalidInput(f"{reference}: functions of the standard library are no parameters")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever the module does when it is imported
        raise InvalidInput(
            f"{reference} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    code = getattr(found, "__code__", None)
    if code is None or (found.__module__, found.__qualname__) != (module, name):
        raise InvalidInput(f"{reference} must be a function that {module} defines")
    return found
