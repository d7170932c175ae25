"""The one front: `Library`, storage plus the verbs, each a thin call into the other folders.

A verb is a function whose first argument is the library; `Library` takes it in as a method. So
`searching`, `making` and `endless` read by themselves, and `Library` is the list of what there is.
"""

from motionloom.library.library import Library

__all__ = ["Library"]
