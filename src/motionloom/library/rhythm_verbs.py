"""Verbs of a library for rhythm and crowds: beats, choreographies, ballrooms, dance floors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from motionloom.crowd.settings import BODY_WIDTH, DanceFloorSettings
from motionloom.rhythm.settings import (
    LONGEST,
    MAX_SEAM,
    RHYTHMIC,
    SHORTEST,
    TUNE,
    BeatSettings,
    ChoreographySettings,
)
from motionloom.store import Store

if TYPE_CHECKING:
    from motionloom.crowd.ballroom import Ballroom
    from motionloom.crowd.dance_floor import DanceFloor
    from motionloom.crowd.march import March
    from motionloom.rhythm.choreography import Choreography
    from motionloom.rhythm.given_beats import GivenBeats
    from motionloom.rhythm.motion_beats.beats import Beats
    from motionloom.rhythm.music.music import Music

Names = str | Iterable[str] | None


class RhythmVerbs(Store):
    """Verbs for rhythm and crowds: beats, choreographies, ballrooms, marches, dance floors."""

    def beats(
        self,
        take: str | Sequence[str],
        *,
        tempo_bpm: tuple[float, float] = (60.0 / LONGEST, 60.0 / SHORTEST),
        bpm: float | None = None,
        first_beat: float | None = None,
        steady: bool = False,
        level: float = 1.0,
        weights: Mapping[str, float] | None = None,
        kind: Literal["turns", "acceleration"] = "turns",
        midway: bool = True,
        weighted: bool = True,
        period: Literal["combined", "periodogram"] = "combined",
        preset: Literal["kp03"] | None = None,
    ) -> Beats:
        """Motion beats of a take, or of several that were danced together; see `motionloom.beats`.

        Tempo, first beat and partners that `set_beats` has kept are used.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
        >>> lib.beats("groove").rhythmic
        True
        """
        from motionloom.rhythm.given_beats import beats_in

        together = [take] if isinstance(take, str) else list(take)
        settings = BeatSettings.from_arguments(locals())
        beats_of = beats_in(self, self.__getitem__)
        return beats_of([self[name] for name in together], settings)

    def set_beats(
        self,
        takes: str | Sequence[str],
        *,
        bpm: float | None = None,
        first_beat: float | None = None,
        times: Sequence[float] | None = None,
    ) -> tuple[str, ...]:
        """Keep tempo, first beat and partners of takes with the library, for all verbs.

        Parameters
        ----------
        takes : str or sequence of str
            Name of a take. Names in a list, or with ``+`` between them, are takes of one
            performance: their beats are found together. Wildcards pair names that match alike:
            ``"60_*+61_*"``.
        bpm : float, optional
            Tempo, beats per minute. Default: found.
        first_beat : float, optional
            Time of the first beat, seconds. Default: found.
        times : sequence of float, optional
            The beats themselves, seconds; they replace what would be found. See `edit_beats`.

        Returns
        -------
        names : tuple of str
            The takes that were changed. A single take without anything given is forgotten.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
        >>> lib.set_beats("groove", bpm=100.0, first_beat=0.5)
        ('groove',)
        >>> lib.beats("groove").times[:3]
        array([0.5, 1.1, 1.7])
        """
        from motionloom.library.crowd_plan import expanded
        from motionloom.rhythm.given_beats import (
            GivenBeats,
            checked_times,
            given_beats,
            save_given_beats,
        )

        BeatSettings(bpm=bpm, first_beat=first_beat)  # raises if they mean nothing
        known = given_beats(self)
        text = takes if isinstance(takes, str) else "+".join(takes)
        changed: list[str] = []
        for group in expanded(text, self.names):
            together = group.split("+")
            for name in together:
                seconds = self.entry(name).frames / self.entry(name).fps  # raises if there is none
                given = () if times is None else checked_times(times, seconds)
                partners = tuple(other for other in together if other != name)
                told = GivenBeats(bpm, first_beat, partners, given)
                known.pop(name, None)
                if told != GivenBeats():
                    known[name] = told
                changed.append(name)
        with self.change(f"beats of {text}"):
            save_given_beats(self, known)
        return tuple(changed)

    def edit_beats(
        self,
        take: str,
        *,
        times: Sequence[float] | None = None,
        move: Mapping[int, float] | None = None,
        add: Sequence[float] = (),
        remove: Sequence[int] = (),
    ) -> Beats:
        """Move, add and remove single beats of a take, and keep them with the library.

        Parameters
        ----------
        take : str
        times : sequence of float, optional
            All beats, seconds, in place of those that there are; an empty one forgets what was
            given, and beats are found again.
        move : mapping of int to float, optional
            Number of a beat, from 0, to its new time in seconds.
        add : sequence of float
            Times of new beats, seconds.
        remove : sequence of int
            Numbers of beats.

        Returns
        -------
        beats : Beats
            All beats after the change; tempo, first beat and partners that were given stay.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
        >>> before = lib.beats("groove").times
        >>> after = lib.edit_beats("groove", move={2: before[2] + 0.05}, remove=[0])
        >>> len(before) - len(after), round(float(lib.beats("groove").times[1] - before[2]), 3)
        (1, 0.05)
        """
        from motionloom.rhythm.given_beats import (
            GivenBeats,
            checked_times,
            edited_times,
            given_beats,
            save_given_beats,
        )

        entry = self.entry(take)
        before = self.beats(take).times.tolist() if times is None else times
        changed = edited_times(before, move=move, add=add, remove=remove)
        kept = checked_times(changed, entry.frames / entry.fps) if len(changed) else ()
        known = given_beats(self)
        told = replace(known.pop(entry.name, GivenBeats()), times=kept)
        if told != GivenBeats():
            known[entry.name] = told
        with self.change(f"beats of {entry.name}"):
            save_given_beats(self, known)
        return self.beats(take)

    def rename(self, name: str, new: str) -> None:
        """Give a motion another name; see `Store.rename`."""
        from motionloom.rhythm.given_beats import rename_given_beats

        with self.change("rename"):
            super().rename(name, new)
            rename_given_beats(self, name, new)

    def given_beats(self) -> dict[str, GivenBeats]:
        """What `set_beats` has kept, by take."""
        from motionloom.rhythm.given_beats import given_beats

        return given_beats(self)

    def choreography(
        self,
        *,
        meter: int | None = None,
        tempo_bpm: tuple[float, float] = (60.0 / LONGEST, 60.0 / SHORTEST),
        bpm: float | None = None,
        first_beat: float | None = None,
        steady: bool = False,
        level: float = 1.0,
        align: Literal["landings", "beats"] = "landings",
        even: bool = True,
        groups: int | None = None,
        radius: float | None = None,
        weights: Mapping[str, float] | str = "important",
        velocity_weight: float | None = None,
        mirror: bool = False,
        behaviour: float = 0.5,
        sigma: float | None = None,
        min_likelihood: float | None = None,
        max_seam: float | None = MAX_SEAM,
        min_confidence: float = RHYTHMIC,
        kind: str = "",
        seed: int = 0,
        takes: Iterable[str | Sequence[str]] | None = None,
        label: Names = None,
        only: Names = None,
        exclude: Names = None,
        preset: Literal["kp03"] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Choreography:
        """Cut takes into movements at their beats, and learn which may follow which.

        Parameters
        ----------
        meter : int, optional
            Beats per movement. Default: estimated, 2 to 8.
        tempo_bpm : pair of float
            Slowest and fastest plausible tempo of the takes, beats per minute.
        bpm : float, optional
            Tempo of the takes, if it is known, beats per minute. Default: as `set_beats` has
            kept it, or found.
        first_beat : float, optional
            Time of the first beat in the takes, seconds. Default: as for `bpm`.
        steady : bool
            Assume a constant tempo of each take.
        level : float
            Metrical level of the beats: 2 counts every other beat, 0.5 twice as many.
        align : {"landings", "beats"}
            What of a take meets the beats of the music: its foot landings, as far as they are
            near beats, or its motion beats, as in the paper.
        even : bool
            Drop movements whose beats are a quarter off their period, or whose feet do not land
            on beats.
        groups : int, optional
            Number of groups of similar movements (k-medoids). Default: found by subtractive
            clustering.
        radius : float, optional
            Radius of a group in subtractive clustering.
        weights : {"important", "all"} or mapping of str to float
            Weights of the joints in the comparison of movements. ``important``: 1 for pelvis,
            spine, shoulders, elbows, hips and knees, 0 for the others; a mapping of roles or joint
            names changes some of these.
        velocity_weight : float, optional
            Weight of velocities against postures, seconds squared. Default: equal shares.
        mirror : bool
            Use every take mirrored, too: twice the movements.
        behaviour : float
            Weight of the transitions that the takes show against smooth ones, 0 to 1.
        sigma : float, optional
            Of equation (22): how fast the likelihood falls with the difference of postures.
        min_likelihood : float, optional
            Drop transitions that are less likely. Default: 0.05, or one in the number of nodes.
        max_seam : float, optional
            Drop transitions with more than this multiple of the accelerations of the takes, onto
            another foot, or with a jump of the body; see `motionloom.rhythm.seams`. None: keep all.
        min_confidence : float
            Skip takes whose beats are less certain.
        kind : str
            Name of the dance (``"waltz"``).
        seed : int
            Random seed for clustering.
        takes : names, optional
            Names in a list dance together. Default: all takes that `label`, `only` and
            `exclude` select and that have a rhythm.
        label, only, exclude : str or several, optional
            Select motions by label and name, as in `search`.
        preset : {"kp03"}, optional
            Kim, Park and Shin 2003: beats as in the paper, all takes and movements used.
        progress : callable, optional
            Called with 1 for every analysed take.

        Returns
        -------
        choreography : Choreography
            ``movements`` and ``graph``; ``dance`` sets it to music, ``save`` writes a file.

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
        from motionloom.rhythm.choreography import Choreography
        from motionloom.rhythm.given_beats import beats_in
        from motionloom.search.filters import chosen_names

        settings = ChoreographySettings.from_arguments(locals())
        if takes is None:
            takes = chosen_names(self, label=label or None, only=only, exclude=exclude)
        danced = [
            self[take] if isinstance(take, str) else [self[name] for name in take] for take in takes
        ]
        return Choreography.from_takes(
            danced, settings, beats_of=beats_in(self, self.__getitem__), progress=progress
        )

    def load_choreography(self, path: str | Path) -> Choreography:
        """Read a choreography of takes of this library from a JSON file."""
        from motionloom.rhythm.choreography_file import load_choreography

        return load_choreography(path, self.__getitem__)

    def save_choreography(self, choreography: Choreography, name: str) -> None:
        """Keep a choreography with the library; its kind is `name` unless it has one."""
        from motionloom.rhythm.choreography_file import save_choreography

        save_choreography(self, choreography, name)

    def saved_choreography(self, name: str) -> Choreography:
        """A choreography that was kept by `save_choreography`."""
        from motionloom.rhythm.choreography_file import open_choreography

        return open_choreography(self, name, self.__getitem__)

    def choreography_for(
        self, music: Music | str | Path, *, kind: str | None = None, meter: int | None = None
    ) -> Choreography:
        """The first kept choreography of a kind; without a kind, of the meter of the music.

        Parameters
        ----------
        music : Music, the path of a music file, or "tune"
        kind : str, optional
        meter : int, optional
            Beats per bar. Default: of the music.

        Raises
        ------
        InvalidInput
            If no kept choreography fits.
        """
        from motionloom.rhythm.choreography import for_music
        from motionloom.rhythm.choreography_file import saved_choreographies
        from motionloom.rhythm.music.music import Music, load_music

        known = saved_choreographies(self, self.__getitem__)
        if kind is not None:
            return for_music(known, kind=kind)
        if isinstance(music, Music):
            meter = meter or music.meter
        elif str(music) != TUNE or Path(music).exists():
            meter = load_music(music, meter=meter).meter
        return for_music(known, meter=meter)

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
        given = {
            "couples": couples, "room": room, "columns": columns, "radius": radius,
            "speed": speed, "facing": facing, "music": music, "tempo_bpm": tempo_bpm,
            "seconds": seconds, "seed": seed, "fps": fps, "takes": takes, "label": label,
            "meter": meter, "graph": graph, "groups": groups,
            "transition_phase": transition_phase, "max_seam": max_seam, "preset": preset,
        }  # fmt: skip
        return self._crowd("ballroom", given, progress)

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
        given = {
            "points": points or None, "ranks": ranks, "files": files, "spacing": spacing,
            "speed": speed, "music": music, "tempo_bpm": tempo_bpm, "seconds": seconds,
            "seed": seed, "fps": fps, "takes": takes, "label": label, "meter": meter,
            "graph": graph, "groups": groups, "transition_phase": transition_phase,
            "max_seam": max_seam, "preset": preset,
        }  # fmt: skip
        return self._crowd("march", given, progress)

    def _crowd(self, kind: str, given: Mapping[str, Any], progress) -> Any:
        from motionloom.library.crowd_plan import CrowdPlan

        values = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
            if value is not None or name in ("room", "max_seam")
        }
        if values.get("music") is not None:
            values["music"] = str(values["music"])
        plan = CrowdPlan(kind, values | {"library": str(self.path)}, library=self)
        return plan.run(plan.choreography(progress=progress))

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
        from motionloom.rhythm.given_beats import beats_in
        from motionloom.search.filters import chosen_names

        settings = DanceFloorSettings.from_arguments(locals())
        if label is None and only is None and exclude is None:
            chosen = dance_takes(self.names, self.labels)
        else:
            chosen = chosen_names(self, label=label, only=only, exclude=exclude)
        return dance_floor(
            [self[name] for name in chosen], settings, beats_of=beats_in(self, self.__getitem__)
        )
