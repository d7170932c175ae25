"""Scores: parameters that are given per example, such as mood, age or style.

Not everything that tells motions apart can be measured. Kovar & Gleicher (2004, section 5) apply
scattered-data interpolation directly to examples with such values, without sampling: the score of
a blend is the weighted mean of the scores of its examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.files import csv_rows

Array = NDArray[np.float64]


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
