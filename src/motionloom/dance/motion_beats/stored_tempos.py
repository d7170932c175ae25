"""Tempos of the takes of a library, detected once per take and kept with the library.

Clusters, the studio's list of takes and choreographies ask which takes are rhythmic. Each take is
analyzed the first time one of them asks. The tempo stays valid until the frames of the take, or the
beats set by hand, change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from motionloom.dance.motion_beats.manual_beats import beats_in, given_beats
from motionloom.dance.settings import BeatSettings
from motionloom.errors import LibraryError, MotionloomError
from motionloom.store.records import text_digest
from motionloom.store.store import Store

KIND, _NAME = "tempos", "detected"
_VERSION = 1  # increment when the analysis gives different results than before


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
    stored = _stored(library)
    given = given_beats(library)
    beats_of = beats_in(library, library.__getitem__)
    tempos: dict[str, float | None] = {}
    new: dict[str, float | None] = {}
    try:
        for name in names:
            entry = library.entry(name)
            key = text_digest(entry.digest, entry.skeleton, repr(entry.fps), repr(given.get(name)))
            if key not in stored and key not in new:
                new[key] = None
                with suppress(MotionloomError):  # the take is too short or has no feet
                    beats = beats_of([library[name]], BeatSettings())
                    new[key] = 60.0 / beats.period if beats.rhythmic else None
            tempos[name] = new[key] if key in new else stored[key]
            if progress is not None:
                progress(1)
    finally:
        if new:
            _keep(library, new)
    return tempos


def _stored(library: Store) -> dict[str, float | None]:
    """Return the tempos by take; empty if they are damaged or from another version."""
    if _NAME not in library.artifacts.names(KIND):
        return {}
    try:
        about = library.artifacts.about(KIND, _NAME)
        tempos = about["tempos"] if about.get("version") == _VERSION else {}
        if not all(isinstance(tempo, float | None) for tempo in tempos.values()):
            raise TypeError("a tempo is not a number")
        return dict(tempos)
    except (LibraryError, KeyError, TypeError, AttributeError):
        return {}


def _keep(library: Store, new: dict[str, float | None]) -> None:
    """Save new tempos, unless the library cannot be written."""
    with suppress(LibraryError, OSError), library.writing():
        tempos = {**_stored(library), **new}
        library.artifacts.save(KIND, _NAME, {"version": _VERSION, "tempos": tempos})
