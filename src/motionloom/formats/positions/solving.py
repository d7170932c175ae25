"""Motions from recorded points: layout, unit, axis and rate are inferred, then the body is solved.

Whatever a file does not state is inferred from the body, recorded in the origin of the motion, and
can be overridden.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats.conventions import Repairs, nominal_rate, with_user_roles
from motionloom.formats.inference import (
    CHILD,
    PERSON,
    TYPICAL,
    UNITS,
    UP_AXES,
    UPRIGHT,
    Unit,
    rotation_to_y_up,
    unit_from,
)
from motionloom.formats.positions.point_files import Points
from motionloom.motion import Motion
from motionloom.motion.denoising import QUIET, denoise_positions
from motionloom.motion.positions.layouts import (
    NEEDED,
    PointLayout,
    labeled_layout,
    layout_named,
    listed,
    recognize,
)
from motionloom.motion.positions.solver import solve_positions
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.segment import plausible_rate

Array = NDArray[np.float64]

_ASSUMED_RATE = 30.0
_ANKLE_TO_SHOULDER = 0.79  # of the height
_FARTHEST = 1e5  # meters
_FLOOR = 0.05  # meters by which the lowest foot may be off the floor before it is moved there
_ANKLE_HEIGHT = 0.07  # meters
_LEAST = 0.05  # fraction of the frames in which a landmark must be visible


def solved(
    points: Points,
    repairs: Repairs,
    *,
    layout: str | Path | Mapping[str, Any] | None = None,
    unit: str | float | None = None,
    fps: float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    smooth: bool | None = None,
    others: int = 0,
) -> Motion:
    """Return the motion of recorded points; see `motionloom.load` for the options.

    `others` is the number of other recordings in the file, for a warning.
    """
    path, warnings = repairs.path, list(points.warnings)
    for text in points.repairs:
        repairs.add(text)
    seen, reason, warning = _layout(points, layout, path)
    warnings += [warning] if warning else []
    positions = _ordered(points, seen, path)
    confidence = points.confidence
    if confidence is not None:
        confidence = confidence[:, : positions.shape[1]]
    _check(positions, seen, path)
    scale = _unit(positions, seen, unit if unit is not None else points.unit or seen.unit, path)
    warnings += [scale.warning] if scale.warning else []
    axis, doubt = _up(positions, seen, up or points.up or seen.up, path)
    warnings += [doubt] if doubt else []
    rate = fps or points.fps or seen.fps
    if rate is None:
        rate = _ASSUMED_RATE
        warnings.append(f"the file states no rate; {rate:g} fps are assumed. Set fps to change it")
    try:
        plausible_rate(rate)
    except InvalidInput as error:
        raise MotionFormatError(f"{error}; set the rate with fps", path=path) from None
    placed = rot.rotate(rotation_to_y_up(axis), positions * scale.meters)
    quiet = {None: QUIET, True: 0.0, False: np.inf}[smooth]
    clean = denoise_positions(placed, fps=rate, confidence=confidence, quiet=quiet)
    _report(clean, repairs)
    landmarks = seen.landmark_positions(clean.positions)
    hidden = [key for key, where in landmarks.items() if not np.isfinite(where).all()]
    if hidden:
        repairs.add(f"{', '.join(hidden)} are never visible and were left to the solver")
    landmarks = {key: where for key, where in landmarks.items() if key not in hidden}
    noise = float(np.median(clean.noise[clean.smoothed])) if clean.smoothed.any() else 0.0
    try:
        motion = solve_positions(
            landmarks, fps=nominal_rate(rate), anatomical=_is_anatomical(seen, landmarks),
            noise=noise, name=path.stem,
        )  # fmt: skip
    except InvalidInput as error:
        raise MotionFormatError(str(error), path=path) from None
    warnings += _mirrored(landmarks) + _in_place(landmarks)
    motion = _on_floor(motion, landmarks, repairs, points.soles)
    if others:
        warnings.append(
            f"the file has {others + 1} recordings; {points.name} was read. Choose one with the "
            f"option {'skeleton' if points.person else 'animation'}"
        )
    origin = repairs.origin("positions", scale, up=axis, frame_time=1.0 / rate, warnings=warnings)
    scene = path.name if points.person else ""
    origin = replace(origin, layout=reason, scene=scene)
    if points.origin is not None:
        origin = replace(
            origin, unit_m=points.origin.unit_m, unit_reason=points.origin.unit_reason,
            up=points.origin.up, repairs=points.origin.repairs + origin.repairs,
            warnings=points.origin.warnings + origin.warnings,
        )  # fmt: skip
    return replace(motion, skeleton=with_user_roles(motion.skeleton, roles), origin=origin)


def _is_anatomical(layout: PointLayout, landmarks: Mapping[str, Array]) -> bool:
    trunk = {"hips", "spine", "chest", "neck", "left_collar", "right_collar"}
    return layout.anatomical and trunk <= landmarks.keys()


def _layout(
    points: Points, given: str | Path | Mapping[str, Any] | None, path: Path
) -> tuple[PointLayout, str, str]:
    """Return the layout, the evidence for it, and a warning or an empty string."""
    count = points.positions.shape[1]
    if given is not None:
        layout = layout_named(given)
        return layout, f"{layout.name}: given", ""
    if points.labels is not None:
        named = labeled_layout(points.labels)
        if named is not None:
            named_by = f"labels: {len(named.landmarks)} of {count} points name a joint"
            return named, points.evidence or named_by, ""
    if points.layout is not None:
        layout = layout_named(points.layout)
        return layout, f"{layout.name}: the form of the file", ""
    recognized = recognize(points.positions)
    if recognized is None:
        raise MotionFormatError(
            f"no layout has {count} points; layouts are {listed()}. Describe yours in a small "
            f"file, and set layout to it",
            path=path,
        )
    return recognized.layout, recognized.reason, recognized.warning


def _ordered(points: Points, layout: PointLayout, path: Path) -> Array:
    """Return the positions in the order of the layout's points."""
    positions, labels = points.positions, points.labels
    if labels is not None and set(layout.points) <= set(labels):
        index = {label: number for number, label in reversed(list(enumerate(labels)))}
        return positions[:, [index[name] for name in layout.points]]
    if positions.shape[1] < len(layout.points):
        raise MotionFormatError(
            f"the layout {layout.name} has {len(layout.points)} points, but the file has "
            f"{positions.shape[1]}",
            path=path,
        )
    return positions[:, : len(layout.points)]


def _check(positions: Array, layout: PointLayout, path: Path) -> None:
    if len(positions) < 2:
        raise MotionFormatError("a motion needs at least two frames; the file has one", path=path)
    visible = np.asarray(np.isfinite(positions).all(axis=2))
    if not visible.any():
        raise MotionFormatError("every position is missing (NaN)", path=path)
    columns = layout.columns()
    rare = [key for key in NEEDED if visible[:, columns[key]].all(axis=1).mean() < _LEAST]
    if rare:
        raise MotionFormatError(
            f"{', '.join(rare)} {'is' if len(rare) == 1 else 'are'} visible in less than "
            f"{100 * _LEAST:.0f} % of the frames; the body cannot be solved",
            path=path,
        )


def _unit(positions: Array, layout: PointLayout, given: str | float | None, path: Path) -> Unit:
    places = layout.landmark_positions(positions)
    with np.errstate(
        invalid="ignore", over="ignore"
    ):  # positions that are too far are refused below
        height = _height(places)
    if not np.isfinite(height) or height <= 0.0:
        raise MotionFormatError("the points do not form a body: its height is 0", path=path)
    if given is not None:
        scale = Unit(unit_from(given), "given" if layout.unit != given else f"{layout.name} data")
    else:
        scale = _inferred_unit(height)
    far = np.nanmax(np.abs(positions)) * scale.meters
    if not far < _FARTHEST:
        raise MotionFormatError(
            f"the positions reach {far:.3g} m from the origin, which is not plausible", path=path
        )
    return scale


def _inferred_unit(height: float) -> Unit:
    for name, meters in UNITS.items():
        if name in ("m", "cm", "mm") and PERSON[0] <= height * meters <= PERSON[1]:
            return Unit(meters, f"{name}: in this unit, the body is {height * meters:.2f} m tall")
    for name in ("m", "cm", "mm"):
        if CHILD <= height * UNITS[name] < PERSON[0]:
            return Unit(
                UNITS[name],
                f"{name}: in this unit, the body is {height * UNITS[name]:.2f} m tall",
                f"the body is only {height * UNITS[name]:.2f} m tall in {name}. Set unit if that "
                "is wrong",
            )
    return Unit(
        TYPICAL / height,
        f"scaled: the body is {height:.3g} units tall and becomes {TYPICAL} m tall",
        f"no common unit makes this body 0.8 to 2.1 m tall, so it was scaled to {TYPICAL} m. Set "
        "unit to change it",
    )


def _height(places: Mapping[str, Array]) -> float:
    """Return the standing height of a body from the lengths of its legs and its trunk."""

    def length(first: Array, second: Array) -> float:
        distance = np.linalg.norm(first - second, axis=1)
        distance = distance[np.isfinite(distance)]
        return float(np.median(distance)) if len(distance) else np.nan

    legs = [
        length(places[f"{side}_hip"], places[f"{side}_knee"])
        + length(places[f"{side}_knee"], places[f"{side}_ankle"])
        for side in ("left", "right")
    ]
    hips, shoulders = _middle(places, "hip"), _middle(places, "shoulder")
    return float(np.nanmean(legs) + length(hips, shoulders)) / _ANKLE_TO_SHOULDER


def _middle(places: Mapping[str, Array], part: str) -> Array:
    return 0.5 * (places[f"left_{part}"] + places[f"right_{part}"])


def _up(positions: Array, layout: PointLayout, given: str | None, path: Path) -> tuple[str, str]:
    """Return the up axis and a warning or an empty string."""
    if given is not None:
        if given not in UP_AXES:
            raise MotionFormatError(f"the up axis {given[:10]!r} does not exist", path=path)
        return given, ""
    places = layout.landmark_positions(positions)
    upward = _middle(places, "shoulder") - _middle(places, "ankle")
    upward = upward[np.isfinite(upward).all(axis=1)]
    if not len(upward):
        return "y", "the up axis is unknown; y is assumed. Set up to change it"
    direction = np.median(upward / np.linalg.norm(upward, axis=1, keepdims=True), axis=0)
    direction = direction / max(float(np.linalg.norm(direction)), 1e-9)
    name = max(UP_AXES, key=lambda axis: float(UP_AXES[axis] @ direction))
    if UP_AXES[name] @ direction > UPRIGHT:
        return name, ""
    return "y", (
        f"the body is not upright along any axis most of the time; up is assumed to be y. If it "
        f"is {name}, set up to {name}"
    )


def _report(clean: Any, repairs: Repairs) -> None:
    if clean.filled.any():
        repairs.add(f"gaps, {100 * clean.filled.mean():.1f} % of all positions, were filled")
    if clean.outliers.any():
        count = int(clean.outliers.sum())
        repairs.add(f"{count} outlier{'s' if count > 1 else ''} were replaced")
    if clean.smoothed.any():
        noise = 1000.0 * clean.noise[clean.smoothed]
        repairs.add(
            f"noise of {np.median(noise):.0f} mm (at most {noise.max():.0f} mm) was removed from "
            f"{int(clean.smoothed.sum())} points"
        )


def _mirrored(landmarks: Mapping[str, Array]) -> list[str]:
    """Return a warning if toes and nose show that left and right are exchanged."""
    across = landmarks["left_hip"] - landmarks["right_hip"]
    upward = _middle(landmarks, "shoulder") - _middle(landmarks, "hip")
    forward = rot.cross(across, upward)
    signs = []
    for side in ("left", "right"):
        ahead = next((f"{side}_{p}" for p in ("toe", "foot") if f"{side}_{p}" in landmarks), None)
        if ahead:
            signs.append((landmarks[ahead] - landmarks[f"{side}_ankle"]) * forward)
        knee = landmarks[f"{side}_knee"] - 0.5 * (
            landmarks[f"{side}_hip"] + landmarks[f"{side}_ankle"]
        )
        signs.append(knee * forward)  # knees point forward
    if "nose" in landmarks:
        ears = landmarks.get("left_ear"), landmarks.get("right_ear")
        if ears[0] is not None and ears[1] is not None:
            signs.append((landmarks["nose"] - 0.5 * (ears[0] + ears[1])) * forward)
    votes = [float(np.median(each.sum(axis=1))) < 0.0 for each in signs]
    if sum(votes) <= len(votes) / 2:
        return []
    return [
        "toes, knees or nose point backward: left and right are exchanged, or the file has a "
        "left-handed coordinate system. Exchange them in a layout file, or negate one axis"
    ]


def _in_place(landmarks: Mapping[str, Array]) -> list[str]:
    hips = _middle(landmarks, "hip")
    if float(np.ptp(hips, axis=0).max()) > 1e-3:
        return []
    return ["positions are relative to the hips, so the figure stays in place"]


def _on_floor(
    motion: Motion, landmarks: Mapping[str, Array], repairs: Repairs, soles: float
) -> Motion:
    """Move a figure vertically so that its feet stand on the floor, unless they nearly do.

    The points on the feet are at the height `soles` above the floor.
    """
    tips = [
        f"{side}_{part}"
        for side in ("left", "right")
        for part in ("foot", "toe", "heel")
        if f"{side}_{part}" in landmarks
    ]
    ankles = [landmarks[f"{side}_ankle"][:, 1] - _ANKLE_HEIGHT for side in ("left", "right")]
    heights = [landmarks[key][:, 1] - soles for key in tips] or ankles
    floor = float(np.quantile(np.min(heights, axis=0), 0.02))
    if abs(floor) <= _FLOOR:
        return motion
    repairs.add(f"the figure was moved by {-floor:.2f} m, so that its feet stand on the floor")
    return motion.transform(shift=(0.0, -floor, 0.0))
