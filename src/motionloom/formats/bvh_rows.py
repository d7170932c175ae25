"""The second half of a BVH file: the table of channel values, one row per frame."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.bvh_text import BvhText
from motionloom.formats.number_rows import NumberRows, number_rows
from motionloom.formats.repairs import Repairs

_LIMIT = 1e7  # units or degrees; beyond it a value is a fault, not a place or an angle


def read_rows(
    text: BvhText,
    columns: list[str],
    path: str | Path,
    repairs: Repairs,
    *,
    partial: bool = False,
) -> NDArray[np.float64]:
    """Channel values, shape (T, C).

    Parameters
    ----------
    text : BvhText
        The file.
    columns : list of str, length C
        What each column is, for messages: ``"Zrotation of LeftArm"``.
    path : str or Path
        For messages.
    repairs : Repairs
        Takes what had to be mended.
    partial : bool
        Take the whole rows of a file that was cut off, instead of refusing it.
    """
    rows = _numbers(text, columns, path, repairs)
    line_of = lambda row: text.rows_line + int(rows.line_numbers[row])  # noqa: E731
    declared = _declared_frames(text, path, repairs)
    width = len(columns)
    lengths = np.diff(rows.line_starts)
    values = rows.values
    if values.size == 0:
        raise MotionFormatError("there are no rows of motion", path=path, line=text.frames_line)
    odd = np.flatnonzero(lengths != width)
    if odd.size:
        values = _reflowed(rows, lengths, width, declared, odd, line_of, path, repairs, partial)
    table = values.reshape(-1, width)
    whole = len(values) == len(rows.values)  # no incomplete row was dropped already
    if whole and declared is not None and len(table) < declared and _breaks_off(text):
        # Cut off in the middle of a number, perhaps: the last value cannot be trusted.
        if not partial:
            raise MotionFormatError(
                f"Frames says {declared} but the file breaks off in row {len(table)}. "
                "To read the whole rows before it, use partial=True",
                path=path,
                line=line_of(len(lengths) - 1),
            )
        repairs.add("the last row may be cut off and was dropped")
        table = table[:-1]
        if len(table) == 0:
            raise MotionFormatError("there is no whole row of motion", path=path, line=line_of(0))
    held = len(table)
    if declared is None:
        repairs.add("Frames is missing; the rows were counted", line=text.frames_line)
    elif held < declared - 1 and not partial:
        raise MotionFormatError(
            f"Frames says {declared} but the file ends after {held} rows: it was cut off, or the "
            "count is wrong. If these rows are all there is, read it with partial=True",
            path=path,
            line=line_of(len(lengths) - 1),
        )
    elif held != declared:
        repairs.add(f"Frames says {declared}, the file holds {held} rows", line=text.frames_line)
    if not (table.max() < _LIMIT and table.min() > -_LIMIT):
        wild = ~(np.abs(table) < _LIMIT)
        frame, column = np.argwhere(wild)[0]
        row = int(np.searchsorted(rows.line_starts, frame * width + column, side="right")) - 1
        raise MotionFormatError(
            f"{table[frame, column]:g} as {columns[column]} is no sensible value",
            path=path,
            line=line_of(row),
        )
    return table


def _numbers(text: BvhText, columns: list[str], path, repairs: Repairs) -> NumberRows:
    """All numbers behind the head; commas are understood, everything else is refused."""
    body, start = text.body, text.rows_start
    rows = number_rows(body, start)
    if rows.stopped_at >= 0:
        place = rows.stopped_at
        line = text.rows_line + int(np.count_nonzero(body[start:place] == 10))
        word = re.match(rb"\S*", body[place : place + 200].tobytes())[0]  # type: ignore[index]
        if place + len(word) == len(body) and re.fullmatch(rb"[+-]?\d*\.?\d*([eE][+-]?)?", word):
            return number_rows(body[:place], start)  # cut off within a number
        if b"," not in word:
            _refuse_word(word.decode("utf-8", "replace"), rows, columns, path, line)
        tail = body[start:].tobytes()
        if re.search(rb"\d,\d+(?=[\s,]|$)", word) and b"." not in tail and word.count(b",") == 1:
            repairs.add("decimal commas read as points", line=line)
            tail = tail.replace(b",", b".")
        else:
            repairs.add("values are separated by commas", line=line)
            tail = tail.replace(b",", b" ")
        rows = number_rows(np.frombuffer(tail, np.uint8))
        if rows.stopped_at >= 0:
            word = re.match(rb"\S*", tail[rows.stopped_at : rows.stopped_at + 200])[0]  # type: ignore[index]
            line = text.rows_line + tail.count(b"\n", 0, rows.stopped_at)
            _refuse_word(word.decode("utf-8", "replace"), rows, columns, path, line)
    if rows.glued_at >= 0:
        repairs.add("numbers run together, split at the sign", line=text.rows_line + rows.glued_at)
    return rows


def _breaks_off(text: BvhText) -> bool:
    return text.body[-1] not in b"\r\n"


def _refuse_word(word: str, rows: NumberRows, columns: list[str], path, line: int) -> NoReturn:
    column = columns[(len(rows.values) - int(rows.line_starts[-2:][0])) % len(columns)]
    if re.search(r"nan|inf|#", word, re.IGNORECASE):
        problem = (
            f"{word[:40]!r} where the {column} should be: a gap in the capture? "
            "Fill it in the program that wrote the file"
        )
    else:
        problem = f"expected a number for the {column}, found {word[:40]!r}"
    raise MotionFormatError(problem, path=path, line=line)


def _declared_frames(text: BvhText, path, repairs: Repairs) -> int | None:
    if text.frames is None:
        return None
    if re.fullmatch(r"[+]?[0-9]+", text.frames) and len(text.frames) < 20:
        return int(text.frames)
    try:
        value = float(text.frames)
    except ValueError:
        value = float("nan")
    if not (value >= 0 and value == int(min(value, 1e18))):
        raise MotionFormatError(
            f"expected the number of frames, found {text.frames[:40]!r}",
            path=path,
            line=text.frames_line,
        )
    repairs.add("Frames is not a whole number", line=text.frames_line)
    return int(value)


def _reflowed(rows, lengths, width, declared, odd, line_of, path, repairs, partial):
    """Values of a table whose lines are not its rows, if there is one way to cut it."""
    total = len(rows.values)
    last = len(lengths) - 1
    whole = total // width
    # A cut-off last row behind whole ones.
    if odd.size == 1 and odd[0] == last and lengths[last] < width and last > 0:
        enough = declared is not None and last >= declared
        if enough or partial:
            repairs.add("an incomplete last row dropped", line=line_of(last))
            return rows.values[: last * width]
        raise MotionFormatError(
            f"the last row has {lengths[last]} of {width} values: the file was cut off. "
            "To read the whole rows before it, use partial=True",
            path=path,
            line=line_of(last),
        )
    if total % width == 0 and (declared is None or abs(whole - declared) <= 1):
        row_starts = np.arange(whole) * width
        if np.all(np.isin(row_starts, rows.line_starts)):
            repairs.add("rows wrapped over several lines", line=line_of(odd[0]))
            return rows.values
        if np.all(lengths % width == 0):
            repairs.add("several rows on one line", line=line_of(odd[0]))
            return rows.values
        # Wrapped at a fixed count, whatever the rows: no line is longer or shorter by itself.
        if whole == declared and last > 0 and np.all(lengths[:-1] == lengths[0]):
            repairs.add("values wrapped without regard to rows", line=line_of(odd[0]))
            return rows.values
    raise MotionFormatError(
        f"expected {width} values, one per channel; got {lengths[odd[0]]}",
        path=path,
        line=line_of(odd[0]),
    )
