"""Text index: names, labels and captions of all motions (in SQLite FTS5), and learned words.

::

    derived/text-index.KEY.VERSION/
      index.sqlite     takes: two FTS5 tables, `named` (names, folders, labels) and `captioned`;
                       events: captions and labeled segments with their frames and words;
                       vocabulary: number of motions with each word; forms: its spelling
      learned.npy       predicted words, (V, M), memory-mapped
      learned.json      vocabulary and confidence

The index depends on the motions, labels and synonyms. When any of these change, it is rebuilt from
the captions, which are stored separately (`motionloom.text.caption_table`).
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import check_shapes, open_array
from motionloom.errors import LibraryError
from motionloom.files import check_regular, parse_json, read_regular
from motionloom.parallel import Progress
from motionloom.store.records import Entry, text_digest
from motionloom.store.remote.folder import Folder
from motionloom.store.store import Store
from motionloom.text import caption_table as table
from motionloom.text.captions import Event, predicates
from motionloom.text.described_takes import described_takes, described_takes_digest
from motionloom.text.learned_words import LearnedWords, learn_words
from motionloom.text.vocabulary import (
    RELATED,
    Synonyms,
    expanded,
    library_synonyms,
    own_synonyms,
    word_forms,
    words,
)

KIND = "text-index"
_VERSION = 5
_SCHEMA = """
CREATE TABLE takes (number INTEGER PRIMARY KEY, name TEXT, fps REAL, frames INTEGER,
                    descriptive INTEGER);
CREATE VIRTUAL TABLE named USING fts5(words, tokenize = "unicode61 remove_diacritics 0");
CREATE VIRTUAL TABLE captioned USING fts5(words, tokenize = "unicode61 remove_diacritics 0");
CREATE TABLE events (take INTEGER, start_frame INTEGER, end_frame INTEGER, text TEXT, words TEXT,
                     source TEXT, name TEXT, side TEXT);
CREATE INDEX events_of ON events (take);
CREATE TABLE vocabulary (word TEXT PRIMARY KEY, takes INTEGER);
CREATE TABLE forms (word TEXT PRIMARY KEY, form TEXT);
"""

# Counts events that lie outside their motions, and invalid words.
_WRONG = """
SELECT (SELECT count(*) FROM events e LEFT JOIN takes t ON t.number = e.take
        WHERE t.number IS NULL OR typeof(start_frame) != 'integer'
        OR typeof(end_frame) != 'integer' OR start_frame < 0 OR end_frame <= start_frame
        OR end_frame > t.frames OR typeof(text) != 'text' OR typeof(words) != 'text'
        OR typeof(source) != 'text' OR typeof(e.name) != 'text' OR typeof(side) != 'text')
     + (SELECT count(*) FROM vocabulary WHERE typeof(word) != 'text' OR typeof(takes) != 'integer'
        OR takes < 0)
     + (SELECT count(*) FROM forms WHERE typeof(word) != 'text' OR typeof(form) != 'text')
"""
_ADVICE = "run motionloom verify LIB --repair to remove the index; it is rebuilt when needed"

Array = NDArray[np.float64]
# The index of each open library. Each index was checked when it was opened.
_OPEN: WeakKeyDictionary[Store, tuple[tuple, TextIndex]] = WeakKeyDictionary()


@dataclass(frozen=True)
class IndexedEvent:
    """A caption or labeled segment, with its frames ``[start_frame, end_frame)`` and its words.

    For a caption, `name` and `side` are those of its predicate.
    """

    start_frame: int
    end_frame: int
    text: str
    words: frozenset[str]
    source: str  # "caption" or "label"
    name: str = ""
    side: str = ""

    def __len__(self) -> int:
        return self.end_frame - self.start_frame


@dataclass(frozen=True)
class IndexedTake:
    """Indexed data for a motion."""

    name: str
    fps: float
    frames: int
    named: Sequence[str]  # words of the name and the labels
    captioned: Sequence[str]
    events: Sequence[IndexedEvent] = ()


class TextIndex:
    """An open text index; see `open_index` and `build_index`."""

    def __init__(
        self, connection: sqlite3.Connection, learned: LearnedWords | None, synonyms: Synonyms
    ) -> None:
        self.connection = connection
        self.learned = learned
        self.synonyms = synonyms
        rows = self.rows("SELECT name, fps, frames, descriptive FROM takes ORDER BY number")
        self.names = tuple(row[0] for row in rows)
        self.fps = [row[1] for row in rows]
        self.frames = [row[2] for row in rows]
        # True if the name or labels describe the movement; "unknown" and "story 2" do not.
        self.descriptive = np.array([bool(row[3]) for row in rows], bool)
        self.takes_with: dict[str, int] = dict(self.rows("SELECT word, takes FROM vocabulary"))
        if not all(
            isinstance(word, str) and isinstance(count, int) and 0 < count <= len(rows)
            for word, count in self.takes_with.items()
        ):
            raise LibraryError(
                f"the text index is damaged: a word has an impossible count; {_ADVICE}"
            )
        self._forms: dict[str, str] = dict(self.rows("SELECT word, form FROM forms"))
        if not all(isinstance(text, str) for pair in self._forms.items() for text in pair):
            raise LibraryError(f"the text index is damaged: a form is not a string; {_ADVICE}")

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, statement: str, values: Sequence[str | int] = ()) -> list[tuple]:
        """Return the result rows of an SQL query; raise `LibraryError` if the index is damaged."""
        try:
            return self.connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise LibraryError(f"the text index is damaged: {error}; {_ADVICE}") from None

    def words(self, text: str) -> list[str]:
        """Return the words of a string in indexed form."""
        return words(text, self.synonyms)

    def shown(self, word: str) -> str:
        """Return a word as people spell it: ``dance`` for the stem ``danc``."""
        return self._forms.get(word) or self.synonyms.forms.get(word, word)

    def known(self, word: str) -> bool:
        """Return whether any motion is described by this word, or by a related word."""
        return any(
            each in self.takes_with or each in self.learned_words
            for each in (word, *self.synonyms.related.get(word, ()))
        )

    @cached_property
    def learned_words(self) -> frozenset[str]:
        """All words that were learned."""
        return frozenset(() if self.learned is None else self.learned.vocabulary)

    @property
    def vocabulary(self) -> list[str]:
        """All known words."""
        return sorted({*self.takes_with, *self.learned_words})

    def predicted_words(self, take: int, most: int = 5) -> list[tuple[str, float]]:
        """Return the most strongly predicted words for a motion, with their confidence."""
        if self.learned is None:
            return []
        return [(self.shown(word), sure) for word, sure in self.learned.words_of(take, most)]

    def text_scores(self, field: str, query: Iterable[str]) -> Array:
        """Return the BM25 score of every motion in ``named`` or ``captioned``, shape (M,)."""
        scores = np.zeros(len(self))
        weights = expanded(query, self.synonyms)
        for weight in (1.0, RELATED):
            asked = [word for word, w in weights.items() if w == weight]
            if not asked:
                continue
            match = " OR ".join(f'"{word}"' for word in asked)
            statement = f"SELECT rowid, bm25({field}) FROM {field} WHERE {field} MATCH ?"
            for number, score in self.rows(statement, (match,)):
                if not 0 <= number < len(self) or not isinstance(score, float):
                    raise LibraryError(f"the text index is damaged: motion {number}; {_ADVICE}")
                scores[number] -= weight * score  # FTS5: better is more negative
        return scores

    def events(self, take: int) -> list[IndexedEvent]:
        """Return the captions and labeled segments of a motion in chronological order."""
        statement = (
            "SELECT start_frame, end_frame, text, words, source, name, side FROM events "
            "WHERE take = ? ORDER BY start_frame, end_frame"
        )
        return [
            IndexedEvent(start, end, text, frozenset(event_words.split()), *rest)
            for start, end, text, event_words, *rest in self.rows(statement, (take,))
        ]

    def named_words(self, take: int) -> list[str]:
        """Return the words of the name and the labels of a motion."""
        rows = self.rows("SELECT words FROM named WHERE rowid = ?", (take,))
        return str(rows[0][0]).split() if rows else []

    def takes_named(self, words: Iterable[str]) -> set[int]:
        """Return the motions whose name or labels contain any of the words."""
        match = " OR ".join(f'"{word}"' for word in words)
        statement = "SELECT rowid FROM named WHERE named MATCH ?"
        return {number for (number,) in self.rows(statement, (match,))}

    def rarity(self, word: str) -> float:
        """Return how informative a word is: the logarithm of its inverse frequency."""
        return float(np.log(1.0 + len(self) / (1.0 + self.takes_with.get(word, 0))))


def open_index(
    library: Store,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    so_far: Callable[[TextIndex], None] | None = None,
) -> TextIndex:
    """Return a library's text index; rebuild it if motions, labels or synonyms have changed.

    If many motions still have to be captioned, `so_far` is called first, with an index of names,
    labels and existing captions.
    """
    synonyms = library_synonyms(library.path)
    options = {"version": _VERSION, "captions": table.options(), "words": _words_digest(library),
               "takes": described_takes_digest()}  # fmt: skip
    artifacts = library.artifacts

    def read(folder: Folder) -> TextIndex:
        about = (folder / "index.sqlite").stat()
        version = (str(folder), about.st_mtime_ns, about.st_size)
        opened = _OPEN.get(library)
        if opened is None or opened[0] != version:
            opened = (version, _read(folder, synonyms, library.entries()))
            _OPEN[library] = opened
        return opened[1]

    def needed(folder: Path, previous: Folder | None) -> None:
        raise _NotBuilt

    try:
        return artifacts.derive(KIND, options, build=needed, read=read)
    except _NotBuilt:
        pass
    _OPEN.pop(library, None)

    def build(folder: Path, previous: Folder | None) -> None:
        takes, descriptions, statistics = _takes(library, captions, synonyms)
        read_words = partial(words, synonyms=synonyms)
        learned = learn_words(statistics, descriptions, described_takes(), read_words)
        with closing(sqlite3.connect(folder / "index.sqlite")) as connection:
            write_takes(connection, takes, _forms(library, takes, synonyms))
        _save_learned(folder, learned)

    def first(captions: table.CaptionTable) -> None:
        assert so_far is not None  # noqa: S101 - not called otherwise
        with closing(sqlite3.connect(":memory:")) as connection:
            write_takes(connection, _takes(library, captions, synonyms)[0])
            so_far(TextIndex(connection, None, synonyms))

    with library.writing():  # captions, labels and motions stay the same
        # Compute captions first, because an artifact must not be built while another is being
        # built.
        captions = table.caption_table(
            library, workers=workers, progress=progress, so_far=first if so_far else None
        )
        options["words"] = _words_digest(library)
        for old in artifacts.list():  # indexes for earlier labels and synonyms
            if old.kind == KIND:
                artifacts.delete(KIND, old.key)
        return artifacts.derive(KIND, options, build=build, read=read)


class _NotBuilt(Exception):
    """Raised if the index is missing or out of date."""


def write_takes(
    connection: sqlite3.Connection,
    takes: Sequence[IndexedTake],
    forms: Mapping[str, str] | None = None,
) -> None:
    """Write the tables of the index; `forms` has the spelling of each word."""
    connection.executescript(_SCHEMA)
    with connection:
        connection.executemany("INSERT INTO forms VALUES (?, ?)", sorted((forms or {}).items()))
        count: dict[str, int] = {}
        for number, take in enumerate(takes):
            descriptive = not motion_words().isdisjoint(take.named)
            connection.execute(
                "INSERT INTO takes VALUES (?, ?, ?, ?, ?)",
                (number, take.name, take.fps, take.frames, descriptive),
            )
            for field in ("named", "captioned"):
                text = " ".join(getattr(take, field))
                connection.execute(
                    f"INSERT INTO {field} (rowid, words) VALUES (?, ?)", (number, text)
                )
            connection.executemany(
                "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        number,
                        e.start_frame,
                        e.end_frame,
                        e.text,
                        " ".join(sorted(e.words)),
                        e.source,
                        e.name,
                        e.side,
                    )
                    for e in take.events
                ],
            )
            for word in {*take.named, *take.captioned}:
                count[word] = count.get(word, 0) + 1
        connection.executemany("INSERT INTO vocabulary VALUES (?, ?)", sorted(count.items()))


def _forms(library: Store, takes: Sequence[IndexedTake], synonyms: Synonyms) -> dict[str, str]:
    """Return the spelling of all words in names, labels, captions and described takes."""
    labels = library.catalogue.labels().values()
    texts = {re.sub(r"[/\\]", " ", take.name) for take in takes}
    texts |= {event.text for take in takes for event in take.events}
    texts |= {label for each in labels for label in each} | {*described_takes().descriptions}
    texts |= {each.more for each in predicates()}
    return word_forms(sorted(texts), synonyms)


def _words_digest(library: Store) -> str:
    return text_digest(
        repr(sorted(library.catalogue.labels().items())),
        repr(sorted(library.catalogue.segment_labels())),
        own_synonyms(library.path),
        repr(sorted(library_synonyms(library.path).same.items())),
    )


def _takes(
    library: Store, captions: table.CaptionTable, synonyms: Synonyms
) -> tuple[list[IndexedTake], list[tuple[int, list[str]]], NDArray[np.float32]]:
    """Return all takes, the descriptions to learn words from, and motion statistics."""
    place = {name: m for m, name in enumerate(captions.names)}
    labels, segments = library.catalogue.labels(), library.catalogue.segment_labels()
    parts: dict[str, list[tuple[int, int, str]]] = {}
    for name, start, end, label in segments:
        parts.setdefault(name, []).append((start, end, label))
    takes, descriptions = [], []
    for entry in library.entries():
        m = place[entry.name]
        named = words(re.sub(r"[/\\]", " ", entry.name), synonyms)
        for label in labels.get(entry.name, ()):
            label_words = words(label, synonyms)
            named += label_words
            if entry.name not in captions.left_out:
                descriptions.append((m, label_words))
        events, captioned = captioned_events(captions.events[m], entry.fps, entry.frames, synonyms)
        for start, end, label in parts.get(entry.name, ()):
            label_words = words(label, synonyms)
            named += label_words
            events.append(IndexedEvent(start, end, label, frozenset(label_words), "label"))
        takes.append(IndexedTake(entry.name, entry.fps, entry.frames, named, captioned, events))
    return takes, descriptions, captions.statistics


def captioned_events(
    captions: Sequence[Event], fps: float, frames: int, synonyms: Synonyms
) -> tuple[list[IndexedEvent], list[str]]:
    """Return the captions of a motion in indexed form, and all their words."""
    events, every = [], []
    for event in captions:
        said = words(f"{event.text} {event.more}", synonyms)
        start = min(round(event.start * fps), frames - 1)
        end = min(max(round(event.end * fps), start + 1), frames)
        row = (start, end, event.text, frozenset(said), "caption", event.name, event.side)
        events.append(IndexedEvent(*row))
        every += said
    return events, every


@cache
def motion_words() -> frozenset[str]:
    """Return all movement words that captions can contain."""
    descriptions = [
        text
        for each in predicates()
        for text in (
            each.text, each.more,
            *(choice.say for rows in each.words.values() for choice in rows),
        )
    ]  # fmt: skip
    return frozenset(
        word for text in descriptions for word in words(re.sub(r"<.*?>|{.*?}", " ", text))
    )


def _save_learned(folder: Path, learned: LearnedWords | None) -> None:
    about = None
    if learned is not None:
        np.save(folder / "learned.npy", learned.predicted)
        about = {
            "vocabulary": learned.vocabulary,
            "idf": learned.idf.tolist(),
            "limits": learned.limits.tolist(),
            "confidence": learned.confidence.tolist(),
            "descriptions": learned.descriptions,
        }
    (folder / "learned.json").write_text(json.dumps(about), encoding="utf-8")


def _read(folder: Folder, synonyms: Synonyms, entries: Sequence[Entry]) -> TextIndex:
    try:
        path = (folder / "index.sqlite").absolute()
        check_regular(path)
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        if _schema(connection) != _own_schema():
            raise ValueError("it does not have the tables of a text index")
        index = TextIndex(connection, _read_learned(folder, len(entries)), synonyms)
        indexed = list(zip(index.names, index.fps, index.frames, strict=True))
        if indexed != [(entry.name, entry.fps, entry.frames) for entry in entries]:
            raise ValueError("its motions differ from those of the library")
        if index.rows(_WRONG)[0][0]:
            raise ValueError("some events lie outside their motions")
        return index
    except (ValueError, LookupError, TypeError, EOFError, ArithmeticError, sqlite3.Error) as error:
        raise LibraryError(f"{folder}: the text index is damaged: {error}") from None


def _read_learned(folder: Folder, motions: int) -> LearnedWords | None:
    about = parse_json(read_regular(folder / "learned.json"), finite=True)
    if about is None:
        return None
    predicted = open_array(folder / "learned.npy")
    arrays = {key: np.array(about[key], np.float64) for key in ("idf", "limits", "confidence")}
    check_shapes(
        {"predicted": predicted, **arrays},
        {
            "predicted": ("float", ("V", "M")),
            "idf": ("float", ("V",)),
            "limits": ("float", ("B",)),
            "confidence": ("float", ("B",)),
        },
        V=len(about["vocabulary"]),
        M=motions,
    )
    if not all(isinstance(word, str) for word in about["vocabulary"]):
        raise ValueError("a learned word is not a string")
    return LearnedWords(
        tuple(about["vocabulary"]), arrays["idf"], predicted, arrays["limits"],
        arrays["confidence"], int(about["descriptions"]),
    )  # fmt: skip


def _schema(connection: sqlite3.Connection) -> list[tuple]:
    return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()


@cache
def _own_schema() -> list[tuple]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_SCHEMA)
        return _schema(connection)
