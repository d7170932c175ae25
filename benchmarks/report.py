"""Reports of benchmarks: stored as JSON, shown as a table, written into the documentation.

``python -m benchmarks all --results FOLDER`` writes ``NAME.json`` for every benchmark. The tables
of docs/evidence/benchmarks.md and of the pages in docs/evidence/benchmarks are generated from those
files.
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
        If there are none, or if a file is not a report.
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
            f"{folder} has no reports. To create them, run: python -m benchmarks all "
            f"--results {folder}"
        )
    return reports


def write_pages(page: Path, reports: list[dict[str, Any]]) -> None:
    """Write each report into its section, and the table of all reports into `page`.

    The sections are in `page` itself, or in a page of the folder next to it that has its name
    without the suffix.
    """
    for report in reports:
        write_section(page, report["name"], markdown(report))
    for name in set(BENCHMARKS) - {report["name"] for report in reports}:
        if has_section(page, name):
            text = f"No report is stored. `python -m benchmarks {name}` measures it.\n"
            write_section(page, name, text)
    write_section(page, OVERVIEW, overview(reports))


def pages(page: Path) -> list[Path]:
    """`page`, and the pages of the folder next to it."""
    return [page, *sorted(page.with_suffix("").glob("*.md"))]


def overview(reports: list[dict[str, Any]]) -> str:
    """Markdown table of all benchmarks: command, summary and duration.

    Examples
    --------
    >>> print(overview([{"name": "dtw", "seconds": 61.2, "command": "python -m benchmarks dtw"}]))
    | command | measures | time |
    |---|---|---:|
    | `python -m benchmarks dtw` | subsequence DTW over the whole library | 61.2 s |
    <BLANKLINE>
    All benchmarks together take 1 min.
    <BLANKLINE>
    """
    lines = ["| command | measures | time |", "|---|---|---:|"]
    for report in reports:
        what = benchmark_module(report["name"]).SUMMARY
        lines.append(f"| `{report['command']}` | {what} | {seconds(report.get('seconds'))} |")
    total = sum(report.get("seconds", 0.0) for report in reports)
    lines += ["", f"All benchmarks together take {total / 60.0:.0f} min."]
    return "\n".join(lines) + "\n"


def table(report: dict[str, Any]) -> Table:
    """Format a report as a Rich table."""
    from rich.table import Table

    shown = Table(title=f"{report['name']}: {report['data']}", caption=_where(report))
    shown.add_column("task")
    shown.add_column("motionloom", justify="right")
    shown.add_column("compared with")
    shown.add_column("time", justify="right")
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
    """Format a report as a Markdown section: command, machine, table."""
    lines = [
        f"`{report['command']}` on {report['machine']['date']}: {report['data']}.",
        f"Machine: {_where(report)}.",
    ]
    if report.get("credit"):
        lines.append(report["credit"])
    lines += [
        "",
        "| task | motionloom | compared with | time | times faster | by processor time | note |",
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


def has_section(page: Path, name: str) -> bool:
    """Return whether the pages of `page` have a section for a benchmark."""
    return any(f"<!-- bench {name} -->" in path.read_text("utf-8") for path in pages(page))


def write_section(page: Path, name: str, text: str) -> None:
    """Replace the lines between ``<!-- bench NAME -->`` and ``<!-- end NAME -->``.

    The section must exist once in the pages of `page`, see `pages`.
    """
    first, last = f"<!-- bench {name} -->", f"<!-- end {name} -->"
    contents = {path: path.read_text(encoding="utf-8") for path in pages(page)}
    places = [path for path, whole in contents.items() for _ in range(whole.count(first))]
    if len(places) != 1 or contents[places[0]].count(last) != 1:
        raise InvalidInput(f"{page} must have the lines {first} and {last}, once each")
    head, _, rest = contents[places[0]].partition(first)
    if last not in rest:
        raise InvalidInput(f"{places[0]} must have the line {last} after {first}")
    with atomic_write(places[0]) as scratch:
        scratch.write_text(
            f"{head}{first}\n\n{text}\n{last}{rest.split(last)[1]}", encoding="utf-8"
        )


def seconds(value: float | None) -> str:
    """Format a duration with three digits and a unit.

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
