"""Writing BVH in the dialect that all readers agree on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.formats.conventions import check_up, free_names, laid_along
from motionloom.formats.units import unit_from
from motionloom.motion import Motion, Skeleton
from motionloom.motion import rotations as rot
from motionloom.whole_file import whole_file

DEFAULT_ORDER = "ZYX"
DEFAULT_UNIT = 0.01  # centimetres, for motions that did not come from a BVH file


def write(
    motion: Motion,
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str = "y",
    order: str | None = None,
    rest_frame: bool = False,
) -> None:
    """Write a motion as BVH.

    Parameters
    ----------
    motion : Motion
        T frames, J joints.
    path : str or Path
    unit : str or float, optional
        Unit of the file, as for reading. Default: that of the BVH file the motion came
        from, else centimetres.
    up : {"y", "z", "x", "-y", "-z", "-x"}
        Up axis of the file; nearly all readers expect y.
    order : str, optional
        Order of the rotation channels. Default: the source's if it has one for all
        joints, else ``"ZYX"``.
    rest_frame : bool
        Put the rest pose in front as a frame of its own, as CMU's conversion does.

    Notes
    -----
    Joints are written depth first. Names lose spaces and colons, which some readers stumble
    over. Joints whose bones change length get position channels; all others do not.
    """
    if len(motion) == 0:
        raise InvalidInput(f"{path}: a BVH file needs at least one frame; this motion has none")
    origin = motion.origin
    metres = unit_from(unit) if unit is not None else _source_unit(motion)
    order = (order or origin.euler_order or DEFAULT_ORDER).upper()
    if sorted(order) != ["X", "Y", "Z"]:
        raise InvalidInput(f"order must be X, Y and Z in some order; got {order!r}")
    arrays = [motion.rotations, motion.root, motion.translations]
    if not all(np.isfinite(array).all() for array in arrays if array is not None):
        raise InvalidInput(f"{path}: the motion holds NaN or infinite values; mend it first")
    check_up(up)
    motion = laid_along(motion, up)
    if rest_frame:
        motion = _with_rest_frame(motion)
    moving = _moving_joints(motion)
    visit = depth_first(motion.skeleton)
    table = _channel_table(motion, visit, moving, order, metres)
    seconds = frame_time(motion.fps, origin.frame_time)
    with bvh_file(path) as file:
        file.writelines(head(motion.skeleton, moving, order, metres, len(motion), seconds))
        file.writelines(rows(table))


@contextmanager
def bvh_file(path: str | Path) -> Iterator[TextIO]:
    """A text file that appears when it is complete."""
    with whole_file(path) as scratch, scratch.open("w", encoding="utf-8", newline="\n") as file:
        yield file


def head(skeleton, moving, order, metres, frames: int, seconds: str) -> Iterator[str]:
    """The lines before the rows; `moving` (J,): joints that have position channels."""
    yield "HIERARCHY\n"
    yield from _hierarchy(skeleton, moving, order, metres)
    yield f"MOTION\nFrames: {frames}\nFrame Time: {seconds}\n"


def _source_unit(motion: Motion) -> float:
    return motion.origin.unit_m if motion.origin.format == "bvh" else DEFAULT_UNIT


def frame_time(fps: float, exact: float | None = None) -> str:
    """Seconds per frame: the source's exact value if the rate is still the same."""
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
    """Joints whose offset changes over time, or differs from the skeleton's; shape (J,)."""
    if motion.translations is None:
        return np.zeros(len(motion.skeleton), bool)
    away = np.abs(motion.translations - motion.skeleton.offsets).max(axis=(0, 2))
    away[0] = 0.0
    return away > 1e-6


def depth_first(skeleton: Skeleton) -> list[int]:
    """Joints in the order in which they are written."""
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
    """The lines of a table of channels."""
    template = " ".join(["%.6f"] * table.shape[1]) + "\n"
    return (template % tuple(row) for row in table.tolist())


def _channel_table(motion, visit, moving, order, metres) -> NDArray[np.float64]:
    """Degrees and file units, one row per frame, in the order of the hierarchy."""
    angles = np.degrees(np.unwrap(rot.to_euler(motion.rotations.astype(np.float64), order), axis=0))
    columns = [motion.root.astype(np.float64) / metres]
    for joint in visit:
        if moving[joint]:
            columns.append(motion.translations[:, joint].astype(np.float64) / metres)
        columns.append(angles[:, joint])
    # Adding zero turns -0.0 into 0.0 after rounding, so no file says "-0.000000".
    return np.round(np.concatenate(columns, axis=1), 6) + 0.0


def _hierarchy(skeleton: Skeleton, moving, order: str, metres: float) -> Iterator[str]:
    names = free_names(re.sub(r"[\s:{}]+", "_", name.strip()) or "joint" for name in skeleton.names)
    children = _children(skeleton)
    ends: list[list[int]] = [[] for _ in skeleton.names]
    for end, parent in enumerate(skeleton.end_parents):
        ends[parent].append(end)
    rotations = " ".join(f"{axis}rotation" for axis in order)
    positions = "Xposition Yposition Zposition"

    def offset(values) -> str:
        return " ".join(f"{value:.6f}" for value in np.round(values / metres, 6) + 0.0)

    # A stack of lines to write and joints to open, so that deep trees need no recursion.
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
            tips = [np.zeros(3)]  # a leaf without a tip still needs its End Site
        for tip in tips:
            yield f"{tab}\tEnd Site\n{tab}\t{{\n{tab}\t\tOFFSET {offset(tip)}\n{tab}\t}}\n"
        stack.append(f"{tab}}}\n")
        stack.extend((child, depth + 1) for child in reversed(children[joint]))
