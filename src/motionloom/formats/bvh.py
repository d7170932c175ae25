"""BVH, as found in the wild.

Reading repairs what has one sensible reading and records each repair; it refuses, with
file and line, what has none. Position channels replace OFFSET, on every joint, as in
Blender. Writing uses the dialect all readers agree on: root OFFSET zero, root with six
channels, positions first, every other joint three rotations in one order, End Site on
every leaf.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from motionloom.errors import MotionFormatError
from motionloom.formats.bvh_figure import Figure
from motionloom.formats.bvh_hierarchy import read_hierarchy
from motionloom.formats.bvh_layout import Layout, channel_names, plain_layout
from motionloom.formats.bvh_rows import read_rows
from motionloom.formats.bvh_text import BvhText, split_bvh
from motionloom.formats.bvh_writer import write
from motionloom.formats.conventions import (
    check_fps,
    check_up,
    file_bytes,
    in_metres,
    upright,
    with_given_roles,
)
from motionloom.formats.frame_rate import nominal_rate
from motionloom.formats.posture import infer_up, is_tpose_frame
from motionloom.formats.repairs import Repairs
from motionloom.formats.units import Unit, infer_unit, unit_from
from motionloom.motion import Motion, Origin

__all__ = ["read", "write"]


def read(
    path: str | Path,
    *,
    unit: str | float | None = None,
    fps: float | None = None,
    up: str | None = None,
    root: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    tpose: bool | None = None,
    partial: bool = False,
    strict: bool = False,
) -> Motion:
    """Read one motion from a BVH file.

    Parameters
    ----------
    path : str or Path
    unit : str or float, optional
        ``"m"``, ``"cm"``, ``"mm"``, ``"inch"``, ``"foot"``, ``"cmu"``, or metres per
        unit. Default: inferred from the size of the skeleton.
    fps : float, optional
        Overrules the file's Frame Time.
    up : {"y", "z", "x", "-y", "-z", "-x"}, optional
        Up axis of the file. Default: inferred; y unless rest pose and motion both say
        otherwise.
    root : str, optional
        Which ROOT to read, where a file holds several figures.
    roles : mapping or path of a mapping file, optional
        Role to joint name, on top of what the names tell.
    tpose : bool, optional
        Whether frame 0 is a T-pose to be kept as the rest pose and not as motion.
        Default: recognised.
    partial : bool
        Read the whole rows of a file that was cut off, instead of refusing it.
    strict : bool
        Refuse everything off the specification.

    Returns
    -------
    motion : Motion
        T frames, J joints, metres, y up. ``motion.origin`` says what was inferred.

    Raises
    ------
    MotionFormatError
        With file and line, if the file has no one sensible reading.
    """
    path = Path(path)
    check_up(up)
    check_fps(fps)
    repairs = Repairs(path, strict=strict)
    text = split_bvh(file_bytes(path, "a BVH file"), path, repairs)
    known = plain_layout(text.hierarchy)
    nodes = known.nodes if known else read_hierarchy(text.hierarchy, 1, path, repairs)
    columns = known.channel_names if known else channel_names(nodes)
    table = read_rows(text, columns or ["nothing"], path, repairs, partial=partial)
    frame_time = _frame_time(text, fps, path, repairs)
    nodes, table = _one_figure(nodes, table, root, path)
    layout = known or Layout(nodes)
    return _motion(layout, table, frame_time, path, repairs, unit, up, roles, tpose)


# --- from nodes and table to a motion ----------------------------------------------------


def _motion(layout, table, frame_time, path, repairs, unit, up, roles, tpose) -> Motion:
    figure = Figure(layout, table, path, repairs)
    skeleton = figure.skeleton()
    skeleton = with_given_roles(skeleton, roles)
    warnings = list(figure.warnings)
    motion = Motion(
        skeleton, figure.rotations(), figure.root, 1.0 / frame_time, path.stem, figure.moved
    )
    if up is None:
        up, doubt = infer_up(motion)
        warnings += [doubt] if doubt else []
    motion = upright(motion, up)
    is_tpose = is_tpose_frame(motion) if tpose is None else tpose
    if is_tpose and len(motion) > 1:
        rest = motion.rotations[0].astype(np.float64)
        motion = replace(motion[1:], skeleton=replace(motion.skeleton, rest=rest))
    scale = infer_unit(motion.skeleton) if unit is None else Unit(unit_from(unit), "given")
    warnings += [scale.warning] if scale.warning else []
    if frame_time >= 1.0:
        warnings.append(
            f"Frame Time is {frame_time:g} s: if these are milliseconds or frames per second, "
            "give the rate with fps="
        )
    origin = Origin(
        path=str(path),
        format="bvh",
        unit_m=scale.metres,
        unit_reason=scale.reason,
        up=up,
        frame_time=frame_time,
        tpose_frame=0 if is_tpose else None,
        euler_order=layout.order,
        repairs=repairs.sentences(),
        warnings=tuple(warnings),
    )
    return replace(
        in_metres(motion, scale.metres), fps=nominal_rate(1.0 / frame_time), origin=origin
    )


# --- small decisions ----------------------------------------------------------------------


def _one_figure(nodes, table, root, path):
    """The nodes and columns of one ROOT, when a file holds several."""
    roots = [index for index, node in enumerate(nodes) if node.kind == "root"]
    names = [nodes[index].name for index in roots]
    if root is None and len(roots) > 1:
        raise MotionFormatError(
            f"the file holds {len(roots)} figures, with roots {', '.join(map(repr, names))}; "
            "say which with root=",
            path=path,
            line=nodes[roots[1]].line,
        )
    if root is not None and root not in names:
        raise MotionFormatError(
            f"no ROOT is called {root!r}; there is {', '.join(map(repr, names))}", path=path
        )
    if len(roots) == 1:
        return nodes, table
    first = roots[names.index(root)]
    last = min([index for index in roots if index > first], default=len(nodes))
    skipped = sum(len(node.channels) for node in nodes[:first])
    width = sum(len(node.channels) for node in nodes[first:last])
    chosen = [
        replace(node, parent=node.parent - first if node.parent >= 0 else -1)
        for node in nodes[first:last]
    ]
    return chosen, table[:, skipped : skipped + width]


def _frame_time(text: BvhText, fps: float | None, path, repairs) -> float:
    if fps is not None:
        return 1.0 / float(fps)
    word = text.frame_time
    if word is None:
        raise MotionFormatError(
            "Frame Time is missing; give the rate with fps=",
            path=path,
            line=text.frame_time_line,
        )
    number = word
    if "," in word and "." not in word:
        repairs.add("decimal commas read as points", line=text.frame_time_line)
        number = word.replace(",", ".")
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not (1e-5 <= value <= 1e5):
        raise MotionFormatError(
            f"Frame Time must be seconds per frame, found {word[:40]!r}; give the rate with fps=",
            path=path,
            line=text.frame_time_line,
        )
    return value
