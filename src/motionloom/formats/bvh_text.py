"""The bytes of a BVH file made plain: one encoding, one line end, and where its parts lie."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.repairs import Repairs

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
    """A BVH file in its parts, not yet understood.

    Attributes
    ----------
    hierarchy : str
        Everything before MOTION.
    body : ndarray of uint8, shape (N,)
        The whole file as bytes; the rows begin at byte `rows_start`, on line `rows_line`.
    frames, frame_time : str or None
        What stands behind ``Frames:`` and ``Frame Time:``, with their lines.
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
    """Decode and cut the bytes of a file into hierarchy, counts and rows."""
    data = _plain_text(data, path, repairs)
    motion = _motion_keyword(data)
    if motion is None:
        _refuse_without_motion(data, path, repairs)
    if motion.start() > _MAX_HIERARCHY:
        raise MotionFormatError(
            f"the hierarchy is longer than {_MAX_HIERARCHY >> 20} MB; this is no skeleton",
            path=path,
            line=1,
        )
    keyword = data[motion.start() : motion.end()].strip()
    line = data.count(b"\n", 0, data.index(keyword, motion.start())) + 1
    if keyword != b"MOTION":
        repairs.add("keywords in other case", line=line)
    if _MOTION_LINE.match(data, motion.start()) is None:
        repairs.add("the word MOTION shares its line", line=line)
    position, found, place = motion.end(), {}, line
    for _ in range(2):
        for name, pattern in (("frames", _FRAMES), ("time", _FRAME_TIME)):
            match = pattern.match(data, position)
            if match is None or name in found:
                continue
            place = data.count(b"\n", 0, match.start(1)) + 1
            spelling = match[1].decode("ascii")
            if spelling not in ("Frames", "Frame Time") or not match[2]:
                repairs.add(f"{spelling!r} is not spelt as the specification says", line=place)
            if name == "frames" and "time" in found:
                repairs.add("Frame Time stands before Frames", line=place)
            found[name] = (match[3].decode("utf-8", "replace"), place)
            position = match.end()
    rest = re.match(rb"[ \t]*([^\s]+)", data[position : position + 1000])
    if rest is not None and found:
        if not re.match(rb"[-+.0-9]", rest[1]):
            word = rest[1].decode("utf-8", "replace")[:40]
            raise MotionFormatError(
                f"expected a number alone behind Frame Time, found {word!r} as well",
                path=path,
                line=place,
            )
        repairs.add("a row stands on the line of Frame Time", line=place)
    frames, frames_line = found.get("frames", (None, line))
    frame_time, time_line = found.get("time", (None, line))
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
    """Where the word MOTION stands; the usual spelling is found without a pattern."""
    place = data.find(b"\nMOTION") + 1
    if place and b"motion" not in data[:place].lower():
        match = _MOTION_LINE.match(data, place)
        if match is not None:
            return match
    return _MOTION_LINE.search(data) or _MOTION_WORD.search(data)


def _plain_text(data: bytes, path: str | Path, repairs: Repairs) -> bytes:
    r"""UTF-8 (or a one-byte encoding) without mark, with ``\n`` or ``\r\n`` line ends."""
    if not data or data.isspace():
        raise MotionFormatError("the file is empty", path=path, line=1)
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            repairs.add(f"the file starts with a {encoding.upper()} byte order mark", line=1)
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
        repairs.add("lines end in CR alone")
        data = data.replace(b"\r", b"\n")
    return data


def _without_padding(data: bytes, path: str | Path, repairs: Repairs) -> bytes:
    """Without NUL and Ctrl-Z behind the last row; NUL anywhere else is refused."""
    stripped = data.rstrip(b"\x00\x1a \t\r\n")
    if b"\x00" in stripped:
        line = stripped.count(b"\n", 0, stripped.index(b"\x00")) + 1
        raise MotionFormatError(
            "the file is binary (it holds NUL bytes); a BVH file is text", path=path, line=line
        )
    if b"\x00" in data[len(stripped) :] or b"\x1a" in data[len(stripped) :]:
        repairs.add("padding behind the last row dropped (NUL or Ctrl-Z)")
        data = stripped + b"\n"
    return data


def _decode_names(head: bytes, repairs: Repairs) -> str:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        line = head.count(b"\n", 0, error.start) + 1
        repairs.add("names are not UTF-8; read as Latin-1", line=line)
        text = head.decode("latin-1")
    text = text.replace("\r\n", "\n")
    if "\r" in text:
        repairs.add("some lines end in CR alone")
        text = text.replace("\r", "\n")
    return text


def _refuse_without_motion(data: bytes, path: str | Path, repairs: Repairs) -> NoReturn:
    """Say what is wrong with a file that has no MOTION: not a BVH file, or cut off."""
    from motionloom.formats.bvh_hierarchy import read_hierarchy

    head = data[:_MAX_HIERARCHY].decode("latin-1").replace("\r\n", "\n")
    read_hierarchy(head, 1, path, repairs)  # usually knows better where it went wrong
    raise MotionFormatError(
        "the word MOTION is missing: the file has no rows of motion",
        path=path,
        line=data.rstrip().count(b"\n") + 1,
    )
