"""Writer of glTF files: skeletons, skins, one animation, and stick-figure meshes.

Characters with the same skeleton share its static data: vertices and skin are in the file once,
and characters of one colour share a mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.atomic_write import atomic_write
from motionloom.errors import InvalidInput
from motionloom.formats.conventions import characters
from motionloom.formats.gltf.container import glb_bytes, gltf_bytes
from motionloom.formats.scene_nodes import COLOURS, rest_pose_transforms, stick_mesh
from motionloom.motion import Motion, Scene, Skeleton
from motionloom.motion.rotations import quaternions as rot

_COMPONENTS = {"<f4": 5126, "<u2": 5123, "<i2": 5122}
_PACKED = 32767.0  # a normalised short: 3e-5, or 0.1 mm at the extremities
_STILL = 1e-6  # smaller differences of quaternions are ignored


def write(
    motion: Motion | Scene | Sequence[Motion],
    path: str | Path,
    *,
    mesh: bool = True,
    compact: bool = False,
) -> None:
    """Write one motion, or several characters in one scene, as glTF; see `motionloom.save`.

    Each character keeps its skeleton, length and rate; all start at time 0. `compact` halves the
    size, with position errors of at most 0.1 mm.
    """
    cast = characters(motion)
    if not cast or any(len(one) == 0 for _, one in cast):
        raise InvalidInput("a glTF file needs at least one motion, and each at least one frame")
    path = Path(path)
    draft = _Document(compact)
    for number, (name, one) in enumerate(cast):
        draft.add_character(name, one, number, mesh)
    document, binary = draft.finished()
    coded = glb_bytes if path.suffix.lower() == ".glb" else gltf_bytes
    with atomic_write(path) as scratch:
        scratch.write_bytes(coded(document, binary))


class _Document:
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
        self.vertices: dict[str, dict[str, int]] = {}
        self.figures: dict[tuple[str, int], int] = {}

    def add(self, kind: str, item: dict[str, Any]) -> int:
        items = self.document.setdefault(kind, [])
        items.append(item)
        return len(items) - 1

    def accessor(self, values: NDArray, kind: str, *, bounds: bool = False, target: int = 0) -> int:
        """Append an array (N, width) to the buffer; returns the index of its accessor."""
        coded = {"f": "<f4", "u": "<u2", "i": "<i2"}[values.dtype.kind]
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

    def add_character(self, name: str, motion: Motion, number: int, mesh: bool) -> None:
        skeleton = motion.skeleton
        name = name or f"character {number + 1}"
        frames = rest_pose_transforms(skeleton)
        first = len(self.document["nodes"])
        rest = skeleton.rest
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
        if skeleton.key not in self.binds:
            inverse = np.linalg.inv(frames.matrices())
            columns = np.swapaxes(inverse, 1, 2).reshape(-1, 16).astype(np.float32)
            self.binds[skeleton.key] = self.accessor(columns, "MAT4")
        skin = self.add(
            "skins",
            {
                "name": name,
                "joints": list(range(first, first + len(skeleton.point_names))),
                "skeleton": holder,
                "inverseBindMatrices": self.binds[skeleton.key],
                "extras": {"fps": motion.fps},
            },
        )
        if mesh:
            figure = self._figure(skeleton, number % len(COLOURS))
            sticks = self.add("nodes", {"name": f"{name} sticks", "mesh": figure, "skin": skin})
            self.document["scenes"][0]["nodes"].append(sticks)
        self._add_curves(motion, first)

    def _figure(self, skeleton: Skeleton, colour: int) -> int:
        """Index of the mesh of a stick figure in a colour; all colours share its vertices."""
        if (skeleton.key, colour) not in self.figures:
            if skeleton.key not in self.vertices:
                self.vertices[skeleton.key] = self._stick_vertices(skeleton)
            material = self.add(
                "materials",
                {
                    "name": f"sticks {colour + 1}",
                    "pbrMetallicRoughness": {
                        "baseColorFactor": [*COLOURS[colour], 1.0],
                        "metallicFactor": 0.0,
                        "roughnessFactor": 0.8,
                    },
                },
            )
            primitive = {"attributes": self.vertices[skeleton.key], "material": material}
            figure = {"name": f"sticks {colour + 1}", "primitives": [primitive]}
            self.figures[skeleton.key, colour] = self.add("meshes", figure)
        return self.figures[skeleton.key, colour]

    def _stick_vertices(self, skeleton: Skeleton) -> dict[str, int]:
        sticks = stick_mesh(skeleton)
        joints = np.zeros((len(sticks.joints), 4), np.uint16)
        joints[:, 0] = sticks.joints
        weights = np.zeros((len(sticks.joints), 4), np.float32)
        weights[:, 0] = 1.0
        vertex_data = 34962  # ARRAY_BUFFER
        return {
            "POSITION": self.accessor(sticks.vertices, "VEC3", bounds=True, target=vertex_data),
            "NORMAL": self.accessor(sticks.normals, "VEC3", target=vertex_data),
            "JOINTS_0": self.accessor(joints, "VEC4", target=vertex_data),
            "WEIGHTS_0": self.accessor(weights, "VEC4", target=vertex_data),
        }

    def _add_curves(self, motion: Motion, first: int) -> None:
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
        """Index of the accessor of the frame times; shared by motions of the same length."""
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
        self.document["buffers"] = [{"byteLength": self.length}]
        return self.document, b"".join(self.parts)
