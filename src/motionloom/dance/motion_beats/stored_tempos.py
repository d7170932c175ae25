"""Tempos of the takes of a library, detected once per take and kept with the library.

Clusters, the studio's list of takes and choreographies ask which takes are rhythmic. Each take is
analyzed the first time one of them asks. The tempo stays valid until the frames of the take, or the
beats set by hand, change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from motionloom.dance.motion_beats.manual_beats import beats_in, given_beats
from motionloom.dance.settings import BeatSettings
from motionloom.errors import MotionloomError
from motionloom.store.records import text_digest
from motionloom.store.store import Store
from motionloom.store.take_facts import TakeFacts

TEMPOS: TakeFacts[float | None] = TakeFacts("tempos", 1, (float, type(None)))


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
    given = given_beats(library)
    beats_of = beats_in(library, library.__getitem__)
    keys = {
        entry.name: text_digest(
            entry.digest, entry.skeleton, repr(entry.fps), repr(given.get(entry.name))
        )
        for entry in library.entries(names)
    }

    def find(name: str) -> float | None:
        try:
            beats = beats_of([library[name]], BeatSettings())
        except MotionloomError:  # the take is too short or has no feet
            return None
        return 60.0 / beats.period if beats.rhythmic else None

    return TEMPOS.values(library, keys, find, progress)
