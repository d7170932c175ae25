"""Beat period from the landings of each foot, and beats that are edited by hand."""

import json

import numpy as np
import pytest
from commands import error_lines, ran
from naive.rhythm import step_period as naive_period

import motionloom as ml
from motionloom.dance.motion_beats.manual_beats import KIND
from motionloom.dance.motion_beats.period import Period
from motionloom.dance.motion_beats.steps import led_by_landings, step_period
from motionloom.errors import InvalidInput, LibraryError


def walk(rng, step, count=20, scatter=0.01):
    """Landings of left and right foot, a step apart."""
    times = step * np.arange(count) + rng.normal(0.0, scatter, count)
    return times[::2], times[1::2]


@pytest.mark.parametrize("off", [0.95, 1.0, 1.06])
def test_the_period_is_that_of_least_squares(rng, off):
    feet = [walk(rng, 0.53), walk(rng, 0.53)]
    refined = step_period(off * 0.53, feet)
    assert refined == pytest.approx(naive_period(off * 0.53, feet), rel=1e-9)
    assert refined == pytest.approx(0.53, rel=0.01)


def test_few_landings_and_those_that_do_not_fit_change_nothing(rng):
    assert step_period(0.5, []) == 0.5
    assert step_period(0.5, [(np.array([0.0, 1.0]), np.array([0.5, 1.5]))]) == 0.5
    random = np.sort(rng.uniform(0.0, 20.0, 25)), np.sort(rng.uniform(0.0, 20.0, 25))
    assert step_period(0.5, [random]) == 0.5
    assert step_period(0.6, [walk(rng, 0.5)]) == 0.6  # too far


def test_landings_choose_among_periods_that_are_as_strong(rng):
    possible = [Period(0.656, 1.0, 6), Period(0.56, 0.98, 2), Period(0.8, 0.5, 1)]
    feet = [walk(rng, 0.57)]
    led = led_by_landings(possible, feet, shortest=0.28, longest=1.5)
    assert led[0].seconds == 0.56 and {period.seconds for period in led} == {0.56, 0.656, 0.8}
    weak = [Period(0.656, 1.0, 6), Period(0.56, 0.6, 2)]
    assert led_by_landings(weak, feet, shortest=0.28, longest=1.5) == weak
    assert led_by_landings(possible, [], shortest=0.28, longest=1.5) == possible


@pytest.fixture
def lib(tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
    return lib


def test_single_beats_are_edited_and_saved(lib):
    before = lib.beats["groove"].times
    lib.beats.edit("groove", move={1: before[1] + 0.04}, add=[before[-1] - 0.2], remove=[0])
    kept = ml.Library(lib.path).beats["groove"]
    expected = sorted([before[1] + 0.04, *before[2:], before[-1] - 0.2])
    assert kept.times == pytest.approx(expected) and kept.given and kept.confidence == 1.0
    assert kept.period == pytest.approx(np.median(np.diff(expected)))
    lib.beats.set("groove", bpm=100.0)
    assert not lib.beats.manual()["groove"].times
    lib.beats.edit("groove", times=before)
    assert lib.beats.manual()["groove"].bpm == 100.0  # stays
    lib.beats.edit("groove", times=[])
    assert lib.beats.manual()["groove"].times == ()


def test_the_command_edits_beats(lib):
    before = lib.beats["groove"].times
    output = ran("beats", f"{lib.path}:groove", "--move", "2:1.5", "--remove", 0, "--json")
    expected = sorted([1.5, *np.delete(before, [0, 2])])
    assert json.loads(output.stdout)["beats"] == pytest.approx(expected, abs=1e-4)
    for words, message in (
        (["--move", "two"], "--move must be K:SECONDS"),
        (["--remove", 999], "beat number must be 0 to"),
        (["--add", 999], "beats must lie within the"),
    ):
        wrong = ran("beats", f"{lib.path}:groove", *words)
        assert wrong.returncode == 2 and message in error_lines(wrong.stderr)[0]


def test_invalid_beats_are_rejected(lib):
    for times, message in (
        ([1.0], "at least two finite times"),
        ([1.0, 1.01], "at least 0.05 s apart"),
        ([1.0, float("nan")], "at least two finite times"),
        ([-1.0, 1.0], "within the"),
    ):
        with pytest.raises(InvalidInput, match=message):
            lib.beats.edit("groove", times=times)
    lib.artifacts.save(KIND, "given", {"takes": {"groove": {"times": [3.0, 1.0]}}})
    with pytest.raises(LibraryError, match="the saved beats of groove are damaged"):
        lib.beats["groove"]


def test_the_studio_keeps_dragged_beats(lib):
    pytest.importorskip("fastapi")
    from studio_takes import studio_client

    with studio_client(lib) as client:
        given = client.get("/api/motions/groove/beats").json()["beats"]
        given[1] += 0.03
        kept = client.put("/api/motions/groove/beats", json={"times": given}).json()
        assert kept["given"] and kept["beats"] == pytest.approx(given, abs=1e-4)
        assert client.get("/api/motions/groove/beats").json() == kept
        assert not client.put("/api/motions/groove/beats", json={"times": []}).json()["given"]
        wrong = client.put("/api/motions/groove/beats", json={"times": [1.0, 1.01]})
        assert wrong.status_code in (400, 422) and "increasing" in wrong.text
