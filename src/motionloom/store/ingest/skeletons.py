"""One skeleton per performer: skeletons that differ by rounding only are stored as one.

Programs write the bones of one performer anew in every take, with the rounding of that take, so
their offsets differ by fractions of a millimetre. Such a take is stored with the skeleton that the
library has already; its frames are not changed.
"""

from __future__ import annotations

from dataclasses import replace

from motionloom.store.catalogue import Catalogue
from motionloom.store.records import Entry, skeleton_from, skeleton_json


class StoredSkeletons:
    """The skeletons of a library, by key, while motions are added to it."""

    def __init__(self, catalogue: Catalogue) -> None:
        rows = catalogue.rows("SELECT key, data FROM skeletons ORDER BY key")
        found = {key: skeleton_from(data) for key, data in rows}
        self._stored = {key: skeleton for key, skeleton in found.items() if skeleton is not None}
        self._same: dict[str, str] = {}  # key of a skeleton to that of the one stored for it

    def adopt(self, entry: Entry, data: str) -> tuple[Entry, str]:
        """The entry with a stored skeleton of the same body, if there is one; and its JSON."""
        key = self._same.get(entry.skeleton)
        if key is None:
            skeleton = self._stored.get(entry.skeleton) or skeleton_from(data)
            if skeleton is None:
                return entry, data
            self._stored.setdefault(entry.skeleton, skeleton)
            # A library of release 0.1 may hold several of one body: the first one counts.
            stored = self._stored.items()
            key = next(key for key, other in stored if other.is_same_body(skeleton))
            self._same[entry.skeleton] = key
        if key == entry.skeleton:
            return entry, data
        return replace(entry, skeleton=key), skeleton_json(self._stored[key])
