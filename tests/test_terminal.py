"""Progress output of commands."""

import io
import json
import re
from contextlib import redirect_stdout

import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import app, terminal
from motionloom.cli.terminal import progress
from motionloom.search.match_web import store as web_store
from motionloom.search.match_web.store import WebStore


@pytest.fixture
def clock(monkeypatch):
    """A simulated clock, in seconds."""
    now = [100.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    return now


def figures(text):
    """Unit, count, total and durations (elapsed, then remaining) of each line."""
    results = []
    for line in text.splitlines():
        unit, rest = line.split(": ", 1)
        count, total = re.findall(r"\d+", rest)[:2]
        durations = re.findall(r"\d+ (?:h|min|s)\b(?: \d+ (?:min|s)\b)?", rest)
        results.append((unit, int(count), int(total), *durations))
    return results


def test_a_log_gets_few_lines_with_the_remaining_time(clock, capsys):
    with progress("pairs", 200) as advance:
        for _ in range(200):
            clock[0] += 1.0
            advance()
    assert figures(capsys.readouterr().err) == [
        ("pairs", 10, 200, "10 s", "3 min 10 s"),
        ("pairs", 20, 200, "20 s", "3 min"),
        ("pairs", 40, 200, "40 s", "2 min 40 s"),
        ("pairs", 80, 200, "1 min 20 s", "2 min"),
        ("pairs", 160, 200, "2 min 40 s", "40 s"),
    ]


def test_a_slow_start_says_nothing_of_how_much_is_left(clock, capsys):
    with progress("takes", 40) as advance:
        clock[0] += 30.0  # processes start, kernels are compiled
        advance()
        for _ in range(39):
            clock[0] += 1.0
            advance()
    assert figures(capsys.readouterr().err) == [
        ("takes", 1, 40, "30 s"),
        ("takes", 31, 40, "1 min", "9 s"),
    ]


def test_long_work_is_reported_every_five_minutes_at_least(clock, capsys):
    with progress("pairs", 4000) as advance:
        for _ in range(4000):
            clock[0] += 1.0
            advance()
    lines = figures(capsys.readouterr().err)
    assert len(lines) == 6 + (4000 - 320) // 300
    assert lines[-1][:4] == ("pairs", 3920, 4000, "1 h 5 min")


def test_short_and_quiet_work_is_not_reported(clock, capsys):
    with progress("pairs", 9) as advance:
        for _ in range(9):
            clock[0] += 1.0
            advance()
    with progress("pairs", 2, quiet=True) as advance:
        clock[0] += 1000.0
        advance(2)
    assert capsys.readouterr().err == ""


def test_a_web_build_estimates_its_duration_first(tmp_path, monkeypatch):
    library = ml.Library.create(tmp_path / "takes.loom")
    for name in ("walk", "jog"):
        library.add_motion(ml.demo.clip(name)[:40], name=name)
    left = WebStore(library.store).left_to_build()
    assert (left.pairs, left.cells) == (3, 3200.0)  # half of each with itself, all of the two
    assert left.core_seconds == pytest.approx(3200 * 31e-9)
    monkeypatch.setattr(web_store, "CELL_SECONDS", 1.0)
    build = ["web", str(library.path), "build", "--workers", "1"]
    answer = CliRunner().invoke(app, build)
    assert re.search(r"\b3 pairs .*\b53 min .*\b1 core", answer.output)
    again = CliRunner().invoke(app, build)
    assert " min " not in again.output
    report = CliRunner().invoke(app, [*build, "--json"])
    assert json.loads(report.stdout)["built"] == 0


def test_color_codes_in_names_do_not_reach_the_terminal(monkeypatch):
    """Only the program's own: a name could hide text, or look like another part of the output."""
    from rich.table import Table

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    screen, name = Screen(), "walk\x1b[8mhidden\x1b[0;31m"
    with redirect_stdout(terminal.PlainOutput(screen)):
        print(terminal.styled("frames", "bold"), name)
        terminal.print_columns([(terminal.styled("a", "dim"), "1"), (name, "2")])
        table = Table("motion", title=name)
        table.add_row(name)
        terminal.print_table(table)
    text = screen.getvalue()
    assert "\x1b[1mframes\x1b[0m walk\\x1b[8mhidden" in text
    assert text.count("\\x1b[8m") == 4 and "\x1b[8m" not in text and "\x1b[0;31m" not in text
    assert len({line.rstrip()[-1] for line in text.splitlines()[1:3]} & {"1", "2"}) == 2
    columns = [re.sub("\x1b[^m]*m", "", line).index(digit) for line, digit in
               zip(text.splitlines()[1:3], "12", strict=True)]  # fmt: skip
    assert columns[0] == columns[1]
