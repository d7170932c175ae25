"""The machine a bench ran on, and the process it runs in: one thread per contestant."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# Read by the linear algebra libraries and by Numba when they are first imported.
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def one_thread_environment() -> dict[str, str]:
    """Environment of a process in which every library uses one thread.

    It also finds this very motionloom, wherever it was imported from.
    """
    environment = dict(os.environ, **dict.fromkeys(_THREAD_VARIABLES, "1"))
    source = str(Path(__file__).parents[2])
    paths = [source, *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    return environment


def machine() -> dict[str, Any]:
    """Processor, cores, versions and date, as plain data."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: _version(name) for name in ("motionloom", "numpy", "numba")},
        "threads": 1,
        "load_average": _load_average(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # run from a checkout, not installed
        from motionloom import __version__

        return __version__ if package == "motionloom" else "unknown"


def _load_average() -> float | None:
    """Processes wanting to run during the last minute: above the cores, distrust wall times."""
    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):
        return None
