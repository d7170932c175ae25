"""Reader for FBX files, binary or ASCII, versions 3000 to 7700, based on ufbx.

Reading needs the extra ``fbx`` (ufbx). Files are read in a separate process; see
`motionloom.formats.child_process.fbx`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from motionloom.character import Material, SkinnedMesh, bound_mesh
from motionloom.errors import MissingExtra, MotionFormatError
from motionloom.formats.child_process import child_result
from motionloom.formats.child_process import fbx as script
from motionloom.formats.conventions import (
    Repairs,
    nominal_rate,
    refuse_folder,
    scaled_to_meters,
    started,
    to_y_up,
    unique_names,
    with_user_roles,
)
from motionloom.formats.inference import Unit, unit_from
from motionloom.formats.scene_nodes import NodeTrajectory, motion_from_nodes
from motionloom.formats.takes import FileTake, choices, named_takes
from motionloom.motion import Motion, Skeleton
from motionloom.motion.rotations import quaternions as rot


def read(
    path: str | Path,
    *,
    skeleton: str | int | None = None,
    animation: str | int | None = None,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
) -> Motion:
    """Read one motion from an FBX file; see `motionloom.load` for the options.

    `skeleton` is the name of the skeleton's root, or the namespace before the colon in that name.
    `animation` is the name of a take (animation stack). The default rate is that of evenly spaced
    keys, or the file's frame rate if there are none. `unit` and `up` override the values in the
    file.
    """
    repairs = started(path, up=up, fps=fps, strict=strict)
    request = {"skeleton": skeleton, "animation": animation, "fps": fps}
    facts, arrays = _scene(repairs.path, request)
    warnings = _warnings(facts, skeleton, animation)
    name = "" if animation is None else facts["animation"]
    return _finished(facts, arrays, repairs, warnings, name=name, unit=unit, up=up, roles=roles)


def takes(path: str | Path) -> list[FileTake]:
    """List the takes of an FBX file, one for each animation stack and skeleton that it moves."""
    facts, _ = _scene(Path(path), {"takes": "list"})
    return _takes(facts)


def read_takes(
    path: str | Path,
    *,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
) -> Iterator[tuple[FileTake, Motion | MotionFormatError]]:
    """Read all takes of an FBX file in one process. A take that cannot be read gives its error."""
    facts, arrays = _scene(Path(path), {"takes": "all", "fps": fps})
    listed = _takes(facts)
    left_out = _left_out(facts)
    for number, (take, about) in enumerate(zip(listed, facts["takes"], strict=True)):
        repairs = started(path, up=up, fps=fps, strict=strict)
        if "refused" in about:
            yield take, MotionFormatError(about["refused"], path=repairs.path)
            continue
        start = f"{number} "
        own = {key[len(start) :]: value for key, value in arrays.items() if key.startswith(start)}
        warnings = _warnings(about["facts"], "", "") + left_out
        try:
            yield (
                take,
                _finished(
                    about["facts"], own, repairs, warnings, name=take.name, unit=unit, up=up,
                    roles=roles,
                ),
            )  # fmt: skip
        except MotionFormatError as error:
            yield take, error


def _scene(path: Path, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray]]:
    require_extra()
    refuse_folder(path, "an FBX file")
    usual = {"skeleton": None, "animation": None, "fps": None, "takes": "", "meshes": False}
    return child_result(script.__file__, path, usual | request, library="ufbx")


def _takes(facts: dict[str, Any]) -> list[FileTake]:
    animations, skeletons = choices(facts["animations"]), choices(facts["skeletons"])
    rows = facts["takes"]
    listed = [
        FileTake(
            animation=animations[row["animation"]] if row["animation"] >= 0 else None,
            skeleton=skeletons[row["skeleton"]] if len(skeletons) > 1 else None,
            joints=row["joints"],
            seconds=row["seconds"],
        )
        for row in rows
    ]
    return named_takes(
        listed,
        [facts["animations"][row["animation"]] if row["animation"] >= 0 else "" for row in rows],
        [facts["skeletons"][row["skeleton"]] if facts["skeletons"] else "" for row in rows],
    )


def _left_out(facts: dict[str, Any]) -> list[str]:
    """Return a warning if no take has some of the skeletons."""
    used = {row["skeleton"] for row in facts["takes"]}
    names = [name for number, name in enumerate(facts["skeletons"]) if number not in used]
    if not names:
        return []
    return [f"{len(names)} small or unmoved bone trees were skipped: {', '.join(names[:8])}"]


def _finished(
    facts: dict[str, Any],
    arrays: dict[str, NDArray],
    repairs: Repairs,
    warnings: list[str],
    *,
    name: str,
    unit: str | float | None,
    up: str | None,
    roles: str | Path | Mapping[str, str] | None,
) -> Motion:
    """Return the motion in meters with y up, with its name, roles and origin."""
    path = repairs.path
    motion = _motion(facts, arrays, path, repairs)
    motion = replace(
        motion, skeleton=with_user_roles(motion.skeleton, roles), name=name or path.stem
    )
    meters = facts["unit"] if unit is None else unit_from(unit)
    if not 1e-6 <= meters <= 1e6:
        raise MotionFormatError(
            f"the file states the unit {meters:g} m, which is not valid; set the option unit",
            path=path,
        )
    scale = Unit(meters, "stated by UnitScaleFactor" if unit is None else "given")
    if unit is not None:
        motion = scaled_to_meters(motion, meters / facts["unit"])
    if up is not None and up != facts["up"]:  # undo the rotation that the file requested
        from motionloom.formats.conventions import from_y_up

        motion = to_y_up(from_y_up(motion, facts["up"]), up)
    origin = repairs.origin(
        "fbx", scale, up=up or facts["up"], frame_time=1.0 / motion.fps, warnings=warnings
    )
    return replace(motion, origin=origin)


def meshes(source: str | Path, skeleton: Skeleton) -> list[SkinnedMesh]:
    """Return a character's skinned meshes, bound to a skeleton that was read from its file.

    If the skeleton lacks a joint of the skin, the nearest joint above it is used.
    """
    path = Path(source)
    facts, arrays = _scene(path, {"meshes": True})
    if not facts["meshes"]:
        raise MotionFormatError("the character has no skinned mesh", path=path)
    names = _names(facts["names"], Repairs(path))
    numbers = {name: number for number, name in enumerate(skeleton.point_names)}
    parts = []
    for number, about in enumerate(facts["meshes"]):
        start = f"mesh{number}_"
        part = {key[len(start) :]: value for key, value in arrays.items() if key.startswith(start)}
        image = part.pop("texture", None)
        points, exact = _points(facts, names, numbers, part.pop("points"), part.pop("exact"))
        texture = None if image is None else image.tobytes()
        red, green, blue = about["color"]
        parts.append(
            bound_mesh(
                skeleton,
                part.pop("vertices"),
                part.pop("triangles"),
                part.pop("joints"),
                part.pop("weights"),
                points=points,
                exact=exact,
                name=about["name"] or f"mesh {number + 1}",
                material=Material(about["material"] or "material", (red, green, blue), texture),
                **part,
            )
        )
    return parts


def _points(facts, names: list[str], numbers: dict[str, int], joints: NDArray, exact: NDArray):
    """Map each joint in the file to a skeleton point: its own or that of its nearest ancestor.

    Also return which joints matched exactly.
    """
    points, same = [], []
    for joint, is_it in zip(joints.tolist(), exact.tolist(), strict=True):
        while joint >= 0 and names[joint] not in numbers:
            joint, is_it = facts["parents"][joint], False
        points.append(numbers[names[joint]] if joint >= 0 else 0)
        same.append(is_it and joint >= 0)
    return np.array(points), np.array(same)


def require_extra() -> None:
    """Raise `MissingExtra` if ufbx is not installed."""
    from importlib.util import find_spec

    if find_spec("ufbx") is None:
        raise MissingExtra(
            "reading FBX files needs ufbx. Install it with: pip install 'motionloom[fbx]'"
        )


def _warnings(facts: dict[str, Any], skeleton, animation) -> list[str]:
    warnings = []
    others, takes = facts["skeletons"], facts["animations"]
    if skeleton is None and len(others) > 1:
        warnings.append(
            f"the largest of {len(others)} skeletons was read; their roots are "
            f"{', '.join(others[:8])}. Choose one with the option skeleton"
        )
    if animation is None and len(takes) > 1:
        rest = [name for name in takes if name != facts["animation"]]
        warnings.append(
            f"one of {len(takes)} takes, {facts['animation']!r}, was read; the others are "
            f"{', '.join(rest[:8])}. Choose one with the option animation"
        )
    if facts["rest_of_skin"]:
        warnings.append("the bind pose disagrees with the mesh; the rest pose is that of the mesh")
    if not facts["animated"]:
        warnings.append("no animation moves this skeleton, so one frame in its rest pose was read")
    return warnings


def _motion(
    facts: dict[str, Any], arrays: dict[str, NDArray], path: Path, repairs: Repairs
) -> Motion:
    def refuse(problem: str) -> NoReturn:
        raise MotionFormatError(problem, path=path)

    places, parents, ends = arrays["places"], facts["parents"], facts["ends"]
    turns = _rotations(arrays["turns"], refuse)
    rests = _rotations(arrays["rest"], refuse)
    if not np.all(np.isfinite(places)):
        refuse("the position of a joint is not finite")
    nodes = []
    for k, parent in enumerate(parents):  # from world axes to the axes of the parent
        step, turn, rest = places[:, k], turns[:, k], rests[k]
        if parent >= 0:
            back = rot.inverse(turns[:, parent])
            step = rot.rotate(back, step - places[:, parent])
            turn = rot.multiply(back, turn)
            rest = rot.multiply(rot.inverse(rests[parent]), rest)
        nodes.append(NodeTrajectory(step, turn, np.ones(len(step)), rest))
    tips = set(ends)
    joints = [k for k in range(len(parents)) if k not in tips]
    number = {k: place for place, k in enumerate(joints)}
    names = _names(facts["names"], repairs)
    return motion_from_nodes(
        [],
        (nodes[k] for k in joints),
        names=[names[k] for k in joints],
        parents=[-1, *(number[parents[k]] for k in joints[1:])],
        end_names=[names[k] for k in ends],
        end_parents=[number[parents[k]] for k in ends],
        end_offsets=[nodes[k].translations[0] for k in ends],
        frames=len(turns),
        fps=nominal_rate(facts["fps"]),
        refuse=refuse,
    )


def _rotations(matrices: NDArray, refuse) -> NDArray[np.float64]:
    """Return the rotation part (..., 4) of matrices (..., 3, 3) that may scale and shear."""
    full = matrices.astype(np.float64)
    if not np.all(np.isfinite(full)) or np.any(np.linalg.det(full) <= 0.0):
        refuse("a joint is mirrored, flattened or not finite")
    plain = full / np.linalg.norm(full, axis=-2, keepdims=True)
    square = np.swapaxes(plain, -1, -2) @ plain
    if np.abs(square - np.eye(3)).max() > 1e-4:  # sheared, so use the nearest rotation
        left, _, right = np.linalg.svd(plain)
        plain = left @ right
    return rot.from_matrix(plain)


def _names(given: list[str], repairs: Repairs) -> list[str]:
    plain = [name or f"node_{number}" for number, name in enumerate(given)]
    names = unique_names(plain)
    for old, new in zip(plain, names, strict=True):
        if old != new:
            repairs.add(f"the duplicate joint {old[:40]!r} was renamed {new[:40]!r}")
    return names
