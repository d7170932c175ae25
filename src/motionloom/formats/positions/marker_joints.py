"""Motions from marker files (C3D, TRC, CSV, Parquet).

Labels such as ``RKnee`` or ``left_wrist`` name joints. Labels of a marker set for the whole body,
such as Plug-in Gait, give joint centers (see `motionloom.motion.positions.marker_sets`). Labels of
several subjects (``Anna:LeftArm``) become several people. Other markers need a layout, or
`load_markers`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError, MotionloomError
from motionloom.formats.conventions import started
from motionloom.formats.positions import chosen, listed_takes, solved_takes
from motionloom.formats.positions.point_files import Points
from motionloom.formats.positions.solving import solved
from motionloom.formats.takes import FileTake
from motionloom.motion import Markers, Motion
from motionloom.motion.positions.layouts import labeled_layout, layout_named
from motionloom.motion.positions.marker_sets import MarkerSet, joint_centers, marker_set

_SOLES = 0.04  # meters from the sole to the markers on heel and toes
_FPS = 30.0  # for gaps in tables without a rate


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
    """Return whether the labels in a marker file name the joints or the markers of a body."""
    module = _module(path)
    try:
        labels = module.labels_of(path)
    except (MotionloomError, OSError, ValueError, UnicodeDecodeError, IndexError):
        return False
    return any(
        labeled_layout(own) is not None or _whole(own) is not None
        for own in _subjects(labels).values()
    )


def _whole(labels: Sequence[str]) -> MarkerSet | None:
    """Return the marker set of labels if it covers the whole body."""
    body_markers = marker_set(labels)
    return None if body_markers is None or body_markers.missing else body_markers


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
    people, others, lacking = [], [], ""
    for name, columns in _columns(labels).items():
        bare = tuple(labels[column].rpartition(":")[2] for column in columns)
        points = Points(
            positions[:, columns], bare, fps=fps, name=name, unit="m" if origin else None,
            up="y" if origin else None, origin=origin,
        )  # fmt: skip
        if own is not None and set(own.points) <= set(bare):
            people.append(points)
        elif (body_markers := _whole(bare)) is not None and (
            "left_asis" in body_markers.places or labeled_layout(bare) is None
        ):  # with markers on the pelvis, "L.Thigh" is not a joint
            people.append(_with_centers(points, body_markers, path))
        elif labeled_layout(bare) is not None:
            people.append(points)
        else:
            others.append(name)
            partial = marker_set(bare)
            if partial is not None:
                lacking = f". {partial.name} markers were recognized, but none for " + (
                    ", ".join(partial.missing[:6])
                )
    if not people:
        raise MotionFormatError(
            "the file contains markers without a skeleton; read it with load_markers, or set "
            f"layout to a file that maps joints to markers{lacking}",
            path=path,
        )
    if any(others):
        skipped = (
            f"the markers of {', '.join(filter(None, others))} do not form a body and were skipped"
        )
        people[0] = replace(people[0], warnings=(*people[0].warnings, skipped))
    several = len(people) > 1
    return [
        replace(points, name=points.name if several else "", person=several) for points in people
    ]


def _with_centers(points: Points, body_markers: MarkerSet, path: Path) -> Points:
    """Return the joint centers of the markers of a whole body."""
    try:
        meters = 1.0 if points.origin else None
        body = joint_centers(body_markers, points.positions, fps=points.fps or _FPS, meters=meters)
    except ValueError as error:
        raise MotionFormatError(
            f"the markers of {error} are visible in less than 5 % of the frames; the body cannot "
            "be solved",
            path=path,
        ) from None
    count = points.positions.shape[1]
    warning = f"the joints were estimated from {body_markers.name} markers"
    if body.guesses:
        joints = ", ".join(body.guesses)
        warning += f". Guesses, because markers lie on one side of the joint only: {joints}"
    centers: NDArray[np.float64] = np.stack(list(body.landmarks.values()), axis=1)
    return replace(
        points, positions=centers, labels=tuple(body.landmarks), soles=_SOLES,
        evidence=f"{body_markers.name}: joint centers from {body_markers.used} of {count} markers",
        repairs=body.repairs,
        warnings=(warning,),
    )  # fmt: skip


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
