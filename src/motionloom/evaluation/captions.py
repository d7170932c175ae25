"""Quality of captions and text search.

*Captions are compared with labels*. The labels of a set are classes ("wave-left-hand", "Squat"),
and `EXPECTED` lists the predicates that captions of each class should contain. Recall is the
fraction of a class's clips in which one of these predicates is found. Precision is the fraction of
the clips with a predicate that belong to its class; other classes in which the predicate may occur
(`MAY`) are not counted.

*Text search is tested with sentences that people wrote about takes*. Recall at ten is measured on
the CMU takes of the KIT Motion-Language Dataset. Performers are divided into folds. For each
sentence about a performer in a fold, all takes of the fold are ranked, and duplicate takes are
counted once. A sentence counts as a success if its take is among the first ten. Words are learned
from labels and sentences of performers in other folds, and from the described takes that come with
motionloom, excluding those of the performers and takes that are ranked.

References
----------
M. Plappert, C. Mandery, T. Asfour. The KIT Motion-Language Dataset. Big Data 4(4), 2016.
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.evaluation.labeled_sets import DataFolder, LabeledSet, clip_set
from motionloom.evaluation.protocol_run import write_marked
from motionloom.evaluation.settings import CaptionScoreSettings, SentenceSettings
from motionloom.files import csv_rows
from motionloom.parallel import Progress
from motionloom.store.store import Store
from motionloom.text.caption_table import CaptionTable, caption_table
from motionloom.text.described_takes import described_takes
from motionloom.text.learned_words import learn_words
from motionloom.text.text_index import (
    IndexedTake,
    TextIndex,
    captioned_events,
    write_takes,
)
from motionloom.text.text_search import find
from motionloom.text.vocabulary import Synonyms, library_synonyms, words

# Predicates by class, written "name" or "name side". One of them is sufficient.
EXPECTED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "exercises": {
        "1": ("jump",), "2": ("jog", "run"), "3": ("crouch",), "4": ("raise_knee", "march"),
        "7": ("lean_side", "reach"), "8": ("punch",), "10": ("touch_floor", "bend"),
        "11": ("lean_side",), "12": ("hands_on_floor", "touch_floor", "bend"),
    },
    "cmu-groups": {
        "walk": ("walk",), "run": ("run", "jog"), "jump": ("jump", "hop"),
        "climb": ("step_up", "step_down"),
    },
    "cmu-kinds": {
        "march": ("march",), "soccer kick": ("kick",), "kick": ("kick",), "jump kick": ("kick",),
        "cartwheel": ("cartwheel",), "hop on a foot": ("hop left",), "balance": ("one_leg",),
        "hop forward": ("jump", "hop"), "hop turn": ("jump",), "hopscotch": ("hop",),
        "backflip": ("flip",), "boxing": ("punch",), "get up from chair": ("stand_up",),
        "get up from floor": ("get_up",), "sit on stool": ("sit_down",),
        "pick up box": ("hands_on_floor", "touch_floor", "bend", "crouch"), "sidestep": ("step",),
    },
    "bandai": {
        "walk": ("walk", "march"), "run": ("run", "jog"), "walk-turn-left": ("turn_left",),
        "walk-turn-right": ("turn_right",), "raise-up-both-hands": ("arms_up",),
        "raise-up-left-hand": ("raise_hand left",), "raise-up-right-hand": ("raise_hand right",),
        "wave-left-hand": ("wave left",), "wave-right-hand": ("wave right",),
    },
}  # fmt: skip
# Other classes that may show a predicate; "*" means all. Kinds of takes do not exclude each other
# (people jump in hopscotch and in basketball), so they have no precision.
MAY: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "exercises": {
        "reach": ("*",), "bend": ("*",), "lean_side": ("*",), "crouch": ("9", "10", "12"),
        "jump": ("2", "9"), "hands_on_floor": ("9", "10"), "touch_floor": ("3", "9"),
        "march": ("2",), "raise_knee": ("2",),
    },
    "cmu-groups": {"walk": ("*",), "jump": ("climb",), "hop": ("climb",), "jog": ("jump",),
                   "run": ("jump",), "step_up": ("*",), "step_down": ("*",)},
    "bandai": {
        "walk": ("walk-turn-left", "walk-turn-right"), "march": ("*",),
        "arms_up": ("wave-both-hands",), "raise_hand left": ("wave-left-hand",),
        "raise_hand right": ("wave-right-hand",), "wave left": ("wave-both-hands",),
        "wave right": ("wave-both-hands",),
    },
}  # fmt: skip
EXERCISES = {
    "1": "jumping jack", "2": "jog", "3": "squat", "4": "knee raise", "7": "side reach", "8": "box",
    "10": "toe touch, one hand", "11": "side bend", "12": "toe touch, two hands",
}  # fmt: skip
_MARKS = ("<!-- evaluate-captions -->", "<!-- end of evaluate-captions -->")


@dataclass(frozen=True)
class CaptionScore:
    """Score for one class in a set.

    Attributes
    ----------
    set, label : str
    predicates : tuple of str
        Predicates expected for the class; at least one of them should be found.
    clips : int
    recall, precision : float
        Scores from 0 to 1. Precision counts the clips in which the first predicate is found. It is
        NaN if there are no such clips, or if classes do not exclude each other.
    """

    set: str
    label: str
    predicates: tuple[str, ...]
    clips: int
    recall: float
    precision: float


def score_captions(
    settings: CaptionScoreSettings, progress: Progress | None = None
) -> list[CaptionScore]:
    """Compute the recall and precision of captions for every class in labeled sets.

    Raises
    ------
    InvalidInput
        If `EXPECTED` has no entry for a set.
    """
    names = chosen_sets(settings)
    for name in names:
        if name not in EXPECTED:
            raise InvalidInput(
                f"captions can only be scored on the sets {', '.join(EXPECTED)}; got {name!r}"
            )
    data = DataFolder(settings.data, settings.keep)
    rows: list[CaptionScore] = []
    for name in names:
        rows += scored(clip_set(name, data), workers=settings.workers)
        if progress is not None:
            progress(1)
    return rows


def chosen_sets(settings: CaptionScoreSettings) -> tuple[str, ...]:
    """Return the names of the selected sets, which are all sets by default."""
    return tuple(EXPECTED) if settings.sets is None else settings.sets


def scored(clips: LabeledSet, *, workers: int | None = None) -> list[CaptionScore]:
    """Return the score of each class in a set."""
    captions = caption_table(clips.library, workers=workers)
    place = {name: m for m, name in enumerate(captions.names)}
    said = {
        clip: {
            text
            for event in captions.events[place[clip]]
            for text in (event.name, f"{event.name} {event.side}")
        }
        for clip in clips.clips
    }
    expected, may = EXPECTED[clips.name], MAY.get(clips.name)
    rows = []
    for label, wanted in expected.items():
        own = [clip for clip, each in zip(clips.clips, clips.labels, strict=True) if each == label]
        if not own:
            continue
        right = sum(bool(said[clip] & set(wanted)) for clip in own)
        wrong = sum(
            any(text in said[clip] and not _shows(text, each, expected, may) for text in wanted[:1])
            for clip, each in zip(clips.clips, clips.labels, strict=True)
            if each != label
        )
        positives = right + wrong if may is not None else 0
        name = EXERCISES.get(label, label) if clips.name == "exercises" else label
        rows.append(
            CaptionScore(
                clips.name, name, wanted, len(own), right / len(own),
                right / positives if positives else float("nan"),
            )
        )  # fmt: skip
    return rows


def _shows(
    text: str,
    label: str,
    expected: Mapping[str, tuple[str, ...]],
    may: Mapping[str, tuple[str, ...]] | None,
) -> bool:
    free = () if may is None else may.get(text, ())
    return text in expected.get(label, ()) or label in free or "*" in free


def caption_page(rows: Iterable[CaptionScore]) -> str:
    """Format the scores as a Markdown table."""
    out = [
        "| set | class | clips | predicate | recall | precision |",
        "|---|---|---:|---|---:|---:|",
    ]
    for row in rows:
        names = " or ".join(name.replace("_", " ") for name in row.predicates)
        precise = "" if row.precision != row.precision else f"{row.precision:.2f}"
        out.append(
            f"| {row.set} | {row.label} | {row.clips} | {names} | {row.recall:.2f} | {precise} |"
        )
    return "\n".join(out)


def write_caption_page(rows: Iterable[CaptionScore], path: Path) -> Path:
    """Write the table to a page, either between its markers or as a new page."""
    return write_marked(path, _MARKS, caption_page(rows), "# Captions")


def to_json(rows: Iterable[CaptionScore]) -> list[dict]:
    """Return the scores as plain data."""
    return [
        {**asdict(row), "precision": None if row.precision != row.precision else row.precision}
        for row in rows
    ]


FIRST = 10  # number of results that count


@dataclass(frozen=True)
class SentenceScores:
    """Recall at ten, as a fraction of the sentences, and the numbers of sentences and takes."""

    motion: float  # with captions and learned words only
    with_labels: float  # also with the labels of the ranked takes
    chance: float
    sentences: int
    takes: tuple[int, ...]  # ranked in each fold
    learned_from: tuple[int, ...]  # number of descriptions in each fold


def score_sentences(
    library: Store,
    sentences: str | Path,
    settings: SentenceSettings,
    progress: Progress | None = None,
) -> SentenceScores:
    """Compute the recall at 10 of text search; see `motionloom.library.evaluate_sentences`."""
    asked = _table(sentences, ("take", "sentence"))
    same = settings.same
    repeats = dict(_table(same, ("file", "duplicate_of"))) if same is not None else {}
    original = {name: repeats.get(name) or name for name in library.names}
    asked = [(take, text) for take, text in asked if take in original]
    if not asked:
        raise InvalidInput(f"{sentences}: none of the sentences describes a take in the library")
    who = {name: _performer(name, settings.performer) for name in original}
    captions = caption_table(library, workers=settings.workers, progress=progress)
    synonyms = library_synonyms(library.path)
    hits: dict[bool, list[bool]] = {False: [], True: []}
    sizes, texts_of = [], []
    for chosen in _folds(asked, original, who, settings.folds, settings.seed):
        ranked = sorted(
            {
                original[name]
                for name in original
                if who[name] in chosen and original[name] in original
            }
        )
        descriptions = _texts(library, asked, original, who, chosen, set(ranked), synonyms)
        place = {name: m for m, name in enumerate(captions.names)}
        excluded = {
            name
            for name in described_takes().names
            if _performer(name, settings.performer) in chosen or name in ranked
        }
        others = described_takes().without(excluded.__contains__)
        learned = learn_words(
            captions.statistics,
            [(place[name], results) for name, results in descriptions],
            others,
            partial(words, synonyms=synonyms),
        )
        for labeled in (False, True):
            index = _index(library, captions, ranked, labeled, learned, synonyms)
            for take, text in asked:
                if who[take] in chosen and original[take] in original:
                    results = find(index, text, most=FIRST)
                    hits[labeled].append(original[take] in results.motions)
        sizes.append(len(ranked))
        texts_of.append(len(descriptions))
    chance = float(np.mean([min(1.0, FIRST / n) for n in sizes]))
    return SentenceScores(
        float(np.mean(hits[False])), float(np.mean(hits[True])), chance, len(hits[False]),
        tuple(sizes), tuple(texts_of),
    )  # fmt: skip


def _table(path: str | Path, columns: Sequence[str]) -> list[tuple[str, str]]:
    try:
        rows = [row for _, row in csv_rows(path) if row]
    except (FileNotFoundError, MotionFormatError):
        raise InvalidInput(f"{path}: the file does not exist or is not UTF-8 text") from None
    header = rows[0] if rows else []
    if any(name not in header for name in columns):
        raise InvalidInput(f"{path}: expected the columns {', '.join(columns)}")
    name, text = (header.index(column) for column in columns)
    return [(row[name].strip(), row[text]) for row in rows[1:] if len(row) > max(name, text)]


def _performer(name: str, pattern: str) -> str:
    match = re.search(pattern, name)
    return match[1] if match and match.groups() else name


def _folds(asked, original, who, folds: int, seed: int) -> list[set[str]]:
    """Assign performers to folds; performers who share a take are in the same fold."""
    group = {who[take]: who[take] for take, _ in asked}

    def top(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    owners: dict[str, str] = {}
    for name in sorted(original):
        if who[name] in group:
            first = owners.setdefault(original[name], who[name])
            group[top(who[name])] = top(first)
    parts: dict[str, list[str]] = {}
    for name in sorted(group):
        parts.setdefault(top(name), []).append(name)
    size = {
        key: len({original[n] for n in original if who[n] in set(part)})
        for key, part in parts.items()
    }
    rng = random.Random(seed)
    order = sorted(parts, key=lambda key: (-size[key] + 15.0 * rng.random(), key))
    out: list[tuple[int, set[str]]] = [(0, set()) for _ in range(folds)]
    for key in order:
        k = min(range(folds), key=lambda n: out[n][0])
        out[k] = (out[k][0] + size[key], out[k][1] | set(parts[key]))
    return [names for _, names in out if names]


def _texts(library, asked, original, who, chosen, ranked, synonyms) -> list[tuple[str, list[str]]]:
    """Return descriptions of other performers' takes, excluding duplicates of ranked takes."""
    labels = library.catalogue.labels()
    texts = [
        (name, words(label, synonyms))
        for name in original
        if who[name] not in chosen and original[name] == name and name not in ranked
        for label in labels.get(name, ())
    ]
    texts += [
        (original[take], words(text, synonyms))
        for take, text in asked
        if who[take] not in chosen and original[take] not in ranked and original[take] in original
    ]
    return texts


def _index(
    library: Store, captions: CaptionTable, ranked: Sequence[str], labeled: bool, learned,
    synonyms: Synonyms,
) -> TextIndex:  # fmt: skip
    place = {name: m for m, name in enumerate(captions.names)}
    takes = []
    for name in ranked:
        entry = library.entry(name)
        motion_events = captions.events[place[name]]
        events, captioned = captioned_events(motion_events, entry.fps, entry.frames, synonyms)
        named = [w for label in library.labels(name) for w in words(label, synonyms)]
        takes.append(
            IndexedTake(name, entry.fps, entry.frames, named if labeled else [], captioned, events)
        )
    connection = sqlite3.connect(":memory:")
    write_takes(connection, takes)
    if learned is not None:
        columns = [place[name] for name in ranked]
        learned = replace(learned, predicted=np.ascontiguousarray(learned.predicted[:, columns]))
    return TextIndex(connection, learned, synonyms)
