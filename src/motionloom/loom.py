"""`Library`, the one object users hold: storage plus the verbs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from motionloom.library import Storage

if TYPE_CHECKING:
    from motionloom.blend import Blend
    from motionloom.distance import Basis, FeatureSet, FrameDistance, LibraryFeatures
    from motionloom.distance.body_frame import Normalize
    from motionloom.library.importing import Progress
    from motionloom.motion import Motion, Skeleton
    from motionloom.motion.markers import Markers
    from motionloom.search import Family, Match, Matches
    from motionloom.search.clip_evaluation import Evaluation
    from motionloom.search.query import Query
    from motionloom.search.web import Web
    from motionloom.search.web_store import WebReport
    from motionloom.synthesis.dance_floor import DanceFloor
    from motionloom.synthesis.fatgraph import FatGraph
    from motionloom.synthesis.motiongraph import MotionGraph
    from motionloom.synthesis.parametric import ParametricMotion
    from motionloom.synthesis.reconstruction import Reconstruction
    from motionloom.synthesis.rhythm import Choreography


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

    def search(
        self,
        query: str | Path | Motion | Query,
        *,
        method: str = "dtw",
        features: str | FeatureSet = "e15",
        k: int | None = None,
        radius: float | None = None,
        max: int | None = 100,
        max_distance: float | None = None,
        tiers: int | str = 1,
        within: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        without: str | Iterable[str] | None = None,
        **options,
    ) -> Matches:
        """Everything in the library that looks like the query, the nearest first.

        Parameters
        ----------
        query : str, Path or Motion
            ``NAME:START-END`` of the library in frames, or in seconds with an ``s``
            (``86_01:12.5s-14s``); a motion; or a file. Of any frame rate and skeleton.
        method : str
            ``dtw``, ``lazy``, ``web`` (see `motionloom.search.methods`; the last needs
            ``motionloom web LIB build`` once); or, for motions that are like
            the query from start to end, ``dtw-clip``, ``emd``, ``scaling`` and the others of
            `motionloom.search.clip_measures`.
        features : str or FeatureSet
            What frames are compared by; with ``dtw`` also a frame distance.
        k, radius : optional
            Neighbours per query frame, for ``lazy``: at most `k`, within `radius` metres.
            For whole clips `k` is how many are wanted.
        max : int or None
            At most so many matches.
        max_distance : float, optional
            No matches beyond so many metres per cell.
        tiers : int or "all"
            More than 1: matches become queries, so many times or until nothing new
            appears; `distance` is then the distance to the query in the match graph (see
            `family`).
        within : str or several, optional
            Search only motions with one of these labels.
        only, without : str or several, optional
            Search only these motions; leave these out.
        **options
            ``steps`` ("slope", "classic"), ``weights`` ("moving", None: joints count by how
            much they move in the query, or equally), ``speed_seconds`` (how much joint speeds
            count for where matches begin and end; 0: not), ``rank`` ("movement": how alike
            they move, "distance": plain DTW of poses, the default of families; see
            `motionloom.search.settling`), ``durations`` (least and greatest
            length in lengths of the query), ``max_overlap`` of two matches, ``same`` and
            ``apart`` (overlaps above and below which a match of a match is an old or a new
            member of the family, 0.8 and 0.2; cyclic motions want a larger ``apart``),
            ``index`` ("blocks", "kdtree"), ``epsilon``, ``bridge`` (query frames that a path of
            the lazy graph may pass over; 0 for the paper's graph), ``exclude_query``,
            ``normalize``, ``scale_free``, ``distance`` (what the web was built with).

        Returns
        -------
        matches : Matches
            A sequence of `motionloom.search.Match`.

        Raises
        ------
        InvalidInput, LibraryError, RoleError
            If the query is too short, not there, or lacks a joint that is needed; or an
            option means nothing.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1):
        ...     lib.add_motion(ml.demo.clip("kick_front_high_right", performer=performer))
        >>> hits = lib.search("kick_front_high_right_p0:10-40")
        >>> hits[0].text, hits[0].distance, hits[1].motion
        ('kick_front_high_right_p0:10-40', 0.0, 'kick_front_high_right_p1')
        """
        from motionloom.search import search

        settings = _options(
            method, features, k, radius, max, max_distance, within, only, without, options
        )
        if tiers == 1:
            return search(self, query, settings)
        return self._family(query, settings, tiers).matches

    def family(
        self,
        query: str | Path | Motion | Query,
        *,
        method: str = "dtw",
        features: str | FeatureSet = "e15",
        k: int | None = None,
        radius: float | None = None,
        max: int | None = 100,
        max_distance: float | None = None,
        tiers: int | str = "all",
        within: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        without: str | Iterable[str] | None = None,
        **options,
    ) -> Family:
        """Everything that can be reached from the query by steps from like to like.

        Parameters
        ----------
        query, method, features, k, radius, within, only, without, **options
            As in `search`.
        max : int or None
            At most so many members besides the query.
        max_distance : float, optional
            How alike two members must be to be joined, in metres per cell. Default 0.08.
        tiers : int or "all"
            So many steps, or until nothing new appears.

        Returns
        -------
        family : Family
            The match graph: ``nodes`` (the first is the query), ``edges``,
            ``distance_to_query()``, ``matches``.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1):
        ...     lib.add_motion(ml.demo.clip("kick_front_high_right", performer=performer))
        >>> family = lib.family("kick_front_high_right_p0:10-40")
        >>> family.nodes[0].text, float(family.distance_to_query()[0])
        ('kick_front_high_right_p0:10-40', 0.0)
        """
        settings = _options(
            method, features, k, radius, max, max_distance, within, only, without, options
        )
        return self._family(query, settings, tiers)

    def blend(
        self, family: Family | str, *, leave_out_unmatched: bool = False, **options: Any
    ) -> Blend:
        """Weighted blends of the members of a family.

        Parameters
        ----------
        family : Family or str
            From `family`; or a query, whose family is found first.
        leave_out_unmatched : bool
            Leave out members whose feet stand when the query's do not, instead of raising.
        **options
            ``query``, ``skeleton``, ``fps``, ``distance`` of `motionloom.blend.register`.

        Returns
        -------
        blend : Blend
            ``blend(weights)`` is a `Motion`; one weight per node, summing up to 1.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1):
        ...     lib.add_motion(ml.demo.clip("kick_front_high_right", performer=performer))
        >>> blend = lib.blend("kick_front_high_right_p0:5-70")
        >>> blend([0.5, 0.5])
        Motion('blend', ... frames at 30 fps = ... s, 21 joints)
        """
        from motionloom.blend import Blend, register

        found = self.family(family) if isinstance(family, str) else family
        return Blend(register(self, found, leave_out_unmatched=leave_out_unmatched, **options))

    def build_web(
        self,
        *,
        within: str | Iterable[str] | None = None,
        distance: str | FrameDistance = "pc11",
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> WebReport:
        """Compare all pairs of motions and keep what may be alike, for ``method="web"``.

        Pairs that are there already are not built again.

        Parameters
        ----------
        within : str or several, optional
            Only pairs of motions that both have one of these labels.
        distance : str or FrameDistance
            What frames are compared by.
        workers : int, optional
            Processes. Default: one per core, fewer for little work.
        progress : callable, optional
            Called with the number of pairs done since the last call.

        Returns
        -------
        report : WebReport
            ``motions``, ``pairs``, ``built``, ``left_out``, ``bytes``, ``seconds``.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1):
        ...     lib.add_motion(ml.demo.clip("kick_front_high_right", performer=performer))
        >>> lib.build_web().built, lib.build_web().built
        (3, 0)
        """
        from motionloom.search.web_store import WebStore

        return WebStore(self, distance).build(within=within, workers=workers, progress=progress)

    def web(self, a: str, b: str, *, distance: str | FrameDistance = "pc11") -> Web:
        """The match web of two motions: rows are frames of `a`, columns of `b`.

        `build_web` must have built it.

        Examples
        --------
        >>> a, b = "kick_front_high_right", "kick_front_mid_right"
        >>> _ = lib.build_web(within="kick")
        >>> type(lib.web(a, b)).__name__
        'Web'
        """
        from motionloom.search.web_store import WebStore

        return WebStore(self, distance).web(a, b)

    def evaluate(
        self,
        *,
        labels: str | Path | Mapping[str, str] | None = None,
        methods: Sequence[str] | None = None,
    ) -> Evaluation:
        """How good measures of whole clips are on the labelled motions of this library.

        Parameters
        ----------
        labels : path or mapping, optional
            A CSV file with columns ``clip`` and ``label``, or a mapping from name to label.
            Default: the library's own labels.
        methods : sequence of str, optional
            Names in `motionloom.search.clip_measures.CLIP_MEASURES`, and ``dtw`` for
            ``dtw-angles``. Default: ``dtw-clip``, ``emd``, ``dtw``, ``scaling``, ``dtw-e15``.

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
        from motionloom.search.clip_evaluation import DEFAULT_METHODS, evaluate_clips

        return evaluate_clips(self, labels=labels, methods=methods or DEFAULT_METHODS)

    def neighbours(
        self,
        query: str | Path | Motion | Query,
        *,
        features: str | FeatureSet = "e15",
        k: int | None = None,
        radius: float | None = None,
        within: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        without: str | Iterable[str] | None = None,
        **options,
    ) -> list[list[Match]]:
        """The nearest frames of the library to each frame of the query.

        Parameters
        ----------
        query, features, within, only, without
            As in `search`.
        k : int, optional
            At most so many; default 16 where no radius is given.
        radius : float, optional
            Metres.
        **options
            ``index`` ("blocks", "kdtree", "shards"; all give the same), ``epsilon`` (0 is exact),
            ``exclude_query`` (leave out the query's own frames), ``normalize``,
            ``scale_free``.

        Returns
        -------
        neighbours : list of list of Match
            One list per frame, the nearest first; matches are one frame long.

        Examples
        --------
        >>> near = lib.neighbours("walk:10-13", k=4)
        >>> len(near), near[0][0].motion
        (3, 'walk')
        """
        from motionloom.search import nearest_frames

        settings = _options("lazy", features, k, radius, None, None, within, only, without, options)
        return nearest_frames(self, query, settings)

    def motion_graph(
        self,
        *,
        distance: str | FrameDistance = "jrd",
        within: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        without: str | Iterable[str] | None = None,
        **options: Any,
    ) -> MotionGraph:
        """Where motions may be left for one another, found once and kept with the library.

        Parameters
        ----------
        distance : str or FrameDistance
            How frames are compared: ``"jrd"``, ``"pc11"``, ...
        within, only, without : str or several, optional
            Labels and names of the motions to take; as in `search`.
        **options
            ``method`` ("sectors", "minima"), ``threshold`` or ``per_minute``,
            ``blend_seconds``, ``sector_seconds``, ``apart_seconds``, ``footing``,
            ``connect``, ``smooth``: see
            `motionloom.synthesis.motiongraph.transitions.Finding`.

        Returns
        -------
        graph : MotionGraph
            Without dead ends; ``removed`` tells what was left out. Transitions that were
            removed or locked by hand (`motionloom.synthesis.motiongraph.edits`) stay so.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> lib.add_motion(ml.demo.clip("take_locomotion"))
        >>> graph = lib.motion_graph()
        >>> graph.walk(seconds=10, seed=1).duration
        10.0
        """
        from motionloom.search.filters import chosen_motions
        from motionloom.synthesis.motiongraph.store import library_graph

        chosen = chosen_motions(self, self.names, within=within, only=only, without=without)
        names = [name for k, name in enumerate(self.names) if chosen is None or chosen[k]]
        return library_graph(self, names=names, distance=distance, **options)

    def fat_graph(
        self,
        *,
        within: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        without: str | Iterable[str] | None = None,
        **options: Any,
    ) -> FatGraph:
        """Base poses, and between them motions that turn and go as fast as they are told.

        Parameters
        ----------
        within, only, without : str or several, optional
            Labels and names of the motions to take; as in `search`. Walks, runs, turns.
        **options
            ``radius``, ``features``, ``poses``, ``k``, ``examples``, ``seed``: see
            `motionloom.synthesis.fatgraph.fat_graph`.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for kind in ("walk", "walk_left", "walk_right"):
        ...     lib.add_motion(ml.demo.clip(kind))
        >>> player = lib.fat_graph(examples=4).player(direction=0.5, speed=1.2)
        >>> player.record(seconds=3).duration
        3.0
        """
        from motionloom.search.filters import chosen_motions
        from motionloom.synthesis.fatgraph import fat_graph

        chosen = chosen_motions(self, self.names, within=within, only=only, without=without)
        names = [name for k, name in enumerate(self.names) if chosen is None or chosen[k]]
        return fat_graph([self[name] for name in names], **options)

    def parametrize(
        self,
        family: Family | str | Sequence[str],
        by: Any,
        *,
        samples: int = 1000,
        delta: float = 0.1,
        spacing: float = 0.0127,
        redundant: float | None = None,
        leave_out_unmatched: bool = False,
        seed: int = 0,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> ParametricMotion:
        """A family of motions that is asked for by what it should do.

        Parameters
        ----------
        family : Family, str or several
            From `family`; or a query, whose family is found first; or names of motions,
            each an example from start to end. The first is the query.
        by : Parameter, str, callable, or several
            What to ask it by: `motionloom.at`, `motionloom.final_root_position`, ..., their
            texts (``right_ankle@33``, ``lowest(hips)``), or any function of a motion.
        samples : int
            Blends that are tried to learn how parameters depend on blend weights.
        delta : float
            How far blend weights may leave 0..1.
        spacing : float
            Least distance of two samples, in the unit of the parameters.
        redundant : float, optional
            Leave out examples whose parameters the others reach within this distance.
        leave_out_unmatched : bool
            Leave out examples whose feet stand when the query's do not, instead of raising.
        seed : int
        name : str, optional
            Keep it in the library under this name; see `parametric`.
        progress : callable, optional
            Called with the number of samples since the last call.

        Returns
        -------
        motion : ParametricMotion
            ``motion(target)`` is a `Motion`; ``motion.accessible`` what it can reach.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1, 2):
        ...     lib.add_motion(ml.demo.clip("kick_front_mid_right", performer=performer))
        >>> family = lib.family("kick_front_mid_right_p0:0-70")
        >>> kick = lib.parametrize(family, by=ml.at("right_ankle", frame=33), samples=20)
        >>> kick(kick.accessible[-1])
        Motion('blend', ... frames at 30 fps = ... s, 21 joints)
        """
        from motionloom.blend import register
        from motionloom.synthesis.parametric import parametrize
        from motionloom.synthesis.parametric_storage import save_parametric

        found = self.family(family) if isinstance(family, str) else family
        registration = (
            register([self[one] for one in found], leave_out_unmatched=leave_out_unmatched)
            if isinstance(found, Sequence)
            else register(self, found, leave_out_unmatched=leave_out_unmatched)
        )
        motion = parametrize(
            registration,
            by,
            samples=samples,
            delta=delta,
            spacing=spacing,
            redundant=redundant,
            seed=seed,
            name=name or "",
            progress=progress,
        )
        if name is not None:
            save_parametric(self, motion, name)
        return motion

    def parametric(self, name: str, *, by: Any = None) -> ParametricMotion:
        """A parametric motion that was kept under a name; `by` only where that is a function."""
        from motionloom.synthesis.parametric_storage import open_parametric

        return open_parametric(self, name, by=by)

    @property
    def parametric_names(self) -> tuple[str, ...]:
        """Names of the parametric motions that are kept here."""
        from motionloom.synthesis.parametric_storage import parametric_names

        return parametric_names(self)

    def choreography(
        self,
        *,
        meter: int | None = None,
        takes: Iterable[str | Sequence[str]] | None = None,
        within: str | Iterable[str] | None = None,
        **options,
    ) -> Choreography:
        """Movements of some takes, and the graph that says which may follow which.

        Parameters
        ----------
        meter : int, optional
            Beats per movement. Default: estimated.
        takes : names, optional
            Several names in a list dance together. Default: all motions that have a rhythm
            (and one of the labels `within`).
        within : str or several, optional
            Only motions with one of these labels.
        **options
            ``groups``, ``radius``, ``mirror``, ``behaviour``, ``sigma``, ``threshold``,
            ``confidence``, ``kind``, ``seed``, ``progress``: see
            `motionloom.synthesis.rhythm.choreography.choreography`.

        Returns
        -------
        choreography : Choreography
            ``movements``, ``graph``; ``save`` keeps it as a file.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for seed in (0, 1):
        ...     lib.add_motion(ml.demo.clip("dance_groove", seed=seed), name=f"dance_{seed}")
        >>> dance = lib.choreography(meter=4)
        >>> dance.meter, dance.movements[0].source
        (4, ('dance_0',))
        """
        from motionloom.search.filters import labelled
        from motionloom.synthesis.rhythm import choreography

        if takes is None:
            labels = [within] if isinstance(within, str) else list(within or ())
            wanted = {name for label in labels for name in labelled(self, label)}
            takes = [name for name in self.names if not labels or name in wanted]
        danced = [
            self[take] if isinstance(take, str) else [self[name] for name in take] for take in takes
        ]
        return choreography(danced, meter=meter, **options)

    def dance_floor(
        self,
        count: int = 12,
        *,
        seconds: float = 60.0,
        seed: int = 0,
        within: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        without: str | Iterable[str] | None = None,
        **options: Any,
    ) -> DanceFloor:
        """Characters that dance next to each other, each at random, none in another's way.

        Parameters
        ----------
        count : int
            How many.
        seconds : float
        seed : int
            The same seed, the same dances.
        within, only, without : str or several, optional
            Labels and names of what they dance. Default: motions with a label that begins
            with ``dance``, or all if there are none.
        **options
            ``kind``, ``floor``, ``width``: see
            `motionloom.synthesis.dance_floor.dance_floor`.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> lib.add_motion(ml.demo.clip("dance_groove"))
        >>> floor = lib.dance_floor(2, seconds=3)
        >>> [motion.name for motion in floor.motions]
        ['dancer_1', 'dancer_2']
        """
        from motionloom.search.filters import chosen_motions
        from motionloom.synthesis.dance_floor import dance_floor, dance_takes

        chosen = chosen_motions(self, self.names, within=within, only=only, without=without)
        if chosen is None:
            names = dance_takes(self.names, self.labels)
        else:
            names = [name for k, name in enumerate(self.names) if chosen[k]]
        takes = [self[name] for name in names]
        return dance_floor(takes, count, seconds=seconds, seed=seed, **options)

    def reconstruct(
        self,
        markers: Markers | Motion,
        *,
        skeleton: Skeleton | Motion | None = None,
        roles: Mapping[str, str] | None = None,
        mode: Literal["offline", "online"] = "offline",
        features: str | FeatureSet = "e15",
        neighbours: int = 512,
        within: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        without: str | Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> Reconstruction:
        """A whole body from a few tracked points and how this library's people move.

        Parameters
        ----------
        markers : Markers or Motion
            At least three joints, best wrists, ankles, head and hips; gaps are NaN. Of a
            motion those six joints are taken.
        skeleton : Skeleton or Motion, optional
            The performer's. Default: one of the library's, scaled to the markers.
        roles : mapping, optional
            Role to label, where labels do not say.
        mode : {"offline", "online"}
            The whole sequence at once, or frame after frame knowing only the past.
        features : str or FeatureSet
            What neighbours in the library are found by.
        neighbours : int
            Poses in a local model.
        within, only, without : optional
            Which motions of the library count; as in `search`.
        progress : callable, optional
            Called with the number of frames done since the last call.

        Returns
        -------
        motion : Reconstruction
            A `Motion` of the performer, with ``confidence`` per frame and ``lost`` markers.

        Raises
        ------
        InvalidInput, RoleError
            If markers are too few, of unknown names or another unit, or the skeleton does
            not fit them.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for performer in (0, 1):
        ...     lib.add_motion(ml.demo.clip("walk", performer=performer))
        >>> walk = ml.demo.clip("walk", performer=2)
        >>> body = lib.reconstruct(walk, skeleton=walk.skeleton)
        >>> len(body) == len(walk), body.confidence.shape == (len(walk),)
        (True, True)
        """
        from motionloom.synthesis.reconstruction import reconstruct

        return reconstruct(
            self,
            markers,
            skeleton=skeleton,
            roles=roles,
            mode=mode,
            features=features,
            neighbours=neighbours,
            within=within,
            only=only,
            without=without,
            progress=progress,
        )

    def _family(self, query, settings, tiers: int | str) -> Family:
        from motionloom.search import library_family

        return library_family(self, query, settings, tiers=tiers)


def _options(method, features, k, radius, max, max_distance, within, only, without, options):
    from dataclasses import fields

    from motionloom.errors import InvalidInput
    from motionloom.search import Options

    known = {field.name for field in fields(Options)} - {"max_matches"}
    for name in options:
        if name not in known:
            raise InvalidInput(f"no option {name!r}; there are {', '.join(sorted(known))}")
    return Options(
        method=method,
        features=features,
        k=k,
        radius=radius,
        max_matches=max,
        max_distance=max_distance,
        within=within,
        only=only,
        without=without,
        **options,
    )
