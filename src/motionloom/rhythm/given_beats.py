"""Beats that were given by hand, and partners: kept with a library and used by all its verbs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from motionloom.motion import Motion
from motionloom.rhythm.motion_beats.beats import Beats, analyse_beats
from motionloom.rhythm.settings import BeatSettings
from motionloom.store.store import Store

KIND, _NAME = "beats", "given"

BeatsOf = Callable[[Sequence[Motion], BeatSettings], Beats]


@dataclass(frozen=True)
class GivenBeats:
    """What is known about the beats of a take.

    Attributes
    ----------
    bpm : float, optional
        Tempo, beats per minute.
    first_beat : float, optional
        Time of the first beat, seconds.
    partners : tuple of str
        Other takes of the same performance, with which its beats are found together.
    """

    bpm: float | None = None
    first_beat: float | None = None
    partners: tuple[str, ...] = ()


def given_beats(library: Store) -> dict[str, GivenBeats]:
    """What a library knows about the beats of its takes, by name.

    Examples
    --------
    >>> import tempfile, motionloom as ml
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
    >>> save_given_beats(lib, {"groove": GivenBeats(bpm=96.0)})
    >>> given_beats(lib)["groove"].bpm
    96.0
    """
    if _NAME not in library.artifacts.names(KIND):
        return {}
    data: Mapping[str, Any] = library.artifacts.about(KIND, _NAME)["takes"]
    return {
        name: GivenBeats(one.get("bpm"), one.get("first_beat"), tuple(one.get("partners", ())))
        for name, one in data.items()
    }


def save_given_beats(library: Store, given: Mapping[str, GivenBeats]) -> None:
    """Keep what is known about beats with the library; it replaces what was known."""
    takes = {name: asdict(one) for name, one in sorted(given.items())}
    library.artifacts.save(KIND, _NAME, {"takes": takes})


def beats_in(library: Store, take: Callable[[str], Motion]) -> BeatsOf:
    """Analysis of beats that uses what the library knows; `take` gives the motion of a name."""
    given = given_beats(library)

    def beats_of(motions: Sequence[Motion], settings: BeatSettings) -> Beats:
        names = [motion.name for motion in motions]
        known = given.get(names[0]) if names else None
        if known is None:
            return analyse_beats(motions, settings)
        if settings.bpm is None:
            settings = replace(settings, bpm=known.bpm)
        if settings.first_beat is None:
            settings = replace(settings, first_beat=known.first_beat)
        others = [take(name) for name in known.partners if name not in names and name in library]
        found = analyse_beats([*motions, *others], settings)
        # The landings that count are those of the motions that were asked about.
        feet = found.candidates.feet[: len(motions)]
        return replace(found, candidates=replace(found.candidates, feet=feet))

    return beats_of
