"""Libraries that the page may open: the user's recent ones, and those in one folder.

A request never contains a path. It refers to a library by an id from this list, or gives a plain
name for a new library in the folder. The list belongs to the user's account: libraries opened with
``motionloom studio`` before (``~/.config/motionloom/recent-libraries.json``), and those in the
folder where it was started. A server that others can use, on another address or without a token,
has no such list and shows only the library that it was started with.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from motionloom.configuration import user_settings
from motionloom.errors import InvalidInput, LibraryError, MotionFormatError
from motionloom.files import atomic_write, is_reserved, parse_json, read_regular
from motionloom.library import is_library

FILE = "recent-libraries.json"
MOST_RECENT = 20
LONGEST_NAME = 80  # characters of a new library's name
_LARGEST = 1 << 18  # bytes of the file with the list
_MOST_ENTRIES = 5000  # folder entries to examine
_REFUSED = frozenset('/\\:*?"<>|')
_lock = threading.Lock()
_log = logging.getLogger("motionloom")


@dataclass(frozen=True)
class KnownLibrary:
    """A library that can be opened."""

    id: str
    name: str
    path: Path
    place: Literal["recent", "folder"]


class LibraryChoice:
    """Libraries that the user's studio may open.

    Parameters
    ----------
    folder : Path
        Folder for new libraries; its libraries are also listed.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> choice = LibraryChoice(Path(folder.name))
    >>> ml.Library.create(choice.new_path("day 1")).close()
    >>> [known.name for known in choice.known() if known.place == "folder"]
    ['day 1']
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    def known(self) -> list[KnownLibrary]:
        """Return existing libraries: recent ones, latest first, then others in the folder."""
        recent = [path for path in recent_libraries() if is_library(path)]
        try:
            entries = sorted(islice(self.folder.iterdir(), _MOST_ENTRIES))
        except OSError:
            entries = []
        others = [
            path
            for path in entries
            if path.suffix == ".loom"
            and path not in recent
            and not path.is_symlink()
            and is_library(path)
        ]
        return [_known(path, "recent") for path in recent] + [
            _known(path, "folder") for path in others
        ]

    def path_of(self, key: str) -> Path:
        """Return the path of a library in the list.

        Raises
        ------
        LibraryError
            If the id is not in the list.
        """
        for library in self.known():
            if library.id == key:
                return library.path
        raise LibraryError(
            "this library is not in the list; open it once with: motionloom studio LIB"
        )

    def new_path(self, name: str) -> Path:
        """Return the path of a new library called `name` in the folder.

        Raises
        ------
        InvalidInput
            If the name is invalid or already exists.
        """
        name = name.strip().removesuffix(".loom")
        if not name or len(name) > LONGEST_NAME:
            raise InvalidInput(
                f"the name of a library must have 1 to {LONGEST_NAME} characters; got {len(name)}"
            )
        if set(name) & _REFUSED or not name.isprintable() or name[0] == "." or name[-1] in ". ":
            raise InvalidInput(
                f"{name!r} cannot be the name of a library: use letters, digits, spaces, - and _"
            )
        if is_reserved(name):
            raise InvalidInput(f"{name!r} is reserved for a device on Windows; choose another name")
        path = self.folder / f"{name}.loom"
        if os.path.lexists(path):
            raise InvalidInput(
                f"a library called {name!r} already exists; open it, or choose another name"
            )
        return path


def recent_libraries() -> list[Path]:
    """Return the paths of recently opened libraries, latest first; some may no longer exist."""
    try:
        contents = parse_json(read_regular(user_settings().with_name(FILE), largest=_LARGEST))
    except (OSError, ValueError, MotionFormatError):
        return []
    texts = contents if isinstance(contents, list) else []
    paths = [Path(text) for text in texts if isinstance(text, str) and "\0" not in text]
    return [path for path in paths if path.is_absolute()][:MOST_RECENT]


def remember(path: Path) -> None:
    """Move a library to the front of the recent libraries."""
    path = path.absolute()
    place = user_settings().with_name(FILE)
    with _lock:
        paths = [path, *(recent for recent in recent_libraries() if recent != path)][:MOST_RECENT]
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(place) as scratch:
                scratch.write_text(json.dumps([str(recent) for recent in paths], indent=1), "utf-8")
        except OSError as error:
            _log.warning(
                "the list of recent libraries, %s, cannot be written: %s", place, error.strerror
            )


def _known(path: Path, place: Literal["recent", "folder"]) -> KnownLibrary:
    key = hashlib.blake2b(os.fsencode(path), digest_size=12).hexdigest()
    return KnownLibrary(key, path.stem, path, place)
