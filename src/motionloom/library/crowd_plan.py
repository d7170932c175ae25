"""Crowd plans: settings with their defaults, takes, and the choreography learned from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motionloom.crowd.settings import (
    CADENCE,
    DEFAULT_TEMPO,
    SPEED,
    BallroomSettings,
    Formation,
    file_values,
    settings_from,
)
from motionloom.dance.settings import TUNE
from motionloom.errors import InvalidInput
from motionloom.parallel import Progress
from motionloom.store import Store

if TYPE_CHECKING:
    from motionloom.crowd.ballroom import Ballroom
    from motionloom.crowd.march import March
    from motionloom.dance.choreography import Choreography
    from motionloom.motion import Motion


class CrowdPlan:
    """A plan for synthesizing a crowd. Call `takes`, `choreography` and `run`, in this order.

    Parameters
    ----------
    kind : {"ballroom", "march"}
    given : mapping
        Settings by name; a field of a group may be set by its name alone. Other settings come
        from the description, or keep their defaults.
    description : Path, optional
        A crowd description: a TOML or JSON file of settings.
    library : Store, optional
        Library with the takes. Default: the library named in the settings.
    read : callable, optional
        Function that reads a take from a file. Default: `motionloom.load`.

    Examples
    --------
    >>> plan = CrowdPlan("ballroom", {"couples": 2, "seconds": 3.0})
    >>> len(plan.run(plan.choreography()).motions)
    2
    """

    def __init__(
        self,
        kind: str,
        given: Mapping[str, Any],
        description: Path | None = None,
        *,
        library: Store | None = None,
        read: Callable[[str], Motion] | None = None,
    ) -> None:
        self.kind, self._described, self._library = kind, description is not None, library
        self._read = read or _read
        self.given = _merged(kind, given, description)
        defaults = {} if self._described else _defaults(kind, self.given)
        # Any: BallroomSettings or MarchSettings, depending on the kind.
        self.settings: Any = settings_from(kind, defaults | self.given, description)
        self.names = list(self.settings.movements.takes)
        if self.settings.movements.library is not None:
            self._look_up()

    def takes(self) -> list[Any]:
        """Return the takes to learn from (couples for a ballroom); empty for built-in takes."""
        if not self.settings.has_takes:
            return []
        return self._couples() if self.kind == "ballroom" else self._walks()

    def choreography(
        self,
        takes: Sequence[Any] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Choreography:
        """Return the choreography learned from the takes, or the built-in waltz or march."""
        settings, movements = self.settings, self.settings.movements
        graph: dict[str, Any] = {
            "graph": movements.graph,
            "transition_phase": movements.transition_phase,
        }
        if movements.groups is not None:
            graph["groups"] = movements.groups
        if not self.settings.has_takes:
            from motionloom.crowd.built_in import march_steps, waltz_steps

            steps = waltz_steps if self.kind == "ballroom" else march_steps
            made = steps(settings.fps, **graph)
            return made.with_smooth_transitions(movements.max_seam)
        takes = self.takes() if takes is None else takes
        graph["max_seam"] = movements.max_seam
        if self.kind == "ballroom":
            from motionloom.crowd.couples import couple_steps

            graph["align"] = movements.align
            if self._library is not None:
                from motionloom.dance.motion_beats.manual_beats import beats_in

                graph["beats_of"] = beats_in(self._library, self._motion)
            return couple_steps(
                takes, fps=settings.fps, meter=movements.meter, progress=progress, **graph
            )
        from motionloom.crowd.strides import marching_steps

        return marching_steps(takes, fps=settings.fps, progress=progress, **graph)

    def fitted(self, choreography: Choreography) -> Any:
        """Return the settings, with tempo, radius, speed and street adapted to the takes."""
        settings = self.settings
        if self.settings.has_takes and not (self._described or self.given.keys() & _MUSIC):
            tempo = min(max(float(round(60.0 / choreography.period)), 40.0), 240.0)
            settings = replace(settings, tempo_bpm=tempo)
        if isinstance(settings, BallroomSettings):
            from motionloom.crowd.ballroom import fitted_ballroom

            return fitted_ballroom(settings, choreography)
        from motionloom.crowd.march import fitted_march

        return fitted_march(
            settings,
            choreography,
            fit_speed=_speed_is_free(self.given),
            fit_street=not self._described and "points" not in self.given,
        )

    def run(
        self, choreography: Choreography, *, progress: Progress | None = None
    ) -> Ballroom | March:
        """Synthesize the crowd; `progress` counts hundredths, 100 in total."""
        settings = self.fitted(choreography)
        if isinstance(settings, BallroomSettings):
            from motionloom.crowd.ballroom import ballroom

            return ballroom(settings, choreography, progress=progress)
        from motionloom.crowd.march import march

        return march(settings, choreography, progress=progress)

    def _look_up(self) -> None:
        """Find the library takes that the names and labels select."""
        if self._library is None:
            self._library = Store(self.settings.movements.library or "")
        if not len(self._library):
            raise InvalidInput(f"{self._library.path}: the library is empty; import motions first")
        from motionloom.search.filters import expanded, labeled

        candidates = list(self._library.names)
        if self.settings.movements.label:
            labels = self.settings.movements.label
            labeled_takes = {n for label in labels for n in labeled(self._library, label)}
            candidates = [name for name in candidates if name in labeled_takes]
        named = (
            name for text in self.settings.movements.takes for name in expanded(text, candidates)
        )
        self.names = list(dict.fromkeys(named)) if self.settings.movements.takes else candidates

    def _motion(self, name: str) -> Motion:
        """Load a take, or a segment of one, by name or from a file."""
        if self._library is None:
            return self._read(name)
        from motionloom.motion.segment import Segment, split_segment

        motion = self._library[split_segment(name)[0]]
        return Segment.parse(name, motion).cut(motion)

    def _couples(self) -> list[tuple[Motion, Motion]]:
        from motionloom.crowd.couples import guessed_couples

        named = [_partners(text) for text in self.names]
        alone = [names[0] for names in named if len(names) == 1]
        couples = [
            (self._motion(names[0]), self._motion(names[1])) for names in named if len(names) == 2
        ]
        if alone or not couples:
            among = f"{len(alone)} take{'s' * (len(alone) != 1)}"
            couples += guessed_couples(alone, self._motion, among=among)
        return couples

    def _walks(self) -> list[Motion]:
        from motionloom.crowd.strides import METER

        if self.settings.movements.meter not in (None, METER):
            raise InvalidInput(
                f"the meter of a march must be {METER} beats, one stride; got "
                f"{self.settings.movements.meter}"
            )
        for name in self.names:
            if "+" in name:
                raise InvalidInput(
                    f"each soldier needs a single take, but {name!r} names several takes"
                )
        return [self._motion(name) for name in self.names]


_MUSIC = {"music", "tempo_bpm"}


def _merged(kind: str, given: Mapping[str, Any], path: Path | None) -> dict[str, Any]:
    """Return the settings from a crowd description, overridden by the settings in `given`."""
    values = {} if path is None else file_values(path)
    if values.pop("kind", kind) != kind:
        raise InvalidInput(f"{path}: does not describe a {kind}")
    if given.get("library") is not None:
        values.pop("takes", None)
    if "music" in given and "tempo_bpm" not in given:
        values.pop("tempo_bpm", None)
    if "tempo_bpm" in given and "music" not in given and values.get("music") != TUNE:
        values.pop("music", None)
    return values | dict(given)


def _defaults(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the default settings of a ballroom or march."""
    if kind == "ballroom":
        defaults: dict[str, Any] = {"tempo_bpm": DEFAULT_TEMPO}
    else:
        defaults = {"tempo_bpm": CADENCE}
        if _speed_is_free(given):
            defaults["speed"] = SPEED * (given.get("tempo_bpm") or CADENCE) / CADENCE
    if "music" in given:
        defaults.pop("tempo_bpm")
    return defaults


def _speed_is_free(given: Mapping[str, Any]) -> bool:
    """Return whether the speed of a march is unset, both directly and in its formation."""
    return "speed" not in given and given.get("formation", Formation()).speed is None


def _partners(text: str) -> list[str]:
    names = [name.strip() for name in text.split("+")]
    if len(names) > 2 or not all(names):
        raise InvalidInput(f"a couple must be written LEADER+FOLLOWER; got {text!r}")
    return names


def _read(text: str) -> Motion:
    from motionloom.formats import load

    return load(text)
