"""NumPy archives (``.npz``): poses of the SMPL family, or joint positions.

An archive with poses is an AMASS file (`motionloom.formats.amass`). Any other one is searched for
joint positions (`motionloom.formats.positions`). Motions are written with the names of AMASS:
``poses`` (T, 66) in axis-angle form, ``trans`` (T, 3) and ``mocap_framerate``, z up and in meters.
They contain rotations of the body only: neither the body shape (``betas``) nor hands, since both
need the model files of SMPL.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from motionloom.errors import InvalidInput, MotionFormatError, MotionloomError
from motionloom.files import atomic_write
from motionloom.formats import amass
from motionloom.formats.conventions import started
from motionloom.formats.inference import rotation_to_y_up
from motionloom.formats.positions import chosen, listed_takes, solved_takes
from motionloom.formats.positions.point_files import Points, recordings
from motionloom.formats.positions.solving import solved
from motionloom.formats.takes import FileTake
from motionloom.motion import Motion
from motionloom.motion.rotations import quaternions as rot

_JOINTS = 22


def read(
    path: str | Path,
    *,
    fps: float | None = None,
    up: str | None = None,
    unit: str | float | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
    layout: str | Path | Mapping[str, Any] | None = None,
    smooth: bool | None = None,
    skeleton: str | int | None = None,
    animation: str | int | None = None,
) -> Motion:
    """Read one motion from an archive; see `motionloom.load` for the options."""
    repairs = started(path, up=up, fps=fps, strict=strict)
    every = _points(repairs.path)
    if every is None:
        if layout is not None or skeleton is not None or animation is not None:
            raise InvalidInput(f"{path}: the file contains poses, which have no layout or takes")
        return amass.read(path, fps=fps, up=up, unit=unit, roles=roles, strict=strict)
    points = chosen(every, skeleton if animation is None else animation, repairs.path)
    return solved(
        points, repairs, layout=layout, unit=unit, fps=fps, up=up, roles=roles, smooth=smooth,
        others=len(every) - 1,
    )  # fmt: skip


def takes(path: str | Path) -> list[FileTake]:
    """List the recordings in an archive."""
    every = _points(Path(path))
    return [FileTake()] if every is None else listed_takes(every)


def read_takes(
    path: str | Path, **options: Any
) -> Iterator[tuple[FileTake, Motion | MotionloomError]]:
    """Read all recordings in an archive."""
    every = _points(Path(path))
    if every is None:
        yield FileTake(), read(path, **options)
    else:
        yield from solved_takes(every, Path(path), **options)


def _points(path: Path) -> list[Points] | None:
    """Return the recordings of positions in an archive, or None if it holds poses."""
    with amass.Archive(path) as archive:
        if archive.has_poses():
            return None
        content: dict[str, Any] = {}
        for name in list(archive.members)[:64]:
            try:
                content[name] = archive.array(name)
            except MotionFormatError:
                continue  # text, or pickled objects, which are not read
        try:
            return recordings(content, path)
        except MotionFormatError:
            archive.refuse(
                "the file does not contain a motion: it has no poses and no joint positions, only "
                f"{archive.contents()}"
            )


def write(motion: Motion, path: str | Path) -> None:
    """Write the rotations of the body and the path of the root, as in AMASS."""
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise InvalidInput(f"cannot write {path}: the suffix must be .npz")
    body = amass.smpl_skeleton(_JOINTS)
    if motion.skeleton.names != body.names:
        motion = motion.retarget(body)
    turned = rot.inverse(rotation_to_y_up("z"))
    rotations = motion.rotations.astype(np.float64).copy()
    rotations[:, 0] = rot.multiply(turned, rotations[:, 0])
    trans = rot.rotate(turned, motion.root.astype(np.float64)) - amass.PELVIS
    arrays = {
        "poses": rot.log(rotations).reshape(len(rotations), -1).astype(np.float32),
        "trans": trans.astype(np.float32),
        "mocap_framerate": np.array(float(motion.fps)),
        "gender": np.array("neutral"),
        "surface_model_type": np.array("smpl"),
    }
    with atomic_write(path) as scratch, zipfile.ZipFile(scratch, "w") as archive:
        for name, array in arrays.items():
            file = io.BytesIO()
            np.lib.format.write_array(file, array, allow_pickle=False)
            # A fixed time keeps the bytes equal for equal motions.
            info = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, file.getvalue())
