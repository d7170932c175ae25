"""The one front: `Library`, storage plus the verbs, each a thin call into the other folders.

A verb is a function whose first argument is the library; `Library` takes it in as a method. So
`searching`, `making` and `endless` read by themselves, and `Library` is the list of what there is.
"""

from motionloom.library.library import Library
from motionloom.store.catalogue import is_library
from motionloom.store.ingest.sources import assign_names, find_sources

__all__ = ["Library", "assign_names", "find_sources", "is_library"]
