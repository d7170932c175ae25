"""Atomic writes: a file appears complete or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`; renamed to `path` on success, removed on failure.

    Missing parent folders are created.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/note.txt") as scratch:
    ...         _ = scratch.write_text("hello")
    ...     print(os.listdir(folder))
    ['note.txt']
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Keep the suffix: some writers choose their format by it.
    handle, name = tempfile.mkstemp(
        prefix=f".{path.stem[:40]}-", suffix=f".part{path.suffix}", dir=path.parent
    )
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
        mask = os.umask(0)
        os.umask(mask)
        scratch.chmod(0o666 & ~mask)  # mkstemp makes private files
        _flush(scratch)
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def _flush(path: Path) -> None:
    """Write a file to disk before it is renamed: after a power cut it is whole or absent."""
    with suppress(OSError), open(path, "rb+") as file:
        os.fsync(file.fileno())
