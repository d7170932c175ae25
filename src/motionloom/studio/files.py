"""Motions as files for whoever downloads them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal

from fastapi import Response

from motionloom.motion import Motion

Suffix = Literal["bvh", "glb"]
_MEDIA = {"bvh": "text/plain", "glb": "model/gltf-binary"}


def file_answer(motion: Motion, suffix: Suffix) -> Response:
    """The motion in a format that other programs read, as `Motion.save` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = motion.save(Path(folder) / f"motion.{suffix}")
        return Response(Path(path).read_bytes(), media_type=_MEDIA[suffix])
