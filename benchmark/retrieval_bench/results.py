"""Result files, one per method, and the leaderboard that is written from them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from retrieval_bench.agreement import agreements
from retrieval_bench.scores import SECOND, SetScore, bootstrap
from retrieval_bench.sets import TRACKS, BenchmarkSet, benchmark_set, set_table
from retrieval_bench.tables import BenchmarkError, read_bytes

_LARGEST = 2**20  # bytes of a result file
_TITLES = {
    "clips": "Whole clips: mean average precision",
    "segments": "Segments: mean average precision at an IoU of 0.5, then at 0.75",
    "sentences": "Sentences: recall at 10, then mean reciprocal rank",
    "video": "Films: recall at 10, then mean reciprocal rank",
}
_ABOUT = ("method", "by", "url", "version", "settings")


def result_of(given: BenchmarkSet, score: SetScore) -> dict[str, Any]:
    """Return the scores of a set as they are stored in a result file."""
    return {
        "score": round(score.score, 4),
        "low": round(score.low, 4),
        "high": round(score.high, 4),
        SECOND[given.track]: round(score.second, 4),
        "values": [round(value, 4) for value in score.values.tolist()],
    }


def keep(
    path: Path,
    about: Mapping[str, str],
    sets: Mapping[str, Mapping[str, Any]],
    stopped: Mapping[str, float] | None = None,
) -> None:
    """Write or complete a result file; sets that it already has are replaced.

    Parameters
    ----------
    path : Path
    about : mapping of str to str
        Name, author, address, version and settings of the method; others are kept.
    sets : mapping
        Results by set, as from `result_of`.
    stopped : mapping of str to float, optional
        Sets that the method did not finish, and the seconds of processor time that it was given.
    """
    kept: dict[str, Any] = read_result(path) if path.exists() else {"sets": {}}
    late = {**kept.get("stopped", {}), **(stopped or {})}
    kept = {**{key: kept.get(key, "") for key in _ABOUT}, **about, "sets": kept["sets"]}
    for name in stopped or ():
        kept["sets"].pop(name, None)
    kept["sets"].update(sets)
    late = {name: seconds for name, seconds in late.items() if name not in kept["sets"]}
    lines = [f" {json.dumps(key)}: {json.dumps(kept[key])}" for key in _ABOUT]
    lines += [f' "stopped": {json.dumps(late)}'] if late else []
    each = ",\n".join(f"  {json.dumps(n)}: {json.dumps(s)}" for n, s in kept["sets"].items())
    scratch = path.with_name(f".{path.name}.writing")
    scored = ' "sets": {\n' + each + "\n }" if each else ' "sets": {}'
    text = "{\n" + ",\n".join([*lines, scored]) + "\n}\n"
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)


def read_result(path: Path) -> dict[str, Any]:
    """Return the contents of a result file, after checking them against the sets.

    Raises
    ------
    BenchmarkError
        If the file is not a result of this benchmark, or if a score is not the mean of its values.
    """
    try:
        kept = json.loads(read_bytes(path, _LARGEST))
        for name, each in kept["sets"].items():
            given = benchmark_set(name)
            values = [float(value) for value in each["values"]]
            count = len(given.queries)
            if len(values) != count or not all(0.0 <= value <= 1.0 for value in values):
                raise BenchmarkError(
                    f"{path}: {name} must have {count} values from 0 to 1; got {len(values)}"
                )
            if not math.isclose(each["score"], sum(values) / count, abs_tol=2e-4):
                raise BenchmarkError(f"{path}: the score of {name} is not the mean of its values")
            for key in ("low", "high", SECOND[given.track]):
                float(each[key])
        for name, seconds in kept.get("stopped", {}).items():
            benchmark_set(name)
            if not 0.0 < float(seconds) < math.inf:
                raise BenchmarkError(f"{path}: {name} must be stopped after some seconds")
    except BenchmarkError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BenchmarkError(f"{path} is not a result file of this benchmark ({reason})") from None
    result: dict[str, Any] = kept
    return result


def leaderboard(results: Iterable[Mapping[str, Any]]) -> str:
    """Return the tables of all tracks as Markdown: one row per method, best scores in bold."""
    kept = list(results)
    about = set_table()
    parts = []
    for track in TRACKS:
        sets = [name for name, each in about.items() if each["track"] == track]
        rows = [
            each
            for each in kept
            if any(name in each["sets"] or name in each.get("stopped", {}) for name in sets)
        ]
        if rows:
            parts.append(f"### {_TITLES[track]}\n\n" + "\n".join(_table(track, sets, rows)))
    notes = [f"- {_shown(each)}: {each['settings']}" for each in kept if each["settings"]]
    return "\n\n".join(["", *parts, "### Methods", "\n".join(notes), ""]).rstrip("\n") + "\n"


def _table(track: str, sets: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    def mean(row: Mapping[str, Any]) -> float:
        scores = [row["sets"][name]["score"] for name in sets if name in row["sets"]]
        return float(np.mean(scores)) if len(scores) == len(sets) else -1.0

    several = len(sets) > 1
    lines = [
        f"| | {' | '.join(sets)} |" + (" mean |" if several else ""),
        "|---|" + "---:|" * (len(sets) + several),
    ]
    counts = [f"{len(benchmark_set(name).queries)}" for name in sets]
    lines.append(f"| *queries* | {' | '.join(counts)} |" + (" |" if several else ""))
    best = {
        name: max((r["sets"][name]["score"] for r in rows if name in r["sets"]), default=0.0)
        for name in sets
    }
    ranked = sorted(rows, key=lambda row: (-mean(row), row["method"]))
    for row in ranked:
        cells = [
            f"over {row['stopped'][name]:.0f} s"
            if name in row.get("stopped", {})
            else _cell(track, row["sets"].get(name), best[name], _leader(rows, name, best[name]))
            for name in sets
        ]
        end = (f" {mean(row):.3f} |" if mean(row) >= 0.0 else " |") if several else ""
        lines.append(f"| {_shown(row)} | {' | '.join(cells)} |{end}")
    return lines


def _leader(rows: Sequence[Mapping[str, Any]], name: str, best: float) -> Sequence[float]:
    for row in rows:
        if name in row["sets"] and row["sets"][name]["score"] == best:
            values: Sequence[float] = row["sets"][name]["values"]
            return values
    return ()


def _cell(track: str, each: Mapping[str, Any] | None, best: float, leader: Sequence[float]) -> str:
    """Return a score, its interval, and a mark if it may equal the best one."""
    if each is None:
        return ""
    figure = f"{each['score']:.3f}"
    gaps = np.array(each["values"]) - np.array(leader)
    if each["score"] == best:
        figure = f"**{figure}**"
    elif bootstrap(gaps)[1] >= 0.0:
        figure += "="
    second = f", {each[SECOND[track]]:.2f}" if track != "clips" else ""
    return f"{figure} ({each['low']:.2f}-{each['high']:.2f}){second}"


def _shown(row: Mapping[str, Any]) -> str:
    name = re.sub(r"[|\n\r\[\]`<>]", " ", str(row["method"]))
    version = re.sub(r"[|\n\r\[\]`<>]", " ", str(row["version"]))
    return f"`{name}`" + (f" {version}" if version else "")


def shaped_table() -> str:
    """Return a row per set with what it shaped in motionloom, as Markdown."""
    rows = [f"| `{name}` | {each['shaped']} |" for name, each in set_table().items()]
    return "\n".join(["", "| set | what it shaped in motionloom |", "|---|---|", *rows, ""])


def agreement_table() -> str:
    """Return a row per action that was annotated twice, as Markdown."""
    rows = [
        f"| {row.label} | {row.first} | {row.second} | {row.matched} | {row.iou:.2f} | "
        f"{row.boundary:.2f} | {row.kappa:.2f} |"
        for row in agreements()
    ]
    head = "| action and take | first | second | matched | IoU | boundary | kappa |"
    return "\n".join(["", head, "|---|---:|---:|---:|---:|---:|---:|", *rows, ""])


def write_page(path: Path, tables: Mapping[str, str]) -> None:
    """Write tables between the markers of a page that have their names."""
    page = read_bytes(path).decode("utf-8")
    for name, text in tables.items():
        begin, end = f"<!-- {name} -->", f"<!-- end {name} -->"
        before, opened, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not opened or not closed:
            raise BenchmarkError(f"{path}: the page must contain the markers {begin} and {end}")
        page = f"{before}{begin}\n{text}\n{end}{after}"
    scratch = path.with_name(f".{path.name}.writing")
    scratch.write_text(page, encoding="utf-8")
    scratch.replace(path)
