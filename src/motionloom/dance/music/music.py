"""Music: beats, bars and length, from MIDI files, audio files or generated tunes."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MotionFormatError

Array = NDArray[np.float64]
Source = Literal["score", "notes"]

MIDI_SUFFIXES = (".mid", ".midi", ".kar", ".smf")
AUDIO_SUFFIXES = (".wav", ".mp3", ".ogg", ".flac", ".aif", ".aiff", ".opus", ".m4a")

_EDGE = 0.5  # seconds


@dataclass(frozen=True, eq=False)
class Music:
    """Beats and bars of a piece of music.

    Attributes
    ----------
    beats : ndarray, shape (K,)
        Times of the beats, seconds, increasing.
    meter : int
        Beats per bar at the start.
    downbeats : ndarray of int
        Indices of the beats that start a bar.
    seconds : float
        Duration.
    onsets : ndarray, shape (N,)
        Times at which notes start, seconds.
    loudness : ndarray, shape (K,)
        Of each beat until the next, 0 to 1; empty: unknown.
    name : str
    path : str
        The file, if there is one.
    """

    beats: Array
    meter: int
    downbeats: NDArray[np.int64]
    seconds: float
    onsets: Array = field(default_factory=lambda: np.zeros(0))
    loudness: Array = field(default_factory=lambda: np.zeros(0), kw_only=True)
    name: str = ""
    path: str = ""

    @property
    def bpm(self) -> float:
        """Median number of beats per minute."""
        return 60.0 / float(np.median(np.diff(self.beats))) if len(self.beats) > 1 else 0.0

    def inner_beats(self, seconds: float) -> Array:
        """Beats at least half a second from both ends of a dance of this length.

        Nearer to the ends, a beat has motion on one side only and cannot be found.
        """
        return self.beats[(self.beats > _EDGE) & (self.beats < seconds - _EDGE)]

    def as_dict(self) -> dict:
        """Plain data, for JSON."""
        return {
            "name": self.name,
            "seconds": self.seconds,
            "bpm": self.bpm,
            "meter": self.meter,
            "beats": [round(float(beat), 5) for beat in self.beats],
            "downbeats": self.downbeats,
        }


def beat_loudness(beats: Array, times: Array, powers: Array) -> Array:
    """Root of the total power of sounds from each beat to the next, relative to the most.

    Examples
    --------
    >>> beat_loudness(np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.2, 1.5]), np.array([2, 2, 1]))
    array([1. , 0.5, 0. ])
    """
    total = np.zeros(len(beats))
    at = np.searchsorted(beats, times, side="right") - 1
    heard = at >= 0
    np.add.at(total, at[heard], np.asarray(powers, np.float64)[heard])
    most = float(total.max()) if len(total) else 0.0
    return np.asarray(np.sqrt(total / most)) if most > 0.0 else total


def beats_met(wanted: Array, found: Array, fps: float) -> int:
    """Number of `wanted` times (K,) with a `found` time (N,) within one frame.

    Examples
    --------
    >>> beats_met(np.array([0.5, 1.0, 1.5]), np.array([0.52, 1.1]), 30.0)
    1
    """
    if not len(wanted) or not len(found):
        return 0
    off = np.abs(found[None] - wanted[:, None]).min(axis=1)
    return int(np.sum(off <= 1.0 / fps + 1e-6))


def load_music(path: str | Path, *, meter: int | None = None, source: Source = "score") -> Music:
    """Read the beats of a MIDI or audio file.

    Parameters
    ----------
    path : str or Path
        ``.mid``; or, with the extra ``audio``, ``.wav``, ``.mp3``, ``.ogg``, ``.flac``.
    meter : int, optional
        Beats per bar. Default: as the file says, or 4.
    source : {"score", "notes"}
        For MIDI: beats from tempos and time signatures, or from note onsets. In recordings
        of live play the tempo is often meaningless; use the notes then.

    Raises
    ------
    MotionFormatError
        If the file is damaged, has no notes, or is longer than two hours.
    MissingExtra
        For audio files, if the extra ``audio`` is not installed.
    """
    path = Path(path)
    if meter is not None and meter < 1:
        raise InvalidInput(f"meter must be at least 1; got {meter}")
    suffix = path.suffix.lower()
    if suffix in MIDI_SUFFIXES:
        from motionloom.dance.music.midi import read_midi

        return read_midi(path, meter=meter, source=source)
    if suffix in AUDIO_SUFFIXES:
        from motionloom.dance.music.audio import read_audio

        return read_audio(path, meter=meter or 4)
    known = ", ".join((*MIDI_SUFFIXES, *AUDIO_SUFFIXES))
    raise MotionFormatError(f"music is read from {known}", path=path)


def tune(
    *,
    bars: int = 16,
    meter: int = 4,
    tempo_bpm: float = 120.0,
    seed: int | np.random.Generator = 0,
) -> Music:
    """A generated tune; parameters as in `motionloom.demo.tunes.write_tune`.

    Examples
    --------
    >>> tune(bars=2, tempo_bpm=120).beats[:3]
    array([0. , 0.5, 1. ])
    """
    from motionloom.demo.tunes import write_tune  # loads the whole corpus

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tune.mid"
        music = load_music(write_tune(path, bars=bars, meter=meter, tempo_bpm=tempo_bpm, seed=seed))
    return replace(music, path="", name=f"tune, {tempo_bpm:g} beats a minute")
