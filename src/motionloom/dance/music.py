"""Read music: beats, bars and duration of MIDI files, audio files or generated tunes.

librosa (extra ``audio``) detects the beats of audio files. Music without sound, such as a score,
is written as a WAV file with a tone for every note and a click on every beat, so that you can hear
whether a dance is on the beat.
"""

from __future__ import annotations

import tempfile
import wave
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MissingExtra, MotionFormatError
from motionloom.files import atomic_write, check_regular

Array = NDArray[np.float64]
Source = Literal["score", "notes"]

MIDI_SUFFIXES = (".mid", ".midi", ".kar", ".smf")
AUDIO_SUFFIXES = (".wav", ".mp3", ".ogg", ".flac", ".aif", ".aiff", ".opus", ".m4a")

LONGEST_SECONDS = 10 * 60.0  # maximum length of analyzed audio in seconds; limits memory
LARGEST_SOUND = 1 << 29  # maximum bytes of decoded sound: ten minutes in stereo at 96 kHz
RATE = 22_050  # samples per second of audio, both read and written

_BLOCK = 60 * RATE  # samples written at a time; limits memory
_MANY = 500  # tones of a kind in a block, above which a convolution is faster
_EDGE = 0.5  # seconds
# Frequency, decay in seconds and loudness of the sounds of a score.
_CLICK, _DOWNBEAT, _NOTE = (880.0, 0.06, 0.5), (1320.0, 0.08, 0.8), (330.0, 0.12, 0.12)


@dataclass(frozen=True, eq=False)
class Music:
    """Beats and bars of a piece of music.

    Attributes
    ----------
    beats : ndarray, shape (K,)
        Increasing times of the beats, in seconds.
    meter : int
        Beats per bar at the start.
    downbeats : ndarray of int
        Indices of the beats that start a bar.
    seconds : float
        Duration.
    onsets : ndarray, shape (N,)
        Times at which notes start, in seconds.
    loudness : ndarray, shape (K,)
        Loudness from each beat to the next, 0 to 1; empty if unknown.
    notes : ndarray, shape (M, 4)
        Start and length in seconds, MIDI pitch (0 for drums) and loudness, 0 to 1, of the notes of
        a score; empty for audio.
    name : str
    path : str
        Path of the file, if there is one.
    """

    beats: Array
    meter: int
    downbeats: NDArray[np.int64]
    seconds: float
    onsets: Array = field(default_factory=lambda: np.zeros(0))
    loudness: Array = field(default_factory=lambda: np.zeros(0), kw_only=True)
    notes: Array = field(default_factory=lambda: np.zeros((0, 4)), kw_only=True)
    name: str = ""
    path: str = ""

    @property
    def bpm(self) -> float:
        """Median number of beats per minute."""
        return 60.0 / float(np.median(np.diff(self.beats))) if len(self.beats) > 1 else 0.0

    def inner_beats(self, seconds: float) -> Array:
        """Return the beats that are at least half a second from both ends of a dance of `seconds`.

        Closer to the ends, a beat has motion on one side only and cannot be detected.
        """
        return self.beats[(self.beats > _EDGE) & (self.beats < seconds - _EDGE)]

    def as_dict(self) -> dict:
        """Return plain data for JSON."""
        return {
            "name": self.name,
            "seconds": self.seconds,
            "bpm": self.bpm,
            "meter": self.meter,
            "beats": [round(float(beat), 5) for beat in self.beats],
            "downbeats": self.downbeats,
        }


def beat_loudness(beats: Array, times: Array, powers: Array) -> Array:
    """Return the loudness of each beat: the root of its total sound power, relative to the maximum.

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


def beats_met(wanted: Array, detected: Array, fps: float) -> int:
    """Return how many `wanted` times (K,) have a `detected` time (N,) within one frame.

    Examples
    --------
    >>> beats_met(np.array([0.5, 1.0, 1.5]), np.array([0.52, 1.1]), 30.0)
    1
    """
    if not len(wanted) or not len(detected):
        return 0
    off = np.abs(detected[None] - wanted[:, None]).min(axis=1)
    return int(np.sum(off <= 1.0 / fps + 1e-6))


def load_music(path: str | Path, *, meter: int | None = None, source: Source = "score") -> Music:
    """Read the beats of a MIDI or audio file.

    Parameters
    ----------
    path : str or Path
        ``.mid`` file or, with the extra ``audio``, a ``.wav``, ``.mp3``, ``.ogg`` or ``.flac``
        file.
    meter : int, optional
        Beats per bar. Default: as specified in the file, or 4.
    source : {"score", "notes"}
        Where the beats of a MIDI file come from: tempos and time signatures, or note onsets. Use
        ``"notes"`` for live recordings, whose tempos are often meaningless.

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
        from motionloom.dance.midi import read_midi

        return read_midi(path, meter=meter, source=source)
    if suffix in AUDIO_SUFFIXES:
        return read_audio(path, meter=meter or 4)
    suffixes = ", ".join((*MIDI_SUFFIXES, *AUDIO_SUFFIXES))
    raise MotionFormatError(f"music files must be {suffixes}", path=path)


def tune(
    *,
    bars: int = 16,
    meter: int = 4,
    tempo_bpm: float = 120.0,
    seed: int | np.random.Generator = 0,
    seconds: float | None = None,
) -> Music:
    """Generate a tune.

    Parameters
    ----------
    bars, meter, tempo_bpm, seed
        As in `motionloom.demo.tunes.write_tune`.
    seconds : float, optional
        Duration of the tune; it replaces `bars`. The last bar is played to its end.

    Examples
    --------
    >>> tune(bars=2, tempo_bpm=120).beats[:3]
    array([0. , 0.5, 1. ])
    >>> song = tune(tempo_bpm=120, seconds=41.0)
    >>> song.seconds, bool(song.beats[-1] >= 41.0)
    (41.0, True)
    """
    from motionloom.demo.tunes import write_tune  # imported here because it loads the whole corpus

    if seconds is not None:
        bars = int(np.ceil(seconds * tempo_bpm / 60.0 / meter)) + 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tune.mid"
        music = load_music(write_tune(path, bars=bars, meter=meter, tempo_bpm=tempo_bpm, seed=seed))
    length = music.seconds if seconds is None else seconds
    return replace(music, path="", name=f"tune, {tempo_bpm:g} beats a minute", seconds=length)


def read_audio(path: str | Path, *, meter: int = 4) -> Music:
    """Detect the beats of an audio file; see `load_music`.

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
            f"{path}: detecting the beats of audio files requires librosa. Install it with "
            "`pip install 'motionloom[audio]'`, or use a MIDI file"
        ) from None
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    _check_size(path)
    try:
        sound, rate = librosa.load(path, sr=RATE, mono=True, duration=LONGEST_SECONDS)
    except Exception as error:  # libsndfile and audioread raise errors of various types
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise MotionFormatError(f"not a readable audio file ({what})", path=path) from None
    if len(sound) < RATE or not np.any(np.abs(sound) > 1e-5):
        raise MotionFormatError(
            "the file must contain at least one second of sound, and not only silence", path=path
        )
    onsets = librosa.onset.onset_detect(y=sound, sr=rate, units="time")
    _, beats = librosa.beat.beat_track(y=sound, sr=rate, units="time")
    if len(beats) < 3:
        raise MotionFormatError("no beats were detected", path=path)
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
    """Raise if a file decodes to too much sound; even a small file may contain hours of silence."""
    check_regular(path)
    try:
        header = import_module("soundfile").info(str(path))
    except Exception:  # a format that libsndfile does not know; librosa reports the problem
        return
    seconds = min(header.frames / max(header.samplerate, 1), LONGEST_SECONDS)
    size = 4.0 * seconds * header.samplerate * header.channels
    if size > LARGEST_SOUND:
        raise MotionFormatError(
            f"an audio file may decode to at most {LARGEST_SOUND >> 20} MB of sound; this file "
            f"decodes to {size / 2**20:.0f} MB ({header.channels} channels at {header.samplerate} "
            "Hz)",
            path=path,
        )


def _loudness(sound: NDArray, rate: float, beats: NDArray) -> NDArray:
    """Return the loudness of each beat: the RMS of its samples, relative to the maximum."""
    edges = np.append(np.round(beats * rate).astype(int), len(sound))
    parts = [sound[a:b] for a, b in zip(edges[:-1], edges[1:], strict=True)]
    loud = np.array([np.sqrt(np.mean(part**2)) if len(part) else 0.0 for part in parts])
    return loud / loud.max() if loud.any() else loud


def write_sound(music: Music, path: str | Path, *, seconds: float | None = None) -> Path:
    """Write a WAV file with a click on every beat and a tone for every note.

    Parameters
    ----------
    music : Music
    path : str or Path
        ``.wav`` file.
    seconds : float, optional
        Duration of the file. Default: the duration of the music.

    Examples
    --------
    >>> import tempfile
    >>> song = Music(np.array([0.0, 0.5, 1.0]), 2, np.array([0, 2]), 1.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wave.open(str(write_sound(song, f"{folder}/song.wav"))).getnframes() / RATE
    1.5
    """
    length = max(round((music.seconds if seconds is None else seconds) * RATE), 1)
    loud = max(float(np.abs(block).max()) for block in _sound_blocks(music, length))
    with atomic_write(path) as scratch, wave.open(str(scratch), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        for block in _sound_blocks(music, length):
            data = np.round(block / max(loud, 1.0) * 30000.0).astype("<i2")
            file.writeframes(data.tobytes())
    return Path(path)


def audible(music: Music, path: str | Path, seconds: float | None = None) -> Path:
    """Return an audio file of the music: the original or, for a score, one written to `path`."""
    if Path(music.path).suffix.lower() in AUDIO_SUFFIXES:
        return Path(music.path)
    return write_sound(music, path, seconds=seconds)


def _sound_blocks(music: Music, length: int) -> Iterator[NDArray[np.float64]]:
    """Yield `length` samples of the clicks and tones, a minute at a time."""
    down = np.zeros(len(music.beats), dtype=bool)
    down[music.downbeats] = True
    parts = (
        (np.asarray(music.onsets), _tone(*_NOTE)),
        (music.beats[down], _tone(*_DOWNBEAT)),
        (music.beats[~down], _tone(*_CLICK)),
    )
    starts = [np.round(times * RATE).astype(np.int64) for times, _ in parts]
    longest = max(len(tone) for _, tone in parts)
    for at in range(0, length, _BLOCK):
        count = min(_BLOCK, length - at)
        block = np.zeros(longest + count + longest)  # tones overlap the ends
        for first, (_, tone) in zip(starts, parts, strict=True):
            near = first[(first > at - longest) & (first < at + count)] - at + longest
            if len(near) > _MANY:
                from scipy.signal import oaconvolve  # imported here because it is slow to import

                hits = np.bincount(near, minlength=len(block)).astype(np.float64)
                block += oaconvolve(hits, tone)[: len(block)]
            else:
                for place in near:
                    block[place : place + len(tone)] += tone
        yield block[longest : longest + count]


def _tone(pitch: float, length: float, loud: float) -> NDArray[np.float64]:
    """Return the samples of a decaying tone."""
    t = np.arange(round(4.0 * length * RATE)) / RATE
    return loud * np.sin(2.0 * np.pi * pitch * t) * np.exp(-t / length)
