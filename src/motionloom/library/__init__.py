"""`Library`: a `motionloom.store.Store` with every verb as a method."""

from motionloom.library.library import Library
from motionloom.store.catalogue import is_library
from motionloom.store.ingest.sources import assign_names, find_sources

__all__ = ["Library", "assign_names", "find_sources", "is_library"]
