"""``python -m benchmarks words``: describe and index all takes, and find motions by words.

Times are processor times of one thread. No rival is known that answers text queries from motion
alone on one core and installs from PyPI; rows therefore stand alone, with the goal in their note.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from benchmarks import Settings
from benchmarks.takes import described_library
from benchmarks.timing import Contestant, Log, Result, timings
from motionloom.text import caption_table, text_index

SUMMARY = "describing takes, finding by words, and the command line"
PACKAGES = ()
QUERIES = (
    "right foot kicks high, then turns left",
    "a person walks forward and sits down",
    "waves while walking",
    "jump twice",
    "somebody picks something up from the floor and puts it on a shelf",
    "walks in a circle",
)


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    with described_library(settings, log=log) as whole:
        library, count = whole.library, len(whole.library)

        def describe() -> None:
            for artifact in library.artifacts.list():
                if artifact.kind in (caption_table.KIND, text_index.KIND):
                    library.artifacts.delete(artifact.kind, artifact.key)
            library.captions.describe(workers=1)

        def find() -> None:
            for text in QUERIES:
                library.find(text)

        command = [
            sys.executable, "-c", "from motionloom.cli import main; main()", "find",
            str(library.path), QUERIES[0],
        ]  # fmt: skip

        def by_command() -> None:
            subprocess.run(command, check=True, capture_output=True)

        described = timings([Contestant("describe", describe)], rounds=1, budget_s=0.0, log=log)[0]
        warm, cold = timings(
            [Contestant("find", find), Contestant("command", by_command)],
            rounds=settings.rounds, log=log,
        )  # fmt: skip
        data, credit = whole.data, whole.credit
    each = len(QUERIES)
    rows = [
        _row(f"describe and index {count} takes, one thread", described.cpu_s, "goal: 120 s"),
        _row(f"find with a warm cache, one of {each} queries", warm.cpu_s / each, "goal: 0.05 s"),
        _row("motionloom find, from the command line", cold.cpu_s, "goal: 1 s"),
    ]
    return {"data": data, "credit": credit, "results": [row.as_dict() for row in rows]}


def _row(what: str, cpu_s: float, note: str) -> Result:
    return Result(what, cpu_s, "", None, None, f"processor time; {note}", ours_cpu_s=cpu_s)
