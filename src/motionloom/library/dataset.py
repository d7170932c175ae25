"""Export of a library as motion files, or as Parquet tables for dataset hubs.

::

    FOLDER/README.md                       the data card, whose metadata lists the tables
    FOLDER/motions/part-00000.parquet      one row per motion
    FOLDER/frames/part-00000.parquet ...   one row per frame: root, rotations, positions
    FOLDER/labels/part-00000.parquet       one row per label of a motion or of a segment
    FOLDER/skeletons/part-00000.parquet    one row per skeleton: joints, parents, offsets, roles

Frames are written motion by motion, so memory use does not grow with the library.
"""

from __future__ import annotations

import glob
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from motionloom.errors import InvalidInput, LibraryError
from motionloom.files import unique_stem
from motionloom.formats import FORMATS, save
from motionloom.formats.presets import convert, save_options
from motionloom.formats.settings import GAME_ENGINES
from motionloom.formats.tables import require_extra
from motionloom.search.match import clip_name
from motionloom.store.lock import writer_lock
from motionloom.text.label_files import LabelRow, write_labels

if TYPE_CHECKING:
    from motionloom.motion import Motion
    from motionloom.parallel import Progress
    from motionloom.search.match import Match
    from motionloom.store import Store
    from motionloom.text.text_search import TextMatch

_ROWS_OF_A_FILE = 200_000  # frames; 100 to 200 MB with typical skeletons
CUTS = ("labels", "pauses")
WHOLE_LIBRARY = (*GAME_ENGINES, "training-set")  # what else a library can be exported to
# A pause: the faster points of the body, all but the fastest tenth, are slower than this (m/s) ...
_STILL_SPEED, _FASTEST_POINTS = 0.1, 90.0
_PAUSE_SECONDS = 0.5  # ... for this long
_LEAST_SECONDS = 0.3  # shorter movements between two pauses belong to neither part
_TABLES = ("motions", "frames", "labels", "skeletons")


def motion_suffix(suffix: str, others: Sequence[str] = ()) -> str:
    """Return a format's file name extension without the dot, if the format can be written.

    `others` are further choices, to be named if it cannot.
    """
    suffix = suffix.lower().lstrip(".")
    written = [name.lstrip(".") for name, format_ in FORMATS.items() if "motion" in format_.writes]
    if suffix not in written:
        raise InvalidInput(
            f"motions cannot be written as {suffix!r}; choose one of "
            f"{', '.join((*written, *others))}"
        )
    return suffix


def write_clips(
    library: Store,
    matches: Iterable[Match | TextMatch],
    folder: Path,
    suffix: str,
    progress: Progress | None,
) -> list[Path]:
    """Write each match to a file, cut to its frames; file names begin with the rank."""
    ending = motion_suffix(suffix)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for rank, match in enumerate(matches, start=1):
        start, end = match.start_frame, match.end_frame
        path = folder / f"{clip_name(rank, match.motion, start, end)}.{ending}"
        library[match.motion][start:end].save(path)
        files.append(path)
        if progress is not None:
            progress(1)
    return files


def write_files(
    library: Store,
    names: Sequence[str],
    folder: Path,
    suffix: str,
    progress: Progress | None,
    *,
    cut: str | None = None,
    preset: str | None = None,
    root: str | None = None,
    fps: float | None = None,
) -> list[Path]:
    """Write one file per motion, or per part of a motion, and ``labels.csv`` into a new folder.

    See `Library.export` for the options.

    Raises
    ------
    InvalidInput
        If the folder exists and is not empty, or the format cannot be written.
    """
    suffix = motion_suffix(suffix, WHOLE_LIBRARY)
    if cut not in (None, *CUTS):
        raise InvalidInput(f"cut must be one of {', '.join(CUTS)}; got {cut!r}")
    stems: set[str] = set()
    rows = []
    with new_folder(folder) as scratch:
        for name in names:
            whole = library[name]
            for start, end, title in motion_parts(library, whole, name, cut):
                stem = unique_stem(title, stems)
                path = scratch / f"{stem}.{suffix}"
                motion = convert(whole[start:end], fps=fps, preset=preset, root=root)
                save(motion, path, **save_options(path, preset=preset))
                rows += [LabelRow(stem, text) for text in library.labels(name)]
                rows += [
                    LabelRow(stem, text, first / whole.fps, last / whole.fps)
                    for first, last, text in labels_inside(library, name, start, end)
                ]
            if progress is not None:
                progress(1)
        write_labels(rows, scratch / "labels.csv", {})
    return _files(folder)


def motion_parts(
    library: Store, motion: Motion, name: str, cut: str | None
) -> list[tuple[int, int, str]]:
    """Return the first frame, end frame and file name of each part of a motion.

    A motion without labeled segments or pauses is one part.
    """
    whole = [(0, len(motion), name)]
    if cut == "labels":
        segments = library.segment_labels(name)
        return [
            (part.start_frame, part.end_frame, f"{name}_{part.start_frame}-{part.end_frame}_{text}")
            for part, text in segments
        ] or whole
    if cut == "pauses":
        parts = moving_parts(motion)
        return [(a, b, f"{name}_{a}-{b}") for a, b in parts] if len(parts) > 1 else whole
    return whole


def moving_parts(motion: Motion) -> list[tuple[int, int]]:
    """Return the frame ranges between pauses, in which the body stands still.

    Examples
    --------
    >>> import motionloom as ml
    >>> moving_parts(ml.demo.clip("walk"))
    [(0, 138)]
    """
    places = motion.positions(end_sites=True)
    if len(places) < 3:
        return [(0, len(places))]
    speeds = np.linalg.norm(np.gradient(places, axis=0), axis=2) * motion.fps
    still = np.percentile(speeds, _FASTEST_POINTS, axis=1) < _STILL_SPEED
    edges = np.flatnonzero(np.diff(still, prepend=False, append=False)).reshape(-1, 2)
    pauses = [(int(a), int(b)) for a, b in edges if b - a >= _PAUSE_SECONDS * motion.fps]
    starts = [0, *(b for _, b in pauses)]
    ends = [*(a for a, _ in pauses), len(places)]
    # Keep a little of the pause on both sides, so that a part begins and ends at rest.
    rest = round(0.5 * _PAUSE_SECONDS * motion.fps)
    return [
        (max(0, start - rest), min(len(places), end + rest))
        for start, end in zip(starts, ends, strict=True)
        if end - start >= _LEAST_SECONDS * motion.fps
    ] or [(0, len(places))]


def labels_inside(library: Store, name: str, start: int, end: int) -> list[tuple[int, int, str]]:
    """Return the labeled segments within frames [start, end), counted from `start`."""
    parts = []
    for part, text in library.segment_labels(name):
        first, last = max(part.start_frame, start) - start, min(part.end_frame, end) - start
        if first < last:
            parts.append((first, last, text))
    return parts


def write_dataset(
    library: Store, names: Sequence[str], folder: Path, progress: Progress | None
) -> list[Path]:
    """Write motions from a library as Parquet tables into a new folder.

    Raises
    ------
    InvalidInput
        If the folder exists and is not empty.
    MissingExtra
        If pyarrow is not installed.
    """
    arrow = require_extra()
    with new_folder(folder) as scratch:
        for table in _TABLES:
            (scratch / table).mkdir()
        skeletons: dict[str, Any] = {}
        motions, labels, frames = [], [], 0
        with _Parts(arrow, scratch / "frames") as parts:
            for name in names:
                motion, entry = library[name], library.entry(name)
                key = entry.skeleton
                skeletons.setdefault(key, motion.skeleton)
                parts.write(_frame_columns(arrow, name, motion))
                frames += len(motion)
                whole = list(library.labels(name))
                motions.append(
                    {
                        "motion": name,
                        "frames": len(motion),
                        "fps": float(motion.fps),
                        "seconds": float(motion.duration),
                        "skeleton": key,
                        "labels": whole,
                        "source": Path(entry.source).name,
                    }
                )
                labels += [_label_row(name, 0, len(motion), motion.fps, text) for text in whole]
                labels += [
                    _label_row(name, part.start_frame, part.end_frame, motion.fps, text)
                    for part, text in library.segment_labels(name)
                ]
                if progress is not None:
                    progress(1)
        for table, rows, schema in (
            ("motions", motions, _motion_schema(arrow)),
            ("labels", labels, _label_schema(arrow)),
            ("skeletons", _skeleton_rows(skeletons), _skeleton_schema(arrow)),
        ):
            arrow.parquet.write_table(
                arrow.Table.from_pylist(rows, schema=schema),
                scratch / table / "part-00000.parquet",
            )
        card = _card(folder.name, motions, frames, labels, len(skeletons))
        (scratch / "README.md").write_text(card, encoding="utf-8")
    return _files(folder)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces `folder` once everything is written.

    Temporary folders that killed exports left are removed; a running export holds a lock on its
    own.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} is not empty; choose a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f".{glob.escape(folder.name)}-*.part/"):
        if not left.is_symlink():
            with suppress(LibraryError), writer_lock(left, timeout=0.0):
                shutil.rmtree(left, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=".part", dir=folder.parent))
    try:
        with writer_lock(scratch, timeout=0.0):
            files = scratch / "files"
            files.mkdir()
            yield files
            if folder.exists():
                folder.rmdir()
            files.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class _Parts:
    """Writer that splits a table into Parquet files of limited size."""

    def __init__(self, arrow: Any, folder: Path) -> None:
        self._arrow, self._folder = arrow, folder
        self._writer: Any = None
        self._rows = self._files = 0

    def __enter__(self) -> _Parts:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, table: Any) -> None:
        """Append a table; start a new file when the current one is full."""
        if self._writer is not None and self._rows + len(table) > _ROWS_OF_A_FILE:
            self._writer.close()
            self._writer = None
        if self._writer is None:
            path = self._folder / f"part-{self._files:05d}.parquet"
            self._writer = self._arrow.parquet.ParquetWriter(path, table.schema)
            self._files, self._rows = self._files + 1, 0
        self._writer.write_table(table)
        self._rows += len(table)


def _frame_columns(arrow: Any, name: str, motion: Any) -> Any:
    """Return the columns of the frame table; lists are flat, with J * 4 or J * 3 numbers."""

    def lists(values: np.ndarray) -> Any:
        flat = np.ascontiguousarray(values, np.float32).reshape(len(values), -1)
        offsets = np.arange(len(flat) + 1, dtype=np.int32) * flat.shape[1]
        return arrow.ListArray.from_arrays(arrow.array(offsets), arrow.array(flat.ravel()))

    count = len(motion)
    return arrow.table(
        {
            "motion": arrow.array([name] * count, arrow.string()),
            "frame": arrow.array(np.arange(count, dtype=np.int32)),
            "time": arrow.array((np.arange(count) / motion.fps).astype(np.float64)),
            "root": lists(motion.root),
            "rotations": lists(motion.rotations),
            "positions": lists(motion.positions()),
        }
    )


def _label_row(name: str, start: int, end: int, fps: float, text: str) -> dict[str, Any]:
    return {
        "motion": name,
        "start_frame": int(start),
        "end_frame": int(end),
        "start": float(start / fps),
        "end": float(end / fps),
        "label": text,
    }


def _skeleton_rows(skeletons: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for key, skeleton in skeletons.items():
        role_of = {joint: role for role, joint in skeleton.roles.items()}
        rows.append(
            {
                "skeleton": key,
                "joints": list(skeleton.names),
                "parents": [int(parent) for parent in skeleton.parents],
                "offsets": [float(value) for value in np.ravel(skeleton.offsets)],
                "roles": [role_of.get(joint, "") for joint in skeleton.names],
            }
        )
    return rows


def _motion_schema(arrow: Any) -> Any:
    text = arrow.string()
    return arrow.schema(
        {
            "motion": text, "frames": arrow.int32(), "fps": arrow.float64(),
            "seconds": arrow.float64(), "skeleton": text, "labels": arrow.list_(text),
            "source": text,
        }
    )  # fmt: skip


def _label_schema(arrow: Any) -> Any:
    return arrow.schema(
        {
            "motion": arrow.string(), "start_frame": arrow.int32(), "end_frame": arrow.int32(),
            "start": arrow.float64(), "end": arrow.float64(), "label": arrow.string(),
        }
    )  # fmt: skip


def _skeleton_schema(arrow: Any) -> Any:
    return arrow.schema(
        {
            "skeleton": arrow.string(), "joints": arrow.list_(arrow.string()),
            "parents": arrow.list_(arrow.int32()), "offsets": arrow.list_(arrow.float64()),
            "roles": arrow.list_(arrow.string()),
        }
    )  # fmt: skip


def _card(
    title: str, motions: list[dict[str, Any]], frames: int, labels: list[dict[str, Any]], rigs: int
) -> str:
    """Return the data card: metadata for dataset hubs, then a description of the tables."""
    configs = "".join(
        f"- config_name: {table}\n  data_files: {table}/*.parquet\n"
        + ("  default: true\n" if table == "frames" else "")
        for table in _TABLES
    )
    counts: dict[str, int] = {}
    for row in labels:
        counts[row["label"]] = counts.get(row["label"], 0) + 1
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:30]
    shown = ", ".join(f"{_plain(text)} ({count})" for text, count in most) or "none"
    rates = sorted({f"{row['fps']:g}" for row in motions}, key=float)
    hours = sum(row["seconds"] for row in motions) / 3600
    counted = (
        f"{len(motions)} motions, {frames} frames, {hours:.2f} hours, at {', '.join(rates)} frames"
    )
    template = files("motionloom.library").joinpath("data_card.md").read_text(encoding="utf-8")
    return Template(template).substitute(
        configs=configs,
        title=_plain(title),
        counts=f"{counted} per second, {rigs} skeletons and {len(labels)} labels",
        labels=shown,
    )


def _plain(text: str) -> str:
    """Escape text so that it cannot change the structure of the card."""
    return "".join(c if c.isalnum() or c in " -_.,'" else " " for c in text).strip() or "motions"
