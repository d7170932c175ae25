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
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import npy_header
from motionloom.errors import MotionFormatError
from motionloom.formats.conventions import (
    Repairs,
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
_VALUES = 2_000_000  # numbers that all arrays of any file may contain together
_DENSITY = 8  # the same limit for larger files, per byte; captured motion has less than one
_LIMIT = 1e5  # radians or meters; larger values are treated as errors
# Raised by zipfile, its decompressors and the array header parser for damaged bytes.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, ValueError, EOFError, OSError,
    RuntimeError, TypeError, SyntaxError, OverflowError, KeyError, tokenize.TokenError,
)  # fmt: skip
# Names that programs of the SMPL family use. The first ones are those of AMASS.
_WHOLE = ("poses", "pose", "fullpose", "full_pose", "smpl_poses", "thetas")
_ROOTS = ("root_orient", "global_orient", "poses_root")
_BODIES = ("pose_body", "body_pose", "poses_body")
_PATHS = ("trans", "transl", "smpl_trans", "translation", "root_trans")
_JAWS, _EYES = ("pose_jaw", "jaw_pose"), ("pose_eye", ("leye_pose", "reye_pose"))
_HANDS = ("pose_hand", ("left_hand_pose", "right_hand_pose"))
_ASSUMED_RATE = 30.0  # fps; estimates of poses from video often do not state their rate
_STANDS = 0.9  # meters from ankles to head along the up axis, in the median frame


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

    The file contains ``poses`` (T, 66, 72, 156 or 165) in axis-angle form and ``trans`` (T, 3), or
    the same data under the names of other programs of the SMPL family (``global_orient``,
    ``body_pose``, ``transl`` ...). By default z is up, and `unit`, the unit of ``trans``, is
    meters. The motion has 22, 24, 52 or 55 joints.
    """
    repairs = started(path, up=up, fps=fps, strict=strict)
    path = repairs.path
    meters = 1.0 if unit is None else unit_from(unit)
    with Archive(path) as archive:
        poses = _poses(archive, repairs)
        joints = poses.shape[1] // 3
        path_name = archive.first(_PATHS)
        trans = np.zeros((len(poses), 3)) if path_name is None else archive.array(path_name)
        if path_name is None:
            repairs.add("the file has no root path (trans), so the figure stays in place")
        rate = _rate(archive, fps)
        is_amass = rate is not None and "poses" in archive or "root_orient" in archive
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
    if rate is None:
        rate = _ASSUMED_RATE
        warnings.append(f"the file states no rate; {rate:g} fps are assumed. Set fps to change it")
    skeleton = with_user_roles(smpl_skeleton(joints), roles)
    rotations = rot.exp(poses.reshape(len(poses), joints, 3))
    places = trans * meters + PELVIS
    if up is None:
        up, warning = _up_axis(Motion(skeleton, rotations, places, 1.0), is_amass)
        warnings += [warning] if warning else []
    turn = rotation_to_y_up(up)
    rotations[:, 0] = rot.multiply(turn, rotations[:, 0])
    root = rot.rotate(turn, places)
    motion = Motion(skeleton, rotations, root, nominal_rate(rate), path.stem)
    scale = Unit(meters, "AMASS is in meters" if unit is None else "given")
    origin = repairs.origin("amass", scale, up=up, frame_time=1.0 / rate, warnings=warnings)
    return replace(motion, origin=origin)


def _up_axis(motion: Motion, is_amass: bool) -> tuple[str, str]:
    """Return the up axis of a motion as stored, and a warning or an empty string.

    AMASS is z up. Other programs store poses as a camera sees them, or y up. Then people, who stand
    in most captures, stand along that axis.
    """
    points = motion.role_positions(["head", "left_ankle", "right_ankle"])
    stands = np.median(points[:, 0] - points[:, 1:].mean(axis=1), axis=0)
    if stands[2] >= 0.5:
        return "z", ""
    axis = int(np.argmax(np.abs(stands)))
    if is_amass or abs(stands[axis]) < _STANDS:
        return "z", (
            "the figure lies down most of the time. If z is not the up axis, set the option up"
        )
    up = ("-" if stands[axis] < 0.0 else "") + "xyz"[axis]
    return up, f"the up axis is assumed to be {up}, along which the figure stands; set up to change"


class Archive:
    """Arrays of an ``.npz`` file, by name. Sizes are checked before anything is unpacked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        refuse_folder(path, "an .npz file")
        size = path.stat().st_size
        self.room = max(_ROOM, _GROWTH * size)
        self.left = max(_VALUES, _DENSITY * size)
        try:
            self.zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            self.refuse(f"this is not an .npz file ({str(error)[:80]})")
        self.members = {
            info.filename.removesuffix(".npy"): info
            for info in self.zip.infolist()
            if info.filename.endswith(".npy")
        }

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.zip.close()

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def has_poses(self) -> bool:
        """Return whether the archive contains poses of the SMPL family."""
        whole, root, body = (self.first(names) for names in (_WHOLE, _ROOTS, _BODIES))
        return whole is not None or (root is not None and body is not None)

    def first(self, names: Sequence[str]) -> str | None:
        """Return the first of these names that the archive contains."""
        return next((name for name in names if name in self.members), None)

    def contents(self) -> str:
        """Describe the arrays of the archive for an error message."""
        parts = []
        for name, info in sorted(self.members.items())[:12]:
            try:
                with self.zip.open(info) as file:
                    parts.append(f"{name} {npy_header(file)[0]}")
            except _DAMAGE as error:  # pickled objects are not read, because they can run code
                parts.append(f"{name} (unreadable: {str(error)[:60]})")
        return ", ".join(parts) or "nothing"

    def refuse(self, problem: str) -> NoReturn:
        """Raise an error about this file."""
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
                self.left -= count
                if self.left < 0:
                    self.refuse(f"{name} has too many numbers, {shape}, for the size of the file")
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


def _poses(archive: Archive, repairs: Repairs) -> NDArray[np.float64]:
    """Return poses as axis and angle, shape (T, N)."""
    whole, root, body = (archive.first(names) for names in (_WHOLE, _ROOTS, _BODIES))
    if root is not None and body is not None and whole != "poses":
        poses = _joined(archive, root, body, repairs)
    elif whole is not None:
        poses = _angles(archive, whole)
    else:
        archive.refuse(
            f"the file does not contain a motion: it has no poses, only {archive.contents()}"
        )
    if poses.shape[1] // 3 not in MODELS or poses.shape[1] % 3:
        sizes = ", ".join(f"{3 * count} ({name})" for count, (name, _) in MODELS.items())
        archive.refuse(f"poses must have shape (T, N) with N one of {sizes}; found {poses.shape}")
    if len(poses) == 0:
        archive.refuse("the file has no frames")
    return poses


def _angles(archive: Archive, name: str) -> NDArray[np.float64]:
    """Return rotations as axis and angle, shape (T, 3 J), also from matrices (T, J, 3, 3)."""
    values = archive.array(name)
    if values.ndim in (3, 4, 5) and values.shape[0] == 1 and values.shape[1] > 1:
        values = values[0]  # a batch of one sequence
    if values.ndim == 4 and values.shape[2:] == (3, 3):
        if not np.all(np.abs(values) < 2.0):
            archive.refuse(f"{name} must contain rotation matrices")
        values = rot.log(rot.from_matrix(values))
    if values.ndim == 3 and values.shape[2] == 3:
        values = values.reshape(len(values), -1)
    if values.ndim != 2:
        archive.refuse(f"{name} must have shape (T, N) or (T, J, 3); found {values.shape}")
    return values


def _joined(archive: Archive, root: str, body: str, repairs: Repairs) -> NDArray[np.float64]:
    """Join poses that are stored in parts: SMPL-X with face and hands, SMPL-H, or the body."""

    def part(names: Sequence[str | tuple[str, str]], width: int) -> NDArray[np.float64] | None:
        for name in names:
            each = (name,) if isinstance(name, str) else name
            if all(member in archive for member in each):
                values = np.concatenate([_angles(archive, member) for member in each], axis=1)
                if values.shape == (len(first), width):
                    return values
                repairs.add(f"{each[0]} has shape {values.shape}, so it was not read")
        return None

    first, trunk = _angles(archive, root), _angles(archive, body)
    if first.shape[1] != 3 or trunk.shape[1] not in (63, 69) or len(trunk) != len(first):
        archive.refuse(
            f"{root} must have shape (T, 3) and {body} (T, 63) or (T, 69); found {first.shape} and "
            f"{trunk.shape}"
        )
    hands = part(_HANDS, 90)
    if hands is None or trunk.shape[1] == 69:
        return np.concatenate([first, trunk], axis=1)
    face = [part(_JAWS, 3), part(_EYES, 6)]
    faces = [each for each in face if each is not None]
    parts = [first, trunk, *(faces if len(faces) == 2 else []), hands]
    return np.concatenate(parts, axis=1)


def _rate(archive: Archive, fps: float | None) -> float | None:
    """Return the frame rate, or None if the file does not state it."""
    if fps is not None:
        return float(fps)
    for name in _RATES:
        if name in archive:
            values = archive.array(name)
            if values.size == 1 and 1e-3 <= float(values.flat[0]) <= 1e6:
                return float(values.flat[0])
            archive.refuse(f"{name} must be a single positive number; set the rate with fps")
    return None
