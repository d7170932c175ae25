"""Webs of a library. There is one web per pair of motions, and new pairs are added on demand.

::

    takes.loom/derived/web.OPTIONS/KEY-COLUMNS.web    webs of one motion with others

OPTIONS is a digest of the build options, KEY the fingerprint of the motion in the rows, and COLUMNS
the fingerprint of the motions in the columns. An interrupted build resumes where it stopped, and
adding a motion builds only the pairs that contain it (see `motionloom.store.artifacts.collection`).
Motions with the same frames share their webs. The web of each pair can be read separately, so a
search opens only the webs of its query's motion.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from motionloom import parallel
from motionloom.errors import InvalidInput, LibraryError, RoleError
from motionloom.features import FrameDistance, frame_distance
from motionloom.features.feature_table import RATE, row_count
from motionloom.features.frame_distances import distance_key
from motionloom.features.point_cloud import PointCloud
from motionloom.files import below
from motionloom.parallel import Progress
from motionloom.search.filters import chosen_mask
from motionloom.search.match import Timeline
from motionloom.search.match_web.build import (
    Task,
    built_webs,
    copy_key,
    missing_pairs,
    release_frames,
    web_key,
    web_keys,
    web_tasks,
)
from motionloom.search.match_web.encoding import WebHeader, decoded_block, described, web_header
from motionloom.search.match_web.networks import passing, useful_paths
from motionloom.search.match_web.web import Web, WebLimits, joined
from motionloom.search.methods import WebOptions
from motionloom.search.methods.segments import NEAR_FRAMES, NEAR_MATCHES
from motionloom.store.artifacts.collection import WrittenFile
from motionloom.store.artifacts.folders import FOLDER
from motionloom.store.lock import not_writable, writer_lock
from motionloom.store.records import Entry, text_digest
from motionloom.store.remote.object_store import ObjectStoreError
from motionloom.store.store import Store

_VERSION = 5  # increase when the same motions give different webs than before
_NEAR_VERSION = 2  # increase when different near cells, chains or bridges are kept
CELL_SECONDS = 31e-9  # measured time per cell on one core; see docs/explanation/clusters.md
NEAR_CELL_SECONDS = 14e-9  # the same if only near cells are computed; see docs/evidence/scale.md
NETWORK_SECONDS = 0.4  # shorter networks of chains and bridges are dropped in webs of near cells
_WORTH_A_POOL = 400_000_000  # cells; for less work, starting processes takes longer than it saves


@dataclass(frozen=True)
class WebReport:
    """Summary of a build.

    Attributes
    ----------
    motions : int
        Number of motions that now have webs with each other.
    pairs, built : int
        Number of pairs of these motions, including each motion with itself, and the number of pairs
        that this build added.
    left_out : dict of str to str
        Motions whose skeletons lack a required joint, each with the reason.
    bytes : int
        Total size of the webs on disk.
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
    """Remaining work of a build, with the estimated time in core seconds."""

    pairs: int
    cells: float
    core_seconds: float


@dataclass(frozen=True, eq=False)
class _Pack:
    """A web file, with the numbers of its row and column motions and the location of each block."""

    name: str
    row: int
    columns: NDArray[np.int32]
    header: WebHeader


@dataclass(frozen=True)
class _Owners:
    """Motions with the same frames, with their frame count and the start of each on the timeline.

    `is_copy` is True for the key of a second motion with the same frames; see `copy_key`.
    """

    frames: int
    is_copy: bool
    names: dict[str, int]


class WebTable:
    """Snapshot of the web files of a library, with blocks by motion; see `WebStore.table`.

    Growing a family searches the webs of one member after the other. The snapshot is read only
    once, because listing all files and motion keys for each member took longer than the searches.
    """

    def __init__(self, packs: list[_Pack], owners: dict[int, _Owners]) -> None:
        self.packs, self.owners = packs, owners
        self.numbers = {name: k for k, owner in owners.items() if not owner.is_copy
                        for name in owner.names}  # fmt: skip
        lengths = [len(pack.columns) for pack in packs]
        self._first = np.cumsum([0, *lengths])
        rows = np.repeat(np.array([pack.row for pack in packs], np.int32), lengths)
        columns = np.concatenate([np.empty(0, np.int32), *(pack.columns for pack in packs)])
        self._sides = (rows, columns)
        self._orders = tuple(np.argsort(side, kind="stable") for side in self._sides)

    def blocks(self, number: int) -> Iterator[tuple[_Pack, int, int]]:
        """Yield the blocks of a motion: the file, the block number, and the other motion."""
        places = [order[slice(*np.searchsorted(side, (number, number + 1), sorter=order))]
                  for side, order in zip(self._sides, self._orders, strict=True)]  # fmt: skip
        for place in np.unique(np.concatenate(places)).tolist():
            pack = int(np.searchsorted(self._first, place, side="right")) - 1
            row, column = (int(side[place]) for side in self._sides)
            yield self.packs[pack], place - int(self._first[pack]), column if row == number else row

    def partners(self, name: str) -> set[str]:
        """Return the names of the motions that share a web with a motion."""
        own = self.numbers[name]
        partners: set[str] = set()
        for _, _, other in self.blocks(own):
            owner = self.owners.get(other)
            if other == own:
                partners.add(name)
            elif owner is not None:
                partners |= owner.names.keys() - {name}
        return partners


class WebStore:
    """Webs of a library.

    Parameters
    ----------
    library : Library
    distance : str or FrameDistance
        Frame distance.
    limits : WebLimits, optional

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> for performer in (0, 1):
    ...     lib.add_motion(ml.demo.clip("kick_front_high_right", performer=performer))
    >>> store = WebStore(lib.store)
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
        self.folder = library.path.absolute() / FOLDER / f"web.{self._key()}"
        self.files = library.artifacts.collection(self.folder.name, described)
        self._packs: dict[str, _Pack] = {}
        self._numbers: dict[str, int] = {}  # motion keys, numbered in the order of their first use

    def _key(self) -> str:
        """Digest of all options that affect webs. The order of the options matters."""
        limits = self.limits
        how = {
            "version": _VERSION,
            "rate": self.rate,
            "distance": distance_key(self.distance),
            "alpha": limits.alpha,
            "max_slope": limits.max_slope,
            "chain_seconds": limits.chain_seconds,
            "bridge_seconds": limits.bridge_seconds,
            "squares": limits.squares,
            "edge_minima": limits.edge_minima,
            "shared_cells": limits.shared_cells,
            "second_pass": limits.second_pass,
            "extended_chains": limits.extended_chains,
        }
        if limits.is_near:
            how |= {
                "near": limits.near,
                "network_seconds": limits.network_seconds,
                "near_version": _NEAR_VERSION,
            }
        return text_digest(json.dumps(how))

    @classmethod
    def of(cls, library: Store, options: WebOptions) -> WebStore:
        """Return the webs with these options; see `motionloom.search.settings.WebOptions`."""
        every = cls(library, options.distance, WebLimits.of(options))
        if options.cells == "all" or (options.cells == "auto" and options.rules != "default"):
            return every
        if not isinstance(every.distance, PointCloud):
            if options.cells == "near":
                raise InvalidInput(
                    f"cells must be all with the distance {every.distance.name}, because near "
                    "cells need a point-cloud distance (pc1 to pc11)"
                )
            return every
        limits = replace(every.limits, near=NEAR_MATCHES, network_seconds=NETWORK_SECONDS)
        near = cls(library, options.distance, limits)
        if options.cells == "near":
            return near
        # An existing web is extended with the options with which it was started.
        for store in (every, near):
            if store.files.state() is not None:
                return store
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
        """Build the missing webs. Only one build runs at a time, and other builds wait for it.

        Parameters
        ----------
        label, only, exclude : str or several, optional
            Build only pairs of motions that are selected by label or by name, or that are not
            excluded by name.
        workers : int, optional
            Number of processes. By default, one per core is used, or only this process if there is
            little to build.
        progress : callable, optional
            Called with the number of pairs done since the last call.
        """
        began = time.perf_counter()
        self.library.check_writable()
        entries, left_out = self._chosen(label=label, only=only, exclude=exclude)
        try:
            # Below the library: a link would let a received library write elsewhere.
            folder = below(self.library.path.absolute(), f"{FOLDER}/{self.folder.name}")
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise not_writable(self.folder, error) from None
        with writer_lock(folder, timeout=self.library.timeout):
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
        """Return the number of pairs without a web."""
        return self.left_to_build(**chosen).pairs

    def left_to_build(self, **chosen: str | Iterable[str] | None) -> LeftToBuild:
        """Return the pairs without a web, with an estimate of the time to build them."""
        entries, _ = self._chosen(**chosen)
        keys = web_keys(entries)
        missing = missing_pairs(keys, self._covered(keys))
        lengths = {entry.name: row_count(entry, self.rate) for entry in entries}
        cells = sum(
            lengths[row] * lengths[name] / (2 if row == name else 1)
            for row, columns in missing.items()
            for name in columns
        )
        each = NEAR_CELL_SECONDS if self.limits.is_near else CELL_SECONDS
        return LeftToBuild(sum(map(len, missing.values())), cells, each * cells)

    def planned(
        self, **chosen: str | Iterable[str] | None
    ) -> tuple[Callable[[Task], list[WrittenFile]], list[Task]]:
        """Return the work of a build as a function, and the tasks to pass to it."""
        return self._planned(self._chosen(**chosen)[0])

    def _planned(self, entries: Sequence[Entry]):
        keys = web_keys(entries)
        missing = missing_pairs(keys, self._covered(keys))
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
        """Build missing pairs; return their number."""
        self._sweep()
        work, tasks = self._planned(entries)
        if tasks:
            if workers is None and self._cells(tasks) < _WORTH_A_POOL:
                workers = 1
            try:
                self._run(work, tasks, workers, progress)
            finally:
                release_frames()
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
                        f"{self.folder}: cannot write to this library: {reason}. Finished "
                        "webs are saved; run the same command again to resume"
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
            first = next(iter(left_out.items()), ("", "no motion was selected"))
            raise RoleError(
                f"{self.library.path}: no motion has all joints that {self.distance.name} needs; "
                f"for example, {first[0]}: {first[1]}"
            )
        return kept, left_out

    def _left_out(self, entries: Iterable[Entry]) -> dict[str, str]:
        """Return the motions that cannot have a web, each with the reason."""
        lacks: dict[str, str | None] = {}
        reasons: dict[str, str | None] = {}
        for entry in entries:
            if entry.skeleton not in lacks:
                lacks[entry.skeleton] = self._lack(entry.name)
            reasons[entry.name] = lacks[entry.skeleton]
            if reasons[entry.name] is None and entry.frames < 2:
                reasons[entry.name] = "has only one frame, but a web needs at least two"
        return {name: reason for name, reason in reasons.items() if reason is not None}

    def _lack(self, name: str) -> str | None:
        try:
            self.distance.prepare(self.library[name][:2])
        except RoleError as error:
            return str(error)
        return None

    # --- existing webs ------------------------------------------------------------------

    def web(self, a: str, b: str) -> Web:
        """Return the web between two motions, with frames of `a` as rows and of `b` as columns.

        Raises
        ------
        LibraryError
            If it has not been built.
        """
        first, second = (web_key(self.library.entry(name)) for name in (a, b))
        if a != b and first == second:
            second = copy_key(first)
        number_a, number_b = self._number(first), self._number(second)
        for pack in self._index():
            if pack.row in (number_a, number_b):
                partner = number_b if pack.row == number_a else number_a
                for block in np.flatnonzero(pack.columns == partner):
                    web = self._block(pack, int(block))
                    if a == b:
                        return _both_halves(web)
                    return web if pack.row == number_a else web.transposed()
        raise LibraryError(
            f"{self.library.path}: there is no web between {a!r} and {b!r}; build it with "
            f"motionloom web {self.library.path} build"
        )

    def table(self, timeline: Timeline | None = None) -> WebTable:
        """Return the current web files and the motions to which they belong."""
        return WebTable(self._index(), self._owners(timeline))

    def buildable(self, names: Iterable[str]) -> list[str]:
        """Return the motions that have all required joints and at least two frames."""
        entries = self.library.entries(names)
        left_out = self._left_out(entries)
        return [entry.name for entry in entries if entry.name not in left_out]

    def pieces(self, timeline: Timeline | None = None) -> Iterator[tuple[int, int, Web]]:
        """Yield all webs, and the start of their rows and columns on the library's timeline.

        Each pair of motions appears once. In the web of a motion with itself, columns are always
        later than rows, because the other half is its mirror image.

        Yields
        ------
        row, column : int
            Positions of the web's first row and column on the timeline.
        web : Web
        """
        owners = self._owners(timeline)
        seen: set[tuple[int, int]] = set()
        self.files.fetch()
        for pack in self._index():
            for block, column in enumerate(pack.columns.tolist()):
                # A worker left behind by an interrupted build may write a pair a second time.
                pair = (min(pack.row, column), max(pack.row, column))
                if pack.row in owners and column in owners and pair not in seen:
                    seen.add(pair)
                    web = self._checked(pack, block, owners)
                    for a in owners[pack.row].names:
                        for b in owners[column].names:
                            if self._is_pair(pack.row, column, a, b) and not (
                                owners[column].is_copy and b < a
                            ):
                                yield owners[pack.row].names[a], owners[column].names[b], web

    def pieces_of(
        self, name: str, rows: tuple[int, int], table: WebTable, limit: float = math.inf
    ) -> Iterator[tuple[int, int, Web]]:
        """Yield the webs between a motion and all others, restricted to a range of its frames.

        Parameters
        ----------
        name : str
            Motion in the rows.
        rows : tuple of int
            Half-open range of frames of that motion. Paths that pass through none of them are
            omitted.
        table : WebTable
        limit : float
            Maximum mean distance of matches. Paths that no such match can use are omitted.

        Yields
        ------
        row, column : int
            Positions of the web's first row and column on the timeline.
        web : Web
            Web with this motion in the rows and another in the columns. The web of the motion with
            itself contains both halves.
        """
        owners, own = table.owners, table.numbers[name]
        place = owners[own].names[name]
        seen: set[int] = set()
        self.files.fetch()
        for pack, block, other in table.blocks(own):
            if other in seen or other not in owners:
                continue
            seen.add(other)
            web = self._checked(pack, block, owners)
            if not web.chain_count:
                continue
            if other == own:
                web = _both_halves(web)
            elif pack.row != own:
                web = web.transposed()
            web = passing(self._useful(web, limit), *rows)
            turned = None
            for b, begin in owners[other].names.items():
                if owners[other].is_copy and b < name:  # computed with the other motion in the rows
                    turned = turned or passing(
                        self._useful(self._block(pack, block).transposed(), limit), *rows
                    )
                    yield place, begin, turned
                elif self._is_pair(own, other, name, b):
                    yield place, begin, web

    def _useful(self, web: Web, limit: float) -> Web:
        """Return the paths of a web that a match with a mean up to `limit` may use."""
        if limit >= self.limits.near or not web.chain_count:
            return web
        if web.values.min() > limit:  # then no mean is smaller
            return Web.empty(web.shape, web.rate)
        # Slightly more, because sums in another order are rounded differently.
        return useful_paths(web, limit * (1 + 1e-6), squares=self.limits.squares, whole=True)

    @staticmethod
    def _is_pair(row: int, column: int, a: str, b: str) -> bool:
        """Return whether a pair of keys identifies the web of these two motions."""
        return (a == b) == (row == column)

    def _owners(self, timeline: Timeline | None = None) -> dict[int, _Owners]:
        """Return the motions of each key number, with their positions on the timeline."""
        entries = self.library.entries()
        timeline = timeline or self.timeline(entries)
        owners: dict[int, _Owners] = {}
        for entry, (first, last) in zip(entries, pairwise(timeline.starts.tolist()), strict=True):
            for is_copy, key in enumerate((web_key(entry), copy_key(web_key(entry)))):
                owner = owners.setdefault(
                    self._number(key), _Owners(last - first, bool(is_copy), {})
                )
                owner.names[entry.name] = first
        return owners

    def _checked(self, pack: _Pack, block: int, owners: dict[int, _Owners]) -> Web:
        """Return the web of a block; raise `LibraryError` if it does not fit the motions."""
        columns, expected = (
            pack.header.ends[block + 1] - pack.header.ends[block],
            pack.columns[block],
        )
        if columns != owners[int(expected)].frames:
            raise self._damaged(
                pack,
                f"it has {columns} columns for a motion of {owners[int(expected)].frames} frames",
            )
        if pack.header.rows != owners[pack.row].frames:
            raise self._damaged(
                pack,
                f"it has {pack.header.rows} rows for a motion of {owners[pack.row].frames} frames",
            )
        return self._block(pack, block)

    def timeline(self, entries: Sequence[Entry] | None = None) -> Timeline:
        """Timeline of all motions of the library, at the rate of the webs."""
        return Timeline.at(self.library.entries() if entries is None else entries, self.rate)

    def _number(self, key: str) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _index(self) -> list[_Pack]:
        """Return all current web files. Files that were read earlier are not read again."""
        names = self.files.names()
        new = [name for name in names if name not in self._packs]
        if new:
            for name, header in self.files.about(new).items():
                self._packs[name] = self._pack(name, header)
        return [self._packs[name] for name in names]

    def _pack(self, name: str, description: dict) -> _Pack:
        """Convert the description of a file; raise `LibraryError` if it is invalid."""
        try:
            header = web_header(description)
            row, columns = header.about["row"], header.about["columns"]
            if len(columns) != len(header.ends) - 1 or not all(type(key) is str for key in columns):
                raise ValueError("columns")
            numbers = np.array([self._number(key) for key in columns], np.int32)
            return _Pack(name, self._number(str(row)), numbers, replace(header, about={}))
        except (ValueError, TypeError, KeyError, LibraryError):
            raise LibraryError(
                f"the web {name} is damaged: its header is invalid; remove it and rebuild the web"
            ) from None

    def _block(self, pack: _Pack, block: int) -> Web:
        """Return the web for the columns of one motion."""
        first, last = pack.header.places[block : block + 2].tolist()
        if first == last:
            return decoded_block(pack.header, block, b"")
        decode = partial(decoded_block, pack.header, block)
        return self.files.read(pack.name, decode, (first, last))

    def _damaged(self, pack: _Pack, why: str) -> LibraryError:
        return LibraryError(
            f"{self.library.path}: the web {pack.name} is damaged: {why}; remove it and "
            "rebuild the web"
        )

    def covered(self) -> set[tuple[str, str]]:
        """Return the pairs of motion keys for which webs exist."""
        packs = self._index()
        keys = list(self._numbers)
        return {(keys[pack.row], keys[k]) for pack in packs for k in pack.columns.tolist()}

    def _covered(self, keys: dict[str, str]) -> NDArray[np.bool_]:
        """Return a mask of the pairs of motions that are built, shape (N, N)."""
        place = {self._number(key): n for n, key in enumerate(keys.values())}
        out = np.zeros((len(keys), len(keys)), np.bool_)
        for pack in self._index():
            if pack.row in place:
                some = [place[k] for k in pack.columns.tolist() if k in place]
                out[place[pack.row], some] = True
        return out

    def _sweep(self) -> None:
        """Remove webs of removed or changed motions, and leftover files of interrupted builds."""
        self.files.sweep()
        keys = {web_key(entry) for entry in self.library.entries()}
        current = {self._number(key) for each in keys for key in (each, copy_key(each))}
        stale = [
            pack.name
            for pack in self._index()
            if pack.row not in current or current.isdisjoint(pack.columns.tolist())
        ]
        if stale:
            self.files.remove(stale)


def _both_halves(web: Web) -> Web:
    """Return both halves of a motion's web with itself, of which only one half is stored."""
    return joined([(web, 0), (web.transposed(), 0)], web.shape, web.rate)
