"""glTF files for tests: animated skeletons, and hand-made documents."""

from __future__ import annotations

import base64
import json

import numpy as np

import motionloom as ml
from motionloom.motion.rotations import quaternions as rot

NAMES = ["Hips", "Spine", "Head", "LeftUpLeg", "LeftLeg", "LeftFoot", "RightUpLeg", "RightLeg",
         "RightFoot"]  # fmt: skip
PARENTS = [-1, 0, 1, 0, 3, 4, 0, 6, 7]
OFFSETS = [[0, 0, 0], [0, 0.2, 0], [0, 0.45, 0], [0.1, -0.05, 0], [0, -0.42, 0], [0, -0.43, 0],
           [-0.1, -0.05, 0], [0, -0.42, 0], [0, -0.43, 0]]  # fmt: skip
SKELETON = ml.Skeleton(
    NAMES, PARENTS, OFFSETS, ["top", "ltoe", "rtoe"], [2, 5, 8],
    [[0, 0.2, 0], [0, -0.08, 0.15], [0, -0.08, 0.15]],
)  # fmt: skip


def random_motion(rng, frames=40, fps=60.0, skeleton=SKELETON, name="dance"):
    turns = np.cumsum(rng.normal(scale=0.06, size=(frames, len(skeleton), 3)), axis=0)
    root = np.cumsum(rng.normal(scale=0.01, size=(frames, 3)), axis=0) + [0, 0.95, 0]
    return ml.Motion(skeleton, rot.exp(turns), root, fps, name)


def apart(a, b):
    return np.linalg.norm(a.positions(end_sites=True) - b.positions(end_sites=True), axis=-1).max()


class Builder:
    """A hand-made glTF document."""

    def __init__(self, nodes, skin_joints=None):
        self.data = b""
        self.document = {
            "asset": {"version": "2.0"},
            "nodes": nodes,
            "accessors": [],
            "bufferViews": [],
            "animations": [{"name": "a", "channels": [], "samplers": []}],
        }
        if skin_joints is not None:
            self.document["skins"] = [{"joints": skin_joints}]

    def accessor(self, values, kind, component=5126, dtype="<f4", **more):
        raw = np.asarray(values).astype(dtype).tobytes()
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(raw)}
        self.document["bufferViews"].append(view)
        self.data += raw + b"\0" * (-len(raw) % 4)
        count = len(values)
        number = len(self.document["bufferViews"]) - 1
        self.document["accessors"].append(
            {"bufferView": number, "componentType": component, "count": count, "type": kind, **more}
        )
        return number

    def curve(self, node, path, times, values, how="LINEAR", **accessor):
        animation = self.document["animations"][0]
        kind = "VEC4" if path == "rotation" else "VEC3"
        sampler = {
            "input": self.accessor(times, "SCALAR"),
            "output": self.accessor(values, kind, **accessor),
            "interpolation": how,
        }
        animation["samplers"].append(sampler)
        channel = {"sampler": len(animation["samplers"]) - 1}
        channel["target"] = {"node": node, "path": path}
        animation["channels"].append(channel)
        return self

    def write(self, path):
        uri = "data:application/octet-stream;base64," + base64.b64encode(self.data).decode()
        self.document["buffers"] = [{"byteLength": len(self.data), "uri": uri}]
        path.write_text(json.dumps(self.document))
        return path


def quarter(axis):
    return [*(np.eye(3)[axis] * np.sin(np.pi / 4)), np.cos(np.pi / 4)]


TWO = [{"name": "a", "children": [1]}, {"name": "b", "translation": [0, 1, 0]}]
