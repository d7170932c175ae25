"""Libraries on disk: a catalogue in SQLite, memory-mapped frames, labels and artifacts.

`Store` holds motions by name; `motionloom.Library` derives from it and adds the verbs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from motionloom.lazy_names import lazy_names

if TYPE_CHECKING:
    from motionloom.store.ingest.importing import Failure, ImportReport
    from motionloom.store.records import Entry
    from motionloom.store.store import Store

# Public name -> module.
_HOMES = {
    "Entry": "records",
    "Failure": "ingest.importing",
    "ImportReport": "ingest.importing",
    "Store": "store",
}
__all__ = ["Entry", "Failure", "ImportReport", "Store"]
__getattr__ = lazy_names(__name__, _HOMES)
