"""Verbs of a library that connect matches: families of a query, and match webs.

The settings classes in `motionloom.search.settings` hold the defaults, the checks and one
sentence on every argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from motionloom.errors import InvalidInput
from motionloom.library.search_verbs import SearchVerbs, search_settings
from motionloom.parallel import Progress
from motionloom.settings import motion_choice

if TYPE_CHECKING:
    from motionloom.features import FeatureSet, FrameDistance
    from motionloom.features.body_frame import Normalize
    from motionloom.motion import Motion
    from motionloom.search import Family, Match
    from motionloom.search.match_graph.sweep import LimitSweep
    from motionloom.search.match_web.store import LeftToBuild, WebReport
    from motionloom.search.match_web.web import Web
    from motionloom.search.query import Query
    from motionloom.search.settings import WebOptions
    from motionloom.settings import Settings


class FamilyVerbs(SearchVerbs):
    """Verbs that connect matches: families, match webs."""

    def family(
        self,
        query: str | Path | Motion | Query,
        *,
        method: str | Settings = "dtw",
        max: int | None = 100,
        join_distance: float | None = None,
        max_distance: float | None = None,
        accept: str | Match | Iterable[str | Match] | None = None,
        reject: str | Match | Iterable[str | Match] | None = None,
        tiers: int | str = "all",
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        exclude_query: bool = False,
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
        progress: Progress | None = None,
    ) -> Family:
        """The match graph of a query: its matches, their matches, and so on.

        Parameters
        ----------
        query, method, label, only, exclude, exclude_query, same, apart, average_ranges,
        member_lengths, clear, preset
            As in `search`, and so are the options of the methods; `rank` is ``distance`` here.
        max : int or None
            Number of members besides the query, at most.
        join_distance : float, optional
            Pose distance up to which two members are joined: the mean distance per cell of their
            alignment, in metres. Default: the middle of the widest plateau of the family's size
            before it explodes; see ``family.sweep``.
        max_distance : float, optional
            Earlier name of `join_distance`.
        accept : str, Match or several, optional
            Members that are right, ``NAME:START-END`` or matches: they are joined to the query
            however far they are.
        reject : str, Match or several, optional
            Members that are wrong: cut out, with all that is reached through them only.
        tiers : int or "all"
            Rounds of query expansion (``all``: until nothing new is found).
        progress : callable, optional
            Called with 1 after the search of each member.

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
        from motionloom.search import FamilySettings, library_family

        settings = search_settings(FamilySettings, locals())
        return library_family(self, query, settings, progress=progress)

    def family_sweep(
        self, query: str | Path | Motion | Query, *, max: int | None = 60, **settings: Any
    ) -> LimitSweep:
        """Sizes of the families of a query for all join distances, and the one proposed.

        Parameters
        ----------
        query
            As in `search`.
        max : int or None
            Number of members at which the sweep ends.
        **settings
            As in `family`.

        Returns
        -------
        sweep : LimitSweep
            ``limits`` at which members enter, ``sizes(limits)``, ``proposed``, ``plateau``.

        Examples
        --------
        >>> sweep = lib.family_sweep("kick_front_mid_right:5-40", max=5)
        >>> sweep.plateau[0] <= sweep.proposed <= sweep.plateau[1]
        True
        """
        from motionloom.search import FamilySettings
        from motionloom.search.methods import family_sweep

        known = signature(self.family).parameters
        defaults = {name: one.default for name, one in known.items() if name != "query"}
        unknown = sorted(set(settings) - set(defaults))
        if unknown:
            raise InvalidInput(f"{unknown[0]} is not a setting of a family")
        given = search_settings(FamilySettings, defaults | settings | {"max": max})
        return family_sweep(self, query, given)

    def build_web(
        self,
        *,
        distance: str | FrameDistance = "pc11",
        alpha: float = 0.15,
        max_slope: int = 3,
        chain_seconds: float = 0.25,
        bridge_seconds: float = 2.0,
        squares: bool = False,
        rules: Literal["default", "paper"] = "default",
        cells: Literal["auto", "all", "near"] = "auto",
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        preset: Literal["kg04"] | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> WebReport:
        """Compare all pairs of motions and keep their match webs, for ``method="web"``.

        Pairs that have been built before are not built again.

        Parameters
        ----------
        distance : str or FrameDistance
            Frame distance.
        alpha : float
            The valid region ends where the squared distance exceeds that of a minimum by this
            fraction.
        max_slope : int
            Frames of one motion that correspond to one of the other, at most.
        chain_seconds : float
            Shorter chains of minima are dropped.
        bridge_seconds : float
            Bridges between chains span less than this, the sum of both motions.
        squares : bool
            Average squared distances, as in the paper.
        rules : {"default", "paper"}
            Rules of chains: of motionloom, or of the paper alone; see the page on match webs.
        cells : {"auto", "all", "near"}
            Compare all frames, or only where poses are near neighbours, which takes less than half
            of the time and finds matches up to 0.1 m. ``auto``: near from 200,000 frames on, if
            the web is not built yet.
        label, only, exclude : str or several, optional
            Only pairs of motions with one of these labels; of these motions; without these.
        preset : {"kg04"}, optional
            Settings as in Kovar & Gleicher (2004).
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
        from motionloom.search.match_web.store import WebStore
        from motionloom.search.settings import WebSettings

        settings = WebSettings.from_arguments(locals())
        return WebStore.of(self, settings).build(
            **motion_choice(settings), workers=workers, progress=progress
        )

    def missing_webs(
        self,
        *,
        distance: str | FrameDistance = "pc11",
        alpha: float = 0.15,
        max_slope: int = 3,
        chain_seconds: float = 0.25,
        bridge_seconds: float = 2.0,
        squares: bool = False,
        rules: Literal["default", "paper"] = "default",
        cells: Literal["auto", "all", "near"] = "auto",
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        preset: Literal["kg04"] | None = None,
    ) -> LeftToBuild:
        """What `build_web` with these arguments would build.

        Returns
        -------
        work : LeftToBuild
            ``pairs``, ``cells`` of their distance matrices, estimated ``core_seconds``.

        Examples
        --------
        >>> lib.missing_webs(only=["walk", "jog"]).pairs
        3
        """
        from motionloom.search.match_web.store import WebStore
        from motionloom.search.settings import WebSettings

        settings = WebSettings.from_arguments(locals())
        return WebStore.of(self, settings).left_to_build(**motion_choice(settings))

    def web(
        self,
        a: str,
        b: str,
        *,
        distance: str | FrameDistance = "pc11",
        options: WebOptions | None = None,
    ) -> Web:
        """The match web of two motions: rows are frames of `a`, columns of `b`.

        `build_web` must have built it.

        Parameters
        ----------
        a, b : str
            Names of the motions.
        distance : str or FrameDistance
            Frame distance that it was built with.
        options : WebOptions, optional
            All options that it was built with: ``WebSettings(preset="kg04")``.

        Examples
        --------
        >>> a, b = "kick_front_high_right", "kick_front_mid_right"
        >>> _ = lib.build_web(label="kick")
        >>> type(lib.web(a, b)).__name__
        'Web'
        """
        from motionloom.search.match_web.store import WebStore
        from motionloom.search.settings import WebOptions

        return WebStore.of(self, options or WebOptions(distance=distance)).web(a, b)
