"""Candidates: segments of a library that show what a phrase of a script says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion
from motionloom.motion.kinematics.body import body_height, facing, leg_length
from motionloom.motion.segment import Segment, split_segment
from motionloom.store.store import Store
from motionloom.words.script import Phrase
from motionloom.words.text_index import IndexedEvent, TextIndex
from motionloom.words.vocabulary import MODIFIERS, nearest, words

Array = NDArray[np.float64]

MOST = 16  # candidates of a phrase
_ONLY_RELATED = 0.5  # weight of a word by which an event is found, but that its text does not say
_CLOSE = 0.12  # candidates whose match is this much below the best one are kept
_SHORT = 0.3  # match that an event loses that is much shorter than its phrase
_LEAST = 0.6  # match of the best candidate
_OTHERS = 0.04  # match that each other event within a segment costs
MARGIN = 0.6  # seconds before and after an event in which a seam may be
SEAM = 0.2  # seconds on either side of a seam that are blended
_POSE = (
    "head", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist",
    "right_wrist", "left_hip", "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle",
    "left_foot", "right_foot",
)  # fmt: skip
_AHEAD = 0.15  # seconds over which velocities count like positions


@dataclass(frozen=True)
class PhraseCandidate:
    """An event in a motion, with the frames before and after it that may be played.

    Attributes
    ----------
    motion : str
    start, end : int
        Frames of the event, as stored.
    first, last : int
        Frames that a seam may be in, before `start` and after `end`.
    match : float
        0 to 1, how much of the phrase it shows.
    text : str
        Its caption or label.
    count : int
        How often it is repeated there.
    """

    motion: str
    start: int
    end: int
    first: int
    last: int
    match: float
    text: str
    count: int = 1
    timed: bool = False  # cut to a duration

    @property
    def lead_in(self) -> int:
        """First frame where nothing is before it."""
        return self.start if self.timed else min(self.first, self.start)

    @property
    def lead_out(self) -> int:
        """End where nothing is after it."""
        return self.end if self.timed else max(self.last, self.end)


def candidates(index: TextIndex, library: Store, phrase: Phrase) -> list[PhraseCandidate]:
    """Segments that show a phrase, best first; empty if none does.

    A phrase that names a segment, ``take:30-90``, has this one only.
    """
    name, written = split_segment(phrase.action)
    if written is not None and name in library:
        part = Segment.parse(phrase.action, library[name])
        return [PhraseCandidate(name, part.start_frame, part.end_frame, part.start_frame,
                          part.end_frame, 1.0, phrase.action)]  # fmt: skip
    asked = dict.fromkeys(index.words(phrase.action))
    asked_words = [w if index.known(w) else nearest(w, index.takes_with) or w for w in asked]
    weights = {w: index.rarity(w) * (0.3 if w in MODIFIERS else 1.0) for w in asked_words}
    total = sum(weights.values())
    verbs = [w for w in asked_words if w not in MODIFIERS] or asked_words
    if not total:
        return []
    found: list[PhraseCandidate] = []
    for m, event, others in _events_with(index, verbs):
        said = set(words(event.text, index.synonyms))
        match = sum(
            weight * (1.0 if word in said else _ONLY_RELATED)
            for word, weight in weights.items()
            if word in event.words
        )
        match = match / total - _OTHERS * min(others, 4)
        if phrase.seconds is not None:  # long enough
            match -= _SHORT * max(0.0, 1.0 - len(event) / index.fps[m] / phrase.seconds)
        if match >= _LEAST and phrase.along:
            event = _with(index, m, event, phrase.along)
        if match >= _LEAST and len(event) > 2:
            made = _candidate(index, m, event, match, phrase)
            if made is not None:
                found.append(made)
    if not found:
        return []
    found.sort(key=lambda each: (-each.match, each.motion, each.start))
    best = [each for each in found if each.match >= found[0].match - _CLOSE]
    return _varied(best)


def nearest_phrases(index: TextIndex, phrase: Phrase) -> list[str]:
    """Texts of events that come near a phrase, for a message."""
    asked = [w for w in index.words(phrase.action) if index.known(w)]
    seen: dict[str, None] = {}
    for _, event, _ in _events_with(index, asked[:3]) if asked else ():
        seen.setdefault(event.text, None)
        if len(seen) == 3:
            break
    return list(seen)


def _events_with(index: TextIndex, verbs: Sequence[str]) -> Iterable[tuple[int, IndexedEvent, int]]:
    """Motion, event, and how many other events are within it, of events with any of some words."""
    clause = " OR ".join("' ' || words || ' ' LIKE ?" for _ in verbs)
    statement = (
        "SELECT take, start_frame, end_frame, text, words, source, (SELECT count(*) FROM events "
        "AS o WHERE o.take = e.take AND o.start_frame < e.end_frame AND o.end_frame > "
        f"e.start_frame AND o.source = 'caption') - 1 FROM events AS e WHERE {clause}"
    )
    for take, start, end, text, found, source, others in index.rows(
        statement, [f"% {verb} %" for verb in verbs]
    ):
        event = IndexedEvent(start, end, text, frozenset(found.split()), source)
        yield take, event, max(others, 0)


def _candidate(
    index: TextIndex, m: int, event: IndexedEvent, match: float, phrase: Phrase
) -> PhraseCandidate | None:
    fps, frames = index.fps[m], index.frames[m]
    margin = round((MARGIN if phrase.seconds is None else SEAM) * fps)
    seam = round(SEAM * fps) + 1
    start, end = event.start_frame, event.end_frame
    if phrase.seconds is not None and (end - start) / fps > phrase.seconds:
        start += int(max(0.0, (end - start) - phrase.seconds * fps) / 2.0)
        end = start + round(phrase.seconds * fps)
    first, last = max(start - margin, seam), min(end + margin, frames - seam)
    if first > start or last < end:  # too near to an end of the motion
        start, end = max(start, first), min(end, last)
    if end - start < 3 or first >= start + 1 and first > last:
        return None
    count = _count(event)
    timed = phrase.seconds is not None
    return PhraseCandidate(index.names[m], start, end, first, last, match, event.text, count, timed)


def _with(index: TextIndex, m: int, event: IndexedEvent, along: str) -> IndexedEvent:
    """The part of an event in which another happens, too; without frames where none does."""
    asked = index.words(along)
    verbs = {word for word in asked if word not in MODIFIERS} or set(asked)
    best = (event.start_frame, event.start_frame)
    for other in index.events(m):
        a, b = (
            max(event.start_frame, other.start_frame),
            min(event.end_frame, other.end_frame),
        )
        if other != event and verbs <= other.words and b - a > best[1] - best[0]:
            best = (a, b)
    text = f"{event.text} while {along}"
    return replace(event, start_frame=best[0], end_frame=best[1], text=text)


def _count(event: IndexedEvent) -> int:
    for text, number in (("twice", 2), ("three times", 3), ("four times", 4), ("five times", 5),
                         ("six times", 6)):  # fmt: skip
        if event.text.endswith(text):
            return number
    head, _, last = event.text.rpartition(" ")
    digits = head.rpartition(" ")[2]
    return int(digits) if last == "times" and digits.isdigit() else 1


def _varied(found: Sequence[PhraseCandidate]) -> list[PhraseCandidate]:
    """The first of many candidates, few of one motion."""
    kept: list[PhraseCandidate] = []
    of: dict[str, int] = {}
    for each in found:
        if of.get(each.motion, 0) < 3:
            of[each.motion] = of.get(each.motion, 0) + 1
            kept.append(each)
        if len(kept) == MOST:
            break
    return kept


def pose_rows(motion: Motion, start: int, end: int) -> Array:
    """Poses and velocities of frames ``[start, end)``, independent of size, place and heading."""
    lead = 1
    a, b = max(start - lead, 0), min(end + lead, len(motion))
    part = motion[a:b]
    places = part.role_positions(_POSE).astype(np.float64)
    hips = part.role_positions(["hips"])[:, 0].astype(np.float64)
    size = body_height(motion.skeleton) or leg_length(motion.skeleton) / 0.505
    face = facing(part)
    away = (places - hips[:, None] * [1.0, 0.0, 1.0]) / size
    turned = (away[..., 2] + 1j * away[..., 0]) * np.conj(face)[:, None]
    local = np.concatenate([turned.real, away[..., 1], turned.imag], axis=1)
    path = (hips[:, 2] + 1j * hips[:, 0]) / size
    step = np.gradient(path) * np.conj(face) if len(path) > 1 else np.zeros(len(path), complex)
    speed = np.gradient(local, axis=0) if len(local) > 1 else np.zeros_like(local)
    reach = _AHEAD * motion.fps
    rows = np.concatenate(
        [local, reach * speed, 3.0 * reach * np.column_stack([step.real, step.imag])], axis=1
    )
    return rows[start - a : start - a + (end - start)] / np.sqrt(local.shape[1])
