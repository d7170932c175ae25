"""Reader for Acclaim files: a skeleton in an ``.asf`` file and motions in ``.amc`` files.

Bones become joints. A joint is at the start of its bone and has the bone's name, and the end of the
last bone of a limb becomes an end site. An AMC file has no frame rate. The default is 120 fps, as
in the CMU database, with a warning in ``motion.origin.warnings``.

A frame is a line with the frame number, followed by one line per bone, which contains the bone name
and one value per degree of freedom. One pass over the bytes parses the names and replaces them with
spaces, so that only rows of numbers remain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats.acclaim.skeleton import AcclaimSkeleton, Bone, read_skeleton, rotation_order
from motionloom.formats.conventions import (
    Repairs,
    file_bytes,
    scaled_to_meters,
    started,
    to_y_up,
    unique_names,
    with_user_roles,
)
from motionloom.formats.inference import UNITS, Unit, infer_unit, infer_up, unit_from
from motionloom.formats.number_rows import number_rows
from motionloom.kernels import kernel
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.body import body_height
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.segment import intervals
from motionloom.ragged import offsets_of, row_of

_USUAL_RATE = 120.0  # the CMU database and HDM05
_ROOM = 10_000_000  # number of values, or joints times frames, that any file may contain
_CMU_LENGTH = 0.45  # ":units length" of the CMU database: 1 unit is 1/0.45 inch
_LIMIT = 1e7  # units or degrees; larger values are treated as errors
_GROWTH = 20  # the same limit for larger files, per value in the file
_BLANK, _NUMBERS, _UNKNOWN = -1, -2, -3  # kinds of lines; other values are the index of a bone


def read(
    path: str | Path,
    *,
    skeleton: str | Path | None = None,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    max_gap: float = 0.5,
    strict: bool = False,
) -> Motion:
    """Read one motion from an AMC file and its ASF skeleton; see `motionloom.load`.

    If `skeleton` is not set, the reader looks in the same folder for an ASF file with the same
    stem, then for one with the stem up to an underscore (``01.asf`` for ``01_01.amc``), and
    otherwise takes the only ASF file in the folder. The default unit is that of the CMU database if
    ``:units`` has ``length 0.45``; otherwise, the unit is inferred.
    """
    repairs = started(path, up=up, fps=fps, strict=strict)
    path = repairs.path
    if not max_gap >= 0.0:
        raise InvalidInput(
            f"max_gap must be a number of seconds that is not negative; got {max_gap}"
        )
    data = file_bytes(path, "an AMC file")
    skeleton_path = _skeleton_path(path, skeleton)
    skeleton_repairs = Repairs(skeleton_path, strict=strict)
    skeleton_data = file_bytes(skeleton_path, "an ASF file")
    acclaim = read_skeleton(skeleton_data, skeleton_path, skeleton_repairs)
    frames = read_frames(data, acclaim.bones, path, repairs)
    rate = _USUAL_RATE if fps is None else float(fps)
    rotations, root = _poses(acclaim, frames, path, repairs, most=int(max_gap * rate + 1e-6))
    body = with_user_roles(_skeleton(acclaim), roles)
    motion = Motion(body, rotations, root, rate, path.stem)
    warnings = []
    if fps is None:
        warnings.append("AMC files have no frame rate, so 120 fps is assumed. Set fps to change it")
    if up is None:
        up, warning = infer_up(motion)
        warnings += [warning] if warning else []
    motion = to_y_up(motion, up)
    scale = _unit(acclaim, motion.skeleton) if unit is None else Unit(unit_from(unit), "given")
    warnings += [scale.warning] if scale.warning else []
    origin = repairs.origin("acclaim", scale, up=up, frame_time=1.0 / rate, warnings=warnings)
    of_skeleton = [f"{skeleton_path.name}, {text}" for text in skeleton_repairs.sentences()]
    origin = replace(origin, repairs=(*of_skeleton, *origin.repairs))
    return replace(scaled_to_meters(motion, scale.meters), origin=origin)


def _skeleton_path(path: Path, asf: str | Path | None) -> Path:
    """Find the skeleton file of a motion."""
    if asf is not None:
        if not Path(asf).is_file():
            raise MotionFormatError(f"the skeleton file {str(asf)!r} does not exist", path=path)
        return Path(asf)
    siblings = {
        file.stem.lower(): file
        for file in sorted(path.parent.iterdir())
        if file.suffix.lower() == ".asf"
    }
    stem = path.stem.lower()
    for guess in (stem, stem.rpartition("_")[0], stem.partition("_")[0]):
        if guess in siblings:
            return siblings[guess]
    if len(siblings) == 1:
        return next(iter(siblings.values()))
    names = ", ".join(file.name for file in list(siblings.values())[:8]) or "none"
    raise MotionFormatError(
        f"an AMC file needs a skeleton, such as {path.stem}.asf in the same folder; .asf files in "
        f"this folder: {names}. Choose a skeleton with the option skeleton",
        path=path,
    )


def _skeleton(acclaim: AcclaimSkeleton) -> Skeleton:
    """Convert bones to joints. The offset of a joint is its parent's bone vector."""
    bones, parents = acclaim.bones, acclaim.parents
    offsets = [np.zeros(3) if parent <= 0 else bones[parent].tip for parent in parents]
    leaves = sorted(set(range(1, len(bones))) - set(parents))
    names = tuple(bone.name for bone in bones)
    end_names = unique_names((f"{names[leaf]}_End" for leaf in leaves), taken=names)
    return Skeleton(
        names,
        np.array(parents),
        np.array(offsets),
        tuple(end_names),
        np.array(leaves, np.int32),
        np.array([bones[leaf].tip for leaf in leaves]).reshape(-1, 3),
    )


def _poses(
    acclaim: AcclaimSkeleton, frames: AcclaimFrames, path: Path, repairs: Repairs, *, most: int
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the rotations (T, J, 4) and the root path (T, 3), with missing frames interpolated."""
    bones, starts = acclaim.bones, columns_of(acclaim.bones)
    degrees = acclaim.degrees if frames.degrees is None else frames.degrees
    times = frames.numbers - frames.numbers[0]
    count = _full_count(times, path, repairs, most)
    if count * len(bones) > max(_ROOM, 4 * frames.values.size):
        raise MotionFormatError(
            f"the file has values for almost none of its {len(bones)} bones in {count} frames",
            path=path,
        )
    rotations = np.empty((count, len(bones), 4), np.float32)
    root = np.zeros((count, 3))
    silent = []
    for index, bone in enumerate(bones):
        own = frames.values[:, starts[index] : starts[index + 1]]
        present = np.logical_not(np.isnan(own).any(axis=1))
        if bone.dof and not present.any():
            silent.append(bone.name)
        if not bone.dof or not present.any():
            if index == 0:
                raise MotionFormatError("no frame has a line for the root", path=path)
            rotations[:, index] = rot.IDENTITY
            continue
        _check_still(bone.name, bone.dof, own[present], path, is_root=index == 0)
        missing = int(np.count_nonzero(~present))
        if missing:
            longest = max(end - start for start, end in intervals(np.logical_not(present)))
            if longest > max(most, 1):
                raise MotionFormatError(
                    f"bone {bone.name!r} has no line in {longest} consecutive frames; at most "
                    f"{most} can be interpolated. To allow more, increase max_gap",
                    path=path,
                )
            repairs.add(f"bone {bone.name!r} was missing in {missing} frames and was interpolated")
        columns, axes = rotation_order(bone.dof)
        angles = own[present][:, columns]
        turns = rot.from_euler(np.radians(angles) if degrees else angles, axes)
        # The angles refer to the axes of the bone.
        turns = rot.multiply(rot.multiply(bone.frame, turns), rot.inverse(bone.frame))
        before, after, share = _places(times[present], count)
        whole = not share.any()  # true if no frame is missing
        rotations[:, index] = (
            turns[before] if whole else rot.slerp(turns[before], turns[after], share)
        )
        if index == 0:
            places = np.zeros((int(present.sum()), 3))
            for column, word in enumerate(bone.dof):
                if word in ("tx", "ty", "tz"):
                    places[:, "xyz".index(word[1])] = own[present][:, column]
            root = places[before] + share[:, None] * (places[after] - places[before]) + bone.tip
    if silent:
        repairs.add(f"no frame has values for {', '.join(silent)}; the rest pose is used")
    return rotations, root


def _full_count(times: NDArray[np.int64], path: Path, repairs: Repairs, most: int) -> int:
    """Return the number of frames, including missing ones; raise if too many are missing."""
    count = int(times[-1]) + 1
    missing = count - len(times)
    if missing:
        longest = int(np.diff(times).max()) - 1
        if longest > most or missing > len(times):
            raise MotionFormatError(
                f"{missing} frames are missing, up to {longest} in a row; at most {most} in a "
                "row can "
                f"be interpolated. To allow more, increase max_gap",
                path=path,
            )
        repairs.add(f"{missing} missing frames were interpolated, up to {longest} in a row")
    return count


def _places(times: NDArray[np.int64], count: int):
    """Return the known frames before and after each frame, and its fraction of the way between."""
    wanted = np.arange(count)
    after = np.clip(np.searchsorted(times, wanted), 0, len(times) - 1)
    before = np.where(times[after] > wanted, np.maximum(after - 1, 0), after)
    span = np.maximum(times[after] - times[before], 1)
    return before, after, np.clip((wanted - times[before]) / span, 0.0, 1.0)


def _check_still(name: str, dof, values, path: Path, *, is_root: bool) -> None:
    """Raise an error if a bone below the root translates or changes length."""
    for column, word in enumerate(dof):
        if not word.startswith("r") and not (is_root and word != "l") and values[:, column].any():
            raise MotionFormatError(
                f"bone {name!r} has values for {word!r}, but below the root only rotations can be "
                "read",
                path=path,
            )


def _unit(acclaim: AcclaimSkeleton, skeleton: Skeleton) -> Unit:
    height = body_height(skeleton)
    if abs(acclaim.length_unit - _CMU_LENGTH) < 1e-6:
        meters = UNITS["cmu"]
        if height is None or 1.0 <= height * meters <= 2.5:
            return Unit(
                meters,
                "cmu: the skeleton file states length 0.45, which means that a unit is 1/0.45 inch",
            )
    return infer_unit(skeleton)


@dataclass(frozen=True)
class AcclaimFrames:
    """The values for all bones in all frames of an AMC file.

    Attributes
    ----------
    numbers : ndarray of int, shape (F,)
        Frame numbers in increasing order. Some may be missing.
    values : ndarray, shape (F, C)
        One column per degree of freedom, grouped by bone. Values are NaN where a bone has no line.
    degrees : bool or None
        True if the header says that angles are in degrees, None if it does not say.
    """

    numbers: NDArray[np.int64]
    values: NDArray[np.float64]
    degrees: bool | None


def read_frames(data: bytes, bones: list[Bone], path: Path, repairs: Repairs) -> AcclaimFrames:
    """Parse the frames in an AMC file, given the bones of its skeleton."""
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    degrees, start = _header(data, repairs)
    body = np.frombuffer(data, np.uint8).copy()
    body[:start][body[:start] != 10] = 32  # keeps the line numbers correct
    lines, unknown_at = _lines(body, bones)
    if unknown_at >= 0:
        _refuse_name(data, unknown_at, bones, path)
    rows = number_rows(body)
    if rows.stopped_at >= 0:
        line = data.count(b"\n", 0, rows.stopped_at) + 1
        word = re.match(rb"\S*", data[rows.stopped_at : rows.stopped_at + 80])[0]  # type: ignore[index]
        _refuse(f"expected a number, found {word.decode('utf-8', 'replace')[:40]!r}", path, line)
    if rows.glued_at >= 0:
        repairs.add(
            "numbers without a space between them were split at the sign", line=rows.glued_at + 1
        )
    kinds = lines[rows.line_numbers]
    _check_counts(rows, kinds, lines, bones, path)
    heads = np.flatnonzero(kinds == _NUMBERS)
    if heads.size == 0:
        _refuse("the file has no frames", path, None)
    if heads[0] != 0:
        _refuse(
            "a line for a bone comes before the first frame number",
            path,
            int(rows.line_numbers[0]) + 1,
        )
    numbers = _frame_numbers(rows, heads, path)
    values = _table(rows, kinds, heads, bones, path)
    return AcclaimFrames(numbers, values, degrees)


def columns_of(bones: list[Bone]) -> NDArray[np.int64]:
    """Return the first column of each bone in `AcclaimFrames.values`, and the column count."""
    return offsets_of([len(bone.dof) for bone in bones])


def _header(data: bytes, repairs: Repairs) -> tuple[bool | None, int]:
    """Return the angle unit stated in the header, and the end of the header."""
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
    """Blank out the names; return each line's kind and the offset of the first unknown name."""
    names = [bone.name.encode() for bone in bones]
    starts = offsets_of([len(name) for name in names])
    letters = np.frombuffer(b"".join(names), np.uint8)
    lines = np.full(int(np.count_nonzero(body == 10)) + 1, _BLANK, np.int64)
    unknown_at = _blank_names(body, letters, starts, lines)
    return lines, unknown_at


@kernel
def _blank_names(body, letters, starts, lines):
    """Write the kind of every line to `lines`, and replace names and comments with spaces.

    body (B,) contains the bytes of the file and is changed. letters contains the names of all
    bones, concatenated, and starts (bones + 1,) the start of each name. lines (L,) must be
    initialized with `_BLANK`. Returns the position of the first unknown name, or -1.

    The kernel makes one pass, byte by byte, without strings, so the file stays one array from which
    `number_rows` reads the remaining numbers.
    """
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
        if (c >= 48 and c <= 57) or c == 43 or c == 45 or c == 46:  # digit, plus, minus, point
            lines[line] = _NUMBERS
        else:
            # Frames repeat the bones in the same order, so the next one is tried first.
            match = _UNKNOWN
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
                    match = bone
                    break
            lines[line] = match
            if match == _UNKNOWN:
                return position
            expected = match + 1
            for k in range(position, end):
                body[k] = 32
        # Skip to the end of the line or to a comment; a "#" inside a word is part of the word.
        while end < n and body[end] != 10 and not (body[end] == 35 and body[end - 1] <= 32):
            end += 1
        position = end
    return -1


def _check_counts(rows, kinds, lines, bones: list[Bone], path: Path) -> None:
    """Raise an error unless every line has one value per degree of freedom of its bone."""
    lengths = np.diff(rows.line_starts)
    wanted = np.array([*(len(bone.dof) for bone in bones), 0, 1, 0])  # -2: a frame number
    odd = np.flatnonzero(lengths != wanted[kinds])
    if odd.size:
        row = int(odd[0])
        kind, line = int(kinds[row]), int(rows.line_numbers[row]) + 1
        what = "a frame number" if kind == _NUMBERS else f"bone {bones[kind].name!r}"
        _refuse(f"{what} needs {wanted[kind]} values; found {lengths[row]}", path, line)
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
            f"frame {numbers[back[0] + 1]} follows frame {numbers[back[0]]}, but frame numbers "
            f"must increase",
            path,
            line_of(back[0] + 1),
        )
    return numbers


def _table(rows, kinds, heads, bones: list[Bone], path: Path) -> NDArray[np.float64]:
    """Return values by frame and column (F, C), with NaN where a bone has no line in a frame."""
    starts = columns_of(bones)
    if len(heads) * int(starts[-1]) > max(_ROOM, _GROWTH * len(rows.values)):
        _refuse("most frames have no lines for most bones", path, None)
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
            _refuse(f"bone {bones[bone].name!r} occurs twice in one frame", path, line)
        first = rows.line_starts[own]
        for place in range(len(bones[bone].dof)):
            values[frames, starts[bone] + place] = rows.values[first + place]
    wild = np.abs(values) >= _LIMIT  # False for NaN, which marks a missing line
    if wild.any():
        frame, column = (int(place) for place in np.argwhere(wild)[0])
        bone = int(row_of(starts, column))
        line = int(rows.line_numbers[heads[frame]]) + 1
        _refuse(
            f"bone {bones[bone].name!r} has the implausible value {values[frame, column]:g} in the "
            "frame that starts here",
            path,
            line,
        )
    return values


def _refuse_name(data: bytes, place: int, bones: list[Bone], path: Path) -> NoReturn:
    word = re.match(rb"\S*", data[place : place + 200])[0].decode("utf-8", "replace")  # type: ignore[index]
    names = ", ".join(bone.name for bone in bones[:40])
    _refuse(
        f"the skeleton has no bone called {word[:40]!r}; is this the right .asf file? Its bones "
        f"are: {names}",
        path,
        data.count(b"\n", 0, place) + 1,
    )


def _refuse(problem: str, path: Path, line: int | None) -> NoReturn:
    raise MotionFormatError(problem, path=path, line=line)
