"""Data for the reproduction: the built-in corpus, and captured data if it is available."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from benchmarks.takes import CREDIT, data_folder, unpacked
from motionloom import demo
from motionloom.configuration import user_cache
from motionloom.library import Library

CREDITS = (CREDIT, "Bandai-Namco Research Motion Dataset 2: Bandai Namco Research Inc.")
CACHE = user_cache() / "motionloom" / "reproduction"
PICTURES = Path(__file__).parents[1] / "docs" / "pictures"


@dataclass
class Data:
    """Libraries to measure on. Each one is built on first use and cached.

    Parameters
    ----------
    write : bool
        Save pictures in the documentation. If False, they go to a temporary folder.

    Attributes
    ----------
    folder : Path or None
        Folder of the captured data: ``MOTIONLOOM_DATA``, or ``shared/data`` next to the checkout.
    """

    write: bool = False
    folder: Path | None = field(default_factory=data_folder)

    @cached_property
    def corpus_files(self) -> Path:
        """Folder of the built-in corpus: files, truth.csv, labels.csv (`motionloom.demo.write`)."""
        sources = sorted(Path(demo.__file__).parent.rglob("*.py"))
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
        place = CACHE / f"corpus-{digest}"
        if not place.exists():
            self.log(f"writing the built-in corpus to {place}")
            place.parent.mkdir(parents=True, exist_ok=True)
            scratch = tempfile.mkdtemp(dir=place.parent)
            try:
                demo.write(scratch).rename(place)
            except OSError:  # another process created it first
                shutil.rmtree(scratch)
        return place

    @cached_property
    def corpus(self) -> Library:
        """The built-in corpus, labeled."""
        files = self.corpus_files
        return _library(files.with_suffix(".loom"), files, files / "labels.csv")

    @cached_property
    def cmu(self) -> Library | None:
        """All CMU takes at 30 Hz."""
        # The benchmarks use the same library, so features and indexes are computed only once.
        return self._captured("cmu30.tar.xz", CACHE.parent / "bench" / "cmu30.loom")

    @cached_property
    def clips(self) -> Library | None:
        """Single-action CMU clips in five groups, labeled."""
        labels = self.folder and self.folder / "cmu-clips-labels.csv"
        return self._captured("cmu-clips.tar.xz", CACHE / "cmu-clips.loom", labels)

    @cached_property
    def bandai(self) -> Library | None:
        """Clips of the Bandai-Namco data set, labeled by content and by style."""
        columns = ("content", "style")
        return self._captured("bandai.tar.xz", CACHE / "bandai.loom", "labels.csv", columns)

    @cached_property
    def scratch(self) -> Path:
        """A temporary folder, removed at exit."""
        self._scratch = tempfile.TemporaryDirectory()
        return Path(self._scratch.name)

    def figure(self, name: str) -> Path:
        """Path where a picture should be saved."""
        return (PICTURES if self.write else self.scratch) / name

    def log(self, text: str) -> None:
        """Print a progress message to stderr."""
        print(text, file=sys.stderr, flush=True)

    def _captured(
        self,
        archive: str,
        place: Path,
        labels: Path | str | None = None,
        columns: tuple[str, ...] | None = None,
    ) -> Library | None:
        if self.folder is None:
            return None
        plain = self.folder / archive.removesuffix(".tar.xz")
        if (self.folder / archive).exists():
            files = unpacked(self.folder / archive, self.log)
        elif plain.is_dir():  # a plain folder of BVH files, at any rate
            files, place = plain, place.with_stem(f"{place.stem}-plain")
        else:
            return None
        fps = 30.0 if files == plain and archive.startswith("cmu30") else None
        return _library(place, files, files / labels if labels else None, columns, fps)


def _library(
    place: Path,
    files: Path,
    labels: Path | None,
    columns: tuple[str, ...] | None = None,
    fps: float | None = None,
) -> Library:
    """A library of all files in a folder; files are imported only once."""
    place.parent.mkdir(parents=True, exist_ok=True)
    library = Library.create(place, exist_ok=True, fps=fps)
    if len(library) < sum(1 for _ in files.rglob("*.bvh")):
        library.add(files, labels=labels, label_columns=columns)
    return library
