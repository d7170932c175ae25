"""Motion beats: accuracy against known beats, the definition, and motions without rhythm."""

import csv
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from naive import rhythm as naive

import motionloom as ml
from motionloom.dance.motion_beats.beats import RHYTHMIC, huber_beats, steps_alternate
from motionloom.dance.motion_beats.candidates import (
    MIN_TURN,
    Candidates,
    candidate_beats,
    prominent_maxima,
)
from motionloom.dance.motion_beats.period import (
    contrast,
    periodogram,
    periods,
    simple_ratio,
    superposed,
)
from motionloom.dance.motion_beats.scores import beat_score
from motionloom.dance.motion_beats.tracking import grid_phase, steady_beats
from motionloom.dance.settings import BeatSettings
from motionloom.demo.dances import beat_study
from motionloom.demo.waltz import waltz_take
from motionloom.errors import InvalidInput, RoleError
from motionloom.motion.rotations import quaternions as rot


def errors_in_frames(detected, truth, fps=30.0):
    return np.array([np.min(np.abs(detected - beat)) for beat in truth]) * fps


def candidates_at(times, seconds, *, signals=None, sizes=None):
    times = np.asarray(times, float)
    sizes = np.ones(len(times)) if sizes is None else np.asarray(sizes, float)
    signals = np.zeros(len(times), np.int64) if signals is None else np.asarray(signals)
    return Candidates(times, sizes, sizes, signals, seconds)


@pytest.fixture(scope="module")
def groove():
    return ml.demo.annotated("dance_groove")


# --- accuracy, figure 6 of the paper ----------------------------------------------------


@pytest.mark.parametrize("performer", [0, 2])
def test_regular_beats_are_found_to_the_frame(performer):
    motion, truth = beat_study("regular", performer=performer)
    detected = ml.beats(motion)
    assert len(motion) == 900 and len(truth) == 60
    assert np.all(np.rint(errors_in_frames(detected.times, truth)) == 0.0)
    assert detected.period == pytest.approx(0.5, rel=0.002)


@pytest.mark.slow
def test_perturbed_beats_are_found_within_a_third_of_a_frame():
    off = []
    for seed in (0, 1):
        motion, truth = beat_study("perturbed", seed=seed)
        off.append(errors_in_frames(ml.beats(motion).times, truth))
    off = np.concatenate(off)
    assert off.mean() <= 0.33
    assert off.max() <= 1.0


def test_beats_of_a_dance_whose_limbs_are_early_and_late():
    off = []
    for performer in range(4):
        motion, truth = beat_study("dance", performer=performer, seconds=23.8)
        assert len(motion) == 714
        detected = ml.beats(motion)
        off.append(errors_in_frames(detected.times, truth))
        assert detected.period == pytest.approx(0.4, rel=0.01)
    assert np.concatenate(off).mean() <= 0.38


def test_a_beat_that_drifts_is_followed():
    sway = ml.demo.annotated("dance_sway", performer=1)  # every gap off by up to 15 %
    off = errors_in_frames(ml.beats(sway.motion).times, sway.truth.beats)
    assert off.mean() <= 0.38
    assert np.mean(off <= 1.0) >= 0.9


def test_a_change_of_tempo_in_the_middle_is_followed():
    fast, first = beat_study("regular", seconds=15.0, period=0.5)
    slow, second = beat_study("regular", seconds=15.0, period=0.6)
    whole = ml.concatenate([fast, slow])
    truth = np.concatenate([first, np.array(second) + 15.0])
    detected = ml.beats(whole).times
    assert np.mean(errors_in_frames(detected, truth) <= 1.0) >= 0.95
    gaps = np.diff(detected)
    assert np.median(gaps[detected[:-1] < 14.0]) == pytest.approx(0.5, abs=0.01)
    assert np.median(gaps[detected[:-1] > 16.0]) == pytest.approx(0.6, abs=0.01)


def test_a_couple_is_analyzed_together():
    leader, follower = ml.demo.couple()
    both = ml.beats([leader.motion, follower.motion])
    assert both.bpm == pytest.approx(leader.truth.tempo_bpm, rel=0.01)
    alone = candidate_beats([leader.motion])
    assert len(both.candidates) == len(alone) + len(candidate_beats([follower.motion]))


# --- the paper's own way ------------------------------------------------------------------


def swinging(period=0.5, seconds=12.0, fps=30.0, seed=0):
    """Limbs that swing about random axes and turn on every beat; the beats."""
    rng = np.random.default_rng(seed)
    body = ml.demo.clip("walk").skeleton
    moments = np.arange(int(seconds * fps) + 1) / fps
    rotations = np.tile(rot.IDENTITY, (len(moments), len(body), 1))
    for role in ("left_shoulder", "right_shoulder", "left_hip", "right_hip", "chest"):
        axis = rng.normal(size=3)
        late = rng.uniform(-0.04, 0.04)
        angle = rng.uniform(0.3, 0.7) * np.cos(np.pi * (moments - 0.2 - late) / period)
        turn = angle[:, None] * axis / np.linalg.norm(axis)
        rotations[:, body.joint(body.roles[role])] = rot.exp(turn)
    motion = ml.Motion(body, rotations, np.tile([0.0, 0.95, 0.0], (len(moments), 1)), fps)
    return motion, np.arange(0.2, seconds, period)


def test_the_preset_is_the_method_of_the_paper():
    motion, _ = swinging()
    names = [motion.skeleton.roles[r] for r in ("left_shoulder", "right_shoulder", "left_hip",
                                                "right_hip", "chest")]  # fmt: skip
    joints = [motion.rotations[:, motion.skeleton.joint(name)].tolist() for name in names]
    period, beats = naive.motion_beats(joints, 30.0, motion.duration, 0.3, 0.9, 0.04)
    detected = ml.beats(motion, BeatSettings.kp03(tempo_bpm=(60.0 / 0.9, 200.0)))
    assert detected.period == pytest.approx(period, rel=0.01)
    inner = np.array(beats)[2:-2]
    assert np.abs(detected.times[None] - inner[:, None]).min(axis=1).max() < 0.3 / 30.0
    with pytest.raises(InvalidInput, match="preset must be one of kp03"):
        BeatSettings.from_preset("kg04")


def test_candidates_without_our_rules_are_those_of_the_paper():
    """Every zero crossing: neither smoothed nor limited to joints that evidently move."""
    motion, _ = swinging()
    for derivative, kind in ((1, "velocity"), (2, "acceleration")):
        expected = sorted(
            time
            for joint in range(len(motion.skeleton))
            for times in naive.candidate_beats(
                motion.rotations[:, joint].tolist(), 30.0, derivative
            )
            for time in times
        )
        paper = {"kind": kind, "weighted": False}
        candidates = candidate_beats([motion], smoothing=0.0, min_turn=0.0, **paper)
        np.testing.assert_allclose(candidates.times, expected, atol=1e-9)
        assert set(candidates.weights) == {1.0}
    for rule in ({"smoothing": 0.0}, {"min_turn": 0.0}, {}):
        assert len(candidate_beats([motion], **rule, **paper)) != len(expected)
    # Both rules remove noise: a groove has three times the candidates without the second.
    groove = ml.demo.clip("dance_groove")
    counts = [len(candidate_beats([groove], min_turn=least)) for least in (MIN_TURN, 0.0)]
    assert counts[1] > 3 * counts[0]


def test_equation_7_as_printed_is_largest_at_phase_0():
    """So the phase is that of a cosine instead."""
    motion, truth = swinging()
    signal = superposed(candidate_beats([motion], kind="acceleration", weighted=False))
    correlated = [np.dot(signal[: len(signal) - k], signal[k:]) for k in range(30)]
    assert int(np.argmax(correlated)) == 0
    assert 0.1 < grid_phase(signal, 0.5) < 0.9


def test_zero_crossings_of_the_acceleration_lie_between_the_changes_of_direction():
    """Where a swing is fastest, its acceleration is zero: half a beat from where it turns."""
    motion, truth = swinging()
    inner = truth[2:-2]
    literal = ml.beats(motion, BeatSettings.kp03(candidates="acceleration"))
    assert beat_score(inner, literal.times).matched == 0
    between = 0.5 * (literal.times[1:] + literal.times[:-1])
    assert beat_score(inner, between).matched == len(inner)
    assert beat_score(inner, ml.beats(motion, BeatSettings.kp03()).times).matched == len(inner)


@pytest.mark.parametrize("kind, least", [("regular", 0.97), ("perturbed", 0.7), ("dance", 0.98)])
def test_figure_6_by_the_method_of_the_paper(kind, least):
    scores = []
    for performer in range(2):
        motion, truth = beat_study(kind, performer=performer, seconds=23.8)
        scores.append(beat_score(truth, ml.beats(motion, BeatSettings.kp03()).times))
    assert np.mean([score.f_measure for score in scores]) >= least
    assert max(score.variance for score in scores) < 1.1


def test_the_highest_power_counts_even_at_an_end_of_the_range():
    """Equation (6) is a maximum over all frequencies, which need not be a peak."""
    moments = np.arange(1200) / 60.0
    signal = np.cos(2.0 * np.pi * moments / 0.278) + 0.2 * np.cos(2.0 * np.pi * moments / 0.6)
    best = periods(signal, None, rate=30.0, shortest=0.28, longest=1.5)[0]
    assert best.seconds == pytest.approx(0.28, rel=0.01)


# --- levels and scores --------------------------------------------------------------------


def test_another_metrical_level_can_be_chosen(groove):
    plain = ml.beats(groove.motion)
    for level in (0.5, 2.0):
        detected = ml.beats(groove.motion, level=level)
        assert detected.period == pytest.approx(level * plain.period, rel=0.02)
        assert len(detected) == pytest.approx(len(plain) / level, abs=3)
    slow = ml.beats(groove.motion, level=2.0)
    off = [np.min(np.abs(plain.times - beat)) for beat in slow.times]
    assert np.median(off) < 1.0 / 30.0
    with pytest.raises(InvalidInput, match="level must be greater than 0"):
        ml.beats(groove.motion, level=0.0)


def test_extra_beats_cost_as_much_as_missed_ones():
    truth = np.arange(1.0, 11.0)
    exact = beat_score(truth, truth + 0.01)
    assert (exact.matched, exact.extra, exact.f_measure) == (10, 0, 1.0)
    assert exact.mean_error == pytest.approx(0.3) and exact.variance == pytest.approx(0.0)
    double = beat_score(truth, np.arange(1.0, 10.5, 0.5))
    half = beat_score(truth, truth[::2])
    assert double.recall == 1.0 and double.precision == pytest.approx(10 / 19)
    assert half.precision == 1.0 and half.recall == 0.5
    assert double.f_measure == pytest.approx(half.f_measure, abs=0.03)
    twice = beat_score(truth, np.sort(np.append(truth, truth[3] + 0.005)))
    assert (twice.matched, twice.extra) == (10, 1)  # each beat is matched once
    assert beat_score(truth, []).f_measure == 0.0 and beat_score([], truth).extra == 10
    assert beat_score(truth, truth + 50.0).extra == 0  # in another part of the take


# --- robustness -------------------------------------------------------------------------


@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
def test_the_rate_of_the_take_does_not_matter(fps):
    made = ml.demo.annotated("dance_groove", performer=1, fps=fps)
    detected = ml.beats(made.motion)
    assert detected.bpm == pytest.approx(made.truth.tempo_bpm, rel=0.02)
    assert np.median(errors_in_frames(detected.times, made.truth.beats)) <= 0.3


def noisy(motion, meters, rng):
    """Every bone turned as if its end were off by so much, the root shifted."""
    skeleton = motion.skeleton
    reach = np.full(len(skeleton), np.inf)
    for parent, offset in zip(skeleton.point_parents, skeleton.point_offsets, strict=True):
        if parent >= 0:
            reach[parent] = min(reach[parent], max(float(np.linalg.norm(offset)), 0.08))
    turn = rng.normal(size=(len(motion), len(skeleton), 3)) * (meters / reach)[None, :, None]
    return replace(
        motion,
        rotations=rot.multiply(motion.rotations.astype(float), rot.exp(turn)),
        root=motion.root + meters * rng.normal(size=motion.root.shape),
    )


def test_two_centimeters_of_noise_do_not_matter(groove, rng):
    detected = ml.beats(noisy(groove.motion, 0.02, rng))
    assert detected.bpm == pytest.approx(groove.truth.tempo_bpm, rel=0.02)
    off = errors_in_frames(detected.times, groove.truth.beats)
    assert np.median(off) <= 1.0


def test_a_cut_off_start_does_not_matter(groove):
    cut = len(groove.motion) // 5
    detected = ml.beats(groove.motion[cut:])
    truth = [beat - cut / 30.0 for beat in groove.truth.beats if beat > cut / 30.0]
    assert detected.bpm == pytest.approx(groove.truth.tempo_bpm, rel=0.02)
    assert errors_in_frames(detected.times, truth).mean() <= 0.5


def is_simple_multiple(ratio):
    return any(abs(ratio / k - 1.0) <= 0.02 for k in (0.5, 1.0, 2.0))


@pytest.mark.cmu
def test_periods_of_real_gaits_and_dances_agree_with_independent_measurements(cmu_data, cmu30):
    with open(cmu_data / "beats" / "dev.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        name = row["file"]
        take = ml.load(cmu30 / name.split("_")[0].zfill(3) / f"{name}.bvh")
        for motion in (take, take[len(take) // 5 :]):
            detected = ml.beats(motion)
            assert is_simple_multiple(detected.period / float(row["step_s"])), name


@pytest.mark.slow
@pytest.mark.cmu
def test_periods_hold_at_the_rate_of_capture(cmu_data, cmu_raw):
    with open(cmu_data / "beats" / "dev.csv", encoding="utf-8") as file:
        steps = {row["file"]: float(row["step_s"]) for row in csv.DictReader(file)}
    for name in ("91_19", "35_01"):
        take = ml.load(cmu_raw / f"{name}.bvh")
        for motion in (take, take.resample(60), take.resample(30)):
            assert is_simple_multiple(ml.beats(motion).period / steps[name]), name


# --- no rhythm, bad input ---------------------------------------------------------------


def test_a_body_that_stands_still_has_no_beats(groove):
    pose = groove.motion[100]
    still = ml.concatenate([pose] * 120)
    detected = ml.beats(still)
    assert len(detected) == 0 and detected.confidence == 0.0 and not detected.rhythmic
    assert detected.as_dict()["beats"] == []


@pytest.mark.slow
def test_aimless_movement_mostly_has_no_rhythm(groove):
    from scipy.ndimage import gaussian_filter1d

    skeleton, sure = groove.motion.skeleton, []
    for seed in range(5):
        noise = np.random.default_rng(seed).normal(size=(900, len(skeleton), 3))
        wander = rot.exp(1.5 * gaussian_filter1d(noise, 9.0, axis=0))
        aimless = ml.Motion(skeleton, wander, np.zeros((900, 3)), 30.0)
        sure.append(ml.beats(aimless).confidence)
    assert np.median(sure) < RHYTHMIC and max(sure) < 0.5


def test_a_dance_has_a_higher_confidence_than_sitting_down(groove):
    dance, sitting = ml.beats(groove.motion), ml.beats(ml.demo.clip("sit_stand"))
    assert dance.confidence > 0.9 > 0.5 > sitting.confidence


def test_invalid_input_is_rejected(groove):
    motion = groove.motion
    with pytest.raises(InvalidInput, match=r"beats need at least 0.84 s of motion"):
        ml.beats(motion[:10])
    with pytest.raises(InvalidInput, match="two tempos, the slower one first"):
        ml.beats(motion, tempo_bpm=(120.0, 60.0))
    for tempos in ((120.0,), 90.0, ("slow", "fast"), (float("nan"), 90.0)):
        with pytest.raises(InvalidInput, match="tempo_bpm must be two (tempos|numbers).* got"):
            ml.beats(motion, tempo_bpm=tempos)
    with pytest.raises(InvalidInput, match="the same frame rate and length"):
        ml.beats([motion, motion[:-1]])
    with pytest.raises(InvalidInput, match="got an empty list"):
        ml.beats([])
    with pytest.raises(InvalidInput, match="candidates must be one of turns, velocity, acc"):
        ml.beats(motion, candidates="drums")
    with pytest.raises(InvalidInput, match="weights must be at least 0"):
        ml.beats(motion, weights={"hips": -1.0})
    with pytest.raises(RoleError, match="no joint is called 'tail'"):
        ml.beats(motion, weights={"tail": 1.0})
    with pytest.raises(InvalidInput, match="kind must be one of regular, perturbed, dance"):
        beat_study("waltz")
    with pytest.raises(InvalidInput, match=r"period must be greater than 0.2 s"):
        beat_study("regular", period=0.1)


# --- the parts, against the paper -------------------------------------------------------


def test_superposed_cosines_are_those_of_the_paper(rng):
    first, second = np.sort(rng.uniform(0, 5, 9)), np.sort(rng.uniform(0, 5, 7))
    times = np.concatenate([first, second])
    order = np.argsort(times)
    signals = np.repeat([0, 1], [9, 7])[order]
    sizes = np.repeat([1.0, 0.3], [9, 7])[order]
    signal = superposed(candidates_at(times[order], 5.0, signals=signals, sizes=sizes))
    for k in range(0, len(signal), 7):
        t = k / 60.0
        expected = naive.piecewise_cosine(first, t) + 0.3 * naive.piecewise_cosine(second, t)
        assert signal[k] == pytest.approx(expected, abs=1e-9)


def test_the_periodogram_is_that_of_the_paper(rng):
    signal = rng.normal(size=200)
    frequencies, power = periodogram(signal, rate=60.0)
    for k in rng.integers(1, len(frequencies), size=12):
        assert power[k] == pytest.approx(naive.power(signal, 60.0, frequencies[k]), rel=1e-6)


def test_beats_are_huber_estimates_around_reference_beats(rng):
    reference = np.arange(1.0, 6.0)
    times = np.sort(rng.uniform(0.5, 5.5, 80))
    weights = rng.uniform(0.1, 1.0, 80)
    estimated = huber_beats(candidates_at(times, 6.0, sizes=weights), reference)
    spans = [(times >= beat - 0.5) & (times < beat + 0.5) for beat in reference]
    own = 0.1 * np.median([weights[near].sum() for near in spans])  # of the reference beat
    for beat, near, place in zip(reference, spans, estimated, strict=True):
        expected = naive.huber_location(
            np.append(times[near], beat), np.append(weights[near], own), 0.04
        )
        assert place == pytest.approx(expected, abs=1e-4)


def test_a_reference_beat_without_candidates_is_kept():
    result = huber_beats(candidates_at([1.02, 3.04], 4.0), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(result, [1.0 + 0.02 / 1.1, 2.0, 3.0 + 0.04 / 1.1], atol=1e-6)


def test_a_grid_fits_the_signal_it_was_made_from():
    moments = np.arange(600) / 60.0
    signal = np.cos(2.0 * np.pi * (moments - 0.13) / 0.45)
    assert grid_phase(signal, 0.45) == pytest.approx(0.13, abs=0.01)
    np.testing.assert_allclose(steady_beats(0.13, 0.45, 0.0, 1.2), [0.13, 0.58, 1.03])


def test_a_plain_swing_turns_at_its_ends_and_accelerates_half_way():
    skeleton = ml.Skeleton(["hips", "hand"], [-1, 0], [[0, 0, 0], [0, 0.5, 0]])
    moments = np.arange(301) / 30.0
    angle = 0.8 * np.cos(np.pi * moments)  # turns at every whole second
    rotations = np.tile(rot.IDENTITY, (301, 2, 1))
    rotations[:, 0] = rot.from_axis_angle([1, 0, 0], angle)
    swing = ml.Motion(skeleton, rotations, np.zeros((301, 3)), 30.0)
    turns = candidate_beats([swing]).times
    assert np.abs(turns - np.rint(turns)).max() < 0.02
    crossings = candidate_beats([swing], kind="acceleration").times
    inside = crossings[(crossings > 0.4) & (crossings < 9.6)]
    assert np.abs(inside - np.floor(inside) - 0.5).max() < 0.02
    heavy = candidate_beats([swing], weights={"hips": 0.0})
    assert len(heavy) == 0


def test_contrast_is_near_one_for_noise_and_large_for_a_beat(rng):
    quiet = [contrast(rng.normal(size=1800), shortest=0.3, longest=1.5) for _ in range(20)]
    assert 0.5 < np.mean(quiet) < 1.5
    beat = np.cos(2.0 * np.pi * np.arange(1800) / 60.0 / 0.5)
    assert contrast(beat, shortest=0.3, longest=1.5) > 4.0
    assert contrast(np.zeros(100), shortest=0.3, longest=1.5) == 0.0


def test_half_and_double_are_always_reported(groove):
    detected = ml.beats(groove.motion)
    ratios = {other.ratio: other for other in detected.alternatives}
    assert ratios[Fraction(1, 2)].seconds == pytest.approx(detected.period / 2, rel=0.05)
    assert ratios[Fraction(2)].seconds == pytest.approx(detected.period * 2, rel=0.05)
    strengths = [other.strength for other in detected.alternatives]
    assert strengths == sorted(strengths, reverse=True) and strengths[0] <= 1.0
    answer = detected.as_dict()["alternatives"]
    assert {"1/2", "2"} <= {other["ratio"] for other in answer}


def test_ratios_of_levels_are_named():
    assert simple_ratio(2.03) == Fraction(2)
    assert simple_ratio(0.66) == Fraction(2, 3)
    assert simple_ratio(1.2) is None


def test_two_stray_candidates_do_not_move_a_beat():
    steps = np.repeat(np.arange(1.0, 9.0), 6) + np.tile([-0.02, -0.01, 0.0, 0.0, 0.01, 0.02], 8)
    steps = np.append(steps[np.abs(steps - 4.0) > 0.1], [4.3, 4.32])  # nothing turns on beat 4
    weights = np.append(np.ones(42), [0.2, 0.2])
    order = np.argsort(steps)
    result = huber_beats(
        candidates_at(steps[order], 9.0, sizes=weights[order]), np.arange(1.0, 9.0)
    )
    np.testing.assert_allclose(result, np.arange(1.0, 9.0), atol=0.05)


@pytest.mark.parametrize("seed", [0, 1])
def test_every_beat_of_a_waltz_is_found(seed):
    pair = ml.demo.couple(seed=seed)
    truth = np.array(pair[0].truth.beats)
    detected = ml.beats([part.motion for part in pair]).times
    off = 30.0 * np.array([detected[np.abs(detected - beat).argmin()] - beat for beat in truth])
    assert np.abs(off).max() < 3.0 and off.std() < 0.8  # the first one used to be eight frames off


@pytest.mark.slow
@pytest.mark.parametrize("bodies", [slice(0, 2), slice(0, 1), slice(1, 2)])
def test_a_waltz_that_lilts_between_its_steps_is_counted_in_steps(bodies):
    take = waltz_take()
    detected = ml.beats(list(take.motions)[bodies])
    assert detected.bpm == pytest.approx(90.0, rel=0.01)
    off = np.abs(detected.times[None] - take.beats[:, None]).min(axis=1)
    assert np.mean(off <= 2.0 / 30.0) > 0.9
    half = next(
        alternative for alternative in detected.alternatives if alternative.ratio == Fraction(1, 2)
    )
    assert half.seconds == pytest.approx(detected.period / 2.0, rel=0.01) and half.strength == 1.0


def test_feet_on_every_beat_or_too_few_of_them_change_nothing():
    beats = np.arange(0.0, 10.0, 0.5)

    assert steps_alternate(beats, beats[::2] + 0.1) and steps_alternate(beats, beats[1::2] - 0.1)
    for landings in (beats, beats[:14:2], np.zeros(0)):
        assert not steps_alternate(beats, landings)


@pytest.mark.parametrize("kind", ["noise", "steps", "waves", "flat", "short"])
def test_prominent_maxima_are_those_of_scipy(kind, rng):
    from scipy.signal import find_peaks

    made = {
        "noise": rng.normal(size=500),
        "steps": rng.integers(0, 4, size=500).astype(float),  # plateaus, also at the ends
        "waves": np.sin(np.arange(400) / 7.0) + 0.1 * rng.normal(size=400).cumsum(),
        "flat": np.ones(20),
        "short": np.array([1.0, 2.0]),
    }[kind]
    for least in (0.0, 0.3, 1.0, 10.0):
        places, prominences = prominent_maxima(made, least)
        expected, about = find_peaks(made, prominence=least)
        assert np.array_equal(places, expected)
        assert np.array_equal(prominences, about["prominences"])
