"""Labels for imported motions, from folder names, file name patterns, a table or a mapping.

- ``"folder"``: the names of the folders between the imported folder and the file. Files directly in
  the imported folder get the name of that folder.
- ``"pattern:REGEX"``: the groups of a regular expression whose names start with ``label``, or its
  first group if there are none. The expression is matched against the stem of the file, or against
  its path without the suffix if the expression contains a ``/``.
- A CSV file, in which one column names the file and another contains the label.
- A mapping from name to label or labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from motionloom.errors import InvalidInput
from motionloom.files import csv_cell_text, csv_rows, read_regular
from motionloom.formats import FORMATS
from motionloom.store.ingest.sources import SourceFile
from motionloom.store.settings import LabelRule

_LONGEST = 1000  # maximum number of characters in a label
KEY_COLUMNS = ("file", "name", "motion", "clip", "path", "filename", "take")


@dataclass(frozen=True)
class Labeling:
    """Labels for the files of an import, and table rows that match none of the files."""

    by_path: dict[str, tuple[str, ...]]  # source path to labels, sorted
    unmatched: tuple[str, ...] = ()  # rows of a table, keys of a mapping


def labeling(
    rules: LabelRule | Sequence[LabelRule] | None,
    sources: Sequence[SourceFile],
    *,
    columns: str | Sequence[str] | None = None,
) -> Labeling:
    """Assign labels to `sources` by one or more rules.

    `columns` are the label columns of a CSV file.

    Examples
    --------
    >>> kick = SourceFile("/takes/kick/high_1.bvh", "takes/kick/high_1.bvh", ("kick",))
    >>> labeling(["folder", "pattern:^([a-z]+)_"], [kick]).by_path
    {'/takes/kick/high_1.bvh': ('high', 'kick')}
    """
    if rules is None:
        return Labeling({})
    if isinstance(rules, str | Path | Mapping):
        rules = [rules]
    by_source: dict[str, set[str]] = {}
    unmatched: list[str] = []
    for given in rules:
        rule, missing = _rule(given, sources, columns)
        unmatched += missing
        for source in sources:
            labels = {label.strip() for label in rule(source)} - {""}
            if labels:
                by_source.setdefault(source.path, set()).update(labels)
    by_path = {path: tuple(sorted(labels)) for path, labels in by_source.items()}
    return Labeling(by_path, tuple(unmatched))


def checked_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return labels stripped, sorted and without duplicates.

    Raises `InvalidInput` for a single string and for control characters.

    Examples
    --------
    >>> checked_labels([" walk", "calm", "walk"])
    ('calm', 'walk')
    """
    if isinstance(labels, str):
        raise InvalidInput(
            f"labels must be a sequence of strings, as in [{labels!r}]; got a single string"
        )
    given = {str(label).strip() for label in labels} - {""}
    for label in given:
        if not label.isprintable() or len(label) > _LONGEST:
            raise InvalidInput(
                f"a label must be at most {_LONGEST} printable characters; got {label[:60]!r}"
            )
    return tuple(sorted(given))


_Rule = Callable[[SourceFile], Iterable[str]]


def _rule(rule: LabelRule, sources: Sequence[SourceFile], columns) -> tuple[_Rule, list[str]]:
    if isinstance(rule, Mapping):
        rows = [
            (str(key), (value,) if isinstance(value, str) else tuple(map(str, value)))
            for key, value in rule.items()
        ]
        return _by_key(rows, sources)
    if str(rule) == "folder":
        return lambda source: source.folders, []
    if str(rule).startswith("pattern:"):
        return _pattern(str(rule).removeprefix("pattern:")), []
    if Path(rule).is_file():
        return _by_key(_table_rows(Path(rule), columns), sources)
    raise InvalidInput(
        f"labels must be 'folder', 'pattern:REGEX' or an existing CSV file; got {str(rule)!r}"
    )


def _pattern(expression: str) -> _Rule:
    try:
        compiled = re.compile(expression)
    except re.error as error:
        raise InvalidInput(f"labels: {expression!r} is not a regular expression: {error}") from None
    if compiled.groups == 0:
        raise InvalidInput(
            f"labels: the pattern {expression!r} needs a group for the label, as in "
            "pattern:(?P<label>[a-z]+)_"
        )
    named = [name for name in compiled.groupindex if name.startswith("label")]

    def rule(source: SourceFile) -> list[str]:
        text = "/".join(source.parts) if "/" in expression else source.stem
        match = compiled.search(text)
        if match is None:
            return []
        groups = [match[name] for name in named] if named else [match[1]]
        return [text for text in groups if text]

    return rule


def _table_rows(path: Path, columns) -> list[tuple[str, tuple[str, ...]]]:
    """Return the file and labels of each row in a CSV file."""
    text = _decoded(path)
    header = text.lstrip().splitlines()[0] if text.strip() else ""
    delimiter = max(",;\t", key=header.count)
    rows = [row for _, row in csv_rows(path, text, delimiter=delimiter) if row]
    names = {name.strip().lower(): n for n, name in enumerate(rows[0] if rows else ()) if name}
    key = next((names[column] for column in KEY_COLUMNS if column in names), None)
    if key is None:
        raise InvalidInput(
            f"{path}: expected a column called {', '.join(KEY_COLUMNS[:-1])} or "
            f"{KEY_COLUMNS[-1]}; found {', '.join(names) or 'nothing'}"
        )
    wanted = [columns] if isinstance(columns, str) else list(columns or ("label",))
    absent = [column for column in wanted if column.strip().lower() not in names]
    if absent:
        raise InvalidInput(
            f"{path}: no column {absent[0]!r} to take labels from (choose with --label-column); "
            f"the columns are {', '.join(names)}"
        )
    chosen = [names[column.strip().lower()] for column in wanted]
    width = max(key, *chosen) + 1
    filled = [row + [""] * (width - len(row)) for row in rows[1:]]
    return [
        (csv_cell_text(row[key].strip()), tuple(csv_cell_text(row[column]) for column in chosen))
        for row in filled
        if row[key].strip()
    ]


def _decoded(path: Path) -> str:
    data = read_regular(path)
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            pass
    return data.decode("latin-1")


def _by_key(rows, sources: Sequence[SourceFile]) -> tuple[_Rule, list[str]]:
    """Return a rule for rows that match the end of a path, such as ``86/86_01.bvh``."""
    labels: dict[tuple[str, ...], list[str]] = {}
    for key, given in rows:
        labels.setdefault(_key_parts(key), []).extend(given)
    used: set[tuple[str, ...]] = set()
    by_source: dict[str, list[str]] = {}
    for source in sources:
        parts = source.parts
        for count in range(1, len(parts) + 1):
            end = parts[-count:]
            if end in labels:
                used.add(end)
                by_source.setdefault(source.path, []).extend(labels[end])
    missing = [key for key, _ in rows if _key_parts(key) not in used]
    return lambda source: by_source.get(source.path, ()), missing


def _key_parts(key: str) -> tuple[str, ...]:
    path = PurePosixPath(key.replace("\\", "/"))
    if path.suffix.lower() in FORMATS:
        path = path.with_suffix("")
    return tuple(part for part in path.parts if part not in (".", "/", ".."))
