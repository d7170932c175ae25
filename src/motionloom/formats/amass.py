"""AMASS files: ``.npz`` archives with SMPL, SMPL-H or SMPL-X poses.

Rotations and root path come from the file. The skeleton is neutral, because the body shape
(``betas``) is not used. Nothing in the file is unpickled, and its unpacked size is limited in
proportion to its size on disk.

The neutral skeleton has the joint positions of an average adult in the models' rest pose (a T-pose
facing +Z, y up, left at +X), in meters from the pelvis, rounded and made symmetric. The true
positions depend on the body shape and on model data that cannot be redistributed.
Lengths are therefore only accurate to a few centimeters.
"""

from __future__ import annotations

import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import npy_header
from motionloom.errors import MotionFormatError
from motionloom.formats.conventions import (
    nominal_rate,
    refuse_folder,
    started,
    with_user_roles,
)
from motionloom.formats.inference import Unit, rotation_to_y_up, unit_from
from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot

# Joint, parent, and position relative to the pelvis, or None to mirror the left side.
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
# Fingers: offset of the first joint from the wrist, and offset from one joint to the next.
_FINGERS = {
    "index": ((0.095, -0.005, 0.025), (0.03, -0.002, 0.002)),
    "middle": ((0.1, 0.0, 0.0), (0.031, -0.002, -0.002)),
    "pinky": ((0.085, -0.012, -0.045), (0.019, -0.003, -0.006)),
    "ring": ((0.093, -0.003, -0.025), (0.029, -0.003, -0.003)),
    "thumb": ((0.035, -0.02, 0.03), (0.025, -0.006, 0.02)),
}
# The models have no end sites. These give the feet and the head a length.
_TIPS = {
    "head": ("head_top", (0.0, 0.17, 0.02)),
    "left_foot": ("left_toe", (0.01, -0.02, 0.1)),
    "right_foot": ("right_toe", (-0.01, -0.02, 0.1)),
    "left_hand": ("left_hand_tip", (0.1, -0.005, -0.01)),
    "right_hand": ("right_hand_tip", (-0.1, -0.005, -0.01)),
}

# Position of the pelvis in the models, to which `trans` is relative.
PELVIS = np.array([0.0, -0.24, 0.03])

# Number of joints -> model and its parts.
MODELS = {
    22: ("SMPL body", ("body",)),
    24: ("SMPL", ("body", "palms")),
    52: ("SMPL-H", ("body", "fingers")),
    55: ("SMPL-X", ("body", "face", "fingers")),
}


def smpl_skeleton(joints: int) -> Skeleton:
    """Return the neutral skeleton for a model with 22, 24, 52 or 55 joints.

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


_RATES = ("mocap_framerate", "mocap_frame_rate", "fps", "frame_rate")
_ROOM = 16_000_000  # unpacked bytes that any file may have
_GROWTH = 200  # the same limit for larger files, per byte
_LIMIT = 1e5  # radians or meters; larger values are treated as errors
# Raised by zipfile, its decompressors and the array header parser for damaged bytes.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, ValueError, EOFError, OSError,
    RuntimeError, TypeError, SyntaxError, OverflowError, KeyError, tokenize.TokenError,
)  # fmt: skip
# SMPL-X files may store the parts of a pose separately.
_PARTS = (("root_orient", 3), ("pose_body", 63), ("pose_jaw", 3), ("pose_eye", 6),
          ("pose_hand", 90))  # fmt: skip


def read(
    path: str | Path,
    *,
    fps: float | None = None,
    up: str | None = None,
    unit: str | float | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
) -> Motion:
    """Read one motion from an AMASS file; see `motionloom.load` for the options.

    The file contains ``poses`` (T, 66, 72, 156 or 165) in axis-angle form and ``trans`` (T, 3). By
    default z is up, and `unit`, the unit of ``trans``, is meters. The motion has 22, 24, 52 or 55
    joints.
    """
    repairs = started(path, up=up, fps=fps, strict=strict)
    path = repairs.path
    meters = 1.0 if unit is None else unit_from(unit)
    with _Archive(path) as archive:
        poses = _poses(archive)
        joints = poses.shape[1] // 3
        trans = archive.array("trans") if "trans" in archive else None
        if trans is None:
            repairs.add("the file has no root path (trans), so the figure stays in place")
            trans = np.zeros((len(poses), 3))
        rate = _rate(archive, fps)
        has_shape = "betas" in archive
    if trans.shape != (len(poses), 3):
        archive.refuse(f"trans must have shape ({len(poses)}, 3), found {trans.shape}")
    for name, values in (("poses", poses), ("trans", trans)):
        wild = ~(np.abs(values) < _LIMIT)
        if wild.any():
            frame = int(np.argwhere(wild)[0, 0])
            archive.refuse(
                f"{name} contains the implausible value {values[wild][0]:g} in frame {frame}"
            )
    warnings = ["bone lengths come from a neutral skeleton and are accurate to a few centimeters"]
    if has_shape:
        warnings[0] += "; the body shape (betas) is not used"
    turn = rotation_to_y_up(up or "z")
    rotations = rot.exp(poses.reshape(len(poses), joints, 3))
    rotations[:, 0] = rot.multiply(turn, rotations[:, 0])
    root = rot.rotate(turn, trans * meters + PELVIS)
    skeleton = with_user_roles(smpl_skeleton(joints), roles)
    motion = Motion(skeleton, rotations, root, nominal_rate(rate), path.stem)
    if up is None and len(motion):
        head, *ankles = motion.role_positions(["head", "left_ankle", "right_ankle"])[..., 1].T
        if (
            np.median(head - np.mean(ankles, axis=0)) < 0.5
        ):  # meters, because people stand in most captures
            warnings.append(
                "the figure lies down most of the time. If z is not the up axis, set the option up"
            )
    scale = Unit(meters, "AMASS is in meters" if unit is None else "given")
    origin = repairs.origin("amass", scale, up=up or "z", frame_time=1.0 / rate, warnings=warnings)
    return replace(motion, origin=origin)


class _Archive:
    """Arrays of an ``.npz`` file, by name. Sizes are checked before anything is unpacked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        refuse_folder(path, "an AMASS file")
        size = path.stat().st_size
        self.room = max(_ROOM, _GROWTH * size)
        try:
            self.zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            self.refuse(f"this is not an .npz file ({str(error)[:80]})")
        self.members = {
            info.filename.removesuffix(".npy"): info
            for info in self.zip.infolist()
            if info.filename.endswith(".npy")
        }

    def __enter__(self) -> _Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.zip.close()

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def refuse(self, problem: str) -> NoReturn:
        raise MotionFormatError(problem, path=self.path)

    def array(self, name: str) -> NDArray[np.float64]:
        """Return a numeric array from the archive in double precision."""
        info = self.members[name]
        if info.file_size > self.room:
            self.refuse(
                f"{name} would unpack to {info.file_size} bytes, which is too much for the size "
                "of the file"
            )
        try:
            with self.zip.open(info) as file:
                shape, order, dtype = npy_header(file)
                if dtype.kind not in "fiu":
                    self.refuse(f"{name} must hold numbers, found {dtype}")
                count = math.prod(shape)
                if count * dtype.itemsize > info.file_size:
                    self.refuse(f"{name} has less data than its shape {shape} needs")
                data = file.read(count * dtype.itemsize)
        except MotionFormatError:
            raise
        except _DAMAGE as error:
            self.refuse(f"{name} cannot be unpacked ({str(error)[:80] or type(error).__name__})")
        if len(data) < count * dtype.itemsize:
            self.refuse(f"{name} is truncated")
        values = np.frombuffer(data, dtype).reshape(shape, order=order)
        with np.errstate(invalid="ignore"):  # any bit pattern is possible
            return values.astype(np.float64)


def _poses(archive: _Archive) -> NDArray[np.float64]:
    if "poses" in archive:
        poses = archive.array("poses")
    elif "root_orient" in archive and "pose_body" in archive:
        parts = [archive.array(name) for name, _ in _PARTS if name in archive]
        widths = [width for name, width in _PARTS if name in archive]
        for part, width in zip(parts, widths, strict=True):
            if part.shape != (len(parts[0]), width):
                archive.refuse(
                    f"a part of the pose must have shape (T, {width}); found {part.shape}"
                )
        if len(parts) not in (2, 5):
            parts = parts[:2]
        poses = np.concatenate(parts, axis=1)
    else:
        names = ", ".join(sorted(archive.members)[:12]) or "nothing"
        archive.refuse(f"the file does not contain a motion: it has no poses, only {names}")
    if poses.ndim == 3 and poses.shape[2] == 3:
        poses = poses.reshape(len(poses), -1)
    if poses.ndim != 2 or poses.shape[1] // 3 not in MODELS or poses.shape[1] % 3:
        sizes = ", ".join(f"{3 * count} ({name})" for count, (name, _) in MODELS.items())
        archive.refuse(f"poses must have shape (T, N) with N one of {sizes}; found {poses.shape}")
    if len(poses) == 0:
        archive.refuse("the file has no frames")
    return poses


def _rate(archive: _Archive, fps: float | None) -> float:
    if fps is not None:
        return float(fps)
    for name in _RATES:
        if name in archive:
            values = archive.array(name)
            if values.size == 1 and 1e-3 <= float(values.flat[0]) <= 1e6:
                return float(values.flat[0])
            archive.refuse(f"{name} must be a single positive number; set the rate with fps")
    archive.refuse("the frame rate (mocap_framerate) is missing; set it with fps")
