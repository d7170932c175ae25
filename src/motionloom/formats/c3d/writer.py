"""Writer for C3D files: floating point, Intel byte order."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.formats.c3d.layout import BLOCK, FULL
from motionloom.formats.conventions import check_up, labeled_points
from motionloom.formats.inference import UNITS, positions_from_y_up, unit_from
from motionloom.motion import Markers, Motion, Scene

_UNIT_NAMES = {UNITS[name]: name for name in ("m", "dm", "cm", "mm")}
_ROWS = 65_536  # number of values in memory at a time while writing


def write(
    motion: Motion | Markers | Scene,
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
) -> None:
    """Write markers, or joints and end sites as points, to a C3D file; see `motionloom.save`.

    Labels in a scene are ``CHARACTER:JOINT``. Markers that were read from a floating-point file are
    preserved bit for bit. Residuals are not preserved: points get residual 0, and gaps get -1.
    """
    check_up(up)
    labels, positions, first = _points(motion)
    origin = motion.motions[0].origin if isinstance(motion, Scene) else motion.origin
    was_c3d = origin.format == "c3d"
    meters = _meters(unit, origin.unit_m if was_c3d else UNITS["mm"])
    up = up or (origin.up if was_c3d else "z")
    head = _head(labels, len(positions), first, motion.fps, _UNIT_NAMES[meters], up)
    with atomic_write(path) as scratch, scratch.open("wb") as file:
        file.write(head)
        step = max(1, _ROWS // max(1, len(labels)))
        for start in range(0, len(positions), step):
            part = (
                positions_from_y_up(positions[start : start + step].astype(np.float64), up) / meters
            )
            rows = np.zeros((*part.shape[:2], 4), "<f4")
            hidden = np.logical_not(np.isfinite(part).all(axis=-1))
            rows[..., :3] = np.where(np.expand_dims(hidden, -1), 0.0, part)
            rows[..., 3] = np.where(hidden, -1.0, 0.0)
            file.write(rows.tobytes())
        if len(positions) <= FULL:  # without it, readers count frames by the size of the file
            file.write(bytes(-file.tell() % BLOCK))


def _points(motion: Motion | Markers | Scene) -> tuple[tuple[str, ...], NDArray, int]:
    labels, positions = labeled_points(motion)
    first = motion.first_frame if isinstance(motion, Markers) else 1
    if len(positions) == 0 or len(labels) == 0:
        raise InvalidInput("a C3D file needs at least one frame and one point")
    if len(labels) > FULL:
        raise InvalidInput(f"a C3D file can hold at most {FULL} points; got {len(labels)}")
    return labels, positions, first if first >= 1 else 1


def _meters(unit: str | float | None, usual: float) -> float:
    meters = usual if unit is None else unit_from(unit)
    if meters not in _UNIT_NAMES:
        if unit is None:
            return UNITS["mm"]  # used if the source was in inches or feet
        names = ", ".join(_UNIT_NAMES.values())
        raise InvalidInput(f"the unit of a C3D file must be one of {names}; got {unit!r}")
    return meters


# --- header and parameters -----------------------------------------------------------------


def _head(labels, frames: int, first: int, fps: float, unit: str, up: str) -> bytes:
    """Return the header block and parameter blocks, which precede the data."""
    last = first + frames - 1
    draft = _parameters(labels, frames, first, last, fps, unit, up, 0)
    blocks = -(-len(draft) // BLOCK)
    if blocks > 255:
        raise InvalidInput(
            f"{len(labels)} labels of up to {max(map(len, labels))} letters do not fit "
            "into the 255 parameter blocks of a C3D file; shorten them"
        )
    start = 2 + blocks
    parameters = _parameters(labels, frames, first, last, fps, unit, up, start)
    # Beyond 65,535 frames, both counters are at their maximum, and TRIAL contains the numbers.
    if last > FULL:
        shown = (1, min(frames, FULL))
    else:
        shown = (first, last)
    header = struct.pack("<BBHHHHHfHHf", 2, 0x50, len(labels), 0, *shown, 0, -1.0, start, 0, fps)
    return header.ljust(BLOCK, b"\0") + parameters.ljust(blocks * BLOCK, b"\0")


def _parameters(labels, frames, first, last, fps, unit, up, start: int) -> bytes:
    long = lambda number: struct.pack("<HH", number & FULL, number >> 16)  # noqa: E731
    word = lambda number: struct.pack("<H", number)  # noqa: E731
    single = lambda number: struct.pack("<f", number)  # noqa: E731
    point = [
        _parameter("USED", 2, [], word(len(labels))),
        _parameter("SCALE", 4, [], single(-1.0)),
        _parameter("RATE", 4, [], single(fps)),
        _parameter("DATA_START", 2, [], word(start)),
        _parameter("FRAMES", 2, [], word(min(frames, FULL))),
        _texts("UNITS", [unit]),
        _texts("X_SCREEN", ["+X" if up[-1] != "x" else "+Z"]),
        _texts("Y_SCREEN", [up.upper() if up.startswith("-") else f"+{up.upper()}"]),
    ]
    for part in range(0, len(labels), 255):
        number = "" if part == 0 else str(part // 255 + 1)
        point.append(_texts(f"LABELS{number}", labels[part : part + 255]))
        empty = [""] * len(labels[part : part + 255])
        point.append(_texts(f"DESCRIPTIONS{number}", empty))
    if frames > FULL:
        point.append(_parameter("LONG_FRAMES", 4, [], single(frames)))
    trial = [
        _parameter("ACTUAL_START_FIELD", 2, [2], long(first)),
        _parameter("ACTUAL_END_FIELD", 2, [2], long(last)),
    ]
    analog = [
        _parameter("USED", 2, [], word(0)),
        _parameter("GEN_SCALE", 4, [], single(1.0)),
        _parameter("RATE", 4, [], single(fps)),
    ]
    groups = {"POINT": point, "ANALOG": analog, "TRIAL": trial}
    items: list[tuple[str, int, bytes]] = []
    for group_id, (name, parameters) in enumerate(groups.items(), start=1):
        items.append((name, -group_id, b"\0"))
        items += [(label, group_id, value) for label, value in parameters]
    body = b"".join(_item(*item, is_last=item is items[-1]) for item in items)
    blocks = -(-(4 + len(body)) // BLOCK)
    return struct.pack("<BBBB", 1, 0x50, min(blocks, 255), 84) + body


def _parameter(name: str, kind: int, dims: list[int], data: bytes) -> tuple[str, bytes]:
    """Encode a parameter: its name, type, dimensions, data and an empty description."""
    return name, struct.pack("<bB", kind, len(dims)) + bytes(dims) + data + b"\0"


def _texts(name: str, texts) -> tuple[str, bytes]:
    coded = [text.encode("utf-8")[:255] for text in texts]
    width = max(1, *(len(text) for text in coded))
    data = b"".join(text.ljust(width) for text in coded)
    return _parameter(name, -1, [width, len(coded)] if len(coded) != 1 else [width], data)


def _item(name: str, number: int, value: bytes, *, is_last: bool) -> bytes:
    """Encode an item with the offset to the next item, or 0 for the last one."""
    step = 0 if is_last else 2 + len(value)
    return struct.pack("<bb", len(name), number) + name.encode() + struct.pack("<H", step) + value
