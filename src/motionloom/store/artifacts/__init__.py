"""Artifacts: data derived from the motions of a library and stored with it.

======================  ==============================  =========================================
artifact                kind                            identified by
======================  ==============================  =========================================
frame features          name of the feature set         options: roles, rate, normalization ...
principal components    ``basis``                       options
neighbor index          ``bucket``, ``shards``          features, number of shards
boxes of runs           ``boxes``                       features
whole-clip features     ``clips-...``, ``clip-...``     measure
match webs              ``web``                         distance, web settings: a `Collection`
motion graph            ``motion-graph``                motions, distance, settings
matching database       ``motion-matching``             motions, labels, settings
graph settings, edits   ``graph-settings``,             a name
                        ``motion-graph-edits``
parametric motion       ``parametric``                  the user's name
choreography            ``choreography``                the user's name
given beats, partners   ``beats``                       ``given``
facts about takes       ``rhythms``, ``faults``,        ``detected``
                        ``loops``
======================  ==============================  =========================================

All of them are folders (`motionloom.store.artifacts.folders`)::

    takes.loom/derived/KIND.KEY.VERSION/

Artifacts identified by options are built when they are needed (`Artifacts.derive`). KEY is a digest
of the options (`artifact_key`) and VERSION a digest of the motions, so a library whose motions have
changed has no current version. The next version is built from the previous one and the new motions,
and replaces it. Artifacts identified by a name are saved by the user (`Artifacts.save`) and remain
until they are replaced or deleted. Their VERSION starts with a digest of the motions that they were
built from. The catalogue lists their current versions, so they change in the same transaction as
motions and labels; other versions are left over from an interrupted change and are ignored.

Each package defines only how its artifacts are written to files and read from them.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import open_arrays
from motionloom.errors import InvalidInput, LibraryError
from motionloom.files import parse_json, read_regular
from motionloom.store.artifacts.collection import Collection, LocalCollection, RemoteCollection
from motionloom.store.artifacts.folders import (
    FOLDER,
    Build,
    LocalFolders,
    RemoteFolders,
    check_folder,
    left_over,
    versions,
)
from motionloom.store.records import text_digest
from motionloom.store.remote.folder import Folder, RemoteFolder
from motionloom.store.remote.object_store import ObjectStore, ObjectStoreError

if TYPE_CHECKING:
    from motionloom.store.store import Store

_ATTEMPTS = 6
_NAME = re.compile(r"\w[\w .+-]{0,79}")
_ABOUT, _ARRAYS = "about.json", "arrays.npz"
# Exceptions that readers raise for damaged files; LibraryError is a ValueError.
_DAMAGE = (OSError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError)

Key = str | Mapping[str, Any]
Thing = TypeVar("Thing")


@dataclass(frozen=True, eq=False)
class Artifact:
    """Content of a named artifact: a JSON description and named arrays."""

    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ArtifactInfo:
    """Information about an artifact of a library, without its content."""

    kind: str
    key: str  # the name, or a digest of the options
    is_stale: bool
    bytes: int


class Artifacts:
    """Artifacts of a library, available as ``library.artifacts``.

    Examples
    --------
    >>> import tempfile, motionloom as ml
    >>> folder = tempfile.TemporaryDirectory()
    >>> artifacts = ml.Library.create(f"{folder.name}/takes.loom").artifacts
    >>> artifacts.save("parametric", "kick", {"by": "turn"}, {"weights": np.eye(2)})
    >>> artifacts.names("parametric"), artifacts.load("parametric", "kick").about
    (('kick',), {'by': 'turn'})
    >>> artifacts.delete("parametric", "kick")
    >>> artifacts.names("parametric")
    ()
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.folders: LocalFolders | RemoteFolders = (
            RemoteFolders(store.files, store.catalogue)
            if isinstance(store.files, ObjectStore)
            else LocalFolders(store.path.absolute() / FOLDER)
        )

    # --- saved by name ------------------------------------------------------------------

    def save(
        self,
        kind: str,
        name: str,
        about: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        """Save an artifact under a name, replacing any existing artifact with that name.

        Parameters
        ----------
        kind, name : str
            Kind of artifact, such as ``parametric``, and a name of at most 80 letters, digits,
            spaces and ``. _ + -``.
        about : mapping
            Description of the artifact, as JSON.
        arrays : mapping of str to ndarray, optional
            Arrays of the artifact, by name.
        """
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                "the name of an artifact must consist of at most 80 letters, digits, spaces and "
                f". _ + -, and begin with a letter or digit; got {name!r}"
            )
        text = json.dumps(about, sort_keys=True)

        def build(folder: Path, previous: Folder | None) -> None:
            (folder / _ABOUT).write_text(text, encoding="utf-8")
            with open(folder / _ARRAYS, "wb") as out:
                every = {key: np.asarray(array) for key, array in (arrays or {}).items()}
                np.savez(out, **every)  # type: ignore[arg-type]

        stem, catalogue = f"{kind}.{name}", self._store.catalogue
        with self._store.writing(), catalogue.transaction():
            version = f"{self.content_key()}-{secrets.token_hex(6)}"
            earlier = self.folders.commit(stem, version, build)
            new = f"{stem}.{version}"
            catalogue.at_end(lambda: self.folders.remove([new]), committed=False)
            trash = catalogue.put_artifact_version(stem, version, record=self._has_trash)
            catalogue.at_end(lambda: self.folders.remove(earlier, trash=trash))

    def load(self, kind: str, name: str) -> Artifact:
        """Load an artifact that was saved under a name.

        Raises
        ------
        LibraryError
            If the artifact does not exist (the message lists existing names) or is damaged.
        """

        def read(folder: Folder) -> Artifact:
            about = _described(folder)
            return Artifact(about, open_arrays(folder / _ARRAYS))

        return self._read_named(kind, name, read)

    def about(self, kind: str, name: str) -> dict[str, Any]:
        """Return the description of an artifact, without reading its arrays."""
        return self._read_named(kind, name, _described)

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the sorted names of all artifacts of one kind."""
        stems = self._store.catalogue.artifact_versions()
        names = (stem.removeprefix(f"{kind}.") for stem in stems if stem.startswith(f"{kind}."))
        return tuple(sorted(names))

    def _read_named(self, kind: str, name: str, read: Callable[[Folder], Thing]) -> Thing:
        """Read a named artifact with `read`, and return the result."""
        failed = ""
        for _ in range(_ATTEMPTS):
            version = self._store.catalogue.artifact_version(f"{kind}.{name}")
            if version is None:
                break
            folder = self.folders.open(f"{kind}.{name}.{version}")
            try:
                if folder is None:
                    raise FileNotFoundError(version)  # or replaced in the meantime
                check_folder(folder)
                return read(folder)
            except ObjectStoreError:
                raise
            except _DAMAGE as error:
                if failed == version:
                    raise LibraryError(
                        f"{self._store.path}: the {kind} {name!r} is damaged or missing "
                        f"({_reason(error)}); create it again"
                    ) from None
                failed = version
                if folder is not None:
                    _drop_copies(folder)
        else:
            raise self._keeps_changing()
        names = self.names(kind)
        there = f"this library has {', '.join(names)}" if names else "this library has none"
        what = "parametric motion" if kind == "parametric" else kind
        raise LibraryError(f"{self._store.path}: no {what} is called {name!r}; {there}")

    # --- built when needed --------------------------------------------------------------

    def derive(
        self,
        kind: str,
        options: Mapping[str, Any],
        *,
        build: Build,
        read: Callable[[Any], Thing],
    ) -> Thing:
        """Return an artifact derived from all motions, building it if there is no current version.

        Parameters
        ----------
        kind : str
            Part of the folder name.
        options : mapping
            Build options (see `artifact_key`). Artifacts with different options coexist.
        build : callable
            ``build(folder, previous)`` writes the files to the new, empty `folder`. `previous` is
            the folder of an earlier version, or None. No motions are added or removed during the
            build. With an object store, `previous` and the folder passed to `read` are of type
            `RemoteFolder`.
        read : callable
            ``read(folder)`` opens the artifact. If it raises `FileNotFoundError` or `LibraryError`,
            the artifact is rebuilt.

        Returns
        -------
        thing
            The return value of `read`.
        """
        stem = _stem(kind, options)
        failures, before, built = 0, "", ""
        for _ in range(_ATTEMPTS):
            name = f"{stem}.{self.content_key()}"
            failures = failures if name == before else 0
            before = name
            folder = self.folders.open(name)
            if folder is not None and failures < 2:
                try:
                    check_folder(folder)
                    return read(folder)
                except ObjectStoreError:
                    raise
                except _DAMAGE as error:
                    # Replaced in the meantime, or a local copy is damaged, or the artifact itself
                    # is damaged. Building it again does not help if this process has just built it.
                    if name == built and failures:
                        raise LibraryError(
                            f"{self._store.path}: the {kind} artifact cannot be read after it was "
                            f"built: {_reason(error)}. This is an error in motionloom: please "
                            "report it"
                        ) from error
                    _drop_copies(folder)
                    failures += 1
                    continue
            with self._store.writing():
                version = self.content_key()
                if failures >= 2 or self.folders.open(f"{stem}.{version}") is None:
                    self.folders.remove(self.folders.commit(stem, version, build))
                    built = f"{stem}.{version}"
            failures = 0
        raise self._keeps_changing()

    def collection(self, name: str, describe: Callable[[Path], dict]) -> Collection:
        """Return an artifact that grows file by file, such as match webs.

        `name` is ``KIND.KEY``. `describe` is a function that reads the description of a file from
        the file.
        """
        if isinstance(self.folders, RemoteFolders):
            return RemoteCollection(self.folders.files, name, self.folders.catalogue)
        return LocalCollection(self.folders.root.parent, f"{FOLDER}/{name}", describe)

    # --- all ------------------------------------------------------------------------------

    def stale(self, kind: str, key: Key) -> bool:
        """Return whether an artifact is missing or was built from other motions.

        A named artifact is stale if motions have changed since it was saved, but it can still be
        loaded. A derived artifact is rebuilt the next time it is used.
        """
        stem = _stem(kind, key)
        named = self._store.catalogue.artifact_version(stem)
        current = [f"{stem}.{named}"] if named else versions(self.folders.names(), stem)
        return not current or self._is_stale(current[-1])

    def any_current(self, kind: str) -> bool:
        """Return whether an artifact of a kind was built from the current motions."""
        folders = (name for name in self.folders.names() if name.startswith(f"{kind}."))
        return any(not self._is_stale(name) for name in folders)

    def delete(self, kind: str, key: Key) -> None:
        """Delete an artifact if it exists."""
        stem, catalogue = _stem(kind, key), self._store.catalogue
        with self._store.writing(), catalogue.transaction():
            current, trash = versions(self.folders.names(), stem), False
            if catalogue.artifact_version(stem) is not None:
                trash = catalogue.put_artifact_version(stem, None, record=self._has_trash)
            catalogue.at_end(lambda: self.folders.remove(current, trash=trash))

    @property
    def _has_trash(self) -> bool:
        return isinstance(self.folders, LocalFolders)  # objects in a store are deleted

    def list(self) -> list[ArtifactInfo]:
        """Return all artifacts, sorted by kind and key."""
        artifacts = []
        unused = left_over(self._store.catalogue, self.folders)
        for name in self.folders.names():
            if name in unused:
                continue
            kind, _, rest = name.partition(".")
            key = rest.rpartition(".")[0] or rest
            artifacts.append(ArtifactInfo(kind, key, self._is_stale(name), self.folders.size(name)))
        return sorted(artifacts, key=lambda artifact: (artifact.kind, artifact.key))

    def content_key(self) -> str:
        """Return a digest of all motions and their names, without labels."""
        return text_digest(*(repr(row) for row in self._store.fingerprints()))

    def _keeps_changing(self) -> LibraryError:
        return LibraryError(
            f"{self._store.path}: the library keeps changing; try again when no process is writing "
            "to it"
        )

    def _is_stale(self, folder: str) -> bool:
        rest = folder.partition(".")[2]
        version = rest.rpartition(".")[2] if "." in rest else ""  # a collection has none
        return bool(version) and version.partition("-")[0] != self.content_key()


def _described(folder: Folder) -> dict[str, Any]:
    """Return the description of an artifact. Raise `LibraryError` if it is not a JSON object."""
    try:
        about = parse_json(read_regular(folder / _ABOUT))
    except RecursionError:
        raise LibraryError(f"{folder}/{_ABOUT}: damaged: the JSON is nested too deeply") from None
    if not isinstance(about, dict):
        raise LibraryError(f"{folder}/{_ABOUT}: damaged: expected a JSON object")
    return about


def artifact_key(options: Mapping[str, Any]) -> str:
    """Return a hexadecimal digest of everything an artifact depends on besides the motions.

    `options` consist of plain values (strings, numbers, booleans, None, lists, mappings with string
    keys) that the caller lists explicitly, and of a version that is increased when the code gives
    different results. The digest is computed from their JSON with sorted keys, so it does not
    depend on the names of classes and fields.

    Examples
    --------
    >>> artifact_key({"version": 1, "fps": 30.0}) == artifact_key({"fps": 30.0, "version": 1})
    True
    """
    return text_digest(json.dumps(options, sort_keys=True), size=6)


def _stem(kind: str, key: Key) -> str:
    return f"{kind}.{key if isinstance(key, str) else artifact_key(key)}"


def _reason(error: Exception) -> str:
    text = str(error) if isinstance(error, LibraryError) else f"{type(error).__name__}: {error}"
    return text[:500]


def _drop_copies(folder: Folder) -> None:
    if isinstance(folder, RemoteFolder):
        folder.drop_local()
