"""A library of everything there is, and queries from it: what the search benches run on."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import Settings
from benchmarks.measuring import Say
from benchmarks.takes import everything
from motionloom.configuration import user_cache
from motionloom.distance import LibraryFeatures
from motionloom.library import Library

QUERIES = 4  # each contestant answers these in one call
SECONDS = 3.0


@dataclass(frozen=True)
class Million:
    """A library, where it came from, and whom to credit."""

    library: Library
    source: str
    credit: str

    @property
    def data(self) -> str:
        """What was measured on, in words."""
        return f"{len(self.library)} motions ({self.source}), {self.library.frames} frames"

    def queries(self, features: LibraryFeatures, seed: int) -> list[NDArray[np.float32]]:
        """Stretches of three seconds, drawn by the seed, as rows."""
        rng = np.random.default_rng(seed)
        length = round(SECONDS * features.rate)
        motions = np.flatnonzero(np.diff(features.starts) > length)
        found = []
        for m in rng.choice(motions, QUERIES):
            first = rng.integers(features.starts[m], features.starts[m + 1] - length)
            found.append(np.array(features.rows[first : first + length]))
        return found


@contextmanager
def million(settings: Settings, *, say: Say) -> Iterator[Million]:
    """The library of all files; that of the CMU data set is kept in the user's cache."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, source, credit = everything(settings, Path(scratch) / "files", say=say)
        place = Path(scratch) / "loom"
        if credit:
            place = user_cache() / "motionloom" / "bench" / "cmu30.loom"
        place.parent.mkdir(parents=True, exist_ok=True)
        say(f"importing {folder}")
        library = Library.create(place, exist_ok=True)
        library.add(folder)
        yield Million(library, source, credit)
        library.close()
