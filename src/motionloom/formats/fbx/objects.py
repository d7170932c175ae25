"""Records of a binary FBX file, version 7400, and the objects built from them.

A record has a name, properties (numbers, strings, bytes, arrays) and child records. Offsets have
32 bits, and long arrays are compressed with zlib.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

TICKS = 46_186_158_000  # units of FBX time per second
_LINEAR = 0x104  # a key with linear interpolation
_RATES = {
    120.0: 1, 100.0: 2, 60.0: 3, 50.0: 4, 48.0: 5, 30.0: 6, 29.97: 9, 25.0: 10, 24.0: 11,
    1000.0: 12, 23.976: 13, 96.0: 15, 72.0: 16, 59.94: 17,
}  # fmt: skip
_CUSTOM_RATE = 14
# For each up axis of the file, the axes and signs of up, front and side.
_AXES = {"y": ((1, 1), (2, 1), (0, 1)), "z": ((2, 1), (1, -1), (0, 1))}
# Type, label and flags of common properties.
_KINDS = {
    "vector": ("Vector3D", "Vector", ""),
    "move": ("Lcl Translation", "", "A"),
    "turn": ("Lcl Rotation", "", "A"),
    "scale": ("Lcl Scaling", "", "A"),
    "color": ("Color", "", "A"),
    "int": ("int", "Integer", ""),
    "enum": ("enum", "", ""),
    "bool": ("bool", "", ""),
    "double": ("double", "Number", ""),
    "number": ("Number", "", "A"),
    "time": ("KTime", "Time", ""),
    "text": ("KString", "", ""),
    "mark": ("Bool", "", "U"),
}
VERSION = 7400
_MAGIC = b"Kaydara FBX Binary  \x00\x1a\x00"
# The file identifier and the code before the footer are valid for this creation time.
CREATION_TIME = "1970-01-01 10:00:00:000"
FILE_ID = bytes.fromhex("28b32aebb624ccc2bfc8b02aa92bfcf1")
_FOOTER_ID = bytes.fromhex("fabcab09d0c8d466b176fb831cf7267e")
_END = bytes.fromhex("f85a8c6adef5d97eece90ce3758f290b")
_NOTHING = b"\0" * 13  # ends a list of records
_COMPRESSED = 128  # bytes: longer arrays are compressed
_ARRAYS = {"f4": b"f", "f8": b"d", "i4": b"i", "i8": b"l"}


class Objects:
    """Objects and connections of an FBX file under construction."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.links: list[Record] = []
        self._last = 1_000_000

    def add(self, node: str, name: str, kind: str, subtype: str) -> tuple[int, Record]:
        """Add an object such as ``Model::Hips`` (``LimbNode``). Return its number and record."""
        self._last += 1
        record = Record(node, (self._last, f"{name}\0\1{kind}", subtype))
        self.records.append(record)
        return self._last, record

    def connect(self, child: int, parent: int, *attribute: str) -> None:
        """Make an object the child of another object, or the value of one of its attributes."""
        how = "OP" if attribute else "OO"
        self.links.append(Record("C", (how, child, parent, *attribute)))

    def document(self, settings: Record, takes: Sequence[tuple[str, int]]) -> list[Record]:
        """Return all top-level records of the file."""
        head = Record("FBXHeaderExtension")
        head.add("FBXHeaderVersion", Int32(1003))
        head.add("FBXVersion", Int32(7400))
        head.add("EncryptionType", Int32(0))
        stamp = head.add("CreationTimeStamp")
        date = {"Version": 1000, "Year": 1970, "Month": 1, "Day": 1, "Hour": 10}
        for key, value in {**date, "Minute": 0, "Second": 0, "Millisecond": 0}.items():
            stamp.add(key, Int32(value))
        head.add("Creator", "motionloom")
        documents = Record("Documents")
        documents.add("Count", Int32(1))
        document = documents.add("Document", 999_999, "Scene", "Scene")
        properties(document, [("SourceObject", "text", ""), ("ActiveAnimStackName", "text", "")])
        document.add("RootNode", 0)
        objects, links = Record("Objects", (), self.records), Record("Connections", (), self.links)
        current = Record("Takes")
        current.add("Current", takes[0][0] if takes else "")
        for name, stop in takes:
            take = current.add("Take", name)
            take.add("FileName", f"{name}.tak")
            take.add("LocalTime", 0, stop)
            take.add("ReferenceTime", 0, stop)
        return [
            head,
            Record("FileId", (FILE_ID,)),
            Record("CreationTime", (CREATION_TIME,)),
            Record("Creator", ("motionloom",)),
            settings,
            documents,
            Record("References"),
            self._definitions(),
            objects,
            links,
            current,
        ]

    def _definitions(self) -> Record:
        counts = {"GlobalSettings": 1, **Counter(record.name for record in self.records)}
        definitions = Record("Definitions")
        definitions.add("Version", Int32(100))
        definitions.add("Count", Int32(sum(counts.values())))
        for name, count in counts.items():
            definitions.add("ObjectType", name).add("Count", Int32(count))
        return definitions


def properties(record: Record, rows: Sequence[tuple[Any, ...]]) -> None:
    """Add ``Properties70`` to an object, from rows of name, kind (see `_KINDS`) and values."""
    table = record.add("Properties70")
    for name, kind, *values in rows:
        whole = kind in ("int", "enum", "bool", "mark")
        plain = [v if isinstance(v, str) else Int32(v) if whole else v for v in values]
        if kind != "time":
            plain = [float(v) if isinstance(v, float | np.floating) else v for v in plain]
        table.add("P", name, *_KINDS[kind], *plain)


def global_settings(*, up: str, meters: float, fps: float, stop: int) -> Record:
    """Return the record with the axes, unit, rate and time span of the file."""
    settings = Record("GlobalSettings")
    settings.add("Version", Int32(1000))
    rows: list[tuple[Any, ...]] = []
    for axis, (number, sign) in zip(("Up", "Front", "Coord"), _AXES[up], strict=True):
        rows += [(f"{axis}Axis", "int", number), (f"{axis}AxisSign", "int", sign)]
    mode = _RATES.get(fps, _CUSTOM_RATE)
    properties(
        settings,
        [
            *rows,
            ("OriginalUpAxis", "int", -1),
            ("OriginalUpAxisSign", "int", 1),
            ("UnitScaleFactor", "double", 100.0 * meters),
            ("OriginalUnitScaleFactor", "double", 100.0 * meters),
            ("AmbientColor", "color", 0.0, 0.0, 0.0),
            ("DefaultCamera", "text", "Producer Perspective"),
            ("TimeMode", "enum", mode),
            ("TimeSpanStart", "time", 0),
            ("TimeSpanStop", "time", stop),
            ("CustomFrameRate", "double", float(fps) if mode == _CUSTOM_RATE else -1.0),
        ],
    )
    return settings


def curve(objects: Objects, times: NDArray[np.int64], values: NDArray[np.float64]) -> int:
    """Add an animation curve with linear keys, and return its number."""
    number, record = objects.add("AnimationCurve", "", "AnimCurve", "")
    record.add("Default", float(values[0]))
    record.add("KeyVer", Int32(4008))
    record.add("KeyTime", times)
    record.add("KeyValueFloat", values.astype(np.float32))
    record.add("KeyAttrFlags", np.array([_LINEAR], np.int32))
    record.add("KeyAttrDataFloat", np.zeros(4, np.float32))
    record.add("KeyAttrRefCount", np.array([len(times)], np.int32))
    return number


@dataclass
class Record:
    """An FBX record: a name, properties and child records.

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
    """Integer stored in 32 bits."""


def file_bytes(records: Iterable[Record]) -> bytes:
    """Encode top-level records as the bytes of a file."""
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
