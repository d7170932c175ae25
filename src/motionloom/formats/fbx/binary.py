"""The binary FBX container, version 7400: a tree of records with typed properties.

A record has a name, properties (numbers, strings, bytes, arrays) and child records. Offsets are 32
bits wide; long arrays are compressed with zlib.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

VERSION = 7400
_MAGIC = b"Kaydara FBX Binary  \x00\x1a\x00"
# The identifier of the file and the code before the footer belong to this creation time.
CREATION_TIME = "1970-01-01 10:00:00:000"
FILE_ID = bytes.fromhex("28b32aebb624ccc2bfc8b02aa92bfcf1")
_FOOTER_ID = bytes.fromhex("fabcab09d0c8d466b176fb831cf7267e")
_END = bytes.fromhex("f85a8c6adef5d97eece90ce3758f290b")
_NOTHING = b"\0" * 13  # ends a list of records
_COMPRESSED = 128  # bytes: longer arrays are compressed
_ARRAYS = {"f4": b"f", "f8": b"d", "i4": b"i", "i8": b"l"}


@dataclass
class Record:
    """One record: a name, properties and child records.

    Properties are ``bool``, ``int`` (64 bits), ``Int32``, ``float`` (64 bits), ``str``, ``bytes``
    and arrays of float32, float64, int32 or int64.
    """

    name: str
    properties: tuple[Any, ...] = ()
    children: list[Record] = field(default_factory=list)

    def add(self, name: str, *properties: Any) -> Record:
        """Append a child record and return it."""
        child = Record(name, properties)
        self.children.append(child)
        return child


class Int32(int):
    """An integer that is stored in 32 bits."""


def file_bytes(records: Iterable[Record]) -> bytes:
    """The bytes of a file of top-level records."""
    parts = [_MAGIC + struct.pack("<I", VERSION)]
    place = len(parts[0])
    for record in records:
        coded = _coded(record, place)
        parts.append(coded)
        place += len(coded)
    parts.append(_NOTHING + _FOOTER_ID + b"\0" * 4)
    place += len(parts[-1])
    parts.append(b"\0" * (16 - place % 16))
    parts.append(struct.pack("<I", VERSION) + b"\0" * 120 + _END)
    return b"".join(parts)


def _coded(record: Record, place: int) -> bytes:
    name = record.name.encode()
    values = b"".join(map(_property, record.properties))
    inner: list[bytes] = []
    here = place + 13 + len(name) + len(values)
    for child in record.children:
        coded = _coded(child, here)
        inner.append(coded)
        here += len(coded)
    if record.children or not record.properties:
        inner.append(_NOTHING)
        here += len(_NOTHING)
    head = struct.pack("<IIIB", here, len(record.properties), len(values), len(name))
    return b"".join([head, name, values, *inner])


def _property(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<cB", b"C", value)
    if isinstance(value, Int32):
        return struct.pack("<ci", b"I", value)
    if isinstance(value, int):
        return struct.pack("<cq", b"L", value)
    if isinstance(value, float):
        return struct.pack("<cd", b"D", value)
    if isinstance(value, str | bytes):
        data = value.encode() if isinstance(value, str) else value
        return struct.pack("<cI", b"S" if isinstance(value, str) else b"R", len(data)) + data
    return _array(np.asarray(value))


def _array(values: np.ndarray) -> bytes:
    code = _ARRAYS[f"{values.dtype.kind}{values.dtype.itemsize}"]
    data = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()
    packed = len(data) > _COMPRESSED
    stored = zlib.compress(data, 1) if packed else data
    return code + struct.pack("<III", values.size, packed, len(stored)) + stored
