"""Reader of Acclaim files: a skeleton in an ``.asf`` file and motions in ``.amc`` files.

Bones become joints: a joint is at the start of its bone and has its name; the end of the last
bone of a limb is an end site. An AMC file has no frame rate; the default is 120 as in the CMU
database, with a warning in ``motion.origin.warnings``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats.acclaim.frames import AcclaimFrames, columns_of, read_frames
from motionloom.formats.acclaim.skeleton import AcclaimSkeleton, read_skeleton, rotation_order
from motionloom.formats.conventions import (
    Repairs,
    file_bytes,
    scaled_to_metres,
    started,
    to_y_up,
    unique_names,
    with_user_roles,
)
from motionloom.formats.inference import UNITS, Unit, infer_unit, infer_up, unit_from
from motionloom.motion import Motion, Skeleton
from motionloom.motion.kinematics.body import body_height
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.segment import intervals

_USUAL_RATE = 120.0  # the CMU database and HDM05
_ROOM = 10_000_000  # joints times frames that any file may expand to
_CMU_LENGTH = 0.45  # ":units length" of the CMU database: 1 unit is 1/0.45 inch


def read(
    path: str | Path,
    *,
    asf: str | Path | None = None,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    max_gap: float = 0.5,
    strict: bool = False,
) -> Motion:
    """Read one motion from an AMC file and its ASF skeleton; see `motionloom.load`.

    The skeleton `asf` is by default the file with the same stem, else with the stem up to an
    underscore (``01.asf`` for ``01_01.amc``), else the only one in the folder. The default unit is
    that of CMU if ``:units`` has ``length 0.45``, else inferred.
    """
    repairs = started(path, up=up, fps=fps, strict=strict)
    path = repairs.path
    if not max_gap >= 0.0:
        raise InvalidInput(f"max_gap must be zero or more seconds; got {max_gap}")
    data = file_bytes(path, "an AMC file")
    skeleton_path = _skeleton_path(path, asf)
    skeleton_repairs = Repairs(skeleton_path, strict=strict)
    skeleton_data = file_bytes(skeleton_path, "an ASF file")
    acclaim = read_skeleton(skeleton_data, skeleton_path, skeleton_repairs)
    frames = read_frames(data, acclaim.bones, path, repairs)
    rate = _USUAL_RATE if fps is None else float(fps)
    rotations, root = _poses(acclaim, frames, path, repairs, most=int(max_gap * rate + 1e-6))
    skeleton = with_user_roles(_skeleton(acclaim), roles)
    motion = Motion(skeleton, rotations, root, rate, path.stem)
    warnings = []
    if fps is None:
        warnings.append("AMC files have no frame rate; 120 is taken. Give fps to change it")
    if up is None:
        up, warning = infer_up(motion)
        warnings += [warning] if warning else []
    motion = to_y_up(motion, up)
    scale = _unit(acclaim, motion.skeleton) if unit is None else Unit(unit_from(unit), "given")
    warnings += [scale.warning] if scale.warning else []
    origin = repairs.origin("acclaim", scale, up=up, frame_time=1.0 / rate, warnings=warnings)
    of_skeleton = [f"{skeleton_path.name}, {text}" for text in skeleton_repairs.sentences()]
    origin = replace(origin, repairs=(*of_skeleton, *origin.repairs))
    return replace(scaled_to_metres(motion, scale.metres), origin=origin)


def _skeleton_path(path: Path, asf: str | Path | None) -> Path:
    """The skeleton file of a motion."""
    if asf is not None:
        if not Path(asf).is_file():
            raise MotionFormatError(f"there is no skeleton {str(asf)!r}", path=path)
        return Path(asf)
    beside = {
        file.stem.lower(): file
        for file in sorted(path.parent.iterdir())
        if file.suffix.lower() == ".asf"
    }
    stem = path.stem.lower()
    for guess in (stem, stem.rpartition("_")[0], stem.partition("_")[0]):
        if guess in beside:
            return beside[guess]
    if len(beside) == 1:
        return next(iter(beside.values()))
    found = ", ".join(file.name for file in list(beside.values())[:8]) or "none"
    raise MotionFormatError(
        f"an AMC file needs its skeleton, {path.stem}.asf beside it; found {found}. "
        "Choose one as skeleton",
        path=path,
    )


def _skeleton(acclaim: AcclaimSkeleton) -> Skeleton:
    """Joints from bones: the offset of a joint is the bone of its parent."""
    bones, parents = acclaim.bones, acclaim.parents
    offsets = [np.zeros(3) if parent <= 0 else bones[parent].tip for parent in parents]
    leaves = sorted(set(range(1, len(bones))) - set(parents))
    names = tuple(bone.name for bone in bones)
    end_names = unique_names((f"{names[leaf]}_End" for leaf in leaves), taken=names)
    return Skeleton(
        names,
        np.array(parents),
        np.array(offsets),
        tuple(end_names),
        np.array(leaves, np.int32),
        np.array([bones[leaf].tip for leaf in leaves]).reshape(-1, 3),
    )


def _poses(
    acclaim: AcclaimSkeleton, frames: AcclaimFrames, path: Path, repairs: Repairs, *, most: int
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Rotations (T, J, 4) and root path (T, 3), missing frames interpolated."""
    bones, starts = acclaim.bones, columns_of(acclaim.bones)
    degrees = acclaim.degrees if frames.degrees is None else frames.degrees
    times = frames.numbers - frames.numbers[0]
    count = _full_count(times, path, repairs, most)
    if count * len(bones) > max(_ROOM, 4 * frames.values.size):
        raise MotionFormatError(
            f"{len(bones)} bones in {count} frames, hardly any of which moves", path=path
        )
    rotations = np.empty((count, len(bones), 4), np.float32)
    root = np.zeros((count, 3))
    silent = []
    for index, bone in enumerate(bones):
        own = frames.values[:, starts[index] : starts[index + 1]]
        known = np.logical_not(np.isnan(own).any(axis=1))
        if bone.dof and not known.any():
            silent.append(bone.name)
        if not bone.dof or not known.any():
            if index == 0:
                raise MotionFormatError("no frame has a line for the root", path=path)
            rotations[:, index] = rot.IDENTITY
            continue
        _check_still(bone.name, bone.dof, own[known], path, is_root=index == 0)
        missing = int(np.count_nonzero(~known))
        if missing:
            longest = max(end - start for start, end in intervals(np.logical_not(known)))
            if longest > max(most, 1):
                raise MotionFormatError(
                    f"bone {bone.name!r} has no line in {longest} consecutive frames; up to {most} "
                    "are filled in (max_gap)",
                    path=path,
                )
            repairs.add(f"bone {bone.name!r} missing in {missing} frames, filled in")
        columns, axes = rotation_order(bone.dof)
        angles = own[known][:, columns]
        turns = rot.from_euler(np.radians(angles) if degrees else angles, axes)
        # The angles are in the axes of the bone.
        turns = rot.multiply(rot.multiply(bone.frame, turns), rot.inverse(bone.frame))
        before, after, share = _places(times[known], count)
        whole = not share.any()  # no frame to fill in
        rotations[:, index] = (
            turns[before] if whole else rot.slerp(turns[before], turns[after], share)
        )
        if index == 0:
            places = np.zeros((int(known.sum()), 3))
            for column, word in enumerate(bone.dof):
                if word in ("tx", "ty", "tz"):
                    places[:, "xyz".index(word[1])] = own[known][:, column]
            root = places[before] + share[:, None] * (places[after] - places[before]) + bone.tip
    if silent:
        repairs.add(f"no frame moves {', '.join(silent)}: kept in the rest pose")
    return rotations, root


def _full_count(times: NDArray[np.int64], path: Path, repairs: Repairs, most: int) -> int:
    """Number of frames including missing ones; raises if too many are missing."""
    count = int(times[-1]) + 1
    missing = count - len(times)
    if missing:
        longest = int(np.diff(times).max()) - 1
        if longest > most or missing > len(times):
            raise MotionFormatError(
                f"{missing} frames are missing, up to {longest} on end; up to {most} are filled "
                "in (max_gap)",
                path=path,
            )
        repairs.add(f"{missing} missing frames filled in, up to {longest} on end")
    return count


def _places(times: NDArray[np.int64], count: int):
    """For every frame: the known frames before and after it, and the fraction between them."""
    wanted = np.arange(count)
    after = np.clip(np.searchsorted(times, wanted), 0, len(times) - 1)
    before = np.where(times[after] > wanted, np.maximum(after - 1, 0), after)
    span = np.maximum(times[after] - times[before], 1)
    return before, after, np.clip((wanted - times[before]) / span, 0.0, 1.0)


def _check_still(name: str, dof, values, path: Path, *, is_root: bool) -> None:
    """Raise if a bone below the root translates or changes length."""
    for column, word in enumerate(dof):
        if not word.startswith("r") and not (is_root and word != "l") and values[:, column].any():
            raise MotionFormatError(
                f"bone {name!r} moves along its degree of freedom {word!r}; only rotations are "
                "read below the root",
                path=path,
            )


def _unit(acclaim: AcclaimSkeleton, skeleton: Skeleton) -> Unit:
    height = body_height(skeleton)
    if abs(acclaim.length_unit - _CMU_LENGTH) < 1e-6:
        metres = UNITS["cmu"]
        if height is None or 1.0 <= height * metres <= 2.5:
            return Unit(metres, "cmu: the skeleton says length 0.45, 1 unit = 1/0.45 inch")
    return infer_unit(skeleton)
