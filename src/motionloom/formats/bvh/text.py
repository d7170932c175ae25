"""BVH text: decoding, splitting into parts, and parsing the table of channel values."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.conventions import Repairs
from motionloom.formats.number_rows import NumberRows, number_rows

_MAX_HIERARCHY = 16 << 20  # bytes; 4096 joints need about one million
_MOTION_LINE = re.compile(rb"^[ \t]*MOTION[ \t]*$|\bMOTION\s+(?=Frames\b)", re.I | re.M)
_MOTION_WORD = re.compile(rb"(?<=[\s}])MOTION(?=\s|$)", re.I)
_FRAMES = re.compile(rb"\s*(Frames)[ \t]*(:?)[ \t]*([^\s:]*)", re.I)
_FRAME_TIME = re.compile(rb"\s*(Frame[ \t]*Time)[ \t]*(:?)[ \t]*([^\s:]*)", re.I)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class BvhText:
    """Parts of a BVH file before parsing.

    Attributes
    ----------
    hierarchy : str
        Everything before MOTION.
    body : ndarray of uint8, shape (N,)
        The whole file as bytes. The rows start at byte `rows_start`, in line `rows_line`.
    frames, frame_time : str or None
        Words after ``Frames:`` and ``Frame Time:``, in lines `frames_line` and `frame_time_line`.
    """

    hierarchy: str
    body: NDArray[np.uint8]
    rows_start: int
    rows_line: int
    frames: str | None
    frames_line: int
    frame_time: str | None
    frame_time_line: int


def split_bvh(data: bytes, path: str | Path, repairs: Repairs) -> BvhText:
    """Decode the bytes of a file and split them into hierarchy, counts and rows."""
    data = _plain_text(data, path, repairs)
    motion = _motion_keyword(data)
    if motion is None:
        _refuse_without_motion(data, path, repairs)
    if motion.start() > _MAX_HIERARCHY:
        raise MotionFormatError(
            f"the hierarchy is longer than {_MAX_HIERARCHY >> 20} MB; this is not a skeleton",
            path=path,
            line=1,
        )
    keyword = data[motion.start() : motion.end()].strip()
    line = data.count(b"\n", 0, data.index(keyword, motion.start())) + 1
    if keyword != b"MOTION":
        repairs.add("keywords had unusual capitalization", line=line)
    if _MOTION_LINE.match(data, motion.start()) is None:
        repairs.add("the word MOTION shared its line with other text", line=line)
    position, entries, place = motion.end(), {}, line
    for _ in range(2):
        for name, pattern in (("frames", _FRAMES), ("time", _FRAME_TIME)):
            match = pattern.match(data, position)
            if match is None or name in entries:
                continue
            place = data.count(b"\n", 0, match.start(1)) + 1
            spelling = match[1].decode("ascii")
            if spelling not in ("Frames", "Frame Time") or not match[2]:
                repairs.add(f"{spelling!r} was not spelled as in the specification", line=place)
            if name == "frames" and "time" in entries:
                repairs.add("Frame Time came before Frames", line=place)
            entries[name] = (match[3].decode("utf-8", "replace"), place)
            position = match.end()
    rest = re.match(rb"[ \t]*([^\s]+)", data[position : position + 1000])
    if rest is not None and entries:
        if not re.match(rb"[-+.0-9]", rest[1]):
            word = rest[1].decode("utf-8", "replace")[:40]
            raise MotionFormatError(
                f"expected only a number after Frame Time, found {word!r} as well",
                path=path,
                line=place,
            )
        repairs.add("a row was on the same line as Frame Time", line=place)
    frames, frames_line = entries.get("frames", (None, line))
    frame_time, time_line = entries.get("time", (None, line))
    return BvhText(
        hierarchy=_decode_names(data[: motion.start()], repairs),
        body=np.frombuffer(data, np.uint8),
        rows_start=position,
        rows_line=data.count(b"\n", 0, position) + 1,
        frames=frames,
        frames_line=frames_line,
        frame_time=frame_time,
        frame_time_line=time_line,
    )


def _motion_keyword(data: bytes) -> re.Match[bytes] | None:
    """Find the word MOTION. The common spelling is found without a regular expression."""
    place = data.find(b"\nMOTION") + 1
    if place and b"motion" not in data[:place].lower():
        match = _MOTION_LINE.match(data, place)
        if match is not None:
            return match
    return _MOTION_LINE.search(data) or _MOTION_WORD.search(data)


def _plain_text(data: bytes, path: str | Path, repairs: Repairs) -> bytes:
    r"""Return UTF-8 (or one-byte) text without a byte order mark or bare ``\r`` line ends."""
    if not data or data.isspace():
        raise MotionFormatError("the file is empty", path=path, line=1)
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            repairs.add(f"the file started with a {encoding.upper()} byte order mark", line=1)
            if encoding == "utf-8":
                data = data[len(mark) :]
                break
            try:
                data = data.decode(encoding).encode("utf-8")
            except UnicodeError:
                raise MotionFormatError(
                    f"the file claims to be {encoding.upper()} but is not",
                    path=path,
                    line=1,
                ) from None
            break
    if b"\x00" in data or b"\x1a" in data:
        data = _without_padding(data, path, repairs)
    if b"\r" in data and b"\n" not in data:
        repairs.add("lines ended in CR alone")
        data = data.replace(b"\r", b"\n")
    return data


def _without_padding(data: bytes, path: str | Path, repairs: Repairs) -> bytes:
    """Remove NUL and Ctrl-Z after the last row. Raise an error for NUL anywhere else."""
    stripped = data.rstrip(b"\x00\x1a \t\r\n")
    if b"\x00" in stripped:
        line = stripped.count(b"\n", 0, stripped.index(b"\x00")) + 1
        raise MotionFormatError(
            "the file is binary (it contains NUL bytes), but a BVH file must be text",
            path=path,
            line=line,
        )
    if b"\x00" in data[len(stripped) :] or b"\x1a" in data[len(stripped) :]:
        repairs.add("padding after the last row (NUL or Ctrl-Z) was dropped")
        data = stripped + b"\n"
    return data


def _decode_names(head: bytes, repairs: Repairs) -> str:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        repairs.add("names were not UTF-8 and were read as Latin-1", line=line)
        text = head.decode("latin-1")
    text = text.replace("\r\n", "\n")
    if "\r" in text:
        repairs.add("some lines ended in CR alone")
        text = text.replace("\r", "\n")
    return text


def _refuse_without_motion(data: bytes, path: str | Path, repairs: Repairs) -> NoReturn:
    """Raise an error for a file without a MOTION section: it is truncated or not BVH."""
    from motionloom.formats.bvh.hierarchy import read_hierarchy

    head = data[:_MAX_HIERARCHY].decode("latin-1").replace("\r\n", "\n")
    read_hierarchy(head, 1, path, repairs)  # usually raises a more precise error
    raise MotionFormatError(
        "the word MOTION is missing, so the file has no frames",
        path=path,
        line=data.rstrip().count(b"\n") + 1,
    )


_LIMIT = 1e7  # units or degrees; larger values are treated as errors


def read_rows(
    text: BvhText,
    columns: list[str],
    path: str | Path,
    repairs: Repairs,
    *,
    partial: bool = False,
) -> NDArray[np.float64]:
    """Return the channel values, shape (T, C).

    Parameters
    ----------
    text : BvhText
        Parts of the file.
    columns : list of str, length C
        Description of each column for messages, such as ``"Zrotation of LeftArm"``.
    path : str or Path
        Path of the file, for messages.
    repairs : Repairs
        Object to which repairs are added.
    partial : bool
        Read the complete rows of a truncated file instead of raising an error.
    """
    rows = _numbers(text, columns, path, repairs)
    line_of = lambda row: text.rows_line + int(rows.line_numbers[row])  # noqa: E731
    declared = _declared_frames(text, path, repairs)
    width = len(columns)
    lengths = np.diff(rows.line_starts)
    values = rows.values
    if values.size == 0:
        raise MotionFormatError(
            "the file has no rows of channel values", path=path, line=text.frames_line
        )
    odd = np.flatnonzero(lengths != width)
    if odd.size:
        values = _reflowed(rows, lengths, width, declared, odd, line_of, path, repairs, partial)
    table = values.reshape(-1, width)
    whole = len(values) == len(rows.values)  # true if no incomplete row was dropped
    if whole and declared is not None and len(table) < declared and _is_truncated(text):
        # The file may be truncated within a number, which makes the last value unreliable.
        if not partial:
            raise MotionFormatError(
                f"Frames says {declared} but the file ends in row {len(table)}. "
                "To read the complete rows before it, set partial",
                path=path,
                line=line_of(len(lengths) - 1),
            )
        repairs.add("the last row was dropped because it may be cut off")
        table = table[:-1]
        if len(table) == 0:
            raise MotionFormatError(
                "the file has no complete row of channel values", path=path, line=line_of(0)
            )
    complete = len(table)
    if declared is None:
        repairs.add("Frames was missing, so the rows were counted", line=text.frames_line)
    elif complete < declared - 1 and not partial:
        raise MotionFormatError(
            f"Frames says {declared} but the file ends after {complete} rows: it was cut off, or "
            f"the count is wrong. To read these rows, set partial",
            path=path,
            line=line_of(len(lengths) - 1),
        )
    elif complete != declared:
        repairs.add(
            f"Frames says {declared}, but the file has {complete} rows", line=text.frames_line
        )
    if not (table.max() < _LIMIT and table.min() > -_LIMIT):
        wild = ~(np.abs(table) < _LIMIT)
        frame, column = np.argwhere(wild)[0]
        row = int(np.searchsorted(rows.line_starts, frame * width + column, side="right")) - 1
        raise MotionFormatError(
            f"{columns[column]} has the implausible value {table[frame, column]:g}",
            path=path,
            line=line_of(row),
        )
    return table


def _numbers(text: BvhText, columns: list[str], path, repairs: Repairs) -> NumberRows:
    """Parse all numbers in the rows. Commas are accepted. Anything else raises an error."""
    body, start = text.body, text.rows_start
    rows = number_rows(body, start)
    if rows.stopped_at >= 0:
        place = rows.stopped_at
        line = text.rows_line + int(np.count_nonzero(body[start:place] == 10))
        word = re.match(rb"\S*", body[place : place + 200].tobytes())[0]  # type: ignore[index]
        if place + len(word) == len(body) and re.fullmatch(rb"[+-]?\d*\.?\d*([eE][+-]?)?", word):
            return number_rows(body[:place], start)  # truncated within a number
        if b"," not in word:
            _refuse_word(word.decode("utf-8", "replace"), rows, columns, path, line)
        tail = body[start:].tobytes()
        if re.search(rb"\d,\d+(?=[\s,]|$)", word) and b"." not in tail and word.count(b",") == 1:
            repairs.add("decimal commas were read as decimal points", line=line)
            tail = tail.replace(b",", b".")
        else:
            repairs.add("values were separated by commas", line=line)
            tail = tail.replace(b",", b" ")
        rows = number_rows(np.frombuffer(tail, np.uint8))
        if rows.stopped_at >= 0:
            word = re.match(rb"\S*", tail[rows.stopped_at : rows.stopped_at + 200])[0]  # type: ignore[index]
            line = text.rows_line + tail.count(b"\n", 0, rows.stopped_at)
            _refuse_word(word.decode("utf-8", "replace"), rows, columns, path, line)
    if rows.glued_at >= 0:
        repairs.add(
            "numbers without a space between them were split at the sign",
            line=text.rows_line + rows.glued_at,
        )
    return rows


def _is_truncated(text: BvhText) -> bool:
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
    repairs.add("Frames was not a whole number", line=text.frames_line)
    return int(value)


def _reflowed(rows, lengths, width, declared, odd, line_of, path, repairs, partial):
    """Return the values of a table whose lines are not rows, if only one split is possible."""
    total = len(rows.values)
    last = len(lengths) - 1
    whole = total // width
    # The last row is truncated.
    if odd.size == 1 and odd[0] == last and lengths[last] < width and last > 0:
        enough = declared is not None and last >= declared
        if enough or partial:
            repairs.add("an incomplete last row was dropped", line=line_of(last))
            return rows.values[: last * width]
        raise MotionFormatError(
            f"the last row has {lengths[last]} of {width} values: the file was cut off. "
            "To read the complete rows before it, set partial",
            path=path,
            line=line_of(last),
        )
    if total % width == 0 and (declared is None or abs(whole - declared) <= 1):
        row_starts = np.arange(whole) * width
        if np.all(np.isin(row_starts, rows.line_starts)):
            repairs.add("rows were wrapped over several lines", line=line_of(odd[0]))
            return rows.values
        if np.all(lengths % width == 0):
            repairs.add("several rows were on one line", line=line_of(odd[0]))
            return rows.values
        # Lines are wrapped at a fixed number of values.
        if whole == declared and last > 0 and np.all(lengths[:-1] == lengths[0]):
            repairs.add("values were wrapped without regard to rows", line=line_of(odd[0]))
            return rows.values
    raise MotionFormatError(
        f"expected {width} values, one per channel; got {lengths[odd[0]]}",
        path=path,
        line=line_of(odd[0]),
    )
