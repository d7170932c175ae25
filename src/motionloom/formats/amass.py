"""AMASS and its kind: ``.npz`` files with poses of SMPL, SMPL-H or SMPL-X.

The poses go onto one neutral skeleton with approximate lengths (see
`motionloom.formats.smpl_skeleton`): rotations and the path are the file's, the body shape
(``betas``) is not used. Nothing in the file is unpickled, and what it claims to unpack to
must be in proportion to its size.
"""

from __future__ import annotations

import lzma
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.conventions import check_fps, check_up, refuse_folder, with_given_roles
from motionloom.formats.frame_rate import nominal_rate
from motionloom.formats.posture import turn_upright
from motionloom.formats.repairs import Repairs
from motionloom.formats.smpl_skeleton import MODELS, PELVIS, smpl_skeleton
from motionloom.formats.units import unit_from
from motionloom.motion import Motion, Origin
from motionloom.motion import rotations as rot

_RATES = ("mocap_framerate", "mocap_frame_rate", "fps", "frame_rate")
_ROOM = 16_000_000  # bytes that any file may unpack to
_GROWTH = 200  # ... and that a large one may, per byte
_LIMIT = 1e5  # radians or metres; beyond it a value is a fault
# What zipfile, its decompressors and the header of an array raise on damaged bytes.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, ValueError, EOFError, OSError,
    RuntimeError, TypeError, SyntaxError, OverflowError, KeyError, tokenize.TokenError,
)  # fmt: skip
# SMPL-X files may hold the parts of a pose instead of the whole.
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
    """Read one motion from an AMASS file.

    Parameters
    ----------
    path : str or Path
        With ``poses`` (T, 66, 72, 156 or 165), axis-angle, and ``trans`` (T, 3).
    fps : float, optional
        Overrules ``mocap_framerate``.
    up : {"z", "y", "x", "-y", "-z", "-x"}, optional
        Up axis of the world. Default: z, as in AMASS.
    unit : str or float, optional
        Unit of ``trans``. Default: metres.
    roles : mapping or path of a mapping file, optional
        Role to joint name, on top of what the names tell.
    strict : bool
        Refuse everything that would be repaired.

    Returns
    -------
    motion : Motion
        T frames, 22, 24, 52 or 55 joints, metres, y up.

    Raises
    ------
    MotionFormatError
        If the file has no one sensible reading.
    """
    path = Path(path)
    check_up(up)
    check_fps(fps)
    metres = 1.0 if unit is None else unit_from(unit)
    repairs = Repairs(path, strict=strict)
    with _Archive(path) as archive:
        poses = _poses(archive)
        joints = poses.shape[1] // 3
        trans = archive.array("trans") if "trans" in archive else None
        if trans is None:
            repairs.add("there is no trans; the figure stays in its place")
            trans = np.zeros((len(poses), 3))
        rate = _rate(archive, fps)
        has_shape = "betas" in archive
    if trans.shape != (len(poses), 3):
        archive.refuse(f"trans must have shape ({len(poses)}, 3), found {trans.shape}")
    for name, values in (("poses", poses), ("trans", trans)):
        wild = ~(np.abs(values) < _LIMIT)
        if wild.any():
            frame = int(np.argwhere(wild)[0, 0])
            archive.refuse(f"{name} of frame {frame} holds {values[wild][0]:g}")
    warnings = ["lengths are those of a neutral skeleton, to a few centimetres"]
    if has_shape:
        warnings[0] += "; the body shape (betas) is not used"
    turn = turn_upright(up or "z")
    rotations = rot.exp(poses.reshape(len(poses), joints, 3))
    rotations[:, 0] = rot.multiply(turn, rotations[:, 0])
    root = rot.rotate(turn, trans * metres + PELVIS)
    skeleton = with_given_roles(smpl_skeleton(joints), roles)
    motion = Motion(skeleton, rotations, root, nominal_rate(rate), path.stem)
    if up is None and len(motion):
        head, *ankles = motion.role_positions(["head", "left_ankle", "right_ankle"])[..., 1].T
        if np.median(head - np.mean(ankles, axis=0)) < 0.5:  # metres; most captures stand
            warnings.append("the figure lies down most of the time: is z up? Else pass up=")
    origin = Origin(
        path=str(path),
        format="amass",
        unit_m=metres,
        unit_reason="AMASS is in metres" if unit is None else "given",
        up=up or "z",
        frame_time=1.0 / rate,
        repairs=repairs.sentences(),
        warnings=tuple(warnings),
    )
    return replace(motion, origin=origin)


class _Archive:
    """Arrays of an ``.npz``, by name; sizes are checked before anything is unpacked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        refuse_folder(path, "an AMASS file")
        size = path.stat().st_size
        self.room = max(_ROOM, _GROWTH * size)
        try:
            self.zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            self.refuse(f"this is no .npz file ({str(error)[:80]})")
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
        """A numeric array of the archive in double precision."""
        info = self.members[name]
        if info.file_size > self.room:
            self.refuse(
                f"{name} claims to unpack to {info.file_size} bytes, out of all proportion to "
                "the file"
            )
        try:
            with self.zip.open(info) as file:
                version = npy.read_magic(file)
                header = (
                    npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                )
                shape, is_fortran, dtype = header(file)
                if dtype.hasobject or dtype.kind not in "fiu":
                    self.refuse(f"{name} must hold numbers, found {dtype}")
                count = 1
                for length in shape:
                    count *= length
                if any(length < 0 for length in shape) or count * dtype.itemsize > info.file_size:
                    self.refuse(f"{name} says it has the shape {shape}; its data are shorter")
                data = file.read(count * dtype.itemsize)
        except MotionFormatError:
            raise
        except _DAMAGE as error:
            self.refuse(f"{name} cannot be unpacked ({str(error)[:80] or type(error).__name__})")
        if len(data) < count * dtype.itemsize:
            self.refuse(f"{name} breaks off")
        values = np.frombuffer(data, dtype).reshape(shape, order="F" if is_fortran else "C")
        with np.errstate(invalid="ignore"):  # any bit pattern may stand there
            return values.astype(np.float64)


def _poses(archive: _Archive) -> NDArray[np.float64]:
    if "poses" in archive:
        poses = archive.array("poses")
    elif "root_orient" in archive and "pose_body" in archive:
        parts = [archive.array(name) for name, _ in _PARTS if name in archive]
        widths = [width for name, width in _PARTS if name in archive]
        for part, width in zip(parts, widths, strict=True):
            if part.shape != (len(parts[0]), width):
                archive.refuse(f"a part of the pose has shape {part.shape}, not (T, {width})")
        if len(parts) not in (2, 5):
            parts = parts[:2]
        poses = np.concatenate(parts, axis=1)
    else:
        known = ", ".join(sorted(archive.members)[:12]) or "nothing"
        archive.refuse(f"there are no poses, so this is no motion; the file holds {known}")
    if poses.ndim == 3 and poses.shape[2] == 3:
        poses = poses.reshape(len(poses), -1)
    if poses.ndim != 2 or poses.shape[1] // 3 not in MODELS or poses.shape[1] % 3:
        sizes = ", ".join(f"{3 * count} ({name})" for count, (name, _) in MODELS.items())
        archive.refuse(f"poses must have shape (T, N) with N one of {sizes}; found {poses.shape}")
    if len(poses) == 0:
        archive.refuse("there are no frames")
    return poses


def _rate(archive: _Archive, fps: float | None) -> float:
    if fps is not None:
        return float(fps)
    for name in _RATES:
        if name in archive:
            values = archive.array(name)
            if values.size == 1 and 1e-3 <= float(values.flat[0]) <= 1e6:
                return float(values.flat[0])
            archive.refuse(f"{name} must be one positive number; give the rate with fps=")
    archive.refuse("the frame rate (mocap_framerate) is missing; give it with fps=")
