"""Dancing: on the beat, through the graph, where you point, on other bodies, in pairs."""

import json
import wave

import numpy as np
import pytest
from click.testing import CliRunner
from packed_clips import clips_of

import motionloom as ml
from motionloom.cli import app
from motionloom.dance.beat_clock import MusicClock, TempoClock
from motionloom.dance.choreography import Choreography
from motionloom.dance.dancing.dance import beats_on_time
from motionloom.dance.music import RATE, Music, load_music, write_sound
from motionloom.dance.settings import ChoreographySettings
from motionloom.demo.tunes import write_tune
from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.quality import foot_slide, quality_report


@pytest.fixture(scope="module")
def takes():
    return [ml.demo.clip("dance_groove", seed=seed) for seed in (0, 1)]


@pytest.fixture(scope="module")
def steps(takes):
    return Choreography.from_takes(takes, ChoreographySettings(meter=4))


@pytest.fixture(scope="module")
def song():
    """Forty seconds that change their tempo in the middle."""
    slow, quick = 60.0 / 112.0, 60.0 / 126.0
    first = 0.4 + slow * np.arange(36)
    beats = np.concatenate([first, first[-1] + quick * np.arange(1, 44)])
    return Music(beats, 4, np.arange(0, len(beats), 4), float(beats[-1] + 0.5))


def test_a_progress_callback_can_stop_a_dance(steps, song):
    class Stopped(Exception):
        pass

    made = []

    def progress(hundredths):
        made.append(hundredths)
        raise Stopped

    with pytest.raises(Stopped):
        steps.dance_to(song, seed=3, progress=progress)
    assert len(made) == 1 and made[0] < 20  # one block of the first attempt
    shown = []
    steps.dance_to(song, seed=3, seconds=6.0, progress=shown.append)
    assert sum(shown) == 100 and min(shown) >= 0


def test_a_dance_keeps_time_with_music_that_changes_its_tempo(steps, song):
    made = steps.dance_to(song, seed=3)
    assert len(made.motions[0]) == round(song.seconds * steps.fps)
    total, within = beats_on_time(made.motions, song)
    assert total > 70 and within >= 0.95 * total


def test_the_same_path_without_the_clock_does_not_keep_time(steps, song):
    synced = steps.dance_to(song, seed=3)
    free = steps.dance_to(song, seed=3, synced=False)
    shared = min(len(synced.path), len(free.path))
    assert synced.path[:shared] == free.path[:shared] and shared > 10
    total, within = beats_on_time(free.motions, song)
    assert within < 0.5 * total


def test_feet_stand_and_seams_are_smooth(steps, takes, song):
    motion = steps.dance_to(song, seed=3).motions[0]
    report = quality_report(motion, sources=takes)
    assert report.foot_slide_m < 0.01 and report.floor_penetration_m < 0.01
    assert len(motion.provenance.seams) >= len(song.beats) // 4 - 2
    assert report.seam_acceleration_ratio < 2.0  # it also dances quicker than the takes


def test_every_frame_has_its_provenance(steps, takes, song):
    motion = steps.dance_to(song, seed=3).motions[0]
    covered = np.zeros(len(motion))
    for source in motion.provenance.sources:
        covered[source.start : source.end] += source.weight
        take = next(take for take in takes if take.name == source.motion)
        assert 0.0 <= source.start_frame < source.end_frame <= len(take) + 1.0
    np.testing.assert_allclose(covered, 1.0)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_dance(steps, song):
    first, again = (steps.dance_to(song, seed=5).motions[0] for _ in range(2))
    np.testing.assert_array_equal(first.rotations, again.rotations)
    assert steps.dance_to(song, seed=6).path != steps.dance_to(song, seed=5).path


def test_a_dance_follows_a_moving_target(steps, song):
    seconds = np.linspace(0.0, song.seconds, 20)
    path = np.column_stack([seconds, 0.08 * seconds, 0.05 * seconds])
    free = steps.dance_to(song, seed=3).motions[0]
    led = steps.dance_to(song, seed=3, follow=path).motions[0]
    where = path[-1, 1:]
    assert np.hypot(*(led.root[-1, [0, 2]] - where)) < 1.2
    assert np.hypot(*(free.root[-1, [0, 2]] - where)) > 2.0
    assert foot_slide(led).per_contact_m < 0.015


def test_another_body_dances_with_its_feet_on_the_floor(steps, song, takes):
    child = takes[0].skeleton.scaled(0.7)
    motion = steps.dance_to(song, seed=3, skeleton=child, seconds=20.0).motions[0]
    assert motion.skeleton.key == child.key
    report = quality_report(motion)
    assert report.foot_slide_m < 0.01 and report.floor_penetration_m < 0.01
    total, within = beats_on_time([motion], song)
    assert within >= 0.9 * total


@pytest.mark.slow
def test_a_couple_keeps_its_hold(song):
    pairs = [[part.motion for part in ml.demo.couple(seed=seed)] for seed in (0, 1)]
    waltz = Choreography.from_takes(pairs, ChoreographySettings(meter=3))
    made = waltz.dance_to(song, seed=1, seconds=10.0)
    leader, follower = made.motions
    gap = np.linalg.norm(
        leader.role_positions(["left_hand"])[:, 0] - follower.role_positions(["right_hand"])[:, 0],
        axis=1,
    )
    assert gap.mean() < 0.01 and gap.max() < 0.04
    assert waltz.dance(song, seed=1, seconds=5.0)[1].name == "dance 2"
    takes = made.quality().takes  # each dancer's own takes, and nobody's twice
    assert sum(takes.used.values()) == pytest.approx(2 * 10.0, abs=0.5)
    assert {source.motion for source in leader.sources}.isdisjoint(
        source.motion for source in follower.sources
    )


def test_a_player_is_steered_and_its_tempo_changed_without_a_jump(steps):
    player = steps.player(110.0, seed=2)
    before = player.read(90)
    player.steer(tempo=140.0, target=(3.0, 3.0))
    after = player.read(120)
    root = np.concatenate([before.root, after.root])
    speed = np.linalg.norm(np.diff(root, axis=0), axis=1)
    assert speed.max() < 0.12
    assert len(list(zip(range(10), player.frames(), strict=False))) == 10
    player.steer(target=None, direction=0.0, speed=0.5)
    assert len(player.read(30)) == 30


def test_blocks_of_any_size_give_the_same_dance(steps, song):
    whole = steps.player(MusicClock(song), seed=4).read(200)
    player = steps.player(MusicClock(song), seed=4)
    parts = [player.read(size) for size in (1, 3, 50, 46, 100)]
    root = np.concatenate([part.root for part in parts])
    np.testing.assert_allclose(root, whole.root, atol=1e-4)


def test_the_clock_of_a_song_counts_its_beats(song):
    clock = MusicClock(song)
    fps = 1000.0
    positions = clock.beats_at(0, round(song.seconds * fps), fps)
    assert np.all(np.diff(positions) > 0.0)
    at = np.rint(song.beats * fps).astype(int)
    np.testing.assert_allclose(
        positions[at[at < len(positions)]], np.arange(len(at))[at < len(positions)], atol=0.01
    )


def test_a_running_clock_changes_its_tempo_smoothly_and_is_read_in_order():
    clock = TempoClock(100.0)
    first = clock.beats_at(0, 60, 30.0)
    clock.set_tempo(150.0)
    then = clock.beats_at(60, 90, 30.0)
    steps = np.diff(np.concatenate([first, then])) * 30.0 * 60.0
    assert steps[0] == pytest.approx(100.0) and steps[-1] == pytest.approx(150.0, abs=0.1)
    assert np.abs(np.diff(steps)).max() < 15.0
    with pytest.raises(InvalidInput, match="in order; expected frame 150"):
        clock.beats_at(7, 1, 30.0)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda steps, song: steps.dance_to(song, follow=[[0.0, 1.0]]),
            "finite rows .seconds, x",
        ),
        (
            lambda steps, song: steps.dance_to(song, follow=[[1, 0, 0], [0, 0, 0]]),
            "must not decrease",
        ),
        (lambda steps, song: steps.dance_to(song, seconds=0.0), "seconds must be greater than 0"),
        (lambda steps, song: steps.player(5.0), "tempo must be 20 to 400"),
        (
            lambda steps, song: steps.player(90).steer(tempo="quick"),
            "tempo must be .* got quick",
        ),
        (lambda steps, song: steps.player().steer(tempo=100), "a dance without music"),
        (lambda steps, song: steps.player(100).steer(target=(1.0,)), "target must be 2 finite"),
        (
            lambda steps, song: steps.player(100).steer(target=[[1.0, 2.0]]),
            "target must be 2 finite",
        ),
        (lambda steps, song: steps.player(100).steer(target=(1e308, 0)), "target must be 2 finite"),
        (lambda steps, song: steps.player(100).steer(wind=1), "no control 'wind'"),
        (
            lambda steps, song: steps.onto([steps.movements[0].motion.skeleton] * 2),
            "expected 1 skeletons, one per character; got 2",
        ),
        (
            lambda steps, song: steps.dance_to(Music(np.array([1.0]), 4, np.array([0]), 5.0)),
            "at least two beats; got 1",
        ),
    ],
)
def test_invalid_input_is_rejected(steps, song, act, message):
    with pytest.raises(InvalidInput, match=message):
        act(steps, song)


# --- files and the command line -----------------------------------------------------------


@pytest.fixture(scope="module")
def lib(tmp_path_factory, takes):
    lib = ml.Library.create(tmp_path_factory.mktemp("dance") / "dances.loom")
    for number, take in enumerate(takes):
        lib.add_motion(take, name=f"groove_{number}", labels=["dance"])
    return lib


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_from_takes_and_a_song_to_a_file_on_the_beat(lib, tmp_path):
    tune = write_tune(tmp_path / "song.mid", bars=16, tempo_bpm=[(0, 110), (8, 122)])
    done = run("dance", lib.path, tune, "-o", tmp_path / "dance.bvh", "--meter", 4, "--json")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["beats_within_one_frame"] >= 0.95 * answer["beats_total"] > 40
    assert answer.keys() >= {"file", "frames", "fps", "quality", "sources"}
    written = ml.load(tmp_path / "dance.bvh")
    total, within = beats_on_time([written], load_music(tune))
    assert within >= 0.95 * total


def test_a_page_plays_a_dance_with_the_notes_of_its_song(lib, tmp_path):
    tune = write_tune(tmp_path / "song.mid", bars=3, tempo_bpm=110)
    page = tmp_path / "dance.html"
    done = run("dance", lib.path, tune, "-o", page, "--meter", 4, "--seconds", 5)
    assert done.exit_code == 0, done.output
    (clip,) = clips_of(page.read_text(encoding="utf-8"))
    notes = load_music(tune).notes
    heard = notes[notes[:, 0] < 5.0]
    np.testing.assert_allclose(clip["notes"], heard, atol=6e-4)
    assert 20 < len(heard) < len(notes)


@pytest.mark.slow
def test_a_dance_with_a_path_a_body_and_a_generated_tune(lib, tmp_path, takes):
    (tmp_path / "path.csv").write_text("seconds,x,z\n0,0,0\n10,1,1\n")
    takes[0].retarget(takes[0].skeleton.scaled(0.8))[:2].save(tmp_path / "child.bvh")
    done = run(
        "dance", lib.path, "tune", "-o", tmp_path / "dance.glb", "--follow",
        tmp_path / "path.csv", "--onto", tmp_path / "child.bvh", "--seconds", 6, "--unsynced",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert len(ml.load(tmp_path / "dance.glb")) == 180


@pytest.mark.slow
def test_the_kind_of_dance_selects_a_saved_choreography(lib, tmp_path):
    for meter, name in ((4, "groove"), (3, "waltz")):
        done = run("movements", lib.path, "--meter", meter, "--name", name)
        assert done.exit_code == 0, done.output
    tune = write_tune(tmp_path / "three.mid", bars=4, meter=3, tempo_bpm=110)
    for kind, meter in (("groove", 4), ("Waltz", 3), ("any", 3)):
        done = run("dance", lib.path, tune, "-o", tmp_path / "d.bvh", "--kind", kind)
        assert done.exit_code == 0 and f"movements of {meter} beats" in done.output
    done = run("dance", lib.path, tune, "-o", tmp_path / "d.bvh", "--kind", "tango")
    assert "no choreography for tango; available choreographies: groove (4 beats), waltz" in str(
        done.exception
    )
    done = run("dance", lib.path, tune, "-o", tmp_path / "d.bvh", "--kind", "a", "--label", "b")
    assert "cannot be combined with --takes, --label or --graph" in str(done.exception)


def test_errors_are_one_line(lib, tmp_path, capsys):
    from motionloom.errors import MotionloomError

    (tmp_path / "path.csv").write_text("here\nthere\n")
    for name in ("song.txt", "song.wav"):
        (tmp_path / name).write_text("la la la")
    for arguments, message in [
        (("tune", "-o", tmp_path / "dance.doc"), "the suffix must be one of .bvh"),
        ((tmp_path / "song.txt", "-o", tmp_path / "dance.bvh"), "suffix of a music file"),
        ((tmp_path / "song.mid", "-o", tmp_path / "dance.bvh"), "no such music file; name another"),
        (
            ("tune", "-o", tmp_path / "d.bvh", "--follow", tmp_path / "path.csv"),
            "seconds",
        ),
        (("tune", "-o", tmp_path / "d.bvh", "--label", "opera"), "no motion"),
        (
            (tmp_path / "song.wav", "-o", tmp_path / "d.html"),
            r"a page plays the notes of a MIDI file or of a tune; got ",
        ),
    ]:
        done = run("dance", lib.path, *arguments)
        assert isinstance(done.exception, MotionloomError), done.output
        assert message in str(done.exception)


def test_music_can_be_heard(tmp_path, song):
    path = write_sound(song, tmp_path / "song.wav")
    with wave.open(str(path)) as file:
        assert file.getframerate() == RATE
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(float)
    loud = [np.abs(samples[round(b * RATE) :][:500]).max() for b in song.beats]
    quiet = np.abs(samples[: round(song.beats[0] * RATE) - 10]).max()
    assert min(loud) > 5000 and quiet == 0.0
