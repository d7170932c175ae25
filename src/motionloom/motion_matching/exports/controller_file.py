"""File of a controller for the run-time in JavaScript: arrays of a database, rounded and packed.

A file is a zlib stream of the length of a header (uint32), the header in JSON, and the arrays that
the header lists, little-endian. Arrays of frames hold whole multiples of a step. Along the frames,
only the differences of successive differences are stored, because motion is smooth: in zigzag
order, column by column, split into byte planes.

Player and page read the rounded arrays. `pack_controller` also returns them as a database, so that
Python can play exactly the same frames as the page.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.character import SkinnedMesh
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.feet.gait import GAITS
from motionloom.motion_matching.database import MatchingDatabase, Range
from motionloom.search.index.bucket_index import BucketIndex

Whole = dict[str, NDArray[np.float64]]

VERSION = 1
# Steps to which numbers are rounded; powers of two, so that multiples are exact.
STEPS = {
    "rotations": 2.0**-14,  # components of quaternions
    "root": 2.0**-16,  # m
    "places": 2.0**-16,  # m and rad
    "features": 2.0**-13,  # m, m/s
}
_VERTEX, _WEIGHT, _NORMAL = 2.0**-14, 1.0 / 255.0, 1.0 / 127.0


def _rounded(database: MatchingDatabase, ranges: Sequence[Range], whole: Whole) -> MatchingDatabase:
    """Return the database of some ranges with the numbers of a file, multiples `whole` of STEPS."""
    rows = np.concatenate([np.arange(part.start, part.stop) for part in ranges])
    moved, first = [], 0
    for part in ranges:
        moved.append(replace(part, start=first, stop=first + part.stop - part.start))
        first = moved[-1].stop
    to_new = np.full(len(database) + 1, -1)
    to_new[rows] = np.arange(len(rows))
    values = {name: whole[name] * STEPS[name] for name in STEPS}
    w, x, y, z = np.moveaxis(values["rotations"], -1, 0)
    size = np.sqrt(w * w + x * x + y * y + z * z)
    out = replace(
        database,
        ranges=tuple(moved),
        rotations=(values["rotations"] / size[..., None]).astype(np.float32),
        root=values["root"].astype(np.float32),
        places=values["places"],
        features=values["features"].astype(np.float32),
        contacts=database.contacts[rows],
        gaits=database.gaits[rows],
        rough=database.rough[rows],
        labels=_labels(database, to_new),
    )
    kept = np.where(out.searchable[:, None], out.rows, np.float32(np.nan))
    return replace(out, index=BucketIndex.build(kept))


def _labels(database: MatchingDatabase, to_new: NDArray) -> dict[str, tuple[tuple[int, int], ...]]:
    labels = {}
    for name, ranges in database.labels.items():
        kept = [to_new[start:stop] for start, stop in ranges]
        written = [rows[rows >= 0] for rows in kept]
        spans = tuple((int(rows[0]), int(rows[-1]) + 1) for rows in written if len(rows))
        if spans:
            labels[name] = spans
    return labels


def pack_controller(
    original: MatchingDatabase,
    ranges: Sequence[Range],
    meshes: Sequence[SkinnedMesh],
    title: str,
) -> tuple[bytes, MatchingDatabase]:
    """Return the file of a controller, and the database of the rounded numbers in it.

    Parameters
    ----------
    original : MatchingDatabase
    ranges : sequence of Range
        The takes to write.
    meshes : sequence of SkinnedMesh
        Meshes that the controller moves.
    title : str
    """
    rows = np.concatenate([np.arange(part.start, part.stop) for part in ranges])
    whole = {
        name: np.round(np.asarray(getattr(original, name)[rows], np.float64) / step)
        for name, step in STEPS.items()
    }
    database = _rounded(original, ranges, whole)
    skeleton = database.skeleton
    balls = [skeleton.point(f"{side}_foot") for side in SIDES]
    legs = [
        int(skeleton.point(f"{side}_{part}")) for side in SIDES for part in ("hip", "knee", "ankle")
    ]
    scale = database.normalization.scale
    writer = _Writer()
    n = len(database)
    for name, step in STEPS.items():
        writer.packed(name, whole[name].reshape(n, -1) * step, step, order=2)
    for name, mask in (
        ("contacts", database.contacts),
        ("gaits", database.gaits),
        ("rough", database.rough),
        ("searchable", database.searchable),
    ):
        writer.plain(name, np.asarray(mask).astype(np.uint8).reshape(n, -1))
    looks = [_mesh(writer, number, mesh, skeleton) for number, mesh in enumerate(meshes)]
    names = list(skeleton.names)
    header: dict[str, Any] = {
        "format": "motionloom controller",
        "version": VERSION,
        "title": title,
        "fps": database.fps,
        "acceleration": database.acceleration,
        "standing": database.standing_frame,
        "speeds": [round(speed, 3) for speed in original.speed_range],
        "skeleton": {
            "names": names,
            "parents": skeleton.parents.tolist(),
            "offsets": skeleton.offsets.astype(np.float64).ravel().tolist(),
            "roles": {
                role: names.index(joint) for role, joint in skeleton.roles.items() if joint in names
            },
            "legs": legs,
            "ballParents": skeleton.point_parents[balls].tolist(),
            "ballOffsets": skeleton.point_offsets[balls].ravel().tolist(),
        },
        "ranges": [
            {
                "name": part.name,
                "take": part.take,
                "start": part.start,
                "stop": part.stop,
                "mirrored": part.mirrored,
                "last": int(last),
            }
            for part, last in zip(database.ranges, database._lasts, strict=True)
        ],
        "gaits": list(GAITS),
        "labels": {name: [list(span) for span in spans] for name, spans in database.labels.items()},
        "offset": database.normalization.offset.tolist(),
        "scale": [float(value) if np.isfinite(value) else None for value in scale],
        "meshes": looks,
        "arrays": writer.listed,
    }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    size = np.array([len(text)], "<u4").tobytes()
    return zlib.compress(size + text + b"".join(writer.parts), 9), database


class _Writer:
    """Arrays of a file, and their list for the header."""

    def __init__(self) -> None:
        self.listed: list[dict[str, Any]] = []
        self.parts: list[bytes] = []

    def packed(self, name: str, values: NDArray, step: float, *, order: int = 0) -> None:
        """Add multiples of `step`, shape (rows, columns), as differences of order 0 to 2."""
        whole = np.round(np.asarray(values, np.float64) / step).astype(np.int64)
        for _ in range(order):
            whole = np.diff(whole, axis=0, prepend=0)
        codes = np.where(whole < 0, -2 * whole - 1, 2 * whole).T
        size = max((int(codes.max(initial=0)).bit_length() + 7) // 8, 1)
        planes = [((codes >> (8 * plane)) & 255).astype(np.uint8) for plane in range(size)]
        self._add(name, "packed", values.shape, size, b"".join(p.tobytes() for p in planes))
        self.listed[-1] |= {"scale": step, "order": order}

    def plain(self, name: str, values: NDArray[np.uint8]) -> None:
        """Add an array of bytes."""
        self._add(name, "bytes", values.shape, 1, values.tobytes())

    def _add(self, name: str, kind: str, shape: tuple[int, ...], size: int, raw: bytes) -> None:
        rows, columns = shape
        entry = {"name": name, "type": kind, "rows": rows, "columns": columns, "bytes": size}
        self.listed.append(entry)
        self.parts.append(raw)


def _mesh(writer: _Writer, number: int, mesh: SkinnedMesh, skeleton: Any) -> dict[str, Any]:
    """Add a mesh, and return its entry of the header."""
    joints = mesh.joints.astype(np.int64)
    ends = joints >= len(skeleton)  # an end site moves with its parent
    if ends.any():
        joints[ends] = skeleton.end_parents[joints[ends] - len(skeleton)]
    name = f"mesh{number}."
    writer.packed(name + "positions", mesh.vertices, _VERTEX, order=1)
    writer.packed(name + "normals", mesh.normals, _NORMAL, order=1)
    writer.packed(name + "triangles", mesh.triangles, 1.0, order=1)
    writer.packed(name + "joints", joints, 1.0)
    writer.packed(name + "weights", mesh.weights, _WEIGHT)
    material = mesh.material
    texture = None if material is None or mesh.uvs is None else material.texture
    if texture is not None and mesh.uvs is not None:
        writer.packed(name + "uvs", mesh.uvs, 2.0**-14, order=1)
        writer.plain(name + "texture", np.frombuffer(texture, np.uint8)[:, None])
    return {
        "name": mesh.name,
        "color": None if material is None else [round(float(part), 4) for part in material.color],
        "textured": texture is not None,
        "bind": np.round(mesh.bind[: len(skeleton)], 7).ravel().tolist(),
    }
