"""Beat clocks, which convert the frames of a dance to positions in beats.

Position 12.5 is halfway between beat 12 and beat 13. The clock determines how fast movements play,
so that their beats match those of the music at any tempo.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from motionloom.alignment import Timewarp
from motionloom.dance.music import Music
from motionloom.errors import InvalidInput

Array = NDArray[np.float64]

_SLOWEST, _FASTEST = 20.0, 400.0  # beats per minute
_SETTLE = 0.5  # seconds in which most of a tempo change happens


class BeatClock(Protocol):
    """Protocol for clocks that convert consecutive frames to positions in beats."""

    def beats_at(self, first_frame: int, count: int, fps: float) -> Array:
        """Return increasing positions (count,) in beats of `count` frames from `first_frame`."""

    def period_at(self, seconds: float) -> float:
        """Return the length of a beat at a time, in seconds."""


class MusicClock:
    """Beat clock that follows a piece of music.

    Time is smooth between beats (a `motionloom.alignment.Timewarp`), even where the tempo changes.
    Before the first and after the last beat, the tempo is constant.

    Parameters
    ----------
    music : Music
    positions : ndarray, shape (K,), optional
        Positions of the dance, in beats, at the K beats of the music. Default: 0, 1, 2, ...

    Examples
    --------
    >>> song = Music(np.array([0.5, 1.0, 1.5, 2.5]), 4, np.array([0]), 3.0)
    >>> MusicClock(song).beats_at(0, 4, 2.0).round(3)
    array([-1.,  0.,  1.,  2.])
    """

    def __init__(self, music: Music, positions: Array | None = None) -> None:
        if len(music.beats) < 2:
            raise InvalidInput(
                f"{music.name or 'the music'} must have at least two beats; got {len(music.beats)}"
            )
        beats = np.asarray(music.beats, np.float64)
        gaps = np.diff(beats)
        # An extra beat at either end keeps the tempo constant there.
        times = np.concatenate([[beats[0] - gaps[0]], beats, [beats[-1] + gaps[-1]]])
        places = np.arange(len(beats), dtype=np.float64) if positions is None else positions
        self._warp = Timewarp(times, np.concatenate([[places[0] - 1], places, [places[-1] + 1]]))

    def beats_at(self, first_frame: int, count: int, fps: float) -> Array:
        """Return the positions (count,) in beats of the `count` frames from `first_frame`."""
        return self.beats_at_times((first_frame + np.arange(count)) / fps)

    def beats_at_times(self, seconds: Array) -> Array:
        """Convert times in seconds to positions in beats."""
        return np.asarray(self._warp(seconds))

    def period_at(self, seconds: float) -> float:
        """Return the length of a beat in seconds, averaged over the second after `seconds`."""
        first, last = self.beats_at_times(np.array([seconds, seconds + 1.0]))
        return float(1.0 / max(last - first, 1e-9))


class TempoClock:
    """Beat clock with an adjustable tempo.

    Parameters
    ----------
    bpm : float
        Beats per minute.

    Examples
    --------
    >>> clock = TempoClock(120.0)
    >>> clock.beats_at(0, 4, 30.0).round(4)
    array([0.    , 0.0667, 0.1333, 0.2   ])
    """

    def __init__(self, bpm: float) -> None:
        self._wanted = self._bpm = _checked_tempo(bpm)
        self._position = 0.0
        self._next_frame = 0

    def set_tempo(self, bpm: float) -> None:
        """Change the tempo smoothly, starting with the next frame."""
        self._wanted = _checked_tempo(bpm)

    def beats_at(self, first_frame: int, count: int, fps: float) -> Array:
        """Return the positions (count,) in beats of the `count` frames from `first_frame`."""
        if first_frame != self._next_frame:
            raise InvalidInput(
                f"a tempo clock must be read in order; expected frame {self._next_frame}, "
                f"got {first_frame}"
            )
        steps = np.arange(count + 1)
        share = np.exp(-4.0 * steps / (_SETTLE * fps))
        tempo = self._wanted + (self._bpm - self._wanted) * share
        positions = self._position + np.concatenate([[0.0], np.cumsum(tempo[:-1])]) / (60.0 * fps)
        self._position, self._bpm = float(positions[-1]), float(tempo[-1])
        self._next_frame += count
        return positions[:-1]

    def period_at(self, seconds: float) -> float:
        """Return the length of a beat at the current tempo, in seconds."""
        return 60.0 / self._wanted


def _checked_tempo(bpm: float) -> float:
    try:
        tempo = float(bpm)
    except (TypeError, ValueError):
        tempo = np.nan
    if not _SLOWEST <= tempo <= _FASTEST:
        raise InvalidInput(
            f"tempo must be {_SLOWEST:g} to {_FASTEST:g} beats per minute; got {bpm}"
        )
    return tempo
