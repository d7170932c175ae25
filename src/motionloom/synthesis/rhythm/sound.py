"""Music made audible without instruments: a plain tone for every note, a knock on every beat.

Enough to hear whether a dance is on the beat; it is not meant to be listened to for long.
"""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.synthesis.rhythm.music import AUDIO_SUFFIXES, Music
from motionloom.whole_file import whole_file

RATE = 22050
_KNOCK, _DOWNBEAT, _NOTE = (880.0, 0.06, 0.5), (1320.0, 0.08, 0.8), (330.0, 0.12, 0.12)


def write_sound(music: Music, path: str | Path, *, seconds: float | None = None) -> Path:
    """Write the beats and notes of a piece of music as a WAV file.

    Parameters
    ----------
    music : Music
    path : str or Path
        ``.wav``.
    seconds : float, optional
        How long. Default: as the music is.

    Examples
    --------
    >>> import tempfile
    >>> song = Music(np.array([0.0, 0.5, 1.0]), 2, np.array([0, 2]), 1.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wave.open(str(write_sound(song, f"{folder}/song.wav"))).getnframes() / RATE
    1.5
    """
    length = music.seconds if seconds is None else seconds
    samples = np.zeros(max(round(length * RATE), 1))
    for onset in music.onsets:
        _add(samples, float(onset), *_NOTE)
    down = set(int(k) for k in music.downbeats)
    for number, beat in enumerate(music.beats):
        _add(samples, float(beat), *(_DOWNBEAT if number in down else _KNOCK))
    loud = np.abs(samples).max(initial=0.0)
    data = np.round(samples / max(loud, 1.0) * 30000.0).astype("<i2")
    with whole_file(path) as scratch, wave.open(str(scratch), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(data.tobytes())
    return Path(path)


def audible(music: Music, path: str | Path, seconds: float | None = None) -> Path:
    """The music as a sound file: its own file, or written to `path` where it is a score."""
    if Path(music.path).suffix.lower() in AUDIO_SUFFIXES:
        return Path(music.path)
    return write_sound(music, path, seconds=seconds)


def _add(samples: NDArray[np.float64], start: float, pitch: float, length: float, loud: float):
    """A tone that dies away, added where it belongs."""
    first = round(start * RATE)
    t = np.arange(round(4.0 * length * RATE)) / RATE
    tone = loud * np.sin(2.0 * np.pi * pitch * t) * np.exp(-t / length)
    room = samples[max(first, 0) : first + len(tone)]
    room += tone[max(-first, 0) :][: len(room)]
