"""`Library`: a collection of named motions on disk, with a method for every task.

The methods are thin: documentation, settings, and one call. Algorithms work on the library's
*store* (`motionloom.store`); saved results are in collections (`motionloom.library.collections`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from motionloom.configuration import trust
from motionloom.errors import InvalidInput, LibraryError
from motionloom.evaluation.settings import EvaluateSettings, StudySettings
from motionloom.formats.settings import GAME_ENGINES, GameSettings
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
from motionloom.store.records import Entry, character_key, named_characters, origin_from
from motionloom.store.remote.object_store import trust_store
from motionloom.store.settings import ImportSettings, TrainingSet

if TYPE_CHECKING:
    from motionloom.evaluation.clips import Evaluation
    from motionloom.evaluation.rank_correlation import Study
    from motionloom.motion import Motion, Scene
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
    """Store that can also decode match webs, and that renames beats along with their motion."""

    COLLECTIONS: ClassVar[Mapping[str, Callable[[bytes], Any]]] = {"web": _decoded_web}

    def rename(self, name: str, new: str) -> None:
        """Rename a motion and its manually set beats."""
        from motionloom.dance.motion_beats.manual_beats import rename_given_beats

        with self.change("rename"):
            super().rename(name, new)
            rename_given_beats(self, name, new)


class Library(FindVerbs, MotionVerbs, DanceVerbs):
    """A collection of named motions on disk.

    Parameters
    ----------
    path : str or Path
        Folder of an existing library. Use `Library.create` for a new one.

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
            Folder of the library, by convention ``something.loom``. It must be new or empty.
        fps : float, optional
            Frame rate of the library; added motions are resampled to it. Default: every motion
            keeps its frame rate.
        store : str, optional
            Address of an object store for frames and artifacts, such as ``s3://bucket/prefix``.
            Default: the folder of the library.
        exist_ok : bool
            Open the library if it already exists, instead of raising an error.

        Raises
        ------
        LibraryError
            If `path` is a library, a file or a folder with other contents, or if the object store
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
        """Rebuild a library's damaged or missing catalogue from its frame files.

        A damaged catalogue is moved to the trash first. Labels are stored only in the catalogue, so
        they are lost.

        Returns
        -------
        count : int
            Number of recovered motions; 0 if the catalogue is usable.
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
        """Return the name, number of frames, frame rate and source of every motion."""
        return self.store.entries()

    def __getitem__(self, name: str) -> Motion:
        return self.store[name]

    def scene(self, name: str) -> Scene:
        """Return the motions that were recorded together with a motion, such as two dancers.

        They are the people of one file (see `Origin.scene`), with the names they have here.

        Raises
        ------
        InvalidInput
            If the motion was recorded alone.
        """
        from motionloom.motion import Scene

        own = self.store.entry(name)
        scene = origin_from(own).scene
        if not scene:
            raise InvalidInput(f"{name} was recorded alone, so it has no scene")
        together = [
            entry.name
            for entry in self.entries()
            if entry.source == own.source and origin_from(entry).scene == scene
        ]
        return Scene([self[each] for each in together], together)

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
        """Close the library's files."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- collections ----------------------------------------------------------------------

    @property
    def labels(self) -> LabelCollection:
        """Labels of motions and segments: ``lib.labels["86_01"]``."""
        return LabelCollection(self.store)

    @property
    def beats(self) -> BeatCollection:
        """Motion beats of takes, detected or set by hand: ``lib.beats["60_01"]``."""
        return BeatCollection(self.store)

    @property
    def captions(self) -> CaptionCollection:
        """Captions of motions, that is, events found by fixed rules: ``lib.captions["86_01"]``."""
        return CaptionCollection(self.store)

    @property
    def parametric(self) -> ParametricCollection:
        """Saved parametric motions: ``lib.parametric["kick"]``."""
        return ParametricCollection(self.store)

    @property
    def graphs(self) -> GraphCollection:
        """Saved motion graphs, and manual edits of their transitions."""
        return GraphCollection(self.store)

    @property
    def controllers(self) -> ControllerCollection:
        """Saved motion matching databases."""
        return ControllerCollection(self.store)

    @property
    def choreographies(self) -> ChoreographyCollection:
        """Saved choreographies: ``lib.choreographies["waltz"]``."""
        return ChoreographyCollection(self.store)

    @property
    def webs(self) -> WebCollection:
        """Match webs for pairs of motions, used by ``search(method="web")``."""
        return WebCollection(self.store)

    @property
    def artifacts(self) -> Artifacts:
        """All saved data derived from the motions: features, webs, graphs and so on."""
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
        """Import motion files, and folders of motion files.

        Files that the library already contains (same bytes, same options) are skipped, so call it
        again to resume an interrupted import. A changed file replaces its motion. Unreadable files
        are reported, and the import continues.

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
            Replace an existing motion with the same name.

        Raises
        ------
        LibraryError
            If the name exists and `replace` is false.

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
        """Remove motions and their labels. `undo` restores them until the trash is emptied."""
        self.store.remove(*names)

    def rename(self, name: str, new: str) -> None:
        """Rename a motion; its labels and its manually set beats are kept.

        Saved parametric motions, graphs and choreographies still refer to the old name.
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
        """Select motions by label and name, in library order.

        Parameters
        ----------
        label, only, exclude : str or several, optional
            Respectively: select motions with one of these labels, select only these motions,
            exclude these motions.
        first : str, optional
            Motion to put first, even if it is not selected otherwise.

        Raises
        ------
        InvalidInput, LibraryError
            If a label or a motion does not exist, or if no motion remains.

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
        to: str | TrainingSet = "bvh",
        cut: str | None = None,
        preset: str | None = None,
        root: str | None = None,
        fps: float | None = None,
        game: GameSettings | None = None,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> list[Path]:
        """Export matches, cut to their frames, or whole motions with their labels.

        Parameters
        ----------
        folder : str or Path
            Output folder. For whole motions, it must be new or empty.
        matches : iterable of Match or TextMatch, optional
            Results from `search` or `find`, in order of rank; file names begin with the rank.
            Default: the motions that `label`, `only` and `exclude` select, with ``labels.csv``.
        to : str
            File name extension of a writable format, such as ``"bvh"``, ``"glb"`` or ``"fbx"``. For
            whole motions also ``"parquet"``: tables of frames, motions, labels and skeletons with a
            data card, for dataset hubs; or a game engine, ``"godot"``, ``"unity"`` or ``"unreal"``:
            one file with all takes, a manifest and instructions. ``"training-set"`` or a
            `TrainingSet` writes no motions but a manifest and labels of a set for training, split
            by performer.
        cut : {"labels", "pauses"}, optional
            Write one file per labeled segment, or per movement between two pauses, instead of whole
            motions.
        preset : str, optional
            Conventions of another program (see `motionloom.formats.presets`).
        root : {"bone", "in-place"}, optional
            Put the travel over the floor into a root bone, or remove it.
        fps : float, optional
            Frame rate of the written motions. Default: that of each motion; for engines, that of
            the first.
        game : GameSettings, optional
            Character and exactness of exports to game engines.
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
            If the format cannot be written, or the folder is not empty.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> [file.name for file in lib.export(folder.name, lib.search("walk:0-40", max=1))]
        ['001_walk_0-40.bvh']
        """
        from motionloom.library.dataset import write_clips, write_dataset, write_files
        from motionloom.library.engines import write_game

        if to == "training-set" or isinstance(to, TrainingSet):
            from motionloom.library.curation import write_training_set

            chosen = to if isinstance(to, TrainingSet) else TrainingSet()
            names = self.select(label=label, only=only, exclude=exclude)
            return write_training_set(self.store, names, Path(folder), chosen, progress)
        game = game or GameSettings()
        if to not in GAME_ENGINES and game.changed():
            raise InvalidInput(
                f"{next(iter(game.changed()))} is an option of exports to game engines: "
                f"to must be one of {', '.join(GAME_ENGINES)}; got {to!r}"
            )
        if matches is not None:
            return write_clips(self.store, matches, Path(folder), to, progress)
        names = self.select(label=label, only=only, exclude=exclude)
        if to in GAME_ENGINES:
            if preset or root:
                raise InvalidInput(f"exports to {to} have a root bone and no preset")
            report = write_game(self, names, Path(folder), to, game, progress, cut=cut, fps=fps)
            return list(report.files)
        if to == "parquet":
            if cut or preset or root or fps:
                raise InvalidInput(
                    "Parquet tables contain whole motions: no cut, preset, root or fps"
                )
            return write_dataset(self.store, names, Path(folder), progress)
        return write_files(
            self.store,
            names,
            Path(folder),
            to,
            progress,
            cut=cut,
            preset=preset,
            root=root,
            fps=fps,
        )

    # --- history --------------------------------------------------------------------------

    def undo(self) -> Change:
        """Undo the latest change to the library and return it."""
        return self.store.undo()

    def redo(self) -> Change:
        """Redo the change that was undone last and return it."""
        return self.store.redo()

    def history(self) -> list[Change]:
        """Return the changes that can be undone or redone, latest first."""
        return self.store.history()

    def verify(self, *, repair: bool = False) -> VerifyReport:
        """Verify the checksums of the catalogue, all frames and all artifacts.

        Parameters
        ----------
        repair : bool
            Repair damage where possible: add frames that are missing in the catalogue, restore
            entries from the frame files, read damaged frames from their source again, move damaged
            artifacts that can be rebuilt to the trash, and add missing checksums. Nothing is
            deleted.
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
        """Measure the retrieval quality of clip measures on this library's labeled motions.

        Parameters
        ----------
        settings : EvaluateSettings, optional
        workers : int, optional
            Number of processes. Default: one per core, fewer for small tasks.
        progress : callable, optional
            Called with 1 after each method.

        Returns
        -------
        evaluation : Evaluation
            Scores such as ``methods[name].mean_average_precision``; ``best``; ``to_json()``.

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
        """Compute rank correlations between feature sets and frame distances on this library.

        Parameters
        ----------
        settings : StudySettings, optional
        progress : callable, optional
            Called with the number of completed steps, ``2 * len(measures) + 1`` in total.

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
    """Trust everything outside a library's folder that it refers to; return a line for each.

    This includes the object store with its frames, the functions of parametric motions, and the
    character files that motions were retargeted to.

    Raises
    ------
    LibraryError, InvalidInput
        If the library refers to nothing outside its folder, or its address is not an object
        store.
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
        raise LibraryError(f"{path}: this library does not refer to anything outside its folder")
    return trusted
