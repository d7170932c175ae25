"""Music beats from sound, through librosa (the extra ``audio``)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from motionloom.errors import MissingExtra, MotionFormatError
from motionloom.synthesis.rhythm.music import Music

LONGEST_SECONDS = 20 * 60.0
_RATE = 22_050


def read_audio(path: str | Path, *, meter: int = 4) -> Music:
    """Beats of a sound file; see `motionloom.synthesis.rhythm.music.load_music`.

    Raises
    ------
    MissingExtra
        If librosa is not installed.
    MotionFormatError
        If the file cannot be read, or nothing in it can be counted.
    """
    try:
        import librosa
    except ImportError:
        raise MissingExtra(
            f"{path}: hearing beats in sound needs librosa; install it with "
            "`pip install 'motionloom[audio]'`, or give the song as a MIDI file"
        ) from None
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    try:
        sound, rate = librosa.load(path, sr=_RATE, mono=True, duration=LONGEST_SECONDS)
    except Exception as error:  # libsndfile and audioread have errors of their own
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise MotionFormatError(f"not a sound file that can be read ({what})", path=path) from None
    if len(sound) < _RATE or not np.any(np.abs(sound) > 1e-5):
        raise MotionFormatError("a second of sound is the least; this is silence", path=path)
    onsets = librosa.onset.onset_detect(y=sound, sr=rate, units="time")
    _, beats = librosa.beat.beat_track(y=sound, sr=rate, units="time")
    if len(beats) < 3:
        raise MotionFormatError("no beat can be heard in it", path=path)
    return Music(
        beats=np.asarray(beats, dtype=np.float64),
        meter=meter,
        downbeats=np.arange(0, len(beats), meter),
        seconds=len(sound) / rate,
        onsets=np.asarray(onsets, dtype=np.float64),
        name=path.stem,
        path=str(path),
    )
