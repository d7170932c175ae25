"""Captions and statistics of all motions of a library, as an artifact.

Computed once for every motion; when motions are added, only theirs are computed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import open_array
from motionloom.errors import LibraryError, RoleError
from motionloom.files import parse_json, read_regular, unpacked_bytes
from motionloom.motion import Motion
from motionloom.parallel import Progress
from motionloom.store.artifacts.row_table import over_motions
from motionloom.store.records import text_digest
from motionloom.store.remote.folder import Folder
from motionloom.store.store import Store
from motionloom.text.captions import Event, counted, events
from motionloom.text.signals import body_signals
from motionloom.text.statistics import motion_statistics

KIND = "captions"
_VERSION = 1  # increment it when signals, captions or statistics give other results than before
_TYPES = (str, float, float, float, str, str, str, int)


@dataclass(frozen=True, eq=False)
class CaptionTable:
    """Captions and statistics of M motions.

    Attributes
    ----------
    names : tuple of str
        Motions, sorted; those whose skeletons lack a joint have no events and zero statistics.
    events : list of list of Event
    statistics : ndarray of float32, shape (M, D)
    left_out : dict of str to str
        Motions without captions, and why.
    """

    names: tuple[str, ...]
    events: list[list[Event]]
    statistics: NDArray[np.float32]
    left_out: dict[str, str]


def caption_table(
    library: Store, *, workers: int | None = None, progress: Progress | None = None
) -> CaptionTable:
    """Captions and statistics of every motion of a library; computed where there are none yet."""

    def build(folder: Path, previous: Folder | None) -> None:
        _build(folder, previous, library, workers, progress)

    return library.artifacts.derive(KIND, options(), build=build, read=_read)


@cache
def options() -> dict[str, Any]:
    """What captions depend on besides the motions."""
    table = resources.files("motionloom.text").joinpath("predicates.toml").read_text("utf-8")
    return {"version": _VERSION, "predicates": text_digest(table)}


def described(motion: Motion) -> tuple[list[tuple], list[float] | None, str]:
    """Captions and statistics of one motion as plain values, or why there are none."""
    try:
        signals = body_signals(motion)
    except RoleError as error:
        return [], None, str(error)
    if not all(np.isfinite(curve).all() for curve in signals.curves.values()):
        return [], None, "it has frames with missing values"
    rows = [astuple(event) for event in counted(events(signals))]
    return rows, motion_statistics(signals).astype(np.float32).tolist(), ""


def _build(
    folder: Path,
    previous: Folder | None,
    library: Store,
    workers: int | None,
    progress: Progress | None,
) -> None:
    known = _previous(previous)
    entries = library.entries()
    keys = {entry.name: f"{entry.digest} {entry.skeleton} {entry.fps}" for entry in entries}
    rows = {
        entry.name: known[entry.name][1]
        for entry in entries
        if known.get(entry.name, ("",))[0] == keys[entry.name]
    }
    new = [entry for entry in entries if entry.name not in rows]
    if progress is not None and rows:
        progress(len(rows))
    for name, found in over_motions(library, described, new, workers, progress):
        rows[name] = found
    names = sorted(rows)
    widths = {len(rows[name][1]) for name in names if rows[name][1] is not None}
    if len(widths) > 1:  # those of before are damaged
        _build(folder, None, library, workers, progress)
        return
    width = max(widths, default=0)
    statistics = np.zeros((len(names), width), np.float32)
    for m, name in enumerate(names):
        if rows[name][1] is not None:
            statistics[m] = rows[name][1]
    held = {
        "names": names,
        "keys": [keys[name] for name in names],
        "events": [rows[name][0] for name in names],
        "left_out": {name: rows[name][2] for name in names if rows[name][2]},
    }
    packed = zlib.compress(json.dumps(held).encode(), 1)
    (folder / "captions.json.z").write_bytes(packed)
    np.save(folder / "statistics.npy", statistics)


def _previous(folder: Folder | None) -> dict[str, tuple[str, tuple]]:
    if folder is None:
        return {}
    try:
        held, table = _held(folder), _read(folder)
    except (LibraryError, FileNotFoundError):
        return {}
    return {
        name: (
            held["keys"][m],
            (
                [astuple(event) for event in table.events[m]],
                None if name in table.left_out else table.statistics[m].tolist(),
                table.left_out.get(name, ""),
            ),
        )
        for m, name in enumerate(table.names)
    }


def _held(folder: Folder) -> dict[str, Any]:
    try:
        held = parse_json(unpacked_bytes(read_regular(folder / "captions.json.z")))
        if not isinstance(held, dict):
            raise ValueError("no object")
        return held
    except ValueError as error:
        raise LibraryError(f"{folder}: the captions are damaged: {error}") from None


def _read(folder: Folder) -> CaptionTable:
    held = _held(folder)
    try:
        names, rows = held["names"], held["events"]
        statistics = open_array(folder / "statistics.npy", memory_map=False)
        fits = statistics.dtype == np.float32 and statistics.ndim == 2
        if not fits or len(statistics) != len(names) or not np.isfinite(statistics).all():
            raise ValueError("the statistics are not finite numbers of every motion")
        if not len(names) == len(rows) == len(held["keys"]):
            raise ValueError("names and events do not agree")
        found = [[_event(row) for row in each] for each in rows]
        return CaptionTable(tuple(names), found, statistics, dict(held["left_out"]))
    except (ValueError, KeyError, TypeError, EOFError) as error:
        raise LibraryError(f"{folder}: the captions are damaged: {error}") from None


def _event(row: Any) -> Event:
    checks: list[Callable[[Any], Any]] = list(_TYPES)
    if len(row) != len(checks):
        raise ValueError("an event has too few values")
    return Event(*(check(value) for check, value in zip(checks, row, strict=True)))
