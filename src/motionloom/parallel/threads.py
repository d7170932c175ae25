"""Thread limits, so that worker processes do not each use all the cores."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Environment variables that limit the threads of numerical libraries, read when they are imported.
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit numerical libraries to one thread within the ``with`` block.

    Results are then bit-identical to those of a worker, on a machine with any number of cores. With
    several threads, sums are split differently and therefore rounded differently.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def use_one_thread() -> None:
    """Limit all numerical libraries to one thread in this process."""
    for setting in THREAD_SETTINGS:
        os.environ[setting] = "1"
    if "numba" in sys.modules:
        sys.modules["numba"].set_num_threads(1)
    else:  # Numba does not allow the change once its threads have started
        os.environ["NUMBA_NUM_THREADS"] = "1"
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
