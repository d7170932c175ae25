"""The neutral skeleton of SMPL, SMPL-H and SMPL-X.

Joint positions of an average adult in the models' rest pose (a T-pose that faces +Z, y up,
left at +X), in metres from the pelvis, rounded and made symmetric. The true ones follow
from the body shape and the models' own data, which are not free to share: take lengths
here as approximate, to a few centimetres.
"""

from __future__ import annotations

import numpy as np

from motionloom.motion import Skeleton

# Joint, parent, position from the pelvis. "left_" stands for both sides: right has -x.
_BODY = [
    ("pelvis", "", (0.0, 0.0, 0.0)),
    ("left_hip", "pelvis", (0.06, -0.09, -0.01)),
    ("right_hip", "pelvis", None),
    ("spine1", "pelvis", (0.0, 0.12, -0.03)),
    ("left_knee", "left_hip", (0.105, -0.47, -0.01)),
    ("right_knee", "right_hip", None),
    ("spine2", "spine1", (0.0, 0.26, -0.025)),
    ("left_ankle", "left_knee", (0.09, -0.86, -0.05)),
    ("right_ankle", "right_knee", None),
    ("spine3", "spine2", (0.0, 0.31, 0.0)),
    ("left_foot", "left_ankle", (0.115, -0.915, 0.07)),
    ("right_foot", "right_ankle", None),
    ("neck", "spine3", (0.0, 0.525, -0.04)),
    ("left_collar", "spine3", (0.08, 0.435, -0.035)),
    ("right_collar", "spine3", None),
    ("head", "neck", (0.0, 0.59, 0.01)),
    ("left_shoulder", "left_collar", (0.175, 0.465, -0.045)),
    ("right_shoulder", "right_collar", None),
    ("left_elbow", "left_shoulder", (0.43, 0.455, -0.07)),
    ("right_elbow", "right_shoulder", None),
    ("left_wrist", "left_elbow", (0.685, 0.46, -0.07)),
    ("right_wrist", "right_elbow", None),
]
_PALMS = [
    ("left_hand", "left_wrist", (0.77, 0.455, -0.085)),
    ("right_hand", "right_wrist", None),
]
_FACE = [
    ("jaw", "head", (0.0, 0.585, 0.03)),
    ("left_eye", "head", (0.03, 0.655, 0.085)),
    ("right_eye", "head", None),
]
# Fingers from the wrist: where the first joint is, and the step from joint to joint.
_FINGERS = {
    "index": ((0.095, -0.005, 0.025), (0.03, -0.002, 0.002)),
    "middle": ((0.1, 0.0, 0.0), (0.031, -0.002, -0.002)),
    "pinky": ((0.085, -0.012, -0.045), (0.019, -0.003, -0.006)),
    "ring": ((0.093, -0.003, -0.025), (0.029, -0.003, -0.003)),
    "thumb": ((0.035, -0.02, 0.03), (0.025, -0.006, 0.02)),
}
# Tips that the models do not name: they give feet and head their length.
_TIPS = {
    "head": ("head_top", (0.0, 0.17, 0.02)),
    "left_foot": ("left_toe", (0.01, -0.02, 0.1)),
    "right_foot": ("right_toe", (-0.01, -0.02, 0.1)),
    "left_hand": ("left_hand_tip", (0.1, -0.005, -0.01)),
    "right_hand": ("right_hand_tip", (-0.1, -0.005, -0.01)),
}

# Where the models put the pelvis before it is moved: `trans` counts from there.
PELVIS = np.array([0.0, -0.24, 0.03])

# Joints of a pose -> model and the parts it is made of.
MODELS = {
    22: ("SMPL body", ("body",)),
    24: ("SMPL", ("body", "palms")),
    52: ("SMPL-H", ("body", "fingers")),
    55: ("SMPL-X", ("body", "face", "fingers")),
}


def smpl_skeleton(joints: int) -> Skeleton:
    """The neutral skeleton of a model with 22, 24, 52 or 55 joints.

    Examples
    --------
    >>> skeleton = smpl_skeleton(52)
    >>> skeleton.names[20], skeleton.names[22], len(skeleton)
    ('left_wrist', 'left_index1', 52)
    """
    rows: list[tuple[str, str, tuple[float, float, float] | None]] = []
    for part in MODELS[joints][1]:
        if part == "fingers":
            rows += _finger_rows("left") + _finger_rows("right")
        else:
            rows += {"body": _BODY, "palms": _PALMS, "face": _FACE}[part]
    names = [name for name, _, _ in rows]
    places: dict[str, np.ndarray] = {}
    for name, _, place in rows:
        if place is None:
            places[name] = places[name.replace("right_", "left_")] * [-1.0, 1.0, 1.0]
        else:
            places[name] = np.array(place)
    parents = [names.index(parent) if parent else -1 for _, parent, _ in rows]
    offsets = [places[name] - (places[parent] if parent else 0.0) for name, parent, _ in rows]
    ends = [(names.index(joint), *tip) for joint, tip in _TIPS.items() if joint in names]
    for side in ("left", "right"):
        sign = np.array([1.0 if side == "left" else -1.0, 1.0, 1.0])
        for finger, (_, step) in _FINGERS.items():
            if f"{side}_{finger}3" in names:
                x, y, z = (float(value) for value in np.array(step) * sign * 0.9)
                tip = (x, y, z)
                ends.append((names.index(f"{side}_{finger}3"), f"{side}_{finger}_tip", tip))
    return Skeleton(
        tuple(names),
        np.array(parents),
        np.array(offsets),
        tuple(name for _, name, _ in ends),
        np.array([parent for parent, _, _ in ends]),
        np.array([tip for _, _, tip in ends]),
    )


def _finger_rows(side: str) -> list[tuple[str, str, tuple[float, float, float] | None]]:
    wrist = np.array(next(place for name, _, place in _BODY if name == "left_wrist"))
    rows: list[tuple[str, str, tuple[float, float, float] | None]] = []
    for finger, (base, step) in _FINGERS.items():
        parent = f"{side}_wrist"
        for number in (1, 2, 3):
            name = f"{side}_{finger}{number}"
            place = wrist + base + (number - 1) * np.array(step)
            rows.append((name, parent, None if side == "right" else (place[0], place[1], place[2])))
            parent = name
    return rows
