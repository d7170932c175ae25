"""Reading of tables and files that others wrote: bounded, and with errors of one line."""

from __future__ import annotations

import csv
import stat
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path

LARGEST = 256 * 2**20  # bytes; no table or motion file of the benchmark is larger


class BenchmarkError(ValueError):
    """An error that its one-line message explains."""


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """Return the contents of a regular file of at most `most` bytes."""
    try:
        info = path.stat()
    except OSError:
        raise BenchmarkError(f"{path} does not exist") from None
    if not stat.S_ISREG(info.st_mode):
        raise BenchmarkError(f"{path} is not a file")
    with path.open("rb") as file:
        content = file.read(most + 1)  # never more, even if the file grows
    if len(content) > most:
        raise BenchmarkError(f"{path} is larger than {most} bytes, the largest size it can have")
    return content


def read_rows(
    path: Path, columns: Sequence[str], most: int = LARGEST
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the cells of each row of a CSV file with a header.

    Raises
    ------
    BenchmarkError
        If the file is not UTF-8, lacks a column, or has a row of another length.
    """
    try:
        text = read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BenchmarkError(f"{path} is not UTF-8 text") from None
    try:
        lines = csv.reader(StringIO(text, newline=""), strict=True)
        header = next(lines, [])
        missing = [name for name in columns if name not in header]
        if missing:
            raise BenchmarkError(
                f"{path}:1: expected the columns {', '.join(columns)}; {missing[0]!r} is missing"
            )
        for cells in lines:
            if cells and len(cells) != len(header):
                raise BenchmarkError(
                    f"{path}:{lines.line_num}: expected {len(header)} cells, got {len(cells)}"
                )
            if cells:
                yield lines.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise BenchmarkError(f"{path}:{lines.line_num}: {error}") from None
