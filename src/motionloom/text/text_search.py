"""Text search, which ranks motions by words and finds the matching frames by events.

Each motion has three scores, which are standardized and added: BM25 over names and labels, BM25
over captions, and learned words. Names and labels that do not describe the motion ("unknown",
"clean") must not lower its rank, so their score is estimated from the other two. The events of the
best motions are then examined. The events that match each part of the query, in the requested
order, determine the segment. The fraction of the query that they match is added to the score.

"right foot kicks high, then turns left" has two successive parts; "waves while walking" has two
simultaneous parts. Numbers are treated like other words: a caption says "jumps up three times".
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.store.store import Store
from motionloom.text.text_index import IndexedEvent, TextIndex
from motionloom.text.vocabulary import MODIFIERS, check_text, nearest, word_spans

Array = NDArray[np.float64]

# Weights of the standardized scores. They were chosen using sentences about other performers.
_NAMED, _CAPTIONED, _LEARNED = 0.6, 0.5, 1.0
_LITERAL = 1000.0  # added if the name or the labels contain every word
# Weights of the fraction of the query that events match in order, for queries with one part and
# with several.
_LOCATED = (0.15, 0.5)
_LOOKED_INTO = 80  # number of motions whose events are read
_MODIFIER = 0.3  # weight of words for direction and manner when events are matched
_LEAST = 0.35  # minimum fraction of a query part that an event must match
_NEARLY = 0.75  # minimum score of other segments, as a fraction of the best score of the motion
_BY_HAND = 0.1  # added if the event is a labeled segment
_SURE = 0.3  # minimum confidence to show a learned word


LONGEST = 2000  # maximum number of characters in a query
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

    def __str__(self) -> str:
        return f"{self.motion}:{self.start_frame}-{self.end_frame}"


@dataclass(frozen=True, eq=False)
class TextMatches(Sequence[TextMatch]):
    """Matches, best first, and the unknown words in the query.

    `unknown` maps each word that does not match any motion to a similarly spelled known word, or to
    "".
    """

    matches: tuple[TextMatch, ...]
    unknown: dict[str, str]

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
    unknown: dict[str, str] = {}
    for word in {word for part in parts for word in part.words}:
        if not index.known(word):
            unknown[word] = nearest(word, index.takes_with) or ""
    parts = [_respelled(part, unknown) for part in parts]
    asked = [word for part in parts for word in part.words if index.known(word)]
    if not len(index) or not (asked or literal):
        return TextMatches((), unknown)
    scores, matched = rank(index, asked)
    for name, tier in (literal or {}).items():
        m = bisect_left(index.names, name)
        matched[m] = True
        scores[m] += _LITERAL * tier
    allowed = np.array([among is None or name in among for name in index.names])
    order = [int(m) for m in np.argsort(-scores, kind="stable") if matched[m] and allowed[m]]
    looked = order[:_LOOKED_INTO]
    bonus = _LOCATED[len(parts) > 1]
    rows: list[tuple[float, int, tuple[IndexedEvent, ...]]] = []
    for m in looked:
        segments = _segments(index.events(m), parts, index.rarity, every=every)
        for share, events in islice(segments, most):  # best first
            rows.append((scores[m] + bonus * share, m, events))
    rows.sort(key=lambda row: -row[0])
    if most is None:
        rows += [(scores[m], m, ()) for m in order[_LOOKED_INTO:]]
    matches = [_match(index, m, score, events, asked) for score, m, events in rows[:most]]
    return TextMatches(tuple(matches), unknown)


def rank(index: TextIndex, asked: Sequence[str]) -> tuple[Array, NDArray[np.bool_]]:
    """Return the score of each motion for a query's words, and whether any word matched."""
    named, captioned = (index.text_scores(field, asked) for field in ("named", "captioned"))
    moving = _CAPTIONED * _standard(captioned)
    matched = (named > 0.0) | (captioned > 0.0)
    if index.learned is not None and asked:
        learned = index.learned.scores(asked)
        moving = moving + _LEARNED * _standard(learned)
        matched |= learned > 0.0
    return moving + _NAMED * _descriptive_scores(
        named, _standard(moving), index.descriptive
    ), matched


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
    events: Sequence[IndexedEvent], parts: Sequence[QueryPart], rarity: Callable[[str], float]
) -> tuple[float, tuple[IndexedEvent, ...]]:
    """Return the fraction of a query that events match in order, and those events.

    Each part is matched by at most one event. The event of a later part may not start before the
    event of the previous part; the event of a simultaneous part must overlap it.
    """
    weights = [
        {word: rarity(word) * (_MODIFIER if word in MODIFIERS else 1.0) for word in part.words}
        for part in parts
    ]
    best: list[tuple[float, tuple[IndexedEvent, ...]]] = [(0.0, ())]
    for part, weight in zip(parts, weights, strict=True):
        total = sum(weight.values())
        options = []
        for event in events:
            answered = sum(w for word, w in weight.items() if word in event.words)
            if answered > 0.0 and answered >= _LEAST * total:
                # Labels written by people come before captions found by rules.
                options.append((answered / total + _BY_HAND * (event.source == "label"), event))
        options.sort(key=lambda each: -each[0])
        grown = list(best)
        for score, chosen in best:
            for value, event in options[:40]:
                if not chosen or _follows(event, chosen[-1], together=part.together):
                    grown.append((score + value, (*chosen, event)))
        # Keep the best of several chains with the same end, and only a few chains.
        kept: dict[tuple[int, int], tuple[float, tuple[IndexedEvent, ...]]] = {}
        for score, chosen in grown:
            key = (chosen[-1].start_frame, chosen[-1].end_frame) if chosen else (-1, -1)
            if key not in kept or kept[key][0] < score:
                kept[key] = (score, chosen)
        best = sorted(kept.values(), key=lambda each: -each[0])[:60]
    score, chosen = max(best, key=lambda each: each[0])
    return score / len(parts), chosen


def _segments(
    events: Sequence[IndexedEvent],
    parts: Sequence[QueryPart],
    rarity: Callable[[str], float],
    *,
    every: bool,
) -> Iterator[tuple[float, tuple[IndexedEvent, ...]]]:
    """Return the best segment of a motion or, with `every`, all segments nearly as good."""
    best, chosen = locate(events, parts, rarity)
    yield best, chosen
    while every and chosen:
        start = min(event.start_frame for event in chosen)
        end = max(event.end_frame for event in chosen)
        events = [e for e in events if e.end_frame <= start or e.start_frame >= end]
        share, chosen = locate(events, parts, rarity)
        if share < _NEARLY * best:
            return
        if chosen:
            yield share, chosen


def _follows(event: IndexedEvent, before: IndexedEvent, *, together: bool) -> bool:
    if together:
        return event.start_frame < before.end_frame and before.start_frame < event.end_frame
    return event is not before and event.start_frame > before.start_frame


def _respelled(part: QueryPart, unknown: dict[str, str]) -> QueryPart:
    words = tuple(unknown.get(word) or word for word in part.words)
    return QueryPart(part.text, words, part.together)


def _standard(scores: Array) -> Array:
    return (scores - scores.mean()) / (scores.std() + 1e-9)


def _match(
    index: TextIndex, m: int, score: float, events: Sequence[IndexedEvent], asked: Sequence[str]
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
    for field, source in (("named", "label"), ("captioned", "caption")):
        rows = index.rows(statement.format(field), (m,))
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
        text = text or ("perhaps " + ", ".join(sure[:4]) if sure else "")
    matched = [word for word in dict.fromkeys(asked) if any(word in s for s in sources.values())]
    return TextMatch(
        index.names[m], start, end, start / fps, end / fps, float(score), text,
        tuple(matched), tuple(sorted(sources)), not events,
        word_spans(text, asked, index.synonyms),
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
