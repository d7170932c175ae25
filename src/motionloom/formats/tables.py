"""Tables of positions for spreadsheets, pandas and R: ``.csv`` and ``.parquet``.

A table has one row per frame, which contains the frame number, the time in seconds, and the x, y
and z coordinates of every joint and end site (or marker) in meters. An empty cell is a gap.

Tables are read as markers. Columns may be in any order. They are called ``LABEL.x``, ``LABEL.y``
and ``LABEL.z``, where the dot may also be ``_`` or a space. The ``time`` column is in seconds.
Other columns are ignored. A long table, with one row per point and the columns ``frame``,
``keypoint``, ``x``, ``y`` and ``z`` as freemocap writes it, is also read. If the labels name the
joints of a body, `load` turns the table into a motion (`motionloom.formats.positions`).
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MissingExtra, MotionFormatError
from motionloom.files import atomic_write
from motionloom.formats.conventions import check_fps, file_bytes, labeled_points
from motionloom.formats.inference import unit_from
from motionloom.motion import Markers, Motion, Origin

_AXIS = re.compile(r"^(?P<label>.+)[._ ](?P<axis>[xyzXYZ])$")
_ROOM = 512_000_000  # bytes of numbers that any Parquet file may contain
_GROWTH = 64  # the same limit for larger files, per byte
_COLUMNS = 20_000
_UNEVEN = 0.02  # tolerance of the times, as a fraction of a frame


def read(path: str | Path, *, unit: str | float | None = None, fps: float | None = None) -> Markers:
    """Read markers from a table; see `motionloom.load_markers` for the options.

    The default unit is meters. `fps` is required if the table has no time column.
    """
    check_fps(fps)
    path = Path(path)
    parquet = path.suffix.lower() == ".parquet"
    labels, positions, rate = table_points(path)
    if fps is not None:
        rate = fps
    if rate is None:
        raise MotionFormatError(
            "the frame rate is unknown. Set fps, or add a column 'time' in seconds", path=path
        )
    scale = 1.0 if unit is None else unit_from(unit)
    positions = scale * positions
    origin = Origin(
        path=str(path),
        format="parquet" if parquet else "csv",
        unit_m=scale,
        unit_reason="given" if unit is not None else "tables are in meters",
    )
    return Markers(labels, positions, rate, name=path.stem, origin=origin)


def table_points(
    path: Path,
) -> tuple[tuple[str, ...], NDArray[np.float64], float | None]:
    """Return the labels, the positions (T, M, 3) as stored, and the rate if the table has times."""
    names, values = _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path)
    labels, columns = _labels(names, path)
    if not len(values):
        raise MotionFormatError("the table has no rows", path=path)
    positions = values[:, columns].reshape(len(values), len(labels), 3)
    return labels, positions, _rate(names, values, path)


def labels_of(path: Path) -> tuple[str, ...]:
    """Return the labels of a table, from its first lines only if it is a CSV file."""
    if path.suffix.lower() == ".parquet":
        return table_points(path)[0]
    with path.open(encoding="utf-8-sig", newline="") as file:
        start = file.read(1 << 16)
    rows = list(csv.reader(io.StringIO(start, newline="")))[:-1] if "\n" in start else []
    names = [name.strip() for name in rows[0]] if rows else []
    if _long_columns(names):
        names, _ = _pivoted(names, rows[1:-1], path)
    return _labels(names, path)[0]


def require_extra():
    """Return pyarrow with its Parquet module. Raise `MissingExtra` if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "Parquet files need pyarrow. Install it with: pip install 'motionloom[parquet]'"
        ) from None
    return pyarrow


def _csv(path: Path) -> tuple[list[str], NDArray[np.float64]]:
    content = file_bytes(path, "a CSV file")
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise MotionFormatError(f"cannot read the table: {error}", path=path) from None
    if not rows:
        raise MotionFormatError("the table is empty", path=path)
    names = [name.strip() for name in rows[0]]
    if _long_columns(names):
        return _pivoted(names, rows[1:], path)
    if len(names) > _COLUMNS:
        raise MotionFormatError(
            f"a table may have {_COLUMNS} columns; found {len(names)}", path=path
        )
    for r, row in enumerate(rows[1:]):  # before space is reserved for all cells
        if len(row) != len(names):
            raise MotionFormatError(
                f"expected {len(names)} cells, one per column; got {len(row)}",
                path=path,
                line=r + 2,
            )
    values = np.full((len(rows) - 1, len(names)), np.nan)
    for r, row in enumerate(rows[1:]):
        for c, cell in enumerate(row):
            if cell.strip():
                values[r, c] = _number(cell, names[c], path, r + 2)
    return names, values


_POINT_COLUMNS = ("keypoint", "marker", "joint", "landmark", "name")


def _long_columns(names: list[str]) -> tuple[int, int] | None:
    """Return the columns of the frame and of the label in a long table, or None if it is wide."""
    lower = [name.lower() for name in names]
    label = next((lower.index(name) for name in _POINT_COLUMNS if name in lower), None)
    if label is None or not {"frame", "x", "y", "z"} <= set(lower):
        return None
    return lower.index("frame"), label


def _pivoted(
    names: list[str], rows: list[list[str]], path: Path
) -> tuple[list[str], NDArray[np.float64]]:
    """Turn a long table, with one row per point, into one with a row per frame.

    freemocap writes several kinds of trajectories; the first one is used.
    """
    lower = [name.lower() for name in names]
    frame, label = _long_columns(names) or (0, 0)
    kind = lower.index("trajectory") if "trajectory" in lower else None
    axes = [lower.index(axis) for axis in "xyz"]
    first = rows[0][kind] if kind is not None and rows and len(rows[0]) == len(names) else None
    cells: dict[tuple[int, str], list[float]] = {}
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise MotionFormatError(
                f"expected {len(names)} cells, one per column; got {len(row)}",
                path=path,
                line=number,
            )
        if kind is not None and row[kind] != first:
            continue
        place = _number(row[frame], "time", path, number)
        if not 0 <= place < 1e9:
            raise MotionFormatError(f"frame {row[frame][:20]!r} is invalid", path=path, line=number)
        values = [_number(row[a], "p.x", path, number) if row[a].strip() else np.nan for a in axes]
        cells.setdefault((int(place), row[label].strip()), values)
    labels = list(dict.fromkeys(name for _, name in cells))
    frames = sorted({number for number, _ in cells})
    if len(frames) * len(labels) > 64 * max(len(cells), 1_000):
        raise MotionFormatError("the rows do not form frames with the same points", path=path)
    index = {number: place for place, number in enumerate(frames)}
    column = {name: place for place, name in enumerate(labels)}
    table = np.full((len(frames), len(labels), 3), np.nan)
    for (number, name), values in cells.items():
        table[index[number], column[name]] = values
    wide = [f"{name}.{axis}" for name in labels for axis in "xyz"]
    return wide, table.reshape(len(frames), -1)


def _number(cell: str, name: str, path: Path, line: int) -> float:
    try:
        return float(cell)
    except ValueError:
        if _AXIS.match(name) or name.lower() == "time":
            raise MotionFormatError(
                f"column {name!r}: {cell.strip()[:40]!r} is not a number", path=path, line=line
            ) from None
        return np.nan  # a column of text is ignored


def _parquet(path: Path) -> tuple[list[str], NDArray[np.float64]]:
    pyarrow = require_extra()
    content = file_bytes(path, "a Parquet file")
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content))
        rows, width = file.metadata.num_rows, file.metadata.num_columns
        if width > _COLUMNS or 8 * rows * width > max(_ROOM, _GROWTH * len(content)):
            raise MotionFormatError(
                f"{rows} rows of {width} columns are too many for a file of {len(content)} bytes",
                path=path,
            )
        table = file.read(use_threads=False)
    except (OSError, UnicodeDecodeError, pyarrow.ArrowException) as error:
        reason = str(error).split("\n")[0][:200]
        raise MotionFormatError(f"cannot read the table: {reason}", path=path) from None
    names, columns = [], []
    for name in table.column_names:
        kind = table.schema.field(name).type
        if pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind):
            names.append(name)
            columns.append(table[name].cast(pyarrow.float64()).to_numpy(zero_copy_only=False))
    values = np.column_stack(columns) if columns else np.empty((table.num_rows, 0))
    return names, values.astype(np.float64)


def _labels(names: list[str], path: Path) -> tuple[tuple[str, ...], list[int]]:
    """Return the labels, and the x, y and z column of each."""
    columns: dict[str, dict[str, int]] = {}
    for column, name in enumerate(names):
        match = _AXIS.match(name)
        if match:
            columns.setdefault(match["label"], {})[match["axis"].lower()] = column
    labels = tuple(label for label, axes in columns.items() if len(axes) == 3)
    if not labels:
        shown = ", ".join(repr(name[:20]) for name in names[:6])
        raise MotionFormatError(
            f"the table has no positions: columns must be called LABEL.x, LABEL.y, LABEL.z; got "
            f"{shown}",
            path=path,
        )
    return labels, [columns[label][axis] for label in labels for axis in "xyz"]


def _rate(names: list[str], values: NDArray[np.float64], path: Path) -> float | None:
    """Return the rate, or None if the table has no times."""
    lower = [name.lower() for name in names]
    if "time" not in lower or len(values) < 2:
        return None
    times = values[:, lower.index("time")]
    steps = np.diff(times)
    step = float((times[-1] - times[0]) / len(steps))
    if not (np.isfinite(step) and step > 0.0 and np.abs(steps - step).max() <= _UNEVEN * step):
        raise MotionFormatError(
            "times must increase evenly; write one row per frame, and leave cells empty in gaps",
            path=path,
        )
    return float(np.round(1.0 / step, 4))


_ROWS = 4_096  # number of frames that are formatted at a time


def write(motion: Motion | Markers, path: str | Path, *, decimals: int = 6) -> None:
    """Write positions of joints and end sites, or of markers, as CSV or Parquet.

    `decimals` applies only to CSV; with six decimals, the precision is one micrometer. Parquet has
    full precision.
    """
    if not 0 <= decimals <= 17:
        raise InvalidInput(f"decimals must be 0 to 17; got {decimals}")
    path = Path(path)
    names, positions = labeled_points(motion)
    columns = ["frame", "time", *(f"{name}.{axis}" for name in names for axis in "xyz")]
    times = np.arange(len(positions)) / motion.fps
    if path.suffix.lower() == ".parquet":
        _write_parquet(path, columns, times, positions)
    else:
        _write_csv(path, columns, times, positions, decimals)


def _write_csv(path: Path, columns, times, positions, decimals: int) -> None:
    with atomic_write(path) as scratch, scratch.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(columns)
        for start in range(0, len(times), _ROWS):
            # Adding zero turns -0.0 into 0.0 after rounding and keeps "-0.000000" out of cells.
            part = np.round(positions[start : start + _ROWS].astype(np.float64), decimals) + 0.0
            numbers = np.arange(start, start + len(part))
            rows = np.column_stack([numbers, times[numbers], part.reshape(len(part), -1)])
            text = io.StringIO()
            form = ["%d", "%.9g", *[f"%.{decimals}f"] * (len(columns) - 2)]
            np.savetxt(text, rows, fmt=form, delimiter=",")
            lines = text.getvalue()
            file.write(lines.replace("nan", "") if np.isnan(part).any() else lines)


def _write_parquet(path: Path, columns, times, positions) -> None:
    pyarrow = require_extra()
    flat = positions.reshape(len(positions), -1)
    arrays = [pyarrow.array(np.arange(len(times), dtype=np.int64)), pyarrow.array(times)]
    # With from_pandas, NaN (a gap) becomes null.
    arrays += [pyarrow.array(flat[:, k], from_pandas=True) for k in range(flat.shape[1])]
    table = pyarrow.table(dict(zip(columns, arrays, strict=True)))
    with atomic_write(path) as scratch:
        pyarrow.parquet.write_table(table, scratch)
