"""Storage of matching databases as library artifacts.

::

    takes.loom/derived/motion-matching.OPTIONS.CONTENT/
        about.json          ranges, labels, skeleton
        rotations.npy ...   one file per array, memory-mapped when opened
        index/              `BucketIndex` of the normalized features
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import open_array
from motionloom.errors import LibraryError
from motionloom.files import parse_json, read_regular
from motionloom.motion import Skeleton
from motionloom.motion.feet.gait import GAITS
from motionloom.motion_matching.build import matching_database
from motionloom.motion_matching.database import ARRAYS, MatchingDatabase, Range
from motionloom.motion_matching.features import COUNT, GROUPS
from motionloom.motion_matching.settings import MatchingSettings
from motionloom.parallel import Progress
from motionloom.search.filters import chosen_names
from motionloom.search.index.bucket_index import BucketIndex
from motionloom.settings import motion_choice
from motionloom.store.remote.folder import Folder

if TYPE_CHECKING:
    from motionloom.store.store import Store

KIND = "motion-matching"
_FORMAT = 11
_FASTEST = 1e6  # upper limit of valid frame rates (fps) and accelerations (m/s^2)
# Largest valid absolute value in each array.
_MOST = {"rotations": 2.0, "root": 1e6, "places": 1e6, "features": 1e6}


def library_database(
    library: Store, settings: MatchingSettings, *, progress: Progress | None = None
) -> MatchingDatabase:
    """Return the database of the selected takes; it is built on first use and then stored."""
    names = chosen_names(library, **motion_choice(settings))

    def build(folder: Path, previous: Folder | None) -> None:
        labels = {name: _take_labels(library, name) for name in names}
        takes = [library[name] for name in names]
        made = matching_database(takes, settings, labels=labels, progress=progress)
        save_database(made, folder)

    return library.artifacts.derive(
        KIND,
        _key(library, names, settings),
        build=build,
        read=lambda folder: open_database(folder, settings),
    )


def is_built(library: Store, settings: MatchingSettings) -> bool:
    """Return whether the library already has a database with these settings."""
    names = chosen_names(library, **motion_choice(settings))
    return not library.artifacts.stale(KIND, _key(library, names, settings))


def _key(library: Store, names: list[str], settings: MatchingSettings) -> dict[str, Any]:
    """Return the cache key of a database, which contains all inputs except the motions."""
    chosen = set(names)
    segmented = [name for name in library.names_with_segments() if name in chosen]
    return {
        "format": _FORMAT,
        "names": names,
        "labels": {name: list(library.labels(name)) for name in names},
        "segments": {name: _take_labels(library, name) for name in segmented},
        "settings": {"mirror": settings.mirror, "fps": settings.fps, **vars(settings.weights)},
    }


def _take_labels(library: Store, name: str) -> list[tuple[int, int, str]]:
    frames = library.entry(name).frames
    whole = [(0, frames, label) for label in library.labels(name)]
    parts = [
        (part.start_frame, part.end_frame, label) for part, label in library.segment_labels(name)
    ]
    return whole + parts


def save_database(database: MatchingDatabase, folder: Path) -> None:
    """Write a database to an empty folder."""
    skeleton = database.skeleton
    about = {
        "format": _FORMAT,
        "fps": database.fps,
        "acceleration": database.acceleration,
        "ranges": [[part.name, part.start, part.stop, part.mirrored] for part in database.ranges],
        "labels": {label: list(parts) for label, parts in database.labels.items()},
        "skipped": dict(database.skipped),
        "skeleton": {
            "names": list(skeleton.names),
            "parents": skeleton.parents.tolist(),
            "offsets": skeleton.offsets.tolist(),
            "end_names": list(skeleton.end_names),
            "end_parents": skeleton.end_parents.tolist(),
            "end_offsets": skeleton.end_offsets.tolist(),
            "rest": None if skeleton.rest is None else skeleton.rest.tolist(),
            "roles": dict(skeleton.roles),
        },
    }  # fmt: skip
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
    for name in ARRAYS:
        np.save(folder / f"{name}.npy", getattr(database, name))
    (folder / "index").mkdir()
    database.index.save(folder / "index")


def open_database(folder: Folder, settings: MatchingSettings) -> MatchingDatabase:
    """Open a saved database, memory-map its arrays, and check their shapes and values.

    Raises
    ------
    LibraryError
        If a file is damaged.
    """
    try:
        about = parse_json(read_regular(folder / "about.json"), finite=True)
        if about["format"] != _FORMAT:
            raise ValueError(f"expected format version {_FORMAT}, got {about['format']}")
        fps, acceleration = float(about["fps"]), float(about["acceleration"])
        if not (0.0 < fps < _FASTEST and 0.0 <= acceleration < _FASTEST):
            raise ValueError(
                f"fps must be positive and acceleration at least 0, both below {_FASTEST:g}; "
                f"got {fps:g} and {acceleration:g}"
            )
        ranges = tuple(_range(*part) for part in about["ranges"])
        skeleton = _skeleton(about["skeleton"])
        arrays = {name: open_array(folder / f"{name}.npy") for name in ARRAYS}
        count = ranges[-1].stop
        _check_arrays(arrays, ranges, count, len(skeleton))
        index = BucketIndex.open(folder / "index")
        if len(index.center) != COUNT:
            raise ValueError(f"expected an index of {COUNT} features, got {len(index.center)}")
        if (largest := index.rows.max(initial=-1)) >= count:
            raise ValueError(f"the index refers to frame {largest}, but there are {count} frames")
        labels = {
            label: tuple(_span(a, b, count) for a, b in parts)
            for label, parts in about["labels"].items()
        }
        skipped = {name: str(why) for name, why in about["skipped"].items()}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise LibraryError(f"{folder}: the matching database is damaged: {error}") from None
    return MatchingDatabase(
        skeleton, fps, ranges, **arrays, index=index, settings=settings,
        labels=labels, skipped=skipped, acceleration=acceleration,
    )  # fmt: skip


def _range(name: object, start: object, stop: object, mirrored: object) -> Range:
    if not isinstance(name, str) or type(start) is not int or type(stop) is not int:
        raise ValueError(
            f"a range must be a name and two frames; got {name!r}, {start!r}, {stop!r}"
        )
    return Range(name, start, stop, bool(mirrored))


def _span(start: object, end: object, count: int) -> tuple[int, int]:
    if type(start) is not int or type(end) is not int or not 0 <= start <= end <= count:
        raise ValueError(
            f"a label covers frames {start!r} to {end!r}, but the database has {count} frames"
        )
    return start, end


def _skeleton(stored: dict[str, Any]) -> Skeleton:
    return Skeleton(
        stored["names"],
        stored["parents"],
        stored["offsets"],
        stored["end_names"],
        stored["end_parents"],
        stored["end_offsets"],
        stored["rest"],
        stored["roles"],
    )


def _check_arrays(
    arrays: Mapping[str, NDArray], ranges: Sequence[Range], count: int, joints: int
) -> None:
    """Check that every array has a row for each frame, and that ranges are consecutive."""
    ends = [0, *(part.stop for part in ranges)]
    if [part.start for part in ranges] != ends[:-1] or any(a >= b for a, b in pairwise(ends)):
        raise ValueError(
            "ranges must start at frame 0, follow each other without gaps, and not be empty"
        )
    for name, (dtype, tail) in ARRAYS.items():
        shape = (count, *(joints if size == "joints" else size for size in tail))
        if arrays[name].dtype != dtype or arrays[name].shape != shape:
            kind = f"{arrays[name].dtype} with shape {arrays[name].shape}"
            raise ValueError(f"{name}: expected {np.dtype(dtype)} with shape {shape}, got {kind}")
    for name, most in _MOST.items():
        low, high = arrays[name].min(), arrays[name].max()  # NaN if the array contains any
        if not (low >= -most and high <= most):
            raise ValueError(
                f"{name}: expected values from {-most:g} to {most:g}, got {low:g} to {high:g}"
            )
    directions = arrays["features"][:, GROUPS["trajectory directions"][0]].reshape(count, -1, 2)
    if np.abs(np.square(directions).sum(axis=2) - 1.0).max() > 0.1:
        raise ValueError("features: trajectory directions must be unit vectors")
    gaits = arrays["gaits"]
    if gaits.min() < 0 or gaits.max() > len(GAITS):
        raise ValueError(
            f"gaits: expected values from 0 to {len(GAITS)}, got {gaits.min()} to {gaits.max()}"
        )
