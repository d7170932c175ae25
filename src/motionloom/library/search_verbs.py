"""Verbs of a library that search: features, neighbours, matches, families, webs, evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.store import Store

if TYPE_CHECKING:
    from motionloom.distance import Basis, FeatureSet, FrameDistance, LibraryFeatures
    from motionloom.distance.body_frame import Normalize
    from motionloom.evaluation.clips import Evaluation
    from motionloom.motion import Motion
    from motionloom.parallel import Progress
    from motionloom.search import Family, Match, Matches
    from motionloom.search.match_web.web import Web
    from motionloom.search.match_web.web_store import WebReport
    from motionloom.search.query import Query


class SearchVerbs(Store):
    """Verbs that search: features, neighbours, matches, families, webs, evaluation."""

    def features(
        self,
        features: str | FeatureSet = "e15",
        *,
        normalize: Normalize | None = None,
        scale_free: bool | None = None,
        fps: float | None = None,
        basis: Basis | Store | None = None,
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
        from motionloom.search import Options, nearest_frames

        asked = Options.of(
            options,
            method="lazy",
            features=features,
            k=k,
            radius=radius,
            max_distance=None,
            within=within,
            only=only,
            without=without,
        )
        return nearest_frames(self, query, asked)

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
            `motionloom.search.clips.measures`.
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
            `motionloom.search.rerank`), ``durations`` (least and greatest
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
        from motionloom.search import Options, library_family
        from motionloom.search import search as matches_of
        from motionloom.search.methods import expansion_rounds

        asked = Options.of(
            options,
            method=method,
            features=features,
            k=k,
            radius=radius,
            max_matches=max,
            max_distance=max_distance,
            within=within,
            only=only,
            without=without,
        )
        if expansion_rounds(tiers) == 1:
            return matches_of(self, query, asked)
        return library_family(self, query, asked, tiers=tiers).matches

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
        from motionloom.search import Options, library_family

        asked = Options.of(
            options,
            method=method,
            features=features,
            k=k,
            radius=radius,
            max_matches=max,
            max_distance=max_distance,
            within=within,
            only=only,
            without=without,
        )
        return library_family(self, query, asked, tiers=tiers)

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
        from motionloom.search.match_web.web_store import WebStore

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
        from motionloom.search.match_web.web_store import WebStore

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
            Names in `motionloom.search.clips.measures.CLIP_MEASURES`, and ``dtw`` for
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
        from motionloom.evaluation.clips import DEFAULT_METHODS, evaluate_clips

        chosen = DEFAULT_METHODS if methods is None else methods
        return evaluate_clips(self, labels=labels, methods=chosen)
