"""Collections of saved results, such as parametric motions, graphs and choreographies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from motionloom.dance.settings import TUNE
from motionloom.errors import InvalidInput, LibraryError
from motionloom.search.methods import WebOptions
from motionloom.search.settings import WebSettings
from motionloom.settings import motion_choice, takes

if TYPE_CHECKING:
    from motionloom.dance.choreography import Choreography
    from motionloom.dance.music import Music
    from motionloom.features.joint_weights import LearnedWeights
    from motionloom.motion_graph.edits import EditedGraph, Edits, TransitionKey
    from motionloom.motion_graph.settings import GraphSettings
    from motionloom.motion_matching.settings import MatchingSettings
    from motionloom.parallel import Progress
    from motionloom.parametric.parameter_text import ParameterKind
    from motionloom.parametric.parametric_motion import ParametricMotion
    from motionloom.search.match_web.store import LeftToBuild, WebReport
    from motionloom.search.match_web.web import Web
    from motionloom.search.query import Query
    from motionloom.store import Store


class ParametricCollection(Mapping[str, "ParametricMotion"]):
    """Saved parametric motions by name.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> for performer in (0, 1, 2):
    ...     lib.add_motion(ml.demo.clip("kick_front_mid_right", performer=performer))
    >>> ankle = ml.at("right_ankle", frame=33)
    >>> _ = lib.parametrize(lib.names, by=ankle, samples=20, name="kick")
    >>> list(lib.parametric), lib.parametric["kick"].accessible.shape[1]
    (['kick'], 3)
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getitem__(self, name: str) -> ParametricMotion:
        return self.load(name)

    def __delitem__(self, name: str) -> None:
        from motionloom.parametric.artifact import KIND

        with self._store.change(f"delete parametric motion {name}"):
            self._store.artifacts.delete(KIND, name)

    def __iter__(self) -> Iterator[str]:
        from motionloom.parametric.artifact import parametric_names

        return iter(parametric_names(self._store))

    def __len__(self) -> int:
        return len(tuple(iter(self)))

    def load(self, name: str, *, by: Any = None) -> ParametricMotion:
        """Load a parametric motion by name.

        Parameters
        ----------
        name : str
        by : optional
            The parameters, needed only for functions that cannot be imported. Functions in a module
            are saved by reference, and scores with their values.
        """
        from motionloom.parametric.artifact import open_parametric

        return open_parametric(self._store, name, by=by)

    def about(self) -> list[dict[str, Any]]:
        """Return one row per motion (``name``, ``by``, ``examples``) without loading the motion."""
        from motionloom.parametric.artifact import KIND

        rows = []
        for name in self:
            about = self._store.artifacts.about(KIND, name)
            try:
                by = [str(parameter["text"]) for parameter in about["parameters"]]
                rows.append({"name": name, "by": by, "examples": len(about["examples"])})
            except (LookupError, TypeError):
                raise LibraryError(
                    f"{self._store.path}: the parametric motion {name!r} is damaged; rebuild it "
                    f"with motionloom parametrize"
                ) from None
        return rows

    def check(self, query: str | Query, by: Any) -> None:
        """Raise an error if parameters cannot be measured on a query, before examples are searched.

        Examples
        --------
        >>> lib.parametric.check("kick_front_mid_right", "right_ankel@33")
        Traceback (most recent call last):
        motionloom.errors.RoleError: ...
        """
        from motionloom.parametric.parametric_motion import check_parameters
        from motionloom.search.query import as_query

        check_parameters(by, as_query(self._store, query))

    @staticmethod
    def kinds() -> tuple[ParameterKind, ...]:
        """Return the available parameter kinds for parametric motions."""
        from motionloom.parametric.parameter_text import parameter_kinds

        return parameter_kinds()


class GraphCollection:
    """Saved motion graphs, the most recent graph settings, and manual edits of transitions."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def edited(
        self,
        settings: GraphSettings,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> EditedGraph:
        """Return the motion graph for `settings`, with all candidate transitions and their states.

        Examples
        --------
        >>> from motionloom.motion_graph import GraphSettings
        >>> edited = lib.graphs.edited(GraphSettings(only=("walk", "walk_fast")))
        >>> len(edited.states) >= len(edited.graph)
        True
        """
        from motionloom.motion_graph.artifact import library_graph

        return library_graph(self._store, settings, workers=workers, progress=progress)

    def is_built(self, settings: GraphSettings) -> bool:
        """Return whether the graph for `settings` is already built and saved."""
        from motionloom.motion_graph.artifact import is_built

        return is_built(self._store, settings)

    def motions(self, settings: GraphSettings, *, examine: bool = True) -> tuple[str, ...]:
        """Return the names of the motions that `settings` select, without faulty takes.

        Parameters
        ----------
        settings : GraphSettings
        examine : bool
            Examine takes that have not been examined for faults before. Without it, no take is
            read, and takes that have not been examined count as faultless.
        """
        from motionloom.motion_graph.artifact import graph_names

        return tuple(graph_names(self._store, settings, examine=examine))

    @property
    def settings(self) -> GraphSettings | None:
        """Settings saved by the latest call to `keep`, or None."""
        from motionloom.motion_graph.artifact import graph_settings

        return graph_settings(self._store)

    def keep(self, settings: GraphSettings) -> None:
        """Save graph settings for commands that are run without graph options."""
        from motionloom.motion_graph.artifact import save_graph_settings

        save_graph_settings(self._store, settings)

    @property
    def edits(self) -> Edits:
        """Transitions removed or locked by hand."""
        from motionloom.motion_graph.edits import library_edits

        return library_edits(self._store)

    def edit(
        self, action: Literal["remove", "lock", "restore"], transition: str | TransitionKey
    ) -> Edits:
        """Remove, lock or restore a transition in all motion graphs of the library.

        Parameters
        ----------
        action : {"remove", "lock", "restore"}
            ``remove`` excludes the transition from every graph, ``lock`` includes it in every graph
            that has both motions, and ``restore`` undoes either edit.
        transition : str or TransitionKey
            ``NAME:FRAME,NAME:FRAME``.

        Returns
        -------
        edits : Edits
            All edits in the library.

        Raises
        ------
        InvalidInput, LibraryError
            If the motion or the frame does not exist.
        """
        from motionloom.motion_graph.edits import TransitionKey, edit

        key = TransitionKey.of(transition) if isinstance(transition, str) else transition
        for name, frame in ((key.source, key.source_frame), (key.target, key.target_frame)):
            frames = self._store.entry(name).frames
            if frame >= frames:
                raise InvalidInput(f"{name} has frames 0 to {frames - 1}; got {frame}")
        return edit(self._store, action, key)

    def learn_weights(
        self,
        tags: str | Path,
        *,
        method: Literal["nnls", "tang"] = "nnls",
        max_weights: int | None = None,
        output: str | Path | None = None,
    ) -> LearnedWeights:
        """Learn joint-pair weights for the jrd distance from manually tagged pairs of poses.

        Parameters
        ----------
        tags : str or Path
            CSV file with rows ``NAME:FRAME, NAME:FRAME, 1`` for similar poses, or ``0`` for others.
        method : {"nnls", "tang"}
            Non-negative least squares with an intercept, or the absolute values of a least-squares
            solution without an intercept, as in Tang et al. (2008) and Kravcevich (2014).
        max_weights : int, optional
            Maximum number of weights to keep, largest first.
        output : str or Path, optional
            Write the weights to this file, for `Library.motion_graph(distance=FILE)`.

        Returns
        -------
        learned : LearnedWeights
            ``weights`` (a mapping from role pair to weight, largest first), ``tagged`` (number of
            tagged pairs), and ``auc`` and ``equal_auc``: how well these weights and equal weights
            rank pairs of poses from held-out motions.
        """
        from motionloom.features.joint_weights import learned_weights, read_tags, save_weights

        learned = learned_weights(read_tags(tags, self._store), method=method, top=max_weights)
        if output is not None:
            save_weights(learned.weights, output)
        return learned


class ControllerCollection:
    """Saved motion matching databases; `Library.motion_matching` builds and opens them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __len__(self) -> int:
        from motionloom.motion_matching.artifact import KIND

        return sum(artifact.kind == KIND for artifact in self._store.artifacts.list())

    def is_built(self, settings: MatchingSettings) -> bool:
        """Return whether the database for `settings` is already built and saved."""
        from motionloom.motion_matching.artifact import is_built

        return is_built(self._store, settings)


class ChoreographyCollection(MutableMapping[str, "Choreography"]):
    """Saved choreographies by name.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
    >>> lib.choreographies["groove"] = lib.choreography(meter=4)
    >>> list(lib.choreographies), lib.choreographies["groove"].meter
    (['groove'], 4)
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getitem__(self, name: str) -> Choreography:
        from motionloom.dance.choreography_file import open_choreography

        return open_choreography(self._store, name, self._store.__getitem__)

    def __setitem__(self, name: str, choreography: Choreography) -> None:
        from motionloom.dance.choreography_file import save_choreography

        save_choreography(self._store, choreography, name)

    def __delitem__(self, name: str) -> None:
        from motionloom.dance.choreography_file import KIND

        with self._store.change(f"delete choreography {name}"):
            self._store.artifacts.delete(KIND, name)

    def __iter__(self) -> Iterator[str]:
        from motionloom.dance.choreography_file import KIND

        return iter(self._store.artifacts.names(KIND))

    def __len__(self) -> int:
        return len(tuple(iter(self)))

    def load(self, path: str | Path) -> Choreography:
        """Read a choreography that uses takes of this library from a JSON file."""
        from motionloom.dance.choreography_file import load_choreography

        return load_choreography(path, self._store.__getitem__)

    def for_music(
        self, music: Music | str | Path, *, kind: str | None = None, meter: int | None = None
    ) -> Choreography:
        """Return the first saved choreography of a kind, or the first that has the music's meter.

        Parameters
        ----------
        music : Music, the path of a music file, or "tune"
        kind : str, optional
        meter : int, optional
            Beats per bar. Default: the meter of the music.

        Raises
        ------
        InvalidInput
            If no saved choreography fits.
        """
        from motionloom.dance.choreography import for_music
        from motionloom.dance.choreography_file import saved_choreographies
        from motionloom.dance.music import Music, load_music

        saved = saved_choreographies(self._store, self._store.__getitem__)
        if kind is not None:
            return for_music(saved, kind=kind)
        if isinstance(music, Music):
            meter = meter or music.meter
        elif str(music) != TUNE or Path(music).exists():
            meter = load_music(music, meter=meter).meter
        return for_music(saved, meter=meter)


class WebCollection:
    """Match webs for pairs of motions, built once for interactive searches.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> for performer in (0, 1):
    ...     lib.add_motion(ml.demo.clip("kick_front_high_right", performer=performer))
    >>> lib.webs.build().built, lib.webs.build().built
    (3, 0)
    >>> type(lib.webs[lib.names]).__name__
    'Web'
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getitem__(self, pair: Sequence[str]) -> Web:
        a, b = pair
        return self.of(a, b)

    def of(self, a: str, b: str, options: WebOptions | None = None) -> Web:
        """Return the match web between two motions; rows are frames of `a`, columns frames of `b`.

        Parameters
        ----------
        a, b : str
            Names of the motions.
        options : WebOptions, optional
            Options with which the web was built.
        """
        from motionloom.search.match_web.store import WebStore

        return WebStore.of(self._store, options or WebOptions()).web(a, b)

    @takes(WebSettings)
    def build(
        self,
        settings: WebSettings | None = None,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> WebReport:
        """Compare all pairs of motions and save their match webs, for ``method="web"``.

        Pairs that are already built are skipped.

        Parameters
        ----------
        settings : WebSettings, optional
        workers : int, optional
            Number of processes. Default: one per core, fewer for small tasks.
        progress : callable, optional
            Called with the number of pairs done since the last call.

        Returns
        -------
        report : WebReport
            ``motions``, ``pairs``, ``built``, ``left_out``, ``bytes``, ``seconds``.
        """
        from motionloom.search.match_web.store import WebStore

        given = WebSettings.given(settings, options)
        return WebStore.of(self._store, given.web).build(
            **motion_choice(given), workers=workers, progress=progress
        )

    @takes(WebSettings)
    def missing(self, settings: WebSettings | None = None, **options: Any) -> LeftToBuild:
        """Estimate the work that `build` would still do with these settings.

        Parameters
        ----------
        settings : WebSettings, optional

        Returns
        -------
        work : LeftToBuild
            Number of ``pairs``, number of ``cells`` in their distance matrices, and estimated
            ``core_seconds``.

        Examples
        --------
        >>> lib.webs.missing(only=["walk", "jog"]).pairs
        3
        """
        from motionloom.search.match_web.store import WebStore

        given = WebSettings.given(settings, options)
        return WebStore.of(self._store, given.web).left_to_build(**motion_choice(given))
