"""Readers for the triangle meshes of robot models: STL (binary and text) and OBJ."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.character.robot.model import to_y_up
from motionloom.errors import MotionFormatError
from motionloom.files import read_regular

Mesh = tuple[NDArray[np.float64], NDArray[np.uint32]]

_LARGEST = 64_000_000  # bytes of one mesh file
_VERTEX = re.compile(rb"^v[ \t]+(.*)$", re.MULTILINE)
_FACE = re.compile(rb"^f[ \t]+(.*)$", re.MULTILINE)
_INDEX = rb"[ \t]+(-?\d+)[/\d-]*"
_TRIANGLE = re.compile(rb"^f" + 3 * _INDEX + rb"[ \t\r]*$", re.MULTILINE)
_STL = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def mesh_problem(path: Path) -> str:
    """Return a short reason why a mesh file cannot be used, or an empty string."""
    if path.suffix.lower() not in (".stl", ".obj"):
        return f"{path.name} is neither STL nor OBJ"
    try:
        return "" if path.is_file() else f"{path.name} does not exist"
    except OSError:  # such as a name that is too long
        return f"{path.name[:40]} cannot be a file"


def read_mesh(path: Path, scale: NDArray[np.float64], triangles: bool = True) -> Mesh:
    """Return vertices (V, 3) in motionloom's coordinates and, on request, triangles (F, 3)."""
    data = read_regular(path, largest=_LARGEST)
    faces = np.zeros((0, 3), np.uint32)
    try:
        is_obj = path.suffix.lower() == ".obj"
        vertices = _obj_vertices(data) if is_obj else _stl(data)
        if triangles:
            count = len(vertices)
            faces = (
                _obj_faces(data, count)
                if is_obj
                else np.arange(count, dtype=np.uint32).reshape(-1, 3)
            )
        valid = len(vertices) > 2 and np.isfinite(vertices).all()
        valid = valid and faces.max(initial=0) < len(vertices)
    except (ValueError, IndexError, OverflowError):
        valid = False
    if not valid:
        raise MotionFormatError("the mesh is damaged", path=path)
    return to_y_up(vertices * scale), faces[:, ::-1] if np.prod(scale) < 0.0 else faces


def _stl(data: bytes) -> NDArray[np.float64]:
    """Return the corners of all triangles (3 F, 3)."""
    if data[:5].lower() == b"solid" and b"facet" in data[:1000]:
        rows = [line.split()[1:4] for line in data.splitlines() if b"vertex" in line]
        return np.array(rows, np.float64).reshape(-1, 3)
    count = int.from_bytes(data[80:84], "little")
    if 84 + count * _STL.itemsize > len(data):
        raise ValueError("truncated")
    corners = np.frombuffer(data, _STL, count, 84)["corners"].reshape(-1, 3)
    return corners.astype(np.float64)


def _obj_vertices(data: bytes) -> NDArray[np.float64]:
    rows = _VERTEX.findall(data)
    width = len(rows[0].split()) if rows else 3
    values = np.array(b" ".join(rows).split(), dtype="S32").astype(np.float64)
    return values.reshape(len(rows), width)[:, :3]


def _obj_faces(data: bytes, vertices: int) -> NDArray[np.uint32]:
    faces = _TRIANGLE.findall(data)
    whole = _FACE.findall(data)
    if len(faces) == len(whole):
        triangles = np.array(faces, dtype="S16").astype(np.int64).reshape(-1, 3)
    else:
        corners = [[int(word.partition(b"/")[0]) for word in face.split()] for face in whole]
        fans = [(c[0], c[k], c[k + 1]) for c in corners for k in range(1, len(c) - 1)]
        triangles = np.array(fans, np.int64).reshape(-1, 3)
    triangles = np.where(triangles < 0, triangles + vertices, triangles - 1)
    if triangles.min(initial=0) < 0:
        raise ValueError("a face names no vertex")
    return triangles.astype(np.uint32)


def simplified(vertices: NDArray[np.float64], triangles: NDArray[np.uint32], cells: int) -> Mesh:
    """Merge the vertices in each cell of a grid with `cells` cells along the longest side.

    Examples
    --------
    >>> simplified(np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 0.99, 0]]),
    ...            np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3]], np.uint32), 10)[1]
    array([[0, 1, 2]], dtype=uint32)
    """
    low = vertices.min(axis=0)
    size = max(float(np.ptp(vertices, axis=0).max()) / cells, 1e-9)
    keys = np.floor((vertices - low) / size + 1e-9).astype(np.int64)
    keys = np.minimum(keys, cells - 1)  # the far border belongs to the last cell
    _, index = np.unique(keys, axis=0, return_inverse=True)
    index = index.reshape(-1)
    counts = np.bincount(index)
    merged = np.stack([np.bincount(index, vertices[:, k]) / counts for k in range(3)], axis=1)
    faces = index[triangles.astype(np.int64)]
    whole = (
        (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])
    )
    faces = faces[whole]
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return merged, faces[np.sort(first)].astype(np.uint32)
