"""Libraries on disk: a catalogue in SQLite, memory-mapped frames, labels and artifacts.

`Store` holds motions by name; `motionloom.Library` derives from it and adds the verbs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from motionloom.store.ingest.importing import Failure, ImportReport
    from motionloom.store.records import Entry
    from motionloom.store.store import Store

_HOMES = {  # imported when they are used: the help of a command needs the settings only
    "Entry": "motionloom.store.records",
    "Failure": "motionloom.store.ingest.importing",
    "ImportReport": "motionloom.store.ingest.importing",
    "Store": "motionloom.store.store",
}
__all__ = ["Entry", "Failure", "ImportReport", "Store"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
