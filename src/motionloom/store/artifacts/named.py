"""What people made of a library's motions, gave a name, and want to find again.

A parametric kick, an edited graph of movements: a row in the catalogue says what it is, one
file of arrays holds the rest::

    takes.loom/kept/KIND.NAME.MARK.npz

Unlike derived things (`motionloom.store.artifacts.derived`) they are not swept away when motions
are added: a name stays until it is given to something else.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.atomic_write import atomic_write
from motionloom.errors import InvalidInput, LibraryError
from motionloom.store.lock import not_writable
from motionloom.store.store import Store

FOLDER = "kept"
_NAME = re.compile(r"\w[\w .+-]{0,79}")


@dataclass(frozen=True, eq=False)
class Keepsake:
    """Something kept: its description, and its arrays by name."""

    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def keep(
    library: Store,
    kind: str,
    name: str,
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Keep something under a name, instead of what was kept under it before.

    Parameters
    ----------
    library : Store
    kind : str
        ``parametric``, ``choreography``, ...
    name : str
        Letters, digits, spaces, and ``. _ + -``.
    about : mapping
        Its description, as JSON.
    arrays : mapping of str to ndarray

    Examples
    --------
    >>> import tempfile, motionloom as ml
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> keep(lib, "parametric", "kick", {"by": "turn"}, {"weights": np.eye(2)})
    >>> kept_names(lib, "parametric"), kept(lib, "parametric", "kick").about
    (('kick',), {'by': 'turn'})
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"a name to keep something by has letters, digits, spaces and . _ + -, at most 80 "
            f"of them; got {name!r}"
        )
    text = json.dumps(about, sort_keys=True)
    mark = hashlib.blake2b(text.encode(), digest_size=6)
    for key in sorted(arrays):
        mark.update(key.encode())
        mark.update(np.ascontiguousarray(arrays[key]).tobytes())
    file = f"{kind}.{name}.{mark.hexdigest()}.npz"
    with library.writing():
        old = library.catalogue.kept(kind).get(name)
        try:
            with atomic_write(library.path / FOLDER / file) as scratch, scratch.open("wb") as out:
                np.savez(out, **{key: np.asarray(arrays[key]) for key in arrays})  # type: ignore[arg-type]
        except OSError as error:
            raise not_writable(library.path, error) from None
        library.catalogue.keep(kind, name, text, file)
        if old is not None and old[1] != file:
            (library.path / FOLDER / old[1]).unlink(missing_ok=True)


def kept_names(library: Store, kind: str) -> tuple[str, ...]:
    """Names of what is kept of a kind, sorted."""
    return tuple(library.catalogue.kept(kind))


def kept(library: Store, kind: str, name: str) -> Keepsake:
    """What is kept under a name.

    Raises
    ------
    LibraryError
        If there is nothing; the message names what there is. Or if its file is damaged.
    """
    found = library.catalogue.kept(kind)
    if name not in found:
        there = f"it has {', '.join(found)}" if found else "it has none"
        raise LibraryError(f"{library.path}: no {kind} is called {name!r}; {there}")
    about, file = found[name]
    path: Path = library.path / FOLDER / file
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise LibraryError(
            f"{path}: damaged or gone ({type(error).__name__}); make the {kind} {name!r} again"
        ) from None
    return Keepsake(json.loads(about), arrays)


def forget(library: Store, kind: str, name: str) -> None:
    """Keep something no longer; nothing happens if it was not kept."""
    with library.writing():
        old = library.catalogue.kept(kind).get(name)
        if old is not None:
            library.catalogue.forget(kind, name)
            (library.path / FOLDER / old[1]).unlink(missing_ok=True)
