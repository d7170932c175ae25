"""One thread per worker: processes side by side must not each take all the cores."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def one_thread() -> Iterator[None]:
    """Within the ``with`` block numerical libraries use one thread.

    What they compute then has the same bits as in a worker, on a machine with any number of
    cores: sums that are split among threads are rounded otherwise.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def use_one_thread() -> None:
    """Tell all numerical libraries to use one thread in this process."""
    for setting in _SETTINGS:
        os.environ[setting] = "1"
    if "numba" in sys.modules:
        sys.modules["numba"].set_num_threads(1)
    else:  # once loaded, Numba refuses to see this change
        os.environ["NUMBA_NUM_THREADS"] = "1"
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
