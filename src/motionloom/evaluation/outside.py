"""Scoring of methods from outside: a Python function, or a command, ranks the clips of a set.

The clips of a set are written to a folder as BVH files, with a *manifest* that lists them in a
shuffled order. The manifest has no labels. A method reads it and returns a *ranking*: for every
clip, the names of the other clips, most similar first.

``manifest.json``::

    {"set": "exercises", "folder": "/tmp/exercises",
     "clips": [{"name": "13_29_4", "file": "clips/0.bvh", "frames": 90, "fps": 30.0}, ...]}

``ranking.json``::

    {"13_29_4": ["13_30_9", "14_06_2", ...], ...}

A Python function is given as ``MODULE:FUNCTION``. It receives the manifest and returns the ranking.
A command is given as it would be typed, and is called with the paths of both files.
"""

from __future__ import annotations

import importlib
import json
import re
import shlex
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
from motionloom.files import parse_json, read_regular

_FUNCTION = r"[A-Za-z_][\w.]*:[A-Za-z_]\w*"
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
    content = {"set": labeled.name, "folder": str(folder.resolve()), "clips": clips}
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


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
    module, _, name = method.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # a module in the current folder, as with python -m
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(f"the method {method!r} cannot be imported: {error}") from None


def _by_command(method: str, manifest: Path) -> Any:
    answer = manifest.with_name("ranking.json")
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
        return parse_json(read_regular(answer))
    except ValueError as error:
        raise InvalidInput(f"the ranking of {method!r} is not JSON: {error}") from None


def _checked(ranking: Any, names: Sequence[str], method: str) -> Ranking:
    """Return a ranking if it lists known clips, each at most once, for every clip."""
    if not isinstance(ranking, Mapping) or not set(names) <= set(ranking):
        raise InvalidInput(f"the ranking of {method!r} must map every clip to a list of clips")
    for name in names:
        listed = list(ranking[name])
        if not set(listed) <= set(names) or len(set(listed)) != len(listed):
            raise InvalidInput(
                f"the ranking of {method!r} for {name} must list clips of the manifest, each once"
            )
    return ranking
