"""Read the beats of MIDI files, from tempos and time signatures or from notes.

Files are not trusted: sizes, lengths and counts are checked before memory is allocated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.dance.motion_beats.candidates import Candidates
from motionloom.dance.motion_beats.period import RATE, periods, self_similarity, superposed
from motionloom.dance.motion_beats.tracking import density, local_periods, tracked_beats, with_ends
from motionloom.dance.music import Music, Source, beat_loudness
from motionloom.errors import InvalidInput, MotionFormatError

Array = NDArray[np.float64]

LARGEST_BYTES = 2 * 2**20  # even an opera has less than a megabyte
LONGEST_SECONDS = 2 * 3600.0
_MOST_BEATS = 100_000
_TEMPO = 500_000  # MIDI default tempo in microseconds per quarter note: 120 beats per minute
_DRUMS = 9  # channel of percussion in General MIDI, counted from 0
_SHORTEST, _LONGEST = 0.25, 1.5  # seconds between beats estimated from notes


@dataclass(frozen=True)
class _Change:
    tick: int
    value: tuple[int, ...]


@dataclass(frozen=True)
class _Score:
    ticks_per_quarter: int
    tempos: list[_Change]
    meters: list[_Change]
    notes: list[tuple[int, int, int, int, int]]  # tick, channel, pitch, velocity, tick of the end
    end: int


def read_midi(path: str | Path, *, meter: int | None = None, source: Source = "score") -> Music:
    """Read the beats of a MIDI file; see `motionloom.dance.music.load_music`."""
    if source not in ("score", "notes"):
        raise InvalidInput(f"source must be 'score' or 'notes'; got {source!r}")
    path = Path(path)
    score = _read(path)
    if not score.notes:
        raise MotionFormatError("the MIDI file has no notes", path=path)
    clock = _Clock(score)
    seconds = float(clock.seconds(np.array([score.end]))[0])
    if seconds > LONGEST_SECONDS:
        raise MotionFormatError(
            f"the music must be at most {LONGEST_SECONDS / 3600.0:g} hours long; "
f"this file lasts {seconds / 3600.0:.1f} hours", path=path,
        )  # fmt: skip
    onsets = clock.seconds(np.array(sorted({note[0] for note in score.notes})))
    ticks, bars, written = _written_beats(score, path)
    beats = clock.seconds(ticks)
    if source == "notes":
        beats = _note_beats(score, clock, seconds, path)
        bars = np.arange(0, len(beats), meter or written)
    elif meter is not None:
        bars = np.arange(0, len(beats), meter)
    return Music(
        beats=beats,
        meter=meter or written,
        downbeats=bars.astype(np.int64),
        seconds=seconds,
        onsets=onsets,
        loudness=_loudness(score, clock, beats),
        notes=_played(score, clock),
        name=path.stem,
        path=str(path),
    )


def _loudness(score: _Score, clock: _Clock, beats: Array) -> Array:
    """Return the loudness of each beat, from the velocities of the notes that start in it."""
    notes = np.array(score.notes)
    # Because of rounding errors, a note on a beat may seem to start just before it.
    times = clock.seconds(notes[:, 0]) + 1e-6
    return beat_loudness(beats, times, (notes[:, 3] / 127.0) ** 2)


def _played(score: _Score, clock: _Clock) -> Array:
    """Return the start, length, pitch and loudness of every note; drums have no pitch (0)."""
    table = np.array(score.notes)
    start, end = clock.seconds(table[:, 0]), clock.seconds(table[:, 4])
    pitch = np.where(table[:, 1] == _DRUMS, 0, table[:, 2])
    return np.column_stack([start, end - start, pitch, table[:, 3] / 127.0])


def _read(path: Path) -> _Score:
    import mido

    size = path.stat().st_size
    if size > LARGEST_BYTES:
        raise MotionFormatError(
            f"a MIDI file may have at most {LARGEST_BYTES} bytes; this one has {size}", path=path
        )
    try:
        file = mido.MidiFile(path, clip=True)
    except Exception as error:  # a damaged file can make the parser raise any error
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise MotionFormatError(f"not a complete MIDI file ({what})", path=path) from None
    if file.ticks_per_beat <= 0:
        raise MotionFormatError(
            "MIDI files with SMPTE time division are not supported. "
"Save the file with ticks per quarter note", path=path,
        )  # fmt: skip
    if file.type == 2 and len(file.tracks) > 1:
        raise MotionFormatError(
            "MIDI files of type 2 are not supported because they contain several songs. "
            "Save one song as type 0 or 1",
            path=path,
        )
    return _gathered(file)


def _gathered(file) -> _Score:
    tempos, meters, end = [], [], 0
    notes: list[list[int]] = []
    for track in file.tracks:
        sounding: dict[tuple[int, int], int] = {}  # channel and pitch to the index of the note
        for tick, message in _timed(track):
            if message.type == "set_tempo":
                tempos.append(_Change(tick, (max(int(message.tempo), 1),)))
            elif message.type == "time_signature":
                meters.append(_Change(tick, (message.numerator, message.denominator)))
            elif message.type == "note_on" and message.velocity > 0:
                sounding[message.channel, message.note] = len(notes)
                notes.append([tick, message.channel, message.note, message.velocity, tick])
                end = max(end, tick)
            elif message.type in ("note_off", "note_on"):
                ended = sounding.pop((message.channel, message.note), None)
                if ended is not None:
                    notes[ended][4] = tick
                end = max(end, tick)
    return _Score(
        int(file.ticks_per_beat), sorted(tempos, key=_tick), sorted(meters, key=_tick),
        sorted((a, b, c, d, e) for a, b, c, d, e in notes), end,
    )  # fmt: skip


def _tick(change: _Change) -> int:
    return change.tick


def _timed(track) -> Iterator[tuple[int, Any]]:
    tick = 0
    for message in track:
        tick += int(message.time)
        yield tick, message


class _Clock:
    """Converter from ticks to seconds that follows tempo changes."""

    def __init__(self, score: _Score) -> None:
        ticks, tempos = [0], [_TEMPO]
        for change in score.tempos:
            if change.tick == ticks[-1]:
                tempos[-1] = change.value[0]
            else:
                ticks.append(change.tick)
                tempos.append(change.value[0])
        self.ticks = np.array(ticks, dtype=np.float64)
        self.rate = np.array(tempos) / 1e6 / score.ticks_per_quarter
        self.start = np.concatenate([[0.0], np.cumsum(np.diff(self.ticks) * self.rate[:-1])])

    def seconds(self, ticks: NDArray) -> Array:
        """Convert ticks to seconds."""
        part = np.searchsorted(self.ticks, ticks, side="right") - 1
        return self.start[part] + (ticks - self.ticks[part]) * self.rate[part]


def _written_beats(score: _Score, path: Path) -> tuple[Array, NDArray[np.int64], int]:
    """Return the ticks of all beats, the indices of the downbeats, and the first meter."""
    meters = score.meters or [_Change(0, (4, 4))]
    if meters[0].tick > 0:
        meters = [_Change(0, (4, 4)), *meters]
    ticks: list[Array] = []
    bars: list[int] = []
    count, first = 0, 0
    for k, change in enumerate(meters):
        until = meters[k + 1].tick if k + 1 < len(meters) else score.end + 1
        length, beats = _beat(change.value, score.ticks_per_quarter)
        here = int(np.ceil((until - change.tick) / length - 1e-9)) if until > change.tick else 0
        if count + here > _MOST_BEATS:
            raise MotionFormatError(
                f"the file has more than {_MOST_BEATS} beats; it may be damaged", path=path
            )
        ticks.append(change.tick + length * np.arange(here, dtype=np.float64))
        bars += range(count, count + here, beats)
        count += here
        first = first or (beats if here else 0)
    return np.concatenate(ticks), np.array(bars, dtype=np.int64), first or 4


def _beat(meter: tuple[int, ...], ticks_per_quarter: int) -> tuple[float, int]:
    """Return ticks per beat and beats per bar; in 6/8, 9/8 and 12/8, a beat has three eighths."""
    numerator, denominator = max(meter[0], 1), max(meter[1], 1)
    unit = 4.0 * ticks_per_quarter / denominator
    if denominator >= 8 and numerator % 3 == 0 and numerator > 3:
        return 3.0 * unit, numerator // 3
    return unit, numerator


def _note_beats(score: _Score, clock: _Clock, seconds: float, path: Path) -> Array:
    """Detect beats from note onsets with the same method as motion beats."""
    table = np.array(score.notes)
    times = clock.seconds(table[:, 0])
    loud = table[:, 3] / 127.0
    # Low notes carry the beat.
    sizes = loud * np.clip(1.5 - table[:, 2] / 127.0, 0.5, 1.5)
    signals = 128 * table[:, 1] + table[:, 2]
    order = np.argsort(times, kind="stable")
    notes = Candidates(times[order], sizes[order], sizes[order], signals[order], seconds)
    playing = density(notes)
    alike = self_similarity(playing[:, None], rate=RATE, longest=6.0)
    possible = periods(
        superposed(_by_channel(notes)), alike, rate=RATE, shortest=_SHORTEST, longest=_LONGEST
    )
    if not possible:
        raise MotionFormatError(
            "no beats were detected because the notes have no clear beat period", path=path
        )
    period = possible[0].seconds
    local = local_periods(playing - playing.mean(), period)
    first, last = float(times.min()), seconds
    beats = tracked_beats(playing, local, first, last)
    return with_ends(beats, first, last, before=float(local[0]), after=float(local[-1]))


def _by_channel(notes: Candidates) -> Candidates:
    """Merge notes into one signal per channel; the notes of a chord become one onset."""
    channels = notes.signals // 128
    keep = np.ones(len(notes), dtype=bool)
    for channel in np.unique(channels):
        mine = np.flatnonzero(channels == channel)
        keep[mine[1:]] = np.diff(notes.times[mine]) > 0.03
    return replace(
        notes, times=notes.times[keep], sizes=notes.sizes[keep], weights=notes.weights[keep],
        signals=channels[keep],
    )  # fmt: skip
