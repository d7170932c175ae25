"""Choice of a training set: sound takes, no near-duplicates, balanced, split by performer.

``lib.export(folder, to="training-set")`` writes ``manifest.json``, with the split, performer, group
of similar takes and flags of every chosen take and the reason for every other one, and
``labels.csv``, with the labels ``train``, ``validation`` and ``test``.

Takes are compared by a fixed number of poses: positions of the body in its own axes and its travel,
at equal shares of the take. Near-duplicates differ by less than `duplicate_distance` and hardly in
duration. A balanced set consists of takes that are far from each other. Takes of one performer,
and near-duplicates, are never in two splits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.library.dataset import new_folder
from motionloom.motion.diagnostics.issues import find_issues
from motionloom.motion.diagnostics.measurements import Measurements
from motionloom.motion.kinematics.body import body_height
from motionloom.motion.segment import intervals
from motionloom.store.settings import TrainingSet
from motionloom.text.label_files import LabelRow, write_labels

if TYPE_CHECKING:
    from motionloom.motion import Motion
    from motionloom.parallel import Progress
    from motionloom.store import Store

Array = NDArray[np.float64]
SPLITS = ("train", "validation", "test")

_POSES = 16
_ROLES = (
    "hips", "head", *(f"{side}_{part}" for side in ("left", "right")
                      for part in ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")),
)  # fmt: skip
_TRAVEL = 0.2  # weight of the travel over the floor in a balanced set
_SAME_DURATION = 0.03  # relative difference
_FAULTS = ("sides", "range", "jitter", "jumps", "drift")
_ARMS_OUT, _T_SHARE = 0.85, 0.5  # cosine with the line between the shoulders; share of the frames
_LIFTED, _AIRBORNE_SECONDS = 0.2, 1.0  # meters; longer than any flight
_BELT_SPEED, _STAYS = 0.5, 0.3  # m/s of standing feet; m/s of the hips, at most
_MOVES = 1.0  # m/s: mean speed of the body in the first or last frames of a truncated take


@dataclass(frozen=True)
class CuratedTake:
    """A take of a training set: its split, performer, group of similar takes, and flags."""

    motion: str
    split: str
    performer: str
    group: int
    seconds: float
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curation:
    """A training set: the chosen takes, and the reason for every take that was not chosen."""

    takes: tuple[CuratedTake, ...]
    excluded: dict[str, str]


def write_training_set(
    library: Store,
    names: Sequence[str],
    folder: Path,
    settings: TrainingSet,
    progress: Progress | None,
) -> list[Path]:
    """Choose a training set and write its manifest and labels into a new folder."""
    chosen = curate(library, names, settings, progress=progress)
    data: dict[str, Any] = {
        "takes": [vars(take) | {"flags": list(take.flags)} for take in chosen.takes],
        "excluded": chosen.excluded,
        "seconds": {
            split: round(sum(t.seconds for t in chosen.takes if t.split == split), 2)
            for split in SPLITS
        },
        "settings": settings.to_json(),
    }
    with new_folder(folder) as scratch:
        with atomic_write(scratch / "manifest.json") as file:
            file.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        rows = [LabelRow(take.motion, take.split) for take in chosen.takes]
        write_labels(rows, scratch / "labels.csv", {})
    return sorted(folder.iterdir())


def curate(
    library: Store,
    names: Sequence[str],
    settings: TrainingSet,
    *,
    progress: Progress | None = None,
) -> Curation:
    """Choose a training set from takes of a library; see the module's description.

    Parameters
    ----------
    library : Store
    names : sequence of str
        Takes to choose from.
    settings : TrainingSet
    progress : callable, optional
        Called with 1 after each take.
    """
    shares = np.array(settings.shares())
    excluded: dict[str, str] = {}
    kept, vectors, seconds, flags = [], [], [], []
    for name in names:
        motion = library[name]
        reason = unsound(motion)
        if reason is not None:
            excluded[name] = reason
        else:
            kept.append(name)
            vectors.append(pose_vector(motion))
            seconds.append(motion.duration)
            flags.append(_flags(motion))
        if progress is not None:
            progress(1)
    if not kept:
        raise InvalidInput("no take is fit for a training set: " + _counts(excluded))
    table = np.array(vectors)
    first = near_duplicates(table, np.array(seconds), settings.duplicate_distance)
    for k, original in enumerate(first):
        if original != k:
            excluded[kept[k]] = f"near-duplicate of {kept[original]}"
    unique = [k for k in range(len(kept)) if first[k] == k]
    order, groups = _balanced(table[unique])
    picked = [unique[k] for k in order[: settings.takes]]
    group_of = {unique[k]: int(groups[k]) for k in range(len(unique))}
    for k in set(unique) - set(picked):
        excluded[kept[k]] = "similar takes are in the set"
    performers = [_performer(library, name, settings.performers) for name in kept]
    split_of = _split(
        [performers[k] for k in picked], [seconds[k] for k in picked], shares, settings
    )
    takes = [
        CuratedTake(kept[k], split, performers[k], group_of[k], round(seconds[k], 3), flags[k])
        for k, split in zip(picked, split_of, strict=True)
    ]
    return Curation(tuple(sorted(takes, key=lambda take: names.index(take.motion))), excluded)


def unsound(motion: Motion) -> str | None:
    """Return why a take is not fit for training, or None.

    Examples
    --------
    >>> import motionloom as ml
    >>> unsound(ml.demo.clip("walk"))
    >>> still = ml.demo.clip("walk").rest_pose()
    >>> unsound(still)
    'shorter than half a second'
    """
    if motion.duration < 0.5:
        return "shorter than half a second"
    if not (np.isfinite(motion.rotations).all() and np.isfinite(motion.root).all()):
        return "missing frames"
    lacking = [role for role in _ROLES if role not in motion.skeleton.roles]
    if lacking:
        return f"no joint has the role {lacking[0]}"
    measured = Measurements(motion)
    for issue in find_issues(motion, measured=measured):
        if issue.code in _FAULTS and issue.severity != "info":
            return f"{issue.code}: {issue.message}"
    if _t_pose_share(measured) > _T_SHARE:
        return "T-pose in most frames"
    if _on_treadmill(measured):
        return "walks in place, as on a treadmill"
    if _carried(measured):
        return "carried by a prop: no foot is near the floor for more than a second"
    return None


def pose_vector(motion: Motion) -> Array:
    """Return poses at equal shares of a take as one vector of meters, for a body of 1.7 m.

    Examples
    --------
    >>> import motionloom as ml
    >>> pose_vector(ml.demo.clip("walk")).shape
    (672,)
    """
    places = motion.role_positions(_ROLES).astype(np.float64)
    rows = np.round(np.linspace(0, len(motion) - 1, _POSES)).astype(int)
    heading = motion.headings()[rows]
    hips = places[rows, :1]
    local = places[rows] - hips * [1.0, 0.0, 1.0]
    local[:, 0, [0, 2]] = hips[:, 0, [0, 2]] - hips[:1, 0, [0, 2]]
    angle = np.where(np.arange(len(_ROLES))[None] == 0, heading[0], heading[:, None])
    cos, sin = np.cos(angle), np.sin(angle)
    x, z = local[..., 0].copy(), local[..., 2].copy()
    local[..., 0], local[..., 2] = cos * x - sin * z, sin * x + cos * z
    return (local * (1.7 / (body_height(motion.skeleton) or 1.7))).ravel()


def near_duplicates(vectors: Array, seconds: Array, distance: float) -> NDArray[np.intp]:
    """Return the first take that each take duplicates, itself if none, shape (N,).

    Parameters
    ----------
    vectors : ndarray, shape (N, D)
        Results of `pose_vector`.
    seconds : ndarray, shape (N,)
    distance : float
        Root mean square distance between the joints of near-duplicates in meters.

    Examples
    --------
    >>> near_duplicates(np.array([[0.0] * 3, [0.01] * 3, [1.0] * 3]), np.ones(3), 0.02)
    array([0, 0, 2])
    """
    first = np.arange(len(vectors))
    points = vectors.shape[1] / 3.0
    for k in range(len(vectors)):
        if first[k] != k:
            continue
        alike = np.abs(seconds[k + 1 :] - seconds[k]) <= _SAME_DURATION * seconds[k]
        near = k + 1 + np.flatnonzero(alike)
        gaps = np.sqrt(np.sum((vectors[near] - vectors[k]) ** 2, axis=1) / points)
        same = near[gaps < distance]
        first[same[first[same] == same]] = k
    return first


def _balanced(vectors: Array) -> tuple[list[int], NDArray[np.intp]]:
    """Return an order of takes whose beginnings are balanced, and the group of each take.

    Each take is followed by the take that is farthest from all before it, so that rare movements
    come early and similar ones late. The first takes are the centers of the groups.
    """
    places = vectors.reshape(len(vectors), -1, len(_ROLES), 3).copy()
    places[:, :, 0, [0, 2]] *= _TRAVEL
    near = places.reshape(len(vectors), -1)
    order = [int(np.argmin(np.linalg.norm(near - near.mean(axis=0), axis=1)))]
    gaps = np.linalg.norm(near - near[order[0]], axis=1)
    groups = np.zeros(len(near), np.intp)
    count = max(1, round(np.sqrt(len(near))))
    gaps[order[0]] = -1.0
    while len(order) < len(near):
        order.append(int(np.argmax(gaps)))
        own = np.linalg.norm(near - near[order[-1]], axis=1)
        if len(order) <= count:
            groups[own <= np.abs(gaps)] = len(order) - 1
        gaps = np.minimum(gaps, own)
        gaps[order] = -1.0
    return order, groups


def _performer(library: Store, name: str, rule: str) -> str:
    if rule == "skeleton":
        return library.entry(name).skeleton[:12]
    try:
        match = re.search(rule, name)
    except re.error as error:
        raise InvalidInput(
            f"performers must be a regular expression; got {rule!r}: {error}"
        ) from None
    return name if match is None else match[match.lastindex and 1 or 0]


def _split(
    people: Sequence[str], seconds: Sequence[float], shares: Array, settings: TrainingSet
) -> list[str]:
    """Return the split of each take; all takes of a performer are in one split."""
    time: dict[str, float] = {}
    for performer, long in zip(people, seconds, strict=True):
        time[performer] = time.get(performer, 0.0) + long
    rng = np.random.default_rng(settings.seed)
    order = sorted(time, key=lambda performer: (-time[performer], performer))
    # Performers with much material are placed first; ties are broken at random.
    filled = np.zeros(3)
    split = {}
    wanted = shares * sum(time.values())
    for performer in order:
        lack = wanted - filled
        best = np.flatnonzero(lack >= lack.max() - 1e-9)
        place = int(rng.choice(best))
        split[performer] = SPLITS[place]
        filled[place] += time[performer]
    return [split[performer] for performer in people]


def _flags(motion: Motion) -> tuple[str, ...]:
    """Return notes on a take that is fit: it may begin or end in the middle of a movement."""
    places = motion.role_positions(_ROLES).astype(np.float64)
    speed = np.linalg.norm(np.diff(places, axis=0), axis=-1).mean(axis=1) * motion.fps
    ends = (("begins", speed[:3].mean()), ("ends", speed[-3:].mean()))
    return tuple(f"{word} in motion" for word, value in ends if value > _MOVES)


def _t_pose_share(measured: Measurements) -> float:
    """Return the share of the frames in which both arms point to the sides."""
    across = measured.position("left_shoulder") - measured.position("right_shoulder")
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-9)
    out = np.ones(len(across), bool)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for first, last in (("shoulder", "elbow"), ("elbow", "wrist")):
            bone = measured.position(f"{side}_{last}") - measured.position(f"{side}_{first}")
            bone /= np.maximum(np.linalg.norm(bone, axis=1, keepdims=True), 1e-9)
            out &= sign * np.sum(bone * across, axis=1) > _ARMS_OUT
    return float(out.mean())


def _on_treadmill(measured: Measurements) -> bool:
    """Return whether low feet move at the speed of a belt while the hips stay in place."""
    fps = measured.motion.fps
    hips = measured.position("hips")[:, [0, 2]]
    if np.linalg.norm(np.ptp(hips, axis=0)) > max(1.0, _STAYS * len(hips) / fps):
        return False
    ankles = np.stack([measured.position(f"{side}_ankle") for side in ("left", "right")], axis=1)
    lower = np.argmin(ankles[..., 1], axis=1)[:-1]
    step = np.linalg.norm(np.diff(ankles[..., [0, 2]], axis=0), axis=-1) * fps
    return bool(np.median(step[np.arange(len(step)), lower]) > _BELT_SPEED)


def _carried(measured: Measurements) -> bool:
    """Return whether the body is away from the floor for longer than any flight."""
    ankles = np.minimum(*(measured.position(f"{side}_ankle")[:, 1] for side in ("left", "right")))
    lowest = np.minimum(measured.lowest, ankles)
    high = lowest > np.percentile(lowest, 5.0) + _LIFTED
    long = _AIRBORNE_SECONDS * measured.motion.fps
    return any(end - start > long for start, end in intervals(high))


def _counts(reasons: dict[str, str]) -> str:
    words: Iterable[str] = (reason.split(":")[0] for reason in reasons.values())
    tally: dict[str, int] = {}
    for word in words:
        tally[word] = tally.get(word, 0) + 1
    return ", ".join(f"{count} {word}" for word, count in tally.items()) or "no takes"
