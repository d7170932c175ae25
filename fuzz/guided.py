"""Coverage-guided fuzzing of decoders of bytes, where the package atheris is installed."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path


def run(minutes: float) -> int:
    """Fuzz the decoder of match webs and the reader of BVH files; returns the exit code."""
    try:
        import atheris
    except ImportError:
        print("coverage-guided fuzzing needs atheris: pip install atheris")
        return 2
    with atheris.instrument_imports(include=["motionloom.search.match_web", "motionloom.formats"]):
        import motionloom as ml
        from motionloom.search.match_web.encoding import decoded

        ml.demo.clip("walk")
    from motionloom.errors import MotionloomError

    folder = Path(tempfile.mkdtemp())

    def one(data: bytes) -> None:
        try:
            if data[:1] < b"\x80":
                decoded(data[1:])
            else:
                (folder / "a.bvh").write_bytes(data[1:])
                ml.load(folder / "a.bvh")
        except MotionloomError:
            pass

    atheris.Setup([sys.argv[0], f"-max_total_time={int(60 * minutes)}", "-timeout=10"], one)
    atheris.Fuzz()
    return 0
