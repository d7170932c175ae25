"""Library methods for choreographies and crowds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motionloom.crowd.settings import BallroomSettings, DanceFloorSettings, MarchSettings
from motionloom.dance.settings import BeatSettings, ChoreographySettings
from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.quality import reasons_text
from motionloom.settings import motion_choice, takes

if TYPE_CHECKING:
    from motionloom.crowd.ballroom import Ballroom
    from motionloom.crowd.dance_floor import DanceFloor
    from motionloom.crowd.march import March
    from motionloom.dance.choreography import Choreography
    from motionloom.store import Store


class DanceVerbs:
    """Library methods for choreographies and crowds."""

    store: Store

    @takes(ChoreographySettings)
    def choreography(
        self,
        settings: ChoreographySettings | None = None,
        *,
        takes: Iterable[str | Sequence[str]] | None = None,
        progress: Callable[[int], None] | None = None,
        **options: Any,
    ) -> Choreography:
        """Cut takes into movements at their beats, and learn which movements can follow each other.

        Parameters
        ----------
        settings : ChoreographySettings, optional
        takes : names, optional
            Names of takes, with the same syntax as `only`: ``*`` stands for any text, and ``+`` or
            an inner list joins takes that were danced together (``"60_*+61_*"``). Default: all
            rhythmic takes that `label`, `only` and `exclude` select.
        progress : callable, optional
            Called with 1 after each take has been analyzed.

        Returns
        -------
        choreography : Choreography
            The choreography's ``movements`` and ``graph``; its ``dance`` method sets it to music,
            and ``save`` writes a file.

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
        from motionloom.dance.motion_beats.stored_rhythms import keeping_rhythms
        from motionloom.search.filters import chosen_together

        given = ChoreographySettings.given(settings, options)
        store = self.store
        together = list(chosen_together(store, takes, **motion_choice(given)))
        skipped = self._without_rhythm(together, given)
        if skipped and len(skipped) == len(together):
            raise InvalidInput(f"no take has a rhythm ({reasons_text(skipped)})")
        if progress is not None and skipped:
            progress(len(skipped))
        danced = [
            store[names[0]] if len(names) == 1 else [store[name] for name in names]
            for names in together
            if len(names) > 1 or names[0] not in skipped
        ]
        with keeping_rhythms(store, beats_in(store, store.__getitem__)) as beats_of:
            made = Choreography.from_takes(danced, given, beats_of=beats_of, progress=progress)
        return replace(made, left_out={**skipped, **made.left_out}) if skipped else made

    def _without_rhythm(
        self, together: Sequence[Sequence[str]], settings: ChoreographySettings
    ) -> dict[str, str]:
        """Return the single takes that are known to have no rhythm, each with the reason."""
        from motionloom.dance.motion_beats.stored_rhythms import known_rhythms

        if settings.beats != BeatSettings():
            return {}
        alone = [names[0] for names in together if len(names) == 1]
        rhythms = known_rhythms(self.store, alone)
        reasons = {n: r.skipped(settings.movements.min_confidence) for n, r in rhythms.items()}
        return {name: reason for name, reason in reasons.items() if reason}

    @takes(BallroomSettings)
    def ballroom(
        self, *, progress: Callable[[int], None] | None = None, **options: Any
    ) -> Ballroom:
        """Let couples from this library dance around a room to music, without colliding.

        Parameters
        ----------
        progress : callable, optional
            Called with 1 after each couple has been analyzed.

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
        return self._crowd("ballroom", options, progress)

    @takes(MarchSettings)
    def march(self, *, progress: Callable[[int], None] | None = None, **options: Any) -> March:
        """Let soldiers march in step and in formation along a street, with this library's strides.

        Parameters
        ----------
        progress : callable, optional
            Called with 1 after each walk has been analyzed.

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> for seed in (0, 1):
        ...     lib.add_motion(ml.demo.clip("walk", seed=seed), name=f"walk_{seed}")
        >>> parade = lib.march(formation=ml.Formation(ranks=2, files=2), seconds=3)
        >>> len(parade.scene), parade.left_feet_in_step() > 0.9
        (4, True)
        """
        return self._crowd("march", options, progress)

    @takes(DanceFloorSettings)
    def dance_floor(self, settings: DanceFloorSettings | None = None, **options: Any) -> DanceFloor:
        """Let characters dance next to each other in random order, without colliding.

        Without `label`, `only` or `exclude`, it uses the motions with a label that begins with
        ``dance``, or all motions if there are none.

        Parameters
        ----------
        settings : DanceFloorSettings, optional

        Examples
        --------
        >>> import motionloom as ml, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
        >>> lib.add_motion(ml.demo.clip("dance_groove"))
        >>> floor = lib.dance_floor(count=2, seconds=3)
        >>> floor.scene.names
        ('dancer_1', 'dancer_2')
        """
        from motionloom.crowd.dance_floor import dance_floor, dance_takes
        from motionloom.dance.motion_beats.manual_beats import beats_in
        from motionloom.search.filters import chosen_names

        given = DanceFloorSettings.given(settings, options)
        store, choice = self.store, motion_choice(given)
        if any(value is not None for value in choice.values()):
            names = chosen_names(store, **choice)
        else:
            names = dance_takes(store.names, store.labels)
        motions = [store[name] for name in names]
        return dance_floor(motions, given, beats_of=beats_in(store, store.__getitem__))

    def _crowd(self, kind: str, options: dict[str, Any], progress: Any) -> Any:
        """Synthesize a crowd; unset options are chosen to suit the takes."""
        from motionloom.library.crowd_plan import CrowdPlan

        given = {name: value for name, value in options.items() if value is not None}
        if isinstance(given.get("music"), Path):
            given["music"] = str(given["music"])
        given["library"] = str(self.store.path)
        plan = CrowdPlan(kind, given, library=self.store)
        return plan.run(plan.choreography(progress=progress))
