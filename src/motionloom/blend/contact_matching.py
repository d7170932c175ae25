"""Which contact of one example is which of another, and the contacts of a blend.

Two plants of the same foot part that overlap in registered time are the same plant. A plant
of a blend begins and ends where those of its examples do, by the weights. Where an example
has no counterpart, the moments in it that correspond to the others' stand in; the blend has
the plant if the examples that have it weigh more than half.

Feet cannot be matched where, at corresponding times, the one stands on the left foot alone and
the other on the right one alone, or where a foot stands for long in the one and never in the
other: blending a walk that starts on the left foot with one that starts on the right gives
neither ("the wrong foot", Kovar & Gleicher 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.contacts import FOOT_PARTS, SIDES, FootContacts, Plant, intervals

_SAME = 0.3  # share of the shorter of two plants that must overlap for them to be the same
_LONG = 0.2  # seconds: only contacts as long as this can make examples unmatchable
_COVERED = 0.2  # share of a long contact in which the other's foot must stand, too
_SHORTEST = 0.05  # seconds: shorter plants of a blend are left out


@dataclass(frozen=True, eq=False)
class MatchedContacts:
    """Plants of N examples, matched: M plants.

    Attributes
    ----------
    parts : ndarray of int, shape (M,)
        Which of `motionloom.motion.contacts.FOOT_PARTS` stands.
    spans : ndarray, shape (M, N, 2)
        First and last frame of each plant in each example.
    present : ndarray of bool, shape (M, N)
        Whether the example has the plant; else `spans` are where it would be.
    heights : ndarray, shape (M, N)
        Of the part above the floor, in metres.
    floors : ndarray, shape (N,)
    """

    parts: NDArray[np.int64]
    spans: NDArray[np.float64]
    present: NDArray[np.bool_]
    heights: NDArray[np.float64]
    floors: NDArray[np.float64]

    def blended(
        self,
        active: NDArray[np.int64],
        weights: NDArray[np.float64],
        *,
        frames: int,
        clock: tuple[NDArray[np.float64], NDArray[np.float64]],
        fps: float,
    ) -> FootContacts:
        """Contacts of a blend of `active` examples (n,) with `weights` (n,).

        Parameters
        ----------
        active, weights : ndarray, shape (n,)
        frames : int
            Frames of the blend.
        clock : tuple of ndarray
            Weighted frames of the examples, and the frames of the blend they fall on.
        fps : float
        """
        has = self.present[:, active] @ weights
        # Heights only of those that have the plant; spans of all.
        mean = (self.present[:, active] * self.heights[:, active]) @ weights
        spans = np.interp(np.einsum("mnc,n->mc", self.spans[:, active], weights), *clock)
        first = np.maximum(np.ceil(spans[:, 0] - 1e-3), 0).astype(np.int64)
        end = np.minimum(np.floor(spans[:, 1] + 1e-3) + 1, frames).astype(np.int64)
        plants: dict[str, tuple[Plant, ...]] = {}
        for k, part in enumerate(FOOT_PARTS):
            rows = np.flatnonzero((self.parts == k) & (has > 0.5) & (end - first > _SHORTEST * fps))
            rows = rows[np.argsort(first[rows], kind="stable")]
            plants[part] = _apart([(int(first[m]), int(end[m]), mean[m] / has[m]) for m in rows])
        return FootContacts(plants, float(self.floors[active] @ weights), frames, fps)

    def standing(
        self, active: NDArray[np.int64], weights: NDArray[np.float64], times: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Which foot parts of a blend stand while its examples are at frames `times` (n,).

        Returns
        -------
        standing : ndarray of bool, shape (4,)
            In the order of `motionloom.motion.contacts.FOOT_PARTS`.
        """
        now = float(times @ weights)
        spans = np.einsum("mnc,n->mc", self.spans[:, active], weights)
        holds = (self.present[:, active] @ weights > 0.5) & (spans[:, 0] <= now + 1e-3)
        holds &= now <= spans[:, 1] + 1e-3
        return np.bincount(self.parts[holds], minlength=len(FOOT_PARTS)) > 0


def matched_contacts(
    contacts: Sequence[FootContacts], times: NDArray[np.float64], order: Sequence[int]
) -> MatchedContacts:
    """Match the plants of N examples.

    Parameters
    ----------
    contacts : sequence of FootContacts, length N
    times : ndarray, shape (K, N)
        Frames that happen together; strictly increasing columns.
    order : sequence of int
        The examples, those first that others are compared with.
    """
    parts, spans, present, heights = [], [], [], []
    moments = np.arange(len(times), dtype=np.float64)
    for k, part in enumerate(FOOT_PARTS):
        groups: list[dict[int, tuple[float, float, float]]] = []
        for n in order:
            for plant in contacts[n].plants.get(part, ()):
                ends = np.array([plant.start_frame, plant.end_frame - 1], np.float64)
                low, high = np.interp(ends, times[:, n], moments)
                _sort_in(groups, n, (float(low), float(high), plant.height))
        for group in groups:
            middle = np.mean([(low, high) for low, high, _ in group.values()], axis=0)
            at = np.empty((times.shape[1], 2))
            tall = np.zeros(times.shape[1])
            for n in range(times.shape[1]):
                low, high, tall[n] = group.get(n, (*middle, 0.0))
                at[n] = np.interp([low, high], moments, times[:, n])
            parts.append(k)
            spans.append(at)
            present.append([n in group for n in range(times.shape[1])])
            heights.append(tall)
    examples = times.shape[1]
    return MatchedContacts(
        np.array(parts, np.int64),
        np.array(spans).reshape(len(parts), examples, 2),
        np.array(present, bool).reshape(len(parts), examples),
        np.array(heights).reshape(len(parts), examples),
        np.array([c.floor for c in contacts]),
    )


def unmatched_feet(
    contacts: Sequence[FootContacts], times: NDArray[np.float64]
) -> dict[int, tuple[str, float]]:
    """Examples whose feet stand when the first example's do not, or the other way round.

    Parameters
    ----------
    contacts : sequence of FootContacts, length N
    times : ndarray, shape (K, N)
        Frames that happen together.

    Returns
    -------
    unmatched : dict
        Example to the side (``"left"``, ``"right"``) of a contact that has no counterpart
        and the frame of the first example in its middle.
    """
    found: dict[int, tuple[str, float]] = {}
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
            # The one stands on this foot alone, the other on the other foot alone.
            crossed = here & ~there & ~stands[other_side][0] & stands[other_side][n]
            for start, end in (*runs, *intervals(crossed)):
                lasting = np.ptp(times[[start, end - 1]][:, [0, n]], axis=0) + 1.0
                if lasting.min() >= _LONG * contacts[0].fps:
                    found.setdefault(n, (side, float(times[(start + end) // 2, 0])))
    return found


def _standing(contacts, times, side) -> list[NDArray[np.bool_]]:
    """Whether the foot of each example stands at each of the K moments."""
    masks = []
    for n, contact in enumerate(contacts):
        rows = np.clip(np.rint(times[:, n]).astype(int), 0, contact.frames - 1)
        masks.append(contact.standing(side)[rows])
    return masks


def _sort_in(groups: list[dict], n: int, span: tuple[float, float, float]) -> None:
    """Put a plant of example `n` to the group it overlaps most, or begin a new one."""
    low, high, height = span
    best, most = None, 0.0
    for group in groups:
        ends = np.array([(a, b) for a, b, _ in group.values()])
        a, b = ends.mean(axis=0)
        shared = (min(b, high) - max(a, low) + 1.0) / (min(b - a, high - low) + 1.0)
        if shared > max(_SAME, most):
            best, most = group, shared
    if best is None:
        groups.append({n: span})
    elif n in best:  # one plant here, two with a gap there: they are one
        a, b, tall = best[n]
        best[n] = (min(a, low), max(b, high), 0.5 * (tall + height))
    else:
        best[n] = span


def _apart(found: list[tuple[int, int, float]]) -> tuple[Plant, ...]:
    """Plants of one part in order of time; what overlaps is cut in the middle."""
    kept: list[tuple[int, int, float]] = []
    for start, end, height in found:
        if kept and start < kept[-1][1]:
            before = kept[-1]
            if end <= before[1]:
                continue
            middle = (start + before[1]) // 2
            kept[-1] = (before[0], max(middle, before[0] + 1), before[2])
            start = kept[-1][1]
        kept.append((start, end, height))
    return tuple(Plant(start, end, float(height)) for start, end, height in kept)
