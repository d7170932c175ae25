"""The data folder: make its files from the public sources, and compare their hashes.

Every row of ``manifests/files.csv`` says how a file is made from another one:

- from a file of a public source, such as ``bandai/...``, by copying it;
- from rows of a BVH file, ``first:stop:step``, counted from 0. The CMU files are rounded in
  addition, because the benchmark was made from files that were stored like this;
- from several BVH files with the same skeleton, separated by ``;``, by joining their rows.

Paths that begin with ``made/`` are files of the data folder. The result has the same bytes on every
computer, so that one hash per file is sufficient.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from retrieval_bench.tables import BenchmarkError, read_bytes, read_rows

MANIFESTS = Path(__file__).parents[1] / "manifests"
# Decimals of the CMU channels at 30 Hz, in the order of the file: root, then 3 per joint. Joints
# near the end of a limb need fewer for the same error (0.9 mm).
_JOINT_DECIMALS = (
    (3, 3, 3), (2,) * 3, (0,) * 3, *[(2,) * 3] * 3, (1,) * 3, (0,) * 3, *[(2,) * 3] * 3, (1,) * 3,
    *[(2,) * 3] * 3, *[(1,) * 3] * 3, (0,) * 3, (2,) * 3, (2, 2, 2), (0, 0, 1), (1, 1, 1),
    (1, 0, 0), (1,) * 3, (0,) * 3, (2,) * 3, (2,) * 3, (0, 0, 1), (1, 1, 1), (1, 0, 0), (1,) * 3,
)  # fmt: skip
CMU_DECIMALS = tuple(d for joint in _JOINT_DECIMALS for d in joint)
CMU_CLIP_DECIMALS = (3,) * len(CMU_DECIMALS)


@dataclass(frozen=True)
class DataFile:
    """A file of the data folder, how it is made, and its hash."""

    file: str
    made_from: tuple[str, ...]
    rows: str
    frames: int
    fps: float
    sha256: str


def data_files(folder: Path = MANIFESTS) -> dict[str, DataFile]:
    """Return all rows of ``files.csv`` by file."""
    columns = ("file", "made_from", "rows", "frames", "fps", "sha256")
    return {
        row["file"]: DataFile(
            row["file"], tuple(row["made_from"].split(";")), row["rows"], int(row["frames"]),
            float(row["fps"]), row["sha256"],
        )
        for _, row in read_rows(folder / "files.csv", columns)
    }  # fmt: skip


def sha256(content: bytes) -> str:
    """Return the hash of bytes, as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def verify(data: Path, files: Iterable[DataFile]) -> list[str]:
    """Return one message for each file that is missing or has other contents."""
    wrong = []
    for each in files:
        try:
            content = read_bytes(inside(data, each.file))
        except BenchmarkError:
            wrong.append(f"{each.file}: missing")
            continue
        if sha256(content) != each.sha256:
            wrong.append(f"{each.file}: the contents differ from the manifest")
    return wrong


def prepare(data: Path, sources: Mapping[str, Path], files: Iterable[DataFile]) -> list[str]:
    """Make files, and return one message for each file that could not be made.

    Parameters
    ----------
    data : Path
    sources : mapping of str to Path
        Folder of each public source that is available, by the first part of `made_from`. Files of
        other sources are skipped, and also files that are made from them.
    files : iterable of DataFile
        Files that do not depend on other files are made first.
    """
    wrong = []
    for each in sorted(files, key=lambda file: file.made_from[0].startswith("made/")):
        target = inside(data, each.file)
        names = {PurePosixPath(name).parts[0] for name in each.made_from} - {"made"}
        if not names <= set(sources):
            continue
        parts = [inside(data, name[5:]) for name in each.made_from if name.startswith("made/")]
        if not all(part.exists() for part in parts):
            continue  # their source was not given, or a message names them
        try:
            content = _made(each, data, sources)
        except (ValueError, OverflowError) as error:  # also numbers that are none
            wrong.append(f"{each.file}: {error}")
            continue
        if sha256(content) != each.sha256:
            wrong.append(f"{each.file}: the contents differ from the manifest; check the source")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = target.with_name(f".{target.name}.{os.getpid()}")
        scratch.write_bytes(content)
        scratch.replace(target)
    return wrong


def inside(folder: Path, name: str) -> Path:
    """Return a path in a folder, or refuse a name that leads out of it."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name:
        raise BenchmarkError(f"{name!r} is not a path in the data folder")
    return folder.joinpath(*parts)


def _made(each: DataFile, data: Path, sources: Mapping[str, Path]) -> bytes:
    contents = []
    for name in each.made_from:
        first, _, rest = name.partition("/")
        folder = data if first == "made" else sources[first]
        contents.append(read_bytes(inside(folder, rest)))
    if len(contents) > 1:
        return joined(contents)
    if not each.rows:
        return contents[0]
    bounds = [int(part) if part else None for part in each.rows.split(":")]
    start, stop, step = (bounds + [1])[:3]
    decimals = None
    if each.made_from[0].startswith("cmu/"):
        decimals = CMU_DECIMALS if each.fps == 30.0 else CMU_CLIP_DECIMALS
    return cut(contents[0], start or 0, stop, step or 1, decimals=decimals, fps=each.fps)


def cut(
    content: bytes,
    start: int,
    stop: int | None,
    step: int,
    *,
    decimals: tuple[int, ...] | None = None,
    fps: float | None = None,
) -> bytes:
    """Return rows of a BVH file as a BVH file, rounded if `decimals` are given per channel."""
    head, rows, frame_time = _parts(content)
    rows = rows[start:stop:step]
    if decimals is not None:
        head = [_short_offsets(line) for line in head]
        rows = [
            " ".join(_rounded(x, d) for x, d in zip(row.split(), decimals, strict=True))
            for row in rows
        ]
        frame_time = f"Frame Time: {1.0 / (fps or 30.0):.7f}"
    return "\n".join([*head, f"Frames: {len(rows)}", frame_time, *rows, ""]).encode()


def joined(contents: list[bytes]) -> bytes:
    """Return the rows of several BVH files one after the other, with the first skeleton."""
    parts = [_parts(content) for content in contents]
    rows = [row for _, each, _ in parts for row in each]
    return "\n".join([*parts[0][0], f"Frames: {len(rows)}", parts[0][2], *rows, ""]).encode()


def bvh_frames(content: bytes) -> int:
    """Return the number of rows of a BVH file."""
    return len(_parts(content)[1])


def _parts(content: bytes) -> tuple[list[str], list[str], str]:
    """Return the header up to ``MOTION``, the rows, and the line with the frame time."""
    lines = content.decode("utf-8", "replace").replace("\r", "").split("\n")
    at = next((k for k, line in enumerate(lines) if line.startswith("Frame Time")), None)
    if at is None:
        raise BenchmarkError("a BVH file must have a line 'Frame Time'")
    return lines[: at - 1], [line for line in lines[at + 1 :] if line.strip()], lines[at]


def _rounded(text: str, decimals: int) -> str:
    """Round a number as it was rounded for the benchmark: in single precision, halves away from 0.

    Examples
    --------
    >>> _rounded("28.1250", 2), _rounded("-0.0010", 2), _rounded("10.5450", 2)
    ('28.13', '0', '10.55')
    """
    single: float = struct.unpack("f", struct.pack("f", float(text)))[0]
    return _short(f"{single * (1.0 + 1e-12):.{decimals}f}")


def _short(text: str) -> str:
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _short_offsets(line: str) -> str:
    line = line.rstrip()
    if "OFFSET" not in line:
        return line
    word, *numbers = line.split(" ")
    return " ".join([word, *map(_short, numbers)])
