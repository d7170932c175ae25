"""Writer for glTF files with skeletons, an animation, and figures (`motionloom.character`).

Characters with the same skeleton share static data. The vertices and the skin are in the file only
once, and characters with the same color share a mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.character import Material, SkinnedMesh, figure_mesh, rest_pose
from motionloom.errors import InvalidInput
from motionloom.formats.conventions import characters
from motionloom.formats.gltf.container import write_document
from motionloom.formats.scene_nodes import COLORS, figure_kind
from motionloom.motion import Motion, Scene
from motionloom.motion.rotations import quaternions as rot

_COMPONENTS = {"<f4": 5126, "<u2": 5123, "<i2": 5122, "<u4": 5125}
_VERTICES, _INDICES = 34962, 34963  # targets of buffer views
_PACKED = 32767.0  # the step of a normalized short is 3e-5, which is 0.1 mm at the extremities
_STILL = 1e-6  # quaternions that differ by less are treated as equal


def write(
    motion: Motion | Scene | Sequence[Motion],
    path: str | Path,
    *,
    mesh: bool | str = "body",
    compact: bool = False,
) -> None:
    """Write one motion, or several characters in one scene, as glTF; see `motionloom.save`.

    Each character keeps its skeleton, duration and frame rate, and all characters start at time 0.
    `compact` halves the file size. It causes position errors of at most 0.1 mm.
    """
    document, binary = gltf_document(characters(motion), kind=figure_kind(mesh), compact=compact)
    write_document(Path(path), document, binary)


def gltf_document(
    cast: Sequence[tuple[str, Motion]], *, kind: str = "body", compact: bool = False
) -> tuple[dict[str, Any], bytes]:
    """Build the document and buffer of a file with named motions.

    The joints of the first motion are the first nodes.
    """
    if not cast or any(len(motion) == 0 for _, motion in cast):
        raise InvalidInput(
            "a glTF file needs at least one motion, and each motion at least one frame"
        )
    draft = Document(compact)
    if len(cast) == 1 and cast[0][0]:
        draft.animation["name"] = cast[0][0]  # programs list animations of many files by name
    for number, (name, motion) in enumerate(cast):
        draft.add_curves(motion, draft.add_character(name, motion, number, kind))
    return draft.finished()


def write_meshes(motion: Motion, path: str | Path, meshes: Sequence[SkinnedMesh]) -> None:
    """Write a motion with meshes bound to its skeleton."""
    draft = Document(compact=False)
    draft.add_curves(motion, draft.add_meshes(motion, meshes))
    write_document(Path(path), *draft.finished())


class Document:
    """A glTF document under construction."""

    def __init__(self, compact: bool) -> None:
        self.compact = compact
        self.parts: list[bytes] = []
        self.length = 0
        self.animation: dict[str, Any] = {"name": "motion", "channels": [], "samplers": []}
        self.document: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "motionloom"},
            "scene": 0,
            "scenes": [{"nodes": []}],
            "nodes": [],
            "skins": [],
            "animations": [self.animation],
            "accessors": [],
            "bufferViews": [],
        }
        self.times: dict[tuple[int, float], int] = {}
        self.binds: dict[str, int] = {}
        self.vertices: dict[str, dict[str, Any]] = {}
        self.figures: dict[tuple[str, int], int] = {}

    def add(self, kind: str, item: dict[str, Any]) -> int:
        """Append an item to a list of the document, and return its index."""
        items = self.document.setdefault(kind, [])
        items.append(item)
        return len(items) - 1

    def accessor(self, values: NDArray, kind: str, *, bounds: bool = False, target: int = 0) -> int:
        """Append an array (N, width) to the buffer, and return the index of its accessor."""
        wide = values.dtype.itemsize == 4
        coded = {"f": "<f4", "u": "<u4" if wide else "<u2", "i": "<i2"}[values.dtype.kind]
        data = np.ascontiguousarray(values, coded)
        view: dict[str, Any] = {
            "buffer": 0,
            "byteOffset": self.length,
            "byteLength": data.nbytes,
        }
        if target:
            view["target"] = target
        raw = data.tobytes()
        raw += b"\0" * (-len(raw) % 4)
        self.parts.append(raw)
        self.length += len(raw)
        item: dict[str, Any] = {
            "bufferView": self.add("bufferViews", view),
            "componentType": _COMPONENTS[coded],
            "count": len(data),
            "type": kind,
        }
        if coded == "<i2":
            item["normalized"] = True
        if bounds:
            flat = data.reshape(len(data), -1)
            item["min"], item["max"] = flat.min(axis=0).tolist(), flat.max(axis=0).tolist()
        return self.add("accessors", item)

    def add_character(self, name: str, motion: Motion, number: int, kind: str) -> int:
        """Add a skeleton with a figure, and return the node of its first joint."""
        skeleton = motion.skeleton
        name = name or f"character {number + 1}"
        first, holder = self._add_joints(motion, name)
        figure = figure_mesh(skeleton, kind=kind, example=motion)
        if skeleton.key not in self.binds:
            bind = rest_pose(skeleton).matrices() if figure is None else figure.bind
            self.binds[skeleton.key] = self._inverse_bind(bind)
        skin = self._skin(name, motion, first, holder, self.binds[skeleton.key])
        if figure is not None:
            shown = self._figure(figure, skeleton.key, number % len(COLORS))
            self._add_root({"name": f"{name} {figure.name}", "mesh": shown, "skin": skin})
        return first

    def add_meshes(self, motion: Motion, meshes: Sequence[SkinnedMesh]) -> int:
        """Add a character with meshes from its file, and return the node of its first joint."""
        first, holder = self._add_joints(motion, motion.name or "character")
        for mesh in meshes:
            bind = self._inverse_bind(mesh.bind)
            look = mesh.material or Material()
            textured = mesh.uvs is not None
            primitive = {**self._vertices(mesh), "material": self._material(look, textured)}
            shown = self.add("meshes", {"name": mesh.name, "primitives": [primitive]})
            skin = self._skin(mesh.name, motion, first, holder, bind)
            self._add_root({"name": mesh.name, "mesh": shown, "skin": skin})
        return first

    def _add_root(self, node: dict[str, Any]) -> int:
        """Add a root node to the scene, and return its index."""
        number = self.add("nodes", node)
        self.document["scenes"][0]["nodes"].append(number)
        return number

    def _skin(self, name: str, motion: Motion, first: int, holder: int, bind: int) -> int:
        return self.add(
            "skins",
            {
                "name": name,
                "joints": list(range(first, first + len(motion.skeleton.point_names))),
                "skeleton": holder,
                "inverseBindMatrices": bind,
                "extras": {"fps": motion.fps},
            },
        )

    def _material(self, look: Material, textured: bool = False) -> int:
        surface: dict[str, Any] = {
            "baseColorFactor": [*look.color, 1.0],
            "metallicFactor": 0.0,
            "roughnessFactor": 0.8,
        }
        if look.texture is not None and textured:
            data = look.texture + b"\0" * (-len(look.texture) % 4)
            view = {"buffer": 0, "byteOffset": self.length, "byteLength": len(look.texture)}
            self.parts.append(data)
            self.length += len(data)
            kind = "image/png" if look.texture[:4] == b"\x89PNG" else "image/jpeg"
            image = self.add(
                "images", {"bufferView": self.add("bufferViews", view), "mimeType": kind}
            )
            surface["baseColorTexture"] = {"index": self.add("textures", {"source": image})}
        return self.add("materials", {"name": look.name, "pbrMetallicRoughness": surface})

    def _add_joints(self, motion: Motion, name: str) -> tuple[int, int]:
        """Add nodes for joints and end sites. Return the first of them and the node above it."""
        skeleton, nodes = motion.skeleton, self.document["nodes"]
        first = len(nodes)
        places = np.concatenate([rest_pose(skeleton).positions[:1], skeleton.point_offsets[1:]])
        for point, joint_name in enumerate(skeleton.point_names):
            node: dict[str, Any] = {"name": joint_name, "translation": places[point].tolist()}
            if point >= len(skeleton):
                node["extras"] = {"end_site": True}
            elif skeleton.rest is not None:
                node["rotation"] = skeleton.rest[point][[1, 2, 3, 0]].tolist()
            self.add("nodes", node)
        for point, parent in enumerate(skeleton.point_parents):
            if parent >= 0:
                nodes[first + parent].setdefault("children", []).append(first + point)
        return first, self._add_root({"name": name, "children": [first]})

    def _inverse_bind(self, matrices: NDArray[np.float64]) -> int:
        columns = np.swapaxes(np.linalg.inv(matrices), 1, 2).reshape(-1, 16)
        return self.accessor(columns.astype(np.float32), "MAT4")

    def _figure(self, figure: SkinnedMesh, key: str, color: int) -> int:
        """Return the mesh index of a figure in one color. All colors share its vertices."""
        if (key, color) not in self.figures:
            if key not in self.vertices:
                self.vertices[key] = self._vertices(figure)
            name = f"{figure.name} {color + 1}"
            material = self._material(Material(name, COLORS[color]))
            primitive = {**self.vertices[key], "material": material}
            self.figures[key, color] = self.add("meshes", {"name": name, "primitives": [primitive]})
        return self.figures[key, color]

    def _vertices(self, figure: SkinnedMesh) -> dict[str, Any]:
        """Return the attributes and indices of a primitive."""
        attributes = {
            "POSITION": self.accessor(figure.vertices, "VEC3", bounds=True, target=_VERTICES),
            "NORMAL": self.accessor(figure.normals, "VEC3", target=_VERTICES),
            "JOINTS_0": self.accessor(figure.joints, "VEC4", target=_VERTICES),
            "WEIGHTS_0": self.accessor(figure.weights, "VEC4", target=_VERTICES),
        }
        if figure.uvs is not None:
            attributes["TEXCOORD_0"] = self.accessor(figure.uvs, "VEC2", target=_VERTICES)
        corners = figure.triangles.reshape(-1, 1)
        if np.array_equal(corners[:, 0], np.arange(len(figure.vertices))):
            return {"attributes": attributes}
        corners = corners.astype(np.uint16 if len(figure.vertices) < 65535 else np.uint32)
        indices = self.accessor(corners, "SCALAR", target=_INDICES)
        return {"attributes": attributes, "indices": indices}

    def add_curves(self, motion: Motion, first: int) -> None:
        """Add a key in every frame of a motion, for the nodes from `first` on."""
        times = self._times(len(motion), motion.fps)
        turns = rot.unroll(motion.rotations)[..., [1, 2, 3, 0]]
        still = np.zeros(len(motion.skeleton), bool)
        if self.compact:
            still = np.ptp(turns, axis=0).max(axis=-1) < _STILL
            turns = np.rint(turns * _PACKED).astype(np.int16)
        self._curve(first, "translation", times, motion.root, "VEC3")
        for joint in range(len(motion.skeleton)):
            turn, when = turns[:, joint], times
            if still[joint]:
                turn, when = turn[:1], self._times(1, motion.fps)
            self._curve(first + joint, "rotation", when, turn, "VEC4")
            if joint and motion.translations is not None:
                places = motion.translations[:, joint]
                self._curve(first + joint, "translation", times, places, "VEC3")

    def _times(self, count: int, fps: float) -> int:
        """Return the accessor index of the frame times, shared by motions of equal length."""
        if (count, fps) not in self.times:
            times = (np.arange(count) / fps)[:, None].astype(np.float32)
            self.times[count, fps] = self.accessor(times, "SCALAR", bounds=True)
        return self.times[count, fps]

    def _curve(self, node: int, way: str, times: int, values: NDArray, kind: str) -> None:
        sampler = {
            "input": times,
            "output": self.accessor(values, kind),
            "interpolation": "LINEAR",
        }
        self.animation["samplers"].append(sampler)
        target = {"node": node, "path": way}
        channel = {"sampler": len(self.animation["samplers"]) - 1, "target": target}
        self.animation["channels"].append(channel)

    def finished(self) -> tuple[dict[str, Any], bytes]:
        """Return the document and its buffer."""
        self.document["buffers"] = [{"byteLength": self.length}]
        if not self.animation["channels"]:
            self.document["animations"].remove(self.animation)
        return self.document, b"".join(self.parts)
