"""What a bench found, for people: a table in the terminal, a section in the docs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from rich.table import Table


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
    """The report as a Markdown section: how it was made, then the table."""
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
        raise InvalidInput(f"{path} must hold the lines {first} and {last}, once each")
    head, rest = page.split(first)
    tail = rest.split(last)[1]
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{head}{first}\n\n{text}\n{last}{tail}")
    Path(scratch).chmod(path.stat().st_mode)
    Path(scratch).replace(path)


def seconds(value: float | None) -> str:
    """A duration with three digits and a fitting unit.

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
