"""Header block and parameters of a C3D file, in any of three byte orders.

Everything is read from a slice of the file's bytes; sizes stated by the file are never trusted.
A parameter is a value with up to seven dimensions in a named group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.conventions import Repairs

BLOCK = 512
FULL = 0xFFFF  # the largest value of a 16-bit counter
_MAGIC = 0x50
_PROCESSORS = {84: "intel", 85: "dec", 86: "mips"}


@dataclass(frozen=True)
class C3dHeader:
    """Header and parameters of a C3D file.

    Attributes
    ----------
    processor : {"intel", "dec", "mips"}
    points, analog : int
        Points and analogue values per frame.
    analog_samples : int
        Analogue samples of each channel per frame.
    first_frame, last_frame : int
        Limited to 16 bits.
    scale : float
        Scale of integer data; negative if the data are floating point.
    data_start : int
        First byte of the data.
    rate : float
    parameters : dict
        ``("POINT", "LABELS")`` to a list of str or an array.
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
        """The first value of a numeric parameter; None if there is none."""
        value = self.parameters.get((group, name))
        if isinstance(value, np.ndarray) and value.size:
            return float(value.flat[0])
        return None

    def unsigned(self, group: str, name: str) -> list[int]:
        """Values of a 16-bit parameter, read as unsigned."""
        value = self.parameters.get((group, name))
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
            return []
        return [int(v) & FULL for v in value.flat]

    def strings(self, group: str, name: str) -> list[str]:
        """A text parameter as a list; empty if there is none."""
        value = self.parameters.get((group, name))
        return value if isinstance(value, list) else []


def read_header(data: bytes, path: Path, repairs: Repairs) -> C3dHeader:
    """Header and parameters of the bytes of a C3D file."""
    if len(data) < 2 * BLOCK or data[1] != _MAGIC:
        _refuse("not a C3D file: its second byte must be 50 (hexadecimal)", path)
    start = (data[0] - 1) * BLOCK
    if start < BLOCK or start + 4 > len(data):
        _refuse(f"the parameters should start in block {data[0]}, which does not exist", path)
    processor = _PROCESSORS.get(data[start + 3])
    if processor is None:
        _refuse(
            f"processor type must be 84 (Intel), 85 (DEC) or 86 (MIPS); got {data[start + 3]}", path
        )
    words = np.frombuffer(data, ">u2" if processor == "mips" else "<u2", BLOCK // 2)
    scale, rate = (float(floats(data[place : place + 4], processor)[0]) for place in (12, 20))
    data_start = (int(words[8]) - 1) * BLOCK
    blocks = data[start + 2]
    end = min(len(data), start + blocks * BLOCK)
    if blocks == 0:
        end = data_start if start < data_start <= len(data) else len(data)
        repairs.add("the length of the parameters is missing")
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
    """Single-precision numbers in the byte order of a processor."""
    if processor != "dec":
        return np.frombuffer(data, ">f4" if processor == "mips" else "<f4")
    # DEC numbers have swapped halves, and an exponent larger by two.
    pairs = np.frombuffer(data, "<u4")
    with np.errstate(invalid="ignore"):
        return ((pairs >> 16) | (pairs << 16)).view(np.float32) * np.float32(0.25)


def _parameters(section: bytes, processor: str, repairs: Repairs):
    """Parameters by (group, name); a parameter may precede its group."""
    groups: dict[int, str] = {}
    found: list[tuple[int, str, list[str] | NDArray]] = []
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
                repairs.add("a parameter that runs past the end of the parameters, left out")
            else:
                found.append((number, name, value))
        if step == 0:
            break
        place = pointer + step
    return {(groups.get(number, ""), name): value for number, name, value in found}


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
