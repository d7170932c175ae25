"""Webs of a library: every pair of motions once, kept with it, and added to.

::

    takes.loom/derived/web.OPTIONS/KEY-COLUMNS.web    webs of one motion with others

OPTIONS is a digest of how webs are made, KEY the fingerprint of the motion in the rows,
COLUMNS one of those in the columns. Each file is written under a temporary name and
renamed, so that a build that was stopped goes on where it was, and a motion that is added
costs its own pairs only.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np

from motionloom import engine
from motionloom.distance import FrameDistance, frame_distance
from motionloom.distance.feature_store import RATE, at_rate, row_count
from motionloom.distance.grid import GridFrames, grid_frames
from motionloom.errors import LibraryError, RoleError
from motionloom.library.derived import FOLDER, motion_key
from motionloom.library.lock import writer_lock
from motionloom.library.records import Entry
from motionloom.library.shelf import Shelf
from motionloom.search.filters import chosen_motions
from motionloom.search.timeline import Timeline
from motionloom.search.web import Web, WebOptions, joined
from motionloom.search.web_building import motion_web
from motionloom.search.web_code import decoded, described, encoded
from motionloom.whole_file import whole_file

_VERSION = 3  # raise it when the same motions give other webs than before
_GROUP_FRAMES = 40_000  # of the columns of one file, and of what a worker holds
_TASK_CELLS = 200_000_000  # of the grids of one task, at most: some seconds of work
_FEWEST_CELLS = 5_000_000  # of one task, so that handing it out costs little beside it
_TASKS_PER_WORKER = 8  # at least, if there is so much work: all workers end at about the same time
_WORTH_A_POOL = 400_000_000  # cells; for fewer, processes take longer to start than to help

Progress = Callable[[int], None]


@dataclass(frozen=True)
class WebReport:
    """What a build did.

    Attributes
    ----------
    motions : int
        Motions that have webs with each other now.
    pairs, built : int
        Their pairs, each motion with itself included; how many of them were built.
    left_out : dict of str to str
        Motions whose skeletons lack a joint that is needed, and which.
    bytes : int
        Size of all webs on disk.
    seconds : float
    """

    motions: int
    pairs: int
    built: int
    left_out: dict[str, str]
    bytes: int
    seconds: float


@dataclass(frozen=True)
class _Pack:
    """One file: whose rows, and which columns are whose."""

    path: Path
    row: str
    columns: dict[str, tuple[int, int]]


class WebStore:
    """The webs of a library.

    Parameters
    ----------
    library : Library
    distance : str or FrameDistance
        What frames are compared by.
    options : WebOptions, optional

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> for performer in (0, 1):
    ...     lib.add_motion(ml.demo.clip("kick_front_high_right", performer=performer))
    >>> store = WebStore(lib)
    >>> store.build(workers=1).built
    3
    >>> web = store.web("kick_front_high_right_p0", "kick_front_high_right_p1")
    >>> web.shape == tuple(len(lib[name]) for name in lib.names), web.chain_count > 0
    (True, True)
    """

    def __init__(
        self,
        library: Shelf,
        distance: str | FrameDistance = "pc11",
        options: WebOptions | None = None,
    ) -> None:
        self.library = library
        self.distance = frame_distance(distance)
        self.options = options or WebOptions()
        self.rate = float(library.fps or RATE)
        how = {
            "version": _VERSION,
            "rate": self.rate,
            "distance": repr(self.distance) if is_dataclass(self.distance) else distance,
            **asdict(self.options),
        }
        digest = _digest(json.dumps(how, default=str))
        # Absolute: workers of a cluster have folders of their own to be in.
        self.folder = library.path.absolute() / FOLDER / f"web.{digest}"
        self._packs: dict[Path, _Pack] = {}
        self._webs: dict[Path, Web] = {}

    # --- building -----------------------------------------------------------------------

    def build(
        self,
        *,
        within: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> WebReport:
        """Build the webs that are not there yet. One build at a time: another waits.

        Parameters
        ----------
        within : str or several, optional
            Only pairs of motions that both have one of these labels.
        only : str or several, optional
            Only pairs of these motions.
        workers : int, optional
            Processes. Default: one per core, or this one for little work.
        progress : callable, optional
            Called with the number of pairs done since the last call.
        """
        began = time.perf_counter()
        entries, left_out = self._chosen(within, only)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LibraryError(f"{self.folder}: cannot write to this library: {error}") from None
        with writer_lock(self.folder, timeout=self.library.timeout):
            built = self._build(entries, workers, progress)
        return WebReport(
            len(entries),
            len(entries) * (len(entries) + 1) // 2,
            built,
            left_out,
            sum(path.stat().st_size for path in self._files()),
            time.perf_counter() - began,
        )

    def missing(
        self, *, within: str | Iterable[str] | None = None, only: str | Iterable[str] | None = None
    ) -> int:
        """How many pairs have no web yet."""
        entries, _ = self._chosen(within, only)
        keys = {entry.name: _key(entry) for entry in entries}
        found = _missing_pairs(entries, keys, self._covered())
        return sum(len(columns) for columns in found.values())

    def _build(self, entries: Sequence[Entry], workers, progress: Progress | None) -> int:
        """Build what is missing; how many pairs that was."""
        keys = {entry.name: _key(entry) for entry in entries}
        self._sweep()
        missing = _missing_pairs(entries, keys, self._covered())
        tasks = _tasks(missing, {entry.name: row_count(entry, self.rate) for entry in entries})
        if tasks:
            self._run(tasks, keys, workers, progress)
            self._sweep_scratch()
        return sum(len(columns) for task in tasks for _, columns in task)

    def _run(self, tasks, keys: dict[str, str], workers, progress: Progress | None) -> None:
        lengths = {name: row_count(self.library.entry(name), self.rate) for name in keys}
        cells = sum(
            lengths[row] * sum(lengths[name] for name in columns)
            for task in tasks
            for row, columns in task
        )
        if workers is None and cells < _WORTH_A_POOL:
            workers = 1
        work = partial(
            _built,
            library=self.library,
            folder=self.folder,
            distance=self.distance,
            rate=self.rate,
            options=self.options,
            keys=keys,
        )
        with engine.executor(workers, tasks=len(tasks)) as pool:
            for done in engine.completed(work, tasks, pool):
                if isinstance(done.error, OSError):
                    raise LibraryError(
                        f"{self.folder}: cannot write to this library: "
                        f"{done.error.strerror or done.error}. What was built before is safe; "
                        "run the same build again to go on"
                    ) from done.error
                if done.error is not None:
                    raise done.error
                if progress is not None:
                    progress(sum(len(columns) for _, columns in done.item))

    def _chosen(self, within, only) -> tuple[list[Entry], dict[str, str]]:
        entries = self.library.entries()
        if not entries:
            raise LibraryError(f"{self.library.path}: the library is empty; import motions first")
        chosen = chosen_motions(
            self.library, [entry.name for entry in entries], within=within, only=only
        )
        if chosen is not None:
            entries = [entry for entry, wanted in zip(entries, chosen, strict=True) if wanted]
        reasons: dict[str, str | None] = {}
        for entry in entries:
            if entry.skeleton not in reasons:
                reasons[entry.skeleton] = self._lack(entry.name)
        left_out = {e.name: reason for e in entries if (reason := reasons[e.skeleton]) is not None}
        short = "it has a single frame, and a web needs two"
        left_out |= {e.name: short for e in entries if e.frames < 2 and e.name not in left_out}
        kept = [entry for entry in entries if entry.name not in left_out]
        if not kept:
            first = next(iter(left_out.items()), ("", "nothing was chosen"))
            raise RoleError(
                f"{self.library.path}: no motion has all that {self.distance.name} needs; "
                f"{first[0]}: {first[1]}"
            )
        return kept, left_out

    def _lack(self, name: str) -> str | None:
        try:
            self.distance.prepare(self.library[name][:2])
        except RoleError as error:
            return str(error)
        return None

    # --- what there is ------------------------------------------------------------------

    def web(self, a: str, b: str) -> Web:
        """The web of two motions: rows are frames of `a`, columns of `b`.

        Raises
        ------
        LibraryError
            If it has not been built.
        """
        first, second = (_key(self.library.entry(name)) for name in (a, b))
        for pack in self._index():
            if pack.row == first and second in pack.columns:
                web = self._open(pack).between(*pack.columns[second])
            elif pack.row == second and first in pack.columns:
                web = self._open(pack).between(*pack.columns[first]).transposed()
            else:
                continue
            return _both_halves(web) if a == b else web
        raise LibraryError(
            f"{self.library.path}: there is no web of {a!r} and {b!r}; build it with "
            f"motionloom web {self.library.path} build"
        )

    def partners(self) -> dict[str, set[str]]:
        """For every motion those that it has a web with."""
        names = {_key(entry): entry.name for entry in self.library.entries()}
        found: dict[str, set[str]] = {name: set() for name in names.values()}
        for a, b in self._covered():
            if a in names and b in names:
                found[names[a]].add(names[b])
                found[names[b]].add(names[a])
        return found

    def buildable(self, names: Iterable[str]) -> list[str]:
        """Those that can have webs: with all joints that are needed, of two frames or more."""
        entries = [self.library.entry(name) for name in names]
        reasons: dict[str, str | None] = {}
        for entry in entries:
            if entry.skeleton not in reasons:
                reasons[entry.skeleton] = self._lack(entry.name)
        return [e.name for e in entries if e.frames > 1 and reasons[e.skeleton] is None]

    def pieces(self, timeline: Timeline | None = None) -> Iterator[tuple[int, int, Web]]:
        """All webs, and where on the timeline of the library their rows and columns begin.

        Each pair of motions is there once, and a motion with itself for later columns
        only: the rest is the same read by columns.

        Yields
        ------
        row, column : int
            Places on the timeline of the web's first row and column.
        web : Web
            Of one motion in the rows, and some that follow each other in the columns.
        """
        entries = self.library.entries()
        timeline = timeline or self.timeline(entries)
        starts = timeline.starts[:-1].tolist()
        place = {_key(entry): start for entry, start in zip(entries, starts, strict=True)}
        seen: set[tuple[str, str]] = set()
        for pack in self._index():
            if pack.row not in place:
                continue
            known = []
            for key, (first, last) in pack.columns.items():
                # A worker that a stopped build has left behind may write a pair once more.
                pair = (pack.row, key) if pack.row < key else (key, pack.row)
                if key in place and pair not in seen:
                    known.append((place[key] - first, first, last))
                    seen.add(pair)
            for shift, run in groupby(known, key=lambda one: one[0]):
                spans = list(run)
                first, last = spans[0][1], spans[-1][2]
                whole = self._open(pack)
                if (first, last) != (0, whole.shape[1]):
                    whole = whole.between(first, last)
                yield place[pack.row], shift + first, whole

    def timeline(self, entries: Sequence[Entry] | None = None) -> Timeline:
        """All motions of the library one after the other, at the webs' rate."""
        entries = self.library.entries() if entries is None else entries
        counts = [row_count(entry, self.rate) for entry in entries]
        return Timeline(
            tuple(entry.name for entry in entries),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.array([entry.fps for entry in entries]),
            np.array([entry.frames for entry in entries], dtype=np.int64),
            self.rate,
        )

    def _files(self) -> list[Path]:
        # Files that are being written, or were when a worker was killed, start with a dot.
        return sorted(path for path in self.folder.glob("*.web") if path.name[0] != ".")

    def _index(self) -> list[_Pack]:
        """All files there are now; those seen before are not read again."""
        files = self._files()
        for path in files:
            if path not in self._packs:
                about = described(path)
                columns = {key: (first, last) for key, first, last in about["columns"]}
                self._packs[path] = _Pack(path, about["row"], columns)
        return [self._packs[path] for path in files]

    def _open(self, pack: _Pack) -> Web:
        if pack.path not in self._webs:
            try:
                self._webs[pack.path] = decoded(pack.path.read_bytes())
            except LibraryError as error:
                raise LibraryError(f"{pack.path}: {error}; remove it and build again") from None
        return self._webs[pack.path]

    def _covered(self) -> set[tuple[str, str]]:
        return {(pack.row, key) for pack in self._index() for key in pack.columns}

    def _sweep_scratch(self) -> None:
        for scratch in self.folder.glob(".*.part.web"):
            scratch.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove webs of motions that are gone or have changed, and what a kill left behind."""
        self._sweep_scratch()
        known = {_key(entry) for entry in self.library.entries()}
        for pack in self._index():
            if pack.row not in known or not known.intersection(pack.columns):
                pack.path.unlink(missing_ok=True)


def _both_halves(web: Web) -> Web:
    """The web of a motion with itself, which is kept for later columns only."""
    return joined([(web, 0), (web.transposed(), 0)], web.shape, web.rate)


def _missing_pairs(
    entries: Sequence[Entry], keys: dict[str, str], covered: set[tuple[str, str]]
) -> dict[str, list[str]]:
    """Row motion -> columns still to be built; each pair once, in as few rows as possible."""
    names = [entry.name for entry in entries]
    wanted: dict[str, list[str]] = {name: [] for name in names}
    for n, a in enumerate(names):
        for b in names[n:]:
            pair = (keys[a], keys[b])
            if pair not in covered and pair[::-1] not in covered:
                wanted[a].append(b)
                if a != b:
                    wanted[b].append(a)
    # A motion that is new has many partners, the others it alone: it makes the row.
    rank = {name: (-len(wanted[name]), name) for name in names}
    return {
        a: [b for b in partners if rank[a] <= rank[b]] for a, partners in wanted.items() if partners
    }


Task = tuple[tuple[str, tuple[str, ...]], ...]


def _tasks(missing: dict[str, list[str]], lengths: dict[str, int]) -> list[Task]:
    """Rows with their columns, in portions that one worker does at a time."""
    groups: dict[int, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for row, columns in missing.items():
        number, frames = 0, 0
        part: list[str] = []
        for name in sorted(columns):
            if part and frames + lengths[name] > _GROUP_FRAMES:
                groups[number].append((row, tuple(part)))
                number, frames, part = number + 1, 0, []
            part.append(name)
            frames += lengths[name]
        if part:
            groups[number].append((row, tuple(part)))
    every = sum(lengths[a] * sum(lengths[b] for b in columns) for a, columns in missing.items())
    portion = max(every // (_TASKS_PER_WORKER * engine.available_workers()), _FEWEST_CELLS)
    portion = min(portion, _TASK_CELLS)
    tasks: list[Task] = []
    for number in sorted(groups):
        task: list[tuple[str, tuple[str, ...]]] = []
        cells = 0
        for one in groups[number]:
            task.append(one)
            cells += lengths[one[0]] * sum(lengths[name] for name in one[1])
            if cells > portion:
                tasks.append(tuple(task))
                task, cells = [], 0
        if task:
            tasks.append(tuple(task))
    return tasks


def _built(
    task: Task,
    library: Shelf,
    folder: Path,
    distance: FrameDistance,
    rate: float,
    options: WebOptions,
    keys: dict[str, str],
) -> None:
    """Build the webs of a task and write them, row by row."""
    held: dict[str, GridFrames] = {}

    def frames(name: str) -> GridFrames:
        if name not in held:
            held[name] = grid_frames(at_rate(library[name], rate), distance)
        return held[name]

    for row, columns in task:
        others = [frames(name) for name in columns]
        itself = columns.index(row) if row in columns else None
        web = motion_web(frames(row), others, rate=rate, itself=itself, options=options)
        ends = np.cumsum([0, *(len(other) for other in others)]).tolist()
        named = zip((keys[name] for name in columns), ends[:-1], ends[1:], strict=True)
        about = {"row": keys[row], "columns": [list(one) for one in named]}
        target = folder / f"{keys[row]}-{_digest(*(keys[name] for name in columns))}.web"
        with whole_file(target) as scratch:
            with open(scratch, "wb") as out:
                out.write(encoded(web, about))
                out.flush()
                os.fsync(out.fileno())


def _key(entry: Entry) -> str:
    """Fingerprint of a motion under its name: copies are motions of their own."""
    return _digest(motion_key(entry), entry.name)


def _digest(*texts: str) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for text in texts:
        digest.update(text.encode())
        digest.update(b"\0")
    return digest.hexdigest()
