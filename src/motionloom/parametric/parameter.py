"""Parameters: named functions of a motion, or manually assigned scores of examples.

Custom functions are stored by reference, as ``MODULE:FUNCTION``. A library stores the location of a
function, never its code. The function is imported when the parametric motion is loaded. A library
from an unknown source must not be able to call arbitrary code, so only plain functions that the
module itself defines under this name are imported, and never functions from the standard library.

Scores cover differences between motions that cannot be measured, such as mood, age or style. Kovar
& Gleicher (2004, section 5) apply scattered-data interpolation directly to examples with scores,
without sampling. The score of a blend is the weighted mean of the scores of its examples.
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
"""Where a parameter is measured: at a frame, over a slice, or None if the parameter decides."""


@dataclass(frozen=True)
class Parameter:
    """A named function of a motion.

    Attributes
    ----------
    text : str
        The parameter as written on the command line: ``right_ankle@1545``, ``lowest(hips)``,
        ``turn``.
    axes : tuple of str
        Names of the values that the parameter returns.
    function : callable
        ``function(motion, moment)`` returns the values. `moment` is the frame that corresponds to
        `frame` of the query, the slice that corresponds to `interval`, or None.
    frame : int or None
        Query frame at which the parameter is measured, numbered as in the stored motion.
    interval : (int, int) or None
        Query frames ``[start, end)`` over which the parameter is measured.
    ready : bool
        True if the function `parameter` can recreate this parameter from `text`.
    reference : str
        ``MODULE:FUNCTION`` of a custom function; empty if the function cannot be imported.
    scores : Scores or None
        Scores of the examples, for a parameter that is not a function.
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
        """Measure the parameter on a motion; the result has shape (len(self),).

        Raises
        ------
        InvalidInput
            If the function fails, or does not return ``len(self)`` finite numbers.
        """
        if not len(motion):
            raise InvalidInput(
                f"parameter {self.text} cannot be measured on a motion without frames"
            )
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
    """Return the result of a parameter's function as an array with at least one dimension."""
    try:
        value = measure()
    except MotionloomError:
        raise
    except Exception as error:  # a custom function can fail in any way
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
    """Return whether a string is a reference to a function.

    Examples
    --------
    >>> is_reference("gaits.measures:stride"), is_reference("right_ankle@33")
    (True, False)
    """
    return bool(_REFERENCE.match(text))


def reference_of(function: Any) -> str:
    """Return ``MODULE:FUNCTION``, or an empty string if the function cannot be imported.

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
    """Import the function that a reference names.

    Raises
    ------
    InvalidInput
        If the module cannot be imported, or does not define the function.
    """
    module, _, name = reference.partition(":")
    if module.partition(".")[0] in sys.stdlib_module_names:
        raise InvalidInput(f"{reference}: functions from the standard library cannot be parameters")
    try:
        function: Any = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
    except Exception as error:  # importing a module can fail in any way
        raise InvalidInput(
            f"{reference} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    code = getattr(function, "__code__", None)
    if code is None or (function.__module__, function.__qualname__) != (module, name):
        raise InvalidInput(f"{reference} must be a function defined in {module}")
    return function


@dataclass(frozen=True, eq=False)
class Scores:
    """Manually assigned scores: one or more numbers for each example.

    Attributes
    ----------
    text : str
        Name of the scores.
    axes : tuple of str
        Names of the m numbers per example.
    values : mapping of str to tuple of float
        Maps a motion (``walk_1``) or a segment (``walk_1:10-52``) to m numbers.
    """

    text: str
    axes: tuple[str, ...]
    values: Mapping[str, tuple[float, ...]]

    def of(self, examples: Sequence[tuple[str, str]]) -> Array:
        """Return the scores of examples ``(segment, motion)``, shape (N, m).

        Raises
        ------
        InvalidInput
            If an example has no score.
        """
        keys = [text if text in self.values else name for text, name in examples]
        lost = [key for key in keys if key not in self.values]
        if lost:
            more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
            raise InvalidInput(
                f"{self.text} must have a score for every example; there is none for "
                f"{lost[0]}{more}. Scores exist for {', '.join(list(self.values)[:5])}"
                f"{', ...' if len(self.values) > 5 else ''}"
            )
        return np.array([self.values[key] for key in keys], np.float64)


def scores_from(given: Mapping[str, Any], *, name: str = "score") -> Scores:
    """Build scores from a mapping of motions to numbers, or from several named mappings.

    Examples
    --------
    >>> scores_from({"walk": 0.2, "walk_fast": 0.9}).axes
    ('score',)
    >>> scores_from({"mood": {"walk": 0.2}, "age": {"walk": 31}}).values["walk"]
    (0.2, 31.0)
    """
    if not given:
        raise InvalidInput("scores must contain at least one example; got none")
    columns = {key: value for key, value in given.items() if isinstance(value, Mapping)}
    if columns and len(columns) < len(given):
        raise InvalidInput(
            "scores must map examples to numbers, or names to mappings; got a mix of both"
        )
    if columns:
        return _joined([scores_from(value, name=key) for key, value in columns.items()])
    rows = {str(key): _numbers(name, key, value) for key, value in given.items()}
    sizes = {len(row) for row in rows.values()}
    if len(sizes) > 1:
        raise InvalidInput(
            f"{name} must have the same number of values for every example; got {sizes}"
        )
    size = sizes.pop()
    axes = (name,) if size == 1 else tuple(f"{name}[{k}]" for k in range(size))
    return Scores(name, axes, rows)


def read_scores(path: str | Path, columns: Sequence[str] = ()) -> Scores:
    r"""Read scores from a CSV file, whose first column names motions and whose others hold scores.

    The first line contains the names of the columns.

    Parameters
    ----------
    path : str or Path
    columns : sequence of str
        The columns to use. Default: all columns.

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
        raise InvalidInput(f"{path}: cannot read the scores: {error}") from None
    numbered = [(number, row) for number, row in lines if any(row)]
    if len(numbered) < 2 or len(numbered[0][1]) < 2:
        raise InvalidInput(
            f"{path}: a score file needs a header (motion, mood, ...) and one line per motion"
        )
    header = numbered[0][1][1:]
    wanted = tuple(columns) or tuple(header)
    missing = [column for column in wanted if column not in header]
    if missing:
        raise InvalidInput(
            f"{path}: there is no column {missing[0]}; the columns are {', '.join(header)}"
        )
    places = [1 + header.index(column) for column in wanted]
    values: dict[str, tuple[float, ...]] = {}
    for number, row in numbered[1:]:
        if row[0] in values:
            raise InvalidInput(
                f"{path}:{number}: the motion {row[0]} already has scores on an earlier line"
            )
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
    """Merge several `Scores` for the same examples into one."""
    named = {key for scores in several for key in scores.values}
    for scores in several:
        lost = sorted(named - scores.values.keys())
        if lost:
            raise InvalidInput(
                f"{scores.text} must have a score for every example; there is none for {lost[0]}"
            )
    axes = tuple(axis for scores in several for axis in scores.axes)
    rows = {key: sum((scores.values[key] for scores in several), ()) for key in several[0].values}
    return Scores(", ".join(scores.text for scores in several), axes, rows)


def _numbers(name: str, key: object, value: Any) -> tuple[float, ...]:
    try:
        row = tuple(float(number) for number in np.atleast_1d(np.asarray(value, np.float64)))
    except (TypeError, ValueError):
        row = ()
    if not row or not np.all(np.isfinite(row)):
        raise InvalidInput(
            f"{name} of {key} must be a finite number or a row of finite numbers; got {value!r}"
        )
    return row
