"""Verbs of a library that search: features, nearest frames, matches.

The settings classes in `motionloom.search.settings` hold the defaults, the checks and one
sentence on every argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from motionloom.parallel import Progress
from motionloom.store import Store

if TYPE_CHECKING:
    from motionloom.features import Basis, FeatureSet, FrameDistance, LibraryFeatures
    from motionloom.features.body_frame import Normalize
    from motionloom.motion import Motion
    from motionloom.search import Match, Matches
    from motionloom.search.query import Query
    from motionloom.search.settings import SearchSettings
    from motionloom.settings import Settings
    from motionloom.text.text_search import TextMatch

Search = TypeVar("Search", bound="SearchSettings")


class SearchVerbs(Store):
    """Verbs that search: features, neighbours, matches."""

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
        """Feature vectors of every frame, computed once and kept with the library.

        Parameters
        ----------
        features : str or FeatureSet
            A name in `motionloom.features.FEATURES`, or a set.
        normalize : {"heading", "full", "paper"}, optional
            What is removed from every pose: heading and place on the floor (the default), or
            the whole rotation and position of the pelvis (``"full"`` and ``"paper"``).
        scale_free : bool, optional
            Scale performers of all sizes to one.
        fps : float, optional
            Frame rate of the features. Default: that of the library, or 30.
        basis : Basis or Library, optional
            Principal components, or the library to fit them on. Default: this one.
        workers : int, optional
            Processes. Default: one per core, fewer for little work.
        progress : callable, optional
            Called with the number of motions done since the last call.

        Returns
        -------
        features : LibraryFeatures
            Memory-mapped. Motions whose skeletons lack a joint have no features; ``left_out``
            names them.

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
        from motionloom.features import library_features

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
        normalize: Normalize | None = None,
        scale_free: bool | None = None,
        k: int | None = None,
        radius: float | None = None,
        index: Literal["bucket", "kdtree", "shards"] = "bucket",
        epsilon: float = 0.0,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        exclude_query: bool = False,
        preset: Literal["kt10"] | None = None,
    ) -> list[list[Match]]:
        """The nearest frames of the library to each frame of the query.

        Parameters
        ----------
        query, features, normalize, scale_free, label, only, exclude
            As in `search`.
        k : int, optional
            Neighbours of each frame, at most; default 16 where no radius is given.
        radius : float, optional
            Only neighbours within this distance, in metres.
        index : {"bucket", "kdtree", "shards"}
            Nearest-neighbour index; all give the same answers.
        epsilon : float
            Relative error allowed for the k-th distance; 0 is exact.
        exclude_query : bool
            Leave out the frames of the query itself.
        preset : {"kt10"}, optional
            Settings as in the paper: `features`, `normalize` and `k`. Arguments that differ from
            their defaults win.

        Returns
        -------
        neighbours : list of list of Match
            One list per frame, nearest first; matches are one frame long.

        Examples
        --------
        >>> near = lib.neighbours("walk:10-13", k=4)
        >>> len(near), near[0][0].motion
        (3, 'walk')
        """
        from motionloom.search import NeighbourSettings, nearest_frames

        settings = NeighbourSettings.from_arguments(locals())
        return nearest_frames(self, query, settings)

    def search(
        self,
        query: str | Path | Motion | Query,
        *,
        method: str | Settings = "dtw",
        max: int | None = 100,
        max_distance: float | None = None,
        accept: str | Match | Iterable[str | Match] | None = None,
        reject: str | Match | Iterable[str | Match] | None = None,
        tiers: int | str = 1,
        join_distance: float | None = None,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        exclude_query: bool = False,
        mirror: bool = False,
        same: float = 0.8,
        apart: float = 0.2,
        average_ranges: bool = False,
        member_lengths: tuple[float, float] = (0.5, 2.0),
        clear: bool = True,
        preset: Literal["kg04", "kt10", "tz07"] | None = None,
        features: str | FeatureSet | FrameDistance | None = None,
        normalize: Normalize | None = None,
        scale_free: bool | None = None,
        k: int | None = None,
        radius: float | None = None,
        index: Literal["bucket", "kdtree", "shards"] | None = None,
        epsilon: float | None = None,
        max_overlap: float | None = None,
        durations: tuple[float, float] | None = None,
        steps: Literal["slope", "classic"] | None = None,
        weights: Literal["moving", "equal"] | None = None,
        rank: Literal["movement", "distance", "sum"] | None = None,
        speed_seconds: float | None = None,
        bridge: int | None = None,
        distance: str | FrameDistance | None = None,
        alpha: float | None = None,
        max_slope: int | None = None,
        chain_seconds: float | None = None,
        bridge_seconds: float | None = None,
        squares: bool | None = None,
        rules: Literal["default", "paper"] | None = None,
        cells: Literal["auto", "all", "near"] | None = None,
        covariance_weight: float | None = None,
        spectrum_weight: float | None = None,
        trend_weight: float | None = None,
        length_weight: float | None = None,
        turn_weight: float | None = None,
        joint_spread: bool | None = None,
        curve_threshold: float | None = None,
        line_distance: Literal["time", "perpendicular"] | None = None,
        time_weight: float | None = None,
        clip_frames: int | None = None,
        joint_weights: str | Mapping[str, float] | None = None,
        whole_turns: bool | None = None,
        band: float | None = None,
        scale_factor: float | None = None,
        stretch_only: bool | None = None,
    ) -> Matches:
        """Everything in the library that resembles the query, nearest first.

        Arguments from `features` on are options of some methods; an option that the method does
        not have is refused.

        Parameters
        ----------
        query : str, Path or Motion
            ``NAME:START-END`` of the library in frames, or in seconds with an ``s``
            (``86_01:12.5s-14s``); a motion; or a file. Of any frame rate and skeleton.
        method : str or Settings
            For segments ``dtw``, ``lazy``, ``web`` (which needs `build_web` once); for whole
            clips ``statistics`` (the recommended one), ``dtw-clip``, ``emd``, ``dtw-angles``,
            ``scaling``, ``dtw-e15``, ``dtw-pc11``, ``dtw-jrd``. Or settings:
            ``LazyGraph(k=64)`` is ``method="lazy", k=64``.
        max : int or None
            Number of matches, at most.
        max_distance : float, optional
            Drop matches farther than this. It limits the distance that matches are ranked by:
            with ``dtw`` the distance of movements, or with ``rank="distance"`` the mean distance
            of poses per cell of the alignment, as with ``lazy`` and ``web``. In metres, except
            for clip measures in degrees.
        accept, reject : str, Match or several, optional
            Verdicts on matches of an earlier search, ``NAME:START-END`` or the matches: right ones
            are searched as well, wrong ones are left out, and what is nearer to them than to the
            query goes down. `distance` is then that of the verdicts, which ranks the matches.
        tiers : int or "all"
            Rounds of query expansion (1: none; ``all``: until nothing new is found). With more
            than one, members of the family of the query (see `family`) have their distance in the
            match graph, the others their pose distance.
        join_distance : float, optional
            Query expansion: pose distance up to which two members are joined, as in `family`.
        label : str or several, optional
            Search only motions with one of these labels.
        only, exclude : str or several, optional
            Search only these motions; leave these out.
        exclude_query : bool
            Leave out the frames of the query itself.
        mirror : bool
            Search for the mirrored query too: a left kick finds right ones. ``Match.mirrored``
            tells which they are. With one tier, and not with ``web``.
        same, apart : float
            Query expansion: a match that overlaps a member by more than `same` is that member,
            by less than `apart` a new one. Cyclic motions need a larger `apart`.
        average_ranges : bool
            Query expansion: average start and end of a member, and of the query, with those of
            every match that is that member. Default: they stay as they were found.
        member_lengths : (float, float)
            Query expansion: least and greatest length of a member, in lengths of the query.
        preset : {"kg04", "kt10", "tz07"}, optional
            Settings as in the paper: `method` and its options. Arguments that differ from their
            defaults win.
        features : str, FeatureSet or FrameDistance, optional
            ``dtw``, ``lazy``: what frames are compared by; with ``dtw`` also a frame distance.
            Default ``e15``.
        normalize, scale_free : optional
            ``dtw``, ``lazy``: as in `features`.
        k : int, optional
            ``lazy``: neighbours of each query frame, at most (256). Clips: number of clips.
        radius : float, optional
            ``lazy``: only neighbours within this distance, in metres.
        index, epsilon : optional
            ``lazy``: as in `neighbours`.
        max_overlap : float, optional
            Segments: part of the shorter of two matches that they may share (0.3). With 1, matches
            may end at every frame.
        durations : (float, float), optional
            Segments: least and greatest length of a match, in lengths of the query.
        steps : {"slope", "classic"}, optional
            ``dtw``, ``lazy``: alignment steps; ``slope`` keeps to half to twice the speed.
        weights : {"equal", "moving"}, optional
            ``dtw``: joints count equally (the default), or by how far they move in the query (the
            default in families).
        rank : {"movement", "distance", "sum"}, optional
            ``dtw``: rank by movement (the default) or by the distance of poses; see
            `motionloom.search.subsequence.rerank`. ``lazy``: by the mean distance per cell
            (``distance``, the default), or by the sum over the cells.
        speed_seconds : float, optional
            ``dtw``: weight of joint speeds where start and end of a match are refined (0.15).
        bridge : int, optional
            ``lazy``: query frames without a neighbour that a path may pass over; 0 is the
            paper's graph.
        distance, alpha, max_slope, chain_seconds, bridge_seconds, squares, rules, cells : optional
            ``web``: options that the web was built with; see `build_web`.
        covariance_weight, spectrum_weight, trend_weight, length_weight, turn_weight : optional
            ``statistics``: weights of which joints move together, how fast each moves, what comes
            first and last (1 each), of the duration (0.2) and of the turn (0.1).
        joint_spread : bool, optional
            ``dtw-clip``: add how differently the joints spread over a clip, in any order (True).
        curve_threshold : float, optional
            ``emd``: tolerance of the Douglas-Peucker points, in degrees (10).
        line_distance : {"time", "perpendicular"}, optional
            ``emd``: distance of a frame from the line of its curve (``time``).
        time_weight : float, optional
            ``emd``: degrees that one frame counts for (1).
        clip_frames : int, optional
            ``emd``, ``dtw-angles``: frames that a clip is resampled to (128).
        joint_weights : str or mapping, optional
            ``emd``, ``dtw-angles``, ``scaling``: ``importance`` (the default), ``equal``, or
            weights of some joints.
        whole_turns : bool, optional
            ``emd``, ``dtw-angles``, ``scaling``: compare angles up to whole turns (True).
        band : float, optional
            ``dtw-angles``: half-width of the band, as a fraction of the clip (0.1).
        scale_factor : float, optional
            ``scaling``: largest factor by which the speed of a clip is changed (1.2).
        stretch_only : bool, optional
            ``scaling``: never compare a beginning that is shorter than the query (False).

        Returns
        -------
        matches : Matches
            A sequence of `motionloom.search.Match`.

        Raises
        ------
        InvalidInput, LibraryError, RoleError
            If the query is too short, not there, or lacks a joint; or an argument is invalid.

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
        from motionloom.search import SearchSettings
        from motionloom.search import search as matches_of
        from motionloom.search.methods import expanded_search
        from motionloom.search.settings import expansion_rounds

        settings = search_settings(SearchSettings, locals())
        if expansion_rounds(settings.tiers) == 1:
            return matches_of(self, query, settings)
        return expanded_search(self, query, settings)

    def clip(self, query: str | Path | Motion | Query) -> Motion:
        """The motion of a query: ``NAME``, ``NAME:START-END`` or a file, cut to its frames.

        Examples
        --------
        >>> len(lib.clip("walk:10-40"))
        30
        """
        from motionloom.search.query import as_query

        return as_query(self, query).clip

    def export(
        self,
        matches: Iterable[Match | TextMatch],
        folder: str | Path,
        *,
        suffix: str = ".bvh",
        progress: Progress | None = None,
    ) -> list[Path]:
        """Write each match to a file, cut to its frames.

        Parameters
        ----------
        matches : iterable of Match or TextMatch
            Results of `search` or `find`, in order of rank, which the file names begin with.
        folder : str or Path
            Created if it is not there.
        suffix : str
            Suffix of a format that motions can be written in.
        progress : callable, optional
            Called with 1 after each file.

        Returns
        -------
        files : list of Path

        Raises
        ------
        InvalidInput
            If no writer has the suffix.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> [file.name for file in lib.export(lib.search("walk:0-40", max=1), folder.name)]
        ['001_walk_0-40.bvh']
        """
        from motionloom.library.dataset import motion_suffix
        from motionloom.search.match import clip_name

        ending = motion_suffix(suffix)
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        files = []
        for rank, match in enumerate(matches, start=1):
            start, end = match.start_frame, match.end_frame
            path = target / f"{clip_name(rank, match.motion, start, end)}.{ending}"
            self[match.motion][start:end].save(path)
            files.append(path)
            if progress is not None:
                progress(1)
        return files


def search_settings(cls: type[Search], arguments: dict[str, Any]) -> Search:
    """Settings from the arguments of `search` or `family`, with judged matches as texts."""
    judged = {name: _match_texts(arguments[name]) for name in ("accept", "reject")}
    return cls.from_arguments(arguments, **judged)


def _match_texts(given: str | Match | Iterable[str | Match] | None) -> tuple[str, ...] | None:
    """Judged matches as texts, ``NAME:START-END``."""
    if given is None:
        return None
    several = [given] if isinstance(given, str) or hasattr(given, "text") else list(given)
    return tuple(one if isinstance(one, str) else one.text for one in several)
