"""Many motions on disk: a catalogue in SQLite, frames in memory-mapped arrays, labels.

`Storage` holds them by name; `motionloom.Library` is it with the verbs on top.
"""

from motionloom.library.importing import Failure, ImportReport
from motionloom.library.records import Entry
from motionloom.library.storage import Storage

__all__ = ["Entry", "Failure", "ImportReport", "Storage"]
