"""What commands tell while they work."""

import pytest
from typer.testing import CliRunner

import motionloom as ml
from motionloom.cli import app, terminal
from motionloom.cli.terminal import progress
from motionloom.search.match_web import store as web_store
from motionloom.search.match_web.store import WebStore


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when we say so."""
    now = [100.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    return now


def test_a_log_gets_few_lines_that_tell_how_much_is_left(clock, capsys):
    with progress("pairs", 200) as advance:
        for _ in range(200):
            clock[0] += 1.0
            advance()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "pairs: 10 of 200, 10 s so far, about 3 min 10 s left"
    assert lines[1:] == [
        "pairs: 20 of 200, 20 s so far, about 3 min left",
        "pairs: 40 of 200, 40 s so far, about 2 min 40 s left",
        "pairs: 80 of 200, 1 min 20 s so far, about 2 min left",
        "pairs: 160 of 200, 2 min 40 s so far, about 40 s left",
    ]


def test_a_slow_start_says_nothing_of_how_much_is_left(clock, capsys):
    with progress("takes", 40) as advance:
        clock[0] += 30.0  # processes start, kernels are compiled
        advance()
        for _ in range(39):
            clock[0] += 1.0
            advance()
    assert capsys.readouterr().err.splitlines() == [
        "takes: 1 of 40, 30 s so far",
        "takes: 31 of 40, 1 min so far, about 9 s left",
    ]


def test_long_work_is_reported_of_every_five_minutes_at_least(clock, capsys):
    with progress("pairs", 4000) as advance:
        for _ in range(4000):
            clock[0] += 1.0
            advance()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6 + (4000 - 320) // 300
    assert lines[-1].startswith("pairs: 3920 of 4000, 1 h 5 min so far")


def test_short_and_quiet_work_is_not_reported(clock, capsys):
    with progress("pairs", 9) as advance:
        for _ in range(9):
            clock[0] += 1.0
            advance()
    with progress("pairs", 2, quiet=True) as advance:
        clock[0] += 1000.0
        advance(2)
    assert capsys.readouterr().err == ""


def test_a_web_build_tells_beforehand_how_long_it_takes(tmp_path, monkeypatch):
    library = ml.Library.create(tmp_path / "takes.loom")
    for name in ("walk", "jog"):
        library.add_motion(ml.demo.clip(name)[:40], name=name)
    left = WebStore(library).left_to_build()
    assert (left.pairs, left.cells) == (3, 3200.0)  # half of each with itself, all of the two
    assert left.core_seconds == pytest.approx(3200 * 64e-9)
    monkeypatch.setattr(web_store, "CELL_SECONDS", 1.0)
    build = ["web", str(library.path), "build", "--workers", "1"]
    answer = CliRunner().invoke(app, build)
    assert "3 pairs to compare: about 53 min on 1 core" in answer.output
    again = CliRunner().invoke(app, build)
    assert "to compare" not in again.output
    assert "0 of them built" in again.output
