"""Rhythms of the takes of a library, detected once per take and kept with the library.

Clusters, the studio's list of takes and choreographies ask which takes are rhythmic. Each take is
analyzed the first time one of them asks. The answer stays valid until the frames of the take, or
the beats set by hand, change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from motionloom.dance.motion_beats.beats import Beats
from motionloom.dance.motion_beats.manual_beats import BeatsOf, beats_in, given_beats
from motionloom.dance.settings import RHYTHMIC, BeatSettings
from motionloom.errors import MotionloomError
from motionloom.motion import Motion
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.store.records import text_digest
from motionloom.store.store import Store
from motionloom.store.take_facts import TakeFacts


@dataclass(frozen=True)
class Rhythm:
    """Confidence and tempo of a take's beats, or the reason for having none."""

    confidence: float = 0.0
    bpm: float = 0.0
    reason: str = ""

    def skipped(self, min_confidence: float) -> str:
        """Return why a choreography skips the take, or an empty text."""
        if self.reason or self.confidence >= min_confidence:
            return self.reason
        return f"no rhythm (confidence {self.confidence:.2f} < {min_confidence:g})"


def _is_rhythm(fact: Any) -> bool:
    if isinstance(fact, str):
        return True
    numbers = isinstance(fact, list) and len(fact) == 2
    return numbers and all(type(value) is float for value in fact)


# A fact is a list of confidence and beats per minute, or the reason why there are none.
RHYTHMS: TakeFacts[Any] = TakeFacts("rhythms", 1, _is_rhythm)


def stored_tempos(
    library: Store, names: Iterable[str], progress: Callable[[int], None] | None = None
) -> dict[str, float | None]:
    """Return the tempo of each take in beats per minute; None if it is not rhythmic.

    Parameters
    ----------
    library : Store
    names : iterable of str
    progress : callable, optional
        Called with 1 for every take. If it raises an error, the tempos so far are still kept.

    Examples
    --------
    >>> bool(40 < stored_tempos(lib.store, ["walk"])["walk"] < 214)
    True
    """
    beats_of = beats_in(library, library.__getitem__)

    def find(name: str) -> Any:
        return _fact(lambda: beats_of([hips_as_root(library[name])], BeatSettings()))

    facts = RHYTHMS.values(library, _keys(library, names), find, progress)
    rhythms = {name: _rhythm(fact) for name, fact in facts.items()}
    return {name: r.bpm if r.confidence >= RHYTHMIC else None for name, r in rhythms.items()}


def known_rhythms(library: Store, names: Iterable[str]) -> dict[str, Rhythm]:
    """Return the rhythms of the takes that have been analyzed before, without reading any take."""
    facts = RHYTHMS.known(library, _keys(library, names))
    return {name: _rhythm(fact) for name, fact in facts.items()}


@contextmanager
def keeping_rhythms(library: Store, beats_of: BeatsOf) -> Iterator[BeatsOf]:
    """Give a function like `beats_of`; the rhythms of single takes that it analyzes are kept."""
    facts: dict[str, Any] = {}

    def analyzed(motions: Sequence[Motion], settings: BeatSettings) -> Beats:
        if len(motions) != 1 or settings != BeatSettings():
            return beats_of(motions, settings)
        try:
            beats = beats_of(motions, settings)
        except MotionloomError as error:
            facts[motions[0].name] = str(error)
            raise
        facts[motions[0].name] = _fact(lambda: beats)
        return beats

    try:
        yield analyzed
    finally:
        rhythms = known_rhythms(library, facts)
        keys = _keys(library, (name for name in facts if name not in rhythms))
        if keys:
            RHYTHMS.keep(library, {key: facts[name] for name, key in keys.items()})


def _keys(library: Store, names: Iterable[str]) -> dict[str, str]:
    given = given_beats(library)
    return {
        entry.name: text_digest(entry.key, repr(given.get(entry.name)))
        for entry in library.entries(names)
    }


def _fact(analyze: Callable[[], Beats]) -> Any:
    try:
        beats = analyze()
    except MotionloomError as error:  # the take is too short or has no feet
        return str(error)
    if not len(beats):
        return "no beats"
    return [float(beats.confidence), 60.0 / float(beats.period)]


def _rhythm(fact: Any) -> Rhythm:
    return Rhythm(reason=fact) if isinstance(fact, str) else Rhythm(*fact)
