"""The protocol over several sets in one go, and its page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.evaluation.clips import motion_labels
from motionloom.evaluation.labelled_sets import CLIP_SETS, DataFolder, clip_set, own_set
from motionloom.evaluation.protocol import (
    CLIP_CANDIDATES,
    Protocol,
    each_setting,
    judged,
    score_clips,
)
from motionloom.evaluation.query_sets import DTW_CANDIDATES, QUERY_SETS, query_set, score_queries
from motionloom.evaluation.settings import PAPER_NAMES, ProtocolSettings
from motionloom.files import atomic_write
from motionloom.parallel import Progress
from motionloom.store.store import Store

CLIP_DEFAULT, QUERY_DEFAULT = "statistics", "dtw: default"
_MARKS = ("<!-- protocol -->", "<!-- end protocol -->")


@dataclass(frozen=True, eq=False)
class Protocols:
    """Whole clips and queries, judged by the protocol; None where no set was asked for."""

    clips: Protocol | None
    queries: Protocol | None

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "clips": None if self.clips is None else self.clips.to_json(),
            "queries": None if self.queries is None else self.queries.to_json(),
        }

    def page(self) -> str:
        """Both tables as Markdown."""
        parts = []
        if self.clips is not None:
            parts.append("### Whole clips\n\n" + table(self.clips))
        if self.queries is not None:
            parts.append("### Queries\n\n" + table(self.queries))
        return "\n\n".join(parts)


def chosen_sets(sets: tuple[str, ...] | None) -> tuple[list[str], list[str]]:
    """Names of the sets of clips and of queries that are asked for.

    Examples
    --------
    >>> chosen_sets(("corpus", "cmu-queries"))
    (['corpus'], ['cmu-queries'])
    """
    known = [*CLIP_SETS, *QUERY_SETS]
    names = known if sets == ("all",) else list(sets or ())
    for name in names:
        if name not in known:
            raise InvalidInput(f"no labelled set is called {name!r}; there are {', '.join(known)}")
    return [n for n in names if n in CLIP_SETS], [n for n in names if n in QUERY_SETS]


def run_protocol(
    settings: ProtocolSettings,
    *,
    methods: tuple[Any, ...] | None = None,
    own: Store | None = None,
    labels: str | Path | Mapping[str, str] | None = None,
    label_column: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Protocols:
    """Every method on every set, with settings chosen without it.

    Parameters
    ----------
    settings : ProtocolSettings
        Which sets, and where their data is.
    methods : tuple of str, optional
        Clip measures. Default: all.
    own : Store, optional
        A labelled library of the user's own as one more set of clips; `labels` and `label_column`
        as in `motionloom.Library.evaluate`.
    """
    clips, queries = chosen_sets(settings.sets)
    data = DataFolder(settings.data, settings.keep)
    candidates = {name: CLIP_CANDIDATES[name] for name in _known(methods)}
    sets = [clip_set(name, data) for name in clips]
    if own is not None:
        sets.append(own_set(own, motion_labels(own, labels, label_column)[0]))
    known: dict[tuple[str, str, str], NDArray[np.float64]] = {}
    scored = [
        score_clips(each, candidates, known=known, workers=workers, progress=progress)
        for each in sets
    ]
    asked = [
        each_setting(score_queries(query_set(name, data), DTW_CANDIDATES, progress=progress), "dtw")
        for name in queries
    ]
    default = CLIP_DEFAULT if CLIP_DEFAULT in candidates else next(iter(candidates))
    return Protocols(
        judged(scored, default=default) if scored else None,
        judged(asked, default=QUERY_DEFAULT) if asked else None,
    )


def _known(methods: tuple[Any, ...] | None) -> list[str]:
    names = [PAPER_NAMES.get(name, name) for name in methods or CLIP_CANDIDATES]
    for name in names:
        if name not in CLIP_CANDIDATES:
            known = ", ".join(CLIP_CANDIDATES)
            raise InvalidInput(f"no measure of clips is called {name!r}; there are {known}")
    return names


def table(protocol: Protocol) -> str:
    """Markdown: every method on every set, chosen without it, with intervals; and the settings."""
    sets = list(protocol.scores)
    lines = [
        f"| | {' | '.join(sets)} | mean | may be the default |",
        f"|---|{'---:|' * (len(sets) + 1)}---|",
    ]
    heads = [f"{protocol.items[name]} / {protocol.classes[name]}" for name in sets]
    lines.append(f"| *items / classes* | {' | '.join(heads)} | | |")
    order = sorted(protocol.methods, key=protocol.mean, reverse=True)
    for method in order:
        cells = []
        for name in sets:
            held = protocol.scores[name][method]
            best = held.behind[0] == 0.0
            figure = f"**{held.score:.3f}**" if best else f"{held.score:.3f}"
            cells.append(f"{figure} ({held.low:.2f}-{held.high:.2f})")
        mark = f"`{method}`" + (" (the default)" if method == protocol.default else "")
        allowed = "yes" if protocol.may_be_default(method) else "no"
        lines.append(f"| {mark} | {' | '.join(cells)} | {protocol.mean(method):.3f} | {allowed} |")
    return "\n".join([*lines, "", *_details(protocol)])


def _details(protocol: Protocol) -> list[str]:
    """What was chosen for the default, and what it scores otherwise."""
    method = protocol.default
    lines = [
        f"`{method}` in detail. *Seen* figures are from data that could choose the setting.",
        "",
        "| set | chosen without it | without the performer | without the class | worst class "
        "| first answer right (queries: all) | as shipped (seen) | best setting here (seen) "
        "| settings chosen |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for name, held in ((name, each[method]) for name, each in protocol.scores.items()):
        figures = (
            held.score, held.without_performer, held.without_class, held.worst,
            held.nearest_neighbour, held.shipped, held.best_here,
        )  # fmt: skip
        cells = " | ".join(f"{figure:.3f}" for figure in figures)
        lines.append(f"| {name} | {cells} | {held.setting} |")
    return lines


def write_page(protocols: Protocols, path: Path) -> Path:
    """Write the tables to a page: between its marks, or as a page of their own."""
    return write_marked(path, _MARKS, protocols.page(), "# Evaluation")


def write_marked(path: Path, marks: tuple[str, str], text: str, title: str) -> Path:
    """Write a text between the marks of a page, or as a page of its own."""
    begin, end = marks
    block = f"{begin}\n{text}\n{end}"
    page = f"{title}\n\n{block}\n"
    if path.exists():
        kept = path.read_text(encoding="utf-8")
        found = re.search(re.escape(begin) + ".*?" + re.escape(end), kept, re.DOTALL)
        if found is None:
            raise InvalidInput(f"{path}: a page must have the marks {begin} and {end}")
        page = kept[: found.start()] + block + kept[found.end() :]
    with atomic_write(path) as scratch:
        scratch.write_text(page, encoding="utf-8")
    return path
