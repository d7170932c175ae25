"""The measuring process, ``python -m benchmarks.process NAME SETTINGS``, and its machine.

``python -m benchmarks`` starts the process with every library limited to one thread, which must
be set before NumPy is imported. Settings are JSON. Standard output is one JSON document: the
report, or ``{"error": message}``.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import Settings, benchmark_module
from benchmarks.rivals import install, open_cache
from motionloom.errors import MotionloomError

# The linear algebra libraries and Numba read these when they are first imported.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def report(name: str, settings: Settings, *, install_rivals: bool, log) -> dict[str, Any]:
    """Run one benchmark in this process."""
    module = benchmark_module(name)
    where = machine()  # measured before the benchmark itself adds load
    if install_rivals:
        for package, reason in install(module.PACKAGES, log=log).items():
            log(f"could not install {package}: {reason}")
    open_cache(module.PACKAGES)
    measured = module.run(settings, log)
    # Other work on the machine slows the benchmark and the yardstick, and may begin or end.
    where["yardstick_s"] = round((where["yardstick_s"] + yardstick()) / 2.0, 4)
    return {"name": name, "machine": where, **measured}


def one_thread_environment() -> dict[str, str]:
    """Environment of a process in which every library uses one thread.

    The process imports `benchmarks` and `motionloom` from this checkout.
    """
    environment = dict(os.environ, **dict.fromkeys(THREAD_VARIABLES, "1"))
    root = Path(__file__).parents[1]
    paths = [str(root), str(root / "src"), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    return environment


def machine() -> dict[str, Any]:
    """Processor, cores, versions and date."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: _version(name) for name in ("motionloom", "numpy", "numba")},
        "threads": 1,
        "yardstick_s": yardstick(),
        "load_average": _load_average(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def yardstick() -> float:
    """Processor time of a fixed piece of work, in seconds: the smallest of five.

    It contains interpreted Python, matrix products, sorting and random access, like motionloom.
    Times of different machines are compared relative to it.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    matrix, numbers = rng.normal(size=(384, 384)), rng.normal(size=400_000)
    order = rng.permutation(len(numbers))
    times = []
    for _ in range(5):
        start = time.process_time()
        total = 0
        for number in range(400_000):
            total += number * number % 7
        (matrix @ matrix).sum()
        np.sort(numbers).cumsum()
        numbers[order].cumsum()
        times.append(time.process_time() - start)
    return round(min(times), 4)


def _processor() -> str:
    """Name, family and model: cloud providers give processors of several generations one name."""
    facts: dict[str, str] = {}
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, text = line.partition(":")
            facts.setdefault(key.strip(), text.strip())
    except OSError:
        pass
    if "model name" not in facts:
        return platform.processor() or platform.machine()
    numbers = [f"{word} {facts[key]}" for word, key in _GENERATION.items() if key in facts]
    return " ".join([facts["model name"], *([f"({', '.join(numbers)})"] if numbers else [])])


_GENERATION = {"family": "cpu family", "model": "model"}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # run from a checkout, not installed
        from motionloom import __version__

        return __version__ if package == "motionloom" else "unknown"


def _load_average() -> float | None:
    """Load average of the last minute; wall times are unreliable above the number of cores."""
    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):
        return None


def _log(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _main(name: str, options: str) -> None:
    given = json.loads(options)
    install_rivals = given.pop("install_rivals")
    places = {name: Path(given[name]) if given[name] else None for name in ("data", "before")}
    settings = Settings(**{**given, **places})
    started = time.perf_counter()
    # Some rivals print while they read; standard output is reserved for the report.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        try:
            result = report(name, settings, install_rivals=install_rivals, log=_log)
            result["seconds"] = round(time.perf_counter() - started, 1)
        except MotionloomError as error:
            result = {"error": str(error)}
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    print(json.dumps(result))


if __name__ == "__main__":
    _main(*sys.argv[1:])
