"""A glTF file with one skeleton, one character or none, and an animation for each take.

Tracks with few keys have their own times. If that would take more space than a value in every
frame, the track shares the times of all frames. All values are in two buffer views, one of floats
and one of 16-bit numbers, because a view for each track would make the document larger than the
data.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.character import SkinnedMesh
from motionloom.formats.fbx.writer import local_steps
from motionloom.formats.game_assets.key_reduction import SHORT, Frames, ReducedKeys
from motionloom.formats.gltf.character import RootPlacement, with_root_bone
from motionloom.formats.gltf.container import write_document
from motionloom.formats.gltf.writer import Document
from motionloom.formats.scene_nodes import figure_kind
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_FLOAT, _SHORT = 5126, 5122  # component types
_OWN_TIMES = 180  # bytes that an accessor of times takes in the document
_NO_TURN = np.array([1.0, 0.0, 0.0, 0.0])


def write_gltf(
    takes: Sequence[tuple[str, ReducedKeys]],
    path: Path,
    *,
    character: str | None = None,
    meshes: Sequence[SkinnedMesh] = (),
    mesh: str = "body",
) -> None:
    """Write takes on one skeleton, whose first joint is the root bone, as a GLB file.

    Parameters
    ----------
    takes : sequence of (str, ReducedKeys)
        Names and keys of the animations.
    path : Path
    character : str, optional
        glTF file of the character, which is copied with all its materials.
    meshes : sequence of SkinnedMesh, optional
        Meshes of a character from another format, bound to the skeleton of the takes.
    mesh : str
        Figure to write if there is no character.
    """
    motion = takes[0][1].motion
    placement = RootPlacement(_NO_TURN, np.zeros(3), 1.0, _NO_TURN, 1.0)
    if character is not None:
        document, binary, nodes, placement = with_root_bone(character, motion)
    else:
        draft = Document(compact=False)
        if meshes:
            first = draft.add_meshes(motion, meshes)
        else:
            first = draft.add_character("character", motion, 0, figure_kind(mesh))
        document, data = draft.finished()
        binary = bytearray(data)
        nodes = list(range(first, first + len(motion.skeleton)))
    tracks = _Tracks(nodes, placement)
    document["animations"] = [tracks.animation(name, keys) for name, keys in takes]
    tracks.finish(document, binary)
    for skin in document.get("skins", []):
        extras = skin.get("extras")
        skin["extras"] = {**(extras if isinstance(extras, dict) else {}), "fps": motion.fps}
    document["buffers"] = [{"byteLength": len(binary)}]
    write_document(path, document, bytes(binary))


class _Tracks:
    """Accessors of all animations under construction."""

    def __init__(self, nodes: list[int], placement: RootPlacement) -> None:
        self._nodes, self._placement = nodes, placement
        self._data = {_FLOAT: bytearray(), _SHORT: bytearray()}
        self._accessors: list[dict[str, Any]] = []
        self._times: dict[bytes, int] = {}

    def animation(self, name: str, keys: ReducedKeys) -> dict[str, Any]:
        """Return the animation of a take; accessors are numbered from 0."""
        motion = keys.motion
        channels: list[dict[str, Any]] = []
        samplers: list[dict[str, Any]] = []

        def add(joint: int, path: str, frames: Frames, values: Array, short: bool) -> None:
            width = values.shape[1] * (2 if short else 4)
            own = len(frames) * (4 + width) + _OWN_TIMES
            if len(frames) > 1 and own > len(motion) * width:
                frames = np.arange(len(motion))
            kept = values[frames]
            stored = np.rint(kept * SHORT).astype("<i2") if short else kept.astype("<f4")
            times = (frames / motion.fps).astype("<f4")[:, None]
            samplers.append({"input": self._clock(times), "output": self._accessor(stored)})
            target = {"node": self._nodes[joint], "path": path}
            channels.append({"sampler": len(samplers) - 1, "target": target})

        for joint, frames in enumerate(keys.steps):
            if len(frames):
                own = motion.root if joint == 0 else local_steps(motion, joint)
                places = self._placement.steps(joint, own.astype(np.float64))
                add(joint, "translation", frames, places, False)
        for joint, frames in enumerate(keys.turns):
            turns = self._placement.turns(joint, motion.rotations[:, joint].astype(np.float64))
            turns = rot.unroll(turns)[:, [1, 2, 3, 0]]
            add(joint, "rotation", frames, turns, bool(keys.short[joint]))
        return {"name": name, "channels": channels, "samplers": samplers}

    def _clock(self, times: NDArray) -> int:
        """Return the accessor of frame times; equal times share one."""
        key = times.tobytes()
        if key not in self._times:
            self._times[key] = self._accessor(times)
            bounds = {"min": [float(times[0, 0])], "max": [float(times[-1, 0])]}
            self._accessors[self._times[key]] |= bounds
        return self._times[key]

    def _accessor(self, values: NDArray) -> int:
        kind = _SHORT if values.dtype.kind == "i" else _FLOAT
        data = self._data[kind]
        item: dict[str, Any] = {
            "bufferView": kind,  # replaced by the number of the view in the end
            "byteOffset": len(data),
            "componentType": kind,
            "count": len(values),
            "type": {1: "SCALAR", 3: "VEC3", 4: "VEC4"}[values.shape[1]],
        }
        if kind == _SHORT:
            item["normalized"] = True
        data += values.tobytes()
        self._accessors.append(item)
        return len(self._accessors) - 1

    def finish(self, document: dict[str, Any], binary: bytearray) -> None:
        """Append the data to the buffer, and the accessors to the document."""
        views = document.setdefault("bufferViews", [])
        numbers = {}
        for kind, data in self._data.items():
            if data:
                binary += b"\0" * (-len(binary) % 4)
                numbers[kind] = len(views)
                views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data)})
                binary += data
        listed = document.setdefault("accessors", [])
        first = len(listed)
        listed += [{**item, "bufferView": numbers[item["bufferView"]]} for item in self._accessors]
        for animation in document["animations"]:
            for sampler in animation["samplers"]:
                sampler["input"] += first
                sampler["output"] += first
