"""Frames of an AMC file.

A frame is a line with its number, then one line per bone: its name and one value per degree of
freedom. The names are parsed and blanked out in one pass over the bytes; the rest is rows of
numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.acclaim.skeleton import Bone
from motionloom.formats.conventions import Repairs
from motionloom.formats.number_rows import number_rows
from motionloom.kernels import kernel
from motionloom.ragged import offsets_of, row_of

_LIMIT = 1e7  # units or degrees; larger values are errors
_ROOM = 10_000_000  # values that any file may expand to
_GROWTH = 20  # or, for larger files, per value in the file
_BLANK, _NUMBERS, _UNKNOWN = -1, -2, -3  # kinds of lines; otherwise the index of a bone


@dataclass(frozen=True)
class AcclaimFrames:
    """Values of all bones in all frames of the file.

    Attributes
    ----------
    numbers : ndarray of int, shape (F,)
        Frame numbers, increasing; frames may be missing.
    values : ndarray, shape (F, C)
        One column per degree of freedom, bone by bone; NaN where a bone has no line.
    degrees : bool or None
        Whether angles are in degrees, if the header says so.
    """

    numbers: NDArray[np.int64]
    values: NDArray[np.float64]
    degrees: bool | None


def read_frames(data: bytes, bones: list[Bone], path: Path, repairs: Repairs) -> AcclaimFrames:
    """The frames in the bytes of an AMC file for the bones of its skeleton."""
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    degrees, start = _header(data, repairs)
    body = np.frombuffer(data, np.uint8).copy()
    body[:start][body[:start] != 10] = 32  # line numbers stay those of the file
    lines, unknown_at = _lines(body, bones)
    if unknown_at >= 0:
        _refuse_name(data, unknown_at, bones, path)
    rows = number_rows(body)
    if rows.stopped_at >= 0:
        line = data.count(b"\n", 0, rows.stopped_at) + 1
        word = re.match(rb"\S*", data[rows.stopped_at : rows.stopped_at + 80])[0]  # type: ignore[index]
        _refuse(f"expected a number, found {word.decode('utf-8', 'replace')[:40]!r}", path, line)
    if rows.glued_at >= 0:
        repairs.add("numbers run together, split at the sign", line=rows.glued_at + 1)
    kinds = lines[rows.line_numbers]
    _check_counts(rows, kinds, lines, bones, path)
    heads = np.flatnonzero(kinds == _NUMBERS)
    if heads.size == 0:
        _refuse("there are no frames", path, None)
    if heads[0] != 0:
        _refuse("a bone line before the first frame number", path, int(rows.line_numbers[0]) + 1)
    numbers = _frame_numbers(rows, heads, path)
    values = _table(rows, kinds, heads, bones, path)
    return AcclaimFrames(numbers, values, degrees)


def columns_of(bones: list[Bone]) -> NDArray[np.int64]:
    """First column of each bone in `AcclaimFrames.values`; the number of columns at the end."""
    return offsets_of([len(bone.dof) for bone in bones])


def _header(data: bytes, repairs: Repairs) -> tuple[bool | None, int]:
    """Angle unit in the lines before the first frame, and the end of these lines."""
    degrees, full, place = None, False, 0
    for match in re.finditer(rb"[^\n]*\n?", data):
        word = match[0].split(b"#", 1)[0].strip().lstrip(b"\xef\xbb\xbf").upper()
        if word.startswith(b":"):
            degrees = {b":DEGREES": True, b":RADIANS": False}.get(word, degrees)
            full = full or word.startswith(b":FULLY")
        elif word:
            break
        place = match.end()
    if not full:
        repairs.add("the header does not say :FULLY-SPECIFIED")
    return degrees, place


def _lines(body: NDArray[np.uint8], bones: list[Bone]) -> tuple[NDArray[np.int64], int]:
    """Kind of every line, and the byte of the first unknown name; blanks out names."""
    names = [bone.name.encode() for bone in bones]
    starts = offsets_of([len(name) for name in names])
    letters = np.frombuffer(b"".join(names), np.uint8)
    lines = np.full(int(np.count_nonzero(body == 10)) + 1, _BLANK, np.int64)
    unknown_at = _blank_names(body, letters, starts, lines)
    return lines, unknown_at


@kernel
def _blank_names(body, letters, starts, lines):
    n = body.shape[0]
    bones = starts.shape[0] - 1
    position, line, expected = 0, 0, 0
    while position < n:
        c = body[position]
        if c == 10:
            line += 1
            position += 1
            continue
        if c == 32 or c == 9 or c == 13 or c == 11 or c == 12:
            position += 1
            continue
        end = position
        while end < n and body[end] > 32:
            end += 1
        if c == 35:  # a comment, to the end of the line
            while position < n and body[position] != 10:
                body[position] = 32
                position += 1
            continue
        if (c >= 48 and c <= 57) or c == 43 or c == 45 or c == 46:
            lines[line] = -2
        else:
            # Frames repeat the bones in the same order: try the next one first.
            found = -3
            for step in range(bones):
                bone = (expected + step) % bones
                first = starts[bone]
                length = starts[bone + 1] - first
                if length != end - position:
                    continue
                same = True
                for k in range(length):
                    if letters[first + k] != body[position + k]:
                        same = False
                        break
                if same:
                    found = bone
                    break
            lines[line] = found
            if found == -3:
                return position
            expected = found + 1
            for k in range(position, end):
                body[k] = 32
        while end < n and body[end] != 10 and not (body[end] == 35 and body[end - 1] <= 32):
            end += 1
        position = end
    return -1


def _check_counts(rows, kinds, lines, bones: list[Bone], path: Path) -> None:
    """Raise unless every line has one value per degree of freedom of its bone."""
    lengths = np.diff(rows.line_starts)
    wanted = np.array([*(len(bone.dof) for bone in bones), 0, 1, 0])  # -2: a frame number
    odd = np.flatnonzero(lengths != wanted[kinds])
    if odd.size:
        row = int(odd[0])
        kind, line = int(kinds[row]), int(rows.line_numbers[row]) + 1
        what = "a frame number" if kind == _NUMBERS else f"bone {bones[kind].name!r}"
        _refuse(f"{what} needs {wanted[kind]} values, found {lengths[row]}", path, line)
    named = lines >= 0
    if int(np.count_nonzero(named)) != int(np.count_nonzero(kinds >= 0)):
        # A name without values is valid only for a bone without degrees of freedom.
        bare = named.copy()
        bare[rows.line_numbers] = False
        for bare_line in np.flatnonzero(bare):
            bone = bones[lines[bare_line]]
            if bone.dof:
                _refuse(
                    f"bone {bone.name!r} needs {len(bone.dof)} values, found none",
                    path,
                    int(bare_line) + 1,
                )


def _frame_numbers(rows, heads, path: Path) -> NDArray[np.int64]:
    values = rows.values[rows.line_starts[heads]]
    line_of = lambda index: int(rows.line_numbers[heads[index]]) + 1  # noqa: E731
    wrong = np.flatnonzero((values != np.rint(values)) | ~(np.abs(values) < 1e15))
    if wrong.size:
        _refuse(f"expected a frame number, found {values[wrong[0]]:g}", path, line_of(wrong[0]))
    numbers = values.astype(np.int64)
    back = np.flatnonzero(np.diff(numbers) <= 0)
    if back.size:
        _refuse(
            f"frame {numbers[back[0] + 1]} after frame {numbers[back[0]]}: "
            "frame numbers must increase",
            path,
            line_of(back[0] + 1),
        )
    return numbers


def _table(rows, kinds, heads, bones: list[Bone], path: Path) -> NDArray[np.float64]:
    """Values by frame and column, (F, C); NaN where a bone has no line in a frame."""
    starts = columns_of(bones)
    if len(heads) * int(starts[-1]) > max(_ROOM, _GROWTH * len(rows.values)):
        _refuse("most bones are missing in most frames", path, None)
    values = np.full((len(heads), int(starts[-1])), np.nan)
    frame_of_row = np.cumsum(kinds == _NUMBERS) - 1
    for bone, _ in enumerate(bones):
        own = np.flatnonzero(kinds == bone)
        if own.size == 0:
            continue
        frames = frame_of_row[own]
        twice = np.flatnonzero(np.diff(frames) == 0)
        if twice.size:
            line = int(rows.line_numbers[own[twice[0] + 1]]) + 1
            _refuse(f"bone {bones[bone].name!r} twice in one frame", path, line)
        first = rows.line_starts[own]
        for place in range(len(bones[bone].dof)):
            values[frames, starts[bone] + place] = rows.values[first + place]
    wild = np.abs(values) >= _LIMIT  # False for NaN, a missing line
    if wild.any():
        frame, column = (int(place) for place in np.argwhere(wild)[0])
        bone = int(row_of(starts, column))
        line = int(rows.line_numbers[heads[frame]]) + 1
        _refuse(
            f"{values[frame, column]:g} in bone {bones[bone].name!r} of the frame that starts "
            "here is not a plausible value",
            path,
            line,
        )
    return values


def _refuse_name(data: bytes, place: int, bones: list[Bone], path: Path) -> NoReturn:
    word = re.match(rb"\S*", data[place : place + 200])[0].decode("utf-8", "replace")  # type: ignore[index]
    known = ", ".join(bone.name for bone in bones[:40])
    _refuse(
        f"the skeleton has no bone called {word[:40]!r}; is this its .asf file? It has: {known}",
        path,
        data.count(b"\n", 0, place) + 1,
    )


def _refuse(problem: str, path: Path, line: int | None) -> NoReturn:
    raise MotionFormatError(problem, path=path, line=line)
