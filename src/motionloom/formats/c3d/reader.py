"""Reader for C3D files, the format of optical motion capture.

The reader uses only NumPy. The C++ library ezc3d is not used, because on 150 slightly damaged files
it crashed the process twice and allocated gigabytes of memory twice. The tests compare both readers
on valid files.

The reader supports three byte orders, integer and floating-point data, any first frame, more than
65,535 frames and more than 255 labels. Analog channels, force plates and events are not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.c3d.layout import (
    BLOCK,
    FULL,
    C3dHeader,
    DataLayout,
    data_layout,
    is_rough,
    read_header,
)
from motionloom.formats.conventions import (
    Repairs,
    file_bytes,
    nominal_rate,
    started,
    unique_names,
)
from motionloom.formats.inference import (
    UNITS,
    Unit,
    infer_marker_unit,
    infer_marker_up,
    marker_extent,
    positions_to_y_up,
    unit_from,
)
from motionloom.motion import Markers

_FARTHEST = 1e5  # meters; points farther away are treated as errors
_BODY = (0.7, 2.6)  # meters: extent of the markers on a body, from only the legs to a T-pose
# Parameters of the group POINT that list the labels of values that are not positions.
_MODEL_OUTPUTS = {"ANGLES", "FORCES", "MOMENTS", "POWERS", "REACTIONS", "SCALARS"}
_MODEL_OUTPUT_NAME = re.compile(r"[a-z](Angles?|Moments?|Forces?|Powers?|GRF|GRM)$")
_UNIT_WORDS = {
    **UNITS,
    **dict.fromkeys(("meter", "meters", "metre", "metres"), 1.0),
    **dict.fromkeys(("in", "inches"), 0.0254),
    **dict.fromkeys(("ft", "feet"), 0.3048),
}


def read(
    path: str | Path,
    *,
    unit: str | float | None = None,
    fps: float | None = None,
    up: str | None = None,
    subject: str | None = None,
    unlabeled: bool = False,
    zero_gaps: bool = False,
    partial: bool = False,
    strict: bool = False,
) -> Markers:
    """Read the markers of a C3D file; see `motionloom.load_markers` for the options.

    The default unit is POINT:UNITS. If that is missing, the unit is inferred from the extent of the
    markers. The default up axis is inferred from the markers on head and feet. If that is not
    possible, it is taken from POINT:Y_SCREEN, and otherwise z is assumed. If a file has a single
    subject, its name is removed from the labels. Points without a label are called ``*12``.
    """
    repairs = started(path, up=up, fps=fps, strict=strict)
    path = repairs.path
    data = file_bytes(path, "a C3D file")
    head = read_header(data, path, repairs)
    layout = data_layout(data, head, path, repairs)
    labels = _labels(head, layout.points, repairs)
    outputs = _model_outputs(head, labels)
    labels, columns = _chosen(labels, subject, unlabeled, outputs, path)
    raw = _points(data, head, layout, path, repairs, partial)[:, columns]
    if not layout.is_float:
        given = _unit_word(head) if unit is None else unit_from(unit)
        raw *= _scale(head, raw, given, path, repairs)
    if zero_gaps:
        raw[(raw == 0.0).all(axis=-1)] = np.nan
    warnings = _warnings(layout, raw)
    if outputs:
        some = ", ".join(sorted(outputs)[:4]) + (", ..." if len(outputs) > 4 else "")
        warnings.append(
            f"{len(outputs)} of the points are outputs of a biomechanical model, such as angles "
            f"and moments, not positions; they were skipped ({some})"
        )
    if is_rough(data, head, layout):
        warnings.append(
            "points jump from frame to frame, so the data may be misread; check them before use"
        )
    reason = "given"
    if up is None:
        up, reason = infer_marker_up(labels, raw, "".join(head.strings("POINT", "Y_SCREEN")[:1]))
        if "does not state it" in reason:
            warnings.append(f"the up axis is assumed to be {up}, {reason}. Set up to change it")
    scale = _unit(head, raw, unit, up)
    warnings += [scale.warning] if scale.warning else []
    far = np.abs(raw) > _FARTHEST / scale.meters
    if far.any():
        repairs.add(
            f"{int(far.any(axis=-1).sum())} points farther than 100 km away were read as gaps"
        )
        raw[far.any(axis=-1)] = np.nan
    rate = _rate(head, fps, path, repairs)
    origin = repairs.origin("c3d", scale, up=up, frame_time=1.0 / rate, warnings=warnings)
    first = _long_field(head, "ACTUAL_START_FIELD") or head.first_frame
    positions = positions_to_y_up(raw * scale.meters, up)
    return Markers(tuple(labels), positions, nominal_rate(rate), path.stem, first, origin)


def labels_of(path: Path) -> list[str]:
    """Return the labels of all points in a file."""
    repairs = Repairs(path)
    data = file_bytes(path, "a C3D file")
    head = read_header(data, path, repairs)
    return _labels(head, data_layout(data, head, path, repairs).points, repairs)


def _points(
    data: bytes, head: C3dHeader, layout: DataLayout, path: Path, repairs: Repairs, partial: bool
) -> NDArray[np.float64]:
    """Return the coordinates (T, P, 3) as stored, before scaling, with NaN in gaps."""
    count = _frame_count(data, head, layout, path, repairs, partial)
    words = layout.words(data, head.processor, 0, count)
    with np.errstate(invalid="ignore"):  # any bit pattern is possible
        points = words[:, :, :3].astype(np.float64)
        # A negative residual, the fourth word, marks a gap.
        hidden = (words[:, :, 3] < 0) | ~np.isfinite(points).all(axis=-1)
    points[hidden] = np.nan
    return points


def _scale(
    head: C3dHeader, raw: NDArray[np.float64], unit: float | None, path: Path, repairs: Repairs
) -> float:
    """Return the scale of integer coordinates, choosing the plausible one if two are stated.

    Motion Analysis wrote files in which POINT:SCALE makes walkers 0.6 m tall.
    """
    stated = [head.number("POINT", "SCALE") or 0.0, head.scale]
    scales = [abs(value) for value in stated if np.isfinite(value) and value != 0.0]
    if not scales:
        raise MotionFormatError(f"POINT:SCALE is {stated[0]:g}; it must not be zero", path=path)
    if len(scales) == 1 or abs(scales[1] / scales[0] - 1.0) < 1e-3:
        return scales[0]
    extent = marker_extent(raw)
    like_a_body = [
        value for value in scales if _BODY[0] <= extent * value * (unit or 0.001) <= _BODY[1]
    ]
    chosen = like_a_body[0] if like_a_body else scales[0]
    what = "POINT:SCALE" if chosen == scales[0] else "the header"
    repairs.add(f"POINT:SCALE is {scales[0]:g}, but the header says {scales[1]:g}; using {what}")
    return chosen


def _frame_count(data: bytes, head, layout, path, repairs, partial: bool) -> int:
    """Return the number of frames. Takes with more than 65,535 frames need more than one field."""
    space, size = layout.space(data), layout.frame_bytes
    count = head.last_frame - head.first_frame + 1
    counted = sum(head.unsigned("POINT", "FRAMES")[:1])
    first, last = (_long_field(head, f"ACTUAL_{end}_FIELD") for end in ("START", "END"))
    long = head.number("POINT", "LONG_FRAMES")
    if first and last and 0 < last - first + 1 and last - first + 1 != count:
        if last - first + 1 <= space or count > space or count <= 0:
            count = last - first + 1
    elif long and np.isfinite(long) and long > count:
        count = int(long)
    elif FULL in (head.last_frame, counted) and space > count:
        # After the last frame there is less than one block of zero padding.
        count = space
        body = data[layout.start :]
        padding = body[(space - min(space, BLOCK // size)) * size : space * size]
        count -= (len(padding) - len(padding.rstrip(b"\x00"))) // size
        repairs.add(
            "the frame counters are at their maximum, so frames were counted by the size of the "
            "file"
        )
    if count <= 0:
        if not 0 < counted <= space:
            raise MotionFormatError(
                f"the file has no frames, because its last frame ({head.last_frame}) is before its "
                f"first ({head.first_frame})",
                path=path,
            )
        repairs.add(
            f"the last frame is before the first, so the {counted} frames of POINT:FRAMES were read"
        )
        count = counted
    if counted and counted != count and FULL not in (head.last_frame, counted):
        # The correct number fills the file up to the padding of its last block.
        left = len(data) - layout.start - counted * size
        if 0 <= left < BLOCK and not 0 <= len(data) - layout.start - count * size < BLOCK:
            count = counted
        if count <= space:
            repairs.add(
                f"the header states {head.last_frame - head.first_frame + 1} frames and "
                f"POINT:FRAMES {counted}; {count} were read"
            )
    if count > space:
        if not partial or space == 0:
            raise MotionFormatError(
                f"the file declares {count} frames but has room for {space}: it is truncated. "
                f"To read the complete frames, set partial",
                path=path,
            )
        repairs.add(f"the file declares {count} frames but contains only {space}")
        count = space
    return count


def _long_field(head: C3dHeader, name: str) -> int:
    """Return the frame number from two 16-bit words, low word first, or 0 if it is missing."""
    words = head.unsigned("TRIAL", name)
    return words[0] + 0x10000 * words[1] if len(words) == 2 else 0


def _labels(head: C3dHeader, points: int, repairs: Repairs) -> list[str]:
    """Return a unique label for each point, from LABELS and, beyond 255, from LABELS2, ..."""
    listed = head.strings("POINT", "LABELS")
    number = 2
    while ("POINT", f"LABELS{number}") in head.parameters:
        listed = listed + head.strings("POINT", f"LABELS{number}")
        number += 1
    if len(listed) < points:
        repairs.add(
            f"the file has {len(listed)} labels for {points} points; the other points are unnamed"
        )
    listed = listed + [""] * (points - len(listed))
    wanted = [listed[point] or f"*{point}" for point in range(points)]
    labels = unique_names(wanted)
    for old, new in zip(wanted, labels, strict=True):
        if old != new:
            repairs.add(f"the duplicate marker {old[:40]!r} was labeled {new[:40]!r}")
    return labels


def _model_outputs(head: C3dHeader, labels: Sequence[str]) -> set[str]:
    """Return the points that hold angles, moments, forces, powers or scalars.

    Programs such as Vicon's list them in POINT:ANGLES, POINT:MOMENTS, ... Files from which the
    lists were lost still have the names of Plug-in Gait (``LKneeAngles``). POINT:MODELED_MARKERS
    are positions, so they are read.
    """
    listed: set[str] = set()
    for group, name in head.parameters:
        if group == "POINT" and name.rstrip("0123456789") in _MODEL_OUTPUTS:
            listed.update(label.strip() for label in head.strings(group, name))
    plain = {label.rpartition(":")[2] for label in listed} - {""}
    return {
        label
        for label in labels
        if label in listed
        or label.rpartition(":")[2] in plain
        or _MODEL_OUTPUT_NAME.search(label.rpartition(":")[2])
    }


def _chosen(labels, subject, unlabeled, outputs, path) -> tuple[list[str], list[int]]:
    """Select the labels and columns to read, and remove the prefix of a single subject."""
    kept = [
        column
        for column, label in enumerate(labels)
        if label not in outputs and (unlabeled or not re.match(r"\*\d*", label.rpartition(":")[2]))
    ]
    subjects = list(dict.fromkeys(labels[column].rpartition(":")[0] for column in kept))
    if subject is not None:
        if subject not in subjects:
            names = ", ".join(repr(name) for name in subjects if name) or "none"
            raise MotionFormatError(
                f"no subject is called {subject!r}. Subjects in the file: {names}", path=path
            )
        kept = [column for column in kept if labels[column].rpartition(":")[0] == subject]
        subjects = [subject]
    if not kept and outputs:
        raise MotionFormatError(
            f"the file has no markers: {len(outputs)} of its {len(labels)} points are outputs of a "
            "biomechanical model, such as angles and moments",
            path=path,
        )
    if not kept:
        raise MotionFormatError(
            f"none of the {len(labels)} points has a label; set unlabeled to read them",
            path=path,
        )
    if len(subjects) == 1:
        return [labels[column].rpartition(":")[2] for column in kept], kept
    return [labels[column] for column in kept], kept


def _unit(head: C3dHeader, raw, unit, up: str) -> Unit:
    if unit is not None:
        return Unit(unit_from(unit), "given")
    meters = _unit_word(head)
    if meters is not None:
        return Unit(meters, f"POINT:UNITS is {head.strings('POINT', 'UNITS')[0].strip().lower()}")
    return infer_marker_unit(raw, up)


def _unit_word(head: C3dHeader) -> float | None:
    """Return the meters per unit according to POINT:UNITS, or None if the unit is unknown."""
    return _UNIT_WORDS.get("".join(head.strings("POINT", "UNITS")[:1]).strip().lower())


def _rate(head: C3dHeader, fps: float | None, path: Path, repairs: Repairs) -> float:
    if fps is not None:
        return float(fps)
    analog = head.number("ANALOG", "RATE") or 0.0
    stated = [
        ("POINT:RATE", head.number("POINT", "RATE") or 0.0),
        ("the header", head.rate),
        ("ANALOG:RATE", analog / max(head.analog_samples, 1)),
    ]
    rates = [(name, rate) for name, rate in stated if np.isfinite(rate) and 1e-3 <= rate <= 1e6]
    votes = rates if {"POINT:RATE", "the header"} & {name for name, _ in rates} else []
    if not votes:
        raise MotionFormatError("the frame rate is missing; set it with fps", path=path)
    # POINT:RATE, unless the header and the rate of the analog data agree on another value.
    agree = [sum(abs(rate / other - 1.0) < 0.01 for _, other in votes) for _, rate in votes]
    name, chosen = votes[int(np.argmax(agree))]
    first = votes[:2]
    if (
        len(first) == 2
        and "ANALOG" not in first[1][0]
        and abs(first[0][1] / first[1][1] - 1) > 0.01
    ):
        repairs.add(
            f"POINT:RATE is {first[0][1]:g} fps, but the header says {first[1][1]:g}; using {name}"
        )
    return chosen


def _warnings(layout: DataLayout, raw: NDArray[np.float64]) -> list[str]:
    warnings = []
    if layout.analog:
        warnings.append("the analog channels (such as force plates and EMG) were not read")
    count = int(np.count_nonzero((raw == 0.0).all(axis=-1)))
    if count > 1:
        warnings.append(
            f"{count} points are at exactly (0, 0, 0). If these are gaps, set zero_gaps"
        )
    return warnings
