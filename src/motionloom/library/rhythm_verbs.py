"""Verbs of a library for rhythm: motion beats, given beats, choreographies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from motionloom.dance.settings import (
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
    from motionloom.dance.choreography import Choreography
    from motionloom.dance.motion_beats.beats import Beats
    from motionloom.dance.motion_beats.manual_beats import GivenBeats
    from motionloom.dance.music import Music

Names = str | Iterable[str] | None


class RhythmVerbs(Store):
    """Verbs for rhythm: motion beats, given beats, choreographies."""

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
        from motionloom.dance.motion_beats.manual_beats import beats_in

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
        from motionloom.dance.motion_beats.manual_beats import (
            GivenBeats,
            checked_times,
            given_beats,
            save_given_beats,
        )
        from motionloom.library.crowd_plan import expanded

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
        from motionloom.dance.motion_beats.manual_beats import (
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
        from motionloom.dance.motion_beats.manual_beats import rename_given_beats

        with self.change("rename"):
            super().rename(name, new)
            rename_given_beats(self, name, new)

    def given_beats(self) -> dict[str, GivenBeats]:
        """What `set_beats` has kept, by take."""
        from motionloom.dance.motion_beats.manual_beats import given_beats

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
            another foot, or with a jump of the body; see `motionloom.dance.transitions.seams`.
            None: keep all.
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
        from motionloom.dance.choreography import Choreography
        from motionloom.dance.motion_beats.manual_beats import beats_in
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
        from motionloom.dance.choreography_file import load_choreography

        return load_choreography(path, self.__getitem__)

    def save_choreography(self, choreography: Choreography, name: str) -> None:
        """Keep a choreography with the library; its kind is `name` unless it has one."""
        from motionloom.dance.choreography_file import save_choreography

        save_choreography(self, choreography, name)

    def saved_choreography(self, name: str) -> Choreography:
        """A choreography that was kept by `save_choreography`."""
        from motionloom.dance.choreography_file import open_choreography

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
        from motionloom.dance.choreography import for_music
        from motionloom.dance.choreography_file import saved_choreographies
        from motionloom.dance.music import Music, load_music

        known = saved_choreographies(self, self.__getitem__)
        if kind is not None:
            return for_music(known, kind=kind)
        if isinstance(music, Music):
            meter = meter or music.meter
        elif str(music) != TUNE or Path(music).exists():
            meter = load_music(music, meter=meter).meter
        return for_music(known, meter=meter)
