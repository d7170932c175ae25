"""Upgrade of a library from an earlier format to the current one, done on opening.

Release 0.2 wrote format 2. Format 4 added the versions of saved artifacts to the catalogue, and
checksums to the history.

Everything that users have created is preserved: motions, labels, history, parametric motions,
choreographies, manually set beats, and edits and settings of graphs. Features, webs, graphs and
matching databases are also preserved. The frame index, captions and tables of whole clips are
rebuilt when they are needed.

Everything that a user created changes in one transaction, with the format that the catalogue
records. If the process is killed, the library is still in its earlier format, or upgraded.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from motionloom.errors import LibraryError
from motionloom.store.artifacts.folders import FOLDER
from motionloom.store.catalogue_file import FORMAT, OLDEST_FORMAT
from motionloom.store.trash import move_to_trash

if TYPE_CHECKING:
    from motionloom.store.store import Store

GRAPH_SETTINGS = ("graph-settings", "last")
_OLD_GRAPH_SETTINGS = ("motion-graph-settings", "last")
_REBUILT = ("clips-", "clip-heaps.", "clip-statistics.", "blocks.")  # rebuilt when they are needed
_GRAPH_FIELDS = {
    "threshold": "max_distance",
    "footing": "match_feet",
    "weights": "joint_weights",
    "within": "label",
    "without": "exclude",
}
_GRAPH_RULES = (
    "blend_seconds", "apart_seconds", "match_feet", "connect", "smooth", "bridge", "window",
    "skip_ends", "root_path", "dead_ends", "unroll",
)  # fmt: skip
_KR14 = {  # release 0.2 saved this preset by name
    "method": {"name": "sectors", "sector_seconds": 50.0 / 30.0}, "max_distance": 15.0,
    "blend_seconds": 1.0, "apart_seconds": 0.0, "match_feet": False, "connect": 1.0,
    "smooth": None, "window": "kr14", "skip_ends": False, "root_path": "differences",
    "dead_ends": True, "unroll": False,
}  # fmt: skip
_log = logging.getLogger("motionloom.store")


def upgrade(store: Store) -> None:
    """Upgrade a library to the current format, unless it is already current.

    Raises
    ------
    LibraryError
        If the library cannot be written to.
    """
    if store.catalogue.format == FORMAT:
        return
    try:
        with store.writing():
            if store.catalogue.format != FORMAT:  # otherwise, another process has just upgraded it
                _upgrade(store)
    except LibraryError as error:
        raise LibraryError(
            f"{store.path}: this library was written by motionloom 0.2 and must be upgraded, which "
            f"failed: {error}. Run `motionloom verify {store.path}` once with write access, "
            "or copy the library to a writable folder"
        ) from error


def _upgrade(store: Store) -> None:
    artifacts, catalogue = store.artifacts, store.catalogue
    earlier = catalogue.format
    # Until now, the latest version of an artifact was the current one.
    named = dict(
        name.rsplit(".", 1)
        for name in artifacts.folders.names()
        if "-" in name.rpartition(".")[2] and name.count(".") > 1
    )
    with catalogue.transaction():
        catalogue.upgrade(named.items())
        if _OLD_GRAPH_SETTINGS[1] in artifacts.names(_OLD_GRAPH_SETTINGS[0]):
            try:
                about = artifacts.about(*_OLD_GRAPH_SETTINGS)
                artifacts.save(*GRAPH_SETTINGS, graph_settings(about))
            except LibraryError as error:
                _log.warning("%s", error)  # already damaged, so there is nothing to preserve
            artifacts.delete(*_OLD_GRAPH_SETTINGS)
    if earlier != OLDEST_FORMAT:
        return
    dropped = [name for name in artifacts.folders.names() if name.startswith(_REBUILT)]
    if store.files.remote:
        artifacts.folders.remove(dropped)
    else:
        move_to_trash(store.path, [f"{FOLDER}/{name}" for name in dropped])
    _log.warning(
        "%s: upgraded to the library format of motionloom 0.3; motionloom 0.2 can no longer "
        "open it",
        store.path,
    )


def graph_settings(about: Mapping[str, Any]) -> dict[str, Any]:
    """Convert saved settings of a motion graph to the current names and groups.

    Examples
    --------
    >>> graph_settings({"within": ["walk"], "threshold": 0.5, "smooth": None})
    {'label': ['walk'], 'max_distance': 0.5, 'rules': {'smooth': None}}
    """
    settings = {_GRAPH_FIELDS.get(name, name): value for name, value in about.items()}
    if settings.pop("preset", None) == "kr14":
        is_default = settings.get("method") == "sectors"  # its options were not saved
        settings = {**_KR14, **settings, **({"method": _KR14["method"]} if is_default else {})}
    weights = settings.pop("joint_weights", None)
    if weights is not None:
        settings["distance"] = weights
    rules = {name: settings.pop(name) for name in _GRAPH_RULES if name in settings}
    if rules.get("window") == "centred":
        rules["window"] = "centered"
    return {**settings, "rules": rules} if rules else settings
