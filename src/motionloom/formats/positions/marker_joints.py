"""Motions from marker files whose points are the joints of a body (C3D, TRC, CSV, Parquet).

Labels such as ``RKnee`` or ``left_wrist`` name joints. Labels of several subjects
(``Anna:LeftArm``) become several people. Other markers need a layout, or `load_markers`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from motionloom.errors import MotionFormatError, MotionloomError
from motionloom.formats.conventions import started
from motionloom.formats.positions import chosen, listed_takes, solved_takes
from motionloom.formats.positions.point_files import Points
from motionloom.formats.positions.solving import solved
from motionloom.formats.takes import FileTake
from motionloom.motion import Markers, Motion
from motionloom.motion.positions.layouts import labeled_layout, layout_named


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
) -> Motion:
    """Read one person from a marker file; see `motionloom.load` for the options."""
    repairs = started(path, up=up, fps=fps, strict=strict)
    every = _people(repairs.path, layout, unit=unit, fps=fps, up=up)
    points = chosen(every, skeleton, repairs.path)
    given: dict[str, Any] = {} if points.origin else {"unit": unit, "up": up}
    return solved(
        points, repairs, layout=layout, fps=fps, roles=roles, smooth=smooth,
        others=len(every) - 1, **given,
    )  # fmt: skip


def takes(path: str | Path) -> list[FileTake]:
    """List the people in a marker file."""
    return listed_takes(_people(Path(path), None))


def read_takes(
    path: str | Path, **options: Any
) -> Iterator[tuple[FileTake, Motion | MotionloomError]]:
    """Read all people in a marker file."""
    path = Path(path)
    reading = {key: options.pop(key, None) for key in ("unit", "up")}
    every = _people(path, options.get("layout"), fps=options.get("fps"), **reading)
    yield from solved_takes(every, path, **options, **({} if every[0].origin else reading))


def holds_joints(path: Path) -> bool:
    """Return whether the labels in a marker file name the joints of a body."""
    module = _module(path)
    try:
        labels = module.labels_of(path)
    except (MotionloomError, OSError, ValueError, UnicodeDecodeError, IndexError):
        return False
    return any(labeled_layout(own) is not None for own in _subjects(labels).values())


def _module(path: Path) -> Any:
    from motionloom.formats.registry import FORMATS

    return importlib.import_module(FORMATS[path.suffix.lower()].module)


def _people(path: Path, layout: Any, **options: Any) -> list[Points]:
    """Return the points of each person whose labels name joints."""
    module = _module(path)
    given = {key: value for key, value in options.items() if value is not None}
    if hasattr(module, "table_points"):
        labels, positions, rate = module.table_points(path)
        fps, origin = given.get("fps", rate), None
    else:
        markers: Markers = module.read(path, **given)
        labels, positions, fps = markers.labels, markers.positions, markers.fps
        origin = markers.origin
    own = None if layout is None else layout_named(layout)
    people = []
    for name, columns in _columns(labels).items():
        bare = tuple(labels[column].rpartition(":")[2] for column in columns)
        if labeled_layout(bare) is None and (own is None or not set(own.points) <= set(bare)):
            continue
        people.append((name, bare, columns))
    if not people:
        raise MotionFormatError(
            "the file contains markers without a skeleton; read it with load_markers, or set "
            "layout to a file that maps joints to markers",
            path=path,
        )
    return [
        Points(
            positions[:, columns], bare, fps=fps, name=name if len(people) > 1 else "",
            person=len(people) > 1, unit="m" if origin else None, up="y" if origin else None,
            origin=origin,
        )
        for name, bare, columns in people
    ]  # fmt: skip


def _columns(labels: Any) -> dict[str, list[int]]:
    columns: dict[str, list[int]] = {}
    for column, label in enumerate(labels):
        columns.setdefault(label.rpartition(":")[0], []).append(column)
    return columns


def _subjects(labels: Any) -> dict[str, list[str]]:
    return {
        name: [labels[column].rpartition(":")[2] for column in columns]
        for name, columns in _columns(labels).items()
    }
