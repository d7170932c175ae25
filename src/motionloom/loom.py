"""`Library`, the one object users hold: storage plus the verbs."""

from __future__ import annotations

from motionloom.library import Storage


class Library(Storage):
    """Many motions on disk, by name.

    Parameters
    ----------
    path : str or Path
        An existing library; `Library.create` makes one.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = ml.demo.clip("walk").save(f"{folder.name}/takes/walk/walk_1.bvh")
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> print(lib.add(f"{folder.name}/takes", labels="folder").added)
    1
    >>> lib.names, lib.labels("walk_1")
    (('walk_1',), ('walk',))
    """
