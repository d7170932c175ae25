"""Libraries on disk: an SQLite catalogue, memory-mapped frames, labels and artifacts.

`Store` provides motions by name. `motionloom.Library` adds all other methods.
"""

from typing import TYPE_CHECKING

from motionloom.lazy_names import imported_on_use

if TYPE_CHECKING:
    from motionloom.store.ingest.importing import Failure as Failure
    from motionloom.store.ingest.importing import ImportReport as ImportReport
    from motionloom.store.records import Entry as Entry
    from motionloom.store.store import Store as Store

__getattr__, __dir__ = imported_on_use(__name__)
