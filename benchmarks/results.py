"""Reports of benches kept as files, and the page that is written from them.

``python -m benchmarks all --results FOLDER`` leaves ``NAME.json`` for every bench; the tables of
docs/benchmarks.md are those files in another form, so nothing on them is typed by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import BENCHES, bench_module
from benchmarks.report import markdown, seconds, write_section
from motionloom.atomic_write import atomic_write
from motionloom.errors import InvalidInput

OVERVIEW = "all"  # the section of the page that lists the benches


def keep(report: dict[str, Any], folder: Path) -> Path:
    """Write a report to ``NAME.json`` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{report['name']}.json"
    with atomic_write(path) as scratch:
        scratch.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return path


def kept(folder: Path) -> list[dict[str, Any]]:
    """The reports in `folder`, in the order of the benches.

    Raises
    ------
    InvalidInput
        If there is none, or a file is no report.
    """
    reports = []
    for name in sorted(BENCHES):
        path = folder / f"{name}.json"
        if path.exists():
            try:
                report = json.loads(path.read_text(encoding="utf-8"))
                report["results"], report["machine"]["date"], report["command"]
            except (ValueError, KeyError, TypeError):
                raise InvalidInput(f"{path} is no report of python -m benchmarks") from None
            reports.append(report)
    if not reports:
        raise InvalidInput(
            f"{folder} holds no reports; make them: python -m benchmarks all --results {folder}"
        )
    return reports


def write_page(page: Path, reports: list[dict[str, Any]]) -> None:
    """Write each report into its section of `page`, and the list of all of them."""
    for report in reports:
        write_section(page, report["name"], markdown(report))
    write_section(page, OVERVIEW, overview(reports))


def overview(reports: list[dict[str, Any]]) -> str:
    """What was measured, how long that took, and by which command, as a Markdown table.

    Examples
    --------
    >>> print(overview([{"name": "dtw", "seconds": 61.2, "command": "python -m benchmarks dtw"}]))
    | bench | what | takes |
    |---|---|---:|
    | `python -m benchmarks dtw` | subsequence DTW over everything | 61.2 s |
    <BLANKLINE>
    Together they take 1 min.
    <BLANKLINE>
    """
    lines = ["| bench | what | takes |", "|---|---|---:|"]
    for report in reports:
        what = bench_module(report["name"]).SUMMARY
        lines.append(f"| `{report['command']}` | {what} | {seconds(report.get('seconds'))} |")
    total = sum(report.get("seconds", 0.0) for report in reports)
    lines += ["", f"Together they take {total / 60.0:.0f} min."]
    return "\n".join(lines) + "\n"
