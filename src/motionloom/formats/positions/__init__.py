"""Joint positions as motions: arrays, JSON and tables without a skeleton.

The module `point_files` reads the points. The module `solving` infers the layout, unit, up axis and
rate, removes noise and gaps, and solves the skeleton and its rotations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from motionloom.errors import InvalidInput, MotionFormatError, MotionloomError
from motionloom.files import atomic_write
from motionloom.formats.conventions import started
from motionloom.formats.positions.humanml3d import features, humanml3d_positions, positions_from
from motionloom.formats.positions.point_files import Points, points_in
from motionloom.formats.positions.solving import solved
from motionloom.formats.takes import FileTake
from motionloom.motion import Motion

CONTENTS = ("humanml3d", "humanml3d-263")


def read(
    path: str | Path,
    *,
    layout: str | Path | Mapping[str, Any] | None = None,
    unit: str | float | None = None,
    fps: float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
    smooth: bool | None = None,
    skeleton: str | int | None = None,
    animation: str | int | None = None,
) -> Motion:
    """Read one motion from joint positions; see `motionloom.load` for the options."""
    repairs = started(path, up=up, fps=fps, strict=strict)
    every = points_in(repairs.path)
    points = chosen(every, skeleton if animation is None else animation, repairs.path)
    return solved(
        points, repairs, layout=layout, unit=unit, fps=fps, up=up, roles=roles, smooth=smooth,
        others=len(every) - 1,
    )  # fmt: skip


def takes(path: str | Path) -> list[FileTake]:
    """List the recordings in a file."""
    return listed_takes(points_in(Path(path)))


def read_takes(
    path: str | Path, **options: Any
) -> Iterator[tuple[FileTake, Motion | MotionloomError]]:
    """Read all recordings in a file."""
    every = points_in(Path(path))
    yield from solved_takes(every, Path(path), **options)


def solved_takes(
    every: list[Points], path: Path, **options: Any
) -> Iterator[tuple[FileTake, Motion | MotionloomError]]:
    """Solve all recordings of a file."""
    strict, chosen_fps, up = options.pop("strict", False), options.get("fps"), options.get("up")
    for take, points in zip(listed_takes(every), every, strict=True):
        repairs = started(path, up=up, fps=chosen_fps, strict=strict)
        try:
            yield take, solved(points, repairs, **options)
        except MotionFormatError as error:
            if len(every) == 1:
                raise
            yield take, error


def listed_takes(every: list[Points]) -> list[FileTake]:
    """Return a take for each recording. People are skeletons, and samples are animations."""
    return [
        FileTake(
            points.name,
            animation=None if points.person or len(every) == 1 else points.name,
            skeleton=points.name if points.person else None,
            joints=points.positions.shape[1],
            seconds=None if points.fps is None else len(points.positions) / points.fps,
            scene=points.person,
        )
        for points in every
    ]


def chosen(every: list[Points], which: str | int | None, path: Path) -> Points:
    """Return the recording with a name or number; the first one if `which` is None."""
    if which is None:
        return every[0]
    names = [points.name for points in every]
    if isinstance(which, str) and which in names:
        return every[names.index(which)]
    if str(which).isdigit() and int(which) < len(every):
        return every[int(which)]
    raise MotionFormatError(
        f"there is no recording {which!r}; the file has {', '.join(names[:20]) or 'one'}", path=path
    )


def write(motion: Motion, path: str | Path, *, layout: str | None = None) -> None:
    """Write a motion in the representation of HumanML3D.

    The default ``"humanml3d"`` writes the positions (T, 22, 3) of a neutral SMPL skeleton at 20
    fps, and ``"humanml3d-263"`` the features (T, 263) from which the data set derives them.
    """
    layout = layout or CONTENTS[0]
    if layout not in CONTENTS:
        raise InvalidInput(f"layout must be one of {', '.join(CONTENTS)}; got {layout!r}")
    path = Path(path)
    if path.suffix.lower() != ".npy":
        raise InvalidInput(f"cannot write {path}: write positions as .npy, .csv or .trc")
    values = features(_enough(motion))
    if layout == "humanml3d":
        values = positions_from(values)
    with atomic_write(path) as scratch, scratch.open("wb") as file:
        np.lib.format.write_array(file, values.astype(np.float32), allow_pickle=False)


def _enough(motion: Motion) -> Any:
    positions = humanml3d_positions(motion)
    if len(positions) < 2:
        raise InvalidInput(
            f"{motion.name or 'the motion'} is too short for HumanML3D: it needs two frames at "
            "20 fps"
        )
    return positions
