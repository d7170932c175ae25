"""Arrays on their way to the page: a short JSON head, then the raw bytes.

::

    uint32 length of the head | head, JSON, padded with spaces | array | array | ...

The head is ``{"meta": {...}, "arrays": {name: {"type", "shape", "at"}}}``; ``at`` counts bytes
from the end of the head, a multiple of eight, so that the page can lay typed arrays over the
bytes without copying them. All numbers are little-endian.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

MEDIA_TYPE = "application/octet-stream"
_TYPES = {"float32": "<f4", "int32": "<i4", "uint8": "|u1"}
_ALIGNED = 8


def pack(meta: dict[str, Any], **arrays: ArrayLike) -> bytes:
    """One message: `meta` as JSON, and arrays of any shape.

    Floating-point numbers travel as float32, integers as int32, truth values and bytes as
    uint8.

    Examples
    --------
    >>> message = pack({"name": "walk"}, root=np.zeros((2, 3)))
    >>> meta, arrays = unpack(message)
    >>> meta["name"], arrays["root"].shape
    ('walk', (2, 3))
    """
    entries, parts, at = {}, [], 0
    for name, values in arrays.items():
        given = np.asarray(values)
        kind = _kind(given.dtype)
        data = np.ascontiguousarray(given, dtype=_TYPES[kind]).tobytes()
        entries[name] = {"type": kind, "shape": list(given.shape), "at": at}
        padding = -len(data) % _ALIGNED
        parts.append(data + b"\0" * padding)
        at += len(data) + padding
    head = json.dumps({"meta": meta, "arrays": entries}, separators=(",", ":"), allow_nan=False)
    encoded = head.encode()
    encoded += b" " * (-(len(encoded) + 4) % _ALIGNED)
    return b"".join([len(encoded).to_bytes(4, "little"), encoded, *parts])


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `pack` packed; the page has the same in TypeScript."""
    start = 4 + int.from_bytes(message[:4], "little")
    head = json.loads(message[4:start])
    arrays = {}
    for name, entry in head["arrays"].items():
        count = int(np.prod(entry["shape"], dtype=np.int64))
        values = np.frombuffer(message, _TYPES[entry["type"]], count, start + entry["at"])
        arrays[name] = values.reshape(entry["shape"])
    return head["meta"], arrays


def _kind(dtype: np.dtype) -> str:
    if dtype.kind == "f":
        return "float32"
    if dtype.kind == "b" or dtype == np.uint8:
        return "uint8"
    if dtype.kind in "iu":
        return "int32"
    raise TypeError(f"cannot send an array of {dtype}")
