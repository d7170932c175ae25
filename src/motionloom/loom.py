"""`Library`, the one object users hold: storage plus the verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motionloom.library import Storage

if TYPE_CHECKING:
    from motionloom.distance import Basis, FeatureSet, LibraryFeatures
    from motionloom.distance.body_frame import Normalize
    from motionloom.library.importing import Progress


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

    def features(
        self,
        features: str | FeatureSet = "e15",
        *,
        normalize: Normalize | None = None,
        scale_free: bool | None = None,
        fps: float | None = None,
        basis: Basis | Library | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> LibraryFeatures:
        """Features of every frame, computed once and kept with the library.

        Parameters
        ----------
        features : str or FeatureSet
            A name in `motionloom.distance.FEATURES`, or a set.
        normalize : {"heading", "full"}, optional
            Default: where the body stands and faces is removed.
        scale_free : bool, optional
            Scale performers of all sizes to one.
        fps : float, optional
            Rate of the rows. Default: the library's own, or 30.
        basis : Basis or Library, optional
            Principal components, or the library to fit them on. Default: this one.
        workers : int, optional
            Processes. Default: one per core, fewer for little work.
        progress : callable, optional
            Called with the number of motions done since the last call.

        Returns
        -------
        features : LibraryFeatures
            Memory-mapped. Motions whose skeletons lack a joint that is needed have no
            rows; ``left_out`` names them.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> lib.add_motion(ml.demo.clip("walk"), name="walk")
        >>> rows = lib.features("e15").rows
        >>> rows.shape == (len(lib["walk"]), 15)
        True
        """
        from motionloom.distance import library_features

        return library_features(
            self,
            features,
            normalize=normalize,
            scale_free=scale_free,
            fps=fps,
            basis=basis,
            workers=workers,
            progress=progress,
        )
