"""Acting a script: one segment for each phrase, chosen together, joined by transitions.

The segments are chosen by dynamic programming: how well each shows its phrase, and how near the
poses and velocities are at the best pair of frames at which one can hand over to the next. Where
two do not fit, a bridge (standing up, standing, a few steps) is put between them if that fits
better. Transitions are those of motion graphs (`motionloom.blending.transitions`), and feet are
locked in the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.acting.candidates import (
    SEAM,
    PhraseCandidate,
    candidates,
    nearest_phrases,
    pose_rows,
)
from motionloom.blending.examples import conform
from motionloom.blending.transitions import Window, transition
from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Provenance, Source
from motionloom.motion.diagnostics.quality import quality_report
from motionloom.motion.feet.clean import clean_feet
from motionloom.motion.feet.contacts import FOOT_PARTS
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.store.store import Store
from motionloom.words.script import Phrase, parse_script
from motionloom.words.text_index import TextIndex

Array = NDArray[np.float64]

_MATCH = 0.6  # cost of a segment that shows nothing of its phrase
_BRIDGE = 0.1  # cost of a bridge
_FITS = 0.12  # a seam that costs less needs no bridge
_BRIDGES = ("stand up", "sit down", "stand", "walk forward")


@dataclass(frozen=True)
class PlannedPhrase:
    """A phrase, the frames that show it, and the cost of the seam before it."""

    phrase: str
    motion: str
    start_frame: int
    end_frame: int
    text: str
    match: float
    seam: float
    start: float = 0.0  # seconds of the result
    end: float = 0.0

    def __str__(self) -> str:
        return f"{self.motion}:{self.start_frame}-{self.end_frame}"


@dataclass(frozen=True, eq=False)
class ActedScript:
    """A motion made from a script, and the plan it follows."""

    motion: Motion
    plan: tuple[PlannedPhrase, ...]


def plan_script(index: TextIndex, library: Store, script: str) -> tuple[PlannedPhrase, ...]:
    """The segments that a script is acted with, in order.

    Raises
    ------
    InvalidInput
        If the script is empty, too long, or has a phrase that no motion shows.
    """
    phrases: list[Phrase] = []
    choices: list[list[PhraseCandidate]] = []
    for phrase in parse_script(script):
        found = candidates(index, library, phrase)
        if not found:
            near = nearest_phrases(index, phrase)
            also = f"; the nearest is {', '.join(map(repr, near))}" if near else ""
            raise InvalidInput(f"no motion of the library shows {phrase.text!r}{also}")
        counted = [each for each in found if each.count == phrase.times]
        if phrase.times > 1 and counted:
            rows = [counted]
        else:
            once = [each for each in found if each.count == 1] or found
            count = _repeats(phrase, found, library)
            if phrase.seconds is not None and count > phrase.times:
                part = replace(phrase, seconds=phrase.seconds / count)
                once = candidates(index, library, part) or once
            rows = [once] * count
        phrases += [phrase] * len(rows)
        choices += rows
    bridges = [each for text in _BRIDGES for each in candidates(index, library, _bridge(text))[:6]]
    return _chosen(library, phrases, choices, bridges)


def _bridge(text: str) -> Phrase:
    return Phrase(text, text, 0.8 if text.startswith("walk") else None)


def act_plan(library: Store, plan: Sequence[PlannedPhrase]) -> ActedScript:
    """The motion of a plan."""
    seam = {each.motion: round(SEAM * library.entry(each.motion).fps) for each in plan}
    parts, offsets = [], []
    for n, each in enumerate(plan):
        take, half = library[each.motion], seam[each.motion]
        a, b = max(each.start_frame - half, 0), min(each.end_frame + half, len(take))
        parts.append(replace(take[a:b], name=f"part_{n}", provenance=None))
        offsets.append((each.start_frame - a, each.end_frame - a, a))
    ready = conform(parts)
    fps = ready[0].fps
    half = round(SEAM * fps)
    joined, places = _joined(ready, plan, offsets, [p.fps for p in parts], half)
    locked = clean_feet(joined)[0]
    result = replace(joined, rotations=locked.rotations, root=locked.root)
    result = result.with_quality(quality_report(result, sources=ready))
    timed = tuple(
        replace(each, start=start / fps, end=end / fps)
        for each, (start, end) in zip(plan, places, strict=True)
    )
    return ActedScript(result, timed)


def _repeats(phrase: Phrase, found: Sequence[PhraseCandidate], library: Store) -> int:
    """How many segments a phrase needs: repetitions, or parts of a long duration."""
    if phrase.seconds is None:
        return phrase.times
    lengths = [(each.end - each.start) / library.entry(each.motion).fps for each in found]
    return max(phrase.times, math.ceil(phrase.seconds / max(lengths) - 0.2))


def _chosen(
    library: Store,
    phrases: Sequence[Phrase],
    choices: Sequence[Sequence[PhraseCandidate]],
    bridges: Sequence[PhraseCandidate],
) -> tuple[PlannedPhrase, ...]:
    """The cheapest sequence of candidates, with bridges where they help."""
    seams = _Seams(library)
    costs = [_MATCH * (1.0 - each.match) for each in choices[0]]
    back: list[list[int]] = []
    for before, now in zip(choices[:-1], choices[1:], strict=True):
        table = np.array([[seams.cost(a, b) for b in now] for a in before])
        whole = np.asarray(costs)[:, None] + table
        back.append(np.argmin(whole, axis=0).tolist())
        costs = (whole.min(axis=0) + [_MATCH * (1.0 - each.match) for each in now]).tolist()
    k = int(np.argmin(costs))
    picked = [k]
    for row in reversed(back):
        picked.append(k := row[k])
    order = [choices[n][k] for n, k in enumerate(reversed(picked))]
    line: list[tuple[str, PhraseCandidate]] = []
    for n, (phrase, each) in enumerate(zip(phrases, order, strict=True)):
        if n:
            direct = seams.cost(order[n - 1], each)
            through = [seams.cost(order[n - 1], x) + seams.cost(x, each) + _BRIDGE for x in bridges]
            if direct > _FITS and through and min(through) < direct:
                line.append(("(bridge)", bridges[int(np.argmin(through))]))
        line.append((phrase.text, each))
    return _frames(line, seams)


def _frames(
    line: Sequence[tuple[str, PhraseCandidate]], seams: _Seams
) -> tuple[PlannedPhrase, ...]:
    """Frames of each candidate between its seams."""
    starts = [each.start for _, each in line]
    ends = [each.end for _, each in line]
    # The frames before the first event and after the last one lead in and out.
    starts[0], ends[-1] = line[0][1].lead_in, line[-1][1].lead_out
    costs = [0.0] * len(line)
    for n in range(1, len(line)):
        costs[n], ends[n - 1], starts[n] = seams.best(line[n - 1][1], line[n][1])
    return tuple(
        PlannedPhrase(text, each.motion, a, b, each.text, each.match, round(cost, 3))
        for (text, each), a, b, cost in zip(line, starts, ends, costs, strict=True)
    )


class _Seams:
    """The best pair of frames to go from one candidate to another, and what it costs."""

    def __init__(self, library: Store) -> None:
        self.library = library
        self.known: dict[tuple[PhraseCandidate, PhraseCandidate], tuple[float, int, int]] = {}
        self.rows: dict[tuple[str, int, int], Array] = {}

    def cost(self, a: PhraseCandidate, b: PhraseCandidate) -> float:
        return self.best(a, b)[0]

    def best(self, a: PhraseCandidate, b: PhraseCandidate) -> tuple[float, int, int]:
        """Cost, last frame of `a` (not included), first frame of `b`."""
        if (a, b) not in self.known:
            lasts, firsts = (a.end, max(a.last, a.end)), (min(b.first, b.start), b.start)
            x = self._rows(a.motion, lasts[0] - 1, lasts[1])
            y = self._rows(b.motion, firsts[0], firsts[1] + 1)
            gap = np.sqrt(np.maximum((x**2).sum(1)[:, None] + (y**2).sum(1) - 2.0 * x @ y.T, 0.0))
            # Near to the events: what is between them is not asked for.
            late = 0.02 * np.arange(len(x))[:, None] / max(len(x), 1)
            early = 0.02 * np.arange(len(y))[::-1] / max(len(y), 1)
            i, j = np.unravel_index(np.argmin(gap + late + early), gap.shape)
            self.known[a, b] = (float(gap[i, j]), lasts[0] + int(i), firsts[0] + int(j))
        return self.known[a, b]

    def _rows(self, name: str, start: int, end: int) -> Array:
        key = (name, start, end)
        if key not in self.rows:
            self.rows[key] = pose_rows(self.library[name], start, end)
        return self.rows[key]


def _joined(
    ready: Sequence[Motion],
    plan: Sequence[PlannedPhrase],
    offsets: Sequence[tuple[int, int, int]],
    rates: Sequence[float],
    half: int,
) -> tuple[Motion, list[tuple[int, int]]]:
    """The parts one after the other, with transitions; frames of each in the result."""
    skeleton, fps = ready[0].skeleton, ready[0].fps
    rotations: list[NDArray] = []
    roots: list[NDArray] = []
    sources, seams, places = [], [], []
    place = PlanarTransform(0.0, 0.0, 0.0)
    at = 0
    held: tuple[NDArray, NDArray] | None = None  # the transition into the next part
    for n, (part, each) in enumerate(zip(ready, plan, strict=True)):
        scale = fps / rates[n]
        first, last = (round(scale * value) for value in offsets[n][:2])
        last = min(max(last, first + 1), len(part))
        start = first
        begin = at
        if held is not None:
            rotations.append(held[0])
            roots.append(held[1])
            seams.append(at + len(held[0]) // 2)
            at += len(held[0])
            start = first + half
        window = None
        if n + 1 < len(ready):
            after = ready[n + 1]
            next_first = round(fps / rates[n + 1] * offsets[n + 1][0])
            reach = min(half, last - start - 1, len(part) - last, next_first,
                        len(after) - next_first)  # fmt: skip
            reach = max(reach, 1)
            window = (_window(part, last - reach, last + reach),
                      _window(after, next_first - reach, next_first + reach))  # fmt: skip
            stop = last - reach
        else:
            stop = last
        q, p = place.apply_to_poses(part.rotations[start:stop], part.root[start:stop])
        rotations.append(q)
        roots.append(p)
        at += max(stop - start, 0)
        if window is not None:
            crossing = transition(skeleton, *window)
            q, p = place.apply_to_poses(crossing.rotations, crossing.root)
            held = (q, p)
            place = place @ crossing.transform
            half = len(q) // 2
        end = at + (half if window is not None else 0)
        offset = offsets[n][2]
        sources.append(
            Source(each.motion, offset + first / scale, offset + last / scale, begin, end)
        )
        places.append((begin, end))
    motion = Motion(
        skeleton, np.concatenate(rotations), np.concatenate(roots), fps, name="act",
        provenance=Provenance(tuple(sources), tuple(seams)),
    )  # fmt: skip
    return motion, places


def _window(motion: Motion, start: int, end: int) -> Window:
    contacts = motion.contacts()
    held = np.zeros((len(motion), len(FOOT_PARTS)), bool)
    for k, part in enumerate(FOOT_PARTS):
        for a, b in contacts.intervals(part):
            held[a:b, k] = True
    return Window(motion.rotations[start:end], motion.root[start:end], held[start:end])
