"""The files a bench reads: real ones where they are found, else the built-in corpus."""

from __future__ import annotations

import csv
import os
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Settings
from benchmarks.measuring import Say
from motionloom.configuration import user_cache
from motionloom.errors import InvalidInput

_ARCHIVE = "cmu30.tar.xz"
_CLIPS = "cmu-clips.tar.xz"
CREDIT = (
    "The data used in this project was obtained from mocap.cs.cmu.edu. "
    "The database was created with funding from NSF EIA-0196217."
)


@dataclass(frozen=True)
class Takes:
    """Files to read, where they came from, and whom to credit."""

    paths: tuple[Path, ...]
    source: str
    credit: str = ""

    @property
    def megabytes(self) -> float:
        """Size of all files together."""
        return sum(path.stat().st_size for path in self.paths) / 1e6


def takes(settings: Settings, scratch: Path, *, say: Say) -> Takes:
    """Some files of mixed lengths, chosen by the seed.

    Parameters
    ----------
    settings : Settings
        ``data`` names a folder with BVH files (or with the CMU archive); without it, the
        CMU data set is looked for in ``MOTIONLOOM_DATA`` and beside the checkout.
    scratch : Path
        Folder the built-in corpus may be written to.
    say : callable
    """
    folder, source, credit = everything(settings, scratch, say=say)
    return Takes(_chosen(folder, settings), source, credit)


def everything(settings: Settings, scratch: Path, *, say: Say) -> tuple[Path, str, str]:
    """Folder with all files there are, in words, and whom to credit; options as in `takes`."""
    place = settings.data or data_folder()
    if place is None:
        from motionloom import demo

        say("writing the built-in corpus")
        demo.write(scratch)
        return scratch, "the built-in corpus", ""
    if not place.is_dir():
        raise InvalidInput(f"data must be a folder with .bvh files; {place} is none")
    if (place / _ARCHIVE).exists():
        return _unpacked(place / _ARCHIVE, say), "CMU takes at 30 Hz", CREDIT
    return place, f"files of {place}", ""


def labelled_clips(settings: Settings, scratch: Path, *, say: Say) -> tuple[Path, str, str]:
    """Folder with single-action clips, in words, and whom to credit; options as in `takes`."""
    place = settings.data or data_folder()
    if place is not None and (place / _CLIPS).exists():
        return _unpacked(place / _CLIPS, say), "single-action CMU clips", CREDIT
    return everything(settings, scratch, say=say)


def measured_rhythms(settings: Settings, *, say: Say) -> list[tuple[Path, float]]:
    """CMU takes whose seconds per step were measured from the feet; none without the data set."""
    place = settings.data or data_folder()
    table = place / "beats" / "dev.csv" if place else None
    if place is None or table is None or not table.exists() or not (place / _ARCHIVE).exists():
        return []
    folder = _unpacked(place / _ARCHIVE, say)
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        (folder / row["file"].split("_")[0].zfill(3) / f"{row['file']}.bvh", float(row["step_s"]))
        for row in rows
    ]


def _chosen(folder: Path, settings: Settings) -> tuple[Path, ...]:
    """One file at random from each of equal parts of the list sorted by size."""
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".bvh")
    if not found:
        raise InvalidInput(f"data must hold .bvh files; {folder} holds none")
    if settings.files < 1:
        raise InvalidInput(f"files must be at least 1; got {settings.files}")
    found.sort(key=lambda path: path.stat().st_size)
    rng = np.random.default_rng(settings.seed)
    parts = np.array_split(np.arange(len(found)), min(settings.files, len(found)))
    return tuple(found[rng.choice(part)] for part in parts)


# Python before 3.11.4 knows no filters; the archive is one that the user named.
_SAFELY: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def data_folder() -> Path | None:
    """MOTIONLOOM_DATA, or a folder shared/data beside the checkout."""
    named = os.environ.get("MOTIONLOOM_DATA")
    places = [parent / "shared" / "data" for parent in Path(__file__).parents[3].parents]
    for place in [Path(named)] if named else places:
        if named or (place / _ARCHIVE).exists():
            return place
    return None


def _unpacked(archive: Path, say: Say) -> Path:
    """Folder with the archive's files, unpacked once to the user's cache."""
    target = user_cache() / "motionloom-tests" / archive.name.removesuffix(".tar.xz")
    if not target.exists():
        say(f"unpacking {archive.name} once, to {target}")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            with tarfile.open(archive) as tar:
                tar.extractall(scratch, **_SAFELY)
            inner = list(Path(scratch).iterdir())
            source = inner[0] if len(inner) == 1 and inner[0].is_dir() else Path(scratch)
            source.rename(target)
    return target
