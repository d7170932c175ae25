"""Cache of compiled kernels, with one folder per kernel, named after a digest of its content.

Numba reads and writes the files (``cache=True``). Its setting ``CACHE_LOCATOR_CLASSES`` names the
class `Locator`, which chooses the folder. The folder name contains a digest of everything that the
machine code depends on (`motionloom.kernels.Kernel.content`), and Numba's index in the folder lists
the files by argument types and processor. Machine code that no longer matches its source is
therefore never used. Code that still matches is used even after an upgrade or from another copy of
the sources.

Cached files are executed, so folders that other users can write to are not used. If the chosen
folder is readable but not writable, as in a container image, its files are copied.

A wheel contains kernels that were compiled when it was built, for a level of processors
(``build_kernels.py``). They are used where the cache has none, if they are whole and the processor
has all features of the level.
"""

from __future__ import annotations

import atexit
import functools
import json
import logging
import math
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numba
from llvmlite import binding
from numba.core import event
from numba.core.caching import IndexDataCacheFile, UserWideCacheLocator

from motionloom.configuration import user_cache
from motionloom.files import atomic_write

_BLAS = "scipy.linalg.cython_blas"
if _BLAS not in sys.modules:
    # Numba's tables of NumPy functions import SciPy's linear algebra only to test whether it is
    # available. That takes a quarter of the time of a search. motionloom requires SciPy, so the
    # test always succeeds and can be skipped. Kernels that call BLAS import it when they are
    # compiled or loaded.
    sys.modules[_BLAS] = ModuleType(_BLAS)
    import_module("numba.np.arraymath")
    del sys.modules[_BLAS]

DAY = 86400.0
BUILT = Path(__file__).with_name("compiled")  # kernels of the wheel
KEPT_DAYS = 90  # days since the last use after which a kernel is removed
_SEAL = "checksums"
_LINE_SECONDS = 5.0  # between two lines about compiling
_log = logging.getLogger("motionloom")
_compiling = threading.Lock()


def dispatcher(function: FunctionType, chosen: Path, name: str, **options) -> Callable:
    """Return Numba's dispatcher for a function, with its cache files in the folder `name`.

    Parameters
    ----------
    function : function
        Function to compile. Its attribute ``kernel_folder`` is set to the path of its folder.
    chosen : Path
        Folder that contains the folders of all kernels.
    name : str
        Name of the kernel's folder, with a digest of everything the compiled code depends on.
    **options
        Options of `numba.njit`.
    """
    function.kernel_folder = opened_folder(chosen, name)  # type: ignore[attr-defined]
    with _compiling:  # restored afterward, because other packages have other caches
        config: Any = numba.config
        before = config.CACHE_LOCATOR_CLASSES
        config.CACHE_LOCATOR_CLASSES = f"{__name__}.Locator"
        try:
            compiled: Any = numba.njit(cache=True, **options)(function)
        finally:
            config.CACHE_LOCATOR_CLASSES = before
    built = BUILT / name
    if built_target() is not None and built.is_dir() and _is_whole(built):
        cache = compiled._cache
        files = IndexDataCacheFile(str(built), cache._impl.filename_base, "")
        cache._cache_file.load = functools.partial(_load, cache._cache_file.load, files)
    return compiled


def _load(cached: Callable, built: IndexDataCacheFile, key: tuple) -> Any:
    """Return the compiled code of a key from the cache or, if it has none, from the wheel.

    A key consists of the argument types, the target of the compiler, and digests of the function.
    """
    code = cached(key)
    return built.load((key[0], built_target(), key[2])) if code is None else code


@functools.cache
def built_target() -> tuple | None:
    """Return the target of the kernels in the wheel, or None if this processor cannot run them.

    Code for another processor than this one's is not used if the user has named one
    (``NUMBA_CPU_NAME``).
    """
    config: Any = numba.config
    try:
        built = json.loads((BUILT / "target.json").read_text(encoding="utf-8"))
        target, needed = tuple(map(str, built["target"])), built["needs"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    features = binding.get_host_cpu_features()
    fits = target[0] == binding.get_process_triple() and all(features.get(f) for f in needed)
    return target if fits and config.CPU_NAME is None else None


class Locator(UserWideCacheLocator):
    """Cache locator that provides Numba with a kernel's folder."""

    def __init__(self, function: FunctionType, file: str) -> None:
        super().__init__(function, file)
        self.folder: Path = function.kernel_folder  # type: ignore[attr-defined]

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> UserWideCacheLocator:
        """Return a locator for any kernel, even if its source is not a file."""
        if hasattr(function, "kernel_folder"):
            return cls(function, file)
        return UserWideCacheLocator.from_function(function, file)  # decorated by another thread

    def get_cache_path(self) -> str:
        """Return the kernel's cache folder."""
        return str(self.folder)

    def ensure_cache_path(self) -> None:
        """Recreate the folder if it was removed."""
        self.folder.mkdir(exist_ok=True)

    def get_source_stamp(self) -> str:
        """Return a constant stamp, because the folder name contains a digest."""
        return ""

    def get_disambiguator(self) -> str:
        """Return a constant instead of the line number, because the kernel may move in its file."""
        return "kernel"


class _OneWriter(event.Listener):
    """Lock on a kernel's folder, held from the end of compilation until its files are written.

    Numba reads the index, adds a file and writes the index. Without a lock, two processes that
    compile a kernel for different types might use the same file name.
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[int, Path]] = {}  # lock file and folder of each thread
        self.next_line = 0.0  # time at which compiling is announced again

    def on_start(self, event: event.Event) -> None:
        if event.kind == "numba:compile" and time.monotonic() >= self.next_line:
            folder = getattr(event.data["dispatcher"].py_func, "kernel_folder", None)
            if folder is not None:
                self.next_line = time.monotonic() + _LINE_SECONDS
                share = _compiled_share(folder.parent)
                _log.warning("compiling kernels, only once on this computer: %.0f %%", 100 * share)

    def on_end(self, event: event.Event) -> None:
        thread = threading.get_ident()
        if event.kind == "numba:compile":
            folder = getattr(event.data["dispatcher"].py_func, "kernel_folder", None)
            if folder is not None:
                remove_unused(folder.parent)
                with suppress(OSError):
                    folder.mkdir(exist_ok=True)
                    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
                    self._held[thread] = handle, folder
                    _lock(handle)
        elif thread in self._held:  # Numba's compiler lock is free, so the files have been written
            handle, folder = self._held.pop(thread)
            with suppress(OSError):
                seal(folder)
            os.close(handle)


def _compiled_share(parent: Path) -> float:
    """Return the share of the listed kernels that have a folder in the cache."""
    listed = Path(__file__).with_name("kernel_signatures.txt").read_text(encoding="utf-8")
    wanted = {line.partition(" ")[0] for line in listed.splitlines() if not line.startswith("#")}
    there = {folder.name.rpartition("-")[0] for folder in parent.iterdir()}
    return len(wanted & there) / len(wanted)


def _lock(handle: int) -> None:
    """Lock an open file, waiting if necessary. Closing the file releases the lock."""
    if os.name == "nt":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)


def compile_silently() -> None:
    """Do not announce that kernels are compiled, because the caller shows its progress."""
    _one_writer.next_line = math.inf


_one_writer = _OneWriter()
event.register("numba:compile", _one_writer)
event.register("numba:compiler_lock", _one_writer)


def opened_folder(chosen: Path, name: str) -> Path:
    """Return a kernel's folder in `chosen`, in the user's cache, or in a temporary folder."""
    for parent in (chosen, user_cache() / "motionloom" / "kernels"):
        with suppress(OSError):
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if is_trusted(parent) and os.access(parent, os.W_OK):
                break
    else:
        parent = _temporary()
    folder = parent / name
    with suppress(OSError):
        if parent != chosen and not folder.exists() and is_trusted(chosen):
            with tempfile.TemporaryDirectory(dir=parent) as scratch:
                shutil.copytree(chosen / name, f"{scratch}/copy")
                os.rename(f"{scratch}/copy", folder)
        if not _is_whole(folder):  # truncated or damaged, or another process is writing
            return _sealed_again(folder)
        if time.time() - folder.stat().st_mtime > DAY:
            os.utime(folder)  # marks the folder as used, see `remove_unused`
    return folder


def _sealed_again(folder: Path) -> Path:
    """Wait until no process is writing to a folder, then empty it if its checksums are wrong."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(handle)
        if not _is_whole(folder):
            for file in folder.glob("*.nb?"):
                file.unlink(missing_ok=True)
            seal(folder)
    finally:
        os.close(handle)
    return folder


def seal(folder: Path) -> None:
    """Write the checksums that `opened_folder` compares with a kernel's files."""
    with atomic_write(folder / _SEAL) as scratch:
        scratch.write_text(_checksums(folder), encoding="ascii")


def _is_whole(folder: Path) -> bool:
    """Return whether the files in a folder match their checksums. An empty folder matches."""
    try:
        return (folder / _SEAL).read_text(encoding="ascii") == _checksums(folder)
    except (OSError, ValueError):
        return not any(folder.glob("*.nb?"))


def _checksums(folder: Path) -> str:
    files = sorted(folder.glob("*.nb?"))
    return "".join(f"{sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


def is_trusted(folder: Path) -> bool:
    """Return whether only the user or an administrator can have written to a folder."""
    if os.name == "nt":
        return True
    status = folder.stat()
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o002


@functools.cache
def _temporary() -> Path:
    folder = tempfile.mkdtemp(prefix="motionloom-kernels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@functools.cache  # runs once per process
def remove_unused(parent: Path) -> None:
    """Remove the folders of kernels that have not been used for `KEPT_DAYS` days."""
    oldest = time.time() - KEPT_DAYS * DAY
    for folder in parent.glob("motionloom.*-" + 32 * "[0-9a-f]"):
        with suppress(OSError):
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder)
