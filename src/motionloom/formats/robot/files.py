"""Robot files: the poses of a robot in the layouts that robot learning uses.

======== ===================================================================================
suffix   content
======== ===================================================================================
``.csv`` Without a header, as in LAFAN1-retargeted and mjlab: position of the base, its
         rotation as quaternion ``xyzw``, and one angle per hinge, in meters and radians.
         With the header of BONES-SEED: centimeters and degrees, Euler angles of the base.
``.npz`` ``fps``, ``joint_pos``, ``joint_vel``, and poses and velocities of all bodies
         (``body_pos_w``, ``body_quat_w`` as ``wxyz``, ``body_lin_vel_w``, ``body_ang_vel_w``)
         in the order of the model, as mjlab trains on.
``.pkl`` GMR's dictionary: ``fps``, ``root_pos``, ``root_rot`` (``xyzw``) and ``dof_pos``.
         Only written: a pickle can run code when it is read.
======== ===================================================================================

All layouts have the z axis up and the x axis forward. None of them names the robot, so reading
needs its model: the option ``skeleton``, or the only model in the folder of the file.
"""

from __future__ import annotations

import csv
import io
import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.character.robot.model import (
    Robot,
    quaternions_to_y_up,
    quaternions_to_z_up,
    to_y_up,
    to_z_up,
)
from motionloom.character.robot.solver import Poses
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.files import atomic_write, read_regular
from motionloom.formats.amass import Archive
from motionloom.formats.conventions import check_fps, file_bytes, with_user_roles
from motionloom.formats.robot import MODEL_SUFFIXES, load_robot
from motionloom.motion import Motion, Origin
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

LAYOUTS = ("lafan", "bones-seed")
_RATES = {"lafan": 30.0, "bones-seed": 120.0}  # rates of the data sets, which files do not state
_BONES = ["root_translateX", "root_translateY", "root_translateZ"]
_BONES += ["root_rotateX", "root_rotateY", "root_rotateZ"]
_FEWEST = 7 + 6  # columns of a headerless table that can be a robot's
_FARTHEST = 1e5  # meters


def is_robot_file(path: str | Path) -> bool:
    """Return whether a file is a table or archive of a robot's poses.

    Examples
    --------
    >>> is_robot_file("walk.bvh")
    False
    """
    path = Path(path)
    suffix = path.suffix.lower()
    try:
        if suffix == ".csv":
            head = read_regular(path, span=(0, 8192)).decode("utf-8-sig", "replace")
            cells = [cell.strip() for cell in head.split("\n", 1)[0].split(",")]
            if _BONES[0] in cells:
                return True
            return len(cells) >= _FEWEST and all(_is_number(cell) for cell in cells)
        if suffix == ".npz":
            with Archive(path) as archive:
                return "joint_pos" in archive and "body_pos_w" in archive
    except (OSError, ValueError):
        return False
    return False


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def read(
    path: str | Path,
    *,
    skeleton: str | Path | None = None,
    fps: float | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
) -> Motion:
    """Read a motion of a robot; see `motionloom.load` for the options.

    `skeleton` is the model of the robot. By default, it is the only model in the folder of the
    file or in the folder above it. `fps` is needed if the file does not state the rate of 30 (or,
    for BONES-SEED, 120) frames per second.
    """
    check_fps(fps)
    path = Path(path)
    robot = load_robot(_model_near(path) if skeleton is None else str(skeleton))
    suffix = path.suffix.lower()
    if suffix == ".pkl":
        raise MotionFormatError(
            "pickle files are not read, because they can run code; convert the file to CSV or NPZ "
            "with the program that wrote it",
            path=path,
        )
    warnings: tuple[str, ...] = ()
    if suffix == ".npz":
        root, base, angles, rate = _read_npz(path, robot)
    else:
        root, base, angles, layout = _read_csv(path, robot)
        rate = _RATES[layout]
        if fps is None:
            warnings = (f"the file states no frame rate; {rate:g} fps is assumed, set fps",)
    for name, values in (("positions", root), ("rotations", base), ("angles", angles)):
        if not (np.isfinite(values).all() and np.abs(values).max(initial=0.0) < _FARTHEST):
            raise MotionFormatError(f"the {name} must be finite and plausible numbers", path=path)
    length = np.linalg.norm(base, axis=1, keepdims=True)
    if not len(root) or length.min() < 0.5 or length.max() > 2.0:
        raise MotionFormatError(
            "the rotations of the base are not unit quaternions; the columns may be in another "
            "order",
            path=path,
        )
    motion = robot.motion(root, rot.unroll(base / length), angles, fps or rate)
    origin = Origin(
        path=str(path),
        format="robot",
        unit_reason="robot files are in meters",
        up="z",
        frame_time=1.0 / (fps or rate),
        character=robot.path,
        warnings=(*warnings, *robot.warnings),
    )
    body = with_user_roles(motion.skeleton, roles)
    return replace(motion, skeleton=body, name=path.stem, origin=origin)


def _model_near(path: Path) -> Path:
    for folder in (path.parent, path.parent.parent):
        models = [
            file
            for file in sorted(folder.glob("*"))[:1000]
            if file.suffix.lower() in MODEL_SUFFIXES and file.is_file()
        ]
        if len(models) == 1:
            return models[0]
        if models:
            break
    raise MotionFormatError(
        "a robot file does not contain its robot; put one model file (.xml, .urdf) next to it, or "
        "name the model: skeleton in Python, --character in convert and import, --skeleton in info "
        "and doctor",
        path=path,
    )


def _read_csv(path: Path, robot: Robot) -> tuple[Array, Array, Array, str]:
    text = file_bytes(path, "a CSV file").decode("utf-8-sig", "replace")
    first, _, _ = text.partition("\n")
    names = [cell.strip() for cell in first.split(",")]
    header = not all(_is_number(cell) for cell in names)
    if not text.partition("\n")[2].strip() and header:
        raise MotionFormatError("the table has no rows", path=path)
    try:
        values = np.loadtxt(
            io.StringIO(text), delimiter=",", skiprows=int(header), ndmin=2, comments=None
        )
    except ValueError as error:
        reason = str(error).splitlines()[0][:160]
        raise MotionFormatError(f"the table cannot be read: {reason}", path=path) from None
    hinges = len(robot.joint_names)
    if header:
        missing = [name for name in _BONES if name not in names]
        columns = {name.removesuffix("_dof"): k for k, name in enumerate(names)}
        absent = [name for name in robot.joint_names if name not in columns]
        if missing or absent:
            raise MotionFormatError(
                f"expected a table without a header, or BONES-SEED's columns; missing are "
                f"{', '.join([*missing, *absent][:6])}",
                path=path,
            )
        base = values[:, [names.index(name) for name in _BONES]]
        turn = rot.from_euler(np.radians(base[:, [5, 4, 3]]), "ZYX")
        angles = np.radians(values[:, [columns[name] for name in robot.joint_names]])
        return to_y_up(0.01 * base[:, :3]), quaternions_to_y_up(turn), angles, "bones-seed"
    if values.shape[1] != 7 + hinges:
        raise MotionFormatError(
            f"expected {7 + hinges} columns for {robot.name} (position, quaternion and {hinges} "
            f"angles); got {values.shape[1]}",
            path=path,
        )
    base = quaternions_to_y_up(values[:, [6, 3, 4, 5]])
    return to_y_up(values[:, :3]), base, values[:, 7:], "lafan"


def _read_npz(path: Path, robot: Robot) -> tuple[Array, Array, Array, float]:
    with Archive(path) as archive:
        for name in ("joint_pos", "body_pos_w", "body_quat_w"):
            if name not in archive:
                archive.refuse(f"expected the array {name}; the file contains {archive.contents()}")
        angles, places, turns = (
            archive.array(name) for name in ("joint_pos", "body_pos_w", "body_quat_w")
        )
        rate = float(archive.array("fps").ravel()[0]) if "fps" in archive else 50.0
        frames, hinges = len(angles), len(robot.joint_names)
        for name, array, shape in (
            ("joint_pos", angles, (frames, hinges)),
            ("body_pos_w", places, (frames, *places.shape[1:2], 3)),
            ("body_quat_w", turns, (frames, *places.shape[1:2], 4)),
        ):
            if array.shape != shape or array.ndim != len(shape):
                archive.refuse(
                    f"{name} must have shape {shape} for {robot.name}; got {array.shape}"
                )
    if not 0.0 < rate < 1e4:
        raise MotionFormatError(f"fps must be a positive number; got {rate}", path=path)
    return to_y_up(places[:, 0]), quaternions_to_y_up(turns[:, 0]), angles, rate


def write(motion: Motion, path: Path, *, layout: str | None = None) -> None:
    """Write a motion of a robot; see the module for the layouts.

    Raises
    ------
    InvalidInput
        If the motion is not that of a robot, or the layout is unknown.
    """
    if not motion.origin.character:
        raise InvalidInput(
            f"{motion.name} is not a robot's motion; retarget it to a robot first, as in "
            "--character g1.xml"
        )
    layout = layout or "lafan"
    if layout not in LAYOUTS:
        raise InvalidInput(f"layout must be one of {', '.join(LAYOUTS)}; got {layout!r}")
    robot = load_robot(motion.origin.character)
    root, base, angles = robot.poses(motion)
    suffix = path.suffix.lower()
    with atomic_write(path) as scratch:
        if suffix == ".npz":
            with scratch.open("wb") as file:
                arrays: dict[str, Any] = body_arrays(robot, root, base, angles, motion.fps)
                np.savez_compressed(file, **arrays)
        elif suffix == ".pkl":
            scratch.write_bytes(_pickled(root, base, angles, motion.fps))
        else:
            text = _bones_csv(robot, root, base, angles) if layout == "bones-seed" else None
            scratch.write_text(text or _lafan_csv(root, base, angles), encoding="ascii")


def _lafan_csv(root: Array, base: Array, angles: Array) -> str:
    rows = np.concatenate([to_z_up(root), quaternions_to_z_up(base)[:, [1, 2, 3, 0]], angles], 1)
    return _rows(rows)


def _bones_csv(robot: Robot, root: Array, base: Array, angles: Array) -> str:
    turn = np.degrees(rot.to_euler(quaternions_to_z_up(base), "ZYX"))[:, [2, 1, 0]]
    number = np.arange(len(root))[:, None]
    rows = np.concatenate([number, 100.0 * to_z_up(root), turn, np.degrees(angles)], axis=1)
    names = ["Frame", *_BONES, *(f"{name}_dof" for name in robot.joint_names)]
    head = io.StringIO()
    csv.writer(head, lineterminator="\n").writerow(names)
    body = "".join(
        f"{int(row[0])}," + ",".join(f"{value:.6f}" for value in row[1:]) + "\n" for row in rows
    )
    return head.getvalue() + body


def _rows(rows: Array) -> str:
    return "".join(",".join(f"{value:.8f}" for value in row) + "\n" for row in rows.tolist())


def _pickled(root: Array, base: Array, angles: Array, fps: float) -> bytes:
    return pickle.dumps(
        {
            "fps": float(fps),
            "root_pos": to_z_up(root),
            "root_rot": quaternions_to_z_up(base)[:, [1, 2, 3, 0]],
            "dof_pos": angles.copy(),
            "local_body_pos": None,
            "link_body_list": None,
        }
    )


def body_arrays(
    robot: Robot, root: Array, base: Array, angles: Array, fps: float
) -> dict[str, NDArray]:
    """Return the arrays of an ``.npz`` robot file, with the z axis up."""
    turns, places = Poses(root, rot.to_matrix(base), angles).frames(robot)
    places = to_z_up(places[:, robot.bodies])
    q = quaternions_to_z_up(rot.unroll(rot.from_matrix(turns[:, robot.bodies])))
    frames = np.arange(len(q))
    before, after = np.maximum(frames - 1, 0), np.minimum(frames + 1, len(q) - 1)
    rate = fps / np.maximum(after - before, 1)
    change = rot.log(rot.multiply(q[after], rot.inverse(q[before])))
    single = np.float32
    return {
        "fps": np.array([fps]),
        "joint_pos": angles.astype(single),
        "joint_vel": ((angles[after] - angles[before]) * rate[:, None]).astype(single),
        "body_pos_w": places.astype(single),
        "body_quat_w": q.astype(single),
        "body_lin_vel_w": ((places[after] - places[before]) * rate[:, None, None]).astype(single),
        "body_ang_vel_w": (change * rate[:, None, None]).astype(single),
        "joint_names": np.array(robot.joint_names),
        "body_names": np.array(robot.body_names),
    }
