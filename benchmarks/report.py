"""Reports of benchmarks: kept as JSON, shown as a table, written into the docs.

``python -m benchmarks all --results FOLDER`` writes ``NAME.json`` for every benchmark; the tables
of docs/benchmarks.md are generated from those files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import BENCHMARKS, benchmark_module
from motionloom.errors import InvalidInput
from motionloom.files import atomic_write

if TYPE_CHECKING:
    from rich.table import Table

OVERVIEW = "all"  # section of the page that lists all benchmarks


def keep(report: dict[str, Any], folder: Path) -> Path:
    """Write a report to ``NAME.json`` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{report['name']}.json"
    with atomic_write(path) as scratch:
        scratch.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return path


def kept(folder: Path) -> list[dict[str, Any]]:
    """Reports in `folder`, sorted by name.

    Raises
    ------
    InvalidInput
        If there is none, or a file is not a report.
    """
    reports = []
    for name in sorted(BENCHMARKS):
        path = folder / f"{name}.json"
        if path.exists():
            try:
                report = json.loads(path.read_text(encoding="utf-8"))
                report["results"], report["machine"]["date"], report["command"]
            except (ValueError, KeyError, TypeError):
                raise InvalidInput(f"{path} is not a report of python -m benchmarks") from None
            reports.append(report)
    if not reports:
        raise InvalidInput(
            f"{folder} has no reports; run: python -m benchmarks all --results {folder}"
        )
    return reports


def write_page(page: Path, reports: list[dict[str, Any]]) -> None:
    """Write each report into its section of `page`, and the table of all of them."""
    for report in reports:
        write_section(page, report["name"], markdown(report))
    write_section(page, OVERVIEW, overview(reports))


def overview(reports: list[dict[str, Any]]) -> str:
    """Markdown table of benchmarks: command, summary and duration.

    Examples
    --------
    >>> print(overview([{"name": "dtw", "seconds": 61.2, "command": "python -m benchmarks dtw"}]))
    | command | what | takes |
    |---|---|---:|
    | `python -m benchmarks dtw` | subsequence DTW over the whole library | 61.2 s |
    <BLANKLINE>
    Together: 1 min
    <BLANKLINE>
    """
    lines = ["| command | what | takes |", "|---|---|---:|"]
    for report in reports:
        what = benchmark_module(report["name"]).SUMMARY
        lines.append(f"| `{report['command']}` | {what} | {seconds(report.get('seconds'))} |")
    total = sum(report.get("seconds", 0.0) for report in reports)
    lines += ["", f"Together: {total / 60.0:.0f} min"]
    return "\n".join(lines) + "\n"


def table(report: dict[str, Any]) -> Table:
    """The report as a Rich table."""
    from rich.table import Table

    shown = Table(title=f"{report['name']}: {report['data']}", caption=_where(report))
    shown.add_column("what")
    shown.add_column("motionloom", justify="right")
    shown.add_column("rival")
    shown.add_column("rival", justify="right")
    shown.add_column("times faster", justify="right")
    shown.add_column("note")
    last = None
    for row in report["results"]:
        if last is not None and row["what"] != last:
            shown.add_section()
        shown.add_row(
            row["what"] if row["what"] != last else "",
            seconds(row["ours_s"]),
            row["rival"],
            seconds(row["rival_s"]),
            _times(row["ratio"]),
            row["note"],
        )
        last = row["what"]
    return shown


def markdown(report: dict[str, Any]) -> str:
    """The report as a Markdown section: command, machine, table."""
    lines = [
        f"`{report['command']}` on {report['machine']['date']}: {report['data']}.",
        f"Machine: {_where(report)}.",
    ]
    if report.get("credit"):
        lines.append(report["credit"])
    lines += [
        "",
        "| what | motionloom | rival | its time | times faster | by processor time | note |",
        "|---|---:|---|---:|---:|---:|---|",
    ]
    for row in report["results"]:
        cells = (
            row["what"],
            seconds(row["ours_s"]),
            row["rival"],
            seconds(row["rival_s"]),
            _times(row["ratio"]),
            _times(row["cpu_ratio"]),
            row["note"],
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def write_section(path: Path, name: str, text: str) -> None:
    """Replace the lines of `path` between ``<!-- bench NAME -->`` and ``<!-- end NAME -->``."""
    page = path.read_text(encoding="utf-8")
    first, last = f"<!-- bench {name} -->", f"<!-- end {name} -->"
    if page.count(first) != 1 or page.count(last) != 1 or page.index(first) > page.index(last):
        raise InvalidInput(f"{path} must have the lines {first} and {last}, once each")
    head, rest = page.split(first)
    tail = rest.split(last)[1]
    with atomic_write(path) as scratch:
        scratch.write_text(f"{head}{first}\n\n{text}\n{last}{tail}", encoding="utf-8")


def seconds(value: float | None) -> str:
    """A duration with three digits and a unit.

    Examples
    --------
    >>> seconds(0.01234), seconds(2.5), seconds(4.2e-6), seconds(None)
    ('12.3 ms', '2.50 s', '4.20 µs', '-')
    """
    if value is None:
        return "-"
    scales = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
    scale, unit = next((pair for pair in scales if value >= pair[0]), scales[-1])
    number = value / scale
    digits = 2 if number < 10.0 else 1 if number < 100.0 else 0
    return f"{number:.{digits}f} {unit}"


def _times(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    digits = 0 if ratio >= 100.0 else 1 if ratio >= 10.0 else 2
    return f"{ratio:.{digits}f}"


def _where(report: dict[str, Any]) -> str:
    m = report["machine"]
    return (
        f"{m['cpu']}, {m['cores']} cores, {m['system']}, Python {m['python']}, "
        f"NumPy {m['numpy']}, Numba {m['numba']}, one thread each, load {m['load_average']}"
    )
