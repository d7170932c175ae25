"""Reader of USD files, ``.usd``, ``.usda`` and ``.usdc``: UsdSkel skeletons and animations.

Needs the extra ``usd`` (usd-core). Files are read in a separate process, see
`motionloom.formats.usd.child_process`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.child_process import child_result
from motionloom.formats.conventions import (
    Repairs,
    nominal_rate,
    refuse_folder,
    scaled_to_metres,
    started,
    to_y_up,
    unique_names,
    with_user_roles,
)
from motionloom.formats.inference import Unit, unit_from
from motionloom.formats.scene_nodes import NodeTrajectory, motion_from_nodes, uniform_scale
from motionloom.formats.usd import child_process
from motionloom.formats.usd.writer import require_extra
from motionloom.motion import Motion
from motionloom.motion.rotations import quaternions as rot


def read(
    path: str | Path,
    *,
    skeleton: str | None = None,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    timeout: float = 600.0,
    strict: bool = False,
) -> Motion:
    """Read one motion from a USD file; see `motionloom.load` for the options.

    `skeleton` is the name or path of a Skeleton, or the name of its SkelRoot. The default rate is
    that of the samples; unit and up axis are those of the stage.
    """
    repairs = started(path, up=up, fps=fps, strict=strict)
    path = repairs.path
    require_extra()
    refuse_folder(path, "a USD file")
    request = {"skeleton": skeleton, "fps": fps}
    script = child_process.__file__
    facts, arrays = child_result(script, path, request, timeout=timeout, library="USD")
    motion = _motion(facts, arrays, path, repairs)
    warnings = []
    others = facts["skeletons"]
    if skeleton is None and len(others) > 1:
        warnings.append(
            f"the first of {len(others)} skeletons is read; they are {', '.join(others[:8])}. "
            "Choose one as skeleton"
        )
    if not facts["animated"]:
        warnings.append("no animation moves this skeleton: one frame in its rest pose")
    name = path.stem if skeleton is None else facts["name"] or path.stem
    motion = replace(motion, skeleton=with_user_roles(motion.skeleton, roles), name=name)
    metres = facts["unit"] if unit is None else unit_from(unit)
    if not 1e-6 <= metres <= 1e6:
        raise MotionFormatError(f"metersPerUnit is {metres:g}; give its unit", path=path)
    up = up or facts["up"]
    scale = Unit(metres, "metersPerUnit says so" if unit is None else "given")
    origin = repairs.origin("usd", scale, up=up, frame_time=1.0 / motion.fps, warnings=warnings)
    return replace(scaled_to_metres(to_y_up(motion, up), metres), origin=origin)


def _motion(facts: dict[str, Any], arrays: dict[str, NDArray], path: Path, repairs) -> Motion:
    def refuse(problem: str) -> NoReturn:
        raise MotionFormatError(problem, path=path)

    parents = arrays["parents"].tolist()
    count = len(parents)
    if parents[0] != -1 or any(not 0 <= parents[k] < k for k in range(1, count)):
        refuse("the joints must have one root, and parents must come before their children")
    rests = _parts(arrays["rest"][None, :, :3, :3], refuse, repairs)[0][0]
    turns, scales = _parts(arrays["turns"], refuse, repairs)
    world, steps = arrays["world"], arrays["steps"]
    world_turn, world_scale = _parts(world[:, None, :3, :3], refuse, repairs)
    frame = NodeTrajectory(world[:, 3, :3], world_turn[:, 0], world_scale[:, 0], world_turn[0, 0])
    leaves = set(range(count)) - set(parents)
    ends = [k for k in range(count - facts["ends"], count) if k in leaves and k > 0]
    tips = set(ends)
    joints = [k for k in range(count) if k not in tips]
    number = {k: place for place, k in enumerate(joints)}
    names = _names(facts)
    return motion_from_nodes(
        [frame],
        (NodeTrajectory(steps[:, k], turns[:, k], scales[:, k], rests[k]) for k in joints),
        names=[names[k] for k in joints],
        parents=[-1, *(number[parents[k]] for k in joints[1:])],
        end_names=[names[k] for k in ends],
        end_parents=[number[parents[k]] for k in ends],
        end_offsets=[steps[0, k] for k in ends],
        frames=len(turns),
        fps=nominal_rate(facts["fps"]),
        refuse=refuse,
    )


def _parts(matrices: NDArray, refuse, repairs: Repairs) -> tuple[NDArray, NDArray]:
    """Rotations (..., 4) and scales (...) of matrices (..., 3, 3) for row vectors."""
    rows = matrices.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=-1)
    if not np.all(np.isfinite(rows)) or np.any(lengths < 1e-9) or np.any(np.linalg.det(rows) <= 0):
        refuse("a joint is mirrored, flattened or not finite")
    turns = rot.from_matrix(np.swapaxes(rows / lengths[..., None], -1, -2))
    return turns, uniform_scale(lengths, repairs)


def _names(facts: dict[str, Any]) -> list[str]:
    """The original names if the file has them, else the last components of the joint paths."""
    wanted = facts["names"] or [joint.rpartition("/")[2] for joint in facts["joints"]]
    return unique_names(wanted)
