"""Positions of points in files: arrays (``.npy``, ``.npz``) and JSON.

A file holds one or several recordings of points. Arrays may have the shapes

=================  ==============================================================================
``(T, J, 3)``      one person; ``(T, J, 4)`` with a confidence between 0 and 1 as fourth number
``(T, 3 J)``       the same in one row per frame
``(T, P, J, 3)``   P people
``(N, T, J, 3)``   N recordings, if N is smaller than T
``(N, J, 3, T)``   N samples of a generator such as MDM; ``(J, 3, T)`` is one of them
``(T, 263)``       features of HumanML3D; ``(N, T, 263)`` are N samples
=================  ==============================================================================
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import npy_header
from motionloom.errors import MotionFormatError
from motionloom.files import check_regular, parse_json
from motionloom.formats.conventions import file_bytes
from motionloom.formats.positions.humanml3d import FEATURES, FPS, positions_from
from motionloom.motion import Origin
from motionloom.motion.positions.layouts import LAYOUTS

Array = NDArray[np.float64]

MOST_FRAMES = 2_000_000  # 4.6 hours at 120 fps
MOST_TAKES = 4_096
_MOST_POINTS = 1_000
_MOST_PEOPLE = 32
_LARGEST_JSON = 1 << 28  # bytes
_VALUES = 1_000_000  # points that any JSON file may have; larger files one per byte
_COUNTS = frozenset(len(layout.points) for layout in LAYOUTS.values())
_POSITIONS = (
    "motion", "motions", "positions", "joints", "joints3d", "joints_3d", "joint_positions",
    "keypoints3d", "keypoints_3d", "points", "points3d", "poses_3d", "xyz", "data", "arr_0",
    "global_positions", "pred_xyz", "frames",
)  # fmt: skip
_NAMES = ("names", "joint_names", "labels", "markers", "keypoint_names", "point_names")
_CONFIDENCES = ("confidence", "confidences", "scores", "visibility", "keypoint_scores")
_RATES = ("fps", "framerate", "frame_rate", "mocap_framerate", "mocap_frame_rate", "rate")


@dataclass(frozen=True)
class Points:
    """A recording of points.

    Attributes
    ----------
    positions : ndarray, shape (T, J, 3)
        Positions as in the file; NaN in gaps.
    labels : tuple of str, optional
        Names of the points, if the file has them.
    confidence : ndarray, shape (T, J), optional
    fps : float, optional
        Frame rate, if the file states it.
    name : str
        Name of the recording in the file; empty if it is the only one.
    person : bool
        True if it is one of several people who were recorded together.
    layout : str, optional
        PointLayout that the form of the file implies.
    unit, up : str, optional
        Unit and up axis, if the file states them.
    origin : Origin, optional
        Origin of markers, which were already converted to meters and y up.
    evidence : str
        How the points were recognized; empty if it is left to `solved`.
    repairs, warnings : tuple of str
        Repairs made before, and warnings.
    soles : float
        Height of the points on the feet above the soles, in meters.
    """

    positions: Array
    labels: tuple[str, ...] | None = None
    confidence: Array | None = None
    fps: float | None = None
    name: str = ""
    person: bool = False
    layout: str | None = None
    unit: str | None = None
    up: str | None = None
    origin: Origin | None = None
    evidence: str = ""
    repairs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    soles: float = 0.0


def points_in(path: Path) -> list[Points]:
    """Return all recordings in an ``.npy`` or ``.json`` file.

    Raises
    ------
    MotionFormatError
        If the file holds anything else, or more than the limits allow.
    """
    data = file_bytes(path, f"a {path.suffix} file")
    if path.suffix.lower() == ".json":
        return _from_json(data, path)
    return _from_npy(data, path)


def holds_points(path: Path) -> bool:
    """Return whether an ``.npy`` file has the shape of positions, or is a pickled dictionary."""
    try:
        check_regular(path)  # a pipe would be waited for
        with path.open("rb") as file:
            start = file.read(256)
            if b"'|O'" in start:
                return True
            file.seek(0)
            shape, _, dtype = npy_header(file)
    except Exception:  # NumPy's header reader raises whatever its parser raises
        return False
    return dtype.kind in "fiu" and _is_suitable(shape)


def _from_npy(data: bytes, path: Path) -> list[Points]:
    file = io.BytesIO(data)
    try:
        shape, order, dtype = npy_header(file)
    except Exception as error:  # NumPy's header reader raises whatever its parser raises
        if b"'|O'" in data[:256]:
            return _from_pickle(data, path)
        raise MotionFormatError(
            f"this is not an array of numbers ({str(error)[:80]})", path=path
        ) from None
    size, begin = math.prod(shape) * dtype.itemsize, file.seek(0, 1)
    if len(data) - begin < size:
        raise MotionFormatError(
            f"the array has the shape {shape}, which needs {size} bytes of data, but only "
            f"{len(data) - begin} follow",
            path=path,
        )
    _check_size(shape, path)
    values = np.frombuffer(data, dtype, math.prod(shape), begin).reshape(shape, order=order)
    return recordings({"": values}, path)


def _from_pickle(data: bytes, path: Path) -> list[Points]:
    """Return the samples of a generator, which stores them as a pickled dictionary."""
    from motionloom.formats.positions.pickled_arrays import pickled_dictionary

    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        width = 2 if version == (1, 0) else 4
        file.seek(int.from_bytes(file.read(width), "little"), 1)
        content = pickled_dictionary(file.read())
    except ValueError as error:
        raise MotionFormatError(
            f"the file is a pickle, which is not loaded because that could run a program, and "
            f"it is not a plain dictionary of arrays: {error}",
            path=path,
        ) from None
    return recordings(content, path)


def recordings(content: Mapping[str, Any], path: Path) -> list[Points]:
    """Return all recordings in a dictionary of arrays.

    The first array with a suitable name or shape holds the positions. Names of points, confidences,
    a rate and the lengths of samples are used if they are there.
    """
    values, key = _chosen(content, path)
    _check_size(values.shape, path)
    rate = next((content[name] for name in _RATES if name in content), None)
    fps = None if rate is None else _single_number(rate, path)
    names = next((content[name] for name in _NAMES if name in content), None)
    labels = None if names is None else tuple(str(name)[:80] for name in np.asarray(names).ravel())
    trust = next((content[name] for name in _CONFIDENCES if name in content), None)
    lengths = np.asarray(content.get("lengths", ())).ravel()
    captions = content.get("text", content.get("captions"))
    takes = _split(values, path)
    if labels is not None and labels and len(labels) != takes[0].positions.shape[1]:
        labels = None
    result = []
    for number, take in enumerate(takes):
        if lengths.dtype.kind in "iu" and len(lengths) == len(takes):
            take = _cut(take, int(lengths[number]))
        confidence = take.confidence
        if trust is not None and np.shape(trust) == take.positions.shape[:2]:
            confidence = np.asarray(trust, np.float64)
        name = take.name
        if isinstance(captions, (list, tuple)) and len(captions) == len(takes) > 1:
            caption = "".join(c if c.isalnum() or c in " -" else " " for c in str(captions[number]))
            name = f"{take.name} {' '.join(caption.split())[:60]}".strip()
        result.append(
            replace(take, labels=labels, confidence=confidence, name=name, fps=fps or take.fps)
        )
    return result


def _single_number(value: Any, path: Path) -> float:
    number = np.asarray(value)
    if number.dtype.kind not in "fiu" or number.size != 1:
        raise MotionFormatError(f"the rate must be a single number; got {value!r:.60}", path=path)
    return float(number.reshape(-1)[0])


def _cut(take: Points, length: int) -> Points:
    if not 0 < length <= len(take.positions):
        return take
    confidence = None if take.confidence is None else take.confidence[:length]
    return replace(take, positions=take.positions[:length], confidence=confidence)


def _chosen(content: Mapping[str, Any], path: Path) -> tuple[NDArray[Any], str]:
    """Return the array with the positions, and its name."""
    arrays = {
        name: np.asarray(value)
        for name, value in content.items()
        if isinstance(value, np.ndarray) and np.asarray(value).dtype.kind in "fiu"
    }
    suitable = {name: array for name, array in arrays.items() if _is_suitable(array.shape)}
    for name in ("", *_POSITIONS, *suitable):
        if name in suitable:
            return suitable[name], name
    shown = ", ".join(f"{name or 'an array of shape'} {a.shape}" for name, a in arrays.items())
    raise MotionFormatError(
        f"the file has no joint positions: expected an array of shape (frames, joints, 3), "
        f"(frames, people, joints, 3) or (frames, {FEATURES}), found {shown[:200] or 'no array'}"
        f"{_two_dimensional(arrays)}",
        path=path,
    )


def _two_dimensional(arrays: Mapping[str, NDArray[Any]]) -> str:
    flat = any(a.ndim >= 3 and a.shape[-1] == 2 for a in arrays.values())
    return ". Points in two dimensions cannot be solved" if flat else ""


def _is_suitable(shape: tuple[int, ...]) -> bool:
    if len(shape) == 2:
        return shape[1] == FEATURES or (shape[1] % 3 == 0 and shape[1] // 3 in _COUNTS)
    if len(shape) == 3 and shape[2] == FEATURES:
        return True
    if len(shape) not in (3, 4, 5):
        return False
    return (shape[-1] in (3, 4) and shape[-2] >= 5) or (shape[-2] == 3 and shape[-3] >= 5)


def _split(values: NDArray[Any], path: Path) -> list[Points]:
    """Split an array into recordings, according to its shape."""
    values = values.astype(np.float64)
    while values.ndim > 3 and values.shape[0] == 1:
        values = values[0]
    shape = values.shape
    if len(shape) == 5:  # (N, T, P, J, 3) is not known from any program
        raise MotionFormatError(
            f"arrays with five axes are not supported; found {shape}", path=path
        )
    if shape[-1] == FEATURES and len(shape) in (2, 3):
        samples = values if values.ndim == 3 else values[None]
        return _numbered([_from_features(sample, path) for sample in samples], "sample", path)
    if len(shape) == 2:
        return [Points(values.reshape(len(values), -1, 3))]
    last = shape[-1]
    if last not in (3, 4) or (shape[-2] == 3 and shape[-3] in _COUNTS and last > 4):
        values = np.moveaxis(values, -1, -3)  # (..., J, 3, T) of a generator
        if values.ndim == 3:
            return [Points(values)]
        return _numbered([Points(sample) for sample in values], "sample", path)
    if values.ndim == 3:
        return [_with_confidence(values)]
    if shape[1] <= _MOST_PEOPLE and shape[1] < shape[0]:
        people = [replace(_with_confidence(values[:, p]), person=True) for p in range(shape[1])]
        shown = [who for who in people if np.isfinite(who.positions).all(axis=2).any()]
        return _numbered(shown or people[:1], "person", path)
    return _numbered([_with_confidence(sample) for sample in values], "sample", path)


def _from_features(values: Array, path: Path) -> Points:
    if not np.isfinite(values).all():
        raise MotionFormatError("the features contain values that are not finite", path=path)
    if abs(float(np.median(values[:, 3]))) < 0.3 and np.abs(values[:, -4:]).max(initial=0.0) > 1.5:
        raise MotionFormatError(
            "the features are normalized; multiply them by Std.npy and add Mean.npy first",
            path=path,
        )
    return Points(positions_from(values), fps=FPS, layout="humanml3d")


def _with_confidence(values: Array) -> Points:
    if values.shape[2] == 3:
        return Points(values)
    return Points(values[:, :, :3], confidence=values[:, :, 3])


def _numbered(takes: list[Points], kind: str, path: Path) -> list[Points]:
    if len(takes) > MOST_TAKES:
        raise MotionFormatError(
            f"the file has {len(takes)} recordings; at most {MOST_TAKES} are read", path=path
        )
    if len(takes) == 1:
        return [replace(takes[0], person=False)]
    return [replace(take, name=f"{kind}{number}") for number, take in enumerate(takes)]


def _check_size(shape: tuple[int, ...], path: Path) -> None:
    if any(length == 0 for length in shape):
        raise MotionFormatError(f"the array is empty: its shape is {shape}", path=path)
    if shape and max(shape) > MOST_FRAMES:
        raise MotionFormatError(
            f"the array has {max(shape)} frames; at most {MOST_FRAMES} are read. Split the file",
            path=path,
        )
    inner = shape[1:] if len(shape) > 1 else ()
    if math.prod(inner) > 64 * 3 * _MOST_POINTS and shape[0] > MOST_TAKES:
        raise MotionFormatError(f"the array is too large: its shape is {shape}", path=path)


# --- JSON ---------------------------------------------------------------------------------


def _from_json(data: bytes, path: Path) -> list[Points]:
    if len(data) > _LARGEST_JSON:
        raise MotionFormatError(
            f"JSON files may have at most {_LARGEST_JSON >> 20} MB; save the array as .npy",
            path=path,
        )
    try:
        content = parse_json(data)
    except ValueError as error:
        raise MotionFormatError(f"cannot read the file: {str(error)[:120]}", path=path) from None
    facts = content if isinstance(content, Mapping) else {}
    frames = _frames_of(content)
    if frames is None:
        raise MotionFormatError(
            "the file has no joint positions: expected a list of frames, or an object with a list "
            'such as {"positions": [[[x, y, z], ...], ...], "fps": 30}',
            path=path,
        )
    labels, values = _rows(frames, max(_VALUES, len(data)), path)
    arrays: dict[str, Any] = {"": values}
    arrays |= {name: facts[name] for name in _RATES if isinstance(facts.get(name), (int, float))}
    names = next((facts[name] for name in _NAMES if isinstance(facts.get(name), list)), None)
    if labels or names:
        arrays["names"] = list(labels or names or [])
    takes = recordings(arrays, path)
    stated = {key: str(facts[key]) for key in ("unit", "up") if isinstance(facts.get(key), str)}
    return [replace(take, unit=stated.get("unit"), up=stated.get("up")) for take in takes]


def _frames_of(content: Any) -> list[Any] | None:
    if isinstance(content, Mapping):
        for name in _POSITIONS:
            if isinstance(content.get(name), (list, Mapping)):
                return _frames_of(content[name])
        if content and all(str(key).isdigit() for key in content):
            return [content[key] for key in sorted(content, key=int)]
        return None
    return content if isinstance(content, list) and content else None


def _rows(frames: list[Any], most: int, path: Path) -> tuple[list[str], Array]:
    """Return the labels, if there are any, and the values of all frames as one array.

    Frames without points are filled with gaps, so the array may have at most `most` points.
    """
    if len(frames) > MOST_FRAMES:
        raise MotionFormatError(
            f"the file has {len(frames)} frames; at most {MOST_FRAMES} are read", path=path
        )
    rows = [_frame(frame) for frame in frames]
    labels = next((list(row) for row in rows if isinstance(row, Mapping) and row), [])
    width = max((len(row) for row in rows if isinstance(row, (list, Mapping))), default=0)
    if len(rows) * width > most:
        raise MotionFormatError(
            f"{len(rows)} frames of {width} points are too many for the size of the file", path=path
        )
    try:
        if labels:
            empty = [np.nan] * 3
            values = [[row.get(label, empty) for label in labels] if isinstance(row, Mapping) else
                      [empty] * len(labels) for row in rows]  # fmt: skip
            return labels, np.array(values, np.float64)
        width = next((len(row) for row in rows if row), 0)
        size = max(
            (len(point) for row in rows[:1] for point in row if isinstance(point, list)), default=0
        )
        if size and rows and not isinstance(rows[0][0][0], list):
            gap = [[np.nan] * size] * width
            rows = [row or gap for row in rows]
        return [], np.array(rows, np.float64)
    except (ValueError, TypeError, IndexError, KeyError, AttributeError):
        raise MotionFormatError(
            "frames must all have the same number of points, each with x, y and z", path=path
        ) from None


def _frame(frame: Any) -> Any:
    """Return a frame as a list of points, or as a mapping of labels to points."""
    if isinstance(frame, Mapping):
        for name in (
            "landmarks",
            "world_landmarks",
            "pose_world_landmarks",
            "keypoints",
            *_POSITIONS,
        ):
            if isinstance(frame.get(name), (list, Mapping)):
                return _frame(frame[name])
        return {str(label): _point(point) for label, point in frame.items() if _is_point(point)}
    if isinstance(frame, list):
        return [_point(point) if isinstance(point, Mapping) else point for point in frame]
    return []


def _is_point(point: Any) -> bool:
    if isinstance(point, Mapping):
        return {"x", "y", "z"} <= point.keys()
    return isinstance(point, Sequence) and not isinstance(point, str) and len(point) in (3, 4)


def _point(point: Any) -> list[float]:
    if not isinstance(point, Mapping):
        return list(point)[:3]
    values = [point.get(axis) for axis in "xyz"]
    values += [point["visibility"]] if "visibility" in point else []
    return [np.nan if value is None else float(value) for value in values]
