"""Plan for a script: one segment per phrase, all chosen together.

The segments are chosen by dynamic programming. The cost combines how well each segment shows its
phrase with how similar poses and velocities are at the best transition from one segment to the
next. If two segments do not fit together, a bridge (standing up, standing, a few steps) is inserted
between them, provided that it fits better. "Wave while walking" uses a segment that shows both or,
if there is none, the legs of one segment and the arms of another
(`motionloom.text.scripts.layers`).
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
    played_take,
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
_FITS = 0.12  # a seam with a lower cost needs no bridge
_BRIDGES = ("stand up", "sit down", "stand", "walk forward")
_ASIDE = 0.02  # cost of a seam at the limit of the allowed frames
_REPEATED = 0.02  # how much worse repetitions in one take may match than single events
_MOST_REPEATS, _LONG_ENOUGH = 4, 1.0  # repetitions of segments shorter than this, in seconds
_LAYERS = 4  # number of arm segments that are tried with legs
_AROUND_LAYER = 0.6  # seconds of leg motion before and after the arms of another segment


@dataclass(frozen=True)
class PlannedPhrase:
    """A phrase, the frames that show it, and the cost of the seam before it.

    Attributes
    ----------
    phrase, motion : str
    start_frame, end_frame : int
        Frames ``[start_frame, end_frame)`` of the motion.
    text : str
        Caption or label of these frames.
    match, seam : float
    start, end : float
        Time span in the result, in seconds.
    arms : str
        Segment whose arms are used, ``take:30-90`` or ``take:30-90 left arm``; empty if the arms
        are not replaced.
    shown : bool or None
        True if the captions of the result contain the phrase; None if captions cannot express it.
    mirrored : bool
        True if left and right are swapped.
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
    """A phrase, the candidate chosen for it, and the arms combined with the candidate."""

    phrase: Phrase
    candidate: PhraseCandidate
    arms: PhraseCandidate | None = None
    repeats: int = 1  # repetitions of the arms

    @property
    def bridge(self) -> bool:
        """True if this is a bridge, which is not part of the script."""
        return self.phrase.text == BRIDGE


@dataclass
class Verdicts:
    """Candidates and seams that failed in an earlier attempt and are used only as a last resort."""

    of: dict[PhraseCandidate, float] = field(default_factory=dict)
    between: dict[tuple[PhraseCandidate, PhraseCandidate], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """Phrases with their candidates, and bridges."""

    phrases: tuple[Phrase, ...]
    choices: tuple[Sequence[PhraseCandidate], ...]
    bridges: tuple[PhraseCandidate, ...]
    arms: Mapping[int, Sequence[PhraseCandidate]]  # indexed by the number of the phrase


def wanted(index: TextIndex, library: Store, script: str) -> Wanted:
    """Return the candidates for each phrase in a script.

    Raises
    ------
    InvalidInput
        If the script is empty, is too long, or contains a phrase that no motion shows.
    """
    phrases: list[Phrase] = []
    choices: list[Sequence[PhraseCandidate]] = []
    arms: dict[int, Sequence[PhraseCandidate]] = {}
    for phrase in parse_script(script):
        options = candidates(index, library, phrase) if not _two_segments(phrase, library) else []
        if phrase.along and (not options or phrase.seconds is not None and options[0].match < 1.0):
            upper, lower = _layers(index, library, phrase)
            if upper:
                arms[len(phrases)] = upper
                phrases.append(phrase)
                choices.append(lower)
                continue
        if not options:
            raise _unmatched(index, phrase)
        rows = _repeated(index, library, phrase, options)
        phrases += [phrase] * len(rows)
        choices += rows
    bridges = [each for text in _BRIDGES for each in candidates(index, library, _bridge(text))[:6]]
    return Wanted(tuple(phrases), tuple(choices), tuple(bridges), arms)


def chosen(asked: Wanted, verdicts: Verdicts, seams: Seams) -> list[Chosen]:
    """Return the lowest-cost sequence of candidates, with bridges where they reduce the cost."""

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
    """Return the frames of each candidate between its seams."""
    starts = [each.candidate.start for each in line]
    ends = [each.candidate.end for each in line]
    # The frames before the first event and after the last one serve as lead-in and lead-out.
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
    """Best frame pairs for the transition between two candidates, and their costs."""

    def __init__(self, library: Store) -> None:
        self.library = library
        self.known: dict[tuple[PhraseCandidate, PhraseCandidate], tuple[float, int, int]] = {}
        self.rows: dict[tuple[str, int, int, bool], Array] = {}

    def cost(self, a: PhraseCandidate, b: PhraseCandidate) -> float:
        """Return the cost of the best frame pair."""
        return self.best(a, b)[0]

    def best(self, a: PhraseCandidate, b: PhraseCandidate) -> tuple[float, int, int]:
        """Return the cost, the end frame of `a` (exclusive) and the first frame of `b`."""
        if (a, b) not in self.known:
            lasts, firsts = (a.end, max(a.last, a.end)), (min(b.first, b.start), b.start)
            x = self._rows(a, lasts[0] - 1, lasts[1])
            y = self._rows(b, firsts[0], firsts[1] + 1)
            gap = np.sqrt(np.maximum((x**2).sum(1)[:, None] + (y**2).sum(1) - 2.0 * x @ y.T, 0.0))
            # Seams close to the events are better, because the frames between events are not part
            # of the script.
            late = _ASIDE * np.arange(len(x))[:, None] / max(len(x), 1)
            early = _ASIDE * np.arange(len(y))[::-1] / max(len(y), 1)
            i, j = np.unravel_index(np.argmin(gap + late + early), gap.shape)
            self.known[a, b] = (float(gap[i, j]), lasts[0] + int(i), firsts[0] + int(j))
        return self.known[a, b]

    def _rows(self, each: PhraseCandidate, start: int, end: int) -> Array:
        key = (each.motion, start, end, each.mirrored)
        if key not in self.rows:
            take = played_take(self.library, each.motion)
            a, b = max(start - 1, 0), min(end + 1, len(take))
            self.rows[key] = pose_rows(each.frames(self.library, a, b), start - a, end - a)
        return self.rows[key]


def _bridge(text: str) -> Phrase:
    return Phrase(text, text, 0.8 if text.startswith("walk") else None)


def _written(part: PhraseCandidate | None) -> str:
    if part is None:
        return ""
    return f"{part} {part.side} arm" if part.side else str(part)


_ADVICE = "use an action from its labels or captions, or label some takes with this action"


def _unmatched(index: TextIndex, phrase: Phrase) -> InvalidInput:
    near = nearest_phrases(index, phrase)
    also = f"similar actions are {', '.join(map(repr, near))}" if near else _ADVICE
    return InvalidInput(f"no motion in this library shows {phrase.text!r}; {also}")


def _repeated(
    index: TextIndex, library: Store, phrase: Phrase, options: Sequence[PhraseCandidate]
) -> list[Sequence[PhraseCandidate]]:
    """Return the candidates for each of the segments that a phrase requires."""
    counted = [each for each in options if each.count == phrase.times]
    single = [each for each in options if each.count == 1]
    # Use repetitions in one take, unless other events occur in between.
    if (
        phrase.times > 1
        and counted
        and (not single or counted[0].match >= single[0].match - _REPEATED)
    ):
        return [counted]
    once: Sequence[PhraseCandidate] = single or options
    count = repeats(phrase, once, library)
    if (phrase.seconds is not None or phrase.meters is not None) and count > phrase.times:
        part = part_of(phrase, count)
        longest = max((e.end - e.start) / library.entry(e.motion).fps for e in once)
        if count > _MOST_REPEATS and longest < _LONG_ENOUGH:
            raise InvalidInput(
                f"no motion in this library shows {phrase.text!r} for long enough: the longest "
                f"segment lasts {longest:.1f} s and would be repeated {count} times. Use a shorter "
                "duration, or add a longer take or one that loops"
            )
        return [long_enough(candidates(index, library, part) or once, part, library)] * count
    return [long_enough(once, phrase, library)] * count


def _two_segments(phrase: Phrase, library: Store) -> bool:
    """Return whether a phrase names both arms and legs: ``take:30-90 while other:10-120``."""
    names = [each.partition(":")[0] for each in (phrase.action, phrase.along)]
    return all(":" in each for each in (phrase.action, phrase.along)) and all(
        name in library for name in names
    )


def _layers(
    index: TextIndex, library: Store, phrase: Phrase
) -> tuple[list[PhraseCandidate], list[PhraseCandidate]]:
    """Return arms that show a phrase, with legs for the simultaneous action; empty if none fit.

    Raises
    ------
    InvalidInput
        If arms and legs are named explicitly but cannot be combined cleanly.
    """
    named = _two_segments(phrase, library)
    alone = replace(phrase, along="", seconds=None, meters=None, times=1)
    arms = [
        each
        for each in candidates(index, library, alone)
        if named or by_arms_alone(each.name) and each.count == 1
    ][: 4 * _LAYERS]
    reasons = {
        each: unclean(played_take(library, each.motion), each.lead_in, each.lead_out)
        for each in arms
    }
    clean = [each for each in arms if not reasons[each]][:_LAYERS]
    if named and not clean:
        raise InvalidInput(
            f"{phrase.text!r}: the arms cannot be combined with other legs, because "
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
        and not unclean(played_take(library, each.motion), each.lead_in, each.lead_out)
    ]
    clean = [each for each, long in zip(clean, needed, strict=True) if long <= length] or clean[:1]
    return (clean, lower) if lower else ([], [])
