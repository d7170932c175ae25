"""Reading a file in a separate process.

USD and FBX are read by C and C++ libraries, and a damaged file can crash the process. A script that
imports nothing of motionloom reads the file, writes plain arrays to a file and one line of JSON
to its standard output; time (``MOTIONLOOM_READ_SECONDS``) and memory are limited.
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

_MEMORY = 2 << 30  # bytes of memory that reading any file may use; 0.6 are libraries
_GROWTH = 200  # or, for larger files, per byte
_SECONDS = 600.0  # that reading any file may take, if the environment sets no other limit


def child_result(
    script: str, path: Path, request: dict[str, Any], *, library: str
) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Facts about a file and its arrays, from a script that reads it in a process of its own.

    Parameters
    ----------
    script : str
        The script that reads the file; `motionloom.formats.child_process.script` calls it with
        `request`, to which ``path`` and ``output`` are added.
    path : Path
    request : dict
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
            raise MotionFormatError(f"reading took more than {timeout:g} s", path=path) from None
        try:
            facts = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            raise MotionFormatError(
                f"{library} crashed on this file (exit code {done.returncode}): it is damaged",
                path=path,
            ) from None
        if "refused" in facts:
            raise MotionFormatError(facts["refused"], path=path)
        with np.load(output, allow_pickle=False) as arrays:
            return facts, {name: arrays[name] for name in arrays.files}


def _time_limit() -> float:
    """Seconds that reading a file may take."""
    text = os.environ.get("MOTIONLOOM_READ_SECONDS") or str(_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0.0:
        raise InvalidInput(f"MOTIONLOOM_READ_SECONDS must be a positive number; got {text}")
    return seconds
