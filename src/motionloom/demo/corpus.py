"""The corpus by name: its clips and takes, what is true of them, and writing it all."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from motionloom.demo.body import frame_times, perform
from motionloom.demo.catalogue import CLIPS
from motionloom.demo.curves import on_grid
from motionloom.demo.performers import PERFORMERS
from motionloom.demo.performers import performer as numbered
from motionloom.demo.score import Score
from motionloom.demo.truth import Truth, truth_of
from motionloom.errors import InvalidInput
from motionloom.motion import Motion


@dataclass(frozen=True)
class Performance:
    """A motion of the corpus and the truth about it."""

    name: str
    motion: Motion
    truth: Truth


def names() -> tuple[str, ...]:
    """Names of all clips of the corpus, performer included.

    Examples
    --------
    >>> "walk_slow_p0" in names()
    True
    """
    return tuple(f"{base}_{who.name}" for base in CLIPS for who in PERFORMERS)


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
    if not (np.isfinite(fps) and fps > 0.0):
        raise InvalidInput(f"fps must be positive; got {fps}")
    who = numbered(number)
    full = f"{base}_{who.name}"
    rng = np.random.default_rng([seed, number, zlib.crc32(base.encode())])
    score = Score(who, rng)
    CLIPS[base](score)
    window = score.rows[-1].window or (0.0, score.time)
    start, end = on_grid(window[0]), on_grid(window[1])
    motion = perform(score, fps, start=start, end=end, name=full)
    return Performance(full, motion, truth_of(score, frame_times(start, end, fps), fps))


def clips(seed: int = 0, fps: float = 30.0) -> Iterator[Performance]:
    """All clips of the corpus, one action each, in the order of `names`."""
    for name in names():
        yield performance(name, seed=seed, fps=fps)


def _parse(name: str, performer: int) -> tuple[str, int]:
    """Name without suffix, and performer's number."""
    found = re.fullmatch(r"(.+)_p(\d+)", name)
    base, number = (found[1], int(found[2])) if found else (name, performer)
    if base not in CLIPS:
        raise InvalidInput(
            f"the corpus has no clip called {name!r}; its clips are {', '.join(CLIPS)}"
        )
    return base, number
