"""Mutations of bytes, text with numbers, JSON, arrays and SQLite files."""

from __future__ import annotations

import io
import json
import random
import re
import sqlite3
import struct
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

NUMBERS = [0, 1, -1, 2, 255, 65535, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, -(2**63), 10**30]
TEXTS = [
    "", "..", "../../x", "/etc/passwd", "a" * 5000, "\x1b[31m", "\0", "\ud800", "é" * 300, "nan",
    "1e999", "-", "{", "[[[[", "%s%n", "CON", "file:///x", "NaN:0-1", "9" * 400,
]  # fmt: skip
LEAVES = [
    *NUMBERS, *TEXTS, None, True, 1e308, -1e308, float("nan"), float("inf"), 0.5, [], {}, [[]],
    [0] * 50, {"a": {"b": []}},
]  # fmt: skip


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change, remove, repeat or insert some bytes."""
    out = bytearray(data)
    gentle = rng.random() < 0.5  # keeps most of a file readable
    for _ in range(1 if gentle else rng.choice([1, 1, 2, 3, 8, 30])):
        size = len(out)
        place = rng.randrange(size + 1)
        kind = rng.choice([0, 1, 5, 7, 7, 7]) if gentle else rng.randrange(8)
        if kind == 0 and size:
            out[place % size] ^= 1 << rng.randrange(8)
        elif kind == 1 and size:
            out[place % size] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, 0x20, 0x2D, 0x39])
        elif kind == 2:
            del out[place:]
        elif kind == 3:
            del out[place : place + rng.randrange(1, 40)]
        elif kind == 4:
            part = out[place : place + rng.randrange(1, 200)]
            out[place:place] = part * rng.choice([1, 2, 50])
        elif kind == 5:
            form = rng.choice(["<I", "<q", ">I", "<H", "<d", "<f"])
            value = rng.choice(NUMBERS)
            packed = (
                struct.pack(
                    form,
                    rng.choice([float("nan"), float("inf"), 1e308 if form == "<d" else 1e38, -1.0]),
                )
                if form in ("<d", "<f")
                else (value & ((1 << 8 * struct.calcsize(form)) - 1)).to_bytes(
                    struct.calcsize(form), "little"
                )
            )
            out[place : place + len(packed)] = packed
        elif kind == 6:
            out[place:place] = rng.randbytes(rng.randrange(1, 30))
        else:
            numbers = list(re.finditer(rb"-?\d+\.?\d*", bytes(out)))
            if numbers:
                chosen = rng.choice(numbers)
                out[chosen.start() : chosen.end()] = str(rng.choice(LEAVES[:30])).encode(
                    "utf-8", "surrogatepass"
                )
    return bytes(out)


def mutated_json(data: bytes, rng: random.Random) -> bytes:
    """Replace a leaf or branch of JSON."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return mutated_bytes(data, rng)
    for _ in range(rng.choice([1, 1, 2, 4])):
        value = _changed(value, rng)
    if rng.random() < 0.03:
        return b"[" * 100_000
    return json.dumps(value).encode("utf-8", "surrogatepass")


def _changed(value: Any, rng: random.Random) -> Any:
    if rng.random() < 0.15 or not isinstance(value, dict | list) or not value:
        return rng.choice(LEAVES)
    if isinstance(value, dict):
        key = rng.choice(list(value))
        if rng.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _changed(value[key], rng)}
    place = rng.randrange(len(value))
    if rng.random() < 0.2:
        return value[:place] + value[place + 1 :]
    if rng.random() < 0.1:
        return value + value[place:]
    return [*value[:place], _changed(value[place], rng), *value[place + 1 :]]


def mutated_array(data: bytes, rng: random.Random) -> bytes:
    """Change the header or the numbers of a ``.npy`` file."""
    if rng.random() < 0.3:
        return mutated_bytes(data, rng)
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
        if array.nbytes > len(data) or array.size > len(data):
            raise ValueError("an array larger than its bytes, from an earlier mutation")
    except Exception:
        return mutated_bytes(data, rng)
    if rng.random() < 0.4:
        header = {
            "descr": rng.choice(["<f4", "<f8", "|O", "<i8", "|u1", "<U9", "|V0", ">f4", "<c16"]),
            "fortran_order": rng.random() < 0.3,
            "shape": tuple(rng.choice([*array.shape, *NUMBERS]) for _ in range(rng.randrange(4))),
        }
        text = repr(header).encode() + b"\n"
        if rng.random() < 0.1:
            text = b"(" * 9000
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + array.tobytes()
    return npy(_other_values(array, rng))


def _other_values(array: np.ndarray, rng: random.Random) -> np.ndarray:
    kind = rng.randrange(5)
    out = np.array(array)
    if kind == 0:
        return out[: rng.randrange(len(out) + 1)] if out.ndim else out
    if kind == 1 and out.dtype.kind in "biuf":
        return out.astype(rng.choice(["<f4", "<f8", "<i8", "<i4", "?", "<u8"]))
    if kind == 2:
        return out.reshape(-1) if rng.random() < 0.5 else out[..., None]
    with suppress(OverflowError, ValueError, IndexError, TypeError):
        for _ in range(rng.choice([1, 3, 50])):
            place = rng.randrange(max(1, out.size))
            value = rng.choice([*NUMBERS, float("nan"), float("inf"), -0.5])
            out.reshape(-1)[place] = value
    return out


def mutated_frames(data: bytes, rng: random.Random) -> bytes:
    """Change the array or the description of a frame file, and write its checksums again."""
    tail = struct.Struct("<QII8s")
    try:
        length, _, _, mark = tail.unpack(data[-tail.size :])
        text = data[-tail.size - length : -tail.size]
        table = data[: -tail.size - length]
        if rng.random() < 0.5:
            text = zlib.compress(mutated_json(zlib.decompress(text), rng))
        else:
            table = mutated_array(table, rng)
        stream = io.BytesIO(table)
        np.lib.format.read_magic(stream)
        np.lib.format.read_array_header_1_0(stream)
        frames = table[stream.tell() :]
    except Exception:
        return mutated_bytes(data, rng)
    return table + text + tail.pack(len(text), zlib.crc32(text), zlib.crc32(frames), mark)


def npy(array: np.ndarray) -> bytes:
    """An array as a ``.npy`` file."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def mutated_zip(data: bytes, rng: random.Random) -> bytes:
    """Change one member of a zip file, depending on its type."""
    if rng.random() < 0.3:
        return mutated_bytes(data, rng)
    out = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
            names = old.namelist()
            chosen = rng.choice(names) if names else ""
            for name in names:
                content = old.read(name)
                if name == chosen:
                    if rng.random() < 0.1:
                        continue
                    content = mutated_array(content, rng)
                bomb = rng.random() < 0.03
                if bomb:
                    content = npy(np.zeros(30_000_000, np.float32))
                way = zipfile.ZIP_DEFLATED if bomb else zipfile.ZIP_STORED
                new.writestr(zipfile.ZipInfo(name), content, compress_type=way)
    except Exception:
        return mutated_bytes(data, rng)
    return out.getvalue()


def mutated_web(data: bytes, rng: random.Random) -> bytes:
    """Change numbers in the compressed parts of a match web, which still decompress."""
    if rng.random() < 0.3:
        return mutated_bytes(data, rng)
    try:
        size = struct.unpack_from("<I", data, 12)[0]
        header = json.loads(zlib.decompress(data[16 : 16 + size]))
        at, parts = 16 + size, []
        for length in header["sizes"]:
            parts.append(zlib.decompress(data[at : at + length]))
            at += length
    except (struct.error, ValueError, TypeError, LookupError, zlib.error):
        return mutated_bytes(data, rng)  # it was mutated before
    if rng.random() < 0.3:
        header = _changed(header, rng)
    else:
        chosen = rng.randrange(len(parts))
        parts[chosen] = mutated_bytes(parts[chosen], rng)
        if rng.random() < 0.05:
            parts[chosen] = bytes([1]) + bytes(50_000_000)
    packed = [zlib.compress(part, 1) for part in parts]
    if isinstance(header, dict) and rng.random() < 0.8:
        header["sizes"] = [len(part) for part in packed]
    front = zlib.compress(json.dumps(header).encode("utf-8", "surrogatepass"))
    return b"".join([data[:12], struct.pack("<I", len(front)), front, *packed])


def mutated_glb(data: bytes, rng: random.Random) -> bytes:
    """Change the document or the numbers of a binary glTF file."""
    if rng.random() < 0.3:
        return mutated_bytes(data, rng)
    size = struct.unpack_from("<I", data, 12)[0]
    text, rest = data[20 : 20 + size], data[20 + size :]
    if rng.random() < 0.3:
        rest = rest[:8] + mutated_bytes(rest[8:], rng)[: len(rest) - 8].ljust(len(rest) - 8, b"\0")
    else:
        text = mutated_json(text, rng)
        text += b" " * (-len(text) % 4)
    head = struct.pack("<4sII", b"glTF", 2, 20 + len(text) + len(rest))
    return head + struct.pack("<I4s", len(text), b"JSON") + text + rest


def mutated_packed(data: bytes, rng: random.Random) -> bytes:
    """Change values in compressed JSON, or replace it with a decompression bomb."""
    if rng.random() < 0.3:
        return mutated_bytes(data, rng)
    if rng.random() < 0.03:
        return zlib.compress(b"[" + b" " * 300_000_000, 1)
    try:
        return zlib.compress(mutated_json(zlib.decompress(data), rng), 1)
    except zlib.error:
        return mutated_bytes(data, rng)


def mutated_sqlite(data: bytes, rng: random.Random, folder: Path) -> bytes:
    """Change a row of an SQLite file, or the file itself."""
    if rng.random() < 0.3:
        return mutated_bytes(data, rng)
    path = folder / "mutated.sqlite"
    path.write_bytes(data)
    connection = sqlite3.connect(path)
    with suppress(sqlite3.Error, OverflowError, UnicodeEncodeError, IndexError), connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        tables = [row[0] for row in connection.execute(query)]
        for _ in range(rng.choice([1, 1, 2, 5])):
            table = rng.choice(tables)
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            value = rng.choice([*NUMBERS[:-1], *TEXTS, None, 1e308, b"\xff\x00", 0.0, -1.5])
            column = rng.choice(columns)
            kind = rng.randrange(8)
            if kind >= 6:
                _mutate_cell(connection, table, columns, rng)
            elif kind == 0:
                connection.execute(f"DELETE FROM {table} WHERE rowid % 2 = 0 OR 1 = 1")
            elif kind == 1:
                connection.execute(f"DROP TABLE {table}")
            elif kind == 2:
                connection.execute(f"CREATE VIEW v{rng.randrange(9)} AS SELECT * FROM {table}")
            else:
                connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
    connection.close()
    out = path.read_bytes()
    path.unlink()
    return out


def _mutate_cell(
    connection: sqlite3.Connection, table: str, columns: list[str], rng: random.Random
) -> None:
    """Change one cell of a table depending on its content: most strings in catalogues are JSON."""
    rows = connection.execute(f"SELECT * FROM {table}").fetchall()
    cells = [
        (column, value)
        for row in rows
        for column, value in zip(columns, row, strict=True)
        if isinstance(value, str | bytes) and value
    ]
    column, value = rng.choice(cells)
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    as_json = isinstance(value, str) and value[:1] in "[{"
    changed = mutated_json(data, rng) if as_json else mutated_bytes(data, rng)
    new = changed.decode("utf-8", "replace") if isinstance(value, str) else changed
    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new, value))


def mutated_file(path: Path, data: bytes, rng: random.Random, folder: Path) -> bytes:
    """Apply a mutation that fits the type of a file."""
    suffix = path.suffix.lower()
    if suffix in (".json", ".gltf", ".vrm"):
        return mutated_json(data, rng) if rng.random() < 0.7 else mutated_bytes(data, rng)
    if suffix in (".glb", ".vrma"):
        return mutated_glb(data, rng)
    if suffix == ".z":
        return mutated_packed(data, rng)
    if data.endswith(b"mloomfrm"):
        return mutated_frames(data, rng)
    if suffix == ".npy":
        return mutated_array(data, rng)
    if suffix == ".npz":
        return mutated_zip(data, rng)
    if suffix == ".web":
        return mutated_web(data, rng)
    if suffix == ".sqlite":
        return mutated_sqlite(data, rng, folder)
    return mutated_bytes(data, rng)
