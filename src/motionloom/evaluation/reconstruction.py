"""Accuracy of reconstructions from a few markers.

The error of a frame is the mean distance between true and reconstructed joints in world space,
without alignment. Coincident joints count once (CMU skeletons have 31 joints at 21 positions);
end sites do not count. For a motion, the mean and the maximum error of its frames are reported in
centimeters, as in Krüger et al. (2010), table 3.

The simulated markers are the take's joints, with an error of up to a millimeter in every
coordinate. The take and all copies of it are excluded from the library; with ``without_subject``,
all takes of the same performer are also excluded, even if they are filed under another subject.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from motionloom import parallel
from motionloom.errors import InvalidInput
from motionloom.features.feature_table import library_features
from motionloom.motion import Motion, Skeleton
from motionloom.motion.markers import Markers
from motionloom.parallel import one_thread
from motionloom.ragged import row_of
from motionloom.reconstruction.control_signal import SIX, control_signal, tracked
from motionloom.reconstruction.prior import Prior
from motionloom.reconstruction.reconstruction import Reconstruction, reconstruct, searched_roles
from motionloom.reconstruction.settings import ReconstructSettings
from motionloom.store.store import Store

NOISE = 0.001  # meters; Krüger et al. 2010, section 5.2

_SAME_PLACE = 1e-4  # meters; joints closer than this count as one
_REPEATED = 0.005  # meters; frames closer than this are the same
_LOOKS = 40  # number of frames of a take that are searched for in other takes


@dataclass(frozen=True, eq=False)
class ReconstructionError:
    """Reconstruction errors of one motion, in centimeters.

    Attributes
    ----------
    motion : str
    frames : ndarray, shape (T,)
        Mean error over the joints in each frame.
    joints : dict of str to float
        Mean error of each joint over the frames.
    left_out : tuple of str
        Motions excluded from the library.
    result : Reconstruction

    Examples
    --------
    >>> from motionloom.evaluation.reconstruction import evaluate_reconstruction
    >>> error = evaluate_reconstruction(lib.store, "walk", ReconstructionTest(mode="online"))
    >>> error.frames.shape == (len(lib["walk"]),), error.mean_cm <= error.max_cm
    (True, True)
    """

    motion: str
    frames: NDArray[np.float64]
    joints: dict[str, float]
    left_out: tuple[str, ...]
    result: Reconstruction

    @property
    def mean_cm(self) -> float:
        """Mean error over all frames, in centimeters."""
        return float(self.frames.mean())

    @property
    def max_cm(self) -> float:
        """Error of the worst frame, in centimeters."""
        return float(self.frames.max())


@dataclass(frozen=True, kw_only=True)
class ReconstructionTest:
    """Settings for simulating markers and reconstructing a motion from them.

    Attributes
    ----------
    without_subject : bool
        Exclude every motion by the same performer: all motions whose names agree up to the first
        ``_``, and all motions of subjects that share a take with the performer.
    roles : tuple of str
        Tracked joints.
    noise : float
        Maximum error of a coordinate, in meters.
    missing : float
        Fraction of random samples that are missing.
    lose : str, optional
        Role whose marker is lost for `lose_seconds`, at a random time.
    seed : int
    skeleton : Skeleton, optional
        Skeleton of the result. Default: the skeleton of the motion.
    mode, features, neighbors
        As in `motionloom.Library.reconstruct`.
    """

    without_subject: bool = False
    roles: tuple[str, ...] = SIX
    noise: float = NOISE
    missing: float = 0.0
    lose: str | None = None
    lose_seconds: float = 1.0
    seed: int = 0
    skeleton: Skeleton | None = None
    mode: Literal["offline", "online"] = "offline"
    features: str = "e15"
    neighbors: int = 512

    def markers(self, motion: Motion) -> Markers:
        """Return the simulated markers of a motion."""
        rng = np.random.default_rng(self.seed)
        markers = tracked(motion, self.roles, noise=self.noise, seed=rng)
        return _with_gaps(markers, self.missing, self.lose, self.lose_seconds, rng)

    def settings(self, motion: Motion, exclude: Sequence[str] | None = None) -> ReconstructSettings:
        """Return the settings for the reconstruction of a motion."""
        return ReconstructSettings(
            skeleton=motion.skeleton if self.skeleton is None else self.skeleton,
            mode=self.mode,
            features=self.features,
            neighbors=self.neighbors,
            exclude=tuple(exclude) if exclude else None,
        )


def evaluate_reconstruction(
    library: Store, name: str, test: ReconstructionTest | None = None
) -> ReconstructionError:
    """Reconstruct a library motion from its joints, excluding the motion from the prior.

    Examples
    --------
    >>> from motionloom.evaluation.reconstruction import evaluate_reconstruction
    >>> error = evaluate_reconstruction(lib.store, "walk", ReconstructionTest(noise=0.002, seed=1))
    >>> error.left_out, 0.0 < error.mean_cm < 10.0
    (('walk',), True)
    """
    motion, test = library[name], test or ReconstructionTest()
    left_out = _left_out(library, motion, test.without_subject)
    result = reconstruct(library, test.markers(motion), test.settings(motion, left_out))
    if result.skeleton is not motion.skeleton and len(result.skeleton) != len(motion.skeleton):
        raise InvalidInput("skeleton must be the skeleton of the take, or have the same joints")
    errors, names = joint_errors(motion, result)
    return ReconstructionError(
        name,
        errors.mean(axis=1),
        dict(zip(names, errors.mean(axis=0).tolist(), strict=True)),
        left_out,
        result,
    )


def evaluate_reconstructions(
    library: Store,
    names: Sequence[str],
    options: Mapping[str, Any] | None = None,
    *,
    workers: int | None = None,
) -> Iterator[ReconstructionError]:
    """Reconstruct library motions in order, excluding each motion from its own prior.

    Parameters
    ----------
    library : Library
    names : sequence of str
    options : mapping, optional
        Fields of a `ReconstructionTest`.
    workers : int, optional
        Number of processes. Default: one per core.
    """
    test = ReconstructionTest(**(options or {}))
    work = partial(_evaluated, library=library, test=test)
    if len(names) > 1 and workers != 1:
        _prepare(library, names, test)
    waiting: dict[int, ReconstructionError] = {}
    given = 0
    with parallel.executor(library.files.workers(workers), tasks=len(names)) as pool:
        for done in parallel.completed(work, list(enumerate(names)), pool):
            if done.error is not None or done.result is None:
                raise done.error or InvalidInput(
                    f"{done.item[1]}: the motion could not be reconstructed"
                )
            waiting[done.item[0]] = done.result
            while given in waiting:
                yield waiting.pop(given)
                given += 1


def _evaluated(
    task: tuple[int, str], library: Store, test: ReconstructionTest
) -> ReconstructionError:
    with one_thread():
        return evaluate_reconstruction(library, task[1], test)


def _prepare(library: Store, names: Sequence[str], test: ReconstructionTest) -> None:
    """Compute shared data before the workers start, because they would wait for each other."""
    from motionloom.search.index.neighbors import open_index

    open_index(library, library_features(library, "e15", scale_free=True))
    made: set[tuple[str, ...]] = set()
    for name in names:
        motion = library[name]
        roles = searched_roles(control_signal(test.markers(motion), None))
        if roles not in made:
            Prior(library, motion.skeleton, roles, test.settings(motion))
            made.add(roles)


def joint_errors(
    truth: Motion, reconstructed: Motion
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the world-space distances in centimeters (T, P) between two motions' joints.

    Returns
    -------
    errors : ndarray, shape (T, P)
    names : tuple of str, length P
        Joint names. Joints that always coincide are counted once, under the first name.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.evaluation.reconstruction import joint_errors
    >>> walk = ml.demo.clip("walk")
    >>> float(joint_errors(walk, walk)[0].max())
    0.0
    """
    joints = distinct_joints(truth.skeleton)
    gaps = reconstructed.positions()[:, joints].astype(np.float64) - truth.positions()[:, joints]
    return 100.0 * np.linalg.norm(gaps, axis=-1), tuple(truth.skeleton.names[j] for j in joints)


def distinct_joints(skeleton: Skeleton) -> list[int]:
    """Return the joints, omitting those that coincide with an earlier joint in every pose."""
    place: dict[int, int] = {}
    for joint, parent in enumerate(skeleton.parents):
        moved = parent < 0 or np.linalg.norm(skeleton.offsets[joint]) > _SAME_PLACE
        place[joint] = joint if moved else place[int(parent)]
    return sorted(set(place.values()))


def subject_of(name: str) -> str:
    """Return the subject in the name of a motion: all characters before the first underscore."""
    return name.rpartition("/")[2].partition("_")[0]


def repeats(library: Store, motion: Motion) -> tuple[str, ...]:
    """Return the library motions that have the same frames as `motion`, including `motion`."""
    from motionloom.search.index.neighbors import neighbors, open_index

    features = library_features(library, "e15", scale_free=True)
    rows = features.of(motion)
    some = rows[np.unique(np.linspace(0, len(rows) - 1, _LOOKS).astype(int))]
    near = neighbors(some, features, open_index(library, features), k=64, radius=_REPEATED)
    seen: dict[int, set[int]] = {}
    for frame in range(len(near)):
        for row in near.of(frame)[0]:
            m = int(row_of(features.starts, row))
            seen.setdefault(m, set()).add(frame)
    copies = {features.names[m] for m, frames in seen.items() if len(frames) >= 0.5 * len(some)}
    return tuple(sorted(copies | ({motion.name} & set(library.names))))


def varied_motions(
    library: Store, count: int, *, seed: int = 0, least: int = 90
) -> tuple[str, ...]:
    """Draw `count` motions by different performers, with a minimum number of frames."""
    rng = np.random.default_rng(seed)
    by_subject: dict[str, list[str]] = {}
    for entry in library.entries():
        if entry.frames >= least:
            by_subject.setdefault(subject_of(entry.name), []).append(entry.name)
    if not by_subject:
        raise InvalidInput(f"no motion has at least {least} frames")
    subjects = rng.permutation(sorted(by_subject))[:count]
    return tuple(str(rng.choice(by_subject[subject])) for subject in subjects)


def same_performer(library: Store, name: str) -> frozenset[str]:
    """Return the subjects under which the performer of a motion is filed.

    If the same take is filed under two subjects, they are the same person. CMU has a dozen such
    pairs (63 and 64, 77 and 139), each with takes that the other lacks.
    """
    by_subject: dict[str, list[str]] = {}
    for other in library.names:
        by_subject.setdefault(subject_of(other), []).append(other)
    subjects: set[str] = set()
    new = {subject_of(name)}
    while new:
        subjects |= new
        takes = [take for subject in new for take in by_subject.get(subject, ())]
        related = {subject_of(other) for take in takes for other in repeats(library, library[take])}
        new = related - subjects
    return frozenset(subjects)


def _left_out(library: Store, motion: Motion, without_subject: bool) -> tuple[str, ...]:
    names = set(repeats(library, motion))
    if without_subject:
        subjects = same_performer(library, motion.name)
        names |= {name for name in library.names if subject_of(name) in subjects}
    return tuple(sorted(names))


def _with_gaps(
    markers: Markers, missing: float, lose: str | None, seconds: float, rng: np.random.Generator
) -> Markers:
    if not 0.0 <= missing < 1.0:
        raise InvalidInput(f"missing must be at least 0 and less than 1; got {missing}")
    places = markers.positions.copy()
    if missing:
        places[rng.random(places.shape[:2]) < missing] = np.nan
    if lose is not None:
        if lose not in markers.labels:
            raise InvalidInput(f"lose must be one of {', '.join(markers.labels)}; got {lose!r}")
        length = min(round(seconds * markers.fps), len(markers))
        start = int(rng.integers(0, len(markers) - length + 1))
        places[start : start + length, markers.labels.index(lose)] = np.nan
    return Markers(markers.labels, places, markers.fps, name=markers.name)


def summary(errors: Sequence[ReconstructionError]) -> dict[str, float]:
    """Return the mean error over all motions and the maximum error over all frames, in cm."""
    return {
        "mean_cm": float(np.mean([error.mean_cm for error in errors])),
        "max_cm": float(max(error.max_cm for error in errors)),
    }
