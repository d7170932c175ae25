"""Tables of positions, for spreadsheets, pandas, R: ``.csv`` and ``.parquet``.

One row per frame: its number, its time in seconds, and x, y and z of every joint and end
site (or marker) in metres. A gap in the markers is an empty cell. Read back, they are markers
(see `motionloom.formats.marker_tables`).
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from motionloom.errors import InvalidInput
from motionloom.formats.conventions import labelled_points
from motionloom.formats.marker_tables import parquet_library, read
from motionloom.motion import Markers, Motion
from motionloom.whole_file import whole_file

__all__ = ["read", "write"]

_ROWS = 4_096  # frames turned into text at a time


def write(motion: Motion | Markers, path: str | Path, *, decimals: int = 6) -> None:
    """Write positions as a table; CSV or Parquet by suffix.

    Parameters
    ----------
    motion : Motion or Markers
        T frames, P points: joints and end sites, or markers.
    path : str or Path
        ``.csv`` or ``.parquet`` (the latter needs the extra ``parquet``).
    decimals : int
        Digits after the point in CSV; six are micrometres. Parquet holds full precision.
    """
    if not 0 <= decimals <= 17:
        raise InvalidInput(f"decimals must be 0 to 17; got {decimals}")
    path = Path(path)
    names, positions = labelled_points(motion)
    columns = ["frame", "time", *(f"{name}.{axis}" for name in names for axis in "xyz")]
    times = np.arange(len(positions)) / motion.fps
    if path.suffix.lower() == ".parquet":
        _write_parquet(path, columns, times, positions)
    else:
        _write_csv(path, columns, times, positions, decimals)


def _write_csv(path: Path, columns, times, positions, decimals: int) -> None:
    with whole_file(path) as scratch, scratch.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(columns)
        for start in range(0, len(times), _ROWS):
            # Adding zero turns -0.0 into 0.0 after rounding, so no cell says "-0.000000".
            part = np.round(positions[start : start + _ROWS].astype(np.float64), decimals) + 0.0
            numbers = np.arange(start, start + len(part))
            rows = np.column_stack([numbers, times[numbers], part.reshape(len(part), -1)])
            text = io.StringIO()
            form = ["%d", "%.9g", *[f"%.{decimals}f"] * (len(columns) - 2)]
            np.savetxt(text, rows, fmt=form, delimiter=",")
            lines = text.getvalue()
            file.write(lines.replace("nan", "") if np.isnan(part).any() else lines)


def _write_parquet(path: Path, columns, times, positions) -> None:
    pyarrow = parquet_library()
    flat = positions.reshape(len(positions), -1)
    arrays = [pyarrow.array(np.arange(len(times), dtype=np.int64)), pyarrow.array(times)]
    # from_pandas: NaN, a gap, becomes null.
    arrays += [pyarrow.array(flat[:, k], from_pandas=True) for k in range(flat.shape[1])]
    table = pyarrow.table(dict(zip(columns, arrays, strict=True)))
    with whole_file(path) as scratch:
        pyarrow.parquet.write_table(table, scratch)
