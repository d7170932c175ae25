"""`Library`: motions on disk by name, with every verb as a method."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from motionloom.configuration import trust
from motionloom.errors import LibraryError
from motionloom.library.blend_verbs import BlendVerbs
from motionloom.library.crowd_verbs import CrowdVerbs
from motionloom.library.evaluation_verbs import EvaluationVerbs
from motionloom.library.family_verbs import FamilyVerbs
from motionloom.library.graph_verbs import GraphVerbs
from motionloom.library.rhythm_verbs import RhythmVerbs
from motionloom.library.search_verbs import SearchVerbs
from motionloom.library.word_verbs import WordVerbs
from motionloom.motion import Motion, Skeleton
from motionloom.motion.gait import gait_segments
from motionloom.motion.retargeting.retarget import retarget
from motionloom.store.catalogue import Catalogue
from motionloom.store.records import character_key, named_characters
from motionloom.store.remote.object_store import trust_store

if TYPE_CHECKING:
    from motionloom.features import FeatureSet, FrameDistance
    from motionloom.library.comparison import Comparison
    from motionloom.parametric.parameter_text import ParameterKind
    from motionloom.search.query import Query
    from motionloom.search.settings import WebOptions


def _decoded_web(data: bytes) -> Any:
    from motionloom.search.match_web.encoding import decoded

    return decoded(data)


class Library(BlendVerbs, EvaluationVerbs, GraphVerbs, RhythmVerbs, CrowdVerbs, WordVerbs):
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

    COLLECTIONS: ClassVar[Mapping[str, Callable[[bytes], Any]]] = {"web": _decoded_web}

    @property
    def parametric_names(self) -> tuple[str, ...]:
        """Names of the parametric motions that are kept here."""
        from motionloom.parametric.artifact import parametric_names

        return parametric_names(self)

    def parametric_motions(self) -> list[dict[str, Any]]:
        """Stored parametric motions: ``name``, parameters ``by``, number of ``examples``."""
        from motionloom.parametric.artifact import KIND

        rows = []
        for name in self.artifacts.names(KIND):
            about = self.artifacts.about(KIND, name)
            try:
                by = [str(parameter["text"]) for parameter in about["parameters"]]
                rows.append({"name": name, "by": by, "examples": len(about["examples"])})
            except (LookupError, TypeError):
                raise LibraryError(
                    f"{self.path}: the parametric motion {name!r} is damaged; make it again"
                ) from None
        return rows

    def delete_parametric(self, name: str) -> None:
        """Delete a stored parametric motion."""
        from motionloom.parametric.artifact import KIND

        with self.change(f"delete parametric motion {name}"):
            self.artifacts.delete(KIND, name)

    @staticmethod
    def parameter_kinds() -> tuple[ParameterKind, ...]:
        """Kinds of parameters that a parametric motion can have."""
        from motionloom.parametric.parameter_text import parameter_kinds

        return parameter_kinds()

    @property
    def choreography_names(self) -> tuple[str, ...]:
        """Names of the stored choreographies."""
        from motionloom.dance.choreography_file import KIND

        return tuple(self.artifacts.names(KIND))

    def all_labels(self) -> dict[str, tuple[str, ...]]:
        """Labels of every motion that has any, each sorted."""
        return self.catalogue.labels()

    def gaits(self, name: str) -> list[tuple[str, int, int]]:
        """Gait (stand, walk, jog, run), first and last frame of each part of a motion with one.

        Measured from the motion; see `motionloom.motion.gait`.

        Examples
        --------
        >>> [gait for gait, _, _ in lib.gaits("walk_fast")]
        ['walk']
        """
        return gait_segments(self[name])

    def select(
        self,
        *,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
    ) -> list[str]:
        """Names of the motions chosen by label and name, in the order of the library.

        Raises
        ------
        InvalidInput, LibraryError
            If a label or a motion does not exist, or if no motion is left.

        Examples
        --------
        >>> lib.select(only=["walk"])
        ['walk']
        """
        from motionloom.search.filters import chosen_names

        return chosen_names(self, label=label, only=only, exclude=exclude)

    def export_motions(
        self,
        folder: str | Path,
        *,
        to: str = "bvh",
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        progress: Callable[[int], Any] = lambda done: None,
    ) -> Path:
        """Write motions and labels of this library into a new folder.

        Parameters
        ----------
        folder : str or Path
            Must not exist, or be empty.
        to : str
            Suffix of motion files, one per motion: ``"bvh"``, ``"glb"``, ``"fbx"``, ...; labels
            are in ``labels.csv``. ``"parquet"``: tables of frames, motions, labels and skeletons
            with a data card, as dataset hubs read them.
        label, only, exclude
            Choose motions; see `select`.
        progress : callable
            Called with 1 after each motion.

        Raises
        ------
        InvalidInput
            If the folder is not empty, or no writer has the suffix.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as scratch:
        ...     folder = lib.export_motions(f"{scratch}/takes", only=["walk", "jog"])
        ...     sorted(path.name for path in folder.iterdir())
        ['jog.bvh', 'labels.csv', 'walk.bvh']
        """
        from motionloom.library.dataset import write_dataset, write_files

        names = self.select(label=label, only=only, exclude=exclude)
        if to == "parquet":
            return write_dataset(self, names, Path(folder), progress)
        return write_files(self, names, Path(folder), to, progress)

    def query(self, text: str) -> Query:
        """A segment of this library, ``NAME`` or ``NAME:START-END``, as a query; never a file.

        Examples
        --------
        >>> lib.query("walk:10-40").end_frame
        40
        """
        from motionloom.search.query import library_query

        return library_query(self, text)

    def compare(
        self,
        a: str,
        b: str,
        *,
        distance: str | FrameDistance = "pc11",
        options: WebOptions | None = None,
    ) -> Comparison:
        """Compare two segments frame by frame: distance matrix, minima, match web, paths.

        Parameters
        ----------
        a, b : str
            ``NAME`` or ``NAME:START-END``: the segments of rows and columns.
        distance : str or FrameDistance
        options : WebOptions, optional
            All options of the match web, the distance included.

        Examples
        --------
        >>> a, b = "kick_front_high_right:10-40", "kick_front_mid_right"
        >>> lib.compare(a, b).matrix().shape[0]
        30
        """
        from motionloom.library.comparison import Comparison

        return Comparison(self, a, b, distance=distance, options=options)

    def prepare_search(
        self,
        *,
        method: str = "dtw",
        features: str = "e15",
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Compute and store what a search method reads: features, an index, or a clip table.

        `search` does it when needed; this shows its progress.

        Parameters
        ----------
        method, features : str
            As in `search`.
        progress : callable, optional
            Called with 1 for every motion.
        """
        from motionloom.search.clips.measures import CLIP_MEASURES
        from motionloom.search.clips.retrieval import clip_table
        from motionloom.search.index.neighbours import open_index

        if not len(self):
            raise LibraryError(f"{self.path}: the library is empty; import motions first")
        if method in CLIP_MEASURES:
            clip_table(self, CLIP_MEASURES[method], progress=progress)
        elif method in ("dtw", "lazy") and features in self.feature_sets():
            rows = self.features(features, progress=progress)
            if method == "lazy":
                open_index(self, rows, "bucket")

    @staticmethod
    def feature_sets() -> dict[str, FeatureSet]:
        """Feature sets by name."""
        from motionloom.features import FEATURES

        return dict(FEATURES)

    @staticmethod
    def frame_distances() -> dict[str, FrameDistance]:
        """Frame distances by name."""
        from motionloom.features import DISTANCES

        return dict(DISTANCES)

    @staticmethod
    def clip_measures() -> dict[str, Any]:
        """Distances between whole clips by name of the search method."""
        from motionloom.search.clips.measures import CLIP_MEASURES

        return dict(CLIP_MEASURES)

    def retarget(self, name: str, skeleton: Skeleton | Motion) -> Motion:
        """A motion of the library, transferred to another skeleton.

        Parameters
        ----------
        name : str
            Name of a motion.
        skeleton : Skeleton or Motion
            Target, or a motion on it; its joints need the same roles.

        Returns
        -------
        motion : Motion

        Examples
        --------
        >>> child = lib.retarget("walk", lib["walk"].skeleton.scaled(0.6))
        >>> bool(child.root[:, 1].mean() < 0.65 * lib["walk"].root[:, 1].mean())
        True
        """
        return retarget(self[name], skeleton)


# Arguments of release 0.1, accepted for one release.
_OLD_ARGUMENTS = {"within": "label", "without": "exclude", "threshold": "max_distance"}


def _accepting_old_arguments(verb: Callable[..., Any]) -> Callable[..., Any]:
    """A verb that also takes its arguments by their names of release 0.1, with a warning."""
    known = inspect.signature(verb).parameters

    @wraps(verb)
    def call(*args: Any, **given: Any) -> Any:
        for old, new in _OLD_ARGUMENTS.items():
            if old in given and old not in known and new in known:
                warnings.warn(
                    f"{verb.__name__}({old}=...) is now {new}=; the old name goes with release 0.3",
                    DeprecationWarning,
                    stacklevel=2,
                )
                given[new] = given.pop(old)
        return verb(*args, **given)

    return call


for _verbs in (SearchVerbs, FamilyVerbs, BlendVerbs, GraphVerbs, RhythmVerbs, CrowdVerbs):
    for _name, _verb in list(vars(_verbs).items()):
        if inspect.isfunction(_verb) and not _name.startswith("_"):
            if set(_OLD_ARGUMENTS.values()) & set(inspect.signature(_verb).parameters):
                setattr(Library, _name, _accepting_old_arguments(_verb))


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

    found = []
    meta = Catalogue(Path(path)).settings()
    if meta.get("store"):
        trust_store(str(meta["store"]), str(meta.get("id", "")))
        found.append(f"store {meta['store']}")
    try:
        functions = named_functions(Library(path))
    except LibraryError:  # its artifacts cannot be read yet
        functions = []
    for reference in functions:
        trust(function_key(reference))
        found.append(f"function {reference}")
    for character in named_characters(Catalogue(Path(path)).raw_entries()):
        trust(character_key(character))
        found.append(f"character {character}")
    if not found:
        raise LibraryError(f"{path}: this library names nothing outside of its own folder")
    return found
