"""Find the transitions between a set of motions.

A transition candidate becomes a transition if

- the same feet are in contact, so that no step is skipped (see `foot_support`);
- no joint moves more abruptly than in the original motions.

The maximum frame distance is set by the user, or it is the smallest distance that yields the
requested number of transitions per minute. Takes are most similar to themselves, so this limit may
cut off some motions. For these motions, the limit is relaxed step by step.

A transition at frames (i, j) blends the k frames around i with the k frames around j, so that the
most similar frames have equal weight. Kravcevich (2014, section 4.6) instead blends A_i to
A_(i+k-1) with B_(j-k+1) to B_j (see `window_centers`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.transitions import RootPath, Transition, Window, transition
from motionloom.errors import InvalidInput
from motionloom.features import FrameDistance
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import usual_acceleration
from motionloom.motion.kinematics.forward import joint_positions
from motionloom.motion_graph.components import bridges, endless
from motionloom.motion_graph.settings import TransitionSettings
from motionloom.motion_graph.transitions.candidates import (
    Pruning,
    TransitionCandidates,
    inside,
    mean_errors,
    pruned,
    rows_below,
    window_centers,
)
from motionloom.motion_graph.transitions.foot_support import FootSupport, agreement
from motionloom.motion_graph.transitions.pair_candidates import LibraryMotions, pair_candidates
from motionloom.parallel import Progress

Ints = NDArray[np.int64]

_LOOSER = np.array([1.25, 1.6, 2.0, 2.5, 3.0, 4.0])  # factors by which a threshold is relaxed


@dataclass(frozen=True, eq=False)
class Transitions:
    """Table of n directed transitions.

    Attributes
    ----------
    source, target : ndarray of int64, shape (n, 2)
        Motion number, and frame in the middle of the blend.
    errors, means : ndarray, shape (n,)
        Frame distance in the middle of the blend, and mean over the blended frames.
    transforms : ndarray, shape (n, 3)
        Planar transform ``x, z, yaw`` from the target motion to the source motion.
    accelerations : ndarray, shape (n,)
        Largest acceleration of any joint during the transition, in m/s^2.
    blend : int
        Number of frames that are blended.
    root_path : {"aligned", "differences"}
        As in `motionloom.blending.transition`.

    Examples
    --------
    >>> graph = lib.motion_graph(only=["walk", "walk_fast"])
    >>> len(graph) == len(graph.transitions)
    True
    """

    source: Ints
    target: Ints
    errors: NDArray[np.float64]
    means: NDArray[np.float64]
    transforms: NDArray[np.float64]
    accelerations: NDArray[np.float64]
    blend: int
    root_path: RootPath = "aligned"

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def leave(self) -> Ints:
        """Source motion and its first blended frame, shape (n, 2)."""
        return self.source - np.array([0, self.blend // 2], np.int64)

    @cached_property
    def enter(self) -> Ints:
        """Target motion and its first frame after the blend, shape (n, 2)."""
        return self.target + np.array([0, self.blend - self.blend // 2], np.int64)

    def select(self, mask: NDArray[Any]) -> Transitions:
        """Select transitions by mask (n,) or by index."""
        return replace(
            self,
            source=self.source[mask],
            target=self.target[mask],
            errors=self.errors[mask],
            means=self.means[mask],
            transforms=self.transforms[mask],
            accelerations=self.accelerations[mask],
        )

    @classmethod
    def joined(cls, parts: Sequence[Transitions]) -> Transitions:
        """Concatenate one or more tables of transitions."""

        def every(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(part, name) for part in parts])

        return cls(
            every("source"),
            every("target"),
            every("errors"),
            every("means"),
            every("transforms"),
            every("accelerations"),
            parts[0].blend,
            parts[0].root_path,
        )


@dataclass(frozen=True)
class TransitionReport:
    """Transitions found, and the number of rejected ones."""

    transitions: Transitions
    threshold: float
    prunings: dict[tuple[int, int], Pruning]
    foot_support: int
    abrupt: int
    smooth: float | None = None
    dead_ends: bool = False


def find_transitions(
    motions: Sequence[Motion],
    distance: FrameDistance,
    settings: TransitionSettings,
    foot_supports: Sequence[FootSupport],
    *,
    stored: LibraryMotions | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> TransitionReport:
    """Find all transitions, in both directions, between motions that share a skeleton and rate.

    Parameters
    ----------
    motions : sequence of Motion
    distance : FrameDistance
    settings : TransitionSettings
    foot_supports : sequence of FootSupport
        One per motion.
    stored, workers, progress : optional
        As in `motionloom.motion_graph.transitions.pair_candidates.pair_candidates`.
    """
    window = settings.rules.window or "centered"
    if window == "directed":
        raise InvalidInput(
            "window=directed requires transitions from a file; use centered or kr14 to search for "
            "transitions"
        )
    if window == "kr14" and settings.rules.match_feet:
        raise InvalidInput(
            "window=kr14 requires match_feet to be off, because foot contacts are compared around "
            "(i, j)"
        )
    fps = motions[0].fps
    blend = max(round(settings.rules.blend_seconds * fps), 2)
    sector = max(round(settings.sector_seconds * fps), blend)
    options: dict[str, Any] = {"method": settings.method.NAME, "blend": blend}
    # A centered transition from a frame to itself changes nothing.
    apart = max(round(settings.rules.apart_seconds * fps), 1 if window == "centered" else 0)
    search = {"sector": sector, "apart": apart, "window": window}
    candidates = pair_candidates(
        motions,
        distance,
        {**search, "skip_ends": settings.rules.skip_ends, **options},
        stored=stored,
        workers=workers,
        progress=progress,
    )
    agree = {
        (a, b): agreement(foot_supports[a], foot_supports[b], group.frames, blend)
        if settings.rules.match_feet
        else np.ones(len(group), dtype=bool)
        for (a, b), group in candidates.items()
    }
    good = {
        pair: group if agree[pair].all() else group.select(agree[pair])
        for pair, group in candidates.items()
    }
    threshold = settings.max_distance
    if threshold is None:
        minutes = sum(len(motion) for motion in motions) / fps / 60.0
        threshold = _threshold(good, max(round(settings.per_minute * minutes), 1), options)
    prunings, foul = {}, 0
    for (a, b), group in candidates.items():
        rows, prunings[a, b] = rows_below(group, threshold, **options)
        foul += int(np.sum(~agree[a, b][rows]))
    maker = _Maker(
        motions, foot_supports, blend, settings.rules.smooth, window, settings.rules.root_path
    )
    left = {pair: pruned(group, threshold, **options)[0] for pair, group in good.items()}
    made = {pair: maker.made(pair, group, threshold) for pair, group in left.items()}
    loosest = 1.0 if settings.max_distance is not None else settings.rules.connect
    for factor in _LOOSER[loosest >= _LOOSER]:
        lonely = _cut_off(len(motions), made)
        if not lonely:
            break
        for pair, group in good.items():
            limit = factor * threshold
            if lonely & set(pair) and group.scores.min(initial=np.inf) <= limit:
                made[pair] = maker.made(pair, pruned(group, limit, **options)[0], limit)
    whole = Transitions.joined(list(made.values()))
    if settings.rules.bridge and len(whole):
        lengths = [len(motion) for motion in motions]
        more = bridges(lengths, foot_supports, candidates, whole, maker.one_way)
        whole = Transitions.joined([whole, *more])
    return TransitionReport(
        whole, float(threshold), prunings, foul, len(maker.abrupt), settings.rules.smooth,
        settings.rules.dead_ends,
    )  # fmt: skip


def transitions_at(
    motions: Sequence[Motion],
    distance: FrameDistance,
    candidates: Mapping[tuple[int, int], Ints],
    blend: int,
    smooth: float | None = None,
    *,
    window: str = "centered",
    mirror: bool = True,
    root_path: RootPath = "aligned",
) -> TransitionReport:
    """Create transitions at the frames in `candidates`.

    Parameters
    ----------
    motions : sequence of Motion
        Motions with one skeleton and frame rate.
    distance : FrameDistance
    candidates : mapping of (int, int) to ndarray of int64, shape (n, 2)
        Frames for each pair of motions; at least one pair is required. Frames that are too close to
        the end of a motion for a blend are skipped.
    blend : int
        Number of frames that are blended.
    smooth : float, optional
        As in `TransitionSettings`. Default: no limit.
    window : {"centered", "kr14"}
        As in `window_centers`.
    mirror : bool
        Also create the transitions from the second motion of a pair to the first.
    root_path : {"aligned", "differences"}
        As in `motionloom.blending.transition`.
    """
    used = sorted({number for pair in candidates for number in pair})
    rows = {n: distance.prepare(motions[n]) for n in used}
    foot_supports = {n: FootSupport.of(motions[n]) for n in used}
    maker = _Maker(motions, foot_supports, blend, smooth, root_path=root_path)
    directed: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for (a, b), frames in candidates.items():
        there, back = window_centers(frames, blend, window)
        directed.setdefault((a, b), set()).update(map(tuple, there.tolist()))
        if mirror:
            directed.setdefault((b, a), set()).update(map(tuple, back.tolist()))
    made = []
    for (a, b), places in directed.items():
        frames = np.array(sorted(places), np.int64).reshape(-1, 2)
        frames = frames[inside(frames, len(motions[a]), len(motions[b]), blend)]
        errors = mean_errors(distance, rows[a], rows[b], frames, 1)
        means = mean_errors(distance, rows[a], rows[b], frames, blend)
        made.append(maker.one_way((a, b), frames, errors, means))
    whole = Transitions.joined(made)
    return TransitionReport(
        whole, float(whole.errors.max(initial=0.0)), {}, 0, len(maker.abrupt), smooth
    )


def blended(
    motions: Sequence[Motion],
    foot_supports: Sequence[FootSupport] | Mapping[int, FootSupport],
    source: Ints,
    target: Ints,
    blend: int,
    root_path: RootPath = "aligned",
) -> Transition:
    """Blend the transition from `source` to `target`, each a motion and a frame (2,)."""
    windows = []
    for motion, frame in (source, target):
        part = slice(int(frame) - blend // 2, int(frame) - blend // 2 + blend)
        clip = motions[motion]
        contacts = foot_supports[int(motion)].parts[part]
        windows.append(Window(clip.rotations[part], clip.root[part], contacts))
    return transition(motions[0].skeleton, *windows, root_path=root_path)


def _threshold(good: dict[tuple[int, int], TransitionCandidates], wanted: int, options) -> float:
    """Return the smallest threshold that `wanted` candidates pass, or all if there are fewer."""
    scores = {pair: group.scores for pair, group in good.items() if len(group)}
    if not scores:
        return 0.0
    steps = np.unique(np.concatenate(list(scores.values())))
    best = {pair: float(group.min()) for pair, group in scores.items()}
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        alike = (good[pair] for pair, score in best.items() if score <= steps[middle])
        left = sum(len(rows_below(group, steps[middle], **options)[0]) for group in alike)
        low, high = (low, middle) if left >= wanted else (middle + 1, high)
    return float(steps[low])


def _cut_off(count: int, made: dict[tuple[int, int], Transitions]) -> set[int]:
    """Return the motions outside the largest strongly connected component."""
    whole = Transitions.joined(list(made.values()))
    kept = endless(whole.leave, whole.enter)
    return set(range(count)) - {int(motion) for motion in whole.source[kept, 0]}


class _Maker:
    """Creates transitions: computes each candidate once and counts abrupt transitions."""

    def __init__(
        self,
        motions,
        foot_supports,
        blend: int,
        smooth: float | None,
        window: str = "centered",
        root_path: RootPath = "aligned",
    ) -> None:
        self.motions, self.foot_supports, self.blend = motions, foot_supports, blend
        self.smooth, self.window, self.root_path = smooth, window, root_path
        self.abrupt: set[tuple[int, ...]] = set()
        self._known: dict[tuple[int, ...], tuple[NDArray[np.float64], float]] = {}

    def made(
        self, pair: tuple[int, int], candidates: TransitionCandidates, limit: float
    ) -> Transitions:
        """Return the transitions in both directions at the candidates of a pair of motions.

        `limit` is the maximum mean error. It applies to each direction, because the transition
        back may blend other frames.
        """
        if not len(candidates):
            return self._none
        there, reverse = window_centers(candidates.frames, self.blend, self.window)
        back = candidates.means if candidates.back is None else candidates.back
        parts = []
        for (a, b), frames, means in (
            (pair, there, candidates.means),
            (pair[::-1], reverse, back),
        ):
            kept = means <= limit
            parts.append(self.one_way((a, b), frames[kept], candidates.errors[kept], means[kept]))
        made = Transitions.joined(parts)
        if pair[0] != pair[1] or candidates.back is None:
            return made
        # Within one motion, a transition and the transition back of another candidate may be equal.
        keys = np.concatenate([made.source, made.target], axis=1)
        return made.select(np.sort(np.unique(keys, axis=0, return_index=True)[1]))

    @cached_property
    def _none(self) -> Transitions:
        return self.one_way((0, 0), np.zeros((0, 2), np.int64), np.zeros(0), np.zeros(0))

    def one_way(
        self,
        pair: tuple[int, int],
        frames: Ints,
        errors: NDArray[np.float64],
        means: NDArray[np.float64],
    ) -> Transitions:
        """Return the smooth transitions from the first motion of a pair to the second."""
        planned = Transitions(
            np.column_stack([np.full(len(frames), pair[0]), frames[:, 0]]),
            np.column_stack([np.full(len(frames), pair[1]), frames[:, 1]]),
            errors,
            means,
            np.zeros((len(frames), 3)),
            np.zeros(len(frames)),
            self.blend,
            self.root_path,
        )
        good = np.ones(len(planned), dtype=bool)
        for k in range(len(planned)):
            source, target = planned.source[k], planned.target[k]
            key = (*source.tolist(), *target.tolist())
            if key not in self._known:
                made = blended(
                    self.motions, self.foot_supports, source, target, self.blend, self.root_path
                )
                abruptness = _abruptness(self.motions, planned, k, made)
                self._known[key] = (made.transform.to_array(), abruptness)
            planned.transforms[k], planned.accelerations[k] = self._known[key]
            if self.smooth is not None and (
                planned.accelerations[k] > self.smooth * self._usual(int(source[0]), int(target[0]))
            ):
                good[k] = False
                self.abrupt.add(key)
        return planned.select(good)

    def _usual(self, source: int, target: int) -> float:
        """Return the reference acceleration for a transition between two motions, in m/s^2.

        This is the smaller of two values: the usual acceleration of all motions, and that of the
        livelier of the two motions. A walk in a set of runs must not jerk as runs do.
        """
        whole, each = self._accelerations
        return min(whole, max(each[source], each[target]))

    @cached_property
    def _accelerations(self) -> tuple[float, list[float]]:
        """Usual acceleration of all motions together, and of each motion."""
        return _usual(self.motions), [_usual([motion]) for motion in self.motions]


def _usual(motions: Sequence[Motion]) -> float:
    """Return the usual acceleration of the motions that have at least three frames."""
    moving = [motion for motion in motions if len(motion) > 2]
    return usual_acceleration(moving) if moving else 0.0


def _abruptness(motions, planned: Transitions, k: int, made: Transition) -> float:
    """Return the largest joint acceleration in a transition and its adjacent frames, in m/s^2."""
    (a, leave), (b, enter) = planned.leave[k], planned.enter[k]
    before, after = motions[a], motions[b]
    margin = max(round(0.25 * before.fps) - planned.blend // 2 + 2, 2)
    head = slice(max(int(leave) - margin, 0), int(leave))
    tail = slice(int(enter), int(enter) + margin)
    turned, path = made.transform.apply_to_poses(after.rotations[tail], after.root[tail])
    rotations = np.concatenate([before.rotations[head], made.rotations, turned])
    root = np.concatenate([before.root[head], made.root, path])
    skeleton = before.skeleton
    places = joint_positions(rotations, root, skeleton.parents, skeleton.offsets)
    jerks = np.diff(places.astype(np.float64), n=2, axis=0)
    return float(np.linalg.norm(jerks, axis=-1).max(initial=0.0)) * before.fps**2
