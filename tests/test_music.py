"""Music: beats of MIDI files and sound, and files that are not music."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from motionloom.dance import midi
from motionloom.dance.music import load_music
from motionloom.demo.tunes import write_tune
from motionloom.errors import InvalidInput, MissingExtra, MotionFormatError

mido = pytest.importorskip("mido")


def saved(path, *tracks, **options):
    file = mido.MidiFile(**options)
    for messages in tracks:
        file.tracks.append(mido.MidiTrack(messages))
    file.save(path)
    return path


def note(pitch=60, wait=0, length=480):
    return [
        mido.Message("note_on", note=pitch, velocity=90, time=wait),
        mido.Message("note_off", note=pitch, velocity=0, time=length),
    ]


def test_beats_follow_every_change_of_tempo(tmp_path):
    tune = write_tune(tmp_path / "t.mid", bars=4, tempo_bpm=[(0, 120.0), (2, 60.0)])
    music = load_music(tune)
    expected = np.concatenate([np.arange(8) * 0.5, 4.0 + np.arange(8) * 1.0])
    np.testing.assert_allclose(music.beats, expected, atol=1e-6)
    assert list(music.downbeats) == [0, 4, 8, 12] and music.meter == 4
    assert music.as_dict()["meter"] == 4


def test_meters_change_and_threes_are_counted_as_one(tmp_path):
    messages = [
        mido.MetaMessage("time_signature", numerator=3, denominator=4, time=0),
        *note(length=3 * 480),
        mido.MetaMessage("time_signature", numerator=6, denominator=8, time=0),
        *note(length=3 * 480),
    ]
    music = load_music(saved(tmp_path / "t.mid", messages))
    np.testing.assert_allclose(music.beats, [0, 0.5, 1.0, 1.5, 2.25, 3.0], atol=1e-9)
    assert list(music.downbeats) == [0, 3, 5] and music.meter == 3


def test_notes_give_the_beat_if_the_tempo_is_meaningless(tmp_path):
    tune = write_tune(tmp_path / "t.mid", bars=8, tempo_bpm=[(0, 120.0), (4, 132.0)])
    written, heard = load_music(tune), load_music(tune, source="notes")
    off = [np.min(np.abs(heard.beats - beat)) for beat in written.beats]
    assert max(off) < 0.02
    assert heard.bpm == pytest.approx(126.0, abs=7.0)


def test_notes_have_a_start_a_length_a_pitch_and_a_loudness(tmp_path):
    drum = [message.copy(channel=9) for message in note(pitch=38, length=120)]
    twice = [*note(pitch=64, wait=480, length=240), *note(pitch=64, length=960)]
    endless = [mido.Message("note_on", note=70, velocity=127)]  # without a note_off
    music = load_music(saved(tmp_path / "notes.mid", twice, drum, endless, ticks_per_beat=480))
    assert music.notes.tolist() == [
        [0.0, 0.0, 70.0, 1.0],
        [0.0, 0.125, 0.0, 90 / 127],
        [0.5, 0.25, 64.0, 90 / 127],
        [0.75, 1.0, 64.0, 90 / 127],
    ]


def test_the_same_seed_is_the_same_tune(tmp_path):
    a, b = (write_tune(tmp_path / f"{k}.mid", seed=3).read_bytes() for k in "ab")
    assert a == b != write_tune(tmp_path / "c.mid", seed=4).read_bytes()
    with pytest.raises(InvalidInput, match="tempo_bpm must be 20 to 400"):
        write_tune(tmp_path / "d.mid", tempo_bpm=1000.0)
    with pytest.raises(InvalidInput, match="bars and meter must be at least 1"):
        write_tune(tmp_path / "d.mid", bars=0)
    assert not (tmp_path / "d.mid").exists()


def test_files_that_are_not_music_are_reported(tmp_path, monkeypatch):
    silent = saved(tmp_path / "s.mid", [mido.MetaMessage("set_tempo", tempo=500000)])
    with pytest.raises(MotionFormatError, match="has no notes"):
        load_music(silent)
    (tmp_path / "junk.mid").write_bytes(b"MThd" + bytes(40))
    with pytest.raises(MotionFormatError, match="not a complete MIDI file"):
        load_music(tmp_path / "junk.mid")
    endless = saved(tmp_path / "e.mid", note() + note(wait=2**27))
    with pytest.raises(MotionFormatError, match="at most 2 hours long; this file lasts .* hours"):
        load_music(endless)
    film = bytearray(write_tune(tmp_path / "f.mid", bars=1).read_bytes())
    film[12:14] = (0x10000 - 25 * 256 + 40).to_bytes(2, "big")
    (tmp_path / "f.mid").write_bytes(bytes(film))
    with pytest.raises(MotionFormatError, match="SMPTE time division"):
        load_music(tmp_path / "f.mid")
    once = saved(tmp_path / "1.mid", note())
    with pytest.raises(MotionFormatError, match="the notes have no clear beat period"):
        load_music(once, source="notes")
    songs = saved(tmp_path / "2.mid", note(), note(), type=2)
    with pytest.raises(MotionFormatError, match="several songs"):
        load_music(songs)
    monkeypatch.setattr(midi, "LARGEST_BYTES", 100)
    with pytest.raises(MotionFormatError, match="at most 100 bytes"):
        load_music(write_tune(tmp_path / "big.mid"))
    with pytest.raises(MotionFormatError, match=r"music files must be .mid"):
        load_music(tmp_path / "song.txt")
    with pytest.raises(InvalidInput, match="meter must be at least 1"):
        load_music(songs, meter=0)
    with pytest.raises(InvalidInput, match="source must be 'score' or 'notes'"):
        load_music(songs, source="drums")


def test_too_many_beats_are_rejected(tmp_path):
    messages = [
        mido.MetaMessage("time_signature", numerator=4, denominator=128, time=0),
        mido.MetaMessage("set_tempo", tempo=1, time=0),
        *note(length=2**27),
    ]
    with pytest.raises(MotionFormatError, match="more than 100000 beats; it may be damaged"):
        load_music(saved(tmp_path / "t.mid", messages))


def test_damaged_files_raise_a_single_kind_of_error(tmp_path, rng):
    whole = write_tune(tmp_path / "t.mid", bars=4).read_bytes()
    path = tmp_path / "damaged.mid"
    for k in range(120):
        data = bytearray(whole[: rng.integers(len(whole))] if k % 2 else whole)
        for place in rng.integers(len(data), size=4) if len(data) else ():
            data[place] = rng.integers(256)
        path.write_bytes(bytes(data))
        try:
            music = load_music(path, source="notes" if k % 4 == 0 else "score")
        except MotionFormatError:
            continue
        assert np.all(np.diff(music.beats) > 0.0) or len(music.beats) < 2


def test_sound_without_a_beat_is_reported(tmp_path, monkeypatch):
    librosa = SimpleNamespace(
        load=lambda path, **options: (np.ones(44_100), 22_050),
        onset=SimpleNamespace(onset_detect=lambda **options: np.zeros(0)),
        beat=SimpleNamespace(beat_track=lambda **options: (0.0, np.array([0.5, 1.0]))),
    )
    monkeypatch.setitem(sys.modules, "librosa", librosa)
    (tmp_path / "hum.wav").write_bytes(b"")
    with pytest.raises(MotionFormatError, match="no beats were detected"):
        load_music(tmp_path / "hum.wav")


@pytest.mark.slow  # librosa compiles for a minute and a half
def test_clicks_are_detected_in_sound(tmp_path):
    pytest.importorskip("librosa")
    soundfile = pytest.importorskip("soundfile")
    rate, seconds = 22_050, 12
    sound = np.zeros(rate * seconds)
    click = np.sin(np.arange(800) * 0.3) * np.exp(-np.arange(800) / 150.0)
    for beat in np.arange(0.25, seconds - 0.1, 0.5):
        start = int(beat * rate)
        sound[start : start + 800] += click
    soundfile.write(tmp_path / "clicks.wav", sound, rate)
    music = load_music(tmp_path / "clicks.wav")
    assert music.bpm == pytest.approx(120.0, rel=0.03)
    soundfile.write(tmp_path / "silence.wav", np.zeros(rate * 2), rate)
    with pytest.raises(
        MotionFormatError, match="at least one second of sound, and not only silence"
    ):
        load_music(tmp_path / "silence.wav")
    (tmp_path / "junk.wav").write_bytes(b"RIFFjunk")
    with pytest.raises(MotionFormatError, match="not a readable audio file"):
        load_music(tmp_path / "junk.wav")


def test_sound_without_the_extra_is_reported(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "librosa", None)
    with pytest.raises(MissingExtra, match=r"pip install 'motionloom\[audio\]'"):
        load_music(tmp_path / "song.wav")
