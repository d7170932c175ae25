"""Quality of captions, and of finding takes by sentences.

*Captions against the labels of clips*: how often a predicate is found where the label says so.
Labels of a set name classes ("wave-left-hand", "Squat"); `EXPECTED` says which predicates each of
them should show. Recall is the share of the clips of a class in which one of its predicates is
found. Precision is the share of the clips with that predicate whose class shows it: classes that
may show it (`MAY`) count neither way.

*Finding takes by sentences that people wrote about them*: recall at ten, by the protocol of the CMU
takes of the KIT Motion-Language Dataset: performers are divided into folds; for each sentence about
a performer of a fold, all takes of these performers are ranked, takes that repeat another counted
once, and the sentence counts as answered if its take is among the first ten. Words are learned from
labels and sentences of all other performers, and from no take that repeats one of those ranked.

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
from motionloom.text.learned_words import learn_words
from motionloom.text.text_index import (
    IndexedTake,
    TextIndex,
    captioned_events,
    write_takes,
)
from motionloom.text.text_search import find
from motionloom.text.vocabulary import Synonyms, library_synonyms, words

# Predicates by class, "name" or "name side"; the first that is found counts.
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
# Other classes that may show a predicate, "*" for all. Kinds of takes do not exclude each other
# (one jumps in a hopscotch and in a basketball game), so that they have no precision.
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
    """One class of a set.

    Attributes
    ----------
    set, label : str
    predicates : tuple of str
        One of them should be found.
    clips : int
    recall, precision : float
        Precision is that of the clips in which the first predicate is found; NaN for none, and
        where classes do not exclude each other.
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
    """Recall and precision of the predicates of every class of some labeled sets.

    Raises
    ------
    InvalidInput
        If a set has no row in `EXPECTED`.
    """
    names = chosen_sets(settings)
    for name in names:
        if name not in EXPECTED:
            raise InvalidInput(
                f"captions are scored on {', '.join(EXPECTED)}; there is no set {name!r}"
            )
    data = DataFolder(settings.data, settings.keep)
    rows: list[CaptionScore] = []
    for name in names:
        rows += scored(clip_set(name, data), workers=settings.workers)
        if progress is not None:
            progress(1)
    return rows


def chosen_sets(settings: CaptionScoreSettings) -> tuple[str, ...]:
    """Names of the sets, all of them by default."""
    return tuple(EXPECTED) if settings.sets is None else settings.sets


def scored(clips: LabeledSet, *, workers: int | None = None) -> list[CaptionScore]:
    """The classes of one set."""
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
        found = right + wrong if may is not None else 0
        name = EXERCISES.get(label, label) if clips.name == "exercises" else label
        rows.append(
            CaptionScore(
                clips.name, name, wanted, len(own), right / len(own),
                right / found if found else float("nan"),
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
    """The scores as a Markdown table."""
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
    """Write the table to a page: between its marks, or as a page of its own."""
    return write_marked(path, _MARKS, caption_page(rows), "# Captions")


def to_json(rows: Iterable[CaptionScore]) -> list[dict]:
    """The scores as plain data."""
    return [
        {**asdict(row), "precision": None if row.precision != row.precision else row.precision}
        for row in rows
    ]


FIRST = 10  # results that count


@dataclass(frozen=True)
class SentenceScores:
    """Recall at ten, in shares of the sentences, and what it is out of."""

    motion: float  # from captions and learned words alone
    with_labels: float  # with the labels of the takes ranked, too
    chance: float
    sentences: int
    takes: tuple[int, ...]  # ranked in each fold
    learned_from: tuple[int, ...]  # texts in each fold


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
        learned = learn_words(captions.statistics, [(place[name], found) for name, found in texts])
        for labeled in (False, True):
            index = _index(library, captions, ranked, labeled, learned, synonyms)
            for take, text in asked:
                if who[take] in chosen and one[take] in one:
                    found = find(index, text, most=FIRST)
                    hits[labeled].append(one[take] in found.motions)
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
    library: Store, captions: CaptionTable, ranked: Sequence[str], labeled: bool, learned,
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
            IndexedTake(name, entry.fps, entry.frames, named if labeled else [], captioned, events)
        )
    connection = sqlite3.connect(":memory:")
    write_takes(connection, takes)
    if learned is not None:
        columns = [place[name] for name in ranked]
        learned = replace(learned, predicted=np.ascontiguousarray(learned.predicted[:, columns]))
    return TextIndex(connection, learned, synonyms)
