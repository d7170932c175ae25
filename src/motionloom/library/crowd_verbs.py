"""Verbs of a library for crowds: ballrooms, marches, dance floors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from motionloom.crowd.settings import (
    BODY_WIDTH,
    BallroomSettings,
    DanceFloorSettings,
    MarchSettings,
)
from motionloom.dance.settings import MAX_SEAM
from motionloom.settings import Settings, described
from motionloom.store import Store

if TYPE_CHECKING:
    from motionloom.crowd.ballroom import Ballroom
    from motionloom.crowd.dance_floor import DanceFloor
    from motionloom.crowd.march import March

Names = str | Iterable[str] | None


class CrowdVerbs(Store):
    """Verbs for crowds: ballrooms, marches, dance floors."""

    def ballroom(
        self,
        *,
        couples: int = 20,
        room: tuple[float, float] | None = (14.0, 10.0),
        columns: Sequence[tuple[float, float, float]] = (),
        radius: float | None = None,
        speed: float = 0.3,
        facing: float | None = None,
        music: str | Path | None = None,
        tempo_bpm: float | None = None,
        seconds: float | None = None,
        seed: int = 0,
        fps: float = 30.0,
        takes: Sequence[str] = (),
        label: Names = None,
        meter: int | None = None,
        graph: Literal["learnt", "built-in"] = "learnt",
        groups: int | None = None,
        transition_phase: float | None = None,
        max_seam: float | None = MAX_SEAM,
        preset: Literal["kp03"] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Ballroom:
        """Couples of this library dance around a room to music, without colliding.

        Parameters
        ----------
        couples : int
        room : (float, float), optional
            Width (x) and depth (z) in metres, the origin at its centre; None: no walls.
        columns : sequence of (x, z, radius)
        radius : float, optional
            Radius of a couple in metres. Default: of the couples in the takes.
        speed : float
            Speed around the room, m/s.
        facing : float, optional
            Where leaders face, degrees to the left of their direction of travel; 180:
            backwards. Default: as the movements turn.
        music : str or Path, optional
            A MIDI or audio file, or ``"tune"``: a generated one.
        tempo_bpm : float, optional
            Beats per minute, instead of a file or for a tune. Default: of the takes.
        seconds : float, optional
            Default: as long as the music; 30 without.
        seed : int
        fps : float
        takes : sequence of str
            Couples as ``"LEADER+FOLLOWER"``, with wildcards: ``"60_*+61_*"``. Default: the
            couples found among the takes that `label` selects.
        label : str or several
        meter : int, optional
            Beats per movement. Default: estimated.
        graph : {"learnt", "built-in"}
            The transition graph: learnt from the movements, or one whose nodes are set by rule,
            here one per movement.
        groups : int, optional
            Nodes of a learnt graph. Default: 5, or more where movements differ too much to be
            blended.
        transition_phase : float, optional
            Beats after a beat at which movements begin; 0: on the beat. Default: where
            transitions are smoothest.
        max_seam : float, optional
            Do not use transitions with more than this multiple of the accelerations of the takes,
            onto another foot, or with a jump of the body. None: use all.
        preset : {"kp03"}, optional
            Settings of Kim, Park and Shin (2003).
        progress : callable, optional
            Called with 1 for every analysed couple.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for dancer in ml.demo.couple():
        ...     lib.add_motion(dancer.motion, name=dancer.name)
        >>> ball = lib.ballroom(couples=2, seconds=3)
        >>> len(ball.scene), ball.clearance() >= 0.0
        (4, True)
        """
        return self._crowd("ballroom", BallroomSettings, locals())

    def march(
        self,
        *,
        points: Sequence[tuple[float, float]] = (),
        ranks: int = 10,
        files: int = 4,
        spacing: float = 1.2,
        speed: float | None = None,
        music: str | Path | None = None,
        tempo_bpm: float | None = None,
        seconds: float | None = None,
        seed: int = 0,
        fps: float = 30.0,
        takes: Sequence[str] = (),
        label: Names = None,
        meter: int | None = None,
        graph: Literal["learnt", "built-in"] = "learnt",
        groups: int | None = None,
        transition_phase: float | None = None,
        max_seam: float | None = MAX_SEAM,
        preset: Literal["kp03"] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> March:
        """Soldiers march along a street in formation, in step, with strides of this library.

        Parameters
        ----------
        points : sequence of (x, z)
            Control points of the street, a cubic B-spline. Default: a street with two corners,
            as wide as the takes need.
        ranks, files : int
            Soldiers one behind the other, and side by side.
        spacing : float
            Distance of neighbours, metres.
        speed : float, optional
            m/s along the street. Default: of the takes.
        music, tempo_bpm, seconds, seed, fps, label, meter, transition_phase, max_seam, preset
            As in `ballroom`.
        graph : {"learnt", "built-in"}
            The transition graph: learnt from the strides, or one node of strides that begin
            with the left foot.
        groups : int, optional
            Nodes of a learnt graph. Default: 2, the strides of the two feet.
        takes : sequence of str
            Walks by name, with wildcards. Default: all that `label` selects.
        progress : callable, optional
            Called with 1 for every analysed walk.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for seed in (0, 1):
        ...     lib.add_motion(ml.demo.clip("walk", seed=seed), name=f"walk_{seed}")
        >>> parade = lib.march(ranks=2, files=2, seconds=3)
        >>> len(parade.scene), parade.left_feet_in_step() > 0.9
        (4, True)
        """
        return self._crowd("march", MarchSettings, locals() | {"points": points or None})

    def dance_floor(
        self,
        count: int = 12,
        *,
        seconds: float = 60.0,
        seed: int = 0,
        method: Literal["auto", "choreography", "graph"] = "auto",
        floor: tuple[float, float] | None = None,
        width: float = BODY_WIDTH,
        label: Names = None,
        only: Names = None,
        exclude: Names = None,
    ) -> DanceFloor:
        """Characters dance next to each other, each at random, without colliding.

        Parameters
        ----------
        count : int
            Number of characters.
        seconds : float
        seed : int
        method : {"auto", "choreography", "graph"}
            ``auto``: a choreography if any take has a rhythm, else a motion graph.
        floor : (float, float), optional
            Width and depth in metres. Default: as large as needed.
        width : float
            Least distance of two bodies, metres.
        label, only, exclude : str or several, optional
            Select motions by label and name. Default: motions with a label that begins with
            ``dance``, or all if there are none.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> lib.add_motion(ml.demo.clip("dance_groove"))
        >>> floor = lib.dance_floor(2, seconds=3)
        >>> floor.scene.names
        ('dancer_1', 'dancer_2')
        """
        from motionloom.crowd.dance_floor import dance_floor, dance_takes
        from motionloom.dance.motion_beats.manual_beats import beats_in
        from motionloom.search.filters import chosen_names

        settings = DanceFloorSettings.from_arguments(locals())
        if label is None and only is None and exclude is None:
            chosen = dance_takes(self.names, self.labels)
        else:
            chosen = chosen_names(self, label=label, only=only, exclude=exclude)
        return dance_floor(
            [self[name] for name in chosen], settings, beats_of=beats_in(self, self.__getitem__)
        )

    def _crowd(self, kind: str, cls: type[Settings], arguments: Mapping[str, Any]) -> Any:
        """The crowd of the arguments of a verb; those of None are left to the plan."""
        from motionloom.library.crowd_plan import CrowdPlan

        given = {name: arguments[name] for name in described(cls) if name in arguments}
        given = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
            if value is not None or name in ("room", "max_seam")
        }
        if "music" in given:
            given["music"] = str(given["music"])
        plan = CrowdPlan(kind, given | {"library": str(self.path)}, library=self)
        return plan.run(plan.choreography(progress=arguments["progress"]))
