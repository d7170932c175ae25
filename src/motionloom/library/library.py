"""`Library`: many motions on disk by name, with every verb as a method.

The verbs are thin: documentation, settings, one call. What they work on is the *store* of the
library (`motionloom.store`), which the algorithms take; what they keep is in collections
(`motionloom.library.collections`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from motionloom.configuration import trust
from motionloom.errors import LibraryError
from motionloom.evaluation.settings import EvaluateSettings, StudySettings
from motionloom.library.annotations import BeatCollection, CaptionCollection, LabelCollection
from motionloom.library.collections import (
    ChoreographyCollection,
    ControllerCollection,
    GraphCollection,
    ParametricCollection,
    WebCollection,
)
from motionloom.library.dance_verbs import DanceVerbs
from motionloom.library.find_verbs import FindVerbs
from motionloom.library.motion_verbs import MotionVerbs
from motionloom.settings import takes
from motionloom.store import Store
from motionloom.store.catalogue import Catalogue
from motionloom.store.records import Entry, character_key, named_characters
from motionloom.store.remote.object_store import trust_store
from motionloom.store.settings import ImportSettings

if TYPE_CHECKING:
    from motionloom.evaluation.clips import Evaluation
    from motionloom.evaluation.rank_correlation import Study
    from motionloom.motion import Motion
    from motionloom.parallel import Progress
    from motionloom.search.match import Match
    from motionloom.store.artifacts import Artifacts
    from motionloom.store.history import Change
    from motionloom.store.ingest.importing import ImportReport
    from motionloom.store.verify import VerifyReport
    from motionloom.text.text_search import TextMatch


def _decoded_web(data: bytes) -> Any:
    from motionloom.search.match_web.encoding import decoded

    return decoded(data)


class LibraryStore(Store):
    """The store of a library: decodes match webs, and renames beats with their motion."""

    COLLECTIONS: ClassVar[Mapping[str, Callable[[bytes], Any]]] = {"web": _decoded_web}

    def rename(self, name: str, new: str) -> None:
        """Give a motion another name; beats that were set by hand keep to it."""
        from motionloom.dance.motion_beats.manual_beats import rename_given_beats

        with self.change("rename"):
            super().rename(name, new)
            rename_given_beats(self, name, new)


class Library(FindVerbs, MotionVerbs, DanceVerbs):
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
    >>> lib.names, lib.labels["walk_1"]
    (('walk_1',), ('walk',))
    """

    def __init__(self, path: str | Path, *, timeout: float = 600.0) -> None:
        self.store: Store = LibraryStore(path, timeout=timeout)

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        fps: float | None = None,
        store: str | None = None,
        exist_ok: bool = False,
    ) -> Self:
        """Create an empty library in a new folder.

        Parameters
        ----------
        path : str or Path
            The folder, by convention ``something.loom``. It may exist if it is empty.
        fps : float, optional
            Frame rate of the library: everything added is resampled to it. Default: every
            motion keeps its own.
        store : str, optional
            Address of an object store for frames and artifacts, such as ``s3://bucket/prefix``.
            Default: they are in the library's folder.
        exist_ok : bool
            Open the library if it exists, instead of raising.

        Raises
        ------
        LibraryError
            If `path` is a library, a file or a folder with other content; if the object store
            cannot be reached or belongs to another library.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     len(ml.Library.create(f"{folder}/takes.loom", fps=30))
        0
        """
        LibraryStore.create(path, fps=fps, store=store, exist_ok=exist_ok)
        return cls(path)

    @classmethod
    def recover(cls, path: str | Path) -> int:
        """Rebuild the catalogue of a library from its frame files, if it has no usable one.

        A damaged catalogue is moved to the trash first. Labels were only in it, and are lost.

        Returns
        -------
        count : int
            Number of motions that are listed again; 0 if the catalogue is usable.
        """
        return LibraryStore.recover(path)

    @property
    def path(self) -> Path:
        """Folder of the library."""
        return self.store.path

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all motions."""
        return self.store.names

    def entries(self) -> list[Entry]:
        """Name, frames, rate and source of every motion."""
        return self.store.entries()

    def __getitem__(self, name: str) -> Motion:
        return self.store[name]

    def __len__(self) -> int:
        return len(self.store)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.store)

    def __contains__(self, name: object) -> bool:
        return name in self.store

    def __repr__(self) -> str:
        return repr(self.store).replace(type(self.store).__name__, type(self).__name__, 1)

    def close(self) -> None:
        """Close the files of the library."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- collections ----------------------------------------------------------------------

    @property
    def labels(self) -> LabelCollection:
        """Labels of motions and of segments: ``lib.labels["86_01"]``."""
        return LabelCollection(self.store)

    @property
    def beats(self) -> BeatCollection:
        """Motion beats of takes, found or set by hand: ``lib.beats["60_01"]``."""
        return BeatCollection(self.store)

    @property
    def captions(self) -> CaptionCollection:
        """Events that motions show, found by rule: ``lib.captions["86_01"]``."""
        return CaptionCollection(self.store)

    @property
    def parametric(self) -> ParametricCollection:
        """Stored parametric motions: ``lib.parametric["kick"]``."""
        return ParametricCollection(self.store)

    @property
    def graphs(self) -> GraphCollection:
        """Stored motion graphs, and edits of their transitions."""
        return GraphCollection(self.store)

    @property
    def controllers(self) -> ControllerCollection:
        """Stored motion-matching databases."""
        return ControllerCollection(self.store)

    @property
    def choreographies(self) -> ChoreographyCollection:
        """Stored choreographies: ``lib.choreographies["waltz"]``."""
        return ChoreographyCollection(self.store)

    @property
    def webs(self) -> WebCollection:
        """Match webs of pairs of motions, for ``search(method="web")``."""
        return WebCollection(self.store)

    @property
    def artifacts(self) -> Artifacts:
        """Everything that is derived from the motions and kept: features, webs, graphs, ..."""
        return self.store.artifacts

    # --- motions --------------------------------------------------------------------------

    @takes(ImportSettings)
    def add(
        self,
        *paths: str | Path,
        settings: ImportSettings | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> ImportReport:
        """Import files, and all motion files in folders.

        Files that the library already has (same bytes, same options) are skipped, so an
        interrupted import is resumed by calling it again. A file that has changed replaces its
        motion. A file that cannot be read is reported, and the import continues.

        Parameters
        ----------
        *paths : str or Path
            Files and folders.
        settings : ImportSettings, optional
        progress : callable, optional
            Called with the number of files finished since the last call.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> _ = ml.demo.clip("walk").save(f"{folder.name}/walk.bvh")
        >>> made = ml.Library.create(f"{folder.name}/takes.loom")
        >>> made.add(folder.name).added, made.names
        (1, ('walk',))
        """
        given = ImportSettings.given(settings, options)
        return self.store.add(*paths, settings=given, progress=progress)

    def add_motion(
        self,
        motion: Motion,
        *,
        name: str | None = None,
        labels: Iterable[str] | None = None,
        replace: bool = False,
    ) -> None:
        """Add a motion from memory.

        Parameters
        ----------
        motion : Motion
        name : str, optional
            Default: ``motion.name``.
        labels : iterable of str, optional
        replace : bool
            Replace another motion of that name.

        Raises
        ------
        LibraryError
            If another motion has that name and `replace` is false.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = ml.Library.create(f"{folder}/takes.loom")
        ...     made.add_motion(ml.demo.clip("walk"), name="stroll", labels=["walk"])
        ...     print(made.names, made.labels["stroll"])
        ('stroll',) ('walk',)
        """
        self.store.add_motion(motion, name=name, labels=labels, replace=replace)

    def remove(self, *names: str) -> None:
        """Remove motions and their labels. `undo` brings them back, until the trash is emptied."""
        self.store.remove(*names)

    def rename(self, name: str, new: str) -> None:
        """Give a motion another name; its labels, and beats set by hand, stay with it.

        Parametric motions, graphs and choreographies that were saved keep the old name.
        """
        self.store.rename(name, new)

    def select(
        self,
        *,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        first: str | None = None,
    ) -> list[str]:
        """Names of the motions chosen by label and name, in the order of the library.

        Parameters
        ----------
        label, only, exclude : str or several, optional
            Only motions with one of these labels; only these motions; all but these.
        first : str, optional
            A motion that comes before the others, also if it is not chosen.

        Raises
        ------
        InvalidInput, LibraryError
            If a label or a motion does not exist, or if no motion is left.

        Examples
        --------
        >>> lib.select(only=["walk", "walk_fast"], first="walk_fast")
        ['walk_fast', 'walk']
        """
        from motionloom.search.filters import chosen_names

        chosen = chosen_names(self.store, label=label, only=only, exclude=exclude)
        if first is None:
            return chosen
        first = self.store.entry(first).name
        return [first, *(name for name in chosen if name != first)]

    def export(
        self,
        folder: str | Path,
        matches: Iterable[Match | TextMatch] | None = None,
        *,
        to: str = "bvh",
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> list[Path]:
        """Write matches, cut to their frames, or whole motions with their labels.

        Parameters
        ----------
        folder : str or Path
            For whole motions it must not exist, or be empty.
        matches : iterable of Match or TextMatch, optional
            Results of `search` or `find`, in order of rank, which the file names begin with.
            Default: the motions that `label`, `only` and `exclude` choose, with ``labels.csv``.
        to : str
            Suffix of a format that motions can be written in: ``"bvh"``, ``"glb"``, ``"fbx"``, ...
            For whole motions also ``"parquet"``: tables of frames, motions, labels and skeletons
            with a data card, as dataset hubs read them.
        label, only, exclude : str or several, optional
            As in `select`.
        progress : callable, optional
            Called with 1 after each motion.

        Returns
        -------
        files : list of Path

        Raises
        ------
        InvalidInput
            If no writer has the suffix, or the folder is not empty.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> [file.name for file in lib.export(folder.name, lib.search("walk:0-40", max=1))]
        ['001_walk_0-40.bvh']
        """
        from motionloom.library.dataset import write_clips, write_dataset, write_files

        if matches is not None:
            return write_clips(self.store, matches, Path(folder), to, progress)
        names = self.select(label=label, only=only, exclude=exclude)
        if to == "parquet":
            return write_dataset(self.store, names, Path(folder), progress)
        return write_files(self.store, names, Path(folder), to, progress)

    # --- history --------------------------------------------------------------------------

    def undo(self) -> Change:
        """Undo the latest change of the library; returns what was undone."""
        return self.store.undo()

    def redo(self) -> Change:
        """Repeat the change that was undone last; returns it."""
        return self.store.redo()

    def history(self) -> list[Change]:
        """Changes that can be undone or redone, the latest first."""
        return self.store.history()

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Read everything and compare it with its checksums: catalogue, frames, artifacts.

        Parameters
        ----------
        repair : bool
            Repair what can be repaired: list frames that the catalogue has lost, restore entries
            from the frame files, read damaged frames from their source again, remove artifacts
            that can be rebuilt, add missing checksums. Nothing is deleted.
        """
        return self.store.verify(repair=repair)

    # --- evaluation -----------------------------------------------------------------------

    @takes(EvaluateSettings)
    def evaluate(
        self,
        settings: EvaluateSettings | None = None,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> Evaluation:
        """Retrieval quality of clip measures on the labeled motions of this library.

        Parameters
        ----------
        settings : EvaluateSettings, optional
        workers : int, optional
            Processes. Default: one per core, fewer for little work.
        progress : callable, optional
            Called with 1 after each method.

        Returns
        -------
        evaluation : Evaluation
            ``methods[name].mean_average_precision`` and so on; ``best``; ``to_json()``.

        Examples
        --------
        >>> report = lib.evaluate(methods=["dtw-e15"])
        >>> sorted(report.methods)
        ['dtw-e15']
        """
        from motionloom.evaluation.clips import evaluate_clips

        given = EvaluateSettings.given(settings, options)
        return evaluate_clips(self.store, given, workers=workers, progress=progress)

    @takes(StudySettings)
    def study(
        self,
        settings: StudySettings | None = None,
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> Study:
        """Rank correlations between feature sets and frame distances on this library.

        Parameters
        ----------
        settings : StudySettings, optional
        progress : callable, optional
            Called with the number of steps done, ``2 * len(measures) + 1`` in all.

        Returns
        -------
        study : Study
            ``measures``, ``poses`` and ``segments`` (K, K), ``save_csv(path)``.

        Examples
        --------
        >>> study = lib.study(measures=["e15", "pc1"], clips=4, seconds=1.0, queries=20)
        >>> study.poses.shape
        (2, 2)
        """
        from motionloom.evaluation.rank_correlation import rank_correlations

        given = StudySettings.given(settings, options)
        return rank_correlations(self.store, given, progress=progress)


def trust_library(path: str | Path) -> list[str]:
    """Trust what a library names outside of itself; returns one line for each.

    These are the object store with its frames, the functions of parametric motions, and the files
    of characters that motions were retargeted to.

    Raises
    ------
    LibraryError, InvalidInput
        If it names nothing, or the address is not one of an object store.
    """
    from motionloom.parametric.artifact import function_key, named_functions

    trusted = []
    meta = Catalogue(Path(path)).settings()
    if meta.get("store"):
        trust_store(str(meta["store"]), str(meta.get("id", "")))
        trusted.append(f"store {meta['store']}")
    try:
        functions = named_functions(LibraryStore(path))
    except LibraryError:  # its artifacts cannot be read yet
        functions = []
    for reference in functions:
        trust(function_key(reference))
        trusted.append(f"function {reference}")
    for character in named_characters(Catalogue(Path(path)).raw_entries()):
        trust(character_key(character))
        trusted.append(f"character {character}")
    if not trusted:
        raise LibraryError(f"{path}: this library names nothing outside of its own folder")
    return trusted
