"""glTF computed with matrices from the output of pygltflib; shares no code with motionloom."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np

TYPES = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}
NUMBERS = {5121: np.uint8, 5123: np.uint16, 5126: np.float32}


class NaiveGltf:
    """Joint positions and skinned vertices of a whole file, key by key."""

    def __init__(self, path: Path) -> None:
        import pygltflib

        self.gltf = pygltflib.GLTF2().load(str(path))
        buffer = self.gltf.buffers[0]
        if buffer.uri:
            self.blob = base64.b64decode(buffer.uri.split(",", 1)[1])
        else:
            self.blob = self.gltf.binary_blob()
        self.parent = {c: n for n, node in enumerate(self.gltf.nodes) for c in node.children or []}

    def values(self, accessor: int) -> np.ndarray:
        a = self.gltf.accessors[accessor]
        view = self.gltf.bufferViews[a.bufferView]
        start = (view.byteOffset or 0) + (a.byteOffset or 0)
        width = TYPES[a.type]
        flat = np.frombuffer(self.blob, NUMBERS[a.componentType], a.count * width, start)
        return flat.reshape(a.count, width).astype(np.float64)

    def key_times(self, skin: int) -> np.ndarray:
        animation = self.gltf.animations[0]
        root = self.gltf.skins[skin].joints[0]
        channel = next(c for c in animation.channels if c.target.node == root)
        return self.values(animation.samplers[channel.sampler].input)[:, 0]

    def world_matrices(self, key: int, skin: int) -> dict[int, np.ndarray]:
        """World matrix of every joint of a skin at a key of its curves."""
        joints = self.gltf.skins[skin].joints
        pose = {}
        animation = self.gltf.animations[0]
        for channel in animation.channels:
            if channel.target.node in joints:
                value = self.values(animation.samplers[channel.sampler].output)[key]
                pose[channel.target.node, channel.target.path] = value
        return {joint: self._world(joint, pose) for joint in joints}

    def _world(self, node: int, pose) -> np.ndarray:
        own = self.gltf.nodes[node]
        t = pose.get((node, "translation"), own.translation or [0, 0, 0])
        r = pose.get((node, "rotation"), own.rotation or [0, 0, 0, 1])
        matrix = np.eye(4)
        matrix[:3, :3] = quaternion_matrix(r)
        matrix[:3, 3] = t
        if node in self.parent:
            return self._world(self.parent[node], pose) @ matrix
        return matrix

    def joint_positions(self, key: int, skin: int = 0) -> np.ndarray:
        world = self.world_matrices(key, skin)
        return np.array([world[joint][:3, 3] for joint in self.gltf.skins[skin].joints])

    def skinned_vertices(self, key: int, skin: int = 0) -> np.ndarray:
        world = self.world_matrices(key, skin)
        own = self.gltf.skins[skin]
        inverse = self.values(own.inverseBindMatrices).reshape(-1, 4, 4).transpose(0, 2, 1)
        node = next(n for n in self.gltf.nodes if n.skin == skin)
        attributes = self.gltf.meshes[node.mesh].primitives[0].attributes
        places = self.values(attributes.POSITION)
        joints = self.values(attributes.JOINTS_0).astype(int)
        weights = self.values(attributes.WEIGHTS_0)
        out = np.zeros_like(places)
        for v, place in enumerate(places):
            for joint, weight in zip(joints[v], weights[v], strict=True):
                matrix = world[own.joints[joint]] @ inverse[joint]
                out[v] += weight * (matrix @ [*place, 1.0])[:3]
        return out


def quaternion_matrix(q) -> np.ndarray:
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
