"""Joint-pair weights, learned from pairs of poses tagged as similar or dissimilar.

Every pair of poses gives a vector of ``f_ij`` (see `motionloom.features.joint_relative`). Two
methods derive weights from the tags:

``nnls``
    Non-negative least squares with an intercept: the distance plus a constant should be 0 for
    similar and 1 for dissimilar poses.
``tang``
    Tang et al. (2008), as in Kravcevich (2014), section 4.3: the tags, 1 (similar) and -1
    (dissimilar), are multiplied by the pseudo-inverse of the vectors, and the absolute values of
    the result are the weights. Without an intercept, the weighted sum must be 1 for similar poses,
    although their vectors are near zero. Taking absolute values also turns evidence against
    similarity into evidence for it. As a result, these weights rank poses worse than equal weights
    (`held_out_auc`; docs/explanation/motion-graphs.md).

The *area under the curve* (AUC) measures how well weights rank poses. It is the fraction of
comparisons between a similar and a dissimilar pair of poses in which the similar pair is closer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.features.joint_relative import (
    JointRelativeDistance,
    Pair,
    joint_distances,
    mirrored,
    symmetric_pairs,
)
from motionloom.files import atomic_write, csv_rows, parse_json, read_regular_text
from motionloom.motion import Motion

Method = Literal["nnls", "tang"]
METHODS: tuple[Method, ...] = ("nnls", "tang")
FOLDS = 5


@dataclass(frozen=True, eq=False)
class TaggedPoses:
    """Pairs of poses, tagged as similar or dissimilar.

    Attributes
    ----------
    poses : list of pairs of Motion
        The two poses are the first frames of the two motions.
    similar : list of bool
        Tag of each pair: True if the poses are similar.
    motions : list of pairs of str
        Names of the motions from which the poses come.
    """

    poses: list[tuple[Motion, Motion]]
    similar: list[bool]
    motions: list[tuple[str, str]]

    def __len__(self) -> int:
        return len(self.poses)


@dataclass(frozen=True)
class LearnedWeights:
    """Joint-pair weights, and how well they rank poses from held-out motions.

    Attributes
    ----------
    weights : dict
        Weight of each pair of roles, largest first.
    tagged : int
        Number of tagged pairs of poses.
    method : str
    auc, equal_auc : float or None
        AUC of weights that were learned without the motions of the tested pairs, and AUC of equal
        weights on the same pairs; None if there are too few motions to hold some out.
    """

    weights: dict[Pair, float]
    tagged: int
    method: str
    auc: float | None
    equal_auc: float | None


def learned_weights(
    tagged: TaggedPoses, *, method: Method = "nnls", top: int | None = None
) -> LearnedWeights:
    """Learn weights from tagged pairs of poses, with their held-out AUC; see `learn_weights`."""
    weights = learn_weights(tagged.poses, tagged.similar, method=method, top=top)
    auc, equal = held_out_auc(tagged, method=method, top=top)
    return LearnedWeights(weights, len(tagged), method, auc, equal)


def learn_weights(
    poses: Sequence[tuple[Motion, Motion]],
    similar: ArrayLike,
    *,
    method: Method = "nnls",
    pairs: Iterable[Pair] | None = None,
    top: int | None = None,
) -> dict[Pair, float]:
    """Learn joint-pair weights that separate similar poses from dissimilar ones.

    Parameters
    ----------
    poses : sequence of pairs of Motion, length n
        The two poses are the first frames of the two motions.
    similar : array_like of bool, shape (n,)
        Tag of each pair: True if the poses are similar.
    method : {"nnls", "tang"}
        See the module documentation.
    pairs : iterable of pairs of roles, optional
        Default: all pairs that exist in every skeleton, without their mirror images.
    top : int, optional
        Maximum number of pairs to keep. ``nnls`` keeps the pairs whose weighted distances vary the
        most, ``tang`` the pairs with the largest weights.

    Returns
    -------
    weights : dict
        Positive weights, largest first. To use them, create ``JointRelativeDistance("mine",
        weights)``.

    Raises
    ------
    InvalidInput
        If there are no pairs, if all pairs have the same tag, or if no weight is positive.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk, kick = ml.demo.clip("walk"), ml.demo.clip("kick_front_high_right")
    >>> poses = [(walk[k], walk[k + 1]) for k in range(20)]
    >>> poses += [(walk[k], kick[30]) for k in range(20)]
    >>> weights = learn_weights(poses, [True] * 20 + [False] * 20, top=3)
    >>> 1 <= len(weights) <= 3
    True
    """
    tags = _checked_tags(similar, len(poses))
    if method not in METHODS:
        raise InvalidInput(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    if top is not None and top < 1:
        raise InvalidInput(f"top must be at least 1; got {top}")
    chosen = list(pairs) if pairs is not None else _shared_pairs(poses)
    rows = pair_features(poses, chosen)
    weights = _solved(rows, tags, method, top)
    order = np.argsort(-weights, kind="stable")
    positive = {chosen[k]: float(weights[k]) for k in order.tolist() if weights[k] > 0.0}
    if not positive:
        raise InvalidInput(
            "no weight is positive, because similar poses are not closer to each other than "
            "dissimilar poses; check the tags"
        )
    return positive


def held_out_auc(
    tagged: TaggedPoses, *, method: Method = "nnls", top: int | None = None, folds: int = FOLDS
) -> tuple[float | None, float | None]:
    """Return the AUC of learned weights and of equal weights on poses from held-out motions.

    Motions are divided into `folds` parts. For each part, weights are learned from the pairs that
    do not contain its motions and tested on the pairs that do. The AUC is the mean over the parts,
    weighted by the number of tested pairs. A part is skipped if all its training pairs or all its
    test pairs have the same tag.

    Returns
    -------
    learned, equal : float or None
        None if no part could be tested.
    """
    tags = _checked_tags(tagged.similar, len(tagged))
    chosen = _shared_pairs(tagged.poses)
    rows = pair_features(tagged.poses, chosen)
    names = list(dict.fromkeys(name for pair in tagged.motions for name in pair))
    part_of = {name: number % folds for number, name in enumerate(names)}
    scores, counts = [], []
    for part in range(folds):
        test = np.array([part in (part_of[a], part_of[b]) for a, b in tagged.motions])
        if any(len(set(tags[mask].tolist())) < 2 for mask in (test, ~test)):
            continue
        weights = _solved(rows[~test], tags[~test], method, top)
        there = np.all(np.isfinite(rows), axis=0)
        equal = rows[test][:, there].sum(axis=1)
        learned = rows[test][:, there] @ weights[there]
        scores.append([area_under_curve(each, tags[test]) for each in (learned, equal)])
        counts.append(int(test.sum()))
    if not scores:
        return None, None
    learned_auc, equal_auc = np.average(scores, axis=0, weights=counts)
    return float(learned_auc), float(equal_auc)


def area_under_curve(distances: ArrayLike, similar: ArrayLike) -> float:
    """Return the fraction of comparisons in which the similar item is closer.

    Examples
    --------
    >>> area_under_curve([0.1, 0.3, 0.2, 0.4], [True, True, False, False])
    0.75
    """
    from scipy.stats import rankdata

    tags = np.asarray(similar, dtype=bool)
    ranks = rankdata(np.asarray(distances, dtype=np.float64))
    near, far = int(tags.sum()), int((~tags).sum())
    return float(1.0 - (ranks[tags].sum() - near * (near + 1) / 2.0) / (near * far))


def _solved(
    rows: NDArray[np.float64], tags: NDArray[np.bool_], method: Method, top: int | None
) -> NDArray[np.float64]:
    """Compute a weight for each column of `rows`; columns with missing values have weight zero."""
    there = np.flatnonzero(np.all(np.isfinite(rows), axis=0))
    if not len(there):
        raise InvalidInput("no pair of joints exists in the skeletons of all poses")
    solve = _nnls if method == "nnls" else _pseudo_inverse
    out = np.zeros(rows.shape[1])
    out[there] = solve(rows[:, there], tags)
    if top is not None and np.sum(out > 0.0) > top:
        if method == "nnls":  # pairs that distinguish poses, not bones that change by millimeters
            kept = np.argsort(-out * np.nan_to_num(rows.std(axis=0)), kind="stable")[:top]
            again = solve(rows[:, kept], tags)
        else:
            kept = np.argsort(-out, kind="stable")[:top]
            again = out[kept]
        out = np.zeros(rows.shape[1])
        out[kept] = again
    return out


def _nnls(rows: NDArray[np.float64], tags: NDArray[np.bool_]) -> NDArray[np.float64]:
    from scipy.optimize import nnls

    # An intercept of either sign is the difference of two columns of ones; centering is
    # equivalent.
    wanted = np.where(tags, 0.0, 1.0)
    centered = rows - rows.mean(axis=0)
    return nnls(centered, wanted - wanted.mean())[0]


def _pseudo_inverse(rows: NDArray[np.float64], tags: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.abs(np.linalg.pinv(rows) @ np.where(tags, 1.0, -1.0))


def _checked_tags(similar: ArrayLike, count: int) -> NDArray[np.bool_]:
    tags = np.asarray(similar, dtype=bool)
    if tags.shape != (count,):
        raise InvalidInput(
            f"similar must have shape ({count},), one tag per pair of poses; got {tags.shape}"
        )
    if len(tags) == 0 or tags.all() or not tags.any():
        said = "no pairs" if len(tags) == 0 else f"{tags.sum()} similar of {len(tags)}"
        raise InvalidInput(f"both similar and dissimilar pairs of poses are required; got {said}")
    return tags


def pair_features(
    poses: Sequence[tuple[Motion, Motion]], pairs: Sequence[Pair]
) -> NDArray[np.float64]:
    """Return ``f_ij`` for each pair of poses in meters, (n, len(pairs)); NaN for missing joints."""
    images = [mirrored(pair) for pair in pairs]
    out = np.empty((len(poses), len(pairs)))
    for k, (a, b) in enumerate(poses):
        rows = [
            joint_distances(a[:1], columns) - joint_distances(b[:1], columns)
            for columns in (pairs, images)
        ]
        out[k] = 0.5 * np.abs(rows[0][0]) + 0.5 * np.abs(rows[1][0])
    return out


class Motions(Protocol):
    """Protocol for a mapping from names to motions, such as a library or a dictionary."""

    def __getitem__(self, name: str, /) -> Motion:
        """Return the motion with the given name."""


def read_tags(file: str | Path, motions: Motions) -> TaggedPoses:
    """Read pairs of poses and their tags from a CSV file.

    Parameters
    ----------
    file : str or Path
        CSV file with rows ``NAME:FRAME, NAME:FRAME, 1``, where 1 means similar and 0 dissimilar. A
        header line is optional.
    motions : Library or mapping
        Motions by name.
    """
    tagged = TaggedPoses([], [], [])
    for line, row in csv_rows(file):
        if not row or (line == 1 and row[-1].strip().lower() == "similar"):
            continue
        if len(row) != 3 or row[2].strip() not in ("0", "1"):
            raise MotionFormatError(
                f"expected NAME:FRAME, NAME:FRAME, 1 or 0; got {','.join(row)[:60]!r}",
                path=file,
                line=line,
            )
        first, second = (_tagged_pose(motions, text, file, line) for text in row[:2])
        tagged.poses.append((first[1], second[1]))
        tagged.motions.append((first[0], second[0]))
        tagged.similar.append(row[2].strip() == "1")
    return tagged


def _tagged_pose(motions: Motions, text: str, file: str | Path, line: int) -> tuple[str, Motion]:
    name, _, frame = text.strip().rpartition(":")
    if not frame.isdecimal() or len(frame) > 15:
        raise MotionFormatError(f"expected NAME:FRAME; got {text!r}", path=file, line=line)
    motion = motions[name]
    if int(frame) >= len(motion):
        raise MotionFormatError(
            f"{name} has {len(motion)} frames; got frame {frame}", path=file, line=line
        )
    return name, motion[int(frame)]


def save_weights(weights: Mapping[Pair, float], path: str | Path) -> None:
    """Write weights to a JSON file, as a list of [joint, joint, weight]."""
    rows = [[*pair, float(weight)] for pair, weight in weights.items()]
    with atomic_write(path) as scratch:
        scratch.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def load_weights(path: str | Path, *, name: str = "jrd") -> JointRelativeDistance:
    """Load weights written by `save_weights`, and return a frame distance that uses them."""
    try:
        rows = parse_json(read_regular_text(path))
        weights = {(str(a), str(b)): float(weight) for a, b, weight in rows}
    except (ValueError, TypeError) as error:
        raise MotionFormatError(
            f"expected a list of [joint, joint, weight]; {error}", path=path
        ) from None
    try:
        return JointRelativeDistance(name, weights)
    except InvalidInput as error:
        raise MotionFormatError(str(error), path=path) from None


def _shared_pairs(poses: Sequence[tuple[Motion, Motion]]) -> list[Pair]:
    skeletons = {id(m.skeleton): m.skeleton for pair in poses for m in pair}.values()
    shared = set.intersection(*(set(skeleton.roles) for skeleton in skeletons))
    first = next(iter(skeletons)).roles
    return list(symmetric_pairs(role for role in first if role in shared))
