"""Beats and partners set by hand, which are stored in a library and override detected beats."""

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
    """Beat settings for a take that were entered by hand.

    Attributes
    ----------
    bpm : float, optional
        Tempo in beats per minute.
    first_beat : float, optional
        Time of the first beat, in seconds.
    partners : tuple of str
        Names of other takes of the same performance. The beats of all are detected together.
    times : tuple of float
        Times of the beats in seconds, increasing. They replace detected beats.
    """

    bpm: float | None = None
    first_beat: float | None = None
    partners: tuple[str, ...] = ()
    times: tuple[float, ...] = ()


def given_beats(library: Store) -> dict[str, GivenBeats]:
    """Return the beats set by hand in a library, as a dict with take names as keys.

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
    takes = library.artifacts.about(KIND, _NAME).get("takes")
    if not isinstance(takes, dict):
        raise LibraryError(f"{library.path}: the saved beats are damaged; set them again")
    return {name: _read(library, name, row) for name, row in takes.items()}


def _read(library: Store, name: str, row: Any) -> GivenBeats:
    """Return the stored beats of a take; raise `LibraryError` if they are invalid."""
    try:
        numbers = (row.get("bpm"), row.get("first_beat"))
        if not all(isinstance(number, int | float | None) for number in numbers):
            raise TypeError(f"expected numbers, got {numbers}")
        BeatSettings(bpm=numbers[0], first_beat=numbers[1])  # raises if the values are invalid
        times, partners = row.get("times", ()), tuple(row.get("partners", ()))
        if not all(isinstance(partner, str) for partner in partners):
            raise TypeError("a partner is not a name")
        beats = checked_times(times, math.inf) if len(times) else ()
        return GivenBeats(*numbers, partners, beats)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise LibraryError(
            f"{library.path}: the saved beats of {name} are damaged: {error}"
        ) from None


def save_given_beats(library: Store, given: Mapping[str, GivenBeats]) -> None:
    """Save beats set by hand in the library, replacing all beats saved before."""
    takes = {name: asdict(entry) for name, entry in sorted(given.items())}
    library.artifacts.save(KIND, _NAME, {"takes": takes})


def rename_given_beats(library: Store, name: str, new: str) -> None:
    """Update beats set by hand after a take was renamed, including lists of partners."""
    given = given_beats(library)
    if name not in given and not any(name in entry.partners for entry in given.values()):
        return
    save_given_beats(
        library,
        {
            new if take == name else take: replace(
                entry, partners=tuple(new if other == name else other for other in entry.partners)
            )
            for take, entry in given.items()
        },
    )


def checked_times(times: Iterable[float], seconds: float) -> tuple[float, ...]:
    """Check that beats set by hand are at least two, increase, and lie within the motion.

    Raises
    ------
    InvalidInput
        If the beats are invalid.

    Examples
    --------
    >>> checked_times([0.5, 1.0, 1.6], 2.0)
    (0.5, 1.0, 1.6)
    """
    given = tuple(float(time) for time in times)
    if len(given) < 2 or not all(math.isfinite(time) for time in given):
        raise InvalidInput(f"beats must be at least two finite times in seconds; got {list(given)}")
    if any(b - a < SHORTEST_GAP for a, b in pairwise(given)):
        raise InvalidInput(
            f"beats must be in increasing order and at least {SHORTEST_GAP:g} s apart; "
            f"got {list(given)}"
        )
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
    """Move, add and remove beats. Numbers start at 0 and refer to the beats before the change.

    Examples
    --------
    >>> edited_times([0.5, 1.0, 1.5], move={1: 1.1}, add=[2.0], remove=[0])
    (1.1, 1.5, 2.0)
    """
    move, left_out = dict(move or {}), set(remove)
    for number in sorted({*move, *left_out}):
        if not 0 <= number < len(times):
            raise InvalidInput(f"beat number must be 0 to {len(times) - 1}; got {number}")
    kept = [
        float(move.get(number, time)) for number, time in enumerate(times) if number not in left_out
    ]
    return tuple(sorted([*kept, *(float(time) for time in add)]))


def with_times(beats: Beats, times: Sequence[float]) -> Beats:
    """Return beats with other times; period and phase are computed from the new times."""
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
    """Return a function that finds beats and uses those set by hand; `take` loads a take."""
    given = given_beats(library)

    def beats_of(motions: Sequence[Motion], settings: BeatSettings) -> Beats:
        names = [motion.name for motion in motions]
        manual = given.get(names[0]) if names else None
        if manual is None:
            return analyze_beats(motions, settings)
        if settings.bpm is None:
            settings = replace(settings, bpm=manual.bpm)
        if settings.first_beat is None:
            settings = replace(settings, first_beat=manual.first_beat)
        others = [take(name) for name in manual.partners if name not in names and name in library]
        detected = analyze_beats([*motions, *others], settings)
        # Partners help to find the beats, but only landings of the requested motions count.
        feet = detected.candidates.feet[: len(motions)]
        detected = replace(detected, candidates=replace(detected.candidates, feet=feet))
        is_own = settings.bpm in (None, manual.bpm) and settings.first_beat in (
            None,
            manual.first_beat,
        )
        return with_times(detected, manual.times) if manual.times and is_own else detected

    return beats_of
