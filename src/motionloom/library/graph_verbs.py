"""Verbs of a library that recombine motions: graphs, choreographies, crowds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from motionloom.store import Store

if TYPE_CHECKING:
    from motionloom.crowd.dance_floor import DanceFloor
    from motionloom.distance import FrameDistance
    from motionloom.fat_graph import FatGraph
    from motionloom.motion_graph import MotionGraph
    from motionloom.rhythm import Choreography


class GraphVerbs(Store):
    """Verbs that recombine motions: motion graphs, fat graphs, choreographies, crowds."""

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
            `motionloom.motion_graph.transitions.TransitionSettings`.

        Returns
        -------
        graph : MotionGraph
            Without dead ends; ``removed`` tells what was left out. Transitions that were
            removed or locked by hand (`motionloom.motion_graph.edits`) stay so.

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
        from motionloom.motion_graph.artifact import library_graph
        from motionloom.search.filters import chosen_names

        names = chosen_names(self, within=within, only=only, without=without)
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
            `motionloom.fat_graph.fat_graph`.

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
        from motionloom.fat_graph import fat_graph as graph_of
        from motionloom.search.filters import chosen_names

        names = chosen_names(self, within=within, only=only, without=without)
        return graph_of([self[name] for name in names], **options)

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
            `motionloom.rhythm.choreography.choreography`.

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
        from motionloom.rhythm import choreography as choreography_of
        from motionloom.search.filters import chosen_names

        if takes is None:
            takes = chosen_names(self, within=within or None)
        danced = [
            self[take] if isinstance(take, str) else [self[name] for name in take] for take in takes
        ]
        return choreography_of(danced, meter=meter, **options)

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
            `motionloom.crowd.dance_floor.dance_floor`.

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
        from motionloom.crowd.dance_floor import dance_floor as floor_of
        from motionloom.crowd.dance_floor import dance_takes
        from motionloom.search.filters import chosen_names

        if within is None and only is None and without is None:
            names = dance_takes(self.names, self.labels)
        else:
            names = chosen_names(self, within=within, only=only, without=without)
        takes = [self[name] for name in names]
        return floor_of(takes, count, seconds=seconds, seed=seed, **options)
