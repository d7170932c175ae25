"""Finding takes by sentences that people wrote about them: recall at ten.

The protocol of the CMU takes of the KIT Motion-Language Dataset: performers are divided into folds;
for each sentence about a performer of a fold, all takes of these performers are ranked, takes that
repeat another counted once, and the sentence counts as answered if its take is among the first ten.
Words are learnt from labels and sentences of all other performers, and from no take that repeats
one of those ranked.

References
----------
M. Plappert, C. Mandery, T. Asfour. The KIT Motion-Language Dataset. Big Data 4(4), 2016.
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from motionloom.checked_files import csv_rows
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.evaluation.settings import SentenceSettings
from motionloom.parallel import Progress
from motionloom.store.store import Store
from motionloom.text.caption_table import CaptionTable, caption_table
from motionloom.text.learned_words import learn_words
from motionloom.text.text_index import (
    IndexedTake,
    TextIndex,
    captioned_events,
    write_takes,
)
from motionloom.text.text_search import find
from motionloom.text.vocabulary import Synonyms, library_synonyms, words

FIRST = 10  # results that count


@dataclass(frozen=True)
class SentenceScores:
    """Recall at ten, in shares of the sentences, and what it is out of."""

    motion: float  # from captions and learnt words alone
    with_labels: float  # with the labels of the takes ranked, too
    chance: float
    sentences: int
    takes: tuple[int, ...]  # ranked in each fold
    learnt_from: tuple[int, ...]  # texts in each fold


def score_sentences(
    library: Store,
    sentences: str | Path,
    settings: SentenceSettings,
    progress: Progress | None = None,
) -> SentenceScores:
    """Recall at ten of the takes of sentences; see `motionloom.Library.evaluate_sentences`."""
    asked = _table(sentences, ("take", "sentence"))
    same = settings.same
    repeats = dict(_table(same, ("file", "duplicate_of"))) if same is not None else {}
    one = {name: repeats.get(name) or name for name in library.names}
    asked = [(take, text) for take, text in asked if take in one]
    if not asked:
        raise InvalidInput(f"{sentences}: no sentence is about a take of the library")
    who = {name: _performer(name, settings.performer) for name in one}
    captions = caption_table(library, workers=settings.workers, progress=progress)
    synonyms = library_synonyms(library.path)
    hits: dict[bool, list[bool]] = {False: [], True: []}
    sizes, texts_of = [], []
    for chosen in _folds(asked, one, who, settings.folds, settings.seed):
        ranked = sorted({one[name] for name in one if who[name] in chosen and one[name] in one})
        texts = _texts(library, asked, one, who, chosen, set(ranked), synonyms)
        place = {name: m for m, name in enumerate(captions.names)}
        learnt = learn_words(captions.statistics, [(place[name], found) for name, found in texts])
        for labelled in (False, True):
            index = _index(library, captions, ranked, labelled, learnt, synonyms)
            for take, text in asked:
                if who[take] in chosen and one[take] in one:
                    found = find(index, text, most=FIRST)
                    hits[labelled].append(one[take] in found.motions)
        sizes.append(len(ranked))
        texts_of.append(len(texts))
    chance = float(np.mean([min(1.0, FIRST / n) for n in sizes]))
    return SentenceScores(
        float(np.mean(hits[False])), float(np.mean(hits[True])), chance, len(hits[False]),
        tuple(sizes), tuple(texts_of),
    )  # fmt: skip


def _table(path: str | Path, columns: Sequence[str]) -> list[tuple[str, str]]:
    try:
        rows = [row for _, row in csv_rows(path) if row]
    except (FileNotFoundError, MotionFormatError):
        raise InvalidInput(f"{path}: there is no such table in UTF-8") from None
    header = rows[0] if rows else []
    if any(name not in header for name in columns):
        raise InvalidInput(f"{path}: expected the columns {', '.join(columns)}")
    name, text = (header.index(column) for column in columns)
    return [(row[name].strip(), row[text]) for row in rows[1:] if len(row) > max(name, text)]


def _performer(name: str, pattern: str) -> str:
    found = re.search(pattern, name)
    return found[1] if found and found.groups() else name


def _folds(asked, one, who, folds: int, seed: int) -> list[set[str]]:
    """Performers of each fold; those that share a take are in one."""
    group = {who[take]: who[take] for take, _ in asked}

    def top(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    owners: dict[str, str] = {}
    for name in sorted(one):
        if who[name] in group:
            first = owners.setdefault(one[name], who[name])
            group[top(who[name])] = top(first)
    parts: dict[str, list[str]] = {}
    for name in sorted(group):
        parts.setdefault(top(name), []).append(name)
    size = {key: len({one[n] for n in one if who[n] in set(part)}) for key, part in parts.items()}
    rng = random.Random(seed)
    order = sorted(parts, key=lambda key: (-size[key] + 15.0 * rng.random(), key))
    out: list[tuple[int, set[str]]] = [(0, set()) for _ in range(folds)]
    for key in order:
        k = min(range(folds), key=lambda n: out[n][0])
        out[k] = (out[k][0] + size[key], out[k][1] | set(parts[key]))
    return [names for _, names in out if names]


def _texts(library, asked, one, who, chosen, ranked, synonyms) -> list[tuple[str, list[str]]]:
    """Texts about takes of other performers, that repeat none of the takes ranked."""
    labels = library.catalogue.labels()
    texts = [
        (name, words(label, synonyms))
        for name in one
        if who[name] not in chosen and one[name] == name and name not in ranked
        for label in labels.get(name, ())
    ]
    texts += [
        (one[take], words(text, synonyms))
        for take, text in asked
        if who[take] not in chosen and one[take] not in ranked and one[take] in one
    ]
    return texts


def _index(
    library: Store, captions: CaptionTable, ranked: Sequence[str], labelled: bool, learnt,
    synonyms: Synonyms,
) -> TextIndex:  # fmt: skip
    place = {name: m for m, name in enumerate(captions.names)}
    takes = []
    for name in ranked:
        entry = library.entry(name)
        found = captions.events[place[name]]
        events, captioned = captioned_events(found, entry.fps, entry.frames, synonyms)
        named = [w for label in library.labels(name) for w in words(label, synonyms)]
        takes.append(
            IndexedTake(name, entry.fps, entry.frames, named if labelled else [], captioned, events)
        )
    connection = sqlite3.connect(":memory:")
    write_takes(connection, takes)
    if learnt is not None:
        columns = [place[name] for name in ranked]
        learnt = replace(learnt, predicted=np.ascontiguousarray(learnt.predicted[:, columns]))
    return TextIndex(connection, learnt, synonyms)
