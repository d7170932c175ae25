"""Kernels of the tour's last steps, compiled in a process of their own while the first ones run.

On a machine that has never run motionloom, compiling is most of the tour. Kernels are kept on
disk once they are compiled, so a second process can make them for the first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def compiled_ahead() -> Iterator[None]:
    """Compile in the background; what is not ready at the end is given up."""
    if (os.cpu_count() or 1) < 2:
        yield
        return
    process = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import compile_last_steps as c; c()"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def compile_last_steps() -> None:
    """Small cases of what comes last in the tour: a body from six points, a waltz."""
    if hasattr(os, "nice"):
        os.nice(10)  # the tour goes first
    from motionloom import demo
    from motionloom.loom import Library
    from motionloom.loom.troupe_steps import waltz_steps
    from motionloom.synthesis.crowd import BallroomScene, ballroom

    with tempfile.TemporaryDirectory() as folder:
        library = Library.create(f"{folder}/walks.loom")
        for name in ("walk_p0", "walk_p1"):
            library.add_motion(demo.clip(name[:-3], performer=int(name[-1])), name=name)
        walk = library["walk_p0"]
        library.reconstruct(walk[:30], skeleton=walk, without="walk_p0")
    ballroom(BallroomScene(couples=2, seconds=4, tempo_bpm=90), waltz_steps())
