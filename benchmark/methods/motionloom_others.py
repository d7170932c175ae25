"""Rankings of segments, sentences and films by motionloom, in its default settings.

    python methods/motionloom_others.py segments DATA KEEP RANKINGS
    python methods/motionloom_others.py sentences LIBRARY DATA RANKINGS
    python methods/motionloom_others.py films DATA RANKINGS

DATA is the folder that ``motionloom evaluate --data`` reads. No candidate of the segment search is
better than the default setting on the other sets, so the protocol of ``motionloom evaluate``
chooses the default for every set.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from unittest import mock

from retrieval_bench.data import sha256
from retrieval_bench.sets import benchmark_set

from motionloom.evaluation import captions, protocol_run
from motionloom.evaluation.labeled_sets import DataFolder
from motionloom.evaluation.settings import SentenceSettings
from motionloom.library import Library
from motionloom.search.methods import Dtw
from motionloom.search.retrieval import search
from motionloom.search.settings import SearchSettings
from motionloom.store.store import Store

SEGMENT_SETS = ("cmu-queries", "cmu-marks", "bandai-sessions", "exercise-bouts")


def segments(data: str, keep: str, rankings: str) -> None:
    """Rank the segments of every set by subsequence DTW."""
    folder = DataFolder(data, keep)
    for name in SEGMENT_SETS:
        begun = time.process_time()
        given = benchmark_set(name)
        if name in protocol_run.QUERY_SETS:
            library = protocol_run.query_set(name, folder).library
        else:
            library = _takes(Path(keep) / f"{name}.loom", given.files, folder)
        rows = []
        for query in given.queries:
            names = {Path(file).stem: file for file in query.items}
            alone = len(query.items) == 1
            hits = search(
                library,
                f"{Path(str(query.shown['file'])).stem}:{query.shown['start_frame']}-"
                f"{query.shown['end_frame']}",
                SearchSettings(
                    method=Dtw(),
                    max=None if alone else 5 * len(query.marks),
                    only=tuple(names) if alone else None,
                ),
            )
            rows += [(query.name, names[hit.motion], hit.start, hit.end) for hit in hits]
        _write(Path(rankings) / f"{name}.csv", ("query", "item", "start", "end"), rows)
        print(name, f"{time.process_time() - begun:.0f} s", flush=True)


def _takes(path: Path, files: Iterable[str], folder: DataFolder) -> Store:
    takes = folder.takes()
    library = Library.create(path, exist_ok=True)
    for file in files:
        if Path(file).stem not in library.names:
            library.add(takes[Path(file).stem])
    return library.store


def sentences(library: str, data: str, rankings: str) -> None:
    """Rank the takes of each fold by its sentences, without labels of these takes."""
    recorded: dict[tuple[int, str], list[str]] = {}
    find, index, labels, folds = captions.find, captions._index, [True], [-1]

    def noted_index(store, table, ranked, labeled, *rest):
        labels[0] = labeled
        folds[0] += not labeled
        return index(store, table, ranked, labeled, *rest)

    def noted_find(given, text, most):
        results = find(given, text, most=most)
        if not labels[0]:
            recorded[folds[0], sha256(text.strip().encode())] = list(results.motions)
        return results

    begun = time.process_time()
    with (
        mock.patch.object(captions, "_index", noted_index),
        mock.patch.object(captions, "find", noted_find),
    ):
        scores = captions.score_sentences(
            Library(library).store,
            f"{data}/sentences/dev.csv",
            SentenceSettings(same=f"{data}/cmu30-metadata.csv", workers=1),
        )
    given = benchmark_set("kit-cmu")
    rows = [
        (query.name, take)
        for query in given.queries
        for take in recorded[query.shown["fold"], query.shown["sha256"]]
    ]
    _write(Path(rankings) / "kit-cmu.csv", ("query", "item"), rows)
    print(scores.motion, f"{time.process_time() - begun:.0f} s", flush=True)


def films(data: str, rankings: str) -> None:
    """Rank takes by the rendered films. Needs the extra ``video``."""
    from benchmarks import Settings
    from benchmarks.video import cases, film_library, first_takes
    from motionloom.errors import MotionloomError
    from motionloom.formats import load

    settings = Settings(data=Path(data))
    library, _ = film_library(Path(data), settings, print)
    shots = cases(Path(data), settings, print)
    rows, place = [], Path(rankings) / "films.csv"
    for query, case in zip(benchmark_set("films").queries, shots, strict=True):
        try:
            hits = [each[0].motion for each in first_takes(library, load(case.film()))]
        except MotionloomError as error:  # nobody in the film
            print(query.name, error)
            hits = []
        rows += [(query.name, take) for take in hits]
        _write(place, ("query", "item"), rows)
        print(query.name, f"{time.process_time():.0f} s", flush=True)


def _write(path: Path, header: tuple[str, ...], rows: Iterable[tuple]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerows([header, *rows])


if __name__ == "__main__":
    {"segments": segments, "sentences": sentences, "films": films}[sys.argv[1]](*sys.argv[2:])
