"""`Library`: motions on disk by name, with every verb as a method."""

from __future__ import annotations

from motionloom.library.blend_verbs import BlendVerbs
from motionloom.library.graph_verbs import GraphVerbs


class Library(BlendVerbs, GraphVerbs):
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

    @property
    def parametric_names(self) -> tuple[str, ...]:
        """Names of the parametric motions that are kept here."""
        from motionloom.parametric.artifact import parametric_names

        return parametric_names(self)
