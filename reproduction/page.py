"""Pages of the documentation about the papers, written from the stored results.

``docs/evidence/papers.md`` is the overview; each paper has a page in ``docs/evidence/papers``.
"""

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
from reproduction.claims import FAILS, HOLDS, NOT_TESTED
from reproduction.data import CREDITS
from reproduction.our_rules import HEADER, rows_of

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "papers.md"
PICTURE = "papers-kt10-neighbors.png"  # at the top of the overview

_OVERVIEW = """# The papers, reproduced

{picture}

motionloom implements five papers. For each paper, we list the statements that can be tested
and measure the same quantities on open data. A rule decides whether each statement holds.
[The five papers](../explanation/papers.md) explains the ideas and how they fit together.

To reproduce all tables and figures from a clone of the repository, or those of one paper:

```sh
make papers
python -m reproduction kg04 --json
```

Without captured data (`MOTIONLOOM_DATA`), only statements that can be tested on the built-in corpus
are tested. `MOTIONLOOM_DATA` is a folder with these subfolders of BVH files, or archives of them
(`NAME.tar.xz`); a missing one is skipped:

- `cmu30`: takes of the CMU database (mocap.cs.cmu.edu, in the BVH conversion by B. Hahne), in
  subfolders or not, at any rate. They are imported at 30 frames per second.
- `cmu-clips`, with `cmu-clips-labels.csv` (clip, label) next to it: single actions cut from the CMU
  takes (walk, run, jump, climb, swordplay).
- `bandai`, with `labels.csv` (clip, content, style) in it: Bandai-Namco Research Motion Dataset 2.

With other takes or cuts than ours, values differ; the rules stay the same.

## Results

{table}
## How to read a page

Each row of a paper's table is one statement:

- *The paper says*: the statement in one sentence, with the paper's values if it gives any.
- *Measured here*: our values, the data, and a note if necessary.
- *Rule*: a Python expression over the named values; `paper_NAME` is a value from the paper.
- *Outcome*: the result of the rule. Statements that were not tested are listed with the reason.

Statements that do not hold stay in the table. A few rules were set or changed after we
had seen the first results; their notes say so. `make papers` writes these pages and their pictures,
and stores the results in `reproduction/results`.
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
        raise InvalidInput(f"{folder} has no results. To compute them, run: make papers")
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def write_pages(page: Path = PAGE, folder: Path = RESULTS) -> None:
    """Write the overview to `page`, and the page of each paper to the folder next to it."""
    reports = kept(folder)
    page.with_suffix("").mkdir(parents=True, exist_ok=True)
    with atomic_write(page) as scratch:
        scratch.write_text(overview(reports), encoding="utf-8")
    for report in reports:
        with atomic_write(paper_page(report, page)) as scratch:
            scratch.write_text(markdown(report), encoding="utf-8")


def paper_page(report: dict[str, Any], page: Path = PAGE) -> Path:
    """Path of the page of one paper, given the path of the overview."""
    return page.with_suffix("") / f"{report['slug']}.md"


def overview(reports: list[dict[str, Any]]) -> str:
    """Text of the overview: results by paper, presets and credits."""
    claims = [claim for report in reports for claim in report["claims"]]
    first = next((claim for claim in claims if claim["picture"] == PICTURE), None)
    rows = [
        [f"[{report['authors']}](papers/{report['slug']}.md)", f"*{_title(report)}*"]
        + [str(_count(report, outcome)) for outcome in (HOLDS, FAILS, NOT_TESTED)]
        + [f"{sum(report['seconds'].values()) / 60.0:.1f}"]
        for report in reports
    ]
    head = ["paper", "title", HOLDS, FAILS, NOT_TESTED, "processor time (min)"]
    picture = _picture(first, "../pictures") if first else ""
    blocks = [_OVERVIEW.format(picture=picture, table=_table(head, rows)), _presets()]
    blocks.append("## Data\n\n" + "\n".join(f"- {credit}" for credit in CREDITS) + "\n")
    return "\n".join(blocks)


def markdown(report: dict[str, Any]) -> str:
    """Text of the page of one paper."""
    venue = report["title"].partition(". ")[2].rstrip(".")
    links = ", ".join(f"[{_link_text(page)}](../../{page})" for page in report["pages"])
    counts = ", ".join(
        f"{_count(report, outcome)} {text}"
        for outcome, text in (
            (HOLDS, "hold"),
            (FAILS, "do not hold"),
            (NOT_TESTED, "were not tested"),
        )
        if _count(report, outcome)
    )
    blocks = [
        f"# {report['authors']}\n",
        f"*{_title(report)}.* {venue}.\n",
        f"{report['summary']}\n",
        f"**{len(report['claims'])} statements**: {counts}. "
        "[The overview](../papers.md) explains how to read the table.\n",
        f"See also: {links}.\n",
        "## Statements\n",
    ]
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
    blocks.append(_table(["place", "the paper says", "measured here", "rule", "outcome"], rows))
    rules = rows_of(report["name"])
    if rules:
        blocks.append(
            f"## Rules of ours\n\nThe defaults differ from the paper in these rules. The preset "
            f"`{report['name']}` switches them off, unless the last column gives a reason.\n"
        )
        blocks.append(_table(list(HEADER), rules))
    if any(claim["table"] or claim["picture"] for claim in report["claims"]):
        blocks.append("## Figures and tables\n")
    for claim in report["claims"]:
        if claim["picture"]:
            blocks.append(_picture(claim, "../../pictures") + "\n")
        if claim["table"]:
            blocks.append(f"**{claim['place']}**: {claim['statement']}\n")
            header, cells = claim["table"]
            blocks.append(_table(header, [[_number(cell) for cell in row] for row in cells]))
    return "\n".join(blocks)


def _presets() -> str:
    """Table of the settings that each preset changes."""
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
        "## Presets\n\nA preset applies the settings of a paper: `lib.search(query, "
        "ml.SearchSettings.kt10())` in Python, `motionloom search LIB QUERY --preset kt10` on the "
        "command line. The table shows how each preset differs from the defaults.\n\n"
        + _table(["settings", "preset", "values"], rows)
    )


def _changed(value: object) -> str:
    """A value of a preset; for a method or a group, the settings that differ from its defaults."""
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
    """Whole numbers with a thousands separator, other numbers with three digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def _outcome(outcome: str) -> str:
    return f"**{outcome}**" if outcome == FAILS else outcome


def _count(report: dict[str, Any], outcome: str) -> int:
    return Counter(claim["outcome"] for claim in report["claims"])[outcome]


def _picture(claim: dict[str, Any], folder: str) -> str:
    text = f"{claim['place']}: {claim['statement'].rstrip('.')}"
    return f"![{text}]({folder}/{claim['picture']})"


def _title(report: dict[str, Any]) -> str:
    return report["title"].partition(". ")[0]


def _link_text(page: str) -> str:
    """Link text for a page of the documentation, from its path.

    Examples
    --------
    >>> _link_text("explanation/match-webs.md"), _link_text("guides/search.md")
    ('match webs (explanation)', 'search (guide)')
    """
    folder, _, name = page.removesuffix(".md").partition("/")
    return f"{name.replace('-', ' ')} ({folder.removesuffix('s')})"
