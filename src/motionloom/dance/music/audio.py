"""Audio: beats of audio files by librosa (extra ``audio``), and WAV files of scores.

A written score has a tone for every note and a click on every beat: enough to hear whether a dance
is on the beat.
"""

from __future__ import annotations

import wave
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.music.music import AUDIO_SUFFIXES, Music
from motionloom.errors import MissingExtra, MotionFormatError
from motionloom.files import atomic_write, check_regular

LONGEST_SECONDS = 10 * 60.0  # that are analysed; the memory grows with them
LARGEST_SOUND = 1 << 29  # bytes of decoded sound: ten minutes in stereo at 96 kHz fit
_RATE = 22_050


def read_audio(path: str | Path, *, meter: int = 4) -> Music:
    """Beats of an audio file; see `motionloom.dance.music.music.load_music`.

    Raises
    ------
    MissingExtra
        If librosa is not installed.
    MotionFormatError
        If the file cannot be read, or no beats are found.
    """
    try:
        import librosa
    except ImportError:
        raise MissingExtra(
            f"{path}: beats of audio files need librosa; install it with "
            "`pip install 'motionloom[audio]'`, or use a MIDI file"
        ) from None
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    _check_size(path)
    try:
        sound, rate = librosa.load(path, sr=_RATE, mono=True, duration=LONGEST_SECONDS)
    except Exception as error:  # libsndfile and audioread raise errors of various types
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise MotionFormatError(f"not a readable audio file ({what})", path=path) from None
    if len(sound) < _RATE or not np.any(np.abs(sound) > 1e-5):
        raise MotionFormatError("it must hold at least one second of sound, not silence", path=path)
    onsets = librosa.onset.onset_detect(y=sound, sr=rate, units="time")
    _, beats = librosa.beat.beat_track(y=sound, sr=rate, units="time")
    if len(beats) < 3:
        raise MotionFormatError("no beats found", path=path)
    return Music(
        beats=np.asarray(beats, dtype=np.float64),
        meter=meter,
        downbeats=np.arange(0, len(beats), meter),
        seconds=len(sound) / rate,
        onsets=np.asarray(onsets, dtype=np.float64),
        loudness=_loudness(np.asarray(sound, np.float64), float(rate), np.asarray(beats)),
        name=path.stem,
        path=str(path),
    )


def _check_size(path: Path) -> None:
    """Raise if a file decodes to far more than music does: a small file may be hours of silence."""
    check_regular(path)
    try:
        found = import_module("soundfile").info(str(path))
    except Exception:  # a format that libsndfile does not know; librosa says what is wrong
        return
    seconds = min(found.frames / max(found.samplerate, 1), LONGEST_SECONDS)
    size = 4.0 * seconds * found.samplerate * found.channels
    if size > LARGEST_SOUND:
        raise MotionFormatError(
            f"expected sound of at most {LARGEST_SOUND >> 20} MB decoded; found "
            f"{size / 2**20:.0f}: {found.channels} channels at {found.samplerate} Hz",
            path=path,
        )


def _loudness(sound: NDArray, rate: float, beats: NDArray) -> NDArray:
    """Root mean square of the sound from each beat to the next, relative to the largest."""
    edges = np.append(np.round(beats * rate).astype(int), len(sound))
    parts = [sound[a:b] for a, b in zip(edges[:-1], edges[1:], strict=True)]
    loud = np.array([np.sqrt(np.mean(part**2)) if len(part) else 0.0 for part in parts])
    return loud / loud.max() if loud.any() else loud


RATE = 22050
_CLICK, _DOWNBEAT, _NOTE = (880.0, 0.06, 0.5), (1320.0, 0.08, 0.8), (330.0, 0.12, 0.12)


def write_sound(music: Music, path: str | Path, *, seconds: float | None = None) -> Path:
    """Write beats and notes of a piece of music as a WAV file.

    Parameters
    ----------
    music : Music
    path : str or Path
        ``.wav``.
    seconds : float, optional
        Length. Default: as the music.

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
        _add(samples, float(beat), *(_DOWNBEAT if number in down else _CLICK))
    loud = np.abs(samples).max(initial=0.0)
    data = np.round(samples / max(loud, 1.0) * 30000.0).astype("<i2")
    with atomic_write(path) as scratch, wave.open(str(scratch), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(data.tobytes())
    return Path(path)


def audible(music: Music, path: str | Path, seconds: float | None = None) -> Path:
    """The music as an audio file: its own file, or written to `path` if it is a score."""
    if Path(music.path).suffix.lower() in AUDIO_SUFFIXES:
        return Path(music.path)
    return write_sound(music, path, seconds=seconds)


def _add(samples: NDArray[np.float64], start: float, pitch: float, length: float, loud: float):
    """Add a decaying tone."""
    first = round(start * RATE)
    t = np.arange(round(4.0 * length * RATE)) / RATE
    tone = loud * np.sin(2.0 * np.pi * pitch * t) * np.exp(-t / length)
    room = samples[max(first, 0) : first + len(tone)]
    room += tone[max(-first, 0) :][: len(room)]
