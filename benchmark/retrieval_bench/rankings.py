"""Methods and their rankings: a Python function, or a command that writes a CSV file.

A *function* receives the manifest of a set (`BenchmarkSet.manifest`) and returns, for the name of
each query, a list of results with the most similar first. A result is the name of an item, a pair
of a name and a distance, or for segments ``(file, start, end)`` or ``(file, start, end, distance)``
with times in seconds.

A *command* is called with two more words: the path of the manifest, in JSON, and the path of the
ranking to write. A ranking is a CSV file with the columns ``query,item``, and for segments also
``start,end``. Rows of a query are in the order of their rank, unless a column ``distance`` gives
it; equal distances are a tie.
"""

from __future__ import annotations

import csv
import importlib
import json
import math
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from retrieval_bench.scores import Ranking, Result
from retrieval_bench.sets import BenchmarkSet
from retrieval_bench.tables import BenchmarkError, read_rows

MOST_SEGMENTS = 1000  # results of a query that count
_MAY_BE_EMPTY = ("segments", "sentences", "video")  # nothing found is an answer
_LONGEST_ROW = 400  # bytes; names of the benchmark have at most 60
_FUNCTION = r"([A-Za-z_][\w.]*|[^:\s]+\.py):[A-Za-z_]\w*"


def ranking_by(method: str, given: BenchmarkSet, data: Path) -> Ranking:
    """Return the checked ranking of a set by ``MODULE:FUNCTION``, ``FILE.py:NAME`` or a command."""
    manifest = given.manifest(data)
    if re.fullmatch(_FUNCTION, method):
        return checked(given, _called(method, manifest), method)
    with tempfile.TemporaryDirectory() as scratch:
        asked, answer = Path(scratch) / "manifest.json", Path(scratch) / "ranking.csv"
        asked.write_text(json.dumps(manifest), encoding="utf-8")
        try:
            done = subprocess.run(
                [*shlex.split(method), str(asked), str(answer)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        except (OSError, ValueError) as error:  # such as a quote that is not closed
            raise BenchmarkError(f"the method {method!r} cannot be run: {error}") from None
        if done.returncode or not answer.is_file():
            lines = (done.stderr or done.stdout).strip().splitlines() or ["it printed nothing"]
            raise BenchmarkError(
                f"the method {method!r} wrote no ranking (exit code {done.returncode}): {lines[-1]}"
            )
        return read_ranking(given, answer)


def read_ranking(given: BenchmarkSet, path: Path) -> Ranking:
    """Read a ranking from a CSV file, and check it.

    Raises
    ------
    BenchmarkError
        If the file is larger than a ranking can be, or if a row has unknown names, a number that
        is not finite, or a result that the query already has.
    """
    segments = given.track == "segments"
    most = sum(MOST_SEGMENTS if segments else len(given.items) for _ in given.queries) + 1
    columns = ("query", "item", "start", "end") if segments else ("query", "item")
    results: dict[str, list[tuple[Any, ...]]] = {query.name: [] for query in given.queries}
    others = {str(item["name"]) for item in given.items}
    for line, row in read_rows(path, columns, most * _LONGEST_ROW):
        where = f"{path}:{line}"
        query = row["query"]
        if query not in results:
            if query in others:
                continue  # a clip that has no correct result is not a query
            raise BenchmarkError(f"{where}: {given.name} has no query {query!r}")
        listed = results[query]
        distance = _number(row["distance"], where) if "distance" in row else float(len(listed))
        times = (_number(row["start"], where), _number(row["end"], where)) if segments else ()
        listed.append((row["item"], *times, distance))
    return checked(given, results, str(path))


def checked(given: BenchmarkSet, ranking: Any, source: str) -> Ranking:
    """Return the ranking of a function or a file as results, or raise an error of one line."""
    if not isinstance(ranking, Mapping):
        raise BenchmarkError(f"{source} must return a mapping from queries to lists of results")
    names = {str(item["name"]) for item in given.items}
    out: dict[str, Sequence[Result]] = {}
    for query in given.queries:
        listed = ranking.get(query.name, () if given.track in _MAY_BE_EMPTY else None)
        if listed is not None and (isinstance(listed, str) or not isinstance(listed, Collection)):
            raise BenchmarkError(f"{source}: results of {query.name!r} must be a list")
        if listed is None or not (given.track in _MAY_BE_EMPTY or len(listed)):
            raise BenchmarkError(f"{source}: no results for the query {query.name!r}")
        where = f"{source}: results of {query.name!r}"
        each = [_result(given.track, row, place, where) for place, row in enumerate(listed)]
        allowed = set(query.items) if given.track == "segments" else names
        for result in each:
            if result.item not in allowed:
                raise BenchmarkError(f"{where}: {given.name} has no item {result.item!r} to rank")
        keys = [(result.item, result.start, result.end) for result in each]
        if len(set(keys)) < len(keys):
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise BenchmarkError(f"{where}: {twice[0]!r} is listed twice")
        if given.track == "segments" and len(each) > MOST_SEGMENTS:
            raise BenchmarkError(
                f"{where}: at most {MOST_SEGMENTS} segments are allowed; got {len(each)}"
            )
        out[query.name] = each
    return out


def write_ranking(given: BenchmarkSet, ranking: Ranking, path: Path) -> None:
    """Write a ranking as a CSV file."""
    segments = given.track == "segments"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["query", "item", *(["start", "end"] if segments else []), "distance"])
        for query, results in ranking.items():
            for each in results:
                times = [repr(each.start), repr(each.end)] if segments else []
                rows.writerow([query, each.item, *times, repr(each.distance)])


def _result(track: str, given: Any, place: int, where: str) -> Result:
    parts = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    least = 3 if track == "segments" else 1
    if len(parts) not in (least, least + 1) or not isinstance(parts[0], str):
        shape = "(file, start, end)" if track == "segments" else "a name"
        raise BenchmarkError(f"{where}: expected {shape}, with or without a distance; got {given}")
    distance = _number(parts[least], where) if len(parts) > least else float(place)
    if track != "segments":
        return Result(parts[0], distance)
    start, end = _number(parts[1], where), _number(parts[2], where)
    if end <= start:
        raise BenchmarkError(f"{where}: a segment must end after it starts; got {start} to {end}")
    return Result(parts[0], distance, start, end)


def _number(given: Any, where: str) -> float:
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise BenchmarkError(f"{where}: expected a finite number, got {given!r}")
    return number


def _called(method: str, manifest: Mapping[str, Any]) -> Any:
    """Return the ranking of a function; where it failed is part of the error."""
    function = _function(method)
    if not callable(function):
        raise BenchmarkError(f"the method {method!r} is not a function")
    try:
        return function(manifest)
    except BenchmarkError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise BenchmarkError(
            f"the method {method!r} failed in {last.filename}:{last.lineno}: {reason}"
        ) from error


def _function(method: str) -> Any:
    module, _, name = method.rpartition(":")
    if module.endswith(".py"):
        sys.path.insert(0, str(Path(module).resolve().parent))
        module = Path(module).stem
    elif "" not in sys.path:
        sys.path.insert(0, "")  # a module in the current folder, as with python -m
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise BenchmarkError(f"the method {method!r} cannot be imported: {error}") from None
