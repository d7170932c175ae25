"""Headline figures, and whether they still hold.

A report is compared with the stored one of the same benchmark. Rows with a rival that was measured
are compared by their ratio to it, because a busy or a slower machine slows both. Other rows are
compared by time, relative to the time of a fixed piece of work on the same machine
(`benchmarks.process.yardstick`). A row is not compared if another processor was used and one of the
reports does not have that time.

Ratios also depend on the processor: a larger cache helped rivals that read more memory up to twice
as much as ours, and our times stayed the same. On another processor, a row with a rival is
therefore slower only if both its ratio and its time say so.

Memory and caches are shared, so ratios also depend on the load. A report that was measured at a
load above the number of cores is compared, but not stored. Neither is a report that lacks the
rivals of the stored one.
"""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import Any

from motionloom.errors import InvalidInput

# Headline -> benchmark, and the rows of its report; every row counts.
HEADLINES = {
    "reading": ("load", "file to joint positions"),
    "start-up": ("load", "motionloom info FILE"),
    "index": ("knn", "16 nearest of * random single frames, *"),
    "index of clips": ("clips", "10 nearest of * clips by emd, *"),
    "search": ("dtw", "* frames against all, slope steps"),
    "web search": ("web", "a query of * s, without query expansion"),
    "web": ("web", "distance matrix of *"),
    "families": ("web", "query expansion until no new member is found"),
    "steering": ("matching", "500 queries, *"),
    "steering, whole frames": ("steering", "*, per frame"),
    "page": ("browser", "one search, median, *"),
}
FALL = 0.2  # a headline that falls by more is an error
_TIMES = 1.0 / (1.0 - FALL)  # the same as a factor of time


def slowdowns(report: dict[str, Any], folder: Path) -> dict[str, float]:
    """How many times slower each task is than in the report of the same name in `folder`.

    Returns
    -------
    slowdowns : dict
        By task; the median over its rivals. Empty if nothing is stored, or if the stored report was
        measured with other options or other data.
    """
    stored = _stored(report, folder)
    if stored is None:
        return {}
    before: dict[str, list[dict[str, Any]]] = {}
    for row in stored["results"]:
        before.setdefault(row["what"], []).append(row)
    speed = _machine_speed(report, stored)
    elsewhere = report["machine"].get("cpu") != stored["machine"].get("cpu")
    by_task: dict[str, list[float]] = {}
    for row in report["results"]:
        rows = before.get(row["what"], [])
        old = next((old for old in rows if old["rival"] == row["rival"]), None)
        ratio = None if old is None else _by_ratio(row, old)
        time = _by_time(row, rows[0], speed) if rows and speed is not None else None
        if ratio is not None and time is not None:
            times = min(ratio, time) if elsewhere else ratio
        else:
            times = time if ratio is None else ratio
        if times is not None:
            by_task.setdefault(row["what"], []).append(times)
    return {what: median(values) for what, values in by_task.items()}


def slower(report: dict[str, Any], folder: Path) -> list[str]:
    """One line per task that is much slower than in the stored report."""
    return [
        f"{what}: {times:.1f} times slower than the stored result"
        for what, times in slowdowns(report, folder).items()
        if times > _TIMES
    ]


def fallen(report: dict[str, Any], folder: Path) -> list[str]:
    """One line per headline that fell by more than `FALL`, or whose row is missing."""
    stored, times = _stored(report, folder), slowdowns(report, folder)
    if stored is None:
        return []
    lines = []
    for headline, (benchmark, pattern) in HEADLINES.items():
        if benchmark != report["name"]:
            continue
        for what in dict.fromkeys(row["what"] for row in stored["results"]):
            if not fnmatchcase(what, pattern):
                continue
            if what not in {row["what"] for row in report["results"]}:
                lines.append(f"{headline}: {what}: not measured")
            elif times.get(what, 0.0) > _TIMES:
                fall = 100.0 * (1.0 - 1.0 / times[what])
                lines.append(f"{headline}: {what}: {fall:.0f} % lower than the stored result")
    return lines


def not_compared(report: dict[str, Any], folder: Path) -> list[str]:
    """One line per headline that was measured without anything to compare it with."""
    stored, times = _stored(report, folder), slowdowns(report, folder)
    measured = {row["what"] for row in report["results"]}
    patterns = {name: row for name, (bench, row) in HEADLINES.items() if bench == report["name"]}
    if stored is None:
        return [f"{name}: not compared: no report of the same data" for name in patterns]
    kept = dict.fromkeys(row["what"] for row in stored["results"])
    return [
        f"{headline}: {what}: not compared: no rival was measured, and the stored report is of "
        "another processor"
        for headline, pattern in patterns.items()
        for what in kept
        if fnmatchcase(what, pattern) and what in measured and what not in times
    ]


def reason_to_keep(report: dict[str, Any], folder: Path) -> str | None:
    """Why the stored report is better than this one, although no headline fell; or None."""
    stored = _stored(report, folder, same=("data",))  # options such as --before add rivals
    if stored is None:
        return None
    load, cores = (report["machine"].get(key) for key in ("load_average", "cores"))
    headlines = {benchmark for benchmark, _ in HEADLINES.values()}
    if report["name"] in headlines and load and cores and load > cores:
        return f"the load was {load:g} on {cores} cores"
    with_rival = [{r["what"] for r in each["results"] if r["rival_s"]} for each in (stored, report)]
    lost = sorted(with_rival[0] - with_rival[1])
    return f"no rival was measured for: {lost[0]}" if lost else None


def _stored(
    report: dict[str, Any], folder: Path, same: tuple[str, ...] = ("command", "data")
) -> dict[str, Any] | None:
    """Return the report of the same name in `folder`, if it is of the same command and data."""
    path = folder / f"{report['name']}.json"
    if not path.exists():
        return None
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        equal = all(stored[key] == report[key] for key in same)
        stored["results"], stored["machine"]
    except (ValueError, KeyError, TypeError):
        raise InvalidInput(f"{path} is not a report of python -m benchmarks") from None
    return stored if equal else None


def _by_ratio(row: dict[str, Any], old: dict[str, Any]) -> float | None:
    """How many times slower, from the ratios to a rival that was measured both times."""
    if not row["rival_s"] or not old["rival_s"] or row["rival_s"] == old["rival_s"]:
        return None  # equal to the last digit: the time is quoted from a paper
    for ratio in ("cpu_ratio", "ratio"):
        if row[ratio] and old[ratio]:
            return old[ratio] / row[ratio]
    return None


def _by_time(row: dict[str, Any], old: dict[str, Any], speed: float) -> float | None:
    for time in ("ours_cpu_s", "ours_s"):
        if row.get(time) and old.get(time):
            return row[time] / old[time] * speed
    return None


def _machine_speed(report: dict[str, Any], stored: dict[str, Any]) -> float | None:
    """How many times faster this machine is than the one of the stored report, if that is known."""
    new, old = report["machine"], stored["machine"]
    now, then = new.get("yardstick_s"), old.get("yardstick_s")
    if now and then:
        return float(then / now)
    return 1.0 if new.get("cpu") == old.get("cpu") else None
