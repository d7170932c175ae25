"""Matching database: poses, root motion and features of all frames, and their exact index.

::

    takes.loom/derived/motion-matching.OPTIONS.CONTENT/
        about.json          takes, ranges, labels, settings
        rotations.npy ...   one file per array, memory-mapped when opened
        index/              `BucketIndex` of the normalized features

A *range* is the frames of one take, or of its mirrored copy. The last third of a second of a range
is never jumped to: it has too little future.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.examples import conform
from motionloom.blending.inertialization import FADE
from motionloom.errors import InvalidInput, LibraryError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality import SourceStatistics
from motionloom.motion.diagnostics.quality.measures import joint_accelerations
from motionloom.motion.gait import GAITS, gaits
from motionloom.motion_matching.features import (
    COUNT,
    Normalization,
    check_roles,
    matching_features,
)
from motionloom.motion_matching.root_motion import RootMotion
from motionloom.motion_matching.settings import MatchingSettings
from motionloom.motion_matching.standing import MADE, needs_standing, standing_motions
from motionloom.search.filters import chosen_names
from motionloom.search.index.bucket_index import BucketIndex
from motionloom.store.remote.folder import Folder

if TYPE_CHECKING:
    from motionloom.motion_matching.player import MatchingPlayer
    from motionloom.store.store import Store

KIND = "motion-matching"
_FORMAT = 4
MIRRORED = "_mirrored"
_LEAST_SECONDS = 0.7  # shorter takes lead nowhere
_END_SECONDS = 1.0 / 3.0  # of each range that are not jumped to
_ROUGH_SECONDS = 0.27  # around rough frames, in which nothing is jumped to
_MOVING = 0.3  # m/s
_LOCOMOTION = 0.5  # m/s: takes that are all slower do not move
_ARRAYS = {
    "rotations": (np.float32, ("joints", 4)),
    "root": (np.float32, (3,)),
    "contacts": (np.bool_, (4,)),
    "gaits": (np.int8, ()),
    "rough": (np.bool_, ()),
    "places": (np.float64, (3,)),
    "features": (np.float32, (COUNT,)),
}


@dataclass(frozen=True)
class Range:
    """Frames ``[start, stop)`` of a database: one take, or its mirrored copy."""

    name: str
    start: int
    stop: int
    mirrored: bool = False

    @property
    def take(self) -> str:
        """Name of the take in the library."""
        return self.name.removesuffix(MIRRORED) if self.mirrored else self.name


@dataclass(frozen=True, eq=False)
class MatchingDatabase:
    """N frames to choose from; built by `matching_database`.

    Attributes
    ----------
    skeleton : Skeleton
    fps : float
    ranges : tuple of Range
    rotations, root : ndarray, shapes (N, J, 4) and (N, 3)
    contacts : ndarray of bool, shape (N, 4)
        Heel and ball of both feet.
    gaits : ndarray of int8, shape (N,)
        0 for none, else 1 + number in `motionloom.motion.gait.GAITS`.
    rough : ndarray of bool, shape (N,)
        Frames of takes that jerk: a joint accelerates more than in 99.9 % of all.
    places : ndarray, shape (N, 3)
        Root motion: x, z, facing.
    features : ndarray of float32, shape (N, 27)
        Not normalized.
    index : BucketIndex
        Of the normalized features that may be jumped to.
    settings : MatchingSettings
    labels : mapping of str to tuple of (int, int)
        Frames with each label of the library.
    skipped : mapping of str to str
        Takes left out, and why.
    acceleration : float
        99.9th percentile of the accelerations of all joints, m/s^2.

    Examples
    --------
    >>> import motionloom as ml
    >>> walks = [ml.demo.clip(kind) for kind in ("walk", "walk_left", "walk_right")]
    >>> database = matching_database(walks, MatchingSettings())
    >>> len(database.ranges), database.features.shape[1]
    (6, 27)
    """

    skeleton: Skeleton
    fps: float
    ranges: tuple[Range, ...]
    rotations: NDArray[np.float32]
    root: NDArray[np.float32]
    contacts: NDArray[np.bool_]
    gaits: NDArray[np.int8]
    rough: NDArray[np.bool_]
    places: NDArray[np.float64]
    features: NDArray[np.float32]
    index: BucketIndex
    settings: MatchingSettings
    labels: Mapping[str, tuple[tuple[int, int], ...]]
    skipped: Mapping[str, str]
    acceleration: float

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        return f"MatchingDatabase({len(self)} frames of {len(self.ranges)} ranges)"

    @cached_property
    def normalization(self) -> Normalization:
        """Offset and scale of the features."""
        return Normalization.of(self.features, self.settings)

    @cached_property
    def rows(self) -> NDArray[np.float32]:
        """Normalized features (N, 27)."""
        return self.normalization.apply(self.features)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First frame of each range, and the number of frames."""
        return np.array([*(part.start for part in self.ranges), len(self)], np.int64)

    def range_of(self, frame: int) -> Range:
        """The range that a frame belongs to."""
        return self.ranges[int(np.searchsorted(self.starts, frame, side="right")) - 1]

    @cached_property
    def searchable(self) -> NDArray[np.bool_]:
        """Frames that may be jumped to (N,)."""
        return _searchable(self.ranges, self.rough, self.fps)

    @cached_property
    def speeds(self) -> NDArray[np.float64]:
        """Speed of the root motion in each frame (N,), m/s."""
        out = np.zeros(len(self))
        for part in self.ranges:
            floor = self.places[part.start : part.stop, :2]
            velocity = np.gradient(floor, axis=0) * self.fps
            out[part.start : part.stop] = np.hypot(velocity[:, 0], velocity[:, 1])
        return out

    @cached_property
    def speed_range(self) -> tuple[float, float]:
        """Speeds at which the takes travel, m/s: without the slowest and fastest percents."""
        moving = self.speeds[(self.gaits > 1) & (self.speeds > _MOVING)]
        if not len(moving):
            return 0.0, float(self.speeds.max())
        slow, fast = np.percentile(moving, (2.0, 97.0))
        return float(slow), float(fast)

    @cached_property
    def standing_frame(self) -> int:
        """The frame that stands most still; frame 0 if nobody stands."""
        standing = np.flatnonzero((self.gaits == 1) & self.searchable)
        if not len(standing):
            return 0
        still = np.linalg.norm(self.features[standing, 6:15], axis=1)
        return int(standing[np.argmin(still)])

    def tag(self, name: str) -> NDArray[np.bool_]:
        """Frames with a tag (N,): a gait, or a label of the library.

        Raises
        ------
        InvalidInput
            If there are none; the message lists the tags there are.
        """
        mask = np.zeros(len(self), bool)
        if name in GAITS:
            mask |= self.gaits == 1 + GAITS.index(name)
        for start, stop in self.labels.get(name, ()):
            mask[start:stop] = True
        if not mask.any():
            known = ", ".join(self.tags) or "none"
            raise InvalidInput(f"no frame has the tag {name!r}; tags: {known}")
        return mask

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """Gaits that occur, and labels of the library."""
        there = [gait for k, gait in enumerate(GAITS) if np.any(self.gaits == k + 1)]
        return (*there, *(label for label in self.labels if label not in there))

    def allowed(self, tags: Sequence[str] = ()) -> NDArray[np.bool_]:
        """Frames that may be jumped to with these tags, standing included; without: any gait."""
        mask = self.gaits > 0
        if tags:
            mask = np.any([self.tag(name) for name in tags], axis=0)
            mask = mask | (self.gaits == 1)
        mask = mask & self.searchable
        return mask if mask.any() else self.searchable.copy()

    def nearest(
        self,
        query: NDArray,
        *,
        k: int = 1,
        radius: float = np.inf,
        allowed: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The `k` nearest frames to features (27,), not normalized, and their costs; exact.

        Examples
        --------
        >>> import motionloom as ml
        >>> database = matching_database([ml.demo.clip("walk")], MatchingSettings())
        >>> database.nearest(database.features[30])[0]
        array([30])
        """
        point = self.normalization.apply(np.asarray(query, np.float64))[None]
        return self.nearest_row(point, k=k, radius=radius, allowed=allowed)

    def nearest_row(
        self,
        point: NDArray[np.float32],
        *,
        k: int = 1,
        radius: float = np.inf,
        allowed: NDArray[np.bool_] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """`nearest` for normalized features (1, 27)."""
        _, found, costs = self.index.nearest(
            point, self.rows, k=k, radius=radius, allowed=allowed
        )
        return found, costs

    def seam_ratios(self, frame: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Largest acceleration of a joint (n,) after a jump from a frame to each of others.

        Over the usual one of the takes, if offsets of pose and velocity fade as in
        `motionloom.blending.inertialization`.
        """
        rows = np.array([frame, *others])
        ends = self.starts[1:][np.searchsorted(self.starts, rows, side="right") - 1]
        after = np.minimum(rows + 1, ends - 1)
        both = np.stack([rows, after])
        flat = both.ravel()
        motion = Motion(self.skeleton, self.rotations[flat], self.root[flat], self.fps)
        places = motion.positions().astype(np.float64).reshape(2, len(rows), -1, 3)
        x, z, facing = self.places[rows].T
        floor = (places[..., 2] - z[:, None]) + 1j * (places[..., 0] - x[:, None])
        floor *= np.exp(-1j * facing)[:, None]
        places = np.stack([floor.real, floor.imag, places[..., 1]], axis=-1)
        speeds = (places[1] - places[0]) * self.fps
        off, drift = places[0, :1] - places[0, 1:], speeds[:1] - speeds[1:]
        pull = np.linalg.norm(FADE**2 * off + 2.0 * FADE * drift, axis=-1).max(axis=1)
        return pull / max(self.acceleration, 1e-6)

    def player(self, **controls: Any) -> MatchingPlayer:
        """A player of this database; see `MatchingPlayer`."""
        from motionloom.motion_matching.player import MatchingPlayer

        return MatchingPlayer(self, **controls)

    def motion(self, part: Range) -> Motion:
        """The frames of a range as a motion."""
        rows = slice(part.start, part.stop)
        return Motion(self.skeleton, self.rotations[rows], self.root[rows], self.fps, name=part.name)

    @cached_property
    def statistics(self) -> SourceStatistics:
        """What is usual in the takes, for quality reports; mirrored copies add nothing."""
        parts = [part for part in self.ranges if not part.mirrored]
        usual = SourceStatistics.of([self.motion(part) for part in parts])
        steps = dict(usual.repeated_steps)
        for part in self.ranges:
            if part.mirrored and part.take in steps:
                steps[part.name] = steps[part.take]
        return replace(usual, repeated_steps=steps)

    def info(self) -> dict[str, Any]:
        """Figures of the database as plain data."""
        speeds = self.speeds
        return {
            "takes": len({part.take for part in self.ranges}),
            "ranges": len(self.ranges),
            "frames": len(self),
            "fps": self.fps,
            "seconds": len(self) / self.fps,
            "features": COUNT,
            "tags": {name: int(np.count_nonzero(self.tag(name))) for name in self.tags},
            "fastest_m_s": float(np.percentile(speeds[self.gaits > 0], 99.0)),
            "bytes": int(sum(getattr(self, name).nbytes for name in _ARRAYS)),
            "skipped": dict(self.skipped),
        }


def matching_database(
    motions: Sequence[Motion],
    settings: MatchingSettings,
    *,
    labels: Mapping[str, Sequence[tuple[int, int, str]]] | None = None,
) -> MatchingDatabase:
    """Build the database of some motions.

    Parameters
    ----------
    motions : sequence of Motion
        The skeleton of the first is that of the character.
    settings : MatchingSettings
    labels : mapping, optional
        For each motion by name, first and last frame (not included) and label.

    Raises
    ------
    RoleError
        If a motion has no hips or feet.
    InvalidInput
        If no motion is long enough, or none moves over the floor.
    """
    if not motions:
        raise InvalidInput("motion matching needs at least one motion; none were chosen")
    for motion in motions:
        check_roles(motion)
    rate = float(settings.fps or motions[0].fps)
    skipped = {
        motion.name: f"{motion.duration:.2f} s, shorter than {_LEAST_SECONDS} s"
        for motion in motions
        if motion.duration < _LEAST_SECONDS
    }
    long = [motion for motion in motions if motion.name not in skipped]
    if not long:
        raise InvalidInput(
            f"motion matching needs takes of at least {_LEAST_SECONDS} s; the longest of "
            f"{len(motions)} has {max(motion.duration for motion in motions):.2f} s"
        )
    long = [long[0].resample(rate), *long[1:]]
    stored = {motion.name: motion.fps for motion in motions}
    ready = conform(long)
    contacts = [motion.contacts() for motion in ready]
    floor = contacts[0].floor
    parts = _Parts()
    for motion, own in zip(ready, contacts, strict=True):
        level = replace(motion, root=motion.root + [0.0, floor - own.floor, 0.0])
        parts.add(level, own.standing_parts(), mirror=settings.mirror)
    parts.check(len(ready))
    if needs_standing(parts.joined("gaits"), rate):
        for made in standing_motions(parts.walking(ready[0]), parts.walks(ready[0]), floor):
            parts.add(made, made.contacts().standing_parts(), mirror=settings.mirror)
    ranges = tuple(parts.ranges)
    arrays = parts.arrays()
    rows = Normalization.of(arrays["features"], settings).apply(arrays["features"])
    kept = np.where(_searchable(ranges, arrays["rough"], rate)[:, None], rows, np.float32(np.nan))
    return MatchingDatabase(
        ready[0].skeleton,
        rate,
        ranges,
        **arrays,
        index=BucketIndex.build(kept),
        settings=settings,
        labels=_labelled(ranges, labels or {}, stored, rate),
        skipped=skipped,
        acceleration=parts.acceleration,
    )


class _Parts:
    """Arrays of one range after the other."""

    def __init__(self) -> None:
        self.ranges: list[Range] = []
        self._held: dict[str, list[NDArray]] = {name: [] for name in _ARRAYS}
        self._jerks: list[NDArray] = []
        self.acceleration = 0.0

    def add(self, motion: Motion, contacts: NDArray[np.bool_], *, mirror: bool) -> None:
        """Add a take and, with `mirror`, its mirrored copy."""
        self._add(motion, contacts, mirrored=False)
        if mirror:
            twin = replace(motion.mirror(), name=motion.name + MIRRORED)
            self._add(twin, contacts[:, [2, 3, 0, 1]], mirrored=True)

    def check(self, takes: int) -> None:
        """Raise `InvalidInput` if names are not unique, or nobody moves."""
        names = [part.name for part in self.ranges]
        if len(set(names)) < len(names):
            raise InvalidInput(f"mirror: some takes end in {MIRRORED} already; leave them out")
        ahead = self.joined("features")[:, 19:21]  # after a second
        fastest = float(np.percentile(np.hypot(ahead[:, 0], ahead[:, 1]), 99.5))
        if fastest < _LOCOMOTION:
            stay = "the take stays" if takes == 1 else f"all {takes} takes stay"
            raise InvalidInput(
                f"motion matching needs takes that walk or run; {stay} in place (no more than "
                f"{fastest:.2f} m in a second)"
            )

    def walking(self, like: Motion) -> Motion:
        """Frames that move, as a motion: walking ones, or all if nobody walks."""
        found = self.joined("gaits")
        rows = found == 2
        rows = rows if rows.any() else found >= 0
        return Motion(
            like.skeleton, self.joined("rotations")[rows], self.joined("root")[rows], like.fps
        )

    def walks(self, like: Motion) -> list[Motion]:
        """Takes that walk, or all if nobody walks; without mirrored copies."""
        found = []
        for number, part in enumerate(self.ranges):
            own = [self._held[name][number] for name in ("rotations", "root")]
            if not part.mirrored:
                found.append((np.mean(self._held["gaits"][number] == 2), Motion(like.skeleton, *own, like.fps)))
        walking = [motion for share, motion in found if share > 0.8]
        return walking or [motion for _, motion in found]

    def joined(self, name: str) -> NDArray:
        """One array of all ranges."""
        return np.concatenate(self._held[name])

    def arrays(self) -> dict[str, Any]:
        """All arrays."""
        own = [part for part in self._jerks if len(part)]
        usual = float(np.percentile(np.concatenate(own), 99.9)) if own else 0.0
        self.acceleration = usual
        self._held["rough"] = [jerks.max(axis=1, initial=0.0) > usual for jerks in self._jerks]
        return {name: self.joined(name) for name in _ARRAYS}

    def _add(self, motion: Motion, contacts: NDArray[np.bool_], *, mirrored: bool) -> None:
        start = self.ranges[-1].stop if self.ranges else 0
        self.ranges.append(Range(motion.name, start, start + len(motion), mirrored))
        root = RootMotion.of(motion)
        names = np.array(["", *GAITS])
        found = gaits(motion)
        held = self._held
        self._jerks.append(_accelerations(motion))
        held["rotations"].append(motion.rotations)
        held["root"].append(motion.root)
        held["contacts"].append(contacts)
        held["gaits"].append(np.argmax(found[:, None] == names, axis=1).astype(np.int8))
        held["places"].append(np.column_stack([root.floor.imag, root.floor.real, root.facing]))
        held["features"].append(matching_features(motion, root).astype(np.float32))


def _accelerations(motion: Motion) -> NDArray[np.float64]:
    """Accelerations (T, J) of all joints; zero in the first and last frame."""
    out = np.zeros((len(motion), len(motion.skeleton)))
    if len(motion) > 2:
        out[1:-1] = joint_accelerations(motion)
    return out


def _searchable(
    ranges: Sequence[Range], rough: NDArray[np.bool_], fps: float
) -> NDArray[np.bool_]:
    """Frames that are neither near the end of their range nor near rough ones."""
    mask = np.ones(len(rough), bool)
    reach = round(_ROUGH_SECONDS * fps)
    for part in ranges:
        for frame in np.flatnonzero(rough[part.start : part.stop]) + part.start:
            mask[max(frame - reach, part.start) : min(frame + reach + 1, part.stop)] = False
        mask[max(part.stop - round(_END_SECONDS * fps), part.start + 1) : part.stop] = False
    return mask if mask.any() else ~mask


def _labelled(
    ranges: Sequence[Range],
    labels: Mapping[str, Sequence[tuple[int, int, str]]],
    stored: Mapping[str, float],
    fps: float,
) -> dict[str, tuple[tuple[int, int], ...]]:
    """Frames of the database with each label."""
    found: dict[str, list[tuple[int, int]]] = {}
    for part in ranges:
        scale = fps / stored.get(part.take, fps)
        for start, stop, label in labels.get(part.take, ()):
            first = part.start + min(round(start * scale), part.stop - part.start)
            last = part.start + min(round(stop * scale), part.stop - part.start)
            if first < last:
                found.setdefault(label, []).append((first, last))
    return {label: tuple(parts) for label, parts in sorted(found.items())}


# --- stored with a library --------------------------------------------------------------


def library_database(library: Store, settings: MatchingSettings) -> MatchingDatabase:
    """The database of the takes that the settings choose, built once and stored."""
    names = chosen_names(
        library, label=settings.label, only=settings.only, exclude=settings.exclude
    )
    chosen = set(names)
    segmented = [name for name in library.names_with_segments() if name in chosen]
    key = {
        "format": _FORMAT,
        "names": names,
        "labels": {name: list(library.labels(name)) for name in names},
        "segments": {name: repr(library.segment_labels(name)) for name in segmented},
        "settings": {
            name: value
            for name, value in settings.arguments().items()
            if name not in ("label", "only", "exclude")
        },
    }

    def build(folder: Path, previous: Folder | None) -> None:
        labels = {name: _take_labels(library, name) for name in names}
        save_database(
            matching_database([library[name] for name in names], settings, labels=labels), folder
        )

    return library.artifacts.derive(KIND, key, build=build, read=lambda folder: open_database(folder, settings))


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
        "labels": {label: [list(part) for part in parts] for label, parts in database.labels.items()},
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
    for name in _ARRAYS:
        np.save(folder / f"{name}.npy", getattr(database, name))
    (folder / "index").mkdir()
    database.index.save(folder / "index")


def open_database(folder: Folder, settings: MatchingSettings) -> MatchingDatabase:
    """Open what `save_database` wrote; arrays are memory-mapped and their shapes checked.

    Raises
    ------
    LibraryError
        If a file is damaged.
    """
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        if about["format"] != _FORMAT:
            raise ValueError(f"format {about['format']}, expected {_FORMAT}")
        ranges = tuple(Range(*part) for part in about["ranges"])
        skeleton = _skeleton(about["skeleton"])
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
        count = ranges[-1].stop
        _check_arrays(arrays, ranges, count, len(skeleton))
        index = BucketIndex.open(folder / "index")
        if len(index.centre) != COUNT or index.rows.max(initial=-1) >= count:
            raise ValueError(f"index of {len(index.centre)} features, expected {COUNT}")
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise LibraryError(f"{folder}: damaged: {error}") from None
    labels = {label: tuple((a, b) for a, b in parts) for label, parts in about["labels"].items()}
    return MatchingDatabase(
        skeleton, float(about["fps"]), ranges, **arrays, index=index, settings=settings,
        labels=labels, skipped=about["skipped"], acceleration=float(about["acceleration"]),
    )  # fmt: skip


def _skeleton(held: dict[str, Any]) -> Skeleton:
    return Skeleton(
        held["names"],
        held["parents"],
        held["offsets"],
        held["end_names"],
        held["end_parents"],
        held["end_offsets"],
        held["rest"],
        held["roles"],
    )


def _check_arrays(
    arrays: Mapping[str, NDArray], ranges: Sequence[Range], count: int, joints: int
) -> None:
    """Every array has a row for each frame, and ranges follow each other."""
    ends = [0, *(part.stop for part in ranges)]
    if [part.start for part in ranges] != ends[:-1] or any(a >= b for a, b in zip(ends, ends[1:])):
        raise ValueError("ranges do not follow each other")
    for name, (dtype, tail) in _ARRAYS.items():
        shape = (count, *(joints if size == "joints" else size for size in tail))
        if arrays[name].dtype != dtype or arrays[name].shape != shape:
            found = f"{arrays[name].dtype} of {arrays[name].shape}"
            raise ValueError(f"{name}: expected {np.dtype(dtype)} of {shape}, found {found}")
