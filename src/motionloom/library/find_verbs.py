"""Library methods that search by example, by text or by frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from motionloom.errors import InvalidInput
from motionloom.search.methods import WebOptions
from motionloom.search.settings import FamilySettings, NeighborSettings, SearchSettings
from motionloom.settings import motion_choice, takes
from motionloom.text.settings import ClusterSettings, FindSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from motionloom.features import Basis, FeatureSet, LibraryFeatures
    from motionloom.features.body_frame import Normalize
    from motionloom.library.comparison import Comparison
    from motionloom.motion import Motion
    from motionloom.parallel import Progress
    from motionloom.search import Family, Match, Matches
    from motionloom.search.query import Query
    from motionloom.store import Store
    from motionloom.text.clusters import Cluster
    from motionloom.text.text_index import TextIndex
    from motionloom.text.text_search import TextMatches

    AnyQuery = str | Path | Motion | Query


class FindVerbs:
    """Library methods that search."""

    store: Store

    @takes(SearchSettings)
    def search(
        self, query: AnyQuery, settings: SearchSettings | None = None, **options: Any
    ) -> Matches:
        """Find all motion in the library that is similar to the query, nearest first.

        Parameters
        ----------
        query : str, Path or Motion
            A segment of the library, ``NAME:START-END`` in frames, or in seconds with an ``s``
            (``86_01:12.5s-14s``); a motion; or a file. It may have any frame rate
            and skeleton.
        settings : SearchSettings, optional

        Returns
        -------
        matches : Matches
            A sequence of `motionloom.search.Match`.

        Raises
        ------
        InvalidInput, LibraryError, RoleError
            If the query is too short, does not exist or lacks a joint, or if an argument is
            invalid.

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
        >>> len(lib.search("kick_front_high_right_p0:10-40", method=ml.LazyGraph(k=64), max=1))
        1
        """
        from motionloom.search.filters import chosen_set
        from motionloom.search.retrieval import expanded_search, search

        given = SearchSettings.given(settings, options)
        chosen_set(self.store, **motion_choice(given))  # raises before features are computed
        if given.expansion.rounds == 1:
            return search(self.store, query, given)
        return expanded_search(self.store, query, given)

    @takes(FamilySettings)
    def family(
        self,
        query: AnyQuery,
        settings: FamilySettings | None = None,
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> Family:
        """Find the family of a query: its matches, their matches, and so on.

        Parameters
        ----------
        query : str, Path or Motion
            As in `search`.
        settings : FamilySettings, optional
        progress : callable, optional
            Called with 1 after each member has been searched.

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
        from motionloom.search.match_graph.growth import library_family

        given = FamilySettings.given(settings, options)
        return library_family(self.store, query, given, progress=progress)

    @takes(NeighborSettings)
    def neighbors(
        self, query: AnyQuery, settings: NeighborSettings | None = None, **options: Any
    ) -> list[list[Match]]:
        """Find the library frames that are nearest to each frame of the query.

        Parameters
        ----------
        query : str, Path or Motion
            As in `search`.
        settings : NeighborSettings, optional

        Returns
        -------
        neighbors : list of list of Match
            One list per frame, nearest first; matches are one frame long.

        Examples
        --------
        >>> near = lib.neighbors("walk:10-13", k=4)
        >>> len(near), near[0][0].motion
        (3, 'walk')
        """
        from motionloom.search import nearest_frames

        return nearest_frames(self.store, query, NeighborSettings.given(settings, options))

    def features(
        self,
        features: str | FeatureSet = "e15",
        *,
        normalize: Normalize | None = None,
        scale_free: bool | None = None,
        fps: float | None = None,
        basis: Basis | FindVerbs | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> LibraryFeatures:
        """Return feature vectors of all frames, computed once and saved in the library.

        Parameters
        ----------
        features : str or FeatureSet
            A name in `motionloom.features.FEATURES`, or a feature set.
        normalize : {"heading", "full"}, optional
            Part of every pose to remove: heading and floor position (the default), or the whole
            rotation and position of the pelvis (``"full"``).
        scale_free : bool, optional
            Scale all performers to the same size.
        fps : float, optional
            Frame rate of the features. Default: the library's frame rate, or 30.
        basis : Basis or Library, optional
            Principal components, or the library to fit them on. Default: this library.
        workers : int, optional
            Number of processes. Default: one per core, fewer for small tasks.
        progress : callable, optional
            Called with the number of motions done since the last call.

        Returns
        -------
        features : LibraryFeatures
            Memory-mapped feature vectors. Motions whose skeletons lack a joint have no features;
            ``left_out`` lists them.

        Examples
        --------
        >>> rows = lib.features("e15").rows
        >>> rows.shape[1]
        15
        """
        from motionloom.features import library_features

        return library_features(
            self.store,
            features,
            normalize=normalize,
            scale_free=scale_free,
            fps=fps,
            basis=basis.store if isinstance(basis, FindVerbs) else basis,
            workers=workers,
            progress=progress,
        )

    def compare(self, a: str, b: str, options: WebOptions | None = None) -> Comparison:
        """Compare two segments frame by frame: distance matrix, minima, match web, DTW paths.

        Parameters
        ----------
        a, b : str
            Segments ``NAME`` or ``NAME:START-END``, whose frames correspond to the rows and the
            columns.
        options : WebOptions, optional
            Frame distance and match web options.

        Examples
        --------
        >>> a, b = "kick_front_high_right:10-40", "kick_front_mid_right"
        >>> lib.compare(a, b).matrix().shape[0]
        30
        """
        from motionloom.library.comparison import Comparison

        return Comparison(self.store, a, b, options or WebOptions())

    def clip(self, query: AnyQuery) -> Motion:
        """Return the frames that a query names: ``NAME``, ``NAME:START-END`` or a file.

        Examples
        --------
        >>> len(lib.clip("walk:10-40"))
        30
        """
        from motionloom.search.query import as_query

        return as_query(self.store, query).clip

    @takes(FindSettings)
    def find(
        self,
        text: str,
        settings: FindSettings | None = None,
        *,
        progress: Progress | None = None,
        so_far: Callable[[TextMatches], None] | None = None,
        **options: Any,
    ) -> TextMatches:
        """Find motions that match a description.

        Motions whose name or labels contain every word come first. The others are ranked by their
        names, labels and captions, and by words learned from the labels of similar motions. A
        result covers the query's events in the specified order ("kicks, then turns left", "waves
        while walking"). The first call captions all motions, which takes a moment.

        Parameters
        ----------
        text : str
            A description in English; case is ignored.
        settings : FindSettings, optional
        progress : callable, optional
            Called with the number of motions captioned since the last call. If it raises an error,
            the captions so far are kept.
        so_far : callable, optional
            Called once with the matches by name, label and existing captions if more than a hundred
            motions have to be captioned first.

        Returns
        -------
        findings : TextMatches
            A sequence of `TextMatch`, best first: ``motion``, ``start_frame``, ``end_frame``,
            ``text``, ``words``; ``findings.motions`` has the names, and ``findings.unknown`` the
            words that were not understood.

        Raises
        ------
        InvalidInput
            If the text has no words, or is too long.

        Examples
        --------
        >>> lib.find("kick high").motions[0]
        'kick_front_high_right'
        """
        from motionloom.search.filters import chosen_set
        from motionloom.text.text_index import open_index
        from motionloom.text.text_search import find, literal_matches

        given = FindSettings.given(settings, options)
        if not text.strip():
            raise InvalidInput("text must contain at least one word")
        among = chosen_set(self.store, **motion_choice(given))
        literal = literal_matches(self.store, text)

        def matches(index: TextIndex) -> TextMatches:
            return find(
                index, text, among=among, literal=literal, most=given.max, every=given.every
            )

        first = None if so_far is None else lambda index: so_far(matches(index))
        return matches(
            open_index(self.store, workers=given.workers, progress=progress, so_far=first)
        )

    @takes(ClusterSettings)
    def clusters(
        self,
        settings: ClusterSettings | None = None,
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> list[Cluster]:
        """Group similar takes into clusters, and propose a name for each.

        Use it for a first look at takes without labels. You can label a whole cluster, or use it
        for walks, dances and parametric motions. Whole takes are compared; see
        `motionloom.text.clusters`.

        Parameters
        ----------
        settings : ClusterSettings, optional
        progress : callable, optional
            Called with the number of steps since the last call; three per motion in total, for
            captions, distances and tempos, or one without names.

        Returns
        -------
        clusters : list of Cluster
            Clusters, largest first, each with ``name``, ``motions`` (most typical first) and
            ``kind``. Motions that lack body joints are not in any cluster.

        Raises
        ------
        LibraryError, RoleError
            If the library is empty, or none of its motions can be compared.

        Examples
        --------
        >>> [cluster.motions for cluster in lib.clusters(only=["walk", "walk_fast", "jog"])]
        [('walk', 'walk_fast'), ('jog',)]
        """
        from motionloom.library.annotations import BeatCollection
        from motionloom.search.filters import chosen_set
        from motionloom.text.clusters import library_clusters

        given = ClusterSettings.given(settings, options)
        among = chosen_set(self.store, **motion_choice(given))
        tempos = BeatCollection(self.store).tempos
        return library_clusters(self.store, among, given, tempos=tempos, progress=progress)
