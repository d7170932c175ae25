"""Label files: CSV tables, ELAN files (``.eaf``), and BABEL-style JSON files.

=========  =======================================================================================
format     content
=========  =======================================================================================
``.csv``   columns ``motion``, ``start``, ``end`` (seconds; empty for whole motions), ``label``;
           ``start_frame`` and ``end_frame`` are also read
``.eaf``   ELAN annotations of one motion, named after its media file or after the file itself
``.json``  as in BABEL: for every motion, ``seq_ann`` (the whole) and ``frame_ann`` (``start_t``,
           ``end_t`` in seconds), with ``proc_label`` or ``raw_label``
=========  =======================================================================================
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from motionloom.errors import InvalidInput
from motionloom.files import (
    atomic_write,
    csv_cell,
    csv_cell_text,
    csv_rows,
    parse_json,
    read_regular_text,
)
from motionloom.store.ingest.labels import checked_labels

SUFFIXES = (".csv", ".eaf", ".json")
_LARGEST = 200_000_000  # maximum size of a file, in bytes
_MOTION = ("motion", "file", "name", "take", "clip", "path")


@dataclass(frozen=True)
class LabelRow:
    """A label for a motion, or for a range of it in seconds or frames."""

    motion: str
    label: str
    start: float | None = None
    end: float | None = None
    in_frames: bool = False


def read_labels(path: str | Path) -> list[LabelRow]:
    """Read all labels from a file.

    Raises
    ------
    InvalidInput
        If the file has an unsupported format or is damaged. The message gives the location.
    """
    path = Path(path)
    readers = {".csv": _read_csv, ".eaf": _read_elan, ".json": _read_json}
    if path.suffix.lower() not in readers:
        raise InvalidInput(f"{path}: label files must be {', '.join(SUFFIXES)} files")
    try:
        if path.stat().st_size > _LARGEST:
            raise InvalidInput(
                f"{path}: a label file must not be larger than {_LARGEST // 10**6} MB"
            )
        text = read_regular_text(path, encoding="utf-8-sig", largest=_LARGEST)
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path}: label files must be UTF-8 text; byte {error.start} is invalid"
        ) from None
    rows = readers[path.suffix.lower()](text, path)
    for row in rows:
        _check(row, path)
    return rows


def write_labels(rows: Sequence[LabelRow], path: str | Path, lengths: dict[str, float]) -> Path:
    """Write labels to a file. `lengths` contains the duration of each motion, in seconds."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind == ".csv":
        text = _csv_text(rows)
    elif kind == ".json":
        text = _json_text(rows, lengths)
    elif kind == ".eaf":
        text = _elan_text(rows, lengths, path)
    else:
        raise InvalidInput(f"{path}: label files must be {', '.join(SUFFIXES)} files")
    with atomic_write(path) as scratch:
        scratch.write_text(text, encoding="utf-8")
    return path


def _check(row: LabelRow, path: Path) -> None:
    try:
        checked_labels([row.label])
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    if row.start is None or row.end is None:
        return
    if not (math.isfinite(row.start) and math.isfinite(row.end) and 0.0 <= row.start < row.end):
        raise InvalidInput(
            f"{path}: label {row.label!r} of {row.motion}: the start must not be negative and must "
            f"be before the end; got {row.start:g} to {row.end:g} s"
        )


# --- CSV ------------------------------------------------------------------------------------


def _read_csv(text: str, path: Path) -> list[LabelRow]:
    header = text.lstrip().partition("\n")[0]
    table = csv_rows(path, text, delimiter=max(",;\t", key=header.count))
    table = [(line, row) for line, row in table if row]
    columns = {name.strip().lower(): n for n, name in enumerate(table[0][1] if table else ())}
    motion = next((columns[name] for name in _MOTION if name in columns), None)
    if motion is None or "label" not in columns:
        raise InvalidInput(
            f"{path}: expected the columns motion, start, end, label; found "
            f"{', '.join(columns) or 'nothing'}"
        )
    in_frames = "start_frame" in columns and "start" not in columns
    start, end = ("start_frame", "end_frame") if in_frames else ("start", "end")
    rows = []
    for line, row in table[1:]:
        cells = {column: row[n].strip() for column, n in columns.items() if n < len(row)}
        label, name = cells.get("label"), row[motion].strip() if motion < len(row) else ""
        if not label or not name:
            continue
        limits = [_number(cells.get(each), f"{path}: line {line}") for each in (start, end)]
        if (limits[0] is None) != (limits[1] is None):
            raise InvalidInput(
                f"{path}: line {line}: {start} and {end} must both be given, or both be empty"
            )
        name, label = csv_cell_text(name), csv_cell_text(label)
        rows.append(LabelRow(_stem(name), label, limits[0], limits[1], in_frames))
    return rows


def _csv_text(rows: Iterable[LabelRow]) -> str:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["motion", "start", "end", "label"])
    for row in rows:
        motion, label = csv_cell(row.motion), csv_cell(row.label)
        table.writerow([motion, _plain(row.start), _plain(row.end), label])
    return out.getvalue()


# --- BABEL ----------------------------------------------------------------------------------


def _read_json(text: str, path: Path) -> list[LabelRow]:
    try:
        content = parse_json(text)
    except ValueError as error:
        raise InvalidInput(f"{path}: not a valid JSON file: {error}") from None
    if not isinstance(content, dict):
        raise InvalidInput(f"{path}: expected a JSON object with one entry per motion")
    rows: list[LabelRow] = []
    for key, entry in content.items():
        if not isinstance(entry, dict):
            raise InvalidInput(f"{path}: {key}: expected an object with seq_ann or frame_ann")
        name = _stem(str(entry.get("feat_p") or entry.get("motion") or key))
        if name.endswith("_poses"):
            name = name.removesuffix("_poses")  # naming scheme of AMASS files
        for whole, where in ((True, "seq_ann"), (False, "frame_ann")):
            part = entry.get(where) or {}
            for label in _listed(part):
                rows.append(_babel_row(name, label, whole, f"{path}: {key}: {where}"))
    return rows


def _listed(part: Any) -> list[Any]:
    labels = part.get("labels") if isinstance(part, dict) else None
    return labels if isinstance(labels, list) else []


def _babel_row(name: str, label: Any, whole: bool, where: str) -> LabelRow:
    if not isinstance(label, dict):
        raise InvalidInput(f"{where}: a label must be an object; got {label!r}")
    text = str(label.get("proc_label") or label.get("raw_label") or "").strip()
    if not text:
        raise InvalidInput(f"{where}: a label must have proc_label or raw_label")
    if whole:
        return LabelRow(name, text)
    start, end = (_number(label.get(each), where) for each in ("start_t", "end_t"))
    if start is None or end is None:
        raise InvalidInput(f"{where}: label {text!r} must have start_t and end_t, in seconds")
    return LabelRow(name, text, start, end)


def _json_text(rows: Sequence[LabelRow], lengths: dict[str, float]) -> str:
    content: dict[str, Any] = {}
    for row in rows:
        entry = content.setdefault(
            row.motion,
            {"feat_p": row.motion, "dur": round(lengths[row.motion], 4), "seq_ann": None,
             "frame_ann": None},
        )  # fmt: skip
        where = "seq_ann" if row.start is None else "frame_ann"
        part = entry[where] = entry[where] or {"labels": []}
        label: dict[str, Any] = {"raw_label": row.label, "proc_label": row.label}
        if row.start is not None:
            label |= {"start_t": row.start, "end_t": row.end}
        part["labels"].append(label)
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


# --- ELAN -----------------------------------------------------------------------------------


def _read_elan(text: str, path: Path) -> list[LabelRow]:
    from xml.etree import ElementTree

    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InvalidInput(f"{path}: an ELAN file must not have a DOCTYPE")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InvalidInput(f"{path}: not an ELAN file: {error}") from None
    if root.tag != "ANNOTATION_DOCUMENT":
        raise InvalidInput(
            f"{path}: not an ELAN file: the root element must be ANNOTATION_DOCUMENT; got "
            f"{root.tag}"
        )
    media = root.find("HEADER/MEDIA_DESCRIPTOR")
    name = _stem(media.get("MEDIA_URL", "") if media is not None else "") or path.stem
    times: dict[str, float] = {}
    for slot in root.iterfind("TIME_ORDER/TIME_SLOT"):
        value = _number(slot.get("TIME_VALUE"), f"{path}: TIME_SLOT")
        if value is not None:
            times[slot.get("TIME_SLOT_ID", "")] = value / 1000.0
    rows = []
    for note in root.iterfind("TIER/ANNOTATION/ALIGNABLE_ANNOTATION"):
        label = (note.findtext("ANNOTATION_VALUE") or "").strip()
        ends = [note.get(f"TIME_SLOT_REF{k}", "") for k in (1, 2)]
        if any(end not in times for end in ends):
            raise InvalidInput(f"{path}: the annotation {label!r} has no start or end time")
        if label:
            rows.append(LabelRow(name, label, times[ends[0]], times[ends[1]]))
    return rows


def _elan_text(rows: Sequence[LabelRow], lengths: dict[str, float], path: Path) -> str:
    from xml.etree import ElementTree as tree

    names = sorted({row.motion for row in rows})
    if len(names) != 1:
        raise InvalidInput(
            f"{path}: an ELAN file can only contain the labels of one motion; got {len(names)} "
            f"motions. Choose one with only"
        )
    root = tree.Element(
        "ANNOTATION_DOCUMENT",
        AUTHOR="motionloom", DATE="1970-01-01T00:00:00+00:00", FORMAT="3.0", VERSION="3.0",
    )  # fmt: skip
    header = tree.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    tree.SubElement(header, "MEDIA_DESCRIPTOR", MEDIA_URL=names[0], MIME_TYPE="unknown")
    order = tree.SubElement(root, "TIME_ORDER")
    tier = tree.SubElement(root, "TIER", LINGUISTIC_TYPE_REF="default", TIER_ID="labels")
    for n, row in enumerate(rows):
        start, end = (0.0, lengths[row.motion]) if row.start is None else (row.start, row.end)
        refs = {}
        for k, value in ((1, start), (2, end)):
            slot = f"ts{2 * n + k}"
            tree.SubElement(
                order, "TIME_SLOT", TIME_SLOT_ID=slot, TIME_VALUE=str(round(1000.0 * (value or 0)))
            )
            refs[f"TIME_SLOT_REF{k}"] = slot
        note = tree.SubElement(
            tree.SubElement(tier, "ANNOTATION"),
            "ALIGNABLE_ANNOTATION",
            {"ANNOTATION_ID": f"a{n + 1}", **refs},
        )
        label = "".join(c if c.isprintable() else " " for c in row.label)  # as XML requires
        tree.SubElement(note, "ANNOTATION_VALUE").text = label
    tree.SubElement(
        root, "LINGUISTIC_TYPE",
        GRAPHIC_REFERENCES="false", LINGUISTIC_TYPE_ID="default", TIME_ALIGNABLE="true",
    )  # fmt: skip
    tree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tree.tostring(root, "unicode") + "\n"


# --- values ---------------------------------------------------------------------------------


def _number(text: Any, where: str) -> float | None:
    if text is None or (isinstance(text, str) and not text.strip()):
        return None
    try:
        value = float(text)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{where}: expected a number, found {text!r}") from None
    if not math.isfinite(value):
        raise InvalidInput(f"{where}: expected a number, found {text!r}")
    return value


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")


def _stem(name: str) -> str:
    """Return a name without the suffix of a motion or media file, but with its folders."""
    path = PurePosixPath(name.replace("\\", "/"))
    suffixes = {".bvh", ".amc", ".asf", ".npz", ".c3d", ".glb", ".fbx", ".usd", ".mp4", ".wav"}
    return str(path.with_suffix("")) if path.suffix.lower() in suffixes else name
