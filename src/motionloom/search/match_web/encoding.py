"""Compact encoding of match webs as compressed steps and value differences.

There are only three kinds of steps along a path, and values change little from cell to cell. A step
is stored as a byte that compresses to a bit or two; a value is stored as the difference from the
previous one, in half millimeters. A bridge is stored as the steps from its first chain to its
second. Blocks of columns, one per motion, are compressed separately, so a search reads only the
blocks it needs.

Files are not trusted. Sizes, lengths, steps and every index are checked before a kernel uses them,
and the decompressed size is limited.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import LibraryError
from motionloom.files import check_regular, parse_json, unpacked_bytes
from motionloom.kernels import kernel
from motionloom.ragged import offsets_of
from motionloom.search.match_web.web import Web, joined

_MARK = b"mloomweb"
_VERSION = 2
_FRONT = len(_MARK) + 8  # bytes of the mark, the version and the header size
_LONGEST = 1 << 24  # maximum size of a header, in bytes
_QUANTUM = 5e-4  # step of a value, in the unit of the distance; coarser for large values
_LARGEST = 32000
_LEVEL = 4  # compression level: twice as fast as level 6, with files 7 % larger
_MOST = 1 << 25  # maximum count of numbers in one field, which limits the cells of a web
_LARGEST_NUMBER = 1 << 40  # maximum difference between values, so that sums do not overflow
_FIELDS = ("lengths", "heads", "leaves", "arrives", "steps", "values")


@dataclass(frozen=True)
class WebHeader:
    """Header of a web file, which describes how to decode the webs and where each block is.

    Attributes
    ----------
    about : dict
        Data that the caller passed to `encoded`.
    rows : int
    rate, quantum : float
        Frames per second, and unit of the values.
    widths : tuple of int
        Number of bytes per value, for each field.
    ends : ndarray of int64, shape (K + 1,)
        Block k has columns ``ends[k]`` to ``ends[k + 1]``.
    places : ndarray of int64, shape (K + 1,)
        Block k is stored in bytes ``places[k]`` to ``places[k + 1]`` of the file; the range is
        empty if the block has no paths.
    """

    about: dict
    rows: int
    rate: float
    quantum: float
    widths: tuple[int, ...]
    ends: NDArray[np.int64]
    places: NDArray[np.int64]


def encoded(web: Web, about: dict, *, ends: Sequence[int] = ()) -> bytes:
    """Encode a web and the data that describes it as bytes.

    Parameters
    ----------
    web : Web
    about : dict
        Data to store as JSON in the header, which `described` reads.
    ends : sequence of int
        Last columns (exclusive) of the blocks that can be read separately. A block contains one or
        more motions. Default: a single block. Chains must be ordered by motion.
    """
    bounds = np.array([0, *(ends or [web.shape[1]])], np.int64)
    count = web.chain_count
    quantum = max(_QUANTUM, float(web.values.max(initial=0.0)) / _LARGEST)
    levels = np.rint(web.values.astype(np.float64) / quantum).astype(np.int64)
    heads = web.cells[web.offsets[:count]].astype(np.int64)
    # Where the chains, chain cells, bridges and bridge cells of each block start.
    block = np.searchsorted(bounds, heads[:, 1], side="right") - 1
    chains = np.searchsorted(block, np.arange(len(bounds)))
    cells = web.offsets[chains]
    bridges = np.searchsorted(web.leaves, cells)
    between = web.offsets[count + bridges]
    lengths = np.diff(web.offsets)
    steps = _steps(web.cells, web.offsets, count, web.leaves, web.arrives)
    values = _differences(levels, web.offsets)
    heads -= np.column_stack([np.zeros(count, np.int64), np.repeat(bounds[:-1], np.diff(chains))])
    parts = {  # rows of one or two tables, those of chains and those of bridges
        "lengths": (lengths[:count], chains, lengths[count:], bridges),
        "heads": (np.diff(heads, axis=0, prepend=0), chains, None, None),
        "leaves": (np.diff(web.leaves, prepend=0), bridges, None, None),
        "arrives": (web.arrives - web.leaves, bridges, None, None),
        "steps": (
            steps[: cells[-1] - count], cells - chains, steps[cells[-1] - count :],
            between - cells[-1] + bridges,
        ),
        "values": (values[: cells[-1]], cells, values[cells[-1] :], between - cells[-1]),
    }  # fmt: skip
    # The first numbers of a block are relative to the start of the block.
    first = parts["heads"][0]
    some = chains[:-1][np.diff(chains) > 0]
    first[some] = heads[some]
    some = np.flatnonzero(np.diff(bridges) > 0)
    parts["leaves"][0][bridges[some]] = web.leaves[bridges[some]] - cells[some]
    tables = {name: (_folded(a), _folded(b)) for name, (a, _, b, _) in parts.items()}
    widths = [_width(*tables[name]) for name in _FIELDS]
    packed = []
    for k in range(len(bounds) - 1):
        if chains[k] == chains[k + 1]:
            packed.append(b"")
            continue
        content = [struct.pack("<II", chains[k + 1] - chains[k], bridges[k + 1] - bridges[k])]
        for name, width in zip(_FIELDS, widths, strict=True):
            _, bounds_a, _, bounds_b = parts[name]
            table_a, table_b = tables[name]
            table = table_a[bounds_a[k] : bounds_a[k + 1]]
            if bounds_b is not None:
                table = np.concatenate([table, table_b[bounds_b[k] : bounds_b[k + 1]]])
            content.append(_planes(table, width))
        packed.append(zlib.compress(b"".join(content), _LEVEL))
    header = {
        "about": about,
        "shape": web.shape,
        "rate": web.rate,
        "quantum": quantum,
        "widths": widths,
        "ends": bounds[1:].tolist(),
        "sizes": [len(part) for part in packed],
    }
    front = zlib.compress(json.dumps(header).encode(), 6)
    return b"".join([_MARK, struct.pack("<II", _VERSION, len(front)), front, *packed])


def described(path: Path) -> dict:
    """Read the header of an encoded web file; see `web_header`."""
    check_regular(path)
    with open(path, "rb") as data:
        front = data.read(_FRONT)
        size = struct.unpack_from("<I", front, len(_MARK) + 4)[0] if len(front) == _FRONT else 0
        try:
            return description(front + data.read(min(size, _LONGEST)))
        except LibraryError as error:
            raise LibraryError(f"{path}: {error}; remove it and rebuild the web") from None


def description(data: bytes) -> dict:
    """Read the header of bytes from `encoded`, adding where the data starts; see `web_header`."""
    try:
        version, size = struct.unpack_from("<II", data, len(_MARK))
        if data[: len(_MARK)] != _MARK or version != _VERSION:
            raise ValueError("this is not a web file of the current version")
        header = parse_json(unpacked_bytes(data[_FRONT : _FRONT + size], _LONGEST))
        if not isinstance(header, dict) or not isinstance(header.get("about"), dict):
            raise ValueError("the header is missing")
        return {**header, "at": _FRONT + size}
    except (struct.error, ValueError, zlib.error, RecursionError) as error:
        raise LibraryError(f"damaged web: {error}") from None


def web_header(header: dict) -> WebHeader:
    """Check and convert a header read by `described` or `description`.

    Raises
    ------
    LibraryError
        If a value is invalid.
    """
    try:
        shape, sizes, ends, widths = (header[name] for name in ("shape", "sizes", "ends", "widths"))
        numbers = (*shape, *sizes, *ends, *widths, header["at"])
        whole = all(type(number) is int and 0 <= number < 1 << 31 for number in numbers)
        _expect("header", whole and len(shape) == 2 and isinstance(header["about"], dict))
        rate, quantum = float(header["rate"]), float(header["quantum"])
        _expect("rate", 0.0 < rate < math.inf and 0.0 <= quantum < math.inf)
        _expect("widths", len(widths) == len(_FIELDS) and all(1 <= width <= 8 for width in widths))
        columns = np.array([0, *ends], np.int64)
        _expect("columns", len(ends) == len(sizes) > 0 and columns[-1] == shape[1])
        _expect("order of columns", bool((np.diff(columns) >= 0).all()))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise LibraryError(f"damaged web: {error}") from None
    places = offsets_of(sizes) + header["at"]
    return WebHeader(header["about"], shape[0], rate, quantum, tuple(widths), columns, places)


def decoded(data: bytes) -> Web:
    """Decode a web from bytes written by `encoded`.

    Raises
    ------
    LibraryError
        If the bytes are not a web, or are damaged.
    """
    header = web_header(description(data))
    blocks = [
        (decoded_block(header, k, data[header.places[k] : header.places[k + 1]]), int(column))
        for k, column in enumerate(header.ends[:-1])
    ]
    if len(blocks) == 1:
        return blocks[0][0]
    return joined(blocks, (header.rows, int(header.ends[-1])), header.rate)


def decoded_block(header: WebHeader, number: int, data: bytes) -> Web:
    """Decode the web of one block, with columns counted from its first column.

    Raises
    ------
    LibraryError
        If the block is damaged.
    """
    shape = (header.rows, int(header.ends[number + 1] - header.ends[number]))
    if header.places[number] == header.places[number + 1]:
        return Web.empty(shape, header.rate)
    try:
        content = unpacked_bytes(data, 8 * _MOST + 1)
        count, bridges = struct.unpack_from("<II", content)
        parts, at = {}, 8
        sizes = {"lengths": count + bridges, "heads": 2 * count, "leaves": bridges}
        for name, width in zip(_FIELDS, header.widths, strict=True):
            size = sizes.get(name, bridges)
            parts[name] = _from_planes(content, at, size, width)
            at += size * width
            if name == "lengths":
                lengths = parts[name]
                _expect("lengths", _within(lengths, _MOST) and bool((lengths[:count] > 0).all()))
                cells = int(lengths.sum())
                sizes |= {"steps": cells - count + bridges, "values": cells}
        _expect("size", at == len(content))
        for name, width in zip(_FIELDS, header.widths, strict=True):
            if 1 << (8 * width - 1) > _LARGEST_NUMBER:  # fewer bytes cannot hold a larger number
                _expect("numbers", _within(np.abs(parts[name]), _LARGEST_NUMBER))
        _expect("steps", _within(parts["steps"], 3))
        offsets = offsets_of(parts["lengths"])
        leaves = np.cumsum(parts["leaves"])
        arrives = leaves + parts["arrives"]
        heads = np.cumsum(parts["heads"].reshape(-1, 2), axis=0)
        _expect("bridges", _within(leaves, offsets[count]) and _within(arrives, offsets[count]))
        cells = _cells(parts["steps"], offsets, count, heads, leaves)
        _expect("cells", _within(cells[:, 0], shape[0]) and _within(cells[:, 1], shape[1]))
        values = _sums(parts["values"], offsets) * header.quantum
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise LibraryError(f"damaged web: {error}") from None
    return Web(
        shape, header.rate, cells, values.astype(np.float32), offsets, count, leaves, arrives
    )


def _within(numbers: NDArray, end: int) -> bool:
    """Return whether all numbers are in ``[0, end)``."""
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < end)


def _expect(what: str, holds: bool) -> None:
    if not holds:
        raise ValueError(f"invalid {what}")


def _folded(numbers: NDArray[np.int64] | None) -> NDArray[np.uint8]:
    """Zigzag-encode integers as rows of eight bytes, least significant first."""
    numbers = np.empty(0, np.int64) if numbers is None else np.ascontiguousarray(numbers)
    folded = ((numbers << 1) ^ (numbers >> 63)).astype("<u8")
    return folded.view(np.uint8).reshape(len(numbers), 8 * numbers[:1].size or 8)


def _width(*tables: NDArray[np.uint8]) -> int:
    """Return the number of bytes needed for all numbers in tables of eight-byte rows."""
    largest = max(int(table.reshape(-1, 8).view("<u8").max(initial=0)) for table in tables)
    return max(1, (largest.bit_length() + 7) // 8)


def _planes(table: NDArray[np.uint8], width: int) -> bytes:
    """Return byte planes: all first bytes, then all second bytes, and so on."""
    return np.ascontiguousarray(table.reshape(-1, 8)[:, :width].T).tobytes()


def _from_planes(data: bytes, at: int, count: int, width: int) -> NDArray[np.int64]:
    if not 0 <= count <= _MOST or at + count * width > len(data):
        raise ValueError("the file ends too early, or a field is larger than allowed")
    planes = np.frombuffer(data, np.uint8, count * width, at).reshape(width, count)
    if width == 1:  # most numbers: steps and differences between neighboring cells
        return _UNFOLDED[planes[0]]
    folded = planes[0].astype("<u8")
    for n in range(1, width):
        folded |= planes[n].astype("<u8") << np.uint64(8 * n)
    return _unfolded(folded)


def _unfolded(folded: NDArray) -> NDArray[np.int64]:
    """Decode zigzag-encoded integers."""
    return (folded >> 1).astype(np.int64) ^ -(folded & 1).astype(np.int64)


_UNFOLDED = _unfolded(np.arange(256, dtype=np.uint64))  # of one byte


@kernel
def _steps(cells, offsets, chain_count, leaves, arrives):
    """Return the steps (0 diagonal, 1 right, 2 down) within chains, then along whole bridges."""
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
    """Compute the cells (C, 2) of all paths from their steps: 0 diagonal, 1 right, 2 down.

    Chains start at `heads` (chains, 2), bridges at the chain cells `leaves` (B,). The last step of
    a bridge leads onto a chain and adds no cell.
    """
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
    """Return the first value of each path, followed by differences between cells."""
    out = np.empty_like(levels)
    for p in range(len(offsets) - 1):
        before = 0
        for c in range(offsets[p], offsets[p + 1]):
            out[c] = levels[c] - before
            before = levels[c]
    return out


@kernel
def _sums(differences, offsets):
    """Return running sums (C,) of the differences within each path, starting at zero."""
    out = np.empty(len(differences))
    for p in range(len(offsets) - 1):
        total = 0
        for c in range(offsets[p], offsets[p + 1]):
            total += differences[c]
            out[c] = total
    return out
