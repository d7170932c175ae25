"""Memory-mapped arrays that are larger than the memory they should take."""

from __future__ import annotations

import mmap

from numpy.typing import NDArray


def release(*arrays: NDArray) -> None:
    """Let go of the pages of memory-mapped files that were read so far.

    They stay in the system's cache as long as there is room, and are mapped again when they are
    read; without this a process that reads here and there would hold whole files in the end.
    Arrays in memory are left alone.
    """
    for array in arrays:
        mapping = getattr(array, "_mmap", None)
        if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):  # Linux
            mapping.madvise(mmap.MADV_DONTNEED)
