"""The corpus by name: its clips and takes, and what is true of them.

Long takes: many actions in a row, unsegmented, as a capture day would leave them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from motionloom.demo.actions.gait import walk
from motionloom.demo.actions.waltz import waltz
from motionloom.demo.body import frame_times, perform
from motionloom.demo.catalogue import CLIPS, Recipe
from motionloom.demo.curves import on_grid
from motionloom.demo.performers import PERFORMERS
from motionloom.demo.performers import performer as numbered
from motionloom.demo.score import Score
from motionloom.demo.truth import Truth, truth_of
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.segment import positive_rate

_LOCOMOTION = (
    "walk", "jog_left", "step_up_left", "walk_right", "jump_forward", "march", "walk_left_tight",
    "hop_right", "spiral_walk", "jog_right", "jump_turn_left", "walk_fast", "cartwheel_left",
    "sit_stand", "walk_slow",
)  # fmt: skip


def _locomotion(score: Score) -> None:
    _in_a_row(score, _LOCOMOTION)


def _strikes(score: Score) -> None:
    kicks = _some(score, "kick_", 12)
    punches = _some(score, "punch_", 6)
    for k, name in enumerate(kicks):
        _in_a_row(score, [name])
        if k % 2 == 1:
            _in_a_row(score, punches[k // 2 : k // 2 + 1])
        if k % 4 == 3:
            _stroll(score)


def _reaches(score: Score) -> None:
    names = _some(score, "reach_", 16)
    for k in range(0, len(names), 4):
        _stroll(score)
        _in_a_row(score, names[k : k + 4])
    _in_a_row(score, ["sit_stand_low"])


def _dances(score: Score) -> None:
    _stroll(score)
    _in_a_row(score, ["dance_groove"])
    _stroll(score)
    _in_a_row(score, ["dance_sway", "jump_up", "walk_left_tight"])


def _in_a_row(score: Score, names: Sequence[str]) -> None:
    for name in names:
        CLIPS[name](score)
        score.time += score.rng.uniform(0.0, 0.35)


def _some(score: Score, prefix: str, count: int) -> list[str]:
    """`count` different clips whose names start with `prefix`."""
    names = [name for name in CLIPS if name.startswith(prefix)]
    return [names[k] for k in score.rng.permutation(len(names))[:count]]


def _stroll(score: Score) -> None:
    """A few steps along a bend, to the next spot."""
    rng = score.rng
    speed, curvature = rng.uniform(0.9, 1.3), rng.uniform(0.5, 1.0) * rng.choice([-1.0, 1.0])
    walk(
        score, speed=speed, steps=int(rng.integers(4, 8)), curvature=curvature,
        turn=speed * curvature,
    )  # fmt: skip
    score.time += rng.uniform(0.0, 0.3)


TAKES: dict[str, Recipe] = {
    "take_locomotion": _locomotion,
    "take_strikes": _strikes,
    "take_reaches": _reaches,
    "take_dances": _dances,
}


_WALTZ = ("waltz_leader", "waltz_follower")


@dataclass(frozen=True)
class Performance:
    """A motion of the corpus and the truth about it.

    Examples
    --------
    >>> import motionloom as ml
    >>> ml.demo.performance("walk_slow").truth.action
    'walk'
    """

    name: str
    motion: Motion
    truth: Truth


def names() -> tuple[str, ...]:
    """Names of all clips of the corpus, then of all takes, performer included.

    Examples
    --------
    >>> "walk_slow_p0" in names()
    True
    """
    return tuple(f"{base}_{who.name}" for base in _bases() for who in PERFORMERS)


def clip(name: str, performer: int = 0, seed: int = 0, fps: float = 30.0) -> Motion:
    """One motion of the corpus.

    Parameters
    ----------
    name : str
        One of `names`, with or without the performer's suffix: ``"walk"``,
        ``"kick_front_high_right_p1"``.
    performer : int
        Who does it, 0 to 3; a suffix in the name overrules it.
    seed : int
        Same seed, same bytes. Another seed is another try by the same performer: speeds,
        targets and involuntary movements differ a little.
    fps : float
        Frames per second; motions are functions of continuous time.

    Returns
    -------
    motion : Motion

    Examples
    --------
    >>> clip("walk", performer=2)
    Motion('walk_p2', ... frames at 30 fps = ... s, 21 joints)
    """
    return performance(name, performer=performer, seed=seed, fps=fps).motion


def performance(name: str, performer: int = 0, seed: int = 0, fps: float = 30.0) -> Performance:
    """One motion of the corpus together with the truth about it; see `clip`.

    Examples
    --------
    >>> performance("kick_front_high_right").truth.parameters["leg"]
    'right'
    """
    base, number = _parse(name, performer)
    positive_rate(fps)
    if base in _WALTZ:
        return _couple(number, seed, fps, base)[_WALTZ.index(base)]
    who = numbered(number)
    full = f"{base}_{who.name}"
    score = Score(who, _generator(seed, number, base))
    (TAKES | CLIPS)[base](score)
    window = score.rows[-1].window if base in CLIPS else None
    start, end = (on_grid(moment) for moment in window or (0.0, score.time))
    motion = perform(score, fps, start=start, end=end, name=full)
    return Performance(full, motion, truth_of(score, frame_times(start, end, fps), fps))


def couple(performer: int = 0, seed: int = 0, fps: float = 30.0) -> tuple[Performance, Performance]:
    """Leader and follower of a waltz: two motions on one floor and one clock.

    Performers dance in pairs, 0 with 1 and 2 with 3; `performer` is the leader.

    Examples
    --------
    >>> leader, follower = couple()
    >>> leader.name, follower.name, len(leader.motion) == len(follower.motion)
    ('waltz_leader_p0', 'waltz_follower_p1', True)
    """
    return _couple(performer, seed, positive_rate(fps), _WALTZ[0])


def clips(seed: int = 0, fps: float = 30.0) -> Iterator[Performance]:
    """All clips of the corpus, one action each, in the order of `names`.

    Examples
    --------
    >>> import motionloom as ml
    >>> next(iter(ml.demo.clips())).name
    'walk_p0'
    """
    for name in names():
        if not name.startswith("take_"):
            yield performance(name, seed=seed, fps=fps)


def takes(seed: int = 0, fps: float = 30.0) -> Iterator[Performance]:
    """All takes of the corpus, many actions each, in the order of `names`.

    Examples
    --------
    >>> import motionloom as ml
    >>> take = next(iter(ml.demo.takes()))
    >>> len(take.truth.actions) > 1
    True
    """
    for name in names():
        if name.startswith("take_"):
            yield performance(name, seed=seed, fps=fps)


def _bases() -> tuple[str, ...]:
    return (*CLIPS, *_WALTZ, *TAKES)


def _generator(seed: int, number: int, base: str) -> np.random.Generator:
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput(f"seed must be a whole number, zero or more; got {seed!r}")
    return np.random.default_rng([seed, number, zlib.crc32(base.encode())])


def _couple(number: int, seed: int, fps: float, base: str) -> tuple[Performance, Performance]:
    """The couple in which performer `number` dances the part `base`."""
    numbered(number)
    pair = (number, number ^ 1) if base == _WALTZ[0] else (number ^ 1, number)
    dancers = (numbered(pair[0]), numbered(pair[1]))
    rng = _generator(seed, pair[0], "waltz")
    full = [f"{part}_{who.name}" for part, who in zip(_WALTZ, dancers, strict=True)]
    tempo = float(round(87.0 * rng.uniform(0.95, 1.05)))
    made = waltz(dancers[0], dancers[1], rng, fps=fps, tempo_bpm=tempo, names=(full[0], full[1]))
    parts = (
        (full[0], made.leader, made.leader_score, full[1]),
        (full[1], made.follower, made.follower_score, full[0]),
    )
    out = []
    for name, motion, score, partner in parts:
        score.rows[0].parameters["partner"] = partner
        out.append(Performance(name, motion, truth_of(score, made.times, fps)))
    return out[0], out[1]


def _parse(name: str, performer: int) -> tuple[str, int]:
    """Name without suffix, and performer's number."""
    found = re.fullmatch(r"(.+)_p(\d+)", name)
    base, number = (found[1], int(found[2])) if found else (name, performer)
    if base not in _bases():
        raise InvalidInput(
            f"the corpus has no motion called {name!r}; it has {', '.join(_bases())}"
        )
    return base, number
