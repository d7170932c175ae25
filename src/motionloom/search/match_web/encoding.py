"""Compact encoding of match webs: steps and differences of values, compressed.

Along a path each step is one of three, and values change little: a step takes a byte that
compresses to a bit or two, a value the difference to the one before, in halves of a
millimetre. A bridge is stored as the steps from its first chain to its second.

A file may come from anywhere: sizes, lengths, steps and every index are checked before a kernel
sees them, and decompression is bounded.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_files import check_regular, parse_json, unpacked_bytes
from motionloom.errors import LibraryError
from motionloom.kernels import kernel
from motionloom.ragged import offsets_of
from motionloom.search.match_web.web import Web

_MARK = b"mloomweb"
_VERSION = 1
_FRONT = len(_MARK) + 8  # the mark, the version, the header's size
_LONGEST = 1 << 24  # bytes of a header, at most
_QUANTUM = 5e-4  # of a value, in the distance's unit; coarser where values are large
_LARGEST = 32000
_LEVEL = 4  # of compression: half the time of level 6, files larger by 7 %
_MOST = 1 << 25  # numbers of one field: cells of a web, at most
_LARGEST_NUMBER = 1 << 40  # of a difference, so that sums do not overflow
_FIELDS = ("lengths", "heads", "leaves", "arrives", "steps", "values")


def encoded(web: Web, about: dict) -> bytes:
    """A web, and data stored with it, as bytes.

    Parameters
    ----------
    web : Web
    about : dict
        Stored as JSON in the header, which `described` reads.
    """
    count = web.chain_count
    quantum = max(_QUANTUM, float(web.values.max(initial=0.0)) / _LARGEST)
    levels = np.rint(web.values.astype(np.float64) / quantum).astype(np.int64)
    heads = web.cells[web.offsets[:count]].astype(np.int64)
    fields = {
        "lengths": np.diff(web.offsets),
        "heads": np.diff(heads, axis=0, prepend=0).ravel(),
        "leaves": np.diff(web.leaves, prepend=0),
        "arrives": web.arrives - web.leaves,
        "steps": _steps(web.cells, web.offsets, count, web.leaves, web.arrives),
        "values": _differences(levels, web.offsets),
    }
    packed = [zlib.compress(_planes(fields[name]), _LEVEL) for name in _FIELDS]
    header = {
        "about": about,
        "shape": web.shape,
        "rate": web.rate,
        "quantum": quantum,
        "chains": count,
        "sizes": [len(part) for part in packed],
    }
    front = zlib.compress(json.dumps(header).encode(), 6)
    return b"".join([_MARK, struct.pack("<II", _VERSION, len(front)), front, *packed])


def described(path: Path) -> dict:
    """The `about` of an encoded web, read from the header of its file."""
    check_regular(path)
    with open(path, "rb") as data:
        front = data.read(_FRONT)
        size = struct.unpack_from("<I", front, len(_MARK) + 4)[0] if len(front) == _FRONT else 0
        try:
            return _header(front + data.read(min(size, _LONGEST)))[0]["about"]
        except LibraryError as error:
            raise LibraryError(f"{path}: {error}; remove it and build again") from None


def decoded(data: bytes) -> Web:
    """The web of bytes from `encoded`.

    Raises
    ------
    LibraryError
        If they are no web, or are damaged.
    """
    header, at = _header(data)
    try:
        shape, rate, quantum, count = _checked_header(header)
        parts = {}
        for name, size in zip(_FIELDS, header["sizes"], strict=True):
            parts[name] = _from_planes(unpacked_bytes(data[at : at + size], 8 * _MOST + 1))
            at += size
        offsets = _checked_offsets(parts, count)
        leaves = np.cumsum(parts["leaves"])
        arrives = leaves + parts["arrives"]
        heads = np.cumsum(parts["heads"].reshape(-1, 2), axis=0)
        _expect("bridges", _within(leaves, offsets[count]) and _within(arrives, offsets[count]))
        cells = _cells(parts["steps"], offsets, count, heads, leaves)
        _expect("cells", _within(cells[:, 0], shape[0]) and _within(cells[:, 1], shape[1]))
        values = _sums(parts["values"], offsets) * quantum
    except (zlib.error, ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
        raise LibraryError(f"damaged web: {error}") from None
    return Web(shape, rate, cells, values.astype(np.float32), offsets, count, leaves, arrives)


def _checked_header(header: dict) -> tuple[tuple[int, int], float, float, int]:
    """Shape, rate, quantum and number of chains; raises `ValueError` if they cannot be."""
    shape, count, sizes = header["shape"], header["chains"], header["sizes"]
    numbers = (*shape, count, *sizes)
    whole = all(type(number) is int and 0 <= number < 1 << 31 for number in numbers)
    _expect("header", len(shape) == 2 and whole)
    rate, quantum = float(header["rate"]), float(header["quantum"])
    _expect("rate", 0.0 < rate < math.inf and 0.0 <= quantum < math.inf)
    return (shape[0], shape[1]), rate, quantum, count


def _checked_offsets(parts: dict[str, NDArray[np.int64]], chains: int) -> NDArray[np.int64]:
    """Offsets of the paths; raises `ValueError` unless all lengths fit together."""
    lengths, paths = parts["lengths"], len(parts["lengths"])
    _expect("number of chains", chains <= paths)
    _expect("lengths", _within(lengths, _MOST) and bool((lengths[:chains] > 0).all()))
    offsets = offsets_of(lengths)
    cells, bridges = int(offsets[-1]), paths - chains
    expected = {
        "heads": 2 * chains,
        "leaves": bridges,
        "arrives": bridges,
        "steps": cells - chains + bridges,
        "values": cells,
    }
    for name, count in expected.items():
        numbers = parts[name]
        _expect(name, len(numbers) == count and _within(np.abs(numbers), _LARGEST_NUMBER))
    _expect("steps", _within(parts["steps"], 3))
    return offsets


def _within(numbers: NDArray, end: int) -> bool:
    """Whether all numbers are in ``[0, end)``."""
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < end)


def _expect(what: str, holds: bool) -> None:
    if not holds:
        raise ValueError(f"its {what} cannot be")


def _header(data: bytes) -> tuple[dict, int]:
    try:
        version, size = struct.unpack_from("<II", data, len(_MARK))
        if data[: len(_MARK)] != _MARK or version != _VERSION:
            raise ValueError("another kind of file")
        at = _FRONT
        header = parse_json(unpacked_bytes(data[at : at + size], _LONGEST))
        if not isinstance(header, dict) or not isinstance(header.get("about"), dict):
            raise ValueError("no header")
        return header, at + size
    except (struct.error, ValueError, zlib.error, RecursionError) as error:
        raise LibraryError(f"damaged web: {error}") from None


def _planes(numbers: NDArray[np.int64]) -> bytes:
    """Zigzag-encoded integers as byte planes: all first bytes, then all second ones..."""
    folded = ((numbers << 1) ^ (numbers >> 63)).astype("<u8")
    width = max(1, (int(folded.max(initial=0)).bit_length() + 7) // 8)
    table = folded.view(np.uint8).reshape(-1, 8)[:, :width]
    return bytes([width]) + np.ascontiguousarray(table.T).tobytes()


def _from_planes(data: bytes) -> NDArray[np.int64]:
    width = data[0] if data else 0
    if not 1 <= width <= 8 or len(data) > 1 + width * _MOST:
        raise ValueError(f"its numbers have {width} bytes each, or are too many")
    planes = np.frombuffer(data, np.uint8, offset=1).reshape(width, -1)
    folded = np.zeros(planes.shape[1], "<u8")
    for n, plane in enumerate(planes):
        folded |= plane.astype("<u8") << np.uint64(8 * n)
    return (folded >> 1).astype(np.int64) ^ -(folded & 1).astype(np.int64)


@kernel
def _steps(cells, offsets, chain_count, leaves, arrives):
    """0 diagonal, 1 right, 2 down: within chains, then along bridges from end to end."""
    out = np.empty(len(cells) + len(leaves), np.int64)
    at = 0
    for p in range(len(offsets) - 1):
        first, last = offsets[p], offsets[p + 1]
        bridge = p - chain_count
        before = cells[first] if bridge < 0 else cells[leaves[bridge]]
        for c in range(first + 1 if bridge < 0 else first, last if bridge < 0 else last + 1):
            cell = cells[arrives[bridge]] if c == last else cells[c]
            down, right = cell[0] - before[0], cell[1] - before[1]
            out[at] = 0 if down and right else (1 if right else 2)
            at += 1
            before = cell
    return out[:at].copy()


@kernel
def _cells(steps, offsets, chain_count, heads, leaves):
    out = np.empty((offsets[-1], 2), np.int32)
    at = 0
    for p in range(len(offsets) - 1):
        first, last = offsets[p], offsets[p + 1]
        bridge = p - chain_count
        if bridge < 0:
            row, column = heads[p, 0], heads[p, 1]
            out[first, 0], out[first, 1] = row, column
            first += 1
        else:
            row, column = out[leaves[bridge], 0], out[leaves[bridge], 1]
        for c in range(first, last):
            row += steps[at] != 1
            column += steps[at] != 2
            out[c, 0], out[c, 1] = row, column
            at += 1
        at += bridge >= 0  # the step onto the chain
    return out


@kernel
def _differences(levels, offsets):
    """First value of each path, then differences from cell to cell."""
    out = np.empty_like(levels)
    for p in range(len(offsets) - 1):
        before = 0
        for c in range(offsets[p], offsets[p + 1]):
            out[c] = levels[c] - before
            before = levels[c]
    return out


@kernel
def _sums(differences, offsets):
    out = np.empty(len(differences))
    for p in range(len(offsets) - 1):
        total = 0
        for c in range(offsets[p], offsets[p + 1]):
            total += differences[c]
            out[c] = total
    return out
