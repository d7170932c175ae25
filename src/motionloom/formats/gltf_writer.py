"""Writing glTF: skeletons, skins, one animation, and stick figures to see them by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.formats.gltf_file import glb_bytes, gltf_bytes
from motionloom.formats.stick_mesh import rest_frames, stick_mesh
from motionloom.motion import Motion
from motionloom.motion import rotations as rot
from motionloom.whole_file import whole_file

_FLOAT, _SHORT = 5126, 5123
_COLOURS = [  # Okabe and Ito: told apart by everyone
    (0.9, 0.6, 0.0), (0.35, 0.7, 0.9), (0.0, 0.6, 0.5), (0.95, 0.9, 0.25),
    (0.0, 0.45, 0.7), (0.8, 0.4, 0.0), (0.8, 0.6, 0.7),
]  # fmt: skip


def write(motion: Motion | Sequence[Motion], path: str | Path, *, mesh: bool = True) -> None:
    """Write one motion, or several characters in one scene, as glTF.

    Parameters
    ----------
    motion : Motion or sequence of Motion
        Each keeps its own skeleton, length and rate; all play at once, from time 0.
    path : str or Path
        ``.glb``, or ``.gltf`` (one file too: the data are inside, as base64).
    mesh : bool
        Add stick figures, so that there is something to see in any viewer.
    """
    motions = [motion] if isinstance(motion, Motion) else list(motion)
    if not motions or any(len(one) == 0 for one in motions):
        raise InvalidInput("a glTF file needs at least one motion, and each at least one frame")
    path = Path(path)
    scene = _Scene()
    for number, one in enumerate(motions):
        scene.add_character(one, number, mesh)
    document, binary = scene.finished()
    coded = glb_bytes if path.suffix.lower() == ".glb" else gltf_bytes
    with whole_file(path) as scratch:
        scratch.write_bytes(coded(document, binary))


class _Scene:
    """A glTF document in the making."""

    def __init__(self) -> None:
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

    def add(self, kind: str, item: dict[str, Any]) -> int:
        items = self.document.setdefault(kind, [])
        items.append(item)
        return len(items) - 1

    def accessor(self, values: NDArray, kind: str, *, bounds: bool = False, target: int = 0) -> int:
        """Append an array (N, width) to the buffer; the number of its accessor."""
        data = np.ascontiguousarray(values, "<f4" if values.dtype.kind == "f" else "<u2")
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
            "componentType": _FLOAT if data.dtype.kind == "f" else _SHORT,
            "count": len(data),
            "type": kind,
        }
        if bounds:
            flat = data.reshape(len(data), -1)
            item["min"], item["max"] = flat.min(axis=0).tolist(), flat.max(axis=0).tolist()
        return self.add("accessors", item)

    def add_character(self, motion: Motion, number: int, mesh: bool) -> None:
        skeleton = motion.skeleton
        name = motion.name or f"character {number + 1}"
        frames = rest_frames(skeleton)
        first = len(self.document["nodes"])
        rest = skeleton.rest if skeleton.rest is not None else None
        places = np.concatenate([frames.positions[:1], skeleton.point_offsets[1:]])
        for point, joint_name in enumerate(skeleton.point_names):
            node: dict[str, Any] = {"name": joint_name, "translation": places[point].tolist()}
            if point >= len(skeleton):
                node["extras"] = {"end_site": True}
            elif rest is not None:
                node["rotation"] = rest[point][[1, 2, 3, 0]].tolist()
            self.add("nodes", node)
        for point, parent in enumerate(skeleton.point_parents):
            if parent >= 0:
                self.document["nodes"][first + parent].setdefault("children", []).append(
                    first + point
                )
        holder = self.add("nodes", {"name": name, "children": [first]})
        self.document["scenes"][0]["nodes"].append(holder)
        inverse = np.linalg.inv(frames.matrices())
        columns = np.swapaxes(inverse, 1, 2).reshape(-1, 16).astype(np.float32)
        skin = self.add(
            "skins",
            {
                "name": name,
                "joints": list(range(first, first + len(skeleton.point_names))),
                "skeleton": holder,
                "inverseBindMatrices": self.accessor(columns, "MAT4"),
                "extras": {"fps": motion.fps},
            },
        )
        if mesh:
            self._add_mesh(motion, name, skin, number)
        self._add_curves(motion, first)

    def _add_mesh(self, motion: Motion, name: str, skin: int, number: int) -> None:
        sticks = stick_mesh(motion.skeleton)
        joints = np.zeros((len(sticks.joints), 4), np.uint16)
        joints[:, 0] = sticks.joints
        weights = np.zeros((len(sticks.joints), 4), np.float32)
        weights[:, 0] = 1.0
        vertex_data = 34962  # ARRAY_BUFFER
        attributes = {
            "POSITION": self.accessor(sticks.vertices, "VEC3", bounds=True, target=vertex_data),
            "NORMAL": self.accessor(sticks.normals, "VEC3", target=vertex_data),
            "JOINTS_0": self.accessor(joints, "VEC4", target=vertex_data),
            "WEIGHTS_0": self.accessor(weights, "VEC4", target=vertex_data),
        }
        colour = [*_COLOURS[number % len(_COLOURS)], 1.0]
        material = self.add(
            "materials",
            {
                "name": f"{name} sticks",
                "pbrMetallicRoughness": {
                    "baseColorFactor": colour,
                    "metallicFactor": 0.0,
                    "roughnessFactor": 0.8,
                },
            },
        )
        primitive = {"attributes": attributes, "material": material}
        figure = self.add("meshes", {"name": f"{name} sticks", "primitives": [primitive]})
        node = self.add("nodes", {"name": f"{name} sticks", "mesh": figure, "skin": skin})
        self.document["scenes"][0]["nodes"].append(node)

    def _add_curves(self, motion: Motion, first: int) -> None:
        key = (len(motion), motion.fps)
        if key not in self.times:
            times = (np.arange(len(motion)) / motion.fps)[:, None].astype(np.float32)
            self.times[key] = self.accessor(times, "SCALAR", bounds=True)
        turns = rot.unroll(motion.rotations)[..., [1, 2, 3, 0]]
        self._curve(first, "translation", self.times[key], motion.root, "VEC3")
        for joint in range(len(motion.skeleton)):
            self._curve(first + joint, "rotation", self.times[key], turns[:, joint], "VEC4")
            if joint and motion.translations is not None:
                places = motion.translations[:, joint]
                self._curve(first + joint, "translation", self.times[key], places, "VEC3")

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
        self.document["buffers"] = [{"byteLength": self.length}]
        return self.document, b"".join(self.parts)
