"""Input of the benchmarks: CMU or user files if available, otherwise the built-in corpus."""

from __future__ import annotations

import csv
import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Settings
from benchmarks.timing import Log
from motionloom.configuration import user_cache
from motionloom.errors import InvalidInput
from motionloom.features import LibraryFeatures
from motionloom.library import Library

_ARCHIVE = "cmu30.tar.xz"
_CLIPS = "cmu-clips.tar.xz"
CREDIT = (
    "The data used in this project was obtained from mocap.cs.cmu.edu. "
    "The database was created with funding from NSF EIA-0196217."
)
QUERIES = 4  # number of queries that each contestant answers in one call
QUERY_SECONDS = 3.0


@dataclass(frozen=True)
class Takes:
    """Files to read, their source, and the credit to print."""

    paths: tuple[Path, ...]
    source: str
    credit: str = ""

    @property
    def megabytes(self) -> float:
        """Size of all files together."""
        return sum(path.stat().st_size for path in self.paths) / 1e6


def takes(settings: Settings, scratch: Path, *, log: Log) -> Takes:
    """Files of different lengths, chosen at random.

    Parameters
    ----------
    settings : Settings
        ``data`` is a folder with BVH files, or with the CMU archive. Default: the CMU data set
        in ``MOTIONLOOM_DATA`` or next to the checkout.
    scratch : Path
        Folder to which the built-in corpus is written.
    log : callable
    """
    folder, source, credit = everything(settings, scratch, log=log)
    return Takes(_chosen(folder, settings), source, credit)


def everything(settings: Settings, scratch: Path, *, log: Log) -> tuple[Path, str, str]:
    """Folder of all files, its description and its credit; parameters as in `takes`."""
    place = settings.data or data_folder()
    if place is None:
        from motionloom import demo

        log("writing the built-in corpus")
        demo.write(scratch)
        return scratch, "the built-in corpus", ""
    if not place.is_dir():
        raise InvalidInput(f"data must be a folder with .bvh files; {place} is not one")
    if (place / _ARCHIVE).exists():
        return unpacked(place / _ARCHIVE, log), "CMU takes at 30 Hz", CREDIT
    return place, f"files of {place}", ""


def labeled_clips(settings: Settings, scratch: Path, *, log: Log) -> tuple[Path, str, str]:
    """Folder of single-action clips, its description and its credit; see `takes`."""
    place = settings.data or data_folder()
    if place is not None and (place / _CLIPS).exists():
        return unpacked(place / _CLIPS, log), "single-action CMU clips", CREDIT
    return everything(settings, scratch, log=log)


def measured_rhythms(settings: Settings, *, log: Log) -> list[tuple[Path, float]]:
    """CMU takes and their step period in seconds, measured from the feet; empty without data."""
    place = settings.data or data_folder()
    table = place / "beats" / "dev.csv" if place else None
    if place is None or table is None or not table.exists() or not (place / _ARCHIVE).exists():
        return []
    folder = unpacked(place / _ARCHIVE, log)
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        (folder / row["file"].split("_")[0].zfill(3) / f"{row['file']}.bvh", float(row["step_s"]))
        for row in rows
    ]


@dataclass(frozen=True)
class WholeLibrary:
    """A library of all files, its source, and the credit to print."""

    library: Library
    source: str
    credit: str

    @property
    def data(self) -> str:
        """Description of the data."""
        return f"{len(self.library)} motions ({self.source}), {self.library.store.frames} frames"

    def queries(self, features: LibraryFeatures, seed: int) -> list[NDArray[np.float32]]:
        """Random segments of three seconds, as feature vectors (T, D)."""
        rng = np.random.default_rng(seed)
        length = round(QUERY_SECONDS * features.rate)
        motions = np.flatnonzero(np.diff(features.starts) > length)
        segments = []
        for m in rng.choice(motions, QUERIES):
            first = rng.integers(features.starts[m], features.starts[m + 1] - length)
            segments.append(np.array(features.rows[first : first + length]))
        return segments


@contextmanager
def whole_library(settings: Settings, *, log: Log) -> Iterator[WholeLibrary]:
    """A library of all files; for the CMU data set, it is stored in the user's cache."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, source, credit = everything(settings, Path(scratch) / "files", log=log)
        place = Path(scratch) / "loom"
        if credit:
            place = user_cache() / "motionloom" / "bench" / "cmu30.loom"
        place.parent.mkdir(parents=True, exist_ok=True)
        log(f"importing {folder}")
        library = Library.create(place, exist_ok=True)
        library.add(folder)
        yield WholeLibrary(library, source, credit)
        library.close()


@contextmanager
def described_library(settings: Settings, *, log: Log) -> Iterator[WholeLibrary]:
    """A cached library of all files, labeled with their descriptions if there are any."""
    place = settings.data or data_folder()
    labels = None if place is None else place / "cmu30-metadata.csv"
    if labels is None or not labels.exists():
        with whole_library(settings, log=log) as whole:
            yield whole
        return
    kept = user_cache() / "motionloom" / "bench" / "cmu30-described.loom"
    kept.parent.mkdir(parents=True, exist_ok=True)
    library = Library.create(kept, exist_ok=True)
    if not len(library):
        folder, _, _ = everything(settings, kept.parent, log=log)
        log(f"importing {folder}")
        library.add(folder, labels=labels, label_columns="description")
    yield WholeLibrary(library, "CMU takes at 30 Hz with their descriptions", CREDIT)
    library.close()


def _chosen(folder: Path, settings: Settings) -> tuple[Path, ...]:
    """One random file from each of equal parts of the list sorted by size."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".bvh")
    if not paths:
        raise InvalidInput(f"data must be a folder with .bvh files; there are none in {folder}")
    if settings.files < 1:
        raise InvalidInput(f"files must be at least 1; got {settings.files}")
    paths.sort(key=lambda path: path.stat().st_size)
    rng = np.random.default_rng(settings.seed)
    parts = np.array_split(np.arange(len(paths)), min(settings.files, len(paths)))
    return tuple(paths[rng.choice(part)] for part in parts)


# Python before 3.11.4 has no filters; the user named the archive.
_SAFELY: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def data_folder() -> Path | None:
    """MOTIONLOOM_DATA, or a folder shared/data next to the checkout."""
    named = os.environ.get("MOTIONLOOM_DATA")
    places = [parent / "shared" / "data" for parent in Path(__file__).parents[1].parents]
    for place in [Path(named)] if named else places:
        if named or (place / _ARCHIVE).exists():
            return place
    return None


def unpacked(archive: Path, log: Log) -> Path:
    """Folder with the files of the archive, unpacked once to the user's cache."""
    target = user_cache() / "motionloom-tests" / archive.name.removesuffix(".tar.xz")
    if not target.exists():
        log(f"unpacking {archive.name} once, to {target}")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            with tarfile.open(archive) as tar:
                tar.extractall(scratch, **_SAFELY)
            inner = list(Path(scratch).iterdir())
            source = inner[0] if len(inner) == 1 and inner[0].is_dir() else Path(scratch)
            source.rename(target)
    return target
