"""Packages of the rivals, installed on request outside the environment.

Each package has its own folder in the user's cache, without dependencies (the ones installed here
are used), and these folders come last on the import path. A rival can therefore not replace a
package that motionloom uses, and all rivals run in one process.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import Log, Missing
from motionloom.configuration import user_cache


@dataclass(frozen=True)
class Package:
    """Name of a package on PyPI and the module to import."""

    name: str
    module: str


def cache_folder() -> Path:
    """Folder of the packages: ``$XDG_CACHE_HOME/motionloom/rivals``."""
    return user_cache() / "motionloom" / "rivals"


def label(package: Package) -> str:
    """Name and version, as in ``pybvh 0.9.0``; only the name if it is not installed."""
    try:
        return f"{package.name} {importlib.metadata.version(package.name)}"
    except importlib.metadata.PackageNotFoundError:
        return package.name


def open_cache(packages: Iterable[Package]) -> None:
    """Add installed packages to the import path of this process."""
    for package in packages:
        folder = str(cache_folder() / package.name)
        if Path(folder).is_dir() and folder not in sys.path:
            sys.path.append(folder)  # last, so that installed packages take precedence
    importlib.invalidate_caches()


def absence(package: Package, bench: str) -> Missing | None:
    """Return the reason why `package` cannot be used, or None if it can be imported."""
    try:
        importlib.import_module(package.module)
    except ModuleNotFoundError as error:
        if error.name == package.module.split(".")[0]:
            reason = f"not installed; `python -m benchmarks {bench} --install-rivals` installs it"
        else:
            reason = f"cannot be imported: it needs {error.name}"
        return Missing(label(package), reason)
    except Exception as error:  # a rival may raise anything
        return Missing(label(package), f"cannot be imported: {type(error).__name__}: {error}")
    return None


def install(packages: Iterable[Package], *, log: Log) -> dict[str, str]:
    """Install missing packages; return the reason by name for those that failed.

    A package appears in the cache completely or not at all.
    """
    failures = {}
    for package in packages:
        target = cache_folder() / package.name
        if target.is_dir():
            continue
        log(f"installing {package.name} into {target}")
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{package.name}-", dir=target.parent))
        try:
            problem = pip_install(package.name, scratch)
            if problem:
                failures[package.name] = problem
            else:
                scratch.rename(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return failures


def pip_install(name: str, target: Path) -> str | None:
    """Install with pip, or with uv if there is no pip; return the error, or None on success."""
    arguments = ["install", "--quiet", "--no-deps", "--target", str(target), name]
    if importlib.util.find_spec("pip"):
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", *arguments, "--python", sys.executable]
    else:
        return "neither pip nor uv is available"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"the installer exited with code {done.returncode}"
