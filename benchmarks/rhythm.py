"""``python -m benchmarks rhythm``: motion beat trackers, with their errors in the notes.

The trackers are motionloom, kinematic beats as in AIST++ (local minima of the mean joint speed),
and the tempo estimator and beat tracker of librosa on our density of candidate beats. The ground
truth is the known beats of the built-in studies and, if the CMU data set is available, periods of
gaits and dances measured from the feet.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Settings
from benchmarks.rivals import Package, absence, label
from benchmarks.takes import CREDIT, measured_rhythms
from benchmarks.timing import Contestant, Log, Missing, Result, compare, timings
from motionloom import demo
from motionloom.dance.beat_clock import MusicClock
from motionloom.dance.choreography import Choreography
from motionloom.dance.motion_beats.beats import beats
from motionloom.dance.motion_beats.candidates import candidate_beats
from motionloom.dance.motion_beats.scores import beat_score
from motionloom.dance.motion_beats.tracking import density
from motionloom.dance.music import Music
from motionloom.dance.settings import ChoreographySettings
from motionloom.demo.dances import STUDIES, beat_study
from motionloom.formats import load
from motionloom.motion import Motion

SUMMARY = "motion beats compared with kinematic beats and librosa, with errors"
PACKAGES = (Package("librosa", "librosa"),)

Array = NDArray[np.float64]
_CURVE_RATE = 60.0
_FRAMES = 3000
_LEVELS = (0.5, 1.0, 2.0)  # accepted metrical levels: half, same, double


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    missing = absence(PACKAGES[0], "rhythm")
    results: list[Result] = []
    sets: dict[str, list[tuple[Motion, Array]]] = {}
    for kind in STUDIES:
        made = [beat_study(kind, performer=who, seed=settings.seed) for who in range(4)]
        sets[f"{kind} beats, 4 takes of 30 s"] = [(m, np.array(t)) for m, t in made]
    for name in ("dance_groove", "dance_sway"):
        shown = [demo.annotated(name, performer=who) for who in range(4)]
        sets[f"{name}, 4 takes"] = [(p.motion, np.array(p.truth.beats)) for p in shown]
    for what, takes in sets.items():
        note = partial(beat_errors, takes)
        results += tracker_rows(what, [m for m, _ in takes], note, missing, settings, log)
    measured = measured_takes(settings, log)
    if measured:
        note = partial(period_errors, measured)
        what = f"{len(measured)} CMU gaits and dances with measured periods"
        results += tracker_rows(what, [m for m, _ in measured], note, missing, settings, log)
    results += playback_rows(settings, log)
    return {
        "data": "the built-in beat studies and dances" + (", CMU takes" if measured else ""),
        "credit": CREDIT if measured else "",
        "results": [row.as_dict() for row in results],
    }


def kinematic_beats(motion: Motion) -> Array:
    """Local minima of the mean joint speed, smoothed over five frames at 60 Hz, in seconds."""
    from scipy.ndimage import gaussian_filter1d
    from scipy.signal import argrelextrema

    even = motion.resample(_CURVE_RATE)
    speed = np.linalg.norm(np.diff(even.positions().astype(np.float64), axis=0), axis=2).mean(1)
    lowest = argrelextrema(gaussian_filter1d(speed, 5.0), np.less)[0]
    return (lowest.astype(np.float64) + 0.5) / _CURVE_RATE


def librosa_beats(motion: Motion) -> Array:
    """Beats that librosa finds in our density of candidate beats, in seconds."""
    import librosa

    curve = density(candidate_beats([motion]), rate=_CURVE_RATE)
    _, detected = librosa.beat.beat_track(
        onset_envelope=curve, sr=_CURVE_RATE, hop_length=1, trim=False
    )
    return np.asarray(detected, dtype=np.float64) / _CURVE_RATE


def librosa_period(motion: Motion) -> float:
    """Tempo that librosa estimates from the same curve, as a period in seconds."""
    import librosa

    curve = density(candidate_beats([motion]), rate=_CURVE_RATE)
    tempo = librosa.feature.tempo(onset_envelope=curve, sr=_CURVE_RATE, hop_length=1)
    return 60.0 / float(tempo[0])


def _ours(motion: Motion) -> Array:
    return beats(motion).times


_BEATS: dict[str, Callable[[Motion], Array]] = {
    "motionloom": _ours,
    "kinematic beats (AIST++)": kinematic_beats,
    "librosa": librosa_beats,
}
_PERIODS: dict[str, Callable[[Motion], float]] = {
    "motionloom": lambda motion: beats(motion).period,
    "kinematic beats (AIST++)": lambda m: float(np.median(np.diff(kinematic_beats(m)))),
    "librosa": librosa_period,
}


def playback_rows(settings: Settings, log: Log) -> list[Result]:
    """Frames per second of one dancing character; the paper reports 2,000."""
    song = Music(np.arange(0.25, 200.0, 0.5), 4, np.arange(0, 399, 4), 200.0)
    takes = [demo.clip("dance_groove", seed=seed) for seed in (0, 1)]
    steps = Choreography.from_takes(takes, ChoreographySettings(meter=4))
    steps.player(MusicClock(song)).read(_FRAMES)  # compile the kernels first
    dancing = Contestant("motionloom", lambda: steps.player(MusicClock(song)).read(_FRAMES))
    own = timings([dancing], rounds=settings.rounds, budget_s=settings.budget_s)[0]
    rate = _FRAMES / own.cpu_s
    note = f"{rate:,.0f} frames per second of one core; the paper reports 2,000 (2003)"
    what = f"{_FRAMES:,} frames of one character dancing to music"
    log(f"{what}: {note}")
    return [Result(what, own.wall_s, "", None, None, note, own.cpu_s, rounds=own.rounds)]


def tracker_rows(what, motions, note, missing, settings: Settings, log: Log) -> list[Result]:
    """Time of each tracker over all motions; the note has the errors of rival and motionloom."""
    mine = note("motionloom")
    rivals: list[Contestant | Missing] = []
    for name in ("kinematic beats (AIST++)", "librosa"):
        if name == "librosa" and missing is not None:
            rivals.append(missing)
            continue
        title = label(PACKAGES[0]) if name == "librosa" else name
        call = partial(_each, _BEATS[name], motions)
        rivals.append(Contestant(title, call, f"theirs: {note(name)}; ours: {mine}"))
    ours = Contestant("motionloom", partial(_each, _ours, motions))
    return compare(what, ours, rivals, rounds=settings.rounds, budget_s=settings.budget_s, log=log)


def _each(act, motions) -> None:
    for motion in motions:
        act(motion)


def beat_errors(takes: list[tuple[Motion, Array]], name: str) -> str:
    """Errors of a tracker and its F-measure, compared with known beats, as text.

    The error is the distance from each known beat to the nearest detected one. In the F-measure
    with a tolerance of one frame, extra beats count as much as missed ones.
    """
    scores = [beat_score(truth, _BEATS[name](motion)) for motion, truth in takes]
    error = np.mean([score.mean_error for score in scores])
    within = sum(score.matched for score in scores) / sum(score.expected for score in scores)
    f_measure = np.mean([score.f_measure for score in scores])
    return (
        f"error {error:.2f} frames of 1/30 s, {100 * within:.0f} % within one, F-measure "
        f"{f_measure:.2f}"
    )


def period_errors(measured: list[tuple[Motion, float]], name: str) -> str:
    """Number of takes whose period a tracker finds, up to a metrical level, as text."""
    good = 0
    for motion, step in measured:
        ratio = _PERIODS[name](motion) / step
        good += any(abs(ratio / level - 1.0) <= 0.02 for level in _LEVELS)
    return f"{good} of {len(measured)} periods within 2 %"


def measured_takes(settings: Settings, log: Log) -> list[tuple[Motion, float]]:
    """Takes of the CMU data set with a step period measured from the feet."""
    motions = [(load(path), step) for path, step in measured_rhythms(settings, log=log)]
    return [(motion, step) for motion, step in motions if isinstance(motion, Motion)]
