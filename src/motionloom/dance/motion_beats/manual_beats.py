"""Beats that were given by hand, and partners: kept with a library and used by all its verbs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from motionloom.dance.motion_beats.beats import Beats, analyze_beats
from motionloom.dance.settings import BeatSettings
from motionloom.errors import InvalidInput, LibraryError
from motionloom.motion import Motion
from motionloom.store.store import Store

KIND, _NAME = "beats", "given"
SHORTEST_GAP = 0.05  # seconds between two beats

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
    times : tuple of float
        The beats themselves, seconds, rising; they replace those that would be found.
    """

    bpm: float | None = None
    first_beat: float | None = None
    partners: tuple[str, ...] = ()
    times: tuple[float, ...] = ()


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
        name: GivenBeats(
            one.get("bpm"),
            one.get("first_beat"),
            tuple(one.get("partners", ())),
            _read_times(library, name, one.get("times", ())),
        )
        for name, one in data.items()
    }


def _read_times(library: Store, name: str, times: Any) -> tuple[float, ...]:
    """Times of beats as stored; raises `LibraryError` if they are none."""
    try:
        return checked_times(times, math.inf) if len(times) else ()
    except (InvalidInput, TypeError, ValueError) as error:
        raise LibraryError(f"{library.path}: kept beats of {name} are damaged: {error}") from None


def save_given_beats(library: Store, given: Mapping[str, GivenBeats]) -> None:
    """Keep what is known about beats with the library; it replaces what was known."""
    takes = {name: asdict(one) for name, one in sorted(given.items())}
    library.artifacts.save(KIND, _NAME, {"takes": takes})


def rename_given_beats(library: Store, name: str, new: str) -> None:
    """Keep what is known about the beats of a take under its new name, also as a partner."""
    given = given_beats(library)
    if name not in given and not any(name in one.partners for one in given.values()):
        return
    save_given_beats(
        library,
        {
            new if take == name else take: replace(
                one, partners=tuple(new if other == name else other for other in one.partners)
            )
            for take, one in given.items()
        },
    )


def checked_times(times: Iterable[float], seconds: float) -> tuple[float, ...]:
    """Beats given by hand: at least two, rising, within a motion of this length.

    Raises
    ------
    InvalidInput
        If they are not.

    Examples
    --------
    >>> checked_times([0.5, 1.0, 1.6], 2.0)
    (0.5, 1.0, 1.6)
    """
    given = tuple(float(time) for time in times)
    if len(given) < 2 or not all(math.isfinite(time) for time in given):
        raise InvalidInput(f"beats must be at least two times in seconds; got {list(given)}")
    if any(b - a < SHORTEST_GAP for a, b in pairwise(given)):
        raise InvalidInput(f"beats must rise by at least {SHORTEST_GAP:g} s; got {list(given)}")
    if given[0] < 0.0 or given[-1] > seconds + 1e-6:
        raise InvalidInput(
            f"beats must lie within the {seconds:.2f} s of the motion; "
            f"got {given[0]:g} to {given[-1]:g}"
        )
    return given


def edited_times(
    times: Sequence[float],
    *,
    move: Mapping[int, float] | None = None,
    add: Iterable[float] = (),
    remove: Iterable[int] = (),
) -> tuple[float, ...]:
    """Beats with some moved, added and removed; beats are counted from 0, before the change.

    Examples
    --------
    >>> edited_times([0.5, 1.0, 1.5], move={1: 1.1}, add=[2.0], remove=[0])
    (1.1, 1.5, 2.0)
    """
    move, left_out = dict(move or {}), set(remove)
    for number in sorted({*move, *left_out}):
        if not 0 <= number < len(times):
            raise InvalidInput(f"beat must be 0 to {len(times) - 1}; got {number}")
    kept = [
        float(move.get(number, time)) for number, time in enumerate(times) if number not in left_out
    ]
    return tuple(sorted([*kept, *(float(time) for time in add)]))


def with_times(beats: Beats, times: Sequence[float]) -> Beats:
    """Beats with other times, given by hand: period and phase are those of the times."""
    given = np.array(times, np.float64)
    period = float(np.median(np.diff(given)))
    turn = np.angle(np.sum(np.exp(2j * np.pi * given / period)))
    return replace(
        beats,
        times=given,
        reference=given,
        period=period,
        phase=float((turn / (2.0 * np.pi) * period) % period),
        confidence=1.0,
        given=True,
    )


def beats_in(library: Store, take: Callable[[str], Motion]) -> BeatsOf:
    """Analysis of beats that uses what the library knows; `take` gives the motion of a name."""
    given = given_beats(library)

    def beats_of(motions: Sequence[Motion], settings: BeatSettings) -> Beats:
        names = [motion.name for motion in motions]
        known = given.get(names[0]) if names else None
        if known is None:
            return analyze_beats(motions, settings)
        if settings.bpm is None:
            settings = replace(settings, bpm=known.bpm)
        if settings.first_beat is None:
            settings = replace(settings, first_beat=known.first_beat)
        others = [take(name) for name in known.partners if name not in names and name in library]
        found = analyze_beats([*motions, *others], settings)
        # The landings that count are those of the motions that were asked about.
        feet = found.candidates.feet[: len(motions)]
        found = replace(found, candidates=replace(found.candidates, feet=feet))
        is_own = settings.bpm in (None, known.bpm) and settings.first_beat in (
            None,
            known.first_beat,
        )
        return with_times(found, known.times) if known.times and is_own else found

    return beats_of
