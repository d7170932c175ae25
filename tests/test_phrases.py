"""Phrases of movements, and movements chosen by the loudness of the music."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import app
from motionloom.dance.beat_clock import TempoClock
from motionloom.dance.choreography import Choreography
from motionloom.dance.choreography_file import load_choreography
from motionloom.dance.dancing.dance_player import DancePlayer
from motionloom.dance.dancing.phrases import Phrases
from motionloom.dance.music import beat_loudness, load_music
from motionloom.dance.settings import ChoreographySettings, ClockSettings, DanceSettings
from motionloom.dance.transitions.movement_graph import TransitionGraph
from motionloom.demo.tunes import write_tune
from motionloom.errors import InvalidInput, MotionFormatError


@pytest.fixture(scope="module")
def takes():
    return [
        replace(ml.demo.clip("dance_groove", performer=p, seed=s), name=f"groove_{p}{s}")
        for p in (0, 1)
        for s in (0, 1)
    ]


@pytest.fixture(scope="module")
def steps(takes):
    """Large groups, whose movements can be blended."""
    return Choreography.from_takes(takes, ChoreographySettings.of({"meter": 4, "groups": 4}))


# --- phrases ----------------------------------------------------------------------------


def naive_likelihood(sequences, transitions, order, path, node):
    """Witten and Bell's interpolation, counted separately for every context."""
    likely = transitions[path[-1]][node]
    for length in range(2, min(order, len(path)) + 1):
        context = list(path[-length:])
        after = [
            s[k]
            for s in sequences
            for k in range(length, len(s))
            if list(s[k - length : k]) == context and transitions[path[-1]][s[k]] > 0.0
        ]
        if not after:
            break
        kinds = len(set(after))
        likely = (after.count(node) + kinds * likely) / (len(after) + kinds)
    return likely


def test_likelihoods_are_those_of_counting(rng):
    sequences = [rng.integers(4, size=n).tolist() for n in (40, 25, 3, 1)]
    steps = rng.dirichlet(np.ones(4), size=4)
    steps[2, 1] = 0.0
    steps[2] /= steps[2].sum()
    learned = Phrases.of(sequences, steps, order=3)
    for _ in range(40):
        path = rng.integers(4, size=rng.integers(1, 6)).tolist()
        computed = learned.likelihoods(path)
        expected = [naive_likelihood(sequences, steps, 3, path, node) for node in range(4)]
        np.testing.assert_allclose(computed, np.array(expected) / sum(expected), atol=1e-12)
        assert computed.sum() == pytest.approx(1.0) and np.all(
            computed[steps[path[-1]] == 0.0] == 0.0
        )


def test_longer_contexts_predict_phrases_and_not_noise(rng):
    steps = np.full((3, 3), 1 / 3)
    phrase = [[0, 1, 0, 2] * 8, [0, 1, 0, 2] * 8]
    short, long = (Phrases.of(phrase[:1], steps, order=k).cost(phrase[1:]) for k in (1, 3))
    assert short == pytest.approx(np.log2(3)) and long < 0.5 * short
    noise = [rng.integers(3, size=200).tolist() for _ in range(2)]
    assert Phrases.of(noise[:1], steps, order=3).cost(noise[1:]) < np.log2(3) + 0.35


def test_a_dance_keeps_the_phrases_of_its_takes(steps):
    """Takes that go A B A C are danced so with phrases, and at random without."""
    first = steps.movements[:4]
    graph = TransitionGraph(("a", "b", "c"), ((0, 2), (1,), (3,)), [1, 0, 0],
                            [[0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]])  # fmt: skip
    made = Choreography(tuple(first) * 6, graph, runs=(24,))
    made = made.with_graph(
        TransitionGraph(graph.names, (tuple(range(0, 24, 2)), tuple(range(1, 24, 4)),
                                      tuple(range(3, 24, 4))), graph.start, graph.transitions)
    )  # fmt: skip
    assert made.node_sequences == [[0, 1, 0, 2] * 6]

    def alternates(order):
        player = made.player(240.0, seed=1, phrases=order)
        player.read(1500)
        turns = [node for node in player.path if node]
        return np.mean(np.diff(turns) != 0)

    assert alternates(2) > 0.8 > 0.65 > alternates(1)


@pytest.mark.slow
def test_phrases_survive_a_round_trip_and_old_files_have_none(steps, takes, tmp_path):
    named = {take.name: take for take in takes}
    path = steps.save(tmp_path / "dance.json")
    assert load_choreography(path, named.__getitem__).runs == steps.runs
    assert sum(steps.runs) == len(steps.movements)
    data = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in data.items() if k != "runs"}))
    old = load_choreography(path, named.__getitem__)
    assert old.runs == () and old.node_sequences == []
    player = old.player(110.0, phrases=3)
    assert len(player.read(60)) == 60
    for runs in ([1], ["a"], 7, [-1, len(steps.movements) + 1]):
        path.write_text(json.dumps(data | {"runs": runs}))
        with pytest.raises(MotionFormatError, match="runs must be positive lengths that sum to"):
            load_choreography(path, named.__getitem__)


# --- loudness ---------------------------------------------------------------------------


def test_loudness_of_bars_comes_from_the_notes(tmp_path):
    loud = load_music(write_tune(tmp_path / "a.mid", bars=8, loudness=[1.0, 0.3]))
    bars = loud.loudness[:32].reshape(8, 4).mean(axis=1)
    assert np.all(bars[::2] > 2.0 * bars[1::2])
    with pytest.raises(InvalidInput, match="loudness must be numbers from 0 to 1"):
        write_tune(tmp_path / "a.mid", loudness=[2.0])
    np.testing.assert_allclose(
        beat_loudness(np.array([1.0, 2.0]), np.array([0.5, 1.5]), np.array([9.0, 4.0])), [1.0, 0.0]
    )


@pytest.mark.slow
def test_loud_bars_get_energetic_movements(steps, tmp_path):
    rng = np.random.default_rng(0)
    pattern = rng.permutation(np.repeat([1.0, 0.2], 20))
    song = load_music(write_tune(tmp_path / "a.mid", bars=40, tempo_bpm=112.0, loudness=pattern))
    bars = song.loudness[:160].reshape(40, 4).mean(axis=1)
    assert steps.energies.std() > 0.05 * steps.energies.mean()

    def agreement(dynamics):
        """Correlation of the loudness of a bar with the energy of the motion in it."""
        uncorrected = ClockSettings(corrections=0)
        motion = steps.dance_to(song, seed=2, dynamics=dynamics, clock=uncorrected).motions[0]
        speeds = np.sum(np.diff(motion.positions(), axis=0) ** 2, axis=2).mean(axis=1)
        edges = np.rint(song.beats[:160:4] * motion.fps).astype(int)
        energy = [speeds[a:b].mean() for a, b in zip(edges[:-1], edges[1:], strict=True)]
        return np.corrcoef(energy, bars[:-1])[0, 1]

    assert agreement(2.0) > 0.3 and abs(agreement(0.0)) < 0.35
    assert agreement(2.0) > agreement(0.0) + 0.2


# --- the paper's settings ----------------------------------------------------------------


def test_the_preset_dances_as_in_the_paper(steps, tmp_path):
    chosen = DanceSettings.kp03()
    assert (chosen.path.blend, chosen.path.bend, chosen.clock.corrections) == ("cardinal", False, 0)
    song = load_music(write_tune(tmp_path / "a.mid", bars=6, tempo_bpm=112.0))
    path = [[0.0, 0.0, 0.0], [12.0, 2.0, 2.0]]
    plain = steps.dance_to(song, follow=path, seed=1)
    paper = steps.dance_to(song, ml.DanceSettings.kp03(follow=path, seed=1))
    end = [motion.motions[0].root[-1, [0, 2]] for motion in (plain, paper)]
    assert np.hypot(*(end[0] - [2, 2])) < np.hypot(*(end[1] - [2, 2]))
    with pytest.raises(InvalidInput, match="preset must be one of kp03"):
        steps.dance_to(song, ml.DanceSettings.from_preset("kg04"))


def test_bending_can_be_switched_off(steps):
    def read(**options):
        player = steps.player(TempoClock(110.0), seed=3, **options)
        player.steer(direction=1.0, speed=0.25)
        return player.read(400).root

    assert np.abs(read(bend=False) - read()).max() > 0.1


def test_nodes_can_be_drawn_without_regard_to_the_goal(steps, monkeypatch):
    seen = []
    drawn = DancePlayer._drawn

    def recorded(self, likelihoods, misses=None):
        seen.append(misses)
        return drawn(self, likelihoods, misses)

    monkeypatch.setattr(DancePlayer, "_drawn", recorded)
    for prefer in (True, False):
        player = DancePlayer(steps, TempoClock(110.0), seed=3, prefer=prefer)
        player.steer(target=(0.0, 3.0))
        player.read(30)
    assert seen[0] and seen[1] is None


def test_the_clock_of_a_dance_is_corrected_by_its_beats(tmp_path):
    walks = [ml.demo.clip("walk", performer=p) for p in (0, 1)]
    steps = Choreography.from_takes(walks, ChoreographySettings.of({"meter": 2, "align": "beats"}))
    song = load_music(write_tune(tmp_path / "a.mid", bars=8, tempo_bpm=100.0))
    results = [
        steps.dance_to(song, seed=1, clock=ClockSettings(align="beats", corrections=count))
        .score()
        .f_measure
        for count in (6, 0)
    ]
    assert results[0] == 1.0 and results[1] < 0.9  # measured: 0.81


def test_seams_may_be_joined_as_they_are_and_nodes_blended(steps):
    def played(**options):
        player = DancePlayer(steps, TempoClock(110.0), seed=3, lock_feet=False, **options)
        block = player.read(600)
        motion = ml.Motion(player.skeleton, block.rotations, block.root, player.fps)
        pushed = np.linalg.norm(np.diff(motion.positions(), 2, axis=0), axis=-1).max()
        return pushed, np.count_nonzero(player._weights), len(player._current)

    pushed, blended, members = played()
    assert pushed < 0.06 and blended == 1 < members
    assert (
        played(inertialize=False)[0] > 5.0 * pushed
    )  # the paper: movements are joined as they are
    _, blended, members = played(one_movement=False)
    assert blended == members > 1


def test_cardinal_weights_differ_from_least_squares_and_go_as_far(steps):
    node = max(steps.dance_nodes, key=len)
    wanted = np.array([[0.0, -0.15], [-0.05, -0.2]])
    ours, paper = (node.weights_for(wanted, method=m) for m in ("least_squares", "cardinal"))
    assert np.abs(ours - paper).max() > 0.1 and paper.min() < 0.0 <= ours.min()
    np.testing.assert_allclose(ours @ node.travel, paper @ node.travel, atol=0.05)


@pytest.mark.slow
def test_tempo_level_and_preset_are_options_of_the_commands(takes, tmp_path):
    lib = ml.Library.create(tmp_path / "dances.loom")
    lib.add_motion(takes[0], name="groove")

    def run(*words):
        done = CliRunner().invoke(app, [str(word) for word in (*words, "--json")])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    plain = run("movements", lib.path, "--meter", 4)
    slow = run("movements", lib.path, "--meter", 4, "--level", 2, "--steady")
    quick = run("movements", lib.path, "--meter", 4, "--tempo-range", "150,300")
    assert slow["beat_frames"] == pytest.approx(2 * plain["beat_frames"], abs=1)
    assert quick["beat_frames"] == pytest.approx(plain["beat_frames"] / 2, abs=1)
    paper = run("movements", lib.path, "--meter", 4, "--preset", "kp03")
    assert paper["movements"] >= plain["movements"]
    for options in (
        ("--level", 2),
        ("--steady",),
        ("--tempo-range", "80,214"),
        ("--preset", "kp03"),
    ):
        made = run("dance", lib.path, "tune", "-o", tmp_path / "d.bvh", "--seconds", 6,
                   "--meter", 4, "--phrases", 2, "--dynamics", 1, *options)  # fmt: skip
        assert made["frames"] == 180 and made["beats_extra"] >= 0
    output = run("beats", f"{lib.path}:groove", "--preset", "kp03")
    assert output["period"] == pytest.approx(plain["beat_frames"] / 30.0, rel=0.1)
