"""Parameters: named functions of a motion, or scores given per example.

Functions of the user are stored by reference, ``MODULE:FUNCTION``: a library stores where a
function is, never its code. It is imported again when the parametric motion is loaded: only a plain
function that its module defines under that name, and none of the standard library's, so that a
library from elsewhere cannot call what it likes.

Scores are given per example: not everything that tells motions apart can be measured, such as mood,
age or style. Kovar & Gleicher (2004, section 5) apply scattered-data interpolation directly to
examples with such values, without sampling: the score of a blend is the weighted mean of the scores
of its examples.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput, MotionFormatError, MotionloomError
from motionloom.files import csv_rows
from motionloom.motion import Motion

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
        function: Any = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
    except Exception as error:  # whatever the module does when it is imported
        raise InvalidInput(
            f"{reference} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    code = getattr(function, "__code__", None)
    if code is None or (function.__module__, function.__qualname__) != (module, name):
        raise InvalidInput(f"{reference} must be a function that {module} defines")
    return function


@dataclass(frozen=True, eq=False)
class Scores:
    """Numbers per example.

    Attributes
    ----------
    text : str
        Name.
    axes : tuple of str
        Names of its m numbers.
    values : mapping of str to tuple of float
        Motion (``walk_1``) or segment (``walk_1:10-52``) to m numbers.
    """

    text: str
    axes: tuple[str, ...]
    values: Mapping[str, tuple[float, ...]]

    def of(self, examples: Sequence[tuple[str, str]]) -> Array:
        """Scores of examples ``(segment, motion)``, shape (N, m).

        Raises
        ------
        InvalidInput
            If an example has none.
        """
        keys = [text if text in self.values else name for text, name in examples]
        lost = [key for key in keys if key not in self.values]
        if lost:
            more = f" and {len(lost) - 1} more examples" if len(lost) > 1 else ""
            raise InvalidInput(
                f"{self.text} must have a score for every example; there is none for "
                f"{lost[0]}{more}, only for {', '.join(list(self.values)[:5])}"
                f"{', ...' if len(self.values) > 5 else ''}"
            )
        return np.array([self.values[key] for key in keys], np.float64)


def scores_from(given: Mapping[str, Any], *, name: str = "score") -> Scores:
    """Scores from a mapping: motion to number or numbers, or name to such a mapping.

    Examples
    --------
    >>> scores_from({"walk": 0.2, "walk_fast": 0.9}).axes
    ('score',)
    >>> scores_from({"mood": {"walk": 0.2}, "age": {"walk": 31}}).values["walk"]
    (0.2, 31.0)
    """
    if not given:
        raise InvalidInput("scores must hold at least one example; got none")
    columns = {key: value for key, value in given.items() if isinstance(value, Mapping)}
    if columns and len(columns) < len(given):
        raise InvalidInput("scores must be numbers per example, or mappings by name; got both")
    if columns:
        return _joined([scores_from(value, name=key) for key, value in columns.items()])
    rows = {str(key): _numbers(name, key, value) for key, value in given.items()}
    sizes = {len(row) for row in rows.values()}
    if len(sizes) > 1:
        raise InvalidInput(f"{name} must have as many numbers for every example; got {sizes}")
    size = sizes.pop()
    axes = (name,) if size == 1 else tuple(f"{name}[{k}]" for k in range(size))
    return Scores(name, axes, rows)


def read_scores(path: str | Path, columns: Sequence[str] = ()) -> Scores:
    r"""Scores from a CSV file: the first column names motions, the others score them.

    The first line names the columns.

    Parameters
    ----------
    path : str or Path
    columns : sequence of str
        The columns to use. Default: all.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "styles.csv"
    >>> _ = path.write_text("motion,mood,age\nwalk,0.2,31\nwalk_fast,0.9,24\n")
    >>> read_scores(path, ["mood"]).values
    {'walk': (0.2,), 'walk_fast': (0.9,)}
    """
    path = Path(path)
    try:
        lines = [(number, [cell.strip() for cell in row]) for number, row in csv_rows(path)]
    except (OSError, MotionFormatError) as error:
        raise InvalidInput(f"{path}: scores cannot be read: {error}") from None
    numbered = [(number, row) for number, row in lines if any(row)]
    if len(numbered) < 2 or len(numbered[0][1]) < 2:
        raise InvalidInput(
            f"{path}: scores need a header (motion, mood, ...) and a line per motion"
        )
    header = numbered[0][1][1:]
    wanted = tuple(columns) or tuple(header)
    missing = [column for column in wanted if column not in header]
    if missing:
        raise InvalidInput(f"{path}: there is no column {missing[0]}, only {', '.join(header)}")
    places = [1 + header.index(column) for column in wanted]
    values: dict[str, tuple[float, ...]] = {}
    for number, row in numbered[1:]:
        if row[0] in values:
            raise InvalidInput(f"{path}:{number}: {row[0]} is scored twice")
        cells = [row[place] if place < len(row) else "" for place in places]
        try:
            values[row[0]] = _numbers(path.stem, row[0], [float(cell) for cell in cells])
        except ValueError:
            raise InvalidInput(
                f"{path}:{number}: the scores {', '.join(wanted)} of {row[0]} must be finite "
                f"numbers; got {', '.join(repr(cell) for cell in cells)}"
            ) from None
    return Scores(", ".join(wanted), wanted, values)


def _joined(several: Sequence[Scores]) -> Scores:
    """Several scores of the same examples as one."""
    named = {key for one in several for key in one.values}
    for one in several:
        lost = sorted(named - one.values.keys())
        if lost:
            raise InvalidInput(
                f"{one.text} must have a score for every example; there is none for {lost[0]}"
            )
    axes = tuple(axis for one in several for axis in one.axes)
    rows = {key: sum((one.values[key] for one in several), ()) for key in several[0].values}
    return Scores(", ".join(one.text for one in several), axes, rows)


def _numbers(name: str, key: object, value: Any) -> tuple[float, ...]:
    try:
        row = tuple(float(number) for number in np.atleast_1d(np.asarray(value, np.float64)))
    except (TypeError, ValueError):
        row = ()
    if not row or not np.all(np.isfinite(row)):
        raise InvalidInput(f"{name} of {key} must be a finite number or a row; got {value!r}")
    return row
