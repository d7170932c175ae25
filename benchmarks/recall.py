"""``python -m benchmarks recall``: share of the matches that a web of near cells finds.

Takes of random performers, without repeats, are divided into sets that have no performer in common.
Each set gets a web of all cells and a web of near cells, and random segments are searched in both.
A match of the web of all cells counts as found if the other search returns a segment of the same
motion that shares four fifths of the shorter one. A second count requires only half: where somebody
stands still, many overlapping segments fit, and only one of them is returned.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import motionloom as ml
from benchmarks import Settings
from benchmarks.takes import everything
from benchmarks.timing import CLOCKS, Log, Result
from motionloom.formats import load
from motionloom.library import Library
from motionloom.motion import Motion
from motionloom.search import Match
from motionloom.search.match_web.store import WebStore
from motionloom.search.methods import MatchWeb, WebOptions
from motionloom.search.methods.segments import NEAR_MATCHES
from motionloom.store.records import Entry

SUMMARY = "match webs: recall of near cells"
PACKAGES = ()
FRAMES = 15_000  # frames of a set
_QUERIES, _QUERY_S = 200, (0.8, 3.0)
_FOUND, _SAME_PLACE = 0.8, 0.5  # shared part of the shorter segment


@dataclass
class Counts:
    """Matches of the web of all cells: all, found, and found at the same place."""

    matches: int = 0
    matched: int = 0
    same_place: int = 0

    def add(self, wanted: Match, others: list[Match]) -> None:
        """Count a match of the web of all cells."""
        shares = [shared(wanted, other) for other in others if other.motion == wanted.motion]
        best = max(shares, default=0.0)
        self.matches += 1
        self.matched += best >= _FOUND
        self.same_place += best >= _SAME_PLACE

    @property
    def text(self) -> str:
        """Add up both counts."""
        part = self.matched / max(self.matches, 1)
        return (
            f"{self.matched} of {self.matches} ({part:.3f}); {self.same_place} if half of the "
            "shorter segment is enough"
        )


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data. There is one set per round."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, source, credit = everything(settings, Path(scratch) / "files", log=log)
        rng = np.random.default_rng(settings.seed)
        frames = int(settings.frames or FRAMES)
        performers = sorted({path.parent for path in folder.rglob("*.bvh")})
        rows: list[Result] = []
        sizes = []
        dealt = np.array_split(rng.permutation(len(performers)), settings.rounds)
        for number, chosen in enumerate(dealt):
            paths = sorted(path for k in chosen for path in performers[k].glob("*.bvh"))
            library = _library(Path(scratch) / f"{number}.loom", paths, frames, rng)
            log(f"set {number + 1}: {len(library)} takes, {library.store.frames} frames")
            rows += _set_rows(library, number, rng)
            sizes.append(f"{len(library)} takes, {library.store.frames} frames")
            library.close()
    return {
        "data": f"{source}; sets of different performers: {'; '.join(sizes)}",
        "credit": credit,
        "results": [row.as_dict() for row in rows],
    }


def _library(place: Path, paths: list[Path], frames: int, rng: np.random.Generator) -> Library:
    """Random takes without repeats, up to a number of frames."""
    library = Library.create(place)
    contents: set[str] = set()
    for k in rng.permutation(len(paths)):
        motion = load(paths[k])
        if not isinstance(motion, Motion) or library.store.frames + len(motion) > frames:
            continue
        name = paths[k].stem
        library.add_motion(motion, name=name)
        key = library.store.entry(name).key
        if key in contents:
            library.remove(name)
        contents.add(key)
        if library.store.frames > 0.98 * frames:
            break
    return library


def _set_rows(library: Library, number: int, rng: np.random.Generator) -> list[Result]:
    """Build and search the webs of one set."""
    rows = []
    for cells in ("all", "near"):
        wall, cpu = CLOCKS.wall(), CLOCKS.cpu()
        report = library.webs.build(workers=1, web=ml.WebOptions(cells=cells))
        note = f"{report.pairs} pairs, {report.bytes / 1e6:.1f} MB on disk"
        rows.append(_row(f"set {number + 1}: web of {cells} cells", wall, cpu, note))
    wall, cpu = CLOCKS.wall(), CLOCKS.cpu()
    limits = (NEAR_MATCHES, 0.8 * NEAR_MATCHES)
    for limit, counts in zip(limits, recall(library, rng, *limits), strict=True):
        rows.append(_row(f"set {number + 1}: recall up to {limit:g} m", wall, cpu, counts.text))
    return rows


def _row(what: str, wall: float, cpu: float, note: str) -> Result:
    return Result(what, CLOCKS.wall() - wall, "", None, None, note, CLOCKS.cpu() - cpu, rounds=1)


def recall(
    library: Library, rng: np.random.Generator, *limits: float, queries: int = _QUERIES
) -> list[Counts]:
    """Matches of the web of all cells that the web of near cells finds, for each limit."""
    rate = WebStore.of(library.store, WebOptions(cells="near")).rate
    entries = [entry for entry in library.entries() if entry.seconds > _QUERY_S[0] + 1.0 / rate]
    counts = [Counts() for _ in limits]
    for _ in range(queries):
        query = random_query(entries, rng)
        for limit, count in zip(limits, counts, strict=True):
            options: dict[str, Any] = {
                "max": None, "max_distance": limit, "exclude_query": True,
            }  # fmt: skip
            matches = list(library.search(query, method=MatchWeb(cells="near"), **options))
            for match in library.search(query, method=MatchWeb(cells="all"), **options):
                count.add(match, matches)
    return counts


def random_query(entries: Sequence[Entry], rng: np.random.Generator) -> str:
    """A segment of a random motion, 0.8 to 3 s long."""
    entry = entries[rng.integers(len(entries))]
    seconds = rng.uniform(_QUERY_S[0], min(_QUERY_S[1], entry.seconds))
    length = min(round(seconds * entry.fps), entry.frames)
    start = int(rng.integers(entry.frames - length + 1))
    return f"{entry.name}:{start}-{start + length}"


def shared(a: Match, b: Match) -> float:
    """Overlap of two segments, as a share of the shorter one."""
    both = min(a.end, b.end) - max(a.start, b.start)
    return max(both, 0.0) / min(a.end - a.start, b.end - b.start)
