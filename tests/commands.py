"""Run ``motionloom ...`` in this process or in a separate one."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

from click.testing import CliRunner

from motionloom.cli import app, main

MOTIONLOOM = [sys.executable, "-c", "from motionloom.cli import main; main()"]


def run(*words):
    """Result of a command; what it raised is its ``exception``."""
    return CliRunner().invoke(app, [str(word) for word in words])


def invoked(app, *words):
    """Result of a command of `app`; raises our own errors."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def ran(*words, cwd: Path | None = None) -> subprocess.CompletedProcess:
    """Like `finished`, but run the entry point in this process, which starts faster."""
    argv = ["motionloom", *map(str, words)]
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", argv),
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
    return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())


def error_lines(stderr: str) -> list[str]:
    """Lines on standard error but those of progress, which a slow machine prints."""
    return [
        line for line in stderr.splitlines() if not re.search(r": \d+ of \d+.*, .* so far", line)
    ]


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
