"""BVH writers, for whole motions or for writing block by block with little memory.

They use the dialect that all readers accept. The root has a zero OFFSET and six channels, positions
first. Every other joint has three rotations, in the same order. Every leaf has an End Site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.formats.conventions import check_up, from_y_up, unique_names
from motionloom.formats.inference import unit_from
from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot

DEFAULT_ORDER = "ZYX"
DEFAULT_UNIT = 0.01  # centimeters, for motions that did not come from a BVH file


def write(
    motion: Motion,
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    order: str | None = None,
    rest_frame: bool = False,
) -> None:
    """Write a motion as BVH; see `motionloom.save` for the options.

    Joints are written depth first. Spaces and colons in names are replaced, because some readers
    do not accept them. Only joints whose bones change length get position channels.
    """
    if len(motion) == 0:
        raise InvalidInput(f"{path}: a BVH file needs at least one frame; this motion has none")
    origin = motion.origin
    meters = unit_from(unit) if unit is not None else _source_unit(motion)
    order = (order or origin.euler_order or DEFAULT_ORDER).upper()
    if sorted(order) != ["X", "Y", "Z"]:
        raise InvalidInput(f"order must be a permutation of XYZ; got {order!r}")
    arrays = [motion.rotations, motion.root, motion.translations]
    if not all(np.isfinite(array).all() for array in arrays if array is not None):
        raise InvalidInput(f"{path}: the motion contains NaN or infinite values; repair it first")
    check_up(up)
    motion = from_y_up(motion, up or "y")
    if rest_frame:
        motion = _with_rest_frame(motion)
    moving = _moving_joints(motion)
    visit = depth_first(motion.skeleton)
    table = _channel_table(motion, visit, moving, order, meters)
    seconds = frame_time(motion.fps, origin.frame_time)
    with bvh_file(path) as file:
        file.writelines(head(motion.skeleton, moving, order, meters, len(motion), seconds))
        file.writelines(rows(table))


@contextmanager
def bvh_file(path: str | Path) -> Iterator[TextIO]:
    """Open a text file that is written atomically."""
    with atomic_write(path) as scratch, scratch.open("w", encoding="utf-8", newline="\n") as file:
        yield file


def head(skeleton, moving, order, meters, frames: int, seconds: str) -> Iterator[str]:
    """Return the lines that precede the rows. `moving` (J,) marks joints with position channels."""
    yield "HIERARCHY\n"
    yield from _hierarchy(skeleton, moving, order, meters)
    yield f"MOTION\nFrames: {frames}\nFrame Time: {seconds}\n"


def _source_unit(motion: Motion) -> float:
    return motion.origin.unit_m if motion.origin.format == "bvh" else DEFAULT_UNIT


def frame_time(fps: float, exact: float | None = None) -> str:
    """Return the seconds per frame, with the digits of the source file if the rate is unchanged."""
    if exact is None or abs(exact * fps - 1.0) > 3e-4:
        exact = 1.0 / fps
    whole, _, decimals = f"{exact:.12f}".partition(".")
    return f"{whole}.{decimals.rstrip('0').ljust(7, '0')}"


def _with_rest_frame(motion: Motion) -> Motion:
    rest = motion.rest_pose()
    moved = motion.translations
    return replace(
        motion,
        rotations=np.concatenate([rest.rotations, motion.rotations]),
        root=np.concatenate([motion.root[:1], motion.root]),
        translations=None if moved is None else np.concatenate([moved[:1], moved]),
    )


def _moving_joints(motion: Motion) -> NDArray[np.bool_]:
    """Return a mask of joints whose offset varies or differs from the skeleton, shape (J,)."""
    if motion.translations is None:
        return np.zeros(len(motion.skeleton), bool)
    away = np.abs(motion.translations - motion.skeleton.offsets).max(axis=(0, 2))
    away[0] = 0.0
    return away > 1e-6


def depth_first(skeleton: Skeleton) -> list[int]:
    """Return the joints in depth-first order."""
    children = _children(skeleton)
    visit, stack = [], [0]
    while stack:
        joint = stack.pop()
        visit.append(joint)
        stack.extend(reversed(children[joint]))
    return visit


def _children(skeleton: Skeleton) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in skeleton.names]
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            children[parent].append(joint)
    return children


def rows(table: NDArray[np.float64]):
    """Format a channel value table as lines of text."""
    template = " ".join(["%.6f"] * table.shape[1]) + "\n"
    return (template % tuple(row) for row in table.tolist())


def _channel_table(motion, visit, moving, order, meters) -> NDArray[np.float64]:
    """Return channel values in degrees and file units, one row per frame, in hierarchy order."""
    angles = np.degrees(np.unwrap(rot.to_euler(motion.rotations.astype(np.float64), order), axis=0))
    columns = [motion.root.astype(np.float64) / meters]
    for joint in visit:
        if moving[joint]:
            columns.append(motion.translations[:, joint].astype(np.float64) / meters)
        columns.append(angles[:, joint])
    # Adding zero turns -0.0 into 0.0 after rounding and keeps "-0.000000" out of files.
    return np.round(np.concatenate(columns, axis=1), 6) + 0.0


def _hierarchy(skeleton: Skeleton, moving, order: str, meters: float) -> Iterator[str]:
    names = unique_names(
        re.sub(r"[\s:{}]+", "_", name.strip()) or "joint" for name in skeleton.names
    )
    children = _children(skeleton)
    ends: list[list[int]] = [[] for _ in skeleton.names]
    for end, parent in enumerate(skeleton.end_parents):
        ends[parent].append(end)
    rotations = " ".join(f"{axis}rotation" for axis in order)
    positions = "Xposition Yposition Zposition"

    def offset(values) -> str:
        return " ".join(f"{value:.6f}" for value in np.round(values / meters, 6) + 0.0)

    # A stack of lines and joints avoids recursion in deep trees.
    stack: list[tuple[int, int] | str] = [(0, 0)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
            continue
        joint, depth = item
        tab = "\t" * depth
        yield f"{tab}{'ROOT' if joint == 0 else 'JOINT'} {names[joint]}\n{tab}{{\n"
        place = offset(np.zeros(3) if joint == 0 else skeleton.offsets[joint])
        yield f"{tab}\tOFFSET {place}\n"
        if joint == 0 or moving[joint]:
            yield f"{tab}\tCHANNELS 6 {positions} {rotations}\n"
        else:
            yield f"{tab}\tCHANNELS 3 {rotations}\n"
        tips = [skeleton.end_offsets[end] for end in ends[joint]]
        if not tips and not children[joint]:
            tips = [np.zeros(3)]  # a leaf without an end site still needs one in the file
        for tip in tips:
            yield f"{tab}\tEnd Site\n{tab}\t{{\n{tab}\t\tOFFSET {offset(tip)}\n{tab}\t}}\n"
        stack.append(f"{tab}}}\n")
        stack.extend((child, depth + 1) for child in reversed(children[joint]))


class BvhStream:
    """An open BVH file that is written block by block; see `bvh_stream`."""

    def __init__(self, file: TextIO, skeleton: Skeleton) -> None:
        self._file, self._visit = file, depth_first(skeleton)
        self._last: np.ndarray | None = None
        self.frames = 0

    def write(self, rotations: ArrayLike, root: ArrayLike) -> None:
        """Append frames: rotations (n, J, 4) ``wxyz`` and root (n, 3) in meters."""
        turned = np.asarray(rotations, np.float64)
        if not len(turned):
            return
        if not (np.isfinite(turned).all() and np.isfinite(root).all()):
            raise InvalidInput(
                f"frames starting at {self.frames} contain NaN or infinite values; repair them "
                f"first"
            )
        angles = rot.to_euler(turned, DEFAULT_ORDER)
        # Angles continue from those of the previous frame.
        before = angles[:1] if self._last is None else self._last
        angles = np.unwrap(np.concatenate([before, angles]), axis=0)[1:]
        self._last = angles[-1:]
        places = np.asarray(root, np.float64) / DEFAULT_UNIT
        flat = np.degrees(angles)[:, self._visit].reshape(len(turned), -1)
        table = np.round(np.concatenate([places, flat], axis=1), 6) + 0.0
        self._file.writelines(rows(table))
        self.frames += len(turned)


@contextmanager
def bvh_stream(
    path: str | Path, skeleton: Skeleton, *, frames: int, fps: float
) -> Iterator[BvhStream]:
    """Open a BVH file for writing block by block. The file appears once it is complete.

    Parameters
    ----------
    path : str or Path
        Path of the file.
    skeleton : Skeleton
        Skeleton with J joints.
    frames : int
        Total number of frames, which a BVH file states before the first frame.
    fps : float
        Frame rate.

    Raises
    ------
    InvalidInput
        If the number of written frames is not `frames`. No file is left behind.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> walk = ml.demo.clip("walk")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with bvh_stream(f"{folder}/walk.bvh", walk.skeleton, frames=40, fps=30) as out:
    ...         out.write(walk.rotations[:25], walk.root[:25])
    ...         out.write(walk.rotations[25:40], walk.root[25:40])
    ...     len(ml.load(f"{folder}/walk.bvh"))
    40
    """
    if frames < 1:
        raise InvalidInput(f"{path}: a BVH file needs at least one frame; got {frames}")
    still = np.zeros(len(skeleton), bool)
    seconds = frame_time(fps)
    with bvh_file(path) as file:
        file.writelines(head(skeleton, still, DEFAULT_ORDER, DEFAULT_UNIT, frames, seconds))
        stream = BvhStream(file, skeleton)
        yield stream
        if stream.frames != frames:
            raise InvalidInput(
                f"{path}: expected {frames} frames, but {stream.frames} were written"
            )
