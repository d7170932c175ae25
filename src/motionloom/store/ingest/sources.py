"""Source files for an import, and the names of their motions.

A motion is named after its file, without the suffix (``86_01``). If several files of one import
have the same name, enough of each path is added to distinguish them, as in ``a/walk`` and
``b/walk``. A file that is already in the library keeps its name. The result does not depend on the
order of the files.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from motionloom.errors import InvalidInput
from motionloom.formats import LEFT_OUT, MOTION_SUFFIXES, holds_motion, is_motion_file, way_out
from motionloom.store.catalogue_file import FILE

_DEEPEST = 200  # levels of folders below a given folder
_COMPANIONS = {".amc": ".asf", ".gltf": ".bin"}


@dataclass(frozen=True)
class SourceFile:
    """A file to import."""

    path: str  # absolute, without symbolic links to folders; identifies the file
    shown: str  # as the user would write it
    folders: tuple[str, ...]  # folders below the given folder, or the name of the parent folder

    @property
    def stem(self) -> str:
        """File name without its suffix."""
        return Path(self.path).stem

    @property
    def parts(self) -> tuple[str, ...]:
        """Folders and stem of the absolute path, without drive or root."""
        return (*Path(self.path).parts[1:-1], self.stem)


def find_sources(
    paths: Iterable[str | Path],
) -> tuple[list[SourceFile], list[tuple[str, str]]]:
    """Find all motion files in `paths` and in their folders, without duplicates.

    Folders are searched recursively. Hidden files and folders are ignored, and links to folders are
    followed once. Returns the sources, sorted by path, and pairs (folder, reason) for folders that
    could not be read. Raises `InvalidInput` if a path does not exist, if a file has a format
    without a reader, or if there are no motion files at all.
    """
    paths = list(paths)
    sources: dict[str, SourceFile] = {}
    unreadable: list[tuple[str, str]] = []
    for path in sorted({Path(path).expanduser() for path in paths}, key=_outermost_first):
        if path.is_dir():
            files = _files_in(path, unreadable)
        elif not path.exists():
            raise InvalidInput(f"{path}: no such file or folder")
        elif is_motion_file(path) or holds_motion(path):
            files = [path]
        elif advice := way_out(path):
            raise InvalidInput(f"{path}: {advice}")
        else:
            kind = f"{path.suffix} files contain" if path.suffix else "this file contains"
            suffixes = ", ".join(MOTION_SUFFIXES)
            raise InvalidInput(f"{path}: {kind} no motion; expected one of {suffixes}")
        for file in files:
            identity = storable(os.path.join(os.path.realpath(file.parent), file.name))
            inner = file.relative_to(path).parts[:-1] if path.is_dir() else ()
            folders = inner or (Path(os.path.abspath(file)).parent.name,)
            source = SourceFile(identity, str(file), tuple(map(storable, folders)))
            sources.setdefault(identity, source)
    if not sources and not unreadable:
        places, suffixes = ", ".join(map(str, paths)), ", ".join(MOTION_SUFFIXES)
        others = "".join(f". {line}" for line in left_out_lines(left_out(paths)))
        raise InvalidInput(f"{places}: no motion files (expected {suffixes}){others}")
    return [sources[identity] for identity in sorted(sources)], sorted(set(unreadable))


def left_out(paths: Iterable[str | Path]) -> dict[str, int]:
    """Count motion capture files in the folders of `paths` that cannot be imported.

    Returns counts by suffix, such as ``{".c3d": 12}``.
    """
    ignored: set[str] = set()
    for path in map(Path, paths):
        if path.is_dir():
            files = _files_in(path, [], _is_left_out)
            ignored.update(os.path.realpath(file) for file in files)
    counts = Counter(PurePath(file).suffix.lower() for file in ignored)
    return {suffix: counts[suffix] for suffix in sorted(counts)}


def _is_left_out(file: Path) -> bool:
    return file.suffix.lower() in LEFT_OUT and not holds_motion(file)


def left_out_lines(counts: Mapping[str, int]) -> list[str]:
    """Return one line per suffix of `left_out`, with the number of files and how to use them.

    Examples
    --------
    >>> left_out_lines({".blend": 2})[0][:30]
    '2 .blend files: not supported;'
    """
    return [
        f"{count} {suffix} file{'s' if count > 1 else ''}: {LEFT_OUT[suffix]}"
        for suffix, count in counts.items()
    ]


def assign_names(
    sources: Sequence[SourceFile],
    existing: Mapping[str, str],
    same: Callable[[SourceFile, str], bool] = lambda source, name: False,
) -> dict[str, str]:
    """Assign names to the motions of an import, by source path.

    `existing` maps the names of motions in the library to source paths. ``same(source, name)``
    returns whether the motion `name` was imported from a file with the same bytes as `source`, for
    example because a folder was moved.

    Examples
    --------
    >>> files = [SourceFile(f"/takes/{x}/walk.bvh", "", ()) for x in "ab"]
    >>> list(assign_names(files, {}).values())
    ['a/walk', 'b/walk']
    >>> list(assign_names(files[1:], {"walk": "/takes/a/walk.bvh"}).values())
    ['b/walk']
    """
    by_path = {path: name for name, path in existing.items() if path}
    shared = Counter(
        suffix
        for source in sources
        for suffix in {*_suffixes(source.parts), *_suffixes(_with_suffix(source))}
    )
    names = {s.path: by_path[s.path] for s in sources if s.path in by_path}
    taken = set(existing) | set(names.values())
    for source in sorted(sources, key=lambda source: source.path):
        if source.path in names:
            continue
        # The suffix is included only if nothing else distinguishes two files.
        options = [*_suffixes(source.parts), *_suffixes(_with_suffix(source))]
        options = [name for name in options if shared[name] == 1]
        name = _first_free(options, taken, partial(same, source))
        names[source.path] = name
        taken.add(name)
    return names


def companions(path: str | Path) -> list[Path]:
    """Return the files next to `path` that its reader also reads, such as skeletons, sorted.

    These are files whose stem is a prefix of the stem of `path` (``01.asf`` for ``01_01.amc``), or
    the only file of that kind in the folder.
    """
    path = Path(path)
    suffix = _COMPANIONS.get(path.suffix.lower())
    if suffix is None:
        return []
    siblings = [file for file in path.parent.iterdir() if file.suffix.lower() == suffix]
    return sorted(
        file for file in siblings if path.stem.startswith(file.stem) or len(siblings) == 1
    )


def is_companion(path: str | PurePath) -> bool:
    """Return whether a file such as ``01.asf`` has no motion but is read with another file."""
    return PurePath(path).suffix.lower() in _COMPANIONS.values()


def storable(text: str) -> str:
    """Return `text` without the surrogates for undecodable bytes in file names."""
    return text.encode("utf-8", "backslashreplace").decode()


def _first_free(options: Sequence[str], taken: Collection[str], same: Callable[[str], bool]) -> str:
    for name in options:
        if name not in taken or same(name):
            return name
    number = 2
    while f"{options[-1]} ({number})" in taken:
        number += 1
    return f"{options[-1]} ({number})"


def _suffixes(parts: Sequence[str]) -> list[str]:
    """Yield ``walk``, ``a/walk``, ``takes/a/walk``, ``/takes/a/walk`` for ``takes, a, walk``."""
    ends = ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]
    return [*ends, f"/{ends[-1]}"]


def _with_suffix(source: SourceFile) -> tuple[str, ...]:
    return (*source.parts[:-1], Path(source.path).name)


def _outermost_first(path: Path) -> tuple[int, str]:
    return len(path.absolute().parts), os.path.abspath(path)


def _files_in(
    folder: Path,
    unreadable: list[tuple[str, str]],
    wanted: Callable[[Path], bool] = holds_motion,
) -> list[Path]:
    def note(error: OSError) -> None:
        unreadable.append((str(error.filename), error.strerror or str(error)))

    top = str(folder).count(os.sep)
    result: list[Path] = []
    seen: set[tuple[int, int]] = set()
    for place, folders, files in os.walk(folder, onerror=note, followlinks=True):
        status = os.stat(place)
        here = (status.st_dev, status.st_ino)
        # This is a cyclic link, a folder visited before, or a library.
        if here in seen or FILE in files:
            folders.clear()
            continue
        seen.add(here)
        if folders and place.count(os.sep) - top >= _DEEPEST:
            unreadable.append((place, f"the folder is more than {_DEEPEST} levels deep"))
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            file = Path(place, name)
            if not name.startswith(".") and wanted(file):
                result.append(file)
    return sorted(result)
