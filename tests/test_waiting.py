"""No test depends on the clock of the machine."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent
CLOCK = {"sleep", "time", "perf_counter", "monotonic", "process_time", "thread_time"}
LIMITED = {  # functions that wait, for as long as `waiting.LIMIT` at most
    "communicate", "connect", "join", "launch", "run", "set_default_timeout", "set_options", "wait",
    "wait_for_function", "wait_for_load_state", "wait_for_selector", "HTTPConnection",
}  # fmt: skip
# Files without any of these words cannot contain such a call, so they are not parsed.
SUSPECT = re.compile(
    rf"\b(?:{'|'.join(sorted(CLOCK - {'time'}))})|\btime\.|timeout|\b(?:join|wait)\(\s*\d"
)


def complaints(code: str) -> list[str]:
    """Calls that read the clock, sleep, or wait for a fixed number of seconds."""
    lines = []
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        owner = getattr(getattr(node.func, "value", None), "id", "")
        limits = [each.value for each in node.keywords if each.arg == "timeout"]
        limits += node.args if name in {"join", "set_default_timeout", "wait"} else []
        seconds = [
            each.value
            for each in limits
            if isinstance(each, ast.Constant) and isinstance(each.value, int | float)
        ]
        if (
            (owner == "time" and name.removesuffix("_ns") in CLOCK)
            or (not owner and name.removesuffix("_ns") in CLOCK - {"time"})
            or name == "wait_for_timeout"
            or (name in LIMITED and any(each >= 1 for each in seconds))
        ):
            lines.append(f"{node.lineno}: {ast.unparse(node)}")
    return lines


def test_tests_wait_for_conditions_and_never_for_seconds():
    sources = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in [*HERE.rglob("*.py"), ROOT / "conftest.py"]
        if path.name not in {"waiting.py", "test_soak.py"}
    }
    results = {
        path: complaints(source) for path, source in sources.items() if SUSPECT.search(source)
    }
    assert not {path: lines for path, lines in results.items() if lines}, "see tests/waiting.py"


@pytest.mark.parametrize(
    "code",
    [
        "time.sleep(0.1)",
        "sleep(2)",
        "assert time.perf_counter() - begun < 0.1",
        "end = time.monotonic_ns() + 5",
        "page.wait_for_timeout(300)",
        "page.wait_for_function('() => ready', timeout=60_000)",
        "process.communicate(timeout=20)",
        "thread.join(10)",
    ],
)
def test_a_test_that_reads_the_clock_is_found(code):
    assert complaints(code)


@pytest.mark.parametrize(
    "code",
    [
        "thread.join(LIMIT)",
        "process.wait()",
        "', '.join(names)",
        "Library(path, timeout=0.1)",
        "completed(time.sleep, items, pool)",
        "studio.stage.clock.time()",
    ],
)
def test_a_test_that_waits_for_a_condition_is_not(code):
    assert complaints(code) == []
