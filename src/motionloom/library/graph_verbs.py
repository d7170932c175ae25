"""Verbs of a library that recombine motions: motion graphs, fat graphs, motion matching."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from motionloom.errors import InvalidInput
from motionloom.store import Store

if TYPE_CHECKING:
    from motionloom.fat_graph import FatGraph
    from motionloom.features import FeatureSet, FrameDistance
    from motionloom.features.body_frame import Normalize
    from motionloom.features.joint_weights import LearnedWeights
    from motionloom.motion_graph import EditedGraph, GraphSettings, Minima, MotionGraph, Sectors
    from motionloom.motion_graph.edits import Edits, TransitionKey
    from motionloom.motion_matching import MatchingDatabase
    from motionloom.parallel import Progress


class GraphVerbs(Store):
    """Verbs that recombine motions: motion graphs, fat graphs and motion matching."""

    def motion_graph(
        self,
        *,
        distance: str | FrameDistance = "jrd",
        method: str | Sectors | Minima = "sectors",
        sector_seconds: float | None = None,
        max_distance: float | None = None,
        per_minute: float = 60.0,
        blend_seconds: float = 0.4,
        apart_seconds: float = 0.6,
        match_feet: bool = True,
        connect: float = 3.0,
        smooth: float | None = 1.2,
        bridge: bool = False,
        window: Literal["centred", "kr14", "directed"] | None = None,
        joint_weights: str | Path | None = None,
        transitions: str | Path | None = None,
        mirror: bool = False,
        preset: Literal["kr14"] | None = None,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> MotionGraph:
        """Build a motion graph: find transitions between motions, once, and store it.

        Parameters
        ----------
        distance : str or FrameDistance
            Frame distance: ``"jrd"``, ``"pc11"``, ...
        method : {"sectors", "minima"}, Sectors or Minima
            How transition candidates are found on the error function.
        sector_seconds : float, optional
            Side of a sector in seconds; an option of ``"sectors"``. Default 0.5.
        max_distance : float, optional
            Largest frame distance at a transition. Default: the least that gives `per_minute`.
        per_minute : float
            Transitions per minute of motion, counting both directions as one.
        blend_seconds : float
            Duration of a transition.
        apart_seconds : float
            Least time between two frames of one motion that a transition joins.
        match_feet : bool
            Require the same feet to be in contact on both sides of a transition.
        connect : float
            Relax the frame distance up to this factor for motions that would be cut off; 1:
            never. A given `max_distance` is never relaxed.
        smooth : float or None
            Largest acceleration of a transition, relative to the 99.9th percentile of the
            motions; None: no limit.
        bridge : bool
            Join parts that would be cut off, such as walks and runs, at their most similar poses,
            if steps alternate and accelerations stay within the limit.
        window : {"centred", "kr14", "directed"}, optional
            Frames that are blended at a transition (i, j): those around i and j (the default), or,
            as in Kravcevich 2014, k frames from i on and the k frames up to j. Also says what the
            frames of a file of `transitions` are; see `motionloom.motion_graph.mogra`.
        joint_weights : str or Path, optional
            File with weights of joint pairs for ``"jrd"``; see `learn_joint_weights`.
        transitions : str or Path, optional
            A ``.mogra`` file whose transitions are used; none are searched. Its motions are
            numbered in the order of `only`, or in that of the library.
        mirror : bool
            Also use each motion mirrored, left and right exchanged (``NAME_mirrored``): takes that
            turn to one side only then turn to both.
        preset : {"kr14"}, optional
            Settings of Kravcevich 2014; those that are given and differ from their defaults win.
        label, only, exclude : str or several, optional
            Labels and names that choose the motions; as in `search`.
        workers : int, optional
            Processes. Default: one per core, or none for little work.
        progress : callable, optional
            Called with the number of pairs of motions compared since the last call.

        Returns
        -------
        graph : MotionGraph
            Without dead ends; ``removed`` says what was left out. Transitions that were removed
            or locked by `edit_motion_graph` stay so.

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
        from motionloom.motion_graph.settings import GraphSettings

        settings = GraphSettings.from_arguments(locals())
        return self.edited_motion_graph(settings, workers=workers, progress=progress).graph

    def edited_motion_graph(
        self,
        settings: GraphSettings,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> EditedGraph:
        """The motion graph of `settings`, with all transitions found and the state of each.

        Examples
        --------
        >>> from motionloom.motion_graph import GraphSettings
        >>> edited = lib.edited_motion_graph(GraphSettings(only=("walk", "walk_fast")))
        >>> len(edited.states) >= len(edited.graph)
        True
        """
        from motionloom.motion_graph.artifact import library_graph

        return library_graph(self, settings, workers=workers, progress=progress)

    def has_motion_graph(self, settings: GraphSettings) -> bool:
        """Whether the graph of `settings` is stored, so that it need not be built."""
        from motionloom.motion_graph.artifact import is_built

        return is_built(self, settings)

    def motion_graph_names(self, settings: GraphSettings) -> tuple[str, ...]:
        """Names of the motions that `settings` choose."""
        from motionloom.motion_graph.artifact import graph_names

        return tuple(graph_names(self, settings))

    @property
    def last_graph_settings(self) -> GraphSettings | None:
        """Settings of the graph that `save_graph_settings` stored last, or None."""
        from motionloom.motion_graph.artifact import graph_settings

        return graph_settings(self)

    def save_graph_settings(
        self, settings: GraphSettings, *, fields: Iterable[str] | None = None
    ) -> None:
        """Store the settings of a graph: commands without graph options use them.

        Parameters
        ----------
        settings : GraphSettings
        fields : iterable of str, optional
            Fields to store. Default: those that differ from their defaults.
        """
        from motionloom.motion_graph.artifact import save_graph_settings

        save_graph_settings(self, settings, fields)

    @property
    def motion_graph_edits(self) -> Edits:
        """Transitions that were removed or locked by hand."""
        from motionloom.motion_graph.edits import library_edits

        return library_edits(self)

    def edit_motion_graph(
        self, action: Literal["remove", "lock", "restore"], transition: str | TransitionKey
    ) -> Edits:
        """Remove, lock or restore a transition, in all motion graphs of the library.

        Parameters
        ----------
        action : {"remove", "lock", "restore"}
            Exclude it from every graph; include it in every graph that has both motions; or
            undo an edit.
        transition : str or TransitionKey
            ``NAME:FRAME,NAME:FRAME``.

        Returns
        -------
        edits : Edits
            All edits of the library.

        Raises
        ------
        InvalidInput, LibraryError
            If the library has no such motion, or the motion no such frame.
        """
        from motionloom.motion_graph.edits import TransitionKey, edit

        key = TransitionKey.of(transition) if isinstance(transition, str) else transition
        for name, frame in ((key.source, key.source_frame), (key.target, key.target_frame)):
            frames = self.entry(name).frames
            if frame >= frames:
                raise InvalidInput(f"{name} has frames 0 to {frames - 1}; got {frame}")
        return edit(self, action, key)

    def learn_joint_weights(
        self,
        tags: str | Path,
        *,
        method: Literal["nnls", "tang"] = "nnls",
        max_weights: int | None = None,
        output: str | Path | None = None,
    ) -> LearnedWeights:
        """Weights of joint pairs for the distance jrd, from pairs of poses tagged by hand.

        Parameters
        ----------
        tags : str or Path
            CSV file with rows ``NAME:FRAME, NAME:FRAME, 1`` (similar) or ``0`` (not).
        method : {"nnls", "tang"}
            Non-negative least squares with an intercept, or absolute values of the least squares
            without one, as Tang et al. (2008) and Kravcevich (2014) have it.
        max_weights : int, optional
            Keep only the largest weights, at most this many.
        output : str or Path, optional
            Write the weights to this file, for `motion_graph(joint_weights=...)`.

        Returns
        -------
        learned : LearnedWeights
            ``weights`` (pair of roles to weight, the largest first), ``tagged`` (number of pairs of
            poses), and ``auc`` and ``equal_auc``: how well these and equal weights order pairs of
            poses whose motions were left out.
        """
        from motionloom.features.joint_weights import learned_weights, read_tags, save_weights

        learned = learned_weights(read_tags(tags, self), method=method, top=max_weights)
        if output is not None:
            save_weights(learned.weights, output)
        return learned

    def fat_graph(
        self,
        *,
        radius: float = 0.07,
        features: str | FeatureSet = "e15x3",
        normalize: Normalize | None = None,
        poses: int = 8,
        k: int | None = None,
        examples: int = 20,
        bridge: bool = True,
        seed: int = 0,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        preset: Literal["kt10"] | None = None,
    ) -> FatGraph:
        """Build a fat graph: base poses and, between them, motions steered by turn and speed.

        Parameters
        ----------
        radius : float
            Largest distance between neighbouring poses, metres.
        features : str or FeatureSet
            Features by which poses are compared.
        normalize : {"heading", "full", "paper"}, optional
            As in `features`.
        poses : int
            At most this many base poses.
        k : int, optional
            Neighbours of a frame that are counted, at most. Default: all.
        examples : int
            Clips of a fat edge that are blended, at most; those that differ most in turn and
            speed are chosen.
        bridge : bool
            Make transitions between gaits that share no pose, such as walks and jogs.
        seed : int
            Random seed for sampling blends.
        label, only, exclude : str or several, optional
            Labels and names that choose the motions; as in `search`. Best: walks, runs, turns.
        preset : {"kt10"}, optional
            Settings as in the paper: `features` and `normalize`. Arguments that differ from their
            defaults win.

        Returns
        -------
        graph : FatGraph

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
        from motionloom.fat_graph import FatGraphSettings
        from motionloom.fat_graph import fat_graph as graph_of
        from motionloom.search.filters import chosen_names

        settings = FatGraphSettings.from_arguments(locals())
        motions = chosen_names(
            self, label=settings.label, only=settings.only, exclude=settings.exclude
        )
        return graph_of([self[name] for name in motions], settings)

    def motion_matching(
        self,
        *,
        mirror: bool = True,
        fps: float | None = None,
        foot_position: float = 1.5,
        foot_velocity: float = 0.4,
        hip_velocity: float = 0.6,
        trajectory_position: float = 1.0,
        trajectory_facing: float = 1.5,
        normalize: Literal["metres", "spread"] = "metres",
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> MatchingDatabase:
        """Build a motion matching database, once, and store it.

        Parameters
        ----------
        mirror : bool
            Also use each take mirrored.
        fps : float, optional
            Frames per second. Default: that of the first take.
        foot_position, foot_velocity, hip_velocity : float
            Weights of the pose: metres that 1 m of a foot, 1 m/s of a foot, 1 m/s of the hips
            count.
        trajectory_position, trajectory_facing : float
            Weights of the trajectory: metres that 1 m, and 1 radian, count.
        normalize : {"metres", "spread"}
            Compare features in metres, or divided by the standard deviation of their group.
        label, only, exclude : str or several, optional
            Labels and names that choose the motions; as in `search`. Best: everything that walks,
            runs, turns, starts and stops.
        progress : callable, optional
            Called as ``progress(1)`` after every take, if the database has to be built.

        Returns
        -------
        database : MatchingDatabase
            ``database.player(...)`` is a character that follows controls, ``database.walk(...)`` a
            motion.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for kind in ("walk", "walk_left", "walk_right"):
        ...     lib.add_motion(ml.demo.clip(kind))
        >>> player = lib.motion_matching().player(velocity=(0.0, 1.2))
        >>> player.record(seconds=3).duration
        3.0
        """
        from motionloom.motion_matching import MatchingSettings
        from motionloom.motion_matching.artifact import library_database

        settings = MatchingSettings.from_arguments(locals())
        return library_database(self, settings, progress=progress)
