"""Webs of a library: every pair of motions once, kept with it, and added to.

::

    takes.loom/derived/web.OPTIONS/KEY-COLUMNS.web    webs of one motion with others

OPTIONS is a digest of how webs are made, KEY the fingerprint of the motion in the rows,
COLUMNS one of those in the columns. A build that was stopped goes on where it was, and a
motion that is added costs its own pairs only (see `motionloom.store.artifacts.collection`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import partial
from itertools import groupby, pairwise

from motionloom import parallel
from motionloom.distance import FrameDistance, frame_distance
from motionloom.distance.feature_table import RATE, row_count
from motionloom.distance.point_cloud import PointCloud
from motionloom.distance.window_trends import COEFFICIENTS
from motionloom.errors import InvalidInput, LibraryError, RoleError
from motionloom.parallel import Progress
from motionloom.search.filters import chosen_mask
from motionloom.search.match import Timeline
from motionloom.search.match_web.encoding import decoded, described
from motionloom.search.match_web.tasks import Task, built_webs, missing_pairs, web_key, web_tasks
from motionloom.search.match_web.web import Web, WebLimits, joined
from motionloom.search.settings import NEAR_FRAMES, NEAR_MATCHES, WebOptions
from motionloom.store.artifacts.collection import WrittenFile
from motionloom.store.artifacts.folders import FOLDER
from motionloom.store.lock import writer_lock
from motionloom.store.records import Entry, text_digest
from motionloom.store.remote.object_store import ObjectStoreError
from motionloom.store.store import Store

_VERSION = 4  # raise it when the same motions give other webs than before
CELL_SECONDS = 64e-9  # of one core; measured, see docs/cluster.md
NEAR_CELL_SECONDS = 12e-9  # where only near cells are computed; measured, see docs/scale.md
NETWORK_SECONDS = 0.4  # shorter networks of chains and bridges are dropped there
_WORTH_A_POOL = 400_000_000  # cells; for fewer, processes take longer to start than to help


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
class LeftToBuild:
    """Work of a build: pairs, cells of their distance matrices, estimated core seconds."""

    pairs: int
    cells: float
    core_seconds: float


@dataclass(frozen=True)
class _Pack:
    """One file: whose rows, and which columns are whose."""

    name: str
    row: str
    columns: dict[str, tuple[int, int]]


class WebStore:
    """The webs of a library.

    Parameters
    ----------
    library : Library
    distance : str or FrameDistance
        What frames are compared by.
    limits : WebLimits, optional

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
        library: Store,
        distance: str | FrameDistance = "pc11",
        limits: WebLimits | None = None,
    ) -> None:
        self.library = library
        self.distance = frame_distance(distance)
        self.limits = limits or WebLimits()
        self.rate = float(library.fps or RATE)
        how = {
            "version": _VERSION,
            "rate": self.rate,
            "distance": repr(self.distance) if is_dataclass(self.distance) else distance,
            **asdict(self.limits),
        }
        if self.limits.is_near:
            how["coefficients"] = COEFFICIENTS  # of windows; before there were any, other cells
        else:
            del how["near"], how["network_seconds"]  # as before there were webs of near cells
        digest = text_digest(json.dumps(how, default=str))
        self.folder = library.path.absolute() / FOLDER / f"web.{digest}"
        self.files = library.artifacts.collection(self.folder.name, described)
        self._packs: dict[str, _Pack] = {}
        self._webs: dict[str, Web] = {}

    @classmethod
    def of(cls, library: Store, options: WebOptions) -> WebStore:
        """The webs with some options; see `motionloom.search.settings.WebOptions`."""
        every = cls(library, options.distance, WebLimits.of(options))
        if options.cells == "all" or (options.cells == "auto" and options.rules == "paper"):
            return every
        if not isinstance(every.distance, PointCloud):
            if options.cells == "near":
                raise InvalidInput(
                    f"cells must be all for the distance {every.distance.name}; near cells are "
                    "those of point clouds (pc1 to pc11)"
                )
            return every
        limits = replace(every.limits, near=NEAR_MATCHES, network_seconds=NETWORK_SECONDS)
        near = cls(library, options.distance, limits)
        if options.cells == "near":
            return near
        # A web that is there goes on as it was begun.
        for one in (every, near):
            if one.files.state() is not None:
                return one
        return near if library.frames >= NEAR_FRAMES else every

    # --- building -----------------------------------------------------------------------

    def build(
        self,
        *,
        label: str | Iterable[str] | None = None,
        only: str | Iterable[str] | None = None,
        exclude: str | Iterable[str] | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> WebReport:
        """Build the webs that are not there yet. One build at a time: another waits.

        Parameters
        ----------
        label, only, exclude : str or several, optional
            Only pairs of chosen motions: those with one of these labels, these, all but these.
        workers : int, optional
            Processes. Default: one per core, or this one for little work.
        progress : callable, optional
            Called with the number of pairs done since the last call.
        """
        began = time.perf_counter()
        self.library.check_writable()
        entries, left_out = self._chosen(label=label, only=only, exclude=exclude)
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
            self.files.size(),
            time.perf_counter() - began,
        )

    def missing(self, **chosen: str | Iterable[str] | None) -> int:
        """How many pairs have no web yet."""
        return self.left_to_build(**chosen).pairs

    def left_to_build(self, **chosen: str | Iterable[str] | None) -> LeftToBuild:
        """What has no web yet, and about how long it takes."""
        entries, _ = self._chosen(**chosen)
        keys = {entry.name: web_key(entry) for entry in entries}
        found = missing_pairs(entries, keys, self.covered())
        lengths = {entry.name: row_count(entry, self.rate) for entry in entries}
        cells = sum(
            lengths[row] * lengths[name] / (2 if row == name else 1)
            for row, columns in found.items()
            for name in columns
        )
        each = NEAR_CELL_SECONDS if self.limits.is_near else CELL_SECONDS
        return LeftToBuild(sum(map(len, found.values())), cells, each * cells)

    def planned(
        self, **chosen: str | Iterable[str] | None
    ) -> tuple[Callable[[Task], list[WrittenFile]], list[Task]]:
        """The work of a build, as a function, and the tasks to do it on."""
        return self._planned(self._chosen(**chosen)[0])

    def _planned(self, entries: Sequence[Entry]):
        keys = {entry.name: web_key(entry) for entry in entries}
        missing = missing_pairs(entries, keys, self.covered())
        tasks = web_tasks(missing, {entry.name: row_count(entry, self.rate) for entry in entries})
        work = partial(
            built_webs,
            library=self.library,
            files=self.files,
            distance=self.distance,
            rate=self.rate,
            limits=self.limits,
            keys=keys,
        )
        return work, tasks

    def _build(self, entries: Sequence[Entry], workers, progress: Progress | None) -> int:
        """Build what is missing; how many pairs that was."""
        self._sweep()
        work, tasks = self._planned(entries)
        if tasks:
            if workers is None and self._cells(tasks) < _WORTH_A_POOL:
                workers = 1
            self._run(work, tasks, workers, progress)
            self.files.sweep()
        return sum(len(columns) for task in tasks for _, columns in task)

    def _cells(self, tasks: Iterable[Task]) -> int:
        lengths = {entry.name: row_count(entry, self.rate) for entry in self.library.entries()}
        return sum(
            lengths[row] * sum(lengths[name] for name in columns)
            for task in tasks
            for row, columns in task
        )

    def _run(self, work, tasks: Sequence[Task], workers, progress: Progress | None) -> None:
        workers = self.library.files.workers(workers)
        with parallel.executor(workers, tasks=len(tasks)) as pool:
            for done in parallel.completed(work, tasks, pool):
                if isinstance(done.error, OSError | ObjectStoreError):
                    reason = getattr(done.error, "strerror", None) or done.error
                    raise LibraryError(
                        f"{self.folder}: cannot write to this library: {reason}. What was built "
                        "before is safe; run the same build again to go on"
                    ) from done.error
                if done.error is not None:
                    raise done.error
                self.files.commit(done.result or ())
                if progress is not None:
                    progress(sum(len(columns) for _, columns in done.item))

    def _chosen(self, **chosen: str | Iterable[str] | None) -> tuple[list[Entry], dict[str, str]]:
        entries = self.library.entries()
        if not entries:
            raise LibraryError(f"{self.library.path}: the library is empty; import motions first")
        mask = chosen_mask(self.library, [entry.name for entry in entries], **chosen)
        if mask is not None:
            entries = [entry for entry, wanted in zip(entries, mask, strict=True) if wanted]
        left_out = self._left_out(entries)
        kept = [entry for entry in entries if entry.name not in left_out]
        if not kept:
            first = next(iter(left_out.items()), ("", "nothing was chosen"))
            raise RoleError(
                f"{self.library.path}: no motion has all that {self.distance.name} needs; "
                f"{first[0]}: {first[1]}"
            )
        return kept, left_out

    def _left_out(self, entries: Iterable[Entry]) -> dict[str, str]:
        """Motions that can have no web, and why."""
        lacks: dict[str, str | None] = {}
        reasons: dict[str, str | None] = {}
        for entry in entries:
            if entry.skeleton not in lacks:
                lacks[entry.skeleton] = self._lack(entry.name)
            reasons[entry.name] = lacks[entry.skeleton]
            if reasons[entry.name] is None and entry.frames < 2:
                reasons[entry.name] = "it has a single frame, and a web needs two"
        return {name: reason for name, reason in reasons.items() if reason is not None}

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
        first, second = (web_key(self.library.entry(name)) for name in (a, b))
        for pack in self._index():
            if pack.row == first and second in pack.columns:
                web = self._part(pack, *pack.columns[second])
            elif pack.row == second and first in pack.columns:
                web = self._part(pack, *pack.columns[first]).transposed()
            else:
                continue
            return _both_halves(web) if a == b else web
        raise LibraryError(
            f"{self.library.path}: there is no web of {a!r} and {b!r}; build it with "
            f"motionloom web {self.library.path} build"
        )

    def partners(self) -> dict[str, set[str]]:
        """For every motion those that it has a web with."""
        names = {web_key(entry): entry.name for entry in self.library.entries()}
        found: dict[str, set[str]] = {name: set() for name in names.values()}
        for a, b in self.covered():
            if a in names and b in names:
                found[names[a]].add(names[b])
                found[names[b]].add(names[a])
        return found

    def buildable(self, names: Iterable[str]) -> list[str]:
        """Those that can have webs: with all joints that are needed, of two frames or more."""
        entries = [self.library.entry(name) for name in names]
        left_out = self._left_out(entries)
        return [entry.name for entry in entries if entry.name not in left_out]

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
        self.files.fetch()
        bounds = timeline.starts.tolist()
        starts, lengths = bounds[:-1], [b - a for a, b in pairwise(bounds)]
        keys = [web_key(entry) for entry in entries]
        place, length = (dict(zip(keys, some, strict=True)) for some in (starts, lengths))
        seen: set[tuple[str, str]] = set()
        for pack in self._index():
            if pack.row not in place:
                continue
            known = []
            for key, (first, last) in pack.columns.items():
                # A worker that a stopped build has left behind may write a pair once more.
                pair = (pack.row, key) if pack.row < key else (key, pack.row)
                if key in place and pair not in seen:
                    if last - first != length[key]:
                        raise self._damaged(pack, f"{last - first} columns for {length[key]}")
                    known.append((place[key] - first, first, last))
                    seen.add(pair)
            for shift, run in groupby(known, key=lambda one: one[0]):
                spans = list(run)
                first, last = spans[0][1], spans[-1][2]
                part = self._part(pack, first, last)
                if part.shape[0] != length[pack.row]:
                    raise self._damaged(pack, f"{part.shape[0]} rows for {length[pack.row]}")
                yield place[pack.row], shift + first, part

    def timeline(self, entries: Sequence[Entry] | None = None) -> Timeline:
        """All motions of the library one after the other, at the webs' rate."""
        return Timeline.at(self.library.entries() if entries is None else entries, self.rate)

    def _index(self) -> list[_Pack]:
        """All files there are now; those seen before are not read again."""
        names = self.files.names()
        new = [name for name in names if name not in self._packs]
        if new:
            for name, about in self.files.about(new).items():
                self._packs[name] = _pack(name, about)
        return [self._packs[name] for name in names]

    def _open(self, pack: _Pack) -> Web:
        if pack.name not in self._webs:
            self._webs[pack.name] = self.files.read(pack.name, decoded)
        return self._webs[pack.name]

    def _part(self, pack: _Pack, first: int, last: int) -> Web:
        """Some columns of a web, checked: kernels rely on the order of its chains."""
        whole = self._open(pack)
        if (first, last) == (0, whole.shape[1]):
            return whole
        if last > whole.shape[1]:
            raise self._damaged(pack, f"columns to {last} of {whole.shape[1]}")
        part = whole.between(first, last)
        cells = part.offsets[part.chain_count]
        for numbers, end in (
            (part.cells[:, 1], part.shape[1]), (part.leaves, cells), (part.arrives, cells)
        ):  # fmt: skip
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < end:
                raise self._damaged(pack, "its chains are not in the order of the motions")
        return part

    def _damaged(self, pack: _Pack, why: str) -> LibraryError:
        return LibraryError(
            f"{self.library.path}: the web {pack.name} is damaged: {why}; remove it and build again"
        )

    def covered(self) -> set[tuple[str, str]]:
        """Pairs of motion keys whose webs are built."""
        return {(pack.row, key) for pack in self._index() for key in pack.columns}

    def _sweep(self) -> None:
        """Remove webs of motions that are gone or have changed, and what a kill left behind."""
        self.files.sweep()
        known = {web_key(entry) for entry in self.library.entries()}
        stale = [
            pack.name
            for pack in self._index()
            if pack.row not in known or not known.intersection(pack.columns)
        ]
        if stale:
            self.files.remove(stale)


def _pack(name: str, about: dict) -> _Pack:
    """What the description of a web says; raises `LibraryError` if it is none."""
    try:
        columns = {str(key): (first, last) for key, first, last in about["columns"]}
        whole = all(type(n) is int for span in columns.values() for n in span)
        if not whole or any(not 0 <= first < last for first, last in columns.values()):
            raise ValueError("columns")
        return _Pack(name, str(about["row"]), columns)
    except (ValueError, TypeError, KeyError):
        raise LibraryError(
            f"the web {name} is damaged: its description cannot be; remove it and build again"
        ) from None


def _both_halves(web: Web) -> Web:
    """The web of a motion with itself, which is kept for later columns only."""
    return joined([(web, 0), (web.transposed(), 0)], web.shape, web.rate)
