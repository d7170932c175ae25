"""Candidates: library segments that match a phrase in a script.

An event matches a phrase if they have words in common. Anything that the phrase does not mention
has a small cost: other events at the same time, and directions or manners in the caption ("in a
curve to the left", "slowly"). Takes whose labels name the action come first, because labels written
by people are more reliable than rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motionloom.motion import Motion
from motionloom.motion.kinematics.body import body_height, facing, leg_length
from motionloom.motion.loops import SHORT, unrolled
from motionloom.motion.segment import Segment, split_segment
from motionloom.store.store import Store
from motionloom.text.captions import predicates
from motionloom.text.scripts.script import Phrase, parse_script
from motionloom.text.text_index import IndexedEvent, TextIndex
from motionloom.text.vocabulary import MODIFIERS, nearest, words

Array = NDArray[np.float64]

MOST = 16  # maximum number of candidates per phrase
_ONLY_RELATED = 0.5  # weight of a search word that does not occur in the text of the event
_CLOSE = 0.12  # candidates are kept if their match is at most this much worse than the best
_SHORT = 0.3  # penalty of an event that is much shorter than its phrase
_LEAST = 0.6  # minimum match of the best candidate
_OTHERS = 0.08  # penalty of each other action within a segment, and just before or after it
_STATES = 0.02  # penalty of each other state within a segment
_TURNED = 0.5  # penalty of a turn that differs by half a turn
_ENOUGH = 0.85  # minimum fraction of the duration, unless no candidate is long enough
_UNASKED = 0.05  # penalty of each direction or manner that is not in the phrase
_BESIDE = 0.08  # penalty of an event with a different predicate and verb
_MIRRORED = 0.1  # penalty of a mirrored event
_LABELED = 0.1  # bonus if a label contains the action
_WHOLE = 0.12  # penalty of a whole take that is only named; captions say when something happens
_CLIP = 8.0  # seconds: the name of a longer take does not describe all of it
_MOST_OF = 0.4  # an event with this fraction of a loop lasts for the whole loop
_BRIEF = 0.35  # minimum duration in seconds of a segment for a phrase with a duration
# Words for direction and manner in captions; "forward" and "straight" are the default.
_MANNERS = frozenset(
    "left right backward sidestep curve circle around slow fast squat sneak stoop high low far big "
    "across deep".split()
)
_ARMS = frozenset(words("arm arms hand hands elbow elbows"))
_LEGS = frozenset(words("leg legs foot feet knee knees"))
MARGIN = 0.6  # maximum seconds between an event and a seam before or after it
SEAM = 0.2  # seconds on either side of a seam that are blended
_POSE = (
    "head", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist",
    "right_wrist", "left_hip", "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle",
    "left_foot", "right_foot",
)  # fmt: skip
_DEGREES = re.compile(r"(\d+)\s*(?:degrees?|°)", re.IGNORECASE)
_TURN = re.compile(r"\b(?:turn|rotat|spin|pivot)", re.IGNORECASE)
_SIDED = re.compile(r"\b(?:left|right)\b", re.IGNORECASE)
_AFTER = re.compile(r"(\s+mirrored)?(?:\s+(left|right) arm)?$")
_WHOSE = re.compile(r"\b(?:my|your|his|her|its|their|our)\b", re.IGNORECASE)
_AHEAD = 0.15  # weight of velocities relative to positions, in seconds


@dataclass(frozen=True)
class PhraseCandidate:
    """An event in a motion, with the usable frames before and after it.

    Attributes
    ----------
    motion : str
    start, end : int
        Frames ``[start, end)`` of the event in the stored motion.
    first, last : int
        Earliest frame for a seam before `start`, and latest frame for a seam after `end`.
    match : float
        Fraction of the phrase that the event shows; 1 for the entire phrase.
    text : str
        Caption or label of the event.
    name, side : str
        Name and side of the predicate; empty for a label or an explicitly named segment.
    count : int
        Number of repetitions in the segment.
    timed : bool
        True if the event was cut to a duration.
    mirrored : bool
        True if left and right are swapped; text and side describe the mirrored motion.
    """

    motion: str
    start: int
    end: int
    first: int
    last: int
    match: float
    text: str
    name: str = ""
    side: str = ""
    count: int = 1
    timed: bool = False
    mirrored: bool = False

    def __str__(self) -> str:
        return f"{self.motion}:{self.lead_in}-{self.lead_out}{' mirrored' * self.mirrored}"

    def frames(self, library: Store, start: int, end: int) -> Motion:
        """Return frames ``[start, end)`` of the motion, mirrored if necessary."""
        part = played_take(library, self.motion)[start:end]
        return part.mirror() if self.mirrored else part

    @property
    def lead_in(self) -> int:
        """First frame to use if no other segment precedes this one."""
        return self.start if self.timed else min(self.first, self.start)

    @property
    def lead_out(self) -> int:
        """End frame to use if no other segment follows this one."""
        return self.end if self.timed else max(self.last, self.end)


def played_take(library: Store, name: str) -> Motion:
    """Return a motion as scripts play it: short loops of games are repeated."""
    return unrolled(library[name])


def candidates(index: TextIndex, library: Store, phrase: Phrase) -> list[PhraseCandidate]:
    """Return segments that show a phrase, best first; the list may be empty.

    If a phrase names a segment, such as ``take:30-90``, this segment is the only candidate.
    Simultaneous actions must be within the segment.
    """
    named = _segment(library, phrase.action)
    if named is not None:
        return [named]
    action = _WHOSE.sub(" ", phrase.action)
    asked, counts = dict.fromkeys(index.words(action)), index.takes_with
    asked_words = [w if w in counts else nearest(w, counts) or w for w in asked]
    weights = {w: index.rarity(w) * (0.3 if w in MODIFIERS else 1.0) for w in asked_words}
    verbs = [w for w in asked_words if w not in MODIFIERS] or asked_words
    if not sum(weights.values()):
        return []
    matches: list[PhraseCandidate] = []
    labeled = index.takes_named(verbs)
    for m, event, others, states in (*_events_with(index, verbs), *_named(index, verbs, labeled)):
        timed = _timed(phrase, event, index.fps[m], library, index.names[m])
        for mirrored in (False, True):
            if mirrored:
                if not _SIDED.search(event.text) or not _SIDED.search(phrase.action):
                    break
                event = _mirror_image(event)
            match = _match(index, event, phrase, weights, verbs)
            match -= _OTHERS * min(others, 3) + _STATES * min(states, 4) + _MIRRORED * mirrored
            if match < _LEAST or _other_side(event, phrase.action) or _other_limb(event, asked):
                continue
            match += _LABELED * (m in labeled) - _WHOLE * (event.source == "name")
            whole, frames = _in_loop(index, library, m, event, timed)
            if timed.seconds is not None:  # long enough
                match -= _SHORT * max(0.0, 1.0 - len(whole) / index.fps[m] / timed.seconds)
            shown = _with(index, m, event, phrase.along) if phrase.along else whole
            if len(shown) <= 2:
                continue
            made = _candidate(index, m, shown, match, timed, frames)
            if made is not None:
                matches.append(replace(made, mirrored=mirrored))
    if not matches:
        return []
    matches.sort(key=lambda each: (-each.match, each.motion, each.start))
    best = [each for each in matches if each.match >= matches[0].match - _CLOSE]
    return _varied(best)


@dataclass(frozen=True)
class PhraseOptions:
    """Options for a phrase in a script: the segments that show it, best first, or similar phrases.

    `near` lists descriptions of similar events if no segment shows the phrase.
    """

    phrase: str
    candidates: tuple[PhraseCandidate, ...]
    near: tuple[str, ...] = ()


def phrase_options(index: TextIndex, library: Store, script: str) -> list[PhraseOptions]:
    """Return the options for each phrase in a script; see `motionloom.Library.phrase_options`."""
    made = []
    for phrase in parse_script(script):
        options = tuple(candidates(index, library, phrase))
        near = () if options else tuple(nearest_phrases(index, phrase))
        made.append(PhraseOptions(phrase.text, options, near))
    return made


def _match(
    index: TextIndex,
    event: IndexedEvent,
    phrase: Phrase,
    weights: Mapping[str, float],
    verbs: Sequence[str],
) -> float:
    """Return how well an event shows a phrase; 1 means the whole phrase and nothing else."""
    text = words(event.text, index.synonyms)
    said = set(text)
    named = {*words(event.name.replace("_", " "), index.synonyms), *text[:1]}
    match = sum(
        weight * (1.0 if word in said or word in named else _ONLY_RELATED)
        for word, weight in weights.items()
        if word in event.words
    ) / sum(weights.values())
    if event.name and named.isdisjoint(verbs):
        match -= _BESIDE
    match -= _TURNED * abs(_turn(event.text, phrase) or 0.0) / 180.0
    return match - _UNASKED * min(len((said & _MANNERS) - set(weights)), 3)


def _other_side(event: IndexedEvent, action: str) -> bool:
    """Return whether an event is on the wrong side, if a phrase specifies one side or both."""
    asked = {word.lower() for word in _SIDED.findall(action)}
    said = {word.lower() for word in _SIDED.findall(event.text)}
    if not asked and re.search(r"\bboth\b", action, re.IGNORECASE):
        return bool(event.side)
    return bool(asked) and bool(said) and asked.isdisjoint(said)


def _other_limb(event: IndexedEvent, asked: Iterable[str]) -> bool:
    """Return whether a caption is about legs where arms are asked for, or the other way round."""
    limbs = [part & set(asked) for part in (_ARMS, _LEGS)]
    said = [part & event.words for part in (_ARMS, _LEGS)]
    return any(limbs[k] and not limbs[1 - k] and said[1 - k] and not said[k] for k in (0, 1))


def _mirror_image(event: IndexedEvent) -> IndexedEvent:
    """Return an event with left and right swapped."""
    other = {"left": "right", "right": "left"}
    return replace(
        event,
        text=_SIDED.sub(lambda match: other[match[0].lower()], event.text),
        words=frozenset(other.get(word, word) for word in event.words),
        name=re.sub(r"(left|right)$", lambda match: other[match[0]], event.name),
        side=other.get(event.side, ""),
    )


def by_arms_alone(name: str) -> bool:
    """Return whether a predicate concerns only the arms; legs can then come from another motion."""
    return any(each.name == name and each.arms for each in predicates())


def nearest_phrases(index: TextIndex, phrase: Phrase) -> list[str]:
    """Return descriptions of events similar to a phrase, for use in a message."""
    asked = [w for w in index.words(phrase.action) if w in index.takes_with]
    seen: dict[str, None] = {}
    for _, event, _, _ in _events_with(index, asked[:3]) if asked else ():
        seen.setdefault(event.text, None)
        if len(seen) == 3:
            break
    return list(seen)


def repeats(phrase: Phrase, options: Sequence[PhraseCandidate], library: Store) -> int:
    """Return how many segments a phrase needs for its repetitions, duration or distance."""
    if phrase.seconds is None and phrase.meters is None:
        return phrase.times
    lengths = [(each.end - each.start) / library.entry(each.motion).fps for each in options]
    if phrase.meters is not None:
        longest = max(
            _travel(played_take(library, each.motion), each.start, each.end) for each in options
        )
        return max(phrase.times, math.ceil(phrase.meters / max(longest, 0.1) - 0.2))
    assert phrase.seconds is not None
    return max(phrase.times, math.ceil(phrase.seconds / max(lengths) - 0.2))


def long_enough(
    options: Sequence[PhraseCandidate], phrase: Phrase, library: Store
) -> Sequence[PhraseCandidate]:
    """Return the candidates that are long enough for the phrase, or all if none is long enough."""
    if phrase.seconds is None:
        return options
    least = _ENOUGH * phrase.seconds
    return [
        e for e in options if (e.end - e.start) / library.entry(e.motion).fps >= least
    ] or options


def part_of(phrase: Phrase, count: int) -> Phrase:
    """Return the phrase with its duration or distance divided by `count`."""
    return replace(
        phrase,
        seconds=None if phrase.seconds is None else phrase.seconds / count,
        meters=None if phrase.meters is None else phrase.meters / count,
    )


def _turn(text: str, phrase: Phrase) -> float | None:
    """Return the difference in degrees between an event's turn and the requested turn, or None.

    Without a number, "turn left" is a quarter turn and "turn around" is half a turn.
    """
    said = _DEGREES.search(text)
    if said is None or _TURN.search(phrase.action) is None:
        return None
    number = _DEGREES.search(phrase.action)
    around = re.search(r"\baround\b", phrase.action, re.IGNORECASE) is not None
    asked = float(number[1]) if number is not None else 180.0 if around else 90.0
    return float(said[1]) - asked


def _segment(library: Store, text: str) -> PhraseCandidate | None:
    """Return the segment that a phrase names, if any."""
    after = _AFTER.search(text)
    assert after is not None
    name, written = split_segment(text[: after.start()])
    if written is None or name not in library:
        return None
    part = Segment.parse(text[: after.start()], played_take(library, name))
    a, b = part.start_frame, part.end_frame
    return PhraseCandidate(
        name, a, b, a, b, 1.0, text, side=after[2] or "", timed=True, mirrored=bool(after[1])
    )


def _timed(phrase: Phrase, event: IndexedEvent, fps: float, library: Store, name: str) -> Phrase:
    """Convert the distance in a phrase, if any, to a duration at the speed of the event."""
    if phrase.meters is None:
        return phrase
    speed = _travel(library[name], event.start_frame, event.end_frame) / max(len(event) / fps, 0.1)
    return replace(phrase, seconds=min(phrase.meters / max(speed, 0.05), 120.0), meters=None)


def _travel(motion: Motion, start: int, end: int) -> float:
    """Return the length of the hip path along the floor, in meters."""
    path = motion.root[start:end:3, [0, 2]].astype(np.float64)
    return float(np.sum(np.linalg.norm(np.diff(path, axis=0), axis=1)))


def _events_with(
    index: TextIndex, verbs: Sequence[str]
) -> Iterable[tuple[int, IndexedEvent, int, int]]:
    """Yield events that match any of the words, with simultaneous actions and states."""
    clause = " OR ".join("' ' || words || ' ' LIKE ?" for _ in verbs)
    lasting = ", ".join(f"'{each.name}'" for each in predicates() if each.state)
    count = (
        "(SELECT count(*) FROM events AS o WHERE o.take = e.take AND o.source = 'caption' AND "
        "o.name {} IN ({}) AND o.start_frame < e.end_frame + {} AND o.end_frame > e.start_frame "
        "- {} AND (o.name != e.name OR o.side != e.side OR o.start_frame != e.start_frame))"
    )
    near = round(0.3 * max(index.fps, default=30.0))
    statement = (
        "SELECT take, start_frame, end_frame, text, words, source, name, side, "
        f"{count.format('NOT', lasting, near, near)}, {count.format('', lasting, 0, 0)} "
        f"FROM events AS e WHERE {clause}"
    )
    for take, start, end, text, event_words, source, name, side, others, states in index.rows(
        statement, [f"% {verb} %" for verb in verbs]
    ):
        event = IndexedEvent(start, end, text, frozenset(event_words.split()), source, name, side)
        yield take, event, others, states


def _named(
    index: TextIndex, verbs: Sequence[str], takes: Iterable[int]
) -> Iterable[tuple[int, IndexedEvent, int, int]]:
    """Yield whole short takes whose name or labels contain all words of an action."""
    for m in sorted(takes):
        named = frozenset(index.named_words(m))
        if named.issuperset(verbs) and index.frames[m] <= _CLIP * index.fps[m]:
            text = re.sub(r"[\W_]+", " ", index.names[m].rpartition("/")[2]).strip()
            yield m, IndexedEvent(0, index.frames[m], text, named, "name"), 0, 0


def _in_loop(
    index: TextIndex, library: Store, m: int, event: IndexedEvent, phrase: Phrase
) -> tuple[IndexedEvent, int]:
    """Return an event and the number of frames of its take.

    In a take that loops, an event of a phrase with a duration is extended to all cycles.
    """
    frames = index.frames[m]
    if frames >= SHORT * index.fps[m]:
        return event, frames
    longer = len(played_take(library, index.names[m]))
    if longer > frames and phrase.seconds is not None and len(event) > _MOST_OF * frames:
        return replace(event, start_frame=0, end_frame=longer), longer
    return event, frames


def _candidate(
    index: TextIndex, m: int, event: IndexedEvent, match: float, phrase: Phrase, frames: int
) -> PhraseCandidate | None:
    fps = index.fps[m]
    margin = round((MARGIN if phrase.seconds is None else SEAM) * fps)
    seam = round(SEAM * fps) + 1
    start, end = event.start_frame, event.end_frame
    if phrase.seconds is not None and (end - start) / fps > phrase.seconds:
        start += int(max(0.0, (end - start) - phrase.seconds * fps) / 2.0)
        end = start + round(phrase.seconds * fps)
    first, last = max(start - margin, seam), min(end + margin, frames - seam)
    if first > start or last < end:  # too close to an end of the motion
        start, end = max(start, first), min(end, last)
    if (
        end - start < (3 if phrase.seconds is None else _BRIEF * fps)
        or first >= start + 1
        and first > last
    ):
        return None
    timed = phrase.seconds is not None
    return PhraseCandidate(
        index.names[m], start, end, first, last, match, event.text, event.name, event.side,
        _count(event), timed,
    )  # fmt: skip


def _with(index: TextIndex, m: int, event: IndexedEvent, along: str) -> IndexedEvent:
    """Return the part of an event during which another event occurs, or an empty range."""
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


def _varied(options: Sequence[PhraseCandidate]) -> list[PhraseCandidate]:
    """Return the first candidates, limited to a few per motion."""
    kept: list[PhraseCandidate] = []
    of: dict[str, int] = {}
    for each in options:
        if of.get(each.motion, 0) < 3:
            of[each.motion] = of.get(each.motion, 0) + 1
            kept.append(each)
        if len(kept) == MOST:
            break
    return kept


def pose_rows(motion: Motion, start: int, end: int, roles: Sequence[str] = _POSE) -> Array:
    """Return poses and velocities in ``[start, end)``, normalized in size, place and heading."""
    lead = 1
    a, b = max(start - lead, 0), min(end + lead, len(motion))
    part = motion[a:b]
    places = part.role_positions(roles).astype(np.float64)
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
