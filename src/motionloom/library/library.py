"""`Library`: what is stored, and the verbs, which are functions of a library."""

from __future__ import annotations

from motionloom.library import endless, making, searching
from motionloom.store import Storage


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

    features = searching.features
    neighbours = searching.neighbours
    search = searching.search
    family = searching.family
    build_web = searching.build_web
    web = searching.web
    evaluate = searching.evaluate

    blend = making.blend
    parametrize = making.parametrize
    parametric = making.parametric
    reconstruct = making.reconstruct

    motion_graph = endless.motion_graph
    fat_graph = endless.fat_graph
    choreography = endless.choreography
    dance_floor = endless.dance_floor

    @property
    def parametric_names(self) -> tuple[str, ...]:
        """Names of the parametric motions that are kept here."""
        from motionloom.parametric.artifact import parametric_names

        return parametric_names(self)
