"""Libraries of release 0.1 (format 1): reading their named artifacts, and the upgrade.

Release 0.1 kept named artifacts as rows of a table ``kept``, each with a description and, if there
were arrays, a file ``kept/KIND.NAME.MARK.npz``; the settings of the motion graph were in
``derived/motion-graph.json``. They are read as they are, and converted by the first write.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from motionloom.checked_arrays import open_arrays
from motionloom.errors import LibraryError
from motionloom.files import below, parse_json, read_regular
from motionloom.store.artifacts.folders import FOLDER
from motionloom.store.trash import move_to_trash

if TYPE_CHECKING:
    from motionloom.store.store import Store

FORMAT = "1"
GRAPH_SETTINGS = ("motion-graph-settings", "last")
_KEPT = "kept"
_log = logging.getLogger("motionloom.store")


def names(store: Store, kind: str) -> list[str]:
    """Names of the artifacts of a kind."""
    found = [name for other, name in _rows(store) if other == kind]
    if kind == GRAPH_SETTINGS[0] and _is_old(store) and _graph_settings(store) is not None:
        found.append(GRAPH_SETTINGS[1])
    return found


def about(store: Store, kind: str, name: str) -> dict[str, Any]:
    """Description of an artifact."""
    if (kind, name) == GRAPH_SETTINGS:
        return _graph_settings(store) or {}
    try:
        found = parse_json(_rows(store)[kind, name][0])
    except (ValueError, TypeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise LibraryError(f"{store.path}: the description of the {kind} {name!r} is damaged")
    return found


def load(store: Store, kind: str, name: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Description and arrays of an artifact.

    Raises
    ------
    LibraryError
        If its file is damaged.
    """
    described = about(store, kind, name)
    file = "" if (kind, name) == GRAPH_SETTINGS else _rows(store)[kind, name][1]
    if not file:
        return described, {}
    path = below(store.path, f"{_KEPT}/{file}")
    try:
        return described, open_arrays(path)
    except (OSError, LibraryError) as error:
        raise LibraryError(
            f"{path}: damaged or gone ({type(error).__name__}); make the {kind} {name!r} again"
        ) from None


def upgrade(store: Store) -> None:
    """Convert a library to the current format; the caller holds the writer lock.

    A process that is killed meanwhile leaves a library of format 1 that is read as before.
    """
    if not _is_old(store):
        return
    every = list(_rows(store))
    if _graph_settings(store) is not None:
        every.append(GRAPH_SETTINGS)
    lost = []
    for kind, name in every:
        try:
            store.artifacts.save(kind, name, *load(store, kind, name))
        except LibraryError as error:
            lost.append(str(error))
    store.catalogue.upgrade()
    move_to_trash(store.path, [_KEPT, f"{FOLDER}/motion-graph.json"])
    for problem in lost:
        _log.warning("%s", problem)
    _log.warning(
        "%s: upgraded to the library format of motionloom 0.2; motionloom 0.1 cannot open it "
        "any more",
        store.path,
    )


def _is_old(store: Store) -> bool:
    return store.catalogue.meta().get("format") == FORMAT


def _rows(store: Store) -> dict[tuple[str, str], tuple[str, str]]:
    """Kind and name to description and file."""
    if not store.catalogue.rows("SELECT 1 FROM sqlite_master WHERE name = 'kept'"):
        return {}
    rows = store.catalogue.rows("SELECT kind, name, about, file FROM kept ORDER BY kind, name")
    return {(kind, name): (about, file) for kind, name, about, file in rows}


def _graph_settings(store: Store) -> dict[str, Any] | None:
    try:
        found = parse_json(read_regular(below(store.path, f"{FOLDER}/motion-graph.json")))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
