"""Many motions on disk: a catalogue in SQLite, frames in memory-mapped arrays, labels.

`Store` holds them by name; `motionloom.Library` is it with the verbs on top.
"""

from motionloom.store.ingest.importing import Failure, ImportReport
from motionloom.store.records import Entry
from motionloom.store.store import Store

__all__ = ["Entry", "Failure", "ImportReport", "Store"]
