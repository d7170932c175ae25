"""Run ``motionloom ...`` in this process or in a separate one."""

from __future__ import annotations

import subprocess
import sys

from typer.testing import CliRunner

MOTIONLOOM = [sys.executable, "-c", "from motionloom.cli import main; main()"]


def invoked(app, *words):
    """Result of a command of `app`; raises our own errors."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def started(*words, **options) -> subprocess.Popen:
    """A process that was started."""
    return subprocess.Popen(
        [*MOTIONLOOM, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finished(*words, **options) -> subprocess.CompletedProcess:
    """A process that has finished: ``returncode``, ``stdout``, ``stderr``."""
    return subprocess.run(
        [*MOTIONLOOM, *map(str, words)], capture_output=True, text=True, check=False, **options
    )
