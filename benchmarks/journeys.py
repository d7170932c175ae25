"""List the files of motionloom that the journeys of docs/reference/architecture.md enter.

    python benchmarks/journeys.py [--files]

A file is entered if one of its functions is called; imports do not count. Everything runs in this
process, on a few motions of the built-in corpus.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import motionloom as ml
from motionloom.cli import main as run_command

SOURCE = str(Path(ml.__file__).parent) + os.sep


def journeys() -> Iterator[tuple[str, Callable[[], object]]]:
    """Name and call of each journey; later ones need the results of earlier ones."""
    for performer in (0, 1, 2):
        kick = ml.demo.clip("kick_front_high_right", performer=performer)
        kick.save(f"takes/kick/kick_{performer}.bvh")
    ml.demo.clip("walk").save("takes/walk/walk.bvh")
    ml.demo.clip("dance_groove").save("takes/dance/groove.bvh")
    yield "import", _command("import takes.loom takes --labels folder --workers 1")
    yield "search", _command("search takes.loom kick_0:10-50")
    yield (
        "parametrize",
        _command("parametrize takes.loom kick_0:10-50 --by right_ankle@32 --name k"),
    )
    with ml.Library("takes.loom") as library:
        target = library.parametric["k"].accessible.mean(axis=0)
    at = ",".join(f"{value:.3f}" for value in target)
    yield "synthesize", _command(f"synthesize takes.loom k --at {at} -o kick.bvh")
    yield (
        "dance",
        _command("dance takes.loom tune --meter 4 --label dance --seconds 6 -o dance.bvh"),
    )
    yield "studio request", _request("/api/search", {"query": "kick_0:10-50"})


def _command(line: str) -> Callable[[], object]:
    def call() -> None:
        sys.argv = ["motionloom", *line.split()]
        said = StringIO()
        try:
            with redirect_stdout(said), redirect_stderr(said):
                run_command()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(said.getvalue()) from None

    return call


def _request(address: str, body: dict[str, Any]) -> Callable[[], object]:
    from fastapi.testclient import TestClient

    from motionloom.studio import create_app

    client = TestClient(create_app(ml.Library("takes.loom")), base_url="http://localhost")
    return lambda: client.post(address, json=body).raise_for_status()


@contextmanager
def entered() -> Iterator[set[str]]:
    """Files of motionloom whose functions are called in the block."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(SOURCE):
            files.add(code.co_filename.removeprefix(SOURCE))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def main() -> None:
    """Print the number of files of each journey, and with ``--files`` also their names."""
    show = "--files" in sys.argv
    for module in pkgutil.walk_packages(ml.__path__, "motionloom."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)  # run once before, so that only calls are counted
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, call in journeys():
            with entered() as files:
                call()
            print(f"{name:16}{len(files):4} files")
            if show:
                print("\n".join(f"    {file}" for file in sorted(files)))
        os.chdir(Path(folder).parent)


if __name__ == "__main__":
    main()
