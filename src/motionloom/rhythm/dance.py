"""From a choreography and a song to a dance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motionloom.blending.player import FrameBlock, frame_count
from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Provenance, Skeleton
from motionloom.motion.provenance import merged
from motionloom.rhythm.beats.motion_beats import beats
from motionloom.rhythm.dance_player import DancePlayer
from motionloom.rhythm.music.beat_clock import MusicClock
from motionloom.rhythm.music.music import Music, beats_met, load_music

if TYPE_CHECKING:
    from motionloom.rhythm.choreography import Choreography

Array = NDArray[np.float64]

_STEERED = 5  # frames between looks at where to go
_LISTENED = 6  # times that a dance is listened to and set right
_SET_RIGHT = 0.2  # beats by which it may be


@dataclass(frozen=True, eq=False)
class Dance:
    """A dance to a piece of music.

    Attributes
    ----------
    motions : tuple of Motion
        One per character, the leader first.
    music : Music
    path : tuple of int
        Nodes of the graph, in the order in which they were danced.
    """

    motions: tuple[Motion, ...]
    music: Music
    path: tuple[int, ...]


def dance(
    choreography: Choreography,
    music: Music | str | Path,
    *,
    seed: int = 0,
    synced: bool = True,
    follow: ArrayLike | None = None,
    seconds: float | None = None,
    skeleton: Skeleton | Sequence[Skeleton] | None = None,
) -> Dance:
    """Dance to a piece of music from its start to its end.

    Parameters
    ----------
    choreography : Choreography
    music : Music, or the path of a MIDI or sound file
    seed : int
        Of the way through the graph; the same with and without `synced`.
    synced : bool
        Movements run with the music. If not, each runs at its own speed.
    follow : array_like, shape (K, 3), optional
        A point that moves: seconds, x, z. The dance goes after it.
    seconds : float, optional
        How long. Default: as the music is.
    skeleton : Skeleton, or one per character, optional
        Who dances. Default: who did.

    Raises
    ------
    InvalidInput
        If the music has too few beats, or `follow` is no path.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.rhythm import choreography
    >>> steps = choreography([ml.demo.clip("dance_groove")], meter=4)
    >>> song = Music(np.arange(0.25, 12.0, 0.5), 4, np.arange(0, 24, 4), 12.0)
    >>> dance(steps, song, seed=1).motions[0]
    Motion('dance', 360 frames at 30 fps = 12.00 s, 21 joints)
    """
    heard = music if isinstance(music, Music) else load_music(music)
    bodies = choreography if skeleton is None else choreography.onto(skeleton)
    path = None if follow is None else _checked_path(follow)
    first = int(heard.downbeats[0]) if len(heard.downbeats) else 0

    def danced(clock: MusicClock | None) -> Dance:
        player = DancePlayer(bodies, clock, seed=seed, first_beat=first)
        frames = frame_count(heard.seconds if seconds is None else seconds, None, player.fps)
        return _danced(player, heard, frames, path)

    clock = MusicClock(heard)
    return _set_right(danced, heard, clock) if synced else danced(None)


def _danced(player: DancePlayer, music: Music, frames: int, path: Array | None) -> Dance:
    """So many frames of a player, after a point if there is a path."""
    ahead = 0.5 * player.choreography.meter * player.choreography.period
    parts: list[tuple[FrameBlock, ...]] = []
    nodes: list[int] = []
    done = 0
    while done < frames:
        if path is not None:
            now = done / player.fps + ahead
            player.steer(target=[np.interp(now, path[:, 0], path[:, c]) for c in (1, 2)])
        size = min(frames - done, 1024 if path is None else _STEERED)
        seen = len(player.path)
        parts.append(player.read_all(size))
        nodes += player.path[seen:]
        done += size
    motions = tuple(
        _motion(number, FrameBlock.joined(body), player)
        for number, body in enumerate(zip(*parts, strict=True))
    )
    return Dance(motions, music, tuple(nodes))


def _set_right(danced: Callable[[MusicClock], Dance], music: Music, clock: MusicClock) -> Dance:
    """A dance whose beats, as they come out, are on the music's.

    Beats of a movement shift a little where it goes on from another one, where feet are held
    and bodies blended. So the dance is listened to, and its clock set right by what is heard.
    """
    made = danced(clock)
    best, most = made, -1
    positions = np.arange(len(music.beats), dtype=np.float64)
    for left in range(_LISTENED, -1, -1):
        found, leader = found_beats(made.motions, music), made.motions[0]
        heard = music.inner_beats(leader.duration)
        on_time = beats_met(heard, found, leader.fps)
        if on_time > most:
            best, most = made, on_time
        if not left or on_time == len(heard) or not len(found):
            break
        positions = _positions(clock, music, found, positions)
        clock = MusicClock(music, positions)
        made = danced(clock)
    return best


def _positions(clock: MusicClock, music: Music, found: Array, positions: Array) -> Array:
    """Where in the dance its beats really are, as near to the counted ones as is decent."""
    gaps = np.gradient(music.beats)
    nearest = found[np.abs(found[None] - music.beats[:, None]).argmin(axis=1)]
    near = np.abs(nearest - music.beats) < 0.3 * gaps
    there = np.where(near, clock.beats_at_times(nearest), positions)
    counted = np.arange(len(music.beats), dtype=np.float64)
    right: Array = counted + np.clip(there - counted, -_SET_RIGHT, _SET_RIGHT)
    return right


def _motion(number: int, played: FrameBlock, player: DancePlayer) -> Motion:
    return Motion(
        player.skeletons[number],
        played.rotations,
        played.root,
        player.fps,
        name="dance" if number == 0 else f"dance {number + 1}",
        provenance=Provenance(merged(played.sources), played.seams),
    )


def beats_on_time(
    motions: Sequence[Motion], music: Music, *, found: Array | None = None
) -> tuple[int, int]:
    """How many of the music's beats the motion has, within one frame: all, and those on time.

    The beats of the motion are found anew, from the motion alone; all that is told is which
    tempos to count in, from three quarters of the music's slowest to four thirds of its
    quickest, for a waltz can as well be counted in bars. The first and last music beats, where
    there is no motion on one side, do not count. `found` are the motion's beats, where
    `found_beats` has found them already.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.rhythm import choreography
    >>> song = Music(np.arange(0.25, 20.0, 0.5), 4, np.arange(0, 40, 4), 20.0)
    >>> made = dance(choreography([ml.demo.clip("dance_groove")], meter=4), song)
    >>> total, within = beats_on_time(made.motions, song)
    >>> total > 30 and within > 0.9 * total
    True
    """
    heard = music.inner_beats(motions[0].duration)
    there = found_beats(motions, music) if found is None else found
    return len(heard), beats_met(heard, there, motions[0].fps)


def found_beats(motions: Sequence[Motion], music: Music) -> Array:
    """Beats of a dance in seconds, found in the motion alone, at tempos near the music's."""
    gaps = np.diff(music.beats)
    tempos = (45.0 / float(np.percentile(gaps, 95)), 80.0 / float(np.percentile(gaps, 5)))
    return beats(list(motions), tempo_bpm=tempos).times


def _checked_path(follow: ArrayLike) -> Array:
    path = np.asarray(follow, np.float64)
    if path.ndim != 2 or path.shape[1] != 3 or not len(path) or not np.all(np.isfinite(path)):
        raise InvalidInput(
            f"a point to follow has rows of seconds, x, z, all finite; got shape {path.shape}"
        )
    if np.any(np.diff(path[:, 0]) < 0.0):
        raise InvalidInput("the seconds of a point to follow must not go back")
    return path
