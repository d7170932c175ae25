"""The glTF container: a JSON document and binary buffers, in one ``.glb`` file or several files.

Every number in the document is checked before use. An index must point into its list, and a view
must lie within the available bytes.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.files import LARGEST, atomic_write, parse_json, read_regular
from motionloom.formats.conventions import file_bytes

_MAGIC = 0x46546C67  # "glTF"
_JSON, _BINARY = 0x4E4F534A, 0x004E4942
_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_ROOM = 256_000_000  # bytes of numbers that any file may contain
_GROWTH = 64  # the same limit for larger files, per byte
_MOST_ITEMS = 100_000  # maximum number of nodes, accessors, ... in one file
# Extensions that change the encoding of the skeleton or its animation.
_UNKNOWN = ("EXT_meshopt_compression", "KHR_meshopt_compression")


class GltfFile:
    """A glTF document with checked access to its parts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        data = file_bytes(path, "a glTF file")
        self.binary: bytes | None = None
        if data[:4] == b"glTF":
            text = self._chunks(data)
        else:
            text = data
        try:
            document = parse_json(text)
        except (ValueError, RecursionError) as error:
            self.refuse(
                f"this is not a glTF file, because its JSON cannot be read ({_short(error)})"
            )
        if not isinstance(document, dict) or not isinstance(document.get("asset"), dict):
            self.refuse("this is not a glTF file, because it has no asset entry")
        version = str(document["asset"].get("version", ""))
        if not version.startswith("2"):
            stated = version[:20] or "unknown"
            self.refuse(f"only glTF version 2.0 is supported; this file has version {stated!r}")
        self.document: dict[str, Any] = document
        self._buffers: dict[int, bytes] = {}
        self._items: dict[str, list[dict[str, Any]]] = {}
        self._left = max(_ROOM, _GROWTH * len(data))
        self._beside = 0  # bytes read from files in the same folder
        needed = document.get("extensionsRequired", [])
        for name in needed if isinstance(needed, list) else []:
            if name in _UNKNOWN:
                self.refuse(
                    f"the data are compressed with {name}; decompress the file with: gltfpack -i "
                    f"{path.name} -o plain.glb -noq"
                )

    def refuse(self, problem: str) -> NoReturn:
        """Raise `MotionFormatError` for this file."""
        raise MotionFormatError(problem, path=self.path)

    def items(self, kind: str) -> list[dict[str, Any]]:
        """Return all items of a kind (nodes, skins, animations, ...), or an empty list."""
        if kind in self._items:
            return self._items[kind]
        items = self.document.get(kind, [])
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            self.refuse(f"{kind} must be a list of objects")
        if len(items) > _MOST_ITEMS:
            self.refuse(f"the file has {len(items)} {kind}; the limit is {_MOST_ITEMS}")
        self._items[kind] = items
        return items

    def item(self, kind: str, index: object) -> dict[str, Any]:
        """Return the item of a kind (nodes, skins, ...) at an index."""
        items = self.items(kind)
        return items[self.index(kind, index, len(items))]

    def index(self, kind: str, index: object, count: int) -> int:
        """Return `index` if it is an integer in ``[0, count)``. Otherwise, raise an error."""
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count:
            self.refuse(
                f"index {str(index)[:20]} is not valid, because the file has {count} {kind}"
            )
        return index

    def numbers(self, value: object, count: int, what: str) -> NDArray[np.float64]:
        """Return a list of `count` finite numbers."""
        try:
            array = np.array(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            array = np.zeros(0)
        if array.shape != (count,) or not np.all(np.abs(array) < 1e12):
            self.refuse(f"{what} must be {count} numbers, found {str(value)[:60]}")
        return array

    def accessor(self, index: object, kind: str) -> NDArray[np.float64]:
        """Return the values (count, width) of an accessor, with normalized integers scaled."""
        accessor = self.item("accessors", index)
        if accessor.get("type") != kind:
            self.refuse(f"accessor {index} must be {kind}, found {str(accessor.get('type'))[:20]}")
        component = accessor.get("componentType")
        if not isinstance(component, int) or component not in _COMPONENTS:
            self.refuse(f"accessor {index} has an unknown component type {str(component)[:20]}")
        if "sparse" in accessor or "bufferView" not in accessor:
            self.refuse(f"accessor {index} is sparse or empty, which is not supported")
        count, width = self.size(accessor, "count", None), _WIDTHS[kind]
        dtype = np.dtype(_COMPONENTS[component])
        view = self.item("bufferViews", accessor["bufferView"])
        buffer = self.buffer(view.get("buffer"))
        start = self.size(view, "byteOffset", 0)
        length = self.size(view, "byteLength", None)
        offset = self.size(accessor, "byteOffset", 0)
        stride = self.size(view, "byteStride", 0) or width * dtype.itemsize
        last = offset + (count - 1) * stride + width * dtype.itemsize
        if count < 1 or stride < width * dtype.itemsize or last > length:
            self.refuse(f"accessor {index} reaches beyond its view")
        if start + length > len(buffer):
            self.refuse(
                f"accessor {index} reaches beyond its buffer of {len(buffer)} bytes (truncated?)"
            )
        self._left -= 8 * count * width
        if self._left < 0:
            self.refuse("the animation curves use the same data too often")
        raw = np.ndarray((count, width), dtype, buffer, start + offset, (stride, dtype.itemsize))
        with np.errstate(invalid="ignore"):  # any bit pattern is possible
            values = raw.astype(np.float64)
        if accessor.get("normalized") and dtype.kind in "iu":
            values = np.maximum(values / np.iinfo(dtype).max, -1.0)
        if not np.all(np.abs(values) < 1e12):
            self.refuse(f"accessor {index} contains numbers that are not finite")
        return values

    # --- bytes ------------------------------------------------------------------------------

    def _chunks(self, data: bytes) -> bytes:
        """Return the JSON chunk of a GLB file, and store its binary chunk in this object."""
        if len(data) < 20:
            self.refuse("the file is truncated within its header")
        version, length = struct.unpack_from("<II", data, 4)
        if version != 2:
            self.refuse(f"only GLB version 2 is supported; this file has version {version}")
        if length > len(data):
            self.refuse(f"the file is truncated: it should have {length} bytes but has {len(data)}")
        place, text = 12, None
        while place + 8 <= length:
            size, kind = struct.unpack_from("<II", data, place)
            chunk = data[place + 8 : place + 8 + size]
            if len(chunk) < size:
                self.refuse("a chunk reaches beyond the end of the file")
            if kind == _JSON and text is None:
                text = chunk
            elif kind == _BINARY and self.binary is None:
                self.binary = chunk
            place += 8 + size
        if text is None:
            self.refuse("the file has no JSON chunk")
        return text

    def buffer(self, index: object) -> bytes:
        """Return the bytes of a buffer."""
        buffers = self.items("buffers")
        number = self.index("buffers", index, len(buffers))
        if number not in self._buffers:
            uri = buffers[number].get("uri")
            if uri is None:
                if number != 0 or self.binary is None:
                    self.refuse(f"buffer {number} has no data")
                self._buffers[number] = self.binary
            else:
                self._buffers[number] = self._fetched(str(uri), number)
        return self._buffers[number]

    def _fetched(self, uri: str, number: int) -> bytes:
        if uri.startswith("data:"):
            try:
                return base64.b64decode(uri.partition(",")[2], validate=True)
            except (binascii.Error, ValueError):
                self.refuse(f"buffer {number} is not valid base64")
        return self.sibling(uri, f"buffer {number}")

    def sibling(self, uri: str, what: str = "an image") -> bytes:
        """Return the bytes of a file in the same folder."""
        name = unquote(uri)
        if "://" in name or "\x00" in name:
            self.refuse(f"{what} is at {uri[:60]!r}, but only files in the same folder are read")
        folder = self.path.parent.resolve()
        try:
            file = (folder / name).resolve()
            inside = file.is_relative_to(folder) and file.is_file()
            self._beside += file.stat().st_size if inside else 0
            fits = self._beside <= LARGEST
            data = read_regular(file) if inside and fits else b""
        except (OSError, ValueError, RuntimeError):
            inside = False
        if not inside:
            self.refuse(
                f"{what} should be in the file {uri[:60]!r} in the same folder, which does not "
                "exist"
            )
        if not fits:
            self.refuse(
                f"the files that this file refers to, including {uri[:60]!r}, exceed "
                f"{LARGEST >> 20} MB"
            )
        return data

    def view_bytes(self, index: object) -> bytes:
        """Return the bytes of a buffer view."""
        view = self.item("bufferViews", index)
        buffer = self.buffer(view.get("buffer"))
        start, length = self.size(view, "byteOffset", 0), self.size(view, "byteLength", None)
        if start + length > len(buffer):
            self.refuse(f"view {index} reaches beyond its buffer of {len(buffer)} bytes")
        self._left -= length
        if self._left < 0:
            self.refuse("the file uses the same bytes too often")
        return buffer[start : start + length]

    def size(self, owner: dict[str, Any], key: str, usual: int | None) -> int:
        """Return a number of bytes or items from an object, or the default `usual` if missing."""
        value = owner.get(key, usual)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**40:
            self.refuse(f"{key} must be a number of bytes or items, found {str(value)[:20]}")
        return value


def write_document(path: Path, document: dict[str, Any], binary: bytes) -> None:
    """Write a ``.glb`` file or, for any other suffix, a ``.gltf`` file with its buffer embedded."""
    coded = glb_bytes if path.suffix.lower() == ".glb" else gltf_bytes
    with atomic_write(path) as scratch:
        scratch.write_bytes(coded(document, binary))


def glb_bytes(document: dict[str, Any], binary: bytes) -> bytes:
    """Encode a document and its buffer as a GLB file."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    length = 12 + 8 + len(text) + 8 + len(binary)
    head = struct.pack("<III", _MAGIC, 2, length) + struct.pack("<II", len(text), _JSON)
    return b"".join([head, text, struct.pack("<II", len(binary), _BINARY), binary])


def gltf_bytes(document: dict[str, Any], binary: bytes) -> bytes:
    """Encode a document as a ``.gltf`` file with its buffer embedded as base64."""
    uri = "data:application/octet-stream;base64," + base64.b64encode(binary).decode()
    embedded = {**document, "buffers": [{"byteLength": len(binary), "uri": uri}]}
    return json.dumps(embedded, ensure_ascii=False, indent=1).encode()


def _short(error: BaseException) -> str:
    return str(error)[:80] or type(error).__name__
