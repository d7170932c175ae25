"""docs/papers.md, written from the results of all papers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from motionloom.errors import InvalidInput
from motionloom.files import atomic_write
from motionloom.library import settings
from motionloom.settings import Settings, presets_of
from reproduction import PAPERS
from reproduction.claims import FAILS, HOLDS, NOT_MADE
from reproduction.data import CREDITS

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "papers.md"

_HEAD = """# The papers, reproduced

{picture}

```text
make papers
python -m reproduction kg04 --json
```

Every row is a statement of a paper. The second column holds what the paper says and its figures,
the third what was measured here, and on what data. The rule is an expression over the names of
these figures; the outcome is computed from it. A statement that was not tested is listed with the
reason. This page and its pictures are written by `make papers` from `reproduction/results`.
"""


def keep(report: dict[str, Any], folder: Path = RESULTS) -> Path:
    """Write a report to ``NAME.json`` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{report['name']}.json"
    with atomic_write(path) as scratch:
        scratch.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return path


def kept(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """Reports in `folder`, in the order of `PAPERS`."""
    paths = [path for name in PAPERS if (path := folder / f"{name}.json").exists()]
    if not paths:
        raise InvalidInput(f"{folder} has no results; run: make papers")
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def write_page(page: Path = PAGE, folder: Path = RESULTS) -> None:
    """Write the page from the reports in `folder`."""
    with atomic_write(page) as scratch:
        scratch.write_text(markdown(kept(folder)), encoding="utf-8")


def markdown(reports: list[dict[str, Any]]) -> str:
    """The whole page."""
    pictures = [_picture(claim) for report in reports for claim in report["claims"]]
    first = next((each for each in pictures if "neighbors" in each), "")
    rows = [
        [f"[{report['authors']}](#{_anchor(report['authors'])})"]
        + [str(_count(report, outcome)) for outcome in (HOLDS, FAILS, NOT_MADE)]
        + [f"{sum(report['seconds'].values()) / 60.0:.1f}"]
        for report in reports
    ]
    head = ["paper", HOLDS, FAILS, NOT_MADE, "processor time (min)"]
    blocks = [_HEAD.format(picture=first), _table(head, rows)]
    blocks += [_section(report, first) for report in reports]
    blocks.append(_presets())
    blocks.append("## Data\n\n" + "\n".join(f"- {credit}" for credit in CREDITS) + "\n")
    return "\n".join(blocks)


def _section(report: dict[str, Any], shown: str) -> str:
    title, _, place = report["title"].partition(". ")
    links = ", ".join(f"[{_page_title(page)}]({page})" for page in report["pages"])
    blocks = [f"## {report['authors']}\n", f"*{title}.* {place} Here: {links}.\n"]
    rows = [
        [
            claim["place"],
            _cell(claim["statement"], _figures(claim["paper"])),
            _cell(_figures(claim["ours"]), claim["data"], claim["note"]),
            f"`{claim['rule']}`" if claim["rule"] else "",
            _cell(_outcome(claim["outcome"]), claim["reason"]),
        ]
        for claim in report["claims"]
    ]
    blocks.append(_table(["in the paper", "the paper says", "here", "rule", "outcome"], rows))
    for claim in report["claims"]:
        picture = _picture(claim)
        if picture and picture != shown:
            blocks.append(picture + "\n")
        if claim["table"]:
            blocks.append(f"**{claim['place']}**: {claim['statement']}\n")
            header, cells = claim["table"]
            blocks.append(_table(header, [[_number(cell) for cell in row] for row in cells]))
    return "\n".join(blocks)


def _presets() -> str:
    """Table of the settings that each paper's preset changes."""
    rows = []
    for name in sorted(settings.__all__):
        cls = getattr(settings, name)
        if not (isinstance(cls, type) and issubclass(cls, Settings)):
            continue
        for preset in presets_of(cls):
            values = cls.from_preset(preset).changed()
            shown = ", ".join(f"`{key}={_changed(value)}`" for key, value in values.items())
            rows.append([f"`{name}`", f"`{preset}`", shown or "the defaults"])
    return (
        "## Presets\n\nA preset sets what a paper says: `lib.search(query, "
        "ml.SearchSettings.kt10())`, `motionloom search LIB QUERY --preset kt10`.\n\n"
        + _table(["settings of", "preset", "values"], rows)
    )


def _changed(value: object) -> str:
    """A value of a preset; of a method or group what differs from its defaults."""
    if not isinstance(value, Settings):
        return repr(value)
    inner = ", ".join(f"{key}={_changed(each)}" for key, each in value.changed().items())
    return f"{type(value).__name__}({inner})"


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return (
        "\n".join("| " + " | ".join(_escaped(cell) for cell in row) + " |" for row in lines) + "\n"
    )


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


def _cell(*parts: str) -> str:
    return "<br>".join(part for part in parts if part)


def _figures(figures: str | dict[str, Any]) -> str:
    if isinstance(figures, str):
        return figures
    return ", ".join(f"`{name}` {_number(value)}" for name, value in figures.items())


def _number(value: Any) -> str:
    """Whole numbers with thousands separated, others with three digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def _outcome(outcome: str) -> str:
    return f"**{outcome}**" if outcome == FAILS else outcome


def _count(report: dict[str, Any], outcome: str) -> int:
    return Counter(claim["outcome"] for claim in report["claims"])[outcome]


def _picture(claim: dict[str, Any]) -> str:
    if not claim["picture"]:
        return ""
    return f"![{claim['place']}: {claim['statement'].rstrip('.')}](pictures/{claim['picture']})"


def _anchor(text: str) -> str:
    kept = "".join(each for each in text.lower() if each.isalnum() or each in " -")
    return "-".join(kept.split())


def _page_title(page: str) -> str:
    """First heading of a page of the docs."""
    with open(PAGE.parent / page, encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip()
