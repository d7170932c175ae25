"""Header, parameters and layout of C3D files, in any of three byte orders.

Everything is read from slices of the file's bytes, and sizes stated in the file are never trusted.
A parameter is a value with up to seven dimensions in a named group.

The header and the parameters both state how many points and analog values a frame has, where the
data start, whether they are floating point, and how many frames there are. Some programs write one
of the two incorrectly. MotionMonitor, for example, writes the number of analog channels where
the number of values per frame (channels times samples) belongs. The data show which statement is
true. The right layout fills the file, and points move little from one frame to the next, whereas a
wrong layout mixes the coordinates of different points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.conventions import Repairs

_LOOKED_AT = 64  # number of frames used to measure the roughness
# Median step between frames relative to the extent of the points. It was at most 0.12 in 70 valid
# files of 25 to 1000 Hz, and at least 0.4 where points and analog values were mixed.
_SMOOTH, _ROUGH = 0.2, 0.35
BLOCK = 512
FULL = 0xFFFF  # the largest value of a 16-bit counter
_MAGIC = 0x50
_PROCESSORS = {84: "intel", 85: "dec", 86: "mips"}


@dataclass(frozen=True)
class DataLayout:
    """Location of the coordinates in a C3D file.

    Attributes
    ----------
    points, analog : int
        Points and analog values per frame.
    start : int
        First byte of the data.
    is_float : bool
        True if the values are single-precision numbers, False if they are 16-bit integers.
    """

    points: int
    analog: int
    start: int
    is_float: bool

    @property
    def frame_bytes(self) -> int:
        """Size of a frame in bytes."""
        return (4 * self.points + self.analog) * (4 if self.is_float else 2)

    def space(self, data: bytes) -> int:
        """Return the number of complete frames that fit in the file."""
        return (len(data) - self.start) // self.frame_bytes

    def words(self, data: bytes, processor: str, first: int, count: int) -> NDArray:
        """Return the stored coordinates and residuals of frames, shape (count, points, 4)."""
        size = self.frame_bytes
        body = data[self.start + first * size : self.start + (first + count) * size]
        if self.is_float:
            table = floats(body, processor)
        else:
            table = np.frombuffer(body, ">i2" if processor == "mips" else "<i2")
        width = 4 * self.points + self.analog
        table = table.reshape(count, width)
        return table[:, : 4 * self.points].reshape(count, self.points, 4)


def data_layout(data: bytes, head: C3dHeader, path: Path, repairs: Repairs) -> DataLayout:
    """Choose the best-fitting layout among those stated by the header and the parameters.

    Raises
    ------
    MotionFormatError
        If header and parameters contradict each other and the data do not show which one is right.
    """
    stated = _stated(head)
    if not stated:
        raise MotionFormatError("the file has no points", path=path)
    candidates = [layout for layout in stated if BLOCK <= layout.start < len(data)]
    if not candidates:
        raise MotionFormatError(
            f"the data should start at byte {stated[0].start}, but the file has only {len(data)} "
            f"bytes",
            path=path,
        )
    if len(candidates) == 1:
        chosen = candidates[0]
    else:
        chosen = _chosen(data, head, candidates, path)
    _report(head, chosen, repairs)
    return chosen


def is_rough(data: bytes, head: C3dHeader, layout: DataLayout) -> bool:
    """Return whether points jump between frames, which suggests that the layout is wrong."""
    return _roughness(data, head, layout) > _ROUGH


def _stated(head: C3dHeader) -> list[DataLayout]:
    """Return all combinations of the values in header and parameters, header values first."""
    used = head.unsigned("POINT", "USED")[:1]
    points = [count for count in _distinct([head.points, *used]) if count > 0]
    analog = _distinct([head.analog, *_analog(head)])
    begin = [(place - 1) * BLOCK for place in head.unsigned("POINT", "DATA_START")[:1]]
    starts = _distinct([head.data_start, *begin])
    starts = [start for start in starts if start >= BLOCK] or starts
    scale = head.number("POINT", "SCALE")
    scales = [value for value in (head.scale, scale) if value and np.isfinite(value)]
    is_float = _distinct(sorted((value < 0.0 for value in scales), reverse=True))
    is_float = is_float or [head.scale < 0.0]
    return [DataLayout(*choice) for choice in product(points, analog, starts, is_float)]


def _analog(head: C3dHeader) -> list[int]:
    """Return the analog values per frame from the parameters: channels times samples per frame."""
    channels = sum(head.unsigned("ANALOG", "USED")[:1])
    if not channels:
        return []
    samples = [head.analog_samples]
    analog, point = head.number("ANALOG", "RATE"), head.number("POINT", "RATE") or head.rate
    if analog and point and np.isfinite(analog / point) and 1.0 <= analog / point <= 1000.0:
        samples.append(round(analog / point))
    return [channels * count for count in samples if 0 < count * channels <= FULL]


def _distinct(values: list) -> list:
    return list(dict.fromkeys(values))


def _chosen(data: bytes, head: C3dHeader, candidates: list[DataLayout], path: Path) -> DataLayout:
    fitting = [layout for layout in candidates if _fits(data, head, layout)]
    stated = candidates[0]
    if stated in fitting and _roughness(data, head, stated) < _SMOOTH:
        return stated
    contest = fitting or [layout for layout in candidates if layout.space(data) > 0]
    rough = {layout: _roughness(data, head, layout) for layout in contest}
    smooth = [layout for layout in contest if rough[layout] < _SMOOTH]
    if len(smooth) == 1:
        return smooth[0]
    if stated in smooth or (stated in fitting and len(fitting) == 1):
        return stated
    if len(fitting) == 1 and rough[fitting[0]] < _ROUGH:
        return fitting[0]
    raise MotionFormatError(
        f"header and parameters contradict each other ({_differences(head)}), and neither fits "
        "the data",
        path=path,
    )


def _fits(data: bytes, head: C3dHeader, layout: DataLayout) -> bool:
    """Return whether a stated number of frames fills the file, except for the final padding."""
    counts = [head.last_frame - head.first_frame + 1, *head.unsigned("POINT", "FRAMES")[:1]]
    left = [len(data) - layout.start - count * layout.frame_bytes for count in counts if count > 0]
    return any(0 <= rest < BLOCK for rest in left)


def _roughness(data: bytes, head: C3dHeader, layout: DataLayout) -> float:
    """Return the median point movement between frames, relative to the extent of the points.

    The result is 0 if there are too few frames to judge, and infinite if most values are not
    finite.
    """
    count = max(head.last_frame - head.first_frame + 1, 1)
    space = min(layout.space(data), count)
    if layout.points == 0 or space < 4:
        return 0.0
    number = min(space, _LOOKED_AT)
    words = layout.words(data, head.processor, (space - number) // 2, number)
    with np.errstate(invalid="ignore", over="ignore"):
        points = words[:, :, :3].astype(np.float64)
        sound = np.isfinite(points).all(axis=-1) & (np.abs(points) < 1e9).all(axis=-1)
        if sound.mean() < 0.5:
            return float("inf")
        seen = sound & (words[:, :, 3] >= 0) & (points != 0.0).any(axis=-1)
    both = seen[1:] & seen[:-1]
    if both.sum() < 4:
        return 0.0
    steps = np.linalg.norm(np.diff(points, axis=0), axis=-1)[both]
    extent = np.linalg.norm(np.subtract(*np.percentile(points[seen], [90.0, 10.0], axis=0)))
    return float(np.median(steps) / max(extent, 1e-9))


def _report(head: C3dHeader, chosen: DataLayout, repairs: Repairs) -> None:
    """Record a repair for each header value that differs from the chosen layout."""
    if chosen.points != head.points:
        repairs.add(
            f"the header states {head.points} points, but {chosen.points} were read, as in "
            "POINT:USED"
        )
    elif (used := head.unsigned("POINT", "USED")[:1]) and used[0] != chosen.points:
        repairs.add(
            f"POINT:USED states {used[0]} points, but {chosen.points} were read, as in the header"
        )
    if chosen.analog != head.analog:
        repairs.add(
            f"the header states {head.analog} analog values per frame; the file has "
            f"{chosen.analog}, according to the parameters and its size"
        )
    if chosen.start != head.data_start and head.data_start >= BLOCK:
        repairs.add(
            f"the data were read from block {chosen.start // BLOCK + 1}, as in POINT:DATA_START"
        )
    scale = head.number("POINT", "SCALE")
    if scale and head.scale and (scale < 0.0) != (head.scale < 0.0):
        kind = "floating point" if chosen.is_float else "integers"
        repairs.add(
            f"the signs of the scale in header and POINT:SCALE differ; the data were read as {kind}"
        )


def _differences(head: C3dHeader) -> str:
    """Describe the differences between header and parameters."""
    pairs = [
        ("points", head.points, head.unsigned("POINT", "USED")[:1]),
        ("analog values per frame", head.analog, _analog(head)),
        ("data block", head.data_start // BLOCK + 1, head.unsigned("POINT", "DATA_START")[:1]),
    ]
    return ", ".join(
        f"{name} {said} and {other}"
        for name, said, others in pairs
        for other in _distinct(others)
        if other != said
    )


@dataclass(frozen=True)
class C3dHeader:
    """Header and parameters of a C3D file.

    Attributes
    ----------
    processor : {"intel", "dec", "mips"}
        Processor type, which determines the byte order.
    points, analog : int
        Points and analog values per frame.
    analog_samples : int
        Analog samples of each channel per frame.
    first_frame, last_frame : int
        First and last frame number, each limited to 16 bits.
    scale : float
        Scale of integer data; negative if the data are floating point.
    data_start : int
        First byte of the data.
    rate : float
        Frame rate.
    parameters : dict
        Maps a group and a name, such as ``("POINT", "LABELS")``, to a list of str or an array.
    """

    processor: str
    points: int
    analog: int
    analog_samples: int
    first_frame: int
    last_frame: int
    scale: float
    data_start: int
    rate: float
    parameters: dict[tuple[str, str], list[str] | NDArray] = field(repr=False)

    def number(self, group: str, name: str) -> float | None:
        """Return the first value of a numeric parameter, or None if it is missing."""
        value = self.parameters.get((group, name))
        if isinstance(value, np.ndarray) and value.size:
            return float(value.flat[0])
        return None

    def unsigned(self, group: str, name: str) -> list[int]:
        """Return the values of a 16-bit parameter, read as unsigned."""
        value = self.parameters.get((group, name))
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
            return []
        return [int(v) & FULL for v in value.flat]

    def strings(self, group: str, name: str) -> list[str]:
        """Return a string parameter as a list, or an empty list if it is missing."""
        value = self.parameters.get((group, name))
        return value if isinstance(value, list) else []


def read_header(data: bytes, path: Path, repairs: Repairs) -> C3dHeader:
    """Parse the header and parameters of a C3D file."""
    if len(data) < 2 * BLOCK or data[1] != _MAGIC:
        _refuse("this is not a C3D file, because its second byte is not 0x50", path)
    start = (data[0] - 1) * BLOCK
    if start < BLOCK or start + 4 > len(data):
        _refuse(f"the parameters should start in block {data[0]}, which does not exist", path)
    processor = _PROCESSORS.get(data[start + 3])
    if processor is None:
        _refuse(
            f"the processor type must be 84 (Intel), 85 (DEC) or 86 (MIPS); got {data[start + 3]}",
            path,
        )
    words = np.frombuffer(data, ">u2" if processor == "mips" else "<u2", BLOCK // 2)
    scale, rate = (float(floats(data[place : place + 4], processor)[0]) for place in (12, 20))
    data_start = (int(words[8]) - 1) * BLOCK
    blocks = data[start + 2]
    end = min(len(data), start + blocks * BLOCK)
    if blocks == 0:
        end = data_start if start < data_start <= len(data) else len(data)
        repairs.add("the parameter section has no length")
    return C3dHeader(
        processor,
        int(words[1]),
        int(words[2]),
        int(words[9]),
        int(words[3]),
        int(words[4]),
        scale,
        data_start,
        rate,
        _parameters(data[start + 4 : end], processor, repairs),
    )


def floats(data: bytes, processor: str) -> NDArray[np.float32]:
    """Decode single-precision numbers in the byte order of a processor."""
    if processor != "dec":
        return np.frombuffer(data, ">f4" if processor == "mips" else "<f4")
    # DEC numbers have swapped halves and an exponent that is larger by two.
    pairs = np.frombuffer(data, "<u4")
    with np.errstate(invalid="ignore"):
        return ((pairs >> 16) | (pairs << 16)).view(np.float32) * np.float32(0.25)


def _parameters(section: bytes, processor: str, repairs: Repairs):
    """Return the parameters by group and name. A parameter may come before its group."""
    groups: dict[int, str] = {}
    parameters: list[tuple[int, str, list[str] | NDArray]] = []
    order = "big" if processor == "mips" else "little"
    place = 0
    while place + 2 <= len(section):
        name_length = abs(int.from_bytes(section[place : place + 1], "big", signed=True))
        number = int.from_bytes(section[place + 1 : place + 2], "big", signed=True)
        pointer = place + 2 + name_length
        if name_length == 0 or number == 0 or pointer + 2 > len(section):
            break
        name = _text(section[place + 2 : pointer]).upper()
        step = int.from_bytes(section[pointer : pointer + 2], order)  # type: ignore[arg-type]
        if number < 0:
            groups[-number] = name
        else:
            value = _value(section[pointer + 2 :], processor)
            if value is None:
                repairs.add("a parameter that extends beyond the parameter section was skipped")
            else:
                parameters.append((number, name, value))
        if step == 0:
            break
        place = pointer + step
    return {(groups.get(number, ""), name): value for number, name, value in parameters}


def _value(data: bytes, processor: str) -> list[str] | NDArray | None:
    if len(data) < 2:
        return None
    kind = int.from_bytes(data[:1], "big", signed=True)
    dims = [int(size) for size in data[2 : 2 + data[1]]]
    start = 2 + data[1]
    count = 1
    for size in dims:
        count *= size
    size = abs(kind)
    if len(dims) != data[1] or kind not in (-1, 1, 2, 4) or start + count * size > len(data):
        return None
    raw = data[start : start + count * size]
    if kind == -1:
        width = dims[0] if dims else 1
        number = count // width if width else 0
        return [_text(raw[k * width : (k + 1) * width]) for k in range(number)]
    if kind == 1:
        return np.frombuffer(raw, np.int8)
    if kind == 2:
        return np.frombuffer(raw, ">i2" if processor == "mips" else "<i2")
    return floats(raw, processor)


def _text(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.strip(" \x00\t\r\n")


def _refuse(problem: str, path: Path) -> NoReturn:
    raise MotionFormatError(problem, path=path)
