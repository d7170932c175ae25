"""Generated tunes: MIDI files with bass, chords, melody and drums."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from motionloom.errors import InvalidInput
from motionloom.files import atomic_write

_TICKS = 480
_CHORDS = ((57, 60, 64), (53, 57, 60), (48, 52, 55), (55, 59, 62))  # A minor, F, C, G
_SCALE = (69, 72, 74, 76, 79, 81)  # A minor pentatonic
_DRUMS, _KICK, _SNARE, _HAT = 9, 36, 38, 42


def write_tune(
    path: str | Path,
    *,
    bars: int = 16,
    meter: int = 4,
    tempo_bpm: float | Sequence[tuple[int, float]] = 120.0,
    seed: int | np.random.Generator = 0,
    loudness: Sequence[float] | None = None,
) -> Path:
    """Write a tune as a MIDI file of type 1.

    Parameters
    ----------
    path : str or Path
        Output file, ``.mid``.
    bars : int
    meter : int
        Beats (quarter notes) per bar.
    tempo_bpm : float, or sequence of (bar, tempo)
        Tempo in beats per minute: a number, or a list of changes such as ``[(0, 120), (8, 132)]``.
    seed : int or numpy.random.Generator
        Random seed for the melody.
    loudness : sequence of float, optional
        Factors from 0 to 1 for the note velocities of each bar; the sequence repeats until the
        end. Default: 1 for all bars.

    Examples
    --------
    >>> import tempfile
    >>> from motionloom.dance import load_music
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     music = load_music(write_tune(f"{folder}/tune.mid", bars=2, tempo_bpm=120))
    >>> music.beats[:3], music.meter
    (array([0. , 0.5, 1. ]), 4)
    """
    import mido

    tempos = [(0, float(tempo_bpm))] if np.isscalar(tempo_bpm) else list(tempo_bpm)  # type: ignore[arg-type]
    if bars < 1 or meter < 1:
        raise InvalidInput(
            f"bars and meter must be at least 1; got {bars} bars and a meter of {meter}"
        )
    for bar, tempo in tempos:
        if not (20.0 <= tempo <= 400.0 and 0 <= bar < bars):
            raise InvalidInput(
                f"tempo_bpm must be 20 to 400 beats per minute, at a bar from 0 to {bars - 1}; got "
                f"{tempo:g} at bar {bar}"
            )
    factors = [1.0] if loudness is None else [float(value) for value in loudness]
    if not factors or not all(0.0 <= value <= 1.0 for value in factors):
        raise InvalidInput(f"loudness must be numbers from 0 to 1; got {loudness!r}")
    rng = np.random.default_rng(seed)
    conductor = [(0, 0, mido.MetaMessage("time_signature", numerator=meter, denominator=4))]
    conductor += [
        (bar * meter * _TICKS, 0, mido.MetaMessage("set_tempo", tempo=round(6e7 / tempo)))
        for bar, tempo in tempos
    ]
    parts = [conductor, *(
        [_softer(event, factors[event[0] // (meter * _TICKS) % len(factors)]) for event in part]
        for part in (_band(bars, meter), _melody(bars, meter, rng))
    )]  # fmt: skip
    file = mido.MidiFile(ticks_per_beat=_TICKS)
    for events in parts:
        track = mido.MidiTrack()
        last = 0
        for tick, _, message in sorted(events, key=lambda event: event[:2]):
            track.append(message.copy(time=tick - last))
            last = tick
        file.tracks.append(track)
    with atomic_write(path) as scratch:
        file.save(scratch)
    return Path(path)


def _softer(event: tuple, factor: float) -> tuple:
    """Return a note with its velocity reduced to a fraction, but at least 1."""
    tick, order, message = event
    if message.type != "note_on" or factor == 1.0:
        return event
    return tick, order, message.copy(velocity=max(round(factor * message.velocity), 1))


def _note(channel: int, pitch: int, velocity: int, start: float, length: float) -> list:
    import mido

    on, off = round(start * _TICKS), round((start + length) * _TICKS)
    how = {"channel": channel, "note": pitch}
    return [
        (on, 1, mido.Message("note_on", velocity=velocity, **how)),
        (off, 0, mido.Message("note_off", velocity=0, **how)),
    ]


def _band(bars: int, meter: int) -> list:
    """Return the accompaniment: bass on downbeats, chords on other beats, drums on all beats."""
    events = []
    for bar in range(bars):
        chord = _CHORDS[bar % len(_CHORDS)]
        for beat in range(meter):
            at = bar * meter + beat
            events += _note(_DRUMS, _KICK if beat % 2 == 0 else _SNARE, 100, at, 0.25)
            events += _note(_DRUMS, _HAT, 60, at + 0.5, 0.25)
            if beat == 0:
                events += _note(1, chord[0] - 12, 105, at, 0.9)
            else:
                for pitch in chord:
                    events += _note(0, pitch, 70, at, 0.7)
    return events


def _melody(bars: int, meter: int, rng: np.random.Generator) -> list:
    events, place = [], 2
    for at in range(bars * meter):
        if rng.random() < 0.8:
            place = int(np.clip(place + rng.integers(-2, 3), 0, len(_SCALE) - 1))
            length = 0.5 if rng.random() < 0.3 else 0.95
            events += _note(2, _SCALE[place], 85, at, length)
    return events
