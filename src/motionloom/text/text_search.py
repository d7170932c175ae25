"""Text search, which ranks motions by words and finds the matching frames by events.

Each motion has three scores, which are standardized and added: BM25 over names and labels, BM25
over captions, and learned words. Names and labels that do not describe the motion ("unknown",
"clean") must not lower its rank, so their score is estimated from the other two. The events of the
best motions are then examined. The events that match each part of the query, in the requested
order, determine the segment. The fraction of the query that they match is added to the score.

"right foot kicks high, then turns left" has two successive parts; "waves while walking" has two
simultaneous parts.

Sides, heights, directions and numbers are constraints. A segment that shows the requested action
with the wrong side ("kicks with the left foot") is ranked after all others and says what differs;
one with a different number is ranked lower. Unknown words are ignored if known words remain.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.store.store import Store
from motionloom.text.text_index import IndexedEvent, TextIndex
from motionloom.text.vocabulary import (
    MODIFIERS,
    OPPOSITES,
    check_text,
    nearest,
    similar,
    spelled_words,
    word_spans,
)

Array = NDArray[np.float64]

# Weights of the standardized scores. They were chosen using sentences about other performers.
_NAMED, _CAPTIONED, _LEARNED = 0.6, 0.5, 1.0
_OUTSTANDING = 3.0  # standard deviations; a rare word in a caption counts no more than this
_PREDICTED = 0.1  # minimum prediction of a match that has none of the words; about one deviation
_FEW = 20  # number of motions with which learned words count half; few are hard to standardize
_LITERAL = 1000.0  # added if the name or the labels contain every word
# Weights of the fraction of the query that events match in order, for queries with one part and
# with several.
_LOCATED = (0.15, 0.5)
_COMPLETE = 2.0  # added if events match all of several parts in order; more than a name counts
_LOOKED_INTO = 80  # number of motions whose events are read; more if words are constraints
_AGREES = 0.5  # added if all constraints are met; subtracted if a number differs
_WRONG = 1000.0  # subtracted if a side, height or direction is wrong
_MISFIT = 0.5  # factor for the fraction that an event matches if it breaks a constraint
_MODIFIER = 0.3  # weight of words for direction and manner when events are matched
_LEAST = 0.35  # minimum fraction of a query part that an event must match
_NEARLY = 0.75  # minimum score of other segments, as a fraction of the best score of the motion
_BY_HAND = 0.1  # added if the event is a labeled segment
_SURE = 0.3  # minimum confidence to show a learned word


LONGEST = 2000  # maximum number of characters in a query
_MOST_TIMES = 20  # larger numbers are degrees
_TIMES = {
    "twice": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    **{str(n): n for n in range(7, _MOST_TIMES + 1)},
}  # fmt: skip
_THEN = re.compile(
    r"\s*(?:[,;.]+\s*(?:and\s+)?(?:then|afterwards|finally|next|after that)\b|"
    r"\b(?:and\s+)?(?:then|afterwards|followed by|before|after that)\b|[;.](?=\s|$)|->|→)[\s,]*",
    re.IGNORECASE,
)
_WHILE = re.compile(r"\s*\b(?:while|whilst|at the same time(?: as)?|during)\b\s*", re.IGNORECASE)


@dataclass(frozen=True)
class QueryPart:
    """One part of a query: words that are searched together.

    `together` is True if the part happens at the same time as the previous part, not after it.
    """

    text: str
    words: tuple[str, ...]
    together: bool = False


Chain = tuple[tuple[IndexedEvent, QueryPart], ...]  # events, and the parts that they match


def query_parts(text: str, words: Callable[[str], list[str]]) -> list[QueryPart]:
    """Split a query into parts, in order.

    Raises
    ------
    InvalidInput
        If the query has no words, or is too long.

    Examples
    --------
    >>> from motionloom.text.vocabulary import words
    >>> [part.words for part in query_parts("kicks high, then turns left", words)]
    [('kick', 'high'), ('turn', 'left')]
    """
    check_text(text, "text", LONGEST, "describe one motion at a time")
    parts: list[QueryPart] = []
    for step in _THEN.split(text):
        for n, piece in enumerate(_WHILE.split(step)):
            part_words = tuple(dict.fromkeys(words(piece)))
            if part_words:
                parts.append(
                    QueryPart(piece.strip(" ,.;"), part_words, together=n > 0 and bool(parts))
                )
    if not parts:
        raise InvalidInput(f"text must contain at least one meaningful word; got {text!r}")
    return parts


@dataclass(frozen=True)
class TextMatch:
    """A segment that matches a query.

    Attributes
    ----------
    motion : str
    start_frame, end_frame : int
        Frames ``[start_frame, end_frame)``; the whole motion if no event narrows it down.
    start, end : float
        Seconds.
    score : float
        Higher is better. Scores are comparable only within one query.
    text : str
        Matching captions or labels, or learned words if there are none.
    words : tuple of str
        Query words that matched.
    sources : tuple of str
        Sources in which the words matched: ``name``, ``label``, ``caption``, ``learned``.
    spans : tuple of (int, int)
        Ranges of characters ``[start, end)`` in `text` to highlight, because they match the query.
    differs : tuple of str
        Sides, heights and directions in the segment that are the opposite of those in the query,
        such as ``left``. Such matches come last.
    """

    motion: str
    start_frame: int
    end_frame: int
    start: float
    end: float
    score: float
    text: str
    words: tuple[str, ...]
    sources: tuple[str, ...]
    whole: bool = False  # no event narrows down the part of the motion
    spans: tuple[tuple[int, int], ...] = ()
    differs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.motion}:{self.start_frame}-{self.end_frame}"

    @property
    def marked_text(self) -> str:
        """The text, followed by what differs from the query, if anything."""
        differs = f"(differs: {', '.join(self.differs)})" if self.differs else ""
        return f"{self.text} {differs}".strip()


@dataclass(frozen=True, eq=False)
class TextMatches(Sequence[TextMatch]):
    """Matches, best first, and the unknown words in the query.

    `unknown` maps each word that does not match any motion to the known word that was used instead,
    because it has almost the same spelling, or to "" if the word was ignored. `suggestions` has
    known words with a similar spelling for each ignored word.
    """

    matches: tuple[TextMatch, ...]
    unknown: dict[str, str]
    suggestions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.matches)

    def __getitem__(self, k: Any) -> Any:
        return self.matches[k]

    @property
    def motions(self) -> tuple[str, ...]:
        """Names of the motions, best first."""
        return tuple(dict.fromkeys(each.motion for each in self.matches))


def find(
    index: TextIndex,
    text: str,
    *,
    among: Collection[str] | None = None,
    literal: Mapping[str, int] | None = None,
    most: int | None = 20,
    every: bool = False,
) -> TextMatches:
    """Return the segments that match a query, best first; see `motionloom.Library.find`.

    Motions in `literal` come first, in order of decreasing value.
    """
    parts = query_parts(text, index.words)
    replaced, unknown, suggestions = _unknown_words(index, text)
    parts = [_respelled(part, replaced) for part in parts]
    asked = [word for part in parts for word in part.words if index.known(word)]
    if not len(index) or not (asked or literal):
        return TextMatches((), unknown, suggestions)
    scores, matched = rank(index, asked, [word for part in parts for word in _learnable(part)])
    for name, tier in (literal or {}).items():
        m = bisect_left(index.names, name)
        matched[m] = True
        scores[m] += _LITERAL * tier
    allowed = np.array([among is None or name in among for name in index.names])
    order = [int(m) for m in np.argsort(-scores, kind="stable") if matched[m] and allowed[m]]
    parts = [_locatable(part, index) for part in parts]
    most_looked = _LOOKED_INTO * (4 if any(constraints(part.words) for part in parts) else 1)
    bonus = _LOCATED[len(parts) > 1]
    rows: list[tuple[float, int, tuple[IndexedEvent, ...], tuple[str, ...]]] = []
    for m in order[:most_looked]:
        agreement = _Agreement(index, m, parts)
        segments = _segments(agreement, parts, index.rarity, every=every)
        for share, chain in islice(segments, most):  # best first
            change, differs = agreement.of_segment(chain)
            change += _COMPLETE * (len(parts) > 1 and len(chain) == len(parts))
            events = tuple(event for event, _ in chain)
            rows.append((scores[m] + bonus * share + change, m, events, differs))
    rows.sort(key=lambda row: -row[0])
    if most is None:
        rows += [(scores[m], m, (), ()) for m in order[most_looked:]]
    matches = [_match(index, m, score, events, asked, differs)
               for score, m, events, differs in rows[:most]]  # fmt: skip
    return TextMatches(tuple(matches), unknown, suggestions)


def _unknown_words(
    index: TextIndex, text: str
) -> tuple[dict[str, str], dict[str, str], dict[str, tuple[str, ...]]]:
    """Return replacements for unknown words, and unknown words and suggestions to be shown."""
    replaced: dict[str, str] = {}
    unknown: dict[str, str] = {}
    suggestions: dict[str, tuple[str, ...]] = {}
    for spelled, word in spelled_words(text, index.synonyms):
        if index.known(word):
            continue
        forms = {index.shown(each): each for each in index.vocabulary}
        near = nearest(word, index.vocabulary)
        shown = index.shown(near) if near else nearest(spelled, forms)
        if shown:
            replaced[word] = near or forms[shown]
        else:
            suggestions[spelled] = similar(spelled, forms)
        unknown[spelled] = shown or ""
    return replaced, unknown, suggestions


def constraints(words: Collection[str]) -> set[str]:
    """Return the words of a query part that are constraints: sides, directions, numbers.

    A word is not a constraint if its opposite is also requested.

    Examples
    --------
    >>> sorted(constraints(["kick", "left", "2"])), constraints(["left", "right"])
    (['2', 'left'], set())
    """
    return {
        word
        for word in words
        if word.isdecimal() or (word in OPPOSITES and OPPOSITES[word] not in words)
    }


class _Agreement:
    """Tells whether the events of a motion meet the constraints of a query."""

    def __init__(self, index: TextIndex, m: int, parts: Sequence[QueryPart]) -> None:
        self.events: Sequence[IndexedEvent] = index.events(m)
        self.parts = parts
        self.named = set(index.named_words(m))
        totals: dict[tuple[str, str], int] = {}
        for event in self.events:
            for key in {(event.name, ""), (event.name, event.side)}:
                totals[key] = totals.get(key, 0) + _count(event)
        self.totals = totals

    def differs(self, event: IndexedEvent, part: QueryPart) -> set[str]:
        """Return the words of an event that contradict a part: opposite sides, other numbers."""
        wrong: set[str] = set()
        if not _same_action(event, part):
            return wrong
        for word in constraints(part.words):
            if not word.isdecimal():
                other = OPPOSITES[word]
                if other in event.words and word not in event.words:
                    wrong.add(other)
            elif word not in event.words and event.source == "caption":
                numbers = {each for each in event.words if each.isdecimal()}
                if int(word) <= _MOST_TIMES:
                    counts = {
                        _count(event),
                        *(self.totals[event.name, s] for s in ("", event.side)),
                    }
                    if int(word) not in counts:
                        wrong.add(str(_count(event)))
                elif any(int(each) > _MOST_TIMES for each in numbers):
                    wrong.add(max(numbers, key=int))
        return wrong

    def of_segment(self, chain: Chain) -> tuple[float, tuple[str, ...]]:
        """Return the change of a segment's score, and its wrong sides and directions."""
        asked = {word for part in self.parts for word in constraints(part.words)}
        if not asked:
            return 0.0, ()
        broken: set[str] = set()
        met = False
        for event, part in chain:
            broken |= self.differs(event, part)
            met |= _same_action(event, part) and bool(constraints(part.words) & event.words)
        if not met and not broken:  # only names and labels can show it
            wanted = {word for word in asked if word in OPPOSITES}
            met = bool(wanted & self.named)
            broken = {OPPOSITES[word] for word in wanted} & self.named if not met else set()
        wrong = tuple(sorted(word for word in broken if not word.isdecimal()))
        if wrong:
            return -_WRONG, wrong
        return (-_AGREES if broken else _AGREES * met), ()


def _same_action(event: IndexedEvent, part: QueryPart) -> bool:
    actions = set(part.words) - MODIFIERS
    return not actions or not actions.isdisjoint(event.words)


def _count(event: IndexedEvent) -> int:
    """Return how often an event repeats, from its caption."""
    number = re.search(r"(\w+)(?: times)?$", event.text)
    return _TIMES.get(number[1], 1) if number else 1


def rank(
    index: TextIndex, asked: Sequence[str], learnable: Sequence[str]
) -> tuple[Array, NDArray[np.bool_]]:
    """Return the score of each motion for a query's words, and whether any word matched.

    Learned words are compared with the words in `learnable` only.
    """
    named, captioned = (index.text_scores(field, asked) for field in ("named", "captioned"))
    moving = _CAPTIONED * np.minimum(_standard(captioned), _OUTSTANDING)
    matched = (named > 0.0) | (captioned > 0.0)
    if index.learned is not None and asked:
        learned = index.learned.scores(_learned_words(index, learnable))
        weight = _LEARNED * len(index) / (len(index) + _FEW)
        moving = moving + weight * _standard(learned)
        matched |= learned > _PREDICTED
    return moving + _NAMED * _descriptive_scores(
        named, _standard(moving), index.descriptive
    ), matched


def _learnable(part: QueryPart) -> list[str]:
    """Return the words of a part without the side of a limb; learned sides are those of turns."""
    limb = not {"hand", "leg"}.isdisjoint(part.words)
    return [word for word in part.words if not (limb and word in ("left", "right"))]


def _learned_words(index: TextIndex, asked: Sequence[str]) -> list[str]:
    """Return the words of a query, each replaced by related words if only those were learned."""
    return [
        other
        for word in asked
        for other in (
            (word,) if word in index.learned_words else index.synonyms.related.get(word, ())
        )
    ]


def _descriptive_scores(named: Array, moving: Array, descriptive: NDArray[np.bool_]) -> Array:
    """Standardize name and label scores; use expected scores for names that are not descriptive."""
    if not descriptive.any():
        return _standard(named)
    described = named[descriptive]
    scores = (named - described.mean()) / (described.std() + 1e-9)
    silent = ~descriptive
    scores[silent] = np.where(named[silent] > 0.0, np.maximum(scores, moving)[silent],
                              moving[silent])  # fmt: skip
    return scores


def locate(
    events: Sequence[IndexedEvent],
    parts: Sequence[QueryPart],
    rarity: Callable[[str], float],
    differs: Callable[[IndexedEvent, QueryPart], Collection[str]] = lambda event, part: (),
) -> tuple[float, Chain]:
    """Return the fraction of a query that events match in order, and those events and parts.

    Each part is matched by at most one event. The event of a later part may not start before the
    event of the previous part; the event of a simultaneous part must overlap it. An event that
    breaks a constraint (`differs`) counts less.
    """
    weights = [
        {word: rarity(word) * (_MODIFIER if word in MODIFIERS else 1.0) for word in part.words}
        for part in parts
    ]
    best: list[tuple[float, Chain]] = [(0.0, ())]
    for part, weight in zip(parts, weights, strict=True):
        total = sum(weight.values())
        options = []
        for event in events:
            answered = sum(w for word, w in weight.items() if word in event.words)
            if answered > 0.0 and answered >= _LEAST * total:
                # Labels written by people come before captions found by rules.
                value = answered / total + _BY_HAND * (event.source == "label")
                fits = _same_action(event, part) and not differs(event, part)
                options.append((value * (1.0 if fits else _MISFIT), event))
        options.sort(key=lambda each: -each[0])
        grown = list(best)
        for score, chosen in best:
            for value, event in options[:40]:
                if not chosen or _follows(event, chosen[-1][0], together=part.together):
                    grown.append((score + value, (*chosen, (event, part))))
        # Keep the best of several chains with the same end, and only a few chains.
        kept: dict[tuple[int, int], tuple[float, Chain]] = {}
        for score, chosen in grown:
            last = chosen[-1][0] if chosen else None
            key = (last.start_frame, last.end_frame) if last else (-1, -1)
            if key not in kept or kept[key][0] < score:
                kept[key] = (score, chosen)
        best = sorted(kept.values(), key=lambda each: -each[0])[:60]
    score, chosen = max(best, key=lambda each: each[0])
    return score / len(parts), chosen


def _segments(
    agreement: _Agreement,
    parts: Sequence[QueryPart],
    rarity: Callable[[str], float],
    *,
    every: bool,
) -> Iterator[tuple[float, Chain]]:
    """Return the best segment of a motion or, with `every`, all segments nearly as good."""
    events = agreement.events
    best, chosen = locate(events, parts, rarity, agreement.differs)
    yield best, chosen
    while every and chosen:
        start = min(event.start_frame for event, _ in chosen)
        end = max(event.end_frame for event, _ in chosen)
        events = [e for e in events if e.end_frame <= start or e.start_frame >= end]
        share, chosen = locate(events, parts, rarity, agreement.differs)
        if share < _NEARLY * best:
            return
        if chosen:
            yield share, chosen


def _follows(event: IndexedEvent, before: IndexedEvent, *, together: bool) -> bool:
    if together:
        return event.start_frame < before.end_frame and before.start_frame < event.end_frame
    return event is not before and event.start_frame > before.start_frame


def _locatable(part: QueryPart, index: TextIndex) -> QueryPart:
    """Drop words that no event can have, because they are unknown or only learned."""
    words = tuple(w for w in part.words if w in index.takes_with or w in constraints(part.words))
    return QueryPart(part.text, words or part.words, part.together)


def _respelled(part: QueryPart, unknown: dict[str, str]) -> QueryPart:
    words = tuple(unknown.get(word) or word for word in part.words)
    return QueryPart(part.text, words, part.together)


def _standard(scores: Array) -> Array:
    return (scores - scores.mean()) / (scores.std() + 1e-9)


def _match(
    index: TextIndex,
    m: int,
    score: float,
    events: Sequence[IndexedEvent],
    asked: Sequence[str],
    differs: tuple[str, ...],
) -> TextMatch:
    fps, frames = index.fps[m], index.frames[m]
    start = min((event.start_frame for event in events), default=0)
    end = max((event.end_frame for event in events), default=frames)
    sources: dict[str, set[str]] = {}
    for event in events:
        sources.setdefault(event.source, set()).update(event.words & set(asked))
    name = set(index.words(index.names[m])) & set(asked)
    if name:
        sources.setdefault("name", set()).update(name)
    statement = "SELECT words FROM {} WHERE rowid = ?"
    for table, source in (("named", "label"), ("captioned", "caption")):
        rows = index.rows(statement.format(table), (m,))
        indexed = str(rows[0][0]).split() if rows else []
        more = set(indexed) & set(asked) - set().union(*sources.values(), set())
        if more:
            sources.setdefault(source, set()).update(more)
    text = "; ".join(dict.fromkeys(event.text for event in events))
    if index.learned is not None:
        sure = [word for word, share in index.learned.words_of(m, 12) if share >= _SURE]
        more = set(sure) & set(asked) - set().union(*sources.values(), set())
        if more:
            sources.setdefault("learned", set()).update(more)
        shown = ", ".join(index.shown(word) for word in sure[:4])
        text = text or (f"perhaps {shown}" if sure else "")
    matched = [word for word in dict.fromkeys(asked) if any(word in s for s in sources.values())]
    return TextMatch(
        index.names[m], start, end, start / fps, end / fps, float(score), text,
        tuple(index.shown(word) for word in matched), tuple(sorted(sources)), not events,
        word_spans(text, asked, index.synonyms), differs,
    )  # fmt: skip


def literal_matches(library: Store, text: str) -> dict[str, int]:
    """Map motions whose name or labels contain every word to 2 for whole words, 1 for parts."""
    wanted = text.casefold().split()
    labels = library.catalogue.labels()
    of_segments: dict[str, list[str]] = {}
    for name, _, _, label in library.catalogue.segment_labels():
        of_segments.setdefault(name, []).append(label)
    matches = {}
    for name in library.names:
        parts = [name, *labels.get(name, ()), *of_segments.get(name, ())]
        described = " ".join(parts).casefold()
        if all(word in described for word in wanted):
            whole = re.split(r"[\W_]+", described)
            matches[name] = 2 if all(word in whole for word in wanted) else 1
    return matches
