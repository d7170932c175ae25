"""Feature tables: the features of every frame in a library, stored as an artifact.

The tables are memory-mapped, so opening them takes milliseconds, and only the rows in use take
memory. When motions are added or removed, the next call computes only the new rows.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import check_shapes, open_arrays
from motionloom.errors import InvalidInput, LibraryError, RoleError
from motionloom.features.body_frame import Normalize
from motionloom.features.feature_sets import FeatureSet, feature_set
from motionloom.features.principal_components import Basis, Moments, fit_basis
from motionloom.motion import Motion, Skeleton
from motionloom.motion.resampling import resampled_length
from motionloom.motion.segment import positive_rate
from motionloom.parallel import Progress
from motionloom.ragged import row_of
from motionloom.store.artifacts.row_table import RowTable, build_rows, load_rows, over_motions
from motionloom.store.records import Entry
from motionloom.store.remote.folder import Folder
from motionloom.store.store import Store

RATE = 30.0  # frames per second of the features if the library has no fixed rate
_SAME_RATE = 2e-3  # 29.97 and 30 count as the same rate, so frames are not resampled
_VERSION = 1  # increment when a change to a feature set changes its values


@dataclass(frozen=True, eq=False)
class LibraryFeatures(RowTable):
    """Features of all motions in a library, concatenated.

    Attributes
    ----------
    rows, starts, names, fps, frames, left_out
        See `motionloom.store.artifacts.row_table.RowTable`: `rows` (N, D) contains the
        memory-mapped rows of all motions. `left_out` maps each motion that lacks a required joint
        to the reason.
    rate : float
        Frame rate of the rows.
    feature_set : FeatureSet
        The feature set with its options and, for principal components, its basis.
    folder : Path or RemoteFolder
        Folder of the artifact.

    Examples
    --------
    >>> features = lib.features("e15")
    >>> features.names[0], features.rate
    ('dance_groove', 30.0)
    """

    rate: float
    feature_set: FeatureSet
    folder: Folder

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        count, width = self.rows.shape
        return (
            f"LibraryFeatures({self.feature_set.name}, {count} rows of {width} at "
            f"{self.rate:g} fps, {len(self.names)} motions)"
        )

    def motion_index(self, name: str) -> int:
        """Return the index of the motion named `name`."""
        m = bisect_left(self.names, name)
        if m < len(self.names) and self.names[m] == name:
            return m
        reason = self.left_out.get(name)
        if reason is not None:
            raise RoleError(f"motion {name} has no features: {reason}")
        raise LibraryError(f"no motion called {name!r} has features")

    def motion_rows(self, name: str) -> slice:
        """Return the rows of the motion named `name`."""
        m = self.motion_index(name)
        return slice(int(self.starts[m]), int(self.starts[m + 1]))

    def locate(self, row: int) -> tuple[str, int]:
        """Return the motion to which a row belongs, and the corresponding stored frame."""
        if not 0 <= row < len(self.rows):
            raise InvalidInput(f"row must be between 0 and {len(self.rows) - 1}; got {row}")
        m = int(row_of(self.starts, row))
        return self.names[m], self.stored_frame(m, int(row - self.starts[m]))

    def stored_frame(self, motion: int, index: int) -> int:
        """Return the stored frame that corresponds to row `index` of motion number `motion`."""
        return round(index * self._frames_per_row(motion))

    def row_index(self, motion: int, frame: int) -> int:
        """Return the row of motion number `motion` that is nearest to a stored frame."""
        index = round(frame / self._frames_per_row(motion))
        # The last frames may come after the last row.
        return min(index, int(self.starts[motion + 1] - self.starts[motion]) - 1)

    def of(self, motion: Motion) -> NDArray[np.float32]:
        """Compute the rows (T, D) of any motion with this table's frame rate and options.

        The motion may have a different frame rate, skeleton and size.
        """
        return self.feature_set.prepare(at_rate(motion, self.rate))

    def _frames_per_row(self, motion: int) -> float:
        return frames_per_row(float(self.fps[motion]), self.rate)


def library_features(
    library: Store,
    features: str | FeatureSet,
    *,
    normalize: Normalize | None = None,
    scale_free: bool | None = None,
    fps: float | None = None,
    basis: Basis | Store | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> LibraryFeatures:
    """Compute the features of every frame in a library; see `motionloom.Library.features`.

    Examples
    --------
    >>> lib.features("e15").rows.shape[1]
    15
    """
    chosen = feature_set(features, normalize=normalize, scale_free=scale_free)
    rate = _rate(library, fps)
    options = _options(chosen, rate)
    if chosen.components is not None:
        if isinstance(basis, Store):
            basis = principal_components(basis, chosen, fps=fps, workers=workers, progress=progress)
        basis = basis or chosen.basis
        options["basis"] = "own" if basis is None else basis.digest
        if basis is None:
            basis = principal_components(
                library, chosen, fps=fps, workers=workers, progress=progress
            )
        chosen = replace(chosen, basis=basis)
    elif basis is not None:
        raise InvalidInput(
            f"basis can only be used with principal components, and feature set {chosen.name} does "
            f"not use them"
        )

    def build(folder: Path, previous: Folder | None) -> None:
        build_rows(
            folder,
            previous,
            library,
            partial(motion_features, features=chosen, rate=rate),
            width=chosen.dimension,
            length=partial(row_count, rate=rate),
            left_out=_left_out(library, chosen),
            stamp=chosen.basis.digest if chosen.basis is not None else "",
            workers=workers,
            progress=progress,
        )

    def load(folder: Folder) -> LibraryFeatures:
        table = vars(load_rows(folder))
        return LibraryFeatures(**table, rate=rate, feature_set=chosen, folder=folder)

    table = library.artifacts.derive(chosen.name, options, build=build, read=load)
    if not len(table):
        raise _no_features(library, chosen.name, table.left_out)
    return table


def principal_components(
    library: Store,
    features: str | FeatureSet = "pca25",
    *,
    fps: float | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Basis:
    """Fit principal components to all poses in a library, and store them as an artifact.

    Parameters
    ----------
    library : Library
    features : str or FeatureSet
        Selects the joints and their normalization. Sets that differ only in the number of
        components share one basis.
    fps : float, optional
        Rate at which poses are sampled. Default: the library's frame rate, or 30.
    workers, progress : optional
        As in `Library.features`.

    Examples
    --------
    >>> from motionloom.features.feature_table import principal_components
    >>> variances = principal_components(lib.store, "pca8").variances
    >>> bool(variances[0] >= variances[1] >= variances[2])
    True
    """
    chosen = replace(feature_set(features), basis=None)
    rate = _rate(library, fps)
    options = {**_options(chosen, rate), "components": None, "samples": 1, "window": 0.0}

    def build(folder: Path, previous: Folder | None) -> None:
        left_out = _left_out(library, chosen)
        entries = [entry for entry in library.entries() if entry.name not in left_out]
        if not entries:
            raise _no_features(library, chosen.name, left_out)
        work = partial(_moments, features=chosen, rate=rate)
        moments = dict(over_motions(library, work, entries, workers, progress))
        total = moments[entries[0].name]
        for entry in entries[1:]:  # fixed order, because floating-point sums depend on it
            total = total + moments[entry.name]
        fitted = fit_basis(total)
        np.savez(
            folder / "basis.npz",
            mean=fitted.mean,
            directions=fitted.directions,
            variances=fitted.variances,
        )

    def load(folder: Folder) -> Basis:
        try:
            arrays = open_arrays(folder / "basis.npz")
            shapes: dict[str, tuple[str, tuple[str | int, ...]]] = {
                "mean": ("float", ("D",)),
                "directions": ("float", ("A", "B")),
                "variances": ("float", ("V",)),
            }
            size = check_shapes(arrays, shapes)
            if size["D"] not in (size["A"], size["B"]):
                raise LibraryError("damaged: the principal directions have the wrong width")
            return Basis(arrays["mean"], arrays["directions"], arrays["variances"])
        except LibraryError as error:
            raise LibraryError(f"{folder}: damaged: {error}") from None

    return library.artifacts.derive("basis", options, build=build, read=load)


# --- tasks on one motion ------------------------------------------------------------------


def motion_features(motion: Motion, features: FeatureSet, rate: float) -> NDArray[np.float32]:
    """Return the feature vectors of a motion at `rate` frames per second, shape (T, D)."""
    return features.prepare(at_rate(motion, rate))


def _moments(motion: Motion, features: FeatureSet, rate: float) -> Moments:
    return Moments.of(features.pose_rows(at_rate(motion, rate)))


def row_count(entry: Entry, rate: float) -> int:
    """Return the number of frames that a motion has at `rate`."""
    if _same_rate(entry.fps, rate):
        return entry.frames
    return resampled_length(entry.frames, entry.fps, rate)


def at_rate(motion: Motion, rate: float) -> Motion:
    """Return the motion at `rate`, or the motion itself if its rate is (nearly) the same."""
    return motion if _same_rate(motion.fps, rate) else motion.resample(rate)


def frames_per_row(fps: float, rate: float) -> float:
    """Return the number of stored frames per row at `rate`.

    Examples
    --------
    >>> frames_per_row(120.0, 30.0), frames_per_row(29.97, 30.0)
    (4.0, 1.0)
    """
    return 1.0 if _same_rate(fps, rate) else fps / rate


def _same_rate(fps: float, rate: float) -> bool:
    return abs(fps - rate) <= _SAME_RATE * rate


# --- the options of a library ---------------------------------------------------------------


def _rate(library: Store, fps: float | None) -> float:
    return positive_rate(fps if fps is not None else library.fps or RATE)


def _options(features: FeatureSet, rate: float) -> dict[str, Any]:
    custom = features.frame_rows
    return {
        "version": _VERSION,
        "roles": features.roles,
        "samples": features.samples,
        "window": features.window_seconds,
        "components": features.components,
        "normalize": features.normalize,
        "scale_free": features.scale_free,
        "fps": rate,
        "custom": custom and f"{custom.__module__}.{custom.__qualname__}:{features.size}",
    }


def _left_out(library: Store, features: FeatureSet) -> dict[str, str]:
    """Return the motions whose skeletons lack required joints, with the reason for each."""
    reasons: dict[str, str | None] = {}
    for entry in library.entries():
        if entry.skeleton not in reasons:
            reasons[entry.skeleton] = _lack(library.skeleton(entry.skeleton), features)
    return {
        entry.name: reason
        for entry in library.entries()
        if (reason := reasons[entry.skeleton]) is not None
    }


def _lack(skeleton: Skeleton, features: FeatureSet) -> str | None:
    needed = list(features.roles)
    if features.frame_rows is None:
        needed.append("hips")
        if features.scale_free:
            needed += ["left_hip", "left_ankle", "right_hip", "right_ankle"]
    missing = [role for role in dict.fromkeys(needed) if role not in skeleton.roles]
    return f"no joint has the role {', '.join(missing)}" if missing else None


def _no_features(library: Store, name: str, left_out: dict[str, str]) -> LibraryError | RoleError:
    if not left_out:
        return LibraryError(f"{library.path}: the library is empty; import motions first")
    first = next(iter(left_out))
    return RoleError(
        f"{library.path}: no motion has all the joints that {name} needs; for example, {first}: "
        f"{left_out[first]}"
    )
