"""Scoring of methods from outside: a Python function, or a command, ranks the clips of a set.

The clips of a set are written to a folder as BVH files, with a *manifest* that lists them in a
shuffled order. The manifest has no labels. A method reads it and returns a *ranking*: for every
clip, the names of the other clips, most similar first. The folder ``benchmark/`` of the repository
uses the same manifests and rankings, so that a method runs in both.

``manifest.json``::

    {"set": "exercises", "track": "clips", "folder": "/tmp/exercises",
     "clips": [{"name": "13_29_4", "file": "clips/0.bvh", "frames": 90, "fps": 30.0}, ...],
     "queries": [{"name": "13_29_4"}, ...]}

A Python function is given as ``MODULE:FUNCTION`` or ``FILE.py:FUNCTION``. It receives the
manifest and returns a mapping from each clip to a list of names, or of pairs of a name and a
distance. A command is given as it would be typed, and is called with the path of the manifest and
the path of the ranking to write::

    query,item,distance
    13_29_4,13_30_9,0.21

The distance may be missing: then rows of a query are in the order of their rank.
"""

from __future__ import annotations

import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.evaluation.labeled_sets import LabeledSet
from motionloom.evaluation.retrieval import ranked_precision
from motionloom.files import csv_rows, parse_json, read_regular
from motionloom.search.methods.own import from_file

_FUNCTION = r"([A-Za-z_][\w.]*|\S+\.py):[A-Za-z_]\w*"
Ranking = Mapping[str, Sequence[str]]


def write_manifest(labeled: LabeledSet, folder: Path) -> Path:
    """Write the clips of a set as BVH files, and the manifest that lists them."""
    (folder / "clips").mkdir(parents=True, exist_ok=True)
    order = np.random.default_rng(0).permutation(len(labeled.clips))
    clips = []
    for number, c in enumerate(order.tolist()):
        motion = labeled.library[labeled.clips[c]]
        file = f"clips/{number}.bvh"
        motion.save(folder / file)
        clips.append(
            {
                "name": labeled.clips[c],
                "file": file,
                "frames": len(motion),
                "fps": float(motion.fps),
            }
        )
    path = folder / "manifest.json"
    content = {
        "set": labeled.name,
        "track": "clips",
        "folder": str(folder.resolve()),
        "clips": clips,
        "queries": [{"name": clip["name"]} for clip in clips],
    }
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def check_outside(methods: Sequence[str]) -> None:
    """Raise `InvalidInput` if a function cannot be imported, or a program does not exist."""
    for method in methods:
        if re.fullmatch(_FUNCTION, method):
            _function(method)
            continue
        try:
            words = shlex.split(method)
        except ValueError as error:
            raise InvalidInput(f"the method {method!r} cannot be run: {error}") from None
        if not words or shutil.which(words[0]) is None:
            raise InvalidInput(
                f"the method {method!r} is neither MODULE:FUNCTION, FILE.py:FUNCTION nor a command"
            )


def ranking_by(method: str, manifest: Path) -> Ranking:
    """Return the ranking of a manifest's clips by ``MODULE:FUNCTION`` or by a command.

    Raises
    ------
    InvalidInput
        If the method cannot be run, fails, or does not return a ranking of the clips.
    """
    content = parse_json(read_regular(manifest))
    if re.fullmatch(_FUNCTION, method):
        ranking = _function(method)(content)
    else:
        ranking = _by_command(method, manifest)
    return _checked(ranking, [clip["name"] for clip in content["clips"]], method)


def outside_scores(
    labeled: LabeledSet, ranking: Ranking, queries: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the average precision of each query (Q,), and whether its first result is correct.

    Clips that the ranking of a query does not list come last.
    """
    labels = np.array(labeled.labels)
    number = {name: n for n, name in enumerate(labeled.clips)}
    precisions, first = [], []
    for q in queries:
        places = np.full(len(labels), float(len(labels)))
        for place, name in enumerate(ranking[labeled.clips[q]]):
            places[number[name]] = place
        allowed = labeled.answers(q)
        right = labels[allowed] == labels[q]
        precisions.append(ranked_precision(places[allowed], right))
        first.append(float(right[np.argmin(places[allowed])]))
    return np.array(precisions), np.array(first)


def score_outside(
    labeled: LabeledSet, methods: Sequence[str], queries: Sequence[int]
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return the scores of methods from outside on a set, by method; see `outside_scores`."""
    with tempfile.TemporaryDirectory() as folder:
        manifest = write_manifest(labeled, Path(folder))
        return {
            method: outside_scores(labeled, ranking_by(method, manifest), queries)
            for method in methods
        }


def _function(method: str) -> Any:
    module, _, name = method.rpartition(":")
    if module.endswith(".py"):
        return from_file(method)
    if "" not in sys.path:
        sys.path.insert(0, "")  # a module in the current folder, as with python -m
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(f"the method {method!r} cannot be imported: {error}") from None


def _by_command(method: str, manifest: Path) -> Any:
    answer = manifest.with_name("ranking.csv")
    answer.unlink(missing_ok=True)
    words = [*shlex.split(method), str(manifest), str(answer)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InvalidInput(f"the method {method!r} cannot be run: {error}") from None
    if done.returncode or not answer.is_file():
        lines = (done.stderr or done.stdout).strip().splitlines() or ["it printed nothing"]
        raise InvalidInput(
            f"the method {method!r} wrote no ranking (exit code {done.returncode}): {lines[-1]}"
        )
    try:
        (_, header), *rows = csv_rows(answer) or [(1, [])]
        cells = [(line, dict(zip(header, row, strict=True))) for line, row in rows if row]
        ranking: dict[str, list[tuple[str, float]]] = {}
        for place, (_, row) in enumerate(cells):
            pair = row["item"], float(row.get("distance", place))
            ranking.setdefault(row["query"], []).append(pair)
    except (ValueError, KeyError) as error:
        raise InvalidInput(
            f"the ranking of {method!r} must be a table with the columns query, item, and "
            f"optionally distance: {error}"
        ) from None
    return ranking


def _checked(ranking: Any, names: Sequence[str], method: str) -> Ranking:
    """Return the names of a ranking in order, if it lists known clips, each once, for all clips."""
    if not isinstance(ranking, Mapping) or not set(names) <= set(ranking):
        raise InvalidInput(f"the ranking of {method!r} must map every clip to a list of clips")
    out = {}
    for name in names:
        pairs = [
            (each, float(place)) if isinstance(each, str) else tuple(each)
            for place, each in enumerate(ranking[name])
        ]
        if any(len(pair) != 2 or not np.isfinite(pair[1]) for pair in pairs):
            raise InvalidInput(
                f"the ranking of {method!r} for {name} must list clips, or pairs of a clip and a "
                f"finite distance"
            )
        out[name] = listed = [pair[0] for pair in sorted(pairs, key=lambda pair: pair[1])]
        if not set(listed) <= set(names) or len(set(listed)) != len(listed):
            raise InvalidInput(
                f"the ranking of {method!r} for {name} must list clips of the manifest, each once"
            )
    return out
