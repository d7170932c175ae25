"""The sets of the benchmark: their queries, ranked items and correct results.

==========  ======================  =====================  ==================================
track       query                   ranked                 correct
==========  ======================  =====================  ==================================
clips       a clip                  the other clips        clips of the same class
segments    a segment of a take     segments of takes      marked segments of the same class
sentences   a sentence              takes of the fold      the take that it describes
video       a film                  takes                  the filmed take, and its repetitions
==========  ======================  =====================  ==================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retrieval_bench.data import MANIFESTS
from retrieval_bench.tables import BenchmarkError, read_bytes, read_rows

TRACKS = ("clips", "segments", "sentences", "video")


@dataclass(frozen=True)
class Place:
    """A segment of a file, in seconds."""

    file: str
    start: float
    end: float


@dataclass(frozen=True)
class Query:
    """A query, and its correct results.

    Attributes
    ----------
    name, label, performer : str
    items : tuple of str
        Items that may be results: names, or files for segments.
    correct : frozenset of str
        Names of the correct items.
    marks, optional : tuple of Place
        Marked segments to find, and segments that count neither as correct nor as wrong.
    shown : mapping
        Parts of the query that a method may know.
    """

    name: str
    label: str
    performer: str
    items: tuple[str, ...]
    correct: frozenset[str] = frozenset()
    marks: tuple[Place, ...] = ()
    optional: tuple[Place, ...] = ()
    shown: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BenchmarkSet:
    """A set: its track, the items that a method may read, and the queries."""

    name: str
    track: str
    items: tuple[Mapping[str, Any], ...]
    queries: tuple[Query, ...]

    @property
    def files(self) -> list[str]:
        """Files that the set reads, in order of their names."""
        shown = [query.shown for query in self.queries]
        return sorted({str(each["file"]) for each in (*self.items, *shown) if "file" in each})

    def manifest(self, data: Path) -> dict[str, Any]:
        """Return everything that a method may know: no labels, and no marked segments."""
        return {
            "set": self.name,
            "track": self.track,
            "folder": str(data.resolve()),
            "clips": [dict(item) for item in self.items],
            "queries": [{"name": query.name, **query.shown} for query in self.queries],
        }


def set_table(folder: Path = MANIFESTS) -> dict[str, dict[str, Any]]:
    """Return the description of each set: track, sources, group, and what it shaped."""
    sets: dict[str, dict[str, Any]] = json.loads(read_bytes(folder / "sets.json"))["sets"]
    return sets


def source_names(folder: Path = MANIFESTS) -> list[str]:
    """Return the names of the public sources that are given as a folder."""
    sources = json.loads(read_bytes(folder / "sets.json"))["sources"]
    return [name for name, each in sources.items() if each["folder"]]


def benchmark_set(name: str, folder: Path = MANIFESTS) -> BenchmarkSet:
    """Return a set by name.

    Examples
    --------
    >>> len(benchmark_set("exercises").queries)
    35
    >>> benchmark_set("odd")
    Traceback (most recent call last):
        ...
    retrieval_bench.tables.BenchmarkError: there is no set 'odd'; choose from cmu-groups, ...
    """
    table = set_table(folder)
    if name not in table:
        raise BenchmarkError(f"there is no set {name!r}; choose from {', '.join(table)}")
    make = {"clips": _clips, "segments": _segments, "sentences": _sentences, "video": _video}
    return make[table[name]["track"]](name, folder, table[name])


def _rows(path: Path, *columns: str) -> list[dict[str, str]]:
    return [row for _, row in read_rows(path, columns)]


def _clips(name: str, folder: Path, about: Mapping[str, Any]) -> BenchmarkSet:
    rows = _rows(folder / "clips" / f"{name}.csv", "name", "file", "label", "performer")
    items = tuple(
        {
            "name": row["name"], "file": row["file"], "frames": int(row["frames"]),
            "fps": float(row["fps"]),
            **({"animation": row["animation"]} if row["animation"] else {}),
        }
        for row in rows
    )  # fmt: skip
    queries = []
    for row in rows:
        others = [
            each
            for each in rows
            if each is not row
            and not (about["performers_apart"] and each["performer"] == row["performer"])
        ]
        correct = frozenset(each["name"] for each in others if each["label"] == row["label"])
        if correct:
            allowed = tuple(each["name"] for each in others)
            queries.append(Query(row["name"], row["label"], row["performer"], allowed, correct))
    return BenchmarkSet(name, "clips", items, tuple(queries))


def _segments(name: str, folder: Path, about: Mapping[str, Any]) -> BenchmarkSet:
    place = folder / "segments"
    marks: dict[tuple[str, bool], list[Place]] = {}
    for row in _rows(place / f"{name}-marks.csv", "label", "file", "start", "end", "optional"):
        mark = Place(row["file"], float(row["start"]), float(row["end"]))
        marks.setdefault((row["label"], bool(row["optional"])), []).append(mark)
    files = tuple(sorted({mark.file for each in marks.values() for mark in each}))
    queries = []
    for row in _rows(place / f"{name}.csv", "name", "file", "start_frame", "end_frame", "label"):
        right = tuple(marks[row["label"], False])
        own = {mark.file for mark in right}
        searched = tuple(sorted(own)) if len(own) == 1 else files
        shown = {
            "file": row["file"], "start_frame": int(row["start_frame"]),
            "end_frame": int(row["end_frame"]), "searched": list(searched),
        }  # fmt: skip
        queries.append(
            Query(
                row["name"], row["label"], row["performer"], searched, marks=right,
                optional=tuple(marks.get((row["label"], True), ())), shown=shown,
            )
        )  # fmt: skip
    items = tuple({"name": file, "file": file} for file in files)
    return BenchmarkSet(name, "segments", items, tuple(queries))


def _sentences(name: str, folder: Path, about: Mapping[str, Any]) -> BenchmarkSet:
    place = folder / "sentences"
    takes = _rows(place / "takes.csv", "name", "file", "fold")
    by_fold: dict[str, list[str]] = {}
    for row in takes:
        by_fold.setdefault(row["fold"], []).append(row["name"])
    queries = tuple(
        Query(
            row["name"], row["take"], row["performer"], tuple(by_fold[row["fold"]]),
            frozenset([row["take"]]), shown={"sha256": row["sha256"], "fold": int(row["fold"])},
        )
        for row in _rows(place / f"{name}.csv", "name", "sha256", "take", "performer", "fold")
    )  # fmt: skip
    items = ({"name": r["name"], "file": r["file"], "fold": int(r["fold"])} for r in takes)
    return BenchmarkSet(name, "sentences", tuple(items), queries)


def _video(name: str, folder: Path, about: Mapping[str, Any]) -> BenchmarkSet:
    place = folder / "video"
    takes = _rows(place / "takes.csv", "name", "file", "original", "label")
    names = tuple(row["name"] for row in takes)
    repeats: dict[str, set[str]] = {}
    for row in takes:
        repeats.setdefault(row["original"], set()).add(row["name"])
    queries = tuple(
        Query(
            row["name"], row["label"], row["performer"], names, frozenset(repeats[row["take"]]),
            shown={"film": f"films/{row['name']}.mp4", "fps": float(row["fps"])},
        )
        for row in _rows(place / f"{name}.csv", "name", "take", "label", "performer", "fps")
    )  # fmt: skip
    items = tuple({"name": row["name"], "file": row["file"]} for row in takes)
    return BenchmarkSet(name, "video", items, queries)
