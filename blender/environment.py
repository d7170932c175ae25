# SPDX-License-Identifier: GPL-3.0-or-later
"""Find motionloom on this machine, or install it into an environment of the extension's own.

Blender's Python stays as it is: motionloom and its packages go into a virtual environment in the
extension's folder, and run in another process.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import threading
from pathlib import Path

from .studio_client import StudioError

PACKAGE = "motionloom[studio]"
_DONE = "installed.json"  # written last, so an interrupted installation is not used
_POLL_SECONDS = 0.2


def command(chosen: str, folder: Path) -> list[str] | None:
    """Command that starts motionloom: the chosen one, or the environment's; None if missing."""
    try:
        words = shlex.split(chosen)
    except ValueError as error:
        raise StudioError(f"{chosen} is not a command: {error}") from None
    if words and shutil.which(words[0]) is not None:
        return words
    if (folder / _DONE).is_file() and _python(folder).exists():
        return [str(_python(folder)), "-I", "-m", "motionloom"]
    return None


def install(
    folder: Path, python: str, package: str = PACKAGE, *, stop: threading.Event | None = None
) -> None:
    """Create an environment in a folder and install a package with its dependencies there.

    Parameters
    ----------
    folder : Path
        An incomplete environment there is replaced.
    python : str
        Python that creates the environment: Blender's.
    package : str
        Name of a package, with extras, or the path of a wheel.
    stop : Event, optional
        Ends the installation.
    """
    if not package.strip() or package.startswith("-"):
        raise StudioError(f"{package!r} is not the name of a package or the path of a wheel")
    if folder.exists():
        shutil.rmtree(folder)
    _run([python, "-I", "-m", "venv", str(folder)], stop)
    pip = [str(_python(folder)), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    _run([*pip, "install", "--prefer-binary", package.strip()], stop)
    scratch = folder / f"{_DONE}.new"
    scratch.write_text(json.dumps({"package": package}), encoding="utf-8")
    scratch.replace(folder / _DONE)


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _run(words: list[str], stop: threading.Event | None) -> None:
    """Run a program; raise with the last line of its output if it fails."""
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        said: list[str] = []
        reader = threading.Thread(target=lambda: said.extend(process.stdout or ()), daemon=True)
        reader.start()
        while process.poll() is None:
            if stop is not None and stop.wait(_POLL_SECONDS):
                process.kill()
                raise StudioError("stopped")
            if stop is None:
                process.wait()
        reader.join()
    if process.returncode != 0:
        lines = [line.strip() for line in said if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        why = errors[-1] if errors else f"exit code {process.returncode}"
        raise StudioError(f"motionloom could not be installed: {why}")


__all__ = ["PACKAGE", "command", "install"]
