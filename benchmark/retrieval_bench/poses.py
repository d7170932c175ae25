"""Poses of clips for methods that have no reader of their own: joint positions from NumPy alone.

`joints` returns the world positions of eight joints per frame: hips, both hip joints, head, wrists
and ankles, in the unit of the file with y up. `pose_rows` returns wrists, ankles and head in the
body frame: relative to the hips, turned so that the body faces along z, and divided by the length
of the hip-to-ankle distance. Use any other reader if you have one.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval_bench.data import inside
from retrieval_bench.tables import BenchmarkError, read_bytes

Array = NDArray[np.float64]
ROLES = (
    "hips", "left_hip", "right_hip", "head", "left_wrist", "right_wrist", "left_ankle",
    "right_ankle",
)  # fmt: skip
NAMES = {
    "cmu": ("Hips", "LeftUpLeg", "RightUpLeg", "Head", "LeftHand", "RightHand", "LeftFoot",
            "RightFoot"),
    "bandai": ("Hips", "UpperLeg_L", "UpperLeg_R", "Head", "Hand_L", "Hand_R", "Foot_L", "Foot_R"),
    "kaykit": ("hips", "upperleg.l", "upperleg.r", "head", "wrist.l", "wrist.r", "foot.l",
               "foot.r"),
    "sword-shield": ("pelvis", "left_thigh", "right_thigh", "head", "left_hand", "right_hand",
                     "left_foot", "right_foot"),
}  # fmt: skip
"""Names of the joints `ROLES` in the files of each source."""


def joints(folder: str | Path, item: Mapping[str, Any]) -> Array:
    """Return the positions (T, 8, 3) of the joints `ROLES` in a clip of a manifest."""
    file = str(item["file"])
    content = read_bytes(inside(Path(folder), file))
    first = file.split("/")[0]
    source = first if first in NAMES else "bandai" if first == "bandai-sessions" else "cmu"
    read: dict[str, Callable[[], tuple[list[str], Array]]] = {
        "bvh": lambda: _bvh(content),
        "glb": lambda: _glb(content, str(item["animation"])),
        "npy": lambda: _npy(content),
    }
    names, positions = read[file.rsplit(".", 1)[-1]]()
    return positions[:, [names.index(name) for name in NAMES[source]]]


def pose_rows(folder: str | Path, item: Mapping[str, Any]) -> Array:
    """Return wrists, ankles and head of each frame in the body frame, shape (T, 15)."""
    at = joints(folder, item)
    hips, left, right = at[:, 0], at[:, 1], at[:, 2]
    across = left - right
    angle = np.arctan2(-across[:, 2], across[:, 0])  # of the left hip, about y
    x, y, z = np.moveaxis(at[:, 3:] - hips[:, None], 2, 0)
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
    turned = np.stack([cosine * x - sine * z, y, sine * x + cosine * z], axis=2)
    leg = np.linalg.norm(at[:, [6, 7]] - at[:, [1, 2]], axis=2)
    rows: Array = turned.reshape(len(at), 15) / np.quantile(leg, 0.95)
    return rows


def resampled(rows: Array, count: int) -> Array:
    """Return `count` rows at even steps from the first to the last."""
    steps = np.linspace(0.0, len(rows) - 1.0, count)
    low = np.minimum(steps.astype(int), max(len(rows) - 2, 0))
    part = (steps - low)[:, None]
    out: Array = (1.0 - part) * rows[low] + part * rows[np.minimum(low + 1, len(rows) - 1)]
    return out


def _bvh(content: bytes) -> tuple[list[str], Array]:
    """Read a BVH file. Position channels replace the offset of their joint."""
    words = content.decode("utf-8", "replace").split()
    names: list[str] = []
    parents: list[int] = []
    offsets: list[list[float]] = []
    channels: list[list[str]] = []
    stack: list[int] = []
    k = words.index("HIERARCHY") + 1
    while words[k] != "MOTION":
        if words[k] in ("ROOT", "JOINT", "End"):
            names.append("" if words[k] == "End" else words[k + 1])
            parents.append(stack[-1] if stack else -1)
            stack.append(len(names) - 1)
            channels.append([])
            k += 3  # and the brace
        elif words[k] == "OFFSET":
            offsets.append([float(word) for word in words[k + 1 : k + 4]])
            k += 4
        elif words[k] == "CHANNELS":
            count = int(words[k + 1])
            channels[-1] = words[k + 2 : k + 2 + count]
            k += 2 + count
        elif words[k] == "}":
            stack.pop()
            k += 1
        else:
            raise BenchmarkError(f"unexpected word in a BVH file: {words[k][:20]!r}")
    frames = int(words[k + 2])
    values = np.array(words[k + 6 :], np.float64).reshape(frames, -1)
    at = np.zeros((frames, len(names), 3))
    turn = np.zeros((frames, len(names), 3, 3))
    column = 0
    for joint, parent in enumerate(parents):
        local = np.tile(np.eye(3), (frames, 1, 1))
        offset = np.tile(np.array(offsets[joint]), (frames, 1))
        for name in channels[joint]:
            axis = "XYZ".index(name[0])
            if name.endswith("position"):
                offset[:, axis] = values[:, column]
            else:
                local = local @ _about(axis, np.radians(values[:, column]))
            column += 1
        turn[:, joint] = local if parent < 0 else turn[:, parent] @ local
        moved = offset if parent < 0 else (turn[:, parent] @ offset[:, :, None])[:, :, 0]
        at[:, joint] = moved if parent < 0 else at[:, parent] + moved
    return names, at


def _about(axis: int, angles: Array) -> Array:
    """Return rotation matrices (T, 3, 3) about an axis."""
    out = np.zeros((len(angles), 3, 3))
    a, b = (axis + 1) % 3, (axis + 2) % 3
    out[:, axis, axis] = 1.0
    out[:, a, a] = out[:, b, b] = np.cos(angles)
    out[:, b, a] = np.sin(angles)
    out[:, a, b] = -out[:, b, a]
    return out


def _quaternion_matrices(wxyz: Array) -> Array:
    w, x, y, z = np.moveaxis(wxyz / np.linalg.norm(wxyz, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def _glb(content: bytes, animation: str, fps: float = 30.0) -> tuple[list[str], Array]:
    """Read an animation of a binary glTF file. Scales are ignored."""
    length = struct.unpack_from("<I", content, 12)[0]
    tree = json.loads(content[20 : 20 + length])
    blob = content[28 + length :]

    def array(number: int) -> Array:
        accessor = tree["accessors"][number]
        view = tree["bufferViews"][accessor["bufferView"]]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        if accessor["componentType"] != 5126 or view.get("byteStride", 4 * width) != 4 * width:
            raise BenchmarkError("only packed 32-bit floats are read from glTF files")
        flat = np.frombuffer(blob, "<f4", width * accessor["count"], start)
        return flat.reshape(-1, width).astype(np.float64)

    nodes = tree["nodes"]
    chosen = next((a for a in tree["animations"] if a.get("name") == animation), None)
    if chosen is None:
        raise BenchmarkError(f"the glTF file has no animation {animation!r}")
    times = [array(sampler["input"])[:, 0] for sampler in chosen["samplers"]]
    count = round(max(each[-1] for each in times) * fps) + 1
    moments = np.arange(count) / fps
    turns = {n: np.array([node.get("rotation", (0, 0, 0, 1))] * count, float)
             for n, node in enumerate(nodes)}  # fmt: skip
    shifts = {n: np.array([node.get("translation", (0, 0, 0))] * count, float)
              for n, node in enumerate(nodes)}  # fmt: skip
    for channel in chosen["channels"]:
        node, path = channel["target"].get("node"), channel["target"]["path"]
        values = array(chosen["samplers"][channel["sampler"]]["output"])
        when = times[channel["sampler"]]
        if path == "rotation":  # neighbors on the same half of the sphere
            flips = np.sign((values[1:] * values[:-1]).sum(axis=1))
            values = (
                values
                * np.concatenate([[1.0], np.cumprod(np.where(flips < 0, -1.0, 1.0))])[:, None]
            )
        columns = [np.interp(moments, when, column) for column in values.T]
        if path in ("rotation", "translation") and node is not None:
            (turns if path == "rotation" else shifts)[node] = np.stack(columns, axis=1)
    parents = {child: n for n, node in enumerate(nodes) for child in node.get("children", ())}
    world: dict[int, tuple[Array, Array]] = {}

    def placed(node: int) -> tuple[Array, Array]:
        if node not in world:
            turn, at = _quaternion_matrices(turns[node][:, [3, 0, 1, 2]]), shifts[node]
            if node in parents:
                above, base = placed(parents[node])
                turn, at = above @ turn, base + (above @ at[:, :, None])[:, :, 0]
            world[node] = turn, at
        return world[node]

    positions = np.stack([placed(node)[1] for node in range(len(nodes))], axis=1)
    return [str(node.get("name", "")) for node in nodes], positions


class _Arrays(pickle.Unpickler):
    """Reader of pickled arrays that refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        allowed = {
            ("numpy", "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype"),
            ("numpy", "scalar"), ("collections", "OrderedDict"),
        }  # fmt: skip
        if (module.split(".")[0], name) not in allowed:
            raise pickle.UnpicklingError(f"{module}.{name} is not an array")
        return super().find_class(module, name)


def _npy(content: bytes) -> tuple[list[str], Array]:
    """Read a motion of a simulated humanoid: z up, world quaternions (x, y, z, w)."""
    file = io.BytesIO(content)
    np.lib.format.read_magic(file)
    np.lib.format.read_array_header_1_0(file)
    try:
        given = _Arrays(file).load().item()
    except (pickle.UnpicklingError, AttributeError, EOFError) as error:
        raise BenchmarkError(f"not a motion of the sword and shield set: {error}") from None
    tree = given["skeleton_tree"]
    parents, offsets = tree["parent_indices"]["arr"], tree["local_translation"]["arr"]
    local = _quaternion_matrices(np.asarray(given["rotation"]["arr"], float)[..., [3, 0, 1, 2]])
    at = np.zeros((*local.shape[:2], 3))
    turn = np.zeros_like(local)
    for joint, parent in enumerate(parents):
        if parent < 0:
            turn[:, joint], at[:, joint] = local[:, joint], given["root_translation"]["arr"]
        else:
            turn[:, joint] = turn[:, parent] @ local[:, joint]
            at[:, joint] = at[:, parent] + turn[:, parent] @ np.asarray(offsets[joint], float)
    return list(tree["node_names"]), np.stack([at[..., 1], at[..., 2], at[..., 0]], axis=2)
