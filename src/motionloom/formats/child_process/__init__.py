"""Reading files in a separate process.

USD and FBX are read by C and C++ libraries, which a damaged file can crash. They therefore run in a
separate process. A script that does not import motionloom reads the file, writes plain arrays
to another file, and prints one line of JSON to its standard output. The environment variable
``MOTIONLOOM_READ_SECONDS`` limits its time, and its memory is also limited.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.files import check_regular
from motionloom.formats.child_process import script as runner

_MEMORY = 2 << 30  # bytes of memory that reading any file may use; the libraries alone take 0.6e9
_GROWTH = 200  # the same limit for larger files, per byte of the file
_SECONDS = 600.0  # default time limit for reading a file


def child_result(
    script: str, path: Path, request: dict[str, Any], *, library: str
) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Run a reader script in a separate process, and return its metadata and arrays.

    Parameters
    ----------
    script : str
        The script that reads the file. `motionloom.formats.child_process.script` calls it with
        `request` plus the entries ``path`` and ``output``.
    path : Path
        File to read.
    request : dict
        Options for the script.
    library : str
        Name of the library that reads the file, for messages.
    """
    timeout = _time_limit()
    size = check_regular(path).st_size  # raises if the file does not exist
    with tempfile.TemporaryDirectory(prefix="motionloom-") as folder:
        output = f"{folder}/arrays.npz"
        whole = {
            **request,
            "path": str(path.resolve()),
            "output": output,
            "script": script,
            "library": library,
            "memory": max(_MEMORY, _GROWTH * size),
        }
        command = [sys.executable, "-P", runner.__file__, json.dumps(whole)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                timeout=timeout,
                env=environment,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            raise MotionFormatError(
                f"reading this file with {library} took longer than the limit of {timeout:g} s. To "
                "allow more time, set MOTIONLOOM_READ_SECONDS",
                path=path,
            ) from None
        try:
            facts = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            raise MotionFormatError(
                f"the file is damaged: {library} crashed while reading it (exit code "
                f"{done.returncode})",
                path=path,
            ) from None
        if "refused" in facts:
            raise MotionFormatError(facts["refused"], path=path)
        with np.load(output, allow_pickle=False) as arrays:
            return facts, {name: arrays[name] for name in arrays.files}


def _time_limit() -> float:
    """Return the time limit for reading a file, in seconds."""
    text = os.environ.get("MOTIONLOOM_READ_SECONDS") or str(_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0.0:
        raise InvalidInput(
            f"MOTIONLOOM_READ_SECONDS must be a positive number of seconds; got {text}"
        )
    return seconds
