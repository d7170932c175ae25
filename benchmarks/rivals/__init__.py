"""Rivals' packages: installed on request, beside ours, never among ours.

Each package goes to a folder of its own in the user's cache, without its dependencies
(ours serve), and these folders come last on the import path: a rival can neither replace
nor break what motionloom uses, and all of them run in one process.
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

from benchmarks.measuring import Missing, Say
from motionloom.configuration import user_cache


@dataclass(frozen=True)
class Package:
    """A rival's name on PyPI and the module to import."""

    name: str
    module: str


def cache_folder() -> Path:
    """Where rivals' packages lie: ``$XDG_CACHE_HOME/motionloom/rivals``."""
    return user_cache() / "motionloom" / "rivals"


def label(package: Package) -> str:
    """Name and version, as in ``pybvh 0.9.0``; the name alone if it is not installed."""
    try:
        return f"{package.name} {importlib.metadata.version(package.name)}"
    except importlib.metadata.PackageNotFoundError:
        return package.name


def open_cache(packages: Iterable[Package]) -> None:
    """Let this process import the packages installed before."""
    for package in packages:
        folder = str(cache_folder() / package.name)
        if Path(folder).is_dir() and folder not in sys.path:
            sys.path.append(folder)  # last: what is already installed comes first
    importlib.invalidate_caches()


def absence(package: Package, bench: str) -> Missing | None:
    """Why `package` cannot take part, or None if it can be imported."""
    try:
        importlib.import_module(package.module)
    except ModuleNotFoundError as error:
        if error.name == package.module.split(".")[0]:
            reason = f"not installed; `python -m benchmarks {bench} --install-rivals` installs it"
        else:
            reason = f"cannot be imported: it needs {error.name}"
        return Missing(label(package), reason)
    except Exception as error:  # whatever a stranger's module raises is its answer
        return Missing(label(package), f"cannot be imported: {type(error).__name__}: {error}")
    return None


def install(packages: Iterable[Package], *, say: Say) -> dict[str, str]:
    """Install what is not there yet; name -> reason for those that failed.

    A package appears in the cache whole or not at all.
    """
    failures = {}
    for package in packages:
        target = cache_folder() / package.name
        if target.is_dir():
            continue
        say(f"installing {package.name} into {target}")
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
    """Run pip (or uv, where there is no pip); None, or the last thing it said."""
    arguments = ["install", "--quiet", "--no-deps", "--target", str(target), name]
    if importlib.util.find_spec("pip"):
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", *arguments, "--python", sys.executable]
    else:
        return "there is neither pip nor uv to install it with"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    words = (done.stderr or done.stdout).strip().splitlines()
    return words[-1] if words else f"the installer ended with code {done.returncode}"
