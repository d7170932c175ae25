"""The plan of a script: one segment for each phrase, chosen together.

The segments are chosen by dynamic programming: how well each shows its phrase, and how near the
poses and velocities are at the best pair of frames at which one can hand over to the next. Where
two do not fit, a bridge (standing up, standing, a few steps) is put between them if that fits
better. "Wave while walking" takes a segment that shows both, or else the legs of one segment and
the arms of another (`motionloom.text.scripts.layers`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.store.store import Store
from motionloom.text.scripts.candidates import (
    PhraseCandidate,
    by_arms_alone,
    candidates,
    long_enough,
    nearest_phrases,
    part_of,
    pose_rows,
    repeats,
)
from motionloom.text.scripts.layers import unclean
from motionloom.text.scripts.script import Phrase, parse_script
from motionloom.text.text_index import TextIndex

Array = NDArray[np.float64]

BRIDGE = "(bridge)"
_MATCH = 0.6  # cost of a segment that shows nothing of its phrase
_BRIDGE = 0.1  # cost of a bridge
_FITS = 0.12  # a seam that costs less needs no bridge
_BRIDGES = ("stand up", "sit down", "stand", "walk forward")
_ASIDE = 0.02  # cost of a seam at the end of the frames that a seam may be in
_REPEATED = 0.02  # match by which repetitions in one take may be worse than single ones
_LAYERS = 4  # arms that are tried on legs
_AROUND_LAYER = 0.6  # seconds of the legs before and after the arms of another segment


@dataclass(frozen=True)
class PlannedPhrase:
    """A phrase, the frames that show it, and the cost of the seam before it.

    Attributes
    ----------
    phrase, motion : str
    start_frame, end_frame : int
        Frames ``[start_frame, end_frame)`` of the motion.
    text : str
        The caption or label there.
    match, seam : float
    start, end : float
        Seconds of the result.
    arms : str
        The segment whose arms are put on this one, ``take:30-90`` or ``take:30-90 left arm``;
        empty for none.
    shown : bool or None
        Whether captions of the result show the phrase; None where no caption was asked for.
    mirrored : bool
        Whether left and right are exchanged.
    """

    phrase: str
    motion: str
    start_frame: int
    end_frame: int
    text: str
    match: float
    seam: float
    start: float = 0.0
    end: float = 0.0
    arms: str = ""
    shown: bool | None = None
    mirrored: bool = False

    def __str__(self) -> str:
        own = f"{self.motion}:{self.start_frame}-{self.end_frame}{' mirrored' * self.mirrored}"
        return f"{self.arms} while {own}" if self.arms else own


@dataclass(frozen=True)
class Chosen:
    """A phrase, the candidate that was chosen for it, and the arms that are put on it."""

    phrase: Phrase
    candidate: PhraseCandidate
    arms: PhraseCandidate | None = None
    repeats: int = 1  # of the arms

    @property
    def bridge(self) -> bool:
        """Whether nobody asked for it."""
        return self.phrase.text == BRIDGE


@dataclass
class Verdicts:
    """What turned out badly when a script was acted, so that it is chosen last."""

    of: dict[PhraseCandidate, float] = field(default_factory=dict)
    between: dict[tuple[PhraseCandidate, PhraseCandidate], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """Phrases with their candidates, and bridges."""

    phrases: tuple[Phrase, ...]
    choices: tuple[Sequence[PhraseCandidate], ...]
    bridges: tuple[PhraseCandidate, ...]
    arms: Mapping[int, Sequence[PhraseCandidate]]  # by the number of the phrase


def wanted(index: TextIndex, library: Store, script: str) -> Wanted:
    """The candidates of every phrase of a script.

    Raises
    ------
    InvalidInput
        If the script is empty, too long, or has a phrase that no motion shows.
    """
    phrases: list[Phrase] = []
    choices: list[Sequence[PhraseCandidate]] = []
    arms: dict[int, Sequence[PhraseCandidate]] = {}
    for phrase in parse_script(script):
        found = candidates(index, library, phrase) if not _two_segments(phrase, library) else []
        if phrase.along and (not found or phrase.seconds is not None and found[0].match < 1.0):
            upper, lower = _layers(index, library, phrase, found)
            if upper:
                arms[len(phrases)] = upper
                phrases.append(phrase)
                choices.append(lower)
                continue
        if not found:
            raise _unmatched(index, phrase)
        rows = _repeated(index, library, phrase, found)
        phrases += [phrase] * len(rows)
        choices += rows
    bridges = [each for text in _BRIDGES for each in candidates(index, library, _bridge(text))[:6]]
    return Wanted(tuple(phrases), tuple(choices), tuple(bridges), arms)


def chosen(library: Store, asked: Wanted, verdicts: Verdicts, seams: Seams) -> list[Chosen]:
    """The cheapest sequence of candidates, with bridges where they help."""

    def cost(n: int) -> list[float]:
        return [
            _MATCH * (1.0 - each.match) + verdicts.of.get(each, 0.0) for each in asked.choices[n]
        ]

    def seam(a: PhraseCandidate, b: PhraseCandidate) -> float:
        return seams.cost(a, b) + verdicts.between.get((a, b), 0.0)

    costs = cost(0)
    back: list[list[int]] = []
    for n in range(1, len(asked.choices)):
        table = np.array([[seam(a, b) for b in asked.choices[n]] for a in asked.choices[n - 1]])
        whole = np.asarray(costs)[:, None] + table
        back.append(np.argmin(whole, axis=0).tolist())
        costs = (whole.min(axis=0) + cost(n)).tolist()
    k = int(np.argmin(costs))
    picked = [k]
    for row in reversed(back):
        picked.append(k := row[k])
    order = [asked.choices[n][k] for n, k in enumerate(reversed(picked))]
    line: list[Chosen] = []
    for n, (phrase, each) in enumerate(zip(asked.phrases, order, strict=True)):
        if n:
            direct = seam(order[n - 1], each)
            through = [
                seam(order[n - 1], x) + seam(x, each) + _BRIDGE + verdicts.of.get(x, 0.0)
                for x in asked.bridges
            ]
            if direct > _FITS and through and min(through) < direct:
                line.append(Chosen(_bridge(BRIDGE), asked.bridges[int(np.argmin(through))]))
        upper = [(verdicts.of.get(arm, 0.0), arm) for arm in asked.arms.get(n, ())]
        best = min(upper, key=lambda pair: pair[0])[1] if upper else None
        line.append(Chosen(phrase, each, best, phrase.times if best is not None else 1))
    return line


def planned(line: Sequence[Chosen], seams: Seams) -> tuple[PlannedPhrase, ...]:
    """The frames of each candidate between its seams."""
    starts = [each.candidate.start for each in line]
    ends = [each.candidate.end for each in line]
    # The frames before the first event and after the last one lead in and out.
    starts[0], ends[-1] = line[0].candidate.lead_in, line[-1].candidate.lead_out
    costs = [0.0] * len(line)
    for n in range(1, len(line)):
        costs[n], ends[n - 1], starts[n] = seams.best(line[n - 1].candidate, line[n].candidate)
    return tuple(
        PlannedPhrase(
            each.phrase.text, each.candidate.motion, a, b, each.candidate.text,
            each.candidate.match, round(cost, 3), arms=_written(each.arms),
            mirrored=each.candidate.mirrored,
        )
        for each, a, b, cost in zip(line, starts, ends, costs, strict=True)
    )  # fmt: skip


class Seams:
    """The best pair of frames to go from one candidate to another, and what it costs."""

    def __init__(self, library: Store) -> None:
        self.library = library
        self.known: dict[tuple[PhraseCandidate, PhraseCandidate], tuple[float, int, int]] = {}
        self.rows: dict[tuple[str, int, int, bool], Array] = {}

    def cost(self, a: PhraseCandidate, b: PhraseCandidate) -> float:
        """What the best pair costs."""
        return self.best(a, b)[0]

    def best(self, a: PhraseCandidate, b: PhraseCandidate) -> tuple[float, int, int]:
        """Cost, last frame of `a` (not included), first frame of `b`."""
        if (a, b) not in self.known:
            lasts, firsts = (a.end, max(a.last, a.end)), (min(b.first, b.start), b.start)
            x = self._rows(a, lasts[0] - 1, lasts[1])
            y = self._rows(b, firsts[0], firsts[1] + 1)
            gap = np.sqrt(np.maximum((x**2).sum(1)[:, None] + (y**2).sum(1) - 2.0 * x @ y.T, 0.0))
            # Near to the events: what is between them is not asked for.
            late = _ASIDE * np.arange(len(x))[:, None] / max(len(x), 1)
            early = _ASIDE * np.arange(len(y))[::-1] / max(len(y), 1)
            i, j = np.unravel_index(np.argmin(gap + late + early), gap.shape)
            self.known[a, b] = (float(gap[i, j]), lasts[0] + int(i), firsts[0] + int(j))
        return self.known[a, b]

    def _rows(self, each: PhraseCandidate, start: int, end: int) -> Array:
        key = (each.motion, start, end, each.mirrored)
        if key not in self.rows:
            a, b = max(start - 1, 0), min(end + 1, len(self.library[each.motion]))
            self.rows[key] = pose_rows(each.frames(self.library, a, b), start - a, end - a)
        return self.rows[key]


def _bridge(text: str) -> Phrase:
    return Phrase(text, text, 0.8 if text.startswith("walk") else None)


def _written(part: PhraseCandidate | None) -> str:
    if part is None:
        return ""
    return f"{part} {part.side} arm" if part.side else str(part)


_ADVICE = "name an action that one of its labels or captions has, or label takes with this one"


def _unmatched(index: TextIndex, phrase: Phrase) -> InvalidInput:
    near = nearest_phrases(index, phrase)
    also = f"the nearest is {', '.join(map(repr, near))}" if near else _ADVICE
    return InvalidInput(f"no motion of the library shows {phrase.text!r}; {also}")


def _repeated(
    index: TextIndex, library: Store, phrase: Phrase, found: Sequence[PhraseCandidate]
) -> list[Sequence[PhraseCandidate]]:
    """Candidates of each segment that a phrase needs."""
    counted = [each for each in found if each.count == phrase.times]
    single = [each for each in found if each.count == 1]
    # Repeated in one take, unless other things happen between.
    if (
        phrase.times > 1
        and counted
        and (not single or counted[0].match >= single[0].match - _REPEATED)
    ):
        return [counted]
    once: Sequence[PhraseCandidate] = single or found
    count = repeats(phrase, once, library)
    if (phrase.seconds is not None or phrase.meters is not None) and count > phrase.times:
        part = part_of(phrase, count)
        return [long_enough(candidates(index, library, part) or once, part, library)] * count
    return [long_enough(once, phrase, library)] * count


def _two_segments(phrase: Phrase, library: Store) -> bool:
    """Whether a phrase is ``take:30-90 while other:10-120``: arms and legs that were named."""
    names = [each.partition(":")[0] for each in (phrase.action, phrase.along)]
    return all(":" in each for each in (phrase.action, phrase.along)) and all(
        name in library for name in names
    )


def _layers(
    index: TextIndex, library: Store, phrase: Phrase, found: Sequence[PhraseCandidate]
) -> tuple[list[PhraseCandidate], list[PhraseCandidate]]:
    """Arms that show a phrase, and legs for what happens at the same time; empty if unclean.

    Raises
    ------
    InvalidInput
        If arms and legs were named, and the split is not clean.
    """
    named = _two_segments(phrase, library)
    alone = replace(phrase, along="", seconds=None, meters=None, times=1)
    arms = [
        each
        for each in candidates(index, library, alone)
        if named or by_arms_alone(each.name) and each.count == 1
    ][: 4 * _LAYERS]
    reasons = {each: unclean(library[each.motion], each.lead_in, each.lead_out) for each in arms}
    clean = [each for each in arms if not reasons[each]][:_LAYERS]
    if named and not clean:
        raise InvalidInput(f"{phrase.text!r}: the arms cannot be put on other legs: "
                           f"{next(iter(reasons.values()))}")  # fmt: skip
    if not clean:
        return [], []
    needed = [
        phrase.times * (each.lead_out - each.lead_in) / library.entry(each.motion).fps
        for each in clean
    ]
    length = phrase.seconds or max(needed) + 2.0 * _AROUND_LAYER
    legs = Phrase(phrase.text, phrase.along, None if named else length, meters=phrase.meters)
    lower = [
        each
        for each in candidates(index, library, legs)
        if not by_arms_alone(each.name)
        and not unclean(library[each.motion], each.lead_in, each.lead_out)
    ]
    clean = [each for each, long in zip(clean, needed, strict=True) if long <= length] or clean[:1]
    return (clean, lower) if lower else ([], [])
