"""Whole-clip retrieval: find motions that resemble the query from start to end.

Every measure in `motionloom.search.clips.measures` is also a search method of the same name. The
feature vectors of all clips in a library, and the scales that correct for hubs
(`motionloom.search.clips.hubs`), are stored as artifacts of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment.banded_dtw import Nearest
from motionloom.checked_arrays import check_offsets, check_shapes, largest_value, open_array
from motionloom.errors import InvalidInput, LibraryError, RoleError
from motionloom.motion import Motion
from motionloom.parallel import Progress
from motionloom.ragged import offsets_of
from motionloom.search.candidates import Candidate
from motionloom.search.clips import hubs
from motionloom.search.clips.emd_signature import EmdSignatures
from motionloom.search.clips.measures import EmdMeasure
from motionloom.search.clips.statistics import ALIGNED, StatisticsMeasure, statistic_sizes
from motionloom.search.clips.vectors import ClipMeasure, ClipVectors
from motionloom.search.filters import chosen_mask
from motionloom.search.match import Match
from motionloom.search.methods import ClipMethod
from motionloom.search.query import Query
from motionloom.search.settings import SearchSettings
from motionloom.settings import motion_choice
from motionloom.store.artifacts.row_table import build_rows, load_rows
from motionloom.store.records import Entry, text_digest
from motionloom.store.remote.folder import Folder
from motionloom.store.store import Store

_VERSION = 2  # increase when the features of any measure change
_STATISTICS_VERSION = 2  # increase when `clip_statistics` or `aligned_rows` change
_SCALES_VERSION = 1  # increase when the rule in `hubs`, or any distance, changes
_PER_CLIP = {"statistics", "aligned", "spreads"}  # cached arrays with one item per clip
_SIGNATURES = ("points", "mass", "starts", "quantiles")


@dataclass(frozen=True, eq=False)
class ClipTable:
    """Feature vectors of all clips in a library that a measure can compare.

    Attributes
    ----------
    measure : ClipMeasure
    clips : ClipVectors
        Feature vectors, with the joints that all clips have.
    names : tuple of str, length C
        Names of the clips, sorted.
    fps, frames : ndarray, shape (C,)
        Frame rate and number of frames of each clip as stored.
    left_out : dict of str to str
        Motions that cannot be compared, each with the reason.
    joints_missing : dict of str to tuple of str
        Joints that are not compared, each with the motions that lack it.
    width : int
        Number of columns of a clip that has all joints.
    """

    measure: ClipMeasure
    clips: ClipVectors
    names: tuple[str, ...]
    fps: NDArray[np.float64]
    frames: NDArray[np.int64]
    left_out: dict[str, str]
    joints_missing: dict[str, tuple[str, ...]]
    width: int

    def query_rows(self, motion: Motion) -> tuple[NDArray[np.float32], tuple[str, ...]]:
        """Return the feature vectors of any clip, and which of the compared joints it has.

        Raises
        ------
        RoleError
            If the clip cannot be compared.
        InvalidInput
            If the clip has missing values.
        """
        there = self.measure.joints_of(motion.skeleton)
        joints = tuple(joint for joint in self.clips.joints if joint in there)
        rows = np.asarray(self.measure.clip_rows(motion), dtype=np.float32)
        rows = rows[:, self.measure.columns(joints, rows.shape[1])]
        if not np.isfinite(rows).all():
            raise InvalidInput(
                f"{motion.name or 'motion'}: the clip has missing values and cannot be compared"
            )
        return rows, joints

    def restricted(self, joints: tuple[str, ...]) -> ClipVectors:
        """Return the feature vectors of all clips, restricted to `joints`."""
        if joints == self.clips.joints:
            return self.clips
        full, some = (self.measure.columns(j, self.width) for j in (self.clips.joints, joints))
        columns = np.flatnonzero(np.isin(full, some))
        return ClipVectors(
            np.ascontiguousarray(self.clips.rows[:, columns]), self.clips.starts, joints
        )

    def some(self, chosen: NDArray[np.int64]) -> ClipTable:
        """Return a table that contains only the clips with these indices."""
        starts = self.clips.starts
        rows = [self.clips.rows[starts[c] : starts[c + 1]] for c in chosen]
        ends = offsets_of([len(part) for part in rows])
        clips = ClipVectors(np.concatenate(rows), ends, self.clips.joints)
        if "signatures" in self.clips.made:
            whole = self.clips.whole
            place = np.cumsum(whole) - 1  # clips with gaps have no signatures
            kept = self.clips.made["signatures"].take(place[chosen[whole[chosen]]])
            clips.made["signatures"] = kept
        for made in _PER_CLIP & self.clips.made.keys():
            clips.made[made] = self.clips.made[made][chosen]
        names = tuple(self.names[c] for c in chosen)
        return ClipTable(
            self.measure, clips, names, self.fps[chosen], self.frames[chosen],
            self.left_out, self.joints_missing, self.width,
        )  # fmt: skip


# Tables of open libraries, by measure, and a digest of the motions they were made from.
_opened: WeakKeyDictionary[Store, tuple[str, dict[str, ClipTable]]] = WeakKeyDictionary()
_MOST_OPENED = 8


def clip_table(
    library: Store, measure: ClipMeasure, *, progress: Progress | None = None
) -> ClipTable:
    """Return the table of all clips of a library, which is computed and stored on first use.

    Raises
    ------
    LibraryError, RoleError
        If the library is empty, or none of its motions can be compared.
    """
    if not len(library):
        raise LibraryError(f"{library.path}: the library is empty; import motions first")
    content = library.artifacts.content_key()
    digest, opened = _opened.get(library, ("", {}))
    if digest != content or len(opened) >= _MOST_OPENED:
        _opened[library] = content, (opened := {})
    key = repr(measure)
    if key not in opened:
        opened[key] = _table(library, measure, progress=progress)
    return opened[key]


def clip_scales(library: Store, table: ClipTable) -> NDArray[np.float64]:
    """Return the scale of each clip in the table of all clips (C,), stored on first use."""
    if "scales" not in table.clips.made:
        table.clips.made["scales"] = _stored_scales(library, table)
    return table.clips.made["scales"]


def _stored_scales(library: Store, table: ClipTable) -> NDArray[np.float64]:
    """Return the scales of all clips; those of unchanged clips come from the previous version."""
    references = hubs.reference_clips(table.names, table.clips.whole)
    marks = dict(zip(table.names, clip_marks(library, table.names), strict=True))
    drawn = np.array([marks[table.names[c]] for c in references])
    options = {"version": _SCALES_VERSION, **table_options(table)}

    def build(folder: Path, previous: Folder | None) -> None:
        kept: dict[str, float] = {}
        if previous is not None:
            old = {name: open_array(previous / f"{name}.npy") for name in _SCALES}
            if np.array_equal(old["drawn"], drawn):
                kept = dict(zip(old["marks"].tolist(), old["scales"].tolist(), strict=True))
        clips = table.some(references).clips
        number = {int(c): n for n, c in enumerate(references)}
        scales = np.full(len(table.names), np.nan)
        for c in np.flatnonzero(table.clips.whole).tolist():
            mark = marks[table.names[c]]
            rows = table.clips.rows[table.clips.starts[c] : table.clips.starts[c + 1]]
            scales[c] = kept[mark] if mark in kept else hubs.scale_to(
                table.measure, rows, clips, without=number.get(c)
            )  # fmt: skip
        np.save(folder / "scales.npy", scales)
        np.save(folder / "marks.npy", np.array([marks[name] for name in table.names]))
        np.save(folder / "drawn.npy", drawn)

    def load(folder: Path) -> NDArray[np.float64]:
        scales = open_array(folder / "scales.npy", memory_map=False)
        if scales.shape != (len(table.names),) or scales.dtype != np.float64 or (scales < 0).any():
            raise LibraryError(
                f"{folder}: damaged: scales must be {len(table.names)} positive numbers"
            )
        return hubs.checked_scales(scales)

    return library.artifacts.derive("clip-scales", options, build=build, read=load)


_SCALES = ("scales", "marks", "drawn")


def table_options(table: ClipTable) -> dict[str, Any]:
    """Return everything besides the motions that distances between the clips depend on."""
    return {
        "clips": _VERSION, "statistics": _STATISTICS_VERSION, "measure": repr(table.measure),
        "shared": table.clips.joints,
    }  # fmt: skip


def clip_marks(library: Store, names: Iterable[str]) -> list[str]:
    """Return a digest of the name and the contents of each motion."""
    marks = {row[0]: text_digest(repr(row)) for row in library.fingerprints()}
    return [marks[name] for name in names]


def _table(library: Store, measure: ClipMeasure, *, progress: Progress | None) -> ClipTable:
    joints, left_out = _joints(library, measure)
    if not joints:
        first = next(iter(left_out))
        raise RoleError(
            f"{library.path}: none of the motions can be compared by {measure.name}; "
            f"for example, {first}: {left_out[first]}"
        )
    width = measure.clip_rows(library[next(iter(joints))]).shape[1]
    options = {
        "version": _VERSION, "measure": measure.name, "joints": measure.joints, **measure.key
    }  # fmt: skip

    def build(folder: Path, previous: Folder | None) -> None:
        build_rows(
            folder,
            previous,
            library,
            partial(_rows, measure=measure),
            width=width,
            length=partial(_length, measure=measure),
            left_out=left_out,
            progress=progress,
        )

    table = library.artifacts.derive(f"clips-{measure.name}", options, build=build, read=load_rows)
    shared = tuple(
        joint for joint in measure.joints if all(joint in there for there in joints.values())
    )
    missing = {
        joint: tuple(name for name, there in joints.items() if joint not in there)
        for joint in measure.joints
        if joint not in shared
    }
    rows = table.rows
    columns = measure.columns(shared, width)
    if len(columns) != width:
        rows = np.ascontiguousarray(rows[:, columns])
    clips = ClipVectors(rows, table.starts, shared)
    if isinstance(measure, EmdMeasure):
        made = _stored_signatures(library, measure, clips, options)
        clips.made["signatures"], clips.made["whole"] = made
    if isinstance(measure, StatisticsMeasure):
        clips.made.update(_stored_statistics(library, measure, clips, options))
    return ClipTable(measure, clips, table.names, table.fps, table.frames, left_out, missing, width)


def _stored_signatures(
    library: Store, measure: EmdMeasure, clips: ClipVectors, options: dict
) -> tuple[EmdSignatures, NDArray[np.bool_]]:
    """Return the EMD signatures of the clips without gaps, and a mask that selects these clips."""

    def build(folder: Path, previous: Folder | None) -> None:
        fresh = ClipVectors(clips.rows, clips.starts, clips.joints)
        made = measure.signatures(fresh)
        for name in _SIGNATURES:
            np.save(folder / f"{name}.npy", getattr(made, name))
        np.save(folder / "whole.npy", fresh.whole)

    def load(folder: Path) -> tuple[EmdSignatures, NDArray[np.bool_]]:
        arrays = {
            name: open_array(folder / f"{name}.npy", memory_map=False)
            for name in (*_SIGNATURES, "whole")
        }
        shapes: dict[str, tuple[str, tuple[str | int, ...]]] = {
            "points": ("float", ("N", 4)),
            "mass": ("float", ("N",)),
            "starts": ("int", ("S",)),
            "quantiles": ("float", ("C", "J", 4, "P")),
            "whole": ("bool", ("W",)),
        }
        size = check_shapes(arrays, shapes, W=len(clips.starts) - 1, J=len(clips.joints))
        check_offsets(arrays["starts"], size["N"], "signatures")
        whole = arrays.pop("whole")
        if not size["S"] - 1 == size["C"] * size["J"] == int(whole.sum()) * size["J"]:
            raise LibraryError(f"{folder}: damaged: the signatures belong to other clips")
        return EmdSignatures(**arrays), whole

    key = {**options, **measure.signature_key, "shared": clips.joints}
    return library.artifacts.derive("clip-signatures", key, build=build, read=load)


def _stored_statistics(
    library: Store, measure: StatisticsMeasure, clips: ClipVectors, options: dict
) -> dict[str, NDArray]:
    """Return the arrays that ``statistics`` caches for each clip, NaN for clips with gaps."""
    width = clips.rows.shape[1]
    expected = {
        "statistics": (np.float64, (len(clips), sum(statistic_sizes(width)))),
        "aligned": (np.float32, (len(clips), ALIGNED, width)),
        "spreads": (np.float64, (len(clips), 3 * len(clips.joints))),
    }

    def build(folder: Path, previous: Folder | None) -> None:
        fresh = ClipVectors(clips.rows, clips.starts, clips.joints)
        for name in expected:
            np.save(folder / f"{name}.npy", getattr(measure, name)(fresh))

    def load(folder: Path) -> dict[str, NDArray]:
        arrays = {name: open_array(folder / f"{name}.npy", memory_map=False) for name in expected}
        for name, (kind, shape) in expected.items():
            if arrays[name].shape != shape or arrays[name].dtype != kind:
                raise LibraryError(
                    f"{folder}: damaged: {name} must be {np.dtype(kind)} with shape {shape}; got "
                    f"{arrays[name].dtype} with shape {arrays[name].shape}"
                )
            values = arrays[name].reshape(len(arrays[name]), -1)
            missing = np.isnan(values)
            if name != "aligned":  # only these samples keep the gaps of a clip
                missing = missing.all(axis=1, keepdims=True)
            if not ((np.abs(values) < largest_value(values.dtype)) | missing).all():
                raise LibraryError(f"{folder}: damaged: {name} is not finite or is too large")
        return arrays

    key = {**options, "statistics": _STATISTICS_VERSION, "shared": clips.joints}
    return library.artifacts.derive("clip-statistics", key, build=build, read=load)


def _joints(
    library: Store, measure: ClipMeasure
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return the joints of each comparable motion, and why other motions cannot be compared."""
    by_skeleton: dict[str, tuple[str, ...] | str] = {}
    joints: dict[str, tuple[str, ...]] = {}
    left_out: dict[str, str] = {}
    for entry in library.entries():
        if entry.skeleton not in by_skeleton:
            try:
                by_skeleton[entry.skeleton] = measure.joints_of(library.skeleton(entry.skeleton))
            except RoleError as error:
                by_skeleton[entry.skeleton] = str(error)
        outcome = by_skeleton[entry.skeleton]
        if isinstance(outcome, str):
            left_out[entry.name] = outcome
        elif entry.frames < 1:
            left_out[entry.name] = "has no frames"
        else:
            joints[entry.name] = outcome
    return joints, left_out


def _rows(motion: Motion, measure: ClipMeasure) -> NDArray[np.float64]:
    return measure.clip_rows(motion)


def _length(entry: Entry, measure: ClipMeasure) -> int:
    return measure.length(entry.frames, entry.fps)


def gaps_in(table: ClipTable) -> Iterable[str]:
    """Return the names of clips that have missing values and cannot be compared."""
    return (name for name, whole in zip(table.names, table.clips.whole, strict=True) if not whole)


@dataclass(frozen=True, eq=False)
class ClipNames:
    """Names, frame rates and frames of clips that a user's method compares."""

    names: tuple[str, ...]
    fps: NDArray[np.float64]
    frames: NDArray[np.int64]

    @classmethod
    def of(cls, library: Store, names: Sequence[str]) -> ClipNames:
        """Return the clips of a library with these names."""
        entries = library.entries(names)
        return cls(
            tuple(names),
            np.array([entry.fps for entry in entries]),
            np.array([entry.frames for entry in entries], np.int64),
        )


@dataclass(frozen=True, eq=False)
class WholeClips:
    """Clips of a library, which convert the candidates of a whole-clip search to matches."""

    table: ClipTable | ClipNames

    def match(
        self, candidate: Candidate, query: Query, labels: Callable[[str], tuple[str, ...]]
    ) -> Match:
        """Return clip number ``candidate.start`` as a match, from its first frame to its last."""
        clip = candidate.start
        name, fps = self.table.names[clip], float(self.table.fps[clip])
        frames = int(self.table.frames[clip])
        return Match(
            motion=name,
            start_frame=0,
            end_frame=frames,
            start=0.0,
            end=frames / fps,
            distance=candidate.distance,
            alignment=candidate.path,
            label=", ".join(labels(name)) or None,
        )


def clip_search(
    library: Store, query: Query, settings: SearchSettings
) -> tuple[list[Candidate], WholeClips]:
    """Return the `k` clips nearest to a query, or the `settings.max` nearest."""
    method = settings.method
    assert isinstance(method, ClipMethod)
    measure = method.measure()
    everything = table = clip_table(library, measure)
    all_scales = scales = None
    if method.hub_correction and int(table.clips.whole.sum()) >= hubs.FEWEST:
        all_scales = scales = clip_scales(library, table)
    allowed = chosen_mask(library, table.names, **motion_choice(settings))
    if allowed is not None and not allowed.all():
        if not allowed.any():
            raise LibraryError(
                f"{library.path}: none of the selected motions can be compared by {measure.name}"
            )
        chosen = np.flatnonzero(allowed)
        table = table.some(chosen)
        scales = None if scales is None else scales[chosen]
    rows, joints = table.query_rows(query.clip)
    clips = table.restricted(joints)
    own = query.name if settings.exclude_query and query.name in table.names else None
    wanted = method.k or settings.max or len(clips)
    most = min(wanted + (own is not None), len(clips))
    if scales is None or all_scales is None:
        nearest = measure.nearest(rows, clips, k=most)
    else:
        nearest = hubs.corrected_nearest(measure, rows, clips, scales, k=most)
        unit = _corrected_unit(everything, all_scales, rows, joints, query)
        nearest = Nearest(nearest.clips, unit * nearest.distances, nearest.computed)
    limit = np.inf if settings.max_distance is None else settings.max_distance
    candidates = []
    for c, gap in zip(nearest.clips.tolist(), nearest.distances.tolist(), strict=True):
        if gap <= limit and table.names[c] != own:
            other = clips.rows[clips.starts[c] : clips.starts[c + 1]]
            lengths = (query.end_frame - query.start_frame, int(table.frames[c]))
            path = _in_frames(measure.path(rows, other), (len(rows), len(other)), lengths)
            candidates.append(Candidate(c, c + 1, gap, path))
    return candidates[:wanted], WholeClips(table)


def _corrected_unit(
    table: ClipTable,
    scales: NDArray[np.float64],
    rows: NDArray,
    joints: tuple[str, ...],
    query: Query,
) -> float:
    """Return the factor from distances divided by the root of a clip's scale to a measure's unit.

    It contains the scale of the query, which makes distances of different queries comparable.
    """
    if "references" not in table.clips.made:
        chosen = hubs.reference_clips(table.names, table.clips.whole)
        table.clips.made["references"] = table.some(chosen)
    references = table.clips.made["references"]
    own = references.names.index(query.name) if query.name in references.names else None
    scale = hubs.scale_to(table.measure, rows, references.restricted(joints), without=own)
    middle = float(np.median(scales))
    return middle / np.sqrt(hubs.checked_scales([middle, scale])[1])


def _in_frames(
    path: NDArray[np.int64], rows: tuple[int, int], frames: tuple[int, int]
) -> NDArray[np.int64]:
    """Convert pairs of resampled frames of two clips to pairs of their stored frames."""
    per_row = (np.array(frames) - 1) / np.maximum(1, np.array(rows) - 1)
    pairs = np.rint(path * per_row).astype(np.int64)
    return pairs[np.concatenate([[True], np.any(np.diff(pairs, axis=0) != 0, axis=1)])]
