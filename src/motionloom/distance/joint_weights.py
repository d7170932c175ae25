"""Weights of joint pairs, learned from pairs of poses tagged as similar or not.

Every pair of poses gives a vector of ``f_ij`` (see `motionloom.distance.joint_relative`), every
tag is 1 for similar or -1 for dissimilar. The least-squares weights are the tags times the
pseudo-inverse of the vectors; their absolute values are the importance of the joint pairs.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.atomic_write import atomic_write
from motionloom.distance.joint_relative import (
    JointRelativeDistance,
    Pair,
    joint_distances,
    mirrored,
    symmetric_pairs,
)
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.motion import Motion


def learn_weights(
    poses: Sequence[tuple[Motion, Motion]],
    similar: ArrayLike,
    *,
    pairs: Iterable[Pair] | None = None,
    top: int | None = None,
) -> dict[Pair, float]:
    """Weights of joint pairs that separate similar poses from dissimilar ones.

    Parameters
    ----------
    poses : sequence of pairs of Motion, length n
        Two poses each: the first frame of every motion.
    similar : array_like of bool, shape (n,)
        The tag of each pair.
    pairs : iterable of pairs of roles, optional
        Default: all pairs that all skeletons have, one of each two mirror images.
    top : int, optional
        Keep only this many, those of the largest weights.

    Returns
    -------
    weights : dict
        Non-negative, the largest first. Use: ``JointRelativeDistance("mine", weights)``.

    Raises
    ------
    InvalidInput
        If there are no pairs, or all of them have the same tag.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk, kick = ml.demo.clip("walk"), ml.demo.clip("kick_front_high_right")
    >>> poses = [(walk[k], walk[k + 1]) for k in range(20)]
    >>> poses += [(walk[k], kick[30]) for k in range(20)]
    >>> weights = learn_weights(poses, [True] * 20 + [False] * 20, top=10)
    >>> len(weights)
    10
    """
    tags = np.asarray(similar, dtype=bool)
    if tags.shape != (len(poses),):
        raise InvalidInput(
            f"similar must have shape ({len(poses)},), one tag per pair of poses; got {tags.shape}"
        )
    if len(tags) == 0 or tags.all() or not tags.any():
        said = "no pairs" if len(tags) == 0 else f"{tags.sum()} similar of {len(tags)}"
        raise InvalidInput(f"both similar and dissimilar pairs of poses are needed; got {said}")
    if top is not None and top < 1:
        raise InvalidInput(f"top must be at least 1; got {top}")
    chosen = list(pairs) if pairs is not None else _shared_pairs(poses)
    rows = pair_features(poses, chosen)
    there = np.all(np.isfinite(rows), axis=0)
    if not there.any():
        raise InvalidInput("no pair of joints is there in all poses")
    weights = np.zeros(len(chosen))
    weights[there] = np.abs(np.linalg.pinv(rows[:, there]) @ np.where(tags, 1.0, -1.0))
    order = np.argsort(-weights, kind="stable")[:top]
    return {chosen[k]: float(weights[k]) for k in order.tolist() if there[k]}


def pair_features(
    poses: Sequence[tuple[Motion, Motion]], pairs: Sequence[Pair]
) -> NDArray[np.float64]:
    """``f_ij`` of every pair of poses, shape (n, len(pairs)), metres; NaN for missing joints."""
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
    """Motions by name: a library, or a dictionary."""

    def __getitem__(self, name: str, /) -> Motion:
        """The motion of that name."""


def read_tags(file: str | Path, motions: Motions) -> tuple[list[tuple[Motion, Motion]], list[bool]]:
    """Pairs of poses and their tags from a CSV file.

    Parameters
    ----------
    file : str or Path
        Rows ``NAME:FRAME, NAME:FRAME, 1`` (similar) or ``0`` (not); a header line may come first.
    motions : Library or mapping
        Motions by name.
    """
    poses, similar = [], []
    with Path(file).open(newline="", encoding="utf-8") as lines:
        for line, row in enumerate(csv.reader(lines), start=1):
            if not row or (line == 1 and row[-1].strip().lower() == "similar"):
                continue
            if len(row) != 3 or row[2].strip() not in ("0", "1"):
                raise MotionFormatError(
                    f"expected NAME:FRAME, NAME:FRAME, 1 or 0; got {','.join(row)[:60]!r}",
                    path=file,
                    line=line,
                )
            first, second = (_tagged_pose(motions, text, file, line) for text in row[:2])
            poses.append((first, second))
            similar.append(row[2].strip() == "1")
    return poses, similar


def _tagged_pose(motions: Motions, text: str, file: str | Path, line: int) -> Motion:
    name, _, frame = text.strip().rpartition(":")
    if not frame.isdecimal() or len(frame) > 15:
        raise MotionFormatError(f"expected NAME:FRAME; got {text!r}", path=file, line=line)
    motion = motions[name]
    if int(frame) >= len(motion):
        raise MotionFormatError(
            f"{name} has {len(motion)} frames; got frame {frame}", path=file, line=line
        )
    return motion[int(frame)]


def save_weights(weights: Mapping[Pair, float], path: str | Path) -> None:
    """Write weights as JSON, a list of joint, joint, weight."""
    rows = [[*pair, float(weight)] for pair, weight in weights.items()]
    with atomic_write(path) as scratch:
        scratch.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def load_weights(path: str | Path, *, name: str = "jrd") -> JointRelativeDistance:
    """The frame distance with the weights of a file that `save_weights` wrote."""
    try:
        rows = json.loads(Path(path).read_text(encoding="utf-8"))
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
