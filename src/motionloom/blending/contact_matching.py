"""Matching of foot contacts between examples, and their merging into the contacts of a blend.

Two plants (contacts of a foot part) match if they overlap in registered time. A plant in a blend
begins and ends at the weighted mean times of its examples' plants. If an example lacks the plant,
the corresponding times of the other examples are used. The blend has the plant if the examples that
have it carry more than half of the weight. Two plants of one example at the same position are
matched as one plant. A long gap between them is a lift, as when the heels rise in a high reach.
Lifts are matched like plants.

Feet cannot be matched in three cases: at corresponding times, one example stands on the left foot
only and the other on the right foot only; a foot has a long contact in one example and none in the
other; or a foot takes a step in one example and stays in place in the other. If a walk that starts
on the left foot is blended with one that starts on the right foot, the result resembles neither
(Kovar & Gleicher 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion
from motionloom.motion.feet.contacts import FOOT_PARTS, SIDES, FootContacts, Plant, part_path
from motionloom.motion.segment import intervals

_SAME = 0.3  # share of the shorter of two matching plants that must overlap
_LONG = 0.2  # seconds: only longer contacts make examples unmatched
_LIFT = 0.1  # seconds: a shorter gap between two plants at one position does not count as a lift
_COVERED = 0.2  # share of a long contact during which the other example's foot is also in contact
_STEP = 0.15  # meters: plants of a foot that are at least this far from each other are a step
_SAME_POSITION = 0.06  # meters: closer plants count as one plant with a gap
_SHORTEST = 0.05  # seconds: shorter plants of a blend are dropped


class _Span(NamedTuple):
    """A plant in registered time, its height, and its position on the floor."""

    low: float
    high: float
    height: float
    position: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MatchedContacts:
    """M plants and lifts, matched across N examples.

    Attributes
    ----------
    parts : ndarray of int, shape (M,)
        Foot part of each plant or lift, as an index into
        `motionloom.motion.feet.contacts.FOOT_PARTS`.
    lifts : ndarray of bool, shape (M,)
        True for a lift, False for a plant.
    spans : ndarray, shape (M, N, 2)
        First and last frame of each plant in each example. For a lift: the last frame before it
        and the first frame after it.
    present : ndarray of bool, shape (M, N)
        True where the example has the plant or lift. Elsewhere, `spans` holds the frames where it
        would be.
    heights : ndarray, shape (M, N)
        Height of the part above the floor, in meters.
    floors : ndarray, shape (N,)
    """

    parts: NDArray[np.int64]
    lifts: NDArray[np.bool_]
    spans: NDArray[np.float64]
    present: NDArray[np.bool_]
    heights: NDArray[np.float64]
    floors: NDArray[np.float64]

    def only(self, numbers: Sequence[int]) -> MatchedContacts:
        """Return the matched contacts of only the examples in `numbers`, in this order."""
        return MatchedContacts(
            self.parts,
            self.lifts,
            self.spans[:, numbers],
            self.present[:, numbers],
            self.heights[:, numbers],
            self.floors[numbers],
        )

    def blended(
        self,
        active: NDArray[np.int64],
        weights: NDArray[np.float64],
        *,
        frames: int,
        clock: tuple[NDArray[np.float64], NDArray[np.float64]],
        fps: float,
    ) -> FootContacts:
        """Return the contacts of a blend.

        Parameters
        ----------
        active, weights : ndarray, shape (n,)
            Indices and weights of the examples.
        frames : int
            Number of frames in the blend.
        clock : tuple of ndarray
            Weighted frames of the examples, and the corresponding frames of the blend.
        fps : float
        """
        has = self.present[:, active] @ weights
        # Heights come from the examples that have the plant; spans come from all.
        mean = (self.present[:, active] * self.heights[:, active]) @ weights
        spans = np.interp(np.einsum("mnc,n->mc", self.spans[:, active], weights), *clock)
        first = np.maximum(np.ceil(spans[:, 0] - 1e-3), 0).astype(np.int64)
        end = np.minimum(np.floor(spans[:, 1] + 1e-3) + 1, frames).astype(np.int64)
        gone = (np.floor(spans[:, 0] + 1e-3) + 1).astype(np.int64)
        back = np.ceil(spans[:, 1] - 1e-3).astype(np.int64)
        plants: dict[str, tuple[Plant, ...]] = {}
        for k, part in enumerate(FOOT_PARTS):
            mine = (self.parts == k) & (has > 0.5)
            rows = np.flatnonzero(mine & ~self.lifts)
            stood = [(int(first[m]), int(end[m]), mean[m] / has[m]) for m in rows]
            for m in np.flatnonzero(mine & self.lifts & (gone < back)):
                stood = _lifted(stood, int(gone[m]), int(back[m]))
            lasting = (plant for plant in stood if plant[1] - plant[0] > _SHORTEST * fps)
            plants[part] = _apart(sorted(lasting, key=lambda plant: plant[0]))
        return FootContacts(plants, float(self.floors[active] @ weights), frames, fps)

    def standing(
        self, active: NDArray[np.int64], weights: NDArray[np.float64], times: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Return the contacts (4,) of a blend while its examples are at frames `times` (n,).

        The contacts are in the order of `motionloom.motion.feet.contacts.FOOT_PARTS`.
        """
        now = float(times @ weights)
        spans = np.einsum("mnc,n->mc", self.spans[:, active], weights)
        has = self.present[:, active] @ weights > 0.5
        holds = has & ~self.lifts & (spans[:, 0] <= now + 1e-3) & (now <= spans[:, 1] + 1e-3)
        lifted = has & self.lifts & (spans[:, 0] + 1e-3 < now) & (now < spans[:, 1] - 1e-3)
        stands = np.bincount(self.parts[holds], minlength=len(FOOT_PARTS)) > 0
        return stands & (np.bincount(self.parts[lifted], minlength=len(FOOT_PARTS)) == 0)


PlantPositions = Sequence[dict[str, NDArray[np.float64]]]


def plant_positions(motion: Motion, contacts: FootContacts) -> dict[str, NDArray[np.float64]]:
    """Return the floor positions ``x, z`` of the plants, one array (P, 2) per foot part."""
    positions = {}
    for part, plants in contacts.plants.items():
        path = part_path(motion, part)[:, [0, 2]] if plants else np.empty((0, 2))
        rows = [np.median(path[plant.start_frame : plant.end_frame], axis=0) for plant in plants]
        positions[part] = np.array(rows).reshape(-1, 2)
    return positions


def matched_contacts(
    contacts: Sequence[FootContacts],
    positions: PlantPositions,
    times: NDArray[np.float64],
    order: Sequence[int],
) -> MatchedContacts:
    """Match the plants of N examples.

    Parameters
    ----------
    contacts : sequence of FootContacts, length N
    positions : sequence of dict, length N
        Positions of the plants; see `plant_positions`.
    times : ndarray, shape (K, N)
        Corresponding frames of the N examples; each column must increase strictly.
    order : sequence of int
        The examples, in the order in which they are compared.
    """
    parts, raised, spans, present, heights = [], [], [], [], []
    moments = np.arange(len(times), dtype=np.float64)
    for k, part in enumerate(FOOT_PARTS):
        groups: list[dict[int, _Span]] = []
        lifts: list[dict[int, _Span]] = []
        for n in order:
            for i, plant in enumerate(contacts[n].plants.get(part, ())):
                ends = np.array([plant.start_frame, plant.end_frame - 1], np.float64)
                low, high = np.interp(ends, times[:, n], moments)
                span = _Span(float(low), float(high), plant.height, positions[n][part][i])
                before = _sort_in(groups, n, span)
                if before is not None:
                    up = np.interp([before.high, span.low], moments, times[:, n])
                    if up[1] - up[0] > _LIFT * contacts[n].fps:
                        _sort_in(lifts, n, _Span(before.high, span.low, 0.0, np.zeros(2)))
        for number, group in enumerate((*groups, *lifts)):
            middle = np.mean([(span.low, span.high) for span in group.values()], axis=0)
            at = np.empty((times.shape[1], 2))
            tall = np.zeros(times.shape[1])
            for n in range(times.shape[1]):
                low, high = (group[n].low, group[n].high) if n in group else middle
                tall[n] = group[n].height if n in group else 0.0
                at[n] = np.interp([low, high], moments, times[:, n])
            parts.append(k)
            raised.append(number >= len(groups))
            spans.append(at)
            present.append([n in group for n in range(times.shape[1])])
            heights.append(tall)
    examples = times.shape[1]
    return MatchedContacts(
        np.array(parts, np.int64),
        np.array(raised, bool),
        np.array(spans).reshape(len(parts), examples, 2),
        np.array(present, bool).reshape(len(parts), examples),
        np.array(heights).reshape(len(parts), examples),
        np.array([c.floor for c in contacts]),
    )


def unmatched_feet(
    contacts: Sequence[FootContacts], positions: PlantPositions, times: NDArray[np.float64]
) -> dict[int, tuple[str, float]]:
    """Return the examples whose foot contacts cannot be matched with the first example.

    Parameters
    ----------
    contacts : sequence of FootContacts, length N
    positions : sequence of dict, length N
        Positions of the plants; see `plant_positions`.
    times : ndarray, shape (K, N)
        Corresponding frames of the N examples.

    Returns
    -------
    unmatched : dict
        Maps the index of an example to a contact without a counterpart: the side (``"left"`` or
        ``"right"``), and the first example's frame in the middle of the contact.
    """
    unmatched: dict[int, tuple[str, float]] = {}
    stands = {side: _standing(contacts, times, side) for side in SIDES}
    for n in range(1, len(contacts)):
        for side, other_side in (SIDES, SIDES[::-1]):
            here, there = stands[side][0], stands[side][n]
            runs = [
                run
                for mask, other in ((here, there), (there, here))
                for run in intervals(mask)
                if other[slice(*run)].mean() < _COVERED
            ]
            # One example stands only on this foot, and the other stands only on the opposite foot.
            crossed = here & ~there & ~stands[other_side][0] & stands[other_side][n]
            for start, end in (*runs, *intervals(crossed)):
                lasting = np.ptp(times[[start, end - 1]][:, [0, n]], axis=0) + 1.0
                if lasting.min() >= _LONG * contacts[0].fps:
                    unmatched.setdefault(n, (side, float(times[(start + end) // 2, 0])))
            for number, mask in ((0, there), (n, here)):
                for start, end in _steps(
                    contacts[number], positions[number], times[:, number], side
                ):
                    if mask[start:end].all():
                        unmatched.setdefault(n, (side, float(times[(start + end) // 2, 0])))
    return unmatched


def _steps(contacts, positions, times, side) -> list[tuple[int, int]]:
    """Return the intervals between consecutive plants of a foot's ball that are a step apart."""
    part = f"{side}_ball"
    plants = contacts.plants.get(part, ())
    steps = []
    for i, (before, after) in enumerate(zip(plants, plants[1:], strict=False)):
        if np.linalg.norm(positions[part][i + 1] - positions[part][i]) > _STEP:
            start = np.searchsorted(times, before.end_frame - 1, side="right")
            end = np.searchsorted(times, after.start_frame)
            steps.append((int(start), max(int(end), int(start) + 1)))
    return steps


def _standing(contacts, times, side) -> list[NDArray[np.bool_]]:
    """Return a mask (K,) for each example: True at the times when the foot is in contact."""
    masks = []
    for n, contact in enumerate(contacts):
        rows = np.clip(np.rint(times[:, n]).astype(int), 0, contact.frames - 1)
        masks.append(contact.standing(side)[rows])
    return masks


def _sort_in(groups: list[dict[int, _Span]], n: int, span: _Span) -> _Span | None:
    """Add a plant of example `n` to the group that it overlaps most, or to a new group.

    Returns the example's previous plant if the two were joined.
    """
    best, most = None, 0.0
    for group in groups:
        others = [other for m, other in group.items() if m != n] or [group[n]]
        low, high = np.mean([(other.low, other.high) for other in others], axis=0)
        shared = min(high, span.high) - max(low, span.low) + 1.0
        shared /= min(high - low, span.high - span.low) + 1.0
        apart = np.linalg.norm(group[n].position - span.position) if n in group else 0.0
        if shared > max(_SAME, most) and apart < _SAME_POSITION:
            best, most = group, shared
    if best is None:
        groups.append({n: span})
    elif n in best:  # two plants with a gap between them match one plant: join them
        old = best[n]
        ends = min(old.low, span.low), max(old.high, span.high)
        best[n] = _Span(
            *ends, 0.5 * (old.height + span.height), 0.5 * (old.position + span.position)
        )
        return old
    else:
        best[n] = span
    return None


def _lifted(
    plants: list[tuple[int, int, float]], gone: int, back: int
) -> list[tuple[int, int, float]]:
    """Return the plants without the frames from `gone` to `back`."""
    halves = [
        half
        for start, end, height in plants
        for half in ((start, min(end, gone), height), (max(start, back), end, height))
    ]
    return [(start, end, height) for start, end, height in halves if start < end]


def _apart(plants: list[tuple[int, int, float]]) -> tuple[Plant, ...]:
    """Return one foot part's plants in chronological order, splitting overlaps in the middle."""
    kept: list[tuple[int, int, float]] = []
    for start, end, height in plants:
        if kept and start < kept[-1][1]:
            before = kept[-1]
            if end <= before[1]:
                continue
            middle = (start + before[1]) // 2
            kept[-1] = (before[0], max(middle, before[0] + 1), before[2])
            start = kept[-1][1]
        kept.append((start, end, height))
    return tuple(Plant(start, end, float(height)) for start, end, height in kept)
