"""Foot landings and beats: tempo by hand, partners, step cycles, and music met by landings."""

import json
from dataclasses import replace

import numpy as np
import pytest
from commands import ran as run

import motionloom as ml
from motionloom.dance.choreography import Choreography
from motionloom.dance.motion_beats.landings import (
    LandingFit,
    foot_landings,
    group_fit,
    landed_beats,
    landing_fit,
    toe_landings,
)
from motionloom.dance.motion_beats.meter import estimated_meter
from motionloom.dance.motion_beats.period import RATE, Period
from motionloom.dance.motion_beats.steps import led_by_steps, step_cycle
from motionloom.dance.music import Music
from motionloom.dance.settings import (
    BeatSettings,
    ChoreographySettings,
    ClockSettings,
    LikelihoodSettings,
    MovementSettings,
)
from motionloom.errors import InvalidInput, LibraryError

SALSA = [(60, 61, k) for k in (1, 3, 5, 6, 8, 10, 11, 15)]


def take_of(cmu30, name):
    return ml.load(cmu30 / name.split("_")[0].zfill(3) / f"{name}.bvh")


def dancer(pattern, cycle, rng, *, seconds=30.0, scatter=0.02):
    """Landings of a dancer whose right foot repeats the left one half a cycle later."""
    bars = np.arange(0.0, seconds, cycle)[:, None]
    left, right = (
        (bars + cycle * ((np.array(pattern) + late) % 1.0)).ravel() for late in (0.0, 0.5)
    )
    noisy = [side + scatter * rng.normal(size=len(side)) for side in (left, right)]
    return tuple(np.sort(side[(side >= 0.0) & (side < seconds)]) for side in noisy)


# --- landings against beats ---------------------------------------------------------------


def test_landings_are_counted_on_beats_and_half_beats():
    beats = np.arange(0.0, 10.0, 0.5)
    fit = landing_fit([0.0, 0.52, 1.2, 1.75, 2.0, 12.0], beats)
    assert (fit.total, fit.on_beat, fit.on_half_beat, fit.beats_met) == (5, 3, 1, 3)
    assert fit.share == 0.6
    assert "3 of 5 foot landings on a beat, 1 on a half beat" in fit.text
    assert landing_fit([], beats).text == "no foot landings"


def test_partners_who_step_in_turn_meet_every_beat_together():
    beats = np.arange(0.5, 20.0, 0.5)
    inner = beats[1:-1]
    first, other = beats[::2], beats[1::2]
    fit = group_fit([first, other], beats, inner)
    assert (fit.beats, fit.beats_met) == (len(inner), len(inner))
    assert fit.total == fit.on_beat == len(beats)
    alone = group_fit([first], beats, inner)
    assert (alone.beats, alone.beats_met) == (len(inner), len(first) - 2)


def test_steps_between_beats_have_a_high_coherence_with_half_beats_only():
    beats = np.arange(0.5, 20.0, 0.5)
    fit = group_fit([beats, beats[:-1] + 0.25], beats, beats)
    both = landing_fit(np.concatenate([beats, beats[:-1] + 0.25]), beats)
    assert both.coherence < 0.05 < 0.99 < both.half_coherence
    assert fit.half_coherence > 0.99
    assert "with half beats 1.00" in both.text


def test_random_landings_have_the_coherence_of_noise(rng):
    beats = np.arange(0.0, 100.0, 0.5)
    fits = [landing_fit(rng.uniform(0.0, 99.0, 60), beats) for _ in range(200)]
    assert np.mean([fit.coherence for fit in fits]) == pytest.approx(fits[0].noise, rel=0.1)
    assert np.mean([fit.share for fit in fits]) == pytest.approx(0.2, abs=0.02)


def test_landings_of_several_dancers_are_summed():
    first, two = landing_fit([0.0, 1.0], [0.0, 1.0]), landing_fit([0.5], [0.0, 1.0])
    both = LandingFit.total_of([first, two])
    assert (both.total, both.on_beat, both.on_half_beat) == (3, 2, 1)


def test_beats_move_to_landings_and_never_cross(rng):
    times = np.arange(0.0, 20.0, 0.4)
    steps = [0.0, 0.4, 0.96, 1.6, 2.0, 2.56]  # quick, quick, slow, the third too late
    landed = np.concatenate([start + np.array(steps) for start in np.arange(0.0, 19.0, 3.2)])
    moved = landed_beats(times, landed)
    assert landing_fit(landed, times).share < 0.75
    assert landing_fit(landed, moved).share > 0.95
    for _ in range(20):
        moved = landed_beats(times, np.sort(rng.uniform(0.0, 19.0, 60)))
        assert np.all(np.diff(moved) > 0.15)


def test_beats_of_a_march_half_a_beat_after_the_landings_are_shifted():
    times = np.arange(0.3, 12.0, 0.6)
    moved = landed_beats(times, np.arange(0.0, 12.0, 0.6), seconds=12.0)
    assert landing_fit(np.arange(0.0, 12.0, 0.6), moved).share == 1.0


# --- step cycles --------------------------------------------------------------------------


@pytest.mark.parametrize("scatter", [0.01, 0.05])
def test_even_and_quick_quick_slow_steps_are_distinguished(rng, scatter):
    even = step_cycle([dancer([0.0, 2 / 6, 4 / 6], 2.8, rng, scatter=scatter)], 30.0)
    slow = step_cycle([dancer([0.0, 2 / 8, 5 / 8], 2.8, rng, scatter=scatter)], 30.0)
    assert even.seconds == pytest.approx(2.8, rel=0.01) and even.unevenness < 1.0
    assert slow.seconds == pytest.approx(2.8, rel=0.01) and slow.unevenness > 5.0


def test_random_landings_have_no_step_cycle(rng):
    cycles = [
        step_cycle([(np.sort(rng.uniform(0, 30, 25)), np.sort(rng.uniform(0, 30, 25)))], 30.0)
        for _ in range(20)
    ]
    assert sum(cycle is not None for cycle in cycles) <= 1


def test_a_pause_does_not_hide_the_cycle(rng):
    first, second = (dancer([0.0, 2 / 8, 5 / 8], 2.8, rng, seconds=20.0) for _ in range(2))
    both = tuple(np.concatenate([a, b + 23.7]) for a, b in zip(first, second, strict=True))
    assert step_cycle([both], 44.0).seconds == pytest.approx(2.8, rel=0.012)


def test_six_steps_in_eight_beats_replace_four_thirds_of_the_beat(rng):
    cycle = step_cycle([dancer([0.0, 2 / 8, 5 / 8], 2.8, rng)], 30.0)
    options = {"rate": 30.0, "shortest": 0.28, "longest": 1.5}
    free = np.zeros(150)
    possible = [Period(2.8 / 6, 1.0, 6, 0.5), Period(2.8 / 4, 0.6)]
    quiet = np.zeros(1800)
    led = led_by_steps(possible, cycle, free, quiet, **options)
    assert led[0].seconds == pytest.approx(0.35, rel=0.01)
    walk = free.copy()
    walk[[28, 84]] = 0.9  # every stride is like the last
    led = led_by_steps(possible, cycle, walk, quiet, **options)
    assert led[0].seconds == pytest.approx(2.8 / 6, rel=0.01)


@pytest.mark.parametrize(("beats", "period"), [(4, 2.8 / 8), (6, 2.8 / 6)])
def test_if_steps_are_unclear_the_whole_body_decides(rng, beats, period):
    cycle = step_cycle([dancer([0.0, 1 / 3, 2 / 3], 2.8, rng)], 30.0)
    assert cycle.unevenness < 1.0
    t = np.arange(1800) / RATE
    signal = np.cos(2 * np.pi * beats * t / 2.8) + 0.5 * np.cos(2 * np.pi * (10 - beats) * t / 2.8)
    possible = [Period(2.8 / 6, 1.0, 6, 0.5), Period(2.8 / 4, 0.6)]
    led = led_by_steps(
        possible, cycle, np.zeros(150), signal, rate=30.0, shortest=0.28, longest=1.5
    )  # fmt: skip
    assert led[0].seconds == pytest.approx(period, rel=0.01)


@pytest.mark.slow
@pytest.mark.cmu
@pytest.mark.parametrize("pairs", [SALSA[:2], SALSA[2:]])
def test_partners_in_one_take_share_the_beat(cmu30, pairs):
    """Without the step cycle, periods of partners agreed in none of these 8 takes (3 of all 15)."""
    agree = 0
    for leader, follower, k in pairs:
        pair = [take_of(cmu30, f"{name}_{k:02d}") for name in (leader, follower)]
        alone = [ml.beats(motion).period for motion in pair]
        agree += abs(alone[0] / alone[1] - 1.0) < 0.02
        cycle = step_cycle(
            [ml.beats(motion).candidates.feet[0] for motion in pair], pair[0].duration
        )
        assert ml.beats(pair).period == pytest.approx(cycle.seconds / 8, rel=0.02), k
    assert agree >= 0.5 * len(pairs)


# --- tempo by hand, partners --------------------------------------------------------------


@pytest.fixture(scope="module")
def groove():
    return ml.demo.clip("dance_groove")


def test_tempo_and_first_beat_are_taken_as_given(groove):
    detected = ml.beats(groove, bpm=90.0, first_beat=0.4)
    assert (
        detected.period == pytest.approx(60.0 / 90.0)
        and detected.confidence == 1.0
        and detected.given
    )
    assert np.allclose(detected.times[:3], 0.4 + np.arange(3) * 60.0 / 90.0)
    truth = ml.beats(groove)
    tempo = ml.beats(groove, bpm=truth.bpm)
    assert np.abs(tempo.times[:, None] - truth.times).min(axis=1).max() < 0.05
    late = ml.beats(groove, first_beat=0.4)
    assert late.times[0] == pytest.approx(0.4) and late.period == pytest.approx(truth.period, 0.01)


def test_a_rejected_motion_can_be_cut_with_a_given_tempo():
    still = ml.demo.clip("sit_stand")
    with pytest.raises(InvalidInput, match="no take has a rhythm"):
        Choreography.from_takes([still])
    made = Choreography.from_takes(
        [still],
        ChoreographySettings(
            meter=2,
            beats=BeatSettings(bpm=200.0, first_beat=0.0),
            transitions=LikelihoodSettings(min_likelihood=0.0),
        ),
    )
    assert made.period == pytest.approx(0.3, abs=0.02) and len(made.movements) >= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [({"bpm": 0.0}, "bpm"), ({"first_beat": -1.0}, "first_beat"), ({"first_beat": 99.0}, "within")],
)
def test_invalid_beats_are_rejected(groove, options, message):
    with pytest.raises(InvalidInput, match=message):
        ml.beats(groove, **options)


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    library = ml.Library.create(tmp_path_factory.mktemp("beats") / "takes.loom")
    library.add_motion(ml.demo.clip("dance_groove"), name="groove")
    for number, dancer in enumerate(ml.demo.couple(), 1):
        library.add_motion(dancer.motion, name=f"{number}_waltz")
    return library


def test_a_library_keeps_tempo_and_partners(lib, tmp_path):
    assert lib.beats.set("groove", bpm=90.0, first_beat=0.4) == ("groove",)
    again = ml.Library(lib.path)
    assert again.beats["groove"].times[0] == pytest.approx(0.4)
    assert again.beats.of("groove", bpm=60.0).period == pytest.approx(1.0)
    assert lib.choreography(takes=["groove"], meter=4).period == pytest.approx(2 / 3, abs=0.02)
    floor = lib.dance_floor(count=1, seconds=2, only="groove")
    assert floor.method == "choreography"
    lib.beats.set("1_*+2_*", bpm=60.0, first_beat=0.5)
    assert lib.ballroom(
        couples=1, seconds=3, movements=ml.CrowdMovements(meter=3)
    ).choreography.period == pytest.approx(1.0)
    assert lib.beats.set("1_*+2_*") == ("1_waltz", "2_waltz")
    assert lib.beats.manual()["1_waltz"].partners == ("2_waltz",)
    together = ml.beats([lib["1_waltz"], lib["2_waltz"]])
    assert lib.beats["1_waltz"].period == together.period
    assert len(lib.beats["1_waltz"].candidates.feet) == 1
    assert run("beats", f"{lib.path}:1_waltz", "-o", tmp_path / "a.png").returncode == 0
    assert lib.beats.set("groove") == ("groove",) and "groove" not in lib.beats.manual()
    with pytest.raises(LibraryError, match="no motion 'salsa'"):
        lib.beats.set("salsa", bpm=90.0)


def test_the_commands_set_save_and_report_beats(lib, tmp_path):
    take = f"{lib.path}:groove"
    data = json.loads(run("beats", take, "--bpm", 90, "--first-beat", 0.4, "--json").stdout)
    assert data["given"] and data["beats"][0] == 0.4 and data["landings"]["landings_total"] > 8
    assert run("beats", take, "--bpm", 90, "--first-beat", 0.4, "--save").returncode == 0
    assert json.loads(run("beats", take, "--json").stdout)["bpm"] == pytest.approx(90.0)
    done = run(
        "movements",
        lib.path,
        "--takes",
        "groove",
        "--meter",
        4,
        "-o",
        tmp_path / "a.json",
        "--json",
    )
    assert json.loads(done.stdout)["beat_frames"] == 20
    assert run("beats", take, "--save").returncode == 0
    assert not json.loads(run("beats", take, "--json").stdout)["given"]
    both = run("beats", f"{lib.path}:1_waltz+2_waltz", "--json")
    assert both.returncode == 0, both.stderr
    assert "LIB:NAME" in run("beats", "nothing.bvh", "--save").stderr
    out = tmp_path / "dance.bvh"
    done = run("dance", lib.path, "tune", "--takes", "groove", "--bpm", 90, "--first-beat", 0.4,
               "--meter", 4, "-o", out, "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["landings"]["landings_total"] > 0


# --- music met by landings ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.cmu
@pytest.mark.parametrize(
    "names",
    [
        ("138_01", "138_02"),
        ("60_03", "60_06", "60_08"),
        ("61_01", "61_03", "61_15"),
    ],
)
def test_feet_of_captured_dance_land_on_the_beats_of_music(cmu30, names):
    takes = [take_of(cmu30, name) for name in names]
    song = Music(np.arange(0.2, 24.0, 0.42), 4, np.arange(0, 57, 4), 24.0)
    shares = {}
    for align in ("landings", "beats"):
        steps = Choreography.from_takes(
            takes, ChoreographySettings(meter=4, movements=MovementSettings(align=align))
        )
        made = steps.dance_to(song, seed=2, clock=ClockSettings(align=align))
        shares[align] = made.landings()
    assert shares["landings"].share > 0.8 > shares["beats"].share
    assert shares["landings"].coherence > 0.7


@pytest.mark.cmu
@pytest.mark.slow
def test_another_path_is_tried_if_feet_land_between_beats(cmu30, monkeypatch):
    """Gymnastics and modern dance of CMU 49: the contacts of some paths are off any beat."""
    takes = [ml.load(file) for file in sorted((cmu30 / "049").glob("*.bvh"))]
    steps = Choreography.from_takes(takes)
    song = steps.music("tune")

    def shares():
        danced = (steps.dance_to(song, seed=seed, seconds=30.0) for seed in (4, 6))
        fits = [made.contact_landings for made in danced]
        assert all(fit.total >= 8 for fit in fits)
        return [fit.share for fit in fits]

    tried = shares()
    monkeypatch.setattr("motionloom.dance.dancing.dance._DRAWS", 1)
    assert max(shares()) < 0.8 < min(tried)


def test_a_skeleton_without_feet_has_no_landings(groove):
    from motionloom.motion import Motion, Skeleton

    stick = Motion(
        Skeleton(("a", "b"), (-1, 0), np.array([[0.0, 0, 0], [0, 1, 0]])),
        np.tile([1.0, 0, 0, 0], (30, 2, 1)), np.zeros((30, 3)), 30.0,
    )  # fmt: skip
    assert len(foot_landings(stick)) == 0 and len(foot_landings(groove)) > 8


def test_the_meter_divides_a_cycle_of_quick_and_slow_steps():
    groove = ml.demo.clip("dance_groove")
    detected = ml.beats(groove)
    bars = np.arange(0.0, detected.seconds, 8 * detected.period)[:, None]
    left = (bars + detected.period * np.array([0, 2, 5])).ravel()
    right = (bars + detected.period * np.array([1, 4, 6])).ravel()
    salsa = replace(detected, candidates=replace(detected.candidates, feet=((left, right),)))
    assert estimated_meter(groove, salsa).beats == 4


def test_toes_come_to_rest_between_frames():
    walk = ml.demo.clip("walk")
    toes, contacts = toe_landings(walk), foot_landings(walk)
    assert len(toes) == len(contacts)
    assert np.abs(toes - contacts).max() < 0.1
    assert np.any(np.abs(toes * walk.fps % 1.0) > 0.01)


def test_a_generated_tune_is_as_long_as_the_dance():
    steps = Choreography.from_takes([ml.demo.clip("dance_groove")])
    song = steps.music("tune", seconds=41.0)
    assert song.seconds == 41.0 and song.beats[-1] >= 41.0
