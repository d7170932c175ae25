"""The measuring process: ``python -m benchmarks.measure NAME SETTINGS``, JSON in and out.

``python -m benchmarks`` starts it with every library limited to one thread, which must be set
before NumPy is imported. Standard output carries one JSON document: the report, or
``{"error": message}``.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import Settings, bench_module
from benchmarks.machine import machine
from benchmarks.rivals import install, open_cache
from motionloom.errors import MotionloomError


def report(name: str, settings: Settings, *, install_rivals: bool, say) -> dict[str, Any]:
    """Run one bench in this process."""
    module = bench_module(name)
    where = machine()  # before the bench itself loads the machine
    if install_rivals:
        for package, reason in install(module.PACKAGES, say=say).items():
            say(f"{package} was not installed: {reason}")
    open_cache(module.PACKAGES)
    return {"name": name, "machine": where, **module.run(settings, say)}


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _main(name: str, options: str) -> None:
    given = json.loads(options)
    install_rivals = given.pop("install_rivals")
    data = given.pop("data")
    settings = Settings(data=Path(data) if data else None, **given)
    started = time.perf_counter()
    # Some rivals print as they read; standard output is ours alone.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        try:
            found = report(name, settings, install_rivals=install_rivals, say=_say)
            found["seconds"] = round(time.perf_counter() - started, 1)
        except MotionloomError as error:
            found = {"error": str(error)}
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    _main(*sys.argv[1:])
